//! Phi lowering: the ends of blocks become branches fused with their comparison, parallel moves on
//! edges, and copies of short blocks (tail duplication).

use crate::{
    entity::{Block, Inst, Value},
    ir::{Compare, Op, Target, Terminator},
};

use super::{
    super::{
        code::{Bank, Code, RegisterSlot},
        inspect::Moment,
    },
    compiler::{Compiler, Patch, Style},
};

impl Compiler<'_> {
    /// Returns true if an instruction, the last of its block, is fused with the terminator: it
    /// computes the condition, and either the condition has no other reader or the fused
    /// instruction keeps it.
    pub(super) fn fuses_with_terminator(&self, i: Inst, end: &Terminator) -> bool {
        if self.style != Style::Fast {
            return false;
        }
        let inst = &self.f.insts[i];
        let alone = |v: Value| inst.result == Some(v) && self.uses[v.index()] == 1;
        match (inst.op, end) {
            (Op::Compare(_), Terminator::Branch(c, ..)) => inst.result == Some(*c),
            (Op::CompareInt(_) | Op::Pop { .. }, Terminator::Branch(c, ..)) => alone(*c),
            (Op::Pop { .. }, Terminator::Switch(i, _)) => alone(*i),
            _ => false,
        }
    }

    /// Emits the end of a block. Instead of a jump to a block with several predecessors, up to
    /// `budget` of its instructions are duplicated (tail duplication).
    pub(super) fn terminator(&mut self, block: Block, end: &Terminator, budget: usize) {
        let f = self.f;
        let joined =
            f.blocks[block].insts.last().copied().filter(|&i| self.fuses_with_terminator(i, end));
        match end {
            Terminator::Open => {}
            Terminator::Jump(t) => self.jump(block, t, budget),
            Terminator::Return(v) => {
                self.mark(Moment::Return(block));
                let leaves = self.leaves(&[*v]);
                let values = self.slots(&leaves);
                self.emit(Code::Return(values));
            }
            Terminator::Branch(c, yes, no) => {
                let (code, swapped) = match joined {
                    Some(i) => {
                        self.at = f.insts[i].at;
                        let args = &f.insts[i].args;
                        match f.insts[i].op {
                            Op::Pop { tape, .. } => (Code::PopBranch(tape, 0, 0), false),
                            Op::Compare(op) if self.uses[c.index()] > 1 => (
                                Code::TestR(
                                    op,
                                    self.reg(*c),
                                    self.reg(args[0]),
                                    self.reg(args[1]),
                                    0,
                                    0,
                                ),
                                false,
                            ),
                            op => branch(op, self.reg(args[0]), self.reg(args[1])),
                        }
                    }
                    None => (Code::Branch(self.reg(*c), 0, 0), false),
                };
                let (yes, no) = if swapped { (no, yes) } else { (yes, no) };
                let place = self.routine.code.len();
                self.emit(code);
                let yes_at = self.edge_block(
                    Moment::Edge(block, usize::from(swapped)),
                    yes,
                    Patch::Yes(place),
                );
                let no_at = self.edge_block(
                    Moment::Edge(block, usize::from(!swapped)),
                    no,
                    Patch::No(place),
                );
                let (to, or) = self.routine.code[place].targets_mut();
                to.into_iter().for_each(|to| *to = yes_at);
                or.into_iter().for_each(|to| *to = no_at);
            }
            Terminator::Switch(i, targets) => {
                let table = self.routine.tables.len();
                self.routine.tables.resize(table + targets.len(), 0);
                let (first, len) = (table as u32, targets.len() as u32);
                let pop = joined.map(|i| f.insts[i].op);
                self.emit(match pop {
                    Some(Op::Pop { tape, .. }) => Code::PopSwitch(tape, first, len),
                    _ => Code::Switch(self.reg(*i), first, len),
                });
                for (k, target) in targets.iter().enumerate() {
                    self.routine.tables[table + k] =
                        self.edge_block(Moment::Edge(block, k), target, Patch::Table(table + k));
                }
            }
        }
    }

    /// Emits the moves of an edge and a jump, if it has any, and returns their start; else the
    /// target is patched.
    fn edge_block(&mut self, edge: Moment, target: &Target, patch: Patch) -> u32 {
        let start = self.here();
        let moves = self.moves(target);
        self.mark(edge);
        if moves.is_empty() && self.style == Style::Fast {
            self.patches.push((patch, target.block));
        } else {
            self.parallel_moves(moves);
            self.plain_jump(target.block);
        }
        start
    }

    fn plain_jump(&mut self, to: Block) {
        self.patches.push((Patch::Yes(self.routine.code.len()), to));
        self.emit(Code::Jump(0));
    }

    /// Emits an edge that is always taken.
    fn jump(&mut self, from: Block, target: &Target, budget: usize) {
        self.mark(Moment::Edge(from, 0));
        let moves = self.moves(target);
        self.parallel_moves(moves);
        let block = &self.f.blocks[target.block];
        let shared = self.predecessor_counts[target.block.index()] > 1 && target.block != from;
        match budget.checked_sub(block.insts.len() + 1) {
            Some(rest) if shared && self.style == Style::Fast => {
                self.body(target.block);
                self.terminator(target.block, &block.end, rest);
            }
            _ => self.plain_jump(target.block),
        }
    }

    /// Returns the moves of an edge, from each argument's registers to the parameter's.
    fn moves(&self, target: &Target) -> Vec<(RegisterSlot, RegisterSlot)> {
        let params = self.leaves(&self.f.blocks[target.block].params);
        let args = self.leaves(&target.args);
        params.into_iter().zip(args).filter(|(p, a)| p != a).collect()
    }

    /// Emits parallel moves: a register that one move overwrites and another still reads is first
    /// copied to a spare register.
    fn parallel_moves(&mut self, mut moves: Vec<(RegisterSlot, RegisterSlot)>) {
        while !moves.is_empty() {
            // A move whose target is not read by another …
            let free = moves.iter().position(|(to, _)| moves.iter().all(|(_, from)| from != to));
            if let Some(k) = free {
                let (to, from) = moves.swap_remove(k);
                self.copy(to, from);
                continue;
            }
            // … or, in a cycle, a copy of the first source breaks it.
            let from = moves[0].1;
            let spare = RegisterSlot { bank: from.bank, reg: self.fresh(from.bank), last: false };
            self.copy(spare, from);
            moves.iter_mut().filter(|m| m.1 == from).for_each(|m| m.1 = spare);
        }
    }

    pub(super) fn copy(&mut self, to: RegisterSlot, from: RegisterSlot) {
        let (d, a) = (to.reg, from.reg);
        let code = match to.bank {
            Bank::Real => Code::MoveR(d, a),
            Bank::Complex => Code::MoveC(d, a),
            Bank::Int => Code::MoveI(d, a),
            _ => Code::MoveA(d, self.slots(&[from]).start),
        };
        self.emit(code);
    }
}

/// Returns the instruction that fuses a comparison and its branch, and true if the targets are
/// swapped: integers have `<` and `=` only, real numbers `<=` also, as `not (a < b)` is not
/// `b <= a` if one is NaN.
fn branch(op: Op, a: u32, b: u32) -> (Code, bool) {
    match op {
        Op::Compare(op) => match op {
            Compare::Lt => (Code::LtR(op, a, b, 0, 0), false),
            Compare::Gt => (Code::LtR(op, b, a, 0, 0), false),
            Compare::Le => (Code::LeR(op, a, b, 0, 0), false),
            Compare::Ge => (Code::LeR(op, b, a, 0, 0), false),
            Compare::Eq => (Code::EqR(op, a, b, 0, 0), false),
            Compare::Ne => (Code::EqR(op, a, b, 0, 0), true),
        },
        Op::CompareInt(Compare::Gt) => (Code::LtI(b, a, 0, 0), false),
        Op::CompareInt(Compare::Le) => (Code::LtI(b, a, 0, 0), true),
        Op::CompareInt(Compare::Ge) => (Code::LtI(a, b, 0, 0), true),
        Op::CompareInt(Compare::Eq) => (Code::EqI(a, b, 0, 0), false),
        Op::CompareInt(Compare::Ne) => (Code::EqI(a, b, 0, 0), true),
        _ => (Code::LtI(a, b, 0, 0), false),
    }
}
