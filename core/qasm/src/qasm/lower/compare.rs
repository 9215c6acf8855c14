//! Comparisons of values in bits.
//!
//! A condition compares bits as an unsigned number with a constant. A signed one is compared by its
//! sign and by the bits below it: in two's complement, adding 2^(n-1) to a number of n bits gives
//! the order of unsigned numbers. Two numbers in bits are compared by `bit_vector`.

use super::{
    Lower, QasmLowering, QasmValue,
    classical::Classical,
    digits::{complement, to_digits, trim},
    integer::IntegerType,
    truth::Truth,
};
use crate::{
    circuit::{Condition, Relation},
    qasm::{
        ast::{BinaryOp, QasmSpan},
        diagnostic::QasmProblem,
    },
};

impl QasmLowering<'_> {
    pub(super) fn compare(
        &mut self,
        op: BinaryOp,
        left: Classical,
        right: Classical,
        span: QasmSpan,
    ) -> Lower<Truth> {
        let (relation, mirrored) = match op {
            BinaryOp::Equal => (Relation::Equal, Relation::Equal),
            BinaryOp::NotEqual => (Relation::NotEqual, Relation::NotEqual),
            BinaryOp::Less => (Relation::Less, Relation::Greater),
            BinaryOp::LessEqual => (Relation::LessEqual, Relation::GreaterEqual),
            BinaryOp::Greater => (Relation::Greater, Relation::Less),
            _ => (Relation::GreaterEqual, Relation::LessEqual),
        };
        let (left, right) = match (left, right) {
            (left @ Classical::Truth(_), right) | (left, right @ Classical::Truth(_)) => {
                match (self.one_bit(left), self.one_bit(right), relation) {
                    (Ok(a), Ok(b), Relation::Equal) => return Ok(self.differ(a, b, span)?.not()),
                    (Ok(a), Ok(b), Relation::NotEqual) => return self.differ(a, b, span),
                    (a, b, _) => (self.in_bits_if_open(a, span)?, self.in_bits_if_open(b, span)?),
                }
            }
            sides => sides,
        };
        match (left, right) {
            (
                Classical::BitVector { bits, signed, ty },
                c @ (Classical::Value(_) | Classical::Digits { .. }),
            ) => self.compare_number((bits, signed, ty), relation, c, span),
            (
                c @ (Classical::Value(_) | Classical::Digits { .. }),
                Classical::BitVector { bits, signed, ty },
            ) => self.compare_number((bits, signed, ty), mirrored, c, span),
            (
                Classical::BitVector { bits: a, ty: None, .. },
                Classical::BitVector { bits: b, ty: None, .. },
            ) if a.len() != b.len() => {
                let (first, second) = (a.len() as u64, b.len() as u64);
                self.fail(QasmProblem::LengthMismatch { first, second }, span)
            }
            (
                Classical::BitVector { bits: a, signed: s, .. },
                Classical::BitVector { bits: b, signed: t, .. },
            ) => self.compare_words((a, s), (b, t), relation, span),
            _ => self.refuse("this comparison", span),
        }
    }

    /// Stores a condition in a bit of its own; returns any other value as it is.
    fn in_bits_if_open(
        &mut self,
        value: Result<Truth, Classical>,
        span: QasmSpan,
    ) -> Lower<Classical> {
        match value {
            Ok(truth @ Truth::Residual(_)) => self.word(vec![truth], None, span),
            Ok(known) => Ok(known.classical()),
            Err(other) => Ok(other),
        }
    }

    /// Compares a number in bits with a constant. There is no warning if it merely has fewer bits
    /// than its type.
    fn compare_number(
        &mut self,
        (bits, signed, ty): (Vec<u32>, bool, Option<IntegerType>),
        relation: Relation,
        constant: Classical,
        span: QasmSpan,
    ) -> Lower<Truth> {
        let (diagnostics, warnings) = (self.diagnostics.len(), self.warnings);
        let (fits, constant) = match (constant, ty) {
            (Classical::Value(QasmValue::Int(i, i_type)), Some(ty)) => {
                (ty.holds(i), Classical::Value(QasmValue::Int(i, i_type)))
            }
            // Beside an integer a bit string is a number.
            (Classical::Value(QasmValue::Bits { bits: value, .. }), Some(ty)) => {
                (value <= ty.range().1, Classical::Digits { digits: to_digits(value), width: None })
            }
            (constant, _) => (false, constant),
        };
        let truth = self.compare_word(bits, signed, relation, constant, span)?;
        if fits {
            self.diagnostics.truncate(diagnostics);
            self.warnings = warnings;
        }
        Ok(truth)
    }

    /// Compares bits with a constant.
    pub(super) fn compare_word(
        &mut self,
        mut bits: Vec<u32>,
        signed: bool,
        relation: Relation,
        constant: Classical,
        span: QasmSpan,
    ) -> Lower<Truth> {
        let n = bits.len();
        let (negative, mut digits) = match constant {
            Classical::Value(QasmValue::Int(i, Some(ty))) if ty.unsigned => {
                (false, to_digits(ty.bits_of(i)))
            }
            Classical::Value(QasmValue::Int(i, _)) => (i < 0, to_digits(i.unsigned_abs())),
            Classical::Value(QasmValue::Bool(b)) => (false, vec![b]),
            Classical::Value(QasmValue::Bits { width, bits: value }) => {
                if width as usize != n {
                    let (first, second) = (n as u64, u64::from(width));
                    return self.fail(QasmProblem::LengthMismatch { first, second }, span);
                }
                (false, to_digits(value))
            }
            Classical::Digits { digits, width } => {
                if let Some(width) = width.filter(|&w| w != n) {
                    let (first, second) = (n as u64, width as u64);
                    return self.fail(QasmProblem::LengthMismatch { first, second }, span);
                }
                (false, digits)
            }
            Classical::Value(other) => {
                let (given, expected) = (other.describe().to_owned(), "an integer".to_owned());
                return self.fail(QasmProblem::WrongType { given, expected }, span);
            }
            _ => return self.refuse("this comparison", span),
        };
        trim(&mut digits);
        let below = matches!(relation, Relation::Less | Relation::LessEqual | Relation::NotEqual);
        if !signed {
            if negative {
                return Ok(self.decided(n, relation_of(relation, false), span));
            }
            if digits.len() > n {
                self.warn(QasmProblem::Decided { bits: n, holds: below }, span);
            }
            return Ok(word(bits, relation, digits));
        }
        // In two's complement a number of n bits plus 2^(n-1) is in the order of unsigned numbers,
        // and that inverts the highest bit.
        let Some(sign) = bits.pop() else { return Ok(Truth::Constant(false)) };
        let low = if negative { complement(digits, n - 1) } else { Some(digits) };
        let Some(low) = low.filter(|low| low.len() < n) else {
            return Ok(self.decided(n, relation_of(relation, !negative), span));
        };
        // The highest bit where it agrees with that of the constant.
        let same = Truth::Residual(Condition::Bit { bit: sign, value: negative });
        let other = || Truth::Residual(Condition::Bit { bit: sign, value: !negative });
        let rest = |relation| {
            if bits.is_empty() {
                let holds = relation_of_equal(relation);
                Truth::Constant(holds)
            } else {
                word(bits.clone(), relation, low.clone())
            }
        };
        // The other sign is below a constant that is not negative, and above one that is.
        let other_holds = match relation {
            Relation::Equal => false,
            Relation::NotEqual => true,
            Relation::Less | Relation::LessEqual => !negative,
            Relation::Greater | Relation::GreaterEqual => negative,
        };
        Ok(if other_holds {
            other().combine(rest(relation), false)
        } else {
            same.combine(rest(relation), true)
        })
    }

    /// Returns a comparison whose result is known, with a warning.
    fn decided(&mut self, bits: usize, holds: bool, span: QasmSpan) -> Truth {
        self.warn(QasmProblem::Decided { bits, holds }, span);
        Truth::Constant(holds)
    }
}

/// Returns true if a relation holds for a left side that is less than all right sides (`below`), or
/// greater.
fn relation_of(relation: Relation, below: bool) -> bool {
    match relation {
        Relation::Equal => false,
        Relation::NotEqual => true,
        Relation::Less | Relation::LessEqual => below,
        Relation::Greater | Relation::GreaterEqual => !below,
    }
}

/// Returns true if a relation holds for equal numbers.
fn relation_of_equal(relation: Relation) -> bool {
    matches!(relation, Relation::Equal | Relation::LessEqual | Relation::GreaterEqual)
}

/// Compares bits with a number that has no leading zeros.
pub(super) fn word(bits: Vec<u32>, relation: Relation, digits: Vec<bool>) -> Truth {
    match (bits.as_slice(), relation) {
        (_, Relation::Less) if digits.is_empty() => Truth::Constant(false),
        (_, Relation::GreaterEqual) if digits.is_empty() => Truth::Constant(true),
        (&[bit], Relation::Equal | Relation::NotEqual) if digits.len() <= 1 => {
            let value = digits.is_empty() != (relation == Relation::Equal);
            Truth::Residual(Condition::Bit { bit, value })
        }
        _ => Truth::Residual(Condition::Compare {
            bits: bits.into(),
            relation,
            value: digits.into(),
        }),
    }
}
