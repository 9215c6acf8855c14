//! States: norms, probabilities, collapse, samples, reductions, refusals.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    basis::BasisError,
    circuit::Circuit,
    kernel::Threads,
    matrix::Matrix,
    observable::PauliSum,
    param::Values,
    scalar::Uncertain,
    simulate::{MAX_MATRIX_QUBITS, SimulateError, Simulator},
    state::{DensityMatrix, NORM_TOLERANCE, StateError, StateVector, bytes_needed, bytes_text},
};
use num_complex::Complex;
use num_dual::Dual64;
use proptest::prelude::*;
use support::{
    close::{CIRCUIT, ROUNDING, assert_close},
    random::{Rng, circuits},
    reference::{Dense, identity, kron, product, times_vector},
};

type C = Complex<f64>;
type State = StateVector<C>;

fn serial() -> Threads {
    Threads::serial()
}

fn random(n: usize, seed: u64) -> State {
    State::random(n, seed, &serial()).unwrap()
}

/// Bit j of the outcome is the value of `qubits[j]`.
fn outcome(index: usize, qubits: &[usize]) -> usize {
    qubits.iter().enumerate().fold(0, |v, (j, q)| v | (index >> q & 1) << j)
}

/// The probabilities of the outcomes, one basis state at a time.
fn marginal(state: &State, qubits: &[usize]) -> Vec<f64> {
    let mut p = vec![0.0; 1 << qubits.len()];
    for (i, a) in state.amplitudes().iter().enumerate() {
        p[outcome(i, qubits)] += a.norm_sqr();
    }
    p
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn circuits_keep_the_norm(circuit in circuits(5, 0, 20)) {
        let state = Simulator::new().run::<f64>(&circuit, &[]).unwrap();
        prop_assert!((state.norm2(&serial()) - 1.0).abs() < CIRCUIT);
    }

    #[test]
    fn marginals_reductions_and_collapse_agree_with_brute_force(n in 1usize..7, seed in any::<u64>(), k in 0usize..4, value in any::<bool>()) {
        let state = random(n, seed);
        let qubits = Rng::new(seed).permutation(n)[..k.min(n)].to_vec();
        let p = state.probabilities_of(&qubits, &serial()).unwrap();
        prop_assert!(support::close::distance(&p, &marginal(&state, &qubits)) < ROUNDING);

        let rho = state.reduced_density_matrix(&qubits, &serial()).unwrap();
        let dim = rho.dim();
        let mut expected = vec![C::new(0.0, 0.0); dim * dim];
        for (i, a) in state.amplitudes().iter().enumerate() {
            for (j, b) in state.amplitudes().iter().enumerate() {
                if (0..n).all(|q| qubits.contains(&q) || i >> q & 1 == j >> q & 1) {
                    expected[outcome(i, &qubits) * dim + outcome(j, &qubits)] += a * b.conj();
                }
            }
        }
        prop_assert!(support::close::distance(rho.entries(), &expected) < ROUNDING);
        let trace: C = (0..dim).map(|i| rho[(i, i)]).sum();
        prop_assert!((trace - 1.0).norm() < ROUNDING);
        prop_assert_eq!(&rho.dagger(), &rho, "exactly Hermitian");

        let qubit = qubits.first().copied().unwrap_or(0);
        let mut collapsed = state.clone();
        let p = collapsed.collapse(qubit, value, &serial()).unwrap();
        prop_assert!((p - marginal(&state, &[qubit])[usize::from(value)]).abs() < ROUNDING);
        let expected: Vec<C> = state.amplitudes().iter().enumerate()
            .map(|(i, a)| if (i >> qubit & 1 == 1) == value { a / p.sqrt() } else { C::new(0.0, 0.0) })
            .collect();
        prop_assert!(support::close::distance(collapsed.amplitudes(), &expected) < ROUNDING);
        // A second time it is certain.
        let again = collapsed.collapse(qubit, value, &serial()).unwrap();
        prop_assert!((again - 1.0).abs() < ROUNDING);
        prop_assert_eq!(collapsed.clone().collapse(qubit, !value, &serial()), Err(StateError::Impossible { qubit, value: !value }));
    }

    #[test]
    fn inner_products_and_expectations_agree_with_dense_matrices(n in 1usize..6, seed in any::<u64>(), n_terms in 0usize..6) {
        let (a, b) = (random(n, seed), random(n, seed ^ 1));
        let inner: C = a.amplitudes().iter().zip(b.amplitudes()).map(|(x, y)| x.conj() * y).sum();
        prop_assert!((a.inner(&b, &serial()).unwrap() - inner).norm() < ROUNDING);
        prop_assert!((a.fidelity(&b, &serial()).unwrap() - inner.norm_sqr()).abs() < ROUNDING);
        prop_assert!((a.fidelity(&a, &serial()).unwrap() - 1.0).abs() < ROUNDING);

        let mut rng = Rng::new(seed);
        let mut dense: Dense<C> = vec![vec![C::new(0.0, 0.0); 1 << n]; 1 << n];
        let mut text = String::from("0");
        for _ in 0..n_terms {
            let coefficient = rng.signed();
            text += &format!(" + {coefficient:e}").replace("+ -", "- ");
            let letters: Vec<usize> = (0..n).map(|_| rng.below(4)).collect();
            let mut term = identity(1);
            for (q, &letter) in letters.iter().enumerate() {
                if letter > 0 {
                    text += &format!(" {}{q}", ["X", "Y", "Z"][letter - 1]);
                }
                term = kron(&pauli(letter), &term);
            }
            for (x, t) in dense.iter_mut().flatten().zip(term.iter().flatten()) {
                *x += t * coefficient;
            }
        }
        let observable: PauliSum = text.parse().unwrap();
        let image = times_vector(&dense, a.amplitudes());
        let expected: C = a.amplitudes().iter().zip(&image).map(|(x, y)| x.conj() * y).sum();
        let got = a.expectation(&observable, &serial()).unwrap();
        prop_assert!((got - expected.re).abs() < ROUNDING, "{}: {} against {}", text, got, expected);
    }
}

fn pauli(letter: usize) -> Dense<C> {
    let (o, l, i) = (C::new(0.0, 0.0), C::new(1.0, 0.0), C::new(0.0, 1.0));
    match letter {
        0 => identity(2),
        1 => vec![vec![o, l], vec![l, o]],
        2 => vec![vec![o, -i], vec![i, o]],
        _ => vec![vec![l, o], vec![o, -l]],
    }
}

#[test]
fn the_half_of_a_bell_pair_is_fully_mixed() {
    let mut bell = Circuit::new(2);
    bell.h(0).unwrap().cx(0, 1).unwrap();
    let state = Simulator::new().run::<f64>(&bell, &[]).unwrap();
    let purity = |qubits: &[usize]| {
        let rho = state.reduced_density_matrix(qubits, &serial()).unwrap();
        let square = &rho * &rho;
        (0..rho.dim()).map(|i| square[(i, i)].re).sum::<f64>()
    };
    assert!((purity(&[0]) - 0.5).abs() < ROUNDING);
    assert!((purity(&[1]) - 0.5).abs() < ROUNDING);
    assert!((purity(&[1, 0]) - 1.0).abs() < ROUNDING);
    assert!((purity(&[]) - 1.0).abs() < ROUNDING);
}

#[test]
fn random_states_are_normalized_reproducible_and_different() {
    for n in [0, 1, 5, 13] {
        assert!((random(n, 1).norm2(&serial()) - 1.0).abs() < CIRCUIT);
        assert_eq!(random(n, 1), random(n, 1));
    }
    assert!(random(8, 1).fidelity(&random(8, 2), &serial()).unwrap() < 0.1);
}

#[test]
fn reductions_over_many_blocks_miss_no_amplitude() {
    // Sums run in blocks of 2^11 indices; these states have one, two and eight of them. Every
    // amplitude counts: each is 1 or more, so a missing one shows.
    for n in [11, 12, 14] {
        let dim = 1usize << n;
        let ones = State::from_vector(vec![C::new(1.0, 0.0); dim]).unwrap();
        let steps = State::from_vector((0..dim).map(|i| C::new(i as f64, 1.0)).collect()).unwrap();
        let whole = dim as f64;
        let total = whole * (whole - 1.0) / 2.0;
        for threads in [serial(), Threads::new(2).unwrap()] {
            // Sums of integers below 2^53: exact in any order.
            assert_eq!(ones.norm2(&threads), whole);
            assert_eq!(ones.inner(&steps, &threads).unwrap(), C::new(total, whole));
            assert_eq!(ones.probabilities_of(&[0], &threads).unwrap(), [whole / 2.0; 2]);
            assert_eq!(
                ones.expectation(&"I + 2 X0 X3".parse().unwrap(), &threads).unwrap(),
                3.0 * whole
            );
            let rho = ones.reduced_density_matrix(&[n - 1], &threads).unwrap();
            assert_eq!(rho.entries(), [C::new(whole / 2.0, 0.0); 4]);
        }
    }
}

#[test]
fn samples_follow_the_probabilities() {
    let shots = 40_000;
    // Blocks are 2^11 amplitudes: one block, and several.
    for n in [1, 3, 4, 12] {
        let state = random(n, 5);
        let (few, bins) = (n.min(4), 1usize << n.min(4));
        let qubits: Vec<usize> = (n - few..n).collect();
        let p = marginal(&state, &qubits);
        let mut counts = vec![0.0; bins];
        for outcome_ in state.sample(shots, 11, &serial()).unwrap() {
            counts[outcome(outcome_, &qubits)] += 1.0;
        }
        let chi2: f64 = counts
            .iter()
            .zip(&p)
            .map(|(c, p)| (c - p * shots as f64).powi(2) / (p * shots as f64))
            .sum();
        // Mean k, variance 2k of chi-squared with k degrees of freedom; six deviations. The seed is
        // fixed.
        let k = (bins - 1) as f64;
        assert!(
            chi2 < k + 6.0 * (2.0 * k).sqrt(),
            "n = {n}: chi^2 = {chi2} for {k} degrees of freedom"
        );
    }
}

#[test]
fn samples_do_not_depend_on_threads_but_on_the_seed() {
    let state = random(13, 5);
    let draw =
        |threads: usize, seed| state.sample(5000, seed, &Threads::new(threads).unwrap()).unwrap();
    assert_eq!(draw(1, 3), draw(2, 3));
    assert_eq!(draw(1, 3), draw(3, 3));
    assert_ne!(draw(1, 3), draw(1, 4));
    // Fewer shots of one seed are the first ones.
    assert_eq!(state.sample(1500, 3, &serial()).unwrap(), draw(1, 3)[..1500]);
}

#[test]
fn samples_at_the_edges() {
    // A basis state gives itself, wherever it is relative to the blocks.
    for (n, index) in [(0, 0), (1, 0), (1, 1), (12, 0), (12, 2047), (12, 2048), (12, 4095)] {
        let state = State::basis(n, index).unwrap();
        assert_eq!(state.sample(100, 1, &serial()).unwrap(), vec![index; 100]);
        assert_eq!(state.sample(0, 1, &serial()).unwrap(), Vec::<usize>::new());
    }
    // States of probability zero are never drawn: only every third is possible.
    let mut amplitudes = vec![C::new(0.0, 0.0); 1 << 13];
    for i in (1..amplitudes.len() - 3000).step_by(3) {
        amplitudes[i] = C::new(0.0, (i % 7) as f64);
    }
    let state = State::from_vector(amplitudes).unwrap();
    for seed in 0..5 {
        let shots = state.sample(20_000, seed, &serial()).unwrap();
        assert!(shots.iter().all(|&i| state.amplitudes()[i].im > 0.0));
    }
    let nothing = State::from_vector(vec![C::new(0.0, 0.0); 4]).unwrap();
    assert_eq!(nothing.sample(1, 1, &serial()), Err(StateError::NotFinite { total: 0.0 }));
    let broken = State::from_vector(vec![C::new(f64::NAN, 0.0), C::new(0.0, 0.0)]).unwrap();
    assert!(matches!(broken.sample(1, 1, &serial()), Err(StateError::NotFinite { .. })));
}

#[test]
fn a_million_draws_at_the_rounding_edge_stay_possible() {
    // Sums of thirds and tenths round, so that draws fall beside the ends of blocks.
    let p = [0.1, 0.2, 0.3, 0.0, 0.4, 0.0, 0.0, 0.0];
    let amplitudes = (0..1 << 12).map(|i| C::new((p[i % 8] / 512.0f64).sqrt(), 0.0)).collect();
    let state = State::from_amplitudes(amplitudes).unwrap();
    let shots = state.sample(1_000_000, 9, &serial()).unwrap();
    assert!(shots.iter().all(|i| p[i % 8] > 0.0));
}

#[test]
fn amplitudes_are_checked() {
    let from = |a: &[f64]| State::from_amplitudes(a.iter().map(|&x| C::new(x, 0.0)).collect());
    assert!(from(&[1.0]).is_ok(), "no qubits: one amplitude");
    assert!(from(&[0.6, 0.8]).is_ok());
    assert!(from(&[1.0 + 0.4 * NORM_TOLERANCE, 0.0]).is_ok());
    assert!(matches!(from(&[]), Err(StateError::Basis(BasisError::NotAPowerOfTwo { .. }))));
    assert!(matches!(
        from(&[1.0, 0.0, 0.0]),
        Err(StateError::Basis(BasisError::NotAPowerOfTwo { .. }))
    ));
    assert_eq!(from(&[0.6, 0.6]), Err(StateError::Norm { norm2: 0.72 }));
    assert!(matches!(from(&[f64::NAN, 0.0]), Err(StateError::Norm { .. })));
    assert!(matches!(from(&[f64::INFINITY, 0.0]), Err(StateError::Norm { .. })));
    assert!(matches!(from(&[0.0, 0.0]), Err(StateError::Norm { .. })));
}

#[test]
fn qubits_are_checked() {
    let mut state = random(3, 1);
    let before = state.clone();
    let range = |given| BasisError::OutOfRange { given, available: 3 };
    assert_eq!(state.probabilities_of(&[3], &serial()), Err(range(3).into()));
    assert_eq!(
        state.probabilities_of(&[0, 0], &serial()),
        Err(BasisError::Repeated { given: 0 }.into())
    );
    assert_eq!(
        state.reduced_density_matrix(&[usize::MAX], &serial()),
        Err(range(usize::MAX).into())
    );
    assert_eq!(state.collapse(3, true, &serial()), Err(range(3).into()));
    assert_eq!(state.expectation(&"Z3".parse().unwrap(), &serial()), Err(range(3).into()));
    assert_eq!(state.expectation(&"Z62 X0".parse().unwrap(), &serial()), Err(range(62).into()));
    assert_eq!(state.inner(&random(2, 1), &serial()), Err(StateError::Sizes { left: 3, right: 2 }));
    let x = Matrix::from_fn(1, |i, j| C::new(f64::from(u8::from(i != j)), 0.0));
    assert_eq!(state.apply_matrix(&x, &[3], &[]), Err(range(3)));
    assert_eq!(state.apply_matrix(&x, &[0], &[(0, true)]), Err(BasisError::Repeated { given: 0 }));
    assert!(state.apply_matrix(&x, &[usize::MAX], &[]).is_err());
    assert_eq!(State::basis(2, 4), Err(BasisError::OutOfRange { given: 4, available: 4 }.into()));
    assert_eq!(state, before, "nothing changed");
    let wide = State::zero(14).unwrap();
    let too_many: Vec<usize> = (0..13).collect();
    assert!(wide.reduced_density_matrix(&too_many, &serial()).is_err());
    let circuit = Circuit::new(MAX_MATRIX_QUBITS + 1);
    let error = Simulator::new().matrix::<C>(&circuit, &Values::<f64>(&[])).unwrap_err();
    let SimulateError::MatrixTooLarge { n_qubits } = error else { panic!("{error:?}") };
    assert_eq!(n_qubits, MAX_MATRIX_QUBITS + 1);
}

#[test]
fn states_without_qubits_and_with_one_work() {
    let none = State::zero(0).unwrap();
    assert_eq!((none.n_qubits(), none.amplitudes().len()), (0, 1));
    assert_eq!(none.probabilities_of(&[], &serial()).unwrap(), [1.0]);
    assert_eq!(none.expectation(&"2 - 0.5 I".parse().unwrap(), &serial()).unwrap(), 1.5);
    let one = State::zero(1).unwrap();
    assert_eq!(one.probabilities_of(&[0], &serial()).unwrap(), [1.0, 0.0]);
    assert_eq!(one.expectation(&"Z0 + X0 + Y0".parse().unwrap(), &serial()).unwrap(), 1.0);
    let mut phase = Circuit::new(0);
    phase.gphase(ketgrad_core::param::Angle::pi(1, 2)).unwrap();
    assert_eq!(Simulator::new().run::<f64>(&phase, &[]).unwrap().amplitudes(), [C::new(0.0, 1.0)]);
}

#[test]
fn derivatives_and_errors_pass_through_reductions() {
    let mut circuit = Circuit::new(2);
    let theta = circuit.param("theta");
    circuit.ry(0, theta).unwrap().cx(0, 1).unwrap();
    let (t, simulator) = (0.7f64, Simulator::new());
    let dual = simulator.run(&circuit, &[Dual64::new(t, 1.0)]).unwrap();
    // p(1) = sin^2(t/2), its derivative sin(t)/2.
    let p = dual.probabilities_of(&[1], &serial()).unwrap();
    assert_close(
        &[p[1]],
        &[Dual64::new((t / 2.0).sin().powi(2), t.sin() / 2.0)],
        ROUNDING,
        "probability",
    );
    let z = dual.expectation(&"Z0".parse().unwrap(), &serial()).unwrap();
    assert_close(&[z], &[Dual64::new(t.cos(), -t.sin())], ROUNDING, "expectation");
    assert!((dual.norm2(&serial()).eps).abs() < ROUNDING, "the norm does not depend on theta");
    assert_eq!(
        dual.sample(50, 1, &serial()).unwrap(),
        simulator.run(&circuit, &[t]).unwrap().sample(50, 1, &serial()).unwrap()
    );
    let uncertain = simulator.run(&circuit, &[Uncertain::new(t, 0.01)]).unwrap();
    let z = uncertain.expectation(&"Z1".parse().unwrap(), &serial()).unwrap();
    assert!((z.sigma() - 0.01 * t.sin()).abs() < ROUNDING);
}

#[test]
fn density_matrices_of_products_are_products() {
    let (a, b) = (random(2, 1), random(2, 2));
    let joint: Vec<C> =
        b.amplitudes().iter().flat_map(|y| a.amplitudes().iter().map(move |x| x * y)).collect();
    let joint = State::from_amplitudes(joint).unwrap();
    let rho = joint.reduced_density_matrix(&[0, 1], &serial()).unwrap();
    let pure = Matrix::from_fn(2, |i, j| a.amplitudes()[i] * a.amplitudes()[j].conj());
    assert_close(rho.entries(), pure.entries(), ROUNDING, "the factor");
    let square = product(&support::reference::rows(&rho), &support::reference::rows(&rho));
    assert_close(&square.concat(), rho.entries(), ROUNDING, "a projector");
}

#[test]
fn sizes_are_told_in_units() {
    assert_eq!(bytes_needed::<C>(40), 1 << 44);
    assert_eq!(bytes_needed::<C>(1000), u128::MAX);
    assert_eq!(bytes_text(1 << 44), "16 TiB");
    assert_eq!(bytes_text(16), "16 B");
    assert_eq!(bytes_text(1536), "1.5 KiB");
}

#[test]
fn shots_beyond_memory_are_refused() {
    let state = State::zero(2).unwrap();
    for shots in [usize::MAX, usize::MAX / 16] {
        let error = state.sample(shots, 1, &serial()).unwrap_err();
        assert_eq!(error, StateError::Shots { shots });
    }
}

#[test]
fn entropies_are_those_of_closed_forms() {
    let binary = |p: f64| -p * p.ln() - (1.0 - p) * (1.0 - p).ln();
    let simulator = Simulator::new();
    // cos(t/2) |00> + sin(t/2) |11>, beside a qubit of its own.
    let pair = Circuit::build(3, |c| {
        let t = c.param("t");
        c.ry(0, &t)?.cx(0, 1)?.rx(2, 0.7)
    })
    .unwrap();
    for t in [0.3f64, 1.1, 2.9] {
        let state = simulator.run(&pair, &[t]).unwrap();
        let expected = binary((t / 2.0).cos().powi(2));
        for (qubits, expected) in [
            (&[0][..], expected),
            (&[1, 2], expected),
            (&[2], 0.0),
            (&[1, 0], 0.0),
            (&[], 0.0),
            (&[2, 0, 1], 0.0),
        ] {
            let found = state.entropy(qubits, &serial()).unwrap();
            assert!((found - expected).abs() < CIRCUIT, "{t} {qubits:?}: {found} {expected}");
        }
        // d/dt of the closed form: dp/dt = -sin(t) / 2.
        let p = (t / 2.0).cos().powi(2);
        let slope = -0.5 * t.sin() * ((1.0 - p) / p).ln();
        let dual =
            simulator.run(&pair, &[Dual64::new(t, 1.0)]).unwrap().entropy(&[0], &serial()).unwrap();
        assert!((dual.eps - slope).abs() < CIRCUIT, "{t}: {} {slope}", dual.eps);
    }
    // Werner's state: of the 15 Pauli strings that depolarizing applies, 3 keep a Bell state (XX,
    // YY, ZZ up to signs) and 4 make each of the others.
    let strength = 0.3;
    let circuit =
        Circuit::build(2, |c| c.h(0)?.cx(0, 1)?.two_qubit_depolarizing(0, 1, strength)).unwrap();
    let rho = simulator.run_density::<f64>(&circuit, &[]).unwrap();
    let spectrum = rho.spectrum().unwrap();
    let (other, same) = (strength * 4.0 / 15.0, 1.0 - strength * 12.0 / 15.0);
    assert!(
        spectrum.iter().zip([other, other, other, same]).all(|(a, b)| (a - b).abs() < CIRCUIT),
        "{spectrum:?}"
    );
    let expected = -3.0 * other * other.ln() - same * same.ln();
    assert!((rho.entropy().unwrap() - expected).abs() < CIRCUIT);
    assert!((spectrum.iter().map(|p| p * p).sum::<f64>() - rho.purity()).abs() < CIRCUIT);
    // Both parts of a pure state have the same entropy, through the matrices of both.
    let state = random(7, 5);
    for qubits in [&[0, 3][..], &[6, 1, 2]] {
        let others: Vec<usize> = (0..7).filter(|q| !qubits.contains(q)).collect();
        let rho = DensityMatrix::pure(&state, &serial()).unwrap();
        let whole = rho.reduced(&others).unwrap().entropy().unwrap();
        assert!((state.entropy(qubits, &serial()).unwrap() - whole).abs() < CIRCUIT, "{qubits:?}");
    }
    assert!(state.entropy(&[7], &serial()).is_err() && state.entropy(&[1, 1], &serial()).is_err());
    let broken = State::from_vector(vec![C::new(f64::NAN, 0.0); 4]).unwrap();
    assert_eq!(broken.entropy(&[0], &serial()), Err(StateError::Spectrum));
}
