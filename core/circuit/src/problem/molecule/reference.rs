//! Reference determinant that a calculation begins with.
//!
//! Files are not always in the order of the orbitals' energies: where these have symmetries, they
//! are often sorted by them. A determinant that fills the orbitals n of both spins has the energy
//! ```text
//! E = sum_ps n_ps h_pp + 1/2 sum_ps,qu n_ps n_qu [(pp|qq) - (pq|qp) if s = u]        f_ps = h_pp + sum_qu n_qu [...]
//! ```
//! and changes by `f_qs - f_ps - (pp|qq) + (pq|qp)` where an electron of spin s moves from p to q.

use super::{FermionError, Mapping, Molecule};

/// Energies that differ by less than this part of themselves are equal.
const ROUNDING: f64 = 1e-10;

impl Molecule {
    /// Returns the spin orbitals of the reference state, ascending: the Hartree–Fock state if the
    /// orbitals are those of Hartree–Fock, in any order.
    ///
    /// The electrons of each spin fill the first orbitals; then an electron, or one of each spin
    /// together, moves to another orbital as long as that lowers the energy, each time by the move
    /// that lowers it most. O(n^2) for each move.
    #[must_use]
    pub fn occupied(&self) -> Vec<usize> {
        let n = self.n_orbitals;
        let integrals = Diagonals::from_molecule(self);
        let mut filled =
            self.electrons.map(|count| (0..n).map(|k| k < count).collect::<Vec<bool>>());
        // Each move lowers the energy, so the loop ends; this limit is higher than the number of
        // moves of any molecule.
        for _ in 0..4 * n {
            let fields = integrals.fields(&filled);
            // Change of the energy, the spins, and the orbitals before and after.
            let mut best = (0.0, &[][..], 0, 0);
            for spins in [&[0][..], &[1], &[0, 1]] {
                for (p, q) in (0..n).flat_map(|p| (0..n).map(move |q| (p, q))) {
                    if spins.iter().all(|&s| filled[s][p] && !filled[s][q]) {
                        let change = integrals.change(&fields, spins, p, q);
                        if change < best.0 {
                            best = (change, spins, p, q);
                        }
                    }
                }
            }
            // Orbitals of equal energy are not exchanged.
            let size = fields.iter().flatten().fold(1.0, |size: f64, field| size.max(field.abs()));
            let (change, spins, p, q) = best;
            if change >= -ROUNDING * size {
                break;
            }
            spins.iter().for_each(|&s| filled[s].swap(p, q));
        }
        (0..2 * n).filter(|p| filled[p % 2][p / 2]).collect()
    }

    /// The reference state as a basis state of the qubits: [`Molecule::occupied`] under a map.
    ///
    /// # Errors
    /// [`FermionError`] for more spin orbitals than a state can have qubits.
    pub fn reference(&self, mapping: Mapping) -> Result<usize, FermionError> {
        let n_orbitals = super::n_spin_orbitals(self)?;
        mapping.encode(n_orbitals, self.occupied().iter().fold(0, |mask, p| mask | 1 << p))
    }
}

/// The integrals `h_pp`, `(pp|qq)` and `(pq|qp)`.
struct Diagonals {
    one: Vec<f64>,
    coulomb: Vec<f64>,
    exchange: Vec<f64>,
}

impl Diagonals {
    fn from_molecule(molecule: &Molecule) -> Diagonals {
        let n = molecule.n_orbitals;
        let mut all =
            Diagonals { one: vec![0.0; n], coulomb: vec![0.0; n * n], exchange: vec![0.0; n * n] };
        for (&[p, q], &h) in &molecule.one {
            if p == q {
                all.one[usize::from(p)] = h;
            }
        }
        for (&indices, &value) in &molecule.two {
            for [p, q, r, t] in molecule.symmetry.orders(indices) {
                if p == q && r == t {
                    all.coulomb[usize::from(p) * n + usize::from(r)] = value;
                }
                if p == t && q == r {
                    all.exchange[usize::from(p) * n + usize::from(q)] = value;
                }
            }
        }
        all
    }

    /// f for each spin and orbital.
    fn fields(&self, filled: &[Vec<bool>; 2]) -> [Vec<f64>; 2] {
        let n = self.one.len();
        [0, 1].map(|s| {
            let field = |p: usize| {
                (0..n).fold(self.one[p], |field, q| {
                    let coulomb = self.coulomb[p * n + q];
                    let (same, other) = (filled[s][q], filled[1 - s][q]);
                    let field = if other { field + coulomb } else { field };
                    if same { field + coulomb - self.exchange[p * n + q] } else { field }
                })
            };
            (0..n).map(field).collect()
        })
    }

    /// Returns the change of the energy if an electron of each of these spins moves from p to q.
    fn change(&self, fields: &[Vec<f64>; 2], spins: &[usize], p: usize, q: usize) -> f64 {
        let n = self.one.len();
        let coulomb = |p: usize, q: usize| self.coulomb[p * n + q];
        let one =
            |s: &usize| fields[*s][q] - fields[*s][p] - coulomb(p, q) + self.exchange[p * n + q];
        let moves = spins.iter().map(one).sum::<f64>();
        // The second electron meets the first one at q, no longer at p.
        let meeting = if spins.len() == 2 {
            coulomb(p, p) + coulomb(q, q) - 2.0 * coulomb(p, q)
        } else {
            0.0
        };
        moves + meeting
    }
}
