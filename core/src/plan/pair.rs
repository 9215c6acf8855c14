//! Two states through one plan, with inner products on the way: the adjoint method, tile by tile.
//!
//! The circuit is undone on psi and on lambda in the same stages. Both tiles of a stage are in the cache together,
//! so an inner product `<lambda|P|psi>` costs no pass over memory. It is an operation of the plan like any
//! other: it may move past what commutes with its Pauli string P, and through X, CX and SWAP it becomes another
//! string, see `tile::inner`.
//!
//! Invariant: sums are added in an order that depends on the number of qubits only.

use num_complex::Complex;

use super::{Options, Pass, Plan, tile::Pool};
use crate::kernel::{Element, Inner, InstructionSet, Operator, Threads, simd};

impl<E: Element> Plan<E> {
    /// Whether tiles of states of n qubits fill registers.
    pub(super) fn takes_pairs(n_qubits: usize, set: InstructionSet) -> bool {
        n_qubits >= simd::shape::<E>(set).0 + 2
    }

    /// Plans operators and takes both states through them: `im <lambda|P|psi>` of each string at its place. The
    /// inner products are in the order of [`Inner::before`]. 2 scratch tiles for each thread.
    ///
    /// # Panics
    /// If the vectors are not states of one size that the operators fit, or their tiles would not fill a register
    /// (5 qubits do for any set in double precision, 6 in single).
    pub fn run_pair(
        operators: &[Operator<Complex<E>>],
        inners: &[Inner],
        options: Options,
        (psi, lambda): (&mut [Complex<E>], &mut [Complex<E>]),
        threads: &Threads,
    ) -> Vec<f64> {
        let n_qubits = psi.len().trailing_zeros() as usize;
        assert!(psi.len() == 1 << n_qubits && psi.len() == lambda.len(), "two states of one size");
        assert!(Plan::<E>::takes_pairs(n_qubits, options.set), "{n_qubits} qubits do not fill a register");
        let plan = Plan::staged(n_qubits, operators, inners, options);
        let (mut pool, mut angle) = (Pool::new(), plan.schedule.angle());
        let mut sums = vec![0.0; inners.len()];
        for stage in plan.schedule.stages() {
            match plan.pass(stage, &mut angle, &mut pool) {
                Pass::Tile(stage) => {
                    stage.run_pair((psi, lambda), threads, options.set, &plan.workspaces, &mut sums);
                    stage.recycle(&mut pool);
                }
                Pass::Plain { operator } => {
                    simd::apply(&operators[operator], psi, threads, options.set);
                    simd::apply(&operators[operator], lambda, threads, options.set);
                }
            }
        }
        sums
    }
}
