//! refused 1 to 128
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
angle[0] t;
h q[0];
