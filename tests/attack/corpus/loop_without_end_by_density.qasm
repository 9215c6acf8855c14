//! density Z0 = 1 within 1e-9
OPENQASM 3.0;
include "stdgates.inc";
qubit[2] a;
bit f = 1;
while (f) { h a[0]; ch a[0], a[1]; reset a[0]; t a[1]; h a[0]; f = measure a[0]; }
