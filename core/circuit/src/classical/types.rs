//! Types of classical values.

use std::fmt;

/// Largest width of bit strings, integers and angles in an expression.
pub const MAX_WIDTH: u32 = 128;

/// Type of a value of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClassicalType {
    /// A truth value.
    Bool,
    /// A string of 1 to 128 bits.
    Bits(u32),
    /// An integer.
    Int(IntType),
    /// An angle: that many bits after the point of a fraction of a turn, 1 to 128.
    Angle(u32),
    /// A floating-point number.
    Float(FloatType),
    /// A complex number: a pair of floating-point numbers.
    Complex(FloatType),
}

/// A type of integers. They wrap in two's complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IntType {
    /// The width in bits, 1 to 128.
    pub bits: u32,
    /// True if there are negative numbers.
    pub signed: bool,
}

/// A type of floating-point numbers, as in IEEE 754.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FloatType {
    /// 32 bits: results are computed in 64 and rounded.
    F32,
    /// 64 bits.
    F64,
}

impl IntType {
    /// `int` without a width.
    pub const INT: IntType = IntType { bits: 32, signed: true };
    /// `uint` without a width.
    pub const UINT: IntType = IntType { bits: 32, signed: false };

    /// Returns the type of signed integers of that width.
    #[must_use]
    pub const fn signed(bits: u32) -> IntType {
        IntType { bits, signed: true }
    }

    /// Returns the type of unsigned integers of that width.
    #[must_use]
    pub const fn unsigned(bits: u32) -> IntType {
        IntType { bits, signed: false }
    }

    /// Returns the type that operands of both are converted to: that of more bits, or of two with
    /// the same number the unsigned one (C99, 6.3.1.8, without the promotion to `int`).
    #[must_use]
    pub fn common(self, other: IntType) -> IntType {
        let rank = |ty: IntType| (ty.bits, !ty.signed);
        if rank(self) < rank(other) { other } else { self }
    }

    /// Returns true if a number is one of the type.
    #[must_use]
    pub fn holds(self, value: i128) -> bool {
        let unused = MAX_WIDTH - self.bits;
        match self.signed {
            true => value << unused >> unused == value,
            false => {
                value >= 0 && value.cast_unsigned() << unused >> unused == value.cast_unsigned()
            }
        }
    }
}

impl ClassicalType {
    /// `float` without a width.
    pub const FLOAT: ClassicalType = ClassicalType::Float(FloatType::F64);

    /// Returns true for a width from 1 to [`MAX_WIDTH`]; other types have none.
    pub(super) fn has_valid_width(self) -> bool {
        match self {
            ClassicalType::Bits(width) | ClassicalType::Angle(width) => {
                (1..=MAX_WIDTH).contains(&width)
            }
            ClassicalType::Int(ty) => (1..=MAX_WIDTH).contains(&ty.bits),
            ClassicalType::Bool | ClassicalType::Float(_) | ClassicalType::Complex(_) => true,
        }
    }
}

/// As in OpenQASM: `int[32]`.
impl fmt::Display for IntType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}int[{}]", if self.signed { "" } else { "u" }, self.bits)
    }
}

/// As in OpenQASM: `float[64]`.
impl fmt::Display for FloatType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FloatType::F32 => "float[32]",
            FloatType::F64 => "float[64]",
        })
    }
}

/// As in OpenQASM: `bit[3]`, `complex[float[64]]`.
impl fmt::Display for ClassicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClassicalType::Bool => f.write_str("bool"),
            ClassicalType::Bits(width) => write!(f, "bit[{width}]"),
            ClassicalType::Int(ty) => ty.fmt(f),
            ClassicalType::Angle(width) => write!(f, "angle[{width}]"),
            ClassicalType::Float(ty) => ty.fmt(f),
            ClassicalType::Complex(ty) => write!(f, "complex[{ty}]"),
        }
    }
}
