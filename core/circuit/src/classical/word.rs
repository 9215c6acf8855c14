//! Values in 128 bits, and what operators do with them.
//!
//! ```text
//! bool            0 or 1
//! bit[n]          the bits, bit 0 lowest
//! int[n] uint[n]  the n bits of two's complement, no sign beyond them
//! angle[n]        the fraction of a turn times 2^n
//! float           the bits of the f64; NaN is one value, and f32 is an f64 that is one
//! complex         the real part in the low 64 bits, the imaginary part in the high ones
//! ```
//! So two values of a type are equal as words where every expression gives equal results for them.

use std::f64::consts::TAU;

use num_complex::Complex;

use super::types::{ClassicalType, FloatType, IntType};

/// A value of any type, in 128 bits.
pub type Word = u128;

/// Returns a word whose lowest `width` bits are 1.
pub(super) fn mask(width: u32) -> Word {
    1u128.checked_shl(width).map_or(Word::MAX, |above| above - 1)
}

/// Returns the number that an integer is; of an unsigned one with 128 bits the same bits.
pub(super) fn int_value(ty: IntType, word: Word) -> i128 {
    let unused = 128 - ty.bits;
    match ty.signed {
        true => word.cast_signed() << unused >> unused,
        false => word.cast_signed(),
    }
}

/// Returns the number that an integer is, as a place: beyond 2^127 the largest one.
pub(super) fn place_value(ty: IntType, word: Word) -> i128 {
    if ty.signed { int_value(ty, word) } else { i128::try_from(word).unwrap_or(i128::MAX) }
}

/// Wraps a number to a type.
pub(super) fn int_word(ty: IntType, value: i128) -> Word {
    value.cast_unsigned() & mask(ty.bits)
}

/// Returns the word of a float. Every NaN is the same.
pub(super) fn float_word(value: f64) -> Word {
    let value = if value.is_nan() { f64::NAN } else { value };
    Word::from(value.to_bits())
}

/// Returns the float that a word is.
pub(super) fn float_value(word: Word) -> f64 {
    f64::from_bits(word as u64)
}

pub(super) fn complex_word(value: Complex<f64>) -> Word {
    float_word(value.im) << 64 | float_word(value.re)
}

pub(super) fn complex_value(word: Word) -> Complex<f64> {
    Complex::new(float_value(word), float_value(word >> 64))
}

/// Rounds a result to a type of floats.
pub(super) fn rounded(ty: FloatType, value: f64) -> f64 {
    match ty {
        FloatType::F32 => f64::from(value as f32),
        FloatType::F64 => value,
    }
}

/// Returns the nearest of the angles of `width` bits, without whole turns; a tie goes to the even
/// one. A turn is the float nearest to 2 pi. An angle that is not finite is 0. O(width).
pub(super) fn angle_of_radians(radians: f64, width: u32) -> Word {
    if !radians.is_finite() {
        return 0;
    }
    // Long division: the remainder, twice and less a turn, is a float at each step.
    let mut rest = (radians % TAU).abs();
    let mut parts: Word = 0;
    for _ in 0..width {
        rest *= 2.0;
        let bit = rest >= TAU;
        if bit {
            rest -= TAU;
        }
        parts = parts << 1 | Word::from(bit);
    }
    let twice = rest * 2.0;
    let up = twice > TAU || twice == TAU && parts & 1 == 1;
    let parts = parts.wrapping_add(Word::from(up));
    let parts = if radians < 0.0 { parts.wrapping_neg() } else { parts };
    parts & mask(width)
}

/// Returns an angle in radians, from 0 to below 2 pi.
pub(super) fn radians(width: u32, word: Word) -> f64 {
    word as f64 / 2f64.powi(width.cast_signed()) * TAU
}

/// Returns an angle in another width: with zeros appended, or rounded, a tie to the even one.
pub(super) fn resize_angle(from: u32, to: u32, word: Word) -> Word {
    if to >= from {
        return word << (to - from);
    }
    let off = from - to;
    let (kept, rest, half) = (word >> off, word & mask(off), 1u128 << (off - 1));
    let up = rest > half || rest == half && kept & 1 == 1;
    kept.wrapping_add(Word::from(up)) & mask(to)
}

/// Returns the number that a value is; of a complex one the real part.
pub(super) fn number(ty: ClassicalType, word: Word) -> f64 {
    match ty {
        ClassicalType::Bool | ClassicalType::Bits(_) => word as f64,
        ClassicalType::Int(int) if int.signed => int_value(int, word) as f64,
        ClassicalType::Int(_) => word as f64,
        ClassicalType::Angle(width) => radians(width, word),
        ClassicalType::Float(_) | ClassicalType::Complex(_) => float_value(word),
    }
}

/// Converts a value to another type; a conversion that does not exist gives 0.
pub(super) fn cast(from: ClassicalType, to: ClassicalType, word: Word) -> Word {
    use ClassicalType::*;
    match (from, to) {
        (Complex(_), Bool) => Word::from(complex_value(word) != num_complex::Complex::ZERO),
        (Float(_), Bool) => Word::from(float_value(word) != 0.0),
        (_, Bool) => Word::from(word != 0),
        (Int(int), Int(to)) => int_word(to, int_value(int, word)),
        (Int(int), Bits(to)) => int_value(int, word).cast_unsigned() & mask(to),
        (Bool | Bits(_) | Angle(_), Bits(to)) => word & mask(to),
        (Bool | Bits(_), Int(to)) => word & mask(to.bits),
        // Saturates, and NaN is 0.
        (Float(_), Int(to)) => {
            let x = float_value(word).trunc();
            match to.signed {
                true => {
                    let most = mask(to.bits - 1).cast_signed();
                    int_word(to, (x as i128).clamp(!most, most))
                }
                false => (x as u128).min(mask(to.bits)),
            }
        }
        (Bits(_), Angle(to)) => word & mask(to),
        (Angle(from), Angle(to)) => resize_angle(from, to, word),
        (Float(_) | Int(_), Angle(to)) => angle_of_radians(number(from, word), to),
        (Complex(_), Complex(to)) => {
            let z = complex_value(word);
            complex_word(num_complex::Complex::new(rounded(to, z.re), rounded(to, z.im)))
        }
        (Bool | Bits(_) | Int(_) | Angle(_) | Float(_), Float(to) | Complex(to)) => {
            float_word(rounded(to, number(from, word)))
        }
        (Bool | Complex(_), Angle(_))
        | (Angle(_) | Complex(_), Int(_))
        | (Float(_) | Complex(_), Bits(_))
        | (Complex(_), Float(_)) => 0,
    }
}
