//! [`Traced`]: a value and the formula that it came from.
//!
//! Rust code that compares cannot run on symbols alone. On `Traced<R>` it takes the branch that the
//! values take, and the comparison is noted: the recording holds for all inputs that decide every
//! noted comparison the same way, and fails for others.

use std::{
    cmp::Ordering,
    collections::HashSet,
    fmt,
    panic::Location,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use num_traits::{One, Zero};

use crate::{
    ir::{Position, order_sign},
    scalar::{Conj, Ordered, Piece, Real, Ring, Scalar, Undecided},
};

use super::{
    callee::{Callee, Record},
    error::TraceError,
    expr::Expr,
};

/// A real number and its formula.
///
/// Arithmetic works on both, and so do `min`, `max` and [`abs`](Traced::abs). A comparison (`<`,
/// `==`, [`Ordered::cmp_primal`]) is decided by the value and recorded as a path condition, which
/// the recording checks when it runs. [`Real::primal`] returns `None`, so that no library formula
/// takes a branch that is not recorded; [`value`](Traced::value) returns the value to callers that
/// accept this.
#[derive(Clone)]
pub struct Traced<R> {
    value: R,
    expr: Expr,
    log: Option<PathLog>,
}

/// Log of the comparisons of one recording.
#[derive(Clone, Default)]
pub(super) struct PathLog(Arc<Mutex<PathNotes>>);

#[derive(Default)]
struct PathNotes {
    conditions: Vec<PathCondition>,
    seen: HashSet<(u128, u128)>,
}

/// A comparison that a recording has seen, with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathCondition {
    /// The left side.
    pub left: Expr,
    /// The right side.
    pub right: Expr,
    /// Order of the two sides; `None` if one was NaN.
    pub order: Option<Ordering>,
    /// Position in the source.
    pub at: Position,
}

/// Prints as `x > 0`.
impl fmt::Display for PathCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.left, order_sign(self.order), self.right)
    }
}

impl PathLog {
    fn notes(&self) -> MutexGuard<'_, PathNotes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn record(&self, left: &Expr, right: &Expr, order: Option<Ordering>) {
        let here = Location::caller();
        let mut notes = self.notes();
        // A comparison that is repeated has the same result.
        if notes.seen.insert((left.0.key(), right.0.key())) {
            let at = Position::new(here.line(), here.column());
            notes.conditions.push(PathCondition {
                left: left.clone(),
                right: right.clone(),
                order,
                at,
            });
        }
    }

    pub(super) fn conditions(&self) -> Vec<PathCondition> {
        self.notes().conditions.clone()
    }
}

impl<R: Real> Traced<R> {
    pub(super) fn input(value: R, expr: Expr, log: &PathLog) -> Traced<R> {
        Traced { value, expr, log: Some(log.clone()) }
    }

    /// Returns the value.
    #[must_use]
    pub fn value(&self) -> &R {
        &self.value
    }

    /// Returns the formula.
    #[must_use]
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    fn constant(value: R, expr: Expr) -> Traced<R> {
        Traced { value, expr, log: None }
    }

    fn map(&self, value: R, expr: Expr) -> Traced<R> {
        Traced { value, expr, log: self.log.clone() }
    }

    fn join(&self, other: &Traced<R>, value: R, expr: Expr) -> Traced<R> {
        Traced { value, expr, log: self.log.as_ref().or(other.log.as_ref()).cloned() }
    }

    #[track_caller]
    fn compare(&self, other: &Traced<R>) -> Result<Option<Ordering>, Undecided> {
        let order = self.value.try_cmp(&other.value)?;
        let known = self.expr.constant().is_some() && other.expr.constant().is_some();
        if let (false, Some(log)) = (known, self.log.as_ref().or(other.log.as_ref())) {
            log.record(&self.expr, &other.expr, order);
        }
        Ok(order)
    }
}

impl<R: fmt::Debug> fmt::Debug for Traced<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {:?}", self.expr, self.value)
    }
}

/// Implements one operator for values and references.
macro_rules! operators {
    ($($Op:ident $op:ident $Assign:ident $assign:ident)*) => {$(
        impl<R: Real> std::ops::$Op for Traced<R> {
            type Output = Traced<R>;
            fn $op(self, y: Traced<R>) -> Traced<R> { (&self).$op(&y) }
        }
        impl<R: Real> std::ops::$Op<&Traced<R>> for Traced<R> {
            type Output = Traced<R>;
            fn $op(self, y: &Traced<R>) -> Traced<R> { (&self).$op(y) }
        }
        impl<R: Real> std::ops::$Op<Traced<R>> for &Traced<R> {
            type Output = Traced<R>;
            fn $op(self, y: Traced<R>) -> Traced<R> { self.$op(&y) }
        }
        impl<R: Real> std::ops::$Op for &Traced<R> {
            type Output = Traced<R>;
            fn $op(self, y: &Traced<R>) -> Traced<R> {
                self.join(y, self.value.clone().$op(y.value.clone()), (&self.expr).$op(&y.expr))
            }
        }
        impl<R: Real> std::ops::$Assign for Traced<R> {
            fn $assign(&mut self, y: Traced<R>) { *self = std::ops::$Op::$op(&*self, &y); }
        }
    )*};
}

operators! {
    Add add AddAssign add_assign
    Sub sub SubAssign sub_assign
    Mul mul MulAssign mul_assign
    Div div DivAssign div_assign
    Rem rem RemAssign rem_assign
}

impl<R: Real> std::ops::Neg for &Traced<R> {
    type Output = Traced<R>;
    fn neg(self) -> Traced<R> {
        self.map(-self.value.clone(), -&self.expr)
    }
}
impl<R: Real> std::ops::Neg for Traced<R> {
    type Output = Traced<R>;
    fn neg(self) -> Traced<R> {
        -&self
    }
}

/// Noted, as every comparison.
impl<R: Real> PartialEq for Traced<R> {
    #[track_caller]
    fn eq(&self, other: &Traced<R>) -> bool {
        self.compare(other) == Ok(Some(Ordering::Equal))
    }
}
/// Noted, as every comparison.
impl<R: Ordered> PartialOrd for Traced<R> {
    #[track_caller]
    fn partial_cmp(&self, other: &Traced<R>) -> Option<Ordering> {
        self.cmp_primal(other)
    }
    // Written out, so that the recorded location is that of the operator.
    #[track_caller]
    fn lt(&self, other: &Traced<R>) -> bool {
        self.cmp_primal(other).is_some_and(Ordering::is_lt)
    }
    #[track_caller]
    fn le(&self, other: &Traced<R>) -> bool {
        self.cmp_primal(other).is_some_and(Ordering::is_le)
    }
    #[track_caller]
    fn gt(&self, other: &Traced<R>) -> bool {
        self.cmp_primal(other).is_some_and(Ordering::is_gt)
    }
    #[track_caller]
    fn ge(&self, other: &Traced<R>) -> bool {
        self.cmp_primal(other).is_some_and(Ordering::is_ge)
    }
}

impl<R: Real> Zero for Traced<R> {
    fn zero() -> Self {
        Traced::constant(R::zero(), Expr::zero())
    }
    fn is_zero(&self) -> bool {
        self.is_exact_zero()
    }
}
impl<R: Real> One for Traced<R> {
    fn one() -> Self {
        Traced::constant(R::one(), Expr::one())
    }
}
impl<R: Real> num_traits::Num for Traced<R> {
    type FromStrRadixErr = crate::scalar::ParseScalarError;
    fn from_str_radix(s: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
        crate::scalar::parse_decimal(s, radix).map(Traced::lit)
    }
}
/// Only a constant is exactly zero: a value that happens to be zero is not.
impl<R: Real> Ring for Traced<R> {
    const PARALLEL: bool = false;
    fn is_exact_zero(&self) -> bool {
        self.expr.is_exact_zero()
    }
}
impl<R: Real> Conj for Traced<R> {
    fn conj(&self) -> Self {
        self.clone()
    }
}

macro_rules! functions {
    ($($f:ident)*) => {$(
        fn $f(&self) -> Self { self.map(self.value.$f(), self.expr.$f()) }
    )*};
}

impl<R: Real> Scalar for Traced<R> {
    type Real = Self;
    fn from_real(re: Self) -> Self {
        re
    }
    fn re(&self) -> Self {
        self.clone()
    }
    fn im(&self) -> Self {
        Self::zero()
    }
    fn abs2(&self) -> Self {
        self * self
    }
    fn lit(x: f64) -> Self {
        Traced::constant(R::lit(x), Expr::lit(x))
    }
    fn literal(x: f64) -> Self {
        Traced::constant(R::literal(x), Expr::literal(x))
    }
    fn ratio(n: i64, d: i64) -> Self {
        Traced::constant(R::ratio(n, d), Expr::ratio(n, d))
    }
    fn powi(&self, n: i64) -> Self {
        self.map(self.value.powi(n), self.expr.powi(n))
    }
    fn pow(&self, y: &Self) -> Self {
        self.join(y, self.value.pow(&y.value), self.expr.pow(&y.expr))
    }
    unary_functions!(functions);
}

impl<R: Real> Real for Traced<R> {
    fn pi() -> Self {
        Traced::constant(R::pi(), Expr::pi())
    }
    fn atan2(&self, x: &Self) -> Self {
        self.join(x, self.value.atan2(&x.value), self.expr.atan2(&x.expr))
    }
    fn hypot(&self, y: &Self) -> Self {
        self.join(y, self.value.hypot(&y.value), self.expr.hypot(&y.expr))
    }
    special_functions!(functions);
    fn polygamma(&self, n: i64) -> Self {
        self.map(self.value.polygamma(n), self.expr.polygamma(n))
    }
    fn logaddexp(&self, y: &Self) -> Self {
        self.join(y, self.value.logaddexp(&y.value), self.expr.logaddexp(&y.expr))
    }
    /// Returns the value of a constant, and `None` of anything else, so that no code takes a branch
    /// by it that is not recorded.
    fn primal(&self) -> Option<f64> {
        self.expr.primal()
    }
    #[track_caller]
    fn try_cmp(&self, other: &Self) -> Result<Option<Ordering>, Undecided> {
        self.compare(other)
    }
}

impl<R: Ordered> Ordered for Traced<R> {
    #[track_caller]
    fn cmp_primal(&self, other: &Self) -> Option<Ordering> {
        self.compare(other).ok().flatten()
    }
    /// Records the operation: right on both sides.
    fn max(&self, other: &Self) -> Self {
        self.join(other, extreme(Piece::Max, &self.value, &other.value), self.expr.max(&other.expr))
    }
    /// Records the operation: right on both sides.
    fn min(&self, other: &Self) -> Self {
        self.join(other, extreme(Piece::Min, &self.value, &other.value), self.expr.min(&other.expr))
    }
}

/// Returns the minimum or maximum as programs compute it: NaN if one is. Numbers that compare are
/// never undecided.
fn extreme<R: Ordered>(piece: Piece, x: &R, y: &R) -> R {
    piece.eval(x, y).unwrap_or_else(|_| if piece == Piece::Max { x.max(y) } else { x.min(y) })
}

impl<R: Real> Traced<R> {
    /// Returns the absolute value, recorded as the operation.
    #[must_use]
    pub fn abs(&self) -> Self {
        let zero = R::zero();
        let value = Piece::Abs.eval(&self.value, &zero).unwrap_or_else(|_| self.value.hypot(&zero));
        self.map(value, self.expr.abs())
    }
}

impl<R: Record + Real> Record for Traced<R> {
    fn record(callee: &Callee, args: &[Self]) -> Result<Self, TraceError> {
        let values: Vec<R> = args.iter().map(|x| x.value.clone()).collect();
        let exprs: Vec<Expr> = args.iter().map(|x| x.expr.clone()).collect();
        let log = args.iter().find_map(|x| x.log.clone());
        Ok(Traced { value: callee.call(&values)?, expr: callee.call(&exprs)?, log })
    }
}
