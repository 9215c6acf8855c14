//! The argument of machine code: the state of the machine.

use num_complex::Complex;

use super::{super::call_frame::CallFrame, cells::JitCell};

/// Argument of machine code at its entry: the state of the machine.
#[repr(C)]
#[derive(Debug)]
pub(in crate::exec) struct JitContext {
    /// The registers of the call.
    pub(in crate::exec) reals: *mut f64,
    pub(in crate::exec) complexes: *mut Complex<f64>,
    pub(in crate::exec) ints: *mut i64,
    /// The tapes, then the arrays, then the shapes, in the order that the routine lists them.
    pub(in crate::exec) cells: *mut JitCell,
    /// Frames of the calls that wait: the next free one, which is written back, the first one, and
    /// the end of the memory.
    pub(in crate::exec) frames: *mut CallFrame,
    pub(in crate::exec) first: *mut CallFrame,
    pub(in crate::exec) end: *mut CallFrame,
    /// Steps left until the machine counts. Written back.
    pub(in crate::exec) fuel: u64,
}
