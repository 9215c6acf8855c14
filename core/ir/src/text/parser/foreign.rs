//! Hints for the syntax of other languages where this one has another or none.

use crate::staging::Builtin;

use super::super::lexer::TextToken;

/// Returns a hint for `token`, if it is more specific than `expected`, which is what the grammar
/// allows.
pub(super) fn advice(
    before: &TextToken,
    token: &TextToken,
    after: &TextToken,
    expected: &str,
) -> Option<&'static str> {
    use TextToken::{Int, Mark, Name, Real};
    let value = expected == "an expression";
    let word = |token: &TextToken| match token {
        Name(name) => name.clone(),
        _ => String::new(),
    };
    let (before_word, this_word) = (word(before), word(token));
    Some(match (before, token, after) {
        (_, Mark("^" | "**"), _) => "`pow(x, y)` or `powi(x, n)`: there is no operator for powers",
        (Mark("+"), Mark("+"), _) => "an expression: there is no `++`, write `n += 1`",
        (Mark("<"), Mark("<"), _) | (Mark(">"), Mark(">"), _) => {
            "an expression: ints are not shifted, multiply or divide"
        }
        (_, Mark("#"), _) | (_, Mark("/"), Mark("*")) if value => {
            "an expression: comments start with `//`"
        }
        (_, Mark("/"), Mark("*")) if expected.starts_with("`fn`") => {
            "`fn`, `struct` or `rule`: comments start with `//`"
        }
        (_, Mark("#"), _) => "an operator or an end: comments start with `//`",
        (_, Mark("|"), _) => {
            "an expression: there are no closures, write a function `fn g(y) { … }` beside this one"
        }
        (_, Mark("."), Int(_)) if value => "an expression: a number starts with a digit, `0.5`",
        (_, Mark(":"), Mark(":")) => "an operator or an end: names have no paths, write `sin(x)`",
        (_, Mark(".."), _) if expected == "`]`" => {
            "`]`: a part of an array is `slice(x, axis, start, length)`, a row `row(x, i)`"
        }
        (_, Mark(".."), _) => "a range after `in` only and without parentheses, `for i in 0..n`",
        (_, Mark("{"), _) if expected == "`..` or `..=`" => {
            "`..` or `..=`: a loop runs over a range, `for i in 0..len(xs) { … xs[i] … }`"
        }
        (_, Mark("["), _) if expected == "a kind" => {
            "a kind: arrays are `array`, `array<complex>` or `array<int>`"
        }
        (_, Mark(";"), _) if expected == "`=`" => "`=`: a variable has a value from the start",
        (_, Mark("("), _) if expected == "a variable" => {
            "a variable: take a tuple in a tuple apart with another `let`"
        }
        (_, Mark("="), _) if expected == "`)`" => "`)`: parameters have no values of their own",
        (Name(_), Mark("!"), _) => {
            "an operator or an end: there are no macros, and an array is `[a, b]`"
        }
        (Int(_) | Real(_), Name(unit), _) if ["i", "j", "im"].contains(&unit.as_str()) => {
            "an operator: an imaginary number is `complex(0.0, 2.0)`"
        }
        (Int(0), Name(digits), _) if digits.starts_with(['x', 'b', 'o']) => {
            "an operator or an end: numbers are decimal"
        }
        (Int(_) | Real(_), Name(_), _) if expected != "`{`" && !is_word(&this_word) => {
            "an operator: a product is written `2 * x`"
        }
        _ => match (before_word.as_str(), this_word.as_str()) {
            ("match", _) => "`if … { … } else if … { … } else { … }`: there is no `match`",
            (_, "loop") => "`while true { … }`: there is no `loop`",
            (_, "as") => "`real(n)` of an int or `complex(a, b)`: there is no `as`",
            (_, "fn") if value => {
                "an expression: functions are beside each other, not in each other"
            }
            (_, "mut") if expected == "the name of a parameter" => {
                "the name of a parameter: to change it, write `let mut x = x;` in the body"
            }
            (_, "const" | "static") if expected.starts_with("`fn`") => {
                "`fn`, `struct` or `rule`: a constant is a function without parameters, `fn g() { 9.81 }`"
            }
            (_, "impl") => {
                "`fn`, `struct` or `rule`: a function of a struct takes it as a parameter"
            }
            (_, "def" | "function" | "pub" | "let") if expected.starts_with("`fn`") => {
                "`fn`, `struct` or `rule`: a function is `fn f(x) { … }`"
            }
            (name, _)
                if matches!(token, Name(_) | Int(_) | Real(_))
                    && Builtin::by_name(name).is_some() =>
            {
                "`(`: a function takes its operands in parentheses, `sin(x)`"
            }
            _ => return None,
        },
    })
}

fn is_word(name: &str) -> bool {
    ["as", "if", "else", "in", "let", "fn", "while", "for", "loop", "return", "break", "continue"]
        .contains(&name)
}

/// Returns the name in this language of a kind or a function that other languages call by this
/// name.
pub(in crate::text) fn own_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "f64" | "f32" | "float" | "double" | "number" | "Float64" | "Real" => "real",
        "i64" | "i32" | "isize" | "usize" | "u64" | "u32" | "integer" | "Int" | "Int64" => "int",
        "Complex" | "c64" | "complex128" | "ComplexF64" => "complex",
        "Vec" | "Array" | "list" | "vector" | "matrix" | "Vector" | "Matrix" | "ndarray" => "array",
        "boolean" | "Bool" => "bool",
        "length" | "size" => "len",
        "fabs" => "abs",
        "imag" => "im",
        "conjugate" => "conj",
        "angle" => "arg",
        "arcsin" => "asin",
        "arccos" => "acos",
        "arctan" => "atan",
        "arctan2" => "atan2",
        "fmod" | "mod" => "rem",
        "zeros" | "ones" | "fill" => "full",
        "inverse" => "inv",
        "stop_gradient" | "ignore_derivatives" | "dropgrad" | "no_grad" => "detach",
        "stack" | "vstack" | "cat" | "concatenate" | "hcat" | "vcat" => "concat",
        "where" => "masked",
        "ifelse" | "cond" => "select",
        "relu" => "max",
        "logdet" | "slogdet" => "logabsdet",
        "index_select" => "gather",
        _ => return None,
    })
}
