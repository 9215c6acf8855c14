//! Shared access to disjoint parts of one vector.
//!
//! A gate on arbitrary targets works on 2^k slices that interleave across the whole vector, and
//! threads work on different ones at once. Splitting into slices by `split_at_mut` cannot express
//! that, so this one file holds a pointer and hands out slices on the caller's word that they do
//! not overlap.
#![expect(unsafe_code, reason = "targets interleave: no safe split of the vector exists")]

use std::{marker::PhantomData, slice};

/// A mutable slice that several threads may take disjoint parts of.
pub(super) struct Disjoint<'a, R> {
    start: *mut R,
    len: usize,
    borrow: PhantomData<&'a mut [R]>,
}

// SAFETY: a `Disjoint` gives out `&mut [R]` to parts that its users promise to be disjoint (see
// `part`), so sharing it is sending those parts, which `R: Send` allows.
unsafe impl<R: Send> Sync for Disjoint<'_, R> {}

impl<'a, R> Disjoint<'a, R> {
    pub(super) fn new(whole: &'a mut [R]) -> Disjoint<'a, R> {
        Disjoint { start: whole.as_mut_ptr(), len: whole.len(), borrow: PhantomData }
    }

    /// Returns the part of `length` elements from `start`.
    ///
    /// # Safety
    /// `start + length` is at most the length of the whole, and no two parts that are alive at the
    /// same time overlap, on any threads.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "disjointness is the caller's promise")]
    pub(super) unsafe fn part(&self, start: usize, length: usize) -> &mut [R] {
        debug_assert!(start + length <= self.len);
        // SAFETY: the caller promises that the part lies within the whole, whose borrow `self`
        // holds, and that no other part overlaps it.
        unsafe { slice::from_raw_parts_mut(self.start.add(start), length) }
    }
}
