//! The code of one instruction.

use std::cmp::Ordering;

use cranelift_codegen::ir::{
    self, AbiParam, InstBuilder, Signature, StackSlotData, StackSlotKind, Value,
    condcodes::{FloatCC, IntCC},
    types,
};

use crate::ir::{Compare, Int1, Int2, Number1, Number2, Real1, Real2};

use super::{
    super::{
        super::code::{Bank, ChecksumUpdate, Code, Pc, Reg, WriteMode},
        cells::{CellLayout, JitCell, JitTape},
        entry_points::for_the_machine,
        ops,
    },
    lowering::JitLowering,
    memory::FLAGS,
};

impl JitLowering<'_, '_> {
    pub(super) fn instruction(&mut self, pc: usize) {
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
        let code = self.code(pc);
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
            Code::Polygamma(d, a, n) => {
                let (x, n) = (self.r(a), self.n(n));
                let value = self.call(ops::polygamma as *const () as usize, &[x, n]);
                self.set_r(d, value);
            }
            Code::AddC(d, a, b) => self.number2c(Number2::Add, d, a, b),
            Code::SubC(d, a, b) => self.number2c(Number2::Sub, d, a, b),
            Code::MulC(d, a, b) => self.number2c(Number2::Mul, d, a, b),
            Code::Number2C(op, d, a, b) => self.number2c(op, d, a, b),
            Code::Number1C(op, d, a) => self.number1c(op, d, a),
            Code::PowiC(d, a, n) => {
                let ([re, im], n) = (self.c(a), self.n(n));
                let value =
                    self.call_complex(ops::complex_powi as *const () as usize, &[re, im, n]);
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
            Code::MoveR(d, a) => self.copy(Bank::Real, d, a),
            Code::MoveC(d, a) => self.copy(Bank::Complex, d, a),
            Code::MoveI(d, a) => self.copy(Bank::Int, d, a),
            Code::FromInt(d, a) => {
                let n = self.n(a);
                let value = self.b.ins().fcvt_from_sint(types::F64, n);
                self.set_r(d, value);
            }
            Code::Cmp(d, a, b) => {
                let (a, b) = (self.n(a), self.n(b));
                let more = self.b.ins().icmp(IntCC::SignedGreaterThan, a, b);
                let less = self.b.ins().icmp(IntCC::SignedLessThan, a, b);
                let order = self.b.ins().isub(more, less);
                let value = self.b.ins().fcvt_from_sint(types::F64, order);
                self.set_r(d, value);
            }
            Code::AddI(d, a, b) => self.int2(pc, Int2::Add, d, a, b),
            Code::Int2(op, d, a, b) => self.int2(pc, op, d, a, b),
            Code::Int1(Int1::Neg, d, a) => {
                let x = self.n(a);
                let least = self.b.ins().icmp_imm(IntCC::Equal, x, i64::MIN);
                self.side_exit_if(least, pc);
                let value = self.b.ins().ineg(x);
                self.set_n(d, value);
            }
            Code::CompareR(op, d, a, b) => {
                let holds = self.compare(op, a, b);
                let value = self.b.ins().uextend(types::I64, holds);
                self.set_n(d, value);
            }
            Code::Expect(expected, a, b) => {
                let (x, y) = (self.r(a), self.r(b));
                let otherwise = match expected {
                    Some(Ordering::Less) => FloatCC::UnorderedOrGreaterThanOrEqual,
                    Some(Ordering::Equal) => FloatCC::NotEqual,
                    Some(Ordering::Greater) => FloatCC::UnorderedOrLessThanOrEqual,
                    None => FloatCC::Ordered,
                };
                // The machine reports which comparison it was.
                let fails = self.b.ins().fcmp(otherwise, x, y);
                self.side_exit_if(fails, pc);
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
                let [yes, no] = [a, a + 1].map(|slot| self.plan.routine.slots[slot as usize].reg);
                let (condition, yes, no) =
                    (self.n(condition), self.get(bank, yes), self.get(bank, no));
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
                self.side_exit_if(shared, pc);
                let (bank, place) = self.element(pc, a, i);
                let mut value = self.get(bank, x);
                if how == WriteMode::Add {
                    let old = self.read(bank, place, 0);
                    value = [0, 1].map(|part| self.b.ins().fadd(old[part], value[part]));
                }
                self.write(bank, place, 0, value);
            }
            Code::PushR(tape, a) => self.push(JitTape { tape, bank: Bank::Real }, a),
            Code::PushC(tape, a) => self.push(JitTape { tape, bank: Bank::Complex }, a),
            Code::PushI(tape, a) => self.push(JitTape { tape, bank: Bank::Int }, a),
            Code::PopR(tape, d) => self.pop(JitTape { tape, bank: Bank::Real }, d),
            Code::PopC(tape, d) => self.pop(JitTape { tape, bank: Bank::Complex }, d),
            Code::PopI(tape, d) => self.pop(JitTape { tape, bank: Bank::Int }, d),
            Code::UpdateChecksums(first, entries) => self.track(first, entries),
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
                    s.push(JitTape { tape: tape.into(), bank: Bank::Int }, d);
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
                let stack = JitTape { tape, bank: Bank::Int };
                let [condition, _] = self.peek_tape(stack);
                self.branch(pc, condition, yes, no, |s, _| s.drop_top(stack));
            }
            Code::Switch(i, first, len) => {
                let index = self.n(i);
                self.switch(pc, index, first, len, |_| {});
            }
            Code::PopSwitch(tape, first, len) => {
                let stack = JitTape { tape, bank: Bank::Int };
                let [index, _] = self.peek_tape(stack);
                self.switch(pc, index, first, len, |s| s.drop_top(stack));
            }
            Code::Call(_, args, results) => self.call_itself(pc, args, results),
            Code::Return(values) => self.return_to_caller(pc, values),
            Code::OnArrays(_, args, results) => self.flat_index(pc, args, results),
            // Machine code that reaches an entry point goes on.
            Code::Native(..) | for_the_machine!() => {}
        }
    }

    /// Changes the checksums of tapes where they are: they are changed seldom and looked at once.
    fn track(&mut self, first: u32, entries: u32) {
        let routine = self.plan.routine;
        for track in &routine.checksum_updates[ChecksumUpdate::range(first, entries)] {
            let CellLayout { stacks, views, shapes, sums } = &self.lists;
            let stack = JitTape { tape: track.tape, bank: track.bank };
            let Some(place) = sums.iter().position(|sum| *sum == stack) else { continue };
            let offset = (stacks.len() + views.len() + shapes.len() + place) * size_of::<JitCell>();
            let sum = self.b.ins().load(types::I64, FLAGS, self.cells, offset as i32);
            let sum = self.b.ins().imul_imm(sum, track.factor.cast_signed());
            let sum = self.b.ins().iadd_imm(sum, track.summand.cast_signed());
            self.b.ins().store(FLAGS, sum, self.cells, offset as i32);
        }
    }

    fn copy(&mut self, bank: Bank, d: Reg, a: Reg) {
        let value = self.get(bank, a);
        self.set(bank, d, value);
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
            Number2::Guard => {
                let zero = self.b.ins().f64const(0.0);
                let is_zero = self.b.ins().fcmp(FloatCC::Equal, y, zero);
                self.b.ins().select(is_zero, zero, x)
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
                let [ax, by, ay, bx] =
                    [(a, x), (b, y), (a, y), (b, x)].map(|(a, x)| self.b.ins().fmul(a, x));
                [self.b.ins().fsub(ax, by), self.b.ins().fadd(ay, bx)]
            }
            op => self.call_complex(ops::complex2(op) as usize, &[a, b, x, y]),
        };
        self.set_c(d, value);
    }

    /// Emits a call of a function that returns a real number.
    fn call(&mut self, address: usize, args: &[Value]) -> Value {
        let inst = self.call_with(address, args, Some(types::F64));
        self.b.inst_results(inst)[0]
    }

    /// Emits a call of a function that returns an integer.
    fn call_int(&mut self, address: usize, args: &[Value]) -> Value {
        let inst = self.call_with(address, args, Some(types::I64));
        self.b.inst_results(inst)[0]
    }

    /// Emits a call of a function that writes its value, a complex number, to its last argument.
    fn call_complex(&mut self, address: usize, args: &[Value]) -> [Value; 2] {
        let b = &mut self.b;
        let slot = *self.result.get_or_insert_with(|| {
            b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 16, 4))
        });
        let place = self.b.ins().stack_addr(types::I64, slot, 0);
        self.call_with(address, &[args, &[place]].concat(), None);
        self.read(Bank::Complex, place, 0)
    }

    fn call_with(&mut self, address: usize, args: &[Value], returns: Option<ir::Type>) -> ir::Inst {
        let kinds: Vec<ir::Type> = args.iter().map(|&x| self.b.func.dfg.value_type(x)).collect();
        let (call, b) = (self.call, &mut self.b);
        let signature =
            *self.signatures.entry((kinds, returns)).or_insert_with_key(|(kinds, returns)| {
                let mut signature = Signature::new(call);
                signature.params.extend(kinds.iter().copied().map(AbiParam::new));
                signature.returns.extend(returns.map(AbiParam::new));
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

    /// Emits an operation on integers; takes a side exit if it has no value.
    fn checked(&mut self, pc: usize, op: Int2, x: Value, y: Value) -> Value {
        match op {
            Int2::Add | Int2::Sub => {
                let adds = op == Int2::Add;
                let value = if adds { self.b.ins().iadd(x, y) } else { self.b.ins().isub(x, y) };
                // The sign is wrong: of a sum if it differs from both, of a difference if both
                // others differ from it.
                let changed = self.b.ins().bxor(x, value);
                let other =
                    if adds { self.b.ins().bxor(y, value) } else { self.b.ins().bxor(x, y) };
                let both = self.b.ins().band(changed, other);
                let overflows = self.b.ins().icmp_imm(IntCC::SignedLessThan, both, 0);
                self.side_exit_if(overflows, pc);
                value
            }
            Int2::Mul => {
                let (value, high) = (self.b.ins().imul(x, y), self.b.ins().smulhi(x, y));
                let sign = self.b.ins().sshr_imm(value, 63);
                let overflows = self.b.ins().icmp(IntCC::NotEqual, high, sign);
                self.side_exit_if(overflows, pc);
                value
            }
            Int2::Div | Int2::Rem => {
                // 0 and -1 are rare and left to the machine.
                let next = self.b.ins().iadd_imm(y, 1);
                let special = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, next, 2);
                self.side_exit_if(special, pc);
                if op == Int2::Div { self.b.ins().sdiv(x, y) } else { self.b.ins().srem(x, y) }
            }
            Int2::Min => self.b.ins().smin(x, y),
            Int2::Max => self.b.ins().smax(x, y),
            Int2::FoldIn => self.call_int(ops::fold_in as *const () as usize, &[x, y]),
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

    /// Emits an update of an induction variable and a branch on its comparison with a limit.
    fn step(&mut self, pc: usize, op: Int2, [i, k, limit]: [Reg; 3], how: IntCC, yes: Pc, no: Pc) {
        let (x, y, limit) = (self.n(i), self.n(k), self.n(limit));
        let value = self.checked(pc, op, x, y);
        let holds = self.b.ins().icmp(how, value, limit);
        self.branch(pc, holds, yes, no, |s, _| s.set_n(i, value));
    }
}

/// Returns the comparison of integers.
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
