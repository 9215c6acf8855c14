//! `circuit!` writes the circuits that method calls write.

use ketgrad::{
    Angle, Circuit, PI, circuit,
    circuit::{CircuitError, Condition, Relation},
    matrix::Matrix,
    observable::{Pauli, PauliString},
    pauli,
};

type Outcome = Result<(), CircuitError>;

#[test]
fn gates_take_lists_and_angles() -> Outcome {
    let (n, theta) = (4, 0.3);
    let list = vec![3, 1];
    let written = circuit! {
        qubits n;
        h ..;
        rx(theta) 0;
        rz(PI / 4) 1;
        cx 0, 1;
        cx 0..2, 2..4;
        x list;
        y &list;
        u3(theta, PI / 2, -theta,) n - 1,;
        cp(PI / (1 << 2)) list[0], (0..n).step_by(2);
        rzz(2.0 * PI) 1, 2;
        gphase(1);
        swap 0, [1, 2];
        reset 2..;
    }?;
    let mut called = Circuit::new(4);
    called.h(0)?.h(1)?.h(2)?.h(3)?;
    called.rx(0, 0.3)?.rz(1, Angle::pi(1, 4))?;
    called.cx(0, 1)?.cx(0, 2)?.cx(1, 3)?;
    called.x(3)?.x(1)?.y(3)?.y(1)?;
    called.u3(3, 0.3, Angle::pi(1, 2), -0.3)?;
    called.cp(3, 0, Angle::pi(1, 4))?.cp(3, 2, Angle::pi(1, 4))?;
    called.rzz(1, 2, Angle::pi(2, 1))?.gphase(1.0)?.swap(0, 1)?.swap(0, 2)?.reset(2)?.reset(3)?;
    assert_eq!(written, called);
    Ok(())
}

#[test]
fn rust_decides_what_is_built() -> Outcome {
    let build = |n: usize, deep: Option<usize>| {
        circuit! {
            qubits n;
            param phi, w[2 * n];
            let last = n - 1;
            for q in 0..last { cx q, q + 1; }
            for (i, q) in (0..n).rev().enumerate() {
                let a: Angle = phi / 2;
                if i == 1 { continue; }
                ry(w[i]) q;
                rz(a + w[n + i]) q;
            }
            if let Some(q) = deep { x q; } else if n > 3 { y 0; } else { z 0; }
            if n == 2 { h 0; }
            { let k = 0; s k; }
            assert!(n > 1);
            do |c| {
                let q = 0;
                c.mcx(&[], q)?;
            }
        }
    };
    let c = build(2, None)?;
    let names: Vec<&str> = c.inputs().collect();
    assert_eq!(names, ["phi", "w[0]", "w[1]", "w[2]", "w[3]"]);
    assert_eq!(
        c.to_string(),
        "cx q[0], q[1]\nry(w[0]) q[1]\nrz(1/2*phi + w[2]) q[1]\nz q[0]\nh q[0]\ns q[0]\nx q[0]\n"
    );
    assert!(build(4, Some(3))?.to_string().contains("x q[3]"));
    assert!(build(4, None)?.to_string().contains("y q[0]"));
    Ok(())
}

#[test]
fn modifiers_nest() -> Outcome {
    let bell = circuit! { qubits 2; h 0; cx 0, 1; }?;
    let matrix =
        Matrix::from_rows(vec![vec![0.0.into(), 1.0.into()], vec![1.0.into(), 0.0.into()]])?;
    let written = circuit! {
        qubits data[3], flag[2];
        ctrl(flag[0], !flag[1]) x data[0];
        ctrl(data) { z flag[0]; rx(0.1) flag[1]; }
        dagger { s 0; t 0; }
        dagger call(bell) data[1..];
        repeat(2) call(&bell) 1, 0;
        ctrl(4) dagger call(bell) 0..2;
        unitary(matrix) flag[1];
        ctrl(!0) repeat(2) dagger unitary(matrix) 1;
        barrier;
        barrier data, 4;
    }?;
    let mut called = Circuit::new(5);
    let x = || Matrix::clone(&matrix);
    let gate = |kind| ketgrad::gate::Gate::new(kind, []);
    use ketgrad::gate::GateKind::{H, X, Z};
    called.gate(gate(X)?, &[0], &[(3, true), (4, false)])?;
    called.gate(gate(Z)?, &[3], &[(0, true), (1, true), (2, true)])?;
    called.under([0, 1, 2], true, |c| c.rx(4, 0.1))?;
    called.tdg(0)?.sdg(0)?.cx(1, 2)?.h(1)?;
    called.h(1)?.cx(1, 0)?.h(1)?.cx(1, 0)?;
    called.gate(gate(X)?, &[1], &[(4, true), (0, true)])?.gate(gate(H)?, &[0], &[(4, true)])?;
    called.unitary(x(), &[4], &[])?;
    called.unitary(x(), &[1], &[(0, false)])?.unitary(x(), &[1], &[(0, false)])?;
    called.barrier(&[0, 1, 2, 3, 4])?.barrier(&[0, 1, 2, 4])?;
    assert_eq!(written, called);
    Ok(())
}

#[test]
fn measurements_and_conditions() -> Outcome {
    let k = 3usize;
    let ready = Condition::Bit { bit: 2, value: false };
    let written = circuit! {
        qubits 3;
        bits c[2], flag;
        h ..;
        measure 0 -> c[0];
        measure 1..3 -> c;
        measure k - 1 -> flag;
        when c == 2 { x 0; y 1; }
        when c[1] { x 0; }
        when !c[1] && flag { x 0; }
        when c[0..2] < k || !(c[0] == 1) && flag == false { x 0; }
        when ready.clone() { x 0; }
        when (ready) { when c { x 1; } }
        for value in 0..2 { when c == value { measure 0 -> c[0]; reset 1; } }
        assign c[1] = true;
        assign flag = k > 2;
    }?;
    let bit = |bit, value| Condition::Bit { bit, value };
    let number = |relation, value| Condition::compare(&[0, 1], relation, value);
    let mut called = Circuit::new(3);
    called.add_register("c", 2)?.add_register("flag", 1)?;
    called.h(0..3)?.measure(0, 0)?.measure(1, 0)?.measure(2, 1)?.measure(2, 2)?;
    called.when(number(Relation::Equal, 2)?, |c| c.x(0)?.y(1))?;
    called.when(bit(1, true), |c| c.x(0))?;
    called.when(Condition::All(vec![bit(1, false), bit(2, true)]), |c| c.x(0))?;
    let not = Condition::Not(Box::new(bit(0, true)));
    let second = Condition::All(vec![not, bit(2, false)]);
    called.when(Condition::Any(vec![number(Relation::Less, 3)?, second]), |c| c.x(0))?;
    called.when(bit(2, false), |c| c.x(0))?;
    called.when(bit(2, false), |c| c.when(number(Relation::NotEqual, 0)?, |c| c.x(1)))?;
    for value in 0..2 {
        called.when(number(Relation::Equal, value)?, |c| c.measure(0, 0)?.reset(1))?;
    }
    called.assign(1, true)?.assign(2, true)?;
    assert_eq!(written, called);
    assert_eq!(circuit! { qubits 2; measure ..; }?.registers()[0].name, "meas");
    Ok(())
}

#[test]
fn errors_say_what_was_given() {
    let message = |result: Result<Circuit, CircuitError>| result.unwrap_err().to_string();
    assert_eq!(
        message(circuit! { qubits 2; h 0; cx 0, 5; }),
        "qubit 5 does not exist: the circuit has 2, counted from 0"
    );
    assert_eq!(
        message(circuit! { qubits 4; cx 0..2, 1..4; }),
        "lists of 2 and 3 numbers do not pair up"
    );
    assert_eq!(
        message(circuit! { qubits 2; bits c[1], d[1]; measure 0 -> c[1]; }),
        "bit 1 does not exist: the register has 1, counted from 0"
    );
    assert_eq!(
        message(circuit! { qubits 3; bits c[2]; measure .. -> c; }),
        "lists of 3 and 2 numbers do not pair up"
    );
    assert_eq!(
        message(circuit! { qubits 2; ctrl(0) h 0; }),
        "qubit 0 is used twice by one instruction"
    );
    assert!(
        message(circuit! { qubits 1; bits c[1]; when c > -1 { x 0; } })
            .contains("cannot be compared with -1")
    );
    assert!(
        message(circuit! { qubits 1; bits c[1]; dagger measure 0 -> c[0]; })
            .contains("without measurements")
    );
}

/// A body long enough that a step per statement would exceed rustc's limit of 128 nested macros.
#[test]
fn long_bodies_stay_below_the_recursion_limit() -> Outcome {
    macro_rules! hundredfold {
        ($($statement:tt)*) => {
            circuit! {
                qubits 2;
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
                $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
            }
        };
    }
    let c = hundredfold! { h 0; cx 0, 1; rx(0.5) 1; rzz(PI / 4) 0, 1; }?;
    assert_eq!(c.instructions().len(), 400);
    Ok(())
}

#[test]
fn rotations_about_strings_are_written_as_pauli_writes_them() -> Outcome {
    let strings = pauli!(X1 Y0 + Z2)?;
    let q = 1;
    let written = circuit! {
        qubits 4;
        param theta;
        pauli_rotation(theta / 2) X0 Y[q + 1] Z1 I3;
        ctrl(!3) dagger pauli_rotation(PI / 8) Z[q];
        for (factor, string) in strings.terms() { pauli_rotation(theta * *factor) (string); }
        pauli_rotation(0.3) I;
    }?;
    let mut called = Circuit::new(4);
    let theta = called.param("theta");
    let string = PauliString::new([(0, Pauli::X), (2, Pauli::Y), (1, Pauli::Z)])?;
    called.pauli_rotation(&string, &theta / 2)?;
    called
        .under(3, false, |c| c.pauli_rotation(&PauliString::from_masks(0, 2)?, Angle::pi(-1, 8)))?;
    called.pauli_rotation(&PauliString::from_masks(0b11, 0b01)?, &theta)?;
    called.pauli_rotation(&PauliString::from_masks(0, 0b100)?, &theta)?;
    called.pauli_rotation(&PauliString::default(), 0.3)?;
    assert_eq!(written, called);
    let twice = circuit! { qubits 2; pauli_rotation(0.1) X0 Z0; };
    assert_eq!(twice.unwrap_err().to_string(), "qubit 0 comes twice in a term");
    Ok(())
}
