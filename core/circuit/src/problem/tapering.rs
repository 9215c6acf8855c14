//! Qubit tapering: qubits removed by Z2 symmetries.
//!
//! A product `Z^s` of Z on the qubits s commutes with a sum of Pauli strings if each string flips
//! an even number of these qubits; then the parity of s is conserved. Molecules have such parities
//! under every [map](super::Mapping): those of the electrons of each spin, and of their spatial
//! symmetries. Each makes a qubit q of s redundant. If the parity replaces it,
//! ```text
//! q' = sum of s        X^x -> X^x without q        Z_q -> (-1)^parity Z^s without q
//! ```
//! a permutation of the basis states, so that a basis state stays one. The parities are those of a
//! given state.
//!
//! Source: S. Bravyi, J. M. Gambetta, A. Mezzacapo, K. Temme (2017), arXiv:1701.08213, with
//! permutations in place of their rotations.

use crate::{
    basis::{BasisError, MAX_QUBITS, gather_bits, odd, scatter_bits},
    observable::{PauliString, PauliSum},
    pauli::{PauliMasks, PauliPhase},
};

/// Parities that a Hamiltonian conserves, with the values of a basis state, and the remaining
/// qubits.
///
/// ```
/// use ketgrad_core::problem::{Tapering, h2};
///
/// // Hydrogen with an electron of each spin: a qubit is left of four.
/// let tapering = Tapering::new(&h2(), 4, 0b0011)?;
/// assert_eq!((tapering.parities().len(), tapering.n_qubits(), tapering.state()), (3, 1, 1));
/// let hydrogen = tapering.taper(&h2()).ok_or("it keeps its own symmetries")?;
/// assert_eq!(hydrogen.n_qubits(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tapering {
    /// Masks, each with a qubit of its own, and the parity.
    parities: Vec<ParitySymmetry>,
    /// Remaining qubits, ascending.
    left: Vec<usize>,
    state: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct ParitySymmetry {
    qubits: usize,
    /// Highest qubit of the mask, which is in no other mask.
    own: usize,
    value: bool,
}

impl Tapering {
    /// Returns all parities that a sum on n qubits conserves, with their values in a basis state.
    /// O(n^2) for each set of qubits that strings flip.
    ///
    /// # Errors
    /// [`BasisError`] for more qubits than a state can have, or a sum or a state on others.
    pub fn new(sum: &PauliSum, n_qubits: usize, state: usize) -> Result<Tapering, BasisError> {
        if n_qubits > MAX_QUBITS {
            return Err(BasisError::TooManyQubits { given: n_qubits });
        }
        let highest =
            state.checked_ilog2().map_or(0, |highest| highest as usize + 1).max(sum.n_qubits());
        if highest > n_qubits {
            return Err(BasisError::OutOfRange { given: highest - 1, available: n_qubits });
        }
        // X masks of the strings, in reduced echelon form: the lowest bit of a row is in no other
        // row.
        let mut rows: Vec<usize> = Vec::new();
        for (_, string) in sum.terms() {
            let x = rows
                .iter()
                .fold(string.x_mask(), |x, row| if x & lowest(*row) == 0 { x } else { x ^ row });
            if x != 0 {
                rows.iter_mut().filter(|row| **row & lowest(x) != 0).for_each(|row| *row ^= x);
                rows.push(x);
            }
        }
        // Each of the other qubits with the lowest bits of the rows that flip it: an even number in
        // each row.
        let bound = rows.iter().fold(0, |mask, row| mask | lowest(*row));
        let free = (0..n_qubits).filter(|q| bound >> q & 1 == 0);
        let parities: Vec<ParitySymmetry> = free
            .map(|own| {
                let with = rows.iter().filter(|row| **row >> own & 1 == 1);
                let qubits = with.fold(1 << own, |mask, row| mask | lowest(*row));
                ParitySymmetry { qubits, own, value: odd(state & qubits) }
            })
            .collect();
        let left: Vec<usize> = (0..n_qubits).filter(|q| bound >> q & 1 == 1).collect();
        let state = gather_bits(state, &left);
        Ok(Tapering { parities, left, state })
    }

    /// Returns the number of remaining qubits.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.left.len()
    }

    /// Returns the basis state on the remaining qubits.
    #[must_use]
    pub fn state(&self) -> usize {
        self.state
    }

    /// Returns the basis state on all qubits for one on the remaining qubits: the parities decide
    /// the others.
    #[must_use]
    pub fn untapered(&self, state: usize) -> usize {
        let state = scatter_bits(state, &self.left);
        // No other parity has a parity's own qubit.
        let own = self.parities.iter().filter(|parity| odd(state & parity.qubits) != parity.value);
        own.fold(state, |all, parity| all | 1 << parity.own)
    }

    /// Returns the conserved products of Z, each with true if it is -1.
    #[must_use]
    pub fn parities(&self) -> Vec<(PauliString, bool)> {
        let string = |mask| PauliString::from_masks(0, mask).unwrap_or_default();
        self.parities.iter().map(|parity| (string(parity.qubits), parity.value)).collect()
    }

    /// Returns a sum on the remaining qubits, where the parities are those of the state; equal
    /// strings are collected. Returns `None` if the sum does not conserve them, or if coefficients
    /// are beyond the largest float.
    #[must_use]
    pub fn taper(&self, sum: &PauliSum) -> Option<PauliSum> {
        let mut terms = Vec::new();
        for (c, string) in sum.terms() {
            let (mut phase, mut string) = (PauliPhase::ONE, string.masks());
            for parity in &self.parities {
                let symmetry = PauliMasks { x: 0, z: parity.qubits };
                if !string.commutes(symmetry) {
                    return None;
                }
                if string.z >> parity.own & 1 == 1 {
                    let (sign, product) = string.times(symmetry);
                    phase = phase * sign * PauliPhase::from_sign(parity.value);
                    string = product;
                }
            }
            let [x, z] = [string.x, string.z].map(|mask| gather_bits(mask, &self.left));
            let c = if phase.is_negative() { -c } else { *c };
            terms.push((c, PauliString::from_masks(x, z).ok()?));
        }
        PauliSum::new(terms).ok()?.collected().ok()
    }
}

/// The lowest bit alone.
fn lowest(mask: usize) -> usize {
    mask & mask.wrapping_neg()
}
