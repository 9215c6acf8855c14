//! Whole files against states from another simulator (Qiskit 2), and every named gate.
//!
//! `data/NAME.state` lists the nonzero amplitudes of `data/NAME.qasm` as `index re im`;
//! `data/gates.txt` has a line `version controls name parameters qubits amplitudes…` per gate.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    circuit::Circuit,
    qasm::{Parsed, QasmOptions, Version, parse},
    simulate::Simulator,
};
use num_complex::Complex;

/// The references are printed with 15 digits or more, and circuits of 200 gates add some ulps each.
const TOLERANCE: f64 = 1e-10;

fn data(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn read(name: &str) -> Parsed {
    parse(&data(name), &QasmOptions::default().with_file(name)).unwrap_or_else(|e| panic!("{e}"))
}

fn amplitudes(circuit: &Circuit, inputs: &[f64]) -> Vec<Complex<f64>> {
    Simulator::new().run(circuit, inputs).unwrap().amplitudes().to_vec()
}

/// The largest difference, after the global phase of the largest amplitude was taken out.
fn difference(a: &[Complex<f64>], b: &[Complex<f64>]) -> f64 {
    let largest = (0..b.len()).max_by(|&i, &j| b[i].norm().total_cmp(&b[j].norm())).unwrap();
    let phase = b[largest] / a[largest];
    if (phase.norm() - 1.0).abs() > TOLERANCE {
        return f64::INFINITY;
    }
    a.iter().zip(b).map(|(x, y)| (x * phase - y).norm()).fold(0.0, f64::max)
}

fn check(name: &str, inputs: &[f64]) {
    let parsed = read(&format!("{name}.qasm"));
    let ours = amplitudes(&parsed.circuit, inputs);
    let mut theirs = vec![Complex::new(0.0, 0.0); ours.len()];
    for line in data(&format!("{name}.state")).lines() {
        let mut words = line.split(' ');
        let at: usize = words.next().unwrap().parse().unwrap();
        let mut next = || words.next().unwrap().parse::<f64>().unwrap();
        theirs[at] = Complex::new(next(), next());
    }
    let off = difference(&ours, &theirs);
    assert!(off < TOLERANCE, "{name} is off by {off:e}");
}

#[test]
fn files_of_openqasm_2() {
    for name in [
        "adder",
        "qft5",
        "vqe",
        "phase_estimation",
        "grover",
        "registers",
        "nested",
        "transpiled",
        "relative_phase",
        "no_header",
    ] {
        check(name, &[]);
        assert_eq!(read(&format!("{name}.qasm")).version, Version::V2, "{name}");
    }
}

#[test]
fn files_of_openqasm_3() {
    check("hardware", &[]);
    check("modifiers", &[0.7, -1.3]);
    check("ansatz", &[0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8]);
}

#[test]
fn the_adder_adds() {
    let parsed = read("adder.qasm");
    let state = Simulator::new().run::<f64>(&parsed.circuit, &[]).unwrap();
    let counts = Simulator::new().counts(&parsed.circuit, &state, 10, 1).unwrap();
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("10010".to_owned(), 10)]); // 11 + 7 = 18
}

#[test]
fn every_gate_of_the_standard_files() {
    let mut seen = 0;
    for line in data("gates.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [version, controls, name, params, qubits] = words[..5] else { panic!("{line}") };
        let (params, qubits): (usize, usize) = (params.parse().unwrap(), qubits.parse().unwrap());
        let mut text = match version {
            "2" => "OPENQASM 2.0;\ninclude \"qelib1.inc\";\n".to_owned(),
            _ => "OPENQASM 3.0;\ninclude \"stdgates.inc\";\n".to_owned(),
        };
        text += &format!("qreg q[{qubits}];\n");
        for k in 0..qubits {
            let x = k as f64;
            text +=
                &format!("u3({}, {}, {}) q[{k}];\n", 0.3 + 0.4 * x, 0.2 * x - 0.5, 1.1 - 0.3 * x);
        }
        if controls == "1" {
            text += "ctrl @ ";
        }
        text += name;
        if params > 0 {
            text += &format!("({})", ["0.37", "-1.21", "2.05", "0.83"][..params].join(", "));
        }
        let operands: Vec<String> = (0..qubits).map(|k| format!("q[{k}]")).collect();
        text += &format!(" {};\n", operands.join(", "));
        let parsed = parse(&text, &QasmOptions::default()).unwrap_or_else(|e| panic!("{text}{e}"));
        assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
        let theirs: Vec<Complex<f64>> = words[5..]
            .iter()
            .map(|z| z.split_once(',').unwrap())
            .map(|(re, im)| Complex::new(re.parse().unwrap(), im.parse().unwrap()))
            .collect();
        let off = difference(&amplitudes(&parsed.circuit, &[]), &theirs);
        assert!(
            off < TOLERANCE,
            "{name} of OpenQASM {version} under {controls} controls is off by {off:e}"
        );
        seen += 1;
    }
    assert!(seen > 100);
}

#[test]
fn a_file_of_everything_is_read() {
    let text = data("everything.qasm");
    let failed = parse(&text, &QasmOptions::default()).unwrap_err();
    let message = "<input>:6:15: no value for the input `int[32] shots`, which must be known when the file is read";
    assert_eq!(failed.to_string(), message);
    let options = QasmOptions::default().with_inputs(&[("shots", "100")]);
    let parsed = parse(&text, &options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((parsed.circuit.n_qubits(), parsed.read_for), (5, vec!["shots".to_owned()]));
    let ignored: Vec<&str> = parsed.warnings.iter().map(|w| w.message.as_str()).collect();
    for what in ["`cal`", "`defcal`"] {
        assert!(ignored.contains(&format!("{what} is ignored").as_str()), "{what}: {ignored:?}");
    }
}
