//! The derivative of a long loop in little memory.
//!
//! A loop `x_(k+1) = f(k, x_k, p)` of `n` steps is differentiated from its end to its start, and
//! each step needs the `x_k` it began with. To keep them all takes `n` states; here some are kept
//! (checkpoints, or snapshots) and the others computed again from the last one kept before them.
//! They are placed by the binomial rule of Griewank (*Achieving logarithmic growth of temporal and
//! spatial complexity in reverse automatic differentiation*, 1992, Optimization Methods and
//! Software 1), which is optimal: with `c` snapshots and at most `r` runs through each step it
//! reaches `binomial(c + r, c)` steps.
//!
//! ```text
//! 0 ───────────► m ───────────► n      run from 0 to m, keep x_m, do [m, n) with one snapshot less,
//!                                      forget x_m, do [0, m) with all
//! ```
//!
//! If memory is given in bytes and states are small, several steps are reversed together, as one
//! loop with its own trace: up to half of the memory is for that trace, whose size per step is
//! measured, the rest for snapshots.
//!
//! ```
//! use ketgrad_core::{exec::{Datum, Steps}, text::parse_program};
//!
//! // A thousand steps of a pendulum with friction, three states kept at once.
//! let source = "fn step(k: int, x: array, friction) {
//!     let h = 0.01;
//!     [x[0] + h * x[1], x[1] - h * (sin(x[0]) + friction * x[1])]
//! }";
//! let program = parse_program(source)?;
//! let mut steps = Steps::<f64>::new(&program, "step")?.with_snapshots(3);
//! let (start, friction) = (Datum::reals([1.0, 0.0]), [Datum::Real(0.1)]);
//! let end = steps.run(1000, start.clone(), &friction)?;
//! let run = steps.vjp(1000, start, &friction, |_| Datum::reals([1.0, 0.0]))?;
//! assert_eq!(run.end, end);
//! assert!(run.parameters[0].real().is_some_and(|slope| (slope - 3.2105).abs() < 1e-3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{
    entity::FuncId,
    ir::{Kind, Op, Param, Program},
    scalar::{Real, Scalar},
    staging::{StagedOperand, StagingBuilder},
};

use super::{CallError, Derivatives, DeriveError, data::Datum};

/// Number of steps in one run, with which the cost of a call is negligible.
const STEPS_PER_CALL: usize = 1024;
/// Minimum number of steps that are worth a trace of their own.
const MIN_BLOCK: usize = 8;

/// A function `f(k: int, x, p…) -> x` that is applied again and again, and its derivative.
#[derive(Debug)]
pub struct Steps<'h, S: Scalar> {
    /// `(from, to, x, p…) -> x`: the steps `from..to`.
    steps: Derivatives<'h, S>,
    /// The function of one step.
    name: String,
    /// The parameters of one step.
    params: Vec<Param>,
    budget: SnapshotBudget,
    measured: Option<TapeFootprint>,
}

/// Memory of traces, for arguments of a given number of bytes.
#[derive(Clone, Copy, Debug)]
struct TapeFootprint {
    given: usize,
    /// Bytes that one step takes by itself: registers, buffers and its trace.
    first_step: usize,
    /// Bytes that each further step adds.
    per_step: usize,
}

/// Budget of snapshots.
#[derive(Clone, Copy, Debug)]
enum SnapshotBudget {
    Snapshots(usize),
    Bytes(usize),
}

/// Result of the derivative of a loop.
#[derive(Clone, Debug)]
pub struct Stepped<S: Scalar> {
    /// The state after the last step.
    pub end: Datum<S>,
    /// The cotangent of the first state.
    pub start: Datum<S>,
    /// The cotangents of the parameters that have one, in order.
    pub parameters: Vec<Datum<S>>,
    /// Number of steps that were computed in addition to one for each cotangent.
    pub repeated: usize,
    /// Number of snapshots kept at once, without the first state.
    pub snapshots: usize,
    /// Number of steps that were reversed together.
    pub together: usize,
    /// Bytes of the snapshots and of the trace of the steps that are reversed together.
    pub memory: usize,
}

impl<'h, T: Real, S: Scalar<Real = T>> Steps<'h, S> {
    /// Creates the derivative of the function of the given name, `f(k: int, x, p…)`, whose result
    /// is of the kind of `x`. It keeps ten snapshots.
    ///
    /// # Errors
    /// There is no function of that name, or it is no such function.
    pub fn new(program: &Program, name: &str) -> Result<Steps<'h, S>, DeriveError> {
        Steps::from_derivatives(Derivatives::new(program, name)?)
    }

    /// Creates the derivative of a function with a host, limits and a level of its own.
    ///
    /// # Errors
    /// It is not a function of a step, a state and parameters whose result is of the kind of the
    /// state.
    pub fn from_derivatives(step: Derivatives<'h, S>) -> Result<Steps<'h, S>, DeriveError> {
        let f = &step.program().functions[step.function()];
        let kinds: Vec<&Kind> = f.param_values().iter().map(|&v| &f.kinds[v]).collect();
        let fits = matches!(kinds[..], [Kind::Int, state, ..] if *state == f.result);
        if fits {
            let (name, params) = (f.name.clone(), f.params.clone());
            return Ok(Steps {
                steps: repeated(&step)?,
                name,
                params,
                budget: SnapshotBudget::Snapshots(10),
                measured: None,
            });
        }
        let given: Vec<String> = kinds.iter().map(|k| k.to_string()).collect();
        let given = format!("({}) -> {}", given.join(", "), f.result);
        Err(DeriveError::NoStep { function: f.name.clone(), given })
    }

    /// Sets the number of snapshots, without the first state. With none at all, `n` steps take
    /// `n (n - 1) / 2` more.
    #[must_use]
    pub fn with_snapshots(mut self, snapshots: usize) -> Self {
        self.budget = SnapshotBudget::Snapshots(snapshots);
        self
    }

    /// Sets the number of bytes for snapshots, without the first state, and for the trace of steps
    /// that are reversed together. The memory that one step takes by itself is added.
    #[must_use]
    pub fn with_memory(mut self, bytes: usize) -> Self {
        self.budget = SnapshotBudget::Bytes(bytes);
        self
    }

    /// Sets the number of bytes as [`with_memory`](Steps::with_memory) does.
    pub(super) fn set_memory(&mut self, bytes: usize) {
        self.budget = SnapshotBudget::Bytes(bytes);
    }

    /// Computes the state after `n` steps.
    ///
    /// # Errors
    /// The arguments do not fit, or a step fails.
    pub fn run(
        &mut self,
        n: usize,
        start: Datum<S>,
        parameters: &[Datum<S>],
    ) -> Result<Datum<S>, DeriveError> {
        self.check(&start, parameters)?;
        let mut args = arguments(start, parameters);
        self.advance(0, n, &mut args)?;
        Ok(args.swap_remove(2))
    }

    /// Computes the state after `n` steps, and the cotangents of the first state and of the
    /// parameters, for the cotangent that `seed` gives the last state.
    ///
    /// # Errors
    /// The arguments or the cotangent do not fit, the step has no derivative, or a step fails.
    pub fn vjp(
        &mut self,
        n: usize,
        start: Datum<S>,
        parameters: &[Datum<S>],
        seed: impl FnOnce(&Datum<S>) -> Datum<S>,
    ) -> Result<Stepped<S>, DeriveError> {
        self.check(&start, parameters)?;
        let state = size(&start).max(1);
        let (snapshots, together) = match self.budget {
            SnapshotBudget::Snapshots(c) => (c, 1),
            SnapshotBudget::Bytes(bytes) => {
                let together = self.steps_per_block(n, bytes / 2, &start, parameters)?;
                (if together > 1 { bytes / 2 } else { bytes } / state, together)
            }
        };
        let blocks = n.div_ceil(together);
        let snapshots = snapshots.min(blocks.saturating_sub(1));
        let zeros = parameters.iter().filter_map(Datum::zero_tangent).collect();
        let mut sweep = ReverseSweep {
            steps: self,
            parameters,
            n,
            together,
            seed: Some(seed),
            end: None,
            bar: None,
            sums: zeros,
            repeated: 0,
        };
        sweep.reverse(0, blocks, &start, snapshots)?;
        let ReverseSweep { seed, end, bar, sums, repeated, .. } = sweep;
        let (end, start) = match (end, bar, seed) {
            (Some(end), Some(bar), _) => (end, bar),
            // No steps.
            (_, _, Some(seed)) => (start.clone(), seed(&start)),
            _ => (start.clone(), start),
        };
        let memory = snapshots * state + self.steps.memory();
        Ok(Stepped { end, start, parameters: sums, repeated, snapshots, together, memory })
    }

    /// Returns the number of steps whose trace has at most `bytes`, estimated from the traces of
    /// one step and of a few.
    fn steps_per_block(
        &mut self,
        n: usize,
        bytes: usize,
        start: &Datum<S>,
        parameters: &[Datum<S>],
    ) -> Result<usize, DeriveError> {
        if n <= MIN_BLOCK {
            return Ok(1);
        }
        let Some(TapeFootprint { per_step: each, .. }) = self.measure(start, parameters)? else {
            return Ok(1);
        };
        // A buffer that grows may be twice as large as its contents.
        let most = (bytes / 2 / each).min(STEPS_PER_CALL);
        Ok(if most < MIN_BLOCK { 1 } else { most.min(n) })
    }

    /// Returns the bytes that one step needs in addition to its state: the least that the reverse
    /// pass takes.
    pub(super) fn least(
        &mut self,
        start: &Datum<S>,
        parameters: &[Datum<S>],
    ) -> Result<usize, DeriveError> {
        self.check(start, parameters)?;
        Ok(self.measure(start, parameters)?.map_or(0, |measured| measured.first_step))
    }

    /// Frees the memory that earlier runs have allocated.
    pub(super) fn release(&mut self) {
        self.steps.release();
    }

    /// Measures the memory of traces, by those of one step and of a few; `None` for a state that
    /// has no derivatives.
    fn measure(
        &mut self,
        start: &Datum<S>,
        parameters: &[Datum<S>],
    ) -> Result<Option<TapeFootprint>, DeriveError> {
        let Some(bar) = start.zero_tangent() else { return Ok(None) };
        let given = size(start) + parameters.iter().map(size).sum::<usize>();
        if let Some(measured) = self.measured.filter(|measured| measured.given == given) {
            return Ok(Some(measured));
        }
        // Memory that earlier runs have allocated would hide it.
        self.steps.release();
        let mut traced = |to: usize| {
            let mut args = arguments(start.clone(), parameters);
            args[1] = index(to);
            self.steps.value(&args)?;
            self.steps.vjp(&args, bar.clone()).map(|_| self.steps.memory())
        };
        let (one, few) = (traced(1)?, traced(MIN_BLOCK)?);
        self.steps.release();
        let each = (few.saturating_sub(one) / (MIN_BLOCK - 1)).max(1);
        self.measured = Some(TapeFootprint { given, first_step: one, per_step: each });
        Ok(self.measured)
    }

    fn check(&self, start: &Datum<S>, parameters: &[Datum<S>]) -> Result<(), DeriveError> {
        let function = || self.name.clone();
        let (expected, given) = (self.params.len(), parameters.len() + 2);
        if expected != given {
            return Err(CallError::Arity { function: function(), expected, given }.into());
        }
        for (arg, param) in std::iter::once(start).chain(parameters).zip(&self.params[1..]) {
            if !arg.is(&param.kind) {
                let (parameter, expected, given) =
                    (param.name.clone(), param.kind.clone(), arg.describe());
                return Err(
                    CallError::Kind { function: function(), parameter, expected, given }.into()
                );
            }
        }
        Ok(())
    }

    /// Steps `from` to `to`, on the state in its place among the arguments.
    fn advance(
        &mut self,
        from: usize,
        to: usize,
        args: &mut [Datum<S>],
    ) -> Result<(), DeriveError> {
        for first in (from..to).step_by(STEPS_PER_CALL) {
            (args[0], args[1]) = (index(first), index(to.min(first + STEPS_PER_CALL)));
            args[2] = self.steps.value(args)?;
        }
        Ok(())
    }
}

/// Builds the loop over a step: `(from, to, x, p…) -> x`.
fn repeated<'h, T: Real, S: Scalar<Real = T>>(
    step: &Derivatives<'h, S>,
) -> Result<Derivatives<'h, S>, DeriveError> {
    let mut program = step.program().clone();
    let f: FuncId = step.function();
    let function = &program.functions[f];
    let name = program.fresh_name(&format!("{}.repeated", function.name));
    let mut params = vec![Param::new("from", Kind::Int), Param::new("to", Kind::Int)];
    params.extend(function.params.iter().skip(1).cloned());
    let mut s = StagingBuilder::new(name.clone(), params, function.result.clone());
    let inputs = s.b.params().to_vec();
    if let [from, to, x, p @ ..] = inputs.as_slice() {
        let state = s.b.declare(function.result.clone());
        s.b.define(state, *x);
        // Two ints make a counter.
        if let Ok(counter) =
            s.begin_for(StagedOperand::Value(*from), StagedOperand::Value(*to), false)
        {
            let now = s.b.use_variable(state);
            let args: Vec<_> = [counter.value, now].into_iter().chain(p.iter().copied()).collect();
            let next = s.b.inst(Op::Call(f), &args, function.result.clone());
            s.b.define(state, next);
            s.end_for(counter);
        }
        let end = s.b.use_variable(state);
        s.b.ret(end);
    }
    program.add(s.finish());
    step.sibling(&program, &name, STEPS_PER_CALL)
}

fn index<S: Scalar>(k: usize) -> Datum<S> {
    Datum::Int(i64::try_from(k).unwrap_or(i64::MAX))
}

fn arguments<S: Scalar>(state: Datum<S>, parameters: &[Datum<S>]) -> Vec<Datum<S>> {
    [index(0), index(0), state].into_iter().chain(parameters.iter().cloned()).collect()
}

/// Returns the bytes of a state.
pub(super) fn size<S: Scalar>(d: &Datum<S>) -> usize {
    let inner = match d {
        Datum::Reals(xs) => size_of_val(xs.items()),
        Datum::Complexes(zs) => size_of_val(zs.items()),
        Datum::Ints(ns) => size_of_val(ns.items()),
        Datum::Tuple(fields) => fields.iter().map(size).sum(),
        _ => 0,
    };
    inner + size_of::<Datum<S>>()
}

/// Reverse sweep through all steps.
struct ReverseSweep<'s, 'h, S: Scalar, F> {
    steps: &'s mut Steps<'h, S>,
    parameters: &'s [Datum<S>],
    /// Number of steps, and number of steps in a block.
    n: usize,
    together: usize,
    seed: Option<F>,
    end: Option<Datum<S>>,
    /// The cotangent of the state that the current part ends with.
    bar: Option<Datum<S>>,
    sums: Vec<Datum<S>>,
    repeated: usize,
}

impl<T: Real, S: Scalar<Real = T>, F: FnOnce(&Datum<S>) -> Datum<S>> ReverseSweep<'_, '_, S, F> {
    /// Reverses the blocks `from..to`, last to first, from the state before the first of them, with
    /// room for `free` more snapshots.
    fn reverse(
        &mut self,
        from: usize,
        to: usize,
        state: &Datum<S>,
        free: usize,
    ) -> Result<(), DeriveError> {
        let mut to = to;
        // The part before the last snapshot is a loop again; only snapshots nest.
        while to > from {
            let left = split_point(to - from, free);
            let mut args = arguments(state.clone(), self.parameters);
            let (first, last) = (from * self.together, (from + left) * self.together);
            self.steps.advance(first, last, &mut args)?;
            self.repeated += last - first;
            if to - from - left == 1 {
                self.reverse_block(from + left, args)?;
            } else {
                self.reverse(from + left, to, &args.swap_remove(2), free - 1)?;
            }
            to = from + left;
        }
        Ok(())
    }

    /// Reverses one block.
    fn reverse_block(&mut self, block: usize, mut args: Vec<Datum<S>>) -> Result<(), DeriveError> {
        let first = block * self.together;
        (args[0], args[1]) = (index(first), index(self.n.min(first + self.together)));
        if let Some(seed) = self.seed.take() {
            let end = self.steps.steps.value(&args)?;
            self.bar = Some(seed(&end));
            self.end = Some(end);
        }
        let bar = self.bar.take().unwrap_or(Datum::Tuple(vec![]));
        let (_, bars) = self.steps.steps.vjp(&args, bar)?;
        let mut bars = bars.into_iter();
        self.bar = args[2].zero_tangent().and_then(|_| bars.next());
        self.sums.iter_mut().zip(bars).for_each(|(sum, bar)| add(sum, &bar));
        Ok(())
    }
}

/// Adds a cotangent to one of the same shape.
fn add<S: Scalar>(sum: &mut Datum<S>, bar: &Datum<S>) {
    match (sum, bar) {
        (Datum::Real(x), Datum::Real(y)) => *x += y.clone(),
        (Datum::Complex(x), Datum::Complex(y)) => *x += y.clone(),
        (Datum::Reals(x), Datum::Reals(y)) => {
            std::sync::Arc::make_mut(x).iter_mut().zip(y.iter()).for_each(|(x, y)| *x += y.clone());
        }
        (Datum::Complexes(x), Datum::Complexes(y)) => {
            std::sync::Arc::make_mut(x).iter_mut().zip(y.iter()).for_each(|(x, y)| *x += y.clone());
        }
        (Datum::Tuple(x), Datum::Tuple(y)) => x.iter_mut().zip(y).for_each(|(x, y)| add(x, y)),
        _ => {}
    }
}

/// Returns the number of `n` steps that come before the next snapshot if there is room for `c`;
/// `n - 1` if there is no more room, so that the last step is done.
///
/// With s = c + 1 stored states, the start among them, `binomial(s + r, s)` steps can be reversed
/// so that none is run more than r times again. For the least such r that is enough for n, the
/// first part may be as long as `binomial(s + r - 1, s)` and at least `binomial(s + r - 2, s)`, the
/// second at most `binomial(s - 1 + r, s - 1)` (Griewank and Walther, Evaluating Derivatives,
/// chapter 12).
fn split_point(n: usize, c: usize) -> usize {
    if c == 0 || n <= 2 {
        return n - 1;
    }
    // reach(s, r) = binomial(s + r, s), from r = 0 on.
    let reach = |s: usize, r: usize| {
        (1..=r).try_fold(1usize, |b, k| Some(b.checked_mul(s + k)? / k)).unwrap_or(usize::MAX)
    };
    let s = c + 1;
    let r = (0..).find(|&r| reach(s, r) >= n).unwrap_or(n);
    let least = n.saturating_sub(reach(s - 1, r));
    least.max(if r >= 2 { reach(s, r - 2) } else { 1 }).clamp(1, n - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of steps that the plan repeats.
    fn repeated(n: usize, c: usize) -> usize {
        match n {
            0 | 1 => 0,
            _ => {
                let left = split_point(n, c);
                let right = if n - left == 1 { 0 } else { repeated(n - left, c - 1) };
                left + right + repeated(left, c)
            }
        }
    }

    /// No plan repeats fewer: found by trying all.
    #[test]
    fn no_plan_repeats_fewer_steps() {
        let most = 60;
        let mut best: Vec<Vec<usize>> =
            vec![(0..=most).map(|n: usize| n * n.saturating_sub(1) / 2).collect()];
        for c in 1..8 {
            let mut row = vec![0, 0];
            for n in 2..=most {
                row.push((1..n).map(|m| m + best[c - 1][n - m] + row[m]).min().unwrap());
            }
            best.push(row);
        }
        for (c, row) in best.iter().enumerate() {
            for (n, &least) in row.iter().enumerate() {
                assert_eq!(repeated(n, c), least, "{n} steps, {c} snapshots");
            }
        }
    }
}
