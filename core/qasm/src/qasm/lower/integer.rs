//! Integers and their types.
//!
//! ```text
//! uint[4] n = 9;     n + 9      uint[4]    2
//!                    n + 30     int        39, since 30 is no `uint[4]`
//! int[8] k = -3;     k + n      int[8]     6
//!                    2**40      literals are as large as they are
//! ```
//! Types are combined as in C99, as the specification of OpenQASM 3 asks for ("Casting specifics"):
//! the operand of the lesser type is cast to the greater one, which has more bits, or is unsigned
//! if both have the same number. A literal takes the type of the other operand if it fits, else
//! both are an `int`; registers and bits are unsigned, and an `int` if there is no integer. A shift
//! keeps the type of its left operand.
//!
//! A value that does not fit its type wraps in two's complement, known or measured: the
//! specification leaves that to each implementation, and the size of `int` and `uint` too, which
//! have 32 bits here. If a known one of these wraps, there is a warning.
//!
//! A known integer is kept as an [`i128`], which for `uint[128]` holds the bits: a negative one
//! stands for the number that is `2^128` more.

#![deny(clippy::arithmetic_side_effects)]

use std::cmp::Ordering;

use crate::qasm::{ast::BinaryOp, diagnostic::QasmProblem};

use super::{
    arithmetic::mask,
    value::{QasmValue, overflow},
};

/// The most bits of an integer or an angle.
pub(super) const MAX_WIDTH: u32 = 128;

/// A type of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IntegerType {
    pub(super) bits: u32,
    /// True if unsigned; of two types with the same number of bits it is the greater.
    pub(super) unsigned: bool,
    /// True if the source gives the number of bits.
    pub(super) sized: bool,
}

/// `int`.
pub(super) const INT: IntegerType = IntegerType::plain(false);

impl IntegerType {
    pub(super) const fn sized(bits: u32, unsigned: bool) -> IntegerType {
        IntegerType { bits, unsigned, sized: true }
    }

    /// `uint[128]`.
    pub(super) const WIDEST: IntegerType = IntegerType::sized(128, true);

    /// Returns a number of that type from its digits, least significant first, if they fit.
    pub(super) fn widest(digits: &[bool]) -> Option<QasmValue> {
        let bits = digits.iter().rev().fold(0u128, |sum, &bit| sum << 1 | u128::from(bit));
        (digits.len() <= 128).then(|| QasmValue::Int(bits.cast_signed(), Some(IntegerType::WIDEST)))
    }

    /// `int` or `uint`.
    pub(super) const fn plain(unsigned: bool) -> IntegerType {
        IntegerType { bits: 32, unsigned, sized: false }
    }

    /// Returns an `int` of at least that many bits.
    fn long(bits: u32) -> IntegerType {
        IntegerType { bits: bits.max(INT.bits), ..INT }
    }

    /// Wraps an integer to the type.
    pub(super) fn wrap(self, value: i128) -> i128 {
        let unused = 128u32.saturating_sub(self.bits);
        match self.unsigned {
            true => value & mask(self.bits).cast_signed(),
            false => value << unused >> unused,
        }
    }

    /// The least and the greatest number.
    pub(super) fn range(self) -> (i128, u128) {
        match self.unsigned {
            true => (0, mask(self.bits)),
            false => {
                let most = mask(self.bits.saturating_sub(1));
                (!most.cast_signed(), most)
            }
        }
    }

    /// Returns true if its bits hold a number without a change.
    pub(super) fn holds(self, value: i128) -> bool {
        self.wrap(value) == value && (value >= 0 || !self.unsigned)
    }

    /// The bits of one of its numbers.
    pub(super) fn bits_of(self, value: i128) -> u128 {
        value.cast_unsigned() & mask(self.bits)
    }
}

/// Kind of an operand, from which the type of a result follows.
#[derive(Clone, Copy, Debug)]
pub(super) enum IntOperandKind {
    Typed(IntegerType),
    /// Register of that many bits.
    Register(u32),
    /// A literal: true if it is negative, and the number of its bits with a sign.
    Literal {
        negative: bool,
        bits: u32,
    },
}

impl IntOperandKind {
    /// Returns the kind of a known integer.
    pub(super) fn from_integer(value: i128, ty: Option<IntegerType>) -> IntOperandKind {
        match ty {
            Some(ty) => IntOperandKind::Typed(ty),
            None => IntOperandKind::Literal { negative: value < 0, bits: with_sign(value) },
        }
    }
}

/// Returns the number of bits of a number in two's complement.
pub(super) fn with_sign(value: i128) -> u32 {
    let like_the_sign = if value < 0 { value.leading_ones() } else { value.leading_zeros() };
    129u32.saturating_sub(like_the_sign)
}

/// Returns the common type of some operands. Literals alone have none.
pub(super) fn common(operands: &[IntOperandKind]) -> Option<IntegerType> {
    let typed = operands
        .iter()
        .filter_map(|kind| if let IntOperandKind::Typed(ty) = kind { Some(*ty) } else { None });
    let register = operands
        .iter()
        .filter_map(|kind| if let IntOperandKind::Register(n) = kind { Some(*n) } else { None });
    let ty = match (typed.max(), register.max()) {
        (Some(ty), Some(bits)) => ty.max(IntegerType::sized(bits, true)),
        (Some(ty), None) => ty,
        (None, Some(bits)) => IntegerType::long(bits.saturating_add(1)),
        (None, None) => return None,
    };
    let long = operands.iter().filter_map(|kind| match *kind {
        // A negative number wraps in an unsigned type.
        IntOperandKind::Literal { negative, bits } => match ty.unsigned {
            true => (!negative && bits > ty.bits.saturating_add(1)).then_some(bits),
            false => (bits > ty.bits).then_some(bits),
        },
        _ => None,
    });
    Some(long.max().map_or(ty, IntegerType::long))
}

/// Returns `x op y` among all integers, for operations whose result may be outside the type; or
/// [`TooLong`] if it has more than 128 bits.
pub(super) fn exact(op: BinaryOp, x: &QasmValue, y: &QasmValue) -> Option<Result<i128, TooLong>> {
    let (QasmValue::Int(x, _), QasmValue::Int(y, _)) = (x, y) else { return None };
    let result = match op {
        BinaryOp::Add => x.checked_add(*y),
        BinaryOp::Sub => x.checked_sub(*y),
        BinaryOp::Mul => x.checked_mul(*y),
        BinaryOp::Shl => {
            let factor = u32::try_from(*y).ok().and_then(|places| 2i128.checked_pow(places));
            factor.and_then(|factor| x.checked_mul(factor)).or((*x == 0).then_some(0))
        }
        _ => return None,
    };
    Some(result.ok_or(TooLong))
}

/// Returns `x ** y` among all integers.
pub(super) fn exact_power(x: &QasmValue, y: &QasmValue) -> Option<Result<i128, TooLong>> {
    let (QasmValue::Int(x, _), QasmValue::Int(y @ 0.., _)) = (x, y) else { return None };
    let power = u32::try_from(*y).ok().and_then(|y| x.checked_pow(y));
    Some(power.or(matches!(*x, 0 | 1).then_some(*x)).ok_or(TooLong))
}

/// More than 128 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct TooLong;

/// The order of two known integers, each of its type.
pub(super) fn order(
    (x, x_type): (i128, Option<IntegerType>),
    (y, y_type): (i128, Option<IntegerType>),
) -> Ordering {
    // A negative number, taken as unsigned, is larger than all that are not negative.
    let key = |i: i128, ty: Option<IntegerType>| (i < 0 && ty.is_some_and(|ty| ty.unsigned), i);
    key(x, x_type).cmp(&key(y, y_type))
}

/// `x op y` for integers that are known, each with its type.
pub(super) fn operate(
    op: BinaryOp,
    (x, x_type): (i128, IntOperandKind),
    (y, y_type): (i128, IntOperandKind),
) -> Result<QasmValue, QasmProblem> {
    use BinaryOp::*;
    let shift = matches!(op, Shl | Shr);
    let ty = if shift { common(&[x_type]) } else { common(&[x_type, y_type]) };
    let ty = ty.filter(|_| !(shift && matches!(x_type, IntOperandKind::Literal { .. })));
    let cast = |value| ty.map_or(value, |ty| ty.wrap(value));
    let (wraps, unsigned) = (ty.is_some(), ty.is_some_and(|ty| ty.unsigned));
    let (a, b) = (cast(x), if shift { y } else { cast(y) });
    if matches!(op, Div | Rem) && b == 0 {
        return Err(QasmProblem::DivisionByZero);
    }
    let places = u32::try_from(b);
    if shift && b < 0 {
        let given = "a negative number of places".to_owned();
        return Err(QasmProblem::Operands { operator: op.text().to_owned(), given });
    }
    let (result, what) = match op {
        Add => (a.checked_add(b).or_else(|| wraps.then(|| a.wrapping_add(b))), "the sum"),
        Sub => (a.checked_sub(b).or_else(|| wraps.then(|| a.wrapping_sub(b))), "the difference"),
        Mul => (a.checked_mul(b).or_else(|| wraps.then(|| a.wrapping_mul(b))), "the product"),
        // The divisor is not 0: only that of the least integer by -1 does not fit.
        Div if unsigned => (
            a.cast_unsigned().checked_div(b.cast_unsigned()).map(u128::cast_signed),
            "the quotient",
        ),
        Rem if unsigned => (
            a.cast_unsigned().checked_rem(b.cast_unsigned()).map(u128::cast_signed),
            "the remainder",
        ),
        Div => (a.checked_div(b).or_else(|| wraps.then(|| a.wrapping_neg())), "the quotient"),
        Rem => (a.checked_rem(b).or(Some(0)), "the remainder"),
        BitAnd => (Some(a & b), ""),
        BitOr => (Some(a | b), ""),
        BitXor => (Some(a ^ b), ""),
        Shr if unsigned => {
            let shifted = places.ok().and_then(|n| a.cast_unsigned().checked_shr(n));
            (Some(shifted.unwrap_or(0).cast_signed()), "")
        }
        Shr => (Some(a >> places.unwrap_or(127).min(127)), ""),
        Shl if wraps => (Some(places.ok().and_then(|n| a.checked_shl(n)).unwrap_or(0)), ""),
        _ => {
            let places = places.ok().filter(|places| *places < 127);
            let shifted = places.and_then(|n| a.checked_mul(1 << n));
            (shifted.or((a == 0).then_some(0)), "the shifted integer")
        }
    };
    let result = result.ok_or_else(|| overflow(what))?;
    Ok(QasmValue::Int(cast(result), ty))
}

/// Evaluates `x ** y` for a known integer and an exponent that is not negative. As in a shift, the
/// type is that of `x`: a literal's power has none.
pub(super) fn power(x: i128, ty: Option<IntegerType>, y: i128) -> Result<QasmValue, QasmProblem> {
    let cast = |value| ty.map_or(value, |ty: IntegerType| ty.wrap(value));
    let exponent = u32::try_from(y).ok();
    let exact = exponent.and_then(|n| x.checked_pow(n)).or((x == 1).then_some(1));
    let result = match (exact, exponent) {
        (None, Some(n)) if ty.is_some() => Some(x.wrapping_pow(n)),
        _ => exact,
    };
    result.map(|value| QasmValue::Int(cast(value), ty)).ok_or_else(|| overflow("the power"))
}
