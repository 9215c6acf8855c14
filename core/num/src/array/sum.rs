//! Sums of numbers and of products, and sums of what is repeated: in which order they are taken.

use crate::scalar::{Ring, WideLoop, wide};

use super::{Array, ArrayError, Repeated, shape::ConstantRuns};

/// Number of elements that are summed before the sum is added to the others.
const BLOCK: usize = 512;

/// Number of elements that go through a loop at once where several loops follow each other; sums
/// along axes are taken of as many.
#[doc(hidden)]
pub const AT_ONCE: usize = BLOCK;

/// Returns the sum of numbers: blocks of 512, each in 32 columns. The order depends on the number
/// of elements alone.
#[must_use]
pub fn sum<S: Ring>(items: &[S]) -> S {
    sum_on(S::zero(), items)
}

/// Adds numbers to the sum of the whole blocks before them.
#[doc(hidden)]
pub fn sum_on<S: Ring>(before: S, items: &[S]) -> S {
    wide::<S, _>(SumLoop(before, items))
}

struct SumLoop<'a, S>(S, &'a [S]);

impl<S: Ring> WideLoop for SumLoop<'_, S> {
    type Output = S;
    #[inline(always)]
    fn run(self) -> S {
        let SumLoop(mut total, items) = self;
        for block in items.chunks(BLOCK) {
            total += block_sum(block);
        }
        total
    }
}

/// Number of columns in which numbers are summed, so that a sum need not wait for the one before.
pub(crate) const COLUMNS: usize = 32;

/// Returns the sum of a block: eights in columns, then what is left.
#[inline(always)]
fn block_sum<S: Ring>(block: &[S]) -> S {
    let (eights, rest) = block.as_chunks::<8>();
    let rest = S::sum(rest.iter().cloned());
    if eights.is_empty() {
        return rest;
    }
    if eights.len() < COLUMNS / 8 {
        // The other columns would be zeros.
        let mut columns: [S; 8] = std::array::from_fn(|_| S::zero());
        for eight in eights {
            add_to(&mut columns, eight);
        }
        return column_sum(columns) + rest;
    }
    let (lines, few) = eights.as_flattened().as_chunks::<COLUMNS>();
    let mut sums: [S; COLUMNS] = std::array::from_fn(|_| S::zero());
    for line in lines {
        for k in 0..COLUMNS {
            sums[k] += line[k].clone();
        }
    }
    let mut columns = sums;
    add_to(&mut columns, few);
    all_columns(&columns) + rest
}

/// Returns the sum of all columns: those eight apart, then those. Apart from the loops, so that
/// their columns stay in the widest registers.
#[inline(never)]
fn all_columns<S: Ring>(columns: &[S; COLUMNS]) -> S {
    let at = |k: usize| columns[k].clone();
    column_sum(std::array::from_fn(|k| (at(k) + at(k + 8)) + (at(k + 16) + at(k + 24))))
}

#[inline(always)]
fn column_sum<S: Ring>([a, b, c, d, e, f, g, h]: [S; 8]) -> S {
    ((a + &b) + (c + &d)) + ((e + &f) + (g + &h))
}

/// Adds each number to that in its place.
#[inline(always)]
fn add_to<S: Ring>(sums: &mut [S], items: &[S]) {
    sums.iter_mut().zip(items).for_each(|(s, x)| *s += x.clone());
}

/// Adds the next elements of a larger array to where they belong in one that is repeated.
#[doc(hidden)]
pub fn add_runs<S: Ring>(runs: &mut Repeated, items: &[S], sums: &mut [S]) {
    wide::<S, _>(AddRuns { runs, items, sums });
}

struct AddRuns<'a, S> {
    runs: &'a mut Repeated,
    items: &'a [S],
    sums: &'a mut [S],
}

/// Largest number of sums of short lines that are taken side by side, and their number of lines.
const BESIDE: usize = 256;
const LINES: usize = 8;

impl<S: Ring> WideLoop for AddRuns<'_, S> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let AddRuns { runs, mut items, sums } = self;
        let period = runs.period;
        while !items.is_empty() {
            while let Some(ConstantRuns { length, count, at, step }) =
                runs.lines(items.len().min(BLOCK))
            {
                let (lines, rest) = items.split_at(count * length);
                for (k, line) in lines.chunks_exact(length).enumerate() {
                    sums[at + k * step] += block_sum(line);
                }
                items = rest;
            }
            if items.is_empty() {
                break;
            }
            let (at, phase, n) = runs.part(items.len());
            let (part, rest) = items.split_at(n);
            items = rest;
            let sums = &mut sums[at..at + period];
            if let [sum] = sums {
                *sum += SumLoop(S::zero(), part).run();
                continue;
            }
            let (head, lines) = part.split_at(((period - phase) % period).min(n));
            add_to(&mut sums[phase..], head);
            if LINES * period > BESIDE || lines.len() < 2 * LINES * period {
                lines.chunks(period).for_each(|line| add_to(sums, line));
                continue;
            }
            let mut beside: [S; BESIDE] = std::array::from_fn(|_| S::zero());
            let beside = &mut beside[..LINES * period];
            lines.chunks(LINES * period).for_each(|lines| add_to(beside, lines));
            beside.chunks_exact(period).for_each(|line| add_to(sums, line));
        }
    }
}

/// Returns the sum of the products of the elements of two arrays of one shape, in 32 columns but
/// for the last few that eight do not divide. Nothing is conjugated.
///
/// # Errors
/// The shapes differ.
pub fn dot<S: Ring>(a: &Array<S>, b: &Array<S>) -> Result<S, ArrayError> {
    if !a.same_shape(b) {
        return Err(ArrayError::shape("dot", "two arrays of one shape", &[&a.shape(), &b.shape()]));
    }
    Ok(dot_of(a, b))
}

/// Returns the dot product of slices of equal length.
#[doc(hidden)]
pub fn dot_of<S: Ring>(a: &[S], b: &[S]) -> S {
    wide::<S, _>(DotLoop(a, b))
}

struct DotLoop<'a, S>(&'a [S], &'a [S]);

impl<S: Ring> WideLoop for DotLoop<'_, S> {
    type Output = S;
    #[inline(always)]
    fn run(self) -> S {
        let whole = self.0.len() / 8 * 8;
        let ((x, x_rest), (y, y_rest)) = (self.0.split_at(whole), self.1.split_at(whole));
        let rest = S::sum(x_rest.iter().zip(y_rest).map(|(x, y)| x * y));
        let ((xs, few), (ys, others)) = (x.as_chunks::<COLUMNS>(), y.as_chunks::<COLUMNS>());
        let mut sums: [S; COLUMNS] = std::array::from_fn(|_| S::zero());
        for (x, y) in xs.iter().zip(ys) {
            for k in 0..COLUMNS {
                sums[k].mul_add_assign(&x[k], &y[k]);
            }
        }
        let mut columns = sums;
        for (s, (x, y)) in columns.iter_mut().zip(few.iter().zip(others)) {
            s.mul_add_assign(x, y);
        }
        all_columns(&columns) + rest
    }
}
