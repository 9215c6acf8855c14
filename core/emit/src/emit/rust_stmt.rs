//! Statements in Rust.

use std::{collections::HashSet, fmt::Write};

use crate::ir::{Element, Kind, Op};

use super::{
    ast::{EmitExpr, EmitStmt, InPlaceUpdate, JumpLabel, StructuredBody, Var, holds_array},
    rust::{RustFile, field_names},
    rust_tape::PreallocatedTape,
    tidy::is_named,
};

/// Names of the index and the value of an update, where they are computed before it.
const CHANGED_AT: &str = "changed_at";
const CHANGED_BY: &str = "changed_by";
/// Name of the result of a gradient whose arrays are extended.
const RESULT: &str = "derivatives";
/// Name of the lengths of arrays in fields of parameters, which may be moved before the result is
/// made.
const LENGTHS: &str = "lengths";
/// Names that are not allowed for variables of a function.
pub(super) const OWN_NAMES: [&str; 4] = [CHANGED_AT, CHANGED_BY, RESULT, LENGTHS];

pub(super) struct RustWriter<'w, 'a> {
    pub(super) file: &'w mut RustFile<'a>,
    pub(super) body: &'w StructuredBody,
    pub(super) out: String,
    pub(super) depth: usize,
    /// Enclosing loops and blocks, innermost last; true for blocks.
    pub(super) breakable: Vec<(JumpLabel, bool)>,
    /// Vectors of tapes that enclosing loops have preallocated.
    pub(super) rooms: Vec<PreallocatedTape>,
    /// Variables whose values do not determine the type of their numbers.
    pub(super) untyped: HashSet<Var>,
    /// Fields of the result that are cotangents, and the parameters they belong to, if this is a
    /// public gradient.
    pub(super) cotangents: Vec<(String, Var)>,
    /// Arrays in fields of these parameters, as they are written: their lengths are in [`LENGTHS`],
    /// in this order.
    pub(super) lengths: Vec<String>,
}

impl RustWriter<'_, '_> {
    pub(super) fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 4 * self.depth);
    }

    pub(super) fn var(&self, v: Var) -> &str {
        &self.body.vars[v.0].name
    }

    pub(super) fn list(&mut self, list: &[EmitStmt]) {
        list.iter().for_each(|s| self.statement(s));
    }

    fn inner(&mut self, list: &[EmitStmt]) {
        self.depth += 1;
        self.list(list);
        self.depth -= 1;
    }

    fn binding(&self, v: Var) -> String {
        let data = &self.body.vars[v.0];
        format!("{}{}", if data.mutable { "mut " } else { "" }, data.name)
    }

    fn statement(&mut self, s: &EmitStmt) {
        match s {
            EmitStmt::Declare(v) => {
                let kind = self.file.kind(&self.body.vars[v.0].kind);
                let line = format!("let {}: {kind};", self.binding(*v));
                self.line(&line);
            }
            EmitStmt::Let(v, value) => self.let_binding(*v, value),
            EmitStmt::Assign(pairs) => self.assign(pairs),
            EmitStmt::Open(new, vars, value) => self.open(*new, vars, value),
            EmitStmt::Change(how, v, i, x) => self.change(*how, *v, i, x),
            EmitStmt::Effect(e) => {
                let e = self.expr(e);
                self.line(&format!("{e};"));
            }
            EmitStmt::Push(level, value) => self.record(*level, value),
            EmitStmt::If(c, yes, no) => self.conditional(c, yes, no),
            EmitStmt::Switch(index, arms) => self.switch(index, arms),
            EmitStmt::Loop(l, body) => self.breakable(*l, "loop", body),
            EmitStmt::While(l, c, body) => {
                let head = format!("while {}", self.expr(c));
                self.breakable(*l, &head, body);
            }
            EmitStmt::For(l, c, body) => self.counted(*l, c, body),
            EmitStmt::Block(l, body) => {
                let head = format!("'l{}: {{", l.0);
                self.line(&head);
                self.breakable.push((*l, true));
                self.inner(body);
                self.breakable.pop();
                self.line("}");
            }
            EmitStmt::Break(l) => {
                let line = format!("break{};", self.label(*l));
                self.line(&line);
            }
            EmitStmt::Continue(l) => {
                let line = format!("continue{};", self.label(*l));
                self.line(&line);
            }
            EmitStmt::Return(e) => {
                let e = self.result(e);
                self.line(&format!("return {e};"));
            }
        }
    }

    /// Writes a new variable, with its type if its value does not determine it.
    fn let_binding(&mut self, v: Var, value: &EmitExpr) {
        let text = self.expr(value);
        let kind = &self.body.vars[v.0].kind;
        let untyped = self.is_untyped(value);
        let kind = if untyped && matches!(kind, Kind::Real | Kind::Int) {
            format!(": {}", self.file.kind(kind))
        } else {
            self.untyped.extend(untyped.then_some(v));
            String::new()
        };
        let line = format!("let {}{kind} = {text};", self.binding(v));
        self.line(&line);
    }

    /// Writes new values of variables, all at once.
    fn assign(&mut self, pairs: &[(Var, EmitExpr)]) {
        let line = match pairs {
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

    /// Writes the fields of a tuple as variables, which may be new.
    fn open(&mut self, new: bool, vars: &[Option<Var>], value: &EmitExpr) {
        let names = vars.iter().map(|v| match v {
            Some(v) if new => self.binding(*v),
            Some(v) => self.var(*v).to_owned(),
            None => "_".to_owned(),
        });
        let mut names = names.collect::<Vec<_>>().join(", ");
        if vars.len() == 1 {
            names.push(',');
        }
        if new && self.is_untyped(value) {
            self.untyped.extend(vars.iter().flatten().copied());
        }
        let value = self.expr(value);
        self.line(&format!("{}({names}) = {value};", if new { "let " } else { "" }));
    }

    /// Writes an `if`; an `else` that is one `if` alone becomes an `else if`.
    fn conditional(&mut self, c: &EmitExpr, yes: &[EmitStmt], no: &[EmitStmt]) {
        let mut head = format!("if {} {{", self.expr(c));
        let (mut yes, mut no) = (yes, no);
        loop {
            self.line(&head);
            self.inner(yes);
            match no {
                [] => break self.line("}"),
                [EmitStmt::If(c, y, n)] => {
                    head = format!("}} else if {} {{", self.expr(c));
                    (yes, no) = (y.as_slice(), n.as_slice());
                }
                _ => {
                    self.line("} else {");
                    self.inner(no);
                    break self.line("}");
                }
            }
        }
    }

    /// Writes a `match` of the arms of an integer.
    fn switch(&mut self, index: &EmitExpr, arms: &[Vec<EmitStmt>]) {
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

    /// Formats the result of a function. Cotangents of arrays may be shorter than these while they
    /// are accumulated.
    pub(super) fn result(&mut self, e: &EmitExpr) -> String {
        let kind = |v: &Var| &self.body.vars[v.0].kind;
        if !self.cotangents.iter().any(|(_, of)| holds_array(kind(of))) {
            return self.expr(e);
        }
        let inside = |(field, of): &(String, Var)| {
            field.contains('.') || matches!(kind(of), Kind::Tuple(_)) && holds_array(kind(of))
        };
        if let (EmitExpr::Op(Op::Tuple, items, _), false) = (e, self.cotangents.iter().any(inside))
        {
            let mut fields = vec![self.expr(&items[0])];
            for (item, (_, of)) in items[1..].iter().zip(self.cotangents.clone()) {
                let (text, of) = (self.expr(item), &self.body.vars[of.0]);
                let is_array = matches!(of.kind, Kind::Array(_));
                fields.push(if is_array { self.at_full_length(&text, &of.name) } else { text });
            }
            return format!("({})", fields.join(", "));
        }
        let whole = self.expr(e);
        self.line(&format!("let mut {RESULT} = {whole};"));
        for (field, of) in self.cotangents.clone() {
            let of = &self.body.vars[of.0];
            self.lengthen(&format!("{RESULT}.{field}"), &of.name, &of.kind);
        }
        RESULT.to_owned()
    }

    /// Emits the lengths of the arrays in fields of parameters.
    pub(super) fn remember_lengths(&mut self) {
        let mut arrays: Vec<String> = Vec::new();
        for (_, of) in &self.cotangents {
            let of = &self.body.vars[of.0];
            if matches!(of.kind, Kind::Tuple(_)) {
                array_fields(&of.name, &of.name, &of.kind, &mut |of, _| {
                    if !arrays.iter().any(|array| array == of) {
                        arrays.push(of.to_owned());
                    }
                });
            }
        }
        let one = |of: &String| match self.file.shaped {
            // The shape, without elements.
            true => format!("array_map(&{of}, |_| ()), "),
            false => format!("{of}.len(), "),
        };
        let lengths: String = arrays.iter().map(one).collect();
        if !arrays.is_empty() {
            self.line(&format!(
                "let {LENGTHS} = ({});",
                if arrays.len() == 1 { lengths.trim_end() } else { lengths.trim_end_matches(", ") }
            ));
        }
        self.lengths = arrays;
    }

    /// Extends all arrays in a cotangent to the lengths of those in its primal value.
    fn lengthen(&mut self, bar: &str, of: &str, kind: &Kind) {
        let mut pairs = Vec::new();
        array_fields(bar, of, kind, &mut |of, bar| pairs.push((bar.to_owned(), of.to_owned())));
        for (bar, of) in pairs {
            let line = format!("{bar} = {};", self.at_full_length(&bar, &of));
            self.line(&line);
        }
    }

    fn at_full_length(&self, bar: &str, of: &str) -> String {
        let remembered = self.lengths.iter().position(|array| array == of);
        match (remembered, self.file.shaped) {
            (Some(k), true) => format!("array_at_full_length({bar}, &{LENGTHS}.{k})"),
            (Some(k), false) => format!("at_full_length({bar}, {LENGTHS}.{k})"),
            (None, true) => format!("array_at_full_length({bar}, {of})"),
            (None, false) => format!("at_full_length({bar}, {of}.len())"),
        }
    }

    /// Emits an update of an element. In Rust the array cannot be read while it is mutably
    /// borrowed: an index that reads it, and a value that would be computed after the borrow, are
    /// computed before.
    fn change(&mut self, how: InPlaceUpdate, v: Var, i: &EmitExpr, x: &EmitExpr) {
        let in_place = matches!(how, InPlaceUpdate::Set | InPlaceUpdate::Add);
        let mut index = if in_place { self.index(i) } else { self.expr(i) };
        if i.reads(v) {
            self.line(&format!("let {CHANGED_AT} = {index};"));
            index = CHANGED_AT.to_owned();
        }
        let mut value = self.expr(x);
        let value_is_first = match how {
            InPlaceUpdate::Set => true,
            // `+=` of numbers that are not built into Rust is a function that borrows.
            InPlaceUpdate::Add => self.body.vars[v.0].kind != Kind::Array(Element::Complex),
            InPlaceUpdate::Put | InPlaceUpdate::AddAt => false,
        };
        if x.reads(v) && !value_is_first {
            self.line(&format!("let {CHANGED_BY} = {value};"));
            value = CHANGED_BY.to_owned();
        }
        let (name, prefix) = (self.var(v), self.file.prefix());
        let line = match how {
            InPlaceUpdate::Set => format!("{name}[{index}] = {value};"),
            InPlaceUpdate::Add => format!("{name}[{index}] += {value};"),
            InPlaceUpdate::Put => format!("{prefix}put(&mut {name}, {index}, {value});"),
            InPlaceUpdate::AddAt => format!("{prefix}add_at(&mut {name}, {index}, {value});"),
        };
        self.line(&line);
    }

    pub(super) fn breakable(&mut self, label: JumpLabel, head: &str, body: &[EmitStmt]) {
        let named = if is_named(body, label) { format!("'l{}: ", label.0) } else { String::new() };
        self.line(&format!("{named}{head} {{"));
        self.breakable.push((label, false));
        self.inner(body);
        self.breakable.pop();
        self.line("}");
    }

    /// Returns the label of a jump, unless it is that of the innermost loop.
    fn label(&self, l: JumpLabel) -> String {
        if self.breakable.last() == Some(&(l, false)) {
            String::new()
        } else {
            format!(" 'l{}", l.0)
        }
    }
}

/// Visits the arrays in a value that have cotangents, together with these.
fn array_fields(bar: &str, of: &str, kind: &Kind, each: &mut impl FnMut(&str, &str)) {
    match kind {
        Kind::Array(_) => each(of, bar),
        Kind::Tuple(t) => {
            let fields = t.fields.iter().zip(field_names(&t.fields));
            let with_tangents = fields.filter(|(f, _)| f.kind.is_differentiable());
            let tangent = kind.tangent();
            let bars = field_names(tangent.as_ref().map_or(&[], Kind::fields));
            for ((field, name), bar_name) in with_tangents.zip(bars) {
                array_fields(
                    &format!("{bar}.{bar_name}"),
                    &format!("{of}.{name}"),
                    &field.kind,
                    each,
                );
            }
        }
        _ => {}
    }
}
