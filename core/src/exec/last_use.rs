//! Which reads of array registers are the last.
//!
//! Arrays are values that share their elements. `set` writes in place if nobody else holds the array, so a
//! register that is read for the last time gives its array away instead of sharing it. This makes a loop of
//! `xs[i] = …` linear.

use super::{
    bytecode::Routine,
    code::Bank,
    liveness::{Liveness, Numbering},
    registers::{Access, visit},
};

/// Marks the slots that are read for the last time.
pub(super) fn mark_last_uses(routine: &mut Routine) {
    let mut arrays = Numbering::new(routine);
    for bank in [Bank::Reals, Bank::Complexes, Bank::Ints] {
        (0..routine.sizes[bank as usize]).for_each(|reg| arrays.add(bank, reg));
    }
    if arrays.len() == 0 {
        return;
    }
    let liveness = Liveness::of(routine, &arrays);
    for (stretch, after) in liveness.stretches.iter().zip(liveness.after) {
        let mut live = after;
        for pc in stretch.clone().rev() {
            let mut reads = Vec::new();
            visit(&mut routine.code[pc], &mut routine.slots, |bank, reg, access| {
                match (arrays.of(bank, *reg), access) {
                    (Some(k), Access::ReadSlot(slot)) => reads.push((k, slot)),
                    (Some(k), _) => live.remove(k),
                    _ => {}
                }
            });
            // From the back: the later of two reads in one instruction is the last.
            for (k, slot) in reads.into_iter().rev() {
                routine.slots[slot].last = !live.contains(k);
                live.insert(k);
            }
        }
    }
}
