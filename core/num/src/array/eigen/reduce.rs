//! A Hermitian matrix by reflections to a real tridiagonal one, and vectors back.
//!
//! ```text
//! T = Q^H A Q,  Q = H_(n-1) … H_1,  H_i = 1 - t u u^H on the first i places
//! ```
//!
//! `H_i` makes row `i` zero but for its last two elements; those above it change by
//! `A - u w^H - w u^H`. That is put off until the next reflection needs the product `A u`, so each
//! step goes once over the rows that are left, from left to right. Only the lower triangle is read.
//! Source: Golub and Van Loan, *Matrix Computations*, section 8.3.1.

use crate::scalar::{Real, Scalar, WideLoop, wide};

/// Sums are taken in as many columns, so that none waits for the one before.
pub(in crate::array) const COLUMNS: usize = 16;
/// Vectors that go through all reflections together stay in the first cache.
const TOGETHER: usize = 4;

/// A matrix reduced to tridiagonal form.
pub(super) struct Reduced<F> {
    /// The diagonal.
    pub(super) diagonal: Vec<f64>,
    /// Subdiagonal: element `k` between `k` and `k + 1`; the last one is 0.
    pub(super) beside: Vec<f64>,
    /// Row `i` begins with the `i` elements of `u`.
    rows: Vec<F>,
    /// The `t` of each reflection.
    factors: Vec<F>,
}

impl<F: Scalar<Real = f64> + Copy> Reduced<F> {
    /// Reduces a matrix of order `n` whose elements are of size 1 or less. 4/3 n^3 operations.
    pub(super) fn new(n: usize, rows: Vec<F>) -> Reduced<F> {
        let mut reduced = Reduced {
            diagonal: vec![0.0; n],
            beside: vec![0.0; n],
            rows,
            factors: vec![F::zero(); n],
        };
        wide::<f64, _>(Reduce(&mut reduced));
        reduced
    }

    /// Replaces vectors, one after the other, by `Q` times them. 2 n^2 operations each.
    pub(super) fn back(&self, vectors: &mut [F]) {
        wide::<f64, _>(BackTransform(self, vectors));
    }
}

struct Reduce<'a, F>(&'a mut Reduced<F>);

impl<F: Scalar<Real = f64> + Copy> WideLoop for Reduce<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Reduced { diagonal, beside, rows, factors } = self.0;
        let n = diagonal.len();
        // Pending update of the last reflection: `w`, and whether there was one.
        let (mut w, mut next) = (vec![F::zero(); n], vec![F::zero(); n]);
        let mut is_late = false;
        let none = vec![F::zero(); n];
        for i in (0..n).rev() {
            let (above, below) = rows.split_at_mut(i * n);
            let (row, below) = below.split_at_mut(n);
            let old: &[F] = if is_late { &below[..=i] } else { &none[..=i] };
            if is_late {
                let (wi, ui) = (w[i], old[i]);
                for k in 0..=i {
                    row[k] -= wi * old[k].conj() + ui * w[k].conj();
                }
            }
            diagonal[i] = row[i].re();
            if i == 0 {
                break;
            }
            let (element, t) = reflection(&mut row[..i]);
            beside[i - 1] = element;
            factors[i] = t;
            let is_new = !t.is_exact_zero();
            if !is_new && !is_late {
                continue;
            }
            let u: &[F] = if is_new { &row[..i] } else { &none[..i] };
            next[..i].fill(F::zero());
            for (r, line) in above.chunks_exact_mut(n).enumerate() {
                let (left, right) = line.split_at_mut(r);
                let own = F::from_real(right[0].re() - 2.0 * (w[r] * old[r].conj()).re());
                right[0] = own;
                let (head, tail) = next.split_at_mut(r);
                let sum = step(left, [&w[..r], &old[..r], &u[..r]], [w[r], old[r], u[r]], head);
                tail[0] += sum + own * u[r];
            }
            // p = t A u, w = p - t* (u^H p) u / 2
            let p = &mut next[..i];
            p.iter_mut().for_each(|p| *p = t * *p);
            let half = F::from_real(0.5 * (t.conj() * dot(u, p)).re());
            p.iter_mut().zip(u).for_each(|(p, u)| *p -= half * *u);
            std::mem::swap(&mut w, &mut next);
            is_late = is_new;
        }
    }
}

/// Changes the elements left of the diagonal in a row by the last reflection, then counts them in
/// `A u`: the sum of the row times `u` is given back, and what its conjugates add to the places
/// above goes to `head`.
#[inline(always)]
fn step<F: Scalar<Real = f64> + Copy>(
    row: &mut [F],
    [w, old, u]: [&[F]; 3],
    [wr, ur, own]: [F; 3],
    head: &mut [F],
) -> F {
    let mut sums = [F::zero(); COLUMNS];
    let each = |x: &mut F, w: F, old: F, u: F, p: &mut F, sum: &mut F| {
        *x -= wr * old.conj() + ur * w.conj();
        *sum += *x * u;
        *p += x.conj() * own;
    };
    let (lines, few) = row.as_chunks_mut::<COLUMNS>();
    let (ps, p_few) = head.as_chunks_mut::<COLUMNS>();
    let [(ws, w_few), (olds, old_few), (us, u_few)] = [w, old, u].map(|x| x.as_chunks::<COLUMNS>());
    for ((((x, w), old), u), p) in lines.iter_mut().zip(ws).zip(olds).zip(us).zip(ps) {
        for k in 0..COLUMNS {
            each(&mut x[k], w[k], old[k], u[k], &mut p[k], &mut sums[k]);
        }
    }
    for (k, x) in few.iter_mut().enumerate() {
        each(x, w_few[k], old_few[k], u_few[k], &mut p_few[k], &mut sums[k]);
    }
    total(sums)
}

/// Returns the reflection that leaves a row `x` its last element alone: that element, real, and
/// `t`. The row becomes `u`, whose last element is 1; where there is nothing to do `t` is 0.
#[inline(always)]
fn reflection<F: Scalar<Real = f64> + Copy>(x: &mut [F]) -> (f64, F) {
    let size = x.iter().fold(0.0, |m: f64, x| m.max(x.re().abs()).max(x.im().abs()));
    let scale = size.inverse_size(&0.0).unwrap_or(1.0);
    let by = F::from_real(scale);
    x.iter_mut().for_each(|x| *x *= by);
    let Some((last, others)) = x.split_last_mut() else { return (0.0, F::zero()) };
    let rest = others.iter().fold(0.0, |s, x| s + x.abs2());
    let alpha = *last;
    if rest == 0.0 && alpha.im() == 0.0 {
        return (alpha.re() / scale, F::zero());
    }
    let length = (alpha.abs2() + rest).sqrt();
    let beta = if alpha.re() < 0.0 { length } else { -length };
    let away = alpha - F::from_real(beta);
    // u = conj(x / away), t = conj(-away / beta)
    let by = away * F::from_real(1.0 / away.abs2());
    others.iter_mut().for_each(|x| *x = x.conj() * by);
    *last = F::one();
    (beta / scale, away.conj() * F::from_real(-1.0 / beta))
}

struct BackTransform<'a, F>(&'a Reduced<F>, &'a mut [F]);

impl<F: Scalar<Real = f64> + Copy> WideLoop for BackTransform<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let BackTransform(Reduced { rows, factors, .. }, vectors) = self;
        let n = factors.len();
        for block in vectors.chunks_mut((TOGETHER * n).max(1)) {
            for i in 1..n {
                let (t, u) = (factors[i], &rows[i * n..i * n + i]);
                if t.is_exact_zero() {
                    continue;
                }
                for x in block.chunks_exact_mut(n) {
                    let factor = t * dot(u, &x[..i]);
                    x[..i].iter_mut().zip(u).for_each(|(x, u)| *x -= factor * *u);
                }
            }
        }
    }
}

/// Computes `u^H x`
#[inline(always)]
pub(in crate::array) fn dot<F: Scalar<Real = f64> + Copy>(u: &[F], x: &[F]) -> F {
    let mut sums = [F::zero(); COLUMNS];
    let ((us, u_few), (xs, x_few)) = (u.as_chunks::<COLUMNS>(), x.as_chunks::<COLUMNS>());
    for (u, x) in us.iter().zip(xs) {
        for k in 0..COLUMNS {
            sums[k] += u[k].conj() * x[k];
        }
    }
    for (s, (u, x)) in sums.iter_mut().zip(u_few.iter().zip(x_few)) {
        *s += u.conj() * *x;
    }
    total(sums)
}

/// Returns the sum of all columns, by halves.
#[inline(always)]
pub(in crate::array) fn total<F: Scalar<Real = f64> + Copy>(mut sums: [F; COLUMNS]) -> F {
    let mut half = COLUMNS / 2;
    while half > 0 {
        for k in 0..half {
            let other = sums[k + half];
            sums[k] += other;
        }
        half /= 2;
    }
    sums[0]
}
