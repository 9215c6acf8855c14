//! The Walsh-Hadamard transform.

use std::ops::{Add, Neg, Sub};

/// Replaces `f(x)` by `sum_y (-1)^{x.y} f(y)`. O(n log n).
#[inline(always)]
#[doc(hidden)]
pub fn walsh_hadamard<T: Copy + Add<Output = T> + Sub<Output = T>>(f: &mut [T]) {
    walsh_hadamard_from(f, 1);
}

/// Transforms over the bits of an index from that of value `first` on, separately for each value of
/// the bits below it.
#[inline(always)]
pub(crate) fn walsh_hadamard_from<T: Copy + Add<Output = T> + Sub<Output = T>>(
    f: &mut [T],
    first: usize,
) {
    let mut half = first;
    while half < f.len() {
        for block in f.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            // By index: an iterator may end up as a function that is compiled without the wide
            // registers.
            for i in 0..low.len().min(high.len()) {
                (low[i], high[i]) = (low[i] + high[i], low[i] - high[i]);
            }
        }
        half *= 2;
    }
}

/// Writes `sum_k c_k (-1)^{x.z_k}` for few terms (z_k, c_k): the low bits term by term, in runs
/// that fill registers, the high ones by the transform.
#[inline(always)]
#[doc(hidden)]
pub fn signed_sum<T>(out: &mut [T], terms: impl Iterator<Item = (usize, T)>)
where
    T: Copy + Default + Add<Output = T> + Sub<Output = T> + Neg<Output = T>,
{
    const LOW: usize = 64;
    let low = LOW.min(out.len());
    out.fill(T::default());
    for (z, c) in terms {
        let mut signs = [c; LOW];
        let mut half = 1;
        while half < low {
            let (from, to) = signs.split_at_mut(half);
            let flip = z & half != 0;
            for i in 0..half {
                to[i] = if flip { -from[i] } else { from[i] };
            }
            half *= 2;
        }
        let row = &mut out[z / low * low..][..low];
        for i in 0..row.len() {
            row[i] = row[i] + signs[i];
        }
    }
    walsh_hadamard_from(out, low);
}
