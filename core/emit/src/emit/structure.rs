//! Structuring of control flow: from blocks and jumps to loops and branches.
//!
//! # Idea
//! The dominator tree determines the nesting of the text. A block with one predecessor is written
//! there; one with several is written after a labelled block that all of them leave by `break`; the
//! header of a loop opens a `loop`, a back edge is `continue`. A jump to the next statement is not
//! written. So no dispatch over blocks is needed, except for a loop with several entries (see
//! `entries`).
//!
//! ```text
//! block0: branch c, block1, block2        if c {
//! block1: …; jump block3                      …
//! block2: …; jump block3            ->    } else {
//! block3: return v                            …
//!                                         }
//!                                         return v
//! ```
//!
//! Block parameters become variables, the arguments of an edge assignments.
//!
//! Source: N. Ramsey, "Beyond Relooper: recursive translation of unstructured control flow to
//! structured control flow" (2022). The code after a loop is placed after it, not inside.

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{Block, Inst, Value},
    ir::{Function, Target, Terminator},
};

use super::{
    EmitError,
    ast::{EmitExpr, EmitStmt, JumpLabel, StructuredBody, Var, VarData, holds_array},
    coalesce, counted,
    entries::with_single_entries,
    flow::ControlFlowInfo,
    lengths, scope, tidy,
};

/// Maximum nesting of loops and branches.
const MAX_DEPTH: usize = 200;

/// Translates a function to structured statements.
pub(super) fn structured(
    f: &Function,
    reserved: &HashSet<String>,
) -> Result<StructuredBody, EmitError> {
    if !f.is_defined() {
        return Err(EmitError::Undefined { function: f.name.clone() });
    }
    let f = with_single_entries(f);
    let flow = ControlFlowInfo::new(&f)?;
    let mut w = Structurer::new(&f, &flow);
    let mut statements = Vec::new();
    w.tree(Block::new(0), None, &mut statements)?;
    tidy::tidy(&mut statements);
    let params = f.param_values().iter().map(|&p| w.var(p)).collect();
    let mut body = StructuredBody {
        params,
        labels: w.labels.len(),
        vars: std::mem::take(&mut w.vars),
        statements,
    };
    coalesce::coalesce(&mut body);
    super::names::name(&mut body, &f, &w.var_of, reserved);
    scope::declare(&mut body);
    Ok(body)
}

/// Enclosing block or loop that a jump can name.
#[derive(Clone, Copy)]
struct JumpScope {
    target: Block,
    label: JumpLabel,
    /// True if the jump is a back edge.
    is_back_edge: bool,
}

pub(super) struct Structurer<'a> {
    pub(super) f: &'a Function,
    pub(super) flow: &'a ControlFlowInfo,
    pub(super) vars: Vec<VarData>,
    /// Variable of each value that has one.
    pub(super) var_of: Vec<Option<Var>>,
    pub(super) uses: Vec<u32>,
    /// Blocks that use each value.
    pub(super) readers: Vec<Vec<Block>>,
    /// Block that uses a value used once.
    pub(super) used_in: Vec<Option<Block>>,
    /// True for the values that are or hold an array.
    pub(super) holds: Vec<bool>,
    /// Fields that are read of a tuple, and their values.
    pub(super) fields_of: HashMap<Value, Vec<(u32, Value)>>,
    /// The constants.
    pub(super) constants: Vec<Option<EmitExpr>>,
    /// Expressions that are pending until their single use, in the order in which they were
    /// computed.
    pub(super) pending: Vec<(Value, EmitExpr)>,
    /// `add_at`s whose element is known to exist.
    pub(super) there: HashSet<Inst>,
    frames: Vec<JumpScope>,
    labels: Vec<bool>,
    /// Blocks that are placed after a loop.
    after: HashSet<Block>,
    depth: usize,
}

impl<'a> Structurer<'a> {
    fn new(f: &'a Function, flow: &'a ControlFlowInfo) -> Structurer<'a> {
        let n = f.kinds.len();
        let mut w = Structurer {
            f,
            flow,
            vars: Vec::new(),
            var_of: vec![None; n],
            uses: vec![0; n],
            readers: vec![Vec::new(); n],
            used_in: vec![None; n],
            holds: f.kinds.values().map(holds_array).collect(),
            fields_of: HashMap::new(),
            constants: vec![None; n],
            pending: Vec::new(),
            there: lengths::elements_there(f, &flow.tree),
            frames: Vec::new(),
            labels: Vec::new(),
            after: HashSet::new(),
            depth: 0,
        };
        w.count();
        for &p in f.param_values() {
            let var = w.var(p);
            w.vars[var.0].borrowed = matches!(f.kinds[p], crate::ir::Kind::Array(_));
        }
        w
    }

    /// Returns the variable of a value.
    pub(super) fn var(&mut self, v: Value) -> Var {
        if let Some(var) = self.var_of[v.index()] {
            return var;
        }
        let var = Var(self.vars.len());
        let kind = self.f.kinds[v].clone();
        self.vars.push(VarData { kind, name: String::new(), borrowed: false, mutable: false });
        self.var_of[v.index()] = Some(var);
        var
    }

    /// Writes a block and all that it dominates; `next` follows afterwards.
    fn tree(
        &mut self,
        start: Block,
        next: Option<Block>,
        out: &mut Vec<EmitStmt>,
    ) -> Result<(), EmitError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(EmitError::TooDeep { function: self.f.name.clone(), limit: MAX_DEPTH });
        }
        let mut at = Some(start);
        while let Some(x) = at {
            at = if self.flow.loops.contains_key(&x) {
                self.a_loop(x, next, out)?
            } else {
                self.inside(x, next, out)?
            };
        }
        self.depth -= 1;
        Ok(())
    }

    /// Writes the loop of a header. Returns the block that follows it, if that is not `next`.
    fn a_loop(
        &mut self,
        x: Block,
        next: Option<Block>,
        out: &mut Vec<EmitStmt>,
    ) -> Result<Option<Block>, EmitError> {
        let label = self.label();
        let after = self.flow.after(self.f, x, &self.after);
        let outside = self.frames.len();
        self.frames.push(JumpScope { target: x, label, is_back_edge: true });
        if let Some(target) = after.or(next) {
            self.frames.push(JumpScope { target, label, is_back_edge: false });
        }
        self.after.extend(after);
        let mut body = Vec::new();
        if let Some(y) = self.inside(x, Some(x), &mut body)? {
            self.tree(y, Some(x), &mut body)?;
        }
        self.frames.truncate(outside);
        let (statement, last) = counted::counted(self, x, after, label, body, out);
        out.push(statement);
        out.extend(last);
        Ok(after)
    }

    /// Writes a block, its terminator, and the blocks it dominates except for the last join, or the
    /// only block that follows, which is returned.
    fn inside(
        &mut self,
        x: Block,
        next: Option<Block>,
        out: &mut Vec<EmitStmt>,
    ) -> Result<Option<Block>, EmitError> {
        self.instructions(x, out);
        let flow = self.flow;
        let joins: Vec<Block> = (flow.children[x.index()].iter().copied())
            .filter(|b| flow.joins[b.index()] > 1 && !self.after.contains(b))
            .collect();
        let labels: Vec<JumpLabel> = joins.iter().map(|_| self.label()).collect();
        for (&target, &label) in joins.iter().zip(&labels).rev() {
            self.frames.push(JumpScope { target, label, is_back_edge: false });
        }
        if let (Terminator::Jump(t), true) = (&self.f.blocks[x].end, joins.is_empty())
            && next != Some(t.block)
            && self.frames.iter().all(|frame| frame.target != t.block)
        {
            // It is written here, too: a sequence does not nest deeper.
            let moves = self.edge(t);
            out.extend(moves);
            return Ok(Some(t.block));
        }
        let mut inner = Vec::new();
        self.end(x, joins.first().copied().or(next), &mut inner)?;
        for (k, (&join, &label)) in joins.iter().zip(&labels).enumerate() {
            self.frames.pop();
            let block =
                if self.labels[label.0] { vec![EmitStmt::Block(label, inner)] } else { inner };
            let Some(&following) = joins.get(k + 1) else {
                out.extend(block);
                return Ok(Some(join));
            };
            inner = block;
            self.tree(join, Some(following), &mut inner)?;
        }
        out.extend(inner);
        Ok(None)
    }

    fn label(&mut self) -> JumpLabel {
        self.labels.push(false);
        JumpLabel(self.labels.len() - 1)
    }

    fn end(
        &mut self,
        x: Block,
        next: Option<Block>,
        out: &mut Vec<EmitStmt>,
    ) -> Result<(), EmitError> {
        let f = self.f;
        match &f.blocks[x].end {
            Terminator::Open => return Err(EmitError::Undefined { function: f.name.clone() }),
            Terminator::Return(v) => {
                let value = self.consume(*v, true);
                out.push(EmitStmt::Return(value));
            }
            Terminator::Jump(t) => {
                let moves = self.edge(t);
                out.extend(moves);
                self.jump_to(t.block, next, out)?;
            }
            Terminator::Branch(c, yes, no) => {
                let condition = self.read(*c);
                let mut arms = self.arms(&[yes, no], next)?;
                let (no, yes) = (arms.pop().unwrap_or_default(), arms.pop().unwrap_or_default());
                out.push(EmitStmt::If(condition, yes, no));
            }
            Terminator::Switch(v, targets) => {
                let index = self.read(*v);
                let targets: Vec<&Target> = targets.iter().collect();
                let mut arms = self.arms(&targets, next)?;
                out.push(match arms.len() {
                    2 => {
                        let (no, yes) =
                            (arms.pop().unwrap_or_default(), arms.pop().unwrap_or_default());
                        let is = crate::ir::Op::CompareInt(crate::ir::Compare::Eq);
                        let zero =
                            EmitExpr::Op(is, vec![index, EmitExpr::Int(0)], crate::ir::Kind::Bool);
                        EmitStmt::If(zero, yes, no)
                    }
                    _ => EmitStmt::Switch(index, arms),
                });
            }
        }
        Ok(())
    }

    fn arms(
        &mut self,
        targets: &[&Target],
        next: Option<Block>,
    ) -> Result<Vec<Vec<EmitStmt>>, EmitError> {
        let mut arms: Vec<Vec<EmitStmt>> = targets.iter().map(|t| self.edge(t)).collect();
        for (target, arm) in targets.iter().zip(&mut arms) {
            self.jump_to(target.block, next, arm)?;
        }
        Ok(arms)
    }

    /// Continues at a block.
    fn jump_to(
        &mut self,
        to: Block,
        next: Option<Block>,
        out: &mut Vec<EmitStmt>,
    ) -> Result<(), EmitError> {
        if next == Some(to) {
            return Ok(());
        }
        match self.frames.iter().rev().find(|f| f.target == to).copied() {
            Some(JumpScope { label, is_back_edge: again, .. }) => {
                self.labels[label.0] = true;
                out.push(if again { EmitStmt::Continue(label) } else { EmitStmt::Break(label) });
                Ok(())
            }
            None => self.tree(to, next, out),
        }
    }

    /// Returns true if a block is written after a loop, which has just been written, and after all
    /// that belongs to it: after the block `after`, or after an enclosing statement.
    pub(super) fn comes_after(&self, after: Option<Block>, block: Block) -> bool {
        let dominates = |b: Block| self.flow.tree.dominates(b, block);
        after.is_none_or(dominates)
            || self.frames.iter().any(|frame| !frame.is_back_edge && dominates(frame.target))
    }
}
