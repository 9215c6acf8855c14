OPENQASM 3.0;
include "stdgates.inc";
// Two electrons in the lower orbital of the hydrogen molecule, and the rotation that lifts both into the upper one:
// cos(theta/2) |0011> + sin(theta/2) |1100>.
input float theta;
qubit[4] q;
ry(theta) q[2];
cx q[2], q[3];
x q[0];
x q[1];
cx q[2], q[0];
cx q[2], q[1];
