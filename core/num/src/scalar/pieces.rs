//! Functions of one rule here and another there: absolute values, signs, minima, maxima, steps, and
//! roundings.

use std::cmp::Ordering;

use num_traits::Float;

use super::{
    Real, Undecided,
    wide::{one, two},
};

/// A function that is made of pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// `|x|`; its derivative at 0 is 0, and there are none of higher order.
    Abs,
    /// [`Sign`](Piece::Sign) as the derivative of the absolute value: at 0 it has none itself.
    AbsSlope,
    /// 1, -1, or 0 at 0; NaN of NaN.
    Sign,
    /// The greatest integer that is not greater than `x`: a constant.
    Floor,
    /// The least integer that is not less: a constant.
    Ceil,
    /// The nearest integer, halves away from 0: a constant.
    Round,
    /// The integer part: a constant.
    Trunc,
    /// `x` itself as a constant.
    Detach,
    /// The lesser of `x` and `y`; `x` at a tie, NaN if one is NaN.
    Min,
    /// The greater of `x` and `y`; `x` at a tie, NaN if one is NaN.
    Max,
    /// 1 where `x` is at least `y`, else 0; NaN if one is NaN.
    Step,
}

impl Piece {
    /// Returns the value of the function; functions of one argument ignore `y`.
    ///
    /// # Errors
    /// [`Undecided`] where a number has no value yet.
    #[inline]
    pub fn eval<T: Real>(self, x: &T, y: &T) -> Result<T, Undecided> {
        let zero = T::zero;
        Ok(match self {
            Piece::Abs => match x.try_cmp(&zero())? {
                Some(Ordering::Less) => -x,
                Some(Ordering::Equal) => x.hypot(&zero()),
                Some(Ordering::Greater) | None => x.clone(),
            },
            Piece::AbsSlope if x.try_cmp(&zero())? == Some(Ordering::Equal) => x.over(&zero()),
            Piece::AbsSlope => return Piece::Sign.eval(x, y),
            Piece::Sign => match x.try_cmp(&zero())? {
                Some(Ordering::Less) => T::int(-1),
                Some(Ordering::Equal) => zero(),
                Some(Ordering::Greater) => T::one(),
                None => T::lit(f64::NAN),
            },
            Piece::Floor => T::lit(primal(x)?.floor()),
            Piece::Ceil => T::lit(primal(x)?.ceil()),
            Piece::Round => T::lit(primal(x)?.round()),
            Piece::Trunc => T::lit(primal(x)?.trunc()),
            Piece::Detach => T::lit(primal(x)?),
            Piece::Min => match x.try_cmp(y)? {
                Some(Ordering::Less | Ordering::Equal) => x.clone(),
                Some(Ordering::Greater) => y.clone(),
                None => x.clone() + y,
            },
            Piece::Max => match x.try_cmp(y)? {
                Some(Ordering::Less) => y.clone(),
                Some(Ordering::Equal | Ordering::Greater) => x.clone(),
                None => x.clone() + y,
            },
            Piece::Step => match x.try_cmp(y)? {
                Some(Ordering::Less) => zero(),
                Some(Ordering::Equal | Ordering::Greater) => T::one(),
                None => T::lit(f64::NAN),
            },
        })
    }
}

/// Returns the plain number of one that carries more.
#[doc(hidden)]
pub fn primal<T: Real>(x: &T) -> Result<f64, Undecided> {
    x.primal().ok_or_else(|| Undecided::new("number without a value"))
}

/// Computes each number of `out` from those at its index in `x` and `y`; one number is used for
/// all.
pub(super) fn plain<T: Real>(f: Piece, [x, y]: [&[T]; 2], out: &mut [T]) -> Result<(), Undecided> {
    let at = |x: &[T], k: usize| if x.len() == 1 { 0 } else { k };
    for (k, z) in out.iter_mut().enumerate() {
        *z = f.eval(&x[at(x, k)], &y[at(y, k)])?;
    }
    Ok(())
}

/// Computes [`plain`] for floats: no branch, one loop for each function.
pub(super) fn floats<T: Real + Float>(f: Piece, [x, y]: [&[T]; 2], out: &mut [T]) {
    let (zero, unit) = (T::zero(), T::one());
    match f {
        Piece::Abs => one(x, out, move |&x| if x < zero { -x } else { x + zero }),
        Piece::Sign | Piece::AbsSlope => one(x, out, move |&x| {
            let sign = if x < zero { -unit } else { x + zero };
            if x > zero { unit } else { sign }
        }),
        Piece::Floor => one(x, out, |x| Float::floor(*x)),
        Piece::Ceil => one(x, out, |x| Float::ceil(*x)),
        Piece::Round => one(x, out, |x| Float::round(*x)),
        Piece::Trunc => one(x, out, |x| Float::trunc(*x)),
        Piece::Detach => one(x, out, |x| *x),
        Piece::Min => two(x, y, out, |&x, &y| {
            let least = if x > y { y } else { x + y };
            if x <= y { x } else { least }
        }),
        Piece::Max => two(x, y, out, |&x, &y| {
            let greatest = if x < y { y } else { x + y };
            if x >= y { x } else { greatest }
        }),
        Piece::Step => two(x, y, out, move |&x, &y| {
            let step = if x < y { zero } else { T::nan() };
            if x >= y { unit } else { step }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every function of every two kinds of numbers, one or many in each place, is what it is of
    /// each two.
    #[test]
    fn many_at_once_are_each_by_itself() {
        use Piece::{Abs, AbsSlope, Ceil, Detach, Floor, Max, Min, Round, Sign, Step, Trunc};
        let kinds = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            2.5,
            -2.5,
            0.3,
            1e300,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            5e-324,
        ];
        let x: Vec<f64> = kinds.iter().flat_map(|x| kinds.map(|_| *x)).collect();
        let y: Vec<f64> = kinds.iter().flat_map(|_| kinds).collect();
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        for f in [Abs, AbsSlope, Sign, Floor, Ceil, Round, Trunc, Detach, Min, Max, Step] {
            for ones in 0..4 {
                let part = |x: &[f64], bit: usize| {
                    if ones >> bit & 1 == 1 { vec![x[100]] } else { x.to_vec() }
                };
                let (x, y) = (part(&x, 0), part(&y, 1));
                let (mut given, mut expected) = (vec![7.0; 144], vec![8.0; 144]);
                floats(f, [&x, &y], &mut given);
                plain(f, [&x, &y], &mut expected).unwrap();
                assert!(
                    given.iter().zip(&expected).all(|(a, b)| same(*a, *b)),
                    "{f:?} {ones}: {given:?} {expected:?}"
                );
            }
        }
    }
}
