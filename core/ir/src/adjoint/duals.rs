//! Rules on numbers that carry derivatives: dual numbers, of any order, and numbers with
//! uncertainty.
//!
//! On a dual number, the body of a function computes the derivative of the body. If a function has
//! a rule, its derivative is another. A dual number is `x = v + b` with a plain `v` and a nilpotent
//! `b`: products of more than n infinitesimals are zero, n being its order. So
//!
//! ```text
//! f(v + b) = f(v) + integral of f'(v + t b) b  dt,  t from 0 to 1
//! ```
//!
//! where the integrand is a polynomial in t of degree n - 1, which Gauss's rule of `ceil(n/2)`
//! nodes integrates exactly, and where `f'(v + t b)` is needed to order n - 1 alone, since `b` is
//! of order one itself. So each function with a rule, and each that calls one, has a version for
//! every order: that of order 0 is its body, on plain numbers. For dual numbers of order 1 this is
//! `f(v) + f'(v) b`, which costs as much as the pushforward.

use std::{collections::HashMap, f64::consts::PI};

use crate::{
    entity::{FuncId, Value},
    ir::{
        CustomRule, Element, Function, FunctionBuilder, Kind, Mixed, Number2, Op, Program, Real1,
    },
};

use super::{
    error::{DiffError, check},
    forward::forward,
    leaves::{close, make_whole, open},
};

/// Returns a program with a version of the function for numbers that carry derivatives up to an
/// order ([`Real::ORDER`](crate::scalar::Real::ORDER)), in which rules are applied. `None` if that
/// is the function itself, because no function that it reaches has a rule. It is only for running:
/// its derivatives are those that the numbers carry.
///
/// ```
/// use ketgrad_core::{adjoint::on_duals, exec::{Bytecode, Datum, Executable, Limits, Machine, NoHost}, text::parse_program};
/// use num_dual::Dual64;
///
/// // The square root by Newton's steps, which a dual number would have no derivative of: they start and end at constants.
/// let source = "rule root(a) { let mut x = 1.5; while abs(x * x - a) > 1e-9 { x = 0.5 * (x + a / x); } x }
///     pullback(a, x, x_bar) { x_bar / (2 * x) }";
/// let program = parse_program(source)?;
/// let root = program.lookup("root").ok_or("none")?;
/// let (program, root) = on_duals(&program, root, 1)?.ok_or("no rules")?;
/// let a = [Datum::<Dual64>::Real(Dual64::new(2.25, 1.0))];
/// let x = Bytecode::compile(&program, root)?.call(&mut Machine::new(), &NoHost, &Limits::default(), &a)?;
/// assert_eq!(x, Datum::Real(Dual64::new(1.5, 1.0 / 3.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a rule has one direction only, and cannot be transposed.
pub fn on_duals(
    program: &Program,
    f: FuncId,
    order: usize,
) -> Result<Option<(Program, FuncId)>, DiffError> {
    if order == 0 || !reaches_rules(program, f) {
        return Ok(None);
    }
    check(program, f)?;
    let mut versions =
        Versions { program: program.clone(), made: HashMap::new(), steps: HashMap::new() };
    let f = versions.version(f, order)?;
    Ok(Some((versions.program, f)))
}

/// Returns true if the function has a rule, or reaches one by calls; rules may call other
/// functions.
fn reaches_rules(program: &Program, f: FuncId) -> bool {
    program.reachable(f).into_iter().any(|g| program.rule(g).is_some_and(|r| !r.is_empty()))
}

struct Versions {
    program: Program,
    made: HashMap<(FuncId, usize), FuncId>,
    /// `(x…, x_dot…) -> (value, tangent)` of functions with rules.
    steps: HashMap<FuncId, FuncId>,
}

impl Versions {
    /// Returns the version of a function for numbers of an order.
    fn version(&mut self, f: FuncId, order: usize) -> Result<FuncId, DiffError> {
        if order == 0 || !reaches_rules(&self.program, f) {
            return Ok(f);
        }
        if let Some(&g) = self.made.get(&(f, order)) {
            return Ok(g);
        }
        let function = self.program.functions[f].clone();
        let name = self.program.fresh_name(&format!("{}.duals{order}", function.name));
        let declared =
            Function::declared(name.clone(), function.params.clone(), function.result.clone());
        let id = self.program.add(declared);
        self.made.insert((f, order), id);
        let rule = self.program.rule(f).filter(|r| !r.is_empty()).cloned();
        self.program.functions[id] = match rule {
            Some(rule) => self.by_rule(f, &function, &name, &rule, order)?,
            None => self.by_body(Function { name, ..function }, order)?,
        };
        Ok(id)
    }

    /// Copies a body with the versions of its callees.
    fn by_body(&mut self, mut function: Function, order: usize) -> Result<Function, DiffError> {
        for g in function.callees() {
            let version = self.version(g, order)?;
            for inst in function.insts.values_mut().filter(|inst| inst.op == Op::Call(g)) {
                inst.op = Op::Call(version);
            }
        }
        Ok(function)
    }

    fn by_rule(
        &mut self,
        f: FuncId,
        function: &Function,
        name: &str,
        rule: &CustomRule,
        order: usize,
    ) -> Result<Function, DiffError> {
        let mut b = FunctionBuilder::new(name, function.params.clone(), function.result.clone());
        let xs = b.params().to_vec();
        let plain: Vec<Value> = xs.iter().map(|x| part(&mut b, Real1::Detach, *x)).collect();
        let y = b.inst(Op::Call(f), &plain, function.result.clone());
        let dots: Vec<Value> = xs.iter().filter_map(|x| tangent(&mut b, *x)).collect();
        if function.result.tangent().is_none() || rule.non_differentiable || dots.is_empty() {
            b.ret(y);
            return Ok(b.finish());
        }
        let step = self.step(f, function)?;
        let step = self.version(step, order - 1)?;
        let result = self.program.functions[step].result.clone();
        let mut change: Option<Vec<Value>> = None;
        for (t, weight) in gauss(order.div_ceil(2)) {
            // At order 1 the infinitesimal part does not matter.
            let at = |b: &mut FunctionBuilder, k: usize| match order {
                1 => plain[k],
                _ => between(b, plain[k], xs[k], t),
            };
            let mut args: Vec<Value> = (0..xs.len()).map(|k| at(&mut b, k)).collect();
            args.extend(&dots);
            let both = b.inst(Op::Call(step), &args, result.clone());
            let dot = b.field(both, 1);
            let mut leaves = open(&mut b, dot);
            make_whole(&mut b, y, &mut leaves);
            let leaves =
                leaves.into_iter().map(|leaf| times(&mut b, leaf, weight)).collect::<Vec<_>>();
            change = Some(match change {
                Some(sum) => sum
                    .into_iter()
                    .zip(leaves)
                    .map(|(s, x)| b.number2(Number2::Add, s, x))
                    .collect(),
                None => leaves,
            });
        }
        let moved = count_moved(&mut b, &dots);
        let mut change = change.unwrap_or_default();
        for leaf in &mut change {
            // The result of constants is a constant, whatever the slope is.
            let is_complex = matches!(b.kind(*leaf), Kind::Complex | Kind::Array(Element::Complex));
            let there = if is_complex { b.mixed(Mixed::Promote, &[moved]) } else { moved };
            let change = b.number2(Number2::Guard, *leaf, there);
            *leaf = part(&mut b, Real1::Beyond, change);
        }
        let y = plus(&mut b, y, &mut change.into_iter());
        b.ret(y);
        Ok(b.finish())
    }

    /// Computes the pushforward of a function with a rule, by that rule.
    fn step(&mut self, f: FuncId, function: &Function) -> Result<FuncId, DiffError> {
        if let Some(&step) = self.steps.get(&f) {
            return Ok(step);
        }
        let name = self.program.fresh_name(&format!("{}.call", function.name));
        let caller = FunctionBuilder::caller(
            name,
            function.params.clone(),
            function.result.clone(),
            Op::Call(f),
        );
        let caller = self.program.add(caller);
        let step = forward(&mut self.program, caller)?;
        self.steps.insert(f, step);
        Ok(step)
    }
}

/// Computes the nodes and weights of Gauss's rule on [0, 1].
fn gauss(n: usize) -> Vec<(f64, f64)> {
    let size = n as f64;
    (0..n)
        .map(|k| {
            // Newton's method for the roots of the Legendre polynomials, from an estimate of each.
            let mut x = (PI * (k as f64 + 0.75) / (size + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..50 {
                let (mut p, mut before) = (1.0, 0.0);
                for j in 0..n {
                    let j = j as f64;
                    (p, before) = (((2.0 * j + 1.0) * x * p - j * before) / (j + 1.0), p);
                }
                slope = size * (x * p - before) / (x * x - 1.0);
                x -= p / slope;
            }
            ((1.0 - x) / 2.0, 1.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

/// Applies `op` to every number in a value; integers and truth values stay.
fn part(b: &mut FunctionBuilder, op: Real1, x: Value) -> Value {
    match b.kind(x).clone() {
        Kind::Tuple(t) => {
            let fields: Vec<Value> = (0..t.fields.len())
                .map(|k| {
                    let field = b.field(x, k);
                    part(b, op, field)
                })
                .collect();
            b.tuple(&fields, Kind::Tuple(t))
        }
        kind if !kind.is_differentiable() => x,
        Kind::Real | Kind::Array(Element::Real) => b.lifted(Op::Real1(op), &[x], Kind::Real),
        _ => {
            let parts = [Mixed::Re, Mixed::Im].map(|half| {
                let half = b.mixed(half, &[x]);
                b.lifted(Op::Real1(op), &[half], Kind::Real)
            });
            b.mixed(Mixed::Complex, &parts)
        }
    }
}

/// Returns the infinitesimal part of a parameter, as its tangent.
fn tangent(b: &mut FunctionBuilder, x: Value) -> Option<Value> {
    let kind = b.kind(x).tangent()?;
    let beyond = part(b, Real1::Beyond, x);
    let leaves = open(b, beyond);
    let mut leaves = leaves
        .into_iter()
        .filter(|leaf| b.kind(*leaf).is_differentiable())
        .collect::<Vec<_>>()
        .into_iter();
    Some(close(b, &kind, &mut leaves))
}

/// Computes `v + t (x - v)`, where `v` is the value of `x`.
fn between(b: &mut FunctionBuilder, v: Value, x: Value, t: f64) -> Value {
    let Some(beyond) = tangent(b, x) else { return x };
    let leaves = open(b, beyond).into_iter().map(|leaf| times(b, leaf, t)).collect::<Vec<_>>();
    plus(b, v, &mut leaves.into_iter())
}

/// Adds a change to a value, leaf by leaf.
fn plus(b: &mut FunctionBuilder, x: Value, change: &mut impl Iterator<Item = Value>) -> Value {
    match b.kind(x).clone() {
        Kind::Tuple(t) => {
            let fields: Vec<Value> = (0..t.fields.len())
                .map(|k| {
                    let field = b.field(x, k);
                    plus(b, field, change)
                })
                .collect();
            b.tuple(&fields, Kind::Tuple(t))
        }
        kind if kind.is_differentiable() => match change.next() {
            Some(leaf) => b.number2(Number2::Add, x, leaf),
            None => x,
        },
        _ => x,
    }
}

/// Multiplies a number, or every element of an array, by a constant.
fn times(b: &mut FunctionBuilder, x: Value, factor: f64) -> Value {
    if factor == 1.0 {
        return x;
    }
    let kind = b.kind(x).clone();
    let factor = b.number(factor, &kind);
    b.number2(Number2::Mul, factor, x)
}

/// Returns 0 if the infinitesimal parts of all parameters are exactly zero, else the number of
/// parts that are not.
fn count_moved(b: &mut FunctionBuilder, dots: &[Value]) -> Value {
    let mut count = b.real(0.0);
    for &dot in dots {
        for leaf in open(b, dot) {
            let kind = b.kind(leaf).clone();
            let one = b.number(1.0, &kind);
            let mut there = b.number2(Number2::Guard, one, leaf);
            if let Kind::Array(e) = kind {
                there = b.inst(Op::Sum, &[there], e.kind());
            }
            if matches!(b.kind(there), Kind::Complex) {
                there = b.mixed(Mixed::Re, &[there]);
            }
            count = b.number2(Number2::Add, count, there);
        }
    }
    count
}
