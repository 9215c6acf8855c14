//! Macros that write the operators of a number type of ours.

/// Writes every operator of a ring from functions on references: by value and by reference, and
/// the assigning form.
///
/// ```ignore
/// ring_ops!(Uncertain {
///     Add add AddAssign add_assign = Uncertain::plus;
///     - = Uncertain::negated;
/// });
/// ```
macro_rules! ring_ops {
    ($T:ty { $($Op:ident $op:ident $Assign:ident $assign:ident = $f:path;)* - = $neg:path; }) => {
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

/// `Num` for a real scalar of ours, so that `num_complex::Complex<T>` computes on it. The remainder
/// is a property of numbers with an order; nothing here calls it.
macro_rules! num_for_complex {
    ($T:ty) => {
        impl std::ops::Rem for $T {
            type Output = $T;
            fn rem(self, _: $T) -> $T {
                unreachable!(concat!("% has no meaning on ", stringify!($T)))
            }
        }
        impl std::ops::RemAssign for $T {
            fn rem_assign(&mut self, _: $T) {
                unreachable!(concat!("%= has no meaning on ", stringify!($T)))
            }
        }
        impl num_traits::Num for $T {
            type FromStrRadixErr = std::num::ParseFloatError;
            fn from_str_radix(s: &str, _: u32) -> Result<$T, Self::FromStrRadixErr> {
                s.parse().map(<$T as $crate::scalar::Scalar>::lit)
            }
        }
    };
}
