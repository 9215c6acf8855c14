//! faer's matrices and columns. They are stored column by column, ours row by row.

use faer::{Col, Mat, MatRef};

use crate::{
    matrix::{Matrix, MatrixError},
    scalar::{Real, Ring, Scalar},
    state::{StateError, StateVector},
};

impl<R: Ring> From<&Matrix<R>> for Mat<R> {
    fn from(matrix: &Matrix<R>) -> Mat<R> {
        Mat::from_fn(matrix.dim(), matrix.dim(), |i, j| matrix[(i, j)].clone())
    }
}

impl<R: Ring> TryFrom<MatRef<'_, R>> for Matrix<R> {
    type Error = MatrixError;
    /// Converts a matrix of 2^k rows and columns.
    fn try_from(matrix: MatRef<'_, R>) -> Result<Matrix<R>, MatrixError> {
        let row = |i| (0..matrix.ncols()).map(|j| matrix[(i, j)].clone()).collect();
        Matrix::from_rows((0..matrix.nrows()).map(row).collect())
    }
}

impl<S: Ring> From<&StateVector<S>> for Col<S> {
    fn from(state: &StateVector<S>) -> Col<S> {
        let amplitudes = state.amplitudes();
        Col::from_fn(amplitudes.len(), |i| amplitudes[i].clone())
    }
}

impl<T: Real, S: Scalar<Real = T>> TryFrom<Col<S>> for StateVector<S> {
    type Error = StateError;
    /// 2^n amplitudes of norm 1, as [`StateVector::from_amplitudes`] takes them.
    fn try_from(column: Col<S>) -> Result<StateVector<S>, StateError> {
        StateVector::from_amplitudes(column.iter().cloned().collect())
    }
}
