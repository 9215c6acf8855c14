//! One pass over a state for one operator, by vector registers.
//!
//! A register holds 2^l amplitudes `re im re im …` whose indices differ in the lowest l bits, the *lane
//! bits*. The bits in which the offsets of an operator differ, its *span*, fall into row bits above and
//! lane bits below. An operator is then a sum over rows and over exclusive-ors of lanes,
//! ```text
//! y[e] = sum_f sum_k  C[e][f][k] * lanes_xor_k(x[f])       rows e, f; k over the span's lane bits
//! ```
//! with a coefficient for each lane: a control among the lane bits just makes the coefficients of some
//! lanes those of the identity. So every qubit, low or high, control or target, has the same loop. A
//! complex product is `re(C) x + im(C) swap(x)` with the sign in the coefficient.
//!
//! | shape | loop |
//! |---|---|
//! | phase, diagonal | each row times its coefficients; rows of ones are not touched |
//! | swap of whole rows (X, CX, SWAP, CCX above the lanes) | moves registers |
//! | others with a span of up to 4 bits | the sum above; real matrices and RX take half the products |
//! | larger spans, states shorter than a register | the generic kernel |
//!
//! Runs of up to 64 KiB are too short, or lie too close to each other, for the processor to guess what will
//! be read next (a gate on qubit 5 took twice the time of one on qubit 15); so each run asks for the
//! registers of one that comes soon.
#![expect(unsafe_code, reason = "vector registers are read from and written to addresses")]
#![expect(clippy::needless_range_loop, reason = "loops over register numbers, which are unrolled")]

use std::ops::Range;

use num_complex::Complex;

use super::{Element, InstructionSet, Shared, Simd, Task, as_reals};
use crate::{
    basis::deposit,
    kernel::{Operator, SERIAL_BELOW, Shape, Threads, runs::Runs},
};

/// The most bits that a span may have here.
const MAX_SPAN: u32 = 4;

/// Runs of more registers are left to the processor's own foresight.
const MAX_FETCHED_RUN: usize = 1 << 10;

/// So many registers of a row ahead, at least, are asked for.
const FETCH_AHEAD: usize = 32;

/// States of fewer bytes are in the second cache.
const FETCH_FROM_BYTES: usize = 1 << 20;

/// In a state of so many bytes, a phase that leaves out every other piece of up to `NEAR_BYTES` bytes does
/// not leave anything out: memory takes longer for half of the lines than for all in order.
const NEAR_FROM_BYTES: usize = 32 << 20;
const NEAR_BYTES: usize = 128;

/// Applies an operator in place. The caller has checked that it fits the state and that the processor
/// has the set.
pub(crate) fn apply<E: Element>(
    operator: &Operator<Complex<E>>,
    amplitudes: &mut [Complex<E>],
    threads: &Threads,
    set: InstructionSet,
) {
    assert!(amplitudes.len().is_power_of_two() && amplitudes.len() >= 1 << operator.n_qubits);
    assert!(set.is_available(), "this processor has no {set}");
    // SAFETY: the set is available.
    let done = unsafe { E::dispatch(set, Apply { operator, amplitudes, threads }) };
    if !done {
        operator.apply(amplitudes, threads);
    }
}

struct Apply<'a, E> {
    operator: &'a Operator<Complex<E>>,
    amplitudes: &'a mut [Complex<E>],
    threads: &'a Threads,
}

/// Where an operator acts, in terms of registers.
struct Place<'a, E> {
    vector: Shared<E>,
    runs: Runs,
    operator: &'a Operator<Complex<E>>,
    /// Bits that all offsets have in common.
    common: usize,
    /// The span above and within the lane bits.
    high: usize,
    low: usize,
    /// Controls among the lane bits and the rows, and their values.
    control: usize,
    value: usize,
    /// Controls among the rows: they are part of `high`, and rows that do not meet them stay as they are.
    near: usize,
    threads: &'a Threads,
}

impl<E: Element> Task<E> for Apply<'_, E> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) -> bool {
        let operator = self.operator;
        let n_qubits = self.amplitudes.len().trailing_zeros() as usize;
        let lane_bits = S::LANE_BITS - 1;
        let Some((common, span)) = extent(&operator.shape) else { return true };
        if n_qubits < lane_bits || span.count_ones() > MAX_SPAN {
            return false;
        }
        let lanes = (1usize << lane_bits) - 1;
        let (value, fixed) = (operator.value | common, operator.fixed);
        let size = size_of::<Complex<E>>();
        let mut near = 0;
        let diagonal = matches!(operator.shape(), Shape::Phase(_) | Shape::Diagonal(_));
        if diagonal && size << n_qubits >= NEAR_FROM_BYTES {
            near = fixed & !span & !lanes & ((2 * NEAR_BYTES / size) - 1);
            if (span | near).count_ones() > MAX_SPAN {
                near = 0;
            }
        }
        let place = Place {
            runs: Runs::new(n_qubits - lane_bits, fixed >> lane_bits, (value & !near) >> lane_bits),
            vector: Shared::new(as_reals(self.amplitudes)),
            operator,
            common,
            high: span & !lanes | near,
            low: span & lanes,
            control: fixed & !span & lanes | near,
            value: value & (lanes | near),
            near,
            threads: self.threads,
        };
        let parallel = operator.touched(n_qubits) >= SERIAL_BELOW;
        match operator.shape() {
            Shape::Phase(_) | Shape::Diagonal(_) => place.diagonal::<S>(parallel),
            Shape::Swap(a, b) if place.low == 0 && place.control == 0 => {
                let rows = [(a & place.high) >> lane_bits, (b & place.high) >> lane_bits];
                place.each_part::<S, _>(parallel, |part| Exchange { place: &place, part, rows });
            }
            _ => place.dense::<S>(parallel),
        }
        true
    }
}

/// The bits that all offsets of a shape share, and those in which some differ; `None` for the identity.
fn extent<E>(shape: &Shape<E>) -> Option<(usize, usize)> {
    let mut and = usize::MAX;
    let mut or = 0;
    let mut see = |offset: usize| (and, or) = (and & offset, or | offset);
    match shape {
        Shape::Identity => return None,
        Shape::Phase(_) => see(0),
        Shape::Diagonal(factors) => factors.iter().for_each(|f| see(f.0)),
        Shape::Swap(a, b) => [*a, *b].into_iter().for_each(see),
        Shape::Cycles(cycles) => cycles.iter().flatten().for_each(|f| see(f.0)),
        Shape::Dense { offsets, .. } => offsets.iter().for_each(|&o| see(o)),
    }
    Some((and & or, or & !and))
}

impl<E: Element> Place<'_, E> {
    /// The first register of each run of a part, with that of a run to be fetched meanwhile.
    #[inline(always)]
    fn starts(&self, part: Range<usize>) -> impl Iterator<Item = (usize, usize)> + use<E> {
        let skip = (FETCH_AHEAD / self.runs.run_length()).max(1);
        // Beyond the end this names registers that are not there, which are asked for and not used.
        let ahead = self.runs.starts(part.start + skip..part.end + skip);
        self.runs.starts(part).zip(ahead)
    }

    /// Whether runs are fetched ahead.
    #[inline(always)]
    fn fetches<S: Simd<Elem = E>>(&self) -> bool {
        let (length, runs) = (self.runs.run_length(), self.runs.len());
        // Half or a quarter of the state may be all that runs over it visit: an estimate will do.
        length <= MAX_FETCHED_RUN && length * runs * S::LANES * size_of::<E>() >= FETCH_FROM_BYTES / 4
    }

    /// Runs a task over all runs, on threads where that is worth it.
    #[inline(always)]
    fn each_part<S: Simd<Elem = E>, T: Task<E, Output = ()>>(
        &self,
        parallel: bool,
        task: impl Fn(Range<usize>) -> T + Sync,
    ) {
        // SAFETY: this runs within `vectorize` of the same type, so the processor has the instructions.
        let run = |part| unsafe { S::vectorize(task(part)) };
        if parallel && self.threads.count() > 1 {
            self.threads.split(self.runs.len(), run);
        } else {
            run(0..self.runs.len());
        }
    }

    #[inline(always)]
    fn diagonal<S: Simd<Elem = E>>(&self, parallel: bool) {
        self.each_part::<S, _>(parallel, |part| Diagonal { place: self, part });
    }

    #[inline(always)]
    fn dense<S: Simd<Elem = E>>(&self, parallel: bool) {
        let kind = self.kind();
        macro_rules! go {
            ($rows:literal, $flips:literal) => {
                match kind {
                    REAL => self.each_part::<S, _>(parallel, |part| Dense::<E, $rows, $flips, REAL> {
                        place: self,
                        part,
                    }),
                    _ => self.each_part::<S, _>(parallel, |part| Dense::<E, $rows, $flips, FULL> {
                        place: self,
                        part,
                    }),
                }
            };
        }
        match (self.high.count_ones(), self.low.count_ones()) {
            (1, 0) if kind == CROSS => {
                self.each_part::<S, _>(parallel, |part| Dense::<E, 2, 1, CROSS> { place: self, part });
            }
            (0, 1) if kind == CROSS => {
                self.each_part::<S, _>(parallel, |part| Dense::<E, 1, 2, CROSS> { place: self, part });
            }
            (1, 0) => go!(2, 1),
            (0, 1) => go!(1, 2),
            (2, 0) => go!(4, 1),
            (1, 1) => go!(2, 2),
            (0, 2) => go!(1, 4),
            (3, 0) => go!(8, 1),
            (2, 1) => go!(4, 2),
            (1, 2) => go!(2, 4),
            (0, 3) => go!(1, 8),
            (4, 0) => go!(16, 1),
            (3, 1) => go!(8, 2),
            (2, 2) => go!(4, 4),
            _ => go!(2, 8),
        }
    }

    /// The entry of the operator's matrix at two offsets.
    fn entry(&self, row: usize, column: usize) -> Complex<E> {
        let (one, zero) = (Complex::new(E::one(), E::zero()), Complex::new(E::zero(), E::zero()));
        let at = |there: bool, z: Complex<E>| if there { z } else { zero };
        match self.operator.shape() {
            Shape::Identity => at(row == column, one),
            Shape::Phase(factor) => at(row == column, *factor),
            Shape::Diagonal(factors) => {
                let factor = factors.iter().find(|f| f.0 == row | self.common).map_or(one, |f| f.1);
                at(row == column, factor)
            }
            Shape::Swap(a, b) => {
                let (row, column) = (row | self.common, column | self.common);
                at(
                    row == if column == *a {
                        *b
                    } else if column == *b {
                        *a
                    } else {
                        column
                    },
                    one,
                )
            }
            Shape::Cycles(cycles) => {
                let (row, column) = (row | self.common, column | self.common);
                for cycle in cycles {
                    if let Some(k) = cycle.iter().position(|f| f.0 == column) {
                        return at(row == cycle[(k + 1) % cycle.len()].0, cycle[k].1);
                    }
                }
                at(row == column, one)
            }
            Shape::Dense { matrix, offsets } => {
                let number = |offset: usize| {
                    let bits = offsets.len().trailing_zeros();
                    (0..bits).fold(0, |n, t| n | usize::from(offset & offsets[1 << t] != 0) << t)
                };
                matrix[number(row) * offsets.len() + number(column)]
            }
        }
    }

    /// The entry that a lane needs: that of the identity where a control among the lanes or rows says so.
    fn lane_entry(&self, row: usize, column: usize, lane: usize, flip: usize) -> Complex<E> {
        if (row ^ column) & self.near != 0 {
            return Complex::new(E::zero(), E::zero());
        }
        if (lane | row) & self.control != self.value & self.control {
            let same = row == column && flip == 0;
            return Complex::new(if same { E::one() } else { E::zero() }, E::zero());
        }
        let (row, column) = (row & !self.near, column & !self.near);
        self.entry(row | (lane & self.low), column | ((lane ^ flip) & self.low))
    }

    /// Which products are needed.
    fn kind(&self) -> u8 {
        let zero = |x: E| x == E::zero();
        match self.operator.shape() {
            Shape::Dense { matrix, offsets } => {
                let diagonal = |i: usize| i.is_multiple_of(offsets.len() + 1);
                if matrix.iter().all(|z| zero(z.im)) {
                    REAL
                } else if offsets.len() == 2
                    && matrix.iter().enumerate().all(|(i, z)| zero(if diagonal(i) { z.im } else { z.re }))
                {
                    CROSS
                } else {
                    FULL
                }
            }
            Shape::Cycles(cycles) if cycles.iter().flatten().any(|f| !zero(f.1.im)) => FULL,
            _ => REAL,
        }
    }

    /// The coefficients of a register of amplitudes: real parts, and imaginary parts with the sign that a
    /// product needs.
    ///
    /// # Safety
    /// Called within `S::vectorize`.
    #[inline(always)]
    unsafe fn coefficients<S: Simd<Elem = E>>(&self, of: impl Fn(usize) -> Complex<E>) -> (S, S) {
        let mut parts = [[E::zero(); 16]; 2];
        let varies = self.low | self.control != 0;
        let mut z = of(0);
        for lane in 0..S::LANES / 2 {
            if varies {
                z = of(lane);
            }
            (parts[0][2 * lane], parts[0][2 * lane + 1]) = (z.re, z.re);
            (parts[1][2 * lane], parts[1][2 * lane + 1]) = (-z.im, z.im);
        }
        // SAFETY: the arrays are as long as the longest register.
        unsafe { (S::load(parts[0].as_ptr()), S::load(parts[1].as_ptr())) }
    }
}

/// All products.
const FULL: u8 = 0;
/// The matrix is real.
const REAL: u8 = 1;
/// A 2x2 matrix with real diagonal and imaginary rest: RX.
const CROSS: u8 = 2;

struct Dense<'a, E, const ROWS: usize, const FLIPS: usize, const KIND: u8> {
    place: &'a Place<'a, E>,
    part: Range<usize>,
}

impl<E: Element, const ROWS: usize, const FLIPS: usize, const KIND: u8> Task<E>
    for Dense<'_, E, ROWS, FLIPS, KIND>
{
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let place = self.place;
        // SAFETY: registers are loaded and stored at `start + i | row` for start + i a register number with
        // the high fixed bits at their values and the span's high bits 0, and row within the span: below
        // the number of registers, and different for different threads, which have different runs.
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
                        coefficients[e][f][k] =
                            place.coefficients::<S>(|lane| place.lane_entry(row, column, lane, flip));
                    }
                }
            }
            // A macro, because a closure may end up as a function of its own, without the wide registers.
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
                                let crossing = KIND == CROSS && !(e == f && k == 0);
                                if ROWS * FLIPS == 2 {
                                    // Rounded as the generic kernels do, so that what cancels there cancels
                                    // here: H H |0> has no trace of |1>.
                                    let product = match KIND {
                                        FULL => x.mul(re).add(swapped.mul(im)),
                                        _ if crossing => swapped.mul(im),
                                        _ => x.mul(re),
                                    };
                                    y = if first { product } else { y.add(product) };
                                } else {
                                    y = if first { x.mul(re) } else { x.mul_add(re, y) };
                                    if KIND == FULL {
                                        y = swapped.mul_add(im, y);
                                    }
                                }
                            }
                        }
                        y.store(here.add(rows[e]));
                    }
                }};
            }
            let length = place.runs.run_length();
            let start_of = |register: usize| place.vector.get().add(register * S::LANES);
            if !place.fetches::<S>() {
                for start in place.runs.starts(self.part) {
                    for i in start..start + length {
                        turn!(start_of(i));
                    }
                }
                return;
            }
            for (start, next) in place.starts(self.part) {
                for i in 0..length {
                    let there = place.vector.get().wrapping_add((next + i) * S::LANES);
                    for row in rows {
                        S::prefetch(there.wrapping_add(row));
                    }
                    turn!(start_of(start + i));
                }
            }
        }
    }
}

struct Exchange<'a, E> {
    place: &'a Place<'a, E>,
    part: Range<usize>,
    rows: [usize; 2],
}

impl<E: Element> Task<E> for Exchange<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let length = self.place.runs.run_length();
        let fetches = self.place.fetches::<S>();
        let [a, b] = self.rows.map(|row| row * S::LANES);
        for (start, next) in self.place.starts(self.part) {
            for i in 0..length {
                if fetches {
                    let there = self.place.vector.get().wrapping_add((next + i) * S::LANES);
                    S::prefetch(there.wrapping_add(a));
                    S::prefetch(there.wrapping_add(b));
                }
                // SAFETY: as in `Dense`: the rows of a run are within the state and no other thread's.
                unsafe {
                    let here = self.place.vector.get().add((start + i) * S::LANES);
                    let (x, y) = (S::load(here.add(a)), S::load(here.add(b)));
                    y.store(here.add(a));
                    x.store(here.add(b));
                }
            }
        }
    }
}

struct Diagonal<'a, E> {
    place: &'a Place<'a, E>,
    part: Range<usize>,
}

impl<E: Element> Task<E> for Diagonal<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let place = self.place;
        let one = Complex::new(E::one(), E::zero());
        // SAFETY: as in `Dense`.
        unsafe {
            let zero = S::splat(E::zero());
            let mut rows = [(0, zero, zero, false); 1 << MAX_SPAN];
            let mut count = 0;
            for e in 0..1usize << place.high.count_ones() {
                let row = deposit(e, place.high);
                let of = |lane: usize| place.lane_entry(row, row, lane, 0);
                if place.near == 0 && (0..S::LANES / 2).all(|lane| of(lane) == one) {
                    continue;
                }
                let real = (0..S::LANES / 2).all(|lane| of(lane).im == E::zero());
                let (re, im) = place.coefficients::<S>(of);
                rows[count] = ((row >> (S::LANE_BITS - 1)) * S::LANES, re, im, real);
                count += 1;
            }
            let length = place.runs.run_length();
            let fetches = place.fetches::<S>();
            for (start, next) in place.starts(self.part) {
                for &(row, re, im, real) in &rows[..count] {
                    let here = place.vector.get().add(start * S::LANES + row);
                    let there = place.vector.get().wrapping_add(next * S::LANES + row);
                    for i in 0..length {
                        let at = here.add(i * S::LANES);
                        if fetches {
                            S::prefetch(there.wrapping_add(i * S::LANES));
                        }
                        let x = S::load(at);
                        let y = x.mul(re);
                        if real { y } else { x.swap_pairs().mul_add(im, y) }.store(at);
                    }
                }
            }
        }
    }
}
