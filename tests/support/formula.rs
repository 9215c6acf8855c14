//! Formulas in `+ - * / ^`, elementary functions, numbers and names: an independent reader of what
//! closed forms are printed as.

use std::ops::{AddAssign, DivAssign, MulAssign, Neg, SubAssign};

use ketgrad_core::{
    scalar::{Real, Scalar},
    trace::Expr,
};
use num_complex::Complex;

type C = Complex<f64>;

/// Value of a formula's text.
trait FormulaValue: Sized + AddAssign + SubAssign + MulAssign + DivAssign + Neg<Output = Self> {
    /// Returns `f(self)` for the name of a function, `None` if there is none.
    fn call(self, name: &str) -> Option<Self>;
    /// Returns the power; `whole` is the exponent if its text is a whole number.
    fn power(self, exponent: Self, whole: Option<u32>) -> Self;
}

/// Calls the function of one argument that a name stands for, a method of its argument. Of a
/// complex number it is num-complex's, since that number is passed by value.
macro_rules! call_by_name {
    ($x:expr, $name:expr) => {
        call_by_name!(
            $x, $name, exp ln sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
        )
    };
    ($x:expr, $name:expr, $($f:ident)*) => {
        match $name {
            $(stringify!($f) => Some($x.$f()),)*
            _ => None,
        }
    };
}

impl FormulaValue for C {
    fn call(self, name: &str) -> Option<C> {
        if name == "abs" { Some(self.norm().into()) } else { call_by_name!(self, name) }
    }
    fn power(self, exponent: C, _: Option<u32>) -> C {
        self.powc(exponent)
    }
}

impl FormulaValue for Expr {
    fn call(self, name: &str) -> Option<Expr> {
        if name == "abs" { Some(self.abs()) } else { call_by_name!(self, name) }
    }
    fn power(self, exponent: Expr, whole: Option<u32>) -> Expr {
        whole.map_or_else(|| self.pow(&exponent), |n| self.powi(n.into()))
    }
}

/// The value of a formula in numbers, `pi`, `i` and names; panics at what is no formula.
#[must_use]
pub fn evaluate(text: &str, values: &[(&str, f64)]) -> C {
    read(text, &|word| {
        let named = values.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
        match (word.parse::<f64>().ok().or(named), word) {
            (Some(number), _) => Some(number.into()),
            (None, "pi") => Some(std::f64::consts::PI.into()),
            (None, "i") => Some(C::i()),
            _ => None,
        }
    })
}

/// The expression of a formula in integers, `pi` and names; panics at what is no formula.
#[must_use]
pub fn expression(text: &str) -> Expr {
    read(text, &|word| {
        Some(match word.parse() {
            Ok(n) => Expr::int(n),
            Err(_) if word == "pi" => Expr::pi(),
            Err(_) => Expr::symbol(word),
        })
    })
}

fn read<V: FormulaValue>(text: &str, word: &dyn Fn(&str) -> Option<V>) -> V {
    let mut reader = Reader { rest: text, word };
    let value = reader.sum();
    assert!(reader.rest.trim().is_empty(), "{:?} is left of {text:?}", reader.rest);
    value
}

struct Reader<'a, V> {
    rest: &'a str,
    word: &'a dyn Fn(&str) -> Option<V>,
}

impl<V: FormulaValue> Reader<'_, V> {
    fn take(&mut self, symbol: char) -> bool {
        self.rest = self.rest.trim_start();
        let found = self.rest.strip_prefix(symbol);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn sum(&mut self) -> V {
        let mut sum = self.product();
        loop {
            if self.take('+') {
                sum += self.product();
            } else if self.take('-') {
                sum -= self.product();
            } else {
                return sum;
            }
        }
    }

    fn product(&mut self) -> V {
        let mut product = self.signed();
        loop {
            if self.take('*') {
                product *= self.signed();
            } else if self.take('/') {
                product /= self.signed();
            } else {
                return product;
            }
        }
    }

    fn signed(&mut self) -> V {
        if self.take('-') {
            return -self.signed();
        }
        let base = self.atom();
        if !self.take('^') {
            return base;
        }
        let start = self.rest;
        let exponent = self.signed();
        let text = &start[..start.len() - self.rest.len()];
        base.power(exponent, text.trim().parse().ok())
    }

    fn atom(&mut self) -> V {
        if self.take('(') {
            let value = self.sum();
            assert!(self.take(')'), "no `)` before {:?}", self.rest);
            return value;
        }
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || "_[].".contains(c)));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        let value = if rest.starts_with('(') { self.atom().call(word) } else { (self.word)(word) };
        value.unwrap_or_else(|| panic!("what is {word:?} before {rest:?}?"))
    }
}
