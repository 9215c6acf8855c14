//! Texts that no user would write: huge numbers, deep nesting, odd declarations, valid texts with
//! pieces moved. There must be an answer: a circuit, a program or an error, in bounded time and
//! memory.

use ketgrad_core::{
    exec::{Datum, Derivatives, Limits},
    observable::PauliSum,
    qasm::{QasmOptions, parse, parse_angle},
    rules::Rules,
    simulate::Simulator,
    text::{entry, parse_program},
};
use support::random::Rng;

use crate::finding::{Checked, Finding, guarded, minimal_text};

/// Texts that are fine, or nearly; pieces of them are moved.
const QASM: &[&str] = &[
    include_str!("../../examples/circuits/grover.qasm"),
    "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[3] q;\nbit[3] c;\ninput float a;\ngate g(t) a, b {\n  rx(t) a;\n  \
     ctrl @ U(t, 0, pi) a, b;\n}\ng(a / 2) q[0], q[1];\nfor int i in [0:2] {\n  h q[i];\n}\nc[0] = measure q[0];\n\
     if (c[0] == 1) {\n  x q[1];\n} else {\n  y q[2];\n}\nwhile (c[0]) {\n  h q[0];\n  c[0] = measure q[0];\n}\n\
     c = measure q;\n",
    "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nconst int n = 4;\nqubit[n] q;\nbit[n] c;\nint[8] k = 3;\nuint[4] u = 7;\n\
     angle[6] t = pi / 3;\nfloat[64] f = 0.5;\narray[int[8], 2, 2] m = {{1, 2}, {3, 4}};\nlet l = q[0:1] ++ q[3];\n\
     def s(qubit p, int[8] j) -> bit {\n  rz(j * pi / 8) p;\n  bit b = measure p;\n  return b;\n}\n\
     c[1] = s(q[1], k);\nk += 2 * m[1, 0];\nu <<= 1;\nswitch (k) {\n  case 1, 9 { x l; }\n  default { z l; }\n}\n\
     pow(0.5) @ x q[0];\ninv @ s q[1];\nnegctrl(2) @ ry(f) q[0], q[1], q[2];\n\
     #pragma braket noise depolarizing(0.1) q[0]\nbarrier q;\nreset q[2];\ndelay[100ns] q[0];\nc = measure q;\n",
    "OPENQASM 2.0;\ninclude \"qelib1.inc\";\nqreg q[4];\ncreg c[2];\ncreg d[2];\ngate foo(a,b) x,y {\n  u3(a,b,-a/2) x;\n  \
     cx x,y;\n  barrier x,y;\n}\nopaque bar(t) x;\nfoo(pi/4,sin(0.3)^2) q[0],q[1];\nh q;\ncu1(-pi) q[2],q[3];\n\
     measure q[0] -> c[0];\nif(c==1) x q[1];\nreset q[0];\nmeasure q[2] -> d[1];\n",
];

const PROGRAMS: &[&str] = &[
    "fn power(x, n: int) {\n  let mut p = 1.0;\n  for i in 0..n {\n    p *= x;\n  }\n  p\n}\nfn f(x) {\n  power(x, 3)\n}\n",
    "struct P { x, y }\nfn g(p: P, k: int) -> real {\n  if k > 0 { p.x * g(p, k - 1) } else { p.y }\n}\n\
     fn f(x) {\n  let p = P { x: x, y: 2.0 };\n  g(p, 3)\n}\n",
    "fn f(x) {\n  let a = [[x, 1.0], [2.0, x * x]];\n  let mut s = 0.0;\n  let b = matmul(a, transpose(a));\n  \
     for i in 0..2 {\n    s += b[i, i] / (1.0 + abs(x));\n  }\n  s + det(a) + sum(slice(a, 0, 1, 1))\n}\n",
    "rule sp(x) { ln(1.0 + exp(x)) }\npullback(x, y, bar) { bar / (1.0 + exp(-x)) }\nfn f(x) {\n  let mut i = 0;\n  \
     let mut v = full(x, [4]);\n  while i < 4 {\n    v[i] = sp(v[i] * real(i));\n    i = i + 1;\n  }\n  \
     v[0] = if x > 0 { x } else { -x };\n  sum(v * v)\n}\n",
    "fn f(x) {\n  let z = complex(x, 1.0);\n  let (a, b) = (re(z * z), im(exp(z)));\n  atan2(a, b) + hypot(a, b)\n}\n",
];

/// Texts that are inserted somewhere.
const PIECES: &[&str] = &[
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "-1",
    "0",
    "1e308",
    "1e-320",
    "0x7fffffffffffffff",
    "1_000_000_000",
    "[0:0]",
    "[5:-1:0]",
    "[0:4000000000]",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "\"",
    "//",
    "/*",
    "*/",
    "@",
    "ctrl @ ",
    "ctrl(100) @ ",
    "pow(1e9) @ ",
    "inv @ ",
    "measure q",
    "bit[4000000000] a;",
    "angle[0] t;",
    "int[128] w = 1;",
    "uint[1] w = 2;",
    "array[int[8], 100000, 100000] w;",
    "qubit[40] r;",
    "def",
    "return",
    "if (c[0])",
    "while (true) { }",
    "for int i in [0:9]",
    "**",
    "++",
    "<<",
    ">>",
    "%",
    "/ 0",
    "π",
    "\u{0}",
    "é",
    "%%",
    "fn",
    "let",
    "mut",
    "..",
    "..=",
    "f(x)",
    "f",
    "x",
    "[1.0; 4294967296]",
    "eye(3)",
    "full(1.0, [2, 2])",
    "take",
    "real(",
    "powi(x, -9223372036854775807)",
    "[x; n]",
    "a[9]",
    "a[-1]",
    "len(a)",
    "true",
    "0.0 / 0.0",
    "break;",
    "continue;",
];

/// One seed.
pub(crate) fn check(seed: u64) -> Checked {
    let mut rng = Rng::new(seed);
    match rng.below(8) {
        0..3 => text(&mutated(QASM[rng.below(QASM.len())], &mut rng), qasm),
        3 => text(&nested(&mut rng), |text| qasm(text).and(program(text)).and(angle(text))),
        4..7 => text(&mutated(PROGRAMS[rng.below(PROGRAMS.len())], &mut rng), program),
        _ => text(&mutated("sin(pi/4)*2^3-0.5e1/(1+ln(2))", &mut rng), angle),
    }
}

fn text(text: &str, laws: impl Fn(&str) -> Checked) -> Checked {
    let laws = |text: &str| guarded(&text, || laws(text));
    laws(text).map_err(|found| minimal_text(text, found, 300, laws))
}

/// A text with one to four changes.
fn mutated(source: &str, rng: &mut Rng) -> String {
    let mut words: Vec<String> = Vec::new();
    for c in source.chars() {
        let joins = |last: &String| {
            let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            word(c) && last.chars().last().is_some_and(word)
        };
        match words.last_mut() {
            Some(last) if joins(last) => last.push(c),
            _ => words.push(c.to_string()),
        }
    }
    for _ in 0..1 + rng.below(4) {
        let (at, other) = (rng.below(words.len()), rng.below(words.len()));
        match rng.below(6) {
            0 => drop(words.remove(at)),
            1 => words.swap(at, other),
            2 => words.insert(at, words[other].clone()),
            3 => {
                let end = (at + rng.below(20)).min(words.len());
                let copied = words[at..end].to_vec();
                words.splice(other..other, copied);
            }
            4 => words[at] = PIECES[rng.below(PIECES.len())].to_owned(),
            _ => words.insert(at, PIECES[rng.below(PIECES.len())].to_owned()),
        }
        if words.is_empty() {
            words.push("x".to_owned());
        }
    }
    words.concat()
}

/// One bracket or word many times, in a frame of one of the languages.
fn nested(rng: &mut Rng) -> String {
    let count = 1 << (4 + rng.below(14));
    let open = [
        "(",
        "[",
        "{",
        "-",
        "!",
        "sin(",
        "if (c[0]) {",
        "inv @ ",
        "ctrl @ ",
        "1+",
        "2**",
        "x.",
        "f(",
        "if x > 0 {",
    ];
    let close = [")", "]", "}", "", "", ")", "}", "", "", "", "", "", ")", "}"];
    let which = rng.below(open.len());
    let (before, after) = (open[which].repeat(count), close[which].repeat(count));
    let inside = ["1", "x", "pi", "q[0];", ""][rng.below(5)];
    match rng.below(5) {
        0 => format!(
            "OPENQASM 3.0;\nqubit[2] q;\nbit[2] c;\nU(0, 0, {before}{inside}{after}) q[0];\n"
        ),
        1 => format!(
            "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[2] q;\nbit[2] c;\n{before}{inside}{after}\n"
        ),
        2 => format!("fn f(x) {{ {before}{inside}{after} }}\n"),
        3 => format!("OPENQASM 2.0;\nqreg q[2];\nU(0, 0, {before}{inside}{after}) q[0];\n"),
        _ => format!("{before}{inside}{after}"),
    }
}

fn qasm(text: &str) -> Checked {
    let options = QasmOptions::default().with_max_gates(20_000);
    match parse(text, &options) {
        Ok(parsed) => {
            let n = parsed.circuit.inputs().count();
            let simulator = Simulator::new().with_memory_limit(1 << 26).with_max_rounds(10_000);
            let inputs = vec![0.3; n];
            if parsed.circuit.n_qubits() <= 12 && parsed.circuit.instructions().len() < 3000 {
                // An error is an answer.
                drop(simulator.run_shots::<f64>(&parsed.circuit, &inputs, 20, 1));
            }
            Ok(())
        }
        Err(failed) => answered(&failed.to_string(), text),
    }
}

fn program(text: &str) -> Checked {
    if text.len() < 200 {
        drop(text.parse::<PauliSum>());
    }
    let program = match parse_program(text) {
        Ok(program) => program,
        Err(errors) => {
            return errors.first().map_or(Ok(()), |error| answered(&error.to_string(), text));
        }
    };
    let Some(name) = entry(&program, &Rules::new()) else { return Ok(()) };
    let limits = Limits::new()
        .with_steps(200_000)
        .with_work(1 << 32)
        .with_depth(1000)
        .with_array(1 << 20)
        .with_memory(1 << 26);
    let Some(f) = program.lookup(name) else { return Ok(()) };
    let datum = |kind: &ketgrad_core::ir::Kind| match kind {
        ketgrad_core::ir::Kind::Real => Some(Datum::Real(0.7)),
        ketgrad_core::ir::Kind::Int => Some(Datum::Int(3)),
        _ => None,
    };
    let params = &program.functions[f].params;
    let Some(args) = params.iter().map(|p| datum(&p.kind)).collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    if let Ok(derivatives) = Derivatives::<f64>::new(&program, name) {
        let mut derivatives = derivatives.with_limits(limits);
        // Errors are answers.
        drop((derivatives.value(&args), derivatives.value_and_gradient(&args)));
    }
    Ok(())
}

fn angle(text: &str) -> Checked {
    match parse_angle(text) {
        Ok(_) => Ok(()),
        Err(error) => answered(&error.message, text),
    }
}

/// An error has a message, and one that can be read.
fn answered(message: &str, text: &str) -> Checked {
    if message.is_empty() || message.len() > 20_000 + 20 * text.len() {
        let detail =
            format!("{} bytes: {}", message.len(), message.chars().take(300).collect::<String>());
        return Err(Finding::new("errors can be read", detail, text));
    }
    Ok(())
}
