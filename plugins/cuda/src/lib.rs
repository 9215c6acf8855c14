//! States and gates on an NVIDIA GPU.
//!
//! The plugin is built without CUDA and loads without a driver: where there is no device that it
//! can use, its backend says why
//! ([`DeviceKernels::describe`](ketgrad_plugin_sdk::DeviceKernels::describe)) and scores 0. Kernels
//! are in `kernels/kernels.cu`, and compiled beside it.
//!
//! ```text
//! lib ─► backend ─► run (gates) · paulis · sampling ─► state ─► driver: cuda | emulated
//!    │              └─► stage_kernels ─► source (a kernel for one stage)
//!    └─► nvrtc (which compiled kernels a device gets)
//! ```
//!
//! # Options
//! | option | is | without it |
//! |---|---|---|
//! | `device` | the device's number, counted from 0 | `0` |
//! | `nvrtc` | `auto`: where NVIDIA's run-time compiler is found, compile the kernels for this very device, once, and a kernel for each stage that comes often; `off`: never | `auto` |
//! | `stages_after` | the bytes that a stage has moved before a kernel is compiled for it | 10^12 |
//! | `from_qubits` | number of qubits from which the device does better than the built-in kernels | `16` |
//! | `emulate_f64`, `emulate_f32` | libraries of the kernels compiled for the processor: a test aid in place of a device | |

mod backend;
mod bits;
mod driver;
mod nvrtc;
mod paulis;
mod program;
mod run;
mod sampling;
mod source;
mod stage;
mod stage_kernels;
mod state;
#[cfg(test)]
mod testing;

use std::sync::Arc;

use ketgrad_plugin_sdk::{Error, Plugin, Registrar, Result, export_plugin};

use crate::{
    backend::Backend,
    driver::{Cuda, Driver, Emulated},
    nvrtc::Kernels,
    run::Schedules,
};

struct CudaPlugin;

export_plugin!(CudaPlugin, "cuda", env!("CARGO_PKG_VERSION"));

impl Plugin for CudaPlugin {
    fn register(&self, registrar: &mut Registrar<'_>) -> Result<()> {
        let options = Options::read(|key| registrar.option(key))?;
        let device = options.open();
        match &device {
            Ok(device) => registrar.info(&backend::in_words(device.properties())),
            Err(e) => registrar.info(&format!("not used: {e}")),
        }
        let schedules = Schedules::new(options.stages_after);
        registrar.device(Backend::new(options.device, options.from_qubits, device, schedules))
    }
}

/// Default of `from_qubits`: the number of qubits from which a device does better than the built-in
/// kernels.
const FROM_QUBITS: u32 = 16;

/// Parses a whole number, if it is given.
fn number<N: std::str::FromStr>(key: &str, text: Option<String>) -> Result<Option<N>> {
    let wrong = |text: &str| Error::new(format!("{key} = {text:?}: expected a whole number"));
    text.map(|text| text.parse().map_err(|_| wrong(&text))).transpose()
}

/// Options of the config.
#[derive(Clone, Debug, PartialEq)]
struct Options {
    device: u32,
    from_qubits: u32,
    nvrtc: bool,
    /// Bytes that a stage moves before it gets a kernel; `None` for no such kernels.
    stages_after: Option<u64>,
    emulate_f64: Option<String>,
    emulate_f32: Option<String>,
}

impl Options {
    fn read(option: impl Fn(&str) -> Option<String>) -> Result<Options> {
        let nvrtc = match option("nvrtc").as_deref() {
            None | Some("auto") => true,
            Some("off") => false,
            Some(text) => {
                return Err(Error::new(format!("nvrtc = {text:?}: expected \"auto\" or \"off\"")));
            }
        };
        let stages_after = number::<u64>("stages_after", option("stages_after"))?;
        if stages_after.is_some() && !nvrtc {
            return Err(Error::new("stages_after: not with nvrtc = \"off\""));
        }
        Ok(Options {
            device: number("device", option("device"))?.unwrap_or(0),
            from_qubits: number("from_qubits", option("from_qubits"))?.unwrap_or(FROM_QUBITS),
            nvrtc,
            stages_after: nvrtc.then(|| stages_after.unwrap_or(stage_kernels::AFTER)),
            emulate_f64: option("emulate_f64"),
            emulate_f32: option("emulate_f32"),
        })
    }

    /// Returns true if the device is the emulated one.
    fn is_emulated(&self) -> bool {
        self.emulate_f64.is_some() || self.emulate_f32.is_some()
    }

    fn open(&self) -> Result<Arc<dyn Driver>> {
        if self.is_emulated() {
            return Ok(Arc::new(Emulated::open(
                self.emulate_f64.as_deref(),
                self.emulate_f32.as_deref(),
            )?));
        }
        Ok(Arc::new(Cuda::open(self.device, Box::new(Kernels::new(self.nvrtc)))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &[(&str, &str)]) -> Result<Options> {
        Options::read(|key| given.iter().find(|o| o.0 == key).map(|o| o.1.to_owned()))
    }

    #[test]
    fn options_have_defaults_and_are_checked() {
        let plain = options(&[]).unwrap();
        assert_eq!((plain.device, plain.from_qubits, plain.nvrtc), (0, FROM_QUBITS, true));
        assert_eq!(plain.stages_after, Some(stage_kernels::AFTER));
        let given = options(&[("device", "2"), ("nvrtc", "off"), ("from_qubits", "25")]).unwrap();
        assert_eq!((given.device, given.from_qubits, given.nvrtc), (2, 25, false));
        assert_eq!(given.stages_after, None);
        assert_eq!(options(&[("stages_after", "0")]).unwrap().stages_after, Some(0));
        let said = |given: &[_]| options(given).unwrap_err().to_string();
        let off = [("nvrtc", "off"), ("stages_after", "5")];
        assert_eq!(said(&off), "stages_after: not with nvrtc = \"off\"");
        assert_eq!(said(&[("device", "first")]), "device = \"first\": expected a whole number");
        assert_eq!(said(&[("nvrtc", "on")]), "nvrtc = \"on\": expected \"auto\" or \"off\"");
    }

    #[test]
    fn a_library_that_is_missing_is_an_error_that_names_it() {
        let Err(e) = options(&[("emulate_f64", "/nowhere/libnone.so")]).unwrap().open() else {
            panic!("a library out of nothing")
        };
        assert!(e.to_string().contains("/nowhere/libnone.so"), "{e}");
    }
}
