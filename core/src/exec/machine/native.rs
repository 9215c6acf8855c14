//! Runs machine code on the machine's own memory.

use std::any::TypeId;

use num_complex::Complex;

use crate::scalar::{Real, Scalar};

use super::{
    super::{
        code::Bank,
        jit::{Cell, Compiled, Visit},
    },
    banks::{Arrays, Base, Tape},
};

/// Runs machine code from a door on: the instruction that the machine goes on with. `None` for numbers that there is no
/// machine code for.
#[expect(unsafe_code, reason = "machine code reads and writes the machine's memory")]
#[inline(never)]
pub(super) fn enter<T: Real, S: Scalar<Real = T>>(
    native: &Compiled,
    door: u32,
    (reals, complexes, ints): (&mut [T], &mut [S], &mut [i64]),
    (tapes, arrays, base): (&mut [Tape<S>], &mut Arrays<S>, Base),
    cells: &mut Vec<Cell>,
    fuel: &mut u64,
) -> Option<usize> {
    let complex = TypeId::of::<S>() == TypeId::of::<Complex<f64>>();
    if TypeId::of::<T>() != TypeId::of::<f64>() || (native.is_complex && !complex) {
        return None;
    }
    cells.clear();
    for stack in &native.stacks {
        let tape = &mut tapes[stack.tape as usize];
        cells.push(match stack.bank {
            Bank::Real => ends(&mut tape.reals),
            Bank::Complex => ends(&mut tape.complexes),
            _ => ends(&mut tape.ints),
        });
    }
    for view in &native.views {
        let reg = base[view.bank as usize] + view.reg as usize;
        cells.push(match view.bank {
            Bank::Reals => part(arrays.reals.view(reg, view.written)),
            Bank::Complexes => part(arrays.complexes.view(reg, view.written)),
            _ => part(arrays.ints.view(reg, view.written)),
        });
    }
    let mut visit = Visit {
        reals: reals.as_mut_ptr().cast(),
        complexes: complexes.as_mut_ptr().cast(),
        ints: ints.as_mut_ptr(),
        cells: cells.as_mut_ptr(),
        fuel: *fuel,
    };
    // SAFETY: `T` is `f64`, and `S` is `Complex<f64>` if the function looks at any. It was made from the routine that these
    // registers are of, so it names none beyond them; it asks each tape for room and each array for its length before it
    // touches them, writes only where a cell says that it may, and nobody else looks at any of these until it returns.
    let to = unsafe { (native.enter)(&raw mut visit, u64::from(door)) };
    *fuel = visit.fuel;
    for (stack, cell) in native.stacks.iter().zip(cells) {
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
    usize::try_from(to).ok()
}

/// A list as its next free place, its start, and the end of its memory.
fn ends<T>(list: &mut Vec<T>) -> Cell {
    let (start, capacity, len) = (list.as_mut_ptr().expose_provenance(), list.capacity(), list.len());
    [start + len * size_of::<T>(), start, start + capacity * size_of::<T>()]
}

fn part<T>((items, len, may_write): (*mut T, usize, bool)) -> Cell {
    [items.expose_provenance(), len, usize::from(may_write)]
}
