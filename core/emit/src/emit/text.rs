//! Emitter of the program language: from source to derivative source, which can be run.
//!
//! The function comes last, so it is the entry of the text; its callees precede it. Constructs that
//! the language lacks are expressed by others:
//!
//! - The tape of a gradient becomes an array with a counter, if one function both records and
//!   reads. A tape that is passed from function to function (a recursion that was too large to
//!   inline) is an error.
//! - Arrays that grow (cotangents) use helper functions that are emitted along with the code; the
//!   results of a gradient have the shapes of its parameters.
//! - A jump out of several loops at once, and one out of the middle of a branch, are errors: emit
//!   Rust.
//!
//! Rules are inlined: the text holds the derivative that the rule emitted.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt::Write,
};

use crate::{
    entity::FuncId,
    ir::{Element, Kind, Op, Program},
};

use super::{
    EmitError,
    ast::{EmitExpr, EmitStmt, InPlaceUpdate, StructuredBody, Var},
    check,
    exits::at_full_length,
    names::{NameAllocator, identifier},
    structure::structured,
    tidy::is_named,
};

/// Emits the function and all it calls as program text.
///
/// ```
/// use ketgrad_core::{adjoint, emit::emit_text, exec::{Datum, Derivatives}, pass::{Level, optimize_all}, text::parse_program};
///
/// let mut program = parse_program("fn f(a, b) { a * sin(b) }")?;
/// let f = program.lookup("f").ok_or("no function")?;
/// let gradient = adjoint::gradient(&mut program, f)?;
/// optimize_all(&mut program, gradient, Level::Strict);
/// let source = emit_text(&program, gradient)?;
/// assert!(source.starts_with("fn f_gradient(a, b) -> (real, real, real) {"), "{source}");
/// // It runs, and can be differentiated again.
/// let again = parse_program(&source)?;
/// let mut g = Derivatives::<f64>::new(&again, "f_gradient")?;
/// let value = g.value(&[Datum::Real(2.0), Datum::Real(0.5)])?;
/// assert_eq!(value.fields()[1].real(), Some(&0.5f64.sin()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// See [`emit_rust`](super::emit_rust); also if the language cannot express a construct.
pub fn emit_text(program: &Program, root: FuncId) -> Result<String, EmitError> {
    check(program, root)?;
    let mut order = vec![root];
    let mut seen = HashSet::from([root]);
    let mut next = 0;
    while let Some(&f) = order.get(next) {
        next += 1;
        order.extend(program.functions[f].callees().into_iter().filter(|g| seen.insert(*g)));
    }
    let on_tape: HashSet<FuncId> = order.iter().copied().filter(|&f| tapes(program, f)).collect();
    // Two names may be equal without their dots: `f.gradient`, `f_gradient`.
    let mut taken = NameAllocator::default();
    let names = order.iter().map(|&f| (f, taken.fresh(&identifier(&program.functions[f].name))));
    let names: HashMap<FuncId, String> = names.collect();
    let mut reserved: HashSet<String> = names.values().cloned().collect();
    reserved.extend(
        ["reals", "ints", "complexes", "reals_top", "ints_top", "complexes_top"].map(String::from),
    );
    let mut file =
        ProgramFile { program, names, structs: BTreeMap::new(), helpers: BTreeSet::new() };
    let mut functions = Vec::new();
    for &f in order.iter().rev() {
        let function = &program.functions[f];
        let shared = || function.callees().iter().any(|g| on_tape.contains(g));
        if on_tape.contains(&f) && (f != root || shared()) {
            return Err(EmitError::Unspeakable {
                function: function.name.clone(),
                what:
                    "its tape goes from function to function; emit Rust, or differentiate without recursion"
                        .into(),
            });
        }
        let function = if f == root { at_full_length(function) } else { Cow::Borrowed(function) };
        let hidden = function.insts.values().find_map(|i| match i.op {
            Op::OnArrays(op) if reserved.contains(op.name()) => Some(op.name()),
            _ => None,
        });
        if let Some(name) = hidden {
            let what = format!("a function hides the operation `{name}`: give it another name");
            return Err(EmitError::Unspeakable { function: function.name.clone(), what });
        }
        let body = structured(&function, &reserved)?;
        let mut w = ProgramWriter {
            file: &mut file,
            body: &body,
            name: &function.name,
            out: String::new(),
            depth: 1,
            tapes: BTreeSet::new(),
        };
        functions.push(w.function(f)?);
    }
    let mut out = String::new();
    for (name, fields) in &file.structs {
        let _ = writeln!(out, "struct {name} {{ {fields} }}");
    }
    for helper in &file.helpers {
        out.push_str(helper);
        out.push('\n');
    }
    out.push_str(&functions.join("\n"));
    Ok(out)
}

fn tapes(program: &Program, f: FuncId) -> bool {
    let function = &program.functions[f];
    let mut insts = function.blocks.values().flat_map(|b| &b.insts);
    insts.any(|&i| matches!(function.insts[i].op, Op::Push { .. } | Op::Pop { .. }))
}

pub(super) struct ProgramFile<'a> {
    pub(super) program: &'a Program,
    names: HashMap<FuncId, String>,
    structs: BTreeMap<String, String>,
    pub(super) helpers: BTreeSet<String>,
}

impl ProgramFile<'_> {
    /// Returns the name of a function in the text.
    pub(super) fn name(&self, f: FuncId) -> &str {
        self.names.get(&f).map_or("", String::as_str)
    }

    fn kind(&mut self, kind: &Kind) -> String {
        match kind {
            Kind::Array(Element::Real) => "array".into(),
            Kind::Tuple(t) => {
                let Some(name) = &t.name else {
                    let fields: Vec<String> = t.fields.iter().map(|f| self.kind(&f.kind)).collect();
                    return format!("({})", fields.join(", "));
                };
                let fields: Vec<String> = t
                    .fields
                    .iter()
                    .map(|f| {
                        format!("{}: {}", f.name.as_deref().unwrap_or("value"), self.kind(&f.kind))
                    })
                    .collect();
                let fields = fields.join(", ");
                let mut chosen = name.clone();
                while self.structs.get(&chosen).is_some_and(|f| *f != fields) {
                    chosen.push_str("Tangent");
                }
                self.structs.insert(chosen.clone(), fields);
                chosen
            }
            other => other.to_string(),
        }
    }
}

pub(super) struct ProgramWriter<'w, 'a> {
    pub(super) file: &'w mut ProgramFile<'a>,
    pub(super) body: &'w StructuredBody,
    pub(super) name: &'w str,
    out: String,
    depth: usize,
    tapes: BTreeSet<&'static str>,
}

pub(super) type EmitTextResult = Result<String, EmitError>;

impl ProgramWriter<'_, '_> {
    fn function(&mut self, f: FuncId) -> EmitTextResult {
        let function = &self.file.program.functions[f];
        let mut params = Vec::new();
        for (var, p) in self.body.params.iter().zip(&function.params) {
            let name = self.var(*var).to_owned();
            let kind = self.file.kind(&p.kind);
            params.push(if p.kind == Kind::Real { name } else { format!("{name}: {kind}") });
        }
        let result = self.file.kind(&function.result);
        match self.body.statements.split_last() {
            Some((EmitStmt::Return(value), rest)) => {
                self.list(rest)?;
                let value = self.settled(value)?;
                self.line(&value);
            }
            _ => {
                self.list(&self.body.statements)?;
                let zero = self.zero(&function.result);
                self.line(&zero);
            }
        }
        let mut out = format!("fn {}({}) -> {result} {{\n", self.file.name(f), params.join(", "));
        for tape in &self.tapes {
            let zero = match *tape {
                "ints" => "0",
                "complexes" => "complex(0.0, 0.0)",
                _ => "0.0",
            };
            let _ =
                writeln!(out, "    let mut {tape} = [{zero}; 16];\n    let mut {tape}_top = 0;");
            let kind = match *tape {
                "ints" => "array<int>",
                "complexes" => "array<complex>",
                _ => "array",
            };
            self.file.helpers.insert(format!(
                "fn grown_{tape}(xs: {kind}) -> {kind} {{\n    let mut ys = [{zero}; 2 * len(xs)];\n    for i in 0..len(xs) {{\n        ys[i] = xs[i];\n    }}\n    ys\n}}\n"
            ));
        }
        out.push_str(&self.out);
        out.push_str("}\n");
        Ok(out)
    }

    pub(super) fn unspeakable(&self, what: &str) -> EmitError {
        EmitError::Unspeakable { function: self.name.to_owned(), what: what.to_owned() }
    }

    pub(super) fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 4 * self.depth);
    }

    pub(super) fn var(&self, v: Var) -> &str {
        &self.body.vars[v.0].name
    }

    pub(super) fn zero(&mut self, kind: &Kind) -> String {
        match kind {
            Kind::Real => "0.0".into(),
            Kind::Complex => "complex(0.0, 0.0)".into(),
            Kind::Int | Kind::Handle => "0".into(),
            Kind::Bool => "false".into(),
            Kind::Array(e) => format!("[{}; 0]", self.zero(&e.kind())),
            Kind::Tuple(t) => {
                let items: Vec<String> = t.fields.iter().map(|f| self.zero(&f.kind)).collect();
                self.tuple(kind, &items)
            }
        }
    }

    pub(super) fn tuple(&mut self, kind: &Kind, items: &[String]) -> String {
        let Kind::Tuple(t) = kind else { return items.join(", ") };
        match &t.name {
            Some(_) => {
                let fields = t.fields.iter().zip(items);
                let fields: Vec<String> = fields
                    .map(|(f, x)| format!("{}: {x}", f.name.as_deref().unwrap_or("value")))
                    .collect();
                format!("{} {{ {} }}", self.file.kind(kind), fields.join(", "))
            }
            None if items.len() == 1 => format!("({},)", items[0]),
            None => format!("({})", items.join(", ")),
        }
    }

    fn list(&mut self, list: &[EmitStmt]) -> Result<(), EmitError> {
        list.iter().try_for_each(|s| self.statement(s))
    }

    fn block(&mut self, head: &str, list: &[EmitStmt]) -> Result<(), EmitError> {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        self.list(list)?;
        self.depth -= 1;
        self.line("}");
        Ok(())
    }

    fn together(&mut self, vars: &[Option<Var>], value: &str) {
        let temporary = |w: &Self, k: usize| {
            vars[k].map_or(format!("unused_{k}"), |v| format!("next_{}", w.var(v)))
        };
        let names: Vec<String> = (0..vars.len()).map(|k| temporary(self, k)).collect();
        self.line(&format!("let ({}) = {value};", names.join(", ")));
        for (v, name) in vars.iter().zip(&names).filter_map(|(v, n)| Some(((*v)?, n))) {
            let line = format!("{} = {name};", self.var(v));
            self.line(&line);
        }
    }

    fn statement(&mut self, s: &EmitStmt) -> Result<(), EmitError> {
        match s {
            EmitStmt::Declare(v) => {
                let zero = self.zero(&self.body.vars[v.0].kind.clone());
                let line = format!("let mut {} = {zero};", self.var(*v));
                self.line(&line);
            }
            EmitStmt::Let(v, value) => {
                let value = self.settled(value)?;
                let mutable = if self.body.vars[v.0].mutable { "mut " } else { "" };
                let line = format!("let {mutable}{} = {value};", self.var(*v));
                self.line(&line);
            }
            EmitStmt::Assign(pairs) => self.assign(pairs)?,
            EmitStmt::Open(new, vars, value) => self.open(*new, vars, value)?,
            EmitStmt::Change(how, v, i, x) => self.change(*how, *v, i, x)?,
            EmitStmt::Effect(e) => {
                let e = self.settled(e)?;
                self.line(&format!("{e};"));
            }
            EmitStmt::Push(_, value) => self.push(value)?,
            EmitStmt::If(c, yes, no) => self.conditional(c, yes, no)?,
            EmitStmt::Switch(index, arms) => {
                let index = self.settled(index)?;
                self.line(&format!("let way = {index};"));
                self.arms(arms, 0)?;
            }
            EmitStmt::Loop(l, body) | EmitStmt::While(l, _, body) | EmitStmt::For(l, _, body)
                if is_named(body, *l) =>
            {
                return Err(self.unspeakable("it leaves several loops or blocks at once"));
            }
            EmitStmt::Loop(_, body) => self.block("while true", body)?,
            EmitStmt::While(_, c, body) => self.while_loop(c, body)?,
            EmitStmt::For(_, c, body) => {
                let (from, to) = (self.settled(&c.from)?, self.settled(&c.to)?);
                let dots = if c.inclusive { "..=" } else { ".." };
                let head = format!("for {} in {from}{dots}{to}", self.var(c.var));
                self.block(&head, body)?;
            }
            EmitStmt::Block(..) => {
                return Err(self.unspeakable("it jumps out of the middle of a branch"));
            }
            EmitStmt::Break(_) => self.line("break;"),
            EmitStmt::Continue(_) => self.line("continue;"),
            EmitStmt::Return(e) => {
                let e = self.settled(e)?;
                self.line(&format!("return {e};"));
            }
        }
        Ok(())
    }

    /// Writes new values of variables, all at once.
    fn assign(&mut self, pairs: &[(Var, EmitExpr)]) -> Result<(), EmitError> {
        match pairs {
            [(v, value)] => {
                let value = self.settled(value)?;
                let line = format!("{} = {value};", self.var(*v));
                self.line(&line);
            }
            many => {
                let values: Result<Vec<String>, _> =
                    many.iter().map(|p| self.settled(&p.1)).collect();
                let vars: Vec<Option<Var>> = many.iter().map(|p| Some(p.0)).collect();
                self.together(&vars, &format!("({})", values?.join(", ")));
            }
        }
        Ok(())
    }

    /// Writes the fields of a tuple as variables, which may be new.
    fn open(&mut self, new: bool, vars: &[Option<Var>], value: &EmitExpr) -> Result<(), EmitError> {
        let value = self.settled(value)?;
        if new && vars.len() > 1 {
            let names: Vec<String> = (vars.iter().enumerate())
                .map(|(k, v)| v.map_or(format!("unused_{k}"), |v| self.var(v).to_owned()))
                .collect();
            self.line(&format!("let ({}) = {value};", names.join(", ")));
        } else if let [Some(v)] = vars {
            let line = format!("{}{} = {value}.0;", if new { "let " } else { "" }, self.var(*v));
            self.line(&line);
        } else {
            self.together(vars, &value);
        }
        Ok(())
    }

    /// Writes an update of an element.
    fn change(
        &mut self,
        how: InPlaceUpdate,
        v: Var,
        i: &EmitExpr,
        x: &EmitExpr,
    ) -> Result<(), EmitError> {
        let (i, x) = (self.settled(i)?, self.settled(x)?);
        let kind = self.body.vars[v.0].kind.clone();
        let name = self.var(v).to_owned();
        let line = match how {
            InPlaceUpdate::Set => format!("{name}[{i}] = {x};"),
            InPlaceUpdate::Add => format!("{name}[{i}] += {x};"),
            InPlaceUpdate::Put => {
                format!("{name} = {}({name}, {i}, {x});", self.helper("put", &kind))
            }
            InPlaceUpdate::AddAt => {
                format!("{name} = {}({name}, {i}, {x});", self.helper("add_at", &kind))
            }
        };
        self.line(&line);
        Ok(())
    }

    /// Writes an `if`, with an `else` unless it is empty.
    fn conditional(
        &mut self,
        c: &EmitExpr,
        yes: &[EmitStmt],
        no: &[EmitStmt],
    ) -> Result<(), EmitError> {
        let c = self.settled(c)?;
        self.line(&format!("if {c} {{"));
        self.depth += 1;
        self.list(yes)?;
        self.depth -= 1;
        if no.is_empty() {
            self.line("}");
        } else {
            self.line("} else {");
            self.depth += 1;
            self.list(no)?;
            self.depth -= 1;
            self.line("}");
        }
        Ok(())
    }

    /// Writes a `while` loop, whose condition is within its body if it reads the tape.
    fn while_loop(&mut self, c: &EmitExpr, body: &[EmitStmt]) -> Result<(), EmitError> {
        let mut pops = false;
        c.each_op(&mut |op, _, _| pops |= matches!(op, Op::Pop { .. }));
        if pops {
            self.line("while true {");
            self.depth += 1;
            let stop = self.settled(&c.clone().not())?;
            self.line(&format!("if {stop} {{ break; }}"));
            self.list(body)?;
            self.depth -= 1;
            self.line("}");
        } else {
            let c = self.settled(c)?;
            self.block(&format!("while {c}"), body)?;
        }
        Ok(())
    }

    fn arms(&mut self, arms: &[Vec<EmitStmt>], k: usize) -> Result<(), EmitError> {
        match arms {
            [] => Ok(()),
            [last] => self.list(last),
            [first, rest @ ..] => {
                self.line(&format!("if way == {k} {{"));
                self.depth += 1;
                self.list(first)?;
                self.depth -= 1;
                self.line("} else {");
                self.depth += 1;
                self.arms(rest, k + 1)?;
                self.depth -= 1;
                self.line("}");
                Ok(())
            }
        }
    }

    pub(super) fn tape(&mut self, kind: &Kind) -> Result<&'static str, EmitError> {
        let tape = match kind {
            Kind::Real => "reals",
            Kind::Int | Kind::Bool => "ints",
            Kind::Complex => "complexes",
            other => {
                return Err(self.unspeakable(&format!("it records {other} on its tape; emit Rust")));
            }
        };
        self.tapes.insert(tape);
        Ok(tape)
    }

    fn push(&mut self, value: &EmitExpr) -> Result<(), EmitError> {
        if let EmitExpr::Op(Op::Tuple, items, _) = value {
            return items.iter().try_for_each(|e| self.push(e));
        }
        let kind = self.body.kind(value);
        let tape = self.tape(&kind)?;
        let value = self.settled(value)?;
        let value =
            if kind == Kind::Bool { format!("if {value} {{ 1 }} else {{ 0 }}") } else { value };
        self.line(&format!("if {tape}_top == len({tape}) {{ {tape} = grown_{tape}({tape}); }}"));
        self.line(&format!("{tape}[{tape}_top] = {value};"));
        self.line(&format!("{tape}_top += 1;"));
        Ok(())
    }
}
