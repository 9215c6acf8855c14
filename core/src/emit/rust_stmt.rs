//! Statements in Rust.

use std::{collections::HashSet, fmt::Write};

use crate::ir::{Element, Kind, Op};

use super::{
    ast::{Body, Change, Expr, Label, Stmt, Var},
    rust::File,
    rust_tape::Room,
    tidy::is_named,
};

/// What the index and the value of a change are called where they are computed before it.
pub(super) const CHANGED_AT: &str = "changed_at";
pub(super) const CHANGED_BY: &str = "changed_by";

pub(super) struct Writer<'w, 'a> {
    pub(super) file: &'w mut File<'a>,
    pub(super) body: &'w Body,
    pub(super) out: String,
    pub(super) depth: usize,
    /// The loops and blocks around, innermost last, and which are blocks.
    pub(super) breakable: Vec<(Label, bool)>,
    /// The vectors of tapes that loops around have made room in.
    pub(super) rooms: Vec<Room>,
    /// The variables whose values do not say what type their numbers have.
    pub(super) untyped: HashSet<Var>,
    /// The parameters whose cotangents the fields of the result are behind the first, if this is a gradient for all to call.
    pub(super) cotangents_of: Vec<Var>,
}

impl Writer<'_, '_> {
    pub(super) fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 4 * self.depth);
    }

    pub(super) fn var(&self, v: Var) -> &str {
        &self.body.vars[v.0].name
    }

    pub(super) fn list(&mut self, list: &[Stmt]) {
        list.iter().for_each(|s| self.statement(s));
    }

    fn inner(&mut self, list: &[Stmt]) {
        self.depth += 1;
        self.list(list);
        self.depth -= 1;
    }

    fn binding(&self, v: Var) -> String {
        let data = &self.body.vars[v.0];
        format!("{}{}", if data.mutable { "mut " } else { "" }, data.name)
    }

    fn statement(&mut self, s: &Stmt) {
        match s {
            Stmt::Declare(v) => {
                let kind = self.file.kind(&self.body.vars[v.0].kind);
                let line = format!("let {}: {kind};", self.binding(*v));
                self.line(&line);
            }
            Stmt::Let(v, value) => {
                let text = self.expr(value);
                let kind = &self.body.vars[v.0].kind;
                let untyped = self.is_untyped(value);
                let kind = if untyped && matches!(kind, Kind::Real | Kind::Int) {
                    format!(": {}", self.file.kind(kind))
                } else {
                    self.untyped.extend(untyped.then_some(*v));
                    String::new()
                };
                let line = format!("let {}{kind} = {text};", self.binding(*v));
                self.line(&line);
            }
            Stmt::Assign(pairs) => {
                let line = match pairs.as_slice() {
                    [(v, value)] => self.assignment(*v, value),
                    many => {
                        let to: Vec<&str> = many.iter().map(|p| self.var(p.0)).collect();
                        let to = to.join(", ");
                        let from: Vec<String> = many.iter().map(|p| self.expr(&p.1)).collect();
                        format!("({to}) = ({});", from.join(", "))
                    }
                };
                self.line(&line);
            }
            Stmt::Open(new, vars, value) => {
                let names = vars.iter().map(|v| match v {
                    Some(v) if *new => self.binding(*v),
                    Some(v) => self.var(*v).to_owned(),
                    None => "_".to_owned(),
                });
                let mut names = names.collect::<Vec<_>>().join(", ");
                if vars.len() == 1 {
                    names.push(',');
                }
                if *new && self.is_untyped(value) {
                    self.untyped.extend(vars.iter().flatten().copied());
                }
                let value = self.expr(value);
                self.line(&format!("{}({names}) = {value};", if *new { "let " } else { "" }));
            }
            Stmt::Change(how, v, i, x) => self.change(*how, *v, i, x),
            Stmt::Effect(e) => {
                let e = self.expr(e);
                self.line(&format!("{e};"));
            }
            Stmt::Push(level, value) => self.record(*level, value),
            Stmt::If(c, yes, no) => {
                let mut head = format!("if {} {{", self.expr(c));
                let (mut yes, mut no) = (yes, no);
                loop {
                    self.line(&head);
                    self.inner(yes);
                    match no.as_slice() {
                        [] => break self.line("}"),
                        [Stmt::If(c, y, n)] => {
                            head = format!("}} else if {} {{", self.expr(c));
                            (yes, no) = (y, n);
                        }
                        _ => {
                            self.line("} else {");
                            self.inner(no);
                            break self.line("}");
                        }
                    }
                }
            }
            Stmt::Switch(index, arms) => {
                let index = self.expr(index);
                self.line(&format!("match {index} {{"));
                self.depth += 1;
                for (k, arm) in arms.iter().enumerate() {
                    let pattern = if k + 1 == arms.len() { "_".to_owned() } else { k.to_string() };
                    self.line(&format!("{pattern} => {{"));
                    self.inner(arm);
                    self.line("}");
                }
                self.depth -= 1;
                self.line("}");
            }
            Stmt::Loop(l, body) => self.breakable(*l, "loop", body),
            Stmt::While(l, c, body) => {
                let head = format!("while {}", self.expr(c));
                self.breakable(*l, &head, body);
            }
            Stmt::For(l, c, body) => self.counted(*l, c, body),
            Stmt::Block(l, body) => {
                let head = format!("'l{}: {{", l.0);
                self.line(&head);
                self.breakable.push((*l, true));
                self.inner(body);
                self.breakable.pop();
                self.line("}");
            }
            Stmt::Break(l) => {
                let line = format!("break{};", self.label(*l));
                self.line(&line);
            }
            Stmt::Continue(l) => {
                let line = format!("continue{};", self.label(*l));
                self.line(&line);
            }
            Stmt::Return(e) => {
                let e = self.result(e);
                self.line(&format!("return {e};"));
            }
        }
    }

    /// What a function gives. Cotangents of arrays may be shorter than these while they are collected.
    pub(super) fn result(&mut self, e: &Expr) -> String {
        let Expr::Op(Op::Tuple, items, _) = e else { return self.expr(e) };
        if self.cotangents_of.is_empty() || items.len() != self.cotangents_of.len() + 1 {
            return self.expr(e);
        }
        let mut fields = vec![self.expr(&items[0])];
        for (item, of) in items[1..].iter().zip(self.cotangents_of.clone()) {
            let (text, of) = (self.expr(item), &self.body.vars[of.0]);
            fields.push(match of.kind {
                Kind::Array(_) if self.file.shaped => format!("array_at_full_length({text}, {})", of.name),
                Kind::Array(_) => format!("at_full_length({text}, {}.len())", of.name),
                _ => text,
            });
        }
        format!("({})", fields.join(", "))
    }

    /// Changes an element. Rust lets nothing read the array once it is borrowed to be changed: an index that does, and
    /// a value that is computed after the borrow, are taken before.
    fn change(&mut self, how: Change, v: Var, i: &Expr, x: &Expr) {
        let in_place = matches!(how, Change::Set | Change::Add);
        let mut index = if in_place { self.index(i) } else { self.expr(i) };
        if i.reads(v) {
            self.line(&format!("let {CHANGED_AT} = {index};"));
            index = CHANGED_AT.to_owned();
        }
        let mut value = self.expr(x);
        let value_is_first = match how {
            Change::Set => true,
            // `+=` of numbers that are not Rust's own is a function that borrows.
            Change::Add => self.body.vars[v.0].kind != Kind::Array(Element::Complex),
            Change::Put | Change::AddAt => false,
        };
        if x.reads(v) && !value_is_first {
            self.line(&format!("let {CHANGED_BY} = {value};"));
            value = CHANGED_BY.to_owned();
        }
        let (name, prefix) = (self.var(v), self.file.prefix());
        let line = match how {
            Change::Set => format!("{name}[{index}] = {value};"),
            Change::Add => format!("{name}[{index}] += {value};"),
            Change::Put => format!("{prefix}put(&mut {name}, {index}, {value});"),
            Change::AddAt => format!("{prefix}add_at(&mut {name}, {index}, {value});"),
        };
        self.line(&line);
    }

    pub(super) fn breakable(&mut self, label: Label, head: &str, body: &[Stmt]) {
        let named = if is_named(body, label) { format!("'l{}: ", label.0) } else { String::new() };
        self.line(&format!("{named}{head} {{"));
        self.breakable.push((label, false));
        self.inner(body);
        self.breakable.pop();
        self.line("}");
    }

    /// The label of a jump, unless it is that of the innermost loop.
    fn label(&self, l: Label) -> String {
        if self.breakable.last() == Some(&(l, false)) { String::new() } else { format!(" 'l{}", l.0) }
    }
}
