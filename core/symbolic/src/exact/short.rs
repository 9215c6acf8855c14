//! The shortest of the ways to write a number.
//!
//! Small numbers are split into factors of one variable each ([`factors`]), and what does not
//! separate is written as one sum of functions or as nested sums of products ([`Nested`]),
//! whichever has fewer functions and names; the one sum if they are equal. Large numbers are nested
//! at once.

use super::{
    Exact, Symbols,
    factor::factors,
    gauss::Gauss,
    nested::{Letter, Nested, NestedProduct},
    sums::{BasisFunction, BasisSum, Root, content, exponential_sum, trigonometric_sum},
};

/// Functions that sums are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Functions {
    Exponentials,
    /// Sines and cosines.
    Waves,
}

/// Number of terms up to which numbers are split into factors first.
const FACTORED: usize = 64;

/// Trees whose product is the number; `None` if they are beyond 128 bits.
pub(super) fn short(
    number: &Exact,
    symbols: &Symbols,
    functions: Functions,
) -> Option<Vec<Nested>> {
    if functions == Functions::Waves && number.n_terms() <= FACTORED {
        factors(number, symbols).iter().map(|factor| shorter(factor, symbols, functions)).collect()
    } else {
        Some(vec![shorter(number, symbols, functions)?])
    }
}

/// Nested or as one sum.
fn shorter(number: &Exact, symbols: &Symbols, functions: Functions) -> Option<Nested> {
    let flat = || sum(number, symbols, functions);
    if number.n_terms() <= 2 {
        return flat();
    }
    let nested = Nested::from_exact(number, symbols).and_then(|nested| match functions {
        Functions::Waves => Some(nested),
        Functions::Exponentials => nested.exponential(),
    });
    let Some(nested) = nested else { return flat() };
    // A sum has a function for every two monomials at least, of which each counts more than two.
    if nested.product.weight() <= nested.n_monomials {
        return Some(nested);
    }
    let flat = flat()?;
    Some(if nested.product.weight() < flat.product.weight() { nested } else { flat })
}

/// Returns one sum.
pub(super) fn sum(number: &Exact, symbols: &Symbols, functions: Functions) -> Option<Nested> {
    let BasisSum { mut items, mut roots } = match functions {
        Functions::Exponentials => exponential_sum(number, symbols),
        Functions::Waves => trigonometric_sum(number, symbols),
    };
    let mut product = NestedProduct::default();
    let n_monomials = items.len();
    if items.is_empty() {
        return Some(Nested { coefficient: Gauss::ZERO, product, roots: 0, n_monomials });
    }
    if items.iter().all(|item| item.root == Root::Sqrt2) {
        items.iter_mut().for_each(|item| item.root = Root::One);
        product.letters.push(Letter::Root(Root::Sqrt2));
    }
    let turned = items.iter().all(|item| item.imaginary);
    // A fraction over 1 or 2.
    let content = content(&items);
    if *content.denom() == 2 {
        roots = roots.checked_add(2)?;
    }
    let mut summands = Vec::new();
    for item in items {
        let c = (item.coefficient / content).to_integer();
        let c =
            if item.imaginary && !turned { Gauss { re: 0, im: c } } else { Gauss { re: c, im: 0 } };
        let mut letters = Vec::new();
        if item.root != Root::One {
            letters.push(Letter::Root(item.root));
        }
        if item.function != BasisFunction::One {
            letters.push(Letter::Function(item.function));
        }
        summands.push((c, NestedProduct { letters, ..NestedProduct::default() }));
    }
    let mut coefficient = Gauss { re: *content.numer(), im: 0 };
    if turned {
        coefficient = coefficient.times_i()?;
    }
    if let [(c, only)] = summands.as_slice() {
        coefficient = coefficient.times(*c)?;
        product.letters.extend(only.letters.iter().cloned());
    } else {
        product.sums.push(summands);
    }
    Some(Nested { coefficient, product, roots, n_monomials })
}
