//! Numbers with a rounding bound: a running error analysis.
//!
//! Each operation adds half a unit in the last place of its result to the propagated errors of its
//! operands. For a monotonic function these follow from the ends of the interval, so that the bound
//! holds near poles and kinks too:
//!
//! ```text
//! |x y - X Y| <= |x| dy + |y| dx + dx dy         |f(x) - F(X)| <= max |f(x) - F(x +- dx)|
//! ```
//! The bound is itself rounded upwards at each step, so it holds to its last bit, for results below
//! the least normal number too. An operation costs a few of those on `f64`.

use std::f64::consts::PI;

use super::{ALL_WHOLE, Angle, Decimal, ElementaryFunction, ParamExpr, Step, angle::q_to_f64};
use crate::scalar::exact_sum;

/// Half a unit in the last place of 1.
#[doc(hidden)]
pub const UNIT: f64 = f64::EPSILON / 2.0;
/// Error of functions of the standard library in half units in the last place: a unit or two.
const OF_FUNCTIONS: f64 = 4.0;
/// Size below which half a unit in the last place is no normal number.
const TINY: f64 = f64::MIN_POSITIVE / UNIT;

/// Float with a bound of its distance from the exact number.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Rounded {
    #[doc(hidden)]
    pub value: f64,
    #[doc(hidden)]
    pub error: f64,
}

impl Rounded {
    #[doc(hidden)]
    pub fn exact(value: f64) -> Rounded {
        Rounded { value, error: 0.0 }
    }

    /// Returns the number that is meant by a float that was written as a decimal.
    #[doc(hidden)]
    pub fn decimal(value: f64) -> Rounded {
        Rounded {
            value,
            error: Decimal::new(value).map_or(f64::INFINITY, |decimal| decimal.rounding_bound()),
        }
    }

    /// The value of an angle.
    #[doc(hidden)]
    pub fn angle(angle: &Angle, values: &[Rounded]) -> Rounded {
        let mut sum = Rounded::exact(0.0);
        if *angle.pi_part().numer() != 0 {
            let pi = q_to_f64(angle.pi_part()) * PI;
            sum = Rounded { value: pi, error: 3.0 * UNIT * pi.abs() };
        }
        if angle.radian_part() != 0.0 {
            sum = sum.plus(Rounded::decimal(angle.radian_part()));
        }
        for &(id, q) in angle.terms() {
            let nowhere = Rounded { value: 0.0, error: f64::INFINITY };
            let theta = values.get(id.index()).copied().unwrap_or(nowhere);
            let factor = q_to_f64(q);
            let is_exact = *q.denom() == 1 && factor.abs() < ALL_WHOLE;
            let off = if is_exact { 0.0 } else { UNIT * factor.abs() };
            sum = sum.plus(theta.times(Rounded { value: factor, error: off }));
        }
        if angle.rounding_bound() == 0.0 {
            return sum;
        }
        let largest =
            values.iter().fold(0.0, |most: f64, theta| most.max(theta.value.abs() + theta.error));
        sum.off(angle.rounding_bound_at(largest))
    }

    /// The sum of the absolute values of an angle's parts.
    #[doc(hidden)]
    pub fn sizes(angle: &Angle, values: &[Rounded]) -> f64 {
        let value = |k: usize| values.get(k).map_or(f64::INFINITY, |theta| theta.value);
        let terms = angle.terms().iter().map(|(id, q)| (q_to_f64(*q) * value(id.index())).abs());
        q_to_f64(angle.pi_part()).abs() * PI + angle.radian_part().abs() + terms.sum::<f64>()
    }

    /// The value of an expression.
    #[doc(hidden)]
    pub fn expression(expr: &ParamExpr, values: &[Rounded]) -> Rounded {
        let mut stack: Vec<Rounded> = Vec::new();
        for step in expr.steps() {
            let mut pop = || stack.pop().unwrap_or(Rounded::exact(0.0));
            let value = match step {
                Step::Angle(angle) => Rounded::angle(angle, values),
                Step::Neg => pop().negative(),
                Step::Call(function) => pop().call(*function),
                _ => {
                    let (y, x) = (pop(), pop());
                    match step {
                        Step::Add => x.plus(y),
                        Step::Sub => x.plus(y.negative()),
                        Step::Mul => x.times(y),
                        Step::Div => x.over(y),
                        _ => x.power(y),
                    }
                }
            };
            stack.push(value);
        }
        stack.pop().unwrap_or(Rounded::exact(0.0))
    }

    /// Returns the angle of that many radians.
    pub(crate) fn into_angle(self) -> Angle {
        if self.error == 0.0 {
            Angle::rad(self.value)
        } else {
            Angle::rounded(self.value, self.error)
        }
    }

    /// Returns the number with a larger error. The error of a NaN is infinite.
    #[doc(hidden)]
    pub fn off(self, more: f64) -> Rounded {
        let error = sum_above(self.error, more);
        Rounded { error: if error.is_nan() { f64::INFINITY } else { error }, ..self }
    }

    #[doc(hidden)]
    pub fn negative(self) -> Rounded {
        Rounded { value: -self.value, ..self }
    }

    #[doc(hidden)]
    pub fn plus(self, other: Rounded) -> Rounded {
        let value = self.value + other.value;
        // Adding 0 rounds nothing, and no sum is too small for its digits.
        let rounds = self.value != 0.0 && other.value != 0.0;
        let error = sum_above(self.error, other.error);
        Rounded { value, error }.off(if rounds { UNIT * value.abs() } else { 0.0 })
    }

    #[doc(hidden)]
    pub fn times(self, other: Rounded) -> Rounded {
        let value = self.value * other.value;
        let error = sum_above(part(self.value, other.error), part(other.value, self.error));
        let rounds = |x: f64| x != 0.0 && x.abs() != 1.0;
        Rounded { value, error }
            .off(part(self.error, other.error))
            .off(if rounds(self.value) && rounds(other.value) { half_unit(value) } else { 0.0 })
    }

    #[doc(hidden)]
    pub fn over(self, other: Rounded) -> Rounded {
        let value = self.value / other.value;
        let least = -sum_above(-other.value.abs(), other.error);
        let off = sum_above(self.error, part(value.abs().next_up(), other.error));
        let error = if off == 0.0 {
            0.0
        } else if least > 0.0 {
            (off / least).next_up()
        } else {
            f64::INFINITY
        };
        let rounds = self.value != 0.0 || value != 0.0;
        Rounded { value, error }.off(if rounds { half_unit(value) } else { 0.0 })
    }

    /// Returns the remainder of the truncated division, with the sign of `self`.
    #[doc(hidden)]
    pub fn remainder(self, divisor: Rounded) -> Rounded {
        let (value, size) = (self.value % divisor.value, divisor.value.abs());
        let quotient = (self.value / divisor.value).trunc() * (1.0 + f64::EPSILON);
        let off = sum_above(self.error, part(quotient, divisor.error));
        // Next to a jump the remainder may be anything below the divisor, which may be nearer than
        // it is written.
        let margin = sum_above(off, divisor.error);
        let beside =
            margin > 0.0 && (value.abs() <= margin || sum_above(value.abs(), -size) >= -margin);
        Rounded { value, error: 0.0 }.off(if beside { sum_above(size, margin) } else { off })
    }

    /// Returns a power: of a positive number, or with a whole exponent.
    #[doc(hidden)]
    pub fn power(self, exponent: Rounded) -> Rounded {
        let value = self.value.powf(exponent.value);
        let corners = self
            .ends()
            .into_iter()
            .flat_map(|x| exponent.ends().map(|y| x.powf(y)))
            .map(|corner| computed_distance(corner, value, OF_FUNCTIONS));
        let has_pole = self.crosses_zero() && exponent.ends()[0] < 0.0;
        let error = if has_pole { f64::INFINITY } else { corners.fold(0.0, f64::max) };
        Rounded { value, error }
    }

    #[doc(hidden)]
    pub fn call(self, function: ElementaryFunction) -> Rounded {
        let f = |x: f64| function.apply(&x);
        if self.error == 0.0 && is_exact(function, self.value, f(self.value)) {
            return Rounded::exact(f(self.value));
        }
        match function {
            ElementaryFunction::Sin | ElementaryFunction::Cos => self.nonexpansive(f, OF_FUNCTIONS),
            ElementaryFunction::Tan => self.tangent(),
            _ => self.monotonic(f, OF_FUNCTIONS),
        }
    }

    /// Returns the value of a function that is monotonic, or even and convex, and is computed with
    /// an error of at most that many half units in the last place.
    #[doc(hidden)]
    pub fn monotonic(self, f: impl Fn(f64) -> f64, units: f64) -> Rounded {
        let value = f(self.value);
        let [below, above] = self.ends().map(|x| computed_distance(f(x), value, units));
        Rounded { value, error: below.max(above) }
    }

    /// Returns the value of a function that moves no faster than its argument, and is computed with
    /// an error of at most that many half units in the last place.
    #[doc(hidden)]
    pub fn nonexpansive(self, f: impl Fn(f64) -> f64, units: f64) -> Rounded {
        let value = f(self.value);
        Rounded { value, ..self }.off(units * half_unit(value))
    }

    /// Returns the tangent.
    #[doc(hidden)]
    pub fn tangent(self) -> Rounded {
        // If both ends have one sign, the cosine has no zero between them.
        let [below, above] = self.ends().map(f64::cos);
        let is_monotonic = self.error < 1.0 && below * above > 0.0;
        self.monotonic(f64::tan, OF_FUNCTIONS).off(if is_monotonic { 0.0 } else { f64::INFINITY })
    }

    /// Returns true if the number is not exact, and may be 0.
    #[doc(hidden)]
    pub fn crosses_zero(self) -> bool {
        self.error > 0.0 && self.value.abs() <= self.error
    }

    /// Returns the ends of the interval, rounded outwards.
    fn ends(self) -> [f64; 2] {
        [-sum_above(-self.value, self.error), sum_above(self.value, self.error)]
    }
}

/// Returns true if the float is the exact value of the function, by a well-known identity.
fn is_exact(function: ElementaryFunction, x: f64, value: f64) -> bool {
    match function {
        ElementaryFunction::Sin
        | ElementaryFunction::Tan
        | ElementaryFunction::Asin
        | ElementaryFunction::Atan
        | ElementaryFunction::Cos
        | ElementaryFunction::Exp => x == 0.0,
        ElementaryFunction::Ln | ElementaryFunction::Acos => x == 1.0,
        ElementaryFunction::Sqrt => {
            value.fract() == 0.0 && value * value == x && x < 1.0 / f64::EPSILON
        }
    }
}

/// Returns half a unit in the last place, at least the error of a result rounded to nearest.
fn half_unit(value: f64) -> f64 {
    let half = UNIT * value.abs();
    if value.abs() < TINY { half.next_up() } else { half }
}

/// Returns the sum, rounded upwards.
fn sum_above(a: f64, b: f64) -> f64 {
    let [sum, rest] = exact_sum(a, b);
    if rest > 0.0 { sum.next_up() } else { sum }
}

/// Returns the product, rounded upwards. Zero times infinity is zero here.
fn part(size: f64, error: f64) -> f64 {
    if size == 0.0 || error == 0.0 { 0.0 } else { (size.abs() * error).next_up() }
}

/// Returns a bound of the distance from `y` of a function's exact value, which is computed as `x`,
/// with an error in half units; what is not finite is infinitely far from any.
fn computed_distance(x: f64, y: f64, units: f64) -> f64 {
    if !(x.is_finite() && y.is_finite()) {
        return f64::INFINITY;
    }
    sum_above(sum_above(x.max(y), -x.min(y)), units * half_unit(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::ParamId;
    use astro_float_num::{BigFloat, Consts, RoundingMode};
    use num_rational::Ratio;
    use support::random::Rng;

    const BITS: usize = 256;
    const NEAREST: RoundingMode = RoundingMode::ToEven;

    /// Returns the same number; `BigFloat::from_f64` halves those below the normal ones.
    fn big(x: f64) -> BigFloat {
        let scale = 2f64.powi(200);
        if x.abs() < f64::MIN_POSITIVE {
            BigFloat::from_f64(x * scale, BITS).div(&BigFloat::from_f64(scale, BITS), BITS, NEAREST)
        } else {
            BigFloat::from_f64(x, BITS)
        }
    }

    /// A number of up to that power of ten, often a special one; exact, rounded, or hardly known.
    fn draw(rng: &mut Rng, power: i64) -> Rounded {
        let value = match rng.below(9) {
            0 | 1 => rng.integer(-3, 3) as f64,
            2 => rng.integer(-3, 3) as f64 + 1e-9 * rng.signed(),
            3 => rng.signed() * 10f64.powi(rng.integer(-power - 20, power) as i32),
            4 => PI * rng.integer(-8, 8) as f64 / 4.0,
            _ => rng.signed() * 10f64.powi(rng.integer(-3, 3) as i32),
        };
        let error = match rng.below(5) {
            0 => 0.0,
            // Together with the value within the bits of the reference.
            1 if value == 0.0 => 10f64.powi(rng.integer(-18, 0) as i32),
            1 => value.abs() * 10f64.powi(rng.integer(-18, 0) as i32),
            2 => value.abs() * 4.0 * rng.unit(),
            _ => UNIT * value.abs() * (4.0 * rng.unit()).floor(),
        };
        Rounded { value, error }
    }

    /// Points of the interval: its ends, its middle, one between, and 0.
    fn points(x: Rounded, rng: &mut Rng) -> Vec<BigFloat> {
        let at =
            |t: f64| big(x.value).add(&big(x.error).mul(&big(t), BITS, NEAREST), BITS, NEAREST);
        let mut points = vec![at(0.0)];
        if x.error > 0.0 {
            points.extend([-1.0, 1.0, rng.signed()].map(at));
        }
        points.extend(x.crosses_zero().then(|| big(0.0)));
        points
    }

    /// Returns the power; `BigFloat::pow` does not end for a base of 1.
    fn exact_power(x: &BigFloat, y: &BigFloat, c: &mut Consts) -> BigFloat {
        let whole: Option<i32> = (-9..=9).find(|n| *y == BigFloat::from_i32(*n, BITS));
        match whole {
            Some(n @ 0..) => x.powi(n as usize, BITS, NEAREST),
            Some(n) => x.powi(n.unsigned_abs() as usize, BITS, NEAREST).reciprocal(BITS, NEAREST),
            None => x.ln(BITS, NEAREST, c).mul(y, BITS, NEAREST).exp(BITS, NEAREST, c),
        }
    }

    fn function(f: ElementaryFunction, x: &BigFloat, c: &mut Consts) -> BigFloat {
        match f {
            ElementaryFunction::Sin => x.sin(BITS, NEAREST, c),
            ElementaryFunction::Cos => x.cos(BITS, NEAREST, c),
            ElementaryFunction::Tan => x.tan(BITS, NEAREST, c),
            ElementaryFunction::Asin => x.asin(BITS, NEAREST, c),
            ElementaryFunction::Acos => x.acos(BITS, NEAREST, c),
            ElementaryFunction::Atan => x.atan(BITS, NEAREST, c),
            ElementaryFunction::Exp => x.exp(BITS, NEAREST, c),
            ElementaryFunction::Ln => x.ln(BITS, NEAREST, c),
            ElementaryFunction::Sqrt => x.sqrt(BITS, NEAREST),
        }
    }

    #[test]
    fn the_result_for_every_number_of_the_intervals_is_within_the_bound() {
        const CASES: usize = 10_000;
        let (mut rng, mut constants) = (Rng::new(1), Consts::new().unwrap());
        let (mut ratios, mut compared) = (Vec::new(), 0);
        for case in 0..CASES {
            let kind = case % 14;
            // Of huge numbers the reference has no functions in reasonable time.
            let power = if kind < 3 { 300 } else { 10 };
            let (x, y) = (draw(&mut rng, power), draw(&mut rng, power));
            let result = match kind {
                0 => x.plus(y),
                1 => x.times(y),
                2 => x.over(y),
                3 => x.remainder(y),
                4 => x.power(y),
                k => x.call(ElementaryFunction::ALL[k - 5]),
            };
            if !(result.value.is_finite() && result.error.is_finite()) {
                continue;
            }
            let mut farthest = big(UNIT * result.value.abs());
            let second = if kind < 5 { points(y, &mut rng) } else { vec![big(0.0)] };
            for a in points(x, &mut rng) {
                for b in &second {
                    let exact = match kind {
                        0 => a.add(b, BITS, NEAREST),
                        1 => a.mul(b, BITS, NEAREST),
                        2 => a.div(b, BITS, NEAREST),
                        3 => a.rem(b),
                        4 => exact_power(&a, b, &mut constants),
                        k => function(ElementaryFunction::ALL[k - 5], &a, &mut constants),
                    };
                    if exact.is_nan() {
                        continue;
                    }
                    let off = exact.sub(&big(result.value), BITS, NEAREST).abs();
                    assert!(off <= big(result.error), "{kind}: {x:?} {y:?} {result:?}: {exact}");
                    compared += 1;
                    if off > farthest {
                        farthest = off;
                    }
                }
            }
            if result.error > 0.0 && !farthest.is_zero() {
                let ratio = big(result.error).div(&farthest, BITS, NEAREST).to_string();
                ratios.push(ratio.parse::<f64>().unwrap());
            }
        }
        ratios.sort_by(f64::total_cmp);
        assert!(compared > 3 * CASES, "{compared}");
        // Half of the bounds are hardly wider than they have to be.
        assert!(ratios[ratios.len() / 2] < 4.0, "{}", ratios[ratios.len() / 2]);
    }

    #[test]
    fn coefficients_that_no_float_holds_are_rounded() {
        let odd = (1i64 << 53) + 1;
        let angle = Angle::theta(ParamId::new(0)) * Ratio::from_integer(odd);
        let value = Rounded::angle(&angle, &[Rounded::exact(1.0)]);
        assert!(((value.value as i64).abs_diff(odd) as f64) <= value.error, "{value:?}");
        let value = Rounded::angle(&Angle::theta(ParamId::new(0)), &[Rounded::exact(0.1)]);
        assert_eq!(value, Rounded::exact(0.1));
    }
}
