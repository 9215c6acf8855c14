//! Formulas of ketgrad's from and to Symbolica.
//!
//! The language is that of `ketgrad amplitudes`: `+ - * / ^`, functions by name, `pi`, `i`, and the
//! names of parameters, which may have an index (`w[0]`). Symbolica's own names are letters and
//! digits, so a parameter's name is spelled in those: `p`, then every other sign, and `Q`, as `Q`
//! hexadecimal `Q`.

use ketgrad_core::scalar::{Real, Scalar};
use num_complex::Complex;
use num_traits::{One, Zero};
use symbolica::{
    atom::{Atom, AtomCore, AtomView, Symbol},
    coefficient::CoefficientView,
    domains::float::RealLike,
    transcendental,
};

use crate::{NameError, Symbolic};

/// Symbols of parameters are in this namespace.
const NAMESPACE: &str = "ketgrad";
/// Formulas nested more deeply are refused rather than read.
const DEEPEST: usize = 200;

/// Error of a text that is no formula.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Another token than the expected one.
    #[error("expected {expected} at byte {at} of the formula, found {found}")]
    Unexpected {
        /// Position, in bytes from 0.
        at: usize,
        /// Expected tokens.
        expected: &'static str,
        /// Token that was found.
        found: String,
    },
    /// More brackets within brackets than are read.
    #[error("the formula is nested more than {DEEPEST} times at byte {at}")]
    Deep {
        /// Position, in bytes from 0.
        at: usize,
    },
    /// A function of something that is not real.
    #[error("{function} of a number with an imaginary part, before byte {at} of the formula")]
    Imaginary {
        /// Which.
        function: String,
        /// Position, in bytes from 0.
        at: usize,
    },
    /// A name that Symbolica does not take.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// Error of an expression that ketgrad's formulas do not have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what} has no place in a formula")]
pub struct WriteError {
    /// In Symbolica's notation.
    pub what: String,
}

/// The symbol of a parameter.
pub(crate) fn symbol(name: &str) -> Result<Symbol, NameError> {
    let mut spelled = "p".to_owned();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() && c != 'Q' {
            spelled.push(c);
        } else {
            spelled += &format!("Q{:x}Q", u32::from(c));
        }
    }
    Symbol::parse(spelled, NAMESPACE).map_err(|reason| NameError { name: name.to_owned(), reason })
}

/// The parameter of a symbol, if it is one's.
fn parameter(symbol: Symbol) -> Option<String> {
    let mut parts = symbol.get_stripped_name().strip_prefix('p')?.split('Q');
    let mut name = parts.next()?.to_owned();
    while let Some(code) = parts.next() {
        name.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        name += parts.next()?;
    }
    (symbol.get_namespace() == NAMESPACE).then_some(name)
}

/// Reads a formula as a real and an imaginary part.
///
/// # Errors
/// [`ReadError`] with the place.
pub fn read(text: &str) -> Result<Complex<Symbolic>, ReadError> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.sum()?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.unexpected("the end")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

type Value = Result<Complex<Symbolic>, ReadError>;

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, c: char, expected: &'static str) -> Result<(), ReadError> {
        if self.take(c) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn unexpected(&mut self, expected: &'static str) -> ReadError {
        let found = self.peek().map_or("the end".to_owned(), |c| format!("`{c}`"));
        ReadError::Unexpected { at: self.at, expected, found }
    }

    /// Everything up to a sign that is not among these.
    fn word(&mut self, inside: impl Fn(char) -> bool) -> &str {
        let rest = &self.text[self.at..];
        let length = rest.find(|c| !inside(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn sum(&mut self) -> Value {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ReadError::Deep { at: self.at });
        }
        let mut sum = self.product()?;
        loop {
            if self.take('+') {
                sum += self.product()?;
            } else if self.take('-') {
                sum -= self.product()?;
            } else {
                self.depth -= 1;
                return Ok(sum);
            }
        }
    }

    fn product(&mut self) -> Value {
        let mut product = self.signed()?;
        loop {
            if self.take('*') {
                product *= self.signed()?;
            } else if self.take('/') {
                product /= self.signed()?;
            } else {
                return Ok(product);
            }
        }
    }

    fn signed(&mut self) -> Value {
        let mut negative = false;
        while self.take('-') {
            negative = !negative;
        }
        let value = self.power()?;
        Ok(if negative { -value } else { value })
    }

    fn power(&mut self) -> Value {
        let base = self.atom()?;
        if !self.take('^') {
            return Ok(base);
        }
        let minus = self.take('-');
        let exponent = self.atom()?;
        let exponent = if minus { -exponent } else { exponent };
        match (base.im.0.is_zero(), whole(&exponent)) {
            (false, Some(n)) => Ok(Scalar::powi(&base, n)),
            (true, _) if exponent.im.0.is_zero() => {
                Ok(Complex::new(base.re.pow(&exponent.re), Symbolic::zero()))
            }
            _ => Err(ReadError::Imaginary { function: "a power".to_owned(), at: self.at }),
        }
    }

    fn atom(&mut self) -> Value {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let value = self.sum()?;
                self.expect(')', "`)`")?;
                Ok(value)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.name(),
            _ => Err(self.unexpected("a number, a name or `(`")),
        }
    }

    /// Whole numbers and short decimals are exact; what has an exponent, and what does not fit, is
    /// a float.
    fn number(&mut self) -> Value {
        let start = self.at;
        let word = self.word(|c| c.is_ascii_digit() || c == '.').to_owned();
        let rest = &self.text[self.at..];
        let digits = rest.strip_prefix(['e', 'E']).map(|r| r.strip_prefix(['+', '-']).unwrap_or(r));
        if digits.is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit())) {
            self.at += 1;
            self.at += usize::from(self.text[self.at..].starts_with(['+', '-']));
            self.word(|c| c.is_ascii_digit());
        } else if let Some(exact) = decimal(&word) {
            return Ok(exact.into());
        }
        match self.text[start..self.at].parse() {
            Ok(x) => Ok(Symbolic::lit(x).into()),
            Err(_) => {
                self.at = start;
                Err(self.unexpected("a number"))
            }
        }
    }

    fn name(&mut self) -> Value {
        let mut name = self.word(|c| c.is_alphanumeric() || c == '_').to_owned();
        if self.take('(') {
            let x = self.sum()?;
            self.expect(')', "`)`")?;
            return self.call(&name, x);
        }
        if self.text[self.at..].starts_with('[') {
            name += self.word(|c| c != ']');
            self.expect(']', "`]`")?;
            name.push(']');
        }
        Ok(match name.as_str() {
            "pi" => Symbolic::pi().into(),
            "i" => Complex::new(Symbolic::zero(), Symbolic::one()),
            _ => Symbolic::symbol(&name)?.into(),
        })
    }

    fn call(&mut self, name: &str, x: Complex<Symbolic>) -> Value {
        // e^(a + i b) = e^a (cos b + i sin b).
        if name == "exp" {
            let (size, angle) = (x.re.exp(), x.im);
            return Ok(Complex::new(&size * angle.cos(), size * angle.sin()));
        }
        let f: fn(&Symbolic) -> Symbolic = match name {
            "sin" => Scalar::sin,
            "cos" => Scalar::cos,
            "tan" => Scalar::tan,
            "asin" => Scalar::asin,
            "acos" => Scalar::acos,
            "atan" => Scalar::atan,
            "sinh" => Scalar::sinh,
            "cosh" => Scalar::cosh,
            "tanh" => Scalar::tanh,
            "asinh" => Scalar::asinh,
            "acosh" => Scalar::acosh,
            "atanh" => Scalar::atanh,
            "sqrt" => Scalar::sqrt,
            "ln" => Scalar::ln,
            _ => return Err(self.unexpected("a known function before this")),
        };
        if !x.im.0.is_zero() {
            return Err(ReadError::Imaginary { function: name.to_owned(), at: self.at });
        }
        Ok(f(&x.re).into())
    }
}

/// The fraction that digits with a point among them stand for, if 64 bits hold it.
fn decimal(word: &str) -> Option<Symbolic> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    let below = 10i64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    Some(Symbolic::ratio(format!("{whole}{fraction}").parse().ok()?, below))
}

/// The whole number that this is.
fn whole(x: &Complex<Symbolic>) -> Option<i64> {
    let value = x.re.primal().filter(|v| x.im.0.is_zero() && v.fract() == 0.0)?;
    (value.abs() <= f64::from(i32::MAX)).then_some(value as i64)
}

/// Writes an expression.
pub(crate) fn write(atom: AtomView<'_>) -> Result<String, WriteError> {
    let refused = || WriteError { what: format!("`{}`", atom.to_owned()) };
    match atom {
        AtomView::Num(number) => coefficient(number.get_coeff_view()).ok_or_else(refused),
        AtomView::Var(variable) => match variable.get_symbol() {
            s if s == Symbol::PI => Ok("pi".to_owned()),
            s if s == Symbol::E => Ok("exp(1)".to_owned()),
            s => parameter(s).ok_or_else(refused),
        },
        AtomView::Fun(call) => {
            let name = function(call.get_symbol()).filter(|_| call.get_nargs() == 1).ok_or_else(refused)?;
            Ok(format!("{name}({})", write(call.get(0))?))
        }
        AtomView::Pow(power) => {
            let (base, exponent) = power.get_base_exp();
            let base = write(base)?;
            Ok(format!("({base})^({})", write(exponent)?))
        }
        AtomView::Mul(product) => joined(product.iter(), "*"),
        AtomView::Add(sum) => joined(sum.iter(), " + "),
    }
}

/// Each part in brackets if it is more than a word.
fn joined<'a>(parts: impl Iterator<Item = AtomView<'a>>, sign: &str) -> Result<String, WriteError> {
    let parts: Result<Vec<String>, WriteError> = parts
        .map(|part| {
            let text = write(part)?;
            let plain = matches!(part, AtomView::Var(_) | AtomView::Fun(_) | AtomView::Pow(_));
            Ok(if plain || sign == " + " && matches!(part, AtomView::Mul(_)) {
                text
            } else {
                format!("({text})")
            })
        })
        .collect();
    Ok(parts?.join(sign))
}

/// A real number.
fn coefficient(number: CoefficientView<'_>) -> Option<String> {
    match number {
        CoefficientView::Natural(n, 1, 0, _) => Some(n.to_string()),
        CoefficientView::Natural(n, d, 0, _) => Some(format!("{n}/{d}")),
        other if other.is_real() => {
            let exact = other.is_float().then_some(());
            match exact {
                // Digits, and a line between them.
                None => Some(Atom::num(other.to_owned()).to_canonical_string()),
                Some(()) => {
                    let x = other.to_float(f64::MANTISSA_DIGITS).ok()?.re.to_f64();
                    x.is_finite().then(|| format!("{x:?}"))
                }
            }
        }
        _ => None,
    }
}

/// The name of a function of one number.
fn function(symbol: Symbol) -> Option<&'static str> {
    let known = [
        (Symbol::SIN, "sin"),
        (Symbol::COS, "cos"),
        (Symbol::EXP, "exp"),
        (Symbol::LOG, "ln"),
        (Symbol::SQRT, "sqrt"),
        (transcendental::tan(), "tan"),
        (transcendental::asin(), "asin"),
        (transcendental::acos(), "acos"),
        (transcendental::atan(), "atan"),
        (transcendental::sinh(), "sinh"),
        (transcendental::cosh(), "cosh"),
        (transcendental::tanh(), "tanh"),
        (transcendental::asinh(), "asinh"),
        (transcendental::acosh(), "acosh"),
        (transcendental::atanh(), "atanh"),
    ];
    known.into_iter().find(|(s, _)| *s == symbol).map(|(_, name)| name)
}
