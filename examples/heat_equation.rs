//! A nonlinear heat equation by implicit steps: a Jacobian of two thousand columns from three
//! products.
//!
//! ```text
//! cargo run -p ketgrad-examples --example heat_equation
//! ```
//! `u_t = (k(u) u_x)_x` with `k(u) = 1 + u^2` on a thousand points, 0 at both ends. Each step
//! solves a system by Newton's method. Its Jacobian has three entries in a row, and one for the
//! step before: the pattern is found by watching one run, rows that share no column get one colour,
//! and one product is taken for each colour.
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    exec::{Colouring, Datum, Derivatives, Sparse, inspect::jacobian_pattern},
    text::parse_program,
};

const POINTS: usize = 1000;
const STEPS: usize = 20;

/// Residual of `u - before = dt (k(u) u_x)_x`; `RATIO` is the time step over the square of
/// the distance of points.
const EQUATION: &str = "
fn residual(u: array, before: array) -> array {
    let n = len(u);
    let mut r = u - before;
    for i in 0..n + 1 {
        // What flows from point i - 1 to point i.
        let left = if i > 0 { u[i - 1] } else { 0.0 };
        let right = if i < n { u[i] } else { 0.0 };
        let middle = 0.5 * (left + right);
        let flow = RATIO * (1 + middle * middle) * (left - right);
        if i > 0 { r[i - 1] += flow; }
        if i < n { r[i] -= flow; }
    }
    r
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let h = 1.0 / (POINTS + 1) as f64;
    let source = EQUATION.replace("RATIO", &format!("{:?}", 1e-3 / (h * h)));
    let program = parse_program(&source)?;
    let mut residual = Derivatives::<f64>::new(&program, "residual")?;
    let mut u: Vec<f64> =
        (1..=POINTS).map(|k| (std::f64::consts::PI * k as f64 * h).sin()).collect();
    let data = |u: &[f64]| Datum::reals(u.iter().copied());

    let colouring = Colouring::new(jacobian_pattern(&program, "residual", &[data(&u), data(&u)])?);
    let (entries, columns) = (colouring.pattern().len(), colouring.pattern().columns);
    println!("{entries} entries, {} products instead of {columns}", colouring.products());

    let mut rounds = 0;
    for _ in 0..STEPS {
        let before = data(&u);
        loop {
            let at = [data(&u), before.clone()];
            let r = numbers(residual.value(&at)?);
            let worst = r.iter().fold(0.0f64, |m, r| m.max(r.abs()));
            if worst < 1e-11 {
                break;
            }
            rounds += 1;
            // The columns of u come first, those of the step before are not asked for.
            let step = tridiagonal(&residual.sparse_jacobian(&at, &colouring)?, r);
            u.iter_mut().zip(step).for_each(|(u, d)| *u -= d);
        }
    }
    println!("{STEPS} steps, {rounds} rounds of Newton's method");
    println!("in the middle: {:.6}", u[POINTS / 2]);
    Ok(())
}

/// Solves a tridiagonal system by elimination without exchanges: the diagonal dominates.
fn tridiagonal(a: &Sparse<f64>, mut r: Vec<f64>) -> Vec<f64> {
    let n = r.len();
    let entry = |i: usize, j: usize| a.row(i).find(|(c, _)| *c == j).map_or(0.0, |(_, x)| *x);
    let mut diagonal: Vec<f64> = (0..n).map(|i| entry(i, i)).collect();
    for i in 1..n {
        let factor = entry(i, i - 1) / diagonal[i - 1];
        diagonal[i] -= factor * entry(i - 1, i);
        r[i] -= factor * r[i - 1];
    }
    for i in (0..n).rev() {
        if i + 1 < n {
            r[i] -= entry(i, i + 1) * r[i + 1];
        }
        r[i] /= diagonal[i];
    }
    r
}

fn numbers(d: Datum<f64>) -> Vec<f64> {
    match d {
        Datum::Reals(xs) => xs.to_vec(),
        _ => vec![],
    }
}
