//! Kernels: loops over amplitudes by the shape of a matrix, for any ring.
//!
//! A gate with its constants in a ring becomes an [`Operator`]: targets, a control mask with its
//! value, and a shape. Which gate it came from no longer matters. The shapes, and what each touches
//! of 2^n amplitudes (c controls, k targets):
//!
//! | shape | touched | work per amplitude touched |
//! |---|---|---|
//! | phase on some bits (Z, S, T, P, CZ, CP, CCZ …) | 2^(n-c-k) | 1 product |
//! | diagonal (RZ, RZZ …) | 2^(n-c) less entries equal to 1 | 1 product |
//! | permutation (X, SWAP, CX, Y, iSWAP …) | rows that move | a move, a product if there is a factor |
//! | a Pauli string (rotations about one) | 2^(n-c) | 1 product if it is diagonal, else 2, whatever k is |
//! | dense | 2^(n-c) | 2^k products and sums |
//!
//! Controls are a mask and a value on the index, never another kernel: amplitudes outside the
//! control subspace are not visited. A diagonal or phase never loads what it leaves alone.
//!
//! # Loops
//! With the target and control bits taken out, the indices that remain are runs of consecutive
//! numbers, as long as the lowest bit taken out allows. A kernel walks the runs (`runs.rs`) and
//! works on the 2^k slices that belong to one. Short runs (bits 0 to 2) have loops of fixed length,
//! which the compiler unrolls. Threads split the list of runs, which is the flattened index of
//! pairs: the top qubit parallelizes like any other.

mod acts_on;
mod apply;
mod dagger;
mod device_state;
mod disjoint;
mod fill;
mod fuse;
pub(crate) mod marginal;
mod reduce;
mod registry;
mod runs;
pub(crate) mod simd;
mod strings;
mod threads;
mod tiles;
mod update;

pub use acts_on::ActsOn;
pub use device_state::{DeviceStateVector, DeviceStates};
#[doc(hidden)]
pub use fill::clear;
pub use fill::reset_to_zero;
#[doc(hidden)]
pub use fuse::fused;
pub use reduce::{BLOCK, tree_sum};
pub use registry::{
    ExecuteError, Executor, Executors, Generic, OverlapProbe, PairExecutor, PreparedObservable,
    PreparedOperators, PreparedPair, StateHint,
};
pub use simd::{InstructionSet, SimdFloat};
pub use threads::{SERIAL_BELOW, SHARED_BELOW, ThreadError, Threads};
#[doc(hidden)]
pub use tiles::{TileSize, apply_in_tiles};

use std::ops::Range;

use crate::{
    basis::{BasisError, MAX_QUBITS, bcomspace, deposit, scatter_bits},
    matrix::Matrix,
    pauli::PauliMasks,
    scalar::Ring,
};

/// A matrix ready to be applied: its shape, where it acts, and under which condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator<R> {
    shape: OperatorShape<R>,
    /// Bits that the loop does not run over: controls, and targets that a shape pins.
    fixed: usize,
    /// The values of the control bits.
    value: usize,
    /// One past the highest qubit used.
    n_qubits: usize,
}

/// Action of an operator on the amplitudes `base + offset`, where `base` runs over the indices with
/// the fixed bits at their values.
#[derive(Clone, Debug, PartialEq)]
pub enum OperatorShape<R> {
    /// Nothing.
    Identity,
    /// Multiplies the amplitude at `base` by a factor.
    Phase(R),
    /// Multiplies the amplitude at each offset by its factor; offsets whose factor is 1 are left
    /// out.
    Diagonal(Vec<(usize, R)>),
    /// Exchanges the amplitudes at two offsets.
    Swap(usize, usize),
    /// Moves amplitudes along cycles of offsets: each one goes to the next offset of its cycle and
    /// takes its factor with it; the last goes to the first.
    Cycles(Vec<Vec<(usize, R)>>),
    /// Multiplies the amplitude at an offset by the first factor if the bits of it in z are an even
    /// number, else by the second.
    Parity {
        /// The bits.
        z: usize,
        /// The factors.
        factors: [R; 2],
    },
    /// `diagonal + off_diagonal W` with `W|j> = (-1)^{|j & z|} |j ^ x>` on the offsets j: see
    /// [`Operator::string`].
    PauliString {
        /// The bits that are flipped, one at least.
        x: usize,
        /// The bits that give signs.
        z: usize,
        /// Factor of the amplitude that stays in place.
        diagonal: R,
        /// Factor of the amplitude that goes to the other offset.
        off_diagonal: R,
    },
    /// A dense 2^k x 2^k matrix over the 2^k offsets.
    Dense {
        /// The matrix, row by row.
        matrix: Vec<R>,
        /// Offsets of row and column j.
        offsets: Vec<usize>,
    },
}

impl<R: Ring> Operator<R> {
    /// Takes the shape of a matrix on `targets` (`targets[0]` the least significant) under controls
    /// (qubit, value). Zeros and ones count as such only if they are exact, derivatives included.
    ///
    /// # Errors
    /// [`BasisError`] for a qubit that is listed twice or does not fit an index.
    ///
    /// # Panics
    /// If the matrix acts on another number of qubits than there are targets.
    pub fn new(
        matrix: &Matrix<R>,
        targets: &[usize],
        controls: &[(usize, bool)],
    ) -> Result<Operator<R>, BasisError> {
        assert_eq!(matrix.n_qubits(), targets.len(), "a matrix on {} qubits", matrix.n_qubits());
        let all = || targets.iter().copied().chain(controls.iter().map(|c| c.0));
        let n_qubits = all().max().map_or(0, |q| q.saturating_add(1));
        if n_qubits > MAX_QUBITS {
            return Err(BasisError::TooManyQubits { given: n_qubits });
        }
        bcomspace(n_qubits, all())?;
        let value = controls.iter().filter(|c| c.1).fold(0, |v, c| v | 1 << c.0);
        let mut fixed = all().fold(0, |mask, q| mask | 1 << q);
        // Row j of the matrix is at the bits of j spread over the targets.
        let offsets: Vec<usize> = (0..matrix.dim()).map(|j| scatter_bits(j, targets)).collect();
        let mut value = value;
        let shape = match shape_of(matrix, &offsets) {
            OperatorShape::Diagonal(mut factors) if factors.len() <= 1 => match factors.pop() {
                None => OperatorShape::Identity,
                Some((offset, factor)) => {
                    // One entry differs from 1: the targets serve as controls.
                    value |= offset;
                    OperatorShape::Phase(factor)
                }
            },
            OperatorShape::Diagonal(factors)
                if factors.len() == offsets.len() && same(&factors) =>
            {
                // A multiple of the identity does not depend on the targets.
                fixed = controls.iter().fold(0, |mask, c| mask | 1 << c.0);
                match factors.into_iter().next() {
                    Some((_, factor)) => OperatorShape::Phase(factor),
                    None => OperatorShape::Identity,
                }
            }
            other => other,
        };
        Ok(Operator { shape, fixed, value, n_qubits })
    }

    /// Returns the shape.
    #[must_use]
    pub fn shape(&self) -> &OperatorShape<R> {
        &self.shape
    }

    /// Returns the bits of an index that the loop does not run over (controls and targets), and the
    /// values of those among them that no offset of the shape sets.
    #[must_use]
    pub fn controls(&self) -> (usize, usize) {
        (self.fixed, self.value)
    }

    /// Controls and targets, as bits of an index.
    pub(crate) fn fixed(&self) -> usize {
        self.fixed
    }

    /// Returns the values of the fixed bits where no offset sets them.
    pub(crate) fn value(&self) -> usize {
        self.value
    }

    /// Returns the smallest number of qubits of a state that it can act on.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.n_qubits
    }

    /// Returns the number of amplitudes of 2^n that it changes.
    #[must_use]
    pub fn touched(&self, n_qubits: usize) -> usize {
        let bases = 1usize << n_qubits.saturating_sub(self.fixed.count_ones() as usize);
        bases
            * match &self.shape {
                OperatorShape::Identity => 0,
                OperatorShape::Phase(_) => 1,
                OperatorShape::Diagonal(factors) => factors.len(),
                OperatorShape::Swap(..) => 2,
                OperatorShape::Cycles(cycles) => cycles.iter().map(Vec::len).sum(),
                OperatorShape::Parity { .. } | OperatorShape::PauliString { .. } => {
                    1 << self.shape.string().map_or(0, PauliMasks::weight)
                }
                OperatorShape::Dense { offsets, .. } => offsets.len(),
            }
    }

    /// Returns the operator on qubits that all have moved up by `b` places.
    #[must_use]
    pub fn shifted(&self, b: usize) -> Operator<R> {
        let mut shape = self.shape.clone();
        match &mut shape {
            OperatorShape::Identity | OperatorShape::Phase(_) => {}
            OperatorShape::Diagonal(factors) => factors.iter_mut().for_each(|f| f.0 <<= b),
            OperatorShape::Swap(x, y) => (*x, *y) = (*x << b, *y << b),
            OperatorShape::Cycles(cycles) => cycles.iter_mut().flatten().for_each(|f| f.0 <<= b),
            OperatorShape::Parity { z, .. } => *z <<= b,
            OperatorShape::PauliString { x, z, .. } => (*x, *z) = (*x << b, *z << b),
            OperatorShape::Dense { offsets, .. } => {
                offsets.iter_mut().for_each(|offset| *offset <<= b)
            }
        }
        Operator {
            shape,
            fixed: self.fixed << b,
            value: self.value << b,
            n_qubits: if self.n_qubits == 0 { 0 } else { self.n_qubits + b },
        }
    }

    /// Applies the operator in place, to amplitudes of its ring or of another type that the ring
    /// acts on.
    ///
    /// # Panics
    /// If the number of amplitudes is not a power of two or too small for the qubits used.
    pub fn apply<A: Clone + Send + Sync>(&self, amplitudes: &mut [A], threads: &Threads)
    where
        R: ActsOn<A>,
    {
        R::apply(self, amplitudes, threads);
    }

    /// Returns the operator over another ring.
    #[must_use]
    pub fn map<S: Ring>(&self, f: impl Fn(&R) -> S) -> Operator<S> {
        let at = |factors: &[(usize, R)]| factors.iter().map(|(o, x)| (*o, f(x))).collect();
        let shape = match &self.shape {
            OperatorShape::Identity => OperatorShape::Identity,
            OperatorShape::Phase(factor) => OperatorShape::Phase(f(factor)),
            OperatorShape::Diagonal(factors) => OperatorShape::Diagonal(at(factors)),
            OperatorShape::Swap(x, y) => OperatorShape::Swap(*x, *y),
            OperatorShape::Cycles(cycles) => {
                OperatorShape::Cycles(cycles.iter().map(|cycle| at(cycle)).collect())
            }
            OperatorShape::Parity { z, factors } => {
                OperatorShape::Parity { z: *z, factors: factors.each_ref().map(&f) }
            }
            OperatorShape::PauliString { x, z, diagonal, off_diagonal } => {
                OperatorShape::PauliString {
                    x: *x,
                    z: *z,
                    diagonal: f(diagonal),
                    off_diagonal: f(off_diagonal),
                }
            }
            OperatorShape::Dense { matrix, offsets } => OperatorShape::Dense {
                matrix: matrix.iter().map(&f).collect(),
                offsets: offsets.clone(),
            },
        };
        Operator { shape, fixed: self.fixed, value: self.value, n_qubits: self.n_qubits }
    }

    /// Returns the first entry, where the operator has no controls and is `first entry * rest` with
    /// less work left in the rest. A global factor need not be multiplied into a vector more than
    /// once.
    #[doc(hidden)]
    pub fn lead(&self) -> Option<&R> {
        let all = 1usize << self.fixed.count_ones();
        match &self.shape {
            // All entries are listed where none is 1; with controls there are fewer than the fixed
            // bits say.
            OperatorShape::Diagonal(factors) if factors.len() == all => {
                factors.first().map(|f| &f.1)
            }
            OperatorShape::Dense { matrix, offsets } if offsets.len() == all => matrix.first(),
            _ => None,
        }
    }

    /// Returns the operator times a number, which must be the inverse of [`Operator::lead`].
    #[doc(hidden)]
    pub fn divided(&self, inverse: &R) -> Operator<R> {
        let scaled = self.map(|x| x * inverse);
        let OperatorShape::Diagonal(mut factors) = scaled.shape else { return scaled };
        factors.retain(|f| !f.1.is_exact_one());
        match factors.as_slice() {
            // As in [`Operator::new`], the targets serve as controls.
            [(offset, factor)] => Operator {
                shape: OperatorShape::Phase(factor.clone()),
                value: scaled.value | offset,
                ..scaled
            },
            _ => Operator { shape: OperatorShape::Diagonal(factors), ..scaled },
        }
    }
}

fn same<R: Ring>(factors: &[(usize, R)]) -> bool {
    factors.windows(2).all(|w| (w[0].1.clone() - &w[1].1).is_exact_zero())
}

/// Finds out whether a matrix is diagonal or has one entry in each row and column.
fn shape_of<R: Ring>(matrix: &Matrix<R>, offsets: &[usize]) -> OperatorShape<R> {
    let dim = matrix.dim();
    let dense =
        || OperatorShape::Dense { matrix: matrix.entries().to_vec(), offsets: offsets.to_vec() };
    let mut row_of = Vec::with_capacity(dim);
    for column in 0..dim {
        let mut rows = (0..dim).filter(|&row| !matrix[(row, column)].is_exact_zero());
        match (rows.next(), rows.next()) {
            (Some(row), None) if !row_of.contains(&row) => row_of.push(row),
            _ => return dense(),
        }
    }
    let factor = |column: usize| matrix[(row_of[column], column)].clone();
    if row_of.iter().enumerate().all(|(column, &row)| row == column) {
        let factors = (0..dim).map(|i| (offsets[i], factor(i))).filter(|(_, f)| !f.is_exact_one());
        return OperatorShape::Diagonal(factors.collect());
    }
    let mut seen = vec![false; dim];
    let mut cycles = Vec::new();
    for start in 0..dim {
        let mut cycle = Vec::new();
        let mut at = start;
        while !seen[at] {
            seen[at] = true;
            cycle.push((offsets[at], factor(at)));
            at = row_of[at];
        }
        let still = cycle.len() == 1 && cycle[0].1.is_exact_one();
        if !cycle.is_empty() && !still {
            cycles.push(cycle);
        }
    }
    match cycles.as_slice() {
        [pair] if pair.len() == 2 && pair.iter().all(|(_, f)| f.is_exact_one()) => {
            OperatorShape::Swap(pair[0].0, pair[1].0)
        }
        _ => OperatorShape::Cycles(cycles),
    }
}

/// Returns the indices of n bits whose `fixed` bits have the given value: number `part.start` to
/// `part.end` of them, in ascending order. O(n) for the first, O(1) for each further one.
#[doc(hidden)]
pub fn places(
    part: Range<usize>,
    n_qubits: usize,
    fixed: usize,
    value: usize,
) -> impl Iterator<Item = usize> {
    let mut next = deposit(part.start, ((1 << n_qubits) - 1) & !fixed);
    // Adding the fixed bits, too, lets a carry run across them: none of them is set.
    let step = fixed.wrapping_add(1);
    part.map(move |_| {
        let here = next;
        next = here.wrapping_add(step) & !fixed;
        here | value
    })
}
