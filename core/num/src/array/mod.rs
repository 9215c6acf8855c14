//! Arrays of numbers with a shape.
//!
//! An [`Array`] is its elements in row-major order (the last index runs fastest) and its [`Shape`],
//! the length along each axis. A vector has one axis, a matrix two; a single number is no array.
//!
//! ```
//! use ketgrad_core::array::Array;
//!
//! let a = Array::new(&[2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! assert_eq!(a.to_string(), "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
//! assert_eq!((a.shape().as_slice(), a[4]), (&[2, 3][..], 5.0));
//! # Ok::<(), ketgrad_core::array::ArrayError>(())
//! ```
//!
//! # Broadcasting
//! Operations element by element take arrays of different shapes as NumPy does: shapes are aligned
//! at their last axes, and along each axis the lengths are equal or one of them is 1, whose element
//! is then repeated. `[2, 3]` and `[3]` give `[2, 3]`; `[2, 1]` and `[3]` give `[2, 3]`; `[2]` and
//! `[3]` are an error.

mod axis;
mod cofactors;
mod contract;
mod decompose;
mod eigen;
mod error;
mod exponential;
mod flip;
mod fourier;
mod gemm;
mod index;
mod jacobi;
mod least;
mod literal;
mod narrow;
mod orthogonal;
mod product;
mod random;
mod reduce;
mod shape;
mod singular;
mod solve;
mod sum;
mod triangular;
mod value;

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

// What is `pub` in these modules is public; what is for their neighbours alone is `pub(super)`.
pub use axis::*;
pub use cofactors::*;
pub use contract::*;
pub use decompose::*;
// One by one, for its neighbours use a `dot` and a `diagonal` of its own.
#[doc(hidden)]
pub use eigen::spectral_order;
pub use eigen::{eigh, eigh_along, spectral};
pub use error::*;
pub use exponential::*;
pub use fourier::*;
pub use index::*;
pub use least::*;
pub use orthogonal::*;
pub use product::*;
pub use random::*;
pub use reduce::*;
pub use shape::*;
pub use singular::*;
pub use solve::*;
pub use sum::*;
pub use triangular::*;

/// Numbers with a shape. It reads as the slice of its elements in row-major order.
#[derive(Clone, PartialEq, Debug)]
pub struct Array<T> {
    items: Vec<T>,
    /// The lengths along the axes; empty for a vector, whose length is that of `items`.
    dims: Shape,
}

impl<T> Default for Array<T> {
    /// Returns the vector without elements.
    fn default() -> Array<T> {
        Array { items: Vec::new(), dims: Shape::new() }
    }
}

impl<T> Array<T> {
    /// Returns the elements in row-major order, with a length for each axis.
    ///
    /// # Errors
    /// There are no axes, or the number of elements is not the product of the lengths.
    pub fn new(shape: &[usize], items: Vec<T>) -> Result<Array<T>, ArrayError> {
        let n = checked_count(shape, MAX_ELEMENTS).ok();
        if shape.is_empty() || n != Some(items.len()) {
            let (given, expected) = (items.len(), shape.to_vec());
            return Err(ArrayError::Count { given, expected });
        }
        let mut array = Array::from(items);
        array.set_shape(shape);
        Ok(array)
    }

    /// Returns the length along each axis.
    #[must_use]
    pub fn shape(&self) -> Shape {
        if self.dims.is_empty() {
            Shape::from_slice(&[self.items.len()])
        } else {
            self.dims.clone()
        }
    }

    /// Returns the number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dims.len().max(1)
    }

    /// Returns true if the array has one axis.
    #[must_use]
    pub fn is_vector(&self) -> bool {
        self.dims.is_empty()
    }

    /// Returns true if two arrays have the same shape.
    #[must_use]
    pub fn same_shape<U>(&self, other: &Array<U>) -> bool {
        self.items.len() == other.items.len() && self.dims == other.dims
    }

    /// Returns true if the array has this shape.
    #[doc(hidden)]
    pub fn is_of(&self, shape: &[usize]) -> bool {
        if self.dims.is_empty() {
            shape == [self.items.len()]
        } else {
            self.dims.as_slice() == shape
        }
    }

    /// Returns the elements in row-major order.
    #[must_use]
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Returns the elements in row-major order.
    #[must_use]
    pub fn into_items(self) -> Vec<T> {
        self.items
    }

    /// Returns the number of elements that it has memory for.
    #[doc(hidden)]
    pub fn capacity(&self) -> usize {
        self.items.capacity()
    }

    /// Row and column lengths of a matrix, or of each matrix in a stack of them: the last two axes.
    #[doc(hidden)]
    pub fn matrix(&self) -> Option<(usize, usize)> {
        match self.dims.as_slice() {
            [.., m, n] => Some((*m, *n)),
            _ => None,
        }
    }

    /// Returns an array of the same shape, from each element.
    #[must_use]
    pub fn map<U>(&self, f: impl FnMut(&T) -> U) -> Array<U> {
        Array { items: self.items.iter().map(f).collect(), dims: self.dims.clone() }
    }

    /// Reshapes the array to a shape with as many elements.
    pub(crate) fn set_shape(&mut self, shape: &[usize]) {
        debug_assert_eq!(shape.iter().product::<usize>(), self.items.len());
        self.dims.clear();
        if shape.len() > 1 {
            self.dims.extend_from_slice(shape);
        }
    }

    /// The shape of another array with as many elements.
    #[doc(hidden)]
    pub fn set_shape_of<U>(&mut self, other: &Array<U>) {
        debug_assert_eq!(self.items.len(), other.items.len());
        self.dims.clone_from(&other.dims);
    }

    /// Returns the elements as those of a vector, to be changed in number.
    #[doc(hidden)]
    pub fn as_vec(&mut self) -> &mut Vec<T> {
        self.dims.clear();
        &mut self.items
    }

    /// Returns the elements for a shape, each of which the caller writes: they keep what was there
    /// before, or `blank`.
    #[doc(hidden)]
    pub fn overwrite(&mut self, shape: &[usize], blank: &T) -> &mut [T]
    where
        T: Clone,
    {
        self.items.resize(shape.iter().product(), blank.clone());
        self.set_shape(shape);
        &mut self.items
    }

    /// Creates a shape without its elements, for code that reads the shape alone.
    #[doc(hidden)]
    pub fn hollow(&mut self, shape: &[usize]) {
        self.items.clear();
        self.dims = Shape::from_slice(shape);
    }

    /// Returns the elements, to be exchanged for as many as the shape holds.
    #[doc(hidden)]
    pub fn elements(&mut self) -> &mut Vec<T> {
        &mut self.items
    }

    /// Becomes a copy of another array, in its own memory.
    #[doc(hidden)]
    pub fn copy_from(&mut self, other: &Array<T>)
    where
        T: Clone,
    {
        self.items.clone_from(&other.items);
        self.dims.clone_from(&other.dims);
    }

    /// Returns the elements, which the caller fills up to the number that `shape` holds.
    #[doc(hidden)]
    pub fn start(&mut self, shape: &[usize]) -> &mut Vec<T> {
        self.items.clear();
        self.dims.clear();
        if shape.len() > 1 {
            self.dims.extend_from_slice(shape);
        }
        self.items.reserve(shape.iter().product());
        &mut self.items
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(items: Vec<T>) -> Array<T> {
        Array { items, dims: Shape::new() }
    }
}

impl<T> FromIterator<T> for Array<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Array<T> {
        Array::from(Vec::from_iter(items))
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<T: fmt::Debug> fmt::Display for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn nested<T: fmt::Debug>(
            f: &mut fmt::Formatter<'_>,
            shape: &[usize],
            items: &[T],
        ) -> fmt::Result {
            let [n, rest @ ..] = shape else { return Ok(()) };
            if rest.is_empty() {
                return f.debug_list().entries(items).finish();
            }
            let each = rest.iter().product::<usize>();
            f.write_str("[")?;
            for k in 0..*n {
                f.write_str(if k > 0 { ", " } else { "" })?;
                nested(f, rest, &items[k * each..(k + 1) * each])?;
            }
            f.write_str("]")
        }
        nested(f, &self.shape(), &self.items)
    }
}
