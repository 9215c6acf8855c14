//! Registers of all calls, and tapes.

use std::{collections::HashMap, sync::Arc};

use crate::{
    array::{Array, ArrayError, FftPlans},
    ir::Kind,
    scalar::{Lanes, Scalar},
};

use super::{
    super::{
        Limits,
        bytecode::Routine,
        code::{BANKS, Bank, RegisterSlot},
        data::Datum,
    },
    array_bank::{ArrayBank, SharedArray},
    memory_budget::MemoryBudget,
    scratch::{KernelScratch, SmallScratch},
};

/// Start of the registers of a call in each bank.
pub(in super::super) type FrameBase = [usize; BANKS];

/// The registers of all calls, one after the other.
#[derive(Debug)]
pub(in super::super) struct Banks<S: Scalar> {
    pub(super) reals: Vec<S::Real>,
    pub(super) complexes: Vec<S>,
    pub(super) ints: Vec<i64>,
    pub(super) arrays: ArrayBanks<S>,
}

#[derive(Debug)]
pub(super) struct ArrayBanks<S: Scalar> {
    pub(super) reals: ArrayBank<S::Real>,
    pub(super) complexes: ArrayBank<S>,
    pub(super) ints: ArrayBank<i64>,
    /// Chunks of elements and plans of fused kernels.
    pub(super) scratch: KernelScratch<S>,
    pub(super) transforms: FftPlans,
    /// The numbers of small arrays.
    pub(super) small: SmallScratch<S::Real>,
    /// Budget of the run.
    pub(super) budget: MemoryBudget,
}

/// Values that a primal recorded and its adjoint has not yet read.
#[derive(Clone, Debug)]
pub(super) struct TapeStorage<S: Scalar> {
    pub(super) reals: Vec<S::Real>,
    pub(super) complexes: Vec<S>,
    pub(super) ints: Vec<i64>,
    pub(super) real_arrays: Vec<SharedArray<S::Real>>,
    pub(super) complex_arrays: Vec<SharedArray<S>>,
    pub(super) int_arrays: Vec<SharedArray<i64>>,
    /// Elements of small arrays of known shapes.
    pub(super) small: Vec<S::Real>,
    /// Checksum of the entries of each list that were pushed and not popped, as far as it is
    /// tracked: 0 for none.
    pub(super) checksums: [u64; BANKS],
}

/// Values that a primal recorded for its adjoint.
#[derive(Clone, Debug)]
pub(in super::super) struct RecordedTapes<S: Scalar>(pub(super) Vec<TapeStorage<S>>);

impl<S: Scalar> RecordedTapes<S> {
    /// Returns the tapes in reverse, for code that pops first the value that was pushed first.
    pub(in super::super) fn reversed(mut self) -> RecordedTapes<S> {
        for tape in &mut self.0 {
            tape.reals.reverse();
            tape.complexes.reverse();
            tape.ints.reverse();
            tape.real_arrays.reverse();
            tape.complex_arrays.reverse();
            tape.int_arrays.reverse();
        }
        self
    }
}

impl RecordedTapes<f64> {
    /// Writes the tapes to all lanes, if they have at most `most` bytes; returns false if they have
    /// more. An array that is on the tapes several times is converted once, into the memory of an
    /// earlier one of its length.
    pub(in super::super) fn broadcast_to_lanes<const N: usize>(
        &self,
        most: usize,
        wide: &mut RecordedTapes<Lanes<f64, N>>,
    ) -> bool {
        let mut bytes: usize = self.0.iter().map(TapeStorage::numbers).sum();
        let mut spare: HashMap<usize, Vec<Array<Lanes<f64, N>>>> = HashMap::new();
        for array in wide.0.iter_mut().flat_map(|t| t.real_arrays.drain(..)).flatten() {
            if let Ok(array) = Arc::try_unwrap(array) {
                spare.entry(array.len()).or_default().push(array);
            }
        }
        let mut made: HashMap<*const Array<f64>, Arc<Array<Lanes<f64, N>>>> = HashMap::new();
        let mut widen = |array: &Arc<Array<f64>>| {
            made.entry(Arc::as_ptr(array)).or_insert_with(|| {
                let mut wide = spare.get_mut(&array.len()).and_then(Vec::pop).unwrap_or_default();
                wide.start(&array.shape()).extend(array.iter().map(|x| Lanes([*x; N])));
                Arc::new(wide)
            });
            made.get(&Arc::as_ptr(array)).cloned()
        };
        wide.0.resize_with(self.0.len(), TapeStorage::new);
        for (tape, wide) in self.0.iter().zip(&mut wide.0) {
            // Numbers of floats are real ones.
            if !tape.complexes.is_empty() || !tape.complex_arrays.is_empty() {
                return false;
            }
            wide.clear();
            wide.reals.extend(tape.reals.iter().map(|x| Lanes([*x; N])));
            wide.small.extend(tape.small.iter().map(|x| Lanes([*x; N])));
            wide.ints.extend_from_slice(&tape.ints);
            wide.int_arrays.extend_from_slice(&tape.int_arrays);
            for array in &tape.real_arrays {
                bytes += array.as_ref().map_or(0, |a| size_of_val(a.items()));
                if bytes > most {
                    return false;
                }
                wide.real_arrays.push(array.as_ref().and_then(&mut widen));
            }
        }
        true
    }
}

impl<S: Scalar> TapeStorage<S> {
    pub(super) fn new() -> TapeStorage<S> {
        let (reals, complexes, ints) = (vec![], vec![], vec![]);
        let (real_arrays, complex_arrays, int_arrays) = (vec![], vec![], vec![]);
        TapeStorage {
            reals,
            complexes,
            ints,
            real_arrays,
            complex_arrays,
            int_arrays,
            small: vec![],
            checksums: [0; BANKS],
        }
    }
    /// Returns the bytes of the lists; arrays that they hold count as those of registers or
    /// buffers.
    pub(super) fn memory(&self) -> usize {
        bytes(&self.reals)
            + bytes(&self.complexes)
            + bytes(&self.ints)
            + bytes(&self.real_arrays)
            + bytes(&self.complex_arrays)
            + bytes(&self.int_arrays)
            + bytes(&self.small)
    }
    /// Returns the bytes of the numbers, and of the pointers to the arrays.
    pub(super) fn numbers(&self) -> usize {
        size_of_val(&self.reals[..])
            + size_of_val(&self.complexes[..])
            + size_of_val(&self.ints[..])
            + size_of_val(&self.real_arrays[..])
            + size_of_val(&self.complex_arrays[..])
            + size_of_val(&self.int_arrays[..])
            + size_of_val(&self.small[..])
    }
    pub(super) fn clear(&mut self) {
        self.reals.clear();
        self.complexes.clear();
        self.ints.clear();
        self.real_arrays.clear();
        self.complex_arrays.clear();
        self.int_arrays.clear();
        self.small.clear();
        self.checksums = [0; BANKS];
    }
}

/// Returns the bytes that a list may fill.
fn bytes<T>(items: &Vec<T>) -> usize {
    items.capacity() * size_of::<T>()
}

impl<S: Scalar> Banks<S> {
    pub(super) fn memory(&self) -> usize {
        let ArrayBanks { reals, complexes, ints, .. } = &self.arrays;
        bytes(&self.reals)
            + bytes(&self.complexes)
            + bytes(&self.ints)
            + reals.memory()
            + complexes.memory()
            + ints.memory()
    }

    pub(super) fn new() -> Banks<S> {
        let arrays = ArrayBanks {
            reals: ArrayBank::new(),
            complexes: ArrayBank::new(),
            ints: ArrayBank::new(),
            scratch: KernelScratch::new(),
            transforms: FftPlans::default(),
            small: SmallScratch::new(),
            budget: MemoryBudget::default(),
        };
        Banks { reals: vec![], complexes: vec![], ints: vec![], arrays }
    }

    /// Begins a run within limits, with the buffers that earlier ones left.
    pub(super) fn begin(&mut self, limits: &Limits) {
        let ArrayBanks { reals, complexes, ints, budget, .. } = &mut self.arrays;
        let mut buffers = reals.buffers() + complexes.buffers() + ints.buffers();
        if buffers > limits.memory {
            reals.release();
            complexes.release();
            ints.release();
            buffers = 0;
        }
        budget.begin(limits, buffers);
    }

    /// Counts the arrays of a value made elsewhere.
    pub(super) fn adopt(&mut self, value: &Datum<S>) -> Result<(), ArrayError> {
        let ArrayBanks { reals, complexes, ints, budget, .. } = &mut self.arrays;
        match value {
            Datum::Reals(array) => reals.adopt(array, budget),
            Datum::Complexes(array) => complexes.adopt(array, budget),
            Datum::Ints(array) => ints.adopt(array, budget),
            Datum::Tuple(fields) => fields.iter().try_for_each(|field| self.adopt(field)),
            _ => Ok(()),
        }
    }

    /// Clears all array registers.
    pub(super) fn clear_all(&mut self) {
        self.arrays.reals.clear_all();
        self.arrays.complexes.clear_all();
        self.arrays.ints.clear_all();
    }

    /// Grows the banks for a routine's registers, and doubles them, so that deep calls seldom grow
    /// them.
    pub(super) fn grow(&mut self, base: FrameBase, routine: &Routine) {
        #[cold]
        fn to<T: Clone + num_traits::Zero>(items: &mut Vec<T>, len: usize) {
            items.resize(len.max(2 * items.len()), T::zero());
        }
        let end = |bank: Bank| base[bank as usize] + routine.sizes[bank as usize] as usize;
        macro_rules! grow {
            ($($bank:ident: $items:expr),*) => {
                $(if $items.len() < end(Bank::$bank) {
                    to(&mut $items, end(Bank::$bank));
                })*
            };
        }
        grow!(Real: self.reals, Complex: self.complexes, Int: self.ints);
        self.arrays.reals.grow(end(Bank::Reals));
        self.arrays.complexes.grow(end(Bank::Complexes));
        self.arrays.ints.grow(end(Bank::Ints));
    }

    /// Copies the values of slots of one call to the slots of another.
    pub(super) fn transfer(
        &mut self,
        from: &[RegisterSlot],
        from_base: FrameBase,
        to: &[RegisterSlot],
        to_base: FrameBase,
    ) {
        let Banks { reals, complexes, ints, arrays } = self;
        for (a, d) in from.iter().zip(to) {
            let (i, j) = (
                a.reg as usize + from_base[a.bank as usize],
                d.reg as usize + to_base[d.bank as usize],
            );
            match a.bank {
                Bank::Real => reals[j] = reals[i].clone(),
                Bank::Complex => complexes[j] = complexes[i].clone(),
                Bank::Int => ints[j] = ints[i],
                Bank::Reals => {
                    let array = arrays.reals.read(i, a.last);
                    arrays.reals.store(j, array);
                }
                Bank::Complexes => {
                    let array = arrays.complexes.read(i, a.last);
                    arrays.complexes.store(j, array);
                }
                Bank::Ints => {
                    let array = arrays.ints.read(i, a.last);
                    arrays.ints.store(j, array);
                }
            }
        }
    }

    /// Clears the array registers of a call that has ended.
    pub(super) fn clear(&mut self, base: FrameBase, routine: &Routine) {
        let range = |bank: Bank| {
            let start = base[bank as usize];
            start..start + routine.sizes[bank as usize] as usize
        };
        self.arrays.reals.clear(range(Bank::Reals));
        self.arrays.complexes.clear(range(Bank::Complexes));
        self.arrays.ints.clear(range(Bank::Ints));
    }

    fn load(&self, slot: RegisterSlot, base: FrameBase) -> Datum<S> {
        let i = slot.reg as usize + base[slot.bank as usize];
        match slot.bank {
            Bank::Real => Datum::Real(self.reals[i].clone()),
            Bank::Complex => Datum::Complex(self.complexes[i].clone()),
            Bank::Int => Datum::Int(self.ints[i]),
            Bank::Reals => Datum::Reals(self.arrays.reals.get(i).unwrap_or_default()),
            Bank::Complexes => Datum::Complexes(self.arrays.complexes.get(i).unwrap_or_default()),
            Bank::Ints => Datum::Ints(self.arrays.ints.get(i).unwrap_or_default()),
        }
    }

    fn store(&mut self, slot: RegisterSlot, base: FrameBase, value: &Datum<S>) {
        let i = slot.reg as usize + base[slot.bank as usize];
        match value {
            Datum::Real(x) => self.reals[i] = x.clone(),
            Datum::Complex(x) => self.complexes[i] = x.clone(),
            Datum::Int(n) => self.ints[i] = *n,
            Datum::Bool(b) => self.ints[i] = i64::from(*b),
            Datum::Handle(h) => self.ints[i] = i64::from(*h),
            Datum::Reals(xs) => self.arrays.reals.store(i, Some(xs.clone())),
            Datum::Complexes(xs) => self.arrays.complexes.store(i, Some(xs.clone())),
            Datum::Ints(xs) => self.arrays.ints.store(i, Some(xs.clone())),
            Datum::Tuple(_) => {}
        }
    }

    /// Assembles a value of the kind from its leaves.
    pub(in super::super) fn assemble(
        &self,
        kind: &Kind,
        slots: &mut impl Iterator<Item = RegisterSlot>,
        base: FrameBase,
    ) -> Datum<S> {
        if let Kind::Tuple(t) = kind {
            return Datum::Tuple(
                t.fields.iter().map(|f| self.assemble(&f.kind, slots, base)).collect(),
            );
        }
        let value = slots.next().map_or(Datum::Int(0), |s| self.load(s, base));
        match (kind, value) {
            (Kind::Bool, Datum::Int(n)) => Datum::Bool(n != 0),
            (Kind::Handle, Datum::Int(n)) => Datum::Handle(u32::try_from(n).unwrap_or(u32::MAX)),
            (_, value) => value,
        }
    }

    /// Writes a value like [`assemble`](Banks::assemble), but in place of a value that an earlier
    /// run gave: numbers are overwritten, arrays are swapped, and nothing is allocated.
    pub(super) fn unload(
        &mut self,
        kind: &Kind,
        slots: &mut impl Iterator<Item = RegisterSlot>,
        base: FrameBase,
        to: &mut Datum<S>,
    ) {
        if let (Kind::Tuple(t), Datum::Tuple(fields)) = (kind, &mut *to)
            && t.fields.len() == fields.len()
        {
            t.fields.iter().zip(fields).for_each(|(f, to)| self.unload(&f.kind, slots, base, to));
            return;
        }
        if matches!(kind, Kind::Array(_))
            && let Some(slot) = slots.next()
        {
            let i = slot.reg as usize + base[slot.bank as usize];
            self.reclaim(to);
            let arrays = &mut self.arrays;
            *to = match slot.bank {
                Bank::Reals => Datum::Reals(arrays.reals.hand_out(i, slot.last)),
                Bank::Complexes => Datum::Complexes(arrays.complexes.hand_out(i, slot.last)),
                Bank::Ints => Datum::Ints(arrays.ints.hand_out(i, slot.last)),
                _ => self.load(slot, base),
            };
            return;
        }
        *to = self.assemble(kind, slots, base);
    }

    /// Recycles the memory of the arrays in a value that is no longer needed; numbers stay as they
    /// are.
    pub(super) fn reclaim(&mut self, old: &mut Datum<S>) {
        if let Datum::Tuple(fields) = old {
            fields.iter_mut().for_each(|field| self.reclaim(field));
        } else if matches!(old, Datum::Reals(_) | Datum::Complexes(_) | Datum::Ints(_)) {
            match std::mem::replace(old, Datum::Int(0)) {
                Datum::Reals(array) => self.arrays.reals.recycle(Some(array)),
                Datum::Complexes(array) => self.arrays.complexes.recycle(Some(array)),
                Datum::Ints(array) => self.arrays.ints.recycle(Some(array)),
                _ => {}
            }
        }
    }
}

pub(super) fn store_leaves<S: Scalar>(
    banks: &mut Banks<S>,
    slots: &mut impl Iterator<Item = RegisterSlot>,
    base: FrameBase,
    value: &Datum<S>,
) {
    match value {
        Datum::Tuple(fields) => fields.iter().for_each(|f| store_leaves(banks, slots, base, f)),
        leaf => {
            if let Some(slot) = slots.next() {
                banks.store(slot, base, leaf);
            }
        }
    }
}
