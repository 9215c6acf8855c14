//! distribution 110 0 = 1
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
bit[1] c;
uint[3] v = 1;
v = ~(v ^ uint[3](c[0]));
bit[3] o = bit[3](v);
