//! Array registers of one kind of element, and buffers to be used again.
//!
//! Arrays share their elements until one is written. Whatever nobody shares any more comes back as a spare
//! buffer, so a program that is run again finds the memory of its last run.

use std::sync::Arc;

use crate::array::Array;

/// An array in a register or on a tape; `None` is the empty one.
pub(super) type Held<T> = Option<Arc<Array<T>>>;

/// How many spare buffers are kept before those that are too short grow.
const MANY: usize = 64;

/// Array registers of all calls, one after the other.
#[derive(Debug)]
pub(super) struct ArrayBank<T> {
    registers: Vec<Held<T>>,
    /// Each with the number of elements that it has room for.
    spare: Vec<(usize, Arc<Array<T>>)>,
}

impl<T: Clone> ArrayBank<T> {
    pub(super) fn new() -> ArrayBank<T> {
        ArrayBank { registers: Vec::new(), spare: Vec::new() }
    }

    /// The bytes of the registers and of all arrays in them and kept for later; those that share one count it once each.
    pub(super) fn memory(&self) -> usize {
        let arrays = self.registers.iter().flatten().map(|a| a.capacity());
        let elements: usize = arrays.chain(self.spare.iter().map(|s| s.0)).sum();
        self.registers.capacity() * size_of::<Held<T>>()
            + self.spare.capacity() * size_of::<(usize, Held<T>)>()
            + elements * size_of::<T>()
    }

    /// Makes room for `len` registers.
    pub(super) fn grow(&mut self, len: usize) {
        if self.registers.len() < len {
            self.registers.resize(len, None);
        }
    }

    pub(super) fn items(&self, reg: usize) -> &[T] {
        items(&self.registers[reg])
    }

    /// The array in a register: taken out of it if it is read for the last time.
    pub(super) fn read(&mut self, reg: usize, last: bool) -> Held<T> {
        if last { self.registers[reg].take() } else { self.registers[reg].clone() }
    }

    pub(super) fn get(&self, reg: usize) -> Held<T> {
        self.registers[reg].clone()
    }

    pub(super) fn store(&mut self, reg: usize, array: Held<T>) {
        let old = std::mem::replace(&mut self.registers[reg], array);
        self.recycle(old);
    }

    /// An empty array that nobody shares, for about `len` elements.
    pub(super) fn fresh(&mut self, len: usize) -> Arc<Array<T>> {
        let mut array = self.stale(len);
        Arc::make_mut(&mut array).as_vec().clear();
        array
    }

    /// As [`fresh`](ArrayBank::fresh), but with whatever was left in it: the spare buffer that fits best. If none does,
    /// a new one, so that the same program run again finds each size that it needs; of many, the largest grows.
    pub(super) fn stale(&mut self, len: usize) -> Arc<Array<T>> {
        let room = |k: &usize| self.spare[*k].0;
        let all = 0..self.spare.len();
        // Of equal ones the last, which is still in the caches.
        let fits = all.clone().rev().filter(|k| room(k) >= len).min_by_key(room);
        match fits.or_else(|| all.max_by_key(room).filter(|_| self.spare.len() >= MANY)) {
            Some(k) => self.spare.swap_remove(k).1,
            None => Arc::new(Array::from(Vec::with_capacity(len))),
        }
    }

    /// The array, not shared: a copy if it is.
    pub(super) fn own(&mut self, array: Held<T>) -> Arc<Array<T>> {
        let Some(mut array) = array else { return self.fresh(0) };
        if Arc::get_mut(&mut array).is_some() {
            return array;
        }
        let mut copy = self.fresh(array.len());
        Arc::make_mut(&mut copy).copy_from(&array);
        copy
    }

    /// Keeps the memory of an array that nobody shares.
    pub(super) fn recycle(&mut self, array: Held<T>) {
        let Some(mut array) = array.filter(|array| Arc::strong_count(array) == 1) else { return };
        // Numbers with memory of their own give it back. (To ask for the right to change others costs as much as a small
        // loop.)
        if std::mem::needs_drop::<T>() {
            match Arc::get_mut(&mut array) {
                Some(elements) => elements.as_vec().clear(),
                None => return,
            }
        }
        self.spare.push((array.capacity(), array));
    }

    /// Puts an array back into the register that it was taken out of, or keeps its memory.
    pub(super) fn give_back(&mut self, reg: Option<usize>, array: Held<T>) {
        match reg {
            Some(reg) => self.registers[reg] = array,
            None => self.recycle(array),
        }
    }

    /// Lets go of the arrays in a stretch of registers.
    pub(super) fn clear(&mut self, range: std::ops::Range<usize>) {
        for reg in range {
            self.store(reg, None);
        }
    }

    /// Hands an array out.
    pub(super) fn hand_out(&mut self, reg: usize, last: bool) -> Arc<Array<T>> {
        match self.read(reg, last) {
            Some(array) => array,
            None => self.fresh(0),
        }
    }
}

pub(super) fn items<T>(array: &Held<T>) -> &[T] {
    array.as_ref().map_or(&[], |array| array.items())
}
