//! Sines and cosines of sums of angles, some of which are large.
//!
//! A sum `a pi + b + sum_k q_k theta_k` in floats is off by half a unit in its last place, `1e-10`
//! at `1e6` and whole turns at `1e17`, so that a shift by pi/2 is lost there and `3 theta` is
//! another angle. The sine and the cosine of each term are exact to all digits, since a term is a
//! sum of two floats; the product of the terms' rotations corrects that of the rounded sum. A third
//! is two floats only up to 1e-32 of itself.

use num_complex::Complex;

use crate::scalar::Real;

/// Size below which sums are accurate to their last digit.
const LARGE: f64 = 1024.0;

/// Difference between pi and its nearest float.
const REST_OF_PI: f64 = 1.224_646_799_147_353_2e-16;

/// Returns the sine and cosine of a sum, given in numbers and as its terms `(n, d, x)`, each of
/// which is `n x / d`, without the multiple `n / d` of pi. Numbers without a float of their own are
/// taken as they are.
#[doc(hidden)]
pub fn sin_cos_of_sum<'a, T: Real + 'a>(
    sum: &T,
    pi: [f64; 2],
    terms: impl Iterator<Item = ([f64; 2], &'a T)>,
) -> (T, T) {
    let (sin, cos) = sum.sin_cos();
    let Some(rounded) = sum.primal().filter(|x| x.abs() >= LARGE) else { return (sin, cos) };
    let [high, low] = product(pi[0], std::f64::consts::PI);
    let mut turn = cis(quotient([high, low + pi[0] * REST_OF_PI], pi[1])) * cis([-rounded, 0.0]);
    for ([n, d], x) in terms {
        let Some(x) = x.primal() else { return (sin, cos) };
        turn *= cis(quotient(product(n, x), d));
    }
    if !(turn.re.is_finite() && turn.im.is_finite()) {
        return (sin, cos);
    }
    let [by_sin, by_cos] = [turn.im, turn.re].map(T::lit);
    (sin.clone() * &by_cos + cos.clone() * &by_sin, cos * by_cos - sin * by_sin)
}

/// `e^{i (high + low)}`
fn cis([high, low]: [f64; 2]) -> Complex<f64> {
    // Bit-identical on every machine, as everything in this crate is.
    let turn = |x: f64| {
        let (sin, cos) = Real::sin_cos(&x);
        Complex::new(cos, sin)
    };
    if low == 0.0 { turn(high) } else { turn(high) * turn(low) }
}

/// Returns a product as the rounded value and its rounding error.
fn product(a: f64, b: f64) -> [f64; 2] {
    let high = a * b;
    [high, a.mul_add(b, -high)]
}

/// Returns a quotient as the rounded value and its rounding error.
fn quotient([high, low]: [f64; 2], d: f64) -> [f64; 2] {
    let first = high / d;
    [first, ((-first).mul_add(d, high) + low) / d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_dual::Dual64;

    #[test]
    fn large_sums_keep_their_small_terms() {
        let shifted = sin_cos_of_sum(&(1e17 + 1.0), [1.0, 2.0], [([1.0, 1.0], &1e17)].into_iter());
        assert!(
            (shifted.0 - 1e17_f64.cos()).abs() < 1e-15
                && (shifted.1 + 1e17_f64.sin()).abs() < 1e-15
        );
        let x: f64 = 1e16;
        let third = sin_cos_of_sum(&(x / 3.0), [0.0, 1.0], [([1.0, 3.0], &x)].into_iter());
        // sin 3a = 3 sin a - 4 sin^3 a
        assert!((3.0 * third.0 - 4.0 * third.0.powi(3) - x.sin()).abs() < 1e-14);
        let (a, b): (f64, f64) = (1e200, 0.25);
        let terms = [([1.0, 1.0], &a), ([1.0, 1.0], &b), ([2.0, 2.0], &a)];
        let sum = sin_cos_of_sum(&(2.0 * a), [0.0, 1.0], terms.into_iter());
        let ((sin_a, cos_a), (sin_b, cos_b)) = ((2.0 * a).sin_cos(), b.sin_cos());
        assert!((sum.0 - (sin_a * cos_b + cos_a * sin_b)).abs() < 1e-15);
        // Slopes are those of the sum.
        let x = Dual64::new(1e17, 1.0);
        let moved = sin_cos_of_sum(&(x * 3.0 + 0.5), [0.0, 1.0], [([3.0, 1.0], &x)].into_iter());
        assert!((moved.0.eps - 3.0 * moved.1.re).abs() < 1e-14);
    }
}
