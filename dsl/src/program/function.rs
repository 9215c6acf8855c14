//! `program!`: the module of a function, a rule or a primitive, with its two bodies.

/// A function with its two bodies.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_function {
    // The head, then what is particular to functions, rules and primitives. The parameters are
    // there once more, as words.
    ($use:tt $structs:tt $names:tt
        { [$($meta:tt)*] $f:ident ($($p:ident $(: $kind:ty)?),* $(,)?) $words:tt $result:tt $($rest:tt)* }
    ) => {
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

            /// Evaluates the function on numbers of type `S`.
            pub fn __run<S: __p::Number>(
                $($p: <$crate::__program_kind!([$($kind)?]) as __p::Shape>::Public<S>),*
            ) -> <$crate::__program_kind!($result) as __p::Shape>::Public<S> {
                <$crate::__program_kind!($result) as __p::Shape>::unwrap::<S>(__native::<S>(
                    $(<$crate::__program_kind!([$($kind)?]) as __p::Shape>::wrap::<S>($p)),*
                ))
            }
            type __Out = <$crate::__program_kind!($result) as __p::Shape>::Staged;
            #[doc(hidden)]
            #[track_caller]
            pub fn __staged(
                $($p: impl __p::staged::Fit<<$crate::__program_kind!([$($kind)?]) as __p::Shape>::Staged>),*
            ) -> __Out {
                let arguments = __p::staged::arguments(&[$(
                    __p::staged::argument::<<$crate::__program_kind!([$($kind)?]) as __p::Shape>::Staged>($p)
                ),*]);
                __p::staged::call(::core::module_path!(), &arguments)
            }
            #[doc(hidden)]
            pub const __ORIGIN: __p::define::Origin =
                __p::define::Origin { path: ::core::module_path!(), block: __block };
            /// Returns the program: this function, all others of its `program!`, and all that they
            /// use.
            ///
            /// # Panics
            /// A body takes a derivative that needs rules of primitives: [`ir_with`] gives it, or
            /// the error.
            #[must_use]
            #[track_caller]
            pub fn ir() -> __p::Program {
                __p::define::program(__block())
            }
            /// Returns the program, with the rules of the primitives that are registered.
            ///
            /// # Errors
            /// A primitive is registered with other operands or another result; a body takes a
            /// derivative that cannot be made.
            pub fn ir_with(rules: &__p::Rules) -> ::core::result::Result<__p::Program, __p::RuleError> {
                __p::define::assemble(__block(), rules)
            }
            $crate::__program_block! { $use $names }
            $crate::__program_bodies! { $use $names $f ($(($p [$($kind)?]))*) $words $result $($rest)* }
        }
    };
    ($use:tt $structs:tt $names:tt { $meta:tt $f:ident $params:tt $($rest:tt)* }) => {
        ::core::compile_error!(::core::concat!(
            "program!: expected parameters such as `(x, n: int)`, not `", ::core::stringify!($params), "`"
        ));
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

/// The functions that a body can call, in one of the worlds: `f`, and `grad` and the others in a
/// module `f`.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_scope {
    ($world:ident $transforms:ident [$((($($path:tt)*) $used:ident))*] [$($all:ident)*]) => {
        $( use super::$all::{$world as $all, $transforms as $all}; )*
        $( $crate::__program_import! { ($($path)*) $used $world $transforms } )*
    };
}

#[doc(hidden)]
#[allow(clippy::crate_in_macro_def, reason = "a path of the caller")]
#[macro_export]
macro_rules! __program_import {
    ((crate :: $($path:tt)*) $used:ident $world:ident $transforms:ident) => {
        use crate::$($path)* $used::{$world as $used, $transforms as $used};
    };
    ((self :: $($path:tt)*) $used:ident $world:ident $transforms:ident) => {
        use super::$($path)* $used::{$world as $used, $transforms as $used};
    };
    (($($path:tt)*) $used:ident $world:ident $transforms:ident) => {
        use super::$($path)* $used::{$world as $used, $transforms as $used};
    };
}

/// Parts that differ between functions, rules and primitives.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_bodies {
    ($use:tt $names:tt $f:ident ($(($p:ident $kind:tt))*) $words:tt $result:tt = $path:path) => {
        #[doc(hidden)]
        pub mod __native_transforms {}
        #[doc(hidden)]
        pub mod __staged_transforms {}
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
    ($use:tt $names:tt $f:ident ($(($p:ident $kind:tt))*) $words:tt $result:tt { $($body:tt)* } $($rule:tt)*) => {
        $crate::__program_transforms! { ($(($p $kind))*) $words $result }
        #[doc(hidden)]
        pub fn __native<S: __p::Number>(
            $($p: impl __p::native::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Native<S>>),*
        ) -> <$crate::__program_kind!($result) as __p::Shape>::Native<S> {
            use __p::native::functions::*;
            $crate::__program_scope! { __native __native_transforms $use $names }
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
            $crate::__program_scope! { __staged __staged_transforms $use $names }
            let mut k = 0;
            $( let $p = { k += 1; __p::staged::param::<$crate::__program_kind!($kind)>(k - 1) }; )*
            fn __give(x: impl __p::staged::Fit<__Out>) {
                __p::staged::give::<__Out>(x);
            }
            $crate::__program_body! { staged [ret] $($body)* }
        }
        $crate::__program_rule! { $use $names $f ($(($p $kind))*) $words $result [] [] $($rule)* }
    };
}

/// The pullback and the pushforward of a rule: `[pullback's parameters] [pushforward's]`.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_rule {
    ($use:tt $names:tt $f:ident $params:tt $words:tt $result:tt $pull:tt $push:tt) => {
        $crate::__program_definition! { $f $params $result (Some(__body as fn())) $pull $push }
    };
    ($use:tt $names:tt $f:ident ($(($p:ident $kind:tt))*) $words:tt $result:tt [] $push:tt
        pull ($($q:ident)*) { $($body:tt)* } $($rest:tt)*
    ) => {
        fn __pullback() {
            use __p::staged::{Assign as _, functions::*};
            use __p::staged::none;
            $crate::__program_scope! { __staged __staged_transforms $use $names }
            $crate::__program_params! { (0) [$($q)*] [$($kind)* $result $result] }
            $crate::__program_bars! { $($kind)* }
            $crate::__program_body! { staged [bars] $($body)* }
        }
        $crate::__program_rule! { $use $names $f ($(($p $kind))*) $words $result [$($q)*] $push $($rest)* }
    };
    ($use:tt $names:tt $f:ident ($(($p:ident $kind:tt))*) ($($words:tt)*) $result:tt $pull:tt []
        push ($($q:ident)*) { $($body:tt)* }
    ) => {
        fn __pushforward() {
            use __p::staged::{Assign as _, functions::*};
            $crate::__program_scope! { __staged __staged_transforms $use $names }
            $crate::__program_tangents! { [] (__program_params (0) [$($q)*] $($kind)*) $($words)* , }
            fn __give(x: impl __p::staged::Fit<__Out>) {
                __p::staged::give::<__Out>(x);
            }
            $crate::__program_body! { staged [ret] $($body)* }
        }
        $crate::__program_rule! { $use $names $f ($(($p $kind))*) () $result $pull [$($q)*] }
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

/// Call that gives the value of a pullback.
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
                name: __p::plain(::core::stringify!($f)),
                params: ::std::vec![$(
                    __p::Param::new(
                        __p::plain(::core::stringify!($p)),
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
