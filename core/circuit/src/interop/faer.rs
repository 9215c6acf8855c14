//! faer's matrices. They are stored column by column, ours row by row.

use faer::{Mat, MatRef};

use crate::{
    matrix::{Matrix, MatrixError},
    scalar::Ring,
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
