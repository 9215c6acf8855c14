//! `program!`: items.
//!
//! `__program_items!` sorts the items of a block; each function then becomes a module of its own, in which the
//! two bodies stand:
//!
//! ```text
//! fn f(x) { x * x }   ->   pub use self::f::__run as f;
//!                          pub mod f {
//!                              pub fn __run<S: Number>(x: S) -> S { … }     what users call as `f(2.0)`
//!                              pub fn ir() -> Program { … }                 what they call as `f::ir()`
//!                              pub fn __native(…)  fn __body()              the two bodies
//!                              pub fn __staged(…)                           what a call in a staged body is
//!                              pub fn __definition()  pub fn __block()      for `ir()`
//!                          }
//! ```
//!
//! Inside a body the name of each function of the block means `__native` or `__staged`. The structs of a block
//! stand in the module of its first function.
//!
//! Invariant: the macro writes calls that could be written by hand, and no name of an op occurs in it.

/// Writes differentiable programs: each function is a Rust function on any real number type, and a function of
/// the IR, from one text.
///
/// ```
/// use ketgrad::{core::exec::{Datum, Derivatives}, program};
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
/// The language is that of [program text](crate::core::text), and the same text gives the same IR. The macro
/// stands at the level of a module.
///
/// # What a function becomes
/// | written | is |
/// |---|---|
/// | `f(2.0)` | the native function `f<S: Number>`; [`Number`](crate::Number) is every real scalar that is `Copy` and decides comparisons: floats, dual numbers and their nests. Other scalars run the IR |
/// | `f::ir()` | the [`Program`](crate::core::ir::Program) of all functions of this `program!` and of all that they use; it is the same for each of them, so that functions may call each other in any order. Name the one you mean: `Derivatives::new(&f::ir(), "f")` |
/// | `f::ir_with(&rules)` | the same, with the rules of registered primitives |
/// | `Point` | `struct Point<x, y> { pub x: x, pub y: y }`: one type parameter for each field, so that `Point { x: 1.0, y: 2.0 }` needs no annotation |
///
/// # Items
/// | form | meaning |
/// |---|---|
/// | `fn f(x, n: int) -> kind { … }` | a function; without a kind a parameter, and without `->` the result, is `real` |
/// | `struct Point { x, n: int, p: Other }` | a struct of at most 16 fields |
/// | `rule f(x) { … } pullback(x, y, y_bar) { … } pushforward(x, x_dot) { … }` | a function with its own derivative; both parts may be missing. Natively it is the function |
/// | `primitive f(x, n: int) -> kind = path;` | a primitive of the [`Host`](crate::core::exec::Host), and the Rust function that computes it natively, by its path as seen inside the module of the function (`super::opaque`) |
/// | `use path::to::f;` | a function of another `program!`. Its structs are used by a `use` of Rust |
///
/// Kinds are `real`, `complex`, `int`, `bool`, `handle`, `array`, `array<complex>`, `array<int>`, tuples
/// and structs. In native signatures they are `S`, `Complex<S>`, `i64`, `bool`, `u32`, `Vec<S>`, …
///
/// # Statements
/// `let`, `let mut`, `let x: kind`, `let (a, mut b)`, `=`, `+=`, `-=`, `*=`, `/=` on variables, fields and elements;
/// `if` / `else if` / `else` as a statement, as the value of a `let`, an assignment or the body; `while`, `for i in a..b`
/// and `a..=b`, `break`, `continue`, `return e;`, blocks. Expressions are Rust's, so rustc checks names and kinds and
/// its errors stand at the words of the program.
///
/// Conditions are comparisons joined by `&&`, `||`, `!` and parentheses. **A comparison stands only in a condition**:
/// elsewhere rustc says that values cannot be compared, with `ComparisonsStandOnlyInConditions`; write
/// `let c = if a < b { true } else { false };`. There is no `match` and no `loop`.
///
/// # Differences from program text
/// - A result that is not real is written: `fn f(x) -> (real, real)`. A macro cannot infer it.
/// - The arms of an `if` with a value, and the elements of an array, are of one kind: `0.0`, not `0`, beside a real
///   number. `[x; n]` with `n` a variable is the whole value of a `let`, an assignment or a body.
/// - Literals among themselves are computed by rustc: `1.0 / 3.0` is one constant. `1 / 2` would be 0 there and is
///   refused.
/// - A block stands as a statement or as the value of a `let`, not inside an expression.
/// - A function without a real number among its parameters is told its type natively: `f::<f64>(3)`.
/// - Natively an array declared with `let mut` is moved by an expression that uses it as a whole; take `&xs`, or a
///   variable without `mut`, which can be used any number of times.
/// - Natively ints overflow and indices are checked as in Rust, by a panic; the IR gives errors.
/// - An instruction stands where its expression begins (rustc knows no positions of operators); comparisons,
///   counters and constants take the place of the instruction before.
///
/// # Limits
/// 120 statements in a row fit rustc's default recursion limit of macros; the error beyond names the remedy,
/// `#![recursion_limit = "256"]` in the crate. Errors about fields and methods that do not exist are told for
/// both bodies; read the one about `Ex`.
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
        $(#[$meta:meta])* fn $f:ident ($($p:ident $(: $kind:ty)?),* $(,)?) $(-> $result:ty)? { $($body:tt)* }
        $($rest:tt)*
    ) => {
        $crate::__program_items! {
            $use $structs [$($names)* $f]
            [$($all)* { [$(#[$meta])*] $f ($(($p [$($kind)?]))*) [$($result)?] { $($body)* } }]
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
        { $meta:tt $f:ident ($($p:ident $(: $kind:ty)?),* $(,)?) $result:tt $body:tt } $($rest:tt)*
    ) => {
        $crate::__program_items! {
            $use $structs [$($names)* $f]
            [$($all)* { $meta $f ($(($p [$($kind)?]))*) $result $body $($pull)* $($push)* }]
            $($rest)*
        }
    };
    ($use:tt $structs:tt [$($names:tt)*] [$($all:tt)*]
        $(#[$meta:meta])* primitive $f:ident ($($p:ident $(: $kind:ty)?),* $(,)?) $(-> $result:ty)?
        = $path:path; $($rest:tt)*
    ) => {
        $crate::__program_items! {
            $use $structs [$($names)* $f]
            [$($all)* { [$(#[$meta])*] $f ($(($p [$($kind)?]))*) [$($result)?] = $path }]
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

/// A function with its two bodies.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_function {
    // The head, then what is particular to functions, rules and primitives.
    ($use:tt $structs:tt $names:tt { [$($meta:tt)*] $f:ident ($(($p:ident $kind:tt))*) $result:tt $($rest:tt)* }) => {
        $($meta)*
        #[doc(inline)]
        pub use self::$f::__run as $f;
        $crate::__program_export! { $f $structs }
        #[allow(
            missing_docs, non_camel_case_types, unused, unused_mut, unused_assignments, unreachable_code,
            while_true, clippy::all, clippy::pedantic, clippy::restriction, clippy::nursery
        )]
        pub mod $f {
            use super::*;
            use $crate::program as __p;
            use __p::kinds::{array, complex, handle, int, real};
            $crate::__program_structs! { $structs }

            /// The function on numbers of type `S`.
            pub fn __run<S: __p::Number>(
                $($p: <$crate::__program_kind!($kind) as __p::Shape>::Public<S>),*
            ) -> <$crate::__program_kind!($result) as __p::Shape>::Public<S> {
                <$crate::__program_kind!($result) as __p::Shape>::unwrap::<S>(__native::<S>(
                    $(<$crate::__program_kind!($kind) as __p::Shape>::wrap::<S>($p)),*
                ))
            }
            type __Out = <$crate::__program_kind!($result) as __p::Shape>::Staged;
            #[doc(hidden)]
            #[track_caller]
            pub fn __staged(
                $($p: impl __p::staged::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Staged>),*
            ) -> __Out {
                let arguments = __p::staged::arguments(&[$(
                    __p::staged::argument::<<$crate::__program_kind!($kind) as __p::Shape>::Staged>($p)
                ),*]);
                __p::staged::call(::core::module_path!(), &arguments)
            }
            /// The program: this function, all others of its `program!`, and all that they use.
            #[must_use]
            pub fn ir() -> __p::Program {
                ir_with(&__p::Rules::new()).unwrap_or_default()
            }
            /// The program, with the rules of the primitives that are registered.
            ///
            /// # Errors
            /// A primitive is registered with other operands or another result.
            pub fn ir_with(rules: &__p::Rules) -> ::core::result::Result<__p::Program, __p::RuleError> {
                __p::define::assemble(__block(), rules)
            }
            $crate::__program_block! { $use $names }
            $crate::__program_bodies! { $use $names $f ($(($p $kind))*) $result $($rest)* }
        }
    };
}

/// The functions of the same `program!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_block {
    ([$((($($path:tt)*) $used:ident))*] [$($all:ident)*]) => {
        #[doc(hidden)]
        pub fn __block() -> __p::define::Block {
            __p::define::Block {
                own: ::std::vec![$(super::$all::__definition()),*],
                uses: ::std::vec![$($crate::__program_path!(($($path)*) $used :: __block)),*],
            }
        }
    };
}

/// A path of a `use`, seen from inside the module of a function.
#[doc(hidden)]
#[allow(clippy::crate_in_macro_def, reason = "a path of the caller")]
#[macro_export]
macro_rules! __program_path {
    ((crate :: $($path:tt)*) $($last:tt)*) => { crate::$($path)* $($last)* };
    ((:: $($path:tt)*) $($last:tt)*) => { ::$($path)* $($last)* };
    ((self :: $($path:tt)*) $($last:tt)*) => { super::$($path)* $($last)* };
    (($($path:tt)*) $($last:tt)*) => { super::$($path)* $($last)* };
}

/// The functions that a body can call, in one of the worlds.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_scope {
    ($world:ident [$((($($path:tt)*) $used:ident))*] [$($all:ident)*]) => {
        $( use super::$all::$world as $all; )*
        $( $crate::__program_import! { ($($path)*) $used $world } )*
    };
}
#[doc(hidden)]
#[allow(clippy::crate_in_macro_def, reason = "a path of the caller")]
#[macro_export]
macro_rules! __program_import {
    ((crate :: $($path:tt)*) $used:ident $world:ident) => { use crate::$($path)* $used::$world as $used; };
    ((self :: $($path:tt)*) $used:ident $world:ident) => { use super::$($path)* $used::$world as $used; };
    (($($path:tt)*) $used:ident $world:ident) => { use super::$($path)* $used::$world as $used; };
}

/// What is particular to functions, rules and primitives.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_bodies {
    ($use:tt $names:tt $f:ident ($(($p:ident $kind:tt))*) $result:tt = $path:path) => {
        #[doc(hidden)]
        pub fn __native<S: __p::Number>(
            $($p: impl __p::native::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Native<S>>),*
        ) -> <$crate::__program_kind!($result) as __p::Shape>::Native<S> {
            <$crate::__program_kind!($result) as __p::Shape>::wrap::<S>($path($(
                <$crate::__program_kind!($kind) as __p::Shape>::unwrap::<S>(__p::native::Fit::fit($p))
            ),*))
        }
        $crate::__program_definition! { $f ($(($p $kind))*) $result None [] [] }
    };
    ($use:tt $names:tt $f:ident ($(($p:ident $kind:tt))*) $result:tt { $($body:tt)* } $($rule:tt)*) => {
        #[doc(hidden)]
        pub fn __native<S: __p::Number>(
            $($p: impl __p::native::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Native<S>>),*
        ) -> <$crate::__program_kind!($result) as __p::Shape>::Native<S> {
            use __p::native::functions::*;
            $crate::__program_scope! { __native $use $names }
            $(
                let held = __p::native::fit::<<$crate::__program_kind!($kind) as __p::Shape>::Native<S>, _>($p);
                let $p = __p::native::Hold::hold(&held);
            )*
            $crate::__program_body! { native [ret] $($body)* }
        }
        const _: () = __p::literals::no_inexact_quotients(::core::stringify!($($body)*));
        const _: () = __p::literals::no_blocks_in_expressions(::core::stringify!($($body)*));
        fn __body() {
            use __p::staged::{Assign as _, functions::*};
            $crate::__program_scope! { __staged $use $names }
            let mut k = 0;
            $( let $p = { k += 1; __p::staged::param::<$crate::__program_kind!($kind)>(k - 1) }; )*
            fn __give(x: impl __p::staged::Fit<__Out>) {
                __p::staged::give::<__Out>(x);
            }
            $crate::__program_body! { staged [ret] $($body)* }
        }
        $crate::__program_rule! { $use $names $f ($(($p $kind))*) $result [] [] $($rule)* }
    };
}

/// The pullback and the pushforward of a rule: `[pullback's parameters] [pushforward's]`.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_rule {
    ($use:tt $names:tt $f:ident $params:tt $result:tt $pull:tt $push:tt) => {
        $crate::__program_definition! { $f $params $result (Some(__body as fn())) $pull $push }
    };
    ($use:tt $names:tt $f:ident ($(($p:ident $kind:tt))*) $result:tt [] $push:tt
        pull ($($q:ident)*) { $($body:tt)* } $($rest:tt)*
    ) => {
        fn __pullback() {
            use __p::staged::{Assign as _, functions::*};
            use __p::staged::none;
            $crate::__program_scope! { __staged $use $names }
            $crate::__program_params! { (0) [$($q)*] [$($kind)* $result $result] }
            $crate::__program_bars! { $($kind)* }
            $crate::__program_body! { staged [bars] $($body)* }
        }
        $crate::__program_rule! { $use $names $f ($(($p $kind))*) $result [$($q)*] $push $($rest)* }
    };
    ($use:tt $names:tt $f:ident ($(($p:ident $kind:tt))*) $result:tt $pull:tt []
        push ($($q:ident)*) { $($body:tt)* }
    ) => {
        fn __pushforward() {
            use __p::staged::{Assign as _, functions::*};
            $crate::__program_scope! { __staged $use $names }
            $crate::__program_params! { (0) [$($q)*] [$($kind)* $($kind)*] }
            fn __give(x: impl __p::staged::Fit<__Out>) {
                __p::staged::give::<__Out>(x);
            }
            $crate::__program_body! { staged [ret] $($body)* }
        }
        $crate::__program_rule! { $use $names $f ($(($p $kind))*) $result $pull [$($q)*] }
    };
}

/// The parameters of a pullback: the inputs, the result and its cotangent.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_params {
    ($k:tt [$q:ident $($more:ident)*] [$kind:tt $($kinds:tt)*]) => {
        let $q = __p::staged::param::<$crate::__program_kind!($kind)>($k);
        $crate::__program_params! { ($k + 1) [$($more)*] [$($kinds)*] }
    };
    ($k:tt [] []) => {};
    ($k:tt $($other:tt)*) => {
        ::core::compile_error!(
            "program!: a pullback takes the inputs, the result and its cotangent, `pullback(x, y, y_bar) { … }`; a \
             pushforward the inputs and their tangents, `pushforward(x, x_dot) { … }`"
        );
    };
}

/// What gives the value of a pullback.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_bars {
    ($kind:tt) => {
        type __Bars = <$crate::__program_kind!($kind) as __p::Shape>::Bar;
        fn __give(x: impl __p::staged::Cotangent<__Bars>) {
            __p::staged::give_cotangents::<__Bars>(x);
        }
    };
    ($($kind:tt)*) => {
        type __Bars = __p::staged::Inputs<($(<$crate::__program_kind!($kind) as __p::Shape>::Bar,)*)>;
        fn __give(x: impl __p::staged::Cotangent<__Bars>) {
            __p::staged::give_cotangents::<__Bars>(x);
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __program_definition {
    ($f:ident ($(($p:ident $kind:tt))*) $result:tt $body:tt [$($pull:ident)*] [$($push:ident)*]) => {
        #[doc(hidden)]
        pub fn __definition() -> __p::define::Definition {
            use ::core::option::Option::{None, Some};
            __p::define::Definition {
                path: ::core::module_path!(),
                name: ::core::stringify!($f),
                params: ::std::vec![$(
                    __p::Param::new(
                        ::core::stringify!($p),
                        <$crate::__program_kind!($kind) as __p::Shape>::kind(),
                    )
                ),*],
                result: <$crate::__program_kind!($result) as __p::Shape>::kind(),
                body: $body,
                pullback: $crate::__program_part!(__pullback $($pull)*),
                pushforward: $crate::__program_part!(__pushforward $($push)*),
            }
        }
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __program_part {
    ($body:ident) => { ::core::option::Option::None };
    ($body:ident $($p:ident)+) => {
        ::core::option::Option::Some(__p::define::Part { params: &[$(::core::stringify!($p)),+], body: $body })
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __program_export {
    ($f:ident [$({ $P:ident $($field:tt)* })*]) => { $( #[doc(inline)] pub use self::$f::$P; )* };
}

/// Structs: one type parameter for each field, named as the field, so that literals of Rust infer them.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_structs {
    ([$({ $P:ident $($field:tt)* })*]) => {
        $( $crate::__program_struct! { @name $P [] [$($field)*] [A B C D E F G H I J K L M N O P] } )*
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __program_struct {
    // Each field gets the name of one more type parameter, of which `Fit` needs two.
    (@name $P:ident [$($done:tt)*] [($field:ident $kind:tt) $($fields:tt)*] [$T:ident $($more:ident)*]) => {
        $crate::__program_struct! { @name $P [$($done)* ($field $kind $T)] [$($fields)*] [$($more)*] }
    };
    (@name $P:ident [$($done:tt)*] [] $more:tt) => {
        $crate::__program_struct! { $P $($done)* }
    };
    (@name $P:ident $done:tt $fields:tt []) => {
        ::core::compile_error!("program!: a struct has at most 16 fields: put some of them in a struct of their own");
    };
    ($P:ident $(($field:ident $kind:tt $T:ident))*) => {
        /// A struct of the program, generic over the numbers in its fields.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $P<$($field = $crate::__program_kind!($kind)),*> {
            $(pub $field: $field),*
        }
        const _: () = {
            type __K = $P<$($crate::__program_kind!($kind)),*>;
            type __Staged = $P<$(<$crate::__program_kind!($kind) as __p::Shape>::Staged),*>;
            impl __p::Shape for __K {
                type Public<S: __p::Number> = $P<$(<$crate::__program_kind!($kind) as __p::Shape>::Public<S>),*>;
                type Native<S: __p::Number> = $P<$(<$crate::__program_kind!($kind) as __p::Shape>::Native<S>),*>;
                type Staged = __Staged;
                type Bar = $P<$(<$crate::__program_kind!($kind) as __p::Shape>::Bar),*>;
                fn kind() -> __p::Kind {
                    __p::Kind::structure(::core::stringify!($P), [$((
                        ::core::stringify!($field),
                        <$crate::__program_kind!($kind) as __p::Shape>::kind(),
                    )),*])
                }
                fn wrap<S: __p::Number>(p: Self::Public<S>) -> Self::Native<S> {
                    $P { $($field: <$crate::__program_kind!($kind) as __p::Shape>::wrap::<S>(p.$field)),* }
                }
                fn unwrap<S: __p::Number>(p: Self::Native<S>) -> Self::Public<S> {
                    $P { $($field: <$crate::__program_kind!($kind) as __p::Shape>::unwrap::<S>(p.$field)),* }
                }
            }
            impl<$($field: __p::staged::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Staged>),*>
                __p::staged::Operand for $P<$($field),*>
            {
                fn given(self, hint: ::core::option::Option<&__p::Kind>) -> __p::Given {
                    if let ::core::option::Option::Some(node) = self.handle() {
                        return __p::staged::read(node);
                    }
                    let fields = [$(__p::staged::Operand::given(
                        self.$field,
                        ::core::option::Option::Some(&<$crate::__program_kind!($kind) as __p::Shape>::kind()),
                    )),*];
                    __p::staged::structure(&<__K as __p::Shape>::kind(), &fields)
                }
                fn handle(&self) -> ::core::option::Option<u32> {
                    __p::staged::whole(&[$(__p::staged::Operand::handle(&self.$field)),*])
                }
            }
            impl __p::staged::Handle for __Staged {
                fn of(node: u32) -> Self {
                    let mut k = 0;
                    $P { $($field: { k += 1; __p::staged::Handle::of(__p::staged::field(node, k - 1)) }),* }
                }
                fn kind() -> __p::Kind {
                    <__K as __p::Shape>::kind()
                }
            }
            impl<$($field: __p::staged::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Staged>),*>
                __p::staged::Bind for $P<$($field),*>
            {
                type Out = __Staged;
            }
            impl<$($field: __p::staged::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Staged>),*>
                __p::staged::Fit<__Staged> for $P<$($field),*>
            {
            }
            impl<Num: __p::Number, $(
                $field: __p::native::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Native<Num>>
            ),*> __p::native::Bind<Num> for $P<$($field),*> {
                type Out = $P<$(<$crate::__program_kind!($kind) as __p::Shape>::Native<Num>),*>;
                fn bind(self) -> Self::Out {
                    $P { $($field: __p::native::Fit::fit(self.$field)),* }
                }
            }
            impl<$($T, $field: __p::native::Fit<$T>),*> __p::native::Fit<$P<$($T),*>> for $P<$($field),*> {
                fn fit(self) -> $P<$($T),*> {
                    $P { $($field: __p::native::Fit::fit(self.$field)),* }
                }
            }
            impl<$($field: __p::native::Hold),*> __p::native::Hold for $P<$($field),*> {
                type Held<'a> = $P<$(<$field as __p::native::Hold>::Held<'a>),*> where Self: 'a;
                fn hold(&self) -> Self::Held<'_> {
                    $P { $($field: __p::native::Hold::hold(&self.$field)),* }
                }
            }
        };
    };
}
