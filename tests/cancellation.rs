//! Work on circuits that ends early: with an error that says so, at whatever place its token is
//! cancelled, and never with another result.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    error::Error,
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use ketgrad_core::{
    ansatz,
    cancel::{CancellationToken, is_cancelled},
    circuit::Circuit,
    equivalent::{EquivalenceSettings, equivalent},
    exec::{Datum, Derivatives},
    hybrid::{Circuits, Expectation},
    kernel::{DeviceStateVector, ExecuteError, Executors, Operator, OverlapProbe, Threads},
    observable::PauliSum,
    optimize::{
        Adam, Lbfgs, NelderMead, NewtonCg, Optimizer, Spsa, StopReason, Stopping, minimize,
        minimize_until,
    },
    param::Values,
    plan::Fast,
    problem,
    qasm::{QasmOptions, parse},
    simulate::{BoundCircuit, Shots, Simulator, StateHandle},
    state::StateVector,
    text::parse_program_with,
};
use num_complex::Complex;

type Fault = Box<dyn Error>;

/// A token that is cancelled when it has been looked at so often.
fn after(looks: usize) -> CancellationToken {
    let seen = AtomicUsize::new(0);
    CancellationToken::when(move || seen.fetch_add(1, Ordering::Relaxed) >= looks)
}

/// Does some work with tokens that are cancelled at one look after the other (all of the first,
/// then fewer): each time it is cancelled, or gives what it gives to the end. Returns how often it
/// was cancelled.
fn cancelled_anywhere<V: PartialEq + Debug>(
    what: &str,
    work: impl Fn(CancellationToken) -> Result<V, Fault>,
) -> usize {
    let expected = work(CancellationToken::never()).unwrap();
    let (mut cancelled, mut looks) = (0, 0);
    while looks < 100_000 {
        match work(after(looks)) {
            Err(error) if is_cancelled(&*error) => cancelled += 1,
            other => {
                assert_eq!(other.unwrap(), expected, "{what}, cancelled after {looks} looks");
                return cancelled;
            }
        }
        looks += 1 + looks / 8;
    }
    panic!("{what} looks for ever");
}

/// Rotations and entangling gates on n qubits with parameters.
fn layers(n: usize, layers: usize) -> (Circuit, Vec<f64>) {
    let mut circuit = Circuit::new(n);
    for layer in 0..layers {
        for q in 0..n {
            let theta = circuit.param(&format!("t{layer}_{q}"));
            circuit.ry(q, theta).unwrap();
        }
        for q in 0..n - 1 {
            circuit.cx(q, q + 1).unwrap();
        }
    }
    (circuit, (0..n * layers).map(|k| 0.1 + 0.37 * k as f64).collect())
}

/// Measurements, resets and a loop among gates.
fn measured() -> Circuit {
    let source = "OPENQASM 3; include \"stdgates.inc\"; qubit[4] q; bit[4] c; bit d;
        h q; for int i in [0:3] { h q[0]; cx q[0], q[1]; d = measure q[1]; if (d) { x q[2]; reset q[1]; } }
        while (d) { h q[3]; d = measure q[3]; } c = measure q;";
    parse(source, &QasmOptions::default()).unwrap().circuit
}

/// The kernels one by one and in plans, on one thread and on two.
fn simulators() -> Vec<(&'static str, Simulator)> {
    let mut planned = Executors::new();
    planned.insert::<Complex<f64>>(Arc::new(Fast::new().planning_from(1)));
    planned.insert::<Complex<f32>>(Arc::new(Fast::new().planning_from(1)));
    let threads = || Threads::new(2).unwrap();
    vec![
        ("generic", Simulator::new().with_executors(Executors::new())),
        ("fast", Simulator::new()),
        ("plans", Simulator::new().with_executors(planned.clone())),
        ("plans on threads", Simulator::new().with_executors(planned).with_threads(threads())),
        ("threads", Simulator::new().with_threads(threads())),
    ]
}

#[test]
fn simulations_are_cancelled_anywhere() {
    let (circuit, x) = layers(6, 4);
    let observable: PauliSum = "Z0 Z1 + 0.5 X2 - Y5".parse().unwrap();
    let dynamic = measured();
    let bound = || BoundCircuit::<Complex<f64>>::new(&dynamic, &Values::<f64>(&[])).unwrap();
    let points: Vec<Vec<f64>> =
        (0..5).map(|k| x.iter().map(|x| x + f64::from(k)).collect()).collect();
    let single: Vec<f32> = x.iter().map(|x| *x as f32).collect();
    let mut noisy = circuit.clone();
    noisy.depolarizing(2, 0.1).unwrap();
    for (name, simulator) in simulators() {
        let with = |token| simulator.clone().with_cancellation(token);
        let mut cancelled = vec![
            cancelled_anywhere(name, |t| Ok(with(t).run(&circuit, &x)?.amplitudes().to_vec())),
            cancelled_anywhere(name, |t| Ok(with(t).run(&circuit, &single)?.amplitudes().to_vec())),
            cancelled_anywhere(name, |t| {
                let states = with(t).run_points(&circuit, &points)?;
                Ok(states.iter().map(|s| s.amplitudes().to_vec()).collect::<Vec<_>>())
            }),
            cancelled_anywhere(name, |t| {
                let mut state = StateVector::zero(6)?;
                with(t).run_into(&circuit, &x, &mut state)?;
                Ok(state.amplitudes().to_vec())
            }),
            cancelled_anywhere(name, |t| Ok(with(t).matrix(&circuit, &Values(&x))?)),
            cancelled_anywhere(name, |t| Ok(with(t).run_shots(&circuit, &x, 100, 3)?)),
            cancelled_anywhere(name, |t| Ok(with(t).run_shots::<f64>(&dynamic, &[], 100, 3)?)),
            cancelled_anywhere(name, |t| Ok(with(t).distribution(&bound(), 1000)?)),
            cancelled_anywhere(name, |t| {
                Ok(with(t).trajectory_expectations(&bound(), &["Z0 - X3".parse()?], 50, 7)?)
            }),
            cancelled_anywhere(name, |t| {
                let levels = with(t).lowest(&problem::ising(4, 1.0, 0.7, true)?, 4, 2)?;
                Ok(levels.iter().map(|l| l.energy).collect::<Vec<_>>())
            }),
            cancelled_anywhere(name, |t| {
                Ok(with(t).measure(&circuit, &x, &observable, Shots::new(100, 1))?)
            }),
        ];
        cancelled.push(cancelled_anywhere(name, |t| {
            let rho = with(t).run_density(&noisy, &x)?;
            Ok((0..6).map(|q| rho.probabilities_of(&[q])).collect::<Result<Vec<_>, _>>()?)
        }));
        assert!(cancelled.iter().all(|n| *n > 0), "{name}: {cancelled:?}");
    }
}

#[test]
fn gradients_are_cancelled_anywhere() {
    let (circuit, x) = layers(5, 2);
    let mut noisy = circuit.clone();
    noisy.depolarizing(1, 0.05).unwrap();
    let observable: PauliSum = "Z0 Z1 + 0.5 X2 - Y4".parse().unwrap();
    let points: Vec<Vec<f64>> =
        (0..4).map(|k| x.iter().map(|x| x - f64::from(k)).collect()).collect();
    for (name, simulator) in simulators() {
        for circuit in [&circuit, &noisy] {
            let of = |token: CancellationToken| {
                let simulator = simulator.clone().with_cancellation(token);
                Ok::<_, Fault>(
                    Expectation::new(circuit.clone(), [observable.clone()])?
                        .with_simulator(simulator),
                )
            };
            let mut cancelled = vec![
                cancelled_anywhere(name, |t| Ok(of(t)?.value(&x)?)),
                cancelled_anywhere(name, |t| Ok(of(t)?.value_and_gradient(&x)?)),
                cancelled_anywhere(name, |t| Ok(of(t)?.jvp(&x, &x)?)),
                cancelled_anywhere(name, |t| Ok(of(t)?.hvp(&x, &x)?)),
                cancelled_anywhere(name, |t| Ok(of(t)?.gradients(&points)?)),
                cancelled_anywhere(name, |t| {
                    let (mut prepared, mut gradient) = (of(t)?.prepare()?, vec![0.0; x.len()]);
                    Ok((prepared.value_and_gradient(&x, &mut gradient)?, gradient))
                }),
                cancelled_anywhere(name, |t| {
                    let (value, gradient) = of(t)?.measure_gradient(&x, Shots::new(50, 9))?;
                    Ok((value, gradient))
                }),
            ];
            for method in of(CancellationToken::never()).unwrap().methods() {
                cancelled.push(cancelled_anywhere(name, |t| Ok(of(t)?.gradient_by(method, &x)?)));
            }
            assert!(cancelled.iter().all(|n| *n > 0), "{name}: {cancelled:?}");
        }
    }
}

#[test]
fn comparisons_are_cancelled_anywhere() {
    let (a, _) = layers(4, 2);
    let mut b = a.clone();
    b.z(1).unwrap();
    for (name, simulator) in simulators() {
        for exact_ring in [false, true] {
            let settings = EquivalenceSettings::default().with_exact_ring(exact_ring);
            let compare =
                |t| Ok(equivalent(&a, &b, &settings, &simulator.clone().with_cancellation(t))?);
            assert!(cancelled_anywhere(name, compare) > 0);
        }
    }
}

/// The result so far is kept: it is what the iterations so far find.
#[test]
fn optimizations_are_cancelled_between_iterations_and_within() {
    let energy = Expectation::new(ansatz::uccsd(4, 2).unwrap(), [problem::h2()]).unwrap();
    let x = [0.1, -0.2, 0.05];
    let optimizers: [Optimizer; 5] = [
        Adam::default().into(),
        Lbfgs::default().into(),
        NewtonCg::default().into(),
        NelderMead::default().into(),
        Spsa::default().into(),
    ];
    for optimizer in optimizers {
        let stopping = Stopping::default().with_iterations(25);
        let (whole, _) = minimize(&energy, &x, &optimizer, &stopping).unwrap();
        for iterations in 0..whole.iterations {
            let (state, stop) =
                minimize_until(&energy, &x, &optimizer, &stopping, &after(iterations)).unwrap();
            assert_eq!(
                (stop, state.iterations),
                (StopReason::Cancelled, iterations),
                "{optimizer:?}"
            );
            assert_eq!(state.values, whole.values[..=iterations], "{optimizer:?}");
        }
        let (mut stopped, mut refused) = (0, 0);
        for looks in (0..400).step_by(7) {
            let simulator = Simulator::new().with_cancellation(after(looks));
            match minimize(&energy.clone().with_simulator(simulator), &x, &optimizer, &stopping) {
                Ok((state, StopReason::Cancelled)) => {
                    assert_eq!(state.values, whole.values[..=state.iterations], "{optimizer:?}");
                    stopped += 1;
                }
                Ok((state, _)) => assert_eq!(state.values, whole.values, "{optimizer:?}"),
                Err(error) => {
                    assert!(is_cancelled(&error), "{error}");
                    refused += 1; // before the value at the start
                }
            }
        }
        assert!(stopped > 0 && refused > 0, "{optimizer:?}");
    }
}

/// A circuit in a program, cancelled by the token of its simulator.
#[test]
fn circuits_in_programs_are_cancelled() {
    let (circuit, x) = layers(3, 2);
    let observable: PauliSum = "Z0".parse().unwrap();
    let source = "fn loss(h: handle, x: array) { let z = expectation(h, x); z[0] * z[0] }";
    let program = parse_program_with(source, &Circuits::rules().unwrap()).unwrap();
    let cancelled = cancelled_anywhere("a program", |t| {
        let mut circuits = Circuits::new();
        let simulator = Simulator::new().with_cancellation(t);
        let of = Expectation::new(circuit.clone(), [observable.clone()])?.with_simulator(simulator);
        let args = [Datum::Handle(circuits.add(of)), Datum::reals(x.iter().copied())];
        Ok(Derivatives::<f64>::new(&program, "loss")?
            .with_host(Arc::new(circuits))
            .value_and_gradient(&args)?)
    });
    assert!(cancelled > 0);
}

/// Threads set after a token keep it, unless they bring their own.
#[test]
fn a_token_is_not_lost_with_other_threads() {
    let (circuit, x) = layers(3, 1);
    let token = CancellationToken::new();
    token.cancel();
    let run = |simulator: Simulator| simulator.run(&circuit, &x).map(drop);
    let simulator = Simulator::new().with_cancellation(token);
    assert!(is_cancelled(
        &run(simulator.clone().with_threads(Threads::new(2).unwrap())).unwrap_err()
    ));
    let token = CancellationToken::new();
    let own = Threads::serial().with_cancellation(token.clone());
    run(simulator.with_threads(own.clone())).unwrap();
    assert!(!own.cancellation().is_cancelled());
    token.cancel();
    assert!(own.cancellation().is_cancelled() && own.to_serial().cancellation().is_cancelled());
}

/// Pools of the caller's give the bits of our own.
#[test]
fn pools_of_the_caller_change_no_bit() {
    let (circuit, x) = layers(14, 3);
    let run = |threads| Simulator::new().with_threads(threads).run(&circuit, &x).unwrap();
    let expected = run(Threads::new(2).unwrap());
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap());
    assert_eq!(run(Threads::in_pool(pool.clone())).amplitudes(), expected.amplitudes());
    assert_eq!(run(Threads::current()).amplitudes(), expected.amplitudes());
    pool.install(|| {
        assert_eq!(Threads::current().count(), 2);
        assert_eq!(run(Threads::current()).amplitudes(), expected.amplitudes());
    });
    let dynamic = measured();
    let shots = |threads| {
        Simulator::new().with_threads(threads).run_shots::<f64>(&dynamic, &[], 500, 3).unwrap()
    };
    assert_eq!(shots(Threads::current()), shots(Threads::serial()));
}

/// A device that keeps a coin in |+>, and can only sample it.
struct Coin;

type Done<T> = Result<T, ExecuteError>;

fn only_samples<T>() -> Done<T> {
    Err(ExecuteError::new("coin", "a coin only has samples"))
}

impl DeviceStateVector<Complex<f64>> for Coin {
    fn n_qubits(&self) -> usize {
        1
    }
    fn apply(&mut self, _: &[Operator<Complex<f64>>]) -> Done<()> {
        only_samples()
    }
    fn apply_pair(
        &mut self,
        _: &mut dyn DeviceStateVector<Complex<f64>>,
        _: &[Operator<Complex<f64>>],
        _: &[OverlapProbe],
    ) -> Done<Vec<f64>> {
        only_samples()
    }
    fn expectation(&self, _: &PauliSum) -> Done<f64> {
        only_samples()
    }
    fn observed_into(&self, _: &PauliSum, _: &mut dyn DeviceStateVector<Complex<f64>>) -> Done<()> {
        only_samples()
    }
    fn observed(&self, _: &PauliSum) -> Done<Box<dyn DeviceStateVector<Complex<f64>>>> {
        only_samples()
    }
    fn inner(&self, _: &dyn DeviceStateVector<Complex<f64>>) -> Done<Complex<f64>> {
        only_samples()
    }
    fn sample(&self, uniforms: &[f64]) -> Done<Vec<usize>> {
        Ok(uniforms.iter().map(|u| usize::from(*u >= 0.5)).collect())
    }
    fn download(&self, _: &mut [Complex<f64>]) -> Done<()> {
        only_samples()
    }
    fn wait(&self) -> Done<()> {
        Ok(())
    }
    fn copy(&self) -> Done<Box<dyn DeviceStateVector<Complex<f64>>>> {
        Ok(Box::new(Coin))
    }
}

#[test]
fn samples_of_a_state_are_cancelled_between_rounds_wherever_it_is() {
    // Three rounds of 2^17 shots, or of 2^20.
    let plus = StateVector::from_vector(vec![Complex::from(0.5f64.sqrt()); 2]).unwrap();
    let states = [
        ("host", StateHandle::Host(plus), 300_000),
        ("device", StateHandle::Device(Box::new(Coin)), 2_200_000),
    ];
    for (what, state, shots) in states {
        let cancelled = cancelled_anywhere(what, |token| {
            let threads = Threads::serial().with_cancellation(token);
            Ok(state.sample_counts(shots, 1, &threads)?)
        });
        assert!(cancelled >= 3, "{what}: {cancelled}");
    }
}

/// Numbers ascend where a device looks them up, and shots come back in their order.
#[test]
fn samples_of_a_device_are_those_of_the_host_in_order() {
    let plus = StateVector::from_vector(vec![Complex::from(0.5f64.sqrt()); 2]).unwrap();
    let host = plus.sample(2_200_000, 1, &Threads::serial()).unwrap();
    let device: StateHandle<f64> = StateHandle::Device(Box::new(Coin));
    let mut done = 0;
    let samples = device.sample(2_200_000, 1, &Threads::serial(), &mut |now, _| done = now);
    assert!(samples.unwrap() == host && done == 2_200_000);
}
