//! set a = 3.141592653589793, b = 0.7
//! hessian X0 = 0, -0.764842187284488, -0.764842187284488, 0 within 1e-5
OPENQASM 3.0;
include "stdgates.inc";
input float a;
input float b;
qubit[1] q;
r(a, b) q[0];
