//! Powers of 64-bit floats without branches, so that a compiler can compute several at a time.
//!
//! ```text
//! |x| = 2^n m, s = (m - 1) / (m + 1)    ln |x| = n ln 2 + s (2 + s^2 (2/3 + s^2 l(s^2)))
//! ```
//!
//! and `|x|^y = e^(y ln |x|)`: the logarithm is a sum of two floats, since its error counts up to
//! 700 times. The polynomial `l` (degree 7) has the least relative error, 2^-73 of the logarithm,
//! by Remez's exchange in numbers of 70 digits. The largest error found against 60 digits is .7
//! units in the last place.
//!
//! As in [`elementary`](super::elementary), a power has one value on every machine, wherever it
//! is in an array.

use std::f64::consts::LN_2;

use super::elementary::{LN_2_REST, exact_sum, exp_of_sum, join, polynomial, split};

/// `((ln((1 + s) / (1 - s)) / s - 2) / s^2 - 2/3) / s^2` in `s^2`
const LN: [f64; 8] = [
    0.399_999_999_999_999_8,
    0.285_714_285_714_451,
    0.222_222_222_175_393_36,
    0.181_818_188_699_613_97,
    0.153_845_568_951_414_38,
    0.133_363_164_888_436_2,
    0.116_748_374_126_452_93,
    0.119_888_555_298_634_61,
];

const TWO_THIRDS: f64 = 2.0 / 3.0;
/// Remainder of 2/3.
const TWO_THIRDS_REST: f64 = 3.700_743_415_417_188e-17;

/// Threshold beyond which the result is 0 or infinite whatever is added.
const FAR: f64 = 1e4;

/// Returns the natural logarithm of a positive finite number as a sum, the second number small.
#[inline(always)]
fn ln(x: f64) -> [f64; 2] {
    let (n, f) = split(x);
    let [d, d_rest] = join(2.0, f);
    let inverse = 1.0 / d;
    let s = f * inverse;
    let s_rest = ((-s).mul_add(d, f) - s * d_rest) * inverse;
    let z = s * s;
    let z_rest = s.mul_add(s, -z) + 2.0 * s * s_rest;
    let [c, c_rest] = join(TWO_THIRDS, z * polynomial(&LN, z));
    let t = z * c;
    let t_rest = z.mul_add(c, -t) + z.mul_add(c_rest + TWO_THIRDS_REST, z_rest * c);
    let [w, w_rest] = join(2.0, t);
    let near = s * w;
    let near_rest = s.mul_add(w, -near) + s.mul_add(w_rest + t_rest, s_rest * w);
    let whole = n * LN_2;
    let whole_rest = n.mul_add(LN_2, -whole);
    let [sum, lost] = exact_sum(whole, near);
    join(sum, lost + (n.mul_add(LN_2_REST, whole_rest) + near_rest))
}

/// Returns two flags: true if a number is an integer, and true if it is odd.
#[inline(always)]
fn parity(y: f64) -> (bool, bool) {
    let bits = y.to_bits();
    let digits = bits & ((1 << 52) - 1) | 1 << 52;
    // Number of digits after the point.
    let places = 1075u64.wrapping_sub(bits >> 52 & 0x7ff);
    let (fraction, even) = (places.cast_signed() > 0, places.cast_signed() < 0);
    let small = places.cast_signed() > 52;
    let by = places & 63;
    let integer = !fraction || (!small && digits & ((1 << by) - 1) == 0);
    let odd = integer && !even && digits >> by & 1 == 1;
    (integer || y == 0.0, odd && !small)
}

/// Computes `x^y`, in all its cases what the standard library's `powf` is.
#[inline(always)]
pub(super) fn pow(x: f64, y: f64) -> f64 {
    let size = x.abs();
    let [l, l_rest] = ln(size);
    let l = if size < f64::INFINITY { l } else { size };
    let (l, l_rest) = if size == 0.0 { (f64::NEG_INFINITY, 0.0) } else { (l, l_rest) };
    let product = y * l;
    let rest = y.mul_add(l, -product) + y * l_rest;
    let rest = if product.abs() < FAR { rest } else { 0.0 };
    let power = exp_of_sum(product, rest);
    let power = if size == 1.0 && y.abs() <= f64::INFINITY { 1.0 } else { power };
    let (integer, odd) = parity(y);
    let negative = x.is_sign_negative();
    let power = if negative && odd { -power } else { power };
    let undefined = x < 0.0 && size < f64::INFINITY && !integer;
    let power = if undefined { f64::NAN } else { power };
    if y == 0.0 || x == 1.0 { 1.0 } else { power }
}

/// Returns true if [`powi`] is the product of its factors, which is rounded less often than there
/// are factors.
#[doc(hidden)]
pub fn is_product(n: i64) -> bool {
    (0..=FEW).contains(&n)
}

const FEW: i64 = 16;

/// Computes `x^n`: a product for few factors, else a power of floats, whose error does not grow
/// with `n` and which is not lost where `x^-n` leaves the range of the floats before `1 / x^-n`
/// does. The exponent is never rounded.
pub(super) fn powi(x: f64, n: i64) -> f64 {
    if (-FEW..=FEW).contains(&n) {
        let product = x.powi(n.unsigned_abs() as i32);
        if n >= 0 {
            return product;
        }
        if product.is_normal() {
            return 1.0 / product;
        }
    }
    let low = if n.unsigned_abs() < 1 << f64::MANTISSA_DIGITS { 0 } else { n % 4096 };
    x.powf((n - low) as f64) * x.powf(low as f64)
}

/// Computes `2^-e` for `x = 2^e m`, `1 <= m < 2`, and 1 for 0 and what is not finite. Sizes that a
/// float of 32 bits may have get a power that is a normal number of these, too.
pub(super) fn inverse_power_of_two(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 1.0;
    }
    let exponent = (x.to_bits() >> (f64::MANTISSA_DIGITS - 1) & 0x7ff) as i64 - 1023;
    let most = if exponent.abs() < 150 { 126 } else { 1022 };
    f64::from_bits(((1023 - exponent.clamp(-most, most)) as u64) << (f64::MANTISSA_DIGITS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::elementary::tests::{apart, random};

    #[test]
    fn powers_are_right_to_two_units_in_the_last_place() {
        let mut random = random();
        for _ in 0..40_000 {
            let (u, v, w) = (random(), random() - 0.5, random());
            let any = f64::from_bits((u * f64::INFINITY.to_bits() as f64) as u64);
            let points = [
                (10.0 * u, 20.0 * v),
                (any, 2.0 * v),
                // Results of all sizes.
                (any, 1500.0 * v / any.log2()),
                (1.0 + v * 10f64.powf(-15.0 * u), 1e3 * (w - 0.5)),
                (1.0 + v * 10f64.powf(-15.0 * u), (w - 0.5) * 10f64.powf(15.0 * u)),
                (f64::from_bits((u * 1e16) as u64), 2.0 * v),
                (-10.0 * u, (40.0 * v).round()),
                (v, 2.5),
                (u, [0.5, -0.5, 1.5, 3.0, -3.0, 1.0 / 3.0][(6.0 * w) as usize]),
            ];
            for (x, y) in points {
                let (ours, theirs) = (pow(x, y), x.powf(y));
                assert!(apart(ours, theirs) <= 2, "{x:e}^{y:e}: {ours:e} {theirs:e}");
            }
        }
    }

    #[test]
    fn the_limits_of_powers_are_those_of_the_library() {
        let sizes = [
            0.0,
            5e-324,
            1e-310,
            0.3,
            1.0,
            1.0 + f64::EPSILON,
            2.5,
            1e300,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ];
        let two_53 = 2f64.powi(53);
        let more = [
            0.5,
            2.0,
            3.0,
            4.0,
            two_53 - 1.0,
            two_53,
            two_53 + 2.0,
            two_53 / 4.0 + 0.5,
            1e19,
            1e-20,
            1023.0,
            1075.0,
        ];
        let both = |x: &f64| [*x, -*x];
        for x in sizes.iter().chain(&more).flat_map(both) {
            for y in sizes.iter().chain(&more).flat_map(both) {
                let (ours, theirs) = (pow(x, y), x.powf(y));
                let sign = ours.is_nan() || ours.is_sign_negative() == theirs.is_sign_negative();
                assert!(sign && apart(ours, theirs) <= 1, "{x:e}^{y:e}: {ours:e} {theirs:e}");
            }
        }
    }
}
