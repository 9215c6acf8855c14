//! Normal forms: they keep values, identities come out as zero, texts say what they are, and
//! equality of expressions is decided.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    normal::{Equality, ExprExt, MAX_TERMS, NormalError},
    scalar::{Real, Scalar},
    trace::Expr,
};
use num_dual::Dual64;
use num_traits::{One, Zero};
use proptest::prelude::*;
use support::{formula::evaluate, random::Rng};

/// Rounding of a few hundred operations on numbers up to a few hundred.
const ROUNDING: f64 = 1e-9;

fn inputs() -> [Expr; 3] {
    ["x", "y", "z"].map(Expr::symbol)
}

fn text(e: &Expr) -> String {
    e.normal().unwrap().to_string()
}

/// A random expression over x, y, z, without poles where they are positive.
fn random(rng: &mut Rng, depth: usize) -> Expr {
    if depth == 0 {
        return match rng.below(5) {
            0 => Expr::ratio(rng.below(7) as i64 - 3, 1 + rng.below(4) as i64),
            1 => Expr::pi() * Expr::ratio(rng.below(9) as i64 - 4, 12),
            k => inputs()[k - 2].clone(),
        };
    }
    let kind = rng.below(10);
    let one = random(rng, depth - 1);
    let mut other = || random(rng, depth - 1);
    match kind {
        0 | 1 => one + other(),
        2 => one - other(),
        3 | 4 => one * other(),
        5 => one.sin(),
        6 => one.cos(),
        7 => one.powi(2),
        8 => one.sin().exp(),
        _ => one / (Expr::int(2) + other().sin()),
    }
}

fn at(rng: &mut Rng) -> [(&'static str, f64); 3] {
    ["x", "y", "z"].map(|name| (name, 0.2 + rng.unit()))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * (1.0 + a.abs().max(b.abs()))
}

#[test]
fn texts_are_what_one_would_write() {
    let [x, y, z] = inputs();
    let cases: &[(Expr, &str)] = &[
        (Expr::zero(), "0"),
        (&x - &x, "0"),
        ((&x + &y) * (&x - &y), "x^2 - y^2"),
        ((&x + Expr::int(1)).powi(3), "x^3 + 3*x^2 + 3*x + 1"),
        (&x / &y / &z, "x/(y*z)"),
        (Expr::int(2) * &x / (Expr::int(3) * &y), "2*x/(3*y)"),
        ((&x + &x * &y) / (Expr::int(1) + &y), "x"),
        (Expr::int(1) / (&x + &y), "1/(x + y)"),
        (Expr::int(12).sqrt() * &x, "2*sqrt(3)*x"),
        (Expr::int(2).sqrt() * Expr::int(3).sqrt() * Expr::int(6).sqrt(), "6"),
        (Expr::pi() * &x / Expr::int(4), "pi*x/4"),
        (x.sin() * x.sin() + x.cos() * x.cos(), "1"),
        (x.sin() * x.cos(), "sin(2*x)/2"),
        (x.cos() * y.cos() - x.sin() * y.sin(), "cos(x + y)"),
        ((&x - Expr::pi() / Expr::int(2)).cos(), "sin(x)"),
        ((Expr::pi() / Expr::int(3)).cos(), "1/2"),
        ((Expr::pi() / Expr::int(12)).sin(), "sqrt(6)/4 - sqrt(2)/4"),
        ((-&x).sin(), "-sin(x)"),
        (x.exp() * y.exp() / x.exp(), "exp(y)"),
        (x.exp().ln(), "x"),
        ((Expr::int(4) * &x).sqrt(), "2*sqrt(x)"),
        (x.sqrt() * x.sqrt(), "x"),
        (Expr::lit(0.1) * &x + Expr::lit(0.1) * &x, "2*0.1*x"),
        (Expr::lit(0.5) * &x, "x/2"),
        (x.tan() * &y, "y*sin(x)/(cos(x))"),
        (x.abs() + x.max(&y), "abs(x) + max(x, y)"),
    ];
    for (expr, expected) in cases {
        assert_eq!(text(expr), *expected, "{expr}");
    }
}

#[test]
fn products_on_request() {
    let [x, y, z] = inputs();
    let factored = |e: &Expr| e.normal().unwrap().factored().to_string();
    let one = Expr::one();
    assert_eq!(factored(&(x.powi(2) - y.powi(2))), "(x - y)*(x + y)");
    assert_eq!(factored(&((&x + &one).powi(2) * (&y - Expr::int(2)))), "(y - 2)*(x + 1)^2");
    assert_eq!(factored(&(Expr::int(6) * x.powi(3) - Expr::int(6) * &x)), "6*x*(x - 1)*(x + 1)");
    assert_eq!(factored(&(x.powi(3) - y.powi(3))), "(x - y)*(x^2 + x*y + y^2)");
    assert_eq!(factored(&(x.powi(2) + &one)), "x^2 + 1");
    assert_eq!(factored(&(&x * &y / Expr::int(2) + &x * &z / Expr::int(3))), "x*(3*y + 2*z)/6");
    assert_eq!(factored(&((&x + &one) * (&y + &one) * (&z + &one))), "(x + 1)*(y + 1)*(z + 1)");
    assert_eq!(
        factored(&(Expr::int(2) * x.sin() + Expr::int(4) * y.cos())),
        "2*(2*cos(y) + sin(x))"
    );
    assert_eq!(factored(&Expr::zero()), "0");
    assert_eq!(factored(&(x.powi(4) + Expr::int(4))), "(x^2 - 2*x + 2)*(x^2 + 2*x + 2)");
    assert_eq!(factored(&(x.powi(6) - &one)), "(x - 1)*(x + 1)*(x^2 - x + 1)*(x^2 + x + 1)");
    assert_eq!(
        factored(&(x.powi(4) + Expr::int(4) * y.powi(4))),
        "(x^2 - 2*x*y + 2*y^2)*(x^2 + 2*x*y + 2*y^2)"
    );
}

#[test]
fn latex() {
    let [x, y, _] = inputs();
    let theta = Expr::symbol("theta");
    let e =
        Expr::int(3).sqrt() * (theta / Expr::int(2)).cos() * x.powi(2) / (&y + Expr::int(1)) - &y;
    let expected =
        r"\frac{\sqrt{3} x^{2} \cos\left(\frac{\theta}{2}\right)}{\left(y + 1\right)} - y";
    assert_eq!(e.normal().unwrap().latex(), expected);
    assert_eq!(
        (x.powi(2) - y.powi(2)).normal().unwrap().factored().latex(),
        r"\left(x - y\right) \left(x + y\right)"
    );
}

#[test]
fn names_that_look_alike_are_told_apart_in_latex() {
    let [a, b, c] = ["theta1", "theta_1", "phi_1"].map(Expr::symbol);
    assert_eq!((&a + &c).normal().unwrap().latex(), r"\phi_{1} + \theta_{1}");
    assert_eq!(
        (&a * b.sin()).normal().unwrap().latex(),
        r"\mathtt{theta1} \sin\left(\mathtt{theta\_1}\right)"
    );
    let product = (a.powi(2) - b.powi(2)).normal().unwrap().factored().latex();
    assert!(product.contains(r"\mathtt{theta1} - \mathtt{theta\_1}"), "{product}");
    // A symbol called pi is not the circle constant.
    let both = Expr::symbol("pi") + Expr::pi();
    assert_eq!(both.normal().unwrap().latex(), r"\mathtt{pi} + \pi");
    assert_eq!(both.normal().unwrap().to_string(), "pi + acos(-1)");
    assert_eq!(both.to_string(), "pi + acos(-1.0)");
}

#[test]
fn what_has_no_normal_form_says_so() {
    let [x, y, _] = inputs();
    let zero = &x - (&x + &y) + &y;
    assert_eq!((Expr::int(1) / zero).normal().unwrap_err(), NormalError::DivisionByZero);
    let trig = x.sin().powi(2) + x.cos().powi(2) - Expr::one();
    assert_eq!((&y / trig).normal().unwrap_err(), NormalError::DivisionByZero);
    let many = (0..14).fold(Expr::one(), |p, k| p * (Expr::symbol(&format!("a{k}")) + Expr::one()));
    assert!(matches!(many.normal(), Err(NormalError::Terms { limit: MAX_TERMS })));
    assert!(matches!((Expr::lit(f64::NAN) * &x).normal(), Err(NormalError::Unsupported { .. })));
    let branch = x.select(ketgrad_core::ir::Compare::Lt, &y, &x, &y);
    assert!(branch.normal().unwrap_err().to_string().contains("has no normal form"));
    let huge = (0..11).fold(&x * Expr::int(1 << 40), |e, _| &e * &e);
    assert!(matches!(huge.normal(), Err(NormalError::Coefficient { bits: 65536 })));
    let high = (0..33).fold(x, |e, _| &e * &e);
    assert!(matches!(high.normal(), Err(NormalError::Exponent)));
}

#[test]
fn equality_of_large_expressions() {
    // (1 + x)(1 + x^2)(1 + x^4)… = (x^(2^k) - 1)/(x - 1), with 2^40 terms multiplied out.
    let x = Expr::symbol("x");
    let (mut product, mut power) = (Expr::one(), x.clone());
    for _ in 0..40 {
        product *= Expr::one() + &power;
        power = &power * &power;
    }
    let sum = (power - Expr::one()) / (&x - Expr::one());
    assert!(
        matches!(product.equality(&sum, 3).unwrap(), Equality::Equal { error_bound } if error_bound < 1e-5)
    );
    // Unlike at x = 0, where numbers show no difference of x^(2^40).
    let [x, y, _] = inputs();
    let unknown = (x.powi(2)).sqrt().equality(&x.sqrt().powi(4).sqrt(), 1).unwrap();
    assert!(matches!(unknown, Equality::Equal { .. }));
    let left = (x.exp() + y.exp()).powi(2) - (x.exp() - y.exp()).powi(2);
    assert!(matches!(
        left.equality(&(Expr::int(4) * (&x + &y).exp()), 1).unwrap(),
        Equality::Equal { .. }
    ));
    let hyperbolic = x.cosh().powi(2) - x.sinh().powi(2);
    assert!(matches!(hyperbolic.equality(&Expr::one(), 1).unwrap(), Equality::Equal { .. }));
    let quotient = x.sinh() / x.cosh();
    assert!(matches!(x.tanh().equality(&quotient, 1).unwrap(), Equality::Equal { .. }));
    let opaque = x.erf() + x.erfc();
    let Equality::Unknown { reason } = opaque.equality(&Expr::one(), 1).unwrap() else { panic!() };
    assert!(reason.contains("no difference"), "{reason}");
    let tiny = x.equality(&(&x * Expr::lit(1.0 + 1e-6)), 1).unwrap();
    assert!(matches!(tiny, Equality::Different { difference, .. } if difference > 0.0));
}

#[test]
fn roots_keep_their_signs() {
    let cos = |n, d| (Expr::pi() * Expr::ratio(n, d)).cos();
    let root = |n: i64| Expr::int(n).sqrt();
    let quarter = |e: Expr| e / Expr::int(4);
    let cases = [
        (cos(1, 8).powi(2), quarter(Expr::int(2) + root(2)), quarter(Expr::int(2) - root(2))),
        (cos(1, 5), quarter(root(5) + Expr::one()), quarter(Expr::one() - root(5))),
        (cos(2, 5), quarter(root(5) - Expr::one()), quarter(-root(5) - Expr::one())),
        // sin(2 pi/7) + sin(4 pi/7) + sin(8 pi/7) = sqrt(7)/2
        (
            [2, 4, 8].map(|n| cos(2 * n - 7, 14)).into_iter().fold(Expr::zero(), |s, x| s + x),
            root(7) / Expr::int(2),
            -root(7) / Expr::int(2),
        ),
    ];
    for (value, equal, conjugate) in cases {
        for seed in 0..12 {
            assert!(
                matches!(value.equality(&equal, seed).unwrap(), Equality::Equal { .. }),
                "{value} {seed}"
            );
            let other = value.equality(&conjugate, seed).unwrap();
            assert!(
                matches!(other, Equality::Different { .. }),
                "{value} = {conjugate}? {other:?}"
            );
        }
    }
}

/// `cbrt(y)^3 = y`, which the fields do not know, and whose rounding is larger than any difference.
#[test]
fn rounding_is_no_difference() {
    let y = (Expr::int(30) * Expr::symbol("x")).exp();
    let one = y.cbrt().powi(3) - &y + Expr::one();
    assert!(matches!(one.equality(&Expr::one(), 1).unwrap(), Equality::Unknown { .. }));
    let x = Expr::symbol("x");
    let near = x.cosh() * (Expr::one() + Expr::lit(1e-7));
    assert!(matches!(near.equality(&x.cosh(), 1).unwrap(), Equality::Different { .. }));
}

#[test]
fn derivatives_have_normal_forms() {
    let [x, y, _] = inputs();
    let f = x.sin() * x.cos() * &y + (&x * &y).exp();
    assert_eq!(f.derivative("x").unwrap().normal().unwrap().to_string(), "y*exp(x*y) + y*cos(2*x)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// The form, its text, its product and its expression have the value of the expression.
    #[test]
    fn values_are_kept(seed in any::<u64>()) {
        let mut rng = Rng::new(seed);
        let e = random(&mut rng, 4);
        let at = at(&mut rng);
        let expected = e.evaluate(&at).unwrap();
        let Ok(normal) = e.normal() else { return Ok(()) };
        if !expected.is_finite() || expected.abs() > 1e6 { return Ok(()) }
        let back = normal.expression().unwrap();
        prop_assert!(close(back.evaluate(&at).unwrap(), expected), "{e} = {normal}");
        prop_assert_eq!(back.normal().unwrap(), normal.clone(), "{}", e);
        for text in [normal.to_string(), normal.factored().to_string()] {
            let value = evaluate(&text, &at);
            prop_assert!(close(value.re, expected) && value.im.abs() < ROUNDING, "{} = {}", e, text);
        }
        prop_assert!(matches!(e.equality(&back, seed).unwrap(), Equality::Equal { .. }), "{e} = {normal}");
        // The difference is caught, and one of zero is none.
        let other = &back + Expr::ratio(1, 1000);
        prop_assert!(matches!(e.equality(&other, seed).unwrap(), Equality::Different { .. }), "{e}");
    }

    /// Derivatives by the engine have the values of duals, also in normal form.
    #[test]
    fn derivatives_are_kept(seed in any::<u64>()) {
        let mut rng = Rng::new(seed);
        let e = random(&mut rng, 3);
        let at = at(&mut rng);
        let duals = at.map(|(name, x)| (name, Dual64::new(x, f64::from(u8::from(name == "x")))));
        let expected = e.evaluate(&duals).unwrap().eps;
        let Ok(normal) = e.derivative("x").unwrap().normal() else { return Ok(()) };
        if expected.is_finite() && expected.abs() < 1e6 {
            let value = normal.expression().unwrap().evaluate(&at).unwrap();
            prop_assert!(close(value, expected), "{e}: {normal}");
        }
    }
}

#[test]
fn whole_numbers_beyond_floats_stay_exact() {
    let [x, ..] = inputs();
    let (odd, even) = ((1i64 << 53) + 1, 1i64 << 53);
    assert_eq!(text(&(Expr::int(odd) * &x)), "9007199254740993*x");
    assert_eq!(
        text(&(Expr::int(i64::MAX) * Expr::int(i64::MAX))),
        "85070591730234615847396907784232501249"
    );
    assert_eq!(text(&(Expr::int(odd) + &x - Expr::int(even))), "x + 1");
    // Beyond 128 bits, and back.
    let factorial = (1..=40).fold(Expr::one(), |p, k| p * (&x * Expr::int(k)));
    let normal = factorial.normal().unwrap();
    assert_eq!(normal.to_string(), "815915283247897734345611269596115894272000000000*x^40");
    assert_eq!(normal.expression().unwrap().normal().unwrap(), normal);
    let small = (Expr::one() / &factorial).normal().unwrap();
    assert_eq!(small.expression().unwrap().normal().unwrap(), small);
    let different = (Expr::int(odd) * &x).equality(&(Expr::int(even) * &x), 1).unwrap();
    assert!(!matches!(different, Equality::Equal { .. }), "{different:?}");
    assert_eq!((Expr::int(odd) * &x).evaluate(&[("x", 1.0)]).unwrap(), odd as f64);
}

#[test]
fn odd_and_even_functions_have_one_form() {
    let [x, y, _] = inputs();
    type F = fn(&Expr) -> Expr;
    let odd: [F; 7] = [
        Scalar::cbrt,
        Scalar::sinh,
        Scalar::tanh,
        Scalar::asin,
        Scalar::atan,
        Scalar::asinh,
        Scalar::atanh,
    ];
    for f in odd {
        assert_eq!(text(&f(&(&x - &y))), text(&-f(&(&y - &x))));
    }
    let even: [F; 2] = [Scalar::cosh, Expr::abs];
    for f in even {
        assert_eq!(text(&f(&(&x - &y))), text(&f(&(&y - &x))));
    }
    // The form of a form is itself.
    let e = (Expr::int(3) * (&x - &y).sin() * Expr::ratio(-1, 7)).atanh();
    assert_eq!(text(&e.normal().unwrap().expression().unwrap()), text(&e));
}

#[test]
fn a_series_has_coefficients_from_its_start_to_its_order() {
    let x = Expr::symbol("x");
    let series = (x.cos() / x.powi(2)).series("x", &Expr::int(0), 5).unwrap();
    let value = |k: i32| -> Option<f64> {
        series.coefficient(k).map(|c| c.expression().unwrap().evaluate(&[]).unwrap())
    };
    assert_eq!(series.start(), -2);
    for (k, expected) in [(-3, 0.0), (-2, 1.0), (-1, 0.0), (0, -0.5), (1, 0.0), (2, 1.0 / 24.0)] {
        assert!((value(k).unwrap() - expected).abs() < 1e-15, "{k}");
    }
    assert!(value(series.order() - 1).is_some() && value(series.order()).is_none());
}

#[test]
fn a_cancelled_fraction_is_the_same_number() {
    let [x, y, _] = inputs();
    let long = (x.powi(2) - y.powi(2)) / ((&x - &y) * (&x + Expr::int(3)));
    let fraction = long.normal().unwrap().cancelled().unwrap();
    let at = [("x", 0.7), ("y", 0.2)];
    let value: f64 = fraction.expression().unwrap().evaluate(&at).unwrap();
    assert!(close(value, 0.9 / 3.7) && close(value, long.evaluate(&at).unwrap()), "{value}");
}

#[test]
fn long_and_deep_expressions_end_in_time() {
    let [x, ..] = inputs();
    // A long sum.
    let terms = (0..4000).map(|k| Expr::symbol(&format!("s{k}")) * &x);
    assert_eq!(terms.fold(Expr::zero(), |sum, t| sum + t).normal().unwrap().n_terms(), 4000);
    // Functions of functions: as a text some are longer than any memory.
    let deep = (0..5000).fold(x.clone(), |e, _| e.sin() + Expr::one());
    assert!(matches!(deep.normal(), Err(NormalError::Depth { .. })));
    let wide = (0..60).fold(x.clone(), |e, _| e.exp().atan() + e.atan());
    assert!(matches!(wide.normal(), Err(NormalError::Inner { .. })));
    let unequal = wide.equality(&(&wide + Expr::one()), 1).unwrap();
    assert!(matches!(unequal, Equality::Different { .. }), "{unequal:?}");
}
