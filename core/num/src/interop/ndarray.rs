//! ndarray's arrays, of any order in memory. One without an axis becomes an array of one number.

use ndarray::{ArrayD, ArrayView, ArrayViewD, Dimension, IxDyn, ShapeError};

use crate::array::Array;

impl<T: Clone, D: Dimension> From<ArrayView<'_, T, D>> for Array<T> {
    fn from(view: ArrayView<'_, T, D>) -> Array<T> {
        // In logical order, whatever the strides are.
        let mut array = Array::from(view.iter().cloned().collect::<Vec<T>>());
        array.set_shape(view.shape());
        array
    }
}

impl<T: Clone, D: Dimension> From<ndarray::Array<T, D>> for Array<T> {
    fn from(array: ndarray::Array<T, D>) -> Array<T> {
        if !array.is_standard_layout() {
            return array.view().into();
        }
        let shape = array.shape().to_vec();
        let (items, offset) = array.into_raw_vec_and_offset();
        let (offset, len) = (offset.unwrap_or(0), shape.iter().product());
        let whole = offset == 0 && items.len() == len;
        let items = if whole { items } else { items.into_iter().skip(offset).take(len).collect() };
        let mut ours = Array::from(items);
        ours.set_shape(&shape);
        ours
    }
}

impl<T> TryFrom<Array<T>> for ArrayD<T> {
    type Error = ShapeError;
    /// Fails for shapes that ndarray does not have: more elements than an `isize` counts.
    fn try_from(array: Array<T>) -> Result<ArrayD<T>, ShapeError> {
        let shape = IxDyn(&array.shape());
        ArrayD::from_shape_vec(shape, array.into_items())
    }
}

impl<'a, T> TryFrom<&'a Array<T>> for ArrayViewD<'a, T> {
    type Error = ShapeError;
    /// Copies nothing. Fails as the conversion of an array does.
    fn try_from(array: &'a Array<T>) -> Result<ArrayViewD<'a, T>, ShapeError> {
        ArrayViewD::from_shape(IxDyn(&array.shape()), array.items())
    }
}
