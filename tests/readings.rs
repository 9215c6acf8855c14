//! Readings of several bits together, against the distribution of true outcomes times the readout
//! matrix.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use ketgrad_core::{
    circuit::{Circuit, CircuitError, Condition, NoiseModel},
    observable::PauliSum,
    param::Values,
    print::to_qasm3,
    qasm::{QasmOptions, parse},
    simulate::{Bits, BoundCircuit, Shots, SimulateError, Simulator},
};
use num_complex::Complex;
use support::random::Rng;

type C = Complex<f64>;

const ROUNDING: f64 = 1e-12;

/// A random readout matrix of k bits, near the identity or far from it.
fn matrix(rng: &mut Rng, k: usize) -> Vec<Vec<f64>> {
    let own = rng.unit() * 3.0;
    let row = |i: usize, rng: &mut Rng| {
        let row: Vec<f64> =
            (0..1 << k).map(|j| rng.unit() + if i == j { own } else { 0.0 }).collect();
        let sum: f64 = row.iter().sum();
        row.into_iter().map(|p| p / sum).collect()
    };
    (0..1 << k).map(|i| row(i, rng)).collect()
}

/// The probabilities of outcomes of n bits.
fn distribution(circuit: &Circuit) -> Vec<f64> {
    let bound = BoundCircuit::<C>::new(circuit, &Values::<f64>(&[])).unwrap();
    let distribution = Simulator::new().distribution(&bound, 1 << 12).unwrap();
    let mut all = vec![0.0; 1 << circuit.n_bits()];
    distribution.iter().for_each(|(bits, p)| all[index(bits, circuit.n_bits())] += p);
    all
}

fn index(bits: &Bits, n: usize) -> usize {
    (0..n).map(|k| usize::from(bits.get(k as u32)) << k).sum()
}

/// Distribution that outcomes are read as, by the definition.
fn read(truth: &[f64], bits: &[usize], rows: &[Vec<f64>]) -> Vec<f64> {
    let own = |outcome: usize| {
        bits.iter().enumerate().map(|(k, b)| (outcome >> b & 1) << k).sum::<usize>()
    };
    let others: usize = !bits.iter().map(|b| 1usize << b).sum::<usize>();
    let mut after = vec![0.0; truth.len()];
    for (i, p) in truth.iter().enumerate() {
        for (j, q) in after.iter_mut().enumerate().filter(|(j, _)| i & others == j & others) {
            *q += p * rows[own(i)][own(j)];
        }
    }
    after
}

fn close(a: &[f64], b: &[f64], what: &str) {
    let worst = a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(worst < ROUNDING, "{what}: {worst}");
}

/// A random state of n qubits with its measurement.
fn measured(rng: &mut Rng, n: usize) -> Circuit {
    let mut circuit = Circuit::new(n);
    rng.fill(&mut circuit, 12, Rng::angle);
    circuit.add_register("m", n).unwrap().measure(0..n, 0..n).unwrap();
    circuit
}

#[test]
fn outcomes_are_read_with_the_matrix() {
    let mut rng = Rng::new(11);
    let shots = 4000;
    for turn in 0..30 {
        let (n, k) = (3, 1 + turn % 3);
        let mut circuit = measured(&mut rng, n);
        let truth = distribution(&circuit);
        let bits: Vec<usize> = rng.permutation(n)[..k].to_vec();
        let rows = matrix(&mut rng, k);
        circuit.readout_matrix(&bits[..], &rows).unwrap();
        let mut expected = read(&truth, &bits, &rows);
        if turn % 2 == 0 {
            let (two, more) = ([bits[0], (bits[0] + 1) % n], matrix(&mut rng, 2));
            circuit.readout_matrix(two, &more).unwrap();
            expected = read(&expected, &two, &more);
        }
        close(&distribution(&circuit), &expected, "at the end");
        // The same where a later instruction reads the bits.
        let mut used = circuit.clone();
        used.when(Condition::Bit { bit: 0, value: true }, |c| c.x(0)).unwrap();
        close(&distribution(&used), &expected, "in the middle");
        let text = to_qasm3(&circuit).unwrap();
        let back = parse(&text, &QasmOptions::default()).unwrap().circuit;
        close(&distribution(&back), &expected, &text);
        let count = |c: &Circuit| c.count_operations()["readout_error"];
        assert_eq!(count(&back), count(&circuit));

        for circuit in [&circuit, &used] {
            let bound = BoundCircuit::<C>::new(circuit, &Values::<f64>(&[])).unwrap();
            let counts = Simulator::new().trajectory_counts(&bound, shots, turn as u64).unwrap();
            let counts: BTreeMap<usize, u64> =
                counts.into_iter().map(|(bits, times)| (index(&bits, n), times)).collect();
            for (outcome, p) in expected.iter().enumerate() {
                let times = counts.get(&outcome).copied().unwrap_or(0) as f64;
                let spread = (shots as f64 * p * (1.0 - p)).max(1.0).sqrt();
                assert!((times - shots as f64 * p).abs() < 4.5 * spread, "turn {turn}: {outcome}");
            }
        }
        // Means of parities over shots.
        let parity: PauliSum = "Z0 Z1 + 0.5 * Z2 - Z0".parse().unwrap();
        let value = |outcome: usize| {
            let z = |q: usize| 1.0 - 2.0 * (outcome >> q & 1) as f64;
            z(0) * z(1) + 0.5 * z(2) - z(0)
        };
        let exact: f64 = expected.iter().enumerate().map(|(outcome, p)| p * value(outcome)).sum();
        let mean =
            Simulator::new().measure::<f64>(&circuit, &[], &parity, Shots::new(shots, 5)).unwrap();
        let stderr = mean.stderr.unwrap().max(1e-3);
        assert!(
            (mean.value - exact).abs() < 4.5 * stderr,
            "turn {turn}: {} is not {exact}",
            mean.value
        );
    }
}

#[test]
fn a_product_of_matrices_is_two_readings() {
    let mut rng = Rng::new(5);
    for _ in 0..20 {
        let mut circuit = measured(&mut rng, 3);
        let [a, b] = [(); 2].map(|()| matrix(&mut rng, 1));
        let product = (0..4).map(|i| (0..4).map(|j| a[i & 1][j & 1] * b[i >> 1][j >> 1]).collect());
        let mut together = circuit.clone();
        together.readout_matrix([2, 0], &product.collect::<Vec<_>>()).unwrap();
        circuit
            .readout_error(2, a[0][1], a[1][0])
            .unwrap()
            .readout_error(0, b[0][1], b[1][0])
            .unwrap();
        close(&distribution(&together), &distribution(&circuit), "a product");
    }
}

#[test]
fn a_model_reads_qubits_together_once_all_are_measured() {
    let mut rng = Rng::new(8);
    let rows = matrix(&mut rng, 2);
    let mut model = NoiseModel::new();
    model.readout_matrix(&[2, 0], &rows).unwrap().readout_error_on(&[0], 0.25, 0.125);
    let circuit =
        Circuit::build(3, |c| c.add_register("m", 3)?.measure(0, 1)?.h(1)?.measure(2, 0)).unwrap();
    let names = |c: &Circuit| {
        let text = c.to_string();
        let short = |line: &str| {
            line.split('(').next().unwrap().to_owned() + line.split(')').nth(1).unwrap_or("")
        };
        text.lines().map(short).collect::<Vec<_>>()
    };
    let noisy = model.apply(&circuit).unwrap();
    let expected = [
        "measure q[0] -> c[1]",
        "readout_error -> c[1]",
        "h q[1]",
        "measure q[2] -> c[0]",
        "readout_error -> c[0], c[1]",
    ];
    assert_eq!(names(&noisy), expected);
    // In the shots that measure all qubits, too.
    let mut plain = Circuit::new(3);
    rng.fill(&mut plain, 9, Rng::angle);
    let mut written = plain.clone();
    written.measure_all().unwrap();
    let own = read(&distribution(&written), &[0], &[vec![0.75, 0.25], vec![0.125, 0.875]]);
    let noisy = model.measure_all(&plain).unwrap();
    close(&distribution(&noisy), &read(&own, &[2, 0], &rows), "measured by itself");

    let fails = |body: &dyn Fn(&mut Circuit) -> Result<(), CircuitError>, expected: &str| {
        let mut circuit = Circuit::new(3);
        circuit.add_register("m", 3).unwrap();
        body(&mut circuit).unwrap();
        let error = model.apply(&circuit).unwrap_err().to_string();
        assert!(
            error.contains(expected) && error.contains("qubits 2, 0 are read together"),
            "{error}"
        );
    };
    let is_one = |bit| Condition::Bit { bit, value: true };
    fails(&|c| c.measure(0, 0).map(|_| ()), "does not measure 2");
    fails(
        &|c| c.measure(0, 0)?.when(is_one(0), |c| c.x(1))?.measure(2, 2).map(|_| ()),
        "bit 0 is used before all",
    );
    fails(
        &|c| c.measure(0, 0)?.measure(1, 0)?.measure(2, 2).map(|_| ()),
        "bit 0 is used before all",
    );
    fails(
        &|c| c.measure(0, 0)?.measure(0, 1)?.measure(2, 2).map(|_| ()),
        "qubit 0 is measured twice",
    );
    fails(
        &|c| c.measure(0, 0)?.when(is_one(1), |c| c.measure(2, 2)).map(|_| ()),
        "different conditions",
    );
    fails(
        &|c| c.measure(0, 0)?.while_loop(is_one(1), |c| c.x(1))?.measure(2, 2).map(|_| ()),
        "the end of a loop",
    );
}

#[test]
fn matrices_that_are_none_are_refused() {
    let refused = |bits: &[usize], rows: &[&[f64]]| {
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
        let mut circuit = Circuit::new(1);
        circuit.add_register("m", 3).unwrap();
        let error = circuit.readout_matrix(bits, &rows).unwrap_err();
        assert!(circuit.instructions().is_empty());
        error
    };
    let good: &[&[f64]] = &[&[1.0, 0.0], &[0.5, 0.5]];
    assert_eq!(
        refused(&[0, 1], good),
        CircuitError::ReadoutSize { rows: 2, columns: 2, n_bits: 2 }
    );
    assert_eq!(refused(&[], good), CircuitError::ReadoutBits { given: 0, limit: 8 });
    assert_eq!(refused(&[3], good), CircuitError::NoSuchBit { given: 3, n_bits: 3 });
    assert_eq!(refused(&[0], &[&[1.0, 0.0], &[0.5, 0.4]]), CircuitError::ReadoutRow { row: 1 });
    assert_eq!(
        refused(&[0], &[&[f64::NAN, 0.0], &[0.5, 0.5]]),
        CircuitError::ReadoutRow { row: 0 }
    );
    let swap: &[&[f64]] = &[
        &[1.0, 0.0, 0.0, 0.0],
        &[0.0, 0.0, 1.0, 0.0],
        &[0.0, 1.0, 0.0, 0.0],
        &[0.0, 0.0, 0.0, 1.0],
    ];
    assert_eq!(refused(&[1, 1], swap), CircuitError::RepeatedBit { bit: 1 });

    // A bit that no final measurement writes: what the other one is read as is not known in a mean.
    let mut circuit = Circuit::new(1);
    let rows: Vec<Vec<f64>> = swap.iter().map(|row| row.to_vec()).collect();
    circuit
        .add_register("m", 2)
        .unwrap()
        .measure(0, 0)
        .unwrap()
        .readout_matrix([0, 1], &rows)
        .unwrap();
    let z: PauliSum = "Z0".parse().unwrap();
    let mean = Simulator::new().measure::<f64>(&circuit, &[], &z, Shots::new(10, 5));
    assert!(matches!(mean, Err(SimulateError::ReadingOfOthers { bits }) if bits == [0, 1]));
}
