//! One pass over a state for one operator, by vector registers.
//!
//! A register holds 2^l amplitudes `re im re im …` whose indices differ in the lowest l bits, the
//! *lane bits*. The bits in which the offsets of an operator differ, its *span*, fall into row bits
//! above and lane bits below. An operator is then a sum over rows and over exclusive-ors of lanes,
//! ```text
//! y[e] = sum_f sum_k  C[e][f][k] * lanes_xor_k(x[f])       rows e, f; k over the span's lane bits
//! ```
//! with a coefficient for each lane: a control among the lane bits just makes the coefficients of
//! some lanes those of the identity. So every qubit, low or high, control or target, has the same
//! loop. A complex product is `re(C) x + im(C) swap(x)` with the sign in the coefficient.
//!
//! | shape | loop |
//! |---|---|
//! | phase, one qubit | those of `pair` |
//! | diagonal | each row times its coefficients; rows of ones are not touched |
//! | swap (X, CX, SWAP, CCX) | moves registers, or lanes of one or two |
//! | others with a span of up to 4 bits | the sum above; real matrices take half the products |
//! | Pauli strings | those of `strings` |
//! | larger spans, states shorter than a register | the generic kernel |
//!
//! Where pieces are left out, the processor's prefetcher cannot predict the next reads, and it
//! fetches the pieces that are left out (a gate on qubit 6 of 20 took five times as long as one on
//! qubit 19); so on states beyond the second cache each run prefetches the registers of a later one
//! (`ahead`). The loops are in `loops`, `moves` and `pair`.
//!
//! # Safety
//! Conditions that the loops rely on, by the names that they cite:
//! - *set*: a loop is the `run` of a task, which is called within `vectorize` alone.
//! - *rows*: registers are loaded and stored at `start + i | row`, where start + i is a register
//!   number with the high fixed bits at their values and the high bits of the span at 0, and the
//!   row lies within the span: below the number of registers of the state, and different for
//!   different threads, which have different runs.
//! - *lanes*: the exclusive-or of two numbers below `LANES`, a power of 2, is one.
#![expect(unsafe_code, reason = "vector registers are read from and written to addresses")]

/// Does something at the address `here` of the first row of each register that a part of the runs
/// has; the others are `rows` further. Runs of one and two registers, which gates on low qubits
/// have, have loops of their own. The vector's address is read once: a store could change what
/// `place` holds for all that the compiler knows.
///
/// A macro, because a closure may end up as a function of its own, without the wide registers.
macro_rules! each_register {
    ($S:ident, $place:expr, $part:expr, $rows:expr, $here:ident => $body:block) => {{
        let (place, part, rows) = ($place, $part, $rows);
        let (length, vector) = (place.runs.run_length(), place.vector.get());
        let start_of = |register: usize| vector.add(register * $S::LANES);
        if let Some(ahead) = place.ahead {
            for (start, next) in place.runs.starts(part.clone()).zip(ahead.starts(part)) {
                for i in 0..length {
                    ahead.ask::<$S>(vector, next, i, &rows);
                    let $here = start_of(start + i);
                    $body
                }
            }
        } else if length == 1 {
            for start in place.runs.starts(part) {
                let $here = start_of(start);
                $body
            }
        } else if length == 2 {
            for start in place.runs.starts(part) {
                for i in 0..2 {
                    let $here = start_of(start + i);
                    $body
                }
            }
        } else {
            for start in place.runs.starts(part) {
                for i in start..start + length {
                    let $here = start_of(i);
                    $body
                }
            }
        }
    }};
}

mod loops;
mod moves;
mod pair;
mod prefetch;
mod strings;

use std::ops::Range;

use num_complex::Complex;

use self::{
    loops::{Dense, Diagonal, FULL, REAL},
    moves::Exchange,
    prefetch::{PrefetchDistance, Prefetcher},
};
use super::{InstructionSet, SharedPtr, Simd, SimdFloat, Task, as_reals};
use crate::kernel::{
    Operator, OperatorShape, SERIAL_BELOW, Threads,
    runs::{MAX_RUN_BITS, OperatorRuns},
};

/// Largest number of bits that a span may have here.
const MAX_SPAN: u32 = 4;

/// Applies an operator in place. The caller has checked that it fits the state and that the
/// processor has the set.
pub(crate) fn apply<E: SimdFloat>(
    operator: &Operator<Complex<E>>,
    amplitudes: &mut [Complex<E>],
    threads: &Threads,
    set: InstructionSet,
) {
    assert!(amplitudes.len().is_power_of_two() && amplitudes.len() >= 1 << operator.n_qubits);
    assert!(set.is_available(), "this processor has no {set}");
    // SAFETY: the set is available.
    let done = unsafe { E::dispatch(set, ApplyOperator { operator, amplitudes, threads }) };
    if !done {
        operator.apply(amplitudes, threads);
    }
}

struct ApplyOperator<'a, E> {
    operator: &'a Operator<Complex<E>>,
    amplitudes: &'a mut [Complex<E>],
    threads: &'a Threads,
}

/// Registers that an operator acts on.
struct RegisterSpan<'a, E> {
    vector: SharedPtr<E>,
    runs: OperatorRuns,
    /// Registers that are prefetched meanwhile, if any.
    ahead: Option<Prefetcher>,
    operator: &'a Operator<Complex<E>>,
    /// Bits that all offsets have in common.
    common: usize,
    /// The span above and within the lane bits.
    high: usize,
    low: usize,
    /// Controls among the lane bits, and their values.
    control: usize,
    value: usize,
    threads: &'a Threads,
}

impl<E: SimdFloat> Task<E> for ApplyOperator<'_, E> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) -> bool {
        let operator = self.operator;
        let n_qubits = self.amplitudes.len().trailing_zeros() as usize;
        let lane_bits = S::LANE_BITS - 1;
        if let Some(string) = operator.shape.string() {
            return strings::apply::<S>(self, string);
        }
        let Some((common, span)) = extent(&operator.shape) else { return true };
        if n_qubits < lane_bits || span.count_ones() > MAX_SPAN {
            return false;
        }
        let lanes = (1usize << lane_bits) - 1;
        let (value, fixed) = (operator.value | common, operator.fixed);
        let registers = n_qubits - lane_bits;
        let high = span & !lanes;
        // The same bits, of the numbers of registers.
        let [fixed_bits, value_bits, row_bits] = [fixed, value, high].map(|bits| bits >> lane_bits);
        let reach = PrefetchDistance::for_bytes(size_of::<Complex<E>>() << n_qubits);
        // Long runs are cut so that the prefetch distance is not too large.
        let run_bits = reach.map_or(MAX_RUN_BITS, |reach| reach.bits - high.count_ones());
        let runs = OperatorRuns::up_to(run_bits, registers, fixed_bits, value_bits);
        let all_rows = match &operator.shape {
            OperatorShape::Swap(..) => high.count_ones() < 2,
            OperatorShape::Diagonal(_) => high == 0,
            _ => true,
        };
        let place = RegisterSpan {
            ahead: reach.and_then(|reach| {
                Prefetcher::new(reach, &runs, registers, fixed_bits, value_bits, row_bits, all_rows)
            }),
            runs,
            vector: SharedPtr::new(as_reals(self.amplitudes)),
            operator,
            common,
            high,
            low: span & lanes,
            control: fixed & !span & lanes,
            value: value & lanes,
            threads: self.threads,
        };
        let parallel = operator.touched(n_qubits) >= SERIAL_BELOW;
        match operator.shape() {
            OperatorShape::Swap(a, b) => {
                let offsets = [*a, *b];
                place.each_part::<S, _>(parallel, |part| Exchange { place: &place, part, offsets });
            }
            _ if span.count_ones() < 2 => place.pair::<S>(parallel),
            OperatorShape::Diagonal(_) => place.diagonal::<S>(parallel),
            _ => place.dense::<S>(parallel),
        }
        true
    }
}

/// Returns the bits that all offsets of a shape share, and those in which some differ; `None` for
/// the identity.
fn extent<E>(shape: &OperatorShape<E>) -> Option<(usize, usize)> {
    let mut and = usize::MAX;
    let mut or = 0;
    let mut see = |offset: usize| (and, or) = (and & offset, or | offset);
    match shape {
        OperatorShape::Identity => return None,
        OperatorShape::Phase(_) => see(0),
        OperatorShape::Diagonal(factors) => factors.iter().for_each(|f| see(f.0)),
        OperatorShape::Swap(a, b) => [*a, *b].into_iter().for_each(see),
        OperatorShape::Cycles(cycles) => cycles.iter().flatten().for_each(|f| see(f.0)),
        // They have loops of their own.
        OperatorShape::Parity { .. } | OperatorShape::PauliString { .. } => see(0),
        OperatorShape::Dense { offsets, .. } => offsets.iter().for_each(|&o| see(o)),
    }
    Some((and & or, or & !and))
}

impl<E: SimdFloat> RegisterSpan<'_, E> {
    /// Runs a task over all runs, on threads where that is worth it.
    #[inline(always)]
    fn each_part<S: Simd<Elem = E>, T: Task<E, Output = ()>>(
        &self,
        parallel: bool,
        task: impl Fn(Range<usize>) -> T + Sync,
    ) {
        // SAFETY: this runs within `vectorize` of the same type, so the processor has the
        // instructions.
        let run = |part| unsafe { S::vectorize(task(part)) };
        if parallel && self.threads.count() > 1 {
            self.threads.split(self.runs.len(), run);
        } else {
            run(0..self.runs.len());
        }
    }

    #[inline(always)]
    fn diagonal<S: Simd<Elem = E>>(&self, parallel: bool) {
        macro_rules! go {
            ($rows:literal) => {
                self.each_part::<S, _>(parallel, |part| Diagonal::<E, $rows> { place: self, part })
            };
        }
        match self.high.count_ones() {
            0 => go!(1),
            1 => go!(2),
            2 => go!(4),
            3 => go!(8),
            _ => go!(16),
        }
    }

    #[inline(always)]
    fn dense<S: Simd<Elem = E>>(&self, parallel: bool) {
        let real = self.is_real();
        macro_rules! go {
            ($rows:literal, $flips:literal) => {
                match real {
                    true => {
                        self.each_part::<S, _>(parallel, |part| Dense::<E, $rows, $flips, REAL> {
                            place: self,
                            part,
                        })
                    }
                    false => {
                        self.each_part::<S, _>(parallel, |part| Dense::<E, $rows, $flips, FULL> {
                            place: self,
                            part,
                        })
                    }
                }
            };
        }
        match (self.high.count_ones(), self.low.count_ones()) {
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

    /// Returns the entry of the operator's matrix at two offsets.
    fn entry(&self, row: usize, column: usize) -> Complex<E> {
        let (one, zero) = (Complex::new(E::one(), E::zero()), Complex::new(E::zero(), E::zero()));
        let at = |there: bool, z: Complex<E>| if there { z } else { zero };
        match self.operator.shape() {
            OperatorShape::Identity
            | OperatorShape::Phase(_)
            | OperatorShape::Swap(..)
            | OperatorShape::Parity { .. }
            | OperatorShape::PauliString { .. } => {
                unreachable!("phases, swaps and strings have loops of their own")
            }
            OperatorShape::Diagonal(factors) => {
                let factor = factors.iter().find(|f| f.0 == row | self.common).map_or(one, |f| f.1);
                at(row == column, factor)
            }
            OperatorShape::Cycles(cycles) => {
                let (row, column) = (row | self.common, column | self.common);
                for cycle in cycles {
                    if let Some(k) = cycle.iter().position(|f| f.0 == column) {
                        return at(row == cycle[(k + 1) % cycle.len()].0, cycle[k].1);
                    }
                }
                at(row == column, one)
            }
            OperatorShape::Dense { matrix, offsets } => {
                let number = |offset: usize| {
                    let bits = offsets.len().trailing_zeros();
                    (0..bits).fold(0, |n, t| n | usize::from(offset & offsets[1 << t] != 0) << t)
                };
                matrix[number(row) * offsets.len() + number(column)]
            }
        }
    }

    /// Returns the entry that a lane needs: that of the identity where a control among the lanes
    /// says so.
    fn lane_entry(&self, row: usize, column: usize, lane: usize, flip: usize) -> Complex<E> {
        if lane & self.control != self.value & self.control {
            let same = row == column && flip == 0;
            return Complex::new(if same { E::one() } else { E::zero() }, E::zero());
        }
        self.entry(row | (lane & self.low), column | ((lane ^ flip) & self.low))
    }

    /// Returns true if real products are enough.
    fn is_real(&self) -> bool {
        let real = |z: &Complex<E>| z.im == E::zero();
        match self.operator.shape() {
            OperatorShape::Dense { matrix, .. } => matrix.iter().all(real),
            OperatorShape::Cycles(cycles) => cycles.iter().flatten().all(|f| real(&f.1)),
            _ => true,
        }
    }

    /// Returns the coefficients of a register of amplitudes: real parts, and imaginary parts with
    /// the sign that a product needs.
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
