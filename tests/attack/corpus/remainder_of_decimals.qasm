//! mean Z0 = -0.735911466004 within 1e-9
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
rx(2e8 % 6.28318530718) q[0];
