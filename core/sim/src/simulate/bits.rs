//! The values of classical bits.

use smallvec::SmallVec;

use crate::circuit::Circuit;

/// The values of a circuit's classical bits. Memory: that of the words up to the last bit that
/// is 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bits {
    /// 64 bits each; the last word is not 0.
    words: SmallVec<[u64; 2]>,
    n: usize,
}

impl Bits {
    /// Returns n bits, all 0.
    #[must_use]
    pub fn zero(n: usize) -> Bits {
        Bits { words: SmallVec::new(), n }
    }

    /// The value of a bit; 0 beyond the end.
    #[must_use]
    pub fn get(&self, bit: u32) -> bool {
        let bit = bit as usize;
        self.words.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// Sets a bit to a value; beyond the end nothing happens.
    pub fn set(&mut self, bit: u32, value: bool) {
        let (place, mask) = (bit as usize / 64, 1u64 << (bit % 64));
        if bit as usize >= self.n {
            return;
        }
        if value {
            if self.words.len() <= place {
                self.words.resize(place + 1, 0);
            }
            self.words[place] |= mask;
        } else if let Some(word) = self.words.get_mut(place) {
            *word &= !mask;
            while self.words.last() == Some(&0) {
                self.words.pop();
            }
        }
    }

    /// Flips a bit.
    pub(super) fn flip(&mut self, bit: u32) {
        self.set(bit, !self.get(bit));
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> u128 {
        if self.words.spilled() { 8 * self.words.capacity() as u128 } else { 0 }
    }

    /// Returns the registers as text: last declared leftmost, separated by spaces, bit 0 of each
    /// rightmost; hidden ones left out.
    #[must_use]
    pub fn text(&self, circuit: &Circuit) -> String {
        let mut first = 0;
        let mut registers: Vec<String> = Vec::new();
        for register in circuit.registers() {
            let end = first + u32::try_from(register.size).unwrap_or(u32::MAX);
            if register.hidden {
                first = end;
                continue;
            }
            registers.push(
                (first..end).rev().map(|bit| if self.get(bit) { '1' } else { '0' }).collect(),
            );
            first = end;
        }
        registers.reverse();
        registers.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_equal_and_ordered_as_rows_of_words() {
        let n = 300;
        let with = |ones: &[u32]| {
            let mut bits = Bits::zero(n);
            ones.iter().for_each(|&bit| bits.set(bit, true));
            bits
        };
        let mut cleared = with(&[3, 200, 299]);
        cleared.set(299, false);
        cleared.set(200, false);
        assert_eq!(cleared, with(&[3]));
        let mut beyond = with(&[3]);
        beyond.set(300, true);
        assert_eq!(beyond, with(&[3]));
        let row = |bits: &Bits| {
            (0..5).map(|k| bits.words.get(k).copied().unwrap_or(0)).collect::<Vec<_>>()
        };
        let all =
            [with(&[]), with(&[0]), with(&[299]), with(&[0, 299]), with(&[64]), with(&[63, 128])];
        for a in &all {
            for b in &all {
                assert_eq!(a.cmp(b), row(a).cmp(&row(b)), "{a:?} {b:?}");
            }
        }
    }
}
