//! mean Y2 = 1
//! reference
OPENQASM 3.0;
include "stdgates.inc";
qubit[17] q;
h q[2];
ccx q[0], q[1], q[2];
h q[2]; s q[2]; t q[2]; t q[2]; h q[2]; s q[2]; h q[2]; h q[2];
ccx q[0], q[1], q[2];
