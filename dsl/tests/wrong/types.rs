//! Wrong forms that rustc itself finds. Not compiled by cargo.
use ketgrad::{circuit, pauli};

pub fn wrong() {
    let _ = circuit! { qubits 1; hadamard 0; }; //~ no method named `hadamard`
    let _ = circuit! { qubits 2; cx 0; }; //~ takes 2 arguments but 1 argument was supplied
    let _ = circuit! { qubits 2; rx 0; }; //~ takes 2 arguments but 1 argument was supplied
    let _ = circuit! { qubits 2; rx("pi") 0; }; //~ is not satisfied
    let _ = circuit! { qubits 2; h 0.5; }; //~ is not satisfied
    let _ = pauli!(W[0]); //~ no variant
}
