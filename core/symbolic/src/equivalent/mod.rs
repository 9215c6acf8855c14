//! Equivalence of two parametrised circuits, decided in a few times the time of simulating both.
//!
//! Both circuits run on one random vector over the residues modulo a random prime, at a random
//! point for the parameters ([`crate::field`]). Residues that differ prove the circuits different.
//! Residues that agree prove nothing but with a bound on the probability of an accident, which is
//! computed and printed:
//!
//! ```text
//! (4 E + 2 n) / (p - 1)        the point and the vector: Schwartz and Zippel, E = sum of the exponents
//! bits / (b P)                 the prime above 2^b: of P candidates with each of their roots
//! ```
//! What decides is whether `x_i y_j - x_j y_i` vanishes for two images x and y. As a polynomial in
//! the parameters' exponentials and the vector it has a degree of at most `4 E + 2 n`. Its
//! coefficients, times 2 for each gate, are algebraic integers; conjugates of unitary matrices are
//! unitary, so no conjugate of a coefficient is above `2^bits`, with `bits = 2 gates + 1`. An
//! integer of norm `2^(bits d)` lies in at most `bits d / b` prime ideals of norm `2^b`, where d is
//! the degree of its field, and each of P primes has d of them. P is counted by the density of
//! primes. Trials are repeated until the product of their bounds is at most [`BOUND`]. Primes are
//! above `2^48`, whose residues are floats; where more than two trials would be needed, above
//! `2^61`. Gates are applied in tiles that stay in a cache, those on one qubit fused.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, equivalent::{EquivalenceSettings, Verdict, equivalent}, simulate::Simulator};
//!
//! let one = Circuit::build(2, |c| { let t = c.param("theta"); c.rzz(0, 1, t) })?;
//! let other = Circuit::build(2, |c| { let t = c.param("theta"); c.cx(0, 1)?.p(1, t)?.cx(0, 1) })?;
//! let report = equivalent(&one, &other, &EquivalenceSettings::default(), &Simulator::new())?;
//! assert_eq!(report.verdict, Verdict::EqualUpToPhase);
//! assert_eq!(report.phase.ok_or("no phase")?.text, "-1/2*theta"); // one = e^{-i theta/2} other
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Circuits of a few qubits and gates are compared in the [exact ring](crate::exact) instead,
//! without any error.
//!
//! # Measurements
//! Circuits that both end with measurements are equal if their classical bits have the same
//! distribution for every input, whatever becomes of the qubits. Gates that are equal before the
//! same readout, or with qubits in other places that the readout follows, are the usual case, and
//! are compared as such. Else the effects of the bits are compared, as operators with a phase for
//! each bit, by the same means and as exactly; a difference names a bit and both its probabilities.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, equivalent::{EquivalenceSettings, Verdict, equivalent}, simulate::Simulator};
//!
//! let read = |from: [usize; 2]| -> Result<Circuit, Box<dyn std::error::Error>> {
//!     let mut c = Circuit::new(2);
//!     c.add_register("c", 2)?.h(0)?.rx(1, 0.3)?.measure(from[0], 0)?.measure(from[1], 1)?;
//!     Ok(c)
//! };
//! let report = equivalent(&read([0, 1])?, &read([1, 0])?, &EquivalenceSettings::default(), &Simulator::new())?;
//! assert_eq!(report.verdict, Verdict::Different);
//! assert!(report.reason.is_some_and(|why| why.starts_with("from |0...0>, c[0] is 1 with probability 0.5")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is exact
//! - Parameters match by name and are free. Computed ones (`sin(a)`) are taken for free too, but
//!   where their [normal forms](crate::normal) are rational combinations of others: `-cos(a)`,
//!   `cos(a) + sin(b)`. So *equal* stays right, and *different* needs numbers that show it.
//! - Fractions of pi are roots of unity. A decimal of at most 12 digits is the fraction it says;
//!   `e^{i/D}` is transcendental (Lindemann), so one symbol for it changes no verdict.
//! - A longer decimal is taken for a rounded real, and so is what was rounded on the way
//!   ([`Angle::rounding_bound`]), also within computed parameters. Then plain numbers decide, at a
//!   tolerance, and the verdict is not called exact.
//! - Numbers say *equal* where the distance and what rounding may have done to it, which is bounded
//!   gate by gate and angle by angle, are within the tolerance, and *different* where the distance
//!   less that is beyond it. *Equal up to a phase* is said where the distance with the best phase
//!   is within the tolerance, and that without any beyond it.
//!
//! [`Angle::rounding_bound`]: crate::param::Angle::rounding_bound

mod determinant;
mod exact;
mod numeric;
mod pair;
mod readout;
mod ring;
mod rounding;

use std::collections::BTreeSet;

use crate::{
    circuit::Circuit,
    field::Residue,
    simulate::{SimulateError, Simulator, final_measurements},
};
use exact::{Outcome, PointPlan};
use numeric::Numeric;
use pair::CircuitPair;
use readout::ReadoutBits;

/// The error up to which a verdict is called exact.
pub const BOUND: f64 = 1e-9;

/// Objects that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum On {
    /// Unitaries, where the last `ancillas` qubits start in |0>.
    Unitary {
        /// Number of ancillas.
        ancillas: usize,
    },
    /// The states that |0…0> becomes.
    State,
}

/// Settings of a comparison of circuits.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EquivalenceSettings {
    /// Objects that are compared.
    pub on: On,
    /// The distance up to which a numeric verdict is equal.
    pub tolerance: f64,
    /// Takes decimals that are multiples of pi to all their digits for those.
    pub snap: bool,
    /// Compares small circuits entry by entry in the [exact ring](crate::exact), which proves what
    /// fields make overwhelmingly likely.
    pub exact_ring: bool,
    /// Compares the gates alone. Otherwise, where both circuits write classical bits, the verdict
    /// is about these: *equal* are circuits that give the bits of one name the same distribution
    /// for every input state and all values of the parameters, whatever becomes of the qubits.
    /// Registers with the same names are matched by name, others by their order; a bit that only
    /// one circuit writes is 0 in the other. Qubits that only one circuit has start in |0>.
    pub ignore_measurements: bool,
    /// Computes in single precision where numbers decide. Its rounding is part of the error bound
    /// then.
    pub single: bool,
    /// The seed of primes, points and vectors.
    pub seed: u64,
}

impl Default for EquivalenceSettings {
    fn default() -> EquivalenceSettings {
        EquivalenceSettings {
            on: On::Unitary { ancillas: 0 },
            tolerance: 1e-9,
            snap: false,
            exact_ring: true,
            ignore_measurements: false,
            single: false,
            seed: 0,
        }
    }
}

impl EquivalenceSettings {
    /// Sets [`on`](EquivalenceSettings::on).
    #[must_use]
    pub fn with_on(self, on: On) -> EquivalenceSettings {
        EquivalenceSettings { on, ..self }
    }

    /// Sets [`tolerance`](EquivalenceSettings::tolerance).
    #[must_use]
    pub fn with_tolerance(self, tolerance: f64) -> EquivalenceSettings {
        EquivalenceSettings { tolerance, ..self }
    }

    /// Sets [`snap`](EquivalenceSettings::snap).
    #[must_use]
    pub fn with_snap(self, snap: bool) -> EquivalenceSettings {
        EquivalenceSettings { snap, ..self }
    }

    /// Sets [`exact_ring`](EquivalenceSettings::exact_ring).
    #[must_use]
    pub fn with_exact_ring(self, exact_ring: bool) -> EquivalenceSettings {
        EquivalenceSettings { exact_ring, ..self }
    }

    /// Sets [`ignore_measurements`](EquivalenceSettings::ignore_measurements).
    #[must_use]
    pub fn with_ignore_measurements(self, ignore_measurements: bool) -> EquivalenceSettings {
        EquivalenceSettings { ignore_measurements, ..self }
    }

    /// Sets [`single`](EquivalenceSettings::single).
    #[must_use]
    pub fn with_single(self, single: bool) -> EquivalenceSettings {
        EquivalenceSettings { single, ..self }
    }

    /// Sets [`seed`](EquivalenceSettings::seed).
    #[must_use]
    pub fn with_seed(self, seed: u64) -> EquivalenceSettings {
        EquivalenceSettings { seed, ..self }
    }
}

/// Verdict about two circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The circuits are equal for all values of the parameters.
    Equal,
    /// The circuits are equal but for a factor of modulus 1, which is not 1.
    EqualUpToPhase,
    /// The circuits differ, by more than a phase.
    Different,
    /// The question could not be decided.
    Unknown,
}

impl Verdict {
    /// Returns the name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Equal => "equal",
            Verdict::EqualUpToPhase => "equal_up_to_phase",
            Verdict::Different => "different",
            Verdict::Unknown => "unknown",
        }
    }
}

/// Method by which a verdict was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Means {
    /// Exact ring, entry by entry: a proof.
    ExactRing,
    /// Random points of finite fields.
    FiniteField,
    /// Numbers at random angles.
    Numeric,
}

impl Means {
    /// Returns the name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Means::ExactRing => "exact_ring",
            Means::FiniteField => "finite_field",
            Means::Numeric => "numeric",
        }
    }
}

/// A global phase: the first circuit is `e^{i phase}` times the second.
#[derive(Clone, Debug, PartialEq)]
pub struct CircuitPhase {
    /// The angle, exact unless the verdict is numeric: `pi/4 - 1/2*theta`.
    pub text: String,
    /// Value in radians in (-pi, pi] if no parameter occurs in it; to the digits that the error
    /// bound leaves.
    pub value: Option<f64>,
}

/// Point at which two circuits differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// The parameters there, by name.
    pub params: Vec<(String, f64)>,
    /// The distance there: see [`EquivalenceReport::max_difference`].
    pub distance: f64,
    /// Error of the distance by rounding, at most.
    pub error: f64,
}

/// A verdict with its reasons.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EquivalenceReport {
    /// The verdict.
    pub verdict: Verdict,
    /// Method by which it was reached.
    pub method: Means,
    /// True if it holds for real numbers, with an error of at most [`BOUND`].
    pub exact: bool,
    /// Probability that the verdict is wrong, over a field; in numbers what rounding may have
    /// moved the distance by.
    pub error_bound: f64,
    /// The phase of [`Verdict::EqualUpToPhase`], if it was found.
    pub phase: Option<CircuitPhase>,
    /// Point at which they differ.
    pub witness: Option<Witness>,
    /// True if the distributions of classical bits decided: the gates before them are not equal.
    pub by_readout: bool,
    /// The largest norm `|A v - e^{i phase} B v|` at the points tried in numbers, with the best
    /// phase at each: `v` is |0…0> or a random state. Where bits differ it is the total variation
    /// distance of their distributions, half the sum of the differences of all probabilities.
    pub max_difference: Option<f64>,
    /// Reason why the verdict is not exact or not known.
    pub reason: Option<String>,
    /// Notes about the circuits, one sentence each.
    pub notes: Vec<String>,
}

/// Error of a comparison: the reason why two circuits cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EquivalentError {
    /// They act on different numbers of qubits.
    #[error("the first circuit has {}, the second {right}: only circuits on equally many can be compared", crate::gate::count(*left, "qubit"))]
    Qubits {
        /// Qubits of the first.
        left: usize,
        /// Qubits of the second.
        right: usize,
    },
    /// More ancillas than qubits.
    #[error("{given} ancillas asked for, but the circuits have {}", crate::gate::count(*n_qubits, "qubit"))]
    Ancillas {
        /// The number asked for.
        given: usize,
        /// The number of qubits.
        n_qubits: usize,
    },
    /// A tolerance that is none.
    #[error("the tolerance is {given}; a number from 0 to 2 was expected")]
    Tolerance {
        /// The tolerance given.
        given: f64,
    },
    /// One of them is no unitary with measurements at its end.
    #[error(
        "the {which} circuit measures, resets, branches or has noise before its end, so it is no unitary to compare"
    )]
    Dynamic {
        /// Circuit: first or second.
        which: &'static str,
    },
    /// An angle without any value.
    #[error("the angle {angle} divides by zero, whatever the parameters are")]
    DivisionByZero {
        /// The angle, with the names of the circuit.
        angle: String,
    },
    /// A circuit cannot be run.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
}

/// Compares two circuits. Where both write classical bits at their ends, what is compared is how
/// these depend on the inputs ([readout](EquivalenceSettings::ignore_measurements)). Time: less
/// than that of simulating both once on the generic kernels, three times that where readout
/// decides, some more where they are not equal; memory: three states.
///
/// # Errors
/// [`EquivalentError`] if they cannot be compared or not be run.
pub fn equivalent(
    a: &Circuit,
    b: &Circuit,
    settings: &EquivalenceSettings,
    simulator: &Simulator,
) -> Result<EquivalenceReport, EquivalentError> {
    let ComparedCircuits { gates: [a, b], settings, readout, notes } =
        ComparedCircuits::new(a, b, settings)?;
    let mut report = match readout {
        Some(readout) => readout.compare(&a, &b, &settings, simulator)?,
        None => compare(&a, &b, &settings, ComparedEntries::Vectors, simulator)?,
    };
    report.notes.extend(notes);
    Ok(report)
}

/// Compares two circuits of gates on equally many qubits.
fn compare(
    a: &Circuit,
    b: &Circuit,
    settings: &EquivalenceSettings,
    ends: ComparedEntries,
    simulator: &Simulator,
) -> Result<EquivalenceReport, EquivalentError> {
    let pair = CircuitPair::new(a, b, settings)?;
    // Three vectors, of residues or of complex numbers.
    simulator.check_memory::<[Residue; 3]>(pair.n_qubits).map_err(SimulateError::from)?;
    let start = numeric::Start::new(pair.n_qubits, settings, ends);
    let mut numeric = Numeric::new(&pair, start, settings, simulator);
    let plan = match pair.obstacle().map_or_else(|| PointPlan::new(&pair), Err) {
        Ok(plan) => plan,
        Err(reason) => return numeric.decide(reason),
    };
    if settings.exact_ring
        && let Some(factor) = ring::decide(&pair, start, simulator)?
    {
        return conclude(&Outcome::certain(factor, Means::ExactRing), &plan, &pair, &mut numeric);
    }
    match plan.decide(&pair, start, settings, simulator)? {
        Ok(outcome) => conclude(&outcome, &plan, &pair, &mut numeric),
        Err(reason) => numeric.decide(reason),
    }
}

/// Returns the number of qubits that circuits are compared on: those that either uses.
#[must_use]
pub fn compared_qubits(a: &Circuit, b: &Circuit, settings: &EquivalenceSettings) -> usize {
    ComparedCircuits::new(a, b, settings)
        .map_or(a.n_qubits().max(b.n_qubits()), |compared| compared.gates[0].n_qubits())
}

/// Entries of the images of vectors that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ComparedEntries {
    /// All, up to a phase.
    Vectors,
    /// The entries where all ancillas are 0, without any phase.
    Returned,
}

/// Two circuits on the qubits that either uses, without what comes after their gates.
struct ComparedCircuits {
    gates: [Circuit; 2],
    /// Settings with the ancillas among the qubits that are used.
    settings: EquivalenceSettings,
    /// Sources of the classical bits, if they are compared.
    readout: Option<ReadoutBits>,
    notes: Vec<String>,
}

impl ComparedCircuits {
    fn new(
        a: &Circuit,
        b: &Circuit,
        settings: &EquivalenceSettings,
    ) -> Result<ComparedCircuits, EquivalentError> {
        if !(0.0..=2.0).contains(&settings.tolerance) {
            return Err(EquivalentError::Tolerance { given: settings.tolerance });
        }
        let from_zero = settings.on == On::State;
        let circuits = [a, b].map(|c| if from_zero { c.folded() } else { c.clone() });
        let [first, second] = &circuits;
        let mut notes = Vec::new();
        let readout = match settings.ignore_measurements {
            true => None,
            false => ReadoutBits::new(first, second, &mut notes)?,
        };
        let (left, right) = (a.n_qubits(), b.n_qubits());
        // A qubit that only one of them has is not its input: it is read, or thrown away.
        if left != right && readout.is_none() {
            return Err(EquivalentError::Qubits { left, right });
        }
        let common = left.min(right);
        let ancillas = match settings.on {
            On::Unitary { ancillas } => ancillas,
            On::State => 0,
        };
        if ancillas > common {
            return Err(EquivalentError::Ancillas { given: ancillas, n_qubits: common });
        }
        if left != right {
            let range = format!("qubits {common} to {}", left.max(right) - 1);
            notes.push(format!("{range}, which one of the circuits has, start in |0>"));
        }
        for (circuit, which) in circuits.iter().zip(["first", "second"]) {
            let finals =
                final_measurements(circuit).map_err(|_| EquivalentError::Dynamic { which })?;
            if settings.ignore_measurements && !finals.is_empty() {
                let qubits: BTreeSet<u32> = finals.into_values().collect();
                let dropped = readout::listed(qubits.iter().map(u32::to_string));
                notes.push(format!(
                    "measurements of the {which} circuit are ignored, of qubit {dropped}"
                ));
            }
        }
        let gates = circuits.map(Circuit::gates_alone);
        let mut used: Vec<usize> = gates.iter().flat_map(Circuit::used_qubits).collect();
        used.extend(readout.iter().flat_map(ReadoutBits::qubits));
        used.sort_unstable();
        used.dedup();
        let [a, b] = gates.map(|circuit| circuit.on(used.clone()));
        let on = match settings.on {
            On::Unitary { .. } => {
                let ancillas = a.qubits().iter().filter(|q| **q >= common - ancillas).count();
                On::Unitary { ancillas }
            }
            On::State => On::State,
        };
        let readout = readout.map(|readout| readout.on_qubits(&a));
        let settings = EquivalenceSettings { on, ..*settings };
        Ok(ComparedCircuits {
            gates: [a.into_circuit(), b.into_circuit()],
            settings,
            readout,
            notes,
        })
    }
}

/// Returns the report of what the fields said.
fn conclude(
    outcome: &Outcome,
    plan: &PointPlan,
    pair: &CircuitPair,
    numeric: &mut Numeric<'_>,
) -> Result<EquivalenceReport, EquivalentError> {
    let mut report = pair.report(outcome.method, outcome.error_bound);
    report.exact = outcome.error_bound <= BOUND;
    if !report.exact {
        report.reason =
            Some(format!("the error bound is {:.1e}, more than {BOUND:e}", outcome.error_bound));
    }
    match &outcome.factor {
        exact::VectorRatio::One => report.verdict = Verdict::Equal,
        exact::VectorRatio::Phase { .. } | exact::VectorRatio::Exact { .. } => {
            report.verdict = Verdict::EqualUpToPhase;
            report.phase = numeric.phase(plan, outcome)?;
            report.max_difference = Some(numeric.max_difference());
            if report.phase.is_none() {
                report.reason.get_or_insert("the phase was not recognised".to_owned());
            }
        }
        exact::VectorRatio::None if pair.has_computed() => {
            let reason = "computed parameters were taken for free ones, where the circuits differ";
            return numeric.confirm(reason.to_owned());
        }
        exact::VectorRatio::None => {
            report.verdict = Verdict::Different;
            report.witness = numeric.witness()?;
            report.max_difference = Some(numeric.max_difference());
            if numeric.max_difference() <= numeric.error_bound() {
                let reason = "numbers do not show the difference: it is less than rounding at the points tried";
                report.reason.get_or_insert(reason.to_owned());
            }
        }
    }
    Ok(report)
}
