//! Numbers that start at a cache line, so that no register crosses one.
#![expect(unsafe_code, reason = "views cache lines as numbers")]

use std::{marker::PhantomData, slice};

use crate::{kernel::SimdFloat, plan::BinaryAngle};

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

/// A vector of numbers that is aligned to 64 bytes.
pub(super) struct Buffer<E> {
    lines: Vec<CacheLine>,
    len: usize,
    element: PhantomData<E>,
}

impl<E: SimdFloat> Buffer<E> {
    pub(super) fn zeros(len: usize) -> Buffer<E> {
        // A register may be read beyond the end of a short table.
        let lines = (len * size_of::<E>()).div_ceil(64);
        Buffer { lines: vec![CacheLine([0; 64]); lines.max(1)], len, element: PhantomData }
    }

    /// Takes a buffer of this length, with arbitrary content; from memory that has been used
    /// before, if there is some.
    pub(super) fn reused(len: usize, pool: &mut TileBuffers<E>) -> Buffer<E> {
        match pool.buffers.pop() {
            Some(Buffer { mut lines, .. }) => {
                lines.resize((len * size_of::<E>()).div_ceil(64).max(1), CacheLine([0; 64]));
                Buffer { lines, len, element: PhantomData }
            }
            None => Buffer::zeros(len),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn as_ptr(&self) -> *const E {
        self.lines.as_ptr().cast()
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut E {
        self.lines.as_mut_ptr().cast()
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [E] {
        // SAFETY: the lines hold at least `len` numbers, any bytes are a float (`SimdFloat` is
        // sealed: f32 and f64), and the borrow is unique.
        unsafe { slice::from_raw_parts_mut(self.as_mut_ptr(), self.len) }
    }
}

/// Buffers that are no longer needed. New memory comes from the system page by page, which takes
/// longer than filling it.
pub(in crate::plan) struct TileBuffers<E> {
    buffers: Vec<Buffer<E>>,
    angles: Vec<BinaryAngle>,
}

impl<E> Default for TileBuffers<E> {
    fn default() -> TileBuffers<E> {
        TileBuffers { buffers: Vec::new(), angles: Vec::new() }
    }
}

impl<E: SimdFloat> TileBuffers<E> {
    pub(in crate::plan) fn new() -> TileBuffers<E> {
        TileBuffers::default()
    }

    pub(super) fn release(&mut self, buffer: Buffer<E>) {
        self.buffers.push(buffer);
    }

    /// Returns room for this number of angles, with arbitrary content.
    pub(super) fn angles(&mut self, len: usize) -> &mut [BinaryAngle] {
        if self.angles.len() < len {
            self.angles.resize(len, BinaryAngle::ZERO);
        }
        &mut self.angles[..len]
    }
}
