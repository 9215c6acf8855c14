//! Cache blocking, many operators in one pass over memory, for every ring: a vector is worked on in
//! tiles that stay in a cache.
//!
//! Operators are taken in stages. A stage *moves* amplitudes along few qubits only, its active
//! ones; with as many others as a tile has room for they make up the tile's qubits. For each value
//! of all other qubits the tile is copied out, every operator of the stage is applied to it, and it
//! is copied back:
//!
//! ```text
//! 6 5 4 3 2 1 0     qubits of the vector, active: 5, 3
//! . a . a . t t     tile = 0, 1, 3, 5 in this order: 0 and 1 are idle, so that all runs are four long at least
//! ```
//! Qubits outside of the tile may be controls, or bits that a diagonal depends on: there an
//! operator is restricted to the value that the tile has. An operator may join a stage ahead of
//! others that may not where it commutes with them, which is taken for granted of two that move
//! nothing along a qubit that both use.
//!
//! Each amplitude goes through the same operations as without tiles, in an order in which they give
//! the same: in exact rings the same numbers, in others up to rounding.
//!
//! Cost: two copies of the vector for each stage, beside the operators. Finding the stages takes
//! O(operators).
#![expect(unsafe_code, reason = "tiles interleave, see disjoint.rs")]

use std::{collections::VecDeque, ops::Range};

use super::{ActsOn, Operator, OperatorShape, Threads, disjoint::Disjoint};
use crate::{
    basis::{deposit, gather_bits, odd, scatter_bits},
    scalar::Ring,
};

/// Operators that a stage leaves for later before it ends.
const LOOK_AHEAD: usize = 64;

/// Size of the tiles.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct TileSize {
    /// Qubits of a tile.
    #[doc(hidden)]
    pub qubits: usize,
    /// Qubits among them that a stage is to leave idle, and that come first.
    #[doc(hidden)]
    pub idle: usize,
}

/// Applies operators in order, in tiles where the vector is larger than one.
#[doc(hidden)]
pub fn apply_in_tiles<R: ActsOn<A>, A: Clone + Send + Sync>(
    operators: &[Operator<R>],
    amplitudes: &mut [A],
    size: TileSize,
    threads: &Threads,
) {
    let n_qubits = amplitudes.len().trailing_zeros() as usize;
    if n_qubits <= size.qubits {
        operators.iter().for_each(|operator| operator.apply(amplitudes, threads));
        return;
    }
    let most = size.qubits - size.idle;
    let mut left: VecDeque<&Operator<R>> = operators.iter().collect();
    while let Some(first) = left.front() {
        if first.moves().count_ones() as usize > most {
            first.apply(amplitudes, threads);
            left.pop_front();
            continue;
        }
        let (stage, active) = next_stage(&mut left, most);
        if let [operator] = stage.as_slice() {
            // Nothing to share a pass with.
            operator.apply(amplitudes, threads);
            continue;
        }
        let qubits = tile_qubits(n_qubits, active, size.qubits);
        OperatorStage::new(n_qubits, qubits, &stage).run(amplitudes, threads);
    }
}

impl<R: Ring> Operator<R> {
    /// Returns the bits along which it moves amplitudes.
    fn moves(&self) -> usize {
        match &self.shape {
            OperatorShape::Identity
            | OperatorShape::Phase(_)
            | OperatorShape::Diagonal(_)
            | OperatorShape::Parity { .. } => 0,
            OperatorShape::Swap(a, b) => a ^ b,
            OperatorShape::Cycles(cycles) => {
                let of_cycle = |cycle: &Vec<(usize, R)>| {
                    cycle.iter().fold(0, |m, (o, _)| m | (o ^ cycle[0].0))
                };
                cycles.iter().fold(0, |m, cycle| m | of_cycle(cycle))
            }
            OperatorShape::PauliString { x, .. } => *x,
            OperatorShape::Dense { offsets, .. } => offsets.iter().fold(0, |m, o| m | o),
        }
    }
}

/// Takes the operators of a stage from those that are left, in order, and returns the bits that
/// they move along.
fn next_stage<'a, R: Ring>(
    left: &mut VecDeque<&'a Operator<R>>,
    most: usize,
) -> (Vec<&'a Operator<R>>, usize) {
    let (mut stage, mut later) = (Vec::new(), Vec::new());
    let mut active = 0usize;
    // The bits that those for later move along, and all that they use.
    let (mut moved, mut used) = (0, 0);
    while later.len() < LOOK_AHEAD
        && let Some(operator) = left.pop_front()
    {
        let (moves, fixed) = (operator.moves(), operator.fixed);
        let commutes = moves & used == 0 && fixed & moved == 0;
        if commutes && (active | moves).count_ones() as usize <= most {
            active |= moves;
            stage.push(operator);
        } else {
            moved |= moves;
            used |= fixed;
            later.push(operator);
        }
    }
    later.into_iter().rev().for_each(|operator| left.push_front(operator));
    (stage, active)
}

/// Returns the qubits of a tile: idle ones from below, then the active ones.
fn tile_qubits(n_qubits: usize, active: usize, count: usize) -> Vec<usize> {
    let is_active = |q: &usize| active >> q & 1 == 1;
    let idle = (0..n_qubits).filter(|q| !is_active(q)).take(count - active.count_ones() as usize);
    idle.chain((0..n_qubits).filter(is_active)).collect()
}

/// An operator on tiles.
enum TileOperator<'a, R> {
    /// Operator that is the same on each tile.
    Same(Operator<R>),
    /// Operator that depends on the qubits outside.
    Across(&'a Operator<R>),
}

/// Operators that are applied to a tile one after the other.
struct OperatorStage<'a, R> {
    n_qubits: usize,
    /// Qubits of a tile, in its order.
    qubits: Vec<usize>,
    /// Their bits.
    inside: usize,
    parts: Vec<TileOperator<'a, R>>,
}

impl<'a, R: Ring> OperatorStage<'a, R> {
    fn new(
        n_qubits: usize,
        qubits: Vec<usize>,
        operators: &[&'a Operator<R>],
    ) -> OperatorStage<'a, R> {
        let inside = qubits.iter().fold(0, |bits, q| bits | 1 << q);
        let mut stage = OperatorStage { n_qubits, qubits, inside, parts: Vec::new() };
        let part = |operator: &&'a Operator<R>| match operator.fixed & !inside {
            0 => stage.restricted(operator, 0).map(TileOperator::Same),
            _ => Some(TileOperator::Across(operator)),
        };
        stage.parts = operators.iter().filter_map(part).collect();
        stage
    }

    fn run<A: Clone + Send + Sync>(&self, amplitudes: &mut [A], threads: &Threads)
    where
        R: ActsOn<A>,
    {
        let outside = ((1usize << self.n_qubits) - 1) & !self.inside;
        // Qubits that have the same places in the tile stay together in copies.
        let together = self.qubits.iter().enumerate().take_while(|(k, q)| k == *q).count();
        let length = 1usize << together;
        let offset = |i: usize| scatter_bits(i * length, &self.qubits);
        let offsets: Vec<usize> =
            (0..1usize << (self.qubits.len() - together)).map(offset).collect();
        let blank = amplitudes[..1 << self.qubits.len()].to_vec();
        let vector = Disjoint::new(amplitudes);
        let work = |tiles: Range<usize>| {
            let mut tile = blank.clone();
            for base in tiles.map(|number| deposit(number, outside)) {
                let place = (&vector, base, offsets.as_slice(), length);
                copy(place, &mut tile, |run, tile| tile.clone_from_slice(run));
                for part in &self.parts {
                    match part {
                        TileOperator::Same(operator) => {
                            operator.apply(&mut tile, &Threads::serial())
                        }
                        TileOperator::Across(operator) => {
                            if let Some(operator) = self.restricted(operator, base) {
                                operator.apply(&mut tile, &Threads::serial());
                            }
                        }
                    }
                }
                copy(place, &mut tile, |run, tile| run.clone_from_slice(tile));
            }
        };
        let tiles = 1usize << (self.n_qubits - self.qubits.len());
        if R::PARALLEL { threads.split(tiles, work) } else { work(0..tiles) }
    }

    /// Returns the operator on the tile where the bits outside have the values of `base`, if it
    /// does anything there.
    fn restricted(&self, operator: &Operator<R>, base: usize) -> Option<Operator<R>> {
        let Operator { shape, fixed, value, .. } = operator;
        let outside = fixed & !self.inside;
        let here = |offset: usize| (value | offset) & outside == base & outside;
        let within = |bits: usize| self.within(bits);
        let shape = match shape {
            OperatorShape::Identity => return None,
            OperatorShape::Phase(factor) => {
                here(0).then(|| OperatorShape::Phase(factor.clone()))?
            }
            OperatorShape::Diagonal(factors) => {
                let factors = factors.iter().filter(|(offset, _)| here(*offset));
                OperatorShape::Diagonal(
                    factors.map(|(offset, f)| (within(*offset), f.clone())).collect(),
                )
            }
            OperatorShape::Swap(a, b) => {
                here(*a).then(|| OperatorShape::Swap(within(*a), within(*b)))?
            }
            OperatorShape::Cycles(cycles) => {
                let cycles = cycles.iter().filter(|cycle| here(cycle[0].0));
                let moved = |cycle: &Vec<(usize, R)>| {
                    cycle.iter().map(|(offset, f)| (within(*offset), f.clone())).collect::<Vec<_>>()
                };
                OperatorShape::Cycles(cycles.map(moved).collect())
            }
            OperatorShape::Parity { z, factors } => {
                let [even, odd_] = factors.clone();
                let controls = outside & !z;
                let factors = if odd(base & outside & z) { [odd_, even] } else { [even, odd_] };
                (value & controls == base & controls)
                    .then_some(OperatorShape::Parity { z: within(*z), factors })?
            }
            OperatorShape::PauliString { x, z, diagonal, off_diagonal } => {
                let controls = outside & !z;
                let off_diagonal = if odd(base & outside & z) {
                    -off_diagonal.clone()
                } else {
                    off_diagonal.clone()
                };
                let shape = OperatorShape::PauliString {
                    x: within(*x),
                    z: within(*z),
                    diagonal: diagonal.clone(),
                    off_diagonal,
                };
                (value & controls == base & controls).then_some(shape)?
            }
            OperatorShape::Dense { matrix, offsets } => here(0).then(|| OperatorShape::Dense {
                matrix: matrix.clone(),
                offsets: offsets.iter().map(|offset| within(*offset)).collect(),
            })?,
        };
        let does_nothing = match &shape {
            OperatorShape::Diagonal(factors) => factors.is_empty(),
            OperatorShape::Cycles(cycles) => cycles.is_empty(),
            _ => false,
        };
        if does_nothing {
            return None;
        }
        let fixed = within(*fixed);
        let n_qubits = (usize::BITS - fixed.leading_zeros()) as usize;
        Some(Operator { shape, fixed, value: within(*value), n_qubits })
    }

    /// Bits of the vector's index as those of the tile's; others are left out.
    fn within(&self, bits: usize) -> usize {
        gather_bits(bits, &self.qubits)
    }
}

/// A tile's place: the vector, the bits outside, where its runs are from there, and their length.
type TileLocation<'a, A> = (&'a Disjoint<'a, A>, usize, &'a [usize], usize);

/// Calls `each` with the runs of a place and the parts of the tile that belong to them.
fn copy<A>(place: TileLocation<'_, A>, tile: &mut [A], each: impl Fn(&mut [A], &mut [A])) {
    match place.3 {
        1 => copy_runs::<1, A>(place, tile, each),
        2 => copy_runs::<2, A>(place, tile, each),
        4 => copy_runs::<4, A>(place, tile, each),
        8 => copy_runs::<8, A>(place, tile, each),
        16 => copy_runs::<16, A>(place, tile, each),
        _ => copy_runs::<0, A>(place, tile, each),
    }
}

/// Copies as [`copy`] does, runs whose length is known to the compiler, unless it is given as 0.
#[inline(always)]
fn copy_runs<const LEN: usize, A>(
    (vector, base, offsets, length): TileLocation<'_, A>,
    tile: &mut [A],
    each: impl Fn(&mut [A], &mut [A]),
) {
    let length = if LEN == 0 { length } else { LEN };
    for (offset, part) in offsets.iter().zip(tile.chunks_exact_mut(length)) {
        // SAFETY: a run is known by its base, which has bits outside of the tile only and is
        // another one for each tile, and its offset, which has bits inside only; runs of one tile
        // are taken one at a time, and each tile by one thread. All bits are below those of the
        // vector's length.
        let run = unsafe { vector.part(base | offset, length) };
        each(run, part);
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;
    use support::random::Rng;

    use super::*;
    use crate::matrix::Matrix;

    type TestComplex = Complex<f64>;

    /// Returns a power of i: all numbers stay integers that floats hold.
    fn number(rng: &mut Rng) -> TestComplex {
        TestComplex::i().powu(rng.below(4) as u32)
    }

    /// Returns a random operator of any shape under controls of both values.
    fn operator(n: usize, rng: &mut Rng) -> Operator<TestComplex> {
        let order = rng.permutation(n);
        let k = 1 + rng.below(n.min(3));
        let (targets, rest) = order.split_at(k);
        let n_controls = rng.below(rest.len().min(3) + 1);
        let controls: Vec<(usize, bool)> =
            rest[..n_controls].iter().map(|&q| (q, rng.bits() & 1 == 1)).collect();
        let dim = 1usize << k;
        let zero = TestComplex::new(0.0, 0.0);
        let matrix = match rng.below(6) {
            0 => Matrix::from_fn(k, |i, j| if i == j { number(rng) } else { zero }),
            1 => Matrix::from_fn(k, |i, j| {
                TestComplex::new(f64::from(u8::from(i == (j + 1) % dim)), 0.0)
            }),
            2 => Matrix::from_fn(k, |i, j| if i == dim - 1 - j { number(rng) } else { zero }),
            3 => {
                let (x, z) = (rng.below(1 << n), rng.below(1 << n));
                let controls: Vec<_> =
                    controls.into_iter().filter(|c| (x | z) >> c.0 & 1 == 0).collect();
                return Operator::string(x, z, [number(rng), number(rng)], &controls).unwrap();
            }
            4 => Matrix::from_fn(k, |i, j| match (i == j, i + 1 == dim) {
                (true, true) => number(rng),
                (same, _) => TestComplex::new(f64::from(u8::from(same)), 0.0),
            }),
            _ => Matrix::from_fn(k, |_, _| number(rng)),
        };
        Operator::new(&matrix, targets, &controls).unwrap()
    }

    #[test]
    fn tiles_of_every_size_give_the_numbers_of_single_operators() {
        let mut rng = Rng::new(5);
        for n in (1..=9).chain([4, 7, 10]) {
            let operators: Vec<_> = (0..40).map(|_| operator(n, &mut rng)).collect();
            let start: Vec<TestComplex> = (0..1usize << n).map(|_| number(&mut rng)).collect();
            let mut expected = start.clone();
            operators.iter().for_each(|operator| operator.apply(&mut expected, &Threads::serial()));
            assert!(expected.iter().all(|z| z.l1_norm() < (1u64 << 52) as f64));
            for qubits in 1..=n {
                for idle in 0..qubits {
                    let (mut found, size) = (start.clone(), TileSize { qubits, idle });
                    apply_in_tiles(&operators, &mut found, size, &Threads::serial());
                    assert!(found == expected, "n = {n}, {size:?}");
                }
            }
        }
    }

    #[test]
    fn a_stage_takes_what_commutes_with_all_that_it_leaves() {
        let x = |q: usize, control: usize| {
            let x = Matrix::from_fn(1, |i, j| TestComplex::new(f64::from(u8::from(i != j)), 0.0));
            Operator::new(&x, &[q], &[(control, true)]).unwrap()
        };
        // Qubits 0 and 1 move, so 2 is for later; what is controlled by 2 then too, but not what
        // shares its control.
        let operators = [x(0, 3), x(1, 3), x(2, 3), x(0, 2), x(1, 4), x(1, 0)];
        let mut left = operators.iter().collect();
        let (stage, active) = next_stage(&mut left, 2);
        assert_eq!((stage.len(), active), (3, 0b11));
        assert!(left.iter().copied().eq([&operators[2], &operators[3], &operators[5]]));
    }
}
