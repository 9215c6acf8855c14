//! Programs, functions, blocks and instructions: plain data.
//!
//! A function owns three tables: its blocks (the first is the entry), its instructions and the
//! kinds of its values. A block lists its instructions by id, so that they can be inserted and
//! removed without moving others. What is listed nowhere is dead and goes away when the function is
//! [compacted](super::compact()).

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    fmt,
    hash::{Hash, Hasher},
};

use smallvec::SmallVec;

use crate::{
    array::ArrayError,
    entity::{Block, FuncId, Inst, PrimitiveId, Table, Value},
};

use super::{
    kind::{Element, Kind},
    op::Op,
};

/// A place in the source. Line 0 means that there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The function that was called there, where the instruction is a part of what it is made of:
    /// for messages alone.
    part_of: Option<&'static str>,
}

impl Position {
    /// The given line and column.
    #[must_use]
    pub fn new(line: u32, column: u32) -> Position {
        Position { line, column, part_of: None }
    }
    /// The same place, for parts of a function that is made of several operations.
    pub(crate) fn within(self, name: &'static str) -> Position {
        Position { part_of: self.part_of.or(Some(name)), ..self }
    }
    /// An error with the name of the function that was called here.
    pub(crate) fn explain(self, source: ArrayError) -> ArrayError {
        match (self.part_of, source) {
            (Some(_), source @ (ArrayError::Memory { .. } | ArrayError::Undecided { .. })) => {
                source
            }
            (Some(name), source) => ArrayError::Within { name, source: Box::new(source) },
            (None, source) => source,
        }
    }
    /// Whether it says anything.
    #[must_use]
    pub fn is_known(self) -> bool {
        self.line > 0
    }
    /// This place, or the other one if this says nothing.
    pub(crate) fn or(self, other: Position) -> Position {
        if self.is_known() { self } else { other }
    }
}

impl PartialEq for Position {
    fn eq(&self, other: &Position) -> bool {
        (self.line, self.column) == (other.line, other.column)
    }
}

impl Eq for Position {}

impl Hash for Position {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.line, self.column).hash(state);
    }
}

impl PartialOrd for Position {
    fn partial_cmp(&self, other: &Position) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Position {
    fn cmp(&self, other: &Position) -> Ordering {
        (self.line, self.column).cmp(&(other.line, other.column))
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_known() {
            write!(f, "{}:{}", self.line, self.column)
        } else {
            f.write_str("unknown place")
        }
    }
}

/// One instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct InstData {
    /// What it does.
    pub op: Op,
    /// Its operands.
    pub args: SmallVec<[Value; 3]>,
    /// What it defines.
    pub result: Option<Value>,
    /// Where it came from.
    pub at: Position,
}

impl InstData {
    /// The list of lengths that stands in the place of an array whose shape alone counts.
    pub(crate) fn shape_list(&self, f: &Function) -> Option<Value> {
        let takes_shape = matches!(self.op, Op::OnArrays(op) if op.takes_shape());
        let form = self.args.get(1).filter(|_| takes_shape)?;
        (f.kinds[*form] == Kind::Array(Element::Int)).then_some(*form)
    }
}

/// A jump's target and the values of its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// Where to.
    pub block: Block,
    /// One value for each of its parameters.
    pub args: Vec<Value>,
}

impl Target {
    /// A jump without arguments.
    #[must_use]
    pub fn new(block: Block, args: Vec<Value>) -> Target {
        Target { block, args }
    }
}

/// How a block ends.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Terminator {
    /// Not yet: only while the function is under construction.
    #[default]
    Open,
    /// Goes on there.
    Jump(Target),
    /// Goes to the first target if the condition holds, else to the second.
    Branch(Value, Target, Target),
    /// Goes to the k-th target, k being the integer.
    Switch(Value, Vec<Target>),
    /// Ends the call with this value.
    Return(Value),
}

impl Terminator {
    /// The targets in order.
    #[must_use]
    pub fn targets(&self) -> SmallVec<[&Target; 2]> {
        match self {
            Terminator::Jump(t) => SmallVec::from_slice(&[t]),
            Terminator::Branch(_, a, b) => SmallVec::from_slice(&[a, b]),
            Terminator::Switch(_, targets) => targets.iter().collect(),
            Terminator::Open | Terminator::Return(_) => SmallVec::new(),
        }
    }

    /// The targets in order, to be changed.
    pub fn targets_mut(&mut self) -> Vec<&mut Target> {
        match self {
            Terminator::Jump(t) => vec![t],
            Terminator::Branch(_, a, b) => vec![a, b],
            Terminator::Switch(_, targets) => targets.iter_mut().collect(),
            Terminator::Open | Terminator::Return(_) => vec![],
        }
    }

    /// The value it looks at itself: a condition, an index or a result.
    #[must_use]
    pub fn operand(&self) -> Option<Value> {
        match self {
            Terminator::Branch(v, ..) | Terminator::Switch(v, _) | Terminator::Return(v) => {
                Some(*v)
            }
            Terminator::Open | Terminator::Jump(_) => None,
        }
    }

    /// Replaces every value by `f` of it.
    pub fn map_values(&mut self, mut f: impl FnMut(Value) -> Value) {
        if let Terminator::Branch(v, ..) | Terminator::Switch(v, _) | Terminator::Return(v) = self {
            *v = f(*v);
        }
        for target in self.targets_mut() {
            target.args.iter_mut().for_each(|v| *v = f(*v));
        }
    }
}

/// A basic block.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BlockData {
    /// Its parameters: what each edge into it hands over.
    pub params: Vec<Value>,
    /// Its instructions in order.
    pub insts: Vec<Inst>,
    /// How it ends.
    pub end: Terminator,
    /// Where its end came from.
    pub end_at: Position,
}

/// One way into a block: the `index`-th target of block `from`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Edge {
    /// The block it leaves.
    pub from: Block,
    /// Which of its targets.
    pub index: usize,
}

/// A parameter of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its name, for people.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

impl Param {
    /// A parameter.
    pub fn new(name: impl Into<String>, kind: Kind) -> Param {
        Param { name: name.into(), kind }
    }
}

/// A function.
///
/// Two are equal if their texts are but for the numbers of values: what is listed in no block does
/// not count.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its parameters. Their values are the parameters of the entry block.
    pub params: Vec<Param>,
    /// What it returns.
    pub result: Kind,
    /// Its blocks; the first is the entry. Empty: declared and not yet defined.
    pub blocks: Table<Block, BlockData>,
    /// Its instructions.
    pub insts: Table<Inst, InstData>,
    /// The kinds of its values.
    pub kinds: Table<Value, Kind>,
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        if (&self.name, &self.params, &self.result) != (&other.name, &other.params, &other.result)
            || self.blocks.len() != other.blocks.len()
        {
            return false;
        }
        let mut pairs = Pairs::default();
        for (a, b) in self.blocks.values().zip(other.blocks.values()) {
            if a.params.len() != b.params.len()
                || a.insts.len() != b.insts.len()
                || a.end_at != b.end_at
            {
                return false;
            }
            let results = a.insts.iter().zip(&b.insts).map(|(&i, &j)| {
                let result =
                    |f: &Function, i| f.insts.get(i).and_then(|inst: &InstData| inst.result);
                (result(self, i), result(other, j))
            });
            let params = a.params.iter().zip(&b.params).map(|(&v, &w)| (Some(v), Some(w)));
            for pair in params.chain(results) {
                let same = match pair {
                    (Some(v), Some(w)) => {
                        self.kinds.get(v) == other.kinds.get(w) && pairs.define(v, w)
                    }
                    pair => pair == (None, None),
                };
                if !same {
                    return false;
                }
            }
        }
        let mut blocks = self.blocks.values().zip(other.blocks.values());
        blocks.all(|(a, b)| {
            let mut insts = a
                .insts
                .iter()
                .zip(&b.insts)
                .map(|(&i, &j)| (self.insts.get(i), other.insts.get(j)));
            insts.all(|pair| match pair {
                (Some(a), Some(b)) => a.op == b.op && a.at == b.at && pairs.are(&a.args, &b.args),
                pair => pair == (None, None),
            }) && pairs.end(&a.end, &b.end)
        })
    }
}

/// Which value of one function is which of another.
#[derive(Default)]
struct Pairs([HashMap<Value, Value>; 2]);

impl Pairs {
    fn define(&mut self, v: Value, w: Value) -> bool {
        let [there, back] = &mut self.0;
        *there.entry(v).or_insert(w) == w && *back.entry(w).or_insert(v) == v
    }
    /// What is defined nowhere is like everything else that is not.
    fn are(&self, a: &[Value], b: &[Value]) -> bool {
        let same = |(v, w): (&Value, &Value)| match self.0[0].get(v) {
            Some(pair) => pair == w,
            None => !self.0[1].contains_key(w),
        };
        a.len() == b.len() && a.iter().zip(b).all(same)
    }
    fn end(&self, a: &Terminator, b: &Terminator) -> bool {
        let targets = (a.targets(), b.targets());
        std::mem::discriminant(a) == std::mem::discriminant(b)
            && self.are(a.operand().as_slice(), b.operand().as_slice())
            && targets.0.len() == targets.1.len()
            && targets
                .0
                .iter()
                .zip(&targets.1)
                .all(|(s, t)| s.block == t.block && self.are(&s.args, &t.args))
    }
}

/// The first block of every function.
pub(crate) const ENTRY: Block = Block::new(0);

impl Function {
    /// A function without a body.
    pub fn declared(name: impl Into<String>, params: Vec<Param>, result: Kind) -> Function {
        Function {
            name: name.into(),
            params,
            result,
            blocks: Table::new(),
            insts: Table::new(),
            kinds: Table::new(),
        }
    }

    /// Takes away where everything came from.
    pub(crate) fn forget_places(&mut self) {
        self.insts.values_mut().for_each(|inst| inst.at = Position::default());
        self.blocks.values_mut().for_each(|block| block.end_at = Position::default());
    }

    /// Whether it has a body.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// The values of its parameters.
    #[must_use]
    pub fn param_values(&self) -> &[Value] {
        self.blocks.get(ENTRY).map_or(&[], |b| &b.params)
    }

    /// A new value of the given kind. Something must define it.
    pub fn new_value(&mut self, kind: Kind) -> Value {
        self.kinds.push(kind)
    }

    /// A new instruction, not yet in a block. It defines a value unless `kind` is `None`.
    pub fn new_inst(
        &mut self,
        op: Op,
        args: &[Value],
        kind: Option<Kind>,
        at: Position,
    ) -> (Inst, Option<Value>) {
        let result = kind.map(|k| self.new_value(k));
        (self.insts.push(InstData { op, args: SmallVec::from_slice(args), result, at }), result)
    }

    /// Looks up the instruction that defines a value; `None` for a block parameter.
    /// O(instructions).
    #[must_use]
    pub fn definition(&self, value: Value) -> Option<&InstData> {
        let listed = self.blocks.values().flat_map(|b| &b.insts);
        listed.map(|&i| &self.insts[i]).find(|i| i.result == Some(value))
    }

    /// For each value the op that defines it, where an instruction does. O(instructions).
    #[must_use]
    pub fn definitions(&self) -> Vec<Option<Inst>> {
        let mut by = vec![None; self.kinds.len()];
        for block in self.blocks.values() {
            for &inst in &block.insts {
                if let Some(v) = self.insts[inst].result {
                    by[v.index()] = Some(inst);
                }
            }
        }
        by
    }

    /// The edges into each block, in the order of the blocks they leave.
    #[must_use]
    pub fn predecessors(&self) -> Vec<Vec<Edge>> {
        let mut edges = vec![Vec::new(); self.blocks.len()];
        for (from, block) in self.blocks.iter() {
            for (index, target) in block.end.targets().into_iter().enumerate() {
                if let Some(into) = edges.get_mut(target.block.index()) {
                    into.push(Edge { from, index });
                }
            }
        }
        edges
    }

    /// The functions it calls, each once, in order of the first call.
    #[must_use]
    pub fn callees(&self) -> Vec<FuncId> {
        let (mut callees, mut seen) = (Vec::new(), HashSet::new());
        for block in self.blocks.values() {
            for &inst in &block.insts {
                if let Some(Op::Call(f)) = self.insts.get(inst).map(|inst| inst.op)
                    && seen.insert(f)
                {
                    callees.push(f);
                }
            }
        }
        callees
    }

    /// How many instructions its blocks hold.
    #[must_use]
    pub fn size(&self) -> usize {
        self.blocks.values().map(|b| b.insts.len()).sum()
    }

    /// Replaces every use of a value by `f` of it.
    pub fn map_uses(&mut self, mut f: impl FnMut(Value) -> Value) {
        let Function { blocks, insts, .. } = self;
        for block in blocks.values_mut() {
            for &inst in &block.insts {
                insts[inst].args.iter_mut().for_each(|v| *v = f(*v));
            }
            block.end.map_values(&mut f);
        }
    }
}

/// What the rules know about a function besides its body.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CustomRule {
    /// `(inputs…, result, cotangent of the result) -> cotangents of the inputs that have one`, a
    /// tuple.
    pub pullback: Option<FuncId>,
    /// `(inputs…, tangents of the inputs that have one…) -> tangent of the result`.
    pub pushforward: Option<FuncId>,
    /// Nothing flows back through it: it counts as constant.
    pub non_differentiable: bool,
}

impl CustomRule {
    /// Whether it says nothing: derivatives are those of the body.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pullback.is_none() && self.pushforward.is_none() && !self.non_differentiable
    }
}

/// A function that the host computes.
#[derive(Clone, PartialEq, Debug)]
pub struct Primitive {
    /// Its name.
    pub name: String,
    /// The kinds of its operands.
    pub params: Vec<Kind>,
    /// What it gives.
    pub result: Kind,
    /// The primitive
    /// `(inputs…, result, cotangent of the result) -> cotangents of the inputs that have one`, a
    /// tuple.
    pub pullback: Option<PrimitiveId>,
    /// The primitive `(inputs…, tangents of the inputs that have one…) -> tangent of the result`.
    pub pushforward: Option<PrimitiveId>,
}

/// A set of functions that call each other, and the primitives they call.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// The functions.
    pub functions: Table<FuncId, Function>,
    /// The primitives.
    pub primitives: Table<PrimitiveId, Primitive>,
    rules: HashMap<FuncId, CustomRule>,
    names: HashMap<String, FuncId>,
}

impl Program {
    /// A program without functions.
    #[must_use]
    pub fn new() -> Program {
        Program::default()
    }

    /// Adds a function under its name. A later one of the same name hides the earlier.
    pub fn add(&mut self, function: Function) -> FuncId {
        let name = function.name.clone();
        let id = self.functions.push(function);
        self.names.insert(name, id);
        id
    }

    /// Gives a function another name. Under its old one it is not found any more, under the new one
    /// no other is.
    pub fn rename(&mut self, f: FuncId, name: &str) {
        let function = &mut self.functions[f];
        if self.names.get(&function.name) == Some(&f) {
            self.names.remove(&function.name);
        }
        name.clone_into(&mut function.name);
        self.names.insert(name.to_owned(), f);
    }

    /// The function of the given name.
    #[must_use]
    pub fn lookup(&self, name: &str) -> Option<FuncId> {
        self.names.get(name).copied()
    }

    /// The function of the given name whose parameters have the given kinds.
    #[must_use]
    pub fn lookup_signature(&self, name: &str, params: &[Kind]) -> Option<FuncId> {
        self.lookup(name).filter(|&f| self.functions[f].params.iter().map(|p| &p.kind).eq(params))
    }

    /// The primitive of the given name.
    #[must_use]
    pub fn lookup_primitive(&self, name: &str) -> Option<PrimitiveId> {
        self.primitives.iter().find(|(_, p)| p.name == name).map(|(id, _)| id)
    }

    /// A name that no function has: `base`, or `base2`, `base3`, …
    #[must_use]
    pub fn fresh_name(&self, base: &str) -> String {
        let mut name = base.to_owned();
        let mut k = 2;
        while self.names.contains_key(&name) {
            name = format!("{base}{k}");
            k += 1;
        }
        name
    }

    /// What is known about a function besides its body.
    #[must_use]
    pub fn rule(&self, f: FuncId) -> Option<&CustomRule> {
        self.rules.get(&f)
    }

    /// Gives a function a rule of its own.
    pub fn set_rule(&mut self, f: FuncId, rule: CustomRule) {
        self.rules.insert(f, rule);
    }

    /// Takes a function's own rule away: its derivative is that of its body again.
    pub fn remove_rule(&mut self, f: FuncId) -> Option<CustomRule> {
        self.rules.remove(&f)
    }

    /// The functions that `root` reaches by calls and by their rules, `root` first.
    #[must_use]
    pub fn reachable(&self, root: FuncId) -> Vec<FuncId> {
        let (mut reached, mut seen) = (vec![root], HashSet::from([root]));
        let mut next = 0;
        while let Some(&f) = reached.get(next) {
            next += 1;
            reached.extend(self.calls(f).into_iter().filter(|g| seen.insert(*g)));
        }
        reached
    }

    /// The functions that a function calls, and those of its rule.
    pub(crate) fn calls(&self, f: FuncId) -> Vec<FuncId> {
        let mut calls = self.functions.get(f).map(Function::callees).unwrap_or_default();
        let rule = self.rules.get(&f).into_iter();
        calls.extend(rule.flat_map(|r| r.pullback.into_iter().chain(r.pushforward)));
        calls
    }
}
