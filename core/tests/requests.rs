//! Counts how often a thread asks for memory. The allocator of all of core's tests counts for each
//! thread by itself, so that tests on other threads change no count.
#![expect(unsafe_code, reason = "a global allocator is an unsafe trait")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

thread_local! {
    static REQUESTS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

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

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of times that `f` asks for memory on this thread.
pub(crate) fn requests(f: impl FnOnce()) -> usize {
    let before = REQUESTS.with(Cell::get);
    f();
    REQUESTS.with(Cell::get) - before
}
