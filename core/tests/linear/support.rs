//! Matrices to try, and numbers that carry derivatives of three orders.

use ketgrad_core::{
    array::Array,
    exec::{Datum, Derivatives},
    scalar::{Real, Ring, Scalar},
    text::parse_program,
};
use num_complex::Complex;
use num_dual::{Dual, Dual64};

pub(super) use support::random::Rng;

pub(crate) type C = Complex<f64>;
pub(crate) type Third = Dual<Dual<Dual64>>;

/// Derivatives of matrices of few rows whose eigenvalues are apart.
pub(crate) const DERIVATIVE: f64 = 1e-12;

pub(crate) fn matrix<S>(n: usize, f: impl FnMut(usize, usize) -> S) -> Array<S> {
    let mut f = f;
    Array::new(&[n, n], (0..n * n).map(|k| f(k / n, k % n)).collect()).unwrap()
}

/// A product of reflections, unitary to within rounding, and the matrix with the given eigenvalues.
pub(crate) fn with_spectrum(w: &[f64], rng: &mut Rng) -> Array<C> {
    let n = w.len();
    let mut a = matrix(n, |i, j| if i == j { C::new(w[i], 0.0) } else { C::default() });
    for _ in 0..2 {
        let u: Vec<C> = (0..n).map(|_| rng.complex()).collect();
        let norm: f64 = u.iter().map(|x| x.norm_sqr()).sum();
        let h = matrix(n, |i, j| C::from(f64::from(i == j)) - u[i] * u[j].conj() * (2.0 / norm));
        let product = |x: &Array<C>, y: &Array<C>| {
            matrix(n, |i, j| (0..n).map(|k| x[i * n + k] * y[k * n + j]).sum::<C>())
        };
        a = product(&product(&h, &a), &h);
    }
    a
}

/// `t` and powers of it in all three directions at once.
pub(crate) fn variable(x: f64) -> Third {
    Dual::new(
        Dual::new(Dual64::new(x, 1.0), Dual64::new(1.0, 0.0)),
        Dual::new(Dual64::new(1.0, 0.0), Dual64::new(0.0, 0.0)),
    )
}

/// A number and its derivatives.
pub(crate) fn parts(x: &Third) -> [f64; 4] {
    [x.re.re.re, x.re.re.eps, x.re.eps.eps, x.eps.eps.eps]
}

#[track_caller]
pub(crate) fn same(x: &Third, y: &Third, what: &str) {
    for (a, b) in parts(x).into_iter().zip(parts(y)) {
        assert!(
            (a - b).abs() <= DERIVATIVE * (1.0 + b.abs()),
            "{what}: {:?} {:?}",
            parts(x),
            parts(y)
        );
    }
}

pub(crate) type CT = Complex<Third>;

/// A unitary matrix of order 4 that depends on `t`: turns with phases.
pub(crate) fn unitary(t: &Third) -> Array<CT> {
    let n = 4;
    let mut u = matrix(n, |i, j| CT::from_real(Third::lit(f64::from(i == j))));
    let pairs = [(0, 1, 0.3), (1, 2, -0.8), (2, 3, 1.1), (0, 2, 0.5), (1, 3, 0.7), (0, 3, -0.4)];
    for (p, q, c) in pairs {
        let angle = t * Third::lit(c) + Third::lit(c * c);
        let (s, c) = angle.sin_cos();
        let phase = CT::new(Third::lit(0.0), t * Third::lit(0.6) + Third::lit(0.2)).exp();
        for k in 0..n {
            let (x, y) = (u[k * n + p], u[k * n + q]);
            let (c, s) = (CT::from_real(c), CT::from_real(s));
            u[k * n + p] = c * x - s * phase * y;
            u[k * n + q] = s * phase.conj() * x + c * y;
        }
    }
    u
}

/// `U diag(w) U^H`
pub(crate) fn composed(u: &Array<CT>, w: &[Third]) -> Array<CT> {
    let n = w.len();
    matrix(n, |i, j| {
        CT::sum((0..n).map(|k| u[i * n + k] * CT::from_real(w[k]) * u[j * n + k].conj()))
    })
}

/// Element (i, j) of the projector on some columns.
pub(crate) fn projector(v: &Array<CT>, columns: &[usize], i: usize, j: usize) -> CT {
    let n = v.shape()[0];
    CT::sum(columns.iter().map(|&k| v[i * n + k] * v[j * n + k].conj()))
}

/// Value of a function of arrays, in row-major order.
pub(crate) fn value(source: &str, args: &[Datum<f64>]) -> Vec<f64> {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{}", e[0]));
    match Derivatives::new(&program, "f").unwrap().value(args).unwrap() {
        Datum::Reals(xs) => xs.to_vec(),
        other => panic!("{}", other.describe()),
    }
}

/// The derivative of a number by a square matrix, by reverse mode; forward mode and dual numbers
/// must agree.
pub(crate) fn gradient(source: &str, n: usize, a: &[f64]) -> Vec<f64> {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{}", e[0]));
    let point: [Datum<f64>; 1] = [Datum::reals_of(&[n, n], a.to_vec()).unwrap()];
    let mut derivatives = Derivatives::new(&program, "f").unwrap();
    let found = match &derivatives.gradient(&point).unwrap()[0] {
        Datum::Reals(xs) => xs.to_vec(),
        other => panic!("{}", other.describe()),
    };
    for (k, x) in found.iter().enumerate() {
        let along = |j: usize| f64::from(j == k);
        let direction = [Datum::reals_of(&[n, n], (0..n * n).map(along).collect()).unwrap()];
        let Datum::Real(forward) = derivatives.pushforward(&point, &direction).unwrap().1 else {
            panic!("a number");
        };
        let dual = a.iter().enumerate().map(|(j, x)| Dual64::new(*x, along(j))).collect();
        let dual: [Datum<Dual64>; 1] = [Datum::reals_of(&[n, n], dual).unwrap()];
        let Datum::Real(dual) = Derivatives::new(&program, "f").unwrap().value(&dual).unwrap()
        else {
            panic!("a number");
        };
        for y in [forward, dual.eps] {
            assert!((x - y).abs() <= DERIVATIVE * (1.0 + x.abs()), "{source}, {k}: {x} {y}");
        }
    }
    found
}

pub(crate) fn random(shape: &[usize], rng: &mut Rng) -> Datum<f64> {
    Datum::reals_of(shape, (0..shape.iter().product()).map(|_| rng.signed()).collect()).unwrap()
}
