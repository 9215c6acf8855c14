//! Norms, the probabilities of some qubits, and collapse.
//!
//! `Complex<f32>` and `Complex<f64>` take the loops of `kernel::marginal` compiled for the
//! processor's registers, with sums in double precision; every other number takes them as they are.

use std::any::Any;

use num_complex::Complex;

use super::{StateError, StateVector, memory::Amplitudes};
use crate::{
    basis::scatter_bits,
    kernel::{
        BLOCK, InstructionSet, Threads,
        marginal::{MarginalPart, add_squares, marginal, project},
        simd,
    },
    scalar::{Real, Scalar},
};

impl<T: Real, S: Scalar<Real = T>> StateVector<S> {
    /// Returns the squared norm `sum_i |a_i|^2`. O(2^n), with the same bits for any number of
    /// threads.
    #[must_use]
    pub fn norm2(&self, threads: &Threads) -> T {
        self.marginal(0, threads).swap_remove(0)
    }

    /// Returns the probability of each basis state.
    #[must_use]
    pub fn probabilities(&self) -> Vec<T> {
        self.amplitudes.iter().map(Scalar::abs2).collect()
    }

    /// Returns the probabilities of the outcomes of some qubits: 2^k values, bit j of an outcome
    /// belonging to `qubits[j]`. One pass over the state, O(2^n), with the same bits for any number
    /// of threads.
    ///
    /// # Errors
    /// [`BasisError`](crate::basis::BasisError) for a qubit that does not exist or is listed twice.
    pub fn probabilities_of(
        &self,
        qubits: &[usize],
        threads: &Threads,
    ) -> Result<Vec<T>, StateError> {
        self.check_qubits(qubits)?;
        let ascending = self.marginal(qubits.iter().fold(0, |mask, q| mask | 1 << q), threads);
        if qubits.is_sorted() {
            return Ok(ascending);
        }
        // Bit j of an outcome is the bit of its place among the qubits in order.
        let ranks: Vec<usize> =
            qubits.iter().map(|q| qubits.iter().filter(|other| *other < q).count()).collect();
        let value = |outcome: usize| ascending[scatter_bits(outcome, &ranks)].clone();
        Ok((0..ascending.len()).map(value).collect())
    }

    /// Returns the sum of |a|^2 for each value of the asked bits, in ascending order.
    fn marginal(&self, asked: usize, threads: &Threads) -> Vec<T> {
        let (all, set): (&dyn Any, _) = (&self.amplitudes, InstructionSet::detect());
        let by_vectors = if let Some(a) = all.downcast_ref::<Amplitudes<Complex<f64>>>() {
            Some(simd::probabilities(a, asked, threads, set))
        } else {
            let single = all.downcast_ref::<Amplitudes<Complex<f32>>>();
            single.map(|a| simd::probabilities(a, asked, threads, set))
        };
        if let Some(sums) = by_vectors {
            return sums.into_iter().map(T::lit).collect();
        }
        let serial = Threads::serial();
        let threads = if S::PARALLEL { threads } else { &serial };
        let sum = |part: &MarginalPart, table: &mut [T]| {
            add_squares(&self.amplitudes, part, S::abs2, table)
        };
        marginal(self.n_qubits, asked, threads, sum)
    }

    /// Projects a qubit onto a value and normalizes; returns the probability that this had. Two
    /// passes over the state.
    ///
    /// # Errors
    /// [`StateError::Impossible`] if the probability is 0,
    /// [`BasisError`](crate::basis::BasisError) for an unknown qubit. The state is unchanged then.
    pub fn collapse(
        &mut self,
        qubit: usize,
        value: bool,
        threads: &Threads,
    ) -> Result<T, StateError> {
        let p = self.probabilities_of(&[qubit], threads)?.swap_remove(usize::from(value));
        if p.is_exact_zero() {
            return Err(StateError::Impossible { qubit, value });
        }
        self.project(qubit, value, &p, threads);
        Ok(p)
    }

    /// Projects a qubit onto a value of known probability and normalizes.
    pub(crate) fn project(&mut self, qubit: usize, value: bool, p: &T, threads: &Threads) {
        let scale = p.sqrt().recip();
        let set = InstructionSet::detect();
        let (all, number): (&mut dyn Any, &dyn Any) = (&mut self.amplitudes, &scale);
        if let (Some(a), Some(scale)) =
            (all.downcast_mut::<Amplitudes<Complex<f64>>>(), number.downcast_ref())
        {
            return simd::project(a, (qubit, value), *scale, threads, set);
        }
        if let (Some(a), Some(scale)) =
            (all.downcast_mut::<Amplitudes<Complex<f32>>>(), number.downcast_ref())
        {
            return simd::project(a, (qubit, value), *scale, threads, set);
        }
        let serial = Threads::serial();
        let threads = if S::PARALLEL { threads } else { &serial };
        let factor = S::from_real(scale);
        threads.chunks(&mut self.amplitudes, BLOCK, |number, part| {
            project(number * BLOCK, part, qubit, value, |a| *a *= factor.clone());
        });
    }
}
