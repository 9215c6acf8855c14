//! The kind that a function returns, where it is not written, is that of its value: each operator
//! and function of the language on operands of each kind, alone and inside each other.
//!
//! The reference is the lowering of `let y = …;`, which needs no inference.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use ketgrad_core::{
    ir::{Element, Kind},
    staging::Builtin,
    text::parse_program,
};

/// Parameters of all functions here.
const PARAMS: &str =
    "x, z: complex, n: int, c: bool, xs: array, zs: array<complex>, ns: array<int>, t: (real, int)";

/// Operands of each kind, and literals, written and computed.
const OPERANDS: [&str; 15] = [
    "x",
    "z",
    "n",
    "xs",
    "zs",
    "ns",
    "2",
    "[1, 2]",
    "(if c { 1 } else { 2 })",
    "(if c { [1, 2] } else { [3, 4] })",
    "c",
    "t",
    "(1, 2)",
    "(if c { (1, z) } else { (2, x) })",
    "0.5",
];

fn returned(body: &str, result: &str) -> Option<Kind> {
    let program = parse_program(&format!("fn f({PARAMS}) {result} {{ {body} }}")).ok()?;
    Some(program.functions[program.lookup("f").unwrap()].result.clone())
}

/// Returns the kinds that a value of this kind is not of, but is promoted to.
fn promoted(kind: &Kind) -> Option<Kind> {
    match kind {
        Kind::Real => Some(Kind::Complex),
        Kind::Array(Element::Real) => Some(Kind::Array(Element::Complex)),
        _ => None,
    }
}

/// Returns true if the language has the expression; then its kind must be inferred, wherever it is.
fn is_inferred(expression: &str) -> Result<bool, String> {
    // With a written result nothing is inferred.
    let is_valid = returned(&format!("let y = {expression}; 0.0"), "-> real").is_some();
    let bound = format!("let y = {expression}; y");
    let kind = is_valid.then(|| returned(&bound, "")).flatten();
    if is_valid != kind.is_some() {
        return Err(format!("not inferred: {expression}"));
    }
    let tail = returned(expression, "");
    if tail != kind {
        return Err(format!("{kind:?} as a variable, {tail:?} at the end: {expression}"));
    }
    for narrower in [Kind::Real, Kind::Array(Element::Real)] {
        if promoted(&narrower) == kind && returned(&bound, &format!("-> {narrower}")).is_some() {
            return Err(format!("{narrower}, inferred {kind:?}: {expression}"));
        }
    }
    Ok(is_valid)
}

/// Returns the number of valid expressions.
#[track_caller]
fn all_are_inferred(expressions: impl IntoIterator<Item = String>) -> usize {
    let checked: Vec<Result<bool, String>> =
        expressions.into_iter().map(|expression| is_inferred(&expression)).collect();
    let wrong: Vec<&String> = checked.iter().filter_map(|c| c.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{} wrong: {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
    checked.iter().filter(|c| **c == Ok(true)).count()
}

/// Returns a form with `A`, `B` and `C` replaced by all combinations of operands.
fn filled(form: &str, operands: &[&str]) -> Vec<String> {
    ["A", "B", "C"].iter().fold(vec![form.to_owned()], |forms, name| {
        let replaced = |form: String| match form.contains(name) {
            true => operands.iter().map(|operand| form.replace(name, operand)).collect(),
            false => vec![form],
        };
        forms.into_iter().flat_map(replaced).collect()
    })
}

/// Returns a call with all combinations of operands.
fn calls(name: &str, arity: usize, operands: &[&str]) -> Vec<String> {
    let lists = (1..arity).fold(filled("A", operands), |lists, _| {
        lists.iter().flat_map(|list| filled(&format!("{list}, A"), operands)).collect()
    });
    lists.into_iter().map(|list| format!("{name}({list})")).collect()
}

#[test]
fn results_of_functions_of_the_language_are_inferred() {
    let names: BTreeSet<&str> = Builtin::names().collect();
    let all = names.into_iter().flat_map(|name| {
        let arity = Builtin::by_name(name).unwrap().arity();
        let operands: &[&str] = match arity {
            0..=2 => &OPERANDS[..10],
            3 => &OPERANDS[..6],
            _ => &["xs", "zs", "[0]"],
        };
        calls(name, arity, operands)
    });
    let valid = all_are_inferred(all);
    assert!(valid > 500, "{valid}");
}

#[test]
fn results_of_operators_are_inferred() {
    let operators = ["+", "-", "*", "/", "%", "<", "=="];
    let valid =
        all_are_inferred(operators.iter().flat_map(|op| filled(&format!("A {op} B"), &OPERANDS)));
    assert!(valid > 300, "{valid}");
    let numbers = ["1 % 0", "9223372036854775807 + 1", "0 - 9223372036854775807 - 2", "7 / 7"];
    assert_eq!(all_are_inferred(numbers.map(String::from)), numbers.len());
}

#[test]
fn results_of_constructs_are_inferred() {
    let two = [
        "-A",
        "!A",
        "A[0]",
        "A[0, 0]",
        "A.0",
        "[A, B]",
        "[A; 2]",
        "[[A; 2]; n]",
        "(A, B)",
        "if c { A } else { B }",
        "{ let y = A; (y, B) }",
        "A < B || c",
    ];
    let three = ["[A, B, C]", "[[A, B], [C, A]]", "((A, B), C)", "select(A < B, A, C)"];
    let forms = two.iter().flat_map(|form| filled(form, &OPERANDS));
    let valid =
        all_are_inferred(forms.chain(three.iter().flat_map(|form| filled(form, &OPERANDS[..8]))));
    assert!(valid > 300, "{valid}");
}

#[test]
fn results_of_expressions_inside_each_other_are_inferred() {
    let inner = ["(-A)", "(A + 1)", "(A * z)", "A[0]", "[A, 2]", "[A; 2]", "(A, 1)", "(1 / A)"];
    let inner: Vec<String> = inner.iter().flat_map(|form| filled(form, &OPERANDS)).collect();
    let inner: Vec<&str> =
        inner.iter().map(String::as_str).filter(|e| is_inferred(e) == Ok(true)).collect();
    let outer = ["-A", "A / 2", "A % 2", "A + xs", "A < 1", "A[0]", "A.1", "[A, 1]", "[A; 2]"];
    let calls =
        ["sum(A)", "min(A, 2)", "select(c, A, 1)", "sqrt(A)", "len(A)", "abs(A)", "real(A)"];
    let forms = outer.iter().chain(&calls);
    let valid = all_are_inferred(forms.flat_map(|form| filled(form, &inner)));
    assert!(valid > 300, "{valid}");
}

#[test]
fn a_return_counts_wherever_it_is() {
    let inner = "{ if c { return z; } n }";
    for body in [
        format!("let mut y = x; y = x + real({inner}); y"),
        format!("let mut ys = xs; ys[{inner}] = x; x"),
        format!("if {inner} > 1 {{ x }} else {{ 1.0 }}"),
        format!("while {inner} > 1 {{ }} x"),
        format!("for i in 0..{inner} {{ }} x"),
        format!("let y = !({inner} > 1) || {inner} < 0; x"),
        format!("xs[{inner}]"),
        format!("sum([x; {inner}])"),
        format!("len(xs); sin(x * real({inner}))"),
    ] {
        assert_eq!(returned(&body, ""), Some(Kind::Complex), "{body}");
    }
}

#[test]
fn results_of_recursive_functions_are_those_of_their_other_branches() {
    let inferred = |source: &str| {
        let program = parse_program(source).unwrap_or_else(|e| panic!("{source}\n{e}"));
        program.functions[program.lookup("f").unwrap()].result.to_string()
    };
    for kind in ["real", "complex", "int", "array<real>", "array<complex>"] {
        let mut calls = vec!["f(k - 1, y)", "select(k > 3, f(k - 1, y), y)"];
        if kind != "int" {
            calls.extend(["0.5 * f(k - 1, y)", "f(k - 1, y) + 2", "sin(f(k - 1, y)) * 0.5"]);
        }
        for call in calls {
            for first in [call.to_owned(), format!("let u = {call}; return u;")] {
                let source =
                    format!("fn f(k: int, y: {kind}) {{ if k > 0 {{ {first} }} else {{ y }} }}");
                assert_eq!(inferred(&source), kind, "{source}");
            }
        }
    }
    // Without another branch unknown operands are ignored.
    assert_eq!(inferred("fn f(n: int) { n * f(n - 1) }"), "int");
    assert_eq!(inferred("fn f(z: complex) { sin(z * g(z)) } fn g(z: complex) { f(z) }"), "complex");
    assert_eq!(inferred("fn f(x) { f(x) }"), "real");
}
