//! Application of a sum of Pauli strings to a state, `sum_k c_k P_k |psi>`, without building a
//! matrix.
//!
//! `P |i> = i^{#Y} (-1)^{|i & z|} |i ^ x>` with the masks x and z of a string, so an amplitude of
//! the result is `sum_k c_k i^{#Y} (-1)^{|(i ^ x) & z|} psi[i ^ x]`. Terms that share x share the
//! load.

use std::collections::BTreeMap;

use num_complex::Complex;

use super::{StateError, StateVector};
use crate::{
    basis::{odd, signed_sum, walsh_hadamard},
    kernel::{BLOCK, Threads},
    observable::{PauliString, PauliSum},
    pauli::{PauliMasks, PauliPhase},
    scalar::{Real, Ring, Scalar, WideLoop, wide},
};

impl<T: Real> StateVector<Complex<T>> {
    /// Returns `O |psi>` for a sum of Pauli strings O; the result is not normalized. O(2^n) for
    /// each distinct set of qubits with X or Y, and a few times as much for each of them whose
    /// strings have Z or Y on the lowest 11 qubits.
    ///
    /// ```
    /// use ketgrad_core::{kernel::Threads, observable::{PauliString, PauliSum}, state::StateVector};
    /// use num_complex::Complex;
    ///
    /// let state = StateVector::<Complex<f64>>::zero(2)?;
    /// let sum: PauliSum = "0.5 Z0 + 2 X1".parse()?;
    /// let result = state.applied(&sum, &Threads::serial())?;
    /// assert_eq!(result.amplitudes().iter().map(|z| z.re).collect::<Vec<_>>(), [0.5, 0.0, 2.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`StateError`] if it acts on a qubit that the state does not have, or if the memory is not
    /// to be had.
    pub fn applied(&self, sum: &PauliSum, threads: &Threads) -> Result<Self, StateError> {
        Self::check_acts(self.n_qubits, sum)?;
        let mut out = Self::null(self.n_qubits, threads)?;
        GroupedPauliSum::new(sum.terms(), PauliPhase::ONE).add(&T::one(), self, &mut out, threads);
        Ok(out)
    }
}

impl<R: Ring> StateVector<R> {
    /// 2^n zeros.
    #[doc(hidden)]
    pub fn null(n_qubits: usize, threads: &Threads) -> Result<Self, StateError> {
        let mut zeros = Self::zero_on(n_qubits, threads)?;
        zeros.amplitudes[0] = R::zero();
        Ok(zeros)
    }

    /// Scales in place: `self *= factor`.
    pub(crate) fn scale(&mut self, factor: &R, threads: &Threads) {
        threads.chunks(&mut self.amplitudes, BLOCK, |_, part| {
            part.iter_mut().for_each(|z| *z = &*z * factor)
        });
    }

    /// Adds a multiple: `self += factor * other` (axpy).
    pub(crate) fn axpy(&mut self, factor: &R, other: &Self, threads: &Threads) {
        let other = &other.amplitudes;
        threads.chunks(&mut self.amplitudes, BLOCK, |number, part| {
            wide::<R, _>(Axpy(part, &other[number * BLOCK..], factor));
        });
    }
}

/// Loop of `z += c w` (axpy).
struct Axpy<'a, R>(&'a mut [R], &'a [R], &'a R);

impl<R: Ring> WideLoop for Axpy<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.0.iter_mut().zip(self.1).for_each(|(z, w)| *z += w * self.2);
    }
}

/// Amplitude type: multiples by real numbers and by imaginary ones are added.
#[doc(hidden)]
pub trait Amplitude: Scalar {
    /// Adds a multiple: `self += c w`.
    fn add_multiple(&mut self, w: &Self, c: &Self::Real);
    /// Adds an imaginary multiple: `self += i c w`, of which a real amplitude takes the real part:
    /// nothing.
    fn add_imaginary_multiple(&mut self, w: &Self, c: &Self::Real);
}

impl<T: Real> Amplitude for Complex<T> {
    #[inline(always)]
    fn add_multiple(&mut self, w: &Self, c: &T) {
        *self += Complex::new(w.re.clone() * c, w.im.clone() * c);
    }
    #[inline(always)]
    fn add_imaginary_multiple(&mut self, w: &Self, c: &T) {
        *self += Complex::new(-(w.im.clone() * c), w.re.clone() * c);
    }
}

impl Amplitude for f64 {
    #[inline(always)]
    fn add_multiple(&mut self, w: &f64, c: &f64) {
        *self += w * c;
    }
    #[inline(always)]
    fn add_imaginary_multiple(&mut self, _: &f64, _: &f64) {}
}

/// A phase times `sum_k c_k P_k`, made ready to be applied: for each x, the strings whose factors
/// are real and those whose factors are imaginary, by their z.
#[doc(hidden)]
pub struct GroupedPauliSum {
    passes: BTreeMap<usize, [Vec<(usize, f64)>; 2]>,
}

impl GroupedPauliSum {
    /// Returns the sum times a phase.
    #[doc(hidden)]
    pub fn new<'a>(
        terms: impl IntoIterator<Item = &'a (f64, PauliString)>,
        phase: PauliPhase,
    ) -> GroupedPauliSum {
        let mut passes: BTreeMap<usize, [Vec<(usize, f64)>; 2]> = BTreeMap::new();
        for (c, string) in terms {
            let string @ PauliMasks { x, z } = string.masks();
            let phase = string.y_phase() * phase;
            let c = if phase.is_negative() { -c } else { *c };
            passes.entry(x).or_default()[usize::from(phase.is_imaginary())].push((z, c));
        }
        GroupedPauliSum { passes }
    }

    /// Returns true if all factors are real, so that real amplitudes stay real.
    pub(crate) fn is_real(&self) -> bool {
        self.passes.values().all(|[_, imaginary]| imaginary.is_empty())
    }

    /// Adds `weight` times its product with psi to `out`, of the same size: block by block, so that
    /// `out` passes through the cache once.
    #[doc(hidden)]
    pub fn add<T: Real, S: Amplitude<Real = T>>(
        &self,
        weight: &T,
        psi: &StateVector<S>,
        out: &mut StateVector<S>,
        threads: &Threads,
    ) {
        let psi = psi.amplitudes();
        threads.chunks(out.amplitudes_mut(), BLOCK, |number, part| {
            let inside = part.len() - 1;
            let (mut factors, mut sums) = (Vec::new(), vec![0.0; part.len()]);
            for (&x, parts) in &self.passes {
                let start = (number * BLOCK) ^ (x & !inside);
                let from = &psi[start..start + part.len()];
                for (k, strings) in
                    parts.iter().enumerate().filter(|(_, strings)| !strings.is_empty())
                {
                    signed_sums(strings, start, &mut sums, weight, &mut factors);
                    let (factors, x, imaginary) = (&factors[..], x & inside, k == 1);
                    wide::<S, _>(Exchanged { out: part, from, factors, x, imaginary });
                }
            }
        });
    }
}

/// Strings up to which writing the signs of each costs less than the whole transform of a block.
const FEW_STRINGS: usize = 64;

/// Computes `weight * sum_k c_k (-1)^{|i & z_k|}` for the indices i of a block; one number if it is
/// the same for all.
fn signed_sums<T: Real>(
    strings: &[(usize, f64)],
    start: usize,
    sums: &mut [f64],
    weight: &T,
    factors: &mut Vec<T>,
) {
    let inside = sums.len() - 1;
    let signed = |&(z, c): &(usize, f64)| (z & inside, if odd(start & z) { -c } else { c });
    factors.clear();
    if strings.iter().all(|(z, _)| z & inside == 0) {
        factors.push(weight.clone() * T::lit(strings.iter().map(|string| signed(string).1).sum()));
        return;
    }
    if strings.len() <= FEW_STRINGS {
        wide::<f64, _>(SignSums(sums, strings.iter().map(signed)));
    } else {
        sums.fill(0.0);
        strings.iter().map(signed).for_each(|(z, c)| sums[z] += c);
        walsh_hadamard(sums);
    }
    factors.extend(sums.iter().map(|&sum| weight.clone() * T::lit(sum)));
}

struct SignSums<'a, I>(&'a mut [f64], I);

impl<I: Iterator<Item = (usize, f64)>> WideLoop for SignSums<'_, I> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        signed_sum(self.0, self.1);
    }
}

/// `out[k] += factors[k ^ x] from[k ^ x]` for all k, or i times as much.
struct Exchanged<'a, S: Scalar> {
    out: &'a mut [S],
    from: &'a [S],
    factors: &'a [S::Real],
    x: usize,
    imaginary: bool,
}

impl<S: Amplitude> WideLoop for Exchanged<'_, S> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        if self.imaginary {
            self.each(S::add_imaginary_multiple);
        } else {
            self.each(S::add_multiple);
        }
    }
}

impl<S: Amplitude> Exchanged<'_, S> {
    #[inline(always)]
    fn each(self, add: impl Fn(&mut S, &S, &S::Real)) {
        match self.x & 7 {
            _ if self.out.len() < 8 => self.runs(add),
            1 => self.eights::<1>(add),
            2 => self.eights::<2>(add),
            3 => self.eights::<3>(add),
            4 => self.eights::<4>(add),
            5 => self.eights::<5>(add),
            6 => self.eights::<6>(add),
            7 => self.eights::<7>(add),
            _ => self.runs(add),
        }
    }

    /// Adds in runs as long as the lowest bit of x.
    #[inline(always)]
    fn runs(self, add: impl Fn(&mut S, &S, &S::Real)) {
        let Exchanged { out, from, factors, x, .. } = self;
        let run = if x == 0 { out.len() } else { x & x.wrapping_neg() };
        for (k, out) in out.chunks_exact_mut(run).enumerate() {
            let at = (k * run) ^ x;
            let from = &from[at..at + run];
            match factors {
                [factor] => out.iter_mut().zip(from).for_each(|(z, w)| add(z, w, factor)),
                _ => {
                    let factors = &factors[at..at + run];
                    out.iter_mut().zip(from).zip(factors).for_each(|((z, w), c)| add(z, w, c));
                }
            }
        }
    }

    /// Adds in runs of eight, exchanged among themselves by the low bits of x, which are known.
    #[inline(always)]
    fn eights<const X: usize>(self, add: impl Fn(&mut S, &S, &S::Real)) {
        let Exchanged { out, from, factors, x, .. } = self;
        let (from, x) = (from.as_chunks::<8>().0, x / 8);
        for (k, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let from = &from[k ^ x];
            match factors {
                [factor] => (0..8).for_each(|j| add(&mut out[j], &from[j ^ X], factor)),
                _ => {
                    let factors = &factors[8 * (k ^ x)..][..8];
                    (0..8).for_each(|j| add(&mut out[j], &from[j ^ X], &factors[j ^ X]));
                }
            }
        }
    }
}
