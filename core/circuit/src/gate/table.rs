//! Gate table: one line per gate.
//!
//! ```text
//! NAME "name" (targets) (parameters) |b| matrix, dagger NAME(…) [, generator];   /// doc
//! ```
//! - `b` is the [`Binding`](crate::param::Binding); the matrix is written over any ring `R` with
//!   its `cis`, `cos`, `i_sin`, `half`, `sqrt_half`, `i`. Parameters are `&Angle`.
//! - Bit j of a row or column number belongs to the j-th target.
//! - The generator says how the gate depends on its parameter: `pauli "XY"` is
//!   `exp(-i theta/2 P)` with letter j on target j; `projector` is `exp(i theta |1…1><1…1|)` (a
//!   global phase has no qubits, so its projector is 1).
//!
//! [`for_each_name`] then gives names to gates with controls: `CX` is `X` with one control.
//!
//! Matrices are those of OpenQASM 3's `stdgates.inc`, phases included: `U` carries the phase
//! `e^{i theta/2}` of the language's built-in, `U2` and `U3` have determinant 1, `CU` is the
//! controlled `e^{i gamma}` times the textbook matrix. Gates that `stdgates.inc` lacks follow
//! Qiskit's circuit library, `FSIM` follows Cirq.

/// Calls `$reader! { … }` with the gates that have a matrix of their own.
macro_rules! for_each_gate {
    ($reader:ident) => {
        $reader! {
            /// The identity.
            I "id" (q) () |b| [[R::one(), R::zero()], [R::zero(), R::one()]], dagger I(), none;
            /// Pauli X, the bit flip.
            X "x" (q) () |b| [[R::zero(), R::one()], [R::one(), R::zero()]], dagger X(), none;
            /// Pauli Y.
            Y "y" (q) () |b| [[R::zero(), -b.i()?], [b.i()?, R::zero()]], dagger Y(), none;
            /// Pauli Z, the sign flip of |1>.
            Z "z" (q) () |b| [[R::one(), R::zero()], [R::zero(), -R::one()]], dagger Z(), none;
            /// Hadamard: `(X + Z) / sqrt 2`.
            H "h" (q) () |b| [[b.sqrt_half(), b.sqrt_half()], [b.sqrt_half(), -b.sqrt_half()]], dagger H(), none;
            /// `diag(1, i)`.
            S "s" (q) () |b| [[R::one(), R::zero()], [R::zero(), b.i()?]], dagger SDG(), none;
            /// `diag(1, -i)`.
            SDG "sdg" (q) () |b| [[R::one(), R::zero()], [R::zero(), -b.i()?]], dagger S(), none;
            /// `diag(1, e^{i pi/4})`.
            T "t" (q) () |b| [[R::one(), R::zero()], [R::zero(), b.cis(&Angle::pi(1, 4))?]], dagger TDG(), none;
            /// `diag(1, e^{-i pi/4})`.
            TDG "tdg" (q) () |b| [[R::one(), R::zero()], [R::zero(), b.cis(&Angle::pi(-1, 4))?]], dagger T(), none;
            /// The principal square root of X.
            SX "sx" (q) () |b| {
                let (p, m) = (half_one_plus(b, &Angle::pi(1, 2))?, half_one_plus(b, &Angle::pi(-1, 2))?);
                [[p.clone(), m.clone()], [m, p]]
            }, dagger SXDG(), none;
            /// The inverse of SX.
            SXDG "sxdg" (q) () |b| {
                let (p, m) = (half_one_plus(b, &Angle::pi(1, 2))?, half_one_plus(b, &Angle::pi(-1, 2))?);
                [[m.clone(), p.clone()], [p, m]]
            }, dagger SX(), none;
            /// `exp(-i theta/2 X)`.
            RX "rx" (q) (theta) |b| {
                let (c, s) = half_angle(b, theta)?;
                [[c.clone(), -s.clone()], [-s, c]]
            }, dagger RX(-theta), pauli "X";
            /// `exp(-i theta/2 Y)`.
            RY "ry" (q) (theta) |b| {
                let (c, s) = half_angle(b, theta)?;
                let s = -s * &b.i()?;
                [[c.clone(), -s.clone()], [s, c]]
            }, dagger RY(-theta), pauli "Y";
            /// `exp(-i theta/2 Z)`.
            RZ "rz" (q) (theta) |b| {
                let t = half(theta);
                [[b.cis(&-t.clone())?, R::zero()], [R::zero(), b.cis(&t)?]]
            }, dagger RZ(-theta), pauli "Z";
            /// `diag(1, e^{i lambda})`.
            P "p" (q) (lambda) |b| [[R::one(), R::zero()], [R::zero(), b.cis(lambda)?]], dagger P(-lambda), projector;
            /// OpenQASM 3's built-in: `e^{i theta/2}` times the textbook
            /// `[[cos t/2, -e^{i lambda} sin t/2], [e^{i phi} sin t/2, e^{i(phi+lambda)} cos
            /// t/2]]`.
            U "U" (q) (theta, phi, lambda) |b| textbook_u(b, theta, phi, lambda, &half(theta))?,
                dagger U(-theta, -lambda, -phi), none;
            /// `U3(pi/2, phi, lambda)`.
            U2 "u2" (q) (phi, lambda) |b| special_u(b, &Angle::pi(1, 2), phi, lambda)?,
                dagger U3(Angle::pi(-1, 2), -lambda, -phi), none;
            /// `RZ(phi) RY(theta) RZ(lambda)`, the general element of SU(2).
            U3 "u3" (q) (theta, phi, lambda) |b| special_u(b, theta, phi, lambda)?,
                dagger U3(-theta, -lambda, -phi), none;
            /// `e^{i gamma}` times the textbook matrix (see U): the general element of U(2), whose
            /// controlled form is CU.
            UG "ug" (q) (theta, phi, lambda, gamma) |b| textbook_u(b, theta, phi, lambda, gamma)?,
                dagger UG(-theta, -lambda, -phi, -gamma), none;
            /// `exp(-i theta/2 (cos phi X + sin phi Y))`.
            R "r" (q) (theta, phi) |b| {
                let (c, s) = half_angle(b, theta)?;
                [[c.clone(), -(b.cis(&-phi.clone())? * &s)], [-(b.cis(phi)? * &s), c]]
            }, dagger R(-theta, phi), none;
            /// Exchanges two qubits.
            SWAP "swap" (a, b) () |x| permutation([0, 2, 1, 3]), dagger SWAP(), none;
            /// Exchanges two qubits with a factor i: `exp(i pi/4 (XX + YY))`.
            ISWAP "iswap" (a, b) () |b| {
                let i = b.i()?;
                [[R::one(), R::zero(), R::zero(), R::zero()], [R::zero(), R::zero(), i.clone(), R::zero()],
                 [R::zero(), i, R::zero(), R::zero()], [R::zero(), R::zero(), R::zero(), R::one()]]
            }, dagger ISWAPDG(), none;
            /// The inverse of ISWAP.
            ISWAPDG "iswapdg" (a, b) () |b| {
                let i = -b.i()?;
                [[R::one(), R::zero(), R::zero(), R::zero()], [R::zero(), R::zero(), i.clone(), R::zero()],
                 [R::zero(), i, R::zero(), R::zero()], [R::zero(), R::zero(), R::zero(), R::one()]]
            }, dagger ISWAP(), none;
            /// Echoed cross resonance: `(IX - XY) / sqrt 2`, rightmost letter on the first qubit.
            ECR "ecr" (a, b) () |b| {
                let (r, i) = (b.sqrt_half(), b.i()? * &b.sqrt_half());
                [[R::zero(), r.clone(), R::zero(), i.clone()], [r.clone(), R::zero(), -i.clone(), R::zero()],
                 [R::zero(), i.clone(), R::zero(), r.clone()], [-i, R::zero(), r, R::zero()]]
            }, dagger ECR(), none;
            /// CX(a, b) followed by CX(b, a).
            DCX "dcx" (a, b) () |x| permutation([0, 2, 3, 1]), dagger DCXDG(), none;
            /// The inverse of DCX: CX(b, a) followed by CX(a, b).
            DCXDG "dcxdg" (a, b) () |x| permutation([0, 3, 1, 2]), dagger DCX(), none;
            /// `exp(-i theta/2 XX)`.
            RXX "rxx" (a, b) (theta) |b| {
                let (c, s) = half_angle(b, theta)?;
                cross(c, [-s.clone(), -s.clone(), -s.clone(), -s])
            }, dagger RXX(-theta), pauli "XX";
            /// `exp(-i theta/2 YY)`.
            RYY "ryy" (a, b) (theta) |b| {
                let (c, s) = half_angle(b, theta)?;
                cross(c, [s.clone(), -s.clone(), -s.clone(), s])
            }, dagger RYY(-theta), pauli "YY";
            /// `exp(-i theta/2 ZZ)`.
            RZZ "rzz" (a, b) (theta) |b| {
                let (m, p) = (b.cis(&-half(theta))?, b.cis(&half(theta))?);
                [[m.clone(), R::zero(), R::zero(), R::zero()], [R::zero(), p.clone(), R::zero(), R::zero()],
                 [R::zero(), R::zero(), p, R::zero()], [R::zero(), R::zero(), R::zero(), m]]
            }, dagger RZZ(-theta), pauli "ZZ";
            /// `exp(-i theta/2 ZX)` with Z on the first and X on the second qubit.
            RZX "rzx" (a, b) (theta) |b| {
                let (c, s) = half_angle(b, theta)?;
                [[c.clone(), R::zero(), -s.clone(), R::zero()], [R::zero(), c.clone(), R::zero(), s.clone()],
                 [-s.clone(), R::zero(), c.clone(), R::zero()], [R::zero(), s, R::zero(), c]]
            }, dagger RZX(-theta), pauli "ZX";
            /// Fermionic simulation: `exp(-i theta (XX + YY)/2 - i phi |11><11|)`.
            FSIM "fsim" (a, b) (theta, phi) |b| {
                let (c, s) = (b.cos(theta)?, -b.i_sin(theta)?);
                [[R::one(), R::zero(), R::zero(), R::zero()], [R::zero(), c.clone(), s.clone(), R::zero()],
                 [R::zero(), s, c, R::zero()], [R::zero(), R::zero(), R::zero(), b.cis(&-phi.clone())?]]
            }, dagger FSIM(-theta, -phi), none;
            /// Margolus' simplified Toffoli: CCX up to the phases -1 of |101> and ±i of |011>,
            /// |111> (leftmost bit: target c).
            RCCX "rccx" (a, b, c) () |b| {
                let mut m = permutation([0, 1, 2, 7, 4, 5, 6, 3]);
                m[5][5] = -R::one();
                m[7][3] = b.i()?;
                m[3][7] = -b.i()?;
                m
            }, dagger RCCX(), none;
            /// A phase `e^{i gamma}` of the whole state. With controls it is a controlled phase.
            GPHASE "gphase" () (gamma) |b| [[b.cis(gamma)?]], dagger GPHASE(-gamma), projector;
        }
    };
}

/// Calls `$reader! { … }` with every named gate: name, other names, method, qubits (controls
/// first), number of controls, gate, parameters, and which of the standard files has it.
///
/// `qasm2` is the extended `qelib1.inc`, `qasm3` is `stdgates.inc`; the first name in a list is the
/// one that is printed.
macro_rules! for_each_name {
    ($reader:ident) => {
        $reader! {
            "id" id (q) I() 0 qasm2["id"] qasm3["id"];
            "x" x (q) X() 0 qasm2["x"] qasm3["x"];
            "y" y (q) Y() 0 qasm2["y"] qasm3["y"];
            "z" z (q) Z() 0 qasm2["z"] qasm3["z"];
            "h" h (q) H() 0 qasm2["h"] qasm3["h"];
            "s" s (q) S() 0 qasm2["s"] qasm3["s"];
            "sdg" sdg (q) SDG() 0 qasm2["sdg"] qasm3["sdg"];
            "t" t (q) T() 0 qasm2["t"] qasm3["t"];
            "tdg" tdg (q) TDG() 0 qasm2["tdg"] qasm3["tdg"];
            "sx" sx (q) SX() 0 qasm2["sx"] qasm3["sx"];
            "sxdg" sxdg (q) SXDG() 0 qasm2["sxdg"] qasm3[];
            "rx" rx (q) RX(theta) 0 qasm2["rx"] qasm3["rx"];
            "ry" ry (q) RY(theta) 0 qasm2["ry"] qasm3["ry"];
            "rz" rz (q) RZ(theta) 0 qasm2["rz"] qasm3["rz"];
            "p" p (q) P(lambda) 0 qasm2["p", "u1", "phase"] qasm3["p", "phase", "u1"];
            "U" u (q) U(theta, phi, lambda) 0 qasm2[] qasm3["U"];
            "u2" u2 (q) U2(phi, lambda) 0 qasm2["u2"] qasm3["u2"];
            "u3" u3 (q) U3(theta, phi, lambda) 0 qasm2["u3", "u", "U"] qasm3["u3"];
            "ug" ug (q) UG(theta, phi, lambda, gamma) 0 qasm2[] qasm3[];
            "r" r (q) R(theta, phi) 0 qasm2["r"] qasm3[];
            "gphase" gphase () GPHASE(gamma) 0 qasm2[] qasm3["gphase"];
            "cx" cx (control, target) X() 1 qasm2["cx", "CX", "cnot"] qasm3["cx", "CX"];
            "cy" cy (control, target) Y() 1 qasm2["cy"] qasm3["cy"];
            "cz" cz (control, target) Z() 1 qasm2["cz"] qasm3["cz"];
            "ch" ch (control, target) H() 1 qasm2["ch"] qasm3["ch"];
            "cs" cs (control, target) S() 1 qasm2["cs"] qasm3[];
            "csdg" csdg (control, target) SDG() 1 qasm2["csdg"] qasm3[];
            "csx" csx (control, target) SX() 1 qasm2["csx"] qasm3[];
            "cp" cp (control, target) P(lambda) 1 qasm2["cp", "cu1", "cphase"] qasm3["cp", "cphase"];
            "crx" crx (control, target) RX(theta) 1 qasm2["crx"] qasm3["crx"];
            "cry" cry (control, target) RY(theta) 1 qasm2["cry"] qasm3["cry"];
            "crz" crz (control, target) RZ(theta) 1 qasm2["crz"] qasm3["crz"];
            "cu" cu (control, target) UG(theta, phi, lambda, gamma) 1 qasm2["cu"] qasm3["cu"];
            "swap" swap (a, b) SWAP() 0 qasm2["swap"] qasm3["swap"];
            "iswap" iswap (a, b) ISWAP() 0 qasm2["iswap"] qasm3[];
            "iswapdg" iswapdg (a, b) ISWAPDG() 0 qasm2[] qasm3[];
            "ecr" ecr (a, b) ECR() 0 qasm2["ecr"] qasm3[];
            "dcx" dcx (a, b) DCX() 0 qasm2["dcx"] qasm3[];
            "dcxdg" dcxdg (a, b) DCXDG() 0 qasm2[] qasm3[];
            "rxx" rxx (a, b) RXX(theta) 0 qasm2["rxx"] qasm3[];
            "ryy" ryy (a, b) RYY(theta) 0 qasm2["ryy"] qasm3[];
            "rzz" rzz (a, b) RZZ(theta) 0 qasm2["rzz"] qasm3[];
            "rzx" rzx (a, b) RZX(theta) 0 qasm2["rzx"] qasm3[];
            "fsim" fsim (a, b) FSIM(theta, phi) 0 qasm2[] qasm3[];
            "ccx" ccx (control1, control2, target) X() 2 qasm2["ccx", "toffoli"] qasm3["ccx"];
            "ccz" ccz (control1, control2, target) Z() 2 qasm2["ccz"] qasm3[];
            "cswap" cswap (control, a, b) SWAP() 1 qasm2["cswap", "fredkin"] qasm3["cswap"];
            "c3x" c3x (control1, control2, control3, target) X() 3 qasm2["c3x"] qasm3[];
            "c3sx" c3sx (control1, control2, control3, target) SX() 3 qasm2["c3sqrtx", "c3sx"] qasm3[];
            "c4x" c4x (control1, control2, control3, control4, target) X() 4 qasm2["c4x"] qasm3[];
            "rccx" rccx (a, b, c) RCCX() 0 qasm2["rccx"] qasm3[];
        }
    };
}

pub(crate) use {for_each_gate, for_each_name};
