//! Exchanges of two offsets: X, CX, CCX, SWAP and whatever else only moves amplitudes in pairs.

use std::ops::Range;

use super::RegisterSpan;
use crate::kernel::simd::{Simd, SimdFloat, Task};

/// Exchanges the amplitudes at two offsets: whole rows, lanes of two rows, or lanes of one.
pub(super) struct Exchange<'a, E> {
    pub(super) place: &'a RegisterSpan<'a, E>,
    pub(super) part: Range<usize>,
    pub(super) offsets: [usize; 2],
}

impl<E: SimdFloat> Task<E> for Exchange<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let place = self.place;
        let [a, b] =
            self.offsets.map(|offset| ((offset & place.high) >> (S::LANE_BITS - 1)) * S::LANES);
        // Offsets differ in all bits of their span, so where a lane exchanges, it does so with this
        // one.
        let other = |lane: usize| lane ^ (place.low << 1);
        let moves = |lane: usize, offset: usize| {
            let inside = lane >> 1 & place.control == place.value & place.control;
            inside && lane >> 1 & place.low == offset & place.low
        };
        let [at_a, at_b] = self.offsets;
        // SAFETY: *set*, *rows*, *lanes*.
        unsafe {
            if a == b {
                let index =
                    S::index(|j| if moves(j, at_a) || moves(j, at_b) { other(j) } else { j });
                each_register!(S, place, self.part, [a], start => {
                    let here = start.add(a);
                    S::load(here).permute(index).store(here);
                });
            } else if place.low == 0 && place.control == 0 {
                each_register!(S, place, self.part, [a, b], start => {
                    let (x, y) = (S::load(start.add(a)), S::load(start.add(b)));
                    y.store(start.add(a));
                    x.store(start.add(b));
                });
            } else {
                let to_a = S::pair_index(|j| if moves(j, at_a) { S::LANES + other(j) } else { j });
                let to_b = S::pair_index(|j| if moves(j, at_b) { other(j) } else { S::LANES + j });
                each_register!(S, place, self.part, [a, b], start => {
                    let (x, y) = (S::load(start.add(a)), S::load(start.add(b)));
                    x.permute2(y, to_a).store(start.add(a));
                    x.permute2(y, to_b).store(start.add(b));
                });
            }
        }
    }
}
