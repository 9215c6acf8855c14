//! Orthonormal columns and triangles, and least squares.

use ketgrad_core::{
    array::{Array, qr},
    scalar::{Lanes, Scalar},
};
use num_complex::Complex;
use num_dual::Dual64;

use super::support::{C, Rng, random, value};

/// Rounding errors of reflections, for each row.
const ROUNDING: f64 = 4e-16;

fn factors<S: Scalar>(a: &Array<S>) -> Array<S> {
    let mut out = Array::default();
    qr(a, &mut out).unwrap();
    out
}

/// Asserts `Q R = A`, `Q^H Q = 1`, and that `R` is a triangle with a diagonal that is not negative.
#[track_caller]
fn holds<S: Scalar<Real = f64>>(a: &Array<S>, what: &str) {
    let (m, n) = (a.shape()[0], a.shape()[1]);
    let y = factors(a);
    assert_eq!(y.shape().as_slice(), [m + n, n], "{what}");
    let (q, r) = y.split_at(m * n);
    let size = |x: S| x.re().abs().max(x.im().abs());
    let norm = a.iter().map(|x| size(x.clone())).fold(0.0, f64::max);
    let within = ROUNDING * (m as f64 + 8.0);
    for i in 0..m {
        for j in 0..n {
            let rest = S::sum((0..n).map(|k| &q[i * n + k] * &r[k * n + j])) - &a[i * n + j];
            assert!(size(rest) <= within * norm, "{what}, {m} x {n}: element {i}, {j}");
        }
    }
    for j in 0..n {
        for k in 0..n {
            let rest = S::sum((0..m).map(|i| q[i * n + j].conj() * &q[i * n + k]));
            let one = if j == k { S::one() } else { S::zero() };
            assert!(size(rest - one) <= within, "{what}, {m} x {n}: columns {j}, {k}");
            assert!(j <= k || r[j * n + k].is_exact_zero(), "{what}: a triangle");
        }
        assert!(r[j * n + j].re() >= 0.0 && r[j * n + j].im() == 0.0, "{what}: the diagonal");
    }
}

#[test]
fn matrices_of_all_sorts_are_factored() {
    let mut rng = Rng::new(1);
    for (m, n) in [(0, 0), (3, 0), (1, 1), (2, 1), (2, 2), (5, 3), (17, 16), (33, 33), (60, 20)] {
        let a = Array::new(&[m, n], (0..m * n).map(|_| rng.signed()).collect()).unwrap();
        holds(&a, "real");
        for exponent in [-1000, 1000] {
            let by = 2f64.powi(exponent);
            let scaled = factors(&a.map(|x| x * by));
            let (q, r) = scaled.split_at(m * n);
            let y = factors(&a);
            assert_eq!(q, &y[..m * n], "2^{exponent}");
            assert!(r.iter().zip(&y[m * n..]).all(|(x, y)| *x == y * by), "2^{exponent}");
        }
        let a = a.map(|x| Complex::new(*x, rng.signed()));
        holds(&a, "complex");
        // The second column is a multiple of the first, and one is zero.
        let low = |k: usize| if n > 2 && k % n == 1 { a[k - 1] * 2.0 } else { a[k] };
        holds(&Array::new(&[m, n], (0..m * n).map(low).collect()).unwrap(), "of low rank");
        let blank = |k: usize| if k % n == n / 2 { C::default() } else { a[k] };
        holds(
            &Array::new(&[m, n], (0..m * n).map(blank).collect()).unwrap(),
            "with a column of zeros",
        );
    }
    let unit = Array::new(&[3, 2], vec![1.0, 0.0, 0.0, -1.0, 0.0, 0.0]).unwrap();
    assert_eq!(factors(&unit).items(), [1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn numbers_side_by_side_get_what_each_gets_alone() {
    let mut rng = Rng::new(2);
    let mut pair = |scale: f64| {
        // What is decided by value, the sign of a first element, is the same in both lanes.
        let x: f64 = rng.signed();
        let y = x * (1.5 + rng.signed()) * scale;
        [x, y]
    };
    let pairs: Vec<[f64; 2]> = (0..12).map(|_| pair(1e-180)).collect();
    let lane = |k: usize| Array::new(&[12, 1], pairs.iter().map(|p| p[k]).collect()).unwrap();
    let both = factors(&Array::new(&[12, 1], pairs.iter().map(|p| Lanes(*p)).collect()).unwrap());
    for k in 0..2 {
        assert_eq!(both.map(|x| x.0[k]), factors(&lane(k)), "lane {k}");
    }
}

#[test]
fn what_is_carried_is_that_of_the_gram_random() {
    // R^T R = A^T A to first order.
    let mut rng = Rng::new(3);
    let (m, n) = (5, 3);
    let a =
        Array::new(&[m, n], (0..m * n).map(|_| Dual64::new(rng.signed(), rng.signed())).collect())
            .unwrap();
    let y = factors(&a);
    let r = &y[m * n..];
    for i in 0..n {
        for j in 0..n {
            let left: Dual64 = (0..n).map(|k| r[k * n + i] * r[k * n + j]).sum();
            let right: Dual64 = (0..m).map(|k| a[k * n + i] * a[k * n + j]).sum();
            assert!(
                (left.re - right.re).abs() < 1e-14 && (left.eps - right.eps).abs() < 1e-13,
                "{left} {right}"
            );
        }
    }
}

#[test]
fn residuals_of_least_squares_are_orthogonal_to_the_columns() {
    let mut rng = Rng::new(4);
    for shape in [&[7][..], &[7, 2], &[7, 1]] {
        let (a, b) = (random(&[7, 3], &mut rng), random(shape, &mut rng));
        let x = value("fn f(a: array, b: array) { lstsq(a, b) }", &[a.clone(), b.clone()]);
        assert_eq!(x.len(), 3 * shape.get(1).unwrap_or(&1));
        let rest = "fn f(a: array, b: array) {
            let c = reshape(b, [dim(b, 0), -1]);
            matmul(transpose(a), matmul(a, reshape(lstsq(a, b), [3, -1])) - c)
        }";
        let rest = value(rest, &[a, b]);
        assert!(rest.iter().all(|x| x.abs() < 1e-14), "{rest:?}");
    }
}
