//! Random programs as syntax trees, and their text.

use std::fmt;

use support::random::Rng;

use super::interpret::{Dual, Value};

/// An expression that is a real number.
#[derive(Clone, Debug)]
pub(crate) enum Real {
    Lit(f64),
    Var(String),
    Neg(Box<Real>),
    Infix(&'static str, Box<Real>, Box<Real>),
    Fun(&'static str, Box<Real>),
    Fun2(&'static str, Box<Real>, Box<Real>),
    Powi(Box<Real>, Box<Int>),
    OfInt(Box<Int>),
    At(String, Box<Int>),
    Sum(Box<Array>),
    Dot(Box<Array>, Box<Array>),
    If(Box<Cond>, Box<Real>, Box<Real>),
    Select(Box<Cond>, Box<Real>, Box<Real>),
    /// A helper by its number.
    Call(usize, Box<Real>, Box<Int>),
}

/// An expression that is an integer.
#[derive(Clone, Debug)]
pub(crate) enum Int {
    Lit(i64),
    Var(String),
    Infix(&'static str, Box<Int>, Box<Int>),
    Fun2(&'static str, Box<Int>, Box<Int>),
    Len(Box<Array>),
}

impl Int {
    /// True if it is an integer by more than its literals.
    fn is_typed(&self) -> bool {
        match self {
            Int::Lit(_) => false,
            Int::Var(_) | Int::Len(_) => true,
            Int::Infix(_, a, b) | Int::Fun2(_, a, b) => a.is_typed() || b.is_typed(),
        }
    }
}

/// An expression that is an array of real numbers along one axis.
#[derive(Clone, Debug)]
pub(crate) enum Array {
    Var(String),
    List(Vec<Real>),
    Infix(&'static str, Box<Array>, Box<Array>),
    Scaled(&'static str, Box<Real>, Box<Array>),
    Fun(&'static str, Box<Array>),
    Full(Box<Real>, Box<Int>),
    Slice(Box<Array>, Box<Int>, Box<Int>),
    Concat(Box<Array>, Box<Array>),
    Take(Box<Array>, Vec<Int>),
}

/// A condition.
#[derive(Clone, Debug)]
pub(crate) enum Cond {
    Reals(&'static str, Real, Real),
    Ints(&'static str, Int, Int),
    Both(&'static str, Box<Cond>, Box<Cond>),
    Not(Box<Cond>),
}

/// Any expression.
#[derive(Clone, Debug)]
pub(crate) enum Any {
    Real(Real),
    Int(Int),
    Array(Array),
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    Let(String, Any),
    /// `=`, `+=`, … on a variable.
    Assign(String, &'static str, Any),
    /// `=`, `+=`, … on an element.
    Element(String, Int, &'static str, Real),
    If(Cond, Vec<Stmt>, Vec<Stmt>),
    For(String, Int, Int, Vec<Stmt>),
    /// A loop that counts a variable of its own up to a bound, while a condition holds.
    While(String, i64, Cond, Vec<Stmt>),
    Leave(&'static str),
    Return(Real),
}

/// A program: helpers `g0(x, n)`, …, and the entry `f` with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) helpers: Vec<Real>,
    pub(crate) params: Vec<&'static str>,
    pub(crate) args: Vec<Value>,
    pub(crate) body: Vec<Stmt>,
    pub(crate) last: Real,
}

/// Variables that can be named, with those that can be assigned to.
#[derive(Clone, Default)]
struct Scope {
    reals: Vec<String>,
    ints: Vec<String>,
    arrays: Vec<String>,
    mutable: Vec<(String, char)>,
    in_loop: bool,
}

struct Drawing<'a> {
    rng: &'a mut Rng,
    fresh: usize,
    helpers: usize,
}

const FUNCTIONS: [&str; 16] = [
    "sin", "cos", "exp", "tanh", "atan", "sqrt", "ln", "abs", "asinh", "exp_m1", "ln_1p", "sign",
    "floor", "recip", "detach", "cbrt",
];
const FUNCTIONS_OF_ARRAYS: [&str; 6] = ["sin", "cos", "exp", "tanh", "abs", "sqrt"];

impl Drawn {
    /// A random program.
    pub(crate) fn draw(rng: &mut Rng) -> Drawn {
        let mut drawing = Drawing { rng, fresh: 0, helpers: 0 };
        let own = Scope { reals: vec!["x".into()], ints: vec!["n".into()], ..Scope::default() };
        let mut helpers = Vec::new();
        for _ in 0..drawing.rng.below(3) {
            helpers.push(drawing.real(&own, 3));
            drawing.helpers += 1;
        }
        let (mut params, mut args) = (Vec::new(), Vec::new());
        let mut scope = Scope::default();
        for name in ["a", "b"].into_iter().take(1 + drawing.rng.below(2)) {
            scope.reals.push(name.into());
            params.push(name);
            args.push(Value::Real(Dual::constant(drawing.point())));
        }
        if drawing.rng.below(2) == 0 {
            scope.arrays.push("xs".into());
            params.push("xs");
            let len = 1 + drawing.rng.below(5);
            args.push(Value::Array((0..len).map(|_| Dual::constant(drawing.point())).collect()));
        }
        if drawing.rng.below(2) == 0 {
            scope.ints.push("n".into());
            params.push("n");
            args.push(Value::Int(drawing.rng.below(7) as i64 - 1));
        }
        let len = 1 + drawing.rng.below(6);
        let body = drawing.block(&mut scope, len, 3);
        let last = drawing.real(&scope, 3);
        Drawn { helpers, params, args, body, last }
    }
}

impl Drawing<'_> {
    /// Point at which derivatives are asked for: simple numbers, and any.
    fn point(&mut self) -> f64 {
        match self.rng.below(4) {
            0 => [0.0, 1.0, -1.0, 0.5, 2.0][self.rng.below(5)],
            _ => (3.0 * self.rng.signed() * 1024.0).round() / 1024.0,
        }
    }

    fn name(&mut self, kind: char) -> String {
        self.fresh += 1;
        format!("{kind}{}", self.fresh)
    }

    fn one<'v>(&mut self, names: &'v [String]) -> Option<&'v String> {
        (!names.is_empty()).then(|| &names[self.rng.below(names.len())])
    }

    fn real(&mut self, scope: &Scope, depth: usize) -> Real {
        if depth == 0 || self.rng.below(5) == 0 {
            return match self.one(&scope.reals) {
                Some(name) if self.rng.below(4) > 0 => Real::Var(name.clone()),
                _ => Real::Lit([0.5, 1.0, 2.0, -1.5, 0.25, 3.0, 0.1][self.rng.below(7)]),
            };
        }
        let d = depth - 1;
        match self.rng.below(16) {
            0 => Real::Neg(self.real(scope, d).into()),
            1..7 => {
                let op = ["+", "-", "*", "*", "+", "/"][self.rng.below(6)];
                Real::Infix(op, self.real(scope, d).into(), self.real(scope, d).into())
            }
            7..9 => {
                let name = FUNCTIONS[self.rng.below(FUNCTIONS.len())];
                Real::Fun(name, self.real(scope, d).into())
            }
            9 => {
                let name = ["min", "max", "hypot", "atan2", "pow", "rem"][self.rng.below(6)];
                Real::Fun2(name, self.real(scope, d).into(), self.real(scope, d).into())
            }
            10 => Real::Powi(self.real(scope, d).into(), self.int(scope, d.min(1)).into()),
            11 => Real::OfInt(self.int(scope, d).into()),
            12 => match self.one(&scope.arrays).cloned() {
                Some(name) => Real::At(name, self.int(scope, d.min(1)).into()),
                None => self.real(scope, d),
            },
            13 => match self.rng.below(3) {
                0 => Real::Dot(self.array(scope, d).into(), self.array(scope, d).into()),
                _ => Real::Sum(self.array(scope, d).into()),
            },
            14 => {
                let parts = (
                    self.cond(scope, d).into(),
                    self.real(scope, d).into(),
                    self.real(scope, d).into(),
                );
                if self.rng.below(2) == 0 {
                    Real::If(parts.0, parts.1, parts.2)
                } else {
                    Real::Select(parts.0, parts.1, parts.2)
                }
            }
            _ if self.helpers > 0 => {
                let which = self.rng.below(self.helpers);
                Real::Call(which, self.real(scope, d).into(), self.int(scope, d.min(1)).into())
            }
            _ => self.real(scope, d),
        }
    }

    fn int(&mut self, scope: &Scope, depth: usize) -> Int {
        if depth == 0 || self.rng.below(3) == 0 {
            return match self.one(&scope.ints) {
                Some(name) if self.rng.below(3) > 0 => Int::Var(name.clone()),
                _ if self.rng.below(40) == 0 => {
                    Int::Lit([i64::MAX, 4_294_967_296, 65_536, -i64::MAX][self.rng.below(4)])
                }
                _ => Int::Lit(self.rng.below(6) as i64 - 1),
            };
        }
        let d = depth - 1;
        match self.rng.below(6) {
            0 if !scope.arrays.is_empty() => Int::Len(self.array(scope, d.min(1)).into()),
            1 => {
                let name = ["min", "max"][self.rng.below(2)];
                let (a, b) = (self.int(scope, d), self.int(scope, d));
                if a.is_typed() { Int::Fun2(name, a.into(), b.into()) } else { b }
            }
            _ => {
                let op = ["+", "-", "*", "/", "%", "+"][self.rng.below(6)];
                let (a, b) = (self.int(scope, d), self.int(scope, d));
                // What is made of literals alone may become a real number.
                if a.is_typed() { Int::Infix(op, a.into(), b.into()) } else { b }
            }
        }
    }

    fn array(&mut self, scope: &Scope, depth: usize) -> Array {
        if depth == 0 || self.rng.below(4) == 0 {
            return match self.one(&scope.arrays) {
                Some(name) if self.rng.below(4) > 0 => Array::Var(name.clone()),
                _ => Array::List(
                    (0..1 + self.rng.below(3)).map(|_| self.real(scope, 1.min(depth))).collect(),
                ),
            };
        }
        let d = depth - 1;
        match self.rng.below(8) {
            0 | 1 => {
                let op = ["+", "-", "*"][self.rng.below(3)];
                let left = self.array(scope, d);
                // The same shape, mostly.
                let right =
                    if self.rng.below(2) == 0 { left.clone() } else { self.array(scope, d) };
                Array::Infix(op, left.into(), right.into())
            }
            2 => {
                let op = ["+", "*", "-"][self.rng.below(3)];
                Array::Scaled(op, self.real(scope, d).into(), self.array(scope, d).into())
            }
            3 => {
                let name = FUNCTIONS_OF_ARRAYS[self.rng.below(6)];
                Array::Fun(name, self.array(scope, d).into())
            }
            4 => Array::Full(self.real(scope, d).into(), self.int(scope, d.min(1)).into()),
            5 => {
                let (start, len) = (self.int(scope, d.min(1)), self.int(scope, d.min(1)));
                Array::Slice(self.array(scope, d).into(), start.into(), len.into())
            }
            6 => Array::Concat(self.array(scope, d).into(), self.array(scope, d).into()),
            _ => {
                let places =
                    (0..1 + self.rng.below(3)).map(|_| self.int(scope, d.min(1))).collect();
                Array::Take(self.array(scope, d).into(), places)
            }
        }
    }

    fn cond(&mut self, scope: &Scope, depth: usize) -> Cond {
        let op = ["<", "<=", ">", ">=", "==", "!="][self.rng.below(6)];
        match self.rng.below(6) {
            0 if depth > 0 => {
                let op = ["&&", "||"][self.rng.below(2)];
                Cond::Both(
                    op,
                    self.cond(scope, depth - 1).into(),
                    self.cond(scope, depth - 1).into(),
                )
            }
            1 if depth > 0 => Cond::Not(self.cond(scope, depth - 1).into()),
            2 | 3 => Cond::Ints(op, self.int(scope, depth.min(1)), self.int(scope, depth.min(1))),
            _ => Cond::Reals(op, self.real(scope, depth.min(2)), self.real(scope, depth.min(2))),
        }
    }

    fn any(&mut self, scope: &Scope, kind: char) -> Any {
        match kind {
            'r' => Any::Real(self.real(scope, 3)),
            'i' => Any::Int(self.int(scope, 2)),
            _ => Any::Array(self.array(scope, 2)),
        }
    }

    fn block(&mut self, scope: &mut Scope, len: usize, depth: usize) -> Vec<Stmt> {
        (0..len).map(|_| self.stmt(scope, depth)).collect()
    }

    fn stmt(&mut self, scope: &mut Scope, depth: usize) -> Stmt {
        let mutable = scope.mutable.clone();
        let choice = self.rng.below(if depth == 0 { 7 } else { 12 });
        let len = 1 + self.rng.below(3);
        match choice {
            3..6 if !mutable.is_empty() => {
                let (name, kind) = mutable[self.rng.below(mutable.len())].clone();
                match kind {
                    'a' if self.rng.below(2) == 0 => {
                        let op = ["=", "+=", "*=", "-="][self.rng.below(4)];
                        Stmt::Element(name, self.int(scope, 1), op, self.real(scope, 2))
                    }
                    'r' => {
                        let op = ["=", "+=", "-=", "*=", "/="][self.rng.below(5)];
                        Stmt::Assign(name, op, self.any(scope, kind))
                    }
                    _ => Stmt::Assign(
                        name,
                        ["=", "+=", "*="][self.rng.below(3)],
                        self.any(scope, kind),
                    ),
                }
            }
            6 if scope.in_loop && self.rng.below(2) == 0 => {
                let word = ["break", "continue"][self.rng.below(2)];
                Stmt::If(self.cond(scope, 1), vec![Stmt::Leave(word)], Vec::new())
            }
            6 if self.rng.below(4) == 0 => {
                Stmt::If(self.cond(scope, 1), vec![Stmt::Return(self.real(scope, 2))], Vec::new())
            }
            7 | 8 => {
                let cond = self.cond(scope, 2);
                let yes = self.block(&mut scope.clone(), len, depth - 1);
                let count = self.rng.below(3);
                let no = self.block(&mut scope.clone(), count, depth - 1);
                Stmt::If(cond, yes, no)
            }
            9 | 10 => {
                let name = self.name('i');
                let (from, to) = (self.int(scope, 1), self.int(scope, 1));
                let mut inner = Scope { in_loop: true, ..scope.clone() };
                inner.ints.push(name.clone());
                Stmt::For(name, from, to, self.block(&mut inner, len, depth - 1))
            }
            11 => {
                let name = self.name('w');
                let mut inner = Scope { in_loop: true, ..scope.clone() };
                inner.ints.push(name.clone());
                let cond = self.cond(&inner, 1);
                let bound = 1 + self.rng.below(6) as i64;
                Stmt::While(name, bound, cond, self.block(&mut inner, len, depth - 1))
            }
            _ => {
                let kind = ['r', 'r', 'r', 'i', 'a', 'a'][self.rng.below(6)];
                let value = self.any(scope, kind);
                let name = self.name(kind);
                match kind {
                    'r' => scope.reals.push(name.clone()),
                    'i' => scope.ints.push(name.clone()),
                    _ => scope.arrays.push(name.clone()),
                }
                scope.mutable.push((name.clone(), kind));
                Stmt::Let(name, value)
            }
        }
    }
}

impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Real::Lit(x) if *x < 0.0 => write!(f, "(-{:?})", -x),
            Real::Lit(x) => write!(f, "{x:?}"),
            Real::Var(name) => f.write_str(name),
            Real::Neg(x) => write!(f, "(-{x})"),
            Real::Infix(op, a, b) => write!(f, "({a} {op} {b})"),
            Real::Fun(name, x) => write!(f, "{name}({x})"),
            Real::Fun2(name, a, b) => write!(f, "{name}({a}, {b})"),
            Real::Powi(x, n) => write!(f, "powi({x}, {n})"),
            Real::OfInt(n) => write!(f, "real({n})"),
            Real::At(name, i) => write!(f, "{name}[{i}]"),
            Real::Sum(a) => write!(f, "sum({a})"),
            Real::Dot(a, b) => write!(f, "dot({a}, {b})"),
            Real::If(c, a, b) => write!(f, "(if {c} {{ {a} }} else {{ {b} }})"),
            Real::Select(c, a, b) => write!(f, "select({c}, {a}, {b})"),
            Real::Call(k, x, n) => write!(f, "g{k}({x}, {n})"),
        }
    }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Int::Lit(n) if *n < 0 => write!(f, "({n})"),
            Int::Lit(n) => write!(f, "{n}"),
            Int::Var(name) => f.write_str(name),
            Int::Infix(op, a, b) => write!(f, "({a} {op} {b})"),
            Int::Fun2(name, a, b) => write!(f, "{name}({a}, {b})"),
            Int::Len(a) => write!(f, "len({a})"),
        }
    }
}

fn joined<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Array::Var(name) => f.write_str(name),
            Array::List(items) => write!(f, "[{}]", joined(items)),
            Array::Infix(op, a, b) => write!(f, "({a} {op} {b})"),
            Array::Scaled(op, x, a) => write!(f, "({x} {op} {a})"),
            Array::Fun(name, a) => write!(f, "{name}({a})"),
            Array::Full(x, n) => write!(f, "full({x}, [{n}])"),
            Array::Slice(a, start, len) => write!(f, "slice({a}, 0, {start}, {len})"),
            Array::Concat(a, b) => write!(f, "concat({a}, {b}, 0)"),
            Array::Take(a, places) => write!(f, "take({a}, [{}])", joined(places)),
        }
    }
}

impl fmt::Display for Cond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cond::Reals(op, a, b) => write!(f, "({a} {op} {b})"),
            Cond::Ints(op, a, b) => write!(f, "({a} {op} {b})"),
            Cond::Both(op, a, b) => write!(f, "({a} {op} {b})"),
            Cond::Not(c) => write!(f, "!{c}"),
        }
    }
}

impl fmt::Display for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Any::Real(x) => x.fmt(f),
            Any::Int(x) => x.fmt(f),
            Any::Array(x) => x.fmt(f),
        }
    }
}

fn write_block(f: &mut fmt::Formatter<'_>, stmts: &[Stmt], depth: usize) -> fmt::Result {
    let pad = "    ".repeat(depth);
    for stmt in stmts {
        match stmt {
            // An integer literal would be a real number as well.
            Stmt::Let(name, Any::Int(n @ Int::Lit(_))) => {
                writeln!(f, "{pad}let mut {name} = {n} + 0 * len([0.0]);")?
            }
            Stmt::Let(name, value) => writeln!(f, "{pad}let mut {name} = {value};")?,
            Stmt::Assign(name, op, value) => writeln!(f, "{pad}{name} {op} {value};")?,
            Stmt::Element(name, at, op, value) => writeln!(f, "{pad}{name}[{at}] {op} {value};")?,
            Stmt::If(cond, yes, no) => {
                writeln!(f, "{pad}if {cond} {{")?;
                write_block(f, yes, depth + 1)?;
                if !no.is_empty() {
                    writeln!(f, "{pad}}} else {{")?;
                    write_block(f, no, depth + 1)?;
                }
                writeln!(f, "{pad}}}")?;
            }
            Stmt::For(name, from, to, body) => {
                writeln!(f, "{pad}for {name} in {from}..{to} {{")?;
                write_block(f, body, depth + 1)?;
                writeln!(f, "{pad}}}")?;
            }
            Stmt::While(name, bound, cond, body) => {
                writeln!(f, "{pad}let mut {name} = 0 * len([0.0]);")?;
                writeln!(f, "{pad}while {name} < {bound} && {cond} {{\n{pad}    {name} += 1;")?;
                write_block(f, body, depth + 1)?;
                writeln!(f, "{pad}}}")?;
            }
            Stmt::Leave(word) => writeln!(f, "{pad}{word};")?,
            Stmt::Return(x) => writeln!(f, "{pad}return {x};")?,
        }
    }
    Ok(())
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, body) in self.helpers.iter().enumerate() {
            writeln!(f, "fn g{k}(x, n: int) -> real {{\n    {body}\n}}")?;
        }
        let kind = |(name, value): (&&str, &Value)| match value {
            Value::Real(_) => (*name).to_string(),
            Value::Int(_) => format!("{name}: int"),
            Value::Poison => String::new(),
            Value::Array(_) => format!("{name}: array"),
        };
        let params: Vec<String> = self.params.iter().zip(&self.args).map(kind).collect();
        writeln!(f, "fn f({}) -> real {{", params.join(", "))?;
        write_block(f, &self.body, 1)?;
        writeln!(f, "    {}\n}}", self.last)
    }
}
