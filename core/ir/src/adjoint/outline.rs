//! Outlining of a long loop: it is moved to a function of its own.
//!
//! ```text
//! fn f(x, p, n: int) {                  before(x, p, n) -> (from, to, state…, params…, rest…)
//!     let mut y = g(x);                 step(k, state, from, params…) -> state
//!     for i in 0..n { y = h(y, p); }    after(state, last, rest…) -> y * p
//!     y * p
//! }                                     f = before, then (to - from) times step, then after
//! ```
//!
//! The state holds the values that an iteration passes to the next one, params are the values from
//! before the loop that an iteration reads, and rest those that the code after the loop reads.
//! Constants are recomputed. So the loop can be differentiated while few of its states are stored
//! (checkpointing), by `Steps`.
//!
//! The loop is the first of the outermost ones; it counts upwards over a range and is on every path
//! through the function. Calls are inlined first, so the loop may be in a callee.
//!
//! Cost: O(size).

use std::collections::BTreeSet;

use crate::{
    entity::{Block, FuncId, Value},
    ir::{
        BlockData, Compare, Function, Int2, Kind, Op, Param, Position, Program, Target, Terminator,
        compact, remove_trivial_params,
    },
    pass::{LoopForest, inline},
};

/// Parts of a function with a loop.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Outlined {
    /// `args -> (from, to, state…, params…, rest…)`.
    pub before: FuncId,
    /// `(k, state, from, params…) -> state`.
    pub step: FuncId,
    /// `(state, last, rest…) -> result`.
    pub after: FuncId,
    /// Number of values of the state.
    pub state: usize,
    /// Number of parameters of the step.
    pub params: usize,
}

/// Reason why a loop is not outlined.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct NotOutlined {
    /// Source position of its condition.
    pub at: Position,
    /// Reason, in words.
    pub why: &'static str,
}

/// Size up to which functions are inlined, in instructions.
const SMALL: usize = 2_000;

/// Outlines the first loop of a function; `None` if there is none.
#[doc(hidden)]
pub fn outline(program: &mut Program, f: FuncId) -> Result<Option<Outlined>, NotOutlined> {
    let name = program.functions[f].name.clone();
    let whole = program.fresh_name(&format!("{name}.whole"));
    let mut copy = program.functions[f].clone();
    copy.name.clone_from(&whole);
    let id = program.add(copy);
    inline(program, id, SMALL);
    let mut g = program.functions[id].clone();
    remove_trivial_params(&mut g);
    let g = compact(&g);
    let Some(found) = OutlinableLoop::find(&g)? else { return Ok(None) };
    let mut add = |part: &str, mut f: Function| {
        f.name = program.fresh_name(&format!("{name}.{part}"));
        program.add(compact(&f))
    };
    Ok(Some(Outlined {
        before: add("before", found.before(&g)),
        step: add("step", found.step(&g)),
        after: add("after", found.after(&g)),
        state: found.carried(&g).len(),
        params: found.params.len(),
    }))
}

/// Loop that can be outlined, with its live-in values and the values that are live across it.
struct OutlinableLoop {
    header: Block,
    /// True for the blocks of the loop.
    holds: Vec<bool>,
    /// Index of the header's parameter that is the induction variable.
    counter: usize,
    /// Bound, which is not reached.
    to: Value,
    inclusive: bool,
    /// Targets of the header's branch: the start of an iteration, and the exit.
    inside: Target,
    exit: Target,
    params: Vec<Value>,
    rest: Vec<Value>,
    constants: Vec<Value>,
}

impl OutlinableLoop {
    fn find(f: &Function) -> Result<Option<OutlinableLoop>, NotOutlined> {
        let loops = LoopForest::analyze(f);
        let Some(number) = loops.list.iter().position(|l| l.parent.is_none()) else {
            return Ok(None);
        };
        let header = loops.list[number].header;
        let holds: Vec<bool> = f.blocks.keys().map(|b| loops.contains(Some(number), b)).collect();
        let at = f.blocks[header].end_at;
        let place = f.blocks[header].insts.last().map_or(at, |&i| f.insts[i].at);
        let kept = |why| NotOutlined { at: place, why };
        let not_counted = kept("it is no `for` over a range `a..b`");
        if !loops.reducible {
            return Err(kept("there are jumps into the middle of it"));
        }
        let returns = f.blocks.iter().filter(|(_, b)| matches!(b.end, Terminator::Return(_)));
        if returns.into_iter().any(|(b, _)| !loops.dominates(header, b)) {
            return Err(kept("not every way through the function passes it"));
        }
        if loops.exits(f, number).iter().any(|e| e.from != header) {
            return Err(kept(
                "it is left by `break` or `return`, or its range is `a..=b` with a computed bound",
            ));
        }
        let inner = |b: Block| holds.get(b.index()).copied().unwrap_or(false);
        let Terminator::Branch(condition, yes, no) = &f.blocks[header].end else {
            return Err(not_counted);
        };
        let definitions = f.definitions();
        let made = |v: Value| definitions[v.index()].map(|i| &f.insts[i]);
        let (Some(test), true, false) = (made(*condition), inner(yes.block), inner(no.block))
        else {
            return Err(not_counted);
        };
        let (Op::CompareInt(compare @ (Compare::Lt | Compare::Le)), &[now, to]) =
            (test.op, test.args.as_slice())
        else {
            return Err(not_counted);
        };
        let params = &f.blocks[header].params;
        let Some(counter) = params.iter().position(|p| *p == now) else { return Err(not_counted) };
        let counts = f.predecessors()[header.index()].iter().filter(|e| inner(e.from)).all(|e| {
            let next = f.blocks[e.from].end.targets()[e.index].args[counter];
            made(next).is_some_and(|inst| {
                let one = |v: Value| made(v).is_some_and(|i| i.op == Op::Int(1));
                inst.op == Op::Int2(Int2::Add) && inst.args[0] == now && one(inst.args[1])
            })
        });
        let defined = defined_in(f, &inner);
        let constant = |v: Value| made(v).is_some_and(|i| i.op.is_constant());
        if !counts || defined.contains(&to) && !constant(to) {
            return Err(not_counted);
        }
        if !params.iter().enumerate().any(|(k, p)| k != counter && f.kinds[*p].tangent().is_some())
        {
            return Err(kept("no iteration hands a number to the next one"));
        }
        let used = used_in(f, &inner, header);
        let after_loop = |b: Block| !inner(b) && loops.dominates(header, b);
        let mut later: BTreeSet<Value> = used_in(f, &after_loop, header);
        let of_header =
            f.blocks[header].insts.iter().flat_map(|&i| f.insts[i].args.iter().copied());
        later.extend(of_header.chain(no.args.iter().copied()));
        let passed = defined_in(f, &after_loop);
        let outside = |v: &Value| !defined.contains(v) && !passed.contains(v);
        let (constants, values): (Vec<Value>, Vec<Value>) =
            used.union(&later).copied().filter(outside).partition(|v| constant(*v));
        let params = values.iter().copied().filter(|v| used.contains(v)).collect();
        let rest = values.iter().copied().filter(|v| later.contains(v)).collect();
        let (inside, exit, inclusive) = (yes.clone(), no.clone(), compare == Compare::Le);
        Ok(Some(OutlinableLoop {
            header,
            counter,
            to,
            inclusive,
            inside,
            exit,
            params,
            rest,
            constants,
            holds,
        }))
    }

    fn inner(&self, b: Block) -> bool {
        self.holds.get(b.index()).copied().unwrap_or(false)
    }

    /// Returns the parameters of the header without the counter.
    fn carried(&self, f: &Function) -> Vec<Value> {
        let params = f.blocks[self.header].params.iter().enumerate();
        params.filter(|(k, _)| *k != self.counter).map(|(_, p)| *p).collect()
    }

    fn state_kind(&self, f: &Function) -> Kind {
        Kind::tuple(self.carried(f).iter().map(|v| f.kinds[*v].clone()))
    }

    fn before(&self, f: &Function) -> Function {
        let mut g = f.clone();
        let params: Vec<Value> =
            f.blocks[self.header].params.iter().map(|p| g.new_value(f.kinds[*p].clone())).collect();
        let mut end = BlockData { params: params.clone(), ..BlockData::default() };
        let constant = f.definition(self.to).filter(|i| i.op.is_constant()).map(|i| i.op);
        let mut to = constant.map_or(self.to, |op| push(&mut g, &mut end, op, &[], Kind::Int));
        if self.inclusive {
            let one = push(&mut g, &mut end, Op::Int(1), &[], Kind::Int);
            to = push(&mut g, &mut end, Op::Int2(Int2::Add), &[to, one], Kind::Int);
        }
        let mut all = vec![params[self.counter], to];
        all.extend(params.iter().enumerate().filter(|(k, _)| *k != self.counter).map(|(_, p)| *p));
        all.extend(self.params.iter().chain(&self.rest));
        let kind = Kind::tuple(all.iter().map(|v| g.kinds[*v].clone()));
        let whole = push(&mut g, &mut end, Op::Tuple, &all, kind.clone());
        end.end = Terminator::Return(whole);
        let end = g.blocks.push(end);
        for b in f.blocks.keys().filter(|&b| !self.inner(b)) {
            for target in g.blocks[b].end.targets_mut() {
                if target.block == self.header {
                    target.block = end;
                }
            }
        }
        g.result = kind;
        g
    }

    fn step(&self, f: &Function) -> Function {
        let mut g = f.clone();
        let state_kind = self.state_kind(f);
        let given = self.params.iter().map(|v| f.kinds[*v].clone());
        let kinds: Vec<Kind> =
            [Kind::Int, state_kind.clone(), Kind::Int].into_iter().chain(given).collect();
        let names = ["k".to_owned(), "state".into(), "from".into()]
            .into_iter()
            .chain(numbered(self.params.len()));
        let mut entry = self.entry(&mut g, names, kinds, 3, &self.params);
        let (k, from) = (entry.params[0], entry.params[2]);
        let counter = push(&mut g, &mut entry, Op::Int2(Int2::Add), &[from, k], Kind::Int);
        let state = entry.params[1];
        self.enter(f, &mut g, entry, state, counter);
        g.blocks[self.header].end = Terminator::Jump(self.replaced(&g, true));
        // The back edge to the header ends the iteration.
        let params: Vec<Value> =
            f.blocks[self.header].params.iter().map(|p| g.new_value(f.kinds[*p].clone())).collect();
        let mut last = BlockData { params: params.clone(), ..BlockData::default() };
        let all: Vec<Value> = params
            .iter()
            .enumerate()
            .filter(|(k, _)| *k != self.counter)
            .map(|(_, p)| *p)
            .collect();
        let whole = push(&mut g, &mut last, Op::Tuple, &all, state_kind.clone());
        last.end = Terminator::Return(whole);
        let last = g.blocks.push(last);
        for b in f.blocks.keys().filter(|&b| self.inner(b)) {
            for target in g.blocks[b].end.targets_mut() {
                if target.block == self.header {
                    target.block = last;
                }
            }
        }
        g.result = state_kind;
        g
    }

    fn after(&self, f: &Function) -> Function {
        let mut g = f.clone();
        let given = self.rest.iter().map(|v| f.kinds[*v].clone());
        let kinds: Vec<Kind> = [self.state_kind(f), Kind::Int].into_iter().chain(given).collect();
        let names =
            ["state".to_owned(), "last".into()].into_iter().chain(numbered(self.rest.len()));
        let entry = self.entry(&mut g, names, kinds, 2, &self.rest);
        let (state, last) = (entry.params[0], entry.params[1]);
        self.enter(f, &mut g, entry, state, last);
        g.blocks[self.header].end = Terminator::Jump(self.replaced(&g, false));
        g
    }

    /// Adds the parameters of a part, of which those from the given one on stand for `outer`; and
    /// the constants.
    fn entry(
        &self,
        g: &mut Function,
        names: impl Iterator<Item = String>,
        kinds: Vec<Kind>,
        first: usize,
        outer: &[Value],
    ) -> BlockData {
        g.params = names.zip(&kinds).map(|(name, kind)| Param::new(name, kind.clone())).collect();
        let params: Vec<Value> = kinds.into_iter().map(|kind| g.new_value(kind)).collect();
        let mut entry = BlockData { params: params.clone(), ..BlockData::default() };
        let mut new: Vec<Value> = g.kinds.keys().collect();
        outer.iter().zip(&params[first..]).for_each(|(v, p)| new[v.index()] = *p);
        for &v in &self.constants {
            let Some(op) = g.definition(v).map(|i| i.op) else { continue };
            let kind = g.kinds[v].clone();
            let copy = push(g, &mut entry, op, &[], kind);
            new[v.index()] = copy;
        }
        g.map_uses(|v| new.get(v.index()).copied().unwrap_or(v));
        entry
    }

    /// Adds the edge from the entry to the header, with the fields of a state and the counter.
    fn enter(
        &self,
        f: &Function,
        g: &mut Function,
        mut entry: BlockData,
        state: Value,
        counter: Value,
    ) {
        let mut args = Vec::new();
        let mut field = 0;
        for (k, p) in f.blocks[self.header].params.iter().enumerate() {
            if k == self.counter {
                args.push(counter);
                continue;
            }
            let kind = f.kinds[*p].clone();
            args.push(push(g, &mut entry, Op::Field(field), &[state], kind));
            field += 1;
        }
        entry.end = Terminator::Jump(Target::new(self.header, args));
        g.blocks[Block::new(0)] = entry;
    }

    /// Returns the target of the header's branch, with renamed values.
    fn replaced(&self, g: &Function, inside: bool) -> Target {
        let wanted = if inside { &self.inside } else { &self.exit };
        match &g.blocks[self.header].end {
            Terminator::Branch(_, yes, no) => if inside { yes } else { no }.clone(),
            _ => wanted.clone(),
        }
    }
}

fn numbered(n: usize) -> impl Iterator<Item = String> {
    (0..n).map(|k| format!("p{k}"))
}

/// Appends an instruction to a block that is not in the function yet.
fn push(f: &mut Function, block: &mut BlockData, op: Op, args: &[Value], kind: Kind) -> Value {
    let (inst, value) = f.new_inst(op, args, Some(kind), Position::default());
    block.insts.push(inst);
    value.unwrap_or(Value::new(0))
}

fn defined_in(f: &Function, wanted: &impl Fn(Block) -> bool) -> BTreeSet<Value> {
    let blocks = f.blocks.iter().filter(|(b, _)| wanted(*b)).map(|(_, block)| block);
    let of = |block: &BlockData| {
        let made = block.insts.iter().filter_map(|&i| f.insts[i].result);
        block.params.iter().copied().chain(made).collect::<Vec<_>>()
    };
    blocks.flat_map(of).collect()
}

/// Returns the values that blocks read; for the header without the branch into the loop.
fn used_in(f: &Function, wanted: &impl Fn(Block) -> bool, header: Block) -> BTreeSet<Value> {
    let mut used = BTreeSet::new();
    for (b, block) in f.blocks.iter().filter(|(b, _)| wanted(*b)) {
        used.extend(block.insts.iter().flat_map(|&i| f.insts[i].args.iter().copied()));
        used.extend(block.end.operand());
        for target in block.end.targets() {
            if b != header || wanted(target.block) {
                used.extend(target.args.iter().copied());
            }
        }
    }
    used
}
