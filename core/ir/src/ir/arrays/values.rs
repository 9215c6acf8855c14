//! The values of the operations that make an array of the kind of their operands.
//!
//! The closures of the table call the functions of [`array`](crate::array) with what
//! [`ValueOperands`] gives: `x.a()` and `x.b()`, the first two arrays, `x.int(k)`, the k-th of the
//! ints, `x.list()`, and what else is here.

use std::{borrow::Cow, sync::Arc};

use crate::{
    array::{self, Array, ArrayError, Contracted, Shape, checked_count},
    scalar::{Real, Scalar},
};

use super::ArrayOp;

/// Operands of an operation on whole arrays.
#[derive(Debug)]
#[doc(hidden)]
pub struct ValueOperands<'a, E> {
    /// The arrays, without the one that becomes the result.
    pub arrays: &'a [Arc<Array<E>>],
    pub ints: &'a [i64],
    pub list: Option<&'a Array<i64>>,
    /// Maximum number of elements of an array.
    pub limit: usize,
}

/// How the result of an operation is made: the words of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[doc(hidden)]
pub enum ValueForm {
    /// `new(MOST, VALUE)`: as a new array of at most that many elements.
    New,
    /// `in_place(VALUE)`: from the first operand, in its place unless it is shared.
    InPlace,
    /// `own()`: by an algorithm of the executor, or it is no array of the kind of the operands.
    Own,
}

impl<E> ValueOperands<'_, E> {
    fn a(&self) -> &Array<E> {
        &self.arrays[0]
    }

    fn b(&self) -> &Array<E> {
        self.arrays.get(1).unwrap_or(&self.arrays[0])
    }

    /// Returns the k-th of the ints.
    fn int(&self, k: usize) -> i64 {
        self.ints.get(k).copied().unwrap_or(0)
    }

    fn list(&self) -> &[i64] {
        self.list.map_or(&[], |list| list.items())
    }

    fn indices(&self) -> Cow<'_, Array<i64>> {
        self.list.map_or_else(|| Cow::Owned(Array::default()), Cow::Borrowed)
    }

    /// Returns the shape that the k-th array gives, or the list in its place.
    #[doc(hidden)]
    pub fn form(&self, k: usize) -> Result<Shape, ArrayError> {
        if let Some(array) = self.arrays.get(k) {
            return Ok(array.shape());
        }
        let lengths = self.list();
        if lengths.is_empty() || array::count(lengths, self.limit).is_err() {
            return Err(ArrayError::Lengths { given: lengths.to_vec(), limit: self.limit });
        }
        Ok(lengths.iter().filter_map(|&n| usize::try_from(n).ok()).collect())
    }

    /// Returns the number of elements of an array with these lengths, if it is not too large.
    fn count(&self, lengths: &[usize]) -> Result<usize, ArrayError> {
        checked_count(lengths, self.limit)
    }

    /// Returns the number of elements that are left if the axis that the first int names gets
    /// length 1.
    fn lines(&self) -> usize {
        let along =
            usize::try_from(self.int(0)).ok().and_then(|k| self.a().shape().get(k).copied());
        self.a().len() / along.unwrap_or(1).max(1)
    }

    /// Returns the number of elements of a matrix of these rows and columns, from those of the
    /// first operand; no matrix is an error with its shape later.
    fn matrix(&self, of: fn(usize, usize) -> [usize; 2]) -> Result<usize, ArrayError> {
        match *self.a().shape() {
            [m, n] => self.count(&of(m, n)),
            _ => Ok(self.a().len()),
        }
    }
}

// Numbers of elements.

fn as_first<E>(x: &ValueOperands<'_, E>) -> Result<usize, ArrayError> {
    Ok(x.a().len())
}

fn as_second<E>(x: &ValueOperands<'_, E>) -> Result<usize, ArrayError> {
    Ok(x.b().len())
}

/// As many as both operands have together.
fn together<E>(x: &ValueOperands<'_, E>) -> Result<usize, ArrayError> {
    x.count(&[x.a().len() + x.b().len()])
}

/// Those of the shape that the second operand gives.
fn given<E>(x: &ValueOperands<'_, E>) -> Result<usize, ArrayError> {
    Ok(x.form(1)?.iter().product())
}

/// One for each line along an axis.
fn lines<E>(x: &ValueOperands<'_, E>) -> Result<usize, ArrayError> {
    Ok(x.lines())
}

fn contract<T: Real, E: Scalar<Real = T>>(
    which: Contracted,
    x: &ValueOperands<'_, E>,
    out: &mut Array<E>,
) -> Result<(), ArrayError> {
    let like = x.arrays.get(2).map(|c| &**c);
    array::contract(which, x.a(), x.b(), like, x.list(), x.limit, out)
}

/// Writes eigenvalues as first row, and below them the eigenvectors.
fn values_and_vectors<T: Real, E: Scalar<Real = T>>(
    out: &mut Array<E>,
    decompose: impl FnOnce(&mut Array<T>, &mut Array<E>) -> Result<(), ArrayError>,
) -> Result<(), ArrayError> {
    let (mut values, mut vectors) = (Array::default(), Array::default());
    decompose(&mut values, &mut vectors)?;
    let n = values.len();
    let to = out.start(&[n + 1, n]);
    to.extend(values.iter().map(|w| E::from_real(w.clone())));
    to.extend_from_slice(&vectors);
    Ok(())
}

/// Calls a closure of the table: this tells the compiler what its operands are.
fn call<E>(
    x: &ValueOperands<'_, E>,
    out: &mut Array<E>,
    value: impl FnOnce(&ValueOperands<'_, E>, &mut Array<E>) -> Result<(), ArrayError>,
) -> Result<(), ArrayError> {
    value(x, out)
}

fn size<E>(
    x: &ValueOperands<'_, E>,
    most: impl FnOnce(&ValueOperands<'_, E>) -> Result<usize, ArrayError>,
) -> Result<usize, ArrayError> {
    most(x)
}

// What an entry says of the value, for each question.

macro_rules! form {
    (new($($value:tt)*)) => {
        ValueForm::New
    };
    (in_place($($value:tt)*)) => {
        ValueForm::InPlace
    };
    (own()) => {
        ValueForm::Own
    };
}
macro_rules! most {
    ($name:ident, $x:ident, new($most:expr, $value:expr)) => {
        size($x, $most)
    };
    ($name:ident, $x:ident, $form:ident($($value:tt)*)) => {
        missing(stringify!($name))
    };
}
macro_rules! value {
    ($name:ident, $x:ident, $out:ident, new($most:expr, $value:expr)) => {
        call($x, $out, $value)
    };
    ($name:ident, $x:ident, $out:ident, in_place($value:expr)) => {
        call($x, $out, $value)
    };
    ($name:ident, $x:ident, $out:ident, own()) => {
        missing(stringify!($name))
    };
}
macro_rules! moved {
    ($name:ident, $x:ident, $out:ident, Moved $($value:tt)*) => {
        value!($name, $x, $out, $($value)*)
    };
    ($name:ident, $x:ident, $out:ident, $elements:ident $($value:tt)*) => {
        missing(stringify!($name))
    };
}

/// An operation is asked for what its entry lacks.
fn missing<R>(op: &'static str) -> Result<R, ArrayError> {
    Err(ArrayError::Empty { op })
}

macro_rules! values {
    ($($op:ident $name:ident $operands:tt -> $result:ident $(, earlier $earlier:ident)? {
        doc: $doc:literal,
        shape: $shape:expr, class: $class:expr,
        elements: $elements:ident, used: $used:expr, derivative: $derivative:ident,
        failure: $failure:ident, work: $work:expr,
        value: $form:ident($($value:tt)*),
        $($rules:tt)*
    })*) => {
        impl ArrayOp {
            /// Returns how the result is made.
            #[doc(hidden)]
            #[must_use]
            pub fn value_form(self) -> ValueForm {
                match self { $(ArrayOp::$op => form!($form($($value)*)),)* }
            }

            /// Returns a bound on the number of elements of the result, if it is a new array.
            ///
            /// # Errors
            /// The operands do not fit, or it would be too large.
            #[doc(hidden)]
            pub fn most_elements<T: Real, E: Scalar<Real = T>>(
                self,
                x: &ValueOperands<'_, E>,
            ) -> Result<usize, ArrayError> {
                match self { $(ArrayOp::$op => most!($name, x, $form($($value)*)),)* }
            }

            /// Computes the result: into `out`, or in place.
            ///
            /// # Errors
            /// The operands do not fit, or it has an algorithm of its own.
            #[doc(hidden)]
            pub fn value<T: Real, E: Scalar<Real = T>>(
                self,
                x: &ValueOperands<'_, E>,
                out: &mut Array<E>,
            ) -> Result<(), ArrayError> {
                match self { $(ArrayOp::$op => value!($name, x, out, $form($($value)*)),)* }
            }

            /// Computes the result of an operation that moves elements, of ints, where 0 is none.
            ///
            /// # Errors
            /// Those of [`value`](ArrayOp::value), or it does more.
            #[doc(hidden)]
            pub fn move_ints(
                self,
                x: &ValueOperands<'_, i64>,
                out: &mut Array<i64>,
            ) -> Result<(), ArrayError> {
                match self {
                    $(ArrayOp::$op => moved!($name, x, out, $elements $form($($value)*)),)*
                }
            }
        }
    };
}
for_each_array_op!(values);
