//! Pauli strings with a phase, and their conjugation by Clifford gates: rows of a tableau.
//!
//! Source: S. Aaronson, D. Gottesman, "Improved simulation of stabilizer circuits", Phys. Rev. A
//! 70, 052328 (2004).

use std::ops::Mul;

use super::{Pauli, PauliMasks, PauliPhase};
/// An element of the Pauli group: `i^k P`.
///
/// ```
/// use ketgrad_core::pauli::{PauliMasks, PauliPhase, PhasedPauli};
///
/// let [x, z] = [(1, 0), (0, 1)].map(|(x, z)| PhasedPauli::from(PauliMasks { x, z }));
/// let minus_i_y = PhasedPauli { phase: PauliPhase::MINUS_I, string: PauliMasks { x: 1, z: 1 } };
/// assert_eq!(x * z, minus_i_y);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhasedPauli {
    /// The phase `i^k`; `1` or `-1` if the operator is Hermitian.
    pub phase: PauliPhase,
    /// The string P.
    pub string: PauliMasks,
}

impl From<PauliMasks> for PhasedPauli {
    #[inline]
    fn from(string: PauliMasks) -> PhasedPauli {
        PhasedPauli { phase: PauliPhase::ONE, string }
    }
}

impl Mul for PhasedPauli {
    type Output = PhasedPauli;

    #[inline]
    fn mul(self, other: PhasedPauli) -> PhasedPauli {
        let (phase, string) = self.string.times(other.string);
        PhasedPauli { phase: self.phase * other.phase * phase, string }
    }
}

impl PhasedPauli {
    /// Returns `U P U^dagger` for a Clifford gate U on one qubit.
    ///
    /// ```
    /// use ketgrad_core::pauli::{PauliMasks, PauliPhase, PhasedPauli, SingleQubitClifford};
    ///
    /// // H Y H = -Y
    /// let y = PhasedPauli::from(PauliMasks { x: 1, z: 1 });
    /// let image = y.conjugated_by_single(0, &SingleQubitClifford::H);
    /// assert_eq!(image, PhasedPauli { phase: PauliPhase::MINUS_ONE, ..y });
    /// ```
    #[inline]
    #[must_use]
    pub fn conjugated_by_single(self, qubit: usize, gate: &SingleQubitClifford) -> PhasedPauli {
        let PauliMasks { x, z } = self.string;
        let Some(letter) = self.string.letter(qubit) else { return self };
        let (image, negated) = gate.image(letter);
        let (others, image) = (!(1 << qubit), PauliMasks::single(qubit, image));
        let string = PauliMasks { x: x & others | image.x, z: z & others | image.z };
        PhasedPauli { phase: self.phase * PauliPhase::from_sign(negated), string }
    }

    /// Returns `U P U^dagger` for CX.
    ///
    /// # Panics
    /// If the qubits are the same, or one is beyond the masks.
    #[inline]
    #[must_use]
    pub fn conjugated_by_cx(self, control: usize, target: usize) -> PhasedPauli {
        let PauliMasks { x, z } = self.string;
        assert!(is_pair(control, target), "two different qubits of the masks");
        let [xc, zc, xt, zt] = [x >> control, z >> control, x >> target, z >> target];
        let negated = xc & zt & (xt ^ zc ^ 1) & 1 == 1;
        let string = PauliMasks { x: x ^ (xc & 1) << target, z: z ^ (zt & 1) << control };
        PhasedPauli { phase: self.phase * PauliPhase::from_sign(negated), string }
    }

    /// Returns `U P U^dagger` for CZ.
    ///
    /// # Panics
    /// If the qubits are the same, or one is beyond the masks.
    #[inline]
    #[must_use]
    pub fn conjugated_by_cz(self, a: usize, b: usize) -> PhasedPauli {
        let PauliMasks { x, z } = self.string;
        assert!(is_pair(a, b), "two different qubits of the masks");
        let [xa, za, xb, zb] = [x >> a, z >> a, x >> b, z >> b];
        let negated = xa & xb & (za ^ zb) & 1 == 1;
        let string = PauliMasks { x, z: z ^ ((xb & 1) << a | (xa & 1) << b) };
        PhasedPauli { phase: self.phase * PauliPhase::from_sign(negated), string }
    }
}

/// True for two different qubits of masks.
#[inline]
fn is_pair(a: usize, b: usize) -> bool {
    a != b && a.max(b) < usize::BITS as usize
}

/// A Clifford gate U on one qubit up to a phase, by its action `U P U^dagger` on X, Y and Z.
///
/// ```
/// use ketgrad_core::pauli::{Pauli, SingleQubitClifford};
///
/// assert_eq!(SingleQubitClifford::S.image(Pauli::Y), (Pauli::X, true)); // S Y S^dagger = -X
/// // H S is S first, then H.
/// let product = SingleQubitClifford::H.after(&SingleQubitClifford::S);
/// assert_eq!(product.image(Pauli::X), (Pauli::Y, true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SingleQubitClifford([(Pauli, bool); 3]);

impl SingleQubitClifford {
    /// The identity.
    pub const IDENTITY: SingleQubitClifford =
        SingleQubitClifford([(Pauli::X, false), (Pauli::Y, false), (Pauli::Z, false)]);
    /// The Hadamard gate.
    pub const H: SingleQubitClifford =
        SingleQubitClifford([(Pauli::Z, false), (Pauli::Y, true), (Pauli::X, false)]);
    /// The phase gate, `diag(1, i)`.
    pub const S: SingleQubitClifford =
        SingleQubitClifford([(Pauli::Y, false), (Pauli::X, true), (Pauli::Z, false)]);
    /// The inverse of the phase gate, `diag(1, -i)`.
    pub const SDG: SingleQubitClifford =
        SingleQubitClifford([(Pauli::Y, true), (Pauli::X, false), (Pauli::Z, false)]);

    /// Returns the gate with these images of X, Y and Z, each true if it is negated. They must be
    /// those of a gate.
    #[doc(hidden)]
    pub fn from_images(images: [(Pauli, bool); 3]) -> SingleQubitClifford {
        SingleQubitClifford(images)
    }

    /// The letter of `U P U^dagger`, and true if it is negated.
    #[inline]
    #[must_use]
    pub const fn image(&self, letter: Pauli) -> (Pauli, bool) {
        self.0[letter as usize]
    }

    /// Returns the product `self other`: the gate `other`, then this one.
    #[inline]
    #[must_use]
    pub fn after(&self, other: &SingleQubitClifford) -> SingleQubitClifford {
        SingleQubitClifford(other.0.map(|(letter, negated)| {
            let (image, again) = self.image(letter);
            (image, negated ^ again)
        }))
    }
}
