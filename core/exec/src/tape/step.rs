//! Operation of one entry of a tape, and its pullback.

use std::{
    collections::{HashMap, hash_map},
    sync::Arc,
};

use smallvec::SmallVec;

use crate::{
    array::Array,
    exec::{Datum, Machine},
    ir::{Mixed, Number2, Op, Real2},
    rules::{number1, number2, real1, real2},
    scalar::{N, Real, Scalar},
};

use super::{
    builtin_call::{BuiltinCall, StaticOperand},
    error::TapeError,
    kernel::Kernel,
    operator::{ArrayOperator, ScalarOperator},
    tape_value::TapeValue,
};

/// Operation of an entry.
#[derive(Clone)]
pub(super) enum TapeOp<S: Scalar> {
    Input(String),
    Constant,
    Op(Op),
    Power(i64),
    /// An element or a range of an array, which is the only operand: its cotangent is added in
    /// place.
    Part(BuiltinCall),
    /// Operations with an array among the operands or as result.
    Call(Arc<Kernel>),
    Custom(CustomOperator<S>),
}

/// An operator of a user's own.
#[derive(Clone)]
pub(super) enum CustomOperator<S: Scalar> {
    Scalar(Arc<dyn ScalarOperator<S>>),
    Array(Arc<dyn ArrayOperator<S>>),
}

impl<S: Scalar> TapeOp<S> {
    pub(super) fn name(&self) -> String {
        match self {
            TapeOp::Input(name) => name.clone(),
            TapeOp::Constant => "constant".into(),
            TapeOp::Op(op) => op.name().into(),
            TapeOp::Power(_) => "powi".into(),
            TapeOp::Part(call) => call.name.into(),
            TapeOp::Call(kernel) => kernel.call.name.into(),
            TapeOp::Custom(op) => op.name().into(),
        }
    }

    /// Returns the static operands, which are printed after the others.
    pub(super) fn fixed(&self) -> Vec<String> {
        let call = match self {
            TapeOp::Power(n) => return vec![n.to_string()],
            TapeOp::Part(call) => call,
            TapeOp::Call(kernel) => &kernel.call,
            _ => return Vec::new(),
        };
        let text = |fixed: &StaticOperand| match fixed {
            StaticOperand::Int(n) => n.to_string(),
            StaticOperand::Ints(list) => format!("{list:?}"),
        };
        call.fixed.iter().map(text).collect()
    }
}

impl<T: Real, S: Scalar<Real = T>> CustomOperator<S> {
    pub(super) fn forward(&self, inputs: &[TapeValue<S>]) -> Result<TapeValue<S>, String> {
        Ok(match self {
            CustomOperator::Scalar(op) => {
                let inputs: Vec<S> = inputs.iter().map(TapeValue::number).collect();
                TapeValue::Number(op.forward(&inputs)?)
            }
            CustomOperator::Array(op) => {
                let inputs: Vec<Array<S>> = inputs.iter().map(TapeValue::array).collect();
                TapeValue::of_array(&op.forward(&inputs)?)
            }
        })
    }

    /// Computes one cotangent for each input, of its shape.
    pub(super) fn backward(
        &self,
        inputs: &[TapeValue<S>],
        output: &TapeValue<S>,
        bar: &TapeValue<S>,
    ) -> Result<Vec<TapeValue<S>>, TapeError> {
        let failed =
            |reason| TapeError::Operator { operator: self.name().to_owned(), reason, at: None };
        let bars: Vec<TapeValue<S>> = match self {
            CustomOperator::Scalar(op) => {
                let inputs: Vec<S> = inputs.iter().map(TapeValue::number).collect();
                let bars = op.backward(&inputs, &output.number(), &bar.number()).map_err(failed)?;
                bars.into_iter().map(TapeValue::Number).collect()
            }
            CustomOperator::Array(op) => {
                let inputs: Vec<Array<S>> = inputs.iter().map(TapeValue::array).collect();
                let bars = op.backward(&inputs, &output.array(), &bar.array()).map_err(failed)?;
                bars.iter().map(TapeValue::of_array).collect()
            }
        };
        let (given, expected) = (bars.len(), inputs.len());
        if given != expected {
            return Err(TapeError::Cotangents {
                operator: self.name().to_owned(),
                given,
                expected,
            });
        }
        for (k, (bar, x)) in bars.iter().zip(inputs).enumerate() {
            if bar.shape() != x.shape() {
                let (given, expected) = (bar.shape(), x.shape());
                let reason = format!(
                    "the cotangent of input {k} has the shape {given:?}, expected {expected:?}"
                );
                return Err(failed(reason));
            }
        }
        Ok(bars)
    }
}

impl<S: Scalar> TapeOp<S> {
    /// Returns true if a cotangent reaches all of the `k`-th operand whenever it reaches all of the
    /// result.
    pub(super) fn is_dense_in(&self, k: usize) -> bool {
        match self {
            TapeOp::Call(kernel) => kernel.covered.get(k).copied().unwrap_or(false),
            TapeOp::Part(_) => false,
            _ => true,
        }
    }
}

impl<S: Scalar> CustomOperator<S> {
    pub(super) fn name(&self) -> &str {
        match self {
            CustomOperator::Scalar(op) => op.name(),
            CustomOperator::Array(op) => op.name(),
        }
    }

    /// Returns true if both are the same operator.
    pub(super) fn is_same(&self, other: &CustomOperator<S>) -> bool {
        match (self, other) {
            (CustomOperator::Scalar(a), CustomOperator::Scalar(b)) => Arc::ptr_eq(a, b),
            (CustomOperator::Array(a), CustomOperator::Array(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// The cotangents of the operands of a step.
pub(super) type OperandCotangents<S> = SmallVec<[Option<TapeValue<S>>; 2]>;

/// Evaluator of the operations: the machine of the language and the compiled kernels.
pub(super) struct TapeEvaluator<S: Scalar> {
    machine: Machine<S>,
    kernels: HashMap<(BuiltinCall, SmallVec<[bool; 2]>), Arc<Kernel>>,
}

impl<S: Scalar> Default for TapeEvaluator<S> {
    fn default() -> TapeEvaluator<S> {
        TapeEvaluator { machine: Machine::new(), kernels: HashMap::new() }
    }
}

impl<T: Real, S: Scalar<Real = T>> TapeEvaluator<S> {
    /// Returns the operation on operands that are arrays or numbers, compiled once.
    pub(super) fn kernel(
        &mut self,
        call: BuiltinCall,
        arrays: SmallVec<[bool; 2]>,
    ) -> Result<Arc<Kernel>, String> {
        Ok(match self.kernels.entry((call, arrays)) {
            hash_map::Entry::Occupied(found) => found.get().clone(),
            hash_map::Entry::Vacant(slot) => {
                let (call, arrays) = slot.key();
                let kernel = Arc::new(Kernel::new::<S>(call, arrays)?);
                slot.insert(kernel).clone()
            }
        })
    }

    /// Computes the value of an operation.
    pub(super) fn value(
        &mut self,
        step: &TapeOp<S>,
        args: &[&TapeValue<S>],
    ) -> Result<TapeValue<S>, TapeError> {
        let failed =
            |reason: String| TapeError::Operator { operator: step.name(), reason, at: None };
        let x = |k: usize| args[k].number();
        Ok(TapeValue::Number(match step {
            TapeOp::Op(Op::Number1(op)) => op.value(&x(0)),
            TapeOp::Op(Op::Number2(op)) => op.value(&x(0), &x(1)),
            TapeOp::Op(Op::Real1(op)) => {
                S::from_real(op.value(&x(0).re()).map_err(|e| failed(e.to_string()))?)
            }
            TapeOp::Op(Op::Real2(op)) => {
                S::from_real(op.value(&x(0).re(), &x(1).re()).map_err(|e| failed(e.to_string()))?)
            }
            TapeOp::Op(Op::Mixed(op)) => match op {
                Mixed::Conj => x(0).conj(),
                Mixed::Re => S::from_real(x(0).re()),
                Mixed::Im => S::from_real(x(0).im()),
                Mixed::Abs2 => S::from_real(x(0).abs2()),
                Mixed::Modulus => S::from_real(x(0).re().hypot(&x(0).im())),
                Mixed::Arg => S::from_real(x(0).im().atan2(&x(0).re())),
                other => {
                    return Err(failed(format!("`{}` is no operation of a tape", other.name())));
                }
            },
            TapeOp::Power(n) => x(0).powi(*n),
            TapeOp::Part(call) => return args[0].part(&call.ints()).map_err(failed),
            TapeOp::Call(kernel) => {
                let data: Vec<Datum<S>> = args.iter().map(|x| x.datum()).collect();
                let y = kernel.value(&mut self.machine, &data).map_err(failed)?;
                return TapeValue::of_datum(y)
                    .ok_or_else(|| failed("its value is no number".into()));
            }
            TapeOp::Custom(op) => {
                let inputs: Vec<TapeValue<S>> = args.iter().map(|x| (*x).clone()).collect();
                return op.forward(&inputs).map_err(failed);
            }
            TapeOp::Input(_) | TapeOp::Constant | TapeOp::Op(_) => {
                return Err(failed("it is no operation of a tape".into()));
            }
        }))
    }

    /// Computes the cotangents of the operands, `None` for an operand that has none. `all` is true
    /// if the cotangent reaches all of the result: then a zero is a number like others.
    pub(super) fn pull(
        &mut self,
        step: &TapeOp<S>,
        args: &[&TapeValue<S>],
        y: &TapeValue<S>,
        bar: &TapeValue<S>,
        all: bool,
    ) -> Result<OperandCotangents<S>, TapeError> {
        let failed =
            |reason: String| TapeError::Operator { operator: step.name(), reason, at: None };
        let (x, re) = (|k: usize| N(args[k].number()), |k: usize| N(args[k].number().re()));
        let times = |p: S| {
            let bar = bar.number();
            Some(TapeValue::Number(if all { p.conj() * bar } else { S::scale(&p.conj(), &bar) }))
        };
        // An operand without slope, or that was not chosen, has no cotangent.
        let chosen = |p: S| times(p.clone()).filter(|_| !p.is_exact_zero());
        Ok(match step {
            TapeOp::Input(_) | TapeOp::Constant => SmallVec::new(),
            TapeOp::Op(Op::Number1(op)) => {
                SmallVec::from_iter([times(number1(*op, &x(0), &N(y.number())).0)])
            }
            TapeOp::Op(Op::Number2(op)) => {
                let [p, q] = number2(*op, &x(0), &x(1), &N(y.number()));
                SmallVec::from_iter(match op {
                    Number2::Scale => [chosen(p.0), times(q.0)],
                    Number2::Guard => [chosen(p.0), None],
                    _ => [times(p.0), times(q.0)],
                })
            }
            TapeOp::Op(Op::Real1(op)) => {
                let p = S::from_real(real1(*op, &re(0), &N(y.number().re())).0);
                SmallVec::from_iter([if op.is_constant() { chosen(p) } else { times(p) }])
            }
            TapeOp::Op(Op::Real2(op)) => {
                let partials =
                    real2(*op, &re(0), &re(1), &N(y.number().re())).map(|p| S::from_real(p.0));
                let choice = matches!(op, Real2::Min | Real2::Max);
                partials.into_iter().map(|p| if choice { chosen(p) } else { times(p) }).collect()
            }
            TapeOp::Op(Op::Mixed(op)) => {
                let kernel = self
                    .kernel(BuiltinCall::new(op.name()), SmallVec::from_elem(false, 1))
                    .map_err(failed)?;
                self.pull_call(&kernel, args, y, bar, all).map_err(failed)?
            }
            TapeOp::Power(n) => {
                let call = BuiltinCall::new("powi").with(StaticOperand::Int(*n));
                let kernel = self.kernel(call, SmallVec::from_elem(false, 1)).map_err(failed)?;
                self.pull_call(&kernel, args, y, bar, all).map_err(failed)?
            }
            TapeOp::Call(kernel) => self.pull_call(kernel, args, y, bar, all).map_err(failed)?,
            TapeOp::Custom(op) => {
                let inputs: Vec<TapeValue<S>> = args.iter().map(|x| (*x).clone()).collect();
                op.backward(&inputs, y, bar)?.into_iter().map(Some).collect()
            }
            // The cotangent of a part is added in place.
            TapeOp::Op(_) | TapeOp::Part(_) => SmallVec::new(),
        })
    }

    fn pull_call(
        &mut self,
        kernel: &Kernel,
        args: &[&TapeValue<S>],
        y: &TapeValue<S>,
        bar: &TapeValue<S>,
        all: bool,
    ) -> Result<OperandCotangents<S>, String> {
        let data: Vec<Datum<S>> =
            args.iter().copied().chain([y, bar]).map(TapeValue::datum).collect();
        let parts = kernel.pull(&mut self.machine, &data, all)?;
        let parts = parts.into_iter().zip(args).map(|(bar, x)| x.cotangent(bar));
        parts
            .map(|bar| bar.map(Some).ok_or_else(|| "its pullback is no number".to_owned()))
            .collect()
    }
}
