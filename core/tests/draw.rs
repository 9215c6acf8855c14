//! Pictures of circuits: golden files, and laws that hold for every picture.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    circuit::{Circuit, Condition, Relation},
    draw,
    gate::{Gate, GateKind},
    matrix::Matrix,
    observable::{Pauli, PauliString},
    param::{Angle, Q},
    qasm::{Options, parse},
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
    c.gate(Gate::new(GateKind::GPHASE, [Angle::pi(3, 8)]).unwrap(), &[], &[(1, false), (3, true)]).unwrap();
    c.measure(0, 0).unwrap().measure(1, 1).unwrap().reset(0).unwrap();
    let both =
        Condition::Compare { bits: [0, 1].into(), relation: Relation::Equal, value: [true, true].into() };
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
        let circuit = parse(&text, &Options::default()).unwrap().circuit;
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
                c.when(Condition::Bit { bit, value: true }, |c| c.gate(gate, &qubits[..k], &controls))
                    .unwrap()
            }
            _ => c.gate(gate, &qubits[..k], &controls).unwrap(),
        };
    }
    c
}

/// How often signs occur, by instruction: each one leaves its own.
fn signs(c: &Circuit) -> [usize; 4] {
    use ketgrad_core::circuit::Operation;
    let mut signs = [0; 4];
    for i in c.instructions() {
        if matches!(i.operation, Operation::Barrier) {
            continue;
        }
        let plain = i.condition.is_none();
        signs[0] += i.controls.iter().filter(|c| c.value).count();
        signs[1] += i.controls.iter().filter(|c| !c.value).count();
        match &i.operation {
            Operation::Gate(g) if g.kind() == GateKind::X && plain && !i.controls.is_empty() => signs[2] += 1,
            Operation::Gate(g) if g.kind() == GateKind::SWAP && plain => signs[2] += 2,
            // A phase without a target stands on its last control, or on a line of its own.
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
                assert!(width != Some(60) || lengths[0] <= 60 || !several, "seed {seed}\n{picture}");
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
    let boxes = ["┤0 RXY(theta)├", "┤1           ├", "phase(-theta)"];
    assert!(boxes.iter().all(|text| picture.contains(text)), "{picture}");
}
