//! Entry points: the ways to write down a function that is differentiated, and which one is for
//! what.
//!
//! All of them end in the same representation ([`core::ir`](ketgrad_core::ir)), go by the same
//! rules, and give the same bits.
//!
//! | there is | take | branches and loops | a derivative costs | is not for |
//! |---|---|---|---|---|
//! | a function to be written in Rust now | [`program!`](crate::program!) | are kept: one program for all inputs | compiled once, at the first call | code that calls other crates |
//! | text that comes at run time: a file, a user | [`parse_program`] | are kept | compiled once, at the first call | text that is trusted with more than its limits |
//! | a Rust function generic over its numbers | [`trace`] | loops are unrolled, comparisons an error | recorded once, then compiled | functions whose path depends on values |
//! | one that compares, too | [`trace_at`], [`Cached`] | the path at given values; elsewhere an error, or a new recording | recorded once for each path | many paths |
//! | code that runs step by step, a loop of training | [`Tape`] | those of Rust, at each run | each run notes all operations: some 10 times the function | millions of runs of one formula |
//! | a formula to look at, or to get as text | [`Expr`] | by `select` | the derivative is a formula | large programs |
//! | a program that makes programs | [`FunctionBuilder`], [`Editor`] | blocks and edges | compiled once | people |
//! | a build without this crate | [`emit_rust`], of any of the others | are kept | what `rustc` makes of it | arguments of unknown programs |
//!
//! [`parse_program`]: ketgrad_core::text::parse_program
//! [`trace`]: ketgrad_core::trace::trace
//! [`trace_at`]: ketgrad_core::trace::trace_at
//! [`Cached`]: ketgrad_core::trace::Cached
//! [`Tape`]: ketgrad_core::tape::Tape
//! [`Expr`]: ketgrad_core::trace::Expr
//! [`FunctionBuilder`]: ketgrad_core::ir::FunctionBuilder
//! [`Editor`]: ketgrad_core::ir::Editor
//! [`emit_rust`]: ketgrad_core::emit::emit_rust
//!
//! The same function by each of them, `x sin x` with the slope `sin x + x cos x`:
//!
//! # `program!`
//! ```
//! use ketgrad::{exec::{Datum, Derivatives}, program};
//!
//! program! {
//!     fn f(x) { x * sin(x) }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let slope = Derivatives::<f64>::new(&f::ir(), "f")?.gradient(&[Datum::Real(2.0)])?;
//! assert_eq!((f(2.0), slope), (2.0 * 2f64.sin(), vec![Datum::Real(2f64.sin() + 2.0 * 2f64.cos())]));
//! # Ok(())
//! # }
//! ```
//!
//! # Text
//! ```
//! use ketgrad::{exec::{Datum, Derivatives}, text::parse_program};
//!
//! let program = parse_program("fn f(x) { x * sin(x) }")?;
//! let slope = Derivatives::<f64>::new(&program, "f")?.gradient(&[Datum::Real(2.0)])?;
//! assert_eq!(slope, [Datum::Real(2f64.sin() + 2.0 * 2f64.cos())]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # `trace`, `trace_at`, `Cached`
//! ```
//! use ketgrad::{exec::Datum, scalar::{Ordered, Scalar}, trace::{Cached, Expr, Traced, trace, trace_at}};
//!
//! fn f<S: Scalar>(x: &S) -> S {
//!     x * x.sin()
//! }
//! let recorded = trace("f", &["x"], |x: Expr| f(&x))?;
//! let slope = recorded.derivatives::<f64>()?.gradient(&[Datum::Real(2.0)])?;
//! assert_eq!(slope, [Datum::Real(2f64.sin() + 2.0 * 2f64.cos())]);
//!
//! // With a branch the recording is that of one side; the other is refused, or recorded, too.
//! fn g<T: Ordered>(x: &T) -> T {
//!     if x.cmp_primal(&T::int(0)).is_some_and(|o| o.is_gt()) { f(x) } else { -x }
//! }
//! let one = trace_at("g", &["x"], 2.0, |x: Traced<f64>| g(&x))?;
//! assert!(one.derivatives::<f64>()?.value(&[Datum::Real(-1.0)]).is_err());
//! let mut all = Cached::new("g", &["x"], |x: Traced<f64>| g(&x));
//! assert_eq!((all.value_and_gradient(2.0)?.0, all.value_and_gradient(-1.0)?.0), (2.0 * 2f64.sin(), 1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # `Tape`
//! ```
//! use ketgrad::tape::Tape;
//!
//! let tape = Tape::new();
//! let x = tape.variable("x", 2.0);
//! (x * x.sin()).backward()?;
//! assert_eq!(x.gradient(), 2f64.sin() + 2.0 * 2f64.cos());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # `Expr`
//! ```
//! use ketgrad::{scalar::Scalar, trace::Expr};
//!
//! let x = Expr::symbol("x");
//! let y = &x * x.sin();
//! assert_eq!(y.derivative("x")?.to_string(), "sin(x) + x*cos(x)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # By hand
//! ```
//! use ketgrad::{exec::{Datum, Derivatives}, ir::{Editor, FunctionBuilder, Kind, Number1, Number2, Op, Param, InsertionPoint, Program}};
//!
//! let mut b = FunctionBuilder::new("f", vec![Param::new("x", Kind::Real)], Kind::Real);
//! let x = b.param(0);
//! let y = b.number2(Number2::Mul, x, x);
//! b.ret(y);
//! let mut program = Program::new();
//! let f = program.add(b.finish());
//! // x * x becomes x * sin(x).
//! let mut editor = Editor::new(&mut program, f)?;
//! let (_, product) = editor.find(|_| true).ok_or("nothing")?;
//! let sine = editor.insert(InsertionPoint::Before(product), Op::Number1(Number1::Sin), &[x])?;
//! editor.set_operand(product, 1, sine)?;
//! let slope = Derivatives::<f64>::new(&program, "f")?.gradient(&[Datum::Real(2.0)])?;
//! assert_eq!(slope, [Datum::Real(2f64.sin() + 2.0 * 2f64.cos())]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rust that stands alone
//! ```
//! use ketgrad::{emit::emit_rust, exec::Derivatives, text::parse_program};
//!
//! let program = parse_program("fn f(x) { x * sin(x) }")?;
//! let (program, gradient) = Derivatives::<f64>::new(&program, "f")?.derivative()?;
//! let rust = emit_rust(&program, &[gradient])?;
//! assert!(rust.contains("pub fn f_gradient(x: f64) -> (f64, f64) {"), "{rust}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
