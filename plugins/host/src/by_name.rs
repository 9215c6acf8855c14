//! Hash table from names, for a lookup at every call of a rule: it takes a few nanoseconds, a map
//! of the standard library takes ten.
//!
//! Names are short and few, so one multiplication for each eight bytes is hash enough. The table
//! uses linear probing and is at most half full; two names of one hash are compared word by word
//! without a call.

/// Hash table from names.
#[derive(Clone, Debug)]
pub(crate) struct NameTable<T> {
    /// Slots, a power of two of them. A name is in the first free one from that of its hash on.
    places: Vec<Option<(u64, Box<str>, T)>>,
    len: usize,
}

impl<T> Default for NameTable<T> {
    fn default() -> NameTable<T> {
        NameTable { places: Vec::new(), len: 0 }
    }
}

impl<T> NameTable<T> {
    /// Returns the value of a name.
    #[inline]
    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        let mask = self.places.len().checked_sub(1)?;
        let hash = hash(name.as_bytes());
        let mut at = hash as usize & mask;
        // Half of the places are free, so this ends.
        while let Some((other, known, value)) = &self.places[at] {
            if *other == hash && same(known.as_bytes(), name.as_bytes()) {
                return Some(value);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Inserts a value under a name, and replaces an earlier one.
    pub(crate) fn insert(&mut self, name: String, value: T) {
        if 2 * (self.len + 1) > self.places.len() {
            let doubled = (2 * self.places.len()).max(8);
            let all = std::mem::take(&mut self.places);
            self.places.resize_with(doubled, || None);
            all.into_iter().flatten().for_each(|entry| self.insert_entry(entry));
        }
        self.insert_entry((hash(name.as_bytes()), name.into(), value));
        self.len = self.places.iter().flatten().count();
    }

    fn insert_entry(&mut self, entry: (u64, Box<str>, T)) {
        let mask = self.places.len() - 1;
        let mut at = entry.0 as usize & mask;
        while self.places[at].as_ref().is_some_and(|other| other.1 != entry.1) {
            at = (at + 1) & mask;
        }
        self.places[at] = Some(entry);
    }
}

/// Packs the first bytes, up to eight, into a number.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[inline]
fn hash(bytes: &[u8]) -> u64 {
    /// 2^64 over the golden ratio: an odd number whose bits look random.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks::<8>();
    let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let whole =
        words.iter().fold(bytes.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let hash = mix(whole, word(rest));
    // The lowest bits of a product depend on few others, and they say the place.
    hash ^ hash >> 32
}

#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    let ((a_words, a_rest), (b_words, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let words = || {
        a_words.iter().zip(b_words).all(|(a, b)| u64::from_le_bytes(*a) == u64::from_le_bytes(*b))
    };
    a.len() == b.len() && words() && a_rest.iter().zip(b_rest).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_no_others() {
        let mut table = NameTable::default();
        assert_eq!(table.get("a"), None);
        let name = |k: usize| format!("rule{}.kernel", "x".repeat(k % 20)) + &k.to_string();
        for k in 0..500 {
            table.insert(name(k), k);
            assert!(table.len == k + 1 && 2 * table.len <= table.places.len());
        }
        assert!((0..500).all(|k| table.get(&name(k)) == Some(&k)));
        assert!((500..900).all(|k| table.get(&name(k)).is_none()));
        table.insert(name(7), 1000);
        assert_eq!((table.get(&name(7)), table.len), (Some(&1000), 500));
        // A part of a name, and one of the same length.
        assert!(
            ["rule", "", "rulexxxxxxxx.kernel9", "Rule.kernel0"]
                .iter()
                .all(|n| table.get(n).is_none())
        );
    }
}
