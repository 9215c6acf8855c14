//! The bytecode of one instruction.

use std::sync::Arc;

use crate::{
    entity::{Inst, Value},
    ir::{ArrayOp, InstData, Int2, Kind, Mixed, Number1, Number2, Op},
};

use super::{
    super::code::{Bank, Code, Reg, RegisterSlot, SlotRange, WriteMode},
    compiler::Compiler,
    superinstructions::superinstruction,
};

impl Compiler<'_> {
    pub(super) fn instruction(&mut self, i: Inst) {
        let inst = &self.f.insts[i];
        let args = &inst.args;
        let r = |k: usize| args.get(k).map_or(0, |&v| self.reg(v));
        let (d, a, b) = (inst.result.map_or(0, |v| self.reg(v)), r(0), r(1));
        let complex = args.first().is_some_and(|&v| self.f.kinds[v] == Kind::Complex);
        if inst.args.iter().any(|&v| matches!(self.f.kinds[v], Kind::Array(_))) {
            if inst.op.is_elementwise() || inst.op == Op::Sum || self.fusion_groups.is_group_end(i)
            {
                return self.elements(i);
            }
            if let (Op::OnArrays(op @ ArrayOp::RavelMultiIndex), Some((list, _))) =
                (inst.op, self.superinstructions.inner(i))
            {
                let args: Vec<Value> = [&args[..1], &self.f.insts[list].args].concat();
                let (args, results) = (self.leaves(&args), self.leaves(inst.result.as_slice()));
                let code = Code::OnArrays(op, self.slots(&args), self.slots(&results));
                return self.emit(code);
            }
            if let Op::OnArrays(op) = inst.op {
                let (args, results) = self.call(inst);
                return self.emit(Code::OnArrays(op, args, results));
            }
        }
        if inst.op == Op::Accumulate
            && let Some((embed, back)) = self.superinstructions.inner(i)
        {
            return self.accumulate_part(inst, embed, back);
        }
        let code = match inst.op {
            Op::Real(_) | Op::Int(_) | Op::Bool(_) | Op::Tuple | Op::Field(_) => {
                return self.own(inst);
            }
            Op::Number1(Number1::Neg) if !complex => Code::NegR(d, a),
            Op::Number1(op) if complex => Code::Number1C(op, d, a),
            Op::Number1(op) => Code::Number1R(op, d, a),
            Op::Number2(op) if complex => match op {
                Number2::Add => Code::AddC(d, a, b),
                Number2::Sub => Code::SubC(d, a, b),
                Number2::Mul => Code::MulC(d, a, b),
                op => Code::Number2C(op, d, a, b),
            },
            Op::Number2(op) => self.superinstruction(i).unwrap_or(match op {
                Number2::Add => Code::AddR(d, a, b),
                Number2::Sub => Code::SubR(d, a, b),
                Number2::Mul => Code::MulR(d, a, b),
                Number2::Div => Code::DivR(d, a, b),
                op => Code::Number2R(op, d, a, b),
            }),
            Op::Real1(op) => Code::Real1(op, d, a),
            Op::Real2(op) => Code::Real2(op, d, a, b),
            Op::Int1(op) => Code::Int1(op, d, a),
            Op::Int2(Int2::Add) => Code::AddI(d, a, b),
            Op::Int2(op) => Code::Int2(op, d, a, b),
            Op::Compare(op) => Code::CompareR(op, d, a, b),
            Op::CompareInt(op) => Code::CompareI(op, d, a, b),
            Op::Expect(order) => Code::Expect(order, a, b),
            Op::Mixed(op) => mixed(op, d, a, b),
            Op::Select => return self.select(inst, a),
            Op::Push { tape, .. } => return self.push(inst, tape),
            Op::Pop { tape, .. } => return self.pop(inst, tape),
            Op::Call(g) => {
                let function = self.numbers.get(&g).copied().unwrap_or(0);
                let (args, results) = self.call(inst);
                Code::Call(function, args, results)
            }
            Op::Primitive(primitive) => {
                let (args, results) = self.call(inst);
                Code::Primitive(primitive, args, results)
            }
            _ => return self.on_arrays(inst, [d, a, b, r(2)]),
        };
        self.emit(code);
    }

    /// Returns the superinstruction of an instruction and the one that it absorbs.
    fn superinstruction(&self, i: Inst) -> Option<Code> {
        let (first, back) = self.superinstructions.inner(i)?;
        let (outer, inner) = (&self.f.insts[i], &self.f.insts[first]);
        let other = *outer.args.get(usize::from(!back))?;
        let (a, b) = (self.reg(*inner.args.first()?), self.reg(*inner.args.get(1)?));
        superinstruction(inner.op, outer.op, back, [self.reg(outer.result?), a, b, self.reg(other)])
    }

    /// Emits the addition of a part to an array, at its place among zeros.
    fn accumulate_part(&mut self, inst: &InstData, embed: Inst, back: bool) {
        let (d, sum) = (inst.result, inst.args.get(usize::from(!back)));
        let (Some(d), Some(&sum)) = (d, sum) else { return };
        let embed = &self.f.insts[embed];
        let slots: Vec<RegisterSlot> =
            std::iter::once(&sum).chain(&embed.args).map(|&v| self.first(v)).collect();
        let code = Code::AccumulatePart(self.reg(d), self.slots(&slots));
        self.at = embed.at;
        self.emit(code);
    }

    fn on_arrays(&mut self, inst: &InstData, [d, a, b, c]: [Reg; 4]) {
        let args = &inst.args;
        let bank = inst.result.map_or(Bank::Reals, |v| self.first(v).bank);
        let code = match inst.op {
            Op::Array => {
                let items = self.leaves(args);
                Code::Array(bank, d, self.slots(&items))
            }
            Op::Fill => Code::Fill(bank, d, a, b),
            Op::Len => Code::Len(d, self.slot(args[0])),
            Op::Get => Code::Get(d, self.slot(args[0]), b),
            Op::Peek => Code::Peek(d, self.slot(args[0]), b),
            Op::Set => Code::Set(WriteMode::Set, d, self.slot(args[0]), b, c),
            Op::Put => Code::Set(WriteMode::Put, d, self.slot(args[0]), b, c),
            Op::AddAt => Code::Set(WriteMode::Add, d, self.slot(args[0]), b, c),
            Op::Accumulate => {
                let pair = [self.first(args[0]), self.first(args[1])];
                Code::Accumulate(d, self.slots(&pair).start)
            }
            _ => return,
        };
        self.emit(code);
    }

    /// Emits the fused kernel of a group of elementwise operations.
    fn elements(&mut self, i: Inst) {
        let (kernel, args, results) = self.fusion_groups.kernel(self.f, i);
        let (args, results) = (self.leaves(&args), self.leaves(&results));
        let results = self.slots(&results);
        let args = self.slots(&args);
        self.routine.kernels.push(Arc::new(kernel));
        self.emit(Code::Elements(self.routine.kernels.len() as u32 - 1, args, results));
    }

    fn select(&mut self, inst: &InstData, condition: Reg) {
        let (yes, no) = (self.leaves(&inst.args[1..2]), self.leaves(&inst.args[2..3]));
        let to = self.leaves(inst.result.as_slice());
        for ((yes, no), to) in yes.into_iter().zip(no).zip(to) {
            let pair = self.slots(&[yes, no]).start;
            self.emit(Code::Select(to.bank, to.reg, condition, pair));
        }
    }

    fn push(&mut self, inst: &InstData, tape: u32) {
        for slot in self.leaves(&inst.args) {
            let code = match slot.bank {
                Bank::Real => Code::PushR(tape, slot.reg),
                Bank::Complex => Code::PushC(tape, slot.reg),
                Bank::Int => Code::PushI(tape, slot.reg),
                _ => Code::PushA(tape, self.slots(&[slot]).start),
            };
            self.emit(code);
        }
    }

    fn pop(&mut self, inst: &InstData, tape: u32) {
        for slot in self.leaves(inst.result.as_slice()).into_iter().rev() {
            let code = match slot.bank {
                Bank::Real => Code::PopR(tape, slot.reg),
                Bank::Complex => Code::PopC(tape, slot.reg),
                Bank::Int => Code::PopI(tape, slot.reg),
                _ => Code::PopA(tape, self.slots(&[slot]).start),
            };
            self.emit(code);
        }
    }

    fn call(&mut self, inst: &InstData) -> (SlotRange, SlotRange) {
        let (args, results) = (self.leaves(&inst.args), self.leaves(inst.result.as_slice()));
        (self.slots(&args), self.slots(&results))
    }
}

fn mixed(op: Mixed, d: Reg, a: Reg, b: Reg) -> Code {
    match op {
        Mixed::Promote => Code::Promote(d, a),
        Mixed::Complex => Code::Complex(d, a, b),
        Mixed::Re => Code::Re(d, a),
        Mixed::Im => Code::Im(d, a),
        Mixed::Abs2 => Code::Abs2(d, a),
        Mixed::Modulus => Code::Modulus(d, a),
        Mixed::Arg => Code::Arg(d, a),
        Mixed::Conj => Code::Conj(d, a),
        Mixed::FromInt => Code::FromInt(d, a),
        Mixed::Cmp => Code::Cmp(d, a, b),
        Mixed::PowiReal => Code::PowiR(d, a, b),
        Mixed::PowiComplex => Code::PowiC(d, a, b),
        Mixed::Polygamma => Code::Polygamma(d, a, b),
        Mixed::Not => Code::Not(d, a),
        Mixed::And => Code::And(d, a, b),
        Mixed::Or => Code::Or(d, a, b),
    }
}
