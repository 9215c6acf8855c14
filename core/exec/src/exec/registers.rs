//! Reads and writes of each instruction: one list for every pass over bytecode.

use super::code::{Bank, Code, Reg, RegisterSlot};

/// Access of an instruction to a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Read,
    /// Read through the entry of this number in the list of slots.
    ReadSlot(usize),
    Write,
}

/// Shows every register of an instruction to `f`, those read before those written. `f` may rename
/// them.
pub(super) fn visit(
    code: &mut Code,
    slots: &mut [RegisterSlot],
    mut f: impl FnMut(Bank, &mut Reg, Access),
) {
    use Access::{Read, Write};
    use Bank::{Complex, Int, Real};
    // `on!(Real, d <- a, b)`: an instruction on one bank; `on!(Int d <- Real a)`: on several.
    macro_rules! on {
        ($to:ident $d:ident <- $($from:ident $a:ident),*) => {{
            $(f($from, $a, Read);)*
            f($to, $d, Write);
        }};
        ($bank:expr, $d:ident <- $($a:ident),*) => {{
            $(f($bank, $a, Read);)*
            f($bank, $d, Write);
        }};
    }
    macro_rules! read {
        ($range:expr) => {
            for k in $range {
                let slot = &mut slots[k as usize];
                f(slot.bank, &mut slot.reg, Access::ReadSlot(k as usize));
            }
        };
    }
    macro_rules! write {
        ($range:expr) => {
            for slot in &mut slots[$range] {
                f(slot.bank, &mut slot.reg, Write);
            }
        };
    }
    match code {
        Code::Real(d, _) | Code::RealInt(d, _) => f(Real, d, Write),
        Code::Int(d, _) => f(Int, d, Write),
        Code::AddR(d, a, b)
        | Code::SubR(d, a, b)
        | Code::MulR(d, a, b)
        | Code::DivR(d, a, b)
        | Code::Number2R(_, d, a, b)
        | Code::Real2(_, d, a, b) => on!(Real, d <- a, b),
        Code::NegR(d, a) | Code::Number1R(_, d, a) | Code::Real1(_, d, a) | Code::MoveR(d, a) => {
            on!(Real, d <- a);
        }
        Code::AddAdd(d, a, b, c)
        | Code::AddSub(d, a, b, c)
        | Code::AddMul(d, a, b, c)
        | Code::SubAdd(d, a, b, c)
        | Code::SubSub(d, a, b, c)
        | Code::SubMul(d, a, b, c)
        | Code::MulAdd(d, a, b, c)
        | Code::MulSub(d, a, b, c)
        | Code::MulMul(d, a, b, c)
        | Code::AddAddBack(d, a, b, c)
        | Code::AddSubBack(d, a, b, c)
        | Code::AddMulBack(d, a, b, c)
        | Code::SubAddBack(d, a, b, c)
        | Code::SubSubBack(d, a, b, c)
        | Code::SubMulBack(d, a, b, c)
        | Code::MulAddBack(d, a, b, c)
        | Code::MulSubBack(d, a, b, c)
        | Code::MulMulBack(d, a, b, c) => on!(Real, d <- a, b, c),
        Code::AddC(d, a, b)
        | Code::SubC(d, a, b)
        | Code::MulC(d, a, b)
        | Code::Number2C(_, d, a, b) => {
            on!(Complex, d <- a, b);
        }
        Code::Number1C(_, d, a) | Code::Conj(d, a) | Code::MoveC(d, a) => on!(Complex, d <- a),
        Code::AddI(d, a, b)
        | Code::Int2(_, d, a, b)
        | Code::CompareI(_, d, a, b)
        | Code::And(d, a, b)
        | Code::Or(d, a, b) => on!(Int, d <- a, b),
        Code::Int1(_, d, a) | Code::Not(d, a) | Code::MoveI(d, a) => on!(Int, d <- a),
        Code::CompareR(_, d, a, b) => on!(Int d <- Real a, Real b),
        Code::Promote(d, a) => on!(Complex d <- Real a),
        Code::Complex(d, a, b) => on!(Complex d <- Real a, Real b),
        Code::Re(d, a)
        | Code::Im(d, a)
        | Code::Abs2(d, a)
        | Code::Modulus(d, a)
        | Code::Arg(d, a) => on!(Real d <- Complex a),
        Code::FromInt(d, a) => on!(Real d <- Int a),
        Code::Cmp(d, a, b) => on!(Real d <- Int a, Int b),
        Code::PowiR(d, a, n) | Code::Polygamma(d, a, n) => on!(Real d <- Real a, Int n),
        Code::PowiC(d, a, n) => on!(Complex d <- Complex a, Int n),
        Code::MoveA(d, a) => {
            read!(*a..*a + 1);
            f(slots[*a as usize].bank, d, Write);
        }
        Code::Select(bank, d, c, a) => {
            f(Int, c, Read);
            read!(*a..*a + 2);
            f(*bank, d, Write);
        }
        Code::Array(bank, d, items) => {
            read!(items.range());
            f(*bank, d, Write);
        }
        Code::Fill(bank, d, x, n) => {
            f(bank.element(), x, Read);
            f(Int, n, Read);
            f(*bank, d, Write);
        }
        Code::Len(d, a) => {
            read!(*a..*a + 1);
            f(Int, d, Write);
        }
        Code::Get(d, a, i) | Code::Peek(d, a, i) => {
            read!(*a..*a + 1);
            f(Int, i, Read);
            f(slots[*a as usize].bank.element(), d, Write);
        }
        Code::Set(_, d, a, i, x) => {
            let bank = slots[*a as usize].bank;
            read!(*a..*a + 1);
            f(Int, i, Read);
            f(bank.element(), x, Read);
            f(bank, d, Write);
        }
        Code::Accumulate(d, a) => {
            read!(*a..*a + 2);
            f(slots[*a as usize].bank, d, Write);
        }
        Code::AccumulatePart(d, args) => {
            let bank = slots[args.range().start].bank;
            read!(args.range());
            f(bank, d, Write);
        }
        Code::PushR(_, a) => f(Real, a, Read),
        Code::PushC(_, a) => f(Complex, a, Read),
        Code::PushI(_, a) => f(Int, a, Read),
        Code::PushA(_, a) => read!(*a..*a + 1),
        Code::PopR(_, d) => f(Real, d, Write),
        Code::PopC(_, d) => f(Complex, d, Write),
        Code::PopI(_, d) => f(Int, d, Write),
        Code::PopA(_, d) => write!(*d as usize..*d as usize + 1),
        Code::Call(_, args, results) => {
            read!(args.range());
            write!(results.range());
        }
        Code::Primitive(_, args, results)
        | Code::OnArrays(_, args, results)
        | Code::Elements(_, args, results)
        | Code::Small(_, args, results) => {
            read!(args.range());
            write!(results.range());
        }
        Code::Return(values) => read!(values.range()),
        Code::Branch(c, ..) | Code::Switch(c, ..) => f(Int, c, Read),
        Code::Expect(_, a, b)
        | Code::LtR(_, a, b, ..)
        | Code::LeR(_, a, b, ..)
        | Code::EqR(_, a, b, ..) => {
            f(Real, a, Read);
            f(Real, b, Read);
        }
        Code::LtI(a, b, ..) | Code::EqI(a, b, ..) => {
            f(Int, a, Read);
            f(Int, b, Read);
        }
        // Written last: passes that rename registers run before these are made.
        Code::StepLt(i, k, n, ..)
        | Code::StepGt(i, k, n, ..)
        | Code::StepEq(i, k, n, ..)
        | Code::BackEq(i, k, n, ..)
        | Code::EqBack(i, k, n, ..) => {
            f(Int, i, Read);
            f(Int, k, Read);
            f(Int, n, Read);
            f(Int, i, Write);
        }
        Code::TestR(_, d, a, b, ..) | Code::TestPush(_, _, d, a, b, ..) => {
            f(Int, d, Write);
            f(Real, a, Read);
            f(Real, b, Read);
        }
        Code::Jump(_)
        | Code::PopSwitch(..)
        | Code::PopBranch(..)
        | Code::Mark(_)
        | Code::UpdateChecksums(..) => {}
        #[cfg(feature = "jit")]
        Code::Native(..) => {}
    }
}
