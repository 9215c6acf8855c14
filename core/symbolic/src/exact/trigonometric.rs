//! Trigonometric polynomials: numbers as sums of products with one sine or cosine for each
//! variable.
//!
//! Where a sum of exponentials has `x z^e + y z^-e`, this one has
//! `(x + y) cos(e theta) + i (x - y) sin(e theta)`. In these functions the coefficients of a
//! circuit of rotations and Clifford gates are units, and products such as
//! `cos(a/2) cos(b/2) cos(c/2)` are one term instead of eight. A variable for which it is the other
//! way round, as for one that only shifts phases, is written in exponentials again.
//!
//! A term's key has a digit for each variable that occurs with different exponents, the first in
//! the highest bits, and one for the real root that its coefficient multiplies. Digit 0 stands
//! for 1; digits `2 j + 2` and `2 j + 3` for the cosine and the sine, or `z^e` and `z^-e`, of the
//! j-th size of exponent.
//!
//! Invariants: keys ascend; no coefficient is zero.

use super::{
    Exact, Symbols,
    gauss::Gauss,
    run::FormulaRatio,
    sums::{Root, cosine_and_sine},
};
use crate::scalar::Conj;

/// Factor by which terms may grow while variables are rewritten one by one.
const GROWTH: usize = 4;
/// Number of terms that small numbers may grow to.
const ROOM: usize = 256;

/// A key and a coefficient.
pub(super) type TrigTerm = (u128, Gauss);

/// One digit of the keys.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    shift: u32,
    width: u32,
    kind: AxisKind,
}

#[derive(Clone, Debug)]
enum AxisKind {
    /// Real roots.
    Roots(Vec<Root>),
    /// Function of a variable: sizes of exponents, and true if they are in sines and cosines.
    Field { index: usize, sizes: Vec<i64>, waves: bool },
}

/// Basis function of a digit; variables by the index of their field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrigBasis {
    One,
    Root(Root),
    Cos(usize, i64),
    Sin(usize, i64),
    /// `z^e`.
    Phase(usize, i64),
}

/// A number. See the module.
#[derive(Clone, Debug)]
pub(super) struct TrigPolynomial {
    /// Axes from the highest digit to the lowest.
    pub(super) axes: Vec<Axis>,
    pub(super) terms: Vec<TrigTerm>,
    /// Exponents that all terms have in common, one for each field.
    pub(super) phase: Vec<i64>,
    /// The number is the sum of the terms, times the phase, over sqrt(2)^roots.
    pub(super) roots: i32,
    /// Number of different monomials that the exponentials had.
    pub(super) n_monomials: usize,
}

impl Axis {
    pub(super) fn mask(&self) -> u128 {
        ((1 << self.width) - 1) << self.shift
    }

    /// Returns the bits below this digit.
    pub(super) fn below(&self) -> u128 {
        (1 << self.shift) - 1
    }

    /// Returns the basis function of the digit in this key.
    pub(super) fn basis(&self, key: u128) -> TrigBasis {
        // A digit has as many bits as its list of meanings needs.
        let digit = ((key & self.mask()) >> self.shift) as usize;
        match &self.kind {
            AxisKind::Roots(roots) => {
                roots.get(digit).map_or(TrigBasis::One, |root| TrigBasis::Root(*root))
            }
            AxisKind::Field { index, sizes, waves } => {
                match (digit.checked_sub(2).map(|d| sizes[d / 2]), digit % 2) {
                    (None, _) => TrigBasis::One,
                    (Some(e), 0) if *waves => TrigBasis::Cos(*index, e),
                    (Some(e), _) if *waves => TrigBasis::Sin(*index, e),
                    (Some(e), 0) => TrigBasis::Phase(*index, e),
                    (Some(e), _) => TrigBasis::Phase(*index, -e),
                }
            }
        }
    }

    /// Returns true if all digits denote sines and cosines.
    pub(super) fn is_trigonometric(&self) -> bool {
        matches!(self.kind, AxisKind::Field { waves: true, .. })
    }
}

/// Exponents that occur in one field.
#[derive(Clone, Debug, Default)]
struct ExponentSet {
    /// Exponents without sign, ascending, zero left out.
    sizes: Vec<i64>,
    first: i64,
    varies: bool,
}

impl ExponentSet {
    fn note(&mut self, e: i64) {
        self.varies |= e != self.first;
        if e != 0
            && let Err(at) = self.sizes.binary_search(&e.abs())
        {
            self.sizes.insert(at, e.abs());
        }
    }
}

/// Roots of unity as roots and their coefficients, each looked up once. The first root is 1.
struct Roots {
    known: Vec<(u128, Vec<(usize, Gauss)>)>,
    roots: Vec<Root>,
}

impl Roots {
    /// Computes `2 e^{i pi a}` as a sum of real roots with Gaussian coefficients.
    fn parts(&mut self, bits: u128, angle: impl FnOnce() -> FormulaRatio) -> &[(usize, Gauss)] {
        if let Some(at) = self.known.iter().position(|(known, _)| *known == bits) {
            return &self.known[at].1;
        }
        let mut parts: Vec<(usize, Gauss)> = Vec::new();
        for (k, (factor, root)) in cosine_and_sine(angle()).into_iter().enumerate() {
            // A factor is 0, 1 or 1/2, with a sign.
            let size = (factor * FormulaRatio::from_integer(2)).to_integer();
            if size == 0 {
                continue;
            }
            let at = self.roots.iter().position(|known| *known == root).unwrap_or(self.roots.len());
            if at == self.roots.len() {
                self.roots.push(root);
            }
            let part = if k == 0 { Gauss { re: size, im: 0 } } else { Gauss { re: 0, im: size } };
            match parts.iter_mut().find(|(known, _)| *known == at) {
                Some((_, sum)) => *sum = Gauss { re: sum.re + part.re, im: sum.im + part.im },
                None => parts.push((at, part)),
            }
        }
        self.known.push((bits, parts));
        self.known.last().map_or(&[], |(_, parts)| parts)
    }
}

impl TrigPolynomial {
    /// Returns `None` if a key or a coefficient is beyond 128 bits.
    pub(super) fn from_exact(number: &Exact, symbols: &Symbols) -> Option<TrigPolynomial> {
        let exponentials = TrigPolynomial::exponentials(number, symbols)?;
        let before = exponentials.terms.len();
        // Of what is real but for a phase, or i times that, sines and cosines keep the coefficients
        // so.
        let phase = symbols.fields().iter().zip(&exponentials.phase);
        let back = phase.fold(0u128, |key, (field, e)| key.wrapping_add(field.key(-e)));
        let plain = number * &Exact::monomial(back);
        let [plain, conj] = [symbols.reduced(plain.clone()), symbols.reduced(plain.conj())];
        let real = conj == plain || conj == -plain;
        let copy = (!real).then(|| exponentials.clone());
        let mut waves = exponentials;
        // On the way there may be more: cos(a + b) has two exponentials, cos(a) exp(ib) and sin(a)
        // exp(ib) two each.
        let most = GROWTH * before + ROOM;
        // All but the roots, which are last.
        for k in 0..waves.axes.len().saturating_sub(1) {
            // Rewriting doubles them at most.
            if 2 * waves.terms.len() <= most || waves.count(k) <= most {
                waves.turn(k)?;
            } else if real {
                return None;
            }
        }
        let Some(exponentials) = copy else { return Some(waves) };
        for k in 0..waves.axes.len() {
            let (count, now) = (waves.count(k), waves.terms.len());
            if count < now || count == now && !waves.axes[k].is_trigonometric() {
                waves.turn(k)?;
            }
        }
        Some(if waves.terms.len() <= before { waves } else { exponentials })
    }

    fn exponentials(number: &Exact, symbols: &Symbols) -> Option<TrigPolynomial> {
        let mut exponents = vec![0; symbols.fields().len()];
        let mut seen: Vec<ExponentSet> = vec![ExponentSet::default(); exponents.len()];
        for (k, (key, _)) in number.terms().iter().enumerate() {
            symbols.exponents(*key, &mut exponents);
            for (seen, e) in seen.iter_mut().zip(&exponents) {
                if k == 0 {
                    seen.first = *e;
                }
                seen.note(*e);
            }
        }
        let mut roots = Roots { known: Vec::new(), roots: vec![Root::One] };
        for (key, _) in number.terms() {
            let bits = symbols.exponents(*key, &mut exponents);
            roots.parts(bits, || symbols.turns(bits));
        }
        let mut shift = width(roots.roots.len());
        let mut axes = vec![Axis { shift: 0, width: shift, kind: AxisKind::Roots(Vec::new()) }];
        for (index, seen) in seen.iter().enumerate().rev().filter(|(_, seen)| seen.varies) {
            let width = width(2 * seen.sizes.len() + 2);
            axes.push(Axis {
                shift,
                width,
                kind: AxisKind::Field { index, sizes: seen.sizes.clone(), waves: false },
            });
            shift += width;
        }
        if shift > 127 {
            return None;
        }
        axes.reverse();
        let mut terms = Vec::with_capacity(number.n_terms());
        for (key, c) in number.terms() {
            let bits = symbols.exponents(*key, &mut exponents);
            let monomial =
                axes.iter().fold(0, |sum, axis| sum | axis.digit(&exponents) << axis.shift);
            for (root, part) in roots.parts(bits, || symbols.turns(bits)) {
                terms.push((monomial | *root as u128, part.scaled(*c)?));
            }
        }
        if let Some(Axis { kind: AxisKind::Roots(list), .. }) = axes.last_mut() {
            *list = roots.roots;
        }
        let below = axes.last().map_or(0, Axis::mask);
        let terms = summed(terms)?;
        let mut monomials: Vec<u128> = terms.iter().map(|t| t.0 & !below).collect();
        monomials.dedup();
        let phase = seen.iter().map(|seen| if seen.varies { 0 } else { seen.first }).collect();
        // The parts of the roots of unity are doubled.
        let roots = number.roots().checked_add(2)?;
        Some(TrigPolynomial { axes, terms, phase, roots, n_monomials: monomials.len() })
    }

    /// Pairs of a block: what is before the functions of digit 2 j + 2 and 2 j + 3 of axis k, zero
    /// if nothing.
    fn pairs(&self, k: usize) -> Option<impl Iterator<Item = (&[TrigTerm], &[TrigTerm], bool)>> {
        let axis = &self.axes[k];
        let AxisKind::Field { .. } = axis.kind else { return None };
        let bit = 1u128 << axis.shift;
        let mut rest = self.terms.as_slice();
        Some(std::iter::from_fn(move || {
            let first = rest.first()?.0;
            let upper = first & !(axis.below() | bit);
            let end = rest
                .iter()
                .position(|t| t.0 & !(axis.below() | bit) != upper)
                .unwrap_or(rest.len());
            let (block, others) = rest.split_at(end);
            rest = others;
            let (even, odd) = block.split_at(block.partition_point(|t| t.0 & bit == 0));
            Some((even, odd, first & axis.mask() & !bit != 0))
        }))
    }

    /// Returns the number of terms with axis k in the other kind of functions.
    fn count(&self, k: usize) -> usize {
        let waves = self.axes[k].is_trigonometric();
        let Some(pairs) = self.pairs(k) else { return usize::MAX };
        let bit = 1 << self.axes[k].shift;
        let mut count = 0;
        for (even, odd, moves) in pairs {
            if moves {
                merge(even, odd, bit, |_, x, y| {
                    // One of the two is left out where x = y or x = -y; for sines and cosines,
                    // where x = iy or x = -iy.
                    let y = if waves { y.times_i()? } else { y };
                    count += 2 - usize::from(x == y) - usize::from(Some(x) == Gauss::ZERO.minus(y));
                    Some(())
                });
            } else {
                count += even.len();
            }
        }
        count
    }

    /// Writes axis k in the other kind of functions.
    fn turn(&mut self, k: usize) -> Option<()> {
        let waves = self.axes[k].is_trigonometric();
        let bit = 1u128 << self.axes[k].shift;
        let mut out = Vec::with_capacity(self.terms.len());
        let mut odds: Vec<TrigTerm> = Vec::new();
        for (even, odd, moves) in self.pairs(k)? {
            if !moves {
                let scale = if waves { 2 } else { 1 };
                for (key, c) in even {
                    out.push((*key, c.scaled(scale)?));
                }
                continue;
            }
            merge(even, odd, bit, |key, x, y| {
                // x z + y / z = (x + y) cos + i (x - y) sin; twice x cos + y sin = (x - i y) z +
                // (x + i y) / z.
                let (x, y) = if waves {
                    (x.minus(y.times_i()?)?, x.plus(y.times_i()?)?)
                } else {
                    (x.plus(y)?, x.minus(y)?.times_i()?)
                };
                if !x.is_zero() {
                    out.push((key, x));
                }
                if !y.is_zero() {
                    odds.push((key | bit, y));
                }
                Some(())
            })?;
            out.append(&mut odds);
        }
        self.terms = out;
        if waves {
            self.roots = self.roots.checked_add(2)?;
        }
        if let AxisKind::Field { waves, .. } = &mut self.axes[k].kind {
            *waves = !*waves;
        }
        Some(())
    }
}

impl Axis {
    /// Returns the digit of these exponents.
    fn digit(&self, exponents: &[i64]) -> u128 {
        let AxisKind::Field { index, sizes, .. } = &self.kind else { return 0 };
        let e = exponents[*index];
        match sizes.binary_search(&e.abs()) {
            Ok(at) => (2 * at + 2 + usize::from(e < 0)) as u128,
            Err(_) => 0,
        }
    }
}

/// Returns the bits of numbers below n.
fn width(n: usize) -> u32 {
    n.saturating_sub(1).checked_ilog2().map_or(0, |log| log + 1)
}

/// Sorted, with each key once.
fn summed(mut terms: Vec<TrigTerm>) -> Option<Vec<TrigTerm>> {
    terms.sort_unstable_by_key(|t| t.0);
    let mut out: Vec<TrigTerm> = Vec::with_capacity(terms.len());
    for (key, c) in terms {
        match out.last_mut() {
            Some(last) if last.0 == key => last.1 = last.1.plus(c)?,
            _ => out.push((key, c)),
        }
    }
    out.retain(|t| !t.1.is_zero());
    Some(out)
}

/// Calls f with the key of the even term and both coefficients.
fn merge(
    even: &[TrigTerm],
    odd: &[TrigTerm],
    bit: u128,
    mut f: impl FnMut(u128, Gauss, Gauss) -> Option<()>,
) -> Option<()> {
    let (mut i, mut j) = (0, 0);
    loop {
        let (x, y) = (even.get(i).map(|t| t.0), odd.get(j).map(|t| t.0 & !bit));
        let key = match (x, y) {
            (None, None) => return Some(()),
            (Some(x), Some(y)) => x.min(y),
            (Some(key), None) | (None, Some(key)) => key,
        };
        let take = |at: &mut usize, list: &[TrigTerm], there: Option<u128>| {
            let here = there == Some(key);
            *at += usize::from(here);
            if here { list[*at - 1].1 } else { Gauss::ZERO }
        };
        let (a, b) = (take(&mut i, even, x), take(&mut j, odd, y));
        f(key, a, b)?;
    }
}
