//! Noise: density matrices and trajectories against matrices of the whole space, written down
//! independently.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, sync::Arc};

use ketgrad_core::{
    channel::{Channel, ChannelError, ChannelKind, KRAUS_TOLERANCE},
    circuit::{After, Circuit, CircuitError, Condition, NoiseModel, Operation},
    gate::{Gate, GateKind},
    hybrid::{Expectation, HybridError, Method, Observable},
    kernel::Threads,
    matrix::Matrix,
    observable::{PauliString, PauliSum},
    param::{Angle, Values},
    print::to_qasm3,
    qasm::{QasmOptions, parse},
    simulate::{Bits, BoundCircuit, SimulateError, Simulator},
    state::{DensityMatrix, StateVector},
    trace::Expr,
};
use num_complex::Complex;
use num_dual::Dual64;
use support::{
    close::{CIRCUIT, ROUNDING},
    random::Rng,
    reference::{self, Dense, add, embed, exponential, pauli_sum, product},
};

type C = Complex<f64>;

fn c(re: f64, im: f64) -> C {
    Complex::new(re, im)
}

/// The Kraus operators of each channel as textbooks have them.
fn kraus(kind: ChannelKind, p: &[f64]) -> Vec<Matrix<C>> {
    let matrix = |rows: [[C; 2]; 2]| Matrix::from_rows(rows.map(|r| r.to_vec()).to_vec()).unwrap();
    let (o, l, i) = (c(0.0, 0.0), c(1.0, 0.0), c(0.0, 1.0));
    let pauli = |k: usize| {
        matrix(match k {
            0 => [[l, o], [o, l]],
            1 => [[o, l], [l, o]],
            2 => [[o, -i], [i, o]],
            _ => [[l, o], [o, -l]],
        })
    };
    let times = |x: f64, m: Matrix<C>| m.map(|z| z * x.sqrt());
    let one = |weights: [f64; 4]| (0..4).map(|k| times(weights[k], pauli(k))).collect();
    // Qubit 0 is the low factor.
    let two = |weight: &dyn Fn(usize, usize) -> f64| {
        let all = (0..16).map(|k| (k % 4, k / 4));
        all.map(|(low, high)| times(weight(low, high), pauli(high).kron(&pauli(low)))).collect()
    };
    match kind {
        ChannelKind::BitFlip => one([1.0 - p[0], p[0], 0.0, 0.0]),
        ChannelKind::BitPhaseFlip => one([1.0 - p[0], 0.0, p[0], 0.0]),
        ChannelKind::PhaseFlip => one([1.0 - p[0], 0.0, 0.0, p[0]]),
        ChannelKind::PauliChannel => one([1.0 - p[0] - p[1] - p[2], p[0], p[1], p[2]]),
        ChannelKind::Depolarizing => one([1.0 - p[0], p[0] / 3.0, p[0] / 3.0, p[0] / 3.0]),
        ChannelKind::TwoQubitDepolarizing => {
            two(&|a, b| if a + b == 0 { 1.0 - p[0] } else { p[0] / 15.0 })
        }
        ChannelKind::TwoQubitDephasing => two(&|a, b| match (a, b) {
            (0, 0) => 1.0 - p[0],
            (0 | 3, 0 | 3) => p[0] / 3.0,
            _ => 0.0,
        }),
        ChannelKind::AmplitudeDamping => vec![
            matrix([[l, o], [o, c((1.0 - p[0]).sqrt(), 0.0)]]),
            matrix([[o, c(p[0].sqrt(), 0.0)], [o, o]]),
        ],
        ChannelKind::GeneralizedAmplitudeDamping => {
            let (g, q) = (p[0], p[1]);
            vec![
                times(q, matrix([[l, o], [o, c((1.0 - g).sqrt(), 0.0)]])),
                times(q, matrix([[o, c(g.sqrt(), 0.0)], [o, o]])),
                times(1.0 - q, matrix([[c((1.0 - g).sqrt(), 0.0), o], [o, l]])),
                times(1.0 - q, matrix([[o, o], [c(g.sqrt(), 0.0), o]])),
            ]
        }
        ChannelKind::PhaseDamping => vec![
            matrix([[l, o], [o, c((1.0 - p[0]).sqrt(), 0.0)]]),
            matrix([[o, o], [o, c(p[0].sqrt(), 0.0)]]),
        ],
        other => panic!("no Kraus operators for {other:?}"),
    }
}

fn dagger(m: &Dense<C>) -> Dense<C> {
    (0..m.len()).map(|i| m.iter().map(|row| row[i].conj()).collect()).collect()
}

fn sandwich(a: &Dense<C>, rho: &Dense<C>) -> Dense<C> {
    product(&product(a, rho), &dagger(a))
}

/// Classical bits and the unnormalized state that belongs to them.
type Branches = BTreeMap<Vec<bool>, Dense<C>>;

/// Every instruction on the whole space, every outcome a branch.
fn by_definition(circuit: &Circuit, values: &[f64]) -> Branches {
    let n = circuit.n_qubits();
    let values = circuit.param_values(values).unwrap();
    let mut start = vec![vec![c(0.0, 0.0); 1 << n]; 1 << n];
    start[0][0] = c(1.0, 0.0);
    let mut branches = Branches::from([(vec![false; circuit.n_bits()], start)]);
    for instruction in circuit.instructions() {
        let targets: Vec<usize> = instruction.targets.iter().map(|&q| q as usize).collect();
        let controls: Vec<_> =
            instruction.controls.iter().map(|c| (c.qubit as usize, c.value)).collect();
        let on = |m: &Matrix<C>| embed(m, n, &targets, &controls);
        let unit = |i: usize, j: usize| {
            Matrix::from_fn(1, |row, column| c(f64::from(u8::from((row, column) == (i, j))), 0.0))
        };
        let mut next = Branches::new();
        for (bits, rho) in branches {
            let holds =
                instruction.condition.as_ref().is_none_or(|c| c.holds(&|bit| bits[bit as usize]));
            let mut put = |bits: &[bool], part: Dense<C>| {
                let sum = next
                    .entry(bits.to_vec())
                    .or_insert_with(|| vec![vec![c(0.0, 0.0); 1 << n]; 1 << n]);
                add(sum, &part, c(1.0, 0.0));
            };
            if !holds {
                put(&bits, rho);
                continue;
            }
            let operators: Vec<Matrix<C>> = match &instruction.operation {
                Operation::Gate(gate) => vec![gate.matrix(&Values::<f64>(&values)).unwrap()],
                Operation::PauliRotation(rotation) => {
                    vec![exponential(rotation, &Values::<f64>(&values)).unwrap()]
                }
                Operation::Unitary(matrix) => vec![(**matrix).clone()],
                Operation::Reset => vec![unit(0, 0), unit(0, 1)],
                Operation::Channel(channel) => match channel.kind() {
                    None => channel.operators().to_vec(),
                    Some(kind) => {
                        let number = |a: &Angle| Values::<f64>(&values).radians(a).unwrap();
                        kraus(kind, &channel.params().iter().map(number).collect::<Vec<_>>())
                    }
                },
                Operation::Measure { bit } => {
                    for value in [false, true] {
                        let mut bits = bits.clone();
                        bits[*bit as usize] = value;
                        put(
                            &bits,
                            sandwich(&on(&unit(usize::from(value), usize::from(value))), &rho),
                        );
                    }
                    continue;
                }
                Operation::ReadoutError { bits: read, probabilities } => {
                    let own: usize = read
                        .iter()
                        .zip(0..)
                        .map(|(&b, k)| usize::from(bits[b as usize]) << k)
                        .sum();
                    let number = |p| Values::<f64>(&values).radians(p).unwrap();
                    let row =
                        &probabilities[own * ((1 << read.len()) - 1)..][..(1 << read.len()) - 1];
                    let mut row: Vec<f64> = row.iter().map(number).collect();
                    row.insert(own, 1.0 - row.iter().sum::<f64>());
                    for (outcome, share) in row.into_iter().enumerate() {
                        let mut bits = bits.clone();
                        read.iter()
                            .zip(0..)
                            .for_each(|(&b, k)| bits[b as usize] = outcome >> k & 1 == 1);
                        let mut part = rho.clone();
                        part.iter_mut().flatten().for_each(|x| *x *= share);
                        put(&bits, part);
                    }
                    continue;
                }
                Operation::Assign { bit, value } => {
                    let mut bits = bits.clone();
                    bits[*bit as usize] = *value;
                    put(&bits, rho);
                    continue;
                }
                other => panic!("{other:?}"),
            };
            for operator in operators {
                put(&bits, sandwich(&on(&operator), &rho));
            }
        }
        branches = next;
    }
    branches
}

fn assert_state(rho: &DensityMatrix<C>, expected: &Dense<C>, what: &str) {
    for (row, entries) in expected.iter().enumerate() {
        for (column, entry) in entries.iter().enumerate() {
            let off = (rho.entry(row, column) - entry).norm();
            assert!(off < CIRCUIT, "{what}: entry ({row}, {column}) is off by {off:e}");
        }
    }
}

/// A channel with probabilities from a generator.
fn channel(rng: &mut Rng, kind: ChannelKind) -> Channel {
    // pauli_channel needs a sum below 1.
    let n = kind.param_names().len();
    Channel::new(kind, (0..n).map(|_| rng.unit() / n as f64).collect::<Vec<f64>>()).unwrap()
}

fn random_kraus(rng: &mut Rng, k: usize) -> Channel {
    // Two blocks of rows of a larger unitary.
    let u = rng.unitary(k + 1);
    let block = |b: usize| Matrix::from_fn(k, |i, j| u[(b << k | i, j)]);
    Channel::kraus([block(0), block(1)]).unwrap()
}

/// A random readout matrix of k bits, some of whose entries are 0.
fn readout(rng: &mut Rng, k: usize) -> Vec<Vec<f64>> {
    let row = |rng: &mut Rng| {
        let entry = |rng: &mut Rng| if rng.below(3) == 0 { 0.0 } else { rng.unit() + 0.01 };
        let mut row: Vec<f64> = (0..1 << k).map(|_| entry(rng)).collect();
        row[0] += 0.01;
        let sum: f64 = row.iter().sum();
        row.into_iter().map(|p| p / sum).collect()
    };
    (0..1 << k).map(|_| row(rng)).collect()
}

/// Random instructions of every sort on n qubits and two bits.
fn noisy(rng: &mut Rng, n: usize, len: usize, dynamic: bool) -> Circuit {
    let mut circuit = Circuit::new(n);
    circuit.add_register("m", 2).unwrap();
    for _ in 0..len {
        let qubits = rng.permutation(n);
        match rng.below(if dynamic { 12 } else { 6 }) {
            0..3 if rng.below(6) == 0 => rng.push_rotation(&mut circuit, Rng::angle),
            0..3 => rng.fill(&mut circuit, 1, Rng::angle),
            3 | 4 => {
                let kind = ChannelKind::ALL[rng.below(ChannelKind::ALL.len())];
                circuit.channel(channel(rng, kind), &qubits[..kind.n_qubits()]).unwrap();
            }
            5 => {
                let k = 1 + rng.below(2);
                circuit.channel(random_kraus(rng, k), &qubits[..k]).unwrap();
            }
            6 => {
                circuit.measure(qubits[0], rng.below(2)).unwrap();
            }
            7 => {
                circuit.reset(qubits[0]).unwrap();
            }
            9 => {
                circuit.readout_error(rng.below(2), rng.unit(), rng.unit()).unwrap();
            }
            10 => {
                let bits: &[usize] = [&[0, 1], &[1, 0]][rng.below(2)];
                circuit.readout_matrix(bits, &readout(rng, 2)).unwrap();
            }
            8 => {
                circuit.assign(rng.below(2), rng.below(2) == 1).unwrap();
            }
            _ => {
                let condition =
                    Condition::Bit { bit: rng.below(2) as u32, value: rng.below(2) == 1 };
                let (gate, kind) = (rng.below(2) == 0, ChannelKind::ALL[rng.below(5)]);
                let noise = channel(rng, kind);
                let on = |c: &mut Circuit| {
                    if gate {
                        c.h(qubits[0]).map(|_| ())
                    } else {
                        c.channel(noise, &qubits[..1]).map(|_| ())
                    }
                };
                circuit.when(condition, |c| on(c).map(|()| c)).unwrap();
            }
        }
    }
    circuit
}

#[test]
fn every_channel_is_what_its_kraus_operators_say() {
    let mut rng = Rng::new(7);
    for &kind in ChannelKind::ALL {
        for turn in 0..4 {
            let channel = match turn {
                // The ends of the range.
                0 => Channel::new(kind, vec![0.0; kind.param_names().len()]).unwrap(),
                1 => Channel::new(
                    kind,
                    (0..kind.param_names().len()).map(|k| f64::from(u8::from(k == 0))),
                )
                .unwrap(),
                _ => channel(&mut rng, kind),
            };
            let mut circuit = Circuit::new(3);
            rng.fill(&mut circuit, 12, Rng::angle);
            let qubits = rng.permutation(3);
            circuit.channel(channel.clone(), &qubits[..kind.n_qubits()]).unwrap();
            let rho = Simulator::new().run_density(&circuit, &[] as &[f64]).unwrap();
            let expected = by_definition(&circuit, &[]).into_values().next().unwrap();
            assert_state(&rho, &expected, &channel.to_string());
            // The terms of a mixture are unitary and their weights are probabilities.
            let terms = channel.terms::<C>(&Values::<f64>(&[])).unwrap();
            let unitary = terms.iter().all(|(_, a)| a.check_unitary(ROUNDING).is_ok());
            assert!(channel.is_mixture() || !unitary, "{channel}");
            if channel.is_mixture() {
                assert!(unitary, "{channel}");
                assert!(
                    (terms.iter().map(|t| t.0.re).sum::<f64>() - 1.0).abs() < ROUNDING,
                    "{channel}"
                );
            }
        }
    }
}

#[test]
fn relaxation_has_the_rates_of_both_times() {
    let mut rng = Rng::new(5);
    for _ in 0..20 {
        let t1 = 10f64.powf(2.0 * rng.unit());
        let time = t1 * 10f64.powf(3.0 * rng.unit() - 2.0);
        // Up to twice T1, where nothing but the fall takes the phase.
        for t2 in [2.0 * t1 * rng.unit().max(0.01), 2.0 * t1] {
            let mut circuit = Circuit::new(1);
            circuit.ry(0, 0.7).unwrap();
            for channel in Channel::relaxation(time, t1, t2).unwrap() {
                circuit.channel(channel, &[0]).unwrap();
            }
            let rho = Simulator::new().run_density(&circuit, &[] as &[f64]).unwrap();
            let (excited, coherence) = (0.35f64.sin().powi(2), 0.5 * 0.7f64.sin());
            let left = excited * (-time / t1).exp();
            let off = coherence * (-time / t2).exp();
            let expected =
                [[1.0 - left, off], [off, left]].map(|row| row.map(|x| c(x, 0.0)).to_vec());
            assert_state(&rho, &expected.to_vec(), &format!("{time} of {t1} and {t2}"));
        }
    }
}

#[test]
fn random_circuits_with_noise_measurements_and_conditions() {
    let mut rng = Rng::new(11);
    for turn in 0..60 {
        let n = 2 + turn % 3;
        let circuit = noisy(&mut rng, n, 14, turn % 2 == 1);
        let bound = BoundCircuit::<C>::new(&circuit, &Values::<f64>(&[])).unwrap();
        let ensemble = Simulator::new().ensemble(&bound).unwrap();
        let mut expected = Branches::new();
        let definition = by_definition(&circuit, &[]);
        let distribution = Simulator::new().distribution(&bound, 1 << 10).unwrap();
        // Measurements that may wait are in the distribution only.
        for (bits, rho) in &definition {
            let p: f64 = (0..1 << n).map(|i| rho[i][i].re).sum();
            let mut key = Bits::zero(circuit.n_bits());
            (0u32..).zip(bits).for_each(|(bit, &value)| key.set(bit, value));
            let found = distribution.get(&key).copied().unwrap_or(0.0);
            assert!(
                (p - found).abs() < CIRCUIT,
                "turn {turn}: {bits:?} has {found}, expected {p}\n{circuit}"
            );
            expected.insert(bits.clone(), rho.clone());
        }
        let total: f64 = distribution.values().sum();
        assert!((total - 1.0).abs() < CIRCUIT, "turn {turn}: {total}");
        let trace: f64 = ensemble.values().map(DensityMatrix::trace).sum();
        assert!((trace - 1.0).abs() < CIRCUIT, "turn {turn}: {trace}");
        // As text it is the same circuit.
        let text = to_qasm3(&circuit).unwrap();
        let again = parse(&text, &QasmOptions::default())
            .unwrap_or_else(|e| panic!("turn {turn}: {e}\n{text}"))
            .circuit;
        let bound = BoundCircuit::<C>::new(&again, &Values::<f64>(&[])).unwrap();
        let read = Simulator::new().distribution(&bound, 1 << 10).unwrap();
        let far = |p: &f64, q: Option<&f64>| (p - q.copied().unwrap_or(0.0)).abs() > CIRCUIT;
        assert!(
            !distribution.iter().any(|(bits, p)| far(p, read.get(bits))),
            "turn {turn}:\n{text}"
        );
        // Without measurements that wait the states are those of the bits.
        if circuit.has_results() {
            continue;
        }
        let mut sum = vec![vec![c(0.0, 0.0); 1 << n]; 1 << n];
        expected.values().for_each(|rho| add(&mut sum, rho, c(1.0, 0.0)));
        let rho = Simulator::new().run_density(&circuit, &[] as &[f64]).unwrap();
        assert_state(&rho, &sum, &format!("turn {turn}\n{circuit}"));
    }
}

/// The largest z-score of counts against probabilities.
fn worst_deviation(
    counts: &BTreeMap<Bits, u64>,
    distribution: &BTreeMap<Bits, f64>,
    shots: u64,
) -> f64 {
    let deviation = |(bits, &p): (&Bits, &f64)| {
        let count = counts.get(bits).copied().unwrap_or(0) as f64;
        let shots = shots as f64;
        (count - shots * p).abs() / (shots * p * (1.0 - p)).max(1.0).sqrt()
    };
    distribution.iter().map(deviation).fold(0.0, f64::max)
}

#[test]
fn trajectories_have_the_distribution_of_density_matrices() {
    let mut rng = Rng::new(3);
    let shots = 20_000;
    let mut outcomes = 0;
    for turn in 0..24 {
        let mut circuit = noisy(&mut rng, 3, 16, true);
        circuit.add_register("end", 3).unwrap();
        circuit.measure(0..3, 2..5).unwrap().readout_error(2..4, 0.1, 0.3).unwrap();
        circuit.readout_matrix([4, 0, 2], &readout(&mut rng, 3)).unwrap();
        let bound = BoundCircuit::<C>::new(&circuit, &Values::<f64>(&[])).unwrap();
        let distribution = Simulator::new().distribution(&bound, 1 << 10).unwrap();
        let counts = Simulator::new().trajectory_counts(&bound, shots, turn).unwrap();
        assert!(
            counts.keys().all(|bits| distribution.contains_key(bits)),
            "turn {turn}: an impossible outcome"
        );
        let worst = worst_deviation(&counts, &distribution, shots as u64);
        // Of 24 times 32 outcomes or fewer none is beyond 5 sigma but once in 2,000 seeds.
        assert!(worst < 5.0, "turn {turn}: {worst} sigma\n{circuit}");
        outcomes += distribution.len();
    }
    assert!(outcomes > 150, "{outcomes}");
}

/// States large enough for gates to wait and to be planned together.
#[test]
fn trajectories_of_wide_circuits_agree_with_density_matrices() {
    let mut rng = Rng::new(5);
    let n = 10;
    // Five pairs that know nothing of each other: the density matrix of each is small.
    let pairs: Vec<Circuit> = (0..n / 2).map(|_| noisy(&mut rng, 2, 30, false)).collect();
    let mut circuit = Circuit::new(n);
    for (k, pair) in pairs.iter().enumerate() {
        for instruction in pair.instructions() {
            let mut moved = instruction.clone();
            moved.targets.iter_mut().for_each(|q| *q += 2 * k as u32);
            moved.controls.iter_mut().for_each(|c| c.qubit += 2 * k as u32);
            circuit.push(moved).unwrap();
        }
    }
    let bound = BoundCircuit::<C>::new(&circuit, &Values::<f64>(&[])).unwrap();
    let observables: Vec<_> = (0..n / 2)
        .map(|k| format!("Z{} Z{} + 0.5 X{}", 2 * k, 2 * k + 1, 2 * k).parse().unwrap())
        .collect();
    let shots = 3000;
    let means = Simulator::new().trajectory_expectations(&bound, &observables, shots, 9).unwrap();
    for (pair, mean) in pairs.iter().zip(&means) {
        let rho = Simulator::new().run_density(pair, &[] as &[f64]).unwrap();
        let exact = rho.expectation(&"Z0 Z1 + 0.5 X0".parse().unwrap()).unwrap();
        let sigma = mean.stderr.unwrap();
        assert!((mean.value - exact).abs() < 5.0 * sigma, "{} +- {sigma}, not {exact}", mean.value);
    }
    // The same shots on any number of threads, and where nothing may wait in memory.
    let threads = Simulator::new().with_threads(Threads::new(2).unwrap());
    assert_eq!(
        threads.trajectory_expectations(&bound, &observables, 200, 9).unwrap(),
        Simulator::new().trajectory_expectations(&bound, &observables, 200, 9).unwrap()
    );
    let small = Simulator::new().with_memory_limit(16 << n);
    let (a, b) = (
        small.trajectory_expectations(&bound, &observables, 50, 9).unwrap(),
        Simulator::new().trajectory_expectations(&bound, &observables, 50, 9).unwrap(),
    );
    for (a, b) in a.iter().zip(&b) {
        assert!((a.value - b.value).abs() < CIRCUIT);
    }
}

#[test]
fn density_matrices_answer_as_their_definitions_say() {
    let mut rng = Rng::new(1);
    let circuit = noisy(&mut rng, 3, 20, false);
    let rho = Simulator::new().run_density(&circuit, &[] as &[f64]).unwrap();
    let matrix = reference::rows(&rho.to_matrix());
    let trace = |m: &Dense<C>| (0..m.len()).map(|i| m[i][i]).sum::<C>();
    let sum = "0.3 X0 Y1 Z2 - 1.2 Y0 Y2 + Z1 + 0.7".parse().unwrap();
    let expected = trace(&product(&pauli_sum(&sum, 3), &matrix));
    assert!(
        (rho.expectation(&sum).unwrap() - expected.re).abs() < ROUNDING
            && expected.im.abs() < ROUNDING
    );
    assert!((rho.purity() - trace(&product(&matrix, &matrix)).re).abs() < ROUNDING);
    assert!((rho.trace() - 1.0).abs() < ROUNDING);
    let p = rho.probabilities_of(&[2, 0]).unwrap();
    for (outcome, p) in p.iter().enumerate() {
        let of = |i: &usize| (i >> 2 & 1 | (i & 1) << 1) == outcome;
        let expected: f64 = (0..8).filter(of).map(|i| matrix[i][i].re).sum();
        assert!((p - expected).abs() < ROUNDING);
    }
    let psi = StateVector::<C>::random(3, 4, &Threads::serial()).unwrap();
    let a = psi.amplitudes();
    let expected: C = (0..64).map(|k| a[k / 8].conj() * matrix[k / 8][k % 8] * a[k % 8]).sum();
    assert!((rho.fidelity(&psi).unwrap() - expected.re).abs() < ROUNDING);
    // A pure state is what it was, and its reduced ones are those of the vector.
    let pure = DensityMatrix::pure(&psi, &Threads::serial()).unwrap();
    assert!(
        (pure.purity() - 1.0).abs() < ROUNDING
            && (pure.fidelity(&psi).unwrap() - 1.0).abs() < ROUNDING
    );
    let (left, right) = (
        pure.reduced(&[2, 1]).unwrap(),
        psi.reduced_density_matrix(&[2, 1], &Threads::serial()).unwrap(),
    );
    let off = left
        .to_matrix()
        .entries()
        .iter()
        .zip(right.entries())
        .map(|(a, b)| (a - b).norm())
        .fold(0.0, f64::max);
    assert!(off < ROUNDING, "{off}");
    // Samples by the diagonal.
    let counts = rho.sample_counts(100_000, 5, &Threads::serial()).unwrap();
    for (index, count) in counts {
        let p = matrix[index][index].re;
        assert!(
            (count as f64 - 1e5 * p).abs() < 5.0 * (1e5 * p * (1.0 - p)).sqrt().max(1.0),
            "{index}: {count}"
        );
    }
}

/// Derivatives by the strength of the noise are finite at 0, and right.
#[test]
fn noise_has_derivatives_and_formulas() {
    let observable = "Z0 Z1".parse().unwrap();
    let mut circuit = Circuit::new(2);
    let (t, p, g) = (circuit.param("t"), circuit.param("p"), circuit.param("g"));
    circuit
        .ry(0, t)
        .unwrap()
        .cx(0, 1)
        .unwrap()
        .depolarizing(0, &p)
        .unwrap()
        .amplitude_damping(1, g)
        .unwrap();
    circuit.two_qubit_depolarizing(0, 1, p / 2).unwrap();
    let value = |x: [f64; 3]| {
        Simulator::new().run_density(&circuit, &x).unwrap().expectation(&observable).unwrap()
    };
    for at in [[0.4, 0.0, 0.0], [1.1, 0.2, 0.3]] {
        for k in 0..3 {
            let duals: Vec<Dual64> =
                (0..3).map(|j| Dual64::new(at[j], f64::from(u8::from(j == k)))).collect();
            let z = Simulator::new()
                .run_density(&circuit, &duals)
                .unwrap()
                .expectation(&observable)
                .unwrap();
            // One-sided at 0, where the other side is no probability: exact to second order.
            let h = 1e-4;
            let by =
                |s: f64| value(std::array::from_fn(|j| if j == k { at[j] + s * h } else { at[j] }));
            let slope = (4.0 * by(1.0) - by(2.0) - 3.0 * by(0.0)) / (2.0 * h);
            assert!((z.re - value(at)).abs() < ROUNDING);
            assert!((z.eps - slope).abs() < 1e-6, "{k} at {at:?}: {} and {slope}", z.eps);
        }
    }
    // cos(t) of a qubit loses 4/3 p.
    let mut one = Circuit::new(1);
    let (t, p) = (one.param("t"), one.param("p"));
    one.ry(0, t).unwrap().depolarizing(0, p).unwrap();
    let symbols = [Expr::symbol("t"), Expr::symbol("p")];
    let z = Simulator::new()
        .run_density(&one, &symbols)
        .unwrap()
        .expectation(&"Z0".parse().unwrap())
        .unwrap();
    let value = z.evaluate(&[("t", 0.7), ("p", 0.3)]).unwrap();
    assert!((value - 0.7f64.cos() * 0.6).abs() < ROUNDING, "{value}");
}

/// Damping that takes all: the slope of `sqrt(1 - gamma)` is infinite there, that of what is on the
/// diagonal is not.
#[test]
fn damping_has_derivatives_where_it_takes_all() {
    let energy = |circuit: Circuit, observable: &str| {
        Expectation::new(circuit, [observable.parse::<PauliSum>().unwrap()]).unwrap()
    };
    // After RY(a), with strength g: <Z> is 1 - (1 - g) (1 - cos a), with a population p in the end
    // 1 - 2 (1 - p) besides.
    let (a, b, p) = (0.7f64, 0.4f64, 0.8f64);
    let one = |channel: &str| {
        let mut circuit = Circuit::new(1);
        circuit.ry(0, a).unwrap();
        let g = circuit.param("g");
        match channel {
            "amplitude" => circuit.amplitude_damping(0, g).unwrap(),
            "generalized" => circuit.generalized_amplitude_damping(0, g, p).unwrap(),
            _ => circuit.phase_damping(0, g).unwrap(),
        };
        circuit
    };
    for (channel, slope) in
        [("amplitude", 1.0 - a.cos()), ("generalized", 2.0 * p - 1.0 - a.cos()), ("phase", 0.0)]
    {
        let z = energy(one(channel), "Z0");
        for method in [Method::Adjoint, Method::Forward, Method::Difference] {
            let (_, gradient) = z.gradient_by(method, &[1.0f64]).unwrap();
            assert!(
                (gradient[0] - slope).abs() < 1e-8,
                "{channel} {method:?}: {gradient:?}, not {slope}"
            );
        }
        assert!(
            z.hessian_by(Method::Forward, &[1.0f64]).unwrap()[0][0].abs() < ROUNDING,
            "{channel}"
        );
        // The off-diagonal entry falls infinitely fast; its value is that at 1.
        let (value, gradient) = energy(one(channel), "X0").value_and_gradient(&[1.0f64]).unwrap();
        assert!(value == 0.0 && gradient[0] == f64::NEG_INFINITY, "{value} {gradient:?}");
        let x = energy(one(channel), "1e-9 X0 + 1e3 Z0");
        assert_eq!(x.value_and_gradient(&[1.0f64]).unwrap().1, [f64::NEG_INFINITY]);
        let x = energy(one(channel), "X0");
        assert_eq!(x.value_and_gradient(&[1.0f32]).unwrap().1, [f32::NEG_INFINITY]);
        assert_eq!(x.gradient_by(Method::Difference, &[1.0f64]).unwrap().1, [f64::NEG_INFINITY]);
        assert!(!x.gradient_by(Method::Forward, &[1.0f64]).unwrap().1[0].is_finite());
        // Beside the edge it is large, and `-sin(a) / (2 sqrt(1 - g))`.
        let (_, gradient) = x.value_and_gradient(&[1.0 - 1e-10]).unwrap();
        assert!((gradient[0] / (-a.sin() * 5e4) - 1.0).abs() < 1e-6, "{gradient:?}");
    }
    // A strength that is no parameter takes all: nothing is left to depend on the angle.
    let mut circuit = Circuit::new(1);
    let angle = circuit.param("a");
    circuit.ry(0, angle).unwrap().phase_damping(0, 1.0).unwrap();
    assert_eq!(energy(circuit, "X0").value_and_gradient(&[a]).unwrap(), (0.0, vec![0.0]));
    // What rounding put beyond 1 is 1.
    let (value, gradient) =
        energy(one("phase"), "X0 + Z0").value_and_gradient(&[1.0 + 1e-13]).unwrap();
    assert!(
        (value - a.cos()).abs() < ROUNDING && gradient[0] == f64::NEG_INFINITY,
        "{value} {gradient:?}"
    );
    // Twice with the same strength it is 1 - g: by each of them nothing, by both the sine that
    // RY(b) shows.
    let twice = |second: &str| {
        let mut circuit = Circuit::new(1);
        circuit.ry(0, a).unwrap();
        for name in ["g", second] {
            let g = circuit.param(name);
            circuit.amplitude_damping(0, g).unwrap();
        }
        circuit.ry(0, b).unwrap();
        energy(circuit, "Z0")
    };
    let (value, gradient) = twice("g").value_and_gradient(&[1.0f64]).unwrap();
    assert!(
        (value - b.cos()).abs() < ROUNDING && (gradient[0] - a.sin() * b.sin()).abs() < 1e-7,
        "{gradient:?}"
    );
    // By one of two, the limits from other directions are others.
    let (_, gradient) = twice("k").value_and_gradient(&[1.0, 1.0]).unwrap();
    assert!(gradient.iter().any(|x: &f64| !x.is_finite()), "{gradient:?}");
    let (_, gradient) = twice("g").value_and_gradient(&[1.0f32]).unwrap();
    assert!((f64::from(gradient[0]) - a.sin() * b.sin()).abs() < 2e-3, "{gradient:?}");
}

/// Gates and channels whose angles and strengths are inputs, shared and computed ones among them.
fn variational(rng: &mut Rng, n: usize, len: usize) -> Circuit {
    let mut circuit = Circuit::new(n);
    let angles: Vec<Angle> = (0..3).map(|k| circuit.param(&format!("a{k}"))).collect();
    let strengths: Vec<Angle> = (0..2).map(|k| circuit.param(&format!("p{k}"))).collect();
    for turn in 0..len {
        if turn % 3 < 2 {
            rng.fill(&mut circuit, 1, |rng| {
                angles[rng.below(3)].clone() * [1, 2, -1][rng.below(3)]
            });
            continue;
        }
        let (qubits, kind) =
            (rng.permutation(n), ChannelKind::ALL[rng.below(ChannelKind::ALL.len())]);
        let params: Vec<Angle> = (0..kind.param_names().len())
            .map(|_| strengths[rng.below(2)].clone() / [3, 4][rng.below(2)])
            .collect();
        let channel = Channel::new(kind, params).unwrap();
        circuit.channel(channel, &qubits[..kind.n_qubits()]).unwrap();
    }
    circuit
}

fn assert_gradients(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    let off = a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(a.len() == b.len() && off < tolerance, "{what}: {a:?} and {b:?}");
}

#[test]
fn gradients_with_noise_agree_by_every_method() {
    let mut rng = Rng::new(17);
    let observable = || -> PauliSum { "Z0 Z1 - 0.4 X0 + 0.3 Y1".parse().unwrap() };
    for turn in 0..20 {
        let n = 2 + turn % 2;
        let circuit = variational(&mut rng, n, 18);
        let at = [
            rng.signed(),
            rng.signed(),
            rng.signed(),
            0.1 + 0.5 * rng.unit(),
            0.1 + 0.5 * rng.unit(),
        ];
        let overlap = Arc::new(StateVector::random(n, turn as u64, &Threads::serial()).unwrap());
        let observables = [
            observable().into(),
            Observable::Outcome(vec![(1, true), (0, false)]),
            Observable::Overlap(overlap),
        ];
        let energy = Expectation::new(circuit.clone(), observables).unwrap();
        let (value, gradient) = energy.value_and_gradient(&at).unwrap();
        for method in [Method::Forward, Method::Difference] {
            let (other, by_method) = energy.gradient_by(method, &at).unwrap();
            let tolerance = if method == Method::Forward { CIRCUIT } else { 1e-7 };
            assert!((value - other).abs() < CIRCUIT, "{method}");
            assert_gradients(
                &gradient,
                &by_method,
                tolerance,
                &format!("turn {turn}: {method}\n{circuit}"),
            );
        }
        assert!(energy.check(&at).unwrap().agree);
        assert!(matches!(energy.gradient_by(Method::Shift, &at), Err(HybridError::Shift { .. })));
        // Where next to nothing may be kept, states are computed again.
        let bytes = 16u64 << (2 * n);
        let poor = energy.clone().with_simulator(Simulator::new().with_memory_limit(5 * bytes));
        assert_gradients(
            &gradient,
            &poor.value_and_gradient(&at).unwrap().1,
            CIRCUIT,
            "little memory",
        );
        // Second derivatives: on duals, and by hyper-duals.
        if turn < 4 {
            let (a, b) =
                (energy.hessian(&at).unwrap(), energy.hessian_by(Method::Forward, &at).unwrap());
            a.iter().zip(&b).for_each(|(a, b)| assert_gradients(a, b, 1e-10, "Hessian"));
        }
        assert!(energy.metric_tensor(&at).is_err());
        // Differences go to one side where the other is no probability.
        let edge = [at[0], at[1], at[2], 0.0, 0.0];
        let by = |method| energy.gradient_by(method, &edge).unwrap().1;
        assert_gradients(&by(Method::Adjoint), &by(Method::Difference), 1e-7, "at 0");
    }
    // Shifts where the noise has no parameters, and a prepared gradient.
    let mut circuit = Circuit::new(2);
    let (t, s) = (circuit.param("t"), circuit.param("s"));
    circuit.ry(0, &t).unwrap().cx(0, 1).unwrap().two_qubit_depolarizing(0, 1, 0.1).unwrap();
    circuit.crx(1, 0, s * 2).unwrap().amplitude_damping(0..2, 0.2).unwrap().rzz(0, 1, t).unwrap();
    let energy = Expectation::new(circuit, [observable()]).unwrap();
    let (_, gradient) = energy.value_and_gradient(&[0.3, 0.8]).unwrap();
    assert_gradients(
        &gradient,
        &energy.gradient_by(Method::Shift, &[0.3, 0.8]).unwrap().1,
        CIRCUIT,
        "shift",
    );
    let mut prepared = vec![0.0; 2];
    energy.prepare::<f64>().unwrap().value_and_gradient(&[0.3, 0.8], &mut prepared).unwrap();
    assert_gradients(&gradient, &prepared, CIRCUIT, "prepared");
}

/// Enough qubits for plans of many gates in one pass: channels are no unitaries there.
#[test]
fn wide_density_matrices_are_planned_right() {
    let mut rng = Rng::new(23);
    let n = 6;
    for _ in 0..2 {
        let mut circuit = noisy(&mut rng, n, 30, false);
        for q in 0..n {
            circuit.ry(q, 0.3 + q as f64).unwrap().depolarizing(q, 0.05).unwrap();
        }
        let rho = Simulator::new().run_density(&circuit, &[] as &[f64]).unwrap();
        let expected = by_definition(&circuit, &[]).into_values().next().unwrap();
        assert_eq!(rho.n_qubits(), 6);
        assert_state(&rho, &expected, "six qubits");
    }
}

#[test]
fn noise_of_a_model_is_under_the_condition_of_what_it_follows() {
    let mut model = NoiseModel::new();
    model
        .readout_error(0.1, 0.2)
        .add(After::AllGates, Channel::new(ChannelKind::BitFlip, [0.3]).unwrap());
    let when = |bit: usize| {
        let mut circuit = Circuit::new(1);
        circuit.add_register("m", 2).unwrap().measure(0, 0).unwrap();
        let condition = Condition::Bit { bit: 0, value: false };
        circuit.when(condition, |c| c.h(0)?.measure(0, bit)).unwrap();
        model.apply(&circuit)
    };
    let noisy = when(1).unwrap();
    let text = noisy.to_string();
    assert!(text.contains("if (c[0] == 0) bit_flip(0.3) q[0]\n"), "{text}");
    assert!(text.ends_with("if (c[0] == 0) readout_error(0.1, 0.2) -> c[1]\n"), "{text}");
    // Once the bit is another one, the condition is.
    assert!(matches!(when(0), Err(CircuitError::NoiseCondition { .. })));
}

#[test]
fn a_channel_on_some_qubits_of_an_instruction_acts_on_these_alone() {
    let mut circuit = Circuit::new(3);
    circuit.ccx(2, 0, 1).unwrap().cx(1, 2).unwrap();
    let [flip, pair] = [(ChannelKind::BitFlip, 0.1), (ChannelKind::TwoQubitDepolarizing, 0.2)]
        .map(|(kind, p)| Channel::new(kind, [p]).unwrap());
    let mut model = NoiseModel::new();
    model.add_on(&[1, 2], After::AllGates, flip).add_on(&[1, 0], After::AllGates, pair);
    // Controls come first. The pair is not among the qubits of the second gate.
    let mut expected = Circuit::new(3);
    expected.ccx(2, 0, 1).unwrap().bit_flip(2, 0.1).unwrap().bit_flip(1, 0.1).unwrap();
    expected.two_qubit_depolarizing(0, 1, 0.2).unwrap();
    expected.cx(1, 2).unwrap().bit_flip(1, 0.1).unwrap().bit_flip(2, 0.1).unwrap();
    assert_eq!(model.apply(&circuit).unwrap().to_string(), expected.to_string());
}

#[test]
fn a_rule_of_a_model_fits_by_what_an_instruction_is() {
    let mut circuit = Circuit::new(3);
    circuit.add_register("m", 1).unwrap().x(0).unwrap().cx(0, 1).unwrap();
    circuit.gate(Gate::new(GateKind::X, []).unwrap(), &[1], &[(0, false)]).unwrap();
    circuit.u3(2, 0.1, 0.2, 0.3).unwrap();
    circuit.pauli_rotation(&PauliString::from_masks(0b101, 0b100).unwrap(), 0.3).unwrap();
    circuit.ccx(0, 1, 2).unwrap().measure(2, 0).unwrap();
    let flips = |name: &str| {
        let mut model = NoiseModel::new();
        model
            .add(After::named([name]).unwrap(), Channel::new(ChannelKind::BitFlip, [0.1]).unwrap());
        model.apply(&circuit).unwrap().count_operations().get("bit_flip").copied().unwrap_or(0)
    };
    // On each qubit of what the name fits; a control of value 0 is a control.
    let expected = [
        ("x", 1),
        ("cx", 4),
        ("CX", 4),
        ("cnot", 4),
        ("c1-x", 4),
        ("ccx", 3),
        ("toffoli", 3),
        ("c1-cx", 3),
    ];
    let others = [
        ("u", 1),
        ("U", 1),
        ("u3", 1),
        ("measure", 1),
        ("unitary", 0),
        ("pauli_rotation", 2),
        ("c1-pauli_rotation", 0),
        ("cy", 0),
        ("c7-swap", 0),
    ];
    for (name, count) in expected.into_iter().chain(others) {
        assert_eq!(flips(name), count, "{name}");
    }
    for name in ["", "barrier", "c-x", "cx-1", "mesure"] {
        assert!(
            matches!(After::named([name]), Err(CircuitError::NoSuchInstruction { .. })),
            "{name}"
        );
    }
}

#[test]
fn probabilities_that_round_beyond_one_in_single_precision_are_probabilities() {
    let mut circuit = Circuit::new(1);
    let [a, b, c] = ["a", "b", "c"].map(|name| circuit.param(name));
    circuit.pauli_channel(0, a, b, c).unwrap();
    // Their sum in f32 is 1.0000001.
    let thirds = [0.3f32, 0.4, 0.3 + f32::EPSILON / 2.0];
    assert!(thirds[0] + thirds[1] + thirds[2] > 1.0);
    let rho = Simulator::new().run_density(&circuit, &thirds).unwrap();
    assert!((rho.trace() - 1.0).abs() < 1e-6);
    let beyond = [0.3f32, 0.4, 0.3001];
    assert!(Simulator::new().run_density(&circuit, &beyond).is_err());
    // In double precision so much is no rounding.
    assert!(Simulator::new().run_density(&circuit, &[0.3, 0.4, 0.300_000_1]).is_err());
}

#[test]
fn readings_may_be_wrong() {
    // A final measurement, one that is read, and one that is written over.
    let mut circuit = Circuit::new(2);
    let p = circuit.param("p");
    circuit.add_register("m", 2).unwrap();
    circuit.x(0).unwrap().measure(0, 0).unwrap().readout_error(0, 0.0, &p).unwrap();
    circuit.when(Condition::Bit { bit: 0, value: true }, |c| c.x(1)).unwrap();
    circuit
        .measure(1, 1)
        .unwrap()
        .readout_error(1, 0.5, 0.0)
        .unwrap()
        .measure(1, 1)
        .unwrap()
        .readout_error(1, 0.2, 0.1)
        .unwrap();
    let text = circuit.to_string();
    assert!(text.contains("readout_error(0, p) -> c[0]\n"), "{text}");
    let bound = BoundCircuit::<C>::new(&circuit, &Values::<f64>(&[0.25])).unwrap();
    let distribution = Simulator::new().distribution(&bound, 16).unwrap();
    let of = |m0: bool, m1: bool| {
        let mut bits = Bits::zero(2);
        bits.set(0, m0);
        bits.set(1, m1);
        distribution[&bits]
    };
    for (bits, expected) in [
        ((true, true), 0.75 * 0.9),
        ((true, false), 0.75 * 0.1),
        ((false, true), 0.25 * 0.2),
        ((false, false), 0.25 * 0.8),
    ] {
        assert!((of(bits.0, bits.1) - expected).abs() < ROUNDING, "{bits:?}");
    }
    let counts = Simulator::new().trajectory_counts(&bound, 20_000, 3).unwrap();
    assert!(worst_deviation(&counts, &distribution, 20_000) < 5.0);
    // Many qubits that are read wrongly take no branches.
    let n = 24;
    let mut wide = Circuit::new(n);
    wide.add_register("m", n).unwrap();
    wide.measure(.., ..).unwrap().readout_error(.., 0.5, 0.0).unwrap();
    let counts = Simulator::new().run_shots(&wide, &[] as &[f64], 100, 1).unwrap();
    assert!(counts.len() > 90 && counts.keys().all(|bits| bits.len() == n));
    // The state is that before the readings.
    let energy = Expectation::new(wide, ["Z0".parse::<PauliSum>().unwrap()]).unwrap();
    assert!((energy.value::<f64>(&[]).unwrap() - 1.0).abs() < ROUNDING);
}

#[test]
fn loops_end_on_density_matrices() {
    // Heads again and again until tails, on a coin that is damped.
    let mut circuit = Circuit::new(1);
    circuit.add_register("c", 1).unwrap();
    circuit.x(0).unwrap().measure(0, 0).unwrap();
    circuit
        .while_loop(Condition::Bit { bit: 0, value: true }, |c| {
            c.reset(0)?.x(0)?.amplitude_damping(0, 0.25)?.measure(0, 0)
        })
        .unwrap();
    let bound = BoundCircuit::<C>::new(&circuit, &Values::<f64>(&[])).unwrap();
    let distribution = Simulator::new().distribution(&bound, 4).unwrap();
    let (bits, p) = distribution.iter().next().unwrap();
    assert!(distribution.len() == 1 && !bits.get(0) && (p - 1.0).abs() < 1e-14, "{distribution:?}");
    let endless = Circuit::build(1, |c| {
        c.add_register("c", 1)?.while_loop(Condition::Bit { bit: 0, value: false }, |c| {
            c.bit_flip(0, 0.1)?.measure(0, 0)?.assign(0, false)
        })
    })
    .unwrap();
    let bound = BoundCircuit::<C>::new(&endless, &Values::<f64>(&[])).unwrap();
    let few = Simulator::new().with_max_rounds(50);
    assert!(matches!(few.distribution(&bound, 4), Err(SimulateError::Endless { limit: 50 })));
}

#[test]
fn what_is_no_channel_is_told() {
    let mut circuit = Circuit::new(2);
    let p = circuit.param("p");
    assert!(circuit.depolarizing(0..2, &p).is_ok());
    let error = Simulator::new().run_density(&circuit, &[1.5]).unwrap_err().to_string();
    assert_eq!(error, "the probability p is 1.5, which is not between 0 and 1");
    let error = Simulator::new().run_shots(&circuit, &[f64::NAN], 3, 1).unwrap_err().to_string();
    assert!(error.contains("p is not a finite number") || error.contains("p"), "{error}");
    let sum = Circuit::build(1, |c| c.pauli_channel(0, 0.5, 0.4, 0.3)).unwrap();
    let error = Simulator::new().run_density(&sum, &[] as &[f64]).unwrap_err().to_string();
    assert!(error.contains("is not between 0 and 1"), "{error}");
    let error = circuit.two_qubit_depolarizing(1, 1, 0.1).unwrap_err();
    assert!(matches!(error, CircuitError::RepeatedQubit { qubit: 1 }), "{error}");
    let error = Channel::new(ChannelKind::PauliChannel, [0.1]).unwrap_err();
    assert_eq!(error.to_string(), "pauli_channel takes 3 parameters (px, py, pz), not 1");
    let nothing: [Matrix<C>; 0] = [];
    assert!(matches!(Channel::kraus(nothing), Err(ChannelError::Sizes { .. })));
    let nan = Matrix::from_fn(1, |_, _| c(f64::NAN, 0.0));
    assert!(matches!(Channel::kraus([nan]), Err(ChannelError::Trace { .. })));
    // The sum of K^dagger K is off by the factor, on both sides of the tolerance.
    let scaled = |off: f64| {
        let factor = (1.0 + off).sqrt();
        Channel::kraus([Matrix::from_fn(1, |i, j| c(if i == j { factor } else { 0.0 }, 0.0))])
    };
    for sign in [1.0, -1.0] {
        assert!(scaled(sign * 0.99 * KRAUS_TOLERANCE).is_ok());
        let error = scaled(sign * 1.01 * KRAUS_TOLERANCE).unwrap_err();
        let ChannelError::Trace { row, column, deviation } = error else { panic!("{error}") };
        assert!(row == column && (deviation - 1.01 * KRAUS_TOLERANCE).abs() < 1e-12, "{deviation}");
    }
    // Columns of norm 1 that are not orthogonal: the sum is off beside its diagonal alone.
    let half = 0.5f64.sqrt();
    let slanted = Matrix::from_fn(1, |i, j| c([[1.0, half], [0.0, half]][i][j], 0.0));
    let error = Channel::kraus([slanted]).unwrap_err();
    let ChannelError::Trace { row, column, deviation } = error else { panic!("{error}") };
    assert!(row != column && (deviation - half).abs() < 1e-12, "{row} {column} {deviation}");
    // Noise has no inverse, no control and no single state.
    assert!(matches!(circuit.dagger(), Err(CircuitError::NotUnitary { .. })));
    assert!(matches!(circuit.controlled(&[true]), Err(CircuitError::NotUnitary { .. })));
    assert!(matches!(
        circuit.under(0, true, |c| c.bit_flip(1, 0.1)),
        Err(CircuitError::NotUnitary { .. })
    ));
    assert!(matches!(Simulator::new().run(&circuit, &[0.1]), Err(SimulateError::Dynamic)));
    let large = Circuit::build(40, |c| c.bit_flip(0, 0.1)).unwrap();
    let error = Simulator::new().run_density(&large, &[] as &[f64]).unwrap_err().to_string();
    assert!(error.contains("80 qubits") || error.contains("40 qubits"), "{error}");
}
