//! From a formula to a trained network, in steps that run.
//!
//! # 1. A formula and its gradient
//! A program is text (read at run time), or the same text inside [`program!`](crate::program!).
//! [`Derivatives`] runs it and differentiates it; arguments and results are values of type
//! [`Datum`].
//!
//! ```
//! use ketgrad::{exec::{Datum, Derivatives}, text::parse_program};
//!
//! let program = parse_program("fn f(a, b) { a / (a + b * b) }")?;
//! let mut f = Derivatives::<f64>::new(&program, "f")?;
//! let (value, gradient) = f.value_and_gradient(&[Datum::Real(2.0), Datum::Real(3.0)])?;
//! assert_eq!(value, 2.0 / 11.0);
//! assert!((gradient[0].real().unwrap() - 9.0 / 121.0).abs() < 1e-16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What was derived is a program too: it can be printed, and be differentiated again.
//!
//! ```
//! # use ketgrad::{exec::{Datum, Derivatives}, text::parse_program};
//! # let program = parse_program("fn f(a, b) { a / (a + b * b) }")?;
//! # let mut f = Derivatives::<f64>::new(&program, "f")?;
//! let texts = f.adjoint()?; // the primal, the adjoint, the gradient
//! assert!(texts[2].starts_with("fn f.gradient(a, b) -> (real, real, real)"), "{}", texts[2]);
//! let hessian = f.hessian(&[Datum::Real(2.0), Datum::Real(3.0)])?;
//! assert_eq!(hessian[0][1], hessian[1][0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 2. A check that does not trust the engine
//! The same program runs on dual numbers, which carry a derivative forward through plain
//! arithmetic. Two ways that share no rule for going backwards agree.
//!
//! ```
//! use ketgrad::{exec::{Datum, Derivatives}, text::parse_program};
//! use num_dual::Dual64;
//!
//! // The square root of a by Newton's method, with as many iterations as it takes.
//! let source = "fn root(a) { let mut x = a; while abs(x * x - a) > 1e-12 { x = 0.5 * (x + a / x); } x }";
//! let program = parse_program(source)?;
//! let reverse = Derivatives::<f64>::new(&program, "root")?.gradient(&[Datum::Real(2.0)])?;
//! let dual = Derivatives::<Dual64>::new(&program, "root")?.value(&[Datum::Real(Dual64::new(2.0, 1.0))])?;
//! assert!((reverse[0].real().unwrap() - dual.real().unwrap().eps).abs() < 1e-14);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 3. Arrays
//! Arrays have shapes, operators broadcast, and there are functions for the rest: products,
//! reductions along axes, linear algebra ([the table](ketgrad_core::ir::ArrayOp)). Shapes that do
//! not fit are an error that says where: when the program is read, if they are known there, else
//! when it runs.
//!
//! ```
//! use ketgrad::{exec::{Datum, Derivatives}, text::parse_program};
//!
//! let source = "fn layer(x: array, w: array, b: array) { sum(tanh(matmul(x, w) + b)) }";
//! let program = parse_program(source)?;
//! let mut layer = Derivatives::<f64>::new(&program, "layer")?;
//! let x = Datum::reals_of(&[4, 2], vec![0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0])?;
//! let (w, b) = (Datum::reals_of(&[2, 3], vec![0.1; 6])?, Datum::reals([0.0; 3]));
//! let (_, gradient) = layer.value_and_gradient(&[x.clone(), w, b.clone()])?;
//! let Datum::Reals(by_weights) = &gradient[1] else { panic!("an array has an array as gradient") };
//! assert_eq!(by_weights.shape().as_slice(), [2, 3]);
//!
//! let wrong = Datum::reals_of(&[3, 2], vec![0.1; 6])?;
//! let error = layer.value_and_gradient(&[x, wrong, b]).unwrap_err().to_string();
//! assert!(error.starts_with("1:") && error.contains("`matmul`") && error.contains("[4, 2] and [3, 2]"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Inside [`program!`](crate::program!) the same is a Rust function, too, on floats and on dual
//! numbers:
//!
//! ```
//! use ketgrad::{array::Array, exec::{Datum, Derivatives}, program};
//!
//! program! {
//!     fn layer(x: array, w: array, b: array) { sum(tanh(matmul(x, w) + b)) }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let x = Array::from_rows([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]);
//! let (w, b) = (Array::from_rows([[0.1; 3]; 2]), Array::from([0.0; 3]));
//! let args = [&x, &w, &b].map(|a| Datum::Reals(a.clone().into()));
//! let (value, _) = Derivatives::<f64>::new(&layer::ir(), "layer")?.value_and_gradient(&args)?;
//! assert_eq!(value, layer(x, w, b));
//! # Ok(())
//! # }
//! ```
//!
//! # 4. A network that learns
//! Exclusive or, by two layers. The gradient is prepared: derived, optimised and compiled once,
//! then called again and again without allocating.
//!
//! ```
//! use ketgrad::{array::Array, exec::{Datum, Derivatives}, program};
//!
//! program! {
//!     fn answers(w: array, b: array, v: array) -> array {
//!         let x = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
//!         matvec(tanh(matmul(x, w) + b), v)
//!     }
//!     fn loss(w: array, b: array, v: array) {
//!         let r = answers(w, b, v) - [0.0, 1.0, 1.0, 0.0];
//!         mean(r * r)
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut gradient_of_loss = Derivatives::<f64>::new(&loss::ir(), "loss")?.prepare()?;
//! let noise = |n: usize| (0..n).map(|k| (3.7 * k as f64 + 1.0).sin()).collect::<Vec<f64>>();
//! let mut weights = [Datum::reals_of(&[2, 6], noise(12))?, Datum::reals(noise(6)), Datum::reals(noise(6))];
//! let mut gradient = Vec::new();
//! let mut last = f64::INFINITY;
//! for _ in 0..2000 {
//!     last = gradient_of_loss.value_and_gradient(&weights, &mut gradient)?;
//!     for (w, g) in weights.iter_mut().zip(&gradient) {
//!         let (Datum::Reals(w), Datum::Reals(g)) = (w, g) else { continue };
//!         let w = std::sync::Arc::make_mut(w);
//!         w.iter_mut().zip(g.iter()).for_each(|(w, g)| *w -= 0.2 * g);
//!     }
//! }
//! assert!(last < 1e-2, "{last}");
//! // What it has learned, as Rust.
//! let [w, b, v] = weights.map(|w| if let Datum::Reals(w) = w { (*w).clone() } else { Array::default() });
//! let answers = answers(w, b, v);
//! assert!(answers[1] > 0.8 && answers[3] < 0.2, "{answers}");
//! # Ok(())
//! # }
//! ```
//!
//! The same without a program, by operators on a [`Tape`]:
//!
//! ```
//! use ketgrad::{array::Array, tape::Tape};
//!
//! let tape = Tape::new();
//! let x = Array::new(&[4, 2], vec![0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0])?;
//! let w = tape.array("w", Array::new(&[2, 3], vec![0.3, -0.2, 0.5, 0.1, 0.7, -0.4])?);
//! let b = tape.array("b", Array::from(vec![0.0; 3]));
//! let loss = (tape.constant_array(&x).matmul(w) + b).tanh().powi(2).mean();
//! loss.backward()?;
//! assert_eq!(w.gradient().shape().as_slice(), [2, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 5. Where to go on
//! | to | see |
//! |---|---|
//! | mix circuits into programs | [`hybrid`](ketgrad_core::hybrid) |
//! | minimise with something better than fixed steps | [`optimize`](ketgrad_core::optimize) |
//! | hold data at their values, so that nothing is computed for their derivatives | [`with_constant`](ketgrad_core::exec::Derivatives::with_constant) |
//! | get Jacobians and Hessians with many zeros from few products | [`exec`](ketgrad_core::exec) |
//! | differentiate a solution by its equation | [`implicit`](ketgrad_core::adjoint::implicit()) |
//! | keep the gradient of a long loop in a budget of memory | [`with_memory`](ketgrad_core::exec::Derivatives::with_memory) |
//! | give a function a rule of its own | [`text`](ketgrad_core::text) |
//! | find where the first NaN came from | [`inspect`](ketgrad_core::exec::inspect) |
//!
//! [`Derivatives`]: ketgrad_core::exec::Derivatives
//! [`Datum`]: ketgrad_core::exec::Datum
//! [`Tape`]: ketgrad_core::tape::Tape
