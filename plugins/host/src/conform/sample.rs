//! Samples of a device for known uniform numbers.

use ketgrad_core::{
    kernel::{DeviceStateVector, DeviceStates, ExecuteError, SimdFloat, Threads},
    simulate::StateHandle,
    state::StateVector,
};
use num_complex::Complex;

use super::compare::{SplitMix64, largest, ours, random, upload};
use crate::device::Device;

/// Returns uniform numbers that ascend, with the smallest and the largest possible ones.
fn uniforms(count: usize) -> Vec<f64> {
    let mut dice = SplitMix64(20);
    let mut all: Vec<f64> = (0..count).map(|_| dice.unit()).collect();
    all.extend([0.0, 0.0, 0.5, 1.0 - f64::EPSILON / 2.0]);
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// Largest distance of a uniform number from the share of its outcome; and for the same seed the
/// counts of the core, but for shots that fall between two outcomes.
pub(super) fn samples<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let state = random::<E>(n, 21)?;
    let there = upload(device, &state)?;
    let weights = state.amplitudes().iter().map(|a| {
        let (re, im): (f64, f64) = (a.re.into(), a.im.into());
        re * re + im * im
    });
    let ends: Vec<f64> = weights
        .scan(0.0, |sum, w| {
            *sum += w;
            Some(*sum)
        })
        .collect();
    let total = ends[ends.len() - 1];
    let uniforms = uniforms(5000);
    let outside = there.sample(&uniforms)?.into_iter().zip(&uniforms).map(|(i, u)| {
        let start = if i == 0 { 0.0 } else { ends[i - 1] };
        (start - u * total).max(u * total - ends[i]).max(0.0)
    });
    let outside = largest(outside);

    let (shots, serial) = (20_000, Threads::serial());
    let here = state.sample_counts(shots, 22, &serial).map_err(ours)?;
    let there = StateHandle::Device(there).sample_counts(shots, 22, &serial).map_err(ours)?;
    let here: std::collections::BTreeMap<usize, u64> = here.into_iter().collect();
    let common: u64 = there.iter().map(|(i, c)| (*c).min(here.get(i).copied().unwrap_or(0))).sum();
    // In single precision one number in a thousand may fall to a neighbour.
    let apart = shots as u64 - common;
    Ok(if apart <= shots as u64 / 1000 { outside } else { 1.0 })
}

/// Outcomes that cannot occur never do, at either end of a state and between.
pub(super) fn few<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let half = E::round_from(std::f64::consts::FRAC_1_SQRT_2);
    let mut wrong = 0;
    for pair in [[1, 3], [0, (1 << n) - 1], [(1 << (n - 1)) - 1, 1 << (n - 1)]] {
        let mut state = StateVector::<Complex<E>>::basis(n, 0).map_err(ours)?;
        state.amplitudes_mut()[0].re = E::round_from(0.0);
        pair.iter().for_each(|&i| state.amplitudes_mut()[i].re = half);
        let uniforms = uniforms(100);
        let given = upload(device, &state)?.sample(&uniforms)?;
        let expected = uniforms.iter().map(|u| pair[usize::from(*u >= 0.5)]);
        wrong += given.iter().zip(expected).filter(|(a, b)| *a != b).count();
    }
    let there: Box<dyn DeviceStateVector<Complex<E>>> = device.basis(n, 5)?;
    wrong += there.sample(&uniforms(50))?.into_iter().filter(|i| *i != 5).count();
    Ok(wrong as f64)
}
