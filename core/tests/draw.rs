//! Pictures of circuits: golden files, and laws that hold for every picture.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use ketgrad_core::{
    circuit::{Circuit, Condition, GateDefinition, Relation},
    draw,
    gate::{Gate, GateKind},
    matrix::Matrix,
    observable::{Pauli, PauliString},
    param::{Angle, Q},
    qasm::{QasmOptions, parse},
};
use support::random::Rng;

/// Every shape once.
fn showcase() -> Circuit {
    let mut c = Circuit::new(5);
    let theta = c.param("theta");
    c.add_register("c", 2).unwrap().add_register("d", 1).unwrap();
    c.h(0).unwrap().cx(0, 2).unwrap().sdg(1).unwrap().swap(3, 4).unwrap();
    c.rx(4, theta.clone() * Q::new(3, 2) - Angle::pi(1, 4)).unwrap();
    c.gate(Gate::new(GateKind::H, []).unwrap(), &[2], &[(0, true), (4, false)]).unwrap();
    c.rzz(3, 1, 0.123_456_789).unwrap().ccx(4, 3, 0).unwrap();
    c.gate(Gate::new(GateKind::ISWAP, []).unwrap(), &[4, 0], &[(2, true)]).unwrap();
    c.barrier(&[0, 1, 2]).unwrap().barrier(&[4]).unwrap();
    c.unitary(Matrix::identity(3), &[0, 1, 2], &[]).unwrap();
    c.cswap(2, 3, 4).unwrap().gphase(Angle::pi(1, 4)).unwrap();
    c.gate(Gate::new(GateKind::GPHASE, [Angle::pi(3, 8)]).unwrap(), &[], &[(1, false), (3, true)])
        .unwrap();
    c.measure(0, 0).unwrap().measure(1, 1).unwrap().reset(0).unwrap();
    let both = Condition::Compare {
        bits: [0, 1].into(),
        relation: Relation::Equal,
        value: [true, true].into(),
    };
    c.when(both, |c| c.cx(0, 2)).unwrap();
    c.when(Condition::Bit { bit: 1, value: false }, |c| c.ry(4, theta)?.measure(3, 2)).unwrap();
    c.assign(2, true).unwrap();
    c
}

/// A picture beside this file; `BLESS=1` writes it anew. Look at it then.
fn golden(name: &str, picture: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, picture).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert_eq!(picture, expected, "{} differs; BLESS=1 writes it anew", path.display());
}

#[test]
fn pictures_are_as_they_were_looked_at() {
    let c = showcase();
    golden("showcase.txt", &draw::text(&c, None));
    golden("showcase_70.txt", &draw::text(&c, Some(70)));
    golden("showcase_ascii.txt", &draw::ascii(&c, Some(100)));
    golden("showcase.svg", &draw::svg(&c, Some(7)));
    golden("fourier.txt", &draw::text(&fourier(4), None));
    golden("fourier.svg", &draw::svg(&fourier(4), None));
    golden("showcase.tex", &draw::latex(&c, Some(7)));
    golden("fourier.tex", &draw::latex(&fourier(4), None));
}

/// Computed angles, as OpenQASM writes them.
#[test]
fn angles_are_formulas_in_latex() {
    let drawn = |angle: &str| {
        let text = format!(
            "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float a;\ninput float b_1;\nqubit q;\nrx({angle}) q;\n"
        );
        let circuit = parse(&text, &QasmOptions::default()).unwrap().circuit;
        let picture = draw::latex(&circuit, None);
        let (_, gate) = picture.split_once("\\gate{R_{X}(").unwrap();
        gate.split_once(")} & \\qw").unwrap().0.to_owned()
    };
    for (angle, expected) in [
        ("3*pi/4", "3\\pi /4"),
        ("a/2 - pi", "-\\pi  + 1/2\\,a"),
        ("1e-7", "0.0000001"),
        ("a**b_1", "(a^{b_{1}})"),
        ("a**(-b_1) * 2", "(a^{(-b_{1})}\\,2)"),
        ("a**sin(b_1) + 1.5", "(a^{\\sin(b_{1})} + 1.5)"),
        ("sqrt(a*b_1)", "(\\operatorname{sqrt}(a\\,b_{1}))"),
    ] {
        assert_eq!(drawn(angle), expected, "{angle}");
    }
}

fn fourier(n: usize) -> Circuit {
    let mut c = Circuit::new(n);
    for i in (0..n).rev() {
        c.h(i).unwrap();
        for j in 0..i {
            c.cp(j, i, Angle::pi(1, 1 << (i - j))).unwrap();
        }
    }
    for i in 0..n / 2 {
        c.swap(i, n - 1 - i).unwrap();
    }
    c.measure_all().unwrap();
    c
}

/// Gates, measurements, barriers and conditions from a few digits.
fn random(n: usize, length: usize, seed: u64) -> Circuit {
    let mut rng = Rng::new(seed);
    let mut below = |n: usize| rng.below(n);
    let mut c = Circuit::new(n);
    c.add_register("c", n).unwrap();
    for _ in 0..length {
        let kind = GateKind::ALL[below(GateKind::ALL.len())];
        let k = kind.n_qubits();
        let mut qubits: Vec<usize> = (0..n).collect();
        for i in 0..n {
            qubits.swap(i, i + below(n - i));
        }
        let n_controls = below(3).min(n - k);
        let controls: Vec<(usize, bool)> =
            qubits[k..k + n_controls].iter().map(|&q| (q, below(2) == 0)).collect();
        let params: Vec<Angle> = (0..kind.param_names().len()).map(|_| Angle::pi(1, 8)).collect();
        let gate = Gate::new(kind, params).unwrap();
        match below(8) {
            0 => c.measure(qubits[0], qubits[1]).unwrap(),
            1 => c.barrier(&qubits[..2]).unwrap(),
            2 => {
                let bit = u32::try_from(qubits[1]).unwrap();
                c.when(Condition::Bit { bit, value: true }, |c| {
                    c.gate(gate, &qubits[..k], &controls)
                })
                .unwrap()
            }
            _ => c.gate(gate, &qubits[..k], &controls).unwrap(),
        };
    }
    c
}

/// Numbers of signs, by instruction: each one leaves its own.
fn signs(c: &Circuit) -> [usize; 4] {
    use ketgrad_core::circuit::Operation;
    let mut signs = [0; 4];
    let calls = c.calls();
    for call in &calls {
        signs[0] += call.controls.iter().filter(|c| c.value).count();
        signs[1] += call.controls.iter().filter(|c| !c.value).count();
        signs[3] += call.qubits.len();
    }
    let in_call = |k: usize| calls.iter().any(|call| call.instructions.contains(&k));
    for (_, i) in c.instructions().iter().enumerate().filter(|(k, _)| !in_call(*k)) {
        if matches!(i.operation, Operation::Barrier) {
            continue;
        }
        let plain = i.condition.is_none();
        signs[0] += i.controls.iter().filter(|c| c.value).count();
        signs[1] += i.controls.iter().filter(|c| !c.value).count();
        match &i.operation {
            Operation::Gate(g) if g.kind() == GateKind::X && plain && !i.controls.is_empty() => {
                signs[2] += 1
            }
            Operation::Gate(g) if g.kind() == GateKind::SWAP && plain => signs[2] += 2,
            // A phase without a target is drawn on its last control, or on a line of its own.
            _ => signs[3] += i.targets.len().max(1),
        }
    }
    signs
}

#[test]
fn every_instruction_appears_and_lines_are_equally_long() {
    for seed in 0..200 {
        let c = random(6, 25, seed);
        for width in [None, Some(60), Some(1)] {
            let picture = draw::text(&c, width);
            let count = |signs: &[char]| picture.chars().filter(|c| signs.contains(c)).count();
            let [ones, zeros, marks, boxes] = signs(&c);
            assert_eq!(count(&['●']), ones, "seed {seed}\n{picture}");
            assert_eq!(count(&['○']), zeros, "seed {seed}\n{picture}");
            assert_eq!(count(&['⊕', '✕']), marks, "seed {seed}\n{picture}");
            assert_eq!((count(&['┤']), count(&['├'])), (boxes, boxes), "seed {seed}\n{picture}");
            for block in picture.split("\n\n") {
                let lengths: Vec<usize> = block.lines().map(|line| line.chars().count()).collect();
                assert!(lengths.windows(2).all(|w| w[0] == w[1]), "seed {seed}\n{picture}");
                let signs = ['⊕', '✕', '●', '○', '┤', '░'];
                let several = block.lines().any(|l| l.matches(signs).count() > 2);
                assert!(
                    width != Some(60) || lengths[0] <= 60 || !several,
                    "seed {seed}\n{picture}"
                );
            }
        }
    }
}

#[test]
fn what_follows_from_a_bit_stands_right_of_it() {
    let mut c = Circuit::new(2);
    c.add_register("c", 1).unwrap().measure(0, 0).unwrap();
    c.when(Condition::Bit { bit: 0, value: true }, |c| c.x(1)).unwrap();
    c.measure(0, 0).unwrap();
    let picture = draw::text(&c, None);
    let place = |text: &str| {
        let line = picture.lines().find(|l| l.contains(text)).unwrap();
        line.chars().count() - line[line.rfind(text).unwrap()..].chars().count()
    };
    assert!(place("M→") > place("X if c[0]"), "{picture}");
}

#[test]
fn idle_and_empty_circuits_have_pictures() {
    let picture = draw::text(&Circuit::new(100), Some(80));
    assert_eq!(picture.lines().count(), 199);
    assert!(picture.starts_with("q0:  ─\n") && picture.ends_with("q99: ─\n"), "{picture}");
    assert_eq!(draw::text(&Circuit::new(0), None), "");
    let mut phase = Circuit::new(0);
    phase.gphase(Angle::pi(1, 3)).unwrap();
    assert_eq!(draw::text(&phase, None), "   ┤phase(pi/3)├ \n");
    assert!(draw::svg(&Circuit::new(0), Some(0)).ends_with("</svg>\n"));
}

#[test]
fn big_circuits_are_drawn_in_time() {
    let c = random(20, 100_000, 7);
    let begin = std::time::Instant::now();
    assert!(draw::text(&c, Some(120)).lines().count() > 39);
    assert!(draw::svg(&c, Some(40)).len() > 1_000_000);
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}

#[test]
fn ascii_is_ascii_and_xml_is_escaped() {
    let mut c = showcase();
    let odd = c.param("θ<&\"'>\u{1}");
    c.rx(0, odd).unwrap();
    assert!(draw::ascii(&c, None).is_ascii());
    let image = draw::svg(&c, None);
    assert!(image.contains("RX(θ&lt;&amp;&quot;&apos;&gt;\u{fffd})"), "{image}");
    // Every element on a line of its own: opened and closed.
    for line in image.lines() {
        let closed = line.ends_with("/>")
            || line.ends_with("</text>")
            || line.starts_with("<svg ")
            || line == "</svg>";
        assert!(line.starts_with('<') && closed, "{line}");
    }
}

#[test]
fn noise_is_a_box_with_its_numbers() {
    let mut c = Circuit::new(2);
    let p = c.param("p");
    c.h(0).unwrap().depolarizing(0, p).unwrap().two_qubit_dephasing(0, 1, 0.1).unwrap();
    let picture = draw::text(&c, None);
    let lines = [
        "q0: ─┤H├─┤depolarizing(p)├─┤0 two_qubit_dephasing(0.1)├─",
        "                           │                          │ ",
        "q1: ───────────────────────┤1                         ├─",
    ];
    assert_eq!(picture.lines().collect::<Vec<_>>(), lines, "{picture}");
}

#[test]
fn a_rotation_about_a_string_is_a_box_with_its_letters() {
    let mut c = Circuit::new(3);
    let theta = c.param("theta");
    c.pauli_rotation(&PauliString::new([(0, Pauli::X), (2, Pauli::Y)]).unwrap(), &theta).unwrap();
    c.pauli_rotation(&PauliString::default(), theta * 2).unwrap();
    let picture = draw::text(&c, None);
    let boxes = ["┤0 RXY(theta)├", "┤1 RXY(theta)├", "phase(-theta)"];
    assert!(boxes.iter().all(|text| picture.contains(text)), "{picture}");
}

/// Calls under modifiers.
const MODIFIED: &str = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ngate pair(t) a, b { ry(t) a; cx a, b; }\nqubit[4] q;\n\
    ctrl @ negctrl @ pair(0.5) q[0], q[2], q[3], q[1];\ninv @ pair(pi/3) q[0], q[1];\n";

/// Circuits of everything that pictures show: all gates under controls above, below and between,
/// rotations about strings, barriers on some qubits, measurements, conditions, noise, symbols in
/// angles, gates with names under controls.
fn everything(seed: u64) -> Circuit {
    let names = ["g", "my_gate", "RX", "ωmega_1", "R(a", "a=b <|&$#~^\\"];
    let gate = |k: usize, rng: &mut Rng| {
        let mut body = Circuit::new(1 + rng.below(3));
        let t = body.param("t");
        body.h(..).unwrap().rx(0, t).unwrap();
        Arc::new(GateDefinition::new(names[k], body).unwrap())
    };
    let named: Vec<_> =
        (0..names.len()).map(|k| gate(k, &mut Rng::new(100 * seed + k as u64))).collect();
    let modified = parse(MODIFIED, &QasmOptions::default()).unwrap().circuit;
    let mut rng = Rng::new(seed);
    let mut below = |n: usize| rng.below(n);
    let n = 2 + below(5);
    let mut c = Circuit::new(n);
    let symbols = ["theta", "b_1", "w[0]", "x", "long_name", "if<&>"].map(|name| c.param(name));
    c.add_register("c", n).unwrap().add_register("my_bits", 1).unwrap();
    for _ in 0..25 {
        let mut qubits: Vec<usize> = (0..n).collect();
        for i in 0..n {
            qubits.swap(i, i + below(n - i));
        }
        let mut angle = || match below(4) {
            0 => Angle::pi(1, 3),
            1 => Angle::rad(0.123_456_789),
            k => symbols[below(symbols.len())].clone() * Q::new(k as i64, 3) - Angle::pi(1, 4),
        };
        let kind = GateKind::ALL[usize::try_from(seed).unwrap() % GateKind::ALL.len()];
        let angles: Vec<Angle> = (0..kind.param_names().len()).map(|_| angle()).collect();
        let p = angle();
        let other = GateKind::ALL[below(GateKind::ALL.len())];
        let gate = match below(2) == 0 && kind.n_qubits() <= n {
            true => Gate::new(kind, angles).unwrap(),
            false => Gate::new(other, (0..other.param_names().len()).map(|_| p.clone())).unwrap(),
        };
        let k = gate.kind().n_qubits();
        if k > n {
            continue;
        }
        let n_controls = below(4).min(n - k);
        let controls: Vec<(usize, bool)> =
            qubits[k..k + n_controls].iter().map(|&q| (q, below(2) == 0)).collect();
        let some = 1 + below(n);
        let condition =
            Condition::Bit { bit: u32::try_from(qubits[0]).unwrap(), value: below(2) == 0 };
        let own = &named[below(named.len())];
        let picked = qubits.get(..own.body().n_qubits());
        match below(14) {
            10 | 11 if picked.is_some() => c.call(own, &[p], picked.unwrap()).unwrap(),
            12 if picked.is_some() => {
                c.when(condition, |c| c.call(own, &[p], picked.unwrap())).unwrap()
            }
            13 if n >= 4 => c.append(&modified, &qubits[..4]).unwrap(),
            0 => c.measure(qubits[0], qubits[1]).unwrap(),
            1 => c.barrier(&qubits[..some]).unwrap(),
            2 => c.when(condition, |c| c.gate(gate, &qubits[..k], &controls)).unwrap(),
            3 => {
                let letters =
                    qubits[..some].iter().map(|&q| (q, [Pauli::X, Pauli::Y, Pauli::Z][q % 3]));
                c.pauli_rotation(&PauliString::new(letters).unwrap(), p).unwrap()
            }
            4 => c.two_qubit_dephasing(qubits[0], qubits[1], p).unwrap(),
            5 => c.unitary(Matrix::identity(some.min(3)), &qubits[..some.min(3)], &[]).unwrap(),
            6 => c.reset(qubits[0]).unwrap().readout_error(n, 0.1, symbols[0].clone()).unwrap(),
            7 => c.when(condition, |c| c.assign(n, true)).unwrap(),
            _ => c.gate(gate, &qubits[..k], &controls).unwrap(),
        };
    }
    c
}

/// Control sequences of LaTeX, amsmath and quantikz, none of them with an argument that a picture
/// does not give.
const CONTROL_SEQUENCES: &str = "begin end lstick gate gateinput control ocontrol targ targX meter qw vqw \
    mbox mathrm mathtt text operatorname quad bullet circ dagger rangle textbackslash sin cos tan exp ln \
    pi alpha beta gamma theta lambda phi omega";

/// Fault of a picture in LaTeX.
fn latex_fault(picture: &str) -> Option<String> {
    for block in picture.split("\n\n") {
        let body = block
            .split_once("\\begin{quantikz}\n")
            .and_then(|(_, rest)| rest.split_once("\n\\end{quantikz}"));
        let Some((body, _)) = body else { return Some(format!("no environment: {block}")) };
        let rows: Vec<&str> = body.split(" \\\\\n").collect();
        if rows.len() != body.lines().count() {
            return Some("a row is not a line".to_owned());
        }
        let cells: Vec<Vec<&str>> = rows.iter().map(|row| columns(row)).collect();
        if let Some(row) = cells.iter().find(|row| row.len() != cells[0].len()) {
            return Some(format!("{} columns and {}: {row:?}", row.len(), cells[0].len()));
        }
        for (at, row) in cells.iter().enumerate() {
            for (column, cell) in row.iter().enumerate() {
                if let Some(fault) = cell_fault(cell) {
                    return Some(format!("{fault}: {cell}"));
                }
                let number = |text: &str| -> usize {
                    text.chars()
                        .take_while(char::is_ascii_digit)
                        .collect::<String>()
                        .parse()
                        .unwrap()
                };
                for (_, offset) in
                    cell.match_indices("\\vqw{").map(|(i, m)| (i, &cell[i + m.len()..]))
                {
                    if at + number(offset) >= rows.len() {
                        return Some(format!("a line leaves the picture: {cell}"));
                    }
                }
                let wires = cell.split_once("wires=").map_or(1, |(_, rest)| number(rest));
                let hidden = cells.get(at + 1..at + wires);
                let is_hidden = |row: &Vec<&str>| {
                    let rest = row[column].trim().trim_end_matches("\\vqw{1}");
                    rest.is_empty() || rest.starts_with("\\gateinput{$") && rest.len() <= 15
                };
                if !hidden.is_some_and(|rows| rows.iter().all(is_hidden)) {
                    return Some(format!("a box lies over other cells: {cell}"));
                }
            }
        }
    }
    None
}

/// The columns of a row: what `&` separates outside of braces.
fn columns(row: &str) -> Vec<&str> {
    let (mut columns, mut start) = (Vec::new(), 0);
    let mut escaped = false;
    for (i, c) in row.char_indices() {
        if c == '&' && !escaped {
            columns.push(&row[start..i]);
            start = i + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    columns.push(&row[start..]);
    columns
}

/// Fault of a cell: braces, the name of a control sequence, a character that must not be
/// there.
fn cell_fault(cell: &str) -> Option<String> {
    let known: Vec<&str> = CONTROL_SEQUENCES.split_whitespace().collect();
    let (mut depth, mut dollars, mut rest) = (0, 0, cell);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some("a brace too many".to_owned()),
            '}' => depth -= 1,
            '$' => dollars += 1,
            '#' | '%' | '~' => return Some(format!("`{c}`")),
            '\\' => {
                let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                rest = after;
                if name.is_empty() {
                    let sign = rest.chars().next()?;
                    if !",;&%$#_{}^~".contains(sign) {
                        return Some(format!("`\\{sign}`"));
                    }
                    rest = &rest[sign.len_utf8()..];
                } else if !known.contains(&name) {
                    return Some(format!("`\\{name}`"));
                }
            }
            // Only in formulas: outside of text, or between dollars.
            c if !c.is_ascii() => return Some(format!("`{c}`")),
            _ => {}
        }
    }
    match (depth, dollars % 2) {
        (0, 0) => None,
        (0, _) => Some("a formula does not end".to_owned()),
        _ => Some("a brace too few".to_owned()),
    }
}

#[test]
fn latex_is_in_order() {
    assert_eq!(cell_fault("\\quadR_{ZZ}").as_deref(), Some("`\\quadR`"));
    assert_eq!(cell_fault("\\gate{H").as_deref(), Some("a brace too few"));
    for seed in 0..400 {
        let c = everything(seed);
        for columns in [None, Some(5)] {
            let picture = draw::latex(&c, columns);
            assert_eq!(latex_fault(&picture), None, "seed {seed}\n{picture}");
        }
    }
    // Circuits of algorithms: boxes on neighbours whose names begin with a letter.
    let graph =
        ketgrad_core::problem::Graph::new(4, [(0, 1, 1.0), (1, 2, 1.0), (0, 3, 1.0)]).unwrap();
    for c in
        [ketgrad_core::ansatz::qaoa(&graph, 2).unwrap(), ketgrad_core::ansatz::uccsd(4, 2).unwrap()]
    {
        let picture = draw::latex(&c, None);
        assert_eq!(latex_fault(&picture), None, "{picture}");
        assert!(picture.contains("\\quad R_{"), "{picture}");
    }
}

/// The numbers of attributes of an element of an SVG image.
fn numbers<const N: usize>(element: &str, names: [&str; N]) -> [f64; N] {
    names.map(|name| {
        let (_, rest) = element.split_once(&format!(" {name}=\"")).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    })
}

#[test]
fn boxes_of_images_are_apart_and_lines_pass_none_of_others() {
    for seed in 0..200 {
        let c = everything(seed);
        let image = draw::svg(&c, Some(8));
        let boxes: Vec<[f64; 4]> = image
            .lines()
            .filter(|line| line.starts_with("<rect") && line.contains("rx="))
            .map(|line| numbers(line, ["x", "y", "width", "height"]))
            .collect();
        for (k, [x, y, w, h]) in boxes.iter().enumerate() {
            for [x2, y2, w2, h2] in &boxes[..k] {
                let apart = x + w <= *x2 || x2 + w2 <= *x || y + h <= *y2 || y2 + h2 <= *y;
                assert!(apart, "seed {seed}: boxes overlap\n{image}");
            }
        }
        let lines: Vec<[f64; 4]> = image
            .lines()
            .filter(|line| line.starts_with("<line"))
            .map(|line| numbers(line, ["x1", "y1", "x2", "y2"]))
            .collect();
        for [x1, y1, x2, y2] in lines {
            for [x, y, w, h] in &boxes {
                // A line up and down goes through the middle of boxes of its own gate.
                let inside = x1 == x2 && x1 > *x && x1 < x + w && y1 < y + h && y2 > *y;
                let own = (x1 - (x + w / 2.0)).abs() < 0.2;
                assert!(!inside || own, "seed {seed}: a line through a box\n{image}");
            }
        }
        // Each row of a box has an input of its gate: no other wire goes through.
        let rows: f64 = boxes.iter().map(|b| (b[3] - 34.0) / 46.0 + 1.0).sum();
        assert_eq!(rows, signs(&c)[3] as f64, "seed {seed}\n{image}");
        let text = draw::text(&c, None);
        assert_eq!(text.matches('┤').count(), signs(&c)[3], "seed {seed}\n{text}");
    }
}

/// Rows of box-drawing characters: what a box contains belongs to its gate.
#[test]
fn gates_on_distant_qubits_leave_the_wires_between_alone() {
    let mut c = Circuit::new(4);
    c.rzz(0, 2, 0.5).unwrap().barrier(&[0, 2, 3]).unwrap().h(1).unwrap();
    c.gate(Gate::new(GateKind::RCCX, []).unwrap(), &[3, 0, 1], &[(2, false)]).unwrap();
    let picture = draw::text(&c, None);
    let lines = [
        "q0: ─┤0 RZZ(0.5)├──░──┤1 RCCX├─",
        "          │           │      │ ",
        "q1: ──────┼───────┤H├─┤2     ├─",
        "          │              │     ",
        "q2: ─┤1 RZZ(0.5)├──░─────○─────",
        "                   ░     │     ",
        "q3: ───────────────░──┤0 RCCX├─",
    ];
    assert_eq!(picture.lines().collect::<Vec<_>>(), lines, "{picture}");
    let picture = draw::latex(&c, None);
    for cell in [
        "& \\gate{0\\;R_{ZZ}(0.5)}\\vqw{1} &",
        "& \\gate[style={dashed,fill=black!10,minimum width=1pt,inner xsep=1pt}]{} & \\gate[wires=2]{\\quad \\mathrm{RCCX}}\\gateinput{$1$} &",
        "& \\gate[wires=2,style={dashed",
        "& \\ocontrol{}\\vqw{1} &",
    ] {
        assert!(picture.contains(cell), "{cell}\n{picture}");
    }
}

#[test]
fn gates_with_names_are_boxes() {
    let circuit = parse(
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ngate layer(t) a, b { ry(t) a; cx a, b; }\ngate one a { h a; s a; }\n\
         input float x;\nqubit[3] q;\nbit[1] c;\nlayer(2*x) q[1], q[0];\none q[2];\nctrl @ inv @ layer(pi/2) q[1], q[0], q[2];\n\
         c[0] = measure q[1];\nif (c[0]) { one q[1]; }\n",
        &QasmOptions::default(),
    )
    .unwrap()
    .circuit;
    let picture = draw::text(&circuit, None);
    let lines = [
        "q0: ─┤1 layer(2*x)├─┤0 layer†(pi/2)├────────────────────────",
        "     │            │        │                                ",
        "q1: ─┤0           ├────────●─────────┤M→c[0]├─┤one if c[0]├─",
        "                           │                                ",
        "q2: ─────┤one├──────┤1 layer†(pi/2)├────────────────────────",
    ];
    assert_eq!(picture.lines().collect::<Vec<_>>(), lines, "{picture}");
    let latex = draw::latex(&circuit, None);
    for cell in [
        "\\gate[wires=2]{\\quad \\mathrm{layer}(2\\,x)}\\gateinput{$1$} &",
        "\\gate{0\\;\\mathrm{layer}^{\\dagger}(\\pi /2)}\\vqw{1} &",
        "\\gate{\\mathrm{one}\\;\\mbox{if c[0]}} &",
    ] {
        assert!(latex.contains(cell), "{cell}\n{latex}");
    }
    let image = draw::svg(&circuit, None);
    for label in [">layer(2*x)</text>", ">layer†(π/2)</text>", ">one</text>"] {
        assert!(image.contains(label), "{label}\n{image}");
    }
    // Letters that formulas lack.
    let accent =
        Arc::new(GateDefinition::new("porté", Circuit::build(1, |c| c.h(0)).unwrap()).unwrap());
    let accent = Circuit::build(1, |c| c.call(&accent, &[], &[0])).unwrap();
    assert!(draw::latex(&accent, None).contains("& \\gate{\\mathrm{port\\mbox{é}}} &"));
    // What is in them.
    let expanded = draw::text(&circuit.clone().expanded(), None);
    assert!(!expanded.contains("layer") && !expanded.contains("one"), "{expanded}");
    assert_eq!(expanded.matches("RY").count(), 2, "{expanded}");
    // A loop: its instructions are counted, too.
    let looped = parse(
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ngate one a { h a; s a; }\nqubit[2] q;\nbit c;\none q[0];\n\
         while (!c) { one q[1]; c = measure q[1]; }\none q[0];\n",
        &QasmOptions::default(),
    );
    let picture = draw::text(&looped.unwrap().circuit, None);
    assert_eq!(
        (picture.matches("┤one├").count(), picture.matches("┤H├").count()),
        (3, 0),
        "{picture}"
    );
}

/// What writes a bit is drawn after all that reads the value before, and what reads it after that.
#[test]
fn bits_are_written_after_they_are_read() {
    let one = || Condition::Bit { bit: 0, value: true };
    let mut c = Circuit::new(3);
    c.add_register("c", 1).unwrap();
    c.h(0).unwrap().t(0).unwrap();
    c.when(one(), |c| c.x(0)).unwrap().measure(1, 0).unwrap();
    c.when(one(), |c| c.y(2)).unwrap();
    let picture = draw::text(&c, None);
    let column = |label: &str| {
        let places = picture
            .lines()
            .filter_map(|line| line.find(label).map(|at| line[..at].chars().count()));
        places.min().unwrap_or_else(|| panic!("no {label}:\n{picture}"))
    };
    let [read, written, after] = ["X", "M", "Y"].map(column);
    assert!(read < written && written < after, "{picture}");
}
