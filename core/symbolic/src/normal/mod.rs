//! Expressions in a normal form, for reading, printing and comparing.
//!
//! [`Expr::normal`] writes an expression as a sum of products with exact coefficients:
//!
//! ```
//! use ketgrad_core::{normal::ExprExt, scalar::{Real, Scalar}, trace::Expr};
//!
//! let (x, y) = (Expr::symbol("x"), Expr::symbol("y"));
//! let square = (&x + &y) * (&x + &y) - &y * &y;
//! assert_eq!(square.normal()?.to_string(), "x^2 + 2*x*y");
//! assert_eq!(square.normal()?.factored().to_string(), "x*(x + 2*y)");
//! assert_eq!((x.sin() * x.sin() + x.cos() * x.cos()).normal()?.to_string(), "1");
//! assert_eq!((x.sin() * y.cos() + x.cos() * y.sin()).normal()?.to_string(), "sin(x + y)");
//! assert_eq!(((&x + &x * &y) / (Expr::int(1) + &y)).normal()?.to_string(), "x");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The form
//! A [`Normal`] is `sum_j q_j product_k a_k^(e_k) w_j` with fractions `q_j`, whole exponents `e_k`,
//! and at most one sine or cosine `w_j` in each term. The `a_k` are square roots of primes, pi,
//! floats that are no short binary fractions, inputs, and functions of normal forms. It is reached
//! by these steps, each of which ends:
//!
//! - Products are multiplied out, equal products collected; sums are sorted, so the text is the
//!   same on every run.
//! - Products of sines and cosines become sums: `2 cos a cos b = cos(a - b) + cos(a + b)`.
//!   Arguments have a positive first coefficient; multiples of `pi/2` in them change the function,
//!   multiples of `pi/12` become roots. Sines and cosines of different arguments are linearly
//!   independent, so what is zero by trigonometry comes out as 0.
//! - Even powers of roots are taken out, `e^a e^b = e^(a+b)`, positive fractions leave roots and
//!   logarithms. Hyperbolic sines and cosines become exponentials, and are written as what they are
//!   again: `cosh(x)^2 - sinh(x)^2` is 1.
//! - Functions of their inverses, logarithms of products, roots of squares and the like follow
//!   rules of which each has its condition: `ln(x y)` is `ln x + ln y` only where one of them is
//!   seen to be positive, `atan(tan x)` stays.
//! - A denominator of one product joins the exponents; one of several terms stays a factor `1/(…)`
//!   with leading coefficient 1, and is cancelled where it divides the terms above it.
//!
//! Two expressions of the same normal form are equal wherever both are defined. The converse holds
//! for polynomials in inputs, their exponentials, sines and cosines at multiples of `pi/12`; other
//! functions are opaque. [`Expr::equality`] decides more.
//!
//! # Products, fractions, series
//! [`Normal::factored`] splits polynomials into irreducible factors, [`Normal::cancelled`] joins
//! fractions. [`Expr::series`] and [`Expr::limit`] tell what an expression is near a point.
//!
//! ```
//! use ketgrad_core::{normal::{Approach, ExprExt}, scalar::Scalar, trace::Expr};
//!
//! let (x, one) = (Expr::symbol("x"), Expr::int(1));
//! assert_eq!((x.powi(4) + Expr::int(4)).normal()?.factored().to_string(), "(x^2 - 2*x + 2)*(x^2 + 2*x + 2)");
//! assert_eq!((&one / (&x - &one) - &one / (&x + &one)).normal()?.cancelled()?.to_string(), "2/(x^2 - 1)");
//! assert_eq!(x.tan().series("x", &Expr::int(0), 5)?.to_string(), "x + 1/3*x^3 + O(x^5)");
//! assert_eq!((x.ln() * &x).limit("x", &Approach::Right(Expr::int(0)))?.to_string(), "0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cost
//! Multiplying out may grow exponentially: beyond [`MAX_TERMS`] terms it is an error, and nothing
//! is lost by it: an [`Expr`] can be evaluated, differentiated and compared without a normal form.

#![expect(
    clippy::disallowed_methods,
    reason = "the numbers here are exact: a zero hides no derivative"
)]

mod atoms;
mod basis;
mod circular;
mod equality;
mod factor;
mod functions;
mod germ;
mod hyperbolic;
mod integer;
mod kronecker;
mod print;
mod rational;
mod read;
mod rounding;
mod sample;
mod series;
mod sum;
mod write;

pub(crate) use basis::{BasisMembership, RationalBasis, RationalCombination};
pub use equality::Equality;
pub use factor::Factored;
pub use rational::RationalFunction;
pub use series::{Approach, Limit, Series, SeriesError};

use crate::trace::{Expr, TraceError};
use sum::NormalSum;

/// The most terms of a normal form.
pub const MAX_TERMS: usize = 1 << 12;

/// Error of a normal form: the reason why an expression has none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NormalError {
    /// The normal form grows too long.
    #[error(
        "the normal form has more than {limit} terms: evaluate the expression, or compare it as it is"
    )]
    Terms {
        /// The most terms allowed.
        limit: usize,
    },
    /// The normal form grows too long inside of functions.
    #[error(
        "the normal form has more than {limit} terms, those inside of functions counted: evaluate the expression, or \
         compare it as it is"
    )]
    Inner {
        /// The most terms allowed.
        limit: usize,
    },
    /// Functions of functions of …
    #[error("functions are nested more than {limit} deep, which has no normal form here")]
    Depth {
        /// The deepest allowed.
        limit: usize,
    },
    /// A fraction grows too long.
    #[error(
        "a coefficient of the normal form has more than {bits} bits: evaluate the expression instead"
    )]
    Coefficient {
        /// The most bits allowed.
        bits: u64,
    },
    /// An exponent is beyond 32 bits.
    #[error("an exponent of the normal form is beyond 32 bits: evaluate the expression instead")]
    Exponent,
    /// A denominator is zero for all values of the inputs.
    #[error("the expression divides by zero, whatever its inputs are")]
    DivisionByZero,
    /// Something that is no function of real numbers, or a branch.
    #[error("the expression holds {what}, which has no normal form")]
    Unsupported {
        /// Construct without a normal form.
        what: String,
    },
    /// The expression is no function of its inputs.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

type NormalResult<T> = Result<T, NormalError>;

/// A real expression in normal form. Prints as a formula in `+ - * / ^`, functions, `pi` and names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normal(NormalSum);

/// Normal forms, equality, series and limits of expressions.
pub trait ExprExt {
    /// Returns the normal form. See [the module](crate::normal).
    ///
    /// # Errors
    /// [`NormalError`].
    fn normal(&self) -> Result<Normal, NormalError>;

    /// Decides whether two expressions are equal as functions of their inputs. O(size) for each of
    /// at most four sample points, however large they would be multiplied out.
    ///
    /// ```
    /// use ketgrad_core::{normal::{Equality, ExprExt}, scalar::Scalar, trace::Expr};
    ///
    /// let (x, y) = (Expr::symbol("x"), Expr::symbol("y"));
    /// let left = (&x - &y).cos() * (&x + &y).cos();
    /// let right = x.cos().powi(2) - y.sin().powi(2);
    /// assert!(matches!(left.equality(&right, 1)?, Equality::Equal { error_bound } if error_bound < 1e-9));
    /// assert!(matches!(left.equality(&x.cos().powi(2), 1)?, Equality::Different { .. }));
    /// # Ok::<(), ketgrad_core::normal::NormalError>(())
    /// ```
    ///
    /// # Errors
    /// [`NormalError::Unsupported`] for a branch or a complex number; [`NormalError::Trace`].
    fn equality(&self, other: &Expr, seed: u64) -> Result<Equality, NormalError>;

    /// Returns the Laurent series in a variable at a point, up to an error of
    /// `O((variable - point)^order)`.
    ///
    /// ```
    /// use ketgrad_core::{normal::ExprExt, scalar::Scalar, trace::Expr};
    ///
    /// let x = Expr::symbol("x");
    /// let series = (x.sin() / x.powi(3)).series("x", &Expr::int(0), 4)?;
    /// assert_eq!(series.to_string(), "x^(-2) - 1/6 + 1/120*x^2 + O(x^4)");
    /// # Ok::<(), ketgrad_core::normal::SeriesError>(())
    /// ```
    ///
    /// Coefficients are normal forms in the other inputs. They are right where the expression is
    /// defined for values of those that do not make a coefficient vanish by which it divides.
    ///
    /// # Errors
    /// [`SeriesError`]: there is no such series, or it is not found. O(order^2) products of
    /// coefficients for each operation.
    fn series(&self, variable: &str, point: &Expr, order: i32) -> Result<Series, SeriesError>;

    /// Returns the limit as a variable approaches a point or infinity.
    ///
    /// ```
    /// use ketgrad_core::{normal::{Approach, ExprExt}, scalar::Scalar, trace::Expr};
    ///
    /// let x = Expr::symbol("x");
    /// let limit = (x.sin() / &x).limit("x", &Approach::Both(Expr::int(0)))?;
    /// assert_eq!(limit.to_string(), "1");
    /// let limit = (Expr::int(1) + Expr::int(1) / &x).pow(&x).limit("x", &Approach::Infinity)?;
    /// assert_eq!(limit.to_string(), "exp(1)");
    /// # Ok::<(), ketgrad_core::normal::SeriesError>(())
    /// ```
    ///
    /// Powers, logarithms and exponentials are compared; oscillations and logarithms of logarithms
    /// are not.
    ///
    /// # Errors
    /// [`SeriesError`]: there is no limit, or it is not found.
    fn limit(&self, variable: &str, approach: &Approach) -> Result<Limit, SeriesError>;
}

impl ExprExt for Expr {
    fn normal(&self) -> Result<Normal, NormalError> {
        read::normal(self, MAX_TERMS).map(Normal)
    }

    fn equality(&self, other: &Expr, seed: u64) -> Result<Equality, NormalError> {
        equality::equality(self, other, seed)
    }

    fn series(&self, variable: &str, point: &Expr, order: i32) -> Result<Series, SeriesError> {
        series::series(self, variable, point, order)
    }

    fn limit(&self, variable: &str, approach: &Approach) -> Result<Limit, SeriesError> {
        series::limit(self, variable, approach)
    }
}

impl Normal {
    /// Returns true if it is zero, and so is every expression that it is the normal form of,
    /// wherever that is defined.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// Returns the number of terms.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.0.terms().len()
    }

    /// Converts the normal form to an expression.
    ///
    /// # Errors
    /// [`NormalError::Unsupported`] for a function that expressions lack.
    pub fn expression(&self) -> Result<Expr, NormalError> {
        write::expression(&self.0)
    }

    /// Returns the text in LaTeX's mathematics.
    #[must_use]
    pub fn latex(&self) -> String {
        print::latex(&self.0)
    }

    /// Factors the normal form: a polynomial in inputs, pi and functions is split into irreducible
    /// factors over the rational numbers. Where that takes too long, or the form holds sines,
    /// cosines, exponentials, roots or denominators, factors may be left unsplit;
    /// [`Factored::is_complete`] says so.
    #[must_use]
    pub fn factored(&self) -> Factored {
        factor::factored(&self.0)
    }
}
