//! The laws that every derivative obeys, over the op table and over random programs.
//!
//! - `<y_bar, J x_dot> = <J^T y_bar, x_dot>`: pullback and pushforward are adjoint to each other.
//! - The adjoint is what dual numbers and differences say.
//! - Every pass keeps the value. Printing and parsing are inverse.
//! - Reverse over reverse is forward over reverse.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod programs;

use ketgrad_core::{
    adjoint,
    exec::{Bytecode, Datum, Derivatives, Executable, Limits, Machine, NoHost},
    ir::{self, Program},
    pass::{Level, optimize_all},
    scalar::{Real, Scalar},
    text::parse_program,
};
use num_dual::Dual64;
use programs::{Dice, Generator};

/// Two ways of summing the same terms.
const TOLERANCE: f64 = 1e-9;

fn reals<S: Scalar>(xs: &[f64]) -> Vec<Datum<S>> {
    xs.iter().map(|&x| Datum::Real(S::Real::lit_of(x))).collect()
}
trait Lit: Sized {
    fn lit_of(x: f64) -> Self;
}
impl<T: Real> Lit for T {
    fn lit_of(x: f64) -> T {
        T::lit(x)
    }
}

fn numbers(d: &Datum<f64>) -> Vec<f64> {
    match d {
        Datum::Real(x) => vec![*x],
        Datum::Reals(xs) => xs.to_vec(),
        Datum::Tuple(fields) => fields.iter().flat_map(numbers).collect(),
        _ => vec![],
    }
}

#[track_caller]
fn close(a: f64, b: f64, context: &str) {
    assert!((a - b).abs() <= TOLERANCE * (1.0 + a.abs() + b.abs()), "{a} is not {b}\n{context}");
}

fn run<T: Real, S: Scalar<Real = T>>(
    program: &Program,
    f: ketgrad_core::entity::FuncId,
    args: &[Datum<S>],
) -> Datum<S> {
    let code = Bytecode::compile(program, f).unwrap();
    code.call(&mut Machine::new(), &NoHost, &Limits::default(), args).unwrap()
}

/// How many random programs in each of two tests, which run side by side.
const PROGRAMS: u64 = 500;
/// Every so many programs the other ways to the same gradient are compared too.
const OTHER_WAYS: u64 = 4;
/// Every so many programs the second derivatives are compared too.
const SECOND_ORDER: u64 = 20;

#[test]
fn random_programs_obey_the_laws() {
    check(0..PROGRAMS);
}

#[test]
fn more_random_programs_obey_the_laws() {
    check(PROGRAMS..2 * PROGRAMS);
}

fn check(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let source = Generator::program(seed);
        let program = parse_program(&source).unwrap_or_else(|e| panic!("{seed}: {}\n{source}", e[0]));
        assert!(ir::verify(&program).is_empty(), "{seed}: {:?}\n{source}\n{program}", ir::verify(&program));
        // Text and back.
        let text = program.to_string();
        let again = ir::parse(&text).unwrap_or_else(|e| panic!("{seed}: {}\n{text}", e[0]));
        assert_eq!(again.to_string(), text, "{seed}");
        assert_eq!(again, program, "{seed}");
        let mut dice = Dice::new(seed + 1_000_000);
        let x: Vec<f64> = (0..3).map(|_| dice.between(-1.5, 1.5)).collect();
        let dots: Vec<f64> = (0..3).map(|_| dice.between(-1.0, 1.0)).collect();
        let f = program.lookup("f").unwrap();
        let value = run::<f64, f64>(&program, f, &reals::<f64>(&x));
        let context = format!("seed {seed}\n{source}");

        let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
        let (y, g) = d.value_and_gradient(&reals::<f64>(&x)).unwrap();
        let g: Vec<f64> = g.iter().flat_map(numbers).collect();
        close(y, numbers(&value)[0], &context);
        // Forward and reverse are adjoint to each other.
        let (_, dot) = d.jvp(&reals::<f64>(&x), &reals::<f64>(&dots)).unwrap();
        close(numbers(&dot)[0], g.iter().zip(&dots).map(|(a, b)| a * b).sum(), &context);
        // Dual numbers through the function itself.
        let dual: Vec<Datum<Dual64>> =
            x.iter().zip(&dots).map(|(&x, &d)| Datum::Real(Dual64::new(x, d))).collect();
        let Datum::Real(by_dual) = run::<Dual64, Dual64>(&program, f, &dual) else { panic!("{context}") };
        close(by_dual.eps, numbers(&dot)[0], &context);
        // Without optimisation, and with the separate pullback.
        if seed % OTHER_WAYS != 0 {
            continue;
        }
        let mut plain = Derivatives::<f64>::new(&program, "f").unwrap().with_level(Level::None);
        let (y0, g0) = plain.value_and_gradient(&reals::<f64>(&x)).unwrap();
        close(y0, y, &context);
        g0.iter().flat_map(numbers).zip(&g).for_each(|(a, b)| close(a, *b, &context));
        let mut pulled = d.pullback(&reals::<f64>(&x)).unwrap();
        for _ in 0..2 {
            let bars = pulled.call(Datum::Real(1.0)).unwrap();
            bars.iter().flat_map(numbers).zip(&g).for_each(|(a, b)| close(a, *b, &context));
        }
        // Second order: forward over reverse, reverse over reverse, and duals through the gradient.
        if seed % SECOND_ORDER == 0 {
            let (_, hv) = d.hvp(&reals::<f64>(&x), &reals::<f64>(&dots)).unwrap();
            let hv: Vec<f64> = hv.iter().flat_map(numbers).collect();
            let mut p = program.clone();
            let second = adjoint::second(&mut p, f).unwrap();
            assert!(ir::verify(&p).is_empty(), "{:?}\n{context}", ir::verify(&p).first());
            optimize_all(&mut p, second, Level::Strict);
            let mut args = reals::<f64>(&x);
            args.push(Datum::Tuple(
                std::iter::once(0.0).chain(dots.iter().copied()).map(Datum::Real).collect(),
            ));
            let rr = run::<f64, f64>(&p, second, &args);
            let rr: Vec<f64> = rr.fields()[1..].iter().flat_map(numbers).collect();
            hv.iter().zip(&rr).for_each(|(a, b)| close(*a, *b, &context));
            let mut over = Derivatives::<Dual64>::new(&program, "f").unwrap();
            let by_dual = over.gradient(&dual).unwrap();
            for (d, h) in by_dual.iter().zip(&hv) {
                let Datum::Real(d) = d else { panic!("{context}") };
                close(d.eps, *h, &context);
            }
        }
    }
}
