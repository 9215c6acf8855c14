//! Types of results, and the types that operands are converted to first.
//!
//! The rules are those of C99 by width ("usual arithmetic conversions"), as the specification of
//! OpenQASM 3 asks for, without the promotion of short integers to `int`.

use super::{
    Arithmetic, Relation,
    operator::{self},
    types::{ClassicalType, FloatType, IntType, MAX_WIDTH},
};

/// What is known of an operand before the operation: its type, or the value of an integer that has
/// none and takes that of the operand beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Typing {
    Literal(i128),
    Typed(ClassicalType),
}

impl Typing {
    /// The type; that of a literal, which has none, is the longest.
    pub(super) fn own(self) -> ClassicalType {
        match self {
            Typing::Literal(_) => ClassicalType::Int(IntType::signed(MAX_WIDTH)),
            Typing::Typed(ty) => ty,
        }
    }

    /// The type if no operand beside it decides: a literal is an `int`, or as long as it needs.
    pub(super) fn alone(self) -> ClassicalType {
        match self {
            Typing::Literal(value) => {
                let bits = signed_bits(value).clamp(IntType::INT.bits, MAX_WIDTH);
                ClassicalType::Int(IntType::signed(bits))
            }
            Typing::Typed(ty) => ty,
        }
    }
}

/// Number of bits of a number in two's complement.
fn signed_bits(value: i128) -> u32 {
    129 - if value < 0 { value.leading_ones() } else { value.leading_zeros() }
}

/// Returns the type of integers that two operands are converted to; `None` if one is no integer and
/// has no bits, or both have no type.
pub(super) fn common_int(left: Typing, right: Typing) -> Option<IntType> {
    let (mut int, mut bits, mut literal) = (None::<IntType>, None::<u32>, None::<i128>);
    for operand in [left, right] {
        match operand {
            Typing::Literal(value) => literal = Some(value),
            Typing::Typed(ClassicalType::Int(ty)) => {
                int = Some(int.map_or(ty, |int| int.common(ty)));
            }
            Typing::Typed(ClassicalType::Bool) => bits = bits.max(Some(1)),
            Typing::Typed(ClassicalType::Bits(width)) => bits = bits.max(Some(width)),
            Typing::Typed(_) => return None,
        }
    }
    let long = |bits: u32| match bits > MAX_WIDTH {
        true => IntType::unsigned(MAX_WIDTH),
        false => IntType::signed(bits.max(IntType::INT.bits)),
    };
    let ty = match (int, bits) {
        (Some(int), Some(width)) => int.common(IntType::unsigned(width)),
        (Some(int), None) => int,
        (None, Some(width)) => long(width.saturating_add(1)),
        (None, None) => return None,
    };
    let Some(literal) = literal else { return Some(ty) };
    if ty.holds(literal) {
        return Some(ty);
    }
    let own = if ty.signed { ty.bits } else { ty.bits.saturating_add(1) };
    Some(IntType::signed(own.max(signed_bits(literal)).clamp(IntType::INT.bits, MAX_WIDTH)))
}

/// The longer of the types of floats in two types, 64 bits if there is none.
fn common_float(left: ClassicalType, right: ClassicalType) -> FloatType {
    let part = |ty| match ty {
        ClassicalType::Float(float) | ClassicalType::Complex(float) => Some(float),
        _ => None,
    };
    part(left).max(part(right)).unwrap_or(FloatType::F64)
}

/// How an operation on two operands is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meeting {
    /// Both are converted to a type, which is that of the result.
    Both(ClassicalType),
    /// An angle times an integer of a type; true if the angle is on the left.
    AngleTimes { width: u32, by: IntType, angle_first: bool },
    /// An angle by an integer of a type.
    AngleOverInt { width: u32, by: IntType },
    /// An angle by an angle, both of this width.
    AngleOver { width: u32 },
    /// A power of an integer, each operand of its own type.
    IntPower { base: IntType, exponent: IntType },
}

impl Meeting {
    pub(super) fn result(self) -> ClassicalType {
        match self {
            Meeting::Both(ty) => ty,
            Meeting::AngleTimes { width, .. } | Meeting::AngleOverInt { width, .. } => {
                ClassicalType::Angle(width)
            }
            Meeting::AngleOver { width } => ClassicalType::Int(IntType::unsigned(width)),
            Meeting::IntPower { base, .. } => ClassicalType::Int(base),
        }
    }
}

/// Returns how `left op right` is done; `None` if the types have no such operator, or both have no
/// type.
pub(super) fn meeting(op: Arithmetic, left: Typing, right: Typing) -> Option<Meeting> {
    use ClassicalType::*;
    if op.is_bitwise() {
        return common_bits(left, right).map(Meeting::Both);
    }
    let (a, b) = (left.own(), right.own());
    Some(match (a, b) {
        (Bool | Bits(_) | Int(_), Bool | Bits(_) | Int(_)) if op == Arithmetic::Power => {
            let base = common_int(left, right).or_else(|| integer(left))?;
            Meeting::IntPower { base, exponent: integer(right)? }
        }
        (Complex(_), Int(_) | Float(_) | Complex(_)) | (Int(_) | Float(_), Complex(_)) => {
            Meeting::Both((op != Arithmetic::Rem).then(|| Complex(common_float(a, b)))?)
        }
        (Angle(m), Angle(n)) => match op {
            Arithmetic::Add | Arithmetic::Sub => Meeting::Both(Angle(m.max(n))),
            Arithmetic::Div => Meeting::AngleOver { width: m.max(n) },
            _ => Meeting::Both(ClassicalType::FLOAT),
        },
        (Angle(width), Int(_) | Float(_)) | (Int(_) | Float(_), Angle(width)) => {
            match (op, integer(left), integer(right)) {
                (Arithmetic::Add | Arithmetic::Sub, ..) => Meeting::Both(Angle(width)),
                (Arithmetic::Mul, None, Some(by)) => {
                    Meeting::AngleTimes { width, by, angle_first: true }
                }
                (Arithmetic::Mul, Some(by), None) => {
                    Meeting::AngleTimes { width, by, angle_first: false }
                }
                (Arithmetic::Div, None, Some(by)) => Meeting::AngleOverInt { width, by },
                _ => Meeting::Both(Float(common_float(a, b))),
            }
        }
        (Float(_), Int(_) | Float(_)) | (Int(_), Float(_)) => {
            Meeting::Both(Float(common_float(a, b)))
        }
        _ => Meeting::Both(Int(common_int(left, right)?)),
    })
}

/// Returns the type of an operand as an integer, if it is one or has bits as a register has.
pub(super) fn integer(operand: Typing) -> Option<IntType> {
    match operand.alone() {
        ClassicalType::Int(ty) => Some(ty),
        ClassicalType::Bool | ClassicalType::Bits(_) => common_int(operand, Typing::Literal(0)),
        _ => None,
    }
}

/// Returns the type in which bits are combined.
fn common_bits(left: Typing, right: Typing) -> Option<ClassicalType> {
    use ClassicalType::*;
    match (left.own(), right.own()) {
        (Bool, Bool | Bits(1)) | (Bits(1), Bool) => Some(Bool),
        (Bits(m), Bits(n)) if m == n => Some(Bits(m)),
        (Angle(m), Angle(n)) => Some(Angle(m.max(n))),
        (Bits(width), Int(_)) | (Int(_), Bits(width)) => {
            let fits = [left, right].iter().any(
                |side| matches!(side, Typing::Literal(value) if IntType::unsigned(width).holds(*value)),
            );
            match fits {
                true => Some(Bits(width)),
                false => common_int(left, right).map(Int),
            }
        }
        (Int(_), Bool | Int(_)) | (Bool, Int(_)) => common_int(left, right).map(Int),
        _ => None,
    }
}

/// Returns the type in which two values are compared; `None` if they cannot be.
pub(super) fn comparison(relation: Relation, left: Typing, right: Typing) -> Option<ClassicalType> {
    use ClassicalType::*;
    let by_order = !matches!(relation, Relation::Equal | Relation::NotEqual);
    let (a, b) = (left.own(), right.own());
    match (a, b) {
        (Bool, Bool) => Some(Bool),
        (Bits(m), Bits(n)) => Some(Bits(m.max(n))),
        (Angle(m), Angle(n)) => Some(Angle(m.max(n))),
        (Angle(width), Int(_) | Float(_)) | (Int(_) | Float(_), Angle(width)) => {
            Some(if by_order { ClassicalType::FLOAT } else { Angle(width) })
        }
        (Complex(_), Int(_) | Float(_) | Complex(_)) | (Int(_) | Float(_), Complex(_)) => {
            (!by_order).then_some(Complex(FloatType::F64))
        }
        (Float(_), Int(_) | Float(_)) | (Int(_), Float(_)) => Some(ClassicalType::FLOAT),
        _ => common_int(left, right).map(Int),
    }
}

/// Returns true if a value of one type can be converted to another.
pub(super) fn can_cast(from: ClassicalType, to: ClassicalType) -> bool {
    use ClassicalType::*;
    to.has_valid_width()
        && match (from, to) {
            (_, Bool) | (Bool | Bits(_) | Int(_) | Float(_), Int(_)) => true,
            (Bool | Int(_) | Float(_) | Angle(_), Float(_)) => true,
            (Angle(_) | Int(_) | Float(_), Angle(_)) => true,
            (Bool | Int(_), Bits(_)) => true,
            (Bits(m) | Angle(m), Bits(n)) | (Bits(m), Angle(n)) => m == n,
            (Bool | Int(_) | Float(_) | Angle(_) | Complex(_), Complex(_)) => true,
            _ => false,
        }
}

/// Returns the type of an operand whose bits are moved, and that of the number of places.
pub(super) fn moved(value: Typing, places: Typing) -> Option<(ClassicalType, IntType)> {
    let ty = value.alone();
    let places = match places.alone() {
        ClassicalType::Bool => IntType::unsigned(1),
        ClassicalType::Bits(width) => IntType::unsigned(width),
        ClassicalType::Int(ty) => ty,
        _ => return None,
    };
    (operator::width(ty) > 0).then_some((ty, places))
}
