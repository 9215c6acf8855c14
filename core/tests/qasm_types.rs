//! The types of OpenQASM 3: what a variable holds of the value that it gets.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::qasm::{QasmOptions, parse};

/// The gates of some statements.
fn gates(body: &str) -> String {
    let text =
        format!("OPENQASM 3.0; include \"stdgates.inc\"; input float theta; qubit q; {body}");
    parse(&text, &QasmOptions::default())
        .unwrap_or_else(|e| panic!("{e}\n{body}"))
        .circuit
        .to_string()
}

fn error(body: &str) -> String {
    let text =
        format!("OPENQASM 3.0; include \"stdgates.inc\"; input float theta; qubit q; {body}");
    parse(&text, &QasmOptions::default()).unwrap_err().to_string()
}

/// The angle that `p` gets.
fn angle(declarations: &str, expression: &str) -> String {
    let gates = gates(&format!("{declarations} p({expression}) q;"));
    gates
        .strip_prefix("p(")
        .and_then(|rest| rest.strip_suffix(") q[0]\n"))
        .unwrap_or(&gates)
        .to_owned()
}

/// True if a condition holds.
fn holds(declarations: &str, condition: &str) -> bool {
    !gates(&format!("{declarations} if ({condition}) x q;")).is_empty()
}

#[test]
fn angles_are_fractions_of_a_turn() {
    // The examples of the specification.
    let four = "angle[4] a = 7 * (pi / 8); angle[4] b = pi / 8; angle[4] c = 5 * (pi / 4); uint[4] two = 2;";
    for (expression, expected) in [
        ("a + b", "pi"),
        ("b - a", "5*pi/4"),
        ("a / two", "3*pi/8"),
        ("two * c", "pi/2"),
        ("c * two", "pi/2"),
        ("-b", "15*pi/8"),
        ("~b + pi/8", "15*pi/8"),
        ("a & b", "pi/8"),
        ("c | b", "11*pi/8"),
        ("c ^ a", "13*pi/8"),
        ("rotl(b, 3)", "pi"),
    ] {
        assert_eq!(angle(four, expression), expected, "{expression}");
    }
    for (condition, expected) in [
        ("c / b == 10", true),
        ("a < c", true),
        ("a + b == pi", true),
        ("c + c < c", true),
        ("c < 2*pi", true),
        ("c == -3*pi/4", true),
        ("popcount(c) == 2", true),
        ("c[0]", false),
        ("c[-1]", true),
        ("bool(a - a)", false),
        ("bit[4](c) == \"1010\"", true),
    ] {
        assert_eq!(holds(four, condition), expected, "{condition}");
    }
    for (declarations, expected) in [
        ("angle[4] x = 9 * (pi / 8); x <<= 2;", "pi/2"),
        ("angle[4] x = 9 * (pi / 8); x >>= 2;", "pi/4"),
        ("angle[4] x = 0.3;", "pi/8"),
        ("angle[4] x = -0.3;", "15*pi/8"),
        ("angle[4] x = 6.2;", "0"),
        ("angle[1] x = pi;", "pi"),
        // Ties go to the even one.
        ("angle[2] x = pi/4;", "0"),
        ("angle[2] x = 3*pi/4;", "pi"),
        ("angle[3] y = 3*pi/4; angle[2] x = y;", "pi"),
        ("angle[2] y = 3*pi/2; angle[5] x = y;", "3*pi/2"),
        ("angle[4] x = angle[4](\"0110\");", "3*pi/4"),
        ("angle[20] x = pi/2; x /= 3;", "87381*pi/524288"),
        ("angle x = 3*pi; ", "pi"),
        ("angle x = -pi/3;", "5*pi/3"),
        ("angle x = pi/3; x *= 7;", "pi/3"),
        ("angle x = 0.3;", "0.3"),
        ("angle x = 7.5;", "-2*pi + 7.5"),
        ("const angle x = 5*pi/2;", "pi/2"),
        ("angle x = 2*theta + 3*pi;", "3*pi + 2*theta"),
        ("angle[4] x = theta;", "theta"),
        ("array[angle[2], 2] a = {1.6, -1.6}; float x = a[1];", "3*pi/2"),
        ("def half(angle[8] a) -> angle[8] { return a / 2; } angle[8] x = half(3*pi);", "pi/2"),
    ] {
        assert_eq!(angle(declarations, "x"), expected, "{declarations}");
    }
    assert!(holds("angle x = pi; x += pi;", "x == 0"));
    assert!(holds("angle x = 3*pi/2;", "2*x == pi"));
    assert!(holds("angle x = 5.0; angle y = 2.0;", "x / y == 2"));
    assert!(holds("angle[64] x = pi; ", "x + x == 0"));
    for (body, expected) in [
        ("angle x = pi; if (x << 1 == 0) x q;", "an angle without a width"),
        ("angle[4] x = pi; bit[3] b = bit[3](x);", "a bit string of this width"),
        ("angle[4] x = pi; int k = int(x);", "an angle where an integer"),
        ("angle[4] x = angle[4](\"010\");", "a bit string"),
        ("angle[4] x = pi; x = x / 0;", "division by zero"),
        ("angle[4] x = pi; x = x / (x - x) * pi;", "division by zero"),
        ("angle[0] x = pi;", "width"),
        ("angle[4] x = pi; if (x[4]) x q;", "out of range"),
    ] {
        assert!(error(body).contains(expected), "{body}\n{}", error(body));
    }
}

#[test]
fn floats_of_few_bits_round() {
    assert_eq!(angle("float[32] x = 0.1;", "x"), f64::from(0.1f32).to_string());
    assert_eq!(angle("float[32] x = pi;", "x"), f64::from(std::f32::consts::PI).to_string());
    assert_eq!(angle("float[32] x = 0; for int i in [1:10] { x += 0.1; }", "x"), {
        let sum = (0..10).fold(0f32, |sum, _| (f64::from(sum) + 0.1) as f32);
        f64::from(sum).to_string()
    });
    assert_eq!(angle("float[16] x = 0.1;", "x"), "0.0999755859375");
    assert_eq!(angle("float[32] x = 1e-45;", "x"), f64::from(1e-45f32).to_string());
    assert_eq!(angle("float[64] x = pi/3;", "x"), "pi/3");
    assert_eq!(angle("", "float[32](1/3.0)"), f64::from(1f32 / 3.0).to_string());
    // Half way between two numbers it is the even one.
    for (given, rounded) in
        [(2049.0, "2048"), (2051.0, "2052"), (-2049.0, "-2048"), (2050.5, "2050")]
    {
        assert_eq!(angle(&format!("float[16] x = {given:?};"), "x"), rounded, "{given}");
    }
    for given in [16_777_217.0, 16_777_219.0, 1.0 + 2f64.powi(-24), 1.0 + 3.0 * 2f64.powi(-24)] {
        assert_eq!(
            angle(&format!("float[32] x = {given:?};"), "x"),
            f64::from(given as f32).to_string()
        );
    }
    assert!(holds("float[32] x = 0.1;", "x != 0.1"));
    assert!(holds("", "0.1 + 0.2 == 0.3 && int((0.1 + 0.7) * 10) == 8"));
    assert!(error("float[16] x = 65520;").contains("finite"));
    assert!(error("float[20] x = 1;").contains("16, 32, 64"));
}

#[test]
fn bits_of_integers_are_written() {
    assert!(holds("uint[4] k = 5; k[1] = 1; k[0] = false;", "k == 6"));
    assert!(holds("int[4] k = 5; k[-1] = 1;", "k == -3"));
    assert!(holds("int[8] k = -1; k[7] = 0; k[0] = \"0\";", "k == 126"));
    assert!(holds("uint[128] k = 0; k[126] = 1;", "k[126] && !k[125]"));
    assert!(holds(
        "array[uint[3], 2] a = {1, 2}; a[1][0] = 1; a[0, 2] = 1;",
        "a[0] == 5 && a[1] == 3"
    ));
    assert!(holds(
        "array[int[8], 2, 2] m; m[1][0] = 3; m[1][1][2] = 1; m[0, 1][7] = 1;",
        "m[1][0] == 3 && m[1][1] == 4 && m[0][1] == -128"
    ));
    assert!(holds("uint[4] k = 0; for int i in [0:3] { if (i != 2) { k[i] = 1; } }", "k == 11"));
    for (body, expected) in [
        ("uint[4] k = 5; k[4] = 1;", "index 4"),
        ("uint[4] k = 5; k[0] = 2;", "bit string"),
        ("uint[4] k = 5; k[0][0] = 1;", "[]"),
        ("int k = 5; k[0] = 1;", "[]"),
        ("float[32] k = 5; k[0] = 1;", "[]"),
    ] {
        assert!(error(body).contains(expected), "{body}\n{}", error(body));
    }
}

#[test]
fn complex_numbers_have_functions() {
    for (value, parts) in [
        ("z + 1", "rx(4.0) q[0]\nrx(4.0) q[0]\n"),
        ("z * z", "rx(-7.0) q[0]\nrx(24.0) q[0]\n"),
        ("sqrt(z)", "rx(2.0) q[0]\nrx(1.0) q[0]\n"),
        ("abs(z)", "rx(5.0) q[0]\nrx(0) q[0]\n"),
        ("real(z) + imag(z) * 1im", "rx(3.0) q[0]\nrx(4.0) q[0]\n"),
        ("4", "rx(4) q[0]\nrx(0) q[0]\n"),
    ] {
        let given = gates(&format!(
            "complex[float[64]] z = 3 + 4im; rx(real({value})) q; rx(imag({value})) q;"
        ));
        let expected = parts.replace(".0", "");
        assert_eq!(given.replace(".0", ""), expected, "{value}");
    }
    assert!(holds(
        "complex z = exp(pi/2 * 1im) ** 2;",
        "abs(real(z) + 1) < 1e-12 && abs(imag(z)) < 1e-12"
    ));
    assert!(error("rx(floor(1im)) q;").contains("a complex number"));
    assert!(error("rx(exp(1im)) q;").contains("a complex number where an angle is needed"));
}

#[test]
fn durations_are_compared() {
    for claim in [
        "a / 1ns == 500",
        "a / 1s == 5e-7",
        "a > 1ns && a <= 0.5 us && a != 500dt / 1dt * 1us",
        "2 * a - 1us == 0s && -a < 0ms",
        "(a + 1.5us) / a == 4",
        "30dt / 4dt == 7.5 && 3dt < 4dt",
        "a / 2 == 250 ns && a * 0.1 == 50ns",
    ] {
        assert!(holds("duration a = 500ns;", claim), "{claim}");
    }
    for (body, expected) in [
        ("if (1dt < 1ns) x q;", "known only to the hardware, or one is in seconds"),
        ("stretch s; if (s > 1ns) x q;", "known only to the hardware"),
        ("duration d = durationof({ x q; }); float f = d / 1ns;", "known only to the hardware"),
        ("float f = 1ns / 0ns;", "division by zero"),
        ("float f = 1 / 1ns;", "an integer and a duration"),
        ("duration d = 1;", "an integer where a duration is needed"),
    ] {
        assert!(error(body).contains(expected), "{body}\n{}", error(body));
    }
}

#[test]
fn complex_numbers_are_equal_or_not() {
    let numbers = "complex[float[64]] a = 10.0 + 5.0im; complex[float[64]] b = -2.0 - 7.0im;";
    assert!(holds(numbers, "a + b == 8.0 - 2.0im && a * b != 15.0 && a - 5im == 10"));
    assert!(
        error(&format!("{numbers} if (a < b) x q;"))
            .contains("`<` does not work on a complex number")
    );
}

#[test]
fn arrays_of_bits_are_kept() {
    assert!(holds("array[bit, 3] a = {1, 0, 1}; a[1] = a[0];", "a[1] && a[2] == 1"));
    assert!(holds("array[bit[2], 2] a; a[1] = \"10\"; a[0][0] = 1;", "a[0] == \"01\" && a[1][1]"));
}

#[test]
fn slices_of_numbers_are_bits() {
    // Those of the specification.
    assert!(holds("int[32] k = 15; bit[16] even = k[0:2:31];", "even == 3"));
    assert!(holds("int[32] k = 15; k[4:7] = \"1010\";", "k == 0xAF"));
    assert!(holds("array[int[32], 5] a = {0, 1, 2, 3, 4}; bit[5] b = a[4][0:4];", "b == 4"));
    for (before, claim) in [
        (
            "uint[6] k = 44;",
            "k[2:3] == \"11\" && k[0:-1] == \"101100\" && k[-1:-1:0] == \"001101\"",
        ),
        ("uint[6] k = 44;", "k[{5, 0}] == \"01\" && k[:2:] == \"010\" && k[4:] == \"10\""),
        ("int[4] k = -8; k[0:2] = 5; bit[2] c = \"10\"; k[{3, 0}] = c;", "k == 6"),
        ("uint[8] k = 0; k[4:7] = uint[4](9); k[1:2] = k[6:7];", "k == 148"),
        ("angle[4] t = pi/8; t[2:3] = \"10\";", "t == 9*pi/8 && t[0:1] == \"01\""),
        ("const bit[6] m = \"110100\";", "m[2:4] == \"101\" && m[1:2] ++ m[4:5] == \"1110\""),
        ("array[uint[4], 2] a = {5, 6}; a[1][2:3] = \"10\";", "a[1] == 10 && a[0][1:2] == \"10\""),
    ] {
        assert!(holds(before, claim), "{before} {claim}");
    }
    for (body, expected) in [
        ("uint[4] k = 5; bit[2] c = k[3:4];", "index 4 is out of range"),
        ("uint[4] k = 5; bit[3] c = k[0:1];", "2 and 3"),
        ("uint[4] k = 5; k[0:1] = \"101\";", "a bit string where a bit string of 2"),
        ("uint[4] k = 5; k[1:0] = 1;", "the selection is empty"),
        ("int k = 5; bit[2] c = k[0:1];", "[]"),
    ] {
        assert!(error(body).contains(expected), "{body}\n{}", error(body));
    }
}

#[test]
fn slices_of_arrays_are_arrays() {
    let arrays = "array[int[8], 2] a = {0, 1}; array[int[8], 3] b = {2, 3, 4}; array[int[8], 4] c = {5, 6, 7, 8};
        array[int[8], 3, 2] m = {{1, 2}, {3, 4}, {5, 6}}; array[int[8], 3, 2] n = {{7, 8}, {9, 10}, {11, 12}};";
    for (before, claim) in [
        ("array[int[8], 5] s = a ++ b;", "s[1] == 1 && s[2] == 2 && s[4] == 4"),
        ("array[int[8], 4] s = a ++ a;", "s[0] == 0 && s[3] == 1"),
        ("array[int[8], 2] s = b[1:2];", "s[0] == 3 && s[1] == 4"),
        ("b[1:2] = a[0:1];", "b[0] == 2 && b[1] == 0 && b[2] == 1"),
        ("c[0:3] = a[0:1] ++ b[1:2];", "c[0] == 0 && c[1] == 1 && c[2] == 3 && c[3] == 4"),
        ("m[1:2] = n[0:1];", "m[0][1] == 2 && m[1][0] == 7 && m[2][1] == 10"),
        ("m[1:2, 0] = n[0:1, 1];", "m[1][0] == 8 && m[1][1] == 4 && m[2][0] == 10 && m[0, 0] == 1"),
        ("m[0] = a; m[2, 1] = b[-1];", "m[0, 0] == 0 && m[0, 1] == 1 && m[2, 1] == 4"),
        ("m = n; array[int[8], 3] s = m[0:2, 1];", "s[0] == 8 && s[2] == 12 && m[1, 0] == 9"),
        (
            "array[int[8], 2, 2] s = m[0:2:2]; array[int[8], 1] t = m[2, 1:1];",
            "s[1][0] == 5 && t[0] == 6",
        ),
        ("int[8] s = 0; for int[8] k in c[1:2] { s += k; }", "s == 13"),
        (
            "def sum(readonly array[int[8], #dim = 1] x) -> int { int s = 0; for int k in x { s += k; } return s; }",
            "sum(c[1:3]) == 21 && sum(m[1]) == 7 && sum(m[0:2, 1]) == 12",
        ),
        (
            "def up(mutable array[int[8], #dim = 1] x) { x[0] = x[0] + 10; x[-1] = 0; }
          up(c[1:2]); up(m[2]); up(m[0:1, 0]);",
            "c[0] == 5 && c[1] == 16 && c[2] == 0 && m[2][0] == 15 && m[2][1] == 0 && m[0][0] == 11 && m[1][0] == 0",
        ),
    ] {
        assert!(holds(&format!("{arrays} {before}"), claim), "{before} {claim}");
    }
    for (body, expected) in [
        ("m[0] = b;", "an array of 3 elements where an array of 2 elements is needed"),
        ("m[0, 0] = a;", "an array where an integer is needed"),
        ("m[0] = 1;", "an integer where an array of 2 elements is needed"),
        ("b[0:1] = b;", "an array of 3 elements where"),
        ("a = b[0:0];", "1 element"),
        ("b[0:1][0] = 1;", "an index of a slice"),
        ("array[int[8], 2] s = b[2:3];", "index 3 is out of range"),
    ] {
        let body = format!("{arrays} {body}");
        assert!(error(&body).contains(expected), "{body}\n{}", error(&body));
    }
}

#[test]
fn mutable_arrays_are_those_of_the_caller() {
    let defined = "def double(mutable array[int[8], #dim = 1] a, int[8] last) {
            for int i in [0:sizeof(a) - 1] { a[i] = 2 * a[i]; }
            a[-1] = last;
            last = 0;
        }
        def twice(mutable array[int[8], 3] b) { double(b, 1); double(b, 7); }";
    assert!(holds(
        &format!("{defined} array[int[8], 3] xs = {{1, 2, 3}}; twice(xs);"),
        "xs[0] == 4 && xs[1] == 8 && xs[2] == 7"
    ));
    let matrix =
        "def f(mutable array[float[64], #dim = 2] m, readonly array[float[64], #dim = 1] x) {
            m[0, 1] = x[0] + x[1];
        }
        array[float[64], 2, 2] m; array[float[64], 2] x = {0.25, 0.5}; f(m, x);";
    assert_eq!(angle(matrix, "m[0, 1]"), "0.75");
    for (body, expected) in [
        ("double({1, 2}, 3);", "an array variable"),
        ("const array[int[8], 2] c = {1, 2}; double(c, 3);", "an array variable"),
        ("array[int[8], 2, 2] m = {{1, 2}, {3, 4}}; double(m, 3);", "2 dimensions"),
        ("array[int[8], 4] xs = {1, 2, 3, 4}; twice(xs);", "4 elements"),
        ("int[8] x = 1; double(x, 3);", "no dimensions"),
        ("array[float[64], 2] xs = {0.5, 1.0}; double(xs, 3);", "another type"),
        ("array[int[8], #dim = 1] a;", "`#dim`"),
        (
            "def g(readonly array[int[8], 2] a) {} array[int[8], 3] xs = {1, 2, 3}; g(xs);",
            "3 elements",
        ),
        (
            "def g(readonly array[int[8], #dim = 1] a) { a[0] = 1; } array[int[8], 1] xs = {1}; g(xs);",
            "`a`",
        ),
    ] {
        let body = format!("{defined} {body}");
        assert!(error(&body).contains(expected), "{body}\n{}", error(&body));
    }
}
