//! Excitations of electrons as sums of Pauli strings.

use num_complex::Complex;

use super::exponentials;
use crate::{
    basis::MAX_QUBITS,
    circuit::{Circuit, CircuitError},
    observable::PauliSum,
    problem::{FermionOperator, Ladder, Mapping},
};

/// [`excitations_from`] the `electrons` lowest of `n` spin orbitals, by Jordan and Wigner.
///
/// # Errors
/// Those of [`excitations_from`].
pub fn excitations(n: usize, electrons: usize) -> Result<Vec<PauliSum>, CircuitError> {
    // What does not fit is refused there, at once.
    let occupied: Vec<usize> = (0..electrons.min(MAX_QUBITS + 1)).collect();
    excitations_from(n, &occupied, Mapping::JordanWigner)
}

/// Returns the generators `G = 2i (T - T^dagger)` of all single excitations `T = a_c^dagger a_a`
/// and double excitations `T = a_c^dagger a_d^dagger a_b a_a` that keep the spin, from `occupied`
/// to the others of `n` spin orbitals. Spin orbital 2k is orbital k with spin up, 2k + 1 with spin
/// down.
///
/// `exp(-i theta/2 G) = exp(theta (T - T^dagger))`. The strings of one G commute. Singles come
/// first; each kind is in the order of `occupied`, then in ascending order.
///
/// # Errors
/// [`CircuitError`] for a spin orbital that is not there or comes twice, or more of these than a
/// state can have qubits.
pub fn excitations_from(
    n: usize,
    occupied: &[usize],
    mapping: Mapping,
) -> Result<Vec<PauliSum>, CircuitError> {
    let n_qubits = n.min(MAX_QUBITS);
    if n > MAX_QUBITS {
        return Err(CircuitError::NoSuchQubit { given: n - 1, n_qubits });
    }
    occupations(n, occupied)?;
    let empty: Vec<usize> = (0..n).filter(|p| !occupied.contains(p)).collect();
    let spin = |orbitals: &[usize]| orbitals.iter().filter(|p| *p % 2 == 1).count();
    let generator = |to: &[usize], from: &[usize]| {
        let create = to.iter().map(|&p| Ladder::Create(p));
        let annihilate = from.iter().rev().map(|&p| Ladder::Annihilate(p));
        let excitation =
            FermionOperator::new([(2.0 * Complex::i(), create.chain(annihilate).collect())]);
        // Every orbital is below n, and a sum with its dagger is Hermitian.
        let excitation = excitation.unwrap_or_default();
        let dagger = excitation.dagger();
        mapping.map(&(excitation + dagger), n).unwrap_or_default()
    };
    let mut all = Vec::new();
    for &a in occupied {
        let to = empty.iter().filter(|c| spin(&[**c]) == spin(&[a]));
        all.extend(to.map(|&c| generator(&[c], &[a])));
    }
    for (i, &a) in occupied.iter().enumerate() {
        for &b in &occupied[i + 1..] {
            for (j, &c) in empty.iter().enumerate() {
                let to = empty[j + 1..].iter().filter(|d| spin(&[c, **d]) == spin(&[a, b]));
                all.extend(to.map(|&d| generator(&[c, d], &[a, b])));
            }
        }
    }
    Ok(all)
}

/// [`uccsd_from`] the lowest spin orbitals, by Jordan and Wigner.
///
/// # Errors
/// Those of [`excitations_from`].
pub fn uccsd(spin_orbitals: usize, electrons: usize) -> Result<Circuit, CircuitError> {
    let generators = excitations(spin_orbitals, electrons)?;
    exponentials(spin_orbitals, &(0..electrons).collect::<Vec<_>>(), &generators)
}

/// Unitary coupled cluster with single and double excitations, as the product of their
/// exponentials: the `occupied` spin orbitals hold an electron each, then come the exponentials of
/// [`excitations_from`] in their order.
///
/// ```
/// use ketgrad_core::{ansatz, hybrid::Expectation, problem::{Mapping, Molecule}};
///
/// // Two sites of the Hubbard model in their molecular orbitals: t = 1, U = 2.
/// let file = "&FCI NORB=2, NELEC=2, /\n 1 1 1 1 1\n 1 2 2 1 1\n 1 2 2 2 2\n 1 2 1 2 1\n -1 1 1 0 0\n 1 2 2 0 0";
/// let (hubbard, mapping): (Molecule, _) = (file.parse()?, Mapping::Parity);
/// let circuit = ansatz::uccsd_from(4, &hubbard.occupied(), mapping)?;
/// let energy = Expectation::new(circuit, [hubbard.hamiltonian(mapping)?])?;
/// assert!((energy.value(&[0.0; 3])? + 1.0f64).abs() < 1e-12); // -2 t + U / 2
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: J. Romero et al., Quantum Sci. Technol. 4, 014008 (2019).
///
/// # Errors
/// Those of [`excitations_from`].
pub fn uccsd_from(
    spin_orbitals: usize,
    occupied: &[usize],
    mapping: Mapping,
) -> Result<Circuit, CircuitError> {
    let generators = excitations_from(spin_orbitals, occupied, mapping)?;
    let state = occupations(spin_orbitals, occupied)?;
    // What could be wrong has been found.
    let state = mapping.encode(spin_orbitals, state).unwrap_or_default();
    let ones: Vec<usize> = (0..spin_orbitals).filter(|q| state >> q & 1 == 1).collect();
    exponentials(spin_orbitals, &ones, &generators)
}

/// Returns the occupied ones of n spin orbitals as a mask.
fn occupations(n_qubits: usize, occupied: &[usize]) -> Result<usize, CircuitError> {
    occupied.iter().try_fold(0usize, |mask, &given| match given {
        _ if given >= n_qubits => Err(CircuitError::NoSuchQubit { given, n_qubits }),
        _ if mask >> given & 1 == 1 => Err(CircuitError::RepeatedQubit { qubit: given as u32 }),
        _ => Ok(mask | 1 << given),
    })
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
    fn more_electrons_than_orbitals_are_refused() {
        assert!(excitations(2, 3).is_err() && excitations(1000, 2).is_err());
        assert_eq!(excitations(2, 2).unwrap(), []);
    }
}
