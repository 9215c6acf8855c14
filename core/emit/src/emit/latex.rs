//! LaTeX emitter: formulas and algorithms.
//!
//! A function that is one expression becomes one equation, others an algorithm, line by line, in an
//! `align*`: only `amsmath` is needed. Division is a fraction, `x^y` a power, Greek names are
//! letters, and `x_bar` is `\bar{x}`.

use std::{cmp::Ordering, collections::HashSet};

use crate::{
    entity::FuncId,
    ir::{Compare, Int1, Int2, Mixed, Number1, Number2, Op, Program, Real1, Real2},
    notation::{
        Infix,
        Precedence::{self, Atom, Lowest, Prefix, Product, Sum},
        atom, latex_function, latex_in_parentheses, latex_name, latex_parenthesized,
    },
};

use super::{
    EmitError,
    ast::{EmitExpr, EmitStmt, InPlaceUpdate, StructuredBody, Var},
    check,
    exits::at_full_length,
    structure::structured,
};

/// Emits a function as an `align*`.
///
/// ```
/// use ketgrad_core::{emit::emit_latex, text::parse_program};
///
/// let program = parse_program("fn f(a, theta) { a / (1 + theta * theta) }")?;
/// let f = program.lookup("f").ok_or("no function")?;
/// let line = r"f(a, \theta) &= \frac{a}{1 + \theta \theta}";
/// assert_eq!(emit_latex(&program, f)?, format!("\\begin{{align*}}\n{line}\n\\end{{align*}}\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// See [`emit_rust`](super::emit_rust).
pub fn emit_latex(program: &Program, function: FuncId) -> Result<String, EmitError> {
    check(program, function)?;
    let f = at_full_length(&program.functions[function]);
    let body = structured(&f, &HashSet::new())?;
    let mut w = LatexWriter { program, body: &body, lines: vec![], depth: 0 };
    let params: Vec<String> = body.params.iter().map(|v| w.var(*v)).collect();
    let head = format!("{}({})", latex_function(&f.name), params.join(", "));
    match body.statements.as_slice() {
        [EmitStmt::Return(value)] => {
            let value = w.expr(value);
            w.lines.push(format!("{head} &= {value}"));
        }
        statements => {
            w.lines.push(format!("&{head}:"));
            w.depth = 1;
            w.list(statements);
        }
    }
    Ok(format!("\\begin{{align*}}\n{}\n\\end{{align*}}\n", w.lines.join(" \\\\\n")))
}

struct LatexWriter<'a> {
    program: &'a Program,
    body: &'a StructuredBody,
    lines: Vec<String>,
    depth: usize,
}

impl LatexWriter<'_> {
    fn var(&self, v: Var) -> String {
        latex_name(&self.body.vars[v.0].name)
    }

    fn line(&mut self, text: &str) {
        let indent = "\\quad ".repeat(self.depth);
        self.lines.push(format!("&{indent}{text}"));
    }

    fn inner(&mut self, list: &[EmitStmt]) {
        self.depth += 1;
        self.list(list);
        self.depth -= 1;
    }

    fn list(&mut self, list: &[EmitStmt]) {
        for s in list {
            self.statement(s);
        }
    }

    fn statement(&mut self, s: &EmitStmt) {
        let text = match s {
            EmitStmt::Declare(_) => return,
            EmitStmt::Let(v, e) => format!("{} \\gets {}", self.var(*v), self.expr(e)),
            EmitStmt::Assign(pairs) => {
                let to: Vec<String> = pairs.iter().map(|p| self.var(p.0)).collect();
                let from: Vec<String> = pairs.iter().map(|p| self.expr(&p.1)).collect();
                match to.len() {
                    1 => format!("{} \\gets {}", to[0], from[0]),
                    _ => format!("({}) \\gets ({})", to.join(", "), from.join(", ")),
                }
            }
            EmitStmt::Open(_, vars, e) => {
                let to = vars.iter().map(|v| v.map_or("\\_".to_owned(), |v| self.var(v)));
                format!("({}) \\gets {}", to.collect::<Vec<_>>().join(", "), self.expr(e))
            }
            EmitStmt::Change(how, v, i, x) => {
                let (i, x) = (self.expr(i), self.expr(x));
                let element = format!("{{{}}}_{{{i}}}", self.var(*v));
                match how {
                    InPlaceUpdate::AddAt | InPlaceUpdate::Add => {
                        format!("{element} \\gets {element} + {x}")
                    }
                    InPlaceUpdate::Set | InPlaceUpdate::Put => format!("{element} \\gets {x}"),
                }
            }
            EmitStmt::Effect(e) => self.expr(e),
            EmitStmt::Push(_, e) => format!("\\text{{record }} {}", self.expr(e)),
            EmitStmt::If(c, yes, no) => {
                let c = self.expr(c);
                self.line(&format!("\\textbf{{if }} {c}\\text{{:}}"));
                self.inner(yes);
                if !no.is_empty() {
                    self.line("\\textbf{else}\\text{:}");
                    self.inner(no);
                }
                return;
            }
            EmitStmt::Switch(e, arms) => {
                let e = self.expr(e);
                for (k, arm) in arms.iter().enumerate() {
                    self.line(&format!("\\textbf{{if }} {e} = {k}\\text{{:}}"));
                    self.inner(arm);
                }
                return;
            }
            EmitStmt::Loop(_, body)
            | EmitStmt::While(_, _, body)
            | EmitStmt::For(_, _, body)
            | EmitStmt::Block(_, body) => {
                let head = match s {
                    EmitStmt::While(_, c, _) => format!("\\textbf{{while }} {}", self.expr(c)),
                    EmitStmt::For(_, c, _) => {
                        let last = match (&c.to, c.inclusive) {
                            (EmitExpr::Int(n), false) => (i128::from(*n) - 1).to_string(),
                            (to, true) => self.expr(to),
                            (to, false) => {
                                format!("{} - 1", self.with_precedence(to, Sum))
                            }
                        };
                        format!(
                            "\\textbf{{for }} {} = {}, \\dots, {last}",
                            self.var(c.var),
                            self.expr(&c.from)
                        )
                    }
                    EmitStmt::Block(l, _) => format!("\\textbf{{block }} {}", l.0),
                    _ => "\\textbf{repeat}".to_owned(),
                };
                self.line(&format!("{head}\\text{{:}}"));
                self.inner(body);
                return;
            }
            EmitStmt::Break(l) => self.jump("break", l.0),
            EmitStmt::Continue(l) => self.jump("continue", l.0),
            EmitStmt::Return(e) => format!("\\textbf{{return }} {}", self.expr(e)),
        };
        self.line(&text);
    }

    /// Formats a jump, with the number of the block it leaves, if it is one.
    fn jump(&self, word: &str, label: usize) -> String {
        let mut block = false;
        self.body.each(&mut |s| block |= matches!(s, EmitStmt::Block(l, _) if l.0 == label));
        if block {
            format!("\\textbf{{leave block }} {label}")
        } else {
            format!("\\textbf{{{word}}}")
        }
    }

    fn expr(&self, e: &EmitExpr) -> String {
        self.with_precedence(e, Lowest)
    }

    fn with_precedence(&self, e: &EmitExpr, least: Precedence) -> String {
        latex_parenthesized(self.ranked(e), least)
    }

    fn ranked(&self, e: &EmitExpr) -> Infix {
        match e {
            EmitExpr::Real(x) => number(*x),
            EmitExpr::Int(n) => (n.to_string(), if *n < 0 { Prefix } else { Atom }),
            EmitExpr::Bool(b) => atom(format!("\\text{{{b}}}")),
            EmitExpr::Var(v) | EmitExpr::Clone(v) => atom(self.var(*v)),
            EmitExpr::Op(op, args, _) => self.op(*op, args),
        }
    }

    fn call(&self, name: &str, args: &[EmitExpr]) -> Infix {
        let args: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
        atom(format!("{name}{}", latex_in_parentheses(&args.join(", "))))
    }

    /// Formats the right operand of an operator: a leading sign would be read as the operator.
    fn right(&self, e: &EmitExpr, least: Precedence) -> String {
        let text = self.with_precedence(e, least);
        if text.starts_with('-') { latex_in_parentheses(&text) } else { text }
    }

    fn binary(&self, args: &[EmitExpr], sign: &str, rank: Precedence) -> Infix {
        let (left, right) = rank.operands();
        let left = self.with_precedence(&args[0], left);
        (format!("{left}{sign}{}", self.right(&args[1], right)), rank)
    }

    fn product(&self, args: &[EmitExpr]) -> Infix {
        let (a, b) =
            (self.with_precedence(&args[0], Product), self.right(&args[1], Product.tighter()));
        // Two adjacent numbers would read as one.
        let digit = b.starts_with(|c: char| c.is_ascii_digit());
        (format!("{a}{}{b}", if digit { " \\cdot " } else { " " }), Product)
    }

    fn power(&self, args: &[EmitExpr]) -> Infix {
        (format!("{}^{{{}}}", self.with_precedence(&args[0], Atom), self.expr(&args[1])), Prefix)
    }

    fn fraction(&self, a: &str, b: &EmitExpr) -> Infix {
        (format!("\\frac{{{a}}}{{{}}}", self.expr(b)), Prefix)
    }

    fn op(&self, op: Op, args: &[EmitExpr]) -> Infix {
        match op {
            Op::Number1(n) => match n {
                Number1::Neg => (format!("-{}", self.right(&args[0], Prefix)), Prefix),
                Number1::Recip => self.fraction("1", &args[0]),
                Number1::Sqrt => atom(format!("\\sqrt{{{}}}", self.expr(&args[0]))),
                Number1::Cbrt => atom(format!("\\sqrt[3]{{{}}}", self.expr(&args[0]))),
                Number1::Exp => (format!("e^{{{}}}", self.expr(&args[0])), Prefix),
                Number1::ExpM1 => (format!("e^{{{}}} - 1", self.expr(&args[0])), Sum),
                Number1::Ln1p => {
                    atom(format!("\\ln\\left(1 + {}\\right)", self.with_precedence(&args[0], Sum)))
                }
                n => self.call(&latex_function(n.name()), args),
            },
            Op::Number2(n) => match n {
                Number2::Add => self.binary(args, " + ", Sum),
                Number2::Sub => self.binary(args, " - ", Sum),
                Number2::Mul | Number2::Scale => self.product(args),
                Number2::Div => self.fraction(&self.expr(&args[0]), &args[1]),
                Number2::Pow => self.power(args),
                Number2::Guard => self.call(&latex_function(n.name()), args),
            },
            Op::Real1(Real1::Abs) => atom(format!("\\left|{}\\right|", self.expr(&args[0]))),
            Op::Real1(Real1::AbsSlope) => self.call("\\operatorname{sign}", args),
            Op::Real1(Real1::Floor) => atom(format!("\\lfloor {} \\rfloor", self.expr(&args[0]))),
            Op::Real1(Real1::Erf | Real1::Erfc) => self.call(&latex_function(op.name()), args),
            Op::Real1(Real1::Lgamma) => self.call("\\ln\\Gamma", args),
            Op::Real1(Real1::Sigmoid) => self.call("\\sigma", args),
            Op::Real1(Real1::Ceil) => atom(format!("\\lceil {} \\rceil", self.expr(&args[0]))),
            Op::Real2(Real2::Min) | Op::Int2(Int2::Min) => self.call("\\min", args),
            Op::Real2(Real2::Max) | Op::Int2(Int2::Max) => self.call("\\max", args),
            Op::Real2(Real2::Ratio) => self.fraction(&self.expr(&args[0]), &args[1]),
            Op::Real2(Real2::Rem) | Op::Int2(Int2::Rem) => self.binary(args, " \\bmod ", Product),
            Op::Int2(Int2::FoldIn) => self.call(&latex_function(op.name()), args),
            Op::Int1(Int1::Neg) => (format!("-{}", self.right(&args[0], Prefix)), Prefix),
            Op::Int2(Int2::Add) => self.binary(args, " + ", Sum),
            Op::Int2(Int2::Sub) => self.binary(args, " - ", Sum),
            Op::Int2(Int2::Mul) => self.product(args),
            Op::Int2(Int2::Div) => atom(format!(
                "\\operatorname{{trunc}}{}",
                latex_in_parentheses(&self.fraction(&self.expr(&args[0]), &args[1]).0)
            )),
            Op::Compare(c) | Op::CompareInt(c) => {
                let sign = match c {
                    Compare::Lt => " < ",
                    Compare::Le => " \\le ",
                    Compare::Gt => " > ",
                    Compare::Ge => " \\ge ",
                    Compare::Eq => " = ",
                    Compare::Ne => " \\ne ",
                };
                let (a, b) =
                    (self.with_precedence(&args[0], Sum), self.with_precedence(&args[1], Sum));
                (format!("{a}{sign}{b}"), Precedence::Compare)
            }
            Op::Mixed(m) => self.mixed(m, args),
            Op::Select => {
                let [c, a, b] = args else { return self.call("\\text{select}", args) };
                let (c, a, b) = (self.expr(c), self.expr(a), self.expr(b));
                (
                    format!(
                        "\\begin{{cases}} {a} & \\text{{if }} {c} \\\\ {b} & \\text{{else}} \\end{{cases}}"
                    ),
                    Precedence::Or,
                )
            }
            Op::Call(f) => self.call(&latex_function(&self.program.functions[f].name), args),
            Op::Expect(order) => {
                let sign = match order {
                    Some(Ordering::Less) => " < ",
                    Some(Ordering::Equal) => " = ",
                    Some(Ordering::Greater) => " > ",
                    None => " \\text{ not comparable to } ",
                };
                let (a, b) = (self.expr(&args[0]), self.expr(&args[1]));
                atom(format!("\\text{{where }} {a}{sign}{b}"))
            }
            Op::Primitive(p) => self.call(&latex_function(&self.program.primitives[p].name), args),
            Op::Tuple => atom(latex_in_parentheses(&self.items(args))),
            Op::Array => atom(format!("\\left[{}\\right]", self.items(args))),
            Op::Field(k) => {
                atom(format!("{{{}}}_{{{}}}", self.with_precedence(&args[0], Atom), k + 1))
            }
            Op::Get | Op::Peek => atom(format!(
                "{{{}}}_{{{}}}",
                self.with_precedence(&args[0], Atom),
                self.expr(&args[1])
            )),
            Op::Sum => (format!("\\sum {}", self.with_precedence(&args[0], Product)), Product),
            Op::Len => atom(format!("\\left|{}\\right|", self.expr(&args[0]))),
            Op::Accumulate => self.binary(args, " + ", Sum),
            Op::Pop { .. } => atom("\\text{recorded}".to_owned()),
            other => self.call(&latex_function(other.name()), args),
        }
    }

    fn items(&self, args: &[EmitExpr]) -> String {
        args.iter().map(|a| self.expr(a)).collect::<Vec<_>>().join(", ")
    }

    fn mixed(&self, m: Mixed, args: &[EmitExpr]) -> Infix {
        match m {
            Mixed::Promote | Mixed::FromInt => self.ranked(&args[0]),
            Mixed::Complex => (
                format!(
                    "{} + {} \\, i",
                    self.with_precedence(&args[0], Sum),
                    self.with_precedence(&args[1], Product)
                ),
                Sum,
            ),
            Mixed::Re | Mixed::Im | Mixed::Arg | Mixed::Cmp => {
                self.call(&latex_function(m.name()), args)
            }
            Mixed::Abs2 => (format!("\\left|{}\\right|^2", self.expr(&args[0])), Prefix),
            Mixed::Modulus => atom(format!("\\left|{}\\right|", self.expr(&args[0]))),
            Mixed::Conj => atom(format!("\\overline{{{}}}", self.expr(&args[0]))),
            Mixed::PowiReal | Mixed::PowiComplex => self.power(args),
            Mixed::Polygamma => {
                self.call(&format!("\\psi^{{({})}}", self.expr(&args[1])), &args[..1])
            }
            Mixed::Not => (format!("\\lnot {}", self.with_precedence(&args[0], Prefix)), Prefix),
            Mixed::And => self.binary(args, " \\land ", Precedence::And),
            Mixed::Or => self.binary(args, " \\lor ", Precedence::Or),
        }
    }
}

fn number(x: f64) -> Infix {
    if !x.is_finite() {
        let text = if x.is_nan() {
            "\\text{NaN}"
        } else if x > 0.0 {
            "\\infty"
        } else {
            "-\\infty"
        };
        return (text.to_owned(), Prefix);
    }
    let text = format!("{x:?}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    let rank = if x.is_sign_negative() { Prefix } else { Atom };
    match text.split_once('e') {
        Some((digits, exponent)) => (format!("{digits} \\cdot 10^{{{exponent}}}"), Product),
        None => (text.to_owned(), rank),
    }
}
