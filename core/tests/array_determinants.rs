//! Determinants and their derivatives at matrices of every rank, against sums over minors.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::slice::from_ref;

use ketgrad_core::{
    array::{Array, cofactors, cofactors_along},
    emit::emit_rust,
    exec::{Datum, Derivatives},
    text::parse_program,
};
use num_complex::Complex;
use support::random::Rng;

/// Elimination in matrices of small integers.
const TOLERANCE: f64 = 1e-11;

/// The determinant without some rows and columns, by its first row.
fn minor(a: &[Vec<f64>], rows: &[usize], columns: &[usize]) -> f64 {
    let (rows, columns): (Vec<usize>, Vec<usize>) = (
        (0..a.len()).filter(|r| !rows.contains(r)).collect(),
        (0..a.len()).filter(|c| !columns.contains(c)).collect(),
    );
    fn expanded(a: &[Vec<f64>], rows: &[usize], columns: &[usize]) -> f64 {
        let Some((r, rest)) = rows.split_first() else { return 1.0 };
        let mut sum = 0.0;
        for (k, c) in columns.iter().enumerate() {
            let others: Vec<usize> = columns.iter().copied().filter(|other| other != c).collect();
            sum += if k % 2 == 0 { 1.0 } else { -1.0 } * a[*r][*c] * expanded(a, rest, &others);
        }
        sum
    }
    expanded(a, &rows, &columns)
}

fn sign(n: usize) -> f64 {
    if n.is_multiple_of(2) { 1.0 } else { -1.0 }
}

fn first(a: &[Vec<f64>], i: usize, j: usize) -> f64 {
    sign(i + j) * minor(a, &[i], &[j])
}

/// The second derivative of the determinant by the elements (i, j) and (k, l).
fn second(a: &[Vec<f64>], (i, j): (usize, usize), (k, l): (usize, usize)) -> f64 {
    if i == k || j == l {
        return 0.0;
    }
    let turned = usize::from(k > i) + usize::from(l > j);
    sign(i + j + k + l + turned) * minor(a, &[i, k], &[j, l])
}

/// A matrix of integers of at most the given rank.
fn integers(rng: &mut Rng, n: usize, rank: usize) -> Vec<Vec<f64>> {
    let mut small = || (rng.signed() * 3.5).round();
    let left: Vec<Vec<f64>> = (0..n).map(|_| (0..rank).map(|_| small()).collect()).collect();
    let right: Vec<Vec<f64>> = (0..rank).map(|_| (0..n).map(|_| small()).collect()).collect();
    let element = |i: usize, j: usize| (0..rank).map(|k| left[i][k] * right[k][j]).sum();
    (0..n).map(|i| (0..n).map(|j| element(i, j)).collect()).collect()
}

fn array(a: &[Vec<f64>]) -> Array<f64> {
    Array::new(&[a.len(), a.len()], a.concat()).unwrap()
}

fn size(a: &[Vec<f64>]) -> f64 {
    a.iter().flatten().fold(1.0, |m, x| x.abs().max(m))
}

#[test]
fn second_derivatives_of_determinants_are_sums_of_minors_at_every_rank() {
    let mut rng = Rng::new(5);
    let mut y = Array::default();
    for n in 1..=5 {
        for rank in 0..=n {
            for nudge in [0.0, 1e-16, 1e-9] {
                let mut a = integers(&mut rng, n, rank);
                a.iter_mut().flatten().for_each(|x| *x += nudge * rng.signed());
                let e = integers(&mut rng, n, n);
                cofactors_along(&array(&a), &array(&e), &mut y).unwrap();
                let scale = size(&a).powi(n as i32) * size(&e);
                for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    let expected: f64 = (0..n * n)
                        .map(|p| e[p / n][p % n] * second(&a, (i, j), (p / n, p % n)))
                        .sum();
                    let error = (y[i * n + j] - expected).abs();
                    assert!(
                        error <= TOLERANCE * scale,
                        "{n} {rank} {nudge}: {a:?} {e:?}: {y:?}, not {expected}"
                    );
                }
                cofactors(&array(&a), &mut y).unwrap();
                for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    let error = (y[i * n + j] - first(&a, i, j)).abs();
                    assert!(error <= TOLERANCE * scale, "{n} {rank} {nudge}");
                }
            }
        }
    }
}

#[test]
fn hessians_of_determinants_exist_at_every_rank() {
    let program = parse_program("fn f(a: array) { det(a) }").unwrap();
    let mut rng = Rng::new(6);
    for n in 1..=4 {
        for rank in 0..=n {
            let a = integers(&mut rng, n, rank);
            let args = [Datum::reals_of(&[n, n], a.concat()).unwrap()];
            let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
            let hessian = f.hessian(&args).unwrap();
            for (p, row) in hessian.iter().enumerate() {
                for (q, x) in row.iter().enumerate() {
                    let expected = second(&a, (p / n, p % n), (q / n, q % n));
                    let error = (x - expected).abs();
                    assert!(
                        error <= TOLERANCE * size(&a).powi(4),
                        "{a:?} {p} {q}: {x}, not {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn derivatives_of_cofactors_of_singular_matrices() {
    let program = parse_program("fn f(x) { sum(cofactors([[x, 1.0], [1.0, 1.0]])) }").unwrap();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    assert_eq!(f.gradient(&[Datum::Real(1.0)]), Ok(vec![Datum::Real(1.0)]));
    let program = parse_program("fn f(t) { det([[t - 1, 2.0], [2.0, t - 1]]) }").unwrap();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    for t in [3.0, 3.0 + 4e-16, 3.0 - 1e-12, -1.0] {
        let (gradient, hessian) =
            (f.gradient(&[Datum::Real(t)]).unwrap(), f.hessian(&[Datum::Real(t)]).unwrap());
        assert_eq!(gradient, [Datum::Real(2.0 * (t - 1.0))], "{t}");
        assert!((hessian[0][0] - 2.0).abs() < 1e-14, "{t}: {hessian:?}");
    }
    let program = parse_program("fn f(a: array) { det(a) }").unwrap();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    let hessian = f.hessian(&[Datum::reals_of(&[2, 2], vec![0.0; 4]).unwrap()]).unwrap();
    let expected =
        [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -1.0, 0.0], [0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]];
    assert_eq!(hessian, expected.map(|row| row.to_vec()));
    // The third ones need the inverse, and say so.
    let program = parse_program("fn f(a: array, e: array) { sum(cofactors_along(a, e)) }").unwrap();
    let zeros = Datum::reals_of(&[3, 3], vec![0.0; 9]).unwrap();
    let error = Derivatives::<f64>::new(&program, "f")
        .unwrap()
        .gradient(&[zeros.clone(), zeros])
        .unwrap_err();
    assert!(error.to_string().contains("the matrix is singular"), "{error}");
}

#[test]
fn complex_singular_matrices_obey_the_law_of_the_transpose() {
    type C = Complex<f64>;
    let source = "fn f(a: array<complex>) { cofactors(a) }";
    let program = parse_program(source).unwrap();
    let mut rng = Rng::new(7);
    for n in [2, 3, 4] {
        for rank in 0..=n {
            let (re, im) = (integers(&mut rng, n, rank), integers(&mut rng, n, rank));
            let mut random = |re: &[f64]| {
                let items = re.iter().map(|x| C::new(*x, rng.signed())).collect();
                Datum::<C>::complexes_of(&[n, n], items).unwrap()
            };
            // i times a real matrix of that rank, and any complex one.
            let items = re.concat().iter().map(|x| C::new(0.0, *x)).collect();
            let turned = Datum::<C>::complexes_of(&[n, n], items).unwrap();
            for a in [turned, random(&im.concat())] {
                let (x_dot, y_bar) = (random(&re.concat()), random(&im.concat()));
                let mut f = Derivatives::<C>::new(&program, "f").unwrap();
                let (_, y_dot) = f.jvp(from_ref(&a), from_ref(&x_dot)).unwrap();
                let (_, bars) = f.vjp(&[a], y_bar.clone()).unwrap();
                let pair = |x: &Datum<C>, y: &Datum<C>| match (x, y) {
                    (Datum::Complexes(x), Datum::Complexes(y)) => {
                        x.iter().zip(y.iter()).map(|(x, y)| (x.conj() * y).re).sum::<f64>()
                    }
                    _ => f64::NAN,
                };
                let (left, right) = (pair(&y_bar, &y_dot), pair(&bars[0], &x_dot));
                assert!(
                    (left - right).abs() <= TOLERANCE * (1e4 + left.abs()),
                    "{n} {rank}: {left} {right}"
                );
            }
        }
    }
}

#[test]
fn emitted_rust_knows_the_operation() {
    let program = parse_program("fn f(a: array, e: array) { sum(cofactors_along(a, e)) }").unwrap();
    let text = emit_rust(&program, &[program.lookup("f").unwrap()]).unwrap();
    assert!(
        text.contains("fn array_cofactors_along<T: Number>")
            && text.contains("fn array_product_of<T: Number>")
    );
}
