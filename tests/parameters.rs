//! Angles and parameter expressions: exactness, no panic at the ends of 64 bits, text, derivatives.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    circuit::Circuit,
    hybrid::{Expectation, Method},
    kernel::Executors,
    observable::PauliSum,
    param::{Angle, BindError, Binding, ElementaryFunction, ParamExpr, ParamId, Q, Step, Values},
    simulate::Simulator,
};
use num_complex::Complex;
use num_dual::Dual64;
use proptest::{prelude::*, sample::select};
use support::{close::ROUNDING, random::angle_of};

const THETA: ParamId = ParamId::new(0);

#[test]
fn whole_turns_of_pi_are_left_out_exactly() {
    let none = Values::<f64>(&[]);
    for d in [3, 5, 7, 12] {
        for n in [1 << 40, (1 << 50) + 1, i64::MAX / 4, -(1 << 58) - 1] {
            let far: Complex<f64> = none.cis(&Angle::pi(n, d)).unwrap();
            let near: Complex<f64> = none.cis(&Angle::pi(n % (2 * d), d)).unwrap();
            assert!((far - near).norm() < ROUNDING, "{n}/{d} pi: {far} and {near}");
        }
    }
}

/// Numbers of every size, the ends of the range among them.
fn extreme() -> impl Strategy<Value = i64> {
    prop_oneof![
        select(vec![
            i64::MIN,
            i64::MIN + 1,
            -1,
            0,
            1,
            2,
            3,
            i64::MAX - 1,
            i64::MAX,
            1 << 62,
            1 << 32,
            (1 << 31) - 1
        ]),
        any::<i64>(),
        -100i64..100,
    ]
}

/// A fraction in lowest terms, its denominator positive, as arithmetic keeps it.
fn fraction() -> impl Strategy<Value = Q> {
    (extreme(), extreme().prop_filter("positive", |d| *d > 0))
        .prop_map(|(n, d)| if n == i64::MIN { Q::new_raw(n, 1) } else { Q::new(n, d) })
}

fn wild_angle() -> impl Strategy<Value = Angle> {
    let id = (0u32..3).prop_map(ParamId::new);
    let radians = prop_oneof![Just(0.0), any::<f64>(), -10.0..10.0];
    (extreme(), extreme(), radians, proptest::collection::vec((id, fraction()), 0..3)).prop_map(
        |(n, d, r, terms)| {
            terms
                .into_iter()
                .fold(Angle::pi(n, d) + Angle::rad(r), |a, (id, q)| a + Angle::theta(id) * q)
        },
    )
}

/// The value at a fixed point, by the definition.
fn value(a: &Angle) -> f64 {
    let q = |q: Q| *q.numer() as f64 / *q.denom() as f64;
    let at = [0.3, -1.7, 2.9];
    q(a.pi_part()) * std::f64::consts::PI
        + a.radian_part()
        + a.terms().iter().map(|&(id, c)| q(c) * at[id.index()]).sum::<f64>()
}

proptest! {
    #[test]
    fn arithmetic_on_angles_never_panics(a in wild_angle(), b in wild_angle(), q in fraction()) {
        let results = [
            a.clone() + b.clone(), a.clone() - b.clone(), -a.clone(), a.clone() * q, (a.clone() + b.clone()) * q,
            a.substitute(|_| b.clone()), &a + &b, -&a,
        ];
        for r in results {
            let _ = (r.to_string(), r.eighth_turns(), r.constant(), r == a);
            prop_assert!(r.terms().windows(2).all(|w| w[0].0 < w[1].0), "sorted");
            prop_assert!(r.terms().iter().all(|t| *t.1.numer() != 0), "no zeros");
            // What is not a number is refused, never turned into one silently.
            if let Ok(z) = Values::<f64>(&[0.3, -1.7, 2.9]).cis(&r) {
                prop_assert!(z.re.is_finite() && z.im.is_finite());
            }
        }
    }

    #[test]
    fn small_angles_are_exact(a in angle_of(3), b in angle_of(3), n in -9i64..9, d in 1i64..9) {
        let q = Q::new(n, d);
        prop_assert_eq!((a.clone() + b.clone()).pi_part(), a.pi_part() + b.pi_part());
        prop_assert_eq!((a.clone() * q).pi_part(), a.pi_part() * q);
        let near = |x: f64, y: f64| (x - y).abs() <= ROUNDING * (1.0 + x.abs().max(y.abs())) * 10.0;
        prop_assert!(near(value(&(a.clone() + b.clone())), value(&a) + value(&b)));
        prop_assert!(near(value(&(a.clone() - b.clone())), value(&a) - value(&b)));
        prop_assert!(near(value(&(a.clone() * q)), value(&a) * n as f64 / d as f64));
        let difference = a.clone() - a.clone();
        prop_assert_eq!(&difference, &Angle::zero());
        prop_assert_eq!(difference.to_string(), "0");
        prop_assert_eq!(-(-a.clone()), a.clone());
        prop_assert_eq!(a.substitute(Angle::theta), a);
    }

    #[test]
    fn small_coefficients_keep_their_digits(m in 1.0f64..10.0, exponent in -18i32..6, sign in select(vec![1.0, -1.0])) {
        let x = sign * m * 10f64.powi(exponent);
        let coefficient = (x * Angle::theta(THETA)).terms()[0].1;
        let given = *coefficient.numer() as f64 / *coefficient.denom() as f64;
        prop_assert!((given - x).abs() <= 4.0 * f64::EPSILON * x.abs(), "{given} {x}");
    }

    #[test]
    fn an_angle_that_outgrows_64_bits_keeps_its_value(n in 1i64 << 40..1 << 60, d in (1i64 << 40)..1 << 60, m in 1i64 << 40..1 << 60, e in (1i64 << 40)..1 << 60) {
        let (a, b) = (Angle::pi(n, d), Angle::pi(m, e));
        let expected = value(&a) + value(&b);
        // Double precision is what is promised then.
        prop_assert!((value(&(a.clone() + b)) - expected).abs() <= 1e-15 * 4.0 * expected);
        let product = value(&(a.clone() * Q::new(m, e)));
        let expected = value(&a) * m as f64 / e as f64;
        prop_assert!((product - expected).abs() <= 1e-15 * 4.0 * expected);
    }

    #[test]
    fn cis_of_eighth_turns_is_exact(k in -1000i64..1000) {
        let z = Values::<f64>(&[]).cis(&Angle::pi(k, 4)).unwrap();
        let r = 0.5f64.sqrt();
        let (one, zero) = (1.0, 0.0);
        let table = [(one, zero), (r, r), (zero, one), (-r, r), (-one, zero), (-r, -r), (zero, -one), (r, -r)];
        let (re, im) = table[k.rem_euclid(8) as usize];
        prop_assert_eq!(z, Complex::new(re, im));
        prop_assert_eq!(i64::from(Angle::pi(k, 4).eighth_turns().unwrap()), k.rem_euclid(8));
    }
}

#[test]
fn angles_read_as_people_write_them() {
    let text = |a: Angle| a.to_string();
    assert_eq!(text(Angle::zero()), "0");
    assert_eq!(text(Angle::pi(2, 4)), "pi/2");
    assert_eq!(text(Angle::pi(-3, 4)), "-3*pi/4");
    assert_eq!(text(Angle::pi(3, -4)), "-3*pi/4");
    assert_eq!(text(Angle::pi(2, 1)), "2*pi");
    assert_eq!(text(Angle::rad(0.25) - Angle::theta(THETA)), "-p0 + 0.25");
    assert_eq!(
        text(Angle::theta(THETA) * Q::new(3, 2) + Angle::pi(1, 1) - Angle::rad(1.5)),
        "pi + 3/2*p0 - 1.5"
    );
    assert!(Angle::pi(1, 0).constant().unwrap().is_nan());
    assert!(matches!(Values::<f64>(&[]).cis(&Angle::pi(1, 0)), Err(BindError::NotFinite { .. })));
    assert!(
        matches!(Values::<f64>(&[]).cis(&Angle::theta(THETA)), Err(BindError::Unbound { id }) if id == THETA)
    );
    assert!(matches!(
        Values(&[f64::INFINITY]).cis(&Angle::theta(THETA)),
        Err(BindError::NotFinite { .. })
    ));
}

/// A random expression over two parameters, with its value at a point.
fn expression() -> impl Strategy<Value = (ParamExpr, f64)> {
    let leaf = angle_of(2).prop_map(|a| {
        let v = a.pi_part();
        let x = *v.numer() as f64 / *v.denom() as f64 * std::f64::consts::PI
            + a.radian_part()
            + a.terms()
                .iter()
                .map(|&(id, q)| *q.numer() as f64 / *q.denom() as f64 * AT[id.index()])
                .sum::<f64>();
        (ParamExpr::from(a), x)
    });
    leaf.prop_recursive(4, 24, 2, |inner| {
        let function = select(ElementaryFunction::ALL.to_vec());
        prop_oneof![
            inner.clone().prop_map(|(e, x)| (e.negate(), -x)),
            (inner.clone(), function).prop_map(|((e, x), f)| (e.call(f), apply(f, x))),
            (inner.clone(), inner, 0usize..5).prop_map(|((e, x), (f, y), op)| {
                let (step, value) = match op {
                    0 => (Step::Add, x + y),
                    1 => (Step::Sub, x - y),
                    2 => (Step::Mul, x * y),
                    3 => (Step::Div, x / y),
                    _ => (Step::Pow, x.powf(y)),
                };
                (e.binary(step, f), value)
            }),
        ]
    })
}

const AT: [f64; 2] = [0.8, 1.9];

fn apply(f: ElementaryFunction, x: f64) -> f64 {
    match f {
        ElementaryFunction::Sin => x.sin(),
        ElementaryFunction::Cos => x.cos(),
        ElementaryFunction::Tan => x.tan(),
        ElementaryFunction::Asin => x.asin(),
        ElementaryFunction::Acos => x.acos(),
        ElementaryFunction::Atan => x.atan(),
        ElementaryFunction::Exp => x.exp(),
        ElementaryFunction::Ln => x.ln(),
        _ => x.sqrt(),
    }
}

/// Evaluates text in OpenQASM 3 notation: sums, products, prefix minus, powers (right to left),
/// calls. The flag says whether all numbers on the way were tame.
struct Reader<'a>(&'a str, bool);

/// Numbers far from 1 amplify one rounding without bound: `sin(5*pi/4 - 5*pi/4)*exp(300)`.
const TAME: std::ops::Range<f64> = 1e-6..1e6;

impl Reader<'_> {
    fn see(&mut self, x: f64) -> f64 {
        self.1 &= x == 0.0 || TAME.contains(&x.abs());
        x
    }
    fn take(&mut self, token: &str) -> bool {
        match self.0.trim_start().strip_prefix(token) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }
    fn sum(&mut self) -> f64 {
        let mut x = self.product();
        loop {
            if self.take("+") {
                x += self.product();
            } else if self.take("-") {
                x -= self.product();
            } else {
                return self.see(x);
            }
        }
    }
    fn product(&mut self) -> f64 {
        let mut x = self.prefix();
        loop {
            let power = self.0.trim_start().starts_with("**");
            if !power && self.take("*") {
                x *= self.prefix();
            } else if self.take("/") {
                x /= self.prefix();
            } else {
                return self.see(x);
            }
        }
    }
    fn prefix(&mut self) -> f64 {
        if self.take("-") { -self.prefix() } else { self.power() }
    }
    fn power(&mut self) -> f64 {
        let x = self.atom();
        if self.take("**") {
            let y = self.prefix();
            self.see(x.powf(y))
        } else {
            self.see(x)
        }
    }
    fn atom(&mut self) -> f64 {
        if self.take("(") {
            let x = self.sum();
            assert!(self.take(")"), "a parenthesis at {:?}", self.0);
            return x;
        }
        let text = self.0.trim_start();
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '.').unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.0 = rest;
        if let Some(f) = ElementaryFunction::ALL.into_iter().find(|f| f.name() == word) {
            assert!(rest.starts_with('('), "an argument at {rest:?}");
            return apply(f, self.atom());
        }
        match word {
            "pi" => std::f64::consts::PI,
            "a" => AT[0],
            "b" => AT[1],
            "inf" => f64::INFINITY,
            "NaN" => f64::NAN,
            _ => word.parse().unwrap_or_else(|_| panic!("{word:?} before {rest:?}")),
        }
    }
}

/// Chains of functions may amplify one rounding; the two sides differ in the order of a few sums.
const AMPLIFIED: f64 = 1e-6;

fn agree(x: f64, y: f64) -> bool {
    x == y
        || x.is_nan() == y.is_nan() && (x.is_nan() || (x - y).abs() <= AMPLIFIED * (1.0 + x.abs()))
}

proptest! {
    #[test]
    fn expressions_evaluate_as_written((expr, expected) in expression()) {
        let text = expr.text(&|id| ["a", "b"][id.index()].to_owned());
        let mut reader = Reader(&text, true);
        let read = reader.sum();
        prop_assume!(reader.1 && read.is_finite());
        let got = expr.evaluate(&AT).unwrap();
        prop_assert!(agree(got, expected), "{} against {}", got, expected);
        let dual = expr.evaluate(&AT.map(Dual64::from_re)).unwrap();
        prop_assert!(agree(dual.re, expected));
    }

    #[test]
    fn text_means_what_the_expression_means((expr, _) in expression()) {
        let text = expr.text(&|id| ["a", "b"][id.index()].to_owned());
        let mut reader = Reader(&text, true);
        let (read, evaluated) = (reader.sum(), expr.evaluate(&AT).unwrap());
        prop_assert_eq!(reader.0.trim(), "", "all of {} is read", text);
        prop_assume!(reader.1 && evaluated.is_finite() && read.is_finite());
        prop_assert!(agree(read, evaluated), "{}: {} against {}", text, read, evaluated);
    }
}

#[test]
fn expressions_print_only_the_parentheses_they_need() {
    let (a, b) = (
        || ParamExpr::from(Angle::theta(ParamId::new(0))),
        || ParamExpr::from(Angle::theta(ParamId::new(1))),
    );
    let text = |e: ParamExpr| e.text(&|id| ["a", "b"][id.index()].to_owned());
    assert_eq!(text(a().binary(Step::Sub, a().binary(Step::Sub, b()))), "a - (a - b)");
    assert_eq!(text(a().binary(Step::Div, a().binary(Step::Mul, b()))), "a/(a*b)");
    assert_eq!(text(a().binary(Step::Pow, b().negate())), "a**(-b)");
    assert_eq!(text(a().binary(Step::Pow, b()).negate()), "-a**b");
    assert_eq!(text(a().negate().binary(Step::Pow, b())), "(-a)**b");
    assert_eq!(text(a().binary(Step::Add, b()).call(ElementaryFunction::Asin)), "arcsin(a + b)");
    assert_eq!(a().evaluate::<f64>(&[]), Err(BindError::Unbound { id: ParamId::new(0) }));
    // A step that takes no two operands changes nothing.
    assert_eq!(a().binary(Step::Neg, b()), a());
    assert_eq!(
        a().binary(Step::Add, b()).params().collect::<Vec<_>>(),
        [ParamId::new(0), ParamId::new(1)]
    );
}

#[test]
fn computed_and_shared_parameters_go_through_the_tiles_of_the_adjoint_method() {
    let mut circuit = Circuit::new(9);
    let w = circuit.param_list("w", 3);
    // Shared, with fractions; and general expressions of all inputs, one of another.
    let affine = w[0].clone() * Q::new(1, 3) + w[1].clone() * 2 + Angle::pi(1, 4);
    let product = ParamExpr::from(w[0].clone())
        .call(ElementaryFunction::Sin)
        .binary(Step::Mul, w[1].clone().into());
    let product = circuit.expression(product);
    let nested = ParamExpr::from(product.clone() * 2 + w[2].clone())
        .call(ElementaryFunction::Exp)
        .call(ElementaryFunction::Atan);
    let nested = circuit.expression(nested.binary(Step::Div, Angle::rad(1.7).into()));
    for q in 0..9 {
        circuit.ry(q, [&affine, &product, &nested][q % 3]).unwrap();
        circuit.crx(q, (q + 4) % 9, [&nested, &affine, &product][q % 3]).unwrap();
        circuit.rzz(q, (q + 1) % 9, product.clone() - w[q % 3].clone()).unwrap().h(q).unwrap();
    }
    let at: [f64; 3] = [0.37, -1.2, 2.05];
    let observable: PauliSum = "Z0 X8 - 0.7*Y3 Y4 + 0.2*Z5".parse().unwrap();
    let tiles = Expectation::new(circuit, [observable]).unwrap();
    let fast = Executors::fast();
    let executor = fast.best::<Complex<f64>>(9, 36);
    assert!(executor.pair_executor(9).is_some(), "nine qubits fill a tile");
    let generic = Simulator::new().with_executors(Executors::new());
    let generic = tiles.clone().with_simulator(generic);
    let (_, expected) = generic.gradient_by(Method::Forward, &at).unwrap();
    for (energy, method) in
        [(&tiles, Method::Adjoint), (&generic, Method::Adjoint), (&tiles, Method::Shift)]
    {
        let (_, gradient) = energy.gradient_by(method, &at).unwrap();
        // Sums of two dozen derivatives below 10.
        let close = gradient.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-12);
        assert!(close, "{method}: {gradient:?} {expected:?}");
    }
}

/// 26 digits after the point.
const SCALE: i128 = 100_000_000_000_000_000_000_000_000;

/// The radians of an angle: what their shortest decimal means, or if they were rounded, the float.
fn radians(angle: &Angle) -> i128 {
    let x = angle.radian_part();
    if angle.rounding_bound() > 0.0 {
        let high = (x * 1_048_576.0).round();
        let low = x - high / 1_048_576.0;
        return high as i128 * SCALE / 1_048_576 + (low * SCALE as f64) as i128;
    }
    let shortest = format!("{x:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap();
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
    let mantissa: i128 = format!("{whole}{rest}").parse().unwrap();
    let power = exponent.parse::<i32>().unwrap() - i32::try_from(rest.len()).unwrap() + 26;
    match u32::try_from(power) {
        Ok(power) => mantissa * 10i128.pow(power),
        Err(_) => mantissa / 10i128.pow(power.unsigned_abs()),
    }
}

/// An angle of a factor that is no fraction of a power of two is off by its slack at
/// most: of radians, of multiples of pi, of coefficients, and of a slack that was there before.
#[test]
fn an_angle_times_a_number_is_off_by_no_more_than_it_says() {
    let pi = 314_159_265_358_979_323_846_264_338i128; // times 10^-26
    let mut rng = support::random::Rng::new(45);
    let mut is_rounded = [false; 3];
    for _ in 0..2000 {
        // Products of these have no more digits than an i128.
        let mut decimal =
            || (1 + (rng.signed().abs() * 1e9) as i128, 9 - (rng.signed().abs() * 2.0) as u32);
        let ((a, p), (b, q)) = (decimal(), decimal());
        let float = |(m, p): (i128, u32)| m as f64 / 10f64.powi(p as i32);
        let (x, factor) = (float((a, p)), float((b, q)));
        let exact = |m: i128, digits: u32| m * (SCALE / 10i128.pow(digits));
        let within =
            |off: i128, slack: f64| off.abs() as f64 <= slack * 1.000_001 * SCALE as f64 + 1e6;

        let product = Angle::rad(x) * factor;
        let off = radians(&product) - exact(a * b, p + q);
        assert!(
            within(off, product.rounding_bound()),
            "{x} * {factor}: {product:?} is off by {off}e-26"
        );
        is_rounded[0] |= off.abs() > 1_000_000;

        let product = Angle::pi(1, 3) * factor;
        assert_eq!(*product.pi_part().numer(), 0, "{product:?}");
        let off = radians(&product) - pi / 3 * b / 10i128.pow(q);
        assert!(
            within(off, product.rounding_bound()),
            "pi / 3 * {factor}: {product:?} is off by {off}e-26"
        );
        is_rounded[1] |= off.abs() > 1_000_000;

        let product = Angle::theta(THETA) * Q::new(1, 3) * factor;
        let (n, d) = product
            .terms()
            .first()
            .map_or((0, 1), |(_, q)| (i128::from(*q.numer()), i128::from(*q.denom())));
        // n / d less b / (3 10^q), over one denominator.
        let power = 10i128.pow(q);
        let off = (n * 3 * power - b * d) as f64 / (d * 3 * power) as f64;
        assert!(
            off.abs() <= product.rounding_bound(),
            "theta / 3 * {factor}: {product:?} is off by {off}"
        );
        is_rounded[2] |= off != 0.0;

        let before = Angle::rounded(x, 1e-3);
        let after = before.clone() * (1000.0 * factor + 0.1);
        let least = 1e-3 * (1000.0 * factor + 0.1);
        assert!((after.rounding_bound() / least - 1.0).abs() < 1e-5, "{before:?} {after:?}");
    }
    // Otherwise nothing was tried.
    assert_eq!(is_rounded, [true; 3]);
}
