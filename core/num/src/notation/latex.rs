//! Names and functions in LaTeX's mathematics.
//!
//! ```text
//! theta_1  w[2]   step_size            x_bar_3       Gamma    Alpha
//! \theta_{1}  w_{2}  \mathrm{step}_{size}  \bar{x}_{3}  \Gamma  \mathrm{A}
//! ```

use std::fmt::Write;

use super::{Infix, Precedence};

/// Greek letters: name, letters of Unicode, LaTeX.
///
/// LaTeX has no commands for letters that look like Latin ones; such capitals are upright, like
/// `\Gamma`.
const GREEK: [(&str, &str, &str); 54] = [
    ("alpha", "α", "\\alpha"),
    ("beta", "β", "\\beta"),
    ("gamma", "γ", "\\gamma"),
    ("delta", "δ", "\\delta"),
    ("epsilon", "εϵ", "\\epsilon"),
    ("zeta", "ζ", "\\zeta"),
    ("eta", "η", "\\eta"),
    ("theta", "θ", "\\theta"),
    ("iota", "ι", "\\iota"),
    ("kappa", "κ", "\\kappa"),
    ("lambda", "λ", "\\lambda"),
    ("mu", "μµ", "\\mu"),
    ("nu", "ν", "\\nu"),
    ("xi", "ξ", "\\xi"),
    ("omicron", "ο", "o"),
    ("pi", "π", "\\pi"),
    ("rho", "ρ", "\\rho"),
    ("sigma", "σ", "\\sigma"),
    ("tau", "τ", "\\tau"),
    ("upsilon", "υ", "\\upsilon"),
    ("phi", "φϕ", "\\phi"),
    ("chi", "χ", "\\chi"),
    ("psi", "ψ", "\\psi"),
    ("omega", "ω", "\\omega"),
    ("varepsilon", "", "\\varepsilon"),
    ("vartheta", "ϑ", "\\vartheta"),
    ("varpi", "ϖ", "\\varpi"),
    ("varrho", "ϱ", "\\varrho"),
    ("varsigma", "ς", "\\varsigma"),
    ("varphi", "", "\\varphi"),
    ("Alpha", "Α", "\\mathrm{A}"),
    ("Beta", "Β", "\\mathrm{B}"),
    ("Gamma", "Γ", "\\Gamma"),
    ("Delta", "Δ", "\\Delta"),
    ("Epsilon", "Ε", "\\mathrm{E}"),
    ("Zeta", "Ζ", "\\mathrm{Z}"),
    ("Eta", "Η", "\\mathrm{H}"),
    ("Theta", "Θ", "\\Theta"),
    ("Iota", "Ι", "\\mathrm{I}"),
    ("Kappa", "Κ", "\\mathrm{K}"),
    ("Lambda", "Λ", "\\Lambda"),
    ("Mu", "Μ", "\\mathrm{M}"),
    ("Nu", "Ν", "\\mathrm{N}"),
    ("Xi", "Ξ", "\\Xi"),
    ("Omicron", "Ο", "\\mathrm{O}"),
    ("Pi", "Π", "\\Pi"),
    ("Rho", "Ρ", "\\mathrm{P}"),
    ("Sigma", "Σ", "\\Sigma"),
    ("Tau", "Τ", "\\mathrm{T}"),
    ("Upsilon", "Υ", "\\Upsilon"),
    ("Phi", "Φ", "\\Phi"),
    ("Chi", "Χ", "\\mathrm{X}"),
    ("Psi", "Ψ", "\\Psi"),
    ("Omega", "ΩΩ", "\\Omega"),
];

/// Returns a Greek letter in LaTeX, given by its name or as a character.
#[doc(hidden)]
pub fn latex_letter(letter: &str) -> Option<&'static str> {
    let mut chars = letter.chars();
    let single = chars.next().filter(|_| chars.next().is_none());
    let is_it = |name: &str, letters: &str| match single {
        Some(c) => letters.contains(c),
        None => name == letter,
    };
    GREEK.iter().find(|(name, letters, _)| is_it(name, letters)).map(|row| row.2)
}

/// Returns an identifier in LaTeX: Greek letters by name, words upright, numbers and the words
/// after the first as indices, a bar for a cotangent (`x_bar`), a dot for a tangent (`x_dot`). A
/// name with other characters is text. Different names may look the same: `x1` and `x_1`.
#[doc(hidden)]
pub fn latex_name(name: &str) -> String {
    if !name.chars().all(|c| c.is_alphanumeric() || "_[]".contains(c)) {
        return format!("\\text{{{}}}", latex_escaped(name));
    }
    let (mut rest, mut opened, mut closed) = (name, String::new(), Vec::new());
    while let Some((accent, inner, index)) = accented(rest) {
        let _ = write!(opened, "\\{accent}{{");
        closed.push(indexed("}".to_owned(), index));
        rest = inner;
    }
    let is_separator = |c: char| "_[".contains(c) || c.is_ascii_digit();
    // The first character is part of the letter or word.
    let cut = rest.char_indices().skip(1).find(|(_, c)| is_separator(*c));
    let (base, index) = rest.split_at(cut.map_or(rest.len(), |(at, _)| at));
    closed.reverse();
    format!("{opened}{}{}", indexed(letter_or_word(base), index), closed.concat())
}

/// Splits `x_bar_3` into accent, `x` and `3`.
fn accented(name: &str) -> Option<(&'static str, &str, &str)> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let index = &name[stem.len()..];
    let stem = stem.strip_suffix('_').unwrap_or(stem);
    let of = |accent| {
        let inner = stem.strip_suffix(accent)?.strip_suffix('_')?;
        Some((accent, inner, index)).filter(|_| !inner.is_empty())
    };
    of("bar").or_else(|| of("dot"))
}

fn letter_or_word(base: &str) -> String {
    match latex_letter(base) {
        Some(letter) => letter.to_owned(),
        None if base.is_ascii() && base.len() != 1 => format!("\\mathrm{{{}}}", upright(base)),
        None => upright(base),
    }
}

/// Returns a word for upright mathematics, which lacks letters beyond ASCII.
fn upright(word: &str) -> String {
    let text = latex_escaped(word);
    if word.is_ascii() { text } else { format!("\\text{{{text}}}") }
}

/// Adds indices, which `_` and brackets separate.
fn indexed(base: String, index: &str) -> String {
    let parts = index.split(['_', '[', ']']).filter(|part| !part.is_empty());
    let parts: Vec<String> = parts
        .map(|part| match latex_letter(part) {
            Some(letter) => letter.to_owned(),
            None => upright(part),
        })
        .collect();
    if parts.is_empty() { base } else { format!("{base}_{{{}}}", parts.join(",")) }
}

/// Returns the name of a function in LaTeX: `\sin`, `\arcsin`, `\operatorname{arsinh}`. The names
/// are those of the program language and of OpenQASM, and any other.
#[doc(hidden)]
pub fn latex_function(name: &str) -> String {
    match name {
        "sin" | "cos" | "tan" | "sinh" | "cosh" | "tanh" | "exp" | "ln" | "log" | "min" | "max"
        | "arcsin" | "arccos" | "arctan" => format!("\\{name}"),
        "asin" | "acos" | "atan" => format!("\\arc{}", &name[1..]),
        "asinh" | "acosh" | "atanh" => format!("\\operatorname{{ar{}}}", &name[1..]),
        "log2" => "\\log_2".to_owned(),
        "log10" => "\\log_{10}".to_owned(),
        _ if name.chars().count() == 1 => letter_or_word(name),
        _ => format!("\\operatorname{{{}}}", upright(name)),
    }
}

/// Returns the text of an operand, in parentheses if it binds weaker than `least`.
#[doc(hidden)]
pub fn latex_parenthesized((text, precedence): Infix, least: Precedence) -> String {
    if precedence < least { latex_in_parentheses(&text) } else { text }
}

/// Returns the text in parentheses of its height.
#[doc(hidden)]
pub fn latex_in_parentheses(text: &str) -> String {
    format!("\\left({text}\\right)")
}

/// Returns text for `\text`, with what is special in LaTeX escaped, and Greek letters.
#[doc(hidden)]
pub fn latex_escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                let _ = write!(out, "\\{c}");
            }
            '\\' => out.push_str("\\textbackslash{}"),
            '^' => out.push_str("\\^{}"),
            '~' => out.push_str("\\~{}"),
            '<' | '>' | '|' => {
                let _ = write!(out, "${c}$");
            }
            c if c.is_ascii() => out.push(c),
            c => match latex_letter(c.encode_utf8(&mut [0; 4])) {
                Some(letter) => {
                    let _ = write!(out, "${letter}$");
                }
                None => out.push(c),
            },
        }
    }
    out
}
