//! The program language: text to IR.
//!
//! ```
//! use ketgrad_core::text::parse_program;
//!
//! let program = parse_program(
//!     "struct Point { x, y }
//!      fn distance(p: Point, q: Point) { let dx = p.x - q.x; let dy = p.y - q.y; sqrt(dx * dx + dy * dy) }
//!      fn power(x, n: int) -> real { let mut p = 1.0; for i in 0..n { p *= x; } p }
//!      rule softplus(x) { ln(1.0 + exp(x)) }
//!      pullback(x, y, y_bar) { y_bar / (1.0 + exp(-x)) }",
//! ).unwrap();
//! assert_eq!(program.functions[program.lookup("distance").unwrap()].params.len(), 2);
//!
//! let errors = parse_program("fn f(x) { sine(x) }").unwrap_err();
//! assert_eq!(errors[0].to_string(), "1:11: no function `sine`: did you mean `sin`?");
//! ```
//!
//! # The language
//! - **Kinds**: `real` (the default for parameters), `complex`, `int`, `bool`, `handle`, `array`
//!   (of real; `array<complex>`, `array<int>`), tuples `(real, int)`, structs. A real number is
//!   promoted if it is combined with a complex one. An int is converted to a real by `real(n)`; a
//!   literal takes the kind that fits, and so does a value that consists of literals, `[1, 2]`,
//!   `[0; n]` or `if c { 1 } else { 2 }`; `1/2` is a half.
//! - **Statements**: `let`, `let mut`, `let (a, b)`, `=`, `+=`, `-=`, `*=`, `/=` on variables,
//!   elements and fields; `if`, `while`, `for i in a..b`, `a..=b`, `break`, `continue`, `return`.
//!   Blocks scope; the last expression without `;` is the value, and the last statement needs none.
//! - **Expressions**: arithmetic, comparisons, `&& || !`, calls `f(x)` and `x.f()`, `xs[i]`,
//!   `a[i, j]`, `[a, b]`, `[e; n]`, `(a, b)`, `t.0`, `p.x`, `Point { x: a, y: b }`, `if` as a
//!   value. `&x` is x: Rust needs it for a variable that is used again.
//! - **Names**: the file's functions in any order, the functions registered in [`Rules`], and every
//!   op of the [op table](crate::ir::table). `log` is `ln`; `len`, `sum`, `select`, `real`. A
//!   registered `f.complex` is the version of `f` for complex numbers. Registered functions of
//!   numbers work element by element on arrays, like the functions of the language; an int among
//!   the arguments is the same for all elements.
//! - **Arrays** have a shape: `[[1.0, 2.0], [3.0, 4.0]]` has `[2, 2]`, `full(0.0, [2, 3])` another,
//!   `[xs, ys]` stacks two arrays and `[xs; n]` has n times the same row. Operators and functions
//!   of numbers work element by element, with [broadcasting](crate::array#broadcasting). `a[i, j]`,
//!   or `a[(i, j)]` as in Rust, is an element; `a[k]` the k-th of all `len(a)` elements in
//!   row-major order. The other functions are those of the
//!   [table of array operations](crate::ir::arrays) and those composed of them,
//!   [`Composed`](crate::staging::Composed):
//!
//! ```
//! use ketgrad_core::{exec::{Datum, Derivatives}, text::parse_program};
//!
//! let source = "fn loss(w: array, b: array) {
//!     let x = [[0.5, -1.0], [2.0, 0.25], [1.0, 1.0]];
//!     let y = tanh(matmul(x, w) + b);
//!     mean(y * y)
//! }";
//! let program = parse_program(source)?;
//! let mut loss = Derivatives::<f64>::new(&program, "loss")?;
//! let w = Datum::reals_of(&[2, 1], vec![0.0, 1.0])?;
//! let gradient = loss.gradient(&[w, Datum::reals([0.0])])?;
//! assert_eq!(gradient[0].to_string().matches(", ").count(), 1); // [[…], […]]
//!
//! // Shapes are checked when a program is read, as far as they are known, else when it runs.
//! let narrow = Datum::reals_of(&[1, 2], vec![0.0, 1.0])?;
//! let error = loss.value(&[narrow, Datum::reals([0.0])]).unwrap_err();
//! let expected = "3:18: `matmul` takes matrices m x k and k x n, given [3, 2] and [1, 2]";
//! assert_eq!(error.to_string(), expected);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! - **Lengths**: `norm`, `hypot` and `abs` have the derivative 0 at the origin, and no second one.
//!   Their squares have: a length times itself, `r * r`, or `powi(r / s, 2)`, is computed from the
//!   vector itself. Through a function, as in `square(norm(a))`, that is not recognized, and second
//!   derivatives at the origin are NaN.
//! - **Special functions** of real numbers: `erf`, `erfc`, `lgamma`, `digamma` and its n-th
//!   derivative `polygamma(n, x)`, `sigmoid`, `softplus`, `logaddexp(x, y)`. None overflows in
//!   between.
//! - **Random numbers** come from keys, which are ints:
//!   `let k = key(7); let (a, b) = split(k); rand(a, [n]) + randn(b, [n])`. A key gives the same
//!   numbers on every machine and every number type, to its rounding, whatever was drawn before; so
//!   it is used once, and split or folded (`fold_in(k, i)`) for more. They are constants: no
//!   derivative passes through them.
//! - **Derivatives** of functions of the text are functions, to be called: `grad(f)(x)` by the
//!   first parameter, `value_and_grad(f)(x)`, `jvp(f)(x, x_dot)` (value and tangent),
//!   `vjp(f)(x, y_bar)`, `hessian(f)(x)`. They nest, `grad(grad(f))(x)`, and are differentiated
//!   from outside like ordinary functions. `matrix_function(f)(a)` applies a function of one number
//!   to a symmetric matrix, `V diag(f(w)) V^T` of its eigenvalues and eigenvectors, with
//!   derivatives also where eigenvalues are equal. `f::grad(x)` is another way to write
//!   `grad(f)(x)`, the one that the macro `program!` has.
//! - **Comparisons** with an array, of real numbers or of ints, work element by element and return
//!   1 and 0, by which `masked` selects: `masked(x < y, a, b)`. `step(x, y)` is `x >= y`;
//!   `cmp(n, m)` of ints is -1, 0 or 1. In the macro a comparison is a condition, so it has only
//!   `step` and `cmp`.
//! - **Constants**: no derivative passes through `detach(x)`.
//! - **A rule** has a primal, and if given a pullback of the inputs, the result and its cotangent,
//!   which returns the inputs' cotangents in order, `none` for one that has none; and if given a
//!   pushforward of the inputs and their tangents. One of them suffices for both modes: the other
//!   is its transpose, since both are linear in the (co)tangents.
//!   `Derivatives` of numbers that carry derivatives themselves
//!   ([duals](crate::scalar)) use it too.
//!
//! No input makes the parser panic or exhaust the stack: nesting is limited, and chains like
//! `a + b + …` are not nested. Nor does any input exhaust the memory or run forever: [`TextLimits`]
//! bound the text and the program that is built.

mod ast;
mod error;
mod infer;
mod lexer;
mod limits;
mod lower;
mod parser;

use std::ops::Range;

use ast::TextSpan;
pub use error::{TextError, TextErrorKind};
use lexer::TextToken;
pub use limits::TextLimits;
use limits::is_full;

use crate::{
    errors::Errors,
    ir::{Position, Program, ShapeError, check_all_shapes},
    rules::Rules,
};

/// Parses a program.
///
/// # Errors
/// All errors in it, with line and column.
pub fn parse_program(source: &str) -> Result<Program, Errors<TextError>> {
    parse_program_with(source, &Rules::new())
}

/// Parses a program that may call registered functions.
///
/// # Errors
/// See [`parse_program`].
pub fn parse_program_with(source: &str, rules: &Rules) -> Result<Program, Errors<TextError>> {
    parse_program_within(source, rules, &TextLimits::new())
}

/// Parses a program that may call registered functions, within limits of its size.
///
/// # Errors
/// See [`parse_program`]; also if a limit is exceeded.
pub fn parse_program_within(
    source: &str,
    rules: &Rules,
    limits: &TextLimits,
) -> Result<Program, Errors<TextError>> {
    let tokens = lexer::lex(source, limits)?;
    let items = parser::parse(&tokens)?;
    let program = lower::lower(&items, rules, limits)?;
    Errors::none_in(misfits(&tokens, &program, rules)).map(|()| program)
}

/// Returns the shapes in the text that do not fit. Those of registered functions were checked at
/// their registration.
fn misfits(tokens: &[(TextToken, TextSpan)], program: &Program, rules: &Rules) -> Vec<TextError> {
    let mut errors = Vec::new();
    let own = program.functions.keys().skip(rules.program().functions.len());
    let defined = own.filter(|&f| program.functions[f].is_defined());
    for ShapeError { at, source: kind, .. } in check_all_shapes(program, defined) {
        let Some(Range { start, end }) = begun_at(tokens, at) else { continue };
        let error = TextError { at, start, end, kind: TextErrorKind::Shapes(kind) };
        if !errors.contains(&error) {
            errors.push(error);
        }
        if is_full(&mut errors) {
            break;
        }
    }
    errors
}

/// Returns the byte range of the token that begins at a line and column, such as the position of a
/// run-time error. The text is lexed for it again: a program holds no tokens, and most never fail.
///
/// ```
/// use ketgrad_core::{ir::Position, text::token_at};
///
/// assert_eq!(token_at("fn f(x) {\n  sin(x)\n}", Position::new(2, 3)), Some(12..15));
/// assert_eq!(token_at("fn f(x) { x }", Position::new(1, 4)), Some(3..4));
/// assert_eq!(token_at("fn f(x) { x }", Position::new(7, 1)), None);
/// ```
#[must_use]
pub fn token_at(source: &str, at: Position) -> Option<Range<usize>> {
    begun_at(&lexer::lex(source, &TextLimits::new()).ok()?, at)
}

fn begun_at(tokens: &[(TextToken, TextSpan)], at: Position) -> Option<Range<usize>> {
    let (_, span) = &tokens[tokens.binary_search_by_key(&at, |(_, span)| span.at).ok()?];
    Some(span.start..span.end)
}

/// Returns the name of the entry of a program that was parsed with these rules: the last function
/// of its text.
///
/// ```
/// use ketgrad_core::{rules::Rules, text::{entry, parse_program}};
///
/// let program = parse_program("fn f(x) { x * x } fn g(x) { grad(f)(x) }")?;
/// assert_eq!(entry(&program, &Rules::new()), Some("g"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn entry<'a>(program: &'a Program, rules: &Rules) -> Option<&'a str> {
    // They follow those of the rules; names that are not from a text contain a dot.
    let own = program.functions.values().skip(rules.program().functions.len());
    own.map(|f| f.name.as_str()).take_while(|name| !name.contains('.')).last()
}
