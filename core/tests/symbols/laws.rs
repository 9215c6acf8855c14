//! Laws of products, fractions, rules, series and limits over random inputs.

use ketgrad_core::{
    normal::{Approach, Equality, ExprExt, Limit, NormalError, SeriesError},
    scalar::Scalar,
    trace::Expr,
};
use num_dual::Dual64;
use support::{
    formula::{evaluate, expression as read},
    random::Rng,
};

const ROUNDING: f64 = 1e-8;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * (1.0 + a.abs().max(b.abs()))
}

fn whole(rng: &mut Rng, most: usize) -> i64 {
    rng.below(2 * most + 1) as i64 - most as i64
}

/// A random polynomial of a degree in one input or two.
fn polynomial(rng: &mut Rng, degree: usize, names: &[&str]) -> Expr {
    let mut sum = Expr::symbol(names[0]).powi(degree as i64) * Expr::int(1 + rng.below(3) as i64);
    for k in 0..degree {
        let other = names[rng.below(names.len())];
        let power = rng.below(degree - k + 1) as i64;
        sum += Expr::int(whole(rng, 5))
            * Expr::symbol(names[0]).powi(k as i64)
            * Expr::symbol(other).powi(power);
    }
    sum + Expr::int(1 + rng.below(9) as i64)
}

#[test]
fn products_of_factors_are_the_polynomial() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let names: &[&str] = if seed % 3 == 0 { &["x", "y"] } else { &["x"] };
        let most = if names.len() == 2 { 2 } else { 5 };
        let parts: Vec<Expr> = (0..2 + rng.below(2))
            .map(|_| {
                let degree = 1 + rng.below(most);
                polynomial(&mut rng, degree, names)
            })
            .collect();
        let f = parts.iter().fold(Expr::int(1), |f, g| f * g).normal().unwrap();
        if f.is_zero() {
            continue;
        }
        let product = f.factored();
        let mut back = product.front().expression().unwrap();
        let mut count = 0;
        for (g, e) in product.factors() {
            let single = g.factored();
            assert_eq!(single.factors().map(|x| x.1).sum::<i32>(), 1, "{g} is a product: {single}");
            back *= g.expression().unwrap().powi(i64::from(e));
            count += e;
        }
        assert_eq!(back.normal().unwrap(), f, "seed {seed}: {product}");
        let own = |g: &Expr| g.normal().unwrap().factored().factors().map(|x| x.1).sum::<i32>();
        assert!(product.is_complete(), "seed {seed}: {product}");
        assert_eq!(count, parts.iter().map(own).sum::<i32>(), "seed {seed}: {product}");
    }
}

/// Irreducible by Eisenstein's criterion: the leading coefficient is 1, the others are multiples of
/// a prime, the last one not of its square.
#[test]
fn irreducible_factors_stay() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let x = Expr::symbol("x");
        let mut eisenstein = |degree: i64, prime: i64| {
            let middle = (1..degree).map(|k| Expr::int(prime * whole(&mut rng, 3)) * x.powi(k));
            middle.fold(x.powi(degree) + Expr::int(prime), |f, term| f + term)
        };
        let (f, g) = (eisenstein(2 + seed as i64 % 7, 3), eisenstein(3 + seed as i64 % 5, 5));
        let product = (&f * &g * &g).normal().unwrap().factored();
        let mut found: Vec<(String, i32)> =
            product.factors().map(|(f, e)| (f.to_string(), e)).collect();
        let mut expected =
            vec![(f.normal().unwrap().to_string(), 1), (g.normal().unwrap().to_string(), 2)];
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "seed {seed}");
        assert!(product.is_complete());
    }
}

/// Swinnerton-Dyer's polynomials have linear or quadratic factors modulo every prime, and none over
/// the integers.
#[test]
fn hard_polynomials_end() {
    let x = Expr::symbol("x");
    let mut f = x.clone();
    for (k, prime) in [2, 3, 5, 7, 11, 13].into_iter().enumerate() {
        let root = Expr::int(prime).sqrt();
        let shifted = |sign: i64| {
            let text = f.normal().unwrap().to_string().replace('x', "(x + s)");
            let form = read(&text).normal().unwrap().expression().unwrap();
            // s is the root with either sign.
            let program = form.function("f", &["x", "s"]).unwrap();
            let s = Expr::int(sign) * &root;
            applied(&program, &x, &s)
        };
        f = shifted(1) * shifted(-1);
        let normal = f.normal().unwrap();
        let product = normal.factored();
        assert_eq!(product.n_factors(), 1, "{product}");
        assert_eq!(product.is_complete(), k < 5, "of degree {}", 2 << k);
    }
}

/// The expression `f(x, s)` of a program.
fn applied(program: &ketgrad_core::ir::Program, x: &Expr, s: &Expr) -> Expr {
    let f = Expr::from_program(program, "f").unwrap();
    f.evaluate(&[("x", x.clone()), ("s", s.clone())]).unwrap()
}

#[test]
fn cyclotomic_polynomials() {
    // The number of factors of x^n - 1 is the number of divisors of n.
    for n in [12i64, 30, 60, 105, 200] {
        let product = (Expr::symbol("x").powi(n) - Expr::int(1)).normal().unwrap().factored();
        let divisors = (1..=n).filter(|d| n % d == 0).count();
        assert_eq!((product.n_factors(), product.is_complete()), (divisors, true), "{n}");
    }
}

#[test]
fn fractions_keep_their_values() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let names: &[&str] = if seed % 4 == 0 { &["x", "y"] } else { &["x"] };
        let mut part = || {
            let degree = 1 + rng.below(2);
            polynomial(&mut rng, degree, names)
        };
        let (a, b, c, d) = (part(), part(), part(), part());
        let sum = (&a * &c) / (&b * &c) + &d / &b - Expr::int(1) / (Expr::int(1) + &a / &c);
        let fraction = sum.normal().unwrap().cancelled().unwrap();
        assert!(fraction.is_reduced(), "seed {seed}: {fraction}");
        for k in 0..4 {
            let at = [("x", 0.4 + f64::from(k) * 0.7), ("y", 1.1 - f64::from(k) * 0.3)];
            let expected = sum.evaluate(&at).unwrap();
            let texts = [fraction.to_string(), fraction.factored().to_string()];
            for value in texts.map(|text| evaluate(&text, &at).re) {
                assert!(
                    close(value, expected) || !expected.is_finite(),
                    "seed {seed}: {value} {expected}"
                );
            }
        }
        // Nothing is left in common: what both are multiplied by leaves again.
        let more = (&sum * &c / &c).normal().unwrap().cancelled().unwrap();
        assert_eq!(more, fraction, "seed {seed}");
    }
}

/// A random function that is analytic near 0, with texts that the reader of formulas understands.
fn analytic(rng: &mut Rng, depth: usize) -> String {
    if depth == 0 {
        return ["x", "1", "2", "x", "1/3"][rng.below(5)].to_owned();
    }
    let one = analytic(rng, depth - 1);
    match rng.below(12) {
        0 | 1 => format!("({one} + {})", analytic(rng, depth - 1)),
        2 | 3 => format!("({one})*({})", analytic(rng, depth - 1)),
        4 => format!("sin({one})"),
        5 => format!("cos({one})"),
        6 => format!("exp(sin({one}))"),
        7 => format!("ln(3 + cos({one}))"),
        8 => format!("sqrt(2 + sin({one}))"),
        9 => format!("atan({one})"),
        10 => format!("tanh({one})"),
        _ => format!("({one})/(2 + x)"),
    }
}

#[test]
fn coefficients_are_derivatives() {
    let mut compared = 0;
    for seed in 0..80 {
        let mut rng = Rng::new(seed);
        let text = analytic(&mut rng, 2);
        let f = read(&text);
        let point = Expr::ratio(whole(&mut rng, 1), 3);
        // Numbers such as exp(sin(exp(1/3))) may make coefficients too long.
        let series = match f.series("x", &point, 5) {
            Err(SeriesError::Normal(NormalError::Terms { .. })) => continue,
            series => series.unwrap_or_else(|e| panic!("{text}: {e}")),
        };
        compared += 1;
        let at = [("x", point.evaluate::<f64>(&[]).unwrap())];
        let (mut slope, mut factorial) = (f, 1.0);
        for k in 0..5 {
            let c =
                series.coefficient(k).unwrap().expression().unwrap().evaluate::<f64>(&[]).unwrap();
            let expected = slope.evaluate(&at).unwrap() / factorial;
            assert!(close(c, expected), "{text} at {point}: {c} is no {expected} in {series}");
            slope = slope.derivative("x").unwrap();
            factorial *= f64::from(k + 1);
        }
        assert!(series.coefficient(5).is_none());
    }
    assert!(compared > 40, "{compared}");
}

#[test]
fn limits_of_difference_quotients_are_derivatives() {
    let mut compared = 0;
    for seed in 0..60 {
        let mut rng = Rng::new(seed + 1000);
        let text = analytic(&mut rng, 2);
        let f = read(&text);
        let Ok(series) = f.series("x", &Expr::int(0), 1) else { continue };
        let quotient =
            (&f - series.coefficient(0).unwrap().expression().unwrap()) / Expr::symbol("x");
        let limit = match quotient.limit("x", &Approach::Both(Expr::int(0))) {
            Err(SeriesError::Normal(NormalError::Terms { .. })) => continue,
            limit => limit.unwrap_or_else(|e| panic!("{text}: {e}")),
        };
        compared += 1;
        let Limit::Finite(form) = limit else { panic!("{text}: {limit}") };
        let value = form.expression().unwrap().evaluate::<f64>(&[]).unwrap();
        let expected = f.evaluate(&[("x", Dual64::new(0.0, 1.0))]).unwrap().eps;
        assert!(close(value, expected), "{text}: {value} is no {expected}");
    }
    assert!(compared > 30, "{compared}");
}

/// The first terms of a sum cancel, as many as it is first expanded to, one fewer, one more.
#[test]
fn limits_wait_for_the_first_term_that_does_not_cancel() {
    for k in 1..=14 {
        for (text, expected) in [
            (format!("(exp(x^{k}) - 1)/x^{k}"), "1"),
            (format!("(cos(x^{k}) - 1)/x^{}", 2 * k), "-1/2"),
            (format!("(exp(x^{k}) - 1)/x^{}", k - 1), "0"),
        ] {
            let limit = read(&text).limit("x", &Approach::Right(Expr::int(0))).unwrap();
            assert_eq!(limit.to_string(), expected, "{text}");
        }
        // What a series says of a power that it is not asked for is that it is not known.
        for f in ["exp", "cos", "sin", "atan"] {
            let f = read(&format!("{f}(x^{k}/2)"));
            for order in 0..k {
                let series = f.series("x", &Expr::int(0), order).unwrap();
                let next = series.coefficient(k).map(|c| c.to_string());
                assert!(next.as_deref() != Some("0"), "{f} to order {order}: {series}");
            }
        }
    }
}

#[test]
fn there_is_no_limit_or_series_where_there_is_none() {
    let (x, zero) = (Expr::symbol("x"), Expr::int(0));
    let both = || Approach::Both(zero.clone());
    type E = SeriesError;
    assert!(matches!(read("1/x").limit("x", &both()), Err(E::Sides { .. })));
    assert!(matches!(read("abs(x)/x").limit("x", &both()), Err(E::Sides { .. })));
    assert!(matches!(read("exp(1/x)").limit("x", &both()), Err(E::Sides { .. })));
    assert!(matches!(read("sqrt(x)").limit("x", &both()), Err(E::Undefined { .. })));
    assert!(matches!(
        read("ln(x)").limit("x", &Approach::Left(zero.clone())),
        Err(E::Undefined { .. })
    ));
    assert!(matches!(read("sin(1/x)").limit("x", &both()), Err(E::Unknown { .. })));
    assert!(matches!(read("a*x").limit("x", &Approach::Infinity), Err(E::Undecided { .. })));
    assert!(matches!(read("exp(1/x)").series("x", &zero, 3), Err(E::Essential)));
    assert!(matches!(read("sqrt(x)").series("x", &zero, 3), Err(E::Branch { .. })));
    assert!(matches!(read("abs(x)").series("x", &zero, 3), Err(E::Branch { .. })));
    assert!(matches!(read("ln(x)").series("x", &zero, 3), Err(E::Branch { .. })));
    assert!(matches!(read("x").series("x", &x, 3), Err(E::Point { .. })));
    let infinite: [(&str, Approach, Limit); 5] = [
        ("1/x^2", both(), Limit::Infinity),
        ("ln(x)", Approach::Right(zero.clone()), Limit::NegativeInfinity),
        ("exp(x)/x^9", Approach::Infinity, Limit::Infinity),
        ("x^3", Approach::NegativeInfinity, Limit::NegativeInfinity),
        ("x/ln(x)", Approach::Infinity, Limit::Infinity),
    ];
    for (f, approach, expected) in infinite {
        assert_eq!(read(f).limit("x", &approach).unwrap(), expected, "{f}");
    }
}

/// A random expression of functions with rules, defined where x and y are positive and below 1.
fn composed(rng: &mut Rng, depth: usize) -> String {
    if depth == 0 {
        return ["x", "y", "1/2", "x*y", "2"][rng.below(5)].to_owned();
    }
    let one = composed(rng, depth - 1);
    match rng.below(14) {
        0 => format!("({one} - {})", composed(rng, depth - 1)),
        1 | 2 => format!("({one})*({})", composed(rng, depth - 1)),
        3 => format!("sinh({one})"),
        4 => format!("cosh({one})"),
        5 => format!("tanh({one})"),
        6 => format!("ln(({one})^2)"),
        7 => format!("ln(x*exp({one}))"),
        8 => format!("sqrt(({one})^2)"),
        9 => format!("exp(ln(x)/2 + sin({one}))"),
        10 => format!("asin(sin({one}))"),
        11 => format!("cos(atan({one}))"),
        12 => format!("abs({one})^3"),
        _ => format!("asinh(sinh({one}))"),
    }
}

/// The rules keep values, and the form, its text and its expression agree.
#[test]
fn rules_keep_values() {
    let mut compared = 0;
    for seed in 0..250 {
        let mut rng = Rng::new(seed);
        let text = composed(&mut rng, 3);
        let at = [("x", 0.1 + 0.8 * rng.unit()), ("y", 0.1 + 0.8 * rng.unit())];
        let expected = evaluate(&text, &at);
        let Ok(normal) = read(&text).normal() else { continue };
        if !expected.is_finite() || expected.norm() > 1e5 || expected.im.abs() > 1e-9 {
            continue;
        }
        let value = evaluate(&normal.to_string(), &at).re;
        assert!(close(value, expected.re), "{text} = {normal}: {value} is no {expected}");
        let expression = normal.expression().unwrap();
        let value = expression.evaluate(&at).unwrap();
        assert!(close(value, expected.re), "{text} = {expression}: {value} is no {expected}");
        let equality = read(&text).equality(&expression, seed).unwrap();
        assert!(!matches!(equality, Equality::Different { .. }), "{text} = {normal}: {equality:?}");
        compared += 1;
    }
    assert!(compared > 150, "{compared}");
}
