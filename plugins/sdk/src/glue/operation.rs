//! Kernels of several results and of mixed kinds of numbers.

use std::{ffi::c_void, slice};

use ketgrad_plugin_abi::{self as abi, Array, Err, Shape, Status};

use crate::{
    error::{Error, Result},
    operation::{ErasedOperation, Value, ValueMut},
    rule::{Kernel, RuleDef},
};

use super::{ErasedTape, guarded, keep, kept, parts, rule, view, view_mut, written};

fn kernel(rule: &RuleDef) -> Result<&dyn ErasedOperation> {
    match &rule.kernel {
        Kernel::Operation(operation) => Ok(operation.as_ref()),
        _ => Err(Error::unsupported("no kernel of several results")),
    }
}

/// Converts arrays of the host to values.
///
/// # Safety
/// `list` points to `len` arrays that are valid for `'a`.
unsafe fn values<'a>(list: *const Array, len: usize) -> Result<Vec<Value<'a>>> {
    // SAFETY: the caller promises `len` arrays.
    let list = unsafe { parts(list, len) };
    list.iter()
        .map(|array| match array.dtype {
            // SAFETY: the caller promises the arrays.
            abi::C64 => unsafe { view(array).map(Value::Complex) },
            // SAFETY: the caller promises the arrays.
            _ => unsafe { view(array).map(Value::Real) },
        })
        .collect()
}

/// Converts arrays of the host that are to be filled.
///
/// # Safety
/// `list` points to `len` arrays that are valid for `'a`, ours alone, and do not overlap.
unsafe fn values_mut<'a>(list: *const Array, len: usize) -> Result<Vec<ValueMut<'a>>> {
    // SAFETY: the caller promises `len` arrays.
    let list = unsafe { parts(list, len) };
    list.iter()
        .map(|array| match array.dtype {
            // SAFETY: the caller promises the arrays.
            abi::C64 => unsafe { view_mut(array).map(ValueMut::Complex) },
            // SAFETY: the caller promises the arrays.
            _ => unsafe { view_mut(array).map(ValueMut::Real) },
        })
        .collect()
}

pub(super) unsafe extern "C" fn infer(
    user: *mut c_void,
    x: *const Array,
    y: *mut Shape,
    err: *mut Err,
) -> Status {
    // SAFETY: `user` is this rule.
    let rule = unsafe { rule(user) };
    guarded(err, || {
        let expected = rule.n_out as usize;
        // SAFETY: the host gives `n_in` arrays.
        let shapes = kernel(rule)?.shapes(&unsafe { values(x, rule.n_in as usize) }?)?;
        if shapes.len() != expected {
            let given = shapes.len();
            return Err(Error::new(format!(
                "{given} shapes; its signature has {expected} results"
            )));
        }
        // SAFETY: the host gives room for a shape of each result.
        let room = unsafe { slice::from_raw_parts_mut(y, expected) };
        room.iter_mut().zip(&shapes).for_each(|(to, shape)| written(to, shape));
        Ok(())
    })
}

pub(super) unsafe extern "C" fn forward(
    user: *mut c_void,
    x: *const Array,
    y: *const Array,
    tape: *mut *mut c_void,
    err: *mut Err,
) -> Status {
    // SAFETY: `user` is this rule.
    let rule = unsafe { rule(user) };
    guarded(err, || {
        let results = rule.n_out as usize;
        // SAFETY: the host gives `n_in` arrays, and one for each result to be filled, which do not
        // overlap.
        let (x, mut y) = unsafe { (values(x, rule.n_in as usize)?, values_mut(y, results)?) };
        let kept: ErasedTape = kernel(rule)?.forward(&x, &mut y)?;
        // SAFETY: the host gives a place for the tape, or null if it needs none.
        unsafe { keep(tape, kept) };
        Ok(())
    })
}

pub(super) unsafe extern "C" fn pullback(
    user: *mut c_void,
    tape: *mut c_void,
    x: *const Array,
    y: *const Array,
    y_bar: *const Array,
    x_bar: *const Array,
    err: *mut Err,
) -> Status {
    // SAFETY: `user` is this rule.
    let rule = unsafe { rule(user) };
    guarded(err, || {
        let (n, results) = (rule.n_in as usize, rule.n_out as usize);
        // SAFETY: the host gives `n_in` arrays, and one for each result twice.
        let (x, y, y_bar) =
            unsafe { (values(x, n)?, values(y, results)?, values(y_bar, results)?) };
        // SAFETY: the host gives `n_in` arrays to be filled, which do not overlap.
        let mut x_bar = unsafe { values_mut(x_bar, n) }?;
        // SAFETY: `tape` is what `forward` made of this rule, not yet freed.
        let tape = unsafe { kept(tape)? };
        kernel(rule)?.pullback(tape.as_ref(), &x, &y, &y_bar, &mut x_bar)
    })
}
