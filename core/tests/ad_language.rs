//! The program language, construct by construct: what programs mean and what is said about wrong
//! ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Datum, Derivatives},
    ir,
    rules::Rules,
    staging::Builtin,
    text::{entry, parse_program, parse_program_with},
};
use num_complex::Complex;

/// Sums in another order than by hand.
const TOLERANCE: f64 = 1e-12;

type C = Complex<f64>;

fn outcome(source: &str, args: &[Datum<C>]) -> Result<(Datum<C>, Vec<Datum<C>>), String> {
    let p = parse_program(source).map_err(|e| e[0].to_string())?;
    let faults = ir::verify(&p);
    assert!(faults.is_empty(), "{source}\n{}", faults[0]);
    assert_eq!(ir::parse(&p.to_string()).map(|q| q == p), Ok(true), "{source}\n{p}");
    let name = entry(&p, &Rules::new()).unwrap();
    let mut d = Derivatives::<C>::new(&p, name).map_err(|e| e.to_string())?;
    let y = d.value(args).map_err(|e| e.to_string())?;
    let g = if matches!(y, Datum::Real(_)) && !args.is_empty() {
        d.gradient(args).map_err(|e| e.to_string())?
    } else {
        vec![]
    };
    Ok((y, g))
}

#[track_caller]
fn value(source: &str, args: &[Datum<C>]) -> Datum<C> {
    outcome(source, args).unwrap_or_else(|e| panic!("{e}\n{source}")).0
}

/// The value and the slope of a function of a real number.
#[track_caller]
fn at(x: f64, source: &str, y: f64, slope: f64) {
    let (v, g) = outcome(source, &[Datum::Real(x)]).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let (Datum::Real(v), Datum::Real(g)) = (&v, &g[0]) else { panic!("{v:?}, {g:?}\n{source}") };
    assert!(
        (v - y).abs() <= TOLERANCE && (g - slope).abs() <= TOLERANCE,
        "{v}, {g} not {y}, {slope}\n{source}"
    );
}

#[track_caller]
fn wrong(source: &str, message: &str) {
    match parse_program(source) {
        Err(e) => assert_eq!(e[0].to_string(), message, "{source}"),
        Ok(_) => panic!("accepted: {source}"),
    }
}

#[test]
fn kinds_of_parameters_results_and_variables() {
    let z = Datum::Complex(C::new(3.0, 4.0));
    assert_eq!(value("fn f(z: complex) { abs(z) }", std::slice::from_ref(&z)), Datum::Real(5.0));
    assert_eq!(
        value("fn f(z: complex) -> complex { conj(z) }", std::slice::from_ref(&z)),
        Datum::Complex(C::new(3.0, -4.0))
    );
    assert_eq!(value("fn f(n: int) { n / 2 }", &[Datum::Int(7)]), Datum::Int(3));
    assert_eq!(value("fn f(n: int) { n % 4 }", &[Datum::Int(-7)]), Datum::Int(-3));
    assert_eq!(value("fn f(b: bool) { !b }", &[Datum::Bool(true)]), Datum::Bool(false));
    assert_eq!(value("fn f(xs: array) { xs[1] }", &[Datum::reals([1.0, 2.0])]), Datum::Real(2.0));
    assert_eq!(
        value(
            "fn f(t: (real, int)) { t.1 }",
            &[Datum::Tuple(vec![Datum::Real(1.0), Datum::Int(5)])]
        ),
        Datum::Int(5)
    );
    assert_eq!(
        value("fn f(x) { (x, 1) }", &[Datum::Real(2.0)]),
        Datum::Tuple(vec![Datum::Real(2.0), Datum::Int(1)])
    );
    assert_eq!(value("fn f(x) { true && x > 1.0 }", &[Datum::Real(2.0)]), Datum::Bool(true));
    assert_eq!(
        value("fn f(x) -> complex { x }", &[Datum::Real(2.0)]),
        Datum::Complex(C::new(2.0, 0.0))
    );
    assert_eq!(
        value("fn f(x) { let z: complex = 1; z * x }", &[Datum::Real(2.0)]),
        Datum::Complex(C::new(2.0, 0.0))
    );
    assert_eq!(value("fn f() { 3 }", &[]), Datum::Int(3));
    assert_eq!(value("fn f() -> real { 3 }", &[]), Datum::Real(3.0));
    assert_eq!(value("fn f() { 1 / 2 }", &[]), Datum::Real(0.5));
    assert_eq!(value("fn f() { 4 / 2 }", &[]), Datum::Int(2));
    // The value of an arithmetic of literals is exact before it is a kind.
    assert_eq!(value("fn f() { 12 / 4 / 2 }", &[]), Datum::Real(1.5));
    assert_eq!(value("fn f() { 2 * 4 / 4 }", &[]), Datum::Int(2));
    assert_eq!(value("fn f() { -7 % 4 }", &[]), Datum::Int(-3));
    assert_eq!(value("fn one() { 1 }\nfn f() { one() / 2 }", &[]), Datum::Int(0));
    let mixed = value(
        "fn f(xs: array<complex>, n: array<int>) { (xs[0], n[0], len(xs)) }",
        &[Datum::complexes([C::new(1.0, 1.0)]), Datum::ints([7])],
    );
    assert_eq!(
        mixed,
        Datum::Tuple(vec![Datum::Complex(C::new(1.0, 1.0)), Datum::Int(7), Datum::Int(1)])
    );
}

#[test]
fn numbers_and_promotion() {
    at(2.0, "fn f(x) { 3 * x + 1 }", 7.0, 3.0);
    at(2.0, "fn f(x) { 1e-3 * x * 1_000. }", 2.0, 1.0);
    at(2.0, "fn f(x) { 1/2 * x }", 1.0, 0.5);
    at(2.0, "fn f(x) { x / 2 * 3 - -x }", 5.0, 2.5);
    at(2.0, "fn f(x) { -x * x }", -4.0, -4.0);
    at(2.0, "fn f(x) { let n = 3; real(n) * x }", 6.0, 3.0);
    at(2.0, "fn f(x) { real(7 % 4) * x }", 6.0, 3.0);
    at(2.0, "fn f(x) { let n = 7; real(n / 2) * x }", 6.0, 3.0);
    at(2.0, "fn f(x) { re(complex(x, 1) * complex(x, -x)) }", 6.0, 5.0);
    at(2.0, "fn f(x) { abs2(complex(1, 2) * x) }", 20.0, 20.0);
    at(2.0, "fn f(x) { im(exp(complex(0, x))) }", 2f64.sin(), 2f64.cos());
    at(2.0, "fn f(x) { let z = complex(x, 0); abs2(z + 1) }", 9.0, 6.0);
    at(2.0, "fn f(x) { arg(complex(1, x)) }", 2f64.atan(), 0.2);
    at(2.0, "fn f(x) { re(x) + abs2(x) + abs(-x) }", 8.0, 6.0);
    at(2.0, "fn f(x) { re(select(x > 1, complex(x, 1), x)) }", 2.0, 1.0);
    at(2.0, "fn f(x) { re(if x > 1 { x } else { complex(1, 1) }) }", 2.0, 1.0);
    at(2.0, "fn f(x) { powi(x, 3) + pow(x, 2) + powi(x, -1) }", 12.5, 15.75);
    at(2.0, "fn f(x) { let n = max(2, 3); powi(x, n) }", 8.0, 12.0);
    at(2.0, "fn f(x) { log(x) - ln(x) + x }", 2.0, 1.0);
    at(2.0, "fn f(x) { hypot(x, 0.0) + atan2(0.0, x) + min(x, 3) + max(1, x) }", 6.0, 3.0);
}

#[test]
fn what_is_made_of_literals_takes_the_kind_that_fits() {
    at(4.0, "fn f(x) { sqrt(if x > 1 { 4 } else { 9 }) * x }", 8.0, 2.0);
    at(4.0, "fn f(x) { x * -(if x < 1 { 4 } else { 9 }) }", -36.0, -9.0);
    at(4.0, "fn f(x) { let i = 1; [3, 5][i] * x }", 20.0, 5.0);
    at(4.0, "fn f(x) { let t = if x > 1 { (1, 2) } else { (0.5, x) }; t.0 + t.1 * x }", 9.0, 2.0);
    at(4.0, "fn f(x) { let (a, b) = if x < 1 { (1, 2) } else { (0.5, x) }; a + b * x }", 16.5, 8.0);
    at(
        4.0,
        "fn f(x) { let (n, a) = if x > 1 { (1, 2) } else { (3, 4) }; [x, real(a * n)][n] + x }",
        6.0,
        1.0,
    );
    at(4.0, "fn f(x) { sum((if x > 1 { [1, 2] } else { [3, 4] }) * x) }", 12.0, 3.0);
    at(4.0, "fn f(x) { (x + 1) * min(select(x > 1, 2, 3), 5) }", 10.0, 2.0);
    at(
        4.0,
        "fn f(x) { let z = complex(x, 1); let t = if x > 1 { (2, z) } else { (z, x) }; re(t.0 * t.1) }",
        8.0,
        2.0,
    );
    at(4.0, "fn g(x) { if x > 1 { return (1, 2); } (0.5, x) } fn f(x) { g(x).1 * x }", 8.0, 2.0);
    at(4.0, "fn f(x) { (2, x).0 * x + [if x > 1 { 3 } else { 2 }, 1][0] * x }", 20.0, 5.0);
    // Where nothing else is asked for they are ints, and an int divides as such.
    assert_eq!(value("fn f() { let n = if true { 7 } else { 8 }; n / 2 }", &[]), Datum::Int(3));
    assert_eq!(value("fn f() { (if true { 7 } else { 8 }) / 2 }", &[]), Datum::Int(3));
    assert_eq!(value("fn f() { [7, 8][0] % 2 + 1 }", &[]), Datum::Int(2));
    let pair = value("fn f() { if true { (1, 2) } else { (3, 4) } }", &[]);
    assert_eq!(pair, Datum::Tuple(vec![Datum::Int(1), Datum::Int(2)]));
}

#[test]
fn rows_are_repeated() {
    at(
        2.0,
        "fn f(x) { let mut m = [[0.0; 3]; 2]; m[1, 2] = x; m[0, 1] = 3; sum(m * m) }",
        13.0,
        4.0,
    );
    at(
        2.0,
        "fn f(x) { let mut m = [[[0; 3]; 2]; 4]; m[3, 1, 2] = x; m[23] + real(dim(m, 1)) }",
        4.0,
        1.0,
    );
    at(
        2.0,
        "fn f(x) { let row = [x, 1]; let n = 3; let m = [row; n]; sum(m) + m[2, 0] }",
        11.0,
        4.0,
    );
    at(2.0, "fn f(x) { let z = [[complex(x, 1); 2]; 2]; abs2(z[1, 1]) }", 5.0, 4.0);
    let empty = value("fn f(n: int) { shape([[1.0; 3]; n]) }", &[Datum::Int(0)]);
    assert_eq!(empty, Datum::ints([0, 3]));
}

#[test]
fn statements() {
    at(2.0, "fn f(x) { let (_, a, _) = (1.0, x, x * x); a }", 2.0, 1.0);
    at(2.0, "fn f(x) { let (a, b) = (x, x * x); a * b }", 8.0, 12.0);
    at(2.0, "fn f(x) { let (mut a, b) = (x, 3.0); a += b; a *= x; a -= 1; a /= 2; a }", 4.5, 3.5);
    at(2.0, "fn f(x) { let mut y = x; if x > 1 { y = 3 * x } else { y = x } y }", 6.0, 3.0);
    at(2.0, "fn f(x) { let y = x; let y = y * x; { let y = 100.0; y * y; } y }", 4.0, 4.0);
    at(2.0, "fn f(x) { let mut y = x; { y = y * x; } y }", 4.0, 4.0);
    at(2.0, "fn f(x) { let mut s = 0.0; for i in 0..3 { s += x * real(i); } s }", 6.0, 3.0);
    at(2.0, "fn f(x) { let mut s = 0.0; for i in 0..=3 { s += x * real(i); } s }", 12.0, 6.0);
    at(2.0, "fn f(x) { let mut s = x; for i in 3..0 { s = 0.0; } s }", 2.0, 1.0);
    at(
        2.0,
        "fn f(x) { let mut s = 0.0; for i in 0..2 { for j in i..=2 { if j == 1 { continue; } s += x; } } s }",
        6.0,
        3.0,
    );
    at(
        2.0,
        "fn f(x) { let mut s = x; let mut n = 0; while true { n += 1; if n > 3 { break; } s *= x; } s }",
        16.0,
        32.0,
    );
    at(
        2.0,
        "fn f(x) { for i in 0..9 { for j in 0..9 { if i * j == 6 { return x * real(i + 10 * j); } } } 0.0 }",
        122.0,
        61.0,
    );
    at(2.0, "fn f(x) { if x > 1 { return x * x; } x }", 4.0, 4.0);
    at(2.0, "fn f(x) { if x > 1 { return x * x; } else { return 0.0; } }", 4.0, 4.0);
    at(2.0, "fn f(x) { return x * x; }", 4.0, 4.0);
    at(
        2.0,
        "fn f(x) { let y = if x > 3 { 1.0 } else if x > 1 { x * x } else { 0.0 }; y }",
        4.0,
        4.0,
    );
    at(2.0, "fn f(x) { if x > 3 { 1 } else if x > 1 { x } else { 0 } }", 2.0, 1.0);
    at(2.0, "fn f(x) { let y = if x > 3 { return 1.0; } else { x }; y }", 2.0, 1.0);
    at(2.0, "fn f(x) { let mut y = x; while y < 10 { y *= 2; } y }", 16.0, 8.0);
    at(2.0, "fn f(x) { let a = { let b = x * x; b + 1 }; a }", 5.0, 4.0);
    at(2.0, "fn f(x) { ;; let a = x; ; a }", 2.0, 1.0);
}

#[test]
fn integers_reach_from_end_to_end() {
    assert_eq!(value("fn f() { -9223372036854775808 }", &[]), Datum::Int(i64::MIN));
    assert_eq!(value("fn f() { -9223372036854775807 - 1 }", &[]), Datum::Int(i64::MIN));
    assert_eq!(value("fn f() { 9223372036854775807 }", &[]), Datum::Int(i64::MAX));
    let below = "1:12: `9223372036854775808` is no number: expected an integer below 2^63";
    wrong("fn f() { 0-9223372036854775808 }", below);
    wrong("fn f() { -(9223372036854775808) }", below);
}

#[test]
fn inclusive_ranges_end_with_their_bound() {
    let last = "9223372036854775807";
    at(
        2.0,
        &format!("fn f(x) {{ let mut s = 1.0; for i in {last} - 2..={last} {{ s *= x; }} s }}"),
        8.0,
        12.0,
    );
    let powers = |body: &str| {
        format!(
            "fn f(x, a: int, b: int) {{ let mut s = 1.0; let mut n = 0; for i in a..=b {{ n += 1; {body} s *= x; }} s * real(n) }}"
        )
    };
    let cases = [
        // The body's start, the bounds, the factors of x in it, and the rounds.
        ("", i64::MAX - 2, i64::MAX, 3, 3),
        ("", i64::MAX, i64::MAX, 1, 1),
        ("", i64::MIN, i64::MIN + 1, 2, 2),
        ("", 3, 5, 3, 3),
        ("", 5, 3, 0, 0),
        ("", i64::MAX, i64::MIN, 0, 0),
        ("if i == b - 1 { continue; }", i64::MAX - 3, i64::MAX, 3, 4),
        ("if i == b { continue; }", i64::MAX - 3, i64::MAX, 3, 4),
        ("if i == b { break; }", i64::MAX - 3, i64::MAX, 3, 4),
        ("if n == 2 { break; }", i64::MAX - 3, i64::MAX, 1, 2),
        ("if n == 2 { return s * x * 2; }", i64::MAX - 3, i64::MAX, 2, 2),
    ];
    for (body, a, b, factors, rounds) in cases {
        let (y, g) =
            outcome(&powers(body), &[Datum::Real(2.0), Datum::Int(a), Datum::Int(b)]).unwrap();
        let (x, n) = (2f64, f64::from(rounds));
        assert_eq!(y, Datum::Real(n * x.powi(factors)), "{body} {a} {b}");
        assert_eq!(
            g,
            [Datum::Real(n * f64::from(factors) * x.powi(factors - 1))],
            "{body} {a} {b}"
        );
    }
}

#[test]
fn a_value_is_computed_before_the_place_it_goes_to() {
    // As in Rust: the right side first, then the place.
    at(
        2.0,
        "fn f(x) { let mut xs = [x, x]; xs[0] = { xs[1] = 5 * x; 1.0 }; xs[1] + xs[0] }",
        11.0,
        5.0,
    );
    at(2.0, "fn f(x) { let mut y = x; y += { y = 10.0; x }; y }", 12.0, 1.0);
    at(2.0, "fn f(x) { let y = x; let mut z = y; let s = z + { z = 10.0; z }; s }", 12.0, 1.0);
}

#[test]
fn arrays_tuples_and_structs_are_values() {
    at(2.0, "fn f(x) { let mut a = [x, 1]; let b = a; a[0] = 5.0; b[0] * a[0] }", 10.0, 5.0);
    at(2.0, "fn f(x) { let a = [x; 3]; sum(a) + real(len(a)) }", 9.0, 3.0);
    at(
        2.0,
        "fn f(x) { let n = 4; let mut a = [0.0; n]; for i in 0..len(a) { a[i] += x * real(i); } sum(a) }",
        12.0,
        6.0,
    );
    at(
        2.0,
        "fn f(x) { let mut z = [complex(x, 1); 2]; z[1] *= complex(0, 1); im(z[0] + z[1]) }",
        3.0,
        1.0,
    );
    at(2.0, "fn f(x) { let t = ((x, 2), [x, x]); t.0.0 * real(t.0.1) + t.1[1] }", 6.0, 3.0);
    at(
        2.0,
        "fn f(x) { let mut t = ((x, 2), x); t.0.0 = x * x; t.0.1 += 1; t.0.0 * real(t.0.1) }",
        12.0,
        12.0,
    );
    let point = "struct Point { x, y }\nstruct Line { a: Point, b: Point, w: array }\n";
    let with = |body: &str| format!("{point}{body}");
    at(2.0, &with("fn f(x) { let p = Point { y: x, x: 1 }; p.x + 10 * p.y }"), 21.0, 10.0);
    at(2.0, &with("fn f(x) { let y = 3.0; let p = Point { x, y }; p.x * p.y }"), 6.0, 3.0);
    at(
        2.0,
        &with(
            "fn f(x) { let p = Point { x, y: x }; let mut l = Line { a: p, b: p, w: [x, x] }; l.a.x *= 3; l.w[1] += l.a.x; l.b = Point { x: 0, y: 7 }; l.w[1] + l.b.y + l.a.y + p.x }",
        ),
        19.0,
        6.0,
    );
    at(
        2.0,
        &with(
            "fn g(p: Point) -> Point { Point { x: p.y, y: p.x } }\nfn f(x) { let p = g(Point { x: x, y: 1 }); p.y }",
        ),
        2.0,
        1.0,
    );
    at(
        2.0,
        &with(
            "fn f(x) { let mut p = Point { x: x, y: 0 }; for i in 0..3 { p.y += p.x; p.x = p.y; } p.y }",
        ),
        8.0,
        4.0,
    );
    at(2.0, &with("fn f(x) { if (Point { x: x, y: 1 }).x > 1 { x } else { 0 } }"), 2.0, 1.0);
}

#[test]
fn calls_methods_recursion_and_logic() {
    at(2.0, "fn f(x) { x.sin().exp() - exp(sin(x)) + x.powi(2) }", 4.0, 4.0);
    at(2.0, "fn f(x) { (x + 1).powi(2) + (-x).abs() }", 11.0, 7.0);
    at(
        2.0,
        "fn g(x, n: int) { if n <= 0 { 1.0 } else { x * g(x, n - 1) } }\nfn f(x) { g(x, 3) }",
        8.0,
        12.0,
    );
    at(
        2.0,
        "fn even(x, n: int) { if n == 0 { x } else { odd(x * x, n - 1) } }\nfn odd(x, n: int) { if n == 0 { -x } else { even(x + 1, n - 1) } }\nfn f(x) { even(x, 3) }",
        -25.0,
        -40.0,
    );
    at(2.0, "fn f(x) { helper(x) }\nfn helper(x) { x * x }\nfn last(x) { f(x) }", 4.0, 4.0);
    // `&&` and `||` run the right side only if it decides.
    at(
        2.0,
        "fn f(x) { let xs = [x]; let i = 3; if i < 1 && xs[i] > 0 { 0.0 } else { x } }",
        2.0,
        1.0,
    );
    at(
        2.0,
        "fn f(x) { let xs = [x]; let i = 3; if i > 1 || xs[i] > 0 { x } else { 0.0 } }",
        2.0,
        1.0,
    );
    at(2.0, "fn f(x) { if !(x < 1) && x < 3 || x > 10 { x } else { 0.0 } }", 2.0, 1.0);
    at(2.0, "fn f(x) { let c = x > 1 && x < 3; select(c, x, 0) }", 2.0, 1.0);
}

#[test]
fn every_op_of_the_table_is_called_by_its_name() {
    at(2.0, "fn f(x) { neg(add(mul(x, x), div(x, 2))) }", -5.0, -4.5);
    at(
        2.0,
        "fn f(x) { if lt(x, 3) { real_of_int(iadd(imul(2, 3), ineg(1))) * x } else { 0 } }",
        10.0,
        5.0,
    );
    at(2.0, "fn f(x) { if and(ilt(1, 2), not(eq(x, 3))) { re(promote(x)) } else { 0 } }", 2.0, 1.0);
    at(2.0, "fn f(x) { re(cpowi(complex(x, 0), 3)) }", 8.0, 12.0);
}

#[test]
fn arrays_of_whole_numbers_take_the_kind_that_fits() {
    // `[1, 2]` where real or complex numbers are expected means `[1.0, 2.0]`: `#` is
    // nothing, or `.0`.
    for body in [
        "sum([1#, 2#])",
        "mean([1#, 2#]) + norm([3#, 4#]) + maximum([1#, -2#]) + logsumexp([1#, 2#]) + prod([3#, 4#])",
        "dot([1#, 2#], a) + dot(a, [1#, 2#])",
        "a * [1#, 2#] + [3#, 4#] / a - -[5#, 6#]",
        "[1#, 2#] + [3#, 4#]",
        "[1#, 2#] * 2 + 0.5 * [3#, 4#]",
        "sin([1#, 2#]) + powi([1#, 2#], 3) + abs([1#, -2#]) + re([1#, 2#]) + max([1#, 2#], a) + atan2([1#, 2#], a)",
        "[a, [1#, 2#]]",
        "[[1#, 2#], a]",
        "concat([1#, 2#], a, 0)",
        "outer([1#, 2#], a) + matmul([[1#, 2#], [3#, 4#]], [a, [1#, 2#]])",
        "matvec([[1#, 2#], [3#, 4#]], [1#, 2#])",
        "solve([[2#, 1#], [1#, 2#]], [1#, 2#])",
        "sort([3#, 1#]) + gather([1#, 2#], [1, 0]) + row([[1#, 2#], [3#, 4#]], 0)",
        "if c { [1#, 2#] } else { a }",
        "if c { a } else { [1#, 2#] }",
        "if c { [1#, 2#] } else if a[0] > 0 { [3#, 4#] } else { [0.5, 1.0] }",
        "select(c, [1#, 2#], a) + select(c, a, [3#, 4#])",
        "[1#; 2] + [2#; n] * 0.5",
        "sum([1#; n])",
        "if c { return [1#, 2#]; } a",
        "let y = if c { [1#, 2#] } else { a }; y * y",
        "let mut y = a; y = [1#, 2#]; y += [3#, 4#]; y",
        "twice([1#, 2#])",
        "P { xs: [1#, 2#] }",
        "z * [1#, 2#] + [3#, 4#] * z",
        "if c { [1#, 2#] } else { z }",
        "if c { z } else { [1#, 2#] }",
        "[z, [1#, 2#]]",
        "dot([1#, 2#], z) + sum(abs2([1#, 2#]))",
        "fft([1#, 2#])",
        "complex([1#, 2#], [3#, 4#])",
    ] {
        let values = |point: &str| {
            let source = format!(
                "struct P {{ xs: array }} fn twice(xs: array) {{ xs + xs }}
                 fn f(a: array, z: array<complex>, c: bool, n: int) {{ {} }}",
                body.replace('#', point)
            );
            let program = parse_program(&source).unwrap_or_else(|e| panic!("{}: {source}", e[0]));
            let mut f = Derivatives::<Complex<f64>>::new(&program, "f").unwrap();
            [true, false].map(|c| {
                let z = Datum::complexes([Complex::new(0.5, -1.0), Complex::new(2.0, 0.25)]);
                f.value(&[Datum::reals([0.25, -3.0]), z, Datum::Bool(c), Datum::Int(2)]).unwrap()
            })
        };
        assert_eq!(values(""), values(".0"), "{body}");
    }
    // A variable is of ints, and says how to make it real.
    let errors = parse_program("fn f() { let ns = [1, 2]; sum(ns) }").unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "1:31: expected an array of real or complex numbers, given array<int>: write `real(ns)`"
    );
    at(2.0, "fn f(x) { let ns = [1, 2]; x * real(ns[1]) + sum(real(ns)) }", 7.0, 2.0);
}

#[test]
fn a_promotion_does_not_depend_on_the_order_of_branches() {
    for [a, b] in [
        ["xs", "zs"],
        ["xs[0]", "zs[0]"],
        ["[1, 2]", "zs"],
        ["[1, 2]", "xs"],
        ["1", "xs[0]"],
        ["(1, [1, 2])", "(xs[0], xs)"],
        ["(1, ([1, 2], 3))", "(xs[0], (xs, 4))"],
    ] {
        let kinds = [[a, b], [b, a]].map(|[a, b]| {
            let source =
                format!("fn f(xs: array, zs: array<complex>, c: bool) {{ if c {{ {a} }} else {{ {b} }} }}");
            let source = format!(
                "{source} fn g(xs: array, zs: array<complex>, c: bool) {{ if c {{ return {a}; }} {b} }}"
            );
            let program = parse_program(&source).unwrap_or_else(|e| panic!("{}: {source}", e[0]));
            let kinds: Vec<String> = program.functions.values().map(|f| f.result.to_string()).collect();
            assert_eq!(kinds[0], kinds[1], "{source}");
            kinds[0].clone()
        });
        assert_eq!(kinds[0], kinds[1], "{a} {b}");
    }
}

#[test]
fn a_rule_is_differentiated_as_where_it_is_called() {
    // Wrong on purpose, so that one sees which rule is asked.
    let p = parse_program(
        "rule back(x, y) { x * y } pullback(x, y, z, b) { (10 * x * b, b) }
         rule along(x, y) { x * y } pushforward(x, y, x_dot, y_dot) { 5 * x_dot + 7 * y_dot }
         rule still(x, y) { x * y }
         fn call_back(x, y) { back(x, y) }
         fn call_along(x, y) { along(x, y) }
         fn call_still(x, y) { still(x, y) }",
    );
    let mut rules = Rules::from_program(p.unwrap());
    rules.non_differentiable("still").unwrap();
    let p = rules.program().clone();
    let at = [Datum::Real(2.0), Datum::Real(3.0)];
    let dots = [Datum::Real(1.0), Datum::Real(-1.0)];
    let mut gradients = Vec::new();
    for name in ["back", "along", "still"] {
        let caller = format!("call_{name}");
        let [mut itself, mut called] =
            [name, &caller].map(|f| Derivatives::<f64>::new(&p, f).unwrap());
        let gradient = itself.value_and_gradient(&at).unwrap();
        assert_eq!(gradient, called.value_and_gradient(&at).unwrap(), "{name}");
        assert_eq!(itself.jvp(&at, &dots), called.jvp(&at, &dots), "{name}");
        assert_eq!(itself.hvp(&at, &dots), called.hvp(&at, &dots), "{name}");
        let pulled =
            |f: &mut Derivatives<f64>| f.pullback(&at).unwrap().call(Datum::Real(2.0)).unwrap();
        assert_eq!(pulled(&mut itself), pulled(&mut called), "{name}");
        gradients.push((gradient.1, itself.jvp(&at, &dots).unwrap().1));
    }
    let reals = |x, y| vec![Datum::Real(x), Datum::Real(y)];
    let expected = [
        (reals(20.0, 1.0), Datum::Real(19.0)),
        (reals(5.0, 7.0), Datum::Real(-2.0)),
        (reals(0.0, 0.0), Datum::Real(0.0)),
    ];
    assert_eq!(gradients, expected);
}

#[test]
fn rules_with_pullback_and_pushforward() {
    let wrong_on_purpose =
        "rule r(x, n: int) { x * real(n) }\npullback(x, n, y, y_bar) { (100 * y_bar, none) }\n";
    at(2.0, &format!("{wrong_on_purpose}fn f(x) {{ r(x, 3) * x }}"), 12.0, 206.0);
    at(2.0, "rule r(x) { x * x }\nfn f(x) { r(x) }", 4.0, 4.0);
    at(
        2.0,
        "rule r(x, y) { x * y }\npullback(x, y, z, z_bar) { (none, 7 * z_bar) }\nfn f(x) { r(x, x) }",
        4.0,
        7.0,
    );
    at(
        2.0,
        "rule r(x, y) { x * y }\npullback(x, y, z, b) { if x > 1 { return (b, b); } (0, 0) }\nfn f(x) { r(x, x) }",
        4.0,
        2.0,
    );
    at(
        2.0,
        "struct P { x, y }\nrule r(p: P) { p.x * p.y }\npullback(p, z, b) { P { x: b, y: 2 * b } }\nfn f(x) { r(P { x: x, y: x }) }",
        4.0,
        3.0,
    );
    at(
        2.0,
        "rule r(z: complex) { z * z }\npullback(z, y, b) { b * conj(2 * z) }\nfn f(x) { re(r(complex(x, 0))) }",
        4.0,
        4.0,
    );
    // The cotangent of a struct lacks the fields that have none.
    at(
        2.0,
        "struct P { x, n: int, xs: array } rule r(p: P) { p.x * sum(p.xs) * real(p.n) }
         pullback(p, y, b) { P { xs: [b * p.x; len(p.xs)], x: 7 * b } }
         fn f(x) { r(P { x: x, n: 3, xs: [x, 1] }) }",
        18.0,
        9.0,
    );
    let p =
        parse_program("rule r(x) { x * x }\npushforward(x, x_dot) { 5 * x_dot }\nfn f(x) { r(x) }")
            .unwrap();
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
    let (y, dot) = d.jvp(&[Datum::Real(2.0)], &[Datum::Real(1.0)]).unwrap();
    assert_eq!((y, dot), (Datum::Real(4.0), Datum::Real(5.0)));
    // What a rule file defines can be called from another text.
    let rules = Rules::from_program(p);
    let q = parse_program_with("fn g(x) { r(x) + 1 }", &rules).unwrap();
    let mut d = Derivatives::<f64>::new(&q, "g").unwrap();
    assert_eq!(d.value(&[Datum::Real(3.0)]).unwrap(), Datum::Real(10.0));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let dot = ": there is no operator for powers";
    wrong(
        "fn f(x) { x ** 2 }",
        &format!("1:13: expected `pow(x, y)` or `powi(x, n)`{dot}, found `**`"),
    );
    wrong(
        "fn f(x) { 2 ^ x }",
        &format!("1:13: expected `pow(x, y)` or `powi(x, n)`{dot}, found `^`"),
    );
    wrong(
        "fn f(x) { let y = x ^ 2; y }",
        &format!("1:21: expected `pow(x, y)` or `powi(x, n)`{dot}, found `^`"),
    );
    wrong("fn f(x) { f(x }", "1:15: expected `)`, found `}`");
    wrong("fn f(x) { x", "1:12: expected an operator, `;` or `}`, found the end of the text");
    wrong("fn f(x) { let x }", "1:17: expected `=`, found `}`");
    wrong("fn (x) { x }", "1:4: expected the name of the function, found `(`");
    wrong("x + 1", "1:1: expected `fn`, `struct` or `rule`, found `x`");
    wrong("fn f(x) { x < 1 < 2 }", "1:17: expected `&&`: comparisons are not chained, found `<`");
    wrong("struct P { x, y }\nfn f(p: P) { p.z }", "2:16: no field `z`");
    wrong(
        "struct Point { left, right }\nfn f(p: Point) { p.rihgt }",
        "2:20: no field `rihgt`: did you mean `right`?",
    );
    wrong("struct P { x, y }\nfn f(x) { P { x: x }.x }", "2:11: `P` lacks its field `y`");
    wrong(
        "struct Point { x, y }\nfn f(x) { Pint { x: x, y: x }.x }",
        "2:11: no struct `Pint`: did you mean `Point`?",
    );
    wrong("fn f(p: reel) { 1.0 }", "1:9: no kind `reel`: did you mean `real`?");
    wrong(
        "fn f(x) { let n = 1; n + x }",
        "1:26: expected int, given real: an int meets a real number through `real(n)`, and a whole number is real where it is written `1.0`",
    );
    wrong(
        "fn f(x) { let mut xs = [0; 3]; xs[1] = x; x }",
        "1:40: expected int, given real: an array of whole numbers holds ints, one of real numbers starts as `[0.0; n]`",
    );
    wrong("fn f(x) { x[0] }", "1:11: expected an array, given real");
    wrong("fn f(x) { [x][x] }", "1:15: expected int, given real");
    wrong("fn f(x) { let (a, b) = x; a }", "1:24: expected a tuple of 2 values, given real");
    wrong("fn f(x) { (x, 1).2 }", "1:18: expected a tuple with a field 2, given (real, int)");
    wrong("fn f(x) { if x { 1 } else { 2 } }", "1:14: expected bool, given real");
    wrong(
        "rule r(x, n: int) { x } pullback(x, n: int, y, g) { (g, none) } fn f(x) { r(x, 1) }",
        "1:38: expected `,` or `)` (here the parameters have the kinds that the rule says), found `:`",
    );
    wrong("fn f(x) { if x > 1 { x } else { x > 2 } }", "1:33: expected real, given bool");
    wrong(
        "fn f(x) { if x > 1 { x } }",
        "1:4: `f` gives no value: end it with an expression without `;`, an `if` with its `else`",
    );
    wrong(
        "fn f(x) { let y = if x > 1 { x; } else { x }; y }",
        "1:19: expected a value, given nothing",
    );
    wrong("fn f(x) { let y = while x > 1 { }; y }", "1:19: expected an expression, found `while`");
    wrong("fn f(x, x) { x }", "1:9: the parameter `x` is defined twice");
    wrong(
        "fn f(z: complex) -> real { z }",
        "1:28: expected real, given complex: take `re`, `im`, `abs` or `abs2` of it",
    );
    // What other languages have.
    wrong(
        "fn f(x) { let a = [[x]]; a[0][0] }",
        "1:26: expected an array, given real: an element of a matrix is `a[i, j]`",
    );
    wrong("fn f(x: f64) { x }", "1:9: no kind `f64`: did you mean `real`?");
    wrong("fn f(x) { math.sin(x) }", "1:11: no variable `math`");
    wrong("fn f(x) { 2x }", "1:12: expected an operator: a product is written `2 * x`, found `x`");
    wrong(
        "fn f(x) { let g = |y| y; g(x) }",
        "1:19: expected an expression: there are no closures, write a function `fn g(y) { … }` beside this one, found `|`",
    );
    wrong(
        "fn f(xs: array) { for x in xs { } 1.0 }",
        "1:31: expected `..` or `..=`: a loop runs over a range, `for i in 0..len(xs) { … xs[i] … }`, found `{`",
    );
    wrong("fn f(x) { none }", "1:11: `none` outside the value of a pullback");
    wrong("fn f(x) { continue; x }", "1:11: `continue` outside a loop");
    wrong(
        "rule r(x) { x } pullback(x, y) { x }",
        "1:17: `the pullback of r` takes 3 arguments, given 2",
    );
    wrong("rule r(x) { x } pullback(x, x, b) { x }", "1:29: the parameter `x` is defined twice");
    wrong(
        "rule r(n: int, x) { x } pullback(n, x, y, b) { (b, b) }",
        "1:49: expected `none`: int has no cotangent, given a cotangent",
    );
    wrong(
        "rule r(x, y) { x } pullback(x, y, z, b) { b }",
        "1:43: expected one cotangent for each of the 2 inputs, given real",
    );
    wrong("fn f(x) { let fn = 1; x }", "1:15: expected a variable, found `fn`");
    wrong(
        "fn f(x) { 1 = x; x }",
        "1:11: expected a variable, an element or a field, found a value",
    );
    wrong(
        "fn f(x) { let mut y = x; y = complex(1, 1); y }",
        "1:30: expected real, given complex: take `re`, `im`, `abs` or `abs2` of it, or start with `complex(0.0, 0.0)`",
    );
    wrong("fn f(x) { sin() }", "1:11: `sin` takes 1 argument, given 0");
    wrong("fn f(x) { f(1, 2) }", "1:11: `f` takes 1 argument, given 2");
    wrong("fn f(x) { for i in 0..x { } x }", "1:23: expected int, given real");
    wrong(
        "fn f(x) { for i in 0..3 { i = 2; } x }",
        "1:27: `i` cannot be assigned to: declare it with `let mut i`, a parameter or the variable of a loop once more with `let mut i = i;`",
    );
    wrong("struct real { x }", "1:8: the kind `real` is defined twice");
    wrong("struct P { x, x }", "1:15: the field `x` is defined twice");
    wrong("fn f(x) { 1e400 * x }", "1:11: `1e400` is no number: expected one below 1.8e308");
    wrong("fn f(x) { let mut a = [x]; a.y = 1; x }", "1:30: no field `y`");
}

/// A function's result follows from the kinds of its parameters as lowering decides it: whatever
/// may be called with these kinds is inferred to give a kind that the body fits, and no promotion
/// of it.
#[test]
fn array_functions_are_read_by_their_earlier_names() {
    let names = [
        ("broadcast_to", "spread", "(2.0, a)"),
        ("dynamic_update_slice", "paste", "(slice(a, 0, 0, 2), a, 0, 1)"),
        ("pad", "embed", "(slice(a, 0, 0, 2), a, 0, 1)"),
        ("gather", "take", "(a, [2, 0])"),
        ("gather_along", "take_along", "(reshape(a, [1, 3]), [1], 1)"),
        ("reverse_cumsum", "cumsum_back", "(a, 0)"),
        ("exclusive_prod", "prod_others", "(a)"),
        ("reshape_like", "like", "(a, [[1.0, 2.0]])"),
        ("ravel_multi_index", "place", "(a, [2])"),
    ];
    for (name, earlier, args) in names {
        let [now, before] = [name, earlier].map(|f| {
            // Positions in the text are part of a program.
            let program = parse_program(&format!("fn f(a: array) {{ {f:20}{args} }}"));
            program.unwrap().to_string()
        });
        assert_eq!(now, before);
        assert!(now.contains(&format!("{name} v")), "{now}");
        assert_eq!(ir::parse(&now.replace(name, earlier)).unwrap().to_string(), now, "{earlier}");
    }
}

#[test]
fn inferred_results_are_what_bodies_give() {
    const KINDS: [&str; 7] =
        ["real", "int", "bool", "complex", "array<real>", "array<int>", "array<complex>"];
    let calls = Builtin::names().map(|name| {
        let n = Builtin::by_name(name).unwrap().arity();
        format!("{name}({})", ["a", "b", "c", "c", "c"][..n].join(", "))
    });
    let operators = ["+", "-", "*", "/", "%", "<", "=="].map(|op| format!("a {op} b"));
    let more =
        ["-a", "!a", "a && b", "a[b]", "[a, b]", "[a; b]", "if a { b } else { c }", "(a, b).1"];
    let mut accepted = 0;
    for body in calls.chain(operators).chain(more.map(String::from)) {
        let result = |result: &str, params: &[&str; 3]| {
            let [a, b, c] = params;
            let source = format!("fn f(a: {a}, b: {b}, c: {c}){result} {{ {body} }}");
            let program = parse_program(&source).ok()?;
            Some(program.functions[program.lookup("f")?].result.to_string())
        };
        let pairs = KINDS.iter().flat_map(|a| KINDS.map(|b| (*a, b)));
        for (a, b) in pairs {
            let third = KINDS.into_iter().filter(|c| body.contains(", c") || *c == b);
            for c in third {
                let params = [a, b, c];
                let fits = |kind: &str| result(&format!(" -> {kind}"), &params).is_some();
                // A real number fits a complex result too.
                let expected =
                    KINDS.into_iter().chain(["(int, int)"]).find(|k| fits(k)).map(String::from);
                assert_eq!(result("", &params), expected, "{body} of {params:?}");
                accepted += usize::from(expected.is_some());
            }
        }
    }
    assert!(accepted > 500, "{accepted}");
}
