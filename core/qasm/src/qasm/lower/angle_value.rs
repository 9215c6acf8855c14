//! Values of the type `angle`: fractions of a turn.
//!
//! ```text
//! angle[4] x = 0.3;        pi/8         the nearest of 16 parts of a turn, a tie to the even one
//! x += 2*pi;               pi/8         whole turns are dropped
//! x << 1, x[0], x / x      pi/4, 1, 1   in the bits of x, as those of an unsigned integer
//! angle y = pi/3;          pi/3         without a width: exact
//! y *= 6;                  0
//! ```
//!
//! Sums, differences and products with integers are angles again; a number that is added to an
//! angle, or compared with one, is converted to an angle. In all other places an angle is its
//! number of radians from 0 to below 2 pi.
//!
//! A value that contains an input is not of this kind: it is neither rounded nor wrapped, since it
//! is not known.

#![deny(clippy::arithmetic_side_effects)]

use std::{cmp::Ordering, f64::consts::TAU};

use num_traits::ToPrimitive;

use super::{
    arithmetic::{binary, holds, mask},
    value::QasmValue,
};
use crate::{
    param::{Angle, UNIT},
    qasm::{Version, ast::BinaryOp, diagnostic::QasmProblem},
};

/// Largest power of two in the denominator of an exact fraction.
const MAX_EXACT: u32 = 61;

/// Number of radians from which on a quotient by a turn is imprecise.
const FAR: f64 = 1e6;

/// Angle from 0 to below 2 pi.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AngleValue {
    /// Fixed-point fraction: that many parts of `2^width` in a turn.
    Bits { width: u32, bits: u128 },
    /// Constant without a width.
    Unsized(Angle),
}

impl AngleValue {
    /// Converts a constant to an angle of a width, or of none; returns it as an error if it is not
    /// a constant angle.
    pub(super) fn from_value(value: QasmValue, width: Option<u32>) -> Result<QasmValue, QasmValue> {
        let angle = match &value {
            QasmValue::AngleValue(AngleValue::Bits { width: from, bits }) => match width {
                Some(to) => {
                    return Ok(QasmValue::AngleValue(AngleValue::Bits {
                        width: to,
                        bits: resize(*bits, *from, to),
                    }));
                }
                None => AngleValue::Bits { width: *from, bits: *bits }.radians(),
            },
            QasmValue::AngleValue(turn) => turn.radians(),
            other => match other.angle() {
                Some(angle) if angle.is_constant() => angle,
                _ => return Err(value),
            },
        };
        Ok(QasmValue::AngleValue(match width {
            Some(width) => AngleValue::Bits { width, bits: nearest(&angle, width) },
            None => AngleValue::Unsized(within_turn(angle)),
        }))
    }

    /// The angle in radians.
    pub(super) fn radians(&self) -> Angle {
        let (width, bits) = match self {
            AngleValue::Unsized(angle) => return angle.clone(),
            AngleValue::Bits { bits: 0, .. } => return Angle::zero(),
            AngleValue::Bits { width, bits } => (*width, *bits),
        };
        // In lowest terms, of half turns.
        let twos = bits.trailing_zeros();
        let (odd, below) = (bits >> twos, width.saturating_sub(1).saturating_sub(twos));
        match i64::try_from(odd) {
            Ok(odd) if below <= MAX_EXACT => Angle::pi(odd, 1 << below),
            _ => {
                let near = bits.to_f64().unwrap_or(f64::NAN) / 2f64.powf(f64::from(width)) * TAU;
                Angle::rounded(near, 4.0 * UNIT * near)
            }
        }
    }

    /// Returns its number of radians, for places where no angle is meant.
    fn plain(&self) -> Result<QasmValue, QasmProblem> {
        QasmValue::linear(self.radians())
    }

    fn width(&self) -> Option<u32> {
        match self {
            AngleValue::Bits { width, .. } => Some(*width),
            AngleValue::Unsized(_) => None,
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        match self {
            AngleValue::Bits { bits, .. } => *bits == 0,
            AngleValue::Unsized(angle) => angle.constant() == Some(0.0),
        }
    }

    pub(super) fn negate(self) -> AngleValue {
        match self {
            AngleValue::Bits { width, bits } => {
                AngleValue::Bits { width, bits: bits.wrapping_neg() & mask(width) }
            }
            AngleValue::Unsized(angle) => AngleValue::Unsized(within_turn(-angle)),
        }
    }
}

/// `left op right`, one of which is an angle.
pub(super) fn operate(
    op: BinaryOp,
    left: QasmValue,
    right: QasmValue,
    version: Version,
) -> Result<QasmValue, QasmProblem> {
    use BinaryOp::*;
    match (op, &left, &right) {
        (Mul, QasmValue::AngleValue(turn), QasmValue::Int(k, _))
        | (Mul, QasmValue::Int(k, _), QasmValue::AngleValue(turn)) => {
            return times(turn, *k, version);
        }
        (Div, QasmValue::AngleValue(_), QasmValue::Int(0, _)) => {
            return Err(QasmProblem::DivisionByZero);
        }
        (
            Div,
            QasmValue::AngleValue(AngleValue::Bits { width, bits }),
            QasmValue::Int(k @ 1.., _),
        ) => {
            let bits = bits.checked_div(k.unsigned_abs()).unwrap_or_default();
            return Ok(QasmValue::AngleValue(AngleValue::Bits { width: *width, bits }));
        }
        (Div, QasmValue::AngleValue(turn @ AngleValue::Unsized(_)), QasmValue::Int(..)) => {
            return without_width(binary(Div, turn.plain()?, right, version)?);
        }
        (
            Shl | Shr,
            QasmValue::AngleValue(AngleValue::Bits { width, bits }),
            QasmValue::Int(n @ 0.., _),
        ) => {
            let shifted = u32::try_from(*n).ok().and_then(|n| match op {
                Shl => bits.checked_shl(n),
                _ => bits.checked_shr(n),
            });
            let bits = shifted.unwrap_or_default() & mask(*width);
            return Ok(QasmValue::AngleValue(AngleValue::Bits { width: *width, bits }));
        }
        (Add | Sub | Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual, ..) => {}
        (Div | BitAnd | BitOr | BitXor, QasmValue::AngleValue(_), QasmValue::AngleValue(_)) => {}
        (BitAnd | BitOr | BitXor | Shl | Shr, ..) => return Err(mismatch(op, &left, &right)),
        _ => return binary(op, plain(left)?, plain(right)?, version),
    }
    // Numbers outside a turn are compared as numbers, not as angles.
    let ordered = matches!(op, Less | LessEqual | Greater | GreaterEqual);
    let beyond = |v: &QasmValue| v.constant().is_some_and(|n| n.value < 0.0 || n.value >= TAU);
    if ordered && (beyond(&left) || beyond(&right)) {
        return binary(op, plain(left)?, plain(right)?, version);
    }
    let width = match (&left, &right) {
        (QasmValue::AngleValue(a), QasmValue::AngleValue(b)) => {
            a.width().zip(b.width()).map(|(a, b)| a.max(b))
        }
        (QasmValue::AngleValue(a), _) | (_, QasmValue::AngleValue(a)) => a.width(),
        _ => None,
    };
    match (AngleValue::from_value(left, width), AngleValue::from_value(right, width)) {
        (Ok(QasmValue::AngleValue(a)), Ok(QasmValue::AngleValue(b))) => {
            operate_angles(op, &a, &b, version)
        }
        // A value that contains an input is not an angle of the type.
        (a, b) => {
            let either = |side: Result<QasmValue, QasmValue>| side.unwrap_or_else(|value| value);
            binary(op, plain(either(a))?, plain(either(b))?, version)
        }
    }
}

/// Applies an operator to two angles of one type.
fn operate_angles(
    op: BinaryOp,
    a: &AngleValue,
    b: &AngleValue,
    version: Version,
) -> Result<QasmValue, QasmProblem> {
    use BinaryOp::*;
    if op == Div && b.is_zero() {
        return Err(QasmProblem::DivisionByZero);
    }
    let (width, x, y) = match (a, b) {
        (AngleValue::Bits { width, bits: x }, AngleValue::Bits { bits: y, .. }) => (*width, *x, *y),
        _ => {
            let (left, right) = (a.plain()?, b.plain()?);
            return match op {
                Add | Sub => without_width(binary(op, left, right, version)?),
                Div => {
                    let ratio = binary(op, left, right, version)?;
                    let whole = ratio.number().map(|n| {
                        n.exact().map_or(n.value, |q| q.floor().to_f64().unwrap_or(n.value))
                    });
                    let whole = whole.and_then(|n| n.floor().to_i128());
                    whole.map(QasmValue::int).ok_or(QasmProblem::NotFinite)
                }
                Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual => {
                    Ok(QasmValue::Bool(holds(op, order(a, b))))
                }
                _ => Err(mismatch(
                    op,
                    &QasmValue::AngleValue(a.clone()),
                    &QasmValue::AngleValue(b.clone()),
                )),
            };
        }
    };
    let bits = match op {
        Add => x.wrapping_add(y),
        Sub => x.wrapping_sub(y),
        BitAnd => x & y,
        BitOr => x | y,
        BitXor => x ^ y,
        Div => {
            let quotient = x.checked_div(y).and_then(|quotient| i128::try_from(quotient).ok());
            return quotient
                .map(QasmValue::int)
                .ok_or_else(|| super::value::overflow("the quotient"));
        }
        _ => return Ok(QasmValue::Bool(holds(op, x.cmp(&y)))),
    };
    Ok(QasmValue::AngleValue(AngleValue::Bits { width, bits: bits & mask(width) }))
}

/// Compares two angles without a width.
fn order(a: &AngleValue, b: &AngleValue) -> Ordering {
    let (a, b) = (a.radians(), b.radians());
    if a.radian_part() == b.radian_part() {
        return a.pi_part().cmp(&b.pi_part());
    }
    let value = |angle: &Angle| angle.constant().unwrap_or(f64::NAN);
    value(&a).total_cmp(&value(&b))
}

fn times(turn: &AngleValue, k: i128, version: Version) -> Result<QasmValue, QasmProblem> {
    match turn {
        AngleValue::Bits { width, bits } => {
            let bits = bits.wrapping_mul(k.cast_unsigned()) & mask(*width);
            Ok(QasmValue::AngleValue(AngleValue::Bits { width: *width, bits }))
        }
        AngleValue::Unsized(_) => {
            without_width(binary(BinaryOp::Mul, turn.plain()?, QasmValue::int(k), version)?)
        }
    }
}

/// Converts a constant to an angle without a width.
fn without_width(value: QasmValue) -> Result<QasmValue, QasmProblem> {
    AngleValue::from_value(value, None).map_err(|_| QasmProblem::NotFinite)
}

/// Converts an angle to its radians; any other value is not changed.
pub(super) fn plain(value: QasmValue) -> Result<QasmValue, QasmProblem> {
    match value {
        QasmValue::AngleValue(turn) => turn.plain(),
        other => Ok(other),
    }
}

fn mismatch(op: BinaryOp, left: &QasmValue, right: &QasmValue) -> QasmProblem {
    let describe = |value: &QasmValue| match value {
        QasmValue::AngleValue(AngleValue::Unsized(_)) => "an angle without a width",
        other => other.describe(),
    };
    let given = format!("{} and {}", describe(left), describe(right));
    QasmProblem::Operands { operator: op.text().to_owned(), given }
}

/// Reduces an angle by whole turns, to at least 0 and below one. Nothing is rounded.
fn within_turn(angle: Angle) -> Angle {
    let angle = angle.within_two_turns();
    let turns = angle.constant().map(|x| (x / TAU).floor()).and_then(|n| n.to_i64());
    match turns.and_then(|turns| turns.checked_mul(-2)) {
        Some(back) if back != 0 => {
            let turned = angle + Angle::pi(back, 1);
            // The rounding of the division may be a turn off at the border.
            match turned.constant() {
                Some(x) if x < 0.0 => turned + Angle::pi(2, 1),
                _ => turned,
            }
        }
        _ => angle,
    }
}

/// Rounds to the nearest of `2^width` parts of a turn; a tie goes to the even one.
fn nearest(angle: &Angle, width: u32) -> u128 {
    if angle.radian_part() != 0.0 {
        let radians = angle.constant().unwrap_or_default();
        // The quotient of a large angle has no digits after the point; sine and cosine have all.
        let turns = if radians.abs() < FAR {
            radians / TAU
        } else {
            radians.sin().atan2(radians.cos()) / TAU
        };
        let parts = (turns - turns.floor()) * 2f64.powf(f64::from(width));
        return parts.round_ties_even().to_u128().unwrap_or_default() & mask(width);
    }
    let pi = angle.pi_part();
    // Numbers of 65 bits.
    let whole = i128::from(*pi.denom()) << 1;
    let rest = i128::from(*pi.numer()).checked_rem_euclid(whole).unwrap_or_default();
    let (mut rest, whole) = (rest.unsigned_abs(), whole.unsigned_abs());
    let mut bits = 0u128;
    for _ in 0..width {
        rest <<= 1;
        bits = bits << 1 | u128::from(rest >= whole);
        rest = rest.checked_sub(whole).unwrap_or(rest);
    }
    round_up(bits, (rest << 1).cmp(&whole)) & mask(width)
}

/// Returns the bits in another width: with zeros appended, or rounded.
fn resize(bits: u128, from: u32, to: u32) -> u128 {
    if to >= from {
        return bits << to.saturating_sub(from);
    }
    let off = from.saturating_sub(to);
    let (rest, half) = (bits & mask(off), 1u128 << off.saturating_sub(1));
    round_up(bits >> off, rest.cmp(&half)) & mask(to)
}

/// Rounds up if the rest is above a half, or is a half and the number is odd.
fn round_up(bits: u128, rest: Ordering) -> u128 {
    match rest {
        Ordering::Less => bits,
        Ordering::Equal => bits.wrapping_add(bits & 1),
        Ordering::Greater => bits.wrapping_add(1),
    }
}
