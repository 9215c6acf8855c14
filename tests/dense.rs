//! The reference simulator by closed forms, and ketgrad's gates and plans beside it.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::f64::consts::PI;

use ketgrad_core::{
    gate::{Gate, NAMED_GATES, NamedGate},
    param::{Angle, Values},
    simulate::Simulator,
};
use num_complex::Complex;
use support::{
    dense::{DenseState, NAMES, cis, dagger, named, product, rotation},
    pools::{Pool, PoolCircuit, PoolGate},
    random::Rng,
};

type C = Complex<f64>;

/// A few roundings of numbers of size 1.
const ROUNDING: f64 = 1e-14;
/// Some hundred gates, each of which rounds to 1e-16 and turns huge angles by exact numbers.
const CIRCUIT: f64 = 1e-12;

fn put(state: &mut DenseState, name: &'static str, angles: &[f64], qubits: &[usize]) {
    let gate = named(name, angles);
    let (controls, targets) = qubits.split_at(gate.n_controls);
    let controls: Vec<_> = controls.iter().map(|&q| (q, true)).collect();
    state.apply(&gate.matrix, targets, &controls);
}

#[test]
fn a_ghz_state_has_two_amplitudes() {
    let mut ghz = DenseState::zero(9);
    put(&mut ghz, "h", &[], &[4]);
    (0..9).filter(|&q| q != 4).for_each(|q| put(&mut ghz, "cx", &[], &[4, q]));
    let mut expected = vec![C::ZERO; 512];
    expected[0] = 0.5f64.sqrt().into();
    expected[511] = expected[0];
    assert!(ghz.distance(&expected) < ROUNDING);
    let all: Vec<_> = (0..9).map(|q| (q, 'X')).collect();
    assert!((ghz.expectation(&all) - 1.0).abs() < ROUNDING);
    // An even number of Y gives (-1)^(m/2).
    let two: Vec<_> = (0..9).map(|q| (q, if q < 2 { 'Y' } else { 'X' })).collect();
    assert!((ghz.expectation(&two) + 1.0).abs() < ROUNDING);
    assert!(ghz.expectation(&[(3, 'Z')]).abs() < ROUNDING);
}

/// |x> becomes `2^{-n/2} sum_y e^{2 pi i x y / 2^n} |y>`.
#[test]
fn the_fourier_transform_of_a_basis_state_is_a_wave() {
    for (n, x) in [(1, 1), (5, 19), (8, 201)] {
        let mut state = DenseState::basis(n, x);
        for k in (0..n).rev() {
            put(&mut state, "h", &[], &[k]);
            (0..k).for_each(|j| put(&mut state, "cp", &[PI / f64::from(1 << (k - j))], &[j, k]));
        }
        (0..n / 2).for_each(|q| put(&mut state, "swap", &[], &[q, n - 1 - q]));
        let dim = 1usize << n;
        let wave =
            |y: usize| cis(2.0 * PI * (x * y % dim) as f64 / dim as f64) / (dim as f64).sqrt();
        assert!(state.distance(&(0..dim).map(wave).collect::<Vec<_>>()) < ROUNDING);
    }
}

#[test]
fn rotations_of_one_qubit_move_the_bloch_vector() {
    let t = 0.7;
    let vector = |name: &'static str, before: &[&'static str]| {
        let mut state = DenseState::zero(3);
        before.iter().for_each(|gate| put(&mut state, gate, &[], &[1]));
        put(&mut state, name, &[t], &[1]);
        ['X', 'Y', 'Z'].map(|letter| state.expectation(&[(1, letter)]))
    };
    let close = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(x, y)| (x - y).abs() < ROUNDING);
    assert!(close(vector("rx", &[]), [0.0, -t.sin(), t.cos()]));
    assert!(close(vector("ry", &[]), [t.sin(), 0.0, t.cos()]));
    assert!(close(vector("rz", &["h"]), [t.cos(), t.sin(), 0.0]));
    assert!(close(vector("p", &["h", "s"]), [-t.sin(), t.cos(), 0.0]));
}

#[test]
fn controls_of_both_values_choose_where_a_gate_acts() {
    for index in 0..8 {
        let mut state = DenseState::basis(3, index);
        state.apply(&named("x", &[]).matrix, &[1], &[(0, true), (2, false)]);
        let moved = if index & 0b101 == 0b001 { index ^ 0b010 } else { index };
        assert!(state.distance(&DenseState::basis(3, moved).amplitudes) == 0.0);
    }
}

#[test]
fn gates_of_the_reference_are_unitary_and_satisfy_identities() {
    let mut rng = Rng::new(1);
    for &(name, n_angles, _) in NAMES {
        let angles: Vec<f64> = (0..n_angles).map(|_| 5.0 * rng.signed()).collect();
        let matrix = named(name, &angles).matrix;
        let (unit, dim) = (product(&dagger(&matrix), &matrix), matrix.len().isqrt());
        let off = |k: usize| (unit[k] - f64::from(u8::from(k / dim == k % dim))).norm();
        assert!((0..dim * dim).all(|k| off(k) < ROUNDING), "{name}");
    }
    let near = |a: &[C], b: &[C]| a.iter().zip(b).all(|(x, y)| (x - y).norm() < ROUNDING);
    let matrix = |name, angles: &[f64]| named(name, angles).matrix;
    let times = |a: &[C], z: C| a.iter().map(|x| x * z).collect::<Vec<_>>();
    let (theta, phi, lambda) = (0.4, -1.3, 2.1);
    // U3 = RZ(phi) RY(theta) RZ(lambda), U = e^{i (theta + phi + lambda)/2} U3.
    let euler =
        product(&matrix("rz", &[phi]), &product(&matrix("ry", &[theta]), &matrix("rz", &[lambda])));
    assert!(near(&matrix("u3", &[theta, phi, lambda]), &euler));
    let phase = cis((theta + phi + lambda) / 2.0);
    assert!(near(&matrix("U", &[theta, phi, lambda]), &times(&euler, phase)));
    assert!(near(&product(&matrix("sx", &[]), &matrix("sx", &[])), &matrix("x", &[])));
    assert!(near(&matrix("sx", &[]), &times(&matrix("rx", &[PI / 2.0]), cis(PI / 4.0))));
    let flip_flop = product(&rotation("XX", -PI / 2.0), &rotation("YY", -PI / 2.0));
    assert!(near(&matrix("iswap", &[]), &flip_flop));
    assert!(near(&matrix("rzz", &[theta]), &rotation("ZZ", theta)));
}

/// The gate table of ketgrad by formulas that were written down a second time.
#[test]
fn the_gate_table_has_the_matrices_of_the_formulas() {
    let mut rng = Rng::new(2);
    for &(name, n_angles, n_qubits) in NAMES {
        let known = NamedGate::find(name).unwrap();
        assert_eq!(known.n_qubits(), n_qubits, "{name}");
        let angles: Vec<f64> = (0..n_angles).map(|_| 5.0 * rng.signed()).collect();
        let gate = Gate::new(known.kind, angles.iter().map(|&a| Angle::rad(a))).unwrap();
        let matrix = gate.matrix::<C>(&Values::<f64>(&[])).unwrap();
        let formula = named(name, &angles);
        assert_eq!(formula.n_controls, known.n_controls, "{name}");
        let off = |(a, b): (&C, &C)| (a - b).norm();
        let worst = matrix.entries().iter().zip(&formula.matrix).map(off).fold(0.0, f64::max);
        assert!(worst < ROUNDING, "{name} is off by {worst:e}");
    }
    assert!(NAMED_GATES.len() >= NAMES.len());
}

#[test]
fn small_circuits_of_every_pool_run_as_the_reference() {
    for pool in Pool::ALL {
        for seed in 0..20 {
            let n = 1 + (seed % 6) as usize;
            let drawn = PoolCircuit::draw(pool, n, 60, seed);
            let state = Simulator::new().run::<f64>(&drawn.circuit(), &[]).unwrap();
            let off = drawn.reference().distance(state.amplitudes());
            assert!(off < CIRCUIT, "{pool:?} {n} {seed}: {off:e}\n{drawn}");
        }
    }
}

#[test]
fn a_printed_gate_names_its_controls() {
    let gate =
        PoolGate { controls: vec![(4, false), (0, true)], ..PoolGate::new("cx", &[], &[1, 2]) };
    assert_eq!(gate.to_string(), "negctrl @ ctrl @ cx q[4], q[0], q[1], q[2];");
}
