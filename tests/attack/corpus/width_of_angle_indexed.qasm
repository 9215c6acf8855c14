//! refused 1 to 128
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
angle[4000000000] a; a[0] = measure q[0];
h q[0];
