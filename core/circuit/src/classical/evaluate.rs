//! Evaluation of the steps of an expression.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{
    Relation, VariableId,
    operator::{self, Arithmetic, ClassicalFunction},
    types::{ClassicalType, FloatType, IntType},
    word::{self, Word},
};
use crate::param::Angle;

/// What an expression reads.
pub trait ReadMemory {
    /// The value of a bit.
    fn bit(&self, bit: u32) -> bool;
    /// The value of a variable, or of an element of an array in the order of its rows.
    fn word(&self, variable: VariableId, element: usize) -> Word;
    /// The value of an angle over parameters, in radians.
    fn real(&self, angle: &Angle) -> f64;
}

/// The values of bits: variables are 0 and parameters NaN for it.
impl<F: Fn(u32) -> bool> ReadMemory for F {
    fn bit(&self, bit: u32) -> bool {
        self(bit)
    }

    fn word(&self, _: VariableId, _: usize) -> Word {
        0
    }

    fn real(&self, _: &Angle) -> f64 {
        f64::NAN
    }
}

/// Nothing to read: for constants.
pub(super) struct Nothing;

impl ReadMemory for Nothing {
    fn bit(&self, _: u32) -> bool {
        false
    }

    fn word(&self, _: VariableId, _: usize) -> Word {
        0
    }

    fn real(&self, _: &Angle) -> f64 {
        f64::NAN
    }
}

/// A step in postfix order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ExprStep {
    /// Pushes a value of a type.
    Constant(ClassicalType, Word),
    /// Pushes the value of an angle over parameters, a float.
    Real(Angle),
    /// Pushes the number in some bits, the first least significant.
    Bits(ExprBits),
    /// Pushes the value of a variable of a type.
    Variable(VariableId, ClassicalType),
    /// Replaces indices, one for each axis, by an element of an array; 0 outside of it.
    Element {
        variable: VariableId,
        ty: ClassicalType,
        shape: Arc<[u32]>,
    },
    /// Replaces the top by its conversion.
    Cast {
        from: ClassicalType,
        to: ClassicalType,
    },
    Negate(ClassicalType),
    /// Flips all bits.
    Invert(u32),
    Arithmetic(Arithmetic, ClassicalType),
    /// A power of an integer; a negative exponent gives the whole part.
    IntPower {
        ty: IntType,
        exponent: IntType,
    },
    /// An angle times an integer.
    AngleTimes {
        width: u32,
        by: IntType,
    },
    /// The whole number of times that an angle is in another; by 0 all bits 1.
    AngleOver {
        width: u32,
    },
    /// An angle by an integer, without a remainder; by 0 all bits 1.
    AngleOverInt {
        width: u32,
        by: IntType,
    },
    Shift {
        left: bool,
        ty: ClassicalType,
        places: IntType,
    },
    Rotate {
        left: bool,
        ty: ClassicalType,
        places: IntType,
    },
    Compare(Relation, ClassicalType),
    /// Replaces an unsigned integer of 128 bits by the largest `int[128]` if it is beyond that.
    Saturate,
    /// Appends the top above the bits under it, of which there are that many.
    Concat(u32),
    /// Replaces a value and an index by that bit; 0 outside of it.
    BitAt {
        width: u32,
    },
    /// Takes some bits of the top.
    Pick(Arc<[u8]>),
    Popcount,
    Call(ClassicalFunction, ClassicalType),
    /// The remainder with the sign of the divisor.
    Modulo(ClassicalType),
    /// Takes the real (false) or imaginary part.
    Part(bool),
    /// Takes the absolute value of a complex number.
    Norm(FloatType),
    /// If the top is this truth value, skips so many steps; else drops it.
    Skip {
        on: bool,
        steps: u32,
    },
}

/// Bits, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ExprBits {
    Range { first: u32, len: u32 },
    List(Arc<[u32]>),
}

impl ExprBits {
    pub(super) fn new(bits: Vec<u32>) -> ExprBits {
        let in_order = bits.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
        match (bits.first(), u32::try_from(bits.len())) {
            (Some(&first), Ok(len)) if in_order => ExprBits::Range { first, len },
            _ => ExprBits::List(bits.into()),
        }
    }
}

/// The value of steps in postfix order.
pub(super) fn evaluate(steps: &[ExprStep], memory: &dyn ReadMemory) -> Word {
    let mut stack: SmallVec<[Word; 8]> = SmallVec::new();
    let mut at = 0;
    while let Some(step) = steps.get(at) {
        at += 1;
        // A table is well-formed by construction; 0 keeps this total.
        let mut pop = || stack.pop().unwrap_or_default();
        let value = match step {
            ExprStep::Constant(_, value) => *value,
            ExprStep::Real(angle) => word::float_word(memory.real(angle)),
            ExprStep::Bits(bits) => {
                let bit = |(at, bit): (usize, u32)| Word::from(memory.bit(bit)) << at;
                match bits {
                    ExprBits::Range { first, len } => {
                        (0..*len).map(|k| bit((k as usize, first + k))).sum()
                    }
                    ExprBits::List(list) => list.iter().copied().enumerate().map(bit).sum(),
                }
            }
            ExprStep::Variable(variable, _) => memory.word(*variable, 0),
            ExprStep::Element { variable, shape, .. } => {
                let rest = stack.len().saturating_sub(shape.len());
                let place = element(shape, &stack[rest..]);
                stack.truncate(rest);
                place.map_or(0, |place| memory.word(*variable, place))
            }
            ExprStep::Cast { from, to } => word::cast(*from, *to, pop()),
            ExprStep::Saturate => pop().min(i128::MAX.cast_unsigned()),
            ExprStep::Negate(ty) => operator::negate(*ty, pop()),
            ExprStep::Invert(width) => !pop() & word::mask(*width),
            ExprStep::Arithmetic(op, ty) => {
                let (y, x) = (pop(), pop());
                operator::arithmetic(*op, *ty, x, y)
            }
            ExprStep::IntPower { ty, exponent } => {
                let (n, x) = (word::int_value(*exponent, pop()), pop());
                operator::int_power(*ty, x, n, exponent.signed)
            }
            ExprStep::AngleTimes { width, by } => {
                let (k, angle) = (word::int_value(*by, pop()), pop());
                angle.wrapping_mul(k.cast_unsigned()) & word::mask(*width)
            }
            ExprStep::AngleOver { width } => {
                let (y, x) = (pop(), pop());
                x.checked_div(y).unwrap_or_else(|| word::mask(*width))
            }
            ExprStep::AngleOverInt { width, by } => {
                let (k, angle) = (pop(), pop());
                let mask = word::mask(*width);
                let number = word::int_value(*by, k);
                let is_negative = by.signed && number < 0;
                let size = if by.signed { number.unsigned_abs() } else { k };
                let quotient = angle.checked_div(size).unwrap_or(mask);
                if is_negative { quotient.wrapping_neg() & mask } else { quotient }
            }
            ExprStep::Shift { left, ty, places } => {
                let (places, value) = (word::place_value(*places, pop()), pop());
                operator::shift(*left, *ty, value, places)
            }
            ExprStep::Rotate { left, ty, places } => {
                let (by, value) = (pop(), pop());
                operator::rotate(*left, *ty, value, (by, *places))
            }
            ExprStep::Compare(relation, ty) => {
                let (y, x) = (pop(), pop());
                let holds = match operator::order(*ty, x, y) {
                    Some(order) => relation.holds(order),
                    None => *relation == Relation::NotEqual,
                };
                Word::from(holds)
            }
            ExprStep::Concat(width) => {
                let (high, low) = (pop(), pop());
                high << width | low
            }
            ExprStep::BitAt { width } => {
                let (index, value) = (pop().cast_signed(), pop());
                let index =
                    if index < 0 { index.saturating_add(i128::from(*width)) } else { index };
                let inside = (0..i128::from(*width)).contains(&index);
                if inside { value >> index & 1 } else { 0 }
            }
            ExprStep::Pick(bits) => {
                let value = pop();
                bits.iter().enumerate().map(|(k, bit)| (value >> bit & 1) << k).sum()
            }
            ExprStep::Popcount => Word::from(pop().count_ones()),
            ExprStep::Call(function, ty) => operator::call(*function, *ty, pop()),
            ExprStep::Modulo(ty) => {
                let (y, x) = (pop(), pop());
                operator::modulo(*ty, x, y)
            }
            ExprStep::Part(imaginary) => {
                let z = word::complex_value(pop());
                word::float_word(if *imaginary { z.im } else { z.re })
            }
            ExprStep::Norm(ty) => {
                let norm = word::complex_value(pop()).norm();
                word::float_word(word::rounded(*ty, norm))
            }
            ExprStep::Skip { on, steps } => {
                let top = pop();
                if (top == 1) != *on {
                    continue;
                }
                at += *steps as usize;
                top
            }
        };
        stack.push(value);
    }
    stack.pop().unwrap_or_default()
}

/// Returns the place of an element in the order of rows, if it exists; negative indices count from
/// the end.
pub(super) fn element(shape: &[u32], indices: &[Word]) -> Option<usize> {
    shape.iter().zip(indices).try_fold(0usize, |place, (&size, index)| {
        let (index, size) = (index.cast_signed(), i128::from(size));
        let index = if index < 0 { index.checked_add(size)? } else { index };
        let inside = (0..size).contains(&index);
        let (index, size) = (usize::try_from(index).ok()?, usize::try_from(size).ok()?);
        inside.then(|| place * size + index)
    })
}
