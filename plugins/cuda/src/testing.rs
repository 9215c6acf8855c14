//! Helpers of several tests: the kernels compiled for the processor, and a device that runs them.

use std::{
    env, fs,
    path::PathBuf,
    process::{self, Command},
    sync::{Arc, OnceLock},
};

use ketgrad_plugin_sdk::{C64, Precision, Result};
use support::random::Rng;

use crate::{
    driver::{Cuda, Driver, Emulated},
    nvrtc::{Kernels, ONE_STAGE, definition, hex, with_source},
    state::{CudaState, state_bytes},
};

/// Returns a folder of the build for files of tests.
pub(crate) fn folder() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// Returns the path of the library of this name and precision.
fn path(name: &str, precision: Precision) -> PathBuf {
    folder().join(format!("{name}_{precision}{}", env::consts::DLL_SUFFIX))
}

/// Compiles a text for the processor, with more flags, to the library of this name, and returns its
/// path.
fn library(name: &str, text: &str, precision: Precision, flags: &[&str]) -> PathBuf {
    let path = path(name, precision);
    // Beside it, then renamed: another process may have the old one open.
    let beside = path.with_extension(format!("{}.tmp", process::id()));
    let source = beside.with_extension("c");
    fs::write(&source, text).unwrap();
    let out = Command::new(env::var("CC").unwrap_or_else(|_| "cc".to_owned()))
        .args(["-std=c11", "-O2", "-shared", "-fPIC", "-DKETGRAD_EMULATE"])
        .arg(definition(precision))
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&beside)
        .output()
        .expect("a C compiler");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    fs::remove_file(&source).unwrap();
    fs::rename(&beside, &path).unwrap();
    path
}

/// Compiles a kernel of a stage for the processor, if this text is not yet compiled.
fn one_stage(text: &str, precision: Precision) -> Result<PathBuf> {
    let text = with_source(text);
    let name = format!("one_stage-{}", hex(&[&text]));
    let made = path(&name, precision);
    let is_there = made.exists();
    Ok(if is_there { made } else { library(&name, &text, precision, &[ONE_STAGE]) })
}

/// Returns a new device with memory of its own.
pub(crate) fn device() -> Arc<dyn Driver> {
    Arc::new(without_compiler().with_compiler(one_stage))
}

/// Returns the emulated device with the kernels of `kernels.cu` alone.
pub(crate) fn without_compiler() -> Emulated {
    static LIBRARIES: OnceLock<[PathBuf; 2]> = OnceLock::new();
    let all = |precision| library("kernels", &with_source(""), precision, &[]);
    let [double, single] =
        LIBRARIES.get_or_init(|| [Precision::Double, Precision::Single].map(all));
    Emulated::open(double.to_str(), single.to_str()).unwrap()
}

/// Returns the devices to test: two emulated ones, one of them without tensor cores, and the first
/// real one if the machine has one.
pub(crate) fn devices() -> Vec<Arc<dyn Driver>> {
    let real =
        Cuda::open(0, Box::new(Kernels::new(true))).map(|real| Arc::new(real) as Arc<dyn Driver>);
    let old = without_compiler().with_compiler(one_stage).with_capability((7, 0));
    [device(), Arc::new(old)].into_iter().chain(real).collect()
}

/// Returns pseudo-random amplitudes, not normalised.
pub(crate) fn amplitudes(n_qubits: u32, seed: u64) -> Vec<C64> {
    Rng::new(seed).vector(1 << n_qubits)
}

/// Converts amplitudes to the bytes of a precision.
pub(crate) fn in_bytes(amplitudes: &[C64], precision: Precision) -> Vec<u8> {
    let parts = amplitudes.iter().flat_map(|a| [a.re, a.im]);
    match precision {
        Precision::Double => parts.flat_map(f64::to_ne_bytes).collect(),
        Precision::Single => parts.flat_map(|x| (x as f32).to_ne_bytes()).collect(),
    }
}

/// Converts the bytes of a precision to amplitudes.
pub(crate) fn of_bytes(bytes: &[u8], precision: Precision) -> Vec<C64> {
    let parts: Vec<f64> = match precision {
        Precision::Double => {
            bytes.chunks_exact(8).map(|b| f64::from_ne_bytes(b.try_into().unwrap())).collect()
        }
        Precision::Single => bytes
            .chunks_exact(4)
            .map(|b| f64::from(f32::from_ne_bytes(b.try_into().unwrap())))
            .collect(),
    };
    parts.chunks_exact(2).map(|part| C64::new(part[0], part[1])).collect()
}

/// Uploads amplitudes to a state on a device.
pub(crate) fn state(
    device: &Arc<dyn Driver>,
    precision: Precision,
    amplitudes: &[C64],
) -> CudaState {
    let mut state = CudaState::zeros(device, precision, amplitudes.len().ilog2()).unwrap();
    state.upload(&in_bytes(amplitudes, precision)).unwrap();
    state
}

/// Downloads the amplitudes of a state.
pub(crate) fn of_state(state: &CudaState) -> Vec<C64> {
    let mut bytes = vec![0; state_bytes(state.precision(), state.n_qubits()).unwrap()];
    state.download(&mut bytes).unwrap();
    of_bytes(&bytes, state.precision())
}

/// Largest allowed distance of results from those of a plain loop in double precision, for
/// amplitudes of order 1.
pub(crate) fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::Double => 1e-13,
        Precision::Single => 1e-5,
    }
}
