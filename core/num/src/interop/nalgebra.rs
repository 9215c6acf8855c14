//! nalgebra's dynamic matrices and vectors. They are stored column by column, ours row by row.

use nalgebra::{DMatrix, DVector, Scalar as Element};

use crate::array::{Array, ArrayError};

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
