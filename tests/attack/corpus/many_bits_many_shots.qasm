//! shots 1000000
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
bit[100000] a;
h q[0];
a[0] = measure q[0];
x q[0];
if (a[0]) x q[0];
