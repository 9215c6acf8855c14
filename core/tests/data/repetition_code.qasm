// Three-qubit bit-flip code with an error on one qubit, syndromes twice, ancillas reused.
OPENQASM 3.0;
include "stdgates.inc";
qubit[3] code;
qubit[2] helper;
bit[2] s;
bit[3] out;
let pair = code[0:1];
let all = pair ++ code[2];

ry(1.1) code[0];
cx code[0], code[1];
cx code[0], code[2];
x code[1];
reset helper;
cx code[0], helper[0];
cx code[1], helper[0];
cx code[1], helper[1];
cx code[2], helper[1];
s = measure helper;
if (s == "01") { x code[0]; }
else if (int[4](s) == 3) { x code[1]; }
else {
  if (s == 2) x code[2];
}
if (s != 0) { reset helper; s = "00"; }
out = measure all;
