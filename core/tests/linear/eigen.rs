//! Eigenvalues and eigenvectors of Hermitian matrices.

use ketgrad_core::{
    array::{Array, ArrayError, eigh},
    scalar::{Real, Ring, Scalar, Uncertain},
};
use num_complex::Complex;
use num_dual::{Dual3_64, Dual64};

use super::support::{
    C, CT, DERIVATIVE, Rng, Third, composed, gradient, matrix, parts, projector, same, unitary,
    variable, with_spectrum,
};

/// Rounding errors of reflections and turns, for each row and in parts of the norm.
const ROUNDING: f64 = 4e-16;
fn decompose<T: Real, S: Scalar<Real = T>>(a: &Array<S>) -> (Array<T>, Array<S>) {
    let (mut w, mut v) = (Array::default(), Array::default());
    eigh(a, &mut w, &mut v).unwrap();
    let n = a.shape()[0];
    assert_eq!((w.shape().as_slice(), v.shape().as_slice()), (&[n][..], &[n, n][..]));
    (w, v)
}

/// The Hermitian part.
fn hermitian<T: Real, S: Scalar<Real = T>>(a: &Array<S>) -> Array<S> {
    let n = a.shape()[0];
    matrix(n, |i, j| (a[i * n + j].clone() + a[j * n + i].conj()) * S::ratio(1, 2))
}

/// Asserts `A = V diag(w) V^H`, `V^H V = 1`, that `w` is ascending and each column begins as it
/// should.
#[track_caller]
fn holds<S: Scalar<Real = f64>>(a: &Array<S>, what: &str) -> (Array<f64>, Array<S>) {
    let (n, a, (w, v)) = (a.shape()[0], hermitian(a), decompose(a));
    let norm = a.iter().map(|x| x.re().abs().max(x.im().abs())).fold(0.0, f64::max);
    let within = ROUNDING * (n as f64 + 8.0);
    assert!(w.windows(2).all(|w| w[0] <= w[1]), "{what}: {w:?}");
    for k in 0..n {
        let column = |i: usize| &v[i * n + k];
        for i in 0..n {
            let row = S::sum((0..n).map(|j| &a[i * n + j] * column(j)));
            let rest = row - column(i) * S::lit(w[k]);
            let size = rest.re().abs().max(rest.im().abs());
            assert!(
                size <= 2.0 * within * norm * (n as f64).sqrt(),
                "{what}: {size:e} of {norm:e}, vector {k} of {n}"
            );
        }
        for l in 0..=k {
            let product = S::sum((0..n).map(|i| v[i * n + l].conj() * column(i)));
            let rest = product - if k == l { S::one() } else { S::zero() };
            let size = rest.re().abs().max(rest.im().abs());
            assert!(size <= within, "{what}: {size:e} at {k}, {l} of {n}");
        }
        let greatest = (0..n).map(|i| column(i).abs2().sqrt()).fold(0.0, f64::max);
        let first = (0..n).find(|&i| column(i).abs2().sqrt() >= 0.9 * greatest).unwrap();
        assert!(
            column(first).re() > 0.0 && column(first).im() == 0.0,
            "{what}: {:?}",
            column(first)
        );
    }
    (w, v)
}

#[test]
fn random_matrices_are_decomposed() {
    let mut rng = Rng::new(1);
    for n in [0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 50, 100] {
        holds(&matrix(n, |_, _| rng.signed()), "real");
        holds(&matrix(n, |_, _| rng.complex()), "complex");
    }
}

/// The k-th eigenvalue.
type Spectrum = fn(usize) -> f64;

#[test]
fn spectra_of_all_sorts_are_found() {
    const N: usize = 24;
    let mut rng = Rng::new(2);
    let spectra: [(&str, Spectrum); 8] = [
        ("zero", |_| 0.0),
        ("one value", |_| -3.0),
        ("two values", |k| if k < 7 { -1.0 } else { 2.0 }),
        ("clustered", |k| 1.0 + 1e-14 * k as f64 + (k / 8) as f64),
        ("of low rank", |k| if k < N - 3 { 0.0 } else { k as f64 }),
        ("graded", |k| 10f64.powi(k as i32 - 23)),
        ("of both signs", |k| (k as f64 - 11.5).powi(3)),
        ("one apart", |k| if k == N - 1 { 1e8 } else { k as f64 }),
    ];
    for (name, w) in spectra {
        let w: Vec<f64> = (0..N).map(w).collect();
        let greatest = w.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let (found, _) = holds(&with_spectrum(&w, &mut rng), name);
        for (x, y) in found.iter().zip(&w) {
            assert!((x - y).abs() <= 20.0 * ROUNDING * N as f64 * greatest, "{name}: {x} {y}");
        }
    }
}

#[test]
fn known_spectra_come_out() {
    // A chain: 2 - 2 cos (pi k / (n + 1)).
    let n = 40;
    let chain = matrix(n, |i, j| match i.abs_diff(j) {
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    });
    let (w, _) = holds(&chain, "chain");
    for (k, x) in w.iter().enumerate() {
        let expected = 2.0 - 2.0 * (std::f64::consts::PI * (k + 1) as f64 / (n + 1) as f64).cos();
        assert!((x - expected).abs() < 4.0 * ROUNDING * n as f64, "{x} {expected}");
    }
    // Pairs of eigenvalues that agree in all digits, though none is double.
    let (w, _) = holds(
        &matrix(21, |i, j| match i.abs_diff(j) {
            0 => i.abs_diff(10) as f64,
            1 => 1.0,
            _ => 0.0,
        }),
        "Wilkinson",
    );
    assert!(
        (w[20] - w[19]).abs() < 1e-13 && (w[20] - 10.746_194_182_903_393).abs() < 1e-13,
        "{w:?}"
    );
    // Determinants of Hilbert matrices are far below rounding.
    holds(&matrix(20, |i, j| 1.0 / (i + j + 1) as f64), "Hilbert");
    holds(&matrix(12, |i, j| 10f64.powi(-(i as i32 + j as i32))), "graded down");
    holds(&matrix(12, |i, j| 10f64.powi(i as i32 + j as i32 - 22)), "graded up");
    holds(&matrix(30, |_, _| 1.0), "ones");
    holds(
        &matrix(9, |i, j| if i + j == 8 { C::new(0.0, i as f64 - 4.0) } else { C::default() }),
        "across",
    );
}

#[test]
fn diagonal_matrices_are_exact() {
    let d = [3.0, -1.0, 0.0, 3.0, 1e-300];
    let (w, v) = decompose(&matrix(5, |i, j| if i == j { d[i] } else { 0.0 }));
    assert_eq!(w.items(), [-1.0, 0.0, 1e-300, 3.0, 3.0]);
    let places = [1, 2, 4, 0, 3];
    assert_eq!(v, matrix(5, |i, k| f64::from(places[k] == i)));
}

#[test]
fn scale_does_not_matter() {
    let mut rng = Rng::new(3);
    let a = matrix(9, |_, _| rng.complex());
    let (w, v) = holds(&a, "as it is");
    for exponent in [-1000, -300, 300, 1000] {
        let by = 2f64.powi(exponent);
        let (scaled, same) = decompose(&a.map(|x| x * by));
        assert_eq!((scaled, same), (w.map(|w| w * by), v.clone()), "2^{exponent}");
    }
}

#[test]
fn only_the_hermitian_part_counts() {
    let mut rng = Rng::new(4);
    // Quarters, so that sums are exact.
    let mut quarters = || (rng.signed() * 64.0).round() / 4.0;
    let a = matrix(7, |_, _| Complex::new(quarters(), quarters()));
    let skew = matrix(7, |_, _| Complex::new(quarters(), quarters()));
    let moved = matrix(7, |i, j| a[i * 7 + j] + skew[i * 7 + j] - skew[j * 7 + i].conj());
    assert_eq!(decompose(&a), decompose(&moved));
}

#[test]
fn all_number_types_have_the_same_values() {
    let mut rng = Rng::new(5);
    let a = matrix(6, |_, _| f64::from(rng.signed() as f32));
    let (w, v) = decompose(&a);
    let (single, vectors) = decompose(&a.map(|x| *x as f32));
    assert_eq!((single, vectors), (w.map(|w| *w as f32), v.map(|v| *v as f32)));
    let (complex, vectors) = decompose(&a.map(|x| C::from(*x)));
    assert_eq!((complex, vectors), (w.clone(), v.map(|v| C::from(*v))));
    let (duals, vectors) = decompose(&a.map(|x| Dual64::new(*x, rng.signed())));
    assert_eq!((duals.map(|w| w.re), vectors.map(|v| v.re)), (w.clone(), v.clone()));
    let (measured, vectors) = decompose(&a.map(|x| Uncertain::new(*x, 0.1)));
    assert_eq!((measured.map(Uncertain::value), vectors.map(Uncertain::value)), (w, v));
}

#[test]
fn derivatives_of_three_orders_are_exact() {
    let t = variable(0.4);
    let u = unitary(&t);
    let w: Vec<Third> = [(-2.0, 0.5), (0.3, -0.7), (1.0, 1.5), (4.0, 0.2)]
        .iter()
        .map(|&(a, b)| Third::lit(a) + (t * Third::lit(b)).sin())
        .collect();
    let (found, v) = decompose(&composed(&u, &w));
    for k in 0..4 {
        same(&found[k], &w[k], "eigenvalue");
        for (i, j) in [(0, 0), (0, 1), (2, 1), (3, 2), (3, 3)] {
            let (x, y) = (projector(&v, &[k], i, j), projector(&u, &[k], i, j));
            same(&x.re, &y.re, "projector");
            same(&x.im, &y.im, "projector");
        }
    }
    // Norms stay what they are, and phases do not turn.
    let one = Third::lit(1.0);
    for k in 0..4 {
        let norm = CT::sum((0..4).map(|i| v[i * 4 + k] * v[i * 4 + k].conj()));
        same(&norm.re, &one, "norm");
        let part = |x: &CT, order: usize| C::new(parts(&x.re)[order], parts(&x.im)[order]);
        let turned: C =
            (0..4).map(|i| part(&v[i * 4 + k], 0).conj() * part(&v[i * 4 + k], 1)).sum();
        assert!(turned.norm() < DERIVATIVE, "{turned}");
    }
}

#[test]
fn spaces_of_equal_eigenvalues_have_derivatives() {
    // At t = 0 the matrix is diagonal, so that its eigenvalues are equal in all digits.
    let t = variable(0.0);
    let n = 4;
    let mut u = matrix(n, |i, j| CT::from_real(Third::lit(f64::from(i == j))));
    for (p, q, a) in [(0, 2, 0.7), (1, 2, -0.4), (0, 1, 0.9), (1, 3, 1.2)] {
        let (s, c) = (t * Third::lit(a)).sin_cos();
        for k in 0..n {
            let (x, y) = (u[k * n + p], u[k * n + q]);
            let (c, s) = (CT::from_real(c), CT::from_real(s));
            u[k * n + p] = c * x - s * y;
            u[k * n + q] = s * x + c * y;
        }
    }
    let moves = |a: f64, b: f64| Third::lit(a) + (t * Third::lit(b)).sin();
    let w = [moves(1.0, 0.5), moves(1.0, -0.3), moves(1.0, 0.5), moves(3.0, 2.0)];
    let (found, v) = decompose(&composed(&u, &w));
    let sum = |w: &[Third]| Third::sum(w[..3].iter().cloned());
    same(&sum(&found), &sum(&w), "sum of equal eigenvalues");
    same(&found[3], &w[3], "the other one");
    for k in 0..n * n {
        let (x, y) =
            (projector(&v, &[0, 1, 2], k / n, k % n), projector(&u, &[0, 1, 2], k / n, k % n));
        same(&x.re, &y.re, "space");
        same(&x.im, &y.im, "space");
    }
}

#[test]
fn all_ways_to_a_derivative_agree_where_eigenvalues_are_equal() {
    let near = |x: Vec<f64>, y: &[f64]| {
        assert!(x.iter().zip(y).all(|(x, y)| (x - y).abs() < DERIVATIVE), "{x:?} {y:?}");
    };
    let twice = [2.0, 0.0, 0.0, 2.0];
    let e = 2f64.exp();
    near(gradient("fn f(a: array) { sum(exp(eigvalsh(a))) }", 2, &twice), &[e, 0.0, 0.0, e]);
    // The space of the first two, and that of the last: (c_i3 + c_3i) / 4 for a gap of 2.
    let a = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 3.0];
    let f = "fn f(a: array) {
        let v = slice(eigvecsh(a), 1, FROM, COUNT);
        sum(matmul_nh(v, v) * [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    }";
    let expected = [0.0, 0.0, 2.5, 0.0, 0.0, 3.5, 2.5, 3.5, 0.0];
    near(gradient(&f.replace("FROM", "2").replace("COUNT", "1"), 3, &a), &expected);
    near(gradient(&f.replace("FROM", "0").replace("COUNT", "2"), 3, &a), &expected.map(|x| -x));
}

#[test]
fn uncertainty_is_that_of_first_order() {
    // Of [[a, b], [b, c]]: dw = v^T dA v.
    let (a, b, c) = (Uncertain::new(1.0, 0.1), Uncertain::new(0.5, 0.2), Uncertain::new(-2.0, 0.3));
    let m = Array::new(&[2, 2], vec![a.clone(), b.clone(), b.clone(), c.clone()]).unwrap();
    let (w, _) = decompose(&m);
    let half = Uncertain::exact(0.5);
    let (mean, d) = ((&a + &c) * &half, (&a - &c) * &half);
    let root = (&d * &d + &b * &b).sqrt();
    for (found, expected) in w.iter().zip([&mean - &root, mean + root]) {
        let rest = found - &expected;
        assert!(rest.value().abs() < DERIVATIVE && rest.sigma() < DERIVATIVE, "{found} {expected}");
    }
}

#[test]
fn derivatives_do_not_depend_on_the_number_type() {
    // Third derivatives along one direction, by a number type of its own and by nesting.
    let mut rng = Rng::new(6);
    let (a, d) = (matrix(5, |_, _| rng.signed()), matrix(5, |_, _| rng.signed()));
    let (w, v) = decompose(&matrix(5, |i, j| Dual3_64::new(a[i * 5 + j], d[i * 5 + j], 0.0, 0.0)));
    let along = |k: usize| Third::lit(a[k]) + variable(0.0) * Third::lit(d[k]);
    let (nested, vectors) = decompose(&matrix(5, |i, j| along(i * 5 + j)));
    for (x, y) in w.iter().chain(v.iter()).zip(nested.iter().chain(vectors.iter())) {
        let y = parts(y);
        for (x, y) in [x.re, x.v1, x.v2, x.v3].into_iter().zip(y) {
            assert!((x - y).abs() <= 1e-10 * (1.0 + y.abs()), "{x} {y}");
        }
    }
}

#[test]
fn what_has_no_spectrum_is_an_error() {
    let decompose =
        |a: &Array<f64>| eigh(a, &mut Array::default(), &mut Array::default()).unwrap_err();
    for x in [f64::NAN, f64::INFINITY] {
        let error = decompose(&matrix(3, |i, j| if (i, j) == (0, 2) { x } else { 1.0 }));
        assert!(matches!(error, ArrayError::Diverges { .. }), "{error}");
    }
    let error = decompose(&Array::new(&[2, 3], vec![0.0; 6]).unwrap());
    assert_eq!(error.to_string(), "`eigen` takes a square matrix, given [2, 3]");
    // A derivative that is not defined comes out.
    let (w, _) = self::decompose(&matrix(2, |i, j| Dual64::new((i + j) as f64, f64::NAN)));
    assert!(w.iter().all(|w| w.re.is_finite() && w.eps.is_nan()), "{w:?}");
}
