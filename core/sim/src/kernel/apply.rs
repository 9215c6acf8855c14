//! One loop per shape.
//!
//! Every loop has the same frame: walk the runs, take the slices of a run at the shape's offsets,
//! zip through them. `LEN` is the length of a run where it is short and known (1, 2, 4), else 0.
//!
//! Conditions that the loops rely on:
//! - *In range*: [`apply`] asserts that the operator's highest qubit is one of the vector, so that
//!   `base | offset` and the run after it are below its length.
//! - *Own runs*: [`Threads::split`] gives each thread other runs, and runs do not overlap.
//! - *Own offsets*: a base is 0 in the bits that an offset may set (targets, which [`OperatorRuns`]
//!   pins), and the offsets of a shape differ, as the constructors of [`Operator`] see to. So
//!   slices of one run at different offsets do not overlap.
#![expect(unsafe_code, reason = "takes disjoint slices, see disjoint.rs")]

use std::ops::Range;

use num_complex::Complex;

use super::{
    ActsOn, Operator, OperatorShape, Threads, disjoint::Disjoint, runs::OperatorRuns, strings,
};
use crate::scalar::Ring;

/// Applies an operator by a function that runs a part of the task.
#[inline]
pub(super) fn apply<R: ActsOn<A>, A: Clone + Send + Sync>(
    operator: &Operator<R>,
    amplitudes: &mut [A],
    threads: &Threads,
    run_part: impl Fn(&OperatorTask<'_, R, A>, Range<usize>) + Sync,
) {
    let len = amplitudes.len();
    assert!(len.is_power_of_two(), "{len} amplitudes are not a state of qubits");
    let n_qubits = len.trailing_zeros() as usize;
    assert!(
        operator.n_qubits <= n_qubits,
        "an operator on qubit {} of {n_qubits}",
        operator.n_qubits - 1
    );
    if matches!(operator.shape, OperatorShape::Identity) {
        return;
    }
    let runs = strings::runs(operator, n_qubits)
        .unwrap_or_else(|| OperatorRuns::new(n_qubits, operator.fixed, operator.value));
    let task = OperatorTask { vector: Disjoint::new(amplitudes), runs, shape: &operator.shape };
    if R::PARALLEL && operator.touched(n_qubits) >= super::SERIAL_BELOW {
        threads.split(runs.len(), |part| run_part(&task, part));
    } else {
        run_part(&task, 0..runs.len());
    }
}

pub(super) struct OperatorTask<'a, R, A> {
    vector: Disjoint<'a, A>,
    pub(super) runs: OperatorRuns,
    shape: &'a OperatorShape<R>,
}

/// Runs the loops of a part of a task.
pub(super) fn run<R: ActsOn<A>, A: Clone + Send + Sync>(
    task: &OperatorTask<'_, R, A>,
    part: Range<usize>,
) {
    #[cfg(target_arch = "x86_64")]
    if is_wide() {
        // SAFETY: the processor has the instructions that `wide` is compiled for.
        unsafe { wide(task, part) };
        return;
    }
    plain(task, part);
}

/// Runs the loops as [`run`] does, for a ring on its own numbers; takes this crate's loops where it
/// has compiled them.
#[inline(always)]
pub(super) fn run_compiled<R: Ring>(task: &OperatorTask<'_, R, R>, part: Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    if is_wide() {
        // SAFETY: the processor has the instructions that `wide` is compiled for.
        unsafe {
            compiled!(R: WideTaskFn = [f32, f64, Complex<f32>, Complex<f64>] wide)(task, part)
        };
        return;
    }
    compiled!(R: PlainTaskFn = [f32, f64, Complex<f32>, Complex<f64>] plain)(task, part);
}

#[cfg(target_arch = "x86_64")]
type WideTaskFn<R> = unsafe fn(&OperatorTask<'_, R, R>, Range<usize>);
type PlainTaskFn<R> = fn(&OperatorTask<'_, R, R>, Range<usize>);

/// Returns true if the processor has the instructions that [`wide`] is compiled for.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn is_wide() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

/// Runs the loops, compiled for the wider registers of newer processors, and for fused operations
/// where a ring uses them. Others stay products and sums, so that both give the same bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn wide<R: ActsOn<A>, A: Clone + Send + Sync>(task: &OperatorTask<'_, R, A>, part: Range<usize>) {
    task.loops(part);
}

fn plain<R: ActsOn<A>, A: Clone + Send + Sync>(task: &OperatorTask<'_, R, A>, part: Range<usize>) {
    task.loops(part);
}

impl<R: ActsOn<A>, A: Clone + Send + Sync> OperatorTask<'_, R, A> {
    #[inline(always)]
    fn loops(&self, part: Range<usize>) {
        match self.runs.run_length() {
            1 => self.shape_loop::<1>(part),
            2 => self.shape_loop::<2>(part),
            4 => self.shape_loop::<4>(part),
            _ => self.shape_loop::<0>(part),
        }
    }

    // Plain `for` loops: a closure handed to an iterator may end up as a function of its own, which
    // is then compiled without the wider registers.
    #[inline(always)]
    fn shape_loop<const LEN: usize>(&self, part: Range<usize>) {
        let starts = self.runs.starts(part.clone());
        match self.shape {
            OperatorShape::Identity => {}
            OperatorShape::Phase(factor) => {
                let factor = &factor.clone();
                for base in starts {
                    // SAFETY: the only slice of the run.
                    scale(unsafe { self.slice::<LEN>(base, 0) }, factor);
                }
            }
            OperatorShape::Diagonal(factors) => {
                for base in starts {
                    for (offset, factor) in factors {
                        // SAFETY: one slice at a time.
                        scale(unsafe { self.slice::<LEN>(base, *offset) }, factor);
                    }
                }
            }
            OperatorShape::Swap(a, b) => {
                for base in starts {
                    // SAFETY: own offsets.
                    let (a, b) =
                        unsafe { (self.slice::<LEN>(base, *a), self.slice::<LEN>(base, *b)) };
                    a.swap_with_slice(b);
                }
            }
            OperatorShape::Cycles(cycles) => {
                for base in starts {
                    for cycle in cycles {
                        self.rotate::<LEN>(base, cycle);
                    }
                }
            }
            OperatorShape::Parity { z, factors } => self.parity(part, *z, factors),
            OperatorShape::PauliString { x, z, diagonal, off_diagonal } => {
                self.string(part, (*x, *z), diagonal, off_diagonal)
            }
            OperatorShape::Dense { matrix, offsets } => {
                match (offsets.as_slice(), matrix.as_slice()) {
                    // s [[1, 1], [1, -1]], Hadamard's: half the products.
                    ([o0, o1], [s, b, c, d])
                        if equal(s, b) && equal(s, c) && (s + d).is_exact_zero() =>
                    {
                        let s = &s.clone();
                        for base in starts {
                            // SAFETY: own offsets.
                            let (lo, hi) = unsafe {
                                (self.slice::<LEN>(base, *o0), self.slice::<LEN>(base, *o1))
                            };
                            for (x, y) in lo.iter_mut().zip(hi) {
                                R::act_crosswise(s, x, y);
                            }
                        }
                    }
                    ([o0, o1], [a, b, c, d]) => {
                        let (a, b, c, d) = (&a.clone(), &b.clone(), &c.clone(), &d.clone());
                        for base in starts {
                            // SAFETY: own offsets.
                            let (lo, hi) = unsafe {
                                (self.slice::<LEN>(base, *o0), self.slice::<LEN>(base, *o1))
                            };
                            for (x, y) in lo.iter_mut().zip(hi) {
                                let new = R::act2(a, x, b, y);
                                *y = R::act2(c, x, d, y);
                                *x = new;
                            }
                        }
                    }
                    (&[o0, o1, o2, o3], _) => self.dense::<LEN, 4>(part, [o0, o1, o2, o3], matrix),
                    (&[o0, o1, o2, o3, o4, o5, o6, o7], _) => {
                        self.dense::<LEN, 8>(part, [o0, o1, o2, o3, o4, o5, o6, o7], matrix);
                    }
                    _ => self.dense_any(part, offsets, matrix),
                }
            }
        }
    }

    /// Returns the amplitudes of the run at `base` that are `offset` further.
    ///
    /// # Safety
    /// `base` is of a run that this thread was given, `offset` is one of the shape's, and no other
    /// slice at both is alive.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "disjointness is the caller's promise")]
    pub(super) unsafe fn slice<const LEN: usize>(&self, base: usize, offset: usize) -> &mut [A] {
        let length = if LEN == 0 { self.runs.run_length() } else { LEN };
        // SAFETY: in range; and by own runs and own offsets only a slice at the same base and
        // offset would overlap, of which the caller promises that there is none.
        unsafe { self.vector.part(base | offset, length) }
    }

    /// Moves each amplitude of a cycle to the next place, times its factor.
    #[inline(always)]
    fn rotate<const LEN: usize>(&self, base: usize, cycle: &[(usize, R)]) {
        let length = if LEN == 0 { self.runs.run_length() } else { LEN };
        for i in 0..length {
            // SAFETY: own offsets; each amplitude is done with before it is asked for again.
            let at = |k: usize| unsafe { &mut self.slice::<LEN>(base, cycle[k].0)[i] };
            let last = cycle.len() - 1;
            let wrapped = cycle[last].1.act(at(last));
            for k in (0..last).rev() {
                *at(k + 1) = cycle[k].1.act(at(k));
            }
            *at(0) = wrapped;
        }
    }

    #[inline(always)]
    fn dense<const LEN: usize, const D: usize>(
        &self,
        part: Range<usize>,
        offsets: [usize; D],
        matrix: &[R],
    ) {
        for base in self.runs.starts(part) {
            // SAFETY: own offsets.
            let mut slices = offsets.map(|offset| unsafe { self.slice::<LEN>(base, offset) });
            for i in 0..slices[0].len() {
                let old: [A; D] = std::array::from_fn(|j| slices[j][i].clone());
                for (slice, row) in slices.iter_mut().zip(matrix.chunks_exact(D)) {
                    slice[i] = R::act_row(row, &old);
                }
            }
        }
    }

    #[inline(always)]
    fn dense_any(&self, part: Range<usize>, offsets: &[usize], matrix: &[R]) {
        let mut old: Vec<A> = Vec::with_capacity(offsets.len());
        for base in self.runs.starts(part) {
            for i in 0..self.runs.run_length() {
                // SAFETY: one amplitude of the run at a time.
                let at = |offset: usize| unsafe { &mut self.slice::<1>(base + i, offset)[0] };
                old.clear();
                old.extend(offsets.iter().map(|&offset| at(offset).clone()));
                for (&offset, row) in offsets.iter().zip(matrix.chunks_exact(offsets.len())) {
                    *at(offset) = R::act_row(row, &old);
                }
            }
        }
    }
}

#[inline(always)]
fn scale<R: ActsOn<A>, A>(slice: &mut [A], factor: &R) {
    for x in slice {
        *x = factor.act(x);
    }
}

fn equal<R: Ring>(a: &R, b: &R) -> bool {
    (a - b).is_exact_zero()
}
