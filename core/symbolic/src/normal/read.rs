//! Expressions read into normal form, instruction by instruction of the function that they are.

use std::collections::{HashMap, HashSet};

use num_traits::ToPrimitive;

use super::{
    NormalError, NormalResult,
    atoms::Atom,
    functions::is_negative,
    sum::{Algebra, NormalSum, ratio, whole},
};
use crate::{
    entity::{FuncId, Value},
    ir::{Function, InstData, Literal, Mixed, Number2, Op, Program, Real1, Real2, Terminator},
    trace::Expr,
};

/// Number of binary places up to which floats are fractions, as in expressions.
const PLACES: i32 = 30;

pub(super) fn normal(expr: &Expr, limit: usize) -> NormalResult<NormalSum> {
    let line = StraightLineProgram::new(expr)?;
    let mut known = line.read(Algebra { limit }, |_| true, |v| v == line.result);
    known.remove(&line.result).unwrap_or_else(|| Err(unsupported("no result")))
}

pub(super) fn unsupported(what: impl Into<String>) -> NormalError {
    NormalError::Unsupported { what: what.into() }
}

/// Expression as a straight-line program.
pub(super) struct StraightLineProgram {
    program: Program,
    function: FuncId,
    names: Vec<String>,
    pub(super) result: Value,
}

impl StraightLineProgram {
    pub(super) fn new(expr: &Expr) -> NormalResult<StraightLineProgram> {
        const NAME: &str = "f";
        let names = expr.symbols();
        let inputs: Vec<&str> = names.iter().map(String::as_str).collect();
        let program = expr.function(NAME, &inputs)?;
        let function = program.lookup(NAME).ok_or_else(|| unsupported("no result"))?;
        match program.functions[function].blocks.values().next().map(|b| &b.end) {
            Some(Terminator::Return(result)) => {
                Ok(StraightLineProgram { result: *result, program, function, names })
            }
            _ => Err(unsupported("a branch")),
        }
    }

    fn function(&self) -> &Function {
        &self.program.functions[self.function]
    }

    /// Returns the parameters with their names.
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

    /// Returns all that the wanted values are computed from, themselves included.
    pub(super) fn needed(&self, wanted: &HashSet<Value>) -> HashSet<Value> {
        let mut needed = wanted.clone();
        for (value, inst) in self.instructions().rev() {
            if needed.contains(&value) {
                needed.extend(inst.args.iter().copied());
            }
        }
        needed
    }

    /// Returns the normal forms of the values that are kept, by way of those that are wanted.
    pub(super) fn read(
        &self,
        algebra: Algebra,
        wanted: impl Fn(Value) -> bool,
        kept: impl Fn(Value) -> bool,
    ) -> HashMap<Value, NormalResult<NormalSum>> {
        // A form is moved at its last use.
        let mut uses: HashMap<Value, usize> = HashMap::new();
        for arg in self.instructions().filter(|i| wanted(i.0)).flat_map(|(_, inst)| &inst.args) {
            *uses.entry(*arg).or_default() += 1;
        }
        let symbols =
            self.params().map(|(v, name)| (v, Ok(NormalSum::atom(Atom::Symbol(name.clone())))));
        let mut known: HashMap<Value, NormalResult<NormalSum>> = symbols.collect();
        for (value, inst) in self.instructions().filter(|i| wanted(i.0)) {
            let mut take = |a: &Value| {
                let left = uses.entry(*a).or_default();
                *left = left.saturating_sub(1);
                let form =
                    if *left == 0 && !kept(*a) { known.remove(a) } else { known.get(a).cloned() };
                form.unwrap_or(Ok(NormalSum::zero()))
            };
            let args: NormalResult<Vec<NormalSum>> = inst.args.iter().map(&mut take).collect();
            let form = args.and_then(|args| algebra.fitting(algebra.apply(inst.op, args)?));
            known.insert(value, form);
        }
        known
    }
}

impl Algebra {
    /// Applies an operation to normal forms.
    fn apply(self, op: Op, mut args: Vec<NormalSum>) -> NormalResult<NormalSum> {
        if let (Op::Number2(f @ (Number2::Add | Number2::Sub)), [x, y]) = (op, args.as_mut_slice())
        {
            let y = if f == Number2::Sub { y.negated() } else { std::mem::take(y) };
            return self.sum(std::mem::take(x), y);
        }
        match (op, args.as_slice()) {
            (Op::Real(Literal(x)), []) => float(x),
            (Op::Int(n), []) => Ok(NormalSum::constant(whole(n))),
            (Op::Number1(f), [x]) => self.function(f, x),
            (Op::Number2(Number2::Mul | Number2::Scale), [x, y]) => self.times(x, y),
            (Op::Number2(Number2::Guard), [x, _]) => Ok(x.clone()),
            (Op::Number2(Number2::Div) | Op::Real2(Real2::Ratio), [x, y]) => {
                self.times(x, &self.inverse(y)?)
            }
            (Op::Number2(Number2::Pow), [x, y]) => match y.fraction() {
                Some(q) if q.is_integer() && q.numer().to_i32().is_some() => {
                    self.power(x, q.numer().to_i32().unwrap_or_default())
                }
                _ => self.general_power(x, y),
            },
            (Op::Mixed(Mixed::FromInt), [x]) => Ok(x.clone()),
            (Op::Mixed(Mixed::PowiReal), [x, n]) => {
                let n = n.fraction().and_then(|q| q.numer().to_i32());
                self.power(x, n.ok_or(NormalError::Exponent)?)
            }
            (Op::Real1(Real1::Abs), [x]) => self.abs(x),
            (Op::Real1(Real1::Erf), [x]) if is_negative(x) => {
                Ok(self.apply(op, vec![x.negated()])?.negated())
            }
            (Op::Real1(f), [x]) => Ok(NormalSum::atom(Atom::Call(f.name(), vec![x.clone()]))),
            (Op::Real2(f), [x, y]) => {
                Ok(NormalSum::atom(Atom::Call(f.name(), vec![x.clone(), y.clone()])))
            }
            (op, _) => Err(unsupported(format!("`{op}`"))),
        }
    }
}

/// Returns a float: a fraction if it has few binary places.
pub(super) fn float(x: f64) -> NormalResult<NormalSum> {
    if !x.is_finite() {
        return Err(unsupported(format!("the number {x}")));
    }
    let scaled = x * f64::from(1 << PLACES);
    let binary = if scaled.fract() == 0.0 && scaled.abs() < 9e15 { scaled.to_i64() } else { None };
    Ok(match binary {
        Some(n) => NormalSum::constant(ratio(n, 1 << PLACES)),
        None if x.fract() == 0.0 && x.abs() < 1e30 => {
            NormalSum::constant(whole(x.to_i128().unwrap_or_default()))
        }
        None if x < 0.0 => NormalSum::atom(Atom::Float((-x).to_bits())).negated(),
        None => NormalSum::atom(Atom::Float(x.to_bits())),
    })
}
