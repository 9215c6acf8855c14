//! Operators on one qubit, in loops of their own: 2x2 matrices on two rows or on lanes, and phases.
//!
//! A small state is in the first cache, where a gate takes as long as it takes to set up and to
//! issue: the coefficients are spread over the lanes by blends instead of one by one, and a kind of
//! matrix takes the products that it needs.
//!
//! | kind | rows `(x, y)` become | lanes, `o` the other amplitude |
//! |---|---|---|
//! | full | `(a x + b y, c x + d y)`, complex | `p x + q o` |
//! | real: RY, H under a control | the same with real numbers | the same |
//! | cross: RX | `(a x + i b y, i c x + d y)` | `p x + i q o` |
//! | hadamard | `(s (x + y), s (x - y))` | as real |
//! | diagonal: RZ | `(a x, d y)` | `p x` |
//! | scale: Z | the same with real numbers | the same |
//!
//! Sums are rounded as the generic kernels do, so that what cancels there cancels here: `H H |0>`
//! has no trace of |1>.

use std::ops::Range;

use num_complex::Complex;

use super::RegisterSpan;
use crate::{
    kernel::{
        OperatorShape,
        simd::{Simd, SimdFloat, Task},
    },
    scalar::Ring,
};

/// All products.
const FULL: u8 = 0;
/// The matrix is real.
const REAL: u8 = 1;
/// A real diagonal and an imaginary rest.
const CROSS: u8 = 2;
/// `s [[1, 1], [1, -1]]` with a real s.
const HADAMARD: u8 = 3;
/// Nothing off the diagonal.
const DIAGONAL: u8 = 4;
/// A real diagonal and nothing else.
const SCALE: u8 = 5;

/// A 2x2 matrix, row by row.
type SimdMatrix2<E> = [Complex<E>; 4];

fn kind<E: SimdFloat>(matrix: &SimdMatrix2<E>) -> u8 {
    let [a, b, c, d] = matrix;
    let zero = E::zero();
    let real = a.im == zero && d.im == zero;
    if b.is_exact_zero() && c.is_exact_zero() {
        return if real { SCALE } else { DIAGONAL };
    }
    if real && b.im == zero && c.im == zero {
        let crosswise = a.re == b.re && a.re == c.re && a.re == -d.re;
        return if crosswise { HADAMARD } else { REAL };
    }
    if real && b.re == zero && c.re == zero { CROSS } else { FULL }
}

impl<E: SimdFloat> RegisterSpan<'_, E> {
    /// Runs a 2x2 operator, whose span is one bit at most. A span of none is a phase.
    #[inline(always)]
    pub(super) fn pair<S: Simd<Elem = E>>(&self, parallel: bool) {
        let matrix = self.matrix();
        macro_rules! go {
            ($Task:ident, $kind:expr) => {
                self.each_part::<S, _>(parallel, |part| $Task::<E, { $kind }> {
                    place: self,
                    part,
                    matrix,
                })
            };
        }
        match (self.high != 0, kind(&matrix)) {
            (true, HADAMARD) if self.control == 0 => go!(RowMatrix, HADAMARD),
            (true, REAL | HADAMARD) => go!(RowMatrix, REAL),
            (true, CROSS) => go!(RowMatrix, CROSS),
            (true, DIAGONAL) => go!(RowMatrix, DIAGONAL),
            (true, SCALE) => go!(RowMatrix, SCALE),
            (true, _) => go!(RowMatrix, FULL),
            (false, REAL | HADAMARD) => go!(LaneMatrix, REAL),
            (false, CROSS) => go!(LaneMatrix, CROSS),
            (false, DIAGONAL) => go!(LaneMatrix, DIAGONAL),
            (false, SCALE) => go!(LaneMatrix, SCALE),
            (false, _) => go!(LaneMatrix, FULL),
        }
    }

    fn matrix(&self) -> SimdMatrix2<E> {
        let zero = Complex::new(E::zero(), E::zero());
        match self.operator.shape() {
            OperatorShape::Dense { matrix, .. } if matrix.len() == 4 => {
                [matrix[0], matrix[1], matrix[2], matrix[3]]
            }
            OperatorShape::Phase(factor) => [*factor, zero, zero, *factor],
            _ => {
                let bit = self.high | self.low;
                [self.entry(0, 0), self.entry(0, bit), self.entry(bit, 0), self.entry(bit, bit)]
            }
        }
    }

    /// Returns the factors of a register, as [`RegisterSpan::coefficients`] has them: `off` for the
    /// lanes whose target bit is 0 and `on` for the others, `outside` for those that a control
    /// leaves alone.
    ///
    /// # Safety
    /// Called within `S::vectorize`.
    #[inline(always)]
    unsafe fn factors<S: Simd<Elem = E>>(
        &self,
        off: Complex<E>,
        on: Complex<E>,
        outside: E,
    ) -> (S, S) {
        // SAFETY: the caller is within `vectorize`.
        unsafe {
            let odd = S::mask(|j| j % 2 == 1);
            let (mut re, mut im) =
                (S::splat(off.re), S::splat(-off.im).blend(S::splat(off.im), odd));
            if self.low != 0 {
                let set = S::mask(|j| j >> 1 & self.low != 0);
                re = re.blend(S::splat(on.re), set);
                im = im.blend(S::splat(-on.im).blend(S::splat(on.im), odd), set);
            }
            if self.control != 0 {
                let inside = S::mask(|j| j >> 1 & self.control == self.value & self.control);
                (re, im) =
                    (S::splat(outside).blend(re, inside), S::splat(E::zero()).blend(im, inside));
            }
            (re, im)
        }
    }
}

/// Returns `x` times a complex factor.
#[inline(always)]
fn times<S: Simd>(x: S, (re, im): (S, S)) -> S {
    x.swap_pairs().mul_add(im, x.mul(re))
}

/// A matrix on two rows.
struct RowMatrix<'a, E, const KIND: u8> {
    place: &'a RegisterSpan<'a, E>,
    part: Range<usize>,
    matrix: SimdMatrix2<E>,
}

impl<E: SimdFloat, const KIND: u8> Task<E> for RowMatrix<'_, E, KIND> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let place = self.place;
        let [a, b, c, d] = self.matrix;
        // SAFETY: *set*, *rows*.
        unsafe {
            let row = (place.high >> (S::LANE_BITS - 1)) * S::LANES;
            let (zero, one) = (E::zero(), E::one());
            let (a, d) = (place.factors::<S>(a, a, one), place.factors::<S>(d, d, one));
            let (b, c) = (place.factors::<S>(b, b, zero), place.factors::<S>(c, c, zero));
            each_register!(S, place, self.part, [0, row], here => {
                let there = here.add(row);
                let (x, y) = (S::load(here), S::load(there));
                let (new_x, new_y) = match KIND {
                    HADAMARD => (x.add(y).mul(a.0), x.sub(y).mul(a.0)),
                    SCALE => (x.mul(a.0), y.mul(d.0)),
                    DIAGONAL => (times(x, a), times(y, d)),
                    REAL => (x.mul(a.0).add(y.mul(b.0)), x.mul(c.0).add(y.mul(d.0))),
                    CROSS => {
                        let (i_x, i_y) = (x.swap_pairs(), y.swap_pairs());
                        (x.mul(a.0).add(i_y.mul(b.1)), i_x.mul(c.1).add(y.mul(d.0)))
                    }
                    _ => {
                        let (i_x, i_y) = (x.swap_pairs(), y.swap_pairs());
                        let from_x = (x.mul(a.0).add(i_x.mul(a.1)), x.mul(c.0).add(i_x.mul(c.1)));
                        let from_y = (y.mul(b.0).add(i_y.mul(b.1)), y.mul(d.0).add(i_y.mul(d.1)));
                        (from_x.0.add(from_y.0), from_x.1.add(from_y.1))
                    }
                };
                new_x.store(here);
                new_y.store(there);
            });
        }
    }
}

/// A matrix on lanes, or a phase.
struct LaneMatrix<'a, E, const KIND: u8> {
    place: &'a RegisterSpan<'a, E>,
    part: Range<usize>,
    matrix: SimdMatrix2<E>,
}

impl<E: SimdFloat, const KIND: u8> Task<E> for LaneMatrix<'_, E, KIND> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let place = self.place;
        let [a, b, c, d] = self.matrix;
        // SAFETY: *set*, *rows*, *lanes*.
        unsafe {
            let (own, other) =
                (place.factors::<S>(a, d, E::one()), place.factors::<S>(b, c, E::zero()));
            let flip = S::index(|j| j ^ (place.low << 1));
            let crossing = S::index(|j| j ^ (place.low << 1 | 1));
            each_register!(S, place, self.part, [0], here => {
                let x = S::load(here);
                match KIND {
                    SCALE => x.mul(own.0),
                    DIAGONAL => times(x, own),
                    REAL => x.mul(own.0).add(x.permute(flip).mul(other.0)),
                    CROSS => x.mul(own.0).add(x.permute(crossing).mul(other.1)),
                    _ => {
                        let from_own = x.mul(own.0).add(x.swap_pairs().mul(own.1));
                        let from_other = x.permute(flip).mul(other.0).add(x.permute(crossing).mul(other.1));
                        from_own.add(from_other)
                    }
                }
                .store(here);
            });
        }
    }
}
