//! Memory of a state: from the start of a cache line, in large pages where the system provides them
//! on request, touched first by all threads.
//!
//! A register that straddles two cache lines is read and written in two pieces, so [`Amplitudes`]
//! leaves out as many numbers at the start of its memory as it takes to reach a line: the numbers
//! are `room[skip..]`. Those of a large vector that does not begin a line move up to the next one,
//! in the same memory.
//!
//! A gate on a high qubit, and a tile, touch places far apart; with pages of 4 KiB each needs an
//! entry of the processor's page table cache, with 2 MiB a state of 2^24 amplitudes needs 128 in
//! all.
#![expect(unsafe_code, reason = "asks the system, and fills memory in parts")]

use std::{
    alloc::{Layout, alloc_zeroed},
    any::TypeId,
    fmt,
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
    ptr::NonNull,
};

use num_complex::Complex;

use crate::{
    kernel::{SERIAL_BELOW, Threads},
    scalar::Ring,
};

/// Bytes of a cache line, which no register is longer than.
const LINE: usize = 64;

/// Numbers that one thread fills in a piece: 2 MiB of `Complex<f64>`, a large page.
const PIECE: usize = 1 << 17;

/// States below this many bytes do not ask the system for anything.
const LARGE: usize = 4 << 20;

/// Vectors of fewer numbers are not worth moving.
const ALIGN_FROM: usize = 1 << 8;

/// The numbers of a state.
pub(super) struct Amplitudes<R> {
    /// The numbers, after `skip` others.
    room: Vec<R>,
    skip: usize,
    /// True if they are 1, 0, 0, …, and cannot have been changed.
    new: bool,
}

impl<R: Ring> Amplitudes<R> {
    /// Returns a one among zeros, or `None` if the allocation fails.
    pub(super) fn basis(dim: usize, index: usize, threads: &Threads) -> Option<Amplitudes<R>> {
        let mut amplitudes =
            Amplitudes::zeros(dim).or_else(|| Amplitudes::filled(dim, &R::zero(), threads))?;
        amplitudes[index] = R::one();
        amplitudes.new = index == 0;
        Some(amplitudes)
    }

    /// Returns zeros as the system provides them, where that is the same: pages that have not been
    /// touched.
    fn zeros(dim: usize) -> Option<Amplitudes<R>> {
        let ring = TypeId::of::<R>();
        let plain = [TypeId::of::<Complex<f32>>(), TypeId::of::<Complex<f64>>()].contains(&ring);
        if !plain || dim.saturating_mul(size_of::<R>()) < LARGE {
            return None;
        }
        let room = dim.checked_add(LINE / size_of::<R>())?;
        let layout = Layout::array::<R>(room).ok()?;
        // SAFETY: the layout is not empty, and that of a vector with such a capacity; numbers of
        // these types are zero if all their bytes are.
        let mut room = unsafe {
            let start = NonNull::new(alloc_zeroed(layout))?;
            Vec::from_raw_parts(start.as_ptr().cast::<R>(), room, room)
        };
        let skip = prepare(&mut room, dim);
        room.truncate(skip + dim);
        Some(Amplitudes { room, skip, new: false })
    }

    /// Returns `dim` copies of a number, or `None` if the allocation fails.
    pub(super) fn filled(dim: usize, number: &R, threads: &Threads) -> Option<Amplitudes<R>> {
        let (mut room, skip) = reserve(dim)?;
        if !R::PARALLEL || dim < SERIAL_BELOW || threads.count() == 1 {
            room.resize(skip + dim, number.clone());
            return Some(Amplitudes { room, skip, new: false });
        }
        let places = &mut room.spare_capacity_mut()[..skip + dim];
        threads.chunks(places, PIECE, |_, part: &mut [MaybeUninit<R>]| {
            for place in part {
                place.write(number.clone());
            }
        });
        // SAFETY: the capacity is at least the new length, and the chunks covered all of them. Had
        // a clone panicked, the panic would have come through, and the numbers would leak.
        unsafe { room.set_len(skip + dim) };
        Some(Amplitudes { room, skip, new: false })
    }
}

impl<R> Amplitudes<R> {
    /// Returns true if they are 1, 0, 0, …, and cannot have been changed.
    pub(super) fn are_new(&self) -> bool {
        self.new
    }

    /// Returns the numbers as a vector, in the same memory.
    pub(super) fn into_vec(mut self) -> Vec<R> {
        self.room.drain(..self.skip);
        self.room
    }
}

impl<R: Clone> From<Vec<R>> for Amplitudes<R> {
    /// Takes the memory of a vector. O(2^n) if the numbers have to move, nothing otherwise.
    fn from(mut room: Vec<R>) -> Self {
        let dim = room.len();
        let spare = LINE / size_of::<R>().max(1);
        let aligned = (room.as_ptr() as usize).is_multiple_of(LINE);
        if aligned || dim < ALIGN_FROM || room.try_reserve_exact(spare).is_err() {
            return Amplitudes { room, skip: 0, new: false };
        }
        // There is room after it, maybe at another place than before.
        let skip = room.as_ptr().align_offset(LINE);
        if skip == 0 || skip > spare {
            return Amplitudes { room, skip: 0, new: false };
        }
        room.extend_from_within(..skip);
        room.rotate_right(skip);
        Amplitudes { room, skip, new: false }
    }
}

impl<R> Deref for Amplitudes<R> {
    type Target = [R];
    fn deref(&self) -> &[R] {
        &self.room[self.skip..]
    }
}

impl<R> DerefMut for Amplitudes<R> {
    fn deref_mut(&mut self) -> &mut [R] {
        self.new = false;
        &mut self.room[self.skip..]
    }
}

impl<R: Clone> Clone for Amplitudes<R> {
    fn clone(&self) -> Self {
        let Some((mut room, skip)) = self.first().and_then(|_| reserve(self.len())) else {
            // Too much for the system, which a clone has no other way to say than the vector's own.
            return Amplitudes::from(self.to_vec());
        };
        room.extend(self.iter().take(1).cycle().take(skip).cloned());
        room.extend_from_slice(self);
        Amplitudes { room, skip, new: self.new }
    }

    fn clone_from(&mut self, source: &Self) {
        if self.len() == source.len() {
            self.clone_from_slice(source);
        } else {
            *self = source.clone();
        }
    }
}

impl<R: PartialEq> PartialEq for Amplitudes<R> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<R: fmt::Debug> fmt::Debug for Amplitudes<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Reserves room for `dim` numbers after as many that a line begins there, and returns the number
/// of these; or `None`.
fn reserve<R>(dim: usize) -> Option<(Vec<R>, usize)> {
    let spare = LINE / size_of::<R>().max(1);
    let mut room: Vec<R> = Vec::new();
    room.try_reserve_exact(dim.checked_add(spare)?).ok()?;
    let skip = prepare(&mut room, dim);
    Some((room, skip))
}

/// Asks for large pages for memory that has not been touched; returns the number of its places that
/// lie before a line.
fn prepare<R>(room: &mut Vec<R>, dim: usize) -> usize {
    #[cfg(target_os = "linux")]
    if dim.saturating_mul(size_of::<R>()) >= LARGE {
        ask_for_large_pages(room.as_mut_ptr().cast(), dim * size_of::<R>());
    }
    #[cfg(not(target_os = "linux"))]
    let _ = dim;
    // Numbers whose size does not divide a line may never begin one.
    let skip = room.as_ptr().align_offset(LINE);
    if skip <= LINE / size_of::<R>().max(1) { skip } else { 0 }
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
        // SAFETY: the pages lie within memory that the vector owns; the advice changes no content.
        // If the system refuses, nothing is lost, so the answer is not looked at.
        unsafe { madvise(start.add(skip), (bytes - skip) / PAGE * PAGE, HUGE_PAGES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins_a_line<R>(all: &Amplitudes<R>) -> bool {
        (all.as_ptr() as usize).is_multiple_of(LINE)
    }

    #[test]
    fn states_begin_a_cache_line_and_leave_as_vectors() {
        for n in [0, 1, 3, 10, 18] {
            for threads in [Threads::serial(), Threads::new(2).unwrap()] {
                let one = Complex::new(1.0, 2.0);
                let mut all = Amplitudes::filled(1 << n, &one, &threads).unwrap();
                let single =
                    Amplitudes::filled(1 << n, &Complex::new(0f32, 0.0), &threads).unwrap();
                assert!(
                    begins_a_line(&all) && begins_a_line(&single) && begins_a_line(&single.clone())
                );
                all[0] = Complex::new(3.0, 0.0);
                let copy = all.clone();
                assert!(begins_a_line(&copy) && copy == all);
                let mut expected = vec![one; 1 << n];
                expected[0] = Complex::new(3.0, 0.0);
                assert_eq!(*copy, *expected);
                assert_eq!(all.into_vec(), expected);
            }
        }
        let given = Amplitudes::from(vec![String::from("a"); 3]);
        assert_eq!(*given.clone(), *given.into_vec());
        for dim in [1, 4, ALIGN_FROM, 1 << 17] {
            let numbers: Vec<Complex<f64>> =
                (0..dim).map(|i| Complex::new(i as f64, 0.5)).collect();
            let taken = Amplitudes::from(numbers.clone());
            assert!(begins_a_line(&taken) || dim < ALIGN_FROM);
            assert_eq!(*taken, *numbers);
            assert_eq!(taken.into_vec(), numbers);
        }
    }
}
