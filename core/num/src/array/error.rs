//! Errors of array operations.

use super::contract::labels_text;
use crate::{bytes::bytes_text, scalar::Undecided};

/// Error of an array operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// Shapes that an operation does not take.
    #[error("`{op}` takes {expected}, given {}", shapes(given))]
    Shape {
        /// The operation.
        op: &'static str,
        /// Shapes that it takes, in words.
        expected: &'static str,
        /// The shapes of its operands.
        given: Vec<Vec<usize>>,
    },
    /// An axis that an array does not have.
    #[error(
        "`{op}` along axis {axis} of an array of shape {shape:?}: expected {}",
        axes(op, shape)
    )]
    Axis {
        /// The operation.
        op: &'static str,
        /// The axis.
        axis: i64,
        /// The shape.
        shape: Vec<usize>,
    },
    /// An index or a range outside an array.
    #[error("`{op}`: {what} of an array of shape {shape:?}")]
    Range {
        /// The operation.
        op: &'static str,
        /// Index or range that is outside.
        what: String,
        /// The shape.
        shape: Vec<usize>,
    },
    /// Labels of axes that do not fit.
    #[error("`{op}` of arrays of {} and {} axes with the labels {}: expected {expected}", given[0], given[1], labels_text(labels))]
    Labels {
        /// The operation.
        op: &'static str,
        /// The labels.
        labels: Vec<i64>,
        /// Labels that are expected, in words.
        expected: &'static str,
        /// Numbers of axes of both arrays.
        given: [usize; 2],
    },
    /// A number of elements that does not fill a shape.
    #[error("{given} elements cannot have the shape {expected:?}")]
    Count {
        /// Number of elements given.
        given: usize,
        /// The shape asked for.
        expected: Vec<usize>,
    },
    /// A shape that cannot be.
    #[error(
        "a shape of {given:?}: expected lengths of at least 0 and at most {limit} elements in all"
    )]
    Lengths {
        /// The shape asked for.
        given: Vec<i64>,
        /// Largest number of elements of an array.
        limit: usize,
    },
    /// An array for which there is no room.
    #[error(
        "an array of {} does not fit into the memory limit of {}, of which {} are in use",
        bytes_text(*bytes as u128), bytes_text(*limit as u128), bytes_text(*used as u128)
    )]
    Memory {
        /// The bytes of the array.
        bytes: usize,
        /// The bytes in use.
        used: usize,
        /// The limit.
        limit: usize,
    },
    /// An array without elements where there must be one.
    #[error("`{op}` of an array without elements")]
    Empty {
        /// The operation.
        op: &'static str,
    },
    /// A matrix without an inverse.
    #[error("`{op}`: the matrix is singular: no pivot in column {column} of {size}")]
    Singular {
        /// The operation.
        op: &'static str,
        /// The column in which elimination stopped.
        column: usize,
        /// The order of the matrix.
        size: usize,
    },
    /// A matrix that is not positive definite.
    #[error(
        "`cholesky`: the matrix is not positive definite: the square of diagonal element {row} of {size} is not positive"
    )]
    NotPositive {
        /// The row.
        row: usize,
        /// The order of the matrix.
        size: usize,
    },
    /// An iteration that did not end: a matrix with NaN or infinite elements.
    #[error("`{op}` does not converge: has the matrix infinite or undefined elements?")]
    Diverges {
        /// The operation.
        op: &'static str,
    },
    /// Derivatives of numbers with more digits than `f64`, where they are found from `f64` alone.
    #[error(
        "`{op}`: where eigenvalues or singular values are equal, derivatives are found for numbers of up to 53 bits only"
    )]
    Precision {
        /// The operation.
        op: &'static str,
    },
    /// An error of an operation that a function is made of.
    #[error("`{name}`: {source}")]
    Within {
        /// The function.
        name: &'static str,
        /// The error.
        source: Box<ArrayError>,
    },
    /// A comparison of numbers without a value.
    #[error("`{op}`: {source}")]
    Undecided {
        /// The operation.
        op: &'static str,
        /// Cause.
        source: Undecided,
    },
}

impl ArrayError {
    #[doc(hidden)]
    pub fn shape(op: &'static str, expected: &'static str, given: &[&[usize]]) -> ArrayError {
        ArrayError::Shape { op, expected, given: given.iter().map(|s| s.to_vec()).collect() }
    }
}

fn shapes(given: &[Vec<usize>]) -> String {
    given.iter().map(|s| format!("{s:?}")).collect::<Vec<_>>().join(" and ")
}

/// Returns the axes that an operation may be given.
fn axes(op: &str, shape: &[usize]) -> String {
    // A new axis may come after all.
    match shape.len() + usize::from(op == "insert_axis") {
        0 => "one of no axes".to_owned(),
        1 => "0".to_owned(),
        n => format!("0 to {}", n - 1),
    }
}
