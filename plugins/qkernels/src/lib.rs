//! Kernels for state vectors as a plugin: AVX-512 or AVX2, by the processor.
//!
//! It shows how a plugin adds kernels, and that they cost as much as the same kernels in the host:
//! one call for each run of gates. An operator on one qubit walks pairs of runs of 2^t amplitudes
//! with vector registers; an operator of more targets, and runs shorter than a register, take the
//! loop over all indices.
//!
//! Option `score`: the score of the kernels; that of the built-in kernels is 100, which is also the
//! default.

mod general;
#[cfg(target_arch = "x86_64")]
mod vectors;

use ketgrad_plugin_sdk::{
    C64, Gate, Gates, HostKernels, Par, Plugin, Query, Registrar, Result, export_plugin, gate_kinds,
};

struct QKernels;

export_plugin!(QKernels, "qkernels", env!("CARGO_PKG_VERSION"));

impl Plugin for QKernels {
    fn register(&self, registrar: &mut Registrar<'_>) -> Result<()> {
        let score = match registrar.option("score") {
            None => 100,
            Some(text) => {
                text.parse().map_err(|_| format!("score = {text}: expected a whole number"))?
            }
        };
        registrar.kernels(Kernels { score, set: VectorExtension::detect() })
    }
}

/// Vector instruction set of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VectorExtension {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    None,
}

impl VectorExtension {
    fn detect() -> VectorExtension {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            // AVX-512 alone would leave short runs without AVX2.
            if has!("avx2") && has!("fma") {
                return if has!("avx512f") {
                    VectorExtension::Avx512
                } else {
                    VectorExtension::Avx2
                };
            }
        }
        VectorExtension::None
    }
}

struct Kernels {
    score: i32,
    set: VectorExtension,
}

impl HostKernels for Kernels {
    fn name(&self) -> String {
        "qkernels".to_owned()
    }
    fn score(&self, _: &Query) -> i32 {
        if self.set == VectorExtension::None { 0 } else { self.score }
    }
    fn gates(&self) -> u32 {
        gate_kinds::DIAGONAL
    }
    fn max_targets(&self) -> u32 {
        4
    }
    fn apply(&self, par: &Par<'_>, amplitudes: &mut [C64], gates: Gates<'_>) -> Result<()> {
        gates.iter().try_for_each(|gate| self.one(par, amplitudes, &gate))
    }
}

impl Kernels {
    fn one(&self, par: &Par<'_>, amplitudes: &mut [C64], gate: &Gate<'_>) -> Result<()> {
        if let (&[target], false, 0, &[a, b, c, d]) =
            (gate.targets, gate.is_diagonal, gate.control_mask, gate.matrix)
        {
            let half = 1usize << target;
            // Blocks of the two runs that belong together; several small ones a part.
            let part = (2 * half).max(PART).min(amplitudes.len());
            return par.chunks_mut(amplitudes, part, |_, part| {
                for block in part.chunks_exact_mut(2 * half) {
                    let (zeros, ones) = block.split_at_mut(half);
                    self.pair(zeros, ones, [a, b, c, d]);
                }
            });
        }
        general::apply(amplitudes, gate);
        Ok(())
    }

    /// Computes `(x, y) = (a x + b y, c x + d y)` along two runs.
    #[inline]
    #[allow(unsafe_code, reason = "vector instructions of a set that the processor has")]
    fn pair(&self, zeros: &mut [C64], ones: &mut [C64], matrix: [C64; 4]) {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a set is chosen where the processor has it.
            VectorExtension::Avx512 if zeros.len() >= 4 => unsafe {
                vectors::avx512(zeros, ones, matrix)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a set is chosen where the processor has it, and AVX2 where it has AVX-512.
            VectorExtension::Avx2 | VectorExtension::Avx512 if zeros.len() >= 2 => unsafe {
                vectors::avx2(zeros, ones, matrix)
            },
            _ => general::pair(zeros, ones, matrix),
        }
    }
}

/// Number of amplitudes of a part of work: 2^14 of 16 bytes are a quarter of a second-level cache.
const PART: usize = 1 << 14;
