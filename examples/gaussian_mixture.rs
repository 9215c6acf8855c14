//! A Gaussian mixture fitted to points by L-BFGS: a likelihood over arrays, its gradient prepared
//! once.
//!
//! ```text
//! cargo run -p ketgrad-examples --example gaussian_mixture
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::cell::RefCell;

use ketgrad_core::{
    exec::{Datum, Derivatives, DeriveError, Prepared},
    optimize::{Lbfgs, Objective, Optimizer, Stopping, minimize},
    text::parse_program,
};
use ketgrad_examples::Lcg;

const POINTS: usize = 300;
/// Centres of the three clusters, their widths along each axis, and the share of the points in
/// each.
const CLUSTERS: [([f64; 2], [f64; 2], f64); 3] =
    [([-2.0, 0.0], [0.5, 0.9], 0.5), ([1.5, 1.5], [0.4, 0.4], 0.3), ([2.0, -2.0], [0.8, 0.3], 0.2)];

/// Minus the mean logarithm of the density. The parameters are one vector: three weights, the
/// means, the logarithms of the widths.
const LIKELIHOOD: &str = "
fn surprise(p: array, points: array) {
    let alpha = slice(p, 0, 0, 3);
    let means = reshape(slice(p, 0, 3, 6), [3, 2]);
    let logs = reshape(slice(p, 0, 9, 6), [3, 2]);
    // [cluster, point, axis]
    let z = (insert_axis(points, 0) - insert_axis(means, 1)) * exp(-insert_axis(logs, 1));
    let each = insert_axis(alpha - sum_axis(logs, 1), 1) - 0.5 * sum_axis(z * z, 2);
    logsumexp(alpha) + ln(2 * 3.141592653589793) - mean(logsumexp_axis(each, 0))
}";

/// A prepared gradient as something to minimise.
struct Surprise<'h>(RefCell<Prepared<'h, f64>>);

impl Objective for Surprise<'_> {
    type Error = DeriveError;
    fn value(&self, x: &[f64]) -> Result<f64, DeriveError> {
        Ok(self.value_and_gradient(x)?.0)
    }
    fn value_and_gradient(&self, x: &[f64]) -> Result<(f64, Vec<f64>), DeriveError> {
        let mut gradient = Vec::new();
        let args = [Datum::reals(x.iter().copied())];
        let value = self.0.borrow_mut().value_and_gradient(&args, &mut gradient)?;
        Ok((value, gradient.pop().map(numbers).unwrap_or_default()))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = parse_program(LIKELIHOOD)?;
    let points = Datum::reals_of(&[POINTS, 2], points().concat())?;
    let mut gradient =
        Derivatives::<f64>::new(&program, "surprise")?.with_constant("points", points)?;
    let surprise = Surprise(RefCell::new(gradient.prepare()?));
    // Equal weights, means apart from each other, widths of one.
    let mut start = vec![0.0; 15];
    start[3..9].copy_from_slice(&[-1.0, 0.5, 0.5, 1.0, 1.0, -1.0]);
    let before = surprise.value(&start)?;
    let (end, stop) =
        minimize(&surprise, &start, &Optimizer::from(Lbfgs::default()), &Stopping::default())?;
    println!("surprise {before:.4} at the start, {:.4} at the end ({stop})", end.value);

    let p = &end.x;
    let total: f64 = p[..3].iter().map(|a| a.exp()).sum();
    for k in 0..3 {
        let (share, mean) = (p[k].exp() / total, &p[3 + 2 * k..5 + 2 * k]);
        let widths = [p[9 + 2 * k].exp(), p[10 + 2 * k].exp()];
        println!(
            "{share:.2} of the points around ({:.2}, {:.2}), {:.2} by {:.2} wide",
            mean[0], mean[1], widths[0], widths[1]
        );
    }
    Ok(())
}

/// Points of the three clusters.
fn points() -> Vec<[f64; 2]> {
    let mut random = Lcg(12_345);
    // Box and Muller.
    let mut normal = || {
        let (u, v) = (random.unit(), random.unit());
        let (r, angle) = ((-2.0 * u.ln()).sqrt(), std::f64::consts::TAU * v);
        [r * angle.cos(), r * angle.sin()]
    };
    let mut points = Vec::with_capacity(POINTS);
    for (mean, width, share) in CLUSTERS {
        for _ in 0..(share * POINTS as f64).round() as usize {
            let z = normal();
            points.push([mean[0] + width[0] * z[0], mean[1] + width[1] * z[1]]);
        }
    }
    points
}

fn numbers(d: Datum<f64>) -> Vec<f64> {
    match d {
        Datum::Reals(xs) => xs.to_vec(),
        _ => vec![],
    }
}
