//! One register for values that follow each other, so that edges need no moves.
//!
//! ```text
//! head(s):  …                      the loop's `s`, its next value and the
//!           t = s * k + c    ->    argument of the edge share one register:
//!           jump head(t)           no move is left
//! ```
//!
//! Two registers become one if they do not interfere: no instruction writes one of them while the
//! other is live with a value of its own. Moves in inner loops come first. An array that is written
//! to shares a register with the result of the write, where that is possible.
//!
//! Cost: O(instructions x live registers / 64) and an interference table, one bit for each pair of
//! registers that moves touch; moves of more than [`MAX_REGISTERS`] registers are kept.
//!
//! Source: G. Chaitin et al., "Register allocation via coloring" (1981), its coalescing step.

use super::{
    bytecode::Routine,
    code::{Bank, Code, Reg, RegisterSlot},
    liveness::{Numbering, RegisterLiveness, RegisterSet},
    registers::{Access, visit},
};

/// Maximum number of registers whose moves are coalesced: the interference table then has 16 MiB.
const MAX_REGISTERS: usize = 1 << 13;

/// Merges registers that moves and writes to arrays connect, drops the moves that are left without
/// effect as `Jump`s to the next instruction, and numbers the registers without gaps.
pub(super) fn coalesce(routine: &mut Routine) {
    let moves = moves(routine);
    if !moves.is_empty() {
        let mut touched = Numbering::new(routine);
        for &(_, bank, d, a) in &moves {
            if touched.len() + 2 <= MAX_REGISTERS {
                touched.add(bank, d);
                touched.add(bank, a);
            }
        }
        let mut classes = CoalescedClasses::interference(routine, &touched);
        for &(_, bank, d, a) in &moves {
            if let (Some(d), Some(a)) = (touched.index_of(bank, d), touched.index_of(bank, a)) {
                classes.merge(d, a);
            }
        }
        let names: Vec<Reg> =
            (0..touched.len()).map(|k| touched.registers[classes.find(k)].1).collect();
        rename(routine, |bank, reg| touched.index_of(bank, reg).map_or(reg, |k| names[k]));
        for (pc, ..) in moves {
            let same = match routine.code[pc] {
                Code::MoveR(d, a) | Code::MoveC(d, a) | Code::MoveI(d, a) => d == a,
                Code::MoveA(d, a) => routine.slots[a as usize].reg == d,
                _ => false,
            };
            if same {
                routine.code[pc] = Code::Jump(pc as u32 + 1);
            }
        }
    }
    renumber(routine);
}

/// Returns the moves and writes to arrays, those in the most loops first: instruction, bank,
/// destination, source.
fn moves(routine: &Routine) -> Vec<(usize, Bank, Reg, Reg)> {
    let mut depth = vec![0i32; routine.code.len() + 1];
    for pc in 0..routine.code.len() {
        for to in routine.successors(pc).filter(|&to| to <= pc) {
            depth[to] += 1;
            depth[pc + 1] -= 1;
        }
    }
    let mut inside = 0;
    for d in &mut depth {
        inside += *d;
        *d = inside;
    }
    let mut moves: Vec<_> = (routine.code.iter().enumerate())
        .filter_map(|(pc, code)| match *code {
            Code::MoveR(d, a) => Some((pc, Bank::Real, d, a)),
            Code::MoveC(d, a) => Some((pc, Bank::Complex, d, a)),
            Code::MoveI(d, a) => Some((pc, Bank::Int, d, a)),
            Code::MoveA(d, a) | Code::Set(_, d, a, ..) => {
                let from = routine.slots[a as usize];
                Some((pc, from.bank, d, from.reg))
            }
            _ => None,
        })
        .collect();
    moves.sort_by_key(|m| std::cmp::Reverse(depth[m.0]));
    moves
}

/// Registers that have become one, and which of them must stay apart.
struct CoalescedClasses {
    parent: Vec<usize>,
    apart: Vec<RegisterSet>,
}

impl CoalescedClasses {
    fn interference(routine: &Routine, touched: &Numbering) -> CoalescedClasses {
        let n = touched.len();
        let mut classes =
            CoalescedClasses { parent: (0..n).collect(), apart: vec![RegisterSet::new(n); n] };
        let liveness = RegisterLiveness::analyze(routine, touched);
        let mut slots = routine.slots.clone();
        let mut writes = Vec::new();
        for (block, after) in liveness.blocks.iter().zip(&liveness.live_out) {
            let mut live = after.clone();
            for pc in block.clone().rev() {
                let mut code = routine.code[pc];
                writes.clear();
                visit(&mut code, &mut slots, |bank, reg, access| {
                    if access == Access::Write {
                        writes.extend(touched.index_of(bank, *reg));
                    }
                });
                // The source of a move has the value that is written.
                let source = match code {
                    Code::MoveR(_, a) => touched.index_of(Bank::Real, a),
                    Code::MoveC(_, a) => touched.index_of(Bank::Complex, a),
                    Code::MoveI(_, a) => touched.index_of(Bank::Int, a),
                    Code::MoveA(_, a) => {
                        touched.index_of(slots[a as usize].bank, slots[a as usize].reg)
                    }
                    _ => None,
                };
                for &d in &writes {
                    live.iter().filter(|&l| Some(l) != source).for_each(|l| classes.separate(d, l));
                    writes.iter().for_each(|&other| classes.separate(d, other));
                }
                writes.iter().for_each(|&d| live.remove(d));
                visit(&mut code, &mut slots, |bank, reg, access| {
                    if access != Access::Write
                        && let Some(k) = touched.index_of(bank, *reg)
                    {
                        live.insert(k);
                    }
                });
            }
            if block.start == 0 {
                // The caller writes all parameters before the first instruction.
                let of = |s: &RegisterSlot| touched.index_of(s.bank, s.reg);
                for p in routine.params.iter().filter_map(of) {
                    live.iter().for_each(|l| classes.separate(p, l));
                    routine.params.iter().filter_map(of).for_each(|q| classes.separate(p, q));
                }
            }
        }
        classes
    }

    fn separate(&mut self, a: usize, b: usize) {
        if a != b {
            self.apart[a].insert(b);
            self.apart[b].insert(a);
        }
    }

    fn find(&self, mut k: usize) -> usize {
        while self.parent[k] != k {
            k = self.parent[k];
        }
        k
    }

    fn merge(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        if a == b || self.apart[a].contains(b) {
            return;
        }
        self.parent[b] = a;
        let taken = self.apart[b].clone();
        self.apart[a].extend(&taken);
        taken.iter().for_each(|l| self.apart[l].insert(a));
    }
}

fn rename(routine: &mut Routine, name: impl Fn(Bank, Reg) -> Reg) {
    let Routine { code, slots, params, .. } = routine;
    for code in code {
        visit(code, slots, |bank, reg, _| *reg = name(bank, *reg));
    }
    params.iter_mut().for_each(|s| s.reg = name(s.bank, s.reg));
}

/// Registers without gaps, in order of their first appearance.
fn renumber(routine: &mut Routine) {
    let mut numbers = routine.sizes.map(|n| vec![None; n as usize]);
    let mut sizes = [0; super::code::BANKS];
    let mut number = |bank: Bank, reg: &mut Reg| {
        let (size, known) = (&mut sizes[bank as usize], &mut numbers[bank as usize][*reg as usize]);
        *reg = *known.get_or_insert_with(|| {
            *size += 1;
            *size - 1
        });
    };
    routine.params.iter_mut().for_each(|s| number(s.bank, &mut s.reg));
    for code in &mut routine.code {
        visit(code, &mut routine.slots, |bank, reg, _| number(bank, reg));
    }
    routine.sizes = sizes;
}
