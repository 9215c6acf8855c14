//! Execution of fused kernels: elementwise operations run over chunks of elements that stay in fast
//! memory (strip-mining).
//!
//! Each step runs over a chunk of [`AT_ONCE`] elements before the next one does; only outputs are
//! written to memory. So the dispatch is paid once for a chunk, each step is a plain loop over
//! slices with the processor's vector instructions, and no intermediate array is ever stored. An
//! operand of a smaller shape is broadcast chunk by chunk, a part of an array is read where it is.
//! This is [planned once](Plan) for operands of the same shapes.
//!
//! A sum has the same bits as that of an array that was made before.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    array::{AT_ONCE, Array, ArrayError, Window},
    scalar::{Real, Scalar},
};

use super::{
    super::{
        Limits,
        code::{Bank, Slot},
        recipe::Recipe,
    },
    array_bank::ArrayBank,
    banks::{Arrays, Banks, Base},
    loops::run,
    room::Room,
    stretch::{Operand, Read, Stretch, VECTOR, aligned, collect, put},
    sweeps::{Fault, Place, Plan, Reading, Sweep, Wanted, begins, measures},
};

/// Scratch memory of kernels: the results of steps for one chunk, operands broadcast for one, and
/// the plans.
#[derive(Debug)]
pub(super) struct Scratch<S: Scalar> {
    reals: Vec<Vec<S::Real>>,
    complexes: Vec<Vec<S>>,
    plans: Vec<Option<Plan>>,
}

impl<S: Scalar> Scratch<S> {
    pub(super) fn new() -> Scratch<S> {
        Scratch { reals: Vec::new(), complexes: Vec::new(), plans: Vec::new() }
    }
}

/// Vector that holds as many elements as most kernels have without allocating.
type Each<T> = SmallVec<[T; 12]>;
type Few<T> = SmallVec<[T; 4]>;
type Operands<S> = Each<Operand<S>>;
type Results<S> = Few<Operand<S>>;

/// Runs a fused kernel.
pub(super) fn elements<T: Real, S: Scalar<Real = T>>(
    banks: &mut Banks<S>,
    recipe: &Arc<Recipe>,
    args: &[Slot],
    results: &[Slot],
    base: Base,
    limits: &Limits,
) -> Result<(), Fault> {
    let on = |slot: Slot| base[slot.bank as usize] + slot.reg as usize;
    let Banks { reals, complexes, ints, arrays } = banks;
    let mut operands: Operands<S> = SmallVec::new();
    for (k, &slot) in args.iter().enumerate() {
        let operand = match slot.bank {
            Bank::Real => Operand::Real(reals[on(slot)].clone()),
            Bank::Complex => Operand::Complex(complexes[on(slot)].clone()),
            Bank::Int => Operand::Int(ints[on(slot)]),
            // Arrays are lent: to share one costs as much as a small loop.
            Bank::Reals => Operand::Reals(arrays.reals.read(on(slot), true)),
            Bank::Complexes => Operand::Complexes(arrays.complexes.read(on(slot), true)),
            Bank::Ints => Operand::Ints(arrays.ints.read(on(slot), true)),
        };
        let register = |s: &Slot| (s.bank, s.reg) == (slot.bank, slot.reg);
        let same = operand.is_missing().then(|| args[..k].iter().position(register)).flatten();
        operands.push(same.map_or(operand, |j| operands[j].again()));
    }
    let Arrays { reals: real_bank, complexes: complex_bank, ints: int_bank, scratch, room, .. } =
        arrays;
    let mut run = Run { real_bank, complex_bank, scratch, room, args };
    let values = run.recipe(recipe, &mut operands, limits.array);
    for (k, operand) in operands.into_iter().enumerate() {
        let back = args.get(k).filter(|slot| !slot.last).map(|&slot| on(slot));
        match operand {
            Operand::Reals(array) => run.real_bank.give_back(back, array),
            Operand::Complexes(array) => run.complex_bank.give_back(back, array),
            Operand::Ints(array) => int_bank.give_back(back, array),
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

/// Number of elements, more than the nearest cache holds, from which on a result is written in
/// place of an operand that is not read again.
const LARGE: usize = 8 * AT_ONCE;

struct Run<'a, S: Scalar> {
    real_bank: &'a mut ArrayBank<S::Real>,
    complex_bank: &'a mut ArrayBank<S>,
    scratch: &'a mut Scratch<S>,
    room: &'a mut Room,
    /// Registers of the operands; operands that loops give come after them.
    args: &'a [Slot],
}

impl<T: Real, S: Scalar<Real = T>> Run<'_, S> {
    /// Runs the loops of a kernel.
    fn recipe(
        &mut self,
        recipe: &Arc<Recipe>,
        operands: &mut Operands<S>,
        limit: usize,
    ) -> Result<Results<S>, Fault> {
        let mut plan = self.plan(recipe, operands, limit)?;
        let done = self.sweeps(&mut plan.sweeps, operands, limit);
        self.scratch.plans[recipe.number] = Some(plan);
        done
    }

    /// Returns the plan of the last run if it fits, perhaps with other starts of views, else a new
    /// one.
    fn plan(
        &mut self,
        recipe: &Arc<Recipe>,
        operands: &[Operand<S>],
        limit: usize,
    ) -> Result<Plan, Fault> {
        let plans = &mut self.scratch.plans;
        if plans.len() <= recipe.number {
            plans.resize_with(recipe.number + 1, || None);
        }
        let seen = |k: usize, o: &Operand<S>| o.seen(measures(recipe, k));
        let mut last = plans[recipe.number].take().filter(|plan| Arc::ptr_eq(&plan.recipe, recipe));
        if let Some(plan) = &mut last {
            let mut moved = false;
            let fits = operands.iter().enumerate().all(|(k, o)| {
                let begins_elsewhere = !o.is(&plan.seen[k]) && begins(recipe, k);
                if begins_elsewhere {
                    (plan.seen[k], moved) = (seen(k, o), true);
                }
                o.is(&plan.seen[k])
            });
            if fits && moved {
                plan.restart()?;
            }
            last = last.filter(|_| fits);
        }
        match last {
            Some(plan) => Ok(plan),
            None => {
                let seen = operands.iter().enumerate().map(|(k, o)| seen(k, o));
                Plan::new(recipe, seen.collect(), limit)
            }
        }
    }

    fn sweeps(
        &mut self,
        sweeps: &mut [Sweep],
        operands: &mut Operands<S>,
        limit: usize,
    ) -> Result<Results<S>, Fault> {
        // The operands are too large, or the plan was made under another limit.
        if let Some(sweep) = sweeps.iter().find(|sweep| sweep.len > limit) {
            let given = sweep.shape.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect();
            return Err((None, ArrayError::Lengths { given, limit }));
        }
        let cost = |sweep: &Sweep| {
            (sweep.len as u64).saturating_mul((sweep.works.len() + sweep.outputs.len()) as u64)
        };
        self.room.work(sweeps.iter().map(cost).fold(0, u64::saturating_add));
        let Some((last, before)) = sweeps.split_last_mut() else { return Ok(SmallVec::new()) };
        for sweep in before {
            let made = self.sweep(sweep, operands)?;
            operands.extend(made);
        }
        self.sweep(last, operands)
    }

    /// Goes over all elements once.
    fn sweep(
        &mut self,
        sweep: &mut Sweep,
        operands: &mut [Operand<S>],
    ) -> Result<Results<S>, Fault> {
        for output in &sweep.outputs {
            if let Wanted::All(Place::Work(k), over) = *output {
                let work = &mut sweep.works[k];
                let over =
                    over.filter(|&j| sweep.len >= LARGE && self.args.get(j).is_none_or(|s| s.last));
                work.kept = !over.is_some_and(|j| operands[j].is_alone(work.complex, &sweep.shape));
            }
        }
        self.make_room(sweep);
        // During the loop the slots hold the memory of the arrays that are outputs.
        let mut results: Results<S> = SmallVec::new();
        for output in &sweep.outputs {
            self.begin(output, sweep, operands, &mut results).map_err(|full| (None, full))?;
        }
        for source in &mut sweep.sources {
            if let Reading::Repeated(again) = &mut source.reading {
                again.restart();
            }
        }
        for output in &mut sweep.outputs {
            if let Wanted::Sums(_, _, Some(again)) = output {
                again.restart();
            }
        }
        let mut done = Ok(());
        let mut windows: Each<Window> = SmallVec::new();
        for start in (0..sweep.len).step_by(AT_ONCE) {
            let len = AT_ONCE.min(sweep.len - start);
            done = self.stretch(sweep, operands, (start, len), &mut windows, &mut results);
            if done.is_err() {
                break;
            }
        }
        for (k, output) in sweep.outputs.iter().enumerate() {
            match *output {
                Wanted::All(Place::Work(j), Some(operand)) if !sweep.works[j].kept => {
                    results[k] = std::mem::replace(&mut operands[operand], Operand::Int(0));
                }
                Wanted::All(Place::Work(j), _) => {
                    self.exchange(sweep.works[j].slot, &mut results[k])
                }
                Wanted::Same(first) => results[k] = results[first].again(),
                _ => {}
            }
        }
        done.map(|()| results)
    }

    /// Runs the steps on one chunk.
    fn stretch(
        &mut self,
        sweep: &mut Sweep,
        operands: &mut [Operand<S>],
        (start, len): (usize, usize),
        windows: &mut Each<Window>,
        results: &mut Results<S>,
    ) -> Result<(), Fault> {
        let Scratch { reals, complexes, .. } = &mut *self.scratch;
        let Sweep { sources, works, outputs, slots, .. } = sweep;
        windows.clear();
        for (k, source) in sources.iter_mut().enumerate() {
            let (real, complex) = (&mut reals[*slots + k], &mut complexes[*slots + k]);
            windows.push(match (&mut source.reading, &operands[source.operand]) {
                (Reading::Repeated(r), Operand::Reals(Some(a))) => r.now.next(a, len, real),
                (Reading::Repeated(r), Operand::Complexes(Some(a))) => r.now.next(a, len, complex),
                (Reading::Moved(_, m), Operand::Reals(Some(a))) => m.next(a, start, len, real),
                (Reading::Moved(_, m), Operand::Reals(None)) => m.next(&[], start, len, real),
                (Reading::Moved(_, m), Operand::Complexes(Some(a))) => {
                    m.next(a, start, len, complex)
                }
                (Reading::Moved(_, m), Operand::Complexes(None)) => {
                    m.next(&[], start, len, complex)
                }
                _ => Window::Array(start),
            });
        }
        for work in works.iter() {
            let slot = work.slot;
            let (mut real, mut complex) =
                (std::mem::take(&mut reals[slot]), std::mem::take(&mut complexes[slot]));
            let stretch = Stretch {
                sources,
                works,
                slots: *slots,
                operands,
                windows,
                reals,
                complexes,
                start,
                len,
            };
            let read = Read { stretch: &stretch, from: work.from };
            let done = if let Some(twice) = work.twice {
                let range = stretch.range(work, &real);
                T::twice_all(twice, work.from.map(|place| stretch.reals(place)), &mut real[range]);
                Ok(())
            } else if work.complex {
                let range = stretch.range(work, &complex);
                run(work.op, &read, true, &mut [], &mut complex[range])
            } else {
                let range = stretch.range(work, &real);
                run(work.op, &read, false, &mut real[range], &mut [])
            };
            (reals[slot], complexes[slot]) = (real, complex);
            done.map_err(|source| {
                (Some(work.at), ArrayError::Undecided { op: work.op.name(), source })
            })?;
        }
        let stretch = Stretch {
            sources,
            works,
            slots: *slots,
            operands,
            windows,
            reals,
            complexes,
            start,
            len,
        };
        for (output, result) in outputs.iter_mut().zip(results) {
            match output {
                Wanted::Sums(place, _, runs) => collect(&stretch, *place, result, runs.as_mut()),
                Wanted::Sum(place) | Wanted::All(place @ Place::Source(_), _) => {
                    collect(&stretch, *place, result, None);
                }
                _ => {}
            }
        }
        for output in outputs.iter() {
            if let Wanted::All(Place::Work(k), Some(j)) = *output
                && !works[k].kept
            {
                let (real, complex) = (&reals[works[k].slot], &complexes[works[k].slot]);
                match &mut operands[j] {
                    Operand::Reals(Some(array)) => put(array, start, &real[aligned(real)..][..len]),
                    Operand::Complexes(Some(array)) => {
                        put(array, start, &complex[aligned(complex)..][..len])
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Allocates slots of the length of a chunk.
    fn make_room(&mut self, sweep: &Sweep) {
        let Scratch { reals, complexes, .. } = &mut *self.scratch;
        let places = sweep.slots + sweep.sources.len();
        if reals.len() < places {
            reals.resize_with(places, Vec::new);
            complexes.resize_with(places, Vec::new);
        }
        let len = AT_ONCE.min(sweep.len) + VECTOR;
        for work in sweep.works.iter().filter(|w| !w.kept) {
            if work.complex && complexes[work.slot].len() < len {
                complexes[work.slot].resize(len, S::zero());
            }
            if !work.complex && reals[work.slot].len() < len {
                reals[work.slot].resize(len, T::zero());
            }
        }
    }

    /// Adds a result before the first chunk.
    fn begin(
        &mut self,
        output: &Wanted,
        sweep: &Sweep,
        operands: &[Operand<S>],
        results: &mut Results<S>,
    ) -> Result<(), ArrayError> {
        let Run { real_bank, complex_bank, scratch, room, .. } = self;
        let complex = |place: Place| match place {
            Place::Work(k) => sweep.works[k].complex,
            Place::Source(k) => {
                matches!(
                    operands[sweep.sources[k].operand],
                    Operand::Complex(_) | Operand::Complexes(_)
                )
            }
        };
        match *output {
            Wanted::Operand(k) => results.push(operands[k].again()),
            Wanted::Same(_) => results.push(Operand::Int(0)),
            Wanted::All(Place::Work(k), _) if !sweep.works[k].kept => results.push(Operand::Int(0)),
            Wanted::Hollow(true, ref shape) => {
                let mut array = complex_bank.empty();
                Arc::make_mut(&mut array).hollow(shape);
                results.push(Operand::Complexes(Some(array)));
            }
            Wanted::Hollow(false, ref shape) => {
                let mut array = real_bank.empty();
                Arc::make_mut(&mut array).hollow(shape);
                results.push(Operand::Reals(Some(array)));
            }
            Wanted::Sum(place) if complex(place) => results.push(Operand::Complex(S::zero())),
            Wanted::Sum(_) => results.push(Operand::Real(T::zero())),
            Wanted::Sums(place, ref shape, _) if complex(place) => {
                results.push(Operand::Complexes(Some(zeros(complex_bank, shape, room)?)));
            }
            Wanted::Sums(_, ref shape, _) => {
                results.push(Operand::Reals(Some(zeros(real_bank, shape, room)?)));
            }
            Wanted::All(place, _) if complex(place) => {
                let slot = slot_of(sweep, place).map(|k| &mut scratch.complexes[k]);
                results.push(Operand::Complexes(Some(unwritten(
                    complex_bank,
                    &sweep.shape,
                    slot,
                    room,
                )?)));
            }
            Wanted::All(place, _) => {
                let slot = slot_of(sweep, place).map(|k| &mut scratch.reals[k]);
                results.push(Operand::Reals(Some(unwritten(real_bank, &sweep.shape, slot, room)?)));
            }
        }
        Ok(())
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

/// Creates an array of zeros.
fn zeros<E: Scalar>(
    bank: &mut ArrayBank<E>,
    shape: &[usize],
    room: &mut Room,
) -> Result<Arc<Array<E>>, ArrayError> {
    let n = shape.iter().product();
    let mut array = bank.fresh(n, room)?;
    Arc::make_mut(&mut array).start(shape).resize(n, E::zero());
    Ok(array)
}

/// Returns an array to be written to, whose elements are swapped with those in a slot.
fn unwritten<E: Scalar>(
    bank: &mut ArrayBank<E>,
    shape: &[usize],
    slot: Option<&mut Vec<E>>,
    room: &mut Room,
) -> Result<Arc<Array<E>>, ArrayError> {
    let mut array = bank.stale(shape.iter().product(), room)?;
    let to = Arc::make_mut(&mut array);
    to.overwrite(shape, &E::zero());
    slot.into_iter().for_each(|slot| std::mem::swap(slot, to.elements()));
    Ok(array)
}

fn slot_of(sweep: &Sweep, place: Place) -> Option<usize> {
    if let Place::Work(k) = place { Some(sweep.works[k].slot) } else { None }
}
