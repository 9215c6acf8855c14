//! Splitting of a pushforward into two parts: a primal part that runs once, and a part that is
//! linear in the tangents, which runs for each of them.
//!
//! ```text
//! fn f.pushforward(x, x_dot)      fn f.recorded(x)       fn f.linear(x_dot)
//!     v2 = sin x                      v2 = sin x             v3 = pop
//!     v3 = cos x                      v3 = cos x             v4 = mul v3, x_dot
//!     v4 = mul v3, x_dot              push v3
//!     return (v2, v4)                 return v2              return v4
//! ```
//!
//! Both parts are the pushforward itself, one without the instructions that depend on tangents, one
//! with those alone. They take the same path: the values that branches read are recorded too. A
//! value is recorded where it is defined, at the end of its block, and popped at the start of that
//! block. So the value recorded first is popped first: the caller reverses the tapes before the
//! second part.
//!
//! Cost: O(size x depth of loops).

use std::collections::HashSet;

use crate::{
    entity::{FuncId, Inst, Value},
    ir::{
        BlockData, ENTRY, Function, Kind, Op, Position, Program, Terminator, compact, retain_params,
    },
};

use super::activity::{dependent, tapes};

/// Parts of a pushforward.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Linear {
    /// `x… -> value`.
    pub primal: FuncId,
    /// `x_dot… -> tangent`.
    pub tangent: FuncId,
}

/// Adds the parts of a pushforward whose first `n` parameters are not tangents. `None` if it cannot
/// be split: it uses tapes, calls functions on tangents, or is not a pushforward.
#[doc(hidden)]
pub fn linear(program: &mut Program, id: FuncId, n: usize) -> Option<Linear> {
    let f = &program.functions[id];
    let used = program.reachable(id).into_iter().flat_map(|g| tapes(&program.functions[g]));
    let tape = used.max().map_or(0, |t| t + 1);
    if !f.is_defined() || !tapes(f).is_empty() {
        return None;
    }
    // True for the values that depend on a tangent.
    let along = dependent(f, f.param_values()[n..].iter().copied(), |_, any| any, |_| true);
    let results = results(f)?;
    let pairs: HashSet<Value> = results.iter().map(|r| r.pair).collect();
    let mut needed: HashSet<Value> = HashSet::new();
    for block in f.blocks.values() {
        for inst in block.insts.iter().map(|&i| &f.insts[i]) {
            let of_tangents = inst.args.iter().any(|v| along[v.index()]);
            if inst.result.is_some_and(|v| pairs.contains(&v)) || !of_tangents {
                continue;
            }
            if matches!(inst.op, Op::Call(_)) {
                return None;
            }
            needed.extend(inst.args.iter().filter(|v| !along[v.index()]));
        }
        for target in block.end.targets() {
            let handed = target.args.iter().zip(&f.blocks[target.block].params);
            let to = handed.filter(|(v, p)| along[p.index()] && !along[v.index()]);
            needed.extend(to.map(|(v, _)| *v));
        }
        if !matches!(block.end, Terminator::Return(_)) {
            needed.extend(block.end.operand());
        }
    }
    needed.extend(results.iter().map(|r| r.dot).filter(|v| !along[v.index()]));
    if needed.iter().any(|v| along[v.index()]) || results.iter().any(|r| along[r.value.index()]) {
        return None;
    }
    if needed.iter().any(|v| f.kinds[*v].n_leaves() != 1 || matches!(f.kinds[*v], Kind::Tuple(_))) {
        return None;
    }
    let whole = f.clone();
    let parts =
        LinearSplitter { f: &whole, along: &along, needed: &needed, results: &results, tape };
    let (primal, tangent) = (parts.primal(n), parts.tangent(n));
    let mut add = |part: &str, f: &Function| {
        let name = program.fresh_name(&format!("{}.{part}", whole.name));
        program.add(compact(&Function { name, ..f.clone() }))
    };
    Some(Linear { primal: add("recorded", &primal), tangent: add("linear", &tangent) })
}

/// Value and its tangent, which are returned together.
struct PrimalTangentPair {
    pair: Value,
    value: Value,
    dot: Value,
}

/// Returns the pairs that are returned, if they have no other uses.
fn results(f: &Function) -> Option<Vec<PrimalTangentPair>> {
    let definitions = f.definitions();
    let mut all = Vec::new();
    for block in f.blocks.values() {
        let Terminator::Return(pair) = block.end else { continue };
        let inst = &f.insts[definitions[pair.index()]?];
        let (Op::Tuple, &[value, dot]) = (inst.op, inst.args.as_slice()) else { return None };
        all.push(PrimalTangentPair { pair, value, dot });
    }
    let is_pair = |v: &Value| all.iter().any(|r| r.pair == *v);
    let others = f.blocks.values().any(|block| {
        let read = block.insts.iter().any(|&i| f.insts[i].args.iter().any(is_pair));
        read || block.end.targets().into_iter().any(|t| t.args.iter().any(is_pair))
    });
    (!all.is_empty() && !others).then_some(all)
}

struct LinearSplitter<'a> {
    f: &'a Function,
    along: &'a [bool],
    needed: &'a HashSet<Value>,
    results: &'a [PrimalTangentPair],
    tape: u32,
}

impl LinearSplitter<'_> {
    /// Returns the values that are defined in a block and recorded there, in order. Constants are
    /// not recorded but recomputed.
    fn recorded(&self, params: &[Value], insts: &[Inst]) -> Vec<Value> {
        let made = insts.iter().map(|&i| &self.f.insts[i]).filter(|i| !i.op.is_constant());
        let all = params.iter().copied().chain(made.filter_map(|i| i.result));
        all.filter(|v| self.needed.contains(v)).collect()
    }

    fn is_pair(&self, v: Value) -> bool {
        self.results.iter().any(|r| r.pair == v)
    }

    fn primal(&self, n: usize) -> Function {
        let mut f = self.f.clone();
        for (b, block) in self.f.blocks.iter() {
            let gone = |v: Value| self.along[v.index()] || self.is_pair(v);
            f.blocks[b].insts.retain(|&i| self.f.insts[i].result.is_none_or(|v| !gone(v)));
            for v in self.recorded(&block.params, &block.insts) {
                let op = Op::Push { tape: self.tape, slot: v.index() as u32 };
                let (push, _) = f.new_inst(op, &[v], None, Position::default());
                f.blocks[b].insts.push(push);
            }
        }
        f.params.truncate(n);
        self.finish(f, |k| k < n, false, |r| r.value)
    }

    fn tangent(&self, n: usize) -> Function {
        let mut f = self.f.clone();
        for (b, block) in self.f.blocks.iter() {
            f.blocks[b].insts.retain(|&i| {
                let inst = &self.f.insts[i];
                let anew = |v: Value| inst.op.is_constant() && self.needed.contains(&v);
                inst.result.is_some_and(|v| !self.is_pair(v) && (self.along[v.index()] || anew(v)))
            });
            let mut pops = Vec::new();
            for v in self.recorded(&block.params, &block.insts) {
                let op = Op::Pop { tape: self.tape, slot: v.index() as u32 };
                let (pop, _) = f.new_inst(op, &[], None, Position::default());
                f.insts[pop].result = Some(v);
                pops.push(pop);
            }
            f.blocks[b].insts.splice(0..0, pops);
        }
        f.params.drain(..n);
        self.finish(f, |k| k >= n, true, |r| r.dot)
    }

    /// Keeps the block parameters that depend on tangents, or the others, and those parameters of
    /// the entry that are asked for; and returns one component of each pair.
    fn finish(
        &self,
        mut f: Function,
        entry: impl Fn(usize) -> bool,
        along: bool,
        result: impl Fn(&PrimalTangentPair) -> Value,
    ) -> Function {
        let stays =
            |b, k, v: Value| if b == ENTRY { entry(k) } else { self.along[v.index()] == along };
        let of = |(b, block): (_, &BlockData)| {
            block.params.iter().enumerate().map(|(k, v)| stays(b, k, *v)).collect()
        };
        let keep: Vec<Vec<bool>> = self.f.blocks.iter().map(of).collect();
        retain_params(&mut f, &keep);
        for block in f.blocks.values_mut() {
            if let Terminator::Return(v) = &mut block.end
                && let Some(pair) = self.results.iter().find(|r| r.pair == *v)
            {
                *v = result(pair);
                f.result = self.f.kinds[*v].clone();
            }
        }
        f
    }
}
