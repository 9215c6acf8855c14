//! Expectation values estimated from measurements: means over shots, with their standard errors.
//!
//! The terms of an observable fall into groups that are measured together: a
//! [basis change](measurement_basis) turns the strings of a group into strings of Z, whose values
//! are read off the same shots. A group has a share of the shots that is proportional to the root
//! of the sum of its squared coefficients: the best where its terms have spreads alike.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, observable::PauliSum, simulate::{Shots, Simulator, measurement_basis}};
//! let h: PauliSum = "Z0 Z1 + X0 X1".parse()?;
//! let mut bell = Circuit::new(2);
//! bell.h(0)?.cx(0, 1)?;
//! let mean = Simulator::new().measure::<f64>(&bell, &[], &h, Shots::new(100, 7))?;
//! assert_eq!((mean.value, mean.stderr), (2.0, Some(0.0))); // both are certain
//!
//! // They commute, so that one basis will do: that of the Bell states.
//! let (basis, diagonal) = measurement_basis(2, &h)?;
//! assert_eq!(basis.count_operations().into_iter().map(|(name, n)| format!("{n} {name}")).collect::<Vec<_>>(), ["1 cx", "1 h"]);
//! assert_eq!(diagonal.to_string(), "Z1 + Z0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;

use num_complex::Complex;
use smallvec::SmallVec;

use super::{BoundCircuit, Mean, SimulateError, Simulator, program::ReadoutError};
use crate::{
    basis::{BasisError, gather_bits, odd, scatter_bits},
    circuit::{Circuit, CircuitError},
    kernel::Operator,
    observable::{PauliString, PauliSum},
    param::Values,
    pauli::{PauliMasks, PhasedPauli, SingleQubitClifford},
    scalar::{Real, Ring, Scalar},
    state::{StateError, StateVector, derived_seed, draw},
};

/// Grouping of the terms of an observable that are measured together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Grouping {
    /// Terms that commute qubit by qubit: gates on single qubits before the measurement.
    #[default]
    QubitWise,
    /// Terms that commute: fewer groups, and up to n^2 CX and CZ before the measurement.
    Commuting,
}

impl Grouping {
    fn group_terms(self, observable: &PauliSum) -> Vec<PauliSum> {
        match self {
            Grouping::QubitWise => observable.qubit_wise_groups(),
            Grouping::Commuting => observable.commuting_groups(),
        }
    }
}

/// Settings of measurements: their number, their seed and their grouping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Shots {
    /// Number of shots, of all groups together.
    pub count: usize,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Grouping of the terms.
    pub grouping: Grouping,
}

impl Shots {
    /// Returns this number of shots, with terms that commute qubit by qubit measured together.
    #[must_use]
    pub fn new(count: usize, seed: u64) -> Shots {
        Shots { count, seed, grouping: Grouping::default() }
    }

    /// Returns the same number of other shots, for part `k` of some work.
    #[must_use]
    pub fn part(self, k: u64) -> Shots {
        Shots { seed: derived_seed(self.seed, k), ..self }
    }
}

/// Smallest number of shots of a group: a spread takes two.
const FEWEST: usize = 2;

impl Simulator {
    /// Returns the expectation value of an observable from the given number of shots. Constants are
    /// exact; of the shots each group of the other terms has at least two. The same seed gives the
    /// same result for any number of threads. Measurements at the end of the circuit are set aside;
    /// with others, or noise, each shot is a trajectory. Where such a measurement has a readout
    /// error ([`Circuit::readout_error`]), so has its qubit here; of a qubit that several of them
    /// read, the first bit with a readout error counts. Qubits that are read together are so in the
    /// basis of each group, where those that no term of the group is about are measured as they
    /// are.
    ///
    /// Cost: a run, then for each group a pass for its basis and the shots; with trajectories a run
    /// for each group.
    ///
    /// # Errors
    /// [`SimulateError`]; [`SimulateError::TooFewShots`] for fewer than two a group.
    pub fn measure<T: Real>(
        &self,
        circuit: &Circuit,
        inputs: &[T],
        observable: &PauliSum,
        shots: Shots,
    ) -> Result<Mean, SimulateError> {
        let n_qubits = circuit.n_qubits();
        if observable.n_qubits() > n_qubits {
            return Err(BasisError::OutOfRange {
                given: observable.n_qubits() - 1,
                available: n_qubits,
            }
            .into());
        }
        let values = circuit.param_values(inputs)?;
        // An idle qubit may have a readout error, too.
        let lean = circuit.lean().filter(|_| !circuit.has_readout_errors());
        let Some(compact) = lean else {
            let bound = BoundCircuit::<Complex<T>>::new(circuit, &Values(&values))?;
            return self.measure_bound(&bound, observable, shots);
        };
        let bound = BoundCircuit::<Complex<T>>::new(compact.circuit(), &Values(&values))?;
        self.measure_bound(&bound, &compact.observable(observable)?, shots)
    }

    /// Computes [`Simulator::measure`] of a circuit that is bound.
    ///
    /// # Errors
    /// Those of [`Simulator::measure`].
    pub fn measure_bound<T: Real>(
        &self,
        circuit: &BoundCircuit<Complex<T>>,
        observable: &PauliSum,
        shots: Shots,
    ) -> Result<Mean, SimulateError> {
        self.measure_readout(
            circuit,
            &MeasurementPlan::new(circuit.n_qubits, observable, shots.grouping)?,
            shots,
        )
    }

    /// Computes [`Simulator::measure_bound`] of an observable whose groups are known.
    #[doc(hidden)]
    pub fn measure_readout<T: Real>(
        &self,
        circuit: &BoundCircuit<Complex<T>>,
        readout: &MeasurementPlan,
        shots: Shots,
    ) -> Result<Mean, SimulateError> {
        let run = |operators| self.final_state(circuit, operators);
        let final_state = circuit.gates_before_readout().map(run).transpose()?;
        let errors = ConfusionMatrices::new(circuit)?;
        let mut sum = Mean { value: readout.constant, stderr: Some(0.0) };
        let groups = readout.groups.iter().zip(readout.shares(shots.count)?);
        for (k, (measured, count)) in groups.enumerate() {
            let seed = derived_seed(shots.seed, k as u64);
            let counts = match &final_state {
                Some(state) => self.outcomes(measured, state, count, seed)?,
                None => {
                    let parts = self.trajectories(circuit, count, seed, |t| {
                        let first = t.shots.first().map_or(0, |shot| *shot as u64);
                        self.outcomes(measured, t.state, t.shots.len(), derived_seed(seed, first))
                    })?;
                    parts.into_iter().flat_map(|(_, counts)| counts).collect()
                }
            };
            let counts = errors.read(counts, measured.qubits(), derived_seed(seed, READINGS));
            let mean = Mean::from_weighted(
                counts.iter().map(|(outcome, times)| (*times as f64, measured.value(*outcome))),
            );
            sum.value += mean.value;
            sum.stderr = sum.stderr.zip(mean.stderr).map(|(a, b)| a.hypot(b));
        }
        Ok(sum)
    }

    fn final_state<R: Ring>(
        &self,
        circuit: &BoundCircuit<R>,
        operators: &[Operator<R>],
    ) -> Result<StateVector<R>, SimulateError> {
        self.check_memory::<R>(circuit.n_qubits)?;
        let mut state = match &circuit.start {
            Some(start) => StateVector::clone(start),
            None => StateVector::zero_on(circuit.n_qubits, &self.threads)?,
        };
        self.execute(operators, &mut state, &mut |_, _| {})?;
        Ok(state)
    }

    /// Samples the outcomes in the basis of a group, and counts each.
    fn outcomes<T: Real>(
        &self,
        measured: &MeasuredGroup,
        state: &StateVector<Complex<T>>,
        shots: usize,
        seed: u64,
    ) -> Result<Vec<(usize, u64)>, SimulateError> {
        if measured.basis.instructions().is_empty() {
            return Ok(state.sample_counts(shots, seed, &self.threads)?);
        }
        self.check_memory_of::<Complex<T>>(state.n_qubits(), 2)?;
        let basis = BoundCircuit::new(&measured.basis, &Values::<T>(&[]))?;
        let mut turned = state.clone();
        self.execute(basis.operators().unwrap_or_default(), &mut turned, &mut |_, _| {})?;
        Ok(turned.sample_counts(shots, seed, &self.threads)?)
    }
}

/// The part of the work of a group that reads outcomes; others count from 0.
const READINGS: u64 = 1 << 62;

/// Readout errors of the qubits.
struct ConfusionMatrices(Vec<ConfusionMatrix>);

/// Readout error of some qubits together, as a confusion matrix.
struct ConfusionMatrix {
    qubits: SmallVec<[usize; 2]>,
    /// Probabilities that each outcome stays, and that it becomes each of the others.
    rows: Vec<Vec<f64>>,
}

impl ConfusionMatrix {
    fn mask(&self) -> usize {
        self.qubits.iter().fold(0, |mask, qubit| mask | 1 << qubit)
    }

    /// Returns the outcome that is read in place of an outcome of all qubits, by a number that was
    /// drawn.
    fn read(&self, outcome: usize, drawn: f64) -> usize {
        let own = gather_bits(outcome, &self.qubits);
        let mut sum = 0.0;
        let changes = self.rows.get(own).into_iter().flatten().enumerate().skip(1);
        let mut up_to = changes.map(|(weight, p)| {
            sum += p;
            (weight, sum)
        });
        let weight = up_to.find(|(_, sum)| drawn < *sum).map_or(0, |(weight, _)| weight);
        let read = ReadoutError::<f64>::outcome_read(own, weight);
        outcome & !self.mask() | scatter_bits(read, &self.qubits)
    }
}

impl ConfusionMatrices {
    /// Collects the readout errors of the final measurements of a circuit.
    fn new<R: Scalar>(circuit: &BoundCircuit<R>) -> Result<ConfusionMatrices, SimulateError> {
        // The bit of a qubit that counts.
        let mut bits = BTreeMap::new();
        for (&bit, &qubit) in &circuit.finals {
            if circuit.readout_errors.iter().any(|readout_error| readout_error.bits.contains(&bit))
            {
                bits.entry(qubit).or_insert(bit);
            }
        }
        let mut errors = Vec::new();
        for readout_error in &circuit.readout_errors {
            let qubit = |bit: &u32| circuit.finals.get(bit).filter(|q| bits.get(q) == Some(bit));
            let qubits: SmallVec<[usize; 2]> =
                readout_error.bits.iter().filter_map(qubit).map(|&q| q as usize).collect();
            if qubits.is_empty() {
                continue;
            }
            if qubits.len() < readout_error.bits.len() {
                return Err(SimulateError::ReadingOfOthers { bits: readout_error.bits.to_vec() });
            }
            let number = |p: &R| p.re().primal().ok_or(StateError::Symbolic);
            let row = |outcome| readout_error.weights_of(outcome).iter().map(number).collect();
            let rows = (0..1 << qubits.len()).map(row).collect::<Result<_, _>>()?;
            errors.push(ConfusionMatrix { qubits, rows });
        }
        Ok(ConfusionMatrices(errors))
    }

    /// Counts the outcomes that are read on some qubits. O(shots x readings).
    fn read(&self, counts: Vec<(usize, u64)>, qubits: usize, seed: u64) -> Vec<(usize, u64)> {
        // The readout error of a qubit may depend on others that are read with it.
        let (mut errors, mut read) = (Vec::new(), qubits);
        for error in self.0.iter().rev() {
            if error.mask() & read != 0 {
                read |= error.mask();
                errors.push(error);
            }
        }
        errors.reverse();
        if errors.is_empty() {
            return counts;
        }
        // Alike whatever the order of the branches that they come from.
        let (mut drawn, mut read) = (BTreeMap::new(), BTreeMap::new());
        counts.into_iter().for_each(|(outcome, times)| *drawn.entry(outcome).or_insert(0) += times);
        let outcomes =
            drawn.into_iter().flat_map(|(outcome, times)| (0..times).map(move |_| outcome));
        for (shot, mut outcome) in (0u64..).zip(outcomes) {
            for (k, error) in (0u64..).zip(&errors) {
                outcome = error.read(outcome, draw(seed, shot, k));
            }
            *read.entry(outcome).or_insert(0) += 1;
        }
        read.into_iter().collect()
    }
}

/// An observable as it is measured: its constant, and groups of its other terms, each string once.
#[doc(hidden)]
pub struct MeasurementPlan {
    constant: f64,
    groups: Vec<MeasuredGroup>,
}

impl MeasurementPlan {
    /// O(n^2 t + t^2) for t terms on n qubits.
    #[doc(hidden)]
    pub fn new(
        n_qubits: usize,
        observable: &PauliSum,
        grouping: Grouping,
    ) -> Result<MeasurementPlan, SimulateError> {
        if observable.n_qubits() > n_qubits {
            let given = observable.n_qubits() - 1;
            return Err(BasisError::OutOfRange { given, available: n_qubits }.into());
        }
        let collected = observable.collected()?;
        let (constant, rest): (Vec<_>, Vec<_>) =
            collected.terms().iter().cloned().partition(|(_, string)| string.factors().is_empty());
        let groups = grouping.group_terms(&PauliSum::new(rest)?);
        Ok(MeasurementPlan {
            constant: constant.iter().map(|t| t.0).sum(),
            groups: groups
                .iter()
                .map(|group| MeasuredGroup::new(n_qubits, group))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Returns the shots of each group.
    fn shares(&self, shots: usize) -> Result<Vec<usize>, SimulateError> {
        let groups = self.groups.len();
        let free = groups.checked_mul(FEWEST).and_then(|least| shots.checked_sub(least));
        let Some(free) = free else {
            return Err(SimulateError::TooFewShots { given: shots, groups });
        };
        let total: f64 = self.groups.iter().map(MeasuredGroup::size).sum();
        // By the sums of sizes up to each group, so that none is lost to rounding.
        let (mut before, mut given) = (0.0, 0);
        let share = |(k, group): (usize, &MeasuredGroup)| {
            before += group.size();
            let until =
                if k + 1 == groups { free } else { (free as f64 * (before / total)) as usize };
            let until = until.clamp(given, free);
            let share = FEWEST + until - given;
            given = until;
            share
        };
        Ok(self.groups.iter().enumerate().map(share).collect())
    }
}

/// A group of terms in the basis in which it is measured.
struct MeasuredGroup {
    basis: Circuit,
    /// Coefficients, and the qubits of which each term is the parity.
    terms: Vec<(f64, usize)>,
}

impl MeasuredGroup {
    fn new(n_qubits: usize, group: &PauliSum) -> Result<MeasuredGroup, SimulateError> {
        let (basis, diagonal) = measurement_basis(n_qubits, group)?;
        let terms = diagonal.terms().iter().map(|(c, string)| (*c, string.z_mask())).collect();
        Ok(MeasuredGroup { basis, terms })
    }

    /// Returns the qubits that its values depend on.
    fn qubits(&self) -> usize {
        self.terms.iter().fold(0, |all, (_, parity)| all | parity)
    }

    /// Returns the root of the sum of the squared coefficients.
    fn size(&self) -> f64 {
        self.terms.iter().map(|t| t.0 * t.0).sum::<f64>().sqrt()
    }

    /// Returns the value of a basis state.
    fn value(&self, outcome: usize) -> f64 {
        self.terms.iter().map(|(c, parity)| if odd(outcome & parity) { -c } else { *c }).sum()
    }
}

/// Diagonalizes commuting strings: returns a Clifford circuit after which they are strings of Z,
/// and those strings in the order of the terms, with signs. Strings that commute qubit by qubit
/// take gates on single qubits alone; others up to n CX and CZ for each qubit. O(n^2 t) for t
/// terms.
///
/// # Errors
/// [`SimulateError::NotCommuting`] with two terms that do not commute; [`SimulateError`] for a
/// qubit that does not exist.
pub fn measurement_basis(
    n_qubits: usize,
    group: &PauliSum,
) -> Result<(Circuit, PauliSum), SimulateError> {
    let pairs = || {
        let terms = group.terms();
        terms
            .iter()
            .enumerate()
            .flat_map(move |(k, a)| terms[..k].iter().map(move |b| (&b.1, &a.1)))
    };
    if let Some((first, second)) = pairs().find(|(a, b)| !a.commutes(b)) {
        let text =
            |string: &PauliString| PauliSum::new([(1.0, string.clone())]).map(|s| s.to_string());
        return Err(SimulateError::NotCommuting { first: text(first)?, second: text(second)? });
    }
    let mut frame = CliffordFrame::new(n_qubits, group);
    if pairs().all(|(a, b)| a.commutes_qubit_wise(b)) {
        frame.turn_qubits()?;
    } else {
        frame.turn_strings()?;
    }
    let terms = frame.strings.iter().zip(group.terms());
    let terms = terms.map(|(s, (c, _))| {
        let PauliMasks { x, z } = s.string;
        Ok((if s.phase.is_negative() { -c } else { *c }, PauliString::from_masks(x, z)?))
    });
    let diagonal = PauliSum::new(terms.collect::<Result<Vec<_>, SimulateError>>()?)?;
    Ok((frame.circuit, diagonal))
}

/// Tableau: Pauli strings, conjugated by the gates of a Clifford circuit as it grows.
struct CliffordFrame {
    circuit: Circuit,
    strings: Vec<PhasedPauli>,
}

/// Returns the qubits of a mask, ascending.
fn qubits(mask: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS as usize).filter(move |q| mask >> q & 1 == 1)
}

impl CliffordFrame {
    fn new(n_qubits: usize, group: &PauliSum) -> CliffordFrame {
        CliffordFrame {
            circuit: Circuit::new(n_qubits),
            strings: group.terms().iter().map(|t| t.1.masks().into()).collect(),
        }
    }

    /// Changes the basis of each qubit by itself.
    fn turn_qubits(&mut self) -> Result<(), CircuitError> {
        let strings = self.strings.iter().map(|s| s.string);
        let (x, y) = strings.fold((0, 0), |(x, y), s| (x | s.x, y | (s.x & s.z)));
        for q in qubits(x) {
            if y >> q & 1 == 1 {
                self.sdg(q)?;
            }
            self.h(q)?;
        }
        Ok(())
    }

    /// Makes one string after the other the Z of a qubit. Those that come later commute with it,
    /// and have no X there.
    fn turn_strings(&mut self) -> Result<(), CircuitError> {
        let mut done = 0;
        for k in 0..self.strings.len() {
            let Some(q) = qubits(self.strings[k].string.x).next() else { continue };
            for other in qubits(self.strings[k].string.x & !(1 << q)) {
                self.cx(q, other)?;
            }
            if self.strings[k].string.z >> q & 1 == 1 {
                self.sdg(q)?;
            }
            for other in qubits(self.strings[k].string.z & !done) {
                self.cz(q, other)?;
            }
            self.h(q)?;
            done |= 1 << q;
        }
        Ok(())
    }

    /// Replaces each string P by `U P U^dagger`.
    fn each(&mut self, image: impl Fn(PhasedPauli) -> PhasedPauli) {
        self.strings.iter_mut().for_each(|s| *s = image(*s));
    }

    fn h(&mut self, q: usize) -> Result<(), CircuitError> {
        self.circuit.h(q)?;
        self.each(|s| s.conjugated_by_single(q, &SingleQubitClifford::H));
        Ok(())
    }

    fn sdg(&mut self, q: usize) -> Result<(), CircuitError> {
        self.circuit.sdg(q)?;
        self.each(|s| s.conjugated_by_single(q, &SingleQubitClifford::SDG));
        Ok(())
    }

    fn cx(&mut self, control: usize, target: usize) -> Result<(), CircuitError> {
        self.circuit.cx(control, target)?;
        self.each(|s| s.conjugated_by_cx(control, target));
        Ok(())
    }

    fn cz(&mut self, a: usize, b: usize) -> Result<(), CircuitError> {
        self.circuit.cz(a, b)?;
        self.each(|s| s.conjugated_by_cz(a, b));
        Ok(())
    }
}
