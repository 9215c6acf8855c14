//! Two operations at once on many numbers: what lies between them is never stored.

use super::{
    Ring,
    wide::{WideLoop, wide},
};

/// An operation of arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basic {
    /// `x + y`
    Add,
    /// `x - y`
    Sub,
    /// `x y`
    Mul,
}

impl Basic {
    /// Returns the value of the operation.
    pub(crate) fn apply<S: Ring>(self, x: &S, y: &S) -> S {
        match self {
            Basic::Add => x.clone() + y,
            Basic::Sub => x.clone() - y,
            Basic::Mul => x.clone() * y,
        }
    }
}

/// `(a first b) second c`, or `c second (a first b)`: which numbers are read, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Twice {
    /// Operation that is applied first.
    pub first: Basic,
    /// Operation that is applied to its result.
    pub second: Basic,
    /// True if the result of the first is the right operand of the second.
    pub back: bool,
}

/// Computes each number of `out` from those at its index in `a`, `b`, `c`; one number is used for
/// all.
pub(super) fn plain<S: Ring>(twice: Twice, [a, b, c]: [&[S]; 3], out: &mut [S]) {
    let at = |x: &[S], k: usize| if x.len() == 1 { 0 } else { k };
    for (k, z) in out.iter_mut().enumerate() {
        let y = twice.first.apply(&a[at(a, k)], &b[at(b, k)]);
        let c = &c[at(c, k)];
        *z = if twice.back { twice.second.apply(c, &y) } else { twice.second.apply(&y, c) };
    }
}

/// Computes [`plain`] for numbers whose sums and products are the same in either order, one loop
/// for each kind.
pub(super) fn many<S: Ring + Copy>(twice: Twice, x: [&[S]; 3], out: &mut [S]) {
    use Basic::{Add, Mul, Sub};
    match (twice.first, twice.second, twice.back) {
        (Add, Add, _) => loops(x, out, |a, b, c| (a + b) + c),
        (Add, Sub, false) => loops(x, out, |a, b, c| (a + b) - c),
        (Add, Sub, true) => loops(x, out, |a, b, c| c - (a + b)),
        (Add, Mul, _) => loops(x, out, |a, b, c| (a + b) * c),
        (Sub, Add, _) => loops(x, out, |a, b, c| (a - b) + c),
        (Sub, Sub, false) => loops(x, out, |a, b, c| (a - b) - c),
        (Sub, Sub, true) => loops(x, out, |a, b, c| c - (a - b)),
        (Sub, Mul, _) => loops(x, out, |a, b, c| (a - b) * c),
        (Mul, Add, _) => loops(x, out, |a, b, c| (a * b) + c),
        (Mul, Sub, false) => loops(x, out, |a, b, c| (a * b) - c),
        (Mul, Sub, true) => loops(x, out, |a, b, c| c - (a * b)),
        (Mul, Mul, _) => loops(x, out, |a, b, c| (a * b) * c),
    }
}

#[inline]
fn loops<S: Ring + Copy>(x: [&[S]; 3], out: &mut [S], f: impl Fn(S, S, S) -> S) {
    match x {
        [&[a], &[b], &[c]] => out.fill(f(a, b, c)),
        [&[a], &[b], c] => wide::<S, _>(Over { x: [c, c, c], out, f: |c, _, _| f(a, b, c) }),
        [&[a], b, &[c]] => wide::<S, _>(Over { x: [b, b, b], out, f: |b, _, _| f(a, b, c) }),
        [a, &[b], &[c]] => wide::<S, _>(Over { x: [a, a, a], out, f: |a, _, _| f(a, b, c) }),
        [&[a], b, c] => wide::<S, _>(Over { x: [b, c, c], out, f: |b, c, _| f(a, b, c) }),
        [a, &[b], c] => wide::<S, _>(Over { x: [a, c, c], out, f: |a, c, _| f(a, b, c) }),
        [a, b, &[c]] => wide::<S, _>(Over { x: [a, b, b], out, f: |a, b, _| f(a, b, c) }),
        // A square is read once.
        [a, b, c] if std::ptr::eq(a, b) => {
            wide::<S, _>(Over { x: [a, c, c], out, f: |a, c, _| f(a, a, c) })
        }
        x => wide::<S, _>(Over { x, out, f }),
    }
}

/// A number from each three.
struct Over<'a, S, F> {
    x: [&'a [S]; 3],
    out: &'a mut [S],
    f: F,
}

impl<S: Copy, F: Fn(S, S, S) -> S> WideLoop for Over<'_, S, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let [a, b, c] = self.x;
        let f = self.f;
        self.out.iter_mut().zip(a).zip(b).zip(c).for_each(|(((z, a), b), c)| *z = f(*a, *b, *c));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of operations, with one number or many in each place, has the bits of one after
    /// the other.
    #[test]
    fn two_at_once_are_one_after_the_other() {
        let numbers: [Vec<f64>; 3] = [1.1, -0.3, 7.7]
            .map(|s| (0..37).map(|k| (f64::from(k) * s).sin() * 10f64.powi(k % 5)).collect());
        let all = [Basic::Add, Basic::Sub, Basic::Mul];
        for (first, second) in all.iter().flat_map(|&f| all.map(|s| (f, s))) {
            for (back, ones) in
                [false, true].iter().flat_map(|&b| (0..9).map(move |ones| (b, ones)))
            {
                let twice = Twice { first, second, back };
                let mut x =
                    std::array::from_fn(|k| &numbers[k][..if ones >> k & 1 == 1 { 1 } else { 37 }]);
                if ones == 8 {
                    x[1] = x[0];
                }
                let (mut a, mut b) = (vec![f64::NAN; 37], vec![f64::NAN; 37]);
                many(twice, x, &mut a);
                plain(twice, x, &mut b);
                assert!(
                    a.iter().zip(&b).all(|(a, b)| a.to_bits() == b.to_bits()),
                    "{twice:?} {ones:b}"
                );
            }
        }
    }
}
