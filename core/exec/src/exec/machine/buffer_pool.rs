//! Buffers for arrays, to be used again, found by their size.
//!
//! Sizes are in classes: exact up to 32 elements, and sixteen to an octave beyond, so a buffer is
//! at most 1/16 larger than it need be. A buffer is found in a few steps, however many there are: a
//! long trace leaves one for each iteration.

use std::sync::Arc;

use crate::array::Array;

use super::memory_budget::array_bytes;

/// Sizes up to here have classes of their own.
const EXACT: usize = 32;

/// Binary digits of a class's size after the first.
const DIGITS: u32 = 4;

/// Maximum ratio of the capacity of a buffer to the elements that it is used for, unless it is
/// small.
const WASTE: usize = 4;
const SMALL: usize = 256;

/// Buffers of one kind of element.
#[derive(Debug)]
pub(super) struct BufferPool<T> {
    /// Buffers of each class, most recently used last.
    classes: Vec<Vec<Arc<Array<T>>>>,
    /// Bit set of the classes that have any.
    filled: Vec<u64>,
    len: usize,
    bytes: usize,
}

impl<T> BufferPool<T> {
    pub(super) fn new() -> BufferPool<T> {
        BufferPool { classes: Vec::new(), filled: Vec::new(), len: 0, bytes: 0 }
    }

    /// Returns the number of buffers.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the bytes of the buffers.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Keeps a buffer.
    pub(super) fn insert(&mut self, array: Arc<Array<T>>) {
        let class = class_within(array.capacity());
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Vec::new);
            self.filled.resize(class / 64 + 1, 0);
        }
        self.classes[class].push(array);
        self.filled[class / 64] |= 1 << (class % 64);
        self.len += 1;
        self.bytes += class_bytes::<T>(class);
    }

    /// Returns the smallest buffer for `len` elements, if it is not far too large: the result may
    /// be kept for the reverse pass, and its buffer with it.
    pub(super) fn take_best_fit(&mut self, len: usize) -> Option<Arc<Array<T>>> {
        let least = class_for(len);
        let (word, bits) = (least / 64, u64::MAX << (least % 64));
        let first = self.filled.get(word)? & bits;
        let rest = self.filled[word + 1..].iter().zip(word + 1..);
        let mut words =
            std::iter::once((first, word)).chain(rest.map(|(&bits, word)| (bits, word)));
        let (bits, word) = words.find(|(bits, _)| *bits != 0)?;
        let class = word * 64 + bits.trailing_zeros() as usize;
        let most = class_for(len.saturating_mul(WASTE).max(SMALL));
        if class <= most { self.pop(class) } else { None }
    }

    /// Takes a buffer of the class of one for `capacity` elements, or a larger one.
    pub(super) fn take_like(&mut self, capacity: usize) -> Option<Arc<Array<T>>> {
        self.take_best_fit(class_len(class_within(capacity)))
    }

    /// Takes the largest buffer.
    pub(super) fn take_largest(&mut self) -> Option<Arc<Array<T>>> {
        let (word, bits) = self.filled.iter().enumerate().rfind(|(_, bits)| **bits != 0)?;
        self.pop(word * 64 + bits.ilog2() as usize)
    }

    fn pop(&mut self, class: usize) -> Option<Arc<Array<T>>> {
        let array = self.classes[class].pop()?;
        if self.classes[class].is_empty() {
            self.filled[class / 64] &= !(1 << (class % 64));
        }
        self.len -= 1;
        self.bytes -= class_bytes::<T>(class);
        Some(array)
    }
}

/// Returns the bytes that a buffer for `len` elements counts for.
pub(super) fn buffer_bytes<T>(len: usize) -> usize {
    class_bytes::<T>(class_for(len))
}

/// Returns the capacity of a new buffer for `len` elements.
pub(super) fn buffer_len(len: usize) -> usize {
    class_len(class_for(len))
}

fn class_bytes<T>(class: usize) -> usize {
    array_bytes::<T>(class_len(class))
}

/// Returns the class of the largest size of at most `n`.
fn class_within(n: usize) -> usize {
    if n < EXACT {
        return n;
    }
    let octave = n.ilog2() - EXACT.ilog2();
    EXACT
        + ((octave as usize) << DIGITS)
        + ((n >> (octave + EXACT.ilog2() - DIGITS)) & ((1 << DIGITS) - 1))
}

/// Returns the class of the smallest size of at least `n`.
fn class_for(n: usize) -> usize {
    let class = class_within(n);
    class + usize::from(class_len(class) < n)
}

fn class_len(class: usize) -> usize {
    if class < EXACT {
        return class;
    }
    let (octave, digits) = ((class - EXACT) >> DIGITS, (class - EXACT) & ((1 << DIGITS) - 1));
    ((1 << DIGITS) + digits) << (octave as u32 + EXACT.ilog2() - DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_in_order_and_close() {
        for n in
            (0..100_000).chain((17..50).flat_map(|k| [(1usize << k) - 1, 1 << k, (1 << k) + 1]))
        {
            let (below, above) = (class_len(class_within(n)), class_len(class_for(n)));
            assert!(below <= n && n <= above, "{n}: {below} to {above}");
            assert!(above - below <= n / 16 && above <= n + n / 16, "{n}: {below} to {above}");
            assert_eq!((class_within(above), class_for(above)), (class_for(n), class_for(n)));
        }
    }

    #[test]
    fn the_smallest_that_fits_is_found() {
        let mut spare = BufferPool::<f64>::new();
        let sizes = [0, 3, 31, 32, 33, 100, 1000, 1 << 20];
        let of = |n: usize| Arc::new(Array::from(Vec::with_capacity(buffer_len(n))));
        for _ in 0..3 {
            sizes.iter().for_each(|&n| spare.insert(of(n)));
        }
        assert_eq!(spare.bytes(), 3 * sizes.iter().map(|&n| buffer_bytes::<f64>(n)).sum::<usize>());
        assert_eq!(spare.take_best_fit(34).map(|a| a.capacity()), Some(34));
        assert_eq!(spare.take_best_fit(1001).map(|a| a.capacity()), Some(1024));
        assert!(spare.take_best_fit(1025).is_none());
        assert_eq!(spare.take_best_fit(1 << 18).map(|a| a.capacity()), Some(1 << 20));
        assert!(spare.take_best_fit((1 << 20) + 1).is_none());
        assert_eq!(spare.take_like(1050).map(|a| a.capacity()), Some(1024));
        assert_eq!(spare.take_largest().map(|a| a.capacity()), Some(1 << 20));
        assert_eq!(spare.len(), 3 * sizes.len() - 5);
        while spare.take_largest().is_some() {}
        assert_eq!((spare.len(), spare.bytes()), (0, 0));
    }
}
