//! Bad input: every mistake is an error that says what was given and what was expected; nothing panics and
//! nothing exhausts the stack.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Datum, Derivatives, DeriveError, Limits, RunError},
    ir,
    text::{TextErrorKind, parse_program},
};

/// The first error of a text.
fn error(source: &str) -> String {
    parse_program(source).map(|p| p.to_string()).unwrap_err()[0].to_string()
}

#[test]
fn text_errors_say_where_what_and_what_else() {
    let cases = [
        ("fn f(x) { x + }", "1:15: expected an expression, found `}`"),
        (
            "fn f(x) { x ^ 2 }",
            "1:13: expected `pow(x, y)` or `powi(x, n)`: there is no operator for powers, found `^`",
        ),
        ("fn f(x) {\n  sine(x)\n}", "2:3: no function `sine`: did you mean `sin`?"),
        ("fn f(xval) { xvla }", "1:14: no variable `xvla`: did you mean `xval`?"),
        ("fn f(x) { sin(x, x) }", "1:11: `sin` takes 1 argument, given 2"),
        (
            "fn f(x, n: int) { x * n }",
            "1:19: expected int, given real: an int meets a real number through `real(n)`",
        ),
        ("fn f(x) { y = 2; x }", "1:11: no variable `y`"),
        ("fn f(x) { x = 2; x }", "1:11: `x` cannot be assigned to: declare it with `let mut x`"),
        ("fn f(x) { break; x }", "1:11: `break` outside a loop"),
        ("fn f(x) { let y = x; }", "1:4: `f` gives no value: end it with an expression without `;`"),
        (
            "fn f(z: complex) { z < z }",
            "1:20: expected real, given complex: take `re`, `im`, `abs` or `abs2` of it",
        ),
        ("fn f(p: Point) { 1.0 }", "1:9: no kind `Point`"),
        ("struct A { a: A }\nfn f(x) { x }", "1:15: expected a kind of known size, given `A` inside itself"),
        ("fn f(x) { x }\nfn f(x) { x }", "2:4: the function `f` is defined twice"),
        (
            "fn f(x) { 99999999999999999999 }",
            "1:11: `99999999999999999999` is no number: expected an integer below 2^63",
        ),
        ("fn f(x) { x $ x }", "1:13: expected a name, a number or an operator, found `$`"),
    ];
    for (source, expected) in cases {
        assert_eq!(error(source), expected, "{source}");
    }
}

#[test]
fn all_errors_are_reported_and_none_twice() {
    let source = "fn f(x) { let a = sine(x); let b = cosine(x); a + b }\nfn g(x) { x + }\n";
    assert_eq!(parse_program(source).unwrap_err().len(), 1, "syntax first");
    let source = "fn f(x) { let a = sine(x); let b = cosine(x); a + b }";
    let errors = parse_program(source).unwrap_err();
    let unknown = |e: &ketgrad_core::text::TextError| {
        matches!(&e.kind, TextErrorKind::Unknown { what: "function", .. })
    };
    assert_eq!(errors.iter().filter(|e| unknown(e)).count(), 2, "{errors:?}");
}

#[test]
fn hostile_nesting_is_an_error_and_long_chains_are_none() {
    for (open, close) in [("(", ")"), ("-", ""), ("[", "]"), ("{", "}"), ("if x > 0 {", "}")] {
        let source = format!("fn f(x) {{ {} x {} }}", open.repeat(50_000), close.repeat(50_000));
        assert!(parse_program(&source).is_err());
    }
    let links = format!("fn f(x) {{ x{} }}", ".sin()".repeat(50_000));
    assert!(parse_program(&links).is_err());
    // Links on links: each level is small, all together are not.
    let mut tower = "x".to_owned();
    for _ in 0..90 {
        tower = format!("({tower}){}", ".sin()".repeat(90));
    }
    assert!(parse_program(&format!("fn f(x) {{ {tower} }}")).is_err());
    // A tuple of tuples doubles with each line.
    let doubling: String = (0..60).map(|k| format!("let t{} = (t{k}, t{k});", k + 1)).collect();
    assert!(parse_program(&format!("fn f(x) {{ let t0 = x; {doubling} x }}")).is_err());
    let chain = format!("fn f(x) {{ x{} }}", " + x".repeat(20_000));
    let p = parse_program(&chain).unwrap();
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
    assert_eq!(d.value(&[Datum::Real(1.0)]).unwrap(), Datum::Real(20_001.0));
}

/// Text cut and spliced at random places: an error or a program, never a panic.
#[test]
fn mutated_text_never_panics() {
    let source = "struct P { u, v }\nrule r(x) { ln(x) } pullback(x, y, y_bar) { y_bar / x }\nfn f(a, n: int) { let mut s = [a; 3]; for i in 0..n { if a < 1e-3 && i > 2 { break; } s[i % 3] += r(a) * real(i); } let p = P { u: s[0], v: sum(s) }; p.u * p.v.sin() }";
    assert!(parse_program(source).is_ok(), "{:?}", parse_program(source));
    let mut state = 12345u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let chars: Vec<char> = source.chars().collect();
    for _ in 0..3000 {
        let mut text = chars.clone();
        for _ in 0..1 + below(3) {
            let (a, b, n) = (below(text.len() - 12), below(text.len() - 12), below(10));
            match below(3) {
                0 => drop(text.drain(a..a + n)),
                1 => {
                    let piece = text[b..b + n].to_vec();
                    text.splice(a..a, piece);
                }
                _ => text[a] = ['(', '}', '.', '1', '-', 'x', '=', '\u{3b1}'][below(8)],
            }
        }
        let text: String = text.into_iter().collect();
        if let Ok(p) = parse_program(&text) {
            assert!(ir::verify(&p).is_empty(), "{text}\n{:?}", ir::verify(&p));
            let printed = p.to_string();
            assert_eq!(ir::parse(&printed).map(|q| q.to_string()).as_deref(), Ok(printed.as_str()));
        }
        // IR text, cut anywhere.
        drop(ir::parse(&text));
    }
}

#[test]
fn endless_programs_hit_a_limit() {
    let run = |source: &str, limits: Limits| {
        let p = parse_program(source).unwrap();
        let mut d = Derivatives::<f64>::new(&p, "f").unwrap().with_limits(limits);
        match d.value(&[Datum::Real(1.0)]) {
            Err(DeriveError::Run(e)) => e,
            other => panic!("{other:?}"),
        }
    };
    let few = Limits { steps: 100_000, ..Limits::default() };
    assert!(matches!(run("fn f(x) { while true { } x }", few), RunError::Steps { limit: 100_000, .. }));
    assert!(matches!(run("fn f(x) { f(x) + 1 }", Limits::default()), RunError::Depth { .. }));
    let fill = run("fn f(x) { let xs = [x; 1000000000000]; xs[0] }", Limits::default());
    assert!(matches!(fill, RunError::Length { len: 1_000_000_000_000, .. }));
    let index = run("fn f(x) {\n  let xs = [x, x];\n  xs[len(xs)]\n}", Limits::default());
    assert_eq!(index.to_string(), "3:3: index 2 of an array of 2 elements");
    let zero = run("fn f(x) { let n = 0; x * real(1 / n) }", Limits::default());
    assert!(matches!(zero, RunError::Integer { op: "idiv", .. }));
}

#[test]
fn calls_that_do_not_fit() {
    let p = parse_program("fn f(x, n: int) { x }").unwrap();
    assert!(matches!(Derivatives::<f64>::new(&p, "g"), Err(DeriveError::Unknown { .. })));
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
    let e = d.value(&[Datum::Real(1.0)]).unwrap_err();
    assert_eq!(e.to_string(), "`f` takes 2 arguments, given 1");
    let e = d.value(&[Datum::Real(1.0), Datum::Real(1.0)]).unwrap_err();
    assert_eq!(e.to_string(), "`n` of `f` is int, given real");
}
