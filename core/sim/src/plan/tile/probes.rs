//! Inner products `<lambda|P|psi>` of two tiles with Pauli strings.
//!
//! In the frame of a stage (see `compile`) a string of logical qubits is a string of places: with
//! the vector x and the parity z,
//!
//! ```text
//! <lambda|P|psi> = i^k sum_p (-1)^{z.p + outer.o + flip} conj(lambda[p + x]) psi[p].
//! ```
//! Strings without x share the products `conj(lambda[p]) psi[p]`: their sums with all signs are one
//! Walsh-Hadamard transform. The others are taken in groups whose vectors connect up to 2^5 rows:
//! these are copied once into the first cache and read there by each string. Where several have the
//! same x and their order does not matter, see `shared`.
//!
//! Rotations leave the scratch too large by a known real factor, which `weight` takes back.
#![expect(unsafe_code, reason = "vector registers are read from and written to addresses")]

use super::{
    buffer::Buffer,
    compile::{TileStage, TileStep},
    kernels::TileScratch,
    rows::table,
    vector_probes::VectorProbes,
};
use crate::basis::{extend, odd, reduce};
use crate::kernel::{
    SimdFloat,
    simd::{Simd, Task},
};
use crate::plan::layout::{Placed, PlacedProbe};

/// Row vectors of a group.
pub(super) const MAX_VECTORS: usize = 5;

/// Strings of a group.
pub(super) const MAX_STRINGS: usize = 16;

/// Lanes of the widest register.
pub(super) const MAX_LANES: usize = 16;

/// Returns the weight of a string in the tile at index `outer`.
pub(super) fn probe_factor(look: &PlacedProbe, outer: usize) -> f64 {
    if odd(look.outer & outer) { -look.weight } else { look.weight }
}

/// The inner products taken between two sweeps.
pub(super) struct ProbeSet {
    /// Strings without x, each with its number in the layout.
    pub(super) diagonal: Vec<(usize, PlacedProbe)>,
    shared: Vec<VectorProbes>,
    pub(super) groups: Vec<ProbeGroup>,
    pub(super) rows: usize,
}

/// Strings whose vectors connect a few rows.
pub(super) struct ProbeGroup {
    /// The rows that are connected with row 0.
    pub(super) offsets: Vec<usize>,
    /// Row of each such set.
    pub(super) starts: Vec<u32>,
    pub(super) strings: Vec<GroupedProbe>,
}

/// A string of a group.
pub(super) struct GroupedProbe {
    /// Number of the operation in the layout.
    source: usize,
    pub(super) probe: PlacedProbe,
    /// Offset of the number of a row within its set.
    pub(super) set: usize,
    /// The rows of a set: those of the first half have one sign, the others that of `second`.
    pub(super) order: [u8; 1 << MAX_VECTORS],
    pub(super) second_negative: bool,
}

impl ProbeSet {
    /// Creates the inner products that are taken at one place. `alone`: true if each string is
    /// wanted by itself.
    pub(super) fn new(
        looks: Vec<(usize, PlacedProbe)>,
        bits: usize,
        lane_bits: usize,
        alone: bool,
    ) -> ProbeSet {
        let rows = 1usize << (bits - lane_bits);
        let (diagonal, mut rest): (Vec<_>, Vec<_>) = looks.into_iter().partition(|(_, l)| l.x == 0);
        let mut shared = Vec::new();
        while let Some(strings) =
            (!alone).then(|| VectorProbes::extract(&mut rest, bits, lane_bits)).flatten()
        {
            shared.push(strings);
        }
        let mut groups = Vec::new();
        while !rest.is_empty() {
            let (mut basis, mut vectors): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
            let (mut taken, mut left) = (Vec::new(), Vec::new());
            for (source, look) in rest {
                let vector = look.x >> lane_bits;
                let reduced = reduce(&basis, vector);
                let new = usize::from(reduced != 0);
                if taken.len() == MAX_STRINGS || vectors.len() + new > MAX_VECTORS {
                    left.push((source, look));
                    continue;
                }
                if new == 1 {
                    extend(&mut basis, reduced);
                    vectors.push(vector);
                }
                taken.push((source, look));
            }
            groups.push(ProbeGroup::new(taken, &vectors, rows, lane_bits));
            rest = left;
        }
        ProbeSet { diagonal, shared, groups, rows }
    }

    /// Takes the signs of other operations of the same structure, and the factor of all of them.
    pub(super) fn rebind(&mut self, placed: &[Placed], factor: f64) {
        let strings = self.groups.iter_mut().flat_map(|group| &mut group.strings);
        let strings = strings.map(|line| (line.source, &mut line.probe));
        let shared = self.shared.iter_mut().flat_map(VectorProbes::probes_mut);
        let diagonal = self.diagonal.iter_mut().map(|(k, look)| (*k, look));
        for (source, look) in diagonal.chain(strings).chain(shared) {
            if let Some(Placed::Probe(new)) = placed.get(source) {
                look.weight = new.weight * factor;
            }
        }
    }

    /// Adds the inner products of two tiles to `sums`.
    ///
    /// # Safety
    /// *set*; *size*, `products` having room for a tile.
    #[inline(always)]
    pub(super) unsafe fn accumulate<S: Simd>(
        &self,
        psi: TileScratch<S::Elem>,
        lambda: TileScratch<S::Elem>,
        products: &mut Products<S::Elem>,
        sums: &mut [f64],
    ) {
        // SAFETY: *set* and *size* are the caller's promises, for the products too.
        unsafe {
            for strings in &self.shared {
                strings.add::<S>(psi, lambda, sums);
            }
            for group in &self.groups {
                S::vectorize(GroupRun { group, psi, lambda, sums });
            }
            if !self.diagonal.is_empty() {
                S::vectorize(DiagonalRun { probes: self, psi, lambda, products, sums });
            }
        }
    }
}

impl ProbeGroup {
    fn new(
        looks: Vec<(usize, PlacedProbe)>,
        vectors: &[usize],
        rows: usize,
        lane_bits: usize,
    ) -> ProbeGroup {
        let sum = |set: usize| {
            vectors
                .iter()
                .enumerate()
                .fold(0, |row, (i, v)| if set >> i & 1 == 1 { row ^ v } else { row })
        };
        let offsets: Vec<usize> = (0..1 << vectors.len()).map(sum).collect();
        let line = |(source, look): (usize, PlacedProbe)| {
            let set = offsets.iter().position(|&o| o == look.x >> lane_bits).unwrap_or(0);
            let negative = |s: &usize| odd(offsets[*s] & look.z >> lane_bits);
            let rows = || 0..offsets.len();
            let sorted = rows().filter(|s| !negative(s)).chain(rows().filter(negative));
            let mut order = [0; 1 << MAX_VECTORS];
            order.iter_mut().zip(sorted).for_each(|(place, s)| *place = s as u8);
            GroupedProbe {
                source,
                probe: look,
                set,
                order,
                second_negative: rows().any(|s| negative(&s)),
            }
        };
        let strings = looks.into_iter().map(line).collect();
        ProbeGroup { starts: table(rows, vectors, &[]), strings, offsets }
    }
}

/// The products of two tiles.
pub(super) struct Products<E>(pub(super) Buffer<E>);

impl<E: SimdFloat> Products<E> {
    /// Room for none.
    pub(super) fn none() -> Products<E> {
        Products(Buffer::zeros(0))
    }

    /// Makes room for those of tiles of 2^bits amplitudes.
    pub(super) fn make_room(&mut self, bits: usize) {
        if self.0.len() < 1 << bits {
            self.0 = Buffer::zeros(1 << bits);
        }
    }
}

impl<E: SimdFloat> TileStage<E> {
    /// Returns true if the stage has inner products.
    pub(super) fn looks(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, TileStep::Probes(_)))
    }
}

/// The strings without x.
struct DiagonalRun<'a, E> {
    probes: &'a ProbeSet,
    psi: TileScratch<E>,
    lambda: TileScratch<E>,
    products: &'a mut Products<E>,
    sums: &'a mut [f64],
}

impl<E: SimdFloat> Task<E> for DiagonalRun<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let DiagonalRun { probes: inners, psi, lambda, products, sums } = self;
        let out = products.0.as_mut_ptr();
        // SAFETY: all rows are below those of the tile, which the scratches and the products hold.
        unsafe {
            for row in 0..inners.rows {
                let at = row * S::LANES;
                let (x, y) = (S::load(psi.re.add(at)), S::load(psi.im.add(at)));
                let (a, b) = (S::load(lambda.re.add(at)), S::load(lambda.im.add(at)));
                b.neg_mul_add(x, a.mul(y)).store(out.add(at));
            }
            transform::<S>(out, inners.rows);
            for (_, look) in &inners.diagonal {
                let row = look.z >> S::LANE_BITS;
                let mut sum = 0.0;
                for lane in 0..S::LANES {
                    let x: f64 = (*out.add(row * S::LANES + lane)).into();
                    sum += if odd(lane & look.z) { -x } else { x };
                }
                *sums.get_unchecked_mut(look.number) += probe_factor(look, psi.outer) * sum;
            }
        }
    }
}

/// Computes the Walsh-Hadamard transform over the rows, lane by lane.
///
/// # Safety
/// *set*; the number of rows of `at` is a power of 2.
#[inline(always)]
pub(super) unsafe fn transform<S: Simd>(at: *mut S::Elem, rows: usize) {
    let mut half = 1;
    // SAFETY: row numbers are below `rows`.
    unsafe {
        while 4 * half <= rows {
            for block in (0..rows).step_by(4 * half) {
                for first in block..block + half {
                    let row = |k: usize| at.add((first + k * half) * S::LANES);
                    let (a, b, c, d) =
                        (S::load(row(0)), S::load(row(1)), S::load(row(2)), S::load(row(3)));
                    let (a, b, c, d) = (a.add(b), a.sub(b), c.add(d), c.sub(d));
                    a.add(c).store(row(0));
                    b.add(d).store(row(1));
                    a.sub(c).store(row(2));
                    b.sub(d).store(row(3));
                }
            }
            half *= 4;
        }
        if half < rows {
            for first in 0..half {
                let (low, high) = (at.add(first * S::LANES), at.add((first + half) * S::LANES));
                let (a, b) = (S::load(low), S::load(high));
                a.add(b).store(low);
                a.sub(b).store(high);
            }
        }
    }
}

/// A group of strings.
struct GroupRun<'a, E> {
    group: &'a ProbeGroup,
    psi: TileScratch<E>,
    lambda: TileScratch<E>,
    sums: &'a mut [f64],
}

impl<E: SimdFloat> Task<E> for GroupRun<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let GroupRun { group: ProbeGroup { offsets, starts, strings }, psi, lambda, sums } = self;
        // SAFETY: rows and their sums with offsets are below those of the tile, there are at most
        // as many offsets and strings as there is room for, and sums within a set stay in it.
        unsafe {
            let zero = S::splat(E::zero());
            let one = S::splat(E::one());
            let minus = zero.sub(one);
            // x, y of psi, a, b of lambda.
            let mut rows = [[zero; 4]; 1 << MAX_VECTORS];
            let mut totals = [zero; MAX_STRINGS];
            let mut lanes = [S::index(|j| j); MAX_STRINGS];
            for (index, line) in lanes.iter_mut().zip(strings) {
                *index = S::index(|j| j ^ (line.probe.x & (S::LANES - 1)));
            }
            for &start in starts {
                let start = start as usize;
                for (row, offset) in rows.iter_mut().zip(offsets) {
                    let at = (start ^ offset) * S::LANES;
                    *row = [
                        S::load(psi.re.add(at)),
                        S::load(psi.im.add(at)),
                        S::load(lambda.re.add(at)),
                        S::load(lambda.im.add(at)),
                    ];
                }
                for (k, line) in strings.iter().enumerate() {
                    let index = *lanes.get_unchecked(k);
                    let crossed = line.probe.x & (S::LANES - 1) != 0;
                    let rows = rows.get_unchecked(..offsets.len());
                    let sum = match (line.probe.real, crossed) {
                        (true, false) => line.sum::<S, true, false>(rows, index, zero),
                        (true, true) => line.sum::<S, true, true>(rows, index, zero),
                        (false, false) => line.sum::<S, false, false>(rows, index, zero),
                        (false, true) => line.sum::<S, false, true>(rows, index, zero),
                    };
                    let sign = if odd(line.probe.z >> S::LANE_BITS & start) { minus } else { one };
                    let total = totals.get_unchecked_mut(k);
                    *total = sign.mul_add(sum, *total);
                }
            }
            for (line, total) in strings.iter().zip(totals) {
                let mut parts = [E::zero(); MAX_LANES];
                total.store(parts.as_mut_ptr());
                let signed = |(lane, x): (usize, &E)| -> f64 {
                    let x: f64 = (*x).into();
                    if odd(lane & line.probe.z) { -x } else { x }
                };
                let sum: f64 = parts[..S::LANES].iter().enumerate().map(signed).sum();
                *sums.get_unchecked_mut(line.probe.number) +=
                    probe_factor(&line.probe, psi.outer) * sum;
            }
        }
    }
}

impl GroupedProbe {
    /// Returns the sum over a set of rows, lane by lane.
    ///
    /// # Safety
    /// *set*; `self.set` is below the number of rows, a power of 2.
    #[inline(always)]
    unsafe fn sum<S: Simd, const REAL: bool, const CROSSED: bool>(
        &self,
        rows: &[[S; 4]],
        index: S::Index,
        zero: S,
    ) -> S {
        let half = rows.len() / 2;
        // Four chains of products: two halves, two parts.
        let mut sums = [zero; 4];
        // SAFETY: rows are at most as many as the order has room for, and it lists their numbers;
        // sums of numbers below a power of 2 stay below it.
        unsafe {
            if half == 0 {
                [sums[0], sums[1]] = self.products::<S, REAL, CROSSED>(rows, 0, index, [zero; 2]);
            }
            for k in 0..half {
                let [a, b, c, d] = sums;
                let [a, b] = self.products::<S, REAL, CROSSED>(rows, k, index, [a, b]);
                let [c, d] = self.products::<S, REAL, CROSSED>(rows, k + half, index, [c, d]);
                sums = [a, b, c, d];
            }
        }
        let (first, second) = (sums[0].add(sums[1]), sums[2].add(sums[3]));
        if self.second_negative { first.sub(second) } else { first.add(second) }
    }
    /// Adds the two products of a row to two sums.
    ///
    /// # Safety
    /// *set*; the order lists numbers at `at` and after it, and they and `self.set` are below the
    /// number of rows, a power of 2.
    #[inline(always)]
    unsafe fn products<S: Simd, const REAL: bool, const CROSSED: bool>(
        &self,
        rows: &[[S; 4]],
        at: usize,
        index: S::Index,
        [first, second]: [S; 2],
    ) -> [S; 2] {
        // SAFETY: the caller promises that `at` and the next are listed, and that all rows are
        // below their number.
        let ([x, y, ..], [_, _, mut a, mut b]) = unsafe {
            let s = usize::from(*self.order.get_unchecked(at));
            (rows.get_unchecked(s), *rows.get_unchecked(s ^ self.set))
        };
        if CROSSED {
            (a, b) = (a.permute(index), b.permute(index));
        }
        if REAL {
            [a.mul_add(*x, first), b.mul_add(*y, second)]
        } else {
            [a.mul_add(*y, first), b.neg_mul_add(*x, second)]
        }
    }
}
