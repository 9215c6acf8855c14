//! Bounds on the rounding error of the values of expressions: [`Rounded`] numbers, for every
//! operation of an expression.
//!
//! A cancellation shows: `(x + 1e9) - 1e9` has a bound of some 1e-7.

use std::collections::HashMap;

use num_traits::ToPrimitive;

use super::read::StraightLineProgram;
use crate::{
    entity::Value,
    ir::{InstData, Literal, Mixed, Number1, Number2, Op, Real1, Real2},
    param::{ALL_WHOLE, Rounded, UNIT},
    scalar::Scalar,
};

/// Error of functions in half units in the last place.
const OF_FUNCTIONS: f64 = 16.0;

/// Returns the value where the inputs have these values by name; `None` where it or its bound is
/// not finite on the way, or an operation has no value in numbers.
pub(super) fn bounded(line: &StraightLineProgram, at: &[(&str, f64)]) -> Option<Rounded> {
    let mut known: HashMap<Value, Rounded> = HashMap::new();
    for (parameter, name) in line.params() {
        let value = at.iter().find(|(known, _)| known == name)?.1;
        known.insert(parameter, Rounded::exact(value));
    }
    for (result, inst) in line.instructions() {
        let args: Option<Vec<Rounded>> = inst.args.iter().map(|a| known.get(a).copied()).collect();
        let rounded = operation(inst, &args?)?;
        if !(rounded.value.is_finite() && rounded.error.is_finite()) {
            return None;
        }
        known.insert(result, rounded);
    }
    known.get(&line.result).copied()
}

fn operation(inst: &InstData, args: &[Rounded]) -> Option<Rounded> {
    Some(match (inst.op, args) {
        (Op::Real(Literal(x)), []) => Rounded::exact(x),
        (Op::Int(n), []) => {
            let value = n.to_f64()?;
            let is_exact = value.abs() < ALL_WHOLE;
            Rounded::exact(value).off(if is_exact { 0.0 } else { f64::EPSILON * value.abs() })
        }
        (Op::Mixed(Mixed::FromInt), [x]) => *x,
        (Op::Mixed(Mixed::PowiReal), [x, n]) if n.error == 0.0 => {
            if n.value < 0.0 && x.crosses_zero() {
                return None;
            }
            let n = n.value.to_i64()?;
            x.monotonic(|x| Scalar::powi(&x, n), OF_FUNCTIONS)
        }
        (Op::Number1(f), [x]) => number1(f, *x),
        (Op::Number2(f), [x, y]) => number2(f, *x, *y)?,
        (Op::Real1(f), [x]) => real1(f, *x)?,
        (Op::Real2(f), [x, y]) => real2(f, *x, *y)?,
        _ => return None,
    })
}

fn number1(f: Number1, x: Rounded) -> Rounded {
    use Number1 as F;
    let value = |x: f64| f.value(&x);
    match f {
        F::Neg => x.negative(),
        F::Recip => Rounded::exact(1.0).over(x),
        F::Sin | F::Cos => x.nonexpansive(value, OF_FUNCTIONS),
        F::Tan => x.tangent(),
        F::Sqrt | F::Cbrt | F::Exp | F::ExpM1 | F::Ln | F::Ln1p | F::Log2 | F::Log10 => {
            x.monotonic(value, OF_FUNCTIONS)
        }
        F::Asin | F::Acos | F::Atan | F::Asinh | F::Acosh | F::Atanh => {
            x.monotonic(value, OF_FUNCTIONS)
        }
        F::Sinh | F::Cosh | F::Tanh => x.monotonic(value, OF_FUNCTIONS),
    }
}

fn number2(f: Number2, x: Rounded, y: Rounded) -> Option<Rounded> {
    let is_zero = y == Rounded::exact(0.0);
    Some(match f {
        Number2::Add => x.plus(y),
        Number2::Sub => x.plus(y.negative()),
        Number2::Mul => x.times(y),
        Number2::Div => x.over(y),
        Number2::Pow => x.power(y),
        Number2::Scale | Number2::Guard if is_zero => y,
        Number2::Scale => x.times(y),
        Number2::Guard if y.crosses_zero() => return None,
        Number2::Guard => x,
    })
}

fn real1(f: Real1, x: Rounded) -> Option<Rounded> {
    let value = |x: f64| f.value(&x).unwrap_or(f64::NAN);
    Some(match f {
        Real1::Abs => x.nonexpansive(value, 0.0),
        Real1::AbsSlope | Real1::Sign => x.monotonic(value, 0.0),
        Real1::Floor | Real1::Ceil | Real1::Round | Real1::Trunc => x.monotonic(value, 0.0),
        Real1::Detach => x,
        Real1::Beyond => Rounded::exact(0.0),
        Real1::Erf | Real1::Erfc | Real1::Sigmoid | Real1::Softplus => {
            x.monotonic(value, OF_FUNCTIONS)
        }
        // Near its zeros its error is beyond such units.
        Real1::Lgamma => return None,
    })
}

fn real2(f: Real2, x: Rounded, y: Rounded) -> Option<Rounded> {
    let value = f.value(&x.value, &y.value).ok()?;
    let larger = x.error.max(y.error);
    let both = x.error + y.error;
    let size = x.value.abs().max(y.value.abs());
    let unit = OF_FUNCTIONS * UNIT;
    let rounding = unit * (value.abs() + both);
    Some(match f {
        Real2::Min | Real2::Max => Rounded { value, error: larger },
        // The slopes are positive, and their sum is 1.
        Real2::LogAddExp => Rounded { value, error: larger }.off(rounding + unit * size),
        Real2::Hypot => Rounded { value, error: both }.off(rounding),
        Real2::Ratio if [x, y] == [Rounded::exact(0.0); 2] => Rounded::exact(0.0),
        Real2::Ratio => x.over(y),
        Real2::Rem => x.remainder(y),
        Real2::Atan2 => {
            // An arc is at most pi/2 times its sine.
            let sine = both / x.value.hypot(y.value);
            let is_continuous = !x.crosses_zero() || y.value > y.error;
            if !(is_continuous && (both == 0.0 || sine < 1.0)) {
                return None;
            }
            let error = if both == 0.0 { 0.0 } else { 1.6 * sine };
            Rounded { value, error }.off(rounding)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{scalar::Real, trace::Expr};
    use astro_float_num::{BigFloat, Consts, NAN, RoundingMode};
    use num_traits::One;
    use support::random::Rng;

    const BITS: usize = 256;
    const NEAREST: RoundingMode = RoundingMode::ToEven;
    const INPUTS: [&str; 2] = ["x", "y"];

    /// An expression, and its value at the point.
    type Valued = (Expr, BigFloat);

    struct Expressions {
        rng: Rng,
        constants: Consts,
        point: [f64; 2],
    }

    impl Expressions {
        fn leaf(&mut self) -> Valued {
            let big = |n: i64| BigFloat::from_i64(n, BITS);
            let (n, d) = (self.rng.integer(-9, 9), self.rng.integer(1, 9));
            match self.rng.below(8) {
                0 => (Expr::ratio(n, d), big(n).div(&big(d), BITS, NEAREST)),
                1 => (Expr::pi(), self.constants.pi(BITS, NEAREST)),
                k => {
                    let at = self.point[k % 2];
                    (Expr::symbol(INPUTS[k % 2]), BigFloat::from_f64(at, BITS))
                }
            }
        }

        fn function(&mut self, (x, a): Valued) -> Valued {
            let (c, one) = (&mut self.constants, BigFloat::from_i64(1, BITS));
            let exp = |a: &BigFloat, c: &mut Consts| a.exp(BITS, NEAREST, c);
            let n = self.rng.integer(-3, 4);
            let power = a.powi(n.unsigned_abs() as usize, BITS, NEAREST);
            match self.rng.below(26) {
                0 => (-x, a.neg()),
                1 => (x.recip(), a.reciprocal(BITS, NEAREST)),
                2 => (x.sqrt(), a.sqrt(BITS, NEAREST)),
                3 => (x.cbrt(), a.cbrt(BITS, NEAREST)),
                4 => (x.exp(), exp(&a, c)),
                5 => (x.exp_m1(), exp(&a, c).sub(&one, BITS, NEAREST)),
                6 => (x.ln(), a.ln(BITS, NEAREST, c)),
                7 => (x.ln_1p(), a.add(&one, BITS, NEAREST).ln(BITS, NEAREST, c)),
                8 => (x.log2(), a.log2(BITS, NEAREST, c)),
                9 => (x.log10(), a.log10(BITS, NEAREST, c)),
                10 => (x.sin(), a.sin(BITS, NEAREST, c)),
                11 => (x.cos(), a.cos(BITS, NEAREST, c)),
                12 => (x.tan(), a.tan(BITS, NEAREST, c)),
                13 => (x.asin(), a.asin(BITS, NEAREST, c)),
                14 => (x.acos(), a.acos(BITS, NEAREST, c)),
                15 => (x.atan(), a.atan(BITS, NEAREST, c)),
                16 => (x.sinh(), a.sinh(BITS, NEAREST, c)),
                17 => (x.cosh(), a.cosh(BITS, NEAREST, c)),
                18 => (x.tanh(), a.tanh(BITS, NEAREST, c)),
                19 => (x.acosh(), a.acosh(BITS, NEAREST, c)),
                20 => (x.atanh(), a.atanh(BITS, NEAREST, c)),
                21 => (x.abs(), a.abs()),
                22 => (x.real1(Real1::Floor), a.floor()),
                23 => (x.real1(Real1::Ceil), a.ceil()),
                24 => {
                    let rest = one.add(&exp(&a.neg(), c), BITS, NEAREST);
                    (x.real1(Real1::Sigmoid), rest.reciprocal(BITS, NEAREST))
                }
                _ if n < 0 => (x.powi(n), power.reciprocal(BITS, NEAREST)),
                _ => (x.powi(n), power),
            }
        }

        fn both(&mut self, (x, a): Valued, (y, b): Valued) -> Valued {
            let c = &mut self.constants;
            let is_less = a < b;
            let choice = self.rng.below(11);
            if a.is_nan() || b.is_nan() {
                return (x + y, NAN);
            }
            match choice {
                0 | 1 => (x + y, a.add(&b, BITS, NEAREST)),
                2 | 3 => (x - y, a.sub(&b, BITS, NEAREST)),
                4 => (x * y, a.mul(&b, BITS, NEAREST)),
                5 => (x / y, a.div(&b, BITS, NEAREST)),
                6 => {
                    // `BigFloat::pow` does not end for a base of 1.
                    let exponent = a.ln(BITS, NEAREST, c).mul(&b, BITS, NEAREST);
                    (x.pow(&y), exponent.exp(BITS, NEAREST, c))
                }
                7 => (x.min(&y), if is_less { a } else { b }),
                8 => (x % y, a.rem(&b)),
                9 => {
                    let square = |a: &BigFloat| a.mul(a, BITS, NEAREST);
                    (x.hypot(&y), square(&a).add(&square(&b), BITS, NEAREST).sqrt(BITS, NEAREST))
                }
                _ => {
                    let angle = a.div(&b, BITS, NEAREST).atan(BITS, NEAREST, c);
                    let pi = c.pi(BITS, NEAREST);
                    let angle = match (b.is_negative(), a.is_negative()) {
                        (true, true) => angle.sub(&pi, BITS, NEAREST),
                        (true, false) => angle.add(&pi, BITS, NEAREST),
                        _ => angle,
                    };
                    (x.atan2(&y), angle)
                }
            }
        }

        fn expression(&mut self, depth: usize) -> Valued {
            let (x, a) = match self.rng.below(5) {
                _ if depth == 0 => self.leaf(),
                0 => self.leaf(),
                1 | 2 => {
                    let x = self.expression(depth - 1);
                    self.function(x)
                }
                _ => {
                    let (x, y) = (self.expression(depth - 1), self.expression(depth - 1));
                    self.both(x, y)
                }
            };
            // The reference has 77 digits, which must not cancel: a root of what is left of 0, such
            // as `sin(pi)`, would be large.
            let [least, most] = [1e-20, 1e20].map(|size| BigFloat::from_f64(size, BITS));
            let is_moderate = a.is_zero() || (a.abs() > least && a.abs() < most);
            (x, if is_moderate { a } else { NAN })
        }
    }

    #[test]
    fn exact_values_of_expressions_are_within_the_bound() {
        const CASES: usize = 8000;
        let (rng, constants) = (Rng::new(5), Consts::new().unwrap());
        let mut random = Expressions { rng, constants, point: [0.0; 2] };
        let mut compared = 0;
        for case in 0..CASES {
            let scale = if case % 3 == 0 { 1.0 } else { 4.0 };
            let point = [0; 2].map(|_| scale * random.rng.signed());
            random.point = point;
            let (e, exact) = random.expression(5);
            let line = StraightLineProgram::new(&e).unwrap();
            let values: Vec<(&str, f64)> = INPUTS.into_iter().zip(point).collect();
            let Some(Rounded { value, error }) = bounded(&line, &values) else { continue };
            if exact.is_nan() || exact.is_inf() {
                continue;
            }
            let big = |x: f64| BigFloat::from_f64(x, BITS);
            let off = exact.sub(&big(value), BITS, NEAREST).abs();
            assert!(
                off <= big(error.max(1e-55)),
                "{e} at {point:?}: {value} off by {off}, bound {error}"
            );
            compared += usize::from(error > 0.0);
        }
        // The others are exact, or not defined.
        assert!(compared > CASES / 4, "{compared}");
    }

    #[test]
    fn jumps_and_kinks_are_within_the_bound() {
        let x = Expr::symbol("x");
        let nothing = (&x + Expr::lit(1e9)) - Expr::lit(1e9) - &x;
        let line = |e: &Expr| bounded(&StraightLineProgram::new(e).unwrap(), &[("x", 0.1)]);
        let off = line(&nothing).unwrap();
        assert!(off.value != 0.0 && off.value.abs() <= off.error);
        let pi = std::f64::consts::PI;
        for (e, exact) in [
            (nothing.abs(), 0.0),
            (nothing.sign(), 0.0),
            (nothing.atan2(&-Expr::one()), pi),
            ((-&nothing).atan2(&-Expr::one()), pi),
        ] {
            let is_within = line(&e).is_none_or(|b| (b.value - exact).abs() <= b.error);
            assert!(is_within, "{e}");
        }
    }
}
