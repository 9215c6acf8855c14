//! Amplitudes written anew.

use super::{BLOCK, SERIAL_BELOW, Threads};
use crate::scalar::Ring;

/// Sets all amplitudes to 0.
#[doc(hidden)]
pub fn clear<R: Ring>(amplitudes: &mut [R], threads: &Threads) {
    if !R::PARALLEL || amplitudes.len() < SERIAL_BELOW {
        return amplitudes.fill(R::zero());
    }
    threads.chunks(amplitudes, BLOCK, |_, part| part.fill(R::zero()));
}

/// |0…0>, over what was there: how an executor that has no better way begins [`StateHint::StartsAtZero`](super::StateHint::StartsAtZero).
pub fn reset_to_zero<R: Ring>(amplitudes: &mut [R], threads: &Threads) {
    clear(amplitudes, threads);
    if let Some(first) = amplitudes.first_mut() {
        *first = R::one();
    }
}
