//! Clifford gates of a plan: recognition of matrices, products, and conjugation of Pauli strings.

use super::matrices::{M2, SmallComplex, multiply2};
use crate::pauli::{Pauli, PhasedPauli, SingleQubitClifford};

/// A Clifford gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Clifford {
    /// Gate on one qubit, with its action on X, Y and Z.
    One { qubit: usize, matrix: M2, action: SingleQubitClifford },
    /// CX.
    Cx { control: usize, target: usize },
    /// CZ.
    Cz(usize, usize),
}

impl Clifford {
    /// Returns the gate on one qubit with this matrix, if it is a Clifford gate up to the
    /// tolerance, and its distance from one. Near the identity only multiples of it are: thousands
    /// of small angles add up.
    pub(super) fn one(qubit: usize, matrix: M2, tolerance: f64) -> Option<(Clifford, f64)> {
        let [a, b, c, d] = matrix;
        // The parts of V P V^dagger along X, Y and Z, for P = X, Y and Z, by its entries 00 and 01.
        let parts = |diagonal: f64, other: SmallComplex| [other.re, -other.im, diagonal];
        let (across, along) = (a * d.conj(), b * c.conj());
        let of_x = parts(2.0 * (a * b.conj()).re, across + along);
        let of_z = parts(a.norm_sqr() - b.norm_sqr(), a * c.conj() - b * d.conj());
        let of_y = parts(2.0 * (a * b.conj()).im, SmallComplex::i() * (along - across));
        let (mut images, mut deviation) = ([(Pauli::X, false); 3], 0.0f64);
        for (image, parts) in images.iter_mut().zip([of_x, of_y, of_z]) {
            // A small angle shows in the parts that vanish, not in the one that is 1.
            let off = |k: usize| {
                (parts[k].abs() - 1.0)
                    .abs()
                    .max(parts[(k + 1) % 3].abs())
                    .max(parts[(k + 2) % 3].abs())
            };
            let at = (0..3).find(|k| off(*k) <= tolerance)?;
            *image = ([Pauli::X, Pauli::Y, Pauli::Z][at], parts[at] < 0.0);
            deviation = deviation.max(off(at));
        }
        let action = SingleQubitClifford::from_images(images);
        let identity = action == SingleQubitClifford::IDENTITY;
        let exact = a == d && [b, c] == [SmallComplex::default(); 2];
        (!identity || exact).then_some((Clifford::One { qubit, matrix, action }, deviation))
    }

    /// Returns the product `self other`, of gates on one qubit, the same.
    pub(super) fn after(&self, other: &Clifford) -> Option<Clifford> {
        let (
            Clifford::One { qubit, matrix: a, action },
            Clifford::One { qubit: same, matrix: b, action: before },
        ) = (self, other)
        else {
            return None;
        };
        let (qubit, is_same, action) = (*qubit, qubit == same, action.after(before));
        is_same.then(|| Clifford::One { qubit, matrix: multiply2(a, b), action })
    }

    /// Returns the qubits along which it moves amplitudes, and those that it only reads.
    pub(super) fn qubits(&self) -> (usize, usize) {
        match *self {
            Clifford::One { qubit, .. } if self.moves() => (1 << qubit, 0),
            Clifford::One { qubit, .. } => (0, 1 << qubit),
            Clifford::Cx { control, target } => (1 << target, 1 << control),
            Clifford::Cz(a, b) => (0, 1 << a | 1 << b),
        }
    }

    /// Returns true if it acts on one qubit and does not map each of X, Z and Y to itself up to a
    /// sign: amplitudes move along the qubit, and a change of the frame is not enough.
    pub(super) fn permutes_paulis(&self) -> bool {
        matches!(self, Clifford::One { action, .. } if action.image(Pauli::Z).0 != Pauli::Z)
    }

    /// Returns the distance from a Pauli gate: 0 if it is one, 1 if it maps Z to itself up to a
    /// sign, 2 otherwise.
    pub(super) fn distance(&self) -> u8 {
        match self {
            Clifford::One { action, .. } if action.image(Pauli::Z).0 == Pauli::Z => {
                u8::from(action.image(Pauli::X).0 != Pauli::X)
            }
            _ => 2,
        }
    }

    /// Returns true if it acts on one qubit and is not diagonal.
    pub(super) fn moves(&self) -> bool {
        matches!(self, Clifford::One { action, .. } if action.image(Pauli::Z) != (Pauli::Z, false))
    }

    /// Returns the angle of the phase that it is, if it is nothing else.
    pub(super) fn phase(&self) -> Option<f64> {
        match self {
            Clifford::One { matrix, action: SingleQubitClifford::IDENTITY, .. } => {
                Some(matrix[0].arg())
            }
            _ => None,
        }
    }

    /// Returns `V P V^dagger`.
    pub(super) fn conjugate(&self, pauli: PhasedPauli) -> PhasedPauli {
        match self {
            Clifford::One { qubit, action, .. } => pauli.conjugated_by_single(*qubit, action),
            Clifford::Cx { control, target } => pauli.conjugated_by_cx(*control, *target),
            Clifford::Cz(a, b) => pauli.conjugated_by_cz(*a, *b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pauli::{PauliMasks, PauliPhase},
        plan::lower::matrices::{M4, multiply4, widen},
    };

    const TOLERANCE: f64 = 1e-15;

    fn real(m: [f64; 4]) -> M2 {
        m.map(|x| SmallComplex::new(x, 0.0))
    }

    fn h() -> M2 {
        real([1.0, 1.0, 1.0, -1.0].map(|x| x * 0.5f64.sqrt()))
    }

    fn s() -> M2 {
        [
            SmallComplex::new(1.0, 0.0),
            SmallComplex::default(),
            SmallComplex::default(),
            SmallComplex::new(0.0, 1.0),
        ]
    }

    /// Returns a string on two qubits as a matrix.
    fn matrix(PhasedPauli { phase, string: PauliMasks { x, z } }: PhasedPauli) -> M4 {
        std::array::from_fn(|at| {
            let (row, column) = (at / 4, at % 4);
            let turns = phase.exponent() + (x & z).count_ones() + 2 * (z & column).count_ones();
            if row ^ column == x { SmallComplex::i().powu(turns) } else { SmallComplex::default() }
        })
    }

    fn gate(clifford: &Clifford) -> M4 {
        let permuted = |to: fn(usize) -> usize, sign: fn(usize) -> f64| -> M4 {
            std::array::from_fn(|at| {
                let (row, column) = (at / 4, at % 4);
                SmallComplex::new(if row == to(column) { sign(column) } else { 0.0 }, 0.0)
            })
        };
        match clifford {
            Clifford::One { qubit, matrix, .. } => widen(matrix, *qubit),
            Clifford::Cx { control: 0, .. } => permuted(|j| j ^ (j & 1) << 1, |_| 1.0),
            Clifford::Cx { .. } => permuted(|j| j ^ j >> 1, |_| 1.0),
            Clifford::Cz(..) => permuted(|j| j, |j| if j == 3 { -1.0 } else { 1.0 }),
        }
    }

    #[test]
    fn strings_become_what_matrices_say() {
        // All Clifford gates of one qubit are products of H and S.
        let mut all: Vec<M2> = vec![real([1.0, 0.0, 0.0, 1.0])];
        for k in 0..24 * 8 {
            let next = multiply2(&[h(), s()][k % 2], &all[k / 2]);
            all.push(next);
        }
        // The identity is one where it has no rounding errors.
        let is_one =
            |u: &M2| u[1] + u[2] == SmallComplex::default() && (u[0] - u[3]).norm() < TOLERANCE;
        let ones =
            all.iter().filter(|u| !is_one(u) || u[0] == u[3]).flat_map(|u| [(0, *u), (1, *u)]);
        let ones =
            ones.map(|(q, u)| Clifford::one(q, u, TOLERANCE * 16.0).expect("a Clifford gate").0);
        let mut gates: Vec<Clifford> = ones.collect();
        gates.extend([
            Clifford::Cx { control: 0, target: 1 },
            Clifford::Cx { control: 1, target: 0 },
        ]);
        gates.push(Clifford::Cz(0, 1));
        for clifford in &gates {
            let v = gate(clifford);
            let inverse: M4 = std::array::from_fn(|at| v[4 * (at % 4) + at / 4].conj());
            for at in 0..32 {
                let string = PauliMasks { x: at & 3, z: at >> 2 & 3 };
                let pauli = PhasedPauli { phase: PauliPhase::from_sign(at >> 4 == 1), string };
                let expected = multiply4(&multiply4(&v, &matrix(pauli)), &inverse);
                let got = matrix(clifford.conjugate(pauli));
                let off =
                    expected.iter().zip(&got).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
                assert!(off < 1e-13, "{clifford:?} {pauli:?}: off by {off:e}");
            }
        }
    }

    #[test]
    fn other_gates_are_none() {
        let t = [
            SmallComplex::new(1.0, 0.0),
            SmallComplex::default(),
            SmallComplex::default(),
            SmallComplex::cis(std::f64::consts::FRAC_PI_4),
        ];
        assert_eq!(Clifford::one(0, t, 1e-14), None);
        assert_eq!(Clifford::one(0, real([1.0, 0.0, 0.0, 0.0]), 1e-14), None);
        assert_eq!(Clifford::one(0, real([f64::NAN; 4]), 1e-14), None);
        let (sin, cos) = 1e-9f64.sin_cos();
        assert_eq!(Clifford::one(0, real([cos, -sin, sin, cos]), 1e-14), None);
    }
}
