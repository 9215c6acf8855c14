//! Observables on the command line and in files, in the forms of other tools.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support::{Folder, npy};

/// Qubit 0 turned by .3, qubit 1 by .5, so that `<Z>` is the cosine of the angle and `<X>` its
/// sine; qubit 2 is 1.
const TURNED: &str = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[3] q;\nry(0.3) q[0];\nry(0.5) q[1];\nx q[2];\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("turned.qasm", TURNED);
    folder
}

fn value(folder: &Folder, observable: &str) -> f64 {
    let json = folder.run(&["run", "turned.qasm", "--observable", observable, "--json"]).json();
    json["expectations"][0]["value"].as_f64().unwrap()
}

#[test]
fn all_forms_mean_the_same() {
    let folder = folder();
    let expected = 0.5 * 0.3f64.cos() * 0.5f64.cos() + 0.25 * 0.5f64.sin() + 1.5;
    for (k, text) in [
        "0.5*Z0 Z1 + X1/4 + 1.5",
        "1/2*z0z1 + 1/4 x1 + 3/2",
        "0.5*IZZ + 0.25*IXI + 1.5*III",
        "(0.5+0j) [Z0 Z1] +\n(0.25+0j) [X1] +\n(1.5+0j) []",
        "SparsePauliOp(['IZZ', 'IXI', 'III'],\n              coeffs=[0.5 +0.j, 0.25+0.j, 1.5 +0.j])",
        "[('IZZ', 0.5), ('IXI', (0.25+0j)), ('III', 1.5)]",
        "0.5 * (Z(0) @ Z(1)) + 0.25 * X(1) + 1.5 * I(0)",
        "0.500*Z(q(0))*Z(q(1))+0.250*X(q(1))+1.500*I",
        "1.5 + 0.5 * spin.z(0) * spin.z(1) + 0.25 * spin.x(1)",
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{k}.txt");
        folder.file(&name, format!("# a comment\n{text} # another\n"));
        for given in [text, &format!("@{name}")] {
            assert!((value(&folder, given) - expected).abs() < 1e-14, "{given}: {text}");
        }
    }
    // A term a line
    folder.file("lines.txt", "0.5*Z0 Z1\n\n0.25 X1 # here\n1.5\n");
    assert!((value(&folder, "@lines.txt") - expected).abs() < 1e-14);
    assert!((value(&folder, "pi/2*Z0") - 0.3f64.cos() * std::f64::consts::FRAC_PI_2).abs() < 1e-14);
    // Qubit 0 is the last letter.
    assert!((value(&folder, "IIZ") - 0.3f64.cos()).abs() < 1e-14);
    assert!((value(&folder, "ZII") + 1.0).abs() < 1e-14);
}

#[test]
fn operators_on_fermions_are_mapped() {
    let folder = folder();
    // The occupation of an orbital is (1 - Z) / 2.
    assert!((value(&folder, "2.5 [2^ 2]") - 2.5).abs() < 1e-14);
    assert!((value(&folder, "[0^ 0] - 1 []") + (1.0 + 0.3f64.cos()) / 2.0).abs() < 1e-14);
    // A hop between neighbours is (X X + Y Y) / 4 each way.
    folder.file("hop.txt", "# OpenFermion\n0.5 [0^ 1] + # é\n0.5 [1^ 0]\n");
    assert!((value(&folder, "@hop.txt") - 0.25 * 0.3f64.sin() * 0.5f64.sin()).abs() < 1e-14);
    let refused = |observable: &str, words: &[&str]| {
        folder.run(&["run", "turned.qasm", "--observable", observable]).fails(1, words);
    };
    refused("0.5 [0^ 1]", &["not Hermitian", "--observable:1:1"]);
    refused("0.5 [3^ 3]", &["orbital 3 does not exist", "3 qubits"]);
    folder.file("bad.txt", "[0^ 0] + # é\n0.5 [1^ x]\n");
    refused("@bad.txt", &["[bad.txt:2:9]", "expected an orbital", "0.5 [0^ 1] + 0.5 [1^ 0]"]);
}

#[test]
fn what_is_not_read_is_underlined_with_a_way_out() {
    let folder = folder();
    for (observable, words) in [
        ("X0 Z0", &["qubit 0 comes twice", "--observable:1:4", "X Y = i Z"][..]),
        (
            "Z1 + 0.5j*X0",
            &["`X0` has the coefficient 0+0.5i, which is not real", ":1:6", "Hermitian"],
        ),
        (
            "ZZ",
            &[
                "has 2 letters where 3 are needed",
                "qubit 0 the last",
                "I where there is no operator",
            ],
        ),
        ("[1+0j] ZZI", &["CUDA-Q", "spin.z(0)"]),
        ("Z('a')", &["a qubit or wire with a name", ":1:3"]),
        ("0.5*Z(7)", &["qubit 7 does not exist", ":1:5"]),
        ("FermionicOp({'+_0 -_0': 1.0})", &["`0.5 [0^ 1] + 0.5 [1^ 0]`"]),
        ("foo", &["expected a number or a Pauli operator", "OpenFermion's, Qiskit's"]),
    ] {
        folder.run(&["run", "turned.qasm", "--observable", observable]).fails(1, words);
    }
    folder.file("late.txt", "0.5*Z0\n\n0.25*Z9 + X1\n");
    folder
        .run(&["run", "turned.qasm", "--observable", "@late.txt"])
        .fails(1, &["[late.txt:3:6]", "qubit 9"]);
    folder.file("none.txt", "# nothing\n\n");
    folder
        .run(&["run", "turned.qasm", "--observable", "@none.txt"])
        .fails(1, &["none.txt has no terms"]);
}

#[test]
fn hamiltonians_of_jobs_are_read_alike() {
    let folder = folder();
    folder.file("qiskit.txt", "SparsePauliOp(['IIZ', 'IZI'],\n  coeffs=[1.+0.j, 2.+0.j])\n");
    folder.file(
        "ansatz.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float t;\nqubit[3] q;\nrx(t) q[0];\n",
    );
    let job = |hamiltonian: &str| {
        format!("[ansatz]\ncircuit = \"ansatz.qasm\"\n[hamiltonian]\n{hamiltonian}\n")
    };
    for hamiltonian in [
        "file = \"qiskit.txt\"",
        "terms = \"[('IIZ', 1), ('IZI', 2)]\"",
        "terms = \"Z(0) + 2 * Z(1)\"",
    ] {
        folder.file("job.toml", job(hamiltonian));
        let json = folder.run(&["optimize", "job.toml", "--json"]).json();
        // The least of cos t + 2
        assert!((json["value"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{hamiltonian}: {json}");
    }
}

#[test]
fn matrices_are_read_from_files() {
    let folder = folder();
    // Z0 Z1 + 2 X1 on three qubits, by rows.
    let mut dense = vec![0.0; 64];
    for j in 0..8usize {
        dense[9 * j] = if (j ^ j >> 1) & 1 == 0 { 1.0 } else { -1.0 };
        dense[8 * (j ^ 2) + j] = 2.0;
    }
    folder.file("h.npy", npy("(8, 8)", &dense));
    let mut sparse = "%%MatrixMarket matrix coordinate real symmetric\n8 8 12\n".to_owned();
    for j in 0..8usize {
        sparse += &format!("{0} {0} {1}\n", j + 1, dense[9 * j]);
        if j & 2 == 0 {
            sparse += &format!("{} {} 2\n", (j | 2) + 1, j + 1);
        }
    }
    folder.file("h.mtx", sparse);
    let expected = 0.3f64.cos() * 0.5f64.cos() + 2.0 * 0.5f64.sin();
    for file in ["@h.npy", "@h.mtx"] {
        assert!((value(&folder, file) - expected).abs() < 1e-14, "{file}");
    }
    // A projector's mean is a probability.
    let p = (0.15f64.cos() * 0.25f64.sin()).powi(2);
    assert!((value(&folder, "|110><110|") - p).abs() < 1e-15);
    assert!((value(&folder, "Projector([0, 1], wires=[0, 1])") - p).abs() < 1e-15);
    let fails = |file: &str, told: &[&str]| {
        folder.run(&["run", "turned.qasm", "--observable", file]).fails(1, told);
    };
    folder.file("small.npy", npy("(4, 4)", &[0.0; 16]));
    fails("@small.npy", &["4 rows", "3 qubits", "2^3"]);
    folder.file("flat.npy", npy("(8,)", &[0.0; 8]));
    fails("@flat.npy", &["two axes"]);
    folder.file("skew.npy", npy("(8, 8)", &(0..64).map(f64::from).collect::<Vec<_>>()));
    fails("@skew.npy", &["not Hermitian", "row"]);
    folder.file("bad.mtx", "%%MatrixMarket matrix coordinate real general\n8 8 1\n9 1 1\n");
    fails("@bad.mtx", &["bad.mtx:3", "within the matrix"]);
}
