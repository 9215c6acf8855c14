//! The ground energy of the hydrogen molecule by a variational circuit, and how it is approached:
//! coupled cluster with singles and doubles, L-BFGS, gradients by the adjoint method. The curve
//! goes to the standard output.
//!
//! ```text
//! cargo run -p ketgrad-examples --example vqe_h2 > h2.svg
//! ```
//!
//! The same by the command line: `ketgrad optimize examples/jobs/h2.toml`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use ketgrad::{
    ansatz, draw,
    hybrid::Expectation,
    optimize::{Lbfgs, Optimizer, Stopping, minimize},
    problem,
};

/// Full configuration interaction in the same basis, in hartree: see
/// `core/circuit/src/problem/h2.txt`.
const EXACT: f64 = -1.137_270_175;
const CHEMICAL_ACCURACY: f64 = 1.6e-3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let energy = Expectation::new(ansatz::uccsd(4, 2)?, [problem::h2()])?;
    let optimizer = Optimizer::from(Lbfgs::default());
    let (end, stop) = minimize(&energy, &[0.0; 3], &optimizer, &Stopping::default())?;

    eprintln!("Hartree-Fock: {:.6} hartree", end.values[0]);
    for (iteration, value) in end.values.iter().enumerate().skip(1) {
        let error = value - EXACT;
        let within =
            if error.abs() < CHEMICAL_ACCURACY { ", within chemical accuracy" } else { "" };
        eprintln!("iteration {iteration}: {value:.6}, {error:.1e} above the exact energy{within}");
    }
    eprintln!("ended because {stop}, after {} gradients", end.evaluations);
    let title = "The hydrogen molecule in the basis STO-3G";
    print!("{}", draw::curve(&end.values, title, "iteration", "energy in hartree"));
    Ok(())
}
