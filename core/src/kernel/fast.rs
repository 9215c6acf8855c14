//! The executor for `Complex<f32>` and `Complex<f64>`: vector registers.

use num_complex::Complex;

use super::{
    ExecuteError, Executor, Operator, Threads,
    simd::{self, Element, InstructionSet},
};

/// Kernels of vector registers, with the instructions that this processor has.
#[derive(Clone, Copy, Debug)]
pub struct Fast {
    set: InstructionSet,
}

impl Fast {
    /// The fastest instructions of this processor.
    #[must_use]
    pub fn new() -> Fast {
        Fast { set: InstructionSet::detect() }
    }

    /// The given instructions; `None` if this processor does not have them.
    #[must_use]
    pub fn with(set: InstructionSet) -> Option<Fast> {
        set.is_available().then_some(Fast { set })
    }

    /// The instructions in use.
    #[must_use]
    pub fn instruction_set(&self) -> InstructionSet {
        self.set
    }
}

impl Default for Fast {
    fn default() -> Fast {
        Fast::new()
    }
}

impl<E: Element> Executor<Complex<E>> for Fast {
    fn name(&self) -> &str {
        "fast"
    }
    /// A tenth of the generic kernels' cost, wherever they take more than a few registers.
    fn cost(&self, n_qubits: usize, operators: usize) -> Option<f64> {
        Some((n_qubits as f64).exp2() * operators as f64 * 0.1)
    }
    fn run(
        &self,
        operators: &[Operator<Complex<E>>],
        amplitudes: &mut [Complex<E>],
        threads: &Threads,
    ) -> Result<(), ExecuteError> {
        for operator in operators {
            simd::apply(operator, amplitudes, threads, self.set);
        }
        Ok(())
    }
}
