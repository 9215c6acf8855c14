//! The laws of Pauli strings as masks, against Kronecker products of 2x2 matrices.

use ketgrad_core::{
    basis::MAX_QUBITS,
    num_complex::Complex,
    observable::PauliString,
    pauli::{Pauli, PauliMasks, PauliPhase, PhasedPauli, SingleQubitClifford},
};

type C = Complex<f64>;
/// Rows of a square matrix; bit q of an index is qubit q.
type Dense = Vec<Vec<C>>;

const ZERO: C = C::new(0.0, 0.0);
const ONE: C = C::new(1.0, 0.0);
const I: C = C::new(0.0, 1.0);

/// Products of Clifford gates on few qubits: entries of size 1 or 1/sqrt 2.
const ROUNDING: f64 = 1e-14;

/// The matrix of X, Y, Z, or of the identity.
fn letter_matrix(letter: Option<Pauli>) -> [[C; 2]; 2] {
    match letter {
        None => [[ONE, ZERO], [ZERO, ONE]],
        Some(Pauli::X) => [[ZERO, ONE], [ONE, ZERO]],
        Some(Pauli::Y) => [[ZERO, -I], [I, ZERO]],
        Some(Pauli::Z) => [[ONE, ZERO], [ZERO, -ONE]],
    }
}

/// The Kronecker product of a matrix for each qubit, the last qubit leftmost.
fn kronecker(factors: &[[[C; 2]; 2]]) -> Dense {
    factors.iter().fold(vec![vec![ONE]], |low, factor| {
        let dim = low.len();
        let entry = |i: usize, j: usize| factor[i / dim][j / dim] * low[i % dim][j % dim];
        (0..2 * dim).map(|i| (0..2 * dim).map(|j| entry(i, j)).collect()).collect()
    })
}

/// A matrix on one qubit of n.
fn on_qubit(matrix: [[C; 2]; 2], qubit: usize, n: usize) -> Dense {
    let factors: Vec<_> =
        (0..n).map(|q| if q == qubit { matrix } else { letter_matrix(None) }).collect();
    kronecker(&factors)
}

/// The matrix of letters, each a number from 0 to 3, qubit 0 in the lowest two bits.
fn word_matrix(word: usize, n: usize) -> Dense {
    let factors: Vec<_> = (0..n).map(|q| letter_matrix(letter_of(word, q))).collect();
    kronecker(&factors)
}

fn letter_of(word: usize, qubit: usize) -> Option<Pauli> {
    [None, Some(Pauli::X), Some(Pauli::Y), Some(Pauli::Z)][word >> (2 * qubit) & 3]
}

fn masks_of(word: usize, n: usize) -> PauliMasks {
    (0..n).filter_map(|q| Some((q, letter_of(word, q)?))).collect()
}

fn number(phase: PauliPhase) -> C {
    match phase {
        PauliPhase::ONE => ONE,
        PauliPhase::I => I,
        PauliPhase::MINUS_ONE => -ONE,
        _ => -I,
    }
}

fn scaled(a: &Dense, factor: C) -> Dense {
    a.iter().map(|row| row.iter().map(|z| z * factor).collect()).collect()
}

fn product(a: &Dense, b: &Dense) -> Dense {
    let entry = |i: usize, j: usize| (0..a.len()).map(|k| a[i][k] * b[k][j]).sum();
    (0..a.len()).map(|i| (0..a.len()).map(|j| entry(i, j)).collect()).collect()
}

fn dagger(a: &Dense) -> Dense {
    (0..a.len()).map(|i| (0..a.len()).map(|j| a[j][i].conj()).collect()).collect()
}

fn distance(a: &Dense, b: &Dense) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max)
}

/// The matrix of a string with a phase, from its letters.
fn phased_matrix(pauli: PhasedPauli, n: usize) -> Dense {
    let factors: Vec<_> = (0..n).map(|q| letter_matrix(pauli.string.letter(q))).collect();
    scaled(&kronecker(&factors), number(pauli.phase))
}

/// All strings on n qubits with all phases.
fn group(n: usize) -> impl Iterator<Item = PhasedPauli> {
    (0..4 << (2 * n)).map(move |k| PhasedPauli {
        phase: PauliPhase::from_exponent(k as u32 % 4),
        string: masks_of(k / 4, n),
    })
}

#[test]
fn phases_are_powers_of_i() {
    let z = C::new(2.0, -3.0);
    for k in 0..12 {
        let phase = PauliPhase::from_exponent(k);
        let value = I.powu(k);
        assert_eq!(phase.exponent(), k % 4);
        assert_eq!(number(phase), value);
        assert_eq!(phase.times(z), value * z);
        assert_eq!(number(phase.conj()), value.conj());
        assert_eq!(phase.is_imaginary(), value.re == 0.0);
        assert_eq!(phase.is_negative(), value.re + value.im < 0.0);
        for l in 0..4 {
            let other = PauliPhase::from_exponent(l);
            assert_eq!(number(phase * other), value * number(other));
        }
    }
    assert_eq!([false, true].map(PauliPhase::from_sign), [PauliPhase::ONE, PauliPhase::MINUS_ONE]);
}

#[test]
fn entries_are_those_of_kronecker_products() {
    for n in 0..=4 {
        for word in 0..1 << (2 * n) {
            let (string, matrix) = (masks_of(word, n), word_matrix(word, n));
            let letters = (0..n).map(|q| letter_of(word, q));
            assert_eq!(string.weight() as usize, letters.flatten().count());
            for (row, entries) in matrix.iter().enumerate() {
                for (column, entry) in entries.iter().enumerate() {
                    let moved = row == column ^ string.x;
                    let expected = if moved { number(string.entry(column)) } else { ZERO };
                    assert_eq!(*entry, expected, "{string:?} at {row}, {column}");
                }
            }
        }
    }
}

/// P is a product of X on the qubits of x, after Z on those of z, times the phase of its Ys.
#[test]
fn strings_are_products_of_x_and_z() {
    let n = 3;
    for word in 0..1 << (2 * n) {
        let string = masks_of(word, n);
        let of = |mask: usize, letter| {
            let on = |q: usize| letter_matrix((mask >> q & 1 == 1).then_some(letter));
            kronecker(&(0..n).map(on).collect::<Vec<_>>())
        };
        let xz = product(&of(string.x, Pauli::X), &of(string.z, Pauli::Z));
        assert_eq!(word_matrix(word, n), scaled(&xz, number(string.y_phase())), "{string:?}");
    }
}

#[test]
fn products_and_commutation_are_those_of_matrices() {
    for (n, step) in [(0, 1), (1, 1), (2, 1), (3, 1), (4, 61)] {
        let matrices: Vec<Dense> = (0..1 << (2 * n)).map(|word| word_matrix(word, n)).collect();
        // With a step of an odd number, each word comes in both places.
        for pair in (0..matrices.len() * matrices.len()).step_by(step) {
            let (left, right) = (pair / matrices.len(), pair % matrices.len());
            let (a, b) = (masks_of(left, n), masks_of(right, n));
            let ab = product(&matrices[left], &matrices[right]);
            let ba = product(&matrices[right], &matrices[left]);
            let (phase, string) = a.times(b);
            assert_eq!(phased_matrix(PhasedPauli { phase, string }, n), ab, "{a:?} {b:?}");
            assert_eq!(a.commutes(b), ab == ba, "{a:?} {b:?}");
        }
    }
}

#[test]
fn strings_with_phases_form_a_group() {
    for a in group(2) {
        for b in group(2) {
            let expected = product(&phased_matrix(a, 2), &phased_matrix(b, 2));
            assert_eq!(phased_matrix(a * b, 2), expected, "{a:?} {b:?}");
        }
        let inverse = PhasedPauli { phase: a.phase.conj(), ..a };
        assert_eq!(a * inverse, PhasedPauli::default());
    }
}

/// All Clifford gates on one qubit, as products of H and S, with their matrices.
fn single_qubit_cliffords() -> Vec<(SingleQubitClifford, Dense)> {
    let s = 0.5f64.sqrt();
    let real = |x: f64| C::new(x, 0.0);
    let h = vec![vec![real(s), real(s)], vec![real(s), real(-s)]];
    let phase = vec![vec![ONE, ZERO], vec![ZERO, I]];
    let mut all = vec![(SingleQubitClifford::IDENTITY, vec![vec![ONE, ZERO], vec![ZERO, ONE]])];
    let mut done = 0;
    while let Some((gate, matrix)) = all.get(done).cloned() {
        done += 1;
        for (next, of_next) in [(SingleQubitClifford::H, &h), (SingleQubitClifford::S, &phase)] {
            let longer = next.after(&gate);
            if all.iter().all(|(known, _)| *known != longer) {
                all.push((longer, product(of_next, &matrix)));
            }
        }
    }
    all
}

#[test]
fn conjugation_by_single_qubit_gates_is_that_of_matrices() {
    let all = single_qubit_cliffords();
    assert_eq!(all.len(), 24);
    let inverse = SingleQubitClifford::SDG.after(&SingleQubitClifford::S);
    assert_eq!(inverse, SingleQubitClifford::IDENTITY);
    for n in 1..=3 {
        for (gate, matrix) in &all {
            let matrix = [0, 1].map(|i| [0, 1].map(|j| matrix[i][j]));
            for qubit in 0..n {
                let u = on_qubit(matrix, qubit, n);
                let back = dagger(&u);
                for pauli in group(n) {
                    let expected = product(&product(&u, &phased_matrix(pauli, n)), &back);
                    let got = phased_matrix(pauli.conjugated_by_single(qubit, gate), n);
                    assert!(distance(&got, &expected) < ROUNDING, "{gate:?} on {qubit}: {pauli:?}");
                }
            }
        }
    }
}

/// The permutation of basis states with signs, as a matrix.
fn permutation(n: usize, to: impl Fn(usize) -> usize, sign: impl Fn(usize) -> C) -> Dense {
    let entry = |i: usize, j: usize| if i == to(j) { sign(j) } else { ZERO };
    (0..1 << n).map(|i| (0..1 << n).map(|j| entry(i, j)).collect()).collect()
}

#[test]
fn conjugation_by_two_qubit_gates_is_that_of_matrices() {
    for n in 2..=4 {
        for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let cx = permutation(n, |j| j ^ (j >> a & 1) << b, |_| ONE);
            let both = |j: usize| j >> a & j >> b & 1 == 1;
            let cz = permutation(n, |j| j, |j| if both(j) { -ONE } else { ONE });
            // Of the four phases of each string on four qubits only one or two.
            for pauli in group(n).step_by(if n == 4 { 3 } else { 1 }) {
                let matrix = phased_matrix(pauli, n);
                // Both gates are their own inverses.
                let expected = product(&product(&cx, &matrix), &cx);
                assert_eq!(phased_matrix(pauli.conjugated_by_cx(a, b), n), expected, "{pauli:?}");
                let expected = product(&product(&cz, &matrix), &cz);
                assert_eq!(phased_matrix(pauli.conjugated_by_cz(a, b), n), expected, "{pauli:?}");
            }
        }
    }
}

#[test]
fn masks_hold_the_letters_of_all_qubits_that_states_have() {
    let last = MAX_QUBITS - 1;
    let string: PauliMasks = [(0, Pauli::X), (3, Pauli::Z), (last, Pauli::Y)].into_iter().collect();
    assert_eq!(string, PauliMasks { x: 1 | 1 << last, z: 1 << 3 | 1 << last });
    assert_eq!(string.letter(0), Some(Pauli::X));
    assert_eq!(string.letter(3), Some(Pauli::Z));
    assert_eq!(string.letter(last), Some(Pauli::Y));
    for other in [1, last - 1, MAX_QUBITS, usize::BITS as usize, usize::MAX] {
        assert_eq!(string.letter(other), None);
    }
    assert_eq!((string.support(), string.weight()), (1 | 1 << 3 | 1 << last, 3));
    for beyond in [MAX_QUBITS, usize::BITS as usize, usize::MAX] {
        let string: PauliMasks = [(beyond, Pauli::Y), (1, Pauli::Z)].into_iter().collect();
        assert_eq!(string, PauliMasks { x: 0, z: 2 });
    }
}

/// Sorted lists of letters and masks are two forms of a string, with one product.
#[test]
fn lists_of_letters_and_masks_agree() {
    let n = 3;
    let of = |string: PauliMasks| PauliString::from_masks(string.x, string.z).unwrap();
    for left in 0..1 << (2 * n) {
        let a = masks_of(left, n);
        assert_eq!(of(a).masks(), a);
        let letters = (0..n).filter_map(|q| Some((q, letter_of(left, q)?)));
        assert_eq!(of(a), PauliString::new(letters).unwrap());
        for right in 0..1 << (2 * n) {
            let b = masks_of(right, n);
            let (phase, product) = a.times(b);
            assert_eq!(of(a).times(&of(b)), (phase.exponent(), of(product)));
            assert_eq!(of(a).commutes(&of(b)), a.commutes(b));
            let same = |q: usize| match (a.letter(q), b.letter(q)) {
                (Some(p), Some(q)) => p == q,
                _ => true,
            };
            assert_eq!(of(a).commutes_qubit_wise(&of(b)), (0..n).all(same));
        }
    }
}

#[test]
#[should_panic(expected = "two different qubits of the masks")]
fn a_qubit_does_not_control_itself() {
    let _ = PhasedPauli::default().conjugated_by_cx(2, 2);
}

#[test]
#[should_panic(expected = "two different qubits of the masks")]
fn gates_are_on_qubits_of_the_masks() {
    let _ = PhasedPauli::default().conjugated_by_cz(0, usize::BITS as usize);
}
