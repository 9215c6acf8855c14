//! Looking inside a run: contextual dispatch.
//!
//! An [`Interceptor`] sees each instruction as it runs, with its operands' values before and its
//! result after; [`Inspection`] runs a program under one. The program is compiled for it:
//! instruction by instruction as [`Program::print`](crate::ir::Program::print) shows them, none
//! joined and none dropped, so positions and values are exact. Without an interceptor none of this
//! exists in the code that runs.
//!
//! | interceptor | tells |
//! |---|---|
//! | [`Debugger`] | values at breakpoints, step by step |
//! | [`Finder`] | where the first NaN or infinity was made, and of what |
//! | [`OpCounter`] | which operations ran, and how often |
//! | [`Sparsity`] | which results depend on which arguments |
//!
//! [`Derivatives::origin_of_nan`](super::Derivatives::origin_of_nan) finds the origin of a NaN in a
//! derivative.
//!
//! # Replacing
//! An interceptor may also [replace](Interceptor::replace) the result of an instruction: clip it,
//! round it, or compute a call in another way. Everything that uses the value sees the new one. The
//! effect on derivatives:
//!
//! | run | derivative of what is replaced |
//! |---|---|
//! | on numbers that carry derivatives ([`Dual64`](num_dual::Dual64)) | that of the number given: a constant has none |
//! | [`of_gradient`](Inspection::of_gradient) | that of the instruction itself: the value changes, and the reverse pass goes straight through at the new value |
//!
//! To have another function differentiated as it is, [edit](crate::ir::Editor) the program, or give
//! the function a rule.
//!
//! ```
//! use ketgrad_core::{
//!     exec::{Datum, inspect::{Event, Inspection, Interceptor, Moment, Interrupt}},
//!     ir::{Number1, Op},
//!     text::parse_program,
//! };
//!
//! /// No exponential is above 10.
//! struct Clip;
//! impl Interceptor<f64> for Clip {
//!     fn see(&mut self, _: &Event<'_, f64>) -> Result<(), Interrupt> {
//!         Ok(())
//!     }
//!     fn replace(&mut self, event: &Event<'_, f64>) -> Result<Option<Datum<f64>>, Interrupt> {
//!         let is_exp = event.inst().is_some_and(|inst| inst.op == Op::Number1(Number1::Exp));
//!         let y = event.result().filter(|_| is_exp);
//!         Ok(y.and_then(|y| Some(Datum::Real(y.real()?.min(10.0)))))
//!     }
//! }
//! let program = parse_program("fn f(x) { exp(x) + 1 }")?;
//! let mut f = Inspection::<f64>::new(&program, "f")?;
//! assert_eq!(f.run(&[Datum::Real(700.0)], &mut Clip)?, Datum::Real(11.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! use ketgrad_core::{exec::{Datum, inspect::{OpCounter, Inspection}}, text::parse_program};
//!
//! let program = parse_program("fn f(x) { let mut s = x; for i in 0..10 { s = s * x + 1; } s }")?;
//! let mut counter = OpCounter::default();
//! let y = Inspection::<f64>::new(&program, "f")?.run(&[Datum::Real(1.0)], &mut counter)?;
//! assert_eq!(y.real(), Some(&11.0));
//! assert_eq!((counter.count("mul"), counter.count("add"), counter.flops), (10, 10, 20));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod counter;
mod debugger;
mod event;
mod finder;
mod flops;
mod inspection;
mod interceptor;
mod moment;
mod origin;
mod sets;
mod shadow;
mod sources;
mod sparsity;

pub use counter::OpCounter;
pub use debugger::{Command, Debugger, Pause, Reason};
pub use event::Event;
pub use finder::{Find, Finder, Found};
pub use inspection::Inspection;
pub(super) use interceptor::NoInterceptor;
pub use interceptor::{Interceptor, Interrupt};
pub use moment::Moment;
pub use sparsity::{Pattern, Sparsity, hessian_pattern, jacobian_pattern};
pub(super) use sparsity::{hessian_of, jacobian_of};
