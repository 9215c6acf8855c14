OPENQASM 2.0;
include "qelib1.inc";
qreg x[2]; qreg r[2]; qreg anc[1];
creg c[2]; creg d[1];
opaque magic(alpha) a,b; /* never used */
// broadcasting: register and register, register and qubit, qubit and register
u2(0,pi) x;
U(0.1,0.2,0.3) r[0];
u(0.4,0.5,0.6) r[1];
u3(0.7,0.8,0.9) anc[0];
CX x,r;
cx anc[0],r;
cz x,anc[0];
cu3(0.3,0.2,0.1) x,r;
id r; u0(1) anc[0];
barrier x,r[0],anc;
ch x[1],anc[0];
crz(pi/3) x,r; crx(0.1) r[0],r[1]; cry(-0.2) r[1],anc[0];
measure x->c;
measure anc[0] -> d[0];
