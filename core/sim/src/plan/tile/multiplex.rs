//! Rotations along one vector, together: a multiplexed rotation.
//!
//! Rotations about Pauli strings that have X or Y on the same qubits, as those of a fermionic
//! excitation, couple the same places, and rotate them by angles that add up with signs:
//!
//! ```text
//! a[p] -> c a[p] - s a[p + x],   c, s = cos, sin of sum_k (-1)^{z_k.p + outer_k.o + flip_k} angle_k
//! ```
//! where the angle of p + x is that of p, negated. Rows are taken by the variants of these signs,
//! with one c and s for each lane; where all angles vanish nothing is loaded, which is 7 rows of 8
//! for a double excitation. Cost: 4 products for each part of the amplitudes that are turned,
//! whatever the number of rotations.
#![expect(unsafe_code, reason = "vector registers are read from and written to addresses")]

use super::{
    buffer::Buffer,
    compile::NumberedOp,
    kernels::TileScratch,
    transfer::{ENTRIES_PER_GATHER, Pipeline},
    variants::Variants,
};
use crate::{
    basis::odd,
    kernel::{
        SimdFloat,
        simd::{Simd, Task},
    },
    plan::{BinaryAngle, layout::Placed, lower::NO_ANGLE},
};

/// Largest number of rotations taken together.
const MAX_ROTATIONS: usize = 64;

/// Rotations along one vector.
pub(super) struct Multiplexed<E> {
    /// The vector: the rows that it adds, and the lanes that it exchanges.
    rows: usize,
    lanes: usize,
    rotations: Vec<MultiplexedRotation>,
    variants: Variants,
    /// Cosines and sines of the lanes, for each variant.
    coefficients: Buffer<E>,
    /// True for each variant that is rotated at all.
    is_rotated: Vec<bool>,
    /// The largest angle that was left out.
    left_out: f64,
}

/// Rotation of a multiplexed rotation.
struct MultiplexedRotation {
    /// Number of the operation in the layout.
    source: usize,
    /// Its sign as a sum of the parities of the variants.
    set: usize,
    /// The bits of its line in the lanes.
    lanes: usize,
}

impl<E: SimdFloat> Multiplexed<E> {
    /// Takes rotations along one vector out of a list, if there are several; without numbers yet.
    pub(super) fn extract(
        ops: &mut Vec<NumberedOp<'_>>,
        bits: usize,
        lane_bits: usize,
    ) -> Option<Multiplexed<E>> {
        let vector =
            |op: &Placed| if let Placed::Rotation { line, .. } = op { line.vector } else { 0 };
        let shared = ops.iter().map(|item| vector(item.1)).enumerate().find_map(|(k, x)| {
            let again = ops[k + 1..].iter().any(|other| vector(other.1) == x);
            (again && x != 0).then_some(x)
        })?;
        let inside = (1usize << lane_bits) - 1;
        let mut variants = Variants::new(shared >> lane_bits);
        let mut turns = Vec::new();
        ops.retain(|(source, op)| {
            let Placed::Rotation { line, .. } = op else { return true };
            if line.vector != shared || turns.len() == MAX_ROTATIONS {
                return true;
            }
            let Some(set) = variants.admit(line.inner >> lane_bits, line.outer) else {
                return true;
            };
            turns.push(MultiplexedRotation { source: *source, set, lanes: line.inner & inside });
            false
        });
        variants.list(1 << (bits - lane_bits));
        Some(Multiplexed {
            rows: shared >> lane_bits,
            lanes: shared & inside,
            rotations: turns,
            coefficients: Buffer::zeros((2 * variants.count()) << lane_bits),
            is_rotated: vec![false; variants.count()],
            left_out: 0.0,
            variants,
        })
    }

    /// Takes the angles of its rotations. Returns the factor by which a stage takes them to be too
    /// large, since these are not.
    pub(super) fn fill(&mut self, placed: &[Placed], lanes: usize) -> f64 {
        let mut growth = 1.0;
        let mut angles = [BinaryAngle::ZERO; MAX_ROTATIONS];
        for (turn, angle) in self.rotations.iter().zip(&mut angles) {
            if let Some(op @ Placed::Rotation { line, tan }) = placed.get(turn.source) {
                growth /= op.shrinkage().sqrt();
                let own = BinaryAngle::from_radians(tan.atan());
                *angle = if line.flip { -own } else { own };
            }
        }
        self.left_out = 0.0;
        let coefficients = self.coefficients.as_mut_slice().chunks_exact_mut(2 * lanes);
        for ((variant, own), turned) in coefficients.enumerate().zip(&mut self.is_rotated) {
            *turned = false;
            let (cosines, sines) = own.split_at_mut(lanes);
            for (lane, (cos, sin)) in cosines.iter_mut().zip(sines).enumerate() {
                let signed = |(turn, angle): (&MultiplexedRotation, &BinaryAngle)| {
                    if odd(turn.set & variant) ^ odd(turn.lanes & lane) { -*angle } else { *angle }
                };
                let angle: BinaryAngle = self.rotations.iter().zip(&angles).map(signed).sum();
                let none = angle.abs() <= NO_ANGLE;
                let (s, c) = if none { (0.0, 1.0) } else { angle.sin_cos() };
                self.left_out = self.left_out.max(if none { angle.abs() } else { 0.0 });
                *turned |= s != 0.0;
                (*cos, *sin) = (E::round_from(c), E::round_from(s));
            }
        }
        growth
    }

    /// Returns the distance of the rotations that are left out from the identity.
    pub(super) fn deviation(&self) -> f64 {
        self.left_out
    }

    /// Returns the products and sums for each amplitude of those that are turned, on the mean over
    /// all.
    pub(super) fn flops(&self) -> f64 {
        8.0 * self.is_rotated.iter().filter(|turned| **turned).count() as f64
            / self.is_rotated.len() as f64
    }

    /// Rows of one variant, some at a time, and its number in the tile at index 0.
    #[inline(always)]
    pub(super) fn pieces(&self) -> impl Iterator<Item = (usize, &[u32])> {
        (0..self.variants.count()).flat_map(|v| {
            self.variants.rows(v).chunks(ENTRIES_PER_GATHER).map(move |rows| (v, rows))
        })
    }

    /// Runs on a tile.
    ///
    /// # Safety
    /// *set*; *size*: the stage is the one that this was made for.
    #[inline(always)]
    pub(super) unsafe fn run<S: Simd<Elem = E>>(
        &self,
        scratch: TileScratch<E>,
        pipeline: &mut Pipeline<'_, S>,
    ) {
        // SAFETY: *set* and *size* are the caller's promises.
        unsafe {
            match (self.rows != 0, self.lanes != 0) {
                (true, false) => S::vectorize(MultiplexedRun::<S, true, false> {
                    multiplexed: self,
                    scratch,
                    pipeline,
                }),
                (true, true) => S::vectorize(MultiplexedRun::<S, true, true> {
                    multiplexed: self,
                    scratch,
                    pipeline,
                }),
                (false, _) => S::vectorize(MultiplexedRun::<S, false, true> {
                    multiplexed: self,
                    scratch,
                    pipeline,
                }),
            }
        }
    }
}

struct MultiplexedRun<'a, 'b, P: Simd, const ROWS: bool, const LANES: bool> {
    multiplexed: &'a Multiplexed<P::Elem>,
    scratch: TileScratch<P::Elem>,
    pipeline: &'a mut Pipeline<'b, P>,
}

impl<P: Simd, const ROWS: bool, const LANES: bool> Task<P::Elem>
    for MultiplexedRun<'_, '_, P, ROWS, LANES>
{
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = P::Elem>>(self) {
        let MultiplexedRun { multiplexed, scratch: TileScratch { re, im, outer }, pipeline } = self;
        let Multiplexed { rows, lanes, variants, coefficients, is_rotated: turned, .. } =
            multiplexed;
        let shift = variants.shift(outer);
        // SAFETY: rows and their sums with the vector are below 2^bits / LANES, which is what the
        // scratch holds; there are two registers of coefficients for each variant.
        unsafe {
            let exchange = S::index(|j| j ^ lanes);
            for (variant, piece) in multiplexed.pieces() {
                pipeline.gather_some();
                let here = variant ^ shift;
                if !turned[here] {
                    continue;
                }
                let own = coefficients.as_ptr().add(2 * here * S::LANES);
                let (c, s) = (S::load(own), S::load(own.add(S::LANES)));
                for &row in piece {
                    let at = row as usize * S::LANES;
                    let other = if ROWS { (row as usize ^ rows) * S::LANES } else { at };
                    for part in [re, im] {
                        let a = S::load(part.add(at));
                        let mut b = S::load(part.add(other));
                        if LANES {
                            b = b.permute(exchange);
                        }
                        s.neg_mul_add(b, c.mul(a)).store(part.add(at));
                        if ROWS {
                            let mut b = s.mul_add(a, c.mul(b));
                            if LANES {
                                b = b.permute(exchange);
                            }
                            b.store(part.add(other));
                        }
                    }
                }
            }
        }
    }
}
