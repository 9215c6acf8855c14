//! Runs machine code on the machine's own memory.

use std::any::TypeId;

use num_complex::Complex;

use crate::scalar::{Real, Scalar};

use super::{
    super::{
        bytecode::Routine,
        call_frame::CallFrame,
        code::Bank,
        jit::{CellLayout, JitCell, JitContext, JitFunction, JitTape},
    },
    banks::{Banks, FrameBase, TapeStorage},
};

/// Frame from which machine code is entered: the routine, the start of its registers, and the limit
/// of the call depth.
pub(super) struct JitFrame<'a> {
    pub(super) routine: &'a Routine,
    pub(super) base: FrameBase,
    pub(super) depth: usize,
}

/// Writes what machine code finds the tapes, arrays, shapes and checksums by; returns the index of
/// the first checksum.
fn fill_cells<S: Scalar>(
    cells: &mut Vec<JitCell>,
    lists: &CellLayout,
    base: FrameBase,
    banks: &mut Banks<S>,
    tapes: &mut [TapeStorage<S>],
) -> usize {
    cells.clear();
    for stack in &lists.stacks {
        let tape = &mut tapes[stack.tape as usize];
        cells.push(match stack.bank {
            Bank::Real => ends(&mut tape.reals),
            Bank::Complex => ends(&mut tape.complexes),
            _ => ends(&mut tape.ints),
        });
    }
    for view in &lists.views {
        let reg = base[view.bank as usize] + view.reg as usize;
        cells.push(match view.bank {
            Bank::Reals => part(banks.arrays.reals.view(reg, view.written)),
            Bank::Complexes => part(banks.arrays.complexes.view(reg, view.written)),
            _ => part(banks.arrays.ints.view(reg, view.written)),
        });
    }
    for shaped in &lists.shapes {
        let (reg, arrays) = (base[shaped.bank as usize] + shaped.reg as usize, &banks.arrays);
        let shape = match shaped.bank {
            Bank::Reals => arrays.reals.shape(reg),
            Bank::Complexes => arrays.complexes.shape(reg),
            _ => arrays.ints.shape(reg),
        };
        let fits = shape.len() == shaped.axes;
        cells.push(std::array::from_fn(|axis| {
            if fits { shape.get(axis).copied().unwrap_or(0) } else { 0 }
        }));
    }
    let sums = cells.len();
    let checksum = |sum: &JitTape| tapes[sum.tape as usize].checksums[sum.bank as usize] as usize;
    cells.extend(lists.sums.iter().map(|sum| [checksum(sum), 0, 0]));
    sums
}

/// Runs machine code from an entry point on; returns the instruction that the machine goes on with,
/// and the start of the registers of its call, which may be another one of the same routine. `None`
/// for numbers that there is no machine code for.
#[expect(unsafe_code, reason = "machine code reads and writes the machine's memory")]
#[inline(never)]
pub(super) fn enter_jit<T: Real, S: Scalar<Real = T>>(
    native: &JitFunction,
    entry_point: u32,
    JitFrame { routine, mut base, depth }: JitFrame<'_>,
    (banks, tapes, frames): (&mut Banks<S>, &mut [TapeStorage<S>], &mut Vec<CallFrame>),
    cells: &mut Vec<JitCell>,
    fuel: &mut u64,
) -> Option<(usize, FrameBase)> {
    let complex = TypeId::of::<S>() == TypeId::of::<Complex<f64>>();
    if TypeId::of::<T>() != TypeId::of::<f64>() || (native.is_complex && !complex) {
        return None;
    }
    let sums = fill_cells(cells, &native.lists, base, banks, tapes);
    let Banks { reals, complexes, ints, .. } = banks;
    let sizes = routine.sizes.map(|size| size as usize);
    // Calls that there are registers for, this one counted.
    let room =
        [(Bank::Real, reals.len()), (Bank::Complex, complexes.len()), (Bank::Int, ints.len())];
    let room =
        room.map(|(bank, len)| (len - base[bank as usize]).checked_div(sizes[bank as usize]));
    let more = room.into_iter().flatten().min().map_or(0, |calls| calls - 1);
    let n = frames.len();
    let most = (n + more).min(depth).min(frames.capacity()).max(n);
    let first = frames.as_mut_ptr();
    let mut visit = JitContext {
        reals: reals[base[Bank::Real as usize]..].as_mut_ptr().cast(),
        complexes: complexes[base[Bank::Complex as usize]..].as_mut_ptr().cast(),
        ints: ints[base[Bank::Int as usize]..].as_mut_ptr(),
        cells: cells.as_mut_ptr(),
        frames: first.wrapping_add(n),
        first,
        end: first.wrapping_add(most),
        fuel: *fuel,
    };
    // SAFETY: `T` is `f64`, and `S` is `Complex<f64>` if the function looks at any. It was made
    // from the routine that these registers are of, so it names none beyond them, or beyond those
    // of the calls that it makes, which end where `end` says; it asks each tape for room and each
    // array for its length before it touches them, writes only where a cell says that it may, and
    // no other code accesses any of these until it returns.
    let to = unsafe { (native.enter)(&raw mut visit, u64::from(entry_point)) };
    *fuel = visit.fuel;
    for (sum, cell) in native.lists.sums.iter().zip(&cells[sums..]) {
        tapes[sum.tape as usize].checksums[sum.bank as usize] = cell[0] as u64;
    }
    for (stack, cell) in native.lists.stacks.iter().zip(cells) {
        let tape = &mut tapes[stack.tape as usize];
        let bytes = cell[0] - cell[1];
        // SAFETY: the top of a tape stays between its ends, and what is below it has been written.
        unsafe {
            match stack.bank {
                Bank::Real => tape.reals.set_len(bytes / size_of::<f64>()),
                Bank::Complex => tape.complexes.set_len(bytes / size_of::<Complex<f64>>()),
                _ => tape.ints.set_len(bytes / size_of::<i64>()),
            }
        }
    }
    let waiting = (visit.frames.addr() - first.addr()) / size_of::<CallFrame>();
    // SAFETY: it stays between the first and the end, and what is below it has been written.
    unsafe { frames.set_len(waiting) };
    // Calls that were made or came back since are of this routine.
    for (start, size) in base.iter_mut().zip(sizes) {
        *start = *start + waiting * size - n * size;
    }
    Some((to as usize, base))
}

/// Returns a list as its next free place, its start, and the end of its memory.
fn ends<T>(list: &mut Vec<T>) -> JitCell {
    let (start, capacity, len) =
        (list.as_mut_ptr().expose_provenance(), list.capacity(), list.len());
    [start + len * size_of::<T>(), start, start + capacity * size_of::<T>()]
}

fn part<T>((items, len, may_write): (*mut T, usize, bool)) -> JitCell {
    [items.expose_provenance(), len, usize::from(may_write)]
}
