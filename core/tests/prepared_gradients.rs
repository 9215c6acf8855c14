//! A prepared gradient at another point allocates nothing, and is the gradient.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    array::Array,
    circuit::Circuit,
    exec::{Datum, Derivatives},
    hybrid::Expectation,
    kernel::{Executors, InstructionSet, SimdFloat},
    matrix::Matrix,
    observable::{Pauli, PauliString, PauliSum},
    plan::Fast,
    simulate::Simulator,
    text::parse_program,
};
use num_complex::Complex;
use support::requests::requests;

/// Rotations of one and two qubits, phases, controls and permutations; parameters are shared.
fn mixed(n: usize) -> Circuit {
    let mut c = Circuit::new(n);
    let mut w = c.param_list("w", 6 * n).into_iter();
    let all = c.param("all");
    for q in 0..n {
        let other = (q + 1) % n;
        c.h(q).unwrap().ry(q, w.next().unwrap()).unwrap().rz(q, w.next().unwrap()).unwrap();
        c.rx(q, w.next().unwrap() * 2 + all.clone()).unwrap().p(q, w.next().unwrap()).unwrap();
        c.cx(q, other).unwrap().rzz(q, other, w.next().unwrap()).unwrap();
        c.cp(other, q, w.next().unwrap()).unwrap().rz(q, all.clone()).unwrap();
    }
    c
}

/// Rotations about Y alone, so that all matrices are real: they turn into reflections, and have
/// signs to carry.
fn real(n: usize) -> Circuit {
    let mut c = Circuit::new(n);
    let mut w = c.param_list("w", 4 * n).into_iter();
    for layer in 0..4 {
        for q in 0..n {
            c.ry(q, w.next().unwrap()).unwrap();
        }
        for q in (layer % 2..n - 1).step_by(2) {
            if layer == 2 {
                c.swap(q, q + 1).unwrap()
            } else {
                c.cx(q, q + 1).unwrap()
            };
        }
    }
    c.h(0).unwrap();
    c
}

/// The hardware-efficient ansatz of two angles a qubit and layer.
fn efficient(n: usize) -> Circuit {
    let mut c = Circuit::new(n);
    let mut w = c.param_list("w", 8 * n).into_iter();
    for _ in 0..4 {
        for q in 0..n {
            c.ry(q, w.next().unwrap()).unwrap().rz(q, w.next().unwrap()).unwrap();
        }
        for q in 0..n {
            c.cx(q, (q + 1) % n).unwrap();
        }
    }
    c
}

/// Dense matrices of two qubits, controlled rotations, and generators of two letters.
fn dense(n: usize) -> Circuit {
    let root = Complex::new(0.5, 0.5);
    let zero = Complex::new(0.0, 0.0);
    let one = Complex::new(1.0, 0.0);
    // Half a SWAP, after a phase.
    let half_swap = Matrix::from_rows(vec![
        vec![one, zero, zero, zero],
        vec![zero, root, root.conj(), zero],
        vec![zero, root.conj(), root, zero],
        vec![zero, zero, zero, Complex::new(0.0, 1.0)],
    ])
    .unwrap();
    let mut c = Circuit::new(n);
    let mut w = c.param_list("w", 7 * n).into_iter();
    for q in 0..n {
        let (a, b) = ((q + 1) % n, (q + 2) % n);
        c.ry(q, w.next().unwrap()).unwrap().rx(q, w.next().unwrap()).unwrap();
        c.unitary(half_swap.clone(), &[q, a], &[]).unwrap();
        c.cry(q, b, w.next().unwrap()).unwrap().crx(b, a, w.next().unwrap()).unwrap();
        c.rxx(q, a, w.next().unwrap()).unwrap().ryy(a, b, w.next().unwrap()).unwrap();
        c.ccx(q, a, b).unwrap().ry(b, w.next().unwrap()).unwrap();
    }
    c
}

/// Rotations about strings of up to n letters, some under controls, whose angles also make them
/// phases and signs.
fn strings(n: usize) -> Circuit {
    let mut c = Circuit::new(n);
    let mut w = c.param_list("w", 6 * n).into_iter();
    for q in 0..n {
        let letter = |k: usize| ((q + k) % n, [Pauli::X, Pauli::Y, Pauli::Z][(q + k * k) % 3]);
        for length in [2, 3, n / 2, n] {
            let string = PauliString::new((0..length).map(letter)).unwrap();
            c.pauli_rotation(&string, w.next().unwrap()).unwrap();
        }
        let parity = PauliString::new((0..3).map(|k| ((q + k) % n, Pauli::Z))).unwrap();
        c.pauli_rotation(&parity, w.next().unwrap()).unwrap();
        let string = PauliString::new((0..4).map(letter)).unwrap();
        c.under((q + 5) % n, q % 2 == 0, |c| c.pauli_rotation(&string, w.next().unwrap())).unwrap();
    }
    c
}

fn allocates_nothing<E: SimdFloat>(circuit: Circuit, special: &[f64], tolerance: f64)
where
    Complex<E>: Send + Sync,
{
    let n = circuit.n_qubits();
    let observables = ["Z0 Z1 + 0.5*X2 - Y0 X3", "X0 + Z3"].map(|o| o.parse::<PauliSum>().unwrap());
    for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
        let mut executors = Executors::new();
        executors.insert::<Complex<E>>(std::sync::Arc::new(Fast::with(set).unwrap()));
        let simulator = Simulator::new().with_executors(executors);
        let energy = Expectation::new(circuit.clone(), observables.clone())
            .unwrap()
            .with_simulator(simulator);
        let mut prepared = energy.prepare::<E>().unwrap();
        let mut gradient = vec![E::zero(); energy.n_inputs()];
        let point = |at: &dyn Fn(usize) -> f64| -> Vec<E> {
            (0..energy.n_inputs()).map(|k| E::round_from(at(k))).collect()
        };
        // Far apart: each angle passes multiples of pi/2 from one to the next.
        let anywhere = |shift: f64| point(&move |k| (shift + k as f64).sin() * 4.0);
        for shift in [0.0, 1.0, 2.0] {
            prepared.value_and_gradient(&anywhere(shift), &mut gradient).unwrap();
        }
        let special = special.iter().map(|&angle| point(&move |_| angle));
        for at in [3.0, 4.5, 6.1, 9.7].map(anywhere).into_iter().chain(special) {
            let mut value = E::zero();
            let count =
                requests(|| value = prepared.value_and_gradient(&at, &mut gradient).unwrap());
            let (other, fresh) = energy.value_and_gradient(&at).unwrap();
            let far = |x: E, y: E| (Into::<f64>::into(x) - Into::<f64>::into(y)).abs() > tolerance;
            assert!(!far(value, other), "{set}, {n}: {value:?} {other:?}");
            assert!(
                !gradient.iter().zip(&fresh).any(|(x, y)| far(*x, *y)),
                "{gradient:?} {fresh:?}"
            );
            assert_eq!(count, 0, "{n} qubits, {set}, at {at:?}");
        }
        let of = prepared.expectation();
        assert_eq!((of.circuit(), of.observables().len()), (energy.circuit(), observables.len()));
        assert!(
            requests(|| drop(energy.value_and_gradient(&anywhere(0.0)).unwrap())) > 0,
            "the allocator counts"
        );
    }
}

#[test]
fn a_prepared_gradient_allocates_nothing() {
    use std::f64::consts::{FRAC_PI_2, PI};
    let special = [0.0, FRAC_PI_2, PI, -FRAC_PI_2, 2.0 * PI, 1e-3];
    for n in [7, 12] {
        for circuit in [mixed, real, efficient] {
            allocates_nothing::<f64>(circuit(n), &special, 1e-11);
            allocates_nothing::<f32>(circuit(n), &special, 2e-3);
        }
        allocates_nothing::<f64>(strings(n), &special, 1e-11);
        allocates_nothing::<f32>(strings(n), &special, 2e-3);
        allocates_nothing::<f64>(dense(n), &[], 1e-11);
        allocates_nothing::<f32>(dense(n), &[], 2e-3);
    }
}

/// So does that of a program: what rows, parts and elements give to the cotangent of an array goes
/// to one buffer.
#[test]
fn a_prepared_gradient_of_a_program_allocates_nothing() {
    for (body, slope) in [
        ("let mut s = 0.0; for i in 0..40 { let r = row(a, i); s += sum(r * r) * k; } s", 1.0),
        (
            "let mut s = 0.0; for i in 0..40 { let r = row(a, i); s += sum(r * r) * k + a[i, 1]; } s",
            2.0,
        ),
        (
            "let mut s = 0.0; for j in 0..5 { let r = slice(a, 1, j, 1); s += sum(r * r) * k; } s",
            1.0,
        ),
        (
            "let mut s = 0.0; for i in 0..40 { for j in 0..6 { s += a[i, j] * a[i, j] * k; } } s",
            1.0,
        ),
    ] {
        let program = parse_program(&format!("fn f(a: array, k) {{ {body} }}")).unwrap();
        let mut f = Derivatives::<f64>::new(&program, "f").unwrap().prepare().unwrap();
        let numbers: Vec<f64> = (0..240).map(|k| (f64::from(k) * 0.7).sin()).collect();
        let a = Array::new(&[40, 6], numbers.clone()).unwrap();
        let args = [Datum::Reals(a.into()), Datum::Real(0.5)];
        let mut gradient = Vec::new();
        for _ in 0..3 {
            f.value_and_gradient(&args, &mut gradient).unwrap();
        }
        let count = requests(|| {
            f.value_and_gradient(&args, &mut gradient).unwrap();
        });
        let Datum::Reals(of_a) = &gradient[0] else { panic!("{gradient:?}") };
        assert_eq!(of_a.shape().as_slice(), [40, 6], "{body}");
        // By element (3, 1), 2 a k and what it gives by itself.
        assert!((of_a[19] - (numbers[19] + slope - 1.0)).abs() < 1e-14, "{body}: {}", of_a[19]);
        assert_eq!(count, 0, "{body}");
    }
}

/// Rows one after the other are read in the way that was found for the first.
#[test]
fn parts_that_begin_elsewhere_take_no_new_plan() {
    let source = "fn f(a: array, k) {
        let mut s = 0.0;
        for i in 0..ROWS { s += sum(slice(a, 0, i, 1) * k + slice(a, 0, 39 - i, 1)); }
        s
    }";
    let numbers: Vec<f64> = (0..40 * 5000).map(|k| (k as f64 * 0.7).sin()).collect();
    let args =
        [Datum::Reals(Array::new(&[40, 5000], numbers.clone()).unwrap().into()), Datum::Real(0.5)];
    let counts = [2, 40].map(|rows| {
        let program = parse_program(&source.replace("ROWS", &rows.to_string())).unwrap();
        let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
        for _ in 0..3 {
            f.value(&args).unwrap();
        }
        let count = requests(|| {
            f.value(&args).unwrap();
        });
        let y = *f.value(&args).unwrap().real().unwrap();
        let sum: f64 =
            numbers[..rows * 5000].iter().chain(numbers.rchunks(rows * 5000).next().unwrap()).sum();
        let half: f64 = numbers[..rows * 5000].iter().sum();
        assert!((y - (sum - 0.5 * half)).abs() < 1e-9, "{y}");
        count
    });
    assert!(counts[1] < counts[0] + 60, "{counts:?}");
}
