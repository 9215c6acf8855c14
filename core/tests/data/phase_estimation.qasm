OPENQASM 2.0;
include "qelib1.inc";
// Estimates the phase 5/16 of u1(2*pi*5/16) with 4 qubits.
gate kick(theta) c,t { cu1(theta) c,t; }
gate iqft4 a,b,c,d
{
  swap a,d; swap b,c;
  h a;
  cu1(-pi/2) a,b; h b;
  cu1(-pi/4) a,c; cu1(-pi/2) b,c; h c;
  cu1(-pi/8) a,d; cu1(-pi/4) b,d; cu1(-pi/2) c,d; h d;
}
qreg count[4];
qreg eigen[1];
creg phase[4];
h count;
x eigen[0];
kick(2*pi*5/16) count[0],eigen[0];
kick(4*pi*5/16) count[1],eigen[0];
kick(8*pi*5/16) count[2],eigen[0];
kick(16*pi*5/16) count[3],eigen[0];
iqft4 count[0],count[1],count[2],count[3];
measure count -> phase;
