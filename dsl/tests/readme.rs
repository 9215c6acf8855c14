//! The example of the README compiles, runs, and stands there as it does here.

use ketgrad::{Simulator, circuit, core::scalar::Uncertain};
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
    for line in ["    ctrl(!0) h 2;       // where", "    cx 0, 1..;", "    param theta;", "    qubits 3;"] {
        assert!(readme.contains(line), "{line}");
    }
    Ok(())
}
