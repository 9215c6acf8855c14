//! Polynomials in one variable over the integers, and their complete factorization.
//!
//! Square-free parts by Yun's algorithm, factors modulo a small prime by Cantor and Zassenhaus,
//! Hensel's lemma, and the products of lifted factors that divide: Zassenhaus. The last step may
//! need exponentially many subsets, so it has a bound, and a factorization says whether it is
//! complete.
//!
//! Sources: J. von zur Gathen, J. Gerhard, Modern Computer Algebra, chapters 14 and 15; D. Y. Y.
//! Yun, On square-free decomposition algorithms, SYMSAC (1976).

mod hensel;
mod modular;
mod polynomial;
mod zassenhaus;

pub(super) use polynomial::{Poly, degree, exact_quotient, gcd, primitive, product, trimmed};
pub(super) use zassenhaus::advance;

use num_bigint::BigInt;
use num_traits::{One, Zero};
use polynomial::{derivative, difference, is_square_free_modulo};

/// Irreducible factors, primitive with a positive leading coefficient, and their exponents. Without
/// those that are numbers.
pub(super) struct Factorization {
    pub(super) factors: Vec<(Poly, usize)>,
    /// True if every factor is known to be irreducible.
    pub(super) is_complete: bool,
}

/// Returns the factors of a polynomial that is not 0, but for its content.
pub(super) fn factorization(f: &Poly) -> Factorization {
    let mut f = primitive(f);
    let mut out = Factorization { factors: Vec::new(), is_complete: true };
    let zeros = f.iter().take_while(|c| c.is_zero()).count();
    if zeros > 0 {
        out.factors.push((vec![BigInt::zero(), BigInt::one()], zeros));
        f.drain(..zeros);
    }
    for (part, e) in square_free_parts(&f) {
        let (factors, is_complete) = zassenhaus::factors(&part);
        out.factors.extend(factors.into_iter().map(|g| (g, e)));
        out.is_complete &= is_complete;
    }
    out
}

/// Yun's algorithm: polynomials without repeated factors, with the exponents that they have in f.
fn square_free_parts(f: &Poly) -> Vec<(Poly, usize)> {
    if degree(f) == 0 {
        return Vec::new();
    }
    if is_square_free_modulo(f) {
        return vec![(f.clone(), 1)];
    }
    let slope = derivative(f);
    let g = gcd(f, &slope);
    let divided = |a: &Poly, b: &Poly| exact_quotient(a, b).unwrap_or_else(|| a.clone());
    let (mut b, mut c) = (divided(f, &g), divided(&slope, &g));
    let (mut out, mut e) = (Vec::new(), 1);
    while degree(&b) > 0 {
        let d = difference(&c, &derivative(&b));
        let a = gcd(&b, &d);
        b = divided(&b, &a);
        c = divided(&d, &a);
        if degree(&a) > 0 {
            out.push((a, e));
        }
        e += 1;
    }
    out
}
