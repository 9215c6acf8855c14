//! Derivatives of circuits by the adjoint method: one forward pass, one backward pass, two vectors.
//!
//! With `|psi> = G_m … G_1 |start>` and the cotangent `lambda` of the final amplitudes,
//! `dL = re <lambda|d psi>`, the derivative by an angle `a` of gate k is
//!
//! ```text
//! dL/da = re <lambda_k| (dG_k/da) G_k^dagger |psi_k>,
//! psi_{k-1} = G_k^dagger psi_k,    lambda_{k-1} = G_k^dagger lambda_k,
//! ```
//!
//! where `psi_k`, `lambda_k` are the vectors after gate k. For an expectation value `<psi|O|psi>`
//! the cotangent is `lambda = 2 O psi`. Gates are unitary, so nothing is recorded: the states of
//! the forward pass are recomputed in the backward pass. What remains of `lambda` at the start is
//! the cotangent of the initial state.
//!
//! Gates on different qubits do not disturb each other's derivative, so a layer of them is
//! differentiated at one place and undone in one go, by the executors: in as few passes as they
//! need.
//!
//! Everything is generic: on duals it gives second derivatives (forward over adjoint).
//!
//! For `Complex<f32>` and `Complex<f64>` the fast executor takes both vectors through one plan, a
//! stage of many gates in one pass. `(dG/da) G^dagger` is anti-Hermitian, so it is `-i` times a
//! real sum of Pauli strings, controls included, and the executor takes inner products with these
//! on the way.
//!
//! Where an executor keeps states on a device, both vectors stay there (`resident.rs`).
//!
//! Cost: 2 states; tile by tile 3 to 6 runs; else per gate two applications, per angle one pass
//! over both states. Source: T. Jones, J. Gacon, "Efficient calculation of gradients in classical
//! simulations of variational quantum algorithms" (2020), arXiv:2009.02823.

use num_complex::Complex;

use super::HybridError;
use super::{
    derivative::{GateDerivative, is_fixed},
    parameter_uses::ParameterUse,
};
use crate::{
    basis::scatter_bits,
    circuit::{Circuit, CircuitError, Control, Instruction, Operation},
    gate::GateKind,
    kernel::{Executor, Operator, OverlapProbe, StateHint, Threads},
    matrix::Matrix,
    param::{Q, Values},
    pauli::PauliMasks,
    scalar::{Real, Scalar},
    simulate::{SimulateError, Simulator, bind_instruction, is_static},
    state::StateVector,
};

/// A gate of k qubits under c controls has at most 2^(2k + c) Pauli strings in its derivative.
const MAX_BITS: usize = 8;

/// Backward pass of the adjoint method as one list of operators and inner products.
pub(super) struct BackwardPass<T> {
    /// The inverses of the gates, the last first.
    pub(super) operators: Vec<Operator<Complex<T>>>,
    pub(super) probes: Vec<OverlapProbe>,
    /// Slot and factor of each inner product.
    pub(super) terms: Vec<(usize, T)>,
}

/// Adds inner products, each times its factor, to the derivatives by the angles of the slots.
pub(super) fn add_products<T: Real>(terms: &[(usize, T)], products: &[f64], by_angle: &mut [T]) {
    for ((slot, factor), product) in terms.iter().zip(products) {
        by_angle[*slot] += factor.clone() * T::lit(*product);
    }
}

impl<T: Real> BackwardPass<T> {
    /// Returns the derivative by the angle of each slot, from the inner products.
    pub(super) fn by_angle(&self, slots: &[ParameterUse], products: &[f64]) -> Vec<T> {
        let mut by_angle = vec![T::zero(); slots.len()];
        add_products(&self.terms, products, &mut by_angle);
        by_angle
    }
}

/// The gates of a circuit with numbers: each as an operator, with its inverse.
pub(super) struct Bound<'a, T> {
    circuit: &'a Circuit,
    values: &'a [T],
    /// Operator of each instruction; barriers and final measurements have none.
    gates: Vec<Option<Operator<Complex<T>>>>,
}

impl<'a, T: Real> Bound<'a, T> {
    /// Binds the gates of a circuit.
    ///
    /// # Errors
    /// [`HybridError`] for one without a final state vector.
    pub(super) fn new(circuit: &'a Circuit, values: &'a [T]) -> Result<Bound<'a, T>, HybridError> {
        if !is_static(circuit) {
            return Err(HybridError::Dynamic);
        }
        if circuit.has_channels() {
            return Err(CircuitError::NotUnitary { what: "a final state vector" }.into());
        }
        let bind = |i: &Instruction| bind_instruction(circuit, i, &Values(values));
        let gates =
            circuit.instructions().iter().map(bind).collect::<Result<_, SimulateError>>()?;
        Ok(Bound { circuit, values, gates })
    }

    /// Runs the circuit on a state.
    pub(super) fn run(
        &self,
        simulator: &Simulator,
        state: &mut StateVector<Complex<T>>,
    ) -> Result<(), SimulateError> {
        simulator.execute(&self.operators(), state, &mut |_, _| {})
    }

    /// Returns the number of gates.
    pub(super) fn count(&self) -> usize {
        self.gates.iter().flatten().count()
    }

    /// Returns the gates in order.
    pub(super) fn operators(&self) -> Vec<Operator<Complex<T>>> {
        self.gates.iter().flatten().cloned().collect()
    }

    /// Takes both vectors back to the start, and returns the derivative by the angle of each slot.
    /// If psi began as |0…0> ([`StateHint::EndsAtZero`]), both are invalid then.
    pub(super) fn back(
        &self,
        simulator: &Simulator,
        slots: &[ParameterUse],
        hint: StateHint,
        psi: &mut StateVector<Complex<T>>,
        lambda: &mut StateVector<Complex<T>>,
    ) -> Result<Vec<T>, SimulateError> {
        if let Some(by_angle) = self.at_once(simulator, slots, hint, psi, lambda)? {
            return Ok(by_angle);
        }
        let mut by_angle = vec![T::zero(); slots.len()];
        let mut rest = slots.len();
        let mut end = self.gates.len();
        while end > 0 {
            let start = self.layer(end);
            while rest > 0 && slots[rest - 1].instruction >= start {
                rest -= 1;
                by_angle[rest] = self.by_angle(slots[rest], psi, lambda, &simulator.threads)?;
            }
            let inverses = self.inverses(start, end);
            simulator.execute(&inverses, psi, &mut |_, _| {})?;
            simulator.execute(&inverses, lambda, &mut |_, _| {})?;
            end = start;
        }
        Ok(by_angle)
    }

    /// Runs the whole backward pass at once, by an executor that takes inner products on the way;
    /// `None` if there is none for this type of number, or if a generator is a sum of too many
    /// Pauli strings.
    fn at_once(
        &self,
        simulator: &Simulator,
        slots: &[ParameterUse],
        hint: StateHint,
        psi: &mut StateVector<Complex<T>>,
        lambda: &mut StateVector<Complex<T>>,
    ) -> Result<Option<Vec<T>>, SimulateError> {
        let n_qubits = psi.n_qubits();
        let executor = simulator.executors.best::<Complex<T>>(n_qubits, self.gates.len());
        if executor.pair_executor(n_qubits).is_none() {
            return Ok(None);
        }
        let Some(back) = self.backward_pass(slots)? else { return Ok(None) };
        let (psi, lambda) = (psi.amplitudes_mut(), lambda.amplitudes_mut());
        let run = |executor: &dyn Executor<_>| match executor.pair_executor(n_qubits) {
            Some(pairs) => {
                let products =
                    pairs.run(&back.operators, &back.probes, hint, psi, lambda, &simulator.threads);
                products.map(Some)
            }
            None => Ok(None),
        };
        let products = simulator.executors.with_fallback(n_qubits, &back.operators, run)?;
        Ok(products.map(|products| back.by_angle(slots, &products)))
    }

    /// Returns the backward pass as a list of operators and inner products; `None` if a generator
    /// is a sum of too many Pauli strings.
    pub(super) fn backward_pass(
        &self,
        slots: &[ParameterUse],
    ) -> Result<Option<BackwardPass<T>>, SimulateError> {
        let (mut operators, mut inners) = (Vec::with_capacity(self.gates.len()), Vec::new());
        let mut terms = Vec::new();
        let mut known: Vec<(GateKind, Vec<GeneratorTerm<T>>)> = Vec::new();
        let mut rest = slots.len();
        for (k, instruction) in self.circuit.instructions().iter().enumerate().rev() {
            while rest > 0 && slots[rest - 1].instruction == k {
                rest -= 1;
                let each = |PauliMasks { x, z }, factor| {
                    inners.push(OverlapProbe { before: operators.len(), x, z });
                    terms.push((rest, factor));
                };
                let gate = match &instruction.operation {
                    Operation::Gate(gate) => gate,
                    Operation::PauliRotation(rotation)
                        if instruction.controls.len() <= MAX_BITS =>
                    {
                        under_controls(
                            rotation.masks(&instruction.targets),
                            &T::from_ratio(Q::new(1, 2)),
                            &instruction.controls,
                            each,
                        );
                        continue;
                    }
                    Operation::PauliRotation(_) => return Ok(None),
                    _ => continue,
                };
                if 2 * instruction.targets.len() + instruction.controls.len() > MAX_BITS {
                    return Ok(None);
                }
                // Where the table names a generator, it is the same at each angle.
                let fixed = is_fixed(instruction);
                let at = known.iter().position(|(kind, _)| *kind == gate.kind() && fixed);
                let at = match at {
                    Some(at) => at,
                    None => {
                        let slope = GateDerivative::new(
                            self.circuit,
                            instruction,
                            slots[rest].angle,
                            self.values,
                        )?;
                        let Some(GateDerivative::Matrix(matrix)) = slope else { continue };
                        known.push((gate.kind(), pauli_terms(&matrix)));
                        known.len() - 1
                    }
                };
                on_qubits(&known[at].1, instruction, each);
            }
            operators.extend(self.gates[k].as_ref().map(Operator::dagger));
        }
        Ok(Some(BackwardPass { operators, probes: inners, terms }))
    }

    /// Returns the operators of the circuit, each with the number of its instruction.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (usize, &Operator<Complex<T>>)> {
        self.gates.iter().enumerate().filter_map(|(k, gate)| gate.as_ref().map(|gate| (k, gate)))
    }

    /// Returns the start of the longest run of instructions that ends at `end` and in which no
    /// instruction with a parameter shares a qubit with a later one.
    fn layer(&self, end: usize) -> usize {
        let mut used = 0usize;
        for (k, instruction) in self.circuit.instructions()[..end].iter().enumerate().rev() {
            if self.gates[k].is_none() {
                continue;
            }
            let qubits = instruction.qubits().fold(0usize, |mask, q| mask | 1 << q);
            let depends = instruction.operation.params().iter().any(|a| !a.is_constant());
            if depends && qubits & used != 0 {
                return k + 1;
            }
            used |= qubits;
        }
        0
    }

    /// Returns the inverses of some instructions, the last first.
    fn inverses(&self, start: usize, end: usize) -> Vec<Operator<Complex<T>>> {
        self.gates[start..end].iter().rev().flatten().map(Operator::dagger).collect()
    }

    fn by_angle(
        &self,
        slot: ParameterUse,
        psi: &StateVector<Complex<T>>,
        lambda: &StateVector<Complex<T>>,
        threads: &Threads,
    ) -> Result<T, SimulateError> {
        let instruction = &self.circuit.instructions()[slot.instruction];
        let slope = GateDerivative::new(self.circuit, instruction, slot.angle, self.values)?;
        Ok(slope
            .map_or_else(T::zero, |slope| slope.between(instruction, lambda, psi, threads).re()))
    }
}

/// A Pauli string on the targets of a gate and its factor.
type GeneratorTerm<T> = (PauliMasks, T);

/// Returns an anti-Hermitian matrix as `-i sum_k c_k P_k`: the Pauli strings and
/// `c_k = -im tr(P_k M) / 2^n`.
fn pauli_terms<T: Real>(matrix: &Matrix<Complex<T>>) -> Vec<GeneratorTerm<T>> {
    let dim = matrix.dim();
    let term = |k: usize| {
        let string = PauliMasks { x: k / dim, z: k % dim };
        let trace = (0..dim).fold(T::zero(), |sum, j| {
            // The imaginary part of i^-k (re + i im).
            let entry = &matrix[(j ^ string.x, j)];
            match string.entry(j).exponent() {
                0 => sum + &entry.im,
                1 => sum - &entry.re,
                2 => sum - &entry.im,
                _ => sum + &entry.re,
            }
        });
        (string, -trace * T::from_ratio(Q::new(1, dim as i64)))
    };
    (0..dim * dim).map(term).filter(|(_, c)| !c.is_exact_zero()).collect()
}

/// Lists the strings of a gate on the qubits of an instruction, where its controls hold: a control
/// is `(1 - Z) / 2` or, for the value 0, `(1 + Z) / 2`.
fn on_qubits<T: Real>(
    strings: &[GeneratorTerm<T>],
    instruction: &Instruction,
    mut each: impl FnMut(PauliMasks, T),
) {
    let spread = |j: usize| scatter_bits(j, instruction.targets.iter().map(|&q| q as usize));
    for (string, c) in strings {
        let string = PauliMasks { x: spread(string.x), z: spread(string.z) };
        under_controls(string, c, &instruction.controls, &mut each);
    }
}

/// Expands a string with its factor, where controls hold, into strings.
fn under_controls<T: Real>(
    string: PauliMasks,
    factor: &T,
    controls: &[Control],
    mut each: impl FnMut(PauliMasks, T),
) {
    let share = T::from_ratio(Q::new(1, 1 << controls.len()));
    for set in 0..1usize << controls.len() {
        let chosen = controls.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
        let (mask, negative) = chosen
            .fold((0, false), |(mask, negative), (_, c)| (mask | 1 << c.qubit, negative ^ c.value));
        let c = share.clone() * factor;
        each(PauliMasks { z: string.z | mask, ..string }, if negative { -c } else { c });
    }
}
