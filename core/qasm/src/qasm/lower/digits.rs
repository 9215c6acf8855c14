//! Binary digits of numbers of any length, least significant first.

use super::{Lower, QasmLowering, QasmValue, classical::Classical};
use crate::qasm::{ast::QasmSpan, diagnostic::QasmProblem, lexer::radix};

/// Limit on the digits of an integer in a comparison.
const MAX_DIGITS: usize = 10_000;

impl QasmLowering<'_> {
    pub(super) fn long_number(&mut self, span: QasmSpan) -> Lower<Classical> {
        let text = self.text(span).replace('_', "");
        let (radix, digits) = radix(&text);
        match binary(digits, radix) {
            Some(digits) => match number(&digits) {
                Some(value) => Ok(Classical::Value(QasmValue::int(value))),
                None => Ok(Classical::Digits { digits, width: None }),
            },
            None => self.fail(
                QasmProblem::IntegerOverflow { what: "an integer of this length".to_owned() },
                span,
            ),
        }
    }

    /// Returns a bit string of more than 128 bits.
    pub(super) fn long_string(&mut self, span: QasmSpan) -> Lower<Classical> {
        let quoted = self.text(span);
        let text = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        let digits = || text.bytes().rev().filter(|&b| b != b'_');
        if text.is_empty() || !digits().all(|b| matches!(b, b'0' | b'1')) {
            let (given, expected) = ("a string".to_owned(), "a bit string".to_owned());
            return self.fail(QasmProblem::WrongType { given, expected }, span);
        }
        let digits: Vec<bool> = digits().map(|b| b == b'1').collect();
        let width = Some(digits.len());
        Ok(Classical::Digits { digits, width })
    }
}

pub(super) fn to_digits(mut value: u128) -> Vec<bool> {
    let mut digits = Vec::new();
    while value > 0 {
        digits.push(value & 1 == 1);
        value >>= 1;
    }
    digits
}

/// Removes leading zeros.
pub(super) fn trim(digits: &mut Vec<bool>) {
    while digits.last() == Some(&false) {
        digits.pop();
    }
}

/// Returns the number with these digits, if it fits in an [`i128`].
pub(super) fn number(digits: &[bool]) -> Option<i128> {
    let fits = digits.len() < 128;
    fits.then(|| digits.iter().rev().fold(0, |sum, &bit| sum << 1 | i128::from(bit)))
}

/// Returns `2^n` minus a positive number; `None` if that number is larger.
pub(super) fn complement(digits: Vec<bool>, n: usize) -> Option<Vec<bool>> {
    if digits.len() > n + 1 || (digits.len() == n + 1 && digits[..n].iter().any(|&b| b)) {
        return None;
    }
    // All bits inverted, plus 1.
    let mut carry = true;
    let mut low: Vec<bool> = (0..n)
        .map(|i| {
            let bit = !digits.get(i).copied().unwrap_or(false);
            let sum = bit != carry;
            carry &= bit;
            sum
        })
        .collect();
    trim(&mut low);
    Some(low)
}

/// Returns the bits of a number without leading zeros, least significant first; `None` if the text
/// is not a number, or too long.
pub(super) fn binary(text: &str, radix: u32) -> Option<Vec<bool>> {
    if text.is_empty() || text.len() > MAX_DIGITS {
        return None;
    }
    // Limbs of 32 bits, least significant first.
    let mut limbs: Vec<u32> = Vec::new();
    for c in text.chars() {
        let mut carry = u64::from(c.to_digit(radix)?);
        for limb in &mut limbs {
            let next = u64::from(*limb) * u64::from(radix) + carry;
            // The low half.
            *limb = (next & u64::from(u32::MAX)) as u32;
            carry = next >> 32;
        }
        if carry > 0 {
            limbs.push((carry & u64::from(u32::MAX)) as u32);
        }
    }
    let mut digits: Vec<bool> =
        limbs.iter().flat_map(|limb| (0..32).map(move |i| limb >> i & 1 == 1)).collect();
    trim(&mut digits);
    Some(digits)
}
