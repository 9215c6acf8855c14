//! Gate kernels on the host's memory that compute correctly, unless the option `kernel` says
//! otherwise.

use ketgrad_plugin_sdk::{C64, Gates, HostKernels, Par, Query, Result};

/// Gate kernels that misbehave as `how` says (`nothing`, `error`, `score`, `declines`) or work; and
/// their name.
pub(crate) struct MisbehavingKernels {
    pub(crate) how: String,
    pub(crate) name: String,
}

impl HostKernels for MisbehavingKernels {
    fn name(&self) -> String {
        self.name.clone()
    }
    fn score(&self, _: &Query) -> i32 {
        assert!(self.how != "score", "a panic of the score");
        if self.how == "declines" { 0 } else { 1000 }
    }
    fn apply(&self, _: &Par<'_>, amplitudes: &mut [C64], gates: Gates<'_>) -> Result<()> {
        match self.how.as_str() {
            "nothing" => return Ok(()),
            "error" => return Err("does not want".into()),
            _ => {}
        }
        for gate in gates.iter() {
            let (mask, value) = (gate.control_mask as usize, gate.control_value as usize);
            let offsets = gate.offsets();
            let dim = offsets.len();
            for base in 0..amplitudes.len() {
                if base & offsets[dim - 1] != 0 || base & mask != value {
                    continue;
                }
                let old: Vec<C64> =
                    offsets.iter().map(|offset| amplitudes[base | offset]).collect();
                for (row, offset) in offsets.iter().enumerate() {
                    amplitudes[base | offset] =
                        (0..dim).map(|column| gate.matrix[row * dim + column] * old[column]).sum();
                }
            }
        }
        Ok(())
    }
}
