//! Timers of gradients.

use std::time::Instant;

/// Seconds spent on each number.
const BUDGET: f64 = 0.25;

/// Numbers between -1 and 1 that look random.
#[must_use]
pub fn noise(n: usize, seed: f64) -> Vec<f64> {
    (0..n)
        .map(|k| (12.9898 * (k as f64 + seed)).sin() * 43_758.545_3)
        .map(|x| 2.0 * (x - x.floor()) - 1.0)
        .collect()
}

/// The least and the median time of a call.
pub fn time(mut f: impl FnMut()) -> (f64, f64) {
    let mut calls = 1u32;
    let mut once = |calls: u32| {
        let start = Instant::now();
        (0..calls).for_each(|_| f());
        start.elapsed().as_secs_f64()
    };
    while once(calls) < 1e-3 {
        calls *= 2;
    }
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || start.elapsed().as_secs_f64() < BUDGET {
        times.push(once(calls) / f64::from(calls));
    }
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}
