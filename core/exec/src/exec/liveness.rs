//! Backward liveness analysis over bytecode, for the registers that a pass asks about.
//!
//! Cost: O(instructions + basic blocks x registers / 64) for each iteration, and about as many
//! iterations as loops nest.

use std::ops::Range;

use super::{
    bytecode::Routine,
    code::{BANKS, Bank, Reg},
    registers::{Access, visit},
};

/// A number for each register that a pass cares about, without gaps.
pub(super) struct Numbering {
    number: [Vec<Option<u32>>; BANKS],
    /// The registers by number.
    pub(super) registers: Vec<(Bank, Reg)>,
}

impl Numbering {
    pub(super) fn new(routine: &Routine) -> Numbering {
        Numbering { number: routine.sizes.map(|n| vec![None; n as usize]), registers: Vec::new() }
    }
    /// Adds a register; a second time it changes nothing.
    pub(super) fn add(&mut self, bank: Bank, reg: Reg) {
        let number = &mut self.number[bank as usize][reg as usize];
        if number.is_none() {
            *number = Some(self.registers.len() as u32);
            self.registers.push((bank, reg));
        }
    }
    pub(super) fn index_of(&self, bank: Bank, reg: Reg) -> Option<usize> {
        self.number[bank as usize].get(reg as usize).copied().flatten().map(|n| n as usize)
    }
    pub(super) fn len(&self) -> usize {
        self.registers.len()
    }
}

/// A set of numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RegisterSet(Vec<u64>);

impl RegisterSet {
    pub(super) fn new(n: usize) -> RegisterSet {
        RegisterSet(vec![0; n.div_ceil(64)])
    }
    pub(super) fn contains(&self, k: usize) -> bool {
        self.0[k / 64] & (1 << (k % 64)) != 0
    }
    pub(super) fn insert(&mut self, k: usize) {
        self.0[k / 64] |= 1 << (k % 64);
    }
    pub(super) fn remove(&mut self, k: usize) {
        self.0[k / 64] &= !(1 << (k % 64));
    }
    pub(super) fn extend(&mut self, other: &RegisterSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(word, &bits)| {
            let next = |&bits: &u64| Some(bits & bits.wrapping_sub(1)).filter(|&b| b != 0);
            std::iter::successors(Some(bits).filter(|&b| b != 0), next)
                .map(move |bits| word * 64 + bits.trailing_zeros() as usize)
        })
    }
}

/// Basic blocks of a routine and the registers that are live after each.
pub(super) struct RegisterLiveness {
    pub(super) blocks: Vec<Range<usize>>,
    pub(super) live_out: Vec<RegisterSet>,
}

impl RegisterLiveness {
    pub(super) fn analyze(routine: &Routine, numbering: &Numbering) -> RegisterLiveness {
        let blocks = basic_blocks(routine);
        let mut of_pc = vec![0; routine.code.len()];
        for (k, s) in blocks.iter().enumerate() {
            of_pc[s.clone()].fill(k);
        }
        let next: Vec<Vec<usize>> = (blocks.iter())
            .map(|s| {
                routine.successors(s.end - 1).filter_map(|pc| of_pc.get(pc).copied()).collect()
            })
            .collect();
        let empty = RegisterSet::new(numbering.len());
        let (mut before, mut after) =
            (vec![empty.clone(); blocks.len()], vec![empty; blocks.len()]);
        let mut slots = routine.slots.clone();
        // Upward-exposed reads and writes of each basic block, which are all that the iteration
        // needs.
        let summary: Vec<(RegisterSet, RegisterSet)> = blocks
            .iter()
            .map(|s| {
                let (mut reads, mut writes) =
                    (RegisterSet::new(numbering.len()), RegisterSet::new(numbering.len()));
                for pc in s.clone() {
                    visit(&mut routine.code[pc].clone(), &mut slots, |bank, reg, access| {
                        match (numbering.index_of(bank, *reg), access) {
                            (Some(k), Access::Write) => writes.insert(k),
                            (Some(k), _) if !writes.contains(k) => reads.insert(k),
                            _ => {}
                        }
                    });
                }
                (reads, writes)
            })
            .collect();
        loop {
            let mut changed = false;
            for k in (0..blocks.len()).rev() {
                let mut set = RegisterSet::new(numbering.len());
                next[k].iter().for_each(|&n| set.extend(&before[n]));
                let (reads, writes) = &summary[k];
                let mut start = reads.clone();
                start.0.iter_mut().zip(&set.0).zip(&writes.0).for_each(|((a, b), w)| *a |= b & !w);
                changed |= start != before[k];
                (before[k], after[k]) = (start, set);
            }
            if !changed {
                return RegisterLiveness { blocks, live_out: after };
            }
        }
    }
}

/// Returns the basic blocks, in order.
fn basic_blocks(routine: &Routine) -> Vec<Range<usize>> {
    let len = routine.code.len();
    let mut starts = vec![false; len + 1];
    for pc in 0..len {
        let code = routine.code[pc];
        // An entry point starts a block, too, so that blocks stay short.
        #[cfg(feature = "jit")]
        if matches!(code, super::code::Code::Native(..)) {
            starts[pc] = true;
        }
        if code.ends() {
            starts[pc + 1] = true;
            routine.successors(pc).for_each(|to| starts[to] = true);
        }
    }
    starts[len] = true;
    let mut first = 0;
    let mut blocks = Vec::new();
    for (pc, _) in starts.iter().enumerate().skip(1).filter(|s| *s.1) {
        blocks.push(first..pc);
        first = pc;
    }
    blocks
}
