//! Kernels of plugins as executors in the core's registry.
//!
//! The core hands over operators by shape; a plugin receives dense and diagonal ones:
//!
//! | shape | becomes |
//! |---|---|
//! | phase | a diagonal without targets, else a dense operator on one of its bits |
//! | diagonal | a diagonal on the bits that its entries use, else dense |
//! | swap, cycles | dense, on the bits that move |
//! | dense | dense |
//! | Pauli string | in the host's memory the generic kernel runs it; on a device CX gates and an operator on up to two qubits |
//!
//! A target bit on which nothing happens when it is 1 counts as a control of value 0. Operators in
//! a row that the plugin takes are one call; one of too many targets is run by the generic kernel
//! between two calls. Matrices cross in double precision whatever the state's is.
#![expect(unsafe_code, reason = "the plugin's kernels are called here")]

use std::sync::Arc;

use ketgrad_core::{
    kernel::{ExecuteError, Executor, Operator, OperatorShape, SimdFloat, Threads},
    scalar::Scalar,
};
use ketgrad_plugin_abi::{self as abi, Gate, GateList, Query};
use num_complex::Complex;

use crate::{
    border::{asked, told},
    call::changes_modes,
    choice::{Choice, built_in},
    init::{Pool, RawBackend, running},
};

type GateScalar = Complex<f64>;

/// Score of the built-in kernels.
const BUILT_IN_SCORE: f64 = 100.0;

/// Cost of the built-in kernels for each amplitude and operator.
const BUILT_IN_COST: f64 = 0.25;

/// Backend of a plugin.
pub(crate) struct Backend {
    pub(crate) raw: RawBackend,
    plugin: String,
    priority: i32,
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.raw.name, self.plugin)
    }
}

/// Returns the reason why a backend of that name could not be asked for, if so.
fn unreachable_name(name: &str) -> Option<String> {
    let built_in = built_in();
    if name.trim().is_empty() {
        return Some("its name is empty: nobody could ask for it".to_owned());
    }
    if name == built_in {
        return Some("the built-in kernels have that name".to_owned());
    }
    match Choice::from(name) {
        Choice::Named(_) => None,
        _ => Some(format!(
            "`--backend {name}` means another thing: expected another name than auto or cpu"
        )),
    }
}

impl Backend {
    pub(crate) fn new(raw: RawBackend, plugin: &str, priority: i32) -> Result<Backend, String> {
        if let Some(reason) = unreachable_name(&raw.name) {
            return Err(reason);
        }
        let b = &raw.raw;
        let device = b.state_new.is_some()
            && b.state_free.is_some()
            && b.upload.is_some()
            && b.download.is_some()
            && b.apply.is_some();
        if b.apply_host.is_none() && !device {
            return Err("it has neither `apply_host` nor all of `state_new`, `state_free`, `upload`, `download`, `apply`".into());
        }
        if b.apply_host.is_some() && b.mem != abi::MEM_HOST {
            return Err(format!("it has `apply_host`, but its memory is of kind {}", b.mem));
        }
        let knows = |dtype: u32| b.dtypes >> dtype & 1 == 1;
        if b.apply_host.is_some() && !knows(abi::C64) {
            return Err("it does not know complex numbers of two f64".into());
        }
        if !knows(abi::C64) && !knows(abi::C32) {
            return Err("it knows complex numbers neither of two f64 nor of two f32".into());
        }
        if b.max_matrix_targets < 2 {
            return Err(format!(
                "it takes operators on {} qubits; expected at least 2",
                b.max_matrix_targets
            ));
        }
        Ok(Backend { raw, plugin: plugin.to_owned(), priority })
    }

    pub(crate) fn name(&self) -> &str {
        &self.raw.name
    }

    pub(crate) fn plugin(&self) -> &str {
        &self.plugin
    }

    /// Returns true if its states are in memory of its own.
    pub(crate) fn is_device(&self) -> bool {
        self.raw.raw.apply_host.is_none()
    }

    /// Description by the backend itself, for people.
    pub(crate) fn describe(&self) -> String {
        let b = &self.raw.raw;
        let ask = |describe: unsafe extern "C" fn(_, _) -> _| {
            // SAFETY: `user` belongs to the function, which writes into the buffer.
            told(&self.raw.callee, |text| unsafe { describe(b.user, text) })
        };
        b.describe.map_or(String::new(), ask)
    }

    /// Notes on its calls, as in [`Plugins::noticed`](crate::Plugins::noticed).
    pub(crate) fn noticed(&self) -> Option<String> {
        let note =
            || format!("plugin `{}`: {}", self.plugin, changes_modes("kernel", &self.raw.name));
        self.raw.callee.changes_modes().then(note)
    }

    /// Returns true if its states may be of this type.
    pub(crate) fn knows<E: SimdFloat>(&self) -> bool {
        self.raw.raw.dtypes >> dtype::<E>() & 1 == 1
    }

    /// Score by the backend itself; 0 is not at all.
    pub(crate) fn score<E: SimdFloat>(&self, n_qubits: usize, operators: usize) -> u32 {
        u32::try_from(self.said_score::<E>(n_qubits, operators)).unwrap_or(0)
    }

    /// Returns the reason why it has no score, if asking for one failed: a panic, say, where it
    /// would have declined with 0.
    pub(crate) fn fault<E: SimdFloat>(&self, n_qubits: usize, operators: usize) -> Option<String> {
        let score = self.said_score::<E>(n_qubits, operators);
        if score >= 0 {
            return None;
        }
        let said = self.describe();
        let why = if said.is_empty() { format!("it gives {score}") } else { said };
        Some(format!("its score failed: {why} (plugin `{}`)", self.plugin))
    }

    fn said_score<E: SimdFloat>(&self, n_qubits: usize, operators: usize) -> i32 {
        let b = &self.raw.raw;
        let n = u32::try_from(n_qubits).unwrap_or(u32::MAX);
        if n > b.max_qubits || !self.knows::<E>() {
            return 0;
        }
        let query = Query {
            struct_size: size_of::<Query>() as u32,
            dtype: dtype::<E>(),
            n_qubits: n,
            threads: 1,
            n_gates: operators as u64,
        };
        // SAFETY: the query is valid for the call; `user` belongs to the function.
        b.score.map_or(1, |score| self.raw.callee.call(|| unsafe { score(b.user, &query) }))
    }

    /// Cost in the unit of the built-in kernels: by its score, and a priority outweighs every
    /// score.
    pub(crate) fn cost<E: SimdFloat>(&self, n_qubits: usize, operators: usize) -> Option<f64> {
        let score = self.score::<E>(n_qubits, operators);
        if score == 0 {
            return None;
        }
        let by_score = BUILT_IN_SCORE / f64::from(score);
        let by_priority = (-32.0 * f64::from(self.priority.clamp(-16, 16))).exp2();
        Some((n_qubits as f64).exp2() * operators as f64 * BUILT_IN_COST * by_score * by_priority)
    }

    /// Returns the reason why it declines one of these operators, if it does.
    pub(crate) fn refuses<E: SimdFloat>(
        &self,
        operators: &[Operator<Complex<E>>],
    ) -> Option<String> {
        let most = self.raw.raw.max_matrix_targets as usize;
        let given = operators.iter().map(width).max().filter(|given| *given > most)?;
        Some(format!("an operator on {given} qubits; it takes at most {most}"))
    }

    /// Returns true if it takes an operator.
    pub(crate) fn takes(&self, lowered: &LoweredGate) -> bool {
        lowered.targets.len() <= self.raw.raw.max_matrix_targets as usize
    }

    /// Lowers an operator without Pauli strings; `None` for the identity.
    fn lower<E: SimdFloat>(&self, operator: &Operator<Complex<E>>) -> Option<LoweredGate> {
        lower(
            operator,
            self.raw.raw.gates >> abi::GATE_DIAGONAL & 1 == 1,
            self.raw.raw.max_matrix_targets,
        )
    }

    /// Lowers any operator, to several in order.
    pub(crate) fn lower_all<E: SimdFloat>(
        &self,
        operator: &Operator<Complex<E>>,
    ) -> Vec<LoweredGate> {
        match operator.without_string() {
            Some(operators) => {
                operators.iter().filter_map(|operator| self.lower(operator)).collect()
            }
            None => self.lower(operator).into_iter().collect(),
        }
    }

    pub(crate) fn failed(&self, reason: String) -> ExecuteError {
        ExecuteError::new(self.name(), format!("{reason} (plugin `{}`)", self.plugin))
    }
}

/// Operator in the plugin's form.
pub(crate) struct LoweredGate {
    kind: u32,
    targets: Vec<u32>,
    control_mask: u64,
    control_value: u64,
    matrix: Vec<GateScalar>,
}

impl LoweredGate {
    pub(crate) fn borrowed(&self) -> Gate {
        Gate {
            kind: self.kind,
            n_targets: self.targets.len() as u32,
            targets: self.targets.as_ptr(),
            control_mask: self.control_mask,
            control_value: self.control_value,
            matrix: self.matrix.as_ptr().cast(),
        }
    }
}

/// Makes the list of some operators.
pub(crate) fn list(gates: &[Gate]) -> GateList {
    GateList { ptr: gates.as_ptr(), len: gates.len(), stride: size_of::<Gate>() }
}

const ONE: GateScalar = Complex::new(1.0, 0.0);
const ZERO: GateScalar = Complex::new(0.0, 0.0);

/// Returns the kind of number of amplitudes of this type.
pub(crate) fn dtype<E: SimdFloat>() -> u32 {
    if size_of::<E>() == size_of::<f64>() { abi::C64 } else { abi::C32 }
}

fn wide<E: SimdFloat>(z: &Complex<E>) -> GateScalar {
    GateScalar::new(z.re.into(), z.im.into())
}

/// Returns the number of qubits of an operator's matrix.
fn width<E: SimdFloat>(operator: &Operator<Complex<E>>) -> usize {
    let bits = match operator.shape() {
        OperatorShape::Identity | OperatorShape::Phase(_) => 0,
        OperatorShape::Diagonal(factors) => {
            factors.iter().fold(0, |bits, (offset, _)| bits | offset)
        }
        OperatorShape::Swap(a, b) => a | b,
        OperatorShape::Cycles(cycles) => {
            cycles.iter().flatten().fold(0, |bits, (offset, _)| bits | offset)
        }
        OperatorShape::Dense { offsets, .. } => offsets.last().copied().unwrap_or(0),
        OperatorShape::Parity { .. } | OperatorShape::PauliString { .. } => {
            return operator.without_string().iter().flatten().map(width).max().unwrap_or(0);
        }
    };
    bits.count_ones() as usize
}

/// Function that fills a matrix, given the row of an offset into the state.
type Fill<'a> = &'a dyn Fn(&mut [GateScalar], &dyn Fn(usize) -> usize);

/// Lowers an operator to a matrix; `None` for the identity. One of more than `most` targets gets no
/// matrix.
fn lower<E: SimdFloat>(
    operator: &Operator<Complex<E>>,
    diagonals: bool,
    most: u32,
) -> Option<LoweredGate> {
    let (fixed, value) = operator.controls();
    // The matrix over the bits of `targets`, entry by entry.
    let made = |targets: usize, kind: u32, fill: Fill<'_>| {
        let bits: Vec<u32> = (0..usize::BITS).filter(|b| targets >> b & 1 == 1).collect();
        let fits = bits.len() <= most as usize;
        let size = 1usize << bits.len();
        let mut matrix = vec![
            ZERO;
            if !fits {
                0
            } else if kind == abi::GATE_DIAGONAL {
                size
            } else {
                size * size
            }
        ];
        if fits {
            let row = |offset: usize| {
                bits.iter().enumerate().fold(0, |r, (k, b)| r | (offset >> b & 1) << k)
            };
            fill(&mut matrix, &row);
        }
        let controls = fixed & !targets;
        LoweredGate {
            kind,
            targets: bits,
            control_mask: controls as u64,
            control_value: (value & controls) as u64,
            matrix,
        }
    };
    let diagonal = |targets: usize, factors: &[(usize, Complex<E>)]| {
        if diagonals {
            made(targets, abi::GATE_DIAGONAL, &|m, row| {
                m.fill(ONE);
                factors.iter().for_each(|(offset, f)| m[row(*offset)] = wide(f));
            })
        } else {
            made(targets, abi::GATE_DENSE, &|m, row| {
                let size = 1 << targets.count_ones();
                (0..size).for_each(|r| m[r * size + r] = ONE);
                factors.iter().for_each(|(offset, f)| m[row(*offset) * (size + 1)] = wide(f));
            })
        }
    };
    let moved = |cycles: &[Vec<(usize, Complex<E>)>]| {
        let targets = cycles.iter().flatten().fold(0, |t, (offset, _)| t | offset);
        made(targets, abi::GATE_DENSE, &|m, row| {
            let size = 1 << targets.count_ones();
            (0..size).for_each(|r| m[r * size + r] = ONE);
            for cycle in cycles {
                cycle.iter().for_each(|(offset, _)| m[row(*offset) * (size + 1)] = ZERO);
                for (k, (from, factor)) in cycle.iter().enumerate() {
                    let to = cycle[(k + 1) % cycle.len()].0;
                    m[row(to) * size + row(*from)] = wide(factor);
                }
            }
        })
    };
    Some(match operator.shape() {
        // Strings become other operators before.
        OperatorShape::Identity
        | OperatorShape::Parity { .. }
        | OperatorShape::PauliString { .. } => {
            return None;
        }
        OperatorShape::Phase(f) if diagonals => diagonal(0, &[(0, *f)]),
        OperatorShape::Phase(f) => match fixed & fixed.wrapping_neg() {
            // A phase of everything: on any qubit, whatever its value.
            0 => diagonal(1, &[(0, *f), (1, *f)]),
            bit => diagonal(bit, &[(value & bit, *f)]),
        },
        OperatorShape::Diagonal(factors) => {
            diagonal(factors.iter().fold(0, |t, (offset, _)| t | offset), factors)
        }
        OperatorShape::Swap(a, b) => {
            moved(&[[*a, *b].map(|offset| (offset, Complex::int(1))).to_vec()])
        }
        OperatorShape::Cycles(cycles) => moved(cycles),
        OperatorShape::Dense { matrix, offsets } => {
            let bits = offsets.len().trailing_zeros();
            let targets = (0..bits).map(|b| offsets[1 << b].trailing_zeros()).collect();
            let controls = fixed & !offsets.last().copied().unwrap_or(0);
            LoweredGate {
                kind: abi::GATE_DENSE,
                targets,
                control_mask: controls as u64,
                control_value: (value & controls) as u64,
                matrix: matrix.iter().map(wide).collect(),
            }
        }
    })
}

/// Executor by kernels on the host's memory.
#[derive(Clone, Debug)]
pub struct HostKernels {
    pub(crate) backend: Arc<Backend>,
    /// True if they come before all others.
    pub(crate) first: bool,
}

impl HostKernels {
    /// Name of the kernels.
    #[must_use]
    pub fn name(&self) -> &str {
        self.backend.name()
    }

    /// Plugin that added them.
    #[must_use]
    pub fn plugin(&self) -> &str {
        self.backend.plugin()
    }

    /// Largest number of targets of an operator.
    #[must_use]
    pub fn max_targets(&self) -> usize {
        self.backend.raw.raw.max_matrix_targets as usize
    }

    /// Number of qubits of the largest state.
    #[must_use]
    pub fn max_qubits(&self) -> usize {
        self.backend.raw.raw.max_qubits as usize
    }

    /// Runs operators that it takes in one call.
    fn call(
        &self,
        gates: &[LoweredGate],
        amplitudes: &mut [GateScalar],
        threads: &Threads,
    ) -> Result<(), ExecuteError> {
        let b = &self.backend.raw.raw;
        let Some(apply) = b.apply_host.filter(|_| !gates.is_empty()) else { return Ok(()) };
        let gates: Vec<Gate> = gates.iter().map(LoweredGate::borrowed).collect();
        let list = list(&gates);
        let callee = &self.backend.raw.callee;
        let pool = Pool { threads, callee };
        let host = running(&pool);
        let n_qubits = amplitudes.len().trailing_zeros();
        let data = amplitudes.as_mut_ptr().cast();
        // SAFETY: the amplitudes are 2^n numbers that no other code accesses; table and list are
        // valid for the call.
        asked(callee, |err| unsafe { apply(b.user, &host, abi::C64, data, n_qubits, &list, err) })
            .map_err(|reason| self.backend.failed(reason))
    }
}

impl Executor<GateScalar> for HostKernels {
    fn name(&self) -> &str {
        self.backend.name()
    }

    fn cost(&self, n_qubits: usize, operators: usize) -> Option<f64> {
        let cost = self.backend.cost::<f64>(n_qubits, operators)?;
        Some(if self.first { 0.0 } else { cost })
    }

    fn run(
        &self,
        operators: &[Operator<GateScalar>],
        amplitudes: &mut [GateScalar],
        threads: &Threads,
    ) -> Result<(), ExecuteError> {
        let mut run: Vec<LoweredGate> = Vec::new();
        for operator in operators {
            if matches!(
                operator.shape(),
                OperatorShape::Parity { .. } | OperatorShape::PauliString { .. }
            ) {
                self.call(&std::mem::take(&mut run), amplitudes, threads)?;
                operator.apply(amplitudes, threads);
                continue;
            }
            match self.backend.lower(operator) {
                None => {}
                Some(lowered) if self.backend.takes(&lowered) => run.push(lowered),
                Some(_) => {
                    self.call(&std::mem::take(&mut run), amplitudes, threads)?;
                    operator.apply(amplitudes, threads);
                }
            }
        }
        self.call(&run, amplitudes, threads)
    }
}
