//! Dense blocks on two bits of a tile: 4x4 matrices, and factored ones.
//!
//! A matrix takes 16 products for each part of an amplitude. A factored block (see
//! `plan::lower::canonical`)
//!
//! ```text
//! e^{i phase} e^{i (x XX + y YY + z ZZ)} (Rz Ry Rz (x) Rz Ry Rz)
//!   = e^{i phase'} N D2 R1 R0 D1,    D1, D2 diagonal, R0, R1 real rotations,
//!   N = cos + i sin between 00 and 11 (angle x - y) and between 01 and 10 (angle x + y)
//! ```
//! takes 11 (12 with bits within registers): each factor but the last is divided by its cosines,
//! row by row,
//!
//! ```text
//! D:  (x, y) -> (x - t y, y + t x)        t = tan of the row's angle, 0 for the first row
//! R:  a_s    -> a_s -+ tan (c_s' / c_s) a_s'      c the cosines of row s so far, s' the other row
//! N:  (x_s, y_s) -> (a x_s - b y_s', a y_s + b x_s')     a = c_s cos, b = c_s' sin
//! ```
//! and N, which has two products anyway, puts all cosines back. A tangent may be large: it makes a
//! large number that is divided by as much later, and nothing cancels. Where one is beyond
//! [`MAX_TANGENT`] the matrix is used as it is, and where the product of the factors is not the
//! matrix up to rounding.

use num_complex::Complex;

use super::{buffer::Buffer, rows::table};
use crate::{
    kernel::SimdFloat,
    plan::lower::{CanonicalFactors, distance},
};

/// Tangent beyond which a product of tangents and cosines may leave the range of `f32`.
const MAX_TANGENT: f64 = 1e4;

/// The registers of coefficients for each row of a factored block: D1, R0, R1, D2, and the two of
/// N.
const FACTORED_COEFFICIENTS: usize = 6;

/// A dense 4x4 block on tile bits.
pub(super) struct DenseBlock<E> {
    /// Number of the operation in the layout.
    pub(super) source: usize,
    bits: [usize; 2],
    /// The sets of its bits that are rows, and those that are lanes.
    row_sets: Vec<usize>,
    lane_sets: Vec<usize>,
    /// Its row bits, as row offsets; and its lane bits, as lane exchanges.
    pub(super) row_offsets: Vec<usize>,
    pub(super) lane_flips: Vec<usize>,
    /// True if it is a factored block.
    pub(super) factored: bool,
    /// Distance of the product of its factors from the matrix.
    pub(super) deviation: f64,
    /// Coefficients: for each row, column and lane exchange, the real and the imaginary parts of
    /// those of the lanes. Of a factored block: for each of its coefficients and each row, the
    /// lanes.
    pub(super) coefficients: Buffer<E>,
    pub(super) table: Vec<u32>,
}

impl<E: SimdFloat> DenseBlock<E> {
    /// Creates a block on tile bits low < high, without numbers yet.
    pub(super) fn new(
        source: usize,
        bits: [usize; 2],
        tile_bits: usize,
        lane_bits: usize,
    ) -> DenseBlock<E> {
        let on = |row: bool| -> Vec<usize> {
            (0..4usize)
                .filter(|set| (0..2).all(|i| set >> i & 1 == 0 || (bits[i] >= lane_bits) == row))
                .collect()
        };
        let spread = |set: usize| (set & 1) << bits[0] | (set >> 1) << bits[1];
        let (row_sets, lane_sets) = (on(true), on(false));
        let count = (row_sets.len() * row_sets.len() * lane_sets.len()) << (lane_bits + 1);
        let vectors: Vec<usize> =
            bits.iter().filter(|&&b| b >= lane_bits).map(|b| 1 << b >> lane_bits).collect();
        DenseBlock {
            source,
            bits,
            row_offsets: row_sets.iter().map(|&set| spread(set) >> lane_bits).collect(),
            lane_flips: lane_sets.iter().map(|&set| spread(set)).collect(),
            row_sets,
            lane_sets,
            factored: false,
            deviation: 0.0,
            coefficients: Buffer::zeros(count),
            table: table(1 << (tile_bits - lane_bits), &vectors, &[]),
        }
    }

    /// Products and sums for each amplitude.
    pub(super) fn flops(&self) -> f64 {
        match (self.factored, self.row_sets.len()) {
            (false, _) => 32.0,
            // The first row has no phases.
            (true, 4) => 22.0,
            (true, _) => 24.0,
        }
    }

    /// Takes the numbers of a matrix, by its factors if it has some up to a tolerance in eps. The
    /// rest is a factor `e^{i angle}`; returns this angle.
    pub(super) fn fill(
        &mut self,
        matrix: &[Complex<f64>; 16],
        factors: Option<f64>,
        lane_bits: usize,
    ) -> f64 {
        let eps = Into::<f64>::into(E::EPSILON);
        let numbers =
            factors.and_then(|tolerance| FactorCoefficients::from_matrix(matrix, tolerance * eps));
        self.factored = numbers.is_some();
        self.deviation = 0.0;
        match numbers {
            Some((numbers, deviation)) => {
                self.deviation = deviation;
                self.fill_factored(&numbers, lane_bits);
                numbers.angle
            }
            None => {
                self.fill_matrix(matrix, lane_bits);
                0.0
            }
        }
    }

    /// Returns the block's bits of a lane.
    fn own(bits: [usize; 2], lane: usize, lane_bits: usize) -> usize {
        (0..2).filter(|k| bits[*k] < lane_bits).fold(0, |set, k| set | (lane >> bits[k] & 1) << k)
    }

    fn fill_matrix(&mut self, matrix: &[Complex<f64>; 16], lane_bits: usize) {
        let DenseBlock { bits, row_sets, lane_sets, coefficients, .. } = self;
        let lanes = 1usize << lane_bits;
        let per_row = lane_sets.len() * 2 * lanes;
        for (i, coefficient) in coefficients.as_mut_slice().iter_mut().enumerate() {
            let (e, f) = (i / per_row / row_sets.len(), i / per_row % row_sets.len());
            let (flip, part, lane) = (i / (2 * lanes) % lane_sets.len(), i / lanes % 2, i % lanes);
            let own = Self::own(*bits, lane, lane_bits);
            let z = matrix[4 * (row_sets[e] | own) + (row_sets[f] | own ^ lane_sets[flip])];
            *coefficient = E::round_from(if part == 0 { z.re } else { z.im });
        }
    }

    fn fill_factored(&mut self, numbers: &FactorCoefficients, lane_bits: usize) {
        let DenseBlock { bits, row_sets, coefficients, .. } = self;
        let lanes = 1usize << lane_bits;
        let used = coefficients
            .as_mut_slice()
            .iter_mut()
            .take(FACTORED_COEFFICIENTS * row_sets.len() * lanes);
        for (i, coefficient) in used.enumerate() {
            let (kind, row, lane) =
                (i / lanes / row_sets.len(), i / lanes % row_sets.len(), i % lanes);
            *coefficient = E::round_from(
                numbers.coefficients[kind][row_sets[row] | Self::own(*bits, lane, lane_bits)],
            );
        }
    }
}

/// The coefficients of a factored block on the values of its two bits.
struct FactorCoefficients {
    coefficients: [[f64; 4]; FACTORED_COEFFICIENTS],
    angle: f64,
}

impl FactorCoefficients {
    /// Returns the coefficients of a matrix that is a factored block up to the tolerance, and the
    /// distance of their product from it.
    fn from_matrix(
        matrix: &[Complex<f64>; 16],
        tolerance: f64,
    ) -> Option<(FactorCoefficients, f64)> {
        let numbers = FactorCoefficients::new(&CanonicalFactors::new(matrix)?)?;
        let off = distance(&numbers.product(), matrix);
        (off <= tolerance).then_some((numbers, off))
    }

    /// Returns the matrix that they make, row by row.
    fn product(&self) -> [Complex<f64>; 16] {
        let [d1, r0, r1, d2, diagonal, off_diagonal] = &self.coefficients;
        let mut columns: [[Complex<f64>; 4]; 4] =
            std::array::from_fn(|j| std::array::from_fn(|s| f64::from(u8::from(s == j)).into()));
        for v in &mut columns {
            let scaled = |v: [Complex<f64>; 4], t: &[f64; 4]| -> [Complex<f64>; 4] {
                std::array::from_fn(|s| v[s] * Complex::new(1.0, t[s]))
            };
            let rotation = |v: [Complex<f64>; 4], t: &[f64; 4], bit: usize| -> [Complex<f64>; 4] {
                std::array::from_fn(|s| v[s] + v[s ^ 1 << bit] * t[s])
            };
            let w = scaled(rotation(rotation(scaled(*v, d1), r0, 0), r1, 1), d2);
            *v = std::array::from_fn(|s| {
                w[s] * diagonal[s] + w[s ^ 3] * Complex::new(0.0, off_diagonal[s])
            });
        }
        let factor = Complex::cis(self.angle);
        std::array::from_fn(|at| factor * columns[at % 4][at / 4])
    }

    /// `None` if a tangent is too large.
    fn new(factored: &CanonicalFactors) -> Option<FactorCoefficients> {
        let &CanonicalFactors { phase, angles: [x, y, z], ref before } = factored;
        // diag(e^{iu}, e^{-iu}) [cos -sin; sin cos] diag(e^{iv}, e^{-iv})
        let euler = before.map(|g| {
            let (sum, difference) = (g[0].arg(), g[2].arg());
            [0.5 * (sum - difference), g[2].norm() / g[0].norm(), 0.5 * (sum + difference)]
        });
        let on = |[low, high]: [f64; 2], s: usize| {
            (if s & 1 == 0 { low } else { -low }) + if s & 2 == 0 { high } else { -high }
        };
        let first = |s| on([euler[0][2], euler[1][2]], s);
        let same = |s: usize| s == 0 || s == 3;
        let second = |s: usize| on([euler[0][0], euler[1][0]], s) + if same(s) { z } else { -z };
        let mut cosines = [1.0f64; 4];
        let diagonal = |cosines: &mut [f64; 4], angle: &dyn Fn(usize) -> f64| -> [f64; 4] {
            std::array::from_fn(|s| {
                let (sin, cos) = (angle(s) - angle(0)).sin_cos();
                cosines[s] *= cos;
                sin / cos
            })
        };
        let rotation = |cosines: &mut [f64; 4], bit: usize| -> [f64; 4] {
            let tan = euler[bit][1];
            let old = *cosines;
            cosines.iter_mut().for_each(|c| *c /= (1.0 + tan * tan).sqrt());
            std::array::from_fn(|s| {
                let other = s ^ 1 << bit;
                (if s >> bit & 1 == 0 { -tan } else { tan }) * old[other] / old[s]
            })
        };
        let d1 = diagonal(&mut cosines, &first);
        let r0 = rotation(&mut cosines, 0);
        let r1 = rotation(&mut cosines, 1);
        let d2 = diagonal(&mut cosines, &second);
        let between = |s: usize| if same(s) { x - y } else { x + y };
        let tangents = d1.iter().chain(&d2).chain([&euler[0][1], &euler[1][1]]);
        tangents.copied().all(|t| t.abs() <= MAX_TANGENT).then_some(FactorCoefficients {
            coefficients: [
                d1,
                r0,
                r1,
                d2,
                std::array::from_fn(|s| cosines[s] * between(s).cos()),
                std::array::from_fn(|s| cosines[s ^ 3] * between(s).sin()),
            ],
            angle: phase + first(0) + second(0),
        })
    }
}
