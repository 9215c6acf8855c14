//! Least squares, pseudoinverses and triangular systems.

use ketgrad_core::{
    array::{
        Array, ArrayError, determinant, log_abs_determinant, lstsq, matmul, pinv,
        sign_of_determinant, solve, solve_triangular, transpose,
    },
    scalar::{Conj, Real, Scalar},
};
use num_complex::Complex;
use num_dual::Dual64;

use super::support::{C, Rng, value};

/// Rounding errors of products and factors, in parts of the norms.
const ROUNDING: f64 = 1e-13;

fn times<S: Conj>(a: &Array<S>, b: &Array<S>) -> Array<S> {
    let mut y = Array::default();
    matmul(a, b, false, false, &mut y).unwrap();
    y
}

fn adjoint<S: Scalar>(a: &Array<S>) -> Array<S> {
    let mut y = Array::default();
    transpose(&a.map(S::conj), &mut y).unwrap();
    y
}

fn inverse<T: Real, S: Scalar<Real = T>>(a: &Array<S>) -> Array<S> {
    let mut y = Array::default();
    pinv(a, &mut y).unwrap();
    y
}

#[track_caller]
fn near(x: &Array<C>, y: &Array<C>, what: &str) {
    assert_eq!(x.shape(), y.shape(), "{what}");
    let size = y.iter().map(|y| y.norm()).fold(1.0, f64::max);
    for (x, y) in x.iter().zip(y.iter()) {
        assert!((x - y).norm() <= ROUNDING * size, "{what}: {x} {y}");
    }
}

fn random(m: usize, n: usize, rng: &mut Rng) -> Array<C> {
    Array::new(&[m, n], (0..m * n).map(|_| rng.complex()).collect()).unwrap()
}

/// Rows, columns, rank.
const SHAPES: [(usize, usize, usize); 9] = [
    (1, 1, 1),
    (5, 3, 3),
    (3, 5, 3),
    (4, 4, 2),
    (6, 3, 1),
    (2, 7, 1),
    (9, 9, 9),
    (3, 2, 0),
    (0, 2, 0),
];

#[test]
fn pseudoinverses_obey_the_four_laws_and_give_least_squares() {
    let mut rng = Rng::new(1);
    for (m, n, rank) in SHAPES {
        for is_real in [false, true] {
            let a = times(&random(m, rank, &mut rng), &random(rank, n, &mut rng));
            let a = if is_real && rank == m.min(n) { a.map(|x| C::from(x.re)) } else { a };
            let (what, p) = (format!("{m} x {n} of rank {rank}"), inverse(&a));
            let (ap, pa) = (times(&a, &p), times(&p, &a));
            near(&times(&ap, &a), &a, &what);
            near(&times(&pa, &p), &p, &what);
            near(&ap, &adjoint(&ap), &what);
            near(&pa, &adjoint(&pa), &what);
            let b = random(m, 2, &mut rng);
            let mut x = Array::default();
            lstsq(&a, &b, &mut x).unwrap();
            near(&x, &times(&p, &b), &what);
        }
    }
}

#[test]
fn what_is_carried_keeps_the_laws() {
    // A = B C of constant rank 2, with derivatives.
    let mut rng = Rng::new(2);
    let mut draw = |m: usize, n: usize| {
        let number = |rng: &mut Rng| Dual64::new(rng.signed(), rng.signed());
        let all = (0..m * n).map(|_| Complex::new(number(&mut rng), number(&mut rng))).collect();
        Array::new(&[m, n], all).unwrap()
    };
    let a = times(&draw(4, 2), &draw(2, 3));
    let p = inverse(&a);
    let same = |x: &Array<Complex<Dual64>>, y: &Array<Complex<Dual64>>| {
        for (x, y) in x.iter().zip(y.iter()) {
            for d in [x.re - y.re, x.im - y.im] {
                assert!(d.re.abs() < ROUNDING && d.eps.abs() < 10.0 * ROUNDING, "{x} {y}");
            }
        }
    };
    let (ap, pa) = (times(&a, &p), times(&p, &a));
    same(&times(&ap, &a), &a);
    same(&times(&pa, &p), &p);
    same(&ap, &adjoint(&ap));
    same(&pa, &adjoint(&pa));
    let b = draw(4, 1);
    let mut x = Array::default();
    lstsq(&a, &b, &mut x).unwrap();
    same(&x, &times(&p, &b));
}

#[test]
fn small_singular_values_count_down_to_rounding() {
    let of = |s: f64| inverse(&Array::new(&[2, 2], vec![1.0, 0.0, 0.0, s]).unwrap()).into_items();
    assert_eq!(of(1e-12), [1.0, 0.0, 0.0, 1e12]);
    assert_eq!(of(1e-16), [1.0, 0.0, 0.0, 0.0]);
    let least = |s: f64| {
        let a = Array::new(&[2, 2], vec![1.0, 0.0, 0.0, s]).unwrap();
        let mut x = Array::default();
        lstsq(&a, &Array::from(vec![1.0, 1.0]), &mut x).map(|()| x.into_items())
    };
    assert_eq!((least(1e-12), least(1e-16)), (Ok(vec![1.0, 1e12]), Ok(vec![1.0, 0.0])));
}

#[test]
fn systems_of_many_blocks_are_solved() {
    let mut rng = Rng::new(6);
    for n in [47, 48, 49, 130] {
        let (a, b) = (random(n, n, &mut rng), random(n, 20, &mut rng));
        let real = a.map(|x| C::from(x.re));
        for a in [&a, &real] {
            for columns in [1, 20] {
                let b = Array::new(&[n, columns], b[..n * columns].to_vec()).unwrap();
                let mut x = Array::default();
                solve(a, &b, false, &mut x).unwrap();
                let size = x.iter().map(|x| x.norm()).fold(1.0, f64::max);
                let rest = times(a, &x)
                    .iter()
                    .zip(b.iter())
                    .map(|(x, y)| (x - y).norm())
                    .fold(0.0, f64::max);
                assert!(rest <= ROUNDING * size * n as f64, "{n}: {rest:e} of {size:e}");
            }
            let (square, sign) = (times(a, a), |a: &Array<C>| sign_of_determinant(a).unwrap());
            assert!((sign(a) * sign(a) - sign(&square)).norm() < 1e-9, "{n}");
            let log = |a: &Array<C>| log_abs_determinant(a).unwrap();
            assert!((2.0 * log(a) - log(&square)).abs() < 1e-9, "{n}");
        }
    }
}

#[test]
fn triangles_are_solved_by_what_is_in_them() {
    let mut rng = Rng::new(3);
    for n in [0, 1, 2, 5, 17] {
        let a = random(n, n, &mut rng);
        let a = Array::new(
            &[n, n],
            (0..n * n).map(|k| if k % (n + 1) == 0 { a[k] + 4.0 } else { a[k] }).collect(),
        );
        let (a, b) = (a.unwrap(), random(n, 3, &mut rng));
        for upper in [false, true] {
            let inside = |k: usize| if upper { k % n >= k / n } else { k % n <= k / n };
            let part = (0..n * n).map(|k| if inside(k) { a[k] } else { C::default() }).collect();
            let mut x = Array::default();
            solve_triangular(&a, &b, upper, &mut x).unwrap();
            near(&times(&Array::new(&[n, n], part).unwrap(), &x), &b, &format!("{n} {upper}"));
        }
    }
    let zero = Array::new(&[2, 2], vec![1.0, 2.0, 3.0, 0.0]).unwrap();
    let error = solve_triangular(&zero, &Array::from(vec![1.0, 1.0]), true, &mut Array::default())
        .unwrap_err();
    assert!(
        matches!(error, ArrayError::Singular { op: "solve_upper", column: 1, size: 2 }),
        "{error}"
    );
}

#[test]
fn signs_and_logarithms_make_the_determinant() {
    let of = |source: &str, a: &[f64], n: usize| {
        value(source, &[ketgrad_core::exec::Datum::reals_of(&[n, n], a.to_vec()).unwrap()])
    };
    let sign = "fn f(a: array) { [signdet(a)] }";
    assert_eq!(of(sign, &[2.0, 1.0, 3.0, 0.5], 2), [-1.0]);
    assert_eq!(of(sign, &[1.0, 2.0, 2.0, 4.0], 2), [0.0]);
    assert_eq!(of(sign, &[], 0), [1.0]);
    // The determinant itself is out of range.
    for size in [1e200_f64, 1e-200] {
        let a = [0.0, size, 0.0, size, 0.0, 0.0, 0.0, 0.0, size];
        assert_eq!(of(sign, &a, 3), [-1.0]);
        let log = of("fn f(a: array) { [logabsdet(a)] }", &a, 3)[0];
        assert!((log - 3.0 * size.ln()).abs() < 1e-12 * log.abs(), "{log}");
    }
    let a = random(4, 4, &mut Rng::new(5));
    let sign = sign_of_determinant(&a).unwrap();
    let d = sign * log_abs_determinant(&a).unwrap().exp() - determinant(&a).unwrap();
    assert!((sign.norm() - 1.0).abs() < 1e-14 && d.norm() < ROUNDING, "{sign} {d}");
}

#[test]
fn wide_matrices_have_a_square_of_columns() {
    let mut rng = Rng::new(4);
    for (m, n) in [(2, 5), (3, 4), (1, 3), (0, 2)] {
        let a = super::support::random(&[m, n], &mut rng);
        let rest = "fn f(a: array) {
            let q = qr_q(a);
            let r = qr_r(a);
            concat(concat(matmul(q, r) - a, tril(r, -1), 0), matmul(matmul_hn(q, q), a) - a, 0)
        }";
        let rest = value(rest, &[a]);
        assert_eq!(rest.len(), 3 * m * n);
        assert!(rest.iter().all(|x| x.abs() < 1e-14), "{rest:?}");
    }
}
