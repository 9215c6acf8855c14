//! Evolution in time by product formulas.
//!
//! `exp(-i H t)` for a sum `H = sum_j c_j P_j` of strings is a product over the strings where they
//! commute, and for short times nearly so where they do not:
//! ```text
//! S_1(t)  = exp(-i c_1 P_1 t) exp(-i c_2 P_2 t) …                                   error O(t^2)
//! S_2(t)  = half of each, forth and back                                            O(t^3)
//! S_2k(t) = S_2k-2(u t)^2  S_2k-2((1 - 4u) t)  S_2k-2(u t)^2,  u = 1 / (4 - 4^(1/(2k-1)))    O(t^(2k+1))
//! ```
//! In r steps of t/r the error of order p is O(t (t/r)^p). What meets the same string on both sides
//! of a step or of a turn becomes one exponential.
//!
//! Sources: H. F. Trotter, Proc. Am. Math. Soc. 10, 545 (1959); M. Suzuki, Phys. Lett. A 146, 319
//! (1990).

use std::collections::HashMap;

use super::scaled;
use crate::{
    circuit::{Circuit, CircuitError},
    observable::PauliSum,
    param::Angle,
};

/// Appends `exp(-i H t)` by a product formula of an order, 1 or even, in this number of steps.
///
/// The time may be a parameter. A constant in H becomes a phase, so that the circuit is right under
/// controls, too. Of m strings an even order `2k` takes about `2 (m - 1) 5^(k-1)` exponentials a
/// step, the first m.
///
/// ```
/// use ketgrad_core::{ansatz::evolution, circuit::Circuit, hybrid::Expectation, observable::PauliSum};
///
/// let h: PauliSum = "Z0 Z1 + 0.7 X0 + 0.7 X1".parse()?;
/// let mut circuit = Circuit::new(2);
/// let t = circuit.param("t");
/// evolution(&mut circuit, &h, t, 20, 2)?;
/// let energy = Expectation::new(circuit, [h])?;
/// let at = |t: f64| energy.value(&[t]);
/// // It changes by the error of the formula only.
/// assert!((at(1.0)? - at(0.0)?).abs() < 1e-2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`CircuitError::ProductFormula`] for another order or no steps; [`CircuitError`] for a qubit
/// that the circuit does not have, or more gates than memory holds.
pub fn evolution(
    circuit: &mut Circuit,
    hamiltonian: &PauliSum,
    time: impl Into<Angle>,
    steps: usize,
    order: usize,
) -> Result<(), CircuitError> {
    if steps == 0 || order == 0 || (order > 1 && order % 2 == 1) {
        return Err(CircuitError::ProductFormula { order, steps });
    }
    if let Some(highest) = hamiltonian.n_qubits().checked_sub(1) {
        circuit.qubits(highest..=highest)?;
    }
    let terms = hamiltonian.terms();
    let strings: Vec<usize> =
        (0..terms.len()).filter(|&j| !terms[j].1.factors().is_empty()).collect();
    let turns = 5usize.checked_pow((order / 2).saturating_sub(1).try_into().unwrap_or(u32::MAX));
    let length = turns.and_then(|turns| turns.checked_mul(2 * strings.len())?.checked_mul(steps));
    Circuit::room_for(length)?;

    let time = time.into();
    let constant: f64 = terms.iter().filter(|t| t.1.factors().is_empty()).map(|t| t.0).sum();
    if constant != 0.0 {
        let phase = scaled(circuit, &time, -constant);
        circuit.gphase(phase)?;
    }
    if strings.is_empty() {
        return Ok(());
    }
    let step = product(&strings, order);
    // Parts of the time, of which few are different.
    let mut angles: HashMap<(usize, u64), Angle> = HashMap::new();
    let mut waiting: Option<(usize, f64)> = None;
    let mut emit = |circuit: &mut Circuit, (j, part): (usize, f64)| {
        let (coefficient, string) = &terms[j];
        let angle = angles
            .entry((j, part.to_bits()))
            .or_insert_with(|| scaled(circuit, &time, 2.0 * coefficient * part / steps as f64));
        circuit.pauli_rotation(string, &*angle).map(|_| ())
    };
    for &(j, part) in std::iter::repeat_n(&step, steps).flatten() {
        // The same string again: one exponential.
        waiting = match waiting {
            Some((same, before)) if same == j => Some((j, before + part)),
            Some(before) => {
                emit(circuit, before)?;
                Some((j, part))
            }
            None => Some((j, part)),
        };
    }
    waiting.map_or(Ok(()), |last| emit(circuit, last))
}

/// Returns the exponentials of one step: a string and its part of the time.
fn product(strings: &[usize], order: usize) -> Vec<(usize, f64)> {
    if order == 1 {
        return strings.iter().map(|&j| (j, 1.0)).collect();
    }
    let there_and_back = |part: f64| {
        let half = strings.iter().map(move |&j| (j, part / 2.0));
        half.clone().chain(half.rev())
    };
    turns(order).into_iter().flat_map(there_and_back).collect()
}

/// Returns the times of the second-order products that make one of an even order.
fn turns(order: usize) -> Vec<f64> {
    if order <= 2 {
        return vec![1.0];
    }
    let u = (4.0 - 4.0f64.powf(1.0 / (order as f64 - 1.0))).recip();
    let inner = turns(order - 2);
    [u, u, 1.0 - 4.0 * u, u, u]
        .iter()
        .flat_map(|part| inner.iter().map(move |t| t * part))
        .collect()
}
