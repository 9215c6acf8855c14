//! Two operations on real numbers in one instruction: `(a x b) y c` and `c y (a x b)`.
//!
//! The first is a sum, difference or product whose only reader is the second, in the same block. It is done
//! where the second stands; none of these can fail, so nobody sees that it is later.

use crate::{
    entity::{Inst, Value},
    ir::{Function, Kind, Number2, Op},
};

use super::super::code::{Code, Reg};

/// Which instructions are done together.
pub(super) struct Pairs {
    /// For each instruction the one that it absorbs, and whether that is its second operand.
    inner: Vec<Option<(Inst, bool)>>,
    absorbed: Vec<bool>,
}

impl Pairs {
    /// None at all.
    pub(super) fn none(f: &Function) -> Pairs {
        Pairs { inner: vec![None; f.insts.len()], absorbed: vec![false; f.insts.len()] }
    }

    /// O(size).
    pub(super) fn of(f: &Function, uses: &[u32]) -> Pairs {
        let mut pairs = Pairs::none(f);
        // Definitions of the block at hand: earlier ones carry another block's number.
        let mut defined: Vec<Option<(usize, Inst)>> = vec![None; f.kinds.len()];
        for (b, block) in f.blocks.iter() {
            for &i in &block.insts {
                let inst = &f.insts[i];
                let Some(result) = inst.result.filter(|&v| f.kinds[v] == Kind::Real && fits(inst.op)) else {
                    continue;
                };
                let inner = |k: usize| {
                    let v: Value = *inst.args.get(k)?;
                    let (home, inner) = defined[v.index()]?;
                    let alone = home == b.index() && uses[v.index()] == 1;
                    (alone && pairs.inner[inner.index()].is_none()).then_some((inner, k == 1))
                };
                if let Some((first, back)) = inner(0).or_else(|| inner(1)) {
                    pairs.inner[i.index()] = Some((first, back));
                    pairs.absorbed[first.index()] = true;
                }
                defined[result.index()] = Some((b.index(), i));
            }
        }
        pairs
    }

    pub(super) fn is_absorbed(&self, i: Inst) -> bool {
        self.absorbed[i.index()]
    }

    /// What an instruction absorbs, and whether that is its second operand.
    pub(super) fn inner(&self, i: Inst) -> Option<(Inst, bool)> {
        self.inner[i.index()]
    }
}

fn fits(op: Op) -> bool {
    matches!(op, Op::Number2(Number2::Add | Number2::Sub | Number2::Mul))
}

/// `d = (a first b) second c`, or `d = c second (a first b)` if `back`.
pub(super) fn pair(first: Op, second: Op, back: bool, [d, a, b, c]: [Reg; 4]) -> Option<Code> {
    use Number2::{Add, Mul, Sub};
    let (Op::Number2(first), Op::Number2(second)) = (first, second) else { return None };
    Some(match (first, second, back) {
        (Add, Add, false) => Code::AddAdd(d, a, b, c),
        (Add, Sub, false) => Code::AddSub(d, a, b, c),
        (Add, Mul, false) => Code::AddMul(d, a, b, c),
        (Sub, Add, false) => Code::SubAdd(d, a, b, c),
        (Sub, Sub, false) => Code::SubSub(d, a, b, c),
        (Sub, Mul, false) => Code::SubMul(d, a, b, c),
        (Mul, Add, false) => Code::MulAdd(d, a, b, c),
        (Mul, Sub, false) => Code::MulSub(d, a, b, c),
        (Mul, Mul, false) => Code::MulMul(d, a, b, c),
        (Add, Add, true) => Code::AddAddBack(d, a, b, c),
        (Add, Sub, true) => Code::AddSubBack(d, a, b, c),
        (Add, Mul, true) => Code::AddMulBack(d, a, b, c),
        (Sub, Add, true) => Code::SubAddBack(d, a, b, c),
        (Sub, Sub, true) => Code::SubSubBack(d, a, b, c),
        (Sub, Mul, true) => Code::SubMulBack(d, a, b, c),
        (Mul, Add, true) => Code::MulAddBack(d, a, b, c),
        (Mul, Sub, true) => Code::MulSubBack(d, a, b, c),
        (Mul, Mul, true) => Code::MulMulBack(d, a, b, c),
        _ => return None,
    })
}
