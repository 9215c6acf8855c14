//! Jump threading and removal of dead code.
//!
//! ```text
//! 3: jump 7                          (gone: what came to 3 goes to 9)
//! 6: if i < n goto 2, else 3   ->    if i < n goto 2, else 9
//! 7: jump 9
//! ```

use super::{
    bytecode::Routine,
    code::{Code, Pc},
    fuse::FUSIONS,
};

/// Threads the jumps of a routine, removes unreachable code and fuses superinstructions.
pub(super) fn thread_jumps(routine: &mut Routine) {
    retarget(routine);
    remove_dead_code(routine);
    for fuse in FUSIONS {
        if fuse(routine) {
            remove_dead_code(routine);
        }
    }
}

/// Replaces every target by the end of the chain of jumps that begins there.
fn retarget(routine: &mut Routine) {
    let code = &routine.code;
    let finally = |from: Pc| {
        let mut at = from;
        // A ring of jumps is an endless loop: stop after as many as there are.
        for _ in 0..code.len() {
            match code.get(at as usize) {
                Some(&Code::Jump(to)) if to != at => at = to,
                _ => break,
            }
        }
        at
    };
    let ends: Vec<Pc> = (0..code.len() as Pc).map(finally).collect();
    for code in &mut routine.code {
        let (yes, no) = code.targets_mut();
        yes.into_iter().chain(no).for_each(|to| *to = ends[*to as usize]);
    }
    routine.tables.iter_mut().for_each(|to| *to = ends[*to as usize]);
}

fn reached(routine: &Routine) -> Vec<bool> {
    let mut reached = vec![false; routine.code.len()];
    let mut work = vec![0];
    while let Some(pc) = work.pop() {
        if pc < reached.len() && !std::mem::replace(&mut reached[pc], true) {
            work.extend(routine.successors(pc));
        }
    }
    reached
}

/// Removes unreachable instructions and jumps to the next instruction that is left.
fn remove_dead_code(routine: &mut Routine) {
    let mut keep = reached(routine);
    let len = routine.code.len();
    // In reverse order: the next instruction left of each.
    let mut next = len;
    for pc in (0..len).rev() {
        match routine.code[pc] {
            Code::Jump(to) if to as usize == next && keep[pc] => keep[pc] = false,
            _ => {}
        }
        if keep[pc] {
            next = pc;
        }
    }
    let mut place: Vec<Pc> = Vec::with_capacity(len + 1);
    let mut count = 0;
    for &kept in &keep {
        place.push(count);
        count += Pc::from(kept);
    }
    place.push(count);
    let mut kept = keep.iter();
    routine.code.retain(|_| kept.next() == Some(&true));
    let mut kept = keep.iter();
    routine.at.retain(|_| kept.next() == Some(&true));
    for code in &mut routine.code {
        let (yes, no) = code.targets_mut();
        yes.into_iter().chain(no).for_each(|to| *to = place[*to as usize]);
    }
    routine.tables.iter_mut().for_each(|to| *to = place[*to as usize]);
}
