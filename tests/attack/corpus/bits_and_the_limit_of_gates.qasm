//! max_gates 1000
//! answers
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
bit[1] c;
if (c[0]) { bit[5000] a; }
h q[0];
