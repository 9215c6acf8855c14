//! Classification of operators for a plan: Clifford gates, rotations about Pauli strings, or
//! neither.

use num_complex::Complex;

use super::{
    clifford::Clifford,
    matrices::{M2, SmallComplex},
};
use crate::{
    kernel::{Operator, OperatorShape, SimdFloat},
    pauli::{PauliMasks, PhasedPauli},
    scalar::Ring,
};

/// Kind of an entry, as far as commutation with other entries needs it.
#[derive(Clone, Copy, Debug)]
pub(super) enum EntryKind {
    Clifford(Clifford),
    /// `e^{i phase} e^{-i angle/2 P}`.
    Rotation {
        pauli: PhasedPauli,
        angle: f64,
        phase: f64,
    },
    /// The inner product of this number.
    Probe {
        number: usize,
        pauli: PhasedPauli,
    },
    /// Anything else that was given.
    Other,
}

/// Largest distance of an operator from the gate that it is recognized as, in eps of its numbers.
const TOLERANCE: f64 = 4.0;

impl EntryKind {
    /// Classifies an operator (as a Clifford gate only if `clifford` allows it), and returns its
    /// distance from that gate.
    pub(super) fn classify<E: SimdFloat>(
        operator: &Operator<Complex<E>>,
        clifford: bool,
    ) -> (EntryKind, f64) {
        let other = (EntryKind::Other, 0.0);
        EntryKind::recognize(operator, clifford).unwrap_or(other)
    }

    fn recognize<E: SimdFloat>(
        operator: &Operator<Complex<E>>,
        clifford: bool,
    ) -> Option<(EntryKind, f64)> {
        let tolerance = TOLERANCE * Into::<f64>::into(E::EPSILON);
        let fixed = operator.fixed();
        if let Some((qubit, matrix)) = on_one(operator) {
            if clifford && let Some((gate, off)) = Clifford::one(qubit, matrix, tolerance) {
                return Some((EntryKind::Clifford(gate), off));
            }
            let diagonal =
                matches!(operator.shape(), OperatorShape::Phase(_) | OperatorShape::Diagonal(_));
            return match diagonal {
                true => PhasedRotation::from_parity(1 << qubit, matrix[0], matrix[3], tolerance)
                    .map(PhasedRotation::entry),
                false => None,
            };
        }
        let (value, shape) = (operator.value(), operator.shape());
        match (shape, fixed.count_ones()) {
            (OperatorShape::Phase(f), 2) if clifford && value == fixed => {
                let off = (wide(f) + 1.0).norm();
                let a = fixed.trailing_zeros() as usize;
                let gate = Clifford::Cz(a, (fixed & !(1 << a)).trailing_zeros() as usize);
                (off <= tolerance).then_some((EntryKind::Clifford(gate), off))
            }
            (&OperatorShape::Swap(a, b), 2) if clifford && (a ^ b).is_power_of_two() => {
                let (target, control) = (a ^ b, fixed & !(a ^ b));
                let gate = Clifford::Cx {
                    control: control.trailing_zeros() as usize,
                    target: target.trailing_zeros() as usize,
                };
                ((value | a) & control != 0).then_some((EntryKind::Clifford(gate), 0.0))
            }
            (OperatorShape::Diagonal(factors), 2) if factors.len() == 4 => {
                let at = |j: usize| factors.iter().find(|f| f.0 == j).map(|f| wide(&f.1));
                let a = fixed & fixed.wrapping_neg();
                let (even, odd) = (at(0)?, at(a)?);
                let parity = at(fixed) == Some(even) && at(fixed & !a) == Some(odd);
                PhasedRotation::from_parity(fixed, even, odd, tolerance)
                    .filter(|_| parity)
                    .map(PhasedRotation::entry)
            }
            (OperatorShape::Dense { matrix, offsets }, 2) => {
                exchange(matrix, offsets, tolerance).map(PhasedRotation::entry)
            }
            _ => None,
        }
    }
}

/// `e^{i phase} e^{-i angle/2 P}`.
#[derive(Clone, Copy)]
pub(super) struct PhasedRotation {
    pub(super) string: PauliMasks,
    pub(super) angle: f64,
    pub(super) phase: f64,
    /// Distance of the operator from it.
    pub(super) deviation: f64,
}

impl PhasedRotation {
    pub(super) fn kind(&self) -> EntryKind {
        EntryKind::Rotation { pauli: self.string.into(), angle: self.angle, phase: self.phase }
    }

    fn entry(self) -> (EntryKind, f64) {
        (self.kind(), self.deviation)
    }

    /// Returns `a + b P` for a string P, if it is a rotation up to the tolerance.
    fn from_sum(
        string: PauliMasks,
        a: SmallComplex,
        b: SmallComplex,
        tolerance: f64,
    ) -> Option<PhasedRotation> {
        // a = e^{i phase} cos, b = -i e^{i phase} sin. The larger of the two tells the phase: the
        // argument of the other one may be noise. No phase where the angle can say it.
        let sine = b * SmallComplex::new(0.0, 1.0);
        let phase = match a.norm_sqr() >= b.norm_sqr() {
            true if a.im == 0.0 => 0.0,
            false if sine.im == 0.0 => 0.0,
            true => a.arg(),
            false => sine.arg(),
        };
        let turned = SmallComplex::cis(-phase);
        let (sin, cos) = (sine * turned, a * turned);
        let angle = 2.0 * sin.re.atan2(cos.re);
        // What is left out are imaginary parts, and what the norm is off.
        let norm = (sin.re.hypot(cos.re) - 1.0).abs();
        let deviation = norm + sin.im.abs().max(cos.im.abs());
        (deviation <= tolerance).then_some(PhasedRotation { string, angle, phase, deviation })
    }

    /// Returns the factors of even and odd parity of the bits in z, if they are a rotation up to
    /// the tolerance.
    fn from_parity(
        z: usize,
        even: SmallComplex,
        odd: SmallComplex,
        tolerance: f64,
    ) -> Option<PhasedRotation> {
        // Both are of modulus 1, so that their arguments are known.
        let angle = if odd == even.conj() { 2.0 * odd.arg() } else { (odd * even.conj()).arg() };
        let phase = if odd == even.conj() { 0.0 } else { even.arg() + 0.5 * angle };
        let deviation = (even.norm() - 1.0).abs().max((odd.norm() - 1.0).abs());
        let string = PauliMasks { x: 0, z };
        (deviation <= tolerance).then_some(PhasedRotation { string, angle, phase, deviation })
    }
}

/// Returns an operator about a Pauli string as a rotation, and the qubits that control it; if it is
/// one, and no wider than may be.
pub(super) fn string<E: SimdFloat>(
    operator: &Operator<Complex<E>>,
    widest: usize,
) -> Option<(PhasedRotation, usize)> {
    let tolerance = TOLERANCE * Into::<f64>::into(E::EPSILON);
    match operator.shape() {
        OperatorShape::Parity { z, factors: [even, odd] } => {
            let turned = PhasedRotation::from_parity(*z, wide(even), wide(odd), tolerance)?;
            Some((turned, operator.fixed() & !z))
        }
        &OperatorShape::PauliString { x, z, ref diagonal, ref off_diagonal }
            if x.count_ones() as usize <= widest =>
        {
            // W = i^{-|x & z|} P
            let string = PauliMasks { x, z };
            let b = string.y_phase().conj().times(wide(off_diagonal));
            let turned = PhasedRotation::from_sum(string, wide(diagonal), b, tolerance)?;
            Some((turned, operator.fixed() & !string.support()))
        }
        _ => None,
    }
}

/// Returns `a + b P` with P one of XX, YY, XY, YX, as RXX and RYY are.
fn exchange<E: SimdFloat>(
    matrix: &[Complex<E>],
    offsets: &[usize],
    tolerance: f64,
) -> Option<PhasedRotation> {
    let (&[_, low, high, both], &[a, .., _]) = (offsets, matrix) else { return None };
    let at = |row: usize, column: usize| matrix[4 * row + column];
    let b = at(3, 0);
    let elsewhere = |k: &usize| k / 4 != k % 4 && (k / 4) ^ (k % 4) != 3;
    if (1..4).any(|j| at(j, j) != a)
        || (0..16).filter(elsewhere).any(|k| !matrix[k].is_exact_zero())
    {
        return None;
    }
    // P|j> = i^|z| (-1)^{z.j} |3 - j>
    let sign = |j: usize| match at(3 ^ j, j) {
        entry if entry == b => Some(0),
        entry if entry == -b => Some(1),
        _ => None,
    };
    let (first, second) = (sign(1)?, sign(2)?);
    if sign(3)? != first ^ second {
        return None;
    }
    let string = PauliMasks { x: both, z: (first * low) | (second * high) };
    let b = string.y_phase().conj().times(wide(&b));
    PhasedRotation::from_sum(string, wide(&a), b, tolerance)
}

/// Returns the qubit and the matrix of an operator on one qubit without controls.
pub(super) fn on_one<E: SimdFloat>(operator: &Operator<Complex<E>>) -> Option<(usize, M2)> {
    let (fixed, value) = (operator.fixed(), operator.value());
    if !fixed.is_power_of_two() {
        return None;
    }
    let (one, zero) = (SmallComplex::new(1.0, 0.0), SmallComplex::default());
    let mut u = [one, zero, zero, one];
    match operator.shape() {
        OperatorShape::Identity => {}
        OperatorShape::Phase(factor) => u[if value == 0 { 0 } else { 3 }] = wide(factor),
        OperatorShape::Diagonal(factors) => {
            factors.iter().for_each(|(at, factor)| u[if *at == 0 { 0 } else { 3 }] = wide(factor));
        }
        OperatorShape::Swap(..) => u = [zero, one, one, zero],
        OperatorShape::Cycles(cycles) => {
            // One cycle of two, or two of one.
            for cycle in cycles {
                for (k, (from, factor)) in cycle.iter().enumerate() {
                    let (to, _) = cycle[(k + 1) % cycle.len()];
                    let (row, column) = (usize::from(to != 0), usize::from(*from != 0));
                    if cycle.len() == 2 {
                        u[3 * column] = zero;
                    }
                    u[2 * row + column] = wide(factor);
                }
            }
        }
        OperatorShape::Dense { matrix, offsets } if offsets.len() == 2 => {
            u.iter_mut().zip(matrix).for_each(|(to, from)| *to = wide(from));
        }
        OperatorShape::Dense { .. }
        | OperatorShape::Parity { .. }
        | OperatorShape::PauliString { .. } => return None,
    }
    Some((fixed.trailing_zeros() as usize, u))
}

fn wide<E: SimdFloat>(z: &Complex<E>) -> SmallComplex {
    Complex::new(z.re.into(), z.im.into())
}
