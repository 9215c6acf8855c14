//! Forward mode: `f -> f.pushforward`.
//!
//! The pushforward is the function itself, in which every active value is followed by its tangent:
//!
//! ```text
//! fn f(x)                    fn f.pushforward(x, x_dot)
//!     v1 = sin v0                v2 = sin v0
//!                                v3 = cos v0
//!                                v4 = mul v3, v1
//!     return v1                  return (v2, v4)
//! ```
//!
//! It takes the parameters and then a tangent for each parameter that has one, and returns
//! `(value, tangent)`. Block parameters, calls and tapes carry the tangent next to the value;
//! inactive values have none. Tangents of tuples are kept leaf by leaf. Cost: that of the primal,
//! times about 2 to 3.

use std::{collections::HashMap, ops::Range};

use crate::{
    entity::{Block, FuncId, Value},
    ir::{
        ArrayOp, Function, FunctionBuilder, InstData, Kind, Number2, Op, Param, Program, Terminator,
    },
    rules::{Reach, everywhere, push_reach, pushforward, whole},
};

use super::{
    activity::{TapeUsers, varied},
    entry::entry,
    error::{DiffError, Mode, check},
    flow::{self, ReachParams},
    leaves::{FieldRanges, close, make_whole, open, tangent_leaves},
    reach::is_steep,
    transpose::{DerivativeRule, OneWayRule, name_of, paired, rule},
};

/// Adds the pushforward of a function, and of all its callees, to the program. For a function with
/// a rule of its own the rule is used, as in calls of it: its pushforward, or the transpose of its
/// pullback.
///
/// # Errors
/// If an op has no rule, a pullback cannot be transposed, or a function has no body. The program is
/// then unchanged.
pub fn forward(program: &mut Program, root: FuncId) -> Result<FuncId, DiffError> {
    check(program, root)?;
    let (done, work, wanted, transposed) = Default::default();
    let mut all = program.clone();
    let root = entry(&mut all, root);
    let touching = TapeUsers::analyze(&all, root);
    let slots = flow::slots(&all, root, &touching);
    let mut engine =
        ForwardEngine { program: all, touching, slots, done, work, wanted, transposed };
    let id = engine.id(root, true);
    while let Some((f, is_root)) = engine.work.pop() {
        engine.function(f, is_root)?;
    }
    *program = engine.program;
    Ok(id)
}

struct ForwardEngine {
    program: Program,
    touching: TapeUsers,
    /// The slots of tapes with reaches.
    slots: flow::ReachSlots,
    /// Pushforwards, with reaches of the parameters or, for the root, without.
    done: HashMap<(FuncId, bool), FuncId>,
    work: Vec<(FuncId, bool)>,
    wanted: ReachParams,
    /// Pushforwards derived from pullbacks, by the name of the function or primitive.
    transposed: HashMap<String, FuncId>,
}

impl ForwardEngine {
    /// Returns which parameters of a called function have reaches.
    fn wanted(&mut self, f: FuncId) -> Vec<bool> {
        flow::wanted(&self.program, f, &self.touching, &self.slots, &mut self.wanted);
        self.wanted.get(&f).cloned().unwrap_or_default()
    }

    fn id(&mut self, f: FuncId, is_root: bool) -> FuncId {
        let wanted = self.wanted(f);
        // If no parameter has a reach both are the same.
        let is_root = is_root || !wanted.contains(&true);
        if let Some(&id) = self.done.get(&(f, is_root)) {
            return id;
        }
        let function = &self.program.functions[f];
        let name = self.program.fresh_name(&format!("{}.pushforward", function.name));
        let dots = function.params.iter();
        let dots =
            dots.filter_map(|p| Some(Param::new(format!("{}_dot", p.name), p.kind.tangent()?)));
        let reached = function.params.iter().zip(&wanted).filter(|(_, w)| **w && !is_root);
        let there = reached
            .filter_map(|(p, _)| Some(Param::new(format!("{}_there", p.name), p.kind.tangent()?)));
        let params = function.params.iter().cloned().chain(dots).chain(there).collect();
        let result = Kind::tuple(
            [Some(function.result.clone()), function.result.tangent()].into_iter().flatten(),
        );
        let id = self.program.add(Function::declared(name, params, result));
        self.done.insert((f, is_root), id);
        self.work.push((f, is_root));
        id
    }

    fn function(&mut self, id: FuncId, is_root: bool) -> Result<(), DiffError> {
        let f = self.program.functions[id].clone();
        if !f.is_defined() {
            return Err(DiffError::Undefined { function: f.name });
        }
        let to = self.id(id, is_root);
        let declared = &self.program.functions[to];
        let b = FunctionBuilder::new(
            declared.name.clone(),
            declared.params.clone(),
            declared.result.clone(),
        );
        let varied = varied(&self.program, &f, &self.touching);
        for g in f.callees() {
            self.wanted(g);
        }
        let mut wanted =
            flow::values(&self.program, &f, &varied, is_root, &self.wanted, &self.slots);
        if !is_root {
            // Reaches that the caller passes.
            for (p, handed) in f.param_values().iter().zip(self.wanted(id)) {
                wanted[p.index()] = handed;
            }
        }
        let fields = FieldRanges::new(&f);
        let (values, dots, there, blocks) = Default::default();
        let mut writer = PushforwardWriter {
            engine: self,
            f: &f,
            b,
            varied,
            wanted,
            fields,
            values,
            dots,
            there,
            blocks,
        };
        writer.run()?;
        let function = writer.b.finish();
        self.program.functions[to] = function;
        Ok(())
    }
}

struct PushforwardWriter<'a> {
    engine: &'a mut ForwardEngine,
    f: &'a Function,
    b: FunctionBuilder,
    varied: Vec<bool>,
    /// True for the values whose tangents have a reach next to them.
    wanted: Vec<bool>,
    fields: FieldRanges,
    /// The values of `f` in the pushforward.
    values: HashMap<Value, Value>,
    /// Leaves of their tangents.
    dots: HashMap<Value, Vec<Value>>,
    /// Reaches of the tangents, for the values that have one.
    there: HashMap<Value, Vec<Value>>,
    blocks: Vec<Block>,
}

impl PushforwardWriter<'_> {
    fn run(&mut self) -> Result<(), DiffError> {
        let f = self.f;
        let mut next = f.params.len();
        for (k, &p) in f.param_values().iter().enumerate() {
            let v = self.b.param(k);
            self.values.insert(p, v);
            if f.kinds[p].is_differentiable() {
                let dot = self.b.param(next);
                next += 1;
                let leaves = open(&mut self.b, dot);
                self.dots.insert(p, leaves);
            }
        }
        for &p in f.param_values().iter().filter(|p| self.wanted[p.index()]) {
            let there = self.b.param(next);
            next += 1;
            let leaves = open(&mut self.b, there);
            self.there.insert(p, leaves);
        }
        self.blocks = f
            .blocks
            .keys()
            .map(|b| if b.index() == 0 { b } else { self.b.create_block() })
            .collect();
        // Parameters first, and instructions in an order in which definitions come before uses.
        for (b, data) in f.blocks.iter().skip(1) {
            let to = self.blocks[b.index()];
            for &p in &data.params {
                let v = self.b.block_param(to, f.kinds[p].clone());
                self.values.insert(p, v);
                if self.varied[p.index()] {
                    let leaves = tangent_leaves(&f.kinds[p]);
                    let mut each =
                        || leaves.iter().map(|k| self.b.block_param(to, k.clone())).collect();
                    self.dots.insert(p, each());
                    if self.wanted[p.index()] {
                        self.there.insert(p, each());
                    }
                }
            }
        }
        for b in crate::pass::order(f) {
            self.b.switch_to(self.blocks[b.index()]);
            for &i in &f.blocks[b].insts {
                self.b.set_position(f.insts[i].at);
                self.instruction(&f.insts[i])?;
            }
            self.b.set_position(f.blocks[b].end_at);
            self.end(&f.blocks[b].end);
        }
        for &b in self.blocks.iter().skip(1) {
            self.b.seal(b);
        }
        Ok(())
    }

    fn value(&self, v: Value) -> Value {
        self.values.get(&v).copied().unwrap_or(v)
    }

    /// Returns the leaves of a value's tangent, zeros if it has none.
    fn leaves(&mut self, v: Value) -> Vec<Value> {
        match self.dots.get(&v) {
            Some(leaves) => leaves.clone(),
            None => tangent_leaves(&self.f.kinds[v]).iter().map(|k| self.b.zero(k)).collect(),
        }
    }

    /// Returns the reach of each leaf of a value's tangent.
    fn reach(&self, v: Value) -> Vec<Reach> {
        match self.there.get(&v) {
            Some(there) => there.iter().map(|&there| Reach::Where(there)).collect(),
            None => vec![Reach::Nonzero; tangent_leaves(&self.f.kinds[v]).len()],
        }
    }

    /// Returns the reaches of a value's tangent as values; zeros if it has no tangent.
    fn reaches(&mut self, v: Value) -> Vec<Value> {
        let count = tangent_leaves(&self.f.kinds[v]).len();
        self.reaches_at(v, 0..count)
    }

    /// Returns a range of the leaves of a value's tangent, in time that does not depend on the
    /// number of the others.
    fn leaves_at(&mut self, v: Value, range: Range<usize>) -> Vec<Value> {
        match self.dots.get(&v) {
            Some(leaves) => leaves[range].to_vec(),
            None => self.leaves(v)[range].to_vec(),
        }
    }

    /// Returns the reaches of a range of leaves, as values.
    fn reaches_at(&mut self, v: Value, range: Range<usize>) -> Vec<Value> {
        let dots = self.leaves_at(v, range.clone());
        if !self.dots.contains_key(&v) {
            return dots;
        }
        let there = self.there.get(&v).map(|there| there[range].to_vec());
        let reach =
            |k: usize| there.as_ref().map_or(Reach::Nonzero, |there| Reach::Where(there[k]));
        dots.into_iter().enumerate().map(|(k, dot)| reach(k).value(&mut self.b, dot)).collect()
    }

    /// Returns the tangent of a value, if its kind has one.
    fn tangent(&mut self, v: Value) -> Option<Value> {
        let kind = self.f.kinds[v].tangent()?;
        let leaves = self.leaves(v);
        Some(close(&mut self.b, &kind, &mut leaves.into_iter()))
    }

    fn end(&mut self, end: &Terminator) {
        let f = self.f;
        if let Terminator::Return(v) = end {
            let parts: Vec<Value> =
                [Some(self.value(*v)), self.tangent(*v)].into_iter().flatten().collect();
            let kind = self.b.function().result.clone();
            let result = self.b.tuple(&parts, kind);
            return self.b.ret(result);
        }
        let mut end = end.clone();
        if let Terminator::Branch(v, ..) | Terminator::Switch(v, _) = &mut end {
            *v = self.value(*v);
        }
        for target in end.targets_mut() {
            let mut args: Vec<Value> = Vec::new();
            for (&a, &p) in target.args.iter().zip(&f.blocks[target.block].params) {
                args.push(self.value(a));
                if self.varied[p.index()] {
                    args.extend(self.leaves(a));
                    if self.wanted[p.index()] {
                        args.extend(self.reaches(a));
                    }
                }
            }
            *target = crate::ir::Target { block: self.blocks[target.block.index()], args };
        }
        self.b.end_with(end);
    }

    /// Appends a decomposition; the vectors of equal values are chosen such that they have
    /// derivatives along the tangent.
    fn decomposed(&mut self, op: ArrayOp, inst: &InstData, x: Value) -> Value {
        let along = if op == ArrayOp::Eigen { ArrayOp::EigenAlong } else { ArrayOp::SvdAlong };
        let dot = self.leaves(inst.args[0])[0];
        let dot = whole(&mut self.b, dot, x);
        self.b.on_arrays(along, &[x, dot])
    }

    fn instruction(&mut self, inst: &InstData) -> Result<(), DiffError> {
        let f = self.f;
        let args: Vec<Value> = inst.args.iter().map(|&a| self.value(a)).collect();
        // Tapes always carry tangents next to values, and reaches if they are needed.
        match inst.op {
            Op::Expect(_) => {
                self.b.effect(inst.op, &args);
                return Ok(());
            }
            Op::Push { tape, slot } => {
                self.b.effect(inst.op, &args);
                let mut leaves = self.leaves(inst.args[0]);
                if self.engine.slots.contains(&(tape, slot)) {
                    leaves.extend(self.reaches(inst.args[0]));
                }
                for leaf in leaves {
                    self.b.effect(Op::Push { tape, slot }, &[leaf]);
                }
                return Ok(());
            }
            Op::Pop { tape, slot } => {
                let Some(y) = inst.result else { return Ok(()) };
                let kinds = tangent_leaves(&f.kinds[y]);
                let mut popped = || {
                    let backwards = kinds.iter().rev();
                    let popped =
                        backwards.map(|k| self.b.inst(Op::Pop { tape, slot }, &[], k.clone()));
                    let popped: Vec<Value> = popped.collect();
                    popped.into_iter().rev().collect::<Vec<_>>()
                };
                let there =
                    if self.engine.slots.contains(&(tape, slot)) { popped() } else { Vec::new() };
                let leaves = popped();
                let v = self.b.inst(inst.op, &[], f.kinds[y].clone());
                self.values.insert(y, v);
                if !leaves.is_empty() {
                    self.dots.insert(y, leaves);
                }
                if !there.is_empty() {
                    self.there.insert(y, there);
                }
                return Ok(());
            }
            _ => {}
        }
        let Some(y) = inst.result else { return Ok(()) };
        let through = match inst.op {
            Op::Call(g) => match self.engine.program.rule(g) {
                Some(rule) if rule.non_differentiable => false,
                // A call that pushes to a tape must do so with tangents, even if no tangent flows
                // through it.
                _ => self.varied[y.index()] || self.engine.touching.contains(g),
            },
            _ => self.varied[y.index()],
        };
        if let (Op::Call(g), true) = (inst.op, through) {
            return self.call(inst, y, g, args);
        }
        let v = match (inst.op, through) {
            (Op::OnArrays(op @ (ArrayOp::Eigen | ArrayOp::Svd)), true) => {
                self.decomposed(op, inst, args[0])
            }
            _ => self.b.inst(inst.op, &args, f.kinds[y].clone()),
        };
        self.values.insert(y, v);
        if !through {
            return Ok(());
        }
        if self.wanted[y.index()] {
            let there = self.result_reach(inst, &args, v);
            self.there.extend(there.map(|there| (y, there)));
        }
        let leaves = match inst.op {
            Op::Tuple => inst.args.iter().flat_map(|&a| self.leaves(a)).collect(),
            Op::Field(k) => {
                let range = self.fields.range(inst.args[0], k as usize);
                self.leaves_at(inst.args[0], range)
            }
            Op::Select => {
                let (yes, no) = (self.leaves(inst.args[1]), self.leaves(inst.args[2]));
                self.selected(args[0], yes, no)
            }
            Op::Primitive(p) => {
                let Some(rule) = rule(&self.engine.program, inst.op, Mode::Forward) else {
                    let name = self.engine.program.primitives[p].name.clone();
                    return Err(self.missing(inst, &name));
                };
                let dot = self.by_rule(inst, args, v, rule)?;
                open(&mut self.b, dot)
            }
            op => {
                let dots: Vec<Option<Value>> = inst
                    .args
                    .iter()
                    .map(|a| self.dots.get(a).and_then(|d| d.first().copied()))
                    .collect();
                let asks = is_steep(op);
                let reach = |a: &Value| if asks { self.reach(*a).first().copied() } else { None };
                let reach: Vec<Reach> =
                    inst.args.iter().map(|a| reach(a).unwrap_or(Reach::Always)).collect();
                match pushforward(&mut self.b, op, &args, v, &dots, &reach) {
                    None => return Err(self.missing(inst, op.name())),
                    Some(None) => return Ok(()),
                    Some(Some(dot)) => vec![dot],
                }
            }
        };
        self.dots.insert(y, leaves);
        Ok(())
    }

    /// Selects between two values, leaf by leaf.
    fn selected(&mut self, condition: Value, yes: Vec<Value>, no: Vec<Value>) -> Vec<Value> {
        let select = |(a, b)| {
            let kind = self.b.kind(a).clone();
            self.b.inst(Op::Select, &[condition, a, b], kind)
        };
        yes.into_iter().zip(no).map(select).collect()
    }

    /// Returns the reach of the tangent of a result, leaf by leaf.
    fn result_reach(&mut self, inst: &InstData, args: &[Value], y: Value) -> Option<Vec<Value>> {
        Some(match inst.op {
            Op::Tuple => inst.args.iter().flat_map(|&a| self.reaches(a)).collect(),
            Op::Field(k) => {
                let range = self.fields.range(inst.args[0], k as usize);
                self.reaches_at(inst.args[0], range)
            }
            Op::Select => {
                let (yes, no) = (self.reaches(inst.args[1]), self.reaches(inst.args[2]));
                self.selected(args[0], yes, no)
            }
            Op::Primitive(_) | Op::Call(_) => {
                let leaves = open(&mut self.b, y);
                let from: Vec<Value> = inst.args.iter().flat_map(|&a| self.varying(a)).collect();
                let is_number = |kind: &Kind| kind.is_differentiable();
                let mut reaches = Vec::new();
                for leaf in leaves {
                    if is_number(&self.b.kind(leaf).clone()) {
                        reaches.push(self.any(&from, leaf));
                    }
                }
                reaches
            }
            op => {
                let mut there = Vec::new();
                for &a in &inst.args {
                    there.push(self.varying(a).first().copied());
                }
                vec![push_reach(&mut self.b, op, args, y, &there)?]
            }
        })
    }

    /// Returns the reaches of a value that has a tangent.
    fn varying(&mut self, v: Value) -> Vec<Value> {
        if self.dots.contains_key(&v) { self.reaches(v) } else { Vec::new() }
    }

    /// Returns a reach of all of `x`, if there is any.
    fn any(&mut self, from: &[Value], x: Value) -> Value {
        let parts: Vec<Value> =
            from.iter().map(|&there| everywhere(&mut self.b, there, x)).collect();
        let sum = parts.into_iter().reduce(|a, b| self.b.number2(Number2::Add, a, b));
        let kind = self.b.kind(x).clone();
        sum.unwrap_or_else(|| self.b.zero(&kind))
    }

    /// Translates `y = call g(…)`: by the rule of `g` if it has one, else by the pushforward of its
    /// body.
    fn call(
        &mut self,
        inst: &InstData,
        y: Value,
        g: FuncId,
        args: Vec<Value>,
    ) -> Result<(), DiffError> {
        let f = self.f;
        if let Some(rule) = rule(&self.engine.program, inst.op, Mode::Forward) {
            let v = self.b.inst(inst.op, &args, f.kinds[y].clone());
            self.values.insert(y, v);
            let dot = self.by_rule(inst, args, v, rule)?;
            let leaves = open(&mut self.b, dot);
            if self.wanted[y.index()] {
                let there = self.result_reach(inst, &[], v);
                self.there.extend(there.map(|there| (y, there)));
            }
            self.dots.insert(y, leaves);
            return Ok(());
        }
        let id = self.engine.id(g, false);
        let wanted = self.engine.wanted(g);
        let result = self.engine.program.functions[id].result.clone();
        let mut args = args;
        for &a in &inst.args {
            args.extend(self.tangent(a));
        }
        for (&a, _) in inst.args.iter().zip(wanted).filter(|(_, wanted)| *wanted) {
            let Some(kind) = self.f.kinds[a].tangent() else { continue };
            let mut there = self.reaches(a).into_iter();
            args.push(close(&mut self.b, &kind, &mut there));
        }
        let both = self.b.inst(Op::Call(id), &args, result);
        let v = self.b.field(both, 0);
        self.values.insert(y, v);
        if f.kinds[y].is_differentiable() {
            let dot = self.b.field(both, 1);
            let leaves = open(&mut self.b, dot);
            if self.wanted[y.index()] {
                let there = if self.engine.touching.contains(g) {
                    // A tangent may come from a tape.
                    Some(leaves.iter().map(|&dot| Reach::Nonzero.value(&mut self.b, dot)).collect())
                } else {
                    self.result_reach(inst, &[], v)
                };
                self.there.extend(there.map(|there| (y, there)));
            }
            self.dots.insert(y, leaves);
        }
        Ok(())
    }

    /// Computes the tangent of the result `v` of a function or primitive with a rule of its own.
    fn by_rule(
        &mut self,
        inst: &InstData,
        mut args: Vec<Value>,
        v: Value,
        rule: DerivativeRule,
    ) -> Result<Value, DiffError> {
        if rule.is_given {
            return Ok(self.by_pushforward(inst, args, rule.call, rule.result));
        }
        if *self.b.kind(v) == Kind::Real {
            return Ok(self.by_gradient(inst, &args, v, rule));
        }
        let name = name_of(&self.engine.program, inst.op);
        let id = match self.engine.transposed.get(&name) {
            Some(&id) => id,
            None => {
                let params: Vec<Kind> = args.iter().map(|&a| self.b.kind(a).clone()).collect();
                let (name, result, rule) = (name.as_str(), &self.b.kind(v).clone(), rule.call);
                let half = OneWayRule { name, params: &params, result, rule, pending: &[] };
                half.pushforward(&mut self.engine.program)?
            }
        };
        self.engine.transposed.insert(name, id);
        let result = self.engine.program.functions[id].result.clone();
        args.push(v);
        Ok(self.by_pushforward(inst, args, Op::Call(id), result))
    }

    /// Computes the tangent of a result that is one real number from a pullback: the cotangent of 1
    /// is the gradient.
    fn by_gradient(
        &mut self,
        inst: &InstData,
        args: &[Value],
        v: Value,
        rule: DerivativeRule,
    ) -> Value {
        let one = self.b.real(1.0);
        let given: Vec<Value> = args.iter().copied().chain([v, one]).collect();
        let gradient = self.b.inst(rule.call, &given, rule.result);
        let numbers = (0..args.len()).filter(|&k| self.f.kinds[inst.args[k]].is_differentiable());
        let mut sum = None;
        for (field, k) in numbers.enumerate() {
            let a = inst.args[k];
            if !self.dots.contains_key(&a) {
                continue;
            }
            let part = self.b.field(gradient, field);
            let (mut bars, mut dots) = (open(&mut self.b, part), self.leaves(a));
            let mut there = self.reaches(a);
            for leaves in [&mut bars, &mut dots, &mut there] {
                make_whole(&mut self.b, args[k], leaves);
            }
            for ((bar, dot), there) in bars.into_iter().zip(dots).zip(there) {
                let term = paired(&mut self.b, bar, dot, there);
                sum = Some(sum.map_or(term, |sum| self.b.number2(Number2::Add, sum, term)));
            }
        }
        sum.unwrap_or_else(|| self.b.real(0.0))
    }

    /// Calls a pushforward with the inputs and their full-length tangents. If no tangent flows to
    /// any of them, none flows on.
    fn by_pushforward(
        &mut self,
        inst: &InstData,
        mut args: Vec<Value>,
        rule: Op,
        result: Kind,
    ) -> Value {
        for (k, &a) in inst.args.iter().enumerate() {
            let Some(kind) = self.f.kinds[a].tangent() else { continue };
            let mut leaves = self.leaves(a);
            make_whole(&mut self.b, args[k], &mut leaves);
            args.push(close(&mut self.b, &kind, &mut leaves.into_iter()));
        }
        let dot = self.b.inst(rule, &args, result.clone());
        let from: Vec<Value> = inst.args.iter().flat_map(|&a| self.varying(a)).collect();
        let leaves = open(&mut self.b, dot).into_iter().map(|leaf| {
            let there = self.any(&from, leaf);
            self.b.number2(Number2::Guard, leaf, there)
        });
        let leaves: Vec<Value> = leaves.collect();
        close(&mut self.b, &result, &mut leaves.into_iter())
    }

    fn missing(&self, inst: &InstData, op: &str) -> DiffError {
        let (op, function) = (op.to_owned(), self.f.name.clone());
        let inputs: Vec<Kind> = inst.args.iter().map(|&a| self.f.kinds[a].clone()).collect();
        let mode = Mode::Forward;
        let signature =
            inst.result.map(|y| mode.signature(&inputs, &self.f.kinds[y])).unwrap_or_default();
        DiffError::MissingRule { op, signature, function, at: inst.at, mode }
    }
}
