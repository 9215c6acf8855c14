//! More stack for functions that call themselves as deep as a text nests.
//!
//! The depth of nesting is limited where texts are read; here the limit is kept from being that of
//! a thread's stack, which a program without optimisation fills after some tens of levels.

/// Less than this is left: a new piece is allocated. More than any function takes until the next
/// call of [`deep`].
#[cfg(not(target_arch = "wasm32"))]
const RED_ZONE: usize = 256 << 10;
/// Bytes of a piece.
#[cfg(not(target_arch = "wasm32"))]
const SEGMENT_BYTES: usize = 2 << 20;

/// Calls `f`, on a new piece of stack if little is left of this one.
#[doc(hidden)]
pub fn deep<T>(f: impl FnOnce() -> T) -> T {
    #[cfg(not(target_arch = "wasm32"))]
    return stacker::maybe_grow(RED_ZONE, SEGMENT_BYTES, f);
    #[cfg(target_arch = "wasm32")]
    f()
}
