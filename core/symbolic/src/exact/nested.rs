//! Short formulas: sums of products of shorter sums.
//!
//! A number with its variables in an order is a matrix once that order is cut in two: a row for
//! each monomial in the variables before the cut, a column for each after it. Rows that are
//! multiples of each other are written once:
//!
//! ```text
//! P = sum_rows L_r R_r = sum_j (sum_{r in class j} c_r L_r) R_j
//! ```
//!
//! and both sides of each product go on in the same way. One class makes a product of what
//! separates. After GHZ and ten rotations the amplitude of 512 exponentials is
//! `cos(t0/2) cos(t1/2) … - sin(t0/2) sin(t1/2) …`; a layered circuit of n qubits has 2^n classes
//! at most, so its formula grows with the square of that and not with the number of its paths.
//! Where sines and cosines of a few angles are those of a sum, that is written instead.
//!
//! The cut is the one that leaves the fewest monomials, among those the one nearest the middle. All
//! of it depends on the number alone: equal numbers over the same symbols give the same tree.
//!
//! Cost: for each level, the terms times the variables.

use std::collections::HashMap;

use super::{
    Exact, Symbols,
    gauss::Gauss,
    run::FormulaRatio,
    sums::{BasisFunction, Root, trigonometric_sum as collected},
    terms::I,
    trigonometric::{Axis, TrigBasis, TrigPolynomial, TrigTerm},
};

/// A factor that is no sum.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Letter {
    Root(Root),
    /// A sine or a cosine.
    Function(BasisFunction),
}

/// Product of factors.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NestedProduct {
    /// Exponents of a phase, none if there is none.
    pub(super) phase: Vec<i64>,
    pub(super) letters: Vec<Letter>,
    pub(super) sums: Vec<Vec<Summand>>,
}

/// A product with its coefficient.
pub(super) type Summand = (Gauss, NestedProduct);

/// A number as a tree.
#[derive(Clone, Debug)]
pub(super) struct Nested {
    pub(super) coefficient: Gauss,
    pub(super) product: NestedProduct,
    /// All of it is divided by sqrt(2)^roots.
    pub(super) roots: i32,
    /// No sum of sines and cosines of sums of angles has fewer than half as many summands.
    pub(super) n_monomials: usize,
}

/// Number of exponentials up to which it is tried whether fewer functions of sums of angles give
/// the same.
const COLLECTED: usize = 64;

impl Nested {
    /// Returns `None` if something on the way is beyond 128 bits.
    pub(super) fn from_exact(number: &Exact, symbols: &Symbols) -> Option<Nested> {
        let waves = TrigPolynomial::from_exact(number, symbols)?;
        let (coefficient, mut product) =
            NestedBuilder { symbols, known: HashMap::new() }.nest(&waves.axes, waves.terms)?;
        product.times_phase(&waves.phase);
        Some(Nested { coefficient, product, roots: waves.roots, n_monomials: waves.n_monomials })
    }

    /// Rewrites sines and cosines as exponentials.
    pub(super) fn exponential(self) -> Option<Nested> {
        let (c, twos, product) = self.product.exponential()?;
        let roots = self.roots.checked_sub(twos.checked_mul(2)?)?;
        Some(Nested { coefficient: self.coefficient.times(c)?, product, roots, ..self })
    }
}

impl NestedProduct {
    /// Returns the approximate length of its text: functions and the names in them.
    pub(super) fn weight(&self) -> usize {
        let names = |exponents: &[i64]| exponents.iter().filter(|e| **e != 0).count();
        let letters = self.letters.iter().map(|letter| match letter {
            Letter::Root(_) | Letter::Function(BasisFunction::One) => 1,
            Letter::Function(
                BasisFunction::Cos(e) | BasisFunction::Sin(e) | BasisFunction::Exp(e, _),
            ) => 1 + names(e),
        });
        let phase = match names(&self.phase) {
            0 => 0,
            names => 2 + 2 * names,
        };
        phase + letters.sum::<usize>() + self.sums.iter().map(|sum| weight(sum)).sum::<usize>()
    }

    /// Computes `c 2^twos` times a product without sines and cosines.
    fn exponential(self) -> Option<(Gauss, i32, NestedProduct)> {
        let (mut coefficient, mut twos) = (Gauss::ONE, 0i32);
        let mut product = NestedProduct { phase: self.phase, ..NestedProduct::default() };
        let phase = |exponents: &[i64], sign: i64| {
            let phase = exponents.iter().map(|e| sign * e).collect();
            NestedProduct { phase, ..NestedProduct::default() }
        };
        for letter in self.letters {
            match letter {
                // cos = (1/z + z) / 2, sin = i (1/z - z) / 2.
                Letter::Function(BasisFunction::Cos(e)) => {
                    twos -= 1;
                    product
                        .sums
                        .push(vec![(Gauss::ONE, phase(&e, -1)), (Gauss::ONE, phase(&e, 1))]);
                }
                Letter::Function(BasisFunction::Sin(e)) => {
                    twos -= 1;
                    coefficient = coefficient.times_i()?;
                    let minus = Gauss::ZERO.minus(Gauss::ONE)?;
                    product.sums.push(vec![(Gauss::ONE, phase(&e, -1)), (minus, phase(&e, 1))]);
                }
                other => product.letters.push(other),
            }
        }
        for sum in self.sums {
            let mut items = Vec::new();
            for (c, item) in sum {
                let (factor, twos, item) = item.exponential()?;
                items.push((c.times(factor)?, twos, item));
            }
            let least = items.iter().map(|item| item.1).min()?;
            let scaled = items.into_iter().map(|(c, twos, item)| {
                let power = 1i128.checked_shl((twos - least).unsigned_abs()).filter(|p| *p > 0)?;
                Some((c.scaled(power)?, item))
            });
            let mut items: Vec<Summand> = scaled.collect::<Option<_>>()?;
            let content = Gauss::content(items.iter().map(|item| item.0))?;
            for item in &mut items {
                item.0 = item.0.over(content)?;
            }
            twos += least;
            coefficient = coefficient.times(content)?;
            product.sums.push(items);
        }
        Some((coefficient, twos, product))
    }

    fn times(&mut self, other: NestedProduct) {
        self.times_phase(&other.phase);
        self.letters.extend(other.letters);
        self.sums.extend(other.sums);
    }

    fn times_phase(&mut self, exponents: &[i64]) {
        if self.phase.is_empty() {
            self.phase = exponents.to_vec();
        } else {
            self.phase.iter_mut().zip(exponents).for_each(|(a, b)| *a += b);
        }
        if self.phase.iter().all(|e| *e == 0) {
            self.phase.clear();
        }
    }

    fn times_basis(&mut self, basis: TrigBasis, n_fields: usize) {
        let one = |index: usize, e: i64| {
            let mut exponents = vec![0; n_fields];
            exponents[index] = e;
            exponents
        };
        match basis {
            TrigBasis::One | TrigBasis::Root(Root::One) => {}
            TrigBasis::Root(root) => self.letters.push(Letter::Root(root)),
            TrigBasis::Cos(k, e) => {
                self.letters.push(Letter::Function(BasisFunction::Cos(one(k, e))))
            }
            TrigBasis::Sin(k, e) => {
                self.letters.push(Letter::Function(BasisFunction::Sin(one(k, e))))
            }
            TrigBasis::Phase(k, e) => self.times_phase(&one(k, e)),
        }
    }
}

/// Returns the weight of a sum.
pub(super) fn weight(sum: &[Summand]) -> usize {
    sum.iter().map(|(_, product)| 1 + product.weight()).sum()
}

/// Rows that are multiples of one row.
struct ProportionalRows {
    /// Monomials before the cut and the factors of the row.
    before: Vec<TrigTerm>,
    /// The row: monomials after the cut.
    after: Vec<TrigTerm>,
}

struct NestedBuilder<'a> {
    symbols: &'a Symbols,
    /// Small sums that have been written; layers of a circuit bring the same ones again and again.
    known: HashMap<Vec<TrigTerm>, Summand>,
}

/// Number of terms up to which sums are remembered.
const REMEMBERED: usize = 64;

impl NestedBuilder<'_> {
    /// Returns a sum over some axes, 0 in all other digits; there is at least one term.
    fn nest(&mut self, axes: &[Axis], mut terms: Vec<TrigTerm>) -> Option<Summand> {
        let coefficient = primitive(&mut terms)?;
        if terms.len() > REMEMBERED {
            let (c, product) = self.factors(axes, terms)?;
            return Some((coefficient.times(c)?, product));
        }
        if let Some((c, product)) = self.known.get(&terms) {
            return Some((coefficient.times(*c)?, product.clone()));
        }
        let (c, product) = self.factors(axes, terms.clone())?;
        self.known.insert(terms, (c, product.clone()));
        Some((coefficient.times(c)?, product))
    }

    /// Factors a sum into sums over single axes, where they separate, and one over the remaining
    /// axes.
    fn factors(&mut self, axes: &[Axis], mut terms: Vec<TrigTerm>) -> Option<Summand> {
        let (mut coefficient, mut product) = (Gauss::ONE, NestedProduct::default());
        let first = terms.first()?.0;
        let differs = terms.iter().fold(0, |bits, t| bits | (t.0 ^ first));
        let (moving, fixed): (Vec<Axis>, Vec<Axis>) =
            axes.iter().cloned().partition(|axis| axis.mask() & differs != 0);
        for axis in &fixed {
            product.times_basis(axis.basis(first), self.symbols.fields().len());
        }
        let digits = moving.iter().fold(0, |digits, axis| digits | axis.mask());
        terms.iter_mut().for_each(|t| t.0 &= digits);
        let mut left = Vec::new();
        for axis in moving {
            match separate(&axis, &terms) {
                Some((factors, rest)) if terms.len() > factors.len() => {
                    terms = rest;
                    let (c, factor) = self.sum(std::slice::from_ref(&axis), factors)?;
                    coefficient = coefficient.times(c)?;
                    product.times(factor);
                }
                _ => left.push(axis),
            }
        }
        // The axes that have separated may have left a single monomial of some other axis.
        if left.is_empty() || terms.len() == 1 {
            for axis in &left {
                product.times_basis(axis.basis(terms.first()?.0), self.symbols.fields().len());
            }
            return Some((coefficient.times(terms.first()?.1)?, product));
        }
        let (c, factor) = self.sum(&left, terms)?;
        product.times(factor);
        Some((coefficient.times(c)?, product))
    }

    /// Several terms over axes of which none separates.
    fn sum(&mut self, axes: &[Axis], terms: Vec<TrigTerm>) -> Option<Summand> {
        let short = self.collected(axes, &terms);
        let mut items = Vec::new();
        match axes {
            [axis] => {
                for (key, c) in terms {
                    let mut product = NestedProduct::default();
                    product.times_basis(axis.basis(key), self.symbols.fields().len());
                    items.push((c, product));
                }
            }
            _ => {
                for class in cut(axes, &terms)? {
                    let (a, mut product) = self.nest(axes, class.before)?;
                    let (b, other) = self.nest(axes, class.after)?;
                    product.times(other);
                    items.push((a.times(b)?, product));
                }
            }
        }
        if let Some(short) = short.filter(|short| weight(short) < weight(&items)) {
            items = short;
        }
        let content = Gauss::content(items.iter().map(|item| item.0))?;
        for item in &mut items {
            item.0 = item.0.over(content)?;
        }
        if items.len() == 1 {
            let (c, product) = items.pop()?;
            return Some((content.times(c)?, product));
        }
        Some((content, NestedProduct { sums: vec![items], ..NestedProduct::default() }))
    }

    /// Returns the sum in sines and cosines of sums of angles with whole coefficients, if there are
    /// few.
    fn collected(&self, axes: &[Axis], terms: &[TrigTerm]) -> Option<Vec<Summand>> {
        let few = axes.len() > 1 && axes.len() < 7 && terms.len() << axes.len() <= COLLECTED;
        if !few || !axes.iter().all(Axis::is_trigonometric) {
            return None;
        }
        let fields = self.symbols.fields();
        let mut number = Exact::from(0);
        for (key, c) in terms {
            let mut term = Exact::constant(c.re, 0) + Exact::constant(c.im, 0) * Exact::monomial(I);
            for axis in axes {
                // cos = (z + 1/z) / 2, sin = (z - 1/z) / 2i.
                let (index, e, sign) = match axis.basis(*key) {
                    TrigBasis::Cos(index, e) => (index, e, 1),
                    TrigBasis::Sin(index, e) => (index, e, -1),
                    _ => continue,
                };
                let [up, down] = [e, -e].map(|e| Exact::monomial(fields[index].key(e)));
                let wave = up + down * Exact::from(sign);
                term *= wave * Exact::half();
                if sign < 0 {
                    term *= Exact::monomial(I.wrapping_neg());
                }
            }
            number += term;
        }
        if number.fault().is_some() {
            return None;
        }
        let sum = collected(&number, self.symbols);
        let twos = sum.roots.checked_neg().filter(|h| h % 2 == 0)? / 2;
        let power =
            FormulaRatio::from_integer(1i128.checked_shl(twos.unsigned_abs()).filter(|p| *p > 0)?);
        let mut items = Vec::new();
        for item in sum.items {
            let c = if twos < 0 { item.coefficient / power } else { item.coefficient * power };
            if item.root != Root::One || !c.is_integer() {
                return None;
            }
            let c = c.to_integer();
            let c = if item.imaginary { Gauss { re: 0, im: c } } else { Gauss { re: c, im: 0 } };
            let letters = match item.function {
                BasisFunction::One => Vec::new(),
                function => vec![Letter::Function(function)],
            };
            items.push((c, NestedProduct { letters, ..NestedProduct::default() }));
        }
        Some(items)
    }
}

/// Divides by what the terms have in common.
fn primitive(terms: &mut [TrigTerm]) -> Option<Gauss> {
    let content = Gauss::content(terms.iter().map(|t| t.1))?;
    if content != Gauss::ONE {
        for term in terms {
            term.1 = term.1.over(content)?;
        }
    }
    Some(content)
}

/// `(sum_d r_d [d], R)` for terms `sum_d [d] r_d R` over the digits d of an axis; R has nothing in
/// common.
fn separate(axis: &Axis, terms: &[TrigTerm]) -> Option<(Vec<TrigTerm>, Vec<TrigTerm>)> {
    let mask = axis.mask();
    let mut sizes: Vec<(u128, usize)> = Vec::new();
    for (key, _) in terms {
        let digit = key & mask;
        match sizes.iter_mut().find(|(d, _)| *d == digit) {
            Some((_, n)) => *n += 1,
            None => sizes.push((digit, 1)),
        }
    }
    if sizes.iter().any(|(_, n)| *n != sizes[0].1) {
        return None;
    }
    let slice = |digit: u128| terms.iter().filter(move |t| t.0 & mask == digit);
    let mut rest: Vec<TrigTerm> = slice(sizes[0].0).map(|t| (t.0 & !mask, t.1)).collect();
    primitive(&mut rest)?;
    sizes.sort_unstable();
    let mut factors = Vec::new();
    for (digit, _) in sizes {
        let ratio = slice(digit).next()?.1.over(rest.first()?.1)?;
        let same = |(term, base): (&TrigTerm, &TrigTerm)| {
            term.0 & !mask == base.0 && base.1.times(ratio) == Some(term.1)
        };
        if !slice(digit).zip(&rest).all(same) {
            return None;
        }
        factors.push((digit, ratio));
    }
    Some((factors, rest))
}

/// Returns the best cut of two or more axes: its classes in the order of their first rows.
fn cut(axes: &[Axis], terms: &[TrigTerm]) -> Option<Vec<ProportionalRows>> {
    let middle = |at: usize| (2 * at).abs_diff(axes.len());
    let cost = |at: usize| Some((size(axes[at - 1].below(), terms)?, middle(at), at));
    let costs: Option<Vec<_>> = (1..axes.len()).map(cost).collect();
    let (_, _, at) = costs?.into_iter().min()?;
    classes(axes[at - 1].below(), terms)
}

/// Returns the rows for a cut above these bits.
fn rows(below: u128, terms: &[TrigTerm]) -> impl Iterator<Item = &[TrigTerm]> {
    terms.chunk_by(move |a, b| a.0 & !below == b.0 & !below)
}

/// Returns the rows of a cut and the terms of all classes' rows; rows count as multiples if their
/// digests say so.
fn size(below: u128, terms: &[TrigTerm]) -> Option<usize> {
    let mut known: HashMap<u64, ()> = HashMap::new();
    let mut size = 0;
    for row in rows(below, terms) {
        size += 1;
        if known.insert(digest(below, row, content(row)?)?, ()).is_none() {
            size += row.len();
        }
    }
    Some(size)
}

fn content(row: &[TrigTerm]) -> Option<Gauss> {
    Gauss::content(row.iter().map(|t| t.1))
}

/// Returns a number that rows which are multiples of each other have in common.
fn digest(below: u128, row: &[TrigTerm], content: Gauss) -> Option<u64> {
    let mut digest = 0u64;
    let mut mix = |x: u64| digest = (digest.rotate_left(5) ^ x).wrapping_mul(0x517c_c1b7_2722_0a95);
    for (key, c) in row {
        let (key, c) = (key & below, c.over(content)?);
        // Digests may coincide, so halves are enough.
        [key as u64, (key >> 64) as u64, c.re as u64, c.im as u64].into_iter().for_each(&mut mix);
    }
    Some(digest)
}

fn classes(below: u128, terms: &[TrigTerm]) -> Option<Vec<ProportionalRows>> {
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut classes: Vec<ProportionalRows> = Vec::new();
    for row in rows(below, terms) {
        let content = content(row)?;
        let high = row.first()?.0 & !below;
        let same = known.entry(digest(below, row, content)?).or_default();
        let multiple = |class: &ProportionalRows| {
            let pairs = || row.iter().zip(&class.after);
            row.len() == class.after.len()
                && pairs().all(|(a, b)| a.0 & below == b.0 && b.1.times(content) == Some(a.1))
        };
        match same.iter().copied().find(|k| multiple(&classes[*k])) {
            Some(k) => classes[k].before.push((high, content)),
            None => {
                same.push(classes.len());
                let after = row.iter().map(|(key, c)| Some((key & below, c.over(content)?)));
                classes.push(ProportionalRows {
                    before: vec![(high, content)],
                    after: after.collect::<Option<_>>()?,
                });
            }
        }
    }
    Some(classes)
}
