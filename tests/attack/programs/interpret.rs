//! Meaning of programs: an interpreter of their syntax trees on dual numbers.
//!
//! Derivatives at kinks and edges are those of the table in `core/ir/src/ir/table.rs`: `abs` has 0
//! at 0, `min` and `max` give all to the first at a tie. Where a slope is infinite there is no
//! derivative here.

use std::{cell::Cell, collections::HashMap};

use super::draw::{Any, Array, Cond, Drawn, Int, Real, Stmt};

/// A number and its derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dual {
    pub(crate) re: f64,
    pub(crate) d: f64,
    /// By how much `d` may be off, relative to the unit of rounding: the sizes of what cancelled on
    /// the way.
    off: f64,
}

impl Dual {
    /// A constant.
    pub(crate) fn constant(re: f64) -> Dual {
        Dual { re, d: 0.0, off: 0.0 }
    }
    /// `y` with the slopes by two operands.
    fn chain(y: f64, parts: &[(f64, Dual)]) -> Dual {
        // An infinite slope of a constant: reverse mode cannot know that it is one.
        let part =
            |&(slope, x): &(f64, Dual)| if slope.is_finite() { slope * x.d } else { f64::NAN };
        let off = |&(slope, x): &(f64, Dual)| (slope * x.d).abs() + (slope * x.off).abs();
        let new = Dual { re: y, d: parts.iter().map(part).sum(), off: parts.iter().map(off).sum() };
        if !(new.re.is_finite() && new.d.is_finite()) {
            see(|seen| seen.undefined = true);
        }
        new
    }
    /// True if the derivative is known up to this, relative to numbers above 1.
    pub(crate) fn is_known_up_to(&self, tolerance: f64) -> bool {
        self.d.is_finite() && self.off * f64::EPSILON <= tolerance * self.d.abs().max(1.0)
    }
}

/// Events of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// A number or a slope that is infinite or undefined. Where the result does not depend on it,
    /// an engine may say 0 or NaN.
    pub(crate) undefined: bool,
    /// A kink or a jump, at the very point: differences see its two sides, and derivatives of
    /// derivatives none of them.
    pub(crate) edge: bool,
}

thread_local! {
    static SEEN: Cell<Seen> = const { Cell::new(Seen { undefined: false, edge: false }) };
}

fn see(what: impl FnOnce(&mut Seen)) {
    let mut seen = SEEN.get();
    what(&mut seen);
    SEEN.set(seen);
}

fn see_edge(at: bool) {
    if at {
        see(|seen| seen.edge = true);
    }
}

/// A value of a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Real(Dual),
    Int(i64),
    Array(Vec<Dual>),
    /// Result of a failure.
    Poison,
}

impl Value {
    /// The numbers without their derivatives.
    pub(crate) fn primal(&self) -> Vec<f64> {
        match self {
            Value::Real(x) => vec![x.re],
            Value::Int(n) => vec![*n as f64],
            Value::Array(xs) => xs.iter().map(|x| x.re).collect(),
            Value::Poison => Vec::new(),
        }
    }
    /// True if all of them are finite, and not so large that rounding is.
    pub(crate) fn is_finite(&self) -> bool {
        self.primal().iter().all(|x| x.is_finite() && x.abs() < 1e9)
    }
    /// True if all slopes are finite: where a constant has none, the sign of a zero or an infinity
    /// decided on the way.
    pub(crate) fn is_smooth(&self) -> bool {
        match self {
            Value::Real(x) => x.d.is_finite(),
            Value::Array(xs) => xs.iter().all(|x| x.d.is_finite()),
            Value::Int(_) | Value::Poison => true,
        }
    }
}

/// Reason why a program has no value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Failure {
    /// An index out of range, a shape that does not fit, an integer that overflows.
    Fails,
    /// As that, where the program would decide what to do next, or asks for a length alone: nobody
    /// needs to look.
    Unclear,
    /// It takes too long here.
    Stops,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Value(Value),
    /// A value, and something failed that it does not depend on.
    Dead(Value),
    Failed,
    /// A failure, or what comes after it if nothing checks.
    Unclear,
    Stopped,
}

/// Which real number among the arguments has the tangent 1: an argument, and an element of it.
pub(crate) type Place = (usize, usize);

/// All of them.
pub(crate) fn places(drawn: &Drawn) -> Vec<Place> {
    let of = |(k, value): (usize, &Value)| match value {
        Value::Real(_) => vec![(k, 0)],
        Value::Int(_) | Value::Poison => Vec::new(),
        Value::Array(xs) => (0..xs.len()).map(|i| (k, i)).collect(),
    };
    drawn.args.iter().enumerate().flat_map(of).collect()
}

/// Runs a program, with a tangent at a place.
pub(crate) fn run(drawn: &Drawn, at: Option<Place>) -> Outcome {
    run_and_see(drawn, at).0
}

/// That, and what the run came by.
pub(crate) fn run_and_see(drawn: &Drawn, at: Option<Place>) -> (Outcome, Seen) {
    SEEN.set(Seen::default());
    let outcome = outcome(drawn, at);
    (outcome, SEEN.get())
}

fn outcome(drawn: &Drawn, at: Option<Place>) -> Outcome {
    let mut args = drawn.args.clone();
    if let Some((k, i)) = at {
        match &mut args[k] {
            Value::Real(x) => x.d = 1.0,
            Value::Array(xs) => xs[i].d = 1.0,
            Value::Int(_) | Value::Poison => {}
        }
    }
    let names = drawn.params.iter().map(|name| (*name).to_owned());
    let mut frame = Frame {
        helpers: &drawn.helpers,
        values: names.zip(args).collect(),
        steps: 100_000,
        failed: false,
        decided_beyond: false,
    };
    let value = frame.block(&drawn.body).and_then(|flow| match flow {
        Flow::Return(x) => Ok(x),
        _ => frame.real(&drawn.last),
    });
    let value = value.map(|x| if frame.decided_beyond { Dual { d: f64::NAN, ..x } } else { x });
    match value {
        Ok(x) if frame.failed => Outcome::Dead(Value::Real(x)),
        Ok(x) => Outcome::Value(Value::Real(x)),
        Err(Failure::Stops) => Outcome::Stopped,
        Err(Failure::Fails) => Outcome::Failed,
        Err(Failure::Unclear) => Outcome::Unclear,
    }
}

enum Flow {
    On,
    Break,
    Continue,
    Return(Dual),
}

struct Frame<'a> {
    helpers: &'a [Real],
    values: HashMap<String, Value>,
    steps: usize,
    /// True if something failed whose result is not looked at so far.
    failed: bool,
    /// True if an infinity or a NaN has decided what to do: there are no slopes to speak of then.
    decided_beyond: bool,
}

type Run<T> = Result<T, Failure>;

/// Longest array that is made here.
const MOST: i64 = 10_000;

impl Frame<'_> {
    fn step(&mut self) -> Run<()> {
        self.steps = self.steps.checked_sub(1).ok_or(Failure::Stops)?;
        Ok(())
    }

    fn block(&mut self, stmts: &[Stmt]) -> Run<Flow> {
        for stmt in stmts {
            self.step()?;
            match self.stmt(stmt)? {
                Flow::On => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::On)
    }

    fn stmt(&mut self, stmt: &Stmt) -> Run<Flow> {
        match stmt {
            Stmt::Let(name, value) => {
                let value = self.any(value);
                self.store(name, value)?;
            }
            Stmt::Assign(name, op, value) => {
                let value = self.assigned(name, op, value);
                self.store(name, value)?;
            }
            Stmt::Element(name, at, op, value) => {
                let value = self.replaced(name, at, op, value);
                self.store(name, value)?;
            }
            Stmt::If(cond, yes, no) => {
                let holds = self.cond(cond).map_err(unclear)?;
                return if holds { self.block(yes) } else { self.block(no) };
            }
            Stmt::For(name, from, to, body) => {
                let (from, to) = (self.int(from).map_err(unclear)?, self.int(to).map_err(unclear)?);
                for i in from..to {
                    self.step()?;
                    self.values.insert(name.clone(), Value::Int(i));
                    match self.block(body)? {
                        Flow::Break => break,
                        Flow::Return(x) => return Ok(Flow::Return(x)),
                        Flow::On | Flow::Continue => {}
                    }
                }
            }
            Stmt::While(name, bound, cond, body) => {
                self.values.insert(name.clone(), Value::Int(0));
                loop {
                    self.step()?;
                    let Some(Value::Int(count)) = self.values.get(name).cloned() else {
                        return Err(Failure::Stops);
                    };
                    if count >= *bound || !self.cond(cond).map_err(unclear)? {
                        break;
                    }
                    self.values.insert(name.clone(), Value::Int(count + 1));
                    match self.block(body)? {
                        Flow::Break => break,
                        Flow::Return(x) => return Ok(Flow::Return(x)),
                        Flow::On | Flow::Continue => {}
                    }
                }
            }
            Stmt::Leave(word) => {
                return Ok(if *word == "break" { Flow::Break } else { Flow::Continue });
            }
            Stmt::Return(x) => return self.real(x).map(Flow::Return),
        }
        Ok(Flow::On)
    }

    /// A failure is kept for those who look at the variable.
    fn store(&mut self, name: &str, value: Run<Value>) -> Run<()> {
        let value = match value {
            Err(Failure::Fails) => {
                self.failed = true;
                Value::Poison
            }
            other => other?,
        };
        self.values.insert(name.to_owned(), value);
        Ok(())
    }

    /// A value that the result does not depend on: its failure may go with it.
    fn unused(&mut self, value: Run<Dual>) -> Run<Option<Dual>> {
        match value {
            Err(Failure::Fails) => {
                self.failed = true;
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// The value of `name op value`.
    fn assigned(&mut self, name: &str, op: &str, value: &Any) -> Run<Value> {
        let right = self.any(value)?;
        let op = op.trim_end_matches('=');
        Ok(match (self.read(name)?, right) {
            (_, right) if op.is_empty() => right,
            (Value::Poison, _) => return Err(Failure::Fails),
            (Value::Real(a), Value::Real(b)) => Value::Real(infix(op, a, b)),
            (Value::Int(a), Value::Int(b)) => Value::Int(infix_int(op, a, b)?),
            (Value::Array(a), Value::Array(b)) => Value::Array(elementwise(op, &a, &b)?),
            _ => return Err(Failure::Stops),
        })
    }

    /// An array with an element replaced. The right side runs before its place.
    fn replaced(&mut self, name: &str, at: &Int, op: &str, value: &Real) -> Run<Value> {
        let (x, at) = (self.real(value)?, self.int(at)?);
        let op = op.trim_end_matches('=');
        let Value::Array(mut xs) = self.read(name)? else { return Err(Failure::Fails) };
        let place = usize::try_from(at).ok().and_then(|at| xs.get_mut(at)).ok_or(Failure::Fails)?;
        *place = if op.is_empty() { x } else { infix(op, *place, x) };
        Ok(Value::Array(xs))
    }

    fn read(&self, name: &str) -> Run<Value> {
        self.values.get(name).cloned().ok_or(Failure::Stops)
    }

    fn any(&mut self, any: &Any) -> Run<Value> {
        Ok(match any {
            Any::Real(x) => Value::Real(self.real(x)?),
            Any::Int(n) => Value::Int(self.int(n)?),
            Any::Array(a) => Value::Array(self.array(a)?),
        })
    }

    fn real(&mut self, x: &Real) -> Run<Dual> {
        self.step()?;
        Ok(match x {
            Real::Lit(x) => Dual::constant(*x),
            Real::Var(name) => match self.read(name)? {
                Value::Real(x) => x,
                Value::Poison => return Err(Failure::Fails),
                _ => return Err(Failure::Stops),
            },
            Real::Neg(x) => {
                let x = self.real(x)?;
                Dual { re: -x.re, d: -x.d, ..x }
            }
            Real::Infix(op, a, b) => infix(op, self.real(a)?, self.real(b)?),
            Real::Fun(name, x) => function(name, self.real(x)?),
            Real::Fun2(name, a, b) => function2(name, self.real(a)?, self.real(b)?),
            Real::Powi(x, n) => {
                let (x, n) = (self.real(x), self.int(n)?);
                // 1, whatever the base is.
                let x = if n == 0 { self.unused(x)?.unwrap_or(Dual::constant(1.0)) } else { x? };
                powi(x, n)
            }
            Real::OfInt(n) => Dual::constant(self.int(n)? as f64),
            Real::At(name, at) => {
                let at = self.int(at)?;
                match self.read(name)? {
                    Value::Array(xs) => usize::try_from(at)
                        .ok()
                        .and_then(|at| xs.get(at))
                        .copied()
                        .ok_or(Failure::Fails)?,
                    Value::Poison => return Err(Failure::Fails),
                    _ => return Err(Failure::Stops),
                }
            }
            Real::Sum(a) => total(self.array(a)?),
            Real::Dot(a, b) => {
                let (a, b) = (self.array(a)?, self.array(b)?);
                if a.len() != b.len() {
                    return Err(Failure::Fails);
                }
                total(elementwise("*", &a, &b)?)
            }
            Real::If(c, a, b) => {
                if self.cond(c).map_err(unclear)? {
                    self.real(a)?
                } else {
                    self.real(b)?
                }
            }
            Real::Select(c, a, b) => {
                let (c, a, b) = (self.cond(c), self.real(a), self.real(b));
                // Between two that are alike no decision is needed.
                let alike = matches!((&a, &b), (Ok(a), Ok(b)) if a.re.to_bits() == b.re.to_bits());
                let c = c.map_err(|failure| if alike { unclear(failure) } else { failure })?;
                let (chosen, other) = if c { (a, b) } else { (b, a) };
                self.unused(other)?;
                chosen?
            }
            Real::Call(k, x, n) => {
                let (x, n) = (self.real(x).map(Value::Real), self.int(n).map(Value::Int));
                let outer = std::mem::take(&mut self.values);
                // A helper need not look at its arguments.
                self.store("x", x)?;
                self.store("n", n)?;
                let body = self.helpers.get(*k).ok_or(Failure::Stops)?;
                let value = self.real(body);
                self.values = outer;
                value?
            }
        })
    }

    fn int(&mut self, n: &Int) -> Run<i64> {
        Ok(match n {
            Int::Lit(n) => *n,
            Int::Var(name) => match self.read(name)? {
                Value::Int(n) => n,
                Value::Poison => return Err(Failure::Fails),
                _ => return Err(Failure::Stops),
            },
            Int::Infix(op, a, b) => infix_int(op, self.int(a)?, self.int(b)?)?,
            Int::Fun2(name, a, b) => {
                let (a, b) = (self.int(a)?, self.int(b)?);
                if *name == "min" { a.min(b) } else { a.max(b) }
            }
            Int::Len(a) => {
                i64::try_from(self.array(a).map_err(unclear)?.len()).map_err(|_| Failure::Stops)?
            }
        })
    }

    fn array(&mut self, a: &Array) -> Run<Vec<Dual>> {
        self.step()?;
        Ok(match a {
            Array::Var(name) => match self.read(name)? {
                Value::Array(xs) => xs,
                Value::Poison => return Err(Failure::Fails),
                _ => return Err(Failure::Stops),
            },
            // An engine that reads another element need not look at this one.
            Array::List(items) => {
                items.iter().map(|x| self.real(x)).collect::<Run<_>>().map_err(unclear)?
            }
            Array::Infix(op, a, b) => {
                let (a, b) = (self.array(a)?, self.array(b)?);
                elementwise(op, &a, &b)?
            }
            Array::Scaled(op, x, a) => {
                let (x, a) = (self.real(x)?, self.array(a)?);
                a.into_iter().map(|y| infix(op, x, y)).collect()
            }
            Array::Fun(name, a) => self.array(a)?.into_iter().map(|x| function(name, x)).collect(),
            Array::Full(x, n) => {
                let (x, n) = (self.real(x)?, self.int(n)?);
                if n > MOST {
                    return Err(Failure::Stops);
                }
                vec![x; usize::try_from(n).map_err(|_| Failure::Fails)?]
            }
            Array::Slice(a, start, len) => {
                let (a, start, len) = (self.array(a)?, self.int(start)?, self.int(len)?);
                let range = usize::try_from(start).ok().zip(usize::try_from(len).ok());
                let range = range.and_then(|(start, len)| Some(start..start.checked_add(len)?));
                range.and_then(|range| a.get(range)).ok_or(Failure::Fails)?.to_vec()
            }
            Array::Concat(a, b) => {
                let parts = self.array(a).and_then(|a| Ok([a, self.array(b)?]));
                parts.map_err(unclear)?.concat()
            }
            Array::Take(a, places) => {
                let a = self.array(a)?;
                let mut taken = Vec::new();
                for place in places {
                    let place = usize::try_from(self.int(place)?).ok();
                    taken.push(*place.and_then(|place| a.get(place)).ok_or(Failure::Fails)?);
                }
                taken
            }
        })
    }

    fn cond(&mut self, cond: &Cond) -> Run<bool> {
        Ok(match cond {
            Cond::Reals(op, a, b) => {
                let literal = matches!((a, b), (Real::Lit(_), Real::Lit(_)));
                let (a, b) = (self.real(a)?.re, self.real(b)?.re);
                self.decided_beyond |= !(a.is_finite() && b.is_finite());
                see_edge(a == b && !literal);
                holds(op, a.partial_cmp(&b))
            }
            Cond::Ints(op, a, b) => {
                let (a, b) = (self.int(a)?, self.int(b)?);
                holds(op, Some(a.cmp(&b)))
            }
            Cond::Both("&&", a, b) => self.cond(a)? && self.cond(b)?,
            Cond::Both(_, a, b) => self.cond(a)? || self.cond(b)?,
            Cond::Not(c) => !self.cond(c)?,
        })
    }
}

fn unclear(failure: Failure) -> Failure {
    if failure == Failure::Fails { Failure::Unclear } else { failure }
}

fn holds(op: &str, order: Option<std::cmp::Ordering>) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    match op {
        "<" => order == Some(Less),
        "<=" => matches!(order, Some(Less | Equal)),
        ">" => order == Some(Greater),
        ">=" => matches!(order, Some(Greater | Equal)),
        "==" => order == Some(Equal),
        _ => order != Some(Equal),
    }
}

fn infix(op: &str, a: Dual, b: Dual) -> Dual {
    let (x, y) = (a.re, b.re);
    match op {
        "+" => Dual::chain(x + y, &[(1.0, a), (1.0, b)]),
        "-" => Dual::chain(x - y, &[(1.0, a), (-1.0, b)]),
        "*" => Dual::chain(x * y, &[(y, a), (x, b)]),
        _ => Dual::chain(x / y, &[(1.0 / y, a), (-(x / y / y), b)]),
    }
}

fn infix_int(op: &str, a: i64, b: i64) -> Run<i64> {
    match op {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" => a.checked_div(b),
        _ => a.checked_rem(b),
    }
    .ok_or(Failure::Fails)
}

/// Equal lengths, or one of them 1.
fn elementwise(op: &str, a: &[Dual], b: &[Dual]) -> Run<Vec<Dual>> {
    let len = match (a.len(), b.len()) {
        (n, m) if n == m => n,
        (1, n) | (n, 1) => n,
        _ => return Err(Failure::Fails),
    };
    let of = |xs: &[Dual], i: usize| xs[if xs.len() == 1 { 0 } else { i }];
    Ok((0..len).map(|i| infix(op, of(a, i), of(b, i))).collect())
}

fn total(xs: Vec<Dual>) -> Dual {
    xs.into_iter().fold(Dual::constant(0.0), |sum, x| infix("+", sum, x))
}

fn function(name: &str, a: Dual) -> Dual {
    let x = a.re;
    see_edge(match name {
        "abs" | "sign" => x == 0.0,
        "floor" => x == x.floor(),
        _ => false,
    });
    let (y, slope) = match name {
        "sin" => (x.sin(), x.cos()),
        "cos" => (x.cos(), -x.sin()),
        "exp" => (x.exp(), x.exp()),
        "tanh" => (x.tanh(), 1.0 / x.cosh() / x.cosh()),
        "atan" => (x.atan(), 1.0 / (1.0 + x * x)),
        "sqrt" => (x.sqrt(), 0.5 / x.sqrt()),
        "ln" => (x.ln(), 1.0 / x),
        "abs" => (x.abs(), sign(x)),
        "asinh" => (x.asinh(), 1.0 / (1.0 + x * x).sqrt()),
        "exp_m1" => (x.exp_m1(), x.exp()),
        "ln_1p" => (x.ln_1p(), 1.0 / (1.0 + x)),
        "sign" => (sign(x), 0.0),
        "floor" => (x.floor(), 0.0),
        "recip" => (1.0 / x, -1.0 / x / x),
        "detach" => (x, 0.0),
        _ => (x.cbrt(), 1.0 / (3.0 * x.cbrt() * x.cbrt())),
    };
    Dual::chain(y, &[(slope, a)])
}

fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x * 0.0
    }
}

fn function2(name: &str, a: Dual, b: Dual) -> Dual {
    let (x, y) = (a.re, b.re);
    match name {
        "min" | "max" => {
            let first = if name == "min" { x <= y } else { x >= y };
            see_edge(x == y);
            if x.is_nan() || y.is_nan() {
                Dual::chain(f64::NAN, &[(f64::NAN, a)])
            } else if first {
                a
            } else {
                b
            }
        }
        "hypot" => {
            let h = x.hypot(y);
            see_edge(h == 0.0);
            if h == 0.0 { Dual::constant(0.0) } else { Dual::chain(h, &[(x / h, a), (y / h, b)]) }
        }
        "atan2" => {
            let h = x.hypot(y);
            Dual::chain(x.atan2(y), &[(y / h / h, a), (-(x / h / h), b)])
        }
        "pow" => {
            let p = x.powf(y);
            let by_x = if y == 0.0 { 0.0 } else { y * x.powf(y - 1.0) };
            // Of a negative base there are no powers beside the whole ones.
            let by_y = if p == 0.0 && x >= 0.0 { 0.0 } else { p * x.ln() };
            Dual::chain(p, &[(by_x, a), (by_y, b)])
        }
        _ => Dual::chain(x % y, &[(1.0, a), (-(x / y).trunc(), b)]),
    }
}

fn powi(a: Dual, n: i64) -> Dual {
    // Large odd numbers become even ones as floats.
    let large =
        |n: i64| a.re.abs().powf(n as f64) * if n % 2 == 0 { 1.0 } else { 1f64.copysign(a.re) };
    let power = |n: i64| i32::try_from(n).map_or_else(|_| large(n), |n| a.re.powi(n));
    let slope = if n == 0 { 0.0 } else { n as f64 * power(n.saturating_sub(1)) };
    Dual::chain(power(n), &[(slope, a)])
}
