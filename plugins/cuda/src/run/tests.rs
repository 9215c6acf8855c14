//! Programs are compared with the generic kernels, on every device of the machine.

use std::{f64::consts::TAU, sync::Arc};

use ketgrad_core::{
    ansatz,
    kernel::{Executor, Generic, Threads},
    param::Values,
    simulate::BoundCircuit,
};
use support::random::Rng;

use super::*;
use crate::testing;

/// Random operators and states.
struct Random(Rng);

impl Random {
    fn new(seed: u64) -> Random {
        Random(Rng::new(seed))
    }
    fn below(&mut self, n: usize) -> usize {
        self.0.below(n)
    }
    fn unit(&mut self) -> f64 {
        self.0.unit()
    }
    fn qubits(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        (0..count).map(|_| all.swap_remove(self.below(all.len()))).collect()
    }
    /// Returns a random unitary matrix by the Gram-Schmidt process.
    fn unitary(&mut self, k: usize) -> Matrix<C64> {
        let mut columns: Vec<Vec<C64>> = Vec::new();
        for _ in 0..1 << k {
            let mut v: Vec<C64> =
                (0..1 << k).map(|_| C64::new(self.unit() - 0.5, self.unit() - 0.5)).collect();
            for u in &columns {
                let dot: C64 = u.iter().zip(&v).map(|(a, b)| a.conj() * b).sum();
                v.iter_mut().zip(u).for_each(|(b, a)| *b -= dot * a);
            }
            let norm = v.iter().map(|z| z.norm_sqr()).sum::<f64>().sqrt();
            columns.push(v.iter().map(|z| z / norm).collect());
        }
        Matrix::from_fn(k, |row, column| columns[column][row])
    }
    fn diagonal(&mut self, k: usize) -> Matrix<C64> {
        let entries: Vec<C64> = (0..1 << k).map(|_| C64::cis(self.unit() * TAU)).collect();
        Matrix::from_fn(k, |r, c| if r == c { entries[r] } else { C64::new(0.0, 0.0) })
    }
    fn permutation(&mut self, k: usize) -> Matrix<C64> {
        let to = self.qubits(1 << k, 1 << k);
        let factor =
            if self.below(2) == 0 { C64::new(1.0, 0.0) } else { C64::cis(self.unit() * TAU) };
        Matrix::from_fn(k, |r, c| if to[c] == r { factor } else { C64::new(0.0, 0.0) })
    }
    /// Everything that an operator may be, mostly what circuits are made of.
    fn operator(&mut self, n: usize) -> Operator<C64> {
        if self.below(12) == 0 {
            return self.string(n);
        }
        loop {
            let (matrix, controls) = self.matrix(n);
            let k = matrix.n_qubits();
            if k + controls <= n {
                let qubits = self.qubits(n, k + controls);
                let (targets, others) = qubits.split_at(k);
                let controls: Vec<(usize, bool)> =
                    others.iter().map(|q| (*q, self.below(2) == 0)).collect();
                return Operator::new(&matrix, targets, &controls).unwrap();
            }
        }
    }
    /// Returns a rotation about a Pauli string under up to two controls.
    fn string(&mut self, n: usize) -> Operator<C64> {
        let (letters, controls) = (1 + self.below(n), self.below(3));
        let qubits = self.qubits(n, (letters + controls).min(n));
        let (targets, others) = qubits.split_at(letters);
        let (mut x, mut z) = (0, 0);
        for q in targets {
            let letter = 1 + self.below(3);
            (x, z) = (x | (letter & 1) << q, z | (letter >> 1) << q);
        }
        let (sin, cos) = (self.unit() * TAU).sin_cos();
        let go = C64::new(0.0, -sin) * C64::i().powu((x & z).count_ones());
        let numbers = if x == 0 {
            [C64::new(cos, -sin), C64::new(cos, sin)]
        } else {
            [C64::new(cos, 0.0), go]
        };
        let controls: Vec<(usize, bool)> =
            others.iter().map(|q| (*q, self.below(2) == 0)).collect();
        Operator::string(x, z, numbers, &controls).unwrap()
    }
    /// Returns the matrix of an operator, and the number of its controls.
    fn matrix(&mut self, n: usize) -> (Matrix<C64>, usize) {
        let one = C64::new(1.0, 0.0);
        let zero = C64::new(0.0, 0.0);
        let not = Matrix::from_fn(1, |r, c| if r == c { zero } else { one });
        match self.below(12) {
            0..=2 => (self.unitary(1), 0),
            3 => (self.diagonal(1), 0),
            4 => (not, 1),
            5 => (self.diagonal(2), 0),
            6 => (self.unitary(2), 0),
            7 => (self.permutation(2), 0),
            8 => (self.diagonal(1), self.below(4)),
            9 => (self.unitary(1), self.below(3)),
            10 => {
                let k = 1 + self.below(n.min(5));
                (self.unitary(k), 0)
            }
            _ => (self.permutation(1), self.below(3)),
        }
    }
    /// Pauli strings on up to two qubits, before operators in ascending order and after all.
    fn inners(&mut self, n: usize, count: usize) -> Vec<OverlapProbe> {
        let mut inners: Vec<OverlapProbe> = (0..count)
            .map(|_| {
                let two = self.qubits(n, 2).iter().fold(0usize, |m, q| m | 1 << q);
                let kinds =
                    [(two, 0), (0, two), (two, two), (two & two.wrapping_neg(), two), (0, 0)];
                let (x, z) = kinds[self.below(5)];
                OverlapProbe { before: self.below(62), x, z }
            })
            .collect();
        inners.sort_by_key(|i| i.before);
        inners
    }
    fn state(&mut self, n: usize) -> Vec<C64> {
        let mut v: Vec<C64> =
            (0..1usize << n).map(|_| C64::new(self.unit() - 0.5, self.unit() - 0.5)).collect();
        let norm = v.iter().map(|z| z.norm_sqr()).sum::<f64>().sqrt();
        v.iter_mut().for_each(|z| *z /= norm);
        v
    }
}

fn distance(a: &[C64], b: &[C64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

const SIZES: [usize; 9] = [1, 2, 5, 8, 9, 11, 12, 13, 15];

#[test]
fn random_operators_do_what_the_generic_kernels_do() {
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let schedules = Schedules::default();
    for device in testing::devices() {
        for (precision, rounding) in [(Precision::Double, 1e-13), (Precision::Single, 1e-5)] {
            for (n, count) in
                SIZES.into_iter().flat_map(|n| [1, 2, 20, 150].map(|count| (n, count)))
            {
                let operators: Vec<_> = (0..count).map(|_| random.operator(n)).collect();
                let mut expected = random.state(n);
                let mut state = testing::state(&device, precision, &expected);
                Generic.run(&operators, &mut expected, &Threads::serial()).unwrap();
                schedules.operate(&mut state, &operators).unwrap();
                let off = distance(&expected, &testing::of_state(&state));
                assert!(off < rounding, "{precision:?}, {count} operators on {n} qubits: {off:e}");
            }
        }
    }
}

/// Long words of Clifford gates, T and Toffoli gates, whose products come back to diagonals but for
/// rounding, and phases of one sign by the hundred.
#[test]
fn long_words_do_what_the_generic_kernels_do() {
    let mut random = Random::new(0x7007);
    let schedules = Schedules::default();
    let (zero, one, half) = (C64::new(0.0, 0.0), C64::new(1.0, 0.0), C64::new(0.5f64.sqrt(), 0.0));
    let matrix = |m: [C64; 4]| Matrix::from_fn(1, |r, c| m[2 * r + c]);
    let phase = |angle: f64| matrix([one, zero, zero, C64::cis(angle)]);
    let words =
        [matrix([half, half, half, -half]), phase(TAU / 4.0), phase(TAU / 8.0), phase(1e-9)];
    let not = matrix([zero, one, one, zero]);
    for device in testing::devices() {
        for (precision, rounding) in [(Precision::Double, 1e-12), (Precision::Single, 1e-4)] {
            for n in [3, 8, 9, 12, 14] {
                let mut operators = Vec::new();
                while operators.len() < 600 {
                    let on = random.qubits(n, 3);
                    let controls = [(on[1], true), (on[2], random.below(2) == 0)];
                    match random.below(8) {
                        0 => operators.push(Operator::new(&not, &on[..1], &controls).unwrap()),
                        1 => operators.push(Operator::new(&not, &on[..1], &controls[..1]).unwrap()),
                        2 => {
                            let repeated =
                                Operator::new(&phase(0.3), &on[..1], &controls[..1]).unwrap();
                            operators.extend(std::iter::repeat_n(repeated, 50));
                        }
                        _ => {
                            for _ in 0..8 {
                                let gate = &words[random.below(4)];
                                operators.push(Operator::new(gate, &on[..1], &[]).unwrap());
                            }
                        }
                    }
                }
                let mut expected = random.state(n);
                let mut state = testing::state(&device, precision, &expected);
                Generic.run(&operators, &mut expected, &Threads::serial()).unwrap();
                schedules.operate(&mut state, &operators).unwrap();
                let off = distance(&expected, &testing::of_state(&state));
                assert!(off < rounding, "{precision:?}, {n} qubits: off by {off:e}");
            }
        }
    }
}

/// Excitations become rotations about strings, many along the same qubits, with inner products
/// between them.
#[test]
fn excitations_are_rotations_about_strings() {
    let mut random = Random::new(0xfe21);
    let schedules = Schedules::default();
    let circuit = ansatz::uccsd(7, 3).unwrap();
    let angles: Vec<f64> = circuit.inputs().map(|_| 6.0 * (random.unit() - 0.5)).collect();
    let bound = BoundCircuit::<C64>::new(&circuit, &Values(&angles)).unwrap();
    for device in testing::devices() {
        for (precision, rounding) in [(Precision::Double, 1e-12), (Precision::Single, 1e-4)] {
            for (n, shift) in [(7, 0), (10, 3), (14, 0), (14, 7)] {
                let operators: Vec<_> =
                    bound.operators().unwrap().iter().map(|o| o.shifted(shift)).collect();
                let mut inners = random.inners(n, 40);
                inners
                    .iter_mut()
                    .for_each(|inner| inner.before = random.below(operators.len() + 1));
                inners.sort_by_key(|inner| inner.before);
                let (mut psi, mut lambda) = (random.state(n), random.state(n));
                let [mut on_psi, mut on_lambda] =
                    [&psi, &lambda].map(|v| testing::state(&device, precision, v));
                let mut alone = testing::state(&device, precision, &psi);
                let mut values = vec![f64::NAN; inners.len()];
                schedules
                    .operate_pair(&mut on_psi, &mut on_lambda, &operators, &inners, &mut values)
                    .unwrap();
                schedules.operate(&mut alone, &operators).unwrap();
                let expected = one_by_one(&operators, &inners, &mut psi, &mut lambda);
                for (k, (value, expected)) in values.iter().zip(&expected).enumerate() {
                    let off = (value - expected).abs();
                    assert!(off < rounding, "{:?} of {n}: {value} {expected}", inners[k]);
                }
                for (state, on) in [(&psi, &on_psi), (&lambda, &on_lambda), (&psi, &alone)] {
                    let off = distance(state, &testing::of_state(on));
                    assert!(off < rounding, "{precision:?}, {n} qubits, {shift}: off by {off:e}");
                }
            }
        }
    }
}

/// A state that is known to be |0…0> is gone over in part, one that was changed since as a whole.
#[test]
fn circuits_from_zero_do_what_the_generic_kernels_do() {
    let mut random = Random::new(0x5eed);
    let schedules = Schedules::default();
    let n = 17;
    for device in testing::devices() {
        for (precision, rounding) in [(Precision::Double, 1e-13), (Precision::Single, 1e-5)] {
            let mut state = CudaState::zeros(&device, precision, n as u32).unwrap();
            for (few, count) in [(2, 6), (5, 20), (n, 40)] {
                let mut operators: Vec<_> = (0..count).map(|_| random.operator(few)).collect();
                operators.extend((0..count).map(|_| random.operator(n)));
                let mut expected = vec![C64::new(0.0, 0.0); 1 << n];
                expected[0] = C64::new(1.0, 0.0);
                // Over what the last circuit has left there; then once more on what comes out.
                state.basis(0).unwrap();
                for again in [false, true] {
                    assert_eq!(state.is_new(), !again);
                    // Large enough for the device that is none; a real one goes over all of so
                    // small a state.
                    let expected_way =
                        if again { StateHint::Arbitrary } else { StateHint::StartsAtZero };
                    assert!(
                        !device.is_emulated()
                            || state_hint(&state, LaunchGeometry::for_state(&state))
                                == expected_way
                    );
                    schedules.operate(&mut state, &operators).unwrap();
                    Generic.run(&operators, &mut expected, &Threads::new(2).unwrap()).unwrap();
                    let off = distance(&expected, &testing::of_state(&state));
                    assert!(
                        off < rounding,
                        "{precision:?}, {count} operators on {few} of {n}, {again}: {off:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn whatever_changes_a_state_makes_it_another_than_zero() {
    let device = testing::device();
    let new = || {
        let mut state = CudaState::zeros(&device, Precision::Double, 3).unwrap();
        assert!(!state.is_new(), "all amplitudes are 0");
        state.basis(0).unwrap();
        assert!(state.is_new());
        state
    };
    let x = [Operator::new(
        &Matrix::from_fn(1, |r, c| C64::new(f64::from(u8::from(r != c)), 0.0)),
        &[0],
        &[],
    )
    .unwrap()];
    let (mut uploaded, mut moved, mut turned, mut summed) = (new(), new(), new(), new());
    uploaded.upload(&[0; 128]).unwrap();
    moved.basis(1).unwrap();
    Schedules::default().operate(&mut turned, &x).unwrap();
    paulis::apply(&[PauliTerm { coefficient: 2.0, x: 0, z: 0 }], &new(), &mut summed).unwrap();
    let (mut psi, mut lambda) = (new(), new());
    Schedules::default().operate_pair(&mut psi, &mut lambda, &x, &[], &mut []).unwrap();
    let changed = [&uploaded, &moved, &turned, &summed, &psi, &lambda];
    assert_eq!(changed.map(CudaState::is_new), [false; 6]);
}

/// A circuit with other angles takes the schedule of the one before.
#[test]
fn other_angles_run_on_the_schedule_of_the_first() {
    let mut random = Random::new(77);
    let schedules = Schedules::default();
    let (n, device) = (13, testing::device());
    let inners = random.inners(n, 20);
    for _ in 0..3 {
        let mut operators = Vec::new();
        for q in 0..n {
            operators.push(Operator::new(&random.unitary(1), &[q], &[]).unwrap());
            operators.push(Operator::new(&random.diagonal(2), &[q, (q + 5) % n], &[]).unwrap());
        }
        let mut expected = random.state(n);
        let mut state = testing::state(&device, Precision::Double, &expected);
        Generic.run(&operators, &mut expected, &Threads::serial()).unwrap();
        schedules.operate(&mut state, &operators).unwrap();
        assert!(distance(&expected, &testing::of_state(&state)) < 1e-13);

        let (mut psi, mut lambda) = (random.state(n), random.state(n));
        let [mut on_psi, mut on_lambda] =
            [&psi, &lambda].map(|v| testing::state(&device, Precision::Double, v));
        let mut values = vec![f64::NAN; inners.len()];
        schedules
            .operate_pair(&mut on_psi, &mut on_lambda, &operators, &inners, &mut values)
            .unwrap();
        let expected = one_by_one(&operators, &inners, &mut psi, &mut lambda);
        assert!(
            values.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-13),
            "{values:?} {expected:?}"
        );
        assert!(distance(&psi, &testing::of_state(&on_psi)) < 1e-13);
        assert!(distance(&lambda, &testing::of_state(&on_lambda)) < 1e-13);
    }
}

#[test]
fn two_states_and_their_inner_products_are_those_of_the_processor() {
    let mut random = Random::new(0x1234_5678);
    let schedules = Schedules::default();
    for device in testing::devices() {
        for (precision, rounding) in [(Precision::Double, 1e-13), (Precision::Single, 1e-5)] {
            for n in [3, 8, 9, 12, 13, 14] {
                let operators: Vec<_> = (0..60).map(|_| random.operator(n)).collect();
                let mut inners = random.inners(n, 40);
                if n == 14 {
                    // One that no tile has room for.
                    inners.insert(0, OverlapProbe { before: 0, x: (1 << n) - 1, z: 3 });
                }
                let (mut psi, mut lambda) = (random.state(n), random.state(n));
                let [mut on_psi, mut on_lambda] =
                    [&psi, &lambda].map(|v| testing::state(&device, precision, v));
                let mut values = vec![f64::NAN; inners.len()];
                schedules
                    .operate_pair(&mut on_psi, &mut on_lambda, &operators, &inners, &mut values)
                    .unwrap();
                let expected = one_by_one(&operators, &inners, &mut psi, &mut lambda);
                for (k, (value, expected)) in values.iter().zip(&expected).enumerate() {
                    let off = (value - expected).abs();
                    assert!(off < rounding, "{:?} of {n}: {value} {expected}", inners[k]);
                }
                assert!(distance(&psi, &testing::of_state(&on_psi)) < rounding);
                assert!(distance(&lambda, &testing::of_state(&on_lambda)) < rounding);
            }
        }
    }
}

fn one_by_one(
    operators: &[Operator<C64>],
    inners: &[OverlapProbe],
    psi: &mut [C64],
    lambda: &mut [C64],
) -> Vec<f64> {
    let look = |inner: &OverlapProbe, psi: &[C64], lambda: &[C64]| {
        let i = C64::new(0.0, 1.0).powu((inner.x & inner.z).count_ones());
        let term = |(j, p): (usize, &C64)| {
            let sign = if (j & inner.z).count_ones() % 2 == 1 { -1.0 } else { 1.0 };
            lambda[j ^ inner.x].conj() * p * sign
        };
        (i * psi.iter().enumerate().map(term).sum::<C64>()).im
    };
    let mut values = Vec::new();
    for k in 0..=operators.len() {
        let last = k == operators.len();
        let here = inners.iter().filter(|i| i.before == k || (last && i.before > k));
        values.extend(here.map(|i| look(i, psi, lambda)));
        if let Some(operator) = operators.get(k) {
            operator.apply(psi, &Threads::serial());
            operator.apply(lambda, &Threads::serial());
        }
    }
    values
}

/// Applies the operators to a new state of |0...0>, and again to the result; returns the bytes of
/// both.
fn ran(
    schedules: &Schedules,
    device: &Arc<dyn Driver>,
    precision: Precision,
    n: usize,
    operators: &[Operator<C64>],
) -> [Vec<C64>; 2] {
    let mut state = CudaState::zeros(device, precision, n as u32).unwrap();
    state.basis(0).unwrap();
    [(); 2].map(|()| {
        schedules.operate(&mut state, operators).unwrap();
        testing::of_state(&state)
    })
}

/// Compares the kernels of single stages with those that read their words, in one precision.
fn check_single_stages(precision: Precision, seed: u64) {
    let (devices, mut random) = (testing::devices(), Random::new(seed));
    for n in [10, 13, 17] {
        let operators: Vec<_> = (0..60).map(|_| random.operator(n)).collect();
        let inners = random.inners(n, 20);
        let [psi, lambda] = [random.state(n), random.state(n)];
        for device in &devices {
            let (without, with) = (Schedules::default(), Schedules::new(Some(0)));
            let expected = ran(&without, device, precision, n, &operators);
            // A stage that appears once has no kernel of its own.
            for _ in 0..2 {
                assert_eq!(expected, ran(&with, device, precision, n, &operators), "{n}");
            }
            if n < 17 {
                let [expected, _, given] = [&without, &with, &with].map(|schedules| {
                    let mut values = vec![f64::NAN; inners.len()];
                    let [mut psi, mut lambda] =
                        [&psi, &lambda].map(|v| testing::state(device, precision, v));
                    schedules
                        .operate_pair(&mut psi, &mut lambda, &operators, &inners, &mut values)
                        .unwrap();
                    (testing::of_state(&psi), testing::of_state(&lambda), values)
                });
                assert_eq!(expected, given, "two states, {n}");
            }
            assert_eq!(without.notes(), "");
            let notes = with.notes();
            assert!(
                !device.is_emulated() || notes.starts_with("kernels of single stages: "),
                "{notes}"
            );
        }
    }
}

#[test]
fn kernels_of_single_stages_give_the_same_to_the_last_bit() {
    check_single_stages(Precision::Double, 0xabcd_ef01);
}

#[test]
fn kernels_of_single_stages_give_the_same_to_the_last_bit_in_single_precision() {
    check_single_stages(Precision::Single, 0xabcd_ef02);
}

/// Layers of rotations, the same for all angles of up to 90 degrees.
fn layers(n: usize, angle: f64) -> Vec<Operator<C64>> {
    let (s, c) = angle.sin_cos();
    let turn = Matrix::from_fn(1, |row, column| C64::new([[c, -s], [s, c]][row][column], 0.0));
    let not = Matrix::from_fn(1, |row, column| C64::new(f64::from(u8::from(row != column)), 0.0));
    let layer = |q: usize| {
        [Operator::new(&turn, &[q], &[]), Operator::new(&not, &[(q + 1) % n], &[(q, true)])]
            .map(Result::unwrap)
    };
    (0..2 * n).flat_map(|k| layer(k % n)).collect()
}

#[test]
fn a_kernel_is_made_for_a_stage_that_has_moved_enough() {
    let (n, device) = (12, testing::device());
    // One tile of 2^12 amplitudes, read and written.
    let pass = (2 * 16) << 12;
    let schedules = Schedules::new(Some(2 * pass));
    let mut random = Random::new(99);
    let start = random.state(n);
    let run = |angle: f64| {
        let mut state = testing::state(&device, Precision::Double, &start);
        schedules.operate(&mut state, &layers(n, angle)).unwrap();
        schedules.notes()
    };
    assert_eq!([0.1, 0.15, 0.2].map(run), [""; 3]);
    // Whatever the angles are: these were the same stages.
    assert_eq!(run(-0.3), "kernels of single stages: 1");
    assert_eq!(run(0.7), "kernels of single stages: 1");
}

#[test]
fn where_no_kernel_can_be_made_the_others_do() {
    let device: Arc<dyn Driver> = Arc::new(testing::without_compiler());
    let schedules = Schedules::new(Some(0));
    let (n, mut random) = (12, Random::new(7));
    let mut expected = random.state(n);
    let mut state = testing::state(&device, Precision::Double, &expected);
    for angle in [0.1, 0.2, 0.3] {
        let operators = layers(n, angle);
        Generic.run(&operators, &mut expected, &Threads::serial()).unwrap();
        schedules.operate(&mut state, &operators).unwrap();
    }
    assert!(distance(&expected, &testing::of_state(&state)) < 1e-13);
    assert_eq!(schedules.notes(), "no kernel of a stage: nothing compiles kernels here");
}
