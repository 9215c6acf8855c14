//! `O |psi>` and `<psi|O|psi>` for a real sum of Pauli strings, together.
//!
//! A string with the masks x and z takes the amplitude at `j ^ x` to j, with the sign
//! `(-1)^{|j & z|}` and a weight that is real or imaginary (see [`FlipProduct`]). The bits of an
//! index fall into those of a block, of a row in it and of a lane, as in `pauli`:
//!
//! ```text
//! out[j] += weight (-1)^{|j_block & z_block|} (-1)^{|j_low & z_low|} psi[j ^ x]
//!                  `--- one sign a block ---'  `-- a table, or 1 ---'
//! ```
//! Eight rows of the result are summed in registers over all strings before they are written, and
//! there their product with psi is summed too: the mean value costs no pass of its own.
//!
//! Strings go by *families*, as in `pauli`: those of one family join few blocks, which stay in the
//! second cache. So the number of passes over memory is that of families, not that of strings.
//!
//! Invariant: sums are added in an order that depends on the number of qubits only.
#![expect(unsafe_code, reason = "vector registers are read from and written to addresses")]

use num_complex::Complex;
use num_traits::Zero;

use super::{
    InstructionSet, SharedPtr, Simd, SimdFloat, Task, as_reals,
    pauli::{BLOCK_BITS, FlipProduct, ROWS, across, families},
};
use crate::{
    basis::{deposit, odd, walsh_hadamard},
    kernel::{PreparedObservable, SERIAL_BELOW, Threads},
};

/// Strings that are summed in registers together.
const TOGETHER: usize = 16;

/// Largest number of tables, of 16 KiB each in double precision.
const MAX_TABLES: usize = 256;

/// A sum of Pauli strings, ready for states of n qubits.
pub(crate) struct PauliMap<E> {
    set: InstructionSet,
    n_qubits: usize,
    block_bits: usize,
    families: Vec<ObservableFamily>,
    /// Factors over a block, each twice: for the real and for the imaginary part.
    tables: Vec<E>,
    /// Sum of each set of blocks.
    sums: Vec<f64>,
}

/// The strings of a family.
struct ObservableFamily {
    /// The blocks that it joins: the span of these vectors.
    basis: Vec<usize>,
    pivots: usize,
    lines: Vec<FlipGroup>,
}

/// Strings that share x.
struct FlipGroup {
    x: usize,
    /// True if the weights are imaginary.
    imaginary: bool,
    low: BlockSigns,
}

/// Dependence of the sign on the bits within a block.
enum BlockSigns {
    /// No dependence: (z of the block, weight) of each string.
    Constant(Vec<(usize, f64)>),
    /// Signs of the table that begins here, times the sign of z of the block.
    Table { z: usize, start: usize },
}

impl<E: SimdFloat> PauliMap<E> {
    /// Prepares the sum of some products, or `None` if the states are too short for the registers
    /// or the signs need too many tables.
    pub(crate) fn new(
        n_qubits: usize,
        products: &[FlipProduct],
        set: InstructionSet,
    ) -> Option<PauliMap<E>> {
        assert!(set.is_available() && products.iter().all(|p| p.x >> n_qubits == 0));
        let lane_bits = super::shape::<E>(set).0 - 1;
        if n_qubits < lane_bits + ROWS.trailing_zeros() as usize {
            return None;
        }
        let block_bits = BLOCK_BITS.min(n_qubits);
        let mut tables = Vec::new();
        let mut all = Vec::new();
        for family in families(products, block_bits) {
            let mut lines = Vec::new();
            for product in &family.products {
                lines_of(product, block_bits, &mut tables, &mut lines);
                if tables.len() > MAX_TABLES << (block_bits + 1) {
                    return None;
                }
            }
            all.push(ObservableFamily { pivots: family.pivots(), basis: family.basis, lines });
        }
        let sums = vec![0.0; 1 << (n_qubits - block_bits)];
        Some(PauliMap { set, n_qubits, block_bits, families: all, tables, sums })
    }
}

/// Splits the strings of a product by their z above the block's bits.
fn lines_of<E: SimdFloat>(
    product: &FlipProduct,
    block_bits: usize,
    tables: &mut Vec<E>,
    lines: &mut Vec<FlipGroup>,
) {
    let &FlipProduct { x, imaginary, ref strings } = product;
    let inside = (1usize << block_bits) - 1;
    let (constant, mut rest): (Vec<_>, Vec<_>) =
        strings.iter().copied().partition(|s: &(usize, f64)| s.0 & inside == 0);
    if !constant.is_empty() {
        let constant = constant.into_iter().map(|(z, w)| (z >> block_bits, w)).collect();
        lines.push(FlipGroup { x, imaginary, low: BlockSigns::Constant(constant) });
    }
    while let Some(&(first, _)) = rest.first() {
        let z = first >> block_bits;
        let (same, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|s| s.0 >> block_bits == z);
        let mut factors = vec![0.0; 1 << block_bits];
        same.iter().for_each(|(z, w)| factors[z & inside] += w);
        walsh_hadamard(&mut factors);
        lines.push(FlipGroup { x, imaginary, low: BlockSigns::Table { z, start: tables.len() } });
        tables.extend(factors.iter().flat_map(|&f| {
            // i (re + i im) = -im + i re
            [E::round_from(if imaginary { -f } else { f }), E::round_from(f)]
        }));
        rest = others;
    }
}

impl<E: SimdFloat> PreparedObservable<Complex<E>> for PauliMap<E> {
    fn apply(
        &mut self,
        weight: f64,
        psi: &[Complex<E>],
        out: &mut [Complex<E>],
        add: bool,
        threads: &Threads,
    ) -> f64 {
        assert!(
            psi.len() == 1 << self.n_qubits && out.len() == psi.len(),
            "states of {} qubits",
            self.n_qubits
        );
        if self.families.is_empty() && !add {
            out.fill(Complex::zero());
        }
        let out = SharedPtr::new(as_reals(out));
        let blocks = psi.len() >> self.block_bits;
        let (families, tables, block_bits) =
            (&self.families, self.tables.as_slice(), self.block_bits);
        let mut total = 0.0;
        for (number, family) in families.iter().enumerate() {
            let sums = &mut self.sums[..blocks >> family.basis.len()];
            let part = |k: usize, sum: &mut [f64]| {
                let start = deposit(k, (blocks - 1) & !family.pivots);
                let add = add || number > 0;
                let task = ApplyFamily {
                    family,
                    tables,
                    block_bits,
                    start,
                    psi,
                    out,
                    weight: E::round_from(weight),
                    add,
                };
                // SAFETY: the set is available.
                sum[0] = unsafe { E::dispatch(self.set, task) };
            };
            if psi.len() >= SERIAL_BELOW {
                threads.chunks(sums, 1, part);
            } else {
                Threads::serial().chunks(sums, 1, part);
            }
            total += tree_in_place(sums);
        }
        total
    }
}

/// Adds neighbours until one is left, in place; 0 if there is none.
fn tree_in_place(sums: &mut [f64]) -> f64 {
    let mut count = sums.len();
    while count > 1 {
        for k in 0..count / 2 {
            sums[k] = sums[2 * k] + sums[2 * k + 1];
        }
        if count % 2 == 1 {
            sums[count / 2] = sums[count - 1];
        }
        count = count.div_ceil(2);
    }
    sums.first().copied().unwrap_or(0.0)
}

/// A family on the blocks `start ^ span`.
struct ApplyFamily<'a, E> {
    family: &'a ObservableFamily,
    tables: &'a [E],
    block_bits: usize,
    start: usize,
    psi: &'a [Complex<E>],
    out: SharedPtr<E>,
    weight: E,
    add: bool,
}

/// A line in one block.
#[derive(Clone, Copy)]
struct BlockTerm<S: Simd> {
    /// The block that amplitudes come from, and how its rows and lanes are moved.
    from: *const S::Elem,
    flip: usize,
    moved: Option<S::Index>,
    factor: S,
    table: Option<*const S::Elem>,
}

impl<E: SimdFloat> Task<E> for ApplyFamily<'_, E> {
    /// The part of `<psi|O|psi>`.
    type Output = f64;

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) -> f64 {
        let ApplyFamily { family, tables, block_bits, start, psi, out, weight, add } = self;
        let lane_bits = S::LANE_BITS - 1;
        let lanes = (1usize << lane_bits) - 1;
        let inside = (1usize << block_bits) - 1;
        let mut total = 0.0;
        // SAFETY: this is `vectorize`. Blocks are below their count, as the span and the start use
        // the bits of block numbers only; a block has 2^block_bits amplitudes, at least eight
        // registers, and so has a table. Different starts have no block in common, and each is one
        // thread's.
        unsafe {
            let zero = S::splat(E::zero());
            for number in 0..1usize << family.basis.len() {
                let block = family.basis.iter().enumerate().filter(|(k, _)| number >> k & 1 == 1);
                let block = block.fold(start, |sum, (_, b)| sum ^ b);
                let at = |block: usize| psi.as_ptr().add(block << block_bits).cast::<E>();
                for (part, lines) in family.lines.chunks(TOGETHER).enumerate() {
                    let empty = BlockTerm {
                        from: at(block),
                        flip: 0,
                        moved: None,
                        factor: zero,
                        table: None,
                    };
                    let mut runs = [empty; TOGETHER];
                    for (run, line) in runs.iter_mut().zip(lines) {
                        let imaginary = usize::from(line.imaginary);
                        let lane = (line.x & lanes) << 1 | imaginary;
                        run.from = at(block ^ line.x >> block_bits);
                        run.flip = (line.x & inside) >> lane_bits;
                        run.moved = (lane != 0).then(|| S::index(|j| j ^ lane));
                        let signed = |z: usize, w: f64| if odd(block & z) { -w } else { w };
                        match &line.low {
                            BlockSigns::Constant(strings) => {
                                let sum: f64 = strings.iter().map(|s| signed(s.0, s.1)).sum();
                                let parts = [if line.imaginary { -sum } else { sum }, sum]
                                    .map(E::round_from);
                                let pair: [E; 2 * super::pauli::MOST_LANES] =
                                    std::array::from_fn(|j| parts[j % 2]);
                                run.factor = S::load(pair.as_ptr());
                            }
                            BlockSigns::Table { z, start } => {
                                run.factor = S::splat(E::round_from(signed(*z, 1.0)));
                                run.table = Some(tables.as_ptr().add(*start));
                            }
                        }
                    }
                    let rows = 1 << (block_bits - lane_bits);
                    let to = out.get().add(2 * (block << block_bits));
                    let add = add || part > 0;
                    total +=
                        sum_rows(&runs[..lines.len()], at(block), to, rows, S::splat(weight), add);
                }
            }
        }
        total
    }
}

/// Writes the sum of the runs to a block, times the weight, and returns its real inner product with
/// `own`.
///
/// # Safety
/// Called within `S::vectorize`; the number of rows of all blocks is a power of two and at least
/// eight.
#[inline(always)]
unsafe fn sum_rows<S: Simd>(
    runs: &[BlockTerm<S>],
    own: *const S::Elem,
    to: *mut S::Elem,
    rows: usize,
    weight: S,
    add: bool,
) -> f64 {
    // SAFETY: rows are below `rows`, as exclusive-ors of numbers below it.
    unsafe {
        let zero = S::splat(S::Elem::zero());
        let mut products = [zero; 2];
        for first in (0..rows).step_by(ROWS) {
            let mut sums = [zero; ROWS];
            for run in runs {
                let within = run.flip % ROWS;
                let from = run.from.add((first ^ (run.flip - within)) * S::LANES);
                match (run.table, run.moved) {
                    (None, None) => {
                        unroll!(j in 0..ROWS, at most 8 => {
                            sums[j] = S::load(from.add((j ^ within) * S::LANES)).mul_add(run.factor, sums[j]);
                        });
                    }
                    (None, Some(moved)) => {
                        unroll!(j in 0..ROWS, at most 8 => {
                            let x = S::load(from.add((j ^ within) * S::LANES)).permute(moved);
                            sums[j] = x.mul_add(run.factor, sums[j]);
                        });
                    }
                    (Some(table), moved) => {
                        let table = table.add(first * S::LANES);
                        let mut x = [zero; ROWS];
                        unroll!(j in 0..ROWS, at most 8 => { x[j] = S::load(from.add((j ^ within) * S::LANES)); });
                        if let Some(moved) = moved {
                            unroll!(j in 0..ROWS, at most 8 => { x[j] = x[j].permute(moved); });
                        }
                        unroll!(j in 0..ROWS, at most 8 => {
                            let factor = S::load(table.add(j * S::LANES)).mul(run.factor);
                            sums[j] = x[j].mul_add(factor, sums[j]);
                        });
                    }
                }
            }
            unroll!(j in 0..ROWS, at most 8 => {
                let at = (first + j) * S::LANES;
                products[j % 2] = S::load(own.add(at)).mul_add(sums[j], products[j % 2]);
                let to = to.add(at);
                let new = if add { sums[j].mul_add(weight, S::load(to)) } else { sums[j].mul(weight) };
                new.store(to);
            });
        }
        across(products[0].add(products[1]), 0, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pauli::PauliMasks;

    fn agrees<E: SimdFloat>(tolerance: f64) {
        let part = |i: usize| E::round_from(((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0);
        let wide = |z: Complex<E>| Complex::<f64>::new(z.re.into(), z.im.into());
        for n in [6, 8, 11, 13, 16] {
            let psi: Vec<Complex<E>> =
                (0..1 << n).map(|i| Complex::new(part(2 * i), part(2 * i + 1))).collect();
            let all = (1usize << n) - 1;
            let top = 1 << (n - 1);
            let mut terms: Vec<(f64, usize, usize)> = vec![
                (0.7, 0, 0),
                (-0.3, 0, top | 1),
                (0.5, 3, 1),
                (1.5, top | 2, top),
                (0.2, all, 6),
            ];
            terms.extend((0..n).map(|q| (0.1 + q as f64, 1 << q, 0)));
            terms.extend((1..n).map(|q| (-1.0 - q as f64, 0, 3 << (q - 1))));
            let strings = terms.iter().map(|&(c, x, z)| (c, PauliMasks { x, z }));
            let products = FlipProduct::of_terms(strings);
            let expected: Vec<Complex<f64>> = (0..1usize << n)
                .map(|j| {
                    let term = |&(c, x, z): &(f64, usize, usize)| {
                        let i = j ^ x;
                        let quarters = (x & z).count_ones() + 2 * (i & z).count_ones();
                        wide(psi[i]) * Complex::i().powu(quarters) * c
                    };
                    terms.iter().map(term).sum()
                })
                .collect();
            let mean: f64 = psi.iter().zip(&expected).map(|(a, b)| (wide(*a).conj() * b).re).sum();
            for set in InstructionSet::ALL.into_iter().filter(|s| s.is_available()) {
                let Some(mut map) = PauliMap::<E>::new(n, &products, set) else {
                    unreachable!("{n} qubits do")
                };
                let mut out = vec![Complex::new(E::one(), E::one()); 1 << n];
                let serial = map.apply(2.0, &psi, &mut out, false, &Threads::serial());
                let threads = Threads::new(3).unwrap_or_default();
                assert_eq!(
                    map.apply(2.0, &psi, &mut out, true, &threads).to_bits(),
                    serial.to_bits()
                );
                assert!(
                    (serial - mean).abs() < tolerance * (1 << n) as f64,
                    "{set}, {n}: {serial}, {mean}"
                );
                for (x, y) in out.iter().zip(&expected) {
                    assert!((wide(*x) - y * 4.0).norm() < tolerance, "{set}, {n}: {x:?} {y}");
                }
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_plain_sum() {
        agrees::<f64>(1e-11);
        agrees::<f32>(2e-3);
    }
}
