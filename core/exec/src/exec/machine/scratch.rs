//! Scratch memory, which is used again.

use crate::{array::Array, scalar::Scalar};

use super::kernel_plan::KernelPlan;

/// Scratch memory of kernels: the results of steps for one chunk, operands broadcast for one, and
/// the plans.
#[derive(Debug)]
pub(super) struct KernelScratch<S: Scalar> {
    pub(super) reals: Vec<Vec<S::Real>>,
    pub(super) complexes: Vec<Vec<S>>,
    pub(super) plans: Vec<Option<KernelPlan>>,
}

impl<S: Scalar> KernelScratch<S> {
    pub(super) fn new() -> KernelScratch<S> {
        KernelScratch { reals: Vec::new(), complexes: Vec::new(), plans: Vec::new() }
    }
}

/// Scratch memory of small programs.
#[derive(Debug)]
pub(super) struct SmallScratch<T> {
    pub(super) numbers: Vec<T>,
    pub(super) offsets: Vec<usize>,
    /// The factors and the product of matrices.
    pub(super) matrices: [Array<T>; 3],
}

impl<T> SmallScratch<T> {
    pub(super) fn new() -> SmallScratch<T> {
        SmallScratch { numbers: Vec::new(), offsets: Vec::new(), matrices: Default::default() }
    }
}
