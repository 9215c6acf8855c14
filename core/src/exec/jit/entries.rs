//! Doors: the instructions before which machine code may be entered.
//!
//! A door stands at the start of a routine, at the head of each loop and after each instruction that is left to
//! the machine, where enough work follows: what is taken out of the machine and put back costs as much as some
//! instructions.

use super::super::{
    bytecode::Routine,
    code::{Bank, Code, Pc, Slot, Write},
};

/// Instructions that are worth a door. A loop always is.
const WORTH: usize = 6;

/// Puts the doors into a routine; how many.
pub(super) fn mark(routine: &mut Routine) -> usize {
    let len = routine.code.len();
    let native: Vec<bool> = routine.code.iter().map(|code| is_native(*code, &routine.slots)).collect();
    let mut candidates = vec![false; len];
    for pc in 0..len {
        candidates[pc] |= pc == 0;
        for to in routine.successors(pc) {
            candidates[to] |= to <= pc || !native[pc];
        }
    }
    let doors: Vec<bool> = (0..len).map(|pc| candidates[pc] && is_worth(routine, &native, pc)).collect();
    insert(routine, &doors)
}

/// Whether enough work is reached from here.
fn is_worth(routine: &Routine, native: &[bool], from: usize) -> bool {
    let (mut seen, mut next) = (vec![from], 0);
    while let Some(&pc) = seen.get(next) {
        next += 1;
        if !native[pc] {
            continue;
        }
        if next > WORTH {
            return true;
        }
        for to in routine.successors(pc) {
            match seen.contains(&to) {
                true if to <= pc => return true,
                true => {}
                false => seen.push(to),
            }
        }
    }
    seen.into_iter().filter(|&pc| native[pc]).count() >= WORTH
}

/// Writes the doors before these instructions; what jumped to one comes to its door.
fn insert(routine: &mut Routine, doors: &[bool]) -> usize {
    let mut place: Vec<Pc> = Vec::with_capacity(doors.len());
    let mut count = 0;
    for (pc, &door) in doors.iter().enumerate() {
        place.push(pc as Pc + count);
        count += Pc::from(door);
    }
    let (mut code, mut at) = (Vec::new(), Vec::new());
    for (pc, &door) in doors.iter().enumerate() {
        if door {
            code.push(Code::Native(code.len() as u32 - pc as u32));
            at.push(routine.at[pc]);
        }
        code.push(routine.code[pc]);
        at.push(routine.at[pc]);
    }
    for code in &mut code {
        let (yes, no) = code.targets_mut();
        yes.into_iter().chain(no).for_each(|to| *to = place[*to as usize]);
    }
    routine.tables.iter_mut().for_each(|to| *to = place[*to as usize]);
    (routine.code, routine.at) = (code, at);
    count as usize
}

/// Whether there is machine code for an instruction.
pub(super) fn is_native(code: Code, slots: &[Slot]) -> bool {
    let slot = |k: u32| slots[k as usize];
    match code {
        Code::MoveA(..)
        | Code::Array(..)
        | Code::Fill(..)
        | Code::Accumulate(..)
        | Code::OnArrays(..)
        | Code::Elements(..)
        | Code::PushA(..)
        | Code::PopA(..)
        | Code::Call(..)
        | Code::Primitive(..)
        | Code::Return(_)
        | Code::Mark(_) => false,
        Code::Select(bank, ..) => bank == bank.element(),
        // In place, which is what a loop does; integers are not added.
        Code::Set(how, d, a, ..) => {
            slot(a).reg == d && slot(a).last && (how != Write::Add || slot(a).bank != Bank::Ints)
        }
        _ => true,
    }
}
