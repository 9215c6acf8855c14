//! Circuits with measurements, resets and conditions anywhere: trajectories against exact
//! branching.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;

use ketgrad_core::{
    circuit::{Circuit, Condition, Relation},
    kernel::Threads,
    observable::PauliString,
    param::Values,
    simulate::{Bits, BoundCircuit, SimulateError, Simulator},
    state::StateVector,
};
use num_complex::Complex;

type Amplitude = Complex<f64>;

fn bound(circuit: &Circuit) -> BoundCircuit<Amplitude> {
    BoundCircuit::new(circuit, &Values::<f64>(&[])).unwrap()
}

/// Teleports RY(1) |0> from qubit 0 to qubit 2, undoes it there and measures.
fn teleportation() -> Circuit {
    let mut c = Circuit::new(3);
    c.add_register("m", 2).unwrap().add_register("out", 1).unwrap();
    c.ry(0, 1.0).unwrap().h(1).unwrap().cx(1, 2).unwrap();
    c.cx(0, 1).unwrap().h(0).unwrap().measure(0, 0).unwrap().measure(1, 1).unwrap();
    c.when(Condition::Bit { bit: 1, value: true }, |c| c.x(2)).unwrap();
    c.when(Condition::Bit { bit: 0, value: true }, |c| c.z(2)).unwrap();
    c.ry(2, -1.0).unwrap().measure(2, 2).unwrap();
    c
}

/// Random gates with measurements, resets and conditions between them.
fn messy() -> Circuit {
    let mut c = Circuit::new(3);
    c.add_register("a", 2).unwrap().add_register("b", 2).unwrap();
    c.ry(0, 0.7).unwrap().cx(0, 1).unwrap().rx(2, 1.1).unwrap().measure(0, 0).unwrap();
    let some = Condition::Compare {
        bits: [0, 1].into(),
        relation: Relation::GreaterEqual,
        value: [true].into(),
    };
    c.when(some, |c| c.h(1)).unwrap();
    c.measure(1, 1).unwrap().reset(0).unwrap().ry(0, 0.4).unwrap().cx(0, 2).unwrap();
    c.when(Condition::Not(Box::new(Condition::Bit { bit: 1, value: true })), |c| {
        c.reset(2)?.assign(3, true)
    })
    .unwrap();
    c.measure(0, 2).unwrap().rx(0, 0.3).unwrap().measure(0, 0).unwrap().measure(2, 1).unwrap();
    c
}

#[test]
fn teleportation_always_gives_zero() {
    let circuit = bound(&teleportation());
    let exact = Simulator::new().distribution(&circuit, 100).unwrap();
    assert_eq!(exact.len(), 4, "four outcomes of the Bell measurement, one of the last qubit");
    for (bits, p) in exact {
        assert!(!bits.get(2) && (p - 0.25).abs() < 1e-14, "{bits:?} {p}");
    }
}

#[test]
fn frequencies_follow_the_exact_distribution() {
    const SHOTS: usize = 40_000;
    let circuit = bound(&messy());
    let exact = Simulator::new().distribution(&circuit, 1000).unwrap();
    assert!((exact.values().sum::<f64>() - 1.0).abs() < 1e-13);
    let counts = Simulator::new().trajectory_counts(&circuit, SHOTS, 5).unwrap();
    assert_eq!(counts.values().sum::<u64>(), SHOTS as u64);
    assert!(counts.keys().all(|bits| exact.contains_key(bits)));
    let mut chi2 = 0.0;
    for (bits, p) in &exact {
        let expected = p * SHOTS as f64;
        let seen = counts.get(bits).copied().unwrap_or(0) as f64;
        chi2 += (seen - expected).powi(2) / expected;
    }
    // The 99.9 % point of chi-squared with 15 degrees of freedom is 37.7; there are fewer outcomes.
    assert!(
        exact.len() > 4 && exact.len() <= 16 && chi2 < 37.7,
        "{} outcomes, chi2 {chi2}",
        exact.len()
    );
}

#[test]
fn threads_and_memory_change_nothing() {
    let circuit = bound(&messy());
    let counts = |threads: usize, memory_limit: Option<u64>| {
        let simulator = Simulator::new()
            .with_threads(Threads::new(threads).unwrap())
            .with_memory_limit(memory_limit);
        simulator.trajectory_counts(&circuit, 3000, 11).unwrap()
    };
    let one = counts(1, None);
    assert_eq!(one, counts(2, None));
    assert_eq!(one, counts(3, None));
    // Room for the state itself and none to wait: branches are computed again.
    assert_eq!(one, counts(1, Some(128)));
    assert_eq!(one, counts(2, Some(600)));
}

#[test]
fn shots_are_a_prefix_of_more_shots() {
    let circuit = bound(&messy());
    let outcomes = |shots: usize| -> BTreeMap<usize, Bits> {
        let parts = Simulator::new()
            .trajectories(&circuit, shots, 3, |t| {
                let outcomes = t.outcomes(&circuit, &Threads::serial())?;
                Ok(t.shots.iter().copied().zip(outcomes).collect::<Vec<_>>())
            })
            .unwrap();
        parts.into_iter().flat_map(|(_, outcomes)| outcomes).collect()
    };
    let (few, many) = (outcomes(50), outcomes(500));
    assert_eq!(many.len(), 500);
    assert!(few.iter().all(|(shot, bits)| many[shot] == *bits));
}

#[test]
fn means_have_the_spread_of_the_shots() {
    // Z of a qubit in RY(t)|0> after it was measured is 1 or -1: the mean is cos t, the variance
    // sin^2 t.
    const SHOTS: usize = 10_000;
    let t = 1.2f64;
    let mut c = Circuit::new(1);
    c.add_register("m", 1).unwrap().ry(0, t).unwrap().measure(0, 0).unwrap().rz(0, 0.5).unwrap();
    let z = "Z0".parse().unwrap();
    let means = Simulator::new().trajectory_expectations(&bound(&c), &[z], SHOTS, 2).unwrap();
    let (mean, stderr) = (means[0].value, means[0].stderr.unwrap());
    assert!((stderr - t.sin() / (SHOTS as f64).sqrt()).abs() < 1e-4, "{stderr}");
    assert!((mean - t.cos()).abs() < 4.0 * stderr, "{mean}");
    // Of n values that are 1 or -1 the mean alone says the spread: n - 1 in it, however many shots
    // share a history.
    for shots in [2, 3, 5, 8] {
        for seed in 0..20 {
            let z = "Z0".parse().unwrap();
            let found =
                Simulator::new().trajectory_expectations(&bound(&c), &[z], shots, seed).unwrap()[0];
            let right = ((1.0 - found.value * found.value) / (shots as f64 - 1.0)).sqrt();
            assert!(
                (found.stderr.unwrap() - right).abs() < 1e-7,
                "{shots} shots, seed {seed}: {found:?}, not {right}"
            );
        }
    }
}

#[test]
fn a_measurement_that_may_wait_does() {
    let mut c = Circuit::new(2);
    c.add_register("m", 2).unwrap();
    c.h(0).unwrap().measure(0, 0).unwrap().h(1).unwrap().measure(1, 1).unwrap();
    assert!(bound(&c).is_static());
    c.x(1).unwrap();
    assert!(!bound(&c).is_static());
    assert!(matches!(Simulator::new().run::<f64>(&c, &[]), Err(SimulateError::Dynamic)));
}

#[test]
fn a_barrier_under_a_condition_changes_nothing() {
    let mut c = Circuit::new(1);
    c.add_register("m", 1).unwrap();
    c.x(0).unwrap().measure(0, 0).unwrap();
    c.when(Condition::Bit { bit: 0, value: true }, |c| c.barrier(&[0])).unwrap();
    assert!(bound(&c).is_static());
    let state = Simulator::new().run::<f64>(&c, &[]).unwrap();
    let counts = Simulator::new().counts(&c, &state, 10, 1).unwrap();
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("1".to_owned(), 10)]);
}

/// Rotations about the same string of Z share their ladder of CX when they are decomposed, if they
/// run under the same condition.
#[test]
fn rotations_under_conditions_are_decomposed_under_their_own() {
    let zz = "Z0 Z1".parse::<PauliString>().unwrap();
    for conditions in [[0, 1, 1], [0, 0, 1], [1, 0, 1], [1, 1, 1]] {
        let mut c = Circuit::new(3);
        c.add_register("m", 2).unwrap().add_register("out", 2).unwrap();
        c.h(0).unwrap().ry(1, 0.9).unwrap().h(2).unwrap();
        c.measure(2, 0).unwrap().ry(2, 0.4).unwrap().measure(2, 1).unwrap();
        for (bit, angle) in conditions.into_iter().zip([0.3, 0.5, 1.1]) {
            let condition = Condition::Bit { bit, value: true };
            c.when(condition, |c| c.pauli_rotation(&zz, angle)).unwrap();
        }
        c.h(0).unwrap().rx(1, 0.7).unwrap().measure(0, 2).unwrap().measure(1, 3).unwrap();
        let [given, expected] =
            [&c.decomposed(), &c].map(|c| Simulator::new().distribution(&bound(c), 100).unwrap());
        assert_eq!(given.len(), expected.len());
        for (bits, p) in expected {
            assert!((given[&bits] - p).abs() < 1e-12, "{conditions:?} {bits:?}");
        }
    }
}

#[test]
fn histories_are_shared() {
    // Twenty measurements of one qubit in superposition once: two histories, not a thousand.
    let mut c = Circuit::new(1);
    c.add_register("m", 20).unwrap();
    c.h(0).unwrap();
    for bit in 0..20 {
        c.measure(0, bit).unwrap().x(0).unwrap();
    }
    let parts = Simulator::new().trajectories(&bound(&c), 1000, 1, |t| Ok(t.bits.clone())).unwrap();
    assert_eq!(parts.len(), 2);
    assert_eq!(parts.iter().map(|p| p.0.len()).sum::<usize>(), 1000);
}

#[test]
fn too_many_outcomes_are_refused() {
    let mut c = Circuit::new(10);
    c.add_register("m", 10).unwrap();
    for q in 0..10 {
        c.h(q).unwrap().measure(q, q).unwrap().x(q).unwrap();
    }
    let result = Simulator::new().distribution(&bound(&c), 100);
    assert!(matches!(result, Err(SimulateError::TooManyBranches { limit: 100 })));
    assert_eq!(Simulator::new().distribution(&bound(&c), 1024).unwrap().len(), 1024);
}

#[test]
fn wide_conditions_compare_as_numbers() {
    let bits: Box<[u32]> = (0..300).collect();
    let value: Box<[bool]> = (0..300).map(|i| i == 299).collect();
    let equal =
        Condition::Compare { bits: bits.clone(), relation: Relation::Equal, value: value.clone() };
    let less = Condition::Compare { bits, relation: Relation::Less, value };
    assert!(equal.holds(&|bit| bit == 299) && !less.holds(&|bit| bit == 299));
    assert!(!equal.holds(&|bit| bit < 299) && less.holds(&|bit| bit < 299));
}

#[test]
fn trajectories_start_from_a_given_state() {
    // |1> is measured, flipped and measured again.
    let mut c = Circuit::new(1);
    c.add_register("m", 2).unwrap().measure(0, 0).unwrap().x(0).unwrap().measure(0, 1).unwrap();
    let one = StateVector::basis(1, 1).unwrap();
    let from = bound(&c).starting_from(one).unwrap();
    let text = |circuit: &BoundCircuit<Amplitude>| {
        let exact = Simulator::new().distribution(circuit, 10).unwrap();
        exact.keys().map(|bits| bits.text(&c)).collect::<Vec<_>>()
    };
    assert_eq!(text(&from), ["01"]);
    assert_eq!(text(&bound(&c)), ["10"]);
    let counts = Simulator::new().trajectory_counts(&from, 7, 1).unwrap();
    assert_eq!(counts.into_values().collect::<Vec<_>>(), [7]);
    assert!(bound(&c).starting_from(StateVector::zero(2).unwrap()).is_err());
}

/// `count` measurements of qubit 0 into bit 0 of a register of `n_bits`, each followed by an X
/// where it was 1.
fn measured_again(n_bits: usize, count: usize) -> Circuit {
    let mut c = Circuit::new(1);
    c.add_register("c", n_bits).unwrap().h(0).unwrap();
    for _ in 0..count {
        c.measure(0, 0).unwrap();
        c.when(Condition::Bit { bit: 0, value: true }, |c| c.x(0)).unwrap();
    }
    c
}

#[test]
fn outcomes_of_many_bits_are_counted_without_a_copy_for_each_shot() {
    // 10^5 copies of 100,000 bits are 1.2 GB; there are two outcomes.
    const SHOTS: usize = 100_000;
    let mut c = measured_again(100_000, 1);
    c.x(0).unwrap();
    let simulator = Simulator::new().with_memory_limit(64 << 20);
    let counts = simulator.trajectory_counts(&bound(&c), SHOTS, 1).unwrap();
    let ones: Vec<bool> = counts.keys().map(|bits| bits.get(0)).collect();
    assert_eq!((ones, counts.values().sum::<u64>()), (vec![false, true], SHOTS as u64));
    assert!(counts.values().all(|&n| n.abs_diff(SHOTS as u64 / 2) < 1000), "{counts:?}");
    // Final measurements and wrong readings of one qubit in many bits.
    let mut c = Circuit::new(1);
    c.add_register("c", 100_000).unwrap().h(0).unwrap();
    for bit in [5, 99_999] {
        c.measure(0, bit).unwrap();
    }
    c.readout_error(99_999, 0.25, 0.25).unwrap();
    let counts = simulator.trajectory_counts(&bound(&c), SHOTS, 1).unwrap();
    assert_eq!((counts.len(), counts.values().sum::<u64>()), (4, SHOTS as u64));
    for (bits, count) in counts {
        let expected = if bits.get(5) == bits.get(99_999) { 37_500 } else { 12_500 };
        assert!(count.abs_diff(expected) < 1000, "{count} {expected}");
    }
}

#[test]
fn outcomes_that_do_not_fit_in_memory_are_refused() {
    // Each shot ends with bits of its own.
    let mut c = Circuit::new(1);
    c.add_register("c", 20_000).unwrap();
    for bit in 0..40 {
        c.h(0).unwrap().measure(0, 19_999 - bit).unwrap();
    }
    c.h(0).unwrap();
    let simulator = Simulator::new().with_memory_limit(4 << 20);
    let error = simulator.trajectory_counts(&bound(&c), 1000, 1).unwrap_err();
    assert!(matches!(error, SimulateError::Outcomes { n_bits: 20_000, .. }), "{error}");
    let error = simulator.run_shots::<f64>(&c, &[], 1000, 1).unwrap_err();
    assert!(error.to_string().ends_with("but 2 MiB are available for them"), "{error}");
    // The exact distribution has 2^40 outcomes, one deep branch after the other.
    let error = simulator.distribution(&bound(&c), 1 << 20).unwrap_err();
    assert!(matches!(error, SimulateError::Outcomes { .. }), "{error}");
    // The readings of 30 bits, each of which may be wrong, of one qubit: 2^30 outcomes.
    let mut c = Circuit::new(1);
    c.add_register("c", 30).unwrap();
    for bit in 0..30 {
        c.measure(0, bit).unwrap();
        c.readout_error(bit, 0.25, 0.25).unwrap();
    }
    let error = simulator.distribution(&bound(&c), 1000).unwrap_err();
    assert!(matches!(error, SimulateError::TooManyBranches { limit: 1000 }), "{error}");
    // A branch waits at each of 10,000 measurements, with 2 KiB of bits: more than the limit.
    let mut c = Circuit::new(1);
    c.add_register("c", 20_000).unwrap().x(0).unwrap().measure(0, 19_999).unwrap();
    for bit in 0..10_000 {
        c.h(0).unwrap().measure(0, bit).unwrap();
    }
    c.h(0).unwrap();
    let error = simulator.distribution(&bound(&c), 1 << 20).unwrap_err();
    assert!(
        matches!(error, SimulateError::Branches { available, .. } if available == 4 << 20),
        "{error}"
    );
}

#[test]
fn many_measurements_into_few_of_many_bits_take_little_memory() {
    // A set of 10^6 bits for each of 40,000 steps is 5 GB.
    let mut c = measured_again(1_000_000, 40_000);
    c.bit_flip(0, 0.25).unwrap();
    c.measure(0, 999_999).unwrap();
    let simulator = Simulator::new().with_memory_limit(64 << 20);
    let distribution = simulator.distribution(&bound(&c), 100).unwrap();
    let found: Vec<(bool, bool, f64)> =
        distribution.into_iter().map(|(bits, p)| (bits.get(0), bits.get(999_999), p)).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    for (first, last, p) in found {
        assert!(!first && (p - if last { 0.25 } else { 0.75 }).abs() < 1e-12, "{first} {last} {p}");
    }
}

#[test]
fn long_histories_that_part_are_replayed_to_the_same_outcomes() {
    let mut c = Circuit::new(1);
    c.add_register("c", 1).unwrap();
    for _ in 0..6_000 {
        c.ry(0, 0.01).unwrap().measure(0, 0).unwrap().reset(0).unwrap();
    }
    c.h(0).unwrap();
    // Without room for states the branches are computed again, by their histories.
    let counts = |memory_limit| {
        let simulator = Simulator::new().with_memory_limit(memory_limit);
        simulator.trajectory_counts(&bound(&c), 12, 5).unwrap()
    };
    assert_eq!(counts(None), counts(Some(32)));
}

/// A loop whose rounds bring qubit 1 into states that have not been there before.
fn spinning(n: usize, angle: f64) -> Circuit {
    let mut c = Circuit::new(n);
    c.add_register("f", 1).unwrap().assign(0, true).unwrap();
    c.while_loop(Condition::Bit { bit: 0, value: true }, |c| {
        c.h(0)?.ch(0, 1)?.reset(0)?.rz(1, angle)?.ry(n - 1, 0.3)?.h(0)?.measure(0, 0)
    })
    .unwrap();
    c.measure(1, 0).unwrap();
    c
}

#[test]
fn loops_that_make_new_states_in_each_round_end() {
    for (n, angle) in [(2, std::f64::consts::FRAC_PI_4), (2, 0.1), (3, 0.7)] {
        let pure = spinning(n, angle);
        let mut noisy = Circuit::new(n);
        noisy.append(&pure, &(0..n).collect::<Vec<_>>()).unwrap();
        noisy.bit_flip(0, 0.0).unwrap();
        let given = Simulator::new().distribution(&bound(&pure), 1 << 20).unwrap();
        let expected = Simulator::new().distribution(&bound(&noisy), 1 << 20).unwrap();
        assert_eq!(given.len(), expected.len());
        for (bits, p) in &expected {
            assert!((given[bits] - p).abs() < 1e-13, "{bits:?} {p} {given:?}");
        }
    }
}
