//! Translation of instructions to expressions and assignments.
//!
//! - A number used once, in the block that computes it, has no variable: its expression is pending
//!   and is inlined at its use. Nothing it reads can change in between; before an array that it
//!   reads is changed, it is computed.
//! - An array is updated in place if the old one is dead: both then share a variable.
//! - Else an array that is moved is copied, unless it is dead afterwards.

use std::collections::HashSet;

use crate::{
    entity::{Block, Inst, Value},
    ir::{InstData, Kind, Op, Target},
};

use super::{
    ast::{EmitExpr, EmitStmt, InPlaceUpdate, Var},
    structure::Structurer,
};

/// Size of the largest expression that is inlined at its use.
const MAX_SIZE: usize = 16;

impl Structurer<'_> {
    /// Counts the uses of every value, and finds the constants and the fields that are read.
    pub(super) fn count(&mut self) {
        let f = self.f;
        for (b, block) in f.blocks.iter() {
            let args = block.insts.iter().flat_map(|&i| &f.insts[i].args).copied();
            let handed =
                block.end.targets().into_iter().flat_map(|t| t.args.clone()).collect::<Vec<_>>();
            for v in args.chain(block.end.operand()).chain(handed) {
                self.uses[v.index()] += 1;
                self.used_in[v.index()] = Some(b);
                let readers = &mut self.readers[v.index()];
                if readers.last() != Some(&b) {
                    readers.push(b);
                }
            }
            for inst in block.insts.iter().map(|&i| &f.insts[i]) {
                if let Some(v) = inst.result {
                    if let (Op::Field(k), [t]) = (inst.op, inst.args.as_slice()) {
                        self.fields_of.entry(*t).or_default().push((k, v));
                    }
                    self.constants[v.index()] = match inst.op {
                        Op::Real(x) => Some(EmitExpr::Real(x.0)),
                        Op::Int(n) => Some(EmitExpr::Int(n)),
                        Op::Bool(b) => Some(EmitExpr::Bool(b)),
                        _ => None,
                    };
                }
            }
        }
    }

    /// Translates the instructions of a block.
    pub(super) fn instructions(&mut self, b: Block, out: &mut Vec<EmitStmt>) {
        let f = self.f;
        let insts = &f.blocks[b].insts;
        let mut needed = self.needed_at_the_end(b);
        // From the last to the first: which arrays does each instruction use for the last time?
        let mut last: Vec<HashSet<Value>> = vec![HashSet::new(); insts.len()];
        for (k, &i) in insts.iter().enumerate().rev() {
            for &v in f.insts[i].args.iter().filter(|v| self.holds[v.index()]) {
                if needed.insert(v) {
                    last[k].insert(v);
                }
            }
        }
        for (k, &i) in insts.iter().enumerate() {
            self.instruction(b, i, &last[k], k + 1 == insts.len(), out);
        }
    }

    fn needed_at_the_end(&self, b: Block) -> HashSet<Value> {
        let end = &self.f.blocks[b].end;
        let mut needed: HashSet<Value> = end.operand().into_iter().collect();
        for t in end.targets() {
            needed.extend(&self.flow.live[t.block.index()]);
            needed.extend(&t.args);
        }
        needed
    }

    fn instruction(
        &mut self,
        b: Block,
        i: Inst,
        last: &HashSet<Value>,
        ends: bool,
        out: &mut Vec<EmitStmt>,
    ) {
        let f = self.f;
        let inst = &f.insts[i];
        let opened = |v: Value| matches!(inst.op, Op::Field(_)) && self.var_of[v.index()].is_some();
        if inst.op.is_constant() || inst.result.is_some_and(opened) {
            return;
        }
        match inst.op {
            Op::Set | Op::Put | Op::AddAt => return self.change(i, last, out),
            Op::Push { tape, .. } => {
                let v = inst.args[0];
                self.release(v, last, out);
                let value = self.consume(v, last.contains(&v));
                out.push(EmitStmt::Push(tape, value));
                return;
            }
            _ => {}
        }
        let args = self.operands(inst, last, out);
        let kind = inst.result.map_or(Kind::tuple([]), |v| f.kinds[v].clone());
        let value = EmitExpr::Op(inst.op, args, kind);
        let Some(v) = inst.result else { return out.push(EmitStmt::Effect(value)) };
        let here = self.uses[v.index()] == 1 && self.used_in[v.index()] == Some(b);
        let for_the_end = ends && f.blocks[b].end.operand() == Some(v);
        let waits = match inst.op {
            Op::Pop { .. } => for_the_end && !self.holds[v.index()],
            Op::Array | Op::Fill | Op::Tuple => true,
            op => op.is_pure() && !self.holds[v.index()],
        };
        if here && waits && value.size() <= MAX_SIZE {
            self.pending.push((v, value));
        } else if self.uses[v.index()] == 0 {
            // Without a use only its effect counts.
            if !inst.op.is_pure() {
                out.push(EmitStmt::Effect(value));
            }
        } else if !self.opened(inst, v, &value, out) {
            let var = self.var(v);
            out.push(EmitStmt::Assign(vec![(var, value)]));
        }
    }

    /// Translates a tuple that a call returns and of which only fields are used to variables at
    /// once.
    fn opened(
        &mut self,
        inst: &InstData,
        v: Value,
        value: &EmitExpr,
        out: &mut Vec<EmitStmt>,
    ) -> bool {
        let Kind::Tuple(tuple) = &self.f.kinds[v] else { return false };
        if tuple.name.is_some() || !matches!(inst.op, Op::Call(_) | Op::Primitive(_)) {
            return false;
        }
        let mut fields = self.fields_of.get(&v).cloned().unwrap_or_default();
        fields.sort_unstable();
        let distinct = fields.windows(2).all(|w| w[0].0 != w[1].0);
        if fields.len() != self.uses[v.index()] as usize || !distinct {
            return false;
        }
        let mut vars = vec![None; tuple.fields.len()];
        for (k, r) in fields {
            vars[k as usize] = Some(self.var(r));
        }
        out.push(EmitStmt::Open(false, vars, value.clone()));
        true
    }

    fn operands(
        &mut self,
        inst: &InstData,
        last: &HashSet<Value>,
        out: &mut Vec<EmitStmt>,
    ) -> Vec<EmitExpr> {
        let f = self.f;
        let gives_away = |k: usize| match inst.op {
            Op::Accumulate => k == 0,
            Op::Select => k > 0,
            Op::Tuple => true,
            // Functions borrow arrays and take tuples.
            Op::Call(_) | Op::Primitive(_) => matches!(f.kinds[inst.args[k]], Kind::Tuple(_)),
            _ => false,
        };
        let mut args = Vec::with_capacity(inst.args.len());
        for (k, &v) in inst.args.iter().enumerate() {
            if !gives_away(k) || !self.holds[v.index()] {
                // `select` computes both sides; the text would compute one.
                if inst.op == Op::Select && k > 0 && self.may_fail(v) {
                    self.flush_value(v, out);
                }
                args.push(self.read(v));
                continue;
            }
            let again = inst.args[k + 1..].contains(&v) || inst.args[..k].contains(&v);
            let last = last.contains(&v) && !again;
            if last {
                self.flush_readers(v, out);
            }
            args.push(self.consume(v, last));
        }
        args
    }

    /// Translates `set`, `put`, `add_at`.
    fn change(&mut self, i: Inst, last: &HashSet<Value>, out: &mut Vec<EmitStmt>) {
        let inst = &self.f.insts[i];
        let (Some(result), [array, index, item]) = (inst.result, inst.args.as_slice()) else {
            return;
        };
        let how = match inst.op {
            Op::Set => InPlaceUpdate::Set,
            Op::Put => InPlaceUpdate::Put,
            _ if self.there.contains(&i) => InPlaceUpdate::Add,
            _ => InPlaceUpdate::AddAt,
        };
        let waiting = self.pending.iter().any(|p| p.0 == *array);
        let old = self.var_of[array.index()];
        let own = old.filter(|v| last.contains(array) && !waiting && !self.vars[v.0].borrowed);
        let var = match own {
            Some(var) => {
                let (i, x) = (self.read(*index), self.read(*item));
                self.flush_readers(*array, out);
                self.flush_element_reads(how, out);
                self.var_of[result.index()] = Some(var);
                out.push(EmitStmt::Change(how, var, i, x));
                return;
            }
            None => self.var(result),
        };
        let copy = self.consume(*array, false);
        out.push(EmitStmt::Assign(vec![(var, copy)]));
        let (i, x) = (self.read(*index), self.read(*item));
        self.flush_element_reads(how, out);
        out.push(EmitStmt::Change(how, var, i, x));
    }

    /// Returns the expression of a value that is only read.
    pub(super) fn read(&mut self, v: Value) -> EmitExpr {
        if let Some(c) = &self.constants[v.index()] {
            return c.clone();
        }
        match self.pending.iter().position(|p| p.0 == v) {
            Some(k) => self.pending.remove(k).1,
            None => EmitExpr::Var(self.var(v)),
        }
    }

    /// Returns the expression of a value that is moved: an array is copied unless this is its last
    /// use.
    pub(super) fn consume(&mut self, v: Value, last: bool) -> EmitExpr {
        let copied = self.holds[v.index()];
        match self.read(v) {
            EmitExpr::Var(var) if copied && (!last || self.vars[var.0].borrowed) => {
                EmitExpr::Clone(var)
            }
            other => other,
        }
    }

    /// Computes the pending expressions that read the array `v`, which is about to change.
    fn flush_readers(&mut self, v: Value, out: &mut Vec<EmitStmt>) {
        let Some(var) = self.var_of[v.index()] else { return };
        while let Some(k) = self.pending.iter().position(|p| p.1.reads(var)) {
            let (value, expr) = self.pending.remove(k);
            let to = self.var(value);
            out.push(EmitStmt::Assign(vec![(to, expr)]));
        }
    }

    /// Computes the pending expressions that read an element, before an array grows: an index that
    /// is too large is reported where it is read, not by an array of that length.
    fn flush_element_reads(&mut self, how: InPlaceUpdate, out: &mut Vec<EmitStmt>) {
        if !matches!(how, InPlaceUpdate::Put | InPlaceUpdate::AddAt) {
            return;
        }
        let reads = |expr: &EmitExpr| {
            let mut found = false;
            expr.each_op(&mut |op, _, _| found |= op == Op::Get);
            found
        };
        while let Some(v) = self.pending.iter().find(|p| reads(&p.1)).map(|p| p.0) {
            self.flush_value(v, out);
        }
    }

    fn release(&mut self, v: Value, last: &HashSet<Value>, out: &mut Vec<EmitStmt>) {
        if last.contains(&v) {
            let own = self.pending.iter().position(|p| p.0 == v);
            let own = own.map(|k| self.pending.remove(k));
            self.flush_readers(v, out);
            self.pending.extend(own);
        }
    }

    /// Returns true if the pending expression of a value may fail.
    fn may_fail(&self, v: Value) -> bool {
        let Some((_, expr)) = self.pending.iter().find(|p| p.0 == v) else { return false };
        let mut found = false;
        expr.each_op(&mut |op, _, _| {
            found |= matches!(op, Op::Get | Op::Peek | Op::Int1(_) | Op::Int2(_) | Op::Fill);
        });
        found
    }

    fn flush_value(&mut self, v: Value, out: &mut Vec<EmitStmt>) {
        if let Some(k) = self.pending.iter().position(|p| p.0 == v) {
            let (value, expr) = self.pending.remove(k);
            let var = self.var(value);
            out.push(EmitStmt::Assign(vec![(var, expr)]));
        }
    }

    /// Returns the assignments of an edge (phi lowering).
    pub(super) fn edge(&mut self, target: &Target) -> Vec<EmitStmt> {
        let f = self.f;
        let params = f.blocks[target.block].params.clone();
        let mut moves = Vec::new();
        for (k, (&param, &arg)) in params.iter().zip(&target.args).enumerate() {
            let again = target.args[k + 1..].contains(&arg);
            let last = !again && !self.flow.live[target.block.index()].contains(&arg);
            let var = self.var(param);
            let value = match self.var_of[arg.index()] {
                Some(same) if same == var => continue,
                _ => self.consume(arg, last),
            };
            moves.push((var, value));
        }
        sequentialize_moves(moves)
    }
}

/// Orders a parallel move into single assignments where that is equivalent.
fn sequentialize_moves(mut moves: Vec<(Var, EmitExpr)>) -> Vec<EmitStmt> {
    // An array that is moved must not be read afterwards.
    let gives = |e: &EmitExpr| match e {
        EmitExpr::Var(v) => Some(*v),
        _ => None,
    };
    let mut out = Vec::new();
    while !moves.is_empty() {
        let free = (0..moves.len()).find(|&k| {
            let (to, value) = &moves[k];
            moves.iter().enumerate().all(|(j, (_, other))| {
                j == k
                    || !other.reads(*to)
                        && !gives(value).is_some_and(|v| other.reads(v) && gives(other) != Some(v))
            })
        });
        match free {
            Some(k) => out.push(EmitStmt::Assign(vec![moves.remove(k)])),
            None => {
                out.push(EmitStmt::Assign(std::mem::take(&mut moves)));
            }
        }
    }
    out
}
