//! Updates of tangents: `psi' += i kappa P |psi>` for the Pauli strings P of the inner products of
//! a stage.
//!
//! A parameter that moves by v changes what its gate has made of psi by `-i v P |psi>`. In the
//! frame of a stage
//!
//! ```text
//! i P |p> = (-1)^{z.p + outer.o} sigma |p + x> times i, or -1 where x and z share an odd number of qubits,
//! ```
//! with the sign sigma of the [`PlacedProbe`]. Strings without x add up to one diagonal, the
//! Walsh-Hadamard transform of their factors; the others go by the groups of `inner`, whose rows
//! are copied into the first cache once.
#![expect(unsafe_code, reason = "vector registers are read from and written to addresses")]

use super::{
    kernels::TileScratch,
    probes::{MAX_LANES, MAX_STRINGS, MAX_VECTORS, ProbeGroup, ProbeSet, Products, transform},
};
use crate::basis::odd;
use crate::kernel::{
    SimdFloat,
    simd::{Simd, Task},
};
use crate::plan::layout::PlacedProbe;

/// Returns `kappa sigma` in the tile at index `outer`.
fn tangent_factor(look: &PlacedProbe, kicks: &[f64], outer: usize) -> f64 {
    let kick = kicks[look.number] * look.weight.signum();
    if odd(look.outer & outer) { -kick } else { kick }
}

impl ProbeSet {
    /// Updates the tangents of some tiles; `kicks` has a factor for each inner product of the plan.
    ///
    /// # Safety
    /// *set*; *size*, `products` having room for a tile; no two scratches are the same.
    #[inline(always)]
    pub(super) unsafe fn update_tangents<S: Simd>(
        &self,
        pairs: &[[TileScratch<S::Elem>; 2]],
        kicks: &[f64],
        products: &mut Products<S::Elem>,
    ) {
        // SAFETY: *set*, *size* and that the scratches differ are the caller's promises.
        unsafe {
            if !self.diagonal.is_empty() {
                S::vectorize(DiagonalTangents {
                    probes: self,
                    pairs,
                    coefficients: kicks,
                    products,
                });
            }
            for group in &self.groups {
                for &[state, tangent] in pairs {
                    S::vectorize(GroupTangents { group, state, tangent, coefficients: kicks });
                }
            }
        }
    }
}

/// The strings without x.
struct DiagonalTangents<'a, E> {
    probes: &'a ProbeSet,
    pairs: &'a [[TileScratch<E>; 2]],
    coefficients: &'a [f64],
    products: &'a mut Products<E>,
}

impl<E: SimdFloat> Task<E> for DiagonalTangents<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let DiagonalTangents { probes: inners, pairs, coefficients: kicks, products } = self;
        let Some([first, _]) = pairs.first() else { return };
        let factors = products.0.as_mut_ptr();
        // SAFETY: all rows are below those of the tile, which the scratches and the products hold.
        unsafe {
            let zero = S::splat(E::zero());
            (0..inners.rows).for_each(|row| zero.store(factors.add(row * S::LANES)));
            for (_, look) in &inners.diagonal {
                let at = factors.add((look.z >> S::LANE_BITS) * S::LANES);
                let kick = tangent_factor(look, kicks, first.outer);
                for lane in 0..S::LANES {
                    *at.add(lane) += E::round_from(if odd(lane & look.z) { -kick } else { kick });
                }
            }
            transform::<S>(factors, inners.rows);
            for [state, tangent] in pairs {
                for row in 0..inners.rows {
                    let at = row * S::LANES;
                    let d = S::load(factors.add(at));
                    let (x, y) = (S::load(state.re.add(at)), S::load(state.im.add(at)));
                    let (u, v) = (S::load(tangent.re.add(at)), S::load(tangent.im.add(at)));
                    d.neg_mul_add(y, u).store(tangent.re.add(at));
                    d.mul_add(x, v).store(tangent.im.add(at));
                }
            }
        }
    }
}

/// A group of strings.
struct GroupTangents<'a, E> {
    group: &'a ProbeGroup,
    state: TileScratch<E>,
    tangent: TileScratch<E>,
    coefficients: &'a [f64],
}

impl<E: SimdFloat> Task<E> for GroupTangents<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let GroupTangents {
            group: ProbeGroup { offsets, starts, strings },
            state,
            tangent,
            coefficients: kicks,
        } = self;
        let inside = S::LANES - 1;
        // SAFETY: rows and their sums with offsets are below those of the tile, there are at most
        // as many offsets and strings as there is room for, and sums within a set stay in it.
        unsafe {
            let zero = S::splat(E::zero());
            let mut sources = [[zero; 2]; 1 << MAX_VECTORS];
            let mut sums = [[zero; 2]; 1 << MAX_VECTORS];
            let mut lanes = [S::index(|j| j); MAX_STRINGS];
            // Of each string the factors of the lanes that it leads to.
            let mut factors = [zero; MAX_STRINGS];
            for ((index, own), line) in lanes.iter_mut().zip(&mut factors).zip(strings) {
                let x = line.probe.x & inside;
                *index = S::index(|j| j ^ x);
                let kick = tangent_factor(&line.probe, kicks, state.outer);
                let parts: [E; MAX_LANES] = std::array::from_fn(|lane| {
                    E::round_from(if odd((lane ^ x) & line.probe.z & inside) {
                        -kick
                    } else {
                        kick
                    })
                });
                *own = S::load(parts.as_ptr());
            }
            for &start in starts {
                let start = start as usize;
                for ((source, sum), offset) in sources.iter_mut().zip(&mut sums).zip(offsets) {
                    let at = (start ^ offset) * S::LANES;
                    *source = [S::load(state.re.add(at)), S::load(state.im.add(at))];
                    *sum = [S::load(tangent.re.add(at)), S::load(tangent.im.add(at))];
                }
                for (k, line) in strings.iter().enumerate() {
                    let index = *lanes.get_unchecked(k);
                    let crossed = line.probe.x & inside != 0;
                    let own = *factors.get_unchecked(k);
                    let own =
                        if odd(line.probe.z >> S::LANE_BITS & start) { zero.sub(own) } else { own };
                    let signed = [own, if line.second_negative { zero.sub(own) } else { own }];
                    for at in 0..offsets.len() {
                        let from = usize::from(*line.order.get_unchecked(at));
                        let [mut x, mut y] = *sources.get_unchecked(from);
                        if crossed {
                            (x, y) = (x.permute(index), y.permute(index));
                        }
                        let own =
                            *signed.get_unchecked(usize::from(2 * at >= offsets.len().max(2)));
                        let [u, v] = sums.get_unchecked_mut(from ^ line.set);
                        if line.probe.real {
                            (*u, *v) = (own.neg_mul_add(x, *u), own.neg_mul_add(y, *v));
                        } else {
                            (*u, *v) = (own.neg_mul_add(y, *u), own.mul_add(x, *v));
                        }
                    }
                }
                for ([u, v], offset) in sums.iter().zip(offsets) {
                    let at = (start ^ offset) * S::LANES;
                    u.store(tangent.re.add(at));
                    v.store(tangent.im.add(at));
                }
            }
        }
    }
}
