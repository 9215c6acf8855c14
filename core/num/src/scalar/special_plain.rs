/// The logistic function.
fn sigmoid(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    if x < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
}
//-
/// `ln(1 + e^x)` without overflow.
fn softplus(x: f64) -> f64 {
    let rest = (-x.abs()).exp().ln_1p();
    if x > 0.0 { x + rest } else { rest }
}
//-
/// `ln(e^x + e^y)` without overflow.
fn logaddexp(x: f64, y: f64) -> f64 {
    if x == y {
        return x + std::f64::consts::LN_2;
    }
    let rest = (-(x - y).abs()).exp().ln_1p();
    if x > y { x + rest } else { y + rest }
}
//-
/// The n-th derivative of digamma. At a pole the infinity of both sides, at 0 that of its side,
/// else NaN.
fn polygamma(x: f64, n: i64) -> f64 {
    /// Beyond this order it is NaN.
    const LARGEST_ORDER: i64 = 2048;
    /// Number that is added to the order for the least argument of the asymptotic series.
    const FAR: f64 = 15.0;
    /// `B_2k / (2k)!` for `k = 1, 2, …`
    const BERNOULLI: [f64; 11] = [
        8.333_333_333_333_333e-2,
        -1.388_888_888_888_889e-3,
        3.306_878_306_878_307e-5,
        -8.267_195_767_195_768e-7,
        2.087_675_698_786_81e-8,
        -5.284_190_138_687_493e-10,
        1.338_253_653_068_467_9e-11,
        -3.389_680_296_322_582_7e-13,
        8.586_062_056_277_845e-15,
        -2.174_868_698_558_062e-16,
        5.509_002_828_360_229_5e-18,
    ];

    /// Of a positive number.
    fn digamma(x: f64) -> f64 {
        let (mut far, mut near) = (x, 0.0);
        while far < FAR {
            near += far.recip();
            far += 1.0;
        }
        let square = far.recip() * far.recip();
        let (mut tail, mut factor) = (0.5 / far, square);
        for (k, b) in (1..).zip(BERNOULLI) {
            tail += b * factor;
            // (2k - 1)! / x^2k
            factor *= f64::from(2 * k * (2 * k + 1)) * square;
        }
        far.ln() - tail - near
    }

    /// `n! / x^(n+1) factor`, with factors that are kept in range.
    fn scaled_power(n: i64, x: f64, factor: f64) -> f64 {
        const LARGE: f64 = 1e100;
        // Powers of two, so that nothing is rounded.
        let (up, down) = (2f64.powi(600), 2f64.powi(-600));
        let (mut product, mut scale) = (factor / x, 0i32);
        for j in 1..=n {
            product *= j as f64 / x;
            if product.abs() > LARGE {
                (product, scale) = (product * down, scale + 1);
            } else if product.abs() < LARGE.recip() {
                (product, scale) = (product * up, scale - 1);
            }
            if !product.is_finite() || product == 0.0 {
                return product;
            }
        }
        let step = if scale < 0 { down } else { up };
        (0..scale.unsigned_abs().min(4)).fold(product, |product, _| product * step)
    }

    /// `n! sum_k 1 / (x + k)^(n+1)` for `x > 0`, `n > 0`.
    fn sum_of_powers(n: i64, x: f64) -> f64 {
        if x == f64::INFINITY {
            return 0.0;
        }
        let (order, exponent) = (n as f64, n as i32 + 1);
        // In units of the first term.
        let (mut far, mut sum, mut k) = (x, 0.0, 0.0);
        while far < order + FAR {
            sum += (x / far).powi(exponent);
            k += 1.0;
            far = x + k;
        }
        let square = far.recip() * far.recip();
        let (mut series, mut factor) = (1.0 + 0.5 * order / far, 1.0);
        for (k, b) in (1..).zip(BERNOULLI) {
            let twice = 2.0 * f64::from(k);
            // (n + 2k - 1)! / (n - 1)! / x^2k
            factor *= (order + twice - 2.0) * (order + twice - 1.0) * square;
            series += b * factor;
        }
        let rest = (x / far).powi(exponent) * (far / order) * series;
        scaled_power(n, x, sum + rest)
    }

    if !(0..=LARGEST_ORDER).contains(&n) || x.is_nan() || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    let odd = n % 2 == 1;
    if x > 0.0 {
        return match (n, odd) {
            (0, _) => digamma(x),
            (_, true) => sum_of_powers(n, x),
            (_, false) => -sum_of_powers(n, x),
        };
    }
    // From the nearest pole; exact.
    let z = x - x.round();
    if z == 0.0 {
        return match (odd, x == 0.0) {
            (true, _) => f64::INFINITY,
            (false, true) => -x.recip(),
            (false, false) => f64::NAN,
        };
    }
    if n == 0 {
        return digamma(1.0 - x) - std::f64::consts::PI / (std::f64::consts::PI * z).tan();
    }
    let (right, left) = (sum_of_powers(n, 1.0 + z), sum_of_powers(n, 1.0 - z) - sum_of_powers(n, 1.0 - x));
    let pole = scaled_power(n, z, 1.0);
    if odd { pole + right + left } else { -(pole + right - left) }
}
