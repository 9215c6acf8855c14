//! Bits of an index as vectors over GF(2).

use ketgrad_core::basis::{gather_bits, odd};

/// Returns the positions of the ones, ascending.
pub(crate) fn ones(mut bits: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(bit)
    })
}

/// Gathers the bits of `bits` at the positions of `mask` next to each other (bit extract, as PEXT).
pub(crate) fn extract(bits: usize, mask: usize) -> usize {
    gather_bits(bits, ones(mask))
}

/// Subspace of GF(2)^n with a basis in reduced row echelon form: each vector has a highest bit, its
/// pivot, that no other vector has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Span(Vec<usize>);

impl Span {
    /// Returns the remainder of a vector modulo the subspace: 0 if the subspace contains it.
    fn reduced(&self, vector: usize) -> usize {
        self.0.iter().fold(vector, |v, b| if v >> b.ilog2() & 1 == 1 { v ^ b } else { v })
    }

    /// Returns true if the subspace contains a vector.
    pub(crate) fn holds(&self, vector: usize) -> bool {
        self.reduced(vector) == 0
    }

    /// Adds a vector; false if the subspace has `most` dimensions already and does not contain it.
    pub(crate) fn admit(&mut self, vector: usize, most: usize) -> bool {
        let new = self.reduced(vector);
        if new == 0 {
            return true;
        }
        if self.0.len() == most {
            return false;
        }
        self.0.iter_mut().for_each(|b| {
            if *b >> new.ilog2() & 1 == 1 {
                *b ^= new;
            }
        });
        self.0.push(new);
        true
    }

    /// Returns the basis vectors, each with its pivot.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.0.iter().map(|b| (*b, b.ilog2() as usize))
    }

    /// Number of dimensions.
    pub(crate) fn dimensions(&self) -> usize {
        self.0.len()
    }

    /// Returns the pivots as bits.
    pub(crate) fn pivots(&self) -> usize {
        self.vectors().fold(0, |all, (_, pivot)| all | 1 << pivot)
    }

    /// Returns the coordinates of a vector of the subspace in its basis: bit i for vector i.
    pub(crate) fn coordinates(&self, vector: usize) -> usize {
        gather_bits(vector, self.vectors().map(|(_, pivot)| pivot))
    }

    /// Returns the basis vectors that change a parity, as bits.
    pub(crate) fn pattern(&self, parity: usize) -> usize {
        self.vectors()
            .enumerate()
            .fold(0, |all, (i, (v, _))| all | usize::from(odd(v & parity)) << i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_reduced_and_gives_coordinates() {
        let mut span = Span::default();
        for v in [0b0110, 0b0011, 0b0101, 0b1100] {
            assert!(span.admit(v, 3), "{v:b}");
        }
        assert_eq!(span.dimensions(), 3);
        assert!(!span.admit(0b0001, 3));
        for (i, (v, pivot)) in span.vectors().enumerate() {
            assert!(span.vectors().enumerate().all(|(j, (w, _))| i == j || w >> pivot & 1 == 0));
            assert_eq!(span.coordinates(v), 1 << i);
        }
        let sum = 0b0110 ^ 0b1100;
        let by = span.coordinates(sum);
        let back = span
            .vectors()
            .enumerate()
            .fold(0, |s, (i, (v, _))| if by >> i & 1 == 1 { s ^ v } else { s });
        assert_eq!(back, sum);
    }

    #[test]
    fn a_unit_vector_of_a_span_is_one_of_its_vectors() {
        let mut span = Span::default();
        for v in [0b1010, 0b0010, 0b0111] {
            span.admit(v, 3);
        }
        assert!(span.vectors().any(|(v, pivot)| v == 0b0010 && pivot == 1));
    }

    #[test]
    fn bits_are_extracted_in_order() {
        assert_eq!(extract(0b1011_0100, 0b1111_0000), 0b1011);
        assert_eq!(extract(0b1010, 0b1010), 0b11);
        assert_eq!(ones(0b1010).collect::<Vec<_>>(), [1, 3]);
    }
}
