//! Conformance suite of devices: one for all of them, the emulated one in the tests and those in a
//! machine. Gate kernels on the host's memory pass the part of it that is about operators
//! ([`conform_kernels`]).
//!
//! | compared with the kernels of this program | laws, on states of any size |
//! |---|---|
//! | amplitudes that are moved there and back, basis states, copies | a GHZ state: correlations, samples |
//! | every shape of operator on low and high qubits, under controls of both values | a product state: expectation values and their gradient |
//! | expectation values, `O|psi>`, inner products | a circuit and its inverse: back at the start |
//! | two states through one list of operators, with inner products on the way | |
//! | samples for the same uniform numbers | |
//! | long lists with every target, on up to 16 qubits, on one thread and several | |
//!
//! The left side but for the lists runs on at most [`COMPARED`] qubits. At load it is short: six
//! qubits, and fewer lists. The right side runs through the core with no memory for a state
//! allowed, so it also shows that nothing but values moves; a sum over 2^n amplitudes in blocks of
//! single precision is given its rounding.

mod compare;
mod laws;
mod lists;
mod sample;

use std::time::{Duration, Instant};

use ketgrad_core::kernel::{ExecuteError, Executor, SimdFloat};
use num_complex::Complex;

use crate::{device::Device, executor::HostKernels};

use lists::{LONG, List, SHORT};

/// Version of the suite; with another number, earlier results do not count any more.
pub(crate) const VERSION: u32 = 1;

/// Number of qubits of the states on which each part but the lists runs at load.
const AT_LOAD: usize = 6;

/// Time at load after which no further part is begun.
const TIME_AT_LOAD: Duration = Duration::from_secs(10);

/// Largest number of qubits of states that are compared amplitude by amplitude, but for lists of
/// operators.
pub const COMPARED: usize = 12;

/// Smallest such number: below it the kernels of this program take no two states at once.
const LEAST: usize = 6;

/// Result of one part of the suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Subject of the comparison.
    pub what: &'static str,
    /// Precision: `f64` or `f32`.
    pub precision: &'static str,
    /// Number of qubits of the states.
    pub n_qubits: usize,
    /// Largest difference, or the error that prevented the comparison.
    pub error: Result<f64, ExecuteError>,
    /// Largest allowed difference.
    pub bound: f64,
    /// Place where it is larger, if that is known: the operator, its result and the expected one.
    pub place: Option<String>,
}

impl Finding {
    /// Returns true if nothing was compared since the device had no room for it.
    pub(crate) fn had_no_room(&self) -> bool {
        self.error.as_ref().is_err_and(|error| error.untouched)
    }

    /// Returns true if the device conforms. A difference that is NaN does not.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.error.as_ref().is_ok_and(|error| *error <= self.bound)
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Finding { what, precision, n_qubits, error, bound, place } = self;
        write!(f, "{what}, {n_qubits} qubits in {precision}: ")?;
        match error {
            Ok(error) => write!(f, "off by {error:.1e}, {bound:.0e} allowed")?,
            Err(error) => write!(f, "{error}")?,
        }
        place.as_ref().map_or(Ok(()), |place| write!(f, "; {place}"))
    }
}

/// Runs the suite in every precision that a device has, with states of n qubits, but at least 6 and
/// at most what it takes. Memory on the device: two states and what its calls need.
#[must_use]
pub fn conform(device: &Device, n_qubits: usize) -> Vec<Finding> {
    let n_qubits = n_qubits.max(LEAST).min(device.max_qubits());
    let mut findings = Vec::new();
    if device.knows::<f64>() {
        findings.extend(device_findings::<f64>(device, n_qubits));
        findings.extend(run_lists::<f64>(device, device.max_targets(), n_qubits, &LONG, None).0);
    }
    if device.knows::<f32>() {
        findings.extend(device_findings::<f32>(device, n_qubits));
        findings.extend(run_lists::<f32>(device, device.max_targets(), n_qubits, &LONG, None).0);
    }
    findings
}

/// Runs the part that is about operators on gate kernels in the host's memory: single ones on n
/// qubits, but at least 6 and at most [`COMPARED`] and what they take, and on states of 2 and 3
/// qubits, which are shorter than vector registers; lists on up to n.
#[must_use]
pub fn conform_kernels(kernels: &HostKernels, n_qubits: usize) -> Vec<Finding> {
    let most = kernels.max_qubits();
    let mut findings = operators_here(kernels, n_qubits.clamp(LEAST, COMPARED).min(most));
    let n_qubits = n_qubits.max(LEAST).min(most);
    findings.extend(run_lists::<f64>(kernels, kernels.max_targets(), n_qubits, &LONG, None).0);
    findings
}

/// Runs the short form for a device, up to the first part that does not hold; the flag is true if
/// the time sufficed for all.
pub(crate) fn device_at_load(device: &Device) -> (Vec<Finding>, bool) {
    let until = Some(Instant::now() + TIME_AT_LOAD);
    let most = device.max_qubits();
    let mut findings = Vec::new();
    let mut all = true;
    if device.knows::<f64>() {
        findings.extend(device_findings::<f64>(device, AT_LOAD.min(most)));
        let (lists, whole) = run_lists::<f64>(device, device.max_targets(), most, &SHORT, until);
        findings.extend(lists);
        all &= whole;
    }
    if device.knows::<f32>() {
        findings.extend(device_findings::<f32>(device, AT_LOAD.min(most)));
        let (lists, whole) = run_lists::<f32>(device, device.max_targets(), most, &SHORT, until);
        findings.extend(lists);
        all &= whole;
    }
    (findings, all)
}

/// Runs the short form for gate kernels in the host's memory.
pub(crate) fn kernels_at_load(kernels: &HostKernels) -> (Vec<Finding>, bool) {
    let until = Some(Instant::now() + TIME_AT_LOAD);
    let most = kernels.max_qubits();
    let mut findings = operators_here(kernels, AT_LOAD.min(most));
    let (lists, all) = run_lists::<f64>(kernels, kernels.max_targets(), most, &SHORT, until);
    findings.extend(lists);
    (findings, all)
}

/// Runs lists on at most that many qubits, up to the first that is wrong; the flag is true if the
/// time sufficed for all.
fn run_lists<E: SimdFloat>(
    executor: &dyn Executor<Complex<E>>,
    max_targets: usize,
    most: usize,
    lists: &[List],
    until: Option<Instant>,
) -> (Vec<Finding>, bool) {
    let (precision, bound) = if size_of::<E>() == 8 { ("f64", 1e-11) } else { ("f32", 1e-4) };
    let mut findings = Vec::new();
    for list in lists.iter().filter(|list| list.n_qubits <= most) {
        if until.is_some_and(|until| Instant::now() > until) {
            return (findings, false);
        }
        let result = list.run(executor, max_targets, bound);
        let (error, place) = match result {
            Ok((error, place)) => (Ok(error), place),
            Err(error) => (Err(error), None),
        };
        let finding =
            Finding { what: list.what, precision, n_qubits: list.n_qubits, error, bound, place };
        let holds = finding.holds();
        findings.push(finding);
        if !holds {
            break;
        }
    }
    (findings, true)
}

/// Returns the findings on single operators.
fn operators_here(kernels: &HostKernels, compared: usize) -> Vec<Finding> {
    type OperatorCheck = fn(&HostKernels, usize) -> Result<f64, ExecuteError>;
    const ROUNDING: f64 = 1e-12;
    let parts: [(usize, f64, &'static str, OperatorCheck); 5] = [
        (2, ROUNDING, "each operator", compare::each_here),
        (3, ROUNDING, "each operator", compare::each_here),
        (compared, ROUNDING, "each operator", compare::each_here),
        (compared, 10.0 * ROUNDING, "operators in a row", compare::in_a_row_here),
        (compared, 10.0 * ROUNDING, "operators in a row on two threads", compare::on_threads),
    ];
    let fitting = parts.into_iter().filter(|(n, ..)| *n <= kernels.max_qubits());
    fitting
        .map(|(n_qubits, bound, what, part)| {
            let error = part(kernels, n_qubits);
            Finding { what, precision: "f64", n_qubits, error, bound, place: None }
        })
        .collect()
}

/// Part of the suite: returns the largest difference on n qubits.
type DeviceCheck = fn(&Device, usize) -> Result<f64, ExecuteError>;

fn device_findings<E: SimdFloat>(device: &Device, n_qubits: usize) -> Vec<Finding> {
    let (precision, rounding) = if size_of::<E>() == 8 { ("f64", 1e-12) } else { ("f32", 1e-5) };
    let mut findings = Vec::new();
    let mut run = |n_qubits: usize, bound: f64, what: &'static str, part: DeviceCheck| {
        findings.push(Finding {
            what,
            precision,
            n_qubits,
            error: part(device, n_qubits),
            bound,
            place: None,
        });
    };
    let compared = n_qubits.min(COMPARED);
    run(compared, 0.0, "amplitudes there and back", compare::moves::<E>);
    run(compared, rounding, "each operator", compare::each_operator::<E>);
    run(compared, 10.0 * rounding, "operators in a row", compare::in_a_row::<E>);
    if !device.keeps_states() {
        return findings;
    }
    run(compared, 0.0, "basis states", compare::basis::<E>);
    run(compared, 0.0, "copies", compare::copies::<E>);
    run(compared, rounding, "expectation values", compare::expectations::<E>);
    run(compared, rounding, "observables on a state", compare::observed::<E>);
    run(compared, rounding, "inner products", compare::inners::<E>);
    run(compared, 10.0 * rounding, "two states at once", compare::pairs::<E>);
    run(compared, rounding, "samples", sample::samples::<E>);
    run(compared, 0.0, "samples of few outcomes", sample::few::<E>);
    // Sums over all amplitudes lose a little with each doubling.
    let of_sums = rounding * n_qubits as f64;
    run(n_qubits, of_sums, "a GHZ state", laws::ghz::<E>);
    run(n_qubits, of_sums, "a product state and its gradient", laws::product::<E>);
    run(n_qubits, of_sums, "a circuit and its inverse", laws::inverse::<E>);
    findings
}
