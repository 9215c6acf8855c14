//! Source in, derivative source out: as program text, which runs and can be differentiated again,
//! and as Rust.
//!
//! ```text
//! cargo run -p ketgrad-examples --example derivative_source
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    emit::{emit_rust, emit_text},
    exec::{Datum, Derivatives},
    text::parse_program,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let source = "fn power(x, n: int) { let mut p = 1.0; for i in 0..n { p *= x; } p }";
    let program = parse_program(source)?;
    let power = Derivatives::<f64>::new(&program, "power")?;
    let (derived, gradient) = power.derivative()?;

    // A loop's adjoint runs it backwards: an array replaces the tape.
    let text = emit_text(&derived, gradient)?;
    println!("{text}");
    let again = parse_program(&text)?;
    let mut run = Derivatives::<f64>::new(&again, "power_gradient")?;
    println!("power_gradient(3, 4) = {}", run.value(&[Datum::Real(3.0), Datum::Int(4)])?);

    let rust = emit_rust(&derived, &[gradient])?;
    println!("{}", rust.lines().find(|l| l.starts_with("pub fn")).unwrap_or_default());
    Ok(())
}
