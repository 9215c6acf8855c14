//! Equations of [`simplify`](super::simplify()), as data that is checked when it is compiled.
//!
//! ```text
//! [x + 0.0 => x]        [-(x * y) => -x * y]        [powi(x, 2) => x * x]
//! ```
//!
//! A lower-case letter matches any value, `c` a constant that is neither 0 nor infinite nor NaN,
//! `r` a value that is not complex, a number with a point that real or complex constant, one
//! without a point that integer, `true` itself. Sums and products match in either order. Calls are
//! of the [op table](crate::ir), by the names in text. An operand of `+ - * /` that is none of
//! these, nor the negative of one, is in parentheses.
//!
//! A name or a number of operands that is not in the op table, a letter on the right that is not on
//! the left, and a left side that is no operation are compile errors.

use crate::ir::{Compare, Int1, Int2, Mixed, Number1, Number2, Op, Real1, Real2};

/// Equation, to be used from left to right.
#[derive(Debug)]
pub(super) struct RewriteRule {
    /// Outermost operation of the left side.
    pub(super) op: Op,
    pub(super) left: EquationTerm,
    pub(super) right: EquationTerm,
    /// True if every letter of the left side is on the right, too.
    pub(super) keeps_letters: bool,
}

/// Pattern: one side of an equation.
#[derive(Clone, Copy, Debug)]
pub(super) enum EquationTerm {
    Any(char),
    Number(f64),
    Int(i64),
    Bool(bool),
    Op(Op, &'static [EquationTerm]),
}

/// Lists equations, each in brackets.
macro_rules! equations {
    ($([$($equation:tt)*])*) => { &[$(sides!([] $($equation)*)),*] };
}

/// Splits an equation at its arrow.
macro_rules! sides {
    ([$($left:tt)*] => $($right:tt)*) => { RewriteRule::new(term!($($left)*), term!($($right)*)) };
    ([$($left:tt)*] $next:tt $($rest:tt)*) => { sides!([$($left)* $next] $($rest)*) };
}

/// One operand, or two with an operator between.
macro_rules! term {
    (- $f:ident ($($x:tt)*) $($rest:tt)*) => { infix!([- $f ($($x)*)] $($rest)*) };
    (- $x:tt $($rest:tt)*) => { infix!([- $x] $($rest)*) };
    ($f:ident ($($x:tt)*) $($rest:tt)*) => { infix!([$f ($($x)*)] $($rest)*) };
    ($x:tt $($rest:tt)*) => { infix!([$x] $($rest)*) };
}

/// What follows the first operand.
macro_rules! infix {
    ([$($x:tt)*]) => { operand!($($x)*) };
    ([$($x:tt)*] + $($y:tt)*) => { call!(add operand!($($x)*), operand!($($y)*)) };
    ([$($x:tt)*] - $($y:tt)*) => { call!(sub operand!($($x)*), operand!($($y)*)) };
    ([$($x:tt)*] * $($y:tt)*) => { call!(mul operand!($($x)*), operand!($($y)*)) };
    ([$($x:tt)*] / $($y:tt)*) => { call!(div operand!($($x)*), operand!($($y)*)) };
}

macro_rules! operand {
    (true) => { EquationTerm::Bool(true) };
    (false) => { EquationTerm::Bool(false) };
    ($x:ident) => { EquationTerm::Any(letter(stringify!($x))) };
    (($($x:tt)*)) => { term!($($x)*) };
    (- $n:literal) => { LiteralTerm(-$n).term() };
    (- $($x:tt)*) => { call!(neg operand!($($x)*)) };
    ($f:ident ($($x:tt)*)) => { arguments!($f [] [] $($x)*) };
    ($n:literal) => { LiteralTerm($n).term() };
}

/// Splits the arguments of a call at its commas.
macro_rules! arguments {
    ($f:ident [$(($($done:tt)*))*] [$($x:tt)*]) => {
        call!($f $(term!($($done)*),)* term!($($x)*))
    };
    ($f:ident [$($done:tt)*] [$($x:tt)*] , $($rest:tt)*) => {
        arguments!($f [$($done)* ($($x)*)] [] $($rest)*)
    };
    ($f:ident [$($done:tt)*] [$($x:tt)*] $next:tt $($rest:tt)*) => {
        arguments!($f [$($done)*] [$($x)* $next] $($rest)*)
    };
}

macro_rules! call {
    ($f:ident $($x:expr),*) => {
        EquationTerm::operation(stringify!($f), const { &[$($x),*] })
    };
}

/// Rules that hold to the last bit.
pub(super) const STRICT: &[RewriteRule] = equations! {
    [r * 1.0 => r]
    [r / 1.0 => r]
    [r * -1.0 => -r]
    [r / -1.0 => -r]
    [x - 0.0 => x]
    [-(-x) => x]
    [-(r + r) => r * -2.0]
    [x + (-y) => x - y]
    [x - (-y) => x + y]
    [(-x) * (-y) => x * y]
    [(-x) / (-y) => x / y]
    [scale(x, 0.0) => 0.0]
    [scale(x, c) => x * c]
    [scale(c, x) => c * x]
    [scale(1.0, x) => x]
    [guard(x, 0.0) => 0.0]
    [guard(x, c) => x]
    [conj(conj(z)) => z]
    [re(promote(x)) => x]
    [im(promote(x)) => 0.0]
    [re(complex(x, y)) => x]
    [im(complex(x, y)) => y]
    [re(conj(z)) => re(z)]
    [im(conj(z)) => -im(z)]
    [powi(x, 1) => x]
    [powi(x, 0) => 1.0]
    [powi(x, 2) => x * x]
    [cpowi(x, 1) => x]
    [select(true, x, y) => x]
    [select(false, x, y) => y]
    [select(b, x, x) => x]
    [not(not(b)) => b]
    [and(b, true) => b]
    [or(b, false) => b]
    [iadd(n, 0) => n]
    [isub(n, 0) => n]
    [imul(n, 1) => n]
};

/// Rules for real and complex numbers.
pub(super) const ALGEBRAIC: &[RewriteRule] = equations! {
    [x + 0.0 => x]
    [x * 1.0 => x]
    [x / 1.0 => x]
    [x * -1.0 => -x]
    [x / -1.0 => -x]
    [conj(promote(x)) => promote(x)]
    [-promote(x) => promote(-x)]
    [0.0 - x => -x]
    [x * 0.0 => 0.0]
    [0.0 / x => 0.0]
    [x - x => 0.0]
    [x / x => 1.0]
    [-(x * y) => -x * y]
    [(x * y) / y => x]
    [(x / y) * y => x]
    [recip(y) * y => 1.0]
    [(x * recip(y)) * y => x]
    [x * recip(y) => x / y]
    [1.0 / x => recip(x)]
    [recip(recip(x)) => x]
    [(x + y) - y => x]
    [(x - y) + y => x]
    [x + (x * y) => x * (y + 1.0)]
    [exp(ln(x)) => x]
    [ln(exp(r)) => r]
    [pow(x, 1.0) => x]
    [pow(x, 2.0) => x * x]
};

impl RewriteRule {
    const fn new(left: EquationTerm, right: EquationTerm) -> RewriteRule {
        let EquationTerm::Op(op, _) = left else { panic!("the left side is an operation") };
        let (given, used) = (left.letters(), right.letters());
        assert!(used & !given == 0, "the right side has a letter that the left side has not");
        RewriteRule { op, left, right, keeps_letters: given == used }
    }
}

impl EquationTerm {
    const fn operation(name: &str, args: &'static [EquationTerm]) -> EquationTerm {
        let op = op_by_name(name);
        assert!(n_operands(op) == args.len(), "the operation has another number of operands");
        let mut k = 0;
        while k < args.len() {
            let is_integer = matches!(args[k], EquationTerm::Int(_));
            assert!(!is_integer || takes_integers(op), "a real number has a point");
            k += 1;
        }
        EquationTerm::Op(op, args)
    }

    /// Returns its letters, the k-th of the alphabet as bit k.
    const fn letters(self) -> u32 {
        match self {
            EquationTerm::Any(name) => 1 << (name as u32 - 'a' as u32),
            EquationTerm::Op(_, args) => {
                let (mut letters, mut k) = (0, 0);
                while k < args.len() {
                    letters |= args[k].letters();
                    k += 1;
                }
                letters
            }
            _ => 0,
        }
    }
}

/// Literal as a term: a float or an integer, by the type that the literal has.
struct LiteralTerm<T>(T);

impl LiteralTerm<f64> {
    const fn term(self) -> EquationTerm {
        EquationTerm::Number(self.0)
    }
}

impl LiteralTerm<i64> {
    const fn term(self) -> EquationTerm {
        EquationTerm::Int(self.0)
    }
}

const fn letter(name: &str) -> char {
    match name.as_bytes() {
        [letter @ b'a'..=b'z'] => *letter as char,
        _ => panic!("a variable is a lower-case letter"),
    }
}

/// Returns the operation on numbers of the given name in text.
const fn op_by_name(name: &str) -> Op {
    macro_rules! search {
        ($($Class:ident)*) => {$(
            let mut k = 0;
            while k < $Class::ALL.len() {
                if is_same($Class::ALL[k].name(), name) {
                    return Op::$Class($Class::ALL[k]);
                }
                k += 1;
            }
        )*};
    }
    search!(Number1 Number2 Real1 Real2 Int1 Int2 Compare Mixed);
    assert!(is_same(name, "select"), "the op table has no operation of this name");
    Op::Select
}

const fn n_operands(op: Op) -> usize {
    match op {
        Op::Number1(_) | Op::Real1(_) | Op::Int1(_) => 1,
        Op::Mixed(op) => op.n_operands(),
        Op::Select => 3,
        _ => 2,
    }
}

/// Returns true if an operand may be an integer.
const fn takes_integers(op: Op) -> bool {
    !matches!(op, Op::Number1(_) | Op::Number2(_) | Op::Real1(_) | Op::Real2(_) | Op::Compare(_))
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut k = 0;
    while k < a.len() && k < b.len() && a[k] == b[k] {
        k += 1;
    }
    k == a.len() && k == b.len()
}
