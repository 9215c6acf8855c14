//! The derivatives that dual numbers carry, for every function, order and constructor: against
//! difference quotients and the complex step, against each other, and at the special points.

use ketgrad_core::scalar::{Lanes, Real, Scalar};
use nalgebra::{Const, Dyn};
use num_complex::Complex;
use num_dual::{
    Dual, Dual2_64, Dual3, Dual64, DualDVec64, DualSVec64, HyperDual64, HyperHyperDual,
};

/// A function of one argument on all numbers of these tests, and where it is smooth.
struct Function {
    name: &'static str,
    points: &'static [f64],
    plain: fn(&f64) -> f64,
    complex: fn(&Complex<f64>) -> Complex<f64>,
    dual: fn(&Dual64) -> Dual64,
    dual2: fn(&Dual2_64) -> Dual2_64,
    dual3: fn(&Dual3<f64>) -> Dual3<f64>,
    hyper: fn(&HyperDual64) -> HyperDual64,
    hyper3: fn(&HyperHyperDual<f64>) -> HyperHyperDual<f64>,
    nested: fn(&Dual<Dual64>) -> Dual<Dual64>,
    fixed: fn(&DualSVec64<2>) -> DualSVec64<2>,
    dynamic: fn(&DualDVec64) -> DualDVec64,
}

const LINE: &[f64] = &[-2.6, -1.1, -0.3, 0.0, 0.2, 0.9, 1.7, 3.0];
const NONZERO: &[f64] = &[-2.6, -1.1, -0.3, 0.2, 0.9, 1.7, 3.0];
const POSITIVE: &[f64] = &[0.05, 0.3, 0.9, 1.0, 1.7, 12.0];
const INSIDE: &[f64] = &[-0.9, -0.4, 0.0, 0.1, 0.7];

macro_rules! functions {
    ($($f:ident on $points:expr;)*) => {
        const FUNCTIONS: &[Function] = &[$(Function {
            name: stringify!($f),
            points: $points,
            plain: Scalar::$f,
            complex: Scalar::$f,
            dual: Scalar::$f,
            dual2: Scalar::$f,
            dual3: Scalar::$f,
            hyper: Scalar::$f,
            hyper3: Scalar::$f,
            nested: Scalar::$f,
            fixed: Scalar::$f,
            dynamic: Scalar::$f,
        }),*];
    };
}
functions! {
    recip on NONZERO;
    sqrt on POSITIVE;
    cbrt on NONZERO;
    exp on LINE;
    exp_m1 on LINE;
    ln on POSITIVE;
    ln_1p on &[-0.9, -0.3, 0.0, 0.4, 5.0];
    log2 on POSITIVE;
    log10 on POSITIVE;
    sin on LINE;
    cos on LINE;
    tan on LINE;
    asin on INSIDE;
    acos on INSIDE;
    atan on LINE;
    sinh on LINE;
    cosh on LINE;
    tanh on LINE;
    asinh on LINE;
    acosh on &[1.1, 1.7, 3.0, 20.0];
    atanh on INSIDE;
}

/// The five-point quotient with step `h` errs by `h^4 f^(5)/30 + eps f/h`. The step is between 5e-5
/// and 2e-4, a thousandth of the distance to the nearest singularity, so both are below this
/// relative to the derivative.
const DIFFERENCE: f64 = 1e-8;

/// Two routes to one derivative differ by roundings, magnified where an order mixes large terms.
const ROUNDINGS: f64 = 1e-12;

fn difference(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    let h = 1e-3 * x.abs().clamp(0.05, 0.2);
    (8.0 * (f(x + h) - f(x - h)) - (f(x + 2.0 * h) - f(x - 2.0 * h))) / (12.0 * h)
}

fn assert_near(name: &str, x: f64, got: f64, expected: f64, tolerance: f64) {
    // Written so that NaN fails.
    let near = (got - expected).abs() <= tolerance * expected.abs().max(1.0);
    assert!(near, "{name} at {x}: {got}, not {expected}");
}

fn first(f: &Function, x: f64) -> f64 {
    (f.dual)(&Dual64::new(x, 1.0)).eps
}

fn second(f: &Function, x: f64) -> f64 {
    (f.dual2)(&Dual2_64::new(x, 1.0, 0.0)).v2
}

#[test]
fn first_derivatives_agree_with_differences_and_with_the_complex_step() {
    for f in FUNCTIONS {
        for &x in f.points {
            let y = (f.dual)(&Dual64::new(x, -0.5));
            assert_eq!(y.re, (f.plain)(&x), "{}({x})", f.name);
            let slope = -2.0 * y.eps;
            assert_near(f.name, x, slope, difference(|t| (f.plain)(&t), x), DIFFERENCE);
            // f(x + ih) = f(x) + ih f'(x) up to h^2. A negative number has no real cube root there.
            if f.name != "cbrt" || x > 0.0 {
                const STEP: f64 = 1e-30;
                let w = (f.complex)(&Complex::new(x, STEP));
                assert_near(f.name, x, slope, w.im / STEP, ROUNDINGS);
            }
        }
    }
}

#[test]
fn second_and_third_derivatives_agree_with_differences_of_the_order_below() {
    for f in FUNCTIONS {
        for &x in f.points {
            assert_near(f.name, x, second(f, x), difference(|t| first(f, t), x), DIFFERENCE);
            let third = (f.dual3)(&Dual3::new(x, 1.0, 0.0, 0.0)).v3;
            assert_near(f.name, x, third, difference(|t| second(f, t), x), DIFFERENCE);
        }
    }
}

#[test]
fn every_constructor_gives_the_same_derivatives() {
    // Along x(s, t) = x + a s + b t + c s t, with u = f(x): u_s = f' a, u_st = f'' a b + f' c.
    let (a, b, c) = (0.7, -1.3, 0.4);
    for f in FUNCTIONS {
        for &x in f.points {
            let (u, d1, d2) = ((f.plain)(&x), first(f, x), second(f, x));
            let d3 = (f.dual3)(&Dual3::new(x, 1.0, 0.0, 0.0)).v3;
            let near = |what: &str, got: f64, expected: f64| {
                assert_near(&format!("{} of {what}", f.name), x, got, expected, ROUNDINGS);
            };
            let mixed = d2 * a * b + d1 * c;

            let y = (f.hyper)(&HyperDual64::new(x, a, b, c));
            near("HyperDual", y.re, u);
            near("HyperDual, eps1", y.eps1, d1 * a);
            near("HyperDual, eps2", y.eps2, d1 * b);
            near("HyperDual, eps1eps2", y.eps1eps2, mixed);

            let y = (f.nested)(&Dual::new(Dual64::new(x, a), Dual64::new(b, c)));
            near("Dual<Dual>", y.re.re, u);
            near("Dual<Dual>, inner", y.re.eps, d1 * a);
            near("Dual<Dual>, outer", y.eps.re, d1 * b);
            near("Dual<Dual>, both", y.eps.eps, mixed);

            // Along x + a t + c t^2/2: u'' = f'' a^2 + f' c; and the third derivative with x''' =
            // b.
            let y = (f.dual2)(&Dual2_64::new(x, a, c));
            near("Dual2, v1", y.v1, d1 * a);
            near("Dual2, v2", y.v2, d2 * a * a + d1 * c);
            let y = (f.dual3)(&Dual3::new(x, a, c, b));
            near("Dual3, v1", y.v1, d1 * a);
            near("Dual3, v2", y.v2, d2 * a * a + d1 * c);
            near("Dual3, v3", y.v3, d3 * a * a * a + 3.0 * d2 * a * c + d1 * b);

            let y = (f.hyper3)(&HyperHyperDual::new(x, a, b, 1.0, c, 0.5, -0.25, 2.0));
            near("HyperHyperDual, eps3", y.eps3, d1);
            near("HyperHyperDual, eps1eps2", y.eps1eps2, mixed);
            near("HyperHyperDual, eps1eps3", y.eps1eps3, d2 * a + d1 * 0.5);
            near("HyperHyperDual, eps2eps3", y.eps2eps3, d2 * b - d1 * 0.25);
            let all = d3 * a * b + d2 * (a * -0.25 + b * 0.5 + c) + d1 * 2.0;
            near("HyperHyperDual, eps1eps2eps3", y.eps1eps2eps3, all);

            let y = (f.fixed)(&DualSVec64::<2>::from_re(x).derivative(1));
            let d = y.eps.unwrap_generic(Const::<2>, Const::<1>);
            near("DualSVec", y.re, u);
            assert_eq!(d[0], 0.0);
            near("DualSVec, eps", d[1], d1);
            let y = (f.dynamic)(&DualDVec64::from_re(x).derivative(3, 2));
            let d = y.eps.unwrap_generic(Dyn(3), Const::<1>);
            assert_eq!((d[0], d[1]), (0.0, 0.0));
            near("DualDVec, eps", d[2], d1);
            assert!((f.dynamic)(&DualDVec64::from_re(x)).eps.0.is_none(), "a constant stays one");
        }
    }
}

#[test]
fn constants_have_no_derivative_even_where_the_slope_is_infinite() {
    for f in FUNCTIONS {
        for x in [0.0, 1.0, -1.0] {
            assert_eq!((f.dual)(&Dual64::new(x, 0.0)).eps, 0.0, "{} at {x}", f.name);
            let y = (f.hyper)(&HyperDual64::new(x, 0.0, 0.0, 0.0));
            assert_eq!((y.eps1, y.eps2, y.eps1eps2), (0.0, 0.0, 0.0), "{} at {x}", f.name);
        }
    }
    // One variable of two: only its own derivative is infinite.
    let y = Scalar::sqrt(&DualSVec64::<2>::from_re(0.0).derivative(0));
    assert_eq!(y.eps.unwrap_generic(Const::<2>, Const::<1>).as_slice(), [f64::INFINITY, 0.0]);
}

#[test]
fn slopes_are_infinite_at_vertical_tangents() {
    let slope = |f: fn(&Dual64) -> Dual64, x: f64| f(&Dual64::new(x, 1.0)).eps;
    assert_eq!(slope(Scalar::sqrt, 0.0), f64::INFINITY);
    assert_eq!(slope(Scalar::cbrt, 0.0), f64::INFINITY);
    assert_eq!(slope(Scalar::ln, 0.0), f64::INFINITY);
    assert_eq!(slope(Scalar::asin, 1.0), f64::INFINITY);
    assert_eq!(slope(Scalar::acos, -1.0), f64::NEG_INFINITY);
    assert_eq!(slope(Scalar::acosh, 1.0), f64::INFINITY);
    assert!(slope(Scalar::acosh, -2.0).is_nan() && slope(Scalar::asin, 2.0).is_nan());
}

#[test]
fn saturated_functions_keep_their_slope() {
    /// exp of a rounded argument of size 40.
    const EXPONENT: f64 = 1e-14;
    for x in [20.0, -20.0] {
        // 1/cosh^2 = 4 e^-40 there; 1 - tanh^2 would be 0.
        let expected = 4.0 * (-40.0_f64).exp();
        let slope = Scalar::tanh(&Dual64::new(x, 1.0)).eps;
        assert!((slope / expected - 1.0).abs() <= EXPONENT, "{slope}");
    }
    for x in [1e3, -1e3] {
        let y = Scalar::tanh(&Dual2_64::new(x, 1.0, 0.0));
        assert_eq!((y.re, y.v1, y.v2), (x.signum(), 0.0, 0.0));
        let y = Scalar::atan(&Dual64::new(x * 1e200, 1.0));
        assert_eq!(y.eps, 0.0);
    }
    let y = Scalar::asinh(&Dual64::new(1e200, 1.0));
    assert!((y.eps * 1e200 - 1.0).abs() <= EXPONENT);
}

/// x^n, x^n', ... by the falling factorials.
fn power_derivatives(x: f64, n: i32) -> [f64; 4] {
    let term = |factor: f64, m: i32| if factor == 0.0 { 0.0 } else { factor * x.powi(m) };
    let n1 = f64::from(n);
    [
        x.powi(n),
        term(n1, n - 1),
        term(n1 * (n1 - 1.0), n - 2),
        term(n1 * (n1 - 1.0) * (n1 - 2.0), n - 3),
    ]
}

#[test]
fn integer_powers_at_every_exponent_and_at_zero() {
    for n in [-3, -2, -1, 0, 1, 2, 3, 4, 5, 9] {
        for x in [-1.5, -0.5, 0.0, 0.5, 2.0] {
            if x == 0.0 && n < 0 {
                continue;
            }
            let expected = power_derivatives(x, n);
            let y = Scalar::powi(&Dual3::new(x, 1.0, 0.0, 0.0), n.into());
            let z = Scalar::powi(&Dual::new(Dual64::new(x, 1.0), Dual64::new(1.0, 0.0)), n.into());
            let real = Scalar::pow(&Dual3::new(x, 1.0, 0.0, 0.0), &Dual3::lit(f64::from(n)));
            for (got, expected) in [y.re, y.v1, y.v2, y.v3].into_iter().zip(expected) {
                assert_near("powi", x, got, expected, ROUNDINGS);
            }
            for (got, expected) in [real.re, real.v1, real.v2, real.v3].into_iter().zip(expected) {
                assert_near("pow with an integer constant", x, got, expected, ROUNDINGS);
            }
            assert_near("nested powi", x, z.eps.eps, expected[2], ROUNDINGS);
        }
    }
    // Exponents whose products do not fit in 64 bits.
    let y = Scalar::powi(&Dual2_64::new(1.0, 1.0, 0.0), 100_000);
    assert_eq!((y.v1, y.v2), (1e5, 1e5 * (1e5 - 1.0)));
    let y = Scalar::powi(&Dual2_64::new(1.0, 1.0, 0.0), i64::MIN);
    let n = -2f64.powi(63);
    assert_eq!((y.re, y.v1), (1.0, n));
    assert_near("powi", 1.0, y.v2 / (n * (n - 1.0)), 1.0, ROUNDINGS);
    assert_eq!(Scalar::powi(&Dual64::new(0.0, 1.0), -1).re, f64::INFINITY);
}

#[test]
fn integer_powers_are_right_for_exponents_of_any_size() {
    // With 80 digits, rounded once.
    for (x, n, expected) in [
        (0.999_999_9, 100_000_000, 4.539990730148922e-05),
        (1.000_000_1, -300_000_000, 9.357636841375724e-14),
        (2.0, -1074, 5e-324),
        (0.5, 1074, 5e-324),
        (1e10, -31, 1e-310),
        (1.1, 17, 5.054470284992945),
        (-1.1, -33, -0.043056764313424443),
        (3.0, -650, 7.433347434967e-311),
        // The float nearest to these exponents is another one, which moves the result or turns its
        // sign.
        (1.0 + f64::EPSILON, (1 << 53) + 1, 7.38905609893065),
        (-1.0 + f64::EPSILON / 2.0, -(1 << 60) - 1 + (1 << 59), -6.23514908081164e27),
        (-1.0, i64::from(u32::MAX), -1.0),
        (-1.0, 1 << 31, 1.0),
        (-1.0, i64::MAX, -1.0),
        (-1.0, i64::MIN, 1.0),
        (0.0, i64::MIN + 1, f64::INFINITY),
        (-0.0, i64::MIN + 1, f64::NEG_INFINITY),
        (-0.0, i64::MAX, -0.0),
        (2.0, i64::MAX, f64::INFINITY),
        (2.0, i64::MIN, 0.0),
    ] {
        let y = Scalar::powi(&x, n);
        let near = (y.to_bits().cast_signed() - f64::to_bits(expected).cast_signed()).abs() <= 2;
        assert!(near, "{x:e}^{n}: {y:e}, expected {expected:e}");
        let single = Scalar::powi(&(x as f32), n);
        if f64::from(x as f32) == x {
            assert_eq!(single.to_bits(), (expected as f32).to_bits(), "{x}^{n} with 32 bits");
        }
        let lanes = Lanes([x, 1.0, -x, 2.0]).powi(n);
        assert_eq!(lanes.0[0].to_bits(), y.to_bits());
    }
}

#[test]
fn powers_whose_exponent_moves() {
    for (x, y) in [(0.3, 2.0), (1.7, -0.5), (4.0, 0.0), (2.5, 3.25)] {
        let z = f64::powf(x, y);
        let (zx, zy) = (y * z / x, z * x.ln());
        let p = Scalar::pow(
            &DualSVec64::<2>::from_re(x).derivative(0),
            &DualSVec64::<2>::from_re(y).derivative(1),
        );
        let d = p.eps.unwrap_generic(Const::<2>, Const::<1>);
        assert_near("pow", x, p.re, z, ROUNDINGS);
        assert_near("pow along the base", x, d[0], zx, ROUNDINGS);
        assert_near("pow along the exponent", x, d[1], zy, ROUNDINGS);
        let p =
            Scalar::pow(&HyperDual64::new(x, 1.0, 0.0, 0.0), &HyperDual64::new(y, 0.0, 1.0, 0.0));
        assert_near("pow, mixed", x, p.eps1eps2, z / x + y * z * x.ln() / x, ROUNDINGS);
        let p = Scalar::pow(&Dual2_64::new(x, 0.0, 0.0), &Dual2_64::new(y, 1.0, 0.0));
        assert_near("pow, twice along the exponent", x, p.v2, zy * x.ln(), ROUNDINGS);
        let p = Scalar::pow(&Dual2_64::new(x, 1.0, 0.0), &Dual2_64::new(y, 0.0, 0.0));
        assert_near("pow, twice along the base", x, p.v2, y * (y - 1.0) * z / (x * x), ROUNDINGS);
    }
}

#[test]
fn powers_at_zero_take_the_limits() {
    let parts = |x: Dual2_64| (x.re, x.v1, x.v2);
    let (x, constant) = (Dual2_64::new(0.0, 1.0, 0.0), |y: f64| Dual2_64::new(y, 0.0, 0.0));
    assert_eq!(parts(Scalar::pow(&x, &constant(0.0))), (1.0, 0.0, 0.0));
    assert_eq!(parts(Scalar::pow(&x, &constant(1.0))), (0.0, 1.0, 0.0));
    assert_eq!(parts(Scalar::pow(&x, &constant(2.0))), (0.0, 0.0, 2.0));
    assert_eq!(parts(Scalar::pow(&x, &constant(1.5))), (0.0, 0.0, f64::INFINITY));
    assert_eq!(parts(Scalar::pow(&x, &constant(3.5))), (0.0, 0.0, 0.0));
    assert_eq!(Scalar::pow(&x, &constant(0.5)).v1, f64::INFINITY);
    // Along the exponent x^y ln x -> 0 for y > 0, and so do its derivatives of an order below y.
    for y in [0.25, 1.0, 2.0, 7.5] {
        let p = Scalar::pow(&constant(0.0), &Dual2_64::new(y, 1.0, 0.0));
        assert_eq!(parts(p), (0.0, 0.0, 0.0), "0^{y} along the exponent");
    }
    let mixed = |y: f64| {
        Scalar::pow(&HyperDual64::new(0.0, 1.0, 0.0, 0.0), &HyperDual64::new(y, 0.0, 1.0, 0.0))
    };
    assert_eq!(mixed(2.0).eps1eps2, 0.0);
    assert_eq!(mixed(1.0).eps1eps2, f64::NEG_INFINITY); // (x ln x)' = ln x + 1
    // A negative base with a constant exponent; along the exponent it has no real power.
    let p = Scalar::pow(&Dual64::new(-2.0, 1.0), &Dual64::new(3.0, 0.0));
    assert_eq!((p.re, p.eps), (-8.0, 12.0));
    assert!(Scalar::pow(&Dual64::new(-2.0, 0.0), &Dual64::new(3.0, 1.0)).eps.is_nan());
}

#[test]
fn angles_and_moduli_in_all_quadrants_and_on_the_axes() {
    let points = [
        (1.0, 2.0),
        (-1.5, 0.5),
        (-0.3, -0.7),
        (2.0, -1.0),
        (0.0, 2.0),
        (0.0, -2.0),
        (3.0, 0.0),
        (-3.0, 0.0),
    ];
    for (x, y) in points {
        let r2 = x * x + y * y;
        let (ex, ey) =
            (DualSVec64::<2>::from_re(x).derivative(0), DualSVec64::<2>::from_re(y).derivative(1));
        let angle = Real::atan2(&ey, &ex);
        let d = angle.eps.unwrap_generic(Const::<2>, Const::<1>);
        assert_eq!(angle.re, y.atan2(x));
        assert_near("atan2 along x", x, d[0], -y / r2, ROUNDINGS);
        assert_near("atan2 along y", x, d[1], x / r2, ROUNDINGS);
        let h = Real::hypot(&ex, &ey);
        let d = h.eps.unwrap_generic(Const::<2>, Const::<1>);
        assert_eq!(h.re, x.hypot(y));
        assert_near("hypot along x", x, d[0], x / h.re, ROUNDINGS);
        assert_near("hypot along y", x, d[1], y / h.re, ROUNDINGS);

        let (hx, hy) = (HyperDual64::new(x, 1.0, 0.0, 0.0), HyperDual64::new(y, 0.0, 1.0, 0.0));
        assert_near(
            "atan2, mixed",
            x,
            Real::atan2(&hy, &hx).eps1eps2,
            (y * y - x * x) / (r2 * r2),
            ROUNDINGS,
        );
        assert_near(
            "hypot, mixed",
            x,
            Real::hypot(&hx, &hy).eps1eps2,
            -x * y / (r2 * r2.sqrt()),
            ROUNDINGS,
        );
        let (nx, ny) = (
            Dual::new(Dual64::new(x, 1.0), Dual64::new(0.0, 0.0)),
            Dual::new(Dual64::new(y, 0.0), Dual64::new(1.0, 0.0)),
        );
        assert_near(
            "nested atan2",
            x,
            Real::atan2(&ny, &nx).eps.eps,
            (y * y - x * x) / (r2 * r2),
            ROUNDINGS,
        );
        let (dx, dy) = (Dual2_64::new(x, 1.0, 0.0), Dual2_64::new(y, 0.0, 0.0));
        assert_near(
            "atan2, twice along x",
            x,
            Real::atan2(&dy, &dx).v2,
            2.0 * x * y / (r2 * r2),
            ROUNDINGS,
        );
        assert_near(
            "hypot, twice along x",
            x,
            Real::hypot(&dx, &dy).v2,
            y * y / (r2 * r2.sqrt()),
            ROUNDINGS,
        );
    }
    // The squares would overflow.
    let h = Real::hypot(&Dual64::new(3e200, 1.0), &Dual64::new(4e200, 0.0));
    assert_near("hypot", 3e200, h.eps, 0.6, ROUNDINGS);
    let angle = Real::atan2(&Dual64::new(3e200, 1.0), &Dual64::new(4e200, 0.0));
    assert_near("atan2", 3e200, angle.eps * 1e200, 0.16, ROUNDINGS);
    assert_eq!(
        Real::hypot(&Dual64::new(0.0, 1.0), &Dual64::new(0.0, 0.0)).eps,
        0.0,
        "as `abs` at 0"
    );
}
