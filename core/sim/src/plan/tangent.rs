//! States and their tangents through one plan: Hessian-vector products of circuits, tile by tile.
//!
//! Along a direction of the parameters each gate moves by `-i kappa P` with a Pauli string P, and
//! so do the states: the tangent goes through the same stages as its state, and where the plan has
//! an inner product with P it also takes `i kappa P |psi>`. See `tile::kick`.
//!
//! Invariant: sums are added in an order that depends on the number of qubits only.

use num_complex::Complex;
use num_traits::Zero;

use super::{Plan, PlanOptions, PlanPass, tile::TileBuffers};
use crate::kernel::{Operator, OverlapProbe, SimdFloat, StateHint, Threads, simd};

impl<E: SimdFloat> Plan<E> {
    /// Plans operators and takes `[psi, psi']` or `[psi, psi', lambda, lambda']` through them. At
    /// the place of each string P first `im <lambda|P|psi>` is taken and
    /// `im (<lambda'|P|psi> + <lambda|P|psi'>)`, and then `i kappa P` of each state is added to its
    /// tangent. The inner products are in the order of [`OverlapProbe::before`], and `kicks` has a
    /// kappa for each. Two states may begin as |0…0> and 0, and all be unwanted at the end, see
    /// [`StateHint`].
    ///
    /// # Panics
    /// Those of [`Plan::run_pair`].
    pub fn run_tangents(
        operators: &[Operator<Complex<E>>],
        (inners, kicks): (&[OverlapProbe], &[f64]),
        options: PlanOptions,
        states: &mut [&mut [Complex<E>]],
        threads: &Threads,
    ) -> Vec<[f64; 2]> {
        let size = states[0].len();
        let n_qubits = size.trailing_zeros() as usize;
        assert!(
            size == 1 << n_qubits && states.iter().all(|s| s.len() == size),
            "states of one size"
        );
        assert!(
            Plan::<E>::takes_pairs(n_qubits, options.set),
            "{n_qubits} qubits do not fill a register"
        );
        assert_eq!(inners.len(), kicks.len(), "a factor for each inner product");
        let options =
            if states.len() == 2 { options } else { options.without_hint(StateHint::StartsAtZero) };
        let mut plan = Plan::staged(n_qubits, operators, inners, options);
        plan.ordered_probes = true;
        let (mut pool, mut angle) = (TileBuffers::new(), plan.schedule.angle());
        let mut sums = vec![0.0; 2 * inners.len()];
        for (number, state) in states.iter_mut().enumerate() {
            plan.begin(state, threads);
            if options.state_hint == StateHint::StartsAtZero && number == 1 {
                state[0] = Complex::zero();
            }
        }
        for stage in plan.schedule.stages() {
            if threads.check().is_err() {
                break;
            }
            match plan.pass(stage, &mut angle, &mut pool) {
                PlanPass::Tile(stage) => {
                    stage.run_tangents(
                        states,
                        kicks,
                        threads,
                        options,
                        &plan.workspaces,
                        &mut sums,
                    );
                    stage.recycle(&mut pool);
                }
                PlanPass::Plain { operator, active_qubits: live } => {
                    for state in &mut *states {
                        plan.clear_collapsed(live, state, threads);
                        simd::apply(&operators[operator], state, threads, options.set);
                    }
                }
            }
        }
        states
            .iter_mut()
            .for_each(|state| plan.clear_collapsed(plan.schedule.active_qubits(), state, threads));
        let (values, changes) = sums.split_at(inners.len());
        values.iter().zip(changes).map(|(value, change)| [*value, *change]).collect()
    }
}
