//! Range of the exponents that a gate brings for its angles: read off its own matrix over fresh
//! symbols, and off the exponentials that the matrix is computed from.
//!
//! Nothing about single gates is written down here, and a new line in the gate table needs
//! nothing.

use std::{
    cell::RefCell,
    collections::{BTreeMap, btree_map::Entry},
};

use num_complex::Complex;
use num_integer::gcd;

use super::{Exact, ExactError, Symbols, symbols::ExponentField};
use crate::{
    gate::{Gate, GateKind},
    param::{Angle, BindError, Binding, ParamId},
};

/// Steps of an exponent to one, in the matrix over fresh symbols: gates use halves of their angles.
const STEPS: i64 = 1 << 10;
/// Bits of an exponent there.
const WIDTH: u32 = 24;

/// Range of the exponents of one angle of a gate: the entries of its matrix are sums of
/// `e^{i e angle}`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExponentReach {
    /// The largest |e| in the matrix and on the way to it, in steps of `1 / STEPS`.
    most: i64,
    /// Every e is a multiple of this, in the same steps; 0 if the angle does not occur.
    step: i64,
}

impl ExponentReach {
    /// Returns the largest |e| and what every e is a multiple of, as fractions over the same
    /// denominator.
    pub(super) fn as_fractions(self) -> (i64, i64, i64) {
        (self.most, self.step, STEPS)
    }
}

/// The reaches of the gates of a circuit, each gate looked at once.
#[derive(Default)]
pub(super) struct Reaches(BTreeMap<GateKind, Vec<ExponentReach>>);

impl Reaches {
    /// Returns one for each angle of the gate.
    pub(super) fn get(&mut self, kind: GateKind) -> Result<&[ExponentReach], ExactError> {
        Ok(match self.0.entry(kind) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(look(kind)?),
        })
    }
}

/// Fresh symbols.
fn probe(ids: impl Iterator<Item = ParamId>) -> Symbols {
    let field = |id: ParamId| ExponentField {
        variable: Some(id),
        unit: STEPS,
        shift: WIDTH * id.number(),
        width: WIDTH,
    };
    Symbols::of_fields(ids.map(field).collect())
}

fn look(kind: GateKind) -> Result<Vec<ExponentReach>, ExactError> {
    let n = kind.param_names().len();
    // Four angles fit; the table has no gate with more.
    let ids = || (0..n as u32).map(ParamId::new);
    let probe = probe(ids());
    let watch = Watch { symbols: &probe, asked: RefCell::default() };
    let failed = |e: BindError| ExactError::Gate { gate: kind.name(), reason: e.to_string() };
    let gate = Gate::new(kind, ids().map(Angle::theta))
        .map_err(|e| ExactError::Gate { gate: kind.name(), reason: e.to_string() })?;
    let matrix = gate.matrix(&watch).map_err(failed)?;
    let mut reaches = vec![ExponentReach::default(); n];
    let asked = watch.asked.into_inner();
    for (key, _) in matrix.entries().iter().chain(&asked).flat_map(Exact::terms) {
        for (reach, e) in reaches.iter_mut().zip(probe.split(*key).1) {
            reach.most = reach.most.max(e.abs());
            reach.step = gcd(reach.step, e.abs());
        }
    }
    Ok(reaches)
}

/// A binding that remembers what it was asked for.
struct Watch<'a> {
    symbols: &'a Symbols,
    asked: RefCell<Vec<Exact>>,
}

impl Binding<Exact> for Watch<'_> {
    fn cis(&self, angle: &Angle) -> Result<Exact, BindError> {
        let number = self.symbols.cis(angle)?;
        self.asked.borrow_mut().push(number.clone());
        Ok(number)
    }
    fn half(&self) -> Exact {
        Exact::half()
    }
    fn sqrt_half(&self) -> Exact {
        Exact::sqrt_half()
    }
    fn number(&self, z: Complex<f64>) -> Result<Exact, BindError> {
        self.symbols.number(z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bound on exponents that `equivalent` uses for its error bound.
    #[test]
    fn gates_move_exponents_by_their_angles_at_most_and_halve_once() {
        for &kind in GateKind::ALL {
            let ids = || (0..kind.param_names().len() as u32).map(ParamId::new);
            let gate = Gate::new(kind, ids().map(Angle::theta)).unwrap();
            let matrix = gate.matrix(&probe(ids())).unwrap();
            // Twice an entry is an algebraic integer.
            assert!(matrix.entries().iter().all(|x| x.roots() <= 2), "{kind:?}");
            for reach in look(kind).unwrap() {
                assert!(
                    reach.most <= STEPS && reach.step % (STEPS / 2) == 0,
                    "{kind:?}: {reach:?}"
                );
            }
        }
    }
}
