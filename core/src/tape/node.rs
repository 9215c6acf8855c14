//! The tape: what was computed, in order.

use std::{any::TypeId, cell::RefCell, collections::HashMap, fmt, sync::Arc};

use smallvec::SmallVec;

use crate::{
    exec::{Bytecode, Datum, Executable, Limits, Machine, NoHost},
    ir::{FunctionBuilder, Kind, Mixed, Op, Param, Program},
    rules::{Contribution, number1, number2, pullback, real1, real2},
    scalar::{N, Real, Scalar},
};

use super::{error::TapeError, operator::Operator, variable::Variable};

/// A list of operations with their values, and the gradients of the last `backward`s.
///
/// Variables borrow it, so it outlives them. It may be as long as memory allows.
pub struct Tape<S: Scalar = f64> {
    pub(super) inner: RefCell<Inner<S>>,
}

pub(super) struct Inner<S: Scalar> {
    pub(super) entries: Vec<Entry<S>>,
    gradients: Vec<S>,
    /// The first thing that went wrong where no error could be returned.
    pub(super) fault: Option<TapeError>,
    /// Inputs set since the values were computed.
    changed: Vec<usize>,
    /// Compiled pullbacks of operations outside the table of partials.
    pullbacks: HashMap<(Mixed, i32), Bytecode>,
}

/// One operation.
pub(super) struct Entry<S: Scalar> {
    pub(super) step: Step<S>,
    pub(super) args: SmallVec<[usize; 2]>,
    pub(super) value: S,
    /// Whether it depends on a variable.
    active: bool,
}

/// What an entry does.
#[derive(Clone)]
pub(super) enum Step<S: Scalar> {
    Input(String),
    Constant,
    Op(Op),
    Power(i32),
    Custom(Arc<dyn Operator<S>>),
}

impl<S: Scalar> Step<S> {
    pub(super) fn name(&self) -> String {
        match self {
            Step::Input(name) => name.clone(),
            Step::Constant => "constant".into(),
            Step::Op(op) => op.name().into(),
            Step::Power(_) => "powi".into(),
            Step::Custom(op) => op.name().into(),
        }
    }
}

/// Real or complex, whichever the numbers are.
pub(super) fn kind_of<S: Scalar>() -> Kind {
    if TypeId::of::<S>() == TypeId::of::<S::Real>() { Kind::Real } else { Kind::Complex }
}

/// A number as a value of a program.
pub(super) fn datum<S: Scalar>(x: &S, kind: &Kind) -> Datum<S> {
    if *kind == Kind::Real { Datum::Real(x.re()) } else { Datum::Complex(x.clone()) }
}

/// The number that a value of a program is.
pub(super) fn number<S: Scalar>(d: &Datum<S>) -> Option<S> {
    d.real().map(|x| S::from_real(x.clone())).or_else(|| d.complex().cloned())
}

impl<S: Scalar> Default for Tape<S> {
    fn default() -> Tape<S> {
        let (entries, gradients, changed) = (Vec::new(), Vec::new(), Vec::new());
        let inner = Inner { entries, gradients, fault: None, changed, pullbacks: HashMap::new() };
        Tape { inner: RefCell::new(inner) }
    }
}

impl Tape {
    /// An empty tape of floats. For other numbers: `Tape::<Complex<f64>>::default()`.
    #[must_use]
    pub fn new() -> Tape {
        Tape::default()
    }
}

impl<T: Real, S: Scalar<Real = T>> Tape<S> {
    /// An input. The name is for prints and for the parameters of frozen functions.
    pub fn variable(&self, name: &str, value: S) -> Variable<'_, S> {
        self.push(Step::Input(name.to_owned()), SmallVec::new(), value, true)
    }

    /// A number without a gradient. Floats need not be wrapped: `x + 1.0` does it.
    pub fn constant(&self, value: S) -> Variable<'_, S> {
        self.push(Step::Constant, SmallVec::new(), value, false)
    }

    /// An operator with its state, ready to be [applied](Tape::apply) any number of times.
    pub fn operator(&self, operator: impl Operator<S> + 'static) -> Arc<dyn Operator<S>> {
        Arc::new(operator)
    }

    /// Applies an operator of one's own.
    ///
    /// # Errors
    /// The number of inputs does not fit, they belong to another tape, or the operator fails.
    pub fn apply<'t>(
        &'t self,
        operator: &Arc<dyn Operator<S>>,
        inputs: &[Variable<'t, S>],
    ) -> Result<Variable<'t, S>, TapeError> {
        let (name, given) = (|| operator.name().to_owned(), inputs.len());
        if let Some(expected) = operator.arity().filter(|n| *n != given) {
            return Err(TapeError::Arity { operator: name(), given, expected });
        }
        if inputs.iter().any(|x| !std::ptr::eq(x.tape, self)) {
            return Err(TapeError::OtherTape { operation: name() });
        }
        self.refresh();
        let step = Step::Custom(operator.clone());
        let args: SmallVec<[usize; 2]> = inputs.iter().map(|x| x.index).collect();
        let (value, active) = self.inner.borrow().compute(&step, &args)?;
        Ok(self.push(step, args, value, active))
    }

    /// Sets all gradients to zero.
    pub fn zero_gradients(&self) {
        self.inner.borrow_mut().gradients.clear();
    }

    /// How many entries it has: inputs, constants and operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.borrow().entries.len()
    }

    /// Whether nothing is on it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The error that the operators on the tape could not return, if there was one.
    #[must_use]
    pub fn fault(&self) -> Option<TapeError> {
        self.inner.borrow().fault.clone()
    }

    fn push(&self, step: Step<S>, args: SmallVec<[usize; 2]>, value: S, active: bool) -> Variable<'_, S> {
        let entries = &mut self.inner.borrow_mut().entries;
        entries.push(Entry { step, args, value, active });
        Variable { tape: self, index: entries.len() - 1 }
    }

    /// Notes an operation; what goes wrong is kept as the fault of the tape.
    pub(super) fn operation(&self, step: Step<S>, args: &[Variable<'_, S>]) -> Variable<'_, S> {
        self.refresh();
        let foreign = args.iter().any(|x| !std::ptr::eq(x.tape, self));
        let computed = if foreign {
            Err(TapeError::OtherTape { operation: step.name() })
        } else {
            let indices: SmallVec<[usize; 2]> = args.iter().map(|x| x.index).collect();
            self.inner.borrow().compute(&step, &indices).map(|(v, active)| (v, active, indices))
        };
        match computed {
            Ok((value, active, indices)) => self.push(step, indices, value, active),
            Err(fault) => {
                self.inner.borrow_mut().fault.get_or_insert(fault);
                self.constant(S::lit(f64::NAN))
            }
        }
    }

    /// Computes anew what depends on inputs that were set.
    pub(super) fn refresh(&self) {
        let mut inner = self.inner.borrow_mut();
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
            let entry = &inner.entries[k];
            match inner.compute(&entry.step, &entry.args) {
                Ok((value, _)) => inner.entries[k].value = value,
                Err(fault) => {
                    inner.fault.get_or_insert(fault);
                    inner.entries[k].value = S::lit(f64::NAN);
                }
            }
        }
    }

    pub(super) fn set(&self, index: usize, value: S) {
        let mut inner = self.inner.borrow_mut();
        let entry = &mut inner.entries[index];
        if let Step::Input(_) = entry.step {
            entry.value = value;
            inner.changed.push(index);
        } else {
            let fault = TapeError::NotAnInput { name: entry.step.name() };
            inner.fault.get_or_insert(fault);
        }
    }

    pub(super) fn value(&self, index: usize) -> S {
        self.refresh();
        self.inner.borrow().entries[index].value.clone()
    }

    pub(super) fn gradient(&self, index: usize) -> S {
        self.inner.borrow().gradients.get(index).cloned().unwrap_or_else(S::zero)
    }

    /// One sweep from the result back; adds to the gradients.
    pub(super) fn backward(&self, result: usize, seed: S) -> Result<(), TapeError> {
        self.refresh();
        let mut inner = self.inner.borrow_mut();
        if let Some(fault) = &inner.fault {
            return Err(fault.clone());
        }
        let mut bars: Vec<Option<S>> = vec![None; result + 1];
        bars[result] = Some(seed);
        for k in (0..=result).rev() {
            let Some(bar) = bars[k].clone().filter(|_| inner.entries[k].active) else {
                bars[k] = None;
                continue;
            };
            let parts = inner.pull(k, &bar)?;
            let args = &inner.entries[k].args;
            for (&a, part) in args.iter().zip(parts) {
                if !inner.entries[a].active {
                    continue;
                }
                bars[a] = Some(match bars[a].take() {
                    Some(sum) => sum + part,
                    None => part,
                });
            }
        }
        // Only a sweep that reached its end counts.
        if inner.gradients.len() <= result {
            inner.gradients.resize(result + 1, S::zero());
        }
        for (sum, bar) in inner.gradients.iter_mut().zip(bars) {
            if let Some(bar) = bar {
                *sum += bar;
            }
        }
        Ok(())
    }
}

impl<T: Real, S: Scalar<Real = T>> Inner<S> {
    /// The value of an operation, and whether it depends on a variable.
    fn compute(&self, step: &Step<S>, args: &[usize]) -> Result<(S, bool), TapeError> {
        let active = args.iter().any(|a| self.entries[*a].active);
        let x = |k: usize| &self.entries[args[k]].value;
        let failed = |reason: String| TapeError::Operator { operator: step.name(), reason };
        let value = match step {
            Step::Op(Op::Number1(op)) => op.value(x(0)),
            Step::Op(Op::Number2(op)) => op.value(x(0), x(1)),
            Step::Op(Op::Real1(op)) => S::from_real(op.value(&x(0).re()).map_err(|e| failed(e.to_string()))?),
            Step::Op(Op::Real2(op)) => {
                S::from_real(op.value(&x(0).re(), &x(1).re()).map_err(|e| failed(e.to_string()))?)
            }
            Step::Op(Op::Mixed(op)) => match op {
                Mixed::Conj => x(0).conj(),
                Mixed::Re => S::from_real(x(0).re()),
                Mixed::Im => S::from_real(x(0).im()),
                Mixed::Abs2 => S::from_real(x(0).abs2()),
                Mixed::Modulus => S::from_real(x(0).re().hypot(&x(0).im())),
                Mixed::Arg => S::from_real(x(0).im().atan2(&x(0).re())),
                other => return Err(failed(format!("`{}` is no operation of a tape", other.name()))),
            },
            Step::Power(n) => x(0).powi(*n),
            Step::Custom(op) => {
                let inputs: Vec<S> = args.iter().map(|a| self.entries[*a].value.clone()).collect();
                op.forward(&inputs).map_err(failed)?
            }
            Step::Input(_) | Step::Constant | Step::Op(_) => {
                return Err(failed("it is no operation of a tape".into()));
            }
        };
        Ok((value, active))
    }

    /// The cotangents of the operands of an entry.
    fn pull(&mut self, k: usize, bar: &S) -> Result<SmallVec<[S; 2]>, TapeError> {
        let entry = &self.entries[k];
        let x = |k: usize| N(self.entries[entry.args[k]].value.clone());
        let re = |k: usize| N(self.entries[entry.args[k]].value.re());
        let y = N(entry.value.clone());
        // As in the engine: a singular partial times an exact zero is zero.
        let times = |p: S, singular: bool| {
            if singular && bar.is_exact_zero() { S::zero() } else { p.conj() * bar }
        };
        Ok(match &entry.step {
            Step::Input(_) | Step::Constant => SmallVec::new(),
            Step::Op(Op::Number1(op)) => {
                SmallVec::from_iter([times(number1(*op, &x(0), &y).0, op.is_singular())])
            }
            Step::Op(Op::Number2(op)) => {
                number2(*op, &x(0), &x(1), &y).into_iter().map(|p| times(p.0, op.is_singular())).collect()
            }
            Step::Op(Op::Real1(op)) => {
                let p = real1(*op, &re(0), &N(entry.value.re()));
                SmallVec::from_iter([times(S::from_real(p.0), op.is_singular())])
            }
            Step::Op(Op::Real2(op)) => real2(*op, &re(0), &re(1), &N(entry.value.re()))
                .into_iter()
                .map(|p| times(S::from_real(p.0), op.is_singular()))
                .collect(),
            Step::Op(Op::Mixed(op)) => {
                let op = *op;
                SmallVec::from_iter([self.pull_emitted(k, op, 0, bar)?])
            }
            Step::Power(n) => {
                let n = *n;
                let op = if kind_of::<S>() == Kind::Real { Mixed::PowiReal } else { Mixed::PowiComplex };
                SmallVec::from_iter([self.pull_emitted(k, op, n, bar)?])
            }
            Step::Custom(op) => {
                let inputs: Vec<S> = entry.args.iter().map(|a| self.entries[*a].value.clone()).collect();
                let operator = || op.name().to_owned();
                let bars = op
                    .backward(&inputs, &entry.value, bar)
                    .map_err(|reason| TapeError::Operator { operator: operator(), reason })?;
                let (given, expected) = (bars.len(), inputs.len());
                if given != expected {
                    return Err(TapeError::Cotangents { operator: operator(), given, expected });
                }
                SmallVec::from_vec(bars)
            }
            Step::Op(_) => SmallVec::new(),
        })
    }

    /// The cotangent of the operand by the rule that the engine has, which emits a program: compiled once.
    fn pull_emitted(&mut self, k: usize, op: Mixed, n: i32, bar: &S) -> Result<S, TapeError> {
        let operator = || op.name().to_owned();
        let failed = |reason: String| TapeError::Operator { operator: operator(), reason };
        let (params, result) = op.signature();
        let kind = params[0].clone();
        if let std::collections::hash_map::Entry::Vacant(slot) = self.pullbacks.entry((op, n)) {
            let code = emit_pullback(op, n, &kind, &result).map_err(&failed)?;
            slot.insert(code);
        }
        let entry = &self.entries[k];
        let z = datum(&self.entries[entry.args[0]].value, &kind);
        let args = [z, datum(&entry.value, &result), datum(bar, &result)];
        let Some(code) = self.pullbacks.get(&(op, n)) else { return Err(failed("no pullback".into())) };
        let answer = code
            .call(&mut Machine::new(), &NoHost, &Limits::default(), &args)
            .map_err(|e| failed(e.to_string()))?;
        number(&answer).ok_or_else(|| failed("the pullback is no number".into()))
    }
}

/// `(z, y, y_bar) -> z_bar` as the rules say.
fn emit_pullback(op: Mixed, n: i32, kind: &Kind, result: &Kind) -> Result<Bytecode, String> {
    let params = [("z", kind), ("y", result), ("y_bar", result)];
    let params = params.into_iter().map(|(name, kind)| Param::new(name, kind.clone())).collect();
    let mut b = FunctionBuilder::new("pullback", params, kind.clone());
    let mut args = vec![b.param(0)];
    if op.signature().0.len() == 2 {
        args.push(b.int(i64::from(n)));
    }
    let wanted: Vec<bool> = args.iter().enumerate().map(|(k, _)| k == 0).collect();
    let (y, y_bar) = (b.param(1), b.param(2));
    let parts = pullback(&mut b, Op::Mixed(op), &args, y, y_bar, &wanted);
    let bar = match parts.as_deref() {
        Some([Contribution::Add(v), ..]) => *v,
        Some([Contribution::Zero, ..]) => b.zero(kind),
        _ => return Err("it has no rule".into()),
    };
    b.ret(bar);
    let mut program = Program::new();
    let f = program.add(b.finish());
    Bytecode::compile(&program, f).map_err(|e| e.to_string())
}

/// Prints one line for each entry but the constants: `v2 = mul(v1, x) = 1.8185948536513634`.
impl<S: Scalar> fmt::Display for Tape<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner.borrow();
        let mut names: Vec<String> = Vec::with_capacity(inner.entries.len());
        let mut count = 0;
        for entry in &inner.entries {
            let name = match &entry.step {
                Step::Input(name) => name.clone(),
                Step::Constant => format!("{:?}", entry.value),
                _ => {
                    count += 1;
                    format!("v{count}")
                }
            };
            match &entry.step {
                Step::Constant => {}
                Step::Input(_) => writeln!(f, "{name} = {:?}", entry.value)?,
                step => {
                    let mut args: Vec<String> = entry.args.iter().map(|a| names[*a].clone()).collect();
                    if let Step::Power(n) = step {
                        args.push(n.to_string());
                    }
                    writeln!(f, "{name} = {}({}) = {:?}", step.name(), args.join(", "), entry.value)?;
                }
            }
            names.push(name);
        }
        Ok(())
    }
}

impl<S: Scalar> fmt::Debug for Tape<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tape of {} entries", self.inner.borrow().entries.len())
    }
}
