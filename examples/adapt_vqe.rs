//! A molecule from a file of integrals, and a circuit that grows to its ground state: ADAPT-VQE on
//! four hydrogen atoms, without the qubits that symmetries make superfluous.
//!
//! An excitation `exp(theta (T - T^dagger)) = exp(-i theta/2 G)` that is appended to a state
//! changes its energy at first by `d<H>/dtheta = <i [G/2, H]>`. The one of the largest slope is
//! appended, all angles are optimized, and so on. Source: H. R. Grimsley, S. E. Economou, E.
//! Barnes, N. J. Mayhall, Nat. Commun. 10, 3007 (2019).
//!
//! ```text
//! cargo run -p ketgrad-examples --example adapt_vqe
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::{
    PauliSum, Simulator, ansatz,
    hybrid::Expectation,
    optimize::{Lbfgs, Optimizer, Stopping, minimize},
    problem::{Mapping, Molecule, Tapering},
};

/// The largest slope that is left alone, in hartree.
const FLAT: f64 = 1e-2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let molecule: Molecule = include_str!("jobs/h4.fcidump").parse()?;
    let (n, mapping) = (2 * molecule.n_orbitals(), Mapping::JordanWigner);
    let occupied = molecule.occupied();
    let hamiltonian = molecule.hamiltonian(mapping)?;
    let tapering = Tapering::new(&hamiltonian, n, molecule.reference(mapping)?)?;
    let hamiltonian = tapering.taper(&hamiltonian).ok_or("it keeps its own symmetries")?;
    println!("{} of {n} qubits, {} strings", tapering.n_qubits(), hamiltonian.terms().len());

    let pool = ansatz::excitations_from(n, &occupied, mapping)?;
    let pool: Vec<PauliSum> =
        pool.iter().filter_map(|generator| tapering.taper(generator)).collect();
    let slope = |generator: &PauliSum| generator.scaled(0.5)?.commutator(&hamiltonian);
    let slopes = pool.iter().map(slope).collect::<Result<Vec<_>, _>>()?;
    let ones: Vec<usize> =
        (0..tapering.n_qubits()).filter(|q| tapering.state() >> q & 1 == 1).collect();

    let simulator = Simulator::new();
    let exact = simulator.lowest(&hamiltonian, tapering.n_qubits(), 1)?[0].energy;
    let (mut chosen, mut angles) = (Vec::<PauliSum>::new(), Vec::new());
    loop {
        let circuit = ansatz::exponentials(tapering.n_qubits(), &ones, &chosen)?;
        let state = simulator.run(&circuit, &angles)?;
        let value: f64 = state.expectation(&hamiltonian, &simulator.threads)?;
        println!(
            "{:2} excitations: {value:.6} hartree, {:.1e} above the exact energy",
            chosen.len(),
            value - exact
        );

        let mut steepest = (0, 0.0);
        for (k, slope) in slopes.iter().enumerate() {
            let slope: f64 = state.expectation(slope, &simulator.threads)?;
            if slope.abs() > steepest.1 {
                steepest = (k, slope.abs());
            }
        }
        if steepest.1 < FLAT {
            println!("no slope is above {FLAT}");
            return Ok(());
        }
        chosen.push(pool[steepest.0].clone());
        angles.push(0.0);
        let circuit = ansatz::exponentials(tapering.n_qubits(), &ones, &chosen)?;
        let energy = Expectation::new(circuit, [hamiltonian.clone()])?;
        let optimizer = Optimizer::from(Lbfgs::default());
        (angles, _) = minimize(&energy, &angles, &optimizer, &Stopping::default())?.0.best;
    }
}
