//! Observables as other tools write them, against matrices that are built here.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::observable::{ObservableProblem, PauliSum};
use num_complex::Complex;

type C = Complex<f64>;
type Matrix = Vec<Vec<C>>;

fn letter(letter: char) -> Matrix {
    let (o, l, i) = (C::new(0.0, 0.0), C::new(1.0, 0.0), C::new(0.0, 1.0));
    match letter {
        'I' => vec![vec![l, o], vec![o, l]],
        'X' => vec![vec![o, l], vec![l, o]],
        'Y' => vec![vec![o, -i], vec![i, o]],
        _ => vec![vec![l, o], vec![o, -l]],
    }
}

/// The Kronecker product.
fn kron(a: &Matrix, b: &Matrix) -> Matrix {
    let row =
        |p: &Vec<C>, q: &Vec<C>| p.iter().flat_map(|x| q.iter().map(move |y| x * y)).collect();
    a.iter().flat_map(|p| b.iter().map(move |q| row(p, q))).collect()
}

/// The sum of products of letters, the last of which acts on qubit 0, the lowest bit of a row
/// number.
fn expected(terms: &[(f64, &str)]) -> Matrix {
    let one =
        |word: &str| word.chars().fold(vec![vec![C::new(1.0, 0.0)]], |m, c| kron(&m, &letter(c)));
    let dim = 1 << terms[0].1.len();
    let mut sum = vec![vec![C::new(0.0, 0.0); dim]; dim];
    for (c, word) in terms {
        for (row, other) in sum.iter_mut().zip(one(word)) {
            row.iter_mut().zip(other).for_each(|(x, y)| *x += y * c);
        }
    }
    sum
}

/// The matrix of a sum by its masks: column k has its entry in row k ^ x.
fn matrix(sum: &PauliSum, n: usize) -> Matrix {
    let mut m = vec![vec![C::new(0.0, 0.0); 1 << n]; 1 << n];
    for (c, string) in sum.terms() {
        let (x, z) = (string.x_mask(), string.z_mask());
        for k in 0..1 << n {
            let sign = if (k & z).count_ones() % 2 == 0 { *c } else { -c };
            m[k ^ x][k] += C::new(0.0, 1.0).powu((x & z).count_ones()) * sign;
        }
    }
    m
}

fn check(text: &str, terms: &[(f64, &str)]) {
    let n = terms[0].1.len();
    for sum in [PauliSum::parse_on(text, n), PauliSum::parse_lines(text, n), text.parse()] {
        let sum = sum.unwrap_or_else(|e| panic!("{text}: {e}"));
        let (given, expected) = (matrix(&sum, n), expected(terms));
        for (a, b) in given.iter().flatten().zip(expected.iter().flatten()) {
            assert!((a - b).norm() < 1e-15, "{text}: {sum}");
        }
        // What is printed is read as the same.
        assert_eq!(sum.to_string().parse::<PauliSum>().unwrap(), sum, "{text}");
    }
}

#[test]
fn the_texts_of_other_tools_are_read() {
    let zz_y = [(0.5, "IZZ"), (-0.25, "YII"), (1.5, "III")];
    for text in [
        "0.5*Z0 Z1 - 0.25*Y2 + 1.5",
        "1/2*z0z1 - y2/4 + 3/2",
        "0.5*IZZ - 0.25*YII + 1.5*III",
        // OpenFermion
        "1.5 [] +\n(0.5+0j) [Z0 Z1] +\n-0.25 [Y2]",
        "(1.5+0j) [] +\n0.5 [Z0 Z1] +\n(-0.25+0j) [Y2]",
        "QubitOperator('Z0 Z1', 0.5) + QubitOperator('Y2', -0.25) + 1.5 * QubitOperator('')",
        // PennyLane, today and before
        "0.5 * (Z(0) @ Z(1)) + -0.25 * Y(2) + 1.5 * I()",
        "0.5 * qml.PauliZ(0) @ qml.PauliZ(wires=[1]) - 0.25 * qml.Y(2) + 1.5 * qml.Identity(wires=[0, 1])",
        "  (0.5) [Z0 Z1]\n+ (-0.25) [Y2]\n+ (1.5) [I0]",
        // Cirq
        "0.500*Z(q(0))*Z(q(1))-0.250*Y(q(2))+1.500*I",
        "0.5*cirq.Z(cirq.LineQubit(0))*cirq.Z(cirq.LineQubit(1)) - .25*cirq.Y(cirq.q(2)) + 1.5",
        // CUDA-Q
        "1.5 + 0.5 * spin.z(0) * cudaq.spin.z(1) - 0.25 * spin.y(2)",
        "(0.5+0i) * Z0Z1 + (-0.25+0i) * Y2 + (1.5+0i) * I0",
        // Qiskit
        "SparsePauliOp(['IZZ', 'YII', 'III'],\n              coeffs=[ 0.5 +0.j, -0.25+0.j,  1.5 +0.j])",
        "SparsePauliOp.from_list([('IZZ', 0.5), ('YII', -0.25), ('III', 1.5)])",
        "[('IZZ', 0.5), ('YII', (-0.25+0j)), ('III', np.complex128(1.5))]",
        "SparsePauliOp.from_sparse_list([('ZZ', [0, 1], 0.5), ('Y', [2], -0.25), ('', [], 1.5)], num_qubits=3)",
    ] {
        check(text, &zz_y);
    }
}

#[test]
fn qubit_0_is_the_last_letter_of_a_word() {
    check("XIZ", &[(1.0, "XIZ")]);
    check("XIZ", &[(1.0, "XIZ"), (0.0, "III")]);
    let sum: PauliSum = "2*XIZ + ZII".parse().unwrap();
    assert_eq!(sum.to_string(), "2*Z0 X2 + Z2");
    let sum: PauliSum = "[('ZX', [0, 2], 1.0)]".parse().unwrap();
    assert_eq!(sum.to_string(), "Z0 X2");
}

#[test]
fn coefficients_are_computed() {
    let pi = std::f64::consts::PI;
    check("pi/2*Z0", &[(pi / 2.0, "Z")]);
    check("-2*pi*Z0/3", &[(-2.0 * pi / 3.0, "Z")]);
    check("2 * (Z0 + 0.5 * (X1 - Y0 X1))", &[(2.0, "IZ"), (1.0, "XI"), (-1.0, "XY")]);
    check("(Z0 - 1) * (X1 + 2)", &[(1.0, "XZ"), (2.0, "IZ"), (-1.0, "XI"), (-2.0, "II")]);
    check("(1+2j)*(1-2j)*X0", &[(5.0, "X")]);
    check("1j*(0-1j)*X0", &[(1.0, "X")]);
    // Rounding of who computed it is no imaginary part.
    check("(0.5-2e-17j) [X0]", &[(0.5, "X")]);
}

#[test]
fn complete_lines_are_terms() {
    let text = "# a Hamiltonian\n0.5\nZ0 # é\n\n-X0 +\n2 *\nY0\n(Z0\n - X0)";
    let sum = PauliSum::parse_lines(text, 1).unwrap();
    assert_eq!(sum.to_string(), "0.5 + Z0 - X0 + 2*Y0 + Z0 - X0");
    let error = PauliSum::parse_lines("Z0\n\nX0 foo", 1).unwrap_err();
    assert_eq!((error.column, error.span("Z0\n\nX0 foo")), (Some(8), 7..10));
    // Columns count characters, spans bytes.
    let text = "Z0 # é\nX0 foo";
    let error = PauliSum::parse_lines(text, 1).unwrap_err();
    assert_eq!((error.column, error.span(text)), (Some(11), 11..14));
}

#[test]
fn what_is_not_read_is_named_with_the_way() {
    for (text, said) in [
        ("X0 Z0", "column 4: qubit 0 comes twice in a term"),
        ("Z(0) @ X(0)", "column 8: qubit 0 comes twice in a term"),
        ("[Z0 Z0]", "column 5: qubit 0 comes twice in a term"),
        ("Z1 - 0.5j X0", "column 6: `X0` has the coefficient 0-0.5i, which is not real"),
        ("(1+0.25j) [Z0 Z1]", "column 1: `Z0 Z1` has the coefficient 1+0.25i, which is not real"),
        ("[('XZ', 0.5j)]", "column 1: `Z0 X1` has the coefficient 0+0.5i, which is not real"),
        ("ZZ + Z", "column 7: expected a qubit number, found the end"),
        ("ZZ + ZIZ", "column 6: the word has 3 letters where 2 are needed"),
        ("[1+0j] ZZ", "CUDA-Q's text"),
        ("0.5 [0^ 1]", "an operator on fermions is not read as an observable"),
        ("FermionicOp({'+_0 -_1': 1.0})", "`0.5 [0^ 1] + 0.5 [1^ 0]`"),
        ("1.0 * a⁺(0) a(1)", "`0.5 [0^ 1] + 0.5 [1^ 0]`"),
        ("qml.Hamiltonian([1.0], [qml.Z(0)])", "PennyLane's constructor"),
        ("cirq.PauliSum(x)", "Cirq's constructor"),
        ("PauliSumOp(x)", "Qiskit's constructor"),
        ("Z('a')", "a qubit or wire with a name"),
        ("Z(q(0, 1))", "a qubit of a grid"),
        ("SparsePauliOp(['ZZ', ..., 'XX'], coeffs=[1.])", "`op.to_list()`"),
        ("SparsePauliOp(['ZZ', 'XX'], coeffs=[1., ..., 2.])", "`op.to_list()`"),
        ("SparsePauliOp(['ZZ', 'XX'], coeffs=[1.])", "2 Pauli strings have 1 coefficients"),
        ("['ZZ', 'XX']", "`[('ZZ', 1.0), ('XI', 0.5)]`"),
        ("2 3", "column 3: expected `+`, `-` or the end, found `3`"),
        ("Z0 ** 2", "found `*`"),
        ("X0/0", "not a finite number"),
        ("X0/Z1", "column 4: expected a number, found `Z1`"),
        ("(Z0", "expected `+`, `-` or `)`, found the end"),
        ("theta*Z0", "column 1: expected a number or a Pauli operator such as `Z0`, found `theta`"),
    ] {
        let error = text.parse::<PauliSum>().map(|s| s.to_string()).unwrap_err();
        assert!(error.to_string().contains(said), "{text}: {error}");
        // Places are within the text.
        assert!(text.get(error.span(text)).is_some(), "{text}: {error:?}");
    }
    let error = PauliSum::parse_on("0.5*ZZ", 3).unwrap_err();
    assert_eq!(error.problem, ObservableProblem::WordLength { letters: 2, expected: 3 });
    let error = PauliSum::parse_on("0.5*Z(3)", 3).unwrap_err();
    assert_eq!(
        (error.problem, error.column),
        (ObservableProblem::NoSuchQubit { qubit: 3, n_qubits: 3 }, Some(5))
    );
}

#[test]
fn deep_large_and_long_texts_are_refused() {
    let deep = format!("{}Z0{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(deep.parse::<PauliSum>().unwrap_err().to_string().contains("nested more than 64 deep"));
    let large: Vec<String> = (0..40).map(|q| format!("(1 + Z{q})")).collect();
    assert!(
        large
            .join("*")
            .parse::<PauliSum>()
            .unwrap_err()
            .to_string()
            .contains("more than 1048576 terms")
    );
    let long = "n".repeat(200_000);
    for text in
        [long.clone(), format!("{}.5.5", "1".repeat(200_000)), format!("Z{}", "1".repeat(200_000))]
    {
        let error = text.parse::<PauliSum>().unwrap_err();
        assert!(error.to_string().len() < 200, "{}", error.to_string().len());
    }
}
