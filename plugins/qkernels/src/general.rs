//! Kernel of any operator, by the loop over all indices.

use ketgrad_plugin_sdk::{C64, Gate};

/// Computes `(x, y) = (a x + b y, c x + d y)` along two runs.
pub(crate) fn pair(zeros: &mut [C64], ones: &mut [C64], [a, b, c, d]: [C64; 4]) {
    for (x, y) in zeros.iter_mut().zip(ones) {
        (*x, *y) = (a * *x + b * *y, c * *x + d * *y);
    }
}

/// Applies an operator with any targets and controls. O(2^n 2^t).
pub(crate) fn apply(amplitudes: &mut [C64], gate: &Gate<'_>) {
    let offsets = gate.offsets();
    let dim = offsets.len();
    let all = offsets.last().copied().unwrap_or(0);
    let (mask, value) = (gate.control_mask as usize, gate.control_value as usize);
    let mut old = vec![C64::default(); dim];
    for base in 0..amplitudes.len() {
        if base & all != 0 || base & mask != value {
            continue;
        }
        if gate.is_diagonal {
            for (offset, factor) in offsets.iter().zip(gate.matrix) {
                amplitudes[base | offset] *= factor;
            }
            continue;
        }
        for (old, offset) in old.iter_mut().zip(&offsets) {
            *old = amplitudes[base | offset];
        }
        for (row, offset) in gate.matrix.chunks_exact(dim).zip(&offsets) {
            amplitudes[base | offset] = row.iter().zip(&old).map(|(m, x)| m * x).sum();
        }
    }
}
