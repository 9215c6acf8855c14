//! Noise in OpenQASM 3: pragmas of Amazon Braket, read and printed.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use ketgrad_core::{
    channel::{Channel, ChannelError, ChannelKind},
    circuit::{Circuit, Condition, Operation},
    gate::{Gate, GateKind},
    matrix::Matrix,
    param::{Angle, Q, Values},
    print::{PrintError, to_qasm2, to_qasm3},
    qasm::{Parsed, QasmOptions, QasmProblem, Severity, parse},
    simulate::{Bits, BoundCircuit, Simulator},
};
use num_complex::Complex;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

type C = Complex<f64>;

/// Two ways to the same density matrix differ by rounding.
const ROUNDING: f64 = 1e-14;

const HEAD: &str = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\n";

fn accept(source: &str) -> Parsed {
    parse(source, &QasmOptions::default()).unwrap_or_else(|failed| panic!("{failed}\n{source}"))
}

/// The circuit of a text on three qubits and two bits, without a warning.
fn read(body: &str) -> Circuit {
    let parsed = accept(&format!("{HEAD}qubit[3] q;\nbit[2] c;\n{body}\n"));
    assert!(parsed.warnings.is_empty(), "{:?}\n{body}", parsed.warnings);
    parsed.circuit
}

/// Those of [`read`], as text.
fn lines(body: &str) -> String {
    read(body).to_string()
}

/// The errors of a text on three qubits, one per line: what is underlined, the message, and the
/// help in brackets.
fn errors(body: &str) -> String {
    let source = format!("{HEAD}qubit[3] q; bit[2] c; input float t;\n{body}\n");
    let Err(failed) = parse(&source, &QasmOptions::default()) else {
        panic!("accepted:\n{source}")
    };
    let errors = failed.diagnostics.iter().filter(|d| d.severity == Severity::Error).map(|error| {
        let place = error.labels.first().map_or("", |label| &source[label.span.clone()]);
        let help = error.help.as_ref().map_or(String::new(), |help| format!(" [{help}]"));
        format!("`{place}` {}{help}", error.message)
    });
    errors.collect::<Vec<_>>().join("\n")
}

/// The errors of a line of noise.
fn wrong(noise: &str) -> String {
    errors(&format!("#pragma braket noise {noise}"))
}

fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    (rng.next_u64() % n.max(1) as u64) as usize
}

/// A number in [0, 1) without short decimals.
fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Operators with all entries complex: an isometry's blocks, by Gram-Schmidt.
fn random_kraus(rng: &mut ChaCha8Rng, n_qubits: usize, n: usize) -> Channel {
    let dim = 1 << n_qubits;
    let mut columns: Vec<Vec<C>> = Vec::new();
    for _ in 0..dim {
        let mut column: Vec<C> =
            (0..n * dim).map(|_| C::new(unit(rng) - 0.5, unit(rng) - 0.5)).collect();
        for before in &columns {
            let overlap: C = before.iter().zip(&column).map(|(a, b)| a.conj() * b).sum();
            column.iter_mut().zip(before).for_each(|(x, b)| *x -= overlap * b);
        }
        let norm = column.iter().map(C::norm_sqr).sum::<f64>().sqrt();
        columns.push(column.into_iter().map(|x| x / norm).collect());
    }
    Channel::kraus((0..n).map(|k| Matrix::from_fn(n_qubits, |i, j| columns[j][k * dim + i])))
        .unwrap()
}

fn bits(channel: &Channel) -> Vec<[u64; 2]> {
    let entries = channel.operators().iter().flat_map(|o| o.entries().iter());
    entries.map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()
}

#[test]
fn noise_is_printed_in_numbers_that_braket_takes() {
    let noise = [
        ("bit_flip(0)", "bit_flip(0.0)"),
        ("bit_flip(1)", "bit_flip(1.0)"),
        ("phase_damping(pi/20)", "phase_damping(0.15707963267948966)"),
        ("pauli_channel(0, 1/4.0, 2*0.125)", "pauli_channel(0.0, 0.25, 0.25)"),
        ("bit_phase_flip(pi/4)", "pauli_channel(0.0, 0.7853981633974483, 0.0)"),
    ];
    for (given, printed) in noise {
        let text = to_qasm3(&read(&format!("#pragma braket noise {given} q[0]"))).unwrap();
        assert!(text.contains(&format!("#pragma braket noise {printed} q[0]\n")), "{text}");
    }
}

#[test]
fn every_channel_reads_and_prints_back() {
    for &kind in ChannelKind::ALL {
        let params: Vec<f64> = (1..=kind.param_names().len()).map(|k| 0.1 * k as f64).collect();
        let texts: Vec<String> = params.iter().map(|p| format!("{p:?}")).collect();
        let targets = &[2, 0][..kind.n_qubits()];
        let qubits: Vec<String> = targets.iter().map(|q| format!("q[{q}]")).collect();
        let noise = format!(
            "pragma braket noise {}({}) {}",
            kind.name(),
            texts.join(", "),
            qubits.join(", ")
        );

        let mut expected = Circuit::new(3);
        expected.add_register("c", 2).unwrap();
        expected
            .channel(Channel::new(kind, params.iter().map(|&p| Angle::rad(p))).unwrap(), targets)
            .unwrap();
        assert_eq!(read(&noise), expected, "{noise}");
        assert_eq!(
            read(&format!("h q[0];\n\t#{noise} // and no more\nx q[1];")).instructions().len(),
            3
        );
        let text = to_qasm3(&expected).unwrap();
        // Braket has no name for a flip of bit and phase.
        let noise = noise.replace("bit_phase_flip(0.1)", "pauli_channel(0.0, 0.1, 0.0)");
        assert_eq!(text, format!("{HEAD}qubit[3] q;\nbit[2] c;\n#{noise}\n"));
        let back = accept(&text).circuit;
        if kind == ChannelKind::BitPhaseFlip {
            assert_eq!(back, read(&noise));
        } else {
            assert_eq!(back, expected);
        }
        assert_eq!(to_qasm2(&expected), Err(PrintError::Noise { channel: kind.name() }));
    }
}

#[test]
fn noise_goes_along_registers_as_gates_do() {
    assert_eq!(
        lines("#pragma braket noise bit_flip(0.1) q"),
        "bit_flip(0.1) q[0]\nbit_flip(0.1) q[1]\nbit_flip(0.1) q[2]\n"
    );
    assert_eq!(
        lines("#pragma braket noise bit_flip(0.1) q[2:-2:0]"),
        "bit_flip(0.1) q[2]\nbit_flip(0.1) q[0]\n"
    );
    assert_eq!(
        lines("#pragma braket noise two_qubit_dephasing(0.1) q[1], q[{0, 2}]"),
        "two_qubit_dephasing(0.1) q[1], q[0]\ntwo_qubit_dephasing(0.1) q[1], q[2]\n"
    );
    // One operand for all qubits, as Amazon Braket has it.
    assert_eq!(
        lines("let a = q[2] ++ q[0];\n#pragma braket noise two_qubit_dephasing(0.1) a"),
        "two_qubit_dephasing(0.1) q[2], q[0]\n"
    );
    let hardware = accept(&format!("{HEAD}#pragma braket noise bit_flip(1/4.0) $2\n")).circuit;
    assert_eq!((hardware.n_qubits(), hardware.to_string().as_str()), (3, "bit_flip(0.25) q[2]\n"));
}

#[test]
fn parameters_are_those_of_gates() {
    let text = format!(
        "{HEAD}input float p;\ninput array[float, 2] w;\nconst float s = 0.2;\nqubit q;\n\
         #pragma braket noise depolarizing(p) q\n\
         #pragma braket noise pauli_channel(s/4, w[1]/3, sin(p)**2) q\n\
         #pragma braket noise phase_flip(pi/8) q\n\
         for float x in {{0.25, 0.5}} {{\n    #pragma braket noise phase_damping(x*p) q\n}}\n"
    );
    let circuit = accept(&text).circuit;
    assert_eq!(
        circuit.to_string(),
        "depolarizing(p) q[0]\npauli_channel(0.05, 1/3*w[1], (sin(p)*sin(p))) q[0]\nphase_flip(pi/8) q[0]\n\
         phase_damping(1/4*p) q[0]\nphase_damping(1/2*p) q[0]\n"
    );
    let (printed, inputs) = (to_qasm3(&circuit).unwrap(), [0.3, 0.1, 0.2]);
    let back = accept(&printed).circuit;
    let [rho, again] = [&circuit, &back].map(|c| Simulator::new().run_density(c, &inputs).unwrap());
    for pauli in ["X0", "Y0", "Z0"] {
        let value = |rho: &ketgrad_core::state::DensityMatrix<C>| {
            rho.expectation(&pauli.parse().unwrap()).unwrap()
        };
        assert!((value(&rho) - value(&again)).abs() < ROUNDING, "{printed}");
    }
    // One that is no constant is looked at when it has a value.
    let error = Simulator::new().run_density(&circuit, &[1.5, 0.0, 0.0]).unwrap_err().to_string();
    assert!(error.contains("which is not between 0 and 1"), "{error}");
}

#[test]
fn kraus_operators_have_complex_entries() {
    let channel = |noise: &str| {
        let circuit = read(&format!("#pragma braket noise kraus({noise}) q[0]"));
        match &circuit.instructions()[0].operation {
            Operation::Channel(channel) => channel.clone(),
            other => panic!("{other:?}"),
        }
    };
    let entries = |noise: &str| -> Vec<C> {
        channel(noise).operators().iter().flat_map(|o| o.entries().to_vec()).collect()
    };
    let c = C::new;
    let (o, r) = (c(0.0, 0.0), 0.31622776601683794);
    assert_eq!(
        entries(
            "[[0.9486832980505138, 0], [0, 0.9486832980505138im]], [[0, 0.31622776601683794], [-0.31622776601683794 im, 0]]"
        ),
        [c(0.9486832980505138, 0.0), o, o, c(0.0, 0.9486832980505138), o, c(r, 0.0), c(0.0, -r), o]
    );
    // All that the language can compute.
    assert_eq!(entries("[[0.6+0.8im, 0], [0, -0.6-0.8im]]"), [c(0.6, 0.8), o, o, c(-0.6, -0.8)]);
    assert_eq!(
        entries("[[cos(pi) * 1im, 0], [0, (1 + 1im)*(1 + 1im)/2]]"),
        [c(0.0, -1.0), o, o, c(0.0, 1.0)]
    );
    assert_eq!(entries("[[sqrt(0.25)*2, 0], [0, 1/1im]]"), [c(1.0, 0.0), o, o, c(0.0, -1.0)]);
    let constant = "const complex[float[64]] z = 0.6 - 0.8im;\n#pragma braket noise kraus([[z, 0], [0, -z]]) q[1]";
    assert_eq!(lines(constant), "kraus q[1]\n");
    // Digits that read back the same bits.
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for k in [1, 2] {
        for n in 1..=4 {
            let given = random_kraus(&mut rng, k, n);
            let mut circuit = Circuit::new(3);
            circuit.channel(given.clone(), &[2, 0][..k]).unwrap();
            let text = to_qasm3(&circuit).unwrap();
            let back = accept(&text).circuit;
            assert_eq!(back, circuit, "{text}");
            match &back.instructions()[0].operation {
                Operation::Channel(channel) => assert_eq!(bits(channel), bits(&given)),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// X on the second of two qubits: the first is the most significant bit of a row.
#[test]
fn kraus_operators_have_the_order_of_amazon_braket() {
    let kraus = "#pragma braket noise kraus(\
        [[0.9486832980505138, 0, 0, 0], [0, 0.9486832980505138, 0, 0], \
        [0, 0, 0.9486832980505138, 0], [0, 0, 0, 0.9486832980505138]], \
        [[0, 0.31622776601683794, 0, 0], [0.31622776601683794, 0, 0, 0], \
        [0, 0, 0, 0.31622776601683794], [0, 0, 0.31622776601683794, 0]])";
    let flip = read("#pragma braket noise bit_flip(0.1) q[1]");
    for targets in ["q[2], q[1]", "q[{2, 1}]"] {
        let circuit = read(&format!("{kraus} {targets}"));
        assert_eq!(circuit.instructions()[0].targets.as_slice(), [1, 2]);
        for pauli in ["Z0", "Z1", "Z2"] {
            let z = |c: &Circuit| {
                let rho = Simulator::new().run_density::<f64>(c, &[]).unwrap();
                rho.expectation(&pauli.parse().unwrap()).unwrap()
            };
            assert!((z(&circuit) - z(&flip)).abs() < ROUNDING, "{pauli}");
        }
    }
}

#[test]
fn conditions_and_blocks_apply_to_noise() {
    let noise = "#pragma braket noise bit_flip(0.1) q[0]";
    assert_eq!(
        lines(&format!("if (c[0]) {{\n{noise}\nx q[2];\n}} else {{\n{noise}\n}}")),
        "if (c[0] == 1) bit_flip(0.1) q[0]\nif (c[0] == 1) x q[2]\nif (c[0] == 0) bit_flip(0.1) q[0]\n"
    );
    assert_eq!(
        lines(&format!("if (c[0]) {noise}\nx q[1];")),
        "if (c[0] == 1) bit_flip(0.1) q[0]\nx q[1]\n"
    );
    assert_eq!(
        lines("for int k in [0:2] {\n    #pragma braket noise bit_flip(k/4.0) q[k]\n}"),
        "bit_flip(0) q[0]\nbit_flip(0.25) q[1]\nbit_flip(0.5) q[2]\n"
    );
    let looped = format!("while (c[0] == 0) {{\nh q[0];\n{noise}\nc[0] = measure q[0];\n}}");
    assert!(lines(&looped).contains("\n  bit_flip(0.1) q[0]\n"), "{}", lines(&looped));
    // In subroutines, on their qubits and with their numbers.
    assert_eq!(
        lines(
            "def noisy(qubit[2] a, float p) {\nh a;\n#pragma braket noise bit_flip(p/2) a[1]\n}\nnoisy(q[1:2], 0.5);"
        ),
        "h q[1]\nh q[2]\nbit_flip(0.25) q[2]\n"
    );
    // Noise on a measured qubit is a use of it.
    let used = format!("measure q;\n{noise}");
    assert_eq!(
        accept(&format!("{HEAD}qubit[3] q;\n{used}\n")).circuit.count_operations()["measure"],
        1
    );
}

#[test]
fn a_pragma_under_a_condition_has_its_line() {
    let mut circuit = Circuit::new(1);
    circuit.add_register("c", 2).unwrap();
    let bit = |bit, value| Condition::Bit { bit, value };
    circuit.when(bit(0, true), |c| c.bit_flip(0, 0.1)).unwrap().x(0).unwrap();
    circuit.when(bit(0, true).and(bit(1, false)), |c| c.phase_flip(0, 0.2)).unwrap();
    circuit.when(bit(1, true), |c| c.x(0)?.phase_damping(0, 0.3)?.measure(0, 1)).unwrap();
    let text = to_qasm3(&circuit).unwrap();
    let body = "if (c[0]) {\n    #pragma braket noise bit_flip(0.1) q\n}\nx q;\nif (c[0]) {\n    if (!c[1]) {\n        \
                #pragma braket noise phase_flip(0.2) q\n    }\n}\nif (c[1]) {\n    x q;\n    \
                #pragma braket noise phase_damping(0.3) q\n    c[1] = measure q;\n}\n";
    assert_eq!(text, format!("{HEAD}qubit q;\nbit[2] c;\n{body}"));
    assert_eq!(accept(&text).circuit, circuit);
    let looped = read(
        "while (c[0] == 0) {\nh q[0];\n#pragma braket noise bit_flip(0.1) q[0]\nc[0] = measure q[0];\n}",
    );
    assert_eq!(accept(&to_qasm3(&looped).unwrap()).circuit, looped);
}

#[test]
fn random_circuits_with_noise_read_back_as_they_were() {
    for seed in 0..200 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let n = 2 + below(&mut rng, 3);
        let mut circuit = Circuit::new(n);
        let inputs = ["rate", "w[0]", "w[1]"].map(|name| circuit.param(name));
        circuit.add_register("c", n).unwrap();
        for _ in 0..20 {
            let (first, step) = (below(&mut rng, n), 1 + below(&mut rng, n - 1));
            let pair = [first, (first + step) % n];
            let probability = |rng: &mut ChaCha8Rng| match below(rng, 4) {
                0 => inputs[below(rng, 3)].clone() * Q::new(1, 1 + below(rng, 5) as i64),
                1 => Angle::rad(1.0) - inputs[0].clone(),
                2 => Angle::rad(0.125),
                _ => Angle::rad(unit(rng) / 3.0),
            };
            let channel = match below(&mut rng, 4) {
                0 => {
                    let (k, operators) = (1 + below(&mut rng, 2), 1 + below(&mut rng, 4));
                    random_kraus(&mut rng, k, operators)
                }
                _ => {
                    let kind = match ChannelKind::ALL[below(&mut rng, ChannelKind::ALL.len())] {
                        // It reads back as a `pauli_channel`.
                        ChannelKind::BitPhaseFlip => ChannelKind::PhaseFlip,
                        kind => kind,
                    };
                    let params: Vec<Angle> =
                        kind.param_names().iter().map(|_| probability(&mut rng)).collect();
                    Channel::new(kind, params).unwrap()
                }
            };
            let targets = &pair[..channel.n_qubits()];
            let condition =
                Condition::Bit { bit: below(&mut rng, n) as u32, value: below(&mut rng, 2) == 0 };
            match below(&mut rng, 5) {
                0 => circuit.when(condition, |c| c.channel(channel, targets)).unwrap(),
                1 => circuit
                    .when(condition, |c| c.channel(channel, targets)?.measure(pair[0], pair[1]))
                    .unwrap(),
                2 => circuit
                    .gate(Gate::new(GateKind::H, []).unwrap(), &pair[..1], &[(pair[1], true)])
                    .unwrap(),
                _ => circuit.channel(channel, targets).unwrap(),
            };
        }
        let text = to_qasm3(&circuit).unwrap();
        let back = accept(&text).circuit;
        assert_eq!(back.params(), circuit.params(), "seed {seed}");
        for (read, given) in back.instructions().iter().zip(circuit.instructions()) {
            assert_eq!(read, given, "seed {seed}");
        }
        assert_eq!(back, circuit, "seed {seed}");
    }
}

#[test]
fn errors_point_into_the_line() {
    let all = "bit_flip, phase_flip, bit_phase_flip, pauli_channel, depolarizing, two_qubit_depolarizing, \
               two_qubit_dephasing, amplitude_damping, generalized_amplitude_damping, phase_damping, kraus";
    assert_eq!(
        wrong("bit_flop(0.1) q[0]"),
        "`bit_flop` channel `bit_flop` is not known [did you mean `bit_flip`?]"
    );
    assert_eq!(wrong("fog(0.1) q[0]"), format!("`fog` channel `fog` is not known [{all}]"));
    assert_eq!(
        wrong("bit_flip(0.1, 0.2) q[0]"),
        "`0.1, 0.2` `bit_flip` takes 1 parameter, not 2 [`bit_flip(p) …`]"
    );
    assert_eq!(
        wrong("pauli_channel q[0]"),
        "`pauli_channel` `pauli_channel` takes 3 parameters, not 0 [`pauli_channel(px, py, pz) …`]"
    );
    // Both what is done and where.
    assert_eq!(
        wrong("bit_flip(rate) room[0]"),
        "`rate` `rate` is not declared\n`room` `room` is not declared"
    );
    assert_eq!(
        wrong("bit_flip(0.1) q[3]"),
        "`q[3]` index 3 is out of range: `q` has 3 elements [indices of `q` are 0 to 2]"
    );
    assert_eq!(
        wrong("bit_flip(0.1) c[0]"),
        "`c` `c` is a classical register, not a quantum register"
    );
    assert_eq!(wrong("bit_flip(0.1) q[0], q[1]"), "`q[0], q[1]` `bit_flip` acts on 1 qubit, not 2");
    assert_eq!(
        wrong("two_qubit_dephasing(0.1) q"),
        "`q` `two_qubit_dephasing` acts on 2 qubits, not 3"
    );
    assert_eq!(
        wrong("two_qubit_dephasing(0.1) q[1], q"),
        "`q` qubit q[1] is used twice by `two_qubit_dephasing`"
    );
    assert_eq!(
        wrong("bit_flip(\"01\") q[0]"),
        "`\"01\"` a bit string where a probability is needed"
    );
    assert_eq!(wrong("bit_flip([0.1]) q[0]"), "`[0.1]` an array where a probability is needed");
    assert_eq!(
        wrong("bit_flip(0.1im) q[0]"),
        "`0.1im` a complex number where a probability is needed"
    );
    assert_eq!(wrong("bit_flip(1/0) q[0]"), "`1/0` division by zero");
    assert_eq!(
        wrong("bit_flip(1.5) q[0]"),
        "`1.5` `p` of `bit_flip` is 1.5, which is not between 0 and 1"
    );
    assert_eq!(
        wrong("generalized_amplitude_damping(0.5, -1/4.0) q[0]"),
        "`-1/4.0` `p` of `generalized_amplitude_damping` is -0.25, which is not between 0 and 1"
    );
    assert_eq!(
        wrong("pauli_channel(0.5, 0.5, 0.25) q[0]"),
        "`0.5, 0.5, 0.25` what px, py, pz leave in `pauli_channel` is -0.25, which is not between 0 and 1"
    );
}

#[test]
fn matrices_that_are_no_channel() {
    assert_eq!(
        wrong("kraus([[1, 0], [0, 0.5]]) q[0]"),
        "`[[1, 0], [0, 0.5]]` the Kraus operators do not keep the trace: entry (1, 1) of the sum of K^dagger K is off \
         by 7.5e-1, more than 1e-7"
    );
    let sizes = "a channel has Kraus operators that all act on the same 1 to 4 qubits, not";
    assert_eq!(wrong("kraus q[0]"), format!("`kraus` {sizes} []"));
    assert_eq!(wrong("kraus([[1]]) q[0]"), format!("`[[1]]` {sizes} [0]"));
    assert_eq!(
        wrong("kraus([[1, 0], [0, 1]], [[0]]) q[0]"),
        format!("`[[1, 0], [0, 1]], [[0]]` {sizes} [1, 0]")
    );
    assert_eq!(
        wrong("kraus([[1, 0], [0]]) q[0]"),
        "`[[1, 0], [0]]` row 1 has 1 entries; a matrix with 2 rows has 2 in each"
    );
    assert!(
        wrong("kraus([]) q[0]").starts_with("`[]` a gate's matrix has 2^k rows"),
        "{}",
        wrong("kraus([]) q[0]")
    );
    assert_eq!(
        wrong("kraus(1) q[0]"),
        "`1` an integer where a matrix such as `[[0, 1], [1, 0]]` is needed"
    );
    assert_eq!(
        wrong("kraus([[1, 0], 0.5]) q[0]"),
        "`0.5` a number where a row of numbers such as `[0, 1]` is needed"
    );
    assert_eq!(
        wrong("kraus([[1, true], [0, 1]]) q[0]"),
        "`true` a truth value where a number is needed"
    );
    for entry in ["t", "t*1im"] {
        assert_eq!(
            wrong(&format!("kraus([[1, 0], [0, {entry}]]) q[0]")),
            format!("`{entry}` an entry of a matrix must be a constant")
        );
    }
    assert_eq!(wrong("kraus([[1im/0, 0], [0, 1]]) q[0]"), "`1im/0` division by zero");
    assert_eq!(
        wrong("kraus([[1e999im, 0], [0, 1]]) q[0]"),
        "`1e999im` the value is not a finite number"
    );
    assert_eq!(
        wrong("kraus([[1, 0], [0, 1]]) q[0], q[1]"),
        "`q[0], q[1]` `kraus` acts on 1 qubit, not 2"
    );
    // As data.
    let source = format!("{HEAD}qubit q;\n#pragma braket noise kraus([[2, 0], [0, 1]]) q\n");
    let failed = parse(&source, &QasmOptions::default()).unwrap_err();
    let error = ChannelError::Trace { row: 0, column: 0, deviation: 3.0 };
    assert_eq!(*failed.diagnostics[0].problem, QasmProblem::Channel { error });
}

#[test]
fn a_pragma_is_its_line() {
    let own = " [a pragma has a line of its own, without `;`]";
    assert_eq!(
        wrong("bit_flip(0.1) q[0];"),
        format!("`;` expected the end of the line, found `;`{own}")
    );
    assert_eq!(
        wrong("bit_flip(0.1) q[0] x q[0];"),
        format!("`x` expected the end of the line, found `x`{own}")
    );
    assert_eq!(wrong(""), "`` expected the name of a channel, found the end of the line");
    assert_eq!(
        wrong("bit_flip(0.1)"),
        "`` expected a register or a qubit, found the end of the line"
    );
    assert_eq!(
        wrong("bit_flip(0.1\n) q[0]").lines().next().unwrap(),
        "`` expected `)`, found the end of the line"
    );
    assert_eq!(wrong("if(0.1) q[0]"), "`if` `if` is a keyword and cannot be a name");
    assert_eq!(wrong("bit_flip(0.1) q[0] /* on"), "`/*` the comment has no closing `*/`");
    assert_eq!(wrong("bit_flip(0x) q[0]"), "`0x` `0x` is not a number");
    let deep = wrong(&format!("kraus({}) q[0]", "[".repeat(10_000)));
    assert_eq!(deep, "`[` nested more than 256 levels deep");
    // What follows is looked at, and not taken for a part of it.
    assert_eq!(
        errors(
            "#pragma braket noise bit_flip(0.1) q[0]]\nnope q[0];\nif (c[0]) {\n#pragma braket noise 3\nunheard q;\n}"
        ),
        format!(
            "`]` expected the end of the line, found `]`{own}\n`3` expected the name of a channel, found `3`\n\
             `nope` gate `nope` is not defined\n`unheard` gate `unheard` is not defined"
        )
    );
    // On Windows a line ends with two characters.
    assert_eq!(
        lines("#pragma braket noise bit_flip(0.1) q[0]\r\nx q[0];\r"),
        "bit_flip(0.1) q[0]\nx q[0]\n"
    );
}

#[test]
fn noise_is_in_no_gate_definition_and_other_pragmas_say_nothing() {
    assert_eq!(
        errors("gate g a {\n#pragma braket noise bit_flip(0.1) a\nx a;\n}"),
        "`#pragma braket noise bit_flip(0.1) a` this is not allowed in a gate definition [put the pragma after the calls \
         of the gate, or make the gate a subroutine]"
    );
    let quiet = "#pragma braket noisy(0.1) q\npragma braket result density_matrix\n#pragma noise bit_flip(2) q\n\
                 #pragmabraket noise x\n#pragma braketnoise x\n#pragma";
    let ignored = |source: &str| {
        let parsed = accept(source);
        assert_eq!(parsed.circuit.instructions().len(), 1, "{source}");
        let problems: Vec<QasmProblem> = parsed.warnings.into_iter().map(|w| *w.problem).collect();
        assert_eq!(problems, [QasmProblem::Ignored { what: "a pragma" }], "{source}");
    };
    ignored(&format!("{HEAD}qubit q;\n{quiet}\nx q;\n"));
    ignored(
        "OPENQASM 2.0;\ninclude \"qelib1.inc\";\nqreg q[1];\n#pragma braket noise what(2) q[7]\nx q[0];\n",
    );
}

#[test]
fn noise_is_counted_before_it_is_built() {
    let few = QasmOptions::default().with_max_gates(5);
    let source = format!("{HEAD}qubit[1000000000] q;\n#pragma braket noise bit_flip(0.1) q\n");
    let failed = parse(&source, &few).unwrap_err();
    assert_eq!(
        *failed.diagnostics[0].problem,
        QasmProblem::TooManyGates { count: 1_000_000_000, limit: 5 }
    );
    assert_eq!(
        &source[failed.diagnostics[0].labels[0].span.clone()],
        "#pragma braket noise bit_flip(0.1) q"
    );
}

/// Pieces that mean something in a line of noise.
const PIECES: &[&str] = &[
    "#pragma braket noise ",
    "pragma braket noise kraus(",
    "#pragma ketgrad readout_error(0.1, p) c",
    "#pragma braket unitary([[1, 0], [0, 1im]]) q",
    "bit_flip(",
    "pauli_channel(0.1, 0.2, p)",
    "[",
    "]",
    "[[",
    "]]",
    "(",
    ")",
    ",",
    "{",
    "}",
    ";",
    "\n",
    "\r",
    "0",
    "1.5",
    "-",
    "/",
    "1e999",
    "im",
    "0.5im",
    "p",
    "q",
    "q[0]",
    "q[{1, 0}]",
    "$0",
    "/*",
    "//",
    "\"",
    "measure q",
    "if (c[0]) ",
    "sin(",
    "**",
    "\u{0}",
    "θ",
    "\u{2028}",
    "@",
    "#",
    "gate g a {",
    "for int k in [0:3] {",
    "def f(qubit a) {",
    "durationof({",
];

#[test]
fn damaged_noise_is_answered() {
    const ROUNDS: u64 = 20_000;
    let text = format!(
        "{HEAD}input float p;\nqubit[3] q;\nbit[2] c;\n#pragma braket noise depolarizing(p/2) q\n\
         #pragma braket noise kraus([[0.6, 0], [0, 0.8im]], [[0, 0.6], [0.8-0im, 0]]) q[1]\n\
         def f(qubit a) {{\n    #pragma braket noise bit_flip(0.1) a\n}}\nf(q[0]);\n\
         if (c[0]) {{\n    pragma braket noise two_qubit_dephasing(sin(p)) q[{{2, 0}}] // end\n}}\n\
         for float x in {{0.1, 0.2}} {{\n    #pragma braket noise pauli_channel(x, 0.1, p) q[0:1]\n}}\nc[0] = measure q[0];\n\
         #pragma ketgrad readout_error(p, 0.1) c[0:1]\n#pragma braket unitary([[0, -1im], [1im, 0]]) q[0]\n"
    );
    let (mut accepted, mut refused) = (0u64, 0u64);
    for seed in 0..ROUNDS {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut text = text.clone();
        for _ in 0..1 + below(&mut rng, 3) {
            let mut place = |text: &str| {
                let mut at = below(&mut rng, text.len() + 1);
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                at
            };
            let (a, b) = (place(&text), place(&text));
            let (start, mut end) = (a.min(b), a.max(b).min(a.min(b) + 8));
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let piece = PIECES[below(&mut rng, PIECES.len())];
            match below(&mut rng, 4) {
                0 => text.replace_range(start..end, ""),
                1 => text.replace_range(start..end, piece),
                2 => text.insert_str(start, piece),
                _ => text.truncate(text.len() - below(&mut rng, 3).min(text.len())),
            }
        }
        let options = QasmOptions::default().with_max_gates(1_000);
        let answer = catch_unwind(AssertUnwindSafe(|| match parse(&text, &options) {
            Ok(parsed) => {
                // What reads prints, and reads back.
                let printed = to_qasm3(&parsed.circuit).unwrap();
                let back = parse(&printed, &QasmOptions::default()).unwrap().circuit;
                let (mut back, mut read) =
                    (back.count_operations(), parsed.circuit.count_operations());
                if read.contains_key("unitary") {
                    // A matrix is printed as gates.
                    for counts in [&mut back, &mut read] {
                        counts.retain(|name, _| ChannelKind::find(name).is_some());
                    }
                }
                assert_eq!(back, read, "{printed}");
                true
            }
            Err(failed) => {
                for label in failed.diagnostics.iter().flat_map(|d| &d.labels) {
                    assert!(
                        failed.sources[label.source].text.get(label.span.clone()).is_some(),
                        "{label:?}"
                    );
                }
                false
            }
        }));
        match answer {
            Ok(true) => accepted += 1,
            Ok(false) => refused += 1,
            Err(_) => panic!("seed {seed}:\n{text}"),
        }
    }
    // The damage is such that both happen a lot.
    assert!(
        accepted > ROUNDS / 20 && refused > ROUNDS / 5,
        "{accepted} accepted, {refused} refused"
    );
}

#[test]
fn matrices_have_the_first_qubit_as_the_most_significant() {
    // |first second> goes to |first xor second, second>.
    let text = "h q[0];\n#pragma braket unitary([[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0]]) q[2], q[0]";
    let circuit = read(text);
    let state = Simulator::new().run::<f64>(&circuit, &[]).unwrap();
    for (index, amplitude) in state.amplitudes().iter().enumerate() {
        let expected = if matches!(index, 0b000 | 0b101) { 0.5f64.sqrt() } else { 0.0 };
        assert!((amplitude - expected).norm() < ROUNDING, "{index:03b}: {amplitude}");
    }
    assert_eq!(lines("#pragma braket unitary([[0, -1im], [1im, 0]]) q").lines().count(), 3);
    let unitary = |rest: &str| errors(&format!("#pragma braket unitary{rest}"));
    assert_eq!(
        unitary("([[1, 0], [0, 2]]) q[0]"),
        "`[[1, 0], [0, 2]]` the matrix is not unitary: entry (1, 1) of U^dagger U is off by 3e0, more than 1e-7"
    );
    assert_eq!(
        unitary("([[1, 0], [0, 1]]) q[0], q[1]"),
        "`q[0], q[1]` `unitary` acts on 1 qubit, not 2"
    );
    assert_eq!(
        unitary(" q[0]"),
        "`unitary` `unitary` takes 1 parameter, not 0 [`unitary([[0, 1], [1, 0]]) …`]"
    );
    assert_eq!(unitary("([[1, 0], [0, t]]) q[0]"), "`t` an entry of a matrix must be a constant");
}

#[test]
fn readings_that_may_be_wrong_read_and_print_back() {
    let body = "c[0] = measure q[1];\n#pragma ketgrad readout_error(0.25, 0.0) c[0]\n";
    let circuit = read(body);
    let mut expected = Circuit::new(3);
    expected
        .add_register("c", 2)
        .unwrap()
        .measure(1, 0)
        .unwrap()
        .readout_error(0, 0.25, 0)
        .unwrap();
    assert_eq!(circuit, expected);
    assert_eq!(accept(&to_qasm3(&circuit).unwrap()).circuit, circuit);
    assert_eq!(to_qasm2(&circuit), Err(PrintError::Noise { channel: "readout_error" }));
    // Along registers, with an input, under a condition that it changes, in a subroutine.
    assert_eq!(
        lines("pragma ketgrad readout_error(1.0/10, 0.2) c"),
        "readout_error(0.1, 0.2) -> c[0]\nreadout_error(0.1, 0.2) -> c[1]\n"
    );
    // The earlier name of the pragma.
    assert_eq!(
        lines("pragma ketgrad misread(1.0/10, 0.2) c"),
        "readout_error(0.1, 0.2) -> c[0]\nreadout_error(0.1, 0.2) -> c[1]\n"
    );
    let whole = read(
        "input float p;\ndef flawed(qubit a, float p) -> bit {\n  bit b = measure a;\n  #pragma ketgrad readout_error(p, p/2) b\n  \
         return b;\n}\nh q;\nc[0] = flawed(q[0], p);\nif (c[0]) {\n  #pragma ketgrad readout_error(0, p) c[0]\n  x q[1];\n}\n\
         c[1] = measure q[1];",
    );
    let again = accept(&to_qasm3(&whole).unwrap()).circuit;
    for p in [0.0, 0.3, 1.0] {
        let simulator = Simulator::new();
        let [a, b] = [&whole, &again].map(|c| {
            let bound = BoundCircuit::<C>::new(c, &Values(&[p])).unwrap();
            simulator.distribution(&bound, 64).unwrap()
        });
        let chance = |ones: u32| -> f64 {
            let all_set = |key: &Bits| (0..ones).all(|bit| key.get(bit));
            a.iter().filter(|(key, _)| all_set(key)).map(|(_, p)| p).sum()
        };
        // q[1] is even, so what is measured of it is, too; c[0] reads 1 wrongly, then is lost.
        let one = (1.0 + p - p / 2.0) / 2.0;
        assert!((chance(1) - one * (1.0 - p)).abs() < ROUNDING, "{p}: {a:?}");
        assert!((chance(2) - one * (1.0 - p) / 2.0).abs() < ROUNDING, "{p}: {a:?}");
        let same = |(x, y): ((&Bits, &f64), (&Bits, &f64))| (x.1 - y.1).abs() < ROUNDING;
        assert!(a.len() == b.len() && a.iter().zip(&b).all(same), "{p}: {a:?}, {b:?}");
    }
}

#[test]
fn readings_that_are_none() {
    let own = |rest: &str| errors(&format!("#pragma ketgrad {rest}"));
    assert_eq!(
        own("misred(0, 1) c"),
        "`misred` pragma `misred` is not known [`readout_error(p0, p1) …` is one]"
    );
    assert_eq!(
        own("readout_error(0.1) c"),
        "`0.1` `readout_error` takes 2 parameters, not 1 [`readout_error(p0, p1) …`]"
    );
    assert_eq!(
        own("readout_error(0.1, 1.5) c"),
        "`1.5` `p1` of `readout_error` is 1.5, which is not between 0 and 1"
    );
    assert_eq!(
        own("readout_error(0.1, 0.5) q"),
        "`q` `q` is a quantum register, not a classical register"
    );
    assert_eq!(
        own("readout_error(0.1, 0.5) c[2]"),
        "`c[2]` index 2 is out of range: `c` has 2 elements [indices of `c` are 0 to 1]"
    );
    let twelve = |entries: &str, bits: &str| {
        own(&format!("readout_error({entries}, 0, 0, 0, 0, 0, 0, 0, 0, 0) {bits}"))
    };
    let count =
        "12 probabilities are those of 2 bits that are read together: expected as many, each once";
    assert_eq!(twelve("0, 0, 1", "c[0]"), format!("`c[0]` {count}"));
    assert_eq!(twelve("0, 0, 1", "c[0], c[0]"), format!("`c[0], c[0]` {count}"));
    assert_eq!(twelve("0, 0, 1", "c, c[0]"), format!("`c, c[0]` {count}"));
    assert_eq!(
        twelve("0, 2, 0", "c"),
        "`2` `p(10 for 00)` of `readout_error` is 2, which is not between 0 and 1"
    );
    assert_eq!(
        twelve("0.5, 0.25, 0.5", "c"),
        "`0.5, 0.25, 0.5` the sum of the probabilities of one outcome is 1.25, which is not between 0 and 1"
    );
    assert_eq!(
        own("readout_error(0.1, 0.5)"),
        "`` expected a register or a qubit, found the end of the line"
    );
}
