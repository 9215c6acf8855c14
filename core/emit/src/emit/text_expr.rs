//! Expressions in the program language.

use crate::{
    ir::{Element, Int1, Int2, Kind, Mixed, Number1, Number2, Op},
    notation::{
        Infix,
        Precedence::{self, Atom, Lowest, Prefix, Product, Sum},
        atom, parenthesized,
    },
};

use super::{
    EmitError,
    ast::EmitExpr,
    rust_expr::comparison,
    text::{EmitTextResult, ProgramWriter},
};

impl ProgramWriter<'_, '_> {
    /// Adds a helper function for arrays that grow, and returns its name.
    pub(super) fn helper(&mut self, what: &str, kind: &Kind) -> String {
        let (suffix, array, item, zero) = match kind {
            Kind::Array(Element::Complex) => {
                ("_complex", "array<complex>", "complex", "complex(0.0, 0.0)")
            }
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

    /// Formats an expression; values that it pops from a tape are popped first.
    pub(super) fn settled(&mut self, e: &EmitExpr) -> EmitTextResult {
        self.with_precedence(e, Lowest)
    }

    fn with_precedence(&mut self, e: &EmitExpr, least: Precedence) -> EmitTextResult {
        Ok(parenthesized(self.ranked(e)?, least))
    }

    fn ranked(&mut self, e: &EmitExpr) -> Result<Infix, EmitError> {
        Ok(match e {
            EmitExpr::Real(x) if x.is_nan() => ("0.0 / 0.0".into(), Product),
            EmitExpr::Real(x) if x.is_infinite() => {
                (if *x > 0.0 { "1.0 / 0.0" } else { "-1.0 / 0.0" }.into(), Product)
            }
            EmitExpr::Real(x) => {
                (format!("{x:?}"), if x.is_sign_negative() { Prefix } else { Atom })
            }
            EmitExpr::Int(n) => (n.to_string(), if *n < 0 { Prefix } else { Atom }),
            EmitExpr::Bool(b) => atom(b.to_string()),
            EmitExpr::Var(v) | EmitExpr::Clone(v) => atom(self.var(*v).to_owned()),
            EmitExpr::Op(op, args, kind) => return self.op(*op, args, kind),
        })
    }

    fn call(&mut self, name: &str, args: &[EmitExpr]) -> Result<Infix, EmitError> {
        let args: Result<Vec<String>, _> = args.iter().map(|a| self.settled(a)).collect();
        Ok(atom(format!("{name}({})", args?.join(", "))))
    }

    fn binary(
        &mut self,
        args: &[EmitExpr],
        sign: &str,
        rank: Precedence,
    ) -> Result<Infix, EmitError> {
        let (left, right) = rank.operands();
        let left = self.with_precedence(&args[0], left)?;
        let right = self.with_precedence(&args[1], right)?;
        Ok((format!("{left} {sign} {right}"), rank))
    }

    /// Formats an operation on ints. For literals the language takes an inexact quotient, and an
    /// overflow, for real numbers: the quotient is written as its value, the remainder with an
    /// operand that is not a literal.
    fn on_ints(
        &mut self,
        op: Int2,
        args: &[EmitExpr],
        sign: &str,
        rank: Precedence,
    ) -> Result<Infix, EmitError> {
        let literals = literal(&args[0]).zip(literal(&args[1]));
        let value = literals.and_then(|(a, b)| op.value(a, b));
        match (literals, value) {
            (Some(_), Some(n)) if op == Int2::Div => self.ranked(&EmitExpr::Int(n)),
            (Some((a, _)), None) => {
                let right = self.with_precedence(&args[1], rank.tighter())?;
                Ok((format!("min({a}, {a}) {sign} {right}"), rank))
            }
            _ => self.binary(args, sign, rank),
        }
    }

    fn op(&mut self, op: Op, args: &[EmitExpr], kind: &Kind) -> Result<Infix, EmitError> {
        match op {
            Op::Number1(Number1::Neg) | Op::Int1(Int1::Neg) => {
                Ok((format!("-{}", self.with_precedence(&args[0], Prefix)?), Prefix))
            }
            Op::Number2(Number2::Add) => self.binary(args, "+", Sum),
            Op::Number2(Number2::Sub) => self.binary(args, "-", Sum),
            Op::Number2(Number2::Mul) => self.binary(args, "*", Product),
            Op::Number2(Number2::Div) => self.binary(args, "/", Product),
            Op::Int2(op @ Int2::Add) => self.on_ints(op, args, "+", Sum),
            Op::Int2(op @ Int2::Sub) => self.on_ints(op, args, "-", Sum),
            Op::Int2(op @ Int2::Mul) => self.on_ints(op, args, "*", Product),
            Op::Int2(op @ Int2::Div) => self.on_ints(op, args, "/", Product),
            Op::Int2(op @ Int2::Rem) => self.on_ints(op, args, "%", Product),
            Op::Int2(Int2::Min) => self.call("min", args),
            Op::Int2(Int2::Max) => self.call("max", args),
            Op::Int2(Int2::FoldIn) => self.call("fold_in", args),
            Op::Expect(_) => Err(EmitError::Unspeakable {
                function: self.name.to_owned(),
                what: "it checks the path that it was recorded on; emit Rust".into(),
            }),
            Op::Compare(c) | Op::CompareInt(c) => {
                self.binary(args, comparison(c), Precedence::Compare)
            }
            Op::Mixed(m) => match m {
                Mixed::Promote => Ok(atom(format!("complex({}, 0.0)", self.settled(&args[0])?))),
                Mixed::Modulus => self.call("abs", args),
                Mixed::FromInt => self.call("real", args),
                Mixed::PowiReal | Mixed::PowiComplex => self.call("powi", args),
                Mixed::Not => Ok((format!("!{}", self.with_precedence(&args[0], Prefix)?), Prefix)),
                Mixed::And => self.binary(args, "&&", Precedence::And),
                Mixed::Or => self.binary(args, "||", Precedence::Or),
                Mixed::Polygamma => match &args[1] {
                    EmitExpr::Int(0) => self.call("digamma", &args[..1]),
                    _ => self.call("polygamma", &[args[1].clone(), args[0].clone()]),
                },
                other => self.call(other.name(), args),
            },
            Op::Call(f) => {
                let name = self.file.name(f).to_owned();
                self.call(&name, args)
            }
            Op::Primitive(p) => self.call(&self.file.program.primitives[p].name.clone(), args),
            Op::Tuple => {
                let items: Result<Vec<String>, _> = args.iter().map(|a| self.settled(a)).collect();
                Ok(atom(self.tuple(kind, &items?)))
            }
            Op::Field(k) => {
                let of = self.body.kind(&args[0]);
                let name = of.fields().get(k as usize).and_then(|f| f.name.clone());
                Ok(atom(format!(
                    "{}.{}",
                    self.with_precedence(&args[0], Atom)?,
                    name.unwrap_or_else(|| k.to_string())
                )))
            }
            Op::Array if args.is_empty() => Ok(atom(self.zero(kind))),
            Op::Array => {
                let items: Result<Vec<String>, _> = args.iter().map(|a| self.settled(a)).collect();
                Ok(atom(format!("[{}]", items?.join(", "))))
            }
            Op::Fill => {
                Ok(atom(format!("[{}; {}]", self.settled(&args[0])?, self.settled(&args[1])?)))
            }
            Op::Get => Ok(atom(format!(
                "{}[{}]",
                self.with_precedence(&args[0], Atom)?,
                self.settled(&args[1])?
            ))),
            Op::Peek => {
                let name = self.helper("peek", &self.body.kind(&args[0]));
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
                Ok(if *kind == Kind::Bool {
                    (format!("{value} == 1"), Precedence::Compare)
                } else {
                    atom(value)
                })
            }
            other => self.call(other.name(), args),
        }
    }
}

/// Returns the value of an expression that the language takes for a literal.
fn literal(e: &EmitExpr) -> Option<i64> {
    match e {
        EmitExpr::Int(n) => Some(*n),
        EmitExpr::Op(Op::Int1(Int1::Neg), args, _) => literal(&args[0])?.checked_neg(),
        // The result of a function is not a literal.
        EmitExpr::Op(Op::Int2(Int2::Min | Int2::Max | Int2::FoldIn), ..) => None,
        EmitExpr::Op(Op::Int2(op), args, _) => op.value(literal(&args[0])?, literal(&args[1])?),
        _ => None,
    }
}
