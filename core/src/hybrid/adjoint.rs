//! Derivatives of circuits by the adjoint method: one run forward, one run back, two vectors.
//!
//! With `|psi> = G_m … G_1 |start>` and the cotangent `lambda` of the final amplitudes, `dL = re <lambda|d psi>`,
//! the derivative by an angle `a` of gate k is
//!
//! ```text
//! dL/da = re <lambda_k| (dG_k/da) G_k^dagger |psi_k>,
//! psi_{k-1} = G_k^dagger psi_k,    lambda_{k-1} = G_k^dagger lambda_k,
//! ```
//!
//! where `psi_k`, `lambda_k` stand after gate k. For an expectation value `<psi|O|psi>` the cotangent is
//! `lambda = 2 O psi`. Gates are unitary, so nothing is recorded: the states of the way forward are recomputed on
//! the way back. What remains of `lambda` at the start is the cotangent of the initial state.
//!
//! Gates on different qubits do not disturb each other's derivative, so a layer of them is differentiated at one
//! place and undone in one go, by the executors: in as few passes as they need.
//!
//! Everything is generic: on duals it gives second derivatives (forward over adjoint).
//!
//! Cost: 2 states; per gate two applications, per angle one pass over both states.
//! Source: T. Jones, J. Gacon, "Efficient calculation of gradients in classical simulations of variational quantum
//! algorithms" (2020), arXiv:2009.02823.

use num_complex::Complex;

use super::slots::{Slot, gate_of, generator};
use crate::{
    circuit::{Circuit, Instruction},
    kernel::{Operator, Threads, tree_sum},
    matrix::Matrix,
    param::Values,
    scalar::{Conj, Real, Scalar},
    simulate::{SimulateError, Simulator, bind_instruction},
    state::StateVector,
};

/// The gates of a circuit with numbers: each as an operator, with its inverse.
pub(super) struct Bound<'a, T> {
    circuit: &'a Circuit,
    values: &'a [T],
    /// For each instruction; barriers and final measurements have none.
    gates: Vec<Option<Operator<Complex<T>>>>,
}

impl<'a, T: Real> Bound<'a, T> {
    /// Binds the gates of a circuit that has been checked to be static.
    pub(super) fn new(circuit: &'a Circuit, values: &'a [T]) -> Result<Bound<'a, T>, SimulateError> {
        let bind = |i: &Instruction| bind_instruction(circuit, i, &Values(values));
        let gates = circuit.instructions().iter().map(bind).collect::<Result<_, _>>()?;
        Ok(Bound { circuit, values, gates })
    }

    /// Runs the circuit on a state.
    pub(super) fn run(
        &self,
        simulator: &Simulator,
        state: &mut StateVector<Complex<T>>,
    ) -> Result<(), SimulateError> {
        let gates: Vec<_> = self.gates.iter().flatten().cloned().collect();
        simulator.execute(&gates, state, &mut |_, _| {})
    }

    /// Takes both vectors back to the start, and gives the derivative by the angle of each slot.
    pub(super) fn back(
        &self,
        simulator: &Simulator,
        slots: &[Slot],
        psi: &mut StateVector<Complex<T>>,
        lambda: &mut StateVector<Complex<T>>,
    ) -> Result<Vec<T>, SimulateError> {
        let mut by_angle = vec![T::zero(); slots.len()];
        let mut rest = slots.len();
        let mut end = self.gates.len();
        while end > 0 {
            let start = self.layer(end);
            while rest > 0 && slots[rest - 1].instruction >= start {
                rest -= 1;
                by_angle[rest] = self.by_angle(slots[rest], psi, lambda, &simulator.threads)?;
            }
            let inverses = self.inverses(start, end)?;
            simulator.execute(&inverses, psi, &mut |_, _| {})?;
            simulator.execute(&inverses, lambda, &mut |_, _| {})?;
            end = start;
        }
        Ok(by_angle)
    }

    /// Where the longest run of instructions begins that ends at `end` and in which no instruction with a parameter
    /// shares a qubit with a later one.
    fn layer(&self, end: usize) -> usize {
        let mut used = 0usize;
        for (k, instruction) in self.circuit.instructions()[..end].iter().enumerate().rev() {
            if self.gates[k].is_none() {
                continue;
            }
            let qubits = instruction.qubits().fold(0usize, |mask, q| mask | 1 << q);
            let depends = gate_of(instruction).is_some_and(|g| g.params().iter().any(|a| !a.is_constant()));
            if depends && qubits & used != 0 {
                return k + 1;
            }
            used |= qubits;
        }
        0
    }

    fn inverses(&self, start: usize, end: usize) -> Result<Vec<Operator<Complex<T>>>, SimulateError> {
        let part = self.circuit.instructions()[start..end].iter().rev();
        let bound = part.map(|i| bind_instruction(self.circuit, &i.inverse(), &Values(self.values)));
        bound.filter_map(Result::transpose).collect()
    }

    fn by_angle(
        &self,
        slot: Slot,
        psi: &StateVector<Complex<T>>,
        lambda: &StateVector<Complex<T>>,
        threads: &Threads,
    ) -> Result<T, SimulateError> {
        let instruction = &self.circuit.instructions()[slot.instruction];
        let Some(gate) = gate_of(instruction) else {
            return Ok(T::zero());
        };
        let matrix = generator(self.circuit, gate, slot.angle, self.values)?;
        Ok(through(&matrix, instruction, lambda, psi, threads).re())
    }
}

/// `<lambda| M |psi>`, where M acts on the targets of an instruction where its controls hold, and is zero elsewhere.
/// O(2^(n - controls)) for each entry in a row of M that is not zero.
fn through<R: Conj>(
    matrix: &Matrix<R>,
    instruction: &Instruction,
    lambda: &StateVector<R>,
    psi: &StateVector<R>,
    threads: &Threads,
) -> R {
    let (a, b) = (lambda.amplitudes(), psi.amplitudes());
    let targets = &instruction.targets;
    let fixed = instruction.qubits().fold(0usize, |mask, q| mask | 1 << q);
    let value = instruction.controls.iter().filter(|c| c.value).fold(0usize, |mask, c| mask | 1 << c.qubit);
    let offset = |j: usize| targets.iter().enumerate().fold(0, |at, (bit, &q)| at | (j >> bit & 1) << q);
    let n = a.len() >> fixed.count_ones();
    let mut total = R::zero();
    for (k, entry) in matrix.entries().iter().enumerate().filter(|e| !e.1.is_exact_zero()) {
        let (row, column) = (offset(k / matrix.dim()), offset(k % matrix.dim()));
        let block = |range: std::ops::Range<usize>| {
            let mut sum = R::zero();
            for base in crate::kernel::places(range, psi.n_qubits(), fixed, value) {
                sum.mul_add_assign(&a[base | row].conj(), &b[base | column]);
            }
            sum
        };
        total += tree_sum(n, threads, block, |x, y| x + y) * entry;
    }
    total
}
