//! Laws of reading states out: Pauli sums against dense matrices, samples against their
//! distribution, and the same bits for any number of threads.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    circuit::Circuit,
    kernel::Threads,
    observable::{Pauli, PauliString, PauliSum},
    scalar::Real,
    simulate::Simulator,
    state::StateVector,
};
use num_complex::Complex;
use num_dual::Dual64;
use proptest::prelude::*;
use support::{close::ROUNDING, random::Rng};

type C = Complex<f64>;
type State = StateVector<C>;

/// Threads that must not matter; 3 and 7 divide no number of blocks.
const THREADS: [usize; 4] = [1, 2, 3, 7];

/// Rounding of amplitudes and of sums in single precision.
const SINGLE: f64 = 1e-5;

/// Standard deviations that a chi-squared may be off: of good samplers one in 3000 fails at 4
/// degrees of freedom, and fewer at more. The seeds are fixed.
const DEVIATIONS: f64 = 6.0;

/// A random sum with strings that share x masks, and diagonal ones.
fn random_sum(rng: &mut Rng, n: usize, terms: usize) -> PauliSum {
    let mut masks: Vec<usize> = (0..terms.div_ceil(3)).map(|_| rng.below(1 << n)).collect();
    masks.push(0);
    let string = |rng: &mut Rng| {
        let (x, z) = (masks[rng.below(masks.len())], rng.below(1 << n));
        let letter = |q: usize| match (x >> q & 1, z >> q & 1) {
            (0, 0) => None,
            (1, 0) => Some((q, Pauli::X)),
            (0, _) => Some((q, Pauli::Z)),
            _ => Some((q, Pauli::Y)),
        };
        PauliString::new((0..n).filter_map(letter)).unwrap()
    };
    PauliSum::new((0..terms).map(|_| (rng.signed(), string(rng))).collect::<Vec<_>>()).unwrap()
}

/// `<psi|O|psi>`, one factor of each string at a time: column i of a Pauli matrix has one entry.
fn by_matrices(state: &State, sum: &PauliSum) -> f64 {
    let mut total = C::new(0.0, 0.0);
    for (weight, string) in sum.terms() {
        for (i, a) in state.amplitudes().iter().enumerate() {
            let (mut row, mut entry) = (i, C::new(*weight, 0.0));
            for &(q, pauli) in string.factors() {
                let one = i >> q & 1 == 1;
                match pauli {
                    Pauli::X => row ^= 1 << q,
                    Pauli::Y => {
                        row ^= 1 << q;
                        entry *= C::new(0.0, if one { -1.0 } else { 1.0 });
                    }
                    Pauli::Z => entry *= if one { -1.0 } else { 1.0 },
                }
            }
            total += state.amplitudes()[row].conj() * entry * a;
        }
    }
    assert!(total.im.abs() < ROUNDING, "an observable is Hermitian: {total}");
    total.re
}

fn cast<T: Real>(state: &State) -> StateVector<Complex<T>> {
    let numbers = state.amplitudes().iter().map(|a| Complex::new(T::lit(a.re), T::lit(a.im)));
    StateVector::from_vector(numbers.collect()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pauli_sums_equal_their_matrices(n in 1usize..13, seed in any::<u64>(), terms in 0usize..25) {
        let mut rng = Rng::new(seed);
        let state = State::random(n, seed, &Threads::serial()).unwrap();
        let sum = random_sum(&mut rng, n, terms);
        let expected = by_matrices(&state, &sum);
        let serial = Threads::serial();
        let got = state.expectation(&sum, &serial).unwrap();
        prop_assert!((got - expected).abs() < ROUNDING, "{} against {}", got, expected);
        // The same in single precision and by the loops for other numbers.
        let single = f64::from(cast::<f32>(&state).expectation(&sum, &serial).unwrap());
        prop_assert!((single - expected).abs() < SINGLE * (1 + terms) as f64, "{} against {}", single, expected);
        let dual = cast::<Dual64>(&state).expectation(&sum, &serial).unwrap();
        prop_assert!((dual.re - expected).abs() < ROUNDING && dual.eps == 0.0);
    }
}

/// The probabilities of some qubits, amplitude by amplitude.
fn marginal_of(state: &State, qubits: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; 1 << qubits.len()];
    for (i, a) in state.amplitudes().iter().enumerate() {
        sums[qubits.iter().enumerate().fold(0, |outcome, (j, q)| outcome | (i >> q & 1) << j)] +=
            a.norm_sqr();
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Below, at and above the sizes at which blocks and threads begin.
    #[test]
    fn probabilities_and_collapse_equal_plain_sums(n in 1usize..16, seed in any::<u64>(), k in 0usize..16) {
        let mut rng = Rng::new(seed);
        let state = State::random(n, seed, &Threads::serial()).unwrap();
        let qubits = rng.permutation(n)[..k.min(n)].to_vec();
        let expected = marginal_of(&state, &qubits);
        let off = |sums: &[f64]| sums.iter().zip(&expected).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        let (qubit, value) = (rng.below(n), rng.below(2) == 1);
        let p = marginal_of(&state, &[qubit])[usize::from(value)];
        let kept = |i: usize| (i >> qubit & 1 == 1) == value;
        let mut first: Option<(Vec<f64>, f64, State)> = None;
        for threads in THREADS.map(|t| Threads::new(t).unwrap()) {
            let (sums, norm2) = (state.probabilities_of(&qubits, &threads).unwrap(), state.norm2(&threads));
            prop_assert!(off(&sums) < ROUNDING && (norm2 - 1.0).abs() < ROUNDING);
            let mut collapsed = state.clone();
            prop_assert!((collapsed.collapse(qubit, value, &threads).unwrap() - p).abs() < ROUNDING);
            for (i, (x, y)) in collapsed.amplitudes().iter().zip(state.amplitudes()).enumerate() {
                let expected = if kept(i) { y / p.sqrt() } else { C::new(0.0, 0.0) };
                prop_assert!((x - expected).norm() < ROUNDING, "amplitude {}: {} and not {}", i, x, expected);
            }
            let all = (sums, norm2, collapsed);
            prop_assert!(first.as_ref().is_none_or(|first| *first == all), "{} threads", threads.count());
            first = Some(all);
            // In single precision, and by the loops for other numbers.
            let single = cast::<f32>(&state).probabilities_of(&qubits, &threads).unwrap();
            prop_assert!(off(&single.into_iter().map(f64::from).collect::<Vec<_>>()) < SINGLE);
            let dual = cast::<Dual64>(&state).probabilities_of(&qubits, &threads).unwrap();
            prop_assert!(off(&dual.iter().map(|p| p.re).collect::<Vec<_>>()) < ROUNDING);
            let mut single = cast::<f32>(&state);
            single.collapse(qubit, value, &threads).unwrap();
            let mut dual = cast::<Dual64>(&state);
            dual.collapse(qubit, value, &threads).unwrap();
            let Some((_, _, collapsed)) = &first else { unreachable!() };
            for ((x, y), z) in single.amplitudes().iter().zip(dual.amplitudes()).zip(collapsed.amplitudes()) {
                prop_assert!((C::new(f64::from(x.re), f64::from(x.im)) - z).norm() < SINGLE);
                prop_assert!((C::new(y.re.re, y.im.re) - z).norm() < ROUNDING);
            }
        }
    }
}

#[test]
fn readout_gives_the_same_bits_for_any_number_of_threads() {
    let mut rng = Rng::new(5);
    for n in [4, 13, 15] {
        let state = State::random(n, 3, &Threads::serial()).unwrap();
        let single = cast::<f32>(&state);
        let sum = random_sum(&mut rng, n, 40);
        let all = |threads: usize| {
            let threads = Threads::new(threads).unwrap();
            let of = (
                state.expectation(&sum, &threads).unwrap(),
                single.expectation(&sum, &threads).unwrap(),
            );
            let shots = (
                state.sample(5000, 7, &threads).unwrap(),
                single.sample(5000, 7, &threads).unwrap(),
            );
            let counts = state.sample_counts(5000, 7, &threads).unwrap();
            (of.0.to_bits(), of.1.to_bits(), shots, counts, state.norm2(&threads).to_bits())
        };
        let expected = all(THREADS[0]);
        for threads in &THREADS[1..] {
            assert_eq!(all(*threads), expected, "{n} qubits, {threads} threads");
        }
    }
}

#[test]
fn zero_states_are_the_same_for_any_number_of_threads() {
    for n in [0, 5, 14, 18] {
        for threads in THREADS {
            let state = State::zero_on(n, &Threads::new(threads).unwrap()).unwrap();
            assert_eq!(state, State::zero(n).unwrap(), "{n} qubits, {threads} threads");
        }
    }
}

/// chi^2 less its mean, in standard deviations, over outcomes that are expected at least five
/// times; the others together are one.
fn deviations(counts: &[(usize, u64)], p: &[f64], shots: f64) -> f64 {
    let mut seen = vec![0.0; p.len()];
    counts.iter().for_each(|&(i, count)| seen[i] = count as f64);
    let (mut chi2, mut cells, mut rest) = (0.0, 0.0, (0.0, 0.0));
    for (&c, &p) in seen.iter().zip(p) {
        if p * shots < 5.0 {
            rest = (rest.0 + c, rest.1 + p * shots);
        } else {
            chi2 += (c - p * shots).powi(2) / (p * shots);
            cells += 1.0;
        }
    }
    if rest.1 >= 5.0 {
        chi2 += (rest.0 - rest.1).powi(2) / rest.1;
        cells += 1.0;
    }
    let freedom: f64 = cells - 1.0;
    (chi2 - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn samples_are_distributed_as_the_probabilities() {
    // Even, random, and steep distributions: p(i) falls by half every 2^n / 40 states.
    for n in [3, 10, 14] {
        let dim = 1usize << n;
        let even = vec![1.0 / dim as f64; dim];
        let state = State::random(n, 9, &Threads::serial()).unwrap();
        let random: Vec<f64> = state.probabilities();
        let steep: Vec<f64> = (0..dim).map(|i| (-(40.0 * i as f64) / dim as f64).exp2()).collect();
        let total: f64 = steep.iter().sum();
        for (name, p) in [
            ("even", even),
            ("random", random),
            ("steep", steep.iter().map(|p| p / total).collect()),
        ] {
            let amplitudes = p.iter().map(|p| C::new(0.0, p.sqrt())).collect();
            let state = State::from_amplitudes(amplitudes).unwrap();
            let shots = 200_000;
            for counts in [
                state.sample_counts(shots, 21, &Threads::serial()).unwrap(),
                cast::<f32>(&state).sample_counts(shots, 22, &Threads::serial()).unwrap(),
            ] {
                assert_eq!(counts.iter().map(|c| c.1).sum::<u64>(), shots as u64);
                let off = deviations(&counts, &p, shots as f64);
                assert!(
                    off.abs() < DEVIATIONS,
                    "{name}, {n} qubits: chi^2 is off by {off} deviations"
                );
            }
        }
    }
}

#[test]
fn counts_are_those_of_the_shots_over_many_rounds() {
    // More shots than one round has, of one stream each 1024.
    let state = State::random(9, 2, &Threads::serial()).unwrap();
    for shots in [0, 1, 1023, 1025, 300_000] {
        let mut expected = std::collections::BTreeMap::new();
        for outcome in state.sample(shots, 5, &Threads::serial()).unwrap() {
            *expected.entry(outcome).or_insert(0u64) += 1;
        }
        let counts = state.sample_counts(shots, 5, &Threads::new(2).unwrap()).unwrap();
        assert_eq!(counts, expected.into_iter().collect::<Vec<_>>(), "{shots} shots");
        let mut told = Vec::new();
        let threads = Threads::serial();
        let again = state
            .sample_counts_reporting(shots, 5, &threads, &mut |done, all| told.push((done, all)));
        assert_eq!(again.unwrap(), counts);
        assert!(told.is_sorted() && told.iter().all(|t| t.1 == shots), "{told:?}");
        assert_eq!(told.last().map_or(0, |t| t.0), shots, "{told:?}");
    }
}

#[test]
fn the_simulator_counts_what_the_state_gives() {
    let mut circuit = Circuit::new(3);
    circuit.h(0).unwrap().cx(0, 2).unwrap();
    let simulator = Simulator::new();
    let counts = simulator.run_shots::<f64>(&circuit, &[], 1000, 4).unwrap();
    let state = simulator.run::<f64>(&circuit, &[]).unwrap();
    let expected = state.sample_counts(1000, 4, &Threads::serial()).unwrap();
    assert_eq!(
        counts.values().copied().collect::<Vec<_>>(),
        expected.iter().map(|c| c.1).collect::<Vec<_>>()
    );
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["000", "101"]);
    // A state that is left where it is computed is counted as one that is here.
    let mut read = circuit.clone();
    read.add_register("m", 2).unwrap().measure(2, 0).unwrap();
    for (circuit, names) in [(circuit, ["000", "101"]), (read, ["00", "01"])] {
        let handle = simulator.run_to_handle::<f64>(&circuit, &[]).unwrap();
        assert_eq!(handle.n_qubits(), 3);
        let mut told = Vec::new();
        let counts = simulator
            .counts_of(&circuit, &handle, 1000, 4, &mut |done, all| told.push((done, all)))
            .unwrap();
        assert_eq!(counts.keys().collect::<Vec<_>>(), names);
        assert_eq!(
            counts.values().copied().collect::<Vec<_>>(),
            expected.iter().map(|c| c.1).collect::<Vec<_>>()
        );
        assert_eq!(told.last(), Some(&(1000, 1000)));
    }
}
