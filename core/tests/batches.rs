//! Many states and many parameter points at once give what each gives alone.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    circuit::Circuit,
    kernel::{Executors, SHARED_BELOW, Threads},
    param::Values,
    simulate::{BoundCircuit, Simulator},
    state::{StateBatch, StateVector},
};
use num_complex::Complex;

/// One gate of every shape: phase, diagonal, swap, cycles, dense of 1, 2 and 3 qubits, controls.
fn every_shape(n: usize) -> Circuit {
    let mut c = Circuit::new(n);
    let theta = c.param("theta");
    for q in 0..n {
        c.ry(q, 0.3 + q as f64).unwrap().cx(q, (q + 1) % n).unwrap();
    }
    c.h(0).unwrap().t(1).unwrap().rz(2, 0.3).unwrap().swap(0, 4).unwrap().iswap(1, 3).unwrap();
    c.rxx(0, 2, 0.7).unwrap().rccx(4, 1, 2).unwrap().cx(3, 0).unwrap().ry(4, theta).unwrap();
    c.gphase(0.2).unwrap().cswap(0, 1, 2).unwrap().crx(4, 0, 1.3).unwrap().ccz(0, 1, 2).unwrap();
    c
}

#[test]
fn a_batch_of_small_states_equals_each_state_alone() {
    let bound = BoundCircuit::<Complex<f64>>::new(&every_shape(5), &Values(&[0.4])).unwrap();
    let operators = bound.operators().unwrap();
    for count in [0, 1, 2, 3, 7, 64, 100] {
        let states: Vec<_> =
            (0..count).map(|k| StateVector::random(5, k, &Threads::serial()).unwrap()).collect();
        let mut batch = StateBatch::new(&states).unwrap();
        assert_eq!((batch.len(), batch.is_empty()), (count as usize, count == 0));
        assert!(batch.is_empty() || batch.n_qubits() == 5);
        batch.apply(operators, &Executors::fast(), &Threads::new(2).unwrap()).unwrap();
        for (mut alone, together) in states.into_iter().zip(batch.into_states()) {
            for operator in operators {
                alone.apply(operator, &Threads::serial()).unwrap();
            }
            assert_eq!(alone, together, "{count} states");
        }
    }
}

#[test]
fn a_batch_of_larger_states_equals_runs_of_the_executor() {
    // The last ones are not shared among threads any more.
    let edge = SHARED_BELOW.trailing_zeros() as usize;
    for (n, count) in [(8, 5), (12, 3), (14, 2), (15, 5), (edge - 1, 2), (edge, 2)] {
        let bound = BoundCircuit::<Complex<f64>>::new(&every_shape(n), &Values(&[0.4])).unwrap();
        let operators = bound.operators().unwrap();
        let states: Vec<_> =
            (0..count).map(|k| StateVector::random(n, k, &Threads::serial()).unwrap()).collect();
        for threads in [1, 2, 3, 7] {
            let mut batch = StateBatch::new(&states).unwrap();
            batch.apply(operators, &Executors::fast(), &Threads::new(threads).unwrap()).unwrap();
            for (mut alone, together) in states.iter().cloned().zip(batch.into_states()) {
                Simulator::new().execute(operators, &mut alone, &mut |_, _| {}).unwrap();
                assert_eq!(alone, together, "{n} qubits, {threads} threads");
            }
        }
    }
}

#[test]
fn a_bound_circuit_with_other_numbers_is_the_circuit_bound_to_them() {
    let mut c = every_shape(5);
    let (theta, phi) = (c.param("theta"), c.param("phi"));
    c.rz(0, &phi).unwrap().rxx(1, 2, &theta).unwrap().crx(4, 0, &phi).unwrap().x(3).unwrap();
    c.pauli_rotation(&"X0 Y2 Z3".parse().unwrap(), &phi).unwrap();
    let bind = |c: &Circuit, at: &[f64]| BoundCircuit::<Complex<f64>>::new(c, &Values(at)).unwrap();
    // At 0 and pi rotations have simpler shapes than elsewhere.
    let points = [[0.4, -1.3], [0.0, 0.0], [2.2, 0.9], [std::f64::consts::PI, 0.0], [0.1, 0.2]];
    let mut bound = bind(&c, &points[0]);
    let mut noisy = c.clone();
    noisy.bit_flip(1, &phi).unwrap();
    let mut noisy_bound = bind(&noisy, &[0.4, 0.3]);
    let run = |bound: &BoundCircuit<Complex<f64>>| {
        let mut state = StateVector::zero(5).unwrap();
        for operator in bound.operators().unwrap() {
            state.apply(operator, &Threads::serial()).unwrap();
        }
        state
    };
    for at in points {
        bound.rebind(&c, &Values(&at)).unwrap();
        let expected = Simulator::new().run(&c, &at).unwrap();
        let overlap = expected.inner(&run(&bound), &Threads::serial()).unwrap();
        assert!((overlap - 1.0).norm() < 1e-12, "{overlap} at {at:?}");
        let strength = [at[0], at[1].abs() / 2.0];
        noisy_bound.rebind(&noisy, &Values(&strength)).unwrap();
        let expected = Simulator::new().run_density(&noisy, &strength).unwrap();
        let found = Simulator::new().average(&noisy_bound).unwrap();
        for (i, j) in (0..32).flat_map(|i| (0..32).map(move |j| (i, j))) {
            let off = (found.entry(i, j) - expected.entry(i, j)).norm();
            assert!(off < 1e-12, "{off} at {strength:?}");
        }
    }
}

#[test]
fn operators_beyond_the_states_are_refused() {
    let bound = BoundCircuit::<Complex<f64>>::new(&every_shape(9), &Values(&[0.4])).unwrap();
    let states = [StateVector::zero(5).unwrap(), StateVector::zero(5).unwrap()];
    let mut batch = StateBatch::new(&states).unwrap();
    let before = batch.clone();
    assert!(
        batch.apply(bound.operators().unwrap(), &Executors::fast(), &Threads::serial()).is_err()
    );
    assert_eq!(batch, before, "nothing was applied");
}

#[test]
fn states_of_different_sizes_are_refused() {
    let states = [StateVector::<f64>::zero(2).unwrap(), StateVector::zero(3).unwrap()];
    assert_eq!(
        StateBatch::new(&states).unwrap_err().to_string(),
        "states of 2 and 3 qubits cannot be compared"
    );
}

#[test]
fn a_batch_of_points_equals_single_runs() {
    // Shared among points, planned and shared, and planned once.
    for (n, points) in [(5, 37), (14, 3), (15, 5), (17, 3)] {
        let circuit = every_shape(n);
        // At pi and 0 a rotation has a simpler shape than elsewhere.
        let special = [0.0, std::f64::consts::PI, 0.3];
        let point = |k: usize| vec![special.get(k).copied().unwrap_or(0.1 * k as f64)];
        let points: Vec<Vec<f64>> = (0..points).map(point).collect();
        for threads in [1, 2, 3] {
            let simulator = Simulator::new().with_threads(Threads::new(threads).unwrap());
            let together = simulator.run_points(&circuit, &points).unwrap();
            assert_eq!(together.len(), points.len());
            for (point, state) in points.iter().zip(together) {
                assert_eq!(
                    Simulator::new().run(&circuit, point).unwrap(),
                    state,
                    "{n} qubits at {point:?}"
                );
            }
        }
    }
    let (circuit, points) = (every_shape(5), vec![vec![0.1]; 37]);
    let limited = Simulator::new().with_memory_limit(36 * 32 * 16);
    assert!(
        limited.run_points(&circuit, &points).unwrap_err().to_string().contains("are available")
    );
    assert!(limited.run_points::<f64>(&circuit, &[]).unwrap().is_empty());
    assert!(
        limited.run_points(&circuit, &[vec![0.1], vec![]]).is_err(),
        "a point without its value"
    );
}
