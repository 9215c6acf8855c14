//! Kernels on numbers. Those that cannot fail have functions of their own.

use std::{ffi::c_void, slice};

use ketgrad_plugin_abi::{Err, Status};

use crate::{C64, error::Error, rule::Kernel};

use super::{guarded, rule};

pub(super) unsafe extern "C" fn scalar_f64(
    user: *mut c_void,
    x: *const f64,
    y: *mut f64,
    err: *mut Err,
) -> Status {
    // SAFETY: `user` is this rule; the host gives `n_in` numbers and room for one.
    let (rule, y) = unsafe { (rule(user), &mut *y) };
    // SAFETY: the host gives `n_in` numbers.
    let x = unsafe { slice::from_raw_parts(x, rule.n_in as usize) };
    guarded(err, || match &rule.kernel {
        Kernel::F64(f) => {
            *y = f(x);
            Ok(())
        }
        _ => Err(Error::unsupported("no kernel of real numbers")),
    })
}

pub(super) unsafe extern "C" fn scalar_c64(
    user: *mut c_void,
    x: *const f64,
    y: *mut f64,
    err: *mut Err,
) -> Status {
    // SAFETY: `user` is this rule; the host gives `n_in` complex numbers, which are pairs of `f64`, and room for one.
    let (rule, y) = unsafe { (rule(user), &mut *y.cast::<C64>()) };
    // SAFETY: the host gives `n_in` complex numbers, which are pairs of `f64`.
    let x = unsafe { slice::from_raw_parts(x.cast::<C64>(), rule.n_in as usize) };
    guarded(err, || match &rule.kernel {
        Kernel::C64(f) => {
            *y = f(x);
            Ok(())
        }
        _ => Err(Error::unsupported("no kernel of complex numbers")),
    })
}

pub(super) unsafe extern "C" fn try_f64(
    user: *mut c_void,
    x: *const f64,
    y: *mut f64,
    err: *mut Err,
) -> Status {
    // SAFETY: `user` is this rule; the host gives `n_in` numbers and room for one.
    let (rule, y) = unsafe { (rule(user), &mut *y) };
    // SAFETY: the host gives `n_in` numbers.
    let x = unsafe { slice::from_raw_parts(x, rule.n_in as usize) };
    guarded(err, || match &rule.kernel {
        Kernel::TryF64(f) => {
            *y = f(x)?;
            Ok(())
        }
        _ => Err(Error::unsupported("no kernel of real numbers")),
    })
}

pub(super) unsafe extern "C" fn try_c64(
    user: *mut c_void,
    x: *const f64,
    y: *mut f64,
    err: *mut Err,
) -> Status {
    // SAFETY: `user` is this rule; the host gives `n_in` complex numbers, which are pairs of `f64`, and room for one.
    let (rule, y) = unsafe { (rule(user), &mut *y.cast::<C64>()) };
    // SAFETY: the host gives `n_in` complex numbers, which are pairs of `f64`.
    let x = unsafe { slice::from_raw_parts(x.cast::<C64>(), rule.n_in as usize) };
    guarded(err, || match &rule.kernel {
        Kernel::TryC64(f) => {
            *y = f(x)?;
            Ok(())
        }
        _ => Err(Error::unsupported("no kernel of complex numbers")),
    })
}
