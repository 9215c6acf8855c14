//! Records of counted loops in Rust.
//!
//! A loop that records in each of a known number of iterations preallocates all of them before it
//! starts:
//!
//! ```text
//! for i in 0..n { …; push(&mut tape.reals, y); … }
//! for (i, kept_reals) in (0..n).zip(room(&mut tape.reals, 0..n, 1)) { …; kept_reals[0] = y; … }
//! ```
//!
//! No function is called within the loop then, so its numbers stay in registers: on x86-64 a call,
//! even one that is rarely made, spills every number of the loop to memory.

use crate::ir::{Kind, Op};

use super::{
    ast::{EmitExpr, EmitStmt, ForRange, JumpLabel, mentions},
    rust::tape_field,
    rust_stmt::RustWriter,
};

/// Vector of a tape that is preallocated for all iterations of an enclosing loop.
pub(super) struct PreallocatedTape {
    level: u32,
    field: &'static str,
    /// Name of the slice of one iteration.
    name: String,
    /// Number of values of this iteration that are written.
    written: usize,
}

impl RustWriter<'_, '_> {
    /// Emits a `for` loop.
    pub(super) fn counted(&mut self, label: JumpLabel, c: &ForRange, body: &[EmitStmt]) {
        let read = body.iter().any(|s| mentions(s, c.var));
        let dots = if c.inclusive { "..=" } else { ".." };
        let range = format!("{}{dots}{}", self.operand(&c.from), self.operand(&c.to));
        let rooms = self.rooms(c, body);
        let mut heads = Vec::new();
        if read {
            heads.push((self.var(c.var).to_owned(), range.clone()));
        } else if rooms.is_empty() {
            heads.push(("_".to_owned(), range.clone()));
        }
        let outer = self.rooms.len();
        for (level, field, each) in rooms {
            let tape = self.file.tape_name(level);
            let name = self.file.room_name(level, field);
            heads.push((name.clone(), format!("room(&mut {tape}.{field}, {range}, {each})")));
            self.rooms.push(PreallocatedTape { level, field, name, written: 0 });
        }
        let (mut pattern, mut over) = heads.remove(0);
        if read && !heads.is_empty() {
            over = format!("({over})");
        }
        for (name, next) in heads {
            pattern = format!("({pattern}, {name})");
            over = format!("{over}.zip({next})");
        }
        self.breakable(label, &format!("for {pattern} in {over}"), body);
        self.rooms.truncate(outer);
    }

    /// Records a value.
    pub(super) fn record(&mut self, level: u32, value: &EmitExpr) {
        let tape = self.file.tape_name(level);
        for (field, item) in self.leaves(value) {
            let room = self.rooms.iter_mut().rev().find(|r| (r.level, r.field) == (level, field));
            let line = match room {
                Some(room) => {
                    room.written += 1;
                    format!("{}[{}] = {item};", room.name, room.written - 1)
                }
                None => format!("push(&mut {tape}.{field}, {item});"),
            };
            self.line(&line);
        }
    }

    /// Returns the vectors to which each iteration of a loop adds the same number of values, and
    /// which have no other use in it.
    fn rooms(&self, c: &ForRange, body: &[EmitStmt]) -> Vec<(u32, &'static str, usize)> {
        let known = |e: &EmitExpr| matches!(e, EmitExpr::Int(_) | EmitExpr::Var(_));
        if c.inclusive || !known(&c.from) || !known(&c.to) || leads_out(body, &mut Vec::new()) {
            return vec![];
        }
        let mut rooms: Vec<(u32, &'static str, usize)> = Vec::new();
        for s in body {
            let EmitStmt::Push(level, value) = s else { continue };
            self.fields(&self.body.kind(value), &mut |field| match rooms
                .iter_mut()
                .find(|r| (r.0, r.1) == (*level, field))
            {
                Some(room) => room.2 += 1,
                None => rooms.push((*level, field, 1)),
            });
        }
        let inner = || body.iter().flat_map(EmitStmt::parts).flatten();
        rooms.retain(|&(level, field, _)| {
            !inner().any(|s| self.pushes(s, level, field))
                && !body.iter().any(|s| self.uses(s, level, field))
        });
        rooms
    }

    /// Returns true if a statement records to a vector.
    fn pushes(&self, s: &EmitStmt, level: u32, field: &str) -> bool {
        let mut found = false;
        if let EmitStmt::Push(l, value) = s {
            self.fields(&self.body.kind(value), &mut |f| found |= *l == level && f == field);
        }
        found || s.parts().into_iter().flatten().any(|s| self.pushes(s, level, field))
    }

    /// Returns true if a statement reads from a vector, or calls a function that takes the tape.
    fn uses(&self, s: &EmitStmt, level: u32, field: &str) -> bool {
        let mut found = false;
        let tape = self.file.tape_name(level);
        for e in s.exprs() {
            e.each_op(&mut |op, _, kind| match op {
                Op::Pop { tape, .. } => {
                    self.fields(kind, &mut |f| found |= tape == level && f == field)
                }
                Op::Call(f) => found |= self.file.extras(f).contains(&tape),
                _ => {}
            });
        }
        found || s.parts().into_iter().flatten().any(|s| self.uses(s, level, field))
    }

    /// Calls `f` with the vectors of the leaves of a kind.
    fn fields(&self, kind: &Kind, f: &mut impl FnMut(&'static str)) {
        match kind {
            Kind::Tuple(t) => t.fields.iter().for_each(|field| self.fields(&field.kind, f)),
            leaf => f(tape_field(leaf)),
        }
    }
}

/// Returns true if an iteration may end before its last statement; `inner` are the labels in it.
fn leads_out(list: &[EmitStmt], inner: &mut Vec<JumpLabel>) -> bool {
    list.iter().any(|s| match s {
        EmitStmt::Return(_) => true,
        EmitStmt::Break(l) | EmitStmt::Continue(l) => !inner.contains(l),
        _ => {
            if let EmitStmt::Loop(l, _)
            | EmitStmt::While(l, ..)
            | EmitStmt::For(l, ..)
            | EmitStmt::Block(l, _) = s
            {
                inner.push(*l);
            }
            s.parts().iter().any(|p| leads_out(p, inner))
        }
    })
}
