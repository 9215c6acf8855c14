//! Eigenvalues and singular values of numbers with more digits than `f64`: Jacobi's rotations, in
//! the numbers themselves.
//!
//! ```text
//! A <- J^H A J,   J = [[c, s], [-s e^-i phi, c e^-i phi]] in rows and columns p and q
//! a_pq = r e^i phi,   tau = (a_qq - a_pp) / 2r,   t = sign(tau) / (|tau| + sqrt(1 + tau^2)),   c = 1 / sqrt(1 + t^2),   s = t c
//! ```
//!
//! makes `a_pq` zero; going over all pairs again and again makes the matrix diagonal, with twice
//! the digits each time at the end. The same rotations of the columns of any matrix make these
//! orthogonal: their lengths are its singular values (Hestenes). Nothing in it depends on the
//! number of digits but the end. Sources: Golub and Van Loan, *Matrix Computations*, section 8.5;
//! Demmel and Veselić, *Jacobi's method is more accurate than QR* (1992).
//!
//! About 10 sweeps of 4 n^3 operations.

use std::cmp::Ordering;

use crate::scalar::{Real, Scalar};

use super::{eigen::NEAR_GREATEST, singular::SvdFactors};

/// Sweeps after which it counts as not converging.
const SWEEPS: usize = 60;

/// Bits beyond which numbers count as exact.
const MOST_BITS: i32 = 1000;

/// Returns the distance from 1 to the next number, if that is less than `f64` has. Those that
/// compute without rounding have none.
pub(super) fn fine_unit<T: Real>() -> Option<f64> {
    let is_seen = |bits: i32| {
        let step = T::lit((-f64::from(bits)).exp2());
        !(T::one() + &step - T::one()).is_exact_zero()
    };
    if !is_seen(60) || is_seen(MOST_BITS) {
        return None;
    }
    // The greatest number of bits that is seen.
    let (mut seen, mut lost) = (60, MOST_BITS);
    while lost - seen > 1 {
        let middle = (seen + lost) / 2;
        if is_seen(middle) { seen = middle } else { lost = middle }
    }
    Some((-f64::from(seen)).exp2())
}

fn is_greater<T: Real>(x: &T, y: &T) -> bool {
    matches!(x.try_cmp(y), Ok(Some(Ordering::Greater)))
}

/// The rotation that makes the element `a_pq` of a Hermitian matrix zero: `c`, `s` and
/// `e^{-i phi}`.
struct Rotation<S: Scalar> {
    c: S,
    s: S,
    /// `s e^{i phi}` and `c e^{i phi}`, conjugated.
    s_phase: S,
    c_phase: S,
}

impl<T: Real, S: Scalar<Real = T>> Rotation<S> {
    fn new(app: &T, aqq: &T, apq: &S) -> Rotation<S> {
        let r = <T as Scalar>::sqrt(&apq.abs2());
        let tau = (aqq.clone() - app) / (r.clone() + &r);
        let root = <T as Scalar>::sqrt(&(tau.clone() * &tau + T::one()));
        let is_negative = is_greater(&T::zero(), &tau);
        let t = <T as Scalar>::recip(&if is_negative { tau - root } else { tau + root });
        let c = <T as Scalar>::recip(&<T as Scalar>::sqrt(&(t.clone() * &t + T::one())));
        let s = t * &c;
        let phase = apq.conj() * S::from_real(<T as Scalar>::recip(&r));
        let (c, s) = (S::from_real(c), S::from_real(s));
        Rotation { s_phase: s.clone() * &phase, c_phase: c.clone() * &phase, c, s }
    }

    /// Rotates two columns: `(c x - s e^{-i phi} y, s x + c e^{-i phi} y)`.
    fn columns<'x>(&self, pairs: impl Iterator<Item = (&'x mut S, &'x mut S)>)
    where
        S: 'x,
    {
        for (x, y) in pairs {
            let (old_x, old_y) = (x.clone(), y.clone());
            *x = self.c.clone() * &old_x - self.s_phase.clone() * &old_y;
            *y = self.s.clone() * &old_x + self.c_phase.clone() * &old_y;
        }
    }
}

/// Returns two parts of a list that do not overlap, `length` long, of numbers `p < q`.
fn two<S>(list: &mut [S], length: usize, p: usize, q: usize) -> (&mut [S], &mut [S]) {
    let (low, high) = list.split_at_mut(q * length);
    (&mut low[p * length..(p + 1) * length], &mut high[..length])
}

/// Returns the eigenvalues of the Hermitian part of a matrix in ascending order, and its
/// eigenvectors, one after the other. `None` where it does not converge.
pub(super) fn eigh<T: Real, S: Scalar<Real = T>>(
    n: usize,
    a: &[S],
    unit: f64,
) -> Option<(Vec<T>, Vec<S>)> {
    let half = S::ratio(1, 2);
    // Column by column.
    let mut a: Vec<S> =
        (0..n * n).map(|k| (a[k % n * n + k / n].clone() + a[k].conj()) * &half).collect();
    let mut v: Vec<S> =
        (0..n * n).map(|k| if k % n == k / n { S::one() } else { S::zero() }).collect();
    let norm2 = T::sum(a.iter().map(S::abs2));
    let least = norm2 * T::lit(unit * unit / (n * n).max(1) as f64);
    let mut is_diagonal = false;
    for _ in 0..SWEEPS {
        is_diagonal = true;
        for p in 0..n {
            for q in p + 1..n {
                let apq = a[q * n + p].clone();
                if !is_greater(&apq.abs2(), &least) {
                    continue;
                }
                is_diagonal = false;
                let rotation = Rotation::new(&a[p * n + p].re(), &a[q * n + q].re(), &apq);
                let (x, y) = two(&mut a, n, p, q);
                rotation.columns(x.iter_mut().zip(y));
                // The rows are the adjoint columns.
                for k in 0..n {
                    let (mut x, mut y) = (a[k * n + p].conj(), a[k * n + q].conj());
                    rotation.columns(std::iter::once((&mut x, &mut y)));
                    (a[k * n + p], a[k * n + q]) = (x.conj(), y.conj());
                }
                (a[q * n + p], a[p * n + q]) = (S::zero(), S::zero());
                let (x, y) = two(&mut v, n, p, q);
                rotation.columns(x.iter_mut().zip(y));
            }
        }
        if is_diagonal {
            break;
        }
    }
    if !is_diagonal {
        return None;
    }
    let values: Vec<T> = (0..n).map(|k| a[k * (n + 1)].re()).collect();
    let order = sorted(&values, Ordering::Less);
    let mut vectors = Vec::with_capacity(n * n);
    for &k in &order {
        let mut vector = v[k * n..(k + 1) * n].to_vec();
        turn(&mut vector, &mut []);
        vectors.extend(vector);
    }
    Some((order.into_iter().map(|k| values[k].clone()).collect(), vectors))
}

/// Returns the singular values of a matrix in descending order, and its singular vectors, of the
/// longer side as many as requested. `None` where it does not converge.
pub(super) fn svd<T: Real, S: Scalar<Real = T>>(
    a: &[S],
    (m, n): (usize, usize),
    all: usize,
    unit: f64,
) -> Option<SvdFactors<T, S>> {
    if m < n {
        let adjoint: Vec<S> = (0..m * n).map(|k| a[k % m * n + k / m].conj()).collect();
        let SvdFactors { values, left, right } = svd(&adjoint, (n, m), all, unit)?;
        return Some(SvdFactors { values, left: right, right: left });
    }
    let mut g: Vec<S> = (0..m * n).map(|k| a[k % m * n + k / m].clone()).collect();
    let mut v: Vec<S> =
        (0..n * n).map(|k| if k % n == k / n { S::one() } else { S::zero() }).collect();
    let length2 = |x: &[S]| T::sum(x.iter().map(S::abs2));
    let least = T::lit(unit * unit);
    let mut is_orthogonal = false;
    for _ in 0..SWEEPS {
        is_orthogonal = true;
        for p in 0..n {
            for q in p + 1..n {
                let (x, y) = two(&mut g, m, p, q);
                let dot = S::sum(x.iter().zip(y.iter()).map(|(x, y)| x.conj() * y));
                let (alpha, beta) = (length2(x), length2(y));
                if !is_greater(&dot.abs2(), &(alpha.clone() * &beta * &least)) {
                    continue;
                }
                is_orthogonal = false;
                let rotation = Rotation::new(&alpha, &beta, &dot);
                rotation.columns(x.iter_mut().zip(y));
                let (x, y) = two(&mut v, n, p, q);
                rotation.columns(x.iter_mut().zip(y));
            }
        }
        if is_orthogonal {
            break;
        }
    }
    if !is_orthogonal {
        return None;
    }
    let lengths: Vec<T> = g.chunks(m.max(1)).map(|x| <T as Scalar>::sqrt(&length2(x))).collect();
    let order = sorted(&lengths, Ordering::Greater);
    let (mut values, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new());
    for &k in &order {
        let mut u = g[k * m..(k + 1) * m].to_vec();
        let mut w = v[k * n..(k + 1) * n].to_vec();
        if lengths[k].is_exact_zero() {
            u = beside(&left, m);
        } else {
            let inverse = S::from_real(<T as Scalar>::recip(&lengths[k]));
            u.iter_mut().for_each(|x| *x *= inverse.clone());
        }
        turn(&mut w, &mut u);
        values.push(lengths[k].clone());
        left.extend(u);
        right.extend(w);
    }
    for _ in n..all {
        let next = beside(&left, m);
        left.extend(next);
    }
    Some(SvdFactors { values, left, right })
}

/// Returns a unit vector that is orthogonal to some of length m that lie one after the other, fewer
/// than m.
fn beside<T: Real, S: Scalar<Real = T>>(vectors: &[S], m: usize) -> Vec<S> {
    // Of the axes that which is least among them: some part of it is left.
    let within = |k: usize| T::sum(vectors.chunks_exact(m).map(|v| v[k].abs2()));
    let shares: Vec<T> = (0..m).map(within).collect();
    let axis = sorted(&shares, Ordering::Less)[0];
    let mut vector: Vec<S> = (0..m).map(|k| if k == axis { S::one() } else { S::zero() }).collect();
    for _ in 0..2 {
        for v in vectors.chunks_exact(m) {
            let dot = S::sum(v.iter().zip(&vector).map(|(v, x)| v.conj() * x));
            vector.iter_mut().zip(v).for_each(|(x, v)| *x -= v.clone() * &dot);
        }
        let length = <T as Scalar>::sqrt(&T::sum(vector.iter().map(S::abs2)));
        let inverse = S::from_real(<T as Scalar>::recip(&length));
        vector.iter_mut().for_each(|x| *x *= inverse.clone());
    }
    vector
}

/// Places in the order of the numbers there, equal ones in their order.
fn sorted<T: Real>(numbers: &[T], first: Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    let compared = |i: usize, j: usize| match numbers[i].try_cmp(&numbers[j]) {
        Ok(Some(Ordering::Equal)) | Ok(None) | Err(_) => Ordering::Equal,
        Ok(Some(found)) if found == first => Ordering::Less,
        Ok(Some(_)) => Ordering::Greater,
    };
    order.sort_by(|&i, &j| compared(i, j));
    order
}

/// Makes the first of the greatest elements of a vector real and positive, and turns another one
/// with it.
fn turn<T: Real, S: Scalar<Real = T>>(vector: &mut [S], other: &mut [S]) {
    let sizes: Vec<T> = vector.iter().map(S::abs2).collect();
    let Some(greatest) = sorted(&sizes, Ordering::Greater).first().map(|&k| &sizes[k]) else {
        return;
    };
    let near = greatest.clone() * T::lit(NEAR_GREATEST);
    let Some(k) = sizes.iter().position(|s| !is_greater(&near, s)) else { return };
    let modulus = <T as Scalar>::sqrt(&sizes[k]);
    let phase = vector[k].conj() * S::from_real(<T as Scalar>::recip(&modulus));
    vector.iter_mut().chain(other).for_each(|x| *x *= phase.clone());
    vector[k] = S::from_real(modulus);
}
