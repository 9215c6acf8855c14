//! Inlining: replaces calls by the bodies of small functions.
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
//! [`merge`](super::merge()) merges the pieces. Recursive functions are not inlined, and neither
//! are functions with a rule of their own: their derivative is not that of their body.
//!
//! Cost: O(final size of the function, and of the call graph once).

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use crate::{
    entity::{Block, FuncId, Inst, Value},
    ir::{BlockData, Function, InstData, Op, Program, Target, Terminator, compact},
};

/// Limits of inlining, in instructions. Calls beyond them stay calls: under any limits the results
/// of a program are the same, to the bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InlineLimits {
    /// Size of the largest function that is inlined. 0: none is.
    pub callee: usize,
    /// Size of a function from which on nothing more is inlined into it.
    pub function: usize,
    /// Number of instructions by which all functions together may grow.
    pub program: usize,
    /// Size up to which a function grows by callees that it calls once, see [`inline_once`].
    pub once: usize,
}

impl Default for InlineLimits {
    /// See [`InlineLimits::new`].
    fn default() -> InlineLimits {
        InlineLimits::new()
    }
}

impl InlineLimits {
    /// Creates limits of 200 instructions for callees, 20,000 for functions they are inlined into,
    /// 200,000 in all, and 5,000 for functions after callees that they call once.
    #[must_use]
    pub const fn new() -> InlineLimits {
        InlineLimits { callee: 200, function: 20_000, program: 200_000, once: 5_000 }
    }

    /// Sets the size of the largest [`callee`](InlineLimits::callee).
    #[must_use]
    pub const fn with_callee(self, callee: usize) -> InlineLimits {
        InlineLimits { callee, ..self }
    }

    /// Sets the size of the largest [`function`](InlineLimits::function).
    #[must_use]
    pub const fn with_function(self, function: usize) -> InlineLimits {
        InlineLimits { function, ..self }
    }

    /// Sets the maximum growth of the [`program`](InlineLimits::program).
    #[must_use]
    pub const fn with_program(self, program: usize) -> InlineLimits {
        InlineLimits { program, ..self }
    }

    /// Sets the size up to which a function grows by callees that it calls [`once`].
    ///
    /// [`once`]: InlineLimits::once
    #[must_use]
    pub const fn with_once(self, once: usize) -> InlineLimits {
        InlineLimits { once, ..self }
    }
}

/// Inlines the calls in a function whose callees have at most `size` instructions. Returns true if
/// there were any.
pub fn inline(program: &mut Program, id: FuncId, size: usize) -> bool {
    inline_but(program, id, &InlineLimits::new().with_callee(size), &mut Recursive::below(id))
}

/// Inlines like [`inline`], with the known set of recursive functions.
pub(super) fn inline_but(
    program: &mut Program,
    id: FuncId,
    limits: &InlineLimits,
    recursive: &mut Recursive,
) -> bool {
    let mut known: HashMap<FuncId, bool> = HashMap::new();
    let mut small =
        |g| *known.entry(g).or_insert_with(|| is_small(program, id, g, limits.callee, recursive));
    let mut grown = program.functions[id].size();
    if grown >= limits.function || !program.functions[id].callees().into_iter().any(&mut small) {
        return false;
    }
    let mut f = program.functions[id].clone();
    // A call ends its block; the instructions after it go to a block at the end. That block takes
    // its instructions from the list of the first one when it is processed, so that many calls in
    // one block do not move the instructions after them repeatedly.
    let mut tails: HashMap<Block, (Rc<[Inst]>, usize)> = HashMap::new();
    let mut next = 0;
    while next < f.blocks.len() && grown < limits.function {
        let b = Block::new(next);
        next += 1;
        let (list, from) = match tails.remove(&b) {
            Some(tail) => tail,
            None => (std::mem::take(&mut f.blocks[b].insts).into(), 0),
        };
        let found = list[from..].iter().enumerate().find_map(|(k, &i)| match f.insts[i].op {
            Op::Call(g) if small(g) => Some((from + k, g)),
            _ => None,
        });
        f.blocks[b].insts = list[from..found.map_or(list.len(), |(place, _)| place)].to_vec();
        if let Some((place, g)) = found {
            let (call, callee) = (f.insts[list[place]].clone(), &program.functions[g]);
            let after = splice(&mut f, b, &call, callee);
            tails.insert(after, (list, place + 1));
            grown = grown + callee.size() - 1;
        }
    }
    for (b, (list, from)) in tails {
        f.blocks[b].insts = list[from..].to_vec();
    }
    program.functions[id] = compact(&f);
    true
}

/// Inlines the calls in a function of callees that are called there once, whatever their size, up
/// to the limit [`once`](InlineLimits::once), the only one that counts here. Returns true if there
/// were any.
pub fn inline_once(program: &mut Program, id: FuncId, limits: &InlineLimits) -> bool {
    let mut any = false;
    let mut recursive = Recursive::below(id);
    loop {
        let f = &program.functions[id];
        let calls =
            f.blocks.iter().flat_map(|(b, block)| (0..block.insts.len()).map(move |k| (b, k)));
        let called = |(b, k): (Block, usize)| match f.insts[f.blocks[b].insts[k]].op {
            Op::Call(g) => Some((g, b, k)),
            _ => None,
        };
        let calls: Vec<(FuncId, Block, usize)> = calls.filter_map(called).collect();
        let mut count: HashMap<FuncId, usize> = HashMap::new();
        calls.iter().for_each(|c| *count.entry(c.0).or_default() += 1);
        let most = limits.once.saturating_sub(f.size());
        let small = |g| count[&g] == 1 && is_small(program, id, g, most, &mut recursive);
        let Some(found) = calls.iter().map(|c| c.0).position(small) else { return any };
        let (g, block, place) = calls[found];
        let mut f = f.clone();
        let tail = f.blocks[block].insts.split_off(place);
        let call = f.insts[tail[0]].clone();
        let after = splice(&mut f, block, &call, &program.functions[g]);
        f.blocks[after].insts = tail[1..].to_vec();
        program.functions[id] = compact(&f);
        any = true;
    }
}

fn is_small(
    program: &Program,
    caller: FuncId,
    g: FuncId,
    size: usize,
    recursive: &mut Recursive,
) -> bool {
    let callee = &program.functions[g];
    g != caller
        && callee.is_defined()
        && callee.size() <= size
        && program.rule(g).is_none()
        && !recursive.contains(program, g)
}

/// Recursive functions among those that a root reaches, directly or mutually recursive. Computed on
/// first use.
pub(super) struct Recursive {
    root: FuncId,
    known: Option<HashSet<FuncId>>,
}

impl Recursive {
    pub(super) fn below(root: FuncId) -> Recursive {
        Recursive { root, known: None }
    }

    fn contains(&mut self, program: &Program, g: FuncId) -> bool {
        self.known.get_or_insert_with(|| recursive(program, self.root)).contains(&g)
    }

    /// Updates the set after a function was changed, which called these before. Inlining preserves
    /// recursion; if a call of a recursive function was removed otherwise, the set is recomputed.
    pub(super) fn changed(&mut self, f: FuncId, before: &Function, after: &Function) {
        let Some(known) = self.known.as_ref().filter(|known| known.contains(&f)) else { return };
        let left: HashSet<FuncId> = after.callees().into_iter().collect();
        if before.callees().iter().any(|g| known.contains(g) && !left.contains(g)) {
            self.known = None;
        }
    }
}

/// Computes the functions that `root` reaches and that are recursive: those in a strongly connected
/// component with others, or with a call of themselves. O(size).
///
/// Source: the algorithm of Kosaraju and Sharir (1981).
fn recursive(program: &Program, root: FuncId) -> HashSet<FuncId> {
    let (mut order, mut callers) = (Vec::new(), HashMap::<FuncId, Vec<FuncId>>::new());
    // Functions that only rules reach are included.
    let mut work: Vec<(FuncId, bool)> =
        program.reachable(root).into_iter().map(|f| (f, false)).collect();
    let (mut seen, mut recursive) = (HashSet::new(), HashSet::new());
    while let Some((f, is_after)) = work.pop() {
        if is_after {
            order.push(f);
        } else if seen.insert(f) {
            work.push((f, true));
            for g in program.functions[f].callees() {
                callers.entry(g).or_default().push(f);
                work.push((g, false));
                if f == g {
                    recursive.insert(f);
                }
            }
        }
    }
    let mut seen = HashSet::new();
    for first in order.into_iter().rev() {
        let (mut component, mut work) = (Vec::new(), vec![first]);
        while let Some(f) = work.pop() {
            if seen.insert(f) {
                component.push(f);
                work.extend(callers.get(&f).into_iter().flatten());
            }
        }
        if component.len() > 1 {
            recursive.extend(component);
        }
    }
    recursive
}

/// Ends a block with a call, which is replaced by the blocks of the callee. The continuation block,
/// which gets the terminator of the old one, does not have the instructions after the call yet.
fn splice(f: &mut Function, block: Block, call: &InstData, callee: &Function) -> Block {
    let first = f.blocks.len();
    let rest = first + callee.blocks.len();
    // The continuation of the call.
    let caller = &mut f.blocks[block];
    let after = BlockData {
        params: call.result.into_iter().collect(),
        insts: Vec::new(),
        end: std::mem::take(&mut caller.end),
        end_at: caller.end_at,
    };
    caller.end = Terminator::Jump(Target::new(Block::new(first), call.args.to_vec()));
    caller.end_at = call.at;
    // Renames the values of the callee.
    let base = f.kinds.len();
    for kind in callee.kinds.values() {
        f.new_value(kind.clone());
    }
    let value = |v: Value| Value::new(v.index() + base);
    for data in callee.blocks.values() {
        let mut copy =
            BlockData { params: data.params.iter().map(|&v| value(v)).collect(), ..data.clone() };
        copy.insts = Vec::with_capacity(data.insts.len());
        for &i in &data.insts {
            let inst = &callee.insts[i];
            let (args, result) =
                (inst.args.iter().map(|&v| value(v)).collect(), inst.result.map(value));
            copy.insts.push(f.insts.push(InstData {
                op: inst.op,
                args,
                result,
                at: inst.at.or(call.at),
            }));
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
    f.blocks.push(after)
}
