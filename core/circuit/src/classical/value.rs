//! Values of classical types, as numbers and strings of the host.

use std::fmt;

use num_complex::Complex;

use super::{
    types::{ClassicalType, FloatType},
    word::{self, Word},
};

/// A value of a classical type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClassicalValue {
    /// A truth value.
    Bool(bool),
    /// The bits of a string, bit 0 lowest, and their number.
    Bits(Word, u32),
    /// A signed integer.
    Int(i128),
    /// An unsigned integer.
    Uint(u128),
    /// An angle in radians, from 0 to below 2 pi.
    Angle(f64),
    /// A floating-point number, and its type.
    Float(f64, FloatType),
    /// A complex number, and the type of its parts.
    Complex(Complex<f64>, FloatType),
}

impl ClassicalType {
    /// Returns the value that a word of a memory has as this type.
    ///
    /// ```
    /// use ketgrad_core::classical::{ClassicalType, ClassicalValue, IntType};
    /// let byte = ClassicalType::Int(IntType::signed(8));
    /// assert_eq!(byte.value_of(0xff), ClassicalValue::Int(-1));
    /// assert_eq!(ClassicalType::Bits(4).value_of(5).to_string(), "0101");
    /// ```
    #[must_use]
    pub fn value_of(self, word: Word) -> ClassicalValue {
        match self {
            ClassicalType::Bool => ClassicalValue::Bool(word == 1),
            ClassicalType::Bits(width) => ClassicalValue::Bits(word, width),
            ClassicalType::Int(ty) if ty.signed => ClassicalValue::Int(word::int_value(ty, word)),
            ClassicalType::Int(_) => ClassicalValue::Uint(word),
            ClassicalType::Angle(width) => ClassicalValue::Angle(word::radians(width, word)),
            ClassicalType::Float(ty) => ClassicalValue::Float(word::float_value(word), ty),
            ClassicalType::Complex(ty) => ClassicalValue::Complex(word::complex_value(word), ty),
        }
    }
}

/// A number, `true`, the bits of a string, the radians of an angle, `1-0.5i`.
impl fmt::Display for ClassicalValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClassicalValue::Bool(value) => value.fmt(f),
            ClassicalValue::Bits(word, width) => {
                write!(f, "{word:0width$b}", width = *width as usize)
            }
            ClassicalValue::Int(value) => value.fmt(f),
            ClassicalValue::Uint(value) => value.fmt(f),
            ClassicalValue::Angle(value) | ClassicalValue::Float(value, _) => value.fmt(f),
            ClassicalValue::Complex(z, _) => {
                let sign = if z.im.is_sign_negative() { '-' } else { '+' };
                write!(f, "{}{sign}{}i", z.re, z.im.abs())
            }
        }
    }
}
