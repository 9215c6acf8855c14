//! Memory of a state: large pages where the system gives them on request, touched first by all threads.
//!
//! A gate on a high qubit, and a tile, touch places far apart; with pages of 4 KiB each needs an entry of
//! the processor's page table cache, with 2 MiB a state of 2^24 amplitudes needs 128 in all.
#![expect(unsafe_code, reason = "asks the system, and fills memory in parts")]

use std::mem::MaybeUninit;

use crate::{
    kernel::{SERIAL_BELOW, Threads},
    scalar::Ring,
};

/// Numbers that one thread fills in a piece: 2 MiB of `Complex<f64>`, a large page.
const PIECE: usize = 1 << 17;

/// States below this many bytes do not ask.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// Room for `dim` numbers, or `None`.
fn reserve<R>(dim: usize) -> Option<Vec<R>> {
    let mut room: Vec<R> = Vec::new();
    room.try_reserve_exact(dim).ok()?;
    #[cfg(target_os = "linux")]
    if dim.saturating_mul(size_of::<R>()) >= LARGE {
        ask_for_large_pages(room.as_mut_ptr().cast(), dim * size_of::<R>());
    }
    Some(room)
}

/// `dim` copies of a number, or `None` if the memory is not to be had.
pub(super) fn filled<R: Ring>(dim: usize, number: &R, threads: &Threads) -> Option<Vec<R>> {
    let mut all = reserve(dim)?;
    if !R::PARALLEL || dim < SERIAL_BELOW || threads.count() == 1 {
        all.resize(dim, number.clone());
        return Some(all);
    }
    threads.chunks(&mut all.spare_capacity_mut()[..dim], PIECE, |_, part: &mut [MaybeUninit<R>]| {
        for place in part {
            place.write(number.clone());
        }
    });
    // SAFETY: there is room for `dim` numbers, and the chunks covered all of them. Had a clone panicked,
    // the panic would have come through, and the numbers would leak.
    unsafe { all.set_len(dim) };
    Some(all)
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
