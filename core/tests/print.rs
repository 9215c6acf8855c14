//! Printed circuits: definitions and syntheses equal what they stand for, texts are as they should be.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    circuit::{Circuit, Condition, Relation},
    gate::{Gate, GateKind},
    matrix::Matrix,
    param::{Angle, Function, ParamExpr, Q, Step, Values},
    print::{PrintError, definition, synthesize, to_qasm2, to_qasm3},
    simulate::Simulator,
};
use num_complex::Complex;

type C = Complex<f64>;

/// Definitions hold exactly but for rounding.
const DEFINITION: f64 = 1e-14;

/// What the syntheses promise.
const SYNTHESIS: f64 = 1e-10;

fn matrix(circuit: &Circuit) -> Matrix<C> {
    Simulator::new().matrix(circuit, &Values::<f64>(&[])).unwrap()
}

fn distance(a: &Matrix<C>, b: &Matrix<C>) -> f64 {
    assert_eq!(a.n_qubits(), b.n_qubits());
    a.entries().iter().zip(b.entries()).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max)
}

/// A few digits of no meaning.
struct Digits(u64);

impl Digits {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next()).unwrap() % n
    }
    fn angle(&mut self) -> f64 {
        self.below(1 << 20) as f64 / f64::from(1 << 17) - 4.0
    }
    /// Different qubits below n.
    fn qubits(&mut self, n: usize, k: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        for i in 0..k {
            let j = i + self.below(n - i);
            all.swap(i, j);
        }
        all.truncate(k);
        all
    }
}

/// A unitary without structure.
fn random_unitary(n_qubits: usize, seed: u64) -> Matrix<C> {
    let mut digits = Digits(seed);
    let mut c = Circuit::new(n_qubits);
    for _ in 0..4 * n_qubits {
        for q in 0..n_qubits {
            c.ug(q, digits.angle(), digits.angle(), digits.angle(), digits.angle()).unwrap();
        }
        if n_qubits > 1 {
            let pair = digits.qubits(n_qubits, 2);
            c.fsim(pair[0], pair[1], digits.angle(), digits.angle()).unwrap();
        }
    }
    matrix(&c)
}

fn angles(kind: GateKind) -> Vec<Angle> {
    (0..kind.param_names().len()).map(|i| Angle::rad(0.37 + 0.83 * i as f64)).collect()
}

#[test]
fn definitions_equal_their_gates_with_the_phase() {
    let mut defined = 0;
    for &kind in GateKind::ALL {
        let Some(body) = definition(kind).unwrap() else { continue };
        defined += 1;
        let values: Vec<(&str, Angle)> = kind.param_names().iter().copied().zip(angles(kind)).collect();
        let mut plain = Circuit::new(kind.n_qubits());
        let all: Vec<usize> = (0..kind.n_qubits()).collect();
        plain.gate(Gate::new(kind, angles(kind)).unwrap(), &all, &[]).unwrap();
        let off = distance(&matrix(&body.bind(&values).unwrap()), &matrix(&plain));
        assert!(off < DEFINITION, "{} is off by {off:e}", kind.name());
    }
    assert_eq!(defined, 13);
}

#[test]
fn syntheses_equal_their_matrices_with_the_phase() {
    for n_qubits in 0..=6 {
        for seed in 0..if n_qubits > 4 { 2 } else { 20 } {
            let u = random_unitary(n_qubits, seed);
            let circuit = synthesize(&u).unwrap();
            let off = distance(&matrix(&circuit), &u);
            assert!(off < SYNTHESIS, "{n_qubits} qubits, seed {seed}: off by {off:e}");
            let cx = circuit.count_operations().get("cx").copied().unwrap_or(0);
            assert!(
                cx <= 3 * 4usize.pow(u32::try_from(n_qubits).unwrap()) / 4,
                "{cx} cx on {n_qubits} qubits"
            );
        }
    }
}

/// Where decompositions go wrong: repeated eigenvalues and singular values, zero blocks, and sines
/// that are tiny but not 0.
#[test]
fn syntheses_hold_on_matrices_with_structure() {
    let mut cases: Vec<(String, Matrix<C>)> = Vec::new();
    for n in 2..=5 {
        let dim = 1 << n;
        cases.push((format!("identity {n}"), Matrix::identity(n)));
        let mut digits = Digits(n as u64);
        let order = digits.qubits(dim, dim);
        let permutation =
            |order: &[usize]| Matrix::from_fn(n, |i, j| C::from(if order[j] == i { 1.0 } else { 0.0 }));
        cases.push((format!("permutation {n}"), permutation(&order)));
        let shift: Vec<usize> = (0..dim).map(|j| (j + 1) % dim).collect();
        cases.push((format!("shift {n}"), permutation(&shift)));
        let reverse: Vec<usize> = (0..dim).rev().collect();
        cases.push((format!("reversal {n}"), permutation(&reverse)));
        let tau = std::f64::consts::TAU;
        let fourier = Matrix::from_fn(n, |i, j| {
            C::from_polar((dim as f64).sqrt().recip(), tau * (i * j % dim) as f64 / dim as f64)
        });
        cases.push((format!("Fourier {n}"), fourier));
        let diagonal = |k: usize| C::cis(if k % 3 == 0 { 1.0 } else { -0.5 });
        cases.push((
            format!("diagonal {n}"),
            Matrix::from_fn(n, |i, j| if i == j { diagonal(i) } else { C::from(0.0) }),
        ));
        cases.push((
            format!("reflection {n}"),
            Matrix::from_fn(n, |i, j| C::from(f64::from(u8::from(i == j)) - 2.0 / dim as f64)),
        ));
        for exponent in [3, 5, 7, 8, 9, 11, 13, 15, 17] {
            // Close to block diagonal, in every direction of the small sines.
            let small = 10f64.powi(-exponent);
            let mut c = Circuit::new(n);
            for q in 0..n {
                c.h(q).unwrap().rz(q, 0.3).unwrap();
            }
            c.cx(0, 1).unwrap().ry(n - 1, small).unwrap().rx(n - 1, small / 3.0).unwrap();
            c.crx(0, n - 1, small / 7.0).unwrap().cz(0, n - 1).unwrap().ry(0, small).unwrap();
            cases.push((format!("small {exponent} {n}"), matrix(&c)));
            c.x(n - 1).unwrap();
            cases.push((format!("small cosine {exponent} {n}"), matrix(&c)));
        }
        for high in 1..n {
            let product = random_unitary(high, 5).kron(&random_unitary(n - high, 6));
            cases.push((format!("product {high} {n}"), product));
            cases.push((format!("controlled {high} {n}"), random_unitary(n - high, 7).controlled(high)));
        }
    }
    for (name, u) in cases {
        let off = distance(&matrix(&synthesize(&u).unwrap()), &u);
        assert!(off < SYNTHESIS, "{name}: off by {off:e}");
    }
}

#[test]
fn scratch_dump() {
    let Ok(dir) = std::env::var("DUMP") else { return };
    let mut index = String::new();
    let mut put = |name: String, c: &Circuit| {
        let m = matrix(c);
        let entries: Vec<String> = m.entries().iter().map(|z| format!("{:?},{:?}", z.re, z.im)).collect();
        std::fs::write(format!("{dir}/{name}.mat"), entries.join("\n")).unwrap();
        std::fs::write(format!("{dir}/{name}.q3"), to_qasm3(c).unwrap()).unwrap();
        std::fs::write(format!("{dir}/{name}.q2"), to_qasm2(c).unwrap()).unwrap();
        index.push_str(&name);
        index.push('\n');
    };
    for &kind in GateKind::ALL {
        for (label, values) in [
            ("0", vec![]),
            ("1", vec![true]),
            ("n", vec![false]),
            ("11", vec![true; 2]),
            ("10", vec![true, false]),
            ("111", vec![true; 3]),
            ("0110", vec![false, true, true, false]),
            ("11111", vec![true; 5]),
            ("111110", vec![true, true, true, true, true, false]),
        ] {
            let k = kind.n_qubits();
            if values.len() + k > 7 {
                continue;
            }
            let n = k + values.len();
            let mut c = Circuit::new(n.max(1));
            let controls: Vec<(usize, bool)> = values.iter().enumerate().map(|(i, &v)| (k + i, v)).collect();
            let targets: Vec<usize> = (0..k).collect();
            c.gate(Gate::new(kind, angles(kind)).unwrap(), &targets, &controls).unwrap();
            put(format!("{}_{label}", kind.name()), &c);
        }
    }
    for seed in 0..20u64 {
        let mut digits = Digits(seed);
        let n = 3 + digits.below(3);
        let mut c = Circuit::new(n);
        for _ in 0..8 {
            let kind = GateKind::ALL[digits.below(GateKind::ALL.len())];
            if matches!(kind, GateKind::U | GateKind::U2 | GateKind::U3) {
                continue;
            }
            let k = kind.n_qubits();
            let extra = digits.below(n - k + 1);
            let qubits = digits.qubits(n, k + extra);
            let controls: Vec<(usize, bool)> =
                qubits[k..].iter().map(|&q| (q, digits.below(3) > 0)).collect();
            c.gate(Gate::new(kind, angles(kind)).unwrap(), &qubits[..k], &controls).unwrap();
            let k = 1 + digits.below(3);
            let extra = digits.below(n - k + 1).min(1);
            let qubits = digits.qubits(n, k + extra);
            let controls: Vec<(usize, bool)> =
                qubits[k..].iter().map(|&q| (q, digits.below(3) > 0)).collect();
            c.unitary(random_unitary(k, seed), &qubits[..k], &controls).unwrap();
        }
        put(format!("random_{seed}"), &c);
    }
    std::fs::write(format!("{dir}/index"), index).unwrap();
}
