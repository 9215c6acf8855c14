//! Derivatives, simulations and optimizations in programs of other people: across threads, and
//! ended early.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use ketgrad_core::{
    cancel::{CancellationToken, is_cancelled},
    exec::{
        Batch, Budgeted, Bytecode, Datum, Derivatives, Host, HostError, Machine, Prepared,
        Pullback, Steps,
        inspect::{Inspection, OpCounter},
    },
    ir::{Kind, Primitive, Program},
    rules::Rules,
    scalar::{Real, Scalar},
    text::{parse_program, parse_program_with},
};
use num_complex::Complex;

#[test]
fn what_computes_derivatives_crosses_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<Derivatives<'static, f64>>();
    crosses::<Derivatives<'static, Complex<f32>>>();
    crosses::<Prepared<'static, f64>>();
    crosses::<Pullback<'static, 'static, f64>>();
    crosses::<Budgeted<'static, f64>>();
    crosses::<Inspection<'static, f64>>();
    crosses::<Steps<'static, f64>>();
    crosses::<Batch<f64, 4>>();
    crosses::<Machine<f64>>();
    crosses::<Bytecode>();
    crosses::<Program>();
}

/// `cube(x)` on every scalar, which counts its calls.
#[derive(Default)]
struct Cubes(AtomicUsize);

impl<T: Real, S: Scalar<Real = T>> Host<S> for Cubes {
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        match (primitive.name.as_str(), args) {
            ("cube", [Datum::Real(x)]) => Ok(Datum::Real(x.powi(3))),
            ("cube_back", [Datum::Real(x), _, Datum::Real(y_bar)]) => {
                Ok(Datum::Tuple(vec![Datum::Real(T::int(3) * x.powi(2) * y_bar)]))
            }
            _ => Err(HostError::unknown(primitive)),
        }
    }
}

fn cubes() -> Program {
    let mut rules = Rules::new();
    let real = Kind::Real;
    rules.primitive("cube", std::slice::from_ref(&real), Kind::Real).unwrap();
    rules
        .primitive("cube_back", &[real.clone(), real.clone(), real.clone()], Kind::tuple([real]))
        .unwrap();
    rules.primitive_pullback("cube", "cube_back").unwrap();
    let source = "fn f(xs: array) { let mut s = 0.0; for i in 0..len(xs) { s += cube(sin(xs[i])) * s + xs[i]; } s }";
    parse_program_with(source, &rules).unwrap()
}

/// A copy in each of eight threads, each with a share of the host, gives the bits of one alone.
#[test]
fn copies_in_threads_give_the_same_bits() {
    let host = Arc::new(Cubes::default());
    let point = |k: usize| [Datum::reals((0..k % 5 + 1).map(|j| 0.1 * (k + j) as f64))];
    let mut one = Derivatives::<f64>::new(&cubes(), "f").unwrap().with_host(host.clone());
    let expected: Vec<_> = (0..40).map(|k| one.value_and_gradient(&point(k)).unwrap()).collect();
    let alone = host.0.swap(0, Ordering::Relaxed);
    let (mut prepared, expected) = (one.prepare().unwrap(), Arc::new(expected));
    // What is compiled is compiled once, before.
    prepared.value_and_gradient(&point(0), &mut Vec::new()).unwrap();
    host.0.store(0, Ordering::Relaxed);
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (mut one, mut prepared, expected) =
                (one.clone(), prepared.clone(), expected.clone());
            thread::spawn(move || {
                for (k, expected) in expected.iter().enumerate() {
                    assert_eq!(one.value_and_gradient(&point(k)).unwrap(), *expected);
                    let mut gradient = Vec::new();
                    let value = prepared.value_and_gradient(&point(k), &mut gradient).unwrap();
                    assert_eq!((value, gradient), *expected);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(host.0.load(Ordering::Relaxed), 16 * alone);
}

/// A token that is cancelled when it has been looked at so often.
fn after(looks: usize) -> CancellationToken {
    let seen = AtomicUsize::new(0);
    CancellationToken::when(move || seen.fetch_add(1, Ordering::Relaxed) >= looks)
}

/// Loops, recursion, recorded loops and arrays: stopped at any look, and as good as new after.
#[test]
fn runs_of_programs_are_cancelled() {
    let source = "
        fn sum(x, n: int) { let mut s = x; for i in 0..n { s = sin(s) + 0.5 * x; } s }
        fn deep(x, n: int) -> real { if n == 0 { x } else { sin(deep(x, n - 1)) + 0.1 * x } }
        fn arrays(xs: array, n: int) { let mut ys = xs; for i in 0..n { ys = sin(ys) + xs; } sum_of(ys) }
        fn sum_of(xs: array) { let mut s = 0.0; for i in 0..len(xs) { s += xs[i]; } s }";
    let program = parse_program(source).unwrap();
    let (x, n) = (Datum::Real(0.3), Datum::Int(250_000));
    let cases = [
        ("sum", vec![x.clone(), n.clone()]),
        ("deep", vec![x, Datum::Int(90_000)]),
        ("arrays", vec![Datum::reals((0..3).map(f64::from)), Datum::Int(2000)]),
    ];
    for (name, args) in cases {
        let new = || Derivatives::<f64>::new(&program, name).unwrap();
        let expected = new().value_and_gradient(&args).unwrap();
        let (mut stopped, mut looks) = (0, 0);
        loop {
            let mut f = new().with_cancellation(after(looks));
            match f.value_and_gradient(&args) {
                Err(error) if is_cancelled(&error) => stopped += 1,
                other => {
                    assert_eq!(other.unwrap(), expected);
                    break;
                }
            }
            let mut f = f.with_cancellation(CancellationToken::never());
            assert_eq!(
                f.value_and_gradient(&args).unwrap(),
                expected,
                "{name} after {looks} looks"
            );
            looks += 1 + looks / 2;
        }
        // An operation on arrays is looked at each time, however few steps it is.
        assert!(stopped >= if name == "arrays" { 15 } else { 2 }, "{name}: {stopped}");
    }
}

/// Everything else that runs programs checks its token.
#[test]
fn every_way_to_run_a_program_is_cancelled() {
    let source = "fn f(x, n: int) { let mut s = x; for i in 0..n { s = sin(s) + 0.5 * x; } s }";
    let program = parse_program(source).unwrap();
    let args = [Datum::Real(0.3), Datum::Int(400_000)];
    let f = Derivatives::<f64>::new(&program, "f").unwrap();
    for looks in [0, 1] {
        let new = || f.clone().with_cancellation(after(looks));
        let dots = [Datum::Real(1.0)];
        let mut errors = vec![
            new().value(&args).unwrap_err(),
            new().jvp(&args, &dots).unwrap_err(),
            new().vjp(&args, Datum::Real(1.0)).unwrap_err(),
            new().hvp(&args, &dots).unwrap_err(),
            new().hessian(&args).unwrap_err(),
            new().gauss_newton(&args, &dots).unwrap_err(),
            new().pullback(&args).map(|_| ()).unwrap_err(),
            new().with_memory(1 << 20).unwrap().value_and_gradient(&args).unwrap_err(),
            new().prepare().unwrap().value_and_gradient(&args, &mut Vec::new()).unwrap_err().into(),
        ];
        #[cfg(feature = "jit")]
        errors.push(new().with_jit().value_and_gradient(&args).unwrap_err());
        let inspection =
            Inspection::<f64>::new(&program, "f").unwrap().with_cancellation(after(looks));
        errors.push({ inspection }.run(&args, &mut OpCounter::default()).unwrap_err());
        for error in errors {
            assert!(is_cancelled(&error), "{error}");
        }
    }
    // A token that is cancelled from elsewhere.
    let token = CancellationToken::new();
    let mut f = f.with_cancellation(token.clone());
    let endless = [Datum::Real(0.3), Datum::Int(i64::MAX)];
    let running = thread::spawn(move || f.value(&endless).unwrap_err());
    token.cancel();
    assert!(is_cancelled(&running.join().unwrap()));
}
