//! Hamiltonians: spin chains, cuts of graphs, small molecules as examples, and any [`Molecule`]
//! from the integrals that quantum chemistry programs write, by way of
//! [operators on fermions](FermionOperator), their [maps to qubits](Mapping) and
//! [qubit tapering](Tapering).
//!
//! ```
//! use ketgrad_core::problem::{self, Graph};
//!
//! assert_eq!(problem::ising(3, 1.0, 0.5, false)?.to_string(), "-Z0 Z1 - Z1 Z2 - 0.5*X0 - 0.5*X1 - 0.5*X2");
//! let triangle: Graph = "0 1\n1 2\n0 2 1.5  # a heavier edge".parse()?;
//! assert_eq!(triangle.largest_cut(), Some((2.5, 0b100)));
//! assert_eq!(problem::h2().terms().len(), 15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each is a [`PauliSum`] whose smallest eigenvalue is searched for.

mod fermion;
mod graph;
mod molecule;
mod tapering;

pub use fermion::{FermionError, FermionOperator, FermionProblem, Ladder, Mapping};
pub use graph::{Graph, GraphError, GraphProblem};
pub use molecule::{Molecule, MoleculeError, MoleculeProblem};
pub use tapering::Tapering;

use crate::observable::{ObservableError, Pauli, PauliSum};

/// The transverse-field Ising chain `-J sum Z_k Z_{k+1} - h sum X_k` of n spins; `periodic` closes
/// it to a ring.
///
/// # Errors
/// [`ObservableError`] for a coefficient that is not finite or more spins than a state can have.
pub fn ising(
    n: usize,
    coupling: f64,
    field: f64,
    periodic: bool,
) -> Result<PauliSum, ObservableError> {
    let mut sum = PauliSum::default();
    for (a, b) in bonds(n, periodic) {
        sum.push(-coupling, [(a, Pauli::Z), (b, Pauli::Z)])?;
    }
    for k in 0..n {
        sum.push(-field, [(k, Pauli::X)])?;
    }
    Ok(sum)
}

/// The Heisenberg chain `sum_k Jx X_k X_{k+1} + Jy Y_k Y_{k+1} + Jz Z_k Z_{k+1}` of n spins, in
/// Pauli operators (four times spin operators); `periodic` closes it to a ring.
///
/// # Errors
/// Those of [`ising`].
pub fn heisenberg(
    n: usize,
    couplings: [f64; 3],
    periodic: bool,
) -> Result<PauliSum, ObservableError> {
    let mut sum = PauliSum::default();
    for (a, b) in bonds(n, periodic) {
        for (pauli, coupling) in [Pauli::X, Pauli::Y, Pauli::Z].into_iter().zip(couplings) {
            sum.push(coupling, [(a, pauli), (b, pauli)])?;
        }
    }
    Ok(sum)
}

/// Minus the weight of a cut, `sum w (Z_a Z_b - 1) / 2` over the edges: vertices with different
/// bits are on different sides.
///
/// # Errors
/// [`ObservableError`] for more vertices than a state can have qubits.
pub fn max_cut(graph: &Graph) -> Result<PauliSum, ObservableError> {
    let mut sum = PauliSum::default();
    for &(a, b, weight) in graph.edges() {
        sum.push(0.5 * weight, [(a, Pauli::Z), (b, Pauli::Z)])?;
    }
    let half = graph.edges().iter().map(|e| 0.5 * e.2).sum::<f64>();
    sum.push(-half, [])?;
    Ok(sum)
}

/// The hydrogen molecule at 0.7414 angstrom in the basis STO-3G, Jordan-Wigner, in hartree: 4
/// qubits, 15 terms, ground energy -1.137270. The file `h2.txt` says where the numbers come from.
#[must_use]
pub fn h2() -> PauliSum {
    terms(include_str!("h2.txt"))
}

/// Lithium hydride at 1.5949 angstrom in the basis STO-3G, 2 electrons in 3 orbitals,
/// Jordan-Wigner, in hartree: 6 qubits, 118 terms, ground energy -7.881146. The file `lih.txt` says
/// where the numbers come from.
#[must_use]
pub fn lih() -> PauliSum {
    terms(include_str!("lih.txt"))
}

/// Returns the terms of a file of this module, one a line; a test reads every line.
fn terms(text: &str) -> PauliSum {
    let mut sum = PauliSum::default();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        sum.extend(line.parse().unwrap_or_default());
    }
    sum
}

/// Neighbours on a chain or, of at least three, on a ring.
fn bonds(n: usize, periodic: bool) -> impl Iterator<Item = (usize, usize)> {
    let last = if periodic && n > 2 { n } else { n.saturating_sub(1) };
    (0..last).map(move |k| (k, (k + 1) % n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observable::PauliString;

    #[test]
    fn every_line_of_a_molecule_is_a_term() {
        for (text, count, sum) in
            [(include_str!("h2.txt"), 15, h2()), (include_str!("lih.txt"), 118, lih())]
        {
            let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
            assert_eq!((lines.len(), sum.terms().len()), (count, count));
            for (line, term) in lines.iter().zip(sum.terms()) {
                assert_eq!(line.parse::<PauliSum>().unwrap().terms(), std::slice::from_ref(term));
            }
            // No string is repeated.
            let mut strings: Vec<&PauliString> = sum.terms().iter().map(|t| &t.1).collect();
            strings.sort();
            assert!(strings.windows(2).all(|w| w[0] != w[1]));
        }
    }

    #[test]
    fn rings_have_a_bond_for_each_spin() {
        assert_eq!(bonds(4, true).collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 3), (3, 0)]);
        assert_eq!(bonds(2, true).collect::<Vec<_>>(), [(0, 1)]);
        assert_eq!(bonds(1, true).count() + bonds(0, true).count(), 0);
    }
}
