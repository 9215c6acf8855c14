//! Functions of one rule here and another there: absolute values, signs, minima, maxima, steps, and roundings.

use std::cmp::Ordering;

use super::{
    Real, Undecided,
    wide::{Loop, wide},
};

/// A function that is made of pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// `|x|`; at 0 the constant 0, whose derivative is 0 in every order.
    Abs,
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
    /// The lesser of `x` and `y`; `x` at a tie, NaN if one is NaN.
    Min,
    /// The greater of `x` and `y`; `x` at a tie, NaN if one is NaN.
    Max,
    /// 1 where `x` is at least `y`, else 0; NaN if one is NaN.
    Step,
}

impl Piece {
    /// Its value; functions of one argument do not look at `y`.
    ///
    /// # Errors
    /// [`Undecided`] where a number has no value yet.
    #[inline]
    pub fn of<T: Real>(self, x: &T, y: &T) -> Result<T, Undecided> {
        let zero = T::zero;
        Ok(match self {
            Piece::Abs => match x.try_cmp(&zero())? {
                Some(Ordering::Less) => -x,
                Some(Ordering::Equal) => zero(),
                Some(Ordering::Greater) | None => x.clone(),
            },
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

/// The number behind one that carries more.
pub(crate) fn primal<T: Real>(x: &T) -> Result<f64, Undecided> {
    x.primal().ok_or_else(|| Undecided::new("number without a value"))
}

/// For each number of `out` those in its place in `x` and `y`; of one number the same for all.
pub(super) fn plain<T: Real>(f: Piece, [x, y]: [&[T]; 2], out: &mut [T]) -> Result<(), Undecided> {
    let at = |x: &[T], k: usize| if x.len() == 1 { 0 } else { k };
    for (k, z) in out.iter_mut().enumerate() {
        *z = f.of(&x[at(x, k)], &y[at(y, k)])?;
    }
    Ok(())
}

/// As [`plain`], for floats: no branch, one loop for each function.
macro_rules! floats {
    ($($F:ident $many:ident)*) => {$(
        pub(super) fn $many(f: Piece, x: [&[$F]; 2], out: &mut [$F]) {
            match f {
                Piece::Abs => loops(x, out, |x, _| if x < 0.0 { -x } else { x + 0.0 }),
                Piece::Sign => loops(x, out, |x, _| {
                    let sign = if x < 0.0 { -1.0 } else { x + 0.0 };
                    if x > 0.0 { 1.0 } else { sign }
                }),
                Piece::Floor => loops(x, out, |x, _| x.floor()),
                Piece::Ceil => loops(x, out, |x, _| x.ceil()),
                Piece::Round => loops(x, out, |x, _| x.round()),
                Piece::Trunc => loops(x, out, |x, _| x.trunc()),
                Piece::Min => loops(x, out, |x, y| {
                    let least = if x > y { y } else { x + y };
                    if x <= y { x } else { least }
                }),
                Piece::Max => loops(x, out, |x, y| {
                    let greatest = if x < y { y } else { x + y };
                    if x >= y { x } else { greatest }
                }),
                Piece::Step => loops(x, out, |x, y| {
                    let step = if x < y { 0.0 } else { $F::NAN };
                    if x >= y { 1.0 } else { step }
                }),
            }
        }
    )*};
}
floats! { f32 singles f64 doubles }

#[inline(always)]
fn loops<T: Real + Copy>(x: [&[T]; 2], out: &mut [T], f: impl Fn(T, T) -> T) {
    match x {
        [&[x], &[y]] => out.fill(f(x, y)),
        [x, &[y]] => wide::<T, _>(Over { x: [x, x], out, f: |x, _| f(x, y) }),
        [&[x], y] => wide::<T, _>(Over { x: [y, y], out, f: |y, _| f(x, y) }),
        x => wide::<T, _>(Over { x, out, f }),
    }
}

/// A number from each two.
struct Over<'a, T, F> {
    x: [&'a [T]; 2],
    out: &'a mut [T],
    f: F,
}

impl<T: Copy, F: Fn(T, T) -> T> Loop for Over<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let [x, y] = self.x;
        self.out.iter_mut().zip(x).zip(y).for_each(|((z, x), y)| *z = (self.f)(*x, *y));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every function of every two kinds of numbers, one or many in each place, is what it is of each two.
    #[test]
    fn many_at_once_are_each_by_itself() {
        use Piece::{Abs, Ceil, Floor, Max, Min, Round, Sign, Step, Trunc};
        let kinds =
            [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.3, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324];
        let x: Vec<f64> = kinds.iter().flat_map(|x| kinds.map(|_| *x)).collect();
        let y: Vec<f64> = kinds.iter().flat_map(|_| kinds).collect();
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        for f in [Abs, Sign, Floor, Ceil, Round, Trunc, Min, Max, Step] {
            for ones in 0..4 {
                let one =
                    |x: &[f64], bit: usize| if ones >> bit & 1 == 1 { vec![x[100]] } else { x.to_vec() };
                let (x, y) = (one(&x, 0), one(&y, 1));
                let (mut given, mut expected) = (vec![7.0; 144], vec![8.0; 144]);
                doubles(f, [&x, &y], &mut given);
                plain(f, [&x, &y], &mut expected).unwrap();
                assert!(
                    given.iter().zip(&expected).all(|(a, b)| same(*a, *b)),
                    "{f:?} {ones}: {given:?} {expected:?}"
                );
            }
        }
    }
}
