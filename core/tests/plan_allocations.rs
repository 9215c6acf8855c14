//! Running allocates nothing: a plan that has run once, and gates one by one.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    circuit::Circuit,
    kernel::{Executor, InstructionSet, Operator, SimdFloat, Threads},
    observable::PauliString,
    param::Values,
    plan::{Fast, Plan, PlanOptions},
    simulate::BoundCircuit,
    state::StateVector,
};
use num_complex::Complex;
use support::requests::requests;

/// Rotations, controlled phases, permutations and a dense block, in layers, so that several stages
/// need tables, products and frames.
fn circuit(n: usize, turn: f64) -> Circuit {
    let mut c = Circuit::new(n);
    for layer in 0..3 {
        for q in 0..n {
            let other = (q + 1 + layer) % n;
            c.rx(q, turn + q as f64).unwrap().rz(q, turn * 0.7).unwrap();
            if other != q {
                c.cx(q, other).unwrap().cp(other, q, 0.3 + turn).unwrap();
                c.rxx(q, other, turn).unwrap().crx(other, q, turn).unwrap();
                let string = PauliString::from_masks(1 << q | 1, 1 << other | 1 << q).unwrap();
                c.pauli_rotation(&string, turn).unwrap();
            }
        }
    }
    c
}

fn operators<E: SimdFloat>(c: &Circuit) -> Vec<Operator<Complex<E>>> {
    BoundCircuit::new(c, &Values::<E>(&[])).unwrap().operators().unwrap().to_vec()
}

fn nothing_is_allocated<E: SimdFloat>(n: usize) {
    let threads = Threads::serial();
    for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
        let mut state = StateVector::<Complex<E>>::zero(n).unwrap();
        let first = operators::<E>(&circuit(n, 0.4));
        let options = PlanOptions::new(set, n).with_tile_qubits(9);
        let mut plan = Plan::new(n, &first, options);
        assert!(requests(|| drop(Plan::new(n, &first, options))) > 0, "the allocator counts");
        for turn in [0.4, 0.9] {
            plan.bind(&operators::<E>(&circuit(n, turn)));
            plan.run(state.amplitudes_mut(), &threads);
            let again = requests(|| plan.run(state.amplitudes_mut(), &threads));
            assert_eq!(again, 0, "{n} qubits, {set}: a plan that runs again");
        }
        let fast = Fast::with(set).unwrap().planning_from(64);
        let by_gates = requests(|| fast.run(&first, state.amplitudes_mut(), &threads).unwrap());
        assert_eq!(by_gates, 0, "{n} qubits, {set}: {} gates one by one", first.len());
    }
}

#[test]
fn running_allocates_nothing() {
    for n in [1, 2, 4, 10, 12] {
        nothing_is_allocated::<f64>(n);
        nothing_is_allocated::<f32>(n);
    }
}
