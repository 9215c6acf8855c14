//! The inverse of a unitary operator, read off its shape: nothing is bound or looked up again.
//!
//! ```text
//! phases        ->  their conjugates
//! a cycle       ->  the cycle backwards: o1 -f1-> o2 becomes o2 -conj f1-> o1
//! a string      ->  the string with conjugate numbers, and -off_diagonal if it is its own inverse but for a sign
//! a dense block ->  its conjugate transpose
//! ```

use super::{Operator, OperatorShape};
use crate::{basis::odd, scalar::Conj};

impl<R: Conj> Operator<R> {
    /// Returns the conjugate transpose, which undoes a unitary operator. O(size of the matrix).
    #[must_use]
    pub fn dagger(&self) -> Operator<R> {
        let shape = match &self.shape {
            OperatorShape::Identity => OperatorShape::Identity,
            OperatorShape::Phase(factor) => OperatorShape::Phase(factor.conj()),
            OperatorShape::Diagonal(factors) => {
                OperatorShape::Diagonal(factors.iter().map(|(o, f)| (*o, f.conj())).collect())
            }
            OperatorShape::Swap(a, b) => OperatorShape::Swap(*a, *b),
            OperatorShape::Cycles(cycles) => {
                OperatorShape::Cycles(cycles.iter().map(|cycle| backwards(cycle)).collect())
            }
            OperatorShape::Parity { z, factors } => {
                OperatorShape::Parity { z: *z, factors: factors.each_ref().map(R::conj) }
            }
            &OperatorShape::PauliString { x, z, ref diagonal, ref off_diagonal } => {
                let off_diagonal =
                    if odd(x & z) { -off_diagonal.conj() } else { off_diagonal.conj() };
                OperatorShape::PauliString { x, z, diagonal: diagonal.conj(), off_diagonal }
            }
            OperatorShape::Dense { matrix, offsets } => {
                let dim = offsets.len();
                let entry = |i: usize| matrix[i % dim * dim + i / dim].conj();
                OperatorShape::Dense {
                    matrix: (0..dim * dim).map(entry).collect(),
                    offsets: offsets.clone(),
                }
            }
        };
        Operator { shape, ..*self }
    }
}

/// Returns a cycle the other way round. The factor of an offset is that of the step away from it.
fn backwards<R: Conj>(cycle: &[(usize, R)]) -> Vec<(usize, R)> {
    let before = |k: usize| (k + cycle.len() - 1) % cycle.len();
    (0..cycle.len()).rev().map(|k| (cycle[k].0, cycle[before(k)].1.conj())).collect()
}
