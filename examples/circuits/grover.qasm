// Grover search for |101101> among 64 states: six rounds find it with probability 0.9966.
OPENQASM 3.0;
include "stdgates.inc";

// A sign on |101101>; qubit f is the leftmost.
gate mark a, b, c, d, e, f {
    ctrl @ negctrl @ ctrl(2) @ negctrl @ z f, e, d, c, b, a;
}

// A sign on |000000>, seen from the uniform superposition.
gate diffuse a, b, c, d, e, f {
    h a; h b; h c; h d; h e; h f;
    x a;
    negctrl(5) @ z b, c, d, e, f, a;
    x a;
    h a; h b; h c; h d; h e; h f;
}

gate round a, b, c, d, e, f {
    mark a, b, c, d, e, f;
    diffuse a, b, c, d, e, f;
}

qubit[6] q;
bit[6] found;

h q;
pow(6) @ round q[0], q[1], q[2], q[3], q[4], q[5];
found = measure q;
