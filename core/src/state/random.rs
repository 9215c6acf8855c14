//! Seeded randomness: random states and samples.
//!
//! Numbers come from ChaCha8. The seed is the key, and every block of work (shots, amplitudes) has
//! a stream of its own by its index, so results depend neither on the number of threads nor on the
//! machine.

use num_complex::Complex;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use super::{StateError, StateVector};
use crate::{
    kernel::{BLOCK, Threads},
    scalar::{Real, Scalar},
};

/// Shots that share a stream.
const SHOTS_PER_STREAM: usize = 1 << 10;

/// The generator of one stream.
pub(crate) fn stream(seed: u64, index: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(index);
    rng
}

/// A uniform number in [0, 1) with 53 random bits.
pub(crate) fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Random number `k` of stream `index`, without the numbers before it.
pub(crate) fn draw(seed: u64, index: u64, k: u64) -> f64 {
    let mut rng = stream(seed, index);
    rng.set_word_pos(2 * u128::from(k));
    uniform(&mut rng)
}

impl<T: Real> StateVector<Complex<T>> {
    /// A state drawn uniformly from all states (Haar measure): independent Gaussian amplitudes,
    /// normalized.
    ///
    /// # Errors
    /// [`StateError`] if the memory is not to be had.
    pub fn random(n_qubits: usize, seed: u64, threads: &Threads) -> Result<Self, StateError> {
        let mut state = Self::zero(n_qubits)?;
        threads.chunks(&mut state.amplitudes, BLOCK, |k, chunk| {
            let mut rng = stream(seed, k as u64);
            for a in chunk {
                // Box and Muller, Ann. Math. Statist. 29, 610 (1958).
                let radius = (-2.0 * (1.0 - uniform(&mut rng)).ln()).sqrt();
                let (sin, cos) = (std::f64::consts::TAU * uniform(&mut rng)).sin_cos();
                *a = Complex::new(T::lit(radius * cos), T::lit(radius * sin));
            }
        });
        let scale = Complex::from_real(state.norm2(threads).sqrt().recip());
        threads.chunks(&mut state.amplitudes, BLOCK, |_, chunk| {
            chunk.iter_mut().for_each(|a| *a *= scale.clone());
        });
        Ok(state)
    }
}

impl<T: Real, S: Scalar<Real = T>> StateVector<S> {
    /// Measures all qubits so many times: basis states in the order of the shots, which are
    /// independent. The same seed gives the same shots for any number of threads.
    /// O(2^n + shots log shots).
    ///
    /// # Errors
    /// [`StateError`] if the probabilities have no value or are not finite.
    pub fn sample(&self, shots: usize, seed: u64, threads: &Threads) -> Result<Vec<usize>, StateError> {
        let draws = threads.map(shots.div_ceil(SHOTS_PER_STREAM), |k| {
            let mut rng = stream(seed, k as u64);
            let range = k * SHOTS_PER_STREAM..((k + 1) * SHOTS_PER_STREAM).min(shots);
            range.map(|_| uniform(&mut rng)).collect::<Vec<_>>()
        });
        self.sample_at(draws.concat(), threads)
    }

    /// The basis states that uniform numbers in [0, 1) stand for, in their order: the inverse of the
    /// cumulative distribution.
    pub(crate) fn sample_at(&self, draws: Vec<f64>, threads: &Threads) -> Result<Vec<usize>, StateError> {
        // The sum of each block of probabilities, then of all blocks up to each.
        let blocks = self.amplitudes.len().div_ceil(BLOCK);
        let sums = threads.map(blocks, |k| {
            let block = &self.amplitudes[k * BLOCK..((k + 1) * BLOCK).min(self.amplitudes.len())];
            block.iter().try_fold(0.0, |sum, a| Some(sum + a.abs2().primal()?))
        });
        let mut total = 0.0;
        let mut ends = Vec::with_capacity(blocks);
        for sum in sums {
            total += sum.ok_or(StateError::Symbolic)?;
            ends.push(total);
        }
        if !(total > 0.0 && total.is_finite()) {
            return Err(StateError::NotFinite { total });
        }
        let mut outcomes = vec![0; draws.len()];
        let mut draws: Vec<(f64, usize)> =
            draws.into_iter().enumerate().map(|(shot, u)| (u * total, shot)).collect();
        draws.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));

        // One sweep over sorted draws; a block without a draw is skipped.
        let mut draws = draws.into_iter().peekable();
        // Where rounding leaves a draw past the end of its block, it takes the block's last state
        // that can occur at all.
        let mut fallback = 0;
        let mut start = 0.0;
        for (k, &end) in ends.iter().enumerate() {
            let last = k + 1 == blocks;
            let mine = |d: &&(f64, usize)| d.0 < end || last;
            if draws.peek().filter(mine).is_some() {
                let mut sum = start;
                for i in k * BLOCK..((k + 1) * BLOCK).min(self.amplitudes.len()) {
                    let p = self.weight(i);
                    if p > 0.0 {
                        fallback = i;
                        sum += p;
                    }
                    while let Some((_, shot)) = draws.next_if(|d| d.0 < sum) {
                        outcomes[shot] = i;
                    }
                }
                while let Some((_, shot)) = draws.next_if(|d| mine(&d)) {
                    outcomes[shot] = fallback;
                }
            }
            start = end;
        }
        Ok(outcomes)
    }

    fn weight(&self, i: usize) -> f64 {
        self.amplitudes[i].abs2().primal().unwrap_or(0.0)
    }
}
