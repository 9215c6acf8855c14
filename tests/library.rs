//! Circuits to begin with: the Fourier transform, phase estimation, and circuits that prepare
//! states.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    ansatz::{phase_estimation, qft},
    circuit::{Circuit, CircuitError},
    kernel::Threads,
    param::{Angle, Values},
    print::prepare,
    simulate::Simulator,
    state::StateVector,
};
use num_complex::Complex;
use support::{
    close::{CIRCUIT, assert_close, assert_matrices},
    random::Rng,
    reference,
};

type C = Complex<f64>;
type State = StateVector<C>;

fn ran(circuit: &Circuit) -> State {
    Simulator::new().run::<f64>(circuit, &[]).unwrap()
}

#[test]
fn qft_is_the_discrete_fourier_transform() {
    for n in 0..6 {
        let dim = 1usize << n;
        let root = |j: usize, k: usize| {
            C::cis(std::f64::consts::TAU * (j * k % dim) as f64 / dim as f64) / (dim as f64).sqrt()
        };
        let expected = (0..dim).map(|j| (0..dim).map(|k| root(j, k)).collect()).collect();
        let got = reference::circuit(&qft(n).unwrap(), &Values::<f64>(&[]));
        assert_matrices(&got, &expected, CIRCUIT, "the Fourier transform");
    }
    // More qubits than any state has: all angles are numbers.
    let wide = qft(80).unwrap();
    let angles = wide.instructions().iter().flat_map(|i| i.operation.params().to_vec());
    assert!(angles.into_iter().all(|a| *a.pi_part().denom() > 1 && a.radian_part() == 0.0));
}

#[test]
fn phases_are_read_exactly_where_they_are_whole_and_near_them_elsewhere() {
    // Eigenvalues e^{2 pi i k/8} of two qubits, and a global phase of 1/4 turn that counts.
    let mut unitary = Circuit::new(2);
    unitary
        .p(0, Angle::pi(1, 4))
        .unwrap()
        .p(1, Angle::pi(1, 2))
        .unwrap()
        .gphase(Angle::pi(1, 2))
        .unwrap();
    let estimation = phase_estimation(&unitary, 3).unwrap();
    for eigenstate in 0..4 {
        let mut circuit = Circuit::new(5);
        for q in (0..2).filter(|q| eigenstate >> q & 1 == 1) {
            circuit.x(3 + q).unwrap();
        }
        circuit.append(&estimation, &[0, 1, 2, 3, 4]).unwrap();
        let read = ran(&circuit).probabilities_of(&[0, 1, 2], &Threads::serial()).unwrap();
        assert!((read[(eigenstate + 2) % 8] - 1.0).abs() < CIRCUIT, "{eigenstate}: {read:?}");
    }
    // 0.3 of a turn with 5 bits: |sin(32 pi d) / (32 sin(pi d))|^2 with d = 0.3 - k/32.
    let mut unitary = Circuit::new(1);
    unitary.p(0, Angle::rad(std::f64::consts::TAU * 0.3)).unwrap();
    let mut circuit = Circuit::new(6);
    circuit
        .x(5)
        .unwrap()
        .append(&phase_estimation(&unitary, 5).unwrap(), &[0, 1, 2, 3, 4, 5])
        .unwrap();
    let read = ran(&circuit).probabilities_of(&[0, 1, 2, 3, 4], &Threads::serial()).unwrap();
    let expected: Vec<f64> = (0..32)
        .map(|k| std::f64::consts::PI * (0.3 - f64::from(k) / 32.0))
        .map(|d| ((32.0 * d).sin() / (32.0 * d.sin())).powi(2))
        .collect();
    assert_close(&read, &expected, CIRCUIT, "0.3 of a turn");

    let mut measured = Circuit::new(1);
    measured.measure_all().unwrap();
    assert!(matches!(phase_estimation(&measured, 2), Err(CircuitError::NotUnitary { .. })));
    assert!(matches!(phase_estimation(&unitary, 70), Err(CircuitError::TooLong { .. })));
}

#[test]
fn any_state_is_prepared_with_its_phase() {
    for n in 0..8 {
        for seed in 0..4 {
            let mut rng = Rng::new(seed + 10 * n as u64);
            let mut amplitudes: Vec<C> = rng.vector(1 << n);
            match seed {
                1 => amplitudes.iter_mut().for_each(|a| a.im = 0.0),
                // Few that are not zero, some of them real.
                2 => amplitudes.iter_mut().for_each(|a| {
                    if rng.unit() < 0.7 {
                        *a = C::new(0.0, 0.0);
                    } else if rng.unit() < 0.5 {
                        a.im = 0.0;
                    }
                }),
                3 => amplitudes.iter_mut().for_each(|a| a.re = 0.0),
                _ => {}
            }
            amplitudes[(1 << n) - 1] += 0.1;
            let norm = amplitudes.iter().map(C::norm_sqr).sum::<f64>().sqrt();
            amplitudes.iter_mut().for_each(|a| *a /= norm);
            let state = State::from_amplitudes(amplitudes).unwrap();
            let circuit = prepare(&state).unwrap();
            assert_close(ran(&circuit).amplitudes(), state.amplitudes(), CIRCUIT, "the state");
            let count = circuit.count_operations();
            let cx = count.get("cx").copied().unwrap_or(0);
            assert!(cx < if seed == 1 { 1 << n } else { 2 << n }, "{cx} cx for {n} qubits");
            assert!(seed != 1 || !count.contains_key("rz"), "{count:?}");
        }
    }
    // A basis state takes no more than a rotation for each 1.
    let circuit = prepare(&State::basis(6, 0b10_0110).unwrap()).unwrap();
    assert_close(
        ran(&circuit).amplitudes(),
        State::basis(6, 0b10_0110).unwrap().amplitudes(),
        CIRCUIT,
        "",
    );
    let uniform = State::from_amplitudes(vec![C::new(0.25, 0.0); 16]).unwrap();
    assert_eq!(prepare(&uniform).unwrap().instructions().len(), 4);
}
