//! Kernels against the Kronecker reference.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    basis::BasisError,
    circuit::{Circuit, PauliRotation},
    field::{Fp, Goldilocks, Point},
    gate::{Gate, GateKind},
    kernel::{
        Executor, Generic, InstructionSet, Operator, OperatorShape, SERIAL_BELOW, SimdFloat,
        Threads,
    },
    matrix::Matrix,
    observable::Pauli,
    param::{Angle, Binding, Q, Values},
    plan::Fast,
    scalar::{Real, Ring, Uncertain},
    simulate::{BoundCircuit, Simulator},
    state::StateVector,
};
use nalgebra::SVector;
use num_complex::Complex;
use num_dual::{Derivative, Dual, Dual2_64, Dual64, DualSVec64, HyperDual64};
use support::{
    close::{CIRCUIT, EXACT, Parts, ROUNDING, assert_close},
    random::{Rng, circuits},
    reference,
};

use proptest::prelude::*;

/// A control: which qubit, at which value.
type Controls = Vec<(usize, bool)>;

/// All ways to choose `k` of the numbers below `n` in any order.
fn arrangements(n: usize, k: usize) -> Vec<Vec<usize>> {
    if k == 0 {
        return vec![Vec::new()];
    }
    let longer = |shorter: Vec<usize>| {
        let free: Vec<usize> = (0..n).filter(|q| !shorter.contains(q)).collect();
        free.into_iter().map(move |q| [shorter.clone(), vec![q]].concat())
    };
    arrangements(n, k - 1).into_iter().flat_map(longer).collect()
}

/// Up to `most` controls on qubits that are not targets, at all values.
fn control_sets(n: usize, targets: &[usize], most: usize) -> Vec<Controls> {
    let rest: Vec<usize> = (0..n).filter(|q| !targets.contains(q)).collect();
    let mut sets: Vec<Controls> = vec![Vec::new()];
    let mut last = sets.clone();
    for _ in 0..most {
        let more = |set: &Controls| {
            let set = set.clone();
            let above = set.last().map_or(0, |c| c.0 + 1);
            let free: Vec<usize> = rest.iter().copied().filter(|&q| q >= above).collect();
            free.into_iter()
                .flat_map(move |q| {
                    let set = set.clone();
                    [false, true].map(move |value| [set.clone(), vec![(q, value)]].concat())
                })
                .collect::<Vec<_>>()
        };
        last = last.iter().flat_map(more).collect();
        sets.extend(last.iter().cloned());
    }
    sets
}

/// The kernel and the reference on one random vector.
fn compare<R: Parts>(
    rng: &mut Rng,
    matrix: &Matrix<R>,
    n: usize,
    targets: &[usize],
    controls: &[(usize, bool)],
) {
    let vector: Vec<R> = rng.vector(1 << n);
    let mut state = StateVector::from_vector(vector.clone()).unwrap();
    state.apply_matrix(matrix, targets, controls).unwrap();
    let expected =
        reference::times_vector(&reference::embed(matrix, n, targets, controls), &vector);
    assert_close(
        state.amplitudes(),
        &expected,
        R::TOLERANCE,
        &format!("targets {targets:?}, controls {controls:?} of {n}"),
    );
}

/// A real orthogonal or complex unitary matrix in the ring.
fn unitary<T: Real>(rng: &mut Rng, k: usize) -> Matrix<Complex<T>> {
    rng.unitary(k).map(|z| Complex::new(T::lit(z.re), T::lit(z.im)))
}

#[test]
fn the_reference_itself_gives_cnot_and_open_controls() {
    let x = Matrix::from_rows(vec![vec![0.0, 1.0], vec![1.0, 0.0]]).unwrap();
    // Control 0, target 1: |01> <-> |11>, that is columns 1 and 3.
    let cnot = [[1., 0., 0., 0.], [0., 0., 0., 1.], [0., 0., 1., 0.], [0., 1., 0., 0.]];
    assert_eq!(reference::embed(&x, 2, &[1], &[(0, true)]), cnot.map(|r| r.to_vec()).to_vec());
    let open = [[0., 0., 1., 0.], [0., 1., 0., 0.], [1., 0., 0., 0.], [0., 0., 0., 1.]];
    assert_eq!(reference::embed(&x, 2, &[1], &[(0, false)]), open.map(|r| r.to_vec()).to_vec());
    // A matrix on (2, 0) has qubit 2 as its least significant bit.
    let m = Matrix::from_fn(2, |i, j| f64::from(u8::from(i == 1 && j == 0)));
    assert_eq!(reference::embed(&m, 3, &[2, 0], &[])[0b100][0], 1.0);
    assert_eq!(reference::embed(&m, 3, &[2, 0], &[])[0b110][0b010], 1.0);
}

#[test]
fn unitaries_act_on_any_qubits_in_any_order() {
    let mut rng = Rng::new(4);
    for k in 1..=5 {
        let matrix = unitary::<f64>(&mut rng, k);
        for targets in arrangements(5, k) {
            compare(&mut rng, &matrix, 5, &targets, &[]);
        }
    }
    // Larger states, so that runs longer than a few amplitudes and carries across bits occur.
    for k in 1..=5 {
        let matrix = unitary::<f64>(&mut rng, k);
        for _ in 0..3 {
            let targets = rng.permutation(7)[..k].to_vec();
            compare(&mut rng, &matrix, 7, &targets, &[]);
        }
    }
}

#[test]
fn controls_of_either_value_select_their_half() {
    let mut rng = Rng::new(5);
    for k in 1..=3 {
        let matrix = unitary::<f64>(&mut rng, k);
        for targets in arrangements(5, k) {
            for controls in control_sets(5, &targets, 2) {
                compare(&mut rng, &matrix, 5, &targets, &controls);
            }
        }
    }
    // As many controls as there are qubits left.
    let matrix = unitary::<f64>(&mut rng, 1);
    for values in 0..32u32 {
        let controls: Controls = (0..5).map(|q| (q, values >> q & 1 == 1)).collect();
        compare(&mut rng, &matrix, 6, &[5], &controls);
    }
}

#[test]
fn each_size_has_its_shape_and_its_loop() {
    let mut rng = Rng::new(6);
    for k in 0..=6 {
        let matrix = unitary::<f64>(&mut rng, k);
        let targets: Vec<usize> = rng.permutation(7)[..k].to_vec();
        let operator = Operator::new(&matrix, &targets, &[]).unwrap();
        match operator.shape() {
            OperatorShape::Phase(_) => assert_eq!(k, 0),
            OperatorShape::Dense { matrix, offsets } => {
                assert_eq!((matrix.len(), offsets.len()), (1 << (2 * k), 1 << k));
            }
            other => panic!("{other:?}"),
        }
        compare(&mut rng, &matrix, 7, &targets, &[]);
    }
}

#[test]
fn structured_matrices_take_their_cheap_shape_and_agree() {
    let mut rng = Rng::new(66);
    for k in 1..=3usize {
        let dim = 1 << k;
        for _ in 0..20 {
            let factors: Vec<Complex<f64>> = rng.vector(dim);
            let ones = rng.below(1 << dim);
            let factor =
                |j: usize| if ones >> j & 1 == 1 { Complex::new(1.0, 0.0) } else { factors[j] };
            let order = rng.permutation(dim);
            let zero = Complex::new(0.0, 0.0);
            let diagonal = Matrix::from_fn(k, |i, j| if i == j { factor(j) } else { zero });
            let monomial = Matrix::from_fn(k, |i, j| if order[j] == i { factor(j) } else { zero });
            // A column of zeros, and two entries in one row: not a permutation.
            let projector = Matrix::from_fn(k, |i, j| if i == 0 { factor(j) } else { zero });
            let targets = rng.permutation(5)[..k].to_vec();
            for controls in control_sets(5, &targets, 1) {
                for matrix in [&diagonal, &monomial, &projector] {
                    compare(&mut rng, matrix, 5, &targets, &controls);
                }
            }
            let shape = |m: &Matrix<_>| Operator::new(m, &targets, &[]).unwrap().shape().clone();
            assert!(matches!(
                shape(&diagonal),
                OperatorShape::Identity | OperatorShape::Phase(_) | OperatorShape::Diagonal(_)
            ));
            assert!(!matches!(shape(&monomial), OperatorShape::Dense { .. }));
            assert!(matches!(shape(&projector), OperatorShape::Dense { .. }));
        }
    }
}

#[test]
fn an_operator_with_other_numbers_is_the_operator_of_their_matrix() {
    let mut rng = Rng::new(67);
    for k in 0..=3usize {
        let dim = 1 << k;
        let zero = Complex::new(0.0, 0.0);
        let diagonal = |rng: &mut Rng| {
            let factors: Vec<Complex<f64>> = rng.vector(dim);
            Matrix::from_fn(k, |i, j| if i == j { factors[j] } else { zero })
        };
        let matrices = [
            unitary::<f64>(&mut rng, k),
            unitary::<f64>(&mut rng, k),
            diagonal(&mut rng),
            diagonal(&mut rng),
            Matrix::identity(k),
            Matrix::from_fn(k, |i, j| Complex::new(f64::from(u8::from(i ^ j == dim - 1)), 0.0)),
        ];
        let targets = rng.permutation(5)[..k].to_vec();
        for controls in control_sets(5, &targets, 1) {
            let pairs = matrices.iter().flat_map(|a| matrices.iter().map(move |b| (a, b)));
            for (before, after) in pairs {
                let mut operator = Operator::new(before, &targets, &controls).unwrap();
                operator.update_parameters(after, &targets, &controls).unwrap();
                let start: Vec<Complex<f64>> = rng.vector(1 << 5);
                let mut state = start.clone();
                operator.apply(&mut state, &Threads::serial());
                let expected = reference::times_vector(
                    &reference::embed(after, 5, &targets, &controls),
                    &start,
                );
                assert_close(
                    &state,
                    &expected,
                    ROUNDING,
                    &format!("{before:?} to {after:?} on {targets:?} under {controls:?}"),
                );
            }
        }
    }
}

#[test]
fn an_operator_touches_only_what_it_changes() {
    let mut rng = Rng::new(7);
    let n = 6;
    let vector: Vec<Complex<f64>> = rng.vector(1 << n);
    let values = Values::<f64>(&[]);
    for (kind, n_controls, expected) in [
        (GateKind::Z, 0, 32),
        (GateKind::T, 0, 32),
        (GateKind::Z, 1, 16),
        (GateKind::Z, 2, 8),
        (GateKind::X, 0, 64),
        (GateKind::X, 1, 32),
        (GateKind::X, 2, 16),
        (GateKind::H, 0, 64),
        (GateKind::SWAP, 0, 32),
        (GateKind::I, 0, 0),
    ] {
        let matrix: Matrix<Complex<f64>> = Gate::new(kind, []).unwrap().matrix(&values).unwrap();
        let order = rng.permutation(n);
        let k = kind.n_qubits();
        let controls: Controls = order[k..k + n_controls].iter().map(|&q| (q, true)).collect();
        let operator = Operator::new(&matrix, &order[..k], &controls).unwrap();
        assert_eq!(operator.touched(n), expected, "{kind:?} with {n_controls} controls");
        let mut state = StateVector::from_vector(vector.clone()).unwrap();
        state.apply(&operator, &Threads::serial()).unwrap();
        let changed = state.amplitudes().iter().zip(&vector).filter(|(a, b)| a != b).count();
        assert_eq!(changed, expected, "{kind:?} with {n_controls} controls");
    }
}

#[test]
fn one_qubit_gates_are_right_on_low_targets_and_all_run_lengths() {
    let mut rng = Rng::new(8);
    let values = Values::<f64>(&[]);
    // Runs are 2^target long, at most 2^12: targets 0 to 13 show them all, and the cut.
    let n = 14;
    let vector: Vec<Complex<f64>> = rng.vector(1 << n);
    for kind in [
        GateKind::X,
        GateKind::Y,
        GateKind::Z,
        GateKind::H,
        GateKind::T,
        GateKind::RX,
        GateKind::RZ,
        GateKind::U,
    ] {
        let m: Matrix<Complex<f64>> =
            rng.gate(kind, |rng| Angle::rad(rng.signed())).matrix(&values).unwrap();
        for target in 0..n {
            let mut state = StateVector::from_vector(vector.clone()).unwrap();
            state.apply_matrix(&m, &[target], &[]).unwrap();
            // By definition: new[i] = m[b][0] old[i with bit 0] + m[b][1] old[i with bit 1].
            let expected: Vec<_> = (0..1usize << n)
                .map(|i| {
                    let b = i >> target & 1;
                    m[(b, 0)] * vector[i & !(1 << target)] + m[(b, 1)] * vector[i | 1 << target]
                })
                .collect();
            assert_close(
                state.amplitudes(),
                &expected,
                <Complex<f64>>::TOLERANCE,
                &format!("{kind:?} on {target}"),
            );
        }
    }
}

#[test]
fn threads_change_no_bit() {
    let pools: Vec<Threads> = (1..=3).map(|n| Threads::new(n).unwrap()).collect();
    assert_eq!(pools.iter().map(Threads::count).collect::<Vec<_>>(), [1, 2, 3]);
    let mut rng = Rng::new(9);
    // Both sides of the size where threads switch on.
    let edge = SERIAL_BELOW.trailing_zeros() as usize;
    for n in [edge - 1, edge, edge + 2] {
        let circuit = rng.circuit(n, 60, Rng::angle);
        let observable = "0.5*Z0 Z3 - X1 Y2 + 0.25*Y5 + X0 X1 X2".parse().unwrap();
        let start = StateVector::<Complex<f64>>::random(n, 3, &pools[0]).unwrap();
        let results: Vec<_> = pools
            .iter()
            .map(|threads| {
                let simulator = Simulator::new().with_threads(threads.clone());
                let mut state = StateVector::random(n, 3, threads).unwrap();
                assert_eq!(state, start, "random states");
                let bound =
                    BoundCircuit::<Complex<f64>>::new(&circuit, &Values::<f64>(&[])).unwrap();
                simulator.execute(bound.operators().unwrap(), &mut state, &mut |_, _| {}).unwrap();
                let reductions = [
                    state.norm2(threads),
                    state.inner(&start, threads).unwrap().re,
                    state.inner(&start, threads).unwrap().im,
                    state.expectation(&observable, threads).unwrap(),
                    state.probabilities_of(&[2, 0], threads).unwrap()[1],
                    state.reduced_density_matrix(&[1, n - 1], threads).unwrap()[(1, 2)].im,
                ];
                let shots = state.sample(5000, 1, threads).unwrap();
                let mut collapsed = state.clone();
                collapsed.collapse(n / 2, true, threads).unwrap();
                (state, reductions.map(f64::to_bits), shots, collapsed)
            })
            .collect();
        assert!(results.iter().all(|r| *r == results[0]), "n = {n}");
    }
}

#[test]
fn threads_switch_on_above_a_size() {
    use std::cell::Cell;
    // A ring that remembers on which thread it was multiplied last.
    thread_local!(static HERE: Cell<bool> = const { Cell::new(false) });
    HERE.set(true);
    #[derive(Clone, Debug, PartialEq)]
    struct Traced(f64, bool);
    macro_rules! traced {
        ($($Op:ident $op:ident $Assign:ident $assign:ident $sign:tt)*) => {$(
            impl std::ops::$Op for Traced { type Output = Traced; fn $op(self, y: Traced) -> Traced { &self $sign &y } }
            impl std::ops::$Op<&Traced> for Traced { type Output = Traced; fn $op(self, y: &Traced) -> Traced { &self $sign y } }
            impl std::ops::$Op<Traced> for &Traced { type Output = Traced; fn $op(self, y: Traced) -> Traced { self $sign &y } }
            impl std::ops::$Op for &Traced {
                type Output = Traced;
                fn $op(self, y: &Traced) -> Traced { Traced(self.0 $sign y.0, !HERE.get()) }
            }
            impl std::ops::$Assign for Traced { fn $assign(&mut self, y: Traced) { *self = &*self $sign &y; } }
        )*};
    }
    traced!(Add add AddAssign add_assign + Sub sub SubAssign sub_assign - Mul mul MulAssign mul_assign *);
    impl std::ops::Neg for Traced {
        type Output = Traced;
        fn neg(self) -> Traced {
            Traced(-self.0, self.1)
        }
    }
    impl std::ops::Neg for &Traced {
        type Output = Traced;
        fn neg(self) -> Traced {
            Traced(-self.0, self.1)
        }
    }
    impl num_traits::Zero for Traced {
        fn zero() -> Traced {
            Traced(0.0, false)
        }
        fn is_zero(&self) -> bool {
            self.0 == 0.0
        }
    }
    impl num_traits::One for Traced {
        fn one() -> Traced {
            Traced(1.0, false)
        }
    }
    impl Ring for Traced {
        fn is_exact_zero(&self) -> bool {
            self.0 == 0.0
        }
    }
    let threads = Threads::new(2).unwrap();
    let m = Matrix::from_rows(vec![
        vec![Traced(0.6, false), Traced(0.8, false)],
        vec![Traced(-0.8, false), Traced(0.6, false)],
    ])
    .unwrap();
    let elsewhere = |n: usize| {
        let mut state = StateVector::<Traced>::zero(n).unwrap();
        state.apply(&Operator::new(&m, &[n - 1], &[]).unwrap(), &threads).unwrap();
        state.amplitudes().iter().filter(|a| a.1).count()
    };
    let edge = SERIAL_BELOW.trailing_zeros() as usize;
    assert_eq!(elsewhere(edge - 1), 0, "small states stay where they are");
    assert_eq!(elsewhere(edge + 1), 2 << edge, "even the top qubit is shared out");
}

/// Every Pauli string, and no letter, under no, one and two controls on n qubits: its masks, and
/// rotations about it by two angles.
fn every_string(
    seed: u64,
    n: usize,
    mut angle: impl FnMut(&mut Rng) -> Angle,
    mut law: impl FnMut(&mut Rng, (usize, usize), [PauliRotation; 2], &Controls),
) {
    let mut rng = Rng::new(seed);
    for (x, z) in (0..1usize << n).flat_map(|x| (0..1usize << n).map(move |z| (x, z))) {
        let on: Vec<usize> = (0..n).filter(|q| (x | z) >> q & 1 == 1).collect();
        let letter = |q: &usize| match (x >> q & 1, z >> q & 1) {
            (1, 0) => Pauli::X,
            (1, _) => Pauli::Y,
            _ => Pauli::Z,
        };
        for controls in control_sets(n, &on, 2) {
            let rotations =
                [(); 2].map(|()| PauliRotation::new(on.iter().map(letter), angle(&mut rng)));
            law(&mut rng, (x, z), rotations, &controls);
        }
    }
}

fn all_strings_against_the_reference<R: Parts>(
    seed: u64,
    n: usize,
    binding: &impl Binding<R>,
    angle: impl FnMut(&mut Rng) -> Angle,
) {
    every_string(seed, n, angle, |rng, (x, z), [first, second], controls| {
        let what = format!("x {x:b}, z {z:b} under {controls:?}");
        let matrix = reference::exponential(&first, binding).unwrap();
        assert_close(
            first.matrix(binding).unwrap().entries(),
            matrix.entries(),
            R::TOLERANCE,
            &what,
        );
        let on: Vec<usize> = (0..n).filter(|q| (x | z) >> q & 1 == 1).collect();
        let start: Vec<R> = rng.vector(1 << n);
        let expected =
            reference::times_vector(&reference::embed(&matrix, n, &on, controls), &start);
        let numbers = |rotation: &PauliRotation| rotation.numbers(binding).unwrap();
        let made = Operator::string(x, z, numbers(&first), controls).unwrap();
        let mut renewed = Operator::string(x, z, numbers(&second), controls).unwrap();
        renewed.update_string_parameters(x, z, numbers(&first), controls).unwrap();
        for operator in [made, renewed] {
            let mut state = start.clone();
            operator.apply(&mut state, &Threads::serial());
            assert_close(&state, &expected, R::TOLERANCE, &what);
        }
    });
}

#[test]
fn every_string_with_controls() {
    all_strings_against_the_reference::<Complex<f64>>(1, 4, &Values::<f64>(&[]), Rng::angle);
    all_strings_against_the_reference::<Complex<f32>>(2, 3, &Values::<f32>(&[]), Rng::angle);
    let values = [Dual64::new(0.3, 1.0), Dual64::new(-1.1, 0.7)];
    all_strings_against_the_reference::<Complex<Dual64>>(3, 3, &Values(&values), exact_angle);
    let point = Point::<Fp>::random(Goldilocks, 1 << 16, &[16; 2], 7).unwrap();
    all_strings_against_the_reference::<Fp>(4, 3, &point, exact_angle);
}

#[test]
fn strings_have_an_inverse_and_come_as_gates() {
    let binding = Values::<f64>(&[]);
    every_string(5, 4, Rng::angle, |rng, (x, z), rotations, controls| {
        let [operator, other] = rotations.map(|rotation| {
            Operator::string(x, z, rotation.numbers(&binding).unwrap(), controls).unwrap()
        });
        let mut into = other.dagger();
        operator.dagger_into(&mut into);
        assert_eq!(into, operator.dagger());
        let start: Vec<Complex<f64>> = rng.vector(16);
        let mut there = start.clone();
        operator.apply(&mut there, &Threads::serial());
        let mut back = there.clone();
        into.apply(&mut back, &Threads::serial());
        assert_close(&back, &start, ROUNDING, "there and back");
        let about_string = matches!(
            operator.shape(),
            OperatorShape::Parity { .. } | OperatorShape::PauliString { .. }
        );
        let gates = operator.without_string();
        assert_eq!(gates.is_some(), about_string);
        let mut state = start;
        for gate in gates.unwrap_or_else(|| vec![operator]) {
            assert_eq!(gate.without_string(), None);
            gate.apply(&mut state, &Threads::serial());
        }
        assert_close(&state, &there, ROUNDING, &format!("x {x:b}, z {z:b} under {controls:?}"));
    });
}

#[test]
fn strings_are_checked() {
    let string = |controls| Operator::string(0b011, 0b110, [0.6, 0.8], controls);
    assert!(matches!(string(&[(1, true)]), Err(BasisError::Repeated { .. })));
    assert!(matches!(string(&[(5, true), (5, false)]), Err(BasisError::Repeated { .. })));
    assert!(matches!(string(&[(200, true)]), Err(BasisError::TooManyQubits { .. })));
    let operator = string(&[(5, true)]).unwrap();
    assert_eq!((operator.n_qubits(), operator.touched(7)), (6, 64));
    assert_eq!(
        operator.shifted(2),
        Operator::string(0b01100, 0b11000, [0.6, 0.8], &[(7, true)]).unwrap()
    );
}

/// Every gate of the table under no, one and two controls at all positions of n <= 4 qubits.
fn all_gates_against_the_reference<R: Parts>(
    seed: u64,
    sizes: &[usize],
    binding: &impl Binding<R>,
    mut angle: impl FnMut(&mut Rng) -> Angle,
) {
    let mut rng = Rng::new(seed);
    for &n in sizes {
        for &kind in GateKind::ALL {
            for targets in arrangements(n, kind.n_qubits()) {
                for controls in control_sets(n, &targets, 2) {
                    let gate = rng.gate(kind, &mut angle);
                    compare(&mut rng, &gate.matrix(binding).unwrap(), n, &targets, &controls);
                }
            }
        }
    }
}

/// `c pi/8`, or a fraction of one of the parameters.
fn exact_angle(rng: &mut Rng) -> Angle {
    let theta = Angle::theta(ketgrad_core::param::ParamId::new(rng.below(2) as u32));
    Angle::pi(rng.below(17) as i64 - 8, 8) + theta * Q::new(rng.below(5) as i64 - 2, 2)
}

#[test]
fn every_gate_with_controls_in_double_and_single_precision() {
    all_gates_against_the_reference::<Complex<f64>>(
        1,
        &[1, 2, 3, 4],
        &Values::<f64>(&[]),
        Rng::angle,
    );
    all_gates_against_the_reference::<Complex<f32>>(2, &[3, 4], &Values::<f32>(&[]), Rng::angle);
}

#[test]
fn every_gate_with_controls_on_five_qubits() {
    all_gates_against_the_reference::<Complex<f64>>(1, &[5], &Values::<f64>(&[]), Rng::angle);
}

#[test]
fn every_gate_with_controls_over_dual_numbers() {
    let values = [Dual64::new(0.3, 1.0), Dual64::new(-1.1, 0.7)];
    all_gates_against_the_reference::<Complex<Dual64>>(3, &[3, 4], &Values(&values), exact_angle);
    let values = [Dual2_64::new(0.3, 1.0, 0.0), Dual2_64::new(-1.1, 0.7, 0.2)];
    all_gates_against_the_reference::<Complex<Dual2_64>>(4, &[3], &Values(&values), exact_angle);
}

#[test]
fn every_gate_with_controls_in_a_finite_field() {
    let point = Point::<Fp>::random(Goldilocks, 1 << 32, &[16; 2], 3).unwrap();
    all_gates_against_the_reference::<Fp>(5, &[1, 2, 3, 4], &point, exact_angle);
}

#[test]
fn real_circuits_run_on_real_rings() {
    fn real<R: Real + Parts>(seed: u64) {
        let mut rng = Rng::new(seed);
        let (c, s) = (R::ratio(3, 5), R::ratio(4, 5));
        let root = R::ratio(1, 2).sqrt();
        let x =
            Matrix::from_rows(vec![vec![R::zero(), R::one()], vec![R::one(), R::zero()]]).unwrap();
        let h =
            Matrix::from_rows(vec![vec![root.clone(), root.clone()], vec![root.clone(), -root]])
                .unwrap();
        let ry = Matrix::from_rows(vec![vec![c.clone(), -s.clone()], vec![s, c]]).unwrap();
        for matrix in [&x, &h, &ry, &h.kron(&ry), &ry.kron(&x).kron(&h)] {
            for targets in arrangements(4, matrix.n_qubits()) {
                for controls in control_sets(4, &targets, 1) {
                    compare(&mut rng, matrix, 4, &targets, &controls);
                }
            }
        }
    }
    real::<f64>(1);
    real::<f32>(2);
    real::<Dual64>(3);
}

/// Runs a circuit over `Complex<T>` and returns the amplitudes.
fn run<T: Real>(circuit: &Circuit, inputs: &[T]) -> Vec<Complex<T>> {
    Simulator::new().run(circuit, inputs).unwrap().into_amplitudes()
}

/// A circuit of all gates with two inputs.
fn two_parameter_circuit() -> Circuit {
    let mut rng = Rng::new(10);
    let mut circuit = Circuit::new(4);
    circuit.param("a");
    circuit.param("b");
    let body = rng.circuit(4, 0, Rng::angle);
    circuit.append(&body, &[0, 1, 2, 3]).unwrap();
    for q in 0..4 {
        circuit.h(q).unwrap();
    }
    for &kind in GateKind::ALL {
        let gate = rng.gate(kind, exact_angle);
        let order = rng.permutation(4);
        let controls: Controls =
            order[kind.n_qubits()..].iter().take(1).map(|&q| (q, rng.below(2) == 1)).collect();
        circuit.gate(gate, &order[..kind.n_qubits()], &controls).unwrap();
    }
    circuit
}

/// The values of a run over any number type, cut down to `f64`.
fn assert_primal<T: Real>(circuit: &Circuit, inputs: &[T], tolerance: f64) {
    let values: Vec<f64> = inputs.iter().map(|x| x.primal().unwrap()).collect();
    let plain = run(circuit, &values);
    let primal = |x: &T| x.primal().unwrap();
    let got: Vec<_> =
        run(circuit, inputs).iter().map(|a| Complex::new(primal(&a.re), primal(&a.im))).collect();
    assert_close(&got, &plain, tolerance, std::any::type_name::<T>());
}

/// A central difference with this step: its error is about step^2 (truncation) and 1e-16 / step
/// (rounding), at the best step both 1e-10 or so for sums of rotations with small factors.
const STEP: f64 = 1e-5;
const FIRST: f64 = 1e-8;
/// The second difference divides roundings by the square of a larger step.
const SECOND_STEP: f64 = 1e-3;
const SECOND: f64 = 1e-4;

#[test]
fn a_circuit_gives_the_same_on_every_number_type() {
    let circuit = two_parameter_circuit();
    let (a, b) = (0.37, -0.81);
    let at = |a: f64, b: f64| run(&circuit, &[a, b]);
    let plain = at(a, b);
    let flat = |v: Vec<Complex<f64>>| -> Vec<f64> { v.iter().flat_map(|z| [z.re, z.im]).collect() };
    let combine = |terms: &[(f64, f64, f64)]| -> Vec<f64> {
        let runs: Vec<_> = terms.iter().map(|&(w, a, b)| (w, flat(at(a, b)))).collect();
        (0..2 * plain.len()).map(|i| runs.iter().map(|(w, v)| w * v[i]).sum()).collect()
    };
    let da = combine(&[(0.5 / STEP, a + STEP, b), (-0.5 / STEP, a - STEP, b)]);
    let db = combine(&[(0.5 / STEP, a, b + STEP), (-0.5 / STEP, a, b - STEP)]);
    let h = SECOND_STEP;
    let daa =
        combine(&[(1.0 / (h * h), a + h, b), (-2.0 / (h * h), a, b), (1.0 / (h * h), a - h, b)]);
    let q = 0.25 / (h * h);
    let dab =
        combine(&[(q, a + h, b + h), (-q, a + h, b - h), (-q, a - h, b + h), (q, a - h, b - h)]);

    assert_primal(&circuit, &[a as f32, b as f32], 1e-4); // some 30 gates in single precision

    let dual = run(&circuit, &[Dual64::new(a, 1.0), Dual64::new(b, 0.0)]);
    let eps: Vec<f64> = dual.iter().flat_map(|z| [z.re.eps, z.im.eps]).collect();
    assert_close(&eps, &da, FIRST, "Dual");
    assert_primal(&circuit, &[Dual64::new(a, 1.0), Dual64::new(b, 0.0)], CIRCUIT);

    let dual2 = run(&circuit, &[Dual2_64::new(a, 1.0, 0.0), Dual2_64::from_re(b)]);
    assert_close(
        &dual2.iter().flat_map(|z| [z.re.v1, z.im.v1]).collect::<Vec<_>>(),
        &eps,
        CIRCUIT,
        "Dual2, first",
    );
    let v2: Vec<f64> = dual2.iter().flat_map(|z| [z.re.v2, z.im.v2]).collect();
    assert_close(&v2, &daa, SECOND, "Dual2, second");

    let hyper =
        run(&circuit, &[HyperDual64::new(a, 1.0, 0.0, 0.0), HyperDual64::new(b, 0.0, 1.0, 0.0)]);
    assert_close(
        &hyper.iter().flat_map(|z| [z.re.eps1, z.im.eps1]).collect::<Vec<_>>(),
        &eps,
        CIRCUIT,
        "HyperDual, first",
    );
    assert_close(
        &hyper.iter().flat_map(|z| [z.re.eps1eps2, z.im.eps1eps2]).collect::<Vec<_>>(),
        &dab,
        SECOND,
        "HyperDual, mixed",
    );

    let direction =
        |i: usize| Derivative::some(SVector::<f64, 2>::from_fn(|j, _| f64::from(u8::from(i == j))));
    let vector =
        run(&circuit, &[DualSVec64::new(a, direction(0)), DualSVec64::new(b, direction(1))]);
    let gradient = |j: usize| -> Vec<f64> {
        let eps = |x: &DualSVec64<2>| x.eps.0.map_or(0.0, |e| e[j]);
        vector.iter().flat_map(|z| [eps(&z.re), eps(&z.im)]).collect()
    };
    assert_close(&gradient(0), &eps, CIRCUIT, "DualSVec, first entry");
    assert_close(&gradient(1), &db, FIRST, "DualSVec, second entry");

    let outer = |re, d| Dual::new(Dual64::new(re, d), Dual64::new(d, 0.0));
    let nested = run(&circuit, &[outer(a, 1.0), outer(b, 0.0)]);
    assert_close(
        &nested.iter().flat_map(|z| [z.re.eps.eps, z.im.eps.eps]).collect::<Vec<_>>(),
        &v2,
        CIRCUIT,
        "Dual<Dual64>",
    );

    let (sa, sb) = (0.01, 0.02);
    let uncertain = run(&circuit, &[Uncertain::new(a, sa), Uncertain::new(b, sb)]);
    let sigma: Vec<f64> = uncertain.iter().flat_map(|z| [z.re.sigma(), z.im.sigma()]).collect();
    let expected: Vec<f64> =
        eps.iter().zip(gradient(1)).map(|(x, y)| (x * sa).hypot(y * sb)).collect();
    assert_close(&sigma, &expected, CIRCUIT, "Uncertain");
    assert_primal(&circuit, &[Uncertain::new(a, sa), Uncertain::new(b, sb)], CIRCUIT);

    // The finite field has no amplitudes to compare with, but it has the reference.
    let point = Point::<Fp>::random(Goldilocks, 1 << 32, &[16; 2], 4).unwrap();
    let state = Simulator::new().run_bound(&circuit, &point).unwrap();
    let matrix = reference::circuit(&circuit, &point);
    let column: Vec<Fp> = matrix.iter().map(|row| row[0]).collect();
    assert_close(state.amplitudes(), &column, EXACT, "Fp");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn circuits_equal_the_product_of_their_embedded_gates(circuit in circuits(4, 2, 12)) {
        let values = Values(&[0.4, -1.3]);
        let matrix: Matrix<Complex<f64>> = Simulator::new().matrix(&circuit, &values).unwrap();
        let d = support::close::matrix_distance(&reference::rows(&matrix), &reference::circuit(&circuit, &values));
        prop_assert!(d <= CIRCUIT, "{} apart", d);
    }
}

/// Every pattern of equal, opposite, real, imaginary and missing elements: loops of their own are
/// for some of them, the generic ones and those of every instruction set.
#[test]
fn matrices_with_any_pattern_of_elements_act_as_they_are() {
    fn all<E: SimdFloat + Real + Parts>() {
        let elements = [(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.5, -2.0)];
        let (mut rng, n) = (Rng::new(45), 5);
        for k in 0..5usize.pow(4) {
            let m = Matrix::from_fn(1, |i, j| {
                let (re, im) = elements[k / 5usize.pow(2 * i as u32 + j as u32) % 5];
                Complex::new(E::lit(re), E::lit(im))
            });
            for target in 0..n {
                let control = vec![((target + 1 + k % (n - 1)) % n, k % 2 == 0)];
                for controls in [vec![], control] {
                    let vector: Vec<Complex<E>> = rng.vector(1 << n);
                    let right = reference::times_vector(
                        &reference::embed(&m, n, &[target], &controls),
                        &vector,
                    );
                    let operators = [Operator::new(&m, &[target], &controls).unwrap()];
                    let run = |executor: &dyn Executor<Complex<E>>| {
                        let mut found = vector.clone();
                        executor.run(&operators, &mut found, &Threads::serial()).unwrap();
                        let what = format!("{}: {m:?} on {target}, {controls:?}", executor.name());
                        assert_close(&found, &right, 4.0 * <E as Parts>::TOLERANCE, &what);
                    };
                    run(&Generic);
                    InstructionSet::ALL
                        .into_iter()
                        .filter_map(Fast::with)
                        .for_each(|fast| run(&fast));
                }
            }
        }
    }
    all::<f64>();
    all::<f32>();
}
