//! The plugin `cuda` through the host: where it has no device it declines and says why; its
//! kernels, compiled for the processor, give what the built-in ones give.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{path::PathBuf, process::Command, sync::OnceLock};

use ketgrad_core::{
    circuit::Circuit,
    hybrid::Expectation,
    kernel::{Executors, Threads},
    observable::PauliSum,
    simulate::Simulator,
    state::StateVector,
};
use ketgrad_plugin_host::{Choice, Plugins, Request, Settings, file_name};
use num_complex::Complex;

use crate::support;

type C = Complex<f64>;

/// Rounding of some dozen gates in double and in single precision.
const ROUNDING: f64 = 1e-13;
const SINGLE_ROUNDING: f64 = 1e-5;

/// The plugin, whose kernels come before the built-in ones.
fn loaded(options: &[(&str, &str)]) -> Plugins {
    let mut plugins = Plugins::new(Settings::default());
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let candidates = vec![support::plugin("ketgrad_cuda")];
    plugins
        .load(
            &Request::default()
                .with_name("cuda".into())
                .with_candidates(candidates)
                .with_priority(1)
                .with_options(options),
        )
        .unwrap();
    plugins
}

/// The kernels compiled for the processor.
fn kernels(real: &str) -> PathBuf {
    let library =
        file_name(&PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("kernels_{real}")));
    // Beside it, then renamed: another process may have the old one open.
    let fresh = library.with_extension(std::process::id().to_string());
    let output = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()))
        .args(["-std=c11", "-O2", "-shared", "-fPIC", "-DKETGRAD_EMULATE", "-x", "c"])
        .arg(format!("-DREAL={real}"))
        .arg(support::workspace().join("plugins/cuda/kernels/kernels.cu"))
        .arg("-o")
        .arg(&fresh)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&fresh, &library).unwrap();
    library
}

/// The plugin with the device that is none.
fn emulated() -> Plugins {
    static LIBRARIES: OnceLock<[PathBuf; 2]> = OnceLock::new();
    let [double, single] = LIBRARIES.get_or_init(|| ["double", "float"].map(kernels));
    loaded(&[("emulate_f64", double.to_str().unwrap()), ("emulate_f32", single.to_str().unwrap())])
}

/// Every shape of operator on n qubits: dense on one and two qubits, diagonals, permutations,
/// controls.
fn circuit(n: usize) -> Circuit {
    let mut c = Circuit::new(n);
    let theta = c.param("theta");
    for q in 0..n {
        c.h(q).unwrap();
        c.rx(q, theta.clone()).unwrap();
    }
    for q in 0..n - 1 {
        c.cx(q, q + 1).unwrap();
        c.rzz(q, q + 1, theta.clone()).unwrap();
    }
    c.swap(0, n - 2).unwrap();
    c.t(n / 2).unwrap();
    c.cp(0, n - 1, theta.clone()).unwrap();
    c.ccx(0, 1, n - 1).unwrap();
    c.iswap(1, n - 1).unwrap();
    c.ry(1, theta).unwrap();
    c
}

const SIZES: [usize; 3] = [4, 9, 13];

fn simulator(executors: Executors) -> Simulator {
    Simulator::new().with_executors(executors).with_threads(Threads::serial())
}

/// There is never a device of this number.
#[test]
fn without_a_device_it_declines_and_says_why() {
    let plugins = loaded(&[("device", "4096")]);
    assert_eq!(plugins.reports()[0].kernels, ["cuda:4096"]);
    let known = &plugins.known(25, 100)[0];
    assert!(known.description.starts_with("not used: "), "{}", known.description);
    assert_eq!((known.double, known.single), (0, 0));
    assert_ne!(plugins.executors().best::<C>(25, 100).name(), "cuda:4096");
    let asked = plugins.chosen::<f64>(&Choice::Named("cuda:4096".into()), 25, 100);
    let said = asked.expect_err("no such device").to_string();
    assert!(said.contains(&known.description), "{said}");
    let here: StateVector<C> = simulator(plugins.executors()).run(&circuit(4), &[0.7]).unwrap();
    assert_eq!(here.n_qubits(), 4);
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let mut plugins = Plugins::new(Settings::default());
    let options = vec![("nvrtc".to_owned(), "perhaps".to_owned())];
    let candidates = vec![support::plugin("ketgrad_cuda")];
    let request = Request::default()
        .with_name("cuda".into())
        .with_candidates(candidates)
        .with_options(options);
    let said = plugins.load(&request).unwrap_err().to_string();
    assert!(said.contains("nvrtc = \"perhaps\": expected \"auto\" or \"off\""), "{said}");
}

#[test]
fn states_are_those_of_the_built_in_kernels() {
    let executors = emulated().executors();
    for n in SIZES {
        assert_eq!(executors.best::<C>(n, 50).name(), "cuda:0");
        let expected: StateVector<C> =
            simulator(Executors::fast()).run(&circuit(n), &[0.7]).unwrap();
        let double: StateVector<C> = simulator(executors.clone()).run(&circuit(n), &[0.7]).unwrap();
        let single: StateVector<Complex<f32>> =
            simulator(executors.clone()).run(&circuit(n), &[0.7]).unwrap();
        for (i, expected) in expected.amplitudes().iter().enumerate() {
            assert!((double.amplitudes()[i] - expected).norm() < ROUNDING, "{n} qubits, {i}");
            let single = single.amplitudes()[i];
            let single = C::new(f64::from(single.re), f64::from(single.im));
            assert!((single - expected).norm() < SINGLE_ROUNDING, "{n} qubits, {i}");
        }
    }
}

#[test]
fn values_and_gradients_are_those_of_the_built_in_kernels() {
    for n in SIZES {
        let observable: PauliSum = format!("Z0 Z1 + 0.5*X2 - Y1 Z{} + 2", n - 1).parse().unwrap();
        let gradient = |executors: Executors| {
            let of = Expectation::new(circuit(n), [observable.clone()]).unwrap();
            of.with_simulator(simulator(executors)).vjp(&[0.7f64], &[1.0]).unwrap()
        };
        let (value, expected) = gradient(Executors::fast());
        let (there, given) = gradient(emulated().executors());
        assert!((value[0] - there[0]).abs() < ROUNDING, "{n}: {value:?} {there:?}");
        assert!((expected[0] - given[0]).abs() < 10.0 * ROUNDING, "{n}: {expected:?} {given:?}");
    }
}

#[test]
fn samples_follow_the_cumulative_distribution() {
    let executors = emulated().executors();
    let n = 13;
    let expected: StateVector<C> = simulator(Executors::fast()).run(&circuit(n), &[0.7]).unwrap();
    let device = executors.best::<C>(n, 50);
    let there = device.device_states().unwrap().upload(expected.amplitudes()).unwrap();
    let uniforms: Vec<f64> = (0..500).map(|k| f64::from(k) / 500.0).collect();
    let mut cumulative = vec![0.0];
    for a in expected.amplitudes() {
        cumulative.push(cumulative[cumulative.len() - 1] + a.norm_sqr());
    }
    for (u, index) in uniforms.iter().zip(there.sample(&uniforms).unwrap()) {
        assert!(
            cumulative[index] <= u + 1e-12 && *u < cumulative[index + 1] + 1e-12,
            "{u}: {index}"
        );
    }
}

#[test]
fn a_state_that_does_not_fit_is_refused_with_the_bytes() {
    let executors = emulated().executors();
    let device = executors.best::<C>(20, 50);
    let Err(e) = device.device_states().unwrap().basis(27, 0) else { panic!("2 GiB of 1 GiB") };
    let said = e.to_string();
    assert!(
        said.contains("2147483648 bytes of memory needed, 1073741824 of 1073741824 free"),
        "{said}"
    );
    // Nor is it chosen.
    assert_ne!(executors.best::<C>(27, 50).name(), "cuda:0");
}
