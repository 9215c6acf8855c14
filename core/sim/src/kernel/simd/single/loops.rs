//! The loops over the runs of an operator on two qubits or more: dense matrices, diagonals.
#![expect(clippy::needless_range_loop, reason = "loops over register numbers, which are unrolled")]

use std::ops::Range;

use num_complex::Complex;

use super::RegisterSpan;
use crate::{
    basis::deposit,
    kernel::simd::{Simd, SimdFloat, Task},
};

/// All products.
pub(super) const FULL: u8 = 0;
/// The matrix is real.
pub(super) const REAL: u8 = 1;

pub(super) struct Dense<'a, E, const ROWS: usize, const FLIPS: usize, const KIND: u8> {
    pub(super) place: &'a RegisterSpan<'a, E>,
    pub(super) part: Range<usize>,
}

impl<E: SimdFloat, const ROWS: usize, const FLIPS: usize, const KIND: u8> Task<E>
    for Dense<'_, E, ROWS, FLIPS, KIND>
{
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let place = self.place;
        // SAFETY: *set*, *rows*, *lanes*.
        unsafe {
            let zero = S::splat(E::zero());
            let mut coefficients = [[[(zero, zero); FLIPS]; ROWS]; ROWS];
            let mut rows = [0; ROWS];
            let mut flips = [S::index(|j| j); FLIPS];
            for (e, row) in rows.iter_mut().enumerate() {
                *row = (deposit(e, place.high) >> (S::LANE_BITS - 1)) * S::LANES;
            }
            for (k, flip) in flips.iter_mut().enumerate() {
                let lanes = deposit(k, place.low);
                *flip = S::index(|j| j ^ (lanes << 1));
            }
            for e in 0..ROWS {
                for f in 0..ROWS {
                    for k in 0..FLIPS {
                        let (row, column) = (deposit(e, place.high), deposit(f, place.high));
                        let flip = deposit(k, place.low);
                        coefficients[e][f][k] = place
                            .coefficients::<S>(|lane| place.lane_entry(row, column, lane, flip));
                    }
                }
            }
            // A macro, because a closure may end up as a function of its own, without the wide
            // registers.
            macro_rules! turn {
                ($here:expr) => {{
                    let here: *mut E = $here;
                    let mut x = [[zero; FLIPS]; ROWS];
                    let mut swapped = [[zero; FLIPS]; ROWS];
                    for f in 0..ROWS {
                        let loaded = S::load(here.add(rows[f]));
                        for k in 0..FLIPS {
                            x[f][k] = if k == 0 { loaded } else { loaded.permute(flips[k]) };
                            swapped[f][k] = x[f][k].swap_pairs();
                        }
                    }
                    for e in 0..ROWS {
                        let mut y = zero;
                        for f in 0..ROWS {
                            for k in 0..FLIPS {
                                let (re, im) = coefficients[e][f][k];
                                let (x, swapped) = (x[f][k], swapped[f][k]);
                                let first = f == 0 && k == 0;
                                y = if first { x.mul(re) } else { x.mul_add(re, y) };
                                if KIND == FULL {
                                    y = swapped.mul_add(im, y);
                                }
                            }
                        }
                        y.store(here.add(rows[e]));
                    }
                }};
            }
            let (length, vector) = (place.runs.run_length(), place.vector.get());
            let start_of = |register: usize| vector.add(register * S::LANES);
            let Some(ahead) = place.ahead else {
                for start in place.runs.starts(self.part) {
                    for i in start..start + length {
                        turn!(start_of(i));
                    }
                }
                return;
            };
            for (start, next) in place.runs.starts(self.part.clone()).zip(ahead.starts(self.part)) {
                for i in 0..length {
                    ahead.ask::<S>(vector, next, i, &rows);
                    turn!(start_of(start + i));
                }
            }
        }
    }
}

/// Loop of a diagonal: each of up to `ROWS` rows times its coefficients.
pub(super) struct Diagonal<'a, E, const ROWS: usize> {
    pub(super) place: &'a RegisterSpan<'a, E>,
    pub(super) part: Range<usize>,
}

impl<E: SimdFloat, const ROWS: usize> Task<E> for Diagonal<'_, E, ROWS> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let place = self.place;
        let one = Complex::new(E::one(), E::zero());
        // SAFETY: *set*, *rows*.
        unsafe {
            let zero = S::splat(E::zero());
            let mut rows = [(0, zero, zero, false); ROWS];
            let mut count = 0;
            for e in 0..ROWS {
                let row = deposit(e, place.high);
                let of = |lane: usize| place.lane_entry(row, row, lane, 0);
                if (0..S::LANES / 2).all(|lane| of(lane) == one) {
                    continue;
                }
                let real = (0..S::LANES / 2).all(|lane| of(lane).im == E::zero());
                let (re, im) = place.coefficients::<S>(of);
                rows[count] = ((row >> (S::LANE_BITS - 1)) * S::LANES, re, im, real);
                count += 1;
            }
            let (length, vector, ahead) =
                (place.runs.run_length(), place.vector.get(), place.ahead);
            let mut soon = ahead.map(|ahead| ahead.starts(self.part.clone()));
            for start in place.runs.starts(self.part) {
                let next = soon.as_mut().and_then(Iterator::next);
                for &(row, re, im, real) in &rows[..count] {
                    let here = vector.add(start * S::LANES + row);
                    for i in 0..length {
                        if let (Some(ahead), Some(next)) = (ahead, next) {
                            ahead.ask::<S>(vector, next, i, &[row]);
                        }
                        let at = here.add(i * S::LANES);
                        let x = S::load(at);
                        let y = x.mul(re);
                        if real { y } else { x.swap_pairs().mul_add(im, y) }.store(at);
                    }
                }
            }
        }
    }
}
