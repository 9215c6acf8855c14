//! Gates whose angles are computed when they run.

use num_complex::Complex;
use smallvec::SmallVec;

use super::{
    Bits, SimulateError,
    program::{ControlValues, controls, targets},
};
use crate::{
    circuit::{Circuit, CircuitError, Instruction, Operation, RuntimeGate, operation_name},
    classical::MemoryLayout,
    kernel::Operator,
    param::{Angle, BindError, Binding, ParamId, Values},
    scalar::{Real, Ring, Scalar},
    state::StateError,
};

/// A gate with the numbers of its angles, but for those that are computed when it runs.
#[derive(Clone, Debug)]
pub(super) struct BoundRuntimeGate<R> {
    /// The gate, whose angles over parameters are numbers by their position in `values`.
    gate: RuntimeGate,
    values: SmallVec<[R; 2]>,
    targets: SmallVec<[usize; 4]>,
    controls: ControlValues,
    /// The name and the texts of the angles, for errors.
    name: String,
    angles: Vec<String>,
}

impl<R: Ring> BoundRuntimeGate<R> {
    /// Binds the angles of a gate that are known.
    ///
    /// # Errors
    /// [`SimulateError`] if the binding has no number for one.
    pub(super) fn new(
        circuit: &Circuit,
        (instruction, gate): (&Instruction, &RuntimeGate),
        binding: &impl Binding<R>,
    ) -> Result<BoundRuntimeGate<R>, SimulateError> {
        let mut values = SmallVec::new();
        let mut known = Vec::new();
        for angle in gate.params() {
            let value = binding.value(angle).map_err(|e| circuit.bind_error(e))?;
            known.push(match angle.is_constant() {
                true => angle.clone(),
                false => {
                    values.push(value);
                    Angle::theta(ParamId::new(u32::try_from(values.len() - 1).unwrap_or(u32::MAX)))
                }
            });
        }
        let mut known = known.into_iter();
        Ok(BoundRuntimeGate {
            gate: gate.map_params(|_| known.next().unwrap_or_default()),
            values,
            targets: targets(instruction),
            controls: controls(instruction),
            name: operation_name(instruction),
            angles: (0..gate.params().len()).map(|k| circuit.runtime_angle_text(gate, k)).collect(),
        })
    }
}

impl<T: Real, S: Scalar<Real = T>> BoundRuntimeGate<S> {
    /// Returns the gate with the angles that the memory gives.
    ///
    /// # Errors
    /// [`CircuitError::RuntimeAngle`] for an angle that is NaN or infinite.
    pub(super) fn operator(
        &self,
        memory: &Bits,
        layout: &MemoryLayout,
    ) -> Result<Operator<S>, SimulateError> {
        let gate = self.gate.gate_at(&memory.read(layout)).map_err(|(k, value)| {
            let angle = self.angles.get(k).cloned().unwrap_or_default();
            CircuitError::RuntimeAngle { gate: self.name.clone(), angle, value }
        })?;
        let values: SmallVec<[T; 2]> = self.values.iter().map(Scalar::re).collect();
        let matrix = gate.matrix::<Complex<T>>(&Values(&values)).map_err(CircuitError::Bind)?;
        let matrix = matrix
            .try_map(|z| S::from_parts(z.re.clone(), z.im.clone()).ok_or(StateError::Symbolic))?;
        Ok(Operator::new(&matrix, &self.targets, &self.controls)?)
    }
}

/// Checks that the parameters which an instruction turns into classical values for the angles of
/// gates are plain numbers: a derivative or an error bar would be lost there.
///
/// # Errors
/// [`CircuitError::RuntimeDerivative`] for another number, those of the binding.
pub(super) fn check_plain<R: Ring>(
    circuit: &Circuit,
    operation: &Operation,
    binding: &impl Binding<R>,
) -> Result<(), SimulateError> {
    for angle in operation.value_angles() {
        let is_plain = || -> Result<bool, BindError> {
            let number = binding.number(Complex::new(binding.real(&angle)?, 0.0))?;
            Ok((binding.value(&angle)? - number).is_exact_zero())
        };
        if !is_plain().map_err(|e| circuit.bind_error(e))? {
            let text = circuit.angle_text(&angle);
            return Err(CircuitError::RuntimeDerivative { text }.into());
        }
    }
    Ok(())
}
