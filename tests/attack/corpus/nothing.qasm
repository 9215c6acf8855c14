//! mean Z0 = 1
OPENQASM 3.0;
include "stdgates.inc";
qubit[1] q;
