//! The laws that every derivative obeys, over 300 random programs on real numbers.
//!
//! - `<y_bar, J x_dot> = <J^T y_bar, x_dot>`: pullback and pushforward are adjoint to each other.
//! - The adjoint is what dual numbers and differences say, and numbers with uncertainty carry
//!   `|gradient| sigma`.
//! - Reverse over reverse is forward over reverse, duals through the gradient, and hyper-dual
//!   numbers.
//! - Every pass keeps the value to the last bit at the strict level, of the function and of its
//!   gradient.
//! - Printing and parsing are inverse.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    adjoint,
    entity::FuncId,
    exec::{
        Batch, Bytecode, Datum, Derivatives, Executable, Limits, Machine, NoHost,
        inspect::{Inspection, OpCounter, jacobian_pattern},
    },
    ir::{self, Program},
    pass::{self, Level, optimize_all},
    scalar::{Real, Uncertain},
    text::parse_program,
};
use num_dual::{Dual64, HyperDual64};

use crate::programs::{Dice, Generator};

/// Two ways of summing the same terms.
const TOLERANCE: f64 = 1e-9;
/// Central differences with the step below: their error is some `STEP^2`, and 2^-53 / `STEP`.
const DIFFERENCE: f64 = 1e-6;
const STEP: f64 = 1e-5;

/// Number of random programs in each of two tests, which run side by side.
const PROGRAMS: u64 = 150;
/// Number of programs from one comparison with the other methods for the same gradient to the next.
const OTHER_WAYS: u64 = 4;
/// Number of programs from one comparison of second derivatives to the next.
const SECOND_ORDER: u64 = 20;

fn run<T: Real>(program: &Program, f: FuncId, args: &[Datum<T>]) -> Datum<T> {
    call(&Bytecode::compile(program, f).unwrap(), args)
}

fn call<T: Real>(code: &Bytecode, args: &[Datum<T>]) -> Datum<T> {
    code.call(&mut Machine::new(), &NoHost, &Limits::default(), args).unwrap()
}

fn reals(xs: &[f64]) -> Vec<Datum<f64>> {
    xs.iter().map(|&x| Datum::Real(x)).collect()
}

fn numbers(d: &Datum<f64>) -> Vec<f64> {
    match d {
        Datum::Real(x) => vec![*x],
        Datum::Reals(xs) => xs.to_vec(),
        Datum::Tuple(fields) => fields.iter().flat_map(numbers).collect(),
        _ => vec![],
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A program, its function `f` as it is without passes, and a point.
struct Case {
    seed: u64,
    source: String,
    program: Program,
    f: FuncId,
    code: Bytecode,
    x: Vec<f64>,
    dots: Vec<f64>,
}

impl Case {
    fn new(seed: u64) -> Case {
        let source = Generator::real(seed);
        let program =
            parse_program(&source).unwrap_or_else(|e| panic!("{seed}: {}\n{source}", e[0]));
        let mut dice = Dice::new(seed + 1_000_000);
        let x = (0..3).map(|_| dice.between(-1.5, 1.5)).collect();
        let dots = (0..3).map(|_| dice.between(-1.0, 1.0)).collect();
        let f = program.lookup("f").unwrap();
        let code = Bytecode::compile(&program, f).unwrap();
        Case { seed, source, program, f, code, x, dots }
    }

    #[track_caller]
    fn close(&self, a: f64, b: f64) {
        self.within(a, b, TOLERANCE);
    }
    #[track_caller]
    fn within(&self, a: f64, b: f64, tolerance: f64) {
        let (seed, source) = (self.seed, &self.source);
        assert!(
            (a - b).abs() <= tolerance * (1.0 + a.abs() + b.abs()),
            "{a} is not {b}: {seed}\n{source}"
        );
    }

    /// The function on another number, made from the point and its direction.
    fn on<T: Real>(&self, number: impl Fn(f64, f64) -> T) -> T {
        let args: Vec<Datum<T>> =
            self.x.iter().zip(&self.dots).map(|(&x, &d)| Datum::Real(number(x, d))).collect();
        call(&self.code, &args).real().unwrap().clone()
    }

    fn text_and_back(&self) {
        let (seed, source) = (self.seed, &self.source);
        let faults = ir::verify(&self.program);
        assert!(faults.is_empty(), "{seed}: {faults:?}\n{source}\n{}", self.program);
        let text = self.program.to_string();
        let again = ir::parse(&text).unwrap_or_else(|e| panic!("{seed}: {}\n{text}", e[0]));
        assert_eq!(again.to_string(), text, "{seed}");
        assert_eq!(again, self.program, "{seed}");
    }

    /// Every pass alone, and all of them together.
    fn passes(&self, program: &Program, root: FuncId) {
        let bits = |p: &Program| -> Vec<u64> {
            let plain = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
            numbers(&run(p, root, &reals(&self.x))).into_iter().map(plain).collect()
        };
        let expected = bits(program);
        let same = |p: &Program, name: &str| {
            assert_eq!(
                bits(p),
                expected,
                "{name} changed a number: {}\n{}",
                self.seed,
                self.source
            );
        };
        for name in ["merge", "params", "forward_tape", "fold", "simplify", "cse", "licm", "dce"] {
            let mut p = program.clone();
            for f in p.reachable(root) {
                pass::by_name(name).unwrap()(&mut p.functions[f], Level::Strict);
            }
            same(&p, name);
        }
        let mut p = program.clone();
        pass::inline(&mut p, root, 1000);
        same(&p, "inline");
        optimize_all(&mut p, root, Level::Strict);
        same(&p, "optimize");
    }

    /// Differences, where the step crosses no branch: there two steps disagree. Whether it was
    /// told.
    fn differences(&self, slope: f64) -> bool {
        let along = |h: f64| (self.on(|x, d| x + h * d) - self.on(|x, d| x - h * d)) / (2.0 * h);
        let (one, half) = (along(STEP), along(0.5 * STEP));
        let smooth = (one - half).abs() <= DIFFERENCE * (1.0 + one.abs());
        if smooth {
            self.within(half, slope, DIFFERENCE);
        }
        smooth
    }

    /// The gradient by one way, and the slope along the direction by all others. Whether
    /// differences could be told.
    fn first_order(&self, d: &mut Derivatives<'_, f64>) -> (bool, Vec<f64>) {
        let (y, g) = d.value_and_gradient(&reals(&self.x)).unwrap();
        let g: Vec<f64> = g.iter().flat_map(numbers).collect();
        self.close(y, self.on(|x, _| x));
        let (_, slope) = d.jvp(&reals(&self.x), &reals(&self.dots)).unwrap();
        let slope = numbers(&slope)[0];
        self.close(slope, dot(&g, &self.dots));
        self.close(self.on(Dual64::new).eps, slope);
        let sigmas: Vec<Uncertain> =
            self.x.iter().zip(&self.dots).map(|(x, s)| Uncertain::new(*x, *s)).collect();
        let args: Vec<Datum<Uncertain>> = sigmas.iter().map(|x| Datum::Real(x.clone())).collect();
        let u = call(&self.code, &args).real().unwrap().clone();
        self.close(u.value(), y);
        self.close(u.sigma(), g.iter().zip(&self.dots).fold(0.0, |s: f64, (g, d)| s.hypot(g * d)));
        for ((x, g), s) in sigmas.iter().zip(&g).zip(&self.dots) {
            self.close(u.covariance(x), g * s * s);
        }
        (self.differences(slope), g)
    }

    /// Without optimisation, by the separate pullback, and the passes on the gradient.
    fn other_ways(&self, d: &mut Derivatives<'_, f64>, g: &[f64]) {
        let mut plain =
            Derivatives::<f64>::new(&self.program, "f").unwrap().with_level(Level::None);
        let g0 = plain.gradient(&reals(&self.x)).unwrap();
        g0.iter().flat_map(numbers).zip(g).for_each(|(a, b)| self.close(a, *b));
        let mut pulled = d.pullback(&reals(&self.x)).unwrap();
        for _ in 0..2 {
            let bars = pulled.call(Datum::Real(1.0)).unwrap();
            bars.iter().flat_map(numbers).zip(g).for_each(|(a, b)| self.close(a, *b));
        }
        let mut p = self.program.clone();
        let gradient = adjoint::gradient(&mut p, self.f).unwrap();
        assert!(ir::verify(&p).is_empty(), "{:?}\n{}", ir::verify(&p).first(), self.source);
        self.passes(&p, gradient);
    }

    /// Watched and side by side the bits are the same; what moves the result is in the pattern.
    fn looked_into(&self, g: &[f64]) {
        let bits = |d: &Datum<f64>| numbers(d)[0].to_bits();
        let value = |x: &[f64]| call::<f64>(&self.code, &reals(x));
        let mut inspection = Inspection::<f64>::new(&self.program, "f").unwrap();
        let watched = inspection.run(&reals(&self.x), &mut OpCounter::default()).unwrap();
        let source = &self.source;
        assert_eq!(bits(&watched), bits(&value(&self.x)), "{source}");
        let pattern = jacobian_pattern(&self.program, "f", &reals(&self.x)).unwrap();
        let missing = (0..3).find(|k| g[*k] != 0.0 && !pattern.rows[0].contains(k));
        assert_eq!(missing, None, "{source}");
        let point = |k: u8| vec![self.x[0] + 0.3 * f64::from(k), self.x[1], self.x[2]];
        let points: Vec<Vec<f64>> = (0..5).map(point).collect();
        let args: Vec<_> = points.iter().map(|x| reals(x)).collect();
        let mut batch = Batch::<f64, 4>::new(self.code.clone());
        for (x, y) in points.iter().zip(batch.call(&args)) {
            assert_eq!(bits(&y.unwrap()), bits(&value(x)), "{source}");
        }
    }

    /// Forward over reverse, reverse over reverse, duals through the gradient, hyper-dual numbers.
    fn second_order(&self, d: &mut Derivatives<'_, f64>) {
        let (_, hv) = d.hvp(&reals(&self.x), &reals(&self.dots)).unwrap();
        let hv: Vec<f64> = hv.iter().flat_map(numbers).collect();
        let mut p = self.program.clone();
        let second = adjoint::second(&mut p, self.f).unwrap();
        assert!(ir::verify(&p).is_empty(), "{:?}\n{}", ir::verify(&p).first(), self.source);
        optimize_all(&mut p, second, Level::Strict);
        let mut args = reals(&self.x);
        args.push(Datum::Tuple(
            std::iter::once(0.0).chain(self.dots.iter().copied()).map(Datum::Real).collect(),
        ));
        let rr = run(&p, second, &args);
        let rr: Vec<f64> = rr.fields()[1..].iter().flat_map(numbers).collect();
        hv.iter().zip(&rr).for_each(|(a, b)| self.close(*a, *b));
        let dual: Vec<Datum<Dual64>> =
            self.x.iter().zip(&self.dots).map(|(&x, &d)| Datum::Real(Dual64::new(x, d))).collect();
        let by_dual =
            Derivatives::<Dual64>::new(&self.program, "f").unwrap().gradient(&dual).unwrap();
        for (d, h) in by_dual.iter().zip(&hv) {
            self.close(d.real().unwrap().eps, *h);
        }
        let hyper = self.on(|x, d| HyperDual64::new(x, d, d, 0.0));
        self.close(hyper.eps1eps2, dot(&hv, &self.dots));
    }
}

fn check(seeds: std::ops::Range<u64>) {
    let all = seeds.end - seeds.start;
    let mut told = 0;
    for seed in seeds {
        let case = Case::new(seed);
        case.text_and_back();
        case.passes(&case.program, case.f);
        let mut d = Derivatives::<f64>::new(&case.program, "f").unwrap();
        let (smooth, g) = case.first_order(&mut d);
        told += u64::from(smooth);
        if seed % OTHER_WAYS == 0 {
            case.other_ways(&mut d, &g);
            case.looked_into(&g);
        }
        if seed % SECOND_ORDER == 0 {
            case.second_order(&mut d);
        }
    }
    assert!(told * 50 >= all * 49, "differences said something of {told} programs of {all} only");
}

#[test]
fn random_programs_obey_the_laws() {
    check(0..PROGRAMS);
}

#[test]
fn more_random_programs_obey_the_laws() {
    check(PROGRAMS..2 * PROGRAMS);
}
