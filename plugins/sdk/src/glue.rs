//! Interface to C: all unsafe code of this crate.
#![expect(unsafe_code, reason = "pointers of the C interface become references here")]

pub(crate) mod device;
mod numbers;
mod operation;

use std::{
    any::Any,
    cell::RefCell,
    ffi::c_void,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice,
    sync::{Mutex, Once, PoisonError},
};

use ketgrad_plugin_abi::{
    self as abi, Array, Backend, Err, GateList, Host, Rule, Shape, Status, Str,
};

use crate::{
    C64, Plugin,
    backend::{Gate, Gates, HostKernels, Precision, Query},
    error::{Error, Result},
    host::{Par, Registrar},
    rule::{Element, ErasedDense, Kernel, RuleDef, View, ViewMut},
    signature::Signature,
};

/// Length of the longest message that is fetched from the host.
const MESSAGE: usize = 1024;

thread_local! {
    /// Message and place of the last panic of this thread.
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Registers a plugin.
///
/// # Safety
/// `host` is a host's table and `err` its message buffer or null, both valid for the call.
#[doc(hidden)]
pub unsafe fn init(plugin: &dyn Plugin, host: *const Host, err: *mut Err) -> Status {
    static HOOK: Once = Once::new();
    // A library has a panic hook of its own; it must not write to the host's terminal.
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let what = text.unwrap_or("a panic without a message");
            let place =
                info.location().map_or(String::new(), |l| format!(" at {}:{}", l.file(), l.line()));
            LAST_PANIC.with(|last| *last.borrow_mut() = Some(format!("{what}{place}")));
        }));
    });
    // SAFETY: the caller hands over a table or null.
    let Some(host) = (unsafe { host.as_ref() }) else { return abi::INVALID };
    guarded(err, || plugin.register(&mut Registrar { host }))
}

/// Runs code of the plugin: an error or a panic becomes a status and a message.
#[inline]
pub(crate) fn guarded(err: *mut Err, body: impl FnOnce() -> Result<()>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => abi::OK,
        Ok(Err(e)) => fail(err, &e),
        Err(payload) => {
            // Dropping the payload could panic again.
            std::mem::forget(payload);
            let said = LAST_PANIC.with(|last| last.borrow_mut().take());
            fail(err, &Error::panicked(said.unwrap_or_else(|| "a panic".into())))
        }
    }
}

#[cold]
fn fail(err: *mut Err, error: &Error) -> Status {
    say(err, &error.to_string());
    error.status
}

/// Copies a text into a buffer of the host, as much of it as fits.
fn say(err: *mut Err, text: &str) {
    // SAFETY: a message buffer of the host, valid for the call, or null.
    if let Some(err) = unsafe { err.as_mut() }
        && !err.buf.is_null()
    {
        let mut n = text.len().min(err.cap);
        while !text.is_char_boundary(n) {
            n -= 1;
        }
        // SAFETY: `buf` has room for `cap >= n` bytes.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), err.buf, n) };
        err.len = n;
    }
}

/// Calls the host, which may return a message.
fn asked(call: impl FnOnce(*mut Err) -> Status) -> Result<()> {
    let mut text = [0u8; MESSAGE];
    let (struct_size, cap) = (size_of::<Err>() as u32, MESSAGE);
    let mut err = Err { struct_size, reserved: 0, buf: text.as_mut_ptr(), cap, len: 0 };
    let status = call(&mut err);
    if status == abi::OK {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&text[..err.len.min(MESSAGE)]).into_owned();
    Err(Error { status, message: said })
}

// Registers a rule.

pub(crate) fn add_rule(host: &Host, mut rule: RuleDef) -> Result<()> {
    let add = host.add_rule.ok_or_else(|| Error::unsupported("the host takes no rules"))?;
    let dtypes = match &rule.kernel {
        Kernel::C64(_) | Kernel::TryC64(_) | Kernel::DenseC64(_) => 1 << abi::C64,
        Kernel::Operation(_) => {
            let signature = Signature::from_rule(&rule)?;
            rule.n_out = signature.results.len() as u32;
            signature.dtypes()
        }
        _ => 1 << abi::F64,
    };
    let mut raw = Rule {
        struct_size: size_of::<Rule>() as u32,
        flags: 0,
        name: Str::new(&rule.name),
        n_in: rule.n_in,
        n_out: rule.n_out,
        dtypes,
        reserved: 0,
        signature: Str::new(&rule.signature),
        program: Str::new(&rule.program),
        user: ptr::null_mut(),
        infer: None,
        forward: None,
        pullback: None,
        scalar_f64: None,
        scalar_c64: None,
        free_tape: None,
        drop_user: Some(drop_rule),
    };
    give_slots(&mut raw, &rule.kernel);
    raw.free_tape = Some(free_tape);
    // The texts that `raw` points to live in the box.
    let user = Box::into_raw(Box::new(rule));
    raw.user = user.cast();
    // SAFETY: the host copies the struct; every function in it takes the `user` of this rule. Its
    // texts are those of the box, which stays until `drop_rule`.
    let added = asked(|err| unsafe { add(host.ctx, &raw, err) });
    if added.is_err() {
        // SAFETY: the host has not kept it.
        drop(unsafe { Box::from_raw(user) });
    }
    added
}

/// Sets the functions of a kernel.
fn give_slots(raw: &mut Rule, kernel: &Kernel) {
    match kernel {
        Kernel::None => {}
        Kernel::F64(_) => raw.scalar_f64 = Some(numbers::scalar_f64),
        Kernel::C64(_) => raw.scalar_c64 = Some(numbers::scalar_c64),
        Kernel::TryF64(_) => raw.scalar_f64 = Some(numbers::try_f64),
        Kernel::TryC64(_) => raw.scalar_c64 = Some(numbers::try_c64),
        Kernel::DenseF64(_) => {
            raw.infer = Some(infer::<f64>);
            raw.forward = Some(forward::<f64>);
            raw.pullback = Some(pullback::<f64>);
        }
        Kernel::DenseC64(_) => {
            raw.infer = Some(infer::<C64>);
            raw.forward = Some(forward::<C64>);
            raw.pullback = Some(pullback::<C64>);
        }
        Kernel::Operation(_) => {
            raw.infer = Some(operation::infer);
            raw.forward = Some(operation::forward);
            raw.pullback = Some(operation::pullback);
        }
    }
}

/// Returns the rule of a `user` pointer.
///
/// # Safety
/// `user` is what [`add_rule`] made, not yet dropped.
unsafe fn rule<'a>(user: *mut c_void) -> &'a RuleDef {
    // SAFETY: the caller promises whose `user` it is.
    unsafe { &*user.cast::<RuleDef>() }
}

unsafe extern "C" fn drop_rule(user: *mut c_void) {
    // SAFETY: the host calls this once, last.
    let rule = unsafe { Box::from_raw(user.cast::<RuleDef>()) };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(rule))) {
        std::mem::forget(payload);
    }
}

/// Returns the kernel on arrays of `T`.
fn dense<T: Element>(rule: &RuleDef) -> Result<&dyn ErasedDense<T>> {
    let any: Option<&dyn Any> = match &rule.kernel {
        Kernel::DenseF64(d) => Some(d),
        Kernel::DenseC64(d) => Some(d),
        _ => None,
    };
    let boxed = any.and_then(|d| d.downcast_ref::<Box<dyn ErasedDense<T>>>());
    Ok(boxed.ok_or_else(|| Error::unsupported("no kernel of this kind of arrays"))?.as_ref())
}

/// Converts an array of the host to a view.
///
/// # Safety
/// The array is valid for `'a`.
unsafe fn view<'a, T: Element>(array: &Array) -> Result<View<'a, T>> {
    let len = checked(array, T::DTYPE)?;
    // SAFETY: `checked` has tested the kind, the memory and that the elements have no gaps.
    let shape = unsafe { parts(array.shape, array.ndim as usize) };
    // SAFETY: `checked` has seen the kind and that `len` elements follow each other without gaps.
    Ok(View { shape, data: unsafe { parts(array.data.cast(), len) } })
}

/// Converts an array of the host that is to be filled.
///
/// # Safety
/// The array is valid for `'a`, and no other code accesses its elements.
unsafe fn view_mut<'a, T: Element>(array: &Array) -> Result<ViewMut<'a, T>> {
    let len = checked(array, T::DTYPE)?;
    // SAFETY: `checked` has tested the kind, the memory and that the elements have no gaps.
    let shape = unsafe { parts(array.shape, array.ndim as usize) };
    let data = array.data.cast::<T>();
    // SAFETY: `checked` has seen that `len` elements follow each other without gaps, and the caller
    // promises that they are ours alone.
    let data = if len == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(data, len) } };
    Ok(ViewMut { shape, data })
}

/// Makes a slice that may be empty with a null pointer.
///
/// # Safety
/// `len` elements are valid for `'a`.
pub(crate) unsafe fn parts<'a, T>(ptr: *const T, len: usize) -> &'a [T] {
    // SAFETY: the caller promises `len` elements.
    if len == 0 { &[] } else { unsafe { slice::from_raw_parts(ptr, len) } }
}

/// Checks an array, and returns the number of its elements.
fn checked(array: &Array, dtype: u32) -> Result<usize> {
    if array.dtype != dtype || array.mem != abi::MEM_HOST || !array.strides.is_null() {
        return Err(Error::unsupported("an array of another kind, memory or layout"));
    }
    // SAFETY: a host's array has `ndim` lengths.
    let shape = unsafe { parts(array.shape, array.ndim as usize) };
    let product = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
    product
        .and_then(|n| usize::try_from(n).ok())
        .ok_or_else(|| Error::new("an array beyond any memory"))
}

/// Returns the inputs of a rule.
///
/// # Safety
/// `x` points to the rule's `n_in` arrays.
unsafe fn inputs<'a, T: Element>(rule: &RuleDef, x: *const Array) -> Result<Vec<View<'a, T>>> {
    // SAFETY: the caller promises `n_in` arrays.
    unsafe { parts(x, rule.n_in as usize).iter().map(|a| view(a)).collect() }
}

/// Writes a shape; the host refuses more dimensions than it has room for.
fn written(to: &mut Shape, shape: &[u64]) {
    to.ndim = u32::try_from(shape.len()).unwrap_or(u32::MAX);
    to.dim.iter_mut().zip(shape).for_each(|(to, from)| *to = *from);
}

unsafe extern "C" fn infer<T: Element>(
    user: *mut c_void,
    x: *const Array,
    y: *mut Shape,
    err: *mut Err,
) -> Status {
    // SAFETY: `user` is this rule, `y` the host's struct.
    let (rule, y) = unsafe { (rule(user), &mut *y) };
    guarded(err, || {
        // SAFETY: the host gives `n_in` arrays.
        let x = unsafe { inputs::<T>(rule, x)? };
        written(y, &dense::<T>(rule)?.shape(&x)?);
        Ok(())
    })
}

unsafe extern "C" fn forward<T: Element>(
    user: *mut c_void,
    x: *const Array,
    y: *const Array,
    tape: *mut *mut c_void,
    err: *mut Err,
) -> Status {
    // SAFETY: `user` is this rule.
    let rule = unsafe { rule(user) };
    guarded(err, || {
        // SAFETY: the host gives `n_in` arrays, and one to be filled.
        let (x, y) = unsafe { (inputs::<T>(rule, x)?, view_mut::<T>(&*y)?) };
        let kept = dense::<T>(rule)?.forward(&x, y)?;
        // SAFETY: the host gives a place for the tape, or null if it needs none.
        unsafe { keep(tape, kept) };
        Ok(())
    })
}

/// Tape of a kernel: the data that it keeps for its pullback.
type ErasedTape = Box<dyn Any + Send + Sync>;

/// Hands a tape to the host.
///
/// # Safety
/// `tape` is a place for it, or null.
unsafe fn keep(tape: *mut *mut c_void, kept: ErasedTape) {
    // SAFETY: a place for the tape, or null.
    if let Some(tape) = unsafe { tape.as_mut() } {
        *tape = Box::into_raw(Box::new(kept)).cast();
    }
}

/// Returns the tape of a kernel.
///
/// # Safety
/// `tape` was made by [`keep`] and is not freed, or is null.
unsafe fn kept<'a>(tape: *mut c_void) -> Result<&'a ErasedTape> {
    // SAFETY: null, or a tape of `keep` that is not freed.
    unsafe { tape.cast::<ErasedTape>().as_ref() }.ok_or_else(|| Error::new("no tape"))
}

unsafe extern "C" fn pullback<T: Element>(
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
        // SAFETY: the host gives `n_in` arrays twice, the second to be filled, and one twice.
        let (x, y, y_bar) =
            unsafe { (inputs::<T>(rule, x)?, view::<T>(&*y)?, view::<T>(&*y_bar)?) };
        // SAFETY: the host gives `n_in` arrays to be filled, which do not overlap.
        let mut x_bar: Vec<_> = unsafe {
            parts(x_bar, rule.n_in as usize)
                .iter()
                .map(|a| view_mut::<T>(a))
                .collect::<Result<_>>()?
        };
        // SAFETY: `tape` is what `forward` made of this rule, not yet freed.
        let tape = unsafe { kept(tape)? };
        dense::<T>(rule)?.pullback(tape.as_ref(), &x, y, y_bar, &mut x_bar)
    })
}

unsafe extern "C" fn free_tape(_: *mut c_void, tape: *mut c_void) {
    if tape.is_null() {
        return;
    }
    // SAFETY: the host calls this once for what `forward` made.
    let kept = unsafe { Box::from_raw(tape.cast::<ErasedTape>()) };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(kept))) {
        std::mem::forget(payload);
    }
}

// Registers kernels.

pub(crate) fn add_kernels<K: HostKernels>(host: &Host, kernels: K) -> Result<()> {
    let add = host.add_backend.ok_or_else(|| Error::unsupported("the host takes no backends"))?;
    let name = kernels.name();
    let (gates, max_matrix_targets) = (kernels.gates(), kernels.max_targets());
    let user = Box::into_raw(Box::new(Scored::new(kernels)));
    let raw = Backend {
        struct_size: size_of::<Backend>() as u32,
        flags: 0,
        name: Str::new(&name),
        mem: abi::MEM_HOST,
        dtypes: 1 << abi::C64,
        max_qubits: u32::MAX,
        max_matrix_targets,
        gates,
        reserved: 0,
        user: user.cast(),
        score: Some(score::<K>),
        apply_host: Some(apply_host::<K>),
        state_new: None,
        state_free: None,
        state_copy: None,
        upload: None,
        download: None,
        sync: None,
        apply: None,
        expectation: None,
        inner: None,
        inner_paulis: None,
        apply_paulis: None,
        drop_user: Some(drop_kernels::<Scored<K>>),
        describe: Some(describe::<K>),
        state_basis: None,
        apply_pair: None,
        sample: None,
    };
    // SAFETY: the host copies the struct and the name; every function in it takes this `user`.
    let added = asked(|err| unsafe { add(host.ctx, &raw, err) });
    if added.is_err() {
        // SAFETY: the host has not kept it.
        drop(unsafe { Box::from_raw(user) });
    }
    added
}

unsafe extern "C" fn drop_kernels<K>(user: *mut c_void) {
    // SAFETY: the host calls this once, last.
    let kernels = unsafe { Box::from_raw(user.cast::<K>()) };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(kernels))) {
        std::mem::forget(payload);
    }
}

/// Converts a query; `None` for a kind of numbers that this version does not know.
fn query(raw: &abi::Query) -> Option<Query> {
    let precision = Precision::from_dtype(raw.dtype)?;
    Some(Query { n_qubits: raw.n_qubits, threads: raw.threads, n_gates: raw.n_gates, precision })
}

unsafe extern "C" fn score<K: HostKernels>(user: *mut c_void, raw: *const abi::Query) -> i32 {
    // SAFETY: `user` is these kernels, `raw` a struct of the host.
    let (kernels, raw) = unsafe { (&*user.cast::<Scored<K>>(), &*raw) };
    let Some(query) = query(raw) else { return 0 };
    kernels.score(|kernels| kernels.score(&query))
}

unsafe extern "C" fn describe<K: HostKernels>(user: *mut c_void, text: *mut Err) -> Status {
    // SAFETY: `user` is these kernels.
    let kernels = unsafe { &*user.cast::<Scored<K>>() };
    if let Some(panicked) = kernels.panicked() {
        say(text, &panicked);
    }
    abi::OK
}

/// Score for a panic, below 0: a host takes it for 0, and asks for the description, which says so.
const SCORE_PANICKED: i32 = i32::MIN;

/// Backend, and the panic message of the last call for a score.
pub(crate) struct Scored<K> {
    pub(crate) backend: K,
    panicked: Mutex<Option<String>>,
}

impl<K> Scored<K> {
    pub(crate) fn new(backend: K) -> Scored<K> {
        Scored { backend, panicked: Mutex::new(None) }
    }

    pub(crate) fn score(&self, score: impl FnOnce(&K) -> i32) -> i32 {
        let (score, said) = match catch_unwind(AssertUnwindSafe(|| score(&self.backend))) {
            Ok(score) => (score.max(0), None),
            Err(payload) => {
                std::mem::forget(payload);
                let said = LAST_PANIC.with(|last| last.borrow_mut().take());
                (
                    SCORE_PANICKED,
                    Some(format!("it panicked: {}", said.unwrap_or_else(|| "a panic".into()))),
                )
            }
        };
        *self.panicked.lock().unwrap_or_else(PoisonError::into_inner) = said;
        score
    }

    /// Message of the panic of the last call for a score, if it panicked.
    pub(crate) fn panicked(&self) -> Option<String> {
        self.panicked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

unsafe extern "C" fn apply_host<K: HostKernels>(
    user: *mut c_void,
    host: *const Host,
    dtype: u32,
    amplitudes: *mut c_void,
    n_qubits: u32,
    gates: *const GateList,
    err: *mut Err,
) -> Status {
    // SAFETY: `user` is these kernels; the host's table and the list are valid for the call.
    let (kernels, host, list) =
        unsafe { (&(*user.cast::<Scored<K>>()).backend, host.as_ref(), *gates) };
    guarded(err, || {
        if dtype != abi::C64 || n_qubits >= usize::BITS {
            return Err(Error::unsupported("a state of another kind"));
        }
        // SAFETY: the host gives 2^n amplitudes that no other code accesses.
        let amplitudes =
            unsafe { slice::from_raw_parts_mut(amplitudes.cast::<C64>(), 1 << n_qubits) };
        kernels.apply(&Par { host }, amplitudes, Gates { list, of: PhantomData })
    })
}

pub(crate) fn gate<'a>(gates: &Gates<'a>, k: usize) -> Gate<'a> {
    assert!(k < gates.list.len, "operator {k} of {}", gates.list.len);
    // SAFETY: the list has `len` operators, `stride` bytes apart, valid for `'a`.
    unsafe {
        let g = &*gates.list.ptr.cast::<u8>().add(k * gates.list.stride).cast::<abi::Gate>();
        let is_diagonal = g.kind == abi::GATE_DIAGONAL;
        let entries = 1usize << if is_diagonal { g.n_targets } else { 2 * g.n_targets };
        Gate {
            is_diagonal,
            targets: parts(g.targets, g.n_targets as usize),
            control_mask: g.control_mask,
            control_value: g.control_value,
            matrix: parts(g.matrix.cast(), entries),
        }
    }
}
