//! Entry points: the instructions before which machine code may be entered.
//!
//! There is an entry point at the start of a routine, at the header of each loop and after each
//! instruction that is left to the machine, if enough work follows: loading and storing registers
//! costs as much as some instructions.

use std::ops::Range;

use crate::ir::ArrayOp;

use super::{
    super::{
        bytecode::Routine,
        code::{Bank, Code, Pc, RegisterSlot, WriteMode},
    },
    cells::JitCell,
};

/// Number of instructions that are worth an entry point. A loop always is, and a routine that calls
/// itself.
const MIN_UNIT_WORK: usize = 16;

/// Approximate number of instructions of a part: the cost of generating a function grows faster
/// than its length.
const UNIT_LEN: usize = 512;

/// Returns the number of a routine whose recursive calls become jumps: it is one part and has no
/// registers of arrays, which are reference-counted.
pub(super) fn recursion(routine: &Routine, number: usize) -> Option<u32> {
    let number = number as u32;
    let calls =
        routine.code.iter().any(|code| matches!(code, Code::Call(callee, ..) if *callee == number));
    let has_arrays = routine.sizes[Bank::Reals as usize..].iter().any(|&size| size > 0);
    (calls && !has_arrays && routine.code.len() <= UNIT_LEN).then_some(number)
}

/// Inserts the entry points into a routine; returns the parts that become functions. `own` is the
/// result of [`recursion`].
pub(super) fn insert_entry_points(routine: &mut Routine, own: Option<u32>) -> Vec<Range<usize>> {
    let len = routine.code.len();
    let starts = unit_starts(routine);
    let part: Vec<usize> =
        (0..len).map(|pc| starts.partition_point(|&start| start <= pc)).collect();
    let native: Vec<bool> =
        routine.code.iter().map(|code| is_native(*code, &routine.slots, own)).collect();
    let mut candidates = vec![false; len];
    starts.iter().for_each(|&pc| candidates[pc] = true);
    for pc in 0..len {
        for to in routine.successors(pc) {
            candidates[to] |= to <= pc || !native[pc] || part[to] != part[pc];
        }
    }
    let inside = |from: usize, to: usize| native[to] && part[from] == part[to];
    let is_entry: Vec<bool> =
        (0..len).map(|pc| candidates[pc] && is_worthwhile(routine, inside, pc)).collect();
    let place = write_entry_points(routine, &is_entry, &part);
    let ends = starts[1..].iter().copied().chain([len]);
    starts.iter().zip(ends).map(|(&start, end)| place[start]..place[end]).collect()
}

/// Returns the starts of the parts, none of which is within a loop that fits into one part.
fn unit_starts(routine: &Routine) -> Vec<usize> {
    let len = routine.code.len();
    let mut depth = vec![0i32; len + 1];
    for pc in 0..len {
        for to in routine.successors(pc).filter(|&to| to <= pc && pc - to < UNIT_LEN) {
            depth[to + 1] += 1;
            depth[pc + 1] -= 1;
        }
    }
    let (mut starts, mut start, mut inside) = (vec![0], 0, 0);
    for (pc, change) in depth.iter().take(len).enumerate() {
        inside += change;
        if pc - start >= UNIT_LEN && (inside == 0 || pc - start >= 2 * UNIT_LEN) {
            starts.push(pc);
            start = pc;
        }
    }
    starts
}

/// Returns true if enough work is reachable from an instruction.
fn is_worthwhile(routine: &Routine, inside: impl Fn(usize, usize) -> bool, from: usize) -> bool {
    let (mut seen, mut next, mut count) = (vec![from], 0, 0);
    while let Some(&pc) = seen.get(next) {
        next += 1;
        if !inside(from, pc) {
            continue;
        }
        count += 1;
        if count >= MIN_UNIT_WORK || matches!(routine.code[pc], Code::Call(..)) {
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
    false
}

/// Inserts entry points before these instructions; jumps to one now lead to its entry point.
/// Returns the new index of each instruction, or of its entry point.
fn write_entry_points(routine: &mut Routine, is_entry: &[bool], part: &[usize]) -> Vec<usize> {
    let mut place = Vec::with_capacity(is_entry.len() + 1);
    let (mut code, mut at, mut number) = (Vec::new(), Vec::new(), 0);
    for (pc, &wanted) in is_entry.iter().enumerate() {
        place.push(code.len());
        if wanted {
            code.push(Code::Native(part[pc] as u32 - 1, number));
            at.push(routine.at[pc]);
            number += 1;
        }
        code.push(routine.code[pc]);
        at.push(routine.at[pc]);
    }
    place.push(code.len());
    let moved = |to: &mut Pc| *to = place[*to as usize] as Pc;
    for code in &mut code {
        let (yes, no) = code.targets_mut();
        yes.into_iter().chain(no).for_each(moved);
    }
    routine.tables.iter_mut().for_each(moved);
    (routine.code, routine.at) = (code, at);
    place
}

/// Pattern of the instructions that are left to the machine whatever their operands are.
macro_rules! for_the_machine {
    () => {
        Code::MoveA(..)
            | Code::Array(..)
            | Code::Fill(..)
            | Code::Accumulate(..)
            | Code::AccumulatePart(..)
            | Code::Elements(..)
            | Code::Small(..)
            | Code::PushA(..)
            | Code::PopA(..)
            | Code::Primitive(..)
            | Code::Mark(_)
    };
}
pub(super) use for_the_machine;

/// Returns the array and the indices of an element whose index is computed, if a [cell](JitCell)
/// holds as many.
pub(super) fn indexed(args: &[RegisterSlot]) -> Option<(RegisterSlot, &[RegisterSlot])> {
    let (array, indices) = args.split_first()?;
    let fits = (1..=size_of::<JitCell>() / size_of::<usize>()).contains(&indices.len());
    (fits && !array.last && indices.iter().all(|index| index.bank == Bank::Int))
        .then_some((*array, indices))
}

/// Returns true if there is machine code for an instruction of a routine with this number if it
/// [calls itself](recursion).
pub(super) fn is_native(code: Code, slots: &[RegisterSlot], own: Option<u32>) -> bool {
    let slot = |k: u32| slots[k as usize];
    match code {
        for_the_machine!() => false,
        Code::Call(callee, ..) => own == Some(callee),
        Code::OnArrays(ArrayOp::RavelMultiIndex, args, _) => {
            indexed(&slots[args.range()]).is_some()
        }
        Code::OnArrays(..) => false,
        Code::Return(_) => own.is_some(),
        Code::Select(bank, ..) => bank == bank.element(),
        // A write in place, as loops have them; integers are not added.
        Code::Set(how, d, a, ..) => {
            slot(a).reg == d
                && slot(a).last
                && (how != WriteMode::Add || slot(a).bank != Bank::Ints)
        }
        _ => true,
    }
}
