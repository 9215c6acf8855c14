//! The C interface between ketgrad and its plugins: data layouts, and nothing else.
//!
//! `include/ketgrad_plugin.h` says the same in C, `ketgrad_plugin.hpp` makes it safe to throw in
//! C++. A plugin is a shared library that exports one *data* symbol, [`ENTRY`], of type [`Desc`].
//! The host reads it before any code of the plugin runs, then calls [`Desc::init`], in which the
//! plugin adds rules and backends.
//!
//! # Rules of the interface
//! - Everything is `repr(C)`. Kinds are codes (`u32`), never enums; truth values are `u32`; results
//!   are [`Status`] codes. Text is a pointer and a length, UTF-8, not terminated.
//! - Nothing is freed on the other side. Messages go into a buffer of the caller ([`Err`]), results
//!   into arrays of the caller.
//! - Nothing unwinds across: not a Rust panic, not a C++ exception, not a `longjmp`.
//! - What a plugin adds is called from any thread, also from several at once.
//!
//! # Versions
//! The first 32 bytes of [`Desc`] are frozen for ever. Within one [`MAJOR`] version structs only
//! grow at their end; each that may grow begins with its size. The receiver zeroes a struct of its
//! own and copies `min(theirs, ours)` bytes, so a missing slot is null. A plugin says what it
//! *needs* of the host ([`Desc::min_host_minor`]), not what it was compiled with. Arrays of structs
//! that may grow carry a stride.
//!
//! | version | has |
//! |---|---|
//! | 1.0 | rules, backends, [`Host::parallel_for`] |
//! | 1.1 | [`Host::get_extension`] |
//! | 1.2 | states that live on a device: [`C32`], [`Backend::describe`], [`Backend::state_basis`], [`Backend::apply_pair`], [`Backend::sample`] |
//! | 1.3 | rules of several results ([`Rule::n_out`]) and of real and complex numbers together, array results of any shape, arrays of ints |
#![no_std]

use core::{ffi::c_void, ptr};

/// First eight bytes of [`Desc`].
pub const MAGIC: u64 = u64::from_le_bytes(*b"KETGRAD1");
/// A plugin of another major version is refused.
pub const MAJOR: u32 = 1;
/// Minor version of this crate.
pub const MINOR: u32 = 3;
/// Name of the exported symbol.
pub const ENTRY: &str = "ketgrad_plugin";

/// Status of a call.
pub type Status = i32;
/// The call succeeded.
pub const OK: Status = 0;
/// The call failed; the message says why.
pub const ERROR: Status = 1;
/// The plugin's code panicked or threw.
pub const PANIC: Status = 2;
/// The operation is not supported.
pub const UNSUPPORTED: Status = 3;
/// The arguments are wrong.
pub const INVALID: Status = 4;
/// The hardware is missing.
pub const NO_HARDWARE: Status = 5;

/// Kind of number: an `f64`. Bit `1 << k` of a mask means kind k.
pub const F64: u32 = 1;
/// A complex number of two `f64`: real, then imaginary part.
pub const C64: u32 = 2;
/// A complex number of two `f32`: real, then imaginary part. Of states alone; the matrices of
/// [`Gate`] stay [`C64`]. Since 1.2.
pub const C32: u32 = 3;

/// Ordinary memory. Memory kinds are those of DLPack.
pub const MEM_HOST: u32 = 1;
/// Memory of a CUDA device.
pub const MEM_CUDA: u32 = 2;
/// Memory that only the plugin understands.
pub const MEM_OPAQUE: u32 = 12;

/// Largest number of dimensions of an array.
pub const MAX_NDIM: usize = 8;

/// Levels of [`Host::log`].
pub const LOG_ERROR: u32 = 1;
/// Something may be wrong.
pub const LOG_WARN: u32 = 2;
/// Something worth knowing.
pub const LOG_INFO: u32 = 3;

/// The operator has a dense matrix of 2^t x 2^t entries, row by row.
pub const GATE_DENSE: u32 = 0;
/// The operator has a diagonal of 2^t entries. Without targets it is a phase under controls.
pub const GATE_DIAGONAL: u32 = 1;

/// UTF-8 text, borrowed for the call unless said otherwise.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Str {
    /// First byte; may be null if `len` is 0.
    pub ptr: *const u8,
    /// Length in bytes.
    pub len: usize,
}

/// Buffer of the caller for a message.
#[repr(C)]
#[derive(Debug)]
pub struct Err {
    /// Size of this struct.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// Buffer of the message.
    pub buf: *mut u8,
    /// Capacity of the buffer in bytes.
    pub cap: usize,
    /// Number of bytes written; set by the writer.
    pub len: usize,
}

/// A dense array, borrowed for the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// [`F64`] or [`C64`].
    pub dtype: u32,
    /// Number of dimensions; 0 is a single number.
    pub ndim: u32,
    /// Lengths of the dimensions, `ndim` of them.
    pub shape: *const u64,
    /// Strides in elements, `ndim` of them; null if the last index runs fastest without gaps.
    pub strides: *const i64,
    /// Elements.
    pub data: *mut c_void,
    /// Kind of memory.
    pub mem: u32,
    /// Number of the device that owns the memory.
    pub device: i32,
}

/// Shape of a result, in memory of the host.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Number of dimensions.
    pub ndim: u32,
    /// 0.
    pub reserved: u32,
    /// Lengths of the dimensions.
    pub dim: [u64; MAX_NDIM],
}

/// Function with derivatives. Parts that a rule lacks are null or empty.
///
/// A rule has a kernel, a program, or both. `signature` gives the kinds of its inputs and results,
/// in the words of the program language: `(x, n: int, xs: array) -> array`, of several results
/// `(zs: array<complex>) -> (complex, array)`. Empty: numbers of the kind in `dtypes`. Ints and
/// arrays of ints cross as `f64`, in a rule whose other numbers are all complex as complex numbers.
///
/// Complex numbers are pairs of real ones to `pullback`: the cotangent of `u + iv` is
/// `dL/du + i dL/dv` of a real loss L.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Size of this struct.
    pub struct_size: u32,
    /// 0.
    pub flags: u32,
    /// Name under which programs call it.
    pub name: Str,
    /// Number of inputs.
    pub n_in: u32,
    /// Number of results; more than one, which come from `forward`, are a tuple in programs. Since
    /// 1.3; 1 before.
    pub n_out: u32,
    /// Kinds of numbers of the kernel: bit [`F64`], bit [`C64`] or, since 1.3, both.
    pub dtypes: u32,
    /// 0.
    pub reserved: u32,
    /// Signature: the kinds of the inputs and results.
    pub signature: Str,
    /// Rule as data: `rule name(x) { … } pullback(x, y, y_bar) { … }`. In it `kernel(…)` calls the
    /// kernel.
    pub program: Str,
    /// Argument of every function below.
    pub user: *mut c_void,
    /// `(user, x, y_shapes)`: the shapes of the `n_out` results: no dimensions for a number, 1 to
    /// [`MAX_NDIM`] for an array. Null: that of the first input.
    pub infer:
        Option<unsafe extern "C" fn(*mut c_void, *const Array, *mut Shape, *mut Err) -> Status>,
    /// `(user, x, y, tape)`: the `n_out` results, zeros at first. `tape` may receive data that the
    /// pullback needs.
    pub forward: Option<
        unsafe extern "C" fn(
            *mut c_void,
            *const Array,
            *const Array,
            *mut *mut c_void,
            *mut Err,
        ) -> Status,
    >,
    /// `(user, tape, x, y, y_bar, x_bar)`: the cotangents of the inputs, zeros at first, for those
    /// of the `n_out` results. It may be called several times for one tape.
    pub pullback: Option<
        unsafe extern "C" fn(
            *mut c_void,
            *mut c_void,
            *const Array,
            *const Array,
            *const Array,
            *const Array,
            *mut Err,
        ) -> Status,
    >,
    /// `(user, x, y)`: of single numbers; `n_in` in, one out.
    pub scalar_f64:
        Option<unsafe extern "C" fn(*mut c_void, *const f64, *mut f64, *mut Err) -> Status>,
    /// Kernel on complex numbers: real and imaginary parts in turn.
    pub scalar_c64:
        Option<unsafe extern "C" fn(*mut c_void, *const f64, *mut f64, *mut Err) -> Status>,
    /// `(user, tape)`
    pub free_tape: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    /// `(user)`: the last call; the rule is not used any more.
    pub drop_user: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// Operator on a state.
///
/// It acts on the amplitudes whose index has the bits `control_value` under `control_mask`. The
/// targets are in the order of the matrix: `targets[0]` is its least significant bit.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// [`GATE_DENSE`] or [`GATE_DIAGONAL`].
    pub kind: u32,
    /// Number of targets.
    pub n_targets: u32,
    /// Qubits that it acts on.
    pub targets: *const u32,
    /// Control qubits as bits of an index.
    pub control_mask: u64,
    /// Values of the control qubits.
    pub control_value: u64,
    /// Entries, real and imaginary parts in turn.
    pub matrix: *const f64,
}

/// Operators in order.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GateList {
    /// First operator.
    pub ptr: *const Gate,
    /// Number of operators.
    pub len: usize,
    /// Bytes from one operator to the next: a newer host has longer ones.
    pub stride: usize,
}

/// Run that a score is asked for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// Size of this struct.
    pub struct_size: u32,
    /// Kind of number.
    pub dtype: u32,
    /// Number of qubits of the state.
    pub n_qubits: u32,
    /// Number of threads that may be used.
    pub threads: u32,
    /// Approximate number of operators.
    pub n_gates: u64,
}

/// `coefficient P` with the Pauli string of X or Y where `x` has a bit, Z or Y where `z` has one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PauliTerm {
    /// Coefficient of the string.
    pub coefficient: f64,
    /// Qubits with X or Y.
    pub x: u64,
    /// Qubits with Z or Y.
    pub z: u64,
}

/// `im <lambda|P|psi>` with the Pauli string `P = i^|x & z| X^x Z^z`: X where `x` alone has a bit,
/// Z where `z` alone has one, Y where both have. Since 1.2.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inner {
    /// Number of the operator before which it is taken; after all operators if it is beyond them.
    pub before: u64,
    /// Qubits with X or Y.
    pub x: u64,
    /// Qubits with Z or Y.
    pub z: u64,
}

/// Set of kernels for states, on the host's memory or on memory of its own.
///
/// One on the host's memory has `apply_host`. One with memory of its own (a device) has
/// `state_new`, `state_free`, `upload`, `download` and `apply`; a state is an opaque pointer, which
/// one call at a time has. It must take every dense operator of up to `max_matrix_targets` targets
/// under any controls.
///
/// States stay on a device from their first gate to the last result if it also has `state_basis`,
/// `state_copy`, `expectation`, `inner`, `apply_paulis`, `apply_pair` and `sample`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Backend {
    /// Size of this struct.
    pub struct_size: u32,
    /// 0.
    pub flags: u32,
    /// Name, for people and for the config.
    pub name: Str,
    /// Memory of its states.
    pub mem: u32,
    /// Kinds of numbers that it supports, a mask.
    pub dtypes: u32,
    /// Number of qubits of the largest state.
    pub max_qubits: u32,
    /// Largest number of targets of an operator; at least 2.
    pub max_matrix_targets: u32,
    /// Kinds of operators that it takes besides dense ones: bit `1 << kind`.
    pub gates: u32,
    /// 0.
    pub reserved: u32,
    /// Argument of every function below.
    pub user: *mut c_void,
    /// `(user, query)`: its score, 100 being that of the built-in kernels and 0 not at all. Cheap;
    /// it starts no device. Below 0: it failed, and `describe`, called next, says why; it is not
    /// asked to run then.
    pub score: Option<unsafe extern "C" fn(*mut c_void, *const Query) -> i32>,
    /// `(user, host, dtype, amplitudes, n_qubits, gates)`
    pub apply_host: Option<
        unsafe extern "C" fn(
            *mut c_void,
            *const Host,
            u32,
            *mut c_void,
            u32,
            *const GateList,
            *mut Err,
        ) -> Status,
    >,
    /// `(user, dtype, n_qubits, state)`: a state of zeros.
    pub state_new:
        Option<unsafe extern "C" fn(*mut c_void, u32, u32, *mut *mut c_void, *mut Err) -> Status>,
    /// `(user, state)`
    pub state_free: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    /// `(user, from, copy)`: a new state with the same amplitudes.
    pub state_copy: Option<
        unsafe extern "C" fn(*mut c_void, *mut c_void, *mut *mut c_void, *mut Err) -> Status,
    >,
    /// `(user, state, amplitudes, bytes)`
    pub upload: Option<
        unsafe extern "C" fn(*mut c_void, *mut c_void, *const c_void, usize, *mut Err) -> Status,
    >,
    /// `(user, state, amplitudes, bytes)`
    pub download: Option<
        unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, usize, *mut Err) -> Status,
    >,
    /// `(user, state)`: waits, and returns the error of earlier work.
    pub sync: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut Err) -> Status>,
    /// `(user, state, gates)`
    pub apply:
        Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *const GateList, *mut Err) -> Status>,
    /// `(user, state, terms, count, value)`: the sum of the terms' expectation values.
    pub expectation: Option<
        unsafe extern "C" fn(
            *mut c_void,
            *mut c_void,
            *const PauliTerm,
            usize,
            *mut f64,
            *mut Err,
        ) -> Status,
    >,
    /// `(user, a, b, value)`: `<a|b>`, real and imaginary part.
    pub inner: Option<
        unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut f64, *mut Err) -> Status,
    >,
    /// `(user, a, terms, count, b, value)`: `<a| sum of terms |b>`, real and imaginary part. The
    /// adjoint method needs it at each parameter.
    pub inner_paulis: Option<
        unsafe extern "C" fn(
            *mut c_void,
            *mut c_void,
            *const PauliTerm,
            usize,
            *mut c_void,
            *mut f64,
            *mut Err,
        ) -> Status,
    >,
    /// `(user, terms, count, from, to)`: `to = sum of terms |from>`; `to` is another state.
    pub apply_paulis: Option<
        unsafe extern "C" fn(
            *mut c_void,
            *const PauliTerm,
            usize,
            *mut c_void,
            *mut c_void,
            *mut Err,
        ) -> Status,
    >,
    /// `(user)`: the last call; the backend is not used any more.
    pub drop_user: Option<unsafe extern "C" fn(*mut c_void)>,
    /// `(user, text)`: a description of a few lines for people: the device and its memory, or the
    /// reason why it cannot be used. Since 1.2, as all that follows.
    pub describe: Option<unsafe extern "C" fn(*mut c_void, *mut Err) -> Status>,
    /// `(user, state, index)`: sets the state to `|index>`.
    pub state_basis:
        Option<unsafe extern "C" fn(*mut c_void, *mut c_void, u64, *mut Err) -> Status>,
    /// `(user, psi, lambda, gates, inners, count, values)`: applies the operators to both states,
    /// which are not the same one, and writes the inner products. They are in the order of
    /// [`Inner::before`].
    pub apply_pair: Option<
        unsafe extern "C" fn(
            *mut c_void,
            *mut c_void,
            *mut c_void,
            *const GateList,
            *const Inner,
            usize,
            *mut f64,
            *mut Err,
        ) -> Status,
    >,
    /// `(user, state, uniforms, count, indices)`: for each number u of an ascending list in [0, 1),
    /// the first index whose cumulative probability exceeds u times the sum of all. Where rounding
    /// leaves none, the last index that can occur.
    pub sample: Option<
        unsafe extern "C" fn(
            *mut c_void,
            *mut c_void,
            *const f64,
            usize,
            *mut u64,
            *mut Err,
        ) -> Status,
    >,
}

/// Body of a parallel loop: `(user, from, to)`.
pub type Body = unsafe extern "C" fn(*mut c_void, usize, usize) -> Status;

/// Services of the host for a plugin. `ctx` is handed back to every function.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Size of this struct.
    pub struct_size: u32,
    /// Major version of the host.
    pub major: u32,
    /// Minor version of the host.
    pub minor: u32,
    /// Number of threads of [`Host::parallel_for`].
    pub threads: u32,
    /// Argument of every function below.
    pub ctx: *mut c_void,
    /// `(ctx, level, text)`: prints a line for people. A plugin's own stdout is another one.
    pub log: Option<unsafe extern "C" fn(*mut c_void, u32, Str)>,
    /// `(ctx, key, value)`: an option from the config, [`UNSUPPORTED`] if it is not given. During
    /// `init` only; the value is valid for as long.
    pub option: Option<unsafe extern "C" fn(*mut c_void, Str, *mut Str) -> Status>,
    /// Adds a rule, which is copied. During `init` only.
    pub add_rule: Option<unsafe extern "C" fn(*mut c_void, *const Rule, *mut Err) -> Status>,
    /// Adds a backend, which is copied. During `init` only.
    pub add_backend: Option<unsafe extern "C" fn(*mut c_void, *const Backend, *mut Err) -> Status>,
    /// `(ctx, count, grain, body, user)`: calls `body` on parts of `0..count` of about `grain`, on
    /// several threads, and waits.
    pub parallel_for: Option<
        unsafe extern "C" fn(*mut c_void, usize, usize, Option<Body>, *mut c_void) -> Status,
    >,
    /// `(ctx, id)`: another table of functions, or null. Since 1.1.
    pub get_extension: Option<unsafe extern "C" fn(*mut c_void, Str) -> *const c_void>,
}

/// Descriptor that a plugin exports under the name [`ENTRY`].
#[repr(C)]
#[derive(Debug)]
pub struct Desc {
    /// [`MAGIC`].
    pub magic: u64,
    /// Major version of the interface.
    pub abi_major: u32,
    /// Minor version that it was compiled with.
    pub abi_minor: u32,
    /// Size of this struct.
    pub struct_size: u32,
    /// Smallest minor version of a host that it works with.
    pub min_host_minor: u32,
    /// 0.
    pub reserved: u64,
    /// Name of the plugin.
    pub name: Str,
    /// Version of the plugin.
    pub version: Str,
    /// Build of the plugin: compiler, features.
    pub build: Str,
    /// Adds its rules and backends. If it fails, none of them counts.
    pub init: Option<unsafe extern "C" fn(*const Host, *mut Err) -> Status>,
}

// SAFETY: a descriptor is constant data; its pointers lead to constant data of the same library.
#[expect(unsafe_code, reason = "raw pointers are not Sync by themselves")]
unsafe impl Sync for Desc {}

impl Str {
    /// Empty text.
    pub const EMPTY: Str = Str { ptr: ptr::null(), len: 0 };

    /// Borrows a text. The pointer is valid for as long as the text.
    #[must_use]
    pub const fn new(text: &str) -> Str {
        Str { ptr: text.as_ptr(), len: text.len() }
    }
}
