//! Parameter shifts: derivatives from values at other angles, exact for the frequencies of each
//! angle.
//!
//! As a function of one angle an expectation value is a trigonometric polynomial whose frequencies
//! are differences of those of the gate (and of 0, if the gate is controlled). If they are
//! multiples `1…R` of a unit `u`, then
//!
//! ```text
//! dE/da = sum_{m=1}^{2R} c_m E(a + x_m),   x_m = (2m - 1) pi / (2R u),   c_m = u (-1)^(m-1) / (4R sin^2(u x_m / 2)),
//! ```
//!
//! which is the two-term rule `(E(a + pi/2) - E(a - pi/2)) / 2` of Pauli rotations (u = 1, R = 1)
//! and the four-term rule of controlled ones (u = 1/2, R = 2). The shifts are exact fractions of
//! pi. Frequencies come from the gate table by [`harmonics`], so a new gate needs nothing here.
//!
//! Cost: 2R runs for each angle that depends on a parameter. Source: D. Wierichs, J. Izaac, C.
//! Wang, C. Lin, "General parameter-shift rules for quantum gradients" (2022), Quantum 6, 677,
//! equation 22.

use num_complex::Complex;
use num_integer::Integer;
use num_traits::Zero;

use super::{
    Expectation, HybridError,
    expectation::total,
    harmonics::harmonics,
    parameter_uses::{ParameterUse, by_parameter},
};
use crate::{
    circuit::{Circuit, CircuitError, Instruction, Operation},
    gate::Gate,
    param::{Angle, ParamId, Q, Values},
    scalar::Real,
    simulate::SimulateError,
};

/// Angles at which no coefficient of a gate of the table vanishes that doesn't vanish everywhere.
const GENERIC: [f64; 4] = [0.37, -1.2, 2.05, 0.83];

impl Expectation {
    /// Returns true if a gate may act again, so that a shift of its angle is several.
    pub(super) fn has_loops(&self) -> bool {
        self.circuit
            .instructions()
            .iter()
            .any(|i| matches!(i.operation, Operation::While { .. } | Operation::For { .. }))
    }

    /// Returns the value and the gradient by shifts of the angles.
    pub(super) fn shift_gradient<T: Real>(&self, inputs: &[T]) -> Result<(T, Vec<T>), HybridError> {
        let value = |circuit: &Circuit| -> Result<T, HybridError> {
            Ok(total(self.with_circuit(circuit.clone()).values(inputs)?))
        };
        let mut by_angle = Vec::with_capacity(self.parameter_uses.len());
        for slot in self.shift_uses()? {
            let mut derivative = T::zero();
            for (circuit, coefficient) in self.shifted_circuits(*slot)? {
                derivative += value(&circuit)? * T::lit(coefficient);
            }
            by_angle.push(derivative);
        }
        let gradient = self
            .chain
            .pull(inputs, by_parameter(&self.circuit, &self.parameter_uses, &by_angle))?;
        Ok((value(&self.circuit)?, gradient))
    }

    /// Returns the angles to shift.
    ///
    /// # Errors
    /// [`CircuitError::RuntimeDerivative`] if a gate depends on a parameter through classical
    /// values, too, which no shift of an angle sees.
    pub(super) fn shift_uses(&self) -> Result<&[ParameterUse], HybridError> {
        match self.circuit.runtime_parameter() {
            None => Ok(&self.parameter_uses),
            Some(angle) => {
                let text = self.circuit.angle_text(&angle);
                Err(SimulateError::from(CircuitError::RuntimeDerivative { text }).into())
            }
        }
    }

    /// Returns the circuits with the angle shifted whose values, with these coefficients, add up to
    /// the derivative.
    ///
    /// # Errors
    /// [`HybridError::Dynamic`] where gates may act again, [`HybridError::Shift`] for a channel.
    pub(super) fn shifted_circuits(
        &self,
        slot: ParameterUse,
    ) -> Result<Vec<(Circuit, f64)>, HybridError> {
        if self.has_loops() {
            return Err(HybridError::Dynamic);
        }
        let shifts = self.shifts(slot)?;
        Ok(shifts.iter().map(|(shift, c)| (shifted(&self.circuit, slot, shift), *c)).collect())
    }

    /// Returns the frequencies of a gate in one of its angles, which are parameters.
    fn frequencies(&self, generic: &Gate, angle: usize) -> Result<Vec<Q>, HybridError> {
        let parts = harmonics::<Complex<f64>>(generic, angle, &Values(&GENERIC));
        let parts = parts.map_err(|e| self.circuit.bind_error(e))?;
        Ok(parts.into_iter().map(|part| part.0).collect())
    }

    /// Replaces the circuit by another with the same parameters; the observables stay.
    pub(super) fn with_circuit(&self, circuit: Circuit) -> Expectation {
        Expectation { circuit: circuit.into(), ..self.clone() }
    }

    /// Returns the shifts of an angle with their coefficients.
    ///
    /// The frequencies are those that the gate has at some values of its other parameters: where a
    /// coefficient vanishes, its derivative may not.
    fn shifts(&self, slot: ParameterUse) -> Result<Vec<(Angle, f64)>, HybridError> {
        let instruction = &self.circuit.instructions()[slot.instruction];
        let mut of_gate: Vec<Q> = match &instruction.operation {
            Operation::Gate(gate) => {
                let mut ids = (0..).map(ParamId::new);
                let generic = gate.map_params(|a| {
                    let id = ids.next().map(Angle::theta);
                    if a.is_constant() { a.clone() } else { id.unwrap_or_default() }
                });
                self.frequencies(&generic, slot.angle)?
            }
            Operation::RuntimeGate(gate) => {
                self.frequencies(&gate.with_placeholders(), slot.angle)?
            }
            // Half the eigenvalues of the string; the identity has one.
            Operation::PauliRotation(rotation) => {
                let half = Q::new(1, 2);
                if rotation.letters().is_empty() { vec![-half] } else { vec![-half, half] }
            }
            _ => {
                return Err(HybridError::Shift {
                    angle: slot.angle,
                    instruction: slot.instruction,
                });
            }
        };
        if !instruction.controls.is_empty() {
            of_gate.push(Q::zero());
        }
        Ok(rule(&of_gate))
    }
}

/// Returns the circuit with one angle of one gate shifted.
fn shifted(circuit: &Circuit, slot: ParameterUse, shift: &Angle) -> Circuit {
    let mut moved = circuit.clone();
    if let Some(Instruction { operation, .. }) = moved.instruction_mut(slot.instruction) {
        let mut k = 0..;
        *operation = operation
            .map_params(|a| if k.next() == Some(slot.angle) { a + shift } else { a.clone() });
    }
    moved
}

/// Returns the shifts and coefficients for an expectation value whose frequencies are the
/// differences of the given ones.
fn rule(of_gate: &[Q]) -> Vec<(Angle, f64)> {
    let differences = || {
        let pairs = of_gate.iter().flat_map(|p| of_gate.iter().map(move |q| p - q));
        pairs.filter(|d| *d > Q::zero())
    };
    let Some(largest) = differences().max() else {
        return Vec::new();
    };
    let unit = differences().fold(largest, common_unit);
    let r = (largest / unit).to_integer();
    let n = 2 * r;
    let half_turns = |m: i64| Q::new(2 * m - 1, n);
    (1..=n)
        .map(|m| {
            let sign = if m % 2 == 1 { 1.0 } else { -1.0 };
            let sine = (float(half_turns(m)) * std::f64::consts::FRAC_PI_2).sin();
            let coefficient = float(unit) * sign / (2.0 * n as f64 * sine * sine);
            // Shifts beyond half a period go the other way round.
            let turns =
                if half_turns(m) > Q::from(1) { half_turns(m) - Q::from(2) } else { half_turns(m) };
            let x = turns / unit;
            (Angle::pi(*x.numer(), *x.denom()), coefficient)
        })
        .collect()
}

fn float(q: Q) -> f64 {
    *q.numer() as f64 / *q.denom() as f64
}

/// Returns the largest fraction that both are multiples of: in lowest terms
/// `gcd(a/b, c/d) = gcd(a, c) / lcm(b, d)`.
fn common_unit(p: Q, q: Q) -> Q {
    Q::new_raw(p.numer().gcd(q.numer()), p.denom().lcm(q.denom()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::GateKind;

    /// Checks the derivative at 0 of `cos`, `sin` of every multiple, by the rule for frequencies of
    /// a gate.
    fn check(of_gate: &[Q], frequencies: &[f64]) {
        for &w in frequencies {
            let derivative = |f: fn(f64) -> f64| -> f64 {
                rule(of_gate).iter().map(|(x, c)| c * f(w * x.constant().unwrap_or(f64::NAN))).sum()
            };
            assert!(derivative(f64::cos).abs() < 1e-14, "{of_gate:?}: cos {w}x");
            assert!((derivative(f64::sin) - w).abs() < 1e-14, "{of_gate:?}: sin {w}x");
        }
    }

    #[test]
    fn no_frequency_of_a_gate_is_missed() {
        for &kind in GateKind::ALL {
            let n = kind.param_names().len();
            let gate =
                Gate::new(kind, (0..n as u32).map(|k| Angle::theta(ParamId::new(k)))).unwrap();
            let all = |k, values: &[f64]| -> Vec<Q> {
                let parts = harmonics::<Complex<f64>>(&gate, k, &Values(values)).unwrap();
                parts.into_iter().map(|part| part.0).collect()
            };
            for k in 0..n {
                let known = all(k, &GENERIC);
                for seed in 1..8 {
                    let values: Vec<f64> =
                        (0..n).map(|i| f64::from(seed) * (i as f64 + 0.3)).collect();
                    assert!(all(k, &values).iter().all(|q| known.contains(q)), "{kind:?} by {k}");
                }
            }
        }
    }

    #[test]
    fn rules_are_exact_for_their_frequencies() {
        let half = Q::new(1, 2);
        check(&[-half, half], &[0.0, 1.0]);
        assert_eq!(rule(&[-half, half]).len(), 2);
        check(&[-half, Q::zero(), half], &[0.0, 0.5, 1.0]);
        assert_eq!(rule(&[-half, Q::zero(), half]).len(), 4);
        check(&[-Q::from(1), Q::zero(), Q::from(1)], &[0.0, 1.0, 2.0]);
        check(&[Q::zero(), Q::from(3)], &[0.0, 3.0]);
        // The unit, 2/3, is not among the differences.
        let thirds = [Q::zero(), Q::new(4, 3), Q::new(10, 3)];
        check(&thirds, &[0.0, 4.0 / 3.0, 2.0, 10.0 / 3.0]);
        assert_eq!(rule(&thirds).len(), 10);
        assert!(rule(&[half]).is_empty());
    }
}
