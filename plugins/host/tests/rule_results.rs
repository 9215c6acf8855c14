//! Results of kernels other than a number: errors, arrays of any shape, several results, numbers of
//! mixed kinds and of other precisions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Bytecode, Datum, Derivatives, Executable, Limits, Machine},
    scalar::{Real, Scalar},
    tape::Tape,
    text::parse_program_with,
};
use ketgrad_plugin_host::{Plugins, Selection, Settings};
use num_complex::Complex;
use num_dual::Dual64;

use crate::rules::{close, derivatives, request};

/// A kernel that says where it has no value: on every kind of number, forwards and backwards, from
/// loops and tapes, with plugin, rule and arguments.
#[test]
fn errors_of_rust_kernels_reach_the_user() {
    let plugins = only(&["root", "croot"]);
    let host = plugins.host();
    let source = "fn f(a, b) { root(a, b) }";
    let (y, gradient, _) = derivatives(&plugins, source, &[2.0, 8.0]);
    assert_eq!((y, gradient), (4.0, vec![1.0, 0.25]));

    let words = ["no smooth root of -6", "plugin `ketgrad_hostile`", "rule `root`", "at -2, 3"];
    let said = |error: String| assert!(words.iter().all(|w| error.contains(w)), "{error}");
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_host(&*host);
    let at = [Datum::Real(-2.0), Datum::Real(3.0)];
    said(f.value(&at).unwrap_err().to_string());
    said(f.gradient(&at).unwrap_err().to_string());
    said(f.hessian(&at).unwrap_err().to_string());
    let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
    let at = [-2.0, 3.0].map(|x| Datum::Real(Dual64::new(x, 1.0)));
    let limits = Limits::default();
    said(code.call(&mut Machine::<Dual64>::new(), &*host, &limits, &at).unwrap_err().to_string());
    let at = [-2.0, 3.0].map(|x| Datum::Real(x as f32));
    said(code.call(&mut Machine::<f32>::new(), &*host, &limits, &at).unwrap_err().to_string());

    let source = "fn f(b) { let mut s = 0.0; for k in 0..5 { s += root(0.5 - real(k), b); } s }";
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_host(&*host);
    let error = f.value(&[Datum::Real(3.0)]).unwrap_err().to_string();
    assert!(error.contains("no smooth root of -1.5") && error.contains("at -0.5, 3"), "{error}");

    let root = plugins.operator::<f64>("root").unwrap();
    let tape = Tape::new();
    let x = [tape.variable("a", -2.0), tape.variable("b", 3.0)];
    said(tape.apply(&root, &x).unwrap_err().to_string());

    let program = parse_program_with("fn f(z: complex) { croot(z) }", plugins.rules()).unwrap();
    let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
    let at = [Datum::Complex(Complex::new(-1.0, 0.5))];
    let error = code.call(&mut Machine::new(), &*host, &limits, &at).unwrap_err().to_string();
    assert!(error.contains("left of the cut") && error.contains("at -1+0.5i"), "{error}");
}

/// Results of another shape than the inputs: with a new axis, of vectors and matrices, in all first
/// derivatives.
#[test]
fn results_may_have_any_shape() {
    let plugins = only(&["vander"]);
    let host = plugins.host();
    let source = "fn f(a, b) { let v = vander([a, b, a * b]); v[0, 2] * v[1, 1] + v[2, 2] + real(dim(v, 0) * 10 + dim(v, 1)) }";
    let (a, b) = (0.5, 2.0);
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_host(&*host);
    let at = [Datum::Real(a), Datum::Real(b)];
    let (y, gradient) = f.value_and_gradient(&at).unwrap();
    close(y, a * a * b + a * a * b * b + 33.0);
    let by_a = 2.0 * a * b + 2.0 * a * b * b;
    close(*gradient[0].real().unwrap(), by_a);
    close(*gradient[1].real().unwrap(), a * a + 2.0 * a * a * b);
    close(*f.jvp(&at, &[Datum::Real(1.0), Datum::Real(0.0)]).unwrap().1.real().unwrap(), by_a);
    let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
    let at = [Datum::Real(Dual64::new(a, 1.0)), Datum::Real(Dual64::new(b, 0.0))];
    let y = code.call(&mut Machine::<Dual64>::new(), &*host, &Limits::default(), &at).unwrap();
    close(y.real().unwrap().eps, by_a);

    // Of a matrix: three axes, on numbers and duals.
    let source = "fn f(a) { let v = vander([[a, 1.0], [2.0, a * a]]); v[0, 0, 1] * v[1, 1, 2] + v[1, 0, 2] + real(dim(v, 2)) }";
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_host(&*host);
    let (y, gradient) = f.value_and_gradient(&[Datum::Real(a)]).unwrap();
    close(y, a.powi(5) + 7.0);
    close(*gradient[0].real().unwrap(), 5.0 * a.powi(4));
    let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
    let at = [Datum::Real(Dual64::new(a, 1.0))];
    let y = code.call(&mut Machine::<Dual64>::new(), &*host, &Limits::default(), &at).unwrap();
    close(y.real().unwrap().eps, 5.0 * a.powi(4));
}

fn only(names: &[&str]) -> Plugins {
    let mut plugins = Plugins::new(Settings::default());
    let rules = Selection::Only(names.iter().map(|n| (*n).to_owned()).collect());
    plugins
        .load(&request("ketgrad_hostile").with_rules(rules).with_kernels(Selection::Only(vec![])))
        .unwrap();
    plugins
}

/// `polar` gives complex numbers and a real one, of real numbers and ints: a tuple in programs,
/// with first derivatives in both modes, on duals and in other precisions.
#[test]
fn several_results_of_mixed_kinds() {
    let plugins = only(&["polar"]);
    let host = plugins.host();
    // |r0 e^(ia) + b e^(2ia)|^2 + b (r0 + b) = r0^2 + b^2 + 2 r0 b cos a + r0 b + b^2
    let source = "fn f(b, a) { let (zs, s) = polar([1.5, b], a, [1, 2]); abs2(sum(zs)) + b * s }";
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let mut f = Derivatives::<Complex<f64>>::new(&program, "f").unwrap().with_host(&*host);
    let (b, a) = (0.7, 0.4);
    let at = [Datum::Real(b), Datum::Real(a)];
    let expected = 2.25 + b * b + 3.0 * b * f64::cos(a) + 1.5 * b + b * b;
    let slopes = [4.0 * b + 3.0 * f64::cos(a) + 1.5, -3.0 * b * f64::sin(a)];
    let (y, gradient) = f.value_and_gradient(&at).unwrap();
    close(y, expected);
    for k in 0..2 {
        close(*gradient[k].real().unwrap(), slopes[k]);
        let dots = [0, 1].map(|i| Datum::Real(f64::from(u8::from(i == k))));
        close(*f.jvp(&at, &dots).unwrap().1.real().unwrap(), slopes[k]);
        let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
        let seeded = [b, a].into_iter().enumerate();
        let duals: Vec<Datum<Complex<Dual64>>> =
            seeded.map(|(i, x)| Datum::Real(Dual64::new(x, f64::from(u8::from(i == k))))).collect();
        let y = code.call(&mut Machine::new(), &*host, &Limits::default(), &duals).unwrap();
        close(y.real().unwrap().re, expected);
        close(y.real().unwrap().eps, slopes[k]);
    }
    // A type without imaginary parts cannot hold the result.
    let mut real = Derivatives::<f64>::new(&program, "f").unwrap().with_host(&*host);
    let error = real.value(&[b, a].map(Datum::Real)).unwrap_err().to_string();
    assert!(error.contains("run the program on complex numbers"), "{error}");
    // Shapes that do not fit are the plugin's error, with rule and arguments.
    let source = "fn f(b) { let (zs, s) = polar([1.5, b], 0.1, [1]); s }";
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_host(&*host);
    let error = f.value(&[Datum::Real(b)]).unwrap_err().to_string();
    assert!(
        error.contains("lengths of shape [2], ints of [1]")
            && error.contains("rule `polar` at [1.5, 0.7], 0.1, [1]"),
        "{error}"
    );
}

/// Results of a program in `f64` and in a narrower type: its value, gradient, and the products of
/// its Jacobian.
fn narrow<T: Real, S: Scalar<Real = T>, W: Scalar<Real = f64>>(
    plugins: &Plugins,
    source: &str,
    single: fn(f64) -> T,
    wide: fn(&T) -> f64,
) {
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let host = plugins.host();
    let at = [0.7, 0.4];
    let mut f = Derivatives::<W>::new(&program, "f").unwrap().with_host(&*host);
    let mut g = Derivatives::<S>::new(&program, "f").unwrap().with_host(&*host);
    let (x, y) = (at.map(Datum::Real), at.map(|x| Datum::Real(single(x))));
    let near = |given: &Datum<S>, expected: &Datum<W>| {
        let (given, expected) = (wide(given.real().unwrap()), *expected.real().unwrap());
        let far = (given - expected).abs();
        assert!(far < 1e-6 * (1.0 + expected.abs()), "{source}: {given} for {expected}");
    };
    near(&g.value(&y).unwrap(), &f.value(&x).unwrap());
    let (given, expected) = (g.gradient(&y).unwrap(), f.gradient(&x).unwrap());
    for k in 0..2 {
        near(&given[k], &expected[k]);
        let unit = [0, 1].map(|i| f64::from(u8::from(i == k)));
        let (dx, dy) = (unit.map(Datum::Real), unit.map(|x| Datum::Real(single(x))));
        near(&g.jvp(&y, &dy).unwrap().1, &f.jvp(&x, &dx).unwrap().1);
    }
}

/// A kernel in `f64` without a program, run in `f32`: rounded, first derivatives too, and an error
/// above.
#[test]
fn rules_without_a_program_run_in_single_precision() {
    let plugins = only(&["scan", "norm2", "vander", "polar"]);
    let host = plugins.host();
    let single: fn(f64) -> f32 = |x| x as f32;
    let wide: fn(&f32) -> f64 = |x| f64::from(*x);
    for source in [
        "fn f(a, b) { let s = scan([a, b, a * b]); s[1] * s[2] + norm2(s) }",
        "fn f(a, b) { sum(vander([[a, b], [a * b, 1.0]])) }",
    ] {
        narrow::<f32, f32, f64>(&plugins, source, single, wide);
        let program = parse_program_with(source, plugins.rules()).unwrap();
        let mut f = Derivatives::<f32>::new(&program, "f").unwrap().with_host(&*host);
        let error = f.hessian(&[0.7f32, 0.4].map(Datum::Real)).unwrap_err().to_string();
        assert!(error.contains("kernel"), "{error}");
    }
    let source = "fn f(b, a) { let (zs, s) = polar([1.5, b], a, [1, 2]); abs2(sum(zs)) + b * s }";
    narrow::<f32, Complex<f32>, Complex<f64>>(&plugins, source, single, wide);
    // Derivatives of derivatives on numbers that carry them, in words.
    let program = parse_program_with("fn f(a) { norm2([a, 2.0]) }", plugins.rules()).unwrap();
    let mut f = Derivatives::<Dual64>::new(&program, "f").unwrap().with_host(&*host);
    let error = f.gradient(&[Datum::Real(Dual64::new(0.5, 1.0))]).unwrap_err().to_string();
    assert!(error.contains("derivatives above the first need one"), "{error}");
}
