//! Tape: the recorded operations, in order.

use std::{cell::RefCell, cmp::Ordering, collections::HashMap, fmt, panic::Location, sync::Arc};

use smallvec::SmallVec;

use crate::{
    ir::{Number2, Op},
    scalar::{Real, Scalar},
};

use super::{
    builtin_call::BuiltinCall,
    error::TapeError,
    operator::{ArrayOperator, ScalarOperator},
    step::{CustomOperator, OperandCotangents, TapeEvaluator, TapeOp},
    tape_value::TapeValue,
};

/// A list of operations with their values, and the gradients of the last `backward`s.
///
/// Variables borrow it, so it outlives them. It may be as long as memory allows.
pub struct Tape<S: Scalar = f64> {
    pub(super) inner: RefCell<TapeInner<S>>,
}

pub(super) struct TapeInner<S: Scalar> {
    pub(super) entries: Vec<TapeEntry<S>>,
    gradients: Vec<Option<TapeValue<S>>>,
    /// First error that could not be returned.
    pub(super) fault: Option<TapeError>,
    /// The comparisons that decided which path was taken.
    pub(super) path: Vec<TapeComparison>,
    /// Inputs set since the values were computed.
    changed: Vec<usize>,
    engine: TapeEvaluator<S>,
}

/// Entry of a tape: an operation and its value.
pub(super) struct TapeEntry<S: Scalar> {
    pub(super) op: TapeOp<S>,
    pub(super) args: SmallVec<[usize; 2]>,
    pub(super) value: TapeValue<S>,
    /// True if it depends on a variable.
    active: bool,
    /// Location in the user's code.
    pub(super) at: &'static Location<'static>,
}

/// Right side of a comparison.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ComparedSide {
    Entry(usize),
    Number(f64),
}

/// A comparison, with its answer.
#[derive(Clone, Copy)]
pub(super) struct TapeComparison {
    /// Length of the tape at the comparison.
    pub(super) made: usize,
    pub(super) left: usize,
    pub(super) right: ComparedSide,
    pub(super) order: Option<Ordering>,
    pub(super) at: &'static Location<'static>,
}

impl<S: Scalar> Default for Tape<S> {
    fn default() -> Tape<S> {
        let (entries, gradients, changed) = (Vec::new(), Vec::new(), Vec::new());
        Tape {
            inner: RefCell::new(TapeInner {
                entries,
                gradients,
                fault: None,
                path: Vec::new(),
                changed,
                engine: TapeEvaluator::default(),
            }),
        }
    }
}

impl Tape {
    /// Creates an empty tape of floats. For other numbers: `Tape::<Complex<f64>>::default()`.
    #[must_use]
    pub fn new() -> Tape {
        Tape::default()
    }
}

impl<T: Real, S: Scalar<Real = T>> Tape<S> {
    /// Wraps an operator with its state, ready to be [applied](Tape::apply) any number of times.
    pub fn operator(
        &self,
        operator: impl ScalarOperator<S> + 'static,
    ) -> Arc<dyn ScalarOperator<S>> {
        Arc::new(operator)
    }

    /// Wraps an operator on arrays, see [`apply_to_arrays`](Tape::apply_to_arrays).
    pub fn array_operator(
        &self,
        operator: impl ArrayOperator<S> + 'static,
    ) -> Arc<dyn ArrayOperator<S>> {
        Arc::new(operator)
    }

    #[track_caller]
    pub(super) fn custom(
        &self,
        op: CustomOperator<S>,
        arity: Option<usize>,
        inputs: &[(&Tape<S>, usize)],
    ) -> Result<usize, TapeError> {
        let (name, given) = (|| op.name().to_owned(), inputs.len());
        if let Some(expected) = arity.filter(|n| *n != given) {
            return Err(TapeError::Arity { operator: name(), given, expected });
        }
        self.try_push(TapeOp::Custom(op), inputs)
    }

    /// Sets all gradients to zero.
    pub fn zero_gradients(&self) {
        self.inner.borrow_mut().gradients.clear();
    }

    /// Returns the number of entries: inputs, constants and operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.borrow().entries.len()
    }

    /// Returns true if there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the error that the operators on the tape could not return, if there was one.
    #[must_use]
    pub fn fault(&self) -> Option<TapeError> {
        self.inner.borrow().fault.clone()
    }

    /// Notes a comparison, unless all of it is constant.
    #[track_caller]
    pub(super) fn compared(&self, left: usize, right: ComparedSide, order: Option<Ordering>) {
        let inner = &mut *self.inner.borrow_mut();
        let is_active =
            |side: ComparedSide| matches!(side, ComparedSide::Entry(k) if inner.entries[k].active);
        if is_active(ComparedSide::Entry(left)) || is_active(right) {
            let (made, at) = (inner.entries.len(), Location::caller());
            inner.path.push(TapeComparison { made, left, right, order, at });
        }
    }

    #[track_caller]
    pub(super) fn push(
        &self,
        step: TapeOp<S>,
        args: SmallVec<[usize; 2]>,
        value: TapeValue<S>,
        active: bool,
    ) -> usize {
        let entries = &mut self.inner.borrow_mut().entries;
        entries.push(TapeEntry { op: step, args, value, active, at: Location::caller() });
        entries.len() - 1
    }

    /// Computes and notes an operation.
    #[track_caller]
    fn try_push(&self, step: TapeOp<S>, args: &[(&Tape<S>, usize)]) -> Result<usize, TapeError> {
        if args.iter().any(|(tape, _)| !std::ptr::eq(*tape, self)) {
            return Err(TapeError::OtherTape { operation: step.name() });
        }
        self.refresh();
        let args: SmallVec<[usize; 2]> = args.iter().map(|(_, k)| *k).collect();
        let inner = &mut *self.inner.borrow_mut();
        let active = args.iter().any(|a| inner.entries[*a].active);
        let at = Location::caller();
        let value = inner.value(&step, &args).map_err(|e| e.at_location(at))?;
        inner.entries.push(TapeEntry { op: step, args, value, active, at });
        Ok(inner.entries.len() - 1)
    }

    /// Records an operation; an error is kept as the fault of the tape. `array` is true if the
    /// result is an array, for a placeholder if it fails.
    #[track_caller]
    pub(super) fn operation(
        &self,
        step: TapeOp<S>,
        args: &[(&Tape<S>, usize)],
        array: bool,
    ) -> usize {
        match self.try_push(step, args) {
            Ok(index) => index,
            Err(fault) => {
                self.poison(fault, if array { TapeValue::nan_array() } else { TapeValue::nan() })
            }
        }
    }

    /// Records a call of a function of the language; `array` is true if the result is an array, for
    /// a placeholder if the call fails.
    #[track_caller]
    pub(super) fn call(&self, call: BuiltinCall, args: &[(&Tape<S>, usize)], array: bool) -> usize {
        let operator = call.name.to_owned();
        let noted = (|| {
            if args.iter().any(|(tape, _)| !std::ptr::eq(*tape, self)) {
                return Err(TapeError::OtherTape { operation: operator.clone() });
            }
            let inner = &mut *self.inner.borrow_mut();
            let arrays = args.iter().map(|(_, k)| inner.entries[*k].value.is_array()).collect();
            inner.engine.kernel(call, arrays).map_err(|reason| TapeError::Operator {
                operator,
                reason,
                at: None,
            })
        })();
        match noted {
            Ok(kernel) => self.operation(TapeOp::Call(kernel), args, array),
            Err(fault) => {
                let value = if array { TapeValue::nan_array() } else { TapeValue::nan() };
                self.poison(fault.at_location(Location::caller()), value)
            }
        }
    }

    /// Keeps an error and records NaN in place of the value.
    #[track_caller]
    pub(super) fn poison(&self, fault: TapeError, value: TapeValue<S>) -> usize {
        self.inner.borrow_mut().fault.get_or_insert(fault);
        self.push(TapeOp::Constant, SmallVec::new(), value, false)
    }

    /// Computes anew the values that depend on inputs that were set.
    pub(super) fn refresh(&self) {
        let inner = &mut *self.inner.borrow_mut();
        if inner.changed.is_empty() {
            return;
        }
        let set = std::mem::take(&mut inner.changed);
        let mut changed = vec![false; inner.entries.len()];
        for k in &set {
            changed[*k] = true;
        }
        let first = set.into_iter().min().unwrap_or(0);
        for k in first..inner.entries.len() {
            if !inner.entries[k].args.iter().any(|a| changed[*a]) {
                continue;
            }
            changed[k] = true;
            let (step, args) = (inner.entries[k].op.clone(), inner.entries[k].args.clone());
            match inner.value(&step, &args) {
                Ok(value) => inner.entries[k].value = value,
                Err(fault) => {
                    let entry = &mut inner.entries[k];
                    inner.fault.get_or_insert(fault.at_location(entry.at));
                    entry.value = if entry.value.is_array() {
                        TapeValue::nan_array()
                    } else {
                        TapeValue::nan()
                    };
                }
            }
        }
    }

    #[track_caller]
    pub(super) fn set(&self, index: usize, value: TapeValue<S>) {
        let mut inner = self.inner.borrow_mut();
        let entry = &mut inner.entries[index];
        let fault = match &entry.op {
            TapeOp::Input(_) if entry.value.shape() == value.shape() => {
                entry.value = value;
                inner.changed.push(index);
                return;
            }
            TapeOp::Input(name) => TapeError::Shape {
                name: name.clone(),
                given: value.shape(),
                expected: entry.value.shape(),
                at: Location::caller(),
            },
            step => TapeError::NotAnInput { name: step.name() },
        };
        inner.fault.get_or_insert(fault);
    }

    pub(super) fn value(&self, index: usize) -> TapeValue<S> {
        self.refresh();
        self.inner.borrow().entries[index].value.clone()
    }

    pub(super) fn gradient(&self, index: usize) -> TapeValue<S> {
        let inner = self.inner.borrow();
        let found = inner.gradients.get(index).cloned().flatten();
        found.unwrap_or_else(|| inner.entries[index].value.zero_like())
    }

    /// Runs one sweep from the result back; adds to the gradients.
    #[track_caller]
    pub(super) fn backward(&self, result: usize, seed: TapeValue<S>) -> Result<(), TapeError> {
        self.refresh();
        let inner = &mut *self.inner.borrow_mut();
        if let Some(fault) = &inner.fault {
            return Err(fault.clone());
        }
        let (given, expected) = (seed.shape(), inner.entries[result].value.shape());
        if given != expected {
            let name = inner.entries[result].op.name();
            return Err(TapeError::Shape { name, given, expected, at: Location::caller() });
        }
        let mut bars: Vec<Option<TapeValue<S>>> = vec![None; result + 1];
        // Entries all of which a cotangent reaches. A seed that is an array may
        // contain zeros that are not reached.
        let mut all = vec![false; result + 1];
        all[result] = !seed.is_array();
        bars[result] = Some(seed);
        let mut decomposed = DecompositionUse::default();
        for k in (0..=result).rev() {
            let Some(bar) = bars[k].take().filter(|_| inner.entries[k].active) else {
                continue;
            };
            let entry = &inner.entries[k];
            if let (TapeOp::Part(call), [a]) = (&entry.op, entry.args.as_slice()) {
                if inner.entries[*a].active {
                    let sum = bars[*a].get_or_insert_with(|| inner.entries[*a].value.zero_like());
                    sum.add_to_part(&call.ints(), &bar);
                }
                bars[k] = Some(bar);
                continue;
            }
            let parts = inner.pull(k, &bar, all[k])?;
            bars[k] = Some(bar);
            let entry = &inner.entries[k];
            decomposed.visit(k, &inner.entries)?;
            for (j, (&a, part)) in entry.args.iter().zip(parts).enumerate() {
                let Some(part) = part.filter(|_| inner.entries[a].active) else { continue };
                all[a] |= all[k] && entry.op.is_dense_in(j);
                match &mut bars[a] {
                    Some(sum) => sum.add(&part),
                    none => *none = Some(part),
                }
            }
        }
        // Only a sweep that reached its end counts.
        if inner.gradients.len() <= result {
            inner.gradients.resize(result + 1, None);
        }
        for (sum, bar) in inner.gradients.iter_mut().zip(bars) {
            match (sum, bar) {
                (Some(sum), Some(bar)) => sum.add(&bar),
                (none, bar @ Some(_)) => *none = bar,
                (_, None) => {}
            }
        }
        Ok(())
    }
}

/// Decompositions whose values (by the entry) and whose vectors a cotangent reaches, by name and
/// matrix.
#[derive(Default)]
struct DecompositionUse(HashMap<(&'static str, usize), (Option<usize>, bool)>);

impl DecompositionUse {
    /// Records that a cotangent reaches an entry.
    ///
    /// # Errors
    /// Cotangents reach both the values and the vectors of a matrix with equal values: neither
    /// determines the derivative of functions such as `V diag(g(w)) V^H` there.
    fn visit<T: Real, S: Scalar<Real = T>>(
        &mut self,
        k: usize,
        entries: &[TapeEntry<S>],
    ) -> Result<(), TapeError> {
        let (TapeOp::Call(kernel), &[matrix]) = (&entries[k].op, entries[k].args.as_slice()) else {
            return Ok(());
        };
        let (name, is_values) = match kernel.call.name {
            "eigvalsh" => ("eigen", true),
            "eigvecsh" => ("eigen", false),
            "svdvals" => ("svd", true),
            "svd_u" | "svd_v" => ("svd", false),
            _ => return Ok(()),
        };
        let (values, has_vectors) = self.0.entry((name, matrix)).or_default();
        match is_values {
            true => *values = Some(k),
            false => *has_vectors = true,
        }
        let Some(at) = values.filter(|_| *has_vectors) else { return Ok(()) };
        let values: Vec<Option<f64>> =
            entries[at].value.array().iter().map(|x| x.re().primal()).collect();
        let is_square = entries[matrix].value.array().matrix().is_some_and(|(m, n)| m == n);
        let is_equal = values.windows(2).any(|w| w[0] == w[1]);
        if !is_equal && (name == "eigen" || is_square || values.last() != Some(&Some(0.0))) {
            return Ok(());
        }
        Err(TapeError::Operator {
            operator: kernel.call.name.to_owned(),
            reason: "the values and the vectors of one matrix are both used, and some values are equal: a function of the \
                     matrix, as `v * g(w)` times the adjoint of `v`, has a gradient in a program that is written as text or by \
                     `program!`"
                .to_owned(),
            at: Some(entries[k].at),
        })
    }
}

impl<T: Real, S: Scalar<Real = T>> TapeInner<S> {
    fn value(&mut self, step: &TapeOp<S>, args: &[usize]) -> Result<TapeValue<S>, TapeError> {
        let held: SmallVec<[&TapeValue<S>; 2]> =
            args.iter().map(|a| &self.entries[*a].value).collect();
        self.engine.value(step, &held)
    }

    /// Returns the cotangents of the operands of an entry.
    fn pull(
        &mut self,
        k: usize,
        bar: &TapeValue<S>,
        all: bool,
    ) -> Result<OperandCotangents<S>, TapeError> {
        let entry = &self.entries[k];
        let args: SmallVec<[&TapeValue<S>; 2]> =
            entry.args.iter().map(|a| &self.entries[*a].value).collect();
        let mut parts = self
            .engine
            .pull(&entry.op, &args, &entry.value, bar, all)
            .map_err(|e| e.at_location(entry.at))?;
        // A constant factor of 0 lets nothing through.
        if let (TapeOp::Op(Op::Number2(Number2::Mul)), &[x, y]) = (&entry.op, entry.args.as_slice())
        {
            for (part, other) in parts.iter_mut().zip([y, x].map(|k| &self.entries[k])) {
                if matches!(other.op, TapeOp::Constant) && other.value.number().is_exact_zero() {
                    *part = None;
                }
            }
        }
        Ok(parts)
    }
}

impl<S: Scalar> fmt::Debug for Tape<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tape of {} entries", self.inner.borrow().entries.len())
    }
}
