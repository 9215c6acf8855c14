//! From a tape to a program.

use std::{collections::HashMap, sync::Arc};

use crate::{
    entity::{PrimitiveId, Value},
    exec::{Datum, Derivatives, Host, HostError},
    ir::{FunctionBuilder, Kind, Mixed, Op, Param, Primitive, Program},
    scalar::{Real, Scalar},
    trace::{ComplexExpr, Expr},
};

use super::{
    error::TapeError,
    node::{Entry, Step, datum, kind_of, number},
    operator::Operator,
    variable::Variable,
};

/// The program that a tape holds, and the operators that it calls.
///
/// ```
/// use ketgrad_core::{exec::Datum, tape::Tape};
///
/// let tape = Tape::new();
/// let (a, b) = (tape.variable("a", 1.0), tape.variable("b", 2.0));
/// let y = a / (1.0 + b * b);
/// let f = y.freeze("f")?;
/// let (value, gradient) = f.derivatives()?.value_and_gradient(&[Datum::Real(3.0), Datum::Real(0.5)])?;
/// assert_eq!((value, gradient[0].real()), (2.4, Some(&0.8)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Frozen<S: Scalar> {
    program: Program,
    name: String,
    operators: HashMap<String, Arc<dyn Operator<S>>>,
}

impl<S: Scalar> std::fmt::Debug for Frozen<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.program)
    }
}

impl<T: Real, S: Scalar<Real = T>> Frozen<S> {
    /// The program. Operators of one's own are primitives in it, with their pullbacks.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Value, gradient and all other derivatives, run with the operators of the tape.
    ///
    /// # Errors
    /// None for a function as it was frozen.
    pub fn derivatives(&self) -> Result<Derivatives<'_, S>, TapeError> {
        Ok(Derivatives::new(&self.program, &self.name)?.with_host(self))
    }
}

/// Computes the operators of the tape.
impl<T: Real, S: Scalar<Real = T>> Host<S> for Frozen<S> {
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        let failed = |reason: String| HostError::Failed { name: primitive.name.clone(), reason };
        let numbers: Vec<S> = args.iter().filter_map(number).collect();
        if let Some(op) = self.operators.get(&primitive.name) {
            return Ok(datum(&op.forward(&numbers).map_err(failed)?, &primitive.result));
        }
        let base = primitive.name.strip_suffix(PULLBACK).and_then(|n| self.operators.get(n));
        let (Some(op), [inputs @ .., y, y_bar]) = (base, numbers.as_slice()) else {
            return Err(HostError::unknown(primitive));
        };
        let bars = op.backward(inputs, y, y_bar).map_err(&failed)?;
        let (given, expected) = (bars.len(), inputs.len());
        if given != expected {
            let operator = op.name().to_owned();
            return Err(failed(TapeError::Cotangents { operator, given, expected }.to_string()));
        }
        let kind = kind_of::<S>();
        Ok(Datum::Tuple(bars.iter().map(|b| datum(b, &kind)).collect()))
    }
}

/// What the name of an operator's pullback ends with.
const PULLBACK: &str = ".pullback";

impl<T: Real, S: Scalar<Real = T>> Variable<'_, S> {
    /// The function of the tape's inputs, in the order in which they were made, that gives this variable. It
    /// holds the path that was taken.
    ///
    /// # Errors
    /// Something went wrong before, two inputs have one name, or a constant carries a derivative.
    pub fn freeze(self, name: &str) -> Result<Frozen<S>, TapeError> {
        let inner = self.tape.inner.borrow();
        if let Some(fault) = &inner.fault {
            return Err(fault.clone());
        }
        let entries = &inner.entries;
        let kind = kind_of::<S>();
        let mut params: Vec<Param> = Vec::new();
        for entry in entries {
            if let Step::Input(name) = &entry.step {
                if params.iter().any(|p| p.name == *name) {
                    return Err(TapeError::Duplicate { name: name.clone() });
                }
                params.push(Param::new(name, kind.clone()));
            }
        }
        let mut needed = vec![false; self.index + 1];
        needed[self.index] = true;
        for k in (0..=self.index).rev().filter(|k| needed[*k]).collect::<Vec<_>>() {
            mark(entries, k, &mut needed);
        }
        let b = FunctionBuilder::new(name, params, kind.clone());
        let mut freezing =
            Freezing { b, kind, program: Program::new(), operators: HashMap::new(), primitives: Vec::new() };
        let mut values: Vec<Option<Value>> = vec![None; self.index + 1];
        let mut input = 0;
        for (k, entry) in entries.iter().enumerate().take(self.index + 1) {
            if let Step::Input(_) = entry.step {
                values[k] = Some(freezing.b.param(input));
                input += 1;
            } else if needed[k] {
                let args: Vec<Value> = entry.args.iter().filter_map(|a| values[*a]).collect();
                values[k] = Some(freezing.entry(entry, &args)?);
            }
        }
        let Freezing { mut b, mut program, operators, kind, .. } = freezing;
        let result = values[self.index].unwrap_or_else(|| b.zero(&kind));
        b.ret(result);
        program.add(b.finish());
        Ok(Frozen { program, name: name.to_owned(), operators })
    }

    /// The formula as text.
    pub(super) fn formula(self) -> Result<String, TapeError> {
        let frozen = self.freeze("f")?;
        Ok(match kind_of::<S>() {
            Kind::Real => Expr::from_program(&frozen.program, "f")?.to_string(),
            _ => ComplexExpr::from_program(&frozen.program, "f")?.to_string(),
        })
    }
}

/// Marks what an entry needs, and what that needs, without recursion.
fn mark<S: Scalar>(entries: &[Entry<S>], k: usize, needed: &mut [bool]) {
    let mut stack = vec![k];
    while let Some(k) = stack.pop() {
        for &a in &entries[k].args {
            if !std::mem::replace(&mut needed[a], true) {
                stack.push(a);
            }
        }
    }
}

struct Freezing<S: Scalar> {
    b: FunctionBuilder,
    kind: Kind,
    program: Program,
    operators: HashMap<String, Arc<dyn Operator<S>>>,
    primitives: Vec<(Arc<dyn Operator<S>>, usize, PrimitiveId)>,
}

impl<T: Real, S: Scalar<Real = T>> Freezing<S> {
    fn entry(&mut self, entry: &Entry<S>, args: &[Value]) -> Result<Value, TapeError> {
        let (b, kind) = (&mut self.b, self.kind.clone());
        Ok(match &entry.step {
            Step::Op(Op::Mixed(op)) => {
                let v = b.mixed(*op, args);
                if op.signature().1 == Kind::Real { b.mixed(Mixed::Promote, &[v]) } else { v }
            }
            Step::Op(op) => b.inst(*op, args, kind),
            Step::Power(n) => {
                let op = if kind == Kind::Real { Mixed::PowiReal } else { Mixed::PowiComplex };
                let n = b.int(i64::from(*n));
                b.inst(Op::Mixed(op), &[args[0], n], kind)
            }
            Step::Custom(op) => {
                let id = self.primitive(op, args.len());
                self.b.inst(Op::Primitive(id), args, kind)
            }
            Step::Input(_) | Step::Constant => self.constant(&entry.value)?,
        })
    }

    fn constant(&mut self, value: &S) -> Result<Value, TapeError> {
        let plain = |x: T| {
            let p = x.primal()?;
            (p.is_nan() || (x - T::lit(p)).is_exact_zero() || p.is_infinite()).then_some(p)
        };
        let (Some(re), Some(im)) = (plain(value.re()), plain(value.im())) else {
            return Err(TapeError::Constant);
        };
        if self.kind == Kind::Real || im == 0.0 {
            return Ok(self.b.number(re, &self.kind));
        }
        let (re, im) = (self.b.real(re), self.b.real(im));
        Ok(self.b.mixed(Mixed::Complex, &[re, im]))
    }

    /// The primitive of an operator applied to so many inputs.
    fn primitive(&mut self, op: &Arc<dyn Operator<S>>, n: usize) -> PrimitiveId {
        let same = self.primitives.iter().find(|(o, m, _)| Arc::ptr_eq(o, op) && *m == n);
        if let Some((_, _, id)) = same {
            return *id;
        }
        let mut name = op.name().to_owned();
        while self.operators.contains_key(&name) {
            name.push('\'');
        }
        let inputs = vec![self.kind.clone(); n];
        let more = vec![self.kind.clone(); n + 2];
        let primitive = |name: String, params: Vec<Kind>, result: Kind, pullback| Primitive {
            name,
            params,
            result,
            pullback,
            pushforward: None,
        };
        let bars = Kind::tuple(inputs.clone());
        let back = self.program.primitives.push(primitive(format!("{name}{PULLBACK}"), more, bars, None));
        let id = self.program.primitives.push(primitive(name.clone(), inputs, self.kind.clone(), Some(back)));
        self.operators.insert(name, op.clone());
        self.primitives.push((op.clone(), n, id));
        id
    }
}
