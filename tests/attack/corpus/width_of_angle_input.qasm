//! refused 1 to 128
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
input angle[4000000000] a;
h q[0];
