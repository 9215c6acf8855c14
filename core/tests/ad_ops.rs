//! The laws over the op table: every op on every number, every rule against dual numbers and
//! differences.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Datum, Derivatives},
    ir::{FunctionBuilder, Kind, Mixed, Number1, Number2, Op, Param, Program, Real1, Real2},
    pass::Level,
    scalar::{Real, Scalar, Uncertain},
    text::parse_program,
};
use num_complex::Complex;
use num_dual::{Dual64, HyperDual64};

/// Two ways of computing the same slope.
const TOLERANCE: f64 = 1e-10;
/// Central differences with the step below.
const DIFFERENCE: f64 = 1e-6;
const STEP: f64 = 1e-6;

/// `f(args…) = op args…`.
fn program(op: Op, kinds: &[Kind], result: Kind) -> Program {
    let params = kinds
        .iter()
        .enumerate()
        .map(|(k, kind)| Param::new(format!("x{k}"), kind.clone()))
        .collect();
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
            let args: Vec<f64> =
                if n == 1 { vec![x] } else { vec![x, points(name)[j] * 0.8 + 0.15] };
            let data: Vec<Datum<f64>> = args.iter().map(|&x| Datum::Real(x)).collect();
            let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
            let (y, g) = d.value_and_gradient(&data).unwrap();
            assert_eq!(y, value(&p, &args), "{name}");
            for k in 0..n {
                let what = format!("{name}{args:?} by {k}");
                let slope = *g[k].real().unwrap();
                let seeded = |e: f64| {
                    args.iter()
                        .enumerate()
                        .map(|(i, &x)| if i == k { x + e } else { x })
                        .collect::<Vec<_>>()
                };
                let duals: Vec<Dual64> = args
                    .iter()
                    .enumerate()
                    .map(|(i, &x)| Dual64::new(x, f64::from(u8::from(i == k))))
                    .collect();
                close(value(&p, &duals).eps, slope, TOLERANCE, &what);
                let difference = (value(&p, &seeded(1e-6)) - value(&p, &seeded(-1e-6))) / 2e-6;
                // Differences see through a constant that moves, and nothing of what is beyond a
                // value.
                let expected = match op {
                    Op::Real1(Real1::Detach) => 1.0,
                    Op::Real1(Real1::Beyond) => 0.0,
                    _ => slope,
                };
                close(difference, expected, DIFFERENCE, &what);
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
                close(
                    value(&p, &hyper).eps1eps2,
                    *hv[k].real().unwrap(),
                    1e-9,
                    &format!("{what}, twice"),
                );
            }
            // An uncertain number carries |slope| sigma.
            let mut uncertain: Vec<Uncertain> = args.iter().map(|&x| Uncertain::exact(x)).collect();
            uncertain[0] = Uncertain::new(args[0], 0.01);
            close(
                value(&p, &uncertain).sigma(),
                0.01 * g[0].real().unwrap().abs(),
                TOLERANCE,
                name,
            );
        }
    }
}

type C = Complex<f64>;

/// A complex number and a direction there.
type Along = [C; 2];

const fn along(at: [f64; 2], direction: [f64; 2]) -> Along {
    [C::new(at[0], at[1]), C::new(direction[0], direction[1])]
}

/// The arguments and their tangents, which are the directions of the arguments, and the cotangent
/// of the result; each moves.
const POINT: [Along; 2] = [along([0.6, 0.35], [0.3, -0.8]), along([-0.4, 0.7], [1.1, 0.2])];
const TANGENTS: [Along; 2] = [along([0.3, -0.8], [-0.6, 0.5]), along([1.1, 0.2], [0.4, 0.9])];
const SEED: Along = along([0.7, -0.45], [0.2, 1.3]);

/// An op on complex numbers, or into or out of them.
struct ComplexOp {
    name: String,
    program: Program,
    kinds: Vec<Kind>,
    result: Kind,
}

/// The real and the imaginary part.
fn parts<T: Real>(d: &Datum<Complex<T>>) -> [T; 2] {
    match d {
        Datum::Real(x) => [x.clone(), T::lit(0.0)],
        Datum::Complex(z) => [z.re.clone(), z.im.clone()],
        _ => [T::lit(f64::NAN), T::lit(f64::NAN)],
    }
}

/// `re(conj(a) b)`.
fn pairing<T: Real>(a: &Datum<Complex<T>>, b: &Datum<Complex<T>>) -> T {
    let ([a, b], [c, d]) = (parts(a), parts(b));
    a * c + b * d
}

impl ComplexOp {
    fn all() -> Vec<ComplexOp> {
        let number = |op, n| (op, vec![Kind::Complex; n], Kind::Complex);
        let mixed = |op: Mixed| {
            let (kinds, result) = op.signature();
            (Op::Mixed(op), kinds.to_vec(), result)
        };
        let to_and_fro =
            [Mixed::Promote, Mixed::Complex, Mixed::Re, Mixed::Im, Mixed::Abs2, Mixed::Modulus];
        let table = (Number1::ALL.iter().map(|o| number(Op::Number1(*o), 1)))
            .chain(Number2::ALL.iter().map(|o| number(Op::Number2(*o), 2)))
            .chain(to_and_fro.map(mixed))
            .chain([Mixed::Arg, Mixed::Conj].map(mixed))
            .map(|(op, kinds, result)| {
                let program = program(op, &kinds, result.clone());
                ComplexOp { name: op.to_string(), program, kinds, result }
            });
        let powers = [-3, -1, 0, 1, 4].map(|n| {
            let name = format!("fn f(z: complex) {{ powi(z, {n}) }}");
            let program = parse_program(&name).unwrap();
            ComplexOp { name, program, kinds: vec![Kind::Complex], result: Kind::Complex }
        });
        table.chain(powers).collect()
    }

    /// The parts of the result, of its tangent and of the cotangents of the arguments, on numbers
    /// made from a point and a direction there; last the difference of the two sides of the law
    /// `<y_bar, J x_dot> = <J^T y_bar, x_dot>`.
    fn run<T: Real>(&self, number: impl Fn(f64, f64) -> T) -> Vec<T> {
        let data = |kind: &Kind, [at, w]: &Along| -> Datum<Complex<T>> {
            match kind {
                Kind::Real => Datum::Real(number(at.re, w.re)),
                _ => Datum::Complex(Complex::new(number(at.re, w.re), number(at.im, w.im))),
            }
        };
        let all = |numbers: &[Along]| -> Vec<Datum<Complex<T>>> {
            self.kinds.iter().zip(numbers).map(|(k, n)| data(k, n)).collect()
        };
        let (args, dots, seed) = (all(&POINT), all(&TANGENTS), data(&self.result, &SEED));
        let mut d = Derivatives::<Complex<T>>::new(&self.program, "f").unwrap();
        let (y, bars) = d.vjp(&args, seed.clone()).unwrap();
        let (_, dot) = d.jvp(&args, &dots).unwrap();
        let right =
            bars.iter().zip(&dots).map(|(b, d)| pairing(b, d)).reduce(|a, b| a + b).unwrap();
        let law = pairing(&seed, &dot) - right;
        [y, dot].iter().chain(&bars).flat_map(parts).chain([law]).collect()
    }

    /// All laws on one number, which says its value and its slope: the values are those on plain
    /// numbers, the slopes the differences of these, and the tangent of the result is its slope.
    fn laws<T: Real>(
        &self,
        number: impl Fn(f64, f64) -> T,
        value: impl Fn(&T) -> f64,
        slope: impl Fn(&T) -> f64,
    ) {
        let shifted = |h: f64| self.run(|x, w| x + h * w);
        let (here, plus, minus) = (shifted(0.0), shifted(STEP), shifted(-STEP));
        let all = self.run(number);
        for (k, n) in all.iter().enumerate() {
            let what = format!("{}, number {k}", self.name);
            close(value(n), here[k], TOLERANCE, &what);
            close(slope(n), (plus[k] - minus[k]) / (2.0 * STEP), DIFFERENCE, &what);
        }
        for k in 0..2 {
            close(slope(&all[k]), value(&all[k + 2]), TOLERANCE, &self.name);
        }
        let law = &all[all.len() - 1];
        close(value(law), 0.0, TOLERANCE, &self.name);
        close(slope(law), 0.0, TOLERANCE, &self.name);
    }
}

#[test]
fn every_complex_op_obeys_the_laws_on_duals() {
    ComplexOp::all().iter().for_each(|op| op.laws(Dual64::new, |x| x.re, |x| x.eps));
}

#[test]
fn every_complex_op_obeys_the_laws_on_uncertain_numbers() {
    // All numbers move with one that has a deviation of 1: the covariance with it is the slope.
    let t = Uncertain::new(0.0, 1.0);
    let number = |x: f64, w: f64| Uncertain::exact(x) + Uncertain::exact(w) * t.clone();
    for op in ComplexOp::all() {
        op.laws(number, Uncertain::value, |x| x.covariance(&t));
    }
}

#[test]
fn every_complex_op_obeys_the_laws_on_hyper_duals_twice() {
    for op in ComplexOp::all() {
        let number = |x: f64, w: f64| HyperDual64::new(x, w, w, 0.0);
        op.laws(number, |x| x.re, |x| x.eps1);
        op.laws(number, |x| x.re, |x| x.eps2);
        // The second slope is the difference of the first.
        let shifted = |h: f64| op.run(|x, w| Dual64::new(x + h * w, w));
        let (plus, minus) = (shifted(STEP), shifted(-STEP));
        for (k, n) in op.run(number).iter().enumerate() {
            let second = (plus[k].eps - minus[k].eps) / (2.0 * STEP);
            close(n.eps1eps2, second, DIFFERENCE, &format!("{}, number {k}, twice", op.name));
        }
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

/// The remainder of C's `fmod`, with the sign of a zero.
#[test]
fn remainders_at_the_ends() {
    let p = parse_program("fn f(a, b) { rem(a, b) }").unwrap();
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
    let ends = [0.0, 5e-324, 1.0, 2.5, 1e300, f64::INFINITY];
    for (a, b) in ends.iter().flat_map(|a| ends.map(|b| (*a, b))) {
        for (a, b) in [(a, b), (-a, b), (a, -b)] {
            let y = *d.value(&[Datum::Real(a), Datum::Real(b)]).unwrap().real().unwrap();
            let expected = a % b;
            assert!(
                y.to_bits() == expected.to_bits() || (y.is_nan() && expected.is_nan()),
                "{a} % {b}: {y}"
            );
        }
    }
    let g = d.gradient(&[Datum::Real(7.5), Datum::Real(-2.0)]).unwrap();
    assert_eq!(g, [Datum::Real(1.0), Datum::Real(3.0)]);
    let x = Dual64::new(7.5, 1.0);
    let y = value(&p, &[x, Dual64::new(2.0, 1.0)]);
    assert_eq!((y.re, y.eps), (1.5, -2.0));
}

/// At the algebraic level zeros stay guarded, too.
/// Numbers at the ends of what an op takes.
const ENDS: [f64; 16] = [
    0.0,
    -0.0,
    0.5,
    -1.0,
    1.0,
    2.5,
    -3.0,
    5e-324,
    -1e-10,
    1e-300,
    709.5,
    711.0,
    -745.0,
    1e300,
    -1e300,
    f64::MAX,
];

fn is_singular(op: Op) -> bool {
    match op {
        Op::Number1(op) => op.is_singular(),
        Op::Number2(op) => op.is_singular(),
        Op::Real1(op) => op.is_singular(),
        Op::Real2(op) => op.is_singular(),
        _ => false,
    }
}

/// One or two numbers, each of them one of the ends.
fn at_the_ends(n: usize) -> Vec<Vec<f64>> {
    match n {
        1 => ENDS.iter().map(|&x| vec![x]).collect(),
        _ => ENDS.iter().flat_map(|&x| ENDS.iter().map(move |&y| vec![x, y])).collect(),
    }
}

#[test]
fn regular_ops_have_finite_slopes_where_their_values_are_finite() {
    let mut seen = 0;
    for (op, n, name) in real_ops().into_iter().filter(|(op, ..)| !is_singular(*op)) {
        let p = program(op, &vec![Kind::Real; n], Kind::Real);
        let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
        for args in at_the_ends(n) {
            let data: Vec<Datum<f64>> = args.iter().map(|&x| Datum::Real(x)).collect();
            let (y, slopes) = d.value_and_gradient(&data).unwrap();
            if y.is_finite() {
                seen += 1;
                assert!(
                    slopes.iter().all(|s| s.real().unwrap().is_finite()),
                    "{name}{args:?}: {slopes:?}"
                );
            }
        }
    }
    assert!(seen > 500, "{seen}");
}

#[test]
fn singular_ops_that_are_not_chosen_leave_gradients_alone() {
    for (op, n, name) in real_ops().into_iter().filter(|(op, ..)| is_singular(*op)) {
        let call = if n == 1 { format!("{name}(x)") } else { format!("{name}(x, y)") };
        let source = format!("fn f(x, y, c) {{ select(c > 0, {call}, 3 * c) }}");
        let p = parse_program(&source).unwrap();
        let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
        for args in at_the_ends(2) {
            let data: Vec<Datum<f64>> = [args[0], args[1], 0.0].map(Datum::Real).into();
            let slopes: Vec<f64> =
                d.value_and_gradient(&data).unwrap().1.iter().map(|s| *s.real().unwrap()).collect();
            assert_eq!(slopes, [0.0, 0.0, 3.0], "{op:?}, {name}{args:?}");
        }
    }
}

#[test]
fn simplified_gradients_are_finite_where_the_strict_ones_are() {
    for (source, x, slope) in [
        ("fn f(x) { let mut s = 0.0; for i in 0..4 { s += powi(x, i); } s }", 0.0, 1.0),
        ("fn f(x) { select(x > 0, sqrt(x), 0.0) }", 0.0, 0.0),
        ("fn f(x) { let mut y = x; for i in 0..0 { y += x / 0.0; } y }", 1.5, 1.0),
    ] {
        let p = parse_program(source).unwrap();
        for level in [Level::Strict, Level::Algebraic] {
            let mut d = Derivatives::<f64>::new(&p, "f").unwrap().with_level(level);
            let g = *d.gradient(&[Datum::Real(x)]).unwrap()[0].real().unwrap();
            assert_eq!(g, slope, "{source} {level:?}");
        }
    }
}

/// The derivatives by the parts of the arguments: by reverse mode, by forward mode, by duals, and
/// as the values of a gradient on duals.
fn by_every_mode(source: &str, at: &[Datum<C>]) -> Vec<(&'static str, Vec<f64>)> {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{}: {source}", e[0]));
    let flat = |data: &[Datum<C>]| -> Vec<f64> {
        let parts = |d: &Datum<C>| match d {
            Datum::Real(x) => vec![*x],
            Datum::Complex(z) => vec![z.re, z.im],
            Datum::Reals(xs) => xs.to_vec(),
            Datum::Complexes(zs) => zs.iter().flat_map(|z| [z.re, z.im]).collect(),
            other => panic!("{other}"),
        };
        data.iter().flat_map(parts).collect()
    };
    let one = |k: usize, j: &mut usize| {
        *j += 1;
        f64::from(u8::from(*j == k + 1))
    };
    let n = flat(at).len();
    let mut reverse = Derivatives::<C>::new(&program, "f").unwrap();
    let mut plain = Derivatives::<C>::new(&program, "f").unwrap().with_level(Level::None);
    let mut dual = Derivatives::<Complex<Dual64>>::new(&program, "f").unwrap();
    let mut all = vec![
        ("reverse", flat(&reverse.gradient(at).unwrap())),
        ("plain", flat(&plain.gradient(at).unwrap())),
        ("forward", vec![]),
        ("dual", vec![]),
    ];
    for k in 0..n {
        let j = &mut 0;
        let dots: Vec<Datum<C>> = at
            .iter()
            .map(|d| match d {
                Datum::Real(_) => Datum::Real(one(k, j)),
                Datum::Complex(_) => Datum::Complex(C::new(one(k, j), one(k, j))),
                Datum::Reals(xs) => Datum::Reals(std::sync::Arc::new(xs.map(|_| one(k, j)))),
                Datum::Complexes(zs) => {
                    Datum::Complexes(std::sync::Arc::new(zs.map(|_| C::new(one(k, j), one(k, j)))))
                }
                other => panic!("{other}"),
            })
            .collect();
        all[2].1.extend(flat(&[reverse.jvp(at, &dots).unwrap().1]));
        let j = &mut 0;
        let mut number = |x: &f64| Dual64::new(*x, one(k, j));
        let duals: Vec<Datum<Complex<Dual64>>> = at
            .iter()
            .map(|d| match d {
                Datum::Real(x) => Datum::Real(number(x)),
                Datum::Complex(z) => Datum::Complex(Complex::new(number(&z.re), number(&z.im))),
                Datum::Reals(xs) => Datum::reals(xs.iter().map(&mut number)),
                Datum::Complexes(zs) => {
                    Datum::complexes(zs.iter().map(|z| Complex::new(number(&z.re), number(&z.im))))
                }
                other => panic!("{other}"),
            })
            .collect();
        all[3].1.push(dual.value(&duals).unwrap().real().unwrap().eps);
    }
    all
}

#[test]
fn edges_are_the_same_in_every_mode() {
    let x = |x: f64| vec![Datum::Real(x)];
    let xy = |x: f64, y: f64| vec![Datum::Real(x), Datum::Real(y)];
    let z = |re: f64, im: f64| vec![Datum::Complex(C::new(re, im))];
    let xs = |xs: &[f64]| vec![Datum::reals(xs.to_vec())];
    let zs = |zs: &[C]| vec![Datum::complexes(zs.to_vec())];
    let (nan, inf, zero) = (f64::NAN, f64::INFINITY, C::new(0.0, 0.0));
    let cases = [
        ("fn f(x) { abs(x) }", x(0.0), vec![0.0]),
        ("fn f(x) { detach(x * x) * x }", x(3.0), vec![9.0]),
        ("fn f(x) { sign(x) + floor(x) + ceil(x) + round(x) + trunc(x) }", x(0.0), vec![0.0]),
        ("fn f(x, y) { min(x, y) }", xy(1.0, 1.0), vec![1.0, 0.0]),
        ("fn f(x, y) { max(x, y) }", xy(1.0, 1.0), vec![1.0, 0.0]),
        ("fn f(x, y) { rem(x, y) }", xy(6.0, 2.0), vec![1.0, -3.0]),
        ("fn f(x) { sqrt(x) }", x(0.0), vec![inf]),
        ("fn f(x) { cbrt(x) }", x(0.0), vec![inf]),
        ("fn f(x, y) { pow(x, y) }", xy(0.0, 2.0), vec![0.0, 0.0]),
        ("fn f(x, y) { pow(x, y) }", xy(0.0, 0.5), vec![inf, 0.0]),
        ("fn f(x, y) { pow(x, 0.0) + y }", xy(0.0, 0.5), vec![0.0, 1.0]),
        ("fn f(x) { powi(x, 0) }", x(0.0), vec![0.0]),
        ("fn f(x) { powi(x, 1) }", x(0.0), vec![1.0]),
        ("fn f(z: complex) { re(powi(z, 0)) + re(powi(z, 1)) }", z(0.0, 0.0), vec![1.0, 0.0]),
        ("fn f(x, y) { hypot(x, y) }", xy(0.0, 0.0), vec![0.0, 0.0]),
        ("fn f(x, y) { atan2(x, y) }", xy(0.0, 0.0), vec![nan, nan]),
        ("fn f(z: complex) { abs(z) }", z(0.0, 0.0), vec![0.0, 0.0]),
        ("fn f(z: complex) { re(ln(z)) }", z(0.0, 0.0), vec![nan, nan]),
        ("fn f(z: complex) { arg(z) }", z(0.0, 0.0), vec![nan, nan]),
        ("fn f(z: complex) { abs2(z) }", z(0.0, 0.0), vec![0.0, 0.0]),
        ("fn f(x) { select(x > 0, ln(x), x) }", x(0.0), vec![1.0]),
        ("fn f(x) { ln(x) }", x(0.0), vec![inf]),
        ("fn f(xs: array) { norm(xs) }", xs(&[0.0, 0.0]), vec![0.0, 0.0]),
        ("fn f(xs: array) { norm(xs) }", xs(&[0.0, -3.0]), vec![0.0, -1.0]),
        ("fn f(zs: array<complex>) { norm(zs) }", zs(&[zero, zero]), vec![0.0; 4]),
        (
            "fn f(zs: array<complex>) { norm(zs) }",
            zs(&[C::new(3.0, 4.0), zero]),
            vec![0.6, 0.8, 0.0, 0.0],
        ),
        (
            "fn f(xs: array) { norm(xs) * sum(xs) + norm(xs) * norm(xs) }",
            xs(&[0.0, 0.0]),
            vec![0.0, 0.0],
        ),
        ("fn f(xs: array) { maximum(xs) }", xs(&[1.0, 1.0]), vec![1.0, 0.0]),
        ("fn f(xs: array) { minimum(xs) }", xs(&[1.0, 1.0]), vec![1.0, 0.0]),
        ("fn f(xs: array) { dot(sort(xs), [1.0, 2.0]) }", xs(&[1.0, 1.0]), vec![1.0, 2.0]),
        ("fn f(xs: array) { sum(abs(xs)) + sum(max(xs, 0)) }", xs(&[0.0, -1.0]), vec![1.0, -1.0]),
        ("fn f(xs: array) { prod(xs) }", xs(&[0.0, 3.0]), vec![3.0, 0.0]),
        ("fn f(xs: array) { prod(xs) }", xs(&[0.0, 0.0]), vec![0.0, 0.0]),
        ("fn f(xs: array) { sum(sqrt(xs)) }", xs(&[0.0, 4.0]), vec![inf, 0.25]),
        (
            "fn f(zs: array<complex>) { sum(abs(zs)) }",
            zs(&[zero, C::new(3.0, 4.0)]),
            vec![0.0, 0.0, 0.6, 0.8],
        ),
        (
            "fn f(m: array) { det(reshape(m, [2, 2])) }",
            xs(&[1.0, 2.0, 2.0, 4.0]),
            vec![4.0, -2.0, -2.0, 1.0],
        ),
        ("fn f(m: array) { det(reshape(m, [1, 1])) }", xs(&[0.0]), vec![1.0]),
        ("fn f(m: array) { det(reshape(m, [2, 2])) }", xs(&[0.0; 4]), vec![0.0; 4]),
        (
            "fn f(m: array) { det(reshape(m, [3, 3])) }",
            xs(&[0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0, 0.0]),
            vec![0.0, 0.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0, -2.0],
        ),
        (
            "fn f(m: array<complex>) { im(det(reshape(m, [2, 2]))) }",
            zs(&[C::new(0.0, 1.0), zero, C::new(2.0, 0.0), zero]),
            vec![0.0, 0.0, 0.0, -2.0, 0.0, 0.0, 1.0, 0.0],
        ),
        // Zeros below the diagonal that carry derivatives.
        ("fn f(m: array) { sum(qr(reshape(m, [2, 2]))) }", xs(&[1.0, 0.0, 0.0, 1.0]), vec![1.0; 4]),
        (
            "fn f(m: array) { sum(lstsq(reshape(m, [2, 2]), [1.0, 2.0])) }",
            xs(&[1.0, 0.0, 0.0, 1.0]),
            vec![-1.0, -2.0, -1.0, -2.0],
        ),
        ("fn f(xs: array) { sum(step(xs, 0)) + sum(xs) }", xs(&[0.0, 1.0]), vec![1.0, 1.0]),
        ("fn f(xs: array) { logsumexp(xs) }", xs(&[0.0, 0.0]), vec![0.5, 0.5]),
    ];
    for (source, at, expected) in cases {
        for (mode, given) in by_every_mode(source, &at) {
            let same =
                |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan() || (a - b).abs() < 1e-14;
            let all = given.len() == expected.len() && given.iter().zip(&expected).all(same);
            assert!(all, "{source}, {mode}: {given:?}, not {expected:?}");
        }
    }
    // A tangent or cotangent of zero goes through all of them.
    for f in [
        "sqrt(x)",
        "hypot(x, x)",
        "abs(complex(x, x))",
        "arg(complex(x, x))",
        "norm([x, x])",
        "cbrt(x)",
    ] {
        let source = format!("fn f(x, y) {{ select(y > 0, y, {f}) + 0 * y }}");
        for (mode, given) in by_every_mode(&source, &xy(0.0, 2.0)) {
            assert_eq!(given, [0.0, 1.0], "{source}, {mode}");
        }
    }
    // The norm has no second derivative at zeros, in whatever way it is written, and a first one
    // that is 0.
    for source in
        ["norm(xs)", "hypot(xs[0], xs[1])", "abs(complex(xs[0], xs[1]))", "sum(hypot(xs, 2 * xs))"]
    {
        let program = parse_program(&format!("fn f(xs: array) {{ {source} }}")).unwrap();
        let mut f = Derivatives::<C>::new(&program, "f").unwrap();
        let at = [Datum::reals([0.0, 0.0])];
        assert!(
            f.hessian(&at).unwrap().iter().all(|row| row.iter().any(|x| !x.is_finite())),
            "{source}"
        );
        let mut f = Derivatives::<Complex<Dual64>>::new(&program, "f").unwrap();
        let (y, g) = f
            .value_and_gradient(&[Datum::reals([Dual64::new(0.0, 1.0), Dual64::new(0.0, 0.0)])])
            .unwrap();
        let Datum::Reals(g) = &g[0] else { panic!("an array") };
        assert!([y, g[0], g[1]].iter().all(|x| x.re == 0.0) && y.eps == 0.0, "{source}: {y} {g:?}");
        assert!(!g[0].eps.is_finite(), "{source}: {g:?}");
    }
    // Determinants of singular matrices have second derivatives on duals: of `ad - bc` those of its
    // two products.
    let program = parse_program("fn f(m: array) { det(reshape(m, [2, 2])) }").unwrap();
    let mut f = Derivatives::<Dual64>::new(&program, "f").unwrap();
    for (at, along) in
        [([0.0; 4], [0.5, 0.25, 1.0, 2.0]), ([1.0, 2.0, 2.0, 4.0], [1.0, 3.0, -1.0, 0.5])]
    {
        let duals = std::array::from_fn::<_, 4, _>(|k| Dual64::new(at[k], along[k]));
        let g = f.gradient(&[Datum::reals(duals)]).unwrap();
        let Datum::Reals(g) = &g[0] else { panic!("an array") };
        let given: Vec<f64> = g.iter().map(|x| x.eps).collect();
        assert!(
            (0..4)
                .all(|k| (given[k] - [along[3], -along[2], -along[1], along[0]][k]).abs() < 1e-14),
            "{given:?}"
        );
    }
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
    let p = parse_program(source).unwrap();
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
    assert_eq!(slope("hyp", 0.0), 0.0);
}

#[test]
fn second_derivatives_leave_out_the_branch_that_was_not_taken() {
    let source = "
fn root(x, y) { select(x > 0, sqrt(x), x * y) }
fn log(x, y) { select(x > 0, ln(x) / x, x * x + y) }
fn elements(x, y) { let r = sqrt([x, y]); select(x > 0, r[0], x * y) }
fn power(x, y) { pow(x, y) }
fn integer(x, n: int) { powi(x, n) }";
    let p = parse_program(source).unwrap();
    let hessian = |f: &str, y: f64| {
        let mut d = Derivatives::<f64>::new(&p, f).unwrap();
        d.hessian(&[Datum::Real(0.0), Datum::Real(y)]).unwrap()
    };
    assert_eq!(hessian("root", 3.0), [[0.0, 1.0], [1.0, 0.0]]);
    assert_eq!(hessian("log", 3.0), [[2.0, 0.0], [0.0, 0.0]]);
    assert_eq!(hessian("elements", 3.0), [[0.0, 1.0], [1.0, 0.0]]);
    assert_eq!(hessian("power", 2.0), [[2.0, 0.0], [0.0, 0.0]]);
    assert_eq!(hessian("power", 3.0), [[0.0, 0.0], [0.0, 0.0]]);
    let mut d = Derivatives::<f64>::new(&p, "integer").unwrap();
    assert_eq!(d.hessian(&[Datum::Real(0.0), Datum::Int(0)]).unwrap(), [[0.0]]);
}

#[test]
fn what_does_not_change_has_a_tangent_of_zero_in_arrays_too() {
    let source = "
fn filled(x, y) { let s = [floor(x); 3]; s[1] * y }
fn total(x, y) { sum(floor([x, 2 * x])) * y }
fn element(x, y) { floor([x, y])[0] * y * x }
fn written(x, y) { let mut s = floor([x, y]); s[0] = y; s[0] * s[1] * x }
fn least(x, y) { minimum(sign([x, y])) * x * y }";
    let p = parse_program(source).unwrap();
    // At (2.5, 1.5): the derivatives, and the mixed second one.
    let expected = [
        ("filled", [0.0, 2.0], 0.0),
        ("total", [0.0, 7.0], 0.0),
        ("element", [3.0, 5.0], 2.0),
        ("written", [1.5, 2.5], 1.0),
        ("least", [1.5, 2.5], 1.0),
    ];
    let (one, zero) = (Datum::Real(1.0), Datum::Real(0.0));
    for (f, slopes, mixed) in expected {
        let mut d = Derivatives::<f64>::new(&p, f).unwrap();
        let at = [Datum::Real(2.5), Datum::Real(1.5)];
        for (dots, slope) in
            [[one.clone(), zero.clone()], [zero.clone(), one.clone()]].iter().zip(slopes)
        {
            assert_eq!(d.jvp(&at, dots).unwrap().1, Datum::Real(slope), "{f}");
        }
        assert_eq!(d.hessian(&at).unwrap(), [[0.0, mixed], [mixed, 0.0]], "{f}");
    }
}

#[test]
fn a_complex_program_needs_a_complex_scalar_and_a_real_one_does_not() {
    let p = parse_program("fn f(x, y) { abs2(exp(complex(x, y)) * complex(0, 1)) }").unwrap();
    let mut d = Derivatives::<Complex<f64>>::new(&p, "f").unwrap();
    let g = d.gradient(&[Datum::Real(0.5), Datum::Real(1.0)]).unwrap();
    close(*g[0].real().unwrap(), 2.0 * 1f64.exp(), TOLERANCE, "|e^z|^2 by x");
    close(*g[1].real().unwrap(), 0.0, TOLERANCE, "|e^z|^2 by y");
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
    let e = d.value(&[Datum::Real(0.5), Datum::Real(1.0)]).unwrap_err();
    assert!(e.to_string().contains("complex numbers"), "{e}");
    // The gradient of a real loss is dL/dx + i dL/dy.
    let p = parse_program("fn f(z: complex) { abs2(z) }").unwrap();
    let mut d = Derivatives::<Complex<f64>>::new(&p, "f").unwrap();
    let g = d.gradient(&[Datum::Complex(Complex::new(1.0, 2.0))]).unwrap();
    assert_eq!(g, vec![Datum::Complex(Complex::new(2.0, 4.0))]);
    assert_eq!(Scalar::abs2(&Complex::new(1.0, 2.0)), 5.0);
}

/// The slopes of `ln sum exp x` are the softmax, also where the rounding of the sum is as large as
/// the numbers.
#[test]
fn slopes_of_logsumexp_add_up_to_one() {
    for source in
        ["fn f(xs: array) { logsumexp(xs) }", "fn f(xs: array) { sum(logsumexp_keep(xs, 0)) }"]
    {
        let program = parse_program(source).unwrap();
        let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
        for x in [-1e300, -1e16, -1e3, 0.0, 12.5, 1e10, 1e16, 1e300] {
            let at = [Datum::reals([x, x, x])];
            let Datum::Reals(slopes) = f.gradient(&at).unwrap().remove(0) else {
                panic!("an array")
            };
            assert!(
                slopes.iter().all(|s| (s - 1.0 / 3.0).abs() < 1e-15),
                "{source} at {x}: {slopes:?}"
            );
            let (_, change) = f.jvp(&at, &[Datum::reals([3.0, 0.0, 0.0])]).unwrap();
            let Datum::Real(change) = change else { panic!("a number") };
            assert!((change - 1.0).abs() < 1e-15, "{source} at {x}: {change}");
        }
    }
}

#[test]
fn instructions_are_put_at_the_front_in_time() {
    let n = 300_000;
    let mut b = FunctionBuilder::new("f", vec![], Kind::Int);
    let entry = b.current();
    let begin = std::time::Instant::now();
    let given: Vec<_> = (0..n).map(|k| b.inst_at_front(entry, Op::Int(k), Kind::Int)).collect();
    assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
    b.ret(given[7]);
    let f = b.finish();
    // The last one comes first.
    let block = f.blocks.values().next().unwrap();
    let ops: Vec<_> = block.insts.iter().map(|&i| f.insts[i].op).collect();
    assert!(ops.iter().copied().eq((0..n).rev().map(Op::Int)));
}

/// `n x^(n-1)` of the integers at both ends of their range, where `n - 1` may not be one.
#[test]
fn powers_by_every_integer_have_their_slope() {
    let p = parse_program("fn f(x, n: int) { powi(x, n) }").unwrap();
    let q = |n: i64| {
        // The least integer is no literal after a sign.
        let n = if n == i64::MIN { "-9223372036854775807 - 1".to_owned() } else { n.to_string() };
        parse_program(&format!("fn f(x) {{ let n = {n}; powi(x, n) }}")).unwrap()
    };
    for n in [i64::MIN, i64::MIN + 1, -2, -1, 0, 1, 2, 5, i64::MAX - 1, i64::MAX] {
        for x in [1.0, -1.0, 0.0, 2.0, -0.5] {
            // x^(n-1) by the parity of n and the size of x, without n - 1.
            let odd = n % 2 != 0;
            let power = match (x, n) {
                (_, 0) => 0.0,
                (1.0, _) => 1.0,
                (-1.0, _) => {
                    if odd {
                        1.0
                    } else {
                        -1.0
                    }
                }
                (0.0, 1) => 1.0,
                (0.0, _) => {
                    if n > 1 {
                        0.0
                    } else {
                        f64::INFINITY
                    }
                }
                _ if n.unsigned_abs() < 9 => f64::powi(x, n as i32 - 1),
                _ => {
                    let sign = if odd || x > 0.0 { 1.0 } else { -1.0 };
                    if (x.abs() > 1.0) == (n > 0) { sign * f64::INFINITY } else { 0.0 }
                }
            };
            let slope = if n == 0 { 0.0 } else { n as f64 * power };
            let what = format!("{x}^{n}");
            for (program, args) in
                [(&p, vec![Datum::Real(x), Datum::Int(n)]), (&q(n), vec![Datum::Real(x)])]
            {
                for level in [Level::None, Level::Strict, Level::Algebraic] {
                    let mut d = Derivatives::<f64>::new(program, "f").unwrap().with_level(level);
                    let gradient = d.gradient(&args).unwrap();
                    let (_, dot) = d.jvp(&args, &[Datum::Real(1.0)]).unwrap();
                    for given in [gradient[0].real().unwrap(), dot.real().unwrap()] {
                        // Of 0^n with n < 0 the sign is that of a zero.
                        let right = *given == slope || x == 0.0 && n < 0 && given.is_infinite();
                        assert!(right, "{what} {level:?}: {given}, not {slope}");
                    }
                }
            }
        }
    }
    // In both directions of the second derivative, where it is finite: n (n - 1) x^(n - 2).
    for (x, n) in [
        (1.0, i64::MIN),
        (-1.0, i64::MIN),
        (1.0, i64::MIN + 1),
        (-1.0, i64::MAX),
        (1.0, i64::MAX),
        (0.5, 3),
    ] {
        let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
        let hessian = d.hessian(&[Datum::Real(x), Datum::Int(n)]).unwrap();
        let sign = if n % 2 != 0 && x < 0.0 { -1.0 } else { 1.0 };
        let expected = sign * n as f64 * (n as f64 - 1.0) * if x == 0.5 { 0.5 } else { 1.0 };
        close(hessian[0][0], expected, TOLERANCE, &format!("second derivative of {x}^{n}"));
    }
}
