//! Bindings: from angles to numbers of a ring.

use num_complex::Complex;
use smallvec::SmallVec;

use super::{Angle, ParamId, Q, angle::within_turns, large::sin_cos_of_sum};
use crate::scalar::{Real, Ring, Scalar};

/// Tolerances of a sum of probabilities below 0 and above 1, for numbers that are rounded to 1e-7
/// and to 1e-16.
const ROUNDING: [f64; 2] = [1e-6, 1e-12];

/// Error of a binding: the reason why an angle has no value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// A parameter has no value.
    #[error("parameter {} has no value", id.number())]
    Unbound {
        /// The parameter.
        id: ParamId,
    },
    /// The angle is NaN or infinite.
    #[error("the angle {angle} is not a finite number")]
    NotFinite {
        /// The angle.
        angle: Angle,
    },
    /// The angle is used as a probability, and is not one.
    #[error("the probability {angle} is {value}, which is not between 0 and 1")]
    NoProbability {
        /// The probability.
        angle: Angle,
        /// Its value.
        value: f64,
    },
    /// The ring holds no probabilities.
    #[error(
        "noise needs real numbers, which these are not: there is none for the probability {angle}"
    )]
    NoReals {
        /// The probability.
        angle: Angle,
    },
    /// A classical expression reads an angle whose parameters are no numbers here.
    #[error("a classical expression reads {angle}, which is not a number here")]
    NotANumber {
        /// The angle.
        angle: Angle,
    },
    /// The ring holds no `e^{i angle}` for this angle.
    #[error("{ring} holds no exp(i*({angle}))")]
    NotInRing {
        /// Name of the ring, for messages.
        ring: &'static str,
        /// The angle.
        angle: Angle,
    },
    /// The ring does not hold an entry of a given matrix.
    #[error("{ring} does not hold the number {number}")]
    NumberNotInRing {
        /// Name of the ring, for messages.
        ring: &'static str,
        /// The entry.
        number: Complex<f64>,
    },
}

/// Source of the constants that gates are made of.
///
/// A ring that can represent `e^{i angle}`, 1/2 and 1/sqrt(2) can run every gate of the table. The
/// binding decides where the values of the parameters (numbers, symbols, a point of a finite field)
/// come from.
pub trait Binding<R: Ring> {
    /// `e^{i angle}`, exact for multiples of pi/4.
    ///
    /// # Errors
    /// [`BindError`] if a parameter has no value or the ring holds no such number.
    fn cis(&self, angle: &Angle) -> Result<R, BindError>;
    /// Returns `e^{i s}` for four sums of the angles, which are given by their indices. A ring of
    /// rounded numbers multiplies factors: a sum of a large angle and a small one would lose digits
    /// of the small one, and a matrix of such entries would not be unitary.
    ///
    /// # Errors
    /// Those of [`Binding::cis`].
    fn cis_of_sums(&self, angles: &[&Angle], sums: [&[usize]; 4]) -> Result<[R; 4], BindError> {
        let one =
            |sum: &[usize]| self.cis(&sum.iter().fold(Angle::zero(), |sum, &k| sum + angles[k]));
        let [a, b, c, d] = sums;
        Ok([one(a)?, one(b)?, one(c)?, one(d)?])
    }
    /// 1/2.
    fn half(&self) -> R;
    /// 1/sqrt(2).
    fn sqrt_half(&self) -> R;
    /// The entry of a matrix given in numbers.
    ///
    /// # Errors
    /// [`BindError::NumberNotInRing`] if the ring does not hold it.
    fn number(&self, z: Complex<f64>) -> Result<R, BindError>;

    /// `cos(angle)`.
    ///
    /// # Errors
    /// Those of [`Binding::cis`].
    fn cos(&self, angle: &Angle) -> Result<R, BindError> {
        Ok((self.cis(angle)? + self.cis(&-angle.clone())?) * self.half())
    }
    /// `i sin(angle)`.
    ///
    /// # Errors
    /// Those of [`Binding::cis`].
    fn i_sin(&self, angle: &Angle) -> Result<R, BindError> {
        Ok((self.cis(angle)? - self.cis(&-angle.clone())?) * self.half())
    }
    /// Returns the angle itself, in radians, as a probability: clamped to 0 or 1 if rounding put it
    /// a little beyond. A symbol is not checked.
    ///
    /// # Errors
    /// [`BindError`] if it has no value, is not between 0 and 1 (to 1e-12; in single precision to
    /// 1e-6), or the ring holds no real numbers.
    fn probability(&self, p: &Angle) -> Result<R, BindError> {
        Err(BindError::NoReals { angle: p.clone() })
    }
    /// Returns the square root of a number that is not an angle and not negative.
    ///
    /// # Errors
    /// [`BindError::NoReals`] if the ring holds no real numbers.
    fn root(&self, _: R) -> Result<R, BindError> {
        Err(BindError::NoReals { angle: Angle::zero() })
    }
    /// The angle itself, in radians, for classical expressions.
    ///
    /// # Errors
    /// [`BindError::NotANumber`] where parameters are no real numbers, [`BindError::Unbound`] or
    /// [`BindError::NotFinite`].
    fn real(&self, angle: &Angle) -> Result<f64, BindError> {
        angle.constant().ok_or_else(|| BindError::NotANumber { angle: angle.clone() })
    }
    /// The angle itself, in radians, as a number of the ring.
    ///
    /// # Errors
    /// [`BindError::NotANumber`] where parameters are no real numbers, and those of
    /// [`Binding::number`].
    fn value(&self, angle: &Angle) -> Result<R, BindError> {
        match angle.constant() {
            Some(value) => self.number(Complex::new(value, 0.0)),
            None => Err(BindError::NotANumber { angle: angle.clone() }),
        }
    }
    /// Both at once: `(cos(angle), i sin(angle))`.
    ///
    /// # Errors
    /// Those of [`Binding::cis`].
    fn cos_i_sin(&self, angle: &Angle) -> Result<(R, R), BindError> {
        Ok((self.cos(angle)?, self.i_sin(angle)?))
    }
    /// The imaginary unit.
    ///
    /// # Errors
    /// Those of [`Binding::cis`].
    fn i(&self) -> Result<R, BindError> {
        self.cis(&Angle::pi(1, 2))
    }
}

/// Values of a circuit's parameters, by id: floats, duals, uncertain numbers or symbols. Binds
/// gates over `Complex<T>`.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a, T>(pub &'a [T]);

impl<T: Real> Values<'_, T> {
    /// The value of an angle in radians.
    ///
    /// # Errors
    /// [`BindError`] if a parameter has no value or the result is NaN or infinite.
    pub fn radians(&self, angle: &Angle) -> Result<T, BindError> {
        self.sum(angle, angle.pi_part())
    }

    /// Returns the value of an angle with another multiple of pi.
    fn sum(&self, angle: &Angle, pi: Q) -> Result<T, BindError> {
        let mut sum = T::pi() * T::from_ratio(pi);
        if angle.radian_part() != 0.0 {
            sum += T::lit(angle.radian_part());
        }
        for &(id, q) in angle.terms() {
            let value = self.0.get(id.index()).ok_or(BindError::Unbound { id })?;
            sum += T::from_ratio(q) * value;
        }
        match sum.primal() {
            Some(x) if !x.is_finite() => Err(BindError::NotFinite { angle: angle.clone() }),
            _ => Ok(sum),
        }
    }

    /// Cosine and sine, exact for multiples of pi/4. Whole turns are left out while they are exact:
    /// `2^50 pi/3` is `4 pi/3`, where its f64 is off by a quarter.
    fn cos_sin(&self, angle: &Angle) -> Result<(T, T), BindError> {
        let (zero, one, root) = (T::zero, T::one, || T::ratio(1, 2).sqrt());
        Ok(match angle.eighth_turns() {
            Some(0) => (one(), zero()),
            Some(1) => (root(), root()),
            Some(2) => (zero(), one()),
            Some(3) => (-root(), root()),
            Some(4) => (-one(), zero()),
            Some(5) => (-root(), -root()),
            Some(6) => (zero(), -one()),
            Some(_) => (root(), -root()),
            None => {
                let pi = within_turns(angle.pi_part(), 1);
                let sum = self.sum(angle, pi)?;
                let fraction = |q: Q| [*q.numer() as f64, *q.denom() as f64];
                let (one, radians) = (T::one(), angle.radian_part());
                // Each parameter has a value, so the sum is defined.
                let terms = angle
                    .terms()
                    .iter()
                    .filter_map(|&(id, q)| Some((fraction(q), self.0.get(id.index())?)));
                let terms = terms.chain([([radians, 1.0], &one)]);
                let (sin, cos) = sin_cos_of_sum(&sum, fraction(pi), terms);
                (cos, sin)
            }
        })
    }
}

impl<T: Real> Binding<Complex<T>> for Values<'_, T> {
    fn cis(&self, angle: &Angle) -> Result<Complex<T>, BindError> {
        self.cos_sin(angle).map(|(cos, sin)| Complex::new(cos, sin))
    }
    /// Multiples of pi are added exactly, so that `pi/8 + pi/8` still has exact entries; every
    /// other angle is a factor.
    fn cis_of_sums(
        &self,
        angles: &[&Angle],
        sums: [&[usize]; 4],
    ) -> Result<[Complex<T>; 4], BindError> {
        let factor =
            |angle: &&Angle| (!angle.is_multiple_of_pi()).then(|| self.cis(angle)).transpose();
        let factors: SmallVec<[Option<Complex<T>>; 4]> =
            angles.iter().map(factor).collect::<Result<_, _>>()?;
        let one = |sum: &[usize]| -> Result<Complex<T>, BindError> {
            let mut exact = Angle::zero();
            let mut product: Option<Complex<T>> = None;
            for &k in sum {
                match (&factors[k], product.take()) {
                    (None, before) => {
                        exact = exact + angles[k].within_two_turns();
                        product = before;
                    }
                    (Some(factor), None) => product = Some(factor.clone()),
                    (Some(factor), Some(before)) => product = Some(before * factor),
                }
            }
            match product {
                None => self.cis(&exact),
                Some(product) if exact == Angle::zero() => Ok(product),
                Some(product) => Ok(product * self.cis(&exact)?),
            }
        };
        let [a, b, c, d] = sums;
        Ok([one(a)?, one(b)?, one(c)?, one(d)?])
    }
    fn half(&self) -> Complex<T> {
        Complex::ratio(1, 2)
    }
    fn sqrt_half(&self) -> Complex<T> {
        Complex::from_real(T::ratio(1, 2).sqrt())
    }
    fn number(&self, z: Complex<f64>) -> Result<Complex<T>, BindError> {
        Ok(Complex::new(T::lit(z.re), T::lit(z.im)))
    }
    fn cos(&self, angle: &Angle) -> Result<Complex<T>, BindError> {
        self.cos_sin(angle).map(|(cos, _)| Complex::from_real(cos))
    }
    fn i_sin(&self, angle: &Angle) -> Result<Complex<T>, BindError> {
        self.cos_sin(angle).map(|(_, sin)| Complex::new(T::zero(), sin))
    }
    fn probability(&self, p: &Angle) -> Result<Complex<T>, BindError> {
        let value = self.radians(p)?;
        let is_fine = T::one() + T::lit(1e-9) != T::one();
        let rounding = ROUNDING[usize::from(is_fine)];
        match value.primal() {
            Some(x) if !(-rounding..=1.0 + rounding).contains(&x) => {
                Err(BindError::NoProbability { angle: p.clone(), value: x })
            }
            // A value that rounding put beyond an end, which no root may meet, is clamped to that
            // end.
            Some(x) => Ok(Complex::from_real(value + T::lit(x.clamp(0.0, 1.0) - x))),
            None => Ok(Complex::from_real(value)),
        }
    }
    fn real(&self, angle: &Angle) -> Result<f64, BindError> {
        let value = self.radians(angle)?.primal();
        value.ok_or_else(|| BindError::NotANumber { angle: angle.clone() })
    }
    fn value(&self, angle: &Angle) -> Result<Complex<T>, BindError> {
        self.radians(angle).map(Complex::from_real)
    }
    fn root(&self, x: Complex<T>) -> Result<Complex<T>, BindError> {
        Ok(Complex::from_real(x.re.sqrt()))
    }
    fn cos_i_sin(&self, angle: &Angle) -> Result<(Complex<T>, Complex<T>), BindError> {
        self.cos_sin(angle)
            .map(|(cos, sin)| (Complex::from_real(cos), Complex::new(T::zero(), sin)))
    }
}
