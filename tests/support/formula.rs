//! The value of a formula in `+ - * / ^`, elementary functions, `pi`, `i` and names: an independent
//! reader of what closed forms are printed as.

use num_complex::Complex;

type C = Complex<f64>;

/// The value of a formula; panics at what is no formula.
#[must_use]
pub fn evaluate(text: &str, values: &[(&str, f64)]) -> C {
    let mut reader = Reader { rest: text, values };
    let value = reader.sum();
    assert!(reader.rest.trim().is_empty(), "{:?} is left of {text:?}", reader.rest);
    value
}

struct Reader<'a> {
    rest: &'a str,
    values: &'a [(&'a str, f64)],
}

impl Reader<'_> {
    fn take(&mut self, symbol: char) -> bool {
        self.rest = self.rest.trim_start();
        let found = self.rest.strip_prefix(symbol);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn sum(&mut self) -> C {
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

    fn product(&mut self) -> C {
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

    fn signed(&mut self) -> C {
        if self.take('-') {
            return -self.signed();
        }
        let base = self.atom();
        if self.take('^') { base.powc(self.signed()) } else { base }
    }

    fn atom(&mut self) -> C {
        if self.take('(') {
            let value = self.sum();
            assert!(self.take(')'), "no `)` before {:?}", self.rest);
            return value;
        }
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || "_[].".contains(c)));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        if let Ok(number) = word.parse::<f64>() {
            return number.into();
        }
        if let Some((_, value)) = self.values.iter().find(|(name, _)| *name == word) {
            return (*value).into();
        }
        match word {
            "pi" => std::f64::consts::PI.into(),
            "i" => C::i(),
            "cos" => self.atom().cos(),
            "sin" => self.atom().sin(),
            "exp" => self.atom().exp(),
            "sqrt" => self.atom().sqrt(),
            "ln" => self.atom().ln(),
            "abs" => self.atom().norm().into(),
            "tan" => self.atom().tan(),
            "asin" => self.atom().asin(),
            "acos" => self.atom().acos(),
            "atan" => self.atom().atan(),
            "sinh" => self.atom().sinh(),
            "cosh" => self.atom().cosh(),
            "tanh" => self.atom().tanh(),
            "asinh" => self.atom().asinh(),
            "acosh" => self.atom().acosh(),
            "atanh" => self.atom().atanh(),
            _ => panic!("what is {word:?} before {rest:?}?"),
        }
    }
}
