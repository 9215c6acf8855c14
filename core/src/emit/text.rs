//! The program language out: source in, derivative source out, and that source runs.
//!
//! The function comes last, so it is the entry of the text; what it calls stands before it. What the language
//! has no words for is written with what it has:
//!
//! - The tape of a gradient becomes an array with a counter, where one function both records and reads. A tape
//!   that goes from function to function (a recursion that was too large to put in place) is an error.
//! - Arrays that grow (cotangents) go through small functions that are written along.
//! - A jump out of several loops at once, and one out of the middle of a branch, are errors. The gradient of
//!   nested loops may hold one: emit Rust.
//!
//! Rules are written out: the text holds the derivative that the rule gave.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt::Write,
};

use crate::{
    entity::FuncId,
    ir::{Element, Int1, Int2, Kind, Mixed, Number1, Number2, Op, Program},
};

use super::precedence::{ADD, AND, COMPARE, MUL, OR, POSTFIX, UNARY};
use super::{
    EmitError,
    ast::{Body, Change, Expr, Stmt, Var},
    names::identifier,
    rust_expr::comparison,
    structure::structured,
    tidy::is_named,
};

/// The function and all it calls as program text.
///
/// ```
/// use ketgrad_core::{adjoint, emit::emit_text, exec::{Datum, Derivatives}, pass::{Level, optimize_all}, text::parse_program};
///
/// let mut program = parse_program("fn f(a, b) { a * sin(b) }").map_err(|e| e[0].clone())?;
/// let f = program.lookup("f").ok_or("no function")?;
/// let gradient = adjoint::gradient(&mut program, f)?;
/// optimize_all(&mut program, gradient, Level::Strict);
/// let source = emit_text(&program, gradient)?;
/// assert!(source.starts_with("fn f_gradient(a, b) -> (real, real, real) {"), "{source}");
/// // It runs, and can be differentiated again.
/// let again = parse_program(&source).map_err(|e| e[0].clone())?;
/// let mut g = Derivatives::<f64>::new(&again, "f_gradient")?;
/// let value = g.value(&[Datum::Real(2.0), Datum::Real(0.5)])?;
/// assert_eq!(value.fields()[1].real(), Some(&0.5f64.sin()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`emit_rust`](super::emit_rust), and what the language cannot say.
pub fn emit_text(program: &Program, root: FuncId) -> Result<String, EmitError> {
    let mut order = vec![root];
    let mut next = 0;
    while let Some(&f) = order.get(next) {
        next += 1;
        let callees = program.functions[f].callees();
        callees.into_iter().for_each(|g| {
            if !order.contains(&g) {
                order.push(g);
            }
        });
    }
    let names: HashSet<String> = order.iter().map(|&f| identifier(&program.functions[f].name)).collect();
    let mut file = File { program, structs: BTreeMap::new(), helpers: BTreeSet::new() };
    let mut functions = Vec::new();
    for &f in order.iter().rev() {
        let function = &program.functions[f];
        let uses_tape = tapes(program, f);
        let shared = function.callees().iter().any(|g| order.contains(g) && tapes(program, *g));
        if uses_tape && (f != root || shared) {
            return Err(EmitError::Unspeakable {
                function: function.name.clone(),
                what:
                    "its tape goes from function to function; emit Rust, or differentiate without recursion"
                        .into(),
            });
        }
        let hidden = function.insts.values().find_map(|i| match i.op {
            Op::OnArrays(op) if names.contains(op.name()) => Some(op.name()),
            _ => None,
        });
        if let Some(name) = hidden {
            let what = format!("a function hides the operation `{name}`: give it another name");
            return Err(EmitError::Unspeakable { function: function.name.clone(), what });
        }
        let mut reserved = names.clone();
        reserved.extend(
            ["reals", "ints", "complexes", "reals_top", "ints_top", "complexes_top"].map(String::from),
        );
        let body = structured(function, &reserved)?;
        let mut w = Writer {
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

struct File<'a> {
    program: &'a Program,
    structs: BTreeMap<String, String>,
    helpers: BTreeSet<String>,
}

impl File<'_> {
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
                    .map(|f| format!("{}: {}", f.name.as_deref().unwrap_or("value"), self.kind(&f.kind)))
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

struct Writer<'w, 'a> {
    file: &'w mut File<'a>,
    body: &'w Body,
    name: &'w str,
    out: String,
    depth: usize,
    tapes: BTreeSet<&'static str>,
}

type Said = Result<String, EmitError>;

impl Writer<'_, '_> {
    fn function(&mut self, f: FuncId) -> Said {
        let function = &self.file.program.functions[f];
        let mut params = Vec::new();
        for (var, p) in self.body.params.iter().zip(&function.params) {
            let name = self.var(*var).to_owned();
            let kind = self.file.kind(&p.kind);
            params.push(if p.kind == Kind::Real { name } else { format!("{name}: {kind}") });
        }
        let result = self.file.kind(&function.result);
        match self.body.statements.split_last() {
            Some((Stmt::Return(value), rest)) => {
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
        let mut out = format!("fn {}({}) -> {result} {{\n", identifier(&function.name), params.join(", "));
        for tape in &self.tapes {
            let zero = match *tape {
                "ints" => "0",
                "complexes" => "complex(0.0, 0.0)",
                _ => "0.0",
            };
            let _ = writeln!(out, "    let mut {tape} = [{zero}; 16];\n    let mut {tape}_top = 0;");
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

    fn unspeakable(&self, what: &str) -> EmitError {
        EmitError::Unspeakable { function: self.name.to_owned(), what: what.to_owned() }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 4 * self.depth);
    }

    fn var(&self, v: Var) -> &str {
        &self.body.vars[v.0].name
    }

    fn zero(&mut self, kind: &Kind) -> String {
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

    fn tuple(&mut self, kind: &Kind, items: &[String]) -> String {
        let Kind::Tuple(t) = kind else { return items.join(", ") };
        match &t.name {
            Some(_) => {
                let fields = t.fields.iter().zip(items);
                let fields: Vec<String> =
                    fields.map(|(f, x)| format!("{}: {x}", f.name.as_deref().unwrap_or("value"))).collect();
                format!("{} {{ {} }}", self.file.kind(kind), fields.join(", "))
            }
            None if items.len() == 1 => format!("({},)", items[0]),
            None => format!("({})", items.join(", ")),
        }
    }

    fn list(&mut self, list: &[Stmt]) -> Result<(), EmitError> {
        list.iter().try_for_each(|s| self.statement(s))
    }

    fn block(&mut self, head: &str, list: &[Stmt]) -> Result<(), EmitError> {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        self.list(list)?;
        self.depth -= 1;
        self.line("}");
        Ok(())
    }

    fn together(&mut self, vars: &[Option<Var>], value: &str) {
        let temporary =
            |w: &Self, k: usize| vars[k].map_or(format!("unused_{k}"), |v| format!("next_{}", w.var(v)));
        let names: Vec<String> = (0..vars.len()).map(|k| temporary(self, k)).collect();
        self.line(&format!("let ({}) = {value};", names.join(", ")));
        for (v, name) in vars.iter().zip(&names).filter_map(|(v, n)| Some(((*v)?, n))) {
            let line = format!("{} = {name};", self.var(v));
            self.line(&line);
        }
    }

    fn statement(&mut self, s: &Stmt) -> Result<(), EmitError> {
        match s {
            Stmt::Declare(v) => {
                let zero = self.zero(&self.body.vars[v.0].kind.clone());
                let line = format!("let mut {} = {zero};", self.var(*v));
                self.line(&line);
            }
            Stmt::Let(v, value) => {
                let value = self.settled(value)?;
                let mutable = if self.body.vars[v.0].mutable { "mut " } else { "" };
                let line = format!("let {mutable}{} = {value};", self.var(*v));
                self.line(&line);
            }
            Stmt::Assign(pairs) => match pairs.as_slice() {
                [(v, value)] => {
                    let value = self.settled(value)?;
                    let line = format!("{} = {value};", self.var(*v));
                    self.line(&line);
                }
                many => {
                    let values: Result<Vec<String>, _> = many.iter().map(|p| self.settled(&p.1)).collect();
                    let vars: Vec<Option<Var>> = many.iter().map(|p| Some(p.0)).collect();
                    self.together(&vars, &format!("({})", values?.join(", ")));
                }
            },
            Stmt::Open(new, vars, value) => {
                let value = self.settled(value)?;
                if *new && vars.len() > 1 {
                    let names: Vec<String> = (vars.iter().enumerate())
                        .map(|(k, v)| v.map_or(format!("unused_{k}"), |v| self.var(v).to_owned()))
                        .collect();
                    self.line(&format!("let ({}) = {value};", names.join(", ")));
                } else if let ([Some(v)], new) = (vars.as_slice(), *new) {
                    let line = format!("{}{} = {value}.0;", if new { "let " } else { "" }, self.var(*v));
                    self.line(&line);
                } else {
                    self.together(vars, &value);
                }
            }
            Stmt::Change(how, v, i, x) => {
                let (i, x) = (self.settled(i)?, self.settled(x)?);
                let kind = self.body.vars[v.0].kind.clone();
                let name = self.var(*v).to_owned();
                let line = match how {
                    Change::Set => format!("{name}[{i}] = {x};"),
                    Change::Put => format!("{name} = {}({name}, {i}, {x});", self.helper("put", &kind)),
                    Change::AddAt => format!("{name} = {}({name}, {i}, {x});", self.helper("add_at", &kind)),
                };
                self.line(&line);
            }
            Stmt::Effect(e) => {
                let e = self.settled(e)?;
                self.line(&format!("{e};"));
            }
            Stmt::Push(_, value) => self.push(value)?,
            Stmt::If(c, yes, no) => {
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
            }
            Stmt::Switch(index, arms) => {
                let index = self.settled(index)?;
                self.line(&format!("let way = {index};"));
                self.arms(arms, 0)?;
            }
            Stmt::Loop(l, body) | Stmt::While(l, _, body) | Stmt::For(l, _, body) if is_named(body, *l) => {
                return Err(self.unspeakable("it leaves several loops or blocks at once"));
            }
            Stmt::Loop(_, body) => self.block("while true", body)?,
            Stmt::While(_, c, body) => {
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
            }
            Stmt::For(_, c, body) => {
                let (from, to) = (self.settled(&c.from)?, self.settled(&c.to)?);
                let dots = if c.inclusive { "..=" } else { ".." };
                let head = format!("for {} in {from}{dots}{to}", self.var(c.var));
                self.block(&head, body)?;
            }
            Stmt::Block(..) => return Err(self.unspeakable("it jumps out of the middle of a branch")),
            Stmt::Break(_) => self.line("break;"),
            Stmt::Continue(_) => self.line("continue;"),
            Stmt::Return(e) => {
                let e = self.settled(e)?;
                self.line(&format!("return {e};"));
            }
        }
        Ok(())
    }

    fn arms(&mut self, arms: &[Vec<Stmt>], k: usize) -> Result<(), EmitError> {
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

    fn tape(&mut self, kind: &Kind) -> Result<&'static str, EmitError> {
        let tape = match kind {
            Kind::Real => "reals",
            Kind::Int | Kind::Bool => "ints",
            Kind::Complex => "complexes",
            other => return Err(self.unspeakable(&format!("it records {other} on its tape; emit Rust"))),
        };
        self.tapes.insert(tape);
        Ok(tape)
    }

    fn push(&mut self, value: &Expr) -> Result<(), EmitError> {
        if let Expr::Op(Op::Tuple, items, _) = value {
            return items.iter().try_for_each(|e| self.push(e));
        }
        let kind = self.kind_of(value);
        let tape = self.tape(&kind)?;
        let value = self.settled(value)?;
        let value = if kind == Kind::Bool { format!("if {value} {{ 1 }} else {{ 0 }}") } else { value };
        self.line(&format!("if {tape}_top == len({tape}) {{ {tape} = grown_{tape}({tape}); }}"));
        self.line(&format!("{tape}[{tape}_top] = {value};"));
        self.line(&format!("{tape}_top += 1;"));
        Ok(())
    }

    fn kind_of(&self, e: &Expr) -> Kind {
        match e {
            Expr::Real(_) => Kind::Real,
            Expr::Int(_) => Kind::Int,
            Expr::Bool(_) => Kind::Bool,
            Expr::Var(v) | Expr::Clone(v) => self.body.vars[v.0].kind.clone(),
            Expr::Op(_, _, kind) => kind.clone(),
        }
    }

    /// A function for arrays that grow.
    fn helper(&mut self, what: &str, kind: &Kind) -> String {
        let (suffix, array, item, zero) = match kind {
            Kind::Array(Element::Complex) => ("_complex", "array<complex>", "complex", "complex(0.0, 0.0)"),
            _ => ("", "array", "real", "0.0"),
        };
        let name = format!("{what}{suffix}");
        let grow = format!(
            "    let mut ys = xs;\n    if i >= len(ys) {{\n        ys = [{zero}; i + 1];\n        for k in 0..len(xs) {{\n            ys[k] = xs[k];\n        }}\n    }}\n"
        );
        self.file.helpers.insert(match what {
            "peek" => format!("fn {name}(xs: {array}, i: int) -> {item} {{\n    if i < len(xs) {{ xs[i] }} else {{ {zero} }}\n}}\n"),
            "put" => format!("fn {name}(xs: {array}, i: int, x: {item}) -> {array} {{\n{grow}    ys[i] = x;\n    ys\n}}\n"),
            "add_at" => format!("fn {name}(xs: {array}, i: int, x: {item}) -> {array} {{\n{grow}    ys[i] += x;\n    ys\n}}\n"),
            _ => format!("fn {name}(xs: {array}, zs: {array}) -> {array} {{\n    if len(xs) < len(zs) {{\n        return {name}(zs, xs);\n    }}\n    let mut ys = xs;\n    for i in 0..len(zs) {{\n        ys[i] += zs[i];\n    }}\n    ys\n}}\n"),
        });
        name
    }

    /// An expression; what it takes from a tape is taken first.
    fn settled(&mut self, e: &Expr) -> Said {
        self.at(e, 0)
    }

    fn at(&mut self, e: &Expr, least: u8) -> Said {
        let (text, rank) = self.ranked(e)?;
        Ok(if rank < least { format!("({text})") } else { text })
    }

    fn ranked(&mut self, e: &Expr) -> Result<(String, u8), EmitError> {
        Ok(match e {
            Expr::Real(x) if x.is_nan() => ("0.0 / 0.0".into(), MUL),
            Expr::Real(x) if x.is_infinite() => {
                (if *x > 0.0 { "1.0 / 0.0" } else { "-1.0 / 0.0" }.into(), MUL)
            }
            Expr::Real(x) => (format!("{x:?}"), if x.is_sign_negative() { UNARY } else { POSTFIX }),
            Expr::Int(n) => (n.to_string(), if *n < 0 { UNARY } else { POSTFIX }),
            Expr::Bool(b) => (b.to_string(), POSTFIX),
            Expr::Var(v) | Expr::Clone(v) => (self.var(*v).to_owned(), POSTFIX),
            Expr::Op(op, args, kind) => return self.op(*op, args, kind),
        })
    }

    fn call(&mut self, name: &str, args: &[Expr]) -> Result<(String, u8), EmitError> {
        let args: Result<Vec<String>, _> = args.iter().map(|a| self.settled(a)).collect();
        Ok((format!("{name}({})", args?.join(", ")), POSTFIX))
    }

    fn binary(&mut self, args: &[Expr], sign: &str, rank: u8) -> Result<(String, u8), EmitError> {
        let left = self.at(&args[0], if rank == COMPARE { rank + 1 } else { rank })?;
        let right = self.at(&args[1], rank + 1)?;
        Ok((format!("{left} {sign} {right}"), rank))
    }

    fn op(&mut self, op: Op, args: &[Expr], kind: &Kind) -> Result<(String, u8), EmitError> {
        match op {
            Op::Number1(Number1::Neg) | Op::Int1(Int1::Neg) => {
                Ok((format!("-{}", self.at(&args[0], UNARY)?), UNARY))
            }
            Op::Number2(Number2::Add) | Op::Int2(Int2::Add) => self.binary(args, "+", ADD),
            Op::Number2(Number2::Sub) | Op::Int2(Int2::Sub) => self.binary(args, "-", ADD),
            Op::Number2(Number2::Mul) | Op::Int2(Int2::Mul) => self.binary(args, "*", MUL),
            Op::Number2(Number2::Div) | Op::Int2(Int2::Div) => self.binary(args, "/", MUL),
            Op::Int2(Int2::Rem) => self.binary(args, "%", MUL),
            Op::Int2(Int2::Min) => self.call("min", args),
            Op::Int2(Int2::Max) => self.call("max", args),
            Op::Compare(c) | Op::CompareInt(c) => self.binary(args, comparison(c), COMPARE),
            Op::Mixed(m) => match m {
                Mixed::Promote => Ok((format!("complex({}, 0.0)", self.settled(&args[0])?), POSTFIX)),
                Mixed::Modulus => self.call("abs", args),
                Mixed::FromInt => self.call("real", args),
                Mixed::PowiReal | Mixed::PowiComplex => self.call("powi", args),
                Mixed::Not => Ok((format!("!{}", self.at(&args[0], UNARY)?), UNARY)),
                Mixed::And => self.binary(args, "&&", AND),
                Mixed::Or => self.binary(args, "||", OR),
                other => self.call(other.name(), args),
            },
            Op::Call(f) => self.call(&identifier(&self.file.program.functions[f].name), args),
            Op::Primitive(p) => self.call(&self.file.program.primitives[p].name.clone(), args),
            Op::Tuple => {
                let items: Result<Vec<String>, _> = args.iter().map(|a| self.settled(a)).collect();
                Ok((self.tuple(kind, &items?), POSTFIX))
            }
            Op::Field(k) => {
                let of = self.kind_of(&args[0]);
                let name = of.fields().get(k as usize).and_then(|f| f.name.clone());
                Ok((
                    format!("{}.{}", self.at(&args[0], POSTFIX)?, name.unwrap_or_else(|| k.to_string())),
                    POSTFIX,
                ))
            }
            Op::Array if args.is_empty() => Ok((self.zero(kind), POSTFIX)),
            Op::Array => {
                let items: Result<Vec<String>, _> = args.iter().map(|a| self.settled(a)).collect();
                Ok((format!("[{}]", items?.join(", ")), POSTFIX))
            }
            Op::Fill => Ok((format!("[{}; {}]", self.settled(&args[0])?, self.settled(&args[1])?), POSTFIX)),
            Op::Get => Ok((format!("{}[{}]", self.at(&args[0], POSTFIX)?, self.settled(&args[1])?), POSTFIX)),
            Op::Peek => {
                let name = self.helper("peek", &self.kind_of(&args[0]));
                self.call(&name, args)
            }
            Op::Accumulate => {
                let name = self.helper("accumulate", kind);
                self.call(&name, args)
            }
            Op::Pop { .. } => {
                let tape = self.tape(kind)?;
                self.line(&format!("{tape}_top -= 1;"));
                let value = format!("{tape}[{tape}_top]");
                Ok(if *kind == Kind::Bool { (format!("{value} == 1"), COMPARE) } else { (value, POSTFIX) })
            }
            other => self.call(other.name(), args),
        }
    }
}
