//! equal nearly_antidiagonal_one_rotation.qasm
//! different nearly_antidiagonal_without_phase.qasm
OPENQASM 3.0;
include "stdgates.inc";
qubit[17] q;
h q[1];
ccx q[2], q[3], q[1];
p(pi/3) q[1]; rx(-pi/4) q[1]; rx(-3*pi/4) q[1];
ccx q[2], q[3], q[1];
h q[0]; h q[0]; h q[0]; h q[0];
ry(0.1234567890123456) q[5];
