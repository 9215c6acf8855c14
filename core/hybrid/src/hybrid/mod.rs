//! Derivatives of circuits: expectation values as differentiable functions of the inputs.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, hybrid::{Expectation, Method}, observable::PauliSum};
//!
//! let mut circuit = Circuit::new(2);
//! let (a, b) = (circuit.param("a"), circuit.param("b"));
//! circuit.ry(0, a.clone())?.cx(0, 1)?.rx(1, a * 2 + b)?;
//! let energy = Expectation::new(circuit, ["Z0 Z1 + 0.5*X0".parse::<PauliSum>()?])?;
//!
//! let at: [f64; 2] = [0.3, 0.7];
//! let (value, gradient) = energy.value_and_gradient(&at)?;
//! for method in Method::ALL {
//!     let (other, by_method) = energy.gradient_by(method, &at)?;
//!     assert!((value - other).abs() < 1e-9);
//!     assert!(gradient.iter().zip(&by_method).all(|(x, y)| (x - y).abs() < 1e-9), "{method}");
//! }
//! let hessian = energy.hessian(&at)?;
//! assert!((hessian[0][1] - hessian[1][0]).abs() < 1e-14);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Methods that check each other
//! | [`Method`] | derivative by | cost, for p angles of m gates | error |
//! |---|---|---|---|
//! | adjoint | one run back with two vectors (`adjoint.rs`), tile by tile | 4 to 7 runs, 2 states | rounding |
//! | forward | duals as amplitudes, one run for each input | 3 runs each, 2 states | rounding |
//! | shift | the exact shifts of each angle (`shift.rs`) | 2 to 8 runs each | rounding |
//! | difference | central differences of each input (`difference.rs`) | 2 runs each | 1e-10 |
//! | symbolic | formulas over the [exact ring](crate::exact) (`symbolic.rs`) | their terms | rounding |
//!
//! The adjoint method is generic over the reals, so on duals it gives Hessian-vector products, on
//! duals of duals third derivatives, and so on. Hessian-vector products ([`Expectation::hvp`]) also
//! go tile by tile (`product.rs`).
//!
//! What a device would give is a mean over shots: [`Expectation::measure`] and
//! [`Expectation::measure_gradient`], by the same shifts, with standard errors.
//!
//! Several observables share the run of the circuit; [`Expectation::jacobian_by`] has the gradient
//! of each. A circuit that starts in another state than |0…0> is one by
//! [`Expectation::from_state`].
//!
//! Coefficients of observables may be parameters, too, by which there are derivatives
//! ([`ParametricExpectation`]).
//!
//! A gradient that is wanted at many points is prepared ([`Expectation::prepare`]): bound, planned
//! and given its memory once.
//!
//! Probabilities of outcomes and fidelities are expectation values too ([`Observable`]). Inside a
//! program a circuit is a primitive with these derivatives ([`Circuits`]).
//!
//! # What is differentiable
//! Every gate of the table in each of its angles, under any controls, with parameters shared among
//! gates, exact fractions of them (`theta/2 + pi/4`), and computed ones (`sin(theta) * phi`).
//! Noise, too, also by its strength: then the state is a density matrix of 4^n entries, on which
//! the adjoint method, duals and differences go on as before, and shifts where only gates have
//! parameters (`noisy.rs`). A circuit that measures, resets or branches before its end has no
//! single final state: duals and differences differentiate the average over all outcomes, on
//! density matrices, too, and so do shifts where no gate is in a loop. Measurements at the end are
//! set aside.

mod adjoint;
mod channels;
mod derivative;
mod device;
mod difference;
mod expectation;
mod harmonics;
mod host;
mod jacobian;
mod measured;
mod noisy;
mod observable;
mod parameter_uses;
mod parametric;
mod prepared;
mod product;
mod second;
mod shift;
mod symbolic;
mod tangent;

pub use expectation::{Expectation, Method};
pub use host::Circuits;
pub use observable::Observable;
pub use parametric::ParametricExpectation;
pub use prepared::PreparedGradient;
pub use second::MetricTensor;

use crate::{
    adjoint::DiffError, circuit::CircuitError, exact::ExactError, exec::CallError,
    simulate::SimulateError, state::StateError,
};

/// Error of a derivative: the reason why there is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HybridError {
    /// The circuit, its parameters, or the state.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    /// A circuit without one final state, and a method that needs one.
    #[error(
        "the expectation value of a circuit that measures, resets or branches before its end is an average over \
         outcomes, which has no derivative by this method; duals (forward) and differences serve it, and shifts \
         where no gate is in a loop"
    )]
    Dynamic,
    /// An observable that does not fit.
    #[error(
        "the observable {observable} acts on qubit {qubit}, but the circuit has {n_qubits}, counted from 0"
    )]
    Qubit {
        /// The observable.
        observable: String,
        /// The qubit.
        qubit: usize,
        /// The number of qubits of the circuit.
        n_qubits: usize,
    },
    /// An outcome that names a qubit twice.
    #[error("{observable} names qubit {qubit} twice")]
    RepeatedQubit {
        /// The observable.
        observable: String,
        /// The qubit.
        qubit: usize,
    },
    /// Shifts of a channel's parameter.
    #[error(
        "shifts are exact for angles of gates: parameter {angle} of instruction {instruction} belongs to a channel; \
         the other methods serve it"
    )]
    Shift {
        /// Number of the parameter of the channel, counted from 0.
        angle: usize,
        /// Number of the instruction of the circuit, counted from 0.
        instruction: usize,
    },
    /// An observable without a closed form.
    #[error(
        "{observable} is no sum of Pauli strings, or one of too many terms: it has no closed form here"
    )]
    NoFormula {
        /// The observable.
        observable: String,
    },
    /// A closed form from a state that is given by numbers.
    #[error(
        "there are closed forms of circuits that start in |0…0>, not in a state of given amplitudes"
    )]
    Initial,
    /// An observable that shots do not give.
    #[error(
        "{observable} is no sum of Pauli strings, or one of too many terms: it is not measured by shots here"
    )]
    NotMeasured {
        /// The observable.
        observable: String,
    },
    /// The wrong number of cotangents, tangents or amplitudes.
    #[error("{given} {what} given, expected {expected}")]
    Count {
        /// Name of the counted things.
        what: &'static str,
        /// Number given.
        given: usize,
        /// Number expected.
        expected: usize,
    },
    /// A parameter that is computed from others has no derivative.
    #[error("a computed parameter: {reason}")]
    Computed {
        /// Reason.
        reason: String,
    },
    /// An input beside which numbers are too far apart for differences.
    #[error(
        "`{name}` is {value:?}: numbers of that size are too far apart, or what is computed from them too coarse, for \
         differences; the other methods serve it"
    )]
    Step {
        /// The input.
        name: String,
        /// Its value.
        value: f64,
    },
    /// A coefficient of an observable.
    #[error(transparent)]
    Observable(#[from] crate::observable::ObservableError),
    /// There is no closed form.
    #[error(transparent)]
    Exact(#[from] ExactError),
    /// A rule for a computed parameter is missing.
    #[error(transparent)]
    Diff(#[from] DiffError),
}

impl HybridError {
    /// Returns true if a strength of noise is no probability.
    #[must_use]
    pub fn is_no_probability(&self) -> bool {
        matches!(
            self,
            HybridError::Simulate(SimulateError::Circuit(CircuitError::NoProbability { .. }))
        )
    }

    fn computed(error: impl std::fmt::Display) -> HybridError {
        HybridError::Computed { reason: error.to_string() }
    }
}

impl From<CircuitError> for HybridError {
    fn from(error: CircuitError) -> HybridError {
        SimulateError::from(error).into()
    }
}
impl From<StateError> for HybridError {
    fn from(error: StateError) -> HybridError {
        SimulateError::from(error).into()
    }
}
impl From<CallError> for HybridError {
    fn from(error: CallError) -> HybridError {
        HybridError::computed(error)
    }
}
