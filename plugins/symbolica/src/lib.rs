//! Symbolica expressions as numbers for ketgrad.
//!
//! [`Symbolic`] wraps Symbolica's `Atom` and implements ketgrad's [`Scalar`] and [`Real`], so the
//! generic kernels, the gate table and the derivative rules run on it. Amplitudes are pairs of real
//! expressions, `Complex<Symbolic>`.
//!
//! ```no_run
//! use ketgrad_core::{circuit::Circuit, simulate::Simulator};
//! use ketgrad_symbolica::Symbolic;
//!
//! let mut circuit = Circuit::new(1);
//! let theta = circuit.param("theta");
//! circuit.ry(0, theta)?;
//! let theta = Symbolic::symbol("theta")?;
//! let state = Simulator::new().run(&circuit, &[theta])?;
//! println!("{}", state.amplitudes()[1].re.text()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Licence
//! This crate is optional and nothing else in ketgrad depends on it. Symbolica is proprietary,
//! source-available software: **you need a Symbolica licence of your own** (free terms exist for
//! some uses, see <https://symbolica.io/license/>), and **rights to run it are not included with
//! this crate** or transferred by it. A copy of its licence is in `LICENSE-SYMBOLICA.md`. The crate
//! is written from Symbolica's public interface as documented.
//!
//! # Limits
//! All symbols are real. Kernels on this type use one thread. Comparisons are answered for
//! constants only; everything else is [`Undecided`], as for any symbol.

mod number;
mod text;

use std::{cmp::Ordering, collections::HashMap};

use ketgrad_core::scalar::{Conj, Real, Ring, Scalar, Undecided};
use num_traits::{One, Zero};
use symbolica::atom::{Atom, AtomCore, AtomView, Symbol};

pub use text::{ReadError, WriteError, read};

/// A real expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbolic(Atom);

/// Error of an expression that has no value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// A name that Symbolica does not take.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Symbolica's message, such as that a symbol has no value.
    #[error("the expression has no value: {reason}")]
    NoValue {
        /// In its words.
        reason: String,
    },
}

/// A name that Symbolica does not take.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{name}` cannot be a symbol: {reason}")]
pub struct NameError {
    /// The name.
    pub name: String,
    /// In Symbolica's words.
    pub reason: String,
}

impl Symbolic {
    /// The symbol of a parameter; any name will do, `w[0]` too.
    ///
    /// # Errors
    /// [`NameError`] if Symbolica refuses it.
    pub fn symbol(name: &str) -> Result<Symbolic, NameError> {
        Ok(Symbolic(Atom::var(text::symbol(name)?)))
    }

    /// An expression of Symbolica's.
    #[must_use]
    pub fn from_atom(atom: Atom) -> Symbolic {
        Symbolic(atom)
    }

    /// Symbolica's expression.
    #[must_use]
    pub fn atom(&self) -> &Atom {
        &self.0
    }

    /// The derivative by a parameter, by Symbolica.
    ///
    /// # Errors
    /// [`NameError`] if Symbolica refuses the name.
    pub fn derivative(&self, name: &str) -> Result<Symbolic, NameError> {
        Ok(Symbolic(self.0.derivative(text::symbol(name)?)))
    }

    /// The value where parameters have these values.
    ///
    /// # Errors
    /// [`EvaluateError`] if one has none, or where the expression is not defined.
    pub fn evaluate(&self, values: &[(&str, f64)]) -> Result<f64, EvaluateError> {
        let mut map: HashMap<Atom, f64> = HashMap::new();
        for (name, value) in values {
            map.insert(Atom::var(text::symbol(name)?), *value);
        }
        self.0.evaluate(&map).map_err(|error| EvaluateError::NoValue { reason: format!("{error:?}") })
    }

    /// The text in the language of ketgrad's formulas: `+ - * / ^`, functions by name, `pi` and the
    /// names of the parameters. [`read`] reads it again.
    ///
    /// # Errors
    /// [`WriteError`] for what that language does not have.
    pub fn text(&self) -> Result<String, WriteError> {
        text::write(self.0.as_atom_view())
    }

    fn function(symbol: Symbol, x: &Symbolic) -> Symbolic {
        Symbolic(symbol.call(&x.0))
    }
}

impl Zero for Symbolic {
    fn zero() -> Symbolic {
        Symbolic(Atom::zero())
    }
    fn is_zero(&self) -> bool {
        self.is_exact_zero()
    }
}

impl One for Symbolic {
    fn one() -> Symbolic {
        Symbolic(Atom::one())
    }
}

impl Ring for Symbolic {
    const PARALLEL: bool = false;

    fn is_exact_zero(&self) -> bool {
        self.0.is_zero()
    }
    fn is_exact_one(&self) -> bool {
        self.0.is_one()
    }
}

impl Conj for Symbolic {
    fn conj(&self) -> Symbolic {
        self.clone()
    }
}

impl Real for Symbolic {
    fn pi() -> Symbolic {
        Symbolic(Atom::var(Symbol::PI))
    }
    /// As `2 atan(y / (sqrt(x^2 + y^2) + x))`, which has no value where y = 0 and x <= 0.
    fn atan2(&self, x: &Symbolic) -> Symbolic {
        Symbolic::int(2) * (self / (self.hypot(x) + x)).atan()
    }
    fn hypot(&self, y: &Symbolic) -> Symbolic {
        (self * self + y * y).sqrt()
    }
    /// Of a number its value, of anything else nothing.
    fn primal(&self) -> Option<f64> {
        match self.0.as_atom_view() {
            AtomView::Num(_) => self.evaluate(&[]).ok(),
            AtomView::Var(v) if v.get_symbol() == Symbol::PI => Some(std::f64::consts::PI),
            _ => None,
        }
    }
    /// Compares numbers; anything else is [`Undecided`].
    fn try_cmp(&self, other: &Symbolic) -> Result<Option<Ordering>, Undecided> {
        match (self.primal(), other.primal()) {
            (Some(a), Some(b)) => Ok(a.partial_cmp(&b)),
            _ => Err(Undecided::new("Symbolica expression")),
        }
    }
}
