//! Kernels on numbers. Those that cannot fail have functions of their own.

use std::{ffi::c_void, slice};

use ketgrad_plugin_abi::{Err, Status};

use crate::{
    C64,
    error::{Error, Result},
    rule::Kernel,
};

use super::{guarded, rule};

/// Calls a rule's kernel on numbers.
///
/// # Safety
/// `user` is the rule; the host gives `n_in` numbers, and room for one.
#[inline]
unsafe fn called<T>(
    user: *mut c_void,
    x: *const T,
    y: *mut T,
    err: *mut Err,
    kernel: impl FnOnce(&Kernel, &[T]) -> Result<T>,
) -> Status {
    // SAFETY: `user` is the rule, and the host gives room for one number.
    let (rule, y) = unsafe { (rule(user), &mut *y) };
    // SAFETY: the host gives `n_in` numbers.
    let x = unsafe { slice::from_raw_parts(x, rule.n_in as usize) };
    guarded(err, || {
        *y = kernel(&rule.kernel, x)?;
        Ok(())
    })
}

fn missing<T>() -> Result<T> {
    Err(Error::unsupported("no kernel of this kind of number"))
}

pub(super) unsafe extern "C" fn scalar_f64(
    user: *mut c_void,
    x: *const f64,
    y: *mut f64,
    err: *mut Err,
) -> Status {
    // SAFETY: the host calls it with this rule, `n_in` numbers, and room for one.
    unsafe {
        called::<f64>(user, x.cast(), y.cast(), err, |kernel, x| match kernel {
            Kernel::F64(f) => Ok(f(x)),
            _ => missing(),
        })
    }
}

pub(super) unsafe extern "C" fn scalar_c64(
    user: *mut c_void,
    x: *const f64,
    y: *mut f64,
    err: *mut Err,
) -> Status {
    // SAFETY: the host calls it with this rule, `n_in` numbers, which are pairs of `f64`, and room
    // for one.
    unsafe {
        called::<C64>(user, x.cast(), y.cast(), err, |kernel, x| match kernel {
            Kernel::C64(f) => Ok(f(x)),
            _ => missing(),
        })
    }
}

pub(super) unsafe extern "C" fn try_f64(
    user: *mut c_void,
    x: *const f64,
    y: *mut f64,
    err: *mut Err,
) -> Status {
    // SAFETY: the host calls it with this rule, `n_in` numbers, and room for one.
    unsafe {
        called::<f64>(user, x.cast(), y.cast(), err, |kernel, x| match kernel {
            Kernel::TryF64(f) => f(x),
            _ => missing(),
        })
    }
}

pub(super) unsafe extern "C" fn try_c64(
    user: *mut c_void,
    x: *const f64,
    y: *mut f64,
    err: *mut Err,
) -> Status {
    // SAFETY: the host calls it with this rule, `n_in` numbers, which are pairs of `f64`, and room
    // for one.
    unsafe {
        called::<C64>(user, x.cast(), y.cast(), err, |kernel, x| match kernel {
            Kernel::TryC64(f) => f(x),
            _ => missing(),
        })
    }
}
