// A hardware-efficient ansatz with open parameters:
//   ketgrad run ansatz.qasm --set 'w[0]=pi/4' --set 'w[1]=0.1' … --observable "Z0 Z1 + 0.5 X2"
OPENQASM 3.0;
include "stdgates.inc";

input array[float[64], 6] w;
qubit[3] q;

ry(w[0]) q[0];
ry(w[1]) q[1];
ry(w[2]) q[2];
cx q[0], q[1];
cx q[1], q[2];
rz(w[3] / 2) q[0];
rz(-w[4]) q[1];
rz(w[5] + pi / 2) q[2];
