//! From bytecode to the code generator's functions.
//!
//! ```text
//!           ┌─ door 0: take what is read from here on ─┐
//! start ────┤                                          ├──► block of each instruction that is jumped to …
//!           └─ door 1: …                               ┘
//!                                  … ──► leave at 7: put back what is read there, return 7
//! ```
//!
//! - A register of numbers is a variable; the builder makes SSA of it. One that only ever holds a constant is none.
//! - A block asks once whether the tapes have room for all that it pushes and hold all that it pops.
//! - Whatever may fail is asked for before anything is changed; if it would, the code leaves at that instruction.
//! - Each way out stores the registers that are live there. Where that would be more code than the program, every write
//!   is stored at once instead, and ways out store nothing.
//!
//! Cost: as of the liveness, and what the code generator takes.

use std::collections::{BTreeMap, HashMap};

use cranelift_codegen::ir::{
    self, AbiParam, Block, InstBuilder, MemFlags, Signature, StackSlot, StackSlotData, StackSlotKind, Value,
    condcodes::FloatCC, condcodes::IntCC, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch, Variable};

use crate::ir::{Compare, Int1, Int2, Number1, Number2, Real1, Real2};

use super::{
    super::{
        bytecode::Routine,
        code::{Bank, Code, Pc, Reg, Slot, Write},
        liveness::{Liveness, Numbering, Set},
        registers::{Access, visit},
    },
    Cell, Stack, View, Visit,
    entries::is_native,
    ops,
};

/// How many stores in ways out an instruction may cost before every write is stored at once.
const STORES: usize = 8;

/// Writes the function of a routine with doors: what it lists of tapes and arrays.
pub(super) fn lower(
    routine: &Routine,
    call: CallConv,
    function: &mut ir::Function,
    context: &mut FunctionBuilderContext,
) -> (Vec<Stack>, Vec<View>) {
    let reads = Reads::of(routine);
    let mut builder = FunctionBuilder::new(function, context);
    let mut lowering = Lowering::new(routine, &reads, call, &mut builder);
    lowering.list();
    lowering.doors();
    lowering.body();
    lowering.ways_out();
    let (stacks, views) = (lowering.stacks, lowering.views);
    builder.seal_all_blocks();
    builder.finalize();
    (stacks, views)
}

/// What is known of a routine before.
struct Reads {
    numbering: Numbering,
    /// The registers that are read at or after each instruction where machine code may begin or end.
    at: HashMap<usize, Vec<(Bank, Reg)>>,
    /// Registers that hold one constant and nothing else.
    constants: HashMap<(Bank, Reg), Code>,
    /// The others that machine code reads, and whether it writes them.
    touched: HashMap<(Bank, Reg), bool>,
    /// Whether registers are stored wherever they are written.
    through: bool,
}

impl Reads {
    fn of(routine: &Routine) -> Reads {
        let mut numbering = Numbering::new(routine);
        let mut writes: HashMap<(Bank, Reg), u32> = HashMap::new();
        let mut touched: HashMap<(Bank, Reg), bool> = HashMap::new();
        let mut slots = routine.slots.clone();
        let params = routine.params.iter().map(|slot| (slot.bank, slot.reg));
        params.for_each(|of| *writes.entry(of).or_default() += 1);
        for &code in &routine.code {
            let native = is_native(code, &routine.slots);
            visit(&mut code.clone(), &mut slots, |bank, reg, access| {
                if bank == bank.element() {
                    let (of, written) = ((bank, *reg), access == Access::Write);
                    numbering.add(bank, *reg);
                    *writes.entry(of).or_default() += u32::from(written);
                    if native {
                        *touched.entry(of).or_default() |= written;
                    }
                }
            });
        }
        let mut constants = HashMap::new();
        for &code in &routine.code {
            let of = match code {
                Code::Real(d, _) | Code::RealInt(d, _) => (Bank::Real, d),
                Code::Int(d, _) => (Bank::Int, d),
                _ => continue,
            };
            if writes.get(&of) == Some(&1) {
                constants.insert(of, code);
                touched.remove(&of);
            }
        }
        let mut at = HashMap::new();
        let liveness = Liveness::of(routine, &numbering);
        let listed = |live: &Set| live.iter().map(|k| numbering.registers[k]).collect::<Vec<_>>();
        for (stretch, mut live) in liveness.stretches.iter().cloned().zip(liveness.after) {
            for pc in stretch.clone().rev() {
                let mut reads = Vec::new();
                visit(&mut routine.code[pc].clone(), &mut slots, |bank, reg, access| {
                    match (numbering.of(bank, *reg), access) {
                        (Some(k), Access::Write) => live.remove(k),
                        (Some(k), _) => reads.push(k),
                        _ => {}
                    }
                });
                reads.into_iter().for_each(|k| live.insert(k));
                let behind_door = pc > 0 && matches!(routine.code[pc - 1], Code::Native(_));
                if pc == stretch.start || behind_door || may_leave(routine.code[pc], &routine.slots) {
                    at.insert(pc, listed(&live));
                }
            }
        }
        let stores: usize = at.values().map(Vec::len).sum();
        let through = stores > STORES * routine.code.len();
        Reads { numbering, at, constants, touched, through }
    }

    /// The registers that are read at or after an instruction.
    fn at(&self, pc: usize) -> &[(Bank, Reg)] {
        debug_assert!(self.at.contains_key(&pc), "machine code begins or ends at {pc}, which nobody foresaw");
        self.at.get(&pc).map_or(&[], Vec::as_slice)
    }
}

/// Whether machine code may begin at an instruction, or end there in the middle of a stretch.
fn may_leave(code: Code, slots: &[Slot]) -> bool {
    let fallible = matches!(
        code,
        Code::AddI(..)
            | Code::Int1(..)
            | Code::Int2(..)
            | Code::Get(..)
            | Code::Peek(..)
            | Code::Set(..)
            | Code::Native(_)
    );
    fallible || code.ends() || !is_native(code, slots)
}

const FLAGS: MemFlags = MemFlags::trusted();

struct Lowering<'a, 'b, 'f> {
    routine: &'a Routine,
    reads: &'a Reads,
    call: CallConv,
    b: &'b mut FunctionBuilder<'f>,
    visit: Value,
    door: Value,
    reals: Value,
    complexes: Value,
    ints: Value,
    cells: Value,
    /// By the register's number; made when it is first named. A complex number has two.
    variables: Vec<Option<[Variable; 2]>>,
    fuel: Variable,
    stacks: Vec<Stack>,
    /// The next free place of each.
    tops: Vec<Variable>,
    views: Vec<View>,
    blocks: BTreeMap<usize, Block>,
    exits: BTreeMap<usize, Block>,
    signatures: HashMap<(Vec<ir::Type>, bool), ir::SigRef>,
    /// Where functions of complex numbers write their value.
    result: Option<StackSlot>,
}

impl<'a, 'b, 'f> Lowering<'a, 'b, 'f> {
    fn new(
        routine: &'a Routine,
        reads: &'a Reads,
        call: CallConv,
        b: &'b mut FunctionBuilder<'f>,
    ) -> Lowering<'a, 'b, 'f> {
        let start = b.create_block();
        b.append_block_params_for_function_params(start);
        b.switch_to_block(start);
        let [visit, door] = [b.block_params(start)[0], b.block_params(start)[1]];
        let field =
            |b: &mut FunctionBuilder, offset: usize| b.ins().load(types::I64, FLAGS, visit, offset as i32);
        let reals = field(b, std::mem::offset_of!(Visit, reals));
        let complexes = field(b, std::mem::offset_of!(Visit, complexes));
        let ints = field(b, std::mem::offset_of!(Visit, ints));
        let cells = field(b, std::mem::offset_of!(Visit, cells));
        let steps = field(b, std::mem::offset_of!(Visit, fuel));
        let fuel = b.declare_var(types::I64);
        b.def_var(fuel, steps);
        Lowering {
            routine,
            reads,
            call,
            b,
            visit,
            door,
            reals,
            complexes,
            ints,
            cells,
            variables: vec![None; reads.numbering.len()],
            fuel,
            stacks: vec![],
            tops: vec![],
            views: vec![],
            blocks: BTreeMap::new(),
            exits: BTreeMap::new(),
            signatures: HashMap::new(),
            result: None,
        }
    }

    /// Lists the tapes, arrays and blocks.
    fn list(&mut self) {
        let routine = self.routine;
        for (pc, &code) in routine.code.iter().enumerate() {
            if !is_native(code, &routine.slots) {
                continue;
            }
            if matches!(code, Code::Native(_)) {
                self.blocks.entry(pc).or_insert_with(|| self.b.create_block());
            }
            if code.ends() {
                for to in routine.successors(pc).filter(|&to| is_native(routine.code[to], &routine.slots)) {
                    self.blocks.entry(to).or_insert_with(|| self.b.create_block());
                }
            }
            if let Some(stack) = pushed(code).or(popped(code))
                && !self.stacks.contains(&stack)
            {
                self.stacks.push(stack);
            }
            let (a, written) = match code {
                Code::Len(_, a) | Code::Get(_, a, _) | Code::Peek(_, a, _) => (a, false),
                Code::Set(_, _, a, ..) => (a, true),
                _ => continue,
            };
            let Slot { bank, reg, .. } = routine.slots[a as usize];
            match self.views.iter_mut().find(|v| (v.bank, v.reg) == (bank, reg)) {
                Some(view) => view.written |= written,
                None => self.views.push(View { bank, reg, written }),
            }
        }
        for k in 0..self.stacks.len() {
            let top = self.b.declare_var(types::I64);
            let value = self.cell(k, 0);
            self.b.def_var(top, value);
            self.tops.push(top);
        }
    }

    /// A part of a cell.
    fn cell(&mut self, cell: usize, part: usize) -> Value {
        let offset = cell * size_of::<Cell>() + part * size_of::<usize>();
        self.b.ins().load(types::I64, FLAGS, self.cells, offset as i32)
    }

    fn variables(&mut self, bank: Bank, reg: Reg) -> [Variable; 2] {
        let number = self.reads.numbering.of(bank, reg).unwrap_or(0);
        let (variables, b) = (&mut self.variables, &mut *self.b);
        *variables[number].get_or_insert_with(|| {
            let first = b.declare_var(kind(bank));
            [first, if bank == Bank::Complex { b.declare_var(types::F64) } else { first }]
        })
    }

    /// A number: of a complex one its parts, of another the same twice.
    fn get(&mut self, bank: Bank, reg: Reg) -> [Value; 2] {
        match self.reads.constants.get(&(bank, reg)) {
            Some(&code) => [self.constant(code); 2],
            None => self.variables(bank, reg).map(|variable| self.b.use_var(variable)),
        }
    }

    fn define(&mut self, bank: Bank, reg: Reg, value: [Value; 2]) {
        let variables = self.variables(bank, reg);
        for (variable, value) in variables.into_iter().zip(value).take(parts(bank)) {
            self.b.def_var(variable, value);
        }
    }

    fn set(&mut self, bank: Bank, reg: Reg, value: [Value; 2]) {
        self.define(bank, reg, value);
        if self.reads.through {
            self.store(bank, reg, value);
        }
    }

    fn r(&mut self, reg: Reg) -> Value {
        self.get(Bank::Real, reg)[0]
    }
    fn n(&mut self, reg: Reg) -> Value {
        self.get(Bank::Int, reg)[0]
    }
    fn c(&mut self, reg: Reg) -> [Value; 2] {
        self.get(Bank::Complex, reg)
    }
    fn set_r(&mut self, reg: Reg, value: Value) {
        self.set(Bank::Real, reg, [value; 2]);
    }
    fn set_n(&mut self, reg: Reg, value: Value) {
        self.set(Bank::Int, reg, [value; 2]);
    }
    fn set_c(&mut self, reg: Reg, value: [Value; 2]) {
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

    /// One that stays is stored for the machine, once, and made anew wherever it is read.
    fn load_constant(&mut self, bank: Bank, d: Reg, code: Code) {
        let value = self.constant(code);
        match self.reads.constants.contains_key(&(bank, d)) {
            true => self.store(bank, d, [value; 2]),
            false => self.set(bank, d, [value; 2]),
        }
    }

    /// The place of a register in its bank.
    fn place(&mut self, bank: Bank, reg: Reg) -> (Value, i32) {
        let base = match bank {
            Bank::Real => self.reals,
            Bank::Complex => self.complexes,
            _ => self.ints,
        };
        let offset = i64::from(reg) * width(bank);
        match i32::try_from(offset + 8) {
            Ok(_) => (base, offset as i32),
            Err(_) => (self.b.ins().iadd_imm(base, offset), 0),
        }
    }

    fn store(&mut self, bank: Bank, reg: Reg, value: [Value; 2]) {
        let (base, offset) = self.place(bank, reg);
        self.write(bank, base, offset, value);
    }

    /// Numbers in memory: of a complex one its parts, one after the other.
    fn write(&mut self, bank: Bank, base: Value, offset: i32, value: [Value; 2]) {
        for (k, value) in value.into_iter().take(parts(bank)).enumerate() {
            self.b.ins().store(FLAGS, value, base, offset + 8 * k as i32);
        }
    }

    fn read(&mut self, bank: Bank, base: Value, offset: i32) -> [Value; 2] {
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

    /// Where machine code ends at an instruction.
    fn exit(&mut self, pc: usize) -> Block {
        let b = &mut *self.b;
        *self.exits.entry(pc).or_insert_with(|| {
            let block = b.create_block();
            b.set_cold_block(block);
            block
        })
    }

    /// Where the way to an instruction leads: to its block, or out.
    fn target(&mut self, to: usize) -> Block {
        match self.blocks.get(&to) {
            Some(&block) => block,
            None => self.exit(to),
        }
    }

    /// Leaves at an instruction if a condition holds.
    fn leave_if(&mut self, condition: Value, pc: usize) {
        let (exit, on) = (self.exit(pc), self.b.create_block());
        self.b.ins().brif(condition, exit, &[], on, &[]);
        self.b.switch_to_block(on);
    }

    fn body(&mut self) {
        let starts: Vec<usize> = self.blocks.keys().copied().collect();
        for (k, &from) in starts.iter().enumerate() {
            let next = starts.get(k + 1).copied().unwrap_or(self.routine.code.len());
            self.b.switch_to_block(self.blocks[&from]);
            self.tapes_suffice(from, next);
            let mut pc = from;
            loop {
                let code = self.routine.code[pc];
                if !is_native(code, &self.routine.slots) || (pc == next && pc != from) {
                    let to = self.target(pc);
                    self.b.ins().jump(to, &[]);
                    break;
                }
                self.instruction(pc, code);
                if code.ends() {
                    break;
                }
                pc += 1;
            }
        }
    }

    /// At the start of a block: leaves it to the machine unless the tapes have room for all that it pushes and hold
    /// all that it pops.
    fn tapes_suffice(&mut self, from: usize, next: usize) {
        let mut needs: BTreeMap<usize, (i64, i64, i64)> = BTreeMap::new();
        let code = &self.routine.code[from..next];
        let native = code.iter().take_while(|code| is_native(**code, &self.routine.slots));
        for &code in native {
            let (stack, by) = match (pushed(code), popped(code)) {
                (Some(stack), _) => (stack, 1),
                (_, Some(stack)) => (stack, -1),
                _ => continue,
            };
            let Some(k) = self.stacks.iter().position(|s| *s == stack) else { continue };
            let (height, most, least) = needs.entry(k).or_default();
            *height += by;
            *most = (*most).max(*height);
            *least = (*least).min(*height);
        }
        let first = from + usize::from(matches!(self.routine.code[from], Code::Native(_)));
        for (k, (_, most, least)) in needs {
            let top = self.b.use_var(self.tops[k]);
            if most > 0 {
                let end = self.cell(k, 2);
                let room = self.b.ins().isub(end, top);
                let few =
                    self.b.ins().icmp_imm(IntCC::UnsignedLessThan, room, width(self.stacks[k].bank) * most);
                self.leave_if(few, first);
            }
            if least < 0 {
                let start = self.cell(k, 1);
                let held = self.b.ins().isub(top, start);
                let few =
                    self.b.ins().icmp_imm(IntCC::UnsignedLessThan, held, -width(self.stacks[k].bank) * least);
                self.leave_if(few, first);
            }
        }
    }

    fn instruction(&mut self, pc: usize, code: Code) {
        macro_rules! two {
            ($d:ident <- ($a:ident $first:ident $b:ident) $second:ident $c:ident) => {{
                let (a, b, c) = (self.r($a), self.r($b), self.r($c));
                let inner = self.b.ins().$first(a, b);
                let value = self.b.ins().$second(inner, c);
                self.set_r($d, value);
            }};
            ($d:ident <- $c:ident $second:ident ($a:ident $first:ident $b:ident)) => {{
                let (a, b, c) = (self.r($a), self.r($b), self.r($c));
                let inner = self.b.ins().$first(a, b);
                let value = self.b.ins().$second(c, inner);
                self.set_r($d, value);
            }};
        }
        match code {
            Code::Real(d, _) | Code::RealInt(d, _) => self.load_constant(Bank::Real, d, code),
            Code::Int(d, _) => self.load_constant(Bank::Int, d, code),
            Code::AddR(d, a, b) => self.number2(Number2::Add, d, a, b),
            Code::SubR(d, a, b) => self.number2(Number2::Sub, d, a, b),
            Code::MulR(d, a, b) => self.number2(Number2::Mul, d, a, b),
            Code::DivR(d, a, b) => self.number2(Number2::Div, d, a, b),
            Code::NegR(d, a) => self.number1(Number1::Neg, d, a),
            Code::AddAdd(d, a, b, c) => two!(d <- (a fadd b) fadd c),
            Code::AddSub(d, a, b, c) => two!(d <- (a fadd b) fsub c),
            Code::AddMul(d, a, b, c) => two!(d <- (a fadd b) fmul c),
            Code::SubAdd(d, a, b, c) => two!(d <- (a fsub b) fadd c),
            Code::SubSub(d, a, b, c) => two!(d <- (a fsub b) fsub c),
            Code::SubMul(d, a, b, c) => two!(d <- (a fsub b) fmul c),
            Code::MulAdd(d, a, b, c) => two!(d <- (a fmul b) fadd c),
            Code::MulSub(d, a, b, c) => two!(d <- (a fmul b) fsub c),
            Code::MulMul(d, a, b, c) => two!(d <- (a fmul b) fmul c),
            Code::AddAddBack(d, a, b, c) => two!(d <- c fadd (a fadd b)),
            Code::AddSubBack(d, a, b, c) => two!(d <- c fsub (a fadd b)),
            Code::AddMulBack(d, a, b, c) => two!(d <- c fmul (a fadd b)),
            Code::SubAddBack(d, a, b, c) => two!(d <- c fadd (a fsub b)),
            Code::SubSubBack(d, a, b, c) => two!(d <- c fsub (a fsub b)),
            Code::SubMulBack(d, a, b, c) => two!(d <- c fmul (a fsub b)),
            Code::MulAddBack(d, a, b, c) => two!(d <- c fadd (a fmul b)),
            Code::MulSubBack(d, a, b, c) => two!(d <- c fsub (a fmul b)),
            Code::MulMulBack(d, a, b, c) => two!(d <- c fmul (a fmul b)),
            Code::Number1R(op, d, a) => self.number1(op, d, a),
            Code::Number2R(op, d, a, b) => self.number2(op, d, a, b),
            Code::Real1(op, d, a) => {
                let x = self.r(a);
                let value = match op {
                    Real1::Abs => self.b.ins().fabs(x),
                    op => self.call(ops::real1(op) as usize, &[x]),
                };
                self.set_r(d, value);
            }
            Code::Real2(op, d, a, b) => {
                let (x, y) = (self.r(a), self.r(b));
                let value = self.call(ops::real2(op) as usize, &[x, y]);
                self.set_r(d, value);
            }
            Code::PowiR(d, a, n) => {
                let (x, n) = (self.r(a), self.n(n));
                let value = self.call(ops::powi as *const () as usize, &[x, n]);
                self.set_r(d, value);
            }
            Code::AddC(d, a, b) => self.number2c(Number2::Add, d, a, b),
            Code::SubC(d, a, b) => self.number2c(Number2::Sub, d, a, b),
            Code::MulC(d, a, b) => self.number2c(Number2::Mul, d, a, b),
            Code::Number2C(op, d, a, b) => self.number2c(op, d, a, b),
            Code::Number1C(op, d, a) => self.number1c(op, d, a),
            Code::PowiC(d, a, n) => {
                let ([re, im], n) = (self.c(a), self.n(n));
                let value = self.call_complex(ops::complex_powi as *const () as usize, &[re, im, n]);
                self.set_c(d, value);
            }
            Code::Conj(d, a) => {
                let [re, im] = self.c(a);
                let im = self.b.ins().fneg(im);
                self.set_c(d, [re, im]);
            }
            Code::Promote(d, a) => {
                let re = self.r(a);
                let im = self.b.ins().f64const(0.0);
                self.set_c(d, [re, im]);
            }
            Code::Complex(d, a, b) => {
                let value = [self.r(a), self.r(b)];
                self.set_c(d, value);
            }
            Code::Re(d, a) => {
                let [re, _] = self.c(a);
                self.set_r(d, re);
            }
            Code::Im(d, a) => {
                let [_, im] = self.c(a);
                self.set_r(d, im);
            }
            Code::Abs2(d, a) => {
                let squares = self.c(a).map(|x| self.b.ins().fmul(x, x));
                let value = self.b.ins().fadd(squares[0], squares[1]);
                self.set_r(d, value);
            }
            Code::Modulus(d, a) => {
                let [re, im] = self.c(a);
                let value = self.call(ops::real2(Real2::Hypot) as usize, &[re, im]);
                self.set_r(d, value);
            }
            Code::Arg(d, a) => {
                let [re, im] = self.c(a);
                let value = self.call(ops::real2(Real2::Atan2) as usize, &[im, re]);
                self.set_r(d, value);
            }
            Code::MoveC(d, a) => {
                let value = self.c(a);
                self.set_c(d, value);
            }
            Code::FromInt(d, a) => {
                let n = self.n(a);
                let value = self.b.ins().fcvt_from_sint(types::F64, n);
                self.set_r(d, value);
            }
            Code::MoveR(d, a) => {
                let value = self.r(a);
                self.set_r(d, value);
            }
            Code::MoveI(d, a) => {
                let value = self.n(a);
                self.set_n(d, value);
            }
            Code::AddI(d, a, b) => self.int2(pc, Int2::Add, d, a, b),
            Code::Int2(op, d, a, b) => self.int2(pc, op, d, a, b),
            Code::Int1(Int1::Neg, d, a) => {
                let x = self.n(a);
                let least = self.b.ins().icmp_imm(IntCC::Equal, x, i64::MIN);
                self.leave_if(least, pc);
                let value = self.b.ins().ineg(x);
                self.set_n(d, value);
            }
            Code::CompareR(op, d, a, b) => {
                let holds = self.compare(op, a, b);
                let value = self.b.ins().uextend(types::I64, holds);
                self.set_n(d, value);
            }
            Code::CompareI(op, d, a, b) => {
                let (x, y) = (self.n(a), self.n(b));
                let holds = self.b.ins().icmp(ints(op), x, y);
                let value = self.b.ins().uextend(types::I64, holds);
                self.set_n(d, value);
            }
            Code::Not(d, a) => {
                let x = self.n(a);
                let one = self.b.ins().iconst(types::I64, 1);
                let value = self.b.ins().isub(one, x);
                self.set_n(d, value);
            }
            Code::And(d, a, b) => {
                let (x, y) = (self.n(a), self.n(b));
                let value = self.b.ins().band(x, y);
                self.set_n(d, value);
            }
            Code::Or(d, a, b) => {
                let (x, y) = (self.n(a), self.n(b));
                let value = self.b.ins().bor(x, y);
                self.set_n(d, value);
            }
            Code::Select(bank, d, condition, a) => {
                let (yes, no) = (self.routine.slots[a as usize].reg, self.routine.slots[a as usize + 1].reg);
                let (condition, yes, no) = (self.n(condition), self.get(bank, yes), self.get(bank, no));
                let value = [0, 1].map(|part| self.b.ins().select(condition, yes[part], no[part]));
                self.set(bank, d, value);
            }
            Code::Len(d, a) => {
                let k = self.view(a);
                let value = self.cell(k, 1);
                self.set_n(d, value);
            }
            Code::Get(d, a, i) => {
                let (bank, place) = self.element(pc, a, i);
                let value = self.read(bank, place, 0);
                self.set(bank, d, value);
            }
            Code::Peek(d, a, i) => self.peek(pc, d, a, i),
            Code::Set(how, _, a, i, x) => {
                let k = self.view(a);
                let may = self.cell(k, 2);
                let shared = self.b.ins().icmp_imm(IntCC::Equal, may, 0);
                self.leave_if(shared, pc);
                let (bank, place) = self.element(pc, a, i);
                let mut value = self.get(bank, x);
                if how == Write::Add {
                    let old = self.read(bank, place, 0);
                    value = [0, 1].map(|part| self.b.ins().fadd(old[part], value[part]));
                }
                self.write(bank, place, 0, value);
            }
            Code::PushR(tape, a) => self.push(Stack { tape, bank: Bank::Real }, a),
            Code::PushC(tape, a) => self.push(Stack { tape, bank: Bank::Complex }, a),
            Code::PushI(tape, a) => self.push(Stack { tape, bank: Bank::Int }, a),
            Code::PopR(tape, d) => self.pop(Stack { tape, bank: Bank::Real }, d),
            Code::PopC(tape, d) => self.pop(Stack { tape, bank: Bank::Complex }, d),
            Code::PopI(tape, d) => self.pop(Stack { tape, bank: Bank::Int }, d),
            Code::Jump(to) => self.go(pc, to, |_| {}),
            Code::Branch(c, yes, no) => {
                let condition = self.n(c);
                self.branch(pc, condition, yes, no, |_, _| {});
            }
            Code::LtR(_, a, b, yes, no) => self.branch_real(pc, Compare::Lt, a, b, yes, no),
            Code::LeR(_, a, b, yes, no) => self.branch_real(pc, Compare::Le, a, b, yes, no),
            Code::EqR(_, a, b, yes, no) => self.branch_real(pc, Compare::Eq, a, b, yes, no),
            Code::TestR(op, d, a, b, yes, no) => {
                let holds = self.compare(op, a, b);
                let value = self.b.ins().uextend(types::I64, holds);
                self.branch(pc, holds, yes, no, |s, _| s.set_n(d, value));
            }
            Code::TestPush(op, tape, d, a, b, yes, no) => {
                let holds = self.compare(op, a, b);
                let value = self.b.ins().uextend(types::I64, holds);
                self.branch(pc, holds, yes, no, |s, _| {
                    s.set_n(d, value);
                    s.push(Stack { tape: tape.into(), bank: Bank::Int }, d);
                });
            }
            Code::LtI(a, b, yes, no) => {
                let (x, y) = (self.n(a), self.n(b));
                let holds = self.b.ins().icmp(IntCC::SignedLessThan, x, y);
                self.branch(pc, holds, yes, no, |_, _| {});
            }
            Code::EqI(a, b, yes, no) => {
                let (x, y) = (self.n(a), self.n(b));
                let holds = self.b.ins().icmp(IntCC::Equal, x, y);
                self.branch(pc, holds, yes, no, |_, _| {});
            }
            Code::StepLt(i, k, limit, yes, no) => {
                self.step(pc, Int2::Add, [i, k, limit], IntCC::SignedLessThan, yes, no);
            }
            Code::StepGt(i, k, limit, yes, no) => {
                self.step(pc, Int2::Add, [i, k, limit], IntCC::SignedGreaterThan, yes, no);
            }
            Code::StepEq(i, k, limit, yes, no) => {
                self.step(pc, Int2::Add, [i, k, limit], IntCC::Equal, yes, no);
            }
            Code::BackEq(i, k, limit, yes, no) => {
                self.step(pc, Int2::Sub, [i, k, limit], IntCC::Equal, yes, no);
            }
            Code::EqBack(i, k, limit, yes, no) => {
                let (x, y, limit) = (self.n(i), self.n(k), self.n(limit));
                // Left, too, where the difference overflows on the way that does not need it.
                let value = self.checked(pc, Int2::Sub, x, y);
                let holds = self.b.ins().icmp(IntCC::Equal, x, limit);
                self.branch(pc, holds, yes, no, |s, yes| {
                    if !yes {
                        s.set_n(i, value);
                    }
                });
            }
            Code::PopBranch(tape, yes, no) => {
                let stack = Stack { tape, bank: Bank::Int };
                let [condition, _] = self.peek_tape(stack);
                self.branch(pc, condition, yes, no, |s, _| s.drop_top(stack));
            }
            Code::Switch(i, first, len) => {
                let index = self.n(i);
                self.switch(pc, index, first, len, |_| {});
            }
            Code::PopSwitch(tape, first, len) => {
                let stack = Stack { tape, bank: Bank::Int };
                let [index, _] = self.peek_tape(stack);
                self.switch(pc, index, first, len, |s| s.drop_top(stack));
            }
            // A door, which costs nothing on the way; the rest is left to the machine.
            _ => {}
        }
    }

    fn number1(&mut self, op: Number1, d: Reg, a: Reg) {
        let x = self.r(a);
        let value = match op {
            Number1::Neg => self.b.ins().fneg(x),
            Number1::Sqrt => self.b.ins().sqrt(x),
            Number1::Recip => {
                let one = self.b.ins().f64const(1.0);
                self.b.ins().fdiv(one, x)
            }
            op => self.call(ops::number1(op) as usize, &[x]),
        };
        self.set_r(d, value);
    }

    fn number2(&mut self, op: Number2, d: Reg, a: Reg, b: Reg) {
        let (x, y) = (self.r(a), self.r(b));
        let value = match op {
            Number2::Add => self.b.ins().fadd(x, y),
            Number2::Sub => self.b.ins().fsub(x, y),
            Number2::Mul => self.b.ins().fmul(x, y),
            Number2::Div => self.b.ins().fdiv(x, y),
            Number2::Scale => {
                let zero = self.b.ins().f64const(0.0);
                let is_zero = self.b.ins().fcmp(FloatCC::Equal, y, zero);
                let product = self.b.ins().fmul(x, y);
                self.b.ins().select(is_zero, zero, product)
            }
            op => self.call(ops::number2(op) as usize, &[x, y]),
        };
        self.set_r(d, value);
    }

    fn number1c(&mut self, op: Number1, d: Reg, a: Reg) {
        let [re, im] = self.c(a);
        let value = match op {
            Number1::Neg => [re, im].map(|x| self.b.ins().fneg(x)),
            op => self.call_complex(ops::complex1(op) as usize, &[re, im]),
        };
        self.set_c(d, value);
    }

    fn number2c(&mut self, op: Number2, d: Reg, a: Reg, b: Reg) {
        let ([a, b], [x, y]) = (self.c(a), self.c(b));
        let value = match op {
            Number2::Add => [self.b.ins().fadd(a, x), self.b.ins().fadd(b, y)],
            Number2::Sub => [self.b.ins().fsub(a, x), self.b.ins().fsub(b, y)],
            Number2::Mul => {
                let [ax, by, ay, bx] = [(a, x), (b, y), (a, y), (b, x)].map(|(a, x)| self.b.ins().fmul(a, x));
                [self.b.ins().fsub(ax, by), self.b.ins().fadd(ay, bx)]
            }
            op => self.call_complex(ops::complex2(op) as usize, &[a, b, x, y]),
        };
        self.set_c(d, value);
    }

    /// Calls a function whose value is a real number.
    fn call(&mut self, address: usize, args: &[Value]) -> Value {
        let inst = self.call_with(address, args, true);
        self.b.inst_results(inst)[0]
    }

    /// Calls a function that writes its value, a complex number, where its last argument says.
    fn call_complex(&mut self, address: usize, args: &[Value]) -> [Value; 2] {
        let b = &mut *self.b;
        let slot = *self.result.get_or_insert_with(|| {
            b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 16, 4))
        });
        let place = self.b.ins().stack_addr(types::I64, slot, 0);
        self.call_with(address, &[args, &[place]].concat(), false);
        self.read(Bank::Complex, place, 0)
    }

    fn call_with(&mut self, address: usize, args: &[Value], returns: bool) -> ir::Inst {
        let kinds: Vec<ir::Type> = args.iter().map(|&x| self.b.func.dfg.value_type(x)).collect();
        let (call, b) = (self.call, &mut *self.b);
        let signature = *self.signatures.entry((kinds, returns)).or_insert_with_key(|(kinds, returns)| {
            let mut signature = Signature::new(call);
            signature.params.extend(kinds.iter().copied().map(AbiParam::new));
            signature.returns.extend(returns.then(|| AbiParam::new(types::F64)));
            b.import_signature(signature)
        });
        let callee = self.b.ins().iconst(types::I64, address as i64);
        self.b.ins().call_indirect(signature, callee, args)
    }

    fn int2(&mut self, pc: usize, op: Int2, d: Reg, a: Reg, b: Reg) {
        let (x, y) = (self.n(a), self.n(b));
        let value = self.checked(pc, op, x, y);
        self.set_n(d, value);
    }

    /// An operation on integers; leaves if it has no value.
    fn checked(&mut self, pc: usize, op: Int2, x: Value, y: Value) -> Value {
        match op {
            Int2::Add | Int2::Sub => {
                let adds = op == Int2::Add;
                let value = if adds { self.b.ins().iadd(x, y) } else { self.b.ins().isub(x, y) };
                // The sign is wrong: of a sum if it differs from both, of a difference if both others differ from it.
                let changed = self.b.ins().bxor(x, value);
                let other = if adds { self.b.ins().bxor(y, value) } else { self.b.ins().bxor(x, y) };
                let both = self.b.ins().band(changed, other);
                let overflows = self.b.ins().icmp_imm(IntCC::SignedLessThan, both, 0);
                self.leave_if(overflows, pc);
                value
            }
            Int2::Mul => {
                let (value, high) = (self.b.ins().imul(x, y), self.b.ins().smulhi(x, y));
                let sign = self.b.ins().sshr_imm(value, 63);
                let overflows = self.b.ins().icmp(IntCC::NotEqual, high, sign);
                self.leave_if(overflows, pc);
                value
            }
            Int2::Div | Int2::Rem => {
                // 0 and -1 are rare and left to the machine.
                let next = self.b.ins().iadd_imm(y, 1);
                let special = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, next, 2);
                self.leave_if(special, pc);
                if op == Int2::Div { self.b.ins().sdiv(x, y) } else { self.b.ins().srem(x, y) }
            }
            Int2::Min => self.b.ins().smin(x, y),
            Int2::Max => self.b.ins().smax(x, y),
        }
    }

    fn compare(&mut self, op: Compare, a: Reg, b: Reg) -> Value {
        let (x, y) = (self.r(a), self.r(b));
        let condition = match op {
            Compare::Lt => FloatCC::LessThan,
            Compare::Le => FloatCC::LessThanOrEqual,
            Compare::Gt => FloatCC::GreaterThan,
            Compare::Ge => FloatCC::GreaterThanOrEqual,
            Compare::Eq => FloatCC::Equal,
            Compare::Ne => FloatCC::NotEqual,
        };
        self.b.ins().fcmp(condition, x, y)
    }

    fn branch_real(&mut self, pc: usize, op: Compare, a: Reg, b: Reg, yes: Pc, no: Pc) {
        let holds = self.compare(op, a, b);
        self.branch(pc, holds, yes, no, |_, _| {});
    }

    /// A count and a branch on how it stands to a limit.
    fn step(&mut self, pc: usize, op: Int2, [i, k, limit]: [Reg; 3], how: IntCC, yes: Pc, no: Pc) {
        let (x, y, limit) = (self.n(i), self.n(k), self.n(limit));
        let value = self.checked(pc, op, x, y);
        let holds = self.b.ins().icmp(how, value, limit);
        self.branch(pc, holds, yes, no, |s, _| s.set_n(i, value));
    }

    /// Ends a block by two ways. `commit` writes what the instruction writes, on each of them, told whether it is
    /// that of `yes`.
    fn branch(&mut self, pc: usize, condition: Value, yes: Pc, no: Pc, commit: impl Fn(&mut Self, bool)) {
        let (to, or) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, to, &[], or, &[]);
        self.b.switch_to_block(to);
        self.go(pc, yes, |s| commit(s, true));
        self.b.switch_to_block(or);
        self.go(pc, no, |s| commit(s, false));
    }

    /// Ends a block by the way to an instruction, on which `commit` writes what this one writes. Going back costs
    /// the way back.
    fn go(&mut self, pc: usize, to: Pc, commit: impl FnOnce(&mut Self)) {
        let to = to as usize;
        if to <= pc {
            let cost = (pc + 1 - to) as i64;
            let fuel = self.b.use_var(self.fuel);
            let few = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, fuel, cost);
            self.leave_if(few, pc);
            let rest = self.b.ins().iadd_imm(fuel, -cost);
            self.b.def_var(self.fuel, rest);
        }
        commit(self);
        let block = self.target(to);
        self.b.ins().jump(block, &[]);
    }

    /// Ends a block by a table.
    fn switch(&mut self, pc: usize, index: Value, first: u32, len: u32, commit: impl Fn(&mut Self)) {
        let mut switch = Switch::new();
        let edges: Vec<Block> = (0..len).map(|_| self.b.create_block()).collect();
        for (k, &edge) in edges.iter().enumerate() {
            switch.set_entry(k as u128, edge);
        }
        let otherwise = self.exit(pc);
        switch.emit(self.b, index, otherwise);
        for (k, edge) in edges.into_iter().enumerate() {
            self.b.switch_to_block(edge);
            self.go(pc, self.routine.tables[first as usize + k], &commit);
        }
    }

    /// The cell of an array.
    fn view(&self, a: u32) -> usize {
        let Slot { bank, reg, .. } = self.routine.slots[a as usize];
        let view = self.views.iter().position(|v| (v.bank, v.reg) == (bank, reg));
        self.stacks.len() + view.unwrap_or(0)
    }

    /// The address of an element, and its bank; leaves if the index is not there.
    fn element(&mut self, pc: usize, a: u32, i: Reg) -> (Bank, Value) {
        let k = self.view(a);
        let (index, len) = (self.n(i), self.cell(k, 1));
        let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
        self.leave_if(beyond, pc);
        let bank = self.routine.slots[a as usize].bank.element();
        (bank, self.address(bank, k, index))
    }

    fn address(&mut self, bank: Bank, cell: usize, index: Value) -> Value {
        let items = self.cell(cell, 0);
        let offset = self.b.ins().ishl_imm(index, i64::from(width(bank).trailing_zeros()));
        self.b.ins().iadd(items, offset)
    }

    /// An element, or 0 beyond the end.
    fn peek(&mut self, pc: usize, d: Reg, a: u32, i: Reg) {
        let bank = self.routine.slots[a as usize].bank.element();
        let k = self.view(a);
        let (index, len) = (self.n(i), self.cell(k, 1));
        let negative = self.b.ins().icmp_imm(IntCC::SignedLessThan, index, 0);
        self.leave_if(negative, pc);
        let (there, beyond, on) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
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

    fn top(&self, stack: Stack) -> Variable {
        let k = self.stacks.iter().position(|s| *s == stack);
        self.tops[k.unwrap_or(0)]
    }

    fn push(&mut self, stack: Stack, reg: Reg) {
        let (variable, value) = (self.top(stack), self.get(stack.bank, reg));
        let top = self.b.use_var(variable);
        self.write(stack.bank, top, 0, value);
        let next = self.b.ins().iadd_imm(top, width(stack.bank));
        self.b.def_var(variable, next);
    }

    fn peek_tape(&mut self, stack: Stack) -> [Value; 2] {
        let top = self.b.use_var(self.top(stack));
        self.read(stack.bank, top, -width(stack.bank) as i32)
    }

    fn drop_top(&mut self, stack: Stack) {
        let variable = self.top(stack);
        let top = self.b.use_var(variable);
        let next = self.b.ins().iadd_imm(top, -width(stack.bank));
        self.b.def_var(variable, next);
    }

    fn pop(&mut self, stack: Stack, reg: Reg) {
        let value = self.peek_tape(stack);
        self.drop_top(stack);
        self.set(stack.bank, reg, value);
    }

    /// From the start to each door: takes the registers that are read from there on.
    fn doors(&mut self) {
        let routine = self.routine;
        let code = routine.code.iter().enumerate();
        let doors = code.filter_map(|(pc, code)| match code {
            Code::Native(door) => Some((*door, pc, self.b.create_block())),
            _ => None,
        });
        let doors: Vec<(u32, usize, Block)> = doors.collect();
        match &doors[..] {
            [] => {}
            [(_, _, only)] => {
                self.b.ins().jump(*only, &[]);
            }
            [others @ .., (_, _, last)] => {
                let mut switch = Switch::new();
                others.iter().for_each(|(door, _, block)| switch.set_entry((*door).into(), *block));
                switch.emit(self.b, self.door, *last);
            }
        }
        for (_, pc, block) in doors {
            self.b.switch_to_block(block);
            for &(bank, reg) in self.reads.at(pc) {
                if self.reads.touched.contains_key(&(bank, reg)) {
                    let (base, offset) = self.place(bank, reg);
                    let value = self.read(bank, base, offset);
                    self.define(bank, reg, value);
                }
            }
            let to = self.target(pc);
            self.b.ins().jump(to, &[]);
        }
    }

    fn ways_out(&mut self) {
        for (pc, block) in std::mem::take(&mut self.exits) {
            self.b.switch_to_block(block);
            if !self.reads.through {
                for &(bank, reg) in self.reads.at(pc) {
                    // What machine code does not write is still in its place.
                    if self.reads.touched.get(&(bank, reg)) == Some(&true) {
                        let value = self.get(bank, reg);
                        self.store(bank, reg, value);
                    }
                }
            }
            for k in 0..self.tops.len() {
                let top = self.b.use_var(self.tops[k]);
                let offset = k * size_of::<Cell>();
                self.b.ins().store(FLAGS, top, self.cells, offset as i32);
            }
            let fuel = self.b.use_var(self.fuel);
            self.b.ins().store(FLAGS, fuel, self.visit, std::mem::offset_of!(Visit, fuel) as i32);
            let pc = self.b.ins().iconst(types::I64, pc as i64);
            self.b.ins().return_(&[pc]);
        }
    }
}

/// The kind of a bank's numbers, or of their parts.
fn kind(bank: Bank) -> ir::Type {
    if bank == Bank::Int { types::I64 } else { types::F64 }
}

/// How many parts a number has.
fn parts(bank: Bank) -> usize {
    if bank == Bank::Complex { 2 } else { 1 }
}

/// The bytes of a number.
fn width(bank: Bank) -> i64 {
    8 * parts(bank) as i64
}

fn ints(op: Compare) -> IntCC {
    match op {
        Compare::Lt => IntCC::SignedLessThan,
        Compare::Le => IntCC::SignedLessThanOrEqual,
        Compare::Gt => IntCC::SignedGreaterThan,
        Compare::Ge => IntCC::SignedGreaterThanOrEqual,
        Compare::Eq => IntCC::Equal,
        Compare::Ne => IntCC::NotEqual,
    }
}

/// The tape that an instruction pushes to.
fn pushed(code: Code) -> Option<Stack> {
    let stack = |tape, bank| Some(Stack { tape, bank });
    match code {
        Code::PushR(tape, _) => stack(tape, Bank::Real),
        Code::PushC(tape, _) => stack(tape, Bank::Complex),
        Code::PushI(tape, _) => stack(tape, Bank::Int),
        Code::TestPush(_, tape, ..) => stack(tape.into(), Bank::Int),
        _ => None,
    }
}

/// The tape that an instruction pops from.
fn popped(code: Code) -> Option<Stack> {
    let stack = |tape, bank| Some(Stack { tape, bank });
    match code {
        Code::PopR(tape, _) => stack(tape, Bank::Real),
        Code::PopC(tape, _) => stack(tape, Bank::Complex),
        Code::PopI(tape, _) | Code::PopBranch(tape, ..) | Code::PopSwitch(tape, ..) => stack(tape, Bank::Int),
        _ => None,
    }
}
