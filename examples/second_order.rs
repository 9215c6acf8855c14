//! Second derivatives: a Hessian, and Newton's method for a minimum by Hessian-vector products.
//!
//! ```text
//! cargo run -p ketgrad-examples --example second_order
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    exec::{Datum, Derivatives},
    text::parse_program,
};

/// Rosenbrock's valley: the minimum is at (1, 1).
const VALLEY: &str = "fn valley(x, y) { let a = 1 - x; let b = y - x * x; a * a + 100 * b * b }";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = parse_program(VALLEY)?;
    let mut f = Derivatives::<f64>::new(&program, "valley")?;
    let (mut x, mut y) = (-1.2, 1.0);
    println!("Hessian at the start: {:?}", f.hessian(&[Datum::Real(x), Datum::Real(y)])?);
    for step in 1.. {
        let at = [Datum::Real(x), Datum::Real(y)];
        let g: Vec<f64> = f.gradient(&at)?.iter().filter_map(Datum::real).copied().collect();
        if g[0].hypot(g[1]) < 1e-10 {
            println!("the minimum after {} steps: ({x:.6}, {y:.6})", step - 1);
            break;
        }
        let h = f.hessian(&at)?;
        let determinant = h[0][0] * h[1][1] - h[0][1] * h[1][0];
        x -= (h[1][1] * g[0] - h[0][1] * g[1]) / determinant;
        y -= (h[0][0] * g[1] - h[1][0] * g[0]) / determinant;
    }
    // One product with a direction, without the whole Hessian.
    let along = [Datum::Real(1.0), Datum::Real(0.0)];
    let (_, product) = f.hvp(&[Datum::Real(1.0), Datum::Real(1.0)], &along)?;
    println!("H (1, 0) at the minimum: ({}, {})", product[0], product[1]);
    Ok(())
}
