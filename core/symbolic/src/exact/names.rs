//! Names and fractions as text.

use std::fmt::Write;

use num_traits::CheckedMul;

use super::run::FormulaRatio;
use crate::notation::latex_name;

/// The words that formulas use for something else than a parameter.
pub const RESERVED: [&str; 6] = ["i", "pi", "cos", "sin", "exp", "sqrt"];

/// A fraction as text.
pub(super) struct FractionText;

impl FractionText {
    /// Numerator and denominator of `factor content 2^twos`.
    pub(super) fn numerator_and_denominator(
        factor: FormulaRatio,
        content: FormulaRatio,
        twos: i32,
    ) -> (String, String) {
        let power = 1i128.checked_shl(twos.unsigned_abs()).filter(|p| *p > 0);
        let two = |p: i128| {
            if twos < 0 { FormulaRatio::new(1, p) } else { FormulaRatio::from_integer(p) }
        };
        let exact = power.map(two).and_then(|p| factor.checked_mul(&content)?.checked_mul(&p));
        if let Some(exact) = exact {
            return (exact.numer().to_string(), exact.denom().to_string());
        }
        // Beyond 128 bits: as a product.
        let mut sides = [String::new(), String::new()];
        let product = |side: &mut String, a: i128, b: i128| {
            let _ = write!(side, "{a}*{b}");
        };
        product(&mut sides[0], *factor.numer(), *content.numer());
        product(&mut sides[1], *factor.denom(), *content.denom());
        let _ = write!(sides[usize::from(twos < 0)], "*2^{}", twos.unsigned_abs());
        let [p, q] = sides;
        (p, format!("({q})"))
    }
}

/// Returns a parameter's name in LaTeX; letter by letter where it is [`RESERVED`] or would look
/// like another's.
#[doc(hidden)]
pub fn latex_name_beside<'a>(name: &str, mut others: impl Iterator<Item = &'a str>) -> String {
    let pretty = latex_name(name);
    let is_taken = RESERVED.iter().any(|word| latex_name(word) == pretty);
    if is_taken || others.any(|other| other != name && latex_name(other) == pretty) {
        // Names with other characters are written letter by letter anyway.
        return format!("\\mathtt{{{}}}", name.replace('_', "\\_"));
    }
    pretty
}
