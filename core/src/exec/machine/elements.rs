//! Operations element by element: recipes run over stretches that stay in fast memory.
//!
//! Each step goes over [`AT_ONCE`] elements before the next one does; only what is wanted goes to memory. So the
//! dispatch is paid once for a stretch, each step is a plain loop over slices with the processor's vector instructions,
//! and nothing in between is ever stored as a whole. An operand of a smaller shape is repeated stretch by stretch. A
//! step whose own shape is smaller than that of the results (`exp(b)` in `a * exp(b)`, `b` a row) is computed first, as
//! an array.
//!
//! A sum has the bits that it has by itself, of an array that was made before.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    array::{AT_ONCE, ArrayError, BLOCK, Repeated, Shape, Window, add_runs, broadcast, reduced, sum},
    ir::Position,
    scalar::{Real, Scalar},
};

use super::{
    super::{
        Limits,
        code::{Bank, Slot},
        recipe::{From, Output, Recipe, Step},
    },
    array_bank::{ArrayBank, Held},
    banks::{Banks, Base},
    loops::{Part, Parts, run},
};

/// The results of steps for one stretch, and operands repeated for one.
#[derive(Debug)]
pub(super) struct Scratch<S: Scalar> {
    reals: Vec<Vec<S::Real>>,
    complexes: Vec<Vec<S>>,
}

impl<S: Scalar> Scratch<S> {
    pub(super) fn new() -> Scratch<S> {
        Scratch { reals: Vec::new(), complexes: Vec::new() }
    }
}

/// An operand.
enum Operand<S: Scalar> {
    Real(S::Real),
    Complex(S),
    Int(i64),
    Reals(Held<S::Real>),
    Complexes(Held<S>),
    Ints(Held<i64>),
}

type Fault = (Option<Position>, ArrayError);

/// Runs a recipe.
pub(super) fn elements<T: Real, S: Scalar<Real = T>>(
    banks: &mut Banks<S>,
    recipe: &Recipe,
    args: &[Slot],
    results: &[Slot],
    base: Base,
    limits: &Limits,
) -> Result<(), Fault> {
    let on = |slot: Slot| base[slot.bank as usize] + slot.reg as usize;
    let Banks { reals, complexes, ints, arrays } = banks;
    let mut operands: Operands<S> = args
        .iter()
        .map(|&slot| match slot.bank {
            Bank::Real => Operand::Real(reals[on(slot)].clone()),
            Bank::Complex => Operand::Complex(complexes[on(slot)].clone()),
            Bank::Int => Operand::Int(ints[on(slot)]),
            Bank::Reals => Operand::Reals(arrays.reals.read(on(slot), slot.last)),
            Bank::Complexes => Operand::Complexes(arrays.complexes.read(on(slot), slot.last)),
            Bank::Ints => Operand::Ints(arrays.ints.read(on(slot), slot.last)),
        })
        .collect();
    let (real_bank, complex_bank, scratch) = (&mut arrays.reals, &mut arrays.complexes, &mut arrays.scratch);
    let mut run = Run { real_bank, complex_bank, scratch, limit: limits.array };
    let values = run.recipe(recipe, &mut operands);
    for operand in operands {
        match operand {
            Operand::Reals(array) => run.real_bank.recycle(array),
            Operand::Complexes(array) => run.complex_bank.recycle(array),
            Operand::Ints(array) => arrays.ints.recycle(array),
            _ => {}
        }
    }
    for (value, &result) in values?.into_iter().zip(results) {
        match value {
            Operand::Real(x) => reals[on(result)] = x,
            Operand::Complex(x) => complexes[on(result)] = x,
            Operand::Reals(array) => arrays.reals.store(on(result), array),
            Operand::Complexes(array) => arrays.complexes.store(on(result), array),
            Operand::Int(_) | Operand::Ints(_) => {}
        }
    }
    Ok(())
}

/// Something for each step, for each operand, for each output: as many as recipes have without allocating.
type Steps<T> = SmallVec<[T; 32]>;
type Each<T> = SmallVec<[T; 12]>;
type Few<T> = SmallVec<[T; 4]>;
type Operands<S> = Each<Operand<S>>;
type Results<S> = Few<Operand<S>>;

/// An output whose shape is known.
#[derive(Clone, PartialEq, Debug)]
enum Wanted {
    All(From),
    Sum(From),
    /// Sums of what is repeated, in this shape.
    Sums(From, Shape),
    /// The same array as that of another output.
    Again(usize),
    /// A shape without elements, of complex numbers or of real ones.
    Hollow(bool, Shape),
}

struct Run<'a, S: Scalar> {
    real_bank: &'a mut ArrayBank<S::Real>,
    complex_bank: &'a mut ArrayBank<S>,
    scratch: &'a mut Scratch<S>,
    limit: usize,
}

impl<S: Scalar> Operand<S> {
    /// The same once more; arrays are shared.
    fn again(&self) -> Operand<S> {
        match self {
            Operand::Real(x) => Operand::Real(x.clone()),
            Operand::Complex(x) => Operand::Complex(x.clone()),
            Operand::Int(n) => Operand::Int(*n),
            Operand::Reals(array) => Operand::Reals(array.clone()),
            Operand::Complexes(array) => Operand::Complexes(array.clone()),
            Operand::Ints(array) => Operand::Ints(array.clone()),
        }
    }

    /// Its shape; none of a number.
    fn shape(&self) -> Option<Shape> {
        fn of<E>(array: &Held<E>) -> Option<Shape> {
            Some(array.as_ref().map_or_else(|| Shape::from_slice(&[0]), |a| a.shape()))
        }
        match self {
            Operand::Reals(array) => of(array),
            Operand::Complexes(array) => of(array),
            Operand::Ints(array) => of(array),
            _ => None,
        }
    }
}

impl<T: Real, S: Scalar<Real = T>> Run<'_, S> {
    fn recipe(&mut self, recipe: &Recipe, operands: &mut Operands<S>) -> Result<Results<S>, Fault> {
        let shapes: Each<Option<Shape>> = operands.iter().map(Operand::shape).collect();
        let mut made: Steps<Option<Shape>> = SmallVec::new();
        for step in &recipe.steps {
            let shape = |from: From| match from {
                From::Operand(k) => shapes[k].as_ref(),
                From::Step(k) => made[k].as_ref(),
            };
            let shape = match step.from.map(shape) {
                [Some(a), Some(b)] if a == b => Some(a.clone()),
                [Some(a), Some(b)] => Some(broadcast(a, b).ok_or_else(|| {
                    let expected =
                        "arrays whose shapes are equal or 1 along each axis, counted from the last";
                    (Some(step.at), ArrayError::shape(step.op.name(), expected, &[a, b]))
                })?),
                [a, b] => a.or(b).cloned(),
            };
            made.push(shape);
        }
        let shape_of = |from: From| match from {
            From::Operand(k) => shapes[k].clone(),
            From::Step(k) => made[k].clone(),
        };
        let whole = recipe.outputs.iter().find_map(|output| match *output {
            Output::Array(k) => made[k].clone(),
            Output::Shape(_) => None,
            Output::Sum(from) | Output::SumKeep(from, _) | Output::SumLike(from, _) => shape_of(from),
        });
        let whole = whole.unwrap_or_default();
        let n: usize = whole.iter().product();
        if n > self.limit {
            let given = whole.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect();
            return Err((None, ArrayError::Lengths { given, limit: self.limit }));
        }
        let mut wanted: Few<Wanted> = SmallVec::new();
        for output in &recipe.outputs {
            let fault = |source| (None, source);
            let output = match *output {
                Output::Array(k) => Wanted::All(From::Step(k)),
                Output::Shape(k) => {
                    Wanted::Hollow(recipe.steps[k].complex, made[k].clone().unwrap_or_default())
                }
                Output::Sum(from) => Wanted::Sum(from),
                Output::SumKeep(from, axis) => {
                    let axis = if let Operand::Int(axis) = operands[axis] { axis } else { -1 };
                    Wanted::Sums(from, reduced("sum_keep", axis, &whole).map_err(fault)?.1)
                }
                Output::SumLike(from, like) => {
                    let like = shape_of(like).unwrap_or_default();
                    if broadcast(&whole, &like).as_ref() != Some(&whole) {
                        let words = "an array that the other can be repeated to";
                        return Err(fault(ArrayError::shape("sum_like", words, &[&whole, &like])));
                    }
                    if like == whole { Wanted::All(from) } else { Wanted::Sums(from, like) }
                }
            };
            let again = wanted.iter().position(|w| matches!(output, Wanted::All(_)) && *w == output);
            wanted.push(again.map_or(output, Wanted::Again));
        }
        // Smaller steps become operands.
        let mut places: Steps<From> = SmallVec::new();
        let mut order: Steps<usize> = SmallVec::new();
        for (k, shape) in made.iter().enumerate() {
            if shape.as_ref() == Some(&whole) {
                places.push(From::Step(order.len()));
                order.push(k);
                continue;
            }
            let step = renamed(&recipe.steps[k], &places);
            let shape = shape.clone().unwrap_or_default();
            let values = self.stretches(&[step], &[Wanted::All(From::Step(0))], &shape, operands)?;
            places.push(From::Operand(operands.len()));
            operands.extend(values);
        }
        let steps: Steps<Step> = order.iter().map(|&k| renamed(&recipe.steps[k], &places)).collect();
        for output in &mut wanted {
            if let Wanted::All(from) | Wanted::Sum(from) | Wanted::Sums(from, _) = output
                && let From::Step(k) = *from
            {
                *from = places[k];
            }
        }
        self.stretches(&steps, &wanted, &whole, operands)
    }

    /// Runs steps of one shape.
    fn stretches(
        &mut self,
        steps: &[Step],
        outputs: &[Wanted],
        shape: &[usize],
        operands: &[Operand<S>],
    ) -> Result<Results<S>, Fault> {
        let n: usize = shape.iter().product();
        // Operands of other shapes are repeated: each stretch into a place of its own behind those of the steps.
        let mut repeated: Each<Option<Repeated>> = SmallVec::new();
        for (k, operand) in operands.iter().enumerate() {
            let used = steps.iter().any(|s| s.from.contains(&From::Operand(k)));
            let other = operand.shape().filter(|s| n > 0 && used && s.as_slice() != shape);
            repeated.push(other.map(|from| Repeated::new(&from, shape)));
        }
        let (slots, used) = slots(steps, outputs);
        let places = used + operands.len();
        if self.scratch.reals.len() < places {
            self.scratch.reals.resize_with(places, Vec::new);
            self.scratch.complexes.resize_with(places, Vec::new);
        }
        // The memory of an array that is wanted lies among the stretches while it is filled.
        let mut results: Results<S> =
            outputs.iter().map(|output| self.begin(output, steps, &slots, operands, shape)).collect();
        let wanted: Steps<bool> =
            (0..steps.len()).map(|k| outputs.contains(&Wanted::All(From::Step(k)))).collect();
        let mut runs: Few<Option<Repeated>> = (outputs.iter())
            .map(|output| match output {
                Wanted::Sums(_, to) if n > 0 => Some(Repeated::new(to, shape)),
                _ => None,
            })
            .collect();
        let mut fault = None;
        let mut windows: Each<Window> = SmallVec::new();
        for start in (0..n).step_by(AT_ONCE) {
            let len = AT_ONCE.min(n - start);
            let Scratch { reals, complexes } = &mut *self.scratch;
            windows.clear();
            windows.extend(operands.iter().zip(&mut repeated).enumerate().map(|(k, (operand, repeated))| {
                match (repeated, operand) {
                    (Some(r), Operand::Reals(Some(a))) => r.next(a, len, &mut reals[used + k]),
                    (Some(r), Operand::Complexes(Some(a))) => r.next(a, len, &mut complexes[used + k]),
                    _ => Window::Array(start..start + len),
                }
            }));
            for (k, step) in steps.iter().enumerate() {
                let slot = slots[k];
                let (mut real, mut complex) =
                    (std::mem::take(&mut reals[slot]), std::mem::take(&mut complexes[slot]));
                if !wanted[k] {
                    real.clear();
                    complex.clear();
                }
                let part = |from: From| match from {
                    From::Step(j) if steps[j].complex => {
                        Parts::Complexes(Part::Many(end(&complexes[slots[j]], len)))
                    }
                    From::Step(j) => Parts::Reals(Part::Many(end(&reals[slots[j]], len))),
                    From::Operand(j) => match &operands[j] {
                        Operand::Real(x) => Parts::Reals(Part::One(x)),
                        Operand::Complex(x) => Parts::Complexes(Part::One(x)),
                        Operand::Int(x) => Parts::Ints(Part::One(x)),
                        Operand::Reals(a) => Parts::Reals(stretch(a, &windows[j], &reals[used + j])),
                        Operand::Complexes(a) => {
                            Parts::Complexes(stretch(a, &windows[j], &complexes[used + j]))
                        }
                        Operand::Ints(a) => Parts::Ints(stretch(a, &windows[j], &[])),
                    },
                };
                let [a, b] = step.from.map(part);
                if let Err(source) = run(step.op, a, b, &mut real, &mut complex) {
                    fault
                        .get_or_insert((Some(step.at), ArrayError::Undecided { op: step.op.name(), source }));
                }
                (reals[slot], complexes[slot]) = (real, complex);
            }
            if fault.is_some() {
                break;
            }
            for ((output, result), runs) in outputs.iter().zip(&mut results).zip(&mut runs) {
                let (Wanted::Sum(from) | Wanted::Sums(from, _)) = output else { continue };
                let (mut real, mut complex): (&[T], &[S]) = (&[], &[]);
                match *from {
                    From::Step(k) if steps[k].complex => complex = end(&complexes[slots[k]], len),
                    From::Step(k) => real = end(&reals[slots[k]], len),
                    From::Operand(k) => match &operands[k] {
                        Operand::Reals(Some(a)) => real = &a[start..start + len],
                        Operand::Complexes(Some(a)) => complex = &a[start..start + len],
                        _ => {}
                    },
                }
                match (result, runs) {
                    (Operand::Real(s), _) => real.chunks(BLOCK).for_each(|block| *s += sum(block)),
                    (Operand::Complex(s), _) => complex.chunks(BLOCK).for_each(|block| *s += sum(block)),
                    (Operand::Reals(Some(sums)), Some(runs)) => {
                        add_runs(runs, real, &mut *Arc::make_mut(sums))
                    }
                    (Operand::Complexes(Some(sums)), Some(runs)) => {
                        add_runs(runs, complex, &mut *Arc::make_mut(sums));
                    }
                    _ => {}
                }
            }
        }
        for (k, output) in outputs.iter().enumerate() {
            match *output {
                Wanted::All(From::Step(step)) => self.exchange(slots[step], &mut results[k]),
                Wanted::Again(first) => results[k] = results[first].again(),
                _ => {}
            }
        }
        match fault {
            Some(fault) => Err(fault),
            None => Ok(results),
        }
    }

    /// A result before the first stretch.
    fn begin(
        &mut self,
        output: &Wanted,
        steps: &[Step],
        slots: &[usize],
        operands: &[Operand<S>],
        shape: &[usize],
    ) -> Operand<S> {
        let (from, shape) = match output {
            Wanted::All(From::Operand(k)) => return operands[*k].again(),
            Wanted::Again(_) => return Operand::Int(0),
            Wanted::Hollow(true, shape) => {
                let mut array = self.complex_bank.fresh(0);
                Arc::make_mut(&mut array).hollow(shape);
                return Operand::Complexes(Some(array));
            }
            Wanted::Hollow(false, shape) => {
                let mut array = self.real_bank.fresh(0);
                Arc::make_mut(&mut array).hollow(shape);
                return Operand::Reals(Some(array));
            }
            Wanted::All(from) => (*from, Some(shape)),
            Wanted::Sum(from) => (*from, None),
            Wanted::Sums(from, to) => (*from, Some(to.as_slice())),
        };
        let complex = match from {
            From::Step(k) => steps[k].complex,
            From::Operand(k) => matches!(operands[k], Operand::Complexes(_)),
        };
        let Some(shape) = shape else {
            return if complex { Operand::Complex(S::zero()) } else { Operand::Real(T::zero()) };
        };
        let n = shape.iter().product();
        let zeros = if matches!(output, Wanted::Sums(..)) { n } else { 0 };
        let mut result = if complex {
            let mut array = self.complex_bank.fresh(n);
            Arc::make_mut(&mut array).start(shape).resize(zeros, S::zero());
            Operand::Complexes(Some(array))
        } else {
            let mut array = self.real_bank.fresh(n);
            Arc::make_mut(&mut array).start(shape).resize(zeros, T::zero());
            Operand::Reals(Some(array))
        };
        if let Wanted::All(From::Step(k)) = *output {
            self.exchange(slots[k], &mut result);
        }
        result
    }

    /// Exchanges the elements of a result and those in a slot.
    fn exchange(&mut self, slot: usize, result: &mut Operand<S>) {
        match result {
            Operand::Reals(Some(array)) => {
                std::mem::swap(Arc::make_mut(array).elements(), &mut self.scratch.reals[slot]);
            }
            Operand::Complexes(Some(array)) => {
                std::mem::swap(Arc::make_mut(array).elements(), &mut self.scratch.complexes[slot]);
            }
            _ => {}
        }
    }
}

/// The last of some numbers.
fn end<E>(items: &[E], len: usize) -> &[E] {
    &items[items.len() - len..]
}

/// A step that reads other places.
fn renamed(step: &Step, places: &[From]) -> Step {
    let from = step.from.map(|from| match from {
        From::Step(k) => places[k],
        operand => operand,
    });
    Step { from, ..*step }
}

fn stretch<'a, E>(array: &'a Held<E>, window: &Window, buffer: &'a [E]) -> Part<'a, E> {
    Part::Many(match (window, array) {
        (Window::Array(range), Some(array)) => &array[range.clone()],
        (Window::Buffer(range), _) => &buffer[range.clone()],
        _ => &[],
    })
}

/// The slot in which each step writes, and how many there are. A step whose readers are done hands its slot on, so
/// that few stay in the nearest cache; what is wanted keeps its own.
fn slots(steps: &[Step], outputs: &[Wanted]) -> (Steps<usize>, usize) {
    let mut last: Steps<usize> = SmallVec::from_elem(0, steps.len());
    for (k, step) in steps.iter().enumerate() {
        for from in step.from {
            if let From::Step(j) = from {
                last[j] = k;
            }
        }
    }
    for output in outputs {
        if let Wanted::All(from) | Wanted::Sum(from) | Wanted::Sums(from, _) = output
            && let From::Step(k) = *from
        {
            last[k] = steps.len();
        }
    }
    let (mut slots, mut used): (Steps<usize>, usize) = (SmallVec::new(), 0);
    let mut free: Steps<usize> = SmallVec::new();
    for (k, step) in steps.iter().enumerate() {
        let slot = if outputs.contains(&Wanted::All(From::Step(k))) { None } else { free.pop() };
        slots.push(slot.unwrap_or_else(|| {
            used += 1;
            used - 1
        }));
        for (place, from) in step.from.iter().enumerate() {
            if let From::Step(j) = *from
                && last[j] == k
                && !(place == 1 && step.from[0] == *from)
            {
                free.push(slots[j]);
            }
        }
    }
    (slots, used)
}
