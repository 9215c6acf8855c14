//! reference
OPENQASM 3.0;
include "stdgates.inc";
qubit[4] q;
h q[1]; ry(0.3) q[0]; ry(0.9) q[3];
negctrl @ h q[0], q[3];
U(-3*pi/4, -0.7, -pi) q[3];
