//! Expressions read into normal form, instruction by instruction of the function that they are.

use std::collections::{HashMap, HashSet};

use num_rational::Ratio;
use num_traits::{Signed, ToPrimitive};

use super::{
    NormalError,
    atoms::Atom,
    sum::{Algebra, Q, Sum, ratio, whole},
};
use crate::{
    entity::{FuncId, Value},
    ir::{Function, InstData, Literal, Mixed, Number1, Number2, Op, Program, Real1, Real2, Terminator},
    trace::Expr,
};

type Result<T> = std::result::Result<T, NormalError>;

/// Radicands whose prime factors are looked for.
const MAX_RADICAND: i128 = 1 << 40;
/// Floats with at most so many binary places are fractions, as in expressions.
const PLACES: i32 = 30;

pub(super) fn normal(expr: &Expr, limit: usize) -> Result<Sum> {
    let line = Line::new(expr)?;
    let mut known = line.read(Algebra { limit }, |_| true, |v| v == line.result);
    known.remove(&line.result).unwrap_or_else(|| Err(unsupported("no result")))
}

pub(super) fn unsupported(what: impl Into<String>) -> NormalError {
    NormalError::Unsupported { what: what.into() }
}

/// An expression as a straight line of instructions.
pub(super) struct Line {
    program: Program,
    function: FuncId,
    names: Vec<String>,
    pub(super) result: Value,
}

impl Line {
    pub(super) fn new(expr: &Expr) -> Result<Line> {
        const NAME: &str = "f";
        let names = expr.symbols();
        let inputs: Vec<&str> = names.iter().map(String::as_str).collect();
        let program = expr.function(NAME, &inputs)?;
        let function = program.lookup(NAME).ok_or_else(|| unsupported("no result"))?;
        match program.functions[function].blocks.values().next().map(|b| &b.end) {
            Some(Terminator::Return(result)) => Ok(Line { result: *result, program, function, names }),
            _ => Err(unsupported("a branch")),
        }
    }

    fn function(&self) -> &Function {
        &self.program.functions[self.function]
    }

    /// The parameters with their names.
    pub(super) fn params(&self) -> impl Iterator<Item = (Value, &String)> {
        self.function().param_values().iter().copied().zip(&self.names)
    }

    pub(super) fn instructions(&self) -> impl DoubleEndedIterator<Item = (Value, &InstData)> {
        let function = self.function();
        let block = function.blocks.values().next();
        let list = block.map_or(&[][..], |b| b.insts.as_slice());
        list.iter().filter_map(move |i| {
            let inst = &function.insts[*i];
            Some((inst.result?, inst))
        })
    }

    /// All that the wanted values are computed from, themselves included.
    pub(super) fn needed(&self, wanted: &HashSet<Value>) -> HashSet<Value> {
        let mut needed = wanted.clone();
        for (value, inst) in self.instructions().rev() {
            if needed.contains(&value) {
                needed.extend(inst.args.iter().copied());
            }
        }
        needed
    }

    /// The normal forms of the values that are kept, by way of those that are wanted.
    pub(super) fn read(
        &self,
        algebra: Algebra,
        wanted: impl Fn(Value) -> bool,
        kept: impl Fn(Value) -> bool,
    ) -> HashMap<Value, Result<Sum>> {
        // Where a form is used for the last time it is moved.
        let mut uses: HashMap<Value, usize> = HashMap::new();
        for arg in self.instructions().filter(|i| wanted(i.0)).flat_map(|(_, inst)| &inst.args) {
            *uses.entry(*arg).or_default() += 1;
        }
        let symbols = self.params().map(|(v, name)| (v, Ok(Sum::atom(Atom::Symbol(name.clone())))));
        let mut known: HashMap<Value, Result<Sum>> = symbols.collect();
        for (value, inst) in self.instructions().filter(|i| wanted(i.0)) {
            let mut take = |a: &Value| {
                let left = uses.entry(*a).or_default();
                *left = left.saturating_sub(1);
                let form = if *left == 0 && !kept(*a) { known.remove(a) } else { known.get(a).cloned() };
                form.unwrap_or(Ok(Sum::zero()))
            };
            let args: Result<Vec<Sum>> = inst.args.iter().map(&mut take).collect();
            let form = args.and_then(|args| algebra.fitting(algebra.apply(inst.op, args)?));
            known.insert(value, form);
        }
        known
    }
}

impl Algebra {
    /// An operation on normal forms.
    fn apply(self, op: Op, mut args: Vec<Sum>) -> Result<Sum> {
        if let (Op::Number2(f @ (Number2::Add | Number2::Sub)), [x, y]) = (op, args.as_mut_slice()) {
            let y = if f == Number2::Sub { y.negated() } else { std::mem::take(y) };
            return self.sum(std::mem::take(x), y);
        }
        match (op, args.as_slice()) {
            (Op::Real(Literal(x)), []) => float(x),
            (Op::Int(n), []) => Ok(Sum::constant(whole(n))),
            (Op::Number1(f), [x]) => self.function(f, x),
            (Op::Number2(Number2::Mul | Number2::Scale), [x, y]) => self.times(x, y),
            (Op::Number2(Number2::Guard), [x, _]) => Ok(x.clone()),
            (Op::Number2(Number2::Div) | Op::Real2(Real2::Ratio), [x, y]) => self.times(x, &self.inverse(y)?),
            (Op::Number2(Number2::Pow), [x, y]) => match y.fraction() {
                Some(q) if q.is_integer() && q.numer().to_i32().is_some() => {
                    self.power(x, q.numer().to_i32().unwrap_or_default())
                }
                Some(q) if q == ratio(1, 2) => self.function(Number1::Sqrt, x),
                _ => Ok(Sum::atom(Atom::Call("pow", vec![x.clone(), y.clone()]))),
            },
            (Op::Mixed(Mixed::FromInt), [x]) => Ok(x.clone()),
            (Op::Mixed(Mixed::PowiReal), [x, n]) => {
                let n = n.fraction().and_then(|q| q.numer().to_i32());
                self.power(x, n.ok_or(NormalError::Exponent)?)
            }
            (Op::Real1(Real1::Abs), [x]) if is_negative(x) => self.apply(op, vec![x.negated()]),
            (Op::Real1(f), [x]) => Ok(Sum::atom(Atom::Call(f.name(), vec![x.clone()]))),
            (Op::Real2(f), [x, y]) => Ok(Sum::atom(Atom::Call(f.name(), vec![x.clone(), y.clone()]))),
            (op, _) => Err(unsupported(format!("`{op}`"))),
        }
    }

    fn function(self, f: Number1, x: &Sum) -> Result<Sum> {
        use Number1 as F;
        let pi = |n, d| Sum::atom(Atom::Pi).times_fraction(&ratio(n, d));
        let at = x.fraction().filter(Ratio::is_integer).and_then(|q| q.numer().to_i64());
        match (f, at) {
            (F::Neg, _) => Ok(x.negated()),
            (F::Recip, _) => self.inverse(x),
            (F::Sin, _) => self.sin(x),
            (F::Cos, _) => self.cos(x),
            (F::Tan, _) => self.times(&self.sin(x)?, &self.inverse(&self.cos(x)?)?),
            (F::Sqrt, _) => self.root(x),
            (F::Exp, Some(0)) | (F::Cosh, Some(0)) | (F::Cbrt, Some(1)) => Ok(Sum::one()),
            (F::Ln | F::Log2 | F::Log10 | F::Acosh, Some(1)) => Ok(Sum::zero()),
            (F::Acos, Some(-1)) => pi(1, 1),
            (F::Acos, Some(0)) | (F::Asin, Some(1)) => pi(1, 2),
            (F::Atan, Some(1)) => pi(1, 4),
            (
                F::Cbrt | F::ExpM1 | F::Ln1p | F::Sinh | F::Tanh | F::Asin | F::Atan | F::Asinh | F::Atanh,
                Some(0),
            ) => Ok(Sum::zero()),
            (F::Acos, Some(1)) => Ok(Sum::zero()),
            (F::Ln, _) => Ok(match x.terms().first_key_value() {
                Some((product, q)) if x.terms().len() == 1 && *q == whole(1) => {
                    match product.powers.as_slice() {
                        [(Atom::Call("exp", args), 1)] if product.wave == super::atoms::Wave::None => {
                            args[0].clone()
                        }
                        _ => Sum::atom(Atom::Call("ln", vec![x.clone()])),
                    }
                }
                _ => Sum::atom(Atom::Call("ln", vec![x.clone()])),
            }),
            (F::Cbrt | F::Sinh | F::Tanh | F::Asin | F::Atan | F::Asinh | F::Atanh, _) if is_negative(x) => {
                Ok(self.function(f, &x.negated())?.negated())
            }
            (F::Cosh, _) if is_negative(x) => self.function(f, &x.negated()),
            _ => Ok(Sum::atom(Atom::Call(f.name(), vec![x.clone()]))),
        }
    }

    /// `sqrt(q u) = sqrt(q) sqrt(u)` for a positive fraction q.
    fn root(self, x: &Sum) -> Result<Sum> {
        if x.is_zero() {
            return Ok(Sum::zero());
        }
        let q = x.content().abs();
        let rest = x.times_fraction(&q.recip())?;
        let outside = match root_of(&q) {
            Some(root) => root,
            None => return Ok(Sum::atom(Atom::Call("sqrt", vec![x.clone()]))),
        };
        if rest.fraction() == Some(whole(1)) {
            return Ok(outside);
        }
        self.times(&outside, &Sum::atom(Atom::Call("sqrt", vec![rest])))
    }
}

/// Whether the first coefficient is below 0: the argument of an odd or even function is turned then.
fn is_negative(x: &Sum) -> bool {
    x.lead().is_some_and(|(_, q)| q.is_negative())
}

/// `sqrt(n/d) = sqrt(n d) / d` as a fraction and roots of primes.
fn root_of(q: &Q) -> Option<Sum> {
    let mut left = (q.numer() * q.denom()).to_i128().filter(|x| *x <= MAX_RADICAND)?;
    let (mut outside, mut powers) = (1i128, Vec::new());
    let mut d = 2;
    while left > 1 {
        if d * d > left {
            d = left;
        }
        let mut e = 0;
        while left % d == 0 {
            left /= d;
            e += 1;
        }
        outside *= d.pow(e / 2);
        if e % 2 == 1 {
            powers.push((Atom::Root(d), 1));
        }
        d += 1;
    }
    let product = super::atoms::Product { powers, wave: super::atoms::Wave::None };
    Some(Sum::term(product, Q::new(outside.into(), q.denom().clone())))
}

/// A float: a fraction if it has few binary places.
fn float(x: f64) -> Result<Sum> {
    if !x.is_finite() {
        return Err(unsupported(format!("the number {x}")));
    }
    let scaled = x * f64::from(1 << PLACES);
    let binary = if scaled.fract() == 0.0 && scaled.abs() < 9e15 { scaled.to_i64() } else { None };
    Ok(match binary {
        Some(n) => Sum::constant(ratio(n, 1 << PLACES)),
        None if x.fract() == 0.0 && x.abs() < 1e30 => Sum::constant(whole(x.to_i128().unwrap_or_default())),
        None if x < 0.0 => Sum::atom(Atom::Float((-x).to_bits())).negated(),
        None => Sum::atom(Atom::Float(x.to_bits())),
    })
}
