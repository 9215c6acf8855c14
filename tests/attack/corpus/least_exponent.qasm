//! inexact nothing.qasm
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
rx(1e-9223372036854775808) q[0];
