//! Finds, checks and loads plugins, and passes their rules and kernels to the core.
//!
//! ```text
//! Settings, Request… ──► load ──► Plugins ─┬─► rules(): what programs may call
//!                                          ├─► host(): computes it, on every scalar
//!                                          ├─► executors(): the kernels beside the built-in ones
//!                                          └─► reports: what was loaded, and why the rest was not
//! ```
//!
//! # A rule on every scalar
//! A rule becomes a function of the [program](Plugins::rules) under its name, so it is called,
//! differentiated and printed as if the user had written it. How it is computed on a scalar `S`:
//!
//! 1. its compiled kernel, if `S` has `f64` where the kernel has;
//! 2. else its program, if that says the value;
//! 3. else, on numbers that carry derivatives, the Taylor series about the plain numbers behind
//!    them, whose coefficients are kernel and programs on `f64`; it ends by itself, since
//!    derivative parts are nilpotent;
//! 4. of a kernel with a pullback and no program: the first derivative alone. Above that, an error
//!    in words.
//!
//! # Trust
//! A library can do whatever the program that loads it can. What is checked: the bytes that were
//! hashed are those that run, the version of the interface, sizes and shapes, the memory behind
//! results, finite numbers if asked; and that rules have the derivatives and kernels the results
//! that they should ([`verify()`], [`conform()`]), at load and once. Rules one does not trust
//! belong in a program alone ([`Plugins::add_program`]), which can neither read memory nor loop
//! without end.

mod array;
mod at_load;
mod backends;
mod border;
mod by_name;
mod cache;
mod call;
mod choice;
mod conform;
pub mod crash;
mod deadline;
mod dense;
mod device;
mod device_state;
mod error;
mod executor;
mod host;
mod init;
mod kernel;
mod library;
mod lift;
mod limits;
mod lower;
mod operator;
mod plugins;
mod request;
mod sealed;
mod shown;
mod signature;
mod verify;
mod writable;

pub use backends::BackendVerdict;
pub use choice::{Choice, ChoiceFault, Known};
pub use conform::{COMPARED, Finding, conform, conform_kernels};
pub use deadline::exit_past_loader;
pub use device::Device;
pub use device_state::DeviceState;
pub use error::{Fault, PluginError};
pub use executor::HostKernels;
pub use host::{ChainedHost, Loaded};
pub use library::sha256_of;
pub use operator::RuleOperator;
pub use plugins::{Plugins, ProgramFault};
pub use request::{Check, OnDuplicate, Report, Request, Selection, Settings, file_name};
pub use verify::{NamedPoint, Verdict, verify, verify_at};
