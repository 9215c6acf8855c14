//! Counts how often a thread asks for memory, by a global allocator that counts for each thread by
//! itself, so that tests on other threads change no count.
//!
//! It is here, and not beside the tests that count, because it is compiled with optimization here:
//! every allocation of theirs goes through it.
#![expect(unsafe_code, reason = "a global allocator is an unsafe trait")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

thread_local! {
    static REQUESTS: Cell<usize> = const { Cell::new(0) };
}

/// Allocator of the system that counts requests: for `#[global_allocator]`.
pub struct Counting;

fn count() {
    REQUESTS.with(|n| n.set(n.get() + 1));
}

// SAFETY: every call is handed to the system's allocator; the counter is a plain number of the
// thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on; all pointers come from the system's
        // allocator.
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on; all pointers come from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Number of times that `f` asks for memory on this thread, if `Counting` is the global allocator.
pub fn requests(f: impl FnOnce()) -> usize {
    let before = REQUESTS.with(Cell::get);
    f();
    REQUESTS.with(Cell::get) - before
}
