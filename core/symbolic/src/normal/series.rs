//! Series and limits of expressions at a point.

use std::fmt;

use super::{
    ExprExt, Normal, NormalError,
    germ::{self, Context, Germ, GermError},
    read::StraightLineProgram,
    sum::{Algebra, NormalSum, whole},
    write,
};
use crate::{scalar::Scalar, trace::Expr};

/// Coefficients that are computed at most.
const MAX_COEFFICIENTS: usize = 96;
/// Terms of a coefficient at most: longer ones would be of no use to anybody, and each is
/// multiplied with all others.
const MAX_COEFFICIENT_TERMS: usize = 64;
/// Coefficients that a limit is first looked for in.
const FIRST: usize = 6;
/// Roots of the distance to the point that are powers of.
const MAX_ROOT: i32 = 60;

/// Error of a series or a limit: the reason why there is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SeriesError {
    /// Infinitely many negative powers.
    #[error(
        "there is an essential singularity at the point: no series in whole powers; ask for a limit from one side"
    )]
    Essential,
    /// A branch point, or a change of sign.
    #[error(
        "there is {what} at the point: no series in whole powers; ask for a limit from one side"
    )]
    Branch {
        /// Kind of singularity.
        what: String,
    },
    /// The limits from both sides differ.
    #[error("the limit from the left is {left}, from the right it is {right}")]
    Sides {
        /// Limit from the left.
        left: String,
        /// Limit from the right.
        right: String,
    },
    /// No real values near the point.
    #[error("near the point the expression holds {what}")]
    Undefined {
        /// Subexpression without a value.
        what: String,
    },
    /// Beyond what is done here.
    #[error("it is not known here what {what} is near the point")]
    Unknown {
        /// Subexpression that is not known.
        what: String,
    },
    /// It depends on inputs, or is a zero that is not seen to be one.
    #[error(
        "it is not decided whether `{what}` is zero, or what sign it has: give its inputs values"
    )]
    Undecided {
        /// The coefficient.
        what: String,
    },
    /// Too many coefficients cancel.
    #[error("the first {coefficients} coefficients decide nothing, and more are too costly")]
    Costly {
        /// Number of coefficients examined.
        coefficients: usize,
    },
    /// The point depends on the variable, or on what is not real.
    #[error("the point {point} depends on the variable {variable}: give one that does not")]
    Point {
        /// The point.
        point: String,
        /// The variable.
        variable: String,
    },
    /// A coefficient has no normal form.
    #[error(transparent)]
    Normal(#[from] NormalError),
}

/// Direction from which a variable approaches its limit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Approach {
    /// A point, from both sides.
    Both(Expr),
    /// A point, from below.
    Left(Expr),
    /// A point, from above.
    Right(Expr),
    /// Plus infinity.
    Infinity,
    /// Minus infinity.
    NegativeInfinity,
}

/// A limit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// A number, or a form in the other inputs.
    Finite(Normal),
    /// Plus infinity.
    Infinity,
    /// Minus infinity.
    NegativeInfinity,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Finite(form) => fmt::Display::fmt(form, f),
            Limit::Infinity => f.pad("inf"),
            Limit::NegativeInfinity => f.pad("-inf"),
        }
    }
}

/// `sum_k c_k (x - a)^k + O((x - a)^order)`. Prints as a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    variable: String,
    point: NormalSum,
    start: i32,
    coefficients: Vec<NormalSum>,
    order: i32,
}

impl Series {
    /// Returns the least exponent; that of the error where all coefficients are zero.
    #[must_use]
    pub fn start(&self) -> i32 {
        self.start
    }

    /// Returns the exponent of the error.
    #[must_use]
    pub fn order(&self) -> i32 {
        self.order
    }

    /// Returns the coefficient of a power of the distance to the point; `None` from the order on.
    #[must_use]
    pub fn coefficient(&self, exponent: i32) -> Option<Normal> {
        if exponent >= self.order {
            return None;
        }
        let k = usize::try_from(i64::from(exponent) - i64::from(self.start)).ok();
        Some(Normal(k.and_then(|k| self.coefficients.get(k)).cloned().unwrap_or_default()))
    }

    /// Returns the sum without the error.
    ///
    /// # Errors
    /// Fails when [`Normal::expression`] does.
    pub fn polynomial(&self) -> Result<Expr, NormalError> {
        let distance = Expr::symbol(&self.variable) - write::expression(&self.point)?;
        let mut sum = Expr::int(0);
        for (k, c) in self.coefficients.iter().enumerate() {
            sum += write::expression(c)? * distance.powi(i64::from(self.start) + k as i64);
        }
        Ok(sum)
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let point = Normal(self.point.clone()).to_string();
        let base = match (self.point.is_zero(), self.point.terms().len(), point.strip_prefix('-')) {
            (true, ..) => self.variable.clone(),
            (false, 1, Some(positive)) => format!("({} + {positive})", self.variable),
            (false, 1, None) => format!("({} - {point})", self.variable),
            _ => format!("({} - ({point}))", self.variable),
        };
        let power = |e: i32| match e {
            1 => base.clone(),
            0.. => format!("{base}^{e}"),
            _ => format!("{base}^({e})"),
        };
        let mut text = String::new();
        for (k, c) in self.coefficients.iter().enumerate().filter(|x| !x.1.is_zero()) {
            let e = self.start + i32::try_from(k).unwrap_or(0);
            let c = Normal(c.clone());
            let (form, many) = (c.to_string(), c.n_terms() > 1);
            let (sign, form) = match form.strip_prefix('-') {
                Some(rest) if !many => ("-", rest.to_owned()),
                _ => ("+", if many && e != 0 { format!("({form})") } else { form }),
            };
            let term = match (e, form.as_str()) {
                (0, _) => form,
                (e, "1") => power(e),
                (e, _) => format!("{form}*{}", power(e)),
            };
            text += &match (text.is_empty(), sign) {
                (true, "+") => term,
                (true, _) => format!("-{term}"),
                (false, sign) => format!(" {sign} {term}"),
            };
        }
        let error =
            format!("O({})", if self.order == 0 { "1".to_owned() } else { power(self.order) });
        f.pad(&if text.is_empty() { error } else { format!("{text} + {error}") })
    }
}

/// See [`ExprExt::series`](super::ExprExt::series).
pub(super) fn series(
    expr: &Expr,
    variable: &str,
    point: &Expr,
    order: i32,
) -> Result<Series, SeriesError> {
    let point = checked_point(variable, point)?;
    let line = StraightLineProgram::new(expr)?;
    let mut terms = usize::try_from(order).unwrap_or(0) + 2;
    while terms <= MAX_COEFFICIENTS {
        let context = context(terms, true);
        let at = context.tidied(near(&point, 1, 1)?).map_err(error)?;
        match germ::germ(&line, variable, &at, context) {
            Ok(g) if !g.growth.is_empty() => return Err(SeriesError::Essential),
            Ok(g) if g.end.is_none_or(|end| end >= order) => {
                return Ok(truncated(g, variable, point, order));
            }
            Ok(_) | Err(GermError::Terms) => terms = terms * 2 + 2,
            Err(problem) => return Err(error(problem)),
        }
    }
    Err(SeriesError::Costly { coefficients: MAX_COEFFICIENTS })
}

/// See [`ExprExt::limit`](super::ExprExt::limit).
pub(super) fn limit(
    expr: &Expr,
    variable: &str,
    approach: &Approach,
) -> Result<Limit, SeriesError> {
    let line = StraightLineProgram::new(expr)?;
    let from = |point: &NormalSum, sign| one_sided(&line, variable, |root| near(point, sign, root));
    match approach {
        Approach::Left(point) => from(&checked_point(variable, point)?, -1),
        Approach::Right(point) => from(&checked_point(variable, point)?, 1),
        Approach::Both(point) => {
            let point = checked_point(variable, point)?;
            let (left, right) = (from(&point, -1)?, from(&point, 1)?);
            if agree(&left, &right) {
                return Ok(right);
            }
            Err(SeriesError::Sides { left: left.to_string(), right: right.to_string() })
        }
        Approach::Infinity => {
            one_sided(&line, variable, |root| Ok(Germ::term(-root, NormalSum::one())))
        }
        Approach::NegativeInfinity => {
            one_sided(&line, variable, |root| Ok(Germ::term(-root, NormalSum::one().negated())))
        }
    }
}

fn context(terms: usize, two_sided: bool) -> Context {
    Context { algebra: Algebra { limit: MAX_COEFFICIENT_TERMS }, terms, two_sided }
}

fn error(problem: GermError) -> SeriesError {
    match problem {
        GermError::Error(e) => e,
        GermError::Terms => SeriesError::Costly { coefficients: MAX_COEFFICIENTS },
        GermError::Root(_) => SeriesError::Branch { what: "a root".to_owned() },
    }
}

/// Returns the point plus or minus a power of t.
fn near(point: &NormalSum, sign: i32, root: i32) -> Result<Germ, SeriesError> {
    let mut coefficients = vec![point.clone()];
    coefficients.resize(usize::try_from(root).unwrap_or(1), NormalSum::zero());
    coefficients.push(NormalSum::constant(whole(sign)));
    Ok(Germ { coefficients, ..Germ::constant(NormalSum::zero()) })
}

fn checked_point(variable: &str, point: &Expr) -> Result<NormalSum, SeriesError> {
    if point.symbols().iter().any(|name| name == variable) {
        return Err(SeriesError::Point { point: point.to_string(), variable: variable.to_owned() });
    }
    Ok(point.normal()?.0)
}

fn truncated(g: Germ, variable: &str, point: NormalSum, order: i32) -> Series {
    let start = if g.coefficients.is_empty() { order } else { g.start.min(order) };
    let coefficients = (start..order).map(|e| g.coefficient(e).unwrap_or_default()).collect();
    Series { variable: variable.to_owned(), point, start, coefficients, order }
}

/// Returns the limit for small positive t.
fn one_sided(
    line: &StraightLineProgram,
    variable: &str,
    near: impl Fn(i32) -> Result<Germ, SeriesError>,
) -> Result<Limit, SeriesError> {
    let (mut terms, mut root) = (FIRST, 1);
    while terms <= MAX_COEFFICIENTS {
        let context = context(terms, false);
        let at = context.tidied(near(root)?).map_err(error)?;
        let value = germ::germ(line, variable, &at, context).and_then(|g| limit_of(context, &g));
        match value {
            Ok(limit) => return Ok(limit),
            Err(GermError::Terms) => terms *= 2,
            Err(GermError::Root(n)) if root.saturating_mul(n) <= MAX_ROOT => {
                root *= n;
                terms = terms.max(FIRST * usize::try_from(n).unwrap_or(1));
            }
            Err(problem) => return Err(error(problem)),
        }
    }
    Err(SeriesError::Costly { coefficients: MAX_COEFFICIENTS })
}

fn limit_of(context: Context, g: &Germ) -> Result<Limit, GermError> {
    let g = context.tidied(g.clone())?;
    let grows = context.grows(&g.growth)?;
    let infinite = |sign: i32| if sign > 0 { Limit::Infinity } else { Limit::NegativeInfinity };
    let zero = Limit::Finite(Normal(NormalSum::zero()));
    if !grows && !g.growth.is_empty() {
        return Ok(zero);
    }
    let Some(lead) = g.coefficients.first() else {
        return if !grows && g.end.is_none_or(|end| end > 0) {
            Ok(zero)
        } else {
            Err(GermError::Terms)
        };
    };
    if grows || g.start < 0 {
        return Ok(infinite(context.sign(lead)?));
    }
    if g.start > 0 {
        return Ok(zero);
    }
    Ok(match Germ::limit_of(context, lead)? {
        Ok(form) => Limit::Finite(Normal(form)),
        Err(sign) => infinite(sign),
    })
}

fn agree(left: &Limit, right: &Limit) -> bool {
    match (left, right) {
        (Limit::Finite(a), Limit::Finite(b)) => {
            let difference = a.0.minus(&b.0).map(Normal);
            difference.is_ok_and(|d| {
                d.is_zero() || d.cancelled().is_ok_and(|fraction| fraction.is_zero())
            })
        }
        (a, b) => a == b,
    }
}
