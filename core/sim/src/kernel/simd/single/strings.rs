//! Operators about Pauli strings on many qubits: each register is combined with the one that x
//! joins it with.
//!
//! ```text
//! y[r] = diagonal x[r] + off_diagonal (lanes_xor(x[r ^ rows])),    rows and the lanes' exclusive-or being the parts of x
//! ```
//! The sign of a lane is in the coefficient, of which there is one for each sign of a register;
//! outside of controls among the lanes it is that of the identity. An operator that is diagonal has
//! no `off_diagonal`.

use std::ops::Range;

use num_complex::Complex;

use super::ApplyOperator;
use crate::{
    basis::odd,
    kernel::{
        OperatorShape, SERIAL_BELOW,
        runs::{MAX_RUN_BITS, OperatorRuns},
        simd::{SharedPtr, Simd, SimdFloat, Task, as_reals},
    },
    pauli::PauliMasks,
};

/// Real parts, and imaginary parts with the sign that a product needs, for each lane.
type Coefficient<E> = [[E; 16]; 2];

struct Strings<'a, E> {
    vector: SharedPtr<E>,
    runs: &'a OperatorRuns,
    part: Range<usize>,
    /// The register that is joined with register 0.
    rows: usize,
    /// The lane that is joined with lane 0.
    flip: usize,
    /// The bits of registers that give signs.
    signs: usize,
    /// Coefficients of the register itself, by its sign.
    diagonal: [Coefficient<E>; 2],
    /// Coefficients of the joined register, by the sign of that register; `None` for a diagonal.
    off_diagonal: Option<[Coefficient<E>; 2]>,
}

/// Applies an operator about a string; false for states shorter than a register.
#[inline(always)]
pub(super) fn apply<S: Simd>(work: ApplyOperator<'_, S::Elem>, string: PauliMasks) -> bool {
    let PauliMasks { x, z } = string;
    let ApplyOperator { operator, amplitudes, threads } = work;
    let n_qubits = amplitudes.len().trailing_zeros() as usize;
    let lane_bits = S::LANE_BITS - 1;
    if n_qubits < lane_bits {
        return false;
    }
    let lanes = (1usize << lane_bits) - 1;
    let controls = operator.fixed & !string.support();
    let (control, value) = (controls & lanes, operator.value & lanes);
    let rows = x >> lane_bits;
    let top = if rows == 0 { 0 } else { 1 << rows.ilog2() };
    let fixed = controls >> lane_bits | top;
    let runs = &OperatorRuns::up_to(
        MAX_RUN_BITS,
        n_qubits - lane_bits,
        fixed,
        operator.value >> lane_bits,
    );
    let by_sign = |outside: Complex<S::Elem>, of: &dyn Fn(usize, bool) -> Complex<S::Elem>| {
        [false, true].map(|negative| {
            coefficient::<S>(
                |lane| if lane & control == value { of(lane, negative) } else { outside },
            )
        })
    };
    let [zero, one] =
        [0.0, 1.0].map(|x| Complex::new(S::Elem::round_from(x), S::Elem::round_from(0.0)));
    let (diagonal, off_diagonal) = match operator.shape() {
        OperatorShape::Parity { factors, .. } => {
            let factor =
                |lane, negative: bool| factors[usize::from(negative ^ odd(lane & z & lanes))];
            (by_sign(one, &factor), None)
        }
        &OperatorShape::PauliString { diagonal, off_diagonal, .. } => {
            let from = |lane: usize, negative: bool| {
                if negative ^ odd((lane ^ x) & z & lanes) { -off_diagonal } else { off_diagonal }
            };
            (by_sign(one, &|_, _| diagonal), Some(by_sign(zero, &from)))
        }
        _ => return false,
    };
    let parallel = operator.touched(n_qubits) >= SERIAL_BELOW;
    let vector = SharedPtr::new(as_reals(amplitudes));
    let run = |part| {
        let (flip, signs) = (x & lanes, z >> lane_bits);
        // SAFETY: this runs within `vectorize` of the same type, so the processor has the
        // instructions.
        unsafe {
            S::vectorize(Strings { vector, runs, part, rows, flip, signs, diagonal, off_diagonal })
        };
    };
    if parallel && threads.count() > 1 {
        threads.split(runs.len(), run);
    } else {
        run(0..runs.len());
    }
    true
}

fn coefficient<S: Simd>(of: impl Fn(usize) -> Complex<S::Elem>) -> Coefficient<S::Elem> {
    let mut parts = [[S::Elem::round_from(0.0); 16]; 2];
    for lane in 0..S::LANES / 2 {
        let z = of(lane);
        (parts[0][2 * lane], parts[0][2 * lane + 1]) = (z.re, z.re);
        (parts[1][2 * lane], parts[1][2 * lane + 1]) = (-z.im, z.im);
    }
    parts
}

impl<E: SimdFloat> Task<E> for Strings<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let Strings { vector, runs, part, rows, flip, signs, diagonal, off_diagonal } = self;
        let (vector, length) = (vector.get(), runs.run_length());
        // SAFETY: this is `vectorize`; tables are as long as the longest register, and lanes are
        // those of amplitudes.
        let (registers, index) = unsafe {
            let registers = |c: [Coefficient<E>; 2]| {
                c.map(|[re, im]| [S::load(re.as_ptr()), S::load(im.as_ptr())])
            };
            ((registers(diagonal), off_diagonal.map(registers)), S::index(|lane| lane ^ (2 * flip)))
        };
        let (diagonal, off_diagonal) = registers;
        let sign = |register: usize| usize::from(odd(register & signs));
        let turned = sign(rows);
        for start in runs.starts(part) {
            for register in start..start + length {
                let here = sign(register);
                // SAFETY: registers of runs are in the vector, and so are those that x joins them
                // with, whose top bit is 1 where that of runs is 0; parts of the runs have
                // different ones.
                unsafe {
                    let at = vector.add(register * S::LANES);
                    let x = S::load(at);
                    let Some(off_diagonal) = off_diagonal else {
                        product(x, diagonal[here]).store(at);
                        continue;
                    };
                    if rows == 0 {
                        sum(x, diagonal[here], x.permute(index), off_diagonal[here]).store(at);
                        continue;
                    }
                    let there = vector.add((register ^ rows) * S::LANES);
                    let y = S::load(there);
                    sum(x, diagonal[here], y.permute(index), off_diagonal[here ^ turned]).store(at);
                    sum(y, diagonal[here ^ turned], x.permute(index), off_diagonal[here])
                        .store(there);
                }
            }
        }
    }
}

#[inline(always)]
fn product<S: Simd>(x: S, [re, im]: [S; 2]) -> S {
    x.swap_pairs().mul_add(im, x.mul(re))
}

#[inline(always)]
fn sum<S: Simd>(x: S, diagonal: [S; 2], y: S, [re, im]: [S; 2]) -> S {
    y.swap_pairs().mul_add(im, y.mul_add(re, product(x, diagonal)))
}
