//! Two states through one plan, with inner products on the way: the adjoint method, tile by tile.
//!
//! The circuit is undone on psi and on lambda in the same stages. Both tiles of a stage are in the
//! cache together, so an inner product `<lambda|P|psi>` costs no pass over memory. It is an
//! operation of the plan like any other: it may move past what commutes with its Pauli string P,
//! and through X, CX and SWAP it becomes another string, see `tile::inner`.
//!
//! Invariant: sums are added in an order that depends on the number of qubits only.

use num_complex::Complex;

use super::{Plan, PlanOptions, PlanPass, tile::TileBuffers};
use crate::kernel::{InstructionSet, Operator, OverlapProbe, SimdFloat, StateHint, Threads, simd};

impl<E: SimdFloat> Plan<E> {
    /// Returns true if tiles of states of n qubits fill registers.
    pub(super) fn takes_pairs(n_qubits: usize, set: InstructionSet) -> bool {
        n_qubits >= simd::shape::<E>(set).0 + 2
    }

    /// Plans operators and takes both states through them: `im <lambda|P|psi>` of each string at
    /// its place. The inner products are in the order of [`OverlapProbe::before`]. Where psi ends
    /// as |0…0> ([`StateHint::EndsAtZero`]) they are all that is computed. 2 scratch tiles for each
    /// thread.
    ///
    /// # Panics
    /// If the vectors are not states of one size that the operators fit, or their tiles would not
    /// fill a register (5 qubits do for any set in double precision, 6 in single).
    pub fn run_pair(
        operators: &[Operator<Complex<E>>],
        inners: &[OverlapProbe],
        options: PlanOptions,
        (psi, lambda): (&mut [Complex<E>], &mut [Complex<E>]),
        threads: &Threads,
    ) -> Vec<f64> {
        let n_qubits = psi.len().trailing_zeros() as usize;
        assert!(psi.len() == 1 << n_qubits && psi.len() == lambda.len(), "two states of one size");
        assert!(
            Plan::<E>::takes_pairs(n_qubits, options.set),
            "{n_qubits} qubits do not fill a register"
        );
        let plan = Plan::staged(
            n_qubits,
            operators,
            inners,
            options.without_hint(StateHint::StartsAtZero),
        );
        let (mut pool, mut angle) = (TileBuffers::new(), plan.schedule.angle());
        let (mut sums, mut parts) = (vec![0.0; inners.len()], Vec::new());
        for stage in plan.schedule.stages() {
            if threads.check().is_err() {
                break;
            }
            match plan.pass(stage, &mut angle, &mut pool) {
                PlanPass::Tile(stage) => {
                    let sums = (sums.as_mut_slice(), &mut parts);
                    stage.run_pair((psi, lambda), threads, options, &plan.workspaces, sums);
                    stage.recycle(&mut pool);
                }
                PlanPass::Plain { operator, .. } => {
                    simd::apply(&operators[operator], psi, threads, options.set);
                    simd::apply(&operators[operator], lambda, threads, options.set);
                }
            }
        }
        sums
    }
}

/// Operators and inner products that are planned once and taken often, with these numbers and
/// others.
#[derive(Debug)]
pub struct PairPlan<E> {
    plan: Plan<E>,
    probes: Vec<OverlapProbe>,
    sums: Vec<f64>,
    /// The sums of each group of tiles.
    parts: Vec<f64>,
}

impl<E: SimdFloat> PairPlan<E> {
    /// Plans operators on n qubits and inner products between them, in the order of
    /// [`OverlapProbe::before`].
    ///
    /// # Panics
    /// If the operators do not fit, or tiles would not fill a register, as [`Plan::run_pair`].
    #[must_use]
    pub fn new(
        n_qubits: usize,
        operators: &[Operator<Complex<E>>],
        inners: &[OverlapProbe],
        options: PlanOptions,
    ) -> PairPlan<E> {
        assert!(
            Plan::<E>::takes_pairs(n_qubits, options.set),
            "{n_qubits} qubits do not fill a register"
        );
        let mut plan = Plan::staged(
            n_qubits,
            operators,
            inners,
            options.without_hint(StateHint::StartsAtZero),
        );
        plan.compile(operators);
        PairPlan { plan, probes: inners.to_vec(), sums: vec![0.0; inners.len()], parts: Vec::new() }
    }

    /// Puts other numbers in, as [`Plan::bind`]. The inner products stay.
    ///
    /// # Panics
    /// Those of [`PairPlan::new`].
    pub fn bind(&mut self, operators: &[Operator<Complex<E>>]) {
        if !self.plan.takes(operators, &self.probes) {
            *self = PairPlan::new(
                self.plan.schedule.n_qubits(),
                operators,
                &self.probes,
                self.plan.options,
            );
        }
    }

    /// Takes both states through the operators and returns the inner products. Once it has run,
    /// running it again on one thread allocates nothing.
    ///
    /// # Panics
    /// If the vectors are not states of n qubits.
    pub fn run(
        &mut self,
        psi: &mut [Complex<E>],
        lambda: &mut [Complex<E>],
        threads: &Threads,
    ) -> &[f64] {
        let PairPlan { plan, sums, parts, .. } = self;
        assert!(
            psi.len() == 1 << plan.schedule.n_qubits() && psi.len() == lambda.len(),
            "a plan for {} qubits",
            plan.schedule.n_qubits()
        );
        sums.fill(0.0);
        for pass in &plan.passes {
            if threads.check().is_err() {
                break;
            }
            match pass {
                PlanPass::Tile(stage) => {
                    let sums = (sums.as_mut_slice(), &mut *parts);
                    stage.run_pair(
                        (&mut *psi, &mut *lambda),
                        threads,
                        plan.options,
                        &plan.workspaces,
                        sums,
                    );
                }
                PlanPass::Plain { operator, .. } => {
                    simd::apply(&plan.operators[*operator], psi, threads, plan.options.set);
                    simd::apply(&plan.operators[*operator], lambda, threads, plan.options.set);
                }
            }
        }
        sums
    }
}
