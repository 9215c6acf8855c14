//! Reverse mode through control flow: `f -> (f.primal, f.adjoint)`.
//!
//! # Idea
//! The adjoint runs the primal's blocks backwards. It has one block for each block of the primal; where the
//! primal had several ways *into* a block, the adjoint has several ways *out*, and the primal recorded on a
//! tape which one it came by.
//!
//! ```text
//! primal                             adjoint
//! block1(p):  push tag of the edge   block1':  pop what block1's rules need
//!             …instructions…                   …pullbacks, last instruction first…
//!             push what is needed              pop tag: to the adjoint of the edge it names,
//!             jump block2(x)                            which adds p_bar to the argument's cotangent
//! ```
//!
//! Every active value has a cotangent variable per leaf, zero at first. Pullbacks add to the variables of the
//! operands; the variable of a value is zero again once its definition is passed, as a loop may come back.
//! A value that lives in one block needs no variable.
//!
//! A pullback that asks for a primal value gets it
//! - as a constant, if it is one;
//! - from the tape at the start of the adjoint, if the entry block defines it: pushed once, before returning;
//! - else from the tape at the start of the adjoint block: pushed at the end of the primal block.
//!
//! Then dead code goes away, and with a pop its push: only what the derivative really needs is recorded.
//! `f(g(x))` becomes a call of `g.primal` and a call of `g.adjoint`, on the same tape, so recursion is no
//! special case.
//!
//! # Reversing a reversed function
//! Inside `f`, a push hands a value to a later pop. Backwards the cotangent goes from the pop to the push: a
//! `pop` becomes a push of its cotangent and a `push` a pop, on the same tape, which is empty then.
//!
//! # Invariants
//! Primal then adjoint leave the tape as it was. The adjoint gives a tuple with one cotangent for each
//! parameter that has one, in order.
//!
//! Source: M. Innes, "Don't unroll adjoint: differentiating SSA-form programs", arXiv 1810.07951.

use std::collections::HashMap;

use crate::{
    entity::{Block, FuncId, Inst, Value, Variable},
    ir::{Edge, Function, FunctionBuilder, InstData, Kind, Op, Param, Program, Terminator, compact},
    pass,
    rules::{Contribution, pullback},
};

use super::{
    activity::{active, passes, tapes, touches_tape},
    error::{DiffError, Mode},
    leaves::{close, field_range, open, sum, tangent_leaves},
};

/// What [`reverse`] adds to a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reverse {
    /// Computes the function and records.
    pub primal: FuncId,
    /// `cotangent of the result -> (cotangents of the parameters…)`.
    pub adjoint: FuncId,
}

/// Adds the primal and the adjoint of a function, and of all it calls, to the program.
///
/// # Errors
/// An op without a rule; a function without a body. The program is then as it was.
pub fn reverse(program: &mut Program, root: FuncId) -> Result<Reverse, DiffError> {
    let used = program.reachable(root).into_iter().flat_map(|f| tapes(&program.functions[f]));
    let tape = used.max().map_or(0, |t| t + 1);
    let mut engine = Engine { program: program.clone(), tape, done: HashMap::new(), work: Vec::new() };
    let pair = engine.pair(root);
    while let Some(f) = engine.work.pop() {
        engine.function(f)?;
    }
    *program = engine.program;
    Ok(pair)
}

struct Engine {
    program: Program,
    tape: u32,
    done: HashMap<FuncId, Reverse>,
    work: Vec<FuncId>,
}

impl Engine {
    /// The ids of a function's primal and adjoint, which are written later if they are new.
    fn pair(&mut self, f: FuncId) -> Reverse {
        if let Some(&pair) = self.done.get(&f) {
            return pair;
        }
        let function = &self.program.functions[f];
        let (name, params, result) = (&function.name, function.params.clone(), function.result.clone());
        let bars = Kind::tuple(params.iter().filter_map(|p| p.kind.tangent()));
        let seed = result.tangent().map(|k| Param::new("y_bar", k));
        let primal = self.program.fresh_name(&format!("{name}.primal"));
        let adjoint = self.program.fresh_name(&format!("{name}.adjoint"));
        let primal = self.program.add(Function::declared(primal, params, result));
        let adjoint = self.program.add(Function::declared(adjoint, seed.into_iter().collect(), bars));
        let pair = Reverse { primal, adjoint };
        self.done.insert(f, pair);
        self.work.push(f);
        pair
    }

    /// Writes the primal and the adjoint of one function.
    fn function(&mut self, id: FuncId) -> Result<(), DiffError> {
        let f = self.program.functions[id].clone();
        if !f.is_defined() {
            return Err(DiffError::Undefined { function: f.name });
        }
        let pair = self.pair(id);
        let declared = &self.program.functions[pair.adjoint];
        let builder =
            FunctionBuilder::new(declared.name.clone(), declared.params.clone(), declared.result.clone());
        let active = active(&self.program, &f);
        let through: Vec<bool> = f.insts.values().map(|i| is_recorded(&self.program, &active, i)).collect();
        let mut writer = Writer {
            active,
            through: &through,
            at: Block::new(0),
            local: local(&f),
            defined: f.definitions(),
            home: home(&f),
            edges: f.predecessors(),
            variables: HashMap::new(),
            bars: HashMap::new(),
            saved: HashMap::new(),
            saves: vec![Vec::new(); f.blocks.len()],
            slots: TAG + 1,
            blocks: Vec::new(),
            engine: self,
            f: &f,
            b: builder,
        };
        writer.adjoint()?;
        let Writer { b, saves, .. } = writer;
        // Dead code away; the saves whose pops are gone are not made.
        let mut adjoint = b.finish();
        pass::dce(&mut adjoint, Some(self.tape));
        let alive = pops(&adjoint, self.tape);
        self.program.functions[pair.adjoint] = adjoint;
        let name = self.program.functions[pair.primal].name.clone();
        self.program.functions[pair.primal] = self.primal(&f, name, &through, &saves, &alive);
        Ok(())
    }

    /// The function itself, with pushes.
    fn primal(
        &mut self,
        f: &Function,
        name: String,
        through: &[bool],
        saves: &[Vec<(Value, u32)>],
        alive: &[u32],
    ) -> Function {
        let mut p = Function { name, ..f.clone() };
        let tape = self.tape;
        let push = |p: &mut Function, value: Value, slot: u32| {
            let op = Op::Push { tape, slot };
            p.new_inst(op, &[value], None, Default::default()).0
        };
        let edges = f.predecessors();
        let returns = returns(f);
        for b in f.blocks.keys() {
            let mut end = Vec::new();
            for &(value, slot) in saves[b.index()].iter().filter(|s| b.index() > 0 && alive.contains(&s.1)) {
                end.push(push(&mut p, value, slot));
            }
            if let Some(k) = returns.iter().position(|&r| r == b) {
                if returns.len() > 1 {
                    let (inst, tag) = p.new_inst(Op::Int(k as i64), &[], Some(Kind::Int), Default::default());
                    end.push(inst);
                    end.extend(tag.map(|tag| push(&mut p, tag, TAG)));
                }
                for &(value, slot) in saves[0].iter().filter(|s| alive.contains(&s.1)) {
                    end.push(push(&mut p, value, slot));
                }
            }
            for &i in &f.blocks[b].insts {
                if let Op::Call(g) = f.insts[i].op
                    && through[i.index()]
                {
                    p.insts[i].op = Op::Call(self.pair(g).primal);
                }
            }
            p.blocks[b].insts.extend(end);
            if edges[b.index()].len() > 1 {
                // The way in, as one more argument of each edge.
                let tag = p.new_value(Kind::Int);
                p.blocks[b].params.push(tag);
                let inst = push(&mut p, tag, TAG);
                p.blocks[b].insts.insert(0, inst);
            }
        }
        for (b, edges) in f.blocks.keys().zip(&edges).filter(|(_, e)| e.len() > 1) {
            for (k, edge) in edges.iter().enumerate() {
                let (inst, tag) = p.new_inst(Op::Int(k as i64), &[], Some(Kind::Int), Default::default());
                let from = &mut p.blocks[edge.from];
                from.insts.push(inst);
                debug_assert_eq!(from.end.targets()[edge.index].block, b);
                from.end.targets_mut()[edge.index].args.extend(tag);
            }
        }
        compact(&p)
    }
}

/// The slot of tags: edges and returns. They are always read.
const TAG: u32 = 0;

/// Whether the instruction is a call that is reversed through the body of the function called: something
/// flows back through it, or it keeps something on a tape, which must be undone in any case.
fn is_recorded(program: &Program, active: &[bool], inst: &InstData) -> bool {
    let Op::Call(g) = inst.op else { return false };
    program.rule(g).is_none_or(|r| r.pullback.is_none() && !r.non_differentiable)
        && (inst.result.is_some_and(|y| active[y.index()]) || touches_tape(program, g))
}

/// The blocks that return.
fn returns(f: &Function) -> Vec<Block> {
    let ends = f.blocks.iter().filter(|(_, b)| matches!(b.end, Terminator::Return(_)));
    ends.map(|(b, _)| b).collect()
}

/// The slots that a function pops from a tape.
fn pops(f: &Function, level: u32) -> Vec<u32> {
    let insts = f.blocks.values().flat_map(|b| &b.insts);
    let slot = |op| match op {
        Op::Pop { tape, slot } if tape == level => Some(slot),
        _ => None,
    };
    insts.filter_map(|&i| slot(f.insts[i].op)).collect()
}

/// The block that defines each value.
fn home(f: &Function) -> Vec<Block> {
    let mut home = vec![Block::new(0); f.kinds.len()];
    for (b, block) in f.blocks.iter() {
        let results = block.insts.iter().filter_map(|&i| f.insts[i].result);
        block.params.iter().copied().chain(results).for_each(|v| home[v.index()] = b);
    }
    home
}

/// For each value whether an instruction defines it and only instructions of the same block (or its return)
/// use it.
fn local(f: &Function) -> Vec<bool> {
    let home = home(f);
    let mut local = vec![true; f.kinds.len()];
    for (b, block) in f.blocks.iter() {
        block.params.iter().for_each(|p| local[p.index()] = false);
        let args = block.insts.iter().flat_map(|&i| &f.insts[i].args);
        for v in args.copied().chain(block.end.operand()) {
            local[v.index()] &= home[v.index()] == b;
        }
        for v in block.end.targets().into_iter().flat_map(|t| &t.args) {
            local[v.index()] = false;
        }
    }
    local
}

/// Writes one adjoint.
struct Writer<'a> {
    engine: &'a mut Engine,
    f: &'a Function,
    b: FunctionBuilder,
    active: Vec<bool>,
    local: Vec<bool>,
    defined: Vec<Option<Inst>>,
    home: Vec<Block>,
    edges: Vec<Vec<Edge>>,
    /// The cotangent variables of values that live in several blocks, one for each leaf.
    variables: HashMap<Value, Vec<Variable>>,
    /// The cotangents of values that live in the current block.
    bars: HashMap<Value, Vec<Value>>,
    /// What has been popped: (adjoint block, primal value) -> value.
    saved: HashMap<(Block, Value), Value>,
    /// What each primal block pushes at its end; the entry's is pushed before returning.
    saves: Vec<Vec<(Value, u32)>>,
    slots: u32,
    /// The adjoint of each block.
    blocks: Vec<Block>,
    /// The primal block at hand.
    at: Block,
    /// For each instruction whether it is a recorded call.
    through: &'a [bool],
}

impl Writer<'_> {
    fn adjoint(&mut self) -> Result<(), DiffError> {
        let f = self.f;
        for (v, kind) in f.kinds.iter().filter(|(v, _)| self.active[v.index()] && !self.local[v.index()]) {
            let leaves = tangent_leaves(kind).into_iter().map(|leaf| {
                let variable = self.b.declare(leaf.clone());
                let zero = self.b.zero(&leaf);
                self.b.define(variable, zero);
                variable
            });
            let leaves = leaves.collect();
            self.variables.insert(v, leaves);
        }
        self.blocks = f.blocks.keys().map(|_| self.b.create_block()).collect();
        let returns: Vec<Block> = returns(f).iter().map(|r| self.blocks[r.index()]).collect();
        match returns.as_slice() {
            [one] => self.b.jump(*one, &[]),
            [] => {
                // The function never returns, and neither will its adjoint be asked for.
                let result = self.b.function().result.clone();
                let zero = self.b.zero(&result);
                self.b.ret(zero);
            }
            many => {
                let tag = self.pop(Kind::Int, TAG);
                self.b.switch(tag, many);
            }
        }
        for b in f.blocks.keys().rev() {
            self.block(b)?;
        }
        for &b in &self.blocks {
            self.b.seal(b);
        }
        Ok(())
    }

    /// The adjoint of one block.
    fn block(&mut self, block: Block) -> Result<(), DiffError> {
        let f = self.f;
        self.b.switch_to(self.blocks[block.index()]);
        self.bars.clear();
        self.at = block;
        let data = &f.blocks[block];
        if let Terminator::Return(v) = data.end
            && f.result.is_differentiable()
        {
            let seed = self.b.param(0);
            let seed = open(&mut self.b, seed);
            self.add_all(v, 0, &seed);
        }
        for &i in data.insts.iter().rev() {
            self.b.set_position(f.insts[i].at);
            self.instruction(i)?;
        }
        self.b.set_position(Default::default());
        if block.index() == 0 {
            let mut leaves = Vec::new();
            for (&p, param) in f.param_values().iter().zip(&f.params) {
                if param.kind.is_differentiable() {
                    leaves.extend(self.take(p));
                }
            }
            let result = self.b.function().result.clone();
            let bars = close(&mut self.b, &result, &mut leaves.into_iter());
            self.b.ret(bars);
            return Ok(());
        }
        // The parameters' cotangents go to the arguments of the edge that was taken.
        let params: Vec<Vec<Value>> =
            data.params.iter().map(|&p| if self.active[p.index()] { self.take(p) } else { vec![] }).collect();
        let edges = self.edges[block.index()].clone();
        let ways: Vec<Block> = edges.iter().map(|_| self.b.create_block()).collect();
        match ways.as_slice() {
            [one] => self.b.jump(*one, &[]),
            many => {
                let tag = self.pop(Kind::Int, TAG);
                self.b.switch(tag, many);
            }
        }
        for (way, edge) in ways.into_iter().zip(edges) {
            self.b.seal(way);
            self.b.switch_to(way);
            let target = f.blocks[edge.from].end.targets()[edge.index].clone();
            for (&arg, bars) in target.args.iter().zip(&params) {
                self.add_all(arg, 0, bars);
            }
            self.b.jump(self.blocks[edge.from.index()], &[]);
        }
        Ok(())
    }

    /// The pullback of one instruction.
    fn instruction(&mut self, id: Inst) -> Result<(), DiffError> {
        let f = self.f;
        let inst = &f.insts[id];
        match inst.op {
            // Tapes of `f` itself: always in step, active or not.
            Op::Push { tape, slot } => {
                let v = inst.args[0];
                let leaves = tangent_leaves(&f.kinds[v]);
                let bars: Vec<Value> =
                    leaves.into_iter().rev().map(|k| self.b.inst(Op::Pop { tape, slot }, &[], k)).collect();
                let bars: Vec<Value> = bars.into_iter().rev().collect();
                self.add_all(v, 0, &bars);
                return Ok(());
            }
            Op::Pop { tape, slot } => {
                let Some(v) = inst.result else { return Ok(()) };
                if f.kinds[v].is_differentiable() {
                    for bar in self.take(v) {
                        self.b.effect(Op::Push { tape, slot }, &[bar]);
                    }
                }
                return Ok(());
            }
            Op::Call(g) if self.through[id.index()] => {
                self.call(inst, g);
                return Ok(());
            }
            _ => {}
        }
        let program = &self.engine.program;
        let Some(y) = inst.result else { return Ok(()) };
        if !self.active[y.index()] || !passes(program, inst) {
            return Ok(());
        }
        match inst.op {
            Op::Tuple => {
                let bars = self.take(y);
                let mut start = 0;
                for &a in &inst.args {
                    let n = tangent_leaves(&f.kinds[a]).len();
                    self.add_all(a, 0, &bars[start..start + n]);
                    start += n;
                }
            }
            Op::Field(k) => {
                let bars = self.take(y);
                let range = field_range(&f.kinds[inst.args[0]], k as usize);
                self.add_all(inst.args[0], range.start, &bars);
            }
            Op::Select => {
                let bars = self.take(y);
                let c = self.need(inst.args[0]);
                for (k, &arg) in inst.args.iter().enumerate().skip(1) {
                    let mut parts = Vec::new();
                    for &bar in &bars {
                        let kind = self.b.kind(bar).clone();
                        let zero = self.b.zero(&kind);
                        let operands = if k == 1 { [c, bar, zero] } else { [c, zero, bar] };
                        parts.push(self.b.inst(Op::Select, &operands, kind));
                    }
                    self.add_all(arg, 0, &parts);
                }
            }
            Op::Call(g) => self.custom(inst, y, g),
            Op::Primitive(p) => {
                let primitive = self.engine.program.primitives[p].clone();
                let rule = primitive.pullback.ok_or_else(|| self.missing(inst, &primitive.name))?;
                let result = self.engine.program.primitives[rule].result.clone();
                self.by_rule(inst, y, Op::Primitive(rule), result);
            }
            op => {
                let wanted: Vec<bool> = inst.args.iter().map(|a| self.active[a.index()]).collect();
                let args: Vec<Value> = inst.args.iter().map(|&a| self.need(a)).collect();
                let saved = self.need(y);
                let bars = self.take(y);
                let contributions = pullback(&mut self.b, op, &args, saved, bars[0], &wanted)
                    .ok_or_else(|| self.missing(inst, op.name()))?;
                for (&arg, contribution) in inst.args.iter().zip(contributions) {
                    match contribution {
                        Contribution::Zero => {}
                        Contribution::Add(bar) => self.add_all(arg, 0, &[bar]),
                        Contribution::At(index, bar) => self.add_at(arg, index, bar),
                    }
                }
            }
        }
        Ok(())
    }

    fn missing(&self, inst: &InstData, op: &str) -> DiffError {
        let (op, function) = (op.to_owned(), self.f.name.clone());
        DiffError::MissingRule { op, function, at: inst.at, mode: Mode::Reverse }
    }

    /// `y = call g(…)`: call g's adjoint.
    fn call(&mut self, inst: &InstData, g: FuncId) {
        let pair = self.engine.pair(g);
        let callee = &self.engine.program.functions[pair.adjoint];
        let (result, seed) = (callee.result.clone(), callee.params.first().map(|p| p.kind.clone()));
        let mut args = Vec::new();
        if let (Some(y), Some(kind)) = (inst.result, seed) {
            let bars = self.take(y);
            args.push(close(&mut self.b, &kind, &mut bars.into_iter()));
        }
        let bars = self.b.inst(Op::Call(pair.adjoint), &args, result);
        self.distribute(inst, bars);
    }

    /// `y = call g(…)` where `g` has its own pullback.
    fn custom(&mut self, inst: &InstData, y: Value, g: FuncId) {
        if let Some(rule) = self.engine.program.rule(g).and_then(|r| r.pullback) {
            let result = self.engine.program.functions[rule].result.clone();
            self.by_rule(inst, y, Op::Call(rule), result);
        }
    }

    /// Calls a pullback with the inputs, the result and its cotangent.
    fn by_rule(&mut self, inst: &InstData, y: Value, rule: Op, result: Kind) {
        let mut args: Vec<Value> = inst.args.iter().map(|&a| self.need(a)).collect();
        args.push(self.need(y));
        if let Some(kind) = self.f.kinds[y].tangent() {
            let bars = self.take(y);
            args.push(close(&mut self.b, &kind, &mut bars.into_iter()));
        }
        let bars = self.b.inst(rule, &args, result);
        self.distribute(inst, bars);
    }

    /// Adds a tuple of cotangents to those of the operands that have one.
    fn distribute(&mut self, inst: &InstData, bars: Value) {
        let differentiable = inst.args.iter().filter(|a| self.f.kinds[**a].is_differentiable());
        for (k, &arg) in differentiable.enumerate() {
            if self.active[arg.index()] {
                let bar = self.b.field(bars, k);
                let leaves = open(&mut self.b, bar);
                self.add_all(arg, 0, &leaves);
            }
        }
    }

    fn pop(&mut self, kind: Kind, slot: u32) -> Value {
        self.b.inst(Op::Pop { tape: self.engine.tape, slot }, &[], kind)
    }

    /// The primal value `v`, in the adjoint.
    fn need(&mut self, v: Value) -> Value {
        let f = self.f;
        if let Some(inst) = self.defined[v.index()]
            && f.insts[inst].op.is_constant()
        {
            return self.b.inst(f.insts[inst].op, &[], f.kinds[v].clone());
        }
        let home = self.home[v.index()];
        // The entry's values wait at the start of the adjoint, others at the start of this block.
        let (place, pushed_by) =
            if home.index() == 0 { (home, 0) } else { (self.b.current(), self.at.index()) };
        if let Some(&value) = self.saved.get(&(place, v)) {
            return value;
        }
        let slot = self.slots;
        self.slots += 1;
        let op = Op::Pop { tape: self.engine.tape, slot };
        let value = self.b.inst_at_front(place, op, f.kinds[v].clone());
        self.saves[pushed_by].push((v, slot));
        self.saved.insert((place, v), value);
        value
    }

    /// The cotangent of a value, leaf by leaf; afterwards it is zero.
    fn take(&mut self, v: Value) -> Vec<Value> {
        let kinds = tangent_leaves(&self.f.kinds[v]);
        if let Some(variables) = self.variables.get(&v) {
            let mut bars = Vec::new();
            for (&variable, kind) in variables.iter().zip(&kinds) {
                bars.push(self.b.use_variable(variable));
                let zero = self.b.zero(kind);
                self.b.define(variable, zero);
            }
            return bars;
        }
        match self.bars.remove(&v) {
            Some(bars) => bars,
            None => kinds.iter().map(|k| self.b.zero(k)).collect(),
        }
    }

    /// Adds to the leaves of a value's cotangent, from the `start`-th on.
    fn add_all(&mut self, v: Value, start: usize, bars: &[Value]) {
        self.update(v, start, bars.len(), |b, k, old| match old {
            Some(old) => sum(b, old, bars[k]),
            None => bars[k],
        });
    }

    /// Adds to one element of an array's cotangent.
    fn add_at(&mut self, v: Value, index: Value, bar: Value) {
        let kind = self.f.kinds[v].clone();
        self.update(v, 0, 1, |b, _, old| {
            let old = old.unwrap_or_else(|| b.zero(&kind));
            b.inst(Op::AddAt, &[old, index, bar], kind.clone())
        });
    }

    /// Changes `n` leaves of a value's cotangent; a zero just made is given as `None`.
    fn update(
        &mut self,
        v: Value,
        start: usize,
        n: usize,
        mut change: impl FnMut(&mut FunctionBuilder, usize, Option<Value>) -> Value,
    ) {
        if !self.active[v.index()] {
            return;
        }
        let b = &mut self.b;
        if let Some(variables) = self.variables.get(&v) {
            for k in 0..n {
                let old = b.use_variable(variables[start + k]);
                let old = Some(old).filter(|&old| !is_zero(b, old));
                let new = change(b, k, old);
                b.define(variables[start + k], new);
            }
            return;
        }
        let kinds = tangent_leaves(&self.f.kinds[v]);
        let fresh = !self.bars.contains_key(&v);
        let mut leaves = match self.bars.remove(&v) {
            Some(leaves) => leaves,
            None => kinds.iter().map(|k| b.zero(k)).collect(),
        };
        for k in 0..n {
            let old = Some(leaves[start + k]).filter(|&old| !fresh && !is_zero(b, old));
            leaves[start + k] = change(b, k, old);
        }
        self.bars.insert(v, leaves);
    }
}

/// Whether a cotangent is the zero that it started as.
fn is_zero(b: &FunctionBuilder, v: Value) -> bool {
    b.constant(v) == Some(0.0) || b.is_empty_array(v)
}
