//! Optimizers on shots: calibration, averages, what may be said of the end.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::convert::Infallible;

use ketgrad_core::{
    ansatz,
    circuit::Circuit,
    hybrid::Expectation,
    optimize::{
        Adam, Answer, Measured, Memory, NelderMead, Objective, Optimizer, Spsa, StopReason,
        Stopping, minimize, random_start,
    },
    problem,
    simulate::{Mean, Shots},
};

/// Three angles, one of which turns twice; the lowest value is -sqrt 5.
fn three_angles() -> Expectation {
    let mut circuit = Circuit::new(2);
    let [a, b, c] = ["a", "b", "c"].map(|name| circuit.param(name));
    circuit
        .ry(0, &a)
        .unwrap()
        .ry(1, b)
        .unwrap()
        .cx(0, 1)
        .unwrap()
        .ry(1, c)
        .unwrap()
        .ry(0, a)
        .unwrap();
    Expectation::new(
        circuit,
        ["Z0 Z1 + X0 + X1".parse::<ketgrad_core::observable::PauliSum>().unwrap()],
    )
    .unwrap()
}

/// A point far above the minimum is not said to be one, and the steps come much further than
/// coincidences of values allowed: they ended at -1.41 in the mean.
#[test]
fn no_coincidence_of_values_is_a_minimum() {
    let energy = three_angles();
    let stopping = Stopping::default().with_iterations(300);
    let mut mean = 0.0;
    for seed in 0..20 {
        let measured = Measured { energy: &energy, shots: Shots::new(100, seed) };
        let start = random_start(3, 0.1, seed);
        let optimizer = Optimizer::from(Spsa::default().with_seed(seed));
        let (end, stop) = minimize(&measured, &start, &optimizer, &stopping).unwrap();
        let answer = Answer::new(&measured, &start, &end).unwrap();
        let exact: f64 = energy.value(&answer.x).unwrap();
        assert!(!stop.converged() || exact < -2.2, "{seed}: {stop} at {exact}");
        // What is said of the answer is true: its value within its error, and that it is below the
        // start.
        let stderr = answer.end.stderr.unwrap();
        assert!((answer.end.value - exact).abs() < 5.0 * stderr, "{seed}: {answer:?}, {exact}");
        let first: f64 = energy.value(&start).unwrap();
        assert!(!answer.is_below_start() || exact < first, "{seed}: {exact} from {first}");
        mean += exact / 20.0;
    }
    assert!(mean < -1.6, "{mean}");
}

/// From Hartree-Fock, where there is little to gain and much to lose, the answer is no worse by
/// more than measurements show.
#[test]
fn steps_do_not_lead_away_from_a_good_start() {
    for (n, sum) in [(4, problem::h2()), (6, problem::lih())] {
        let energy = Expectation::new(ansatz::uccsd(n, 2).unwrap(), [sum]).unwrap();
        let start = vec![0.0; energy.n_inputs()];
        let first: f64 = energy.value(&start).unwrap();
        let stopping = Stopping::default().with_iterations(300);
        for seed in 0..5 {
            let measured = Measured { energy: &energy, shots: Shots::new(1000, seed) };
            let optimizer = Optimizer::from(Spsa::default().with_seed(seed));
            let (end, _) = minimize(&measured, &start, &optimizer, &stopping).unwrap();
            let answer = Answer::new(&measured, &start, &end).unwrap();
            let exact: f64 = energy.value(&answer.x).unwrap();
            let stderr = answer.end.stderr.unwrap();
            assert!(
                exact < first + 3.0 * stderr,
                "{n}, {seed}: {exact} from {first}, error {stderr}"
            );
        }
    }
}

/// A function of any shape.
type Values = Box<dyn Fn(&[f64]) -> f64>;

/// A function of known noise: measurement k at x is off by one of two values.
struct Noisy<F> {
    exact: F,
    error: f64,
}

impl<F: Fn(&[f64]) -> f64> Objective for Noisy<F> {
    type Error = Infallible;
    fn value(&self, x: &[f64]) -> Result<f64, Infallible> {
        Ok(self.sample(x, 0)?.value)
    }
    fn value_and_gradient(&self, x: &[f64]) -> Result<(f64, Vec<f64>), Infallible> {
        Ok((self.value(x)?, vec![f64::NAN; x.len()]))
    }
    fn is_measured(&self) -> bool {
        true
    }
    fn sample(&self, x: &[f64], k: u64) -> Result<Mean, Infallible> {
        let bits = x.iter().fold(k ^ 0x9e37_79b9_7f4a_7c15, |h, x| {
            (h ^ x.to_bits()).wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(29)
        });
        let side = if (bits ^ bits >> 31).count_ones() % 2 == 0 { 1.0 } else { -1.0 };
        Ok(Mean { value: (self.exact)(x) + side * self.error, stderr: Some(self.error) })
    }
}

#[test]
fn steps_are_calibrated_by_the_slope_and_the_curvature() {
    let spsa = Spsa::default().with_reach(0.05);
    let sizes = |f: &Noisy<Values>, spsa: Spsa, at: f64| match Optimizer::from(spsa)
        .start(f, &[at])
        .unwrap()
        .memory
    {
        Memory::Sizes(step, width) => (step, width),
        other => panic!("{other:?}"),
    };
    let slope =
        |k: f64, error: f64| Noisy { exact: Box::new(move |x: &[f64]| k * x[0]) as _, error };
    // Along one input every direction shows the slope: the first step is `reach` long. The width is
    // the error, within bounds.
    let (step, width) = sizes(&slope(4.0, 0.0), spsa, 1.0);
    assert!((step * 4.0 - 0.05).abs() < 1e-9 && width == 0.2, "{step} {width}");
    assert_eq!(sizes(&slope(4.0, 0.3), spsa, 1.0).1, 0.3);
    assert_eq!(sizes(&slope(4.0, 9.0), spsa, 1.0).1, 0.4);
    // What is given stays.
    let given = spsa.with_step(Some(0.7)).with_width(Some(0.01));
    assert_eq!(sizes(&slope(4.0, 0.3), given, 1.0), (0.7, 0.01));
    // At the bottom of 50 x^2 there is no slope, but a step longer than 1/100 would leave it.
    let bowl = Noisy { exact: Box::new(|x: &[f64]| 50.0 * x[0] * x[0]) as _, error: 0.0 };
    let (step, _) = sizes(&bowl, spsa, 0.0);
    assert!((step - 0.01).abs() < 1e-9, "{step}");
    // A flat function has neither.
    assert_eq!(sizes(&slope(0.0, 0.0), spsa, 1.0).0, 0.05);
}

/// Values that only scatter end a run, after some windows; those that fall do not.
#[test]
fn standard_errors_say_whether_values_fall() {
    let still = Noisy { exact: |_: &[f64]| 1.0, error: 0.1 };
    for optimizer in [Optimizer::from(Spsa::default()), NelderMead::default().into()] {
        let (end, stop) = minimize(&still, &[0.3, 0.1], &optimizer, &Stopping::default()).unwrap();
        assert_eq!((stop, stop.converged()), (StopReason::NoProgress, false), "{optimizer:?}");
        // A simplex collapses earlier.
        let is_simplex = matches!(optimizer, Optimizer::NelderMead(_));
        assert!(
            is_simplex || (200..600).contains(&end.iterations),
            "{optimizer:?}: {}",
            end.iterations
        );
        let answer = Answer::new(&still, &[0.3, 0.1], &end).unwrap();
        assert!(!answer.is_below_start(), "{answer:?}");
    }
    // A slope that each step goes down, by less than the scatter of a value.
    let slope = Noisy { exact: |x: &[f64]| 0.3 * x[0] + 0.2 * x[1], error: 0.1 };
    let stopping = Stopping::default().with_iterations(400);
    let optimizer = Optimizer::from(Spsa::default());
    let (end, stop) = minimize(&slope, &[0.0, 0.0], &optimizer, &stopping).unwrap();
    assert_eq!((stop, end.iterations), (StopReason::Iterations, 400));
    assert!(Answer::new(&slope, &[0.0, 0.0], &end).unwrap().is_below_start());
}

/// Runs on shots are taken up at any state with the same bits: the calibration and the means are
/// part of it.
#[test]
fn runs_on_shots_are_taken_up_with_the_same_bits() {
    let energy = three_angles();
    let measured = Measured { energy: &energy, shots: Shots::new(50, 3) };
    let methods: [Optimizer; 3] =
        [Spsa::default().into(), Adam::default().into(), NelderMead::default().into()];
    for optimizer in methods {
        let run = |iterations| Stopping::default().with_iterations(iterations);
        let (whole, _) = minimize(&measured, &[0.1, 0.2, 0.3], &optimizer, &run(60)).unwrap();
        let (mut state, stop) =
            minimize(&measured, &[0.1, 0.2, 0.3], &optimizer, &run(33)).unwrap();
        assert_eq!((stop, state.iterations), (StopReason::Iterations, 33));
        while optimizer.advance(&measured, &mut state, &run(60)).unwrap().is_none() {}
        assert_eq!(state, whole, "{optimizer:?}");
    }
}
