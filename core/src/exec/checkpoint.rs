//! The derivative of a long loop in little memory.
//!
//! A loop `x_(k+1) = f(k, x_k, p)` of `n` steps is differentiated from its end to its start, and each step needs the
//! `x_k` it began with. To keep them all takes `n` states; here some are kept (snapshots) and the others computed again
//! from the last one kept before them. Where to keep them is the binomial rule of Griewank (*Achieving logarithmic
//! growth of temporal and spatial complexity in reverse automatic differentiation*, 1992, Optimization Methods and
//! Software 1), which no other choice beats: with `c` snapshots and at most `r` runs through each step it reaches
//! `binomial(c + r, c)` steps.
//!
//! ```text
//! 0 ───────────► m ───────────► n      run from 0 to m, keep x_m, do [m, n) with one snapshot less,
//!                                      forget x_m, do [0, m) with all
//! ```
//!
//! ```
//! use ketgrad_core::{exec::{Datum, Steps}, text::parse_program};
//!
//! // A thousand steps of a pendulum with friction, three states kept at once.
//! let source = "fn step(k: int, x: array, friction) {
//!     let h = 0.01;
//!     [x[0] + h * x[1], x[1] - h * (sin(x[0]) + friction * x[1])]
//! }";
//! let program = parse_program(source).map_err(|e| e[0].clone())?;
//! let mut steps = Steps::<f64>::new(&program, "step")?.with_snapshots(3);
//! let (start, friction) = (Datum::reals([1.0, 0.0]), [Datum::Real(0.1)]);
//! let end = steps.run(1000, start.clone(), &friction)?;
//! let run = steps.vjp(1000, start, &friction, |_| Datum::reals([1.0, 0.0]))?;
//! assert_eq!(run.end, end);
//! assert!(run.parameters[0].real().is_some_and(|slope| (slope - 3.2105).abs() < 1e-3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{
    ir::{Kind, Program},
    scalar::{Real, Scalar},
};

use super::{Derivatives, DeriveError, data::Datum};

/// A function `f(k: int, x, p…) -> x` that is applied again and again, and its derivative.
#[derive(Debug)]
pub struct Steps<'h, S: Scalar> {
    step: Derivatives<'h, S>,
    room: Room,
}

/// How much may be kept.
#[derive(Clone, Copy, Debug)]
enum Room {
    Snapshots(usize),
    Bytes(usize),
}

/// What the derivative of a loop gives.
#[derive(Clone, Debug)]
pub struct Stepped<S: Scalar> {
    /// The state after the last step.
    pub end: Datum<S>,
    /// The cotangent of the first state.
    pub start: Datum<S>,
    /// The cotangents of the parameters that have one, in order.
    pub parameters: Vec<Datum<S>>,
    /// How many steps were computed beside one for each cotangent.
    pub repeated: usize,
    /// How many states were kept at once, beside the first.
    pub snapshots: usize,
}

impl<'h, T: Real, S: Scalar<Real = T>> Steps<'h, S> {
    /// Of the function of the given name, `f(k: int, x, p…)`, whose result is of the kind of `x`. Ten snapshots.
    ///
    /// # Errors
    /// There is none, or it is no such function.
    pub fn new(program: &Program, name: &str) -> Result<Steps<'h, S>, DeriveError> {
        Steps::of(Derivatives::new(program, name)?)
    }

    /// Of a function with a host, limits and a level of its own.
    ///
    /// # Errors
    /// It is no function of a step, a state and parameters whose result is of the kind of the state.
    pub fn of(step: Derivatives<'h, S>) -> Result<Steps<'h, S>, DeriveError> {
        let f = &step.program().functions[step.function()];
        let kinds: Vec<&Kind> = f.param_values().iter().map(|&v| &f.kinds[v]).collect();
        let fits = matches!(kinds[..], [Kind::Int, state, ..] if *state == f.result);
        if fits {
            return Ok(Steps { step, room: Room::Snapshots(10) });
        }
        let given: Vec<String> = kinds.iter().map(|k| k.to_string()).collect();
        let given = format!("({}) -> {}", given.join(", "), f.result);
        Err(DeriveError::NoStep { function: f.name.clone(), given })
    }

    /// With room for so many states beside the first one. With none at all, `n` steps take `n (n - 1) / 2` more.
    #[must_use]
    pub fn with_snapshots(mut self, snapshots: usize) -> Self {
        self.room = Room::Snapshots(snapshots);
        self
    }

    /// With as many states beside the first one as fit into so many bytes.
    #[must_use]
    pub fn with_memory(mut self, bytes: usize) -> Self {
        self.room = Room::Bytes(bytes);
        self
    }

    /// The state after `n` steps.
    ///
    /// # Errors
    /// The arguments do not fit, or a step fails.
    pub fn run(
        &mut self,
        n: usize,
        start: Datum<S>,
        parameters: &[Datum<S>],
    ) -> Result<Datum<S>, DeriveError> {
        let mut args = arguments(start, parameters);
        self.advance(0, n, &mut args)?;
        Ok(args.swap_remove(1))
    }

    /// The state after `n` steps, and the cotangents of the first state and of the parameters, for the cotangent that
    /// `seed` gives the last state.
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
        let snapshots = match self.room {
            Room::Snapshots(c) => c,
            Room::Bytes(bytes) => bytes / size(&start).max(1),
        };
        let snapshots = snapshots.min(n.saturating_sub(1));
        let zeros = parameters.iter().filter_map(Datum::zero_tangent).collect();
        let mut sweep = Sweep {
            steps: self,
            parameters,
            seed: Some(seed),
            end: None,
            bar: None,
            sums: zeros,
            repeated: 0,
        };
        sweep.reverse(0, n, &start, snapshots)?;
        let Sweep { seed, end, bar, sums, repeated, .. } = sweep;
        let (end, start) = match (end, bar, seed) {
            (Some(end), Some(bar), _) => (end, bar),
            // No steps.
            (_, _, Some(seed)) => (start.clone(), seed(&start)),
            _ => (start.clone(), start),
        };
        Ok(Stepped { end, start, parameters: sums, repeated, snapshots })
    }

    /// Steps `from` to `to`, on the state in place 1.
    fn advance(&mut self, from: usize, to: usize, args: &mut [Datum<S>]) -> Result<(), DeriveError> {
        for k in from..to {
            args[0] = index(k);
            args[1] = self.step.value(args)?;
        }
        Ok(())
    }
}

fn index<S: Scalar>(k: usize) -> Datum<S> {
    Datum::Int(i64::try_from(k).unwrap_or(i64::MAX))
}

fn arguments<S: Scalar>(state: Datum<S>, parameters: &[Datum<S>]) -> Vec<Datum<S>> {
    [index(0), state].into_iter().chain(parameters.iter().cloned()).collect()
}

/// The bytes of a state.
fn size<S: Scalar>(d: &Datum<S>) -> usize {
    let inner = match d {
        Datum::Reals(xs) => size_of_val(xs.items()),
        Datum::Complexes(zs) => size_of_val(zs.items()),
        Datum::Ints(ns) => size_of_val(ns.items()),
        Datum::Tuple(fields) => fields.iter().map(size).sum(),
        _ => 0,
    };
    inner + size_of::<Datum<S>>()
}

/// The way back through all steps.
struct Sweep<'s, 'h, S: Scalar, F> {
    steps: &'s mut Steps<'h, S>,
    parameters: &'s [Datum<S>],
    seed: Option<F>,
    end: Option<Datum<S>>,
    /// The cotangent of the state that the part at hand ends with.
    bar: Option<Datum<S>>,
    sums: Vec<Datum<S>>,
    repeated: usize,
}

impl<T: Real, S: Scalar<Real = T>, F: FnOnce(&Datum<S>) -> Datum<S>> Sweep<'_, '_, S, F> {
    /// The steps `from..to`, back to front, from the state before the first of them, with room for `free` more.
    fn reverse(&mut self, from: usize, to: usize, state: &Datum<S>, free: usize) -> Result<(), DeriveError> {
        let mut to = to;
        // What remains before the last snapshot is a loop again; only snapshots nest.
        while to > from {
            let left = first_part(to - from, free);
            let mut args = arguments(state.clone(), self.parameters);
            self.steps.advance(from, from + left, &mut args)?;
            self.repeated += left;
            if to - from - left == 1 {
                self.back(from + left, args)?;
            } else {
                self.reverse(from + left, to, &args.swap_remove(1), free - 1)?;
            }
            to = from + left;
        }
        Ok(())
    }

    /// One step back.
    fn back(&mut self, k: usize, mut args: Vec<Datum<S>>) -> Result<(), DeriveError> {
        args[0] = index(k);
        if let Some(seed) = self.seed.take() {
            let end = self.steps.step.value(&args)?;
            self.bar = Some(seed(&end));
            self.end = Some(end);
        }
        let bar = self.bar.take().unwrap_or(Datum::Tuple(vec![]));
        let (_, bars) = self.steps.step.vjp(&args, bar)?;
        let mut bars = bars.into_iter();
        self.bar = args[1].zero_tangent().and_then(|_| bars.next());
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

/// How many of `n` steps come before the next snapshot when there is room for `c`; `n - 1` if there is no more room, so
/// that the last step is done.
///
/// With s = c + 1 states at hand, the start among them, `binomial(s + r, s)` steps can be undone so that none is done more
/// than r times again. For the least such r that is enough for n, the first part may be as long as `binomial(s + r - 1, s)`
/// and at least `binomial(s + r - 2, s)`, the second at most `binomial(s - 1 + r, s - 1)` (Griewank and Walther,
/// Evaluating Derivatives, chapter 12).
fn first_part(n: usize, c: usize) -> usize {
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

    /// How many steps the plan repeats.
    fn repeated(n: usize, c: usize) -> usize {
        match n {
            0 | 1 => 0,
            _ => {
                let left = first_part(n, c);
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
