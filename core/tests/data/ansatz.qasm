OPENQASM 3.1;
include "stdgates.inc";
/* Hardware-efficient ansatz with parameters as one array. */
const uint n = 4;
const int last = n - 1;
input array[float[64], 8] w;
qubit[n] q;
bit[n] out;
ry(w[0]) q[0]; ry(w[1]) q[1]; ry(w[2]) q[2]; ry(w[last]) q[-1];
cx q[0], q[1:3];
cx q[0:2:2], q[{1, 3}];
rz(w[4] * w[5]) q[{0, 2}];
rz(sin(w[6]) ** 2 + w[7] / τ) q[1:2:];
rx(-2 * w[0] + π / 3) q[3:-1:0];
cswap q[0], q[1], q[2];
barrier q;
out[0:1] = measure q[0:1];
measure q[2:3] -> out[2:3];
