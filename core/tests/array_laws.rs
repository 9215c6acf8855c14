//! The laws of arrays: every operation of the table, and what is made of them, over shapes of all sorts.
//!
//! - `<y_bar, J x_dot> = <J^T y_bar, x_dot>`
//! - The pushforward is what dual numbers and difference quotients say.
//! - The Hessian times a vector is the gradient on dual numbers.
//! - On real and on complex numbers, for empty arrays, single elements, and both ways of broadcasting.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use ketgrad_core::{
    exec::{Datum, Derivatives},
    ir::{ArrayOp, Op, Program},
    text::parse_program,
};
use num_complex::Complex;
use num_dual::Dual64;

/// Two ways of computing the same derivative.
const TOLERANCE: f64 = 1e-8;
/// Central differences with a step of 1e-5.
const DIFFERENCE: f64 = 1e-6;
const STEP: f64 = 1e-5;

type C = Complex<f64>;
type D = Complex<Dual64>;

/// Pseudo-random numbers in (-1, 1): a Weyl sequence, scrambled.
struct Dice(u64);
impl Dice {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// A function of arrays and shapes to try it on. `{k}` in the source stands for the kind of the arrays.
struct Case {
    source: &'static str,
    shapes: &'static [&'static [&'static [usize]]],
    complex: bool,
    /// Added to the diagonal of square matrices, or to all elements: keeps them in the domain.
    shift: f64,
    /// Whether there are second derivatives.
    twice: bool,
}

const fn case(source: &'static str, shapes: &'static [&'static [&'static [usize]]]) -> Case {
    Case { source, shapes, complex: true, shift: 0.0, twice: true }
}
const fn real(source: &'static str, shapes: &'static [&'static [&'static [usize]]]) -> Case {
    Case { source, shapes, complex: false, shift: 0.0, twice: true }
}
const fn shifted(shift: f64, source: &'static str, shapes: &'static [&'static [&'static [usize]]]) -> Case {
    Case { source, shapes, complex: true, shift, twice: true }
}

const PAIRS: &[&[&[usize]]] = &[
    &[&[3], &[3]],
    &[&[2, 3], &[3]],
    &[&[3], &[2, 3]],
    &[&[2, 1], &[3]],
    &[&[1], &[2, 2]],
    &[&[2, 1, 2], &[3, 1]],
    &[&[1], &[1]],
    &[&[0], &[0]],
    &[&[0], &[1]],
    &[&[2, 0], &[1, 1]],
];
const ANY: &[&[&[usize]]] = &[&[&[5]], &[&[2, 3]], &[&[2, 1, 3]], &[&[1]], &[&[0]], &[&[0, 2]]];
const MATRICES: &[&[&[usize]]] = &[&[&[2, 3]], &[&[3, 3]], &[&[1, 1]], &[&[2, 2, 3]], &[&[0, 2]]];
const SQUARE: &[&[&[usize]]] = &[&[&[3, 3]], &[&[1, 1]], &[&[4, 4]]];
const VECTORS: &[&[&[usize]]] = &[&[&[4]], &[&[1]]];
const SAME: &[&[&[usize]]] = &[&[&[4], &[4]], &[&[2, 3], &[2, 3]], &[&[9], &[9]], &[&[0], &[0]]];

const CASES: &[Case] = &[
    case("fn f(a: {k}, b: {k}) { a + b }", PAIRS),
    case("fn f(a: {k}, b: {k}) { a - b * a }", PAIRS),
    case("fn f(a: {k}, b: {k}) { exp(a) * sin(b) + 2.0 }", PAIRS),
    shifted(3.0, "fn f(a: {k}, b: {k}) { a / b }", PAIRS),
    shifted(3.0, "fn f(a: {k}, b: {k}) { pow(a, b) - sqrt(a) }", PAIRS),
    case("fn f(a: {k}) { tanh(-a) * 0.5 + powi(a, 3) }", ANY),
    case("fn f(a: {k}) { let s = a[0]; s * a - a / (2.0 + s * s) }", &[&[&[3]], &[&[2, 2]]]),
    case("fn f(a: {k}) { sum(abs2(a)) * abs(a) + re(a) }", ANY),
    real("fn f(a: {k}, b: {k}) { max(a, b) * min(a, 0.25) + abs(a - b) }", PAIRS),
    real("fn f(a: {k}, b: {k}) { atan2(a, b) + hypot(a, b) + step(a, b) * b + step(0.0, a) * a }", PAIRS),
    case("fn f(a: {k}) { sum(a * a) * a }", ANY),
    case("fn f(a: {k}) { let mut b = a * 2.0; b[0] = a[1]; b[1] += sum(a); b * b }", &[&[&[3]], &[&[2, 2]]]),
    case(
        "fn f(a: {k}) { let mut b = a; b[1, 0] = a[0, 1] * a[0, 1]; b * b[0, 0] }",
        &[&[&[2, 2]], &[&[2, 3]]],
    ),
    // Shapes.
    case("fn f(a: {k}) { reshape(a, [-1, 2]) * reshape(a, [2, -1])[0, 1] }", &[&[&[2, 2]], &[&[8]]]),
    case(
        "fn f(a: {k}) { let b = insert_axis(a, 1); b * drop_axis(insert_axis(a, 0), 0) }",
        &[&[&[3]], &[&[2, 2]]],
    ),
    case("fn f(a: {k}) { transpose(a * a) }", MATRICES),
    case(
        "fn f(a: {k}) { permute(a, [2, 0, 1]) + unpermute(a * a, [1, 2, 0]) }",
        &[&[&[2, 2, 2]], &[&[3, 3, 3]]],
    ),
    case("fn f(a: {k}) { slice(a, 0, 1, 2) * slice(a * a, 0, 0, 2) }", &[&[&[3]], &[&[4, 2]], &[&[3, 1, 2]]]),
    case("fn f(a: {k}, b: {k}) { embed(a * a, b, 1, 1) * b }", &[&[&[2, 2], &[2, 4]], &[&[2, 0], &[2, 1]]]),
    case(
        "fn f(a: {k}, b: {k}) { concat(a, b * b, 0) }",
        &[&[&[2], &[3]], &[&[2, 2], &[1, 2]], &[&[0], &[1]]],
    ),
    case("fn f(a: {k}, b: {k}) { concat(a * a, b, 1) }", &[&[&[2, 2], &[2, 1]], &[&[2, 3, 1], &[2, 1, 1]]]),
    case("fn f(a: {k}) { let i = [2, 0, 2]; take(a * a, i) }", &[&[&[3]], &[&[3, 2]]]),
    case(
        "fn f(a: {k}, b: {k}) { let i = [1, 0, 1]; scatter(a * a, b, i) * b }",
        &[&[&[3], &[4]], &[&[3, 2], &[2, 2]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { spread(a * a, b) + sum_like(b * b, a) }",
        &[&[&[3], &[2, 3]], &[&[2, 1], &[2, 2]], &[&[1], &[3]]],
    ),
    case("fn f(a: {k}, b: {k}) { like(a * a, b) + b }", &[&[&[4], &[2, 2]], &[&[2], &[3]], &[&[2, 3], &[2]]]),
    case("fn f(a: {k}) { tril(a * a, 0) + triu(a, 1) - tril(a, -1) }", MATRICES),
    case("fn f(a: {k}) { diagonal_matrix(diagonal(a * a)) * a }", SQUARE),
    case("fn f(a: {k}) { [row(a, 1) * row(a, 0), row(a, 0)] }", &[&[&[2, 3]], &[&[3, 2, 2]]]),
    case("fn f(a: {k}) { let x = sum(a); [[x, x * x], [a[0], 1.0]] }", &[&[&[3]]]),
    case("fn f(a: {k}) { full(a[0] * a[1], [2, 2]) * a[0] + full(2, shape(a)) }", &[&[&[2]], &[&[2, 2]]]),
    case("fn f(a: {k}) { a * dim(a, 0).real() + real(len(a)) }", ANY),
    // Reductions.
    case("fn f(a: {k}) { sum_keep(a * a, 0) * a }", ANY),
    case("fn f(a: {k}) { sum_axis(a * a, 1) + mean_axis(a, 1) }", &[&[&[2, 3]], &[&[2, 1]], &[&[2, 3, 2]]]),
    case("fn f(a: {k}) { a * mean(a) + norm(a) }", &[&[&[3]], &[&[2, 2]], &[&[1]]]),
    case("fn f(a: {k}) { cumsum(a * a, 0) * cumsum_back(a, 0) }", ANY),
    case("fn f(a: {k}) { prod(a) * a }", ANY),
    Case {
        twice: false,
        ..case("fn f(a: {k}) { prod_others(a) + prod_pairs([0.5, 2.0, -1.0], a) }", &[&[&[3]]])
    },
    real("fn f(a: {k}) { maximum(a) * minimum(a) * sort(a) }", VECTORS),
    real("fn f(a: {k}) { logsumexp(a * 3.0) + a }", &[&[&[4]], &[&[2, 3]], &[&[1]]]),
    real("fn f(a: {k}) { logsumexp_keep(a * a, 0) + a }", &[&[&[4]], &[&[2, 3]], &[&[2, 3, 2]], &[&[1]]]),
    real("fn f(a: {k}) { logsumexp_axis(a * a, 1) }", &[&[&[2, 3]], &[&[2, 3, 2]]]),
    real("fn f(a: {k}) { softmax(a * 2.0, 0) * a }", &[&[&[4]], &[&[3, 2]], &[&[1]], &[&[0]]]),
    // Products.
    case("fn f(a: {k}, b: {k}) { dot(a, b) * a + dot(a, a) * b }", SAME),
    case(
        "fn f(a: {k}, b: {k}) { matmul(a, b) }",
        &[
            &[&[2, 3], &[3, 4]],
            &[&[1, 1], &[1, 1]],
            &[&[2, 0], &[0, 3]],
            &[&[2, 2, 3], &[3, 2]],
            &[&[2, 3], &[2, 3, 1]],
            &[&[9, 8], &[8, 9]],
            &[&[40, 2], &[2, 16]],
            &[&[40, 16], &[16, 1]],
            &[&[1, 16], &[16, 40]],
        ],
    ),
    case(
        "fn f(a: {k}, b: {k}) { matmul_nh(a, b) }",
        &[&[&[2, 3], &[4, 3]], &[&[2, 2, 3], &[1, 2, 3]], &[&[9, 8], &[9, 8]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { matmul_hn(a, b) }",
        &[&[&[3, 2], &[3, 4]], &[&[2, 3, 2], &[3, 2]], &[&[8, 9], &[8, 9]]],
    ),
    case("fn f(a: {k}, b: {k}) { matvec(a, b) }", &[&[&[2, 3], &[3]], &[&[1, 1], &[1]]]),
    case("fn f(a: {k}, b: {k}) { trace(matmul(a, b)) * a }", &[&[&[2, 3], &[3, 2]], &[&[1, 1], &[1, 1]]]),
    case("fn f(a: {k}) { trace(a * a) * a }", SQUARE),
    case("fn f(a: {k}, b: {k}) { outer(a, b) }", &[&[&[2], &[3]], &[&[0], &[2]], &[&[1], &[1]]]),
    case("fn f(a: {k}, b: {k}) { kron(a, b) }", &[&[&[2, 2], &[3, 1]], &[&[1, 2], &[2, 2]]]),
    case("fn f(a: {k}, b: {k}) { convolve(a, b) }", &[&[&[4], &[2]], &[&[1], &[1]], &[&[2], &[3]]]),
    case("fn f(a: {k}, b: {k}) { correlate(a, b) }", &[&[&[4], &[2]], &[&[1], &[1]], &[&[3], &[3]]]),
    // Linear algebra.
    shifted(
        2.0,
        "fn f(a: {k}, b: {k}) { solve(a, b) }",
        &[&[&[3, 3], &[3]], &[&[3, 3], &[3, 2]], &[&[1, 1], &[1]]],
    ),
    shifted(2.0, "fn f(a: {k}, b: {k}) { solve_adjoint(a, b) }", &[&[&[3, 3], &[3]], &[&[2, 2], &[2, 3]]]),
    shifted(2.0, "fn f(a: {k}) { inv(a) }", SQUARE),
    shifted(2.0, "fn f(a: {k}) { det(a) * a }", SQUARE),
    shifted(2.0, "fn f(a: {k}) { logabsdet(a) * a }", SQUARE),
    shifted(2.0, "fn f(a: {k}) { cholesky(matmul_nh(a, a)) }", SQUARE),
    shifted(
        4.0,
        "fn f(a: {k}) { cholesky(a + transpose(conj_(a))) }
        fn conj_(a: {k}) { {c} }",
        SQUARE,
    ),
    case("fn f(a: {k}) { eigvalsh(a) }", SQUARE),
    // The phases of eigenvectors are free: only what does not depend on them has a derivative.
    case("fn f(a: {k}) { let v = eigvecsh(a); abs2(v) }", SQUARE),
    case("fn f(a: {k}) { expm(a * 2.0) }", SQUARE),
    case("fn f(a: {k}) { a * sum(eye(3)) }", VECTORS),
];

fn kind(text: &str, complex: bool) -> Program {
    let (k, c) = if complex { ("array<complex>", "conj(a)") } else { ("array", "a") };
    parse_program(&text.replace("{k}", k).replace("{c}", c)).unwrap_or_else(|e| panic!("{}: {text}", e[0]))
}

/// The numbers of a value, real ones as complex.
fn numbers(d: &Datum<C>) -> Vec<C> {
    match d {
        Datum::Real(x) => vec![Complex::new(*x, 0.0)],
        Datum::Complex(z) => vec![*z],
        Datum::Reals(xs) => xs.iter().map(|x| Complex::new(*x, 0.0)).collect(),
        Datum::Complexes(zs) => zs.to_vec(),
        Datum::Tuple(fields) => fields.iter().flat_map(numbers).collect(),
        _ => vec![],
    }
}

/// The derivatives that dual numbers carry.
fn slopes(d: &Datum<D>) -> Vec<C> {
    let slope = |z: &D| Complex::new(z.re.eps, z.im.eps);
    match d {
        Datum::Real(x) => vec![Complex::new(x.eps, 0.0)],
        Datum::Complex(z) => vec![slope(z)],
        Datum::Reals(xs) => xs.iter().map(|x| Complex::new(x.eps, 0.0)).collect(),
        Datum::Complexes(zs) => zs.iter().map(slope).collect(),
        Datum::Tuple(fields) => fields.iter().flat_map(slopes).collect(),
        _ => vec![],
    }
}

/// A random value like another one.
fn random(d: &Datum<C>, dice: &mut Dice) -> Datum<C> {
    match d {
        Datum::Real(_) => Datum::Real(dice.next()),
        Datum::Complex(_) => Datum::Complex(Complex::new(dice.next(), dice.next())),
        Datum::Reals(xs) => Datum::reals_of(&xs.shape(), xs.iter().map(|_| dice.next()).collect()).unwrap(),
        Datum::Complexes(zs) => {
            let items = zs.iter().map(|_| Complex::new(dice.next(), dice.next())).collect();
            Datum::complexes_of(&zs.shape(), items).unwrap()
        }
        other => other.clone(),
    }
}

fn combined(x: &Datum<C>, d: &Datum<C>, h: f64) -> Datum<C> {
    match (x, d) {
        (Datum::Reals(x), Datum::Reals(d)) => {
            Datum::reals_of(&x.shape(), x.iter().zip(d.iter()).map(|(x, d)| x + h * d).collect()).unwrap()
        }
        (Datum::Complexes(x), Datum::Complexes(d)) => {
            Datum::complexes_of(&x.shape(), x.iter().zip(d.iter()).map(|(x, d)| x + d * h).collect()).unwrap()
        }
        _ => x.clone(),
    }
}

fn dual(x: &Datum<C>, d: &Datum<C>) -> Datum<D> {
    match (x, d) {
        (Datum::Reals(x), Datum::Reals(d)) => {
            let items = x.iter().zip(d.iter()).map(|(x, d)| Dual64::new(*x, *d)).collect();
            Datum::reals_of(&x.shape(), items).unwrap()
        }
        (Datum::Complexes(x), Datum::Complexes(d)) => {
            let part = |a, b| Dual64::new(a, b);
            let both = x.iter().zip(d.iter());
            let items = both.map(|(x, d)| Complex::new(part(x.re, d.re), part(x.im, d.im))).collect();
            Datum::complexes_of(&x.shape(), items).unwrap()
        }
        _ => Datum::Int(0),
    }
}

fn pairing(a: &[C], b: &[C]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a.conj() * b).re).sum()
}

#[track_caller]
fn close(a: &[C], b: &[C], tolerance: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (x, y) in a.iter().zip(b) {
        let size = 1.0 + x.norm() + y.norm();
        assert!((x - y).norm() <= tolerance * size, "{what}:\n{a:?}\n{b:?}");
    }
}

fn point(shape: &[usize], complex: bool, shift: f64, dice: &mut Dice) -> Datum<C> {
    let n: usize = shape.iter().product();
    let diagonal = shape.len() == 2 && shape[0] == shape[1];
    let moved = |k: usize| if !diagonal || k % shape[1] == k / shape[1] { shift } else { 0.0 };
    if complex {
        let items = (0..n).map(|k| Complex::new(dice.next() + moved(k), dice.next())).collect();
        Datum::complexes_of(shape, items).unwrap()
    } else {
        Datum::reals_of(shape, (0..n).map(|k| dice.next() + moved(k)).collect()).unwrap()
    }
}

fn laws(case: &Case, complex: bool) {
    let program = kind(case.source, complex);
    let loss = kind(
        &format!("{}\nfn loss(PARAMS) {{ let y = f(ARGS); sum(sin(abs2(y * 1.0))) }}", case.source)
            .replace("PARAMS", &params(case.source))
            .replace("ARGS", &names(case.source).join(", ")),
        complex,
    );
    for (k, shapes) in case.shapes.iter().enumerate() {
        let what = format!("{} on {shapes:?}, complex: {complex}", case.source);
        let mut dice = Dice(k as u64 + 17);
        let args: Vec<Datum<C>> = shapes.iter().map(|s| point(s, complex, case.shift, &mut dice)).collect();
        let dots: Vec<Datum<C>> = args.iter().map(|x| random(x, &mut dice)).collect();
        let mut d = Derivatives::<C>::new(&program, "f").unwrap();
        let (y, y_dot) = d.jvp(&args, &dots).unwrap_or_else(|e| panic!("{e}: {what}"));
        let y_bar = random(&y, &mut dice);
        let (again, bars) = d.vjp(&args, y_bar.clone()).unwrap_or_else(|e| panic!("{e}: {what}"));
        assert_eq!(y, again, "{what}");
        // Every cotangent has the shape of its argument.
        for (bar, x) in bars.iter().zip(&args) {
            assert_eq!(shape(bar), shape(x), "{what}");
        }
        let flat = |all: &[Datum<C>]| all.iter().flat_map(numbers).collect::<Vec<_>>();
        let (left, right) =
            (pairing(&numbers(&y_bar), &numbers(&y_dot)), pairing(&flat(&bars), &flat(&dots)));
        assert!((left - right).abs() <= TOLERANCE * (1.0 + left.abs()), "{what}: {left} {right}");
        // Dual numbers and differences.
        let mut on_duals = Derivatives::<D>::new(&program, "f").unwrap();
        let duals: Vec<Datum<D>> = args.iter().zip(&dots).map(|(x, d)| dual(x, d)).collect();
        let by_duals = on_duals.value(&duals).unwrap_or_else(|e| panic!("{e}: {what}"));
        close(&slopes(&by_duals), &numbers(&y_dot), TOLERANCE, &what);
        let mut moved = |h: f64| {
            let args: Vec<Datum<C>> = args.iter().zip(&dots).map(|(x, d)| combined(x, d, h)).collect();
            numbers(&d.value(&args).unwrap())
        };
        let (plus, minus) = (moved(STEP), moved(-STEP));
        let quotient: Vec<C> = plus.iter().zip(&minus).map(|(a, b)| (a - b) / (2.0 * STEP)).collect();
        close(&quotient, &numbers(&y_dot), DIFFERENCE, &what);
        if !case.twice {
            continue;
        }
        // Second derivatives: forward over reverse, and dual numbers through the gradient.
        let mut second = Derivatives::<C>::new(&loss, "loss").unwrap();
        let (_, along) = second.hvp(&args, &dots).unwrap_or_else(|e| panic!("{e}: {what}"));
        let mut on_duals = Derivatives::<D>::new(&loss, "loss").unwrap();
        let gradient = on_duals.gradient(&duals).unwrap_or_else(|e| panic!("{e}: {what}"));
        let gradient: Vec<C> = gradient.iter().flat_map(slopes).collect();
        close(&gradient, &flat(&along), TOLERANCE * 100.0, &what);
    }
}

/// `a: {k}, b: {k}` and `a, b`.
fn params(source: &str) -> String {
    source[source.find('(').unwrap() + 1..source.find(')').unwrap()].to_owned()
}
fn names(source: &str) -> Vec<String> {
    params(source).split(", ").map(|p| p.split(':').next().unwrap().to_owned()).collect()
}

fn shape(d: &Datum<C>) -> Vec<usize> {
    match d {
        Datum::Reals(xs) => xs.shape().to_vec(),
        Datum::Complexes(zs) => zs.shape().to_vec(),
        _ => vec![],
    }
}

/// All cases, so that one failure does not hide others.
fn all(complex: bool) {
    let cases = CASES.iter().filter(|case| case.complex || !complex);
    let failed: Vec<&str> = cases
        .filter(|case| std::panic::catch_unwind(|| laws(case, complex)).is_err())
        .map(|c| c.source)
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn real_arrays_obey_the_laws() {
    all(false);
}

#[test]
fn complex_arrays_obey_the_laws() {
    all(true);
}

#[test]
fn the_fourier_transform_obeys_the_laws() {
    let shapes: &[&[&[usize]]] = &[&[&[1]], &[&[2]], &[&[6]], &[&[7]], &[&[2, 8]], &[&[0]]];
    for source in [
        "fn f(a: {k}) { fft(a * a) }",
        "fn f(a: {k}) { fft_back(a) * a }",
        "fn f(a: {k}) { ifft(fft(a) * fft(a)) }",
    ] {
        let case = Case { source, shapes, complex: true, shift: 0.0, twice: true };
        laws(&case, true);
    }
}

#[test]
fn every_operation_is_in_a_case() {
    let mut seen: BTreeSet<&str> = BTreeSet::from(["fft", "fft_back"]);
    for case in CASES {
        let program = kind(case.source, false);
        let insts = program.functions.values().flat_map(|f| f.insts.values());
        seen.extend(insts.filter(|i| matches!(i.op, Op::OnArrays(_))).map(|i| i.op.name()));
    }
    let missing: Vec<&str> = ArrayOp::ALL.iter().map(|o| o.name()).filter(|n| !seen.contains(n)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
