//! Synthesis of any unitary on two qubits with the fewest CX.
//!
//! The canonical form (KAK decomposition) `U = e^{i phase} A e^{i (x XX + y YY + z ZZ)} B` with
//! gates A and B of single qubits is brought to the Weyl chamber `pi/4 >= x >= z >= |y|`:
//! `e^{i pi/2 XX} = i XX`, a Pauli gate on one qubit flips the signs of two angles, and Clifford
//! gates on both exchange two. The rest takes
//!
//! ```text
//! 0 CX   x = y = z = 0
//! 1 CX   x = pi/4, y = z = 0      H on c, CX, and gates of single qubits
//! 2 CX   y = 0                    CX (e^{i x X} on c, e^{i z Z} on t) CX
//! 3 CX   else                     ─[S]─⊕────────────●─[RZ(pi/2 - 2z)]─⊕──────
//!                                 ─────●─[RY(2y - pi/2)]─⊕─[RY(pi/2 - 2x)]─●─[S†]─
//! ```
//! Sources: Vatan and Williams, "Optimal quantum circuits for general two-qubit gates" (2004);
//! Shende, Bullock and Markov, "Recognizing small-circuit structure in two-qubit operators" (2004).

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4};

use super::synthesis::{SynthesisGate, single};
use crate::{
    gate::GateKind,
    matrix::{
        canonical::{CanonicalFactors, split},
        small::{M2, M4, SmallComplex, dagger, multiply2},
    },
};

/// Angles of the canonical form below this are rounding errors.
const NO_ANGLE: f64 = 5e-14;

/// Halvings of an interval until only neighbouring numbers are left.
const MOST_HALVINGS: usize = 64;

const O: SmallComplex = SmallComplex::new(0.0, 0.0);
const ONE: SmallComplex = SmallComplex::new(1.0, 0.0);
const I: SmallComplex = SmallComplex::new(0.0, 1.0);
const R: SmallComplex = SmallComplex::new(FRAC_1_SQRT_2, 0.0);

const IDENTITY: M2 = [ONE, O, O, ONE];
/// X, Y and Z.
const PAULIS: [M2; 3] = [
    [O, ONE, ONE, O],
    [O, SmallComplex::new(0.0, -1.0), I, O],
    [ONE, O, O, SmallComplex::new(-1.0, 0.0)],
];
const H: M2 = [R, R, R, SmallComplex::new(-FRAC_1_SQRT_2, 0.0)];
const S: M2 = [ONE, O, O, I];
/// `e^{-i pi/4 X}`.
const V: M2 =
    [R, SmallComplex::new(0.0, -FRAC_1_SQRT_2), SmallComplex::new(0.0, -FRAC_1_SQRT_2), R];

/// `e^{i phase} (after[1] (x) after[0]) e^{i (x XX + y YY + z ZZ)} (before[1] (x) before[0])`.
pub(super) struct KakDecomposition {
    phase: f64,
    /// x, y and z, with pi/4 >= x >= z >= |y|.
    angles: [f64; 3],
    before: [M2; 2],
    after: [M2; 2],
}

impl KakDecomposition {
    /// Returns the form of a unitary matrix; `None` if it is not unitary.
    pub(super) fn new(u: &M4) -> Option<KakDecomposition> {
        let (factored, after) = split(u);
        let CanonicalFactors { phase, angles, before } = CanonicalFactors::new(&factored)?;
        let mut pair = KakDecomposition { phase, angles, before, after };
        pair.normalize();
        Some(pair)
    }

    fn normalize(&mut self) {
        for (angle, pauli) in self.angles.iter_mut().zip(&PAULIS) {
            let turns = (*angle / FRAC_PI_2).round();
            *angle -= turns * FRAC_PI_2;
            self.phase += turns * FRAC_PI_2;
            if turns.rem_euclid(2.0) == 1.0 {
                self.before.iter_mut().for_each(|gate| *gate = multiply2(pauli, gate));
            }
        }
        let size = |pair: &KakDecomposition, k: usize| pair.angles[k].abs();
        for (larger, smaller, gate) in [(2, 1, V), (0, 2, H), (2, 1, V)] {
            if size(self, larger) < size(self, smaller) {
                self.angles.swap(larger, smaller);
                self.turn(&[gate, gate]);
            }
        }
        let kept = match (self.angles[0] < 0.0, self.angles[2] < 0.0) {
            (false, false) => return,
            (false, true) => 0,
            (true, true) => 1,
            (true, false) => 2,
        };
        (0..3).filter(|axis| *axis != kept).for_each(|axis| self.angles[axis] *= -1.0);
        self.turn(&[PAULIS[kept], IDENTITY]);
    }

    /// Inserts gates and their inverses around the middle, which the caller has conjugated by them.
    fn turn(&mut self, gates: &[M2; 2]) {
        for (k, gate) in gates.iter().enumerate() {
            self.after[k] = multiply2(&self.after[k], gate);
            self.before[k] = multiply2(&dagger(gate), &self.before[k]);
        }
    }

    /// Returns the number of CX gates that it takes.
    pub(super) fn n_cx(&self) -> usize {
        let [x, y, z] = self.angles;
        match (x < NO_ANGLE, y.abs() < NO_ANGLE, z < NO_ANGLE) {
            (true, ..) => 0,
            (_, true, true) if FRAC_PI_4 - x < NO_ANGLE => 1,
            (_, true, _) => 2,
            _ => 3,
        }
    }

    /// The gates, on qubit 0 and qubit 1.
    pub(super) fn steps(&self, out: &mut Vec<SynthesisGate>) {
        let [x, y, z] = self.angles;
        let cx = |control, target| (GateKind::X, Vec::new(), Some(control), Some(target));
        let rotation = |kind, angle, qubit| (kind, vec![angle], None, Some(qubit));
        let (mut first, mut last, mut phase) = (self.before, self.after, self.phase);
        let (middle, own) = match self.n_cx() {
            0 => {
                last = std::array::from_fn(|k| multiply2(&last[k], &first[k]));
                first = [IDENTITY; 2];
                (Vec::new(), 0.0)
            }
            1 => {
                first[0] = multiply2(&H, &first[0]);
                // e^{i pi/4 Z} and e^{i pi/4 X}
                let root = [SmallComplex::cis(FRAC_PI_4), O, O, SmallComplex::cis(-FRAC_PI_4)];
                last[0] = multiply2(&last[0], &multiply2(&H, &root));
                last[1] = multiply2(&last[1], &dagger(&V));
                (vec![cx(0, 1)], -FRAC_PI_4)
            }
            2 => {
                let (on_control, on_target) =
                    (rotation(GateKind::RX, -2.0 * x, 0), rotation(GateKind::RZ, -2.0 * z, 1));
                let turns = z >= NO_ANGLE;
                let rotations = std::iter::once(on_control).chain(turns.then_some(on_target));
                (std::iter::once(cx(0, 1)).chain(rotations).chain([cx(0, 1)]).collect(), 0.0)
            }
            _ => {
                first[0] = multiply2(&S, &first[0]);
                last[1] = multiply2(&last[1], &dagger(&S));
                let middle = vec![
                    cx(1, 0),
                    rotation(GateKind::RY, 2.0 * y - FRAC_PI_2, 1),
                    cx(0, 1),
                    rotation(GateKind::RZ, FRAC_PI_2 - 2.0 * z, 0),
                    rotation(GateKind::RY, FRAC_PI_2 - 2.0 * x, 1),
                    cx(1, 0),
                ];
                (middle, FRAC_PI_4)
            }
        };
        phase += own;
        last[0] = last[0].map(|entry| entry * SmallComplex::cis(phase));
        first.iter().enumerate().for_each(|(qubit, gate)| single(out, gate, qubit));
        out.extend(middle);
        last.iter().enumerate().for_each(|(qubit, gate)| single(out, gate, qubit));
    }
}

/// Returns a unitary V that takes two CX, and the diagonal of D, with `u = D V`,
/// `D = e^{i psi ZZ}`.
///
/// A unitary of determinant 1 takes two CX where the trace of `V Y V^T Y`, with `Y = YY`, is real:
/// that is `4 cos 2x cos 2y cos 2z + 4i sin 2x sin 2y sin 2z`. For `D^dagger u` its imaginary part
/// is a sine of `2 psi`. Where all angles are small, that sine is lost in rounding errors: there
/// its sign by the angles themselves encloses its zero.
pub(super) fn without_diagonal(u: &M4) -> Option<(KakDecomposition, [SmallComplex; 4])> {
    let whole = CanonicalFactors::new(&split(u).0)?;
    // -Y on rows 0 and 3, Y on rows 1 and 2.
    let entry = |i: usize, j: usize| {
        let of = |k: usize, l: usize| u[4 * i + k] * u[4 * j + l];
        (of(1, 2) + of(2, 1) - of(0, 3) - of(3, 0)) * SmallComplex::cis(-2.0 * whole.phase)
    };
    let (a, b) = (-(entry(0, 3) + entry(3, 0)), entry(1, 2) + entry(2, 1));
    let zero = 0.5 * (a.im + b.im).atan2(a.re - b.re);
    let rest = |psi: f64| -> M4 {
        let turned = [
            SmallComplex::cis(-psi),
            SmallComplex::cis(psi),
            SmallComplex::cis(psi),
            SmallComplex::cis(-psi),
        ];
        std::array::from_fn(|at| turned[at / 4] * u[at])
    };
    let found = |psi: f64| {
        let pair = KakDecomposition::new(&rest(psi)).filter(|pair| pair.n_cx() <= 2)?;
        Some((
            pair,
            [
                SmallComplex::cis(psi),
                SmallComplex::cis(-psi),
                SmallComplex::cis(-psi),
                SmallComplex::cis(psi),
            ],
        ))
    };
    let is_positive = |psi: f64| {
        let CanonicalFactors { phase, angles, .. } = CanonicalFactors::new(&split(&rest(psi)).0)?;
        let sines: f64 = angles.iter().map(|angle| (2.0 * angle).sin()).product();
        // The same root of the determinant is taken everywhere.
        Some(sines * (2.0 * (phase - whole.phase)).cos() > 0.0)
    };
    if let Some(found) = found(zero) {
        return Some(found);
    }
    let (mut low, mut high) = (zero - FRAC_PI_4, zero + FRAC_PI_4);
    let sign = is_positive(low)?;
    for _ in 0..MOST_HALVINGS {
        let middle = f64::midpoint(low, high);
        if let Some(found) = found(middle) {
            return Some(found);
        }
        match is_positive(middle)? == sign {
            true => low = middle,
            false => high = middle,
        }
    }
    None
}
