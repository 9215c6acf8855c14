//! Conversion of a tape to a program.

use std::collections::HashMap;

use crate::{
    entity::{PrimitiveId, Value},
    exec::{Datum, Derivatives, Host, HostError},
    ir::{ArrayOp, Element, Kind, Mixed, Op, Param, Position, Primitive, Program},
    scalar::{Real, Scalar},
    staging::StagingBuilder,
    trace::{ComplexExpr, Expr},
};

use super::{
    array::ArrayVariable,
    builtin_call::BuiltinCall,
    error::TapeError,
    node::{ComparedSide, Tape, TapeComparison, TapeEntry},
    step::{CustomOperator, TapeOp},
    tape_value::{TapeValue, kind_of, kind_of_value},
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
    operators: HashMap<String, CustomOperator<S>>,
}

impl<S: Scalar> std::fmt::Debug for Frozen<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.program)
    }
}

impl<T: Real, S: Scalar<Real = T>> Frozen<S> {
    /// Returns the program. User-defined operators are primitives in it, with their pullbacks.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns value, gradient and all other derivatives, run with the operators of the tape. These
    /// have a pullback only. Its transpose serves `jvp` if an operator gives one real number;
    /// through one that gives an array, and for `hvp`, there is an error.
    ///
    /// # Errors
    /// Never for a function as it was frozen.
    pub fn derivatives(&self) -> Result<Derivatives<'_, S>, TapeError> {
        Ok(Derivatives::new(&self.program, &self.name)?.with_host(self))
    }
}

/// Computes the operators of the tape.
impl<T: Real, S: Scalar<Real = T>> Host<S> for Frozen<S> {
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        let failed = |reason: String| HostError::Failed { name: primitive.name.clone(), reason };
        let held: Vec<TapeValue<S>> =
            args.iter().cloned().filter_map(TapeValue::of_datum).collect();
        if let Some(op) = self.operators.get(&primitive.name) {
            return Ok(op.forward(&held).map_err(failed)?.datum());
        }
        let base = primitive.name.strip_suffix(PULLBACK).and_then(|n| self.operators.get(n));
        let (Some(op), [inputs @ .., y, y_bar]) = (base, held.as_slice()) else {
            return Err(HostError::unknown(primitive));
        };
        let mut y_bar = y_bar.datum();
        y_bar.extend_like(&y.datum());
        let y_bar = TapeValue::of_datum(y_bar).ok_or_else(|| HostError::unknown(primitive))?;
        let bars = op.backward(inputs, y, &y_bar).map_err(|e| failed(e.to_string()))?;
        Ok(Datum::Tuple(bars.iter().map(TapeValue::datum).collect()))
    }
}

/// Suffix of the name of an operator's pullback.
const PULLBACK: &str = ".pullback";

impl<T: Real, S: Scalar<Real = T>> Variable<'_, S> {
    /// Returns the function of the tape's inputs, in the order in which they were made, that gives
    /// this variable. It holds the path that was taken, and checks it: where a comparison that was
    /// made on the way is decided otherwise, a run is an error
    /// ([`RunError::Path`](crate::exec::RunError::Path)). Constant arrays are written out in it,
    /// element by element.
    ///
    /// # Errors
    /// Something went wrong before, two inputs have one name, or a constant carries a derivative.
    pub fn freeze(self, name: &str) -> Result<Frozen<S>, TapeError> {
        self.tape.freeze(self.index, name, true)
    }

    /// Returns the formula as text, of the path that was taken.
    pub(super) fn formula(self) -> Result<String, TapeError> {
        let frozen = self.tape.freeze(self.index, "f", false)?;
        Ok(match kind_of::<S>() {
            Kind::Real => Expr::from_program(&frozen.program, "f")?.to_string(),
            _ => ComplexExpr::from_program(&frozen.program, "f")?.to_string(),
        })
    }
}

impl<T: Real, S: Scalar<Real = T>> ArrayVariable<'_, S> {
    /// Freezes the function that gives this array, like [`Variable::freeze`].
    ///
    /// # Errors
    /// Those of [`Variable::freeze`].
    pub fn freeze(self, name: &str) -> Result<Frozen<S>, TapeError> {
        self.tape.freeze(self.index, name, true)
    }
}

impl<T: Real, S: Scalar<Real = T>> Tape<S> {
    fn freeze(&self, index: usize, name: &str, guarded: bool) -> Result<Frozen<S>, TapeError> {
        let inner = self.inner.borrow();
        if let Some(fault) = &inner.fault {
            return Err(fault.clone());
        }
        let entries = &inner.entries;
        let mut params: Vec<Param> = Vec::new();
        for entry in entries {
            if let TapeOp::Input(name) = &entry.op {
                if params.iter().any(|p| p.name == *name) {
                    return Err(TapeError::Duplicate { name: name.clone() });
                }
                params.push(Param::new(name, kind_of_value::<S>(entry.value.is_array())));
            }
        }
        let mut needed = vec![false; index + 1];
        needed[index] = true;
        // Later comparisons had no part in it.
        let path: Vec<TapeComparison> =
            inner.path.iter().filter(|c| guarded && c.made <= index).copied().collect();
        for c in &path {
            needed[c.left] = true;
            if let ComparedSide::Entry(k) = c.right {
                needed[k] = true;
            }
        }
        for k in (0..=index).rev() {
            if needed[k] {
                entries[k].args.iter().for_each(|a| needed[*a] = true);
            }
        }
        let result = kind_of_value::<S>(entries[index].value.is_array());
        let s = StagingBuilder::new(name, params, result);
        let mut freezing = Freezer {
            s,
            kind: kind_of::<S>(),
            program: Program::new(),
            operators: HashMap::new(),
            primitives: Vec::new(),
        };
        let mut values: Vec<Option<Value>> = vec![None; index + 1];
        let mut input = 0;
        let mut path = path.into_iter().peekable();
        for (k, entry) in entries.iter().enumerate().take(index + 1) {
            while let Some(c) = path.next_if(|c| c.made <= k) {
                freezing.s.b.set_position(Position::new(c.at.line(), c.at.column()));
                let right = match c.right {
                    ComparedSide::Entry(k) => values[k],
                    ComparedSide::Number(x) => Some(freezing.s.b.real(x)),
                };
                if let (Some(left), Some(right)) = (values[c.left], right) {
                    freezing.s.b.effect(Op::Expect(c.order), &[left, right]);
                }
            }
            if let TapeOp::Input(_) = entry.op {
                values[k] = Some(freezing.s.b.param(input));
                input += 1;
            } else if needed[k] {
                let args: Vec<Value> = entry.args.iter().filter_map(|a| values[*a]).collect();
                freezing.s.b.set_position(Position::new(entry.at.line(), entry.at.column()));
                values[k] =
                    Some(freezing.entry(entry, &args).map_err(|e| e.at_location(entry.at))?);
            }
        }
        let Freezer { mut s, mut program, operators, kind, .. } = freezing;
        let result = values[index].unwrap_or_else(|| s.b.zero(&kind));
        s.b.ret(result);
        program.add(s.finish());
        Ok(Frozen { program, name: name.to_owned(), operators })
    }
}

struct Freezer<S: Scalar> {
    s: StagingBuilder,
    kind: Kind,
    program: Program,
    operators: HashMap<String, CustomOperator<S>>,
    primitives: Vec<(CustomOperator<S>, Vec<Kind>, PrimitiveId)>,
}

impl<T: Real, S: Scalar<Real = T>> Freezer<S> {
    fn call(&mut self, call: &BuiltinCall, args: &[Value]) -> Result<Value, TapeError> {
        let failed =
            |reason| TapeError::Operator { operator: call.name.to_owned(), reason, at: None };
        call.stage(&mut self.s, args, self.kind == Kind::Complex).map_err(failed)
    }

    fn entry(&mut self, entry: &TapeEntry<S>, args: &[Value]) -> Result<Value, TapeError> {
        let kind = self.kind.clone();
        let b = &mut self.s.b;
        Ok(match &entry.op {
            TapeOp::Op(Op::Mixed(op)) => {
                let v = b.mixed(*op, args);
                if op.signature().1 == Kind::Real { b.mixed(Mixed::Promote, &[v]) } else { v }
            }
            TapeOp::Op(op) => b.inst(*op, args, kind),
            TapeOp::Power(n) => {
                let op = if kind == Kind::Real { Mixed::PowiReal } else { Mixed::PowiComplex };
                let n = b.int(*n);
                b.inst(Op::Mixed(op), &[args[0], n], kind)
            }
            TapeOp::Part(call) => self.call(call, args)?,
            TapeOp::Call(kernel) => self.call(&kernel.call, args)?,
            TapeOp::Custom(op) => {
                let kinds: Vec<Kind> = args.iter().map(|v| b.kind(*v).clone()).collect();
                let result = kind_of_value::<S>(entry.value.is_array());
                let id = self.primitive(op, kinds, &result);
                self.s.b.inst(Op::Primitive(id), args, result)
            }
            TapeOp::Input(_) | TapeOp::Constant => self.constant(&entry.value)?,
        })
    }

    fn constant(&mut self, value: &TapeValue<S>) -> Result<Value, TapeError> {
        if !value.is_array() {
            return self.number(&value.number());
        }
        let array = value.array();
        let items = array.iter().map(|x| self.number(x)).collect::<Result<Vec<Value>, _>>()?;
        let b = &mut self.s.b;
        let flat = b.inst(Op::Array, &items, kind_of_value::<S>(true));
        if array.is_vector() {
            return Ok(flat);
        }
        let lengths: Vec<Value> = array.shape().iter().map(|&n| b.int(n as i64)).collect();
        let shape = b.inst(Op::Array, &lengths, Kind::Array(Element::Int));
        Ok(b.on_arrays(ArrayOp::Reshape, &[flat, shape]))
    }

    fn number(&mut self, value: &S) -> Result<Value, TapeError> {
        let plain = |x: T| {
            let p = x.primal()?;
            (p.is_nan() || (x - T::lit(p)).is_exact_zero() || p.is_infinite()).then_some(p)
        };
        let (Some(re), Some(im)) = (plain(value.re()), plain(value.im())) else {
            return Err(TapeError::Constant);
        };
        let b = &mut self.s.b;
        if self.kind == Kind::Real || im == 0.0 {
            return Ok(b.number(re, &self.kind));
        }
        let (re, im) = (b.real(re), b.real(im));
        Ok(b.mixed(Mixed::Complex, &[re, im]))
    }

    /// Returns the primitive of an operator applied to inputs of these kinds.
    fn primitive(
        &mut self,
        op: &CustomOperator<S>,
        inputs: Vec<Kind>,
        result: &Kind,
    ) -> PrimitiveId {
        let same = self.primitives.iter().find(|(o, kinds, _)| o.is_same(op) && *kinds == inputs);
        if let Some((_, _, id)) = same {
            return *id;
        }
        let mut name = op.name().to_owned();
        while self.operators.contains_key(&name) {
            name.push('\'');
        }
        let mut more = inputs.clone();
        more.extend([result.clone(), result.clone()]);
        let primitive = |name: String, params: Vec<Kind>, result: Kind, pullback| Primitive {
            name,
            params,
            result,
            pullback,
            pushforward: None,
        };
        let bars = Kind::tuple(inputs.clone());
        let back =
            self.program.primitives.push(primitive(format!("{name}{PULLBACK}"), more, bars, None));
        let first = primitive(name.clone(), inputs.clone(), result.clone(), Some(back));
        let id = self.program.primitives.push(first);
        self.operators.insert(name, op.clone());
        self.primitives.push((op.clone(), inputs, id));
        id
    }
}
