//! Analysis of a routine before machine code is written: registers that are constants, and for each
//! part the registers that machine code touches and those that are live at its entry points and
//! side exits.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{
    super::{
        bytecode::Routine,
        code::{Bank, Code, Reg, RegisterSlot},
        liveness::{Numbering, RegisterLiveness, RegisterSet},
        registers::{Access, visit},
    },
    entry_points::is_native,
};

/// Number of stores in side exits that an instruction may cost before every write is stored at
/// once.
const MAX_EXIT_STORES: usize = 8;

/// Routine with entry points, analysed.
pub(super) struct JitPlan<'a> {
    pub(super) routine: &'a Routine,
    /// Number of the routine if its recursive calls are jumps.
    pub(super) recursion: Option<u32>,
    numbering: Numbering,
    /// Registers that hold one constant and nothing else.
    pub(super) constants: HashMap<(Bank, Reg), Code>,
    liveness: RegisterLiveness,
}

impl JitPlan<'_> {
    pub(super) fn analyze(routine: &Routine, own: Option<u32>) -> JitPlan<'_> {
        let mut numbering = Numbering::new(routine);
        let mut writes: HashMap<(Bank, Reg), u32> = HashMap::new();
        let mut slots = routine.slots.clone();
        let params = routine.params.iter().map(|slot| (slot.bank, slot.reg));
        params.for_each(|of| *writes.entry(of).or_default() += 1);
        for code in &routine.code {
            visit(&mut code.clone(), &mut slots, |bank, reg, access| {
                if bank == bank.element() {
                    numbering.add(bank, *reg);
                    *writes.entry((bank, *reg)).or_default() += u32::from(access == Access::Write);
                }
            });
        }
        let constant = |&code: &Code| match code {
            Code::Real(d, _) | Code::RealInt(d, _) => Some(((Bank::Real, d), code)),
            Code::Int(d, _) => Some(((Bank::Int, d), code)),
            _ => None,
        };
        let constants = routine.code.iter().filter_map(constant);
        let constants = constants.filter(|(of, _)| writes.get(of) == Some(&1)).collect();
        let liveness = RegisterLiveness::analyze(routine, &numbering);
        JitPlan { routine, recursion: own, numbering, constants, liveness }
    }

    /// Returns true if there is machine code for an instruction.
    pub(super) fn is_native(&self, pc: usize) -> bool {
        is_native(self.routine.code[pc], &self.routine.slots, self.recursion)
    }

    /// Visits the registers that are live before each instruction of the basic block that contains
    /// one, in reverse order.
    fn walk(
        &self,
        pc: usize,
        slots: &mut [RegisterSlot],
        mut see: impl FnMut(usize, &RegisterSet),
    ) {
        let after = self.liveness.blocks.partition_point(|block| block.start <= pc);
        let Some(k) = after.checked_sub(1) else { return };
        let mut live = self.liveness.live_out[k].clone();
        let mut reads = Vec::new();
        for pc in self.liveness.blocks[k].clone().rev() {
            reads.clear();
            visit(&mut self.routine.code[pc].clone(), slots, |bank, reg, access| {
                match (self.numbering.index_of(bank, *reg), access) {
                    (Some(k), Access::Write) => live.remove(k),
                    (Some(k), _) => reads.push(k),
                    _ => {}
                }
            });
            reads.iter().for_each(|&k| live.insert(k));
            see(pc, &live);
        }
    }
}

/// A part of a routine that becomes one function.
pub(super) struct JitUnit {
    pub(super) range: Range<usize>,
    /// The registers that machine code reads here, but for constants, and whether it writes them.
    touched: HashMap<(Bank, Reg), bool>,
    /// Those of them that are live before each instruction where machine code may begin or
    /// end.
    live_at: HashMap<usize, Vec<(Bank, Reg)>>,
    /// True if registers are stored at each write.
    pub(super) write_through: bool,
}

impl JitUnit {
    /// Analyses a part. `slots` is a copy of the routine's, which visiting instructions needs.
    pub(super) fn analyze(
        plan: &JitPlan<'_>,
        range: Range<usize>,
        slots: &mut [RegisterSlot],
    ) -> JitUnit {
        let routine = plan.routine;
        let mut touched: HashMap<(Bank, Reg), bool> = HashMap::new();
        let mut wanted = HashSet::from([range.start, range.end]);
        for pc in range.clone() {
            let code = routine.code[pc];
            if !plan.is_native(pc) {
                wanted.insert(pc);
                continue;
            }
            wanted.extend(may_side_exit(code).then_some(pc));
            // After an entry point, so that there is progress before the next one.
            let ahead = code.ends() || matches!(code, Code::Native(..) | Code::Call(..));
            wanted.extend(routine.successors(pc).filter(|_| ahead));
            visit(&mut code.clone(), slots, |bank, reg, access| {
                let of = (bank, *reg);
                if bank == bank.element() && !plan.constants.contains_key(&of) {
                    *touched.entry(of).or_default() |= access == Access::Write;
                }
            });
        }
        // A call brings its arguments along.
        let params = routine.params.iter().filter(|_| plan.recursion.is_some());
        params.for_each(|slot| {
            touched.entry((slot.bank, slot.reg)).and_modify(|written| *written = true);
        });
        let mut numbers: Vec<usize> =
            touched.keys().filter_map(|&(bank, reg)| plan.numbering.index_of(bank, reg)).collect();
        numbers.sort_unstable();
        let mut part = JitUnit { range, touched, live_at: HashMap::new(), write_through: false };
        let mut left: Vec<usize> =
            wanted.iter().copied().filter(|&pc| pc < routine.code.len()).collect();
        left.sort_unstable();
        while let Some(pc) = left.pop() {
            if !part.live_at.contains_key(&pc) {
                plan.walk(pc, slots, |pc, live| {
                    if wanted.contains(&pc) {
                        let live = numbers.iter().filter(|&&k| live.contains(k));
                        part.live_at
                            .insert(pc, live.map(|&k| plan.numbering.registers[k]).collect());
                    }
                });
            }
        }
        let stores: usize = part.live_at.values().map(Vec::len).sum();
        part.write_through = stores > MAX_EXIT_STORES * part.range.len();
        part
    }

    /// Returns true if machine code touches registers of a bank.
    pub(super) fn touches(&self, bank: Bank) -> bool {
        self.touched.keys().any(|of| of.0 == bank)
    }

    /// Returns the registers to load at an entry point.
    pub(super) fn live_in_at(&self, pc: usize) -> impl Iterator<Item = (Bank, Reg)> {
        debug_assert!(
            self.live_at.contains_key(&pc),
            "machine code begins or ends at {pc}, which is not planned"
        );
        self.live_at.get(&pc).into_iter().flatten().copied()
    }

    /// Returns the registers to store at a side exit: a register that machine code does not write
    /// is unchanged in memory.
    pub(super) fn spilled_at(&self, pc: usize) -> impl Iterator<Item = (Bank, Reg)> {
        self.live_in_at(pc).filter(|of| !self.write_through && self.touched.get(of) == Some(&true))
    }
}

/// Returns true if an instruction that has machine code may be an entry point or a side exit.
fn may_side_exit(code: Code) -> bool {
    let fallible = matches!(
        code,
        Code::AddI(..)
            | Code::Expect(..)
            | Code::Int1(..)
            | Code::Int2(..)
            | Code::Get(..)
            | Code::Peek(..)
            | Code::Set(..)
            | Code::Call(..)
            | Code::OnArrays(..)
            | Code::Native(..)
    );
    fallible || code.ends()
}
