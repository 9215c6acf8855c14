//! Instructions on arrays, and primitives.

use std::sync::Arc;

use num_traits::Zero;
use smallvec::SmallVec;

use crate::{
    array::{Array, ArrayError, RunCopy, Shape},
    cancel::CancellationToken,
    ir::{ArrayOp, Kind, Position, Primitive},
    scalar::{Real, Scalar},
};

use super::{
    super::{
        CallContext, Limits,
        bytecode::Bytecode,
        code::{Bank, Code, RegisterSlot, WriteMode},
        data::Datum,
        error::{CallError, RunError},
        host::{Host, HostError},
    },
    array_bank::{SharedArray, items},
    banks::{ArrayBanks, Banks, FrameBase, TapeStorage, store_leaves},
    code_location::CodeLocation,
    cost::superlinear,
    elements::run_kernel,
    memory_budget::MemoryBudget,
    small_program::run_small,
    whole::on_arrays,
};

/// Limits of the programs that a host runs, and the steps that they have used.
pub(super) struct HostBudget<'a> {
    pub(super) limits: &'a Limits,
    /// Steps that are left.
    pub(super) steps: u64,
    pub(super) cancellation: &'a CancellationToken,
    pub(super) used: u64,
}

/// Instructions on arrays, and primitives.
#[allow(clippy::clone_on_copy, reason = "one of the three banks holds plain integers")]
#[allow(clippy::too_many_arguments, reason = "the state of the machine, taken apart")]
#[inline(never)]
pub(super) fn structural<T: Real, S: Scalar<Real = T>>(
    code: &Bytecode,
    banks: &mut Banks<S>,
    tapes: &mut [TapeStorage<S>],
    host: &dyn Host<S>,
    below: &mut HostBudget<'_>,
    place: &CodeLocation<'_>,
    base: FrameBase,
    instruction: Code,
) -> Result<(), RunError> {
    let limits = below.limits;
    let slots = &place.routine.slots;
    let slot = |k: u32| slots[k as usize];
    let on = |bank: Bank, reg: u32| base[bank as usize] + reg as usize;
    let Banks { reals: r, complexes: c, ints: n, arrays } = &mut *banks;
    let ArrayBanks {
        reals: real_arrays, complexes: complex_arrays, ints: int_arrays, budget, ..
    } = arrays;
    let fail = |at: Position, source| RunError::Array { at, source: at.explain(source) };
    let full = |source| fail(place.position(), source);
    // One arm for each bank of arrays, with its bank of elements.
    macro_rules! by_bank {
        ($bank:expr, |$arrays:ident, $items:ident, $Item:ident| $body:expr) => {
            match $bank {
                Bank::Complexes => {
                    let ($arrays, $items) = (&mut *complex_arrays, &mut *c);
                    const $Item: Bank = Bank::Complex;
                    $body
                }
                Bank::Ints => {
                    let ($arrays, $items) = (&mut *int_arrays, &mut *n);
                    const $Item: Bank = Bank::Int;
                    $body
                }
                _ => {
                    let ($arrays, $items) = (&mut *real_arrays, &mut *r);
                    const $Item: Bank = Bank::Real;
                    $body
                }
            }
        };
    }
    match instruction {
        Code::MoveA(d, a) => {
            let s = slot(a);
            by_bank!(s.bank, |arrays, _numbers, ITEM| {
                let _ = ITEM;
                let array = arrays.read(on(s.bank, s.reg), s.last);
                arrays.store(on(s.bank, d), array);
            });
        }
        Code::Select(bank, d, condition, a) => {
            let chosen = if n[on(Bank::Int, condition)] != 0 { slot(a) } else { slot(a + 1) };
            let to = RegisterSlot { bank, reg: d, last: false };
            banks.transfer(&[RegisterSlot { last: false, ..chosen }], base, &[to], base);
        }
        Code::Array(bank, d, list) => {
            by_bank!(bank, |arrays, numbers, ITEM| {
                let mut array = arrays.fresh(list.range().len(), budget).map_err(full)?;
                let values = slots[list.range()].iter().map(|s| numbers[on(ITEM, s.reg)].clone());
                Arc::make_mut(&mut array).as_vec().extend(values);
                arrays.store(on(bank, d), Some(array));
            });
        }
        Code::Fill(bank, d, x, len) => {
            let len = n[on(Bank::Int, len)];
            let count = usize::try_from(len).ok().filter(|&k| k <= limits.array);
            let count =
                count.ok_or(RunError::Length { len, limit: limits.array, at: place.position() })?;
            by_bank!(bank, |arrays, numbers, ITEM| {
                let mut array = arrays.fresh(count, budget).map_err(full)?;
                Arc::make_mut(&mut array).as_vec().resize(count, numbers[on(ITEM, x)].clone());
                arrays.store(on(bank, d), Some(array));
            });
        }
        Code::Len(d, a) => {
            let s = slot(a);
            let len = by_bank!(s.bank, |arrays, _numbers, ITEM| {
                let _ = ITEM;
                arrays.items(on(s.bank, s.reg)).len()
            });
            n[on(Bank::Int, d)] = i64::try_from(len).unwrap_or(i64::MAX);
        }
        Code::Get(d, a, i) | Code::Peek(d, a, i) => {
            let s = slot(a);
            let index = n[on(Bank::Int, i)];
            by_bank!(s.bank, |arrays, numbers, ITEM| {
                let array = arrays.items(on(s.bank, s.reg));
                let item = usize::try_from(index).ok().and_then(|k| array.get(k));
                numbers[on(ITEM, d)] = match item {
                    Some(item) => item.clone(),
                    None if matches!(instruction, Code::Get(..)) || index < 0 => {
                        return Err(place.index(index, array.len()));
                    }
                    None => Zero::zero(),
                };
            });
        }
        Code::Set(how, d, a, i, x) => {
            let s = slot(a);
            let index = n[on(Bank::Int, i)];
            by_bank!(s.bank, |arrays, numbers, ITEM| {
                let len = arrays.items(on(s.bank, s.reg)).len();
                let value = numbers[on(ITEM, x)].clone();
                let k = usize::try_from(index).ok().filter(|&k| match how {
                    WriteMode::Set => k < len,
                    WriteMode::Put | WriteMode::Add => k < limits.array,
                });
                let k = k.ok_or_else(|| place.index(index, len))?;
                let array = arrays.read(on(s.bank, s.reg), s.last);
                let mut array = arrays.make_unique(array, budget).map_err(full)?;
                let elements = Arc::make_mut(&mut array);
                grow(elements, k + 1, budget).map_err(full)?;
                if how == WriteMode::Add {
                    elements[k] += value;
                } else {
                    elements[k] = value;
                }
                arrays.store(on(s.bank, d), Some(array));
            });
        }
        Code::Accumulate(d, a) => {
            let (s, t) = (slot(a), slot(a + 1));
            by_bank!(s.bank, |arrays, _numbers, ITEM| {
                let _ = ITEM;
                let x = arrays.read(on(s.bank, s.reg), s.last);
                let y = arrays.read(on(t.bank, t.reg), t.last);
                // Nothing has no shape of its own.
                let nothing = items(&x).is_empty() && shape(&x).len() == 1;
                let longer = !nothing && items(&x).len() >= items(&y).len();
                let (mut long, short) = if longer { (x, y) } else { (y, x) };
                if !items(&short).is_empty() {
                    let (whole, part) = (shape(&long), shape(&short));
                    // Only a vector may be shorter, or be added to an array of another shape.
                    let count = items(&long).len() == items(&short).len();
                    if part.len() > 1 && part != whole && !(count && whole.len() == 1) {
                        let expected =
                            "arrays of one shape, or vectors of at most as many elements";
                        return Err(full(ArrayError::shape(
                            "accumulate",
                            expected,
                            &[&whole, &part],
                        )));
                    }
                    let mut sum = arrays.make_unique(long, budget).map_err(full)?;
                    let elements = Arc::make_mut(&mut sum);
                    budget.work(items(&short).len() as u64);
                    elements.iter_mut().zip(items(&short)).for_each(|(a, b)| *a += b.clone());
                    // A vector may be added to an array of another shape.
                    if let Some(short) =
                        short.as_ref().filter(|s| elements.is_vector() && !s.is_vector())
                    {
                        elements.set_shape_of(short);
                    }
                    long = Some(sum);
                }
                arrays.recycle(short);
                arrays.store(on(s.bank, d), long);
            });
        }
        Code::AccumulatePart(d, args) => {
            let [s, p, w, axis, start] = slots[args.range()] else { return Ok(()) };
            let [axis, start] = [axis, start].map(|int| n[on(Bank::Int, int.reg)]);
            by_bank!(s.bank, |arrays, _numbers, ITEM| {
                let _ = ITEM;
                let sum = arrays.read(on(s.bank, s.reg), s.last);
                let part = arrays.read(on(p.bank, p.reg), p.last);
                let whole = arrays.read(on(w.bank, w.reg), w.last);
                let moved = RunCopy::pad("pad", &shape(&part), &shape(&whole), axis, start)
                    .map_err(full)?;
                let len = items(&whole).len();
                let mut sum = if items(&sum).is_empty() {
                    // The first part makes the array, in a buffer that fits.
                    arrays.recycle(sum);
                    arrays.fresh(len, budget).map_err(full)?
                } else {
                    arrays.make_unique(sum, budget).map_err(full)?
                };
                let elements = Arc::make_mut(&mut sum);
                grow(elements, len, budget).map_err(full)?;
                if let Some(whole) =
                    whole.as_ref().filter(|w| elements.is_vector() && !w.is_vector())
                {
                    elements.set_shape_of(whole);
                }
                budget.work(items(&part).len() as u64);
                moved.add(items(&part), elements);
                arrays.recycle(part);
                arrays.recycle(whole);
                arrays.store(on(s.bank, d), Some(sum));
            });
        }
        Code::OnArrays(op, args, results) => {
            let [result] = slots[results.range()] else { return Ok(()) };
            if op != ArrayOp::RavelMultiIndex {
                work(banks, op, &slots[args.range()], base);
                if banks.arrays.budget.is_overworked() {
                    return Err(place.work(limits.work));
                }
            }
            on_arrays(banks, op, &slots[args.range()], result, base, limits).map_err(full)?;
        }
        Code::Elements(kernel, args, results) => {
            let kernel = &place.routine.kernels[kernel as usize];
            run_kernel(banks, kernel, &slots[args.range()], &slots[results.range()], base, limits)
                .map_err(|(at, source)| fail(at.unwrap_or(place.position()), source))?;
        }
        Code::Small(number, args, results) => {
            let code = &place.routine.small_programs[number as usize];
            run_small(banks, tapes, code, &slots[args.range()], &slots[results.range()], base)?;
        }
        Code::PushA(tape, a) => {
            let s = slot(a);
            let (tape, from) = (&mut tapes[tape as usize], on(s.bank, s.reg));
            match s.bank {
                Bank::Complexes => tape.complex_arrays.push(complex_arrays.read(from, s.last)),
                Bank::Ints => tape.int_arrays.push(int_arrays.read(from, s.last)),
                _ => tape.real_arrays.push(real_arrays.read(from, s.last)),
            }
        }
        Code::PopA(tape, d) => {
            let s = slot(d);
            let (tape, to) = (&mut tapes[tape as usize], on(s.bank, s.reg));
            let empty = || place.empty();
            match s.bank {
                Bank::Complexes => {
                    complex_arrays.store(to, tape.complex_arrays.pop().ok_or_else(empty)?);
                }
                Bank::Ints => int_arrays.store(to, tape.int_arrays.pop().ok_or_else(empty)?),
                _ => real_arrays.store(to, tape.real_arrays.pop().ok_or_else(empty)?),
            }
        }
        Code::Primitive(primitive, args, results) => {
            let Some(primitive) = code.primitives.get(primitive.index()) else {
                return Err(CallError::Undefined { name: primitive.to_string() }.into());
            };
            let fail = |source| RunError::Host { at: place.position(), source };
            if let Some((x, count)) = few_numbers(primitive, &slots[args.range()], r, base)
                && let Some(value) = host.number(primitive, &x[..count])
            {
                let [to] = slots[results.range()] else { return Ok(()) };
                r[on(Bank::Real, to.reg)] = value.map_err(fail)?;
                return Ok(());
            }
            let mut from = slots[args.range()].iter().copied();
            let values: Vec<Datum<S>> =
                primitive.params.iter().map(|kind| banks.assemble(kind, &mut from, base)).collect();
            let left = banks.arrays.budget.left_of(limits).with_steps(below.steps);
            let mut context = CallContext::new(left).with_cancellation(below.cancellation.clone());
            let value = host.call_within(primitive, &values, &mut context).map_err(fail)?;
            let (steps, work) = context.used();
            below.used += steps;
            banks.arrays.budget.work(work);
            if !value.is(&primitive.result) {
                let (name, given) = (primitive.name.clone(), value.describe());
                let expected = primitive.result.to_string();
                return Err(fail(HostError::Kind { name, given, expected }));
            }
            // Now registers alone share the arguments.
            drop(values);
            banks.adopt(&value).map_err(full)?;
            let mut to = slots[results.range()].iter().copied();
            store_leaves(banks, &mut to, base, &value);
        }
        // Everything else is run by the loop.
        _ => {}
    }
    Ok(())
}

/// Counts the work of an operation on whole arrays before it runs: its operands, or its cost beyond
/// them.
fn work<S: Scalar>(banks: &mut Banks<S>, op: ArrayOp, args: &[RegisterSlot], base: FrameBase) {
    let ArrayBanks { reals, complexes, ints, budget, .. } = &mut banks.arrays;
    let on = |slot: &RegisterSlot| base[slot.bank as usize] + slot.reg as usize;
    let arrays = args.iter().filter(|slot| matches!(slot.bank, Bank::Reals | Bank::Complexes));
    let read: usize = arrays
        .clone()
        .map(|slot| match slot.bank {
            Bank::Complexes => complexes.items(on(slot)).len(),
            _ => reals.items(on(slot)).len(),
        })
        .sum();
    budget.work(read as u64);
    // The shapes of tiny operands are not worth a look for superlinear costs.
    if read > MIN_COSTED_ELEMENTS {
        let shapes = arrays.map(|slot| match slot.bank {
            Bank::Complexes => complexes.shape(on(slot)),
            _ => reals.shape(on(slot)),
        });
        let shapes: SmallVec<[Shape; 3]> = shapes.collect();
        let list = args
            .iter()
            .find(|slot| slot.bank == Bank::Ints)
            .map_or(&[][..], |slot| ints.items(on(slot)));
        budget.work(superlinear(op, &shapes, list).unwrap_or(0));
    }
}

/// Number of elements up to which an array costs about as much as a step, whatever the operation.
const MIN_COSTED_ELEMENTS: usize = 32;

fn shape<T>(array: &SharedArray<T>) -> Shape {
    array.as_ref().map_or_else(|| Array::<T>::default().shape(), |array| array.shape())
}

/// Extends an array with zeros to `len` elements, within the memory budget.
#[inline]
fn grow<T: Zero>(
    array: &mut Array<T>,
    len: usize,
    budget: &mut MemoryBudget,
) -> Result<(), ArrayError> {
    if len > array.len() {
        let (before, after) = (array.capacity(), array.capacity().max(len));
        budget.reserve((after - before) * size_of::<T>())?;
        array.as_vec().resize_with(len, T::zero);
        budget.add((array.capacity() - after) * size_of::<T>());
    }
    Ok(())
}

/// The most numbers that a primitive is handed without boxing.
const MAX_UNBOXED_ARGUMENTS: usize = 4;

/// Returns the arguments of a primitive that takes a few real numbers and gives one.
#[inline]
fn few_numbers<T: Real>(
    primitive: &Primitive,
    from: &[RegisterSlot],
    reals: &[T],
    base: FrameBase,
) -> Option<([T; MAX_UNBOXED_ARGUMENTS], usize)> {
    let real = |kind: &Kind| matches!(kind, Kind::Real);
    if from.len() > MAX_UNBOXED_ARGUMENTS
        || !real(&primitive.result)
        || !primitive.params.iter().all(real)
    {
        return None;
    }
    let number = |k: usize| match from.get(k) {
        Some(slot) => reals[base[Bank::Real as usize] + slot.reg as usize].clone(),
        None => T::zero(),
    };
    Some((std::array::from_fn(number), from.len()))
}
