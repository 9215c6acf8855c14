//! The angles of a circuit that depend on its parameters, those of gates and those of channels, and
//! the chain rule from their derivatives to those of the inputs.
//!
//! ```text
//! inputs ──► parameters ──► angles of gates ──► state ──► expectation values
//!      programs      exact fractions      harmonics
//! ```
//!
//! An angle is `a pi + b + sum_k q_k theta_k`, so the derivative by a parameter is the sum of `q_k`
//! times the derivatives by the angles it occurs in, however many gates share it. A parameter that
//! is computed from others is a straight-line program, which is lowered to IR and differentiated by
//! the engine.

use crate::{
    adjoint,
    circuit::{Circuit, Instruction},
    entity::Value,
    exec::{Bytecode, Datum, Executable, Limits, Machine, NoHost},
    ir::{Element, FunctionBuilder, Kind, Number1, Number2, Op, Param, Program},
    param::{Angle, ElementaryFunction, ParamExpr, Step},
    scalar::Real,
};

/// An angle of a gate, or a parameter of a channel, in which parameters of the circuit occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ParameterUse {
    /// Number of the instruction in the circuit.
    pub(super) instruction: usize,
    /// Number of the angle.
    pub(super) angle: usize,
}

/// Lists all slots, in the order of the circuit.
pub(super) fn parameter_uses(circuit: &Circuit) -> Vec<ParameterUse> {
    let of = |(k, instruction): (usize, &Instruction)| {
        let angles = instruction.operation.params();
        let depends = |a: &&(usize, &Angle)| !a.1.is_constant();
        let found: Vec<_> = angles.iter().enumerate().collect();
        found
            .iter()
            .filter(depends)
            .map(|a| ParameterUse { instruction: k, angle: a.0 })
            .collect::<Vec<_>>()
    };
    circuit.instructions().iter().enumerate().flat_map(of).collect()
}

/// Adds up the derivatives by the angles of slots to those by all parameters of the circuit.
pub(super) fn by_parameter<T: Real>(
    circuit: &Circuit,
    slots: &[ParameterUse],
    by_angle: &[T],
) -> Vec<T> {
    let mut by_parameter = vec![T::zero(); circuit.params().len()];
    add_by_parameter(circuit, slots, by_angle, &mut by_parameter);
    by_parameter
}

/// Adds the derivatives of [`by_parameter`] to those in `by_parameter`.
pub(super) fn add_by_parameter<T: Real>(
    circuit: &Circuit,
    slots: &[ParameterUse],
    by_angle: &[T],
    by_parameter: &mut [T],
) {
    for (slot, bar) in slots.iter().zip(by_angle) {
        let angle = circuit.instructions()[slot.instruction].operation.params().get(slot.angle);
        for (id, q) in angle.map_or(&[][..], Angle::terms) {
            by_parameter[id.index()] += T::from_ratio(*q) * bar;
        }
    }
}

/// Chain rule from the derivatives by all parameters to those by the inputs: the pullback of the
/// program that computes the parameters.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// Parameters that are inputs.
    inputs: Vec<usize>,
    /// The number of parameters.
    n_params: usize,
    /// `(inputs, cotangents of all parameters) -> cotangents of the inputs`, if anything is
    /// computed.
    pullback: Option<Bytecode>,
}

impl Chain {
    pub(super) fn new(circuit: &Circuit) -> Result<Chain, super::HybridError> {
        let is_input = |k: &usize| circuit.params()[*k].definition.is_none();
        let inputs: Vec<usize> = (0..circuit.params().len()).filter(is_input).collect();
        if inputs.len() == circuit.params().len() {
            return Ok(Chain { n_params: inputs.len(), inputs, pullback: None });
        }
        let mut program = Program::default();
        let f = program.add(lower(circuit, inputs.len()));
        let pullback = adjoint::value_and_pullback(&mut program, f)?;
        crate::pass::optimize_all(&mut program, pullback, crate::pass::Level::Strict);
        let pullback =
            Bytecode::compile(&program, pullback).map_err(super::HybridError::computed)?;
        Ok(Chain { inputs, n_params: circuit.params().len(), pullback: Some(pullback) })
    }

    /// Returns true if the inputs are the parameters themselves.
    pub(super) fn is_trivial(&self) -> bool {
        self.pullback.is_none()
    }

    /// Returns the derivatives by the inputs; NaN where an angle does not change the value, but
    /// itself changes infinitely fast.
    pub(super) fn pull<T: Real>(
        &self,
        inputs: &[T],
        by_parameter: Vec<T>,
    ) -> Result<Vec<T>, super::HybridError> {
        let Some(pullback) = &self.pullback else {
            return Ok(by_parameter);
        };
        let mut bars = self.bars(pullback, inputs, &by_parameter)?;
        // The pullback leaves out what is multiplied by zero, but where an angle has an infinite
        // slope the product has no value.
        let is_stationary =
            |k: usize, bar: &T| self.inputs.binary_search(&k).is_err() && bar.is_exact_zero();
        let stationary: Vec<bool> =
            by_parameter.iter().enumerate().map(|(k, bar)| is_stationary(k, bar)).collect();
        if stationary.contains(&true) {
            let ones: Vec<T> =
                stationary.iter().map(|s| if *s { T::one() } else { T::zero() }).collect();
            for (bar, slope) in bars.iter_mut().zip(self.bars(pullback, inputs, &ones)?) {
                if slope.primal().is_some_and(|slope| !slope.is_finite()) {
                    *bar = T::lit(f64::NAN);
                }
            }
        }
        Ok(bars)
    }

    /// Returns for each input true if it moves some parameter infinitely fast, or if the parameter
    /// has no derivative by it, as `sqrt(x * x)` at 0: then nothing has a derivative by it. Duals
    /// and differences do not always see that.
    pub(super) fn singular<T: Real>(&self, inputs: &[T]) -> Result<Vec<bool>, super::HybridError> {
        let Some(pullback) = &self.pullback else {
            return Ok(vec![false; inputs.len()]);
        };
        let bars = self.bars(pullback, inputs, &vec![T::one(); self.n_params])?;
        Ok(bars.iter().map(|bar| bar.primal().is_some_and(|bar| !bar.is_finite())).collect())
    }

    /// Returns the cotangents of the inputs.
    fn bars<T: Real>(
        &self,
        pullback: &Bytecode,
        inputs: &[T],
        by_parameter: &[T],
    ) -> Result<Vec<T>, super::HybridError> {
        let args =
            [Datum::<T>::reals(inputs.iter().cloned()), Datum::reals(by_parameter.iter().cloned())];
        let result = pullback
            .call(&mut Machine::new(), &NoHost, &Limits::default(), &args)
            .map_err(super::HybridError::computed)?;
        // (value, cotangent of the one parameter), which may be shorter than the array it belongs
        // to.
        let mut bars = match result.fields().get(1).map(Datum::fields).and_then(<[_]>::first) {
            Some(Datum::Reals(bars)) => bars.to_vec(),
            _ => Vec::new(),
        };
        bars.resize(self.inputs.len(), T::zero());
        Ok(bars)
    }
}

/// Returns `fn parameters(inputs: array) -> array`: the values of all parameters.
fn lower(circuit: &Circuit, n_inputs: usize) -> crate::ir::Function {
    let reals = Kind::Array(Element::Real);
    let mut b = FunctionBuilder::new(
        "parameters",
        vec![Param::new("inputs", reals.clone())],
        reals.clone(),
    );
    let inputs = b.param(0);
    let mut given = 0..n_inputs as i64;
    let mut values: Vec<Value> = Vec::new();
    for param in circuit.params() {
        let value = match &param.definition {
            Some(expr) => lower_expression(&mut b, expr, &values),
            None => {
                let index = b.int(given.next().unwrap_or(0));
                b.get(inputs, index)
            }
        };
        values.push(value);
    }
    let all = b.inst(Op::Array, &values, reals);
    b.ret(all);
    b.finish()
}

fn lower_expression(b: &mut FunctionBuilder, expr: &ParamExpr, values: &[Value]) -> Value {
    let mut stack: Vec<Value> = Vec::new();
    for step in expr.steps() {
        let value = match step {
            Step::Angle(angle) => lower_angle(b, angle, values),
            Step::Neg => {
                let x = pop(b, &mut stack);
                b.number1(Number1::Neg, x)
            }
            Step::Call(function) => {
                let x = pop(b, &mut stack);
                b.number1(op_of(*function), x)
            }
            _ => {
                let (y, x) = (pop(b, &mut stack), pop(b, &mut stack));
                let op = match step {
                    Step::Add => Number2::Add,
                    Step::Sub => Number2::Sub,
                    Step::Mul => Number2::Mul,
                    Step::Div => Number2::Div,
                    _ => Number2::Pow,
                };
                b.number2(op, x, y)
            }
        };
        stack.push(value);
    }
    pop(b, &mut stack)
}

/// Pops a value. A table is well-formed by construction, so the stack is never empty here; zero
/// keeps this total.
fn pop(b: &mut FunctionBuilder, stack: &mut Vec<Value>) -> Value {
    stack.pop().unwrap_or_else(|| b.real(0.0))
}

fn lower_angle(b: &mut FunctionBuilder, angle: &Angle, values: &[Value]) -> Value {
    let float = |q: crate::param::Q| *q.numer() as f64 / *q.denom() as f64;
    let mut sum = b.real(std::f64::consts::PI * float(angle.pi_part()) + angle.radian_part());
    for &(id, q) in angle.terms() {
        if let Some(&value) = values.get(id.index()) {
            let q = b.real(float(q));
            let term = b.number2(Number2::Mul, q, value);
            sum = b.number2(Number2::Add, sum, term);
        }
    }
    sum
}

fn op_of(function: ElementaryFunction) -> Number1 {
    match function {
        ElementaryFunction::Sin => Number1::Sin,
        ElementaryFunction::Cos => Number1::Cos,
        ElementaryFunction::Tan => Number1::Tan,
        ElementaryFunction::Asin => Number1::Asin,
        ElementaryFunction::Acos => Number1::Acos,
        ElementaryFunction::Atan => Number1::Atan,
        ElementaryFunction::Exp => Number1::Exp,
        ElementaryFunction::Ln => Number1::Ln,
        ElementaryFunction::Sqrt => Number1::Sqrt,
    }
}
