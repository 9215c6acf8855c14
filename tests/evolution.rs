//! Evolution in time by product formulas, against the exponential of the matrix.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    ansatz::evolution,
    circuit::{Circuit, CircuitError},
    observable::PauliSum,
    param::Values,
};
use num_complex::Complex;
use support::{
    close::{assert_matrices, matrix_distance},
    reference::{self, Dense, add, identity, pauli_sum, product},
};

type C = Complex<f64>;

const N: usize = 3;

/// Strings of one, two and three letters that do not commute, and a constant.
const H: &str = "0.8 Z0 Z1 - 0.6 X1 Y2 + 0.5 X0 + 0.9 Y0 X1 Z2 - 0.3 Y1 + 0.4 X0 X2 + 0.7";

/// Rounding of a few hundred gates.
const ROUNDING: f64 = 1e-12;

/// Error of sixty steps of fourth order: some (0.7 / 60)^4.
const SIXTY_STEPS: f64 = 2e-8;

/// `exp(-i H t)` by its series, for a short time, squared until the time is long.
fn exact(h: &PauliSum, n: usize, t: f64) -> Dense<C> {
    let squarings = 10;
    let short = C::new(0.0, -t / f64::from(1 << squarings));
    let h = pauli_sum(h, n);
    let (mut sum, mut power) = (identity::<C>(1 << n), identity::<C>(1 << n));
    for k in 1..12 {
        power = product(&power, &h);
        power.iter_mut().flatten().for_each(|x| *x *= short / f64::from(k));
        add(&mut sum, &power, C::new(1.0, 0.0));
    }
    (0..squarings).fold(sum, |u, _| product(&u, &u))
}

fn by_formula(h: &PauliSum, n: usize, t: f64, steps: usize, order: usize) -> Dense<C> {
    let mut circuit = Circuit::new(n);
    let time = circuit.param("t");
    evolution(&mut circuit, h, time, steps, order).unwrap();
    let values = circuit.param_values(&[t]).unwrap();
    reference::circuit(&circuit, &Values::<f64>(&values))
}

#[test]
fn twice_the_steps_leave_the_error_that_the_order_promises() {
    let h: PauliSum = H.parse().unwrap();
    for (order, t, steps) in [(1, 0.4, 8), (2, 0.4, 4), (4, 0.6, 2), (6, 0.8, 2)] {
        let exact = exact(&h, N, t);
        let error = |steps| matrix_distance(&by_formula(&h, N, t, steps, order), &exact);
        let (long, short) = (error(steps), error(2 * steps));
        let gain = (long / short).log2();
        assert!(long > 100.0 * ROUNDING && short < 0.1, "order {order}: {long} and {short}");
        assert!(
            (gain - order as f64).abs() < 0.35,
            "order {order}: {long} to {short} is a gain of 2^{gain}"
        );
    }
}

#[test]
fn strings_that_commute_are_exact_in_one_step() {
    let h: PauliSum = "0.3 Z0 Z1 + 0.8 X0 X1 - 1.1 Y0 Y1 + 0.5 Z0 Z1 X2 + 2".parse().unwrap();
    let expected = exact(&h, N, 1.7);
    for order in [1, 2, 4] {
        assert_matrices(&by_formula(&h, N, 1.7, 1, order), &expected, ROUNDING, "commuting");
    }
    assert_matrices(&by_formula(&PauliSum::default(), 1, 1.0, 3, 2), &identity(2), 0.0, "nothing");
}

/// The constant of H is a phase, which a control makes visible.
#[test]
fn controlled_evolution_keeps_the_phase() {
    let h: PauliSum = "0.6 Z0 - 0.4 X0 + 0.9".parse().unwrap();
    let mut circuit = Circuit::new(1);
    // A time that is a number, and one that binary fractions do not hold.
    evolution(&mut circuit, &h, 0.7, 60, 4).unwrap();
    let controlled = circuit.controlled(&[true]).unwrap();
    assert!(controlled.params().is_empty());
    let exact = exact(&h, 1, 0.7);
    let got = reference::circuit(&controlled, &Values::<f64>(&[]));
    // The control is qubit 1.
    let mut expected = identity::<C>(4);
    for row in 0..2 {
        for column in 0..2 {
            expected[2 + row][2 + column] = exact[row][column];
        }
    }
    assert_matrices(&got, &expected, SIXTY_STEPS, "controlled");
}

#[test]
fn neighbours_of_one_string_are_joined() {
    let h: PauliSum = "X0 + Y0 + Z0".parse().unwrap();
    let count = |order, steps| {
        let mut circuit = Circuit::new(1);
        let time = circuit.param("t");
        evolution(&mut circuit, &h, time, steps, order).unwrap();
        circuit.instructions().len()
    };
    assert_eq!((count(1, 5), count(2, 1), count(2, 5), count(4, 1)), (15, 5, 21, 21));
}

#[test]
fn what_is_no_formula_is_told() {
    let h: PauliSum = "X0 + Z1".parse().unwrap();
    let mut circuit = Circuit::new(2);
    for (order, steps) in [(0, 1), (3, 1), (2, 0)] {
        let error = evolution(&mut circuit, &h, 1.0, steps, order).unwrap_err();
        assert_eq!(error, CircuitError::ProductFormula { order, steps });
    }
    for (order, steps) in [(1000, 1), (2, usize::MAX), (usize::MAX - 1, 1)] {
        let error = evolution(&mut circuit, &h, 1.0, steps, order).unwrap_err();
        assert!(matches!(error, CircuitError::TooLong { .. }), "{error}");
    }
    // Of nothing, any formula is nothing.
    evolution(&mut circuit, &"2".parse().unwrap(), 0.0, 5, 48).unwrap();
    let error = evolution(&mut Circuit::new(1), &h, 1.0, 1, 1).unwrap_err();
    assert_eq!(error, CircuitError::NoSuchQubit { given: 1, n_qubits: 1 });
    assert_eq!(circuit.instructions().len(), 1);
}
