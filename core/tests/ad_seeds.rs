//! The acceptance rows of the documents this engine comes from, through program text and the public API.
//! A test's name starts with the row it shows.

use ketgrad_core::{
    adjoint,
    exec::{Bytecode, Cotangent, Datum, Derivatives, Executable, Limits, Machine, NoHost, accumulate},
    ir::{self, Cursor, Function, Kind, Number1, Number2, Op, Pipe, Position, Program},
    pass::{Level, optimize_all},
    rules::Rules,
    scalar::N,
    text::{parse_program, parse_program_with},
};

type Real = Datum<f64>;

fn program(source: &str) -> Program {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{e:?}"));
    let found = ir::verify(&program);
    assert!(found.is_empty(), "{found:?}\n{program}");
    program
}

fn real(x: f64) -> Real {
    Datum::Real(x)
}

/// The value and the gradient of a function of real numbers.
fn gradient(source: &str, f: &str, args: &[f64]) -> (f64, Vec<f64>) {
    let args: Vec<Real> = args.iter().map(|&x| real(x)).collect();
    gradient_of(source, f, &args)
}

fn gradient_of(source: &str, f: &str, args: &[Real]) -> (f64, Vec<f64>) {
    let program = program(source);
    let mut d = Derivatives::<f64>::new(&program, f).unwrap();
    let (y, g) = d.value_and_gradient(args).unwrap();
    (y, g.iter().flat_map(numbers).collect())
}

fn numbers(d: &Real) -> Vec<f64> {
    match d {
        Datum::Real(x) => vec![*x],
        Datum::Reals(xs) => xs.to_vec(),
        Datum::Tuple(fields) => fields.iter().flat_map(numbers).collect(),
        _ => vec![],
    }
}

#[track_caller]
fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} is not {b}");
}

/// Rounding of a few operations.
const ROUNDING: f64 = 1e-14;

#[test]
fn d01_quotient() {
    let (y, g) = gradient("fn f(a, b) { a / (1 + b * b) }", "f", &[1.0, 2.0]);
    assert_eq!(y, 0.2);
    close(g[0], 0.2, ROUNDING);
    close(g[1], -0.16, ROUNDING);
}

#[test]
fn d05_recursion_in_user_code() {
    let source = "fn power(x, n: int) { if n == 0 { 1.0 } else { x * power(x, n - 1) } }";
    let (y, g) = gradient_of(source, "power", &[real(2.0), Datum::Int(10)]);
    assert_eq!((y, g[0]), (1024.0, 5120.0));
}

#[test]
fn d07_polynomial() {
    let (y, g) = gradient("fn f(x) { 3 * x * x + 2 * x + 1 }", "f", &[5.0]);
    assert_eq!((y, g[0]), (86.0, 32.0));
}

const POINTS: &str = "
struct Point { x, y }
fn distance(p: Point, q: Point) { let dx = p.x - q.x; let dy = p.y - q.y; sqrt(dx * dx + dy * dy) }
fn loss(p: Point, p1: Point, p2: Point, k1, k2) {
    let d1 = distance(p, p1); let d2 = distance(p, p2);
    d1 * d1 * k1 + d2 * d2 * k2
}";

#[test]
fn d09_struct_gradient() {
    let point = |x: f64, y: f64| Datum::Tuple(vec![real(x), real(y)]);
    let (_, g) = gradient_of(
        POINTS,
        "loss",
        &[point(-1.0 / 3.0, 1.0), point(2.0, 3.0), point(-2.0, 0.0), real(0.1), real(0.1)],
    );
    close(g[0], 0.2 * (-1.0 / 3.0 - 2.0) + 0.2 * (-1.0 / 3.0 + 2.0), 1e-12);
}

#[test]
fn m01_value_and_pullback() {
    let source = "fn f(a, b) { a / (a + b * b) }";
    let (y, g) = gradient(source, "f", &[2.0, 3.0]);
    close(y, 0.18181818181818182, ROUNDING);
    close(g[0], 0.0743801652892562, ROUNDING);
    close(g[1], -0.09917355371900827, ROUNDING);
}

#[test]
fn others_loops() {
    let source = "
fn for_loop(x) { let mut r = x; for i in 1..3 { r = r * x; } r }
fn nested(x, n: int) { let mut r = x; for i in 1..n { for j in 1..3 { r = r + x; } r = r * x; } r }
fn s4(x) { for i in 0..10 { if i == 2 { return 10 * x * x; } } x }
fn powwhile(x, n: int) { let mut n = n; let mut r = 1.0; while n > 0 { n -= 1; r *= x; } r }
fn newton(a) { let mut x = a; for i in 0..50 { let y = 0.5 * (x + a / x); let d = y - x; x = y; if d * d < 1e-24 { break; } } x }
";
    assert_eq!(gradient(source, "for_loop", &[2.0]), (8.0, vec![12.0]));
    assert_eq!(gradient(source, "for_loop", &[3.0]), (27.0, vec![27.0]));
    assert_eq!(gradient_of(source, "powwhile", &[real(3.0), Datum::Int(4)]), (81.0, vec![108.0]));
    assert_eq!(gradient(source, "s4", &[1.0]), (10.0, vec![20.0]));
    let (y, g) = gradient(source, "newton", &[2.0]);
    close(y, 2f64.sqrt(), ROUNDING);
    close(g[0], 0.35355339059327373, 1e-12);
    let p = program(source);
    let mut d = Derivatives::<f64>::new(&p, "powwhile").unwrap();
    let h = d.hessian(&[real(3.0), Datum::Int(4)]).unwrap();
    assert_eq!(h, vec![vec![108.0]]);
}
