//! Builds a function block by block, with variables that turn into values on the fly.
//!
//! A front end declares a [`Variable`], defines it as often as it likes and uses it anywhere; the
//! builder finds the value that reaches the use and adds block parameters where several do:
//!
//! ```
//! use ketgrad_core::ir::{Compare, FunctionBuilder, Int2, Kind, Number2, Op, Param};
//!
//! // fn power(x, n: int) { let mut p = 1.0; let mut i = 0; while i < n { p *= x; i += 1 } p }
//! let mut b = FunctionBuilder::new("power", vec![Param::new("x", Kind::Real), Param::new("n", Kind::Int)], Kind::Real);
//! let (x, n) = (b.param(0), b.param(1));
//! let (p, i) = (b.declare(Kind::Real), b.declare(Kind::Int));
//! let (one, zero) = (b.real(1.0), b.int(0));
//! b.define(p, one);
//! b.define(i, zero);
//! let (head, body, exit) = (b.create_block(), b.create_block(), b.create_block());
//! b.jump(head, &[]);
//! b.switch_to(head); // not sealed yet: the edge back from the body is still missing
//! let count = b.use_variable(i);
//! let more = b.inst(Op::CompareInt(Compare::Lt), &[count, n], Kind::Bool);
//! b.branch(more, body, exit);
//! b.seal(body);
//! b.switch_to(body);
//! let product = b.use_variable(p);
//! let product = b.number2(Number2::Mul, product, x);
//! b.define(p, product);
//! let step = b.int(1);
//! let count = b.inst(Op::Int2(Int2::Add), &[count, step], Kind::Int);
//! b.define(i, count);
//! b.jump(head, &[]);
//! b.seal(head);
//! b.seal(exit);
//! b.switch_to(exit);
//! let p = b.use_variable(p);
//! b.ret(p);
//! let power = b.finish();
//! assert_eq!(power.blocks.len(), 4);
//! ```
//!
//! A block is *sealed* once no further edge will lead into it. The search for a variable's value is
//! a loop, not a recursion, so programs of any length do not exhaust the stack.
//!
//! Source: M. Braun et al., "Simple and efficient construction of static single assignment form"
//! (2013). Trivial block parameters are removed at the end, all at once.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::entity::{Block, Inst, SideTable, Table, Value, Variable};

use super::{
    arrays::ArrayOp,
    compact::{compact, remove_trivial_params},
    function::{BlockData, ENTRY, Edge, Function, InstData, Param, Position, Target, Terminator},
    kind::{Element, Kind},
    op::{Literal, Mixed, Number1, Number2, Op},
};

/// A function under construction.
#[derive(Debug)]
pub struct FunctionBuilder {
    function: Function,
    current: Block,
    at: Position,
    variables: Table<Variable, Kind>,
    /// The values of variables that have one for good.
    constant: HashMap<Variable, Value>,
    definitions: HashMap<(Block, Variable), Value>,
    predecessors: SideTable<Block, SmallVec<[Edge; 2]>>,
    sealed: SideTable<Block, bool>,
    /// Parameters of unsealed blocks whose arguments are not known yet.
    incomplete: SideTable<Block, Vec<(Variable, Value)>>,
    constants: HashMap<(Block, Op), Value>,
    /// The instruction that defines each value, if one does.
    defined_by: SideTable<Value, Option<Inst>>,
    /// Instructions at the front of each block of the finished function, in reverse order.
    fronts: SideTable<Block, Vec<Inst>>,
    /// Size so far, as returned by [`FunctionBuilder::size`], and its maximum.
    size: usize,
    most: usize,
}

impl FunctionBuilder {
    /// Starts a function; the current block is its entry.
    #[must_use]
    pub fn new(name: impl Into<String>, params: Vec<Param>, result: Kind) -> FunctionBuilder {
        let kinds: Vec<Kind> = params.iter().map(|p| p.kind.clone()).collect();
        let mut b = FunctionBuilder {
            function: Function::declared(name, params, result),
            current: ENTRY,
            at: Position::default(),
            variables: Table::new(),
            constant: HashMap::new(),
            definitions: HashMap::new(),
            predecessors: SideTable::new(SmallVec::new()),
            sealed: SideTable::new(false),
            incomplete: SideTable::new(Vec::new()),
            constants: HashMap::new(),
            defined_by: SideTable::new(None),
            fronts: SideTable::new(Vec::new()),
            size: 0,
            most: usize::MAX,
        };
        let entry = b.create_block();
        for kind in kinds {
            b.block_param(entry, kind);
        }
        b.seal(entry);
        b
    }

    /// Builds a function that only applies one instruction to all its parameters: a call of a
    /// function or a primitive.
    #[must_use]
    pub fn caller(name: impl Into<String>, params: Vec<Param>, result: Kind, op: Op) -> Function {
        let mut b = FunctionBuilder::new(name, params, result.clone());
        let args = b.params().to_vec();
        let y = b.inst(op, &args, result);
        b.ret(y);
        b.finish()
    }

    /// Returns the value of the k-th parameter.
    #[must_use]
    pub fn param(&self, k: usize) -> Value {
        self.function.param_values()[k]
    }

    /// Returns the values of all parameters.
    #[must_use]
    pub fn params(&self) -> &[Value] {
        self.function.param_values()
    }

    /// Returns the kind of a value.
    #[must_use]
    pub fn kind(&self, value: Value) -> &Kind {
        &self.function.kinds[value]
    }

    /// Returns the function so far.
    #[must_use]
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// Returns the size so far: instructions, operands, block parameters and their arguments, and
    /// each block that was searched for the value of a variable; a tuple counts as its leaves.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Sets the [size](FunctionBuilder::size) above which the values of variables are no longer
    /// passed to blocks. A function of that size is useless, so the caller has to check its size.
    pub(crate) fn set_most(&mut self, size: usize) {
        self.most = size;
    }

    fn grow(&mut self, kind: &Kind, operands: usize) {
        self.size += 1 + operands + if let Kind::Tuple(_) = kind { kind.extent() } else { 0 };
    }

    /// Sets the kind of the result, where it was not known at the start.
    pub fn set_result(&mut self, kind: Kind) {
        self.function.result = kind;
    }

    /// Returns the op that defines a value, if an instruction does. O(1).
    pub(crate) fn op_of(&self, value: Value) -> Option<Op> {
        self.defined_by[value].map(|i| self.function.insts[i].op)
    }

    /// Returns the number that a value is, if it is a constant (also a promoted one).
    pub(crate) fn constant(&self, value: Value) -> Option<f64> {
        let inst = &self.function.insts[self.defined_by[value]?];
        match inst.op {
            Op::Real(Literal(x)) => Some(x),
            Op::Mixed(Mixed::Promote) => self.constant(inst.args[0]),
            _ => None,
        }
    }

    /// Returns true if a value is an array literal without elements.
    pub(crate) fn is_empty_array(&self, value: Value) -> bool {
        self.defined_by[value].is_some_and(|i| {
            let inst = &self.function.insts[i];
            inst.op == Op::Array && inst.args.is_empty()
        })
    }

    // Blocks.

    /// Creates a block, empty and not sealed.
    pub fn create_block(&mut self) -> Block {
        self.function.blocks.push(BlockData::default())
    }

    /// Returns the block to which instructions are appended.
    #[must_use]
    pub fn current(&self) -> Block {
        self.current
    }

    /// Makes a block the current one, to which instructions are appended.
    pub fn switch_to(&mut self, block: Block) {
        self.current = block;
    }

    /// Returns true if the current block has its terminator.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.function.blocks[self.current].end != Terminator::Open
    }

    /// Adds a parameter to a block. Every jump to the block passes its value.
    pub fn block_param(&mut self, block: Block, kind: Kind) -> Value {
        self.grow(&kind, 0);
        let v = self.function.new_value(kind);
        self.function.blocks[block].params.push(v);
        v
    }

    /// Seals a block: no further edge will lead into it.
    pub fn seal(&mut self, block: Block) {
        self.sealed[block] = true;
        for (variable, param) in std::mem::take(&mut self.incomplete[block]) {
            self.fill(vec![(block, variable, param)]);
        }
    }

    // Instructions.

    /// Sets the source position of the following instructions.
    pub fn set_position(&mut self, at: Position) {
        self.at = at;
    }

    /// Returns the source position of the following instructions.
    #[must_use]
    pub fn position(&self) -> Position {
        self.at
    }

    /// Appends an instruction with a result. After the end of a block it goes to a new block that
    /// nothing reaches, so that code after a `return` needs no special care.
    pub fn inst(&mut self, op: Op, args: &[Value], kind: Kind) -> Value {
        self.reopen();
        if op.is_constant()
            && let Some(&v) = self.constants.get(&(self.current, op))
        {
            return v;
        }
        self.grow(&kind, args.len());
        let (inst, _) = self.function.new_inst(op, args, None, self.at);
        let v = self.function.new_value(kind);
        self.function.insts[inst].result = Some(v);
        self.function.blocks[self.current].insts.push(inst);
        self.defined_by[v] = Some(inst);
        if op.is_constant() {
            self.constants.insert((self.current, op), v);
        }
        v
    }

    /// Appends an instruction without a result.
    pub fn effect(&mut self, op: Op, args: &[Value]) {
        self.reopen();
        self.size += 1 + args.len();
        let (inst, _) = self.function.new_inst(op, args, None, self.at);
        self.function.blocks[self.current].insts.push(inst);
    }

    /// Puts an instruction with a result at the front of a block of the finished function. O(1).
    pub fn inst_at_front(&mut self, block: Block, op: Op, kind: Kind) -> Value {
        let v = self.function.new_value(kind);
        let (inst, _) = self.function.new_inst(op, &[], None, self.at);
        self.function.insts[inst].result = Some(v);
        self.fronts[block].push(inst);
        self.defined_by[v] = Some(inst);
        v
    }

    /// Appends a real constant.
    pub fn real(&mut self, x: f64) -> Value {
        self.inst(Op::Real(Literal(x)), &[], Kind::Real)
    }

    /// Appends an integer constant.
    pub fn int(&mut self, n: i64) -> Value {
        self.inst(Op::Int(n), &[], Kind::Int)
    }

    /// Appends a truth value.
    pub fn boolean(&mut self, b: bool) -> Value {
        self.inst(Op::Bool(b), &[], Kind::Bool)
    }

    /// Appends a constant of kind real or complex; for an array, of the kind of its elements.
    pub fn number(&mut self, x: f64, kind: &Kind) -> Value {
        let v = self.real(x);
        if matches!(kind, Kind::Complex | Kind::Array(Element::Complex)) {
            self.mixed(Mixed::Promote, &[v])
        } else {
            v
        }
    }

    /// Appends the zero of a kind: 0, false, the empty array, a tuple of zeros.
    pub fn zero(&mut self, kind: &Kind) -> Value {
        match kind {
            Kind::Real | Kind::Complex => self.number(0.0, kind),
            Kind::Int | Kind::Handle => self.inst(Op::Int(0), &[], Kind::Int),
            Kind::Bool => self.boolean(false),
            Kind::Array(_) => self.inst(Op::Array, &[], kind.clone()),
            Kind::Tuple(t) => {
                let fields: Vec<Value> = t.fields.iter().map(|f| self.zero(&f.kind)).collect();
                self.inst(Op::Tuple, &fields, kind.clone())
            }
        }
    }

    /// Appends an op on one number, or on an array element by element, of the kind of its operand.
    pub fn number1(&mut self, op: Number1, a: Value) -> Value {
        let kind = self.kind(a).clone();
        self.inst(Op::Number1(op), &[a], kind)
    }

    /// Appends an op on two numbers, or on arrays element by element, of the kind of its operands.
    pub fn number2(&mut self, op: Number2, a: Value, b: Value) -> Value {
        let array = matches!(self.kind(b), Kind::Array(_));
        let kind = self.kind(if array { b } else { a }).clone();
        self.inst(Op::Number2(op), &[a, b], kind)
    }

    /// Appends an op between kinds, or on arrays element by element.
    pub fn mixed(&mut self, op: Mixed, args: &[Value]) -> Value {
        self.lifted(Op::Mixed(op), args, op.signature().1)
    }

    /// Appends an op whose result is one number of the given kind, or an array of them if an
    /// operand is an array.
    pub fn lifted(&mut self, op: Op, args: &[Value], kind: Kind) -> Value {
        let array = args.iter().any(|&v| matches!(self.kind(v), Kind::Array(_)));
        let kind = Element::from_kind(&kind).filter(|_| array).map_or(kind, Kind::Array);
        self.inst(op, args, kind)
    }

    /// Appends an op on whole arrays. Operands of wrong kinds are found by
    /// [`verify`](super::verify()).
    pub fn on_arrays(&mut self, op: ArrayOp, args: &[Value]) -> Value {
        let kinds: Vec<Kind> = args.iter().map(|&v| self.kind(v).clone()).collect();
        let kind = op.result(&kinds).unwrap_or(Kind::Array(Element::Real));
        self.inst(Op::OnArrays(op), args, kind)
    }

    /// Appends the k-th field of a tuple. If the tuple was just made, returns its operand.
    pub fn field(&mut self, tuple: Value, k: usize) -> Value {
        if let Some(inst) = self.defined_by[tuple]
            && let InstData { op: Op::Tuple, args, .. } = &self.function.insts[inst]
            && let Some(&v) = args.get(k)
        {
            return v;
        }
        let kind = self.kind(tuple).fields()[k].kind.clone();
        self.inst(Op::Field(k as u32), &[tuple], kind)
    }

    /// Appends a tuple of the given kind.
    pub fn tuple(&mut self, fields: &[Value], kind: Kind) -> Value {
        self.inst(Op::Tuple, fields, kind)
    }

    /// Appends a tuple without names.
    pub(crate) fn plain_tuple(&mut self, fields: &[Value]) -> Value {
        let kind = Kind::tuple(fields.iter().map(|&v| self.kind(v).clone()));
        self.tuple(fields, kind)
    }

    /// Appends the element at an index.
    pub fn get(&mut self, array: Value, index: Value) -> Value {
        let kind = self.element(array).kind();
        self.inst(Op::Get, &[array, index], kind)
    }

    /// Returns the result of the same operation on the same operands, if the current block has one
    /// already.
    pub(crate) fn made(&self, op: Op, args: &[Value]) -> Option<Value> {
        let (f, block) = (&self.function, &self.function.blocks[self.current]);
        let insts = block.insts.iter().rev().map(|&i| &f.insts[i]);
        insts.filter(|inst| inst.op == op && inst.args[..] == *args).find_map(|inst| inst.result)
    }

    /// Returns the op that defines a value and its operands; `None` for a parameter.
    #[must_use]
    #[doc(hidden)]
    pub fn maker(&self, v: Value) -> Option<(Op, &[Value])> {
        self.defined_by[v]
            .map(|inst| (self.function.insts[inst].op, &self.function.insts[inst].args[..]))
    }

    fn element(&self, array: Value) -> Element {
        match self.kind(array) {
            Kind::Array(e) => *e,
            _ => Element::Real,
        }
    }

    // Ends of blocks.

    /// Ends the block with a jump that passes the values of the target's parameters.
    pub fn jump(&mut self, block: Block, args: &[Value]) {
        self.close(Terminator::Jump(Target::new(block, args.to_vec())));
    }

    /// Ends the block with a branch: to `yes` if the condition holds, else to `no`.
    pub fn branch(&mut self, condition: Value, yes: Block, no: Block) {
        self.close(Terminator::Branch(
            condition,
            Target::new(yes, vec![]),
            Target::new(no, vec![]),
        ));
    }

    /// Ends the block with a jump to the block of the given index.
    pub fn switch(&mut self, index: Value, blocks: &[Block]) {
        let targets = blocks.iter().map(|&b| Target::new(b, vec![])).collect();
        self.close(Terminator::Switch(index, targets));
    }

    /// Ends the block with a return.
    pub fn ret(&mut self, value: Value) {
        self.close(Terminator::Return(value));
    }

    /// Ends the block with the given terminator, which has the arguments of all edges.
    pub(crate) fn end_with(&mut self, end: Terminator) {
        self.close(end);
    }

    fn close(&mut self, end: Terminator) {
        self.reopen();
        self.size += 1;
        for (index, target) in end.targets().into_iter().enumerate() {
            self.predecessors[target.block].push(Edge { from: self.current, index });
        }
        let block = &mut self.function.blocks[self.current];
        block.end = end;
        block.end_at = self.at;
    }

    /// Starts a new, unreachable block after the end of a block.
    fn reopen(&mut self) {
        if self.is_closed() {
            let dead = self.create_block();
            self.seal(dead);
            self.current = dead;
        }
    }

    // Variables.

    /// Declares a variable.
    pub fn declare(&mut self, kind: Kind) -> Variable {
        self.variables.push(kind)
    }

    /// Declares a variable with a final value, which is defined before all uses on every path: it
    /// is never defined again and needs no block parameters.
    pub fn bind(&mut self, value: Value) -> Variable {
        let kind = self.kind(value).clone();
        let variable = self.declare(kind);
        self.constant.insert(variable, value);
        variable
    }

    /// Returns the kind of a variable.
    #[must_use]
    pub fn variable_kind(&self, variable: Variable) -> &Kind {
        &self.variables[variable]
    }

    /// Gives a variable a value from here on.
    pub fn define(&mut self, variable: Variable, value: Value) {
        self.reopen();
        debug_assert!(!self.constant.contains_key(&variable), "{variable} has a value for good");
        self.definitions.insert((self.current, variable), value);
    }

    /// Returns the current value of a variable. A variable that no path has defined is zero.
    pub fn use_variable(&mut self, variable: Variable) -> Value {
        self.reopen();
        if let Some(&value) = self.constant.get(&variable) {
            return value;
        }
        let mut work = Vec::new();
        let value = self.reaching(self.current, variable, &mut work);
        self.fill(work);
        value
    }

    /// Returns the reaching definition of a variable at the end of a block. New parameters whose
    /// arguments are not known yet are added to `work`.
    fn reaching(
        &mut self,
        block: Block,
        variable: Variable,
        work: &mut Vec<(Block, Variable, Value)>,
    ) -> Value {
        // Up the chain of single predecessors …
        let mut chain = Vec::new();
        let mut at = block;
        let value = loop {
            if let Some(&v) = self.definitions.get(&(at, variable)) {
                break v;
            }
            chain.push(at);
            match self.predecessors[at].as_slice() {
                [edge] if self.sealed[at] => at = edge.from,
                [] if self.sealed[at] => {
                    let kind = self.variables[variable].clone();
                    let open = std::mem::replace(&mut self.current, at);
                    let v = self.zero_at_front(&kind);
                    self.current = open;
                    break v;
                }
                _ => {
                    // … to a join: a parameter of it.
                    let kind = self.variables[variable].clone();
                    let v = self.block_param(at, kind);
                    if self.sealed[at] {
                        work.push((at, variable, v));
                    } else {
                        self.incomplete[at].push((variable, v));
                    }
                    break v;
                }
            }
        };
        self.size += chain.len();
        for b in chain {
            self.definitions.insert((b, variable), value);
        }
        value
    }

    /// Passes the arguments of new parameters along all edges.
    fn fill(&mut self, mut work: Vec<(Block, Variable, Value)>) {
        while let Some((block, variable, param)) = work.pop() {
            // The parameters were added in the order of the arguments, but other work may have come
            // between.
            let place = self.function.blocks[block].params.iter().position(|&p| p == param);
            for edge in self.predecessors[block].clone() {
                if self.size > self.most {
                    return;
                }
                self.size += 1;
                let value = self.reaching(edge.from, variable, &mut work);
                let mut targets = self.function.blocks[edge.from].end.targets_mut();
                let args = &mut targets[edge.index].args;
                let place = place.unwrap_or(args.len());
                if args.len() <= place {
                    args.resize(place + 1, value);
                }
                args[place] = value;
            }
        }
    }

    /// Inserts the zero of a kind, before everything else in the current block.
    fn zero_at_front(&mut self, kind: &Kind) -> Value {
        let insts = std::mem::take(&mut self.function.blocks[self.current].insts);
        let end = std::mem::take(&mut self.function.blocks[self.current].end);
        let constants = std::mem::take(&mut self.constants);
        let zero = self.zero(kind);
        self.constants = constants;
        let block = &mut self.function.blocks[self.current];
        block.insts.extend(insts);
        block.end = end;
        zero
    }

    /// Returns the finished function, without unreachable blocks and without trivial parameters;
    /// its values are numbered in the order of their definition.
    #[must_use]
    pub fn finish(mut self) -> Function {
        for block in self.function.blocks.keys().collect::<Vec<_>>() {
            if !self.sealed[block] {
                self.seal(block);
            }
            let front = std::mem::take(&mut self.fronts[block]);
            if !front.is_empty() {
                let insts = &mut self.function.blocks[block].insts;
                insts.splice(0..0, front.into_iter().rev());
            }
        }
        let mut function = compact(&self.function);
        remove_trivial_params(&mut function);
        compact(&function)
    }
}
