//! The laws over 300 random programs on complex numbers, under the one convention: the pairing of a
//! cotangent with a tangent is `re(conj(z_bar) z_dot)`, and the gradient of a real loss is
//! `dL/dx + i dL/dy`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    adjoint,
    entity::FuncId,
    exec::{Bytecode, Datum, Derivatives, Executable, Limits, Machine, NoHost},
    ir::{self, Program},
    pass::{Level, optimize_all},
    scalar::{Real, Uncertain},
    text::parse_program,
};
use num_complex::Complex;
use num_dual::{Dual64, HyperDual64};

use crate::programs::{Dice, Generator};

/// Two ways of summing the same terms.
const TOLERANCE: f64 = 1e-9;
/// Central differences with the step below: their error is some `STEP^2`, and 2^-53 / `STEP`.
const DIFFERENCE: f64 = 1e-6;
const STEP: f64 = 1e-5;

/// Number of random programs in each of two tests, which run side by side.
const PROGRAMS: u64 = 150;
/// Number of programs from one comparison of second derivatives to the next.
const SECOND_ORDER: u64 = 50;

type C = Complex<f64>;

fn run<T: Real>(program: &Program, f: FuncId, args: &[Datum<Complex<T>>]) -> Datum<Complex<T>> {
    call(&Bytecode::compile(program, f).unwrap(), args)
}

fn call<T: Real>(code: &Bytecode, args: &[Datum<Complex<T>>]) -> Datum<Complex<T>> {
    code.call(&mut Machine::new(), &NoHost, &Limits::default(), args).unwrap()
}

fn data(zs: &[C]) -> Vec<Datum<C>> {
    zs.iter().map(|&z| Datum::Complex(z)).collect()
}

fn one(d: &Datum<C>) -> C {
    match d {
        Datum::Real(x) => C::new(*x, 0.0),
        Datum::Complex(z) => *z,
        _ => C::new(f64::NAN, 0.0),
    }
}

fn pairing(a: &[C], b: &[C]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a.conj() * b).re).sum()
}

/// A program, its functions `f` and `loss` as they are without passes, and a point.
struct Case {
    seed: u64,
    source: String,
    program: Program,
    f: Bytecode,
    loss: Bytecode,
    z: Vec<C>,
    dots: Vec<C>,
}

impl Case {
    fn new(seed: u64) -> Case {
        let source = Generator::complex(seed);
        let program =
            parse_program(&source).unwrap_or_else(|e| panic!("{seed}: {}\n{source}", e[0]));
        assert!(ir::verify(&program).is_empty(), "{seed}: {:?}\n{source}", ir::verify(&program));
        let text = program.to_string();
        assert_eq!(ir::parse(&text).as_ref(), Ok(&program), "{seed}\n{text}");
        let mut dice = Dice::new(seed + 1_000_000);
        let mut random = |r: f64| C::new(dice.between(-r, r), dice.between(-r, r));
        let z = (0..3).map(|_| random(1.2)).collect();
        let dots = (0..3).map(|_| random(1.0)).collect();
        let [f, loss] = ["f", "loss"]
            .map(|name| Bytecode::compile(&program, program.lookup(name).unwrap()).unwrap());
        Case { seed, source, program, f, loss, z, dots }
    }

    #[track_caller]
    fn close(&self, a: C, b: C, tolerance: f64) {
        let (seed, source) = (self.seed, &self.source);
        let scale = 1.0 + a.norm() + b.norm();
        assert!((a - b).norm() <= tolerance * scale, "{a} is not {b}: {seed}\n{source}");
    }
    #[track_caller]
    fn near(&self, a: f64, b: f64) {
        self.close(C::new(a, 0.0), C::new(b, 0.0), TOLERANCE);
    }

    /// A function on other numbers, made from the parts of the point and of a direction.
    fn on<T: Real>(
        &self,
        code: &Bytecode,
        dots: &[C],
        number: impl Fn(f64, f64) -> T,
    ) -> Datum<Complex<T>> {
        let args: Vec<_> = (self.z.iter().zip(dots))
            .map(|(z, d)| Datum::Complex(Complex::new(number(z.re, d.re), number(z.im, d.im))))
            .collect();
        call(code, &args)
    }

    /// The optimised program gives the same bits.
    fn passes(&self) {
        let f = self.program.lookup("f").unwrap();
        let mut p = self.program.clone();
        optimize_all(&mut p, f, Level::Strict);
        let bits = |p: &Program| {
            let z = one(&run(p, f, &data(&self.z)));
            (z.re.to_bits(), z.im.to_bits())
        };
        assert_eq!(bits(&p), bits(&self.program), "{}\n{}", self.seed, self.source);
    }

    /// `f` itself: complex in, complex out. Whether differences could be told.
    fn first_order(&self) -> bool {
        let mut d = Derivatives::<C>::new(&self.program, "f").unwrap();
        let seed = C::new(0.7, -0.45);
        let (y, bars) = d.vjp(&data(&self.z), Datum::Complex(seed)).unwrap();
        let (again, dot) = d.jvp(&data(&self.z), &data(&self.dots)).unwrap();
        self.close(one(&y), one(&again), TOLERANCE);
        let (dot, bars) = (one(&dot), bars.iter().map(one).collect::<Vec<_>>());
        self.near(pairing(&[seed], &[dot]), pairing(&bars, &self.dots));
        let Datum::Complex(dual) = self.on(&self.f, &self.dots, Dual64::new) else {
            panic!("{}", self.source)
        };
        self.close(C::new(dual.re.eps, dual.im.eps), dot, TOLERANCE);
        let at = |h: f64| one(&self.on(&self.f, &self.dots, |x, d| x + h * d));
        let along = |h: f64| (at(h) - at(-h)) / (2.0 * h);
        let (whole, half) = (along(STEP), along(0.5 * STEP));
        let smooth = (whole - half).norm() <= DIFFERENCE * (1.0 + whole.norm());
        if smooth {
            self.close(half, dot, DIFFERENCE);
        }
        smooth
    }

    /// The real loss: its gradient points uphill, part by part.
    fn gradient(&self) -> Derivatives<'static, C> {
        let mut d = Derivatives::<C>::new(&self.program, "loss").unwrap();
        let g: Vec<C> = d.gradient(&data(&self.z)).unwrap().iter().map(one).collect();
        for k in 0..3 {
            let slope = |unit: C| {
                let mut dots = vec![C::new(0.0, 0.0); 3];
                dots[k] = unit;
                self.on(&self.loss, &dots, Dual64::new).real().unwrap().eps
            };
            self.close(C::new(slope(C::new(1.0, 0.0)), slope(C::new(0.0, 1.0))), g[k], TOLERANCE);
        }
        let u = self.on(&self.loss, &self.dots, Uncertain::new);
        let sigma = (g.iter().zip(&self.dots))
            .fold(0.0, |s: f64, (g, d)| s.hypot(g.re * d.re).hypot(g.im * d.im));
        self.near(u.real().unwrap().sigma(), sigma);
        d
    }

    fn second_order(&self, d: &mut Derivatives<'_, C>) {
        let (_, hv) = d.hvp(&data(&self.z), &data(&self.dots)).unwrap();
        let hv: Vec<C> = hv.iter().map(one).collect();
        let mut p = self.program.clone();
        let loss = p.lookup("loss").unwrap();
        let second = adjoint::second(&mut p, loss).unwrap();
        optimize_all(&mut p, second, Level::Strict);
        let mut args = data(&self.z);
        args.push(Datum::Tuple(
            std::iter::once(Datum::Real(0.0)).chain(data(&self.dots)).collect(),
        ));
        let rr = run(&p, second, &args);
        rr.fields()[1..].iter().zip(&hv).for_each(|(a, b)| self.close(one(a), *b, TOLERANCE));
        let dual: Vec<Datum<Complex<Dual64>>> = (self.z.iter().zip(&self.dots))
            .map(|(z, d)| {
                Datum::Complex(Complex::new(Dual64::new(z.re, d.re), Dual64::new(z.im, d.im)))
            })
            .collect();
        let g = Derivatives::<Complex<Dual64>>::new(&self.program, "loss")
            .unwrap()
            .gradient(&dual)
            .unwrap();
        for (g, h) in g.iter().zip(&hv) {
            let g = g.complex().unwrap();
            self.close(C::new(g.re.eps, g.im.eps), *h, TOLERANCE);
        }
        let hyper = self.on(&self.loss, &self.dots, |x, d| HyperDual64::new(x, d, d, 0.0));
        self.near(hyper.real().unwrap().eps1eps2, pairing(&hv, &self.dots));
    }
}

fn check(seeds: std::ops::Range<u64>) {
    let all = seeds.end - seeds.start;
    let mut told = 0;
    for seed in seeds {
        let case = Case::new(seed);
        case.passes();
        told += u64::from(case.first_order());
        let mut d = case.gradient();
        if seed % SECOND_ORDER == 0 {
            case.second_order(&mut d);
        }
    }
    assert!(told * 20 >= all * 19, "differences said something of {told} programs of {all} only");
}

#[test]
fn random_complex_programs_obey_the_laws() {
    check(0..PROGRAMS);
}

#[test]
fn more_random_complex_programs_obey_the_laws() {
    check(PROGRAMS..2 * PROGRAMS);
}

#[test]
fn passes_keep_the_side_of_a_branch_cut() {
    let source = "fn negative(x) { let z: complex = x; sqrt(-z) }
        fn conjugate(x) { let z: complex = -x; ln(conj(z)) }
        fn times(x) { sqrt(complex(x, 0.0) * -1.0) }
        fn over(x) { sqrt(complex(x, 0.0) / -1.0) }
        fn twice(x) { let z = complex(x, 0.0); sqrt(-(z + z)) }
        fn same(x) { asin(conj(complex(x, 0.0)) * 1.0) }";
    let program = parse_program(source).unwrap();
    for f in program.functions.keys() {
        let at = [Datum::Real(4.0)];
        let [plain, strict] = [Level::None, Level::Strict].map(|level| {
            let mut p = program.clone();
            optimize_all(&mut p, f, level);
            one(&run(&p, f, &at))
        });
        assert_eq!(plain, strict, "{}", program.functions[f].name);
    }
    // Equations of real numbers are not used where complex ones lie in several sheets.
    let mut p = parse_program("fn f(x) { im(ln(exp(complex(0.0, x)))) }").unwrap();
    let f = p.lookup("f").unwrap();
    optimize_all(&mut p, f, Level::Algebraic);
    let angle = one(&run(&p, f, &[Datum::Real(4.0)])).re;
    assert!((angle - (4.0 - std::f64::consts::TAU)).abs() < TOLERANCE, "{angle}");
}

/// Imaginary part of a number beside a cut, on the side of the value there.
const BESIDE: f64 = 1e-9;

#[test]
fn on_a_branch_cut_the_derivative_is_that_of_the_side_of_the_value() {
    // Cuts along the real axis, and along the imaginary one.
    let along: [(&str, bool, &[f64]); 9] = [
        ("sqrt", true, &[-2.0]),
        ("cbrt", true, &[-2.0]),
        ("ln", true, &[-2.0]),
        ("asin", true, &[-2.0, 2.0]),
        ("acos", true, &[-2.0, 2.0]),
        ("acosh", true, &[-2.0, -0.5, 0.5]),
        ("atanh", true, &[-2.0, 2.0]),
        ("asinh", false, &[-2.0, 2.0]),
        ("atan", false, &[-2.0, 2.0]),
    ];
    for (f, real, points) in along {
        let program = parse_program(&format!("fn f(z: complex) {{ {f}(z) }}")).unwrap();
        let mut d = Derivatives::<C>::new(&program, "f").unwrap();
        for (x, side) in points.iter().flat_map(|x| [(x, 1.0), (x, -1.0)]) {
            let at = |y: f64| data(&[if real { C::new(*x, y) } else { C::new(y, *x) }]);
            let mut slopes = |y: f64| {
                let (value, bars) = d.vjp(&at(y), Datum::Complex(C::ONE)).unwrap();
                let (_, dot) = d.jvp(&at(y), &data(&[C::ONE])).unwrap();
                [one(&value), one(&bars[0]), one(&dot)]
            };
            let (on, beside) = (slopes(0.0 * side), slopes(BESIDE * side));
            for (a, b) in on.iter().zip(beside) {
                assert!(
                    (a - b).norm() < 10.0 * BESIDE,
                    "{f} at {x}, side {side}: {on:?} and {beside:?}"
                );
            }
        }
    }
}
