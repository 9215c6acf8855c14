//! One circuit, five derivatives: by the adjoint method, on dual numbers, by shifts, by a formula,
//! by differences. On dual numbers nothing is special: the amplitudes are duals, and every kernel
//! runs on them.
//!
//! ```text
//! cargo run -p ketgrad-examples --example dual_check
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::{
    Simulator, circuit,
    hybrid::{Expectation, Method},
    pauli,
};
use num_dual::Dual64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let circuit = circuit! {
        qubits 3;
        param a, b;
        ry(a) ..;
        rzz(a + b) 0, 1;
        ctrl(!0) rx(b / 2) 2;
        cx 1, 2;
        crz(2 * a) 2, 0;
        h ..;
    }?;
    let observable = pauli!(X0 Z1 - 0.5 * Y1 Z2 + 0.25 * Z0)?;
    let at = [0.7, -0.4];

    // By hand: a moves with speed 1, and so does everything that is computed from it.
    let simulator = Simulator::new();
    let state = simulator.run(&circuit, &[Dual64::new(at[0], 1.0), Dual64::from(at[1])])?;
    let value = state.expectation(&observable, &simulator.threads)?;
    println!("duals by hand: value {:.7}, d/da {:.7}", value.re, value.eps);

    let energy = Expectation::new(circuit, [observable])?;
    for method in
        [Method::Adjoint, Method::Forward, Method::Shift, Method::Symbolic, Method::Difference]
    {
        let (value, gradient) = energy.gradient_by(method, &at)?;
        println!("{method}: value {value:.7}, d/da {:.7}, d/db {:.7}", gradient[0], gradient[1]);
    }
    Ok(())
}
