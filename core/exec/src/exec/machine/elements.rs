//! Execution of fused kernels: elementwise operations run over chunks of elements that stay in fast
//! memory (strip-mining).
//!
//! Each step runs over a chunk of [`AT_ONCE`] elements before the next one does; only outputs are
//! written to memory. So the dispatch is paid once for a chunk, each step is a plain loop over
//! slices with the processor's vector instructions, and no intermediate array is ever stored. An
//! operand of a smaller shape is broadcast chunk by chunk, a part of an array is read where it is.
//! This is [planned once](KernelPlan) for operands of the same shapes.
//!
//! A sum has the same bits as that of an array that was made before.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    array::{AT_ONCE, Array, ArrayError, ChunkSource},
    scalar::{Real, Scalar},
};

use super::{
    super::{
        Limits,
        code::{Bank, RegisterSlot},
        fused_kernel::FusedKernel,
    },
    array_bank::ArrayBank,
    banks::{ArrayBanks, Banks, FrameBase},
    chunk::{
        Chunk, ChunkInputs, KernelOperand, VECTOR_BYTES, accumulate_chunk, aligned, write_chunk,
    },
    kernel_plan::{
        ElementLoop, KernelError, KernelPlan, OperandAccess, OutputSpec, StepInput,
        determines_shape, is_view_start,
    },
    loops::run,
    memory_budget::MemoryBudget,
    scratch::KernelScratch,
};

/// Vector that holds as many elements as most kernels have without allocating.
type OperandVec<T> = SmallVec<[T; 12]>;
type ResultVec<T> = SmallVec<[T; 4]>;
type KernelOperands<S> = OperandVec<KernelOperand<S>>;
type KernelResults<S> = ResultVec<KernelOperand<S>>;

/// Runs a fused kernel.
pub(super) fn run_kernel<T: Real, S: Scalar<Real = T>>(
    banks: &mut Banks<S>,
    kernel: &Arc<FusedKernel>,
    args: &[RegisterSlot],
    results: &[RegisterSlot],
    base: FrameBase,
    limits: &Limits,
) -> Result<(), KernelError> {
    let on = |slot: RegisterSlot| base[slot.bank as usize] + slot.reg as usize;
    let Banks { reals, complexes, ints, arrays } = banks;
    let mut operands: KernelOperands<S> = SmallVec::new();
    for (k, &slot) in args.iter().enumerate() {
        let operand = match slot.bank {
            Bank::Real => KernelOperand::Real(reals[on(slot)].clone()),
            Bank::Complex => KernelOperand::Complex(complexes[on(slot)].clone()),
            Bank::Int => KernelOperand::Int(ints[on(slot)]),
            // Arrays are lent: to share one costs as much as a small loop.
            Bank::Reals => KernelOperand::Reals(arrays.reals.read(on(slot), true)),
            Bank::Complexes => KernelOperand::Complexes(arrays.complexes.read(on(slot), true)),
            Bank::Ints => KernelOperand::Ints(arrays.ints.read(on(slot), true)),
        };
        let register = |s: &RegisterSlot| (s.bank, s.reg) == (slot.bank, slot.reg);
        let same = operand.is_missing().then(|| args[..k].iter().position(register)).flatten();
        operands.push(same.map_or(operand, |j| operands[j].share()));
    }
    let ArrayBanks {
        reals: real_bank,
        complexes: complex_bank,
        ints: int_bank,
        scratch,
        budget,
        ..
    } = arrays;
    let mut run = KernelRun { real_bank, complex_bank, scratch, budget, args };
    let values = run.run(kernel, &mut operands, limits.array);
    for (k, operand) in operands.into_iter().enumerate() {
        let back = args.get(k).filter(|slot| !slot.last).map(|&slot| on(slot));
        match operand {
            KernelOperand::Reals(array) => run.real_bank.give_back(back, array),
            KernelOperand::Complexes(array) => run.complex_bank.give_back(back, array),
            KernelOperand::Ints(array) => int_bank.give_back(back, array),
            _ => {}
        }
    }
    for (value, &result) in values?.into_iter().zip(results) {
        match value {
            KernelOperand::Real(x) => reals[on(result)] = x,
            KernelOperand::Complex(x) => complexes[on(result)] = x,
            KernelOperand::Reals(array) => arrays.reals.store(on(result), array),
            KernelOperand::Complexes(array) => arrays.complexes.store(on(result), array),
            KernelOperand::Int(_) | KernelOperand::Ints(_) => {}
        }
    }
    Ok(())
}

/// Number of elements, more than the nearest cache holds, from which on a result is written in
/// place of an operand that is not read again.
const MIN_IN_PLACE: usize = 8 * AT_ONCE;

struct KernelRun<'a, S: Scalar> {
    real_bank: &'a mut ArrayBank<S::Real>,
    complex_bank: &'a mut ArrayBank<S>,
    scratch: &'a mut KernelScratch<S>,
    budget: &'a mut MemoryBudget,
    /// Registers of the operands; operands that loops give come after them.
    args: &'a [RegisterSlot],
}

impl<T: Real, S: Scalar<Real = T>> KernelRun<'_, S> {
    /// Runs the loops of a kernel.
    fn run(
        &mut self,
        kernel: &Arc<FusedKernel>,
        operands: &mut KernelOperands<S>,
        limit: usize,
    ) -> Result<KernelResults<S>, KernelError> {
        let mut plan = self.plan(kernel, operands, limit)?;
        let done = self.run_loops(&mut plan.loops, operands, limit);
        self.scratch.plans[kernel.number] = Some(plan);
        done
    }

    /// Returns the plan of the last run if it fits, perhaps with other starts of views, else a new
    /// one.
    fn plan(
        &mut self,
        kernel: &Arc<FusedKernel>,
        operands: &[KernelOperand<S>],
        limit: usize,
    ) -> Result<KernelPlan, KernelError> {
        let plans = &mut self.scratch.plans;
        if plans.len() <= kernel.number {
            plans.resize_with(kernel.number + 1, || None);
        }
        let key_of = |k: usize, o: &KernelOperand<S>| o.shape_key(determines_shape(kernel, k));
        let mut last = plans[kernel.number].take().filter(|plan| Arc::ptr_eq(&plan.kernel, kernel));
        if let Some(plan) = &mut last {
            let mut moved = false;
            let fits = operands.iter().enumerate().all(|(k, o)| {
                let begins_elsewhere = !o.matches_key(&plan.keys[k]) && is_view_start(kernel, k);
                if begins_elsewhere {
                    (plan.keys[k], moved) = (key_of(k, o), true);
                }
                o.matches_key(&plan.keys[k])
            });
            if fits && moved {
                plan.move_views()?;
            }
            last = last.filter(|_| fits);
        }
        match last {
            Some(plan) => Ok(plan),
            None => {
                let keys = operands.iter().enumerate().map(|(k, o)| key_of(k, o));
                KernelPlan::new(kernel, keys.collect(), limit)
            }
        }
    }

    fn run_loops(
        &mut self,
        loops: &mut [ElementLoop],
        operands: &mut KernelOperands<S>,
        limit: usize,
    ) -> Result<KernelResults<S>, KernelError> {
        // The operands are too large, or the plan was made under another limit.
        if let Some(element_loop) = loops.iter().find(|element_loop| element_loop.len > limit) {
            let given =
                element_loop.shape.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect();
            return Err((None, ArrayError::Lengths { given, limit }));
        }
        let cost = |element_loop: &ElementLoop| {
            (element_loop.len as u64)
                .saturating_mul((element_loop.steps.len() + element_loop.outputs.len()) as u64)
        };
        self.budget.work(loops.iter().map(cost).fold(0, u64::saturating_add));
        let Some((last, before)) = loops.split_last_mut() else { return Ok(SmallVec::new()) };
        for element_loop in before {
            let made = self.run_loop(element_loop, operands)?;
            operands.extend(made);
        }
        self.run_loop(last, operands)
    }

    /// Goes over all elements once.
    fn run_loop(
        &mut self,
        element_loop: &mut ElementLoop,
        operands: &mut [KernelOperand<S>],
    ) -> Result<KernelResults<S>, KernelError> {
        for output in &element_loop.outputs {
            if let OutputSpec::Array(StepInput::Step(k), over) = *output {
                let work = &mut element_loop.steps[k];
                let over = over.filter(|&j| {
                    element_loop.len >= MIN_IN_PLACE && self.args.get(j).is_none_or(|s| s.last)
                });
                work.is_output =
                    !over.is_some_and(|j| operands[j].is_unique(work.complex, &element_loop.shape));
            }
        }
        self.make_room(element_loop);
        // During the loop the slots hold the memory of the arrays that are outputs.
        let mut results: KernelResults<S> = SmallVec::new();
        for output in &element_loop.outputs {
            self.begin(output, element_loop, operands, &mut results)
                .map_err(|full| (None, full))?;
        }
        for source in &mut element_loop.operands {
            if let OperandAccess::Broadcast(again) = &mut source.access {
                again.restart();
            }
        }
        for output in &mut element_loop.outputs {
            if let OutputSpec::Sums(_, _, Some(again)) = output {
                again.restart();
            }
        }
        let mut done = Ok(());
        let mut windows: OperandVec<ChunkSource> = SmallVec::new();
        for start in (0..element_loop.len).step_by(AT_ONCE) {
            let len = AT_ONCE.min(element_loop.len - start);
            done = self.run_chunk(element_loop, operands, (start, len), &mut windows, &mut results);
            if done.is_err() {
                break;
            }
        }
        for (k, output) in element_loop.outputs.iter().enumerate() {
            match *output {
                OutputSpec::Array(StepInput::Step(j), Some(operand))
                    if !element_loop.steps[j].is_output =>
                {
                    results[k] = std::mem::replace(&mut operands[operand], KernelOperand::Int(0));
                }
                OutputSpec::Array(StepInput::Step(j), _) => {
                    self.exchange(element_loop.steps[j].slot, &mut results[k])
                }
                OutputSpec::Duplicate(first) => results[k] = results[first].share(),
                _ => {}
            }
        }
        done.map(|()| results)
    }

    /// Runs the steps on one chunk.
    fn run_chunk(
        &mut self,
        element_loop: &mut ElementLoop,
        operands: &mut [KernelOperand<S>],
        (start, len): (usize, usize),
        windows: &mut OperandVec<ChunkSource>,
        results: &mut KernelResults<S>,
    ) -> Result<(), KernelError> {
        let KernelScratch { reals, complexes, .. } = &mut *self.scratch;
        let ElementLoop { operands: sources, steps: works, outputs, slots, .. } = element_loop;
        windows.clear();
        for (k, source) in sources.iter_mut().enumerate() {
            let (real, complex) = (&mut reals[*slots + k], &mut complexes[*slots + k]);
            windows.push(match (&mut source.access, &operands[source.operand]) {
                (OperandAccess::Broadcast(r), KernelOperand::Reals(Some(a))) => {
                    r.cursor.next(a, len, real)
                }
                (OperandAccess::Broadcast(r), KernelOperand::Complexes(Some(a))) => {
                    r.cursor.next(a, len, complex)
                }
                (OperandAccess::View(_, m), KernelOperand::Reals(Some(a))) => {
                    m.next(a, start, len, real)
                }
                (OperandAccess::View(_, m), KernelOperand::Reals(None)) => {
                    m.next(&[], start, len, real)
                }
                (OperandAccess::View(_, m), KernelOperand::Complexes(Some(a))) => {
                    m.next(a, start, len, complex)
                }
                (OperandAccess::View(_, m), KernelOperand::Complexes(None)) => {
                    m.next(&[], start, len, complex)
                }
                _ => ChunkSource::Array(start),
            });
        }
        // The results of steps that have run, borrowed until the next one writes.
        macro_rules! chunk {
            () => {
                Chunk {
                    sources,
                    steps: works,
                    slots: *slots,
                    operands,
                    windows,
                    reals,
                    complexes,
                    start,
                    len,
                }
            };
        }
        for work in works.iter() {
            let slot = work.slot;
            let (mut real, mut complex) =
                (std::mem::take(&mut reals[slot]), std::mem::take(&mut complexes[slot]));
            let chunk = chunk!();
            let read = ChunkInputs { chunk: &chunk, from: work.from };
            let done = if let Some(twice) = work.pair {
                let range = chunk.range(work, &real);
                T::twice_all(twice, work.from.map(|place| chunk.reals(place)), &mut real[range]);
                Ok(())
            } else if work.complex {
                let range = chunk.range(work, &complex);
                run(work.op, &read, true, &mut [], &mut complex[range])
            } else {
                let range = chunk.range(work, &real);
                run(work.op, &read, false, &mut real[range], &mut [])
            };
            (reals[slot], complexes[slot]) = (real, complex);
            done.map_err(|source| {
                (Some(work.at), ArrayError::Undecided { op: work.op.name(), source })
            })?;
        }
        let chunk = chunk!();
        for (output, result) in outputs.iter_mut().zip(results) {
            match output {
                OutputSpec::Sums(place, _, runs) => {
                    accumulate_chunk(&chunk, *place, result, runs.as_mut())
                }
                OutputSpec::Sum(place) | OutputSpec::Array(place @ StepInput::Operand(_), _) => {
                    accumulate_chunk(&chunk, *place, result, None);
                }
                _ => {}
            }
        }
        for output in outputs.iter() {
            if let OutputSpec::Array(StepInput::Step(k), Some(j)) = *output
                && !works[k].is_output
            {
                let (real, complex) = (&reals[works[k].slot], &complexes[works[k].slot]);
                match &mut operands[j] {
                    KernelOperand::Reals(Some(array)) => {
                        write_chunk(array, start, &real[aligned(real)..][..len])
                    }
                    KernelOperand::Complexes(Some(array)) => {
                        write_chunk(array, start, &complex[aligned(complex)..][..len])
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Allocates slots of the length of a chunk.
    fn make_room(&mut self, element_loop: &ElementLoop) {
        let KernelScratch { reals, complexes, .. } = &mut *self.scratch;
        let places = element_loop.slots + element_loop.operands.len();
        if reals.len() < places {
            reals.resize_with(places, Vec::new);
            complexes.resize_with(places, Vec::new);
        }
        let len = AT_ONCE.min(element_loop.len) + VECTOR_BYTES;
        for work in element_loop.steps.iter().filter(|w| !w.is_output) {
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
        output: &OutputSpec,
        element_loop: &ElementLoop,
        operands: &[KernelOperand<S>],
        results: &mut KernelResults<S>,
    ) -> Result<(), ArrayError> {
        let KernelRun { real_bank, complex_bank, scratch, budget, .. } = self;
        let complex = |place: StepInput| match place {
            StepInput::Step(k) => element_loop.steps[k].complex,
            StepInput::Operand(k) => {
                matches!(
                    operands[element_loop.operands[k].operand],
                    KernelOperand::Complex(_) | KernelOperand::Complexes(_)
                )
            }
        };
        match *output {
            OutputSpec::Operand(k) => results.push(operands[k].share()),
            OutputSpec::Duplicate(_) => results.push(KernelOperand::Int(0)),
            OutputSpec::Array(StepInput::Step(k), _) if !element_loop.steps[k].is_output => {
                results.push(KernelOperand::Int(0))
            }
            OutputSpec::ShapeOnly(true, ref shape) => {
                let mut array = complex_bank.empty();
                Arc::make_mut(&mut array).hollow(shape);
                results.push(KernelOperand::Complexes(Some(array)));
            }
            OutputSpec::ShapeOnly(false, ref shape) => {
                let mut array = real_bank.empty();
                Arc::make_mut(&mut array).hollow(shape);
                results.push(KernelOperand::Reals(Some(array)));
            }
            OutputSpec::Sum(place) if complex(place) => {
                results.push(KernelOperand::Complex(S::zero()))
            }
            OutputSpec::Sum(_) => results.push(KernelOperand::Real(T::zero())),
            OutputSpec::Sums(place, ref shape, _) if complex(place) => {
                results.push(KernelOperand::Complexes(Some(zeros(complex_bank, shape, budget)?)));
            }
            OutputSpec::Sums(_, ref shape, _) => {
                results.push(KernelOperand::Reals(Some(zeros(real_bank, shape, budget)?)));
            }
            OutputSpec::Array(place, _) if complex(place) => {
                let slot = slot_of(element_loop, place).map(|k| &mut scratch.complexes[k]);
                results.push(KernelOperand::Complexes(Some(unwritten(
                    complex_bank,
                    &element_loop.shape,
                    slot,
                    budget,
                )?)));
            }
            OutputSpec::Array(place, _) => {
                let slot = slot_of(element_loop, place).map(|k| &mut scratch.reals[k]);
                results.push(KernelOperand::Reals(Some(unwritten(
                    real_bank,
                    &element_loop.shape,
                    slot,
                    budget,
                )?)));
            }
        }
        Ok(())
    }

    /// Exchanges the elements of a result and those in a slot.
    fn exchange(&mut self, slot: usize, result: &mut KernelOperand<S>) {
        match result {
            KernelOperand::Reals(Some(array)) => {
                std::mem::swap(Arc::make_mut(array).elements(), &mut self.scratch.reals[slot]);
            }
            KernelOperand::Complexes(Some(array)) => {
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
    budget: &mut MemoryBudget,
) -> Result<Arc<Array<E>>, ArrayError> {
    let n = shape.iter().product();
    let mut array = bank.fresh(n, budget)?;
    Arc::make_mut(&mut array).start(shape).resize(n, E::zero());
    Ok(array)
}

/// Returns an array to be written to, whose elements are swapped with those in a slot.
fn unwritten<E: Scalar>(
    bank: &mut ArrayBank<E>,
    shape: &[usize],
    slot: Option<&mut Vec<E>>,
    budget: &mut MemoryBudget,
) -> Result<Arc<Array<E>>, ArrayError> {
    let mut array = bank.uninitialized(shape.iter().product(), budget)?;
    let to = Arc::make_mut(&mut array);
    to.overwrite(shape, &E::zero());
    slot.into_iter().for_each(|slot| std::mem::swap(slot, to.elements()));
    Ok(array)
}

fn slot_of(element_loop: &ElementLoop, place: StepInput) -> Option<usize> {
    if let StepInput::Step(k) = place { Some(element_loop.steps[k].slot) } else { None }
}
