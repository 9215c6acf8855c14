//! Products of matrices, and convolutions.

use std::{any::Any, ops::Range};

use num_complex::Complex;

use crate::scalar::{Conj, Ring};

use super::{
    Array, ArrayError, Shape, Strided, broadcast,
    gemm::{Blocked, GemmOperand},
    narrow::{Narrow, is_narrow},
    sum,
    sum::COLUMNS,
};

/// Factors of a product that are taken as their adjoint (the conjugate transpose).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sides {
    Plain,
    /// `A^H B`
    First,
    /// `A B^H`
    Second,
}

/// Computes the product of two matrices, or of stacks of matrices: their leading axes are
/// broadcast. `first`, `second`: take the adjoint of that factor; not of both.
///
/// ```
/// use ketgrad_core::array::{Array, matmul};
///
/// let a = Array::new(&[1, 2], vec![1.0, 2.0])?;
/// let mut y = Array::default();
/// matmul(&a, &a, false, true, &mut y)?; // a a^T
/// assert_eq!(y.to_string(), "[[5.0]]");
/// # Ok::<(), ketgrad_core::array::ArrayError>(())
/// ```
///
/// O(m k n) for `m x k` times `k x n`.
///
/// # Errors
/// The shapes do not fit.
pub fn matmul<S: Conj>(
    a: &Array<S>,
    b: &Array<S>,
    first: bool,
    second: bool,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    matmul_as([a, b], [&a.shape(), &b.shape()], first, second, out)
}

/// Computes the product of two arrays that are read as if they had these shapes.
pub(super) fn matmul_as<S: Conj>(
    [a, b]: [&Array<S>; 2],
    shapes @ [a_shape, b_shape]: [&[usize]; 2],
    first: bool,
    second: bool,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    let Fit { sides, stack, m, k, n } = fit(shapes, first, second)?;
    let (a_stack, b_stack) = (&a_shape[..a_shape.len() - 2], &b_shape[..b_shape.len() - 2]);
    let mut shape: Shape = stack.clone();
    shape.extend([m, n]);
    let count = shape.iter().product();
    if count == 0 {
        out.start(&shape);
        return Ok(());
    }
    let pairs = Strided::broadcast(a_stack, &stack).zip(Strided::broadcast(b_stack, &stack));
    // Stacks of matrices may share one of the factors.
    let place = |i: usize, len: usize| i * len..(i + 1) * len;
    let is_narrow = is_narrow((m, k, n), sides);
    if is_narrow || m.min(k).min(n) >= BLOCKED {
        out.overwrite(&shape, &S::zero());
    }
    if is_narrow && narrow(a, b, out, (m, k, n), sides, pairs.clone()) {
        return Ok(());
    }
    if m.min(k).min(n) >= BLOCKED
        && (blocked::<f64>(a, b, out, (m, k, n), sides, pairs.clone())
            || blocked::<Complex<f64>>(a, b, out, (m, k, n), sides, pairs.clone()))
    {
        return Ok(());
    }
    out.start(&shape).resize(count, S::zero());
    for (c, (i, j)) in out.chunks_exact_mut(m * n).zip(pairs) {
        multiply(&a[place(i, m * k)], &b[place(j, k * n)], c, (m, k, n), sides);
    }
    Ok(())
}

/// Dimensions of a product of two stacks of matrices: the shape of the stack of products `m x n`,
/// of sums of `k` each.
struct Fit {
    sides: Sides,
    stack: Shape,
    m: usize,
    k: usize,
    n: usize,
}

fn fit([a, b]: [&[usize]; 2], first: bool, second: bool) -> Result<Fit, ArrayError> {
    let (op, expected, sides) = match (first, second) {
        (false, false) => ("matmul", "matrices m x k and k x n", Sides::Plain),
        (false, true) => ("matmul_nh", "matrices m x k and n x k", Sides::Second),
        _ => ("matmul_hn", "matrices k x m and k x n", Sides::First),
    };
    let ([a_stack @ .., a0, a1], [b_stack @ .., b0, b1]) = (a, b) else {
        return Err(ArrayError::shape(op, expected, &[a, b]));
    };
    let (m, k, l, n) = match sides {
        Sides::Plain => (*a0, *a1, *b0, *b1),
        Sides::Second => (*a0, *a1, *b1, *b0),
        Sides::First => (*a1, *a0, *b0, *b1),
    };
    let stack = broadcast(a_stack, b_stack).filter(|_| k == l);
    let stack = stack.ok_or_else(|| ArrayError::shape(op, expected, &[a, b]))?;
    Ok(Fit { sides, stack, m, k, n })
}

/// Returns the shape of a product of matrices.
///
/// # Errors
/// The shapes do not fit.
#[doc(hidden)]
pub fn matmul_shape<S>(
    a: &Array<S>,
    b: &Array<S>,
    first: bool,
    second: bool,
) -> Result<Shape, ArrayError> {
    let Fit { mut stack, m, n, .. } = fit([&a.shape(), &b.shape()], first, second)?;
    stack.extend([m, n]);
    Ok(stack)
}

/// Smallest length of every axis at which a product in blocks pays for its packing.
const BLOCKED: usize = 8;

/// Returns the arrays, if their numbers are of the type `T`.
fn arrays_of<'a, T: 'static>(
    a: &'a dyn Any,
    b: &'a dyn Any,
    out: &'a mut dyn Any,
) -> Option<(&'a Array<T>, &'a Array<T>, &'a mut Array<T>)> {
    Some((a.downcast_ref()?, b.downcast_ref()?, out.downcast_mut()?))
}

/// Multiplies the given pairs of matrices in blocks, if their numbers are of the type `T`.
fn blocked<T: Blocked + Conj>(
    a: &dyn Any,
    b: &dyn Any,
    out: &mut dyn Any,
    (m, k, n): (usize, usize, usize),
    sides: Sides,
    pairs: impl Iterator<Item = (usize, usize)>,
) -> bool {
    let Some((a, b, out)) = arrays_of::<T>(a, b, out) else { return false };
    // Transposing is a matter of steps; conjugates are made first.
    let conjugate = |x: &Array<T>, side| {
        (!T::REAL && sides == side).then(|| x.iter().map(Conj::conj).collect::<Vec<T>>())
    };
    let (a_conj, b_conj) = (conjugate(a, Sides::First), conjugate(b, Sides::Second));
    let a = a_conj.as_deref().unwrap_or(a.items());
    let b = b_conj.as_deref().unwrap_or(b.items());
    for (c, (i, j)) in out.chunks_exact_mut(m * n).zip(pairs) {
        let (a, b) = (&a[i * m * k..(i + 1) * m * k], &b[j * k * n..(j + 1) * k * n]);
        let a = GemmOperand { items: a, rows: m, columns: k, transposed: sides == Sides::First };
        let b = GemmOperand { items: b, rows: k, columns: n, transposed: sides == Sides::Second };
        T::multiply(a, b, c);
    }
    true
}

/// Multiplies the given pairs of narrow matrices, if they are of 64-bit floats.
fn narrow(
    a: &dyn Any,
    b: &dyn Any,
    out: &mut dyn Any,
    (m, k, n): (usize, usize, usize),
    sides: Sides,
    pairs: impl Iterator<Item = (usize, usize)>,
) -> bool {
    let Some((a, b, out)) = arrays_of::<f64>(a, b, out) else { return false };
    for (c, (i, j)) in out.chunks_exact_mut(m * n).zip(pairs) {
        let (a, b) = (&a[i * m * k..(i + 1) * m * k], &b[j * k * n..(j + 1) * k * n]);
        Narrow { a, b, c, size: (m, k, n), sides }.run();
    }
    true
}

/// Longer sums are those of their halves: so the error of a product grows as the logarithm of `k`,
/// and not as `k`.
const SUMMED: usize = 512;

/// Computes `c = a b` for zeroed `c`, all row-major.
fn multiply<S: Conj>(a: &[S], b: &[S], c: &mut [S], size: (usize, usize, usize), sides: Sides) {
    summed(a, b, c, size, sides, 0..size.1);
}

/// Adds the terms of `a b` along a range of `k` to `c`.
fn summed<S: Conj>(
    a: &[S],
    b: &[S],
    c: &mut [S],
    (m, k, n): (usize, usize, usize),
    sides: Sides,
    range: Range<usize>,
) {
    if range.len() > SUMMED {
        let middle = range.start + (range.len() / 2).next_multiple_of(SUMMED).min(range.len() - 1);
        let mut rest = vec![S::zero(); c.len()];
        summed(a, b, c, (m, k, n), sides, range.start..middle);
        summed(a, b, &mut rest, (m, k, n), sides, middle..range.end);
        c.iter_mut().zip(rest).for_each(|(x, y)| *x += y);
        return;
    }
    for (i, row) in c.chunks_exact_mut(n).enumerate() {
        match sides {
            Sides::Second => {
                let x = &a[i * k..(i + 1) * k][range.clone()];
                for (j, c) in row.iter_mut().enumerate() {
                    let y = &b[j * k..(j + 1) * k][range.clone()];
                    x.iter().zip(y).for_each(|(x, y)| c.mul_add_assign(x, &y.conj()));
                }
            }
            _ => {
                for (l, y) in b.chunks_exact(n).enumerate().take(range.end).skip(range.start) {
                    let x = if sides == Sides::First {
                        a[l * m + i].conj()
                    } else {
                        a[i * k + l].clone()
                    };
                    row.iter_mut().zip(y).for_each(|(c, y)| c.mul_add_assign(&x, y));
                }
            }
        }
    }
}

/// Computes `tr(A B)` without the product. O(m n).
///
/// # Errors
/// The matrices are not `m x n` and `n x m`.
pub fn trace_product<S: Ring>(a: &Array<S>, b: &Array<S>) -> Result<S, ArrayError> {
    let wrong = || {
        ArrayError::shape("trace_product", "matrices m x n and n x m", &[&a.shape(), &b.shape()])
    };
    let ((m, n), other) = a.matrix().zip(b.matrix()).ok_or_else(wrong)?;
    if other != (n, m) || a.rank() != 2 || b.rank() != 2 {
        return Err(wrong());
    }
    // The order of the sums is that of `dot`, of A and the transpose of B.
    let mut columns: [S; COLUMNS] = std::array::from_fn(|_| S::zero());
    let mut rest = S::zero();
    let whole = a.len() / 8 * 8;
    for (i, row) in a.chunks_exact(n.max(1)).enumerate() {
        for (j, x) in row.iter().enumerate() {
            let k = i * n + j;
            if k < whole {
                columns[k % COLUMNS].mul_add_assign(x, &b[j * m + i]);
            } else {
                rest += x * &b[j * m + i];
            }
        }
    }
    Ok(sum(&columns) + rest)
}

/// Computes the full convolution of two vectors, `y_k = sum_i a_i b_(k-i)`, of length `m + n - 1`.
/// O(m n).
///
/// # Errors
/// They are no vectors, or one is empty.
pub fn convolve<S: Ring>(a: &Array<S>, b: &Array<S>, out: &mut Array<S>) -> Result<(), ArrayError> {
    if !a.is_vector() || !b.is_vector() || a.is_empty() || b.is_empty() {
        let expected = "two vectors of at least one element";
        return Err(ArrayError::shape("convolve", expected, &[&a.shape(), &b.shape()]));
    }
    let n = a.len() + b.len() - 1;
    out.start(&[n]).resize(n, S::zero());
    for (i, x) in a.iter().enumerate() {
        out[i..].iter_mut().zip(b.iter()).for_each(|(c, y)| c.mul_add_assign(x, y));
    }
    Ok(())
}

/// Computes the cross-correlation where the kernel fits into the signal:
/// `y_k = sum_i a_(k+i) conj(b_i)`, of length `m - n + 1`. O(m n).
///
/// # Errors
/// They are no vectors, the kernel is empty, or longer than the signal.
pub fn correlate<S: Conj>(
    a: &Array<S>,
    b: &Array<S>,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    if !a.is_vector() || !b.is_vector() || b.is_empty() || b.len() > a.len() {
        let expected = "a vector and one of at least one element that is not longer";
        return Err(ArrayError::shape("correlate", expected, &[&a.shape(), &b.shape()]));
    }
    let n = a.len() - b.len() + 1;
    out.start(&[n]).resize(n, S::zero());
    for (i, y) in b.iter().enumerate() {
        let y = y.conj();
        out.iter_mut().zip(&a[i..]).for_each(|(c, x)| c.mul_add_assign(x, &y));
    }
    Ok(())
}
