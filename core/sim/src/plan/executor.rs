//! The executor for `Complex<f32>` and `Complex<f64>`: vector registers, and plans where they pay.

use std::sync::Arc;

use num_complex::Complex;

use super::{PairPlan, Plan, PlanOptions, lower::collapses};
use crate::{
    kernel::{
        ExecuteError, Executor, Executors, InstructionSet, Operator, OperatorShape, OverlapProbe,
        PairExecutor, PreparedObservable, PreparedOperators, PreparedPair, SimdFloat, StateHint,
        Threads, reset_to_zero, simd,
    },
    pauli::PauliMasks,
};

/// States of fewer qubits run gate by gate: they are in the second cache, and a plan takes longer
/// to make than it saves. (A plan that is made once and run often pays for all sizes, see
/// [`Plan::bind`].)
const PLAN_FROM: usize = 15;

/// Number of operators from which on they are planned, on `PLAN_FROM_FEW` qubits and more; twice as
/// many for each qubit less.
const PLAN_OPERATORS: usize = 6;
const PLAN_FROM_FEW: usize = 17;

/// Number of qubits from which on operators are planned if most of them are gone then, and if there
/// are enough of them.
const COLLAPSE_FROM: usize = 11;
const COLLAPSE_OPERATORS: usize = 4096;

/// Number of qubits from which on operators are planned if half of them are about Pauli strings,
/// and if there are enough of them: a pass for one takes both products for each amplitude, which in
/// a plan many share.
const STRINGS_FROM: usize = 13;
const STRINGS_OPERATORS: usize = 64;

/// Kernels of vector registers, with the instructions that this processor has; many operators on a
/// large state are planned.
#[derive(Clone, Copy, Debug)]
pub struct Fast {
    set: InstructionSet,
    plan_from: usize,
}

impl Fast {
    /// Returns the fastest instructions of this processor.
    #[must_use]
    pub fn new() -> Fast {
        Fast { set: InstructionSet::detect(), plan_from: PLAN_FROM }
    }

    /// Returns the given instructions; `None` if this processor does not have them.
    #[must_use]
    pub fn with(set: InstructionSet) -> Option<Fast> {
        set.is_available().then_some(Fast { set, ..Fast::new() })
    }

    /// Plans for states of at least this number of qubits, where by itself it would choose.
    #[must_use]
    pub fn planning_from(self, n_qubits: usize) -> Fast {
        Fast { plan_from: n_qubits, ..self }
    }

    /// Returns true if the executor plans these operators.
    fn plans_these<E: SimdFloat>(
        &self,
        n_qubits: usize,
        operators: &[Operator<Complex<E>>],
    ) -> bool {
        let many = self.plan_from <= PLAN_FROM
            && n_qubits >= COLLAPSE_FROM
            && operators.len() >= COLLAPSE_OPERATORS;
        let strings = self.plan_from <= PLAN_FROM
            && n_qubits >= STRINGS_FROM
            && operators.len() >= STRINGS_OPERATORS
            && 2 * operators
                .iter()
                .filter(|o| matches!(o.shape(), OperatorShape::PauliString { .. }))
                .count()
                >= operators.len();
        self.plans(n_qubits, operators.len()) || strings || many && collapses(operators)
    }

    /// Returns true if this number of operators is planned, whatever they are.
    fn plans(&self, n_qubits: usize, operators: usize) -> bool {
        let enough = PLAN_OPERATORS << PLAN_FROM_FEW.saturating_sub(n_qubits.max(PLAN_FROM));
        n_qubits >= self.plan_from && operators >= enough
    }

    fn plan<E: SimdFloat>(
        &self,
        n_qubits: usize,
        operators: &[Operator<Complex<E>>],
        hint: StateHint,
    ) -> Plan<E> {
        Plan::new(
            n_qubits,
            operators,
            PlanOptions { state_hint: hint, ..PlanOptions::new(self.set, n_qubits) },
        )
    }

    /// Returns the instructions in use.
    #[must_use]
    pub fn instruction_set(&self) -> InstructionSet {
        self.set
    }
}

/// Returns an error if the work was cancelled, so that a plan may have ended early. A token that
/// was cancelled stays so.
fn finished(threads: &Threads) -> Result<(), ExecuteError> {
    threads.check().map_err(|_| ExecuteError::cancelled("fast"))
}

impl Default for Fast {
    fn default() -> Fast {
        Fast::new()
    }
}

impl<E: SimdFloat> Executor<Complex<E>> for Fast {
    fn name(&self) -> &str {
        "fast"
    }

    /// Returns a quarter of the generic kernels' cost, which is at least what vector registers
    /// save.
    fn cost(&self, n_qubits: usize, operators: usize) -> Option<f64> {
        Some((n_qubits as f64).exp2() * operators as f64 * 0.25)
    }

    fn run(
        &self,
        operators: &[Operator<Complex<E>>],
        amplitudes: &mut [Complex<E>],
        threads: &Threads,
    ) -> Result<(), ExecuteError> {
        self.run_reporting(operators, StateHint::Arbitrary, amplitudes, threads, &mut |_| {})
    }

    fn prepare(
        &self,
        n_qubits: usize,
        operators: &[Operator<Complex<E>>],
        hint: StateHint,
    ) -> Option<Box<dyn PreparedOperators<Complex<E>>>> {
        let plans = self.plans_these(n_qubits, operators);
        plans.then(|| Box::new(self.plan::<E>(n_qubits, operators, hint)) as _)
    }

    fn pair_executor(&self, n_qubits: usize) -> Option<&dyn PairExecutor<Complex<E>>> {
        Plan::<E>::takes_pairs(n_qubits, self.set).then_some(self)
    }

    fn run_reporting(
        &self,
        operators: &[Operator<Complex<E>>],
        hint: StateHint,
        amplitudes: &mut [Complex<E>],
        threads: &Threads,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(), ExecuteError> {
        let n_qubits = amplitudes.len().trailing_zeros() as usize;
        if self.plans_these(n_qubits, operators) {
            let options = PlanOptions { state_hint: hint, ..PlanOptions::new(self.set, n_qubits) };
            let mut told = 0;
            Plan::run_once(operators, options, amplitudes, threads, &mut |done, all| {
                told = operators.len() * done / all;
                progress(told);
            });
            finished(threads)?;
            if told < operators.len() {
                progress(operators.len());
            }
            return Ok(());
        }
        if hint == StateHint::StartsAtZero {
            reset_to_zero(amplitudes, threads);
        }
        for (number, operator) in operators.iter().enumerate() {
            finished(threads)?;
            simd::apply(operator, amplitudes, threads, self.set);
            progress(number + 1);
        }
        Ok(())
    }

    fn planning_error(&self, n_qubits: usize, operators: &[Operator<Complex<E>>]) -> f64 {
        match self.plans_these(n_qubits, operators) {
            true => self.plan::<E>(n_qubits, operators, StateHint::Arbitrary).deviation(),
            false => 0.0,
        }
    }

    fn skips_zeros(&self, n_qubits: usize, operators: usize) -> bool {
        self.plans(n_qubits, operators)
    }
}

impl<E: SimdFloat> PairExecutor<Complex<E>> for Fast {
    fn run(
        &self,
        operators: &[Operator<Complex<E>>],
        inners: &[OverlapProbe],
        hint: StateHint,
        psi: &mut [Complex<E>],
        lambda: &mut [Complex<E>],
        threads: &Threads,
    ) -> Result<Vec<f64>, ExecuteError> {
        let n_qubits = psi.len().trailing_zeros() as usize;
        let options = PlanOptions { state_hint: hint, ..PlanOptions::new(self.set, n_qubits) };
        let products = Plan::run_pair(operators, inners, options, (psi, lambda), threads);
        finished(threads).map(|()| products)
    }

    fn run_tangents(
        &self,
        operators: &[Operator<Complex<E>>],
        along: (&[OverlapProbe], &[f64]),
        hint: StateHint,
        states: &mut [&mut [Complex<E>]],
        threads: &Threads,
    ) -> Result<Option<Vec<[f64; 2]>>, ExecuteError> {
        let n_qubits = states.first().map_or(0, |state| state.len().trailing_zeros() as usize);
        let options = PlanOptions { state_hint: hint, ..PlanOptions::new(self.set, n_qubits) };
        let products = Plan::run_tangents(operators, along, options, states, threads);
        finished(threads).map(|()| Some(products))
    }

    fn prepare_run(
        &self,
        n_qubits: usize,
        operators: &[Operator<Complex<E>>],
        hint: StateHint,
    ) -> Option<Box<dyn PreparedOperators<Complex<E>>>> {
        Some(Box::new(self.plan::<E>(n_qubits, operators, hint)))
    }

    fn prepare(
        &self,
        n_qubits: usize,
        operators: &[Operator<Complex<E>>],
        inners: &[OverlapProbe],
        hint: StateHint,
    ) -> Option<Box<dyn PreparedPair<Complex<E>>>> {
        let options = PlanOptions { state_hint: hint, ..PlanOptions::new(self.set, n_qubits) };
        Some(Box::new(PairPlan::new(n_qubits, operators, inners, options)))
    }

    fn prepare_observable(
        &self,
        n_qubits: usize,
        terms: &[(f64, PauliMasks)],
    ) -> Option<Box<dyn PreparedObservable<Complex<E>>>> {
        let products = simd::FlipProduct::of_terms(terms.iter().copied());
        Some(Box::new(simd::PauliMap::<E>::new(n_qubits, &products, self.set)?))
    }
}

impl<E: SimdFloat> PreparedPair<Complex<E>> for PairPlan<E> {
    fn bind(&mut self, operators: &[Operator<Complex<E>>]) {
        PairPlan::bind(self, operators);
    }

    fn run(
        &mut self,
        psi: &mut [Complex<E>],
        lambda: &mut [Complex<E>],
        threads: &Threads,
    ) -> Result<&[f64], ExecuteError> {
        let products = PairPlan::run(self, psi, lambda, threads);
        finished(threads).map(|()| products)
    }
}

impl<E: SimdFloat> PreparedOperators<Complex<E>> for Plan<E> {
    fn bind(&mut self, operators: &[Operator<Complex<E>>]) {
        Plan::bind(self, operators);
    }

    fn run(&self, amplitudes: &mut [Complex<E>], threads: &Threads) -> Result<(), ExecuteError> {
        Plan::run(self, amplitudes, threads);
        finished(threads)
    }
}

impl Executors {
    /// Returns the generic kernels, and [`Fast`] for `Complex<f32>` and `Complex<f64>`.
    #[must_use]
    pub fn fast() -> Executors {
        let mut executors = Executors::new();
        executors.insert::<Complex<f32>>(Arc::new(Fast::new()));
        executors.insert::<Complex<f64>>(Arc::new(Fast::new()));
        executors
    }
}
