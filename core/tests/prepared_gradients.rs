//! A prepared gradient at another point allocates nothing, but where it is planned anew, and is the gradient.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "support/requests.rs"]
mod requests;

use ketgrad_core::{
    circuit::Circuit,
    hybrid::Expectation,
    kernel::{Element, Executors, InstructionSet},
    observable::PauliSum,
    plan::Fast,
    simulate::Simulator,
};
use num_complex::Complex;
use requests::requests;

/// Rotations of one and two qubits, phases, controls and permutations; parameters are shared.
fn circuit(n: usize) -> Circuit {
    let mut c = Circuit::new(n);
    let mut w = c.param_list("w", 6 * n).into_iter();
    let all = c.param("all");
    for q in 0..n {
        let other = (q + 1) % n;
        c.h(q).unwrap().ry(q, w.next().unwrap()).unwrap().rz(q, w.next().unwrap()).unwrap();
        c.rx(q, w.next().unwrap() * 2 + all.clone()).unwrap().p(q, w.next().unwrap()).unwrap();
        c.cx(q, other).unwrap().rzz(q, other, w.next().unwrap()).unwrap();
        c.cp(other, q, w.next().unwrap()).unwrap().rz(q, all.clone()).unwrap();
    }
    c
}

fn allocates_nothing<E: Element>(n: usize, tolerance: f64)
where
    Complex<E>: Send + Sync,
{
    let observables = ["Z0 Z1 + 0.5*X2 - Y0 X3", "X0 + Z3"].map(|o| o.parse::<PauliSum>().unwrap());
    for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
        let mut executors = Executors::new();
        executors.insert::<Complex<E>>(std::sync::Arc::new(Fast::with(set).unwrap()));
        let simulator = Simulator { executors, ..Simulator::new() };
        let energy = Expectation::new(circuit(n), observables.clone()).unwrap().with_simulator(simulator);
        let mut prepared = energy.prepare::<E>().unwrap();
        let mut gradient = vec![E::zero(); energy.n_inputs()];
        let point = |shift: f64| -> Vec<E> {
            (0..energy.n_inputs()).map(|k| E::round_from((shift + k as f64).sin() * 4.0)).collect()
        };
        for shift in [0.0, 1.0, 2.0] {
            prepared.value_and_gradient(&point(shift), &mut gradient).unwrap();
        }
        for shift in [3.0, 4.5, 6.1, 9.7] {
            let at = point(shift);
            let mut value = E::zero();
            prepared.value_and_gradient(&at, &mut gradient).unwrap();
            // Near by no angle passes an odd multiple of pi/2, where rotations are written in another way.
            let at: Vec<E> = at.iter().map(|x| *x + E::round_from(1e-3)).collect();
            prepared.value_and_gradient(&at, &mut gradient).unwrap();
            let at: Vec<E> = at.iter().map(|x| *x + E::round_from(1e-3)).collect();
            let count = requests(|| value = prepared.value_and_gradient(&at, &mut gradient).unwrap());
            let (other, fresh) = energy.value_and_gradient(&at).unwrap();
            let far = |x: E, y: E| (Into::<f64>::into(x) - Into::<f64>::into(y)).abs() > tolerance;
            assert!(!far(value, other), "{set}, {n}: {value:?} {other:?}");
            assert!(!gradient.iter().zip(&fresh).any(|(x, y)| far(*x, *y)), "{gradient:?} {fresh:?}");
            assert_eq!(count, 0, "{n} qubits, {set}");
        }
        assert!(
            requests(|| drop(energy.value_and_gradient(&point(0.0)).unwrap())) > 0,
            "the allocator counts"
        );
    }
}

#[test]
fn a_prepared_gradient_allocates_nothing() {
    for n in [7, 10, 14] {
        allocates_nothing::<f64>(n, 1e-11);
        allocates_nothing::<f32>(n, 1e-3);
    }
}
