//! mean X0 = 0.95195575522641374 within 1e-11
OPENQASM 3.0;
include "stdgates.inc";
qubit[15] q;
h q[0]; h q[1];
cp(6000.000000000246) q[0], q[1];
