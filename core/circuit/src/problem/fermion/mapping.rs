//! Maps from fermions to qubits.
//!
//! Each stores the occupations n_0, n_1, … as bits that are parities of some of them, `q = A n`
//! over GF(2). Then `a_j` is known by three sets of qubits: U, which flip with n_j (column j of A);
//! P, whose parity is that of the orbitals before j; F, whose parity is n_j:
//! ```text
//! a_j = X^U Z^P (1 - Z^F) / 2        a_j^dagger = X^U Z^P (1 + Z^F) / 2
//! ```
//! where `X^U` is X on all qubits of U. Products are found with `Z^z X^u = (-1)^{|z & u|} X^u Z^z`,
//! and `X^x Z^z = (-i)^{|x & z|} P` for the Pauli string P with these masks.
//!
//! Source: J. T. Seeley, M. J. Richard, P. J. Love, J. Chem. Phys. 137, 224109 (2012).

use num_complex::Complex;

use super::{CoefficientSums, FermionError, FermionOperator, FermionProblem, Ladder, text};
use crate::{
    basis::{MAX_QUBITS, odd},
    observable::{PauliString, PauliSum},
    pauli::PauliMasks,
};

/// Limit on the orbitals that a product may act on: it is a sum of 2^orbitals strings.
const MOST_ORBITALS: usize = 20;

/// A map from n orbitals to n qubits.
///
/// | map | qubit j holds | strings of a ladder operator act on |
/// |---|---|---|
/// | Jordan–Wigner | the occupation of orbital j | up to n qubits |
/// | parity | the parity of orbitals 0 to j | up to n qubits |
/// | Bravyi–Kitaev | the parity of a block of orbitals that ends with j | O(log n) qubits |
///
/// The blocks of the last are those of a Fenwick tree, `j & (j + 1)` to j, for any n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[expect(missing_docs, reason = "the table says it")]
pub enum Mapping {
    #[default]
    JordanWigner,
    Parity,
    BravyiKitaev,
}

/// The masks of an orbital's ladder operators.
#[derive(Clone, Copy)]
struct Masks {
    /// The qubits that flip.
    update: usize,
    /// Qubits whose parity is that of the orbitals before.
    parity: usize,
    /// Qubits whose parity is the occupation.
    flip: usize,
}

impl Mapping {
    /// All of them.
    pub const ALL: [Mapping; 3] = [Mapping::JordanWigner, Mapping::Parity, Mapping::BravyiKitaev];

    /// The name, such as `jordan_wigner`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mapping::JordanWigner => "jordan_wigner",
            Mapping::Parity => "parity",
            Mapping::BravyiKitaev => "bravyi_kitaev",
        }
    }

    /// The map of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Mapping> {
        Mapping::ALL.into_iter().find(|mapping| mapping.name() == name)
    }

    /// The basis state of n qubits for occupations of n orbitals, one a bit.
    ///
    /// ```
    /// use ketgrad_core::problem::Mapping;
    /// let state = Mapping::Parity.encode(4, 0b0011)?; // orbitals 0 and 1: parities 1, 0, 0, 0
    /// assert_eq!(state, 0b0001);
    /// # Ok::<(), ketgrad_core::problem::FermionError>(())
    /// ```
    ///
    /// # Errors
    /// [`FermionError`] for an orbital beyond the last, or more orbitals than a state can have
    /// qubits.
    pub fn encode(self, n_orbitals: usize, occupations: usize) -> Result<usize, FermionError> {
        check(n_orbitals, occupations.checked_ilog2().map_or(0, |highest| highest as usize + 1))?;
        let occupied = (0..n_orbitals).filter(|j| occupations >> j & 1 == 1);
        Ok(occupied.fold(0, |bits, j| bits ^ self.masks(j, n_orbitals).update))
    }

    /// Returns the occupations of n orbitals, one a bit, for a basis state of n qubits: the inverse
    /// of [`encode`](Mapping::encode).
    ///
    /// ```
    /// use ketgrad_core::problem::Mapping;
    /// assert_eq!(Mapping::Parity.decode(4, 0b0001)?, 0b0011);
    /// # Ok::<(), ketgrad_core::problem::FermionError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Mapping::encode`], for a qubit beyond the last.
    pub fn decode(self, n_orbitals: usize, state: usize) -> Result<usize, FermionError> {
        check(n_orbitals, state.checked_ilog2().map_or(0, |highest| highest as usize + 1))?;
        let occupied = (0..n_orbitals).filter(|j| odd(state & self.masks(*j, n_orbitals).flip));
        Ok(occupied.fold(0, |occupations, j| occupations | 1 << j))
    }

    /// A Hermitian operator on n orbitals as one on n qubits: strings sorted by their masks of X,
    /// then of Z; those whose coefficients cancel to rounding are left out. O(2^l) for a product of
    /// l operators.
    ///
    /// # Errors
    /// [`FermionError`] if the operator is not Hermitian or acts on orbitals beyond the last, for
    /// more orbitals than a state can have qubits, for a product that acts on more than 20, and for
    /// coefficients beyond the largest float.
    pub fn map(
        self,
        operator: &FermionOperator,
        n_orbitals: usize,
    ) -> Result<PauliSum, FermionError> {
        check(n_orbitals, operator.n_orbitals())?;
        let masks: Vec<Masks> = (0..n_orbitals).map(|j| self.masks(j, n_orbitals)).collect();
        let mut sums = CoefficientSums::default();
        for (c, product) in operator.terms() {
            let orbitals = product.iter().fold(0usize, |set, ladder| set | 1 << ladder.orbital());
            let given = orbitals.count_ones() as usize;
            if given > MOST_ORBITALS {
                return Err(FermionProblem::Long { given, limit: MOST_ORBITALS }.into());
            }
            let (x, parts) = expand(*c, product, &masks);
            parts.into_iter().for_each(|(z, c)| sums.add((x, z), c));
        }
        let mut terms = Vec::new();
        for ((x, z), c) in sums.sorted() {
            // The masks are of n qubits.
            let string = PauliString::from_masks(x, z).unwrap_or_default();
            // The sum of zeros takes away the sign of one.
            let turned = PauliMasks { x, z }.y_phase().conj().times(c) + Complex::default();
            let c = super::finite(turned)?;
            if c.im != 0.0 {
                let (string, coefficient) = (string.to_string(), text::coefficient(c));
                return Err(FermionProblem::NotHermitian { string, coefficient }.into());
            }
            terms.push((c.re, string));
        }
        // Every coefficient is finite.
        Ok(PauliSum::new(terms).unwrap_or_default())
    }

    /// The masks of orbital j of n.
    fn masks(self, j: usize, n: usize) -> Masks {
        let below = |j: usize| (1usize << j) - 1;
        match self {
            Mapping::JordanWigner => Masks { update: 1 << j, parity: below(j), flip: 1 << j },
            Mapping::Parity => {
                let before = 1 << j >> 1;
                Masks { update: below(n) & !below(j), parity: before, flip: 1 << j | before }
            }
            Mapping::BravyiKitaev => {
                let above = std::iter::successors(Some(j), |i| Some(i | (i + 1)));
                let update = above.take_while(|i| *i < n).fold(0, |mask, i| mask | 1 << i);
                let (parity, through) = (prefix(j), prefix(j + 1));
                Masks { update, parity, flip: parity ^ through }
            }
        }
    }
}

/// The qubits of a Fenwick tree whose parity is that of the first orbitals.
fn prefix(count: usize) -> usize {
    let blocks = std::iter::successors(Some(count), |i| Some(i & i.wrapping_sub(1)));
    blocks.take_while(|i| *i > 0).fold(0, |mask, i| mask | 1 << (i - 1))
}

/// A product as `X^x sum_z c_z Z^z`.
fn expand(
    c: Complex<f64>,
    product: &[Ladder],
    masks: &[Masks],
) -> (usize, Vec<(usize, Complex<f64>)>) {
    let (mut x, mut parts) = (0, vec![(0, c)]);
    for ladder in product {
        let Masks { update, parity, flip } = masks[ladder.orbital()];
        let second = if matches!(ladder, Ladder::Create(_)) { 0.5 } else { -0.5 };
        x ^= update;
        for k in 0..parts.len() {
            let (z, c) = parts[k];
            let c = if odd(z & update) { -c } else { c };
            parts[k] = (z ^ parity, c * 0.5);
            parts.push((z ^ parity ^ flip, c * second));
        }
        // Repeated orbitals add no masks.
        if parts.len() > 1 << (product.len().min(8) / 2) {
            parts.sort_unstable_by_key(|part| part.0);
            parts.dedup_by(|next, kept| {
                next.0 == kept.0 && {
                    kept.1 += next.1;
                    true
                }
            });
        }
    }
    (x, parts)
}

fn check(n_orbitals: usize, needed: usize) -> Result<(), FermionError> {
    if n_orbitals > MAX_QUBITS {
        return Err(FermionProblem::Orbital { text: (n_orbitals - 1).to_string() }.into());
    }
    if needed > n_orbitals {
        return Err(FermionProblem::NoSuchOrbital { orbital: needed - 1, n_orbitals }.into());
    }
    Ok(())
}
