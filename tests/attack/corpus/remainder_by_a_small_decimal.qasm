//! mean Y0 = -2e-10 within 1e-15
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
rx(5e9 % 3e-10) q[0];
