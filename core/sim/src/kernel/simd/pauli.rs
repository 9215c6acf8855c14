//! Expectation values of Pauli strings by vector registers.
//!
//! A string with the masks x and z is, up to a power of i that its weight holds,
//! `sum_i (-1)^{|i & z|} conj(a[i ^ x]) a[i]`, of which the real or the imaginary part is wanted.
//! The bits of an index fall into those of a block, of a row in it (a register) and of a lane in
//! that:
//!
//! ```text
//! block ......  row .......  lane ..
//! ```
//! In lanes `re im re im …` either part is a product of one register with another whose lanes are
//! moved by an exclusive-or; z chooses signs, of which those of lanes are applied once at the end,
//! those of eight rows when eight sums are added, and the others once for eight rows.
//!
//! Strings that share x and the part share the products: one string takes them as they are, of
//! several each takes one output of a Walsh-Hadamard transform over eight rows.
//!
//! # Few passes over memory
//! A string joins block b with block b ^ (x above the block's bits). Strings are put into
//! *families* whose x span at most [`SPAN`] dimensions there; the 2^[`SPAN`] blocks that a family
//! joins fit the second cache, and all its strings are summed while they are there. Each sum over
//! such a set of blocks is one number, and these are added in a tree: the bits do not depend on the
//! number of threads.
#![expect(unsafe_code, reason = "vector registers are read from addresses")]

use std::collections::BTreeMap;

use num_complex::Complex;
use num_traits::Zero;

use super::{InstructionSet, Simd, SimdFloat, Task};
use crate::{
    basis::{deposit, odd},
    kernel::{SERIAL_BELOW, Threads, reduce::tree},
    pauli::PauliMasks,
};

/// log2 of the amplitudes of a block: 16 KiB of `Complex<f64>`, so that two are in the first cache.
pub(super) const BLOCK_BITS: usize = 10;

/// log2 of the amplitudes whose squared norms are summed by themselves.
pub(crate) const NORM_BITS: usize = 8;

/// Dimensions of a family: 2^4 blocks are 256 KiB.
const SPAN: usize = 4;

/// Rows that are worked on together.
pub(super) const ROWS: usize = 8;

/// Strings that share the products of a row at a time.
const TOGETHER: usize = 8;

/// Largest number of lanes of a register.
pub(super) const MOST_LANES: usize = 16;

/// Strings with one x mask that need the same part of `conj(a[i ^ x]) a[i]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FlipProduct {
    /// The bits that are flipped.
    pub(crate) x: usize,
    /// True if the imaginary part is needed; else it is the real one.
    pub(crate) imaginary: bool,
    /// The z mask of each string, and what it is multiplied by.
    pub(crate) strings: Vec<(usize, f64)>,
}

impl FlipProduct {
    /// Strings with coefficients, by what they multiply.
    pub(crate) fn of_terms(terms: impl IntoIterator<Item = (f64, PauliMasks)>) -> Vec<FlipProduct> {
        let mut products: BTreeMap<(usize, bool), Vec<(usize, f64)>> = BTreeMap::new();
        for (c, string @ PauliMasks { x, z }) in terms {
            // Re(i^k w) is Re w, -Im w, -Re w, Im w for k = 0, 1, 2, 3: i^-k has these signs.
            let phase = string.y_phase().conj();
            let weight = if phase.is_negative() { -c } else { c };
            products.entry((x, phase.is_imaginary())).or_default().push((z, weight));
        }
        products
            .into_iter()
            .map(|((x, imaginary), strings)| FlipProduct { x, imaginary, strings })
            .collect()
    }
}

/// Returns the sum of all products, or `None` for a state that is too short for the registers.
pub(crate) fn expectation<E: SimdFloat>(
    products: &[FlipProduct],
    amplitudes: &[Complex<E>],
    threads: &Threads,
    set: InstructionSet,
) -> Option<f64> {
    assert!(set.is_available() && amplitudes.len().is_power_of_two());
    let n_qubits = amplitudes.len().trailing_zeros() as usize;
    let lane_bits = super::shape::<E>(set).0 - 1;
    assert!(products.iter().all(|p| p.x < amplitudes.len()));
    if n_qubits < lane_bits + ROWS.trailing_zeros() as usize {
        return None;
    }
    let block_bits = BLOCK_BITS.min(n_qubits);
    let families = families(products, block_bits);
    let blocks = 1usize << (n_qubits - block_bits);
    // Where the sets of blocks of each family begin in the list of all.
    let mut starts = vec![0];
    for family in &families {
        starts.push(starts[starts.len() - 1] + (blocks >> family.basis.len()));
    }
    let part = |k: usize| {
        let number = starts.partition_point(|&start| start <= k) - 1;
        let family = &families[number];
        let start = deposit(k - starts[number], (blocks - 1) & !family.pivots());
        // SAFETY: the set is available.
        unsafe { E::dispatch(set, Joined { family, start, block_bits, amplitudes }) }
    };
    let all = starts[starts.len() - 1];
    let parallel = amplitudes.len() >= SERIAL_BELOW;
    let sums = if parallel { threads.map(all, part) } else { (0..all).map(part).collect() };
    Some(if sums.is_empty() { 0.0 } else { tree(sums, &|a, b| a + b) })
}

/// Products whose x span few dimensions above the block's bits.
pub(super) struct Family<'a> {
    /// Basis in reduced echelon form: each vector's highest bit is in no other.
    pub(super) basis: Vec<usize>,
    pub(super) products: Vec<&'a FlipProduct>,
}

fn highest(x: usize) -> usize {
    1 << (usize::BITS - 1 - x.leading_zeros())
}

impl Family<'_> {
    pub(super) fn pivots(&self) -> usize {
        self.basis.iter().fold(0, |mask, &b| mask | highest(b))
    }

    /// Returns x reduced by the basis.
    fn rest(&self, x: usize) -> usize {
        self.basis.iter().fold(x, |x, &b| if x & highest(b) == 0 { x } else { x ^ b })
    }

    /// Makes room for x, if it is in the span or there is a dimension left.
    fn admits(&mut self, x: usize) -> bool {
        let rest = self.rest(x);
        if rest == 0 {
            return true;
        }
        if self.basis.len() == SPAN {
            return false;
        }
        for b in &mut self.basis {
            if *b & highest(rest) != 0 {
                *b ^= rest;
            }
        }
        self.basis.push(rest);
        true
    }

    /// Returns the element of the span with this number.
    fn element(&self, number: usize) -> usize {
        let chosen = self.basis.iter().enumerate().filter(|(k, _)| number >> k & 1 == 1);
        chosen.fold(0, |x, (_, b)| x ^ b)
    }
}

/// Puts each product into the first family that admits it.
pub(super) fn families(products: &[FlipProduct], block_bits: usize) -> Vec<Family<'_>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    for product in products {
        let x = product.x >> block_bits;
        match families.iter_mut().find_map(|f| f.admits(x).then_some(f)) {
            Some(family) => family.products.push(product),
            None => {
                let mut family = Family { basis: Vec::new(), products: vec![product] };
                family.admits(x);
                families.push(family);
            }
        }
    }
    families
}

/// The sum of a family's products over the blocks `start ^ span`.
struct Joined<'a, E> {
    family: &'a Family<'a>,
    start: usize,
    block_bits: usize,
    amplitudes: &'a [Complex<E>],
}

impl<E: SimdFloat> Task<E> for Joined<'_, E> {
    type Output = f64;

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) -> f64 {
        let Joined { family, start, block_bits, amplitudes } = self;
        let lane_bits = S::LANE_BITS - 1;
        let lanes = (1usize << lane_bits) - 1;
        let mut total = 0.0;
        for product in &family.products {
            let (x, high) = (product.x, product.x >> block_bits);
            let imaginary = usize::from(product.imaginary);
            for strings in product.strings.chunks(TOGETHER) {
                // SAFETY: this is `vectorize`; the exclusive-or of two numbers below LANES is one.
                // A block has 2^block_bits amplitudes, at least eight registers, and block numbers
                // are below their count: the span and the start use the bits of block numbers only.
                unsafe {
                    let moved = S::index(|j| j ^ ((x & lanes) << 1 | imaginary));
                    let mut sums = [S::splat(E::zero()); TOGETHER];
                    for number in 0..1usize << family.basis.len() {
                        let block = start ^ family.element(number);
                        // Of a pair of blocks one is enough: the other gives the same.
                        if high != 0 && block & highest(high) != 0 {
                            continue;
                        }
                        let at =
                            |block: usize| amplitudes.as_ptr().add(block << block_bits).cast::<E>();
                        let pair = BlockPair {
                            a: at(block),
                            b: at(block ^ high),
                            rows: 1 << (block_bits - lane_bits),
                            flip: (x & ((1 << block_bits) - 1)) >> lane_bits,
                            moved,
                        };
                        let z_row =
                            |k: usize| (strings[k].0 & ((1 << block_bits) - 1)) >> lane_bits;
                        let mut own = [S::splat(E::zero()); TOGETHER];
                        match strings.len() {
                            1 => own[0] = pair.one(z_row(0)),
                            count => pair.several(count, z_row, &mut own),
                        }
                        for (k, (z, _)) in strings.iter().enumerate() {
                            let negative = odd(block & z >> block_bits);
                            sums[k] =
                                if negative { sums[k].sub(own[k]) } else { sums[k].add(own[k]) };
                        }
                    }
                    let twice = if high == 0 { 1.0 } else { 2.0 };
                    for (sum, &(z, weight)) in sums.iter().zip(strings) {
                        total += twice * weight * across(*sum, z & lanes, product.imaginary);
                    }
                }
            }
        }
        total
    }
}

/// Returns the squared norm of each block of 2^[`NORM_BITS`] amplitudes, or `None` for a state of
/// less than one.
pub(crate) fn block_norms<E: SimdFloat>(
    amplitudes: &[Complex<E>],
    threads: &Threads,
    set: InstructionSet,
) -> Option<Vec<f64>> {
    assert!(set.is_available() && amplitudes.len().is_power_of_two());
    if amplitudes.len() >> NORM_BITS == 0 {
        return None;
    }
    let pieces: Vec<&[Complex<E>]> = amplitudes.chunks(1 << (NORM_BITS + 8)).collect();
    // SAFETY: the set is available.
    let piece = |k: usize| unsafe { E::dispatch(set, Norms(pieces[k])) };
    let parallel = amplitudes.len() >= SERIAL_BELOW;
    let sums: Vec<_> = if parallel {
        threads.map(pieces.len(), piece)
    } else {
        (0..pieces.len()).map(piece).collect()
    };
    Some(sums.concat())
}

/// Amplitudes of whole blocks.
struct Norms<'a, E>(&'a [Complex<E>]);

impl<E: SimdFloat> Task<E> for Norms<'_, E> {
    type Output = Vec<f64>;

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) -> Vec<f64> {
        let rows = 1 << (NORM_BITS + 1 - S::LANE_BITS);
        let mut norms = Vec::with_capacity(self.0.len() >> NORM_BITS);
        // A plain loop: a closure may end up as a function without the instructions.
        for block in self.0.chunks_exact(1 << NORM_BITS) {
            let at = block.as_ptr().cast();
            // SAFETY: this is `vectorize`; a block has `rows` registers, of which there are eight
            // at least.
            unsafe {
                let pair = BlockPair::<S> { a: at, b: at, rows, flip: 0, moved: S::index(|j| j) };
                norms.push(across(pair.one(0), 0, false));
            }
        }
        norms
    }
}

/// Returns the sum over lanes with the signs of z; the product of a real part with an imaginary one
/// is subtracted.
///
/// # Safety
/// Called within `vectorize`.
#[inline(always)]
pub(super) unsafe fn across<S: Simd>(sum: S, z: usize, imaginary: bool) -> f64 {
    let mut lanes = [S::Elem::zero(); MOST_LANES];
    // SAFETY: there is room for any register.
    unsafe { sum.store(lanes.as_mut_ptr()) };
    let signed = lanes[..S::LANES].iter().enumerate().map(|(j, &x)| {
        let (negative, x): (bool, f64) = (odd(j >> 1 & z) != (imaginary && j % 2 == 0), x.into());
        if negative { -x } else { x }
    });
    signed.sum()
}

/// Two blocks, of which row r of the one goes with row `r ^ flip` of the other, lanes moved.
struct BlockPair<S: Simd> {
    a: *const S::Elem,
    b: *const S::Elem,
    rows: usize,
    flip: usize,
    moved: S::Index,
}

impl<S: Simd> BlockPair<S> {
    /// Loads the rows `first + j` of the one block and those that belong to them of the other.
    ///
    /// # Safety
    /// Called within `vectorize`; both blocks have `rows` registers, a power of two and at least
    /// eight.
    #[inline(always)]
    unsafe fn eight(&self, first: usize) -> [(S, S); ROWS] {
        let within = self.flip % ROWS;
        // SAFETY: rows are below `rows`, as exclusive-ors of numbers below it; the caller promises
        // the rest.
        unsafe {
            let a = self.a.add(first * S::LANES);
            let b = self.b.add((first ^ (self.flip - within)) * S::LANES);
            let zero = S::splat(S::Elem::zero());
            let mut rows = [(zero, zero); ROWS];
            unroll!(j in 0..ROWS, at most 8 => {
                let other = S::load(b.add((j ^ within) * S::LANES));
                rows[j] = (S::load(a.add(j * S::LANES)), other.permute(self.moved));
            });
            rows
        }
    }

    /// Returns the sum for one string: eight sums side by side, which take the signs of their rows
    /// at the end.
    ///
    /// # Safety
    /// Those of [`BlockPair::eight`].
    #[inline(always)]
    unsafe fn one(&self, z: usize) -> S {
        // SAFETY: the caller promises what `eight` needs.
        unsafe {
            let mut sums = [S::splat(S::Elem::zero()); ROWS];
            for first in (0..self.rows).step_by(ROWS) {
                let rows = self.eight(first);
                if odd(first & z) {
                    unroll!(j in 0..ROWS, at most 8 => { sums[j] = rows[j].0.neg_mul_add(rows[j].1, sums[j]); });
                } else {
                    unroll!(j in 0..ROWS, at most 8 => { sums[j] = rows[j].0.mul_add(rows[j].1, sums[j]); });
                }
            }
            transform(&mut sums);
            sums[z % ROWS]
        }
    }

    /// Computes the sums for several strings.
    ///
    /// # Safety
    /// Those of [`BlockPair::eight`].
    #[inline(always)]
    unsafe fn several(&self, count: usize, z: impl Fn(usize) -> usize, sums: &mut [S; TOGETHER]) {
        for first in (0..self.rows).step_by(ROWS) {
            // SAFETY: the caller promises what `eight` needs.
            let pairs = unsafe { self.eight(first) };
            let mut rows = [pairs[0].0; ROWS];
            unroll!(j in 0..ROWS, at most 8 => { rows[j] = pairs[j].0.mul(pairs[j].1); });
            transform(&mut rows);
            for (k, sum) in sums[..count].iter_mut().enumerate() {
                let row = rows[z(k) % ROWS];
                *sum = if odd(first & z(k)) { sum.sub(row) } else { sum.add(row) };
            }
        }
    }
}

/// Computes the Walsh-Hadamard transform in place: entry z becomes the sum of the entries j times
/// `(-1)^{|j & z|}`.
#[inline(always)]
fn transform<S: Simd>(x: &mut [S; ROWS]) {
    unroll!(k in 0..4, at most 4 => { let (i, j) = (2 * k, 2 * k + 1); (x[i], x[j]) = (x[i].add(x[j]), x[i].sub(x[j])); });
    unroll!(k in 0..4, at most 4 => { let (i, j) = (k + (k & 2), k + (k & 2) + 2); (x[i], x[j]) = (x[i].add(x[j]), x[i].sub(x[j])); });
    unroll!(k in 0..4, at most 4 => { let (i, j) = (k, k + 4); (x[i], x[j]) = (x[i].add(x[j]), x[i].sub(x[j])); });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of up to 2^12 terms of size 1 in single precision, by products of two roundings.
    const SINGLE: f64 = 1e-4;
    const DOUBLE: f64 = 1e-11;

    fn amplitudes<E: SimdFloat>(n: usize) -> Vec<Complex<E>> {
        let part = |i: usize| E::round_from(((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0);
        (0..1 << n).map(|i| Complex::new(part(2 * i), part(2 * i + 1))).collect()
    }

    fn plain<E: SimdFloat>(product: &FlipProduct, a: &[Complex<E>]) -> f64 {
        let wide = |z: Complex<E>| Complex::<f64>::new(z.re.into(), z.im.into());
        let each = |(i, &x): (usize, &Complex<E>)| {
            let w = wide(a[i ^ product.x]).conj() * wide(x);
            let part = if product.imaginary { w.im } else { w.re };
            let signed = |&(z, weight): &(usize, f64)| if odd(i & z) { -weight } else { weight };
            part * product.strings.iter().map(signed).sum::<f64>()
        };
        a.iter().enumerate().map(each).sum()
    }

    fn every_set_agrees<E: SimdFloat>(tolerance: f64) {
        for n in [0, 3, 5, 6, 8, 11, 12] {
            let a = amplitudes::<E>(n);
            let all = (1usize << n) - 1;
            // Of a string, x and z have an even number of bits in common where the real part
            // counts.
            let masks = [
                (0, 0),
                (0, 5),
                (1, 2),
                (3, 7),
                (6, 1),
                (1 << 11, 3),
                (3 << 10, 1 << 11),
                (all, 0),
            ];
            let mut products = Vec::new();
            for (x, z) in masks.map(|(x, z)| (x & all, z & all)) {
                let imaginary = odd(x & z);
                products.push(FlipProduct { x, imaginary, strings: vec![(z, 0.5)] });
                let mut strings = vec![(z, -1.0)];
                strings.extend((0..20).map(|k| (z ^ ((k * 37) & all & !x), 0.1 * k as f64)));
                products.push(FlipProduct { x, imaginary, strings });
            }
            let expected: f64 = products.iter().map(|p| plain(p, &a)).sum();
            for set in InstructionSet::ALL.into_iter().filter(|s| s.is_available()) {
                let Some(sum) = expectation(&products, &a, &Threads::serial(), set) else {
                    assert!(n < 6, "{set}: {n} qubits are enough");
                    continue;
                };
                assert!(
                    (sum - expected).abs() < tolerance * (1 << n) as f64,
                    "{set}, {n}: {sum}, {expected}"
                );
                let norms = block_norms(&a, &Threads::serial(), set).unwrap_or_default();
                assert_eq!(norms.len(), a.len() >> NORM_BITS);
                for (norm, block) in norms.iter().zip(a.chunks(1 << NORM_BITS)) {
                    let square = |z: &Complex<E>| -> f64 { (z.re * z.re + z.im * z.im).into() };
                    assert!(
                        (norm - block.iter().map(square).sum::<f64>()).abs() < tolerance * 256.0
                    );
                }
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_plain_sum() {
        every_set_agrees::<f64>(DOUBLE);
        every_set_agrees::<f32>(SINGLE);
    }

    #[test]
    fn every_product_is_in_a_family_that_spans_it() {
        let product =
            |x: usize| FlipProduct { x: x << BLOCK_BITS, imaginary: false, strings: Vec::new() };
        let products: Vec<FlipProduct> = (0..100).map(|k| product(k * 2654435761 % 1021)).collect();
        let families = families(&products, BLOCK_BITS);
        assert_eq!(families.iter().map(|f| f.products.len()).sum::<usize>(), 100);
        for family in families {
            assert!(family.basis.len() <= SPAN);
            let mut span: Vec<usize> =
                (0..1 << family.basis.len()).map(|k| family.element(k)).collect();
            span.sort_unstable();
            span.dedup();
            assert_eq!(span.len(), 1 << family.basis.len(), "independent");
            assert_eq!(family.pivots().count_ones() as usize, family.basis.len());
            for product in family.products {
                assert!(span.binary_search(&(product.x >> BLOCK_BITS)).is_ok());
            }
        }
    }
}
