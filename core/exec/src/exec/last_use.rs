//! Last uses of array registers.
//!
//! Arrays are values that share their elements. `set` writes in place if the array is not shared,
//! so the last use of a register moves its array instead of sharing it. This makes a loop of
//! `xs[i] = …` linear.

use super::{
    bytecode::Routine,
    code::{Bank, Code, RegisterSlot},
    liveness::{Numbering, RegisterLiveness},
    registers::{Access, visit},
};

/// Marks the slots that are read for the last time.
pub(super) fn mark_last_uses(routine: &mut Routine) {
    last_uses(routine, |_| true);
}

/// Marks only those of writes to elements and of moves, in code of the style
/// [`Followed`](super::compile::Style::InstrumentedInPlace). Returns for each mark the slots whose
/// arrays are moved between it and the next mark.
pub(super) fn moved_arrays(routine: &mut Routine) -> Vec<Vec<RegisterSlot>> {
    last_uses(routine, |code| {
        matches!(code, Code::Set(..) | Code::Accumulate(..) | Code::MoveA(..))
    });
    let mut given: Vec<Vec<RegisterSlot>> = Vec::new();
    for pc in 0..routine.code.len() {
        let mut code = routine.code[pc];
        if let Code::Mark(mark) = code {
            given.resize(given.len().max(mark as usize + 1), vec![]);
            continue;
        }
        let slots = &mut routine.slots;
        let mut last = Vec::new();
        visit(&mut code, slots, |bank, reg, access| {
            if let Access::ReadSlot(slot) = access {
                last.push((bank, *reg, slot));
            }
        });
        let last =
            last.into_iter().filter(|(.., slot)| slots[*slot].last).map(|(_, _, slot)| slots[slot]);
        if let Some(mark) = given.last_mut() {
            mark.extend(last);
        }
    }
    given
}

fn last_uses(routine: &mut Routine, of: impl Fn(&Code) -> bool) {
    let mut arrays = Numbering::new(routine);
    for bank in [Bank::Reals, Bank::Complexes, Bank::Ints] {
        (0..routine.sizes[bank as usize]).for_each(|reg| arrays.add(bank, reg));
    }
    if arrays.len() == 0 {
        return;
    }
    let liveness = RegisterLiveness::analyze(routine, &arrays);
    for (block, after) in liveness.blocks.iter().zip(liveness.live_out) {
        let mut live = after;
        for pc in block.clone().rev() {
            let mut reads = Vec::new();
            let is_looked_for = of(&routine.code[pc]);
            visit(&mut routine.code[pc], &mut routine.slots, |bank, reg, access| {
                match (arrays.index_of(bank, *reg), access) {
                    (Some(k), Access::ReadSlot(slot)) => reads.push((k, slot)),
                    (Some(k), _) => live.remove(k),
                    _ => {}
                }
            });
            // In reverse order: the later of two reads in one instruction is the last.
            for (k, slot) in reads.into_iter().rev() {
                routine.slots[slot].last = is_looked_for && !live.contains(k);
                live.insert(k);
            }
        }
    }
}
