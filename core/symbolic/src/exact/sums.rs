//! Numbers as sums of functions: exponentials, or sines and cosines of sums of angles.
//!
//! Terms with opposite exponents make a cosine and a sine:
//! `c z + d / z = (c + d) cos + i (c - d) sin`. Coefficients are written over 1, sqrt 2, sqrt 3,
//! and cosines and sines of angles below pi/4. Where all angles have powers of two below, these are
//! linearly independent over the fractions, so that equal numbers have equal sums; others have
//! because the numbers are in their one form.

use std::collections::BTreeMap;

use num_integer::gcd;
use num_traits::{CheckedMul, Zero};

use super::{Exact, Symbols, run::FormulaRatio};

/// A summand: a fraction times i, if so, times a root times a function.
#[derive(Clone, Debug)]
pub(super) struct BasisSummand {
    pub(super) coefficient: FormulaRatio,
    pub(super) imaginary: bool,
    pub(super) root: Root,
    pub(super) function: BasisFunction,
}

/// A real algebraic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Root {
    One,
    Sqrt2,
    Sqrt3,
    /// The cosine of a multiple of pi below 1/4.
    Cos(FormulaRatio),
    /// The sine of one.
    Sin(FormulaRatio),
}

/// A function of the parameters. Exponents are those of the fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BasisFunction {
    One,
    Cos(Vec<i64>),
    Sin(Vec<i64>),
    /// `exp(i (pi a + …))`.
    Exp(Vec<i64>, FormulaRatio),
}

/// A sum of items over sqrt(2)^roots.
pub(super) struct BasisSum {
    pub(super) items: Vec<BasisSummand>,
    pub(super) roots: i32,
}

/// Computes `cos(pi a)` as a fraction of a root, for a from 0 to 1.
fn cosine(a: FormulaRatio) -> (FormulaRatio, Root) {
    let q = |n: i128, d: i128| FormulaRatio::new(n, d);
    let (sign, a) = if a > q(1, 2) { (q(-1, 1), q(1, 1) - a) } else { (q(1, 1), a) };
    if *a.numer() == 0 {
        (sign, Root::One)
    } else if a == q(1, 2) {
        (q(0, 1), Root::One)
    } else if a == q(1, 4) {
        (sign / q(2, 1), Root::Sqrt2)
    } else if a == q(1, 3) {
        (sign / q(2, 1), Root::One)
    } else if a == q(1, 6) {
        (sign / q(2, 1), Root::Sqrt3)
    } else if a < q(1, 4) {
        (sign, Root::Cos(a))
    } else {
        (sign, Root::Sin(q(1, 2) - a))
    }
}

/// Computes `e^{i pi a} = re + i im`, for a from 0 to below 2.
pub(super) fn cosine_and_sine(a: FormulaRatio) -> [(FormulaRatio, Root); 2] {
    let one = FormulaRatio::from_integer(1);
    if a > one {
        return cosine_and_sine(a - one).map(|(factor, root)| (-factor, root));
    }
    let quarter = a - FormulaRatio::new(1, 2);
    [cosine(a), cosine(if quarter < FormulaRatio::from_integer(0) { -quarter } else { quarter })]
}

pub(super) fn exponential_sum(number: &Exact, symbols: &Symbols) -> BasisSum {
    let half = FormulaRatio::new(1, 2);
    let mut items = Vec::new();
    for (key, c) in number.terms() {
        let (root, exponents) = symbols.split(*key);
        let exponents: Vec<i64> = exponents.collect();
        let (mut sign, mut root) = (1, root);
        if root >= FormulaRatio::from_integer(1) {
            (sign, root) = (-1, root - FormulaRatio::from_integer(1));
        }
        let imaginary = root >= half;
        let rest = if imaginary { root - half } else { root };
        let plain = exponents.iter().all(|e| *e == 0) && *rest.numer() == 0;
        let function = if plain { BasisFunction::One } else { BasisFunction::Exp(exponents, rest) };
        items.push(BasisSummand {
            coefficient: FormulaRatio::from_integer(sign * c),
            imaginary,
            root: Root::One,
            function,
        });
    }
    items.sort_by(|a, b| (&a.function, a.imaginary).cmp(&(&b.function, b.imaginary)));
    BasisSum { items, roots: number.roots() }
}

/// Returns the number in sines and cosines.
pub(super) fn trigonometric_sum(number: &Exact, symbols: &Symbols) -> BasisSum {
    let mut sums: BTreeMap<(bool, BasisFunction, Root), FormulaRatio> = BTreeMap::new();
    for (key, c) in number.terms() {
        let (root, exponents) = symbols.split(*key);
        let mut exponents: Vec<i64> = exponents.collect();
        let first = exponents.iter().find(|e| **e != 0).copied();
        let sign = if first.is_some_and(|e| e < 0) { -1 } else { 1 };
        exponents.iter_mut().for_each(|e| *e *= sign);
        let sign = i128::from(sign);
        // (re + i im) (cos + i sign sin)
        let [re, im] = cosine_and_sine(root);
        let mut add = |imaginary: bool,
                       function: BasisFunction,
                       (part, root): (FormulaRatio, Root),
                       sign: i128| {
            // A coefficient times 1 or 1/2, either sign.
            if let Some(term) = part.checked_mul(&FormulaRatio::from_integer(sign * c)) {
                *sums.entry((imaginary, function, root)).or_insert_with(FormulaRatio::zero) += term;
            }
        };
        if first.is_none() {
            add(false, BasisFunction::One, re, 1);
            add(true, BasisFunction::One, im, 1);
        } else {
            add(false, BasisFunction::Cos(exponents.clone()), re, 1);
            add(true, BasisFunction::Cos(exponents.clone()), im, 1);
            add(false, BasisFunction::Sin(exponents.clone()), im, -sign);
            add(true, BasisFunction::Sin(exponents), re, sign);
        }
    }
    let all = sums.into_iter().filter(|(_, c)| *c.numer() != 0);
    let items = all.map(|((imaginary, function, root), coefficient)| BasisSummand {
        coefficient,
        imaginary,
        root,
        function,
    });
    BasisSum { items: items.collect(), roots: number.roots() }
}

/// Returns the largest fraction that divides every coefficient; negative if all of them are.
pub(super) fn content(items: &[BasisSummand]) -> FormulaRatio {
    let (mut n, mut d) = (0i128, 1i128);
    for item in items {
        // Coefficients are whole or halves.
        n = gcd(n, item.coefficient.numer().abs());
        d = d.max(*item.coefficient.denom());
    }
    let sign = if items.iter().all(|item| *item.coefficient.numer() < 0) { -1 } else { 1 };
    FormulaRatio::new(sign * n, d)
}
