//! Peephole fusion of superinstructions: the counters, branches and pushes of loops.
//!
//! ```text
//! i += k; …; if i < n goto 2, else 9              ->  …; i += k, if i < n goto 2, else 9
//! if i = n goto 9, else 5; 5: i -= k; …           ->  if i = n goto 9, else i -= k, goto 6
//! c = a < b, goto 5 or 7; 5: …; push c; 7: push c ->  c = a < b, push c, goto 5 or 7; 5: …
//! ```

use crate::ir::Int2;

use super::{
    bytecode::Routine,
    code::{Bank, Code, Pc, Reg},
    registers::{Access, visit},
};

/// Fusions, in this order. Each returns true if it changed the code; an instruction that it removes
/// becomes a `Jump` to the next one.
pub(super) const FUSIONS: [fn(&mut Routine) -> bool; 3] = [fuse_steps, fuse_pushes, fuse_backs];

/// Returns the number of jumps to each instruction.
fn jump_counts(routine: &Routine) -> Vec<u32> {
    let mut ways = vec![0; routine.code.len() + 1];
    for pc in (0..routine.code.len()).filter(|&pc| routine.code[pc].ends()) {
        routine.successors(pc).for_each(|to| ways[to] += 1);
    }
    ways
}

/// Fuses an update of an induction variable and the comparison that ends its basic block, at the
/// comparison. The instructions between them do not fail and do not read the variable.
fn fuse_steps(routine: &mut Routine) -> bool {
    let (ways, mut fused) = (jump_counts(routine), false);
    for end in 0..routine.code.len() {
        let (Code::LtI(a, b, ..) | Code::EqI(a, b, ..)) = routine.code[end] else { continue };
        let mut pc = end;
        while pc > 0 && ways[pc] == 0 {
            pc -= 1;
            if let Some(step) = step(routine.code[pc], routine.code[end]) {
                routine.code[end] = step;
                routine.at[end] = routine.at[pc];
                routine.code[pc] = Code::Jump(pc as Pc + 1);
                fused = true;
                break;
            }
            if !commutes(routine, pc, [a, b]) {
                break;
            }
        }
    }
    fused
}

/// Returns the superinstruction of an update of an induction variable and a comparison of it.
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
        (Code::LtI(a, n, yes, no), false) if a == i && n != i => {
            Some(Code::StepLt(i, k, n, yes, no))
        }
        (Code::LtI(n, a, yes, no), false) if a == i && n != i => {
            Some(Code::StepGt(i, k, n, yes, no))
        }
        (Code::EqI(a, n, yes, no) | Code::EqI(n, a, yes, no), _) if a == i && n != i => {
            Some(match back {
                false => Code::StepEq(i, k, n, yes, no),
                true => Code::BackEq(i, k, n, yes, no),
            })
        }
        _ => None,
    }
}

/// Returns true if a counter update may move to after this instruction, or a push to before it: it
/// cannot fail, writes no integer and does not read these registers.
fn commutes(routine: &mut Routine, pc: usize, looked_at: [Reg; 2]) -> bool {
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
            | Code::UpdateChecksums(..)
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

/// Fuses the header of a backward loop: the test for the last iteration, and the update of the
/// induction variable.
fn fuse_backs(routine: &mut Routine) -> bool {
    let mut fused = false;
    for pc in 0..routine.code.len() {
        let Code::EqI(a, b, yes, no) = routine.code[pc] else { continue };
        let Code::Int2(Int2::Sub, i, x, k) = routine.code[no as usize] else { continue };
        if i == x && i != k && (a == i) != (b == i) {
            let limit = if a == i { b } else { a };
            routine.code[pc] = Code::EqBack(i, k, limit, yes, no + 1);
            routine.at[pc] = routine.at[no as usize];
            fused = true;
        }
    }
    fused
}

/// Fuses a comparison with the pushes of its result on the same tape in both branches.
fn fuse_pushes(routine: &mut Routine) -> bool {
    let (ways, mut fused) = (jump_counts(routine), false);
    for pc in 0..routine.code.len() {
        let Code::TestR(op, d, a, b, yes, no) = routine.code[pc] else { continue };
        let (Some((first, tape)), Some((second, other))) =
            (push_of(routine, &ways, d, yes as usize), push_of(routine, &ways, d, no as usize))
        else {
            continue;
        };
        let Some(tape) = u16::try_from(tape).ok().filter(|_| tape == other) else { continue };
        routine.code[pc] = Code::TestPush(op, tape, d, a, b, yes, no);
        for push in [first, second] {
            routine.code[push] = Code::Jump(push as Pc + 1);
        }
        fused = true;
    }
    fused
}

/// Returns the instruction that pushes a register, and the tape, on the path from an instruction
/// with a single predecessor. The instructions on the path commute with the push.
fn push_of(routine: &mut Routine, ways: &[u32], reg: Reg, from: usize) -> Option<(usize, u32)> {
    let mut pc = from;
    if ways[pc] != 1 || pc.checked_sub(1).is_some_and(|before| !routine.code[before].ends()) {
        return None;
    }
    loop {
        match routine.code[pc] {
            Code::PushI(tape, r) if r == reg => return Some((pc, tape)),
            Code::PushI(..) => return None,
            _ => {}
        }
        if !commutes(routine, pc, [reg; 2]) || ways[pc + 1] != 0 {
            return None;
        }
        pc += 1;
    }
}
