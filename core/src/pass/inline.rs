//! Puts small functions in place of their calls.
//!
//! ```text
//! block0(v0: real):                       block0(v0: real):
//!     v1: real = call @square(v0)    ->       jump block1(v0)
//!     return v1                           block1(v1: real):        // the callee's entry
//!                                             v2: real = mul v1, v1
//!                                             jump block2(v2)
//!                                         block2(v3: real):        // what follows the call
//!                                             return v3
//! ```
//!
//! [`merge`](super::merge()) joins the pieces again. Functions that call themselves, directly or not, stay
//! calls, and so do functions with a rule of their own: their derivative is not that of their body.
//!
//! Cost: O(size of caller + callee) for each call.

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{Block, FuncId, Value},
    ir::{BlockData, Function, InstData, Op, Program, Target, Terminator, compact},
};

/// How large a function may grow by inlining, in instructions.
const MAX_GROWTH: usize = 20_000;

/// How large by inlining what is called once.
const ONCE_GROWTH: usize = 5_000;

/// Inlines the calls in a function whose callees have at most `size` instructions. Whether there were any.
pub fn inline(program: &mut Program, id: FuncId, size: usize) -> bool {
    let mut f = program.functions[id].clone();
    let mut any = false;
    while f.size() < MAX_GROWTH {
        let found = f.blocks.iter().find_map(|(b, block)| {
            let place = block.insts.iter().position(|&i| match f.insts[i].op {
                Op::Call(g) => is_small(program, id, g, size),
                _ => false,
            })?;
            Some((b, place))
        });
        let Some((block, place)) = found else { break };
        let inst = f.insts[f.blocks[block].insts[place]].clone();
        let Op::Call(g) = inst.op else { break };
        splice(&mut f, block, place, &inst, &program.functions[g]);
        any = true;
    }
    if any {
        program.functions[id] = compact(&f);
    }
    any
}

/// Inlines the calls in a function of what is called there once. Whether there were any.
pub(super) fn inline_once(program: &mut Program, id: FuncId) -> bool {
    let mut any = false;
    loop {
        let f = &program.functions[id];
        let calls = f.blocks.iter().flat_map(|(b, block)| (0..block.insts.len()).map(move |k| (b, k)));
        let called = |(b, k): (Block, usize)| match f.insts[f.blocks[b].insts[k]].op {
            Op::Call(g) => Some((g, b, k)),
            _ => None,
        };
        let calls: Vec<(FuncId, Block, usize)> = calls.filter_map(called).collect();
        let mut count: HashMap<FuncId, usize> = HashMap::new();
        calls.iter().for_each(|c| *count.entry(c.0).or_default() += 1);
        let most = ONCE_GROWTH.saturating_sub(f.size());
        let found = calls.iter().find(|(g, ..)| count[g] == 1 && is_small(program, id, *g, most));
        let Some(&(g, block, place)) = found else { return any };
        let mut f = f.clone();
        let inst = f.insts[f.blocks[block].insts[place]].clone();
        splice(&mut f, block, place, &inst, &program.functions[g]);
        program.functions[id] = compact(&f);
        any = true;
    }
}

fn is_small(program: &Program, caller: FuncId, g: FuncId, size: usize) -> bool {
    let callee = &program.functions[g];
    g != caller
        && callee.is_defined()
        && callee.size() <= size
        && program.rule(g).is_none()
        && !calls_itself(program, g)
}

fn calls_itself(program: &Program, g: FuncId) -> bool {
    let mut work = program.functions[g].callees();
    let mut seen: HashSet<FuncId> = work.iter().copied().collect();
    while let Some(f) = work.pop() {
        if f == g {
            return true;
        }
        work.extend(program.functions[f].callees().into_iter().filter(|h| seen.insert(*h)));
    }
    false
}

/// Replaces the call at the given place by the callee's blocks.
fn splice(f: &mut Function, block: Block, place: usize, call: &InstData, callee: &Function) {
    let first = f.blocks.len();
    let rest = first + callee.blocks.len();
    // What follows the call.
    let caller = &mut f.blocks[block];
    let mut insts = caller.insts.split_off(place);
    insts.remove(0);
    let after = BlockData {
        params: call.result.into_iter().collect(),
        insts,
        end: std::mem::take(&mut caller.end),
        end_at: caller.end_at,
    };
    caller.end = Terminator::Jump(Target::new(Block::new(first), call.args.to_vec()));
    caller.end_at = call.at;
    // The callee's values get new names.
    let base = f.kinds.len();
    for kind in callee.kinds.values() {
        f.new_value(kind.clone());
    }
    let value = |v: Value| Value::new(v.index() + base);
    for data in callee.blocks.values() {
        let mut copy = BlockData { params: data.params.iter().map(|&v| value(v)).collect(), ..data.clone() };
        copy.insts = Vec::with_capacity(data.insts.len());
        for &i in &data.insts {
            let inst = &callee.insts[i];
            let (args, result) = (inst.args.iter().map(|&v| value(v)).collect(), inst.result.map(value));
            copy.insts.push(f.insts.push(InstData { op: inst.op, args, result, at: inst.at.or(call.at) }));
        }
        copy.end_at = copy.end_at.or(call.at);
        copy.end.map_values(value);
        for target in copy.end.targets_mut() {
            target.block = Block::new(target.block.index() + first);
        }
        if let Terminator::Return(v) = copy.end {
            copy.end = Terminator::Jump(Target::new(Block::new(rest), vec![v]));
        }
        f.blocks.push(copy);
    }
    f.blocks.push(after);
}
