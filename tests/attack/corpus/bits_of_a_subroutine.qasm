//! answers
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
def f(qubit p) { bit[4000000000] a; }
f(q[0]);
h q[0];
