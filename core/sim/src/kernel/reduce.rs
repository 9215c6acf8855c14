//! Sums over many indices, in one fixed order.
//!
//! The indices are cut into blocks of [`BLOCK`]; each is summed from left to right, and the sums of
//! blocks are added in a balanced tree. The order depends on the number of indices only, so one
//! thread and many give the same bits, and the rounding error grows with the logarithm of the
//! number of blocks instead of with the number of terms.

use std::ops::Range;

use super::{SERIAL_BELOW, Threads};

/// The number of indices that are summed in one piece.
pub const BLOCK: usize = 1 << 11;

/// Returns the sum over `0..n` of what `block` gives for each part of it, which is at most
/// [`BLOCK`] long.
pub fn tree_sum<T: Send>(
    n: usize,
    threads: &Threads,
    block: impl Fn(Range<usize>) -> T + Sync + Send,
    add: impl Fn(T, T) -> T,
) -> T {
    let blocks = n.div_ceil(BLOCK).max(1);
    let part = |k: usize| block(k * BLOCK..((k + 1) * BLOCK).min(n));
    let sums =
        if n >= SERIAL_BELOW { threads.map(blocks, part) } else { (0..blocks).map(part).collect() };
    tree(sums, &add)
}

/// Adds neighbours until one value is left; there must be one.
pub(super) fn tree<T>(mut values: Vec<T>, add: &impl Fn(T, T) -> T) -> T {
    while values.len() > 1 {
        let mut rest = values.into_iter();
        let mut next = Vec::with_capacity(rest.len().div_ceil(2));
        while let Some(a) = rest.next() {
            next.push(match rest.next() {
                Some(b) => add(a, b),
                None => a,
            });
        }
        values = next;
    }
    match values.pop() {
        Some(sum) => sum,
        None => unreachable!("there is at least one block"),
    }
}
