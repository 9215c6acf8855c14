//! Marshalling across the interface: structs that may be longer or shorter than ours, texts,
//! messages.
#![expect(unsafe_code, reason = "data of a plugin is read through raw pointers")]

use std::{mem::MaybeUninit, ptr, slice};

use ketgrad_plugin_abi::{self as abi, Err, Status, Str};

use crate::call::Callee;

/// Length of the longest text that is accepted from a plugin: 16 MiB.
const LONGEST: usize = 1 << 24;

/// Length of the longest message.
const MESSAGE: usize = 1024;

/// Copies a struct of a plugin, whatever its version, with zeros where it ends before ours.
///
/// # Safety
/// `theirs` points to a struct that begins with its size in bytes as a `u32` at `size_at`, and that
/// many bytes can be read. All-zero bytes are a valid `T`.
pub(crate) unsafe fn copied<T: Copy>(
    theirs: *const T,
    size_at: usize,
    least: usize,
) -> Result<T, u32> {
    // SAFETY: the caller guarantees that the size can be read.
    let size = unsafe { ptr::read_unaligned(theirs.cast::<u8>().add(size_at).cast::<u32>()) };
    if (size as usize) < least {
        return Err(size);
    }
    let mut ours = MaybeUninit::<T>::zeroed();
    let n = (size as usize).min(size_of::<T>());
    // SAFETY: `n` bytes can be read there and written here; the rest is zero.
    unsafe {
        ptr::copy_nonoverlapping(theirs.cast::<u8>(), ours.as_mut_ptr().cast::<u8>(), n);
        Ok(ours.assume_init())
    }
}

/// Copies a text of a plugin.
///
/// # Safety
/// The text's bytes can be read.
pub(crate) unsafe fn text(text: &Str) -> Result<String, String> {
    if text.ptr.is_null() || text.len == 0 {
        return Ok(String::new());
    }
    if text.len > LONGEST {
        return Err(format!("a text of {} bytes; at most {LONGEST}", text.len));
    }
    // SAFETY: the caller guarantees that the bytes can be read.
    let bytes = unsafe { slice::from_raw_parts(text.ptr, text.len) };
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| "a text that is not UTF-8".to_owned())
}

/// Failure of a call of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CallFailure {
    /// Reason in words.
    pub(crate) reason: String,
    /// True if it broke the contract (a panic, an unknown status, an impossible shape, memory of
    /// others written over) where a plugin that keeps it says why there is no result.
    pub(crate) broke: bool,
}

impl CallFailure {
    /// Failure that the plugin reported.
    pub(crate) fn said(reason: impl Into<String>) -> CallFailure {
        CallFailure { reason: reason.into(), broke: false }
    }
    /// Failure by a broken contract.
    pub(crate) fn broke(reason: impl Into<String>) -> CallFailure {
        CallFailure { reason: reason.into(), broke: true }
    }
}

impl From<CallFailure> for String {
    fn from(failed: CallFailure) -> String {
        failed.reason
    }
}

/// Calls a plugin, which may return a message.
#[inline]
pub(crate) fn asked(callee: &Callee, call: impl FnOnce(*mut Err) -> Status) -> Result<(), String> {
    called(callee, call).map_err(String::from)
}

/// Calls like [`asked`], and says in the error whether the contract was broken.
#[inline]
pub(crate) fn called(
    callee: &Callee,
    call: impl FnOnce(*mut Err) -> Status,
) -> Result<(), CallFailure> {
    // Nothing is written here unless there is an error.
    let mut buffer = MaybeUninit::<[u8; MESSAGE]>::uninit();
    let mut err = Err {
        struct_size: size_of::<Err>() as u32,
        reserved: 0,
        buf: buffer.as_mut_ptr().cast(),
        cap: MESSAGE,
        len: 0,
    };
    let status = callee.call(|| call(&mut err));
    if status == abi::OK {
        return Ok(());
    }
    // SAFETY: the callee has written the first `len` bytes, which it says itself; no more than
    // there are are read. A callee that lies about it makes us print what was on the stack, so
    // the buffer is only trusted up to `cap`.
    let said = unsafe { slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), err.len.min(MESSAGE)) };
    let known = matches!(status, abi::ERROR | abi::UNSUPPORTED | abi::INVALID | abi::NO_HARDWARE);
    let broke = !known || err.len > MESSAGE;
    Err(CallFailure { reason: in_words(status, &String::from_utf8_lossy(said)), broke })
}

/// Length of the longest description that a plugin gives of itself.
const DESCRIPTION: usize = 4096;

/// Asks a plugin for a text; an error becomes a text, too.
pub(crate) fn told(callee: &Callee, call: impl FnOnce(*mut Err) -> Status) -> String {
    let mut buffer = [0u8; DESCRIPTION];
    let (struct_size, cap) = (size_of::<Err>() as u32, DESCRIPTION);
    let mut text = Err { struct_size, reserved: 0, buf: buffer.as_mut_ptr(), cap, len: 0 };
    let status = callee.call(|| call(&mut text));
    let said = String::from_utf8_lossy(&buffer[..text.len.min(DESCRIPTION)]);
    if status == abi::OK { said.into_owned() } else { in_words(status, &said) }
}

#[cold]
fn in_words(status: Status, said: &str) -> String {
    let what = match status {
        abi::ERROR => "",
        abi::PANIC => "it panicked: ",
        abi::UNSUPPORTED => "unsupported: ",
        abi::INVALID => "invalid arguments: ",
        abi::NO_HARDWARE => "the hardware is missing: ",
        other if said.is_empty() => return format!("status {other} without a message"),
        _ => "",
    };
    let said = if said.is_empty() { "no message" } else { said };
    format!("{what}{said}")
}

/// Answers a plugin that called the host: writes a message into its buffer.
///
/// # Safety
/// `err` is null or a message buffer whose `cap` bytes can be written.
pub(crate) unsafe fn answer(err: *mut Err, result: Result<(), String>) -> Status {
    let Err(message) = result else { return abi::OK };
    // SAFETY: the caller promises that `err` is null or a message buffer.
    if let Some(err) = unsafe { err.as_mut() }
        && !err.buf.is_null()
    {
        let n = floor(&message, err.cap);
        // SAFETY: the caller promises that `cap` bytes can be written; the message is cut to so
        // many.
        unsafe { ptr::copy_nonoverlapping(message.as_ptr(), err.buf, n) };
        err.len = n;
    }
    abi::ERROR
}

/// Returns the largest length, up to `most`, at which a text can be cut between two characters.
fn floor(text: &str, most: usize) -> usize {
    let mut n = most.min(text.len());
    while !text.is_char_boundary(n) {
        n -= 1;
    }
    n
}
