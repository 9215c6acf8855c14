//! equal one_phase.qasm
OPENQASM 3.0;
include "stdgates.inc";
qubit[15] q;
h q[0]; h q[1];
for int i in [1:20000] { cp(0.3000000000000123) q[0], q[1]; }
