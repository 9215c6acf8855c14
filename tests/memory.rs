//! States that are too large are refused at once, before any memory is asked for, or by the
//! allocator's own answer.
//!
//! An allocator that remembers the largest request and never gives more than 1 GiB stands in for a
//! machine without that much memory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "a global allocator is an unsafe trait")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use ketgrad_core::{
    circuit::Circuit,
    param::Values,
    simulate::{BoundCircuit, SimulateError, Simulator},
    state::{StateError, StateVector, bytes_needed},
};
use num_complex::Complex;

/// Largest request that this stand-in grants.
const MOST: usize = 1 << 30;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

struct Limited;

// SAFETY: every call is handed to the system's allocator or answered with null, which the trait
// allows as the answer of an allocator that has no memory.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        if layout.size() > MOST {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on; all pointers come from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

/// The tests of this file take turns, so that the largest request is their own, or one of the test
/// harness's, which hands on results in blocks of some KiB.
static TURN: Mutex<()> = Mutex::new(());

/// The result of `f` and the largest request while it ran.
fn largest<T>(f: impl FnOnce() -> T) -> (T, usize) {
    LARGEST.store(0, Ordering::Relaxed);
    let result = f();
    (result, LARGEST.load(Ordering::Relaxed))
}

/// No error needs more than its message.
const SMALL: usize = 1 << 20;

#[test]
fn a_memory_limit_is_checked_before_anything_is_asked_for() {
    let _turn = TURN.lock();
    let simulator = Simulator::new().with_memory_limit(1 << 30);
    for n in [27, 40, 64, 1000, 1 << 20] {
        let circuit = Circuit::new(n);
        let (result, asked) = largest(|| simulator.run::<f64>(&circuit, &[]));
        let error = result.unwrap_err();
        assert!(
            matches!(error, SimulateError::State(StateError::Memory { n_qubits, available, .. }) if n_qubits == n && available == 1 << 30)
        );
        assert!(asked < SMALL, "{asked} bytes asked for {n} qubits");
    }
    let error = simulator.check_memory::<Complex<f64>>(40).unwrap_err();
    assert_eq!(error.to_string(), "a state of 40 qubits needs 16 TiB, but 1 GiB are available");
    assert!(simulator.check_memory::<Complex<f64>>(26).is_ok());
    assert!(simulator.check_memory::<Complex<f64>>(27).is_err());
    assert!(simulator.check_memory::<Complex<f32>>(27).is_ok());
}

#[test]
fn without_a_limit_the_system_refuses() {
    let _turn = TURN.lock();
    for n in [40, 59, 60, 63, 64, 1000, usize::MAX] {
        let (result, _) = largest(|| StateVector::<Complex<f64>>::zero(n));
        assert!(
            matches!(result, Err(StateError::Refused { n_qubits, .. }) if n_qubits == n),
            "{n} qubits"
        );
    }
    // What no vector can hold is not even asked for.
    for n in [60, 64, 1000] {
        let (_, asked) = largest(|| StateVector::<Complex<f64>>::zero(n).unwrap_err());
        assert!(asked < SMALL, "{asked} bytes asked for {n} qubits");
    }
    for n in [40, 1000] {
        assert!(Simulator::new().run::<f64>(&Circuit::new(n), &[]).is_err(), "{n} qubits");
    }
}

#[test]
fn gates_allocate_nothing_of_the_size_of_the_state() {
    let _turn = TURN.lock();
    let n = 16;
    let mut circuit = Circuit::new(n);
    circuit
        .h(0)
        .unwrap()
        .cx(0, 9)
        .unwrap()
        .rzz(3, 15, 0.2)
        .unwrap()
        .ccx(1, 2, 3)
        .unwrap()
        .iswap(4, 11)
        .unwrap();
    let bound = BoundCircuit::<Complex<f64>>::new(&circuit, &Values::<f64>(&[])).unwrap();
    let mut state = StateVector::<Complex<f64>>::zero(n).unwrap();
    let (_, asked) = largest(|| {
        Simulator::new().execute(bound.operators().unwrap(), &mut state, &mut |_, _| {}).unwrap()
    });
    let size = usize::try_from(bytes_needed::<Complex<f64>>(n)).unwrap();
    assert!(asked < size / 16, "{asked} of {size} bytes");
}
