//! Products of a length with itself: of `norm`, `hypot` and `abs`.
//!
//! A length has a kink at the origin, its square has none: `norm(a) * norm(a)` has the Hessian
//! `2 I` everywhere. So the square of a length, or an even power, is computed from the vector
//! itself, as `dot(a, a)`: also with other factors and divisors, as in `0.5 * r * r` and
//! `powi(r / s, 2)`.

use crate::{
    entity::Value,
    ir::{ArrayOp, Element, Kind, Mixed, Number1, Number2, Op, Real1, Real2},
};

use super::StagingBuilder;

/// Maximum number of signs, factors and divisors of a length that are searched.
const DEPTH: usize = 4;

/// A length and its factors.
struct ScaledLength {
    length: Value,
    by: Vec<ScaleFactor>,
}

/// Signs, factors and divisors.
#[derive(Clone, Copy)]
enum ScaleFactor {
    Sign,
    Factor(Value),
    Divisor(Value),
}

impl StagingBuilder {
    /// Computes `a b`.
    pub(super) fn product(&mut self, a: Value, b: Value) -> Value {
        self.product_of_lengths(a, b).unwrap_or_else(|| self.b.number2(Number2::Mul, a, b))
    }

    fn product_of_lengths(&mut self, a: Value, b: Value) -> Option<Value> {
        let (x, y) = (self.scaled(a, DEPTH)?, self.scaled(b, DEPTH)?);
        let is_square = x.length == y.length || self.b.maker(x.length) == self.b.maker(y.length);
        if is_square { self.square(x.length, &x.by, &y.by) } else { None }
    }

    /// Computes `x^n` of real numbers, for an exponent that may be known.
    pub(super) fn power(&mut self, x: Value, n: Value) -> Value {
        self.power_of_length(x, n).unwrap_or_else(|| self.b.mixed(Mixed::PowiReal, &[x, n]))
    }

    fn power_of_length(&mut self, x: Value, n: Value) -> Option<Value> {
        let half = match self.b.maker(n)? {
            (Op::Int(n), _) if n > 0 && n % 2 == 0 => n / 2,
            _ => return None,
        };
        let x = self.scaled(x, DEPTH)?;
        let square = self.square(x.length, &x.by, &x.by)?;
        if half == 1 {
            return Some(square);
        }
        let half = self.b.int(half);
        Some(self.b.mixed(Mixed::PowiReal, &[square, half]))
    }

    fn times(&mut self, x: Value, by: ScaleFactor) -> Value {
        match by {
            ScaleFactor::Sign => self.b.number1(Number1::Neg, x),
            ScaleFactor::Factor(y) => self.b.number2(Number2::Mul, y, x),
            ScaleFactor::Divisor(y) => self.b.number2(Number2::Div, x, y),
        }
    }

    /// Decomposes a value into a length and its factors.
    fn scaled(&self, v: Value, depth: usize) -> Option<ScaledLength> {
        let (op, args) = self.b.maker(v)?;
        let with = |x: Value, by: ScaleFactor| {
            let mut scaled = self.scaled(x, depth.checked_sub(1)?)?;
            scaled.by.push(by);
            Some(scaled)
        };
        match (op, args) {
            (Op::OnArrays(ArrayOp::Norm) | Op::Mixed(Mixed::Modulus), _)
            | (Op::Real2(Real2::Hypot) | Op::Real1(Real1::Abs), _) => {
                Some(ScaledLength { length: v, by: Vec::new() })
            }
            (Op::Number1(Number1::Neg), &[x]) => with(x, ScaleFactor::Sign),
            (Op::Number2(Number2::Mul), &[x, y]) => {
                with(y, ScaleFactor::Factor(x)).or_else(|| with(x, ScaleFactor::Factor(y)))
            }
            (Op::Number2(Number2::Div), &[x, y]) => with(x, ScaleFactor::Divisor(y)),
            _ => None,
        }
    }

    /// Computes the product of a length with itself, each time with its factors.
    fn square(
        &mut self,
        length: Value,
        by: &[ScaleFactor],
        other: &[ScaleFactor],
    ) -> Option<Value> {
        let (op, args) = self.b.maker(length)?;
        let (x, y) = (*args.first()?, args.get(1).copied());
        let parts = match (op, y) {
            // If a norm is finite, so is its square.
            (Op::OnArrays(ArrayOp::Norm), _) => {
                let square = self.square_of_norm(x);
                return Some(
                    by.iter().chain(other).fold(square, |square, by| self.times(square, *by)),
                );
            }
            (Op::Mixed(Mixed::Modulus), _) if by.is_empty() && other.is_empty() => {
                return Some(self.b.mixed(Mixed::Abs2, &[x]));
            }
            (Op::Mixed(Mixed::Modulus), _) => {
                let [re, im] = [Mixed::Re, Mixed::Im].map(|part| self.b.mixed(part, &[x]));
                [Some(re), Some(im)]
            }
            _ => [Some(x), y],
        };
        // The others do not overflow in between: their factors are applied to the vectors.
        let products = parts.into_iter().flatten().map(|x| {
            let a = by.iter().fold(x, |x, by| self.times(x, *by));
            let b = other.iter().fold(x, |x, by| self.times(x, *by));
            self.b.number2(Number2::Mul, a, b)
        });
        let products: Vec<Value> = products.collect();
        products.into_iter().reduce(|a, b| self.b.number2(Number2::Add, a, b))
    }

    fn square_of_norm(&mut self, x: Value) -> Value {
        if *self.b.kind(x) != Kind::Array(Element::Complex) {
            return self.b.on_arrays(ArrayOp::Dot, &[x, x]);
        }
        let squares = self.b.mixed(Mixed::Abs2, &[x]);
        self.b.inst(Op::Sum, &[squares], Kind::Real)
    }
}
