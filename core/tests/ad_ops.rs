//! The laws over the op table: every op on every number, every rule against dual numbers and differences.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Datum, Derivatives},
    ir::{FunctionBuilder, Kind, Mixed, Number1, Number2, Op, Param, Program, Real1, Real2},
    scalar::{Real, Scalar, Uncertain},
};
use num_complex::Complex;
use num_dual::{Dual64, HyperDual64};

/// Two ways of computing the same slope.
const TOLERANCE: f64 = 1e-10;
/// Central differences.
const DIFFERENCE: f64 = 1e-6;

/// `f(args…) = op args…`.
fn program(op: Op, kinds: &[Kind], result: Kind) -> Program {
    let params =
        kinds.iter().enumerate().map(|(k, kind)| Param::new(format!("x{k}"), kind.clone())).collect();
    let mut b = FunctionBuilder::new("f", params, result.clone());
    let args = b.params().to_vec();
    let y = b.inst(op, &args, result);
    b.ret(y);
    let mut program = Program::new();
    program.add(b.finish());
    assert!(ketgrad_core::ir::verify(&program).is_empty());
    program
}

/// Points inside the domain.
fn points(name: &str) -> Vec<f64> {
    match name {
        "acosh" => vec![1.3, 2.0],
        "ln" | "log2" | "log10" | "sqrt" | "pow" | "recip" => vec![0.3, 1.7],
        "ln_1p" => vec![-0.5, 0.7],
        "asin" | "acos" | "atanh" => vec![-0.6, 0.0, 0.3],
        _ => vec![-0.7, 0.4, 1.2],
    }
}

fn real_ops() -> Vec<(Op, usize, &'static str)> {
    (Number1::ALL.iter().map(|o| (Op::Number1(*o), 1, o.name())))
        .chain(Number2::ALL.iter().map(|o| (Op::Number2(*o), 2, o.name())))
        .chain(Real1::ALL.iter().map(|o| (Op::Real1(*o), 1, o.name())))
        .chain(Real2::ALL.iter().map(|o| (Op::Real2(*o), 2, o.name())))
        .collect()
}

#[track_caller]
fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance * (1.0 + a.abs() + b.abs()), "{what}: {a} is not {b}");
}

fn value<T: Real>(program: &Program, args: &[T]) -> T {
    let args: Vec<Datum<T>> = args.iter().map(|x| Datum::Real(x.clone())).collect();
    let mut d = Derivatives::<T>::new(program, "f").unwrap();
    d.value(&args).unwrap().real().unwrap().clone()
}

#[test]
fn every_real_op_agrees_with_duals_differences_and_its_own_second_derivative() {
    for (op, n, name) in real_ops() {
        let p = program(op, &vec![Kind::Real; n], Kind::Real);
        for (j, &x) in points(name).iter().enumerate() {
            let args: Vec<f64> = if n == 1 { vec![x] } else { vec![x, points(name)[j] * 0.8 + 0.15] };
            let data: Vec<Datum<f64>> = args.iter().map(|&x| Datum::Real(x)).collect();
            let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
            let (y, g) = d.value_and_gradient(&data).unwrap();
            assert_eq!(y, value(&p, &args), "{name}");
            for k in 0..n {
                let what = format!("{name}{args:?} by {k}");
                let slope = *g[k].real().unwrap();
                let seeded = |e: f64| {
                    args.iter().enumerate().map(|(i, &x)| if i == k { x + e } else { x }).collect::<Vec<_>>()
                };
                let duals: Vec<Dual64> = args
                    .iter()
                    .enumerate()
                    .map(|(i, &x)| Dual64::new(x, f64::from(u8::from(i == k))))
                    .collect();
                close(value(&p, &duals).eps, slope, TOLERANCE, &what);
                let difference = (value(&p, &seeded(1e-6)) - value(&p, &seeded(-1e-6))) / 2e-6;
                close(difference, slope, DIFFERENCE, &what);
                let mut dots = vec![Datum::Real(0.0); n];
                dots[k] = Datum::Real(1.0);
                let (_, dot) = d.jvp(&data, &dots).unwrap();
                close(*dot.real().unwrap(), slope, TOLERANCE, &what);
                // The gradient on duals is the second derivative, as by hyper-duals.
                let (_, hv) = d.hvp(&data, &dots).unwrap();
                let one = |on: bool| f64::from(u8::from(on));
                let hyper: Vec<HyperDual64> = args
                    .iter()
                    .enumerate()
                    .map(|(i, &x)| HyperDual64::new(x, one(i == k), one(i == k), 0.0))
                    .collect();
                close(value(&p, &hyper).eps1eps2, *hv[k].real().unwrap(), 1e-9, &format!("{what}, twice"));
            }
            // An uncertain number carries |slope| sigma.
            let mut uncertain: Vec<Uncertain> = args.iter().map(|&x| Uncertain::exact(x)).collect();
            uncertain[0] = Uncertain::new(args[0], 0.01);
            close(value(&p, &uncertain).sigma(), 0.01 * g[0].real().unwrap().abs(), TOLERANCE, name);
        }
    }
}

/// `re(conj(a) b)`.
fn pairing(a: Complex<f64>, b: Complex<f64>) -> f64 {
    (a.conj() * b).re
}

fn complex(d: &Datum<Complex<f64>>) -> Complex<f64> {
    match d {
        Datum::Real(x) => Complex::new(*x, 0.0),
        Datum::Complex(z) => *z,
        _ => Complex::new(f64::NAN, 0.0),
    }
}

#[test]
fn every_complex_op_pulls_back_by_the_conjugate() {
    let number = |op, n| (op, vec![Kind::Complex; n], Kind::Complex);
    let mixed = |op: Mixed| {
        let (kinds, result) = op.signature();
        (Op::Mixed(op), kinds.to_vec(), result)
    };
    let ops: Vec<(Op, Vec<Kind>, Kind)> = (Number1::ALL.iter().map(|o| number(Op::Number1(*o), 1)))
        .chain(Number2::ALL.iter().map(|o| number(Op::Number2(*o), 2)))
        .chain([Mixed::Promote, Mixed::Complex, Mixed::Re, Mixed::Im, Mixed::Abs2, Mixed::Modulus].map(mixed))
        .chain([Mixed::Arg, Mixed::Conj].map(mixed))
        .collect();
    let zs = [Complex::new(0.6, 0.35), Complex::new(-0.4, 0.7)];
    let dots = [Complex::new(0.3, -0.8), Complex::new(1.1, 0.2)];
    for (op, kinds, result) in ops {
        let what = format!("{op}");
        let p = program(op, &kinds, result.clone());
        let at = |list: &[Complex<f64>]| -> Vec<Datum<Complex<f64>>> {
            kinds
                .iter()
                .zip(list)
                .map(|(k, z)| if *k == Kind::Real { Datum::Real(z.re) } else { Datum::Complex(*z) })
                .collect()
        };
        let mut d = Derivatives::<Complex<f64>>::new(&p, "f").unwrap();
        let seed = Complex::new(0.7, -0.45);
        let y_bar = if result == Kind::Real { Datum::Real(seed.re) } else { Datum::Complex(seed) };
        let (_, bars) = d.vjp(&at(&zs), y_bar.clone()).unwrap();
        let (_, dot) = d.jvp(&at(&zs), &at(&dots)).unwrap();
        let left = pairing(complex(&y_bar), complex(&dot));
        let right: f64 = bars.iter().zip(at(&dots)).map(|(b, d)| pairing(complex(b), complex(&d))).sum();
        close(left, right, TOLERANCE, &what);
        // The pushforward is the difference quotient.
        let h = 1e-6;
        let step = |s: f64| -> Vec<Complex<f64>> { zs.iter().zip(&dots).map(|(z, d)| z + d * s).collect() };
        let (plus, minus) = (d.value(&at(&step(h))).unwrap(), d.value(&at(&step(-h))).unwrap());
        let difference = (complex(&plus) - complex(&minus)) / (2.0 * h);
        close((difference - complex(&dot)).norm(), 0.0, DIFFERENCE, &what);
    }
}

#[test]
fn powers_by_an_integer() {
    let p = program(Op::Mixed(Mixed::PowiReal), &[Kind::Real, Kind::Int], Kind::Real);
    for n in -3..5i32 {
        let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
        let g = d.gradient(&[Datum::Real(1.3), Datum::Int(i64::from(n))]).unwrap();
        close(*g[0].real().unwrap(), f64::from(n) * 1.3f64.powi(n - 1), TOLERANCE, "powi");
    }
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
    assert_eq!(d.gradient(&[Datum::Real(0.0), Datum::Int(0)]).unwrap(), vec![Datum::Real(0.0)]);
}

#[test]
fn subgradients_are_those_of_the_table() {
    let source = "
fn abs_(x) { abs(x) }
fn max_(x) { max(x, 2 - x) }
fn min_(x) { min(x, 2 - x) }
fn floor_(x) { floor(x) }
fn root(x) { sqrt(x) }
fn guarded(x) { select(x > 0, sqrt(x), 0.0 * x) }
fn power(x) { pow(x, 2.0) }
fn hyp(x) { hypot(x, x) }";
    let p = ketgrad_core::text::parse_program(source).unwrap();
    let slope = |f: &str, x: f64| {
        let mut d = Derivatives::<f64>::new(&p, f).unwrap();
        *d.gradient(&[Datum::Real(x)]).unwrap()[0].real().unwrap()
    };
    assert_eq!(slope("abs_", 0.0), 0.0);
    assert_eq!((slope("max_", 1.0), slope("min_", 1.0)), (1.0, 1.0));
    assert_eq!(slope("floor_", 2.0), 0.0);
    assert_eq!(slope("root", 0.0), f64::INFINITY);
    assert_eq!(slope("guarded", 0.0), 0.0);
    assert_eq!(slope("power", 0.0), 0.0);
    assert!(slope("hyp", 0.0).is_nan());
}

#[test]
fn a_complex_program_needs_a_complex_scalar_and_a_real_one_does_not() {
    let p =
        ketgrad_core::text::parse_program("fn f(x, y) { abs2(exp(complex(x, y)) * complex(0, 1)) }").unwrap();
    let mut d = Derivatives::<Complex<f64>>::new(&p, "f").unwrap();
    let g = d.gradient(&[Datum::Real(0.5), Datum::Real(1.0)]).unwrap();
    close(*g[0].real().unwrap(), 2.0 * 1f64.exp(), TOLERANCE, "|e^z|^2 by x");
    close(*g[1].real().unwrap(), 0.0, TOLERANCE, "|e^z|^2 by y");
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
    let e = d.value(&[Datum::Real(0.5), Datum::Real(1.0)]).unwrap_err();
    assert!(e.to_string().contains("complex numbers"), "{e}");
    // The gradient of a real loss is dL/dx + i dL/dy.
    let p = ketgrad_core::text::parse_program("fn f(z: complex) { abs2(z) }").unwrap();
    let mut d = Derivatives::<Complex<f64>>::new(&p, "f").unwrap();
    let g = d.gradient(&[Datum::Complex(Complex::new(1.0, 2.0))]).unwrap();
    assert_eq!(g, vec![Datum::Complex(Complex::new(2.0, 4.0))]);
    assert_eq!(Scalar::abs2(&Complex::new(1.0, 2.0)), 5.0);
}
