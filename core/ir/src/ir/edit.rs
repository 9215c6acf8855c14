//! Editing: changes of a function that leave it well formed, or leave it alone.
//!
//! Everything is addressed by its id, which is stable while others are added and removed (except
//! that removing a block renumbers the blocks after it). Each change is all or nothing: it is
//! [verified](super::verify()), and a change that would break the function is an error that names
//! the instruction and leaves everything as it was. So after each change the printed program parses
//! to the same program.
//!
//! ```
//! use ketgrad_core::{exec::{Datum, Derivatives}, ir::{Editor, Number1, Op, InsertionPoint}, text::parse_program};
//!
//! let mut program = parse_program("fn f(x) { x * x }")?;
//! let f = program.lookup("f").ok_or("no function")?;
//! let mut editor = Editor::new(&mut program, f)?;
//! let (square, product) = editor.find(|inst| inst.op.name() == "mul").ok_or("no product")?;
//! let y = editor.insert(InsertionPoint::After(product), Op::Number1(Number1::Sin), &[square])?;
//! editor.replace_uses(square, y)?; // what used x * x now uses sin(x * x)
//!
//! // What something uses cannot go.
//! let error = editor.remove(product).unwrap_err().to_string();
//! assert!(error.contains("`v2: real = sin v1`: v1 is used where it is not defined"), "{error}");
//! assert_eq!(Derivatives::<f64>::new(&program, "f")?.value(&[Datum::Real(2.0)])?, Datum::Real(4f64.sin()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Cost of a change: O(size log size). [`Editor::apply`] makes many for the price of one.

use crate::entity::{Block, FuncId, Inst, Value};

use super::{
    compact::{compact, retain_params},
    function::{BlockData, ENTRY, Edge, Function, InstData, Program, Target, Terminator},
    kind::Kind,
    op::Op,
    verify::{Violation, verify_function},
};

/// Error of a change that was not made. The function is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The function would not be well formed, or was not when the editor was created.
    #[error(transparent)]
    Breaks(#[from] Box<Violation>),
    /// The function does not exist.
    #[error("{id} does not exist")]
    NoFunction {
        /// The id.
        id: FuncId,
    },
    /// The block does not exist.
    #[error("`{function}` has no {block}: expected one below {}", Block::new(*blocks))]
    NoBlock {
        /// The function.
        function: String,
        /// The id.
        block: Block,
        /// Number of blocks.
        blocks: usize,
    },
    /// The instruction is in no block.
    #[error("{inst} is nowhere in `{function}`")]
    NoInst {
        /// The function.
        function: String,
        /// The id.
        inst: Inst,
    },
    /// The value has no definition.
    #[error("{value} is defined nowhere in `{function}`")]
    NoValue {
        /// The function.
        function: String,
        /// The id.
        value: Value,
    },
    /// An instruction has no such operand, or a block no such parameter.
    #[error("{of} has {len} {what}, none with number {index}")]
    NoPart {
        /// `operands` or `parameters`.
        what: &'static str,
        /// Instruction or block that has them.
        of: String,
        /// Number of them.
        len: usize,
        /// Index that was asked for.
        index: usize,
    },
    /// The kind of the result does not follow from the operands.
    #[error(
        "`{op}` does not say of what kind its result is: give it with `insert_as`, or use `effect` where it has none"
    )]
    Undecided {
        /// The operation.
        op: String,
    },
    /// The operands do not fit the operation.
    #[error("`{op}` takes {expected}, given {given}")]
    Operands {
        /// The operation.
        op: String,
        /// Operands that are expected.
        expected: String,
        /// Operands that were given.
        given: String,
    },
    /// The block is the entry, whose parameters are those of the function.
    #[error("{block} is the entry of `{function}`: its parameters are those of the function")]
    Entry {
        /// The function.
        function: String,
        /// The block.
        block: Block,
    },
    /// A block that is the target of an edge cannot be removed.
    #[error("{from} leads to {block}: let it end otherwise first")]
    Reached {
        /// The block.
        block: Block,
        /// A block with an edge to it.
        from: Block,
    },
    /// The number of arguments differs from the number of edges into the block.
    #[error("{block} has {expected} edges into it, given {given} arguments")]
    Arguments {
        /// The block.
        block: Block,
        /// Number of edges.
        expected: usize,
        /// Number of arguments given.
        given: usize,
    },
}

/// Position in a function at which an instruction is inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertionPoint {
    /// Before the given instruction.
    Before(Inst),
    /// After the given instruction.
    After(Inst),
    /// At the start of a block.
    Start(Block),
    /// At the end of a block, before its terminator.
    End(Block),
}

/// Definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Definition {
    /// An instruction.
    Inst(Inst),
    /// Parameter of a block, by its index.
    Param(Block, usize),
}

/// Use of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Operand of an instruction, by its index.
    Operand(Inst, usize),
    /// Terminator of a block: its condition, index or result, or an argument of an edge.
    End(Block),
}

/// Editor of one function of a program.
#[derive(Debug)]
pub struct Editor<'p> {
    program: &'p mut Program,
    f: FuncId,
}

type EditResult<T> = Result<T, EditError>;

impl<'p> Editor<'p> {
    /// Creates the editor of a function.
    ///
    /// # Errors
    /// If the function does not exist or is not well formed.
    pub fn new(program: &'p mut Program, f: FuncId) -> EditResult<Editor<'p>> {
        if program.functions.get(f).is_none() {
            return Err(EditError::NoFunction { id: f });
        }
        match verify_function(program, f).into_iter().next() {
            Some(violation) => Err(Box::new(violation).into()),
            None => Ok(Editor { program, f }),
        }
    }

    /// Returns the function in its current state.
    #[must_use]
    pub fn function(&self) -> &Function {
        &self.program.functions[self.f]
    }

    /// Returns the program in its current state.
    #[must_use]
    pub fn program(&self) -> &Program {
        self.program
    }

    // Looking.

    /// Returns an instruction.
    ///
    /// # Errors
    /// If the instruction is in no block.
    pub fn inst(&self, inst: Inst) -> EditResult<&InstData> {
        self.index_of(inst).map(|_| &self.function().insts[inst])
    }

    /// Returns the block that holds an instruction, and its index there.
    ///
    /// # Errors
    /// If the instruction is in no block.
    pub fn index_of(&self, inst: Inst) -> EditResult<(Block, usize)> {
        index_of(self.function(), inst)
    }

    /// Returns the definition of a value.
    ///
    /// # Errors
    /// If the value has none.
    pub fn definition(&self, value: Value) -> EditResult<Definition> {
        let f = self.function();
        for (b, block) in f.blocks.iter() {
            if let Some(k) = block.params.iter().position(|&p| p == value) {
                return Ok(Definition::Param(b, k));
            }
            if let Some(&i) = block.insts.iter().find(|&&i| f.insts[i].result == Some(value)) {
                return Ok(Definition::Inst(i));
            }
        }
        Err(EditError::NoValue { function: f.name.clone(), value })
    }

    /// Finds the first instruction with a result that satisfies a predicate, and returns both.
    #[must_use]
    pub fn find(&self, mut is: impl FnMut(&InstData) -> bool) -> Option<(Value, Inst)> {
        let f = self.function();
        let mut insts = f.blocks.values().flat_map(|b| &b.insts);
        insts.find_map(|&i| Some((f.insts[i].result.filter(|_| is(&f.insts[i]))?, i)))
    }

    /// Returns the uses of a value, in the order of the text. A terminator counts once.
    #[must_use]
    pub fn uses(&self, value: Value) -> Vec<Use> {
        let f = self.function();
        let mut uses = Vec::new();
        for (b, block) in f.blocks.iter() {
            for &i in &block.insts {
                let operands = f.insts[i].args.iter().enumerate().filter(|(_, v)| **v == value);
                uses.extend(operands.map(|(k, _)| Use::Operand(i, k)));
            }
            let passed = block.end.targets().iter().any(|t| t.args.contains(&value));
            uses.extend((passed || block.end.operand() == Some(value)).then_some(Use::End(b)));
        }
        uses
    }

    // Instructions.

    /// Inserts an instruction and returns its result, whose kind follows from the operands; the
    /// result of `tuple` is a tuple without names.
    ///
    /// # Errors
    /// If the operands do not fit or are not defined there, or the operation has no result.
    pub fn insert(&mut self, place: InsertionPoint, op: Op, args: &[Value]) -> EditResult<Value> {
        let kind =
            self.kind(op, args)?.ok_or_else(|| EditError::Undecided { op: op.to_string() })?;
        self.insert_as(place, op, args, kind)
    }

    /// Inserts an instruction whose result has the given kind: a struct, an empty array, or a value
    /// popped from a tape.
    ///
    /// # Errors
    /// See [`insert`](Editor::insert).
    pub fn insert_as(
        &mut self,
        place: InsertionPoint,
        op: Op,
        args: &[Value],
        kind: Kind,
    ) -> EditResult<Value> {
        self.apply(|f| {
            let (inst, v) = insert_at(f, place, op, args, Some(kind))?;
            v.ok_or(EditError::NoInst { function: f.name.clone(), inst })
        })
    }

    /// Inserts an instruction without a result.
    ///
    /// # Errors
    /// See [`insert`](Editor::insert).
    pub fn effect(&mut self, place: InsertionPoint, op: Op, args: &[Value]) -> EditResult<Inst> {
        self.apply(|f| Ok(insert_at(f, place, op, args, None)?.0))
    }

    /// Replaces the operation and the operands of an instruction. Its result remains, so the kind
    /// must be the same.
    ///
    /// # Errors
    /// If the operands do not fit or are not defined there, or the result would be of another kind.
    pub fn replace(&mut self, inst: Inst, op: Op, args: &[Value]) -> EditResult<()> {
        self.index_of(inst)?;
        self.apply(|f| {
            (f.insts[inst].op, f.insts[inst].args) = (op, args.into());
            Ok(())
        })
    }

    /// Replaces one operand of an instruction.
    ///
    /// # Errors
    /// If the operand does not exist, or the value does not fit or is not defined there.
    pub fn set_operand(&mut self, inst: Inst, index: usize, value: Value) -> EditResult<()> {
        self.index_of(inst)?;
        self.apply(|f| {
            let args = &mut f.insts[inst].args;
            let (of, len) = (inst.to_string(), args.len());
            let operand = args.get_mut(index).ok_or(EditError::NoPart {
                what: "operands",
                of,
                len,
                index,
            })?;
            *operand = value;
            Ok(())
        })
    }

    /// Removes an instruction.
    ///
    /// # Errors
    /// If its result is used: see [`replace_uses`](Editor::replace_uses).
    pub fn remove(&mut self, inst: Inst) -> EditResult<()> {
        let (block, place) = self.index_of(inst)?;
        self.apply(|f| {
            f.blocks[block].insts.remove(place);
            Ok(())
        })
    }

    /// Moves an instruction.
    ///
    /// # Errors
    /// If its operands are not defined there, or its result is not defined where it is used.
    pub fn move_to(&mut self, inst: Inst, to: InsertionPoint) -> EditResult<()> {
        let (block, place) = self.index_of(inst)?;
        if matches!(to, InsertionPoint::Before(i) | InsertionPoint::After(i) if i == inst) {
            return Ok(());
        }
        self.apply(|f| {
            f.blocks[block].insts.remove(place);
            let (block, place) = insertion_index(f, to)?;
            f.blocks[block].insts.insert(place, inst);
            Ok(())
        })
    }

    /// Replaces all uses of a value by another value, except those in the definition of the latter:
    /// so a value can be wrapped, `sin(v1)` in place of `v1`. Returns the number of uses.
    ///
    /// # Errors
    /// If the kinds differ, or the other value is not defined at a use.
    pub fn replace_uses(&mut self, value: Value, with: Value) -> EditResult<usize> {
        let keeps = self.definition(with)?;
        self.definition(value)?;
        self.apply(|f| {
            let mut count = 0;
            let mut swap = |v: Value| {
                count += usize::from(v == value);
                if v == value { with } else { v }
            };
            let Function { blocks, insts, .. } = f;
            for block in blocks.values_mut() {
                for &i in block.insts.iter().filter(|i| keeps != Definition::Inst(**i)) {
                    insts[i].args.iter_mut().for_each(|v| *v = swap(*v));
                }
                block.end.map_values(&mut swap);
            }
            Ok(count)
        })
    }

    // Blocks.

    /// Adds a block with parameters of the given kinds and the given terminator. No edge leads to
    /// it yet.
    ///
    /// # Errors
    /// If the terminator does not fit.
    pub fn add_block(&mut self, params: &[Kind], end: Terminator) -> EditResult<Block> {
        self.apply(|f| {
            let params = params.iter().map(|kind| f.new_value(kind.clone())).collect();
            Ok(f.blocks.push(BlockData { params, end, ..BlockData::default() }))
        })
    }

    /// Splits a block before an instruction: it and the instructions after it move to a new block,
    /// to which the old one jumps.
    ///
    /// # Errors
    /// If the instruction is in no block.
    pub fn split(&mut self, inst: Inst) -> EditResult<Block> {
        let (block, place) = self.index_of(inst)?;
        self.apply(|f| {
            let next = f.blocks.next_key();
            let old = &mut f.blocks[block];
            let insts = old.insts.split_off(place);
            let end = std::mem::replace(&mut old.end, Terminator::Jump(Target::new(next, vec![])));
            let end_at = old.end_at;
            Ok(f.blocks.push(BlockData { params: vec![], insts, end, end_at }))
        })
    }

    /// Replaces the terminator of a block.
    ///
    /// # Errors
    /// If the arguments do not fit the parameters of the targets, or a value is then not defined
    /// where it is used.
    pub fn set_end(&mut self, block: Block, end: Terminator) -> EditResult<()> {
        self.block(block)?;
        self.apply(|f| {
            f.blocks[block].end = end;
            Ok(())
        })
    }

    /// Removes a block that has no predecessors other than itself. The numbers of the blocks after
    /// it decrease by one.
    ///
    /// # Errors
    /// If it is the entry, has predecessors, or defines a value that is used elsewhere.
    pub fn remove_block(&mut self, block: Block) -> EditResult<()> {
        self.block(block)?;
        self.no_entry(block)?;
        let edges = self.function().predecessors();
        if let Some(edge) = edges[block.index()].iter().find(|e| e.from != block) {
            return Err(EditError::Reached { block, from: edge.from });
        }
        self.apply(|f| {
            f.blocks.remove(block);
            for other in f.blocks.values_mut() {
                for target in other.end.targets_mut() {
                    let moved = target.block.index() - usize::from(target.block > block);
                    target.block = Block::new(moved);
                }
            }
            Ok(())
        })
    }

    /// Adds a parameter to a block, with an argument for each edge into it, in the order of
    /// [`Function::predecessors`].
    ///
    /// # Errors
    /// If the block is the entry, or the arguments do not fit.
    pub fn add_param(&mut self, block: Block, kind: Kind, args: &[Value]) -> EditResult<Value> {
        self.block(block)?;
        self.no_entry(block)?;
        let edges = self.function().predecessors().swap_remove(block.index());
        if edges.len() != args.len() {
            return Err(EditError::Arguments { block, expected: edges.len(), given: args.len() });
        }
        self.apply(|f| {
            let v = f.new_value(kind);
            f.blocks[block].params.push(v);
            for (Edge { from, index }, arg) in edges.into_iter().zip(args) {
                f.blocks[from].end.targets_mut()[index].args.push(*arg);
            }
            Ok(v)
        })
    }

    /// Removes a parameter, and its argument from every edge.
    ///
    /// # Errors
    /// If the block is the entry, has no such parameter, or the parameter is used.
    pub fn remove_param(&mut self, block: Block, index: usize) -> EditResult<()> {
        self.block(block)?;
        self.no_entry(block)?;
        let f = self.function();
        let len = f.blocks[block].params.len();
        if index >= len {
            return Err(EditError::NoPart {
                what: "parameters",
                of: block.to_string(),
                len,
                index,
            });
        }
        let keep = f.blocks.iter().map(|(b, data)| {
            let params = 0..data.params.len();
            params.map(|k| (b, k) != (block, index)).collect()
        });
        let keep: Vec<Vec<bool>> = keep.collect();
        self.apply(|f| {
            retain_params(f, &keep);
            Ok(())
        })
    }

    // All at once.

    /// Applies any change to the function, and undoes it if it fails or the function would not be
    /// well formed.
    ///
    /// # Errors
    /// The error of the change, or the invariant that it breaks.
    pub fn apply<T>(
        &mut self,
        change: impl FnOnce(&mut Function) -> EditResult<T>,
    ) -> EditResult<T> {
        let before = self.function().clone();
        let result = change(&mut self.program.functions[self.f]);
        // Callers rely on the signature.
        let after = self.function();
        let broken = if (&after.params, &after.result) != (&before.params, &before.result) {
            super::verify(self.program)
        } else {
            verify_function(self.program, self.f)
        };
        let result = match broken.into_iter().next() {
            Some(violation) if result.is_ok() => Err(Box::new(violation).into()),
            _ => result,
        };
        if result.is_err() {
            self.program.functions[self.f] = before;
        }
        result
    }

    /// Numbers everything anew, in the order of the text, and drops unreachable blocks. Earlier ids
    /// are invalid afterwards.
    pub fn compact(&mut self) {
        self.program.functions[self.f] = compact(self.function());
    }

    fn kind(&self, op: Op, args: &[Value]) -> EditResult<Option<Kind>> {
        let f = self.function();
        let kind = |&v: &Value| {
            let kind = f.kinds.get(v).cloned();
            kind.ok_or_else(|| EditError::NoValue { function: f.name.clone(), value: v })
        };
        let kinds = args.iter().map(kind).collect::<EditResult<Vec<Kind>>>()?;
        Ok(match op {
            Op::Call(g) => Some(
                self.program
                    .functions
                    .get(g)
                    .ok_or(EditError::NoFunction { id: g })?
                    .result
                    .clone(),
            ),
            Op::Primitive(p) => self.program.primitives.get(p).map(|p| p.result.clone()),
            Op::Tuple => Some(Kind::tuple(kinds)),
            op => op.result(&kinds).map_err(|expected| EditError::Operands {
                op: op.to_string(),
                expected,
                given: super::op::join(&kinds),
            })?,
        })
    }

    fn block(&self, block: Block) -> EditResult<()> {
        exists(self.function(), block)
    }

    fn no_entry(&self, block: Block) -> EditResult<()> {
        let function = || self.function().name.clone();
        if block == ENTRY { Err(EditError::Entry { function: function(), block }) } else { Ok(()) }
    }
}

fn exists(f: &Function, block: Block) -> EditResult<()> {
    let (function, blocks) = (|| f.name.clone(), f.blocks.len());
    f.blocks.get(block).map(|_| ()).ok_or_else(|| EditError::NoBlock {
        function: function(),
        block,
        blocks,
    })
}

fn index_of(f: &Function, inst: Inst) -> EditResult<(Block, usize)> {
    let places = f
        .blocks
        .iter()
        .find_map(|(b, data)| Some((b, data.insts.iter().position(|&i| i == inst)?)));
    places.ok_or_else(|| EditError::NoInst { function: f.name.clone(), inst })
}

/// Returns the block of an insertion point, and the index there of an instruction that is inserted.
fn insertion_index(f: &Function, to: InsertionPoint) -> EditResult<(Block, usize)> {
    match to {
        InsertionPoint::Before(inst) => index_of(f, inst),
        InsertionPoint::After(inst) => index_of(f, inst).map(|(b, k)| (b, k + 1)),
        InsertionPoint::Start(b) => exists(f, b).map(|()| (b, 0)),
        InsertionPoint::End(b) => exists(f, b).map(|()| (b, f.blocks[b].insts.len())),
    }
}

/// Inserts an instruction. Its source position is that of its neighbour.
fn insert_at(
    f: &mut Function,
    to: InsertionPoint,
    op: Op,
    args: &[Value],
    kind: Option<Kind>,
) -> EditResult<(Inst, Option<Value>)> {
    let (block, k) = insertion_index(f, to)?;
    let source = match to {
        InsertionPoint::Before(inst) | InsertionPoint::After(inst) => f.insts[inst].at,
        InsertionPoint::Start(b) | InsertionPoint::End(b) => f.blocks[b].end_at,
    };
    let (inst, v) = f.new_inst(op, args, kind, source);
    f.blocks[block].insts.insert(k, inst);
    Ok((inst, v))
}
