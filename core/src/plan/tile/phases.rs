//! Tables of phases: all diagonal gates of one level as one product per amplitude.
//!
//! A level's phases are `sum_w angle_w [w.x odd]`. The part that depends on bits of the tile alone is one
//! table over the tile: the Walsh-Hadamard transform of the angles, then sine and cosine. A part that
//! depends on a parity of bits outside has a table per such parity, conjugated where it is odd. Phases of
//! one tile bit and bits outside (controlled phases of a QFT) need no table each: their product over the
//! tile bits is made anew for each tile, from two short tables.
#![expect(unsafe_code, reason = "enters code compiled for other instructions")]

use num_complex::Complex;

use super::buffer::Buffer;
use crate::{
    kernel::{
        Element, InstructionSet,
        simd::{Simd, Task},
    },
    plan::lower::walsh_hadamard,
};

/// `e^{i angle}` where `inner . p + outer . o` is odd, for the place p in the tile and the tile's index o.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    pub(super) inner: usize,
    pub(super) outer: usize,
    pub(super) angle: f64,
}

/// Tile bits that the low one of the two short tables spans.
const LOW_BITS: usize = 6;

/// A table over the tile.
pub(super) struct Table<E> {
    pub(super) re: Buffer<E>,
    pub(super) im: Buffer<E>,
    /// Conjugated where this parity of the tile's index is odd; 0 for never.
    pub(super) outer: usize,
}

/// The phases of one level.
pub(super) struct Phases<E> {
    pub(super) tables: Vec<Table<E>>,
    /// (tile bit, outer parity, factor)
    singles: Vec<(usize, usize, Complex<f64>)>,
    bits: usize,
}

/// The product of the single-bit phases, made for one tile: `low[p mod 2^6] high[p / 2^6]`.
pub(super) struct Product<E> {
    pub(super) re: Buffer<E>,
    pub(super) im: Buffer<E>,
    pub(super) high: Vec<Complex<E>>,
}

impl<E: Element> Product<E> {
    pub(super) fn new(bits: usize) -> Product<E> {
        let high = vec![Complex::new(E::one(), E::zero()); 1 << bits.saturating_sub(LOW_BITS)];
        Product { re: Buffer::zeros(1 << LOW_BITS), im: Buffer::zeros(1 << LOW_BITS), high }
    }
}

impl<E: Element> Phases<E> {
    /// Makes the tables of some phases on a tile of 2^bits amplitudes. What is constant in a tile goes to
    /// `constants`, as (outer parity, angle).
    pub(super) fn new(
        bits: usize,
        phases: &[Phase],
        constants: &mut Vec<(usize, f64)>,
        set: InstructionSet,
    ) -> Phases<E> {
        let mut outers: Vec<usize> = Vec::new();
        let mut singles: Vec<(usize, usize, f64)> = Vec::new();
        for phase in phases {
            if phase.inner == 0 {
                constants.push((phase.outer, phase.angle));
            } else if phase.outer != 0 && phase.inner.is_power_of_two() {
                // [x + o odd] = [o odd] + (-1)^o [x odd]
                constants.push((phase.outer, phase.angle));
                let bit = phase.inner.trailing_zeros() as usize;
                match singles.iter_mut().find(|s| (s.0, s.1) == (bit, phase.outer)) {
                    Some(s) => s.2 += phase.angle,
                    None => singles.push((bit, phase.outer, phase.angle)),
                }
            } else if !outers.contains(&phase.outer) {
                outers.push(phase.outer);
            }
        }
        let mut angles = vec![0.0; 1 << bits];
        let tables = outers.iter().map(|&outer| {
            angles.fill(0.0);
            let in_table =
                |p: &&Phase| p.outer == outer && p.inner != 0 && (outer == 0 || !p.inner.is_power_of_two());
            for phase in phases.iter().filter(in_table) {
                // [w.x odd] = 1/2 - (-1)^{w.x}/2
                angles[phase.inner] -= 0.5 * phase.angle;
                constants.push((0, 0.5 * phase.angle));
            }
            let (mut re, mut im) = (Buffer::zeros(1 << bits), Buffer::zeros(1 << bits));
            let fill = Fill { angles: &mut angles, re: re.as_mut_slice(), im: im.as_mut_slice() };
            // SAFETY: the caller of `compile` has checked that the processor has the set.
            unsafe { E::dispatch(set, fill) };
            Table { re, im, outer }
        });
        let tables = tables.collect();
        let singles =
            singles.into_iter().map(|(bit, outer, angle)| (bit, outer, Complex::cis(angle))).collect();
        Phases { tables, singles, bits }
    }

    /// Whether there is nothing but one table that is the same for all tiles.
    pub(super) fn is_one_table(&self) -> bool {
        self.singles.is_empty() && matches!(self.tables.as_slice(), [table] if table.outer == 0)
    }

    /// Whether single-bit phases make a product for each tile.
    pub(super) fn has_product(&self) -> bool {
        !self.singles.is_empty()
    }

    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.singles.is_empty() && self.tables.is_empty()
    }

    /// Makes the product for the tile at index `outer`.
    pub(super) fn product(&self, outer: usize, product: &mut Product<E>) {
        let one = Complex::new(1.0, 0.0);
        let mut factors = [one; usize::BITS as usize];
        for &(bit, mask, z) in &self.singles {
            factors[bit] *= if (mask & outer).count_ones() % 2 == 1 { z.conj() } else { z };
        }
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

/// Fills a table with `e^{i angle}` for angles given by their Walsh-Hadamard transform. Nothing here names
/// registers: the compiler vectorizes the loops for the instruction set.
struct Fill<'a, E> {
    angles: &'a mut [f64],
    re: &'a mut [E],
    im: &'a mut [E],
}

impl<E: Element> Task<E> for Fill<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        walsh_hadamard(self.angles);
        for ((angle, re), im) in self.angles.iter().zip(self.re).zip(self.im) {
            let (sin, cos) = sin_cos(*angle);
            (*re, *im) = (E::round_from(cos), E::round_from(sin));
        }
    }
}

/// Sine and cosine of an angle of moderate size (below 10^5 turns), to one or two units in the last place. It
/// has no branches, so that a loop of it vectorizes. Reduction by multiples of pi/2 in three parts and the
/// polynomials on [-pi/4, pi/4] are those of fdlibm.
#[inline(always)]
fn sin_cos(x: f64) -> (f64, f64) {
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52: adding it rounds to an integer
    const PARTS: [f64; 3] = [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21];
    let shifted = x * std::f64::consts::FRAC_2_PI + ROUND;
    let quadrant = shifted.to_bits();
    let turns = shifted - ROUND;
    let r = ((x - turns * PARTS[0]) - turns * PARTS[1]) - turns * PARTS[2];
    let z = r * r;
    let sin_tail = -1.666_666_666_666_663_2e-1
        + z * (8.333_333_333_322_49e-3
            + z * (-1.984_126_982_985_795e-4
                + z * (2.755_731_370_707_007e-6
                    + z * (-2.505_076_025_340_686_3e-8 + z * 1.589_690_995_211_55e-10))));
    let sin = r + r * z * sin_tail;
    let cos_tail = 4.166_666_666_666_66e-2
        + z * (-1.388_888_888_887_411e-3
            + z * (2.480_158_728_947_673e-5
                + z * (-2.755_731_435_139_066_3e-7
                    + z * (2.087_572_321_298_175e-9 - z * 1.135_964_755_778_819_5e-11))));
    let cos = 1.0 - 0.5 * z + z * z * cos_tail;
    let (s, c) = if quadrant & 1 == 1 { (cos, sin) } else { (sin, cos) };
    let s = if quadrant & 2 == 2 { -s } else { s };
    let c = if (quadrant + 1) & 2 == 2 { -c } else { c };
    (s, c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sine_and_cosine_are_right() {
        for i in -40_000..40_000 {
            let x = f64::from(i) * 0.001_234_5;
            let (sin, cos) = sin_cos(x);
            assert!((sin - x.sin()).abs() < 4e-16 && (cos - x.cos()).abs() < 4e-16, "{x}");
        }
    }
}
