//! Singular values and vectors.

use ketgrad_core::{
    array::{Array, ArrayError, svd},
    scalar::{Ring, Scalar},
};
use num_complex::Complex;
use num_dual::Dual64;

use super::support::{
    C, CT, DERIVATIVE, Rng, Third, gradient, random, same, unitary, value, variable,
};

/// Rounding errors of products and turns, for each row.
const ROUNDING: f64 = 4e-16;

struct Factors<S> {
    s: Vec<S>,
    u: Array<S>,
    v: Array<S>,
}

fn factors<S: Scalar>(a: &Array<S>) -> Factors<S> {
    let (m, n) = (a.shape()[0], a.shape()[1]);
    let k = m.min(n);
    let mut y = Array::default();
    svd(a, &mut y).unwrap();
    assert_eq!(y.shape().as_slice(), [1 + m + n, k]);
    let part = |from: usize, rows: usize| {
        Array::new(&[rows, k], y[from * k..(from + rows) * k].to_vec()).unwrap()
    };
    Factors { s: y[..k].to_vec(), u: part(1, m), v: part(1 + m, n) }
}

/// Asserts `A = U diag(s) V^H`, `U^H U = V^H V = 1`, and that `s` descends to 0 at least.
#[track_caller]
fn holds<S: Scalar<Real = f64>>(a: &Array<S>, what: &str) -> Vec<f64> {
    let (m, n) = (a.shape()[0], a.shape()[1]);
    let (k, Factors { s, u, v }) = (m.min(n), factors(a));
    let size = |x: S| x.re().abs().max(x.im().abs());
    let norm = a.iter().map(|x| size(x.clone())).fold(0.0, f64::max);
    let within = ROUNDING * (m.max(n) as f64 + 8.0);
    for i in 0..m {
        for j in 0..n {
            let sum = S::sum((0..k).map(|p| u[i * k + p].clone() * &s[p] * v[j * k + p].conj()));
            let rest = size(sum - &a[i * n + j]);
            assert!(
                rest <= 2.0 * within * norm,
                "{what}, {m} x {n}: {rest:e} of {norm:e} at {i}, {j}"
            );
        }
    }
    for (x, rows) in [(&u, m), (&v, n)] {
        for p in 0..k {
            for q in 0..=p {
                let product = S::sum((0..rows).map(|i| x[i * k + q].conj() * &x[i * k + p]));
                let rest = size(product - if p == q { S::one() } else { S::zero() });
                assert!(rest <= within, "{what}, {m} x {n}: {rest:e} at {p}, {q}");
            }
        }
    }
    let (x, rows) = if m < n { (&u, m) } else { (&v, n) };
    for p in 0..k {
        let modulus = |i: usize| x[i * k + p].abs2().sqrt();
        let greatest = (0..rows).map(modulus).fold(0.0, f64::max);
        let first = &x[(0..rows).find(|&i| modulus(i) >= 0.9 * greatest).unwrap() * k + p];
        assert!(first.re() > 0.0 && first.im() == 0.0, "{what}: {first:?}");
    }
    let s: Vec<f64> = s.iter().map(Scalar::re).collect();
    assert!(
        s.windows(2).all(|s| s[0] >= s[1]) && s.last().is_none_or(|s| *s >= 0.0),
        "{what}: {s:?}"
    );
    s
}

const SHAPES: [(usize, usize); 10] =
    [(0, 0), (3, 0), (0, 2), (1, 1), (1, 4), (5, 3), (3, 5), (16, 16), (40, 33), (20, 50)];

#[test]
fn matrices_of_all_sorts_are_decomposed() {
    let mut rng = Rng::new(1);
    for (m, n) in SHAPES {
        let a = Array::new(&[m, n], (0..m * n).map(|_| rng.signed()).collect()).unwrap();
        holds(&a, "real");
        let z = a.map(|x| Complex::new(*x, rng.signed()));
        holds(&z, "complex");
        holds(&a.map(|_| 0.0), "zero");
        holds(&a.map(|_| 1.0), "of rank 1");
        holds(&a.map(|x| C::new(1.0, 0.0) + x * 1e-13), "nearly of rank 1");
        let graded = |k: usize| z[k] * 10f64.powi(-((k % n) as i32) / 2);
        holds(&Array::new(&[m, n], (0..m * n).map(graded).collect()).unwrap(), "graded");
        let s = holds(
            &Array::new(&[m, n], (0..m * n).map(|k| f64::from(k / n == k % n)).collect()).unwrap(),
            "unit",
        );
        assert!(s.iter().all(|s| *s == 1.0), "{s:?}");
        for exponent in [-1000, 1000] {
            let by = 2f64.powi(exponent);
            let (x, y) = (factors(&z), factors(&z.map(|x| x * by)));
            let same = x.s.iter().zip(&y.s).all(|(x, y)| x * by == *y);
            assert!(same && x.u == y.u && x.v == y.v, "2^{exponent}");
        }
    }
}

#[test]
fn small_singular_values_keep_their_digits() {
    // Columns of very different length.
    let mut rng = Rng::new(2);
    let lengths = [1.0, 1e-6, 1e-12, 1e-18];
    let a = Array::new(&[8, 4], (0..32).map(|_| rng.signed()).collect()).unwrap();
    let scaled = Array::new(&[8, 4], (0..32).map(|k| a[k] * lengths[k % 4]).collect()).unwrap();
    let s = holds(&scaled, "graded");
    // Their product is the root of the Gram determinant, that of R of all columns.
    let product: f64 = s.iter().zip(lengths).map(|(s, l)| s / l).product();
    let expected: f64 = factors(&a).s.iter().product();
    assert!((product / expected - 1.0).abs() < 1e-13, "{product} {expected}");
}

#[test]
fn all_number_types_have_the_same_values() {
    let mut rng = Rng::new(3);
    for (m, n) in [(5, 3), (3, 5), (4, 4)] {
        let a = Array::new(&[m, n], (0..m * n).map(|_| f64::from(rng.signed() as f32)).collect())
            .unwrap();
        let x = factors(&a);
        let y = factors(&a.map(|x| *x as f32));
        let single = |x: &Array<f64>| x.map(|x| *x as f32);
        assert_eq!((y.u, y.v), (single(&x.u), single(&x.v)));
        let y = factors(&a.map(|x| Dual64::new(*x, rng.signed())));
        assert_eq!((y.u.map(|x| x.re), y.v.map(|x| x.re)), (x.u.clone(), x.v.clone()));
        assert_eq!(y.s.iter().map(|s| s.re).collect::<Vec<_>>(), x.s);
        let y = factors(&a.map(|x| C::from(*x)));
        assert_eq!((y.u, y.v), (x.u.map(|x| C::from(*x)), x.v.map(|x| C::from(*x))));
    }
}

#[test]
fn derivatives_of_three_orders_are_exact() {
    let t = variable(0.4);
    let (u, v) = (unitary(&t), unitary(&(t * t + Third::lit(0.3))));
    let s: Vec<Third> = [(4.0, 0.5), (2.5, -0.7), (1.0, 1.5), (0.3, 0.4)]
        .iter()
        .map(|&(a, b)| Third::lit(a) + (t * Third::lit(b)).sin())
        .collect();
    let outer = |p: usize, i: usize, j: usize| u[i * 4 + p] * v[j * 4 + p].conj();
    let element =
        |i: usize, j: usize| CT::sum((0..4).map(|p| outer(p, i, j) * CT::from_real(s[p])));
    let whole = Array::new(&[4, 4], (0..16).map(|e| element(e / 4, e % 4)).collect()).unwrap();
    let tall = Array::new(
        &[4, 3],
        (0..12).map(|e| u[e / 3 * 4 + e % 3] * CT::from_real(s[e % 3])).collect(),
    );
    let wide = Array::new(
        &[3, 4],
        (0..12).map(|e| v[e % 4 * 4 + e / 4].conj() * CT::from_real(s[e / 4])).collect(),
    );
    let unit = |i: usize, p: usize| CT::from_real(Third::lit(f64::from(i == p)));
    for (a, what) in [(whole, "square"), (tall.unwrap(), "tall"), (wide.unwrap(), "wide")] {
        let (m, n) = (a.shape()[0], a.shape()[1]);
        let (k, found) = (m.min(n), factors(&a));
        for p in 0..k {
            same(&found.s[p].re, &s[p], what);
            for e in 0..m * n {
                let (i, j) = (e / n, e % n);
                let x = found.u[i * k + p] * found.v[j * k + p].conj();
                let left = if m == 3 { unit(i, p) } else { u[i * 4 + p] };
                let right = if n == 3 { unit(j, p) } else { v[j * 4 + p] };
                let y = left * right.conj();
                same(&x.re, &y.re, what);
                same(&x.im, &y.im, what);
            }
        }
    }
}

#[test]
fn spectra_known_beforehand_come_out() {
    // Orthonormal columns times a diagonal times the transpose of others.
    let mut rng = Rng::new(5);
    let (a, b) = (random(&[6, 3], &mut rng), random(&[4, 3], &mut rng));
    for w in [[3.0, 1.0, 0.5], [2.0, 2.0, 0.0], [1e3, 1.0, 1e-6]] {
        let source =
            "fn f(a: array, b: array) { svdvals(matmul(qr_q(a) * W, transpose(qr_q(b)))) }";
        let diagonal = format!("[{:?}, {:?}, {:?}]", w[2], w[0], w[1]);
        let found = value(&source.replace('W', &diagonal), &[a.clone(), b.clone()]);
        assert_eq!(found.len(), 4);
        for (k, x) in found.iter().enumerate() {
            let expected = w.get(k).copied().unwrap_or(0.0);
            assert!((x - expected).abs() < 1e-14 * w[0], "{found:?}");
        }
    }
}

#[test]
fn all_ways_to_a_derivative_agree_where_singular_values_are_equal_or_zero() {
    let near = |x: Vec<f64>, y: &[f64]| {
        assert!(x.iter().zip(y).all(|(x, y)| (x - y).abs() < DERIVATIVE), "{x:?} {y:?}");
    };
    let sum = "fn f(a: array) { sum(svdvals(a)) }";
    near(gradient(sum, 2, &[1.0, 0.0, 0.0, 1.0]), &[1.0, 0.0, 0.0, 1.0]);
    near(gradient(sum, 2, &[0.0, 3.0, 3.0, 0.0]), &[0.0, 1.0, 1.0, 0.0]);
    // The orthogonal matrix that is nearest to 1 changes by the skew part.
    let polar = "fn f(a: array) { sum(matmul_nh(svd_u(a), svd_v(a)) * [[1.0, 2.0], [5.0, 3.0]]) }";
    near(gradient(polar, 2, &[1.0, 0.0, 0.0, 1.0]), &[0.0, -1.5, 1.5, 0.0]);
    // The nearest matrix of rank 1, and the spaces, beside a singular value of 0.
    let part = "fn f(a: array) {
        let (u, v) = (slice(svd_u(a), 1, 0, 1), slice(svd_v(a), 1, 0, 1));
        sum(matmul_nh(u * svdvals(a)[0], v) * [[1.0, 2.0], [5.0, 3.0]])
    }";
    near(gradient(part, 2, &[2.0, 0.0, 0.0, 0.0]), &[1.0, 2.0, 5.0, 0.0]);
}

#[test]
fn what_has_no_singular_values_is_an_error() {
    let svd = |a: &Array<f64>| svd(a, &mut Array::default()).unwrap_err();
    let error = svd(&Array::new(&[1, 2], vec![0.0, f64::NAN]).unwrap());
    assert!(matches!(error, ArrayError::Diverges { .. }), "{error}");
    assert_eq!(svd(&Array::from(vec![1.0])).to_string(), "`svd` takes a matrix, given [1]");
}
