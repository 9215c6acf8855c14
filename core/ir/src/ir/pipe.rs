//! A pipe from one function to another.
//!
//! A [`Pipe`] copies a function and passes every instruction to a closure, which decides what is
//! appended to the copy: the usual way to write a pass that changes one kind of instruction.

use std::collections::HashMap;

use crate::entity::{Block, Value};

use super::{
    compact::compact,
    function::{BlockData, Function, InstData, Position},
    kind::Kind,
    op::Op,
};

/// Copy of a function under construction. Values of the old function are renamed to those of the
/// new one.
#[derive(Debug)]
pub struct Pipe {
    to: Function,
    block: Block,
    names: HashMap<Value, Value>,
}

impl Pipe {
    /// Copies `from` under a new name and passes each instruction, its operands renamed, to `each`,
    /// which returns the value that replaces its result; [`Pipe::keep`] copies it as it is.
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
        // Results get their names before any use is copied: a use may be in an earlier block.
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

    /// Returns the kind of a value of the new function.
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
