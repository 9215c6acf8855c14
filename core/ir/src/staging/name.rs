//! Names.

/// Words that are not names.
const WORDS: [&str; 17] = [
    "fn", "struct", "rule", "let", "mut", "if", "else", "while", "for", "in", "break", "continue",
    "return", "true", "false", "none", "loop",
];

/// Returns true if functions and variables can have a name: letters, digits and `_`, no digit
/// first, and not a word of the language.
///
/// ```
/// use ketgrad_core::staging::is_name;
///
/// assert!(is_name("log_beta") && !is_name("let") && !is_name("2nd") && !is_name("a[0]"));
/// ```
#[must_use]
pub fn is_name(text: &str) -> bool {
    text.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !WORDS.contains(&text)
}
