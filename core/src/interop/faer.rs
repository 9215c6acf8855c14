//! faer's matrices and columns. They are stored column by column, ours row by row.

use faer::{Col, Mat, MatRef};

use crate::{
    array::{Array, ArrayError},
    matrix::{Matrix, MatrixError},
    scalar::{Real, Ring, Scalar},
    state::{StateError, StateVector},
};

/// Returns the elements row by row.
fn rows<T: Clone>(matrix: MatRef<'_, T>) -> impl Iterator<Item = T> {
    (0..matrix.nrows()).flat_map(move |i| (0..matrix.ncols()).map(move |j| matrix[(i, j)].clone()))
}

impl<T: Clone> From<MatRef<'_, T>> for Array<T> {
    fn from(matrix: MatRef<'_, T>) -> Array<T> {
        let mut array = Array::from(rows(matrix).collect::<Vec<T>>());
        array.set_shape(&[matrix.nrows(), matrix.ncols()]);
        array
    }
}

impl<T: Clone> From<Col<T>> for Array<T> {
    fn from(column: Col<T>) -> Array<T> {
        Array::from(column.iter().cloned().collect::<Vec<T>>())
    }
}

impl<T: Clone> TryFrom<&Array<T>> for Mat<T> {
    type Error = ArrayError;
    /// Converts an array of two axes.
    fn try_from(array: &Array<T>) -> Result<Mat<T>, ArrayError> {
        match array.shape()[..] {
            [m, n] => Ok(Mat::from_fn(m, n, |i, j| array.items()[i * n + j].clone())),
            ref given => Err(ArrayError::shape("Mat::try_from", "an array of two axes", &[given])),
        }
    }
}

impl<T: Clone> TryFrom<&Array<T>> for Col<T> {
    type Error = ArrayError;
    /// Converts an array of one axis.
    fn try_from(array: &Array<T>) -> Result<Col<T>, ArrayError> {
        match array.shape()[..] {
            [n] => Ok(Col::from_fn(n, |i| array.items()[i].clone())),
            ref given => Err(ArrayError::shape("Col::try_from", "an array of one axis", &[given])),
        }
    }
}

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
