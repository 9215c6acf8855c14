//! Observables from matrices: their strings add up to the matrices again, built here by Kronecker
//! products.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::observable::{ObservableProblem, Pauli, PauliSum};
use num_complex::Complex;
use support::random::Rng;

type C = Complex<f64>;

/// Entry (row, column) of a sum: the product of the entries of its letters.
fn entry(sum: &PauliSum, n: usize, row: usize, column: usize) -> C {
    let letters = |string: &ketgrad_core::observable::PauliString| {
        (0..n).fold(C::from(1.0), |product, q| {
            let letter = string.factors().iter().find(|f| f.0 == q).map(|f| f.1);
            product
                * match (letter, row >> q & 1, column >> q & 1) {
                    (None, 0, 0)
                    | (None, 1, 1)
                    | (Some(Pauli::X), 0, 1)
                    | (Some(Pauli::X), 1, 0) => C::from(1.0),
                    (Some(Pauli::Z), 0, 0) => C::from(1.0),
                    (Some(Pauli::Z), 1, 1) => C::from(-1.0),
                    (Some(Pauli::Y), 0, 1) => C::new(0.0, -1.0),
                    (Some(Pauli::Y), 1, 0) => C::new(0.0, 1.0),
                    _ => C::from(0.0),
                }
        })
    };
    sum.terms().iter().map(|(c, string)| letters(string) * c).sum()
}

fn check(n: usize, entries: &[(usize, usize, C)]) -> PauliSum {
    let sum = PauliSum::from_entries(n, entries.iter().copied()).unwrap();
    for row in 0..1 << n {
        for column in 0..1 << n {
            let of = entries.iter().filter(|e| (e.0, e.1) == (row, column));
            let expected: C = of.map(|e| e.2).sum();
            let found = entry(&sum, n, row, column);
            assert!(
                (found - expected).norm() < 1e-14,
                "({row}, {column}): {found}, not {expected}\n{sum}"
            );
        }
    }
    sum
}

#[test]
fn random_hermitian_matrices_are_sums_of_strings() {
    let mut random = Rng::new(7);
    for n in 1..=4 {
        for density in [0.1, 0.4, 1.0] {
            let mut entries = Vec::new();
            for row in 0..1usize << n {
                for column in 0..=row {
                    if random.unit() > density {
                        continue;
                    }
                    let z =
                        C::new(random.signed(), if row == column { 0.0 } else { random.signed() });
                    entries.push((row, column, z));
                    if row != column {
                        entries.push((column, row, z.conj()));
                    }
                }
            }
            check(n, &entries);
            // The same in the MatrixMarket format, in coordinates and as an array.
            let mut text = format!(
                "%%MatrixMarket matrix coordinate complex general\n% a comment\n{0} {0} {1}\n",
                1 << n,
                entries.len()
            );
            entries
                .iter()
                .for_each(|(r, c, z)| text += &format!("{} {} {} {}\n", r + 1, c + 1, z.re, z.im));
            let sum = PauliSum::from_entries(n, entries.iter().copied()).unwrap();
            assert_eq!(PauliSum::from_matrix_market(&text, n).unwrap(), sum);
            let mut lower =
                format!("%%MatrixMarket matrix array complex Hermitian\n{0} {0}\n", 1 << n);
            for column in 0..1usize << n {
                for row in column..1 << n {
                    let z: C =
                        entries.iter().filter(|e| (e.0, e.1) == (row, column)).map(|e| e.2).sum();
                    lower += &format!("{} {}\n", z.re, z.im);
                }
            }
            assert_eq!(PauliSum::from_matrix_market(&lower, n).unwrap(), sum);
        }
    }
    assert!(PauliSum::from_entries(2, []).unwrap().terms().is_empty());
    assert_eq!(check(1, &[(0, 0, C::from(2.0)), (1, 1, C::from(2.0))]).to_string(), "2");
}

#[test]
fn projectors_have_one_entry() {
    let text = |text: &str, n| PauliSum::parse_on(text, n).unwrap();
    let sum = text("|0110><0110|", 4);
    assert_eq!(sum, check(4, &[(6, 6, C::from(1.0))]));
    assert_eq!(
        text("Projector([0, 1, 1], wires=[3, 1, 2])", 4),
        PauliSum::projector(&[(3, false), (1, true), (2, true)]).unwrap()
    );
    assert_eq!(text("qml.Projector(np.array([1]), wires=2)", 3).to_string(), "0.5 - 0.5*Z2");
    let mixed = text("2*|01><01| - 0.5*X0", 2);
    assert_eq!(entry(&mixed, 2, 1, 1), C::from(2.0));
    assert_eq!(entry(&mixed, 2, 2, 3), C::from(-0.5));
}

#[test]
fn what_is_no_observable_is_said_with_its_place() {
    let one =
        |row, column, z| PauliSum::from_entries(2, [(row, column, z)]).unwrap_err().to_string();
    assert!(
        one(1, 2, C::from(1.0))
            .contains("row 1, column 2, counted from 0, is 1+0i, and row 2, column 1 is 0+0i")
    );
    assert!(one(3, 3, C::new(0.0, 1.0)).contains("not Hermitian"));
    assert!(one(4, 0, C::from(1.0)).contains("row 4, column 0"));
    assert!(one(0, 0, C::from(f64::NAN)).contains("no finite number"));
    let many = PauliSum::from_entries(30, [(0, 0, C::from(1.0))]).unwrap_err();
    assert!(matches!(many.problem, ObservableProblem::TooManyTerms { .. }));
    assert!(PauliSum::projector(&[(0, true); 2]).is_err());
    for (text, line, why) in [
        ("", 1, "%%MatrixMarket"),
        ("%%MatrixMarket matrix coordinate pattern general\n", 1, "complex"),
        ("%%MatrixMarket matrix coordinate real skew-symmetric\n", 1, "hermitian"),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 1\n", 2, "not 2^1 of each"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", 3, "announces"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n", 3, "within the matrix"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1\n", 3, "counted from 1"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1 2\n", 3, "expected a number"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n2 2 1\n", 4, "more entries"),
    ] {
        let error = PauliSum::from_matrix_market(text, 1).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("line {line}: ")) && error.contains(why),
            "{text}: {error}"
        );
    }
    for (text, column, why) in [
        ("|01><10|", 6, "two states"),
        ("|01>", 4, "bits"),
        ("|012><01|", 4, "bits"),
        ("|01><01| + |1><1|", 12, "letters"),
        ("Projector([0, 2], wires=[0, 1])", 15, "bit"),
        ("Projector([0, 1], wires=[0])", 27, "each bit"),
        ("Hermitian([[1, 0], [0, 1]], wires=0)", 1, "@H.npy"),
    ] {
        let error = text.parse::<PauliSum>().unwrap_err();
        assert!(error.to_string().contains(why) && error.column == Some(column), "{text}: {error}");
    }
}
