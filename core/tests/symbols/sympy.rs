//! A hundred questions with the answers of SymPy 1.14.0, which `table.py` has put into `table.txt`.
//! Each answer is compared as a form, and as numbers, which `support::formula` computes from the
//! texts.

use ketgrad_core::{
    normal::{Approach, ExprExt, Limit},
    trace::Expr,
};
use num_complex::Complex;
use support::formula::{evaluate, expression as read};

const TABLE: &str = include_str!("table.txt");
/// A point where everything but what is kept is defined.
const POINT: [(&str, f64); 7] =
    [("x", 0.31), ("y", 0.73), ("z", 1.21), ("a", 0.57), ("p", 1.3), ("q", 0.4), ("inf", 1000.0)];
/// Relative to the values.
const ROUNDING: f64 = 1e-9;

/// The questions of a kind, with what follows them.
fn questions(kind: &str) -> Vec<Vec<&'static str>> {
    let lines = TABLE.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(" | "));
    let found: Vec<Vec<&str>> = lines.map(|line| line.split(" | ").collect()).collect();
    assert!(!found.is_empty(), "nothing of {kind}");
    found
}

/// True if two expressions have the same value everywhere, by their normal forms.
fn same(a: &Expr, b: &Expr) -> bool {
    (a - b).normal().unwrap().cancelled().unwrap().is_zero()
}

fn close(a: Complex<f64>, b: Complex<f64>) -> bool {
    (a - b).norm() <= ROUNDING * (1.0 + a.norm().max(b.norm()))
}

fn assert_close(text: &str, expected: &str) {
    let (value, other) = (evaluate(text, &POINT), evaluate(expected, &POINT));
    assert!(close(value, other), "{text} = {value}, but {expected} = {other}");
}

#[test]
fn there_are_a_hundred() {
    let kinds = ["factor", "cancel", "rule", "kept", "series", "limit", "big"];
    assert_eq!(kinds.map(|kind| questions(kind).len()).iter().sum::<usize>(), 100);
}

#[test]
fn factors() {
    for question in questions("factor") {
        let [polynomial, answer] = question[..] else { panic!("{question:?}") };
        let mut parts = answer.split(" ; ");
        let constant = parts.next().unwrap();
        let expected: Vec<(Expr, i32)> = parts
            .map(|part| part.split_once(" @ ").unwrap())
            .map(|(f, e)| (read(f), e.parse().unwrap()))
            .collect();
        let product = read(polynomial).normal().unwrap().factored();
        assert!(product.is_complete(), "{polynomial}");
        // A power of an input is in the term before the factors.
        let (single, several): (Vec<_>, Vec<_>) =
            expected.into_iter().partition(|(f, _)| f.normal().unwrap().n_terms() == 1);
        let front = single
            .iter()
            .fold(read(constant), |front, (f, e)| (0..*e).fold(front, |front, _| front * f));
        assert!(same(&front, &product.front().expression().unwrap()), "{polynomial} = {product}");
        let found: Vec<(Expr, i32)> =
            product.factors().map(|(f, e)| (f.expression().unwrap(), e)).collect();
        assert_eq!(found.len(), several.len(), "{polynomial} = {product}, but {answer}");
        for (f, e) in several {
            assert!(
                found.iter().any(|(g, n)| *n == e && same(&f, g)),
                "{polynomial} = {product} without {f}"
            );
        }
        assert_close(&product.to_string(), polynomial);
    }
}

#[test]
fn fractions() {
    for question in questions("cancel") {
        let [sum, answer] = question[..] else { panic!("{question:?}") };
        let (above, below) = answer.split_once(" ; ").unwrap();
        let fraction = read(sum).normal().unwrap().cancelled().unwrap();
        assert!(fraction.is_reduced(), "{sum} = {fraction}");
        let (n, d) = (fraction.numerator(), fraction.denominator());
        let signs = [&n, &d].map(|form| form.expression().unwrap());
        let equal = same(&signs[0], &read(above)) && same(&signs[1], &read(below));
        let turned = same(&-&signs[0], &read(above)) && same(&-&signs[1], &read(below));
        assert!(equal || turned, "{sum} = {fraction}, but {answer}");
        for text in [fraction.to_string(), fraction.factored().to_string()] {
            assert_close(&text, sum);
        }
        assert_close(&fraction.to_string(), &format!("({above})/({below})"));
    }
}

#[test]
fn rules() {
    for question in questions("rule") {
        let [left, right] = question[..] else { panic!("{question:?}") };
        assert!(same(&read(left), &read(right)), "{left} = {}", read(left).normal().unwrap());
        assert_close(&read(left).normal().unwrap().to_string(), right);
    }
}

/// A rule whose condition does not hold is not applied: what it would say differs at a point.
#[test]
fn rules_without_their_conditions() {
    for question in questions("kept") {
        let [left, right, at] = question[..] else { panic!("{question:?}") };
        let at: Vec<(&str, f64)> = at
            .split(',')
            .map(|pair| pair.split_once('=').unwrap())
            .map(|(name, value)| (name, value.parse().unwrap()))
            .collect();
        let normal = read(left).normal().unwrap();
        let value = evaluate(&normal.to_string(), &at);
        assert!(close(value, evaluate(left, &at)), "{left} = {normal} = {value} at {at:?}");
        assert!(!close(value, evaluate(right, &at)), "{left} = {right} at {at:?}");
        assert!(!same(&read(left), &read(right)), "{left} = {right}");
    }
}

#[test]
fn series() {
    for question in questions("series") {
        let [f, point, order, answer] = question[..] else { panic!("{question:?}") };
        let n: i32 = order.parse().unwrap();
        let series = read(f).series("x", &read(point), n).unwrap();
        let polynomial = series.polynomial().unwrap();
        assert!(same(&polynomial, &read(answer)), "{f} at {point}: {series}, but {answer}");
        // Near the point it is the function.
        let h: f64 = 1e-2;
        let mut at = POINT;
        at[0].1 = evaluate(point, &POINT).re + h;
        let text = polynomial.normal().unwrap().to_string();
        let error = (evaluate(&text, &at) - evaluate(f, &at)).norm();
        assert!(error <= 40.0 * h.powi(n) + 1e-12, "{f} at {point}: {series} is off by {error}");
    }
}

#[test]
fn limits() {
    for question in questions("limit") {
        let [f, point, side, answer] = question[..] else { panic!("{question:?}") };
        let approach = match (point, side) {
            ("inf", _) => Approach::Infinity,
            (at, "+") => Approach::Right(read(at)),
            (at, "-") => Approach::Left(read(at)),
            (at, _) => Approach::Both(read(at)),
        };
        let limit = read(f).limit("x", &approach).unwrap();
        let Limit::Finite(form) = &limit else { panic!("{f}: {limit}") };
        assert!(same(&form.expression().unwrap(), &read(answer)), "{f}: {limit}, but {answer}");
        // Not far from the point it is not far from the limit.
        let mut at = POINT;
        at[0].1 = match (point, side) {
            ("inf", _) => 1e3,
            (_, "-") => -1e-3,
            _ => 1e-3,
        };
        let error = (evaluate(f, &at) - evaluate(&limit.to_string(), &at)).norm();
        assert!(error < 1e-2, "{f}: {limit} is off by {error}");
    }
}

#[test]
fn large_numbers() {
    for question in questions("big") {
        let [f, answer] = question[..] else { panic!("{question:?}") };
        let normal = read(f).normal().unwrap();
        assert_eq!(normal.to_string(), answer, "{f}");
        assert_eq!(normal.expression().unwrap().normal().unwrap(), normal, "{f}");
        assert_close(&normal.to_string(), f);
    }
}
