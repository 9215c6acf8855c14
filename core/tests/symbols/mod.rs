//! Formulas as text for the laws of symbols: `+ - * / ^`, functions, `pi` and names, read into
//! expressions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laws;
mod sympy;

use ketgrad_core::{
    scalar::{Real, Scalar},
    trace::Expr,
};

/// The expression of a text; panics at what is none.
fn read(text: &str) -> Expr {
    let mut reader = Reader { rest: text };
    let value = reader.sum();
    assert!(reader.rest.trim().is_empty(), "{:?} is left of {text:?}", reader.rest);
    value
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn take(&mut self, symbol: char) -> bool {
        self.rest = self.rest.trim_start();
        let found = self.rest.strip_prefix(symbol);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn sum(&mut self) -> Expr {
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

    fn product(&mut self) -> Expr {
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

    fn signed(&mut self) -> Expr {
        if self.take('-') {
            return -self.signed();
        }
        let base = self.atom();
        if !self.take('^') {
            return base;
        }
        self.rest = self.rest.trim_start();
        let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        if digits == 0 {
            return base.pow(&self.signed());
        }
        let (n, rest) = self.rest.split_at(digits);
        self.rest = rest;
        base.powi(n.parse().unwrap())
    }

    fn atom(&mut self) -> Expr {
        if self.take('(') {
            let value = self.sum();
            assert!(self.take(')'), "no `)` before {:?}", self.rest);
            return value;
        }
        let end = self.rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if let Ok(n) = word.parse() {
            return Expr::int(n);
        }
        if !rest.starts_with('(') {
            return if word == "pi" { Expr::pi() } else { Expr::symbol(word) };
        }
        let x = self.atom();
        match word {
            "sqrt" => x.sqrt(),
            "exp" => x.exp(),
            "ln" => x.ln(),
            "abs" => x.abs(),
            "sin" => x.sin(),
            "cos" => x.cos(),
            "tan" => x.tan(),
            "asin" => x.asin(),
            "acos" => x.acos(),
            "atan" => x.atan(),
            "sinh" => x.sinh(),
            "cosh" => x.cosh(),
            "tanh" => x.tanh(),
            "asinh" => x.asinh(),
            "acosh" => x.acosh(),
            "atanh" => x.atanh(),
            _ => panic!("what is {word:?} before {rest:?}?"),
        }
    }
}
