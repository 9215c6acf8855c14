//! distribution 111 1 = 1
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
bit[1] c;
int[3] v = 0;
x q[0];
c[0] = measure q[0];
if (c[0]) v = -1;
v = v | 0;
bit[3] o = bit[3](v);
