//! Random numbers that a key determines.
//!
//! They are made of the blocks that a [cipher of counters](threefry) gives. A number with the place
//! i in an array is made of the blocks of the counters i, or 2i and 2i + 1, under a key of its own
//! for each distribution. So it depends on neither the shape nor what was drawn before, and is the
//! same on every machine.

use std::f64::consts::TAU;

use super::{Array, ArrayError, Shape, count};
use crate::scalar::{Real, is_single, threefry};

/// The counters of the keys of the two distributions.
const UNIFORM: i64 = -1;
const NORMAL: i64 = -2;

/// Multiples of `2^-53` in [0, 1).
fn uniform(key: i64, counter: i64) -> f64 {
    (threefry(key, counter).cast_unsigned() >> 11) as f64 * f64::EPSILON / 2.0
}

/// Box and Muller's: `sqrt(-2 ln (1 - u)) cos(2 pi v)`.
fn normal(key: i64, place: i64) -> f64 {
    let [u, v] = [0, 1].map(|k| uniform(key, place.wrapping_mul(2).wrapping_add(k)));
    (-2.0 * libm::log1p(-u)).sqrt() * libm::cos(TAU * v)
}

/// Computes an array of the given shape of numbers between 0 and 1, or of normal ones, as
/// constants.
///
/// # Errors
/// There is no such shape, or it has too many elements.
pub fn random<T: Real>(
    key: i64,
    lengths: &[i64],
    is_normal: bool,
    limit: usize,
    out: &mut Array<T>,
) -> Result<(), ArrayError> {
    let shape = random_shape(lengths, limit)?;
    let n = shape.iter().product::<usize>() as i64;
    let to = out.start(&shape);
    if is_normal {
        let key = threefry(key, NORMAL);
        to.extend((0..n).map(|place| T::lit(normal(key, place))));
    } else {
        let key = threefry(key, UNIFORM);
        // Rounded to a coarser number type it must not become 1.
        let most = if is_single::<T>() { 1.0 - f64::from(f32::EPSILON) / 2.0 } else { 1.0 };
        to.extend((0..n).map(|place| T::lit(uniform(key, place).min(most))));
    }
    Ok(())
}

/// Returns the shape that a list says.
#[doc(hidden)]
pub fn random_shape(lengths: &[i64], limit: usize) -> Result<Shape, ArrayError> {
    if lengths.is_empty() || count(lengths, limit).is_err() {
        return Err(ArrayError::Lengths { given: lengths.to_vec(), limit });
    }
    Ok(lengths.iter().filter_map(|&n| usize::try_from(n).ok()).collect())
}
