//! Derivatives of circuits with noise: the adjoint method on density matrices.
//!
//! A density matrix is a vector of 2n qubits and each instruction a linear map of it
//! ([`simulate`](crate::simulate)), so a value is `re <lambda|rho>` with `lambda = sum_k w_k O_k`,
//! and
//!
//! ```text
//! dL/da = re <lambda_k| dS_k/da |rho_{k-1}>,    lambda_{k-1} = S_k^dagger lambda_k.
//! ```
//! Gates are unitary, so `rho_{k-1}` comes back by undoing them. Channels are not: the states
//! before them are kept, or where memory does not hold them all, every `sqrt(m)`-th of them, and
//! those in between are computed again.
//!
//! Instructions on different qubits commute, so they are put in layers first, gates and channels in
//! turn:
//! ```text
//! h 0; noise 0; h 1; noise 1; cx 0,1; noise 0,1   ->   h 0, h 1 | noise 0, 1 | cx 0,1 | noise 0, 1
//! ```
//! Derivatives of channels, also at the boundary of the probabilities: `channels.rs`.
//!
//! Cost: of 4^n entries, two or three runs, a pass for each parameter of a layer, and the states
//! that are kept.

use num_complex::Complex;

use super::{
    Expectation, HybridError, Observable,
    channels::{BoundaryBinding, derivatives_at_edge, superoperator_derivative},
    derivative::{GateDerivative, through},
    expectation::expect,
    parameter_uses::by_parameter,
};
use crate::{
    circuit::{Circuit, Instruction, Operation},
    kernel::Operator,
    param::Values,
    scalar::{Real, Scalar},
    simulate::{
        BoundCircuit, SimulateError, bind_instruction, is_static, on_both_sides, superoperator,
    },
    state::{DensityMatrix, StateVector, bytes_needed},
};

/// The bytes that may be kept in states where the simulator has no memory limit.
const KEPT_BYTES: u128 = 2 << 30;

/// Instructions that are done together: gates, or channels.
struct Layer<T> {
    channels: bool,
    /// The numbers of the instructions.
    instructions: Vec<usize>,
    /// Operators on rows and columns, for each instruction.
    operators: Vec<Vec<Operator<Complex<T>>>>,
}

type ComplexDensity<T> = DensityMatrix<Complex<T>>;

impl Expectation {
    /// Computes [`Expectation::values`] of a circuit with noise, or whose state is an average over
    /// outcomes.
    pub(super) fn noisy_values<T: Real>(&self, inputs: &[T]) -> Result<Vec<T>, HybridError> {
        let rho = match self.given_start() {
            None => self.simulator.run_density(&self.circuit, inputs)?,
            Some(start) => {
                let values = self.circuit.param_values(inputs)?;
                let bound = BoundCircuit::<Complex<T>>::new(&self.circuit, &Values(&values))?;
                self.simulator.average(&bound.starting_from(start?)?)?
            }
        };
        self.observables.iter().map(|o| mean(o, &rho)).collect()
    }

    /// Computes [`Expectation::vjp`] of a circuit with noise.
    pub(super) fn noisy_vjp<T: Real>(
        &self,
        inputs: &[T],
        cotangents: &[T],
    ) -> Result<(Vec<T>, Vec<T>), HybridError> {
        expect("cotangents", cotangents.len(), self.observables.len())?;
        if !is_static(&self.circuit) {
            return Err(HybridError::Dynamic);
        }
        let values = self.circuit.param_values(inputs)?;
        let beside = |nearer: bool| -> Result<(bool, Vec<T>, Vec<T>), HybridError> {
            let (layers, met) = layers(&self.circuit, &values, nearer)?;
            let mut sweep = DensityAdjoint {
                energy: self,
                values: &values,
                nearer,
                layers: &layers,
                by_angle: Vec::new(),
            };
            let (results, by_angle) = sweep.there_and_back(cotangents)?;
            Ok((met, results, by_parameter(&self.circuit, &self.parameter_uses, &by_angle)))
        };
        let (met, mut results, mut by_parameter) = beside(false)?;
        if met {
            results = self.noisy_values(inputs)?;
            let (_, _, nearer) = beside(true)?;
            let weights = cotangents.iter().map(|w| w.primal().map_or(1.0, f64::abs));
            let size: f64 = self.observables.iter().zip(weights).map(|(o, w)| w * o.size()).sum();
            by_parameter = derivatives_at_edge(by_parameter, &nearer, size);
        }
        Ok((results, self.chain.pull(inputs, by_parameter)?))
    }
}

/// Returns the instructions in layers, and true if a root is that next to 0; barriers and final
/// measurements have none.
fn layers<T: Real>(
    circuit: &Circuit,
    values: &[T],
    nearer: bool,
) -> Result<(Vec<Layer<T>>, bool), HybridError> {
    let n = circuit.n_qubits();
    let mut met = false;
    let mut layers: Vec<Layer<T>> = Vec::new();
    // Layer 2k holds gates, 2k + 1 channels; each qubit has got so far.
    let mut last = vec![0; n];
    for (number, instruction) in circuit.instructions().iter().enumerate() {
        let (operators, channels) = match &instruction.operation {
            Operation::Channel(channel) => {
                let binding = BoundaryBinding::new(channel, values, nearer);
                let terms = channel.terms(&binding).map_err(|e| circuit.bind_error(e))?;
                let kept = channel.kept(&binding).map_err(|e| circuit.bind_error(e))?;
                met |= binding.met();
                (vec![superoperator(&terms, &kept, &qubits(instruction), n)?], true)
            }
            _ => match bind_instruction(circuit, instruction, &Values(values))? {
                Some(gate) => (on_both_sides(&gate, n).into_vec(), false),
                None => continue,
            },
        };
        let after = instruction.qubits().map(|q| last[q as usize]).max().unwrap_or(0);
        let at = after + usize::from((after % 2 == 1) != channels);
        instruction.qubits().for_each(|q| last[q as usize] = at);
        while layers.len() <= at {
            let channels = layers.len() % 2 == 1;
            layers.push(Layer { channels, instructions: Vec::new(), operators: Vec::new() });
        }
        layers[at].instructions.push(number);
        layers[at].operators.push(operators);
    }
    Ok((layers, met))
}

fn qubits(instruction: &Instruction) -> Vec<usize> {
    instruction.targets.iter().map(|&q| q as usize).collect()
}

/// Forward and backward pass through the layers.
struct DensityAdjoint<'a, T> {
    energy: &'a Expectation,
    values: &'a [T],
    /// True if roots of 0 are those of a smaller number ([`BoundaryBinding`]).
    nearer: bool,
    layers: &'a [Layer<T>],
    by_angle: Vec<T>,
}

impl<T: Real> DensityAdjoint<'_, T> {
    /// Returns the values, and the derivative of their weighted sum by the angle of each slot.
    fn there_and_back(&mut self, weights: &[T]) -> Result<(Vec<T>, Vec<T>), HybridError> {
        let (energy, simulator) = (self.energy, &self.energy.simulator);
        let n_qubits = energy.circuit.n_qubits();
        simulator.check_memory::<[Complex<T>; 4]>(n_qubits.saturating_mul(2))?;
        let channels: Vec<usize> =
            (0..self.layers.len()).filter(|&k| self.layers[k].channels).collect();
        let segment = self.segment(n_qubits, channels.len());

        // The states before the first channels of segments, and before all others of the last one.
        let (mut firsts, mut others): (Vec<ComplexDensity<T>>, Vec<ComplexDensity<T>>) =
            (Vec::new(), Vec::new());
        let mut rho = match energy.given_start() {
            None => DensityMatrix::zero(n_qubits, &simulator.threads)?,
            Some(start) => DensityMatrix::pure(&start?, &simulator.threads)?,
        };
        let last = channels.len().saturating_sub(1) / segment;
        let mut channel = 0;
        for (k, layer) in self.layers.iter().enumerate() {
            if layer.channels {
                if channel % segment == 0 {
                    firsts.push(rho.clone());
                } else if channel / segment == last {
                    others.push(rho.clone());
                }
                channel += 1;
            }
            self.run(k, &mut rho)?;
        }

        let results =
            energy.observables.iter().map(|o| mean(o, &rho)).collect::<Result<Vec<T>, _>>()?;
        let mut lambda = self.cotangent(weights)?;
        self.by_angle = vec![T::zero(); energy.parameter_uses.len()];
        // Before the first angle nothing is asked for.
        let asked =
            |layer: &Layer<T>| layer.instructions.iter().any(|&i| !self.uses_of(i).is_empty());
        let first = self.layers.iter().position(asked).unwrap_or(self.layers.len());
        for k in (first..self.layers.len()).rev() {
            if !self.layers[k].channels {
                self.undo(k, &mut rho, &mut lambda)?;
                continue;
            }
            channel -= 1;
            let from = channel / segment * segment;
            if channel > from && others.is_empty() {
                // The others of this segment again.
                let mut state = firsts.last().cloned().ok_or(SimulateError::Dynamic)?;
                for j in channels[from]..channels[channel] {
                    if self.layers[j].channels && j > channels[from] {
                        others.push(state.clone());
                    }
                    self.run(j, &mut state)?;
                }
                others.push(state);
            }
            // Each channel but the first of a segment has one of the others.
            let before = if channel > from { others.pop() } else { firsts.pop() };
            rho = before.ok_or(SimulateError::Dynamic)?;
            self.undo_channels(k, &rho, &mut lambda)?;
        }
        Ok((results, std::mem::take(&mut self.by_angle)))
    }

    /// Returns the number of channels of a segment: all, if this number of states can be kept, else
    /// about the root of their number (checkpointing).
    fn segment(&self, n_qubits: usize, channels: usize) -> usize {
        let bytes = bytes_needed::<Complex<T>>(2 * n_qubits).max(1);
        let room =
            self.energy.simulator.memory_limit.map_or(KEPT_BYTES, |limit| u128::from(limit) / 2)
                / bytes;
        let all = usize::try_from(room).is_ok_and(|room| channels <= room);
        if all { channels.max(1) } else { (channels as f64).sqrt().ceil() as usize }
    }

    fn run(&self, layer: usize, rho: &mut ComplexDensity<T>) -> Result<(), HybridError> {
        let operators: Vec<_> = self.layers[layer].operators.concat();
        self.execute(&operators, rho.vector_mut())
    }

    fn execute(
        &self,
        operators: &[Operator<Complex<T>>],
        state: &mut StateVector<Complex<T>>,
    ) -> Result<(), HybridError> {
        Ok(self.energy.simulator.execute(operators, state, &mut |_, _| {})?)
    }

    /// Returns `sum_k w_k O_k` as a vector of its entries.
    fn cotangent(&self, weights: &[T]) -> Result<StateVector<Complex<T>>, HybridError> {
        let n_qubits = self.energy.circuit.n_qubits();
        let mut entries = StateVector::null(2 * n_qubits, &self.energy.simulator.threads)?;
        for (observable, weight) in self.energy.observables.iter().zip(weights) {
            observable.add_entries(weight, n_qubits, entries.amplitudes_mut());
        }
        Ok(entries)
    }

    /// Returns the slots of an instruction, by their number.
    fn uses_of(&self, instruction: usize) -> std::ops::Range<usize> {
        let slots = &self.energy.parameter_uses;
        let first = slots.partition_point(|slot| slot.instruction < instruction);
        first..slots.partition_point(|slot| slot.instruction <= instruction)
    }

    /// Undoes a layer of gates on both. A gate whose qubits no later gate of the layer has touched
    /// can be looked at while these are still applied, so gates are undone in as few goes as that
    /// allows.
    fn undo(
        &mut self,
        layer: usize,
        rho: &mut ComplexDensity<T>,
        lambda: &mut StateVector<Complex<T>>,
    ) -> Result<(), HybridError> {
        let (circuit, layer) = (&self.energy.circuit, &self.layers[layer]);
        let mut waiting: Vec<Operator<Complex<T>>> = Vec::new();
        let mut used = 0usize;
        for (&number, operators) in layer.instructions.iter().zip(&layer.operators).rev() {
            let instruction = &circuit.instructions()[number];
            let mask = instruction.qubits().fold(0usize, |mask, q| mask | 1 << q);
            let slots = self.uses_of(number);
            if !slots.is_empty() && used & mask != 0 {
                self.execute(&waiting, rho.vector_mut())?;
                self.execute(&waiting, lambda)?;
                waiting.clear();
                used = 0;
            }
            for slot in slots {
                let angle = self.energy.parameter_uses[slot].angle;
                let Some(slope) = GateDerivative::new(circuit, instruction, angle, self.values)?
                else {
                    continue;
                };
                let threads = &self.energy.simulator.threads;
                let inner = slope.between(instruction, lambda, rho.vector(), threads);
                // The columns give the complex conjugate.
                self.by_angle[slot] = inner.re() * T::int(2);
            }
            used |= mask;
            waiting.extend(operators.iter().rev().map(Operator::dagger));
        }
        self.execute(&waiting, rho.vector_mut())?;
        self.execute(&waiting, lambda)
    }

    /// Takes the cotangent back through a layer of channels, given the state before it.
    fn undo_channels(
        &mut self,
        layer: usize,
        before: &ComplexDensity<T>,
        lambda: &mut StateVector<Complex<T>>,
    ) -> Result<(), HybridError> {
        let layer = &self.layers[layer];
        // The state before each channel that has a slot.
        let mut states: Vec<ComplexDensity<T>> = Vec::new();
        let last = layer.instructions.iter().rposition(|&i| !self.uses_of(i).is_empty());
        if let Some(last) = last {
            let mut state = before.clone();
            for (k, operators) in layer.operators.iter().enumerate().take(last + 1) {
                if !self.uses_of(layer.instructions[k]).is_empty() {
                    states.push(state.clone());
                }
                self.execute(operators, state.vector_mut())?;
            }
        }
        for (&number, operators) in layer.instructions.iter().zip(&layer.operators).rev() {
            let slots = self.uses_of(number);
            if !slots.is_empty()
                && let Some(state) = states.pop()
            {
                self.slopes(number, slots, &state, lambda)?;
            }
            let back: Vec<_> = operators.iter().rev().map(Operator::dagger).collect();
            self.execute(&back, lambda)?;
        }
        Ok(())
    }

    /// Adds the derivatives by the parameters of a channel, given the state before it and the
    /// cotangent after it.
    fn slopes(
        &mut self,
        number: usize,
        slots: std::ops::Range<usize>,
        before: &ComplexDensity<T>,
        lambda: &StateVector<Complex<T>>,
    ) -> Result<(), HybridError> {
        let circuit = &self.energy.circuit;
        let instruction = &circuit.instructions()[number];
        let Operation::Channel(channel) = &instruction.operation else { return Ok(()) };
        // 2n qubits of a state have 32-bit numbers.
        let columns = instruction.targets.iter().map(|q| q + circuit.n_qubits() as u32);
        let targets: Vec<u32> = instruction.targets.iter().copied().chain(columns).collect();
        for slot in slots {
            let slope = superoperator_derivative(
                channel,
                self.energy.parameter_uses[slot].angle,
                self.values,
                self.nearer,
            );
            let matrix = slope.map_err(|e| circuit.bind_error(e))?;
            let threads = &self.energy.simulator.threads;
            self.by_angle[slot] =
                through(&matrix, &targets, &[], lambda, before.vector(), threads).re();
        }
        Ok(())
    }
}

/// Returns the mean of an observable.
fn mean<T: Real>(observable: &Observable, rho: &ComplexDensity<T>) -> Result<T, HybridError> {
    match observable {
        Observable::Pauli(sum) => Ok(rho.expectation(sum)?),
        Observable::Outcome(bits) => {
            let qubits: Vec<usize> = bits.iter().map(|b| b.0).collect();
            let outcome = bits.iter().enumerate().fold(0, |v, (j, b)| v | usize::from(b.1) << j);
            Ok(rho.probabilities_of(&qubits)?.swap_remove(outcome))
        }
        Observable::Overlap(phi) => {
            let number = |z: &Complex<f64>| Complex::new(T::lit(z.re), T::lit(z.im));
            let phi = StateVector::from_vector(phi.amplitudes().iter().map(number).collect());
            Ok(rho.fidelity(&phi.map_err(crate::state::StateError::from)?)?)
        }
    }
}
