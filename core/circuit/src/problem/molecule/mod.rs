//! Electrons in orbitals, by their integrals: molecules from files of quantum chemistry programs.
//!
//! ```text
//! H = E + sum_{pq,s} h_pq a_ps^dagger a_qs + 1/2 sum_{pqrt,su} (pq|rt) a_ps^dagger a_ru^dagger a_tu a_qs
//! ```
//! with spins s and u, the constant E (the repulsion of the nuclei and the energy of frozen
//! electrons), the one-electron integrals h and the two-electron integrals (pq|rt) in chemists'
//! order. Of real orbitals eight are equal, `(pq|rt) = (qp|rt) = (rt|pq)`. Of complex orbitals with
//! an angular momentum along the axis of an atom or a linear molecule, whose integrals are real
//! too, four are, `(pq|rt) = (qp|tr) = (rt|pq)`. Energies are in hartree. Orbitals are counted from
//! 0; spin orbital 2k is orbital k with spin up, 2k + 1 with spin down.
//!
//! ```
//! use ketgrad_core::problem::{Mapping, Molecule};
//!
//! // Two sites of the Hubbard model: t = 1, U = 2, two electrons.
//! let file = " &FCI NORB=2, NELEC=2, MS2=0, ORBSYM=1,1, &END
//!    2.0  1 1 1 1
//!    2.0  2 2 2 2
//!   -1.0  2 1 0 0
//!    0.0  0 0 0 0";
//! let hubbard: Molecule = file.parse()?;
//! assert_eq!((hubbard.n_orbitals(), hubbard.n_electrons(), hubbard.ms2()), (2, 2, 0));
//! let hamiltonian = hubbard.hamiltonian(Mapping::JordanWigner)?;
//! assert_eq!(hamiltonian.n_qubits(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
};

use super::fermion::{FermionError, FermionOperator, FermionProblem, Ladder, Mapping};
use crate::{
    basis::{MAX_QUBITS, odd},
    observable::{PauliString, PauliSum},
    pauli::PauliMasks,
};

mod fcidump;
mod reference;

/// Electrons in orbitals: the integrals of a Hamiltonian, and the number of electrons of each spin.
///
/// As text it is an FCIDUMP, the file that PySCF, Molpro, Psi4 and others write (P. J. Knowles, N.
/// C. Handy, Comput. Phys. Commun. 54, 75 (1989)): a header `&FCI NORB=…, NELEC=…, MS2=…, … &END`
/// (or `/`), then a line `value i j k l` for each integral, with orbitals counted from 1:
/// `(ij|kl)`; `h_ij` where k and l are 0; the energy of orbital i, which is passed over, where the
/// rest is 0; the constant where all are. Integrals that are equal by symmetry may come once or
/// again.
///
/// A header with angular momenta along an axis, `SYMLZ=0,-1,1,…`, is that of complex orbitals if
/// every integral conserves them, `m_i + m_k = m_j + m_l`: then four integrals are equal, not
/// eight. Those of real orbitals do not conserve them, such as `(xy|xy)` of two orbitals of a
/// shell: there the momenta are labels for a later transformation.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Molecule {
    n_orbitals: usize,
    /// Electrons with spin up, and down.
    electrons: [usize; 2],
    constant: f64,
    /// One-electron integrals by p >= q.
    one: BTreeMap<[u16; 2], f64>,
    /// Two-electron integrals by the orbitals that [`IntegralSymmetry::canonical`] returns.
    two: BTreeMap<[u16; 4], f64>,
    symmetry: IntegralSymmetry,
}

/// Symmetry of the two-electron integrals: those that are equal.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
enum IntegralSymmetry {
    /// Of real orbitals: `(pq|rt) = (qp|rt) = (rt|pq)`.
    #[default]
    Eightfold,
    /// Of complex orbitals with real integrals: `(pq|rt) = (qp|tr) = (rt|pq)`.
    Fourfold,
}

impl IntegralSymmetry {
    /// Returns the one of the equal integrals that is stored, `(pq|rt)`.
    fn canonical(self, [p, q]: [u16; 2], [r, t]: [u16; 2]) -> [u16; 4] {
        match self {
            IntegralSymmetry::Eightfold => {
                let (left, right) = (descending([p, q]), descending([r, t]));
                let ([p, q], [r, t]) = (left.max(right), left.min(right));
                [p, q, r, t]
            }
            IntegralSymmetry::Fourfold => {
                [p, q, r, t].max([r, t, p, q]).max([q, p, t, r]).max([t, r, q, p])
            }
        }
    }

    /// The orbitals of the equal integrals, each once.
    fn orders(self, [p, q, r, t]: [u16; 4]) -> impl Iterator<Item = [u16; 4]> {
        let turned = match self {
            IntegralSymmetry::Eightfold => [q, p, r, t],
            IntegralSymmetry::Fourfold => [p, q, r, t],
        };
        let mut all = [[0; 4]; 8];
        for (k, [p, q, r, t]) in [[p, q, r, t], turned].into_iter().enumerate() {
            all[4 * k..][..4].copy_from_slice(&[
                [p, q, r, t],
                [q, p, t, r],
                [r, t, p, q],
                [t, r, q, p],
            ]);
        }
        all.sort_unstable();
        (0..8).filter(move |&k| k == 0 || all[k - 1] != all[k]).map(move |k| all[k])
    }
}

impl Molecule {
    /// The number of spatial orbitals.
    #[must_use]
    pub fn n_orbitals(&self) -> usize {
        self.n_orbitals
    }

    /// The number of electrons.
    #[must_use]
    pub fn n_electrons(&self) -> usize {
        self.electrons[0] + self.electrons[1]
    }

    /// The electrons with spin up minus those with spin down, `2 M_S`.
    #[must_use]
    pub fn ms2(&self) -> isize {
        self.electrons[0] as isize - self.electrons[1] as isize
    }

    /// Returns the energy that does not depend on the state of the electrons.
    #[must_use]
    pub fn constant(&self) -> f64 {
        self.constant
    }

    /// Returns the electrons in an active space: each orbital of `frozen` holds two electrons,
    /// which become part of the constant and of the one-electron integrals; those of `active` are
    /// kept, in the order given; all others are left empty.
    /// ```text
    /// E' = E + sum_i 2 h_ii + sum_ij [2 (ii|jj) - (ij|ji)]        h'_pq = h_pq + sum_i [2 (pq|ii) - (pi|iq)]
    /// ```
    ///
    /// # Errors
    /// [`MoleculeError`] for an orbital that does not exist or is repeated, or for electrons that
    /// do not fit.
    pub fn active_space(
        &self,
        frozen: &[usize],
        active: &[usize],
    ) -> Result<Molecule, MoleculeError> {
        let mut seen = BTreeSet::new();
        for &orbital in frozen.iter().chain(active) {
            if orbital >= self.n_orbitals {
                let n_orbitals = self.n_orbitals;
                return Err(MoleculeProblem::NoSuchOrbital { orbital, n_orbitals }.into());
            }
            if !seen.insert(orbital) {
                return Err(MoleculeProblem::Repeated { orbital }.into());
            }
        }
        let is_frozen: BTreeSet<u16> = frozen.iter().map(|&i| i as u16).collect();
        let places: HashMap<u16, u16> =
            active.iter().zip(0..).map(|(&old, new)| (old as u16, new)).collect();
        let pair = |p, q| Some([*places.get(&p)?, *places.get(&q)?]);

        let [up, down] = self.electrons;
        let left = up.checked_sub(frozen.len()).zip(down.checked_sub(frozen.len()));
        let Some((up, down)) = left else {
            return Err(MoleculeProblem::Frozen {
                frozen: frozen.len(),
                electrons: self.electrons,
            }
            .into());
        };
        let mut kept = Molecule::without_integrals(active.len(), [up, down])?;
        (kept.constant, kept.symmetry) = (self.constant, self.symmetry);
        for (&[p, q], &h) in &self.one {
            if let Some(at) = pair(p, q) {
                *kept.one.entry(descending(at)).or_default() += h;
            } else if p == q && is_frozen.contains(&p) {
                kept.constant += 2.0 * h;
            }
        }
        for (&indices, &value) in &self.two {
            for [p, q, r, t] in self.symmetry.orders(indices) {
                let full = |i, j| i == j && is_frozen.contains(&i);
                match (pair(p, q), pair(r, t)) {
                    (Some(left), Some(right)) => {
                        kept.two.insert(self.symmetry.canonical(left, right), value);
                    }
                    (Some(at), None) if full(r, t) && at[0] >= at[1] => {
                        *kept.one.entry(at).or_default() += 2.0 * value;
                    }
                    (None, None) if full(p, q) && full(r, t) => kept.constant += 2.0 * value,
                    _ => {}
                }
                // (pi|iq)
                match pair(p, t) {
                    Some(at) if full(q, r) && at[0] >= at[1] => {
                        *kept.one.entry(at).or_default() -= value
                    }
                    None if full(q, r) && full(p, t) => kept.constant -= value,
                    _ => {}
                }
            }
        }
        Ok(kept)
    }

    /// The Hamiltonian as an operator on the spin orbitals, constant included: O(n^4) terms for n
    /// orbitals.
    ///
    /// # Errors
    /// [`FermionError`] for more spin orbitals than a state can have qubits, or a constant beyond
    /// the largest float.
    pub fn fermions(&self) -> Result<FermionOperator, FermionError> {
        n_spin_orbitals(self)?;
        let mut sum = FermionOperator::default();
        sum.push(self.constant, [])?;
        let spin = |p: u16, s: usize| 2 * usize::from(p) + s;
        for (&[p, q], &h) in &self.one {
            for [p, q] in BTreeSet::from([[p, q], [q, p]]) {
                for s in 0..2 {
                    sum.push(h, [Ladder::Create(spin(p, s)), Ladder::Annihilate(spin(q, s))])?;
                }
            }
        }
        for (&indices, &value) in &self.two {
            for [p, q, r, t] in self.symmetry.orders(indices) {
                for (s, u) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let [to, other_to, other, from] =
                        [spin(p, s), spin(r, u), spin(t, u), spin(q, s)];
                    // a_p a_p = 0
                    if to != other_to && other != from {
                        let create = [Ladder::Create(to), Ladder::Create(other_to)];
                        let annihilate = [Ladder::Annihilate(other), Ladder::Annihilate(from)];
                        sum.push(0.5 * value, create.into_iter().chain(annihilate))?;
                    }
                }
            }
        }
        Ok(sum)
    }

    /// The Hamiltonian on two qubits for each orbital. 12 orbitals with all integrals take less
    /// than a second.
    ///
    /// # Errors
    /// Those of [`Molecule::fermions`].
    pub fn hamiltonian(&self, mapping: Mapping) -> Result<PauliSum, FermionError> {
        mapping.map(&self.fermions()?, 2 * self.n_orbitals)
    }

    /// Returns true if the occupied spin orbitals, one a bit, hold the numbers of electrons of each
    /// spin that the molecule has.
    #[must_use]
    pub fn holds(&self, occupations: usize) -> bool {
        let up = usize::MAX / 3;
        [occupations & up, occupations & !up].map(|of| of.count_ones() as usize) == self.electrons
    }

    /// Returns a weight of [`Molecule::penalty`] that is enough for the lowest level to be that of
    /// the molecule's electrons. It is the energy of the [reference state](Molecule::occupied), an
    /// upper bound of that level, minus a lower bound of all levels: the constant of the
    /// Hamiltonian on qubits minus the moduli of its other coefficients. Often a much smaller
    /// weight is enough.
    ///
    /// # Errors
    /// Those of [`Molecule::fermions`].
    pub fn sufficient_penalty(&self) -> Result<f64, FermionError> {
        let mapping = Mapping::JordanWigner;
        let (hamiltonian, state) = (self.hamiltonian(mapping)?, self.reference(mapping)?);
        let others =
            hamiltonian.terms().iter().filter(|(_, string)| *string != PauliString::default());
        // In the reference state a product of Z is 1 or -1, and all else 0. The constant cancels.
        let above = others.map(|(c, string)| match string.masks() {
            PauliMasks { x: 0, z } if odd(state & z) => c.abs() - c,
            PauliMasks { x: 0, .. } => c.abs() + c,
            _ => c.abs(),
        });
        Ok(above.sum())
    }

    /// Returns the operator `weight ((N_up - n_up)^2 + (N_down - n_down)^2)` for the n_up and
    /// n_down electrons of the molecule: it is zero on states with these numbers, and at least the
    /// weight elsewhere. It is added for an ansatz that does not conserve the numbers. The lowest
    /// level of the sum is that of these electrons, not that of an ion, if the weight is more than
    /// the difference of these levels: [`Molecule::sufficient_penalty`] is always enough.
    ///
    /// # Errors
    /// Those of [`Molecule::fermions`], or for a weight that is not finite.
    pub fn penalty(&self, weight: f64) -> Result<FermionOperator, FermionError> {
        let mut sum = FermionOperator::default();
        for (spin, &electrons) in self.electrons.iter().enumerate() {
            let mut off = FermionOperator::default();
            for p in (0..self.n_orbitals).map(|k| 2 * k + spin) {
                off.push(1.0, [Ladder::Create(p), Ladder::Annihilate(p)])?;
            }
            off.push(-(electrons as f64), [])?;
            sum = sum + off.times(&off)?.scaled(weight)?;
        }
        Ok(sum)
    }

    /// Returns a molecule without any integrals.
    fn without_integrals(
        n_orbitals: usize,
        electrons: [usize; 2],
    ) -> Result<Molecule, MoleculeProblem> {
        if electrons.iter().any(|count| *count > n_orbitals) {
            return Err(MoleculeProblem::Electrons { electrons, n_orbitals });
        }
        Ok(Molecule { n_orbitals, electrons, ..Molecule::default() })
    }
}

fn descending([p, q]: [u16; 2]) -> [u16; 2] {
    [p.max(q), p.min(q)]
}

/// Returns the number of spin orbitals; an error if there are more than a state can have qubits.
fn n_spin_orbitals(molecule: &Molecule) -> Result<usize, FermionError> {
    let n_orbitals = 2 * molecule.n_orbitals;
    if n_orbitals > MAX_QUBITS {
        return Err(FermionProblem::Orbital { text: (n_orbitals - 1).to_string() }.into());
    }
    Ok(n_orbitals)
}

/// Error of a molecule, with the line of its text.
#[derive(Clone, Debug, PartialEq)]
pub struct MoleculeError {
    /// The line, counted from 1, if it came from text.
    pub line: Option<usize>,
    /// Cause of the error.
    pub problem: MoleculeProblem,
}

impl From<MoleculeProblem> for MoleculeError {
    fn from(problem: MoleculeProblem) -> MoleculeError {
        MoleculeError { line: None, problem }
    }
}

/// Cause of an error of a molecule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MoleculeProblem {
    /// A text that does not begin as an FCIDUMP.
    #[error("expected an FCIDUMP, which begins with `&FCI`, found {found}")]
    Beginning {
        /// Text that was found.
        found: String,
    },
    /// A header without an end.
    #[error("the header does not end: expected `&END` or `/`")]
    Unfinished,
    /// A header without a number that it needs.
    #[error("the header does not say {key}")]
    Missing {
        /// Its key.
        key: &'static str,
    },
    /// A value of the header.
    #[error("{key}: expected {expected}, found {found}")]
    Header {
        /// Its key.
        key: String,
        /// Texts that are valid there.
        expected: String,
        /// Text that was found.
        found: String,
    },
    /// A kind of file that is not read.
    #[error(
        "{what} are not supported: the integrals must be real, of orbitals that both spins share; {way}"
    )]
    Unsupported {
        /// Content of the file.
        what: &'static str,
        /// The way to a file that is read.
        way: &'static str,
    },
    /// Integrals that are inconsistent with the angular momenta of the header.
    #[error(
        "the angular momenta along the axis (SYMLZ) are not those of the orbitals: complex ones conserve them, which the \
         integral in line {complex} does not, and real ones have even numbers of negative ones, other than in line {real}; \
         without SYMLZ the orbitals are read as real ones"
    )]
    Momenta {
        /// The line of the first integral that is not one of complex orbitals.
        complex: usize,
        /// The line of the first integral that is not one of real orbitals.
        real: usize,
    },
    /// An integral on the line where the header ends, which other programs skip.
    #[error(
        "`{found}` comes after the end of the header on its line, which is not read: an integral has a line of its own"
    )]
    OnHeader {
        /// The rest of the line.
        found: String,
    },
    /// A line that is not an integral.
    #[error("expected a value and four orbitals, such as `0.5 1 1 2 2`, found `{found}`")]
    Syntax {
        /// The line.
        found: String,
    },
    /// A value that is not a finite number.
    #[error("the value {text} is not a finite number")]
    Value {
        /// Its text.
        text: String,
    },
    /// Zeros at the wrong places.
    #[error(
        "no integral has the orbitals {found}: of i j k l, zero are none, k and l, all but i, or all"
    )]
    Orbitals {
        /// Text that was found.
        found: String,
    },
    /// An integral that was given before with another value.
    #[error("it was {first} before: {equal}")]
    Contradiction {
        /// The value given before.
        first: f64,
        /// The integrals that are equal.
        equal: &'static str,
    },
    /// An orbital of a file beyond the last.
    #[error("orbital {orbital} does not exist: NORB is {n_orbitals}")]
    BeyondLast {
        /// The orbital, counted from 1.
        orbital: String,
        /// Number of orbitals.
        n_orbitals: usize,
    },
    /// An orbital of an active space beyond the last.
    #[error("orbital {orbital} does not exist: there are {n_orbitals}, counted from 0")]
    NoSuchOrbital {
        /// The orbital, counted from 0.
        orbital: usize,
        /// Number of orbitals.
        n_orbitals: usize,
    },
    /// A repeated orbital in an active space.
    #[error("orbital {orbital} comes twice")]
    Repeated {
        /// The orbital, counted from 0.
        orbital: usize,
    },
    /// More frozen electrons than the molecule has.
    #[error("{frozen} frozen orbitals hold an electron of each spin: there are {} and {}", electrons[0], electrons[1])]
    Frozen {
        /// The number of frozen orbitals.
        frozen: usize,
        /// The electrons with spin up, and down.
        electrons: [usize; 2],
    },
    /// More electrons than the orbitals hold.
    #[error("{} electrons with spin up and {} with spin down do not fit into {n_orbitals} orbitals", electrons[0], electrons[1])]
    Electrons {
        /// The electrons with spin up, and down.
        electrons: [usize; 2],
        /// Number of orbitals.
        n_orbitals: usize,
    },
}

impl fmt::Display for MoleculeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        self.problem.fmt(f)
    }
}
impl std::error::Error for MoleculeError {}
