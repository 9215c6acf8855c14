//! Observables: text and back, and every way in which text can be wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    basis::MAX_QUBITS,
    observable::{ObservableError, Pauli, PauliString, PauliSum, Problem},
};
use proptest::prelude::*;

fn string() -> impl Strategy<Value = PauliString> {
    let letter = prop_oneof![Just(Pauli::X), Just(Pauli::Y), Just(Pauli::Z)];
    proptest::collection::btree_map(0usize..60, letter, 0..5).prop_map(|m| PauliString::new(m).unwrap())
}

fn coefficient() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(1.0),
        Just(-1.0),
        Just(0.0),
        Just(-0.0),
        Just(f64::MIN_POSITIVE),
        Just(f64::MAX),
        any::<f64>().prop_filter("finite", |x| x.is_finite()),
        -10.0..10.0,
    ]
}

proptest! {
    #[test]
    fn parsing_undoes_printing(terms in proptest::collection::vec((coefficient(), string()), 1..6)) {
        let sum = PauliSum::new(terms).unwrap();
        let again: PauliSum = sum.to_string().parse().unwrap();
        prop_assert_eq!(&again, &sum, "{}", sum);
        // Equal floats may differ in the sign of zero; the text does not.
        prop_assert_eq!(again.to_string(), sum.to_string());
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[-+*.eEIXYZ0-9 a-zµ\t]{0,30}") {
        let _ = text.parse::<PauliSum>();
    }
}

#[test]
fn what_may_be_written() {
    let parse = |text: &str| text.parse::<PauliSum>().unwrap().to_string();
    assert_eq!(parse("Z0"), "Z0");
    assert_eq!(parse("- X1"), "-X1");
    assert_eq!(parse("2Z0Z1"), "2*Z0 Z1");
    assert_eq!(parse("Z1 Z0"), "Z0 Z1");
    assert_eq!(parse("I"), "1");
    assert_eq!(parse("3 I7"), "3");
    assert_eq!(parse("1e-3X2+.5"), "0.001*X2 + 0.5");
    assert_eq!(parse("  1.5e+2 * Y10 \n - 2 "), "150*Y10 - 2");
    assert_eq!(parse("+-X0--Y0"), "-X0 + Y0");
    assert_eq!(PauliSum::default().to_string(), "0");
    assert_eq!(PauliString::default().to_string(), "I");
    assert_eq!("Z0 - X5 Y2".parse::<PauliSum>().unwrap().n_qubits(), 6);
    assert_eq!("2".parse::<PauliSum>().unwrap().n_qubits(), 0);
    let mut sum: PauliSum = "Z0".parse().unwrap();
    sum.extend("2 X1".parse().unwrap());
    assert_eq!(sum.to_string(), "Z0 + 2*X1");
}

#[test]
fn what_may_not_be_written_is_told_with_its_column() {
    for (text, message) in [
        ("", "column 1: expected a number or a Pauli operator such as `Z0`, found the end"),
        ("  ", "column 3: expected a number or a Pauli operator such as `Z0`, found the end"),
        ("Z0 +", "column 5: expected a number or a Pauli operator such as `Z0`, found the end"),
        ("Z0 + Q1", "column 6: expected a number or a Pauli operator such as `Z0`, found `Q1`"),
        ("Z0 2", "column 4: expected `+`, `-` or the end, found `2`"),
        ("Z0 * X1", "column 4: expected `+`, `-` or the end, found `*`"),
        ("2 * 3", "column 5: expected a Pauli operator such as `Z0`, found `3`"),
        ("2 *", "column 4: expected a Pauli operator such as `Z0`, found the end"),
        ("Z", "column 2: expected a qubit number, found the end"),
        ("Z -1", "column 3: expected a qubit number, found `-`"),
        ("µ", "column 1: expected a number or a Pauli operator such as `Z0`, found `µ`"),
        ("Z0 X1 Z0", "column 7: qubit 0 comes twice in a term"),
        ("1e999 Z0", "column 1: the coefficient 1e999 is not a finite number"),
        ("Z0 + 1.2.3", "column 6: the coefficient 1.2.3 is not a finite number"),
        ("Z99", "column 2: qubit 99 is beyond any state"),
        ("Z99999999999999999999999", "column 2: qubit 99999999999999999999999 is beyond any state"),
    ] {
        assert_eq!(text.parse::<PauliSum>().unwrap_err().to_string(), message, "{text:?}");
    }
}

#[test]
fn strings_are_sorted_and_checked() {
    let string = PauliString::new([(3, Pauli::X), (1, Pauli::Z)]).unwrap();
    assert_eq!(string.factors(), [(1, Pauli::Z), (3, Pauli::X)]);
    let error = PauliString::new([(3, Pauli::X), (3, Pauli::Z)]).unwrap_err();
    assert_eq!(error, ObservableError { column: None, problem: Problem::Repeated { qubit: 3 } });
    assert_eq!(error.to_string(), "qubit 3 comes twice in a term");
    for beyond in [MAX_QUBITS, usize::MAX] {
        let error = PauliString::new([(beyond, Pauli::X)]).unwrap_err();
        assert_eq!(error.to_string(), format!("qubit {beyond} is beyond any state"));
    }
    assert_eq!(PauliString::new([(MAX_QUBITS - 1, Pauli::Y)]).unwrap().x_mask(), 1 << (MAX_QUBITS - 1));
    for coefficient in [f64::NAN, f64::INFINITY] {
        let error = PauliSum::new([(1.0, string.clone()), (coefficient, string.clone())]).unwrap_err();
        assert_eq!(error.problem, Problem::Coefficient { text: coefficient.to_string() });
    }
}
