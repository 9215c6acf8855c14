//! Formulas as text.
//!
//! Terms with opposite exponents make a cosine and a sine: `c z + d / z = (c + d) cos + i (c - d) sin`. Coefficients
//! are written over 1, sqrt 2, and cosines and sines of angles below pi/4, which are linearly independent over
//! the fractions; so here too equal formulas have equal text.

use std::{collections::BTreeMap, fmt::Write};

use num_traits::{CheckedMul, Zero};

use super::{Exact, Formula, Symbols, factor::factors, run::Factor, symbols::Field};
use crate::{circuit::Circuit, param::ParamId};

/// The words that formulas use for something else than a parameter.
pub const RESERVED: [&str; 6] = ["i", "pi", "cos", "sin", "exp", "sqrt"];

/// How a formula is written. A parameter whose name is [`RESERVED`] gets an underscore at its end; in LaTeX such a name,
/// and one that would look like another, is written letter by letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Sines and cosines: `sqrt(2)*cos(theta/2)/2`. A formula in `+ - * / ^`, `cos sin exp sqrt`, `pi`, `i` and names.
    Trig,
    /// Exponentials: `(exp(-i*theta/2) + exp(i*theta/2))/2`, in the same language.
    Exp,
    /// Sines and cosines in LaTeX's mathematics: `\frac{1}{2} \cos\left(\frac{\theta}{2}\right)`.
    Latex,
}

/// A summand: a fraction times i, if so, times a root times a function.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) coefficient: Factor,
    pub(super) imaginary: bool,
    pub(super) root: Root,
    pub(super) function: Function,
}

/// A real algebraic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Root {
    One,
    Sqrt2,
    /// The cosine of a multiple of pi below 1/4.
    Cos(Factor),
    /// The sine of one.
    Sin(Factor),
}

/// A function of the parameters. Exponents are those of the fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Function {
    One,
    Cos(Vec<i64>),
    Sin(Vec<i64>),
    /// `exp(i (pi a + …))`.
    Exp(Vec<i64>, Factor),
}

/// The text of a formula.
pub(super) fn text(formula: &Formula, form: Form) -> String {
    let (symbols, number) = (formula.symbols(), formula.number());
    let writer = Writer { latex: form == Form::Latex, circuit: symbols.circuit(), fields: symbols.fields() };
    if form == Form::Exp {
        return writer.product(vec![exponentials(number, symbols)], formula.factor()).unwrap_or_default();
    }
    let parts = factors(number, symbols).iter().map(|factor| waves(factor, symbols)).collect();
    let product = writer.product(parts, formula.factor());
    // The common factors of several sums together may not fit in 128 bits; those of one do.
    product.or_else(|| writer.product(vec![waves(number, symbols)], formula.factor())).unwrap_or_default()
}

/// A sum of items over sqrt(2)^roots.
pub(super) struct Sum {
    pub(super) items: Vec<Item>,
    pub(super) roots: i32,
}

/// `cos(pi a)` as a fraction of a root, for a from 0 to 1.
fn cosine(a: Factor) -> (Factor, Root) {
    let q = |n: i128, d: i128| Factor::new(n, d);
    let (sign, a) = if a > q(1, 2) { (q(-1, 1), q(1, 1) - a) } else { (q(1, 1), a) };
    if *a.numer() == 0 {
        (sign, Root::One)
    } else if a == q(1, 2) {
        (q(0, 1), Root::One)
    } else if a == q(1, 4) {
        (sign / q(2, 1), Root::Sqrt2)
    } else if a < q(1, 4) {
        (sign, Root::Cos(a))
    } else {
        (sign, Root::Sin(q(1, 2) - a))
    }
}

/// `e^{i pi a} = re + i im`, for a from 0 to 1.
fn cosine_and_sine(a: Factor) -> [(Factor, Root); 2] {
    let quarter = a - Factor::new(1, 2);
    [cosine(a), cosine(if quarter < Factor::from_integer(0) { -quarter } else { quarter })]
}

fn exponentials(number: &Exact, symbols: &Symbols) -> Sum {
    let half = Factor::new(1, 2);
    let mut items = Vec::new();
    for (key, c) in number.terms() {
        let (root, exponents) = symbols.split(*key);
        let exponents: Vec<i64> = exponents.collect();
        let (mut sign, mut root) = (1, root);
        if root == Factor::from_integer(1) {
            (sign, root) = (-1, Factor::from_integer(0));
        }
        let imaginary = root >= half;
        let rest = if imaginary { root - half } else { root };
        let plain = exponents.iter().all(|e| *e == 0) && *rest.numer() == 0;
        let function = if plain { Function::One } else { Function::Exp(exponents, rest) };
        items.push(Item {
            coefficient: Factor::from_integer(sign * c),
            imaginary,
            root: Root::One,
            function,
        });
    }
    items.sort_by(|a, b| (&a.function, a.imaginary).cmp(&(&b.function, b.imaginary)));
    Sum { items, roots: number.roots() }
}

/// In sines and cosines.
pub(super) fn waves(number: &Exact, symbols: &Symbols) -> Sum {
    let mut sums: BTreeMap<(bool, Function, Root), Factor> = BTreeMap::new();
    for (key, c) in number.terms() {
        let (root, exponents) = symbols.split(*key);
        let mut exponents: Vec<i64> = exponents.collect();
        let first = exponents.iter().find(|e| **e != 0).copied();
        let sign = if first.is_some_and(|e| e < 0) { -1 } else { 1 };
        exponents.iter_mut().for_each(|e| *e *= sign);
        let sign = i128::from(sign);
        // (re + i im) (cos + i sign sin)
        let [re, im] = cosine_and_sine(root);
        let mut add = |imaginary: bool, function: Function, (part, root): (Factor, Root), sign: i128| {
            // A coefficient times 1 or 1/2, either sign.
            if let Some(term) = part.checked_mul(&Factor::from_integer(sign * c)) {
                *sums.entry((imaginary, function, root)).or_insert_with(Factor::zero) += term;
            }
        };
        if first.is_none() {
            add(false, Function::One, re, 1);
            add(true, Function::One, im, 1);
        } else {
            add(false, Function::Cos(exponents.clone()), re, 1);
            add(true, Function::Cos(exponents.clone()), im, 1);
            add(false, Function::Sin(exponents.clone()), im, -sign);
            add(true, Function::Sin(exponents), re, sign);
        }
    }
    let all = sums.into_iter().filter(|(_, c)| *c.numer() != 0);
    let items =
        all.map(|((imaginary, function, root), coefficient)| Item { coefficient, imaginary, root, function });
    Sum { items: items.collect(), roots: number.roots() }
}

/// Writes items under the names of a circuit.
struct Writer<'a> {
    latex: bool,
    circuit: &'a Circuit,
    fields: &'a [Field],
}

impl Writer<'_> {
    /// `factor` times the sums, what their items have in common before them; `None` if that is beyond 128 bits.
    fn product(&self, sums: Vec<Sum>, factor: Factor) -> Option<String> {
        let (mut twos, mut odd, mut turns, mut common) = (0i32, 0i32, 0u8, Factor::from_integer(1));
        let mut words = Vec::new();
        let alone = sums.len() == 1;
        let mut plain = None;
        for Sum { mut items, roots } in sums {
            if items.is_empty() {
                return Some("0".to_owned());
            }
            // 1 / sqrt(2)^h is a power of 2, times sqrt 2 if h is odd.
            twos += -(roots + roots.rem_euclid(2)) / 2;
            odd += roots.rem_euclid(2);
            if items.iter().all(|item| item.root == Root::Sqrt2) {
                items.iter_mut().for_each(|item| item.root = Root::One);
                odd += 1;
            }
            if items.iter().all(|item| item.imaginary) {
                items.iter_mut().for_each(|item| item.imaginary = false);
                turns += 1;
            }
            let content = content(&items);
            items.iter_mut().for_each(|item| item.coefficient /= content);
            common = common.checked_mul(&content)?;
            match items.as_slice() {
                [item] => words.extend(self.words(item)),
                _ => {
                    let sum = self.terms(&items);
                    words.push(if self.latex { format!("\\left({sum}\\right)") } else { format!("({sum})") });
                    plain = alone.then_some(sum);
                }
            }
            turns %= 4;
        }
        if turns >= 2 {
            common = -common;
        }
        let (p, q) = Fraction::of(factor, common, twos + odd / 2);
        if let Some(sum) = plain.filter(|_| p == "1" && q == "1" && odd % 2 == 0 && turns % 2 == 0) {
            return Some(sum);
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

    /// A fraction times factors.
    fn fraction(&self, p: &str, q: &str, mut words: Vec<String>) -> String {
        let negative = p.starts_with('-');
        let p = p.trim_start_matches('-');
        let sign = if negative { "-" } else { "" };
        if self.latex {
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

    /// Items with whole coefficients, joined by signs.
    fn terms(&self, items: &[Item]) -> String {
        let mut text = String::new();
        for (k, item) in items.iter().enumerate() {
            let negative = *item.coefficient.numer() < 0;
            text += match (k, negative) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            let p = item.coefficient.numer().unsigned_abs().to_string();
            let mut words = if item.imaginary { vec!["i".to_owned()] } else { Vec::new() };
            words.extend(self.words(item));
            text += &self.fraction(&p, "1", words);
        }
        text
    }

    /// The root and the function of an item.
    fn words(&self, item: &Item) -> Vec<String> {
        let root = (item.root != Root::One).then(|| self.root(item.root));
        let call = |name: &str, argument: &str| match self.latex {
            true => format!("\\{name}\\left({argument}\\right)"),
            false => format!("{name}({argument})"),
        };
        let zero = Factor::from_integer(0);
        let function = match &item.function {
            Function::One => None,
            Function::Cos(e) => Some(call("cos", &self.argument(e, zero, ""))),
            Function::Sin(e) => Some(call("sin", &self.argument(e, zero, ""))),
            Function::Exp(e, a) => Some(format!("exp({})", self.argument(e, *a, "i*"))),
        };
        root.into_iter().chain(function).collect()
    }

    fn root(&self, root: Root) -> String {
        let (name, a) = match root {
            Root::One => return String::new(),
            Root::Sqrt2 => return if self.latex { "\\sqrt{2}" } else { "sqrt(2)" }.to_owned(),
            Root::Cos(a) => ("cos", a),
            Root::Sin(a) => ("sin", a),
        };
        let pi = if self.latex { "\\pi" } else { "pi" };
        let angle = self.multiple(a, pi);
        if self.latex { format!("\\{name}\\left({angle}\\right)") } else { format!("{name}({angle})") }
    }

    /// `unit` times the angle: names times fractions, and a multiple of pi.
    fn argument(&self, exponents: &[i64], turns: Factor, unit: &str) -> String {
        let pi = if self.latex { "\\pi" } else { "pi" };
        let zero = Factor::from_integer(0);
        let mut parts: Vec<(Factor, String)> = Vec::new();
        for (field, e) in self.fields.iter().zip(exponents).filter(|(_, e)| **e != 0) {
            let name = match field.variable {
                Some(id) => self.name(id),
                None => String::new(),
            };
            parts.push((Factor::new((*e).into(), field.unit.into()), name));
        }
        if turns != zero {
            parts.push((turns, pi.to_owned()));
        }
        let mut text = String::new();
        let alone = parts.len() == 1;
        for (k, (q, name)) in parts.iter().enumerate() {
            let (negative, size) = if *q < zero { (true, -*q) } else { (false, *q) };
            text += match (k, negative) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            text += if alone { unit } else { "" };
            text += &self.multiple(size, name);
        }
        if alone || unit.is_empty() { text } else { format!("{unit}({text})") }
    }

    /// The name of a parameter, which nothing else has.
    fn name(&self, id: ParamId) -> String {
        let name = self.circuit.param_name(id);
        let others = self.fields.iter().filter_map(|f| f.variable).filter(|other| *other != id);
        let others: Vec<String> = others.map(|other| self.circuit.param_name(other)).collect();
        if self.latex {
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

    /// A positive fraction times a name; without a name, the fraction.
    fn multiple(&self, q: Factor, name: &str) -> String {
        let (n, d) = (*q.numer(), *q.denom());
        let upper = match (n, name) {
            (n, "") => n.to_string(),
            (1, name) => name.to_owned(),
            (n, name) if self.latex => format!("{n} {name}"),
            (n, name) => format!("{n}*{name}"),
        };
        match d {
            1 => upper,
            d if self.latex => format!("\\frac{{{upper}}}{{{d}}}"),
            d => format!("{upper}/{d}"),
        }
    }
}

/// The largest fraction that divides every coefficient; negative if all of them are.
fn content(items: &[Item]) -> Factor {
    let (mut n, mut d) = (0i128, 1i128);
    for item in items {
        // Coefficients are whole or halves.
        n = gcd(n, item.coefficient.numer().abs());
        d = d.max(*item.coefficient.denom());
    }
    let sign = if items.iter().all(|item| *item.coefficient.numer() < 0) { -1 } else { 1 };
    Factor::new(sign * n, d)
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A fraction as text.
struct Fraction;

impl Fraction {
    /// Numerator and denominator of `factor content 2^twos`.
    fn of(factor: Factor, content: Factor, twos: i32) -> (String, String) {
        let power = 1i128.checked_shl(twos.unsigned_abs()).filter(|p| *p > 0);
        let two = |p: i128| if twos < 0 { Factor::new(1, p) } else { Factor::from_integer(p) };
        let exact = power.map(two).and_then(|p| factor.checked_mul(&content)?.checked_mul(&p));
        if let Some(exact) = exact {
            return (exact.numer().to_string(), exact.denom().to_string());
        }
        // Beyond 128 bits: as a product.
        let mut sides = [String::new(), String::new()];
        let product = |side: &mut String, a: i128, b: i128| {
            let _ = write!(side, "{a}*{b}");
        };
        product(&mut sides[0], *factor.numer(), *content.numer());
        product(&mut sides[1], *factor.denom(), *content.denom());
        let _ = write!(sides[usize::from(twos < 0)], "*2^{}", twos.unsigned_abs());
        let [p, q] = sides;
        (p, format!("({q})"))
    }
}

/// A parameter's name in LaTeX; letter by letter where it is [`RESERVED`] or would look like another's.
pub(crate) fn latex_name_beside<'a>(name: &str, mut others: impl Iterator<Item = &'a str>) -> String {
    let pretty = latex_name(name);
    if RESERVED.contains(&name) || others.any(|other| other != name && latex_name(other) == pretty) {
        return format!("\\mathtt{{{}}}", name.replace('_', "\\_").replace('^', "\\^{}"));
    }
    pretty
}

/// A parameter's name in LaTeX: Greek letters by name, numbers as indices, words upright.
fn latex_name(name: &str) -> String {
    const GREEK: [&str; 22] = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda",
        "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "phi", "chi", "psi", "omega",
    ];
    let plain = name.chars().all(|c| c.is_alphanumeric() || "_[]".contains(c));
    if !plain {
        return format!("\\text{{{}}}", name.replace('_', "\\_").replace('^', "\\^{}"));
    }
    let cut = name.find(['_', '[']).or_else(|| name.find(|c: char| c.is_ascii_digit())).filter(|at| *at > 0);
    let (base, index) = name.split_at(cut.unwrap_or(name.len()));
    let index: String = index.replace(['[', ']'], " ").replace('_', " ");
    let index: Vec<&str> = index.split_whitespace().collect();
    let base = match base {
        b if GREEK.contains(&b) => format!("\\{b}"),
        b if b.chars().count() == 1 => b.to_owned(),
        b => format!("\\mathrm{{{b}}}"),
    };
    if index.is_empty() { base } else { format!("{base}_{{{}}}", index.join(",")) }
}
