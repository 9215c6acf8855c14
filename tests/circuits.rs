//! Laws of editing circuits: append, repeat, dagger, controlled, bind, and refusals.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    ansatz,
    circuit::{Circuit, CircuitError, Control, Instruction, Operation, PauliRotation},
    gate::{Gate, GateKind},
    matrix::{Matrix, MatrixError},
    observable::{Pauli, PauliString},
    param::{Angle, BindError, ElementaryFunction, ParamExpr, ParamId, Q, Step, Values},
    problem::Graph,
    simulate::{SimulateError, Simulator, final_measurements},
};
use num_complex::Complex;
use proptest::prelude::*;
use support::{
    close::{CIRCUIT, matrix_distance},
    random::{Rng, circuits},
    reference::{self, Dense, embed, identity, product},
};

type C = Complex<f64>;

fn matrix(circuit: &Circuit, inputs: &[f64]) -> Matrix<C> {
    let values = circuit.param_values(inputs).unwrap();
    Simulator::new().matrix(circuit, &Values(&values)).unwrap()
}

fn rows(circuit: &Circuit, inputs: &[f64]) -> Dense<C> {
    reference::rows(&matrix(circuit, inputs))
}

/// Values for the inputs `a` and `b`.
const AT: [f64; 2] = [0.8, -0.45];

macro_rules! prop_close {
    ($a:expr, $b:expr) => {{
        let d = matrix_distance(&$a, &$b);
        prop_assert!(d <= CIRCUIT, "{:e} apart", d);
    }};
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn append_multiplies_by_the_embedded_circuit(
        first in circuits(4, 2, 8), second in circuits(3, 2, 8), order in Just(vec![0usize, 1, 2, 3]).prop_shuffle(),
    ) {
        let qubits = &order[..3];
        let mut both = first.clone();
        both.append(&second, qubits).unwrap();
        let moved = embed(&matrix(&second, &AT), 4, qubits, &[]);
        // The inputs have the same names in both, so they are shared.
        prop_assert_eq!(both.inputs().collect::<Vec<_>>(), ["a", "b"]);
        prop_close!(rows(&both, &AT), product(&moved, &rows(&first, &AT)));
    }

    #[test]
    fn circuits_in_gates_are_the_same(circuit in circuits(4, 2, 10)) {
        let gates = circuit.decomposed();
        let is_table = |i: &Instruction| matches!(i.operation, Operation::Gate(_));
        prop_assert!(gates.instructions().iter().all(is_table));
        prop_close!(rows(&gates, &AT), rows(&circuit, &AT));
        prop_assert_eq!(gates.decomposed(), gates);
    }

    #[test]
    fn repeat_is_a_power(circuit in circuits(3, 2, 6), times in 0usize..5) {
        let u = rows(&circuit, &AT);
        let power = (0..times).fold(identity(8), |p, _| product(&u, &p));
        prop_close!(rows(&circuit.repeat(times).unwrap(), &AT), power);
    }

    #[test]
    fn dagger_is_the_inverse(circuit in circuits(4, 2, 10)) {
        let dagger = circuit.dagger().unwrap();
        prop_close!(rows(&dagger, &AT), reference::rows(&matrix(&circuit, &AT).dagger()));
        let mut both = circuit.clone();
        both.append(&dagger, &[0, 1, 2, 3]).unwrap();
        prop_close!(rows(&both, &AT), identity(16));
    }

    #[test]
    fn controlled_is_the_embedding_under_controls(circuit in circuits(3, 2, 8), values in proptest::collection::vec(any::<bool>(), 0..3)) {
        let controlled = circuit.controlled(&values).unwrap();
        let controls: Vec<_> = (3..).zip(values.iter().copied()).collect();
        prop_assert_eq!(controlled.n_qubits(), 3 + values.len());
        let expected = embed(&matrix(&circuit, &AT), 3 + values.len(), &[0, 1, 2], &controls);
        prop_close!(rows(&controlled, &AT), expected);
    }

    #[test]
    fn binding_is_evaluating(circuit in circuits(3, 2, 8)) {
        let expected = rows(&circuit, &AT);
        let all = circuit.bind(&[("a", Angle::rad(AT[0])), ("b", Angle::rad(AT[1]))]).unwrap();
        prop_assert_eq!(all.inputs().count(), 0);
        prop_close!(rows(&all, &[]), expected);
        let one = circuit.bind(&[("b", Angle::rad(AT[1]))]).unwrap();
        prop_assert_eq!(one.inputs().collect::<Vec<_>>(), ["a"]);
        prop_close!(rows(&one, &AT[..1]), expected);
        // b := a/2 - pi/4, with a still open.
        let tied = circuit.bind(&[("b", Angle::theta(ParamId::new(0)) * Q::new(1, 2) - Angle::pi(1, 4))]).unwrap();
        let b = AT[0] / 2.0 - std::f64::consts::FRAC_PI_4;
        prop_close!(rows(&tied, &AT[..1]), rows(&circuit, &[AT[0], b]));
    }
}

/// `sin(a) * b` as a parameter of a circuit with the inputs `a` and `b`.
fn computed(circuit: &mut Circuit) -> Angle {
    let (a, b) = (circuit.param("a"), circuit.param("b"));
    let expr =
        ParamExpr::from(a).call(ElementaryFunction::Sin).binary(Step::Mul, ParamExpr::from(b));
    circuit.expression(expr)
}

#[test]
fn computed_parameters_survive_append_and_bind() {
    let mut inner = Circuit::new(1);
    let product_of = computed(&mut inner);
    inner.rx(0, &product_of).unwrap();
    let expected = |a: f64, b: f64| {
        let mut plain = Circuit::new(1);
        plain.rx(0, a.sin() * b).unwrap();
        rows(&plain, &[])
    };
    let close =
        |x: &Dense<C>, y: &Dense<C>| assert!(matrix_distance(x, y) <= CIRCUIT, "{x:?}\n{y:?}");
    close(&rows(&inner, &AT), &expected(AT[0], AT[1]));

    // The outer circuit declares b first, so ids move.
    let mut outer = Circuit::new(2);
    outer.param("c");
    outer.param("b");
    outer.append(&inner, &[1]).unwrap();
    assert_eq!(outer.inputs().collect::<Vec<_>>(), ["c", "b", "a"]);
    let moved = embed(&matrix(&inner, &AT), 2, &[1], &[]);
    close(&rows(&outer, &[9.0, AT[1], AT[0]]), &moved);
    // Appended twice, the expression is still one parameter.
    outer.append(&inner, &[0]).unwrap();
    assert_eq!(outer.params().iter().filter(|p| p.definition.is_some()).count(), 1);

    let bound = inner.bind(&[("a", Angle::rad(0.3))]).unwrap();
    assert_eq!(bound.inputs().collect::<Vec<_>>(), ["b"]);
    close(&rows(&bound, &[2.0]), &expected(0.3, 2.0));
    let all = inner.bind(&[("a", Angle::rad(0.3)), ("b", Angle::rad(2.0))]).unwrap();
    assert!(all.params().is_empty());
    close(&rows(&all, &[]), &expected(0.3, 2.0));
    // An expression of an expression.
    let mut twice = inner.clone();
    let deeper = ParamExpr::from(product_of).call(ElementaryFunction::Exp);
    let deeper = twice.expression(deeper);
    twice.rz(0, deeper).unwrap();
    let inputs = twice.bind(&[("b", Angle::rad(AT[1]))]).unwrap();
    close(&rows(&inputs, &AT[..1]), &rows(&twice, &AT));
    assert_eq!(twice.to_string(), "rx((sin(a)*b)) q[0]\nrz((exp((sin(a)*b)))) q[0]\n");
}

#[test]
fn parameters_are_shared_by_name() {
    let mut circuit = Circuit::new(1);
    assert_eq!(circuit.param("theta"), circuit.param("theta"));
    assert_ne!(circuit.param("theta"), circuit.param("phi"));
    assert_eq!(circuit.inputs().collect::<Vec<_>>(), ["theta", "phi"]);
    let (e, f) = (computed(&mut circuit), computed(&mut circuit));
    assert_eq!(e, f, "one expression is one parameter");
    // An expression that is an angle already needs no parameter.
    let before = circuit.params().len();
    assert_eq!(circuit.expression(ParamExpr::from(Angle::pi(1, 2))), Angle::pi(1, 2));
    assert_eq!(circuit.params().len(), before);
}

/// A number that means another parameter elsewhere is no parameter of this circuit.
#[test]
fn parameters_stay_in_their_circuits() {
    let mut first = Circuit::new(1);
    let (a, b) = (first.param("a"), first.param("b"));
    let mut second = Circuit::new(1);
    let y = second.param("y");
    let before = second.clone();
    let other = |e: CircuitError| matches!(e, CircuitError::OtherParam { id, name } if id.index() == 0 && name == "y");
    assert!(other(second.rx(0, &a).unwrap_err()));
    assert!(other(second.rx(0, &a * 2 + 0.5).unwrap_err()));
    // A sum over both is of neither.
    for sum in [&a + &y, &y + &a, &a + &y * 2] {
        assert!(other(second.rx(0, &sum).unwrap_err()), "{sum}");
        assert!(first.rx(0, &sum).is_err(), "{sum}");
    }
    assert!(second.rx(0, &a - &y).is_err(), "a difference that is no 0");
    assert!(
        matches!(second.rx(0, &b).unwrap_err(), CircuitError::ForeignParam { id } if id.index() == 1)
    );
    let sine = second.expression(ParamExpr::from(a.clone()).call(ElementaryFunction::Sin));
    assert!(other(second.rx(0, sine).unwrap_err()));
    assert!(other(second.bind(&[("y", a.clone())]).unwrap_err()));
    assert!(matches!(
        second.bind(&[("y", b.clone())]).unwrap_err(),
        CircuitError::ForeignParam { .. }
    ));
    assert_eq!(second, before, "what is refused changes nothing");

    // Clones, and circuits that have the parameter at the same place, take it; a bare number is any
    // parameter.
    let mut copy = first.clone();
    copy.rx(0, &a + &b).unwrap();
    let mut same = Circuit::new(1);
    same.param("a");
    same.rx(0, &a).unwrap();
    second.rx(0, Angle::theta(ParamId::new(0)) + &y).unwrap();
    assert_eq!(second.to_string(), "rx(2*y) q[0]\n");
    assert_eq!(Angle::theta(ParamId::new(0)), a);

    // In a circuit with one parameter less, the numbers of those after it have moved.
    let mut bound = copy.bind(&[("a", Angle::pi(1, 2))]).unwrap();
    assert!(bound.rz(0, &a).is_err() && bound.rz(0, &b).is_err());
    let b = bound.param("b");
    bound.rz(0, b).unwrap();
    assert_eq!(bound.to_string(), "rx(pi/2 + b) q[0]\nrz(b) q[0]\n");
}

/// An edit that should fail, by name.
type Edit = (&'static str, fn(&mut Circuit) -> Result<(), CircuitError>, fn(&CircuitError) -> bool);

#[test]
fn refused_edits_leave_the_circuit_as_it_was() {
    let unitary_off = || Matrix::from_fn(1, |i, j| C::new(if i == j { 1.01 } else { 0.0 }, 0.0));
    assert!(matches!(unitary_off().check_unitary(1e-7), Err(MatrixError::NotUnitary { .. })));
    let edits: Vec<Edit> = vec![
        (
            "no such target",
            |c| c.x(3).map(drop),
            |e| matches!(e, CircuitError::NoSuchQubit { given: 3, n_qubits: 3 }),
        ),
        (
            "no such control",
            |c| c.cx(7, 0).map(drop),
            |e| matches!(e, CircuitError::NoSuchQubit { given: 7, .. }),
        ),
        (
            "beyond u32",
            |c| c.x(usize::MAX).map(drop),
            |e| matches!(e, CircuitError::NoSuchQubit { given: usize::MAX, .. }),
        ),
        (
            "control is target",
            |c| c.cx(1, 1).map(drop),
            |e| matches!(e, CircuitError::RepeatedQubit { qubit: 1 }),
        ),
        (
            "swap of one",
            |c| c.swap(2, 2).map(drop),
            |e| matches!(e, CircuitError::RepeatedQubit { qubit: 2 }),
        ),
        (
            "two targets for h",
            |c| c.gate(Gate::new(GateKind::H, [])?, &[0, 1], &[]).map(drop),
            |e| matches!(e, CircuitError::Targets { given: 2, expected: 1, .. }),
        ),
        (
            "no target for h",
            |c| c.gate(Gate::new(GateKind::H, [])?, &[], &[]).map(drop),
            |e| matches!(e, CircuitError::Targets { given: 0, expected: 1, .. }),
        ),
        (
            "wrong parameters",
            |c| c.gate(Gate::new(GateKind::RX, [])?, &[0], &[]).map(drop),
            |e| matches!(e, CircuitError::Params(_)),
        ),
        (
            "foreign parameter",
            |c| c.rx(0, Angle::theta(ParamId::new(9))).map(drop),
            |e| matches!(e, CircuitError::ForeignParam { id } if id.number() == 9),
        ),
        (
            "not unitary",
            |c| c.unitary(Matrix::from_fn(1, |_, _| C::new(1.0, 0.0)), &[0], &[]).map(drop),
            |e| matches!(e, CircuitError::Matrix(_)),
        ),
        (
            "NaN",
            |c| c.unitary(Matrix::from_fn(1, |_, _| C::new(f64::NAN, 0.0)), &[0], &[]).map(drop),
            |e| matches!(e, CircuitError::Matrix(_)),
        ),
        (
            "unitary on too few",
            |c| c.unitary(Matrix::identity(2), &[0], &[]).map(drop),
            |e| matches!(e, CircuitError::Targets { given: 1, expected: 2, .. }),
        ),
        (
            "no such bit",
            |c| c.measure(0, 2).map(drop),
            |e| matches!(e, CircuitError::NoSuchBit { given: 2, n_bits: 2 }),
        ),
        (
            "bit beyond u32",
            |c| c.measure(0, usize::MAX).map(drop),
            |e| matches!(e, CircuitError::NoSuchBit { given: usize::MAX, .. }),
        ),
        (
            "register twice",
            |c| c.add_register("c", 1).map(drop),
            |e| matches!(e, CircuitError::DuplicateRegister { .. }),
        ),
        (
            "qubit map",
            |c| c.append(&Circuit::new(2), &[0]).map(drop),
            |e| matches!(e, CircuitError::QubitMap { given: 1, expected: 2 }),
        ),
        (
            "map repeats",
            |c| c.append(&Circuit::new(2), &[1, 1]).map(drop),
            |e| matches!(e, CircuitError::RepeatedQubit { qubit: 1 }),
        ),
        (
            "map too far",
            |c| c.append(&Circuit::new(2), &[1, 3]).map(drop),
            |e| matches!(e, CircuitError::NoSuchQubit { given: 3, .. }),
        ),
        (
            "append a register",
            |c| {
                let mut other = Circuit::new(1);
                other.param("new");
                other.add_register("d", 1)?.add_register("c", 1)?;
                c.append(&other, &[0]).map(drop)
            },
            |e| matches!(e, CircuitError::DuplicateRegister { .. }),
        ),
        (
            "measure two",
            |c| {
                let targets = [0u32, 1].into_iter().collect();
                c.push(Instruction {
                    operation: Operation::Measure { bit: 0 },
                    targets,
                    controls: Default::default(),
                    condition: None,
                })
                .map(drop)
            },
            |e| matches!(e, CircuitError::Targets { given: 2, .. }),
        ),
        (
            "raw instruction",
            |c| {
                let controls = [Control { qubit: 0, value: false }].into_iter().collect();
                let targets = [0u32].into_iter().collect();
                c.push(Instruction {
                    operation: Operation::Gate(Gate::new(GateKind::X, [])?),
                    targets,
                    controls,
                    condition: None,
                })
                .map(drop)
            },
            |e| matches!(e, CircuitError::RepeatedQubit { qubit: 0 }),
        ),
    ];
    let mut circuit = Circuit::new(3);
    circuit.add_register("c", 2).unwrap();
    let theta = circuit.param("theta");
    circuit.h(0).unwrap().crx(0, 1, theta).unwrap();
    for (what, edit, expected) in edits {
        let before = circuit.clone();
        let error = edit(&mut circuit).expect_err(what);
        assert!(expected(&error), "{what}: {error:?}");
        assert!(!error.to_string().is_empty());
        assert_eq!(circuit, before, "{what}");
    }
}

#[test]
fn strings_are_checked_where_they_are_appended() {
    let mut circuit = Circuit::new(3);
    let string = PauliString::new([(0, Pauli::X), (3, Pauli::Z)]).unwrap();
    let refused = circuit.pauli_rotation(&string, 0.1).unwrap_err();
    assert_eq!(refused, CircuitError::NoSuchQubit { given: 3, n_qubits: 3 });
    let foreign = Circuit::new(1).param("theta");
    assert!(circuit.pauli_rotation(&PauliString::default(), foreign).is_err());
    let short = Instruction {
        operation: Operation::PauliRotation(Box::new(PauliRotation::new(
            [Pauli::X, Pauli::Y],
            0.3,
        ))),
        targets: [0].into_iter().collect(),
        controls: Default::default(),
        condition: None,
    };
    let refused = circuit.push(short).unwrap_err();
    assert_eq!(refused.to_string(), "pauli_rotation acts on 2 qubits, not 1");
    assert!(circuit.instructions().is_empty());
}

#[test]
fn more_than_32_qubits_in_one_instruction_may_not_repeat_either() {
    let mut circuit = Circuit::new(50);
    let controls: Vec<usize> = (0..40).collect();
    circuit.mcx(&controls, 49).unwrap();
    assert_eq!(circuit.mcx(&controls, 39), Err(CircuitError::RepeatedQubit { qubit: 39 }));
    let repeated: Vec<usize> = (0..40).chain([7]).collect();
    assert_eq!(circuit.mcx(&repeated, 49), Err(CircuitError::RepeatedQubit { qubit: 7 }));
    assert_eq!(circuit.instructions().len(), 1);
}

#[test]
fn inputs_and_values_are_checked() {
    let mut circuit = Circuit::new(1);
    let theta = circuit.param("theta");
    circuit.rx(0, theta).unwrap();
    let simulator = Simulator::new();
    let error = simulator.run(&circuit, &[1.0, 2.0]).unwrap_err();
    assert_eq!(error.to_string(), "2 parameter values given, the circuit has 1 (theta)");
    let error = simulator.run::<f64>(&circuit, &[]).unwrap_err();
    assert_eq!(error.to_string(), "no parameter values given, the circuit has 1 (theta)");
    let error = simulator.run(&circuit, &[f64::NAN]).unwrap_err();
    assert!(
        matches!(error, SimulateError::Circuit(CircuitError::NotFinite { ref angle }) if angle == "1/2*theta"),
        "{error:?}"
    );
    let error = circuit.bind(&[("phi", Angle::zero())]).unwrap_err();
    assert_eq!(error, CircuitError::NoSuchParam { name: "phi".into() });
    let error = simulator.run_bound::<C>(&circuit, &Values::<f64>(&[])).unwrap_err();
    assert!(
        matches!(error, SimulateError::Circuit(CircuitError::Unbound { ref names }) if names == &["theta"]),
        "{error:?}"
    );
    assert!(
        matches!(circuit.bind_error(BindError::Unbound { id: ParamId::new(5) }), CircuitError::Unbound { names } if names == ["p5"])
    );
}

#[test]
fn binding_to_what_is_not_a_number_is_refused() {
    let mut circuit = Circuit::new(1);
    let a = circuit.param("a");
    let log = circuit.expression(ParamExpr::from(a).call(ElementaryFunction::Ln));
    circuit.rx(0, log).unwrap();
    let error = circuit.bind(&[("a", Angle::rad(-1.0))]).unwrap_err();
    assert!(
        matches!(error, CircuitError::NotFinite { ref angle } if angle == "log(-1)"),
        "{error:?}"
    );
    assert!(Simulator::new().run(&circuit, &[-1.0]).is_err());
}

#[test]
fn circuits_beyond_memory_are_refused() {
    let mut circuit = Circuit::new(1);
    circuit.h(0).unwrap().t(0).unwrap();
    for times in [usize::MAX, usize::MAX / 2, 1 << 60] {
        let error = circuit.repeat(times).unwrap_err();
        assert_eq!(error, CircuitError::TooLong { instructions: times.checked_mul(2) });
    }
    assert_eq!(Circuit::new(1).repeat(usize::MAX).unwrap().instructions().len(), 0);
    let graph = Graph::new(2, [(0, 1, 1.0)]).unwrap();
    for layers in [usize::MAX, 1 << 60] {
        assert!(matches!(ansatz::hardware_efficient(1, layers), Err(CircuitError::TooLong { .. })));
        assert!(matches!(ansatz::qaoa(&graph, layers), Err(CircuitError::TooLong { .. })));
    }
}

#[test]
fn measurements_bar_what_needs_a_unitary_circuit() {
    let mut circuit = Circuit::new(2);
    circuit.h(0).unwrap().measure_all().unwrap();
    for refused in [circuit.dagger(), circuit.repeat(2), circuit.controlled(&[true])] {
        assert!(matches!(refused, Err(CircuitError::NotUnitary { .. })));
    }
    assert!(Simulator::new().matrix::<C>(&circuit, &Values::<f64>(&[])).is_err());
    assert!(circuit.measure_all().is_err(), "the register exists");
    // A gate after a measurement of its qubit leaves no single final state; a barrier and another
    // measurement can.
    circuit.barrier(&[0, 1]).unwrap().measure(0, 1).unwrap();
    assert_eq!(
        final_measurements(&circuit).unwrap().into_iter().collect::<Vec<_>>(),
        [(0, 0), (1, 0)]
    );
    circuit.x(0).unwrap();
    let error = Simulator::new().run::<f64>(&circuit, &[]).unwrap_err();
    assert!(matches!(error, SimulateError::Dynamic), "{error:?}");
}

#[test]
fn the_transpose_of_a_matrix_is_its_dagger_without_the_conjugates() {
    let matrix = Rng::new(7).unitary(2);
    let conjugated = Matrix::from_fn(2, |i, j| matrix.dagger()[(i, j)].conj());
    assert_eq!(matrix.transpose(), conjugated);
    assert!(matrix[(1, 2)] != matrix[(2, 1)] && matrix.transpose()[(1, 2)] == matrix[(2, 1)]);
}

#[test]
fn counts_read_the_registers() {
    let mut circuit = Circuit::new(3);
    circuit.add_register("low", 2).unwrap().add_register("high", 1).unwrap();
    // low[0] reads qubit 2 (which is 1), low[1] is never written, high[0] reads qubit 0 (which is
    // 0).
    circuit.x(2).unwrap().measure(2, 0).unwrap().measure(0, 2).unwrap();
    let simulator = Simulator::new();
    let state = simulator.run::<f64>(&circuit, &[]).unwrap();
    let counts = simulator.counts(&circuit, &state, 10, 1).unwrap();
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("0 01".to_owned(), 10)]);
}

#[test]
fn operations_are_counted_and_printed_by_name() {
    let mut circuit = Circuit::new(3);
    circuit.ccx(0, 1, 2).unwrap().ecr(0, 1).unwrap();
    circuit.gate(Gate::new(GateKind::X, []).unwrap(), &[0], &[(2, false)]).unwrap();
    circuit.unitary(Matrix::identity(1), &[1], &[(0, true)]).unwrap();
    let mut rng = Rng::new(1);
    circuit.unitary(rng.unitary(2), &[2, 0], &[]).unwrap();
    let string = PauliString::new([(1, Pauli::Z), (0, Pauli::Y)]).unwrap();
    circuit.under(2, false, |c| c.pauli_rotation(&string, Angle::pi(1, 4))).unwrap();
    assert_eq!(
        circuit.to_string(),
        "ccx q[0], q[1], q[2]\necr q[0], q[1]\nc1-x !q[2], q[0]\nc1-unitary q[0], q[1]\nunitary q[2], q[0]\n\
         c1-pauli_rotation(pi/4) !q[2], Y q[0], Z q[1]\n"
    );
    let counts: Vec<_> = circuit.count_operations().into_iter().collect();
    let expected = [
        ("c1-pauli_rotation", 1),
        ("c1-unitary", 1),
        ("c1-x", 1),
        ("ccx", 1),
        ("ecr", 1),
        ("unitary", 1),
    ];
    assert_eq!(counts, expected.map(|(name, n)| (name.to_owned(), n)));
}
