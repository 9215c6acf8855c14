//! Circuits whose result is known in closed form.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::f64::consts::{PI, TAU};

use ketgrad_core::{
    ansatz::qft,
    circuit::Circuit,
    gate::{Gate, GateKind},
    kernel::Threads,
    param::Angle,
    simulate::Simulator,
    state::StateVector,
};
use num_complex::Complex;
use support::{
    close::{CIRCUIT, ROUNDING, assert_close},
    random::Rng,
};

type C = Complex<f64>;

fn run(circuit: &Circuit) -> StateVector<C> {
    Simulator::new().run::<f64>(circuit, &[]).unwrap()
}

/// H on every qubit.
fn spread(circuit: &mut Circuit) {
    for q in 0..circuit.n_qubits() {
        circuit.h(q).unwrap();
    }
}

#[test]
fn ghz_is_two_amplitudes() {
    for n in 1..10 {
        let mut circuit = Circuit::new(n);
        circuit.h(0).unwrap();
        for q in 1..n {
            circuit.cx(q - 1, q).unwrap();
        }
        let state = run(&circuit);
        let r = 0.5f64.sqrt();
        for (i, a) in state.amplitudes().iter().enumerate() {
            let expected = if i == 0 || i == (1 << n) - 1 { r } else { 0.0 };
            assert_eq!(*a, C::new(expected, 0.0), "exactly, n = {n}");
        }
    }
}

#[test]
fn the_fourier_transform_of_a_basis_state_is_a_plane_wave() {
    for n in 1..7 {
        for k in 0..1usize << n {
            let mut circuit = Circuit::new(n);
            for q in (0..n).filter(|q| k >> q & 1 == 1) {
                circuit.x(q).unwrap();
            }
            circuit.append(&qft(n).unwrap(), &(0..n).collect::<Vec<_>>()).unwrap();
            let dim = (1 << n) as f64;
            let wave: Vec<C> = (0..1usize << n)
                .map(|j| C::from_polar(dim.sqrt().recip(), TAU * (j * k) as f64 / dim))
                .collect();
            assert_close(
                run(&circuit).amplitudes(),
                &wave,
                ROUNDING,
                &format!("k = {k} of {n} qubits"),
            );
        }
    }
}

#[test]
fn grover_succeeds_with_the_sine_of_the_angle() {
    for (n, marked) in [(2, 3), (3, 5), (5, 9), (7, 0)] {
        let all: Vec<usize> = (0..n).collect();
        let theta = (1.0 / f64::from(1 << n)).sqrt().asin();
        let z = || Gate::new(GateKind::Z, []).unwrap();
        let controls = |value: usize| (1..n).map(|q| (q, value >> q & 1 == 1)).collect::<Vec<_>>();
        // -1 at one basis state: Z under controls of its bits, between X where bit 0 is 0.
        let flip = |circuit: &mut Circuit, at: usize| {
            if at & 1 == 0 {
                circuit.x(0).unwrap();
            }
            circuit.gate(z(), &[0], &controls(at)).unwrap();
            if at & 1 == 0 {
                circuit.x(0).unwrap();
            }
        };
        let mut round = Circuit::new(n);
        flip(&mut round, marked);
        spread(&mut round);
        flip(&mut round, 0);
        spread(&mut round);
        for rounds in 0..6 {
            let mut circuit = Circuit::new(n);
            spread(&mut circuit);
            circuit.append(&round.repeat(rounds).unwrap(), &all).unwrap();
            let p = run(&circuit).probabilities()[marked];
            let expected = ((2 * rounds + 1) as f64 * theta).sin().powi(2);
            assert!(
                (p - expected).abs() < CIRCUIT,
                "n = {n}, {rounds} rounds: {p}, not {expected}"
            );
        }
    }
}

#[test]
fn phase_estimation_reads_an_exact_angle_with_certainty() {
    let n = 5;
    for numerator in 0..1usize << n {
        // P(2 pi k / 2^n) on |1>, controlled by the counting qubits; then the inverse transform.
        let mut circuit = Circuit::new(n + 1);
        circuit.x(n).unwrap();
        for q in 0..n {
            circuit.h(q).unwrap();
            let turns = (numerator << q) as i64;
            circuit.cp(q, n, Angle::pi(2 * turns, 1 << n)).unwrap();
        }
        circuit.append(&qft(n).unwrap().dagger().unwrap(), &[0, 1, 2, 3, 4]).unwrap();
        let state = run(&circuit);
        let p = state.probabilities_of(&[0, 1, 2, 3, 4], &Threads::serial()).unwrap();
        assert!((p[numerator] - 1.0).abs() < ROUNDING, "{numerator}/32 of a turn: {p:?}");
    }
}

#[test]
fn bernstein_vazirani_reads_the_secret_in_one_run() {
    let n = 8;
    let mut rng = Rng::new(1);
    for _ in 0..8 {
        let secret = rng.below(1 << n);
        let mut circuit = Circuit::new(n + 1);
        circuit.x(n).unwrap();
        spread(&mut circuit);
        for q in (0..n).filter(|q| secret >> q & 1 == 1) {
            circuit.cx(q, n).unwrap();
        }
        spread(&mut circuit);
        let simulator = Simulator::new();
        let state = run(&circuit);
        let counts = simulator.counts(&circuit, &state, 100, 7).unwrap();
        let expected = ketgrad_core::basis::bitstring(secret | 1 << n, n + 1);
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(expected, 100)]);
    }
}

#[test]
fn a_rotating_spin_follows_the_bloch_sphere() {
    for (theta, phi) in [(0.3, 1.1), (2.0, -0.7), (PI, 0.0)] {
        let mut circuit = Circuit::new(1);
        circuit.ry(0, theta).unwrap().rz(0, phi).unwrap();
        let state = run(&circuit);
        let mean =
            |text: &str| state.expectation(&text.parse().unwrap(), &Threads::serial()).unwrap();
        let expected = [theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()];
        assert_close(&["X0", "Y0", "Z0"].map(mean), &expected, ROUNDING, "x, y, z");
    }
}
