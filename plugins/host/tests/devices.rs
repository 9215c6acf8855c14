//! Kernels and devices of plugins, against the built-in kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use ketgrad_core::{
    cancel::{CancellationToken, is_cancelled},
    circuit::Circuit,
    hybrid::{Expectation, Observable},
    kernel::{DeviceStateVector, DeviceStates, Executors, Operator, Threads},
    matrix::Matrix,
    observable::PauliSum,
    param::Values,
    simulate::{BoundCircuit, Simulator, StateHandle},
    state::StateVector,
};
use ketgrad_plugin_host::{COMPARED, Choice, Device, Plugins, Request, Settings, conform};
use num_complex::Complex;
use num_dual::Dual64;

use crate::support;

type C = Complex<f64>;

/// Rounding of some dozen gates.
const ROUNDING: f64 = 1e-13;

/// Not compared at load: that is what some tests are about, and others have a device that
/// misbehaves.
fn unverified() -> Settings {
    Settings::default().with_verify(false)
}

/// A plugin whose kernels come before the built-in ones.
fn preferred(path: std::path::PathBuf, options: &[(&str, &str)]) -> Plugins {
    let mut plugins = Plugins::new(unverified());
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let request = Request::default()
        .with_name("it".into())
        .with_candidates(vec![path])
        .with_priority(1)
        .with_options(options);
    plugins.load(&request).unwrap();
    plugins
}

/// The mock device beside the built-in kernels.
fn mock(options: &[(&str, &str)]) -> Plugins {
    let mut plugins = Plugins::new(unverified());
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let candidates = vec![support::mock_device()];
    plugins
        .load(
            &Request::default()
                .with_name("it".into())
                .with_candidates(candidates)
                .with_options(options),
        )
        .unwrap();
    plugins
}

/// Every shape of operator: dense on one and two qubits, diagonals, phases, permutations, controls
/// of both values.
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
    let simulator = Simulator::new().with_executors(executors).with_threads(threads);
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
        // The kernels know double precision alone, the device both; other rings keep their kernels.
        let single = if name == "mock" { "mock" } else { "fast" };
        assert_eq!(executors.best::<Complex<f32>>(6, 30).name(), single);
        assert_eq!(executors.best::<Complex<Dual64>>(6, 30).name(), "generic");
    }
}

/// Without a priority the score decides: the device says 1, the built-in kernels are 100.
#[test]
fn scores_decide_where_the_config_does_not() {
    let mut plugins = Plugins::new(unverified());
    let request =
        Request::default().with_name("it".into()).with_candidates(vec![support::mock_device()]);
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
        let simulator = Simulator::new().with_executors(executors);
        let of =
            Expectation::new(circuit(), [observable.clone()]).unwrap().with_simulator(simulator);
        of.vjp(&[0.7f64], &[1.0]).unwrap()
    };
    let (value, expected) = gradient(Executors::fast());
    let (on_device, given) = gradient(preferred(support::mock_device(), &[]).executors());
    assert!((value[0] - on_device[0]).abs() < ROUNDING);
    assert!((expected[0] - given[0]).abs() < ROUNDING * 10.0, "{expected:?} {given:?}");
}

/// Simulator with one device, whatever its score, with no memory for a state in the host.
fn alone(plugins: &Plugins, name: &str) -> Simulator {
    let executors = plugins.chosen::<f64>(&Choice::from(name), 6, 30).unwrap();
    Simulator::new().with_executors(executors).with_memory_limit(0)
}

#[test]
fn the_mock_device_conforms() {
    // A table that is longer than this version's is read as far as this version goes.
    for (n_qubits, parts, options) in [(6, 30, &[("since", "1.9")][..]), (13, 40, &[])] {
        let findings = conform(&mock(options).devices()[0], n_qubits);
        assert_eq!(findings.len(), parts);
        let wrong: Vec<String> =
            findings.iter().filter(|f| !f.holds()).map(ToString::to_string).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

/// The suite on any device: `KETGRAD_DEVICE=/path/libmine.so`,
/// `KETGRAD_DEVICE_OPTIONS="key=value key=value"`, `KETGRAD_DEVICE_QUBITS=30`.
#[test]
#[ignore = "on the device that KETGRAD_DEVICE names"]
#[expect(clippy::print_stdout, reason = "the differences are there to be read")]
fn a_device_that_is_named_conforms() {
    let path = std::env::var("KETGRAD_DEVICE").expect("KETGRAD_DEVICE names a library");
    let text = |key: &str| std::env::var(key).unwrap_or_default();
    let options = text("KETGRAD_DEVICE_OPTIONS");
    let options: Vec<(&str, &str)> =
        options.split_whitespace().map(|o| o.split_once('=').expect("key=value")).collect();
    let n_qubits = text("KETGRAD_DEVICE_QUBITS").parse().unwrap_or(COMPARED);
    let plugins = preferred(path.into(), &options);
    assert!(!plugins.devices().is_empty(), "{:?}", plugins.reports());
    let mut all_hold = true;
    for device in plugins.devices() {
        println!("{}: {}", device.name(), device.describe());
        for finding in conform(&device, n_qubits) {
            println!("  {}{finding}", if finding.holds() { "" } else { "WRONG " });
            all_hold &= finding.holds();
        }
    }
    assert!(all_hold);
}

/// A device in Rust, option `device` of the plugin for tests.
fn plain(panics: &str) -> Plugins {
    let mut plugins = Plugins::new(unverified());
    let candidates = vec![support::plugin("ketgrad_hostile")];
    let options = vec![("device".to_owned(), panics.to_owned())];
    plugins
        .load(
            &Request::default()
                .with_name("rust".into())
                .with_candidates(candidates)
                .with_options(options),
        )
        .unwrap();
    plugins
}

#[test]
fn a_device_in_rust_conforms() {
    let plugins = plain("ok");
    let device = &plugins.devices()[0];
    assert_eq!(device.describe(), "a device in Rust\nin the plugin's own memory");
    let wrong: Vec<_> = conform(device, 9).into_iter().filter(|f| !f.holds()).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    // It takes operators on three qubits at most, and says how much room it has.
    let four = Operator::new(
        &Matrix::from_fn(4, |i, j| C::new(((i + j) as f64).sin(), 1.0)),
        &[0, 1, 2, 3],
        &[],
    );
    let mut psi: Box<dyn DeviceStateVector<C>> = device.basis(5, 0).unwrap();
    let error = psi.apply(&[four.unwrap()]).unwrap_err().to_string();
    assert!(error.contains("on 4 qubits; it takes at most 3"), "{error}");
    let room: Result<Box<dyn DeviceStateVector<C>>, _> = device.basis(19, 0);
    assert!(room.is_err_and(|e| e.to_string() == "plain: no room on the device (plugin `rust`)"));
}

/// A panic in any call of a device is an error that says where, and the host goes on.
#[test]
fn a_device_that_panics_is_an_error() {
    let calls = [
        ("zeros", "each operator"),
        ("download", "amplitudes there and back"),
        ("sync", "expectation values"),
        ("apply", "operators in a row"),
        ("copy", "copies"),
        ("apply_pair", "two states at once"),
        ("expectation", "a GHZ state"),
        ("inner", "inner products"),
        ("apply_paulis", "observables on a state"),
        ("sample", "samples"),
    ];
    for (call, part) in calls {
        let findings = conform(&plain(call).devices()[0], 6);
        let of_part = findings.iter().find(|f| f.what == part).unwrap();
        let said = of_part.error.as_ref().unwrap_err().to_string();
        assert!(
            said.starts_with(&format!("plain: it panicked: a panic of the device in {call} at ")),
            "{said}"
        );
        assert!(said.contains("device.rs:"), "{said}");
    }
    let device = &plain("describe").devices()[0];
    assert!(device.describe().starts_with("it panicked: a panic of the device in describe"));
    // A device that cannot give its score does not run, and the reason is reported.
    let refused = plain("score").chosen::<f64>(&"plain".into(), 6, 30).unwrap_err().to_string();
    assert!(
        refused.contains("its score failed: it panicked: a panic of the device in score at "),
        "{refused}"
    );
}

/// The suite sees what is wrong: results, and errors.
#[test]
fn a_device_that_errs_does_not_conform() {
    for (fail, at_most) in [("conjugate", 22), ("apply", 18)] {
        let findings = conform(&mock(&[("fail", fail)]).devices()[0], 7);
        let held: Vec<&str> = findings.iter().filter(|f| f.holds()).map(|f| f.what).collect();
        assert!(held.len() <= at_most, "{fail}: {held:?}");
        assert!(
            !held.contains(&"each operator") && !held.contains(&"two states at once"),
            "{fail}: {held:?}"
        );
    }
}

#[test]
fn only_values_leave_the_device() {
    let plugins = mock(&[("moves", "forbidden")]);
    let simulator = alone(&plugins, "mock");
    let sum: PauliSum = "Z0 Z1 + 0.5*X2 - Y3 Z4 + 2".parse().unwrap();
    let here = Expectation::new(circuit(), [sum.clone(), "Y0".parse().unwrap()]).unwrap();
    let there = here.clone().with_simulator(simulator.clone());
    let (expected, given) =
        (here.vjp(&[0.7f64], &[1.0, -2.0]).unwrap(), there.vjp(&[0.7f64], &[1.0, -2.0]).unwrap());
    for (a, b) in expected.0.iter().zip(&given.0).chain(expected.1.iter().zip(&given.1)) {
        assert!((a - b).abs() < 10.0 * ROUNDING, "{expected:?} {given:?}");
    }
    assert!(
        (there.values(&[0.7f64]).unwrap()[0] - here.values(&[0.7f64]).unwrap()[0]).abs() < ROUNDING
    );
    // The probability of an outcome is a sum of Pauli strings, too.
    let outcome = || [Observable::Outcome(vec![(0, true), (3, false)])];
    let here = Expectation::new(circuit(), outcome()).unwrap();
    let there = here.clone().with_simulator(simulator.clone());
    let (a, b) = (here.vjp(&[0.7f64], &[1.0]).unwrap(), there.vjp(&[0.7f64], &[1.0]).unwrap());
    assert!(
        (a.0[0] - b.0[0]).abs() < ROUNDING && (a.1[0] - b.1[0]).abs() < 10.0 * ROUNDING,
        "{a:?} {b:?}"
    );

    // The same shots as here.
    let counts = simulator.run_shots(&circuit(), &[0.7f64], 3000, 5).unwrap();
    assert_eq!(counts, Simulator::new().run_shots(&circuit(), &[0.7f64], 3000, 5).unwrap());
    let state = simulator.run_to_handle(&circuit(), &[0.7f64]).unwrap();
    assert!(matches!(state, StateHandle::Device(_)), "{state:?}");
    // The amplitudes themselves have to move.
    let error = state.into_state(&Threads::serial()).unwrap_err();
    assert!(
        error.to_string().contains("mock: unsupported: it was told that amplitudes stay"),
        "{error}"
    );
    // What needs a state here says what it would take.
    let fidelity = Observable::Overlap(Arc::new(StateVector::zero(6).unwrap()));
    let error = Expectation::new(circuit(), [fidelity])
        .unwrap()
        .with_simulator(simulator)
        .value(&[0.7f64])
        .unwrap_err();
    assert!(error.to_string().contains("needs 2 KiB, but 0 B are available"), "{error}");
}

/// Work on a device that is cancelled at any of the places where the token is looked at ends with
/// that error, or with the right result.
#[test]
fn work_on_a_device_is_cancelled() {
    let plugins = mock(&[]);
    let sum: PauliSum = "Z0 Z1 + 0.5*X2 - Y3 Z4 + 2".parse().unwrap();
    let gradient = |simulator: Simulator| {
        let of = Expectation::new(circuit(), [sum.clone()]).unwrap().with_simulator(simulator);
        of.vjp(&[0.7f64], &[1.0]).map_err(|e| assert!(is_cancelled(&e), "{e}"))
    };
    let shots = |simulator: Simulator| {
        simulator
            .run_shots(&circuit(), &[0.7f64], 300, 5)
            .map_err(|e| assert!(is_cancelled(&e), "{e}"))
    };
    let (expected, counts) =
        (gradient(alone(&plugins, "mock")).unwrap(), shots(alone(&plugins, "mock")).unwrap());
    let cancelled_at = |look: usize| {
        let looks = Arc::new(AtomicUsize::new(0));
        let token = CancellationToken::when({
            let looks = looks.clone();
            move || looks.fetch_add(1, Ordering::Relaxed) >= look
        });
        (alone(&plugins, "mock").with_cancellation(token), looks)
    };
    let (mut gradients, mut runs) = (0, 0);
    for look in 0.. {
        let (simulator, looks) = cancelled_at(look);
        match gradient(simulator) {
            Ok(given) => assert_eq!(given, expected, "{look}"),
            Err(()) => gradients += 1,
        }
        let (simulator, also) = cancelled_at(look);
        match shots(simulator) {
            Ok(given) => assert_eq!(given, counts, "{look}"),
            Err(()) => runs += 1,
        }
        if looks.load(Ordering::Relaxed) <= look && also.load(Ordering::Relaxed) <= look {
            break;
        }
    }
    assert!(gradients > 0 && runs > 0, "{gradients} {runs}");
}

#[test]
fn single_precision_runs_on_the_device() {
    let plugins = mock(&[]);
    let executors = plugins.chosen::<f32>(&Choice::from("mock"), 6, 30).unwrap();
    assert_eq!(executors.best::<Complex<f32>>(6, 30).name(), "mock");
    let simulator = Simulator::new().with_executors(executors).with_memory_limit(0);
    let sum: PauliSum = "Z0 Z1 + 0.5*X2 - Y3 Z4".parse().unwrap();
    let here = Expectation::new(circuit(), [sum]).unwrap();
    let there = here.clone().with_simulator(simulator);
    let (expected, given) =
        (here.value_and_gradient(&[0.7f64]).unwrap(), there.value_and_gradient(&[0.7f32]).unwrap());
    assert!((expected.0 - f64::from(given.0)).abs() < 1e-6, "{expected:?} {given:?}");
    assert!((expected.1[0] - f64::from(given.1[0])).abs() < 1e-5, "{expected:?} {given:?}");
}

/// The state that a circuit begins with is made on the device, whatever the memory holds that its
/// result goes to.
#[test]
fn zeros_do_not_move_to_the_device() {
    let expected = Simulator::new().run(&circuit(), &[0.7f64]).unwrap();
    let simulator = |options| {
        let executors = preferred(support::mock_device(), options).executors();
        assert_eq!(executors.best::<C>(6, 30).name(), "mock");
        Simulator::new().with_executors(executors)
    };
    let bound = BoundCircuit::<C>::new(&circuit(), &Values::<f64>(&[0.7])).unwrap();
    let run = |simulator: &Simulator, state: &mut StateVector<C>| {
        simulator.execute(bound.operators().unwrap(), state, &mut |_, _| {})
    };
    // One that has no basis states is sent them.
    for options in [&[("moves", "out")][..], &[("since", "1.1")]] {
        let simulator = simulator(options);
        assert!(distance(&simulator.run(&circuit(), &[0.7f64]).unwrap(), &expected) < ROUNDING);
        let mut state = StateVector::<C>::basis(6, 5).unwrap();
        simulator.run_into(&circuit(), &[0.7f64], &mut state).unwrap();
        assert!(distance(&state, &expected) < ROUNDING);
        let mut new = StateVector::<C>::zero(6).unwrap();
        run(&simulator, &mut new).unwrap();
        assert!(distance(&new, &expected) < ROUNDING);
    }
    // Any other state has to move.
    let said = run(&simulator(&[("moves", "out")]), &mut StateVector::<C>::basis(6, 5).unwrap())
        .unwrap_err();
    assert!(
        said.to_string().contains("mock: unsupported: it was told that no amplitudes come"),
        "{said}"
    );
}

/// A device of interface 1.1 has no states that stay, but gradients run on it.
#[test]
fn an_older_device_takes_states_that_move() {
    let plugins = mock(&[("since", "1.1")]);
    let device = &plugins.devices()[0];
    assert!(!device.keeps_states() && device.knows::<f64>() && !device.knows::<f32>());
    assert_eq!(device.describe(), "");
    let wrong: Vec<_> = conform(device, 8).into_iter().filter(|f| !f.holds()).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let executors = plugins.chosen::<f64>(&Choice::from("mock"), 6, 30).unwrap();
    assert!(executors.best::<C>(6, 30).device_states().is_none());
    let simulator = Simulator::new().with_executors(executors);
    let here = Expectation::new(circuit(), ["Z0 Z1 + 0.5*X2 - Y3 Z4".parse::<PauliSum>().unwrap()])
        .unwrap();
    let there = here.clone().with_simulator(simulator);
    let (a, b) =
        (here.value_and_gradient(&[0.7f64]).unwrap(), there.value_and_gradient(&[0.7f64]).unwrap());
    assert!(
        (a.0 - b.0).abs() < ROUNDING && (a.1[0] - b.1[0]).abs() < 10.0 * ROUNDING,
        "{a:?} {b:?}"
    );
    let refused = plugins.chosen::<f32>(&Choice::from("mock"), 6, 30).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the backend `mock` cannot run this: it has no single precision"
    );
}

#[test]
fn a_backend_is_chosen_by_name() {
    let name = |plugins: &Plugins, choice: &str| {
        plugins.chosen::<f64>(&choice.into(), 6, 30).map(|e| e.best::<C>(6, 30).name().to_owned())
    };
    let plugins = mock(&[]);
    // Its score is 1, the built-in kernels' is 100.
    assert_eq!(name(&plugins, "auto").unwrap(), "fast");
    assert_eq!(name(&plugins, "mock").unwrap(), "mock");
    assert_eq!(name(&plugins, "fast").unwrap(), "fast");
    assert_eq!(
        name(&plugins, "cuda:0").unwrap_err().to_string(),
        "there is no backend `cuda:0`; there are auto, cpu, fast, mock"
    );
    let better = mock(&[("score", "1000")]);
    assert_eq!(name(&better, "auto").unwrap(), "mock");
    assert_eq!(name(&better, "cpu").unwrap(), "fast");
    // A name is that backend or nobody.
    let too_large = plugins.chosen::<f64>(&"mock".into(), 25, 1).unwrap_err();
    assert!(too_large.to_string().ends_with("25 qubits; it takes at most 24"), "{too_large}");
    let declines = name(&mock(&[("score", "0")]), "mock").unwrap_err();
    assert!(
        declines.to_string().ends_with("a device that is none and was told to decline"),
        "{declines}"
    );
    let known = &plugins.known(6, 30)[0];
    assert_eq!((known.double, known.single, known.is_device), (1, 1, true));
    assert_eq!(known.description, "a device that is none, in the host's own memory");
}

#[test]
fn states_of_two_devices_do_not_mix() {
    let (one, other) = (mock(&[]), mock(&[]));
    let (one, other) = (&one.devices()[0], &other.devices()[0]);
    let state = |device: &Device, n: usize| -> Box<dyn DeviceStateVector<C>> {
        device.basis(n, 0).unwrap()
    };
    let mut psi = state(one, 2);
    for mut stranger in [state(one, 3), state(other, 2)] {
        assert!(psi.inner(&*stranger).unwrap_err().to_string().contains("beside"));
        assert!(
            psi.apply_pair(&mut *stranger, &[], &[]).unwrap_err().to_string().contains("beside")
        );
    }
    let basis: Result<Box<dyn DeviceStateVector<C>>, _> = one.basis(2, 4);
    assert!(basis.is_err_and(|e| e.to_string().contains("basis state 4 of 2 qubits")));
    let upload = |n: usize| DeviceStates::<C>::upload(one, &vec![C::new(1.0, 0.0); n]).map(|_| ());
    assert!(upload(3).unwrap_err().to_string().contains("3 amplitudes"));
    assert!(psi.download(&mut []).unwrap_err().to_string().contains("memory of 0 amplitudes"));
    assert!(
        psi.expectation(&"Z2".parse().unwrap()).unwrap_err().to_string().contains("on 3 qubits")
    );
    assert!(psi.sample(&[0.5, 0.1]).unwrap_err().to_string().contains("do not ascend"));
    assert!(psi.sample(&[1.0]).is_err());
}

/// The plugin for tests with a device that comes before the built-in kernels and takes operators on
/// three qubits.
fn preferred_plain() -> Plugins {
    let mut plugins = Plugins::new(unverified());
    let candidates = vec![support::plugin("ketgrad_hostile")];
    let options = vec![("device".to_owned(), "ok".to_owned())];
    let request = Request::default()
        .with_name("rust".into())
        .with_candidates(candidates)
        .with_options(options)
        .with_priority(1);
    plugins.load(&request).unwrap();
    plugins
}

/// Operators that a device does not take are run by the next executor, with the whole circuit; by
/// name it is an error.
#[test]
fn operators_too_wide_for_a_device_run_elsewhere() {
    let plugins = preferred_plain();
    let swap =
        |from: usize| Matrix::from_fn(4, |r, c| C::new(f64::from(u8::from(r == c ^ from)), 0.0));
    let mut wide = circuit();
    wide.unitary(swap(0b1011), &[0, 2, 3, 5], &[(1, true)]).unwrap();
    let sum: PauliSum = "Z0 Z1 + 0.5*X2 - Y3 Z4".parse().unwrap();
    let by = |choice: &str| {
        let executors = plugins.chosen::<f64>(&choice.into(), 6, 30).unwrap();
        Simulator::new().with_executors(executors)
    };
    let (auto, here, required) = (by("auto"), by("cpu"), by("plain"));
    assert_eq!(auto.executors.best::<C>(6, 30).name(), "plain");
    let why = "an operator on 4 qubits; it takes at most 3";

    let (given, expected) = (auto.run(&wide, &[0.7]).unwrap(), here.run(&wide, &[0.7]).unwrap());
    assert!(distance(&given, &expected) < ROUNDING);
    let counts = |s: &Simulator| s.run_shots(&wide, &[0.7f64], 500, 3).unwrap();
    assert_eq!(counts(&auto), counts(&here));
    assert!(matches!(auto.run_to_handle(&wide, &[0.7f64]).unwrap(), StateHandle::Host(_)));
    let gradient = |s: &Simulator| {
        let of = Expectation::new(wide.clone(), [sum.clone()]).unwrap().with_simulator(s.clone());
        (of.values(&[0.7f64]).unwrap()[0], of.value_and_gradient(&[0.7f64]).unwrap().1[0])
    };
    let (a, b) = (gradient(&auto), gradient(&here));
    assert!((a.0 - b.0).abs() < ROUNDING && (a.1 - b.1).abs() < 10.0 * ROUNDING, "{a:?} {b:?}");
    let passed_over = auto.executors.fallbacks();
    assert_eq!((passed_over.len(), passed_over[0].to_string()), (1, format!("plain: {why}")));
    assert_eq!(auto.executors.in_use::<C>(6, 30), "fast");

    let refused = [
        required.run(&wide, &[0.7]).unwrap_err().to_string(),
        required.run_to_handle(&wide, &[0.7f64]).unwrap_err().to_string(),
        Expectation::new(wide.clone(), [sum])
            .unwrap()
            .with_simulator(required)
            .value(&[0.7f64])
            .unwrap_err()
            .to_string(),
    ];
    assert!(refused.iter().all(|r| r.ends_with(why)), "{refused:?}");
    // What it takes stays there.
    assert!(matches!(auto.run_to_handle(&circuit(), &[0.7f64]).unwrap(), StateHandle::Device(_)));
}

/// A gradient needs two states. Where the second has no room it runs in the host's memory; by name
/// it is an error.
#[test]
fn a_gradient_whose_second_state_has_no_room_runs_elsewhere() {
    let sum: PauliSum = "Z0 Z1 + 0.5*X2 - Y3 Z4".parse().unwrap();
    let here = Expectation::new(circuit(), [sum]).unwrap();
    let expected = here.vjp(&[0.7f64], &[1.0]).unwrap();
    for (since, room, passed) in [("1.2", "1", true), ("1.2", "2", false), ("1.1", "1", true)] {
        let plugins = preferred(support::mock_device(), &[("room", room), ("since", since)]);
        let by = |choice: &str| {
            let executors = plugins.chosen::<f64>(&choice.into(), 6, 30).unwrap();
            here.clone().with_simulator(Simulator::new().with_executors(executors))
        };
        let auto = by("auto");
        // One state is enough for values.
        assert!((auto.values(&[0.7f64]).unwrap()[0] - expected.0[0]).abs() < ROUNDING);
        assert!(auto.executors().fallbacks().is_empty());
        let given = auto.vjp(&[0.7f64], &[1.0]).unwrap();
        assert!((given.0[0] - expected.0[0]).abs() < ROUNDING, "{given:?}");
        assert!((given.1[0] - expected.1[0]).abs() < 10.0 * ROUNDING, "{given:?} {expected:?}");
        let notes = auto.executors().fallbacks();
        assert_eq!(notes.len(), usize::from(passed), "{notes:?}");
        let refused = by("mock").vjp(&[0.7f64], &[1.0]);
        assert_eq!(refused.is_err(), passed);
        let why = "mock: no room on the device for another state (plugin `it`)";
        if let Err(error) = refused {
            assert_eq!((error.to_string(), notes[0].to_string()), (why.to_owned(), why.to_owned()));
        }
        // No state is leaked: the next one finds memory.
        assert!(auto.values(&[0.7f64]).is_ok());
    }
}

/// An error of earlier work comes out at the next wait.
#[test]
fn errors_of_a_device_stick() {
    let plugins = preferred(support::mock_device(), &[("fail", "apply")]);
    let executors = plugins.executors();
    let mut amplitudes = vec![C::new(0.0, 0.0); 4];
    let x = Matrix::from_fn(1, |row, column| C::new(f64::from(u8::from(row != column)), 0.0));
    let operator = Operator::new(&x, &[0], &[]).unwrap();
    let error = executors
        .best::<C>(2, 1)
        .run(&[operator], &mut amplitudes, &Threads::serial())
        .unwrap_err();
    assert!(error.to_string().contains("mock: the device was lost"), "{error}");
}
