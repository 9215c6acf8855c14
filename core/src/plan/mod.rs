//! Plans: a list of operators turned into few passes over memory.
//!
//! [`Plan::new`] lowers the operators to primitive ones (`lower`), cuts them into stages (`stages`) and
//! compiles each for tiles (`tile`). A plan can run on any number of states:
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, kernel::{InstructionSet, Threads}, param::Values};
//! use ketgrad_core::{plan::{Options, Plan}, simulate::BoundCircuit, state::StateVector};
//! use num_complex::Complex;
//!
//! let mut ghz = Circuit::new(8);
//! ghz.h(0)?;
//! for q in 1..8 {
//!     ghz.cx(q - 1, q)?;
//! }
//! let bound = BoundCircuit::<Complex<f64>>::new(&ghz, &Values::<f64>(&[]))?;
//! let operators = bound.operators().unwrap_or_default();
//! let plan = Plan::new(8, operators, Options::new(InstructionSet::detect(), 8));
//! let mut state = StateVector::<Complex<f64>>::zero(8)?;
//! plan.run(operators, state.amplitudes_mut(), &Threads::serial());
//! assert!((state.probabilities()[255] - 0.5).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod lower;
mod stages;

use std::fmt;

use num_complex::Complex;

use self::stages::Stage;
use crate::{
    kernel::{Element, InstructionSet, Operator, Threads, simd},
    tile::{self, TileStage, Workspaces},
};

/// How a plan cuts circuits into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The instructions to use; the processor must have them.
    pub set: InstructionSet,
    /// Qubits of a tile: its scratch has to fit the second cache.
    pub tile_qubits: usize,
    /// The lowest so many qubits are in every tile: 2^low amplitudes are read together.
    pub low_qubits: usize,
}

impl Options {
    /// What is fastest for amplitudes of 2 x `size` bytes.
    #[must_use]
    pub fn new(set: InstructionSet, size: usize) -> Options {
        let tile_qubits = if size == 4 { 14 } else { 13 };
        Options { set, tile_qubits, low_qubits: 4 }
    }
}

/// Operators on n qubits, cut into passes.
pub struct Plan<E> {
    n_qubits: usize,
    options: Options,
    passes: Vec<Pass<E>>,
    workspaces: Workspaces<E>,
}

enum Pass<E> {
    Tile { qubits: usize, gates: usize, stage: TileStage<E> },
    Plain { operator: usize },
}

impl<E: Element> Plan<E> {
    /// Plans operators on n qubits.
    #[must_use]
    pub fn new(n_qubits: usize, operators: &[Operator<Complex<E>>], options: Options) -> Plan<E> {
        let (lane_bits, _) = simd::shape::<E>(options.set);
        let size = options.tile_qubits.max(lane_bits + 2).min(n_qubits);
        if n_qubits < lane_bits {
            let passes = (0..operators.len()).map(|operator| Pass::Plain { operator }).collect();
            return Plan { n_qubits, options, passes, workspaces: Workspaces::new(0) };
        }
        let lowered = lower::lower(n_qubits, operators);
        let stages = stages::stages(
            n_qubits,
            lowered.ops,
            size,
            options.low_qubits.max(lane_bits).min(size - 2.min(size)).max(lane_bits),
        );
        let mut angle = lowered.angle;
        let mut passes: Vec<Pass<E>> = Vec::with_capacity(stages.len());
        for stage in stages {
            passes.push(match stage {
                Stage::Plain { operator } => Pass::Plain { operator },
                Stage::Tile { qubits, ops } => {
                    let mut stage = tile::compile(n_qubits, qubits, &ops, options.set);
                    stage.turn(std::mem::take(&mut angle));
                    Pass::Tile { qubits, gates: ops.len(), stage }
                }
            });
        }
        if angle != 0.0 {
            // Nothing but a phase: a stage that does only that.
            let mut stage = tile::compile(n_qubits, (1 << size) - 1, &[], options.set);
            stage.turn(angle);
            passes.push(Pass::Tile { qubits: (1 << size) - 1, gates: 0, stage });
        }
        Plan { n_qubits, options, passes, workspaces: Workspaces::new(size) }
    }

    /// Runs the plan on a state. `operators` are those that it was made for.
    ///
    /// # Panics
    /// If the state is not one of n qubits.
    pub fn run(&self, operators: &[Operator<Complex<E>>], amplitudes: &mut [Complex<E>], threads: &Threads) {
        assert_eq!(amplitudes.len(), 1 << self.n_qubits, "a plan for {} qubits", self.n_qubits);
        for pass in &self.passes {
            match pass {
                Pass::Tile { stage, .. } => {
                    stage.run(amplitudes, threads, self.options.set, &self.workspaces)
                }
                Pass::Plain { operator } => {
                    simd::apply(&operators[*operator], amplitudes, threads, self.options.set);
                }
            }
        }
    }

    /// The number of passes over memory.
    #[must_use]
    pub fn passes(&self) -> usize {
        self.passes.len()
    }
}

impl<E> fmt::Debug for Plan<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan of {} passes on {} qubits", self.passes.len(), self.n_qubits)
    }
}

/// One line for each pass: its qubits, primitive operations, bytes moved and flops; then the sums.
impl<E: Element> fmt::Display for Plan<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amplitudes = (self.n_qubits as f64).exp2();
        let bytes = 4.0 * size_of::<E>() as f64 * amplitudes;
        let mut flops = 0.0;
        for (number, pass) in self.passes.iter().enumerate() {
            match pass {
                Pass::Tile { qubits, gates, stage } => {
                    flops += stage.flops * amplitudes;
                    let qubits: Vec<String> =
                        (0..self.n_qubits).filter(|q| qubits >> q & 1 == 1).map(|q| q.to_string()).collect();
                    writeln!(
                        f,
                        "pass {number}: {gates} operations on qubits {}; {:.3e} bytes, {:.3e} flops",
                        qubits.join(" "),
                        bytes,
                        stage.flops * amplitudes
                    )?;
                }
                Pass::Plain { operator } => {
                    writeln!(f, "pass {number}: operator {operator} by itself; {bytes:.3e} bytes")?
                }
            }
        }
        let passes = self.passes.len();
        write!(f, "{passes} passes, {:.3e} bytes, {flops:.3e} flops", bytes * passes as f64)
    }
}
