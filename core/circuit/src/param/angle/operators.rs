//! Sums and products of angles, in every form with references.

#![deny(clippy::arithmetic_side_effects)]

use std::ops::{Add, Div, Mul, Neg, Sub};

use num_traits::CheckedAdd;

use super::{
    Angle, Q,
    fraction::{
        add_radians, dyadic, exact_mul, multiply_constant, multiply_radians, q_add, q_mul, q_times,
        q_to_f64, reciprocal,
    },
    id::ParamName,
};

impl Add for Angle {
    type Output = Angle;
    fn add(mut self, other: Angle) -> Angle {
        let (radians, off) = add_radians(self.radians, other.radians);
        self.radians = radians;
        self.rounding_bound.add(
            f64::from(other.rounding_bound.radians) + off,
            f64::from(other.rounding_bound.terms),
        );
        match self.pi.checked_add(&other.pi) {
            Some(pi) => self.pi = pi,
            None => self.pi_becomes_radians(q_to_f64(self.pi) + q_to_f64(other.pi)),
        }
        for (id, q) in other.terms {
            match self.terms.binary_search_by_key(&id, |t| t.0) {
                Ok(i) => match q_add(self.terms[i].1, q) {
                    Some((sum, off)) => {
                        self.rounding_bound.add(0.0, off);
                        let name = self.terms[i].0.name.and(id.name);
                        self.terms[i].0.name = name;
                        if name == ParamName::Ambiguous {
                            self.radians = f64::NAN;
                        } else if *sum.numer() == 0 {
                            self.terms.remove(i);
                        } else {
                            self.terms[i].1 = sum;
                        }
                    }
                    None => return Angle::poisoned(),
                },
                Err(i) => self.terms.insert(i, (id, q)),
            }
        }
        self
    }
}

impl Mul<Q> for Angle {
    type Output = Angle;
    fn mul(mut self, q: Q) -> Angle {
        if *q.numer() == 0 {
            return if self.radians.is_finite() { Angle::zero() } else { Angle::poisoned() };
        }
        if self.rounding_bound() > 0.0 {
            self.rounding_bound = self.rounding_bound.times(q_to_f64(q).abs());
        }
        if self.radians != 0.0 {
            let (radians, off) = multiply_radians(self.radians, q);
            self.radians = radians;
            self.rounding_bound.add(off, 0.0);
        }
        match exact_mul(self.pi, q) {
            Some(pi) => self.pi = pi,
            None => self.pi_becomes_radians(q_to_f64(self.pi) * q_to_f64(q)),
        }
        for term in &mut self.terms {
            match q_mul(term.1, q) {
                Some((product, off)) => {
                    term.1 = product;
                    self.rounding_bound.add(0.0, off);
                }
                None => return Angle::poisoned(),
            }
        }
        self.terms.retain(|t| *t.1.numer() != 0);
        self
    }
}

impl Neg for Angle {
    type Output = Angle;
    fn neg(self) -> Angle {
        self * Q::new_raw(-1, 1)
    }
}

impl Sub for Angle {
    type Output = Angle;
    fn sub(self, other: Angle) -> Angle {
        self + -other
    }
}

impl Mul<f64> for Angle {
    type Output = Angle;
    fn mul(mut self, x: f64) -> Angle {
        if let Some(q) = dyadic(x) {
            return self * q;
        }
        self.rounding_bound = self.rounding_bound.times(x.abs());
        let (radians, off) = multiply_constant(self.pi, self.radians, x);
        (self.radians, self.pi) = (radians, Q::new_raw(0, 1));
        self.rounding_bound.add(off, 0.0);
        for term in &mut self.terms {
            match q_times(term.1, x) {
                Some((product, off)) => {
                    term.1 = product;
                    self.rounding_bound.add(0.0, off);
                }
                None => return Angle::poisoned(),
            }
        }
        self.terms.retain(|t| *t.1.numer() != 0);
        self
    }
}

impl Div<Q> for Angle {
    type Output = Angle;
    fn div(self, q: Q) -> Angle {
        match reciprocal(q) {
            Some(inverse) => self * inverse,
            None if *q.numer() == 0 => Angle::poisoned(),
            None => self * q_to_f64(q).recip(),
        }
    }
}

impl Div<f64> for Angle {
    type Output = Angle;
    fn div(self, x: f64) -> Angle {
        match dyadic(x) {
            Some(q) => self / q,
            None => self * x.recip(),
        }
    }
}

// One integer type only: with two, the type of `PI / 4` would stay open and `(PI / 4).clone()`
// would not compile.
impl Mul<i64> for Angle {
    type Output = Angle;
    fn mul(self, n: i64) -> Angle {
        if n == i64::MIN { Angle::poisoned() } else { self * Q::from_integer(n) }
    }
}

impl Div<i64> for Angle {
    type Output = Angle;
    fn div(self, n: i64) -> Angle {
        if n == i64::MIN { Angle::poisoned() } else { self / Q::from_integer(n) }
    }
}

/// The factor on the left, and every form with a reference.
macro_rules! factor_forms {
    ($($T:ty)*) => {$(
        impl Mul<Angle> for $T {
            type Output = Angle;
            fn mul(self, angle: Angle) -> Angle {
                angle * self
            }
        }
        impl Mul<&Angle> for $T {
            type Output = Angle;
            fn mul(self, angle: &Angle) -> Angle {
                angle.clone() * self
            }
        }
        impl Mul<$T> for &Angle {
            type Output = Angle;
            fn mul(self, factor: $T) -> Angle {
                self.clone() * factor
            }
        }
        impl Div<$T> for &Angle {
            type Output = Angle;
            fn div(self, factor: $T) -> Angle {
                self.clone() / factor
            }
        }
    )*};
}
factor_forms!(Q f64 i64);

impl Neg for &Angle {
    type Output = Angle;
    fn neg(self) -> Angle {
        -self.clone()
    }
}

macro_rules! sum_forms {
    ($($Op:ident $op:ident: $Left:ty, $Right:ty;)*) => {$(
        impl $Op<$Right> for $Left {
            type Output = Angle;
            fn $op(self, other: $Right) -> Angle {
                Angle::from(self).$op(Angle::from(other))
            }
        }
    )*};
}
sum_forms! {
    Add add: Angle, &Angle;
    Add add: Angle, f64;
    Add add: &Angle, Angle;
    Add add: &Angle, &Angle;
    Add add: &Angle, f64;
    Add add: f64, Angle;
    Add add: f64, &Angle;
    Sub sub: Angle, &Angle;
    Sub sub: Angle, f64;
    Sub sub: &Angle, Angle;
    Sub sub: &Angle, &Angle;
    Sub sub: &Angle, f64;
    Sub sub: f64, Angle;
    Sub sub: f64, &Angle;
}
