//! Singular values and vectors, on every number type.
//!
//! What numbers are by value is decomposed in `f64`, or `Complex<f64>` where an imaginary part is not zero. The eigenvectors
//! of `A^H A` make the columns of `A V` nearly orthogonal; pairs of them are turned until all are, which is accurate for small
//! ones too (one-sided Jacobi: Demmel and Veselić, *Jacobi's method is more accurate than QR*, 1992). What numbers
//! carry besides (derivatives, uncertainty) follows as for the eigenvectors of `[[0, A], [A^H, 0]]`, which are `(u, v)`
//! and `(u, -v)`.

use std::cmp::Ordering;

use crate::scalar::{Loop, Real, Scalar, wide};

use super::{
    Array, ArrayError,
    eigen::{add, against, decompose, first_of_greatest, follow, product},
    value::{beyond, lift, values},
};

/// Two columns count as orthogonal below this cosine, or one rounding error for the root of their length: a few rounding errors.
const ORTHOGONAL: f64 = 1e-15;
/// More sweeps than are ever needed: two or three are usual, eight where columns are multiples of each other.
const SWEEPS: usize = 60;
/// The square of a length that is zero beside 1.
const NEGLIGIBLE: f64 = 1e-200;

/// Singular values in descending order as the first row, and below them as columns in the same order the left and the
/// right singular vectors, each of norm 1: `A = U diag(s) V^H`. For a matrix `m x n` and `k = min(m, n)` these are `1 x k`,
/// `m x k` and `n x k`, one below the other.
///
/// ```
/// use ketgrad_core::array::{Array, svd};
///
/// let a = Array::new(&[1, 2], vec![0.0, -2.0])?;
/// let mut y = Array::default();
/// svd(&a, &mut y)?;
/// assert_eq!(y.to_string(), "[[2.0], [1.0], [0.0], [-1.0]]"); // s, U, V
/// # Ok::<(), ketgrad_core::array::ArrayError>(())
/// ```
///
/// Of each vector of the shorter side (a right one of a square matrix) the first among the elements of greatest modulus
/// (those of at least .9 of it) is real and positive. This holds for values; derivatives are those along
/// `u^H du + v^H dv = 0`. `U` and `V` have orthonormal columns also where singular values are 0, as those below 1e-100 of
/// the greatest become.
///
/// What the numbers carry besides their values follows, of every order. Where singular values are equal or 0, their vectors are
/// some basis of spaces that alone are defined, and carry nothing of each other.
///
/// About 40 m n^2 operations.
///
/// # Errors
/// It is no matrix, it has infinite or undefined elements, or numbers without values.
pub fn svd<T: Real, S: Scalar<Real = T>>(a: &Array<S>, out: &mut Array<S>) -> Result<(), ArrayError> {
    let (m, n) = match a.matrix() {
        Some(lengths) if a.rank() == 2 => lengths,
        _ => return Err(ArrayError::shape("svd", "a matrix", &[&a.shape()])),
    };
    let diverges = ArrayError::Diverges { op: "svd" };
    let Some(elements) = values(a) else { return Err(diverges) };
    let is_carrying = a.iter().any(|x| !x.re().beyond().is_exact_zero() || !x.im().beyond().is_exact_zero());
    let all = if is_carrying { m.max(n) } else { m.min(n) };
    let factors = if elements.iter().all(|z| z.im == 0.0) {
        let real = elements.iter().map(|z| z.re).collect();
        factor((m, n), real, all).map(|f| f.map(|x| S::from_real(T::lit(x))))
    } else {
        factor((m, n), elements, all).map(|f| f.map(lift))
    };
    let Some(factors) = factors else { return Err(diverges) };
    let Factors { values, left, right } = match (is_carrying, factors) {
        (true, factors) => carried(a, (m, n), factors)?,
        (false, Factors { values, left, right }) => {
            Factors { values: values.into_iter().map(T::lit).collect(), left, right }
        }
    };
    let k = m.min(n);
    let to = out.start(&[1 + m + n, k]);
    to.extend(values.into_iter().map(S::from_real));
    for (vectors, length) in [(&left, m), (&right, n)] {
        to.extend((0..length * k).map(|e| vectors[e % k * length + e / k].clone()));
    }
    Ok(())
}

/// What numbers carry, added to the singular values and vectors of a matrix, of whose longer side all vectors are given.
fn carried<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    (m, n): (usize, usize),
    factors: Factors<f64, S>,
) -> Result<Factors<T, S>, ArrayError> {
    let Factors { values: s, mut left, mut right } = factors;
    let (k, order) = (m.min(n), m + n);
    let behind = order - k;
    let square = |f: &dyn Fn(usize, usize) -> S| {
        Array::new(&[order, order], (0..order * order).map(|e| f(e / order, e % order)).collect())
    };
    let whole = square(&|i, j| match (i < m, j < m) {
        (true, false) => a[i * n + j - m].clone(),
        (false, true) => a[j * n + i - m].conj(),
        _ => S::zero(),
    })?;
    // -s, 0 for each vector without a partner, and s.
    let w: Vec<f64> = (0..order)
        .map(|j| match j {
            j if j < k => -s[j],
            j if j < behind => 0.0,
            j => s[order - 1 - j],
        })
        .collect();
    let half = S::lit(std::f64::consts::FRAC_1_SQRT_2);
    let mut vectors = square(&|i, j| {
        let is_alone = j >= k && j < behind;
        let pair = if j < behind { j } else { order - 1 - j };
        let by = |x: &S| if is_alone { x.clone() } else { x * &half };
        match (i < m, j < k) {
            (true, _) if is_alone && m < n => S::zero(),
            (true, _) => by(&left[pair * m + i]),
            (false, _) if is_alone && m > n => S::zero(),
            (false, true) => -by(&right[pair * n + i - m]),
            (false, false) => by(&right[pair * n + i - m]),
        }
    })?;
    let mut values: Array<T> = w.iter().map(|&w| T::lit(w)).collect();
    follow(&whole, &w, &mut values, &mut vectors)?;
    let twice = S::lit(std::f64::consts::SQRT_2);
    for p in 0..k {
        let part = |i: usize| beyond(&(&vectors[i * order + order - 1 - p] * &twice));
        left[p * m..(p + 1) * m].iter_mut().enumerate().for_each(|(i, x)| *x += part(i));
        right[p * n..(p + 1) * n].iter_mut().enumerate().for_each(|(i, x)| *x += part(m + i));
    }
    let values = (0..k).map(|p| values[order - 1 - p].clone()).collect();
    Ok(Factors { values, left, right })
}

/// Singular values, and singular vectors one behind the other; more of one side than there are values, where asked for.
struct Factors<T, F> {
    values: Vec<T>,
    left: Vec<F>,
    right: Vec<F>,
}

impl<T, F> Factors<T, F> {
    fn map<S>(self, f: impl Fn(F) -> S) -> Factors<T, S> {
        let all = |x: Vec<F>| x.into_iter().map(&f).collect();
        Factors { values: self.values, left: all(self.left), right: all(self.right) }
    }
}

/// Of a matrix, with so many vectors of its longer side. `None` where it does not converge.
fn factor<F: Scalar<Real = f64> + Copy>(
    (m, n): (usize, usize),
    mut a: Vec<F>,
    all: usize,
) -> Option<Factors<f64, F>> {
    let greatest = a.iter().fold(0.0, |m: f64, z| m.max(z.re().abs()).max(z.im().abs()));
    let scale = greatest.inverse_size(&0.0).unwrap_or(1.0);
    a.iter_mut().for_each(|x| *x *= F::from_real(scale));
    // The columns of the matrix, or of its adjoint if that is higher, one behind the other.
    let is_wide = m < n;
    let (m, n, columns) = if is_wide {
        (n, m, a.iter().map(F::conj).collect())
    } else {
        (m, n, (0..m * n).map(|k| a[k % m * n + k / m]).collect::<Vec<F>>())
    };
    let column = |k: usize| &columns[k * m..(k + 1) * m];
    let mut gram = vec![F::zero(); n * n];
    for i in 0..n {
        (0..=i).for_each(|j| gram[i * n + j] = product(column(i), column(j)));
    }
    let (_, v) = decompose(n, gram)?;
    // The greatest first; each with its product with the matrix before it.
    let mut pairs: Vec<Vec<F>> = Vec::with_capacity(n);
    for k in (0..n).rev() {
        let mut pair = vec![F::zero(); m + n];
        let (image, own) = pair.split_at_mut(m);
        for (j, x) in own.iter_mut().enumerate() {
            *x = v[j * n + k];
            add(image, *x, column(j));
        }
        pairs.push(pair);
    }
    orthogonalize(&mut pairs, m)?;
    let length = |x: &Vec<F>| product(&x[..m], &x[..m]).re();
    let mut order: Vec<(f64, Vec<F>)> = pairs.into_iter().map(|x| (length(&x), x)).collect();
    order.sort_by(|x, y| y.0.partial_cmp(&x.0).unwrap_or(Ordering::Equal));
    let (mut values, mut left, mut right) = (Vec::with_capacity(n), Vec::with_capacity(all * m), Vec::new());
    for (square, mut pair) in order {
        let k = first_of_greatest(&pair[m..])?;
        let x = pair[m + k];
        let phase = against(x);
        pair.iter_mut().for_each(|x| *x *= phase);
        pair[m + k] = F::from_real(x.abs2().sqrt());
        let length = if square > NEGLIGIBLE { square.sqrt() } else { 0.0 };
        if length > 0.0 {
            left.extend(pair[..m].iter().map(|x| *x * F::from_real(1.0 / length)));
        }
        values.push(length / scale);
        right.extend_from_slice(&pair[m..]);
    }
    complete(m, all, &mut left);
    if is_wide {
        std::mem::swap(&mut left, &mut right);
    }
    Some(Factors { values, left, right })
}

/// Turns pairs of vectors until their first `m` elements are orthogonal.
fn orthogonalize<F: Scalar<Real = f64> + Copy>(pairs: &mut [Vec<F>], m: usize) -> Option<()> {
    for _ in 0..SWEEPS {
        let mut is_turned = false;
        for q in 1..pairs.len() {
            for p in 0..q {
                let (head, tail) = pairs.split_at_mut(q);
                is_turned |= turn(&mut head[p], &mut tail[0], m);
            }
        }
        if !is_turned {
            return Some(());
        }
    }
    None
}

/// Turns two vectors so that their first `m` elements become orthogonal; whether that was to be done.
fn turn<F: Scalar<Real = f64> + Copy>(x: &mut [F], y: &mut [F], m: usize) -> bool {
    let (u, v) = (&x[..m], &y[..m]);
    let (a, b, c) = (product(u, u).re(), product(v, v).re(), product(u, v));
    let size = c.abs2().sqrt();
    let small = ORTHOGONAL.max(f64::EPSILON * (m as f64).sqrt());
    if size <= small * a.sqrt() * b.sqrt() || a.min(b) <= NEGLIGIBLE {
        return false;
    }
    // t = tan of the angle: the smaller root of t^2 + 2 d t - 1 = 0.
    let d = (b - a) / (2.0 * size);
    let t = 1f64.copysign(d) / (d.abs() + (1.0 + d * d).sqrt());
    let cos = 1.0 / (1.0 + t * t).sqrt();
    let sin = c * F::from_real(t * cos / size);
    let cos = F::from_real(cos);
    wide::<f64, _>(Turn { x, y, cos, sin });
    true
}

struct Turn<'a, F> {
    x: &'a mut [F],
    y: &'a mut [F],
    cos: F,
    sin: F,
}

impl<F: Scalar<Real = f64> + Copy> Loop for Turn<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let back = self.sin.conj();
        for (x, y) in self.x.iter_mut().zip(self.y) {
            (*x, *y) = (self.cos * *x - back * *y, self.sin * *x + self.cos * *y);
        }
    }
}

/// Adds vectors of length `m` to orthonormal ones, one behind the other, until there are so many.
fn complete<F: Scalar<Real = f64> + Copy>(m: usize, count: usize, vectors: &mut Vec<F>) {
    let mut covered = vec![0.0; m];
    let cover = |covered: &mut [f64], x: &[F]| covered.iter_mut().zip(x).for_each(|(c, x)| *c += x.abs2());
    vectors.chunks_exact(m.max(1)).for_each(|x| cover(&mut covered, x));
    while vectors.len() < count * m {
        // The axis that is farthest from all.
        let k = (1..m).fold(0, |best, k| if covered[k] < covered[best] { k } else { best });
        let mut new = vec![F::zero(); m];
        new[k] = F::one();
        for _ in 0..2 {
            for x in vectors.chunks_exact(m) {
                let along = product(x, &new);
                add(&mut new, -along, x);
            }
        }
        let inverse = F::from_real(1.0 / product(&new, &new).re().sqrt());
        new.iter_mut().for_each(|x| *x *= inverse);
        cover(&mut covered, &new);
        vectors.append(&mut new);
    }
}
