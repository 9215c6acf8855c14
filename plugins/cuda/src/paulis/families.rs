//! Families of Pauli strings, each of which takes one pass over a state.
//!
//! Strings of one x are a group: they read the same amplitudes. Groups whose x, above the runs of a
//! tile, span few dimensions are a family: its tiles are `base ^ span`, and no string of it leaves
//! one. A sum of X on each of 26 qubits is three families; a string on all qubits is one dimension,
//! as is X on one of them.

use ketgrad_plugin_sdk::{Error, PauliTerm, Result};

use ketgrad_core::basis::odd;

use crate::bits::Span;

/// Largest dimension of the span of a family.
const DIMENSIONS: u32 = 7;

/// Families as lists for the kernels.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Families {
    /// log2 of the number of amplitudes of a tile, and of a run.
    pub(crate) bits: u32,
    pub(crate) low: u32,
    /// Index at which the groups of each family end.
    pub(crate) ends: Vec<usize>,
    /// Bits below the highest one of each vector of each family, and the vector; ascending in a
    /// family.
    pub(crate) vectors: Vec<u64>,
    /// Record of each group: x on the places of a tile, the first string with a real weight, the
    /// first with an imaginary one, the end.
    pub(crate) groups: Vec<[u32; 4]>,
    /// Of each string z, z on the places of a tile, and the real or imaginary part of
    /// `coefficient i^|x & z|`.
    pub(crate) z: Vec<u64>,
    pub(crate) z_on_places: Vec<u32>,
    pub(crate) weights: Vec<f64>,
}

impl Families {
    /// Groups strings on that many qubits, for tiles of 2^bits amplitudes.
    ///
    /// # Errors
    /// A term acts on a qubit beyond the state, or the terms are more than 2^32.
    pub(crate) fn new(terms: &[PauliTerm], n_qubits: u32, bits: u32) -> Result<Families> {
        let beyond = u64::MAX.checked_shl(n_qubits).unwrap_or(0);
        if let Some(term) = terms.iter().find(|t| (t.x | t.z) & beyond != 0) {
            let qubit = ((term.x | term.z) & beyond).trailing_zeros();
            return Err(Error::new(format!(
                "a Pauli string on qubit {qubit} of a state of {n_qubits} qubits"
            )));
        }
        if u32::try_from(terms.len()).is_err() {
            return Err(Error::new(format!("{} Pauli strings; at most 2^32", terms.len())));
        }
        let mut sorted: Vec<&PauliTerm> = terms.iter().collect();
        sorted.sort_by_key(|t| (t.x, is_imaginary(t)));
        let mut families =
            Families { bits, low: bits.saturating_sub(DIMENSIONS), ..Families::default() };
        for (mut span, groups) in in_families(&sorted, families.low, families.dimensions()) {
            // Remaining dimensions go to the qubits next to the runs: longer ones.
            for qubit in 0..n_qubits - families.low {
                span.admit(1 << qubit, families.dimensions());
            }
            families.push(&span, &groups);
        }
        Ok(families)
    }

    /// Number of vectors of each family.
    pub(crate) fn dimensions(&self) -> usize {
        (self.bits - self.low) as usize
    }

    fn push(&mut self, span: &Span, groups: &[&[&PauliTerm]]) {
        let low = self.low;
        let mut vectors: Vec<(u64, u32)> =
            span.vectors().map(|(v, pivot)| ((v as u64) << low, pivot as u32 + low)).collect();
        vectors.sort_unstable();
        self.vectors.extend(vectors.iter().flat_map(|&(v, pivot)| [(1 << pivot) - 1, v]));
        let in_run = |bits: u64| (bits & ((1 << low) - 1)) as u32;
        let on_places = |bits: u64, of_vector: &dyn Fn(&(u64, u32)) -> bool| {
            vectors.iter().enumerate().fold(in_run(bits), |all, (k, v)| {
                all | u32::from(of_vector(v)) << (low as usize + k)
            })
        };
        for group in groups {
            let (x, first) = (group.first().map_or(0, |t| t.x), self.z.len());
            let imaginary = first + group.iter().filter(|t| !is_imaginary(t)).count();
            let x = on_places(x, &|(_, pivot)| x >> pivot & 1 == 1);
            self.groups.push([x, first as u32, imaginary as u32, (first + group.len()) as u32]);
            for term in *group {
                self.z.push(term.z);
                self.z_on_places.push(on_places(term.z, &|(v, _)| odd(v & term.z)));
                self.weights.push(weight(term));
            }
        }
        self.ends.push(self.groups.len());
    }
}

/// Puts groups of sorted strings each into the first family that contains its x, or has room for
/// it.
fn in_families<'a>(
    sorted: &'a [&'a PauliTerm],
    low: u32,
    most: usize,
) -> Vec<(Span, Vec<&'a [&'a PauliTerm]>)> {
    let mut families: Vec<(Span, Vec<&[&PauliTerm]>)> = Vec::new();
    for group in sorted.chunk_by(|a, b| a.x == b.x) {
        let x = group.first().map_or(0, |t| (t.x >> low) as usize);
        let found = families.iter().position(|(span, _)| span.holds(x));
        match found.or_else(|| families.iter_mut().position(|(span, _)| span.admit(x, most))) {
            Some(family) => families[family].1.push(group),
            None => {
                let mut span = Span::default();
                span.admit(x, most);
                families.push((span, vec![group]));
            }
        }
    }
    families
}

fn is_imaginary(term: &PauliTerm) -> bool {
    odd(term.x & term.z)
}

/// Returns the part of `coefficient i^|x & z|` that is not zero.
fn weight(term: &PauliTerm) -> f64 {
    match (term.x & term.z).count_ones() % 4 {
        0 | 1 => term.coefficient,
        _ => -term.coefficient,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(coefficient: f64, x: u64, z: u64) -> PauliTerm {
        PauliTerm { coefficient, x, z }
    }

    #[test]
    fn strings_of_one_x_stand_together_the_real_ones_first() {
        // Z0 + 2 X0 + 3 Y0 + 4 Z1 + 5 Y0 Y1, in another order.
        let terms =
            [term(2.0, 1, 0), term(1.0, 0, 1), term(5.0, 3, 3), term(3.0, 1, 1), term(4.0, 0, 2)];
        let families = Families::new(&terms, 2, 2).unwrap();
        assert_eq!(families.groups, [[0, 0, 2, 2], [1, 2, 3, 4], [3, 4, 5, 5]]);
        assert_eq!(families.ends, [3]);
        assert_eq!(
            (&families.z, &families.z_on_places),
            (&vec![1, 2, 0, 1, 3], &vec![1, 2, 0, 1, 3])
        );
        // Y = i X Z, and Y Y = i^2 X X Z Z.
        assert_eq!(families.weights, [1.0, 4.0, 2.0, 3.0, -5.0]);
    }

    #[test]
    fn the_powers_of_i_go_round() {
        let of = |x_and_z: u64| {
            let term = term(1.0, x_and_z, x_and_z);
            (is_imaginary(&term), weight(&term))
        };
        assert_eq!(
            [of(0), of(1), of(3), of(7), of(15)],
            [(false, 1.), (true, 1.), (false, -1.), (true, -1.), (false, 1.)]
        );
    }

    #[test]
    fn no_terms_are_no_families() {
        assert_eq!(Families::new(&[], 3, 3).unwrap(), Families { bits: 3, ..Families::default() });
    }

    #[test]
    fn a_string_beyond_the_state_is_refused() {
        let said = |x, z| {
            Families::new(&[term(1.0, 1, 1), term(1.0, x, z)], 3, 3).unwrap_err().to_string()
        };
        assert_eq!(said(8, 0), "a Pauli string on qubit 3 of a state of 3 qubits");
        assert_eq!(said(1, 16), "a Pauli string on qubit 4 of a state of 3 qubits");
    }

    #[test]
    fn few_families_hold_many_strings() {
        let n = 26;
        let count = |terms: &[PauliTerm]| Families::new(terms, n, 12).unwrap().ends.len();
        let field: Vec<PauliTerm> = (0..n).map(|q| term(1.0, 1 << q, 0)).collect();
        assert_eq!(count(&field), 3);
        // A string on all qubits is one dimension more.
        assert_eq!(count(&[&field[..], &[term(1.0, (1 << n) - 1, 0)]].concat()), 4);
        // XX + YY + ZZ of a ring: X on neighbours, of which the last pair closes the ring.
        let ring = (0..n).flat_map(|q| {
            let pair = 1 << q | 1 << ((q + 1) % n);
            [term(1.0, pair, 0), term(1.0, pair, pair), term(1.0, 0, pair)]
        });
        assert_eq!(count(&ring.collect::<Vec<_>>()), 4);
    }

    /// Computes what the kernels compute from the lists, for each string.
    #[test]
    fn places_and_signs_are_those_of_indices() {
        let (n, bits) = (16u32, 10);
        let next = |k: u64| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let terms: Vec<PauliTerm> =
            (0..40).map(|k| term(1.0, next(k + 1), next(k + 100))).collect();
        let families = Families::new(&terms, n, bits).unwrap();
        let Families { low, ends, vectors, groups, z, z_on_places, .. } = &families;
        let each = 2 * families.dimensions();
        let mut seen = Vec::new();
        let starts = [0].into_iter().chain(ends.iter().copied());
        for ((first, &end), vectors) in starts.zip(ends).zip(vectors.chunks(each)) {
            let index = |place: u32| {
                let chosen = vectors
                    .chunks(2)
                    .enumerate()
                    .filter(|(k, _)| place >> (*low as usize + k) & 1 == 1);
                chosen.fold(u64::from(place & ((1 << low) - 1)), |i, (_, v)| i ^ v[1])
            };
            // A tile's first index has zeros at the highest bits of the vectors.
            let base = vectors.chunks(2).fold(0xffff << low & 0xffff, |b, v| b & !(v[0] + 1));
            for [x, from, _, to] in &groups[first..end] {
                for k in *from as usize..*to as usize {
                    for place in [0, 1, 37, 700, 1023] {
                        seen.push((index(place) ^ index(place ^ x), z[k]));
                        let sign = odd(z[k] & base) != odd(z_on_places[k] & place);
                        assert_eq!(sign, odd(z[k] & (base ^ index(place))));
                    }
                }
            }
        }
        let mut expected: Vec<(u64, u64)> = terms.iter().map(|t| (t.x, t.z)).collect();
        expected.sort_unstable();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, expected);
    }
}
