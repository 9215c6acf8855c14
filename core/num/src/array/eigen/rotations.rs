//! Givens rotations of pairs of neighbouring vectors, collected and then applied together.
//!
//! The rotations of many steps are collected before they are applied, to 32 places of all vectors
//! at a time: those stay in the second cache. Of a run of rotations that goes from neighbour to
//! neighbour the vector that two rotations share stays in registers.

use crate::scalar::{Real, WideLoop, wide};

/// Number of places of all vectors that are rotated together.
const BLOCK_ROWS: usize = 32;
/// Largest number of rotations for each vector that are collected.
const COLLECTED: usize = 32;

/// Givens rotation of the vectors `k` and `k + 1`: `cos x - sin y` and `sin x + cos y`.
#[derive(Clone, Copy)]
pub(in crate::array) struct GivensRotation {
    pub(in crate::array) k: usize,
    pub(in crate::array) cos: f64,
    pub(in crate::array) sin: f64,
}

/// Vectors with their pending rotations.
pub(in crate::array) struct RotatedVectors {
    n: usize,
    /// Elements of all vectors, in blocks of 32 places, one after the other.
    places: Vec<[f64; BLOCK_ROWS]>,
    pending: Vec<GivensRotation>,
}

impl RotatedVectors {
    /// Returns the `n` unit vectors.
    pub(in crate::array) fn unit(n: usize) -> RotatedVectors {
        let mut places = vec![[0.0; BLOCK_ROWS]; n.div_ceil(BLOCK_ROWS) * n];
        (0..n).for_each(|k| places[k / BLOCK_ROWS * n + k][k % BLOCK_ROWS] = 1.0);
        RotatedVectors { n, places, pending: Vec::new() }
    }

    /// Returns the elements of the k-th vector, after [`settle`](RotatedVectors::apply_pending).
    pub(in crate::array) fn vector(&self, k: usize) -> impl Iterator<Item = f64> {
        let places = self.places.iter().skip(k).step_by(self.n.max(1));
        places.flatten().copied().take(self.n)
    }

    /// Adds a rotation, which is applied after all those before it.
    pub(in crate::array) fn push(&mut self, turn: GivensRotation) {
        self.pending.push(turn);
        if self.pending.len() >= COLLECTED * self.n {
            self.apply_pending();
        }
    }

    /// Applies the rotations that were collected.
    pub(in crate::array) fn apply_pending(&mut self) {
        wide::<f64, _>(ApplyRotations(self));
        self.pending.clear();
    }
}

struct ApplyRotations<'a>(&'a mut RotatedVectors);

impl WideLoop for ApplyRotations<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let RotatedVectors { n, places, pending: turns } = self.0;
        for vectors in places.chunks_exact_mut((*n).max(1)) {
            let mut rest = &turns[..];
            while let Some(first) = rest.first() {
                let is_down = rest.get(1).is_some_and(|next| next.k + 1 == first.k);
                let follows = |pair: &&[GivensRotation]| match is_down {
                    true => pair[1].k + 1 == pair[0].k,
                    false => pair[0].k + 1 == pair[1].k,
                };
                let (run, later) = rest.split_at(1 + rest.windows(2).take_while(follows).count());
                if is_down {
                    down(&mut vectors[first.k + 1 - run.len()..][..=run.len()], run);
                } else {
                    up(&mut vectors[first.k..][..=run.len()], run);
                }
                rest = later;
            }
        }
    }
}

/// Rotates the first and the second, the second and the third, and so on.
#[inline(always)]
fn up(vectors: &mut [[f64; BLOCK_ROWS]], run: &[GivensRotation]) {
    let mut held = vectors[0];
    for (k, &GivensRotation { cos, sin, .. }) in run.iter().enumerate() {
        let (y, mut x) = (vectors[k + 1], [0.0; BLOCK_ROWS]);
        for j in 0..BLOCK_ROWS {
            x[j] = cos * held[j] - sin * y[j];
            held[j] = sin * held[j] + cos * y[j];
        }
        vectors[k] = x;
    }
    vectors[run.len()] = held;
}

/// Rotates the last two, the two before the last, and so on.
#[inline(always)]
fn down(vectors: &mut [[f64; BLOCK_ROWS]], run: &[GivensRotation]) {
    let mut held = vectors[run.len()];
    for (k, &GivensRotation { cos, sin, .. }) in (0..run.len()).rev().zip(run) {
        let (x, mut y) = (vectors[k], [0.0; BLOCK_ROWS]);
        for j in 0..BLOCK_ROWS {
            y[j] = sin * x[j] + cos * held[j];
            held[j] = cos * x[j] - sin * held[j];
        }
        vectors[k + 1] = y;
    }
    vectors[0] = held;
}

/// `(x / r, y / r, r)` with `r^2 = x^2 + y^2`; of zeros the identity rotation.
pub(in crate::array) fn rotation(x: f64, y: f64) -> (f64, f64, f64) {
    if y == 0.0 {
        return (1.0, 0.0, x);
    }
    let scale = x.inverse_size(&y).unwrap_or(1.0);
    let (x, y) = (x * scale, y * scale);
    let r = (x * x + y * y).sqrt();
    (x / r, y / r, r / scale)
}
