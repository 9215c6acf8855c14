//! Microkernel for products of narrow matrices of floats: a few rows and columns of the result at a
//! time, in registers.
//!
//! A product in blocks that fit the caches pays for copying its factors; here only a panel of 16
//! columns of the second factor is packed. Each number of a result is a sum along `k`, 64 terms at
//! a time, by fused multiply-add (processors without that use another algorithm).

use crate::scalar::{WideLoop, fused, wide};

use super::product::Sides;

/// Rows of the result at a time; of wide ones twice as many, if there are enough.
const ROWS: usize = 4;
/// Rows of the second factor that are copied at a time.
const PANEL: usize = 64;

/// Returns true if a product `m x k` by `k x n` is computed here.
pub(super) fn is_narrow((m, k, n): (usize, usize, usize), sides: Sides) -> bool {
    let few = match sides {
        Sides::First => m <= PANEL && n <= PANEL,
        _ => n <= 16 || k.max(n) <= PANEL,
    };
    few && k > 0 && fused()
}

/// `c = a b`, all row-major; one of the factors may be transposed.
pub(super) struct Narrow<'a> {
    pub(super) a: &'a [f64],
    pub(super) b: &'a [f64],
    pub(super) c: &'a mut [f64],
    pub(super) size: (usize, usize, usize),
    pub(super) sides: Sides,
}

impl Narrow<'_> {
    /// Multiplies.
    pub(super) fn run(self) {
        if self.size.2 <= 8 {
            wide::<f64, _>(ColumnBlock::<8>(self));
        } else {
            wide::<f64, _>(ColumnBlock::<16>(self));
        }
    }
}

/// A product that takes `W` columns at a time.
struct ColumnBlock<'a, const W: usize>(Narrow<'a>);

impl<const W: usize> WideLoop for ColumnBlock<'_, W> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        match self.0.sides {
            Sides::First => first::<W>(self.0),
            _ => plain::<W>(self.0),
        }
    }
}

#[inline(always)]
fn plain<const W: usize>(product: Narrow<'_>) {
    let Narrow { a, b, c, size: (m, k, n), sides } = product;
    let mut panel = [[0.0; W]; PANEL];
    for from in (0..k).step_by(PANEL) {
        let panel = &mut panel[..PANEL.min(k - from)];
        for column in (0..n).step_by(W) {
            let count = W.min(n - column);
            for (l, row) in panel.iter_mut().enumerate() {
                for (j, x) in row[..count].iter_mut().enumerate() {
                    let (l, j) = (from + l, column + j);
                    *x = if sides == Sides::Second { b[j * k + l] } else { b[l * n + j] };
                }
            }
            let (a, c) = (&a[from..], &mut c[column..]);
            let fours = m / ROWS * ROWS;
            let eights = if W > 8 { m / (2 * ROWS) * (2 * ROWS) } else { 0 };
            for i in (0..eights).step_by(2 * ROWS) {
                rows::<W, ROWS, 2>(&a[i * k..], k, panel, &mut c[i * n..], n, count, from > 0);
            }
            for i in (eights..fours).step_by(ROWS) {
                rows::<W, ROWS, 1>(&a[i * k..], k, panel, &mut c[i * n..], n, count, from > 0);
            }
            for i in fours..m {
                rows::<W, 1, 1>(&a[i * k..], k, panel, &mut c[i * n..], n, count, from > 0);
            }
        }
    }
}

/// Computes `G` times `R` rows of the first factor times a panel, or what a panel adds to as many
/// rows of the result. Arrays of more than four rows would not stay in registers.
#[allow(clippy::too_many_arguments, reason = "the places of two matrices")]
#[inline(always)]
fn rows<const W: usize, const R: usize, const G: usize>(
    a: &[f64],
    k: usize,
    panel: &[[f64; W]],
    c: &mut [f64],
    n: usize,
    count: usize,
    more: bool,
) {
    let rows: [[&[f64]; R]; G] =
        std::array::from_fn(|g| std::array::from_fn(|r| &a[(g * R + r) * k..][..panel.len()]));
    let mut sums = [[[0.0; W]; R]; G];
    for (l, y) in panel.iter().enumerate() {
        for g in 0..G {
            let x: [f64; R] = std::array::from_fn(|r| rows[g][r][l]);
            add(&x, y, &mut sums[g]);
        }
    }
    // A copy, so that the sums themselves stay in registers.
    let done = sums;
    if !more && count == n && c.len() >= (G * R - 1) * n + W {
        // The surplus lies where the next row will be.
        for r in 0..G * R {
            if let Some(c) = c.get_mut(r * n..).and_then(|c| c.first_chunk_mut::<W>()) {
                *c = done[r / R][r % R];
            }
        }
        return;
    }
    for (r, sums) in done.as_flattened().iter().enumerate() {
        let c = &mut c[r * n..r * n + count];
        if more {
            c.iter_mut().zip(sums).for_each(|(c, s)| *c += s);
        } else {
            c.copy_from_slice(&sums[..count]);
        }
    }
}

/// The first factor is transposed: a sum of outer products of rows.
#[inline(always)]
fn first<const W: usize>(product: Narrow<'_>) {
    let Narrow { a, b, c, size: (m, k, n), .. } = product;
    for i in (0..m).step_by(ROWS) {
        for j in (0..n).step_by(W) {
            let mut sums = [[0.0; W]; ROWS];
            let (x, y) = (&a[i.min(a.len())..], &b[j.min(b.len())..]);
            // Elements that are read after the end of a row are not written; after the last ones
            // there is nothing.
            let safe = |len: usize, width: usize, step: usize| {
                len.checked_sub(width).map_or(0, |n| n / step + 1)
            };
            let whole = k.min(safe(x.len(), ROWS, m)).min(safe(y.len(), W, n));
            for l in 0..whole {
                if let (Some(x), Some(y)) =
                    (x[l * m..].first_chunk::<ROWS>(), y[l * n..].first_chunk::<W>())
                {
                    add(x, y, &mut sums);
                }
            }
            for l in whole..k {
                add(&row::<ROWS>(&x[l * m..]), &row::<W>(&y[l * n..]), &mut sums);
            }
            let (count, done) = (W.min(n - j), sums);
            for r in 0..ROWS.min(m - i) {
                c[(i + r) * n + j..][..count].copy_from_slice(&done[r][..count]);
            }
        }
    }
}

/// Returns the first numbers; zeros where there are none.
#[inline(always)]
fn row<const N: usize>(from: &[f64]) -> [f64; N] {
    let mut row = [0.0; N];
    let n = from.len().min(N);
    row[..n].copy_from_slice(&from[..n]);
    row
}

/// Adds an outer product.
#[inline(always)]
fn add<const R: usize, const W: usize>(x: &[f64; R], y: &[f64; W], sums: &mut [[f64; W]; R]) {
    for r in 0..R {
        for j in 0..W {
            sums[r][j] = x[r].mul_add(y[j], sums[r][j]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers, whose products are exact in any order; all shapes around the blocks.
    #[test]
    fn products_are_exact() {
        let whole = |n: usize, seed: usize| -> Vec<f64> {
            (0..n).map(|k| ((k * 7 + seed * 5) % 13) as f64 - 6.0).collect()
        };
        let lengths = [1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 70];
        for (m, k) in lengths.iter().flat_map(|&m| lengths.iter().map(move |&k| (m, k))) {
            for n in lengths {
                for sides in [Sides::Plain, Sides::First, Sides::Second] {
                    let (a, b) = (whole(m * k, 1), whole(k * n, 2));
                    let at = |i: usize, l: usize| {
                        if sides == Sides::First { a[l * m + i] } else { a[i * k + l] }
                    };
                    let with = |l: usize, j: usize| {
                        if sides == Sides::Second { b[j * k + l] } else { b[l * n + j] }
                    };
                    let sum = |e: usize| (0..k).map(|l| at(e / n, l) * with(l, e % n)).sum();
                    let expected: Vec<f64> = (0..m * n).map(sum).collect();
                    let mut c = vec![f64::NAN; m * n];
                    Narrow { a: &a, b: &b, c: &mut c, size: (m, k, n), sides }.run();
                    assert_eq!(c, expected, "{m} {k} {n} {sides:?}");
                }
            }
        }
    }
}
