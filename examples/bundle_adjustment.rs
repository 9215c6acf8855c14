//! Cameras and points found from pictures: bundle adjustment by Levenberg and Marquardt's method
//! with a sparse Jacobian.
//!
//! ```text
//! cargo run -p ketgrad-examples --example bundle_adjustment
//! ```
//! A step `d` solves `(J^T J + damping diag(J^T J)) d = -J^T r`. The program is that of a
//! [benchmark](programs/bundle_adjustment.kg); each row of its Jacobian has entries for one camera
//! and one point only, so that about twelve products give all of it.
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    array::{Array, solve},
    exec::{Colouring, Datum, Derivatives},
    text::parse_program,
};
use ketgrad_examples::Lcg;

type Failure = Box<dyn std::error::Error>;

const PROGRAM: &str = include_str!("programs/bundle_adjustment.kg");
const CAMERAS: usize = 3;
const POINTS: usize = 12;
const SEEN: usize = CAMERAS * POINTS;
const UNKNOWNS: usize = CAMERAS * 11 + POINTS * 3;

/// The errors by the numbers of all cameras and those of all points. The list of observations
/// is a constant, and so are the weights.
fn errors(seen: Vec<f64>) -> Result<Derivatives<'static, f64>, Failure> {
    let program = parse_program(PROGRAM)?;
    let of = |f: fn(i64) -> i64| Datum::ints((0..SEEN as i64).map(f));
    Ok(Derivatives::new(&program, "errors")?
        .with_constant("w", Datum::reals([1.0; SEEN]))?
        .with_constant("seen", Datum::reals_of(&[SEEN, 2], seen)?)?
        .with_constant("camera_of", of(|i| i % CAMERAS as i64))?
        .with_constant("point_of", of(|i| i / CAMERAS as i64))?)
}

fn arguments(x: &[f64]) -> Result<[Datum<f64>; 2], Failure> {
    let (cameras, points) = x.split_at(CAMERAS * 11);
    Ok([
        Datum::reals_of(&[CAMERAS, 11], cameras.to_vec())?,
        Datum::reals_of(&[POINTS, 3], points.to_vec())?,
    ])
}

fn main() -> Result<(), Failure> {
    // The points are between -1 and 1; the cameras, turned a little, look at them from 6 away.
    let mut random = Lcg(12_345);
    let mut noise = || random.signed();
    let mut truth: Vec<f64> = (0..UNKNOWNS).map(|_| noise()).collect();
    for camera in truth[..CAMERAS * 11].chunks_exact_mut(11) {
        camera[..3].iter_mut().for_each(|x| *x *= 0.2);
        camera[5] -= 6.0;
        camera[6] = 500.0;
        camera[9..].iter_mut().for_each(|x| *x *= 0.01);
    }
    // What the cameras see are the errors where they should see nothing.
    let seen = numbers(&errors(vec![0.0; 2 * SEEN])?.value(&arguments(&truth)?)?);
    let mut errors = errors(seen.chunks_exact(3).flat_map(|e| [e[0], e[1]]).collect())?;

    let mut x: Vec<f64> =
        truth.iter().map(|x| x * (1.0 + 0.01 * noise()) + 0.002 * noise()).collect();
    let colouring = Colouring::new(errors.jacobian_pattern(&arguments(&x)?)?);
    println!(
        "{} entries of {}, {} products",
        colouring.pattern().len(),
        3 * SEEN * UNKNOWNS,
        colouring.products()
    );
    let mut r = numbers(&errors.value(&arguments(&x)?)?);
    println!("off by {:.1} pixels at the start", distance(&r));
    let mut damping = 1e-3;
    for round in 1..=50 {
        // J^T J and -J^T r, row by row.
        let j = errors.sparse_jacobian(&arguments(&x)?, &colouring)?;
        let (mut squares, mut down) = (vec![0.0; UNKNOWNS * UNKNOWNS], vec![0.0; UNKNOWNS]);
        for (k, r) in r.iter().enumerate() {
            for (a, ja) in j.row(k) {
                down[a] -= ja * r;
                j.row(k).for_each(|(b, jb)| squares[UNKNOWNS * a + b] += ja * jb);
            }
        }
        (0..UNKNOWNS).for_each(|a| squares[(UNKNOWNS + 1) * a] *= 1.0 + damping);
        let mut step = Array::default();
        solve(&Array::new(&[UNKNOWNS, UNKNOWNS], squares)?, &Array::from(down), false, &mut step)?;

        let next: Vec<f64> = x.iter().zip(step.iter()).map(|(x, d)| x + d).collect();
        let found = numbers(&errors.value(&arguments(&next)?)?);
        if distance(&found) < distance(&r) {
            (x, r, damping) = (next, found, 0.2 * damping);
        } else {
            damping *= 10.0;
        }
        if distance(&r) < 1e-3 {
            println!("off by less than 0.001 pixels after {round} rounds");
            break;
        }
    }
    Ok(())
}

/// The root of the mean square of how far points are off.
fn distance(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / SEEN as f64).sqrt()
}

fn numbers(value: &Datum<f64>) -> Vec<f64> {
    if let Datum::Reals(xs) = value { xs.to_vec() } else { vec![] }
}
