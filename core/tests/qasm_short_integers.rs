//! Operators on integers of few bits that one measured bit decides, beside the same operators on
//! `i128` that wrap.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write;

use ketgrad_core::{
    param::Values,
    qasm::{QasmOptions, parse},
    simulate::{BoundCircuit, Simulator},
};
use num_complex::Complex;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// The bits of the results, and how they are read: what is longer wraps, what is shorter shows its
/// sign.
const RESULT: u32 = 8;

/// Registers `r0`, `r1`, … of 8 bits for each value of two measured bits `c`.
fn results(n: usize, body: &str) -> [Vec<u128>; 4] {
    let mut text = "OPENQASM 3.0; include \"stdgates.inc\"; qubit[2] q; bit[2] c;\n".to_owned();
    for k in 0..n {
        writeln!(text, "bit[{RESULT}] r{k};").unwrap();
    }
    write!(text, "h q; c = measure q;\n{body}").unwrap();
    let circuit =
        parse(&text, &QasmOptions::default()).unwrap_or_else(|e| panic!("{e}\n{text}")).circuit;
    let bound = BoundCircuit::<Complex<f64>>::new(&circuit, &Values::<f64>(&[])).unwrap();
    let mut given = [const { Vec::new() }; 4];
    for (bits, _) in Simulator::new().distribution(&bound, 4).unwrap() {
        let bits = bits.text(&circuit);
        let mut registers = bits.split(' ').rev().map(|r| u128::from_str_radix(r, 2).unwrap());
        let c = registers.next().unwrap() as usize;
        assert!(given[c].is_empty(), "{bits}");
        given[c] = registers.collect();
    }
    assert!(given.iter().all(|registers| registers.len() == n));
    given
}

/// The value of an integer type.
#[derive(Clone, Copy, Debug)]
struct Int {
    width: u32,
    unsigned: bool,
    value: i128,
}

impl Int {
    fn new((width, unsigned): (u32, bool), value: i128) -> Int {
        let shift = 128 - width;
        let value = if unsigned { value & ((1 << width) - 1) } else { value << shift >> shift };
        Int { width, unsigned, value }
    }

    fn ty(self) -> (u32, bool) {
        (self.width, self.unsigned)
    }

    /// A literal beside it takes its type if it fits; else both are an `int`.
    fn beside_literal(self, literal: i128) -> [Int; 2] {
        let ty =
            if Int::new(self.ty(), literal).value == literal { self.ty() } else { (32, false) };
        [Int::new(ty, self.value), Int::new(ty, literal)]
    }

    fn result(self) -> u128 {
        Int::new((RESULT, true), self.value).value.cast_unsigned()
    }
}

fn name((width, unsigned): (u32, bool)) -> String {
    format!("{}[{width}]", if unsigned { "uint" } else { "int" })
}

fn binary(op: &str, a: Int, b: Int) -> Int {
    // Comparisons go by the values.
    let holds = match op {
        "<" => Some(a.value < b.value),
        "<=" => Some(a.value <= b.value),
        ">" => Some(a.value > b.value),
        ">=" => Some(a.value >= b.value),
        "==" => Some(a.value == b.value),
        "!=" => Some(a.value != b.value),
        _ => None,
    };
    if let Some(holds) = holds {
        return Int::new((RESULT, true), i128::from(holds));
    }
    let ty = if matches!(op, "<<" | ">>") { a.ty() } else { a.ty().max(b.ty()) };
    let (x, y) = (Int::new(ty, a.value).value, Int::new(ty, b.value).value);
    let value = match op {
        "+" => x + y,
        "-" => x - y,
        "*" => x * y,
        "/" => x / y,
        "%" => x % y,
        "&" => x & y,
        "|" => x | y,
        "^" => x ^ y,
        "<<" => x << b.value,
        ">>" => x >> b.value,
        other => panic!("{other}"),
    };
    Int::new(ty, value)
}

fn unary(op: &str, a: Int) -> Int {
    match op {
        "" => a,
        "~" => Int::new(a.ty(), !a.value),
        "-" => Int::new(a.ty(), -a.value),
        "!" => Int::new((RESULT, true), i128::from(a.value == 0)),
        other => panic!("{other}"),
    }
}

const OPS: [&str; 16] =
    ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!="];

/// An operand: its name, and its values for both values of its bit.
struct Operand {
    text: String,
    values: [Int; 2],
}

/// A variable of a type that bit `at` decides, in one of the ways to write that; or known, where it
/// decides nothing.
fn operand(
    at: usize,
    form: u64,
    ty: (u32, bool),
    below: &mut impl FnMut(u64) -> u64,
) -> (String, Operand) {
    let (v, of) = (format!("v{at}"), name(ty));
    let mut any = || Int::new(ty, i128::from(below(16)));
    let (k, l) = (any(), any());
    let (text, values) = match form {
        0 => (format!("{of} {v} = {of}(c[{at}]);"), [Int::new(ty, 0), Int::new(ty, 1)]),
        1 => (format!("{of} {v} = {}; if (c[{at}]) {v} = {};", k.value, l.value), [k, l]),
        // The bit that decides it makes it negative or largest.
        2 => (
            format!("{of} {v} = 0; if (c[{at}]) {v} = ~{of}(0);"),
            [0, -1].map(|x| Int::new(ty, x)),
        ),
        _ => (format!("{of} {v} = {};", k.value), [k, k]),
    };
    (text, Operand { text: v, values })
}

#[test]
fn operators_keep_the_types_of_integers_that_one_bit_decides() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut below = |n: u64| random.next_u64() % n;
    let types: Vec<(u32, bool)> =
        (1..=4).flat_map(|width| [(width, false), (width, true)]).collect();
    for (i, &first) in types.iter().enumerate() {
        for (j, &second) in types.iter().enumerate() {
            let turn = (i * types.len() + j) as u64;
            let (mut body, a) = operand(0, turn % 3, first, &mut below);
            let (more, b) = operand(1, below(4), second, &mut below);
            body += &more;
            let mut expected: [Vec<(String, u128)>; 4] = [const { Vec::new() }; 4];
            let mut add = |text: String, value: &dyn Fn(Int, Int) -> Int| {
                let n = expected[0].len();
                writeln!(body, "uint[{RESULT}] x{n} = {text}; r{n} = x{n};").unwrap();
                for (c, expected) in expected.iter_mut().enumerate() {
                    let value = value(a.values[c & 1], b.values[c >> 1]).result();
                    expected.push((text.clone(), value));
                }
            };
            let (x, y) = (&a.text, &b.text);
            for op in OPS {
                // A divisor is not 0, and what is shifted by not negative.
                let outer = if OPS[..10].contains(&op) {
                    ["", "~", "-", "!"][below(4) as usize]
                } else {
                    ""
                };
                match op {
                    "/" | "%" => add(format!("{outer}({x} {op} ({y} | 1))"), &|a, b| {
                        let [b, one] = b.beside_literal(1);
                        unary(outer, binary(op, a, binary("|", b, one)))
                    }),
                    "<<" | ">>" if !second.1 => {
                        let places = below(4);
                        add(format!("{outer}({x} {op} {places})"), &|a, _| {
                            unary(outer, binary(op, a, Int::new((4, true), i128::from(places))))
                        });
                    }
                    _ => {
                        add(format!("{outer}({x} {op} {y})"), &|a, b| {
                            unary(outer, binary(op, a, b))
                        });
                    }
                }
            }
            for op in ["+", "-", "*", "&", "|", "^", "<", "=="] {
                let literal = i128::from(below(5));
                add(format!("{x} {op} {literal}"), &|a, _| {
                    // A comparison casts nothing.
                    let [a, b] = a.beside_literal(literal);
                    binary(op, a, b)
                });
            }
            for op in ["~", "-", "!"] {
                add(format!("{op}{x}"), &|a, _| unary(op, a));
            }
            add(format!("popcount({x})"), &|a, _| {
                let bits = Int::new((a.width, true), a.value).value;
                Int::new((RESULT, true), i128::from(bits.count_ones()))
            });
            add(format!("{x} ** 1"), &|a, _| a);
            let given = results(expected[0].len(), &body);
            for (c, (given, expected)) in given.into_iter().zip(expected).enumerate() {
                for (given, (text, expected)) in given.into_iter().zip(expected) {
                    let (first, second) = (name(first), name(second));
                    assert_eq!(
                        given, expected,
                        "{text} of {first} and {second} for c = {c}:\n{body}"
                    );
                }
            }
        }
    }
}

#[test]
fn integers_of_one_digit_are_switched_on_and_ordered() {
    type Expected = fn(u128) -> u128;
    let forms: &[(&str, Expected)] = &[
        ("int[3] v = 0; if (c[0]) v = -1; v = v | 0; r0[0:2] = v;", |c| 7 * (c & 1)),
        ("int[3] v = 0; if (c[0]) v = -1; v = v ^ 4; r0[0:2] = v;", |c| 4 ^ (7 * (c & 1))),
        ("uint[3] v = 1; v = ~(v ^ uint[3](c[0])); r0[0:2] = v;", |c| 7 & !(1 ^ (c & 1))),
        ("uint[8] u = uint[8](c[0]); uint[8] v = uint[8](c[1]); r0[0] = v <= u;", |c| {
            u128::from(c >> 1 <= (c & 1))
        }),
        ("uint[8] u = uint[8](c[0]); r0[0] = u < (c[0] ^ c[1]);", |c| u128::from(c == 2)),
        ("uint[8] u = uint[8](c); r0[0] = u == (c[0] ^ c[1]);", |c| u128::from(c < 2)),
        ("uint[8] u = uint[8](c); r0[0] = u == \"00000010\";", |c| u128::from(c == 2)),
        (
            "uint[5] v = 3; switch (v & uint[5](c[0])) { case 1 { r0[0] = 1; } default { r0[1] = 1; } }",
            |c| {
                if c & 1 == 1 { 1 } else { 2 }
            },
        ),
        ("r0[0] = ~(c[0] & 0);", |_| 1),
        ("uint[8] x = (c[0] & 0) << 1; r0 = x;", |_| 0),
        ("uint[8] x = (c[0] | 1) << 1; r0 = x;", |_| 2),
        ("float f = c[0] & 0; r0[0] = f == 0.0;", |_| 1),
        ("bool b = true; const bit k = \"1\"; r0[0] = b & k; r0[1] = k ^ b;", |_| 1),
    ];
    for (body, expected) in forms {
        for (c, given) in results(1, body).into_iter().enumerate() {
            assert_eq!(given, [expected(c as u128)], "{body} for c = {c}");
        }
    }
}
