//! The gradient of an ordinary program with a long loop, in a budget of bytes.
//!
//! A loop `for i in a..b` in a function, or in one that it calls, is outlined: the code before it,
//! one iteration, and the code after it become functions. [`Steps`] reverses the iterations, with
//! as many snapshots of their states as the budget allows; several consecutive loops are each
//! treated so.
//!
//! ```
//! use ketgrad_core::{exec::{Datum, Derivatives}, text::parse_program};
//!
//! // A pendulum with friction: the place after 100 seconds.
//! let source = "fn place(x0, friction, n: int) {
//!     let mut x = x0;
//!     let mut v = 0.0;
//!     for i in 0..n {
//!         x += 0.01 * v;
//!         v -= 0.01 * (sin(x) + friction * v);
//!     }
//!     x
//! }";
//! let program = parse_program(source)?;
//! let args = [Datum::Real(1.0), Datum::Real(0.1), Datum::Int(10_000)];
//! let mut whole = Derivatives::<f64>::new(&program, "place")?;
//! let (value, gradient) = whole.value_and_gradient(&args)?;
//! let mut little = Derivatives::<f64>::new(&program, "place")?.with_memory(20_000)?;
//! let (same, close) = little.value_and_gradient(&args)?;
//! assert_eq!(value, same);
//! assert!((gradient[1].real().unwrap() - close[1].real().unwrap()).abs() < 1e-12);
//! assert!(little.memory() <= 20_000 && whole.memory() > 200_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{
    adjoint::outline,
    ir::Program,
    scalar::{Real, Scalar},
};

use super::{
    BudgetError, CallError, Derivatives, DeriveError,
    checkpoint::{Steps, size},
    data::Datum,
    derivatives::Gradient,
};

/// Number of times that a gradient is computed again with less memory if it exceeds the budget.
const TRIES: usize = 4;

/// A function whose gradient stays in a budget of bytes.
#[derive(Debug)]
pub struct Budgeted<'h, S: Scalar> {
    name: String,
    budget: usize,
    part: LoopSegment<'h, S>,
    /// Bytes of the arguments that were measured, and the bytes that are needed for them whatever
    /// is kept.
    least: Option<(usize, usize)>,
    memory: usize,
    repeated: usize,
}

/// A function, or what it is made of.
#[derive(Debug)]
enum LoopSegment<'h, S: Scalar> {
    Plain(Box<Derivatives<'h, S>>),
    Loop {
        before: Box<Derivatives<'h, S>>,
        steps: Box<Steps<'h, S>>,
        after: Box<LoopSegment<'h, S>>,
        state: usize,
        params: usize,
    },
}

/// Memory and recomputation of one run.
#[derive(Default)]
struct BudgetUsage {
    memory: usize,
    repeated: usize,
}

impl<'h, T: Real, S: Scalar<Real = T>> Derivatives<'h, S> {
    /// Returns the function with its gradient in a budget: `bytes` for the snapshots of its loops,
    /// the trace of the iterations that are reversed together, and the registers and traces outside
    /// of the loops. Host, level and limits stay.
    ///
    /// # Errors
    /// It has no loop, or one that is not a `for` over a range, is left early, or is not reached on
    /// every path.
    pub fn with_memory(self, bytes: usize) -> Result<Budgeted<'h, S>, DeriveError> {
        let name = self.program().functions[self.function()].name.clone();
        let mut program = self.program().clone();
        let part = LoopSegment::from_function(&mut program, &self, &name)?;
        if matches!(part, LoopSegment::Plain(_)) {
            return Err(BudgetError::None { function: name }.into());
        }
        Ok(Budgeted { name, budget: bytes, part, least: None, memory: 0, repeated: 0 })
    }
}

impl<T: Real, S: Scalar<Real = T>> Budgeted<'_, S> {
    /// Computes the value and the gradient by each parameter that has one.
    ///
    /// # Errors
    /// Those of [`Derivatives::value_and_gradient`]; the state of a loop grows; or one iteration
    /// and the code outside of the loops exceed the budget by themselves.
    pub fn value_and_gradient(
        &mut self,
        args: &[Datum<S>],
    ) -> Result<(T, Gradient<S>), DeriveError> {
        match self.vjp(args, Datum::Real(T::one()))? {
            (Datum::Real(y), gradient) => Ok((y, gradient)),
            (other, _) => Err(CallError::Undefined { name: other.describe() }.into()),
        }
    }

    /// Computes the value and the cotangents of the parameters that have one, for the cotangent of
    /// the value.
    ///
    /// # Errors
    /// Those of [`value_and_gradient`](Budgeted::value_and_gradient).
    pub fn vjp(
        &mut self,
        args: &[Datum<S>],
        y_bar: Datum<S>,
    ) -> Result<(Datum<S>, Gradient<S>), DeriveError> {
        let (name, budget) = (self.name.clone(), self.budget);
        let exceeded =
            |needed: usize| BudgetError::Exceeded { function: name.clone(), needed, budget };
        let given = args.iter().map(size).sum();
        let least = match self.least {
            Some((measured, least)) if measured == given => least,
            // If it cannot be measured beforehand, the run itself reports what is wrong, or that it
            // needed too much.
            _ => self.part.least(args, &y_bar).unwrap_or(0),
        };
        self.least = Some((given, least));
        let Some(mut more) = budget.checked_sub(least) else { return Err(exceeded(least).into()) };
        // Memory that a loop has kept stays allocated for the next call, so each loop has its
        // share.
        let loops = self.part.loop_count().max(1);
        for _ in 0..TRIES {
            let mut report = BudgetUsage::default();
            let result =
                self.part.vjp(args, y_bar.clone(), more / loops, &self.name, &mut report)?;
            (self.memory, self.repeated) = (report.memory, report.repeated);
            if self.memory <= budget {
                return Ok(result);
            }
            // Traces of other iterations may be longer than those that were measured.
            if more == 0 {
                break;
            }
            more = more.saturating_sub(2 * (self.memory - budget));
            self.part.release();
        }
        Err(exceeded(self.memory).into())
    }

    /// Returns the number of bytes that the last gradient kept.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Returns the number of iterations that the last gradient computed in addition to one for
    /// each.
    #[must_use]
    pub fn repeated(&self) -> usize {
        self.repeated
    }
}

impl<'h, T: Real, S: Scalar<Real = T>> LoopSegment<'h, S> {
    fn from_function(
        program: &mut Program,
        like: &Derivatives<'h, S>,
        name: &str,
    ) -> Result<LoopSegment<'h, S>, DeriveError> {
        let f = super::derivatives::find(program, name)?;
        let outlined = outline(program, f).map_err(|kept| BudgetError::Loop {
            function: name.to_owned(),
            at: kept.at,
            why: kept.why,
        })?;
        let Some(parts) = outlined else {
            return Ok(LoopSegment::Plain(Box::new(like.sibling(program, name, 1)?)));
        };
        let named = |f| program.functions[f].name.clone();
        let (before, step, after) = (named(parts.before), named(parts.step), named(parts.after));
        let before = Box::new(like.sibling(program, &before, 1)?);
        let steps = Box::new(Steps::from_derivatives(like.sibling(program, &step, 1)?)?);
        let after = Box::new(LoopSegment::from_function(program, like, &after)?);
        Ok(LoopSegment::Loop { before, steps, after, state: parts.state, params: parts.params })
    }

    fn loop_count(&self) -> usize {
        match self {
            LoopSegment::Plain(_) => 0,
            LoopSegment::Loop { after, .. } => 1 + after.loop_count(),
        }
    }

    /// Frees the memory that loops have kept for the next call.
    fn release(&mut self) {
        if let LoopSegment::Loop { steps, after, .. } = self {
            steps.release();
            after.release();
        }
    }

    /// Returns the bytes that are needed whatever is kept: for the code outside of the loops, and
    /// for one iteration of each. A loop's last state has the shapes of its first.
    fn least(&mut self, args: &[Datum<S>], y_bar: &Datum<S>) -> Result<usize, DeriveError> {
        let LoopSegment::Loop { before, steps, after, state, params } = self else {
            let LoopSegment::Plain(f) = self else { return Ok(0) };
            f.vjp(args, y_bar.clone())?;
            return Ok(f.memory());
        };
        let made = before.value(args)?;
        let bars = made.zero_tangent().unwrap_or(Datum::Tuple(vec![]));
        before.vjp(args, bars)?;
        let Some(entry) = LoopEntry::from_datum(&made, *state, *params) else { return Ok(0) };
        let (first, parameters) = (entry.first.clone(), entry.parameters());
        let after = after.least(&entry.after_loop(first.clone()), y_bar)?;
        Ok(before.memory() + steps.least(&first, &parameters)? + after)
    }

    /// Runs the pullback with `budget` bytes for each loop, in addition to what one iteration
    /// needs.
    fn vjp(
        &mut self,
        args: &[Datum<S>],
        y_bar: Datum<S>,
        budget: usize,
        name: &str,
        report: &mut BudgetUsage,
    ) -> Result<(Datum<S>, Gradient<S>), DeriveError> {
        let LoopSegment::Loop { before, steps, after, state, params } = self else {
            let LoopSegment::Plain(f) = self else {
                return Err(BudgetError::None { function: name.into() }.into());
            };
            let result = f.vjp(args, y_bar)?;
            report.memory += f.memory();
            return Ok(result);
        };
        let made = before.value(args)?;
        let Some(entry) = LoopEntry::from_datum(&made, *state, *params) else {
            return Err(CallError::Undefined { name: name.to_owned() }.into());
        };
        let rounds = usize::try_from(entry.to.saturating_sub(entry.from)).unwrap_or(0);
        let first = entry.first.clone();
        let begins = size(&first);
        steps.set_memory(budget);
        let mut after_loop = None;
        let run = steps.vjp(rounds, first, &entry.parameters(), |end| {
            let ends = size(end);
            let mut found = match ends > begins {
                true => {
                    Err(BudgetError::Grows { function: name.to_owned(), first: begins, last: ends }
                        .into())
                }
                false => after.vjp(&entry.after_loop(end.clone()), y_bar, budget, name, report),
            };
            let bar = match &mut found {
                Ok((_, bars)) if !bars.is_empty() => bars.remove(0),
                _ => end.zero_tangent().unwrap_or(Datum::Tuple(vec![])),
            };
            after_loop = Some(found);
            bar
        })?;
        let (value, rest_bars) = match after_loop {
            Some(found) => found?,
            None => return Err(CallError::Undefined { name: name.to_owned() }.into()),
        };
        let mut bars = run.start.fields().to_vec();
        bars.extend(run.parameters);
        bars.extend(rest_bars);
        let (_, gradient) = before.vjp(args, Datum::Tuple(bars))?;
        report.memory += run.memory + before.memory();
        report.repeated += run.repeated;
        Ok((value, gradient))
    }
}

/// Result of the code before a loop.
struct LoopEntry<'d, S: Scalar> {
    from: i64,
    to: i64,
    /// The first state.
    first: Datum<S>,
    /// Values that all iterations read.
    given: &'d [Datum<S>],
    /// Values that are read after the loop.
    rest: &'d [Datum<S>],
}

impl<'d, S: Scalar> LoopEntry<'d, S> {
    fn from_datum(made: &'d Datum<S>, state: usize, params: usize) -> Option<LoopEntry<'d, S>> {
        let [Datum::Int(from), Datum::Int(to), values @ ..] = made.fields() else { return None };
        let (first, values) = values.split_at_checked(state)?;
        let (given, rest) = values.split_at_checked(params)?;
        Some(LoopEntry { from: *from, to: *to, first: Datum::Tuple(first.to_vec()), given, rest })
    }

    /// Returns the parameters of each iteration.
    fn parameters(&self) -> Vec<Datum<S>> {
        [Datum::Int(self.from)].into_iter().chain(self.given.iter().cloned()).collect()
    }

    /// Returns the arguments of the code after the loop, which ends with a state.
    fn after_loop(&self, end: Datum<S>) -> Vec<Datum<S>> {
        let counter = Datum::Int(self.from.max(self.to));
        [end, counter].into_iter().chain(self.rest.iter().cloned()).collect()
    }
}
