//! The Walsh-Hadamard transform.

/// Replaces `f(x)` by `sum_y (-1)^{x.y} f(y)`. O(n log n).
#[inline(always)]
pub(crate) fn walsh_hadamard(f: &mut [f64]) {
    let mut half = 1;
    while half < f.len() {
        for block in f.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            // By index: an iterator may end up as a function that is compiled without the wide registers.
            for i in 0..low.len().min(high.len()) {
                (low[i], high[i]) = (low[i] + high[i], low[i] - high[i]);
            }
        }
        half *= 2;
    }
}
