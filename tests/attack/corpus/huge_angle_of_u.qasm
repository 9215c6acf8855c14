//! mean Z0 = -0.90916888525287431 within 1e-12
//! reference
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
h q[0];
U(2, 8280345270236060, 6.3) q[0];
