//! Simulation of both circuits in the exact ring, column by column: a proof without an error, where
//! they are small.

use super::{CircuitPair, EquivalentError, exact::VectorRatio, numeric::Start};
use crate::{
    exact::{Exact, Symbols},
    kernel::Operator,
    scalar::Ring,
    simulate::{BoundCircuit, SimulateError, Simulator},
    state::StateVector,
};

/// The most numbers that gates may touch in all columns: some milliseconds.
const WORK: usize = 1 << 14;
/// The most terms that a column may have after a gate.
const TERMS: usize = 1 << 8;

/// Decides how the circuits are related; `None` if they are too large, or outside the ring.
pub(super) fn decide(
    pair: &CircuitPair,
    start: Start,
    simulator: &Simulator,
) -> Result<Option<VectorRatio>, EquivalentError> {
    let (columns, amplitudes) = start.size();
    let gates = pair.instructions().count().max(1);
    if columns.saturating_mul(amplitudes).saturating_mul(gates) > WORK {
        return Ok(None);
    }
    let Ok(symbols) = Symbols::of_circuits(&[&pair.circuits[0], &pair.circuits[1]]) else {
        return Ok(None);
    };
    let [a, b] = [0, 1].map(|which| BoundCircuit::new(&pair.circuits[which], &symbols).ok());
    let (Some(a), Some(b)) = (a, b) else { return Ok(None) };
    let image =
        |of: &BoundCircuit<Exact>, column| image(of.operators()?, pair.n_qubits, column, simulator);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for column in 0..columns {
        let (Some(one), Some(other)) = (image(&a, column), image(&b, column)) else {
            return Ok(None);
        };
        x.extend(start.compared(&one?).iter().map(|entry| symbols.reduced(entry.clone())));
        y.extend(start.compared(&other?).iter().map(|entry| symbols.reduced(entry.clone())));
    }
    if x == y {
        return Ok(Some(VectorRatio::One));
    }
    if !start.is_up_to_phase() {
        return Ok(Some(VectorRatio::None));
    }
    let lead = x.iter().zip(&y).find(|(_, y)| !y.is_exact_zero());
    let Some((x0, y0)) = lead.map(|(x, y)| (x.clone(), y.clone())) else { return Ok(None) };
    for (x, y) in x.iter().zip(&y) {
        let (left, right) = (symbols.reduced(x * &y0), symbols.reduced(y * &x0));
        if left.fault().or(right.fault()).is_some() {
            return Ok(None);
        }
        if left != right {
            return Ok(Some(VectorRatio::None));
        }
    }
    if x0.is_exact_zero() {
        return Ok(Some(VectorRatio::None));
    }
    Ok(Some(VectorRatio::Exact { x: Box::new(x0), y: Box::new(y0), symbols: Box::new(symbols) }))
}

/// Returns the image of a basis state; `None` if that has too many terms.
fn image(
    operators: &[Operator<Exact>],
    n_qubits: usize,
    column: usize,
    simulator: &Simulator,
) -> Option<Result<Vec<Exact>, EquivalentError>> {
    let mut state = match StateVector::basis(n_qubits, column).map_err(SimulateError::from) {
        Ok(state) => state,
        Err(e) => return Some(Err(e.into())),
    };
    for operator in operators {
        if let Err(cancelled) = simulator.threads.check() {
            return Some(Err(SimulateError::from(cancelled).into()));
        }
        operator.apply(state.amplitudes_mut(), &simulator.threads);
        let terms: usize = state.amplitudes().iter().map(Exact::n_terms).sum();
        if terms > TERMS || state.amplitudes().iter().any(|a| a.fault().is_some()) {
            return None;
        }
    }
    Some(Ok(state.amplitudes().to_vec()))
}
