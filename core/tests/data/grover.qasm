OPENQASM 2.0;
include "qelib1.inc";
// Two rounds of Grover's search for |10110> with c4x, and one of c3x on a part.
gate oracle a,b,c,d,e { x a; x d; h e; c4x a,b,c,d,e; h e; x a; x d; }
gate diffuse a,b,c,d,e
{
  h a; h b; h c; h d; h e;
  x a; x b; x c; x d; x e;
  h e; c4x a,b,c,d,e; h e;
  x a; x b; x c; x d; x e;
  h a; h b; h c; h d; h e;
}
qreg q[5];
h q;
oracle q[0],q[1],q[2],q[3],q[4];
diffuse q[0],q[1],q[2],q[3],q[4];
oracle q[0],q[1],q[2],q[3],q[4];
diffuse q[0],q[1],q[2],q[3],q[4];
c3x q[0],q[1],q[2],q[3];
c3sqrtx q[1],q[2],q[3],q[4];
