//! Macros that write the operators of a number type of ours.

/// Writes every operator of a ring from functions (or closures) on references: by value and by
/// reference, and the assigning form. A real scalar lists all five operators, `Rem` among them, because
/// [`Real`](super::Real) asks for `NumAssign`.
///
/// ```ignore
/// ring_ops!(Uncertain {
///     Add add AddAssign add_assign = Uncertain::plus;
///     - = Uncertain::negated;
/// });
/// ```
macro_rules! ring_ops {
    ($T:ty { $($Op:ident $op:ident $Assign:ident $assign:ident = $f:expr;)* - = $neg:expr; }) => {
        $(
            impl std::ops::$Op for $T {
                type Output = $T;
                fn $op(self, y: $T) -> $T { $f(&self, &y) }
            }
            impl std::ops::$Op<&$T> for $T {
                type Output = $T;
                fn $op(self, y: &$T) -> $T { $f(&self, y) }
            }
            impl std::ops::$Op<$T> for &$T {
                type Output = $T;
                fn $op(self, y: $T) -> $T { $f(self, &y) }
            }
            impl std::ops::$Op for &$T {
                type Output = $T;
                fn $op(self, y: &$T) -> $T { $f(self, y) }
            }
            impl std::ops::$Assign for $T {
                fn $assign(&mut self, y: $T) { *self = $f(self, &y); }
            }
        )*
        impl std::ops::Neg for $T {
            type Output = $T;
            fn neg(self) -> $T { $neg(&self) }
        }
        impl std::ops::Neg for &$T {
            type Output = $T;
            fn neg(self) -> $T { $neg(self) }
        }
    };
}

/// `Num` for a real scalar of ours, so that `num_complex::Complex<T>` computes on it. The type has all
/// five operators already (`ring_ops!`, with `Rem` as the fifth line).
macro_rules! num_for_complex {
    ($T:ty) => {
        impl num_traits::Num for $T {
            type FromStrRadixErr = $crate::scalar::ParseScalarError;
            fn from_str_radix(s: &str, radix: u32) -> Result<$T, Self::FromStrRadixErr> {
                $crate::scalar::parse_decimal(s, radix).map(<$T as $crate::scalar::Scalar>::lit)
            }
        }
    };
}

/// Text that is no decimal number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseScalarError {
    /// A radix other than 10 was asked for.
    #[error("cannot read a number in base {radix}: only base 10 is supported")]
    Radix {
        /// The radix asked for.
        radix: u32,
    },
    /// The text is not a floating-point literal.
    #[error(transparent)]
    Float(#[from] std::num::ParseFloatError),
}

/// Reads a decimal floating-point literal.
pub(crate) fn parse_decimal(s: &str, radix: u32) -> Result<f64, ParseScalarError> {
    if radix == 10 { Ok(s.parse()?) } else { Err(ParseScalarError::Radix { radix }) }
}
