//! Operators and functions on values of one type.

use num_complex::Complex;

use super::{
    types::{ClassicalType, IntType},
    word::{
        Word, complex_value, complex_word, float_value, float_word, int_value, int_word, mask,
        rounded,
    },
};

/// Operator on two numbers of one type, with a result of that type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Power,
    BitAnd,
    BitOr,
    BitXor,
}

impl Arithmetic {
    /// The operator in OpenQASM.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Sub => "-",
            Arithmetic::Mul => "*",
            Arithmetic::Div => "/",
            Arithmetic::Rem => "%",
            Arithmetic::Power => "**",
            Arithmetic::BitAnd => "&",
            Arithmetic::BitOr => "|",
            Arithmetic::BitXor => "^",
        }
    }

    pub(super) fn is_bitwise(self) -> bool {
        matches!(self, Arithmetic::BitAnd | Arithmetic::BitOr | Arithmetic::BitXor)
    }
}

/// Function of a number, with a result of the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ClassicalFunction {
    Sin,
    Cos,
    Tan,
    Arcsin,
    Arccos,
    Arctan,
    Exp,
    Log,
    Sqrt,
    Floor,
    Ceiling,
    Abs,
}

impl ClassicalFunction {
    /// All of them.
    pub const ALL: [ClassicalFunction; 12] = [
        ClassicalFunction::Sin,
        ClassicalFunction::Cos,
        ClassicalFunction::Tan,
        ClassicalFunction::Arcsin,
        ClassicalFunction::Arccos,
        ClassicalFunction::Arctan,
        ClassicalFunction::Exp,
        ClassicalFunction::Log,
        ClassicalFunction::Sqrt,
        ClassicalFunction::Floor,
        ClassicalFunction::Ceiling,
        ClassicalFunction::Abs,
    ];

    /// The name in OpenQASM.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ClassicalFunction::Sin => "sin",
            ClassicalFunction::Cos => "cos",
            ClassicalFunction::Tan => "tan",
            ClassicalFunction::Arcsin => "arcsin",
            ClassicalFunction::Arccos => "arccos",
            ClassicalFunction::Arctan => "arctan",
            ClassicalFunction::Exp => "exp",
            ClassicalFunction::Log => "log",
            ClassicalFunction::Sqrt => "sqrt",
            ClassicalFunction::Floor => "floor",
            ClassicalFunction::Ceiling => "ceiling",
            ClassicalFunction::Abs => "abs",
        }
    }

    /// Returns true if it takes complex numbers.
    pub(super) fn takes_complex(self) -> bool {
        matches!(
            self,
            ClassicalFunction::Sin
                | ClassicalFunction::Cos
                | ClassicalFunction::Exp
                | ClassicalFunction::Log
                | ClassicalFunction::Sqrt
        )
    }
}

/// `left op right` of two values of a type that has the operator; of any other type 0.
pub(super) fn arithmetic(op: Arithmetic, ty: ClassicalType, left: Word, right: Word) -> Word {
    match ty {
        ClassicalType::Int(int) => integers(op, int, left, right),
        ClassicalType::Angle(width) => match op {
            Arithmetic::Add => left.wrapping_add(right) & mask(width),
            Arithmetic::Sub => left.wrapping_sub(right) & mask(width),
            _ => bitwise(op, left, right),
        },
        ClassicalType::Bool | ClassicalType::Bits(_) => bitwise(op, left, right),
        ClassicalType::Float(float) => {
            let (x, y) = (float_value(left), float_value(right));
            float_word(rounded(float, floats(op, x, y)))
        }
        ClassicalType::Complex(float) => {
            let z = complexes(op, complex_value(left), complex_value(right));
            complex_word(Complex::new(rounded(float, z.re), rounded(float, z.im)))
        }
    }
}

fn bitwise(op: Arithmetic, left: Word, right: Word) -> Word {
    match op {
        Arithmetic::BitAnd => left & right,
        Arithmetic::BitOr => left | right,
        Arithmetic::BitXor => left ^ right,
        _ => 0,
    }
}

/// A quotient by 0 has all bits 1 and leaves the dividend.
fn integers(op: Arithmetic, ty: IntType, left: Word, right: Word) -> Word {
    let (x, y) = (int_value(ty, left), int_value(ty, right));
    match op {
        Arithmetic::Add => left.wrapping_add(right) & mask(ty.bits),
        Arithmetic::Sub => left.wrapping_sub(right) & mask(ty.bits),
        Arithmetic::Mul => left.wrapping_mul(right) & mask(ty.bits),
        Arithmetic::Div if right == 0 => mask(ty.bits),
        Arithmetic::Rem if right == 0 => left,
        Arithmetic::Div if ty.signed => int_word(ty, x.wrapping_div(y)),
        Arithmetic::Rem if ty.signed => int_word(ty, x.wrapping_rem(y)),
        Arithmetic::Div => left / right,
        Arithmetic::Rem => left % right,
        _ => bitwise(op, left, right),
    }
}

/// The power of an integer: of a negative exponent the whole part of the quotient, which by 0 has
/// all bits 1.
pub(super) fn int_power(ty: IntType, base: Word, exponent: i128, has_sign: bool) -> Word {
    if !has_sign || exponent >= 0 {
        return power(base, exponent.cast_unsigned()) & mask(ty.bits);
    }
    match int_value(ty, base) {
        0 => mask(ty.bits),
        1 => 1,
        -1 if ty.signed => int_word(ty, if exponent % 2 == 0 { 1 } else { -1 }),
        _ => 0,
    }
}

/// The remainder with the sign of the divisor; by 0 the dividend, of floats NaN.
pub(super) fn modulo(ty: ClassicalType, left: Word, right: Word) -> Word {
    let rest = arithmetic(Arithmetic::Rem, ty, left, right);
    let is_negative = |word| match ty {
        ClassicalType::Int(int) => int.signed && int_value(int, word) < 0,
        _ => float_value(word) < 0.0,
    };
    let is_zero = match ty {
        ClassicalType::Int(_) => rest == 0 || right == 0,
        _ => float_value(rest) == 0.0,
    };
    match !is_zero && is_negative(rest) != is_negative(right) {
        true => arithmetic(Arithmetic::Add, ty, rest, right),
        false => rest,
    }
}

/// Returns a power modulo 2^128.
fn power(mut base: Word, mut exponent: Word) -> Word {
    let mut result = 1u128;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    result
}

fn floats(op: Arithmetic, x: f64, y: f64) -> f64 {
    match op {
        Arithmetic::Add => x + y,
        Arithmetic::Sub => x - y,
        Arithmetic::Mul => x * y,
        Arithmetic::Div => x / y,
        Arithmetic::Rem => x % y,
        Arithmetic::Power => x.powf(y),
        _ => f64::NAN,
    }
}

fn complexes(op: Arithmetic, x: Complex<f64>, y: Complex<f64>) -> Complex<f64> {
    match op {
        Arithmetic::Add => x + y,
        Arithmetic::Sub => x - y,
        Arithmetic::Mul => x * y,
        Arithmetic::Div => quotient(x, y),
        Arithmetic::Power => x.powc(y),
        _ => Complex::new(f64::NAN, f64::NAN),
    }
}

/// Returns a quotient by the part of the divisor that is larger, so that its square does not leave
/// the range (Smith, "Algorithm 116: Complex division", 1962).
fn quotient(x: Complex<f64>, y: Complex<f64>) -> Complex<f64> {
    if y.re.abs() >= y.im.abs() {
        let ratio = y.im / y.re;
        let below = y.re + y.im * ratio;
        Complex::new((x.re + x.im * ratio) / below, (x.im - x.re * ratio) / below)
    } else {
        let ratio = y.re / y.im;
        let below = y.re * ratio + y.im;
        Complex::new((x.re * ratio + x.im) / below, (x.im * ratio - x.re) / below)
    }
}

/// Returns `value << places`, or `>>` if not `left`, of an integer, an angle or bits. A shift by
/// the width or more, or by a negative number, leaves 0, or of a negative number to the right -1.
pub(super) fn shift(left: bool, ty: ClassicalType, value: Word, places: i128) -> Word {
    let few = u32::try_from(places).ok().filter(|places| *places < 128);
    match (left, ty, few) {
        (true, _, Some(places)) => value << places & mask(width(ty)),
        (false, ClassicalType::Int(int), _) if int.signed => {
            int_word(int, int_value(int, value) >> few.unwrap_or(127))
        }
        (false, _, Some(places)) => value >> places,
        (_, _, None) => 0,
    }
}

/// Returns the bits of a value moved up by that many places, those beyond the end moved to the
/// start; down if not `left`.
pub(super) fn rotate(
    left: bool,
    ty: ClassicalType,
    value: Word,
    (places, of): (Word, IntType),
) -> Word {
    let width = width(ty);
    // Below 128.
    let by = match of.signed {
        true => int_value(of, places).rem_euclid(i128::from(width)) as u32,
        false => (places % Word::from(width)) as u32,
    };
    let by = if left || by == 0 { by } else { width - by };
    let down = value.checked_shr(width - by).unwrap_or(0);
    (value << by | down) & mask(width)
}

/// Returns the number of bits of a value; of a float 0.
pub(super) fn width(ty: ClassicalType) -> u32 {
    match ty {
        ClassicalType::Bool => 1,
        ClassicalType::Bits(width) | ClassicalType::Angle(width) => width,
        ClassicalType::Int(int) => int.bits,
        ClassicalType::Float(_) | ClassicalType::Complex(_) => 0,
    }
}

/// The value of a function; of an integer only the absolute value exists.
pub(super) fn call(function: ClassicalFunction, ty: ClassicalType, value: Word) -> Word {
    match ty {
        ClassicalType::Float(float) => {
            float_word(rounded(float, real_function(function, float_value(value))))
        }
        ClassicalType::Complex(float) => {
            let z = complex_function(function, complex_value(value));
            complex_word(Complex::new(rounded(float, z.re), rounded(float, z.im)))
        }
        ClassicalType::Int(int) if int.signed => {
            int_word(int, int_value(int, value).wrapping_abs())
        }
        _ => value,
    }
}

fn real_function(function: ClassicalFunction, x: f64) -> f64 {
    match function {
        ClassicalFunction::Sin => x.sin(),
        ClassicalFunction::Cos => x.cos(),
        ClassicalFunction::Tan => x.tan(),
        ClassicalFunction::Arcsin => x.asin(),
        ClassicalFunction::Arccos => x.acos(),
        ClassicalFunction::Arctan => x.atan(),
        ClassicalFunction::Exp => x.exp(),
        ClassicalFunction::Log => x.ln(),
        ClassicalFunction::Sqrt => x.sqrt(),
        ClassicalFunction::Floor => x.floor(),
        ClassicalFunction::Ceiling => x.ceil(),
        ClassicalFunction::Abs => x.abs(),
    }
}

/// The principal value.
fn complex_function(function: ClassicalFunction, z: Complex<f64>) -> Complex<f64> {
    match function {
        ClassicalFunction::Sin => z.sin(),
        ClassicalFunction::Cos => z.cos(),
        ClassicalFunction::Exp => z.exp(),
        ClassicalFunction::Log => z.ln(),
        ClassicalFunction::Sqrt => z.sqrt(),
        _ => Complex::new(f64::NAN, f64::NAN),
    }
}

/// `-value`.
pub(super) fn negate(ty: ClassicalType, value: Word) -> Word {
    match ty {
        ClassicalType::Float(_) => float_word(-float_value(value)),
        ClassicalType::Complex(_) => complex_word(-complex_value(value)),
        _ => value.wrapping_neg() & mask(width(ty)),
    }
}

/// Returns the order of two values of a type; `None` of floats if one is NaN, and of complex
/// numbers that differ.
pub(super) fn order(ty: ClassicalType, left: Word, right: Word) -> Option<std::cmp::Ordering> {
    match ty {
        ClassicalType::Float(_) => float_value(left).partial_cmp(&float_value(right)),
        ClassicalType::Complex(_) => {
            (complex_value(left) == complex_value(right)).then_some(std::cmp::Ordering::Equal)
        }
        ClassicalType::Int(int) if int.signed => {
            Some(int_value(int, left).cmp(&int_value(int, right)))
        }
        _ => Some(left.cmp(&right)),
    }
}
