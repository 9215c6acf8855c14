//! Normal forms as text and in LaTeX.

use super::{
    Normal,
    atoms::{Atom, AtomProduct, TrigFactor},
    factor::Factored,
    hyperbolic::collected,
    sum::{BigFraction, NormalSum, rank, whole},
};
use crate::{
    exact::latex_name_beside,
    notation::{latex_function, latex_in_parentheses, sign_of_term},
};
use num_traits::Signed;
use std::{collections::BTreeSet, fmt};

/// The text in sums and products.
impl fmt::Display for Normal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = BTreeSet::new();
        note_symbols(&self.0, &mut names);
        f.pad(&NormalWriter { latex: false, names }.sum(&self.0))
    }
}

impl fmt::Display for Factored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&factored(self, false))
    }
}

pub(super) fn latex(sum: &NormalSum) -> String {
    let mut names = BTreeSet::new();
    note_symbols(sum, &mut names);
    NormalWriter { latex: true, names }.sum(sum)
}

/// Writes the text; the factors are written as a term whose factors of several terms are below the
/// line twice.
pub(super) fn factored(of: &Factored, latex: bool) -> String {
    let mut names = BTreeSet::new();
    note_symbols(of.leading_term(), &mut names);
    of.sums().iter().for_each(|(sum, _)| note_symbols(sum, &mut names));
    let writer = NormalWriter { latex, names };
    if let [(sum, 1)] = of.sums()
        && of.leading_term().fraction().is_some_and(|q| q == whole(1))
    {
        return writer.sum(sum);
    }
    let Some((product, q)) = of.leading_term().terms().first_key_value() else {
        return "0".to_owned();
    };
    let mut product = product.clone();
    for (sum, e) in of.sums() {
        product.powers.push((Atom::Inverse(sum.clone()), -e));
    }
    let sign = if q.is_negative() { "-" } else { "" };
    format!("{sign}{}", writer.term(&product, q))
}

/// Collects the names of the inputs.
fn note_symbols<'a>(sum: &'a NormalSum, names: &mut BTreeSet<&'a str>) {
    for product in sum.terms().keys() {
        if let TrigFactor::Cos(x) | TrigFactor::Sin(x) = &product.trig {
            note_symbols(x, names);
        }
        for (atom, _) in &product.powers {
            match atom {
                Atom::Symbol(name) => drop(names.insert(name)),
                Atom::Call(_, args) => args.iter().for_each(|x| note_symbols(x, names)),
                Atom::Inverse(sum) => note_symbols(sum, names),
                Atom::Pi | Atom::Float(_) | Atom::Root(_) => {}
            }
        }
    }
}

struct NormalWriter<'a> {
    latex: bool,
    /// Names of all inputs.
    names: BTreeSet<&'a str>,
}

impl NormalWriter<'_> {
    fn is_latex(&self) -> bool {
        self.latex
    }

    fn sum(&self, sum: &NormalSum) -> String {
        let sum = collected(sum);
        let mut terms: Vec<_> = sum.terms().iter().collect();
        terms.sort_by(|a, b| rank(b.0, a.0));
        let mut text = String::new();
        for (k, (product, q)) in terms.into_iter().enumerate() {
            text += sign_of_term(k == 0, q.is_negative());
            text += &self.term(product, q);
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }

    /// Returns a term without its sign.
    fn term(&self, product: &AtomProduct, q: &BigFraction) -> String {
        let (mut above, mut below) = (Vec::new(), Vec::new());
        let root: i128 = product
            .powers
            .iter()
            .filter_map(|p| if let Atom::Root(n) = p.0 { Some(n) } else { None })
            .product();
        if root != 1 {
            above.push(self.call("sqrt", &[root.to_string()]));
        }
        let constants = product.powers.iter().filter(|p| matches!(p.0, Atom::Pi | Atom::Float(_)));
        let others = product
            .powers
            .iter()
            .filter(|p| !matches!(p.0, Atom::Pi | Atom::Float(_) | Atom::Root(_)));
        for (atom, e) in constants.chain(others) {
            let inverted = matches!(atom, Atom::Inverse(_));
            let word = self.power(atom, e.unsigned_abs());
            if (*e < 0) == inverted { above.push(word) } else { below.push(word) }
        }
        match &product.trig {
            TrigFactor::None => {}
            TrigFactor::Cos(x) => above.push(self.call("cos", &[self.sum(x)])),
            TrigFactor::Sin(x) => above.push(self.call("sin", &[self.sum(x)])),
        }
        let (n, d) = (q.numer().magnitude(), q.denom());
        if *n != 1u8.into() || above.is_empty() {
            above.insert(0, n.to_string());
        }
        if *d != 1.into() {
            below.insert(0, d.to_string());
        }
        let sign = if self.is_latex() { " " } else { "*" };
        let (above, one, below) = (above.join(sign), below.len() == 1, below.join(sign));
        match (below.is_empty(), self.is_latex()) {
            (true, _) => above,
            (false, true) => format!("\\frac{{{above}}}{{{below}}}"),
            (false, false) if one => format!("{above}/{below}"),
            (false, false) => format!("{above}/({below})"),
        }
    }

    fn power(&self, atom: &Atom, e: u32) -> String {
        let base = match atom {
            Atom::Symbol(name) if self.is_latex() => {
                latex_name_beside(name, self.names.iter().copied())
            }
            Atom::Symbol(name) => name.clone(),
            Atom::Pi if self.is_latex() => "\\pi".to_owned(),
            // An input has that name: pi is spelled out.
            Atom::Pi if self.names.contains("pi") => "acos(-1)".to_owned(),
            Atom::Pi => "pi".to_owned(),
            Atom::Float(bits) => format!("{:?}", f64::from_bits(*bits)),
            Atom::Root(n) => self.call("sqrt", &[n.to_string()]),
            Atom::Call(name, args) => {
                self.call(name, &args.iter().map(|x| self.sum(x)).collect::<Vec<_>>())
            }
            Atom::Inverse(sum) if self.is_latex() => latex_in_parentheses(&self.sum(sum)),
            Atom::Inverse(sum) => format!("({})", self.sum(sum)),
        };
        match (e, self.is_latex()) {
            (1, _) => base,
            (e, true) => format!("{base}^{{{e}}}"),
            (e, false) => format!("{base}^{e}"),
        }
    }

    fn call(&self, name: &str, args: &[String]) -> String {
        let list = args.join(", ");
        match (name, self.is_latex()) {
            (_, false) => format!("{name}({list})"),
            ("sqrt", true) => format!("\\sqrt{{{list}}}"),
            ("exp", true) => format!("e^{{{list}}}"),
            (_, true) => format!("{}{}", latex_function(name), latex_in_parentheses(&list)),
        }
    }
}
