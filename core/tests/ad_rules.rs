//! Rules in one direction: the other is their transpose, wherever derivatives are asked for.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    check::{Settings, hessian_check, test_rule},
    exec::{Colouring, Datum, Derivatives, DeriveError, Host, HostError, NoHost},
    ir::{Element, Kind, Primitive, Program, verify},
    rules::Rules,
    scalar::Real,
    text::{parse_program, parse_program_with},
};
use num_complex::Complex;
use num_dual::{Dual2, Dual2_64, Dual3, Dual3_64, Dual64, HyperDual64};
use support::random::Rng;

type C = Complex<f64>;
type D = Datum<C>;

fn read(text: &str) -> Program {
    let program = parse_program(text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    assert_eq!(verify(&program), [], "{text}");
    program
}

fn reals(x: &[f64]) -> Vec<D> {
    x.iter().map(|x| Datum::Real(*x)).collect()
}

/// All real numbers of some data, in order.
fn flat(data: &[D]) -> Vec<f64> {
    let mut all = Vec::new();
    for d in data {
        match d {
            Datum::Real(x) => all.push(*x),
            Datum::Complex(z) => all.extend([z.re, z.im]),
            Datum::Reals(a) => all.extend(a.items().iter().copied()),
            Datum::Complexes(a) => all.extend(a.items().iter().flat_map(|z| [z.re, z.im])),
            Datum::Tuple(fields) => all.extend(flat(fields)),
            other => panic!("{other:?}"),
        }
    }
    all
}

#[track_caller]
fn assert_close(given: &[f64], expected: &[f64], what: &str) {
    assert_eq!(given.len(), expected.len(), "{what}: {given:?}, expected {expected:?}");
    for (a, b) in given.iter().zip(expected) {
        let near = (a - b).abs() <= 1e-9 * (1.0 + b.abs());
        assert!(near, "{what}: {given:?}, expected {expected:?}");
    }
}

/// Columns of the Jacobian, by pushforwards.
fn columns(f: &mut Derivatives<C>, at: &[D]) -> Vec<Vec<f64>> {
    let n = flat(&at.iter().filter_map(Datum::zero_tangent).collect::<Vec<_>>()).len();
    (0..n)
        .map(|k| {
            let mut next = 0;
            let dots: Vec<D> = at.iter().filter_map(|d| seeded(d, k, &mut next)).collect();
            flat(&[f.jvp(at, &dots).unwrap().1])
        })
        .collect()
}

/// A tangent that is 1 in the `k`-th number and 0 elsewhere.
fn seeded(d: &D, k: usize, next: &mut usize) -> Option<D> {
    let mut one = || {
        *next += 1;
        f64::from(u8::from(*next == k + 1))
    };
    Some(match d {
        Datum::Real(_) => Datum::Real(one()),
        Datum::Complex(_) => Datum::Complex(Complex::new(one(), one())),
        Datum::Reals(a) => Datum::Reals(a.map(|_| one()).into()),
        Datum::Tuple(fields) => {
            Datum::Tuple(fields.iter().filter_map(|d| seeded(d, k, next)).collect::<Vec<_>>())
        }
        _ => return None,
    })
}

/// Rows of the Jacobian, by pullbacks.
fn rows(f: &mut Derivatives<C>, at: &[D]) -> Vec<Vec<f64>> {
    let value = f.value(at).unwrap();
    let m = flat(std::slice::from_ref(&value)).len();
    (0..m)
        .map(|k| {
            let bar = seeded(&value, k, &mut 0).unwrap();
            flat(&f.vjp(at, bar).unwrap().1)
        })
        .collect()
}

/// The Jacobian both ways, which must be one.
#[track_caller]
fn jacobian(text: &str, at: &[D]) -> Vec<Vec<f64>> {
    let program = read(text);
    let mut f = Derivatives::<C>::new(&program, "f").unwrap();
    let (rows, columns) = (rows(&mut f, at), columns(&mut f, at));
    for (k, column) in columns.iter().enumerate() {
        let across: Vec<f64> = rows.iter().map(|row| row[k]).collect();
        assert_close(column, &across, text);
    }
    rows
}

const SOFTPLUS: &str =
    "rule sp(x) { max(x, 0) + ln_1p(exp(-abs(x))) } pullback(x, y, bar) { bar / (1 + exp(-x)) }\n";
const FORWARD: &str =
    "rule sp(x) { max(x, 0) + ln_1p(exp(-abs(x))) } pushforward(x, dot) { dot / (1 + exp(-x)) }\n";
const STE: &str = "rule ste(x) { round(x) } pullback(x, y, bar) { bar }\n";
const ROOT: &str = "rule root(a) { let mut x = 1.5; while abs(x * x - a) > 1e-12 { x = 0.5 * (x + a / x); } x } \
                    pullback(a, x, bar) { bar / (2 * x) }\n";

fn hessian(text: &str, at: &[f64]) -> Result<Vec<Vec<f64>>, DeriveError> {
    Derivatives::<C>::new(&read(text), "f").unwrap().hessian(&reals(at))
}

#[test]
fn a_pullback_decides_where_its_body_has_a_kink() {
    for rule in [SOFTPLUS, FORWARD] {
        let text = format!("{rule}fn f(a, b) {{ sp(a) * b }}");
        assert_eq!(hessian(&text, &[0.0, 2.0]).unwrap(), [[0.5, 0.5], [0.5, 0.0]], "{text}");
        let text = format!("{rule}fn f(a) {{ [sp(a), sp(2 * a)] }}");
        assert_eq!(jacobian(&text, &reals(&[0.0])), [[0.5], [1.0]]);
        // The function itself, which nothing calls.
        let text = rule.replace("rule sp", "rule f");
        assert_eq!(jacobian(&text, &reals(&[0.0])), [[0.5]]);
        let mut f = Derivatives::<C>::new(&read(&text), "f").unwrap();
        assert_eq!(f.gradient(&reals(&[0.0])).unwrap(), reals(&[0.5]));
        let text = format!("{rule}fn f(u: array) {{ [sp(u[0]), sp(u[1]) * u[0]] }}");
        let program = read(&text);
        let mut f = Derivatives::<C>::new(&program, "f").unwrap();
        let u = |x: [f64; 2]| [Datum::reals(x)];
        let product = f.gauss_newton(&u([0.0, 0.0]), &u([1.0, 0.0])).unwrap();
        assert_close(&flat(&product), &[0.25 + 2f64.ln().powi(2), 0.0], &text);
        let fewest = f.jacobian(&u([0.0, 0.0])).unwrap();
        assert_close(&fewest.concat(), &[0.5, 0.0, 2f64.ln(), 0.0], &text);
    }
}

#[test]
fn a_rule_that_is_no_derivative_is_one_rule_in_every_direction() {
    let text = format!("{STE}fn f(a, b) {{ (ste(3 * a) * b, ste(a)) }}");
    assert_eq!(jacobian(&text, &reals(&[1.3, 1.0])), [[3.0, 4.0], [1.0, 0.0]]);
    let text = format!("{STE}fn f(a, b) {{ ste(3 * a) * b }}");
    assert_eq!(hessian(&text, &[1.3, 1.0]).unwrap(), [[0.0, 3.0], [3.0, 0.0]]);
    // What a body does not depend on, its rule may.
    let text = format!("{STE}fn f(u: array) {{ [ste(u[0]) * u[1], ste(u[1])] }}");
    let at = [Datum::reals([1.3, 2.6])];
    let mut f = Derivatives::<C>::new(&read(&text), "f").unwrap();
    let pattern = f.jacobian_pattern(&at).unwrap();
    for colouring in [Colouring::by_columns(pattern.clone()), Colouring::by_rows(pattern)] {
        let found = f.sparse_jacobian(&at, &colouring).unwrap().dense().concat();
        assert_close(&found, &[2.6, 1.0, 0.0, 1.0], &text);
    }
    let text = format!("{ROOT}fn f(a) {{ root(a) }}");
    assert_close(&hessian(&text, &[2.25]).unwrap().concat(), &[-2.0 / 27.0], &text);
    // Gradients that are clipped: the transpose is what the rule is at 1.
    let clip = "rule clip(x) { x } pullback(x, y, bar) { max(min(bar, 1.0), -1.0) }\n";
    let text = format!("{clip}fn f(a, b) {{ clip(a) * b }}");
    assert_eq!(hessian(&text, &[0.5, 0.5]).unwrap(), [[0.0, 1.0], [1.0, 0.0]]);
    let error = hessian(&text, &[0.5, 2.0]).unwrap_err();
    assert!(
        matches!(&error, DeriveError::Asymmetric { rules, .. } if rules == &["clip"]),
        "{error}"
    );
    // Partials that no function has.
    let curl = "rule curl(x, y) { x * y } pullback(x, y, z, bar) { (bar, x * bar) }\nfn f(a, b) { curl(a, b) }";
    let error = hessian(curl, &[2.0, 3.0]).unwrap_err();
    assert!(error.to_string().contains("`curl`"), "{error}");
}

#[test]
fn arrays_tuples_and_complex_numbers_are_transposed() {
    let at = [Datum::reals([0.3, -0.7, 1.1])];
    let softmax = "{ let e = exp(x - maximum(x)); e / sum(e) }";
    let back = "{ y * (bar - sum(bar * y)) }";
    let rules = [
        format!(
            "rule g(x: array) {softmax} pullback(x, y, bar) {back}\nfn f(x: array) {{ g(2 * x) }}"
        ),
        format!(
            "rule g(x: array) {softmax} pushforward(x, dot) {{ let y = {softmax}; y * (dot - sum(dot * y)) }}\nfn f(x: array) {{ g(2 * x) }}"
        ),
        format!("fn g(x: array) {softmax}\nfn f(x: array) {{ g(2 * x) }}"),
    ];
    let [a, b, c] = rules.map(|text| jacobian(&text, &at).concat());
    assert_close(&a, &c, "pullback");
    assert_close(&b, &c, "pushforward");
    // Two numbers at once, one of them with no derivative of its own.
    let body = "{ (x * y, sin(x) * real(k)) }";
    let pull = "{ (bar.0 * y + bar.1 * cos(x) * real(k), bar.0 * x, none) }";
    let push = "{ (x_dot * y + x * y_dot, cos(x) * real(k) * x_dot) }";
    let rules = [
        format!(
            "rule g(x, y, k: int) {body} pullback(x, y, k, z, bar) {pull}\nfn f(x, y) {{ g(x * x, y, 3) }}"
        ),
        format!(
            "rule g(x, y, k: int) {body} pushforward(x, y, k, x_dot, y_dot) {push}\nfn f(x, y) {{ g(x * x, y, 3) }}"
        ),
        format!("fn g(x, y, k: int) {body}\nfn f(x, y) {{ g(x * x, y, 3) }}"),
    ];
    let [a, b, c] = rules.map(|text| jacobian(&text, &reals(&[0.4, -1.2])).concat());
    assert_close(&a, &c, "pullback of a tuple");
    assert_close(&b, &c, "pushforward of a tuple");
    let at = [Datum::Complex(Complex::new(0.3, -0.8))];
    let rules = [
        "rule g(z: complex) { z * z * conj(z) } pullback(z, y, bar) { 2 * z * conj(z) * bar + z * z * conj(bar) }\nfn f(z: complex) { g(z) * z }",
        "rule g(z: complex) { z * z * conj(z) } pushforward(z, dot) { 2 * z * conj(z) * dot + z * z * conj(dot) }\nfn f(z: complex) { g(z) * z }",
        "fn g(z: complex) { z * z * conj(z) }\nfn f(z: complex) { g(z) * z }",
    ];
    let [a, b, c] = rules.map(|text| jacobian(text, &at).concat());
    assert_close(&a, &c, "pullback of a complex number");
    assert_close(&b, &c, "pushforward of a complex number");
}

#[test]
fn what_nothing_leads_to_stays_zero_at_a_steep_rule() {
    let root = |rule: &str| {
        format!("{rule}\nfn f(a, b) {{ if a > 0 {{ r(a) * b }} else {{ b * b + 0 * a }} }}")
    };
    let pull = "rule r(x) { sqrt(x) } pullback(x, y, bar) { bar / (2 * y) }";
    let push = "rule r(x) { sqrt(x) } pushforward(x, dot) { dot / (2 * sqrt(x)) }";
    for rule in [pull, push] {
        assert_eq!(jacobian(&root(rule), &reals(&[0.0, 3.0])), [[0.0, 6.0]]);
        let chosen = format!("{rule}\nfn f(a, b) {{ [r(a) + b, b] }}");
        let program = read(&chosen);
        let mut f = Derivatives::<C>::new(&program, "f").unwrap();
        let column = f.jvp(&reals(&[0.0, 3.0]), &reals(&[0.0, 1.0])).unwrap().1;
        assert_eq!(flat(&[column]), [1.0, 1.0], "{rule}");
        let row = f.vjp(&reals(&[0.0, 3.0]), Datum::reals([0.0, 1.0])).unwrap().1;
        assert_eq!(flat(&row), [0.0, 1.0], "{rule}");
    }
}

#[test]
fn a_wrong_rule_is_blamed_for_the_direction_that_it_gives() {
    let faults = |rule: &str| {
        test_rule(&read(rule), "g", &reals(&[0.5]), &NoHost, Settings::default()).unwrap()
    };
    let pull = faults("rule g(x) { x * x } pullback(x, y, bar) { 3 * x * bar }");
    assert_eq!(pull.iter().map(|f| f.rule).collect::<Vec<_>>(), ["pullback"]);
    let push = faults("rule g(x) { x * x } pushforward(x, dot) { 3 * x * dot }");
    assert_eq!(push.iter().map(|f| f.rule).collect::<Vec<_>>(), ["pushforward"]);
    assert_eq!(faults("rule g(x) { x * x } pullback(x, y, bar) { 2 * x * bar }"), []);
}

#[test]
fn a_rule_may_call_its_own_function() {
    let body = "{ exp(x) * y }";
    let push = "pushforward(x, y, dx, dy) { e(x, y) * dx + exp(x) * dy }";
    let pull = "pullback(x, y, z, bar) { (e(x, y) * bar, exp(x) * bar) }";
    let at = reals(&[0.3, 0.7]);
    let [a, b, c] = [
        format!("rule e(x, y) {body} {push}"),
        format!("rule e(x, y) {body} {pull}"),
        format!("fn e(x, y) {body}"),
    ]
    .map(|rule| {
        let text = format!("{rule}\nfn f(a, b) {{ e(a, b) * b }}");
        let mut f = Derivatives::<C>::new(&read(&text), "f").unwrap();
        let mut all = flat(&f.gradient(&at).unwrap());
        all.extend(f.hessian(&at).unwrap().concat());
        all
    });
    assert_close(&a, &c, "pushforward");
    assert_close(&b, &c, "pullback");
    // On what it is linear in it cannot.
    let text = "rule e(x, y) { x * y } pushforward(x, y, dx, dy) { e(x, dy) + e(dx, y) }\nfn f(a, b) { e(a, b) }";
    let error =
        Derivatives::<C>::new(&read(text), "f").unwrap().gradient(&at).unwrap_err().to_string();
    assert!(error.contains("`e` has no pullback") && error.contains("calls `e` itself"), "{error}");
}

/// Knows `area(x, y) = x y^2`, with a pullback or a pushforward, and `pair(x, y) = [x y, x^2]` with
/// a pushforward, and `twice` of an array with a pullback.
struct OneWay;

impl Host<f64> for OneWay {
    fn call(&self, primitive: &Primitive, args: &[Datum<f64>]) -> Result<Datum<f64>, HostError> {
        let numbers: Vec<f64> = args.iter().filter_map(|d| d.real().copied()).collect();
        Ok(match (primitive.name.as_str(), numbers.as_slice()) {
            ("area_pulled" | "area_pushed", [x, y]) => Datum::Real(x * y * y),
            ("area_back", [x, y, _, bar]) => {
                Datum::Tuple(vec![Datum::Real(y * y * bar), Datum::Real(2.0 * x * y * bar)])
            }
            ("area_dot", [x, y, dx, dy]) => Datum::Real(y * y * dx + 2.0 * x * y * dy),
            ("pair", [x, y]) => Datum::reals([x * y, x * x]),
            ("pair_dot", [x, y, dx, dy]) => Datum::reals([x * dy + y * dx, 2.0 * x * dx]),
            ("twice" | "twice_back", []) => match args.last() {
                Some(Datum::Reals(a)) if primitive.name == "twice" => {
                    Datum::Reals(a.map(|x| 2.0 * x).into())
                }
                Some(Datum::Reals(a)) => {
                    Datum::Tuple(vec![Datum::Reals(a.map(|x| 2.0 * x).into())])
                }
                _ => return Err(HostError::unknown(primitive)),
            },
            _ => return Err(HostError::unknown(primitive)),
        })
    }
}

#[test]
fn primitives_of_a_host_are_transposed_where_a_few_calls_will_do() {
    let (real, reals_) = (Kind::Real, Kind::Array(Element::Real));
    let two = [real.clone(), real.clone()];
    let four = [real.clone(), real.clone(), real.clone(), real.clone()];
    let mut rules = Rules::new();
    for name in ["area_pulled", "area_pushed"] {
        rules.primitive(name, &two, real.clone()).unwrap();
    }
    rules.primitive("area_back", &four, Kind::tuple(two.clone())).unwrap();
    rules.primitive("area_dot", &four, real.clone()).unwrap();
    rules.primitive("pair", &two, reals_.clone()).unwrap();
    rules.primitive("pair_dot", &four, reals_.clone()).unwrap();
    rules.primitive("twice", std::slice::from_ref(&reals_), reals_.clone()).unwrap();
    let three = [reals_.clone(), reals_.clone(), reals_.clone()];
    rules.primitive("twice_back", &three, Kind::tuple([reals_])).unwrap();
    rules.primitive_pullback("area_pulled", "area_back").unwrap();
    rules.primitive_pushforward("area_pushed", "area_dot").unwrap();
    rules.primitive_pushforward("pair", "pair_dot").unwrap();
    rules.primitive_pullback("twice", "twice_back").unwrap();
    let source = "fn pulled(a, b) { area_pulled(sin(a), b) * a } fn pushed(a, b) { area_pushed(sin(a), b) * a }
        fn plain(a, b) { sin(a) * b * b * a }
        fn pairs(a, b) { let p = pair(a * b, b); p[0] * a + p[1] } fn plain_pairs(a, b) { a * b * b * a + a * b * a * b }
        fn double(a, b) { sum(twice([a, b])) }";
    let program = parse_program_with(source, &rules).unwrap();
    let at = [Datum::Real(0.4), Datum::Real(1.3)];
    let dots = [Datum::Real(0.7), Datum::Real(-0.2)];
    let first = |name: &str| {
        let mut f = Derivatives::<f64>::new(&program, name).unwrap().with_host(&OneWay);
        let mut all: Vec<f64> =
            f.gradient(&at).unwrap().iter().filter_map(|d| d.real().copied()).collect();
        all.extend(f.jvp(&at, &dots).unwrap().1.real());
        all
    };
    assert_close(&first("pulled"), &first("plain"), "a pullback");
    assert_close(&first("pushed"), &first("plain"), "a pushforward");
    assert_close(&first("pairs"), &first("plain_pairs"), "a pushforward that gives an array");
    // Of an array a pullback cannot be run backwards, since a host computes it.
    let mut f = Derivatives::<f64>::new(&program, "double").unwrap().with_host(&OneWay);
    assert_eq!(f.gradient(&at).unwrap(), [Datum::Real(2.0), Datum::Real(2.0)]);
    let error = f.jvp(&at, &dots).unwrap_err().to_string();
    assert!(
        error.contains("`twice` has no pushforward") && error.contains("`twice_back`"),
        "{error}"
    );
}

/// A function of two numbers with its partials, written down.
const TERMS: &[[&str; 3]] = &[
    ["x * y", "y", "x"],
    ["sin(x) * y", "cos(x) * y", "sin(x)"],
    ["exp(0.3 * x - y * y)", "0.3 * exp(0.3 * x - y * y)", "-2 * y * exp(0.3 * x - y * y)"],
    ["x * x * x", "3 * x * x", "0 * x"],
    ["cos(x * y)", "-y * sin(x * y)", "-x * sin(x * y)"],
    ["ln(2 + x * x + y * y)", "2 * x / (2 + x * x + y * y)", "2 * y / (2 + x * x + y * y)"],
    [
        "tanh(x + 2 * y)",
        "(1 - tanh(x + 2 * y) * tanh(x + 2 * y))",
        "2 * (1 - tanh(x + 2 * y) * tanh(x + 2 * y))",
    ],
];

/// A rule's text after its body: a pullback, a pushforward or both.
fn directions(rng: &mut Rng, pullback: String, pushforward: String) -> String {
    let way = 1 + rng.below(3);
    let part = |is: bool, text: String| if is { text } else { String::new() };
    part(way & 1 == 1, pullback) + &part(way & 2 == 2, pushforward)
}

/// A program of random calls of functions `g0`, `g1`, … of two numbers, `h` of one, `v` of an array
/// element by element, and `p`, which gives a pair: with rules of one direction or both, and
/// without.
fn random(rng: &mut Rng) -> [String; 2] {
    let mut texts = [String::new(), String::new()];
    let n = 1 + rng.below(3);
    for k in 0..n {
        let terms: Vec<(f64, usize)> = (0..1 + rng.below(3))
            .map(|_| ((rng.signed() * 8.0).round() / 8.0, rng.below(TERMS.len())))
            .collect();
        let sum = |part: usize| {
            let parts: Vec<String> =
                terms.iter().map(|(c, t)| format!("({c:?}) * ({})", TERMS[*t][part])).collect();
            parts.join(" + ")
        };
        let pull =
            format!(" pullback(x, y, z, bar) {{ (({}) * bar, ({}) * bar) }}", sum(1), sum(2));
        let push =
            format!(" pushforward(x, y, dx, dy) {{ ({}) * dx + ({}) * dy }}", sum(1), sum(2));
        let rule = format!("rule g{k}(x, y) {{ {} }}", sum(0)) + &directions(rng, pull, push);
        texts[0] += &format!("{rule}\n");
        texts[1] += &format!("fn g{k}(x, y) {{ {} }}\n", sum(0));
    }
    // Of one number, of an array, and of two numbers that give two.
    let more = [
        (
            "h(x) { sin(x) + 0.2 * x * x }",
            " pullback(x, y, bar) { (cos(x) + 0.4 * x) * bar }",
            " pushforward(x, dx) { cos(x) * dx + 0.4 * x * dx }",
        ),
        (
            "v(x: array) { x * tanh(x) }",
            " pullback(x, y, bar) { let t = tanh(x); (t + x * (1 - t * t)) * bar }",
            " pushforward(x, dx) { let t = tanh(x); (t + x * (1 - t * t)) * dx }",
        ),
        (
            "p(x, y) { (x * y, cos(x) + y) }",
            " pullback(x, y, z, bar) { (y * bar.0 - sin(x) * bar.1, x * bar.0 + bar.1) }",
            " pushforward(x, y, dx, dy) { (y * dx + x * dy, dy - sin(x) * dx) }",
        ),
    ];
    for (text, pull, push) in more {
        texts[0] += &format!("rule {text}{}\n", directions(rng, pull.into(), push.into()));
        texts[1] += &format!("fn {text}\n");
    }
    let mut body = String::from("let mut u = a; let mut v0 = b; ");
    for _ in 0..2 + rng.below(4) {
        let (g, h) = (rng.below(n), rng.below(n));
        body += &match rng.below(9) {
            5 => "u = 0.5 * h(u + v0); ".into(),
            6 => "let w = v([u, v0, a * b]); u = 0.4 * w[0] + 0.1 * sum(w * w); v0 = w[2]; ".into(),
            7 => "let q = p(u, v0); u = 0.3 * q.0; v0 = q.1 * 0.5; ".into(),
            8 => "for i in 0..2 { u = 0.5 * h(u) + v([v0, u])[i] * 0.2; } ".into(),
            0 => format!("u = 0.5 * g{g}(u, v0); "),
            1 => format!("v0 = g{g}(v0, 0.25 * u) + a; "),
            2 => format!("if u > v0 {{ u = g{g}(u, b); }} else {{ v0 = 0.5 * g{h}(a, v0); }} "),
            3 => format!(
                "for i in 0..3 {{ u = 0.3 * g{g}(u, v0 + 0.5 * real(i)); v0 = tanh(v0); }} "
            ),
            _ => format!("u = u + 0.1 * g{g}(g{h}(u, b), a); "),
        };
    }
    texts.map(|t| format!("{t}fn f(a, b) {{ {body} u * v0 + u }}"))
}

#[test]
fn random_programs_with_rules_of_one_direction_have_the_derivatives_of_their_text() {
    let mut rng = Rng::new(46);
    for round in 0..150 {
        let texts = random(&mut rng);
        let at = [rng.signed(), rng.signed()];
        let [with, without] = texts.each_ref().map(|text| {
            let program = read(text);
            let mut f = Derivatives::<C>::new(&program, "f").unwrap();
            let x = reals(&at);
            let mut all = flat(&f.gradient(&x).unwrap());
            let n = all.len();
            all.extend(columns(&mut f, &x).concat());
            assert_close(&all[..n], &all[n..], text);
            all.extend(f.hessian(&x).unwrap().concat());
            let direction = reals(&[0.7, -0.4]);
            all.extend(flat(&f.hvp(&x, &direction).unwrap().1));
            all.extend(flat(&f.gauss_newton(&x, &direction).unwrap()));
            all
        });
        let scale = without.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        let close =
            |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * scale || a.is_nan() && b.is_nan();
        assert!(
            with.iter().zip(&without).all(close),
            "{round}: {with:?}\n{without:?}\n{}",
            texts[0]
        );
    }
}

/// The numbers of a result on duals, all that they carry.
fn parts<T: Real>(d: &Datum<T>, numbers: &dyn Fn(&T) -> Vec<f64>) -> Vec<f64> {
    match d {
        Datum::Real(x) => numbers(x),
        Datum::Tuple(fields) => fields.iter().flat_map(|d| parts(d, numbers)).collect(),
        other => panic!("{other:?}"),
    }
}

/// A program's value and gradient on numbers that carry derivatives, against those of a program
/// without rules.
#[track_caller]
fn same_on<T: Real>(texts: &[String; 2], at: [T; 2], numbers: &dyn Fn(&T) -> Vec<f64>) {
    let at = at.map(Datum::Real);
    let [with, without] = texts.each_ref().map(|text| {
        let mut f = Derivatives::<T>::new(&read(text), "f").unwrap();
        let value = parts(&f.value(&at).unwrap(), numbers);
        value
            .into_iter()
            .chain(f.gradient(&at).unwrap().iter().flat_map(|d| parts(d, numbers)))
            .collect::<Vec<_>>()
    });
    let scale = without.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * scale;
    let kind = std::any::type_name::<T>();
    assert!(with.iter().zip(&without).all(close), "{kind}: {with:?}\n{without:?}\n{}", texts[0]);
}

/// The bodies are constants to whatever runs them, so that every derivative comes from a rule.
#[test]
fn rules_hold_on_duals_of_every_order() {
    let mut rng = Rng::new(64);
    for _ in 0..30 {
        let mut texts = random(&mut rng);
        texts[0] = constant_bodies(&texts[0]);
        let [x, y] = [rng.signed(), rng.signed()];
        same_on(&texts, [x, y], &|x| vec![*x]);
        same_on(&texts, [Dual64::new(x, 0.7), Dual64::new(y, -0.4)], &|x| vec![x.re, x.eps]);
        let d = [Dual2_64::new(x, 0.7, 0.1), Dual2_64::new(y, -0.4, 0.3)];
        same_on(&texts, d, &|x| vec![x.re, x.v1, x.v2]);
        let d = [Dual3_64::new(x, 0.7, 0.1, 0.2), Dual3_64::new(y, -0.4, 0.3, -0.5)];
        same_on(&texts, d, &|x| vec![x.re, x.v1, x.v2, x.v3]);
        let d = [HyperDual64::new(x, 1.0, 0.5, 0.1), HyperDual64::new(y, 0.2, -1.0, 0.3)];
        same_on(&texts, d, &|x| vec![x.re, x.eps1, x.eps2, x.eps1eps2]);
        // Of order 4.
        let nest = |x, a, b, c| {
            let low = Dual2_64::new(x, a, b);
            Dual2::new(low, Dual2_64::new(c, 0.3, a), Dual2_64::new(0.1, b, c))
        };
        let four = |x: &Dual2<Dual2_64>| {
            [&x.re, &x.v1, &x.v2].iter().flat_map(|x| [x.re, x.v1, x.v2]).collect()
        };
        same_on(&texts, [nest(x, 0.7, 0.1, 0.9), nest(y, -0.4, 0.3, 0.2)], &four);
        // Of order 6: three nodes.
        let nest = |x, a, b, c| {
            let inner = |x| Dual3_64::new(x, a, b, c);
            Dual3::new(inner(x), inner(0.3), inner(-0.2), inner(0.1))
        };
        let six = |x: &Dual3<Dual3_64>| {
            [&x.re, &x.v1, &x.v2, &x.v3].iter().flat_map(|x| [x.re, x.v1, x.v2, x.v3]).collect()
        };
        same_on(&texts, [nest(x, 0.7, 0.1, 0.9), nest(y, -0.4, 0.3, 0.2)], &six);
    }
}

/// The functions with rules, with bodies through which no derivative passes.
fn constant_bodies(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let Some(start) = line.strip_prefix("rule ").and(line.find("{ ")) else {
            return line.to_owned();
        };
        let end = start + line[start..].find(" }").unwrap();
        let body = &line[start + 2..end];
        let pair = body
            .strip_prefix('(')
            .and_then(|b| b.strip_suffix(')'))
            .and_then(|b| b.split_once(", "));
        let body = match pair {
            Some((x, y)) if line.starts_with("rule p") => format!("(detach({x}), detach({y}))"),
            _ => format!("detach({body})"),
        };
        format!("{}{body}{}", &line[..start + 2], &line[end..])
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Of a constant nothing is carried, also where the rule's slope is infinite, and a value is not
/// touched by its slope.
#[test]
fn a_steep_rule_keeps_constants_and_values_on_duals() {
    let text = "rule root(x) { sqrt(x) } pullback(x, y, bar) { bar / (2 * y) } fn f(x, c) { root(x) + root(c) }";
    let mut f = Derivatives::<Dual64>::new(&read(text), "f").unwrap();
    let at =
        |x: f64, dot: f64| [Datum::Real(Dual64::new(x, dot)), Datum::Real(Dual64::new(0.0, 0.0))];
    assert_eq!(f.value(&at(4.0, 1.0)).unwrap(), Datum::Real(Dual64::new(2.0, 0.25)));
    let Datum::Real(y) = f.value(&at(0.0, 1.0)).unwrap() else { panic!() };
    assert_eq!(y.re, 0.0);
    assert!(!y.eps.is_finite());
    let Datum::Real(y) = f.value(&at(f64::INFINITY, 1.0)).unwrap() else { panic!() };
    assert_eq!(y.re, f64::INFINITY);
}

/// A function that is not to be differentiated is a constant to numbers with derivatives, too.
#[test]
fn constants_stay_constants_on_duals() {
    let mut rules = Rules::from_program(read("fn g(x) { x * x } fn f(x) { g(x) * x }"));
    rules.non_differentiable("g").unwrap();
    let program = rules.program().clone();
    let at = [Datum::Real(Dual64::new(3.0, 1.0))];
    let y = Derivatives::<Dual64>::new(&program, "f").unwrap().value(&at).unwrap();
    assert_eq!(y, Datum::Real(Dual64::new(27.0, 9.0)));
}

#[test]
fn a_rule_may_give_one_array_in_a_tuple() {
    let body = "{ (x * x * x,) }";
    let sources = [
        format!("rule g(x: array) {body} pullback(x, y, bar) {{ 3 * x * x * bar.0 }}"),
        format!("rule g(x: array) {body} pushforward(x, dot) {{ (3 * x * x * dot,) }}"),
        format!("fn g(x: array) {body}"),
    ];
    let at = [Datum::reals([0.5, -1.5]), Datum::Real(2.0)];
    let [a, b, c] = sources.map(|g| {
        let text = format!(
            "{g}\nfn f(x: array, a) {{ let y = g(x * a); if a > 0 {{ sum(y.0 * y.0) }} else {{ a }} }}"
        );
        let mut f = Derivatives::<C>::new(&read(&text), "f").unwrap();
        let mut all = flat(&f.gradient(&at).unwrap());
        all.extend(f.hessian(&at).unwrap().concat());
        all
    });
    assert_close(&a, &c, "pullback");
    assert_close(&b, &c, "pushforward");
}

/// A structure that a rule takes in a loop is recorded as a whole: each of its numbers gets its own
/// tangent back.
#[test]
fn structures_recorded_in_loops_keep_their_tangents_apart() {
    let rule = "struct P { a: real, b: real, c: array } rule g(p: P) { p.a * p.a * p.b + p.a * sum(p.c) }
        pullback(p, y, bar) { P { a: (2 * p.a * p.b + sum(p.c)) * bar, b: p.a * p.a * bar, c: full(p.a * bar, [2]) } }";
    let pair = "rule g(p: (real, real)) { p.0 * p.0 * p.1 } pullback(p, y, bar) { (2 * p.0 * p.1 * bar, p.0 * p.0 * bar) }";
    for (rule, argument) in
        [(rule, "P { a: sin(s), b: cos(2 * s), c: [s, s * s] }"), (pair, "(sin(s), cos(2 * s))")]
    {
        let source = format!(
            "{rule} fn f(x) {{ let mut s = x; for i in 0..3 {{ s = s + 0.1 * g({argument}); }} s }}"
        );
        let program = read(&source);
        let at = [Datum::Real(0.7)];
        let report = hessian_check(&program, "f", &at, &NoHost, Settings::default()).unwrap();
        assert!(report.agree, "{report}");
    }
}
