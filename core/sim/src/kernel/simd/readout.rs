//! Sums of |a|^2 and projections with the processor's registers: the loops of `kernel::marginal`,
//! which are plain, compiled for its instructions. Sums are in double precision.

use num_complex::Complex;

use super::{InstructionSet, Simd, SimdFloat, Task};
use crate::kernel::{
    Threads,
    marginal::{MarginalPart, add_squares, marginal, project as project_part},
};

/// Amplitudes that are projected in one piece.
const PIECE: usize = 1 << 12;

/// Returns the sum of |a|^2 for each value of the asked bits.
pub(crate) fn probabilities<E: SimdFloat>(
    amplitudes: &[Complex<E>],
    asked: usize,
    threads: &Threads,
    set: InstructionSet,
) -> Vec<f64> {
    assert!(set.is_available() && amplitudes.len().is_power_of_two());
    let n_qubits = amplitudes.len().trailing_zeros() as usize;
    marginal(n_qubits, asked, threads, |part: &MarginalPart, table: &mut [f64]| {
        // SAFETY: the set is available.
        unsafe { E::dispatch(set, Squares { amplitudes, part, table }) }
    })
}

struct Squares<'a, E> {
    amplitudes: &'a [Complex<E>],
    part: &'a MarginalPart,
    table: &'a mut [f64],
}

impl<E: SimdFloat> Task<E> for Squares<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let square = |a: &Complex<E>| {
            let (re, im): (f64, f64) = (a.re.into(), a.im.into());
            re * re + im * im
        };
        add_squares(self.amplitudes, self.part, square, self.table);
    }
}

/// Keeps the amplitudes with this value of a bit, times a number, and clears the others.
pub(crate) fn project<E: SimdFloat>(
    amplitudes: &mut [Complex<E>],
    (bit, value): (usize, bool),
    scale: E,
    threads: &Threads,
    set: InstructionSet,
) {
    assert!(
        set.is_available() && amplitudes.len().is_power_of_two() && 1 << bit < amplitudes.len()
    );
    threads.chunks(amplitudes, PIECE, |number, part| {
        // SAFETY: the set is available.
        unsafe { E::dispatch(set, Project { start: number * PIECE, part, bit, value, scale }) }
    });
}

struct Project<'a, E> {
    start: usize,
    part: &'a mut [Complex<E>],
    bit: usize,
    value: bool,
    scale: E,
}

impl<E: SimdFloat> Task<E> for Project<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let scale = |a: &mut Complex<E>| (a.re, a.im) = (a.re * self.scale, a.im * self.scale);
        project_part(self.start, self.part, self.bit, self.value, scale);
    }
}
