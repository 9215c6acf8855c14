//! Powers of gates: `inv @` and `pow(x) @`.
//!
//! An integer power repeats the gate or its inverse, and any other power is the principal one of
//! the matrix: eigenvalues `e^{i a}` with `a` in (-pi, pi] become `e^{i x a}`. Powers with an exact
//! form keep it: `pow(1/2) @ x` is `sx`, `pow(x) @ z` is `p(pi x)`, and of a rotation or a phase
//! the angle is multiplied, after it was reduced by whole turns of the matrix. An angle with
//! parameters is not reduced, so that the power is differentiable everywhere: it is the principal
//! one while the phases of the gate stay within half a turn. Exponents with parameters are those of
//! `open_power`.
//!
//! Exponents form a list, innermost first. One that is followed by an integer merges with it,
//! `(U^x)^k = U^{kx}`; other pairs stay, since `(U^2)^{1/2}` is not always `U`.

#![deny(clippy::arithmetic_side_effects)]

use std::f64::consts::PI;

use nalgebra::DMatrix;
use num_complex::Complex;
use smallvec::SmallVec;

use super::{
    unitary::{UnitaryEigen, eigenvectors},
    value::RealConstant,
};
use crate::{
    gate::{Gate, GateKind, Generator},
    matrix::Matrix,
    param::{ALL_WHOLE, Angle, Q, Rounded, Values},
    qasm::diagnostic::QasmProblem,
};

/// Arguments this close to -pi count as pi: an eigenvalue -1 is computed with an error of some
/// ulps.
const CUT: f64 = 1e-9;

/// An exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Exponent {
    Integer(i64),
    Real(RealConstant),
    /// An exponent over the parameters of the gate that is defined, by number. A call of the gate
    /// turns it into one of the others.
    Open(usize),
}

impl Exponent {
    /// A real exponent, which may be an integer.
    pub(super) fn real(number: RealConstant) -> Exponent {
        match number.exact() {
            Some(q) if *q.denom() == 1 => Exponent::Integer(*q.numer()),
            _ => Exponent::Real(number),
        }
    }

    pub(super) fn value(self) -> f64 {
        match self {
            // In messages, and of those that are small.
            Exponent::Integer(k) => k as f64,
            Exponent::Real(x) => x.value,
            Exponent::Open(_) => f64::NAN,
        }
    }
}

/// Puts an exponent around others.
pub(super) fn compose(
    exponents: &mut SmallVec<[Exponent; 1]>,
    outer: Exponent,
) -> Result<(), QasmProblem> {
    let merged = match (exponents.last(), outer) {
        (Some(Exponent::Integer(inner)), Exponent::Integer(k)) => {
            let what =
                || QasmProblem::IntegerOverflow { what: format!("the exponent {inner} times {k}") };
            Some(Exponent::Integer(inner.checked_mul(k).ok_or_else(what)?))
        }
        (Some(Exponent::Real(inner)), Exponent::Integer(k)) => Some(Exponent::real(inner.times(k))),
        _ => None,
    };
    if let Some(merged) = merged {
        exponents.pop();
        exponents.push(merged);
    } else {
        exponents.push(outer);
    }
    if exponents.last() == Some(&Exponent::Integer(1)) {
        exponents.pop();
    }
    Ok(())
}

/// A gate of the table raised to powers.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time")]
pub(super) enum PoweredGate {
    Gate(Gate, u64),
    Matrix(Matrix<Complex<f64>>),
}

fn is_self_inverse(kind: GateKind) -> bool {
    use GateKind::*;
    matches!(kind, I | X | Y | Z | H | SWAP | ECR | RCCX)
}

/// Returns the number of gates that a power expands to.
pub(super) fn size(kind: GateKind, exponents: &[Exponent]) -> u64 {
    match exponents {
        [] => 1,
        [Exponent::Integer(0)] => 0,
        [Exponent::Integer(k)] => repetitions(kind, *k),
        _ => 1,
    }
}

fn repetitions(kind: GateKind, k: i64) -> u64 {
    match k {
        0 => 0,
        _ if kind.generator().is_some() => 1,
        _ if is_self_inverse(kind) => k.unsigned_abs() % 2,
        _ => k.unsigned_abs(),
    }
}

/// Raises a gate of the table to powers, innermost first.
pub(super) fn raise(gate: Gate, exponents: &[Exponent]) -> Result<PoweredGate, QasmProblem> {
    let mut raised = PoweredGate::Gate(gate, 1);
    for &exponent in exponents {
        raised = match (raised, exponent) {
            (PoweredGate::Gate(gate, 1), Exponent::Integer(k)) => {
                let times = repetitions(gate.kind(), k);
                match gate.power(Q::from_integer(k)) {
                    Some(power) => PoweredGate::Gate(power, times),
                    None if k < 0 => PoweredGate::Gate(gate.dagger(), times),
                    None => PoweredGate::Gate(gate, times),
                }
            }
            (PoweredGate::Gate(gate, 1), Exponent::Real(x)) => fractional(gate, x)?,
            (PoweredGate::Gate(gate, _), Exponent::Open(_)) => {
                return Err(no_power(&gate, exponent, "its exponent has no value"));
            }
            (PoweredGate::Gate(gate, times), _) => {
                let refuse = |reason| no_power(&gate, exponent, reason);
                let m =
                    principal_power(&numbers(&gate, exponent)?, times as f64).map_err(refuse)?;
                PoweredGate::Matrix(principal_power(&m, exponent.value()).map_err(refuse)?)
            }
            (PoweredGate::Matrix(m), _) => {
                let (gate, exponent) = ("the matrix of a power".to_owned(), exponent.value());
                let refuse = |reason| QasmProblem::Power { gate, exponent, reason };
                PoweredGate::Matrix(principal_power(&m, exponent).map_err(refuse)?)
            }
        };
    }
    Ok(raised)
}

const NO_SPECTRUM: &str = "its eigenvalues were not found";

fn no_power(gate: &Gate, exponent: Exponent, reason: &'static str) -> QasmProblem {
    QasmProblem::Power { gate: gate.kind().name().to_owned(), exponent: exponent.value(), reason }
}

/// Returns the matrix of a gate without parameters.
fn numbers(gate: &Gate, exponent: Exponent) -> Result<Matrix<Complex<f64>>, QasmProblem> {
    gate.matrix(&Values::<f64>(&[])).map_err(|_| {
        no_power(gate, exponent, "only rotations keep their parameters under a fractional power")
    })
}

/// Returns a power that is not an integer.
fn fractional(gate: Gate, x: RealConstant) -> Result<PoweredGate, QasmProblem> {
    use GateKind::*;
    let phase = |numerator: i64, denominator: i64| {
        let angle = match x.exact() {
            Some(q) => Angle::pi(numerator, denominator) * q,
            // Small numbers: exact as f64.
            None => times(&Angle::pi(numerator, denominator), x),
        };
        one(P, [angle])
    };
    match (gate.kind(), x.exact().map(|q| (*q.numer(), *q.denom()))) {
        (I, _) => return Ok(PoweredGate::Gate(gate, 1)),
        (Z, _) => return phase(1, 1),
        (S, _) => return phase(1, 2),
        (SDG, _) => return phase(-1, 2),
        (T, _) => return phase(1, 4),
        (TDG, _) => return phase(-1, 4),
        (X, Some((1, 2))) => return one(SX, []),
        (X, Some((-1, 2))) => return one(SXDG, []),
        _ => {}
    }
    if let Some(generator) = gate.kind().generator() {
        let Some(gate) = within_turn(&gate, generator) else {
            let exponent = Exponent::Real(x);
            let power = principal_power(&numbers(&gate, exponent)?, x.value);
            return power
                .map(PoweredGate::Matrix)
                .map_err(|reason| no_power(&gate, exponent, reason));
        };
        return match (x.exact(), gate.params().iter().all(Angle::is_constant)) {
            (Some(q), _) => Ok(PoweredGate::Gate(gate.power(q).unwrap_or(gate), 1)),
            (None, true) => Ok(PoweredGate::Gate(gate.map_params(|angle| times(angle, x)), 1)),
            (None, false) => {
                let reason = "with parameters the exponent must have at most 12 digits";
                Err(no_power(&gate, Exponent::Real(x), reason))
            }
        };
    }
    let exponent = Exponent::Real(x);
    let power = principal_power(&numbers(&gate, exponent)?, x.value);
    power.map(PoweredGate::Matrix).map_err(|reason| no_power(&gate, exponent, reason))
}

/// Reduces a rotation or phase by [`within_turn`]; a gate without parameters is not changed.
pub(super) fn principal(gate: Gate) -> Option<Gate> {
    match gate.kind().generator() {
        Some(generator) => within_turn(&gate, generator),
        None => Some(gate),
    }
}

/// Reduces the angle of a rotation or a phase, so that its eigenvalues are `e^{i a}`, a from above
/// -pi to pi; an angle with parameters is not changed. Returns `None` if both signs of a rotation
/// are at the border, where it is -1, or the turns are too many to be counted.
fn within_turn(gate: &Gate, generator: Generator) -> Option<Gate> {
    let half = match generator {
        Generator::Pauli(_) => 2,
        Generator::Projector => 1,
    };
    let turn = 2.0 * half as f64 * PI;
    let Some(angle) = gate.params().first().and_then(Angle::constant) else {
        return Some(gate.clone());
    };
    // The border belongs to the positive side.
    let turns = ((angle / turn) - 0.5 - CUT).ceil();
    let rest = angle - turns * turn;
    if turns.abs() >= ALL_WHOLE || half == 2 && (rest.abs() - half as f64 * PI).abs() < CUT {
        return None;
    }
    // Below 2^53.
    let turns = turns as i64;
    let back = turns.checked_mul(half)?.checked_mul(-2)?;
    Some(gate.map_params(|angle| angle.clone() + Angle::pi(back, 1)))
}

/// A constant angle times a number.
fn times(angle: &Angle, x: RealConstant) -> Angle {
    let product = Rounded::angle(angle, &[]).times(x.rounded());
    Angle::rounded(product.value, product.error)
}

fn one<const N: usize>(kind: GateKind, params: [Angle; N]) -> Result<PoweredGate, QasmProblem> {
    let gate =
        Gate::new(kind, params).map_err(|e| QasmProblem::Circuit { reason: e.to_string() })?;
    Ok(PoweredGate::Gate(gate, 1))
}

/// Returns `U^x` for a unitary matrix, by its eigenvectors; an error gives the reason if there is
/// none. O(8^k).
pub(super) fn principal_power(
    u: &Matrix<Complex<f64>>,
    x: f64,
) -> Result<Matrix<Complex<f64>>, &'static str> {
    // Phases of eigenvalues are known to 1e-16, and multiplied.
    const MOST: f64 = (1u32 << 20) as f64;
    if x.is_nan() || x.abs() > MOST {
        return Err("a matrix has no precise power with an exponent above 2^20");
    }
    let dim = u.dim();
    let UnitaryEigen { vectors: q, values } =
        eigenvectors(DMatrix::from_fn(dim, dim, |i, j| u[(i, j)])).ok_or(NO_SPECTRUM)?;
    let phases = values.iter().map(|value| {
        let a = value.arg();
        Complex::cis(x * if a < CUT - PI { PI } else { a })
    });
    let phases: Vec<Complex<f64>> = phases.collect();
    Ok(Matrix::from_fn(u.n_qubits(), |i, j| {
        (0..dim).map(|k| q[(i, k)] * phases[k] * q[(j, k)].conj()).sum::<Complex<f64>>()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(kind: GateKind) -> Matrix<Complex<f64>> {
        Gate::new(kind, []).unwrap().matrix(&Values::<f64>(&[])).unwrap()
    }

    #[test]
    fn the_square_root_of_x_is_sx() {
        let root = principal_power(&matrix(GateKind::X), 0.5).unwrap();
        for (a, b) in root.entries().iter().zip(matrix(GateKind::SX).entries()) {
            assert!((a - b).norm() < 1e-14);
        }
    }
}
