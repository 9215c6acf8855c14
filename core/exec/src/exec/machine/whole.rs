//! Operations on whole arrays: registers in, the functions of [`array`](crate::array), a register
//! out.
//!
//! The last use of an operand moves it out of its register, so an operation that only changes the
//! shape, or works in place, copies nothing.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    array::{self, Array, ArrayError, Shape, broadcast, checked_axis, checked_count},
    ir::{ArrayOp, ValueForm, ValueOperands},
    scalar::{Real, Scalar},
};

use super::{
    super::{
        Limits,
        code::{Bank, RegisterSlot},
    },
    array_bank::{ArrayBank, SharedArray, items},
    banks::{ArrayBanks, Banks, FrameBase},
    memory_budget::{MemoryBudget, array_bytes},
};

/// The operands of one element kind, and ints.
struct ArrayOperands<E> {
    arrays: SmallVec<[Arc<Array<E>>; 3]>,
    number: Option<E>,
    number_first: bool,
    ints: SmallVec<[i64; 3]>,
    list: SharedArray<i64>,
}

impl<E> ArrayOperands<E> {
    fn arguments(&self, limits: &Limits) -> ValueOperands<'_, E> {
        let list = self.list.as_deref();
        ValueOperands { arrays: &self.arrays, ints: &self.ints, list, limit: limits.array }
    }
}

/// Runs an operation on whole arrays.
pub(super) fn on_arrays<T: Real, S: Scalar<Real = T>>(
    banks: &mut Banks<S>,
    op: ArrayOp,
    args: &[RegisterSlot],
    result: RegisterSlot,
    base: FrameBase,
    limits: &Limits,
) -> Result<(), ArrayError> {
    let on = |slot: RegisterSlot| base[slot.bank as usize] + slot.reg as usize;
    let Banks { reals, complexes, ints, arrays } = banks;
    // Reading an element is the most common operation.
    if let (ArrayOp::RavelMultiIndex, [array, indices @ ..]) = (op, args)
        && indices.iter().all(|s| s.bank == Bank::Int)
    {
        let indices: SmallVec<[i64; 4]> = indices.iter().map(|&s| ints[on(s)]).collect();
        macro_rules! shape {
            ($bank:ident) => {{
                let shape = arrays.$bank.shape(on(*array));
                if array.last {
                    arrays.$bank.store(on(*array), None);
                }
                shape
            }};
        }
        let shape = match array.bank {
            Bank::Complexes => shape!(complexes),
            Bank::Ints => shape!(ints),
            _ => shape!(reals),
        };
        ints[on(result)] = array::flat_index(&shape, &indices)?;
        return Ok(());
    }
    let of = |bank: Bank| args.iter().any(|s| s.bank == bank);
    let mut numbers = SmallVec::new();
    let mut list = None;
    // For arrays of ints there are operations on shapes and indices only.
    let mut whole = None;
    for &slot in args {
        match slot.bank {
            Bank::Int => numbers.push(ints[on(slot)]),
            Bank::Ints => {
                let array = arrays.ints.read(on(slot), slot.last);
                whole = list.replace(array.unwrap_or_default());
            }
            _ => {}
        }
    }
    let to = on(result);
    macro_rules! with {
        ($arrays:ident, $Many:ident, $numbers:ident, $One:ident) => {{
            let bank = &mut arrays.$arrays;
            let number_first = args.first().is_some_and(|s| s.bank == Bank::$One);
            let mut operands = ArrayOperands {
                arrays: SmallVec::new(),
                number: None,
                number_first,
                ints: numbers,
                list,
            };
            for &slot in args {
                match slot.bank {
                    Bank::$Many => {
                        let array = bank.read(on(slot), slot.last).unwrap_or_else(|| bank.empty());
                        operands.arrays.push(array);
                    }
                    Bank::$One => operands.number = Some($numbers[on(slot)].clone()),
                    _ => {}
                }
            }
            operands
        }};
    }
    if of(Bank::Complexes) {
        let mut x = with!(complexes, Complexes, complexes, Complex);
        match result.bank {
            Bank::Complex if op == ArrayOp::TraceProduct => {
                complexes[to] = trace_product(&x, &mut arrays.complexes, &mut arrays.budget)?;
            }
            Bank::Complex => complexes[to] = number(op, &x)?,
            Bank::Real => reals[to] = real_of(op, &x)?,
            Bank::Int => ints[to] = int_of(op, &x)?,
            Bank::Ints => {
                let shape = shape_list(&mut arrays.ints, &x.arrays[0].shape(), &mut arrays.budget)?;
                arrays.ints.store(to, Some(shape));
            }
            _ => {
                let y = complex_array(op, &mut x, arrays, limits)?;
                arrays.complexes.store(to, Some(y));
            }
        }
        x.arrays.into_iter().for_each(|a| arrays.complexes.recycle(Some(a)));
        arrays.ints.recycle(x.list);
    } else if of(Bank::Reals) {
        let mut x = with!(reals, Reals, reals, Real);
        match result.bank {
            Bank::Real => {
                reals[to] = match op {
                    ArrayOp::Shift => array::shift(&x.arrays[0])?,
                    ArrayOp::LogAbsDet | ArrayOp::Norm => real_of(op, &x)?,
                    ArrayOp::TraceProduct => {
                        trace_product(&x, &mut arrays.reals, &mut arrays.budget)?
                    }
                    _ => number(op, &x)?,
                }
            }
            Bank::Int => {
                ints[to] = match op {
                    ArrayOp::ArgMax | ArrayOp::ArgMin => {
                        let place = array::arg_extreme(&x.arrays[0], op == ArrayOp::ArgMax)?;
                        i64::try_from(place).unwrap_or(i64::MAX)
                    }
                    _ => int_of(op, &x)?,
                }
            }
            Bank::Ints => {
                let list = match op {
                    ArrayOp::ArgSort => {
                        let mut order = arrays.ints.fresh(x.arrays[0].len(), &mut arrays.budget)?;
                        array::argsort(&x.arrays[0], Arc::make_mut(&mut order))?;
                        order
                    }
                    ArrayOp::ArgMaxAxis | ArrayOp::ArgMinAxis => {
                        let a = &x.arrays[0];
                        let mut places =
                            arrays.ints.fresh(reduced(a, x.ints[0]), &mut arrays.budget)?;
                        let greatest = op == ArrayOp::ArgMaxAxis;
                        array::arg_extreme_axis(
                            a,
                            x.ints[0],
                            greatest,
                            Arc::make_mut(&mut places),
                        )?;
                        places
                    }
                    _ => shape_list(&mut arrays.ints, &x.arrays[0].shape(), &mut arrays.budget)?,
                };
                arrays.ints.store(to, Some(list));
            }
            _ => {
                let y = real_array(op, &mut x, &mut arrays.reals, &mut arrays.budget, limits)?;
                arrays.reals.store(to, Some(y));
            }
        }
        x.arrays.into_iter().for_each(|a| arrays.reals.recycle(Some(a)));
        arrays.ints.recycle(x.list);
    } else {
        if matches!(op, ArrayOp::Uniform | ArrayOp::Normal) {
            let (lengths, key) = (items(&list), numbers.first().copied().unwrap_or(0));
            let n = array::random_shape(lengths, limits.array)?.iter().product();
            let mut out = arrays.reals.fresh(n, &mut arrays.budget)?;
            let is_normal = op == ArrayOp::Normal;
            array::random(key, lengths, is_normal, limits.array, Arc::make_mut(&mut out))?;
            arrays.reals.store(to, Some(out));
            arrays.ints.recycle(list);
            return Ok(());
        }
        let array = whole.as_ref().or(list.as_ref());
        let shape = array.map_or_else(|| Shape::from_slice(&[0]), |a| a.shape());
        if result.bank == Bank::Ints {
            let shape = shape_list(&mut arrays.ints, &shape, &mut arrays.budget)?;
            arrays.ints.store(to, Some(shape));
        } else if op == ArrayOp::Count {
            ints[to] = array::count(items(&list), limits.array)?;
        } else if op == ArrayOp::RavelMultiIndex {
            ints[to] = array::flat_index(&shape, items(&list))?;
        } else {
            ints[to] = length(numbers.first().copied().unwrap_or(0), &shape)?;
        }
        arrays.ints.recycle(list);
    }
    Ok(())
}

fn shape_list(
    bank: &mut ArrayBank<i64>,
    shape: &[usize],
    budget: &mut MemoryBudget,
) -> Result<Arc<Array<i64>>, ArrayError> {
    let mut list = bank.fresh(shape.len(), budget)?;
    let lengths = shape.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX));
    Arc::make_mut(&mut list).as_vec().extend(lengths);
    Ok(list)
}

fn length(axis: i64, shape: &[usize]) -> Result<i64, ArrayError> {
    let axis = checked_axis("dim", axis, shape)?;
    Ok(i64::try_from(shape[axis]).unwrap_or(i64::MAX))
}

fn int_of<E>(op: ArrayOp, x: &ArrayOperands<E>) -> Result<i64, ArrayError> {
    let shape = x.arrays[0].shape();
    match op {
        ArrayOp::RavelMultiIndex => array::flat_index(&shape, items(&x.list)),
        ArrayOp::Dim => length(x.ints[0], &shape),
        _ => Err(ArrayError::Empty { op: op.name() }),
    }
}

/// Returns the number of elements that are left if the length of an axis becomes 1.
fn reduced<E>(a: &Array<E>, axis: i64) -> usize {
    let along = usize::try_from(axis).ok().and_then(|k| a.shape().get(k).copied());
    a.len() / along.unwrap_or(1).max(1)
}

/// Computes a number of the kind of the elements.
fn number<E: Scalar>(op: ArrayOp, x: &ArrayOperands<E>) -> Result<E, ArrayError> {
    let a = &x.arrays[0];
    Ok(match op {
        ArrayOp::Prod => array::product(a),
        ArrayOp::Dot => array::dot(a, &x.arrays[1])?,
        ArrayOp::SignDet => array::sign_of_determinant(a)?,
        ArrayOp::Det => array::determinant(a)?,
        _ => return Err(ArrayError::Empty { op: op.name() }),
    })
}

/// Computes `tr(A B)`: the sum of products of A and the transpose of B, which is written to a spare
/// buffer.
fn trace_product<E: Scalar>(
    x: &ArrayOperands<E>,
    bank: &mut ArrayBank<E>,
    budget: &mut MemoryBudget,
) -> Result<E, ArrayError> {
    let (a, b) = (&x.arrays[0], &x.arrays[1]);
    let fits = a.rank() == 2
        && b.rank() == 2
        && b.matrix().is_some_and(|(m, n)| a.matrix() == Some((n, m)));
    if !fits {
        return array::trace_product(a, b);
    }
    let mut transposed = bank.uninitialized(b.len(), budget)?;
    array::transpose(b, Arc::make_mut(&mut transposed))?;
    let sum = array::dot(a, &transposed);
    bank.recycle(Some(transposed));
    sum
}

fn real_of<T: Real, E: Scalar<Real = T>>(
    op: ArrayOp,
    x: &ArrayOperands<E>,
) -> Result<T, ArrayError> {
    match op {
        ArrayOp::Norm => Ok(array::norm(&x.arrays[0])),
        ArrayOp::LogAbsDet => array::log_abs_determinant(&x.arrays[0]),
        _ => Err(ArrayError::Empty { op: op.name() }),
    }
}

fn real_array<T: Real>(
    op: ArrayOp,
    x: &mut ArrayOperands<T>,
    bank: &mut ArrayBank<T>,
    budget: &mut MemoryBudget,
    limits: &Limits,
) -> Result<Arc<Array<T>>, ArrayError> {
    match op {
        ArrayOp::ShiftKeep => {
            let mut out = bank.fresh(reduced(&x.arrays[0], x.ints[0]), budget)?;
            array::shift_keep(&x.arrays[0], x.ints[0], Arc::make_mut(&mut out))?;
            Ok(out)
        }
        ArrayOp::NormKeep => {
            let mut out = bank.fresh(reduced(&x.arrays[0], x.ints[0]), budget)?;
            array::norm_keep(&x.arrays[0], x.ints[0], Arc::make_mut(&mut out))?;
            Ok(out)
        }
        ArrayOp::Softmax => {
            let mut y = bank.make_unique(x.arrays.pop(), budget)?;
            array::softmax(Arc::make_mut(&mut y), x.ints[0])?;
            Ok(y)
        }
        ArrayOp::Step => {
            let shape = match x.arrays.as_slice() {
                [a, b] => broadcast(&a.shape(), &b.shape()),
                _ => None,
            };
            let most =
                shape.map_or(Ok(x.arrays[0].len()), |shape| checked_count(&shape, limits.array))?;
            let mut out = bank.fresh(most, budget)?;
            let number = x.number.take().map(|x| Array::from(vec![x]));
            let (a, b) = match (&number, x.arrays.as_slice()) {
                (Some(number), [a]) if x.number_first => (number, &**a),
                (Some(number), [a]) => (&**a, number),
                (_, [a, b]) => (&**a, &**b),
                _ => return Err(ArrayError::Empty { op: op.name() }),
            };
            array::step(a, b, Arc::make_mut(&mut out))?;
            Ok(out)
        }
        _ => whole(op, x, bank, budget, limits),
    }
}

fn complex_array<T: Real, E: Scalar<Real = T>>(
    op: ArrayOp,
    x: &mut ArrayOperands<E>,
    arrays: &mut ArrayBanks<E>,
    limits: &Limits,
) -> Result<Arc<Array<E>>, ArrayError> {
    let ArrayBanks { complexes: bank, transforms, budget, .. } = arrays;
    match op {
        ArrayOp::Fft | ArrayOp::FftBack => {
            let mut out = bank.fresh(x.arrays[0].len(), budget)?;
            transforms.fft(&x.arrays[0], op == ArrayOp::FftBack, Arc::make_mut(&mut out))?;
            Ok(out)
        }
        _ => whole(op, x, bank, budget, limits),
    }
}

/// Computes an array of the same element kind.
fn whole<T: Real, E: Scalar<Real = T>>(
    op: ArrayOp,
    x: &mut ArrayOperands<E>,
    bank: &mut ArrayBank<E>,
    budget: &mut MemoryBudget,
    limits: &Limits,
) -> Result<Arc<Array<E>>, ArrayError> {
    use ArrayOp as A;
    if op == A::Simple {
        let y = x.arrays.remove(0);
        return if y.rank() == 2 {
            Ok(y)
        } else {
            Err(ArrayError::shape("simple", "a matrix", &[&y.shape()]))
        };
    }
    if op == A::Spectral {
        let product = x.arrays.remove(0);
        let mut y = bank.make_unique(Some(product), budget)?;
        if let [a, both, d, slope] = &x.arrays[..] {
            array::spectral(Arc::make_mut(&mut y), a, both, d, slope)?;
        }
        return Ok(y);
    }
    if op.value_form() == ValueForm::InPlace {
        let first = x.arrays.remove(0);
        let mut y = bank.make_unique(Some(first), budget)?;
        op.value(&x.arguments(limits), Arc::make_mut(&mut y))?;
        return Ok(y);
    }
    if op == A::DynamicUpdateSlice {
        let mut y = bank.make_unique(x.arrays.pop(), budget)?;
        array::dynamic_update_slice(&x.arrays[0], Arc::make_mut(&mut y), x.ints[0], x.ints[1])?;
        return Ok(y);
    }
    if op == A::Slice
        && let Some(out) = Arc::get_mut(&mut x.arrays[0])
        && array::cut_off(out, x.ints[0], x.ints[1], x.ints[2])
    {
        return Ok(x.arrays.remove(0));
    }
    if op == A::Concat
        && let [a, b] = &mut x.arrays[..]
        && a.len() + b.len() <= limits.array
        && let Some(out) = Arc::get_mut(a)
        && array::append(out, b, x.ints[0])
    {
        return Ok(x.arrays.remove(0));
    }
    if let (A::BroadcastTo, Some(number)) = (op, &x.number) {
        // The array may have a shape without elements.
        let to = x.arrays[0].shape();
        let n = to.iter().product();
        let mut y = bank.uninitialized(n, budget)?;
        Arc::make_mut(&mut y).start(&to).resize(n, number.clone());
        return Ok(y);
    }
    if matches!(op, A::BroadcastTo | A::SumLike)
        && x.arrays[0].shape() == x.arguments(limits).form(1)?
    {
        return Ok(x.arrays.remove(0));
    }
    let operands = x.arguments(limits);
    let mut y = bank.uninitialized(op.most_elements(&operands)?, budget)?;
    let capacity = y.capacity();
    op.value(&operands, Arc::make_mut(&mut y))?;
    // Some compute the shape of their result themselves.
    budget.reserve(array_bytes::<E>(y.capacity()).saturating_sub(array_bytes::<E>(capacity)))?;
    Ok(y)
}
