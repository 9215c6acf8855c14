//! Small dense matrices: the 2^k x 2^k operators of gates, and the unitaries of small circuits.
//!
//! Entries are stored row by row. Bit j of a row or column number belongs to the j-th qubit that
//! the matrix acts on, so `targets[0]` is the least significant.

#[doc(hidden)]
pub mod canonical;
#[doc(hidden)]
pub mod small;

use std::fmt;

use smallvec::SmallVec;

use crate::{
    basis::{BasisError, log2i},
    scalar::{Conj, Real, Ring, Scalar},
};

/// A 2^k x 2^k matrix over a ring.
///
/// ```
/// use ketgrad_core::matrix::Matrix;
///
/// let x = Matrix::from_rows(vec![vec![0.0, 1.0], vec![1.0, 0.0]])?;
/// let xi = Matrix::identity(1).kron(&x); // X on qubit 0, identity on qubit 1
/// assert_eq!(xi[(1, 0)], 1.0);
/// assert_eq!(&xi * &xi, Matrix::identity(2));
/// # Ok::<(), ketgrad_core::matrix::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<R> {
    n_qubits: usize,
    /// Entries row by row; those of gates on up to two qubits are stored inline.
    entries: SmallVec<[R; 16]>,
}

/// Error of a matrix: the reason why some numbers do not form the operator of a gate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// The number of rows is not a power of two.
    #[error("a gate's matrix has 2^k rows: {0}")]
    Rows(#[from] BasisError),
    /// A row has the wrong length.
    #[error("row {row} has {given} entries; a matrix with {expected} rows has {expected} in each")]
    RowLength {
        /// The row, counted from 0.
        row: usize,
        /// Its entries.
        given: usize,
        /// The number of rows.
        expected: usize,
    },
    /// The matrix is not unitary.
    #[error(
        "the matrix is not unitary: entry ({row}, {column}) of U^dagger U is off by {deviation:e}, more than {tolerance:e}"
    )]
    NotUnitary {
        /// Row of the worst entry.
        row: usize,
        /// Column of the worst entry.
        column: usize,
        /// Deviation from the expected matrix.
        deviation: f64,
        /// Deviation that is allowed.
        tolerance: f64,
    },
}

impl<R> std::ops::Index<(usize, usize)> for Matrix<R> {
    type Output = R;
    fn index(&self, (row, column): (usize, usize)) -> &R {
        &self.entries[row << self.n_qubits | column]
    }
}

impl<R: Ring> Matrix<R> {
    /// A matrix from its rows.
    ///
    /// # Errors
    /// [`MatrixError`] unless there are 2^k rows of 2^k entries.
    pub fn from_rows(rows: Vec<Vec<R>>) -> Result<Matrix<R>, MatrixError> {
        let expected = rows.len();
        let n_qubits = log2i(expected)? as usize;
        for (row, entries) in rows.iter().enumerate() {
            if entries.len() != expected {
                return Err(MatrixError::RowLength { row, given: entries.len(), expected });
            }
        }
        Ok(Matrix { n_qubits, entries: rows.into_iter().flatten().collect() })
    }

    /// The matrix whose entry (row, column) is `entry(row, column)`.
    #[must_use]
    pub fn from_fn(n_qubits: usize, mut entry: impl FnMut(usize, usize) -> R) -> Matrix<R> {
        let dim = 1 << n_qubits;
        let entries = (0..dim * dim).map(|i| entry(i / dim, i % dim)).collect();
        Matrix { n_qubits, entries }
    }

    /// Returns the identity on that many qubits.
    #[must_use]
    pub fn identity(n_qubits: usize) -> Matrix<R> {
        Matrix::from_fn(n_qubits, |i, j| if i == j { R::one() } else { R::zero() })
    }

    /// A matrix with 1x1, 2x2, 4x4, … entries as the gate table writes them.
    #[doc(hidden)]
    pub fn from_array<const D: usize>(rows: [[R; D]; D]) -> Matrix<R> {
        Matrix {
            n_qubits: D.trailing_zeros() as usize,
            entries: rows.into_iter().flatten().collect(),
        }
    }

    /// The number of qubits that it acts on.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.n_qubits
    }

    /// The number of rows, 2^k.
    #[must_use]
    pub fn dim(&self) -> usize {
        1 << self.n_qubits
    }

    /// All entries, row by row.
    #[must_use]
    pub fn entries(&self) -> &[R] {
        &self.entries
    }

    /// Applies a function to each entry.
    pub fn map<T: Ring>(&self, f: impl FnMut(&R) -> T) -> Matrix<T> {
        Matrix { n_qubits: self.n_qubits, entries: self.entries.iter().map(f).collect() }
    }

    /// Applies a function that may fail to each entry.
    ///
    /// # Errors
    /// The first error of the function.
    pub fn try_map<T: Ring, E>(&self, f: impl FnMut(&R) -> Result<T, E>) -> Result<Matrix<T>, E> {
        let entries = self.entries.iter().map(f).collect::<Result<_, E>>()?;
        Ok(Matrix { n_qubits: self.n_qubits, entries })
    }

    /// The Kronecker product. The qubits of `low` are the less significant ones.
    #[must_use]
    pub fn kron(&self, low: &Matrix<R>) -> Matrix<R> {
        let (k, mask) = (low.n_qubits, low.dim() - 1);
        Matrix::from_fn(self.n_qubits + k, |i, j| {
            &self[(i >> k, j >> k)] * &low[(i & mask, j & mask)]
        })
    }

    /// The transpose.
    #[must_use]
    pub fn transpose(&self) -> Matrix<R> {
        Matrix::from_fn(self.n_qubits, |i, j| self[(j, i)].clone())
    }

    /// Returns the operator that acts as `self` where every one of `n_controls` further (more
    /// significant) qubits is 1, and as the identity elsewhere.
    #[must_use]
    pub fn controlled(&self, n_controls: usize) -> Matrix<R> {
        let low = self.dim() - 1;
        let all = (1 << n_controls) - 1;
        Matrix::from_fn(self.n_qubits + n_controls, |i, j| {
            let (a, b) = (i >> self.n_qubits, j >> self.n_qubits);
            match (a == b, a == all) {
                (true, true) => self[(i & low, j & low)].clone(),
                _ if i == j => R::one(),
                _ => R::zero(),
            }
        })
    }
}

impl<R: Conj> Matrix<R> {
    /// The conjugate transpose.
    #[must_use]
    pub fn dagger(&self) -> Matrix<R> {
        Matrix::from_fn(self.n_qubits, |i, j| self[(j, i)].conj())
    }
}

impl<T: Real, S: Scalar<Real = T>> Matrix<S> {
    /// Checks that `U^dagger U = 1` holds to `tolerance` in every entry.
    ///
    /// # Errors
    /// [`MatrixError::NotUnitary`] with the worst entry, also if one is NaN. O(8^k).
    pub fn check_unitary(&self, tolerance: f64) -> Result<(), MatrixError> {
        let product = &self.dagger() * self;
        let mut worst = (0, 0, 0.0);
        for row in 0..self.dim() {
            for column in 0..self.dim() {
                let one = if row == column { S::one() } else { S::zero() };
                let off: f64 =
                    (one - &product[(row, column)]).abs2().primal().map_or(f64::NAN, f64::sqrt);
                if off > worst.2 || off.is_nan() {
                    worst = (row, column, off);
                }
            }
        }
        let (row, column, deviation) = worst;
        if deviation <= tolerance {
            return Ok(());
        }
        Err(MatrixError::NotUnitary { row, column, deviation, tolerance })
    }
}

impl<R: Ring> std::ops::Mul for &Matrix<R> {
    type Output = Matrix<R>;
    /// The matrix product. Both sides must act on equally many qubits.
    fn mul(self, right: &Matrix<R>) -> Matrix<R> {
        assert_eq!(self.n_qubits, right.n_qubits, "a product of matrices of different sizes");
        Matrix::from_fn(self.n_qubits, |i, j| {
            R::sum((0..self.dim()).map(|k| &self[(i, k)] * &right[(k, j)]))
        })
    }
}

impl<R: fmt::Display> fmt::Display for Matrix<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in self.entries.chunks(1 << self.n_qubits) {
            let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
            writeln!(f, "[{}]", cells.join(", "))?;
        }
        Ok(())
    }
}
