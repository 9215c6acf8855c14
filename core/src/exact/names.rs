//! Names and fractions as text.

use std::fmt::Write;

use num_traits::CheckedMul;

use super::run::FormulaRatio;

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
pub(crate) fn latex_name_beside<'a>(
    name: &str,
    mut others: impl Iterator<Item = &'a str>,
) -> String {
    let pretty = latex_name(name);
    let is_taken = RESERVED.iter().any(|word| latex_name(word) == pretty);
    if is_taken || others.any(|other| other != name && latex_name(other) == pretty) {
        return format!("\\mathtt{{{}}}", name.replace('_', "\\_").replace('^', "\\^{}"));
    }
    pretty
}

const GREEK: [&str; 22] = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "phi", "chi", "psi", "omega",
];
const LETTERS: &str = "αβγδεζηθικλμνξπρστφχψω";

/// Returns the name in LaTeX of a Greek letter that has one.
pub(crate) fn latex_letter(letter: char) -> Option<&'static str> {
    LETTERS.chars().position(|c| c == letter).map(|at| GREEK[at])
}

/// Returns a parameter's name in LaTeX: Greek letters by name, numbers as indices, words upright.
fn latex_name(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_alphanumeric() || "_[]".contains(c));
    if !plain {
        return format!("\\text{{{}}}", name.replace('_', "\\_").replace('^', "\\^{}"));
    }
    let cut = name
        .find(['_', '['])
        .or_else(|| name.find(|c: char| c.is_ascii_digit()))
        .filter(|at| *at > 0);
    let (base, index) = name.split_at(cut.unwrap_or(name.len()));
    let index: String = index.replace(['[', ']'], " ").replace('_', " ");
    let index: Vec<&str> = index.split_whitespace().collect();
    let mut letters = base.chars();
    let letter = letters.next().filter(|_| letters.next().is_none()).and_then(latex_letter);
    let base = match letter.unwrap_or(base) {
        b if GREEK.contains(&b) => format!("\\{b}"),
        b if b.chars().count() == 1 => b.to_owned(),
        b => format!("\\mathrm{{{b}}}"),
    };
    if index.is_empty() { base } else { format!("{base}_{{{}}}", index.join(",")) }
}
