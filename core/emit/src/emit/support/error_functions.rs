/// The error function: a series of positive terms, or what is left of 1.
fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a > 2.0 {
        let square = a * a;
        let (mut fraction, mut k) = (a, 90.0);
        while k > 0.0 {
            fraction = a + 0.5 * k / fraction;
            k -= 1.0;
        }
        let rest = (-square).exp() * (1.0 - a.mul_add(a, -square)) / fraction / std::f64::consts::PI.sqrt();
        return (1.0 - if a < 6.5 { rest } else { 0.0 }).copysign(x);
    }
    let (mut term, mut sum, mut k) = (x, x, 1.0);
    while f64::abs(term) > 1e-18 * f64::abs(sum) {
        term *= 2.0 * x * x / (2.0 * k + 1.0);
        sum += term;
        k += 1.0;
    }
    sum * (-x * x).exp() * std::f64::consts::FRAC_2_SQRT_PI
}
//-
/// The error function's distance from 1: of numbers beyond 1 as a continued fraction.
fn erfc(x: f64) -> f64 {
    if x < 1.0 {
        let a = x.abs();
        if a > 6.5 {
            return 2.0;
        }
        let (mut term, mut sum, mut k) = (x, x, 1.0);
        while f64::abs(term) > 1e-18 * f64::abs(sum) {
            term *= 2.0 * x * x / (2.0 * k + 1.0);
            sum += term;
            k += 1.0;
        }
        return 1.0 - sum * (-x * x).exp() * std::f64::consts::FRAC_2_SQRT_PI;
    }
    if x > 28.0 || x.is_nan() {
        return if x.is_nan() { x } else { 0.0 };
    }
    let square = x * x;
    let (mut fraction, mut k) = (x, 250.0);
    while k > 0.0 {
        fraction = x + 0.5 * k / fraction;
        k -= 1.0;
    }
    (-square).exp() * (1.0 - x.mul_add(x, -square)) / fraction / std::f64::consts::PI.sqrt()
}
//-
/// The logarithm of the modulus of the gamma function: Stirling's series, and around 1 and 2 one of
/// zeta functions.
fn lgamma(x: f64) -> f64 {
    use std::f64::consts::PI;
    /// `zeta(k) - 1` for `k = 2, 3, …`, in which the series
    /// `ln Gamma(2 + z) = (1 - gamma) z + sum_k (zeta(k) - 1) (-z)^k / k` is.
    fn zeta_less_one(k: i32) -> f64 {
        // Euler and Maclaurin from 12 on.
        let (s, n) = (f64::from(k), 12.0f64);
        let near: f64 = (2..12).rev().map(|j| f64::from(j).powi(-k)).sum();
        let last = n.powi(-k);
        let far = last * n / (s - 1.0) + 0.5 * last + last * s / (12.0 * n)
            - last * s * (s + 1.0) * (s + 2.0) / (720.0 * n.powi(3))
            + last * s * (s + 1.0) * (s + 2.0) * (s + 3.0) * (s + 4.0) / (30_240.0 * n.powi(5))
            - last * s * (s + 1.0) * (s + 2.0) * (s + 3.0) * (s + 4.0) * (s + 5.0) * (s + 6.0)
                / (1_209_600.0 * n.powi(7));
        near + far
    }
    /// `ln Gamma(2 + z)` for `|z| <= 1/2`.
    fn near_two(z: f64) -> f64 {
        let (mut sum, mut power) = (0.422_784_335_098_467_1 * z, z);
        for k in 2..40 {
            power *= -z;
            sum -= zeta_less_one(k) * power / f64::from(k);
        }
        sum
    }
    if x.is_infinite() {
        return f64::INFINITY;
    }
    if x < 0.5 {
        let z = x - x.round();
        if z == 0.0 {
            return f64::INFINITY;
        }
        if x.abs() < 0.5 {
            // ln |Gamma(2 + x) / (x (1 + x))|
            return near_two(x) - x.ln_1p() - x.abs().ln();
        }
        return (PI / (PI * z).sin()).abs().ln() - lgamma(1.0 - x);
    }
    if x < 1.5 {
        let z = x - 1.0;
        return near_two(z) - z.ln_1p();
    }
    if x <= 2.5 {
        return near_two(x - 2.0);
    }
    let (mut far, mut product) = (x, 1.0);
    while far < 15.0 {
        product *= far;
        far += 1.0;
    }
    let square = far.recip() * far.recip();
    let series = 1.0 / 12.0
        + square * (-1.0 / 360.0
            + square * (1.0 / 1260.0
                + square * (-1.0 / 1680.0
                    + square * (1.0 / 1188.0 + square * (-691.0 / 360_360.0 + square / 156.0)))));
    (far - 0.5) * (far.ln() - 1.0) - 0.5 + 0.5 * (2.0 * PI).ln() + series / far - f64::ln(product)
}
