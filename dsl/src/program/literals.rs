//! Literals that Rust reads differently from the language, found in the text of a body while it
//! compiles.
//!
//! # Quotients of int literals
//! In the language `1 / 2` is a half; in the Rust that the macro pastes it is 0. So an inexact
//! quotient of literals is a compile error instead of a silent difference. The body is read as
//! text:
//!
//! ```text
//! x * (1 / 2)      error: both sides are literals
//! (2 - 1) / 2      error: a group of literals counts as one
//! 4 / 2 * x        2 for both
//! x * 1 / 2        (x * 1) / 2: a real number for both
//! ```
//!
//! # Blocks inside expressions
//! The macro sees the statements of a block that is the value of a `let`, but not of one inside an
//! expression, `f({ let mut t = x; t += 1.0; t })`: there `t` would be another name of `x`. So
//! these are errors, too.

/// Fails to compile if a block is inside an expression.
pub const fn no_blocks_in_expressions(body: &str) {
    let text = body.as_bytes();
    let mut i = 0;
    while i < text.len() {
        assert!(
            !(text[i] == b'{' && is_inside(text, i)),
            "program!: a block inside an expression: give it a name first, `let y = {{ … }};`"
        );
        i += 1;
    }
}

/// Returns true if the text before a `{` makes it an operand.
const fn is_inside(text: &[u8], at: usize) -> bool {
    let before = back(text, at);
    before > 0
        && matches!(
            text[before - 1],
            b'(' | b'[' | b',' | b'+' | b'-' | b'*' | b'/' | b'%' | b'|' | b'&'
        )
}

/// Fails to compile if the body divides one int literal by another and the quotient is not exact.
pub const fn no_inexact_quotients(body: &str) {
    let text = body.as_bytes();
    let mut i = 0;
    while i < text.len() {
        let alone = text[i] == b'/' && !(i + 1 < text.len() && text[i + 1] == b'=');
        assert!(
            !alone || !is_inexact(text, i),
            "program!: a quotient of int literals such as `1 / 2` is 0 in Rust: write `0.5` or `1.0 / 2.0`"
        );
        i += 1;
    }
}

/// Returns true if the `/` at `at` is between literals and leaves a remainder.
const fn is_inexact(text: &[u8], at: usize) -> bool {
    let (left, single) = left_of(text, at);
    let right = right_of(text, at + 1);
    match (left, right) {
        (Some(a), Some(b)) => !single || b == 0 || a % b != 0,
        _ => false,
    }
}

/// Returns the product of literals that ends before `end`: the last literal, and whether it is the
/// only one. A group of literals is never the only one.
const fn left_of(text: &[u8], end: usize) -> (Option<u64>, bool) {
    let (mut last, mut n, mut at) = (0, 0, end);
    loop {
        at = back(text, at);
        let stop = at;
        let value = if at > 0 && text[at - 1] == b')' {
            at = opening(text, at - 1);
            n += 1;
            // A group that follows a callee is no group.
            let before = back(text, at);
            let called = before > 0
                && (is_word(text[before - 1])
                    || matches!(text[before - 1], b')' | b']' | b'!' | b'>'));
            if called || !is_of_literals(text, at, stop) { None } else { Some(0) }
        } else {
            while at > 0 && is_word(text[at - 1]) {
                at -= 1;
            }
            literal(text, at, stop)
        };
        let Some(value) = value else { return (None, false) };
        if n == 0 {
            last = value;
        }
        n += 1;
        let before = back(text, at);
        if before == 0 || !matches!(text[before - 1], b'*' | b'/' | b'%') {
            return (Some(last), n == 1);
        }
        at = before - 1;
    }
}

/// Returns the literal that begins after `start`; 0 for a group of literals, which no quotient by
/// it is taken for exact.
const fn right_of(text: &[u8], start: usize) -> Option<u64> {
    let mut at = start;
    while at < text.len() && (is_space(text[at]) || text[at] == b'-') {
        at += 1;
    }
    let from = at;
    if at < text.len() && text[at] == b'(' {
        return if is_of_literals(text, at, closing(text, at) + 1) { Some(0) } else { None };
    }
    while at < text.len() && is_word(text[at]) {
        at += 1;
    }
    literal(text, from, at)
}

/// Returns true if the text holds nothing but int literals and their operators.
const fn is_of_literals(text: &[u8], from: usize, to: usize) -> bool {
    let mut at = from;
    while at < to {
        let fits =
            matches!(text[at], b'(' | b')' | b'0'..=b'9' | b'_' | b'+' | b'-' | b'*' | b'/' | b'%');
        if !fits && !is_space(text[at]) {
            return false;
        }
        at += 1;
    }
    true
}

/// Returns the start of the group that ends at `at`.
const fn opening(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    loop {
        match text[at] {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        if depth == 0 || at == 0 {
            return at;
        }
        at -= 1;
    }
}

/// Returns the end of the group that begins at `at`.
const fn closing(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    loop {
        match text[at] {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 || at + 1 == text.len() {
            return at;
        }
        at += 1;
    }
}

/// Returns the int literal at this position, if there is one.
const fn literal(text: &[u8], from: usize, to: usize) -> Option<u64> {
    if from >= to {
        return None;
    }
    let prefixed = from + 2 < to && text[from] == b'0';
    let radix = match text[if prefixed { from + 1 } else { from }] {
        b'x' if prefixed => 16,
        b'o' if prefixed => 8,
        b'b' if prefixed => 2,
        _ => 10,
    };
    let first = if radix == 10 { from } else { from + 2 };
    let (mut value, mut at) = (0u64, first);
    while at < to {
        match (text[at] as char).to_digit(radix) {
            Some(digit) => value = value.wrapping_mul(radix as u64).wrapping_add(digit as u64),
            None if text[at] == b'_' && at > from => {}
            None => return None,
        }
        at += 1;
    }
    Some(value)
}

const fn back(text: &[u8], mut at: usize) -> usize {
    while at > 0 && is_space(text[at - 1]) {
        at -= 1;
    }
    at
}

const fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c == b'.' || !c.is_ascii()
}

const fn is_space(c: u8) -> bool {
    c.is_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_inside_expressions_are_found() {
        let inside = |text: &str| {
            (0..text.len()).any(|i| text.as_bytes()[i] == b'{' && is_inside(text.as_bytes(), i))
        };
        for text in ["f({ x })", "1.0 + { x }", "(|mut t| { t })(x)", "f(x, { y })"] {
            assert!(inside(text), "{text}");
        }
        for text in [
            "let y = { x };",
            "if c { x } else { y }",
            "Point { x: 1.0 }",
            "f(Point { x })",
            "while a < b { }",
            "; { x }",
        ] {
            assert!(!inside(text), "{text}");
        }
    }

    #[test]
    fn literals_over_literals_are_found() {
        let inexact = |text: &str| {
            (0..text.len()).any(|i| text.as_bytes()[i] == b'/' && is_inexact(text.as_bytes(), i))
        };
        for text in [
            "1 / 2",
            "x * (1/2)",
            "3 / 1_0",
            "2 * 3 / 4",
            "1 / (2 * 3)",
            "x + 1 / 2",
            "1 / 0",
            "x * ((2 - 1) / 2)",
            "(2 - 1) / 2",
            "x + (1 + (2)) / 2",
            "(1 * 3) * 3 / 2",
            "1 / -2",
            "1 / ((2) + 3)",
            "0x10 / 32",
            "0b1_1 / 0o2",
        ] {
            assert!(inexact(text), "{text}");
        }
        for text in [
            "1.0 / 2",
            "1 / 2.0",
            "4 / 2",
            "x * 1 / 2",
            "n / 2",
            "xs[0] / 2",
            "t.0 / 2",
            "f(1) / 2",
            "f (1) / 2",
            "(1 + n) / 2",
            "x * (4 - 1) / 2",
            "xs[(1)] / 2",
            "1 / ((2) * x)",
            "1 / (2 * n)",
            "1e3 / 7",
            "x / 3 / 2",
            "2 / x",
            "0x20 / 16",
            "x0 / 2",
            "2 / 0.5",
        ] {
            assert!(!inexact(text), "{text}");
        }
    }
}
