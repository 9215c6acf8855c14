//! The registry of executors: the cheapest offer wins, rings do not mix, declining is possible.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use ketgrad_core::{
    cancel::is_cancelled,
    circuit::Circuit,
    kernel::{ExecuteError, Executor, Executors, Generic, Operator, Threads},
    param::Values,
    scalar::Ring,
    simulate::{BoundCircuit, SimulateError, Simulator},
};
use num_complex::Complex;
use num_dual::Dual64;

/// Counts how many operators it ran; offers a fraction of the generic cost up to some size.
struct Counting {
    name: &'static str,
    factor: f64,
    up_to: usize,
    ran: Arc<AtomicUsize>,
    fails: bool,
}

impl<R: Ring> Executor<R> for Counting {
    fn name(&self) -> &str {
        self.name
    }
    fn cost(&self, n_qubits: usize, operators: usize) -> Option<f64> {
        let generic = Executor::<R>::cost(&Generic, n_qubits, operators)?;
        (n_qubits <= self.up_to).then_some(self.factor * generic)
    }
    fn run(
        &self,
        operators: &[Operator<R>],
        amplitudes: &mut [R],
        threads: &Threads,
    ) -> Result<(), ExecuteError> {
        if self.fails {
            return Err(ExecuteError::new(self.name, "out of order"));
        }
        self.ran.fetch_add(operators.len(), Ordering::Relaxed);
        Generic.run(operators, amplitudes, threads)
    }
}

fn counting(
    name: &'static str,
    factor: f64,
    up_to: usize,
    ran: &Arc<AtomicUsize>,
) -> Arc<Counting> {
    Arc::new(Counting { name, factor, up_to, ran: ran.clone(), fails: false })
}

#[test]
fn the_cheapest_offer_for_the_ring_is_chosen() {
    type C = Complex<f64>;
    let ran = Arc::new(AtomicUsize::new(0));
    let mut executors = Executors::new();
    assert_eq!(executors.best::<C>(4, 10).name(), "generic");
    executors.insert::<C>(counting("half", 0.5, 10, &ran));
    executors.insert::<C>(counting("dear", 2.0, 10, &ran));
    executors.insert::<C>(counting("half again", 0.5, 10, &ran));
    executors.insert::<C>(counting("small and fast", 0.1, 3, &ran));
    assert_eq!(executors.best::<C>(3, 10).name(), "small and fast");
    assert_eq!(
        executors.best::<C>(4, 10).name(),
        "half",
        "the small one declines; of equal offers the first"
    );
    assert_eq!(executors.best::<C>(11, 10).name(), "generic", "all decline");
    // Other rings know nothing of it.
    assert_eq!(executors.best::<Complex<f32>>(3, 10).name(), "generic");
    assert_eq!(executors.best::<Complex<Dual64>>(3, 10).name(), "generic");
    executors.insert::<Complex<f32>>(counting("single", 0.5, 10, &ran));
    assert_eq!(executors.best::<Complex<f32>>(3, 10).name(), "single");
    assert_eq!(format!("{executors:?}"), "Executors for 2 rings");
    // A copy may grow on its own.
    let mut copy = executors.clone();
    copy.insert::<C>(counting("copy", 0.01, 10, &ran));
    assert_eq!(
        (copy.best::<C>(3, 1).name(), executors.best::<C>(3, 1).name()),
        ("copy", "small and fast")
    );
}

#[test]
fn the_simulator_uses_what_it_is_given() {
    let mut circuit = Circuit::new(3);
    circuit.h(0).unwrap().cx(0, 1).unwrap().rx(2, 0.3).unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let mut simulator = Simulator::new();
    simulator.executors.insert::<Complex<f64>>(counting("counting", 0.01, 30, &ran));
    let state = simulator.run::<f64>(&circuit, &[]).unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 3);
    assert_eq!(state, Simulator::new().run::<f64>(&circuit, &[]).unwrap());
    simulator.run::<f32>(&circuit, &[]).unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 3, "single precision went elsewhere");
}

#[test]
fn a_failure_says_who_and_why() {
    let mut circuit = Circuit::new(1);
    circuit.h(0).unwrap();
    let mut simulator = Simulator::new();
    let fails =
        Counting { name: "broken", factor: 0.0, up_to: 9, ran: Arc::default(), fails: true };
    simulator.executors.insert::<Complex<f64>>(Arc::new(fails));
    let error = simulator.run::<f64>(&circuit, &[]).unwrap_err();
    assert!(matches!(error, SimulateError::Execute(_)));
    assert_eq!(error.to_string(), "broken: out of order");
    // One that is cancelled is told apart.
    let stopped = ExecuteError::cancelled("broken");
    assert!(is_cancelled(&stopped) && !is_cancelled(&ExecuteError::new("broken", "cancelled")));
}

#[test]
fn progress_is_told_up_to_the_end() {
    let mut circuit = Circuit::new(20);
    for q in 0..20 {
        circuit.x(q).unwrap().z(q).unwrap().h(q).unwrap().x(q).unwrap();
    }
    let bound = BoundCircuit::<Complex<f32>>::new(&circuit, &Values::<f32>(&[])).unwrap();
    let mut state = ketgrad_core::state::StateVector::zero(20).unwrap();
    let mut told = Vec::new();
    Simulator::new()
        .execute(bound.operators().unwrap(), &mut state, &mut |done, all| told.push((done, all)))
        .unwrap();
    assert!(told.is_sorted() && told.iter().all(|t| t.1 == 80), "{told:?}");
    assert_eq!(told.last(), Some(&(80, 80)));
}
