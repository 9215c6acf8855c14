//! Values of the ops of the table, on every scalar.
//!
//! Functions that are constant between jumps need the order of numbers, which an undecided number
//! does not have: these return [`Undecided`].

use std::cmp::Ordering;

use crate::{
    ir::{Compare, Int1, Int2, Number1, Number2, Real1, Real2},
    scalar::{Piece, Real, Scalar, Undecided, primal, threefry},
};

macro_rules! values {
    (
        number1 { $($n1:ident $n1_name:literal ($n1_a:ident) -> $n1_y:ident: $n1_s:ident = $n1_v:expr, [$n1_d:expr], $n1_doc:literal;)* }
        number2 { $($n2:ident $n2_name:literal ($n2_a:ident, $n2_b:ident) -> $n2_y:ident: $n2_s:ident = $n2_v:expr, [$n2_d:expr, $n2_e:expr], $n2_doc:literal;)* }
        real1 { $($r1:ident $r1_name:literal ($r1_a:ident) -> $r1_y:ident: $r1_s:ident = $r1_v:expr, [$r1_d:expr], $r1_doc:literal;)* }
        real2 { $($r2:ident $r2_name:literal ($r2_a:ident, $r2_b:ident) -> $r2_y:ident: $r2_s:ident = $r2_v:expr, [$r2_d:expr, $r2_e:expr], $r2_doc:literal;)* }
        int1 { $($i1:ident $i1_name:literal ($i1_a:ident) = $i1_v:expr, $i1_doc:literal;)* }
        int2 { $($i2:ident $i2_name:literal ($i2_a:ident, $i2_b:ident) = $i2_v:expr, $i2_doc:literal;)* }
        compare { $($c:ident $c_name:literal $c_int:literal ($c_o:ident) = $c_v:expr, $c_doc:literal;)* }
        mixed $mixed:tt
    ) => {
        impl Number1 {
            /// Computes the value.
            #[inline]
            pub fn value<S: Scalar>(self, a: &S) -> S {
                match self { $(Number1::$n1 => { let $n1_a = a; $n1_v })* }
            }
        }
        impl Number2 {
            /// Computes the value.
            #[inline]
            pub fn value<S: Scalar>(self, a: &S, b: &S) -> S {
                match self { $(Number2::$n2 => { let ($n2_a, $n2_b) = (a, b); $n2_v })* }
            }
        }
        impl Real1 {
            /// Computes the value.
            ///
            /// # Errors
            /// If the number is undecided.
            #[inline]
            pub fn value<T: Real>(self, a: &T) -> Result<T, Undecided> {
                match self { $(Real1::$r1 => { let $r1_a = a; $r1_v })* }
            }
        }
        impl Real2 {
            /// Computes the value.
            ///
            /// # Errors
            /// If a number is undecided.
            #[inline]
            pub fn value<T: Real>(self, a: &T, b: &T) -> Result<T, Undecided> {
                match self { $(Real2::$r2 => { let ($r2_a, $r2_b) = (a, b); $r2_v })* }
            }
        }
        impl Int1 {
            /// Computes the value; `None` on overflow.
            #[inline]
            #[must_use]
            pub fn value(self, a: i64) -> Option<i64> {
                match self { $(Int1::$i1 => { let $i1_a = a; $i1_v })* }
            }
        }
        impl Int2 {
            /// Computes the value; `None` on overflow and division by zero.
            #[inline]
            #[must_use]
            pub fn value(self, a: i64, b: i64) -> Option<i64> {
                match self { $(Int2::$i2 => { let ($i2_a, $i2_b) = (a, b); $i2_v })* }
            }
        }
        impl Compare {
            /// Returns true if it holds for two numbers in that order; `None` where one is NaN.
            #[inline]
            #[must_use]
            pub fn holds(self, order: Option<Ordering>) -> bool {
                match self { $(Compare::$c => { let $c_o = order; $c_v })* }
            }
        }
    };
}
for_each_op!(values);

impl Real1 {
    /// Returns the piecewise function, if it is one.
    #[must_use]
    pub fn piece(self) -> Option<Piece> {
        Some(match self {
            Real1::Abs => Piece::Abs,
            Real1::AbsSlope => Piece::AbsSlope,
            Real1::Sign => Piece::Sign,
            Real1::Floor => Piece::Floor,
            Real1::Ceil => Piece::Ceil,
            Real1::Round => Piece::Round,
            Real1::Trunc => Piece::Trunc,
            Real1::Detach => Piece::Detach,
            Real1::Beyond
            | Real1::Erf
            | Real1::Erfc
            | Real1::Lgamma
            | Real1::Sigmoid
            | Real1::Softplus => {
                return None;
            }
        })
    }

    /// Returns true if its derivative is 0 everywhere.
    #[must_use]
    pub fn is_constant(self) -> bool {
        self.piece().is_some_and(|piece| !matches!(piece, Piece::Abs | Piece::AbsSlope))
    }
}

#[inline]
fn scale<S: Scalar>(a: &S, b: &S) -> S {
    S::scale(a, b)
}

#[inline]
fn guard<S: Scalar>(a: &S, b: &S) -> S {
    S::guard(a, b)
}

/// Computes the remainder of the values, which is exact; the derivatives that the numbers carry
/// follow `a - b trunc(a/b)`.
fn rem<T: Real>(a: &T, b: &T) -> Result<T, Undecided> {
    let (p, q) = (primal(a)?, primal(b)?);
    let (value, more, less) = (T::lit(p % q), a.beyond(), b.beyond());
    // A zero would be without its sign after a sum, and an infinite quotient has no product with 0.
    let value = if more.is_exact_zero() { value } else { value + more };
    Ok(if less.is_exact_zero() { value } else { value - T::lit((p / q).trunc()) * less })
}
