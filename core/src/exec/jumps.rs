//! Jumps: to where they lead in the end, and none to the next instruction; counting and comparing at once.
//!
//! ```text
//! 3: jump 7                          (gone: what came to 3 goes to 9)
//! 5: i += k                    ->    i += k; if i < n goto 2, else 9
//! 6: if i < n goto 2, else 3
//! 7: jump 9
//! ```

use crate::ir::Int2;

use super::{
    bytecode::Routine,
    code::{Bank, Code, Pc, Reg},
    registers::{Access, visit},
};

/// Shortens the ways of a routine and drops what cannot be reached.
pub(super) fn shorten(routine: &mut Routine) {
    thread(routine);
    drop_unneeded(routine);
    if fuse_steps(routine) {
        drop_unneeded(routine);
    }
}

/// Every target becomes where the jumps from it end.
fn thread(routine: &mut Routine) {
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

/// A count and the comparison that ends its stretch of code become one instruction, where the comparison
/// stands. What is between them does not fail and does not look at the count.
fn fuse_steps(routine: &mut Routine) -> bool {
    let mut entered = vec![false; routine.code.len() + 1];
    for pc in (0..routine.code.len()).filter(|&pc| routine.code[pc].ends()) {
        routine.successors(pc).for_each(|to| entered[to] = true);
    }
    let mut fused = false;
    for end in 0..routine.code.len() {
        let (Code::LtI(a, b, ..) | Code::EqI(a, b, ..)) = routine.code[end] else { continue };
        let mut pc = end;
        while pc > 0 && !entered[pc] {
            pc -= 1;
            if let Some(step) = step(routine.code[pc], routine.code[end]) {
                routine.code[end] = step;
                routine.at[end] = routine.at[pc];
                routine.code[pc] = Code::Jump(pc as Pc + 1);
                fused = true;
                break;
            }
            if !lets_pass(routine, pc, [a, b]) {
                break;
            }
        }
    }
    fused
}

/// The two in one, if they are a count and its comparison.
fn step(count: Code, end: Code) -> Option<Code> {
    let (i, x, k, back) = match count {
        Code::AddI(i, x, k) => (i, x, k, false),
        Code::Int2(Int2::Sub, i, x, k) => (i, x, k, true),
        _ => return None,
    };
    if i != x || i == k {
        return None;
    }
    match (end, back) {
        (Code::LtI(a, n, yes, no), false) if a == i && n != i => Some(Code::StepLt(i, k, n, yes, no)),
        (Code::LtI(n, a, yes, no), false) if a == i && n != i => Some(Code::StepGt(i, k, n, yes, no)),
        (Code::EqI(a, n, yes, no) | Code::EqI(n, a, yes, no), _) if a == i && n != i => Some(match back {
            false => Code::StepEq(i, k, n, yes, no),
            true => Code::BackEq(i, k, n, yes, no),
        }),
        _ => None,
    }
}

/// Whether a count may be done after this instruction instead of before.
fn lets_pass(routine: &mut Routine, pc: usize, looked_at: [Reg; 2]) -> bool {
    let mut code = routine.code[pc];
    let plain = matches!(
        code,
        Code::AddR(..)
            | Code::SubR(..)
            | Code::MulR(..)
            | Code::DivR(..)
            | Code::NegR(..)
            | Code::Number1R(..)
            | Code::Number2R(..)
            | Code::MoveR(..)
            | Code::MoveI(..)
            | Code::PushR(..)
            | Code::PushI(..)
            | Code::PopR(..)
            | Code::AddAdd(..)
            | Code::AddSub(..)
            | Code::AddMul(..)
            | Code::SubAdd(..)
            | Code::SubSub(..)
            | Code::SubMul(..)
            | Code::MulAdd(..)
            | Code::MulSub(..)
            | Code::MulMul(..)
            | Code::AddAddBack(..)
            | Code::AddSubBack(..)
            | Code::AddMulBack(..)
            | Code::SubAddBack(..)
            | Code::SubSubBack(..)
            | Code::SubMulBack(..)
            | Code::MulAddBack(..)
            | Code::MulSubBack(..)
            | Code::MulMulBack(..)
    );
    let mut free = true;
    visit(&mut code, &mut routine.slots, |bank, reg, access| {
        free &= bank != Bank::Int || (access != Access::Write && !looked_at.contains(reg));
    });
    plain && free
}

/// Drops what is not reached and jumps to the next instruction that is left.
fn drop_unneeded(routine: &mut Routine) {
    let mut keep = reached(routine);
    let len = routine.code.len();
    // From the back: the next instruction left of each.
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
