OPENQASM 3.0;
include "stdgates.inc";
defcalgrammar "openpulse";
cal { extern drag(complex[float[32]], duration) -> waveform; }
defcal x $0 { play(drive($0), drag(1.0 + 0im, 160dt)); }
input int[32] shots;
output bit[4] result;
const duration t1 = 100ns;
stretch gap;
qubit[4] q;
qubit anc;
bit[4] c = "0101";
int[8] i = 0;
uint[16] u = 0xFF;
float[64] f = 1.5e-3;
angle[20] a = pi / 4;
complex[float[64]] z = 2.5 + 3.5im;
bool flag = true;
array[int[32], 2, 2] grid = {{1, 2}, {3, 4}};
let pair = q[0:1] ++ q[3];
extern popc(bit[4]) -> uint;
def parity(bit[4] cin) -> bit {
  bit p;
  for int k in [0:3] { p ^= cin[k]; }
  return p;
}
def rotate(qubit target, angle by, readonly array[float[64], #dim = 1] ws) { rx(by) target; }
gate looped(t) x0 { for uint k in {1, 2} { rx(t) x0; } }
reset q;
h pair;
if (c[0] == 1 && !flag) { x q[0]; } else if (i > 3) z q[1]; else { y q[2]; }
for uint k in [0:2:2] { h q[k]; }
for bit b in c { x q[0]; }
while (i < 4) { i += 1; if (i == 2) continue; break; }
switch (i) { case 0, 1 { x q[0]; } default { y q[0]; } }
box [t1] { delay[gap] q[0]; x q[1]; nop q[2]; }
delay[durationof({ x q[0]; })] q;
c[0] = measure q[0];
c = c << 1;
i **= 2;
rotate(q[0], pi, {0.1});
x[100ns] q[0];
end;
