//! Recursive calls of a routine: jumps to its start and back.
//!
//! ```text
//! call     registers that are read afterwards ──► their places     the call ──► calls that wait
//!          banks go on by the registers of a call                  arguments are the parameters
//! return   the last call that waits is one of these: banks go back, its registers are read again
//!          any other: left to the machine
//! ```
//!
//! The calls that wait and their registers lie where the machine has them, so that it can go on
//! anywhere, and neither calls more deeply than the other could. `end` of the calls that wait is
//! where the first of these ends: their memory, the registers' memory, the depth that is allowed.

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, Value, condcodes::IntCC, types};

use super::{
    super::{
        super::{
            call_frame::CallFrame,
            code::{Bank, Reg, RegisterSlot, SlotRange},
        },
        context::JitContext,
    },
    lowering::JitLowering,
    memory::{FLAGS, width},
};

/// The bytes of a call that waits.
const FRAME: i64 = size_of::<CallFrame>() as i64;

impl JitLowering<'_, '_> {
    /// Calls the routine itself, and goes on in the block that is come back to.
    pub(super) fn call_itself(&mut self, pc: usize, args: SlotRange, results: SlotRange) {
        let (plan, next) = (self.plan, pc + 1);
        let slots = |slots: SlotRange| &plan.routine.slots[slots.range()];
        let top = self.b.use_var(self.frames);
        let end = self.b.ins().load(
            types::I64,
            FLAGS.with_readonly(),
            self.context,
            offset_of!(JitContext, end) as i32,
        );
        let full = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, top, end);
        self.side_exit_if(full, pc);
        self.spend(pc, plan.routine.code.len());

        let part = self.part;
        let kept =
            |of: &(Bank, Reg)| slots(results).iter().all(|slot| (slot.bank, slot.reg) != *of);
        for (bank, reg) in part.spilled_at(next).filter(kept) {
            let value = self.get(bank, reg);
            self.store(bank, reg, value);
        }
        let args: Vec<_> = slots(args).iter().map(|slot| self.get(slot.bank, slot.reg)).collect();
        let waiting = self.waiting(next);
        self.b.ins().store(FLAGS, waiting, top, 0);
        self.shift_frame(1);
        for (&RegisterSlot { bank, reg, .. }, value) in plan.routine.params.iter().zip(args) {
            self.set(bank, reg, value);
        }
        let start = self.target(0);
        self.b.ins().jump(start, &[]);

        self.b.switch_to_block(self.resumed[&next]);
        self.shift_frame(-1);
        for (k, &RegisterSlot { bank, reg, .. }) in slots(results).iter().enumerate() {
            let value = self.get(bank, self.returned(bank, k));
            self.set(bank, reg, value);
        }
        for (bank, reg) in part.live_in_at(next).filter(kept) {
            let (base, offset) = self.register_address(bank, reg);
            let value = self.read(bank, base, offset);
            self.define(bank, reg, value);
        }
    }

    /// Goes back to the call that waits.
    pub(super) fn return_to_caller(&mut self, pc: usize, values: SlotRange) {
        let top = self.b.use_var(self.frames);
        let first = offset_of!(JitContext, first) as i32;
        let first = self.b.ins().load(types::I64, FLAGS.with_readonly(), self.context, first);
        let none = self.b.ins().icmp(IntCC::Equal, top, first);
        self.side_exit_if(none, pc);
        let plan = self.plan;
        for (k, &RegisterSlot { bank, reg, .. }) in
            plan.routine.slots[values.range()].iter().enumerate()
        {
            let value = self.get(bank, reg);
            self.define(bank, self.returned(bank, k), value);
        }
        let last = self.b.ins().load(types::I64, FLAGS, top, -FRAME as i32);
        for (next, block) in self.resumed.clone() {
            let waiting = self.waiting(next);
            let (is_this, other) =
                (self.b.ins().icmp(IntCC::Equal, last, waiting), self.b.create_block());
            self.b.ins().brif(is_this, block, &[], other, &[]);
            self.b.switch_to_block(other);
        }
        let exit = self.exit(pc);
        self.b.ins().jump(exit, &[]);
    }

    /// Returns the frame of a call that goes on with an instruction.
    fn waiting(&mut self, next: usize) -> Value {
        let own = self.plan.recursion.unwrap_or_default() as usize;
        self.b.ins().iconst(types::I64, CallFrame::new(own, next).0 as i64)
    }

    /// Goes to the registers of the call above or below.
    fn shift_frame(&mut self, by: i64) {
        for (bank, variable) in [Bank::Real, Bank::Complex, Bank::Int].into_iter().zip(self.banks) {
            let size = i64::from(self.plan.routine.sizes[bank as usize]) * width(bank);
            if size > 0 {
                self.advance(variable, by * size);
            }
        }
        self.advance(self.frames, by * FRAME);
    }

    /// Returns a register beyond those of the routine, which holds one of its results during a
    /// return.
    fn returned(&self, bank: Bank, k: usize) -> Reg {
        self.plan.routine.sizes[bank as usize] + k as Reg
    }
}
