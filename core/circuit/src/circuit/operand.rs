//! Operands of instructions: one number or a list of numbers, of qubits or of classical bits.
//!
//! ```
//! use ketgrad_core::circuit::Circuit;
//!
//! let mut c = Circuit::new(4);
//! c.h(..)?; // all qubits
//! c.cx(0, 1..3)?; // cx 0, 1 and cx 0, 2
//! c.cx(0..2, [2, 3])?; // cx 0, 2 and cx 1, 3
//! assert_eq!(c.instructions().len(), 8);
//! assert_eq!(c.cx(0..2, 1..4).unwrap_err().to_string(), "lists of 2 and 3 numbers do not pair up");
//! # Ok::<(), ketgrad_core::circuit::CircuitError>(())
//! ```
//!
//! An operand is a number, any range (open ends stop where the qubits do), an array, a slice, a
//! vector, the usual adapters of iterators over them (`(0..n).step_by(2)`, `.rev()`, `.filter(…)`),
//! or a reference to one of these. Where a gate has several operands, lists are paired element by
//! element and a single number is broadcast to each of them, as in OpenQASM.

use std::{iter, ops};

use super::CircuitError;
use crate::classical::{
    Arithmetic, ClassicalError, ClassicalExpr, ClassicalOperand, PendingExpr, formula_operators,
};

/// Numbers of an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// One number, which is broadcast along the other lists.
    One(usize),
    /// A list, whose elements are paired with those of the other lists.
    Many(Vec<usize>),
}

impl Numbers {
    /// The numbers in order.
    pub(crate) fn into_vec(self) -> Vec<usize> {
        match self {
            Numbers::One(number) => vec![number],
            Numbers::Many(list) => list,
        }
    }
}

/// One number or a list of numbers: see the [module](self).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operand of a gate",
    label = "expected qubits: a `usize`, a range such as `0..2` or `..`, or a list; angles are in parentheses before them"
)]
pub trait Operand {
    /// Returns the numbers, out of `n`.
    ///
    /// # Errors
    /// The first number of a range that does not exist. Numbers of other lists are not checked
    /// here.
    fn numbers(&self, n: usize) -> Result<Numbers, usize>;
}

impl Operand for usize {
    fn numbers(&self, _: usize) -> Result<Numbers, usize> {
        Ok(Numbers::One(*self))
    }
}

impl<T: Operand + ?Sized> Operand for &T {
    fn numbers(&self, n: usize) -> Result<Numbers, usize> {
        (**self).numbers(n)
    }
}

impl Operand for [usize] {
    fn numbers(&self, _: usize) -> Result<Numbers, usize> {
        Ok(Numbers::Many(self.to_vec()))
    }
}

impl<const K: usize> Operand for [usize; K] {
    fn numbers(&self, n: usize) -> Result<Numbers, usize> {
        self.as_slice().numbers(n)
    }
}

impl Operand for Vec<usize> {
    fn numbers(&self, n: usize) -> Result<Numbers, usize> {
        self.as_slice().numbers(n)
    }
}

/// Returns the numbers of `start..end`, which must not exceed `n`: this is checked before anything
/// is allocated.
fn range(start: usize, end: usize, n: usize) -> Result<Numbers, usize> {
    if start < end && end > n {
        Err(start.max(n))
    } else {
        Ok(Numbers::Many((start..end).collect()))
    }
}

macro_rules! ranges {
    ($($T:ty: |$r:ident, $n:ident| $start:expr, $end:expr;)*) => {$(
        impl Operand for $T {
            fn numbers(&self, $n: usize) -> Result<Numbers, usize> {
                let $r = self;
                range($start, $end, $n)
            }
        }
    )*};
}
ranges! {
    ops::Range<usize>: |r, n| r.start, r.end;
    ops::RangeInclusive<usize>: |r, n| *r.start(), if r.is_empty() { 0 } else { r.end().saturating_add(1) };
    ops::RangeTo<usize>: |r, n| 0, r.end;
    ops::RangeToInclusive<usize>: |r, n| 0, r.end.saturating_add(1);
}

impl Operand for ops::RangeFrom<usize> {
    fn numbers(&self, n: usize) -> Result<Numbers, usize> {
        if self.start > n { Err(self.start) } else { range(self.start, n, n) }
    }
}

impl Operand for ops::RangeFull {
    fn numbers(&self, n: usize) -> Result<Numbers, usize> {
        range(0, n, n)
    }
}

macro_rules! adapters {
    ($($T:ident<$($P:ident),*>)*) => {$(
        impl<$($P),*> Operand for iter::$T<$($P),*>
        where
            Self: Iterator<Item = usize> + Clone,
        {
            fn numbers(&self, _: usize) -> Result<Numbers, usize> {
                Ok(Numbers::Many(self.clone().collect()))
            }
        }
    )*};
}
adapters! {
    Chain<A, B> Cloned<I> Copied<I> Filter<I, F> FilterMap<I, F> Map<I, F> Rev<I> Skip<I>
    StepBy<I> Take<I>
}

/// Range of classical bits of a circuit, such as a register: see
/// [`Circuit::bit_register`](super::Circuit::bit_register).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BitRange {
    first: usize,
    size: usize,
}

impl BitRange {
    pub(super) fn new(first: usize, size: usize) -> BitRange {
        BitRange { first, size }
    }

    /// The number of bits.
    #[must_use]
    pub fn size(self) -> usize {
        self.size
    }

    /// The numbers of its bits, counted over all registers.
    pub(super) fn range(self) -> ops::Range<usize> {
        self.first..self.first.saturating_add(self.size)
    }

    /// The value of one of its bits, for formulas: a `bit[1]`.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, classical::{ClassicalOperand, ClassicalType}};
    /// let mut c = Circuit::new(1);
    /// let b = c.bit_register("b", 2)?;
    /// let n = c.add_variable("n", ClassicalType::Int(ketgrad_core::classical::IntType::INT))?;
    /// c.store(n, b.bit(1) + 4)?;
    /// assert_eq!(c.to_string(), "n = c[1] + 4\n");
    /// let error = c.store(n, b.bit(2)).unwrap_err().to_string();
    /// assert_eq!(error, "bit 2 does not exist: there are 2, counted from 0");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    #[must_use]
    pub fn bit(self, k: usize) -> PendingExpr {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        PendingExpr::new(match k < self.size {
            true => ClassicalExpr::bits(&[narrow(self.first + k)]),
            false => Err(ClassicalError::NoSuchBit { given: narrow(k), width: narrow(self.size) }),
        })
    }

    /// The numbers of some of its bits, counted over all registers: `c.bits(0)`, `c.bits(1..)`,
    /// `c.bits(..)`.
    ///
    /// # Errors
    /// [`CircuitError::NoSuchRegisterBit`].
    pub fn bits(self, which: impl Operand) -> Result<Vec<usize>, CircuitError> {
        let missing = |given| CircuitError::NoSuchRegisterBit { given, size: self.size };
        let mut bits = which.numbers(self.size).map_err(missing)?.into_vec();
        if let Some(&given) = bits.iter().find(|&&bit| bit >= self.size) {
            return Err(missing(given));
        }
        bits.iter_mut().for_each(|bit| *bit += self.first);
        Ok(bits)
    }
}

/// The bits by their numbers over all registers.
impl Operand for BitRange {
    fn numbers(&self, n: usize) -> Result<Numbers, usize> {
        self.range().numbers(n)
    }
}

/// The number in the bits: a bit string.
impl From<BitRange> for PendingExpr {
    fn from(bits: BitRange) -> PendingExpr {
        // A circuit numbers its bits with 32 bits.
        let bits = bits.range().map(|bit| u32::try_from(bit).unwrap_or(u32::MAX));
        PendingExpr::new(ClassicalExpr::bits(&bits.collect::<Vec<_>>()))
    }
}

impl ClassicalOperand for BitRange {}
formula_operators! { BitRange }
