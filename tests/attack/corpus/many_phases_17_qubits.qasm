//! mean X0 = 0.012158900057124777 within 2e-12
//! mean Y0 = 0.10959498714140904 within 2e-12
OPENQASM 3.0;
include "stdgates.inc";
qubit[17] q;
h q[0]; h q[1];
for int i in [1:10000] { cp(0.3) q[0], q[1]; }
