//! answers
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
for int i in [0:0] { bit[4000000000] a; }
h q[0];
