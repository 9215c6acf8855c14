//! Circuits on density matrices: noise exactly, on every number type.
//!
//! A density matrix of n qubits is a vector of 2n ([`DensityMatrix`]), so that kernels, plans and
//! threads are those of state vectors. Each instruction is an operator or two there:
//!
//! ```text
//! gate U on q        ->  U on q, conj(U) on q + n
//! channel on q       ->  sum_k w_k A_k (x) conj(A_k) on q, q + n
//! readout_error bits       ->  all values, a branch each
//! measurement of q   ->  for each outcome v: |v><v| on q and on q + n, a branch with that bit
//! ```
//! The matrices of branches are not normalized: their traces are the probabilities. Those that are
//! at the same step with the same bits, as far as these are read later, are added up; so a loop
//! takes as many branches as its bits have values, not as it has histories.
//!
//! Cost: 4^n entries for each branch; a gate costs two passes over them where it is not planned
//! with others.

use std::{
    any::TypeId,
    collections::{BTreeMap, HashMap},
};

use num_complex::Complex;
use smallvec::SmallVec;

use super::{
    Bits, SimulateError, Simulator,
    distribution::{Finals, IMPOSSIBLE, LEAST_LIKELY},
    endless::{CONDITION, can_end},
    liveness::BitLiveness,
    program::{Action, BoundCircuit, SimulationStep},
    rounds::{LoopRounds, RunPosition},
};
use crate::{
    circuit::Circuit,
    kernel::Operator,
    matrix::Matrix,
    param::Values,
    scalar::{Conj, Real, Scalar},
    state::DensityMatrix,
};

impl Simulator {
    /// Runs a circuit, with noise, measurements and conditions anywhere, on |0…0><0…0|: the state
    /// before its final measurements, averaged over the outcomes of all others.
    ///
    /// # Errors
    /// [`SimulateError`].
    pub fn run_density<T: Real>(
        &self,
        circuit: &Circuit,
        inputs: &[T],
    ) -> Result<DensityMatrix<Complex<T>>, SimulateError> {
        type RunDensityFn<T> =
            fn(&Simulator, &Circuit, &[T]) -> Result<DensityMatrix<Complex<T>>, SimulateError>;
        compiled!(T: RunDensityFn = [f32, f64] Simulator::run_density_any)(self, circuit, inputs)
    }

    fn run_density_any<T: Real>(
        &self,
        circuit: &Circuit,
        inputs: &[T],
    ) -> Result<DensityMatrix<Complex<T>>, SimulateError> {
        let values = circuit.param_values(inputs)?;
        let bound = BoundCircuit::<Complex<T>>::new(&circuit.folded(), &Values(&values))?;
        self.average(&bound)
    }

    /// Averages over the outcomes as [`Simulator::run_density`] does, of a circuit that is bound
    /// and may start from another state.
    ///
    /// # Errors
    /// [`SimulateError`].
    pub fn average<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &BoundCircuit<S>,
    ) -> Result<DensityMatrix<S>, SimulateError> {
        let mut parts = self.ensemble(circuit)?.into_values();
        let Some(mut sum) = parts.next() else {
            return Ok(DensityMatrix::zero(circuit.n_qubits, &self.threads)?);
        };
        parts.for_each(|part| sum += part);
        Ok(sum)
    }

    /// Returns the states of a circuit by the values of its classical bits, before the final
    /// measurements. Their traces are the probabilities of the bits.
    ///
    /// # Errors
    /// [`SimulateError`]. The memory limit counts all branches that wait.
    pub fn ensemble<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &BoundCircuit<S>,
    ) -> Result<BTreeMap<Bits, DensityMatrix<S>>, SimulateError> {
        Evolution::new(self, circuit)?.run()
    }

    /// Computes [`Simulator::distribution`] of a circuit with noise.
    pub(super) fn noisy_distribution<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &BoundCircuit<S>,
        max_outcomes: usize,
    ) -> Result<BTreeMap<Bits, T>, SimulateError> {
        let finals = Finals::new(circuit, max_outcomes)?;
        let mut distribution = BTreeMap::new();
        for (bits, rho) in self.ensemble(circuit)? {
            finals.add(&bits, rho.probabilities_of(&finals.qubits)?, &T::one(), &mut distribution);
            if distribution.len() > max_outcomes {
                return Err(SimulateError::TooManyBranches { limit: max_outcomes });
            }
            self.check_outcomes(circuit.n_bits, distribution.len())?;
        }
        self.finish_distribution(circuit, distribution, max_outcomes)
    }
}

/// Branch of a run: its bits and its density matrix.
#[derive(Clone)]
struct DensityBranch<S> {
    rounds: u64,
    around: LoopRounds,
    bits: Bits,
    rho: DensityMatrix<S>,
}

struct Evolution<'a, S> {
    simulator: &'a Simulator,
    circuit: &'a BoundCircuit<S>,
    n_qubits: usize,
    liveness: BitLiveness,
    /// True if the rounds of loops order the branches.
    counts_rounds: bool,
    /// Branches by the step that they are at.
    waiting: BTreeMap<RunPosition, DensityQueue<S>>,
    /// The number of those that wait, and the bytes on the heap of their bits and of those at the
    /// end.
    n_waiting: usize,
    bits: u128,
    ends: BTreeMap<Bits, DensityMatrix<S>>,
}

/// The branches at a step, each with other bits.
struct DensityQueue<S> {
    step: usize,
    branches: Vec<DensityBranch<S>>,
    index: HashMap<Bits, usize>,
}

impl<'a, T: Real, S: Scalar<Real = T>> Evolution<'a, S> {
    fn new(simulator: &'a Simulator, circuit: &'a BoundCircuit<S>) -> Result<Self, SimulateError> {
        let (n_qubits, threads) = (circuit.n_qubits, &simulator.threads);
        simulator.check_memory::<S>(n_qubits.saturating_mul(2))?;
        let rho = match &circuit.start {
            Some(state) => DensityMatrix::pure(state, threads)?,
            None => DensityMatrix::zero(n_qubits, threads)?,
        };
        let first =
            DensityBranch { rounds: 0, around: LoopRounds::default(), bits: circuit.memory(), rho };
        let (liveness, waiting, ends) =
            (BitLiveness::new(circuit), BTreeMap::new(), BTreeMap::new());
        let mut new = Evolution {
            simulator,
            circuit,
            n_qubits,
            liveness,
            counts_rounds: circuit.has_classical_actions(),
            waiting,
            n_waiting: 0,
            bits: 0,
            ends,
        };
        new.wait(0, first)?;
        Ok(new)
    }

    /// Runs all branches to the end. Those that have come least far go on first, so that all others
    /// can join them.
    fn run(mut self) -> Result<BTreeMap<Bits, DensityMatrix<S>>, SimulateError> {
        while let Some(mut first) = self.waiting.first_entry() {
            self.simulator.threads.check()?;
            let step = first.get().step;
            let branch = first.get_mut().branches.pop();
            if first.get().branches.is_empty() {
                first.remove();
            } else if let Some(branch) = &branch {
                first.get_mut().index.remove(&branch.bits);
            }
            if let Some(branch) = branch {
                self.n_waiting -= 1;
                self.bits -= branch.bits.heap_bytes();
                self.advance(step, branch)?;
            }
        }
        Ok(self.ends)
    }

    /// Goes on to the next measurement or the end.
    fn advance(
        &mut self,
        mut step: usize,
        mut branch: DensityBranch<S>,
    ) -> Result<(), SimulateError> {
        let n = self.n_qubits;
        let mut pending: Vec<Operator<S>> = Vec::new();
        while let Some(SimulationStep { action, condition }) = self.circuit.steps.get(step) {
            let memory = branch.bits.read(&self.circuit.layout);
            let holds = condition.as_ref().is_none_or(|c| c.holds(&memory));
            match action {
                Action::Classical(action) => {
                    let next = action.run((step, holds), &mut branch.bits, &self.circuit.layout);
                    if let Some(end) = action.end_of_round().filter(|&end| next != end) {
                        self.count_round(&mut branch, step, end)?;
                    }
                    step = next;
                    continue;
                }
                Action::While { end } if !holds => {
                    self.liveness.leave(step, &mut branch.bits);
                    step = *end;
                    continue;
                }
                Action::BackEdge { head } => {
                    step = *head;
                    continue;
                }
                _ if !holds => {}
                Action::While { end } => {
                    self.count_round(&mut branch, step, *end)?;
                    if branch.rounds.is_power_of_two() && !can_end(self.circuit, step, &branch.bits)
                    {
                        return Err(SimulateError::NeverEnds { why: CONDITION });
                    }
                }
                Action::Gates(gates) => {
                    pending.extend(gates.iter().flat_map(|gate| on_both_sides(gate, n)))
                }
                Action::RuntimeGate(gate) => {
                    let gate = gate.operator(&branch.bits, &self.circuit.layout)?;
                    pending.extend(on_both_sides(&gate, n));
                }
                Action::Channel(channel) => {
                    pending.push(superoperator(&channel.terms, &channel.kept, &channel.qubits, n)?);
                }
                Action::Reset { qubit } => {
                    let to_zero = |from| (S::one(), matrix_unit(0, from));
                    pending.push(superoperator(&[to_zero(0), to_zero(1)], &[], &[*qubit], n)?);
                }
                Action::Assign { bit, value } => branch.bits.set(*bit, *value),
                Action::ReadoutError(readout_error) => {
                    self.execute(&mut pending, &mut branch)?;
                    let weights = readout_error.weights(&branch.bits).iter().enumerate();
                    let last =
                        weights.clone().rfind(|(_, share)| !share.is_exact_zero()).map(|(k, _)| k);
                    let mut branch = Some(branch);
                    for (k, share) in weights.filter(|(_, share)| !share.is_exact_zero()) {
                        let read = if Some(k) == last { branch.take() } else { branch.clone() };
                        let Some(mut read) = read else { continue };
                        readout_error.apply(&mut read.bits, k);
                        read.rho.scale(share);
                        self.liveness.pass(step, &mut read.bits);
                        self.wait(step + 1, read)?;
                    }
                    return Ok(());
                }
                Action::Measure { qubit, bit } => {
                    self.execute(&mut pending, &mut branch)?;
                    return self.measure(step, branch, *qubit, *bit);
                }
            }
            self.liveness.pass(step, &mut branch.bits);
            step += 1;
        }
        self.execute(&mut pending, &mut branch)?;
        self.circuit.forget_cells(&mut branch.bits);
        match self.ends.get_mut(&branch.bits) {
            Some(sum) => *sum += branch.rho,
            None => {
                self.bits += branch.bits.heap_bytes();
                self.ends.insert(branch.bits, branch.rho);
            }
        }
        Ok(())
    }

    /// A round of the loop from `head` to `end` begins.
    fn count_round(
        &self,
        branch: &mut DensityBranch<S>,
        head: usize,
        end: usize,
    ) -> Result<(), SimulateError> {
        if self.counts_rounds {
            branch.around.begin(head, end);
        }
        let limit = self.simulator.max_rounds;
        if branch.rounds >= limit {
            return Err(SimulateError::Endless { limit });
        }
        branch.rounds += 1;
        Ok(self.simulator.threads.check()?)
    }

    fn execute(
        &self,
        pending: &mut Vec<Operator<S>>,
        branch: &mut DensityBranch<S>,
    ) -> Result<(), SimulateError> {
        if !pending.is_empty() {
            self.simulator.execute(pending, branch.rho.vector_mut(), &mut |_, _| {})?;
            pending.clear();
        }
        Ok(())
    }

    /// Both outcomes of the measurement at a step.
    fn measure(
        &mut self,
        step: usize,
        branch: DensityBranch<S>,
        qubit: usize,
        bit: u32,
    ) -> Result<(), SimulateError> {
        let p = branch.rho.probabilities_of(&[qubit])?;
        let total = p[0].clone() + &p[1];
        let least = if branch.rounds > 0 { LEAST_LIKELY } else { 0.0 };
        // A derivative may be there where the number is not: of other types nothing is left out but
        // what is zero.
        let plain =
            TypeId::of::<T>() == TypeId::of::<f64>() || TypeId::of::<T>() == TypeId::of::<f32>();
        let never = |p: &T| {
            let share = (p.clone() / &total).primal();
            let rare = |p: &T| p.primal().is_some_and(|p| p < least);
            p.is_exact_zero() || rare(p) || plain && share.is_some_and(|s| s < IMPOSSIBLE)
        };
        let mut branch = Some(branch);
        for value in [true, false] {
            if never(&p[usize::from(value)]) {
                continue;
            }
            let last = !value || never(&p[0]);
            let taken = if last { branch.take() } else { branch.clone() };
            let Some(mut taken) = taken else { continue };
            let keep = matrix_unit::<S>(usize::from(value), usize::from(value));
            for q in [qubit, qubit + self.n_qubits] {
                taken
                    .rho
                    .vector_mut()
                    .apply(&Operator::new(&keep, &[q], &[])?, &self.simulator.threads)?;
            }
            taken.bits.set(bit, value);
            self.liveness.pass(step, &mut taken.bits);
            self.wait(step + 1, taken)?;
        }
        Ok(())
    }

    /// Puts a branch to those that wait, or into one that has the same future.
    fn wait(&mut self, step: usize, mut branch: DensityBranch<S>) -> Result<(), SimulateError> {
        let queue = self
            .waiting
            .entry(branch.around.position(step))
            .or_insert_with(|| DensityQueue { step, branches: Vec::new(), index: HashMap::new() });
        if let Some(&place) = queue.index.get(&branch.bits) {
            let other = &mut queue.branches[place];
            other.rounds = other.rounds.max(branch.rounds);
            other.rho += branch.rho;
            return Ok(());
        }
        self.n_waiting += 1;
        self.bits += branch.bits.heap_bytes();
        let largest = branch.bits.heap_bytes();
        queue.index.insert(branch.bits.clone(), queue.branches.len());
        queue.branches.push(branch);
        // The one that will be split next takes another one. Bits are stored twice.
        let branches = self.n_waiting + self.ends.len() + 1;
        let bits = (self.bits + largest).saturating_mul(2);
        self.simulator.check_branches::<S>(2 * self.n_qubits, branches, bits)
    }
}

/// Returns a gate on the rows and its complex conjugate on the columns. A phase of the whole state
/// cancels.
#[doc(hidden)]
pub fn on_both_sides<R: Conj>(gate: &Operator<R>, n_qubits: usize) -> SmallVec<[Operator<R>; 2]> {
    if gate.n_qubits() == 0 {
        return SmallVec::new();
    }
    SmallVec::from([gate.clone(), gate.map(R::conj).shifted(n_qubits)])
}

/// Returns `sum_k w_k A_k (x) conj(A_k)` on some qubits and the same ones of the columns, and what
/// of it is known better ([`Channel::kept`](crate::channel::Channel)).
#[doc(hidden)]
pub fn superoperator<R: Conj>(
    terms: &[(R, Matrix<R>)],
    kept: &[(usize, R)],
    qubits: &[usize],
    n_qubits: usize,
) -> Result<Operator<R>, SimulateError> {
    let columns = qubits.iter().map(|q| q + n_qubits);
    let targets: SmallVec<[usize; 8]> = qubits.iter().copied().chain(columns).collect();
    Ok(Operator::new(&superoperator_matrix(terms, kept), &targets, &[])?)
}

/// Returns `sum_k w_k A_k (x) conj(A_k)`: the low bits of its rows are those of the rows of a
/// density matrix. There is a term.
#[doc(hidden)]
pub fn superoperator_matrix<R: Conj>(terms: &[(R, Matrix<R>)], kept: &[(usize, R)]) -> Matrix<R> {
    let k = terms.first().map_or(0, |(_, a)| a.n_qubits());
    let dim = 1usize << (2 * k);
    let mut sums = vec![R::zero(); dim * dim];
    for (w, a) in terms {
        // Few entries are not zero.
        let entries = a.entries().iter().enumerate().filter(|(_, x)| !x.is_exact_zero());
        for (i, x) in entries.clone() {
            let (r, s) = (i / a.dim(), i % a.dim());
            let x = x.clone() * w;
            for (j, y) in entries.clone() {
                let (c, d) = (j / a.dim(), j % a.dim());
                sums[(r | c << k) * dim + (s | d << k)] += x.clone() * &y.conj();
            }
        }
    }
    for (i, stays) in kept {
        let place = i | i << k;
        sums[place * dim + place] = stays.clone();
    }
    Matrix::from_fn(2 * k, |row, column| sums[row * dim + column].clone())
}

/// Returns `|row><column|` on one qubit.
fn matrix_unit<R: Conj>(row: usize, column: usize) -> Matrix<R> {
    Matrix::from_fn(1, |i, j| if (i, j) == (row, column) { R::one() } else { R::zero() })
}
