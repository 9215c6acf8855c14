//! Rates of a predator-prey model fitted to counts: a loop of Runge-Kutta steps, differentiated,
//! and Gauss-Newton steps.
//!
//! ```text
//! cargo run -p ketgrad-examples --example lotka_volterra
//! ```
//! Prey x and predators y follow `x' = a x - b x y`, `y' = d x y - c y`. Counts at forty times are
//! given with some noise; wanted are the four rates and both numbers at the start.
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    exec::{Datum, Derivatives, DeriveError},
    text::parse_program,
};

const MODEL: &str = "
fn rate(p: array, s: array) -> array { [p[0] * s[0] - p[1] * s[0] * s[1], p[3] * s[0] * s[1] - p[2] * s[1]] }

// Prey and predators at 40 times, a quarter apart; five steps of the fourth order between them.
fn path(p: array) -> array {
    let h = 0.05;
    let mut s = [p[4], p[5]];
    let mut out = [0.0; 80];
    for k in 0..40 {
        for i in 0..5 {
            let k1 = rate(p, s);
            let k2 = rate(p, s + 0.5 * h * k1);
            let k3 = rate(p, s + 0.5 * h * k2);
            let k4 = rate(p, s + h * k3);
            s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
        }
        out[2 * k] = s[0];
        out[2 * k + 1] = s[1];
    }
    out
}
// Least squares of the linearised model, held back where that does not hold (Levenberg and
// Marquardt).
fn step(j: array, r: array, damping) {
    let squares = matmul(transpose(j), j);
    solve(squares + damping * diagonal_matrix(diagonal(squares)), matvec(transpose(j), r))
}";

/// a, b, c, d and both numbers at the start.
const TRUTH: [f64; 6] = [1.1, 0.4, 0.9, 0.3, 6.0, 3.0];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = parse_program(MODEL)?;
    let mut path = Derivatives::<f64>::new(&program, "path")?;
    let mut step = Derivatives::<f64>::new(&program, "step")?;

    // Counts are off by up to two percent.
    let exact = numbers(path.value(&[Datum::reals(TRUTH)])?);
    let noise = |k: usize| 1.0 + 0.02 * (7.3 * k as f64).sin();
    let counts: Vec<f64> = exact.iter().enumerate().map(|(k, x)| x * noise(k)).collect();
    let mut misses = |at: &Datum<f64>| -> Result<Vec<f64>, DeriveError> {
        let found = numbers(path.value(std::slice::from_ref(at))?);
        Ok(found.iter().zip(&counts).map(|(x, count)| x - count).collect())
    };
    let mut slopes = Derivatives::<f64>::new(&program, "path")?;

    let mut p = vec![0.8, 0.3, 0.7, 0.2, 5.0, 4.0];
    let mut damping = 0.01;
    let at = |p: &[f64]| Datum::reals(p.iter().copied());
    let squares = |r: &[f64]| r.iter().map(|r| r * r).sum::<f64>();
    let mut r = misses(&at(&p))?;
    println!("squared misses {:.3} at the start", squares(&r));
    for _ in 0..50 {
        // Eighty rows, six columns: six products with tangents.
        let jacobian = slopes.jacobian(&[at(&p)])?.concat();
        let args =
            [Datum::reals_of(&[80, 6], jacobian)?, Datum::reals(r.clone()), Datum::Real(damping)];
        let by = numbers(step.value(&args)?);
        let next: Vec<f64> = p.iter().zip(&by).map(|(p, d)| p - d).collect();
        let missed = misses(&at(&next))?;
        let gain = squares(&r) - squares(&missed);
        if gain > 0.0 {
            (p, r, damping) = (next, missed, damping * 0.1);
            if gain < 1e-12 * squares(&r) {
                break;
            }
        } else {
            damping *= 10.0;
        }
    }
    println!("squared misses {:.3} at the end", squares(&r));
    for (name, (fitted, truth)) in
        ["a", "b", "c", "d", "x(0)", "y(0)"].iter().zip(p.iter().zip(TRUTH))
    {
        println!("{name} = {fitted:.3} (true {truth})");
    }
    Ok(())
}

fn numbers(d: Datum<f64>) -> Vec<f64> {
    match d {
        Datum::Reals(xs) => xs.to_vec(),
        _ => vec![],
    }
}
