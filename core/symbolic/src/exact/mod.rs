//! Amplitudes, probabilities and expectation values in closed form.
//!
//! [`ClosedForm`] runs a circuit through the same kernels and the same gate table as every other
//! number type, over the ring [`Exact`]: sums of `c e^{i (a pi + sum_k q_k theta_k)} / sqrt(2)^h`
//! with whole c. What comes out is a [`Formula`] in the circuit's parameters, which can be printed,
//! evaluated and differentiated. Numbers of this ring have one form only, so a formula that is zero
//! for all angles *is* zero.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, exact::{ClosedForm, Form}};
//!
//! let mut circuit = Circuit::new(2);
//! let theta = circuit.param("theta");
//! circuit.ry(0, theta)?.cx(0, 1)?;
//!
//! let state = ClosedForm::from_circuit(&circuit)?;
//! assert_eq!(state.amplitude(0b11)?.to_string(), "sin(theta/2)");
//! assert!(state.amplitude(0b01)?.is_zero());
//! let z = state.expectation(&"Z0".parse()?)?;
//! assert_eq!(z.to_string(), "cos(theta)");
//! assert_eq!(z.derivative("theta")?.to_string(), "-sin(theta)");
//! assert_eq!(z.text(Form::Exp), "(exp(-i*theta) + exp(i*theta))/2");
//! assert!((z.eval(&[0.3])?.re - 0.3f64.cos()).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is in the ring
//! Every gate of the table, at every angle that is a sum of a fraction of pi (`3*pi/8`, `pi/7`), of
//! parameters times fractions, and of a decimal of up to 12 digits. Not a number such as
//! 1.0471975511965976, which stands for some real number that is not known: [`ExactError::Outside`]
//! names the angle. The denominators of fractions of pi go up to 2^29 times an odd number of 2^20.
//! A parameter that is computed (`sin(theta)`) is a symbol of its own. On
//! [`Expr`](crate::trace::Expr)s instead of this ring a circuit takes any angle, and
//! [`normal`](crate::normal) forms of what comes out know multiples of `pi/12`; but there no form
//! is the only one, and amplitudes grow sooner.
//!
//! # Text
//! [`Formula::text`] is short and always the same for the same formula. Phases and variables that
//! separate become factors. What is left is one sum of sines and cosines, `cos(a/2 + b/2)`, or a
//! sum of products whose factors are such sums again: the variables, in the order of the circuit's
//! parameters, are cut in two where that leaves the fewest monomials, and what is multiplied by
//! the same factor is collected, again and again on both sides. Whichever of the two has fewer
//! functions and names is written, the one sum if they have as many. After ten rotations of a GHZ
//! state that is two products instead of 512 terms; for layers of rotations and CNOTs on n qubits
//! it grows with 4^n, not with the number of paths through the layers. [`Formula::expanded`] writes
//! one sum, everything multiplied out.
//!
//! # Growth
//! Each rotation by an angle of its own may double the terms. A run stops at [`Budget::terms`] with
//! an error that names the gate; no number ever holds more than [`MAX_TERMS`] terms.

mod convert;
mod factor;
mod formula;
mod gauss;
mod names;
mod nested;
mod number;
mod odd;
mod print;
mod reach;
mod run;
mod short;
mod sums;
mod symbols;
mod terms;
mod trigonometric;

pub use formula::Formula;
pub use names::RESERVED;
#[doc(hidden)]
pub use names::latex_name_beside;
use number::MAX_PAIRS;
pub use number::{Exact, ExactNumberError, MAX_TERMS};
pub use print::Form;
pub use run::{Budget, ClosedForm};
pub use symbols::Symbols;

use crate::{
    basis::BasisError,
    circuit::{Circuit, CircuitError},
    param::{Angle, BindError},
    simulate::SimulateError,
};

/// Error of a closed form: the reason why there is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExactError {
    /// An angle that the ring does not hold.
    #[error(
        "the angle {angle} is outside the ring of exact numbers, which holds fractions of pi, parameters times fractions, \
         and decimals of up to 12 digits"
    )]
    Outside {
        /// The angle, with the names of the circuit.
        angle: String,
    },
    /// More parameters than the exponents of one term have room for.
    #[error(
        "the exponents of {given} angles need {needed} bits, but a term has {room}: give some parameters values"
    )]
    TooManyAngles {
        /// Parameters that occur, one radian included.
        given: usize,
        /// Bits that their exponents need.
        needed: u32,
        /// Bits that there are.
        room: u32,
    },
    /// A run that grew beyond its budget.
    #[error(
        "after gate {number}, {gate}, the closed form has {terms} terms in {angles} free angles, more than the {limit} \
         allowed: give some parameters values, or compute with numbers"
    )]
    Budget {
        /// Number of the gate, counted from 1.
        number: usize,
        /// The gate.
        gate: String,
        /// Terms of all amplitudes.
        terms: usize,
        /// Parameters that occur.
        angles: usize,
        /// The most terms allowed.
        limit: usize,
    },
    /// One number that outgrew the ring.
    #[error(
        "{what} is {fault}, with {angles} free angles: give some parameters values, or compute with numbers"
    )]
    Number {
        /// Quantity that was computed.
        what: String,
        /// Error of the arithmetic.
        fault: ExactNumberError,
        /// Parameters that occur.
        angles: usize,
    },
    /// A gate whose matrix is not over this ring.
    #[error("the gate {gate} has no exact matrix: {reason}")]
    Gate {
        /// The gate.
        gate: &'static str,
        /// Reason.
        reason: String,
    },
    /// A coefficient of an observable that is no finite decimal.
    #[error("the coefficient {coefficient} of the observable has no exact form")]
    Coefficient {
        /// The coefficient.
        coefficient: f64,
    },
    /// A derivative by an input that others are computed from.
    #[error(
        "{computed} is computed from {name}, so it is a symbol of its own: there is no derivative by {name}"
    )]
    Computed {
        /// The input.
        name: String,
        /// Parameter that is computed from it.
        computed: String,
    },
    /// Two formulas of different circuits.
    #[error("the formulas belong to different circuits")]
    Foreign,
    /// The circuit, its parameters, or the state.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
}

impl ExactError {
    fn outside(circuit: &Circuit, angle: &Angle) -> ExactError {
        let rounded = if angle.rounding_bound() > 0.0 { " (rounded)" } else { "" };
        ExactError::Outside { angle: format!("{}{rounded}", circuit.angle_text(angle)) }
    }

    /// Returns the error of a run of this circuit.
    fn of_run(circuit: &Circuit, error: SimulateError) -> ExactError {
        match error {
            SimulateError::Circuit(CircuitError::Bind(BindError::NotInRing { angle, .. })) => {
                ExactError::outside(circuit, &angle)
            }
            other => other.into(),
        }
    }
}

impl From<CircuitError> for ExactError {
    fn from(error: CircuitError) -> ExactError {
        SimulateError::from(error).into()
    }
}
impl From<BasisError> for ExactError {
    fn from(error: BasisError) -> ExactError {
        SimulateError::from(error).into()
    }
}
