//! The ZYZ decomposition of a 1-qubit gate, with a real rotation in tangent form.
//!
//! ```text
//! u = e^{i phase} [X] diag(1, e^{i after}) c [1 -t; t 1] diag(1, e^{i before}),    0 <= t <= 1,  c = 1/sqrt(1 + t^2)
//! ```
//! # Error
//! After the exchange of its rows, if t would exceed 1, `u = [a b; c d]` has |a|, |d| >= 1/sqrt 2
//! up to rounding, so that `phase = arg a` and `before + after = arg d - arg a` are known to a few
//! eps. `arg b` and `arg c` are noise where b and c are: if |c| is of the size of the rounding
//! error of c, `arg c` is off by anything. So only one of them is asked, that of the larger entry,
//! and the other angle follows from the sum. Let delta be the distance of u from a unitary matrix.
//! The entry that was asked is then right to eps; the other one is `-conj(c) d / conj(a)` by
//! orthogonality, up to sqrt 2 delta, whatever its angle; the diagonal does not depend on the split
//! of the sum at all. So the product of the factors differs from u by at most 2 delta and a few
//! eps.

use super::matrices::{M2, SmallComplex};
use crate::plan::BinaryAngle;

/// The factors of a 1-qubit gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zyz {
    pub(super) phase: BinaryAngle,
    pub(super) before: BinaryAngle,
    pub(super) tan: f64,
    pub(super) after: BinaryAngle,
    /// True if an X comes last.
    pub(super) flip: bool,
}

impl Zyz {
    /// Returns the factors of a matrix that is unitary up to rounding.
    pub(super) fn new(u: &M2) -> Zyz {
        let flip = u[0].norm_sqr() < u[2].norm_sqr();
        let [a, b, c, d] = if flip { exchange_rows(u) } else { *u };
        let phase = angle(a);
        let sum = angle(d) - phase;
        let tan = c.norm() / a.norm();
        if tan < f64::MIN_POSITIVE {
            return Zyz { phase, before: sum, tan: 0.0, after: BinaryAngle::ZERO, flip };
        }
        let (before, after) = if c.norm_sqr() >= b.norm_sqr() {
            let after = angle(c) - phase;
            (sum - after, after)
        } else {
            let before = angle(-b) - phase;
            (before, sum - before)
        };
        Zyz { phase, before, tan, after, flip }
    }

    /// Returns the product of the factors.
    pub(super) fn product(&self) -> M2 {
        let &Zyz { phase, before, tan, after, flip } = self;
        let cos = (1.0 + tan * tan).sqrt().recip();
        let (first, last) = (phase.cis(), (phase + before + after).cis());
        let u = match tan == 0.0 {
            true => [first, SmallComplex::default(), SmallComplex::default(), last],
            false => {
                let sin = tan * cos;
                [
                    first * cos,
                    (phase + before).cis() * -sin,
                    (phase + after).cis() * sin,
                    last * cos,
                ]
            }
        };
        if flip { exchange_rows(&u) } else { u }
    }
}

/// Returns the argument; 0 for what has none, which is not what its product will agree with.
fn angle(z: SmallComplex) -> BinaryAngle {
    let radians = z.arg();
    if radians.is_finite() { BinaryAngle::from_radians(radians) } else { BinaryAngle::ZERO }
}

fn exchange_rows(u: &M2) -> M2 {
    [u[2], u[3], u[0], u[1]]
}

#[cfg(test)]
mod tests {
    use support::random::Rng;

    use super::*;
    use crate::plan::lower::matrices::{distance, multiply2};

    /// Products of gates of the set Clifford+T come back to diagonal and antidiagonal ones, up to
    /// rounding.
    #[test]
    fn products_of_noisy_entries_come_back() {
        let r = 0.5f64.sqrt();
        let phase = |x: f64| {
            [
                SmallComplex::new(1.0, 0.0),
                SmallComplex::default(),
                SmallComplex::default(),
                SmallComplex::cis(x),
            ]
        };
        let gates = [
            [
                SmallComplex::new(r, 0.0),
                SmallComplex::new(r, 0.0),
                SmallComplex::new(r, 0.0),
                SmallComplex::new(-r, 0.0),
            ],
            phase(std::f64::consts::FRAC_PI_4),
            phase(std::f64::consts::FRAC_PI_2),
            phase(1e-9),
        ];
        let mut rng = Rng::new(1);
        let mut noisy = 0;
        for count in 1..20_000 {
            let mut u = phase(0.0);
            for _ in 0..count % 40 + 1 {
                u = multiply2(&gates[[0, 1, 0, 2, 0, 1, 0, 3][rng.below(8)]], &u);
            }
            let off = distance(&Zyz::new(&u).product(), &u);
            assert!(off < 4e-15, "off by {off:e}: {u:?}");
            let least = u.iter().map(|z| z.norm()).fold(1.0, f64::min);
            noisy += usize::from(least > 0.0 && least < 1e-14);
        }
        assert!(noisy > 100, "{noisy} matrices with entries of pure rounding noise");
    }
}
