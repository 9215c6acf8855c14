//! Circuits with classical variables as text and pictures.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{collections::BTreeMap, sync::Arc};

use ketgrad_core::{
    circuit::{
        BitRange, Circuit, CircuitError, ClassicalAssignment, ClassicalTarget, Condition,
        Instruction, Operation,
    },
    classical::{
        Arithmetic, ClassicalExpr, ClassicalOperand, ClassicalType, IntType, Relation, VariableId,
        VariableType,
    },
    draw,
    param::{Q, Values},
    print::{self, PrintError},
    qasm::{self, QasmOptions},
    simulate::{BoundCircuit, Simulator},
};
use num_complex::Complex;

const INT: ClassicalType = ClassicalType::Int(IntType::INT);
const BYTE: ClassicalType = ClassicalType::Int(IntType::unsigned(8));

fn range(start: i64, end: i64) -> [ClassicalExpr; 3] {
    [start, 1, end].map(ClassicalExpr::from)
}

fn is(value: ClassicalExpr, number: i64) -> ClassicalExpr {
    value.compare(Relation::Equal, number).unwrap()
}

/// The distribution of the registers that show.
fn distribution(circuit: &Circuit) -> BTreeMap<String, f64> {
    let bound = BoundCircuit::<Complex<f64>>::new(circuit, &Values::<f64>(&[])).unwrap();
    let mut by_text = BTreeMap::new();
    for (memory, p) in Simulator::new().distribution(&bound, 1 << 14).unwrap() {
        *by_text.entry(memory.text(circuit)).or_insert(0.0) += p;
    }
    by_text
}

/// Prints a circuit, reads it again, without and with variables, and compares what they measure.
fn text_that_means_the_same(circuit: &Circuit) -> String {
    let text = print::to_qasm3(circuit).unwrap();
    let before = distribution(circuit);
    for variables in [false, true] {
        let options = QasmOptions::default().with_variables(variables);
        let again = qasm::parse(&text, &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let after = distribution(&again.circuit);
        assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "{text}");
        for (key, p) in &before {
            assert!((p - after[key]).abs() < 1e-12, "{key}: {p} and {}\n{text}", after[key]);
        }
    }
    text
}

/// A circuit on two qubits, a register `b` of two bits and a result `r` of four.
fn results() -> (Circuit, BitRange, BitRange) {
    let mut circuit = Circuit::new(2);
    let b = circuit.bit_register("b", 2).unwrap();
    let r = circuit.bit_register("r", 4).unwrap();
    (circuit, b, r)
}

/// Tosses a coin on qubit 0, into bit 0.
fn coin(circuit: &mut Circuit) -> Result<&mut Circuit, CircuitError> {
    circuit.reset(0)?.h(0)?.measure(0, 0)
}

fn add(circuit: &mut Circuit, to: VariableId, number: i64) -> Result<&mut Circuit, CircuitError> {
    let sum = circuit.value_of(to)?.binary(Arithmetic::Add, number)?;
    circuit.store(to, sum)
}

/// Gives the result register the value of a variable, bit by bit.
fn result(circuit: &mut Circuit, to: BitRange, of: VariableId) {
    for (k, bit) in to.bits(..).unwrap().into_iter().enumerate() {
        let value = circuit.value_of(of).unwrap();
        let digit = value.binary(Arithmetic::Div, 1 << k).unwrap().binary(Arithmetic::Rem, 2);
        circuit.when(is(digit.unwrap(), 1), |c| c.assign(bit, true)).unwrap();
    }
}

#[test]
fn a_conversion_before_another_is_written() {
    let (mut c, b, r) = results();
    c.h(0).unwrap().h(1).unwrap().measure(0, 0).unwrap().measure(1, 1).unwrap();
    // 3 is no int[2]: both are an `int`, and the bits 11 are -1 there.
    let signed = ClassicalExpr::bits(&[0, 1]).unwrap();
    let signed = signed.cast(ClassicalType::Int(IntType::signed(2))).unwrap();
    let first = r.bits(0).unwrap()[0];
    c.when(is(signed.clone(), 3), |c| c.assign(first, true)).unwrap();
    let low = signed.compare(Relation::Less, 3).unwrap();
    c.when(low, |c| c.assign(first + 1, true)).unwrap();
    let text = text_that_means_the_same(&c);
    assert!(text.contains("if (int[2](b) == 3)") && text.contains("if (int[2](b) < 3)"), "{text}");
    assert_eq!(b.size(), 2);
}

#[test]
fn a_counter_is_written_as_one() {
    let (mut c, _, r) = results();
    let n = c.hidden_variable("n", BYTE).unwrap();
    let i = c.hidden_variable("i", INT).unwrap();
    let one = Condition::Bit { bit: 0, value: true };
    c.for_loop(i, range(1, 3), |c| coin(c)?.if_else(one, |c| add(c, n, 1), |c| c.x(1))).unwrap();
    result(&mut c, r, n);
    let text = text_that_means_the_same(&c);
    assert_eq!(
        text,
        r#"OPENQASM 3.0;
include "stdgates.inc";
qubit[2] q;
output bit[2] b;
output bit[4] r;
uint[8] n = 0;
for int[32] i in [1:3] {
    reset q[0];
    h q[0];
    b[0] = measure q[0];
    if (b[0]) {
        n = n + 1;
    } else {
        x q[1];
    }
}
if (n / 1 % 2 == 1) { r[0] = true; }
if (n / 2 % 2 == 1) { r[1] = true; }
if (n / 4 % 2 == 1) { r[2] = true; }
if (n / 8 % 2 == 1) { r[3] = true; }
"#
    );
}

#[test]
fn exits_of_several_loops_are_written_in_steps() {
    type Exit = fn(&mut Circuit, ClassicalExpr) -> Result<&mut Circuit, CircuitError>;
    let exits: [Exit; 4] = [
        |c, when| c.when(when, |c| c.break_out(1)),
        |c, when| c.when(when, |c| c.break_out(2)),
        |c, when| c.when(when, |c| c.continue_loop(1)),
        |c, when| c.when(when, |c| c.continue_loop(2)),
    ];
    for exit in exits {
        let (mut c, _, r) = results();
        let n = c.hidden_variable("n", BYTE).unwrap();
        let [i, j] = ["i", "j"].map(|name| c.hidden_variable(name, INT).unwrap());
        c.for_loop(i, range(1, 2), |c| {
            c.for_loop(j, range(1, 2), |c| {
                coin(c)?;
                let head = ClassicalExpr::bits(&[0])?;
                exit(c, head.truth())?;
                add(c, n, 1)
            })?;
            add(c, n, 4)
        })
        .unwrap();
        result(&mut c, r, n);
        text_that_means_the_same(&c);
    }
    // Out of a block, which is written as a loop of one round; the gate after it is not in it.
    let (mut c, ..) = results();
    c.block(|c| {
        coin(c)?;
        let head = ClassicalExpr::bits(&[0])?;
        c.when(head.truth(), |c| c.break_out(1))?.x(1)
    })
    .unwrap();
    c.x(1).unwrap().measure(1, 1).unwrap();
    let text = text_that_means_the_same(&c);
    assert!(text.contains("for int once in [0:0] {\n"), "{text}");
    assert_eq!(distribution(&c).len(), 2);
    let p = distribution(&c);
    assert!((p["0000 11"] - 0.5).abs() < 1e-12 && (p["0000 00"] - 0.5).abs() < 1e-12, "{p:?}");
}

#[test]
fn a_loop_has_the_variable_of_the_circuit_where_something_else_reads_it() {
    let (mut c, _, r) = results();
    let i = c.hidden_variable("i", BYTE).unwrap();
    c.for_loop(i, range(1, 9), |c| {
        coin(c)?;
        let tail = ClassicalExpr::bits(&[0])?.not();
        c.when(tail, |c| c.break_out(1))
    })
    .unwrap();
    result(&mut c, r, i);
    let text = text_that_means_the_same(&c);
    assert!(text.contains("for uint[8] value in [1:9] {\n    i = value;\n"), "{text}");
}

#[test]
fn choices_and_values_are_written_as_they_are() {
    let (mut c, _, r) = results();
    let n = c.hidden_variable("n", BYTE).unwrap();
    let one = Condition::Bit { bit: 0, value: true };
    coin(&mut c).unwrap().if_else(one.clone(), |c| c.store(n, 5), |c| c.store(n, 7)).unwrap();
    let subject = c.value_of(n).unwrap();
    c.switch(subject, |s| {
        s.case([1, 7], |c| add(c, n, 1))?.case([2], |c| c.x(1))?.default(|c| add(c, n, 2))
    })
    .unwrap();
    c.measure(1, 1).unwrap();
    result(&mut c, r, n);
    let text = text_that_means_the_same(&c);
    let choice = "switch (n) {\n    case 1, 7 {\n        n = n + 1;\n    }\n    case 2 {\n        x q[1];\n    }\n    default {\n        n = n + 2;\n    }\n}\n";
    assert!(text.contains(choice), "{text}");
}

#[test]
fn variables_are_declared_with_their_types() {
    let mut c = Circuit::new(1);
    let types: [VariableType; 7] = [
        ClassicalType::Bool.into(),
        ClassicalType::Bits(3).into(),
        ClassicalType::Angle(4).into(),
        ClassicalType::FLOAT.into(),
        ClassicalType::Complex(ketgrad_core::classical::FloatType::F32).into(),
        VariableType::array(BYTE, &[2, 2]),
        INT.into(),
    ];
    for (k, ty) in types.into_iter().enumerate() {
        c.add_variable(&format!("v{k}"), ty).unwrap();
    }
    // A gate of the language and a number are no names of variables.
    c.add_variable("x", INT).unwrap();
    let text = print::to_qasm3(&c).unwrap();
    let declarations = "bool v0 = false;\nbit[3] v1 = \"000\";\nangle[4] v2 = 0.0;\nfloat[64] v3 = 0.0;\n\
                        complex[float[32]] v4 = 0.0;\narray[uint[8], 2, 2] v5 = {{0, 0}, {0, 0}};\n\
                        int[32] v6 = 0;\nint[32] x_1 = 0;\n";
    assert!(text.ends_with(declarations), "{text}");
    assert_eq!(print::renamed_in_qasm3(&c), [("x".to_owned(), "x_1".to_owned())]);
    assert!(qasm::parse(&text, &QasmOptions::default()).is_ok(), "{text}");
}

#[test]
fn bits_of_several_registers_are_assigned_by_way_of_another() {
    let mut c = Circuit::new(1);
    c.bit_register("a", 2).unwrap();
    let all = c.bit_register("b", 3).unwrap();
    coin(&mut c).unwrap();
    let turned = ClassicalExpr::bits(&[0, 1, 0]).unwrap();
    c.store_bits(all, turned).unwrap();
    let five = is(ClassicalExpr::bits(&[0, 2, 4]).unwrap(), 7);
    c.when(five, |c| c.x(0)).unwrap().measure(0, 1).unwrap();
    let text = text_that_means_the_same(&c);
    assert!(
        text.contains("b = (a ++ a[0]);\nif ((a[0] ++ b[0] ++ b[2]) == 7) { x q; }\n"),
        "{text}"
    );
    // And where they are written.
    let value = ClassicalExpr::bits(&[2, 0, 0]).unwrap();
    let target = ClassicalTarget::Bits([3, 1, 0].into());
    let operation = Operation::Store(Arc::new(ClassicalAssignment { target, value }));
    let (targets, controls) = Default::default();
    let store = Instruction { operation, targets, controls, condition: None };
    c.push(store).unwrap();
    let text = text_that_means_the_same(&c);
    let by_way = "{ bit[3] bits = (b[0] ++ a[0] ++ a[0]); b[1] = bits[0]; a[1] = bits[1]; a[0] = bits[2]; }\n";
    assert!(text.ends_with(by_way), "{text}");
}

#[test]
fn openqasm_2_says_what_it_has_not() {
    let construct = |build: fn(&mut Circuit) -> Result<&mut Circuit, CircuitError>| {
        let mut c = Circuit::new(1);
        c.bit_register("b", 1).unwrap();
        build(&mut c).unwrap();
        print::to_qasm2(&c).unwrap_err()
    };
    const ONE: Condition = Condition::Bit { bit: 0, value: true };
    let classical = |construct| PrintError::Classical { construct };
    assert_eq!(construct(|c| c.add_variable("n", INT).map(|_| c)), classical("variables"));
    assert_eq!(
        construct(|c| c.if_else(ONE, |c| c.x(0), |c| c.h(0))),
        classical("blocks of instructions")
    );
    assert_eq!(construct(|c| c.end_run()), classical("`end`"));
    assert_eq!(
        construct(|c| {
            let t = c.hidden_variable("t", ClassicalType::FLOAT)?;
            c.rx(0, c.scalar(t)?)
        }),
        classical("angles that are computed when a gate runs")
    );
    assert_eq!(construct(|c| c.while_loop(ONE, |c| c.x(0))), PrintError::Loop);
}

#[test]
fn pictures_show_blocks_on_the_lines_that_they_use() {
    let (mut c, _, _) = results();
    let n = c.hidden_variable("n", BYTE).unwrap();
    let one = Condition::Bit { bit: 0, value: true };
    c.measure(0, 0).unwrap().if_else(one, |c| c.x(1), |c| add(c, n, 1)).unwrap();
    let text = draw::text(&c, None);
    for piece in ["┤M→b[0]├", "┤if b[0]├", "┤else├", "┤n = n + 1├", "┤end├"] {
        assert!(text.contains(piece), "{piece}\n{text}");
    }
    for other in [draw::svg(&c, None), draw::latex(&c, None)] {
        assert!(other.contains("else"), "{other}");
    }
}

/// Angles that are computed when gates run.
#[test]
fn computed_angles_are_written_as_expressions() {
    let (mut c, b, _) = results();
    let t = c.hidden_variable("turn", ClassicalType::FLOAT).unwrap();
    let a = c.hidden_variable("a", ClassicalType::Angle(4)).unwrap();
    let n = c.hidden_variable("n", BYTE).unwrap();
    let [t, a, n] = [t, a, n].map(|id| c.scalar(id).unwrap());
    coin(&mut c).unwrap();
    c.if_else(b.equals(1), |c| c.store(t, 0.75)?.store(a, 1.5)?.store(n, 3), |c| c.store(t, -2.5))
        .unwrap();
    c.rx(1, -t / 2).unwrap().rz(1, a).unwrap().ry(1, n).unwrap();
    // U shows its phase under a control, and the others have definitions.
    c.under(0, true, |c| c.u(1, t * 3, 0.5, a)).unwrap().rxx(0, 1, t).unwrap();
    c.under(0, false, |c| c.r(1, t, 0.5)).unwrap().undo(|c| c.rx(1, a)).unwrap();
    c.when(n.less_than(2), |c| c.p(1, t)).unwrap().measure(1, 1).unwrap();
    let text = text_that_means_the_same(&c);
    let gates = r#"rx(-turn / 2.0) q[1];
rz(a) q[1];
ry(float[64](n)) q[1];
cu(turn * 3.0, 0.5, a, turn * 3.0 * 0.5) q[0], q[1];
rxx(turn) q[0], q[1];
negctrl @ r_1(turn, 0.5) q[0], q[1];
rx(-float[64](a)) q[1];
if (n < 2) { p(turn) q[1]; }
b[1] = measure q[1];
"#;
    assert!(text.ends_with(gates), "{text}");
    // A parameter in one is an input.
    let (mut c, ..) = results();
    let theta = c.param("theta");
    let t = c.add_variable("turn", ClassicalType::FLOAT).unwrap();
    let t = c.scalar(t).unwrap();
    c.u3(0, &theta, t + ClassicalExpr::angle(theta.clone() * Q::from(2)), 0.0).unwrap();
    let text = print::to_qasm3(&c).unwrap();
    assert!(
        text.ends_with("float[64] turn = 0.0;\nu3(theta, turn + (2*theta), 0) q[0];\n"),
        "{text}"
    );
}
