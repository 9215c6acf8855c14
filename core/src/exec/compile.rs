//! From IR to bytecode.
//!
//! - Every value gets a register for each leaf; constants are loaded once, at the start of the routine.
//! - An edge becomes moves from the arguments to the parameters, all at once: where one would overwrite what
//!   another still reads, it goes through a spare register.
//! - A comparison of integers that only the branch after it reads becomes one instruction with it.
//!
//! Cost: O(size).

use std::collections::HashMap;

use crate::{
    entity::{Block, FuncId, Inst, Value},
    ir::{
        Function, InstData, Kind, Literal, Mixed, Number1, Number2, Op, Position, Program, Target, Terminator,
    },
};

use super::{
    bytecode::{BANKS, Bank, Bytecode, Code, Reg, Routine, Slot, Slots, Write},
    error::CallError,
    last_use::mark_last_uses,
};

impl Bytecode {
    /// Compiles a function and all it calls.
    ///
    /// # Errors
    /// A function without a body.
    pub fn compile(program: &Program, root: FuncId) -> Result<Bytecode, CallError> {
        let mut ids = vec![root];
        let mut next = 0;
        while let Some(&f) = ids.get(next) {
            next += 1;
            let function = &program.functions[f];
            if !function.is_defined() {
                return Err(CallError::Undefined { name: function.name.clone() });
            }
            for g in function.callees() {
                if !ids.contains(&g) {
                    ids.push(g);
                }
            }
        }
        let routines: Vec<Routine> =
            ids.iter().map(|&f| Compiler::new(&program.functions[f], &ids).routine()).collect();
        let tape = |op| match op {
            Op::Push { tape, .. } | Op::Pop { tape, .. } => tape as usize + 1,
            _ => 0,
        };
        let ops = ids.iter().flat_map(|&f| program.functions[f].insts.values().map(|i| i.op));
        let tapes = ops.map(tape).max().unwrap_or(0);
        let function = &program.functions[root];
        Ok(Bytecode {
            routines,
            primitives: program.primitives.values().cloned().collect(),
            params: function.params.clone(),
            result: function.result.clone(),
            tapes,
        })
    }
}

struct Compiler<'a> {
    f: &'a Function,
    ids: &'a [FuncId],
    registers: Vec<Vec<Slot>>,
    routine: Routine,
    /// Where each block starts, and which instructions name blocks.
    starts: Vec<u32>,
    patches: Vec<(usize, Patch)>,
    uses: Vec<u32>,
    defs: Vec<Option<Inst>>,
    constants: HashMap<Op, Reg>,
    at: Position,
}

/// A jump target that is still a block.
enum Patch {
    To(Block),
    Table(usize, Block),
}

impl<'a> Compiler<'a> {
    fn new(f: &'a Function, ids: &'a [FuncId]) -> Compiler<'a> {
        let mut uses = vec![0; f.kinds.len()];
        for block in f.blocks.values() {
            let args = block.insts.iter().flat_map(|&i| &f.insts[i].args).copied();
            let targets = block.end.targets().into_iter().flat_map(|t| t.args.clone()).collect::<Vec<_>>();
            for v in args.chain(block.end.operand()).chain(targets) {
                uses[v.index()] += 1;
            }
        }
        let routine = Routine {
            name: f.name.clone(),
            code: vec![],
            at: vec![],
            slots: vec![],
            tables: vec![],
            sizes: [0; BANKS],
            params: vec![],
            flat: f.params.iter().all(|p| p.kind.leaves().iter().all(|k| *k == Kind::Real)),
        };
        Compiler {
            f,
            ids,
            registers: vec![vec![]; f.kinds.len()],
            routine,
            starts: vec![],
            patches: vec![],
            uses,
            defs: f.definitions(),
            constants: HashMap::new(),
            at: Position::default(),
        }
    }

    fn routine(mut self) -> Routine {
        let f = self.f;
        for &p in f.param_values() {
            self.define(p);
            let slots = self.registers[p.index()].clone();
            self.routine.params.extend(slots);
        }
        for block in f.blocks.values() {
            for &p in &block.params {
                if self.registers[p.index()].is_empty() {
                    self.define(p);
                }
            }
            for &i in &block.insts {
                self.allocate(&f.insts[i]);
            }
        }
        // Tuples are the registers of their fields. A field may be defined in a later block than the tuple
        // stands in the list, so repeat until all are known; each round settles one level of nesting.
        for _ in 0..f.insts.len().max(1) {
            let mut open = false;
            for block in f.blocks.values() {
                for &i in &block.insts {
                    open |= !self.alias(&f.insts[i]);
                }
            }
            if !open {
                break;
            }
        }
        for (b, block) in f.blocks.iter() {
            self.starts.push(self.routine.code.len() as u32);
            for (k, &i) in block.insts.iter().enumerate() {
                self.at = f.insts[i].at;
                if k + 1 == block.insts.len() && self.fuses(i, &block.end) {
                    continue;
                }
                self.instruction(&f.insts[i]);
            }
            self.at = block.end_at;
            self.end(b, &block.end, block.insts.len() as u32 + 1);
        }
        for (place, patch) in std::mem::take(&mut self.patches) {
            match patch {
                Patch::Table(entry, block) => self.routine.tables[entry] = self.starts[block.index()],
                Patch::To(block) => {
                    let start = self.starts[block.index()];
                    match &mut self.routine.code[place] {
                        Code::Jump { to, .. } | Code::BranchI { to, .. } | Code::Else { to } => *to = start,
                        _ => {}
                    }
                }
            }
        }
        mark_last_uses(&mut self.routine);
        self.routine
    }

    fn fresh(&mut self, bank: Bank) -> Reg {
        let size = &mut self.routine.sizes[bank as usize];
        *size += 1;
        *size - 1
    }

    fn define(&mut self, v: Value) {
        let leaves = self.f.kinds[v].leaves();
        let slots = leaves
            .iter()
            .map(|leaf| {
                let bank = Bank::of(leaf);
                Slot { bank, reg: self.fresh(bank), last: false }
            })
            .collect();
        self.registers[v.index()] = slots;
    }

    /// Gives the result of an instruction its registers; of a constant, those of its first appearance.
    fn allocate(&mut self, inst: &InstData) {
        let Some(v) = inst.result else { return };
        if inst.op.is_constant() {
            if let Some(&reg) = self.constants.get(&inst.op) {
                let bank = Bank::of(&self.f.kinds[v]);
                self.registers[v.index()] = vec![Slot { bank, reg, last: false }];
                return;
            }
            self.define(v);
            let d = self.registers[v.index()][0].reg;
            self.constants.insert(inst.op, d);
            self.emit(match inst.op {
                // Integers are exact on every scalar.
                Op::Real(Literal(x))
                    if x.fract() == 0.0 && x.abs() < 9e15 && (x != 0.0 || x.is_sign_positive()) =>
                {
                    Code::RealInt { d, n: x as i64 }
                }
                Op::Real(Literal(x)) => Code::Real { d, x },
                Op::Int(n) => Code::Int { d, n },
                op => Code::Int { d, n: i64::from(op == Op::Bool(true)) },
            });
        } else if !matches!(inst.op, Op::Tuple | Op::Field(_)) {
            self.define(v);
        }
    }

    /// The registers of tuples and fields; false while those of an operand are not known.
    fn alias(&mut self, inst: &InstData) -> bool {
        let Some(v) = inst.result else { return true };
        let known = |v: &Value| self.f.kinds[*v].n_leaves() == self.registers[v.index()].len();
        if !matches!(inst.op, Op::Tuple | Op::Field(_)) || known(&v) {
            return true;
        }
        if !inst.args.iter().all(known) {
            return false;
        }
        self.registers[v.index()] = match inst.op {
            Op::Field(k) => {
                let fields = self.f.kinds[inst.args[0]].fields();
                let start: usize = fields[..k as usize].iter().map(|f| f.kind.n_leaves()).sum();
                let len = fields[k as usize].kind.n_leaves();
                self.registers[inst.args[0].index()][start..start + len].to_vec()
            }
            _ => inst.args.iter().flat_map(|a| self.registers[a.index()].clone()).collect(),
        };
        true
    }

    fn emit(&mut self, code: Code) {
        self.routine.code.push(code);
        self.routine.at.push(self.at);
    }

    fn slots(&mut self, slots: &[Slot]) -> Slots {
        let start = self.routine.slots.len() as u32;
        self.routine.slots.extend_from_slice(slots);
        Slots { start, len: slots.len() as u32 }
    }

    /// The first leaf of a value as an entry of the list of slots.
    fn slot(&mut self, v: Value) -> u32 {
        let slot = self.first(v);
        self.slots(&[slot]).start
    }

    fn first(&self, v: Value) -> Slot {
        let none = Slot { bank: Bank::Int, reg: 0, last: false };
        self.registers[v.index()].first().copied().unwrap_or(none)
    }

    fn reg(&self, v: Value) -> Reg {
        self.first(v).reg
    }

    fn leaves(&self, values: &[Value]) -> Vec<Slot> {
        values.iter().flat_map(|v| self.registers[v.index()].clone()).collect()
    }

    fn instruction(&mut self, inst: &InstData) {
        let args = &inst.args;
        let r = |c: &Self, k: usize| args.get(k).map_or(0, |&v| c.reg(v));
        let (a, b) = (r(self, 0), r(self, 1));
        let d = inst.result.map_or(0, |v| self.reg(v));
        let complex = args.first().is_some_and(|&v| self.f.kinds[v] == Kind::Complex);
        let code = match inst.op {
            Op::Real(_) | Op::Int(_) | Op::Bool(_) | Op::Tuple | Op::Field(_) => return,
            Op::Number1(Number1::Neg) if !complex => Code::NegR { d, a },
            Op::Number1(op) if complex => Code::Number1C { op, d, a },
            Op::Number1(op) => Code::Number1R { op, d, a },
            Op::Number2(op) => match (op, complex) {
                (Number2::Add, false) => Code::AddR { d, a, b },
                (Number2::Sub, false) => Code::SubR { d, a, b },
                (Number2::Mul, false) => Code::MulR { d, a, b },
                (Number2::Div, false) => Code::DivR { d, a, b },
                (Number2::Add, true) => Code::AddC { d, a, b },
                (Number2::Sub, true) => Code::SubC { d, a, b },
                (Number2::Mul, true) => Code::MulC { d, a, b },
                (op, true) => Code::Number2C { op, d, a, b },
                (op, false) => Code::Number2R { op, d, a, b },
            },
            Op::Real1(op) => Code::Real1 { op, d, a },
            Op::Real2(op) => Code::Real2 { op, d, a, b },
            Op::Int1(op) => Code::Int1 { op, d, a },
            Op::Int2(crate::ir::Int2::Add) => Code::AddI { d, a, b },
            Op::Int2(op) => Code::Int2 { op, d, a, b },
            Op::Compare(op) => Code::CompareR { op, d, a, b },
            Op::CompareInt(op) => Code::CompareI { op, d, a, b },
            Op::Mixed(op) => match op {
                Mixed::Promote => Code::Promote { d, a },
                Mixed::Complex => Code::Complex { d, a, b },
                Mixed::Re => Code::Re { d, a },
                Mixed::Im => Code::Im { d, a },
                Mixed::Abs2 => Code::Abs2 { d, a },
                Mixed::Modulus => Code::Modulus { d, a },
                Mixed::Arg => Code::Arg { d, a },
                Mixed::Conj => Code::Conj { d, a },
                Mixed::FromInt => Code::FromInt { d, a },
                Mixed::PowiReal => Code::PowiR { d, a, n: b },
                Mixed::PowiComplex => Code::PowiC { d, a, n: b },
                Mixed::Not => Code::Not { d, a },
                Mixed::And => Code::And { d, a, b },
                Mixed::Or => Code::Or { d, a, b },
            },
            Op::Select => {
                let (yes, no) = (self.leaves(&args[1..2]), self.leaves(&args[2..3]));
                let to = inst.result.map(|v| self.registers[v.index()].clone()).unwrap_or_default();
                for ((yes, no), to) in yes.into_iter().zip(no).zip(to) {
                    let pair = self.slots(&[yes, no]).start;
                    self.emit(Code::Select { bank: to.bank, d: to.reg, c: a, a: pair });
                }
                return;
            }
            Op::Array => {
                let items = self.leaves(args);
                let bank = inst.result.map_or(Bank::Reals, |v| self.first(v).bank);
                Code::Array { bank, d, items: self.slots(&items) }
            }
            Op::Fill => {
                let bank = inst.result.map_or(Bank::Reals, |v| self.first(v).bank);
                Code::Fill { bank, d, x: a, n: b }
            }
            Op::Sum => Code::Sum { d, a: self.slot(args[0]) },
            Op::Len => Code::Len { d, a: self.slot(args[0]) },
            Op::Get => Code::Get { d, a: self.slot(args[0]), i: b, strict: true },
            Op::Peek => Code::Get { d, a: self.slot(args[0]), i: b, strict: false },
            Op::Set | Op::Put | Op::AddAt => {
                let how = match inst.op {
                    Op::Set => Write::Set,
                    Op::Put => Write::Put,
                    _ => Write::Add,
                };
                Code::Set { d, a: self.slot(args[0]), i: b, x: r(self, 2), how }
            }
            Op::Accumulate => {
                let pair = [self.first(args[0]), self.first(args[1])];
                Code::Accumulate { d, a: self.slots(&pair).start }
            }
            Op::Push { tape, .. } => {
                for slot in self.leaves(args) {
                    let a = slot.reg;
                    let code = match slot.bank {
                        Bank::Real => Code::PushR { tape, a },
                        Bank::Complex => Code::PushC { tape, a },
                        Bank::Int => Code::PushI { tape, a },
                        _ => Code::PushA { tape, a: self.slots(&[slot]).start },
                    };
                    self.emit(code);
                }
                return;
            }
            Op::Pop { tape, .. } => {
                let to = inst.result.map(|v| self.registers[v.index()].clone()).unwrap_or_default();
                for slot in to.into_iter().rev() {
                    let d = slot.reg;
                    let code = match slot.bank {
                        Bank::Real => Code::PopR { tape, d },
                        Bank::Complex => Code::PopC { tape, d },
                        Bank::Int => Code::PopI { tape, d },
                        _ => Code::PopA { tape, d: self.slots(&[slot]).start },
                    };
                    self.emit(code);
                }
                return;
            }
            Op::Call(g) => {
                let function = self.ids.iter().position(|&id| id == g).unwrap_or(0) as u32;
                let (args, results) = self.call(inst);
                Code::Call { function, args, results }
            }
            Op::Primitive(primitive) => {
                let (args, results) = self.call(inst);
                Code::Primitive { primitive, args, results }
            }
        };
        self.emit(code);
    }

    fn call(&mut self, inst: &InstData) -> (Slots, Slots) {
        let (args, results) = (self.leaves(&inst.args), self.leaves(inst.result.as_slice()));
        (self.slots(&args), self.slots(&results))
    }

    /// Whether an instruction is a comparison of integers that only this branch reads.
    fn fuses(&self, i: Inst, end: &Terminator) -> bool {
        let inst = &self.f.insts[i];
        matches!((inst.op, end, inst.result), (Op::CompareInt(_), Terminator::Branch(c, ..), Some(v))
            if *c == v && self.uses[v.index()] == 1)
    }

    fn end(&mut self, block: Block, end: &Terminator, cost: u32) {
        match end {
            Terminator::Open => {}
            Terminator::Jump(t) => self.edge(t, cost),
            Terminator::Return(v) => {
                let leaves = self.leaves(&[*v]);
                let values = self.slots(&leaves);
                self.emit(Code::Return { values, cost });
            }
            Terminator::Branch(c, yes, no) => {
                let last = self.f.blocks[block].insts.last().copied();
                let place = self.routine.code.len();
                match self.defs[c.index()].filter(|&i| Some(i) == last && self.fuses(i, end)) {
                    Some(i) => {
                        let inst = &self.f.insts[i];
                        let (a, b) = (self.reg(inst.args[0]), self.reg(inst.args[1]));
                        let Op::CompareInt(op) = inst.op else { return };
                        self.emit(Code::BranchI { op, a, b, to: 0, cost });
                        self.emit(Code::Else { to: 0 });
                        let yes_at = self.stub(yes);
                        let no_at = self.stub(no);
                        self.point(place, yes, yes_at);
                        self.point(place + 1, no, no_at);
                    }
                    None => {
                        self.emit(Code::Branch { c: self.reg(*c), yes: 0, no: 0, cost });
                        let yes_at = self.routine.code.len() as u32;
                        self.edge(yes, 0);
                        let no_at = self.routine.code.len() as u32;
                        self.edge(no, 0);
                        if let Code::Branch { yes, no, .. } = &mut self.routine.code[place] {
                            (*yes, *no) = (yes_at, no_at);
                        }
                    }
                }
            }
            Terminator::Switch(i, targets) => {
                let table = self.routine.tables.len();
                self.routine.tables.resize(table + targets.len(), 0);
                let (i, len) = (self.reg(*i), targets.len() as u32);
                self.emit(Code::Switch { i, table: table as u32, len, cost });
                for (k, target) in targets.iter().enumerate() {
                    match self.stub(target) {
                        Some(start) => self.routine.tables[table + k] = start,
                        None => self.patches.push((0, Patch::Table(table + k, target.block))),
                    }
                }
            }
        }
    }

    /// Points a jump at an edge's moves, or at the block itself where there are none.
    fn point(&mut self, place: usize, target: &Target, stub: Option<u32>) {
        match (stub, &mut self.routine.code[place]) {
            (Some(start), Code::BranchI { to, .. } | Code::Else { to }) => *to = start,
            _ => self.patches.push((place, Patch::To(target.block))),
        }
    }

    /// The moves of an edge, if it has any: where they start.
    fn stub(&mut self, target: &Target) -> Option<u32> {
        if self.moves(target).is_empty() {
            return None;
        }
        let start = self.routine.code.len() as u32;
        self.edge(target, 0);
        Some(start)
    }

    fn edge(&mut self, target: &Target, cost: u32) {
        let moves = self.moves(target);
        self.parallel(moves);
        self.patches.push((self.routine.code.len(), Patch::To(target.block)));
        self.emit(Code::Jump { to: 0, cost });
    }

    /// From each argument's registers to the parameter's.
    fn moves(&self, target: &Target) -> Vec<(Slot, Slot)> {
        let params = self.leaves(&self.f.blocks[target.block].params);
        let args = self.leaves(&target.args);
        params.into_iter().zip(args).filter(|(p, a)| p != a).collect()
    }

    /// Emits moves that happen all at once.
    fn parallel(&mut self, mut moves: Vec<(Slot, Slot)>) {
        while !moves.is_empty() {
            // One whose target nobody still reads …
            let free = moves.iter().position(|(to, _)| moves.iter().all(|(_, from)| from != to));
            if let Some(k) = free {
                let (to, from) = moves.swap_remove(k);
                self.copy(to, from);
                continue;
            }
            // … or, in a ring, the first source is put aside.
            let from = moves[0].1;
            let spare = Slot { bank: from.bank, reg: self.fresh(from.bank), last: false };
            self.copy(spare, from);
            moves.iter_mut().filter(|m| m.1 == from).for_each(|m| m.1 = spare);
        }
    }

    fn copy(&mut self, to: Slot, from: Slot) {
        let (d, a) = (to.reg, from.reg);
        let code = match to.bank {
            Bank::Real => Code::MoveR { d, a },
            Bank::Complex => Code::MoveC { d, a },
            Bank::Int => Code::MoveI { d, a },
            _ => Code::MoveA { d, a: self.slots(&[from]).start },
        };
        self.emit(code);
    }
}
