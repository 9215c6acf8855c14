//! Bad input: every mistake is an error that says what was given and what was expected; nothing
//! panics and nothing exhausts the stack.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    array::Array,
    check::{Settings, gradcheck, test_rule},
    exec::{CallError, Datum, Derivatives, DeriveError, Limits, NoHost, RunError},
    ir,
    text::{TextErrorKind, parse_program},
};
use support::random::Rng;

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
            "1:19: expected int, given real: an int meets a real number through `real(n)`, and a whole number is real where it is written `1.0`",
        ),
        (
            "fn f(x) { x % 2.0 }",
            "1:11: expected int, given real: the remainder of real numbers is `rem(a, b)`",
        ),
        (
            "fn f(x, n: int) { n % x }",
            "1:23: expected int, given real: an int meets a real number through `real(n)`, and a whole number is real where it is written `1.0`",
        ),
        ("fn f(x) { y = 2; x }", "1:11: no variable `y`"),
        (
            "fn f(x) { x = 2; x }",
            "1:11: `x` cannot be assigned to: declare it with `let mut x`, a parameter or the variable of a loop once more with `let mut x = x;`",
        ),
        ("fn f(x) { break; x }", "1:11: `break` outside a loop"),
        (
            "fn f(x) { let y = x; }",
            "1:4: `f` gives no value: end it with an expression without `;`, an `if` with its `else`",
        ),
        (
            "fn f(z: complex) { z < z }",
            "1:20: expected real, given complex: take `re`, `im`, `abs` or `abs2` of it",
        ),
        ("fn f(p: Point) { 1.0 }", "1:9: no kind `Point`"),
        (
            "struct A { a: A }\nfn f(x) { x }",
            "1:15: expected a kind of known size, given `A` inside itself",
        ),
        ("fn f(x) { x }\nfn f(x) { x }", "2:4: the function `f` is defined twice"),
        (
            "fn f(x) { 99999999999999999999 }",
            "1:11: `99999999999999999999` is no number: expected an integer below 2^63",
        ),
        (
            "fn f(x) {\n  let (a, mut b, a) = (x, x, 1.0);\n  a\n}",
            "2:18: the variable `a` is defined twice",
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
    for _ in 0..50 {
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

/// Texts that nest as deeply as is allowed, and deeper, are read or refused on a quarter of the
/// stack that a thread has.
#[test]
fn the_deepest_programs_fit_a_small_stack() {
    let shapes = [
        ("(", "x", ")"),
        ("-", "x", ""),
        ("1 + 2 * -(", "x", ")"),
        ("if x > 1 && (x < 2 || x + 1 * ", "x > 3", ") { 1 } else { 2 }"),
        ("if x > 0 { ", "x", " } else { x }"),
        ("{ let y = ", "x", "; y }"),
        ("sin(", "x", ").exp()"),
        ("[", "x", "][0]"),
        ("(x, ", "x", ").1"),
    ];
    for (open, inner, close) in shapes {
        let accepted = |n: usize| {
            let source = format!("fn f(x) {{ {}{inner}{} }}", open.repeat(n), close.repeat(n));
            let read = move || match parse_program(&source) {
                Ok(_) => true,
                Err(e) => !e.iter().any(|e| matches!(e.kind, TextErrorKind::TooDeep { .. })),
            };
            std::thread::Builder::new().stack_size(512 << 10).spawn(read).unwrap().join().unwrap()
        };
        assert!(accepted(20) && accepted(200) && !accepted(2000), "{open}");
        // The deepest lies between.
        for n in [300, 400, 450, 490, 500, 700, 900, 990, 1000, 1100] {
            accepted(n);
        }
    }
}

/// Text cut and spliced at random places: an error or a program, never a panic.
#[test]
fn mutated_text_never_panics() {
    let source = "struct P { u, v }\nrule r(x) { ln(x) } pullback(x, y, y_bar) { y_bar / x }\nfn f(a, n: int) { let mut s = [a; 3]; for i in 0..n { if a < 1e-3 && i > 2 { break; } s[i % 3] += r(a) * real(i); } let p = P { u: s[0], v: sum(s) }; p.u * p.v.sin() }";
    assert!(parse_program(source).is_ok(), "{:?}", parse_program(source));
    let mut rng = Rng::new(12345);
    let mut below = |n: usize| rng.below(n);
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

/// Programs that use every construct, for shuffling.
const CORPUS: [&str; 6] = [
    "struct P { u , v } fn g ( p : P ) { sqrt ( p . u * p . u + p . v * p . v + 0.5 ) } fn f ( x , n : int ) { let p = P { u : x , v : 2 } ; g ( p ) . sin ( ) }",
    "fn f ( x , n : int ) { let mut s = [ x ; 3 ] ; for i in 0 .. n { if x < 1e-3 && i > 2 { break ; } s [ i % 3 ] += real ( i ) * x ; } sum ( s ) }",
    "fn f ( x , n : int ) { let ( mut a , b ) = ( x , 3 ) ; while a < 10 || ! ( a > 2 ) { a *= 2 ; if a == 8 { continue ; } else if a != 4 { return a ; } } a - real ( b ) }",
    "fn f ( x , n : int ) { let z = complex ( x , 1 ) ; let w = if n > 0 { z * conj ( z ) } else { exp ( z ) / 2 } ; abs2 ( w ) + re ( select ( x > 1 , z , w ) ) }",
    "rule r ( x , n : int ) { powi ( x , n ) } pullback ( x , n , y , b ) { ( b * real ( n ) * powi ( x , n - 1 ) , none ) } pushforward ( x , n , d ) { d * x } fn f ( x , n : int ) { r ( x , n ) + r ( x , 2 ) }",
    "fn f ( x , n : int ) { if n <= 0 { 1 } else { x * f ( x , n - 1 ) } } fn h ( xs : array , t : ( real , int ) ) -> array < real > { let mut ys = xs ; ys [ t . 1 ] = t . 0 ; ys }",
];

/// Words moved, doubled, dropped and exchanged: an error, or a program that runs and is
/// differentiated with an error at worst. `KETGRAD_FUZZ` asks for more rounds.
#[test]
fn shuffled_words_never_panic() {
    let rounds = std::env::var("KETGRAD_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    let mut rng = Rng::new(99);
    let mut below = |n: usize| rng.below(n);
    let words: Vec<Vec<&str>> = CORPUS.iter().map(|s| s.split(' ').collect()).collect();
    let limits = Limits::new().with_steps(2000).with_depth(50).with_array(1000);
    let mut ran = 0;
    for round in 0..rounds {
        let mut text = words[below(words.len())].clone();
        for _ in 0..1 + below(2) {
            let (a, b) = (below(text.len()), below(text.len()));
            match below(5) {
                0 => drop(text.remove(a)),
                1 => text.insert(a, text[b]),
                2 => text.swap(a, b),
                _ => {
                    let other = &words[below(words.len())];
                    text[a] = other[below(other.len())];
                }
            }
        }
        let text = text.join(" ");
        let Ok(p) = parse_program(&text) else { continue };
        assert!(ir::verify(&p).is_empty(), "{round}: {text}\n{:?}", ir::verify(&p));
        let printed = p.to_string();
        assert_eq!(ir::parse(&printed).as_ref(), Ok(&p), "{round}: {text}");
        let Ok(d) = Derivatives::<num_complex::Complex<f64>>::new(&p, "f") else { continue };
        let mut d = d.with_limits(limits);
        let args = [Datum::Real(0.7), Datum::Int(3)];
        ran += u32::from(d.value(&args).is_ok());
        drop(d.vjp(&args, Datum::Real(1.0)));
    }
    assert!(ran > 0);
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
    let few = Limits::new().with_steps(100_000);
    assert!(matches!(
        run("fn f(x) { while true { } x }", few),
        RunError::Steps { limit: 100_000, .. }
    ));
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

/// Tangents and cotangents have the shape of what they belong to, or are a row of fewer numbers,
/// followed by zeros.
#[test]
fn tangents_that_are_too_long() {
    let source = "rule long(xs: array) { sum(xs) } pullback(xs, y, b) { [b, b, 5.0] }
        fn f(xs: array) { long(xs) + sum(xs) }
        fn g(xs: array) -> array { 2.0 * xs }";
    let program = parse_program(source).unwrap();
    let x = [Datum::reals([1.0, 2.0])];
    let matrix = || Datum::Reals(Array::new(&[1, 2], vec![1.0, 1.0]).unwrap().into());
    let tangent =
        |e: DeriveError| matches!(e, DeriveError::Run(RunError::Call(CallError::Tangent { .. })));

    // What a rule gives.
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    let error = f.gradient(&x).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a rule's cotangent of shape [3] does not go with an argument of shape [2]"
    );
    assert!(tangent(f.pullback(&x).unwrap().call(Datum::Real(1.0)).unwrap_err()));
    let mut kept = vec![Datum::Int(0)];
    assert!(f.prepare().unwrap().value_and_gradient(&x, &mut kept).is_err() && kept.is_empty());
    let complex = [Datum::reals([1.0, 2.0])];
    assert!(test_rule(&program, "long", &complex, &NoHost, Settings::default()).is_err());

    // What is given.
    let mut g = Derivatives::<f64>::new(&program, "g").unwrap();
    for y_bar in [Datum::reals([1.0, 2.0, 3.0]), matrix()] {
        assert!(tangent(g.vjp(&x, y_bar.clone()).unwrap_err()));
        assert!(tangent(g.pullback(&x).unwrap().call(y_bar.clone()).unwrap_err()));
        assert!(tangent(g.jvp(&x, std::slice::from_ref(&y_bar)).unwrap_err()));
        assert!(tangent(f.hvp(&x, std::slice::from_ref(&y_bar)).unwrap_err()));
        assert!(tangent(g.gauss_newton(&x, &[y_bar]).unwrap_err()));
    }
    let (_, bars) = g.vjp(&x, Datum::reals([1.0])).unwrap();
    assert_eq!(bars, [Datum::reals([2.0, 0.0])]);
    let square = [Datum::Reals(Array::new(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap().into())];
    let (_, dot) = g.jvp(&square, &[Datum::reals([1.0, 0.0, 0.0, 1.0])]).unwrap();
    let expected = Array::new(&[2, 2], vec![2.0, 0.0, 0.0, 2.0]).unwrap();
    assert_eq!(dot, Datum::Reals(expected.into()));
}

#[test]
fn rules_that_are_not_linear_are_found() {
    let right = "rule h(x, y) { x * sin(y) }
        pullback(x, y, h, b) { (sin(y) * b, x * cos(y) * b) }
        pushforward(x, y, dx, dy) { sin(y) * dx + x * cos(y) * dy }";
    let faults = |source: &str| {
        let program = parse_program(source).unwrap();
        let at = [Datum::Real(0.7), Datum::Real(0.4)];
        test_rule(&program, "h", &at, &NoHost, Settings::default()).unwrap()
    };
    assert_eq!(faults(right), []);
    // Right for a cotangent or tangent of 1 only.
    let wrong = [
        ("x * cos(y) * b", "x * cos(y)", "pullback", "y"),
        ("(sin(y) * b", "(sin(y) * b * b", "pullback", "x"),
        ("x * cos(y) * dy", "x * cos(y) * dy * dy", "pushforward", "y"),
    ];
    for (part, other, rule, by) in wrong {
        let faults = faults(&right.replace(part, other));
        let names: Vec<_> = faults.iter().map(|f| (f.rule, f.by.as_str(), f.seed)).collect();
        assert_eq!(names, [(rule, by, -2.0)]);
        assert!(faults[0].to_string().contains("asked with -2 in place of 1"), "{}", faults[0]);
    }
}

/// A nested text is read on as much stack as it takes, not on what a thread happens to have.
#[test]
fn deep_nesting_needs_no_deep_stack() {
    let nested = |times: usize, open: &str, inner: &str, close: &str| {
        format!("fn f(x) {{ {}{inner}{} }}", open.repeat(times), close.repeat(times))
    };
    let arms: Vec<String> =
        (0..900).map(|k| format!("if x < {k}.5 {{ x * {}.0 }}", k + 1)).collect();
    // The value and the slope at 1/4.
    let texts = [
        (nested(900, "(", "1.0", " * x + 1.0)"), 4.0 / 3.0, 16.0 / 9.0),
        (nested(450, "{ ", "x", " }"), 0.25, 1.0),
        (nested(900, "-", "x", ""), 0.25, 1.0),
        (nested(450, "if x > 0.0 { ", "x", " } else { 1.0 }"), 0.25, 1.0),
        (nested(900, "max(", "x", ", 0.0)"), 0.25, 1.0),
        (format!("fn f(x) {{ {} else {{ 0.0 }} }}", arms.join(" else ")), 0.25, 1.0),
    ];
    let check = move || {
        for (text, value, slope) in &texts {
            let program = parse_program(text).unwrap();
            let mut derivatives = Derivatives::<f64>::new(&program, "f").unwrap();
            let (y, bars) = derivatives.value_and_gradient(&[Datum::Real(0.25)]).unwrap();
            assert!((y - value).abs() < 1e-14, "{y} instead of {value}: {text}");
            let [Datum::Real(bar)] = bars[..] else { panic!("{bars:?}") };
            assert!((bar - slope).abs() < 1e-13, "{bar} instead of {slope}: {text}");
        }
        // And what is not read is refused.
        for text in [nested(1200, "{ ", "x", " }"), nested(900, "(", "x", ", 1.0)")] {
            assert!(parse_program(&text).is_err());
        }
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(check).unwrap().join().unwrap();
}

/// A setting of `check` that is set changes no other one.
#[test]
fn settings_are_set_one_by_one() {
    let plain = Settings::default();
    let parts = |s: Settings| (s.eps, s.absolute, s.relative, s.limits);
    let (eps, absolute, relative, limits) = parts(plain);
    assert_eq!(parts(plain.with_eps(0.25)), (0.25, absolute, relative, limits));
    assert_eq!(parts(plain.with_absolute(0.25)), (eps, 0.25, relative, limits));
    assert_eq!(parts(plain.with_relative(0.25)), (eps, absolute, 0.25, limits));
    // What is close is so by the absolute and the relative part together.
    let settings = plain.with_absolute(0.5).with_relative(0.25);
    assert!(settings.close(-3.0, -2.0) && settings.close(5.5, 4.0));
    assert!(!settings.close(5.51, 4.0) && !settings.close(-3.01, -2.0));
}

/// Differences of `check` keep to where the program runs, if a shorter step does; else they say why
/// not.
#[test]
fn differences_stay_where_the_program_runs() {
    let program =
        parse_program("fn f(x, n: int) { if x >= 1.0 { [x][n] } else { x * x } }").unwrap();
    let check = |x: f64| {
        let at = [Datum::Real(x), Datum::Int(5)];
        gradcheck(&program, "f", &at, &NoHost, Settings::default())
    };
    let report = check(1.0 - 1e-7).unwrap();
    assert!(report.agree, "{report}");
    let error = check(1.0 - 1e-16).unwrap_err();
    assert!(error.to_string().contains("index 5"), "{error}");
}
