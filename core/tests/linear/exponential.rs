//! The exponential of a matrix and its derivative.

use ketgrad_core::{
    array::{Array, ArrayError, expm, expm_along, matmul},
    scalar::{Conj, Lanes, Real, Ring, Scalar},
    trace::Expr,
};
use num_dual::Dual64;

use super::support::{C, CT, Rng, Third, matrix, same, unitary, variable};

/// Rounding errors of a few products, in parts of the norm of the result.
const ROUNDING: f64 = 1e-14;

fn exp<T: Real, S: Scalar<Real = T>>(a: &Array<S>) -> Array<S> {
    let mut y = Array::default();
    expm(a, &mut y).unwrap();
    y
}

fn along<T: Real, S: Scalar<Real = T>>(a: &Array<S>, e: &Array<S>) -> Array<S> {
    let mut y = Array::default();
    expm_along(a, e, &mut y).unwrap();
    y
}

fn times<S: Conj>(a: &Array<S>, b: &Array<S>) -> Array<S> {
    let mut y = Array::default();
    matmul(a, b, false, false, &mut y).unwrap();
    y
}

#[track_caller]
fn near(x: &Array<C>, y: &Array<C>, scale: f64, what: &str) {
    for (x, y) in x.iter().zip(y.iter()) {
        assert!((x - y).norm() <= ROUNDING * scale, "{what}: {x} {y}");
    }
}

/// Norms in each range of degrees, and beyond all.
const NORMS: [f64; 8] = [0.0, 1e-9, 5e-3, 0.1, 0.5, 1.5, 4.0, 40.0];

#[test]
fn exponentials_of_hermitian_matrices_are_those_of_their_spectra() {
    let mut rng = Rng::new(1);
    let (n, u) = (4, unitary(&variable(0.7)));
    let u = u.map(|x| C::new(x.re.re.re.re, x.im.re.re.re));
    let adjoint = matrix(n, |i, j| u[j * n + i].conj());
    let of = |d: &[C]| times(&matrix(n, |i, j| u[i * n + j] * d[j]), &adjoint);
    for norm in NORMS {
        let w: Vec<f64> = (0..n).map(|k| if k == 0 { norm } else { norm * rng.signed() }).collect();
        for turn in [C::new(1.0, 0.0), C::new(0.0, 1.0)] {
            let d: Vec<C> = w.iter().map(|w| turn * w).collect();
            let expected = of(&d.iter().map(|d| d.exp()).collect::<Vec<_>>());
            let greatest = expected.iter().map(|x| x.norm()).fold(1.0, f64::max);
            near(&exp(&of(&d)), &expected, greatest * (1.0 + norm), &format!("{turn} {w:?}"));
        }
    }
}

#[test]
fn nilpotent_matrices_have_a_polynomial() {
    for size in [1e-3_f64, 1.0, 100.0] {
        let y = exp(&matrix(3, |i, j| if j > i { size } else { 0.0 }));
        let expected = [1.0, size, size + size * size / 2.0, 0.0, 1.0, size, 0.0, 0.0, 1.0];
        for (x, y) in y.iter().zip(expected) {
            assert!((x - y).abs() <= ROUNDING * (1.0 + size * size), "{x} {y}");
        }
    }
}

#[test]
fn the_derivative_is_that_of_duals_and_its_own_transpose() {
    let mut rng = Rng::new(2);
    let n = 4;
    for norm in NORMS {
        let mut draw = || matrix(n, |_, _| rng.signed());
        let (a, e, g) = (draw().map(|x| x * norm / 2.0), draw(), draw());
        let dual = exp(&matrix(n, |i, j| Dual64::new(a[i * n + j], e[i * n + j])));
        let d = along(&a, &e);
        let greatest = d.iter().fold(1.0, |m: f64, x| m.max(x.abs())) * (1.0 + norm);
        for (x, y) in d.iter().zip(dual.iter()) {
            assert!((x - y.eps).abs() <= ROUNDING * greatest, "{norm}: {x} {y}");
        }
        // <G, L(A, E)> = <L(A^T, G), E>
        let back = along(&matrix(n, |i, j| a[j * n + i]), &g);
        let dot = |x: &Array<f64>, y: &Array<f64>| {
            x.iter().zip(y.iter()).map(|(x, y)| x * y).sum::<f64>()
        };
        let (left, right) = (dot(&g, &d), dot(&back, &e));
        assert!((left - right).abs() <= 16.0 * ROUNDING * greatest, "{norm}: {left} {right}");
    }
}

#[test]
fn derivatives_of_three_orders_are_exact() {
    // U(t) diag(f(t)) U(t)^H: the exponential is that of the spectrum.
    let t = variable(0.4);
    let u = unitary(&t);
    let w: Vec<Third> =
        (0..4).map(|k| (t * Third::lit(0.5 + f64::from(k))).sin() * Third::lit(1.5)).collect();
    let of = |w: &[Third]| {
        matrix(4, |i, j| {
            CT::sum((0..4).map(|k| u[i * 4 + k] * CT::from_real(w[k]) * u[j * 4 + k].conj()))
        })
    };
    let (found, expected) = (exp(&of(&w)), of(&w.iter().map(Scalar::exp).collect::<Vec<_>>()));
    for (x, y) in found.iter().zip(expected.iter()) {
        same(&x.re, &y.re, "real part");
        same(&x.im, &y.im, "imaginary part");
    }
}

#[test]
fn what_has_no_exponential_is_an_error() {
    let error = |a: &Array<f64>| expm(a, &mut Array::default()).unwrap_err();
    assert!(matches!(
        error(&Array::new(&[1, 1], vec![f64::NAN]).unwrap()),
        ArrayError::Diverges { .. }
    ));
    assert!(matches!(
        error(&Array::new(&[1, 1], vec![f64::INFINITY]).unwrap()),
        ArrayError::Diverges { .. }
    ));
    assert_eq!(
        error(&Array::from(vec![1.0])).to_string(),
        "`expm` takes a square matrix, given [1]"
    );
    // The number of halvings of a symbol is unknown.
    let symbol = Array::new(&[1, 1], vec![Expr::symbol("x")]).unwrap();
    let error = expm(&symbol, &mut Array::default()).unwrap_err();
    assert!(matches!(error, ArrayError::Undecided { op: "expm", .. }), "{error}");
    // Nor do numbers side by side agree, which are run one by one.
    let lanes = Array::new(&[1, 1], vec![Lanes([1.0, 2.0])]).unwrap();
    assert!(expm(&lanes, &mut Array::default()).is_err());
    let lanes = Array::new(&[1, 1], vec![Lanes([1.0, 1.0])]).unwrap();
    assert!((exp(&lanes)[0].0[1] - 1f64.exp()).abs() < ROUNDING);
}
