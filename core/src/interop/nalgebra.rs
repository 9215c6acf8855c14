//! nalgebra's dynamic matrices and vectors. They are stored column by column, ours row by row.

use nalgebra::{DMatrix, DVector, Scalar as Element};

use crate::{
    matrix::{Matrix, MatrixError},
    scalar::{Real, Ring, Scalar},
    state::{StateError, StateVector},
};

impl<R: Ring + Element> From<&Matrix<R>> for DMatrix<R> {
    fn from(matrix: &Matrix<R>) -> DMatrix<R> {
        DMatrix::from_row_iterator(matrix.dim(), matrix.dim(), matrix.entries().iter().cloned())
    }
}

impl<R: Ring + Element> TryFrom<&DMatrix<R>> for Matrix<R> {
    type Error = MatrixError;
    /// Converts a matrix of 2^k rows and columns.
    fn try_from(matrix: &DMatrix<R>) -> Result<Matrix<R>, MatrixError> {
        Matrix::from_rows(matrix.row_iter().map(|row| row.iter().cloned().collect()).collect())
    }
}

impl<S: Ring + Element> From<StateVector<S>> for DVector<S> {
    fn from(state: StateVector<S>) -> DVector<S> {
        DVector::from_vec(state.into_amplitudes())
    }
}

impl<T: Real, S: Scalar<Real = T> + Element> TryFrom<DVector<S>> for StateVector<S> {
    type Error = StateError;
    /// 2^n amplitudes of norm 1, as [`StateVector::from_amplitudes`] takes them.
    fn try_from(vector: DVector<S>) -> Result<StateVector<S>, StateError> {
        StateVector::from_amplitudes(Vec::from(vector.data))
    }
}
