//! Chunk of elements: the operands and results of steps for it.

use std::{ops::Range, sync::Arc};

use smallvec::SmallVec;

use crate::{
    array::{Array, Window, add_runs, sum_on},
    scalar::{Real, Scalar},
};

use super::{
    array_bank::Held,
    loops::Reads,
    sweeps::{Again, Place, Seen, Source, Work},
};

/// An operand.
pub(super) enum Operand<S: Scalar> {
    Real(S::Real),
    Complex(S),
    Int(i64),
    Reals(Held<S::Real>),
    Complexes(Held<S>),
    Ints(Held<i64>),
}

impl<S: Scalar> Operand<S> {
    /// Returns a copy; arrays are shared.
    pub(super) fn again(&self) -> Operand<S> {
        match self {
            Operand::Real(x) => Operand::Real(x.clone()),
            Operand::Complex(x) => Operand::Complex(x.clone()),
            Operand::Int(n) => Operand::Int(*n),
            Operand::Reals(array) => Operand::Reals(array.clone()),
            Operand::Complexes(array) => Operand::Complexes(array.clone()),
            Operand::Ints(array) => Operand::Ints(array.clone()),
        }
    }

    /// Returns true if it is an array without memory, as an empty one may be.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Operand::Reals(None) | Operand::Complexes(None) | Operand::Ints(None))
    }

    /// Returns true if it is an array of this kind and shape that is not shared.
    pub(super) fn is_alone(&mut self, complex: bool, shape: &[usize]) -> bool {
        fn of<E>(array: &mut Held<E>, shape: &[usize]) -> bool {
            array.as_mut().and_then(Arc::get_mut).is_some_and(|a| a.is_of(shape))
        }
        match self {
            Operand::Reals(array) => !complex && of(array, shape),
            Operand::Complexes(array) => complex && of(array, shape),
            _ => false,
        }
    }

    /// Returns the part of it that a plan depends on.
    pub(super) fn seen(&self, measures: bool) -> Seen {
        fn of<E>(array: &Held<E>) -> Seen {
            Seen::Shape(array.as_ref().map_or_else(|| SmallVec::from_slice(&[0]), |a| a.shape()))
        }
        match self {
            Operand::Int(n) if measures => Seen::Int(*n),
            Operand::Reals(array) => of(array),
            Operand::Complexes(array) => of(array),
            Operand::Ints(array) => of(array),
            _ => Seen::Number,
        }
    }

    /// Returns true if it matches the key that a plan was made for.
    pub(super) fn is(&self, seen: &Seen) -> bool {
        fn of<E>(array: &Held<E>, shape: &[usize]) -> bool {
            array.as_ref().map_or(shape == [0], |a| a.is_of(shape))
        }
        match (self, seen) {
            (_, Seen::Number) => true,
            (Operand::Int(n), Seen::Int(m)) => n == m,
            (Operand::Reals(array), Seen::Shape(shape)) => of(array, shape),
            (Operand::Complexes(array), Seen::Shape(shape)) => of(array, shape),
            (Operand::Ints(array), Seen::Shape(shape)) => of(array, shape),
            _ => false,
        }
    }
}

/// Data that steps may read of one chunk.
pub(super) struct Stretch<'a, S: Scalar> {
    pub(super) sources: &'a [Source],
    pub(super) works: &'a [Work],
    pub(super) slots: usize,
    pub(super) operands: &'a [Operand<S>],
    pub(super) windows: &'a [Window],
    pub(super) reals: &'a [Vec<S::Real>],
    pub(super) complexes: &'a [Vec<S>],
    pub(super) start: usize,
    pub(super) len: usize,
}

impl<'a, S: Scalar> Stretch<'a, S> {
    /// Returns the range of the results of a step in its slot.
    #[inline]
    pub(super) fn range<E>(&self, work: &Work, slot: &[E]) -> Range<usize> {
        let at = if work.kept { self.start } else { aligned(slot) };
        at..at + self.len
    }

    #[inline]
    pub(super) fn reals(&self, place: Place) -> &'a [S::Real] {
        match place {
            Place::Work(k) => {
                let slot = &self.reals[self.works[k].slot];
                &slot[self.range(&self.works[k], slot)]
            }
            Place::Source(k) => match &self.operands[self.sources[k].operand] {
                Operand::Real(x) => std::slice::from_ref(x),
                Operand::Reals(a) => {
                    seen(a, self.windows[k], self.len, &self.reals[self.slots + k])
                }
                _ => &[],
            },
        }
    }

    #[inline]
    pub(super) fn complexes(&self, place: Place) -> &'a [S] {
        match place {
            Place::Work(k) => {
                let slot = &self.complexes[self.works[k].slot];
                &slot[self.range(&self.works[k], slot)]
            }
            Place::Source(k) => match &self.operands[self.sources[k].operand] {
                Operand::Complex(x) => std::slice::from_ref(x),
                Operand::Complexes(a) => {
                    seen(a, self.windows[k], self.len, &self.complexes[self.slots + k])
                }
                _ => &[],
            },
        }
    }
}

/// Inputs of one step.
pub(super) struct Read<'a, 'b, S: Scalar> {
    pub(super) stretch: &'b Stretch<'a, S>,
    pub(super) from: [Place; 3],
}

impl<T: Real, S: Scalar<Real = T>> Reads<T, S> for Read<'_, '_, S> {
    #[inline]
    fn reals(&self, k: usize) -> &[T] {
        self.stretch.reals(self.from[k])
    }
    #[inline]
    fn complexes(&self, k: usize) -> &[S] {
        self.stretch.complexes(self.from[k])
    }
    #[inline]
    fn ints(&self, k: usize) -> &[i64] {
        let Place::Source(k) = self.from[k] else { return &[] };
        match &self.stretch.operands[self.stretch.sources[k].operand] {
            Operand::Int(x) => std::slice::from_ref(x),
            Operand::Ints(a) => seen(a, self.stretch.windows[k], self.stretch.len, &[]),
            _ => &[],
        }
    }
}

/// Bytes of the widest vector register: data at a multiple of it are loaded at once.
pub(super) const VECTOR: usize = 64;

/// Returns the first place in a slot that begins a vector register. Slots have room for it.
#[inline]
pub(super) fn aligned<E>(slot: &[E]) -> usize {
    let at = slot.as_ptr().align_offset(VECTOR);
    if at < VECTOR { at } else { 0 }
}

#[inline]
fn seen<'a, E>(array: &'a Held<E>, window: Window, len: usize, buffer: &'a [E]) -> &'a [E] {
    let (items, at) = match (window, array) {
        (Window::Array(at), Some(array)) => (array.items(), at),
        (Window::Array(_), None) => (&[][..], 0),
        (Window::Buffer(at), _) => (buffer, at),
    };
    items.get(at..at + len).unwrap_or_default()
}

/// Writes to a range of an array.
pub(super) fn put<E: Clone>(array: &mut Arc<Array<E>>, start: usize, items: &[E]) {
    Arc::make_mut(array)[start..start + items.len()].clone_from_slice(items);
}

/// Adds a chunk to a sum or to sums, or writes it to the result.
pub(super) fn collect<T: Real, S: Scalar<Real = T>>(
    stretch: &Stretch<'_, S>,
    place: Place,
    result: &mut Operand<S>,
    runs: Option<&mut Again>,
) {
    fn into<E: Scalar>(
        array: &mut Arc<Array<E>>,
        items: &[E],
        start: usize,
        runs: Option<&mut Again>,
    ) {
        match runs {
            Some(runs) => add_runs(&mut runs.now, items, &mut *Arc::make_mut(array)),
            None => put(array, start, items),
        }
    }
    match result {
        Operand::Real(s) => *s = sum_on(std::mem::replace(s, T::zero()), stretch.reals(place)),
        Operand::Complex(s) => {
            *s = sum_on(std::mem::replace(s, S::zero()), stretch.complexes(place))
        }
        Operand::Reals(Some(array)) => into(array, stretch.reals(place), stretch.start, runs),
        Operand::Complexes(Some(array)) => {
            into(array, stretch.complexes(place), stretch.start, runs)
        }
        _ => {}
    }
}
