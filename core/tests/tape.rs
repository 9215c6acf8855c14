//! Tapes: operator overloading on numbers, and hard cases.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Datum, Derivatives, DeriveError, RunError},
    ir::{self, Op, Real1},
    pass::{Level, optimize_all},
    scalar::Scalar,
    tape::{ScalarOperator, Tape, TapeError, Variable},
    text::parse_program,
    trace::{Traced, trace_at},
};
use num_complex::Complex;
use num_dual::Dual64;

/// Rounding of a few operations.
const ROUNDING: f64 = 1e-14;

#[track_caller]
fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} is not {b}");
}

#[test]
fn a_variable_accumulates_and_nodes_keep_their_values() {
    let tape = Tape::new();
    let x = tape.variable("x", 3.0);
    let y = x * x;
    let z = y.sin() + y;
    z.backward().unwrap();
    let once = x.gradient();
    close(once, 6.0 * (9f64.cos() + 1.0), ROUNDING);
    // Computed variables have values and gradients of their own.
    assert_eq!(y.value(), 9.0);
    close(y.gradient(), 9f64.cos() + 1.0, ROUNDING);
    // Gradients add up until they are cleared.
    z.backward_with(0.5).unwrap();
    close(x.gradient(), 1.5 * once, ROUNDING);
    tape.zero_gradients();
    assert_eq!(x.gradient(), 0.0);
}

#[test]
fn any_operation_of_the_table_can_be_applied() {
    let tape = Tape::new();
    assert_eq!((tape.len(), tape.is_empty()), (0, true));
    let x = tape.variable("x", -2.5);
    assert_eq!((tape.len(), tape.is_empty()), (1, false));
    for (op, value, slope) in [(Real1::Abs, 2.5, -1.0), (Real1::Floor, -3.0, 0.0)] {
        let y = x.real1(op);
        tape.zero_gradients();
        y.backward().unwrap();
        assert_eq!((y.value(), x.gradient()), (value, slope), "{op:?}");
    }
    assert_eq!(tape.len(), 3);
}

#[test]
fn inputs_are_set_anew_and_constants_pass_through() {
    let tape = Tape::new();
    let (x, k) = (tape.variable("x", 2.0), tape.constant(10.0));
    let mut y = 2.0 * x + k;
    y *= x;
    y -= 1.0;
    assert_eq!(y.value(), 27.0);
    x.set(3.0);
    assert_eq!(y.value(), 47.0);
    y.backward().unwrap();
    assert_eq!((x.gradient(), k.gradient()), (22.0, 0.0));
    // New operations see the new value.
    assert_eq!((y + x).value(), 50.0);
    // Of what is computed nothing is set.
    y.set(0.0);
    assert!(matches!(y.backward(), Err(TapeError::NotAnInput { name }) if name == "sub"));
}

#[test]
fn backward_checks_what_it_is_given() {
    let tape = Tape::new();
    let (x, y) = (tape.variable("x", 2.0), tape.variable("y", 3.0));
    let wrong = <dyn ScalarOperator<f64>>::from_closures(
        "wrong",
        2,
        |x| x[0] * x[1],
        |_, _, y_bar| vec![*y_bar],
    );
    let e = tape.apply(&wrong, &[x]).unwrap_err();
    assert_eq!(e.to_string(), "`wrong` takes 2 inputs, but 1 were given");
    let z = tape.apply(&wrong, &[x, y]).unwrap();
    let e = z.backward().unwrap_err();
    assert_eq!(
        e.to_string(),
        "the backward of `wrong` gave 1 cotangents for 2 inputs: give one for each, in order"
    );
    assert_eq!(x.gradient(), 0.0, "a sweep that fails changes nothing");
    // Two tapes.
    let other = Tape::new();
    let a = other.variable("a", 1.0);
    let mixed = x + a;
    assert!(mixed.value().is_nan());
    let e = mixed.backward().unwrap_err();
    assert!(e.to_string().starts_with("`add` was given variables of two tapes"), "{e}");
    assert!(
        tape.apply(&wrong, &[x, a]).is_err() && tape.fault().is_some() && other.fault().is_none()
    );
    // A complex result needs a seed.
    let tape = Tape::<Complex<f64>>::default();
    let z = tape.variable("z", Complex::new(1.0, 2.0));
    assert_eq!((z * z).backward(), Err(TapeError::ComplexResult));
    z.abs2().backward().unwrap();
    assert_eq!(z.gradient(), Complex::new(2.0, 4.0));
}

/// `w . x + b` with its own weights and a choice.
struct Linear {
    weights: Vec<f64>,
    bias: f64,
    rectified: bool,
}
impl ScalarOperator<f64> for Linear {
    fn name(&self) -> &str {
        "linear"
    }
    fn arity(&self) -> Option<usize> {
        Some(self.weights.len())
    }
    fn forward(&self, x: &[f64]) -> Result<f64, String> {
        if x.iter().any(|x| x.is_nan()) {
            return Err("an input is NaN".into());
        }
        let y = x.iter().zip(&self.weights).fold(self.bias, |s, (x, w)| s + w * x);
        Ok(if self.rectified { y.max(0.0) } else { y })
    }
    fn backward(&self, _: &[f64], y: &f64, y_bar: &f64) -> Result<Vec<f64>, String> {
        let on = if self.rectified && *y <= 0.0 { 0.0 } else { 1.0 };
        Ok(self.weights.iter().map(|w| w * y_bar * on).collect())
    }
}

#[test]
fn custom_operators_are_evaluated_differentiated_and_frozen() {
    let tape = Tape::new();
    let (a, b) = (tape.variable("a", 1.0), tape.variable("b", 2.0));
    let cube = <dyn ScalarOperator<f64>>::from_closures(
        "cube",
        1,
        |x| x[0].powi(3),
        |x, _, d| vec![3.0 * x[0] * x[0] * d],
    );
    let linear = tape.operator(Linear { weights: vec![3.0, -1.0], bias: 0.5, rectified: true });
    let c = tape.apply(&cube, &[b]).unwrap();
    let y = tape.apply(&linear, &[a * 4.0, c]).unwrap() * a;
    y.backward().unwrap();
    assert_eq!((y.value(), a.gradient(), b.gradient()), (4.5, 4.5 + 12.0, -12.0));
    // State and options count, evaluated again too.
    b.set(3.0);
    tape.zero_gradients();
    y.backward().unwrap();
    assert_eq!((y.value(), a.gradient(), b.gradient()), (0.0, 0.0, 0.0));
    // What fails says so.
    let e = tape.apply(&linear, &[tape.constant(f64::NAN), a]).unwrap_err();
    assert!(e.to_string().starts_with("`linear` failed: an input is NaN (at "), "{e}");
    // Frozen, they are primitives with pullbacks.
    a.set(2.0);
    b.set(1.0);
    let frozen = y.freeze("f").unwrap();
    assert!(ir::verify(frozen.program()).is_empty(), "{frozen:?}");
    let (value, bars) = frozen
        .derivatives()
        .unwrap()
        .value_and_gradient(&[Datum::Real(2.0), Datum::Real(1.0)])
        .unwrap();
    tape.zero_gradients();
    y.backward().unwrap();
    assert_eq!(value, y.value());
    assert_eq!(bars, vec![Datum::Real(a.gradient()), Datum::Real(b.gradient())]);
}

/// A tape that was written on one side of a branch is no function on the other, and says so.
#[test]
fn a_frozen_tape_keeps_to_its_path() {
    let tape = Tape::new();
    let (x, y) = (tape.variable("x", 1.5), tape.variable("y", 3.0));
    let square = x * x;
    let z = if square < 4.0 { square } else { tape.constant(4.0) };
    let line = line!() - 1;
    let w = if y > z { y - z } else { z };
    assert!(w > -100.0); // after the result: no part of it
    let f = w.freeze("f").unwrap();
    let mut g = f.derivatives().unwrap();
    let at = |x, y| [Datum::Real(x), Datum::Real(y)];
    assert_eq!(g.gradient(&at(1.0, 3.0)).unwrap(), [Datum::Real(-2.0), Datum::Real(1.0)]);
    let error = g.value(&at(3.0, 20.0)).unwrap_err();
    assert!(
        matches!(error, DeriveError::Run(RunError::Path { at, .. }) if at.line == line),
        "{error}"
    );
    assert!(g.gradient(&at(1.0, 0.5)).is_err());
    assert_eq!(f.program().to_string().matches("expect.").count(), 2, "{f:?}");
    // The formula is that of the path, and constants decide nothing.
    assert_eq!(w.to_string(), "y - x*x");
    assert!(tape.constant(1.0) < tape.constant(2.0));
    // What was there before the first comparison does not depend on it, what came after may.
    assert!(!square.freeze("g").unwrap().program().to_string().contains("expect"));
    assert!((x * 2.0).freeze("g").unwrap().program().to_string().contains("expect"));
}

#[test]
fn variables_and_tapes_print_as_formulas_and_lists() {
    let tape = Tape::new();
    let (x, w) = (tape.variable("x", 2.0), tape.variable("w", 0.5));
    let y = (w * x + 1.0).powi(2);
    assert_eq!(y.to_string(), "powi(w*x + 1, 2)");
    y.backward().unwrap();
    assert_eq!(format!("{w:?}"), "w = 0.5 (gradient 8.0)");
    assert_eq!(
        tape.to_string(),
        "x = 2.0\nw = 0.5\nv1 = mul(w, x) = 1.0\nv2 = add(v1, 1.0) = 2.0\nv3 = powi(v2, 2) = 4.0\n"
    );
}

#[test]
fn sixty_doublings_and_a_deep_chain_are_linear() {
    let tape = Tape::new();
    let x = tape.variable("x", 1.0);
    let mut y = x;
    for _ in 0..60 {
        y += y;
    }
    y.backward().unwrap();
    assert_eq!((y.value(), x.gradient()), (2f64.powi(60), 2f64.powi(60)));
    assert!(y.to_string().len() < 2500);
    let tape = Tape::new();
    let x = tape.variable("x", 0.5);
    let mut y = x;
    for _ in 0..1_000_000 {
        y = y.sin();
    }
    y.backward().unwrap();
    assert!(x.gradient() > 0.0 && x.gradient() < 1.0);
    x.set(0.6);
    assert!(y.value().is_finite());
    assert_eq!(
        y.freeze("f").unwrap().program().functions.values().next().unwrap().size(),
        1_000_000
    );
}

#[test]
fn a_tape_becomes_a_function() {
    let tape = Tape::new();
    let (a, b) = (tape.variable("a", 3.0), tape.variable("b", 5.0));
    let unused = b.exp() * a;
    let y = (a + a * b) / (1.0 + b);
    let frozen = y.freeze("f").unwrap();
    let mut program = frozen.program().clone();
    let f = program.lookup("f").unwrap();
    assert!(ir::verify(&program).is_empty());
    assert_eq!(
        program.functions[f].params.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert!(!program.to_string().contains("exp"), "what the result does not need is left out");
    assert!(unused.value() > 0.0);
    // It can be optimised …
    optimize_all(&mut program, f, Level::Algebraic);
    assert_eq!(program.functions[f].size(), 0, "{program}");
    // … differentiated, and run again.
    let args = [Datum::Real(3.0), Datum::Real(5.0)];
    let (value, bars) =
        Derivatives::<f64>::new(&program, "f").unwrap().value_and_gradient(&args).unwrap();
    assert_eq!((value, bars), (3.0, vec![Datum::Real(1.0), Datum::Real(0.0)]));
    let (value, bars) = frozen.derivatives().unwrap().value_and_gradient(&args).unwrap();
    y.backward().unwrap();
    assert_eq!(value, y.value());
    close(*bars[0].real().unwrap(), a.gradient(), ROUNDING);
    // Names must differ then.
    let twin = tape.variable("a", 1.0);
    assert!(matches!((y * twin).freeze("f"), Err(TapeError::Duplicate { name }) if name == "a"));
}

/// A program with a loop and a branch, in the language and in Rust.
const SOURCE: &str = "fn f(x, y) { let mut s = 0.0; for k in 0..3 { s = s * x + sin(y) / (1 + x * x); } if s > 0 { sqrt(s) } else { s * y } }";

macro_rules! pipeline {
    ($x:expr, $y:expr, $zero:expr, $one:expr, $positive:expr) => {{
        let (x, y) = ($x, $y);
        let mut s = $zero;
        for _ in 0..3 {
            s = s * &x + y.sin() / ($one + x.clone() * &x);
        }
        if $positive(&s) { s.sqrt() } else { s * &y }
    }};
}

#[test]
fn tape_recording_and_source_give_the_same_numbers() {
    let program = parse_program(SOURCE).unwrap();
    let mut source = Derivatives::<f64>::new(&program, "f").unwrap();
    for (a, b) in [(0.3, 0.8), (1.5, -0.4), (-0.7, 2.0)] {
        let (value, bars) = source.value_and_gradient(&[Datum::Real(a), Datum::Real(b)]).unwrap();
        let tape = Tape::new();
        let (x, y) = (tape.variable("x", a), tape.variable("y", b));
        let z: Variable<'_> = pipeline!(x, y, tape.constant(0.0), 1.0, |s: &Variable<'_>| *s > 0.0);
        z.backward().unwrap();
        assert_eq!(z.value(), value);
        close(*bars[0].real().unwrap(), x.gradient(), ROUNDING);
        close(*bars[1].real().unwrap(), y.gradient(), ROUNDING);
        let traced = trace_at("f", &["x", "y"], (a, b), |(x, y)| {
            pipeline!(x, y, Traced::<f64>::int(0), Traced::<f64>::int(1), |s: &Traced<f64>| *s
                > Traced::int(0))
        })
        .unwrap();
        let (value, bars) = traced
            .derivatives::<f64>()
            .unwrap()
            .value_and_gradient(&[Datum::Real(a), Datum::Real(b)])
            .unwrap();
        close(value, z.value(), ROUNDING);
        close(*bars[0].real().unwrap(), x.gradient(), ROUNDING);
        close(*bars[1].real().unwrap(), y.gradient(), ROUNDING);
    }
}

/// `c[0] + c[1] x + …` by Horner's rule, from the left so that no constant is needed.
fn polynomial<'t>(c: &[Variable<'t>], x: Variable<'t>) -> Variable<'t> {
    c.iter().rev().copied().reduce(|sum, c| sum * x + c).unwrap()
}

#[test]
fn a_polynomial_is_mapped_over_a_list() {
    let values = |vs: &[Variable<'_>]| vs.iter().map(|v| v.value()).collect::<Vec<_>>();
    let gradients = |vs: &[Variable<'_>]| vs.iter().map(|v| v.gradient()).collect::<Vec<_>>();
    let tape = Tape::new();
    let w: Vec<_> = [3.0, 2.0, -3.0, 1.0].iter().map(|&c| tape.variable("w", c)).collect();
    let x: Vec<_> = [1.0, 2.0, 3.0, 4.0].iter().map(|&c| tape.variable("x", c)).collect();
    let y: Vec<_> = x.iter().map(|&x| polynomial(&w, x)).collect();
    assert_eq!(values(&y), [3.0, 3.0, 9.0, 27.0]);
    for y in &y {
        y.backward().unwrap();
    }
    assert_eq!(gradients(&w), [4.0, 10.0, 30.0, 100.0]);
    assert_eq!(gradients(&x), [-1.0, 2.0, 11.0, 26.0]);
    // Through the mean squared error.
    tape.zero_gradients();
    let targets = [2.0, 1.0, 3.0, 15.0];
    let squares = y.iter().zip(targets).map(|(y, t)| (*y - t).powi(2));
    let loss = squares.reduce(|a, b| a + b).unwrap() / 4.0;
    assert_eq!(loss.value(), 46.25);
    loss.backward().unwrap();
    assert_eq!(gradients(&x), [-0.5, 2.0, 33.0, 156.0]);
    assert_eq!(gradients(&w), [10.5, 35.5, 127.5, 473.5]);
    // At 0, where powers with a derivative by the exponent give NaN.
    let at = tape.variable("at", 0.0);
    polynomial(&w, at).backward().unwrap();
    assert_eq!(at.gradient(), 2.0);
}

#[test]
fn a_loop_of_the_program_language_maps_a_polynomial_over_a_list() {
    let source = "fn f(w: array, x: array) -> array {
        let mut y = x;
        for i in 0..len(x) { let mut s = 0.0; for k in 0..len(w) { s = s * x[i] + w[len(w) - 1 - k]; } y[i] = s; }
        y
    }";
    let program = parse_program(source).unwrap();
    let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
    let args = [Datum::reals([3.0, 2.0, -3.0, 1.0]), Datum::reals([1.0, 2.0, 3.0, 4.0])];
    let (y, bars) = d.vjp(&args, Datum::reals([1.0; 4])).unwrap();
    assert_eq!(y, Datum::reals([3.0, 3.0, 9.0, 27.0]));
    assert_eq!(
        bars,
        [Datum::reals([4.0, 10.0, 30.0, 100.0]), Datum::reals([-1.0, 2.0, 11.0, 26.0])]
    );
    let (_, bars) = d.vjp(&[args[0].clone(), Datum::reals([0.0])], Datum::reals([1.0])).unwrap();
    assert_eq!(bars[1], Datum::reals([2.0]));
}

#[test]
fn every_operation_agrees_with_duals_and_with_the_frozen_function() {
    type F = (&'static str, f64, for<'t> fn(Variable<'t>) -> Variable<'t>, fn(&Dual64) -> Dual64);
    macro_rules! list {
        ($($f:ident $at:expr;)*) => { [$((stringify!($f), $at, |x| x.$f(), |x| Scalar::$f(x))),*] };
    }
    let all: [F; 21] = list! {
        recip 0.4; sqrt 0.4; cbrt 0.4; exp 0.4; exp_m1 0.4; ln 0.4; ln_1p 0.4; log2 0.4; log10 0.4; sin 0.4; cos 0.4;
        tan 0.4; asin 0.4; acos 0.4; atan 0.4; sinh 0.4; cosh 0.4; tanh 0.4; asinh 0.4; acosh 1.4; atanh 0.4;
    };
    for (name, at, f, dual) in all {
        let tape = Tape::new();
        let x = tape.variable("x", at);
        let y = f(x);
        y.backward().unwrap();
        let reference = dual(&Dual64::new(at, 1.0));
        close(y.value(), reference.re, ROUNDING);
        close(x.gradient(), reference.eps, ROUNDING);
        let frozen = y.freeze(name).unwrap();
        let (value, bars) =
            frozen.derivatives().unwrap().value_and_gradient(&[Datum::Real(at)]).unwrap();
        assert_eq!(value, y.value(), "{name}");
        close(*bars[0].real().unwrap(), x.gradient(), ROUNDING);
    }
    // Operations on two numbers, and those with subgradients.
    let tape = Tape::new();
    let (x, y) = (tape.variable("x", 1.5), tape.variable("y", -0.5));
    let z =
        x.hypot(y) + y.atan2(x) + x.pow(y) + x.max(y) * y.min(x) + y.abs() - (x - y) / (2.0 - x);
    z.backward().unwrap();
    let frozen = z.freeze("f").unwrap();
    let (value, bars) = frozen
        .derivatives()
        .unwrap()
        .value_and_gradient(&[Datum::Real(1.5), Datum::Real(-0.5)])
        .unwrap();
    assert_eq!(value, z.value());
    close(*bars[0].real().unwrap(), x.gradient(), ROUNDING);
    close(*bars[1].real().unwrap(), y.gradient(), ROUNDING);
    let zero = tape.variable("zero", 0.0);
    (zero.abs() + zero.sqrt() * 0.0).backward().unwrap();
    assert_eq!(zero.gradient(), 0.0, "an infinite slope times an exact zero is zero");
}

#[test]
fn complex_and_dual_tapes() {
    // L = |z^3 sin z|^2 + re(conj(z)/z): uphill is dL/dx + i dL/dy.
    fn loss(z: Complex<f64>) -> f64 {
        (z.powi(3) * z.sin()).norm_sqr() + (z.conj() / z).re + z.arg() * z.norm() + z.im
    }
    let tape = Tape::<Complex<f64>>::default();
    let at = Complex::new(0.6, -0.9);
    let z = tape.variable("z", at);
    let y = (z.powi(3) * z.sin()).abs2() + (z.conj() / z).re() + z.arg() * z.modulus() + z.im();
    close(y.value().re, loss(at), ROUNDING);
    y.backward().unwrap();
    let h = 1e-6;
    let dx = (loss(at + h) - loss(at - h)) / (2.0 * h);
    let i = Complex::new(0.0, h);
    let dy = (loss(at + i) - loss(at - i)) / (2.0 * h);
    close(z.gradient().re, dx, 1e-8);
    close(z.gradient().im, dy, 1e-8);
    let frozen = y.freeze("f").unwrap();
    let one = Datum::Complex(Complex::new(1.0, 0.0));
    let (_, bars) = frozen.derivatives().unwrap().vjp(&[Datum::Complex(at)], one).unwrap();
    assert!((bars[0].complex().unwrap() - z.gradient()).norm() < 1e-12);
    // A tape of duals: the gradient and its derivative.
    let tape = Tape::<Dual64>::default();
    let x = tape.variable("x", Dual64::new(0.7, 1.0));
    (x.powi(3) * x.sin()).backward().unwrap();
    let (s, c) = 0.7f64.sin_cos();
    close(x.gradient().re, 3.0 * 0.49 * s + 0.343 * c, ROUNDING);
    close(x.gradient().eps, 6.0 * 0.7 * s + 6.0 * 0.49 * c - 0.343 * s, ROUNDING);
    // A constant that carries a derivative is no plain number.
    let odd = x * tape.constant(Dual64::new(1.0, 1.0));
    assert!(matches!(odd.freeze("f"), Err(TapeError::Constant)));
    assert!(matches!(
        (x * 2.0)
            .freeze("f")
            .unwrap()
            .program()
            .functions
            .values()
            .next()
            .unwrap()
            .insts
            .values()
            .next()
            .unwrap()
            .op,
        Op::Real(_)
    ));
}
