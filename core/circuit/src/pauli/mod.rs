//! Pauli strings in symplectic form, their products, and their conjugation by Clifford gates.
//!
//! A string on up to 64 qubits is two masks, [`PauliMasks`]. Qubit q is bit q of each, so that
//! qubit 0 is the lowest bit, as in basis states, and the last letter of a word such as `XIZ`. A
//! qubit in x alone has X, in z alone Z, in both Y:
//!
//! ```text
//! P = i^{|x & z|} X^x Z^z        P |j> = i^{|x & z|} (-1)^{|j & z|} |j ^ x>
//! ```
//! where |m| is the number of bits of m. Products and conjugations give phases [`PauliPhase`] to
//! strings; a string with one is a [`PhasedPauli`]. Strings on any qubits of circuits, sorted lists
//! of letters, are [`PauliString`](crate::observable::PauliString)s.
//!
//! ```
//! use ketgrad_core::pauli::{PauliMasks, PauliPhase};
//!
//! // (X0 Z1) (Y0) = i Z0 Z1
//! let (a, b) = (PauliMasks { x: 0b01, z: 0b10 }, PauliMasks { x: 0b01, z: 0b01 });
//! assert_eq!(a.times(b), (PauliPhase::I, PauliMasks { x: 0, z: 0b11 }));
//! assert!(!a.commutes(b));
//! ```
//!
//! Source: J. Dehaene, B. De Moor, "Clifford group, stabilizer states, and linear and quadratic
//! operations over GF(2)", Phys. Rev. A 68, 042318 (2003).

mod phase;
mod tableau;

pub use phase::PauliPhase;
pub use tableau::{PhasedPauli, SingleQubitClifford};

use crate::basis::{MAX_QUBITS, odd};

/// A Pauli operator on one qubit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Pauli {
    X,
    Y,
    Z,
}

/// A Pauli string, `i^{|x & z|} X^x Z^z`; the identity by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PauliMasks {
    /// Qubits with X or Y, whose bits are flipped.
    pub x: usize,
    /// Qubits with Z or Y, whose bits give a sign.
    pub z: usize,
}

impl PauliMasks {
    /// Returns the string of one operator on a qubit of the masks.
    #[inline]
    pub(crate) fn single(qubit: usize, letter: Pauli) -> PauliMasks {
        PauliMasks {
            x: usize::from(letter != Pauli::Z) << qubit,
            z: usize::from(letter != Pauli::X) << qubit,
        }
    }

    /// The qubits that it acts on, as a mask.
    #[inline]
    #[must_use]
    pub const fn support(self) -> usize {
        self.x | self.z
    }

    /// The number of qubits that it acts on.
    #[inline]
    #[must_use]
    pub const fn weight(self) -> u32 {
        self.support().count_ones()
    }

    /// The operator on a qubit; `None` for the identity, also of qubits beyond the masks.
    #[inline]
    #[must_use]
    pub fn letter(self, qubit: usize) -> Option<Pauli> {
        let bit = |mask: usize| qubit < usize::BITS as usize && mask >> qubit & 1 == 1;
        match (bit(self.x), bit(self.z)) {
            (true, false) => Some(Pauli::X),
            (true, true) => Some(Pauli::Y),
            (false, true) => Some(Pauli::Z),
            (false, false) => None,
        }
    }

    /// The phase `i^{|x & z|}` by which the string differs from `X^x Z^z`: a factor i for each Y.
    #[inline]
    #[must_use]
    pub const fn y_phase(self) -> PauliPhase {
        PauliPhase::from_exponent((self.x & self.z).count_ones())
    }

    /// The entry in column j of its matrix, `<j ^ x| P |j>`; all others are zero.
    #[inline]
    #[must_use]
    pub const fn entry(self, j: usize) -> PauliPhase {
        PauliPhase::from_exponent((self.x & self.z).count_ones() + 2 * (self.z & j).count_ones())
    }

    /// Returns the product `self other` as a phase and a string. O(1).
    #[inline]
    #[must_use]
    pub fn times(self, other: PauliMasks) -> (PauliPhase, PauliMasks) {
        // X^x Z^z X^u Z^v = (-1)^{|z & u|} X^{x ^ u} Z^{z ^ v}
        let product = PauliMasks { x: self.x ^ other.x, z: self.z ^ other.z };
        let sign = PauliPhase::from_sign(odd(self.z & other.x));
        (self.y_phase() * other.y_phase() * sign * product.y_phase().conj(), product)
    }

    /// True if the strings commute; two strings that do not commute anticommute. O(1).
    #[inline]
    #[must_use]
    pub fn commutes(self, other: PauliMasks) -> bool {
        !odd((self.x & other.z) ^ (self.z & other.x))
    }
}

/// Returns the product of operators on different qubits. Qubits that no state can have
/// ([`MAX_QUBITS`]) are left out.
impl FromIterator<(usize, Pauli)> for PauliMasks {
    fn from_iter<I: IntoIterator<Item = (usize, Pauli)>>(letters: I) -> PauliMasks {
        let letters = letters.into_iter().filter(|(qubit, _)| *qubit < MAX_QUBITS);
        letters.fold(PauliMasks::default(), |PauliMasks { x, z }, (qubit, letter)| {
            let single = PauliMasks::single(qubit, letter);
            PauliMasks { x: x | single.x, z: z | single.z }
        })
    }
}
