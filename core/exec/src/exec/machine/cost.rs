//! Costs of operations on whole arrays, in operations on their elements.
//!
//! One step may be a product of two matrices of 10^4 rows, so steps alone bound no run. Operations
//! that make an array count its elements when it is made
//! ([`MemoryBudget`](super::memory_budget::MemoryBudget)), and so do elementwise ones; here are the
//! others: operations that read more than they make, and those of superlinear cost. The numbers are
//! bounds within a small factor, of the usual algorithms.

use crate::{
    array::{Shape, contract_work},
    ir::{ArrayOp, WorkFormula},
};

/// Returns the cost of an operation on arrays of these shapes, with this list of ints; `None` if it
/// is not superlinear.
pub(super) fn superlinear(op: ArrayOp, shapes: &[Shape], list: &[i64]) -> Option<u64> {
    use WorkFormula as W;
    let a = shapes.first()?;
    let b = shapes.get(1).unwrap_or(a);
    Some(match op.work() {
        W::Free | W::Sums | W::PerElement(_) => return None,
        W::Sort => times(&[len(a), logarithm(len(a))]),
        W::MatMul { free: [row, column] } => {
            product(a, last(b, column)).max(product(b, last(a, row)))
        }
        W::Contraction(which) => contract_work(which, a, b, shapes.get(2), list),
        W::Convolution | W::Correlation => times(&[len(a), len(b)]),
        W::Fourier => times(&[10, len(a), logarithm(last(a, 0))]),
        W::Cubic { cost, .. } => times(&[cost, cube(a)]),
        W::LuSolution => cube(a).saturating_add(times(&[2, last(a, 0), len(b)])),
        W::TriangularSolution => times(&[last(a, 0), len(b)]),
        W::Orthogonal => times(&[4, cube(a)]),
        W::SingularValues => times(&[30, cube(a)]),
        W::LeastSquares => times(&[30, cube(a)]).saturating_add(times(&[4, last(a, 0), len(b)])),
    })
}

/// Returns the length of the k-th axis from the last.
fn last(shape: &Shape, k: usize) -> u64 {
    shape.len().checked_sub(k + 1).map_or(1, |k| shape[k] as u64)
}

fn len(shape: &Shape) -> u64 {
    shape.iter().fold(1, |n, &d| n.saturating_mul(d as u64))
}

fn times(factors: &[u64]) -> u64 {
    factors.iter().fold(1, |n, &k| n.saturating_mul(k))
}

/// Returns the cost of a multiplication and an addition of each element with that many others.
fn product(a: &Shape, others: u64) -> u64 {
    times(&[2, len(a), others])
}

/// Returns the elements times the longer side.
fn cube(a: &Shape) -> u64 {
    times(&[len(a), last(a, 0).max(last(a, 1))])
}

fn logarithm(n: u64) -> u64 {
    u64::from(u64::BITS - n.leading_zeros())
}
