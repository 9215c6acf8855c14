//! Inputs that decide what a circuit is: a file is read for their values.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::qasm::{Parsed, QasmOptions, QasmProblem, parse};

type Inputs<'a> = &'a [(&'a str, &'a str)];

fn read(body: &str, inputs: Inputs<'_>) -> Result<Parsed, String> {
    let text = format!("OPENQASM 3.0; include \"stdgates.inc\";\n{body}");
    parse(&text, &QasmOptions::default().with_inputs(inputs)).map_err(|e| e.to_string())
}

/// The circuit that comes of some inputs is that of constants in their place.
fn same(declared: &str, constants: &str, body: &str, inputs: Inputs<'_>) {
    let [given, known] = [(declared, inputs), (constants, &[][..])].map(|(head, inputs)| {
        read(&format!("{head} {body}"), inputs).unwrap_or_else(|e| panic!("{body}\n{e}"))
    });
    assert_eq!(given.circuit, known.circuit, "{declared} {body}");
    assert!(!given.circuit.instructions().is_empty(), "{body}");
}

#[test]
fn integers_size_registers_and_end_loops() {
    let body = "qubit[n] q; bit[n] c; h q; for uint i in [0:n - 2] { cx q[i], q[i + 1]; } \
                while (n > 2) { x q[0]; n -= 1; } rz(pi / n) q[1]; c = measure q;";
    for n in ["3", "4", " 2 + 2", "0x5", "2**3 - 1", "6.0"] {
        let constant = n.replace(".0", "");
        same("input uint n;", &format!("uint n = {constant};"), body, &[("n", n)]);
    }
    let body = "qubit[2] q; switch (k) { case -1 { x q[0]; } case 2, 3 { y q; } default { z q; } }";
    for k in ["-1", "3", "7"] {
        same("input int[8] k;", &format!("int[8] k = {k};"), body, &[("k", k)]);
    }
    let body = "array[float, 4] w = {1, 2, 3, 4}; qubit q; rx(w[k]) q; ctrl(k) @ x $0;";
    let body = body.replace("ctrl(k) @ x $0;", "pow(k) @ x q;");
    same("input int k;", "const int k = 2;", &body, &[("k", "2")]);
}

#[test]
fn truth_values_and_bits_decide() {
    let body = "qubit[4] q; if (b) { h q; } else { x q; } y q[0];";
    for (given, value) in [("true", "true"), ("false", "false"), ("1", "true"), ("0", "false")] {
        same("input bool b;", &format!("const bool b = {value};"), body, &[("b", given)]);
    }
    let body = "qubit[4] q; bit[4] c; for int i in [0:3] { if (m[i]) x q[i]; } if (m == 6) z q; if (m[1:2] == \"11\") \
                y q; c = m; if (popcount(m) == 2) h q; rx(int[4](m)) q;";
    for given in ["0110", "\"0110\"", "0_1_1_0", "0b0110"] {
        let constant = "const bit[4] m = \"0110\";";
        if given.starts_with("0b") {
            assert!(read(&format!("input bit[4] m; {body}"), &[("m", given)]).is_err());
        } else {
            same("input bit[4] m;", constant, body, &[("m", given)]);
        }
    }
    same("input bit m;", "const bit m = 1;", "qubit q; if (m) x q; if (!m) y q;", &[("m", "1")]);
    // One that is written to is a register.
    let body = "qubit[2] q; h q; m[0] = measure q[0]; if (m == 2) x q[1];";
    same("input bit[2] m;", "bit[2] m = \"10\";", body, &[("m", "10")]);
}

#[test]
fn arrays_and_other_types() {
    let body = "qubit[4] q; for int k in ks { x q[k]; }";
    let constants = "array[int[8], 3] ks = {1, 2, 3};";
    same("input array[int[8], 3] ks;", constants, body, &[("ks", "{1, 2, 3}")]);
    same(
        "input array[int[8], 3] ks;",
        constants,
        body,
        &[("ks[0]", "1"), ("ks[2]", "3"), ("ks[1]", "2")],
    );
    let body = "qubit[4] q; if (b[1][0]) x q; if (b[0, 1]) y q; if (b[0][0]) z q;";
    let constants = "array[bool, 2, 2] b = {{false, true}, {true, false}};";
    same("input array[bool, 2, 2] b;", constants, body, &[("b", "{{false, true}, {true, false}}")]);
    same(
        "input array[bool, 2, 2] b;",
        constants,
        body,
        &[("b[0]", "{false, 1}"), ("b[1][0]", "1"), ("b[1][1]", "0")],
    );
    let body = "qubit q; rx(real(z)) q; ry(imag(z)) q;";
    same("input complex[float[64]] z;", "complex z = 1 + 2im;", body, &[("z", "1 + 2im")]);
    same("input duration t;", "stretch t;", "qubit q; delay[t] q; x q;", &[]);
    // Of two values the last one counts; a value for nothing is left to the caller.
    let parsed = read(
        "input uint n; input float t; qubit[n] q;",
        &[("n", "2"), ("n", "3"), ("t", "1"), ("m", "?")],
    );
    let parsed = parsed.unwrap();
    assert_eq!((parsed.circuit.n_qubits(), parsed.read_for), (3, vec!["n".to_owned()]));
    assert_eq!(parsed.circuit.inputs().collect::<Vec<_>>(), ["t"]);
}

#[test]
fn parameters_go_on_as_parameters() {
    let body = "input int n; input float t; input array[angle, 2] w; qubit[2] q; \
                for int i in [0:n - 1] { rx(t * 2**i) q[i]; rz(w[i]) q[i]; }";
    let parsed = read(body, &[("n", "2")]).unwrap();
    let text = "rx(t) q[0]\nrz(w[0]) q[0]\nrx(2*t) q[1]\nrz(w[1]) q[1]\n";
    assert_eq!(parsed.circuit.to_string(), text);
}

#[test]
fn what_is_missing_is_listed() {
    let body = "input uint[4] n; input bool b; input bit[2] m; input array[int, 2] k; input array[int, 2] j;\n\
                qubit[n] q; if (b) x q; if (m[0]) y q; rx(k[0] + j[1]) q;";
    let text = format!("OPENQASM 3.0; include \"stdgates.inc\";\n{body}");
    let failed = parse(&text, &QasmOptions::default().with_inputs(&[("j[0]", "1")])).unwrap_err();
    let missing = failed.diagnostics.iter().map(|d| match &*d.problem {
        QasmProblem::MissingInput { name, ty } => {
            (name.as_str(), ty.as_str(), d.help.as_deref().unwrap())
        }
        other => panic!("{other}"),
    });
    let missing: Vec<_> = missing.collect();
    let help = "give its value in `Options::inputs`";
    assert_eq!(
        missing,
        [
            ("n", "uint[4]", help),
            ("b", "bool", help),
            ("m", "bit[2]", help),
            ("k", "array[int, 2]", help),
            ("j[1]", "int", help),
        ]
    );
}

#[test]
fn what_does_not_fit_is_said() {
    for (declared, given, message) in [
        ("uint[4] n", "16", "the input `n` is an integer from 0 to 15, not `16`"),
        ("uint[4] n", "-1", "the input `n` is an integer from 0 to 15, not `-1`"),
        ("int[4] n", "-9", "the input `n` is an integer from -8 to 7, not `-9`"),
        ("int n", "2.5", "the input `n` is an integer from -2147483648 to 2147483647, not `2.5`"),
        ("int n", "pi", "the input `n` is an integer from -2147483648 to 2147483647, not `pi`"),
        ("uint n", "1e300", "the input `n` is an integer from 0 to 4294967295, not `1e300`"),
        ("int n", "true", "the input `n` is an integer from -2147483648 to 2147483647, not `true`"),
        ("bool n", "2", "the input `n` is `true` or `false`, not `2`"),
        ("bit[4] n", "011", "the input `n` is 4 digits 0 or 1, not `011`"),
        ("bit[4] n", "7", "the input `n` is 4 digits 0 or 1, not `7`"),
        ("bit n", "01", "the input `n` is 1 digit 0 or 1, not `01`"),
        ("complex n", "true", "the input `n` is a complex number, not `true`"),
        ("array[int, 2] n", "{1, 2, 3}", "the input `n` is an array of 2 elements, not one of 3"),
        ("array[int, 2] n", "1", "the input `n` is an array of 2 elements, not an integer"),
        ("array[uint[2], 2] n", "{1, 4}", "the input `n` is an integer from 0 to 3, not `{1, 4}`"),
    ] {
        let error = read(&format!("input {declared};"), &[("n", given)]).unwrap_err();
        assert_eq!(error, format!("the value of n:1:1: {message}"), "{declared}");
    }
    for (given, message) in [
        ("", "the value of n:1:1: expected a value such as `4` or `true`, found nothing"),
        ("4 //", "the value of n:1:3: expected a value without comments, found `//`"),
        ("m", "the value of n:1:1: `m` is not declared"),
        ("1 +", "the value of n:1:4: expected an expression, found the end of the expression"),
        ("1/0", "the value of n:1:1: division by zero"),
    ] {
        let error = read("const int m = 3; input int n;", &[("n", given)]).unwrap_err();
        assert_eq!(error.lines().next().unwrap(), message, "{given}");
    }
    let digits = "01".repeat(70);
    let error = read("input bit[140] n;", &[("n", &digits)]).unwrap_err();
    assert!(error.contains("a known bit string of more than 128 digits does not fit"), "{error}");
    let message = "<input>:2:7: a qubit where an input of a classical type is needed";
    assert_eq!(read("input qubit q;", &[]).unwrap_err(), message);
    let error = read("input array[int, 3000000] n;", &[]).unwrap_err();
    assert!(error.contains("an array of 3000000 elements: at most 1048576"), "{error}");
}

/// The parts of a value are no statements of the file.
#[test]
fn values_know_nothing_of_the_file() {
    let head = "qubit q; bit c; def f(qubit a) -> int { x a; return 1; } ";
    for given in ["measure q", "f(q)", "c", "q", "sin(n)", "n"] {
        assert!(read(&format!("{head} input int n;"), &[("n", given)]).is_err(), "{given}");
    }
    // Subroutines see constants alone.
    let error =
        read("input int n; def f(qubit a) { rx(n) a; } qubit q; f(q);", &[("n", "1")]).unwrap_err();
    assert!(error.contains("`n` is not declared"), "{error}");
}
