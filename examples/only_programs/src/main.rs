//! The gradient of a program with a loop, and of a Rust function that is recorded: without a
//! circuit, by a package that depends on `ketgrad-exec` alone.
//!
//! ```text
//! cargo run -p ketgrad-only-programs
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_exec::{
    exec::{Datum, Derivatives},
    scalar::Scalar,
    text::parse_program,
    trace::{Expr, trace},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Newton's method for a square root, differentiated through its loop: d sqrt(a) / da.
    let source = "fn root(a) { let mut x = a; for _ in 0..20 { x = (x + a / x) / 2; } x }";
    let program = parse_program(source)?;
    let mut root = Derivatives::<f64>::new(&program, "root")?;
    let (value, gradient) = root.value_and_gradient(&[Datum::Real(2.0)])?;
    println!("root(2) = {value}, its derivative {}", gradient[0]);

    let wave = trace("wave", &["x", "k"], |(x, k): (Expr, Expr)| (&x * &k).sin() * (-&x).exp())?;
    let mut wave = Derivatives::<f64>::new(wave.program(), "wave")?;
    let (value, gradient) = wave.value_and_gradient(&[Datum::Real(0.5), Datum::Real(3.0)])?;
    println!("wave(0.5, 3) = {value}, its gradient ({}, {})", gradient[0], gradient[1]);
    Ok(())
}
