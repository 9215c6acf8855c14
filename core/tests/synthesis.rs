//! Unitaries as gates: the product of these, multiplied out here, is the matrix with its phase, and
//! gates on two qubits are few.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    circuit::{Circuit, Operation},
    gate::{Gate, GateKind},
    matrix::Matrix,
    param::{Angle, Values},
    print::synthesize,
    simulate::Simulator,
};
use num_complex::Complex;
use support::random::Rng;

type C = Complex<f64>;

/// Error of all gates together, at most.
const ROUNDING: f64 = 1e-12;

/// The product of the gates of a synthesis, by their definitions.
fn product(circuit: &Circuit) -> Matrix<C> {
    let n = circuit.n_qubits();
    let dim = 1usize << n;
    let mut rows: Vec<Vec<C>> = (0..dim)
        .map(|i| (0..dim).map(|j| C::from(f64::from(u8::from(i == j)))).collect())
        .collect();
    for instruction in circuit.instructions() {
        let Operation::Gate(gate) = &instruction.operation else { panic!("{circuit}") };
        let t: Vec<f64> = gate.params().iter().map(|a| a.constant().unwrap()).collect();
        let (cos, sin) = (
            t.first().map_or(0.0, |t| (t / 2.0).cos()),
            t.first().map_or(0.0, |t| (t / 2.0).sin()),
        );
        let (zero, one, i) = (C::from(0.0), C::from(1.0), Complex::i());
        let m = match gate.kind() {
            GateKind::GPHASE => {
                rows.iter_mut().flatten().for_each(|x| *x *= C::cis(t[0]));
                continue;
            }
            GateKind::X => [zero, one, one, zero],
            GateKind::Z => [one, zero, zero, -one],
            GateKind::RX => [cos.into(), -i * sin, -i * sin, cos.into()],
            GateKind::RY => [cos.into(), C::from(-sin), sin.into(), cos.into()],
            GateKind::RZ => [C::cis(-t[0] / 2.0), zero, zero, C::cis(t[0] / 2.0)],
            GateKind::UG => [
                C::cis(t[3]) * cos,
                -C::cis(t[3] + t[2]) * sin,
                C::cis(t[3] + t[1]) * sin,
                C::cis(t[3] + t[1] + t[2]) * cos,
            ],
            other => panic!("{other:?}"),
        };
        assert!(instruction.controls.iter().all(|c| c.value), "{circuit}");
        let controls: usize = instruction.controls.iter().map(|c| 1 << c.qubit).sum();
        let bit = 1usize << instruction.targets[0];
        for low in (0..dim).filter(|r| r & bit == 0 && r & controls == controls) {
            let (first, rest) = rows.split_at_mut(low | bit);
            for (x, y) in first[low].iter_mut().zip(&mut rest[0]) {
                (*x, *y) = (m[0] * *x + m[1] * *y, m[2] * *x + m[3] * *y);
            }
        }
    }
    Matrix::from_rows(rows).unwrap()
}

fn distance(a: &Matrix<C>, b: &Matrix<C>) -> f64 {
    a.entries().iter().zip(b.entries()).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max)
}

/// The number of gates on two qubits, of a synthesis that is right.
fn two_qubit_gates(name: &str, u: &Matrix<C>) -> usize {
    let circuit = synthesize(u).unwrap();
    let off = distance(&product(&circuit), u);
    assert!(off < ROUNDING, "{name} is off by {off:e}\n{circuit}");
    let run: Matrix<C> = Simulator::new().matrix(&circuit, &Values::<f64>(&[])).unwrap();
    assert!(distance(&run, u) < ROUNDING, "{name} runs otherwise");
    circuit.instructions().iter().filter(|i| i.qubits().count() == 2).count()
}

/// A random gate on one qubit with its phase.
fn one(rng: &mut Rng) -> Matrix<C> {
    let angles: Vec<Angle> = (0..4).map(|_| Angle::rad(rng.signed() * 3.2)).collect();
    Gate::new(GateKind::UG, angles).unwrap().matrix(&Values::<f64>(&[])).unwrap()
}

/// Random gates around `e^{i (x XX + y YY + z ZZ)}`.
fn canonical(rng: &mut Rng, [x, y, z]: [f64; 3]) -> Matrix<C> {
    let mut c = Circuit::new(2);
    c.rxx(0, 1, -2.0 * x).unwrap().ryy(0, 1, -2.0 * y).unwrap().rzz(0, 1, -2.0 * z).unwrap();
    let middle: Matrix<C> = Simulator::new().matrix(&c, &Values::<f64>(&[])).unwrap();
    let mut pair = || one(rng).kron(&one(rng));
    &(&pair() * &middle) * &pair()
}

/// Columns of random numbers, made orthonormal.
fn random(rng: &mut Rng, n: usize) -> Matrix<C> {
    let dim = 1usize << n;
    let mut columns: Vec<Vec<C>> = Vec::new();
    while columns.len() < dim {
        let mut column: Vec<C> = (0..dim).map(|_| C::new(rng.signed(), rng.signed())).collect();
        for _ in 0..2 {
            for other in &columns {
                let dot: C = other.iter().zip(&column).map(|(a, b)| a.conj() * b).sum();
                column.iter_mut().zip(other).for_each(|(x, y)| *x -= dot * y);
            }
        }
        let norm = column.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
        if norm > 0.1 {
            columns.push(column.into_iter().map(|x| x / norm).collect());
        }
    }
    Matrix::from_fn(n, |i, j| columns[j][i])
}

/// The most gates on two qubits of a unitary on n qubits.
fn most(n: u32) -> usize {
    match n {
        0 | 1 => 0,
        n => (23 * 4usize.pow(n) / 16 + 4 - 9 * 2usize.pow(n) / 2) / 3,
    }
}

#[test]
fn two_qubits_take_three_cx_at_most() {
    let mut rng = Rng::new(1);
    for turn in 0..2000 {
        let name = format!("random {turn}");
        assert_eq!(two_qubit_gates(&name, &random(&mut rng, 2)), 3, "{name}");
    }
}

#[test]
fn as_few_cx_as_the_canonical_form_allows() {
    let mut rng = Rng::new(2);
    let quarter = std::f64::consts::FRAC_PI_4;
    let mut exact = |angles: [f64; 3], expected: usize| {
        for _ in 0..6 {
            // Any order, any signs of pairs, any shift by pi/2.
            let order = rng.permutation(3);
            let mut angles = [angles[order[0]], angles[order[1]], angles[order[2]]];
            angles[rng.below(3)] += 2.0 * quarter * (rng.below(5) as f64 - 2.0);
            let (a, b) = (rng.below(3), rng.below(3));
            angles[a] = -angles[a];
            angles[b] = -angles[b];
            let u = canonical(&mut rng, angles);
            assert_eq!(two_qubit_gates(&format!("{angles:?}"), &u), expected, "{angles:?}");
        }
    };
    exact([0.0, 0.0, 0.0], 0);
    exact([quarter, 0.0, 0.0], 1);
    exact([quarter, quarter, 0.0], 2);
    exact([quarter, quarter, quarter], 3);
    exact([quarter / 2.0; 3], 3);
    for size in [1.0, 0.3, 1e-3, 1e-6, 1e-9, 1e-12] {
        exact([0.7 * size, 0.0, 0.0], 2);
        exact([0.7 * size, 0.5 * size, 0.0], 2);
        exact([0.7 * size, 0.5 * size, 0.4 * size], 3);
        exact([0.7 * size, 0.7 * size, 0.7 * size], 3);
        exact([quarter, 0.7 * size, 0.0], 2);
        exact([quarter, 0.7 * size, 0.2 * size], 3);
        exact([quarter - 0.2 * size, 0.1 * size, 0.1 * size], 3);
    }
}

#[test]
fn gates_of_the_table_take_what_they_must() {
    use GateKind as K;
    let gate = |kind: K, angles: &[f64], control: bool| {
        let mut c = Circuit::new(2);
        let gate = Gate::new(kind, angles.iter().map(|&a| Angle::rad(a))).unwrap();
        let controls: &[(usize, bool)] = if control { &[(1, true)] } else { &[] };
        let targets: &[usize] = if kind.n_qubits() == 2 { &[1, 0] } else { &[0] };
        c.gate(gate, targets, controls).unwrap();
        Simulator::new().matrix::<C>(&c, &Values::<f64>(&[])).unwrap()
    };
    for (kind, angles, control, expected) in [
        (K::H, &[][..], false, 0),
        (K::X, &[], true, 1),
        (K::Z, &[], true, 1),
        (K::H, &[], true, 1),
        (K::S, &[], true, 2),
        (K::RZ, &[0.3], true, 2),
        (K::ECR, &[], false, 1),
        (K::SWAP, &[], false, 3),
        (K::ISWAP, &[], false, 2),
        (K::DCX, &[], false, 2),
        (K::RXX, &[0.4], false, 2),
        (K::FSIM, &[0.4, 0.7], false, 3),
    ] {
        assert_eq!(
            two_qubit_gates(kind.name(), &gate(kind, angles, control)),
            expected,
            "{}",
            kind.name()
        );
    }
    // Products of Clifford gates, with entries that only rounding makes other than 0.
    let mut rng = Rng::new(7);
    for turn in 0..300 {
        let mut c = Circuit::new(2);
        for _ in 0..12 {
            let q = rng.below(2);
            match rng.below(4) {
                0 => c.h(q),
                1 => c.s(q),
                2 => c.cx(q, 1 - q),
                _ => c.sx(q),
            }
            .unwrap();
        }
        let u = Simulator::new().matrix::<C>(&c, &Values::<f64>(&[])).unwrap();
        assert!(two_qubit_gates(&format!("Clifford {turn}"), &u) <= 3);
    }
}

#[test]
fn more_qubits_take_no_more_than_the_bound() {
    assert_eq!((most(2), most(3), most(4)), (3, 20, 100));
    let mut rng = Rng::new(3);
    for (n, rounds) in [(0, 3), (1, 20), (3, 60), (4, 8), (5, 2)] {
        for turn in 0..rounds {
            let name = format!("{n} qubits, {turn}");
            let given = two_qubit_gates(&name, &random(&mut rng, n));
            assert_eq!(given, most(n as u32), "{name}");
        }
    }
}

#[test]
fn structure_takes_no_more_either() {
    let mut rng = Rng::new(4);
    for n in [2, 3, 4] {
        let dim = 1usize << n;
        let value = |yes: bool| C::from(f64::from(u8::from(yes)));
        for turn in 0..if n == 4 { 6 } else { 40 } {
            let order = rng.permutation(dim);
            let permutation = Matrix::from_fn(n, |i, j| value(order[j] == i));
            let phases: Vec<C> = (0..dim).map(|_| C::cis(rng.signed() * 3.0)).collect();
            let diagonal = Matrix::from_fn(n, |i, j| if i == j { phases[i] } else { value(false) });
            let small = random(&mut rng, n - 1);
            let half = dim / 2;
            let controlled = Matrix::from_fn(n, |i, j| match (i < half, j < half) {
                (false, false) => small[(i - half, j - half)],
                _ => value(i == j),
            });
            let below = Matrix::identity(1).kron(&small);
            let above = small.kron(&Matrix::identity(1));
            let local = (0..n).fold(Matrix::identity(0), |all, _| all.kron(&one(&mut rng)));
            let mut near = Circuit::new(n);
            for _ in 0..20 {
                let q = rng.below(n);
                let angle = [1e-3, 1e-7, 1e-10, 1e-13][turn % 4] * rng.signed();
                near.rx(q, angle).unwrap().rzz(q, (q + 1) % n, angle).unwrap();
            }
            let near = Simulator::new().matrix::<C>(&near, &Values::<f64>(&[])).unwrap();
            for (name, u) in [
                ("permutation", permutation),
                ("diagonal", diagonal),
                ("controlled", controlled),
                ("on the lower qubits", below),
                ("on the upper qubits", above),
                ("near the identity", near),
            ] {
                let given = two_qubit_gates(&format!("{name} {n} {turn}"), &u);
                assert!(given <= most(n as u32), "{name} on {n} qubits: {given}");
            }
            assert_eq!(two_qubit_gates("identity", &Matrix::identity(n)), 0);
            if n == 2 {
                assert_eq!(two_qubit_gates("local", &local), 0);
            }
        }
    }
}
