//! Fast kernels give what the generic ones give: every gate, controls of both values, unitaries, every
//! instruction set, `f32` and `f64`, and the same bits for any number of threads.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    circuit::Circuit,
    gate::{Gate, GateKind},
    kernel::{Element, Executor, Generic, InstructionSet, Operator, Threads},
    matrix::Matrix,
    param::{Angle, Values},
    plan::{Fast, Options, Plan},
    simulate::BoundCircuit,
    state::StateVector,
};
use num_complex::Complex;

/// Some hundred gates in double precision: each rounds to 1e-16, and the sums are over 16 terms at most.
const TOLERANCE_F64: f64 = 1e-12;
/// The same in single precision, where a rounding is 6e-8.
const TOLERANCE_F32: f64 = 1e-5;

/// A small generator of our own (xorshift64*), so that the circuits stay the same.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn unit(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 53) as f64
    }
    /// So many different qubits in random order.
    fn qubits(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        (0..count).map(|_| all.swap_remove(self.below(all.len()))).collect()
    }
    fn angle(&mut self) -> Angle {
        match self.below(4) {
            0 => Angle::pi(self.below(9) as i64 - 4, 4),
            _ => Angle::rad(self.unit() * 12.0 - 6.0),
        }
    }
}

/// A random unitary on k qubits: Gram-Schmidt on random columns.
fn unitary(random: &mut Random, k: usize) -> Matrix<Complex<f64>> {
    let dim = 1 << k;
    let mut columns: Vec<Vec<Complex<f64>>> = Vec::new();
    while columns.len() < dim {
        let mut v: Vec<_> =
            (0..dim).map(|_| Complex::new(random.unit() - 0.5, random.unit() - 0.5)).collect();
        // Twice, so that the result is orthogonal to rounding.
        for _ in 0..2 {
            for u in &columns {
                let overlap: Complex<f64> = u.iter().zip(&v).map(|(a, b)| a.conj() * b).sum();
                v.iter_mut().zip(u).for_each(|(b, a)| *b -= overlap * a);
            }
            let norm = v.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
            v.iter_mut().for_each(|b| *b /= norm);
        }
        columns.push(v);
    }
    Matrix::from_fn(k, |i, j| columns[j][i])
}

fn gate(random: &mut Random, kind: GateKind) -> Gate {
    let params: Vec<Angle> = kind.param_names().iter().map(|_| random.angle()).collect();
    Gate::new(kind, params).unwrap()
}

/// Random gates of the table and unitaries of up to 4 qubits, on random qubits, under up to 3 controls.
fn circuit(seed: u64, n: usize, length: usize) -> Circuit {
    let mut random = Random::new(seed);
    let mut c = Circuit::new(n);
    for _ in 0..length {
        let k = 1 + random.below(4);
        let matrix = unitary(&mut random, k);
        let kind = GateKind::ALL[random.below(GateKind::ALL.len())];
        let gate = gate(&mut random, kind);
        let use_matrix = random.below(6) == 0 && k <= n;
        let targets = if use_matrix { k } else { kind.n_qubits() };
        if targets > n {
            continue;
        }
        let controls = if random.below(2) == 0 { 0 } else { random.below(4).min(n - targets) };
        let qubits = random.qubits(n, targets + controls);
        let controls: Vec<(usize, bool)> =
            qubits[targets..].iter().map(|&q| (q, random.below(3) != 0)).collect();
        if use_matrix {
            c.unitary(matrix, &qubits[..targets], &controls).unwrap();
        } else {
            c.gate(gate, &qubits[..targets], &controls).unwrap();
        }
    }
    c
}

fn operators<E: Element>(circuit: &Circuit) -> Vec<Operator<Complex<E>>> {
    BoundCircuit::new(circuit, &Values::<E>(&[])).unwrap().operators().unwrap().to_vec()
}

fn start<E: Element>(n: usize, seed: u64) -> Vec<Complex<E>> {
    let state = StateVector::<Complex<f64>>::random(n, seed, &Threads::serial()).unwrap();
    state.amplitudes().iter().map(|z| Complex::new(E::round_from(z.re), E::round_from(z.im))).collect()
}

fn run<E: Element>(
    executor: &dyn Executor<Complex<E>>,
    operators: &[Operator<Complex<E>>],
    n: usize,
    threads: usize,
) -> Vec<Complex<E>> {
    let mut state = start(n, 7);
    executor.run(operators, &mut state, &Threads::new(threads).unwrap()).unwrap();
    state
}

fn distance<E: Element>(a: &[Complex<E>], b: &[Complex<E>]) -> f64 {
    let off = |x: E, y: E| (Into::<f64>::into(x) - Into::<f64>::into(y)).abs();
    a.iter().zip(b).map(|(x, y)| off(x.re, y.re).max(off(x.im, y.im))).fold(0.0, f64::max)
}

/// The executors of every instruction set that this processor has.
fn sets() -> impl Iterator<Item = Fast> {
    InstructionSet::ALL.into_iter().filter_map(Fast::with)
}

fn agrees<E: Element>(c: &Circuit, tolerance: f64, what: &str) {
    let operators = operators::<E>(c);
    let expected = run(&Generic, &operators, c.n_qubits(), 1);
    for fast in sets() {
        let got = run(&fast, &operators, c.n_qubits(), 1);
        let off = distance(&expected, &got);
        assert!(off < tolerance, "{what}, {fast:?}: off by {off:e}\n{c}");
        if c.n_qubits() >= 13 {
            for threads in [2, 3] {
                assert!(
                    run(&fast, &operators, c.n_qubits(), threads) == got,
                    "{what}, {fast:?}, {threads} threads"
                );
            }
        }
    }
}

/// Gate by gate, on these numbers of threads too.
fn agrees_on<E: Element>(c: &Circuit, tolerance: f64, threads: &[usize]) {
    let operators = operators::<E>(c);
    let expected = run(&Generic, &operators, c.n_qubits(), 1);
    for fast in sets().map(|fast| fast.planning_from(64)) {
        let got = run(&fast, &operators, c.n_qubits(), 1);
        let off = distance(&expected, &got);
        assert!(off < tolerance, "{fast:?}: off by {off:e}");
        for &threads in threads {
            assert!(run(&fast, &operators, c.n_qubits(), threads) == got, "{fast:?}, {threads} threads");
        }
    }
}

/// A plan gives the same as the generic kernels, with tiles of every size, whatever the number of threads.
fn plans_agree<E: Element>(c: &Circuit, tolerance: f64, what: &str) {
    let n = c.n_qubits();
    let operators = operators::<E>(c);
    let expected = run(&Generic, &operators, n, 1);
    for fast in sets() {
        let set = fast.instruction_set();
        for tile_qubits in 3..=n.max(3) {
            let plan =
                Plan::new(n, &operators, Options { set, tile_qubits, low_qubits: tile_qubits % 3 + 2 });
            let planned = |threads| {
                let mut state = start(n, 7);
                plan.run(&mut state, &Threads::new(threads).unwrap());
                state
            };
            let got = planned(1);
            let off = distance(&expected, &got);
            assert!(off < tolerance, "{what}, {set}, tiles of {tile_qubits}: off by {off:e}\n{plan}\n{c}");
            if n >= 14 {
                for threads in [2, 3] {
                    assert!(planned(threads) == got, "{what}, {set}, {threads} threads");
                }
            }
        }
    }
}

#[test]
fn plans_of_random_circuits() {
    for seed in 0..60 {
        let n = 1 + (seed as usize % 10);
        let c = circuit(seed, n, 40);
        plans_agree::<f64>(&c, TOLERANCE_F64, &format!("seed {seed}"));
        plans_agree::<f32>(&c, TOLERANCE_F32, &format!("seed {seed}"));
    }
}

/// A plan takes the numbers of other angles, also of those at which gates become simpler.
#[test]
fn plans_are_bound_again() {
    let mut c = Circuit::new(7);
    let (a, b) = (c.param("a"), c.param("b"));
    for q in 0..7 {
        c.rx(q, a.clone()).unwrap().rz(q, b.clone()).unwrap().cx(q, (q + 1) % 7).unwrap();
        c.cp(q, (q + 2) % 7, a.clone()).unwrap().crx((q + 3) % 7, q, b.clone()).unwrap();
        c.rxx(q, (q + 4) % 7, b.clone()).unwrap().ccx(q, (q + 1) % 7, (q + 2) % 7).unwrap();
        c.gate(Gate::new(GateKind::GPHASE, [a.clone()]).unwrap(), &[], &[]).unwrap();
    }
    c.unitary(unitary(&mut Random::new(5), 3), &[0, 3, 5], &[]).unwrap();
    let operators = |a: f64, b: f64| {
        let bound = BoundCircuit::<Complex<f64>>::new(&c, &Values(&[a, b])).unwrap();
        bound.operators().unwrap().to_vec()
    };
    let options = Options { tile_qubits: 5, ..Options::new(InstructionSet::detect(), 8, 7) };
    let mut plan = Plan::new(7, &operators(0.3, 0.8), options);
    let pi = std::f64::consts::PI;
    for (a, b) in [(0.3, 0.8), (2.9, -2.7), (0.0, 0.0), (pi, 1.0), (-0.4, pi), (5.0, 6.0), (0.1, 0.2)] {
        let operators = operators(a, b);
        plan.bind(&operators);
        let expected = run(&Generic, &operators, 7, 1);
        for _ in 0..2 {
            let mut state = start(7, 7);
            plan.run(&mut state, &Threads::serial());
            let off = distance(&expected, &state);
            assert!(off < TOLERANCE_F64, "a = {a}, b = {b}: off by {off:e}");
        }
    }
}

#[test]
fn plans_on_threads() {
    for seed in 0..2 {
        plans_agree::<f64>(&circuit(300 + seed, 14, 60), TOLERANCE_F64, "14 qubits");
        plans_agree::<f32>(&circuit(400 + seed, 14, 60), TOLERANCE_F32, "14 qubits");
    }
}

/// Every gate of the table and unitaries of 1 to 5 qubits, on all sorts of qubits and controls.
#[test]
fn every_gate_on_every_place() {
    let mut random = Random::new(3);
    for n in 1..=7 {
        let kinds = GateKind::ALL.iter().map(|k| (Some(*k), k.n_qubits())).chain((1..=5).map(|k| (None, k)));
        for (kind, targets) in kinds.filter(|k| k.1 <= n) {
            for _ in 0..12 {
                let controls = random.below(4).min(n - targets);
                let qubits = random.qubits(n, targets + controls);
                let conditions: Vec<_> =
                    qubits[targets..].iter().map(|&q| (q, random.below(2) == 0)).collect();
                let mut c = Circuit::new(n);
                match kind {
                    Some(kind) => c.gate(gate(&mut random, kind), &qubits[..targets], &conditions),
                    None => c.unitary(unitary(&mut random, targets), &qubits[..targets], &conditions),
                }
                .unwrap();
                agrees::<f64>(&c, TOLERANCE_F64, "one gate");
                agrees::<f32>(&c, TOLERANCE_F32, "one gate");
                plans_agree::<f64>(&c, TOLERANCE_F64, "one gate");
                plans_agree::<f32>(&c, TOLERANCE_F32, "one gate");
            }
        }
    }
}

#[test]
fn random_circuits() {
    for seed in 0..60 {
        let n = 1 + (seed as usize % 12);
        let c = circuit(seed, n, 40);
        agrees::<f64>(&c, TOLERANCE_F64, &format!("seed {seed}"));
        agrees::<f32>(&c, TOLERANCE_F32, &format!("seed {seed}"));
    }
}

/// On a state beyond the caches runs are fetched ahead, whichever lines they leave out: every low qubit as
/// target, as control, and beside another control.
#[test]
fn low_qubits_of_a_large_state() {
    const N: usize = 21;
    let mut c = Circuit::new(N);
    for q in 0..6 {
        c.h(q).unwrap().t(q).unwrap().x(q).unwrap().rx(q, 0.3).unwrap();
        c.cx((q + 2) % 6, q).unwrap().cx(q, q + 13).unwrap().cx(q + 14, q).unwrap();
        c.crx(q + 1, q, 0.3 * q as f64).unwrap().ccx(q + 1, q + 2, q).unwrap().ccx(q, q + 1, q + 9).unwrap();
        c.gate(Gate::new(GateKind::X, []).unwrap(), &[q + 2], &[(q, false), (q + 1, true)]).unwrap();
        c.cp(q, q + 1, 0.9).unwrap().rz(q, 0.4).unwrap().swap(q, q + 10).unwrap();
    }
    c.unitary(unitary(&mut Random::new(9), 2), &[5, 3], &[(2, false), (4, true)]).unwrap();
    agrees_on::<f64>(&c, TOLERANCE_F64, &[2]);
    agrees_on::<f32>(&c, TOLERANCE_F32, &[]);
}

/// Without arithmetic, each amplitude has to arrive at its place.
#[test]
fn permutations_of_a_large_state_move_every_amplitude() {
    const N: usize = 21;
    let amplitude = |i: usize| Complex::new(i as f64, -0.5 * i as f64);
    for fast in sets().map(|fast| fast.planning_from(64)) {
        for q in 0..6 {
            let (control, second) = ((q + 1) % 6, (q + 2) % 6);
            let mut c = Circuit::new(N);
            c.x(q).unwrap().cx(control, q).unwrap().ccx(control, second, q).unwrap();
            let mut state: Vec<_> = (0..1 << N).map(amplitude).collect();
            fast.run(&operators::<f64>(&c), &mut state, &Threads::serial()).unwrap();
            let came_from = |i: usize| {
                let on = |bit: usize| i >> bit & 1;
                i ^ (1 ^ on(control) ^ on(control) & on(second)) << q
            };
            let wrong = (0..1 << N).find(|&i| state[i] != amplitude(came_from(i)));
            assert_eq!(wrong, None, "{fast:?}, qubit {q}");
        }
    }
}

/// Tiles of a state beyond any cache are written past the caches, on any number of threads; a state that does
/// not begin at a cache line is written as usual.
#[test]
fn plans_of_a_state_beyond_the_caches() {
    const N: usize = 22;
    let mut c = Circuit::new(N);
    for q in 0..N {
        c.rx(q, 0.1 + q as f64).unwrap().rz(q, 0.7).unwrap().cx(q, (q + 5) % N).unwrap();
    }
    c.unitary(unitary(&mut Random::new(9), 2), &[20, 3], &[]).unwrap();
    let operators = operators::<f64>(&c);
    let begin = StateVector::<Complex<f64>>::random(N, 7, &Threads::serial()).unwrap();
    let mut expected = begin.clone();
    let by_gates = Fast::new().planning_from(64);
    by_gates.run(&operators, expected.amplitudes_mut(), &Threads::serial()).unwrap();
    for set in sets().map(|fast| fast.instruction_set()) {
        let plan = Plan::new(N, &operators, Options::new(set, 8, N));
        let mut state = begin.clone();
        plan.run(state.amplitudes_mut(), &Threads::serial());
        let off = distance(expected.amplitudes(), state.amplitudes());
        assert!(off < TOLERANCE_F64, "{set}: off by {off:e}");
        let mut shifted = vec![Complex::default(); (1 << N) + 3];
        for skip in [1, 3] {
            let part = &mut shifted[skip..skip + (1 << N)];
            part.copy_from_slice(begin.amplitudes());
            plan.run(part, &Threads::new(2).unwrap());
            assert!(part == state.amplitudes(), "{set}: {skip} numbers after the start");
        }
    }
}

#[test]
fn threads_give_the_same_bits() {
    for seed in 0..3 {
        agrees::<f64>(&circuit(100 + seed, 14, 60), TOLERANCE_F64, "14 qubits");
        agrees::<f32>(&circuit(200 + seed, 15, 60), TOLERANCE_F32, "15 qubits");
    }
}
