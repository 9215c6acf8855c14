//! Memory of a state: large pages where the system gives them on request.
//!
//! A gate on a high qubit, and a tile, touch places far apart; with pages of 4 KiB each needs an entry of
//! the processor's page table cache, with 2 MiB a state of 2^24 amplitudes needs 128 in all.
#![expect(unsafe_code, reason = "asks the system")]

/// States below this many bytes do not ask.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// Room for `dim` numbers, or `None`.
pub(super) fn reserve<R>(dim: usize) -> Option<Vec<R>> {
    let mut room: Vec<R> = Vec::new();
    room.try_reserve_exact(dim).ok()?;
    #[cfg(target_os = "linux")]
    if dim.saturating_mul(size_of::<R>()) >= LARGE {
        ask_for_large_pages(room.as_mut_ptr().cast(), dim * size_of::<R>());
    }
    Some(room)
}

#[cfg(target_os = "linux")]
fn ask_for_large_pages(start: *mut u8, bytes: usize) {
    unsafe extern "C" {
        fn madvise(start: *mut u8, length: usize, advice: i32) -> i32;
    }
    const PAGE: usize = 4096;
    const HUGE_PAGES: i32 = 14;
    let skip = start.align_offset(PAGE);
    if skip < bytes {
        // SAFETY: the pages lie within memory that the vector owns; the advice changes no content. If the
        // system refuses, nothing is lost, so the answer is not looked at.
        unsafe { madvise(start.add(skip), (bytes - skip) / PAGE * PAGE, HUGE_PAGES) };
    }
}
