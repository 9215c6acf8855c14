//! The derivative of every elementary function, written once for all numbers that carry
//! derivatives.
//!
//! `slope::f(x, y)` is `f'(x)` where `y = f(x)` is already known. A slope is an ordinary formula
//! over any [`Real`], so it can be evaluated on a number that carries derivatives itself: this is
//! how the second and higher orders come out of the one table. [`Uncertain`](super::Uncertain)
//! reads it at `f64`, `Dual<T>` at `T`, `Dual2<T>` at `Dual<T>`.
//!
//! ```text
//! sqrt(x, y) = 1 / 2y        exp(x, y) = y        tan(x, y) = 1 + y^2
//! ```
//!
//! If a slope is infinite (`sqrt` at 0) or not defined (`atan2` at the origin) the formula says
//! so with an infinity or a NaN; the readers multiply it by what the argument really carries, so
//! that a constant stays a constant there.

use std::f64::consts::FRAC_2_SQRT_PI;

use super::{Real, Scalar};

/// Hands the names of all functions of one argument to the macro `$reader`.
#[doc(hidden)]
#[macro_export]
macro_rules! unary_functions {
    ($reader:ident) => {
        $reader! {
            recip sqrt cbrt exp exp_m1 ln ln_1p log2 log10 sin cos tan asin acos atan
            sinh cosh tanh asinh acosh atanh
        }
    };
}

/// Lists the special functions of one real number.
#[doc(hidden)]
#[macro_export]
macro_rules! special_functions {
    ($reader:ident) => {
        $reader! { erf erfc lgamma sigmoid softplus }
    };
}

/// Writes one function for each line `name(x, y) = slope;`.
macro_rules! slopes {
    ($($f:ident($x:ident, $y:ident) = $slope:expr;)*) => {$(
        #[inline]
        pub(super) fn $f<T: Real>($x: &T, $y: &T) -> T { $slope }
    )*};
}

slopes! {
    recip(_x, y) = -(y * y);
    sqrt(_x, y) = (y + y).recip();
    cbrt(_x, y) = (y * y * T::int(3)).recip();
    exp(_x, y) = y.clone();
    exp_m1(x, _y) = x.exp();
    ln(x, _y) = x.recip();
    ln_1p(x, _y) = (T::one() + x).recip();
    log2(x, _y) = (x * T::int(2).ln()).recip();
    log10(x, _y) = (x * T::int(10).ln()).recip();
    sin(x, _y) = x.cos();
    cos(x, _y) = -x.sin();
    tan(_x, y) = T::one() + y * y;
    asin(x, _y) = one_minus_square(x).sqrt().recip();
    acos(x, _y) = -one_minus_square(x).sqrt().recip();
    atan(x, _y) = (T::one() + x * x).recip();
    sinh(x, _y) = x.cosh();
    cosh(x, _y) = x.sinh();
    tanh(x, _y) = sech_squared(x);
    asinh(x, _y) = x.hypot(&T::one()).recip();
    // Two roots instead of one: below -1, where acosh is NaN, its slope is NaN too.
    acosh(x, _y) = ((x - T::one()).sqrt() * (x + T::one()).sqrt()).recip();
    atanh(x, _y) = one_minus_square(x).recip();
    erf(x, _y) = (-(x * x)).exp() * T::lit(FRAC_2_SQRT_PI);
    erfc(x, _y) = (-(x * x)).exp() * T::lit(-FRAC_2_SQRT_PI);
    lgamma(x, _y) = x.polygamma(0);
    sigmoid(x, y) = y * (-x).sigmoid();
    softplus(x, _y) = x.sigmoid();
}

/// Computes `1 - x^2`, accurate near `x = 1` and `x = -1`.
fn one_minus_square<T: Real>(x: &T) -> T {
    (T::one() - x) * (T::one() + x)
}

/// Computes `1 / cosh(x)^2 = 4e / (1 + e)^2` with `e = exp(-2|x|)`: it neither overflows nor
/// cancels, as `1 - tanh(x)^2` would. The formula holds for `e = exp(2|x|)` too, so nothing depends
/// on the sign being known.
fn sech_squared<T: Real>(x: &T) -> T {
    let twice = T::int(if x.primal().is_some_and(|p| p < 0.0) { 2 } else { -2 });
    let e = (x * twice).exp();
    let root = T::one() + &e;
    e * T::int(4) / (&root * &root)
}

/// Returns the slope of `x^n`: `n x^(n-1)`, which is 0 for `n = 0` everywhere, also at `x = 0`.
pub(super) fn powi<T: Real>(x: &T, y: &T, n: i64) -> T {
    match n {
        0 => T::zero(),
        1 => T::one(),
        i64::MIN => y / x * T::int(n),
        _ => x.powi(n - 1) * T::int(n),
    }
}

/// Returns the slopes of `z = x^y` along `x` and `y`: `y x^(y-1)` and `z ln x`.
///
/// At `x = 0` the second is the limit for `y > 0`, in every order: see [`power_at_zero`].
pub(super) fn pow<T: Real>(x: &T, y: &T, z: &T) -> (T, T) {
    let along_x = if y.is_exact_zero() { T::zero() } else { y * x.pow(&(y - T::one())) };
    let along_y = match (x.primal(), y.primal()) {
        (Some(0.0), Some(p)) if p > 0.0 => -x.pow(&T::lit(power_at_zero(p))),
        _ => z * x.ln(),
    };
    (along_x, along_y)
}

/// Returns, for `p > 0`, an exponent `q < p` such that `x^q` and `x^p ln x` have the same limits at
/// `x = 0`, the derivatives included: those of an order below `p` vanish, the others are infinite.
/// Any `q` between the greatest integer below `p` and `p` will do. `-x^q` can then stand for
/// `x^p ln x`, whose own formula is `0 * inf`, and the sign of the infinities is right as well.
pub(super) fn power_at_zero(p: f64) -> f64 {
    0.5 * (p + p.ceil() - 1.0)
}

/// Returns the slope of `polygamma(n, x)`.
pub(super) fn polygamma<T: Real>(x: &T, n: i64) -> T {
    x.polygamma(n.saturating_add(1))
}

/// Returns the slopes of `ln(e^x + e^y)`.
pub(super) fn logaddexp<T: Real>(x: &T, y: &T, _z: &T) -> (T, T) {
    ((x - y).sigmoid(), (y - x).sigmoid())
}

/// Returns the slopes of `h = sqrt(x^2 + y^2)`: `x/h` and `y/h`, and 0 at the origin, where there
/// are none of higher order.
pub(super) fn hypot<T: Real>(x: &T, y: &T, h: &T) -> (T, T) {
    (x.over(h), y.over(h))
}

/// [`Real::over`] of one number by another.
pub(super) fn over<T: Real>(a: &T, b: &T) -> T {
    match (a.primal(), b.primal()) {
        (Some(0.0), Some(0.0)) => {
            let (more, less) = (a.beyond(), b.beyond());
            // The root of 0 is 0, and so steep that nothing finite is left of what is carried.
            let rest = |x: T| if x.is_exact_zero() { T::zero() } else { <T as Scalar>::sqrt(&x) };
            rest(more) + rest(less)
        }
        _ => a / b,
    }
}

/// Returns the slopes of the angle of the point `(x, y)` along `y` and `x`, in the order of the
/// arguments of `y.atan2(x)`: `x/h^2` and `-y/h^2`, divided twice by `h = hypot(x, y)` so that
/// nothing overflows.
pub(super) fn atan2<T: Real>(y: &T, x: &T, _angle: &T) -> (T, T) {
    let h = x.hypot(y);
    (x / &h / &h, -(y / &h / &h))
}
