//! Small-array regions: runs of instructions on small arrays of known shapes, each of which becomes
//! [one instruction](super::super::small_program).
//!
//! A region is within one block. An instruction between its instructions that reads none of its
//! values and only computes numbers is moved before it; anything else ends it.
//!
//! Cost: O(size).

use std::collections::{HashMap, HashSet};

use crate::{
    array::axis_split,
    entity::{Block, Inst, Value},
    ir::{AbstractValue, ArrayOp, Element, Function, InstData, Kind, Op},
};

/// The most elements of a small array: from here on it is the loops that cost.
pub(super) const MAX_SMALL_ELEMENTS: usize = 512;

/// Small-array regions of a function.
#[derive(Debug, Default)]
pub(super) struct SmallRegions {
    members: HashSet<Inst>,
    /// Regions that run before an instruction, and at the end of a block.
    before: HashMap<Inst, Vec<Inst>>,
    at_end: HashMap<Block, Vec<Inst>>,
}

impl SmallRegions {
    /// Finds the regions, from the known facts about values. `alone` is true if no other function
    /// changes the tapes.
    pub(super) fn find(f: &Function, known: &[AbstractValue], alone: bool) -> SmallRegions {
        let mut all = SmallRegions::default();
        if known.is_empty() {
            return all;
        }
        let sizes = KnownSizes { f, known };
        let slots = if alone { sizes.slots() } else { HashSet::new() };
        for (b, block) in f.blocks.iter() {
            let mut region: Vec<Inst> = Vec::new();
            let mut made: HashSet<Value> = HashSet::new();
            for &i in &block.insts {
                let inst = &f.insts[i];
                let reads = inst.args.iter().any(|v| made.contains(v));
                if sizes.is_eligible(inst, &slots, &made) {
                    made.extend(inst.result);
                    region.push(i);
                } else if !sizes.commutes(inst, reads) && !region.is_empty() {
                    all.end(&sizes, std::mem::take(&mut region), |all, it| {
                        all.before.insert(i, it)
                    });
                    made.clear();
                }
            }
            all.end(&sizes, region, |all, it| all.at_end.insert(b, it));
        }
        all
    }

    /// Keeps a region that is worth it.
    fn end(
        &mut self,
        sizes: &KnownSizes<'_>,
        region: Vec<Inst>,
        keep: impl FnOnce(&mut SmallRegions, Vec<Inst>) -> Option<Vec<Inst>>,
    ) {
        let insts = || region.iter().map(|&i| &sizes.f.insts[i]);
        let on_tape = insts().any(|i| matches!(i.op, Op::Push { .. } | Op::Pop { .. }));
        if on_tape || insts().filter(|i| !sizes.is_view(i)).count() >= 2 {
            self.members.extend(&region);
            keep(self, region);
        }
    }

    /// Returns true if an instruction is part of a region.
    pub(super) fn contains(&self, i: Inst) -> bool {
        self.members.contains(&i)
    }

    pub(super) fn before(&self, i: Inst) -> Option<&[Inst]> {
        self.before.get(&i).map(Vec::as_slice)
    }

    pub(super) fn at_end(&self, b: Block) -> Option<&[Inst]> {
        self.at_end.get(&b).map(Vec::as_slice)
    }
}

/// Known sizes of the arrays of a function.
pub(super) struct KnownSizes<'a> {
    pub(super) f: &'a Function,
    pub(super) known: &'a [AbstractValue],
}

impl KnownSizes<'_> {
    /// Returns the shape of an array of real numbers.
    pub(super) fn shape(&self, v: Value) -> Option<crate::array::Shape> {
        let real = self.f.kinds[v] == Kind::Array(Element::Real);
        self.known.get(v.index()).filter(|_| real)?.shape()
    }

    pub(super) fn int(&self, v: Value) -> Option<i64> {
        match self.known.get(v.index()) {
            Some(AbstractValue::Int(n)) => Some(*n),
            _ => None,
        }
    }

    pub(super) fn ints(&self, v: Value) -> Option<&[i64]> {
        match self.known.get(v.index()) {
            Some(AbstractValue::Ints(list)) => Some(list),
            _ => None,
        }
    }

    /// Returns the number of lines before a known axis, its length, and the number of elements of
    /// each of its entries.
    pub(super) fn split(&self, shape: &[usize], axis: Value) -> Option<(usize, usize, usize)> {
        let axis = usize::try_from(self.int(axis)?).ok()?;
        (axis < shape.len()).then(|| axis_split(shape, axis))
    }

    fn is_small(&self, v: Value) -> bool {
        self.shape(v).is_some_and(|s| (1..=MAX_SMALL_ELEMENTS).contains(&s.iter().product()))
    }

    fn is_number(&self, v: Value) -> bool {
        self.f.kinds[v] == Kind::Real
    }

    /// Returns the slots to which small arrays of one shape are pushed and from which they are
    /// popped, and nothing else.
    fn slots(&self) -> HashSet<(u32, u32)> {
        let mut all: HashMap<(u32, u32), [bool; 3]> = HashMap::new();
        for &i in self.f.blocks.values().flat_map(|b| &b.insts) {
            let inst = &self.f.insts[i];
            let (slot, v, k) = match inst.op {
                Op::Push { tape, slot } => ((tape, slot), inst.args.first().copied(), 0),
                Op::Pop { tape, slot } => ((tape, slot), inst.result, 1),
                _ => continue,
            };
            let [pushed, popped, small] = all.entry(slot).or_insert([false, false, true]);
            *[pushed, popped][k] = true;
            *small &= v.is_some_and(|v| self.is_small(v));
        }
        // The pops are known by the facts that all pushes have in common.
        all.retain(|_, seen| seen.iter().all(|s| *s));
        all.into_keys().collect()
    }

    /// Returns true if an instruction belongs to a region that made these values.
    fn is_eligible(
        &self,
        inst: &InstData,
        slots: &HashSet<(u32, u32)>,
        made: &HashSet<Value>,
    ) -> bool {
        use ArrayOp as A;
        let small = |k: usize| inst.args.get(k).is_some_and(|&v| self.is_small(v));
        let of_made = |k: usize| inst.args.get(k).is_some_and(|v| made.contains(v));
        let known = |k: usize| inst.args.get(k).is_some_and(|&v| self.int(v).is_some());
        let gives = inst.result.is_some_and(|v| self.is_small(v));
        let number = inst.result.is_some_and(|v| self.is_number(v));
        match inst.op {
            Op::Push { tape, slot } | Op::Pop { tape, slot } => slots.contains(&(tape, slot)),
            Op::Number1(_) | Op::Number2(_) if number => inst.args.iter().any(|v| made.contains(v)),
            Op::Number1(_) | Op::Number2(_) | Op::Real1(_) | Op::Real2(_) => {
                gives && inst.args.iter().all(|&v| self.is_small(v) || self.is_number(v))
            }
            Op::Array | Op::Fill => gives,
            Op::Sum => number && small(0),
            Op::Accumulate => {
                gives
                    && small(0)
                    && small(1)
                    && self.shape(inst.args[0]) == self.shape(inst.args[1])
            }
            Op::Get | Op::Peek => number && small(0) && of_made(0) && !self.is_beyond(inst),
            Op::Set | Op::Put | Op::AddAt => {
                gives && small(0) && of_made(0) && !self.is_beyond(inst)
            }
            Op::OnArrays(_) if inst.shape_list(self.f).is_some() => false,
            Op::OnArrays(op) => match op {
                A::ReshapeLike | A::Reshape | A::InsertAxis | A::DropAxis => {
                    let count = |v: Value| self.shape(v).map(|s| s.iter().product::<usize>());
                    gives
                        && small(0)
                        && inst.result.is_some_and(|v| count(v) == count(inst.args[0]))
                }
                A::Slice => gives && known(1) && known(3) && self.shape(inst.args[0]).is_some(),
                A::Pad | A::DynamicUpdateSlice => {
                    gives && small(0) && known(2) && (op == A::Pad || small(1)) && self.fits(inst)
                }
                A::BroadcastTo => gives && (small(0) || self.is_number(inst.args[0])),
                A::SumLike => gives && small(0),
                A::SumKeep => gives && small(0) && known(1),
                A::Dot => number && small(0) && small(1),
                A::Transpose => gives && small(0),
                A::Permute | A::Unpermute => gives && small(0) && self.ints(inst.args[1]).is_some(),
                A::Concat => gives && small(0) && small(1) && known(2),
                A::MatMul | A::MatMulNh | A::MatMulHn => {
                    let matrix = |k: usize| self.shape(inst.args[k]).is_some_and(|s| s.len() == 2);
                    gives && small(0) && small(1) && matrix(0) && matrix(1)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns true if an element is read at an index that is known to be out of bounds.
    fn is_beyond(&self, inst: &InstData) -> bool {
        let count = self.shape(inst.args[0]).map_or(0, |s| s.iter().product());
        let within = |n: i64| usize::try_from(n).is_ok_and(|n| n < count);
        self.int(inst.args[1]).is_some_and(|n| !within(n))
    }

    /// Returns true if a part differs from the whole along its axis alone, and lies within it if
    /// its start is known.
    fn fits(&self, inst: &InstData) -> bool {
        let (Some(part), Some(whole)) =
            (self.shape(inst.args[0]), inst.result.and_then(|v| self.shape(v)))
        else {
            return false;
        };
        let (Some(axis), start) = (self.int(inst.args[2]), self.int(inst.args[3])) else {
            return false;
        };
        crate::array::RunCopy::pad("pad", &part, &whole, axis, start.unwrap_or(0)).is_ok()
    }

    /// Returns true if an instruction may move to before the region that precedes it. `reads` is
    /// true if it reads a value of the region.
    fn commutes(&self, inst: &InstData, reads: bool) -> bool {
        let number =
            |v: Value| !matches!(self.f.kinds[v], Kind::Array(Element::Real | Element::Complex));
        match inst.op {
            Op::Tuple | Op::Field(_) => true,
            Op::Call(_) | Op::Primitive(_) => false,
            Op::Push { .. } => {
                !reads && inst.args.iter().all(|&v| self.f.kinds[v].n_leaves() == 1 && number(v))
            }
            _ => !reads && inst.result.is_none_or(|v| self.f.kinds[v].n_leaves() == 1 && number(v)),
        }
    }

    /// Returns true if an instruction is a view: its result is a part of the memory of its operand.
    fn is_view(&self, inst: &InstData) -> bool {
        use ArrayOp as A;
        match inst.op {
            Op::OnArrays(A::ReshapeLike | A::Reshape | A::InsertAxis | A::DropAxis) => true,
            Op::OnArrays(A::Slice) => self
                .shape(inst.args[0])
                .and_then(|s| self.split(&s, inst.args[1]))
                .is_some_and(|(outer, ..)| outer == 1),
            Op::Get => true,
            _ => false,
        }
    }
}
