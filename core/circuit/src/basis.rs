//! Basis states as bits, and the subspaces that kernels loop over.
//!
//! # Convention, here and everywhere
//! Qubit 0 is the least significant bit of a basis index. Positions count from 0. A printed
//! bitstring has qubit n-1 leftmost, so basis state 6 of 4 qubits prints as `0110`: qubits 1 and 2
//! are set.
//!
//! # Subspaces
//! A gate on k of n qubits couples 2^k amplitudes at a time and does so 2^(n-k) times. The indices
//! of these repetitions are the basis states whose target bits are 0, the *subspace*; the offsets
//! within one repetition are the basis states where only target bits may be set, its *complement*.
//! Every basis state is the sum of exactly one of each:
//!
//! ```
//! use ketgrad_core::basis::{bcomspace, bitstring, bsubspace};
//!
//! let free = bsubspace(5, [0, 2, 3])?;
//! assert_eq!(free.to_string(), "x00x0");
//! let bits: Vec<String> = free.iter().map(|i| bitstring(i, 5)).collect();
//! assert_eq!(bits, ["00000", "00010", "10000", "10010"]);
//! assert_eq!(free.get(2), Some(0b10000)); // random access, for threads
//!
//! let offsets = bcomspace(5, [0, 2, 3])?;
//! assert_eq!(offsets.to_string(), "0xx0x");
//! assert_eq!(offsets.len(), 8);
//!
//! let mut sums: Vec<usize> = free.iter().flat_map(|i| offsets.iter().map(move |o| i + o)).collect();
//! sums.sort();
//! assert!(sums.into_iter().eq(0..32));
//! # Ok::<(), ketgrad_core::basis::BasisError>(())
//! ```
//!
//! The idea is that of Yao's BitBasis (Luo, Liu, Zhang, Wang, Quantum 4, 341 (2020)).

mod bits;
mod walsh;

use std::fmt;

pub use bits::{deposit, gather_bits, odd, scatter_bits};
#[doc(hidden)]
pub use walsh::{signed_sum, walsh_hadamard};

use num_traits::{PrimInt, Unsigned};

/// Maximum number of qubits that an index of this machine can hold.
pub const MAX_QUBITS: usize = usize::BITS as usize - 1;

/// Error of a number of qubits, a position or an index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BasisError {
    /// A number that is not 2^k, for `log2i`.
    #[error("{given} is not a power of two")]
    NotAPowerOfTwo {
        /// The number given.
        given: String,
    },
    /// More qubits than an index can hold.
    #[error("{given} qubits: an index of this machine holds at most {MAX_QUBITS}")]
    TooManyQubits {
        /// The number of qubits given.
        given: usize,
    },
    /// A bit or qubit position that does not exist.
    #[error("position {given} is out of range: there are {available}, counted from 0")]
    OutOfRange {
        /// The position given.
        given: usize,
        /// Number of positions that are available.
        available: usize,
    },
    /// A position that is listed twice.
    #[error("position {given} is listed twice")]
    Repeated {
        /// The position.
        given: usize,
    },
}

/// Integers whose bits can be asked for: every unsigned and signed width.
pub trait BasisInt: Copy + fmt::Display {
    /// The number of bits of the type.
    const BITS: usize;
    /// The base-2 logarithm of an exact power of two.
    fn exact_log2(self) -> Option<u32>;
}

/// Unsigned integers, which can serve as masks.
pub trait BasisMask: BasisInt {
    /// The number with only this bit set; `position < BITS`.
    fn bit(position: usize) -> Self;
    /// Bitwise or.
    #[must_use]
    fn or(self, other: Self) -> Self;
    /// The number 0.
    fn none() -> Self;
}

macro_rules! basis_int {
    ($($U:ident $I:ident)*) => {$(
        impl BasisInt for $U {
            const BITS: usize = $U::BITS as usize;
            fn exact_log2(self) -> Option<u32> { self.is_power_of_two().then(|| self.trailing_zeros()) }
        }
        impl BasisInt for $I {
            const BITS: usize = $I::BITS as usize;
            fn exact_log2(self) -> Option<u32> { $U::try_from(self).ok().and_then(BasisInt::exact_log2) }
        }
        impl BasisMask for $U {
            fn bit(position: usize) -> $U { 1 << position }
            fn or(self, other: $U) -> $U { self | other }
            fn none() -> $U { 0 }
        }
    )*};
}
basis_int!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize);

/// The base-2 logarithm of a power of two, for every integer width.
///
/// ```
/// use ketgrad_core::basis::log2i;
/// assert_eq!(log2i(8u8), Ok(3));
/// assert_eq!(log2i(1i128 << 100), Ok(100));
/// assert_eq!(log2i(-4).unwrap_err().to_string(), "-4 is not a power of two");
/// ```
///
/// # Errors
/// [`BasisError::NotAPowerOfTwo`] for zero, a negative number or one between two powers.
pub fn log2i<T: BasisInt>(x: T) -> Result<u32, BasisError> {
    x.exact_log2().ok_or_else(|| BasisError::NotAPowerOfTwo { given: x.to_string() })
}

/// The mask with the bits at `positions` set, of the unsigned type asked for. A position that is
/// repeated counts once.
///
/// ```
/// use ketgrad_core::basis::bmask;
/// assert_eq!(bmask::<u8>([0, 2])?, 0b101);
/// assert_eq!(bmask::<u64>(1..4)?, 0b1110);
/// assert_eq!(bmask::<u128>([100])?, 1 << 100);
/// assert!(bmask::<u8>([8]).is_err());
/// # Ok::<(), ketgrad_core::basis::BasisError>(())
/// ```
///
/// # Errors
/// [`BasisError::OutOfRange`] for a position that the type does not have.
pub fn bmask<T: BasisMask>(positions: impl IntoIterator<Item = usize>) -> Result<T, BasisError> {
    positions.into_iter().try_fold(T::none(), |mask, position| {
        if position >= T::BITS {
            return Err(BasisError::OutOfRange { given: position, available: T::BITS });
        }
        Ok(mask.or(T::bit(position)))
    })
}

/// The bits of a basis index, qubit n-1 leftmost.
///
/// ```
/// assert_eq!(ketgrad_core::basis::bitstring(6, 4), "0110");
/// assert_eq!(ketgrad_core::basis::bitstring(0, 0), "");
/// ```
#[must_use]
pub fn bitstring(index: usize, n_qubits: usize) -> String {
    (0..n_qubits)
        .rev()
        .map(|q| if q < MAX_QUBITS && index >> q & 1 == 1 { '1' } else { '0' })
        .collect()
}

/// The basis states of n qubits in which some bits are 0 and the others take every value, in
/// ascending order. Made by [`bsubspace`] and [`bcomspace`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BitSubspace {
    n_qubits: usize,
    free: usize,
}

/// The basis states of n qubits whose bits at `positions` (counted from 0) are 0.
///
/// # Errors
/// A position that is out of range or listed twice, or more than [`MAX_QUBITS`] qubits.
pub fn bsubspace(
    n_qubits: usize,
    positions: impl IntoIterator<Item = usize>,
) -> Result<BitSubspace, BasisError> {
    let complement = bcomspace(n_qubits, positions)?;
    Ok(BitSubspace { n_qubits, free: full(n_qubits) & !complement.free })
}

/// The basis states of n qubits in which only the bits at `positions` may be set: the complement
/// of [`bsubspace`] with the same positions.
///
/// # Errors
/// A position that is out of range or listed twice, or more than [`MAX_QUBITS`] qubits.
pub fn bcomspace(
    n_qubits: usize,
    positions: impl IntoIterator<Item = usize>,
) -> Result<BitSubspace, BasisError> {
    if n_qubits > MAX_QUBITS {
        return Err(BasisError::TooManyQubits { given: n_qubits });
    }
    let mut free = 0;
    for position in positions {
        if position >= n_qubits {
            return Err(BasisError::OutOfRange { given: position, available: n_qubits });
        }
        if free >> position & 1 == 1 {
            return Err(BasisError::Repeated { given: position });
        }
        free |= 1 << position;
    }
    Ok(BitSubspace { n_qubits, free })
}

fn full(n_qubits: usize) -> usize {
    (1 << n_qubits) - 1
}

impl BitSubspace {
    /// The number of states, 2^(free bits). Never 0: the state 0 is always among them.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a subspace is never empty")]
    pub fn len(&self) -> usize {
        1 << self.free.count_ones()
    }

    /// The mask of the bits that vary.
    #[must_use]
    pub fn free_mask(&self) -> usize {
        self.free
    }

    /// The i-th state in ascending order: the bits of `i` deposited at the free positions.
    /// O(number of free bits).
    #[must_use]
    pub fn get(&self, i: usize) -> Option<usize> {
        (i < self.len()).then(|| deposit(i, self.free))
    }

    /// All states in ascending order. O(1) per state.
    #[must_use]
    pub fn iter(&self) -> BitSubspaceIter {
        BitSubspaceIter { free: self.free, next: Some(0) }
    }
}

/// The highest bit that is set.
#[doc(hidden)]
pub fn top<T: PrimInt>(x: T) -> T {
    if x == T::zero() {
        x
    } else {
        T::one() << (T::zero().leading_zeros() - x.leading_zeros() - 1) as usize
    }
}

/// Reduces a vector by a basis, whose highest bits it loses: of `v` and `v ^ b` the lesser is that
/// without the highest bit of `b`.
#[doc(hidden)]
pub fn reduce<T: PrimInt + Unsigned>(basis: &[T], vector: T) -> T {
    basis.iter().fold(vector, |v, b| v.min(v ^ *b))
}

/// Adds a vector that has been reduced by a basis to it.
#[doc(hidden)]
pub fn extend<T: PrimInt + Unsigned>(basis: &mut Vec<T>, reduced: T) {
    basis.iter_mut().for_each(|b| *b = reduce(&[reduced], *b));
    basis.push(reduced);
}

impl IntoIterator for BitSubspace {
    type Item = usize;
    type IntoIter = BitSubspaceIter;
    fn into_iter(self) -> BitSubspaceIter {
        self.iter()
    }
}

/// The states of a [`BitSubspace`].
#[derive(Clone, Debug)]
pub struct BitSubspaceIter {
    free: usize,
    next: Option<usize>,
}

impl Iterator for BitSubspaceIter {
    type Item = usize;
    fn next(&mut self) -> Option<usize> {
        let state = self.next?;
        // Setting the bits that are not free lets a carry run across them.
        let after = (state | !self.free).wrapping_add(1) & self.free;
        self.next = (after != 0).then_some(after);
        Some(state)
    }
}

/// The pattern, `x` where a bit varies: `x00x0`.
impl fmt::Display for BitSubspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.n_qubits)
            .rev()
            .try_for_each(|q| f.write_str(if self.free >> q & 1 == 1 { "x" } else { "0" }))
    }
}

impl fmt::Debug for BitSubspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BitSubspace({self})")
    }
}
