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
//! An optimizer is settings only. All that changes is in a [`State`], plain numbers that can be written down: a step
//! depends on nothing else, so a run that is taken up again from a state goes on with the same bits.
//!
//! The algorithms are written here rather than taken from a library because of that, because a Hessian-vector product
//! costs a few gradients whatever the number of inputs and needs no Hessian, and because a gradient comes with its value.
//!
//! # Where a function has no value
//! A step to a point where the value is NaN or plus infinity, as for `ln x` below 0, is too long for [`Lbfgs`],
//! [`NewtonCg`] and [`NelderMead`], which take a shorter one; for the others it is an error. Inputs that must stay in an
//! interval, as strengths of noise, do so with [`Within`].
//!
//! [`Stopping`] looks at a state and says whether to go on.

mod adam;
mod energy;
mod lbfgs;
mod line;
mod measured;
mod natural;
mod newton;
mod simplex;
mod spsa;
mod vector;
mod within;

pub use adam::Adam;
pub use energy::Energy;
pub use lbfgs::Lbfgs;
pub use measured::Measured;
pub use natural::NaturalGradient;
pub use newton::NewtonCg;
pub use simplex::NelderMead;
pub use spsa::Spsa;
pub use within::{Intervals, Outside, Within};

use std::{error::Error, fmt};

use crate::{
    hybrid::{Expectation, HybridError, Method},
    state::draw,
};
use vector::{largest, moved};

/// A real function of real inputs, with what derivatives it has.
pub trait Objective {
    /// Why a value or a derivative is not to be had.
    type Error: Error + 'static;

    /// The value at x.
    ///
    /// # Errors
    /// As the function says.
    fn value(&self, x: &[f64]) -> Result<f64, Self::Error>;

    /// The value and the derivative by each input.
    ///
    /// # Errors
    /// As the function says.
    fn value_and_gradient(&self, x: &[f64]) -> Result<(f64, Vec<f64>), Self::Error>;

    /// The change of the gradient along v. Central differences of gradients, unless there is a better way.
    ///
    /// # Errors
    /// As the function says.
    fn hessian_product(&self, x: &[f64], v: &[f64]) -> Result<Vec<f64>, Self::Error> {
        difference_of_gradients(self, x, v)
    }

    /// Values that differ by less than this part of themselves count as equal: the rounding of the function.
    fn noise(&self) -> f64 {
        1e-14
    }

    /// The metric that says how far apart two neighbouring points are: symmetric, without negative eigenvalues. The
    /// identity, unless the function knows better.
    ///
    /// # Errors
    /// As the function says.
    fn metric(&self, x: &[f64]) -> Result<Vec<Vec<f64>>, Self::Error> {
        let row = |i| (0..x.len()).map(|j| if i == j { 1.0 } else { 0.0 }).collect();
        Ok((0..x.len()).map(row).collect())
    }
}

/// The change of the gradient along v by a central difference.
fn difference_of_gradients<F: Objective + ?Sized>(f: &F, x: &[f64], v: &[f64]) -> Result<Vec<f64>, F::Error> {
    if largest(v) == 0.0 {
        return Ok(vec![0.0; v.len()]);
    }
    let step = f64::EPSILON.cbrt() * largest(x).max(1.0) / largest(v).max(f64::MIN_POSITIVE);
    let (_, up) = f.value_and_gradient(&moved(x, step, v))?;
    let (_, down) = f.value_and_gradient(&moved(x, -step, v))?;
    Ok(up.iter().zip(&down).map(|(u, d)| (u - d) / (2.0 * step)).collect())
}

/// The sum of the expectation values, with Hessian-vector products and the Fubini-Study metric. Where the circuit has no one
/// final state, gradients are taken on duals, and Hessian-vector products are differences of these.
impl Objective for Expectation {
    type Error = HybridError;

    fn value(&self, x: &[f64]) -> Result<f64, HybridError> {
        Expectation::value(self, x)
    }
    fn value_and_gradient(&self, x: &[f64]) -> Result<(f64, Vec<f64>), HybridError> {
        self.gradient_by(self.methods()[0], x)
    }
    fn hessian_product(&self, x: &[f64], v: &[f64]) -> Result<Vec<f64>, HybridError> {
        match self.methods()[0] {
            Method::Adjoint => Ok(self.hvp(x, v)?.1),
            _ => difference_of_gradients(self, x, v),
        }
    }
    fn metric(&self, x: &[f64]) -> Result<Vec<Vec<f64>>, HybridError> {
        Ok(self.metric_tensor(x)?.0)
    }
}

/// How a minimum is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
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
            /// The first setting that makes no sense: its name, its value, and what was expected.
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
                if done.is_ok() {
                    values.push(next.value);
                    next.iterations += 1;
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
    /// The state at x, before the first step.
    ///
    /// # Errors
    /// [`OptimizeError`]: a setting that makes no sense, an input that is not finite, or what the function says.
    pub fn start<F: Objective>(&self, f: &F, x: &[f64]) -> Result<State, OptimizeError<F::Error>> {
        if let Some((name, value, expected)) = self.fault() {
            return Err(OptimizeError::Setting { name, value, expected });
        }
        if let Some(k) = x.iter().position(|x| !x.is_finite()) {
            return Err(OptimizeError::NotFinite { what: format!("input {k} of the start"), value: x[k] });
        }
        let mut state = State {
            x: x.to_vec(),
            value: 0.0,
            gradient: Vec::new(),
            best: (x.to_vec(), 0.0),
            iterations: 0,
            values: Vec::new(),
            evaluations: 0,
            spread: None,
            stalled: false,
            memory: Memory::Nothing,
        };
        match self {
            Optimizer::NelderMead(settings) => settings.start(f, &mut state)?,
            Optimizer::Spsa(settings) => settings.look(f, &mut state, x.to_vec(), 0)?,
            _ => {
                let x = x.to_vec();
                let (value, gradient) = state.gradient_at(f, &x)?;
                (state.value, state.gradient) = (value, gradient);
            }
        }
        state.best = (state.x.clone(), state.value);
        state.values.push(state.value);
        Ok(state)
    }

    /// Makes a state that another optimizer left, or that was put together by hand, one of this optimizer.
    fn take_over<F: Objective>(&self, f: &F, state: &mut State) -> Result<(), OptimizeError<F::Error>> {
        let n = state.x.len();
        let fits = match &state.memory {
            Memory::Nothing => true,
            Memory::Means(m, v) => m.len() == n && v.len() == n,
            Memory::Steps(pairs) => pairs.iter().all(|(s, y)| s.len() == n && y.len() == n),
            Memory::Simplex(corners) => corners.len() == n + 1 && corners.iter().all(|(x, _)| x.len() == n),
        };
        if !fits {
            state.memory = Memory::Nothing;
        }
        if !matches!(self, Optimizer::NelderMead(_)) {
            state.spread = None;
            if state.gradient.len() != n {
                let x = state.x.clone();
                match self {
                    Optimizer::Spsa(settings) => settings.look(f, state, x, state.iterations)?,
                    _ => (state.value, state.gradient) = state.gradient_at(f, &x)?,
                }
            }
        }
        Ok(())
    }
}

/// Where a minimisation stands: all that the next step depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The point.
    pub x: Vec<f64>,
    /// The value there.
    pub value: f64,
    /// The gradient there; empty for [`NelderMead`], along one direction for [`Spsa`].
    pub gradient: Vec<f64>,
    /// The point with the smallest value so far, and this value.
    pub best: (Vec<f64>, f64),
    /// How many iterations there were.
    pub iterations: usize,
    /// The value at the start and after each iteration.
    pub values: Vec<f64>,
    /// How often the function was asked for a value, a gradient, a product or a metric.
    pub evaluations: u64,
    /// How far a simplex reaches, in its values or in the square of its size; only for [`NelderMead`].
    pub spread: Option<f64>,
    /// Whether no step made the value smaller any more.
    pub stalled: bool,
    /// What the optimizer remembers.
    pub memory: Memory,
}

/// What an optimizer remembers from step to step. It begins anew from what is another's, or does not fit the inputs.
#[derive(Clone, Debug, PartialEq)]
pub enum Memory {
    /// Nothing.
    Nothing,
    /// The running means of the gradients and of their squares, for [`Adam`].
    Means(Vec<f64>, Vec<f64>),
    /// The last steps with the changes of the gradient, the oldest first, for [`Lbfgs`].
    Steps(Vec<(Vec<f64>, Vec<f64>)>),
    /// The corners with their values, the best first, for [`NelderMead`].
    Simplex(Vec<(Vec<f64>, f64)>),
}

impl State {
    /// Moves to a point.
    fn go(&mut self, x: Vec<f64>, value: f64, gradient: Vec<f64>) {
        (self.x, self.value, self.gradient) = (x, value, gradient);
        if self.value < self.best.1 {
            self.best = (self.x.clone(), self.value);
        }
    }

    fn value_at<F: Objective>(&mut self, f: &F, x: &[f64]) -> Result<f64, OptimizeError<F::Error>> {
        self.evaluations += 1;
        let value = f.value(x).map_err(OptimizeError::Objective)?;
        finite(value, "the value")
    }

    fn gradient_at<F: Objective>(
        &mut self,
        f: &F,
        x: &[f64],
    ) -> Result<(f64, Vec<f64>), OptimizeError<F::Error>> {
        self.evaluations += 1;
        let (value, gradient) = f.value_and_gradient(x).map_err(OptimizeError::Objective)?;
        expect("derivatives", gradient.len(), x.len())?;
        finite(value, "the value")?;
        gradient.iter().try_for_each(|g| finite(*g, "a derivative").map(|_| ()))?;
        Ok((value, gradient))
    }
}

fn expect<E: Error + 'static>(
    what: &'static str,
    given: usize,
    expected: usize,
) -> Result<(), OptimizeError<E>> {
    if given == expected { Ok(()) } else { Err(OptimizeError::Count { what, given, expected }) }
}

fn finite<E: Error + 'static>(value: f64, what: &str) -> Result<f64, OptimizeError<E>> {
    if value.is_finite() { Ok(value) } else { Err(OptimizeError::NotFinite { what: what.to_owned(), value }) }
}

/// When it is enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stopping {
    /// The most iterations.
    pub iterations: usize,
    /// Enough if no derivative is larger.
    pub gradient: f64,
    /// Enough if no value of the last three iterations is further from the one before; for a simplex, if its values
    /// are no further apart and its size is no larger than the root of this.
    pub change: f64,
}

impl Default for Stopping {
    /// 1000 iterations, derivatives of 1e-6, changes of 1e-12.
    fn default() -> Stopping {
        Stopping { iterations: 1000, gradient: 1e-6, change: 1e-12 }
    }
}

impl Stopping {
    /// Why to stop here, if so.
    #[must_use]
    pub fn reached(&self, state: &State) -> Option<Stop> {
        let small = |step: &[f64]| (step[1] - step[0]).abs() <= self.change;
        let last = state.values.len().checked_sub(4).map(|k| &state.values[k..]);
        if state.spread.is_none() && largest(&state.gradient) <= self.gradient {
            Some(Stop::Gradient)
        } else if match state.spread {
            Some(spread) => spread <= self.change,
            None => last.is_some_and(|last| last.windows(2).all(small)),
        } {
            Some(Stop::Change)
        } else if state.stalled {
            Some(Stop::Stalled)
        } else {
            (state.iterations >= self.iterations).then_some(Stop::Iterations)
        }
    }
}

/// Why a minimisation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The derivatives are small.
    Gradient,
    /// The value changes no more.
    Change,
    /// No step makes the value smaller.
    Stalled,
    /// There were as many iterations as were allowed.
    Iterations,
}

impl Stop {
    /// Whether a tolerance was reached.
    #[must_use]
    pub fn converged(self) -> bool {
        matches!(self, Stop::Gradient | Stop::Change)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Gradient => "the derivatives are within their tolerance",
            Stop::Change => "the changes are within their tolerance",
            Stop::Stalled => "no step makes the value smaller, although the derivatives are not small",
            Stop::Iterations => "the iterations are used up",
        })
    }
}

/// Why a minimisation cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptimizeError<E: Error + 'static> {
    /// The function failed.
    #[error(transparent)]
    Objective(E),
    /// Something is infinite or NaN.
    #[error("{what} is {value}, not a finite number")]
    NotFinite {
        /// What.
        what: String,
        /// Its value.
        value: f64,
    },
    /// A function that gives more or fewer numbers than it has inputs.
    #[error("the function gives {given} {what}, expected {expected}: one for each input")]
    Count {
        /// Of what.
        what: &'static str,
        /// How many it gives.
        given: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A setting that makes no sense.
    #[error("`{name}` is {value}, expected {expected}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What may stand there.
        expected: &'static str,
    },
}

/// A setting that makes no sense: its name, its value, what was expected.
type Fault = (&'static str, f64, &'static str);

fn positive(name: &'static str, value: f64) -> Result<(), Fault> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err((name, value, "a finite number above 0")) }
}

/// A random start: n inputs, uniform from `-width` to `width`, the same for a seed on every machine (ChaCha8).
#[must_use]
pub fn random_start(n: usize, width: f64, seed: u64) -> Vec<f64> {
    (0..n as u64).map(|k| width * (2.0 * draw(seed, 0, k) - 1.0)).collect()
}

/// Steps from x until it is enough.
///
/// # Errors
/// [`OptimizeError`].
pub fn minimize<F: Objective>(
    f: &F,
    x: &[f64],
    optimizer: &Optimizer,
    stopping: &Stopping,
) -> Result<(State, Stop), OptimizeError<F::Error>> {
    let mut state = optimizer.start(f, x)?;
    loop {
        if let Some(stop) = stopping.reached(&state) {
            return Ok((state, stop));
        }
        optimizer.step(f, &mut state)?;
    }
}
