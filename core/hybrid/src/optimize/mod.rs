//! Minimisation: from a function with derivatives to a point where it is small.
//!
//! ```
//! use ketgrad_core::{ansatz, hybrid::Expectation, problem};
//! use ketgrad_core::optimize::{Lbfgs, Optimizer, Stopping, minimize};
//!
//! let energy = Expectation::new(ansatz::uccsd(4, 2)?, [problem::h2()])?;
//! let (end, stop) = minimize(&energy, &[0.0; 3], &Optimizer::from(Lbfgs::default()), &Stopping::default())?;
//! assert!(stop.converged() && (end.value + 1.137_270_175).abs() < 1e-8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | [`Optimizer`] | uses | an iteration costs |
//! |---|---|---|
//! | [`Adam`] | gradients | 1 gradient |
//! | [`NaturalGradient`] | gradients and the metric of the states | 1 gradient, 1 metric |
//! | [`Lbfgs`] | gradients of the last iterations | 1 or 2 gradients, mostly |
//! | [`NewtonCg`] | Hessian-vector products | 1 or 2 gradients and a few products |
//! | [`NelderMead`] | values | 1 or 2 values, mostly |
//! | [`Spsa`] | values, which may be [measured](Measured) | 3 values |
//!
//! # Steps and states
//! An optimizer is settings only. All that changes is in a [`State`], plain numbers that can be
//! written down: a step depends on nothing else, so a run that is taken up again from a state goes
//! on with the same bits.
//!
//! The algorithms are written here rather than taken from a library because of that, because a
//! Hessian-vector product costs a few gradients whatever the number of inputs and needs no Hessian,
//! and because a gradient comes with its value.
//!
//! # Where a function has no value
//! A step to a point where the value is NaN or plus infinity, as for `ln x` below 0, is too long
//! for [`Lbfgs`], [`NewtonCg`] and [`NelderMead`], which take a shorter one; for the others it is
//! an error. Inputs that must stay in an interval, as strengths of noise, do so with [`Within`].
//!
//! # Where it ends
//! [`Stopping`] says when the numbers of a state are good enough to look whether it is a minimum
//! ([`CriticalPoint`]): at maxima and saddles, where the gradient is 0 too, [`minimize`] goes on
//! along the curvature that leads down. [`StopReason`] is why it ended.
//!
//! Of [measured](Measured) values the smallest is less than it should be, and no two are equal:
//! means over windows of iterations are compared ([`Averages`]), and the [`Answer`] is measured
//! anew, beside the start.

mod adam;
mod answer;
mod averages;
mod curvature;
mod energy;
mod error;
mod lbfgs;
mod line;
mod measured;
mod natural;
mod newton;
mod objective;
mod simplex;
mod spsa;
mod state;
mod stationary;
mod stop;
mod vector;
mod within;

pub use adam::Adam;
pub use answer::{Answer, Estimate};
pub use averages::{Averages, Window};
pub use energy::Energy;
pub use error::OptimizeError;
pub use lbfgs::Lbfgs;
pub use measured::Measured;
pub use natural::NaturalGradient;
pub use newton::NewtonCg;
pub use objective::Objective;
pub use simplex::NelderMead;
pub use spsa::Spsa;
pub use state::{Memory, State};
pub use stationary::CriticalPoint;
pub use stop::{StopReason, Stopping};
pub use within::{Intervals, Outside, Within};

use crate::{
    cancel::{CancellationToken, is_cancelled},
    state::draw,
};

/// Method of the search for a minimum.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
#[expect(missing_docs, reason = "the types say it")]
pub enum Optimizer {
    Adam(Adam),
    NaturalGradient(NaturalGradient),
    Lbfgs(Lbfgs),
    NewtonCg(NewtonCg),
    NelderMead(NelderMead),
    Spsa(Spsa),
}

macro_rules! optimizers {
    ($($Name:ident)*) => {
        $(impl From<$Name> for Optimizer {
            fn from(settings: $Name) -> Optimizer {
                Optimizer::$Name(settings)
            }
        })*

        impl Optimizer {
            /// Returns the first setting that makes no sense: its name, its value, and what was
            /// expected.
            #[must_use]
            pub fn fault(&self) -> Option<(&'static str, f64, &'static str)> {
                match self {
                    $(Optimizer::$Name(settings) => settings.check().err(),)*
                }
            }

            /// Takes one step: an iteration.
            ///
            /// # Errors
            /// [`OptimizeError`]; the state is then as it was.
            pub fn step<F: Objective>(&self, f: &F, state: &mut State) -> Result<(), OptimizeError<F::Error>> {
                // The history may be long and is not touched.
                let mut values = std::mem::take(&mut state.values);
                let mut next = state.clone();
                let done = self.take_over(f, &mut next).and_then(|()| match self {
                    $(Optimizer::$Name(settings) => settings.step(f, &mut next),)*
                });
                let done = done.and_then(|()| next.finish(f));
                if done.is_ok() {
                    values.push(next.value);
                    *state = next;
                }
                state.values = values;
                done
            }
        }
    };
}
optimizers!(Adam NaturalGradient Lbfgs NewtonCg NelderMead Spsa);

impl Optimizer {
    /// Returns the state at x, before the first step.
    ///
    /// # Errors
    /// [`OptimizeError`]: a setting that makes no sense, an input that is not finite, or what the
    /// function says.
    pub fn start<F: Objective>(&self, f: &F, x: &[f64]) -> Result<State, OptimizeError<F::Error>> {
        if let Some((name, value, expected)) = self.fault() {
            return Err(OptimizeError::Setting { name, value, expected });
        }
        if let Some(k) = x.iter().position(|x| !x.is_finite()) {
            return Err(OptimizeError::NotFinite {
                what: format!("input {k} of the start"),
                value: x[k],
            });
        }
        let mut state = State {
            x: x.to_vec(),
            value: 0.0,
            stderr: None,
            gradient: Vec::new(),
            best: (x.to_vec(), 0.0),
            iterations: 0,
            values: Vec::new(),
            evaluations: 0,
            spread: None,
            stalled: false,
            memory: Memory::Nothing,
            averages: f.is_measured().then(|| Averages::new(x.len())),
            shape: None,
        };
        self.begin(f, &mut state, x.to_vec())?;
        state.best = (state.x.clone(), state.value);
        state.values.push(state.value);
        Ok(state)
    }

    /// Begins at x.
    fn begin<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
        x: Vec<f64>,
    ) -> Result<(), OptimizeError<F::Error>> {
        state.memory = Memory::Nothing;
        match self {
            Optimizer::NelderMead(settings) => {
                state.x = x;
                settings.start(f, state)
            }
            Optimizer::Spsa(settings) => settings.begin(f, state, x, state.iterations),
            _ => {
                let (value, gradient) = state.gradient_at(f, &x)?;
                state.go(x, value, gradient);
                Ok(())
            }
        }
    }

    /// Does one iteration, or returns the reason that there is none: where the numbers of the state
    /// say that it is enough, as [`Stopping`] has it, the curvature decides whether the point is a
    /// minimum. If it is none, the iteration leads from there to a lower point, and the optimizer
    /// begins anew.
    ///
    /// # Errors
    /// [`OptimizeError`]; the state is then as it was.
    pub fn advance<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
        stopping: &Stopping,
    ) -> Result<Option<StopReason>, OptimizeError<F::Error>> {
        let Some(stop) = stopping.reached(state) else {
            return self.step(f, state).map(|()| None);
        };
        if !matches!(stop, StopReason::Gradient | StopReason::Change) {
            return Ok(Some(stop));
        }
        let shape = match state.shape.take() {
            Some(shape) => shape,
            None => stationary::shape(f, state, stopping, matches!(self, Optimizer::NewtonCg(_)))?,
        };
        let is_over = state.iterations >= stopping.iterations;
        state.shape = Some(shape.clone());
        match shape {
            CriticalPoint::Minimum | CriticalPoint::NoDerivatives => Ok(Some(stop)),
            CriticalPoint::Undecided => Ok(Some(StopReason::Undecided)),
            CriticalPoint::Slope if is_over => Ok(Some(StopReason::Iterations)),
            CriticalPoint::Lower(_) if is_over => Ok(Some(StopReason::NotMinimum)),
            // A simplex that has collapsed begins anew.
            CriticalPoint::Slope if state.spread.is_some() => {
                self.jump(f, state, state.x.clone()).map(|()| None)
            }
            CriticalPoint::Slope => self.step(f, state).map(|()| None),
            CriticalPoint::Lower(x) => self.jump(f, state, x).map(|()| None),
        }
    }

    /// Does an iteration that leads to a given point.
    fn jump<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
        x: Vec<f64>,
    ) -> Result<(), OptimizeError<F::Error>> {
        let mut next = state.clone();
        next.iterations += 1;
        self.begin(f, &mut next, x)?;
        next.iterations -= 1;
        next.finish(f)?;
        next.values.push(next.value);
        next.stalled = false;
        *state = next;
        Ok(())
    }

    /// Makes a state that another optimizer left, or that was put together by hand, one of this
    /// optimizer.
    fn take_over<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
    ) -> Result<(), OptimizeError<F::Error>> {
        let n = state.x.len();
        let fits = match &state.memory {
            Memory::Nothing => true,
            Memory::Means(m, v) => m.len() == n && v.len() == n,
            Memory::Steps(pairs) => pairs.iter().all(|(s, y)| s.len() == n && y.len() == n),
            Memory::Simplex(corners) => {
                corners.len() == n + 1 && corners.iter().all(|(x, _)| x.len() == n)
            }
            Memory::Sizes(step, width) => step.is_finite() && *width > 0.0,
        };
        if !fits {
            state.memory = Memory::Nothing;
        }
        match &state.averages {
            Some(averages) if f.is_measured() && averages.fits(n) => {}
            _ => state.averages = f.is_measured().then(|| Averages::new(n)),
        }
        if !matches!(self, Optimizer::NelderMead(_)) {
            state.spread = None;
            let is_other =
                matches!(self, Optimizer::Spsa(_)) != matches!(state.memory, Memory::Sizes(..));
            if state.gradient.len() != n || is_other {
                self.begin(f, state, state.x.clone())?;
            }
        }
        Ok(())
    }
}

/// Returns a random start: n inputs, uniform from `-width` to `width`, the same for a seed on every
/// machine (ChaCha8).
#[must_use]
pub fn random_start(n: usize, width: f64, seed: u64) -> Vec<f64> {
    (0..n as u64).map(|k| width * (2.0 * draw(seed, 0, k) - 1.0)).collect()
}

/// Steps from x until it is enough. Where the function is cancelled
/// ([`Cancelled`](crate::cancel::Cancelled) is what its error comes from) after the start, the
/// state so far is the answer, and [`StopReason::Cancelled`] why.
///
/// # Errors
/// [`OptimizeError`].
pub fn minimize<F: Objective>(
    f: &F,
    x: &[f64],
    optimizer: &Optimizer,
    stopping: &Stopping,
) -> Result<(State, StopReason), OptimizeError<F::Error>> {
    minimize_until(f, x, optimizer, stopping, &CancellationToken::never())
}

/// Minimizes as [`minimize`] does, with a token that ends it early: it is checked before each
/// iteration. Hand it to what the function runs, too, where one value takes long.
///
/// ```
/// use ketgrad_core::{ansatz, cancel::CancellationToken, hybrid::Expectation, problem};
/// use ketgrad_core::optimize::{Adam, Optimizer, StopReason, Stopping, minimize_until};
///
/// let energy = Expectation::new(ansatz::uccsd(4, 2)?, [problem::h2()])?;
/// let looks = std::sync::atomic::AtomicUsize::new(0);
/// let token = CancellationToken::when(move || looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 5);
/// let optimizer = Optimizer::from(Adam::default());
/// let (end, stop) = minimize_until(&energy, &[0.1; 3], &optimizer, &Stopping::default(), &token)?;
/// assert_eq!((stop, end.iterations), (StopReason::Cancelled, 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`OptimizeError`].
pub fn minimize_until<F: Objective>(
    f: &F,
    x: &[f64],
    optimizer: &Optimizer,
    stopping: &Stopping,
    token: &CancellationToken,
) -> Result<(State, StopReason), OptimizeError<F::Error>> {
    let mut state = optimizer.start(f, x)?;
    while !token.is_cancelled() {
        match optimizer.advance(f, &mut state, stopping) {
            Ok(None) => {}
            Ok(Some(stop)) => return Ok((state, stop)),
            Err(OptimizeError::Objective(error)) if is_cancelled(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok((state, StopReason::Cancelled))
}
