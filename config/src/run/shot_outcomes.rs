//! Outcomes of shots, counted or in order.

use std::collections::BTreeMap;

use ketgrad_core::simulate::ShotMemory;

/// Outcomes of shots.
pub(super) enum ShotOutcomes<K> {
    /// Each outcome with the number of its shots; one may be there several times.
    Counts(Vec<(K, u64)>),
    /// That of each shot, in order.
    Memory(ShotMemory<K>),
}

impl<K: Ord> ShotOutcomes<K> {
    /// Returns the outcomes by other names.
    pub(super) fn map<L: Ord>(&self, mut name: impl FnMut(&K) -> L) -> ShotOutcomes<L> {
        match self {
            ShotOutcomes::Counts(counts) => ShotOutcomes::Counts(
                counts.iter().map(|(outcome, n)| (name(outcome), *n)).collect(),
            ),
            ShotOutcomes::Memory(memory) => ShotOutcomes::Memory(memory.map(name)),
        }
    }

    /// Returns the number of shots of each outcome, and if they are known in order, the outcome of
    /// each shot.
    pub(super) fn into_counts(self) -> (BTreeMap<K, u64>, Option<ShotMemory<K>>)
    where
        K: Clone,
    {
        let mut sums = BTreeMap::new();
        match self {
            ShotOutcomes::Counts(counts) => {
                counts.into_iter().for_each(|(outcome, n)| *sums.entry(outcome).or_insert(0) += n);
                (sums, None)
            }
            ShotOutcomes::Memory(memory) => {
                sums.extend(memory.counts().map(|(outcome, n)| (outcome.clone(), n)));
                (sums, Some(memory))
            }
        }
    }
}
