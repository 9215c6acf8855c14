//! Which reads of array registers are the last.
//!
//! Arrays are values that share their elements. `set` writes in place if nobody else holds the array, so a
//! register that is read for the last time gives its array away instead of sharing it. This makes a loop of
//! `xs[i] = …` linear.
//!
//! Backward liveness over the bytecode, on array registers only. Cost: O(instructions x array registers / 64)
//! for each round, and as many rounds as loops nest.

use super::bytecode::{Bank, Code, Routine, Slots};

/// Marks the slots that are read for the last time.
pub(super) fn mark_last_uses(routine: &mut Routine) {
    let first = [Bank::Reals, Bank::Complexes, Bank::Ints].map(|b| routine.sizes[b as usize] as usize);
    let n: usize = first.iter().sum();
    if n == 0 {
        return;
    }
    let number = |bank: Bank, reg: u32| match bank {
        Bank::Reals => Some(reg as usize),
        Bank::Complexes => Some(first[0] + reg as usize),
        Bank::Ints => Some(first[0] + first[1] + reg as usize),
        _ => None,
    };
    let words = n.div_ceil(64);
    let len = routine.code.len();
    let mut live = vec![0u64; words * (len + 1)];
    loop {
        let mut changed = false;
        for pc in (0..len).rev() {
            let mut set = after(routine, &live, words, pc);
            for (bank, reg) in writes(routine, pc) {
                if let Some(k) = number(bank, reg) {
                    set[k / 64] &= !(1 << (k % 64));
                }
            }
            for s in reads(routine, pc) {
                let slot = routine.slots[s];
                if let Some(k) = number(slot.bank, slot.reg) {
                    set[k / 64] |= 1 << (k % 64);
                }
            }
            let old = &mut live[pc * words..(pc + 1) * words];
            changed |= old != set;
            old.copy_from_slice(&set);
        }
        if !changed {
            break;
        }
    }
    for pc in 0..len {
        let set = after(routine, &live, words, pc);
        let mut seen = Vec::new();
        // From the back: the later of two reads in one instruction is the last.
        for s in reads(routine, pc).into_iter().rev() {
            let slot = routine.slots[s];
            if let Some(k) = number(slot.bank, slot.reg) {
                routine.slots[s].last = set[k / 64] & (1 << (k % 64)) == 0 && !seen.contains(&k);
                seen.push(k);
            }
        }
    }
}

/// What is read after an instruction.
fn after(routine: &Routine, live: &[u64], words: usize, pc: usize) -> Vec<u64> {
    let mut set = vec![0; words];
    let mut add = |to: usize| {
        set.iter_mut().zip(&live[to * words..]).for_each(|(a, b)| *a |= b);
    };
    match routine.code[pc] {
        Code::Jump { to, .. } | Code::Else { to } => add(to as usize),
        Code::Branch { yes, no, .. } => {
            add(yes as usize);
            add(no as usize);
        }
        Code::BranchI { to, .. } => {
            add(to as usize);
            add(pc + 1);
        }
        Code::Switch { table, len, .. } => {
            for k in table..table + len {
                add(routine.tables[k as usize] as usize);
            }
        }
        Code::Return { .. } => {}
        _ => add(pc + 1),
    }
    set
}

/// The slots that an instruction reads.
fn reads(routine: &Routine, pc: usize) -> Vec<usize> {
    let all = |s: Slots| s.range().collect();
    match routine.code[pc] {
        Code::MoveA { a, .. }
        | Code::Sum { a, .. }
        | Code::Len { a, .. }
        | Code::Get { a, .. }
        | Code::Set { a, .. }
        | Code::PushA { a, .. } => vec![a as usize],
        Code::Select { a, .. } | Code::Accumulate { a, .. } => vec![a as usize, a as usize + 1],
        Code::Array { items, .. } => all(items),
        Code::Call { args, .. } | Code::Primitive { args, .. } => all(args),
        Code::Return { values, .. } => all(values),
        _ => vec![],
    }
}

/// The array registers that an instruction writes.
fn writes(routine: &Routine, pc: usize) -> Vec<(Bank, u32)> {
    let bank = |a: u32| routine.slots[a as usize].bank;
    match routine.code[pc] {
        Code::MoveA { d, a } | Code::Set { d, a, .. } | Code::Accumulate { d, a } => vec![(bank(a), d)],
        Code::Select { bank, d, .. } | Code::Array { bank, d, .. } | Code::Fill { bank, d, .. } => {
            vec![(bank, d)]
        }
        Code::PopA { d, .. } => {
            let slot = routine.slots[d as usize];
            vec![(slot.bank, slot.reg)]
        }
        Code::Call { results, .. } | Code::Primitive { results, .. } => {
            results.range().map(|s| (routine.slots[s].bank, routine.slots[s].reg)).collect()
        }
        _ => vec![],
    }
}
