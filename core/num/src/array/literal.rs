//! Arrays written out in Rust.

use super::Array;

impl<T, const N: usize> From<[T; N]> for Array<T> {
    fn from(items: [T; N]) -> Array<T> {
        Array::from(Vec::from(items))
    }
}

impl<T> Array<T> {
    /// Returns a matrix from its rows.
    ///
    /// ```
    /// use ketgrad_core::array::Array;
    ///
    /// let a = Array::from_rows([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(a.shape().as_slice(), [2, 3]);
    /// ```
    #[must_use]
    pub fn from_rows<const M: usize, const N: usize>(rows: [[T; N]; M]) -> Array<T> {
        let mut array = Array::from_iter(rows.into_iter().flatten());
        array.set_shape(&[M, N]);
        array
    }

    /// Returns an array of the same shape, from each element, in the same memory where that is
    /// possible.
    #[must_use]
    pub fn map_into<U>(self, f: impl FnMut(T) -> U) -> Array<U> {
        Array { items: self.items.into_iter().map(f).collect(), dims: self.dims }
    }
}
