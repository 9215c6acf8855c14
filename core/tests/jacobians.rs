//! The gradient of each of several observables, from |0…0> and from other states.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    circuit::Circuit,
    hybrid::{Expectation, HybridError, Method},
    kernel::Threads,
    observable::PauliSum,
    param::Angle,
    simulate::{Shots, Simulator},
    state::StateVector,
};
use num_complex::Complex;

const METHODS: [Method; 5] =
    [Method::Adjoint, Method::Forward, Method::Shift, Method::Difference, Method::Symbolic];

fn sums() -> Vec<PauliSum> {
    ["Z0 Z1 - 0.5*X2", "Y0 + 2", "X1 Z2 - Z3", "0.25*Y0 Y1"]
        .iter()
        .map(|text| text.parse().unwrap())
        .collect()
}

/// Rotations and CX after each other, of shared inputs; qubit 3 is idle.
fn circuit(seed: u32) -> Circuit {
    wide(seed, 4)
}

/// The same on n qubits, where fast paths begin at some six; those from 4 on are entangled, too.
fn wide(seed: u32, n: usize) -> Circuit {
    let mut c = Circuit::new(n);
    let (a, b) = (c.param("a"), c.param("b"));
    let mut state = seed.wrapping_mul(2_654_435_769) | 1;
    let mut next = |n: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % n
    };
    for _ in 0..7 {
        let (q, other) = (next(3) as usize, next(2) as usize);
        let angle = if next(2) == 0 { a.clone() * 2 } else { b.clone() + Angle::pi(1, 4) };
        match next(4) {
            0 => c.ry(q, angle),
            1 => c.rx(q, angle),
            2 => c.rz(q, angle),
            _ => c.cx(q, (q + 1 + other) % 3),
        }
        .unwrap();
    }
    for q in 4..n {
        c.ry(q, a.clone())
            .unwrap()
            .cx(q, 0)
            .unwrap()
            .rx(q, b.clone() * 3)
            .unwrap()
            .cx(q, 2)
            .unwrap();
    }
    c.ry(1, a).unwrap().rx(0, b).unwrap();
    c
}

fn near(found: &[f64], expected: &[f64], off: f64) {
    assert_eq!(found.len(), expected.len());
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() < off, "{found:?} {expected:?}");
    }
}

fn same(energy: &Expectation, methods: &[Method], at: &[f64]) {
    for &method in methods {
        let (values, rows) = energy.jacobian_by(method, at).unwrap();
        for (k, row) in rows.iter().enumerate() {
            let alone = energy.only(k);
            near(&values[k..=k], &[alone.value(at).unwrap()], 1e-12);
            near(row, &alone.gradient_by(Method::Difference, at).unwrap().1, 1e-8);
            near(row, &alone.gradient_by(method, at).unwrap().1, 1e-12);
        }
    }
}

#[test]
fn rows_are_the_gradients_of_the_observables() {
    for seed in 0..6 {
        same(&Expectation::new(circuit(seed), sums()).unwrap(), &METHODS, &[0.3, -0.8]);
    }
    same(&Expectation::new(wide(1, 8), sums()).unwrap(), &METHODS[..4], &[0.3, -0.8]);
    let single = Expectation::new(circuit(1), sums()).unwrap();
    let (values, rows) = single.jacobian_by(Method::Adjoint, &[0.3f32, -0.8]).unwrap();
    let (exact, slopes) = single.jacobian_by(Method::Adjoint, &[0.3, -0.8]).unwrap();
    let wide = |xs: &[f32]| xs.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
    near(&wide(&values), &exact, 1e-5);
    near(&wide(&rows.concat()), &slopes.concat(), 1e-5);
}

#[test]
fn noise_and_feedback_have_rows_too() {
    let mut noisy = circuit(2);
    noisy.bit_flip(0, 0.1).unwrap().ry(0, Angle::pi(1, 3)).unwrap().depolarizing(1, 0.2).unwrap();
    same(&Expectation::new(noisy, sums()).unwrap(), &METHODS[..4], &[0.3, -0.8]);
    let mut dynamic = circuit(3);
    dynamic.reset(0).unwrap().cx(1, 0).unwrap();
    let energy = Expectation::new(dynamic, sums()).unwrap();
    same(&energy, &METHODS[1..4], &[0.3, -0.8]);
    assert!(matches!(energy.jacobian_by(Method::Adjoint, &[0.3, -0.8]), Err(HybridError::Dynamic)));
    assert!(matches!(energy.closed_forms(), Err(HybridError::Dynamic)));
}

/// A state that gates prepare, and the same gates before the circuit.
#[test]
fn a_given_state_stands_for_the_gates_that_prepare_it() {
    let at = [0.4, 1.1];
    for (seed, n, noise) in
        [(0, 4, false), (1, 4, false), (2, 8, false), (3, 4, true), (4, 4, true), (5, 9, false)]
    {
        let prepare =
            Circuit::build(n, |c| c.h(0)?.cx(0, 3)?.ry(1, Angle::pi(1, 5))?.rx(3, Angle::pi(2, 7)))
                .unwrap();
        let mut after = wide(seed, n);
        if noise {
            after
                .bit_flip(0, 0.1)
                .unwrap()
                .depolarizing(3, 0.2)
                .unwrap()
                .ry(0, Angle::pi(1, 3))
                .unwrap();
        }
        let start: StateVector<Complex<f64>> =
            Simulator::new().run(&prepare, &[] as &[f64]).unwrap();
        let mut whole = prepare.clone();
        whole.append(&after, &(0..n).collect::<Vec<_>>()).unwrap();
        let whole = Expectation::new(whole, sums()).unwrap();
        let from = Expectation::from_state(after, sums(), start).unwrap();
        near(&from.values(&at).unwrap(), &whole.values(&at).unwrap(), 1e-12);
        same(&from, &METHODS[..4], &at);
        let (_, rows) = whole.jacobian_by(Method::Adjoint, &at).unwrap();
        near(&from.jacobian_by(Method::Adjoint, &at).unwrap().1.concat(), &rows.concat(), 1e-12);
        for method in [Method::Adjoint, Method::Forward, Method::Shift] {
            let (found, expected) =
                (from.hessian_by(method, &at).unwrap(), whole.hessian(&at).unwrap());
            near(&found.concat(), &expected.concat(), 1e-11);
        }
        let each = from.gradients(&[at.to_vec(), at.to_vec()]).unwrap();
        near(&each[1].1, &whole.value_and_gradient(&at).unwrap().1, 1e-12);
        let (mean, slopes) = from.measure_gradient(&at, Shots::new(4000, 1)).unwrap();
        assert!((mean.value - whole.value(&at).unwrap()).abs() < 5.0 * mean.stderr.unwrap());
        assert_eq!(slopes.len(), 2);
        assert!(matches!(from.closed_forms(), Err(HybridError::Initial)));
    }
    let wrong = StateVector::basis(3, 0).unwrap();
    assert!(matches!(
        Expectation::from_state(circuit(0), sums(), wrong),
        Err(HybridError::Count { .. })
    ));
}

/// From a state a reset is none of a fresh qubit.
#[test]
fn a_given_state_is_reset() {
    let mut c = Circuit::new(2);
    let a = c.param("a");
    c.reset(0).unwrap().ry(0, a).unwrap();
    let energy = Expectation::from_state(
        c,
        ["Z0".parse::<PauliSum>().unwrap()],
        StateVector::basis(2, 3).unwrap(),
    );
    let (value, gradient) = energy.unwrap().gradient_by(Method::Forward, &[0.3]).unwrap();
    near(&[value, gradient[0]], &[0.3f64.cos(), -0.3f64.sin()], 1e-14);
}

/// `<psi|M|psi>` of a product of sums, letter by letter.
fn product(psi: &StateVector<Complex<f64>>, sums: &[&PauliSum]) -> Complex<f64> {
    let mut vector = psi.amplitudes().to_vec();
    for sum in sums.iter().rev() {
        let mut next = vec![Complex::new(0.0, 0.0); vector.len()];
        for (coefficient, string) in sum.terms() {
            for (i, amplitude) in vector.iter().enumerate() {
                let (mut to, mut factor) = (i, Complex::new(*coefficient, 0.0));
                for (qubit, pauli) in string.factors() {
                    let one = i >> qubit & 1 == 1;
                    match format!("{pauli:?}").as_str() {
                        "X" => to ^= 1 << qubit,
                        "Y" => {
                            to ^= 1 << qubit;
                            factor *= Complex::new(0.0, if one { -1.0 } else { 1.0 });
                        }
                        _ => factor *= if one { -1.0 } else { 1.0 },
                    }
                }
                next[to] += factor * amplitude;
            }
        }
        vector = next;
    }
    psi.amplitudes().iter().zip(&vector).map(|(a, b)| a.conj() * b).sum()
}

#[test]
fn variances_and_covariances_are_those_of_products() {
    let threads = Threads::serial();
    let sums = sums();
    for seed in 0..4 {
        let states = [seed, seed + 10]
            .map(|seed| StateVector::<Complex<f64>>::random(4, seed, &threads).unwrap());
        let weights = [0.3, 0.7];
        let matrix = {
            // |psi> and |phi> by chance, as the reduced state of |0>|psi> and |1>|phi> side by side.
            let root = |k: usize| Complex::new(f64::sqrt(weights[k]), 0.0);
            let whole = (0..2)
                .flat_map(|k| states[k].amplitudes().iter().map(move |a| a * root(k)))
                .collect();
            let pure = StateVector::from_vector(whole).unwrap();
            ketgrad_core::state::DensityMatrix::pure(&pure, &threads)
                .unwrap()
                .reduced(&[0, 1, 2, 3])
                .unwrap()
        };
        for a in &sums {
            for b in &sums {
                let of = |state| {
                    let symmetric = (product(state, &[a, b]) + product(state, &[b, a])).re / 2.0;
                    (symmetric, product(state, &[a]).re, product(state, &[b]).re)
                };
                let (both, mean_a, mean_b) = of(&states[0]);
                let found = states[0].covariance(a, b, &threads).unwrap();
                near(&[found], &[both - mean_a * mean_b], 1e-13);
                let mean = |f: fn((f64, f64, f64)) -> f64| {
                    (0..2).map(|k| weights[k] * f(of(&states[k]))).sum::<f64>()
                };
                let expected = mean(|x| x.0) - mean(|x| x.1) * mean(|x| x.2);
                near(&[matrix.covariance(a, b, &threads).unwrap()], &[expected], 1e-13);
            }
            let own = states[0].covariance(a, a, &threads).unwrap();
            near(&[states[0].variance(a, &threads).unwrap()], &[own], 1e-13);
            let own = matrix.covariance(a, a, &threads).unwrap();
            near(&[matrix.variance(a, &threads).unwrap()], &[own], 1e-13);
        }
    }
    // No difference of large numbers, and never below nothing.
    let zero = StateVector::<Complex<f64>>::zero(2).unwrap();
    let huge = "1e12*Z0 + 1e12 + 1e-3 X1".parse().unwrap();
    near(&[zero.variance(&huge, &threads).unwrap()], &[1e-6], 1e-18);
    assert!(zero.variance(&"Z2".parse().unwrap(), &threads).is_err());
}
