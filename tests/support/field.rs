//! The prime field of p = 2^64 - 2^32 + 1 (Goldilocks), as a ring that is nothing but a ring.
//!
//! It has no conjugation, no order and no square roots in general, so whatever runs on it uses sums
//! and products alone. p - 1 = 2^32 * 3 * 5 * 17 * 257 * 65537, so the field has the roots of unity
//! that circuits need: with a generator g, `e^{i pi a/b}` becomes `g^((p-1) a / 2b)`, and a parameter
//! is a random power: `e^{i theta/16}` becomes `g^e`. Both are homomorphisms, so every identity
//! between circuits that holds for all angles holds here exactly.

use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use ketgrad_core::{
    param::{Angle, BindError, Binding, Q},
    scalar::Ring,
};
use num_complex::Complex;
use num_traits::{One, Zero};

/// The characteristic.
pub const P: u64 = 0xffff_ffff_0000_0001;
/// A generator of the multiplicative group.
const GENERATOR: Fp = Fp(7);
/// A parameter stands for this many steps of its exponent, so that its 16th part exists.
const STEPS: i64 = 16;

/// A residue modulo [`P`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fp(u64);

impl Fp {
    /// The residue of a number.
    #[must_use]
    pub fn new(x: u64) -> Fp {
        Fp(x % P)
    }
    /// The residue, below [`P`].
    #[must_use]
    pub fn residue(self) -> u64 {
        self.0
    }
    /// Repeated squaring.
    #[must_use]
    pub fn pow(self, mut e: u64) -> Fp {
        let (mut base, mut out) = (self, Fp(1));
        while e > 0 {
            if e & 1 == 1 {
                out *= base;
            }
            base *= base;
            e >>= 1;
        }
        out
    }
    fn plus(a: Fp, b: Fp) -> Fp {
        Fp::wide(u128::from(a.0) + u128::from(b.0))
    }
    fn minus(a: Fp, b: Fp) -> Fp {
        Fp::wide(u128::from(a.0) + u128::from(P - b.0))
    }
    fn times(a: Fp, b: Fp) -> Fp {
        Fp::wide(u128::from(a.0) * u128::from(b.0))
    }
    fn wide(x: u128) -> Fp {
        // The remainder is below 2^64.
        Fp((x % u128::from(P)) as u64)
    }
}

macro_rules! operators {
    ($($Op:ident $op:ident $Assign:ident $assign:ident $f:ident)*) => {$(
        impl $Op for Fp {
            type Output = Fp;
            fn $op(self, y: Fp) -> Fp { Fp::$f(self, y) }
        }
        impl $Op<&Fp> for Fp {
            type Output = Fp;
            fn $op(self, y: &Fp) -> Fp { Fp::$f(self, *y) }
        }
        impl $Op<Fp> for &Fp {
            type Output = Fp;
            fn $op(self, y: Fp) -> Fp { Fp::$f(*self, y) }
        }
        impl $Op for &Fp {
            type Output = Fp;
            fn $op(self, y: &Fp) -> Fp { Fp::$f(*self, *y) }
        }
        impl $Assign for Fp {
            fn $assign(&mut self, y: Fp) { *self = Fp::$f(*self, y); }
        }
    )*};
}
operators! {
    Add add AddAssign add_assign plus
    Sub sub SubAssign sub_assign minus
    Mul mul MulAssign mul_assign times
}
impl Neg for Fp {
    type Output = Fp;
    fn neg(self) -> Fp {
        Fp::minus(Fp(0), self)
    }
}
impl Neg for &Fp {
    type Output = Fp;
    fn neg(self) -> Fp {
        -*self
    }
}
impl Zero for Fp {
    fn zero() -> Fp {
        Fp(0)
    }
    fn is_zero(&self) -> bool {
        self.0 == 0
    }
}
impl One for Fp {
    fn one() -> Fp {
        Fp(1)
    }
}
impl Ring for Fp {
    fn is_exact_zero(&self) -> bool {
        self.0 == 0
    }
}

/// A point of the field for each parameter: the exponents e of `e^{i theta/16} = g^e`.
#[derive(Clone, Debug)]
pub struct Point(pub Vec<u64>);

impl Point {
    /// `x^q` of a number that has steps: the exponent times a fraction that must come out whole.
    fn exponent(unit: i128, q: Q) -> Option<i128> {
        let product = unit.checked_mul(i128::from(*q.numer()))?;
        (product % i128::from(*q.denom()) == 0).then(|| product / i128::from(*q.denom()))
    }
}

impl Binding<Fp> for Point {
    fn cis(&self, angle: &Angle) -> Result<Fp, BindError> {
        let refuse = || BindError::NotInRing { ring: "the Goldilocks field", angle: angle.clone() };
        if angle.radian_part() != 0.0 {
            return Err(refuse());
        }
        let order = i128::from(P - 1);
        // pi is half the order of the group.
        let mut e = Point::exponent(order / 2, angle.pi_part()).ok_or_else(refuse)?;
        for &(id, q) in angle.terms() {
            let value = self.0.get(id.index()).ok_or(BindError::Unbound { id })?;
            let steps = Point::exponent(i128::from(STEPS), q).ok_or_else(refuse)?;
            e += (i128::from(*value) * steps) % order;
        }
        u64::try_from(e.rem_euclid(order)).map(|e| GENERATOR.pow(e)).map_err(|_| refuse())
    }
    fn half(&self) -> Fp {
        Fp(P / 2 + 1)
    }
    /// `(e^{i pi/4} + e^{-i pi/4}) / 2`.
    fn sqrt_half(&self) -> Fp {
        let z = GENERATOR.pow((P - 1) / 8);
        (z + z.pow(7)) * self.half()
    }
    /// Gaussian integers over 4.
    fn number(&self, z: Complex<f64>) -> Result<Fp, BindError> {
        let refuse = BindError::NumberNotInRing { ring: "the Goldilocks field", number: z };
        let quarters = |x: f64| {
            let x = 4.0 * x;
            (x.fract() == 0.0 && x.abs() < 1e9).then(|| {
                let size = Fp::new(x.abs() as u64) * self.half() * self.half();
                if x < 0.0 { -size } else { size }
            })
        };
        match (quarters(z.re), quarters(z.im)) {
            (Some(re), Some(im)) => Ok(re + im * GENERATOR.pow((P - 1) / 4)),
            _ => Err(refuse),
        }
    }
}
