//! Programs, functions, blocks and instructions: plain data.
//!
//! A function owns three tables: its blocks (the first is the entry), its instructions and the
//! kinds of its values. A block lists its instructions by id, so that they can be inserted and
//! removed without moving others. An instruction that no block lists is dead and is dropped when
//! the function is [compacted](super::compact()).

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

/// Position in the source. Line 0 means unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Function of the language that was called there, if the instruction is one of several that
    /// implement it: for messages alone.
    part_of: Option<&'static str>,
}

impl Position {
    /// Creates the position of a line and a column.
    #[must_use]
    pub fn new(line: u32, column: u32) -> Position {
        Position { line, column, part_of: None }
    }
    /// Returns the same position with the name of a function that is implemented by several
    /// operations.
    pub(crate) fn within(self, name: &'static str) -> Position {
        Position { part_of: self.part_of.or(Some(name)), ..self }
    }
    /// Returns the error with the name of the function that was called here.
    #[doc(hidden)]
    pub fn explain(self, source: ArrayError) -> ArrayError {
        match (self.part_of, source) {
            (Some(_), source @ (ArrayError::Memory { .. } | ArrayError::Undecided { .. })) => {
                source
            }
            (Some(name), source) => ArrayError::Within { name, source: Box::new(source) },
            (None, source) => source,
        }
    }
    /// Returns true if the position is known.
    #[must_use]
    pub fn is_known(self) -> bool {
        self.line > 0
    }
    /// Returns this position, or the other one if this one is unknown.
    #[doc(hidden)]
    pub fn or(self, other: Position) -> Position {
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
    /// Operation.
    pub op: Op,
    /// Operands.
    pub args: SmallVec<[Value; 3]>,
    /// Value that it defines.
    pub result: Option<Value>,
    /// Position in the source.
    pub at: Position,
}

impl InstData {
    /// Returns the list of lengths that is the operand in place of an array of which only the shape
    /// matters.
    #[doc(hidden)]
    pub fn shape_list(&self, f: &Function) -> Option<Value> {
        let takes_shape = matches!(self.op, Op::OnArrays(op) if op.takes_shape());
        let form = self.args.get(1).filter(|_| takes_shape)?;
        (f.kinds[*form] == Kind::Array(Element::Int)).then_some(*form)
    }
}

/// Target of a jump and the arguments for its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// Block that is jumped to.
    pub block: Block,
    /// One argument for each of its parameters.
    pub args: Vec<Value>,
}

impl Target {
    /// Creates a jump with the given arguments.
    #[must_use]
    pub fn new(block: Block, args: Vec<Value>) -> Target {
        Target { block, args }
    }
}

/// Terminator of a block.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Terminator {
    /// Missing: only while the function is under construction.
    #[default]
    Open,
    /// Jump.
    Jump(Target),
    /// Branch: to the first target if the condition holds, else to the second.
    Branch(Value, Target, Target),
    /// Switch: to the k-th target, k being the integer.
    Switch(Value, Vec<Target>),
    /// Return of the value.
    Return(Value),
}

impl Terminator {
    /// Returns the targets in order.
    #[must_use]
    pub fn targets(&self) -> SmallVec<[&Target; 2]> {
        match self {
            Terminator::Jump(t) => SmallVec::from_slice(&[t]),
            Terminator::Branch(_, a, b) => SmallVec::from_slice(&[a, b]),
            Terminator::Switch(_, targets) => targets.iter().collect(),
            Terminator::Open | Terminator::Return(_) => SmallVec::new(),
        }
    }

    /// Returns the targets in order, mutably.
    pub fn targets_mut(&mut self) -> Vec<&mut Target> {
        match self {
            Terminator::Jump(t) => vec![t],
            Terminator::Branch(_, a, b) => vec![a, b],
            Terminator::Switch(_, targets) => targets.iter_mut().collect(),
            Terminator::Open | Terminator::Return(_) => vec![],
        }
    }

    /// Returns the value that the terminator itself reads: a condition, an index or a result.
    #[must_use]
    pub fn operand(&self) -> Option<Value> {
        match self {
            Terminator::Branch(v, ..) | Terminator::Switch(v, _) | Terminator::Return(v) => {
                Some(*v)
            }
            Terminator::Open | Terminator::Jump(_) => None,
        }
    }

    /// Replaces every value `v` by `f(v)`.
    pub(crate) fn map_values(&mut self, mut f: impl FnMut(Value) -> Value) {
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
    /// Parameters, for which each edge into the block passes an argument.
    pub params: Vec<Value>,
    /// Instructions in order.
    pub insts: Vec<Inst>,
    /// Terminator.
    pub end: Terminator,
    /// Source position of the terminator.
    pub end_at: Position,
}

/// Edge into a block: the `index`-th target of block `from`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Edge {
    /// Block that it leaves.
    pub from: Block,
    /// Index among the targets of that block.
    pub index: usize,
}

/// A parameter of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// Name, for people.
    pub name: String,
    /// Kind.
    pub kind: Kind,
}

impl Param {
    /// Creates a parameter.
    pub fn new(name: impl Into<String>, kind: Kind) -> Param {
        Param { name: name.into(), kind }
    }
}

/// A function.
///
/// Two are equal if their texts are, up to the numbers of values: instructions that no block lists
/// do not count.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name.
    pub name: String,
    /// Parameters. Their values are the parameters of the entry block.
    pub params: Vec<Param>,
    /// Kind of the result.
    pub result: Kind,
    /// Blocks; the first is the entry. Empty if the function is declared and not yet defined.
    pub blocks: Table<Block, BlockData>,
    /// Instructions.
    pub insts: Table<Inst, InstData>,
    /// Kinds of its values.
    pub kinds: Table<Value, Kind>,
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        if (&self.name, &self.params, &self.result) != (&other.name, &other.params, &other.result)
            || self.blocks.len() != other.blocks.len()
        {
            return false;
        }
        let mut pairs = ValueBijection::default();
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

/// Bijection between the values of two functions, in both directions.
#[derive(Default)]
struct ValueBijection([HashMap<Value, Value>; 2]);

impl ValueBijection {
    fn define(&mut self, v: Value, w: Value) -> bool {
        let [there, back] = &mut self.0;
        *there.entry(v).or_insert(w) == w && *back.entry(w).or_insert(v) == v
    }
    /// Undefined values count as equal to each other.
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
#[doc(hidden)]
pub const ENTRY: Block = Block::new(0);

impl Function {
    /// Creates a function without a body.
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

    /// Drops all source positions.
    pub(crate) fn forget_places(&mut self) {
        self.insts.values_mut().for_each(|inst| inst.at = Position::default());
        self.blocks.values_mut().for_each(|block| block.end_at = Position::default());
    }

    /// Returns true if the function has a body.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Returns the values of the parameters.
    #[must_use]
    pub fn param_values(&self) -> &[Value] {
        self.blocks.get(ENTRY).map_or(&[], |b| &b.params)
    }

    /// Creates a value of the given kind. An instruction or a block parameter must define it.
    pub fn new_value(&mut self, kind: Kind) -> Value {
        self.kinds.push(kind)
    }

    /// Creates an instruction, not yet in a block. It defines a value unless `kind` is `None`.
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

    /// Returns the instruction that defines a value; `None` for a block parameter. O(instructions).
    #[must_use]
    pub fn definition(&self, value: Value) -> Option<&InstData> {
        let listed = self.blocks.values().flat_map(|b| &b.insts);
        listed.map(|&i| &self.insts[i]).find(|i| i.result == Some(value))
    }

    /// Returns the instruction that defines each value, `None` for block parameters.
    /// O(instructions).
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

    /// Returns the edges into each block, in the order of the blocks that they leave.
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

    /// Returns the functions that it calls, each once, in order of the first call.
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

    /// Returns the number of instructions in its blocks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.blocks.values().map(|b| b.insts.len()).sum()
    }

    /// Replaces every use of a value `v` by `f(v)`.
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

/// Differentiation rule of a function, which takes precedence over its body.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CustomRule {
    /// `(inputs…, result, cotangent of the result) -> cotangents of the inputs that have one`, a
    /// tuple.
    pub pullback: Option<FuncId>,
    /// `(inputs…, tangents of the inputs that have one…) -> tangent of the result`.
    pub pushforward: Option<FuncId>,
    /// True if no derivative flows through it: the result counts as constant.
    pub non_differentiable: bool,
}

impl CustomRule {
    /// Returns true if the rule is empty: derivatives are those of the body.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pullback.is_none() && self.pushforward.is_none() && !self.non_differentiable
    }
}

/// Primitive: a function that the host computes.
#[derive(Clone, PartialEq, Debug)]
pub struct Primitive {
    /// Name.
    pub name: String,
    /// Kinds of the operands.
    pub params: Vec<Kind>,
    /// Kind of the result.
    pub result: Kind,
    /// Primitive
    /// `(inputs…, result, cotangent of the result) -> cotangents of the inputs that have one`, a
    /// tuple.
    pub pullback: Option<PrimitiveId>,
    /// Primitive `(inputs…, tangents of the inputs that have one…) -> tangent of the result`.
    pub pushforward: Option<PrimitiveId>,
}

/// Set of functions that call each other, and the primitives that they call.
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
    /// Creates a program without functions.
    #[must_use]
    pub fn new() -> Program {
        Program::default()
    }

    /// Adds a function under its name. A later one of the same name shadows the earlier.
    pub fn add(&mut self, function: Function) -> FuncId {
        let name = function.name.clone();
        let id = self.functions.push(function);
        self.names.insert(name, id);
        id
    }

    /// Renames a function. Lookups of the old name no longer find it; lookups of the new name find
    /// only this function.
    pub fn rename(&mut self, f: FuncId, name: &str) {
        let function = &mut self.functions[f];
        if self.names.get(&function.name) == Some(&f) {
            self.names.remove(&function.name);
        }
        name.clone_into(&mut function.name);
        self.names.insert(name.to_owned(), f);
    }

    /// Returns the function of the given name.
    #[must_use]
    pub fn lookup(&self, name: &str) -> Option<FuncId> {
        self.names.get(name).copied()
    }

    /// Returns the function of the given name whose parameters have the given kinds.
    #[must_use]
    pub fn lookup_signature(&self, name: &str, params: &[Kind]) -> Option<FuncId> {
        self.lookup(name).filter(|&f| self.functions[f].params.iter().map(|p| &p.kind).eq(params))
    }

    /// Returns the primitive of the given name.
    #[must_use]
    pub fn lookup_primitive(&self, name: &str) -> Option<PrimitiveId> {
        self.primitives.iter().find(|(_, p)| p.name == name).map(|(id, _)| id)
    }

    /// Returns a name that no function has: `base`, or `base2`, `base3`, …
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

    /// Returns the differentiation rule of a function.
    #[must_use]
    pub fn rule(&self, f: FuncId) -> Option<&CustomRule> {
        self.rules.get(&f)
    }

    /// Sets the differentiation rule of a function.
    pub fn set_rule(&mut self, f: FuncId, rule: CustomRule) {
        self.rules.insert(f, rule);
    }

    /// Removes the differentiation rule of a function: its derivative is that of its body again.
    pub fn remove_rule(&mut self, f: FuncId) -> Option<CustomRule> {
        self.rules.remove(&f)
    }

    /// Returns the functions that `root` reaches by calls and by their rules, `root` first.
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

    /// Returns the functions that a function calls, and those of its rule.
    pub(crate) fn calls(&self, f: FuncId) -> Vec<FuncId> {
        let mut calls = self.functions.get(f).map(Function::callees).unwrap_or_default();
        let rule = self.rules.get(&f).into_iter();
        calls.extend(rule.flat_map(|r| r.pullback.into_iter().chain(r.pushforward)));
        calls
    }
}
