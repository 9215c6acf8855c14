//! Array registers of one kind of element, and buffers to be used again.
//!
//! Arrays share their elements until one is written. The memory of an array that is no longer
//! shared becomes a spare buffer, so a program that is run again finds the memory of its last run.

use std::sync::Arc;

use crate::array::{Array, ArrayError, Shape};

use super::{
    buffer_pool::{BufferPool, buffer_bytes, buffer_len},
    memory_budget::{MemoryBudget, array_bytes},
};

/// An array in a register or on a tape; `None` is the empty one.
pub(super) type SharedArray<T> = Option<Arc<Array<T>>>;

/// Maximum number of spare buffers that are kept before the largest is freed for a new one.
const MAX_SPARE_BUFFERS: usize = 64;

/// Array registers of all calls, one after the other.
#[derive(Debug)]
pub(super) struct ArrayBank<T> {
    registers: Vec<SharedArray<T>>,
    pool: BufferPool<T>,
}

impl<T: Clone> ArrayBank<T> {
    pub(super) fn new() -> ArrayBank<T> {
        ArrayBank { registers: Vec::new(), pool: BufferPool::new() }
    }

    /// Returns the bytes of the registers, of all arrays in them and of spare buffers; registers
    /// that share an array count it once each.
    pub(super) fn memory(&self) -> usize {
        let arrays = self.registers.iter().flatten().map(|a| array_bytes::<T>(a.capacity()));
        self.registers.capacity() * size_of::<SharedArray<T>>()
            + arrays.sum::<usize>()
            + self.pool.bytes()
    }

    /// Returns the bytes of the spare buffers.
    pub(super) fn buffers(&self) -> usize {
        self.pool.bytes()
    }

    /// Frees the spare buffers.
    pub(super) fn release(&mut self) {
        self.pool = BufferPool::new();
    }

    /// Makes room for `len` registers.
    #[inline]
    pub(super) fn grow(&mut self, len: usize) {
        if self.registers.len() < len {
            self.registers.resize(len, None);
        }
    }

    pub(super) fn items(&self, reg: usize) -> &[T] {
        items(&self.registers[reg])
    }

    pub(super) fn shape(&self, reg: usize) -> Shape {
        self.registers[reg].as_ref().map_or_else(|| Shape::from_slice(&[0]), |a| a.shape())
    }

    /// Returns the array in a register: taken out of it if it is read for the last time.
    pub(super) fn read(&mut self, reg: usize, last: bool) -> SharedArray<T> {
        if last { self.registers[reg].take() } else { self.registers[reg].clone() }
    }

    /// Returns the address of the elements of an array, their number, and true if they may be
    /// written, which is tested only if `write` is true.
    #[cfg(feature = "jit")]
    pub(super) fn view(&mut self, reg: usize, write: bool) -> (*mut T, usize, bool) {
        let Some(array) = &mut self.registers[reg] else {
            return (std::ptr::dangling_mut(), 0, false);
        };
        match write.then(|| Arc::get_mut(array)).flatten() {
            Some(own) => (own.as_mut_ptr(), own.len(), true),
            None => (array.as_ptr().cast_mut(), array.len(), false),
        }
    }

    pub(super) fn get(&self, reg: usize) -> SharedArray<T> {
        self.registers[reg].clone()
    }

    pub(super) fn store(&mut self, reg: usize, array: SharedArray<T>) {
        let old = std::mem::replace(&mut self.registers[reg], array);
        self.recycle(old);
    }

    /// Returns an empty array that is not shared.
    pub(super) fn empty(&mut self) -> Arc<Array<T>> {
        let mut array = self.pool.take_best_fit(0).unwrap_or_default();
        Arc::make_mut(&mut array).as_vec().clear();
        array
    }

    /// Returns an empty array that is not shared, with memory for `len` elements.
    pub(super) fn fresh(
        &mut self,
        len: usize,
        budget: &mut MemoryBudget,
    ) -> Result<Arc<Array<T>>, ArrayError> {
        let mut array = self.uninitialized(len, budget)?;
        Arc::make_mut(&mut array).as_vec().clear();
        Ok(array)
    }

    /// Returns a buffer like [`fresh`](ArrayBank::fresh), but with its old contents: the spare
    /// buffer that fits best. If none does, a new one, so that the same program run again finds
    /// each size that it needs; if there are many, the largest is freed for it.
    pub(super) fn uninitialized(
        &mut self,
        len: usize,
        budget: &mut MemoryBudget,
    ) -> Result<Arc<Array<T>>, ArrayError> {
        budget.work(len as u64);
        match self.pool.take_best_fit(len) {
            Some(array) => Ok(array),
            None => self.allocate(len, budget),
        }
    }

    #[cold]
    fn allocate(
        &mut self,
        len: usize,
        budget: &mut MemoryBudget,
    ) -> Result<Arc<Array<T>>, ArrayError> {
        if self.pool.len() >= MAX_SPARE_BUFFERS
            && let Some(largest) = self.pool.take_largest()
        {
            budget.release(array_bytes::<T>(largest.capacity()));
        }
        let bytes = buffer_bytes::<T>(len);
        if !budget.fits(bytes) {
            budget.release(self.buffers());
            self.release();
        }
        if !budget.fits(bytes) {
            return Err(budget.error(array_bytes::<T>(len)));
        }
        budget.add(bytes);
        Ok(Arc::new(Array::from(Vec::with_capacity(buffer_len(len)))))
    }

    /// Returns the array, not shared: a copy if it is.
    pub(super) fn make_unique(
        &mut self,
        array: SharedArray<T>,
        budget: &mut MemoryBudget,
    ) -> Result<Arc<Array<T>>, ArrayError> {
        let Some(mut array) = array else { return Ok(self.empty()) };
        if Arc::get_mut(&mut array).is_some() {
            return Ok(array);
        }
        let mut copy = self.fresh(array.len(), budget)?;
        Arc::make_mut(&mut copy).copy_from(&array);
        Ok(copy)
    }

    /// Counts an array made elsewhere, if it is not shared. A spare buffer of its size is freed for
    /// it: else their number would grow.
    pub(super) fn adopt(
        &mut self,
        array: &Arc<Array<T>>,
        budget: &mut MemoryBudget,
    ) -> Result<(), ArrayError> {
        if Arc::strong_count(array) > 1 {
            return Ok(());
        }
        if let Some(buffer) = self.pool.take_like(array.capacity()) {
            budget.release(array_bytes::<T>(buffer.capacity()));
        }
        budget.reserve(array_bytes::<T>(array.capacity()))
    }

    /// Keeps the memory of an array that is not shared.
    pub(super) fn recycle(&mut self, array: SharedArray<T>) {
        let Some(mut array) = array.filter(|array| Arc::strong_count(array) == 1) else { return };
        // Numbers with memory of their own free it. (`Arc::get_mut` costs as much as a small loop.)
        if std::mem::needs_drop::<T>() {
            match Arc::get_mut(&mut array) {
                Some(elements) => elements.as_vec().clear(),
                None => return,
            }
        }
        self.pool.insert(array);
    }

    /// Stores an array in the register that it was moved out of, or keeps its memory.
    pub(super) fn give_back(&mut self, reg: Option<usize>, array: SharedArray<T>) {
        match reg {
            Some(reg) => self.registers[reg] = array,
            None => self.recycle(array),
        }
    }

    /// Clears all registers.
    pub(super) fn clear_all(&mut self) {
        self.clear(0..self.registers.len());
    }

    /// Clears a range of registers.
    pub(super) fn clear(&mut self, range: std::ops::Range<usize>) {
        for reg in range {
            self.store(reg, None);
        }
    }

    /// Hands an array out.
    pub(super) fn hand_out(&mut self, reg: usize, last: bool) -> Arc<Array<T>> {
        match self.read(reg, last) {
            Some(array) => array,
            None => self.empty(),
        }
    }
}

pub(super) fn items<T>(array: &SharedArray<T>) -> &[T] {
    array.as_ref().map_or(&[], |array| array.items())
}
