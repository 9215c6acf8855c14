//! Functions over numbers that this crate compiles itself.
//!
//! A generic function is compiled by every crate that calls it, so a program of a few lines would
//! optimize an interpreter and all kernels once more. [`compiled!`] gives the function over `f32`,
//! `f64` and complex numbers of both that is in a table of this crate, which is compiled with
//! it; over every other type, the caller's own.
//!
//! ```text
//! type F<S> = fn(&Code, &mut Machine<S>) -> bool;
//! compiled!(S: F = [f32, f64, Complex<f32>, Complex<f64>] run)(code, machine)
//! ```
//! What keeps the caller from compiling its own is that the branch on [`Ring::COMPILED`] is decided
//! before code is made.

use std::any::Any;

/// Returns the function, if it is of the type asked for: decided where this is compiled.
#[inline(always)]
pub fn same<F: Copy + 'static>(f: &'static dyn Any) -> Option<F> {
    f.downcast_ref::<F>().copied()
}

/// Stands in for a function that a table lacks.
///
/// # Panics
/// Always: [`Ring::COMPILED`](super::Ring::COMPILED) is true of a type that a table lacks.
pub fn missing<F>() -> F {
    unreachable!("a table of functions lacks one of type {}", std::any::type_name::<F>())
}

/// The instance of a generic function: see the module.
#[doc(hidden)]
#[macro_export]
macro_rules! compiled {
    ($S:ty: $F:ident = [$($N:ty),*] $f:path) => {
        if const { <$S as $crate::scalar::Ring>::COMPILED } {
            let mut found: Option<$F<$S>> = None;
            $(
                if found.is_none() {
                    static COMPILED: $F<$N> = $f;
                    found = $crate::scalar::same::<$F<$S>>(&COMPILED);
                }
            )*
            match found {
                Some(f) => f,
                None => $crate::scalar::missing::<$F<$S>>(),
            }
        } else {
            let own: $F<$S> = $f;
            own
        }
    };
}
