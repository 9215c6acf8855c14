//! Infix text: `sin(x)/2 + 3*x`.
//!
//! Parentheses are printed only where precedence and associativity need them; the program language
//! reads the text as the same expression. A part used more than once gets a name if writing it out
//! would make the text long, and so does one that is nested deeply:
//!
//! ```text
//! { let t1 = x + x; let t2 = t1 + t1; t2 + t2 }
//! ```
//!
//! That is an expression of the program language too. Cost: O(length of the text), which is
//! O(parts).

use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
};

use crate::{
    ir::{Kind, Mixed, Number1, Number2, Op},
    notation::Precedence,
};

use super::{
    constant::Constant,
    node::{Node, NodeKind, Sym, visit},
};

/// The longest expression that is written out in full, in parts.
const MAX_INLINE_PARTS: u64 = 200;
/// Maximum depth of parentheses. The program language reads 100.
const MAX_DEPTH: usize = 40;

#[derive(Clone)]
struct InfixText {
    text: String,
    rank: Precedence,
    depth: usize,
    /// Number of nodes when written out in full.
    size: u64,
}

/// The constant pi where an input is called `pi`.
const PI_BESIDE_PI: &str = "acos(-1.0)";

/// Expressions as text: the names of parts, and the text of each root.
pub(super) struct Printed {
    pub(super) names: Vec<(String, String)>,
    pub(super) results: Vec<String>,
}

impl Printed {
    /// Returns one expression: a block if parts have names.
    pub(super) fn block(&self) -> String {
        let result = match self.results.as_slice() {
            [one] => one.clone(),
            all => format!("({})", all.join(", ")),
        };
        if self.names.is_empty() {
            return result;
        }
        let lets: String = self.names.iter().map(|(n, t)| format!("let {n} = {t}; ")).collect();
        format!("{{ {lets}{result} }}")
    }
}

/// Writes expressions that share parts.
pub(super) fn print(roots: &[Sym]) -> Printed {
    let mut uses: HashMap<u128, u64> = HashMap::new();
    let mut taken = HashSet::new();
    let mut sizes: HashMap<u128, u64> = HashMap::new();
    let Ok(()) = visit(roots, |sym| {
        let mut size = 1u64;
        if let Sym::Node(node) = sym {
            for arg in &node.args {
                *uses.entry(arg.key()).or_default() += 1;
                size = size.saturating_add(sizes.get(&arg.key()).copied().unwrap_or(1));
            }
            if let NodeKind::Symbol(s) = &node.node_kind {
                taken.insert(s.name.to_string());
            }
        }
        sizes.insert(sym.key(), size);
        Ok::<(), Infallible>(())
    });
    for root in roots {
        *uses.entry(root.key()).or_default() += 1;
    }
    let total =
        roots.iter().fold(0u64, |n, r| n.saturating_add(sizes.get(&r.key()).copied().unwrap_or(1)));
    let pi = if taken.contains("pi") { PI_BESIDE_PI } else { "pi" };
    let mut writer =
        InfixWriter { uses, taken, pi, texts: HashMap::new(), names: Vec::new(), next: 0 };
    let in_full = total <= MAX_INLINE_PARTS;
    let Ok(()) = visit(roots, |sym| {
        let text = writer.text(sym);
        let shared =
            !in_full && text.size > 2 && writer.uses.get(&sym.key()).is_some_and(|n| *n > 1);
        let text = if shared || text.depth >= MAX_DEPTH { writer.name(text) } else { text };
        writer.texts.insert(sym.key(), text);
        Ok::<(), Infallible>(())
    });
    let results = roots.iter().map(|root| writer.take_text(root).text).collect();
    Printed { names: writer.names, results }
}

struct InfixWriter {
    /// Number of uses of each part that are still to be written.
    uses: HashMap<u128, u64>,
    taken: HashSet<String>,
    /// The constant.
    pi: &'static str,
    texts: HashMap<u128, InfixText>,
    names: Vec<(String, String)>,
    next: usize,
}

fn atom(text: String) -> InfixText {
    InfixText { text, rank: Precedence::Atom, depth: 0, size: 1 }
}

impl InfixWriter {
    /// Returns the text of a part; its last use moves it.
    fn take_text(&mut self, sym: &Sym) -> InfixText {
        let left = self.uses.entry(sym.key()).or_default();
        *left = left.saturating_sub(1);
        let text = if *left == 0 {
            self.texts.remove(&sym.key())
        } else {
            self.texts.get(&sym.key()).cloned()
        };
        text.unwrap_or_else(|| atom(String::new()))
    }

    fn name(&mut self, text: InfixText) -> InfixText {
        let name = loop {
            self.next += 1;
            let name = format!("t{}", self.next);
            if !self.taken.contains(&name) {
                break name;
            }
        };
        self.names.push((name.clone(), text.text));
        atom(name)
    }

    fn text(&mut self, sym: &Sym) -> InfixText {
        match sym {
            Sym::Const(c) => constant(*c, self.pi),
            Sym::Node(node) => match &node.node_kind {
                NodeKind::Symbol(s) => atom(s.name.to_string()),
                NodeKind::Call(shared) => self.call(&shared.name, node),
                NodeKind::Op(op) => self.op(*op, node),
            },
        }
    }

    fn op(&mut self, op: Op, node: &Node) -> InfixText {
        match (op, node.args.as_slice()) {
            (Op::Int(n), _) => atom(n.to_string()),
            (Op::Bool(b), _) => atom(b.to_string()),
            (Op::Number1(Number1::Neg), [x]) => {
                let x = self.operand(x, Precedence::Product);
                InfixText { text: format!("-{}", x.text), rank: Precedence::Sum, ..x }
            }
            (Op::Number1(Number1::Recip), [x]) => {
                let x = self.operand(x, Precedence::Atom);
                InfixText {
                    text: format!("1/{}", x.text),
                    rank: Precedence::Product,
                    depth: x.depth + 1,
                    size: x.size + 1,
                }
            }
            (Op::Number2(Number2::Add), [a, b]) => self.infix(a, " + ", b, Precedence::Sum),
            (Op::Number2(Number2::Sub), [a, b]) => self.infix(a, " - ", b, Precedence::Sum),
            (Op::Number2(Number2::Mul), [a, b]) => self.product(a, b),
            (Op::Number2(Number2::Div), [a, b]) => self.infix(a, "/", b, Precedence::Product),
            (Op::Compare(c), [a, b]) => {
                use crate::ir::Compare as C;
                let sign = match c {
                    C::Lt => " < ",
                    C::Le => " <= ",
                    C::Gt => " > ",
                    C::Ge => " >= ",
                    C::Eq => " == ",
                    C::Ne => " != ",
                };
                self.infix(a, sign, b, Precedence::Compare)
            }
            (Op::Mixed(Mixed::And), [a, b]) => self.logic(a, " && ", b),
            (Op::Mixed(Mixed::Or), [a, b]) => self.logic(a, " || ", b),
            (Op::Mixed(Mixed::Not), [a]) => {
                let a = self.operand(a, Precedence::Atom);
                InfixText { text: format!("!{}", a.text), rank: Precedence::Product, ..a }
            }
            (Op::Mixed(Mixed::Promote), [x]) => {
                let x = self.operand(x, Precedence::Compare);
                InfixText { text: format!("complex({}, 0)", x.text), rank: Precedence::Atom, ..x }
            }
            (Op::Mixed(Mixed::PowiComplex), _) => self.call("powi", node),
            (Op::Mixed(Mixed::Polygamma), [x, n]) => self.polygamma(x, n),
            (Op::Mixed(Mixed::FromInt), _) => self.call("real", node),
            (op, _) => self.call(op.name(), node),
        }
    }

    /// Returns the text of an operand, in parentheses if its precedence is too low.
    fn operand(&mut self, sym: &Sym, least: Precedence) -> InfixText {
        let t = self.take_text(sym);
        if t.rank >= least {
            return t;
        }
        InfixText {
            text: format!("({})", t.text),
            rank: Precedence::Atom,
            depth: t.depth + 1,
            size: t.size,
        }
    }

    fn infix(&mut self, a: &Sym, sign: &str, b: &Sym, rank: Precedence) -> InfixText {
        let (left_least, right_least) = rank.operands();
        // A real operand of a complex operation is promoted implicitly.
        let (real_a, real_b) = (promoted(a, self.pi), promoted(b, self.pi));
        let keep = real_a.is_some() && real_b.is_some();
        let left = self.promotable(a, if keep { None } else { real_a }, left_least);
        let right = self.promotable(b, if keep { None } else { real_b }, right_least);
        let mut text = left.text;
        text += sign;
        text += &right.text;
        InfixText {
            text,
            rank,
            depth: left.depth.max(right.depth + 1),
            size: left.size.saturating_add(right.size),
        }
    }

    fn promotable(&mut self, sym: &Sym, real: Option<InfixText>, least: Precedence) -> InfixText {
        match real {
            None => self.operand(sym, least),
            Some(t) => {
                let _ = self.take_text(sym);
                if t.rank >= least { t } else { atom(format!("({})", t.text)) }
            }
        }
    }

    fn logic(&mut self, a: &Sym, sign: &str, b: &Sym) -> InfixText {
        let (a, b) = (self.operand(a, Precedence::Sum), self.operand(b, Precedence::Sum));
        let (depth, size) = (a.depth.max(b.depth) + 1, a.size.saturating_add(b.size));
        InfixText {
            text: format!("{}{sign}{}", a.text, b.text),
            rank: Precedence::Compare,
            depth,
            size,
        }
    }

    /// Returns `x/3` for a third of x.
    fn product(&mut self, a: &Sym, b: &Sym) -> InfixText {
        let fraction = a.constant().and_then(Constant::as_rational).filter(|q| *q.denom() != 1);
        let Some(q) = fraction.filter(|q| q.numer().abs() == 1) else {
            // A leading minus needs no parentheses: it may come before the product as well.
            let Some(c) = a.constant().filter(|c| c.is_negative()) else {
                return self.infix(a, "*", b, Precedence::Product);
            };
            let _ = self.take_text(a);
            let (c, x) = (constant(c.neg(), self.pi), self.operand(b, Precedence::Atom));
            let text = format!("-{}*{}", c.text, x.text);
            return InfixText { text, rank: Precedence::Sum, depth: x.depth + 1, size: x.size + 1 };
        };
        let _ = self.take_text(a);
        let x = self.operand(b, Precedence::Product);
        let (sign, rank) =
            if *q.numer() < 0 { ("-", Precedence::Sum) } else { ("", Precedence::Product) };
        InfixText {
            text: format!("{sign}{}/{}", x.text, q.denom()),
            rank,
            depth: x.depth,
            size: x.size + 1,
        }
    }

    /// Returns `digamma(x)`, or `polygamma(n, x)`.
    fn polygamma(&mut self, x: &Sym, n: &Sym) -> InfixText {
        let (x, n) = (self.operand(x, Precedence::Compare), self.operand(n, Precedence::Compare));
        let text = match n.text.as_str() {
            "0" => format!("digamma({})", x.text),
            n => format!("polygamma({n}, {})", x.text),
        };
        InfixText {
            text,
            rank: Precedence::Atom,
            depth: x.depth.max(n.depth) + 1,
            size: x.size.saturating_add(n.size),
        }
    }

    fn call(&mut self, name: &str, node: &Node) -> InfixText {
        let mut text = format!("{name}(");
        let (mut depth, mut size) = (0, 1u64);
        for (k, arg) in node.args.iter().enumerate() {
            let arg = self.operand(arg, Precedence::Compare);
            text += if k > 0 { ", " } else { "" };
            text += &arg.text;
            depth = depth.max(arg.depth);
            size = size.saturating_add(arg.size);
        }
        text.push(')');
        InfixText { text, rank: Precedence::Atom, depth: depth + 1, size }
    }
}

/// Returns the text of a real constant or symbol that was promoted.
fn promoted(sym: &Sym, pi: &str) -> Option<InfixText> {
    let Some([x]) = sym.args_of(Op::Mixed(Mixed::Promote)) else { return None };
    match x {
        Sym::Const(c) => Some(constant(*c, pi)),
        Sym::Node(n) => match &n.node_kind {
            NodeKind::Symbol(s) if n.kind == Kind::Real => Some(atom(s.name.to_string())),
            _ => None,
        },
    }
}

/// Returns `sqrt(2)/2`, `3*pi/4`, `-1/3`, `0.1`, with this word for pi.
fn constant(c: Constant, pi_word: &str) -> InfixText {
    let ranked = |text: String, rank: Precedence| {
        let rank = if text.starts_with('-') { Precedence::Sum } else { rank };
        InfixText { text, rank, depth: 0, size: 1 }
    };
    match c {
        Constant::Float(x) if x.is_nan() => ranked("0.0/0.0".into(), Precedence::Product),
        Constant::Float(x) if x.is_infinite() => {
            ranked(if x > 0.0 { "1.0/0.0" } else { "-1.0/0.0" }.into(), Precedence::Product)
        }
        Constant::Float(x) => ranked(format!("{x:?}"), Precedence::Atom),
        Constant::Exact { q, root, pi } => {
            let mut factors = Vec::new();
            let n = q.numer().unsigned_abs();
            if n != 1 || root == 1 && !pi {
                factors.push(n.to_string());
            }
            if root != 1 {
                factors.push(format!("sqrt({root})"));
            }
            if pi {
                factors.push(pi_word.into());
            }
            let below = if *q.denom() == 1 { String::new() } else { format!("/{}", q.denom()) };
            let rank = if factors.len() == 1 && below.is_empty() {
                Precedence::Atom
            } else {
                Precedence::Product
            };
            let sign = if *q.numer() < 0 { "-" } else { "" };
            ranked(format!("{sign}{}{below}", factors.join("*")), rank)
        }
    }
}

/// Returns true if the word `pi` is used for the constant.
pub(super) fn mentions_pi(roots: &[Sym]) -> bool {
    let (mut constant, mut symbol) = (false, false);
    let Ok(()) = visit(roots, |sym| {
        match sym {
            Sym::Const(Constant::Exact { pi, .. }) => constant |= pi,
            Sym::Const(_) => {}
            Sym::Node(node) => {
                symbol |= matches!(&node.node_kind, NodeKind::Symbol(s) if &*s.name == "pi")
            }
        }
        Ok::<(), Infallible>(())
    });
    constant && !symbol
}
