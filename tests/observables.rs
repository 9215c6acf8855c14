//! Observables: text and back, every way in which text can be wrong, and their algebra against that
//! of matrices.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    basis::MAX_QUBITS,
    circuit::{Circuit, Condition},
    hybrid::{Expectation, HybridError, Observable},
    kernel::Threads,
    observable::{ObservableError, ObservableProblem, Pauli, PauliString, PauliSum},
    param::Values,
    simulate::{BoundCircuit, Grouping, Shots, SimulateError, Simulator, measurement_basis},
    state::StateVector,
};
use num_complex::Complex;
use proptest::prelude::*;
use support::{
    close::assert_matrices,
    reference::{Dense, add, pauli_sum, product},
};

type C = Complex<f64>;

fn string() -> impl Strategy<Value = PauliString> {
    let letter = prop_oneof![Just(Pauli::X), Just(Pauli::Y), Just(Pauli::Z)];
    proptest::collection::btree_map(0usize..60, letter, 0..5)
        .prop_map(|m| PauliString::new(m).unwrap())
}

fn coefficient() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(1.0),
        Just(-1.0),
        Just(0.0),
        Just(-0.0),
        Just(f64::MIN_POSITIVE),
        Just(f64::MAX),
        any::<f64>().prop_filter("finite", |x| x.is_finite()),
        -10.0..10.0,
    ]
}

proptest! {
    #[test]
    fn parsing_undoes_printing(terms in proptest::collection::vec((coefficient(), string()), 1..6)) {
        let sum = PauliSum::new(terms).unwrap();
        let again: PauliSum = sum.to_string().parse().unwrap();
        prop_assert_eq!(&again, &sum, "{}", sum);
        // Equal floats may differ in the sign of zero; the text does not.
        prop_assert_eq!(again.to_string(), sum.to_string());
    }

    #[test]
    fn parsing_a_string_undoes_printing(string in string()) {
        prop_assert_eq!(&string.to_string().parse::<PauliString>().unwrap(), &string);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[-+*.eEIXYZ0-9 a-zµ\t]{0,30}") {
        let _ = text.parse::<PauliSum>();
        let _ = text.parse::<PauliString>();
    }
}

#[test]
fn what_may_be_written() {
    let parse = |text: &str| text.parse::<PauliSum>().unwrap().to_string();
    assert_eq!(parse("Z0"), "Z0");
    assert_eq!(parse("- X1"), "-X1");
    assert_eq!(parse("2Z0Z1"), "2*Z0 Z1");
    assert_eq!(parse("Z1 Z0"), "Z0 Z1");
    assert_eq!(parse("I"), "1");
    assert_eq!(parse("3 I7"), "3");
    assert_eq!(parse("1e-3X2+.5"), "0.001*X2 + 0.5");
    assert_eq!(parse("  1.5e+2 * Y10 \n - 2 "), "150*Y10 - 2");
    assert_eq!(parse("+-X0--Y0"), "-X0 + Y0");
    assert_eq!(PauliSum::default().to_string(), "0");
    assert_eq!(PauliString::default().to_string(), "I");
    assert_eq!("Z0 - X5 Y2".parse::<PauliSum>().unwrap().n_qubits(), 6);
    assert_eq!("2".parse::<PauliSum>().unwrap().n_qubits(), 0);
    let mut sum: PauliSum = "Z0".parse().unwrap();
    sum.extend("2 X1".parse().unwrap());
    assert_eq!(sum.to_string(), "Z0 + 2*X1");
}

#[test]
fn strings_are_read_alone() {
    let parse =
        |text: &str| text.parse::<PauliString>().map(|s| s.to_string()).map_err(|e| e.to_string());
    assert_eq!(parse(" Z1X0 "), Ok("X0 Z1".into()));
    assert_eq!(parse("I"), Ok("I".into()));
    for (text, said) in [
        ("", "column 1: expected a Pauli operator such as `Z0`, found the end"),
        ("2*Z0", "column 1: expected a Pauli operator such as `Z0`, found `2`"),
        ("Z0 + X1", "column 4: expected a Pauli operator such as `Z0`, or the end, found `+`"),
        ("Z0 X", "column 5: expected a qubit number, found the end"),
        ("Z0 X0", "column 4: qubit 0 comes twice in a term"),
    ] {
        assert_eq!(parse(text), Err(said.into()), "{text}");
    }
}

#[test]
fn what_may_not_be_written_is_told_with_its_column() {
    for (text, message) in [
        ("", "column 1: expected a number or a Pauli operator such as `Z0`, found the end"),
        ("  ", "column 3: expected a number or a Pauli operator such as `Z0`, found the end"),
        ("Z0 +", "column 5: expected a number or a Pauli operator such as `Z0`, found the end"),
        ("Z0 + Q1", "column 6: expected a number or a Pauli operator such as `Z0`, found `Q1`"),
        ("Z0 2", "column 4: expected `+`, `-` or the end, found `2`"),
        ("Z0 ** X1", "column 5: expected a Pauli operator such as `Z0`, found `*`"),
        ("2 * + 3", "column 5: expected a Pauli operator such as `Z0`, found `+`"),
        ("2 *", "column 4: expected a Pauli operator such as `Z0`, found the end"),
        ("Z", "column 2: expected a qubit number, found the end"),
        ("Z -1", "column 3: expected a qubit number, found `-`"),
        ("µ", "column 1: expected a number or a Pauli operator such as `Z0`, found `µ`"),
        ("Z0 X1 Z0", "column 7: qubit 0 comes twice in a term"),
        ("1e999 Z0", "column 1: the coefficient 1e999 is not a finite number"),
        ("Z0 + 1.2.3", "column 6: the coefficient 1.2.3 is not a finite number"),
        ("Z4294967296", "column 2: qubit 4294967296 is beyond any circuit"),
        (
            "Z99999999999999999999999",
            "column 2: qubit 99999999999999999999999 is beyond any circuit",
        ),
    ] {
        assert_eq!(text.parse::<PauliSum>().unwrap_err().to_string(), message, "{text:?}");
    }
}

#[test]
fn strings_are_sorted_and_checked() {
    let string = PauliString::new([(3, Pauli::X), (1, Pauli::Z)]).unwrap();
    assert_eq!(string.factors(), [(1, Pauli::Z), (3, Pauli::X)]);
    let error = PauliString::new([(3, Pauli::X), (3, Pauli::Z)]).unwrap_err();
    assert_eq!(
        error,
        ObservableError { column: None, problem: ObservableProblem::Repeated { qubit: 3 } }
    );
    assert_eq!(error.to_string(), "qubit 3 comes twice in a term");
    for beyond in [1 << 32, usize::MAX] {
        let error = PauliString::new([(beyond, Pauli::X)]).unwrap_err();
        assert_eq!(error.to_string(), format!("qubit {beyond} is beyond any circuit"));
    }
    assert_eq!(
        PauliString::new([(MAX_QUBITS - 1, Pauli::Y)]).unwrap().x_mask(),
        1 << (MAX_QUBITS - 1)
    );
    for coefficient in [f64::NAN, f64::INFINITY] {
        let error =
            PauliSum::new([(1.0, string.clone()), (coefficient, string.clone())]).unwrap_err();
        assert_eq!(error.problem, ObservableProblem::Coefficient { text: coefficient.to_string() });
    }
}

/// `factor (A B + sign B A)`.
fn both_orders(a: &Dense<C>, b: &Dense<C>, sign: f64, factor: C) -> Dense<C> {
    let mut sum = vec![vec![C::new(0.0, 0.0); a.len()]; a.len()];
    add(&mut sum, &product(a, b), factor);
    add(&mut sum, &product(b, a), factor * sign);
    sum
}

fn on_few(n: usize) -> impl Strategy<Value = PauliSum> {
    let letter = prop_oneof![Just(Pauli::X), Just(Pauli::Y), Just(Pauli::Z)];
    let string = proptest::collection::btree_map(0..n, letter, 0..=n);
    let term = (-2.0..2.0, string.prop_map(|m| PauliString::new(m).unwrap()));
    proptest::collection::vec(term, 0..6).prop_map(|terms| PauliSum::new(terms).unwrap())
}

const N: usize = 3;

/// Sums of a few dozen products of numbers below 2.
const ROUNDING: f64 = 1e-13;

proptest! {
    #[test]
    fn the_algebra_is_that_of_matrices(a in on_few(N), b in on_few(N), factor in -3.0..3.0) {
        let (of_a, of_b) = (pauli_sum(&a, N), pauli_sum(&b, N));
        let one = C::new(1.0, 0.0);
        let close = |sum: &PauliSum, expected: &Dense<C>, what: &str| {
            assert_matrices(&pauli_sum(sum, N), expected, ROUNDING, what);
        };
        close(&a.anticommutator(&b).unwrap(), &both_orders(&of_a, &of_b, 1.0, one), "{A, B}");
        close(&a.commutator(&b).unwrap(), &both_orders(&of_a, &of_b, -1.0, C::new(0.0, 1.0)), "i [A, B]");
        let combined = a.clone() - b.clone().scaled(factor).unwrap() + -a.clone();
        let mut expected = vec![vec![C::new(0.0, 0.0); 1 << N]; 1 << N];
        add(&mut expected, &of_b, C::new(-factor, 0.0));
        close(&combined, &expected, "A - f B - A");
        let collected = combined.collected().unwrap();
        close(&collected, &expected, "collected");
        for (i, (coefficient, string)) in collected.terms().iter().enumerate() {
            prop_assert!(*coefficient != 0.0);
            prop_assert!(collected.terms()[..i].iter().all(|t| t.1 != *string));
        }
    }

    #[test]
    fn strings_multiply_as_matrices_do(p in string(), q in string(), r in string()) {
        // Powers of i, and the law that groups have; the matrices of the first qubits are in the
        // test above.
        let (k, pq) = p.times(&q);
        let (l, qp) = q.times(&p);
        prop_assert_eq!(&pq, &qp);
        prop_assert_eq!(p.commutes(&q), k == l);
        prop_assert!((k + l) % 4 == 0 || (k + 4 - l) % 4 == 0);
        prop_assert_eq!(p.times(&p), (0, PauliString::default()));
        let ((m, left), (n, qr)) = (pq.times(&r), q.times(&r));
        let (o, right) = p.times(&qr);
        prop_assert_eq!(((k + m) % 4, left), ((n + o) % 4, right));
        prop_assert!(p.commutes(&q) || !p.commutes_qubit_wise(&q));
        prop_assert_eq!(PauliString::from_masks(p.x_mask(), p.z_mask()), Ok(p));
    }

    #[test]
    fn groups_hold_every_term_once(a in on_few(5)) {
        type Commute = fn(&PauliString, &PauliString) -> bool;
        let general: (_, Commute) = (a.commuting_groups(), PauliString::commutes);
        for (groups, commute) in [general, (a.qubit_wise_groups(), PauliString::commutes_qubit_wise)] {
            let key = |t: &(f64, PauliString)| (t.0.to_bits(), t.1.clone());
            let mut all: Vec<_> = groups.iter().flat_map(PauliSum::terms).map(key).collect();
            let mut expected: Vec<_> = a.terms().iter().map(key).collect();
            all.sort();
            expected.sort();
            prop_assert_eq!(all, expected);
            for group in &groups {
                for (i, (_, p)) in group.terms().iter().enumerate() {
                    prop_assert!(group.terms()[..i].iter().all(|(_, q)| commute(p, q)));
                }
            }
        }
    }
}

/// Half of `{H, H}`, by hand; and what does not fit into floats or states.
#[test]
fn squares_come_from_anticommutators() {
    let h: PauliSum = "Z0 Z1 + 0.5 X0 + 0.5 X1".parse().unwrap();
    let square = h.anticommutator(&h).unwrap().scaled(0.5).unwrap();
    // (Z Z + (X0 + X1)/2)^2 = 1 + 1/2 + X0 X1 / 2 + {Z Z, X0 + X1} / 2, whose last term is zero.
    assert_eq!(square.to_string(), "1.5 + 0.5*X0 X1");
    let huge: PauliSum = "1e200 Z0".parse().unwrap();
    let error = huge.anticommutator(&huge).unwrap_err();
    assert_eq!(error.to_string(), "the coefficient inf is not a finite number");
    assert_eq!(huge.scaled(1e200).unwrap_err(), error);
    let error = PauliString::from_masks(1 << MAX_QUBITS, 0).unwrap_err();
    assert_eq!(error.to_string(), format!("qubit {MAX_QUBITS} is beyond any circuit"));
}

/// Hydrogen in a minimal basis on two qubits: all but X X is diagonal.
#[test]
fn hydrogen_is_measured_in_two_bases() {
    let h: PauliSum =
        "-1.05237 + 0.39794 Z0 - 0.39794 Z1 - 0.01128 Z0 Z1 + 0.18093 X0 X1".parse().unwrap();
    let groups: Vec<String> = h.qubit_wise_groups().iter().map(ToString::to_string).collect();
    assert_eq!(groups, ["-1.05237 + 0.39794*Z0 - 0.39794*Z1 - 0.01128*Z0 Z1", "0.18093*X0 X1"]);
    let commuting: Vec<usize> = h.commuting_groups().iter().map(|g| g.terms().len()).collect();
    assert_eq!(commuting, [4, 1]);
}

/// A circuit with entangling gates and two parameters.
fn entangled(n: usize) -> Circuit {
    let mut circuit = Circuit::new(n);
    let (a, b) = (circuit.param("a"), circuit.param("b"));
    for q in 0..n {
        circuit.ry(q, a.clone() * (q as i64 + 1)).unwrap().rz(q, b.clone()).unwrap();
    }
    for q in 1..n {
        circuit.cx(q - 1, q).unwrap().crx(q, q - 1, a.clone() + b.clone()).unwrap();
    }
    circuit
}

proptest! {
    /// The terms in a state have the values of the diagonal ones in the state after the circuit.
    #[test]
    fn bases_make_commuting_terms_diagonal(a in on_few(5), seed in any::<u64>()) {
        let (simulator, threads) = (Simulator::new(), Threads::serial());
        let state = StateVector::<C>::random(5, seed, &threads).unwrap();
        for (group, single) in a.commuting_groups().into_iter().map(|g| (g, false))
            .chain(a.qubit_wise_groups().into_iter().map(|g| (g, true)))
        {
            let (basis, diagonal) = measurement_basis(5, &group).unwrap();
            prop_assert!(!single || basis.instructions().iter().all(|i| i.qubits().count() == 1));
            let mut turned = state.clone();
            let bound = BoundCircuit::new(&basis, &Values::<f64>(&[])).unwrap();
            simulator.execute(bound.operators().unwrap(), &mut turned, &mut |_, _| {}).unwrap();
            for (one, other) in group.terms().iter().zip(diagonal.terms()) {
                prop_assert_eq!(other.1.x_mask(), 0);
                let [value, again] = [(&state, one), (&turned, other)].map(|(state, term)| {
                    state.expectation(&PauliSum::new([term.clone()]).unwrap(), &threads).unwrap()
                });
                prop_assert!((value - again).abs() < 1e-12 * (1.0 + value.abs()), "{} {}", value, again);
            }
        }
    }
}

/// Means over shots lie as far from exact values as their standard errors say, in value and in
/// derivatives.
#[test]
fn shots_scatter_as_their_errors_say() {
    let h: PauliSum =
        "Z0 Z1 + 0.5 X0 - 0.3 Y1 Z2 + X0 X1 - 0.7 Y0 Y1 + 0.2 X2 + 3".parse().unwrap();
    let energy = Expectation::new(entangled(3), [h]).unwrap();
    let at = [0.4, 1.1];
    let (exact, slopes) = energy.value_and_gradient(&at).unwrap();
    for grouping in [Grouping::QubitWise, Grouping::Commuting] {
        let mut squares = [0.0; 3];
        let runs = 300;
        for seed in 0..runs {
            let shots = Shots { grouping, ..Shots::new(300, seed) };
            let (value, gradient) = energy.measure_gradient(&at, shots).unwrap();
            assert_eq!(value, energy.measure(&at, shots).unwrap());
            let found = [value, gradient[0], gradient[1]];
            for ((square, mean), exact) in
                squares.iter_mut().zip(found).zip([exact, slopes[0], slopes[1]])
            {
                *square += ((mean.value - exact) / mean.stderr.unwrap()).powi(2) / runs as f64;
            }
        }
        // 1 on average, with a spread of the root of 2/300.
        assert!(squares.iter().all(|s| (0.67..1.4).contains(s)), "{grouping:?}: {squares:?}");
    }
}

#[test]
fn shots_of_noisy_circuits_and_of_those_that_measure_are_those_of_their_averages() {
    let h: PauliSum = "Z0 Z1 + 0.5 X0 - 0.3 Y1 Z2 + 0.8 X0 X1".parse().unwrap();
    let mut noisy = entangled(3);
    noisy.depolarizing(1, 0.1).unwrap().h(1).unwrap();
    let mut dynamic = entangled(3);
    dynamic.add_register("m", 1).unwrap().measure(1, 0).unwrap();
    dynamic.when(Condition::Bit { bit: 0, value: true }, |c| c.x(2)).unwrap().h(1).unwrap();
    for circuit in [noisy, dynamic] {
        let energy = Expectation::new(circuit, [h.clone()]).unwrap();
        let at = [0.4, 1.1];
        let exact = energy.value(&at).unwrap();
        let mut square = 0.0;
        for seed in 0..100 {
            let mean = energy.measure(&at, Shots::new(400, seed)).unwrap();
            square += ((mean.value - exact) / mean.stderr.unwrap()).powi(2) / 100.0;
        }
        assert!((0.5..1.6).contains(&square), "{square}");
    }
}

#[test]
fn shots_are_the_same_for_any_number_of_threads() {
    let h: PauliSum = "Z0 Z9 + 0.5 X3 + Y4 Z5 - X0 X9".parse().unwrap();
    let mean = |threads| {
        let simulator = Simulator::new().with_threads(Threads::new(threads).unwrap());
        simulator.measure(&entangled(14), &[0.2, 0.9], &h, Shots::new(1000, 3)).unwrap()
    };
    assert_eq!(mean(1), mean(3));
}

#[test]
fn a_bound_circuit_is_measured_as_the_circuit_at_these_inputs() {
    let simulator = Simulator::new();
    let h: PauliSum = "0.5 + Z0 Z3 + 0.5 X3 + Y1 Z2 - X0 X3".parse().unwrap();
    let (circuit, at) = (entangled(4), [0.2, 0.9]);
    let measure = |circuit: &Circuit| {
        let bound = BoundCircuit::<C>::new(circuit, &Values(&at)).unwrap();
        simulator.measure_bound(&bound, &h, Shots::new(3000, 8)).unwrap()
    };
    let direct = simulator.measure(&circuit, &at, &h, Shots::new(3000, 8)).unwrap();
    assert_eq!(measure(&circuit), direct);
    let mut noisy = circuit.clone();
    noisy.bit_flip(2, 0.2).unwrap();
    for circuit in [circuit, noisy] {
        let mean = measure(&circuit);
        let exact = simulator.run_density(&circuit, &at).unwrap().expectation(&h).unwrap();
        let off = (mean.value - exact) / mean.stderr.unwrap();
        assert!(off.abs() < 5.0, "{mean:?} of {exact}");
    }
}

#[test]
fn constants_are_exact_and_too_few_shots_are_refused() {
    let simulator = Simulator::new();
    let measure = |h: &str, count| {
        simulator.measure(&entangled(3), &[0.2, 0.9], &h.parse().unwrap(), Shots::new(count, 3))
    };
    let mean = measure("1.5 + X0 - X0 + 0.25", 0).unwrap();
    assert_eq!((mean.value, mean.stderr), (1.75, Some(0.0)));
    assert!(measure("X0 + Z0", 4).is_ok());
    // Of n values that are 1 or -1 the mean alone says the spread.
    for count in [2, 3, 5, 8] {
        let mean = measure("Z1", count).unwrap();
        let right = ((1.0 - mean.value * mean.value) / (count as f64 - 1.0)).sqrt();
        assert!(
            (mean.stderr.unwrap() - right).abs() < 1e-7,
            "{count} shots: {mean:?}, not {right}"
        );
    }
    assert_eq!(
        measure("X0 + Z0", 3).unwrap_err().to_string(),
        "3 shots for an observable whose terms fall into 2 groups that are measured together: each takes two at least"
    );
    assert_eq!(
        measure("X5", 10).unwrap_err().to_string(),
        simulator
            .measure(&entangled(3), &[0.2, 0.9], &"Z5".parse().unwrap(), Shots::new(9, 1))
            .unwrap_err()
            .to_string()
    );
    let group = "X0 + Z0 Z1".parse().unwrap();
    let said = measurement_basis(2, &group).unwrap_err();
    assert!(matches!(said, SimulateError::NotCommuting { .. }));
    assert_eq!(
        said.to_string(),
        "X0 and Z0 Z1 do not commute, so that they are not measured together"
    );
    let phi = StateVector::<C>::zero(3).unwrap();
    let energy = Expectation::new(entangled(3), [Observable::Overlap(phi.into())]).unwrap();
    let said = energy.measure(&[0.2, 0.9], Shots::new(10, 1)).unwrap_err();
    assert!(matches!(said, HybridError::NotMeasured { .. }), "{said}");
    // The probability of an outcome is.
    let energy =
        Expectation::new(entangled(3), [Observable::Outcome(vec![(0, true), (2, false)])]).unwrap();
    let (mean, exact) = (
        energy.measure(&[0.2, 0.9], Shots::new(10_000, 1)).unwrap(),
        energy.value(&[0.2, 0.9]).unwrap(),
    );
    assert!((mean.value - exact).abs() < 4.0 * mean.stderr.unwrap());
}
