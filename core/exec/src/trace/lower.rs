//! Expressions to functions and back.
//!
//! Lowering writes every part once, operands first, in the order in which they were computed; equal
//! parts become one value. A graph of n parts gives O(n) instructions in O(n) time, however often
//! parts are shared. [`raise`] reads a straight-line function back; `raise(lower(e)) == e`.

use std::collections::HashMap;

use crate::{
    entity::{FuncId, Value},
    ir::{FunctionBuilder, Kind, Literal, Mixed, Number1, Number2, Op, Param, Program, Terminator},
};

use super::{
    build,
    callee::{Callee, adopt},
    constant::Constant,
    error::TraceError,
    node::{Node, NodeKind, Sym, visit},
};

/// A function under construction from expressions.
pub(super) struct ExprLowering {
    pub(super) program: Program,
    pub(super) b: FunctionBuilder,
    values: HashMap<u128, Value>,
    calls: HashMap<u128, Op>,
    inputs: Vec<String>,
}

impl ExprLowering {
    /// Creates a function with the given parameters.
    pub(super) fn new(name: &str, params: Vec<Param>) -> Result<ExprLowering, TraceError> {
        let inputs: Vec<String> = params.iter().map(|p| p.name.clone()).collect();
        for (k, name) in inputs.iter().enumerate() {
            if inputs[..k].contains(name) {
                return Err(TraceError::Duplicate { name: name.clone() });
            }
        }
        let b = FunctionBuilder::new(name, params, Kind::Real);
        let (values, calls) = (HashMap::new(), HashMap::new());
        Ok(ExprLowering { program: Program::new(), b, values, calls, inputs })
    }

    /// Binds an input to a value.
    pub(super) fn bind(&mut self, symbol: &Sym, value: Value) {
        self.values.insert(symbol.key(), value);
    }

    /// Lowers an expression to a value.
    pub(super) fn value(&mut self, root: &Sym) -> Result<Value, TraceError> {
        self.values(std::slice::from_ref(root)).map(|v| v[0])
    }

    /// Lowers several expressions to values.
    pub(super) fn values(&mut self, roots: &[Sym]) -> Result<Vec<Value>, TraceError> {
        visit(roots, |sym| {
            // Constants are written where they are used: most are factors.
            if let Sym::Node(node) = sym
                && !self.values.contains_key(&sym.key())
                && sym.constant().is_none()
            {
                let v = self.node(node)?;
                self.values.insert(sym.key(), v);
            }
            Ok::<(), TraceError>(())
        })?;
        Ok(roots.iter().map(|root| self.known(root)).collect())
    }

    /// Finishes the function `params -> result`, and adds it to its program.
    pub(super) fn finish(mut self, result: Value) -> (Program, FuncId) {
        let kind = self.b.kind(result).clone();
        self.b.set_result(kind);
        self.b.ret(result);
        let id = self.program.add(self.b.finish());
        (self.program, id)
    }

    /// Returns the value of a node whose operands are lowered.
    fn known(&mut self, sym: &Sym) -> Value {
        match (sym.constant(), self.values.get(&sym.key())) {
            (_, Some(&v)) => v,
            (Some(c), None) => {
                let v = self.constant(c);
                let v = if sym.kind() == Kind::Complex {
                    self.b.mixed(Mixed::Promote, &[v])
                } else {
                    v
                };
                self.values.insert(sym.key(), v);
                v
            }
            // Every part is visited after its operands; zero keeps this total.
            (None, None) => self.b.zero(&sym.kind()),
        }
    }

    fn node(&mut self, node: &Node) -> Result<Value, TraceError> {
        let op = match &node.node_kind {
            NodeKind::Symbol(s) if s.local => {
                return Err(TraceError::Foreign { name: s.name.to_string() });
            }
            NodeKind::Symbol(s) => {
                let (name, inputs) = (s.name.to_string(), self.inputs.clone());
                return Err(TraceError::UnknownInput { name, inputs });
            }
            NodeKind::Call(shared) => {
                *self.calls.entry(shared.key).or_insert_with(|| adopt(&mut self.program, shared))
            }
            NodeKind::Op(op) => *op,
        };
        if let (Op::Number2(Number2::Mul), [c, x]) = (op, node.args.as_slice())
            && let Some(c) = c.constant().and_then(Constant::as_rational)
            && !is_float(*c.numer(), *c.denom())
        {
            // x/3 is a quotient, 2x/3 too.
            let x = self.known(x);
            let numerator = self.whole(*c.numer(), &node.kind);
            let product = match c.numer() {
                1 => x,
                -1 => self.b.number1(Number1::Neg, x),
                _ => self.b.number2(Number2::Mul, numerator, x),
            };
            let denominator = self.whole(*c.denom(), &node.kind);
            return Ok(self.b.number2(Number2::Div, product, denominator));
        }
        let args: Vec<Value> = node.args.iter().map(|a| self.known(a)).collect();
        Ok(self.b.inst(op, &args, node.kind.clone()))
    }

    /// Emits `a sqrt(n) pi / b`, the fraction as one number if it is a float.
    fn constant(&mut self, c: Constant) -> Value {
        let Constant::Exact { q, root, pi } = c else { return self.b.real(c.value()) };
        let (n, d) = (*q.numer(), *q.denom());
        let float = is_float(n, d);
        let mut factors = Vec::new();
        if float && (n, d) != (1, 1) || !float && n != 1 {
            let factor =
                if float { self.b.real(n as f64 / d as f64) } else { self.whole(n, &Kind::Real) };
            factors.push(factor);
        }
        if root != 1 {
            let x = self.b.real(root as f64);
            factors.push(self.b.number1(Number1::Sqrt, x));
        }
        if pi {
            let minus = self.b.real(-1.0);
            factors.push(self.b.number1(Number1::Acos, minus));
        }
        let product = factors.into_iter().reduce(|a, b| self.b.number2(Number2::Mul, a, b));
        let product = product.unwrap_or_else(|| self.b.real(1.0));
        if float || d == 1 {
            return product;
        }
        let d = self.whole(d, &Kind::Real);
        self.b.number2(Number2::Div, product, d)
    }

    /// Emits a whole number of kind real or complex; from an int if it is not a float.
    fn whole(&mut self, n: i64, kind: &Kind) -> Value {
        if n.unsigned_abs() < 1 << 53 {
            return self.b.number(n as f64, kind);
        }
        let int = self.b.int(n);
        let real = self.b.mixed(Mixed::FromInt, &[int]);
        if *kind == Kind::Complex { self.b.mixed(Mixed::Promote, &[real]) } else { real }
    }
}

/// Returns true if `n / d` is exactly a float.
fn is_float(n: i64, d: i64) -> bool {
    d.unsigned_abs().is_power_of_two() && n.unsigned_abs() < 1 << 53
}

/// A value of a function read back: a number, or a tuple or array of known length.
#[derive(Clone)]
pub(super) enum RaisedExpr {
    Number(Sym),
    Tuple(Vec<RaisedExpr>),
}

impl RaisedExpr {
    /// Returns all numbers in it, in order.
    pub(super) fn leaves(self) -> Vec<Sym> {
        match self {
            RaisedExpr::Number(sym) => vec![sym],
            RaisedExpr::Tuple(all) => all.into_iter().flat_map(RaisedExpr::leaves).collect(),
        }
    }
    fn one(&self) -> Option<&Sym> {
        match self {
            RaisedExpr::Number(sym) => Some(sym),
            RaisedExpr::Tuple(_) => None,
        }
    }
}

/// Returns the result of a straight-line function for the given arguments. Functions without a rule
/// of their own are inlined. With `plain`, `scale` is read as a product.
pub(super) fn raise(
    program: &Program,
    f: FuncId,
    args: Vec<RaisedExpr>,
    plain: bool,
) -> Result<RaisedExpr, TraceError> {
    raise_at(program, f, args, plain, 0)
}

/// Maximum depth of calls that are inlined.
const MAX_CALLS: usize = 64;

fn raise_at(
    program: &Program,
    f: FuncId,
    args: Vec<RaisedExpr>,
    plain: bool,
    depth: usize,
) -> Result<RaisedExpr, TraceError> {
    let function = &program.functions[f];
    let refuse =
        |what: String| TraceError::NotAnExpression { function: function.name.clone(), what };
    if args.len() != function.params.len() {
        let (name, given, expected) = (function.name.clone(), args.len(), function.params.len());
        return Err(TraceError::Arity { name, given, expected });
    }
    if depth > MAX_CALLS {
        return Err(refuse(format!("calls more than {MAX_CALLS} deep")));
    }
    let mut known: HashMap<Value, RaisedExpr> =
        function.param_values().iter().copied().zip(args).collect();
    let Some(block) = function.blocks.values().next() else { return Err(refuse("no body".into())) };
    for &i in &block.insts {
        let inst = &function.insts[i];
        let operands: Option<Vec<&RaisedExpr>> = inst.args.iter().map(|a| known.get(a)).collect();
        let (Some(result), Some(operands)) = (inst.result, operands) else {
            return Err(refuse(format!("`{}`", inst.op)));
        };
        let kind = &function.kinds[result];
        let numbers: Option<Vec<Sym>> = operands.iter().map(|r| r.one().cloned()).collect();
        let value = match (inst.op, numbers) {
            (Op::Tuple | Op::Array, _) => {
                Some(RaisedExpr::Tuple(operands.into_iter().cloned().collect()))
            }
            (Op::Field(k), _) => field(operands[0], k as usize),
            (Op::Get, _) => {
                let index = operands[1].one().and_then(build::integer);
                index.and_then(|k| field(operands[0], usize::try_from(k).ok()?))
            }
            (Op::Call(g), numbers) => {
                let own_rule = program.rule(g).is_some();
                Some(match numbers {
                    Some(args) if own_rule => RaisedExpr::Number(Sym::call(
                        Callee::function(program, g)?.0,
                        &args,
                        kind.clone(),
                    )),
                    _ => raise_at(
                        program,
                        g,
                        operands.into_iter().cloned().collect(),
                        plain,
                        depth + 1,
                    )?,
                })
            }
            (Op::Primitive(p), Some(args)) => {
                let callee = Callee::new(program, &program.primitives[p].name)?;
                Some(RaisedExpr::Number(Sym::call(callee.0, &args, kind.clone())))
            }
            (Op::Number2(Number2::Scale), Some(args)) if plain => {
                Some(RaisedExpr::Number(build::number2(Number2::Mul, &args[0], &args[1])))
            }
            (Op::Number2(Number2::Guard), Some(args)) if plain => {
                Some(RaisedExpr::Number(args[0].clone()))
            }
            (Op::Real(Literal(x)), _) => {
                Some(RaisedExpr::Number(Sym::Const(Constant::from_f64(x))))
            }
            (op, Some(args)) => build::apply(op, &args, kind).map(RaisedExpr::Number),
            _ => None,
        };
        known.insert(result, value.ok_or_else(|| refuse(format!("`{}`", inst.op)))?);
    }
    match &block.end {
        Terminator::Return(v) => known.get(v).cloned().ok_or_else(|| refuse("no result".into())),
        Terminator::Jump(_) if function.blocks.len() > 1 => Err(refuse("a loop".into())),
        _ => Err(refuse("a branch".into())),
    }
}

fn field(of: &RaisedExpr, k: usize) -> Option<RaisedExpr> {
    match of {
        RaisedExpr::Tuple(all) => all.get(k).cloned(),
        RaisedExpr::Number(_) => None,
    }
}
