//! faer's matrices and columns. They are stored column by column, ours row by row.

use faer::{Col, Mat, MatRef};

use crate::array::{Array, ArrayError};

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
