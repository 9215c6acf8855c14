//! Two operations in one instruction: `(a x b) y c` and `c y (a x b)` on real numbers,
//! `c + embed(a, b, …)`, and `place(a, [i, j])`.
//!
//! The first is a sum, difference or product of reals whose only reader is the second, in the same
//! block; or a part among zeros that is added to an array, of which then only the part is read. It
//! runs at the second; none of these can fail where an adjoint has it, so the later execution is
//! not observable. Lists of indices that are only used to index are never arrays.

use std::collections::HashMap;

use crate::{
    entity::{Inst, Value},
    ir::{ArrayOp, Function, InstData, Kind, Number2, Op},
};

use super::{
    super::code::{Code, Reg},
    small_regions::SmallRegions,
};

/// Superinstructions of a function: pairs of instructions that run as one.
pub(super) struct Superinstructions {
    /// Instruction that each instruction absorbs, and true if that is its second operand.
    inner: Vec<Option<(Inst, bool)>>,
    absorbed: Vec<bool>,
}

impl Superinstructions {
    /// Creates an empty set.
    pub(super) fn none(f: &Function) -> Superinstructions {
        Superinstructions { inner: vec![None; f.insts.len()], absorbed: vec![false; f.insts.len()] }
    }

    /// Selects the superinstructions of a function. O(size).
    pub(super) fn select(f: &Function, uses: &[u32], others: &SmallRegions) -> Superinstructions {
        let mut pairs = Superinstructions::none(f);
        // Definitions of the current block: earlier ones carry another block's number.
        let mut defined: Vec<Option<(usize, Inst)>> = vec![None; f.kinds.len()];
        for (b, block) in f.blocks.iter() {
            for &i in block.insts.iter().filter(|i| !others.contains(**i)) {
                let inst = &f.insts[i];
                let Some(result) = inst.result else { continue };
                let inner = |k: usize| {
                    let v: Value = *inst.args.get(k)?;
                    let (home, inner) = defined[v.index()]?;
                    let alone = home == b.index() && uses[v.index()] == 1;
                    (alone && pairs.inner[inner.index()].is_none()).then_some((inner, k == 1))
                };
                let number = is_sum_or_product(inst.op) && f.kinds[result] == Kind::Real;
                // Real numbers are given by one kind of inner operation, arrays by the other.
                let takes = number || inst.op == Op::Accumulate;
                if let Some((first, back)) = takes.then(|| inner(0).or_else(|| inner(1))).flatten()
                {
                    pairs.inner[i.index()] = Some((first, back));
                    pairs.absorbed[first.index()] = true;
                }
                if number || is_embedded(f, inst) {
                    defined[result.index()] = Some((b.index(), i));
                }
            }
        }
        pairs.absorb_index_lists(f, uses);
        pairs
    }

    /// Absorbs the lists of indices that are only used to index.
    fn absorb_index_lists(&mut self, f: &Function, uses: &[u32]) {
        let mut asked = vec![0; f.kinds.len()];
        let listed = || f.blocks.values().flat_map(|b| &b.insts).map(|&i| (i, &f.insts[i]));
        let places =
            || listed().filter(|(_, inst)| inst.op == Op::OnArrays(ArrayOp::RavelMultiIndex));
        places().for_each(|(_, inst)| asked[inst.args[1].index()] += 1);
        let lists = listed().filter(|(_, inst)| inst.op == Op::Array);
        let lists = lists.filter_map(|(i, inst)| Some((inst.result?, i)));
        let lists: HashMap<Value, Inst> =
            lists.filter(|(v, _)| asked[v.index()] == uses[v.index()]).collect();
        for (i, inst) in places() {
            if let Some(&list) = lists.get(&inst.args[1]) {
                self.inner[i.index()] = Some((list, true));
                self.absorbed[list.index()] = true;
            }
        }
    }

    pub(super) fn is_absorbed(&self, i: Inst) -> bool {
        self.absorbed[i.index()]
    }

    /// Returns the instruction that an instruction absorbs, and true if that is its second operand.
    pub(super) fn inner(&self, i: Inst) -> Option<(Inst, bool)> {
        self.inner[i.index()]
    }
}

fn is_sum_or_product(op: Op) -> bool {
    matches!(op, Op::Number2(Number2::Add | Number2::Sub | Number2::Mul))
}

/// Returns true if an instruction gives a part among zeros, of one kind of elements.
fn is_embedded(f: &Function, inst: &InstData) -> bool {
    let kinds = inst.result.iter().chain(inst.args.iter().take(2)).map(|v| &f.kinds[*v]);
    inst.op == Op::OnArrays(ArrayOp::Pad) && kinds.clone().zip(kinds.skip(1)).all(|(a, b)| a == b)
}

/// Returns the superinstruction `d = (a first b) second c`, or `d = c second (a first b)` if
/// `back`.
pub(super) fn superinstruction(
    first: Op,
    second: Op,
    back: bool,
    [d, a, b, c]: [Reg; 4],
) -> Option<Code> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::{exec::Bytecode, ir};

    /// A part is added at its place without a look at the rest, on either side of the sum; one that
    /// is read by another instruction, too, is made.
    #[test]
    fn a_part_among_zeros_is_added_at_its_place() {
        for (sum, rest, absorbed) in [
            ("accumulate v0, v5", "v6", true),
            ("accumulate v5, v0", "v6", true),
            ("accumulate v0, v5", "v5", false),
        ] {
            let program = ir::parse(&format!(
                "fn f(sum, part, whole) -> (array<real>, array<real>) {{
                block0(v0: array<real>, v1: array<real>, v2: array<real>):
                    v3: int = int 0
                    v4: int = int 1
                    v5: array<real> = pad v1, v2, v3, v4
                    v6: array<real> = {sum}
                    v7: (array<real>, array<real>) = tuple v6, {rest}
                    return v7
                }}"
            ));
            let program = program.unwrap();
            let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
            let all = || code.routines.iter().flat_map(|r| &r.code);
            assert_eq!(
                all().any(|c| matches!(c, Code::AccumulatePart(..))),
                absorbed,
                "{sum}, {rest}"
            );
            assert_eq!(
                all().any(|c| matches!(c, Code::Accumulate(..))),
                !absorbed,
                "{sum}, {rest}"
            );
        }
    }
}
