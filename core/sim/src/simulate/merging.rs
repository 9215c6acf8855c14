//! Merging of branches that wait at the steps of a circuit: those with the same future become one.
//!
//! Two branches at one step have the same future if their live bits are equal and their states are,
//! up to a phase and rounding. An equal state is looked up by its *mark*, `|<w|psi>|` for a fixed w
//! without structure: a phase does not change it, and states that agree to a tolerance have marks
//! that agree to `2 2^n` times that. So a branch is compared with those of nearly the same mark
//! only.

use std::{
    any::TypeId,
    collections::{BTreeMap, BTreeSet},
};

use num_complex::Complex;

use super::{Bits, rounds::RunPosition, trajectory::LiveBranch};
use crate::{
    scalar::{Real, Scalar},
    state::StateVector,
};

/// Fewer states than this are kept as they are.
const FEW: usize = 64;

/// Branches with their probabilities.
pub(super) struct Merging<S, T> {
    by_position: BTreeMap<RunPosition, BranchQueue<S, T>>,
    n_branches: usize,
    /// The number of different bits at the steps.
    n_values: usize,
    /// Bytes on the heap of all bits.
    bits: u128,
}

/// The branches at a step.
struct BranchQueue<S, T> {
    branches: Vec<(LiveBranch<S>, T)>,
    /// Bits, mark, place in the list.
    index: BTreeSet<(Bits, u64, usize)>,
}

impl<T: Real, S: Scalar<Real = T>> Merging<S, T> {
    pub(super) fn new() -> Merging<S, T> {
        Merging { by_position: BTreeMap::new(), n_branches: 0, n_values: 0, bits: 0 }
    }

    pub(super) fn n_branches(&self) -> usize {
        self.n_branches
    }

    /// Bytes on the heap of the bits of all branches, which are in the index, too.
    pub(super) fn bits(&self) -> u128 {
        self.bits.saturating_mul(2)
    }

    /// True if density matrices, one for each value of the bits, take less memory.
    pub(super) fn outnumbers_density(&self, n_qubits: usize) -> bool {
        self.n_branches >= FEW
            && self.n_branches >> n_qubits.min(usize::BITS as usize - 1) > self.n_values
    }

    /// Takes the last branch at the first step.
    pub(super) fn next(&mut self) -> Option<(LiveBranch<S>, T)> {
        let mut first = self.by_position.first_entry()?;
        let queue = first.get_mut();
        let (live, p) = queue.branches.pop()?;
        let place = queue.branches.len();
        queue.index.remove(&(live.bits.clone(), mark(&live.state), place));
        let is_last = !queue.has(&live.bits);
        if queue.branches.is_empty() {
            first.remove();
        }
        self.n_branches -= 1;
        self.n_values -= usize::from(is_last);
        self.bits -= live.bits.heap_bytes();
        Some((live, p))
    }

    /// Adds a branch, or its probability to that of one with the same future.
    pub(super) fn add(&mut self, mut live: LiveBranch<S>, p: T) {
        let position = live.around.position(live.step);
        let queue = self
            .by_position
            .entry(position)
            .or_insert_with(|| BranchQueue { branches: Vec::new(), index: BTreeSet::new() });
        let mark = mark(&live.state);
        if let Some(place) = queue.find(&live, mark) {
            let (other, sum) = &mut queue.branches[place];
            other.rounds = other.rounds.max(live.rounds);
            *sum += p;
            return;
        }
        self.n_branches += 1;
        self.n_values += usize::from(!queue.has(&live.bits));
        self.bits += live.bits.heap_bytes();
        queue.index.insert((live.bits.clone(), mark, queue.branches.len()));
        queue.branches.push((live, p));
    }
}

impl<T: Real, S: Scalar<Real = T>> BranchQueue<S, T> {
    /// True if a branch has these bits.
    fn has(&self, bits: &Bits) -> bool {
        let first = self.index.range((bits.clone(), 0, 0)..).next();
        first.is_some_and(|(other, ..)| other == bits)
    }

    /// Returns the first branch of the same future.
    fn find(&self, live: &LiveBranch<S>, mark: u64) -> Option<usize> {
        let tolerance = tolerance::<T>()?;
        let width = 2.0 * tolerance * live.state.amplitudes().len() as f64;
        let center = f64::from_bits(mark);
        // Numbers that are not negative are ordered as their bits are.
        let least = (live.bits.clone(), (center - width).max(0.0).to_bits(), 0);
        let most = (live.bits.clone(), (center + width).to_bits(), usize::MAX);
        let same = |place: &usize| {
            same_up_to_phase(&self.branches[*place].0.state, &live.state, tolerance)
        };
        self.index.range(least..=most).map(|entry| entry.2).filter(same).min()
    }
}

/// Distance of two amplitudes of the same state, at most; `None` for numbers that are more than
/// they show.
fn tolerance<T: Real>() -> Option<f64> {
    let own = TypeId::of::<T>();
    if own == TypeId::of::<f64>() {
        Some(1e-13)
    } else if own == TypeId::of::<f32>() {
        Some(1e-5)
    } else {
        None
    }
}

fn plain<T: Real, S: Scalar<Real = T>>(z: &S) -> Complex<f64> {
    Complex::new(z.re().primal().unwrap_or(f64::NAN), z.im().primal().unwrap_or(f64::NAN))
}

/// Returns the bits of `|<w|psi>|`; 0 where states are not compared, or not finite.
fn mark<T: Real, S: Scalar<Real = T>>(state: &StateVector<S>) -> u64 {
    if tolerance::<T>().is_none() {
        return 0;
    }
    let terms = state.amplitudes().iter().enumerate().map(|(k, z)| weight(k as u64) * plain(z));
    let mark = terms.sum::<Complex<f64>>().norm();
    if mark.is_finite() { mark.to_bits() } else { 0 }
}

/// Returns a number of modulus at most sqrt 2 for each basis state: the bits of its number, mixed
/// by the function of G. Steele, D. Lea and C. Flood (splitmix64).
fn weight(k: u64) -> Complex<f64> {
    let mut x = k.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    let part = |bits: u64| f64::from(bits as u32) / f64::from(1u32 << 31) - 1.0;
    Complex::new(part(x), part(x >> 32))
}

/// True if two normalized states of plain numbers differ by a phase and rounding only.
fn same_up_to_phase<T: Real, S: Scalar<Real = T>>(
    a: &StateVector<S>,
    b: &StateVector<S>,
    tolerance: f64,
) -> bool {
    let pairs = || a.amplitudes().iter().map(plain).zip(b.amplitudes().iter().map(plain));
    let overlap: Complex<f64> = pairs().map(|(a, b)| a.conj() * b).sum();
    let phase = overlap / overlap.norm();
    pairs().all(|(a, b)| (a * phase - b).norm() < tolerance)
}
