//! Kernels and devices of plugins, against the built-in kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod support;

use ketgrad_core::{
    circuit::Circuit,
    hybrid::Expectation,
    kernel::{Executors, Operator, Threads},
    matrix::Matrix,
    observable::PauliSum,
    simulate::Simulator,
    state::StateVector,
};
use ketgrad_plugin_host::{Plugins, Request, Settings};
use num_complex::Complex;

type C = Complex<f64>;

/// Rounding of some dozen gates.
const ROUNDING: f64 = 1e-13;

/// A plugin whose kernels come before the built-in ones.
fn preferred(path: std::path::PathBuf, options: &[(&str, &str)]) -> Plugins {
    let mut plugins = Plugins::new(Settings::default());
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let request =
        Request { name: "it".into(), candidates: vec![path], priority: 1, options, ..Request::default() };
    plugins.load(&request).unwrap();
    plugins
}

/// Every shape of operator: dense on one and two qubits, diagonals, phases, permutations, controls of both values.
fn circuit() -> Circuit {
    let mut c = Circuit::new(6);
    let theta = c.param("theta");
    for q in 0..6 {
        c.h(q).unwrap();
        c.rx(q, theta.clone()).unwrap();
    }
    for q in 0..5 {
        c.cx(q, q + 1).unwrap();
        c.rzz(q, q + 1, theta.clone()).unwrap();
    }
    c.swap(0, 4).unwrap();
    c.t(3).unwrap();
    c.s(5).unwrap();
    c.y(2).unwrap();
    c.cz(1, 4).unwrap();
    c.cp(0, 5, theta.clone()).unwrap();
    c.ccx(0, 3, 5).unwrap();
    c.iswap(2, 3).unwrap();
    c.ry(1, theta).unwrap();
    c
}

fn state(executors: Executors, threads: Threads, at: f64) -> StateVector<C> {
    let simulator = Simulator { executors, threads, ..Simulator::new() };
    simulator.run(&circuit(), &[at]).unwrap()
}

fn distance(a: &StateVector<C>, b: &StateVector<C>) -> f64 {
    a.amplitudes().iter().zip(b.amplitudes()).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

#[test]
fn loaded_kernels_give_the_states_of_the_built_in_ones() {
    let expected = state(Executors::fast(), Threads::serial(), 0.7);
    let kernels = preferred(support::plugin("ketgrad_qkernels"), &[]);
    let device = preferred(support::mock_device(), &[]);
    for (plugins, name) in [(&kernels, "qkernels"), (&device, "mock")] {
        let executors = plugins.executors();
        assert_eq!(plugins.reports()[0].kernels, [name]);
        if name == "mock" || executors.best::<C>(6, 30).name() == name {
            assert_eq!(executors.best::<C>(6, 30).name(), name);
            for threads in [1, 3] {
                let threads = Threads::new(threads).unwrap();
                let given = state(executors.clone(), threads, 0.7);
                assert!(distance(&given, &expected) < ROUNDING, "{name}");
            }
        }
        // Other rings keep their kernels.
        assert_eq!(
            executors.best::<Complex<f32>>(6, 30).name(),
            Executors::fast().best::<Complex<f32>>(6, 30).name()
        );
    }
}

/// Without a priority the score decides: the device says 1, the built-in kernels are 100.
#[test]
fn scores_decide_where_the_config_does_not() {
    let mut plugins = Plugins::new(Settings::default());
    let request =
        Request { name: "it".into(), candidates: vec![support::mock_device()], ..Request::default() };
    plugins.load(&request).unwrap();
    assert_ne!(plugins.executors().best::<C>(6, 30).name(), "mock");
    // A state beyond the device is declined whatever the priority.
    let device = preferred(support::mock_device(), &[]);
    assert_ne!(device.executors().best::<C>(25, 30).name(), "mock");
}

#[test]
fn gradients_run_on_the_device() {
    let observable: PauliSum = "Z0 Z1 + 0.5*X2 - Y3 Z4".parse().unwrap();
    let gradient = |executors: Executors| {
        let simulator = Simulator { executors, ..Simulator::new() };
        let of = Expectation::new(circuit(), [observable.clone()]).unwrap().with_simulator(simulator);
        of.vjp(&[0.7f64], &[1.0]).unwrap()
    };
    let (value, expected) = gradient(Executors::fast());
    let (on_device, given) = gradient(preferred(support::mock_device(), &[]).executors());
    assert!((value[0] - on_device[0]).abs() < ROUNDING);
    assert!((expected[0] - given[0]).abs() < ROUNDING * 10.0, "{expected:?} {given:?}");
}

#[test]
fn states_stay_on_the_device() {
    let plugins = preferred(support::mock_device(), &[]);
    let device = &plugins.devices()[0];
    let start = state(Executors::fast(), Threads::serial(), 0.3);
    let on_device = device.upload(start.amplitudes()).unwrap();
    let observable: PauliSum = "Z0 Z1 + 0.5*X2 - Y3 Z4 + 2".parse().unwrap();
    let expected = start.expectation(&observable, &Threads::serial()).unwrap();
    assert!((on_device.expectation(&observable).unwrap() - expected).abs() < ROUNDING);
    let observed = on_device.observed(&observable).unwrap();
    assert!((on_device.inner(&observed).unwrap() - expected).norm() < ROUNDING);
    let copy = on_device.copy().unwrap();
    assert!((copy.inner_pauli(0b100, 0, &on_device).unwrap().im).abs() < ROUNDING);

    let small = device.upload(&[C::new(1.0, 0.0), C::new(0.0, 0.0)]).unwrap();
    assert!(small.inner(&copy).unwrap_err().to_string().contains("beside"));
    assert!(device.upload(&[C::new(1.0, 0.0); 3]).unwrap_err().to_string().contains("3 amplitudes"));
    assert!(small.download(&mut []).unwrap_err().to_string().contains("memory of 0 amplitudes"));
}

/// An error of earlier work comes out at the next wait.
#[test]
fn errors_of_a_device_stick() {
    let plugins = preferred(support::mock_device(), &[("fail", "apply")]);
    let executors = plugins.executors();
    let mut amplitudes = vec![C::new(0.0, 0.0); 4];
    let x = Matrix::from_fn(1, |row, column| C::new(f64::from(u8::from(row != column)), 0.0));
    let operator = Operator::new(&x, &[0], &[]).unwrap();
    let error = executors.best::<C>(2, 1).run(&[operator], &mut amplitudes, &Threads::serial()).unwrap_err();
    assert!(error.to_string().contains("mock: the device was lost"), "{error}");
}
