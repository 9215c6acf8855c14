//! Chunk of elements: the operands and results of steps for it.

use std::{ops::Range, sync::Arc};

use smallvec::SmallVec;

use crate::{
    array::{Array, ChunkSource, add_runs, sum_on},
    scalar::{Real, Scalar},
};

use super::{
    array_bank::SharedArray,
    kernel_plan::{BroadcastCursor, FusedStep, LoopOperand, ShapeKey, StepInput},
    loops::StepInputs,
};

/// An operand.
pub(super) enum KernelOperand<S: Scalar> {
    Real(S::Real),
    Complex(S),
    Int(i64),
    Reals(SharedArray<S::Real>),
    Complexes(SharedArray<S>),
    Ints(SharedArray<i64>),
}

impl<S: Scalar> KernelOperand<S> {
    /// Returns a copy; arrays are shared.
    pub(super) fn share(&self) -> KernelOperand<S> {
        match self {
            KernelOperand::Real(x) => KernelOperand::Real(x.clone()),
            KernelOperand::Complex(x) => KernelOperand::Complex(x.clone()),
            KernelOperand::Int(n) => KernelOperand::Int(*n),
            KernelOperand::Reals(array) => KernelOperand::Reals(array.clone()),
            KernelOperand::Complexes(array) => KernelOperand::Complexes(array.clone()),
            KernelOperand::Ints(array) => KernelOperand::Ints(array.clone()),
        }
    }

    /// Returns true if it is an array without memory, as an empty one may be.
    pub(super) fn is_missing(&self) -> bool {
        matches!(
            self,
            KernelOperand::Reals(None) | KernelOperand::Complexes(None) | KernelOperand::Ints(None)
        )
    }

    /// Returns true if it is an array of this kind and shape that is not shared.
    pub(super) fn is_unique(&mut self, complex: bool, shape: &[usize]) -> bool {
        fn of<E>(array: &mut SharedArray<E>, shape: &[usize]) -> bool {
            array.as_mut().and_then(Arc::get_mut).is_some_and(|a| a.is_of(shape))
        }
        match self {
            KernelOperand::Reals(array) => !complex && of(array, shape),
            KernelOperand::Complexes(array) => complex && of(array, shape),
            _ => false,
        }
    }

    /// Returns the part of it that a plan depends on.
    pub(super) fn shape_key(&self, measures: bool) -> ShapeKey {
        fn of<E>(array: &SharedArray<E>) -> ShapeKey {
            ShapeKey::Shape(
                array.as_ref().map_or_else(|| SmallVec::from_slice(&[0]), |a| a.shape()),
            )
        }
        match self {
            KernelOperand::Int(n) if measures => ShapeKey::Int(*n),
            KernelOperand::Reals(array) => of(array),
            KernelOperand::Complexes(array) => of(array),
            KernelOperand::Ints(array) => of(array),
            _ => ShapeKey::Number,
        }
    }

    /// Returns true if it matches the key that a plan was made for.
    pub(super) fn matches_key(&self, key: &ShapeKey) -> bool {
        fn of<E>(array: &SharedArray<E>, shape: &[usize]) -> bool {
            array.as_ref().map_or(shape == [0], |a| a.is_of(shape))
        }
        match (self, key) {
            (_, ShapeKey::Number) => true,
            (KernelOperand::Int(n), ShapeKey::Int(m)) => n == m,
            (KernelOperand::Reals(array), ShapeKey::Shape(shape)) => of(array, shape),
            (KernelOperand::Complexes(array), ShapeKey::Shape(shape)) => of(array, shape),
            (KernelOperand::Ints(array), ShapeKey::Shape(shape)) => of(array, shape),
            _ => false,
        }
    }
}

/// Data that steps may read of one chunk.
pub(super) struct Chunk<'a, S: Scalar> {
    pub(super) sources: &'a [LoopOperand],
    pub(super) steps: &'a [FusedStep],
    pub(super) slots: usize,
    pub(super) operands: &'a [KernelOperand<S>],
    pub(super) windows: &'a [ChunkSource],
    pub(super) reals: &'a [Vec<S::Real>],
    pub(super) complexes: &'a [Vec<S>],
    pub(super) start: usize,
    pub(super) len: usize,
}

impl<'a, S: Scalar> Chunk<'a, S> {
    /// Returns the range of the results of a step in its slot.
    #[inline]
    pub(super) fn range<E>(&self, work: &FusedStep, slot: &[E]) -> Range<usize> {
        let at = if work.is_output { self.start } else { aligned(slot) };
        at..at + self.len
    }

    #[inline]
    pub(super) fn reals(&self, place: StepInput) -> &'a [S::Real] {
        match place {
            StepInput::Step(k) => {
                let slot = &self.reals[self.steps[k].slot];
                &slot[self.range(&self.steps[k], slot)]
            }
            StepInput::Operand(k) => match &self.operands[self.sources[k].operand] {
                KernelOperand::Real(x) => std::slice::from_ref(x),
                KernelOperand::Reals(a) => {
                    chunk_of(a, self.windows[k], self.len, &self.reals[self.slots + k])
                }
                _ => &[],
            },
        }
    }

    #[inline]
    pub(super) fn complexes(&self, place: StepInput) -> &'a [S] {
        match place {
            StepInput::Step(k) => {
                let slot = &self.complexes[self.steps[k].slot];
                &slot[self.range(&self.steps[k], slot)]
            }
            StepInput::Operand(k) => match &self.operands[self.sources[k].operand] {
                KernelOperand::Complex(x) => std::slice::from_ref(x),
                KernelOperand::Complexes(a) => {
                    chunk_of(a, self.windows[k], self.len, &self.complexes[self.slots + k])
                }
                _ => &[],
            },
        }
    }
}

/// Inputs of one step.
pub(super) struct ChunkInputs<'a, 'b, S: Scalar> {
    pub(super) chunk: &'b Chunk<'a, S>,
    pub(super) from: [StepInput; 3],
}

impl<T: Real, S: Scalar<Real = T>> StepInputs<T, S> for ChunkInputs<'_, '_, S> {
    #[inline]
    fn reals(&self, k: usize) -> &[T] {
        self.chunk.reals(self.from[k])
    }
    #[inline]
    fn complexes(&self, k: usize) -> &[S] {
        self.chunk.complexes(self.from[k])
    }
    #[inline]
    fn ints(&self, k: usize) -> &[i64] {
        let StepInput::Operand(k) = self.from[k] else { return &[] };
        match &self.chunk.operands[self.chunk.sources[k].operand] {
            KernelOperand::Int(x) => std::slice::from_ref(x),
            KernelOperand::Ints(a) => chunk_of(a, self.chunk.windows[k], self.chunk.len, &[]),
            _ => &[],
        }
    }
}

/// Bytes of the widest vector register: data at a multiple of it are loaded at once.
pub(super) const VECTOR_BYTES: usize = 64;

/// Returns the first place in a slot that begins a vector register. Slots have room for it.
#[inline]
pub(super) fn aligned<E>(slot: &[E]) -> usize {
    let at = slot.as_ptr().align_offset(VECTOR_BYTES);
    if at < VECTOR_BYTES { at } else { 0 }
}

#[inline]
fn chunk_of<'a, E>(
    array: &'a SharedArray<E>,
    window: ChunkSource,
    len: usize,
    buffer: &'a [E],
) -> &'a [E] {
    let (items, at) = match (window, array) {
        (ChunkSource::Array(at), Some(array)) => (array.items(), at),
        (ChunkSource::Array(_), None) => (&[][..], 0),
        (ChunkSource::Buffer(at), _) => (buffer, at),
    };
    items.get(at..at + len).unwrap_or_default()
}

/// Writes to a range of an array.
pub(super) fn write_chunk<E: Clone>(array: &mut Arc<Array<E>>, start: usize, items: &[E]) {
    Arc::make_mut(array)[start..start + items.len()].clone_from_slice(items);
}

/// Adds a chunk to a sum or to sums, or writes it to the result.
pub(super) fn accumulate_chunk<T: Real, S: Scalar<Real = T>>(
    chunk: &Chunk<'_, S>,
    place: StepInput,
    result: &mut KernelOperand<S>,
    runs: Option<&mut BroadcastCursor>,
) {
    fn into<E: Scalar>(
        array: &mut Arc<Array<E>>,
        items: &[E],
        start: usize,
        runs: Option<&mut BroadcastCursor>,
    ) {
        match runs {
            Some(runs) => add_runs(&mut runs.cursor, items, &mut *Arc::make_mut(array)),
            None => write_chunk(array, start, items),
        }
    }
    match result {
        KernelOperand::Real(s) => *s = sum_on(std::mem::replace(s, T::zero()), chunk.reals(place)),
        KernelOperand::Complex(s) => {
            *s = sum_on(std::mem::replace(s, S::zero()), chunk.complexes(place))
        }
        KernelOperand::Reals(Some(array)) => into(array, chunk.reals(place), chunk.start, runs),
        KernelOperand::Complexes(Some(array)) => {
            into(array, chunk.complexes(place), chunk.start, runs)
        }
        _ => {}
    }
}
