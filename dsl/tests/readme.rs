//! The examples of `README.md` and `dsl/README.md` compile, run, and are the same there as here.

use ketgrad::{Simulator, circuit, scalar::Uncertain};
use num_dual::Dual64;

#[test]
fn the_example_of_the_readme() -> Result<(), Box<dyn std::error::Error>> {
    let circuit = circuit! {
        qubits 3;
        param theta;
        ry(theta) 0;
        cx 0, 1..;          // one gate for each of 1 and 2
        ctrl(!0) h 2;       // where qubit 0 is |0>
    }?;

    let simulator = Simulator::new();
    let value = simulator.run(&circuit, &[0.5])?.amplitudes()[0];
    let dual = simulator.run(&circuit, &[Dual64::new(0.5, 1.0)])?.amplitudes()[0];
    let uncertain = simulator.run(&circuit, &[Uncertain::new(0.5, 0.01)])?.amplitudes()[0].clone();
    // cos(theta / 2) / sqrt 2, its derivative, its error.
    let slope = -0.25f64.sin() / 8.0f64.sqrt();
    assert!((value.re - 0.25f64.cos() / 2.0f64.sqrt()).abs() < 1e-15);
    assert!((dual.re.eps - slope).abs() < 1e-15);
    assert!((uncertain.re.sigma() - 0.01 * slope.abs()).abs() < 1e-15);

    let readme = include_str!("../../README.md");
    for line in
        ["    ctrl(!0) h 2;       // where", "    cx 0, 1..;", "    param theta;", "    qubits 3;"]
    {
        assert!(readme.contains(line), "{line}");
    }
    Ok(())
}

#[test]
fn the_variational_example_of_the_page_of_the_crate() -> Result<(), Box<dyn std::error::Error>> {
    use ketgrad::optimize::{Lbfgs, Optimizer, Stopping, minimize};
    use ketgrad::{ansatz, hybrid::Expectation, problem};

    let energy = Expectation::new(ansatz::uccsd(4, 2)?, [problem::h2()])?;
    let (end, _) =
        minimize(&energy, &[0.0; 3], &Optimizer::from(Lbfgs::default()), &Stopping::default())?;
    assert!((end.value + 1.137_270_175).abs() < 1e-8);

    let source = include_str!("readme.rs");
    let page = include_str!("../README.md");
    let starts = ["let energy", "let (end", "    minimize(&energy"];
    for start in starts {
        let line = page.lines().find(|line| line.starts_with(start)).ok_or(start)?;
        assert!(source.contains(line), "{line}");
    }
    Ok(())
}
