//! Conjugation where a field has none: a number beside the image of its conjugate.
//!
//! `Star(x, y)` holds a residue at a point and the residue of the conjugate there, that is, at the
//! inverse point. Conjugation swaps the two, so `|a|^2`, norms and inner products exist.

use num_complex::Complex;
use num_traits::{One, Zero};

use crate::{
    param::{Angle, BindError, Binding},
    scalar::{Conj, Ring},
};

/// A number and its conjugate.
///
/// ```
/// use ketgrad_core::{circuit::Circuit, field::{Fp, Goldilocks, Point, Star, Starred}, kernel::Threads,
///     simulate::Simulator};
/// use num_traits::One;
///
/// let circuit = Circuit::build(2, |c| { let t = c.param("t"); c.h(0)?.ry(1, &t)?.cx(0, 1)?.rz(1, t) })?;
/// let point = Point::<Fp>::random(Goldilocks, 8, &[2], 1).ok_or("no such root")?;
/// let state = Simulator::new().run_bound(&circuit, &Starred(&point))?;
/// assert_eq!(state.inner(&state, &Threads::serial())?, Star::one()); // the norm is 1 for every t
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Star<R>(pub R, pub R);

macro_rules! operators {
    ($($Op:ident $op:ident $Assign:ident $assign:ident;)*) => {$(
        impl<R: Ring> std::ops::$Op for Star<R> {
            type Output = Star<R>;
            fn $op(self, y: Star<R>) -> Star<R> {
                Star(std::ops::$Op::$op(self.0, y.0), std::ops::$Op::$op(self.1, y.1))
            }
        }
        impl<R: Ring> std::ops::$Op<&Star<R>> for Star<R> {
            type Output = Star<R>;
            fn $op(self, y: &Star<R>) -> Star<R> {
                Star(std::ops::$Op::$op(self.0, &y.0), std::ops::$Op::$op(self.1, &y.1))
            }
        }
        impl<R: Ring> std::ops::$Op<Star<R>> for &Star<R> {
            type Output = Star<R>;
            fn $op(self, y: Star<R>) -> Star<R> {
                Star(std::ops::$Op::$op(&self.0, y.0), std::ops::$Op::$op(&self.1, y.1))
            }
        }
        impl<R: Ring> std::ops::$Op for &Star<R> {
            type Output = Star<R>;
            fn $op(self, y: &Star<R>) -> Star<R> {
                Star(std::ops::$Op::$op(&self.0, &y.0), std::ops::$Op::$op(&self.1, &y.1))
            }
        }
        impl<R: Ring> std::ops::$Assign for Star<R> {
            fn $assign(&mut self, y: Star<R>) {
                std::ops::$Assign::$assign(&mut self.0, y.0);
                std::ops::$Assign::$assign(&mut self.1, y.1);
            }
        }
    )*};
}
operators! {
    Add add AddAssign add_assign;
    Sub sub SubAssign sub_assign;
    Mul mul MulAssign mul_assign;
}

impl<R: Ring> std::ops::Neg for Star<R> {
    type Output = Star<R>;
    fn neg(self) -> Star<R> {
        Star(-self.0, -self.1)
    }
}

impl<R: Ring> std::ops::Neg for &Star<R> {
    type Output = Star<R>;
    fn neg(self) -> Star<R> {
        Star(-&self.0, -&self.1)
    }
}

impl<R: Ring> Zero for Star<R> {
    fn zero() -> Star<R> {
        Star(R::zero(), R::zero())
    }
    fn is_zero(&self) -> bool {
        self.is_exact_zero()
    }
}

impl<R: Ring> One for Star<R> {
    fn one() -> Star<R> {
        Star(R::one(), R::one())
    }
}

impl<R: Ring> Ring for Star<R> {
    const PARALLEL: bool = R::PARALLEL;
    fn is_exact_zero(&self) -> bool {
        self.0.is_exact_zero() && self.1.is_exact_zero()
    }
    #[inline]
    fn dot2(a: &Self, x: &Self, b: &Self, y: &Self) -> Self {
        Star(R::dot2(&a.0, &x.0, &b.0, &y.0), R::dot2(&a.1, &x.1, &b.1, &y.1))
    }
}

impl<R: Ring> Conj for Star<R> {
    fn conj(&self) -> Self {
        Star(self.1.clone(), self.0.clone())
    }
}

/// Binds gates over [`Star`] with the constants of another binding.
#[derive(Clone, Copy, Debug)]
pub struct Starred<'a, B>(pub &'a B);

impl<R: Ring, B: Binding<R>> Binding<Star<R>> for Starred<'_, B> {
    fn cis(&self, angle: &Angle) -> Result<Star<R>, BindError> {
        Ok(Star(self.0.cis(angle)?, self.0.cis(&-angle.clone())?))
    }
    fn half(&self) -> Star<R> {
        Star(self.0.half(), self.0.half())
    }
    fn sqrt_half(&self) -> Star<R> {
        Star(self.0.sqrt_half(), self.0.sqrt_half())
    }
    fn number(&self, z: Complex<f64>) -> Result<Star<R>, BindError> {
        Ok(Star(self.0.number(z)?, self.0.number(z.conj())?))
    }
}
