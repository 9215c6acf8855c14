//! Many states and many parameter points at once give what each gives alone.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    circuit::Circuit,
    kernel::Threads,
    param::Values,
    simulate::{BoundCircuit, Simulator},
    state::{StateBatch, StateVector},
};
use num_complex::Complex;

/// One gate of every shape: phase, diagonal, swap, cycles, dense of 1, 2 and 3 qubits, controls.
fn every_shape() -> Circuit {
    let mut c = Circuit::new(5);
    let theta = c.param("theta");
    c.h(0).unwrap().t(1).unwrap().rz(2, 0.3).unwrap().swap(0, 4).unwrap().iswap(1, 3).unwrap();
    c.rxx(0, 2, 0.7).unwrap().rccx(4, 1, 2).unwrap().cx(3, 0).unwrap().ry(4, theta).unwrap();
    c.gphase(0.2).unwrap().cswap(0, 1, 2).unwrap().crx(4, 0, 1.3).unwrap().ccz(0, 1, 2).unwrap();
    c
}

#[test]
fn q13_a_batch_of_states_equals_each_state_alone() {
    let bound = BoundCircuit::<Complex<f64>>::new(&every_shape(), &Values(&[0.4])).unwrap();
    let operators = bound.operators().unwrap();
    for count in [0, 1, 2, 3, 7, 64, 100] {
        let states: Vec<_> =
            (0..count).map(|k| StateVector::random(5, k, &Threads::serial()).unwrap()).collect();
        let mut batch = StateBatch::new(&states).unwrap();
        assert_eq!(batch.len(), count as usize);
        batch.apply(operators, &Threads::new(2).unwrap()).unwrap();
        for (mut alone, together) in states.into_iter().zip(batch.into_states()) {
            for operator in operators {
                alone.apply(operator, &Threads::serial()).unwrap();
            }
            assert_eq!(alone, together, "{count} states");
        }
    }
}

#[test]
fn q13_states_of_different_sizes_are_refused() {
    let states = [StateVector::<f64>::zero(2).unwrap(), StateVector::zero(3).unwrap()];
    assert_eq!(
        StateBatch::new(&states).unwrap_err().to_string(),
        "states of 2 and 3 qubits cannot be compared"
    );
}

#[test]
fn q13_points_equal_single_runs() {
    let circuit = every_shape();
    let points: Vec<Vec<f64>> = (0..37).map(|k| vec![0.1 * f64::from(k)]).collect();
    let parallel = Simulator { threads: Threads::new(2).unwrap(), ..Simulator::default() };
    let together = parallel.run_points(&circuit, &points).unwrap();
    for (point, state) in points.iter().zip(together) {
        assert_eq!(Simulator::new().run(&circuit, point).unwrap(), state);
    }
    let limited = Simulator { memory_limit: Some(36 * 32 * 16), ..Simulator::default() };
    assert!(limited.run_points(&circuit, &points).unwrap_err().to_string().contains("are available"));
}
