//! Fast kernels and plans give what the generic kernels give: every gate, controls of both values,
//! unitaries, every instruction set, `f32` and `f64`, tiles of every size, and the same bits for
//! any number of threads.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    ansatz,
    circuit::Circuit,
    gate::{Gate, GateKind},
    kernel::{Executor, Generic, InstructionSet, Operator, SimdFloat, StateHint, Threads},
    matrix::Matrix,
    param::{Angle, Values},
    plan::{Fast, Plan, PlanOptions},
    problem::Mapping,
    simulate::{BoundCircuit, Simulator},
    state::StateVector,
};
use num_complex::Complex;
use proptest::prelude::*;
use support::random::Rng;

/// Some hundred gates in double precision: each rounds to 1e-16, and the sums are over 16 terms at
/// most.
const TOLERANCE_F64: f64 = 1e-12;
/// The same in single precision, where a rounding is 6e-8.
const TOLERANCE_F32: f64 = 1e-5;

/// `count` different qubits in random order.
fn qubits(rng: &mut Rng, n: usize, count: usize) -> Vec<usize> {
    rng.permutation(n)[..count].to_vec()
}

/// Appends a gate of the table, or for `None` a unitary, on random qubits under a number of
/// controls of random values.
fn push(c: &mut Circuit, rng: &mut Rng, kind: Option<GateKind>, targets: usize, controls: usize) {
    let on = qubits(rng, c.n_qubits(), targets + controls);
    let conditions: Vec<_> = on[targets..].iter().map(|&q| (q, rng.below(2) == 0)).collect();
    match kind {
        Some(kind) => c.gate(rng.gate(kind, Rng::angle), &on[..targets], &conditions),
        None => c.unitary(rng.unitary(targets), &on[..targets], &conditions),
    }
    .unwrap();
}

/// Appends what a number represents: a gate of the table, a rotation about a string or a unitary of
/// up to 4 qubits, under up to 3 controls.
fn push_any(c: &mut Circuit, number: u64) {
    let (n, mut rng) = (c.n_qubits(), Rng::new(number));
    if rng.below(7) == 0 {
        return rng.push_rotation(c, Rng::angle);
    }
    let (kind, targets) = match rng.below(6) {
        0 => (None, 1 + rng.below(4.min(n))),
        _ => {
            let fitting: Vec<_> =
                GateKind::ALL.iter().copied().filter(|k| k.n_qubits() <= n).collect();
            let kind = fitting[rng.below(fitting.len())];
            (Some(kind), kind.n_qubits())
        }
    };
    let controls = rng.below(2) * rng.below(4).min(n - targets);
    push(c, &mut rng, kind, targets, controls);
}

/// Circuits on some numbers of qubits. Each gate has a number of its own, so that a failure shrinks
/// to few gates.
fn any_circuit(
    n: impl Strategy<Value = usize>,
    gates: std::ops::Range<usize>,
) -> impl Strategy<Value = Circuit> {
    (n, proptest::collection::vec(any::<u64>(), gates)).prop_map(|(n, numbers)| {
        let mut circuit = Circuit::new(n);
        numbers.into_iter().for_each(|number| push_any(&mut circuit, number));
        circuit
    })
}

fn operators<E: SimdFloat>(circuit: &Circuit) -> Vec<Operator<Complex<E>>> {
    BoundCircuit::new(circuit, &Values::<E>(&[])).unwrap().operators().unwrap().to_vec()
}

/// |0…0> by the generic kernels.
fn zero<E: SimdFloat>(n: usize) -> Vec<Complex<E>> {
    StateVector::zero(n).unwrap().into_amplitudes()
}

fn start<E: SimdFloat>(n: usize, seed: u64) -> Vec<Complex<E>> {
    let state = StateVector::<Complex<f64>>::random(n, seed, &Threads::serial()).unwrap();
    state
        .amplitudes()
        .iter()
        .map(|z| Complex::new(E::round_from(z.re), E::round_from(z.im)))
        .collect()
}

fn run<E: SimdFloat>(
    executor: &dyn Executor<Complex<E>>,
    operators: &[Operator<Complex<E>>],
    n: usize,
    threads: usize,
) -> Vec<Complex<E>> {
    let mut state = start(n, 7);
    executor.run(operators, &mut state, &Threads::new(threads).unwrap()).unwrap();
    state
}

fn distance<E: SimdFloat>(a: &[Complex<E>], b: &[Complex<E>]) -> f64 {
    let off = |x: E, y: E| (Into::<f64>::into(x) - Into::<f64>::into(y)).abs();
    a.iter().zip(b).map(|(x, y)| off(x.re, y.re).max(off(x.im, y.im))).fold(0.0, f64::max)
}

/// The executors of every instruction set that this processor has.
fn sets() -> impl Iterator<Item = Fast> {
    InstructionSet::ALL.into_iter().filter_map(Fast::with)
}

fn agrees<E: SimdFloat>(c: &Circuit, tolerance: f64) {
    let operators = operators::<E>(c);
    let expected = run(&Generic, &operators, c.n_qubits(), 1);
    for fast in sets() {
        let got = run(&fast, &operators, c.n_qubits(), 1);
        let off = distance(&expected, &got);
        assert!(off < tolerance, "{fast:?}: off by {off:e}\n{c}");
        if c.n_qubits() >= 13 {
            for threads in [2, 3] {
                assert!(
                    run(&fast, &operators, c.n_qubits(), threads) == got,
                    "{fast:?}, {threads} threads"
                );
            }
        }
    }
}

/// Gate by gate, on these numbers of threads too.
fn agrees_on<E: SimdFloat>(c: &Circuit, tolerance: f64, threads: &[usize]) {
    let operators = operators::<E>(c);
    let expected = run(&Generic, &operators, c.n_qubits(), 1);
    for fast in sets().map(|fast| fast.planning_from(64)) {
        let got = run(&fast, &operators, c.n_qubits(), 1);
        let off = distance(&expected, &got);
        assert!(off < tolerance, "{fast:?}: off by {off:e}");
        for &threads in threads {
            assert!(
                run(&fast, &operators, c.n_qubits(), threads) == got,
                "{fast:?}, {threads} threads"
            );
        }
    }
}

/// A plan gives the same as the generic kernels, with tiles of every size, whatever the number of
/// threads, on a given state, and on |0…0> whatever was there before.
fn plans_agree<E: SimdFloat>(c: &Circuit, tolerance: f64) {
    plans_agree_on::<E>(c, tolerance, &(3..=c.n_qubits().max(3)).collect::<Vec<_>>());
}

/// As `plans_agree`, with tiles of these sizes.
fn plans_agree_on<E: SimdFloat>(c: &Circuit, tolerance: f64, sizes: &[usize]) {
    let n = c.n_qubits();
    let operators = operators::<E>(c);
    let mut from_zero = zero(n);
    Generic.run(&operators, &mut from_zero, &Threads::serial()).unwrap();
    let expected = [
        (StateHint::Arbitrary, run(&Generic, &operators, n, 1)),
        (StateHint::StartsAtZero, from_zero),
    ];
    let sizes =
        || sizes.iter().flat_map(|size| expected.iter().map(move |expected| (*size, expected)));
    for fast in sets() {
        let set = fast.instruction_set();
        for (tile_qubits, (from, expected)) in sizes() {
            let low_qubits = tile_qubits % 3 + 2;
            let options = PlanOptions::new(set, n)
                .with_tile_qubits(tile_qubits)
                .with_low_qubits(low_qubits)
                .with_state_hint(*from);
            let plan = Plan::new(n, &operators, options);
            let planned = |threads| {
                let mut state = start(n, 7);
                plan.run(&mut state, &Threads::new(threads).unwrap());
                state
            };
            let got = planned(1);
            let off = distance(expected, &got);
            assert!(
                off < tolerance,
                "{set}, {from:?}, tiles of {tile_qubits}: off by {off:e}\n{plan}\n{c}"
            );
            if n >= 14 {
                for threads in [2, 3] {
                    assert!(planned(threads) == got, "{set}, {from:?}, {threads} threads");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn plans_of_random_circuits(c in any_circuit(1..=14usize, 0..40)) {
        plans_agree::<f64>(&c, TOLERANCE_F64);
        plans_agree::<f32>(&c, TOLERANCE_F32);
    }

    /// Rotations about Pauli strings, made by Clifford gates around them.
    #[test]
    fn plans_of_conjugated_rotations(n in 1..=11usize, groups in 1..8usize, seed: u64) {
        let mut c = Circuit::new(n);
        Rng::new(seed).conjugated(&mut c, groups, Rng::angle);
        plans_agree::<f64>(&c, TOLERANCE_F64);
        plans_agree::<f32>(&c, TOLERANCE_F32);
    }

    #[test]
    fn random_circuits(c in any_circuit(1..=14usize, 0..60)) {
        agrees::<f64>(&c, TOLERANCE_F64);
        agrees::<f32>(&c, TOLERANCE_F32);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn random_circuits_on_threads(c in any_circuit(14..=15usize, 40..60)) {
        agrees::<f64>(&c, TOLERANCE_F64);
        agrees::<f32>(&c, TOLERANCE_F32);
    }

    /// Every gate of the table and unitaries of 1 to 5 qubits, on all sorts of qubits and controls.
    #[test]
    fn every_gate_on_every_place(seed in any::<u64>()) {
        let mut rng = Rng::new(seed);
        for n in 1..=7 {
            let kinds = GateKind::ALL.iter().map(|k| (Some(*k), k.n_qubits()));
            for (kind, targets) in kinds.chain((1..=5).map(|k| (None, k))).filter(|k| k.1 <= n) {
                for _ in 0..4 {
                    let (controls, mut c) = (rng.below(4).min(n - targets), Circuit::new(n));
                    push(&mut c, &mut rng, kind, targets, controls);
                    agrees::<f64>(&c, TOLERANCE_F64);
                    agrees::<f32>(&c, TOLERANCE_F32);
                    plans_agree::<f64>(&c, TOLERANCE_F64);
                    plans_agree::<f32>(&c, TOLERANCE_F32);
                }
            }
        }
    }
}

/// Excitations: rotations about several strings along the same qubits, under each mapping, at
/// angles where some vanish and some turn by more than a quarter.
#[test]
fn plans_of_excitations() {
    for (mapping, n) in
        [(Mapping::JordanWigner, 8), (Mapping::BravyiKitaev, 7), (Mapping::Parity, 6)]
    {
        let c = ansatz::uccsd_from(n, &[0, 1, 3], mapping).unwrap();
        let mut rng = Rng::new(n as u64);
        let small: Vec<f64> = c.inputs().map(|_| 0.3 * rng.signed()).collect();
        let large: Vec<f64> = c.inputs().map(|_| 9.0 * rng.signed()).collect();
        let some: Vec<f64> = c.inputs().map(|_| rng.below(2) as f64 * rng.signed()).collect();
        let bound = |x: &[f64]| {
            let values: Vec<_> = c.inputs().zip(x.iter().map(|x| Angle::rad(*x))).collect();
            c.bind(&values).unwrap()
        };
        plans_agree::<f64>(&bound(&small), TOLERANCE_F64);
        plans_agree::<f32>(&bound(&small), TOLERANCE_F32);
        plans_agree::<f64>(&bound(&large), TOLERANCE_F64);
        // A plan for one takes the numbers of the others.
        let operators = |x: &[f64]| {
            let bound = BoundCircuit::<Complex<f64>>::new(&c, &Values(x)).unwrap();
            bound.operators().unwrap().to_vec()
        };
        let options = PlanOptions::new(InstructionSet::detect(), n).with_tile_qubits(6);
        let mut plan = Plan::new(n, &operators(&small), options);
        for x in [&large, &some, &vec![0.0; small.len()], &small] {
            let operators = operators(x);
            plan.bind(&operators);
            let mut state = start(n, 7);
            plan.run(&mut state, &Threads::serial());
            let off = distance(&run(&Generic, &operators, n, 1), &state);
            assert!(off < TOLERANCE_F64, "{mapping:?}, {x:?}: off by {off:e}");
        }
    }
}

/// The gates around rotations are gone: what is left are the strings of the excitations and X of
/// the first state; H around many phases stays.
#[test]
fn gates_around_rotations_are_taken_out() {
    let count = |c: &Circuit| -> usize {
        let n = c.n_qubits();
        let plan =
            Plan::new(n, &operators::<f64>(c), PlanOptions::new(InstructionSet::detect(), n))
                .to_string();
        let of_pass =
            |line: &str| line.split(' ').nth(2).and_then(|word| word.parse::<usize>().ok());
        plan.lines().filter(|line| line.starts_with("pass")).filter_map(of_pass).sum()
    };
    for mapping in [Mapping::JordanWigner, Mapping::BravyiKitaev] {
        let occupied = [0, 1, 4, 5];
        let generators = ansatz::excitations_from(8, &occupied, mapping).unwrap();
        let circuit = ansatz::uccsd_from(8, &occupied, mapping).unwrap();
        let values: Vec<_> = circuit.inputs().map(|name| (name, Angle::rad(0.3))).collect();
        let ones = mapping.encode(8, 0b11_0011).unwrap().count_ones() as usize;
        let strings: usize = generators.iter().map(|g| g.terms().len()).sum();
        assert_eq!(count(&circuit.bind(&values).unwrap()), strings + ones, "{mapping:?}");
    }
    let mut c = Circuit::new(4);
    c.h(..).unwrap();
    for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        c.rzz(a, b, 0.3).unwrap();
    }
    c.h(..).unwrap();
    assert!(count(&c) >= 8 + 6);
}

/// A long circuit of excitations in gates is planned on few qubits too, and gives what single gates
/// give.
#[test]
fn excitations_on_few_qubits() {
    let c = ansatz::uccsd(11, 4).unwrap().decomposed();
    let mut rng = Rng::new(5);
    let at: Vec<f64> = c.inputs().map(|_| rng.signed()).collect();
    let bound = BoundCircuit::<Complex<f64>>::new(&c, &Values(&at)).unwrap();
    let operators = bound.operators().unwrap();
    assert!(operators.len() > 4096);
    let fast = Fast::new();
    assert!(
        Executor::<Complex<f64>>::prepare(&fast, 11, operators, StateHint::Arbitrary).is_some()
    );
    assert!(
        Executor::<Complex<f64>>::prepare(&fast, 11, &operators[..600], StateHint::Arbitrary)
            .is_none()
    );
    let off = distance(&run(&Generic, operators, 11, 1), &run(&fast, operators, 11, 1));
    assert!(off < TOLERANCE_F64, "off by {off:e}");
}

/// Rotations about strings are planned from 13 qubits on: a pass of its own takes longer for each.
#[test]
fn many_strings_are_planned() {
    let fast = Fast::new();
    for (n, planned) in [(12, false), (13, true)] {
        let c = ansatz::uccsd(n, 2).unwrap();
        let mut rng = Rng::new(7);
        let at: Vec<f64> = c.inputs().map(|_| rng.signed()).collect();
        let bound = BoundCircuit::<Complex<f64>>::new(&c, &Values(&at)).unwrap();
        let operators = bound.operators().unwrap();
        let plan = Executor::<Complex<f64>>::prepare(&fast, n, operators, StateHint::Arbitrary);
        assert_eq!(plan.is_some(), planned, "{n} qubits");
        let off = distance(&run(&Generic, operators, n, 1), &run(&fast, operators, n, 1));
        assert!(off < TOLERANCE_F64, "{n} qubits: off by {off:e}");
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
    c.unitary(Rng::new(5).unitary(3), &[0, 3, 5], &[]).unwrap();
    let operators = |a: f64, b: f64| {
        let bound = BoundCircuit::<Complex<f64>>::new(&c, &Values(&[a, b])).unwrap();
        bound.operators().unwrap().to_vec()
    };
    let options = PlanOptions::new(InstructionSet::detect(), 7).with_tile_qubits(5);
    let mut plan = Plan::new(7, &operators(0.3, 0.8), options);
    let pi = std::f64::consts::PI;
    for (a, b) in
        [(0.3, 0.8), (2.9, -2.7), (0.0, 0.0), (pi, 1.0), (-0.4, pi), (5.0, 6.0), (0.1, 0.2)]
    {
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

/// Layers of 2-qubit gates on random pairs: matrices, and gates whose factors are special. Between
/// some of the layers qubits have other gates.
fn layers(n: usize, seed: u64) -> Circuit {
    const EIGHTH: f64 = std::f64::consts::FRAC_PI_4;
    let (mut c, mut rng) = (Circuit::new(n), Rng::new(seed));
    let special = [
        GateKind::SWAP,
        GateKind::RXX,
        GateKind::RYY,
        GateKind::RZZ,
        GateKind::ISWAP,
        GateKind::ECR,
    ];
    for layer in 0..7 {
        let order = rng.permutation(n);
        for pair in order.chunks_exact(2) {
            if rng.below(3) > 0 {
                c.unitary(rng.unitary(2), pair, &[]).unwrap();
                continue;
            }
            let angles: Vec<f64> = (0..3).map(|_| EIGHTH * rng.below(8) as f64).collect();
            c.u(pair[0], angles[0], angles[1], angles[2]).unwrap();
            let kind = special[rng.below(special.len())];
            c.gate(rng.gate(kind, |rng| (EIGHTH * rng.below(8) as f64).into()), pair, &[]).unwrap();
            c.u(pair[1], angles[2], angles[0], angles[1]).unwrap();
        }
        if layer % 3 == 2 {
            (0..n / 4).for_each(|_| push_any(&mut c, rng.below(1 << 20) as u64));
        }
    }
    c
}

#[test]
fn layers_of_blocks() {
    for seed in 0..3 {
        let c = layers(16, seed);
        plans_agree_on::<f64>(&c, TOLERANCE_F64, &[5, 9, 13, 16]);
        plans_agree_on::<f32>(&c, TOLERANCE_F32, &[6, 13]);
    }
}

/// Blocks that are no unitaries keep their norms, also those that look like gates but for a factor.
#[test]
fn blocks_that_are_no_unitaries() {
    const N: usize = 16;
    let real = |m: [f64; 16]| Matrix::from_fn(2, |i, j| Complex::new(m[4 * i + j], 0.0));
    let quarters =
        [1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0, 1.0];
    // Half of H x H, and the projector on its first column.
    let lossy = [real(quarters.map(|x| 0.25 * x)), real([0.25; 16])];
    let mut rng = Rng::new(11);
    for matrix in &lossy {
        let mut c = Circuit::new(N);
        for pair in rng.permutation(N).chunks_exact(2) {
            c.unitary(rng.unitary(2), pair, &[]).unwrap();
        }
        let unitaries = operators::<f64>(&c);
        let mut all = unitaries.clone();
        all.push(Operator::new(matrix, &[3, 9], &[]).unwrap());
        all.push(Operator::new(matrix, &[0, 12], &[]).unwrap());
        all.extend(unitaries);
        let expected = run(&Generic, &all, N, 1);
        for set in sets().map(|fast| fast.instruction_set()) {
            let mut state = start(N, 7);
            Plan::new(N, &all, PlanOptions::new(set, N)).run(&mut state, &Threads::serial());
            let off = distance(&expected, &state);
            assert!(off < TOLERANCE_F64, "{set}: off by {off:e}");
        }
    }
}

/// An operator that keeps no norm, as those of a damping, is no rotation, whatever gates close
/// around it.
#[test]
fn clifford_gates_around_what_is_no_unitary() {
    const N: usize = 6;
    let diagonal = |d: &[f64]| {
        Matrix::from_fn(d.len().trailing_zeros() as usize, |i, j| {
            Complex::new(if i == j { d[i] } else { 0.0 }, 0.0)
        })
    };
    let h = |q: usize| {
        let h = Gate::new(GateKind::H, []).unwrap().matrix(&Values::<f64>(&[])).unwrap();
        Operator::new(&h, &[q], &[]).unwrap()
    };
    let exchange = Matrix::from_fn(2, |i, j| match i ^ j {
        0 => Complex::new(0.3, 0.0),
        3 => Complex::new(0.0, -0.4),
        _ => Complex::default(),
    });
    let lossy: [(Matrix<Complex<f64>>, &[usize]); 4] = [
        (diagonal(&[1.0, 0.6]), &[2]),
        (diagonal(&[0.8, 0.6]), &[2]),
        (diagonal(&[0.5, 0.7, 0.7, 0.5]), &[2, 4]),
        (exchange, &[2, 4]),
    ];
    for (matrix, on) in lossy {
        let all = [h(2), h(4), Operator::new(&matrix, on, &[]).unwrap(), h(4), h(2)];
        let expected = run(&Generic, &all, N, 1);
        for set in sets().map(|fast| fast.instruction_set()) {
            let mut state = start(N, 7);
            Plan::new(N, &all, PlanOptions::new(set, N)).run(&mut state, &Threads::serial());
            let off = distance(&expected, &state);
            assert!(off < TOLERANCE_F64, "{set}, {on:?}: off by {off:e}");
        }
    }
}

/// The numbers of other angles in a plan with blocks.
#[test]
fn layers_of_blocks_with_other_angles() {
    const N: usize = 16;
    let mut c = Circuit::new(N);
    let w = c.param_list("w", 3);
    for layer in 0..5 {
        for k in 0..N / 2 {
            let (a, b) = ((2 * k + layer) % N, (2 * k + 3 * layer + 1) % N);
            c.ry(a, &w[0]).unwrap().rxx(a, b, &w[1]).unwrap().rz(b, &w[2]).unwrap();
            c.ryy(a, b, 0.3 + k as f64).unwrap().rx(a, &w[2]).unwrap();
        }
    }
    let operators = |w: [f64; 3]| {
        let bound = BoundCircuit::<Complex<f64>>::new(&c, &Values(&w)).unwrap();
        bound.operators().unwrap().to_vec()
    };
    for set in sets().map(|fast| fast.instruction_set()) {
        let mut plan = Plan::new(N, &operators([0.3, 0.8, 1.0]), PlanOptions::new(set, N));
        let pi = std::f64::consts::PI;
        for w in [[1.3, -2.0, 0.1], [0.0, 0.0, 0.0], [pi / 2.0, pi, -pi / 2.0], [pi, 1.0, 1e-9]] {
            let operators = operators(w);
            plan.bind(&operators);
            let mut state = start(N, 7);
            plan.run(&mut state, &Threads::serial());
            let off = distance(&run(&Generic, &operators, N, 1), &state);
            assert!(off < TOLERANCE_F64, "{set}, {w:?}: off by {off:e}");
        }
    }
}

/// On a state beyond the caches runs are fetched ahead, whichever lines they leave out: every low
/// qubit as target, as control, and beside another control.
#[test]
fn low_qubits_of_a_large_state() {
    const N: usize = 21;
    let mut c = Circuit::new(N);
    for q in 0..6 {
        c.h(q).unwrap().t(q).unwrap().x(q).unwrap().rx(q, 0.3).unwrap();
        c.cx((q + 2) % 6, q).unwrap().cx(q, q + 13).unwrap().cx(q + 14, q).unwrap();
        c.crx(q + 1, q, 0.3 * q as f64)
            .unwrap()
            .ccx(q + 1, q + 2, q)
            .unwrap()
            .ccx(q, q + 1, q + 9)
            .unwrap();
        c.gate(Gate::new(GateKind::X, []).unwrap(), &[q + 2], &[(q, false), (q + 1, true)])
            .unwrap();
        c.cp(q, q + 1, 0.9).unwrap().rz(q, 0.4).unwrap().swap(q, q + 10).unwrap();
    }
    c.unitary(Rng::new(9).unitary(2), &[5, 3], &[(2, false), (4, true)]).unwrap();
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

/// Tiles of a state beyond any cache are written past the caches, on any number of threads, with
/// the same bits as tiles that are not; a state that does not begin at a cache line is written as
/// usual.
#[test]
fn plans_of_a_state_beyond_the_caches() {
    const N: usize = 22;
    let mut c = Circuit::new(N);
    for q in 0..N {
        c.rx(q, 0.1 + q as f64).unwrap().rz(q, 0.7).unwrap().cx(q, (q + 5) % N).unwrap();
    }
    c.unitary(Rng::new(9).unitary(2), &[20, 3], &[]).unwrap();
    let operators = operators::<f64>(&c);
    let begin = StateVector::<Complex<f64>>::random(N, 7, &Threads::serial()).unwrap();
    let mut expected = begin.clone();
    let by_gates = Fast::new().planning_from(64);
    by_gates.run(&operators, expected.amplitudes_mut(), &Threads::serial()).unwrap();
    for set in sets().map(|fast| fast.instruction_set()) {
        let through = PlanOptions::new(set, N).with_stream_from_bytes(usize::MAX);
        let mut state = begin.clone();
        Plan::new(N, &operators, through).run(state.amplitudes_mut(), &Threads::serial());
        let off = distance(expected.amplitudes(), state.amplitudes());
        assert!(off < TOLERANCE_F64, "{set}: off by {off:e}");
        let plan = Plan::new(N, &operators, through.with_stream_from_bytes(0));
        for threads in [1, 2] {
            let mut past = begin.clone();
            plan.run(past.amplitudes_mut(), &Threads::new(threads).unwrap());
            assert!(past == state, "{set}: {threads} threads, past the caches");
        }
        let mut shifted = vec![Complex::default(); (1 << N) + 3];
        for skip in [1, 3] {
            let part = &mut shifted[skip..skip + (1 << N)];
            part.copy_from_slice(begin.amplitudes());
            plan.run(part, &Threads::new(2).unwrap());
            assert!(part == state.amplitudes(), "{set}: {skip} numbers after the start");
        }
    }
}

/// From |0…0> the first passes go over few tiles: no more bytes than from a given state, and far
/// fewer for a QFT. Qubits that nothing moves cost nothing.
#[test]
fn plans_from_zero_move_fewer_bytes() {
    const N: usize = 20;
    let bytes = |c: &Circuit, way| {
        let options = PlanOptions::new(InstructionSet::detect(), N).with_state_hint(way);
        let plan = Plan::new(N, &operators::<f64>(c), options);
        let last = plan.to_string().lines().last().unwrap().to_owned();
        assert!(last.contains(&format!("{:.3e} bytes", plan.floor(1.0))), "{last}");
        plan.floor(1.0)
    };
    let (mut qft, mut layers, mut few) = (Circuit::new(N), Circuit::new(N), Circuit::new(N));
    for q in (0..N).rev() {
        qft.h(q).unwrap();
        for control in 0..q {
            qft.cp(control, q, 0.5f64.powi((q - control) as i32)).unwrap();
        }
    }
    for q in (0..4 * N).map(|k| k % N) {
        layers.ry(q, 0.3 + q as f64).unwrap().cx(q, (q + 1) % N).unwrap();
        few.ry(q / 2, 0.3 + q as f64).unwrap().cx(q / 2, (q / 2 + 3) % (N / 2)).unwrap();
    }
    let pass = 4.0 * 8.0 * f64::from(1 << N);
    assert!(bytes(&qft, StateHint::StartsAtZero) < 1.5 * pass);
    assert!(bytes(&qft, StateHint::Arbitrary) >= 2.0 * pass);
    assert!(bytes(&layers, StateHint::StartsAtZero) < bytes(&layers, StateHint::Arbitrary));
    assert!(bytes(&few, StateHint::StartsAtZero) < 0.1 * pass);
}

/// A state in memory that was used before has the bits of a new one, planned or not.
#[test]
fn circuits_run_in_memory_that_is_there() {
    for (n, layers) in [(3, 2), (10, 3), (15, 2), (17, 3)] {
        let mut c = Circuit::new(n);
        let angle = c.param("a");
        for k in 0..n * layers {
            let q = k % n;
            c.rx(q, angle.clone())
                .unwrap()
                .cx(q, (q + 1) % n)
                .unwrap()
                .ry(q, 0.1 + k as f64)
                .unwrap();
        }
        let simulator = |threads| Simulator::new().with_threads(Threads::new(threads).unwrap());
        let expected = simulator(1).run(&c, &[0.4]).unwrap();
        let mut given = zero::<f64>(n);
        Generic
            .run(
                BoundCircuit::new(&c, &Values(&[0.4])).unwrap().operators().unwrap(),
                &mut given,
                &Threads::serial(),
            )
            .unwrap();
        assert!(distance(expected.amplitudes(), &given) < TOLERANCE_F64);
        for threads in [1, 2] {
            for before in [n, n + 1, 2] {
                let mut state = StateVector::random(before, 5, &Threads::serial()).unwrap();
                simulator(threads).run_into(&c, &[0.4], &mut state).unwrap();
                assert!(state == expected, "{n} qubits, {threads} threads, {before} qubits before");
            }
        }
        let mut state = StateVector::random(n, 5, &Threads::serial()).unwrap();
        let before = state.clone();
        assert!(simulator(1).run_into(&c, &[], &mut state).is_err(), "a value is missing");
        let limited = Simulator::new().with_memory_limit(16);
        assert!(limited.run_into(&c, &[0.4], &mut state).is_err());
        c.measure_all().unwrap().h(0).unwrap();
        assert!(simulator(1).run_into(&c, &[0.4], &mut state).is_err(), "no single state");
        assert!(state == before, "an error changes nothing");
    }
}

/// A state that was made as |0…0> takes a short way through a plan, until it is changed in any way.
#[test]
fn a_state_is_new_until_it_is_changed() {
    const N: usize = 16;
    let mut c = Circuit::new(N);
    for q in (0..N).chain(0..N) {
        c.h(q).unwrap().rz(q, 0.2 + q as f64).unwrap().cx(q, (q + 3) % N).unwrap();
    }
    let (layers, simulator) = (operators::<f64>(&c), Simulator::new());
    type State = StateVector<Complex<f64>>;
    let changes: [fn(&mut State); 6] = [
        |_| {},
        |state| state.amplitudes_mut().swap(0, 0b1000_0000_0000_0101),
        |state| *state = StateVector::basis(N, 1 << 15).unwrap(),
        |state| *state = state.clone(),
        |state| {
            let mut x = Circuit::new(N);
            x.x(13).unwrap();
            let x = operators::<f64>(&x).remove(0);
            state.apply(&x, &Threads::serial()).unwrap();
        },
        |state| {
            *state = StateVector::from_vector(
                std::mem::replace(state, StateVector::zero(1).unwrap()).into_amplitudes(),
            )
            .unwrap()
        },
    ];
    for (k, change) in changes.into_iter().enumerate() {
        let mut state = State::zero(N).unwrap();
        change(&mut state);
        let mut expected = state.amplitudes().to_vec();
        for turn in 0..2 {
            simulator.execute(&layers, &mut state, &mut |_, _| {}).unwrap();
            Generic.run(&layers, &mut expected, &Threads::serial()).unwrap();
            let off = distance(&expected, state.amplitudes());
            assert!(off < TOLERANCE_F64, "change {k}, turn {turn}: off by {off:e}");
        }
    }
}
