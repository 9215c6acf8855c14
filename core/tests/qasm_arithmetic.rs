//! Arithmetic on what is measured, beside the same arithmetic on integers.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;

use ketgrad_core::{
    circuit::Circuit,
    param::{Angle, Values},
    print::to_qasm3,
    qasm::{QasmOptions, QasmProblem, parse, parse_angle},
    simulate::{BoundCircuit, Simulator},
};
use num_complex::Complex;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

fn read(text: &str) -> Circuit {
    parse(text, &QasmOptions::default()).unwrap_or_else(|e| panic!("{e}\n{text}")).circuit
}

/// Results of `body` for each value of `n` measured bits `c`: the register `r` of `width` bits, as
/// an unsigned number.
fn table(n: usize, width: usize, body: &str) -> Vec<u128> {
    let text = format!(
        "OPENQASM 3.0; include \"stdgates.inc\"; qubit[{n}] q; bit[{n}] c; bit[{width}] r; h q; c = measure q; {body}"
    );
    let circuit = read(&text);
    let given = values(&circuit, n);
    // The same once it has been printed and read.
    let printed = to_qasm3(&circuit).unwrap();
    assert_eq!(values(&read(&printed), n), given, "{text}");
    given
}

fn values(circuit: &Circuit, n: usize) -> Vec<u128> {
    let bound = BoundCircuit::<Complex<f64>>::new(circuit, &Values::<f64>(&[])).unwrap();
    let exact = Simulator::new().distribution(&bound, 1 << n).unwrap();
    let mut given = BTreeMap::new();
    for (bits, p) in exact {
        let text = bits.text(circuit);
        let (r, c) = text.split_once(' ').unwrap();
        assert!((p * f64::from(1u32 << n) - 1.0).abs() < 1e-12, "{p}");
        let number = |text| {
            u128::from_str_radix(text, 2).unwrap_or_else(|e| panic!("{text}: {e}\n{circuit}"))
        };
        assert!(given.insert(number(c), number(r)).is_none());
    }
    assert_eq!(given.len(), 1 << n);
    given.into_values().collect()
}

/// The value of an integer type.
#[derive(Clone, Copy, Debug)]
struct Int {
    width: u32,
    unsigned: bool,
    value: i128,
}

impl Int {
    fn new(width: u32, unsigned: bool, value: i128) -> Int {
        let shift = 128 - width;
        let value = if unsigned { value & ((1 << width) - 1) } else { value << shift >> shift };
        Int { width, unsigned, value }
    }

    fn ty(self) -> String {
        format!("{}[{}]", if self.unsigned { "uint" } else { "int" }, self.width)
    }
}

fn operate(op: &str, a: Int, b: Int) -> Int {
    let (mut width, mut unsigned) = (a.width, a.unsigned);
    if !matches!(op, "<<" | ">>") {
        (width, unsigned) = (a.width, a.unsigned).max((b.width, b.unsigned));
    }
    let value = |i: Int| Int::new(width, unsigned, i.value).value;
    let (x, y) = (value(a), value(b));
    let result = match op {
        "+" => x + y,
        "-" => x - y,
        "*" => x * y,
        "/" => x / y,
        "%" => x % y,
        "&" => x & y,
        "|" => x | y,
        "^" => x ^ y,
        "<<" => {
            Int::new(width, true, x).value.checked_shl(u32::try_from(b.value).unwrap()).unwrap_or(0)
        }
        _ => x.checked_shr(u32::try_from(b.value).unwrap()).unwrap_or(if x < 0 { -1 } else { 0 }),
    };
    Int::new(width, unsigned, result)
}

#[test]
fn sums_products_and_quotients_are_those_of_integers() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut below = |n: u64| random.next_u64() % n;
    let types = [(3, true), (3, false), (4, true), (5, false), (8, true)];
    let ops = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"];
    for round in 0..60 {
        let n = 6;
        let op = ops[round % ops.len()];
        let shift = matches!(op, "<<" | ">>");
        let (ta, tb) = (types[below(5) as usize], types[below(5) as usize]);
        let known = below(3) as u32;
        // Operands that are measured: the lower and the upper three bits; or constants, one of
        // both.
        let (ka, kb) = (i128::from(below(4)), i128::from(below(4)));
        let tb = if shift { (tb.0, true) } else { tb };
        let int = |(width, unsigned): (u32, bool), value| Int::new(width, unsigned, value);
        let operand = |k: u32, ty, from: &str, constant: i128| {
            let name = int(ty, 0).ty();
            if k == known {
                format!("{name}({constant})")
            } else {
                format!("{name}(uint[3](c[{from}]))")
            }
        };
        // A divisor is odd, so no 0.
        let odd =
            |text: String| if matches!(op, "/" | "%") { format!("({text} | 1)") } else { text };
        let (a, b) = (operand(0, ta, "0:2", ka), odd(operand(1, tb, "3:5", kb)));
        let width = if shift { ta.0 } else { ta.0.max(tb.0) };
        // An assignment to bits needs their number.
        let body = format!("uint[{width}] result = {a} {op} {b}; r = result;");
        let given = table(n, width as usize, &body);
        for (c, given) in given.into_iter().enumerate() {
            let x = int(ta, if known == 0 { ka } else { c as i128 & 7 });
            let mut y = int(tb, if known == 1 { kb } else { c as i128 >> 3 });
            if matches!(op, "/" | "%") {
                y = Int::new(y.width, y.unsigned, y.value | 1);
            }
            let expected = Int::new(width, true, operate(op, x, y).value).value;
            assert_eq!(given, expected.cast_unsigned(), "{body} for c = {c}: {x:?} {op} {y:?}");
        }
    }
}

/// A random expression over two integers `a` and `b`, bits `x` and literals.
fn expression(below: &mut impl FnMut(u32) -> u32, depth: u32) -> String {
    if depth == 0 {
        return match below(5) {
            0 | 1 => "a".to_owned(),
            2 => "b".to_owned(),
            3 => "x".to_owned(),
            _ => below(20).to_string(),
        };
    }
    let mut part = |_| expression(below, depth - 1);
    let (left, right) = (part(0), part(1));
    match below(12) {
        0 => format!("({left} + {right})"),
        1 => format!("({left} - {right})"),
        2 => format!("({left} * {right})"),
        // A divisor is odd, so no 0.
        3 => format!("({left} / ({right} | 1))"),
        4 => format!("({left} % ({right} | 1))"),
        5 => format!("({left} & a)"),
        6 => format!("(b | {right})"),
        7 => format!("({left} ^ b)"),
        8 => format!("(a << {})", below(4)),
        9 => format!("({left} >> {})", below(4)),
        10 => format!("~(a - {right})"),
        _ => format!("-{left}"),
    }
}

#[test]
fn what_is_known_computes_as_what_is_measured() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut below = |n: u32| random.next_u32() % n;
    let types = ["uint[2]", "uint[4]", "int[3]", "int[4]", "int[8]", "uint[8]", "int", "uint"];
    for _ in 0..120 {
        let (a, b) = (types[below(8) as usize], types[below(8) as usize]);
        let value = expression(&mut below, 2);
        let body = |a_bits: &str, b_bits: &str, x: &str| {
            format!("{a} a = {a}({a_bits}); {b} b = {b}({b_bits}); {x} int[12] w = {value}; r = w;")
        };
        let measured = table(4, 12, &body("uint[3](c[0:2])", "uint[2](c[2:3])", "let x = c[1:2];"));
        for (c, measured) in measured.into_iter().enumerate() {
            let x = format!("const bit[2] x = \"{:02b}\";", c >> 1 & 3);
            let known = body(&(c & 7).to_string(), &(c >> 2).to_string(), &x);
            let circuit = read(&format!("OPENQASM 3.0; bit c; bit[12] r; {known}"));
            assert_eq!(values(&circuit, 0), [measured], "{known}");
        }
    }
}

#[test]
fn comparisons_of_measured_integers_go_by_their_values() {
    type Holds = fn(i128, i128) -> bool;
    let relations: [(&str, Holds); 6] = [
        ("<", |a, b| a < b),
        ("<=", |a, b| a <= b),
        (">", |a, b| a > b),
        (">=", |a, b| a >= b),
        ("==", |a, b| a == b),
        ("!=", |a, b| a != b),
    ];
    for (relation, holds) in relations {
        for (ta, tb) in [
            ("uint[3]", "uint[3]"),
            ("int[3]", "int[3]"),
            ("int[3]", "uint[3]"),
            ("uint[5]", "int[3]"),
        ] {
            let body =
                format!("{ta} a = {ta}(c[0:2]); {tb} b = {tb}(c[3:5]); if (a {relation} b) r = 1;");
            for (c, given) in table(6, 1, &body).into_iter().enumerate() {
                let value =
                    |ty: &str, bits: i128| Int::new(3, !ty.starts_with("int[3]"), bits).value;
                let (a, b) = (value(ta, c as i128 & 7), value(tb, c as i128 >> 3));
                assert_eq!(given == 1, holds(a, b), "{body} for {a} and {b}");
            }
        }
    }
}

#[test]
fn everyday_forms_work() {
    type Expected = fn(u128) -> u128;
    let forms: &[(&str, Expected)] = &[
        ("uint[4] n = c; n += 1; r = n;", |c| (c + 1) % 16),
        ("uint[4] n = c; n -= 3; r = n;", |c| c.wrapping_sub(3) % 16),
        ("uint[4] n = c; n *= n; r = n;", |c| c * c % 16),
        ("uint[4] n = c; r = n / 3;", |c| c / 3),
        ("uint[4] n = c; r = n % 3;", |c| c % 3),
        ("uint[4] n = c; r = 13 % (n + 1);", |c| 13u128.checked_rem((c + 1) % 16).unwrap_or(13)),
        ("uint[4] n = c; r = ~n;", |c| c ^ 15),
        ("r = ~c;", |c| c ^ 15),
        ("r = c & \"0110\";", |c| c & 6),
        ("r = c ^ (c >> 1);", |c| c ^ c >> 1),
        ("r = c << 1;", |c| c << 1 & 15),
        ("r = c + 1;", |c| (c + 1) % 16),
        ("r[2:3] = c[0:1] ^ c[2:3];", |c| (c ^ c >> 2) << 2 & 15),
        ("uint[4] n = c; r = -n;", |c| c.wrapping_neg() % 16),
        ("uint[3] ones = popcount(c); r[0:2] = ones;", |c| u128::from(c.count_ones())),
        ("r = rotl(c, 1);", |c| (c << 1 | c >> 3) & 15),
        ("r = rotr(c, 1);", |c| (c >> 1 | c << 3) & 15),
        ("uint[4] n = 1 << uint[2](c[0:1]); r = n;", |c| 1 << (c & 3)),
        ("uint[4] n = c; n[0] = 1; n[3] = n[1]; r = n;", |c| (c & 7) | 1 | (c >> 1 & 1) << 3),
        ("uint[4] n = c; if (n[2]) r[0] = 1;", |c| c >> 2 & 1),
        ("int n = int(c) - 1; if (n < 0) r = 9; else r = 1;", |c| if c == 0 { 9 } else { 1 }),
        ("int[4] n = c; int[8] wide = n; if (wide == -3) r = 1;", |c| u128::from(c == 13)),
        ("int[4] n = int[4](c); if (int[8](n) < -2) r = 1;", |c| u128::from((8..14).contains(&c))),
        ("int n = 0; for int i in [0:3] { if (c[i]) n += 1; } if (n >= 3) r = 5;", |c| {
            if c.count_ones() >= 3 { 5 } else { 0 }
        }),
        ("int n = 0; for int i in [0:3] { n = 2 * n + int(c[i]); } r = uint[4](n);", |c| {
            (c & 1) << 3 | (c & 2) << 1 | (c & 4) >> 1 | c >> 3
        }),
        ("r = c; r[0] = r[3];", |c| (c & 14) | c >> 3),
        ("r = c; r = r << 2;", |c| c << 2 & 15),
        ("r = c; r[1:3] = r[0:2];", |c| (c << 1 & 14) | (c & 1)),
        (
            "uint[4] n = c; switch (n % 4) { case 1 { r = 7; } case 2, 3 { r = 1; } default { r = 2; } }",
            |c| [2, 7, 1, 1][(c % 4) as usize],
        ),
        ("int n = int(c == 3) + int(c < 4); r = uint[4](n);", |c| {
            u128::from(c == 3) + u128::from(c < 4)
        }),
        ("uint[4] n = uint[4](c > 5) * 5; r = n;", |c| if c > 5 { 5 } else { 0 }),
        ("uint n = popcount(c) * 9; if (n >= 27) r = 1;", |c| u128::from(c.count_ones() >= 3)),
        ("bool odd = c % 2 == 1; if (odd) r = 3;", |c| if c & 1 == 1 { 3 } else { 0 }),
        // Bits, and integers without a size, are integers of as many bits as they need.
        ("r = c[0] + c[1] + c[2];", |c| u128::from((c & 7).count_ones())),
        ("if (c[0] + c[1] + c[2] >= 2) r = 1;", |c| u128::from((c & 7).count_ones() >= 2)),
        ("int k = 3; k += c[0]; r = k;", |c| 3 + (c & 1)),
        ("r = 2 + c[0];", |c| 2 + (c & 1)),
        ("r = 4 | c[1];", |c| 4 | (c >> 1 & 1)),
        ("r = c[0] << 2;", |c| (c & 1) << 2),
        ("r = 2 ** 3 + c[0];", |c| 8 + (c & 1)),
        ("int s = 0; for int i in [0:3] { s += c[i] * i; } r = s;", |c| {
            (c >> 1 & 1) + 2 * (c >> 2 & 1) + 3 * (c >> 3 & 1)
        }),
        ("int s = 0; for int i in [0:3] { s += c[i] << i; } r = s;", |c| c),
        ("array[int[8], 2] a = {3, 4}; r = uint[4](a[0] + c[0]);", |c| 3 + (c & 1)),
        ("int k = 6; uint[2] n = c[0:1]; r = k + n;", |c| 6 + (c & 3)),
        ("uint[2] n = c[0:1]; r = n / 6;", |_| 0),
        ("uint[2] n = c[0:1]; r = n % 6;", |c| c & 3),
        ("uint[4] s = (c[0] ^ c[1]) + 2 * (c[0] & c[1]); r = s;", |c| (c & 1) + (c >> 1 & 1)),
        ("int n = (c == 1) + 1; r = n;", |c| 1 + u128::from(c == 1)),
        ("const bit[2] m = \"11\"; int n = true + 1; n += m + 1; r = n;", |_| 6),
        ("uint[8] n = uint[8](c); r = uint[4](rotl(n, 6) >> 4);", |c| (c << 6 | c >> 2) >> 4 & 15),
        ("uint[6] n = 37; if (rotl(n, 3) == 44) r = 1;", |_| 1),
        ("int n = 2; if (n && c[0]) r = 1; if (!n) r = 2; if (n) r[3] = 1;", |c| 8 | (c & 1)),
        ("uint[4] n = c; r[0:1] = n[2:3]; r[2:3] = n[0:1];", |c| c >> 2 | (c & 3) << 2),
        ("uint[4] n = c; n[1:2] = \"10\"; r = n;", |c| (c & 9) | 4),
        ("uint[4] n = 0; n[0:1] = c[2:3]; n[3] = c[0]; r = n;", |c| c >> 2 | (c & 1) << 3),
        ("int[4] n = c; n[0:2:2] = n[{3, 1}]; r = n;", |c| (c & 10) | c >> 3 | (c & 2) << 1),
        ("uint[4] n = c; r = n ** 2;", |c| c * c % 16),
        ("uint[4] n = c; r = n ** 0;", |_| 1),
        ("uint[4] n = 2 ** uint[2](c[0:1]); r = n;", |c| 1 << (c & 3)),
        // What is changed two branches deep keeps its value on all other ways.
        ("uint[3] n = 7; if (c[0]) { if (c[1]) { n = 6; if (c[2]) n = 5; } } r[0:2] = n;", |c| {
            match c & 7 {
                7 => 5,
                3 => 6,
                _ => 7,
            }
        }),
        (
            "uint[3] n = 1; if (c[0]) { n = 2; if (c[1]) { if (c[2]) { n = 3; if (c[3]) n = 4; } } } r[0:2] = n;",
            |c| match c {
                15 => 4,
                7 => 3,
                _ => 1 + (c & 1),
            },
        ),
    ];
    for (body, expected) in forms {
        for (c, given) in table(4, 4, body).into_iter().enumerate() {
            assert_eq!(given, expected(c as u128), "{body} for c = {c}");
        }
    }
}

#[test]
fn wide_integers_work_as_narrow_ones() {
    let text = "uint[64] a = 0; uint[64] b = 0; for int i in [0:4] { if (c[i]) { a += 1 << (13 * i); b += 7 * i; } } \
                uint[64] p = a * a + b; r = p;";
    let given = table(5, 64, text);
    for (c, given) in given.into_iter().enumerate() {
        let set = || (0..5u32).filter(|i| c >> i & 1 == 1);
        let a: u64 = set().map(|i| 1u64 << (13 * i)).sum();
        let b: u64 = set().map(|i| 7 * u64::from(i)).sum();
        assert_eq!(given, u128::from(a.wrapping_mul(a).wrapping_add(b)), "{c}");
    }
}

#[test]
fn what_has_no_bits_is_refused() {
    let cases = [
        ("uint[2] n = c; r = n / 0;", "division by zero"),
        ("uint[2] n = c; r = n << -1;", "negative"),
        ("r = c & \"011\";", "2 and 3"),
        ("r = rotl(c, uint[2](c));", "rotation"),
        ("uint[200] n = c;", "the width of a type is 1 to 128 bits, not 200"),
        ("int[0] n;", "the width of a type is 1 to 128 bits, not 0"),
        ("int n = 5000000000;", "5000000000 in 32 bits does not fit"),
        ("uint[2] n = c; r[0] = n[2];", "out of range"),
    ];
    for (body, message) in cases {
        let text = format!(
            "OPENQASM 3.0; include \"stdgates.inc\"; qubit[2] q; bit[2] c; bit[2] r; h q; c = measure q; {body}"
        );
        let error = parse(&text, &QasmOptions::default()).unwrap_err().to_string();
        assert!(error.contains(message), "{body}: {error}");
    }
}

/// A constant as the angle of a gate, in either language.
fn constant(text: &str) -> [Angle; 2] {
    let of = |source: String| {
        let circuit = read(&source);
        circuit.instructions()[0].operation.params()[0].clone()
    };
    [
        of(format!("OPENQASM 3.0; include \"stdgates.inc\"; qubit q; rx({text}) q;")),
        of(format!("OPENQASM 2.0; include \"qelib1.inc\"; qreg q[1]; rx({text}) q[0];")),
    ]
}

#[test]
fn remainders_of_numbers_far_apart_are_exact() {
    for (text, expected) in [
        ("2e8 % 6.28318530718", 3.88537710616),
        ("mod(2e8, 6.28318530718)", 3.88537710616),
        ("mod(-2e8, 6.28318530718)", 2.39780820102),
        ("5e9 % 3e-10", 2e-10),
        ("2.0**-10 % 2.0**54", 1.0 / 1024.0),
        ("-2.0**54 % 2.0**-10", 0.0),
        ("mod(-1e18, 7e-18)", 6e-18),
        ("1e18 % 1e-18", 0.0),
    ] {
        for angle in constant(text).into_iter().chain([parse_angle(text).unwrap()]) {
            let value = angle.constant().unwrap();
            assert!((value - expected).abs() <= 1e-15 * expected, "{text}: {value}");
            assert_eq!(angle.rounding_bound(), 0.0, "{text}");
        }
    }
    assert!(parse_angle("1e-9223372036854775808").unwrap().rounding_bound() > 0.0);
    assert!(parse_angle("1e9223372036854775807").is_err());
}

#[test]
fn remainders_of_numbers_that_are_equal_up_to_rounding_are_not_called_exact() {
    for (text, expected) in [
        ("2 % (sqrt(2)*sqrt(2))", 0.0),
        ("mod(2, sqrt(2)*sqrt(2))", 0.0),
        ("-2 % (sqrt(2)*sqrt(2))", 0.0),
        ("(sqrt(2)*sqrt(2)) % 2", 0.0),
        ("3 % (sqrt(2)*sqrt(2))", 1.0),
    ] {
        for angle in constant(text) {
            let off = (angle.constant().unwrap() - expected).abs();
            assert!(off <= angle.rounding_bound(), "{text}: {off}, {}", angle.rounding_bound());
        }
    }
}

/// A decimal with few digits, and what it is in units of 1e-10.
fn short_decimal(below: &mut impl FnMut(u32) -> u32) -> (String, i128) {
    let (digits, power) = (1 + below(999_999), below(21) as i32 - 10);
    let sign = if below(2) == 0 { "" } else { "-" };
    let units = i128::from(digits) * 10i128.pow((power + 10).unsigned_abs());
    (format!("{sign}{digits}e{power}"), if sign.is_empty() { units } else { -units })
}

#[test]
fn arithmetic_on_decimals_is_that_of_fractions() {
    let mut rng = ChaCha8Rng::seed_from_u64(17);
    let mut below = |n: u32| (rng.next_u64() % u64::from(n)) as u32;
    let mut exact = 0;
    for _ in 0..4000 {
        let ((a, x), (b, y)) = (short_decimal(&mut below), short_decimal(&mut below));
        let units = |n: i128| n as f64 / 1e10;
        let (text, expected) = match below(6) {
            0 => (format!("{a} + {b}"), units(x + y)),
            1 => (format!("{a} - ({b})"), units(x - y)),
            2 => (format!("{a} * {b}"), units(x) * units(y)),
            3 => (format!("{a} / {b}"), x as f64 / y as f64),
            4 => (
                format!("mod({a}, {b})"),
                units(x % y + if x % y != 0 && (x < 0) != (y < 0) { y } else { 0 }),
            ),
            _ => (format!("{a} % {b}"), units(x % y)),
        };
        for angle in constant(&text) {
            let value = angle.constant().unwrap();
            let off = (value - expected).abs();
            assert!(
                off <= 1e-15 * expected.abs() + angle.rounding_bound(),
                "{text}: {value}, not {expected}"
            );
            exact += usize::from(angle.rounding_bound() <= 1e-15 * expected.abs());
        }
    }
    assert!(exact > 7600, "{exact} of 8000 are precise");
}

#[test]
fn whole_parts_are_those_of_the_fraction_and_not_of_its_float() {
    for (text, expected) in [
        ("floor(1 - 1/100000000000000000.0)", 0.0),
        ("ceiling(1 + 1/100000000000000000.0)", 2.0),
        ("floor(-1/100000000000000000.0)", -1.0),
        ("ceiling(-1/100000000000000000.0)", 0.0),
        ("floor(-7/2.0)", -4.0),
        ("ceiling(7/2.0)", 4.0),
        ("int[32](1 - 1/100000000000000000.0)", 0.0),
        ("int[32](1/100000000000000000.0 - 1)", 0.0),
        ("floor(1e300)", 1e300),
    ] {
        let text = format!("OPENQASM 3.0; include \"stdgates.inc\"; qubit q; rx({text}) q;");
        let angle = read(&text).instructions()[0].operation.params()[0].clone();
        assert_eq!(angle.constant(), Some(expected), "{text}");
    }
}

#[test]
fn powers_beyond_what_is_precise_are_refused() {
    let of = |body: &str| {
        let text = format!("OPENQASM 3.0; include \"stdgates.inc\"; qubit q; {body} q;");
        parse(&text, &QasmOptions::default())
    };
    for body in [
        "pow(2**40) @ pow(2**40) @ x",
        "pow(2**40) @ pow(2**40) @ rx(pi/3)",
        "inv @ pow(-9223372036854775808) @ rz(pi/3)",
        "pow(2**63) @ x",
    ] {
        let failed = of(body).unwrap_err();
        assert!(
            matches!(&*failed.diagnostics[0].problem, QasmProblem::IntegerOverflow { .. }),
            "{body}: {failed}"
        );
    }
    for body in ["pow(1e300) @ h", "pow(1/2) @ pow(2**60 + 1) @ sx", "pow(1e7 + 0.5) @ U(1, 2, 3)"]
    {
        let failed = of(body).unwrap_err();
        assert!(
            matches!(&*failed.diagnostics[0].problem, QasmProblem::Power { .. }),
            "{body}: {failed}"
        );
    }
    // Of a phase of many turns the part of one is halved.
    let half = of("pow(1/2) @ p(1e20)").unwrap().circuit;
    let matrix = Simulator::new().matrix::<Complex<f64>>(&half, &Values::<f64>(&[])).unwrap();
    let phase = f64::atan2(1e20f64.sin(), 1e20f64.cos()) / 2.0;
    assert!((matrix[(1, 1)] - Complex::cis(phase)).norm() < 1e-12, "{half}");
    assert_eq!(of("pow(2**40) @ x").unwrap().circuit.instructions().len(), 0);
}

#[test]
fn angles_of_many_turns_have_the_bits_of_their_rest() {
    for radians in [1e17_f64, -3e18, 4e19, 123456.7, -0.1] {
        let text = format!("OPENQASM 3.0; qubit q; angle[8] t = {radians}; U(0, 0, t) q;");
        let angle = read(&text).instructions()[0].operation.params()[2].constant().unwrap();
        let off =
            (angle - f64::atan2(radians.sin(), radians.cos())).rem_euclid(std::f64::consts::TAU);
        let part = std::f64::consts::TAU / 256.0;
        assert!(off.min(std::f64::consts::TAU - off) <= 0.501 * part, "{radians}: {angle}");
    }
}

/// Numerators and integers of all 63 bits are exact, so that an angle is read as it was printed.
#[test]
fn fractions_with_large_parts_are_exact() {
    let angle = parse_angle("(pi * 5) / 0.1689031e-11").unwrap();
    assert_eq!(angle, Angle::pi(5_000_000_000_000_000_000, 1_689_031));
    assert_eq!(parse_angle(&angle.to_string()).unwrap(), angle);
    assert_eq!(parse_angle("pi * (9223372036854775807 % 0.1)").unwrap(), Angle::pi(0, 1));
    assert_eq!(parse_angle("pi * (9223372036854775807 % 4)").unwrap(), Angle::pi(3, 1));
}
