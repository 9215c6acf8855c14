//! Plans: a list of operators turned into few passes over memory (cache blocking).
//!
//! [`Plan::new`] lowers the operators to primitive ones (`lower`), cuts them into stages
//! (`stages`), follows what each does to the places of a tile ([`layout`]) and compiles that for
//! vector registers (`tile`). The first three are a [`Schedule`], which a device can run in its own
//! way. A plan can run on any number of states, and [`Plan::bind`] puts the numbers of other angles
//! into it. [`Fast`] is the executor that plans where it pays.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, kernel::{InstructionSet, Threads}, param::Values};
//! use ketgrad_core::{plan::{PlanOptions, Plan}, simulate::BoundCircuit, state::StateVector};
//! use num_complex::Complex;
//!
//! let mut ghz = Circuit::new(8);
//! ghz.h(0)?;
//! for q in 1..8 {
//!     ghz.cx(q - 1, q)?;
//! }
//! let bound = BoundCircuit::<Complex<f64>>::new(&ghz, &Values::<f64>(&[]))?;
//! let operators = bound.operators().unwrap_or_default();
//! let plan = Plan::new(8, operators, PlanOptions::new(InstructionSet::detect(), 8));
//! let mut state = StateVector::<Complex<f64>>::zero(8)?;
//! plan.run(state.amplitudes_mut(), &Threads::serial());
//! assert!((state.probabilities()[255] - 0.5).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod angle;
mod executor;
pub mod layout;
mod lower;
mod pair;
mod schedule;
mod stages;
mod tangent;
mod tile;

pub use angle::BinaryAngle;
pub use executor::Fast;
pub use pair::PairPlan;
pub use schedule::{Cut, Schedule};
pub use stages::Stage;

use std::fmt;

use num_complex::Complex;
use num_traits::Zero;

use self::tile::{TileBuffers, TileStage, Workspaces};
use crate::kernel::{
    BLOCK, InstructionSet, Operator, OverlapProbe, SimdFloat, StateHint, Threads, reset_to_zero,
    simd,
};

/// Number of qubits from which on states are far beyond any cache, so that fewer passes are worth
/// slower ones.
const LARGE_TILES_FROM: usize = 23;

/// Number of qubits from which on passes over tiles take longer than to factor dense blocks.
const FACTORED_FROM: usize = 16;

/// Options of a plan: the cut of circuits into tiles.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanOptions {
    /// The instructions to use; the processor must have them.
    pub set: InstructionSet,
    /// Qubits of a tile: two scratches of its size have to fit the second cache.
    pub tile_qubits: usize,
    /// Number of the lowest qubits that are in every tile: 2^low amplitudes are read together.
    pub low_qubits: usize,
    /// Hint about the state. From |0…0> the first passes visit only the few tiles that are not
    /// zero, and likewise the last ones where only inner products are wanted and psi ends as |0…0>;
    /// where this is not so, the state is treated as arbitrary.
    pub state_hint: StateHint,
    /// Number of bytes from which on states are written past the caches: each line would be read
    /// again before it is written, and would push out another.
    pub stream_from_bytes: usize,
    /// True if dense blocks on two qubits are written as factors, which takes fewer products.
    pub factor_blocks: bool,
    /// [`Cut::tolerance`].
    pub tolerance: f64,
    /// [`Cut::lookahead`].
    pub lookahead: usize,
    /// Number of rotations and blocks of a stage among which those of a level are chosen, at least
    /// one. Each level scans all operations up to the last of them again, so this keeps compiling
    /// linear where few qubits are moved.
    pub window: usize,
}

impl PlanOptions {
    /// Sets [`tile_qubits`](PlanOptions::tile_qubits).
    #[must_use]
    pub fn with_tile_qubits(self, tile_qubits: usize) -> PlanOptions {
        PlanOptions { tile_qubits, ..self }
    }

    /// Sets [`low_qubits`](PlanOptions::low_qubits).
    #[must_use]
    pub fn with_low_qubits(self, low_qubits: usize) -> PlanOptions {
        PlanOptions { low_qubits, ..self }
    }

    /// Sets [`state_hint`](PlanOptions::state_hint).
    #[must_use]
    pub fn with_state_hint(self, hint: StateHint) -> PlanOptions {
        PlanOptions { state_hint: hint, ..self }
    }

    /// Sets [`stream_from_bytes`](PlanOptions::stream_from_bytes).
    #[must_use]
    pub fn with_stream_from_bytes(self, stream_from_bytes: usize) -> PlanOptions {
        PlanOptions { stream_from_bytes, ..self }
    }

    /// Sets [`factor_blocks`](PlanOptions::factor_blocks).
    #[must_use]
    pub fn with_factor_blocks(self, factor_blocks: bool) -> PlanOptions {
        PlanOptions { factor_blocks, ..self }
    }

    /// Sets [`tolerance`](PlanOptions::tolerance).
    #[must_use]
    pub fn with_tolerance(self, tolerance: f64) -> PlanOptions {
        PlanOptions { tolerance, ..self }
    }

    /// Sets [`lookahead`](PlanOptions::lookahead).
    #[must_use]
    pub fn with_lookahead(self, lookahead: usize) -> PlanOptions {
        PlanOptions { lookahead, ..self }
    }

    /// Sets [`window`](PlanOptions::window).
    #[must_use]
    pub fn with_window(self, window: usize) -> PlanOptions {
        PlanOptions { window, ..self }
    }
}

impl PlanOptions {
    /// The usual number of rotations and blocks of a window: more than commute on the qubits of a
    /// tile.
    pub const WINDOW: usize = 128;

    /// Returns the fastest options for n qubits: tiles whose scratches and tables leave room in a
    /// second cache of 1 MiB, or fill it where a pass over the state costs more than that; the
    /// state is arbitrary.
    #[must_use]
    pub fn new(set: InstructionSet, n_qubits: usize) -> PlanOptions {
        let tile_qubits = if n_qubits >= LARGE_TILES_FROM { 14 } else { 13 };
        PlanOptions {
            set,
            tile_qubits,
            low_qubits: 4,
            state_hint: StateHint::Arbitrary,
            stream_from_bytes: tile::stream_from_bytes(),
            factor_blocks: n_qubits >= FACTORED_FROM,
            tolerance: Cut::TOLERANCE,
            lookahead: Cut::LOOKAHEAD,
            window: PlanOptions::WINDOW,
        }
    }

    /// Replaces one hint by the one of an arbitrary state.
    fn without_hint(self, hint: StateHint) -> PlanOptions {
        if self.state_hint == hint {
            PlanOptions { state_hint: StateHint::Arbitrary, ..self }
        } else {
            self
        }
    }
}

/// Operators on n qubits, cut into passes.
pub struct Plan<E> {
    options: PlanOptions,
    schedule: Schedule,
    pool: TileBuffers<E>,
    /// The stages with the numbers in them.
    passes: Vec<PlanPass<E>>,
    operators: Vec<Operator<Complex<E>>>,
    workspaces: Workspaces<E>,
    /// True if inner products change the states that they are taken of, so that their order
    /// matters.
    ordered_probes: bool,
}

#[expect(clippy::large_enum_variant, reason = "a plan has few passes")]
enum PlanPass<E> {
    Tile(TileStage<E>),
    Plain { operator: usize, active_qubits: usize },
}

impl<E: SimdFloat> Plan<E> {
    /// Plans operators on n qubits.
    ///
    /// # Panics
    /// If the processor does not have the instruction set, or an operator does not fit n qubits.
    #[must_use]
    pub fn new(
        n_qubits: usize,
        operators: &[Operator<Complex<E>>],
        options: PlanOptions,
    ) -> Plan<E> {
        let mut plan =
            Plan::staged(n_qubits, operators, &[], options.without_hint(StateHint::EndsAtZero));
        plan.compile(operators);
        plan
    }

    /// Plans operators and runs them, one pass after the other: cheaper than a plan that is kept,
    /// because the tables of a pass take the memory of the one before. `progress` is told the
    /// number of passes that are done and the number of all. If `threads` are
    /// [cancelled](Threads::check), it ends early, and the amplitudes are invalid.
    ///
    /// # Panics
    /// Those of [`Plan::new`], and if there are not 2^n amplitudes.
    pub fn run_once(
        operators: &[Operator<Complex<E>>],
        options: PlanOptions,
        amplitudes: &mut [Complex<E>],
        threads: &Threads,
        progress: &mut dyn FnMut(usize, usize),
    ) {
        assert!(amplitudes.len().is_power_of_two(), "{} amplitudes", amplitudes.len());
        let n_qubits = amplitudes.len().trailing_zeros() as usize;
        let plan =
            Plan::staged(n_qubits, operators, &[], options.without_hint(StateHint::EndsAtZero));
        let (mut pool, mut angle) = (TileBuffers::new(), plan.schedule.angle());
        let stages = plan.schedule.stages();
        plan.begin(amplitudes, threads);
        for (number, stage) in stages.iter().enumerate() {
            if threads.check().is_err() {
                return;
            }
            let pass = plan.pass(stage, &mut angle, &mut pool);
            plan.run_pass(&pass, operators, amplitudes, threads);
            if let PlanPass::Tile(stage) = pass {
                stage.recycle(&mut pool);
            }
            progress(number + 1, stages.len());
        }
        plan.clear_collapsed(plan.schedule.active_qubits(), amplitudes, threads);
    }

    /// Returns a plan without numbers.
    fn staged(
        n_qubits: usize,
        operators: &[Operator<Complex<E>>],
        inners: &[OverlapProbe],
        options: PlanOptions,
    ) -> Plan<E> {
        let (lane_bits, _) = simd::shape::<E>(options.set);
        // A tile is made of whole registers and has room for any operation beside them.
        let cut = Cut {
            tile_qubits: options.tile_qubits.max(lane_bits + schedule::widest(inners)),
            low_qubits: options.low_qubits.max(lane_bits),
            factor_blocks: options.factor_blocks,
            state_hint: options.state_hint,
            tolerance: options.tolerance,
            lookahead: options.lookahead,
        };
        let schedule = match n_qubits < lane_bits {
            true => Schedule::plain(n_qubits, operators.len(), cut),
            false => Schedule::new(n_qubits, operators, inners, cut),
        };
        let workspaces = Workspaces::new(cut.tile_qubits.min(n_qubits));
        let (pool, passes) = (TileBuffers::new(), Vec::new());
        Plan {
            options,
            schedule,
            pool,
            passes,
            operators: Vec::new(),
            workspaces,
            ordered_probes: false,
        }
    }

    /// Puts other numbers into the plan: operators of another binding of the same circuit. What was
    /// planned is kept if they have the same structure, which they do unless a gate is simpler than
    /// usual at the angles that the plan was made for; otherwise this is as [`Plan::new`].
    ///
    /// # Panics
    /// Those of [`Plan::new`].
    pub fn bind(&mut self, operators: &[Operator<Complex<E>>]) {
        if !self.takes(operators, &[]) {
            *self = Plan::new(self.schedule.n_qubits(), operators, self.options);
        }
    }

    /// Puts other numbers in, and nothing is allocated; false if the operators have another
    /// structure.
    fn takes(&mut self, operators: &[Operator<Complex<E>>], inners: &[OverlapProbe]) -> bool {
        let same = self.schedule.bind(operators, inners);
        if same {
            self.compile(operators);
        }
        same
    }

    /// Fills the stages with numbers.
    fn compile(&mut self, operators: &[Operator<Complex<E>>]) {
        let (mut passes, mut pool) =
            (std::mem::take(&mut self.passes), std::mem::take(&mut self.pool));
        let mut angle = self.schedule.angle();
        for (number, stage) in self.schedule.stages().iter().enumerate() {
            if number == passes.len() {
                passes.push(self.pass(stage, &mut BinaryAngle::default(), &mut pool));
            }
            // A new pass, too, takes its numbers as any later binding, so that the bits do not tell
            // which it was.
            if let (Some(PlanPass::Tile(pass)), Stage::Tile { ops, .. }) =
                (passes.get_mut(number), stage)
            {
                pass.rebind(self.schedule.ops(ops), self.options.set, &mut pool);
                pass.multiply_phase(std::mem::take(&mut angle));
            }
        }
        (self.passes, self.pool) = (passes, pool);
        let any_plain = self.passes.iter().any(|p| matches!(p, PlanPass::Plain { .. }));
        self.operators.clear();
        if any_plain {
            self.operators.extend_from_slice(operators);
        }
    }

    /// Returns a stage with its numbers. The first one on tiles takes the phase of the whole.
    fn pass(
        &self,
        stage: &Stage,
        angle: &mut BinaryAngle,
        pool: &mut TileBuffers<E>,
    ) -> PlanPass<E> {
        match stage {
            Stage::Plain { operator, active_qubits: live } => {
                PlanPass::Plain { operator: *operator, active_qubits: *live }
            }
            Stage::Tile { qubits, active_qubits: live, ops } => {
                // In a backward pass a tile has more active qubits before the pass than after it.
                let found =
                    if self.options.state_hint == StateHint::EndsAtZero { *qubits } else { *live };
                let mut stage = tile::compile(
                    self.schedule.layout(*qubits, ops),
                    (*live, found),
                    self.options,
                    self.ordered_probes,
                    pool,
                );
                stage.multiply_phase(std::mem::take(angle));
                PlanPass::Tile(stage)
            }
        }
    }

    fn run_pass(
        &self,
        pass: &PlanPass<E>,
        operators: &[Operator<Complex<E>>],
        amplitudes: &mut [Complex<E>],
        threads: &Threads,
    ) {
        match pass {
            PlanPass::Tile(stage) => stage.run(amplitudes, threads, self.options, &self.workspaces),
            PlanPass::Plain { operator, active_qubits: live } => {
                self.clear_collapsed(*live, amplitudes, threads);
                simd::apply(&operators[*operator], amplitudes, threads, self.options.set);
            }
        }
    }

    /// Writes the amplitudes that the first pass reads, if the plan is to run on |0…0>.
    fn begin(&self, amplitudes: &mut [Complex<E>], threads: &Threads) {
        if self.options.state_hint == StateHint::StartsAtZero {
            let live = self
                .schedule
                .stages()
                .first()
                .map_or(self.schedule.active_qubits(), Stage::active_qubits);
            // These are the lowest qubits of a tile, or all.
            reset_to_zero(&mut amplitudes[..=live], threads);
        }
    }

    /// Writes the amplitudes that no pass has written, those whose index has a bit outside of a
    /// set, if the plan is to run on |0…0>.
    fn clear_collapsed(&self, live: usize, amplitudes: &mut [Complex<E>], threads: &Threads) {
        let dead = (amplitudes.len() - 1) & !live;
        if self.options.state_hint != StateHint::StartsAtZero || dead == 0 {
            return;
        }
        let run = 1 << dead.trailing_zeros();
        let size = run.max(BLOCK).min(amplitudes.len());
        threads.chunks(amplitudes, size, |number, part| {
            for (k, run) in part.chunks_mut(run).enumerate().map(|(k, part)| (k * run, part)) {
                if (number * size + k) & dead != 0 {
                    run.fill(Complex::zero());
                }
            }
        });
    }

    /// Runs the plan on a state, or on |0…0> whatever the amplitudes are
    /// ([`PlanOptions::state_hint`]). Once it has run, running it again on one thread allocates
    /// nothing. If `threads` are [cancelled](Threads::check), it ends early, and the amplitudes are
    /// invalid.
    ///
    /// # Panics
    /// If there are not 2^n amplitudes.
    pub fn run(&self, amplitudes: &mut [Complex<E>], threads: &Threads) {
        self.run_reporting(amplitudes, threads, &mut |_| {});
    }

    /// Runs the plan as [`Plan::run`] does, and tells `progress` the number of passes done after
    /// each.
    ///
    /// # Panics
    /// Those of [`Plan::run`].
    pub fn run_reporting(
        &self,
        amplitudes: &mut [Complex<E>],
        threads: &Threads,
        progress: &mut dyn FnMut(usize),
    ) {
        let n_qubits = self.schedule.n_qubits();
        assert_eq!(amplitudes.len(), 1 << n_qubits, "a plan for {n_qubits} qubits");
        self.begin(amplitudes, threads);
        for (number, pass) in self.passes.iter().enumerate() {
            if threads.check().is_err() {
                return;
            }
            self.run_pass(pass, &self.operators, amplitudes, threads);
            progress(number + 1);
        }
        self.clear_collapsed(self.schedule.active_qubits(), amplitudes, threads);
    }

    /// Bound on the distance between the states that the plan and the operators make of one of norm
    /// 1, besides what running rounds: [`Schedule::deviation`], with what the stages leave out.
    pub(in crate::plan) fn deviation(&self) -> f64 {
        let tiles = self
            .passes
            .iter()
            .map(|pass| if let PlanPass::Tile(stage) = pass { stage.deviation() } else { 0.0 });
        self.schedule.deviation() + 4.0 * tiles.sum::<f64>()
    }

    /// Returns the number of passes over memory.
    #[must_use]
    pub fn passes(&self) -> usize {
        self.passes.len()
    }

    /// Amplitudes of the tiles that a pass goes over.
    fn amplitudes(&self, stage: &Stage) -> f64 {
        let qubits = match stage {
            Stage::Tile { qubits, active_qubits: live, .. } => (qubits | live).count_ones(),
            Stage::Plain { .. } => self.schedule.n_qubits() as u32,
        };
        f64::from(qubits).exp2()
    }

    /// Bytes read and written.
    fn bytes(&self) -> f64 {
        let amplitudes: f64 =
            self.schedule.stages().iter().map(|stage| self.amplitudes(stage)).sum();
        amplitudes * amplitude_bytes::<E>()
    }

    /// Returns the least seconds that it can take at this memory bandwidth in bytes a second, as
    /// far as memory goes.
    #[must_use]
    pub fn floor(&self, bytes_per_second: f64) -> f64 {
        self.bytes() / bytes_per_second
    }
}

/// Returns the bytes of an amplitude that is read and written.
fn amplitude_bytes<E>() -> f64 {
    // Two numbers, and both ways.
    4.0 * size_of::<E>() as f64
}

impl<E> fmt::Debug for Plan<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan of {} passes on {} qubits", self.passes.len(), self.schedule.n_qubits())
    }
}

/// One line for each pass: its primitive operations, in how many sweeps over a tile, its qubits,
/// bytes moved and flops; then the sums. What bounds a plan from below: the bytes over the memory's
/// speed ([`Plan::floor`]), and the flops over the processor's.
impl<E: SimdFloat> fmt::Display for Plan<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all_flops = 0.0;
        for (number, (stage, pass)) in self.schedule.stages().iter().zip(&self.passes).enumerate() {
            let amplitudes = self.amplitudes(stage);
            let bytes = amplitudes * amplitude_bytes::<E>();
            match (stage, pass) {
                (Stage::Tile { qubits, ops, .. }, PlanPass::Tile(tile)) => {
                    let flops = tile.flops() * amplitudes;
                    all_flops += flops;
                    let on = (0..self.schedule.n_qubits()).filter(|q| qubits >> q & 1 == 1);
                    let on: Vec<String> = on.map(|q| q.to_string()).collect();
                    let (gates, sweeps, on) = (ops.len(), tile.sweeps(), on.join(" "));
                    writeln!(
                        f,
                        "pass {number}: {gates} operations in {sweeps} sweeps on qubits {on}; \
                         {bytes:.3e} bytes, {flops:.3e} flops"
                    )?;
                }
                (Stage::Plain { operator, .. }, _) | (_, PlanPass::Plain { operator, .. }) => {
                    writeln!(
                        f,
                        "pass {number}: operator {operator} by itself; up to {bytes:.3e} bytes"
                    )?;
                }
            }
        }
        let passes = self.passes.len();
        write!(f, "{passes} passes, {:.3e} bytes, {all_flops:.3e} flops", self.bytes())
    }
}
