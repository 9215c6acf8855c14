//! The host's services, and slices that several threads work on.
#![expect(unsafe_code, reason = "the host's functions are called here, and slices are cut by hand")]

use std::{ffi::c_void, marker::PhantomData, ptr, slice};

use ketgrad_plugin_abi::{self as abi, Host, Status, Str};

use crate::{
    error::{Error, Result},
    glue::{guarded, parts},
};

pub(crate) fn option(host: &Host, key: &str) -> Option<String> {
    let mut value = Str::EMPTY;
    // SAFETY: the host fills `value` with a text that lives as long as `init`.
    (unsafe { host.option?(host.ctx, Str::new(key), &mut value) } == abi::OK).then_some(())?;
    // SAFETY: the host has answered that `value` is a text, which lives as long as `init`.
    let text = unsafe { parts(value.ptr, value.len) };
    Some(String::from_utf8_lossy(text).into_owned())
}

pub(crate) fn log(host: &Host, level: u32, text: &str) {
    if let Some(log) = host.log {
        // SAFETY: the host reads the text during the call.
        unsafe { log(host.ctx, level, Str::new(text)) }
    }
}

pub(crate) fn parallel<F: Fn(usize, usize) + Sync>(
    host: &Host,
    count: usize,
    grain: usize,
    body: &F,
) -> Result<()> {
    unsafe extern "C" fn part<F: Fn(usize, usize) + Sync>(
        user: *mut c_void,
        from: usize,
        to: usize,
    ) -> Status {
        // SAFETY: `user` is the body, which outlives `parallel_for`; it may be shared between
        // threads.
        let body = unsafe { &*user.cast::<F>() };
        guarded(ptr::null_mut(), || {
            body(from, to);
            Ok(())
        })
    }
    let Some(run) = host.parallel_for else {
        body(0, count);
        return Ok(());
    };
    let user = ptr::from_ref(body).cast_mut().cast();
    // SAFETY: the host calls `part` with `user` until it returns, and not afterwards.
    match unsafe { run(host.ctx, count, grain, Some(part::<F>), user) } {
        abi::OK => Ok(()),
        status => Err(Error { status, message: "a part of a parallel loop failed".into() }),
    }
}

/// Slice in disjoint chunks for different threads.
pub(crate) struct DisjointChunks<'a, T> {
    ptr: *mut T,
    len: usize,
    chunk: usize,
    of: PhantomData<&'a mut [T]>,
}

// SAFETY: each part is handed to one caller at a time, see `with`.
unsafe impl<T: Send> Sync for DisjointChunks<'_, T> {}

impl<'a, T> DisjointChunks<'a, T> {
    pub(crate) fn new(all: &'a mut [T], chunk: usize) -> DisjointChunks<'a, T> {
        DisjointChunks { ptr: all.as_mut_ptr(), len: all.len(), chunk, of: PhantomData }
    }
    pub(crate) fn count(&self) -> usize {
        self.len.div_ceil(self.chunk)
    }
    /// Lends the k-th chunk. `Par::run` passes each number to one call once.
    pub(crate) fn with(&self, k: usize, body: impl FnOnce(usize, &mut [T])) {
        let start = k * self.chunk;
        let len = self.chunk.min(self.len - start);
        // SAFETY: parts of different numbers do not overlap, and a host's `parallel_for` covers
        // each number once.
        body(start, unsafe { slice::from_raw_parts_mut(self.ptr.add(start), len) });
    }
}
