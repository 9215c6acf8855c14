//! refused 1 to 128
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
def f(angle[0] t) { }
h q[0];
