//! Inner products with strings along one vector, together.
//!
//! Strings with X or Y on the same qubits take the same products `conj(lambda[p + x]) psi[p]`, each
//! with its own signs. The products are summed for each variant of the signs and each lane; the
//! strings are then Walsh-Hadamard sums of few numbers. Cost: two products for each amplitude,
//! whatever the number of strings.
#![expect(unsafe_code, reason = "vector registers are read from and written to addresses")]

use super::{
    kernels::TileScratch,
    probes::{MAX_LANES, probe_factor},
    variants::{MAX_VARIANTS, Variants},
};
use crate::{
    basis::{odd, walsh_hadamard},
    kernel::{
        SimdFloat,
        simd::{Simd, Task},
    },
    plan::layout::PlacedProbe,
};

/// Strings along one vector.
pub(super) struct VectorProbes {
    rows: usize,
    lanes: usize,
    /// True if the part of the products is the real one.
    real: bool,
    strings: Vec<SignedProbe>,
    variants: Variants,
}

/// A string: its number in the layout, and its sign as a sum of the parities of the variants.
struct SignedProbe {
    source: usize,
    probe: PlacedProbe,
    set: usize,
}

impl VectorProbes {
    /// Takes strings along one vector out of a list, if there are several.
    pub(super) fn extract(
        looks: &mut Vec<(usize, PlacedProbe)>,
        bits: usize,
        lane_bits: usize,
    ) -> Option<VectorProbes> {
        let alike = |a: &PlacedProbe, b: &PlacedProbe| a.x == b.x && a.real == b.real;
        let first = looks.iter().enumerate().find_map(|(k, (_, look))| {
            let again = looks[k + 1..].iter().any(|(_, other)| alike(look, other));
            (again && look.x != 0).then_some(*look)
        })?;
        let mut variants = Variants::new(first.x >> lane_bits);
        let mut strings = Vec::new();
        looks.retain(|&(source, look)| {
            if !alike(&look, &first) {
                return true;
            }
            let set = variants.admit(look.z >> lane_bits, look.outer);
            strings.extend(set.map(|set| SignedProbe { source, probe: look, set }));
            set.is_none()
        });
        variants.list(1 << (bits - lane_bits));
        let lanes = first.x & ((1 << lane_bits) - 1);
        Some(VectorProbes {
            rows: first.x >> lane_bits,
            lanes,
            real: first.real,
            strings,
            variants,
        })
    }

    /// Returns each string with its number in the layout.
    pub(super) fn probes_mut(&mut self) -> impl Iterator<Item = (usize, &mut PlacedProbe)> {
        self.strings.iter_mut().map(|string| (string.source, &mut string.probe))
    }

    /// Adds the inner products of two tiles to `sums`.
    ///
    /// # Safety
    /// *set*; *size*: the stage is the one that this was made for.
    #[inline(always)]
    pub(super) unsafe fn add<S: Simd>(
        &self,
        psi: TileScratch<S::Elem>,
        lambda: TileScratch<S::Elem>,
        sums: &mut [f64],
    ) {
        // SAFETY: *set* and *size* are the caller's promises.
        unsafe {
            match (self.rows != 0, self.real) {
                (true, true) => S::vectorize(VectorProbesRun::<_, true, true> {
                    shared: self,
                    psi,
                    lambda,
                    sums,
                }),
                (true, false) => S::vectorize(VectorProbesRun::<_, true, false> {
                    shared: self,
                    psi,
                    lambda,
                    sums,
                }),
                (false, true) => S::vectorize(VectorProbesRun::<_, false, true> {
                    shared: self,
                    psi,
                    lambda,
                    sums,
                }),
                (false, false) => S::vectorize(VectorProbesRun::<_, false, false> {
                    shared: self,
                    psi,
                    lambda,
                    sums,
                }),
            }
        }
    }

    /// Computes the sums of the strings, from those of the variants for each lane.
    fn add_sums(&self, outer: usize, parts: &mut [[f64; MAX_VARIANTS]], sums: &mut [f64]) {
        let count = self.variants.count();
        parts.iter_mut().for_each(|part| walsh_hadamard(&mut part[..count]));
        for SignedProbe { probe: look, set, .. } in &self.strings {
            let signed = |(lane, part): (usize, &[f64; MAX_VARIANTS])| {
                if odd(lane & look.z) { -part[*set] } else { part[*set] }
            };
            sums[look.number] +=
                probe_factor(look, outer) * parts.iter().enumerate().map(signed).sum::<f64>();
        }
    }
}

struct VectorProbesRun<'a, E, const ROWS: bool, const REAL: bool> {
    shared: &'a VectorProbes,
    psi: TileScratch<E>,
    lambda: TileScratch<E>,
    sums: &'a mut [f64],
}

impl<E: SimdFloat, const ROWS: bool, const REAL: bool> Task<E>
    for VectorProbesRun<'_, E, ROWS, REAL>
{
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let VectorProbesRun {
            shared: shared @ VectorProbes { rows, lanes, variants, .. },
            psi,
            lambda,
            sums,
        } = self;
        let mut parts = [[0.0; MAX_VARIANTS]; MAX_LANES];
        // SAFETY: rows and their sums with the vector are below those of the tile, which the
        // scratches hold.
        unsafe {
            let zero = S::splat(E::zero());
            let exchange = S::index(|j| j ^ lanes);
            for variant in 0..variants.count() {
                // Two chains of products, and two for the rows that the vector leads to.
                let mut totals = [zero; 4];
                for &row in variants.rows(variant) {
                    let at = row as usize * S::LANES;
                    let other = if ROWS { (row as usize ^ rows) * S::LANES } else { at };
                    let (x, y) = (S::load(psi.re.add(at)), S::load(psi.im.add(at)));
                    let a = S::load(lambda.re.add(other)).permute(exchange);
                    let b = S::load(lambda.im.add(other)).permute(exchange);
                    let [first, second, third, fourth] = totals;
                    let [first, second] = products::<S, REAL>([x, y], [a, b], [first, second]);
                    let [third, fourth] = if ROWS {
                        let x = S::load(psi.re.add(other)).permute(exchange);
                        let y = S::load(psi.im.add(other)).permute(exchange);
                        let (a, b) = (S::load(lambda.re.add(at)), S::load(lambda.im.add(at)));
                        products::<S, REAL>([x, y], [a, b], [third, fourth])
                    } else {
                        [third, fourth]
                    };
                    totals = [first, second, third, fourth];
                }
                let [first, second, third, fourth] = totals;
                let (here, there) = (first.add(second), third.add(fourth));
                // A string with Y on an odd number of qubits has the other sign there.
                let total = if REAL { here.sub(there) } else { here.add(there) };
                let mut of_lanes = [E::zero(); MAX_LANES];
                total.store(of_lanes.as_mut_ptr());
                for (part, x) in parts.iter_mut().zip(&of_lanes[..S::LANES]) {
                    part[variant] = (*x).into();
                }
            }
        }
        shared.add_sums(psi.outer, &mut parts[..S::LANES], sums);
    }
}

/// Adds the two products of a row to two sums.
#[inline(always)]
fn products<S: Simd, const REAL: bool>(
    [x, y]: [S; 2],
    [a, b]: [S; 2],
    [first, second]: [S; 2],
) -> [S; 2] {
    if REAL {
        [a.mul_add(x, first), b.mul_add(y, second)]
    } else {
        [a.mul_add(y, first), b.neg_mul_add(x, second)]
    }
}
