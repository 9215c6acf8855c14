//! Levels of Hamiltonians and evolution in time without a matrix, against matrices, closed forms
//! and product formulas.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    ansatz::evolution,
    basis::BasisError,
    circuit::Circuit,
    kernel::Threads,
    observable::{Pauli, PauliSum},
    problem,
    scalar::{Scalar, Uncertain},
    simulate::{Eigenstate, SimulateError, Simulator},
    state::{StateError, StateVector},
};
use nalgebra::DMatrix;
use num_complex::Complex;
use num_dual::{Dual2_64, Dual64};
use support::{
    close::{assert_close, distance},
    random::Rng,
    reference::{self, times_vector},
};

type C = Complex<f64>;
type State = StateVector<C>;

/// Of energies and amplitudes: roundings of up to a thousand sums of numbers of size 1 to 30.
const SUMS: f64 = 1e-11;

fn serial() -> Threads {
    Threads::serial()
}

fn random_sum(n: usize, terms: usize, seed: u64) -> PauliSum {
    let mut rng = Rng::new(seed);
    let mut sum = PauliSum::default();
    for _ in 0..terms {
        let letters = [None, Some(Pauli::X), Some(Pauli::Y), Some(Pauli::Z)];
        let string: Vec<_> = (0..n).filter_map(|q| Some((q, letters[rng.below(4)]?))).collect();
        sum.push(rng.signed(), string).unwrap();
    }
    sum
}

/// All eigenvalues and eigenvectors by a dense matrix.
fn dense(sum: &PauliSum, n: usize) -> (Vec<f64>, DMatrix<C>) {
    let rows = reference::pauli_sum(sum, n);
    let eigen = DMatrix::from_fn(1 << n, 1 << n, |i, j| rows[i][j]).symmetric_eigen();
    (eigen.eigenvalues.iter().copied().collect(), eigen.eigenvectors)
}

/// `exp(-i H t) psi` by eigenvectors.
fn evolved(sum: &PauliSum, psi: &State, t: f64) -> Vec<C> {
    let (energies, v) = dense(sum, psi.n_qubits());
    let psi = nalgebra::DVector::from_column_slice(psi.amplitudes());
    let mut along = v.adjoint() * psi;
    along.iter_mut().zip(&energies).for_each(|(a, e)| *a *= C::from_polar(1.0, -e * t));
    (v * along).iter().copied().collect()
}

#[test]
fn a_sum_applied_is_its_matrix_times_the_state() {
    // Blocks of the loops hold 11 qubits: masks within them, beyond them, and both.
    for (n, seed) in [(1, 1), (3, 2), (5, 3), (13, 4), (12, 5)] {
        let mut sum = random_sum(n, 6, seed);
        if seed == 5 {
            // Many strings of one mask, as molecules have.
            let mut rng = Rng::new(seed);
            for _ in 0..200 {
                let z = (1..n).filter(|_| rng.unit() < 0.4).map(|q| (q, Pauli::Z));
                let string: Vec<_> = z.chain([(0, Pauli::X)]).collect();
                sum.push(rng.signed() / 50.0, string).unwrap();
            }
        }
        let psi = State::random(n, seed, &serial()).unwrap();
        let got = psi.applied(&sum, &Threads::new(2).unwrap()).unwrap();
        let mut expected = vec![C::new(0.0, 0.0); 1 << n];
        for (c, string) in sum.terms() {
            for (i, a) in psi.amplitudes().iter().enumerate() {
                let (mut j, mut a) = (i, a * c);
                for &(q, pauli) in string.factors() {
                    let bit = i >> q & 1 == 1;
                    match pauli {
                        Pauli::Z if bit => a = -a,
                        Pauli::Z => {}
                        Pauli::X => j ^= 1 << q,
                        Pauli::Y => {
                            a *= C::new(0.0, if bit { -1.0 } else { 1.0 });
                            j ^= 1 << q;
                        }
                    }
                }
                expected[j] += a;
            }
        }
        assert_close(got.amplitudes(), &expected, 1e-13, "applied");
        let mean = psi.inner(&got, &serial()).unwrap();
        assert!(
            (mean.re - psi.expectation(&sum, &serial()).unwrap()).abs() < 1e-13
                && mean.im.abs() < 1e-13
        );
        if n < 6 {
            assert_close(
                &times_vector(&reference::pauli_sum(&sum, n), psi.amplitudes()),
                &expected,
                1e-13,
                "",
            );
        }
    }
}

#[test]
fn evolution_is_the_exponential_of_the_matrix() {
    for (n, seed) in [(1, 1), (2, 2), (4, 3), (6, 4)] {
        let mut sum = random_sum(n, 8, seed);
        sum.push(0.7, []).unwrap();
        let start = State::random(n, seed, &serial()).unwrap();
        for t in [0.0, 1e-300, 1e-9, 0.01, 0.3, -0.3, 1.0, 7.0, -40.0, 300.0] {
            let mut state = start.clone();
            state.evolve(&sum, &t, &serial()).unwrap();
            let off = distance(state.amplitudes(), &evolved(&sum, &start, t));
            // Phases E t are as wrong as the eigenvalues that they are compared with.
            assert!(off < 2e-14 * (1.0 + t.abs()), "n {n}, t {t}: {off:e}");
        }
    }
}

#[test]
fn evolution_composes_and_keeps_norm_and_energy_at_a_real_size() {
    let threads = Threads::new(2).unwrap();
    let sum = problem::heisenberg(14, [0.3, 0.5, 0.7], true).unwrap();
    let start = State::random(14, 5, &threads).unwrap();
    let energy = start.expectation(&sum, &threads).unwrap();
    let mut state = start.clone();
    state.evolve(&sum, &2.0, &threads).unwrap();
    assert!((state.norm2(&threads) - 1.0).abs() < SUMS);
    assert!((state.expectation(&sum, &threads).unwrap() - energy).abs() < SUMS);
    state.evolve(&sum, &-0.75, &threads).unwrap();
    state.evolve(&sum, &-1.25, &serial()).unwrap();
    assert_close(state.amplitudes(), start.amplitudes(), SUMS, "there and back");
}

#[test]
fn product_formulas_come_near_it() {
    let sum = problem::ising(6, 1.0, 0.8, true).unwrap();
    let mut circuit = Circuit::new(6);
    evolution(&mut circuit, &sum, 0.5, 40, 4).unwrap();
    let by_formula = Simulator::new().run::<f64>(&circuit, &[]).unwrap();
    let mut state = State::zero(6).unwrap();
    state.evolve(&sum, &0.5, &serial()).unwrap();
    // Some (0.5/40)^4 times nested commutators of size 100.
    let off = distance(state.amplitudes(), by_formula.amplitudes());
    assert!(off < 1e-7 && off > 1e-12, "{off:e}");
}

/// `d/dt exp(-i H t) psi = -i H psi(t)`, and again; at short, long and no times.
#[test]
fn numbers_of_every_kind_evolve() {
    let sum = random_sum(4, 8, 9);
    let start = State::random(4, 9, &serial()).unwrap();
    for t in [0.0, 1e-6, 0.4, -0.4, 20.0] {
        let mut plain = start.clone();
        plain.evolve(&sum, &t, &serial()).unwrap();
        let first = plain.applied(&sum, &serial()).unwrap();
        let second = first.applied(&sum, &serial()).unwrap();
        let times =
            |state: &State, z: C| state.amplitudes().iter().map(|a| a * z).collect::<Vec<C>>();

        let lifted =
            start.amplitudes().iter().map(|a| Complex::new(a.re.into(), a.im.into())).collect();
        let mut dual = StateVector::<Complex<Dual2_64>>::from_vector(lifted).unwrap();
        dual.evolve(&sum, &Dual2_64::from_re(t).derivative(), &serial()).unwrap();
        let part = |f: &dyn Fn(&Dual2_64) -> f64| -> Vec<C> {
            dual.amplitudes().iter().map(|a| C::new(f(&a.re), f(&a.im))).collect()
        };
        assert_close(&part(&|x| x.re), plain.amplitudes(), 1e-13, "value");
        assert_close(
            &part(&|x| x.v1),
            &times(&first, C::new(0.0, -1.0)),
            1e-12,
            "first derivative",
        );
        assert_close(
            &part(&|x| x.v2),
            &times(&second, C::new(-1.0, 0.0)),
            SUMS,
            "second derivative",
        );
    }

    // The mean of Z after a Rabi oscillation, by a state that carries a derivative, and by a time
    // with an error bar.
    let (x, z): (PauliSum, PauliSum) = ("X0".parse().unwrap(), "Z0".parse().unwrap());
    let angle = Dual64::new(0.3, 1.0);
    let turned = [Complex::from_real((angle * 0.5).cos()), Complex::from_real((angle * 0.5).sin())];
    let mut state = StateVector::from_amplitudes(turned.to_vec()).unwrap();
    state.evolve(&x, &Dual64::from_re(0.7), &serial()).unwrap();
    let mean = state.expectation(&z, &serial()).unwrap();
    assert!((mean.re - 0.3f64.cos() * 1.4f64.cos()).abs() < 1e-15);
    assert!((mean.eps + 0.3f64.sin() * 1.4f64.cos()).abs() < 1e-15);
    let mut state = StateVector::<Complex<Uncertain>>::zero(1).unwrap();
    state.evolve(&x, &Uncertain::new(0.7, 0.01), &serial()).unwrap();
    let mean = state.expectation(&z, &serial()).unwrap();
    assert!((mean.sigma() - 0.02 * 1.4f64.sin()).abs() < 1e-15);

    let mut single = StateVector::<Complex<f32>>::zero(1).unwrap();
    single.evolve(&x, &30.0, &serial()).unwrap();
    assert!((single.expectation(&z, &serial()).unwrap() - 60.0f32.cos()).abs() < 1e-5);
}

#[test]
fn levels_are_those_of_the_matrix() {
    for (n, seed) in [(1, 1), (2, 2), (4, 3), (6, 4), (7, 5)] {
        let sum = random_sum(n, 10, seed);
        let count = (1usize << n).min(6);
        let levels = Simulator::new().lowest(&sum, n, count).unwrap();
        let (mut energies, _) = dense(&sum, n);
        energies.sort_by(f64::total_cmp);
        let found: Vec<f64> = levels.iter().map(|level| level.energy).collect();
        assert_close(&found, &energies[..count], SUMS, "energies");
        for (k, level) in levels.iter().enumerate() {
            let mut off = level.state.applied(&sum, &serial()).unwrap().into_amplitudes();
            off.iter_mut().zip(level.state.amplitudes()).for_each(|(x, a)| *x -= a * level.energy);
            let off = off.iter().map(C::norm_sqr).sum::<f64>().sqrt();
            assert!(off < 2e-10 && level.residual < 2e-10, "n {n}, level {k}: {off:e}");
            for other in &levels[..k] {
                assert!(level.state.inner(&other.state, &serial()).unwrap().norm() < SUMS);
            }
        }
    }
}

#[test]
fn levels_among_some_basis_states_are_those_of_the_block() {
    // Some basis states of 5 qubits: the block of the matrix with these rows and columns, conserved
    // or not.
    for (keep, seed) in [(3, 1), (11, 2), (32, 3)] {
        let sum = random_sum(5, 12, seed);
        let kept: Vec<usize> = (0..32).filter(|k| k * 7 % 32 < keep).collect();
        let rows = reference::pauli_sum(&sum, 5);
        let block = DMatrix::from_fn(kept.len(), kept.len(), |i, j| rows[kept[i]][kept[j]]);
        let mut energies: Vec<f64> = block.symmetric_eigenvalues().iter().copied().collect();
        energies.sort_by(f64::total_cmp);
        let count = kept.len().min(4);
        let levels = Simulator::new().lowest_among(&sum, 5, count, &|k| kept.contains(&k)).unwrap();
        let found: Vec<f64> = levels.iter().map(|level| level.energy).collect();
        assert_close(&found, &energies[..count], SUMS, "energies");
        let others = |level: &Eigenstate| {
            let amplitudes = level.state.amplitudes().iter().enumerate();
            amplitudes.filter(|(k, _)| !kept.contains(k)).all(|(_, a)| a.norm() == 0.0)
        };
        assert!(levels.iter().all(others));
    }
    let error =
        Simulator::new().lowest_among(&"X0".parse().unwrap(), 2, 2, &|k| k == 3).unwrap_err();
    assert_eq!(error.to_string(), "the basis states that are kept have 1 levels, fewer than 2");
}

#[test]
fn degenerate_levels_come_as_often_as_they_are() {
    // A ferromagnet of 5 spins 1/2 has a ground level of 2 S + 1 = 6 states, at -(n - 1); above it
    // one of 4.
    let sum = problem::heisenberg(5, [-1.0; 3], false).unwrap();
    let levels = Simulator::new().lowest(&sum, 5, 7).unwrap();
    let energies: Vec<f64> = levels.iter().map(|level| level.energy).collect();
    assert_close(&energies[..6], &[-4.0; 6], SUMS, "ground level");
    assert!(energies[6] > -3.9);
    // Nothing but a constant, and all levels of a diagonal sum.
    let levels = Simulator::new().lowest(&"2.5".parse().unwrap(), 2, 4).unwrap();
    assert!(levels.iter().all(|level| (level.energy - 2.5).abs() < 1e-14));
    let levels = Simulator::new().lowest(&"Z0 + 2 Z1 Z2".parse().unwrap(), 3, 8).unwrap();
    let energies: Vec<f64> = levels.iter().map(|level| level.energy).collect();
    assert_close(&energies, &[-3.0, -3.0, -1.0, -1.0, 1.0, 1.0, 3.0, 3.0], SUMS, "diagonal");
    // Of any size.
    for size in [1e-200, 1e200] {
        let sum = "Z0 + 2 Z1 X2".parse::<PauliSum>().unwrap().scaled(size).unwrap();
        let ground = Simulator::new().lowest(&sum, 3, 1).unwrap().remove(0);
        assert!((ground.energy / size + 3.0).abs() < SUMS, "{}", ground.energy);
    }
    let levels = Simulator::new().lowest(&PauliSum::default(), 3, 2).unwrap();
    assert_eq!(levels.iter().map(|level| level.energy).collect::<Vec<_>>(), [0.0, 0.0]);
}

/// The critical Ising ring in closed form (Pfeuty, Ann. Phys. 57, 79 (1970)):
/// `E = -sum_k sqrt(J^2 + h^2 - 2 J h cos k)` over odd multiples k of pi/n.
#[test]
fn the_ising_ring_has_the_energy_of_its_free_fermions() {
    for (n, field) in [(10, 0.5), (14, 1.0)] {
        let simulator = Simulator::new().with_threads(Threads::new(2).unwrap());
        let ground = simulator
            .lowest(&problem::ising(n, 1.0, field, true).unwrap(), n, 1)
            .unwrap()
            .remove(0);
        let energy = |m: usize| {
            let k = std::f64::consts::PI * (2 * m + 1) as f64 / n as f64;
            (1.0 + field * field - 2.0 * field * k.cos()).sqrt()
        };
        let expected = -(0..n).map(energy).sum::<f64>();
        assert!((ground.energy - expected).abs() < SUMS, "{} and {expected}", ground.energy);
    }
    for (sum, n, energy) in [(problem::h2(), 4, -1.137_270_175), (problem::lih(), 6, -7.881_146)] {
        let ground = Simulator::new().lowest(&sum, n, 1).unwrap().remove(0);
        assert!((ground.energy - energy).abs() < 1e-6, "{}", ground.energy);
    }
}

#[test]
fn what_cannot_be_is_told() {
    let sum: PauliSum = "Z0 X3".parse().unwrap();
    let mut state = State::zero(2).unwrap();
    let expected = StateError::Basis(BasisError::OutOfRange { given: 3, available: 2 });
    assert_eq!(state.evolve(&sum, &1.0, &serial()).unwrap_err(), expected);
    assert_eq!(state.applied(&sum, &serial()).unwrap_err(), expected);
    let error = Simulator::new().lowest(&sum, 2, 1).unwrap_err();
    assert!(
        matches!(error, SimulateError::Basis(BasisError::OutOfRange { given: 3, available: 2 })),
        "{error}"
    );
    for time in [f64::NAN, f64::INFINITY] {
        let error = state.evolve(&"X0".parse().unwrap(), &time, &serial()).unwrap_err();
        assert!(matches!(error, StateError::Time { .. }), "{error}");
        assert!(error.to_string().contains("finite time"), "{error}");
    }
    assert_eq!(state, State::zero(2).unwrap());
    assert!(Simulator::new().lowest(&"X0".parse().unwrap(), 1, usize::MAX).is_err());
    let error = Simulator::new().lowest(&"X0".parse().unwrap(), 1, 3).unwrap_err();
    assert_eq!(error.to_string(), "1 qubits have 2^1 levels, fewer than 3");
    let tight = Simulator::new().with_memory_limit(1 << 20);
    let error = tight.lowest(&"X0".parse().unwrap(), 14, 1).unwrap_err();
    assert!(matches!(error, SimulateError::State(StateError::Memory { .. })), "{error}");
    assert!(Simulator::new().lowest(&"X0".parse().unwrap(), 4000, 1).is_err());
}
