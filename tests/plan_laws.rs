//! The law of plans: what they make of a circuit is what its gates make of it, whatever the
//! circuit.
//!
//! Plans are forced on every number of qubits from 1 on, with tiles of every size, in both
//! precisions and on every instruction set, on pools of long random circuits (see
//! `support::pools`), and compared with a simulator that shares no code with kernels or plans.
//! Gradients, Hessian products, batches and plans that are bound again are compared with dual
//! numbers on the generic kernels, which take no plans.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use ketgrad_core::{
    circuit::Circuit,
    hybrid::{Expectation, Method},
    kernel::{Executors, InstructionSet, Operator, SimdFloat, StateHint, Threads},
    observable::{Pauli, PauliString, PauliSum},
    param::{Angle, Values},
    plan::{Fast, Plan, PlanOptions},
    simulate::{BoundCircuit, Simulator},
    state::StateVector,
};
use num_complex::Complex;
use support::{
    dense::DenseState,
    pools::{Pool, PoolAngle, PoolCircuit, PoolGate},
    random::Rng,
};

/// Roundings of a gate in units of eps: its matrix, its product with others, and its application to
/// the state.
const ROUNDINGS: f64 = 8.0;

/// Tolerance of a run of a number of gates: the reference rounds as well.
fn tolerance<E: SimdFloat>(gates: usize) -> f64 {
    ROUNDINGS * Into::<f64>::into(E::EPSILON) * (gates + 4) as f64
}

fn operators<E: SimdFloat>(circuit: &Circuit) -> Vec<Operator<Complex<E>>> {
    BoundCircuit::new(circuit, &Values::<E>(&[])).unwrap().operators().unwrap().to_vec()
}

fn distance<E: SimdFloat>(reference: &DenseState, state: &[Complex<E>]) -> f64 {
    let wide = |z: &Complex<E>| Complex::new(z.re.into(), z.im.into());
    reference.distance(&state.iter().map(wide).collect::<Vec<_>>())
}

fn sets() -> impl Iterator<Item = InstructionSet> {
    InstructionSet::ALL.into_iter().filter(|set| set.is_available())
}

/// Choices that plans make on large states or seldom: blocks written as factors, products kept
/// because nothing that is written for them is close enough, stages and levels that look no further
/// than a few operations.
fn corners(options: PlanOptions) -> [PlanOptions; 5] {
    let factors = options.with_factor_blocks(true);
    let few = options.with_lookahead(2);
    [options, factors, factors.with_tolerance(-1.0), few, factors.with_window(1)]
}

/// Plans of the circuit with tiles of some sizes, from |0…0>.
fn plans_are_right<E: SimdFloat>(drawn: &PoolCircuit, tiles: &[usize]) {
    let (n, circuit, reference) = (drawn.n_qubits, drawn.circuit(), drawn.reference());
    let operators = operators::<E>(&circuit);
    let allowed = tolerance::<E>(drawn.gates.len());
    for set in sets() {
        for &tile_qubits in tiles {
            for way in [StateHint::Arbitrary, StateHint::StartsAtZero] {
                let options = PlanOptions::new(set, n)
                    .with_tile_qubits(tile_qubits)
                    .with_low_qubits(tile_qubits % 3 + 2)
                    .with_state_hint(way);
                for options in corners(options) {
                    let mut state = StateVector::<Complex<E>>::zero(n).unwrap().into_amplitudes();
                    Plan::new(n, &operators, options).run(&mut state, &Threads::serial());
                    let off = distance(&reference, &state);
                    assert!(off <= allowed, "{options:?}: off by {off:e}\n{drawn}");
                }
            }
        }
    }
}

#[test]
fn plans_on_few_qubits_are_right() {
    for pool in Pool::ALL {
        for n in 1..=11 {
            for seed in 0..3 {
                let drawn = PoolCircuit::draw(pool, n, 20 << seed, 100 * n as u64 + seed);
                let tiles: Vec<usize> = (3..=n.max(3)).step_by(2).collect();
                plans_are_right::<f64>(&drawn, &tiles);
                plans_are_right::<f32>(&drawn.in_single_precision(), &tiles);
            }
        }
    }
}

/// Long circuits that move four qubits of nine, the others in superpositions that only get phases:
/// a stage holds more operations than are looked at together.
#[test]
fn plans_that_move_few_qubits_are_right() {
    for pool in
        [Pool::CliffordT, Pool::RzSx, Pool::U3Cx, Pool::Controlled, Pool::NearlyLocal, Pool::Mixed]
    {
        let mut rng = Rng::new(5);
        let moved = PoolCircuit::draw(pool, 4, 1200, 5);
        let mut drawn = PoolCircuit { n_qubits: 9, gates: Vec::new() };
        drawn.gates.extend((0..9).map(|q| PoolGate::new("h", &[], &[q])));
        for mut gate in moved.gates {
            gate.qubits
                .iter_mut()
                .chain(gate.controls.iter_mut().map(|(q, _)| q))
                .for_each(|q| *q *= 2);
            drawn.gates.push(gate);
            let pair = [2 * rng.below(4), 2 * rng.below(4) + 1];
            match rng.below(4) {
                0 => drawn.gates.push(PoolGate::new("cz", &[], &pair)),
                1 => drawn.gates.push(PoolGate::new(
                    "rzz",
                    &[PoolAngle::Radians(3.0 * rng.signed())],
                    &pair,
                )),
                _ => {}
            }
        }
        plans_are_right::<f64>(&drawn, &[5, 9]);
        plans_are_right::<f32>(&drawn.in_single_precision(), &[5, 9]);
    }
}

/// The defaults of users: the simulator plans by itself here.
#[test]
fn long_circuits_on_fifteen_qubits_and_more_are_right() {
    for pool in Pool::ALL {
        for seed in 0..3 {
            let n = 15 + seed as usize;
            let drawn = PoolCircuit::draw(pool, n, 500, seed);
            let (reference, simulator) = (drawn.reference(), Simulator::new());
            let state = simulator.run::<f64>(&drawn.circuit(), &[]).unwrap();
            let off = distance(&reference, state.amplitudes());
            assert!(off <= tolerance::<f64>(drawn.gates.len()), "off by {off:e}\n{drawn}");
            let drawn = drawn.in_single_precision();
            let state = simulator.run::<f32>(&drawn.circuit(), &[]).unwrap();
            let off = distance(&drawn.reference(), state.amplitudes());
            assert!(off <= tolerance::<f32>(drawn.gates.len()), "single: off by {off:e}\n{drawn}");
        }
    }
}

/// A circuit of a pool whose angles are parameters, and their values.
fn with_parameters(drawn: &PoolCircuit, few: usize) -> (Circuit, Vec<f64>) {
    let mut circuit = Circuit::new(drawn.n_qubits);
    let mut values = Vec::new();
    for gate in &drawn.gates {
        let angles: Vec<Angle> = gate
            .angles
            .iter()
            .map(|angle| {
                if values.len() == few {
                    return angle.angle();
                }
                values.push(angle.radians());
                circuit.param(&format!("t{}", values.len()))
            })
            .collect();
        gate.push_with(&mut circuit, &angles);
    }
    (circuit, values)
}

/// A sum of a few strings on all qubits.
fn observable(n: usize, rng: &mut Rng) -> PauliSum {
    let letters = [Pauli::X, Pauli::Y, Pauli::Z];
    let term = |rng: &mut Rng| {
        let on = rng.permutation(n);
        let count = 1 + rng.below(n.min(3));
        let string =
            PauliString::new(on[..count].iter().map(|&q| (q, letters[rng.below(3)]))).unwrap();
        (0.3 + rng.unit(), string)
    };
    PauliSum::new((0..4).map(|_| term(rng)).collect::<Vec<_>>()).unwrap()
}

fn simulator(executors: Executors) -> Simulator {
    Simulator::new().with_executors(executors).with_threads(Threads::serial())
}

/// Plans wherever they can be.
fn planning(set: InstructionSet) -> Simulator {
    let mut executors = Executors::new();
    executors.insert::<Complex<f64>>(Arc::new(Fast::with(set).unwrap().planning_from(1)));
    simulator(executors)
}

fn close(what: &str, drawn: &PoolCircuit, allowed: f64, a: &[f64], b: &[f64]) {
    let off = a
        .iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, |m: f64, x| if x <= m { m } else { x });
    assert!(a.len() == b.len() && off <= allowed, "{what}: off by {off:e}\n{drawn}");
}

/// Gradients by the adjoint method and by shifts, Hessian products, gradients at several points and
/// prepared gradients that are bound again, all with forced plans, beside dual numbers on generic
/// kernels.
#[test]
fn derivatives_by_plans_are_right() {
    let generic = simulator(Executors::new());
    for pool in [
        Pool::CliffordT,
        Pool::Fractions,
        Pool::U3Cx,
        Pool::RzSx,
        Pool::Controlled,
        Pool::Sandwich,
        Pool::Mixed,
    ] {
        for n in [1, 2, 3, 5, 6, 8] {
            let seed = 31 * n as u64;
            let drawn = PoolCircuit::draw(pool, n, 60, seed);
            let (circuit, values) = with_parameters(&drawn, 6);
            let mut rng = Rng::new(seed);
            let expectation = Expectation::new(circuit, [observable(n, &mut rng)]).unwrap();
            let slow = expectation.clone().with_simulator(generic.clone());
            let allowed = 40.0 * tolerance::<f64>(drawn.gates.len());
            let points: Vec<Vec<f64>> = (0..3)
                .map(|k| {
                    values.iter().map(|x| if k == 0 { *x } else { rng.special_angle() }).collect()
                })
                .collect();
            let direction: Vec<f64> = values.iter().map(|_| rng.signed()).collect();
            let expected: Vec<(f64, Vec<f64>)> =
                points.iter().map(|at| slow.gradient_by(Method::Forward, at).unwrap()).collect();
            let product = slow.hvp(&values, &direction).unwrap();
            for set in sets() {
                let fast = expectation.clone().with_simulator(planning(set));
                let (value, gradient) = fast.value_and_gradient(&values).unwrap();
                close("value", &drawn, allowed, &[value], &[expected[0].0]);
                close("adjoint", &drawn, allowed, &gradient, &expected[0].1);
                let (_, shifted) = fast.gradient_by(Method::Shift, &values).unwrap();
                close("shifts", &drawn, allowed, &shifted, &expected[0].1);
                let (gradient, along) = fast.hvp(&values, &direction).unwrap();
                close("gradient beside a product", &drawn, allowed, &gradient, &product.0);
                close("Hessian product", &drawn, 10.0 * allowed, &along, &product.1);
                for (got, expected) in fast.gradients(&points).unwrap().iter().zip(&expected) {
                    close("one of several points", &drawn, allowed, &got.1, &expected.1);
                }
                let mut prepared = fast.prepare::<f64>().unwrap();
                for (at, expected) in
                    points.iter().zip(&expected).chain(points.iter().zip(&expected))
                {
                    let mut gradient = vec![0.0; at.len()];
                    let value = prepared.value_and_gradient(at, &mut gradient).unwrap();
                    close("prepared value", &drawn, allowed, &[value], &[expected.0]);
                    close("prepared gradient", &drawn, allowed, &gradient, &expected.1);
                }
            }
        }
    }
}

/// Plans that are bound again, at points where gates vanish, become Clifford gates or are nearly
/// so.
#[test]
fn plans_that_are_bound_again_are_right() {
    for pool in Pool::ALL {
        for n in [2, 4, 7] {
            let drawn = PoolCircuit::draw(pool, n, 80, 7 + n as u64);
            let (circuit, values) = with_parameters(&drawn, 40);
            let operators = |at: &[f64]| {
                BoundCircuit::<Complex<f64>>::new(&circuit, &Values(at))
                    .unwrap()
                    .operators()
                    .unwrap()
                    .to_vec()
            };
            let mut rng = Rng::new(n as u64);
            for options in
                sets().flat_map(|set| corners(PlanOptions::new(set, n).with_tile_qubits(4)))
            {
                let mut plan = Plan::new(n, &operators(&values), options);
                for round in 0..8 {
                    let at: Vec<f64> = values
                        .iter()
                        .map(|x| if round % 4 == 0 { *x } else { rng.special_angle() })
                        .collect();
                    plan.bind(&operators(&at));
                    let mut state = StateVector::<Complex<f64>>::zero(n).unwrap().into_amplitudes();
                    plan.run(&mut state, &Threads::serial());
                    let off = distance(&drawn.with_angles(&at).reference(), &state);
                    let allowed = tolerance::<f64>(drawn.gates.len());
                    assert!(off <= allowed, "{options:?}, {at:?}: off by {off:e}\n{drawn}");
                }
            }
        }
    }
}

/// Phases of one sign: as exact as gate by gate, however many there are.
#[test]
fn phases_add_up_without_error() {
    const N: usize = 15;
    for (name, count) in [("cp", 20_000u32), ("rzz", 5_000), ("crz", 5_000), ("cu", 2_000)] {
        let angle = 0.300_000_000_000_012_3;
        let mut circuit = Circuit::new(N);
        circuit.h(0).unwrap().h(1).unwrap();
        for _ in 0..count {
            match name {
                "cp" => circuit.cp(0, 1, angle),
                "rzz" => circuit.rzz(0, 1, angle),
                "crz" => circuit.crz(0, 1, angle),
                _ => circuit.cu(0, 1, 0.0, angle, 0.1, 0.2),
            }
            .unwrap();
        }
        // The same as one gate, with an angle that is exact up to its own rounding: whole turns of
        // 4 pi taken off with pi in two parts.
        let reduced = |x: f64| {
            let (sum, turns) = (
                x * f64::from(count),
                (x * f64::from(count) / (4.0 * std::f64::consts::PI)).round(),
            );
            let error = x.mul_add(f64::from(count), -sum);
            (sum - turns * 12.566_370_010_375_977) - turns * 6.039_831_963_913_506e-7 + error
        };
        let mut one = DenseState::zero(N);
        let gate = |name: &str, angles: &[f64]| support::dense::named(name, angles);
        for q in [0, 1] {
            one.apply(&gate("h", &[]).matrix, &[q], &[]);
        }
        match name {
            "rzz" => one.apply(&gate(name, &[reduced(angle)]).matrix, &[0, 1], &[]),
            "cu" => {
                let angles = [0.0, reduced(angle), reduced(0.1), reduced(0.2)];
                one.apply(&gate(name, &angles).matrix, &[1], &[(0, true)]);
            }
            _ => one.apply(&gate(name, &[reduced(angle)]).matrix, &[1], &[(0, true)]),
        }
        let state = Simulator::new().run::<f64>(&circuit, &[]).unwrap();
        let off = distance(&one, state.amplitudes());
        // Each gate's angles are rounded in its matrix, the same way each time.
        assert!(off < 1.5e-16 * f64::from(count), "{name}: off by {off:e}");
    }
}
