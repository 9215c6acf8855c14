//! Wrong rules are refused when they are loaded, right ones are not. The wrong ones are right ones
//! with one thing changed: one element, one direction, one shape, one kind of number, one call.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use ketgrad_core::exec::Datum;
use ketgrad_plugin_host::{Fault, Plugins, ProgramFault, Request, Selection, verify_at};
use num_complex::Complex;

use crate::support;

/// Right rules, each with what to write in place of what to make it wrong.
const MUTATED: &[(&str, &[(&str, &str)])] = &[
    (
        "rule f(x) { x * x } pullback(x, y, y_bar) { 2.0 * x * y_bar } pushforward(x, x_dot) { 2.0 * x * x_dot }",
        &[
            ("2.0 * x * y_bar", "2.0 * x"),
            ("2.0 * x * y_bar", "2.0 * x * y_bar * y_bar"),
            ("2.0 * x * y_bar", "2.0 * x * abs(y_bar)"),
            ("2.0 * x * y_bar", "2.0 * x * min(y_bar, 1.0)"),
            ("2.0 * x * y_bar", "2.0 * x * max(y_bar, -1.0)"),
            ("2.0 * x * y_bar", "2.0 * y * y_bar"),
            ("2.0 * x * y_bar", "2.0 * abs(x) * y_bar"),
            ("2.0 * x * y_bar", "2.001 * x * y_bar"),
            ("2.0 * x * y_bar", "if x > 5.0 { 3.0 * x * y_bar } else { 2.0 * x * y_bar }"),
            ("2.0 * x * y_bar", "2.0 * x * y_bar + 0.01"),
            ("2.0 * x * y_bar", "2.0 * x * x / x * y_bar"),
            ("2.0 * x * x_dot", "2.0 * x"),
            ("2.0 * x * x_dot", "2.0 * x * x_dot * x_dot"),
            ("2.0 * x * x_dot", "x * x_dot"),
            ("2.0 * x * x_dot", "2.0 * x * abs(x_dot)"),
        ],
    ),
    (
        "rule f(x) { if x == 0.0 { 1.0 } else { sin(x) / x } }
         pullback(x, y, b) { if x == 0.0 { 0.0 } else { (cos(x) - y) / x * b } }",
        &[
            ("if x == 0.0 { 0.0 } else { (cos(x) - y) / x * b }", "(cos(x) - y) / x * b"),
            ("{ 0.0 }", "{ b }"),
        ],
    ),
    (
        "rule f(x) { 1e-9 * x * x } pullback(x, y, b) { 2e-9 * x * b }",
        &[("2e-9", "1e-9"), ("2e-9", "-2e-9")],
    ),
    (
        "rule f(x, y) { x * sin(y) } pullback(x, y, z, b) { (sin(y) * b, x * cos(y) * b) }",
        &[
            ("(sin(y) * b, x * cos(y) * b)", "(x * cos(y) * b, sin(y) * b)"),
            ("x * cos(y) * b", "0.0"),
            ("x * cos(y) * b", "x * cos(y)"),
            ("cos(y)", "sin(y)"),
            ("(sin(y) * b", "(-sin(y) * b"),
        ],
    ),
    (
        "rule f(xs: array) { xs * xs } pullback(xs, ys, b) { 2.0 * xs * b }",
        &[
            ("2.0 * xs * b", "2.0 * xs * flip(b, 0)"),
            ("2.0 * xs * b", "2.0 * flip(xs, 0) * b"),
            ("2.0 * xs * b", "2.0 * xs * sum(b)"),
            ("2.0 * xs * b", "let mut d = 2.0 * xs * b; d[len(xs) - 1] = 0.0; d"),
            ("2.0 * xs * b", "if len(xs) == 5 { xs * b } else { 2.0 * xs * b }"),
            ("2.0 * xs * b", "let mut d = 2.0 * xs * b; if len(xs) > 16 { d[16] = 0.0; } d"),
            ("2.0 * xs * b", "if len(xs) == 1 { xs * b } else { 2.0 * xs * b }"),
            ("2.0 * xs * b", "2.0 * xs * b * b"),
        ],
    ),
    (
        "rule f(xs: array) { cumsum(xs, 0) } pullback(xs, ys, b) { flip(cumsum(flip(b, 0), 0), 0) }",
        &[
            ("flip(cumsum(flip(b, 0), 0), 0)", "cumsum(b, 0)"),
            ("flip(cumsum(flip(b, 0), 0), 0)", "cumsum(flip(b, 0), 0)"),
            ("flip(cumsum(flip(b, 0), 0), 0)", "b"),
        ],
    ),
    (
        "rule f(ws: array, xs: array) { sum(ws * xs) } pullback(ws, xs, y, b) { (b * xs, b * ws) }",
        &[
            ("(b * xs, b * ws)", "(b * ws, b * xs)"),
            ("b * ws)", "b * (ws * 0.0 + mean(ws)))"),
            ("(b * xs, b * ws)", "(xs, ws)"),
            ("b * ws)", "b * xs)"),
        ],
    ),
    (
        "rule f(xs: array, ys: array) { sum(xs * xs) * sum(ys) }
         pullback(xs, ys, z, b) { (2.0 * sum(ys) * b * xs, [sum(xs * xs) * b; len(ys)]) }",
        &[
            (
                "[sum(xs * xs) * b; len(ys)]",
                "[sum(xs * xs) * b * real(len(xs)) / real(len(ys)); len(ys)]",
            ),
            ("2.0 * sum(ys)", "2.0 * mean(ys) * real(len(xs))"),
        ],
    ),
    (
        "rule f(z: complex) { z * z } pullback(z, y, b) { 2 * conj(z) * b }",
        &[
            ("2 * conj(z) * b", "2 * z * b"),
            ("2 * conj(z) * b", "2 * conj(z) * conj(b)"),
            ("2 * conj(z) * b", "complex(re(2 * conj(z) * b), 0.0)"),
            ("2 * conj(z) * b", "2 * conj(z) * re(b)"),
            ("2 * conj(z) * b", "2 * re(z) * b"),
        ],
    ),
    (
        "rule f(z: complex) { abs2(z) } pullback(z, y, b) { 2 * z * b }",
        &[
            ("2 * z * b", "2 * conj(z) * b"),
            ("2 * z * b", "z * b"),
            ("2 * z * b", "complex(2 * re(z) * b, 0.0)"),
        ],
    ),
    (
        "rule f(x) { complex(cos(x), sin(x)) } pullback(x, y, b) { re(conj(complex(-sin(x), cos(x))) * b) }",
        &[
            ("re(conj(complex(-sin(x), cos(x))) * b)", "re(complex(-sin(x), cos(x)) * b)"),
            ("-sin(x), cos(x)", "-sin(x), 0.0"),
        ],
    ),
    (
        "rule f(zs: array<complex>) { sum(zs * zs) } pullback(zs, y, b) { 2 * conj(zs) * b }",
        &[("2 * conj(zs) * b", "2 * zs * b"), ("2 * conj(zs) * b", "2 * conj(zs * b)")],
    ),
    (
        "struct P { x, y } rule f(p: P) { p.x * p.x + p.x * p.y } pullback(p, z, b) { P { x: (2.0 * p.x + p.y) * b, y: p.x * b } }",
        &[
            ("2.0 * p.x", "3.0 * p.x"),
            (
                "P { x: (2.0 * p.x + p.y) * b, y: p.x * b }",
                "P { y: (2.0 * p.x + p.y) * b, x: p.x * b }",
            ),
            ("y: p.x * b", "y: 0.0"),
        ],
    ),
    (
        "rule f(t: (real, array)) { t.0 * sum(t.1) } pullback(t, y, b) { (sum(t.1) * b, [t.0 * b; len(t.1)]) }",
        &[("sum(t.1) * b,", "b,"), ("[t.0 * b;", "[t.0;")],
    ),
    (
        "rule f(x, y) { (x * y, x + y) } pullback(x, y, z, b) { (y * b.0 + b.1, x * b.0 + b.1) }",
        &[
            ("y * b.0 + b.1, x", "y * b.1 + b.0, x"),
            ("(y * b.0 + b.1, x * b.0 + b.1)", "(x * b.0 + b.1, y * b.0 + b.1)"),
            ("x * b.0 + b.1)", "x * b.0)"),
        ],
    ),
    (
        "rule f(x, n: int) { powi(x, n) } pullback(x, n, y, b) { (if n == 0 { 0.0 } else { real(n) * powi(x, n - 1) * b }, none) }",
        &[("real(n) *", "2.0 *"), ("powi(x, n - 1)", "powi(x, n)")],
    ),
    (
        "rule f(x, up: bool) { if up { exp(x) } else { -x } } pullback(x, up, y, b) { (if up { y * b } else { -b }, none) }",
        &[("{ -b }", "{ b }"), ("{ y * b }", "{ x * b }")],
    ),
    (
        "rule f(a: array, x: array) { matvec(a, x) } pullback(a, x, y, b) { (outer(b, x), matvec(transpose(a), b)) }",
        &[("outer(b, x)", "outer(b, x) * 2.0"), ("matvec(transpose(a), b)", "x * sum(b)")],
    ),
    (
        "rule f(a: array) { trace(a) } pullback(a, y, b) { eye(dim(a, 0)) * b }",
        &[("eye(dim(a, 0)) * b", "a * 0.0 + b"), ("eye(dim(a, 0)) * b", "eye(dim(a, 0))")],
    ),
];

fn loads(source: &str) -> Result<Vec<String>, ProgramFault> {
    Plugins::new(support::settings()).add_program("a test", source)
}

#[test]
fn every_mutated_program_is_refused() {
    let mut wrong = 0;
    for (right, mutations) in MUTATED {
        loads(right).unwrap_or_else(|e| panic!("{right}\n{e}"));
        for (from, to) in *mutations {
            assert!(right.contains(from), "{from} in {right}");
            let source = right.replacen(from, to, 1);
            wrong += 1;
            match loads(&source) {
                Err(ProgramFault::Disagrees { reason, .. }) => {
                    assert!(reason.starts_with("at "), "{reason}");
                }
                other => panic!("{source}\n{other:?}"),
            }
        }
    }
    assert!(wrong >= 60, "{wrong}");
}

/// A refusal tells the point, the given value and its seed, and the expected value.
#[test]
fn a_refusal_names_seed_and_element() {
    let said = |source: &str| loads(source).unwrap_err().to_string();
    let forgets = said("rule sq(x) { x * x } pullback(x, y, y_bar) { 2.0 * x }");
    assert!(
        forgets.contains("at 0.35 its pullback gives 0.7 by `x` for the cotangent -2.3, and -1.6"),
        "{forgets}"
    );
    let cumsum = said("rule s(xs: array) { cumsum(xs, 0) } pullback(xs, ys, b) { cumsum(b, 0) }");
    let words = "its pullback gives 1 by `xs[1]` for the cotangent [1, 0, 0], differences give 0";
    assert!(cumsum.contains(words), "{cumsum}");
    let part = said(
        "struct P { x } rule f(p: P) { p.x * p.x } pullback(p, z, b) { P { x: 3.0 * p.x * b } }",
    );
    assert!(part.contains("by `p.x`"), "{part}");
}

/// Smooth functions with poles, kinks, cusps and ends of their domain, and their derivatives, in
/// `v`.
const REAL: &[(&str, &str)] = &[
    ("sin(v)", "cos(v)"),
    ("exp(v)", "exp(v)"),
    ("v * v", "2.0 * v"),
    ("1.0 / v", "-1.0 / (v * v)"),
    ("ln(v)", "1.0 / v"),
    ("sqrt(v)", "0.5 / sqrt(v)"),
    ("abs(v)", "if v < 0.0 { -1.0 } else { 1.0 }"),
    ("v * abs(v)", "2.0 * abs(v)"),
    ("max(v, 0.0)", "if v < 0.0 { 0.0 } else { 1.0 }"),
    ("tanh(v)", "1.0 - tanh(v) * tanh(v)"),
    ("tan(v)", "1.0 + tan(v) * tan(v)"),
    ("if v < 0.0 { v } else { 2.0 * v + v * v }", "if v < 0.0 { 1.0 } else { 2.0 + 2.0 * v }"),
    ("1.0 / (v * v - 0.1225)", "-2.0 * v / ((v * v - 0.1225) * (v * v - 0.1225))"),
    ("sqrt(abs(v - 0.8))", "(if v < 0.8 { -0.5 } else { 0.5 }) / sqrt(abs(v - 0.8))"),
    ("1e6 * v", "1e6"),
    ("1e-7 * sin(v)", "1e-7 * cos(v)"),
];

const COMPLEX: &[(&str, &str)] = &[
    ("z * z", "2 * z"),
    ("exp(z)", "exp(z)"),
    ("1.0 / z", "-1.0 / (z * z)"),
    ("sqrt(z)", "0.5 / sqrt(z)"),
    ("ln(z)", "1.0 / z"),
    ("sin(z)", "cos(z)"),
    ("complex(0.0, 2.0) * z", "complex(0.0, 2.0)"),
];

/// A function of `v` and its derivative, of another function of `x`.
fn composed(outer: (&str, &str), inner: (&str, &str)) -> [String; 2] {
    let of = |text: &str, x: &str| format!("{{ let v = {x}; {text} }}");
    let v = inner.0.replace('v', "x");
    [of(outer.0, &v), format!("let a = {}; let c = {}; a * c", of(outer.1, &v), of(inner.1, "x"))]
}

#[test]
fn no_right_program_is_refused() {
    let mut right: Vec<String> = Vec::new();
    let var = |text: &str| text.replace('v', "x");
    for (k, (f, d)) in REAL.iter().enumerate() {
        let (f, d) = (var(f), var(d));
        right.push(format!("rule f(x) {{ {f} }} pullback(x, y, b) {{ let d = {d}; d * b }}"));
        right.push(format!(
            "rule f(x) {{ {f} }} pushforward(x, x_dot) {{ let d = {d}; d * x_dot }}"
        ));
        right.push(format!("rule f(x) {{ {f} }}"));
        right.push(format!("fn g(x) {{ {f} }} rule f(x, w) {{ w * g(x) + w }}"));
        right.push(format!(
            "struct P {{ x, n: int, w }} fn g(x) {{ {f} }} fn d(x) {{ {d} }}
             rule f(p: P) {{ (real(p.n) + 0.5) * p.w * g(p.x) }}
             pullback(p, y, b) {{ P {{ x: (real(p.n) + 0.5) * p.w * d(p.x) * b, w: (real(p.n) + 0.5) * g(p.x) * b }} }}"
        ));
        right.push(format!(
            "fn g(x) {{ {f} }} fn d(x) {{ {d} }}
             rule f(xs: array) {{ let mut s = 0.0; for i in 0..len(xs) {{ s += real(i + 1) * g(xs[i]); }} s }}
             pullback(xs, y, b) {{ let mut out = [0.0; len(xs)];
                 for i in 0..len(xs) {{ out[i] = real(i + 1) * d(xs[i]) * b; }} out }}"
        ));
        right.push(format!(
            "fn g(x) {{ {f} }} fn d(x) {{ {d} }}
             rule f(x, t: (real, bool)) {{ (g(x) * t.0, if t.1 {{ x }} else {{ t.0 }}) }}
             pullback(x, t, y, b) {{ (d(x) * t.0 * b.0 + (if t.1 {{ b.1 }} else {{ 0.0 }}),
                 (g(x) * b.0 + (if t.1 {{ 0.0 }} else {{ b.1 }}),)) }}"
        ));
        for (j, inner) in REAL.iter().enumerate() {
            // 1 / (1 / x) is x, and 0 at 0, where its derivative by the chain rule is none.
            let is_removable = outer_is_reciprocal(k) && outer_is_reciprocal(j);
            if (k + j) % 2 == 0 && !is_removable {
                let [f, d] = composed(REAL[k], *inner);
                right.push(format!(
                    "rule f(x) {f} pullback(x, y, b) {{ let d = {{ {d} }}; d * b }}"
                ));
            }
        }
    }
    for (f, d) in COMPLEX {
        right.push(format!("rule f(z: complex) {{ {f} }} pullback(z, y, b) {{ conj({d}) * b }}"));
        right.push(format!("rule f(z: complex) {{ {f} }}"));
        right.push(format!(
            "rule f(z: complex) {{ {f} }} pushforward(z, z_dot) {{ ({d}) * z_dot }}"
        ));
        right.push(format!("fn g(z: complex) {{ {f} }} rule f(x, y) {{ g(complex(x, y)) }}"));
        right.push(format!("fn g(z: complex) {{ {f} }} rule f(z: complex) {{ abs2(g(z)) }}"));
    }
    for (right_too, _) in MUTATED {
        right.push((*right_too).to_owned());
    }
    for text in [
        "rule f(z: complex) { abs(z) } pullback(z, y, b) { z / y * b }",
        "rule f(z: complex) { arg(z) }",
        "rule f(z: complex) { conj(z) } pullback(z, y, b) { conj(b) }",
        "rule f(x, y) { sqrt(x * x + y * y) } pullback(x, y, r, b) { (x / r * b, y / r * b) }",
        "rule f(x, y) { pow(x, y) } pullback(x, y, z, b) { (y * pow(x, y - 1.0) * b, ln(x) * z * b) }",
        "rule f(xs: array) { sort(xs) }",
        "rule f(xs: array) { maximum(xs) }",
        "rule f(a: array, b: array) { matmul(a, b) } pullback(a, b, y, c) { (matmul(c, transpose(b)), matmul(transpose(a), c)) }",
        "rule f(xs: array, ns: array<int>) { sum(xs) * real(len(ns)) }",
        "rule f(xs: array, ys: array) { outer(xs, ys) }",
        "rule f(zs: array<complex>, x) { zs * x }",
    ] {
        right.push(text.to_owned());
    }
    assert!(right.len() >= 200, "{}", right.len());
    let refused: Vec<String> = right
        .iter()
        .filter_map(|source| loads(source).err().map(|e| format!("{source}\n  {e}")))
        .collect();
    assert!(refused.is_empty(), "{} of {}:\n{}", refused.len(), right.len(), refused.join("\n"));
}

fn outer_is_reciprocal(k: usize) -> bool {
    REAL[k].0.starts_with("1.0 / ")
}

fn library(name: &str, mutant: &str) -> Request {
    Request::default()
        .with_name(name.to_owned())
        .with_candidates(vec![mutants()])
        .with_options(vec![("mutant".to_owned(), mutant.to_owned())])
        .with_kernels(Selection::Only(vec![]))
}

/// Rules and gate kernels in C; the option `mutant` makes one of them wrong.
pub(crate) fn mutants() -> PathBuf {
    static BUILT: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutants.c");
    BUILT.get_or_init(|| support::c_plugin(&source, "mutants", &[])).clone()
}

#[test]
fn every_mutated_kernel_of_a_rule_is_refused() {
    let mut plugins = Plugins::new(support::settings());
    plugins.load(&library("right", "none")).unwrap();
    for verdict in plugins.verify() {
        assert!(
            verdict.disagreement.is_none() && verdict.note.is_none() && verdict.points > 20,
            "{verdict:?}"
        );
    }
    let mutants = [
        ("scan_forward", "cscan"),
        ("scan_last", "cscan"),
        ("scan_one", "cscan"),
        ("scan_long", "cscan"),
        ("scan_drifts", "cscan"),
        ("scan_tape", "cscan"),
        ("square_counts", "csquare"),
        ("square_drifts", "csquare"),
        ("weights_mean", "cweights"),
        ("weights_swapped", "cweights"),
        ("weights_forgets", "cweights"),
        ("outer_beyond", "couter"),
        ("outer_before", "couter"),
        ("outer_transposed", "couter"),
        ("outer_row", "couter"),
        ("outer_back_before", "couter"),
        ("moments_shape", "cmoments"),
        ("moments_beyond_first", "cmoments"),
        ("moments_beyond_second", "cmoments"),
        ("moments_before_second", "cmoments"),
        ("moments_holomorphic", "cmoments"),
        ("moments_first", "cmoments"),
        ("moments_forgets_second", "cmoments"),
        ("moments_scale", "cmoments"),
        ("moments_int", "cmoments"),
        ("moments_beyond_bar", "cmoments"),
        ("turn_conj", "cturn"),
        ("turn_real", "cturn"),
    ];
    for (mutant, rule) in mutants {
        let error = Plugins::new(support::settings()).load(&library("wrong", mutant)).unwrap_err();
        assert!(
            matches!(&error.fault, Fault::Disagrees { name, .. } if name.starts_with(rule)),
            "{mutant}: {error}"
        );
    }
}

/// A point that the author names is compared, and one that fits is enough to find what no other
/// finds.
#[test]
fn points_of_the_author_are_compared() {
    let source =
        "rule f(x) { x * x } pullback(x, y, b) { if x > 40.0 { x * b } else { 2.0 * x * b } }";
    let mut plugins = Plugins::new(support::settings());
    plugins.add_program("a test", source).unwrap();
    let verdict = |x: f64| {
        let at = vec![Datum::Real(x)];
        verify_at(plugins.rules().program(), &plugins.host(), "f", &[at])
    };
    assert!(verdict(39.0).disagreement.is_none());
    assert!(verdict(41.0).disagreement.unwrap().starts_with("at 41 its pullback gives 41 by `x`"));
    // Long arrays are compared in part, and it says so.
    let long = |pullback: &str| {
        let source =
            format!("rule g(xs: array) {{ xs * xs }} pullback(xs, ys, b) {{ {pullback} }}");
        let mut plugins = Plugins::new(support::settings().with_verify(false));
        plugins.add_program("a test", &source).unwrap();
        let at = vec![Datum::<Complex<f64>>::reals((0..300).map(|k| 0.1 * f64::from(k) + 1.0))];
        verify_at(plugins.rules().program(), &plugins.host(), "g", &[at])
    };
    let right = long("2.0 * xs * b");
    assert!(
        right.disagreement.is_none()
            && right.partly.unwrap().starts_with("of more than 48 numbers")
    );
    let wrong = long("let mut d = 2.0 * xs * b; if len(xs) > 100 { d[100] = 0.0; } d");
    assert!(wrong.disagreement.unwrap().contains("along a direction of all inputs"));
}
