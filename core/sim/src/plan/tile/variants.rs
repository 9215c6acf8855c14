//! Rows by the values of some parities.
//!
//! Rotations and inner products along one vector differ in the signs that they have on rows. Each
//! sign is a parity of the row's number and of the tile's index, and all are sums of a few: their
//! values are the variant of a row. What has the same signs everywhere is then computed once for
//! all rows of a variant.

use smallvec::SmallVec;

use super::rows::table;
use crate::basis::{odd, top};

/// Largest number of parities that the others are sums of.
const MAX_PARITIES: usize = 4;

/// Variants of rows.
pub(super) const MAX_VARIANTS: usize = 1 << MAX_PARITIES;

/// A parity of a row's number, and one of a tile's index.
type RowTileParity = (usize, usize);

/// The rows of a tile that represent all, if a vector of rows may be added to them, by their
/// variants.
#[derive(Clone)]
pub(super) struct Variants {
    /// Vector of rows that may be added.
    vector: usize,
    parities: SmallVec<[RowTileParity; MAX_PARITIES]>,
    rows: Vec<u32>,
    /// Ends of the rows of each variant.
    ends: Vec<usize>,
}

impl Variants {
    /// Creates the variants, without parities yet.
    pub(super) fn new(vector: usize) -> Variants {
        Variants { vector, parities: SmallVec::new(), rows: Vec::new(), ends: Vec::new() }
    }

    /// Returns a parity as the sum of those that are known, bit k for number k; a new one is added
    /// to these. `None` if there are too many.
    pub(super) fn admit(&mut self, row: usize, outer: usize) -> Option<usize> {
        // The rows that represent all have no such bit.
        let row = row & !top(self.vector);
        let known = self.parities.len();
        let sum = |set: usize| {
            let chosen = self.parities.iter().enumerate().filter(|(k, _)| set >> k & 1 == 1);
            chosen.fold((0, 0), |(a, b), (_, parity)| (a ^ parity.0, b ^ parity.1))
        };
        if let Some(set) = (0..1 << known).find(|set| sum(*set) == (row, outer)) {
            return Some(set);
        }
        (known < MAX_PARITIES).then(|| {
            self.parities.push((row, outer));
            1 << known
        })
    }

    /// Lists the rows of a tile of this number of rows, when all parities are known.
    pub(super) fn list(&mut self, row_count: usize) {
        let vectors: &[usize] = if self.vector == 0 { &[] } else { &[self.vector] };
        let starts = table(row_count, vectors, &[]);
        let mut by_variant: Vec<Vec<u32>> = vec![Vec::new(); self.count()];
        starts.iter().for_each(|row| by_variant[self.value(*row as usize, |p| p.0)].push(*row));
        for rows in by_variant {
            self.rows.extend(rows);
            self.ends.push(self.rows.len());
        }
    }

    /// Returns the number of variants.
    pub(super) fn count(&self) -> usize {
        1 << self.parities.len()
    }

    /// Returns the rows of a variant in the tile at index 0.
    #[inline(always)]
    pub(super) fn rows(&self, variant: usize) -> &[u32] {
        let start = if variant == 0 { 0 } else { self.ends[variant - 1] };
        &self.rows[start..self.ends[variant]]
    }

    /// Returns the exclusive-or mask of the variants in the tile at another index.
    #[inline(always)]
    pub(super) fn shift(&self, outer: usize) -> usize {
        self.value(outer, |p| p.1)
    }

    #[inline(always)]
    fn value(&self, index: usize, part: fn(&RowTileParity) -> usize) -> usize {
        self.parities
            .iter()
            .enumerate()
            .fold(0, |v, (k, p)| v | usize::from(odd(part(p) & index)) << k)
    }
}
