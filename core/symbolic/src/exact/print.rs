//! Formulas as text.

use num_integer::gcd;
use num_traits::CheckedMul;

use super::{
    Formula,
    gauss::Gauss,
    names::{FractionText, RESERVED, latex_name_beside},
    nested::{Letter, Nested, NestedProduct, Summand},
    run::FormulaRatio,
    short::{Functions, short, sum},
    sums::{BasisFunction, Root},
    symbols::ExponentField,
};
use crate::{
    circuit::Circuit,
    notation::{latex_function, latex_in_parentheses, sign_of_term},
    param::ParamId,
};

/// Notation of a formula. A parameter whose name is [`RESERVED`] gets an underscore at its end;
/// in LaTeX such a name, and one that would look like another, is written letter by letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Sines and cosines: `sqrt(2)*cos(theta/2)/2`. A formula in `+ - * / ^`, `cos sin exp sqrt`,
    /// `pi`, `i` and names.
    Trig,
    /// Exponentials: `(exp(-i*theta/2) + exp(i*theta/2))/2`, in the same language.
    Exp,
    /// Sines and cosines in LaTeX's mathematics: `\frac{1}{2} \cos\left(\frac{\theta}{2}\right)`.
    Latex,
}

/// Returns the text of a formula: short, or as one sum.
pub(super) fn text(formula: &Formula, form: Form, expanded: bool) -> String {
    let (symbols, number) = (formula.symbols(), formula.number());
    let writer = FormulaWriter { form, circuit: symbols.circuit(), fields: symbols.fields() };
    let basis = if form == Form::Exp { Functions::Exponentials } else { Functions::Waves };
    let short = || writer.product(&short(number, symbols, basis)?, formula.factor());
    // The common factors of several sums together may not fit in 128 bits; those of one do.
    let long = || writer.product(&[sum(number, symbols, basis)?], formula.factor());
    (!expanded).then(short).flatten().or_else(long).unwrap_or_default()
}

/// Writes trees under the names of a circuit.
struct FormulaWriter<'a> {
    form: Form,
    circuit: &'a Circuit,
    fields: &'a [ExponentField],
}

impl FormulaWriter<'_> {
    /// Computes `factor` times the trees, what is common to all of each before them; `None` if that
    /// is beyond 128 bits.
    fn product(&self, trees: &[Nested], factor: FormulaRatio) -> Option<String> {
        let (mut twos, mut odd, mut turns, mut common) =
            (0i32, 0i32, 0u8, FormulaRatio::from_integer(1));
        let mut words = Vec::new();
        for Nested { coefficient, product, roots, .. } in trees {
            if coefficient.is_zero() {
                return Some("0".to_owned());
            }
            // 1 / sqrt(2)^h is a power of 2, times sqrt 2 if h is odd.
            twos += -(roots + roots.rem_euclid(2)) / 2;
            odd += roots.rem_euclid(2);
            let (size, turned, rest) = parts(*coefficient);
            common = common.checked_mul(&FormulaRatio::from_integer(size))?;
            turns += u8::from(turned);
            words.extend(rest.map(|rest| self.gauss(rest)));
            let roots = product
                .letters
                .iter()
                .filter(|letter| **letter == Letter::Root(Root::Sqrt2))
                .count();
            odd += i32::try_from(roots).ok()?;
            words.extend(self.words(product, |letter| *letter != Letter::Root(Root::Sqrt2)));
            turns %= 4;
        }
        if turns >= 2 {
            common = -common;
        }
        let (p, q) = FractionText::numerator_and_denominator(factor, common, twos + odd / 2);
        if let [Nested { product: NestedProduct { phase, letters, sums }, .. }] = trees
            && let ([], [], [sum]) = (phase.as_slice(), letters.as_slice(), sums.as_slice())
            && words.len() == 1
            && (p == "1" && q == "1" && odd % 2 == 0 && turns % 2 == 0)
        {
            return Some(self.sum(sum));
        }
        let mut front = Vec::new();
        if odd % 2 == 1 {
            front.push(self.root(Root::Sqrt2));
        }
        if turns % 2 == 1 {
            front.push("i".to_owned());
        }
        Some(self.fraction(&p, &q, front.into_iter().chain(words).collect()))
    }

    /// Returns a fraction times factors.
    fn fraction(&self, p: &str, q: &str, mut words: Vec<String>) -> String {
        let negative = p.starts_with('-');
        let p = p.trim_start_matches('-');
        let sign = if negative { "-" } else { "" };
        if self.latex() {
            let mut above = String::new();
            if q != "1" && words.first().is_some_and(|w| w.starts_with("\\sqrt")) {
                above = words.remove(0);
            }
            let above = match (p, above.as_str()) {
                (p, "") => p.to_owned(),
                ("1", root) => root.to_owned(),
                (p, root) => format!("{p} {root}"),
            };
            let head = if q == "1" { above } else { format!("\\frac{{{above}}}{{{q}}}") };
            if head != "1" || words.is_empty() {
                words.insert(0, head);
            }
            return format!("{sign}{}", words.join(" "));
        }
        if p != "1" || words.is_empty() {
            words.insert(0, p.to_owned());
        }
        let below = if q == "1" { String::new() } else { format!("/{q}") };
        format!("{sign}{}{below}", words.join("*"))
    }

    /// Summands, joined by signs.
    fn sum(&self, items: &[Summand]) -> String {
        let mut text = String::new();
        for (k, (coefficient, product)) in items.iter().enumerate() {
            let (size, turned, rest) = parts(*coefficient);
            text += sign_of_term(k == 0, size < 0);
            let mut words = if turned { vec!["i".to_owned()] } else { Vec::new() };
            words.extend(rest.map(|rest| self.gauss(rest)));
            words.extend(self.words(product, |_| true));
            text += &self.fraction(&size.unsigned_abs().to_string(), "1", words);
        }
        text
    }

    /// Returns the text in parentheses.
    fn bracket(&self, text: &str) -> String {
        if self.latex() { latex_in_parentheses(text) } else { format!("({text})") }
    }

    /// Returns a number that is neither real nor imaginary.
    fn gauss(&self, c: Gauss) -> String {
        let sign = if c.im < 0 { "-" } else { "+" };
        let i = match (c.im.unsigned_abs(), self.latex()) {
            (1, _) => "i".to_owned(),
            (n, true) => format!("{n} i"),
            (n, false) => format!("{n}*i"),
        };
        self.bracket(&format!("{} {sign} {i}", c.re))
    }

    /// Returns the factors of a product; of its letters some.
    fn words(&self, product: &NestedProduct, letters: impl Fn(&Letter) -> bool) -> Vec<String> {
        let zero = FormulaRatio::from_integer(0);
        let mut words = Vec::new();
        if !product.phase.is_empty() {
            let first = product.phase.iter().find(|e| **e != 0).copied();
            words.push(if self.form == Form::Exp {
                self.call("exp", &self.argument(&product.phase, zero, "i*"))
            } else {
                let (sign, flip) = if first.is_some_and(|e| e < 0) { ("-", -1) } else { ("+", 1) };
                let size: Vec<i64> = product.phase.iter().map(|e| flip * e).collect();
                let argument = self.argument(&size, zero, "");
                let (cos, sin) = (self.call("cos", &argument), self.call("sin", &argument));
                self.bracket(&format!(
                    "{cos} {sign} {}",
                    self.fraction("1", "1", vec!["i".to_owned(), sin])
                ))
            });
        }
        for letter in product.letters.iter().filter(|letter| letters(letter)) {
            words.push(match letter {
                Letter::Root(root) => self.root(*root),
                Letter::Function(BasisFunction::One) => continue,
                Letter::Function(BasisFunction::Cos(e)) => {
                    self.call("cos", &self.argument(e, zero, ""))
                }
                Letter::Function(BasisFunction::Sin(e)) => {
                    self.call("sin", &self.argument(e, zero, ""))
                }
                Letter::Function(BasisFunction::Exp(e, a)) => {
                    self.call("exp", &self.argument(e, *a, "i*"))
                }
            });
        }
        words.extend(product.sums.iter().map(|sum| self.bracket(&self.sum(sum))));
        words
    }

    fn latex(&self) -> bool {
        self.form == Form::Latex
    }

    fn call(&self, name: &str, argument: &str) -> String {
        let name = if self.latex() { latex_function(name) } else { name.to_owned() };
        name + &self.bracket(argument)
    }

    fn root(&self, root: Root) -> String {
        let (name, a) = match root {
            Root::One => return String::new(),
            Root::Sqrt2 => return if self.latex() { "\\sqrt{2}" } else { "sqrt(2)" }.to_owned(),
            Root::Sqrt3 => return if self.latex() { "\\sqrt{3}" } else { "sqrt(3)" }.to_owned(),
            Root::Cos(a) => ("cos", a),
            Root::Sin(a) => ("sin", a),
        };
        let pi = if self.latex() { "\\pi" } else { "pi" };
        self.call(name, &self.multiple(a, pi))
    }

    /// Computes `unit` times the angle: names times fractions, and a multiple of pi.
    fn argument(&self, exponents: &[i64], turns: FormulaRatio, unit: &str) -> String {
        let pi = if self.latex() { "\\pi" } else { "pi" };
        let zero = FormulaRatio::from_integer(0);
        let mut parts: Vec<(FormulaRatio, String)> = Vec::new();
        for (field, e) in self.fields.iter().zip(exponents).filter(|(_, e)| **e != 0) {
            let name = match field.variable {
                Some(id) => self.name(id),
                None => String::new(),
            };
            parts.push((FormulaRatio::new((*e).into(), field.unit.into()), name));
        }
        if turns != zero {
            parts.push((turns, pi.to_owned()));
        }
        let mut text = String::new();
        let alone = parts.len() == 1;
        for (k, (q, name)) in parts.iter().enumerate() {
            let (negative, size) = if *q < zero { (true, -*q) } else { (false, *q) };
            text += sign_of_term(k == 0, negative);
            text += if alone { unit } else { "" };
            text += &self.multiple(size, name);
        }
        if alone || unit.is_empty() { text } else { format!("{unit}({text})") }
    }

    /// Returns the name of a parameter, which nothing else has.
    fn name(&self, id: ParamId) -> String {
        let name = self.circuit.param_name(id);
        let others = self.fields.iter().filter_map(|f| f.variable).filter(|other| *other != id);
        let others: Vec<String> = others.map(|other| self.circuit.param_name(other)).collect();
        if self.latex() {
            return latex_name_beside(&name, others.iter().map(String::as_str));
        }
        if !RESERVED.contains(&name.as_str()) {
            return name.replace("**", "^");
        }
        let mut free = format!("{name}_");
        while others.contains(&free) {
            free.push('_');
        }
        free
    }

    /// Returns a positive fraction times a name; without a name, the fraction.
    fn multiple(&self, q: FormulaRatio, name: &str) -> String {
        let (n, d) = (*q.numer(), *q.denom());
        let upper = match (n, name) {
            (n, "") => n.to_string(),
            (1, name) => name.to_owned(),
            (n, name) if self.latex() => format!("{n} {name}"),
            (n, name) => format!("{n}*{name}"),
        };
        match d {
            1 => upper,
            d if self.latex() => format!("\\frac{{{upper}}}{{{d}}}"),
            d => format!("{upper}/{d}"),
        }
    }
}

/// Returns a real number with a sign, whether times i, and what is left if it is neither real nor
/// imaginary.
fn parts(c: Gauss) -> (i128, bool, Option<Gauss>) {
    match (c.re, c.im) {
        (re, 0) => (re, false, None),
        (0, im) => (im, true, None),
        (re, im) => {
            let size = re.signum() * gcd(re.abs(), im.abs());
            (size, false, Some(Gauss { re: re / size, im: im / size }))
        }
    }
}
