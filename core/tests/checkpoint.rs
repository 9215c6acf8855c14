//! Loops differentiated with few states kept give what the whole loop as one program gives.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Datum, Derivatives, Steps},
    ir::Program,
    text::parse_program,
};
use num_complex::Complex;

const TOLERANCE: f64 = 1e-11;

fn program(source: &str) -> Program {
    parse_program(source).unwrap_or_else(|e| panic!("{}", e[0]))
}

/// A pendulum that is driven: the step uses its number, the state is an array, the parameters a
/// number and an array.
const DRIVEN: &str = "
    fn step(k: int, x: array, friction, drive: array) {
        let h = 0.05;
        let force = drive[0] * sin(drive[1] * real(k) * h);
        [x[0] + h * x[1], x[1] - h * (sin(x[0]) + friction * x[1] - force)]
    }
    fn whole(n: int, x: array, friction, drive: array) {
        let mut y = x;
        for k in 0..n { y = step(k, y, friction, drive); }
        y
    }";

fn close(a: &Datum<f64>, b: &Datum<f64>, what: &str) {
    let numbers = |d: &Datum<f64>| match d {
        Datum::Real(x) => vec![*x],
        Datum::Reals(xs) => xs.to_vec(),
        _ => panic!("{what}: {d}"),
    };
    let (x, y) = (numbers(a), numbers(b));
    assert_eq!(x.len(), y.len(), "{what}");
    let far = x.iter().zip(&y).any(|(x, y)| (x - y).abs() > TOLERANCE * (1.0 + x.abs()));
    assert!(!far, "{what}: {a} {b}");
}

#[test]
fn any_number_of_snapshots_gives_the_same_derivative() {
    let program = program(DRIVEN);
    let mut whole = Derivatives::<f64>::new(&program, "whole").unwrap();
    let start = Datum::reals([0.8, -0.2]);
    let parameters = [Datum::Real(0.1), Datum::reals([0.5, 1.3])];
    let bar = Datum::reals([1.0, -2.0]);
    for n in [0usize, 1, 2, 3, 7, 20, 41] {
        let mut args = vec![Datum::Int(n as i64), start.clone()];
        args.extend(parameters.iter().cloned());
        let (end, bars) = whole.vjp(&args, bar.clone()).unwrap();
        for c in [0, 1, 2, 3, 6, 100] {
            let what = format!("{n} steps, {c} snapshots");
            let mut steps = Steps::<f64>::new(&program, "step").unwrap().with_snapshots(c);
            assert_eq!(steps.run(n, start.clone(), &parameters).unwrap(), end, "{what}");
            let mut seen = None;
            let run = steps
                .vjp(n, start.clone(), &parameters, |x| {
                    seen = Some(x.clone());
                    bar.clone()
                })
                .unwrap();
            assert_eq!((&run.end, seen.as_ref()), (&end, Some(&end)), "{what}");
            close(&run.start, &bars[0], &what);
            close(&run.parameters[0], &bars[1], &what);
            close(&run.parameters[1], &bars[2], &what);
            assert!(run.snapshots <= c && run.snapshots < n.max(1), "{what}: {}", run.snapshots);
            // With r runs through a step at most, c snapshots reach binomial(c + r, c) steps.
            let (mut reach, mut r) = (1, 0);
            while c > 0 && reach < n {
                r += 1;
                reach = reach * (c + r) / r;
            }
            assert!(c == 0 || run.repeated <= r * n, "{what}: {}", run.repeated);
            assert!(
                c != 0 || run.repeated == n * n.saturating_sub(1) / 2,
                "{what}: {}",
                run.repeated
            );
            assert!(c != 100 || run.repeated == n.saturating_sub(1), "{what}: {}", run.repeated);
        }
    }
}

#[test]
fn a_budget_in_bytes_bounds_the_states_kept() {
    let program = program("fn step(k: int, x: array, a) { x + a * sin(x) }");
    let start = Datum::reals((0..1000).map(f64::from));
    let mut steps = Steps::<f64>::new(&program, "step").unwrap().with_memory(50_000);
    let run =
        steps.vjp(400, start.clone(), &[Datum::Real(1e-3)], |x| x.zero_tangent().unwrap()).unwrap();
    // A state is 8000 bytes and a little.
    assert_eq!(run.snapshots, 6);
    let mut none = Steps::<f64>::new(&program, "step").unwrap().with_memory(100);
    let run = none.vjp(30, start, &[Datum::Real(1e-3)], |x| x.zero_tangent().unwrap()).unwrap();
    assert_eq!((run.snapshots, run.repeated), (0, 30 * 29 / 2));
}

#[test]
fn small_states_are_undone_together_within_the_budget() {
    let program = program(DRIVEN);
    let mut whole = Derivatives::<f64>::new(&program, "whole").unwrap();
    let (start, n) = (Datum::reals([0.8, -0.2]), 20_000);
    let parameters = [Datum::Real(0.1), Datum::reals([0.5, 1.3])];
    let bar = Datum::reals([1.0, -2.0]);
    let mut args = vec![Datum::Int(n as i64), start.clone()];
    args.extend(parameters.iter().cloned());
    let (end, bars) = whole.vjp(&args, bar.clone()).unwrap();
    let budget = 100_000;
    assert!(whole.memory() > 10 * budget, "the whole trace has {} bytes", whole.memory());
    let mut steps = Steps::<f64>::new(&program, "step").unwrap().with_memory(budget);
    let run = steps.vjp(n, start, &parameters, |_| bar.clone()).unwrap();
    assert_eq!(run.end, end);
    close(&run.start, &bars[0], "start");
    close(&run.parameters[0], &bars[1], "friction");
    close(&run.parameters[1], &bars[2], "drive");
    assert!(
        run.together >= 8 && run.memory <= budget,
        "{} together, {} bytes",
        run.together,
        run.memory
    );
    assert!(run.repeated <= 2 * n, "{} repeated", run.repeated);
    // Again, with what has grown; and with larger states.
    let again = steps.vjp(n, Datum::reals([0.8, -0.2]), &parameters, |_| bar.clone()).unwrap();
    assert_eq!((again.together, again.memory), (run.together, run.memory));
    let mut sines = Steps::<f64>::new(
        &self::program("fn step(k: int, x: array) { x + 1e-3 * sin(x) }"),
        "step",
    )
    .unwrap()
    .with_memory(budget);
    for length in [2, 40, 10] {
        let start = Datum::reals((0..length).map(f64::from));
        let run = sines.vjp(3000, start, &[], |x| x.zero_tangent().unwrap()).unwrap();
        assert!(
            run.together >= 8 && run.memory <= budget,
            "{length}: {} together, {}",
            run.together,
            run.memory
        );
    }
}

#[test]
fn states_may_be_tuples_of_complex_numbers_and_ints() {
    let program = program(
        "fn step(k: int, s: (complex, int), c: complex) { (s.0 * s.0 * complex(0.1, 0.2) + c, s.1 + 1) }
        fn whole(n: int, z: complex, c: complex) {
            let mut s = (z, 0);
            for k in 0..n { s = step(k, s, c); }
            s.0
        }",
    );
    let (z, c) = (Complex::new(0.3, -0.4), Complex::new(-0.2, 0.5));
    let bar = Complex::new(1.0, 2.0);
    let mut steps = Steps::<Complex<f64>>::new(&program, "step").unwrap().with_snapshots(2);
    let start = Datum::Tuple(vec![Datum::Complex(z), Datum::Int(0)]);
    let seed = |_: &Datum<Complex<f64>>| Datum::Tuple(vec![Datum::Complex(bar)]);
    let run = steps.vjp(17, start, &[Datum::Complex(c)], seed).unwrap();
    let mut whole = Derivatives::<Complex<f64>>::new(&program, "whole").unwrap();
    let args = [Datum::Int(17), Datum::Complex(z), Datum::Complex(c)];
    let (end, bars) = whole.vjp(&args, Datum::Complex(bar)).unwrap();
    assert_eq!(run.end, Datum::Tuple(vec![end, Datum::Int(17)]));
    let near = |a: Option<&Complex<f64>>, b: Option<&Complex<f64>>| {
        (a.unwrap() - b.unwrap()).norm() < TOLERANCE
    };
    assert!(near(run.start.fields()[0].complex(), bars[0].complex()), "{:?} {bars:?}", run.start);
    assert!(near(run.parameters[0].complex(), bars[1].complex()), "{:?} {bars:?}", run.parameters);
}

#[test]
fn what_is_no_step_is_refused() {
    let program = program(
        "fn f(x: array) { x } fn g(k: int, x: array) { sum(x) } fn h(k: int, x) { x / 0.0 }",
    );
    let error = |name: &str| Steps::<f64>::new(&program, name).unwrap_err().to_string();
    let expected = "; a step of a loop takes an int, a state and parameters, and gives a state";
    assert_eq!(error("f"), format!("`f` is (array<real>) -> array<real>{expected}"));
    assert_eq!(error("g"), format!("`g` is (int, array<real>) -> real{expected}"));
    assert!(error("hh").contains("did you mean `h`?"));
    let mut steps = Steps::<f64>::new(&program, "h").unwrap();
    let error = steps.run(3, Datum::reals([1.0]), &[]).unwrap_err().to_string();
    assert_eq!(error, "`x` of `h` is real, given array<real>");
}

/// Cotangents of complex arrays are summed over the steps, alone and in a tuple.
#[test]
fn complex_parameters_collect_from_every_step() {
    type C = Complex<f64>;
    let program = program(
        "fn step(k: int, z: array<complex>, w: array<complex>, p: (array<complex>, real)) {
            let (v, h) = p;
            w * z + real(k) * h * v * z
        }
        fn whole(n: int, z: array<complex>, w: array<complex>, p: (array<complex>, real)) {
            let mut y = z;
            for k in 0..n { y = step(k, y, w, p); }
            y
        }",
    );
    let list = |re: f64, im: f64| Datum::<C>::complexes([C::new(re, im), C::new(im, -re)]);
    let start = list(0.8, -0.2);
    let parameters = [list(0.9, 0.3), Datum::Tuple(vec![list(0.1, 0.2), Datum::Real(0.5)])];
    let mut args = vec![Datum::Int(7), start.clone()];
    args.extend(parameters.iter().cloned());
    let bar = list(1.0, 0.5);
    let mut whole = Derivatives::<C>::new(&program, "whole").unwrap();
    let (end, bars) = whole.vjp(&args, bar.clone()).unwrap();
    for snapshots in [0, 2, 7] {
        let mut steps = Steps::<C>::new(&program, "step").unwrap().with_snapshots(snapshots);
        let run = steps.vjp(7, start.clone(), &parameters, |_| bar.clone()).unwrap();
        assert_eq!(run.end, end);
        let found = [&run.start, &run.parameters[0], &run.parameters[1].fields()[0]];
        let right = [&bars[0], &bars[1], &bars[2].fields()[0]];
        for (found, right) in found.into_iter().zip(right) {
            let (Datum::Complexes(found), Datum::Complexes(right)) = (found, right) else {
                panic!("{found}, {right}")
            };
            assert_eq!(found.len(), 2);
            for (found, right) in found.iter().zip(right.iter()) {
                let off = (found - right).norm();
                assert!(off < TOLERANCE * (1.0 + right.norm()), "{found} {right}");
            }
        }
    }
}
