//! Bit sets of qubits and of classical bits, whose numbers may be as large as those of registers.

use std::collections::HashSet;

/// Bit set of numbers, most of them small.
#[derive(Default)]
#[doc(hidden)]
pub struct BitSet {
    small: Vec<bool>,
    large: HashSet<u32>,
}

impl BitSet {
    /// Least number that is stored in the hash set instead of the bits.
    const LARGE: u32 = 1 << 16;

    #[doc(hidden)]
    pub fn contains(&self, i: u32) -> bool {
        self.small.get(i as usize).copied().unwrap_or(false)
            || (i >= BitSet::LARGE && self.large.contains(&i))
    }
    #[doc(hidden)]
    pub fn insert(&mut self, i: u32) {
        if i >= BitSet::LARGE {
            self.large.insert(i);
            return;
        }
        let i = i as usize;
        if self.small.len() <= i {
            self.small.resize(i + 1, false);
        }
        self.small[i] = true;
    }
}
