//! Seeded randomness: streams of numbers, and random states.
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

/// Returns the generator of one stream.
#[doc(hidden)]
pub fn stream(seed: u64, index: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(index);
    rng
}

/// Returns a uniform number in [0, 1) with 53 random bits.
pub(crate) fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Random number `k` of stream `index`, without the numbers before it.
#[doc(hidden)]
pub fn draw(seed: u64, index: u64, k: u64) -> f64 {
    let mut rng = stream(seed, index);
    rng.set_word_pos(2 * u128::from(k));
    uniform(&mut rng)
}

/// Returns the seed of part `k` of some work, whose numbers have nothing to do with those of the
/// others or of the work itself.
#[doc(hidden)]
pub fn derived_seed(seed: u64, k: u64) -> u64 {
    // Streams from the end on: blocks of work count from 0.
    stream(seed, u64::MAX - k).next_u64()
}

impl<T: Real> StateVector<Complex<T>> {
    /// Returns a state drawn uniformly from all states (Haar measure): independent Gaussian
    /// amplitudes, normalized.
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
