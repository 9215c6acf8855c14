//! `program!`: `f::grad(x)`, `f::jvp(x, v)` and the other transforms of a function.
//!
//! Each function has, beside its two bodies, two modules, one for each world, with a function for
//! each transform. In the scope of a body the one of its world has the name of the function, where
//! Rust looks for modules: `f(x)` is a call of the function, and `f::grad(x)` one of a function in
//! the module.
//!
//! That a function has a transform is checked where it is used, not where it is defined: the bounds
//! mention a type parameter ([`Of`](super::shape::Of)), so that rustc looks at them at calls alone.

/// The parameters that have tangents, by the words of their kinds: `[(d kind)…]`, for the macro
/// that is named. Each `d` is a name of its own, since each is written by another step.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_tangents {
    ($done:tt $for:tt $p:ident : int , $($rest:tt)*) => { $crate::__program_tangents! { $done $for $($rest)* } };
    ($done:tt $for:tt $p:ident : bool , $($rest:tt)*) => { $crate::__program_tangents! { $done $for $($rest)* } };
    ($done:tt $for:tt $p:ident : handle , $($rest:tt)*) => { $crate::__program_tangents! { $done $for $($rest)* } };
    ($done:tt $for:tt $p:ident : array<int> , $($rest:tt)*) => { $crate::__program_tangents! { $done $for $($rest)* } };
    ([$($done:tt)*] $for:tt $p:ident , $q:ident , $r:ident , $s:ident , $($rest:tt)*) => {
        $crate::__program_tangents! { [$($done)* (a []) (b []) (c []) (d [])] $for $($rest)* }
    };
    ([$($done:tt)*] $for:tt $p:ident $(: $kind:ty)? , $($rest:tt)*) => {
        $crate::__program_tangents! { [$($done)* (d [$($kind)?])] $for $($rest)* }
    };
    ($done:tt (__program_each_transform $($for:tt)*) $(,)?) => {
        $crate::__program_each_transform! { $($for)* $done }
    };
    ([$(($d:ident $dot:tt))*] (__program_params $k:tt $names:tt $($kind:tt)*) $(,)?) => {
        $crate::__program_params! { $k $names [$($kind)* $($dot)*] }
    };
}

/// The modules of both worlds.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_transforms {
    (() $words:tt $result:tt) => {
        #[doc(hidden)]
        pub mod __native_transforms {}
        #[doc(hidden)]
        pub mod __staged_transforms {}
    };
    ($params:tt ($($words:tt)*) $result:tt) => {
        #[doc(hidden)]
        pub mod __native_transforms {
            use super::*;
            $crate::__program_tangents! { [] (__program_each_transform native $params $result) $($words)* , }
        }
        #[doc(hidden)]
        pub mod __staged_transforms {
            use super::*;
            $crate::__program_tangents! { [] (__program_each_transform staged $params $result) $($words)* , }
        }
    };
}

/// A function for each transform: its name, its parameters, the kind that it gives, and what must
/// hold.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_each_transform {
    ($world:ident (($p:ident $kind:tt) $($more:tt)*) $result:tt $tangents:tt) => {
        $crate::__program_transform! {
            $world grad Grad (($p $kind) $($more)*) { __p::shape::Tangent<__W, $crate::__program_kind!($kind)> }
            [$kind __p::shape::Differentiable] [$result __p::shape::Real]
        }
        $crate::__program_transform! {
            $world value_and_grad ValueAndGrad (($p $kind) $($more)*)
            { (f64, __p::shape::Tangent<__W, $crate::__program_kind!($kind)>) }
            [$kind __p::shape::Differentiable] [$result __p::shape::Real]
        }
        $crate::__program_transform! {
            $world hessian Hessian (($p $kind) $($more)*) { __p::shape::Tangent<__W, $crate::__program_kind!($kind)> }
            [$kind __p::shape::RealOrArray] [$kind __p::shape::Differentiable] [$result __p::shape::Real]
        }
        $crate::__program_transform! {
            $world matrix_function MatrixFunction (($p [array]) $($more)*) { array }
            [$kind __p::shape::Real] [$result __p::shape::Real]
        }
        $crate::__program_products! { $world (($p $kind) $($more)*) $tangents $result }
    };
}

/// Defines the products along all parameters that have tangents.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_products {
    ($world:ident $params:tt [] $result:tt) => {};
    ($world:ident ($($params:tt)*) [$(($d:ident $dot:tt))*] $result:tt) => {
        $crate::__program_transform! {
            $world jvp Jvp ($($params)* $(($d $dot))*)
            { ($crate::__program_kind!($result), __p::shape::Tangent<__W, $crate::__program_kind!($result)>) }
            $([$dot __p::shape::Differentiable])* [$result __p::shape::Differentiable]
        }
        $crate::__program_transform! {
            $world vjp Vjp ($($params)* (bar $result))
            { __p::shape::Tangents<__W, ($($crate::__program_kind!($dot),)*)> }
            [[($($crate::__program_kind!($dot),)*)] __p::shape::AllDifferentiable] [$result __p::shape::Differentiable]
        }
    };
}

/// One of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_transform {
    (native $name:ident $transform:ident ($(($p:ident $kind:tt))*) { $out:ty } $([$of:tt $bound:path])*) => {
        #[track_caller]
        pub fn $name<__W: __p::Number>(
            $($p: impl __p::native::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Native<__W>>),*
        ) -> <$out as __p::Shape>::Native<__W>
        where
            $(__p::shape::Of<__W, $crate::__program_kind!($of)>: $bound,)*
        {
            __p::native::transform::<__W, $out>(&__ORIGIN, __p::Transform::$transform, ::std::vec![
                $(<$crate::__program_kind!($kind) as __p::Shape>::datum::<__W>(__p::native::Fit::fit($p))),*
            ])
        }
    };
    (staged $name:ident $transform:ident (($p0:ident $kind0:tt) $(($p:ident $kind:tt))*) { $out:ty }
        $([$of:tt $bound:path])*
    ) => {
        #[track_caller]
        pub fn $name<__W: __p::staged::Fit<<$crate::__program_kind!($kind0) as __p::Shape>::Staged>>(
            $p0: __W, $($p: impl __p::staged::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Staged>),*
        ) -> <$out as __p::Shape>::Staged
        where
            $(__p::shape::Of<__W, $crate::__program_kind!($of)>: $bound,)*
        {
            let arguments = __p::staged::arguments(&[
                __p::staged::argument::<<$crate::__program_kind!($kind0) as __p::Shape>::Staged>($p0),
                $(__p::staged::argument::<<$crate::__program_kind!($kind) as __p::Shape>::Staged>($p)),*
            ]);
            __p::staged::transform::<$out>(__ORIGIN.path, __p::Transform::$transform, &arguments)
        }
    };
}
