//! Editing: a cursor inside a function, and a pipe from one function to another.
//!
//! ```
//! use ketgrad_core::ir::{Cursor, Number1, Op, parse, verify};
//!
//! let mut program = parse(
//!     "fn f(x) -> real {
//!      block0(v0: real):
//!          v1: real = mul v0, v0
//!          return v1
//!      }",
//! ).unwrap();
//! let f = program.lookup("f").unwrap();
//! let mut cursor = Cursor::at_definition(&mut program.functions[f], "v1").unwrap();
//! let v1 = cursor.result().unwrap();
//! let y = cursor.insert_after(Op::Number1(Number1::Sin), &[v1]).unwrap();
//! cursor.replace_uses_elsewhere(v1, y); // what used v1 now uses sin v1
//! assert!(verify(&program).is_empty());
//! assert!(program.functions[f].to_string().contains("return v2"));
//! ```
//!
//! A [`Pipe`] copies a function and hands every instruction to a closure, which decides what goes into the
//! copy: the usual way to write a pass that changes one kind of instruction.

use std::collections::HashMap;

use crate::entity::{Block, Inst, Value};

use super::{
    compact::compact,
    function::{BlockData, Function, InstData, Position},
    kind::Kind,
    op::Op,
};

/// A place in a function: an instruction of a block.
#[derive(Debug)]
pub struct Cursor<'f> {
    function: &'f mut Function,
    block: Block,
    place: usize,
}

impl<'f> Cursor<'f> {
    /// At the `place`-th instruction of a block; `None` if there is none.
    #[must_use]
    pub fn new(function: &'f mut Function, block: Block, place: usize) -> Option<Cursor<'f>> {
        let len = function.blocks.get(block)?.insts.len();
        (place < len).then_some(Cursor { function, block, place })
    }

    /// At the instruction that defines the value printed as `name`, such as `v3`.
    #[must_use]
    pub fn at_definition(function: &'f mut Function, name: &str) -> Option<Cursor<'f>> {
        let number = name.strip_prefix('v')?.parse::<usize>().ok()?;
        let value = Value::new(number);
        let (block, place) = function.blocks.iter().find_map(|(b, data)| {
            let place = data.insts.iter().position(|&i| function.insts[i].result == Some(value))?;
            Some((b, place))
        })?;
        Cursor::new(function, block, place)
    }

    /// The instruction under the cursor.
    #[must_use]
    pub fn inst(&self) -> &InstData {
        &self.function.insts[self.id()]
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> Inst {
        self.function.blocks[self.block].insts[self.place]
    }

    /// The block it stands in.
    #[must_use]
    pub fn block(&self) -> Block {
        self.block
    }

    /// The value it defines.
    #[must_use]
    pub fn result(&self) -> Option<Value> {
        self.inst().result
    }

    /// Moves to the next instruction of the block; false at the last.
    pub fn advance(&mut self) -> bool {
        let more = self.place + 1 < self.function.blocks[self.block].insts.len();
        self.place += usize::from(more);
        more
    }

    /// Inserts an instruction before the cursor, which stays where it is. `None` if the operands do not fit
    /// or the op gives nothing by itself.
    pub fn insert_before(&mut self, op: Op, args: &[Value]) -> Option<Value> {
        let v = self.insert(self.place, op, args)?;
        self.place += 1;
        Some(v)
    }

    /// Inserts an instruction after the cursor, which stays where it is.
    pub fn insert_after(&mut self, op: Op, args: &[Value]) -> Option<Value> {
        self.insert(self.place + 1, op, args)
    }

    /// Appends an instruction to the block.
    pub fn append(&mut self, op: Op, args: &[Value]) -> Option<Value> {
        self.insert(self.function.blocks[self.block].insts.len(), op, args)
    }

    /// Makes the instruction under the cursor another one of the same result kind; false if it cannot be.
    pub fn replace(&mut self, op: Op, args: &[Value]) -> bool {
        let kind = self.kind_of(op, args);
        let old = self.result().map(|v| self.function.kinds[v].clone());
        if kind.is_none() || kind != old {
            return false;
        }
        let id = self.id();
        let inst = &mut self.function.insts[id];
        inst.op = op;
        inst.args = args.into();
        true
    }

    /// Lets everything but the definition of `with` use `with` in place of `value`.
    pub fn replace_uses_elsewhere(&mut self, value: Value, with: Value) {
        let keep: Vec<(usize, Vec<Value>)> = (self.function.insts.iter())
            .filter(|(_, i)| i.result == Some(with))
            .map(|(k, i)| (k.index(), i.args.to_vec()))
            .collect();
        self.function.map_uses(|v| if v == value { with } else { v });
        for (k, args) in keep {
            self.function.insts[Inst::new(k)].args = args.into();
        }
    }

    fn kind_of(&self, op: Op, args: &[Value]) -> Option<Kind> {
        let kinds: Vec<Kind> =
            args.iter().map(|&v| self.function.kinds.get(v).cloned()).collect::<Option<_>>()?;
        op.result(&kinds).ok()?
    }

    fn insert(&mut self, place: usize, op: Op, args: &[Value]) -> Option<Value> {
        let kind = self.kind_of(op, args)?;
        let at = self.inst().at;
        let (inst, v) = self.function.new_inst(op, args, Some(kind), at);
        self.function.blocks[self.block].insts.insert(place, inst);
        v
    }
}

/// A function being copied. Values of the old function are renamed to those of the new one.
#[derive(Debug)]
pub struct Pipe {
    to: Function,
    block: Block,
    names: HashMap<Value, Value>,
}

impl Pipe {
    /// Copies `from` under a new name and hands each instruction, its operands renamed, to `each`, which
    /// returns the value that stands for its result; [`Pipe::keep`] copies it as it is.
    pub fn copy(
        from: &Function,
        name: impl Into<String>,
        mut each: impl FnMut(&mut Pipe, &InstData) -> Option<Value>,
    ) -> Function {
        let to = Function::declared(name, from.params.clone(), from.result.clone());
        let mut pipe = Pipe { to, block: Block::new(0), names: HashMap::new() };
        for data in from.blocks.values() {
            let b = pipe.to.blocks.push(BlockData {
                end: data.end.clone(),
                end_at: data.end_at,
                ..BlockData::default()
            });
            for &p in &data.params {
                let v = pipe.to.new_value(from.kinds[p].clone());
                pipe.to.blocks[b].params.push(v);
                pipe.names.insert(p, v);
            }
        }
        // Results get their names before anything uses them: a use may stand in an earlier block.
        for data in from.blocks.values() {
            for result in data.insts.iter().filter_map(|&i| from.insts[i].result) {
                let v = pipe.to.new_value(from.kinds[result].clone());
                pipe.names.insert(result, v);
            }
        }
        let mut replaced = HashMap::new();
        for (b, data) in from.blocks.iter() {
            pipe.block = b;
            for &i in &data.insts {
                let mut inst = from.insts[i].clone();
                inst.args.iter_mut().for_each(|v| *v = pipe.renamed(*v));
                let old = inst.result;
                inst.result = old.map(|v| pipe.renamed(v));
                let new = each(&mut pipe, &inst);
                if let (Some(planned), Some(new)) = (inst.result, new)
                    && planned != new
                {
                    replaced.insert(planned, new);
                }
            }
        }
        let Pipe { mut to, names, .. } = pipe;
        for block in to.blocks.values_mut() {
            block.end.map_values(|v| names.get(&v).copied().unwrap_or(v));
        }
        to.map_uses(|mut v| {
            while let Some(&w) = replaced.get(&v) {
                v = w;
            }
            v
        });
        compact(&to)
    }

    fn renamed(&self, v: Value) -> Value {
        self.names.get(&v).copied().unwrap_or(v)
    }

    /// The kind of a value of the new function.
    #[must_use]
    pub fn kind(&self, v: Value) -> &Kind {
        &self.to.kinds[v]
    }

    /// Appends the instruction as it is.
    pub fn keep(&mut self, inst: &InstData) -> Option<Value> {
        let id = self.to.insts.push(inst.clone());
        self.to.blocks[self.block].insts.push(id);
        inst.result
    }

    /// Appends another instruction.
    pub fn push(&mut self, op: Op, args: &[Value], kind: Kind, at: Position) -> Value {
        let v = self.to.new_value(kind);
        let id = self.to.insts.push(InstData { op, args: args.into(), result: Some(v), at });
        self.to.blocks[self.block].insts.push(id);
        v
    }
}
