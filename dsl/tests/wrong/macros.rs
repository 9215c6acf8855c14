//! Wrong forms, one a line, with a part of the message that is expected there. Not compiled by
//! cargo.
use ketgrad::{circuit, pauli};

pub fn wrong(n: usize, q: usize) {
    circuit! { h 0; }; //~ begins with `qubits n;`
    circuit! {}; //~ begins with `qubits n;`
    circuit! { qubits n h 0; }; //~ expected `qubits n;` or `qubits name[size], …;`
    circuit! { qubits n; h 0 }; //~ expected `;` at the end of `h 0`
    circuit! { qubits n; x 0; cx q, q + 1, 2, 3, 4, 5, 6 }; //~ expected `;` at the end of `cx q, q + 1, 2,
    circuit! { qubits n; h 0 cx 0, 1; }; //~ is a `;` missing?
    circuit! { qubits n; h; }; //~ `h` needs qubits: `h 0;`
    circuit! { qubits n; k +; }; //~ `k +` is no statement
    circuit! { qubits n; qubits 3; }; //~ `qubits` is written once, at the beginning
    circuit! { qubits n; bits c(2); }; //~ expected `bits name[size], …;`
    circuit! { qubits n; param 3; }; //~ expected `param name, …;`
    circuit! { qubits n; bits c; measure 0; }; //~ `measure 0` says not where to
    circuit! { qubits n; bits c; measure 0 c[0]; }; //~ `measure 0 c[0]` says not where to
    circuit! { qubits n; bits c; measure -> c[0]; }; //~ `measure` says not what
    circuit! { qubits n; bits c; measure 0 -> 1; }; //~ not `-> 1`
    circuit! { qubits n; bits c; assign c[0] true; }; //~ expected `assign register[bit] = value;`
    circuit! { qubits n; bits c; when c = 2 { x 0; } }; //~ expected a condition such as `c == 2`
    circuit! { qubits n; bits c; when c { x 0; } else if n > 1 { x 1; } }; //~ after the block of `when` comes `else { … }` or `else when
    circuit! { qubits n; angle a; }; //~ an angle has a number of bits: `angle[16] a;`
    circuit! { qubits n; float[16] t; }; //~ expected variables such as `uint[8] n = 1;`, `int k;`, `float t;`
    circuit! { qubits n; int 3; }; //~ expected variables such as `uint[8] n = 1;`, `int k;`, `float t;`
    circuit! { qubits n; uint[8] k(1); }; //~ expected `name, …` or `name = value, …` after the type of variables, not `k
    circuit! { qubits n; int k; for_loop k in 0..3 { x 0; } }; //~ expected `for_loop k in first, last { … }`
    circuit! { qubits n; for_loop { x 0; } }; //~ expected `for_loop k in first, last { … }`
    circuit! { qubits n; break_loop 2; }; //~ `break_loop;` leaves the innermost loop of the run
    circuit! { qubits n; continue_loop 2; }; //~ `continue_loop;` goes on with the innermost loop of the run
    circuit! { qubits n; bits c; when c x 0; }; //~ expected a block `{ … }` after `when c x 0;`
    circuit! { qubits n; for q { x 0; } }; //~ expected `for pattern in expression { … }`
    circuit! { qubits n; while n > 3 { x 0; } }; //~ `while` is no statement: write Rust inside `do |circuit|
    circuit! { qubits n; match n { _ => {} }; }; //~ `match` is no statement: write Rust inside `do |circuit|
    circuit! { qubits n; ctrl(=) x 0; }; //~ expected controls such as `ctrl(0, !1)`
    circuit! { qubits n; call bell 0, 1; }; //~ expected `call(circuit) qubit, …;`
    circuit! { qubits n; unitary 0; }; //~ expected `unitary(matrix) qubit, …;`
    circuit! { qubit 2; h 0; }; //~ begins with `qubits n;` or `qubits name[size], …;`, not `qubit 2; h 0;`
    circuit! { qubits n; params x[2]; }; //~ there is no `params`: write `param name, …;` or `param name[size], …;`
    circuit! { qubits n; input x; }; //~ there is no `input`: write `param name, …;`
    circuit! { qubits n; param x = 0.3; }; //~ not `param x = 0.3`; values are given where the circuit runs
    circuit! { qubits n; bit c[2]; }; //~ there is no `bit`: write `bits name[size], …;`
    circuit! { qubits n; creg c[2]; }; //~ there is no `creg`
    circuit! { qubits n; qreg q[2]; }; //~ `qubits name[size], …;` at the beginning
    circuit! { qubits n; measure_all; }; //~ write `measure ..;`
    circuit! { qubits n; bits c[2]; c = measure 0..2; }; //~ a measurement is written `measure qubits -> register;`
    circuit! { qubits n; bits c[2]; measure 0, 1 -> c; }; //~ a list of qubits is in brackets: `measure [0, 1] -> c`
    circuit! { qubits n; ctrl 0 x 1; }; //~ controls are in parentheses: `ctrl(0, !1) x 2;`
    circuit! { qubits n; ctrl @ x 0, 1; }; //~ controls are in parentheses
    circuit! { qubits n; negctrl x 0, 1; }; //~ write `ctrl(!0) x 2;`
    circuit! { qubits n; control(0) x 1; }; //~ there is no `control`
    circuit! { qubits n; inv h 0; }; //~ there is no `inv`: write `dagger h 0;`
    circuit! { qubits n; dagger(h 0); }; //~ the inverse is written `dagger h 0;` or `dagger { … }`
    circuit! { qubits n; repeat 3 { h 0; } }; //~ a number of times is in parentheses: `repeat(3) { … }`
    pauli!(0.5 Z0); //~ between a coefficient and operators there is a `*`
    pauli!(1 / 2 * Z0); //~ a quotient needs parentheses
    pauli!(sum(q in 0..n) Z[q]); //~ expected `sum(q in 0..n) { Z[q] }`
    pauli!(); //~ expected a sum such as
    pauli!(Z0 +); //~ expected
    pauli!(n / 2 * Z0); //~ a coefficient that is no number, name or product of these needs parentheses
    pauli!(2 ^ Z0); //~ expected `+` or `-` and a term, not `^ Z0`
}
