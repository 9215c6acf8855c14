//! Interface to C of devices: states are boxes behind opaque pointers.
#![expect(unsafe_code, reason = "pointers of the C interface become references here")]

use std::{
    ffi::c_void,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice,
};

use ketgrad_plugin_abi::{
    self as abi, Backend, Err, GateList, Host, Inner, PauliTerm, Status, Str,
};

use super::{Scored, asked, drop_kernels, guarded, parts, query, say};
use crate::{
    C64,
    backend::{Gates, Precision},
    device::{DeviceKernels, Memory},
    error::{Error, Result},
};

/// State behind the pointer that the host holds, with its precision and size.
struct DeviceStateBox<S> {
    state: S,
    precision: Precision,
    n_qubits: u32,
}

impl<S> DeviceStateBox<S> {
    fn bytes(&self) -> u128 {
        let each = match self.precision {
            Precision::Single => 8,
            Precision::Double => 16,
        };
        each << self.n_qubits
    }
    fn beside(&self, other: &DeviceStateBox<S>) -> Result<()> {
        if self.precision == other.precision && self.n_qubits == other.n_qubits {
            return Ok(());
        }
        let (a, b, p, q) = (self.n_qubits, other.n_qubits, self.precision, other.precision);
        Err(Error::invalid(format!("a state of {a} qubits in {p} beside one of {b} in {q}")))
    }
}

pub(crate) fn add_device<D: DeviceKernels>(host: &Host, device: D) -> Result<()> {
    let add = host.add_backend.ok_or_else(|| Error::unsupported("the host takes no backends"))?;
    let name = device.name();
    let mem = match device.memory() {
        Memory::Cuda => abi::MEM_CUDA,
        Memory::Opaque => abi::MEM_OPAQUE,
    };
    let dtypes = device.precisions().iter().fold(0, |mask, p| mask | 1 << p.dtype());
    let (gates, max_qubits, max_matrix_targets) =
        (device.gates(), device.max_qubits(), device.max_targets());
    let user = Box::into_raw(Box::new(Scored::new(device)));
    let raw = Backend {
        struct_size: size_of::<Backend>() as u32,
        flags: 0,
        name: Str::new(&name),
        mem,
        dtypes,
        max_qubits,
        max_matrix_targets,
        gates,
        reserved: 0,
        user: user.cast(),
        score: Some(score::<D>),
        apply_host: None,
        state_new: Some(state_new::<D>),
        state_free: Some(state_free::<D>),
        state_copy: Some(state_copy::<D>),
        upload: Some(upload::<D>),
        download: Some(download::<D>),
        sync: Some(sync::<D>),
        apply: Some(apply::<D>),
        expectation: Some(expectation::<D>),
        inner: Some(inner::<D>),
        inner_paulis: Some(inner_paulis::<D>),
        apply_paulis: Some(apply_paulis::<D>),
        drop_user: Some(drop_kernels::<Scored<D>>),
        describe: Some(describe::<D>),
        state_basis: Some(state_basis::<D>),
        apply_pair: Some(apply_pair::<D>),
        sample: Some(sample::<D>),
    };
    // SAFETY: the host copies the struct and the name; every function in it takes this `user`.
    let added = asked(|err| unsafe { add(host.ctx, &raw, err) });
    if added.is_err() {
        // SAFETY: the host has not kept it.
        drop(unsafe { Box::from_raw(user) });
    }
    added
}

/// Returns the device of a `user` pointer.
///
/// # Safety
/// `user` is what [`add_device`] made of this type, not yet dropped, or null.
unsafe fn device<'a, D: DeviceKernels>(user: *mut c_void) -> Result<&'a D> {
    // SAFETY: the caller promises whose `user` it is.
    unsafe { scored::<D>(user) }.map(|scored| &scored.backend)
}

/// Returns the device of a `user` pointer, with the panic message of its score.
///
/// # Safety
/// The same as for [`device`].
unsafe fn scored<'a, D: DeviceKernels>(user: *mut c_void) -> Result<&'a Scored<D>> {
    // SAFETY: the caller promises whose `user` it is, or null.
    unsafe { user.cast::<Scored<D>>().as_ref() }.ok_or_else(|| null("device"))
}

/// Returns a state that the host holds.
///
/// # Safety
/// The pointer was returned by [`state_new`] or [`state_copy`] of this type and is not yet freed,
/// or null; the state does not change during `'a`.
unsafe fn state<'a, D: DeviceKernels>(state: *mut c_void) -> Result<&'a DeviceStateBox<D::State>> {
    // SAFETY: the caller promises a state of this type, or null, that does not change.
    unsafe { state.cast::<DeviceStateBox<D::State>>().as_ref() }.ok_or_else(|| null("state"))
}

/// Returns a state that the host holds, to change it.
///
/// # Safety
/// The same as for [`state`], and no other reference to the state exists during `'a`.
unsafe fn state_mut<'a, D: DeviceKernels>(
    state: *mut c_void,
) -> Result<&'a mut DeviceStateBox<D::State>> {
    // SAFETY: the caller promises a state of this type, or null, and that this is its only
    // reference.
    unsafe { state.cast::<DeviceStateBox<D::State>>().as_mut() }.ok_or_else(|| null("state"))
}

/// Returns a list of the host.
///
/// # Safety
/// `len` elements are valid for `'a`, or the pointer is null.
unsafe fn list<'a, T>(ptr: *const T, len: usize, what: &str) -> Result<&'a [T]> {
    if ptr.is_null() && len > 0 {
        return Err(null(what));
    }
    // SAFETY: the caller promises `len` elements; a list of none may be null.
    Ok(unsafe { parts(ptr, len) })
}

/// Returns a list of the host that is to be filled.
///
/// # Safety
/// The same as for [`list`], and no other reference to it exists during `'a`.
unsafe fn list_mut<'a, T>(ptr: *mut T, len: usize, what: &str) -> Result<&'a mut [T]> {
    match (ptr.is_null(), len) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(null(what)),
        // SAFETY: the caller promises `len` elements without another reference; the pointer is not
        // null.
        (false, _) => Ok(unsafe { slice::from_raw_parts_mut(ptr, len) }),
    }
}

/// Returns a list of operators.
///
/// # Safety
/// The list and the data that it points to are valid for `'a`, or the pointer is null.
unsafe fn gates<'a>(list: *const GateList) -> Result<Gates<'a>> {
    // SAFETY: the caller promises a list that is valid for `'a`, or null.
    let list = *unsafe { list.as_ref() }.ok_or_else(|| null("list of operators"))?;
    if list.ptr.is_null() && list.len > 0 {
        return Err(null("first operator"));
    }
    Ok(Gates { list, of: PhantomData })
}

#[cold]
fn null(what: &str) -> Error {
    Error::invalid(format!("the {what} is null"))
}

/// Writes the result of `make` to the host's memory.
///
/// # Safety
/// A number can be written at `place`, or it is null.
unsafe fn write_out<T>(place: *mut T, what: &str, make: impl FnOnce() -> Result<T>) -> Result<()> {
    if place.is_null() {
        return Err(null(what));
    }
    let made = make()?;
    // SAFETY: the caller promises that a value can be written; the place is not null.
    unsafe { place.write(made) };
    Ok(())
}

fn same_state() -> Error {
    Error::invalid("one state where two are needed")
}

unsafe extern "C" fn score<D: DeviceKernels>(user: *mut c_void, raw: *const abi::Query) -> i32 {
    // SAFETY: `user` is this device, `raw` a struct of the host.
    let (Ok(device), Some(raw)) = (unsafe { (scored::<D>(user), raw.as_ref()) }) else { return 0 };
    let Some(query) = query(raw) else { return 0 };
    device.score(|device| device.score(&query))
}

unsafe extern "C" fn describe<D: DeviceKernels>(user: *mut c_void, text: *mut Err) -> Status {
    guarded(text, || {
        // SAFETY: `user` is this device.
        let device = unsafe { scored::<D>(user) }?;
        say(text, &device.panicked().unwrap_or_else(|| device.backend.describe()));
        Ok(())
    })
}

unsafe extern "C" fn state_new<D: DeviceKernels>(
    user: *mut c_void,
    dtype: u32,
    n_qubits: u32,
    out: *mut *mut c_void,
    err: *mut Err,
) -> Status {
    guarded(err, || {
        // SAFETY: `user` is this device.
        let device = unsafe { device::<D>(user) }?;
        let precision = Precision::from_dtype(dtype)
            .ok_or_else(|| Error::unsupported("numbers of another kind"))?;
        if !device.precisions().contains(&precision) {
            return Err(Error::unsupported(format!("states in {precision} precision")));
        }
        let most = device.max_qubits();
        if n_qubits > most {
            return Err(Error::unsupported(format!("{n_qubits} qubits; at most {most}")));
        }
        // SAFETY: the host gives a place for the state.
        unsafe {
            write_out(out, "place for a state", || {
                let state = device.zeros(precision, n_qubits)?;
                Ok(Box::into_raw(Box::new(DeviceStateBox { state, precision, n_qubits })).cast())
            })
        }
    })
}

unsafe extern "C" fn state_free<D: DeviceKernels>(_: *mut c_void, state: *mut c_void) {
    if state.is_null() {
        return;
    }
    // SAFETY: the host calls this once for a state of this device.
    let held = unsafe { Box::from_raw(state.cast::<DeviceStateBox<D::State>>()) };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(held))) {
        std::mem::forget(payload);
    }
}

unsafe extern "C" fn state_copy<D: DeviceKernels>(
    user: *mut c_void,
    from: *mut c_void,
    out: *mut *mut c_void,
    err: *mut Err,
) -> Status {
    guarded(err, || {
        // SAFETY: `user` is this device, `from` a state of it.
        let (device, from) = unsafe { (device::<D>(user)?, state::<D>(from)?) };
        let DeviceStateBox { precision, n_qubits, .. } = *from;
        // SAFETY: the host gives a place for the state.
        unsafe {
            write_out(out, "place for a state", || {
                let state = device.copy(&from.state)?;
                Ok(Box::into_raw(Box::new(DeviceStateBox { state, precision, n_qubits })).cast())
            })
        }
    })
}

unsafe extern "C" fn state_basis<D: DeviceKernels>(
    user: *mut c_void,
    on: *mut c_void,
    index: u64,
    err: *mut Err,
) -> Status {
    guarded(err, || {
        // SAFETY: `user` is this device, `on` a state of it that is ours during the call.
        let (device, held) = unsafe { (device::<D>(user)?, state_mut::<D>(on)?) };
        if u128::from(index) >> held.n_qubits != 0 {
            return Err(Error::invalid(format!("basis state {index} of {} qubits", held.n_qubits)));
        }
        device.basis(&mut held.state, index)
    })
}

/// Checks the size of the host's memory.
fn fits<S>(held: &DeviceStateBox<S>, bytes: usize) -> Result<()> {
    if bytes as u128 == held.bytes() {
        return Ok(());
    }
    let (n, p, expected) = (held.n_qubits, held.precision, held.bytes());
    Err(Error::invalid(format!(
        "{bytes} bytes for {n} qubits in {p} precision; expected {expected}"
    )))
}

unsafe extern "C" fn upload<D: DeviceKernels>(
    user: *mut c_void,
    on: *mut c_void,
    from: *const c_void,
    bytes: usize,
    err: *mut Err,
) -> Status {
    guarded(err, || {
        // SAFETY: `user` is this device, `on` a state of it that is ours during the call.
        let (device, held) = unsafe { (device::<D>(user)?, state_mut::<D>(on)?) };
        fits(held, bytes)?;
        // SAFETY: the host gives that many bytes.
        device.upload(&mut held.state, unsafe { list(from.cast(), bytes, "memory to read") }?)
    })
}

unsafe extern "C" fn download<D: DeviceKernels>(
    user: *mut c_void,
    on: *mut c_void,
    to: *mut c_void,
    bytes: usize,
    err: *mut Err,
) -> Status {
    guarded(err, || {
        // SAFETY: `user` is this device, `on` a state of it.
        let (device, held) = unsafe { (device::<D>(user)?, state::<D>(on)?) };
        fits(held, bytes)?;
        // SAFETY: the host gives that many bytes to be written.
        device.download(&held.state, unsafe { list_mut(to.cast(), bytes, "memory to write") }?)
    })
}

unsafe extern "C" fn sync<D: DeviceKernels>(
    user: *mut c_void,
    on: *mut c_void,
    err: *mut Err,
) -> Status {
    // SAFETY: `user` is this device, `on` a state of it.
    guarded(err, || unsafe { device::<D>(user)?.sync(&state::<D>(on)?.state) })
}

unsafe extern "C" fn apply<D: DeviceKernels>(
    user: *mut c_void,
    on: *mut c_void,
    list: *const GateList,
    err: *mut Err,
) -> Status {
    guarded(err, || {
        // SAFETY: `user` is this device, `on` a state of it that is ours during the call, the list
        // good for it.
        let (device, held, gates) =
            unsafe { (device::<D>(user)?, state_mut::<D>(on)?, gates(list)?) };
        device.apply(&mut held.state, gates)
    })
}

unsafe extern "C" fn apply_pair<D: DeviceKernels>(
    user: *mut c_void,
    psi: *mut c_void,
    lambda: *mut c_void,
    operators: *const GateList,
    inners: *const Inner,
    count: usize,
    values: *mut f64,
    err: *mut Err,
) -> Status {
    guarded(err, || {
        if ptr::eq(psi, lambda) {
            return Err(same_state());
        }
        // SAFETY: `user` is this device; the states are two different ones of it that are ours
        // during the call.
        let (device, psi, lambda) =
            unsafe { (device::<D>(user)?, state_mut::<D>(psi)?, state_mut::<D>(lambda)?) };
        psi.beside(lambda)?;
        // SAFETY: the lists have that many elements and are valid for the call; the values are
        // ours.
        let (gates, inners, values) = unsafe {
            (
                gates(operators)?,
                list(inners, count, "list of inner products")?,
                list_mut(values, count, "list of values")?,
            )
        };
        device.apply_pair(&mut psi.state, &mut lambda.state, gates, inners, values)
    })
}

unsafe extern "C" fn expectation<D: DeviceKernels>(
    user: *mut c_void,
    on: *mut c_void,
    terms: *const PauliTerm,
    count: usize,
    value: *mut f64,
    err: *mut Err,
) -> Status {
    guarded(err, || {
        // SAFETY: `user` is this device, `on` a state of it; the terms are valid for the call.
        let (device, held, terms) =
            unsafe { (device::<D>(user)?, state::<D>(on)?, list(terms, count, "list of terms")?) };
        // SAFETY: the host gives room for a number.
        unsafe { write_out(value, "value", || device.expectation(&held.state, terms)) }
    })
}

unsafe extern "C" fn inner<D: DeviceKernels>(
    user: *mut c_void,
    a: *mut c_void,
    b: *mut c_void,
    value: *mut f64,
    err: *mut Err,
) -> Status {
    guarded(err, || {
        // SAFETY: `user` is this device, the states are of it.
        let (device, a, b) = unsafe { (device::<D>(user)?, state::<D>(a)?, state::<D>(b)?) };
        a.beside(b)?;
        // SAFETY: the host gives room for two numbers, which a complex one is.
        unsafe { write_out(value.cast::<C64>(), "value", || device.inner(&a.state, &b.state)) }
    })
}

unsafe extern "C" fn inner_paulis<D: DeviceKernels>(
    user: *mut c_void,
    a: *mut c_void,
    terms: *const PauliTerm,
    count: usize,
    b: *mut c_void,
    value: *mut f64,
    err: *mut Err,
) -> Status {
    guarded(err, || {
        // SAFETY: `user` is this device, the states are of it.
        let (device, a, b) = unsafe { (device::<D>(user)?, state::<D>(a)?, state::<D>(b)?) };
        a.beside(b)?;
        // SAFETY: the terms are valid for the call.
        let terms = unsafe { list(terms, count, "list of terms") }?;
        // SAFETY: the host gives room for two numbers, which a complex one is.
        unsafe {
            write_out(value.cast::<C64>(), "value", || {
                device.inner_paulis(&a.state, terms, &b.state)
            })
        }
    })
}

unsafe extern "C" fn apply_paulis<D: DeviceKernels>(
    user: *mut c_void,
    terms: *const PauliTerm,
    count: usize,
    from: *mut c_void,
    to: *mut c_void,
    err: *mut Err,
) -> Status {
    guarded(err, || {
        if ptr::eq(from, to) {
            return Err(same_state());
        }
        // SAFETY: `user` is this device; the states are two different ones of it, the second ours
        // during the call.
        let (device, from, to) =
            unsafe { (device::<D>(user)?, state::<D>(from)?, state_mut::<D>(to)?) };
        from.beside(to)?;
        // SAFETY: the terms are valid for the call.
        device.apply_paulis(
            unsafe { list(terms, count, "list of terms") }?,
            &from.state,
            &mut to.state,
        )
    })
}

unsafe extern "C" fn sample<D: DeviceKernels>(
    user: *mut c_void,
    on: *mut c_void,
    uniforms: *const f64,
    count: usize,
    indices: *mut u64,
    err: *mut Err,
) -> Status {
    guarded(err, || {
        // SAFETY: `user` is this device, `on` a state of it.
        let (device, held) = unsafe { (device::<D>(user)?, state::<D>(on)?) };
        // SAFETY: the lists have that many elements and are valid for the call; the indices are
        // ours.
        let (uniforms, indices) = unsafe {
            (
                list(uniforms, count, "list of uniform numbers")?,
                list_mut(indices, count, "list of indices")?,
            )
        };
        device.sample(&held.state, uniforms, indices)
    })
}
