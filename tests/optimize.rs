//! Variational algorithms: ansatz circuits, problems with known answers, optimizers.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{convert::Infallible, f64::consts::PI};

use ketgrad_core::{
    ansatz,
    circuit::Circuit,
    hybrid::{Expectation, HybridError, Method, Observable},
    kernel::Threads,
    observable::{Pauli, PauliString, PauliSum},
    optimize::{
        Adam, Intervals, Lbfgs, Measured, Memory, NaturalGradient, NelderMead, NewtonCg, Objective,
        OptimizeError, Optimizer, Spsa, StopReason, Stopping, Within, minimize, random_start,
    },
    problem::{self, Graph},
    simulate::{Shots, Simulator},
    state::StateVector,
};
use nalgebra::DMatrix;
use num_complex::Complex;

/// A millihartree and a half is called chemical accuracy; this is far below it.
const EXACT: f64 = 1e-6;
/// Rounding of a circuit of a hundred gates.
const ROUNDING: f64 = 1e-12;

/// `P |i> = phase |j>`.
fn image(string: &PauliString, i: usize) -> (usize, Complex<f64>) {
    string.factors().iter().fold((i, Complex::new(1.0, 0.0)), |(j, phase), &(q, pauli)| {
        let sign = if i >> q & 1 == 1 { -1.0 } else { 1.0 };
        match pauli {
            Pauli::X => (j ^ 1 << q, phase),
            Pauli::Y => (j ^ 1 << q, phase * Complex::i() * sign),
            Pauli::Z => (j, phase * sign),
        }
    })
}

/// The smallest eigenvalue of a sum whose matrix is real, by diagonalisation.
fn ground(sum: &PauliSum, n: usize) -> f64 {
    let mut matrix = DMatrix::<f64>::zeros(1 << n, 1 << n);
    for (c, string) in sum.terms() {
        for i in 0..1 << n {
            let (j, phase) = image(string, i);
            matrix[(j, i)] += c * phase.re;
        }
    }
    assert_eq!(matrix, matrix.transpose());
    matrix.symmetric_eigenvalues().min()
}

fn energy(circuit: Circuit, observable: PauliSum) -> Expectation {
    Expectation::new(circuit, [observable]).unwrap()
}

fn all() -> [Optimizer; 6] {
    [
        Adam::default().into(),
        NaturalGradient { step: 0.2, damping: 1e-3 }.into(),
        Lbfgs::default().into(),
        NewtonCg::default().into(),
        NelderMead::default().into(),
        Spsa::default().with_step(Some(0.3)).with_width(Some(0.01)).with_stability(100.0).into(),
    ]
}

#[test]
fn molecules_have_the_energies_that_their_files_say() {
    for (sum, n, hartree_fock, exact) in [
        (problem::h2(), 4, -1.116_684_387, -1.137_270_175),
        (problem::lih(), 6, -7.862_026_959, -7.881_146_469),
    ] {
        assert!((ground(&sum, n) - exact).abs() < 2e-9);
        let occupied = Circuit::build(n, |c| c.x([0, 1])).unwrap();
        let value: f64 = energy(occupied, sum).value(&[]).unwrap();
        assert!((value - hartree_fock).abs() < 2e-9, "{value}");
    }
}

#[test]
fn every_optimizer_finds_the_ground_state_of_hydrogen() {
    let exact = ground(&problem::h2(), 4);
    let energy = energy(ansatz::uccsd(4, 2).unwrap(), problem::h2());
    let start = random_start(3, 0.1, 1);
    for optimizer in all() {
        let (end, stop) = minimize(&energy, &start, &optimizer, &Stopping::default()).unwrap();
        // Differences over a width are no derivatives: what they are off keeps the last one on the
        // move.
        let may_go_on = matches!(optimizer, Optimizer::Spsa(_)) && stop == StopReason::Iterations;
        assert!(stop.converged() || may_go_on, "{optimizer:?}: {stop}");
        assert!((end.best.1 - exact).abs() < EXACT, "{optimizer:?}: {} {exact}", end.best.1);
        assert!(end.best.1 >= exact - ROUNDING, "no energy is below the ground energy");
        assert_eq!(end.values.len(), end.iterations + 1);
    }
}

#[test]
fn deflation_finds_the_excited_states() {
    // E + 3 |<phi|psi>|^2 for each state phi that was found: the levels of two spins, by
    // diagonalisation.
    let sum: PauliSum = "0.5 Z0 Z1 + 0.3 X0 + 0.2 X1 - 0.4 Y0 Y1".parse().unwrap();
    let levels: Vec<f64> =
        Simulator::new().lowest(&sum, 2, 3).unwrap().iter().map(|level| level.energy).collect();
    let circuit = ansatz::hardware_efficient(2, 2).unwrap();
    let mut observables = vec![Observable::from(sum)];
    for (k, level) in levels.iter().enumerate() {
        let energy = Expectation::new(circuit.clone(), observables.clone()).unwrap();
        let from = |seed| {
            let start = random_start(12, PI, seed);
            minimize(&energy, &start, &Optimizer::from(Lbfgs::default()), &Stopping::default())
                .unwrap()
                .0
                .best
        };
        let best = (0..3).map(from).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert!((best.1 - level).abs() < EXACT, "{k}: {} {level}", best.1);
        let found = Simulator::new().run(&circuit, &best.0).unwrap().into_amplitudes();
        let scaled = found.into_iter().map(|a| a * 3.0f64.sqrt()).collect();
        observables.push(Observable::Overlap(StateVector::from_vector(scaled).unwrap().into()));
    }
}

#[test]
fn the_ground_state_of_lithium_hydride_is_found_within_chemical_accuracy() {
    let exact = ground(&problem::lih(), 6);
    let energy = energy(ansatz::uccsd(6, 2).unwrap(), problem::lih());
    let optimizer = Optimizer::from(Lbfgs::default());
    let (end, stop) = minimize(&energy, &[0.0; 8], &optimizer, &Stopping::default()).unwrap();
    assert!(stop.converged() && (end.value - exact).abs() < 1e-4, "{} {exact}", end.value);
}

#[test]
fn a_hardware_efficient_ansatz_finds_the_ground_state_of_an_ising_chain() {
    let sum = problem::ising(3, 1.0, 0.7, false).unwrap();
    let exact = ground(&sum, 3);
    let circuit = ansatz::hardware_efficient(3, 2).unwrap();
    let start = random_start(circuit.inputs().count(), PI, 5);
    let energy = energy(circuit, sum);
    let optimizer = Optimizer::from(Lbfgs::default());
    let (end, _) = minimize(&energy, &start, &optimizer, &Stopping::default()).unwrap();
    assert!((end.value - exact).abs() < EXACT, "{} {exact}", end.value);
}

#[test]
fn chains_have_the_energies_of_the_textbooks() {
    // Free fermions: P. Pfeuty, Ann. Phys. 57, 79 (1970).
    for (n, j, h) in [(4, 1.0, 0.5), (6, 0.8, 1.3), (8, 1.0, 1.0)] {
        let mode = |m: usize| {
            let k = PI * (2 * m + 1) as f64 / n as f64;
            (j * j + h * h - 2.0 * j * h * k.cos()).sqrt()
        };
        let exact = -(0..n).map(mode).sum::<f64>();
        let found = ground(&problem::ising(n, j, h, true).unwrap(), n);
        assert!((found - exact).abs() < 1e-10, "{n}: {found} {exact}");
    }
    // Four spins on a ring: two triplets make a singlet, -2 J in spins, -8 in Pauli operators.
    let ring = problem::heisenberg(4, [1.0; 3], true).unwrap();
    assert!((ground(&ring, 4) + 8.0).abs() < 1e-12);
    // Two spins: the singlet.
    assert!((ground(&problem::heisenberg(2, [1.0; 3], true).unwrap(), 2) + 3.0).abs() < 1e-12);
}

#[test]
fn exponentials_of_pauli_strings_are_rotations() {
    let theta = 0.83f64;
    for text in ["X1", "Y0", "Z2", "X0 Y1", "Y0 Z2", "X0 Y1 Z2", "Y0 Y1 Y2"] {
        let sum: PauliSum = text.parse().unwrap();
        let string = &sum.terms()[0].1;
        let mut circuit = Circuit::new(3);
        for q in 0..3 {
            circuit.u3(q, 0.4 + q as f64, 0.9, -0.3).unwrap();
        }
        let before = Simulator::new().run::<f64>(&circuit, &[]).unwrap();
        let angle = circuit.param("theta");
        circuit.pauli_rotation(string, angle).unwrap();
        let after = Simulator::new().run(&circuit, &[theta]).unwrap();
        for i in 0..8 {
            let (j, phase) = image(string, i);
            // P is its own inverse, so amplitude i of P psi is the conjugate phase times that of j.
            let expected = before.amplitudes()[i] * (0.5 * theta).cos()
                - Complex::i() * (0.5 * theta).sin() * phase.conj() * before.amplitudes()[j];
            assert!((after.amplitudes()[i] - expected).norm() < ROUNDING, "{text} {i}");
        }
    }
}

#[test]
fn excitations_keep_the_electrons_and_their_spins() {
    let circuit = ansatz::uccsd(6, 3).unwrap();
    let at = random_start(circuit.inputs().count(), 1.0, 3);
    let state = Simulator::new().run(&circuit, &at).unwrap();
    let spread = state.amplitudes().iter().filter(|a| a.norm() > 1e-6).count();
    // Two up in 3 orbitals and one down in 3: 9 states.
    assert_eq!(spread, 9);
    for (i, amplitude) in state.amplitudes().iter().enumerate() {
        let spins = ((i & 0b01_0101).count_ones(), (i & 0b10_1010).count_ones());
        assert!(spins == (2, 1) || amplitude.norm() < ROUNDING, "{i:06b}");
    }
}

#[test]
fn strings_of_an_excitation_share_their_chain() {
    let circuit = ansatz::uccsd(8, 4).unwrap().decomposed();
    let generators = ansatz::excitations(8, 4).unwrap();
    let mut apart = Circuit::new(8);
    (0..4).for_each(|q| _ = apart.x(q).unwrap());
    for (k, generator) in generators.iter().enumerate() {
        for (coefficient, string) in generator.terms() {
            let mut one = Circuit::new(8);
            let angle = one.param(&format!("theta[{k}]")) * *coefficient;
            one.pauli_rotation(string, angle).unwrap();
            apart.append(&one.decomposed(), &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        }
    }
    let at = random_start(generators.len(), 1.0, 5);
    let [a, b] = [&circuit, &apart].map(|c| Simulator::new().run(c, &at).unwrap());
    assert!(a.amplitudes().iter().zip(b.amplitudes()).all(|(a, b)| (a - b).norm() < ROUNDING));
    let gates = |c: &Circuit| c.instructions().iter().filter(|i| i.qubits().count() == 2).count();
    assert!(10 * gates(&circuit) < 9 * gates(&apart), "{} of {}", gates(&circuit), gates(&apart));
}

/// The icosahedron: 12 vertices, 30 edges, two triangles at each edge.
fn icosahedron() -> Graph {
    let golden = (1.0 + 5.0f64.sqrt()) / 2.0;
    let corners: Vec<[f64; 3]> = (0..12)
        .map(|k| {
            let (a, b) =
                (if k & 1 == 0 { 1.0 } else { -1.0 }, if k & 2 == 0 { golden } else { -golden });
            let mut corner = [0.0, a, b];
            corner.rotate_right(k / 4);
            corner
        })
        .collect();
    let near =
        |a: &[f64; 3], b: &[f64; 3]| (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>() < 4.5;
    let pairs = (0..12).flat_map(|a| (a + 1..12).map(move |b| (a, b)));
    let edges = pairs.filter(|&(a, b)| near(&corners[a], &corners[b]));
    Graph::new(12, edges.map(|(a, b)| (a, b, 1.0))).unwrap()
}

/// The expected cut at one layer. Z. Wang, S. Hadfield, Z. Jiang, E. Rieffel, Phys. Rev. A 97,
/// 022304 (2018), equation 14.
fn one_layer(graph: &Graph, gamma: f64, beta: f64) -> f64 {
    let joined = |a, b| graph.edges().iter().any(|e| (e.0, e.1) == (a, b) || (e.1, e.0) == (a, b));
    let degree = |v| (0..graph.n_vertices()).filter(|&u| joined(u, v)).count() as i32;
    let edge = |&(u, v, _): &(usize, usize, f64)| {
        let (d, e) = (degree(u) - 1, degree(v) - 1);
        let f = (0..graph.n_vertices()).filter(|&w| joined(u, w) && joined(v, w)).count() as i32;
        let c = gamma.cos();
        0.5 + 0.25 * (4.0 * beta).sin() * gamma.sin() * (c.powi(d) + c.powi(e))
            - 0.25
                * (2.0 * beta).sin().powi(2)
                * c.powi(d + e - 2 * f)
                * (1.0 - (2.0 * gamma).cos().powi(f))
    };
    graph.edges().iter().map(edge).sum()
}

/// The largest value of the closed form, by a grid that becomes finer.
fn best_of_one_layer(graph: &Graph) -> f64 {
    let (mut at, mut best) = ([PI / 2.0, PI / 4.0], f64::NEG_INFINITY);
    let mut width = [PI / 2.0, PI / 4.0];
    for _ in 0..12 {
        let centre = at;
        for i in -20i32..=20 {
            for j in -20i32..=20 {
                let [gamma, beta] = [
                    centre[0] + width[0] * f64::from(i) / 20.0,
                    centre[1] + width[1] * f64::from(j) / 20.0,
                ];
                let cut = one_layer(graph, gamma, beta);
                if cut > best {
                    (best, at) = (cut, [gamma, beta]);
                }
            }
        }
        width = width.map(|w| 0.15 * w);
    }
    best
}

#[test]
fn qaoa_reaches_the_optimum_of_its_closed_form() {
    let graph = icosahedron();
    assert_eq!(graph.edges().len(), 30);
    // By trying all 4096 cuts, which are also the diagonal of the Hamiltonian.
    let (largest, side) = graph.largest_cut().unwrap();
    assert_eq!((largest, graph.cut(side)), (20.0, 20.0));
    let cut = problem::max_cut(&graph).unwrap();
    let diagonal = |i: usize| cut.terms().iter().map(|(c, s)| c * image(s, i).1.re).sum::<f64>();
    assert!((0..1 << 12).all(|i| (diagonal(i) + graph.cut(i)).abs() < ROUNDING));

    let energy = energy(ansatz::qaoa(&graph, 1).unwrap(), cut);
    let best = best_of_one_layer(&graph);
    let minimize = |start: &[f64]| {
        minimize(&energy, start, &Lbfgs::default().into(), &Stopping::default()).unwrap()
    };
    let (end, stop) = minimize(&[0.3, 0.3]);
    assert!(stop.converged() && (end.value + best).abs() < 1e-9, "{} {best}", end.value);
    // No start leads beyond it, and every point has the value of the closed form.
    for seed in 0..4 {
        let start = random_start(2, PI, seed);
        let value = energy.value(&start).unwrap();
        assert!((value + one_layer(&graph, start[0], start[1])).abs() < 1e-11, "{start:?}");
        assert!(-minimize(&start).0.value < best + 1e-9);
    }
}

#[test]
fn weights_that_are_no_fractions_are_differentiated() {
    let graph: Graph = "0 1 0.3\n1 2 -1.7\n0 2 0.5\n2 3".parse().unwrap();
    let circuit = ansatz::qaoa(&graph, 2).unwrap();
    assert_eq!(
        circuit.inputs().collect::<Vec<_>>(),
        ["gamma[0]", "gamma[1]", "beta[0]", "beta[1]"]
    );
    let energy = energy(circuit, problem::max_cut(&graph).unwrap());
    let at: [f64; 4] = [0.4, -0.9, 0.3, 1.1];
    let (_, gradient) = energy.value_and_gradient(&at).unwrap();
    for method in [Method::Forward, Method::Shift] {
        let (_, other) = energy.gradient_by(method, &at).unwrap();
        assert!(gradient.iter().zip(&other).all(|(x, y)| (x - y).abs() < 1e-11), "{method}");
    }
}

#[test]
fn deeper_circuits_do_not_cut_less() {
    let ring = Graph::new(6, (0..6).map(|k| (k, (k + 1) % 6, 1.0))).unwrap();
    let mut previous = 0.0;
    for layers in 1..=3 {
        let energy = energy(ansatz::qaoa(&ring, layers).unwrap(), problem::max_cut(&ring).unwrap());
        let start: Vec<f64> = (0..2 * layers).map(|k| 0.4 + 0.1 * k as f64).collect();
        let (end, _) =
            minimize(&energy, &start, &Lbfgs::default().into(), &Stopping::default()).unwrap();
        // A ring of 2p + 2 and more cuts (2p + 1) / (2p + 2): arXiv:1411.4028, section IV. At p = n
        // / 2 it is all.
        let share =
            if layers == 3 { 1.0 } else { (2 * layers + 1) as f64 / (2 * layers + 2) as f64 };
        assert!((-end.value - 6.0 * share).abs() < EXACT, "{layers}: {}", end.value);
        assert!(-end.value > previous);
        previous = -end.value;
    }
}

/// A function on floats with its gradient.
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

#[test]
fn the_valley_of_rosenbrock_is_followed_to_its_end() {
    let valley = Plain(|x: &[f64]| {
        let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
        (a * a + 100.0 * b * b, vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b])
    });
    let most = [("adam", 30_000), ("natural", 0), ("lbfgs", 60), ("newton", 150), ("simplex", 200)];
    for (optimizer, (name, iterations)) in all().into_iter().zip(most).filter(|(_, m)| m.1 > 0) {
        let stopping = Stopping::default().with_iterations(iterations);
        let (end, stop) = minimize(&valley, &[-1.2, 1.0], &optimizer, &stopping).unwrap();
        assert!(stop.converged(), "{name}: {stop}, {}", end.value);
        assert!(end.best.0.iter().all(|x| (x - 1.0).abs() < 1e-4), "{name}: {:?}", end.best);
    }
}

#[test]
fn the_natural_gradient_steps_by_the_metric() {
    // Without a metric of its own a function has the identity: gradient descent.
    let bowl = Plain(|x: &[f64]| (x[0] * x[0] + 3.0 * x[1] * x[1], vec![2.0 * x[0], 6.0 * x[1]]));
    let optimizer = Optimizer::from(NaturalGradient { step: 0.1, damping: 1e-12 });
    let mut state = optimizer.start(&bowl, &[1.0, 1.0]).unwrap();
    optimizer.step(&bowl, &mut state).unwrap();
    assert!((state.x[0] - 0.8).abs() < 1e-10 && (state.x[1] - 0.4).abs() < 1e-10, "{:?}", state.x);
    // RZ(b) RY(a) |0> has the metric (1, sin(a)^2) / 4, and <X> = sin(a) cos(b).
    let mut circuit = Circuit::new(1);
    let (a, b) = (circuit.param("a"), circuit.param("b"));
    circuit.ry(0, a).unwrap().rz(0, b).unwrap();
    let energy = energy(circuit, "X0".parse().unwrap());
    let (a, b) = (0.7f64, 0.4f64);
    let mut state = optimizer.start(&energy, &[a, b]).unwrap();
    optimizer.step(&energy, &mut state).unwrap();
    let expected = [a - 0.4 * a.cos() * b.cos(), b + 0.4 * b.sin() / a.sin()];
    assert!(
        state.x.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-9),
        "{:?} {expected:?}",
        state.x
    );
}

#[test]
fn the_first_steps_of_adam_are_those_of_the_paper() {
    // The first step is as long as `step` along each input, whatever the gradient.
    let bowl = Plain(|x: &[f64]| (x[0] * x[0] + 3.0 * x[1] * x[1], vec![2.0 * x[0], 6.0 * x[1]]));
    let settings = Adam::default().with_step(0.25);
    let optimizer = Optimizer::from(settings);
    let mut state = optimizer.start(&bowl, &[1.0, -1.0]).unwrap();
    optimizer.step(&bowl, &mut state).unwrap();
    assert!((state.x[0] - 0.75).abs() < 1e-8 && (state.x[1] + 0.75).abs() < 1e-8);
    optimizer.step(&bowl, &mut state).unwrap();
    let (g, h) = (2.0, 1.5);
    let mean = (0.9 * 0.1 * g + 0.1 * h) / (1.0 - 0.81);
    let square = (0.999 * 0.001 * g * g + 0.001 * h * h) / (1.0 - 0.999 * 0.999);
    assert!((state.x[0] - (0.75 - 0.25 * mean / f64::sqrt(square))).abs() < 1e-8, "{:?}", state.x);
    // With other numbers than the paper's, along both inputs.
    let (step, b1, b2, epsilon) = (0.5, 0.6, 0.7, 0.125);
    let settings =
        Adam::default().with_step(step).with_beta1(b1).with_beta2(b2).with_epsilon(epsilon);
    let optimizer = Optimizer::from(settings);
    let mut state = optimizer.start(&bowl, &[1.0, -1.0]).unwrap();
    optimizer.step(&bowl, &mut state).unwrap();
    optimizer.step(&bowl, &mut state).unwrap();
    for (k, (start, slope)) in [(1.0, 2.0), (-1.0, 6.0)].into_iter().enumerate() {
        let g: f64 = slope * start;
        let between = start - step * g / (g.abs() + epsilon);
        let h = slope * between;
        let mean = (b1 * (1.0 - b1) * g + (1.0 - b1) * h) / (1.0 - b1 * b1);
        let square = (b2 * (1.0 - b2) * g * g + (1.0 - b2) * h * h) / (1.0 - b2 * b2);
        let expected = between - step * mean / (square.sqrt() + epsilon);
        assert!((state.x[k] - expected).abs() < 1e-14, "{} {expected}", state.x[k]);
    }
}

#[test]
fn simultaneous_perturbation_steps_along_one_direction() {
    let bowl = Plain(|x: &[f64]| (x[0] * x[0] + 3.0 * x[1] * x[1], vec![f64::NAN; 2]));
    let (runs, at) = (2000, [1.0, -0.5]);
    let mut mean = [0.0; 2];
    for seed in 0..runs {
        let settings = Spsa::default()
            .with_step(Some(0.25))
            .with_width(Some(0.1))
            .with_stability(9.0)
            .with_seed(seed);
        let optimizer = Optimizer::from(settings);
        let mut state = optimizer.start(&bowl, &at).unwrap();
        // Central differences of a square are exact: along d it is (2, -3) d.
        let d = if state.gradient[0].signum() == state.gradient[1].signum() {
            [1.0, 1.0]
        } else {
            [1.0, -1.0]
        };
        let slope = 2.0 * d[0] - 3.0 * d[1];
        assert!(
            state.gradient.iter().zip(d).all(|(g, d)| (g - slope * d).abs() < 1e-12),
            "{state:?}"
        );
        assert_eq!((state.value, state.evaluations), (1.75, 3));
        mean.iter_mut().zip(&state.gradient).for_each(|(m, g)| *m += g / runs as f64);
        let before = state.clone();
        for k in 0..2 {
            let (x, g) = (state.x.clone(), state.gradient.clone());
            optimizer.step(&bowl, &mut state).unwrap();
            let step = 0.25 * (10.0 / (10.0 + f64::from(k))).powf(0.602);
            assert!((0..2).all(|i| (state.x[i] - (x[i] - step * g[i])).abs() < 1e-15));
        }
        // A state is all that a step depends on.
        let mut again = before;
        (0..2).for_each(|_| optimizer.step(&bowl, &mut again).unwrap());
        assert_eq!(again, state);
    }
    assert!((mean[0] - 2.0).abs() < 0.2 && (mean[1] + 3.0).abs() < 0.2, "{mean:?}");
}

#[test]
fn measured_energies_are_minimised() {
    let energy = energy(ansatz::uccsd(4, 2).unwrap(), problem::h2());
    let measured = Measured { energy: &energy, shots: Shots::new(4000, 5) };
    let stopping = Stopping::default().with_iterations(60);
    for optimizer in [Optimizer::from(Spsa::default()), Adam::default().with_step(0.02).into()] {
        let (end, _) = minimize(&measured, &[0.0; 3], &optimizer, &stopping).unwrap();
        // The least is -1.1373, the start -1.1167.
        let value: f64 = energy.value(&end.x).unwrap();
        assert!(value < -1.13, "{optimizer:?}: {value}");
        assert_eq!(end.value, measured.value(&end.x).unwrap(), "one value at a point");
        assert_eq!(end, minimize(&measured, &[0.0; 3], &optimizer, &stopping).unwrap().0);
    }
}

#[test]
fn threads_change_no_step() {
    let graph = Graph::new(14, (0..14).map(|k| (k, (k + 1) % 14, 1.0 + k as f64))).unwrap();
    let run = |threads: Threads| {
        let simulator = Simulator::new().with_threads(threads);
        let energy = energy(ansatz::qaoa(&graph, 1).unwrap(), problem::max_cut(&graph).unwrap());
        let stopping = Stopping::default().with_iterations(4);
        let optimizer = Optimizer::from(NewtonCg::default());
        minimize(&energy.with_simulator(simulator), &[0.1, 0.2], &optimizer, &stopping).unwrap().0
    };
    assert_eq!(run(Threads::serial()), run(Threads::new(3).unwrap()));
}

#[test]
fn what_cannot_be_minimised_is_refused_in_words() {
    let mut circuit = Circuit::new(1);
    let a = circuit.param("a");
    circuit.ry(0, a).unwrap();
    let energy = energy(circuit, "Z0".parse().unwrap());
    let optimizer = Optimizer::from(Lbfgs::default());
    let error = optimizer.start(&energy, &[f64::NAN]).unwrap_err();
    assert_eq!(error.to_string(), "input 0 of the start is NaN, not a finite number");
    let error = optimizer.start(&energy, &[0.1, 0.2]).unwrap_err();
    assert!(matches!(error, OptimizeError::Objective(HybridError::Simulate(_))), "{error}");
    let wrong: [(Optimizer, &str); 6] = [
        (Adam::default().with_step(-1.0).into(), "`step` is -1, expected a finite number above 0"),
        (
            Adam::default().with_beta2(1.0).into(),
            "`beta2` is 1, expected a number from 0 to below 1",
        ),
        (
            Lbfgs::default().with_memory(0).into(),
            "`memory` is 0, expected a whole number of at least 1",
        ),
        (
            NelderMead::default().with_step(f64::INFINITY).into(),
            "`step` is inf, expected a finite number above 0",
        ),
        (
            Spsa::default().with_width(Some(0.0)).into(),
            "`width` is 0, expected a finite number above 0",
        ),
        (
            Spsa::default().with_stability(-1.0).into(),
            "`stability` is -1, expected a finite number from 0 on",
        ),
    ];
    for (optimizer, words) in wrong {
        assert_eq!(optimizer.start(&energy, &[0.1]).unwrap_err().to_string(), words);
    }
    // A function that ends: the state stays where it was.
    let log = Plain(|x: &[f64]| (-x[0].ln(), vec![-1.0 / x[0]]));
    let optimizer = Optimizer::from(Adam::default().with_step(2.0));
    let root = Plain(|x: &[f64]| (x[0].sqrt(), vec![0.5 / x[0].sqrt()]));
    let mut state = optimizer.start(&root, &[1.0]).unwrap();
    let before = state.clone();
    let error = optimizer.step(&root, &mut state).unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), &state),
        ("the value is NaN, not a finite number", &before)
    );
    // No minimum: the iterations end it.
    let stopping = Stopping::default().with_iterations(5);
    let (end, stop) = minimize(&log, &[1.0], &optimizer, &stopping).unwrap();
    assert_eq!((end.iterations, stop, stop.converged()), (5, StopReason::Iterations, false));
    // A gradient with the wrong sign: no step leads down.
    let liar = Plain(|x: &[f64]| (x[0] * x[0], vec![-2.0 * x[0]]));
    for optimizer in [Optimizer::from(Lbfgs::default()), NewtonCg::default().into()] {
        let (end, stop) = minimize(&liar, &[1.0], &optimizer, &Stopping::default()).unwrap();
        assert_eq!((stop, end.x.as_slice()), (StopReason::Stalled, [1.0].as_slice()));
    }
}

#[test]
fn a_circuit_without_inputs_is_at_its_minimum() {
    let energy = energy(Circuit::build(1, |c| c.x(0)).unwrap(), "Z0".parse().unwrap());
    for optimizer in all() {
        let (end, stop) = minimize(&energy, &[], &optimizer, &Stopping::default()).unwrap();
        assert_eq!((end.value, end.iterations, stop.converged()), (-1.0, 0, true), "{optimizer:?}");
    }
}

#[test]
fn a_step_to_where_there_is_no_value_is_made_shorter() {
    // x - ln x is least at 1; a first step from 5 or 100 may lead below 0.
    let barrier = Plain(|x: &[f64]| (x[0] - x[0].ln(), vec![1.0 - 1.0 / x[0]]));
    for optimizer in [
        Optimizer::from(Lbfgs::default()),
        NewtonCg::default().into(),
        NelderMead::default().into(),
    ] {
        for start in [0.01, 5.0, 100.0] {
            let (end, stop) =
                minimize(&barrier, &[start], &optimizer, &Stopping::default()).unwrap();
            assert!(
                stop.converged() && (end.x[0] - 1.0).abs() < 1e-5,
                "{optimizer:?} {start} {end:?}"
            );
        }
    }
    // No shorter step helps: the value is named. Nothing is below minus infinity.
    let nowhere = Plain(|x: &[f64]| (if x[0] == 1.0 { 0.0 } else { f64::NAN }, vec![1.0]));
    let bottomless =
        Plain(|x: &[f64]| (if x[0] < 1.0 { f64::NEG_INFINITY } else { x[0] }, vec![1.0]));
    for optimizer in [Optimizer::from(Lbfgs::default()), NewtonCg::default().into()] {
        let error = minimize(&nowhere, &[1.0], &optimizer, &Stopping::default()).unwrap_err();
        assert_eq!(error.to_string(), "the value is NaN, not a finite number");
        let error = minimize(&bottomless, &[2.0], &optimizer, &Stopping::default()).unwrap_err();
        assert_eq!(error.to_string(), "the value is -inf, not a finite number");
    }
}

#[test]
fn derivatives_of_another_number_than_the_inputs_are_refused() {
    for (n, words) in
        [(1, "gives 1 derivatives, expected 2"), (3, "gives 3 derivatives, expected 2")]
    {
        let f = Plain(move |x: &[f64]| (x[0] * x[0], vec![2.0 * x[0]; n]));
        for optimizer in all() {
            if matches!(optimizer, Optimizer::NelderMead(_) | Optimizer::Spsa(_)) {
                continue;
            }
            let error = optimizer.start(&f, &[1.0, 2.0]).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}

#[test]
fn an_optimizer_goes_on_from_the_state_of_another() {
    let bowl = Plain(|x: &[f64]| (x[0] * x[0] + 3.0 * x[1] * x[1], vec![2.0 * x[0], 6.0 * x[1]]));
    for first in all() {
        for second in all() {
            let mut state = first.start(&bowl, &[1.0, -0.5]).unwrap();
            (0..3).for_each(|_| first.step(&bowl, &mut state).unwrap());
            (0..300).for_each(|_| second.step(&bowl, &mut state).unwrap());
            assert_eq!(state.x.len(), 2);
            assert!(state.value < 1e-2, "{first:?} {second:?} {state:?}");
        }
    }
    // What does not fit the inputs is forgotten.
    let simplex = Optimizer::from(NelderMead::default());
    let mut state = simplex.start(&bowl, &[1.0, -0.5]).unwrap();
    state.memory = Memory::Simplex(Vec::new());
    simplex.step(&bowl, &mut state).unwrap();
    assert!(matches!(state.memory, Memory::Simplex(corners) if corners.len() == 3));
}

#[test]
fn graphs_have_any_number_of_vertices_and_edges() {
    let long = Graph::new(100, [(0, 99, 1.5), (1, 2, 1.0)]).unwrap();
    assert_eq!((long.cut(1), long.cut(0b100), long.cut(0)), (1.5, 1.0, 0.0));
    assert_eq!(Graph::default().largest_cut(), Some((0.0, 0)));
    assert_eq!(Graph::new(1, []).unwrap().largest_cut(), Some((0.0, 1)));
    // A chain: quick, however many edges there are.
    let n = 200_000;
    let chain = Graph::new(n + 1, (0..n).map(|k| (k, k + 1, 1.0))).unwrap();
    assert_eq!(chain.edges().len(), n);
    assert!(Graph::new(n + 1, (0..n).map(|k| (k, k + 1, 1.0)).chain([(7, 6, 1.0)])).is_err());
}

/// A strength of noise is found where it is best: inside of its interval and at its ends.
#[test]
fn strengths_of_noise_stay_probabilities() {
    // Of |1> amplitude damping leaves <Z> = 2 g - 1; with a second strength 1 - p/2 the flips go
    // from 1/2 to 1.
    let mut circuit = Circuit::new(2);
    let (g, p, t) = (circuit.param("g"), circuit.param("p"), circuit.param("t"));
    circuit.x(0).unwrap().amplitude_damping(0, &g).unwrap();
    circuit.bit_flip(1, -&p / 2 + 1.0).unwrap().phase_damping(1, &g).unwrap().rx(1, t).unwrap();
    let intervals = Intervals(circuit.intervals());
    assert_eq!(intervals.0, [Some([0.0, 1.0]), Some([0.0, 2.0]), None]);
    let outside = intervals.start(&[0.5, 2.5, 7.0]).unwrap_err();
    assert_eq!(outside.to_string(), "input 1 begins at 2.5, expected a number from 0 to 2");
    // At an end the start is a little inside; what has no interval is as it was.
    let start = intervals.start(&[1.0, 0.0, 7.0]).unwrap();
    let x = intervals.inputs(&start);
    assert!(
        (x[0] - 1.0).abs() < 2e-4 && x[1].abs() < 3e-4 && x[2] == 7.0 && x[0] < 1.0 && x[1] > 0.0,
        "{x:?}"
    );

    // The square of what the value is off 0.2 is smallest between the ends.
    let z: PauliSum = "Z0 - 0.5*Z1".parse().unwrap();
    let energy = Expectation::new(circuit, [z]).unwrap();
    struct Squared(Expectation);
    impl Objective for Squared {
        type Error = HybridError;
        fn value(&self, x: &[f64]) -> Result<f64, HybridError> {
            Ok(self.value_and_gradient(x)?.0)
        }
        fn value_and_gradient(&self, x: &[f64]) -> Result<(f64, Vec<f64>), HybridError> {
            let (value, gradient) = self.0.value_and_gradient(x)?;
            let off = value - 0.2;
            Ok((off * off, gradient.iter().map(|g| 2.0 * off * g).collect()))
        }
    }
    for optimizer in [
        Optimizer::from(Lbfgs::default()),
        NewtonCg::default().into(),
        NelderMead::default().into(),
    ] {
        let start = intervals.start(&[0.3, 1.0, 0.0]).unwrap();
        // The smallest value of all: g = 0, and <Z1> = 1 at p = 2 or, turned by pi, -1 at p = 0.
        let lowest = Within::new(energy.clone(), intervals.clone());
        let (end, _) = minimize(&lowest, &start, &optimizer, &Stopping::default()).unwrap();
        let x = intervals.inputs(&end.x);
        assert!(
            (end.value + 1.5).abs() < 1e-6 && x[0] < 1e-6,
            "{optimizer:?}: {} at {x:?}",
            end.value
        );
        let inside = Within::new(Squared(energy.clone()), intervals.clone());
        let (end, _) = minimize(&inside, &start, &optimizer, &Stopping::default()).unwrap();
        assert!(end.value < 1e-10, "{optimizer:?}: {}", end.value);
    }
    // The products of the Hessian are the changes of the gradient.
    let within = Within::new(energy, intervals);
    let (u, v) = ([0.7, 0.4, 0.3], [0.2, -0.5, 1.0]);
    let at = |t: f64| {
        let u: Vec<f64> = u.iter().zip(v).map(|(u, v)| u + t * v).collect();
        within.value_and_gradient(&u).unwrap().1
    };
    let product = within.hessian_product(&u, &v).unwrap();
    for (exact, (up, down)) in product.iter().zip(at(1e-5).iter().zip(at(-1e-5))) {
        assert!((exact - (up - down) / 2e-5).abs() < 1e-8, "{exact}");
    }
}

/// At an inflection the curvature is rounding, and a step by it would be anywhere.
#[test]
fn newtons_method_stays_near_at_an_inflection() {
    let mut circuit = Circuit::new(1);
    let t = circuit.param("t");
    circuit.ry(0, t).unwrap();
    let energy = energy(circuit, "Z0".parse().unwrap());
    let (end, stop) =
        minimize(&energy, &[PI / 2.0], &NewtonCg::default().into(), &Stopping::default()).unwrap();
    assert!(stop.converged() && (end.x[0] - PI).abs() < 1e-6, "{stop:?} at {:?}", end.x);
}
