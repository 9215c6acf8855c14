OPENQASM 3.0;
include "stdgates.inc";
#pragma ibm layout
@noise low
bit[3] meas;
rz(pi/2) $0; sx $0; rz(pi/2) $0;
cx $0, $2;
rz(-1.5707963267948966) $1; sx $1; rz(0.7853981633974483) $1; x $1;
cz $2, $1;
barrier $0, $1, $2;
meas[0] = measure $0;
meas[1] = measure $1;
meas[2] = measure $2;
