//! Macros that write the operators of a number type of ours.

/// Writes every operator of a ring from functions (or closures) on references, `fn(&T, &T) -> T`
/// and `fn(&T) -> T`: by value and by reference, and the assigning form. A real scalar lists all
/// five operators, `Rem` among them, because [`Real`](crate::scalar::Real) asks for `NumAssign`.
///
/// Integers modulo 12, which have divisors of zero and are a ring all the same:
///
/// ```
/// use ketgrad_core::{check::ring_laws, num_traits::{One, Zero}, ring_ops, scalar::Ring};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Hours(u8);
///
/// ring_ops!(Hours {
///     Add add AddAssign add_assign = |a: &Hours, b: &Hours| Hours((a.0 + b.0) % 12);
///     Sub sub SubAssign sub_assign = |a: &Hours, b: &Hours| Hours((a.0 + 12 - b.0) % 12);
///     Mul mul MulAssign mul_assign = |a: &Hours, b: &Hours| Hours(a.0 * b.0 % 12);
///     - = |a: &Hours| Hours((12 - a.0) % 12);
/// });
/// impl Zero for Hours {
///     fn zero() -> Hours { Hours(0) }
///     fn is_zero(&self) -> bool { self.0 == 0 }
/// }
/// impl One for Hours {
///     fn one() -> Hours { Hours(1) }
/// }
/// impl Ring for Hours {
///     fn is_exact_zero(&self) -> bool { self.0 == 0 }
/// }
///
/// ring_laws(&[0, 1, 5, 8, 11].map(Hours))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
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

/// `num_traits::Num` for a [`Real`](crate::scalar::Real) number type, so that
/// `num_complex::Complex<T>` computes on it. The type has all five operators already
/// ([`ring_ops!`](crate::ring_ops), with `Rem` as the fifth line). Text is read as a decimal `f64`
/// and [made a number](crate::scalar::Scalar::lit) of the type.
///
/// `core/tests/own_number.rs` in the sources is a whole number type of 256 bits that programs,
/// linear algebra and circuits run on.
#[macro_export]
macro_rules! num_for_complex {
    ($T:ty) => {
        impl $crate::num_traits::Num for $T {
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

/// Returns the value of a decimal floating-point literal.
#[doc(hidden)]
pub fn parse_decimal(s: &str, radix: u32) -> Result<f64, ParseScalarError> {
    if radix == 10 { Ok(s.parse()?) } else { Err(ParseScalarError::Radix { radix }) }
}
