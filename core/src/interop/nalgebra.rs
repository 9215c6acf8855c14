//! nalgebra's dynamic matrices and vectors. They are stored column by column, ours row by row.

use nalgebra::{DMatrix, DVector, Scalar as Element};

use crate::{
    array::{Array, ArrayError},
    matrix::{Matrix, MatrixError},
    scalar::{Real, Ring, Scalar},
    state::{StateError, StateVector},
};

impl<T: Element> From<&DMatrix<T>> for Array<T> {
    fn from(matrix: &DMatrix<T>) -> Array<T> {
        // The columns of the transpose are the rows.
        let mut array = Array::from(Vec::from(matrix.transpose().data));
        array.set_shape(&[matrix.nrows(), matrix.ncols()]);
        array
    }
}

impl<T: Element> From<DVector<T>> for Array<T> {
    fn from(vector: DVector<T>) -> Array<T> {
        Array::from(Vec::from(vector.data))
    }
}

impl<T: Element> TryFrom<&Array<T>> for DMatrix<T> {
    type Error = ArrayError;
    /// Converts an array of two axes.
    fn try_from(array: &Array<T>) -> Result<DMatrix<T>, ArrayError> {
        match array.shape()[..] {
            [m, n] => Ok(DMatrix::from_row_iterator(m, n, array.iter().cloned())),
            ref given => {
                Err(ArrayError::shape("DMatrix::try_from", "an array of two axes", &[given]))
            }
        }
    }
}

impl<T: Element> TryFrom<Array<T>> for DVector<T> {
    type Error = ArrayError;
    /// Converts an array of one axis.
    fn try_from(array: Array<T>) -> Result<DVector<T>, ArrayError> {
        match array.shape()[..] {
            [_] => Ok(DVector::from_vec(array.into_items())),
            ref given => {
                Err(ArrayError::shape("DVector::try_from", "an array of one axis", &[given]))
            }
        }
    }
}

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
