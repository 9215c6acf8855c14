//! `pauli!` writes the sums that the parser reads.

use ketgrad::{PauliSum, observable::ObservableError, pauli};

fn text(sum: Result<PauliSum, ObservableError>) -> String {
    sum.map_or_else(|error| error.to_string(), |sum| sum.to_string())
}

#[test]
fn terms() -> Result<(), ObservableError> {
    assert_eq!(pauli!(0.5 * Z0 Z1 - 1.5 * X2 + 2)?, "0.5*Z0 Z1 - 1.5*X2 + 2".parse()?);
    let (a, j, q) = (0.25, 3, 4);
    assert_eq!(text(pauli!(-Z0)), "-Z0");
    assert_eq!(text(pauli!(+Y3 Z0 + I - 2 * X[q])), "Z0 Y3 + 1 - 2*X4");
    assert_eq!(
        text(pauli!((a + 1.0) * Z[q] Z[q + 1] - j * a * Y0 Z[q] - (a))),
        "1.25*Z4 Z5 - 0.75*Y0 Z4 - 0.25"
    );
    assert_eq!(text(pauli!(a * I[3] + 0.0)), "0.25 + 0");
    Ok(())
}

#[test]
fn sums_over_qubits() {
    let (n, j, h) = (4, 0.5, 0.25);
    let ising =
        pauli!(-j * sum(q in 0..n - 1) { Z[q] Z[q + 1] } - h * sum(q in 0..2) { X[q] - 1 } + Y0);
    assert_eq!(
        text(ising),
        "-0.5*Z0 Z1 - 0.5*Z1 Z2 - 0.5*Z2 Z3 - 0.25*X0 + 0.25 - 0.25*X1 + 0.25 + Y0"
    );
    let pairs =
        pauli!(sum((a, b) in [(0, 2), (1, 3)]) { 2 * sum(p in 0..1) { X[a + p] X[b + p] } });
    assert_eq!(text(pairs), "2*X0 X2 + 2*X1 X3");
}

#[test]
fn errors() {
    let q = 0;
    assert_eq!(text(pauli!(Z0 Z[q])), "qubit 0 comes twice in a term");
    assert_eq!(text(pauli!((f64::NAN) * Z0)), "the coefficient NaN is not a finite number");
    assert_eq!(text(pauli!(Z[1 << 40])), "qubit 1099511627776 is beyond any circuit");
}

/// More terms than rustc nests macros.
#[test]
fn long_sums() -> Result<(), ObservableError> {
    macro_rules! tenfold {
        ($($term:tt)*) => {
            pauli!($($term)* $($term)* $($term)* $($term)* $($term)* $($term)* $($term)* $($term)* $($term)* $($term)*)
        };
    }
    let sum = tenfold!(
        + 0.1 * Z0 Z1 - 0.2 * X[0] X[1] + Y0 Y1 - 0.3 + 0.4 * Z2 - 2 * 0.5 * Z1 Z2 Z3 + X3 - (0.1) * Y2 Y3
        + 0.1 * Z0 Z1 - 0.2 * X[0] X[1] + Y0 Y1 - 0.3 + 0.4 * Z2 - 2 * 0.5 * Z1 Z2 Z3 + X3 - (0.1) * Y2 Y3
    )?;
    assert_eq!(sum.terms().len(), 160);
    Ok(())
}

/// Operators may be joined by `*`, too, whether their qubits are known when the text is read or
/// not; elements of lists are coefficients.
#[test]
fn operators_are_factors() {
    let (q, w) = (2, [0.5, 0.25, -1.0]);
    let expected: PauliSum = "-0.5*Z0 X1 Y2 - Z2 X5 + 2".parse().unwrap();
    assert_eq!(pauli!(-0.5 * Z0 * X1 * Y[q] + w[q] * Z[q] * X5 + 2).unwrap(), expected);
    assert_eq!(pauli!(Z0 * X1 * (0.5) * I[1] * X2).unwrap(), "0.5*Z0 X1 X2".parse().unwrap());
    assert_eq!(
        pauli!(w[1] * sum(k in 0..2) { Z[k] * Z[k + 1] }).unwrap(),
        pauli!(0.25 * Z0 Z1 + 0.25 * Z1 Z2).unwrap()
    );
    assert!(pauli!(Z0 * Z0).is_err());
}
