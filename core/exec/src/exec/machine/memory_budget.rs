//! The memory that a run may use, and the work on arrays that it may do.
//!
//! Arrays are counted as they are made, by the memory that they need. They come back to the
//! machine, not to the system, so a run holds the memory that it has allocated, and the buffers
//! that it found. Numbers in registers and on tapes are counted from time to time, at backward
//! jumps, every [`CHECK_INTERVAL`] steps.

use std::sync::Arc;

use crate::array::{Array, ArrayError};

use super::super::Limits;

/// Steps between two counts of the numbers in registers and on tapes.
pub(super) const CHECK_INTERVAL: u64 = 1 << 20;

/// Memory budget of a run, in bytes, and its budget of work on elements of arrays.
#[derive(Debug, Default)]
pub(super) struct MemoryBudget {
    limit: usize,
    /// Bytes of arrays in registers, on tapes, and in buffers kept.
    arrays: usize,
    /// Bytes of numbers in registers and on tapes, when they were counted last.
    numbers: usize,
    /// Operations on elements so far, and the most of them.
    work_done: u64,
    work_limit: u64,
}

impl MemoryBudget {
    /// Begins a run that finds spare buffers of this number of bytes.
    pub(super) fn begin(&mut self, limits: &Limits, buffers: usize) {
        *self = MemoryBudget {
            limit: limits.memory,
            arrays: buffers,
            numbers: 0,
            work_done: 0,
            work_limit: limits.work,
        };
    }

    /// Counts operations on elements.
    #[inline]
    pub(super) fn work(&mut self, operations: u64) {
        self.work_done = self.work_done.saturating_add(operations);
    }

    /// Operations on elements so far.
    pub(super) fn work_done(&self) -> u64 {
        self.work_done
    }

    /// Returns the limits that are left, but for steps.
    pub(super) fn left_of(&self, limits: &Limits) -> Limits {
        let memory = limits.memory.saturating_sub(self.used());
        limits.with_work(self.work_limit.saturating_sub(self.work_done)).with_memory(memory)
    }

    /// Returns true if there were more operations on elements than the limit.
    #[inline]
    pub(super) fn is_overworked(&self) -> bool {
        self.work_done > self.work_limit
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn used(&self) -> usize {
        self.arrays.saturating_add(self.numbers)
    }

    pub(super) fn fits(&self, bytes: usize) -> bool {
        self.used().saturating_add(bytes) <= self.limit
    }

    /// Counts an array, unless it goes beyond the limit.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<(), ArrayError> {
        if !self.fits(bytes) {
            return Err(self.error(bytes));
        }
        self.add(bytes);
        Ok(())
    }

    /// Returns the error of an array of this number of bytes.
    pub(super) fn error(&self, bytes: usize) -> ArrayError {
        ArrayError::Memory { bytes, used: self.used(), limit: self.limit }
    }

    /// Counts an array that exists already.
    pub(super) fn add(&mut self, bytes: usize) {
        self.arrays = self.arrays.saturating_add(bytes);
    }

    pub(super) fn release(&mut self, bytes: usize) {
        self.arrays = self.arrays.saturating_sub(bytes);
    }

    /// Counts the numbers again; returns true if all is within the limit.
    pub(super) fn count(&mut self, numbers: usize) -> bool {
        self.numbers = numbers;
        self.fits(0)
    }
}

/// Returns the bytes of an array with this capacity.
pub(super) fn array_bytes<T>(capacity: usize) -> usize {
    // Both counts of the shared pointer come before the array.
    let head = size_of::<Arc<Array<T>>>() * 2 + size_of::<Array<T>>();
    capacity.saturating_mul(size_of::<T>()).saturating_add(head)
}
