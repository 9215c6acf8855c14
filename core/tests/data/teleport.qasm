// Teleportation of a rotated state, then the inverse rotation: the last bit is always 0.
OPENQASM 3.0;
include "stdgates.inc";
qubit[3] q;
bit[2] syndrome;
bit result;
const float theta = 0.7;

rx(theta) q[0];
rz(theta / 3) q[0];
h q[1];
cx q[1], q[2];
barrier q;
cx q[0], q[1];
h q[0];
syndrome = measure q[0:1];
if (syndrome[1]) { x q[2]; }
if (syndrome[0] == true) z q[2];
rz(-theta / 3) q[2];
rx(-theta) q[2];
result = measure q[2];
