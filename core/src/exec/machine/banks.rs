//! Registers of all calls, and tapes.

use std::sync::Arc;

use crate::{ir::Kind, scalar::Scalar};

use super::super::{
    bytecode::Routine,
    code::{BANKS, Bank, Slot},
    data::Datum,
};

/// The registers of all calls, one after the other.
#[derive(Debug)]
pub(super) struct Banks<S: Scalar> {
    pub(super) reals: Vec<S::Real>,
    pub(super) complexes: Vec<S>,
    pub(super) ints: Vec<i64>,
    pub(super) arrays: Arrays<S>,
}

#[derive(Clone, Debug)]
pub(super) struct Arrays<S: Scalar> {
    pub(super) reals: Vec<Arc<Vec<S::Real>>>,
    pub(super) complexes: Vec<Arc<Vec<S>>>,
    pub(super) ints: Vec<Arc<Vec<i64>>>,
}

/// What a primal recorded and its adjoint has not yet read.
#[derive(Clone, Debug)]
pub(super) struct Tape<S: Scalar> {
    pub(super) reals: Vec<S::Real>,
    pub(super) complexes: Vec<S>,
    pub(super) ints: Vec<i64>,
    pub(super) arrays: Arrays<S>,
}

/// What a primal left for its adjoint.
#[derive(Clone, Debug)]
pub(in super::super) struct Tapes<S: Scalar>(pub(super) Vec<Tape<S>>);

impl<S: Scalar> Default for Arrays<S> {
    fn default() -> Self {
        Arrays { reals: vec![], complexes: vec![], ints: vec![] }
    }
}

impl<S: Scalar> Banks<S> {
    /// Makes room for a routine's registers.
    pub(super) fn grow(&mut self, base: [usize; BANKS], routine: &Routine) {
        fn to<T: Clone>(items: &mut Vec<T>, len: usize, zero: impl Fn() -> T) {
            if items.len() < len {
                items.resize(len, zero());
            }
        }
        let end = |bank: Bank| base[bank as usize] + routine.sizes[bank as usize] as usize;
        to(&mut self.reals, end(Bank::Real), num_traits::Zero::zero);
        to(&mut self.complexes, end(Bank::Complex), S::zero);
        to(&mut self.ints, end(Bank::Int), || 0);
        to(&mut self.arrays.reals, end(Bank::Reals), Arc::default);
        to(&mut self.arrays.complexes, end(Bank::Complexes), Arc::default);
        to(&mut self.arrays.ints, end(Bank::Ints), Arc::default);
    }

    /// Copies the values of slots of one call to the slots of another.
    pub(super) fn transfer(
        &mut self,
        from: &[Slot],
        from_base: [usize; BANKS],
        to: &[Slot],
        to_base: [usize; BANKS],
    ) {
        for (a, d) in from.iter().zip(to) {
            let (i, j) =
                (a.reg as usize + from_base[a.bank as usize], d.reg as usize + to_base[d.bank as usize]);
            match a.bank {
                Bank::Real => self.reals[j] = self.reals[i].clone(),
                Bank::Complex => self.complexes[j] = self.complexes[i].clone(),
                Bank::Int => self.ints[j] = self.ints[i],
                Bank::Reals => self.arrays.reals[j] = read(&mut self.arrays.reals[i], a.last),
                Bank::Complexes => self.arrays.complexes[j] = read(&mut self.arrays.complexes[i], a.last),
                Bank::Ints => self.arrays.ints[j] = read(&mut self.arrays.ints[i], a.last),
            }
        }
    }

    /// Lets go of the arrays of a call that has ended.
    pub(super) fn clear(&mut self, base: [usize; BANKS], routine: &Routine) {
        let range = |bank: Bank| {
            let start = base[bank as usize];
            start..start + routine.sizes[bank as usize] as usize
        };
        self.arrays.reals[range(Bank::Reals)].iter_mut().for_each(|a| *a = Arc::default());
        self.arrays.complexes[range(Bank::Complexes)].iter_mut().for_each(|a| *a = Arc::default());
        self.arrays.ints[range(Bank::Ints)].iter_mut().for_each(|a| *a = Arc::default());
    }

    pub(super) fn load(&self, slot: Slot, base: [usize; BANKS]) -> Datum<S> {
        let i = slot.reg as usize + base[slot.bank as usize];
        match slot.bank {
            Bank::Real => Datum::Real(self.reals[i].clone()),
            Bank::Complex => Datum::Complex(self.complexes[i].clone()),
            Bank::Int => Datum::Int(self.ints[i]),
            Bank::Reals => Datum::Reals(self.arrays.reals[i].clone()),
            Bank::Complexes => Datum::Complexes(self.arrays.complexes[i].clone()),
            Bank::Ints => Datum::Ints(self.arrays.ints[i].clone()),
        }
    }

    pub(super) fn store(&mut self, slot: Slot, base: [usize; BANKS], value: &Datum<S>) {
        let i = slot.reg as usize + base[slot.bank as usize];
        match value {
            Datum::Real(x) => self.reals[i] = x.clone(),
            Datum::Complex(x) => self.complexes[i] = x.clone(),
            Datum::Int(n) => self.ints[i] = *n,
            Datum::Bool(b) => self.ints[i] = i64::from(*b),
            Datum::Handle(h) => self.ints[i] = i64::from(*h),
            Datum::Reals(xs) => self.arrays.reals[i] = xs.clone(),
            Datum::Complexes(xs) => self.arrays.complexes[i] = xs.clone(),
            Datum::Ints(xs) => self.arrays.ints[i] = xs.clone(),
            Datum::Tuple(_) => {}
        }
    }

    /// Puts a value of the kind together from its leaves.
    pub(super) fn assemble(
        &self,
        kind: &Kind,
        slots: &mut impl Iterator<Item = Slot>,
        base: [usize; BANKS],
    ) -> Datum<S> {
        if let Kind::Tuple(t) = kind {
            return Datum::Tuple(t.fields.iter().map(|f| self.assemble(&f.kind, slots, base)).collect());
        }
        let value = slots.next().map_or(Datum::Int(0), |s| self.load(s, base));
        match (kind, value) {
            (Kind::Bool, Datum::Int(n)) => Datum::Bool(n != 0),
            (Kind::Handle, Datum::Int(n)) => Datum::Handle(u32::try_from(n).unwrap_or(u32::MAX)),
            (_, value) => value,
        }
    }
}

/// The array in a register: taken out of it if it is read for the last time.
pub(super) fn read<T>(register: &mut Arc<Vec<T>>, last: bool) -> Arc<Vec<T>> {
    if last { std::mem::take(register) } else { register.clone() }
}

pub(super) fn store_leaves<S: Scalar>(
    banks: &mut Banks<S>,
    slots: &mut impl Iterator<Item = Slot>,
    base: [usize; BANKS],
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
