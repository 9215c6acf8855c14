//! Costs of operations on whole arrays, in operations on their elements.
//!
//! One step may be a product of two matrices of 10^4 rows, so steps alone bound no run. Operations
//! that make an array count its elements when it is made
//! ([`MemoryBudget`](super::memory_budget::MemoryBudget)), and so do elementwise ones; here are the
//! others: operations that read more than they make, and those of superlinear cost. The numbers are
//! bounds within a small factor, of the usual algorithms.

use crate::{
    array::{Contracted, Shape, contract_work},
    ir::ArrayOp,
};

/// Returns the cost of an operation on arrays of these shapes, with this list of ints; `None` if it
/// is not superlinear.
pub(super) fn superlinear(op: ArrayOp, shapes: &[Shape], list: &[i64]) -> Option<u64> {
    use ArrayOp as A;
    let a = shapes.first()?;
    let b = shapes.get(1).unwrap_or(a);
    Some(match op {
        A::MatMul => product(a, last(b, 0)).max(product(b, last(a, 1))),
        A::MatMulNh => product(a, last(b, 1)).max(product(b, last(a, 1))),
        A::MatMulHn => product(a, last(b, 0)).max(product(b, last(a, 0))),
        A::Contract => contract_work(Contracted::Result, a, b, None, list),
        A::ContractFirst => contract_work(Contracted::First, a, b, shapes.get(2), list),
        A::ContractSecond => contract_work(Contracted::Second, a, b, shapes.get(2), list),
        A::Convolve | A::Correlate => times(&[len(a), len(b)]),
        A::Fft | A::FftBack => times(&[10, len(a), logarithm(last(a, 0))]),
        A::ArgSort => times(&[len(a), logarithm(len(a))]),
        A::SolveLower | A::SolveUpper => times(&[last(a, 0), len(b)]),
        A::Det | A::SignDet | A::LogAbsDet | A::Cholesky => cube(a),
        A::Solve | A::SolveAdjoint => cube(a).saturating_add(times(&[2, last(a, 0), len(b)])),
        A::Inv | A::Qr | A::Spectral => times(&[4, cube(a)]),
        A::Lstsq => times(&[30, cube(a)]).saturating_add(times(&[4, last(a, 0), len(b)])),
        A::Cofactors | A::CofactorsAlong | A::Expm | A::Pinv => times(&[30, cube(a)]),
        A::Svd | A::SvdAlong | A::Eigen | A::EigenAlong => times(&[30, cube(a)]),
        A::ExpmAlong => times(&[100, cube(a)]),
        _ => return None,
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
