//! Write plugins for ketgrad without unsafe code.
//!
//! A plugin is a crate with `crate-type = ["cdylib"]` that depends on this one and on nothing else
//! of ketgrad:
//!
//! ```
//! use ketgrad_plugin_sdk::{Plugin, Registrar, Result, RuleDef, export_plugin};
//!
//! struct Mine;
//! impl Plugin for Mine {
//!     fn register(&self, registrar: &mut Registrar<'_>) -> Result<()> {
//!         registrar.rule(
//!             RuleDef::new("softplus", 1)
//!                 .f64(|x| x[0].max(0.0) + (-x[0].abs()).exp().ln_1p())
//!                 .program(
//!                     "rule softplus(x) { kernel(x) }
//!                      pullback(x, y, y_bar) { y_bar / (1.0 + exp(-x)) }",
//!                 ),
//!         )
//!     }
//! }
//! export_plugin!(Mine, "mine", "1.0");
//! ```
//!
//! # What a rule may have
//! - a **kernel**: compiled code for numbers ([`RuleDef::f64`], [`RuleDef::c64`]), arrays
//!   ([`RuleDef::dense`]) or both kinds of numbers and several results ([`RuleDef::operation`]);
//! - a **program**: the rule as text in the program language. In it `kernel(…)` is the kernel.
//!   Programs run on every kind of number and are differentiated again. Of rules with a kernel
//!   alone those on arrays have first derivatives, by their pullback, and those on numbers none.
//!
//! # Backends
//! Kernels for states in the host's memory ([`HostKernels`]), or a device that keeps states in
//! memory of its own ([`DeviceKernels`]).
//!
//! # Caveats
//! - Rules and kernels are called from any thread. A panic becomes an error of the host;
//!   `panic = "abort"` is refused.
//! - The plugin has its own copy of every crate: its own thread pool, logger and panic hook. Use
//!   [`Par`] and [`Registrar::info`].
//! - Libraries are never unloaded.

mod backend;
mod check;
mod device;
mod error;
mod glue;
mod host;
mod operation;
mod rule;
mod services;
mod signature;

pub use backend::{Gate, Gates, HostKernels, Precision, Query, gate_kinds};
pub use check::check_rule;
pub use device::{DeviceKernels, Inner, Memory, PauliTerm};
pub use error::{Error, Result};
pub use host::{Par, Registrar};
pub use num_complex::Complex64 as C64;
pub use operation::{Operation, Value, ValueMut};
pub use rule::{Dense, Element, RuleDef, View, ViewMut};

#[doc(hidden)]
pub use glue::init as __init;
#[doc(hidden)]
pub use ketgrad_plugin_abi as __abi;

/// Rules and kernels of a plugin.
pub trait Plugin: Sync {
    /// Adds its rules and kernels. If it fails, none of them counts.
    ///
    /// # Errors
    /// The plugin cannot work here; the message says why.
    fn register(&self, registrar: &mut Registrar<'_>) -> Result<()>;
}

/// Exports a plugin: a constant of a type that implements [`Plugin`], its name and its version. At
/// most once in a library.
#[macro_export]
macro_rules! export_plugin {
    ($plugin:expr, $name:expr, $version:expr) => {
        #[cfg(panic = "abort")]
        ::core::compile_error!(
            "a plugin must be built with `panic = \"unwind\"`: a panic would end the program that loads it"
        );

        #[allow(unsafe_code, non_upper_case_globals, missing_docs, reason = "the exported symbol")]
        #[unsafe(no_mangle)]
        pub static ketgrad_plugin: $crate::__abi::Desc = {
            unsafe extern "C" fn init(
                host: *const $crate::__abi::Host,
                err: *mut $crate::__abi::Err,
            ) -> $crate::__abi::Status {
                // SAFETY: the host calls this with its table and a message buffer, both good for
                // the call.
                unsafe { $crate::__init(&$plugin, host, err) }
            }
            $crate::__abi::Desc {
                magic: $crate::__abi::MAGIC,
                abi_major: $crate::__abi::MAJOR,
                abi_minor: $crate::__abi::MINOR,
                struct_size: ::core::mem::size_of::<$crate::__abi::Desc>() as u32,
                min_host_minor: 0,
                reserved: 0,
                name: $crate::__abi::Str::new($name),
                version: $crate::__abi::Str::new($version),
                build: $crate::__abi::Str::new("rust"),
                init: ::core::option::Option::Some(init),
            }
        };
    };
}

/// Asserts in a test that the kernel of a rule is correct at some points: see [`check_rule`].
///
/// ```
/// use ketgrad_plugin_sdk::{RuleDef, assert_rule};
/// assert_rule!(RuleDef::new("half", 1).f64(|x| 0.5 * x[0]), [[1.0], [-3.0]]);
/// ```
#[macro_export]
macro_rules! assert_rule {
    ($rule:expr, $points:expr) => {
        for point in $points {
            if let ::core::result::Result::Err(e) = $crate::check_rule(&$rule, &point) {
                ::core::panic!("{e}");
            }
        }
    };
}
