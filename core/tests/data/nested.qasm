OPENQASM 2.0;
include "qelib1.inc";
gate rzx_2280(param0) q0,q1 { h q1; cx q0,q1; rz(param0) q1; cx q0,q1; h q1; }
gate ryy_1402(param0) q0,q1 { rx(pi/2) q0; rx(pi/2) q1; cx q0,q1; rz(param0) q1; cx q0,q1; rx(-pi/2) q0; rx(-pi/2) q1; }
gate rzz(theta) a,b { cx a,b; u1(theta) b; cx a,b; }
gate layer(a,b,c) q0,q1,q2
{
  rzx_2280(a/2) q0,q1;
  ryy_1402((a+b)*c/pi) q1,q2;
  barrier q0,q1,q2;
  rzz(-b) q0,q2;
}
gate double(a,b) q0,q1,q2 { layer(a,b,pi/4) q0,q1,q2; layer(-b,a/3,0.25) q2,q1,q0; }
gate empty q0 { }
qreg q[3];
h q; empty q[1];
double(0.3,pi/5) q[0],q[1],q[2];
double(-1.5,0.7) q[2],q[0],q[1];
