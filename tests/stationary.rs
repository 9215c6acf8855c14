//! Points at which an optimizer may say that it is at a minimum: maxima, saddles, flat places.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{convert::Infallible, f64::consts::PI};

use ketgrad_core::{
    ansatz,
    circuit::Circuit,
    hybrid::Expectation,
    observable::PauliSum,
    optimize::{
        Adam, CriticalPoint, Energy, Lbfgs, NaturalGradient, NelderMead, NewtonCg, Objective,
        Optimizer, Spsa, StopReason, Stopping, minimize, random_start,
    },
    problem::{self, Graph},
};
use nalgebra::DMatrix;
use support::random::Rng;

fn all() -> [Optimizer; 6] {
    [
        Lbfgs::default().into(),
        NewtonCg::default().into(),
        Adam::default().into(),
        NaturalGradient::default().into(),
        NelderMead::default().into(),
        Spsa::default().into(),
    ]
}

fn energy(circuit: Circuit, sum: &str) -> Expectation {
    Expectation::new(circuit, [sum.parse::<PauliSum>().unwrap()]).unwrap()
}

/// `rx(a) q0; rx(b) q1`, after the given gates.
fn turns(build: impl Fn(&mut Circuit)) -> Circuit {
    let mut circuit = Circuit::new(2);
    build(&mut circuit);
    let (a, b) = (circuit.param("a"), circuit.param("b"));
    circuit.rx(0, a).unwrap().rx(1, b).unwrap();
    circuit
}

/// A function of any shape: its value and gradient.
type Values = Box<dyn Fn(&[f64]) -> (f64, Vec<f64>)>;

/// A function of angles with its gradient.
struct Plain<F>(F);

impl<F: Fn(&[f64]) -> (f64, Vec<f64>)> Objective for Plain<F> {
    type Error = Infallible;
    fn value(&self, x: &[f64]) -> Result<f64, Infallible> {
        Ok(self.0(x).0)
    }
    fn value_and_gradient(&self, x: &[f64]) -> Result<(f64, Vec<f64>), Infallible> {
        Ok(self.0(x))
    }
}

/// From a stationary point the minimum is reached, or the end is not said to be one.
fn leaves<F: Objective>(name: &str, f: &F, start: &[f64], minimum: f64) {
    for optimizer in all() {
        let (end, stop) = minimize(f, start, &optimizer, &Stopping::default()).unwrap();
        assert!(
            (end.value - minimum).abs() < 1e-5 || !stop.converged(),
            "{name}, {optimizer:?}: {stop} at {:?}, {}",
            end.x,
            end.value
        );
        assert!(
            end.value < f.value(start).unwrap() - 1e-3,
            "{name}, {optimizer:?} stayed at {}",
            end.value
        );
        assert_eq!(end.values.len(), end.iterations + 1);
        // Those that follow gradients arrive.
        if matches!(optimizer, Optimizer::Lbfgs(_) | Optimizer::NewtonCg(_)) {
            assert!(
                stop.converged() && (end.value - minimum).abs() < 1e-5,
                "{name}, {optimizer:?}: {stop}"
            );
        }
        // As many iterations as there are lead no further than to say so.
        let none = Stopping::default().with_iterations(0);
        let (end, stop) = minimize(f, start, &optimizer, &none).unwrap();
        assert!(
            !stop.converged() && end.x == start || matches!(optimizer, Optimizer::NelderMead(_))
        );
        let by_gradient = !matches!(optimizer, Optimizer::NelderMead(_) | Optimizer::Spsa(_));
        assert!(!by_gradient || stop == StopReason::NotMinimum, "{name}, {optimizer:?}: {stop}");
    }
}

#[test]
fn maxima_and_saddles_are_left() {
    let flipped = energy(turns(|c| drop(c.x(0).map(|_| ()))), "Z0 + Z1");
    leaves("maximum", &flipped, &[PI, 0.0], -2.0);
    leaves("maximum of a product", &energy(turns(|_| ()), "Z0 Z1"), &[0.0, 0.0], -1.0);
    let difference = energy(turns(|_| ()), "Z0 - Z1");
    leaves("saddle", &difference, &[0.0, 0.0], -2.0);
    leaves("single precision", &Energy::<f64>::new(difference), &[PI, PI], -2.0);
    // All angles of QAOA at 0: the mean over all cuts, whose Hessian has no diagonal. One layer on
    // a ring of five cuts three quarters.
    let ring = Graph::new(5, (0..5).map(|k| (k, (k + 1) % 5, 1.0))).unwrap();
    let qaoa =
        Expectation::new(ansatz::qaoa(&ring, 1).unwrap(), [problem::max_cut(&ring).unwrap()])
            .unwrap();
    leaves("qaoa", &qaoa, &[0.0, 0.0], -3.75);
}

#[test]
fn single_precision_knows_a_maximum_too() {
    let sum = energy(turns(|c| drop(c.x(0).map(|_| ()))), "Z0 + Z1");
    let single = Energy::<f32>::new(sum);
    let stopping = Stopping::default().with_gradient(1e-3).with_change(1e-7);
    for optimizer in [Optimizer::from(Lbfgs::default()), NewtonCg::default().into()] {
        let (end, stop) = minimize(&single, &[PI, 0.0], &optimizer, &stopping).unwrap();
        assert!(
            stop.converged() && (end.value + 2.0).abs() < 1e-5,
            "{optimizer:?}: {stop} {}",
            end.value
        );
    }
}

#[test]
fn degenerate_points_are_told_apart() {
    let (f, df) = (|x: f64| 1.0 - x.cos(), |x: f64| x.sin());
    // The fourth power leads down: along all inputs, along one.
    let quartic = Plain(move |x: &[f64]| {
        (-f(x[0]).powi(2) - f(x[1]).powi(2), x.iter().map(|x| -2.0 * f(*x) * df(*x)).collect())
    });
    leaves("quartic maximum", &quartic, &[0.0, 0.0], -8.0);
    let mixed = Plain(move |x: &[f64]| {
        (f(x[0]) - f(x[1]).powi(2), vec![df(x[0]), -2.0 * f(x[1]) * df(x[1])])
    });
    leaves("quadratic and quartic", &mixed, &[0.0, 0.0], -4.0);
    // The third: an inflection, and sin^3 x - 3 sin x sin^2 y with three ways down.
    let cubic =
        Plain(|x: &[f64]| (x[0].sin().powi(3), vec![3.0 * x[0].sin().powi(2) * x[0].cos()]));
    leaves("inflection", &cubic, &[0.0], -1.0);

    // Minima: of the fourth power, with a flat line, and where only a sum of inputs counts.
    let shapes: [(&str, Values); 3] = [
        (
            "quartic",
            Box::new(move |x| {
                (
                    f(x[0]).powi(2) + f(x[1]).powi(2),
                    x.iter().map(|x| 2.0 * f(*x) * df(*x)).collect(),
                )
            }),
        ),
        ("line", Box::new(move |x| (f(x[0]), vec![df(x[0]), 0.0]))),
        ("sum", Box::new(move |x| (f(x[0] + x[1]), vec![df(x[0] + x[1]); 2]))),
    ];
    for (name, shape) in shapes {
        let shape = Plain(shape);
        for optimizer in all() {
            let (end, stop) =
                minimize(&shape, &[0.0, 0.0], &optimizer, &Stopping::default()).unwrap();
            assert!(
                stop.converged() && end.value < 1e-6,
                "{name}, {optimizer:?}: {stop}, {}",
                end.value
            );
        }
    }
    // Each line through 0 has its minimum there, but between two parabolas the value is below 0.
    let parabolas = Plain(|x: &[f64]| {
        let (a, b) = (x[1] - x[0] * x[0], x[1] - 2.0 * x[0] * x[0]);
        let rest = 0.2 * x[0].powi(6);
        (a * b + rest, vec![-2.0 * x[0] * b - 4.0 * x[0] * a + 1.2 * x[0].powi(5), a + b])
    });
    let (end, stop) =
        minimize(&parabolas, &[0.0, 0.0], &Lbfgs::default().into(), &Stopping::default()).unwrap();
    assert!(stop.converged() && end.value < -1e-3, "{stop}, {}", end.value);
}

#[test]
fn what_is_flat_is_not_decided() {
    let mut circuit = Circuit::new(1);
    let (a, b) = (circuit.param("a"), circuit.param("b"));
    circuit.h(0).unwrap().rz(0, a).unwrap().rz(0, b).unwrap();
    let flat = energy(circuit, "Z0");
    for optimizer in all() {
        let (end, stop) = minimize(&flat, &[0.3, 0.2], &optimizer, &Stopping::default()).unwrap();
        assert_eq!((stop, stop.converged()), (StopReason::Undecided, false), "{optimizer:?}");
        assert_eq!(end.shape, Some(CriticalPoint::Undecided));
    }
}

/// Without derivatives nothing is known but the values.
#[test]
fn a_function_without_derivatives_ends_by_its_values() {
    let values = Plain(|x: &[f64]| (x[0] * x[0] + 3.0 * x[1] * x[1], vec![f64::NAN; 2]));
    let (end, stop) =
        minimize(&values, &[1.0, -0.5], &NelderMead::default().into(), &Stopping::default())
            .unwrap();
    assert_eq!((stop, end.shape), (StopReason::Change, Some(CriticalPoint::NoDerivatives)));
}

/// From points that are often stationary, multiples of a quarter turn: where an end is said to be a
/// minimum the Hessian, by duals and diagonalised, has no negative eigenvalue, and nothing beside
/// it is lower.
#[test]
fn ends_of_random_circuits_are_minima() {
    let mut random = Rng::new(11);
    let (mut stationary, mut converged) = (0, 0);
    for trial in 0..40 {
        let n = 2 + trial % 2;
        let circuit = ansatz::hardware_efficient(n, 1).unwrap();
        let sum = match trial % 4 {
            0 => problem::ising(n, 1.0, 0.5 + 0.1 * (trial / 4) as f64, false).unwrap(),
            1 => problem::heisenberg(n, [1.0, 0.8, 0.5], false).unwrap(),
            2 => "Z0 Z1 + 0.5 X0 X1".parse().unwrap(),
            _ => "Z0 Z1 + 0.3 X1 - 0.7 Y0 Y1".parse().unwrap(),
        };
        let energy = Expectation::new(circuit, [sum]).unwrap();
        let start: Vec<f64> =
            (0..energy.n_inputs()).map(|_| PI / 2.0 * random.below(4) as f64).collect();
        let (_, gradient) = energy.value_and_gradient(&start).unwrap();
        stationary += usize::from(gradient.iter().all(|g: &f64| g.abs() < 1e-6));
        let optimizer =
            if trial % 3 == 0 { NewtonCg::default().into() } else { Lbfgs::default().into() };
        let (end, stop) = minimize(&energy, &start, &optimizer, &Stopping::default()).unwrap();
        if !stop.converged() {
            continue;
        }
        converged += 1;
        let rows = energy.hessian(&end.x).unwrap();
        let hessian = DMatrix::from_fn(rows.len(), rows.len(), |i, j| rows[i][j]);
        let smallest = hessian.symmetric_eigenvalues().min();
        assert!(smallest > -1e-4, "{trial}: {smallest} at {:?}", end.x);
        for seed in 0..50 {
            let moved: Vec<f64> =
                end.x.iter().zip(random_start(rows.len(), 0.2, seed)).map(|(x, d)| x + d).collect();
            let beside: f64 = energy.value(&moved).unwrap();
            assert!(beside > end.value - 1e-6, "{trial}: {beside} beside {}", end.value);
        }
    }
    assert!(stationary > 3 && converged > 30, "{stationary} stationary, {converged} converged");
}

/// A run that is taken up at any state goes on with the same bits, where it leaves a saddle as
/// well.
#[test]
fn a_run_through_a_saddle_is_taken_up_with_the_same_bits() {
    let sum = energy(turns(|_| ()), "Z0 - Z1");
    for optimizer in all() {
        let stopping = Stopping::default().with_iterations(30);
        let (whole, stop) = minimize(&sum, &[0.0, 0.0], &optimizer, &stopping).unwrap();
        let mut state = optimizer.start(&sum, &[0.0, 0.0]).unwrap();
        let again = loop {
            if let Some(stop) = optimizer.advance(&sum, &mut state.clone(), &stopping).unwrap() {
                // The end is no step: it is the same however often it is asked for.
                assert_eq!(optimizer.advance(&sum, &mut state, &stopping).unwrap(), Some(stop));
                assert_eq!(optimizer.advance(&sum, &mut state, &stopping).unwrap(), Some(stop));
                break stop;
            }
            optimizer.advance(&sum, &mut state, &stopping).unwrap();
        };
        assert_eq!((again, state), (stop, whole), "{optimizer:?}");
    }
}

/// Steps of differences do not grow with the angles: at these a step in proportion to them saw a
/// minimum.
#[test]
fn maxima_are_left_wherever_they_are() {
    for turns_away in [30_000.0, 47_000.0, 1e6] {
        let away = 2.0 * PI * turns_away;
        let circuit = turns(|c| drop(c.x(0).map(|_| ())));
        leaves("far out", &energy(circuit, "Z0 + Z1"), &[PI + away, away], -2.0);
    }
}
