//! Registers, tapes and elements of arrays.

use cranelift_codegen::ir::{InstBuilder, Value, condcodes::IntCC, types};
use cranelift_frontend::Variable;

use super::{
    super::{
        super::code::{Bank, Code, Reg, RegisterSlot, SlotRange},
        cells::{JitCell, JitTape},
    },
    lowering::{JitLowering, shaped},
    memory::{FLAGS, kind, parts, width},
};

impl JitLowering<'_, '_> {
    /// Returns a part of a cell that does not change: of a tape, all but its next free entry.
    pub(super) fn cell(&mut self, cell: usize, part: usize) -> Value {
        let offset = cell * size_of::<JitCell>() + part * size_of::<usize>();
        self.b.ins().load(types::I64, FLAGS.with_readonly(), self.cells, offset as i32)
    }

    /// Returns the variables of a register: of a complex number two, of another the same twice.
    fn variables(&mut self, bank: Bank, reg: Reg) -> [Variable; 2] {
        let b = &mut self.b;
        *self.variables.entry((bank, reg)).or_insert_with(|| {
            let first = b.declare_var(kind(bank));
            [first, if bank == Bank::Complex { b.declare_var(types::F64) } else { first }]
        })
    }

    /// Returns a number: of a complex one its parts, of another the same twice.
    pub(super) fn get(&mut self, bank: Bank, reg: Reg) -> [Value; 2] {
        match self.plan.constants.get(&(bank, reg)) {
            Some(&code) => [self.constant(code); 2],
            None => self.variables(bank, reg).map(|variable| self.b.use_var(variable)),
        }
    }

    pub(super) fn define(&mut self, bank: Bank, reg: Reg, value: [Value; 2]) {
        let variables = self.variables(bank, reg);
        for (variable, value) in variables.into_iter().zip(value).take(parts(bank)) {
            self.b.def_var(variable, value);
        }
    }

    pub(super) fn set(&mut self, bank: Bank, reg: Reg, value: [Value; 2]) {
        self.define(bank, reg, value);
        if self.part.write_through {
            self.store(bank, reg, value);
        }
    }

    pub(super) fn r(&mut self, reg: Reg) -> Value {
        self.get(Bank::Real, reg)[0]
    }
    pub(super) fn n(&mut self, reg: Reg) -> Value {
        self.get(Bank::Int, reg)[0]
    }
    pub(super) fn c(&mut self, reg: Reg) -> [Value; 2] {
        self.get(Bank::Complex, reg)
    }
    pub(super) fn set_r(&mut self, reg: Reg, value: Value) {
        self.set(Bank::Real, reg, [value; 2]);
    }
    pub(super) fn set_n(&mut self, reg: Reg, value: Value) {
        self.set(Bank::Int, reg, [value; 2]);
    }
    pub(super) fn set_c(&mut self, reg: Reg, value: [Value; 2]) {
        self.set(Bank::Complex, reg, value);
    }

    fn constant(&mut self, code: Code) -> Value {
        match code {
            Code::Real(_, x) => self.b.ins().f64const(x),
            Code::RealInt(_, k) => self.b.ins().f64const(k as f64),
            Code::Int(_, k) => self.b.ins().iconst(types::I64, k),
            _ => self.b.ins().iconst(types::I64, 0),
        }
    }

    /// Emits a constant: one that is the only value of its register is stored for the machine,
    /// once, and made anew wherever it is read.
    pub(super) fn load_constant(&mut self, bank: Bank, d: Reg, code: Code) {
        let value = self.constant(code);
        match self.plan.constants.contains_key(&(bank, d)) {
            true => self.store(bank, d, [value; 2]),
            false => self.set(bank, d, [value; 2]),
        }
    }

    /// Returns the address of a register in its bank, as base and offset.
    pub(super) fn register_address(&mut self, bank: Bank, reg: Reg) -> (Value, i32) {
        let base = self.b.use_var(self.banks[bank as usize]);
        let offset = i64::from(reg) * width(bank);
        match i32::try_from(offset + 8) {
            Ok(_) => (base, offset as i32),
            Err(_) => (self.b.ins().iadd_imm(base, offset), 0),
        }
    }

    pub(super) fn store(&mut self, bank: Bank, reg: Reg, value: [Value; 2]) {
        let (base, offset) = self.register_address(bank, reg);
        self.write(bank, base, offset, value);
    }

    /// Writes numbers to memory: of a complex one its parts, one after the other.
    pub(super) fn write(&mut self, bank: Bank, base: Value, offset: i32, value: [Value; 2]) {
        for (k, value) in value.into_iter().take(parts(bank)).enumerate() {
            self.b.ins().store(FLAGS, value, base, offset + 8 * k as i32);
        }
    }

    pub(super) fn read(&mut self, bank: Bank, base: Value, offset: i32) -> [Value; 2] {
        let first = self.b.ins().load(kind(bank), FLAGS, base, offset);
        match bank {
            Bank::Complex => [first, self.b.ins().load(types::F64, FLAGS, base, offset + 8)],
            _ => [first; 2],
        }
    }

    fn zero(&mut self, bank: Bank) -> [Value; 2] {
        let zero = match bank {
            Bank::Int => self.b.ins().iconst(types::I64, 0),
            _ => self.b.ins().f64const(0.0),
        };
        [zero; 2]
    }

    /// Returns the cell of an array.
    pub(super) fn view(&self, a: u32) -> usize {
        let RegisterSlot { bank, reg, .. } = self.plan.routine.slots[a as usize];
        let view = self.lists.views.iter().position(|v| (v.bank, v.reg) == (bank, reg));
        self.lists.stacks.len() + view.unwrap_or(0)
    }

    /// Computes the index of an element in row-major order; takes a side exit if it is out of
    /// bounds.
    pub(super) fn flat_index(&mut self, pc: usize, args: SlotRange, results: SlotRange) {
        let slots = &self.plan.routine.slots;
        let (args, result) = (&slots[args.range()], slots[results.range()][0].reg);
        let (shaped, lists) = (shaped(args), &self.lists);
        let shape = lists.shapes.iter().position(|shape| Some(*shape) == shaped).unwrap_or(0);
        let cell = lists.stacks.len() + lists.views.len() + shape;
        let mut place = None;
        for (axis, index) in args[1..].iter().enumerate() {
            let (index, len) = (self.n(index.reg), self.cell(cell, axis));
            let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
            self.side_exit_if(beyond, pc);
            place = Some(match place {
                Some(before) => {
                    let rows = self.b.ins().imul(before, len);
                    self.b.ins().iadd(rows, index)
                }
                None => index,
            });
        }
        if let Some(place) = place {
            self.set_n(result, place);
        }
    }

    /// Returns the bank and the address of an element; takes a side exit if the index is out of
    /// bounds.
    pub(super) fn element(&mut self, pc: usize, a: u32, i: Reg) -> (Bank, Value) {
        let k = self.view(a);
        let (index, len) = (self.n(i), self.cell(k, 1));
        let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
        self.side_exit_if(beyond, pc);
        let bank = self.plan.routine.slots[a as usize].bank.element();
        (bank, self.address(bank, k, index))
    }

    fn address(&mut self, bank: Bank, cell: usize, index: Value) -> Value {
        let items = self.cell(cell, 0);
        let offset = self.b.ins().ishl_imm(index, i64::from(width(bank).trailing_zeros()));
        self.b.ins().iadd(items, offset)
    }

    /// Reads an element, or 0 beyond the end.
    pub(super) fn peek(&mut self, pc: usize, d: Reg, a: u32, i: Reg) {
        let bank = self.plan.routine.slots[a as usize].bank.element();
        let k = self.view(a);
        let (index, len) = (self.n(i), self.cell(k, 1));
        let negative = self.b.ins().icmp_imm(IntCC::SignedLessThan, index, 0);
        self.side_exit_if(negative, pc);
        let (there, beyond, on) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let is_there = self.b.ins().icmp(IntCC::UnsignedLessThan, index, len);
        self.b.ins().brif(is_there, there, &[], beyond, &[]);
        self.b.switch_to_block(there);
        let place = self.address(bank, k, index);
        let value = self.read(bank, place, 0);
        self.set(bank, d, value);
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(beyond);
        let zero = self.zero(bank);
        self.set(bank, d, zero);
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
    }

    pub(super) fn advance(&mut self, pointer: Variable, bytes: i64) {
        let from = self.b.use_var(pointer);
        let to = self.b.ins().iadd_imm(from, bytes);
        self.b.def_var(pointer, to);
    }

    /// Returns the number of a tape.
    pub(super) fn tape(&self, stack: JitTape) -> usize {
        self.lists.stacks.iter().position(|s| *s == stack).unwrap_or(0)
    }

    fn top(&self, stack: JitTape) -> Variable {
        self.tops[self.tape(stack)]
    }

    pub(super) fn push(&mut self, stack: JitTape, reg: Reg) {
        let (variable, value) = (self.top(stack), self.get(stack.bank, reg));
        let top = self.b.use_var(variable);
        self.write(stack.bank, top, 0, value);
        self.advance(variable, width(stack.bank));
    }

    pub(super) fn peek_tape(&mut self, stack: JitTape) -> [Value; 2] {
        let top = self.b.use_var(self.top(stack));
        self.read(stack.bank, top, -width(stack.bank) as i32)
    }

    pub(super) fn drop_top(&mut self, stack: JitTape) {
        self.advance(self.top(stack), -width(stack.bank));
    }

    pub(super) fn pop(&mut self, stack: JitTape, reg: Reg) {
        let value = self.peek_tape(stack);
        self.drop_top(stack);
        self.set(stack.bank, reg, value);
    }
}
