//! mean Y0 = -0.00097656234477957831 within 1e-15
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
rx(2.0**-10 % 2.0**54) q[0];
