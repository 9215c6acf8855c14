//! Tables of phases: all diagonal gates of one level as one product per amplitude.
//!
//! A level's phases are `sum_w angle_w [w.x odd]`. The part that depends on bits of the tile alone
//! is one table over the tile: the Walsh-Hadamard transform of the angles, then sine and cosine. A
//! phase on a parity `w.p + v.o` of tile and outer bits changes its sign from tile to tile, so a
//! table has a variant for each combination of the signs of up to two outer parities; a tile uses
//! the one that fits. Phases of one tile bit and many sets of bits outside (controlled phases of a
//! QFT) need no table each: their product over the tile bits is made anew for each tile, from two
//! short tables.
#![expect(unsafe_code, reason = "enters code compiled for other instructions")]

use num_complex::Complex;

use super::buffer::{Buffer, TileBuffers};
use crate::{
    basis::{odd, signed_sum},
    kernel::{
        InstructionSet, SimdFloat,
        simd::{Simd, Task},
    },
    plan::{
        BinaryAngle,
        layout::{Placed, PlacedPhase},
    },
};

/// Tile bits that the low one of the two short tables spans.
const LOW_BITS: usize = 6;

/// Largest number of outer parities that the variants of one table are made for.
const MAX_SIGNS: usize = 2;

/// The phases of one level.
pub(super) struct Phases<E> {
    /// Variants of all tables, one after another.
    pub(super) re: Buffer<E>,
    pub(super) im: Buffer<E>,
    tables: Vec<PhaseTable>,
    /// (tile bit, outer parity, angle)
    singles: Vec<(usize, usize, BinaryAngle)>,
    bits: usize,
    /// Location of each phase: in a table, as a single one of this number, or constant in a tile.
    in_tables: Vec<NumberedPhase>,
    in_singles: Vec<(usize, NumberedPhase)>,
    in_constants: Vec<NumberedPhase>,
}

/// A phase and its number in the layout.
type NumberedPhase = (usize, PlacedPhase);

/// A table over the tile: `2^signs` variants, from number `first` on.
struct PhaseTable {
    first: usize,
    /// Bit j of a variant's number is this parity of the tile's index.
    signs: Vec<usize>,
}

/// Phases of one tile at a level: the variants that fit, and the product of the single-bit phases,
/// `low[p mod 2^6] high[p / 2^6]`.
pub(super) struct TilePhases<E> {
    /// Starts of the variants.
    pub(super) variants: Vec<usize>,
    pub(super) re: Buffer<E>,
    pub(super) im: Buffer<E>,
    pub(super) high: Vec<Complex<E>>,
}

impl<E: SimdFloat> TilePhases<E> {
    pub(super) fn new(bits: usize) -> TilePhases<E> {
        let high = vec![Complex::new(E::one(), E::zero()); 1 << bits.saturating_sub(LOW_BITS)];
        TilePhases {
            variants: Vec::new(),
            re: Buffer::zeros(1 << LOW_BITS),
            im: Buffer::zeros(1 << LOW_BITS),
            high,
        }
    }
}

impl<E: SimdFloat> Phases<E> {
    /// Makes the tables of some phases on a tile of 2^bits amplitudes. What is constant in a tile
    /// goes to `constants`, as (outer parity, angle).
    pub(super) fn new(
        bits: usize,
        phases: &[NumberedPhase],
        constants: &mut Vec<(usize, BinaryAngle)>,
        set: InstructionSet,
        pool: &mut TileBuffers<E>,
    ) -> Phases<E> {
        let (mut in_tables, mut on_bits, mut in_constants) = (Vec::new(), Vec::new(), Vec::new());
        for numbered @ (_, phase) in phases.iter().copied() {
            if phase.inner == 0 {
                in_constants.push(numbered);
            } else if phase.outer != 0 && phase.inner.is_power_of_two() {
                on_bits.push(numbered);
            } else {
                in_tables.push(numbered);
            }
        }
        // Phases on single bits join a table where that makes no more tables, or one of few
        // variants.
        let parities = |phases: &[NumberedPhase]| {
            let mut outers: Vec<usize> =
                phases.iter().map(|p| p.1.outer).filter(|&o| o != 0).collect();
            outers.sort_unstable();
            outers.dedup();
            outers
        };
        let known = parities(&in_tables);
        let few = parities(&[in_tables.as_slice(), &on_bits].concat()).len() <= MAX_SIGNS;
        let mut singles: Vec<(usize, usize, BinaryAngle)> = Vec::new();
        let mut in_singles = Vec::new();
        for numbered @ (_, phase) in on_bits {
            if few || known.contains(&phase.outer) {
                in_tables.push(numbered);
                continue;
            }
            let bit = phase.inner.trailing_zeros() as usize;
            let number = singles
                .iter()
                .position(|s| (s.0, s.1) == (bit, phase.outer))
                .unwrap_or(singles.len());
            if number == singles.len() {
                singles.push((bit, phase.outer, BinaryAngle::ZERO));
            }
            in_singles.push((number, numbered));
        }
        let tables = tables(&in_tables, &parities(&in_tables));
        let size = tables.iter().map(|t| 1 << t.signs.len()).sum::<usize>() << bits;
        let (re, im) = (Buffer::reused(size, pool), Buffer::reused(size, pool));
        let mut phases =
            Phases { re, im, tables, singles, bits, in_tables, in_singles, in_constants };
        phases.fill(constants, set, pool);
        phases
    }

    /// Takes the angles of other operations of the same structure.
    pub(super) fn rebind(
        &mut self,
        placed: &[Placed],
        constants: &mut Vec<(usize, BinaryAngle)>,
        set: InstructionSet,
        pool: &mut TileBuffers<E>,
    ) {
        let single = self.in_singles.iter_mut().map(|(_, phase)| phase);
        for (source, phase) in self.in_tables.iter_mut().chain(single).chain(&mut self.in_constants)
        {
            if let Some(Placed::Phase(new)) = placed.get(*source) {
                phase.angle = new.angle;
            }
        }
        self.fill(constants, set, pool);
    }

    /// Computes the numbers from the angles. What is constant in a tile is added to `constants`.
    fn fill(
        &mut self,
        constants: &mut Vec<(usize, BinaryAngle)>,
        set: InstructionSet,
        pool: &mut TileBuffers<E>,
    ) {
        constants.extend(self.in_constants.iter().map(|(_, p)| (p.outer, p.angle)));
        // [x + o odd] = [o odd] + (-1)^o [x odd]
        constants.extend(self.in_singles.iter().map(|(_, (_, p))| (p.outer, p.angle)));
        self.singles.iter_mut().for_each(|s| s.2 = BinaryAngle::ZERO);
        for (number, (_, phase)) in &self.in_singles {
            self.singles[*number].2 += phase.angle;
        }
        // [x + o odd] = 1/2 - (-1)^o (-1)^x / 2
        constants.push((0, self.in_tables.iter().map(|(_, p)| p.angle.half()).sum()));
        let size = 1 << self.bits;
        for (number, table) in self.tables.iter().enumerate() {
            let room = table.first * size..(table.first + (1 << table.signs.len())) * size;
            let task = PhaseTableFill {
                phases: &self.in_tables,
                still: number == 0,
                signs: &table.signs,
                angles: pool.angles((MAX_SIGNS + 2) * size),
                re: &mut self.re.as_mut_slice()[room.clone()],
                im: &mut self.im.as_mut_slice()[room],
            };
            // SAFETY: the caller of `compile` has checked that the processor has the set.
            unsafe { E::dispatch(set, task) };
        }
    }

    /// Releases the memory of the tables.
    pub(super) fn recycle(self, pool: &mut TileBuffers<E>) {
        pool.release(self.re);
        pool.release(self.im);
    }

    /// Returns the number of tables.
    pub(super) fn tables(&self) -> usize {
        self.tables.len()
    }

    /// Returns the outer parities that variants depend on.
    pub(super) fn signs(&self) -> impl Iterator<Item = usize> {
        self.tables.iter().flat_map(|t| t.signs.iter().copied())
    }

    /// Returns true if single-bit phases make a product for each tile.
    pub(super) fn has_product(&self) -> bool {
        !self.singles.is_empty()
    }

    /// Returns true if there are no phases.
    pub(super) fn is_empty(&self) -> bool {
        self.singles.is_empty() && self.tables.is_empty()
    }

    /// Prepares for the tile at index `outer`.
    pub(super) fn prepare(&self, outer: usize, product: &mut TilePhases<E>) {
        let odd = |parity: usize| (parity & outer).count_ones() as usize % 2;
        product.variants.clear();
        for table in &self.tables {
            let variant: usize =
                table.signs.iter().enumerate().map(|(j, sign)| odd(*sign) << j).sum();
            product.variants.push((table.first + variant) << self.bits);
        }
        if self.has_product() {
            self.product(outer, product);
        }
    }

    /// Makes the product for the tile at index `outer`.
    fn product(&self, outer: usize, product: &mut TilePhases<E>) {
        let one = Complex::new(1.0, 0.0);
        let mut angles = [BinaryAngle::ZERO; usize::BITS as usize];
        for &(bit, mask, angle) in &self.singles {
            angles[bit] += if odd(mask & outer) { -angle } else { angle };
        }
        let factors = angles.map(BinaryAngle::cis);
        let low_bits = LOW_BITS.min(self.bits);
        let mut low = [one; 1 << LOW_BITS];
        for (bit, factor) in factors[..low_bits].iter().enumerate() {
            for i in 0..1 << bit {
                low[i | 1 << bit] = low[i] * factor;
            }
        }
        let parts = product.re.as_mut_slice().iter_mut().zip(product.im.as_mut_slice());
        for ((re, im), z) in parts.zip(low) {
            (*re, *im) = (E::round_from(z.re), E::round_from(z.im));
        }
        product.high[0] = Complex::new(E::one(), E::zero());
        for (bit, factor) in factors[low_bits..self.bits].iter().enumerate() {
            let factor = Complex::new(E::round_from(factor.re), E::round_from(factor.im));
            for i in 0..1 << bit {
                product.high[i | 1 << bit] = product.high[i] * factor;
            }
        }
    }
}

/// Shares the outer parities out: the first table has also the phases that no outer bit changes.
fn tables(phases: &[NumberedPhase], outers: &[usize]) -> Vec<PhaseTable> {
    let mut tables: Vec<PhaseTable> = Vec::new();
    let mut first = 0;
    for signs in outers.chunks(MAX_SIGNS) {
        tables.push(PhaseTable { first, signs: signs.to_vec() });
        first += 1 << signs.len();
    }
    if tables.is_empty() && !phases.is_empty() {
        tables.push(PhaseTable { first, signs: Vec::new() });
    }
    tables
}

/// Fills the variants of a table with `e^{i angle}`, for angles given by the Walsh-Hadamard
/// transform of each part: the phases that share an outer parity. Nothing here names registers: the
/// compiler vectorizes the loops for the instruction set.
struct PhaseTableFill<'a, E> {
    phases: &'a [NumberedPhase],
    /// True if the phases that no outer bit changes are in this table.
    still: bool,
    signs: &'a [usize],
    /// Room for the angles of a variant and of each part.
    angles: &'a mut [BinaryAngle],
    re: &'a mut [E],
    im: &'a mut [E],
}

impl<E: SimdFloat> Task<E> for PhaseTableFill<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let PhaseTableFill { phases, still, signs, angles, re, im } = self;
        let size = re.len() >> signs.len();
        let (angles, parts) = angles.split_at_mut(size);
        let parts = &mut parts[..(usize::from(still) + signs.len()) * size];
        for (number, part) in parts.chunks_exact_mut(size).enumerate() {
            let outer = if still && number == 0 { 0 } else { signs[number - usize::from(still)] };
            let own = phases.iter().filter(|(_, p)| p.outer == outer);
            signed_sum(part, own.map(|(_, p)| (p.inner, -p.angle.half())));
        }
        let variants = re.chunks_exact_mut(size).zip(im.chunks_exact_mut(size));
        for (variant, (re, im)) in variants.enumerate() {
            angles.fill(BinaryAngle::ZERO);
            for (number, part) in parts.chunks_exact(size).enumerate() {
                let sign =
                    number.checked_sub(usize::from(still)).is_some_and(|j| variant >> j & 1 == 1);
                for (angle, x) in angles.iter_mut().zip(part) {
                    *angle += if sign { -*x } else { *x };
                }
            }
            for ((angle, re), im) in angles.iter().zip(re).zip(im) {
                let (sin, cos) = angle.sin_cos();
                (*re, *im) = (E::round_from(cos), E::round_from(sin));
            }
        }
    }
}
