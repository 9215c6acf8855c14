//! Excitations of electrons as sums of Pauli strings.
//!
//! By Jordan and Wigner, spin orbital p is qubit p and `a_p = Z_0 … Z_{p-1} (X_p + i Y_p) / 2`. A product of such
//! operators is a sum of products `X^x Z^z` with masks x and z, and these multiply as
//! `X^x Z^z X^u Z^v = (-1)^{|z & u|} X^{x ^ u} Z^{z ^ v}`.

use std::collections::BTreeMap;

use super::exponentials;
use crate::{
    basis::odd,
    circuit::{Circuit, CircuitError},
    observable::{PauliString, PauliSum},
};

/// A real combination of products `X^x Z^z`, by (x, z).
type Products = BTreeMap<(usize, usize), f64>;

/// The generators `G = 2i (T - T^dagger)` of all single excitations `T = a_c^dagger a_a` and double excitations
/// `T = a_c^dagger a_d^dagger a_b a_a` that keep the spin, from the `electrons` lowest of `n` spin orbitals to the
/// others. Spin orbital 2k is orbital k with spin up, 2k + 1 with spin down.
///
/// `exp(-i theta/2 G) = exp(theta (T - T^dagger))`. The strings of one G commute. Singles come first; each kind is in
/// ascending order.
///
/// # Errors
/// [`CircuitError::NoSuchQubit`] for more electrons than spin orbitals, or more of these than a state can have
/// qubits.
pub fn excitations(n: usize, electrons: usize) -> Result<Vec<PauliSum>, CircuitError> {
    for (given, n_qubits) in [(electrons, n), (n, crate::basis::MAX_QUBITS)] {
        if given > n_qubits {
            return Err(CircuitError::NoSuchQubit { given: given - 1, n_qubits });
        }
    }
    let spin = |orbitals: &[usize]| orbitals.iter().filter(|p| *p % 2 == 1).count();
    let mut all = Vec::new();
    for a in 0..electrons {
        let to = (electrons..n).filter(|c| spin(&[*c]) == spin(&[a]));
        all.extend(to.map(|c| generator(&[(c, true), (a, false)])));
    }
    for a in 0..electrons {
        for b in a + 1..electrons {
            for c in electrons..n {
                let to = (c + 1..n).filter(|d| spin(&[c, *d]) == spin(&[a, b]));
                all.extend(to.map(|d| generator(&[(c, true), (d, true), (b, false), (a, false)])));
            }
        }
    }
    Ok(all)
}

/// Unitary coupled cluster with single and double excitations, as the product of their exponentials: the lowest
/// spin orbitals hold an electron each, then come the exponentials of [`excitations`] in their order.
///
/// Source: J. Romero et al., Quantum Sci. Technol. 4, 014008 (2019).
///
/// # Errors
/// As [`excitations`].
pub fn uccsd(spin_orbitals: usize, electrons: usize) -> Result<Circuit, CircuitError> {
    let generators = excitations(spin_orbitals, electrons)?;
    exponentials(spin_orbitals, &(0..electrons).collect::<Vec<_>>(), &generators)
}

/// `2i (T - T^dagger)` for the product T of operators, each an orbital and whether it creates.
fn generator(operators: &[(usize, bool)]) -> PauliSum {
    let product = |operators: &mut dyn Iterator<Item = (usize, bool)>| {
        operators.fold(Products::from([((0, 0), 1.0)]), |all, (p, creates)| times(&all, &ladder(p, creates)))
    };
    let forward = product(&mut operators.iter().copied());
    let back = product(&mut operators.iter().rev().map(|(p, creates)| (*p, !creates)));
    let mut difference = forward;
    for (masks, c) in back {
        *difference.entry(masks).or_default() -= c;
    }
    // X^x Z^z = (-i)^{#Y} P, and an anti-Hermitian real combination has odd #Y only: 2i (-i)^{#Y} is 2 or -2.
    let term = |((x, z), c): ((usize, usize), f64)| {
        let sign = if (x & z).count_ones() % 4 == 1 { 2.0 } else { -2.0 };
        Some((sign * c, PauliString::from_masks(x, z).ok()?))
    };
    let terms = difference.into_iter().filter(|(_, c)| *c != 0.0).filter_map(term);
    // Every factor is a small number.
    PauliSum::new(terms).unwrap_or_default()
}

/// `a_p` or `a_p^dagger`: `Z_0 … Z_{p-1} X_p (1 -+ Z_p) / 2`.
fn ladder(p: usize, creates: bool) -> Products {
    let below = (1usize << p) - 1;
    let second = if creates { 0.5 } else { -0.5 };
    Products::from([((1 << p, below), 0.5), ((1 << p, below | 1 << p), second)])
}

fn times(left: &Products, right: &Products) -> Products {
    let mut product = Products::new();
    for (&(x, z), c) in left {
        for (&(u, v), d) in right {
            let sign = if odd(z & u) { -1.0 } else { 1.0 };
            *product.entry((x ^ u, z ^ v)).or_default() += sign * c * d;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excitations_are_the_textbook_strings() {
        let text = |sum: &PauliSum| sum.to_string();
        let all = excitations(4, 2).unwrap();
        // a_2^dagger a_0 and a_3^dagger a_1
        assert_eq!(text(&all[0]), "-Y0 Z1 X2 + X0 Z1 Y2");
        assert_eq!(text(&all[1]), "-Y1 Z2 X3 + X1 Z2 Y3");
        assert_eq!((all.len(), all[2].terms().len()), (3, 8));
        assert!(all[2].terms().iter().all(|t| t.0.abs() == 0.25 && t.1.factors().len() == 4));
        // 2 up and 2 down in 4 orbitals each: 8 singles, 2 doubles of one spin and 16 of both.
        assert_eq!(excitations(8, 4).unwrap().len(), 26);
    }

    #[test]
    fn ladder_operators_anticommute() {
        for (p, q) in [(0, 0), (1, 3), (3, 1), (2, 2)] {
            let mut sum = times(&ladder(p, false), &ladder(q, true));
            for (masks, c) in times(&ladder(q, true), &ladder(p, false)) {
                *sum.entry(masks).or_default() += c;
            }
            let expected = if p == q { vec![((0, 0), 1.0)] } else { vec![] };
            assert_eq!(sum.into_iter().filter(|t| t.1 != 0.0).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn more_electrons_than_orbitals_are_refused() {
        assert!(excitations(2, 3).is_err() && excitations(1000, 2).is_err());
        assert_eq!(excitations(2, 2).unwrap(), []);
    }
}
