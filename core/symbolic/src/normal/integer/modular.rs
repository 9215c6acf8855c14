//! Polynomials modulo a small prime, and their factors.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::ToPrimitive;

/// Coefficients below the prime from the constant one on; the last is not 0.
pub(super) type Residues = Vec<u64>;

/// Primes that are tried, below 2^31 so that products fit.
pub(super) const PRIMES: [u64; 24] = [
    3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 101, 65521,
    2147483629,
];

/// Primes from 2^31 down.
pub(super) fn large_primes() -> impl Iterator<Item = u64> {
    let is_prime =
        |n: &u64| (3..).step_by(2).take_while(|d| d * d <= *n).all(|d| !u64::is_multiple_of(*n, d));
    (1u64 << 30..1 << 31).rev().step_by(2).filter(is_prime)
}

pub(super) fn image(f: &[BigInt], p: u64) -> Residues {
    let p = BigInt::from(p);
    trimmed(f.iter().map(|c| c.mod_floor(&p).to_u64().unwrap_or_default()).collect())
}

fn trimmed(mut f: Residues) -> Residues {
    while f.last() == Some(&0) {
        f.pop();
    }
    f
}

/// Computes `a^e`.
fn power(mut a: u64, mut e: u64, p: u64) -> u64 {
    let mut out = 1;
    while e > 0 {
        if e & 1 == 1 {
            out = out * a % p;
        }
        a = a * a % p;
        e >>= 1;
    }
    out
}

pub(super) fn inverse(a: u64, p: u64) -> u64 {
    power(a, p - 2, p)
}

pub(super) fn monic(f: &Residues, p: u64) -> Residues {
    let Some(lead) = f.last() else { return Residues::new() };
    let by = inverse(*lead, p);
    f.iter().map(|c| c * by % p).collect()
}

pub(super) fn product(f: &Residues, g: &Residues, p: u64) -> Residues {
    if f.is_empty() || g.is_empty() {
        return Residues::new();
    }
    let mut out = vec![0; f.len() + g.len() - 1];
    for (i, a) in f.iter().enumerate() {
        for (c, b) in out[i..].iter_mut().zip(g) {
            *c = (*c + a * b) % p;
        }
    }
    out
}

pub(super) fn difference(f: &Residues, g: &Residues, p: u64) -> Residues {
    let mut out = f.clone();
    out.resize(f.len().max(g.len()), 0);
    for (c, b) in out.iter_mut().zip(g) {
        *c = (*c + p - b) % p;
    }
    trimmed(out)
}

/// Quotient and remainder by a g that is not 0.
pub(super) fn divided(f: &Residues, g: &Residues, p: u64) -> (Residues, Residues) {
    let mut rest = f.clone();
    let mut out = vec![0; (f.len() + 1).saturating_sub(g.len())];
    let by = inverse(g.last().copied().unwrap_or(1), p);
    for k in (0..out.len()).rev() {
        let q = rest[k + g.len() - 1] * by % p;
        if q == 0 {
            continue;
        }
        for (c, b) in rest[k..].iter_mut().zip(g) {
            *c = (*c + (p - q) * b) % p;
        }
        out[k] = q;
    }
    (out, trimmed(rest))
}

/// Returns the greatest common divisor, with leading coefficient 1.
pub(super) fn gcd(f: &Residues, g: &Residues, p: u64) -> Residues {
    let (mut f, mut g) = (f.clone(), g.clone());
    while !g.is_empty() {
        let r = divided(&f, &g, p).1;
        (f, g) = (g, r);
    }
    monic(&f, p)
}

/// `(s, t)` with `s f + t g = 1` for f and g without common factors; the degrees are below those of
/// g and f.
pub(super) fn cofactors(f: &Residues, g: &Residues, p: u64) -> (Residues, Residues) {
    let (mut a, mut b) = (f.clone(), g.clone());
    let (mut s, mut next_s) = (vec![1], Residues::new());
    let (mut t, mut next_t) = (Residues::new(), vec![1]);
    while !b.is_empty() {
        let (q, r) = divided(&a, &b, p);
        (a, b) = (b, r);
        let new = difference(&s, &product(&q, &next_s, p), p);
        (s, next_s) = (next_s, new);
        let new = difference(&t, &product(&q, &next_t, p), p);
        (t, next_t) = (next_t, new);
    }
    let by = inverse(a.first().copied().unwrap_or(1), p);
    let scaled = |f: Residues| f.into_iter().map(|c| c * by % p).collect();
    (scaled(s), scaled(t))
}

pub(super) fn is_square_free(f: &Residues, p: u64) -> bool {
    let slope = f.iter().enumerate().skip(1).map(|(k, c)| c * (k as u64 % p) % p).collect();
    gcd(f, &trimmed(slope), p).len() == 1
}

fn power_modulo(f: &Residues, mut e: u64, modulus: &Residues, p: u64) -> Residues {
    let (mut out, mut square) = (vec![1], f.clone());
    while e > 0 {
        if e & 1 == 1 {
            out = divided(&product(&out, &square, p), modulus, p).1;
        }
        e >>= 1;
        if e > 0 {
            square = divided(&product(&square, &square, p), modulus, p).1;
        }
    }
    out
}

/// Products of all irreducible factors of one degree, with that degree, of an f without repeated
/// factors.
pub(super) fn by_degree(f: &Residues, p: u64) -> Vec<(Residues, usize)> {
    let (mut rest, mut out) = (monic(f, p), Vec::new());
    let mut x_power = vec![0, 1];
    let mut d = 1;
    while rest.len() > 2 * d {
        x_power = power_modulo(&x_power, p, &rest, p);
        let g = gcd(&difference(&x_power, &vec![0, 1], p), &rest, p);
        if g.len() > 1 {
            rest = divided(&rest, &g, p).0;
            x_power = divided(&x_power, &rest, p).1;
            out.push((g, d));
        }
        d += 1;
    }
    if rest.len() > 1 {
        let d = rest.len() - 1;
        out.push((rest, d));
    }
    out
}

/// Returns the irreducible factors of a product of such of one degree d: Cantor and Zassenhaus, for
/// odd p.
pub(super) fn equal_degree(
    f: &Residues,
    d: usize,
    p: u64,
    random: &mut impl FnMut() -> u64,
) -> Vec<Residues> {
    let (mut open, mut out) = (vec![f.clone()], Vec::new());
    while let Some(g) = open.pop() {
        let n = g.len() - 1;
        if n == d {
            out.push(g);
            continue;
        }
        let a = trimmed((0..n).map(|_| random() % p).collect());
        if a.len() < 2 {
            open.push(g);
            continue;
        }
        let b = difference(&half_power(&a, d, &g, p), &vec![1], p);
        let h = gcd(&b, &g, p);
        if h.len() > 1 && h.len() < g.len() {
            open.push(divided(&g, &h, p).0);
            open.push(h);
        } else {
            open.push(g);
        }
    }
    out
}

/// Computes `a^((p^d - 1)/2) = (a^(1 + p + … + p^(d-1)))^((p - 1)/2)`.
fn half_power(a: &Residues, d: usize, modulus: &Residues, p: u64) -> Residues {
    let (mut conjugate, mut norm) = (a.clone(), a.clone());
    for _ in 1..d {
        conjugate = power_modulo(&conjugate, p, modulus, p);
        norm = divided(&product(&norm, &conjugate, p), modulus, p).1;
    }
    power_modulo(&norm, (p - 1) / 2, modulus, p)
}
