OPENQASM 3.0;
include "stdgates.inc";
input angle[32] theta;
input float[64] phi;
const float half = 1 / 2.0;
qubit[3] q;
qubit anc;
bit[3] c;

gate mix(a, b) x, y {
  h x;
  ctrl @ rx(a) x, y;
  inv @ s y;
  rz(b / 2) x;
}

h q;
ctrl @ mix(theta, 2 * phi) q[0], q[1], q[2];
negctrl @ ctrl @ x q[2], q[0], anc;
inv @ mix(theta / 3, -phi) q[1], anc;
pow(2) @ t q[2];
pow(-3) @ rx(theta) anc;
pow(half) @ z q[1];
pow(0.5) @ x anc;
ctrl(2) @ ry(theta + pi / 4) q[0], q[1], anc;
inv @ ctrl @ p(phi) anc, q[2];
gphase(pi / 7);
ctrl @ gphase(phi) q[0];
cu(theta, phi, 0.2, 0.1) q[2], q[1];
c = measure q;
