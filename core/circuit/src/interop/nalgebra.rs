//! nalgebra's dynamic matrices. They are stored column by column, ours row by row.

use nalgebra::{DMatrix, Scalar as Element};

use crate::{
    matrix::{Matrix, MatrixError},
    scalar::Ring,
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
