//! The singular values and vectors of a real upper bidiagonal matrix: implicit QR.
//!
//! The matrix falls into blocks where the superdiagonal is negligible beside the least
//! singular value that the block may have. A block is worked on towards its end with the smaller
//! element of the diagonal, in the mirror if that is the first one. Where a shift would cost small
//! singular values their digits, the step is done without, in products and quotients alone; so each
//! comes out to within rounding of itself, however small it is. Source: Demmel and Kahan, *Accurate
//! singular values of bidiagonal matrices* (1990).

use super::super::eigen::{GivensRotation, RotatedVectors, rotation};

/// Steps for each singular value of a block at most; two are usual, more where they go without
/// shifts.
const STEPS: usize = 200;
/// Elements above the diagonal so small beside what they could change are zero: a few rounding
/// errors.
const SMALL: f64 = 4.0 * f64::EPSILON;
/// Bound on the loss by a shift: it costs the least singular value as many rounding errors as it is
/// smaller than the greatest: this many at most for each row.
const LOST: f64 = 64.0;
/// Elements so small beside those of size 1 are zero.
const NEGLIGIBLE: f64 = 1e-250;

/// Puts the singular values in the place of the diagonal `d`, in no order, and gives the left and
/// the right singular vectors in the same; a value may be negative. `e[k]` is above `k + 1`.
/// `None` where it does not converge.
pub(super) fn diagonalize(d: &mut [f64], e: &mut [f64]) -> Option<[RotatedVectors; 2]> {
    let n = d.len();
    let [mut left, mut right] = [RotatedVectors::unit(n), RotatedVectors::unit(n)];
    let mut steps = STEPS * n;
    let mut last = n.saturating_sub(1);
    // The block that was worked on, and whether in the mirror: so are its parts.
    let mut worked = (n, 0, false);
    while last > 0 {
        let first = (0..last).rev().find(|&k| e[k] == 0.0).map_or(0, |k| k + 1);
        if first == last {
            last -= 1;
            continue;
        }
        steps = steps.checked_sub(1)?;
        let (block, beside) = (&mut d[first..=last], &mut e[first..last]);
        if first > worked.1 || last < worked.0 {
            worked.2 = block[0].abs() < block[block.len() - 1].abs();
        }
        let is_mirrored = worked.2;
        worked = (first, last, is_mirrored);
        let mirror = |d: &mut [f64], e: &mut [f64]| {
            if is_mirrored {
                d.reverse();
                e.reverse();
            }
        };
        mirror(block, beside);
        if let Some(shift) = shift(block, beside) {
            let len = block.len();
            step(block, beside, shift, |k, l, r| {
                if is_mirrored {
                    // Transposed and reversed: the right vectors become the left ones.
                    let turn = |(cos, sin)| GivensRotation { k: first + len - 2 - k, cos, sin };
                    left.push(turn(r));
                    right.push(turn(l));
                } else {
                    left.push(GivensRotation { k: first + k, cos: l.0, sin: -l.1 });
                    right.push(GivensRotation { k: first + k, cos: r.0, sin: -r.1 });
                }
            });
        }
        mirror(block, beside);
    }
    left.apply_pending();
    right.apply_pending();
    Some([left, right])
}

/// Returns the shift for the next step; `None` where some element is negligible, which then becomes
/// zero.
fn shift(d: &[f64], e: &mut [f64]) -> Option<f64> {
    let last = d.len() - 1;
    let greatest = d.iter().chain(e.iter()).fold(0.0, |m: f64, x| m.max(x.abs()));
    // Not more than about the least singular value of the rows up to some one.
    let mut least = d[0].abs();
    let mut bound = least;
    for k in 0..last {
        if e[k].abs() <= SMALL * bound || e[k].abs() <= NEGLIGIBLE {
            e[k] = 0.0;
            return None;
        }
        bound = d[k + 1].abs() * (bound / (bound + e[k].abs()));
        least = least.min(bound);
    }
    if e[last - 1].abs() <= SMALL * d[last].abs() {
        e[last - 1] = 0.0;
        return None;
    }
    let shift = least_of_two(d[last - 1], e[last - 1], d[last]);
    let ratio = shift / d[0].abs();
    let is_lost = least * d.len() as f64 * LOST <= greatest;
    Some(if is_lost || ratio * ratio <= f64::EPSILON { 0.0 } else { shift })
}

/// Returns the lesser singular value of `[[f, g], [0, h]]`.
fn least_of_two(f: f64, g: f64, h: f64) -> f64 {
    let (f, g, h) = (f.abs(), g.abs(), h.abs());
    let (low, high) = (f.min(h), f.max(h));
    if low == 0.0 {
        return 0.0;
    }
    let (sum, difference) = (1.0 + low / high, (high - low) / high);
    if g <= high {
        let square = (g / high) * (g / high);
        2.0 * low / ((sum * sum + square).sqrt() + (difference * difference + square).sqrt())
    } else {
        let ratio = high / g;
        let [a, b] = [sum * ratio, difference * ratio];
        2.0 * (low * ratio) / ((1.0 + a * a).sqrt() + (1.0 + b * b).sqrt())
    }
}

/// Performs a step of implicit QR on a block, from its first element on. `turn` is given where, and
/// the cosines and sines of the rotations on the left and on the right.
fn step(
    d: &mut [f64],
    e: &mut [f64],
    shift: f64,
    mut turn: impl FnMut(usize, (f64, f64), (f64, f64)),
) {
    let last = d.len() - 1;
    if shift == 0.0 {
        let (mut cos, mut old) = (1.0, (1.0, 0.0));
        for k in 0..last {
            let (c, s, r) = rotation(d[k] * cos, e[k]);
            if k > 0 {
                e[k - 1] = old.1 * r;
            }
            let (a, b, element) = rotation(old.0 * r, d[k + 1] * s);
            (cos, old, d[k]) = (c, (a, b), element);
            turn(k, old, (c, s));
        }
        let h = d[last] * cos;
        (d[last], e[last - 1]) = (h * old.0, h * old.1);
        return;
    }
    let mut f = (d[0].abs() - shift) * (1f64.copysign(d[0]) + shift / d[0]);
    let mut g = e[0];
    for k in 0..last {
        let (cr, sr, r) = rotation(f, g);
        if k > 0 {
            e[k - 1] = r;
        }
        f = cr * d[k] + sr * e[k];
        e[k] = cr * e[k] - sr * d[k];
        g = sr * d[k + 1];
        d[k + 1] *= cr;
        let (cl, sl, r) = rotation(f, g);
        d[k] = r;
        f = cl * e[k] + sl * d[k + 1];
        d[k + 1] = cl * d[k + 1] - sl * e[k];
        if k + 1 < last {
            g = sl * e[k + 1];
            e[k + 1] *= cl;
        }
        turn(k, (cl, sl), (cr, sr));
    }
    e[last - 1] = f;
}
