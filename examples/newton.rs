//! Newton's iteration: a loop that stops when it is close enough, differentiated.
//!
//! ```text
//! cargo run -p ketgrad-examples --example newton
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    exec::{Datum, Derivatives},
    text::parse_program,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let source = "fn root(a) {
        let mut x = a;
        for i in 0..50 {
            let y = 0.5 * (x + a / x);
            let d = y - x;
            x = y;
            if d * d < 1e-24 { break; }
        }
        x
    }";
    let program = parse_program(source)?;
    let mut root = Derivatives::<f64>::new(&program, "root")?;
    // Prepared once: the calls in the loop allocate nothing.
    let mut prepared = root.prepare()?;
    let mut slope = [0.0];
    for a in [1.0, 2.0, 9.0f64] {
        let x = prepared.gradient(&[a], &mut slope)?;
        println!(
            "sqrt({a}) = {x:.12}, slope {:.12}, 1/(2 sqrt) = {:.12}",
            slope[0],
            0.5 / a.sqrt()
        );
    }
    let second = root.hessian(&[Datum::Real(2.0)])?[0][0];
    println!("second derivative at 2: {second:.9}, -1/4 2^(-3/2) = {:.9}", -0.25 * 2f64.powf(-1.5));
    Ok(())
}
