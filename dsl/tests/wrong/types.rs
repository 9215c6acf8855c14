//! Wrong forms that rustc itself finds. Not compiled by cargo.
use ketgrad::{circuit, pauli};

pub fn wrong() {
    let _ = circuit! { qubits 1; hadamard 0; }; //~ no method named `hadamard`
    let _ = circuit! { qubits 2; cx 0; }; //~ takes 2 arguments but 1 argument was supplied
    let _ = circuit! { qubits 2; rx 0; }; //~ takes 2 arguments but 1 argument was supplied
    let _ = circuit! { qubits 2; rx("pi") 0; }; //~ is not satisfied
    let _ = circuit! { qubits 1; k += 1; }; //~ cannot find value `k`
    let _ = circuit! { qubits 1; for_loop k in 1, 3 { h 0; } }; //~ cannot find value `k`
    let _ = circuit! { qubits 1; float t; t = "0.5"; }; //~ is not satisfied
    let _ = circuit! { qubits 2; h 0.5; }; //~ is no operand of a gate: expected qubits
    let _ = circuit! { qubits 2; rx(0.5, 0); }; //~ angles are in parentheses before them
    let _ = pauli!("Z0" * Z1); //~ is no factor of a Pauli string: expected a number such as an `f64`, or an operator
    let _ = pauli!(W[0]); //~ no variant
}
