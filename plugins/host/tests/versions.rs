//! A plugin under a host of another version: lists of longer gates, a longer query, a longer table,
//! an older table.
//!
//! The test plays the host: it loads the library, takes what that adds, and hands it structs that
//! are longer than those of this version, with bytes after them that would do harm if somebody
//! read them.
#![expect(unsafe_code, reason = "plays the host")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{ffi::c_void, mem::ManuallyDrop, path::Path, ptr};

use ketgrad_plugin_abi::{
    self as abi, Backend, Desc, Err, Gate, GateList, Host, Inner, Query, Rule, Status, Str,
};
use num_complex::Complex;

use crate::support;

type C = Complex<f64>;

/// A struct as a later version has it: what this one knows, and more.
#[repr(C)]
#[derive(Clone, Copy)]
struct Newer<T> {
    now: T,
    later: [u64; 5],
}

impl<T> Newer<T> {
    const SIZE: u32 = size_of::<Newer<T>>() as u32;

    fn of(now: T) -> Newer<T> {
        Newer { now, later: [u64::MAX; 5] }
    }
}

/// Extensions that a plugin has added, and how often it asked for more.
#[derive(Default)]
struct Added {
    backends: Vec<Backend>,
    extensions: usize,
}

unsafe extern "C" fn log(_: *mut c_void, _: u32, _: Str) {}

unsafe extern "C" fn option(_: *mut c_void, _: Str, _: *mut Str) -> Status {
    abi::UNSUPPORTED
}

unsafe extern "C" fn add_rule(_: *mut c_void, _: *const Rule, _: *mut Err) -> Status {
    abi::OK
}

unsafe extern "C" fn add_backend(ctx: *mut c_void, backend: *const Backend, _: *mut Err) -> Status {
    // SAFETY: `ctx` is that of the table in `added`; the plugins here are of this version.
    unsafe { (*ctx.cast::<Added>()).backends.push(*backend) };
    abi::OK
}

unsafe extern "C" fn get_extension(ctx: *mut c_void, _: Str) -> *const c_void {
    // SAFETY: `ctx` is that of the table in `added`.
    unsafe { (*ctx.cast::<Added>()).extensions += 1 };
    ptr::null()
}

fn table(ctx: *mut c_void) -> Host {
    Host {
        struct_size: size_of::<Host>() as u32,
        major: abi::MAJOR,
        minor: abi::MINOR,
        threads: 1,
        ctx,
        log: Some(log),
        option: Some(option),
        add_rule: Some(add_rule),
        add_backend: Some(add_backend),
        parallel_for: None,
        get_extension: Some(get_extension),
    }
}

/// Loads a library and hands it a table.
fn added(path: &Path, table: impl Fn(*mut c_void) -> Newer<Host>) -> Added {
    // SAFETY: a plugin of this workspace; it stays loaded.
    let library = ManuallyDrop::new(unsafe { libloading::Library::new(path) }.unwrap());
    // SAFETY: the symbol is a descriptor.
    let desc = unsafe { &**library.get::<*const Desc>(abi::ENTRY).unwrap() };
    let mut added = Added::default();
    let host = table(ptr::from_mut(&mut added).cast());
    let mut message = [0u8; 256];
    let mut err = Err {
        struct_size: size_of::<Err>() as u32,
        reserved: 0,
        buf: message.as_mut_ptr(),
        cap: 256,
        len: 0,
    };
    // SAFETY: the table is good for the call.
    let status = unsafe { desc.init.unwrap()(&host.now, &mut err) };
    assert_eq!(status, abi::OK, "{}", String::from_utf8_lossy(&message[..err.len]));
    added
}

fn newer(ctx: *mut c_void) -> Newer<Host> {
    let mut host = Newer::of(table(ctx));
    (host.now.struct_size, host.now.minor) = (Newer::<Host>::SIZE, 9);
    host
}

/// The gates of a GHZ state of three qubits and a rotation of the last, each longer than this
/// version's.
struct Circuit {
    _parts: Vec<(Vec<u32>, Vec<C>)>,
    gates: Vec<Newer<Gate>>,
}

impl Circuit {
    fn new() -> Circuit {
        let (s, zero, one) = (C::new(0.5f64.sqrt(), 0.0), C::new(0.0, 0.0), C::new(1.0, 0.0));
        let (h, x) = (vec![s, s, s, -s], vec![zero, one, one, zero]);
        let turned = vec![s, C::new(0.0, -1.0) * s, C::new(0.0, -1.0) * s, s];
        let parts = vec![(vec![0], h), (vec![1], x.clone()), (vec![2], x), (vec![2], turned)];
        let controls = [0u64, 1, 2, 0];
        let gate = |((targets, matrix), controls): (&(Vec<u32>, Vec<C>), u64)| {
            Newer::of(Gate {
                kind: abi::GATE_DENSE,
                n_targets: 1,
                targets: targets.as_ptr(),
                control_mask: controls,
                control_value: controls,
                matrix: matrix.as_ptr().cast(),
            })
        };
        let gates = parts.iter().zip(controls).map(gate).collect();
        Circuit { _parts: parts, gates }
    }
    fn list(&self) -> GateList {
        GateList {
            ptr: self.gates.as_ptr().cast(),
            len: self.gates.len(),
            stride: size_of::<Newer<Gate>>(),
        }
    }
}

/// `(|000> + |111>) / sqrt 2` with the last qubit turned.
fn expected() -> Vec<C> {
    let mut amplitudes = vec![C::new(0.0, 0.0); 8];
    for (index, value) in [
        (0, C::new(0.5, 0.0)),
        (4, C::new(0.0, -0.5)),
        (3, C::new(0.0, -0.5)),
        (7, C::new(0.5, 0.0)),
    ] {
        amplitudes[index] = value;
    }
    amplitudes
}

fn close(given: &[C], expected: &[C]) {
    assert!(given.iter().zip(expected).all(|(a, b)| (a - b).norm() < 1e-15), "{given:?}");
}

fn err() -> Err {
    Err { struct_size: size_of::<Err>() as u32, reserved: 0, buf: ptr::null_mut(), cap: 0, len: 0 }
}

#[test]
fn kernels_walk_gates_by_their_stride() {
    let added = added(&support::plugin("ketgrad_qkernels"), newer);
    let backend = &added.backends[0];
    let mut query =
        Newer::of(Query { struct_size: 0, dtype: abi::C64, n_qubits: 3, threads: 1, n_gates: 4 });
    query.now.struct_size = Newer::<Query>::SIZE;
    // SAFETY: the query is good for the call.
    assert!(unsafe { backend.score.unwrap()(backend.user, &query.now) } >= 0);
    let circuit = Circuit::new();
    let mut amplitudes = vec![C::new(0.0, 0.0); 8];
    amplitudes[0] = C::new(1.0, 0.0);
    let (host, data) = (newer(ptr::null_mut()), amplitudes.as_mut_ptr().cast());
    // SAFETY: the amplitudes are 2^3 numbers; the list is good for the call.
    let status = unsafe {
        backend.apply_host.unwrap()(
            backend.user,
            &host.now,
            abi::C64,
            data,
            3,
            &circuit.list(),
            &mut err(),
        )
    };
    assert_eq!(status, abi::OK);
    close(&amplitudes, &expected());
}

#[test]
fn devices_walk_gates_by_their_stride() {
    let added = added(&support::mock_device(), newer);
    let b = &added.backends[0];
    let circuit = Circuit::new();
    let mut states = [ptr::null_mut(); 2];
    for state in &mut states {
        // SAFETY: the place for the state is ours; then the state is of this device.
        unsafe {
            assert_eq!(b.state_new.unwrap()(b.user, abi::C64, 3, state, &mut err()), abi::OK);
            assert_eq!(b.state_basis.unwrap()(b.user, *state, 0, &mut err()), abi::OK);
        }
    }
    let [psi, lambda] = states;
    // <lambda|Z0|psi> of the same two states is real, before any gate and after all.
    let inners = [Inner { before: 0, x: 0, z: 1 }, Inner { before: 4, x: 0, z: 1 }];
    let mut values = [1.0; 2];
    let mut amplitudes = vec![C::new(0.0, 0.0); 8];
    // SAFETY: two states of this device, lists that are good for the call, room for two values and
    // 2^3 numbers.
    unsafe {
        let (list, first, into) = (circuit.list(), inners.as_ptr(), values.as_mut_ptr());
        assert_eq!(
            b.apply_pair.unwrap()(b.user, psi, lambda, &list, first, 2, into, &mut err()),
            abi::OK
        );
        for state in states {
            let (data, bytes) = (amplitudes.as_mut_ptr().cast(), size_of_val(&amplitudes[..]));
            assert_eq!(b.download.unwrap()(b.user, state, data, bytes, &mut err()), abi::OK);
            close(&amplitudes, &expected());
            // The same gates again, by the other call.
            assert_eq!(b.state_basis.unwrap()(b.user, state, 0, &mut err()), abi::OK);
            assert_eq!(b.apply.unwrap()(b.user, state, &list, &mut err()), abi::OK);
            assert_eq!(b.download.unwrap()(b.user, state, data, bytes, &mut err()), abi::OK);
            close(&amplitudes, &expected());
            b.state_free.unwrap()(b.user, state);
        }
    }
    assert_eq!(values, [0.0; 2]);
}

/// A host of version 1.0: its table ends before `get_extension`, and the bytes after it are not
/// ours.
#[test]
fn an_older_host_has_no_extensions() {
    let older = |ctx| {
        let mut host = Newer::of(table(ctx));
        host.now.struct_size = std::mem::offset_of!(Host, get_extension) as u32;
        host.now.minor = 0;
        host.now.get_extension = None;
        host
    };
    for path in [support::plugin("ketgrad_qkernels"), support::mock_device()] {
        assert_eq!(added(&path, older).backends.len(), 1);
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile.c");
    let asks = support::c_plugin(&source, "asks_for_extensions", &["EXTENSION"]);
    assert_eq!(added(&asks, older).extensions, 0);
    // A newer one may have some, but not this.
    assert_eq!(added(&asks, newer).extensions, 1);
}
