//! The function of a part: its blocks, entry points and side exits.

use std::{
    collections::{BTreeMap, HashMap},
    mem::offset_of,
    ops::RangeInclusive,
};

use cranelift_codegen::{
    ir::{self, Block, InstBuilder, StackSlot, Value, condcodes::IntCC, types},
    isa::CallConv,
};
use cranelift_frontend::{FunctionBuilder, Switch, Variable};

use super::{
    super::{
        super::code::{Bank, ChecksumUpdate, Code, Pc, Reg, RegisterSlot},
        cells::{CellLayout, JitArray, JitCell, JitShape, JitTape},
        context::JitContext,
        entry_points::indexed,
        plan::{JitPlan, JitUnit},
    },
    memory::{FLAGS, width},
};

/// Lowering of a part of a routine.
pub(super) struct JitLowering<'a, 'f> {
    pub(super) plan: &'a JitPlan<'a>,
    pub(super) part: &'a JitUnit,
    pub(super) call: CallConv,
    pub(super) b: FunctionBuilder<'f>,
    pub(super) context: Value,
    entry_point: Value,
    /// Addresses of the registers of numbers: real, complex, integers.
    pub(super) banks: [Variable; 3],
    pub(super) cells: Value,
    /// The next free place of the calls that wait.
    pub(super) frames: Variable,
    /// Blocks in which a recursive call returns, by the instruction.
    pub(super) resumed: BTreeMap<usize, Block>,
    /// Variables of each register, made when it is first named. A complex number has two.
    pub(super) variables: HashMap<(Bank, Reg), [Variable; 2]>,
    fuel: Variable,
    pub(super) lists: CellLayout,
    /// The next free place of each tape.
    pub(super) tops: Vec<Variable>,
    blocks: BTreeMap<usize, Block>,
    side_exits: BTreeMap<usize, Block>,
    pub(super) signatures: HashMap<(Vec<ir::Type>, Option<ir::Type>), ir::SigRef>,
    /// Stack slot of the results of functions of complex numbers.
    pub(super) result: Option<StackSlot>,
}

impl<'a, 'f> JitLowering<'a, 'f> {
    pub(super) fn new(
        plan: &'a JitPlan<'a>,
        part: &'a JitUnit,
        call: CallConv,
        mut b: FunctionBuilder<'f>,
    ) -> JitLowering<'a, 'f> {
        let start = b.create_block();
        b.append_block_params_for_function_params(start);
        b.switch_to_block(start);
        let [visit, entry_point] = [b.block_params(start)[0], b.block_params(start)[1]];
        let mut field = |offset: usize| b.ins().load(types::I64, FLAGS, visit, offset as i32);
        let cells = field(offset_of!(JitContext, cells));
        let [reals, complexes, ints] = [
            offset_of!(JitContext, reals),
            offset_of!(JitContext, complexes),
            offset_of!(JitContext, ints),
        ];
        let values =
            [reals, complexes, ints, offset_of!(JitContext, frames), offset_of!(JitContext, fuel)]
                .map(field);
        let [reals, complexes, ints, frames, fuel] = values.map(|value| {
            let variable = b.declare_var(types::I64);
            b.def_var(variable, value);
            variable
        });
        JitLowering {
            plan,
            part,
            call,
            b,
            context: visit,
            entry_point,
            banks: [reals, complexes, ints],
            cells,
            frames,
            resumed: BTreeMap::new(),
            variables: HashMap::new(),
            fuel,
            lists: CellLayout::default(),
            tops: vec![],
            blocks: BTreeMap::new(),
            side_exits: BTreeMap::new(),
            signatures: HashMap::new(),
            result: None,
        }
    }

    pub(super) fn code(&self, pc: usize) -> Code {
        self.plan.routine.code[pc]
    }

    /// Returns true if machine code goes on with an instruction.
    fn is_inside(&self, pc: usize) -> bool {
        self.part.range.contains(&pc) && self.plan.is_native(pc)
    }

    /// Lists the tapes, arrays and blocks.
    pub(super) fn list(&mut self) {
        let routine = self.plan.routine;
        for pc in self.part.range.clone() {
            if !self.is_inside(pc) {
                continue;
            }
            let code = self.code(pc);
            let entry = matches!(code, Code::Native(..)).then_some(pc);
            let calls = matches!(code, Code::Call(..));
            if calls {
                self.resumed.insert(pc + 1, self.b.create_block());
            }
            let targets =
                routine.successors(pc).filter(|_| code.ends() || calls).chain(calls.then_some(0));
            for to in entry.into_iter().chain(targets) {
                if self.is_inside(to) {
                    self.blocks.entry(to).or_insert_with(|| self.b.create_block());
                }
            }
            if let Some(stack) = pushed(code).or(popped(code))
                && !self.lists.stacks.contains(&stack)
            {
                self.lists.stacks.push(stack);
            }
            if let Code::UpdateChecksums(first, entries) = code {
                for track in &routine.checksum_updates[ChecksumUpdate::range(first, entries)] {
                    let stack = JitTape { tape: track.tape, bank: track.bank };
                    if !self.lists.sums.contains(&stack) {
                        self.lists.sums.push(stack);
                    }
                }
            }
            if let Code::OnArrays(_, args, _) = code
                && let Some(shaped) = shaped(&routine.slots[args.range()])
                && !self.lists.shapes.contains(&shaped)
            {
                self.lists.shapes.push(shaped);
            }
            let (a, written) = match code {
                Code::Len(_, a) | Code::Get(_, a, _) | Code::Peek(_, a, _) => (a, false),
                Code::Set(_, _, a, ..) => (a, true),
                _ => continue,
            };
            let RegisterSlot { bank, reg, .. } = routine.slots[a as usize];
            match self.lists.views.iter_mut().find(|v| (v.bank, v.reg) == (bank, reg)) {
                Some(view) => view.written |= written,
                None => self.lists.views.push(JitArray { bank, reg, written }),
            }
        }
        for k in 0..self.lists.stacks.len() {
            let top = self.b.declare_var(types::I64);
            let value =
                self.b.ins().load(types::I64, FLAGS, self.cells, (k * size_of::<JitCell>()) as i32);
            self.b.def_var(top, value);
            self.tops.push(top);
        }
    }

    /// Returns the side exit at an instruction.
    pub(super) fn exit(&mut self, pc: usize) -> Block {
        let b = &mut self.b;
        *self.side_exits.entry(pc).or_insert_with(|| {
            let block = b.create_block();
            b.set_cold_block(block);
            block
        })
    }

    /// Returns the block of an instruction, or a side exit if it has none.
    pub(super) fn target(&mut self, to: usize) -> Block {
        match self.blocks.get(&to) {
            Some(&block) => block,
            None => self.exit(to),
        }
    }

    /// Leaves at an instruction if a condition holds.
    pub(super) fn side_exit_if(&mut self, condition: Value, pc: usize) {
        let (exit, on) = (self.exit(pc), self.b.create_block());
        self.b.ins().brif(condition, exit, &[], on, &[]);
        self.b.switch_to_block(on);
    }

    /// Emits the blocks, in order.
    pub(super) fn body(&mut self) {
        for (from, block) in self.blocks.clone() {
            self.b.switch_to_block(block);
            // The block ends at the next block, a jump, or an instruction that is left to the
            // machine.
            let mut last = from;
            while !self.code(last).ends()
                && self.is_inside(last + 1)
                && !self.blocks.contains_key(&(last + 1))
            {
                last += 1;
            }
            self.tapes_suffice(from..=last);
            (from..=last).for_each(|pc| self.instruction(pc));
            if !self.code(last).ends() {
                let to = self.target(last + 1);
                self.b.ins().jump(to, &[]);
            }
        }
    }

    /// Emits the test at the start of a block that the tapes have room for all that it pushes and
    /// hold all that it pops; else it is left to the machine.
    fn tapes_suffice(&mut self, block: RangeInclusive<usize>) {
        let from = *block.start();
        // The height of each tape, the most and the least that it gets to.
        let mut heights: BTreeMap<usize, [i64; 3]> = BTreeMap::new();
        for code in block.map(|pc| self.code(pc)) {
            let by = [pushed(code).map(|stack| (stack, 1)), popped(code).map(|stack| (stack, -1))];
            for (stack, by) in by.into_iter().flatten() {
                let [height, most, least] = heights.entry(self.tape(stack)).or_default();
                *height += by;
                (*most, *least) = ((*most).max(*height), (*least).min(*height));
            }
        }
        let first = from + usize::from(matches!(self.code(from), Code::Native(..)));
        for (k, [_, most, least]) in heights {
            let (top, width) = (self.b.use_var(self.tops[k]), width(self.lists.stacks[k].bank));
            if most > 0 {
                let end = self.cell(k, 2);
                let room = self.b.ins().isub(end, top);
                let few = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, room, width * most);
                self.side_exit_if(few, first);
            }
            if least < 0 {
                let start = self.cell(k, 1);
                let held = self.b.ins().isub(top, start);
                let few = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, held, -width * least);
                self.side_exit_if(few, first);
            }
        }
    }

    /// Ends a block by two branches. `commit` writes the results of the instruction on each of
    /// them; its argument is true for that of `yes`.
    pub(super) fn branch(
        &mut self,
        pc: usize,
        condition: Value,
        yes: Pc,
        no: Pc,
        commit: impl Fn(&mut Self, bool),
    ) {
        let (to, or) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, to, &[], or, &[]);
        self.b.switch_to_block(to);
        self.go(pc, yes, |s| commit(s, true));
        self.b.switch_to_block(or);
        self.go(pc, no, |s| commit(s, false));
    }

    /// Ends a block by the edge to an instruction, on which `commit` writes the results of this
    /// one. A backward jump costs the instructions that it jumps over.
    pub(super) fn go(&mut self, pc: usize, to: Pc, commit: impl FnOnce(&mut Self)) {
        let to = to as usize;
        if to <= pc {
            self.spend(pc, pc + 1 - to);
        }
        commit(self);
        let block = self.target(to);
        self.b.ins().jump(block, &[]);
    }

    /// Counts steps, or leaves.
    pub(super) fn spend(&mut self, pc: usize, cost: usize) {
        let (fuel, cost) = (self.b.use_var(self.fuel), cost as i64);
        let few = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, fuel, cost);
        self.side_exit_if(few, pc);
        let rest = self.b.ins().iadd_imm(fuel, -cost);
        self.b.def_var(self.fuel, rest);
    }

    /// Ends a block by a table.
    pub(super) fn switch(
        &mut self,
        pc: usize,
        index: Value,
        first: u32,
        len: u32,
        commit: impl Fn(&mut Self),
    ) {
        let mut switch = Switch::new();
        let edges: Vec<Block> = (0..len).map(|_| self.b.create_block()).collect();
        for (k, &edge) in edges.iter().enumerate() {
            switch.set_entry(k as u128, edge);
        }
        let otherwise = self.exit(pc);
        switch.emit(&mut self.b, index, otherwise);
        for (k, edge) in edges.into_iter().enumerate() {
            self.b.switch_to_block(edge);
            self.go(pc, self.plan.routine.tables[first as usize + k], &commit);
        }
    }

    /// Emits the entry points: each loads the registers that are live there.
    pub(super) fn entry_points(&mut self) {
        let mut entries = vec![];
        for pc in self.part.range.clone() {
            if let Code::Native(_, number) = self.code(pc) {
                entries.push((number, pc, self.b.create_block()));
            }
        }
        match &entries[..] {
            [] => {}
            [(_, _, only)] => {
                self.b.ins().jump(*only, &[]);
            }
            [others @ .., (_, _, last)] => {
                let mut switch = Switch::new();
                others
                    .iter()
                    .for_each(|(number, _, block)| switch.set_entry((*number).into(), *block));
                switch.emit(&mut self.b, self.entry_point, *last);
            }
        }
        for (_, pc, block) in entries {
            self.b.switch_to_block(block);
            for (bank, reg) in self.part.live_in_at(pc) {
                let (base, offset) = self.register_address(bank, reg);
                let value = self.read(bank, base, offset);
                self.define(bank, reg, value);
            }
            let to = self.target(pc);
            self.b.ins().jump(to, &[]);
        }
    }

    /// Emits the side exits: each stores the live registers, the tapes and the steps left.
    pub(super) fn side_exits(&mut self) {
        for (pc, block) in std::mem::take(&mut self.side_exits) {
            self.b.switch_to_block(block);
            for (bank, reg) in self.part.spilled_at(pc) {
                let value = self.get(bank, reg);
                self.store(bank, reg, value);
            }
            for k in 0..self.tops.len() {
                let top = self.b.use_var(self.tops[k]);
                let offset = k * size_of::<JitCell>();
                self.b.ins().store(FLAGS, top, self.cells, offset as i32);
            }
            let [frames, fuel] = [self.frames, self.fuel].map(|variable| self.b.use_var(variable));
            self.b.ins().store(FLAGS, frames, self.context, offset_of!(JitContext, frames) as i32);
            self.b.ins().store(FLAGS, fuel, self.context, offset_of!(JitContext, fuel) as i32);
            let pc = self.b.ins().iconst(types::I64, pc as i64);
            self.b.ins().return_(&[pc]);
        }
    }
}

/// Returns the shape that an index is computed from.
pub(super) fn shaped(args: &[RegisterSlot]) -> Option<JitShape> {
    let (RegisterSlot { bank, reg, .. }, indices) = indexed(args)?;
    Some(JitShape { bank, reg, axes: indices.len() })
}

/// Returns the tape that an instruction pushes to.
fn pushed(code: Code) -> Option<JitTape> {
    let stack = |tape, bank| Some(JitTape { tape, bank });
    match code {
        Code::PushR(tape, _) => stack(tape, Bank::Real),
        Code::PushC(tape, _) => stack(tape, Bank::Complex),
        Code::PushI(tape, _) => stack(tape, Bank::Int),
        Code::TestPush(_, tape, ..) => stack(tape.into(), Bank::Int),
        _ => None,
    }
}

/// Returns the tape that an instruction pops from.
fn popped(code: Code) -> Option<JitTape> {
    let stack = |tape, bank| Some(JitTape { tape, bank });
    match code {
        Code::PopR(tape, _) => stack(tape, Bank::Real),
        Code::PopC(tape, _) => stack(tape, Bank::Complex),
        Code::PopI(tape, _) | Code::PopBranch(tape, ..) | Code::PopSwitch(tape, ..) => {
            stack(tape, Bank::Int)
        }
        _ => None,
    }
}
