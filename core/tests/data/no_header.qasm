qreg q[3];
creg c[3];
h q[0];
cx q[0],q[1];
t q[1];
ccx q[0],q[1],q[2];
tdg q[2];
rccx q[2],q[0],q[1];
measure q -> c;
