// Repeat until success, unrolled: what a round measures decides whether the next one runs.
OPENQASM 3.0;
include "stdgates.inc";
qubit a;
qubit b;
bit flag;
bit[3] rounds;
bit result;
flag = 1;
if (flag) { reset a; h a; flag = measure a; rounds[0] = 1; ctrl @ ry(0.4) a, b; }
if (flag) { reset a; h a; flag = measure a; rounds[1] = 1; ctrl @ ry(0.4) a, b; }
if (flag) { reset a; h a; flag = measure a; rounds[2] = 1; ctrl @ ry(0.4) a, b; }
result = measure b;
