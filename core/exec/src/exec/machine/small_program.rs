//! Runs straight code on small arrays.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    array::{Array, ArrayError, RunCopy, add_runs, dot_of, matmul, sum},
    ir::{ArrayOp, Number1, Number2, Op, Position},
    scalar::{Real, Scalar},
};

use super::{
    super::{
        code::{Bank, RegisterSlot, WriteMode},
        error::RunError,
        small_program::{
            SmallBase, SmallIndex, SmallOffset, SmallOp, SmallProgram, SmallResult, SmallSlice,
            SmallStep,
        },
    },
    banks::{ArrayBanks, Banks, FrameBase, TapeStorage},
    loops::{StepInputs, run},
};

/// Operands, earlier results and offsets that steps read.
struct SmallReader<'a, T> {
    arrays: &'a [&'a [T]],
    memory: &'a [T],
    offsets: &'a [usize],
}

impl<'a, T> SmallReader<'a, T> {
    #[inline]
    fn read(&self, place: &SmallSlice) -> &'a [T] {
        let at = place.at + place.offset.map_or(0, |k| self.offsets[k]);
        let items = match place.base {
            SmallBase::Memory => self.memory,
            SmallBase::Operand(k) => self.arrays[k],
        };
        &items[at..at + place.len]
    }
}

/// The operands of one step.
struct SmallOperandPair<'a, T>([&'a [T]; 2]);

impl<T, S> StepInputs<T, S> for SmallOperandPair<'_, T> {
    #[inline]
    fn reals(&self, k: usize) -> &[T] {
        self.0[k]
    }
    fn complexes(&self, _: usize) -> &[S] {
        &[]
    }
    fn ints(&self, _: usize) -> &[i64] {
        &[]
    }
}

/// Runs it.
pub(super) fn run_small<T: Real, S: Scalar<Real = T>>(
    banks: &mut Banks<S>,
    tapes: &mut [TapeStorage<S>],
    code: &SmallProgram,
    args: &[RegisterSlot],
    results: &[RegisterSlot],
    base: FrameBase,
) -> Result<(), RunError> {
    let on = |slot: RegisterSlot| base[slot.bank as usize] + slot.reg as usize;
    let Banks { reals, ints, arrays, .. } = banks;
    let ArrayBanks { reals: bank, small: memory, budget, .. } = arrays;
    let fail = |at: Position, source| RunError::Array { at, source: at.explain(source) };
    memory.numbers.resize(code.size.max(memory.numbers.len()), T::zero());
    memory.offsets.resize(code.offsets.max(memory.offsets.len()), 0);
    let mut given: SmallVec<[Arc<Array<T>>; 4]> = SmallVec::new();
    for result in &code.results {
        if let SmallResult::Array(place, _) = result {
            given.push(
                bank.uninitialized(place.len, budget)
                    .map_err(|full| fail(Position::default(), full))?,
            );
        }
    }
    {
        let mut items: SmallVec<[&[T]; 16]> = SmallVec::from_elem(&[][..], args.len());
        for &(k, len) in &code.arrays {
            items[k] = bank.items(on(args[k]));
            if items[k].len() != len {
                let source = ArrayError::Count { given: items[k].len(), expected: vec![len] };
                return Err(fail(Position::default(), source));
            }
        }
        let int = |k: usize| ints[on(args[k])];
        for step in &code.steps {
            let SmallStep { op: what, to, len, at } = step;
            let (before, rest) = memory.numbers.split_at_mut(*to);
            let out = &mut rest[..*len];
            let view = SmallReader { arrays: &items, memory: before, offsets: &memory.offsets };
            match what {
                SmallOp::LoadNumber(k) => out[0].clone_from(&reals[on(args[*k])]),
                SmallOp::Elementwise(op, from) => {
                    let pair = SmallOperandPair([view.read(&from[0]), view.read(&from[1])]);
                    run::<T, S>(*op, &pair, false, out, &mut []).map_err(|source| {
                        fail(*at, ArrayError::Undecided { op: op.name(), source })
                    })?;
                }
                SmallOp::Scalar(op, from) => {
                    out[0] = number(*op, &view.read(&from[0])[0], &view.read(&from[1])[0])
                }
                SmallOp::Fill(from) => out.fill(view.read(from)[0].clone()),
                SmallOp::Zeros => out.fill(T::zero()),
                SmallOp::Gather(from, places) => {
                    let from = view.read(from);
                    out.iter_mut()
                        .zip(&**places)
                        .for_each(|(x, &k)| x.clone_from(&from[k as usize]));
                }
                SmallOp::Concat(all) => {
                    let mut out = out;
                    for from in all {
                        let (part, rest) = out.split_at_mut(from.len);
                        part.clone_from_slice(view.read(from));
                        out = rest;
                    }
                }
                SmallOp::WritePart { part, lead, offset, run, body, add } => {
                    let (part, lead) =
                        (view.read(part), lead + offset.map_or(0, |k| memory.offsets[k]));
                    for (run, part) in out.chunks_mut(*run).zip(part.chunks(*body)) {
                        let to = &mut run[lead..lead + body];
                        if *add {
                            to.iter_mut().zip(part).for_each(|(x, y)| *x += y.clone());
                        } else {
                            to.clone_from_slice(part);
                        }
                    }
                }
                SmallOp::Sum(from) => out[0] = sum(view.read(from)),
                SmallOp::Dot(a, b) => out[0] = dot_of(view.read(a), view.read(b)),
                SmallOp::Sums(from, runs) => {
                    out.fill(T::zero());
                    add_runs(&mut runs.clone(), view.read(from), out);
                }
                SmallOp::Offset(offset) => {
                    let start = int(offset.operand);
                    let within = usize::try_from(start).ok().filter(|k| *k <= offset.most);
                    let k = within.ok_or_else(|| offset_error(offset, start, *at))?;
                    memory.offsets[offset.number] = k * offset.inner;
                }
                SmallOp::Peek(from, index) => {
                    let (from, index) = (view.read(from), int(*index));
                    let k =
                        usize::try_from(index).map_err(|_| index_error(index, from.len(), *at))?;
                    out[0] = from.get(k).cloned().unwrap_or_else(T::zero);
                }
                SmallOp::Set(how, index, from) => {
                    let (len, index) = (out.len(), int(*index));
                    let k = usize::try_from(index).ok().filter(|k| *k < len);
                    let x = &mut out[k.ok_or_else(|| index_error(index, len, *at))?];
                    match how {
                        WriteMode::Add => *x += view.read(from)[0].clone(),
                        _ => x.clone_from(&view.read(from)[0]),
                    }
                }
                SmallOp::MatMul(op, factors) => {
                    let [a, b, c] = &mut memory.matrices;
                    for (array, (place, shape)) in [&mut *a, &mut *b].into_iter().zip(factors) {
                        array.start(shape).extend_from_slice(view.read(place));
                    }
                    let (first, second) = (*op == ArrayOp::MatMulHn, *op == ArrayOp::MatMulNh);
                    matmul(a, b, first, second, c).map_err(|source| fail(*at, source))?;
                    out.clone_from_slice(c);
                }
                SmallOp::Push(tape, from) => {
                    tapes[*tape as usize].small.extend_from_slice(view.read(from))
                }
                SmallOp::Pop(tape) => {
                    let numbers = &mut tapes[*tape as usize].small;
                    let left =
                        numbers.len().checked_sub(*len).ok_or(RunError::EmptyTape { at: *at })?;
                    out.clone_from_slice(&numbers[left..]);
                    numbers.truncate(left);
                }
            }
        }
        let view =
            SmallReader { arrays: &items, memory: &memory.numbers, offsets: &memory.offsets };
        let mut arrays = given.iter_mut();
        for (result, slot) in code.results.iter().zip(results) {
            match result {
                SmallResult::Number(place) => reals[on(*slot)].clone_from(&view.read(place)[0]),
                SmallResult::Array(place, shape) => {
                    if let Some(array) = arrays.next() {
                        Arc::make_mut(array).start(shape).extend_from_slice(view.read(place));
                    }
                }
            }
        }
    }
    for &slot in args.iter().filter(|slot| slot.bank == Bank::Reals && slot.last) {
        bank.store(on(slot), None);
    }
    for (array, &slot) in
        given.into_iter().zip(results.iter().filter(|slot| slot.bank == Bank::Reals))
    {
        bank.store(on(slot), Some(array));
    }
    Ok(())
}

fn number<T: Real>(op: Op, a: &T, b: &T) -> T {
    match op {
        Op::Number1(Number1::Neg) => -a.clone(),
        Op::Number1(op) => op.value(a),
        Op::Number2(Number2::Add) => a.clone() + b,
        Op::Number2(op) => op.value(a, b),
        _ => a.clone(),
    }
}

/// Returns the error of an index out of bounds.
#[cold]
fn index_error(index: i64, len: usize, at: Position) -> RunError {
    RunError::Index { index, len, at }
}

/// Returns the error of a part out of bounds.
#[cold]
fn offset_error(offset: &SmallOffset, start: i64, at: Position) -> RunError {
    let found = match &offset.index {
        SmallIndex::Element(len) => return index_error(start, *len, at),
        SmallIndex::Slice(shape, axis, len) => {
            RunCopy::slice(shape, *axis, start, *len).map(|_| ())
        }
        SmallIndex::Within(op, part, whole, axis) => {
            RunCopy::pad(op, part, whole, *axis, start).map(|_| ())
        }
    };
    match found {
        Err(source) => RunError::Array { at, source: at.explain(source) },
        Ok(()) => index_error(start, offset.most, at),
    }
}
