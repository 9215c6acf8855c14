//! `program!`: items.
//!
//! `__program_items!` sorts the items of a block; each function then becomes a module of its own,
//! in which the two bodies are:
//!
//! ```text
//! fn f(x) { x * x }   ->   pub use self::f::__run as f;
//!                          pub mod f {
//!                              pub fn __run<S: Number>(x: S) -> S { … }     what users call as `f(2.0)`
//!                              pub fn ir() -> Program { … }                 what they call as `f::ir()`
//!                              pub fn __native(…)  fn __body()              the two bodies
//!                              pub fn __staged(…)                           what a call in a staged body is
//!                              pub mod __native_transforms { … }            what `f::grad(x)` is in either body
//!                              pub mod __staged_transforms { … }
//!                              pub fn __definition()  pub fn __block()      for `ir()`
//!                          }
//! ```
//!
//! Inside a body the name of each function of the block means `__native` or `__staged`, and as a
//! module the transforms of its world. The structs of a block are in the module of its first
//! function.
//!
//! Invariant: the macro writes calls that could be written by hand, and no name of an op occurs in
//! it.

/// Writes differentiable programs: each function is a Rust function on any real number type, and a
/// function of the IR, from one text.
///
/// ```
/// use ketgrad::{exec::{Datum, Derivatives}, program};
///
/// program! {
///     struct Point { x, y }
///     fn distance(p: Point, q: Point) {
///         let dx = p.x - q.x;
///         let dy = p.y - q.y;
///         sqrt(dx * dx + dy * dy)
///     }
///     fn power(x, n: int) {
///         let mut p = 1.0;
///         for i in 0..n { p *= x; }
///         p
///     }
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     // Natively, on floats and on dual numbers …
///     assert_eq!(distance(Point { x: 3.0, y: 0.0 }, Point { x: 0.0, y: 4.0 }), 5.0);
///     assert_eq!(power(num_dual::Dual64::new(3.0, 1.0), 4).eps, 108.0);
///
///     // … and as IR, for reverse mode, passes, printing, every scalar.
///     let mut power = Derivatives::<f64>::new(&power::ir(), "power")?;
///     let (y, gradient) = power.value_and_gradient(&[Datum::Real(3.0), Datum::Int(4)])?;
///     assert_eq!((y, gradient[0].real()), (81.0, Some(&108.0)));
///     Ok(())
/// }
/// ```
///
/// The language is that of [program text](ketgrad_core::text), and the same text gives the same IR.
/// The macro is used at the level of a module.
///
/// # What a function becomes
/// | written | is |
/// |---|---|
/// | `f(2.0)` | the native function `f<S: Number>`; [`Number`](crate::Number) is every real scalar that is `Copy` and decides comparisons: floats, dual numbers and their nests. Other scalars run the IR |
/// | `f::ir()` | the [`Program`](ketgrad_core::ir::Program) of all functions of this `program!` and of all that they use; it is the same for each of them, so that functions may call each other in any order. Name the one you mean: `Derivatives::new(&f::ir(), "f")` |
/// | `f::ir_with(&rules)` | the same, with what is registered for its primitives: their rules, or the rule of a plugin in their place; over arrays, a rule of numbers of that name element by element |
/// | `Point` | `struct Point<x, y> { pub x: x, pub y: y }`: one type parameter for each field, so that `Point { x: 1.0, y: 2.0 }` needs no annotation |
///
/// # Items
/// | form | meaning |
/// |---|---|
/// | `fn f(x, n: int) -> kind { … }` | a function; without a kind a parameter, and without `->` the result, is `real` |
/// | `struct Point { x, n: int, p: Other }` | a struct of at most 16 fields |
/// | `rule f(x) { … } pullback(x, y, y_bar) { … } pushforward(x, x_dot) { … }` | a function with its own derivative; both parts may be missing. Natively it is the function, on dual numbers too; [`Derivatives`](ketgrad_core::exec::Derivatives) go by the rule |
/// | `primitive f(x, n: int) -> kind = path;` | a primitive of the [`Host`](ketgrad_core::exec::Host), and the Rust function that computes it natively, by its path as seen inside the module of the function (`super::opaque`) |
/// | `use path::to::f;` | a function of another `program!`. Its structs are used by a `use` of Rust |
///
/// Kinds are `real`, `complex`, `int`, `bool`, `handle`, `array`, `array<complex>`, `array<int>`,
/// tuples and structs. In native signatures they are `S`, `Complex<S>`, `i64`, `bool`, `u32`,
/// [`Array<S>`](ketgrad_core::array::Array), …
///
/// # Derivatives within programs
/// In a body `f::grad(x)` is the gradient of the function `f`, and so are `f::value_and_grad`,
/// `f::jvp`, `f::vjp`, `f::hessian` and `f::matrix_function` functions with what
/// [`Transform`](ketgrad_core::adjoint::Transform) says that they take and give. They are
/// differentiated from outside like others, and a function that gives one can be differentiated
/// within the program again:
///
/// ```
/// use ketgrad::{exec::{Datum, Derivatives}, program};
///
/// program! {
///     fn potential(x) { ln(cosh(x)) }
///     fn force(x) { -potential::grad(x) }
///     fn stiffness(x) { -force::grad(x) }
///     fn relaxed(x, rate) {
///         let mut y = x;
///         for k in 0..100 { y += rate * force(y); }
///         y
///     }
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     // Natively, by reverse mode inside …
///     assert!((force(0.5) + 0.5f64.tanh()).abs() < 1e-15);
///     assert!((stiffness(0.5) - 1.0 / 0.5f64.cosh().powi(2)).abs() < 1e-15);
///     // … and through a hundred steps of descent, by their rate.
///     let mut by_rate = Derivatives::<f64>::new(&relaxed::ir(), "relaxed")?;
///     assert!(by_rate.gradient(&[Datum::Real(0.5), Datum::Real(0.01)])?[1].real() < Some(&0.0));
///     Ok(())
/// }
/// ```
///
/// Natively the derivative is made by the engines of the IR when it is called for the first time,
/// and runs as IR does, by the rules of functions that have them; what the IR gives as an error is
/// a panic. A function that calls primitives without rules of the program has derivatives with
/// [`ir_with`](#what-a-function-becomes) alone. Tuples and structs are differentiated by, and are
/// results of `jvp` and `vjp`, if all in them has derivatives; `vjp` gives at most eight
/// cotangents.
///
/// # Arrays
/// Operators and functions of numbers work on arrays element by element, with
/// [broadcasting](ketgrad_core::array#broadcasting); all functions of arrays that program text has
/// are available, as `f(x)` and as `x.f()`: shapes, parts, reductions, products, linear algebra,
/// transforms ([one](ketgrad_core::ir::ArrayOp), [two](ketgrad_core::staging::Composed)).
///
/// ```
/// use ketgrad::{array::Array, exec::{Datum, Derivatives}, program};
/// use num_dual::Dual64;
///
/// program! {
///     fn loss(w: array, b: array) {
///         let x = [[0.5, -1.0], [2.0, 0.25], [1.0, 1.0]];
///         let y = tanh(matmul(x, w) + b);
///         mean(y * y)
///     }
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let (w, b) = (Array::from_rows([[0.1, 0.3], [-0.2, 0.7]]), Array::from([0.0, 0.5]));
///     // The gradient by all weights in reverse mode, of the same value …
///     let mut reverse = Derivatives::<f64>::new(&loss::ir(), "loss")?;
///     let args = [Datum::Reals(w.clone().into()), Datum::Reals(b.clone().into())];
///     let (value, gradient) = reverse.value_and_gradient(&args)?;
///     assert_eq!(value, loss(w.clone(), b.clone()));
///     // … and by the first bias, on dual numbers as Rust.
///     let mut b = b.map(|x| Dual64::from(*x));
///     b[0].eps = 1.0;
///     let dual = loss(w.map(|x| Dual64::from(*x)), b);
///     let Datum::Reals(by_bias) = &gradient[1] else { panic!("an array has an array as gradient") };
///     assert!((by_bias[0] - dual.eps).abs() < 1e-15);
///     Ok(())
/// }
/// ```
///
/// | in text | in the macro |
/// |---|---|
/// | `a[i, j]` | `a[(i, j)]`, which text reads too: Rust has one index |
/// | `v = v / norm(v)` | `v = &v / norm(&v)`, which text reads too: natively a `let mut` array is moved by what uses it as a whole |
/// | `reshape(x, [n, 3])` | `let lengths = [n, 3]; reshape(x, lengths)`: elements of different types need a `let` |
///
/// Each operation gives the bits that the executor of the IR gives, because natively it is the
/// executor's, one operation at a time: it costs about half a microsecond beside its work, and a
/// copy of what it takes by reference. The IR runs operations element by element together and uses
/// memory again, so it is the faster one for large arrays. Shapes that do not fit panic natively,
/// with the operation and the shapes, at the line of the operation. In the IR those that are known
/// without the arguments are an error of
/// [`Derivatives::new`](ketgrad_core::exec::Derivatives::new), those of arguments of
/// [`with_shapes`](ketgrad_core::exec::Derivatives::with_shapes) or of the run.
///
/// # Statements
/// `let`, `let mut`, `let x: kind`, `let (a, mut b)`, `=`, `+=`, `-=`, `*=`, `/=` on variables,
/// fields and elements; `if` / `else if` / `else` as a statement, as the value of a `let`, an
/// assignment or the body; `while`, `for i in a..b` and `a..=b`, `break`, `continue`, `return e;`,
/// blocks. Expressions are Rust's, so rustc checks names and kinds and its errors are at the
/// words of the program.
///
/// Conditions are comparisons joined by `&&`, `||`, `!` and parentheses. **A comparison is allowed
/// only in a condition**: elsewhere rustc says that values cannot be compared, with
/// `ComparisonsStandOnlyInConditions`; write `let c = if a < b { true } else { false };`. There is
/// no `match` and no `loop`.
///
/// # Differences from program text
/// - `grad(f)(x)` is written `f::grad(x)`, which text reads too.
/// - A result that is not real is written: `fn f(x) -> (real, real)`. A macro cannot infer it.
/// - The arms of an `if` with a value, and the elements of an array, are of one kind: `0.0`, not
///   `0`, beside a real number. `[x; n]` with `n` a variable, and `[[x; m]; n]`, is the whole value
///   of a `let`, an assignment or a body.
/// - Literals among themselves are computed by rustc, in `f64`: `1.0 / 3.0` is one constant, also
///   on number types of more digits (there divide something else, or read the program as text,
///   where each literal is what is written). `1 / 2` would be 0 there and is refused.
/// - A function of yours with the name of one of the language, `fn sin(x)`, is what `sin(x)` calls;
///   `x.sin()` is the language's, where text takes yours.
/// - A block is a statement or the value of a `let`, not inside an expression.
/// - A function without a real number among its parameters is told its type natively:
///   `f::<f64>(3)`.
/// - Natively an array declared with `let mut` is moved by an expression that uses it as a whole;
///   take `&xs` or a method, `xs.sum()`, or a variable without `mut`, which can be used any number
///   of times.
/// - An array of literals alone that is an operand takes its type of number from the others:
///   `dot([1.0, 2.0], x)`. Where there are no others natively, `let` gives it one.
/// - Natively ints overflow and indices are checked as in Rust, by a panic; the IR gives errors.
/// - An instruction has the position where its expression begins (rustc knows no positions of
///   operators). Comparisons, `!`, `xs[i] = e`, counters and constants take the position of the
///   instruction before: the last one in their operands, if there is one, else that of an earlier
///   statement, or none at the start of a function.
///
/// # Limits
/// 120 statements in a row, and six nested blocks with long conditions, fit rustc's default
/// recursion limit of macros; the error beyond names the remedy, `#![recursion_limit = "256"]` in
/// the crate. Errors about fields and methods that do not exist are told for both bodies; read the
/// one about `Ex`.
#[macro_export]
macro_rules! program {
    ($($t:tt)*) => {
        $crate::__program_items! { [] [] [] [] $($t)* }
    };
}

/// Sorts items: `[uses] [structs] [names of functions] [functions]`, then what is left to read.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_items {
    ($use:tt $structs:tt $names:tt [$first:tt $($more:tt)*]) => {
        $crate::__program_function! { $use $structs $names $first }
        $( $crate::__program_function! { $use [] $names $more } )*
    };
    ([$($use:tt)*] $structs:tt $names:tt $all:tt use $($rest:tt)*) => {
        $crate::__program_items! { @use [] [$($use)*] $structs $names $all $($rest)* }
    };
    (@use [$($path:tt)*] [$($use:tt)*] $structs:tt $names:tt $all:tt $name:ident ; $($rest:tt)*) => {
        $crate::__program_items! { [$($use)* (($($path)*) $name)] $structs $names $all $($rest)* }
    };
    (@use [$($path:tt)*] $use:tt $structs:tt $names:tt $all:tt $step:ident :: $($rest:tt)*) => {
        $crate::__program_items! { @use [$($path)* $step ::] $use $structs $names $all $($rest)* }
    };
    (@use $path:tt $use:tt $structs:tt $names:tt $all:tt $($rest:tt)*) => {
        ::core::compile_error!("program!: expected `use path::to::function;`, one function each");
    };
    ($use:tt [$($struct:tt)*] $names:tt $all:tt
        $(#[$meta:meta])* struct $P:ident { $($field:ident $(: $kind:ty)?),* $(,)? } $($rest:tt)*
    ) => {
        $crate::__program_items! {
            $use [$($struct)* { $P $(($field [$($kind)?]))* }] $names $all $($rest)*
        }
    };
    ($use:tt $structs:tt [$($names:tt)*] [$($all:tt)*]
        $(#[$meta:meta])* fn $f:ident ($($params:tt)*) $(-> $result:ty)? { $($body:tt)* } $($rest:tt)*
    ) => {
        $crate::__program_items! {
            $use $structs [$($names)* $f]
            [$($all)* { [$(#[$meta])*] $f ($($params)*) ($($params)*) [$($result)?] { $($body)* } }]
            $($rest)*
        }
    };
    ($use:tt $structs:tt $names:tt $all:tt
        $(#[$meta:meta])* rule $f:ident ($($params:tt)*) $(-> $result:ty)? { $($body:tt)* } $($rest:tt)*
    ) => {
        $crate::__program_items! {
            @rule [] [] $use $structs $names $all
            { [$(#[$meta])*] $f ($($params)*) [$($result)?] { $($body)* } } $($rest)*
        }
    };
    (@rule [] $push:tt $use:tt $structs:tt $names:tt $all:tt $rule:tt
        pullback ($($p:ident),* $(,)?) { $($body:tt)* } $($rest:tt)*
    ) => {
        $crate::__program_items! {
            @rule [pull ($($p)*) { $($body)* }] $push $use $structs $names $all $rule $($rest)*
        }
    };
    (@rule $pull:tt [] $use:tt $structs:tt $names:tt $all:tt $rule:tt
        pushforward ($($p:ident),* $(,)?) { $($body:tt)* } $($rest:tt)*
    ) => {
        $crate::__program_items! {
            @rule $pull [push ($($p)*) { $($body)* }] $use $structs $names $all $rule $($rest)*
        }
    };
    (@rule [$($pull:tt)*] [$($push:tt)*] $use:tt $structs:tt [$($names:tt)*] [$($all:tt)*]
        { $meta:tt $f:ident $params:tt $result:tt $body:tt } $($rest:tt)*
    ) => {
        $crate::__program_items! {
            $use $structs [$($names)* $f] [$($all)* { $meta $f $params $params $result $body $($pull)* $($push)* }]
            $($rest)*
        }
    };
    ($use:tt $structs:tt [$($names:tt)*] [$($all:tt)*]
        $(#[$meta:meta])* primitive $f:ident ($($params:tt)*) $(-> $result:ty)? = $path:path; $($rest:tt)*
    ) => {
        $crate::__program_items! {
            $use $structs [$($names)* $f]
            [$($all)* { [$(#[$meta])*] $f ($($params)*) ($($params)*) [$($result)?] = $path }]
            $($rest)*
        }
    };
    ($use:tt $structs:tt $names:tt $all:tt pub $($rest:tt)*) => {
        $crate::__program_items! { $use $structs $names $all $($rest)* }
    };
    ($use:tt $structs:tt $names:tt []) => {
        ::core::compile_error!("program!: expected a function such as `fn f(x) { x * x }`");
    };
    ($use:tt $structs:tt $names:tt $all:tt $word:tt $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "program!: expected `fn name(x, n: int) -> kind { … }`, `struct`, `rule`, `primitive` or `use`, not `",
            ::core::stringify!($word $($rest)*),
            "`"
        ));
    };
}

/// A kind as a type; `real` if none is written.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_kind {
    ([]) => {
        f64
    };
    ([$kind:ty]) => {
        $kind
    };
}
