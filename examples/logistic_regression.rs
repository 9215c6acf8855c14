//! Logistic regression by Newton's method: gradient and Hessian of a loss over matrices, and a
//! linear system.
//!
//! ```text
//! cargo run -p ketgrad-examples --example logistic_regression
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    exec::{Datum, Derivatives},
    text::parse_program,
};

/// Hours of preparation and whether an exam was passed; the first column is for the constant term.
const LOSS: &str = "
fn loss(w: array) {
    let x = [[1.0, 0.5], [1.0, 0.75], [1.0, 1.0], [1.0, 1.25], [1.0, 1.5], [1.0, 1.75], [1.0, 1.75], [1.0, 2.0],
        [1.0, 2.25], [1.0, 2.5], [1.0, 2.75], [1.0, 3.0], [1.0, 3.25], [1.0, 3.5], [1.0, 4.0], [1.0, 4.25],
        [1.0, 4.5], [1.0, 4.75], [1.0, 5.0], [1.0, 5.5]];
    let passed = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    let z = matvec(x, w);
    sum(ln_1p(exp(z)) - passed * z)
}
fn step(h: array, g: array) { solve(h, g) }";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = parse_program(LOSS)?;
    let mut loss = Derivatives::<f64>::new(&program, "loss")?;
    let mut step = Derivatives::<f64>::new(&program, "step")?;
    let mut w = vec![0.0, 0.0];
    for round in 0.. {
        let at = [Datum::reals(w.clone())];
        let (value, gradient) = loss.value_and_gradient(&at)?;
        let Some(Datum::Reals(g)) = gradient.first() else { return Err("no gradient".into()) };
        let size = g.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        println!("round {round}: loss {value:.6}, gradient {size:.1e}");
        if size < 1e-10 {
            break;
        }
        let hessian = Datum::reals_of(&[2, 2], loss.hessian(&at)?.concat())?;
        if let Datum::Reals(d) = step.value(&[hessian, gradient[0].clone()])? {
            w.iter_mut().zip(d.iter()).for_each(|(w, d)| *w -= d);
        }
    }
    println!("weights: {:.4} {:.4}", w[0], w[1]);
    println!("2 hours pass with probability {:.2}", 1.0 / (1.0 + (-w[0] - 2.0 * w[1]).exp()));
    Ok(())
}
