//! Expressions in Rust.

use crate::{
    ir::{ArrayOp, Compare, Element, Int1, Int2, Kind, Mixed, Number1, Number2, Op, Real1, Real2},
    notation::{
        Infix,
        Precedence::{self, Atom, Lowest, Prefix, Product, Sum},
        atom, parenthesized,
    },
    scalar::is_product,
};

use super::{
    ast::{EmitExpr, Var, holds_array},
    rust::tape_field,
    rust_stmt::RustWriter,
};

/// Formats a literal.
pub(super) fn number(x: f64) -> String {
    if x.is_nan() {
        "f64::NAN".into()
    } else if x.is_infinite() {
        if x > 0.0 { "f64::INFINITY".into() } else { "f64::NEG_INFINITY".into() }
    } else {
        format!("{x:?}")
    }
}

/// Formats an integer, with its type where the compiler could infer a type of 32 bits.
pub(super) fn integer(n: i64) -> String {
    if i32::try_from(n).is_ok() { n.to_string() } else { format!("{n}_i64") }
}

impl RustWriter<'_, '_> {
    pub(super) fn expr(&mut self, e: &EmitExpr) -> String {
        self.with_precedence(e, Lowest)
    }

    /// Formats an operand of `..`.
    pub(super) fn operand(&mut self, e: &EmitExpr) -> String {
        self.with_precedence(e, Sum)
    }

    /// Formats an index.
    pub(super) fn index(&mut self, e: &EmitExpr) -> String {
        match e {
            EmitExpr::Int(n) if *n >= 0 => n.to_string(),
            EmitExpr::Op(Op::Len, xs, _) => {
                format!("{}.len()", self.with_precedence(&xs[0], Atom))
            }
            e => format!("{} as usize", self.with_precedence(e, Prefix)),
        }
    }

    /// Formats an expression, in parentheses if its precedence is lower than `least`.
    fn with_precedence(&mut self, e: &EmitExpr, least: Precedence) -> String {
        parenthesized(self.ranked(e), least)
    }

    fn ranked(&mut self, e: &EmitExpr) -> Infix {
        match e {
            EmitExpr::Real(x) => (number(*x), if x.is_sign_negative() { Prefix } else { Atom }),
            EmitExpr::Int(n) => (integer(*n), if *n < 0 { Prefix } else { Atom }),
            EmitExpr::Bool(b) => atom(b.to_string()),
            EmitExpr::Var(v) => atom(self.var(*v).to_owned()),
            EmitExpr::Clone(v) if self.body.vars[v.0].borrowed && !self.file.shaped => {
                atom(format!("{}.to_vec()", self.var(*v)))
            }
            EmitExpr::Clone(v) => atom(format!("{}.clone()", self.var(*v))),
            EmitExpr::Op(op, args, kind) => self.op(*op, args, kind),
        }
    }

    /// Returns true if it consists of literals and of operations that do not determine their types.
    pub(super) fn is_untyped(&self, e: &EmitExpr) -> bool {
        let all = |args: &[EmitExpr]| args.iter().all(|a| self.is_untyped(a));
        match e {
            EmitExpr::Real(_) | EmitExpr::Int(_) => true,
            EmitExpr::Bool(_) => false,
            EmitExpr::Var(v) | EmitExpr::Clone(v) => self.untyped.contains(v),
            EmitExpr::Op(op, args, _) => match op {
                Op::Number1(Number1::Neg | Number1::Recip)
                | Op::Number2(Number2::Add | Number2::Sub | Number2::Mul | Number2::Div) => {
                    all(args)
                }
                // Arrays with shapes have a type.
                Op::Array => !self.file.shaped && !args.is_empty() && all(args),
                Op::Fill => !self.file.shaped && self.is_untyped(&args[0]),
                Op::Get | Op::Field(_) | Op::Sum | Op::Peek => self.is_untyped(&args[0]),
                Op::Accumulate => all(args),
                Op::Select => all(&args[1..]),
                Op::Tuple => args.iter().any(|a| self.is_untyped(a)),
                _ => false,
            },
        }
    }

    fn binary(&mut self, args: &[EmitExpr], sign: &str, rank: Precedence) -> Infix {
        let (left, right) = rank.operands();
        let left = self.with_precedence(&args[0], left);
        let right = self.with_precedence(&args[1], right);
        (format!("{left} {sign} {right}"), rank)
    }

    fn method(&mut self, args: &[EmitExpr], name: &str) -> Infix {
        let rest: Vec<String> = args[1..].iter().map(|a| self.expr(a)).collect();
        // Literals alone are not inferred to be `f64`s.
        if self.is_untyped(&args[0]) && self.body.kind(&args[0]) == Kind::Real {
            let first = self.expr(&args[0]);
            let all: Vec<String> = std::iter::once(first).chain(rest).collect();
            return atom(format!("f64::{name}({})", all.join(", ")));
        }
        atom(format!("{}.{name}({})", self.with_precedence(&args[0], Atom), rest.join(", ")))
    }

    fn call(&mut self, name: &str, args: &[EmitExpr]) -> Infix {
        let args: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
        atom(format!("{name}({})", args.join(", ")))
    }

    /// Formats an array that is only read.
    pub(super) fn borrow(&mut self, e: &EmitExpr) -> String {
        match e {
            EmitExpr::Var(v) if self.body.vars[v.0].borrowed => self.var(*v).to_owned(),
            e => format!("&{}", self.with_precedence(e, Prefix)),
        }
    }

    /// Formats the arguments of a function: arrays are borrowed.
    fn arguments(&mut self, args: &[EmitExpr]) -> Vec<String> {
        let one = |w: &mut Self, e: &EmitExpr| match w.body.kind(e) {
            Kind::Array(_) => w.borrow(e),
            _ => w.expr(e),
        };
        args.iter().map(|e| one(self, e)).collect()
    }

    fn op(&mut self, op: Op, args: &[EmitExpr], kind: &Kind) -> Infix {
        if matches!(kind, Kind::Complex | Kind::Array(Element::Complex)) {
            // The support code is emitted along with it.
            self.file.kind(kind);
        }
        if let Some(text) = self.elementwise(op, args) {
            return atom(text);
        }
        match op {
            Op::OnArrays(ArrayOp::ReshapeLike) if !self.file.shaped => {
                let (x, of) =
                    (self.with_precedence(&args[0], Atom), self.with_precedence(&args[1], Atom));
                atom(format!("at_full_length({x}.to_vec(), {of}.len())"))
            }
            Op::OnArrays(op) => atom(self.on_arrays(op, args)),
            Op::Number1(n) => match (n, kind) {
                (Number1::Neg, _) => {
                    let of = self.with_precedence(&args[0], Prefix);
                    (
                        if of.starts_with('-') { format!("-({of})") } else { format!("-{of}") },
                        Prefix,
                    )
                }
                (Number1::Recip, Kind::Real) => {
                    (format!("1.0 / {}", self.with_precedence(&args[0], Prefix)), Product)
                }
                (n @ (Number1::Asinh | Number1::Acosh | Number1::Atanh), Kind::Real) => {
                    self.call(n.name(), args)
                }
                (n, _) => self.method(args, n.name()),
            },
            Op::Number2(n) => match (n, kind) {
                (Number2::Add, _) => self.binary(args, "+", Sum),
                (Number2::Sub, _) => self.binary(args, "-", Sum),
                (Number2::Mul, _) => self.binary(args, "*", Product),
                (Number2::Div, _) => self.binary(args, "/", Product),
                (Number2::Pow, _) => self.method(args, "powf"),
                (n @ (Number2::Scale | Number2::Guard), Kind::Real) => self.call(n.name(), args),
                (n @ (Number2::Scale | Number2::Guard), _) => self.method(args, n.name()),
            },
            Op::Real1(r) if is_method(r) => self.method(args, r.name()),
            Op::Real1(r) => self.call(function(r), args),
            Op::Real2(r @ (Real2::Atan2 | Real2::Hypot)) => self.method(args, r.name()),
            Op::Real2(r) => self.call(r.name(), args),
            Op::Int1(Int1::Neg) => self.call("int_neg", args),
            Op::Int2(n) => match n {
                Int2::Add => self.call("int_add", args),
                Int2::Sub => self.call("int_sub", args),
                Int2::Mul => self.call("int_mul", args),
                Int2::Div if divides_all(&args[1]) => self.binary(args, "/", Product),
                Int2::Rem if divides_all(&args[1]) => self.binary(args, "%", Product),
                // The compiler rejects code that always panics, even if it never runs.
                Int2::Div => self.call("int_div", args),
                Int2::Rem => self.call("int_rem", args),
                Int2::Min => self.call("i64::min", args),
                Int2::Max => self.call("i64::max", args),
                Int2::FoldIn => self.call("fold_in", args),
            },
            Op::Expect(order) => {
                let (a, b) = (self.expr(&args[0]), self.expr(&args[1]));
                let order =
                    order.map_or("None".to_owned(), |o| format!("Some(std::cmp::Ordering::{o:?})"));
                let text = "the recording does not hold here";
                (format!("assert!(({a}).partial_cmp(&({b})) == {order}, \"{text}\")"), Lowest)
            }
            Op::Compare(c) | Op::CompareInt(c) => {
                self.binary(args, comparison(c), Precedence::Compare)
            }
            Op::Mixed(m) => self.mixed(m, args),
            Op::Select => {
                let (c, a, b) = (self.expr(&args[0]), self.expr(&args[1]), self.expr(&args[2]));
                (format!("if {c} {{ {a} }} else {{ {b} }}"), Lowest)
            }
            Op::Call(f) => {
                let mut all = self.file.extras(f);
                all.extend(self.arguments(args));
                atom(format!("{}({})", self.file.name(f), all.join(", ")))
            }
            Op::Primitive(p) => {
                self.file.primitives.insert(p.index(), p);
                let name = super::names::identifier(&self.file.program.primitives[p].name);
                atom(format!("host.{name}({})", self.arguments(args).join(", ")))
            }
            _ => self.structural(op, args, kind),
        }
    }

    fn mixed(&mut self, m: Mixed, args: &[EmitExpr]) -> Infix {
        match m {
            Mixed::Promote => atom(format!("Complex::new({}, 0.0)", self.expr(&args[0]))),
            Mixed::Complex => self.call("Complex::new", args),
            Mixed::Re | Mixed::Im => {
                atom(format!("{}.{}", self.with_precedence(&args[0], Atom), m.name()))
            }
            Mixed::Abs2 | Mixed::Modulus | Mixed::Arg | Mixed::Conj => self.method(args, m.name()),
            Mixed::FromInt => atom(format!("({} as f64)", self.with_precedence(&args[0], Prefix))),
            Mixed::PowiReal if !matches!(args[1], EmitExpr::Int(n) if is_product(n)) => {
                self.call("powi", args)
            }
            Mixed::PowiReal | Mixed::PowiComplex => self.method(args, "powi"),
            Mixed::Cmp => self.call("cmp", args),
            Mixed::Polygamma => self.call("polygamma", args),
            Mixed::Not => (format!("!{}", self.with_precedence(&args[0], Prefix)), Prefix),
            Mixed::And => self.binary(args, "&&", Precedence::And),
            Mixed::Or => self.binary(args, "||", Precedence::Or),
        }
    }

    fn structural(&mut self, op: Op, args: &[EmitExpr], kind: &Kind) -> Infix {
        let text = match op {
            Op::Tuple => {
                let named = matches!(kind, Kind::Tuple(t) if t.name.is_some());
                return (self.tuple(args, kind), if named { Lowest } else { Atom });
            }
            Op::Field(k) => {
                let of = self.body.kind(&args[0]);
                let k = k as usize;
                let name = self.file.fields(&of).get(k).cloned().unwrap_or_default();
                let copy = if of.fields().get(k).is_some_and(|f| holds_array(&f.kind)) {
                    ".clone()"
                } else {
                    ""
                };
                format!("{}.{name}{copy}", self.with_precedence(&args[0], Atom))
            }
            Op::Array if args.is_empty() => {
                let kind = self.file.kind(kind);
                let new = if self.file.shaped { "default" } else { "new" };
                format!("{}::{new}()", kind.replacen('<', "::<", 1))
            }
            Op::Array => {
                let items: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
                self.vector(&items.join(", "), args, kind)
            }
            Op::Fill => {
                let text = format!("{}; {}", self.expr(&args[0]), self.index(&args[1]));
                self.vector(&text, &args[..1], kind)
            }
            Op::Sum => format!("sum({})", self.borrow(&args[0])),
            Op::Len => {
                format!("({}.len() as i64)", self.with_precedence(&args[0], Atom))
            }
            Op::Get => {
                format!("{}[{}]", self.with_precedence(&args[0], Atom), self.index(&args[1]))
            }
            Op::Peek => format!("peek({}, {})", self.borrow(&args[0]), self.expr(&args[1])),
            Op::Accumulate => format!(
                "{}accumulate({}, {})",
                self.file.prefix(),
                self.expr(&args[0]),
                self.borrow(&args[1])
            ),
            Op::Pop { tape, .. } => {
                let tape = self.file.tape_name(tape);
                self.pop(&tape, kind)
            }
            other => format!("/* {} */", other.name()),
        };
        atom(text)
    }

    /// Formats an array with the given elements.
    fn vector(&mut self, items: &str, of: &[EmitExpr], kind: &Kind) -> String {
        if !self.file.shaped {
            return format!("vec![{items}]");
        }
        let array = if of.iter().all(|e| self.is_untyped(e)) {
            self.file.kind(kind).replacen('<', "::<", 1)
        } else {
            "Array".to_owned()
        };
        format!("{array}::from(vec![{items}])")
    }

    fn tuple(&mut self, args: &[EmitExpr], kind: &Kind) -> String {
        let items: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
        match kind {
            Kind::Tuple(t) if t.name.is_some() => {
                let name = self.file.structure(t);
                let fields = self.file.layout(t).fields.clone();
                let fields = fields.iter().zip(items);
                let fields =
                    fields.map(|(f, item)| if *f == item { item } else { format!("{f}: {item}") });
                format!("{name} {{ {} }}", fields.collect::<Vec<_>>().join(", "))
            }
            _ if items.len() == 1 => format!("({},)", items[0]),
            _ => format!("({})", items.join(", ")),
        }
    }

    /// Formats the pop of a value from a tape, the last leaf first.
    fn pop(&mut self, tape: &str, kind: &Kind) -> String {
        let Kind::Tuple(t) = kind else {
            let field = tape_field(kind);
            self.file.kind(kind);
            self.file.tape.insert(field);
            return format!("pop(&mut {tape}.{field})");
        };
        let n = t.fields.len();
        let pops: Vec<String> = t.fields.iter().map(|f| self.pop(tape, &f.kind)).collect();
        let lets = pops.iter().enumerate().rev().map(|(k, p)| format!("let p{k} = {p}; "));
        let lets: String = lets.collect();
        let items: Vec<String> = match &t.name {
            Some(_) => {
                let names = self.file.layout(t).fields.clone();
                names.iter().enumerate().map(|(k, name)| format!("{name}: p{k}")).collect()
            }
            None => (0..n).map(|k| format!("p{k}")).collect(),
        };
        let value = match &t.name {
            Some(_) => format!("{} {{ {} }}", self.file.structure(t), items.join(", ")),
            None if n == 1 => format!("({},)", items[0]),
            None => format!("({})", items.join(", ")),
        };
        format!("{{ {lets}{value} }}")
    }

    /// Returns the leaves of a value that is pushed to a tape, each with its vector.
    pub(super) fn leaves(&mut self, e: &EmitExpr) -> Vec<(&'static str, String)> {
        let kind = self.body.kind(e);
        match (e, &kind) {
            (EmitExpr::Op(Op::Tuple, args, _), _) => {
                args.iter().flat_map(|a| self.leaves(a)).collect()
            }
            (EmitExpr::Var(v) | EmitExpr::Clone(v), Kind::Tuple(_)) => {
                let name = self.var(*v).to_owned();
                let copy = matches!(e, EmitExpr::Clone(_));
                self.paths(&name, &kind, copy)
            }
            _ => {
                let field = tape_field(&kind);
                self.file.kind(&kind);
                self.file.tape.insert(field);
                vec![(field, self.expr(e))]
            }
        }
    }

    fn paths(&mut self, path: &str, kind: &Kind, copy: bool) -> Vec<(&'static str, String)> {
        if let Kind::Tuple(t) = kind {
            let names = self.file.layout(t).fields.clone();
            let fields = t.fields.iter().zip(names.iter());
            return fields
                .flat_map(|(f, name)| self.paths(&format!("{path}.{name}"), &f.kind, copy))
                .collect();
        }
        let field = tape_field(kind);
        self.file.tape.insert(field);
        let copied = copy && holds_array(kind);
        vec![(field, if copied { format!("{path}.clone()") } else { path.to_owned() })]
    }

    /// Formats `v = e`, or `v += e`.
    pub(super) fn assignment(&mut self, v: Var, e: &EmitExpr) -> String {
        let name = self.var(v).to_owned();
        if let EmitExpr::Op(Op::Number2(n), args, _) = e
            && let [EmitExpr::Var(a), rest] = args.as_slice()
            && *a == v
            && !holds_array(&self.body.vars[v.0].kind)
            && let Some(sign) = match n {
                Number2::Add => Some("+="),
                Number2::Sub => Some("-="),
                Number2::Mul => Some("*="),
                Number2::Div => Some("/="),
                Number2::Pow | Number2::Scale | Number2::Guard => None,
            }
            && (*n == Number2::Add || self.body.vars[v.0].kind == Kind::Real)
        {
            return format!("{name} {sign} {};", self.expr(rest));
        }
        format!("{name} = {};", self.expr(e))
    }
}

/// Returns true if every integer can be divided by this.
fn divides_all(e: &EmitExpr) -> bool {
    matches!(e, EmitExpr::Int(n) if !matches!(n, -1 | 0))
}

pub(super) fn comparison(c: Compare) -> &'static str {
    match c {
        Compare::Lt => "<",
        Compare::Le => "<=",
        Compare::Gt => ">",
        Compare::Ge => ">=",
        Compare::Eq => "==",
        Compare::Ne => "!=",
    }
}

/// Returns the name of the support function: for floats the slope of `abs` is the sign.
pub(super) fn function(op: Real1) -> &'static str {
    if op == Real1::AbsSlope { Real1::Sign.name() } else { op.name() }
}

/// Returns true if floats have the function as a method of its name.
pub(super) fn is_method(op: Real1) -> bool {
    matches!(op, Real1::Abs | Real1::Floor | Real1::Ceil | Real1::Round | Real1::Trunc)
}
