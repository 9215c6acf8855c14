//! Laws of the gate table, walked over every line of it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use ketgrad_core::{
    circuit::{Circuit, CircuitError, PauliRotation},
    field::{Fp, Goldilocks, Point},
    gate::{Gate, GateKind, Generator, NAMED_GATES, NamedGate},
    matrix::Matrix,
    observable::Pauli,
    param::{Angle, Q, Values},
    scalar::Real,
    simulate::Simulator,
};
use num_complex::Complex;
use num_dual::Dual64;
use support::{
    close::{
        CIRCUIT, DERIVATIVE, EXACT, ROUNDING, ROUNDING_F32, assert_close, assert_matrices,
        phase_distance,
    },
    random::Rng,
    reference::{self, Dense, identity, kron, product},
};

type C = Complex<f64>;

const I: C = C::new(0.0, 1.0);
const ONE: C = C::new(1.0, 0.0);
const ZERO: C = C::new(0.0, 0.0);

fn matrix(gate: &Gate) -> Matrix<C> {
    gate.matrix(&Values::<f64>(&[])).unwrap()
}

/// A gate of each kind for several seeds.
fn every_gate(mut law: impl FnMut(&Gate)) {
    let mut rng = Rng::new(1);
    for &kind in GateKind::ALL {
        for _ in 0..8 {
            law(&rng.gate(kind, Rng::angle));
        }
    }
}

#[test]
fn every_gate_is_unitary() {
    every_gate(|gate| {
        matrix(gate).check_unitary(ROUNDING).unwrap_or_else(|e| panic!("{gate}: {e}"));
        assert_eq!(matrix(gate).n_qubits(), gate.kind().n_qubits(), "{gate}");
    });
}

/// A gate with these angles under a control is unitary, be they numbers in the text or values of
/// parameters.
fn stays_unitary<T: Real>(kind: GateKind, angles: &[f64], tolerance: f64) {
    let n = kind.n_qubits();
    let wires: Vec<usize> = (0..n).collect();
    let values: Vec<T> = angles.iter().map(|x| T::lit(*x)).collect();
    let (mut numbers, mut params) = (Circuit::new(n + 1), Circuit::new(n + 1));
    let names: Vec<Angle> = (0..angles.len()).map(|k| params.param(&format!("p{k}"))).collect();
    let gate = Gate::new(kind, angles.iter().map(|x| Angle::rad(*x))).unwrap();
    numbers.gate(gate, &wires, &[(n, true)]).unwrap();
    params.gate(Gate::new(kind, names).unwrap(), &wires, &[(n, true)]).unwrap();
    let simulator = Simulator::new();
    let by_numbers: Matrix<Complex<T>> = simulator.matrix(&numbers, &Values::<T>(&[])).unwrap();
    let by_params: Matrix<Complex<T>> = simulator.matrix(&params, &Values(&values)).unwrap();
    for (how, matrix) in [("numbers", by_numbers), ("parameters", by_params)] {
        matrix
            .check_unitary(tolerance)
            .unwrap_or_else(|e| panic!("{kind:?} by {how} {angles:?}: {e}"));
    }
}

#[test]
fn every_gate_is_unitary_at_angles_of_any_size() {
    let mut rng = Rng::new(4);
    for &kind in GateKind::ALL.iter().filter(|kind| !kind.param_names().is_empty()) {
        for _ in 0..200 {
            // Steps between floats are 1 at 2^53 and 2^24.
            for (largest, single) in [(1e16, false), (1e8, true)] {
                let angles: Vec<f64> = kind
                    .param_names()
                    .iter()
                    .map(|_| rng.signed() * f64::powf(largest, rng.unit()))
                    .collect();
                if single {
                    stays_unitary::<f32>(kind, &angles, ROUNDING_F32);
                } else {
                    stays_unitary::<f64>(kind, &angles, ROUNDING);
                }
            }
        }
    }
}

#[test]
fn entries_of_general_rotations_have_the_phases_of_their_formulas() {
    let cis = |x: f64| C::new(x.cos(), x.sin());
    for phi in [0.3, 1e8, 8_280_345_270_236_060.0, -3e15] {
        for (theta, lambda) in [(2.0, 6.3), (0.7, -1e12), (-5.0, 0.1)] {
            let (c, s) = ((theta / 2.0f64).cos(), (theta / 2.0f64).sin());
            let textbook =
                [[ONE * c, -cis(lambda) * s], [cis(phi) * s, cis(phi) * cis(lambda) * c]];
            let special = cis(-phi / 2.0) * cis(-lambda / 2.0);
            for (kind, phase) in [(GateKind::U, cis(theta / 2.0)), (GateKind::U3, special)] {
                let gate = Gate::new(kind, [theta, phi, lambda].map(Angle::rad)).unwrap();
                for (i, row) in textbook.iter().enumerate() {
                    for (j, entry) in row.iter().enumerate() {
                        let off = (matrix(&gate)[(i, j)] - phase * entry).norm();
                        assert!(off < ROUNDING, "{gate}, entry {i}, {j}: off by {off}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_dagger_of_a_gate_is_its_conjugate_transpose() {
    every_gate(|gate| {
        let (dagger, expected) = (matrix(&gate.dagger()), matrix(gate).dagger());
        // A gate without angles has no rounding that could differ.
        let tolerance = if gate.params().is_empty() { EXACT } else { ROUNDING };
        assert_close(dagger.entries(), expected.entries(), tolerance, &gate.to_string());
        // U2's inverse is a U3; everything else comes back to itself.
        if gate.kind() != GateKind::U2 {
            assert_eq!(gate.dagger().dagger(), *gate);
        }
    });
}

/// `c pi/8 + q theta_k`.
fn open_angle(rng: &mut Rng) -> Angle {
    let theta = Angle::theta(ketgrad_core::param::ParamId::new(rng.below(2) as u32));
    Angle::pi(rng.below(17) as i64 - 8, 8) + theta * Q::new(rng.below(9) as i64 - 4, 4)
}

#[test]
fn a_gate_times_its_dagger_is_exactly_one_in_a_field() {
    let mut rng = Rng::new(2);
    let point = Point::<Fp>::random(Goldilocks, 1 << 32, &[16; 2], 1).unwrap();
    for &kind in GateKind::ALL {
        for _ in 0..8 {
            let gate = rng.gate(kind, open_angle);
            let (u, v): (Matrix<Fp>, Matrix<Fp>) =
                (gate.matrix(&point).unwrap(), gate.dagger().matrix(&point).unwrap());
            assert_eq!(&u * &v, Matrix::identity(kind.n_qubits()), "{gate}");
        }
    }
}

#[test]
fn a_gate_takes_its_number_of_parameters_only() {
    for &kind in GateKind::ALL {
        let right = kind.param_names().len();
        for given in (0..6).filter(|&n| n != right) {
            let error = Gate::new(kind, vec![Angle::zero(); given]).unwrap_err();
            assert_eq!((error.kind, error.given), (kind, given));
            assert!(error.to_string().starts_with(kind.name()), "{error}");
        }
    }
}

#[test]
fn names_are_unique_and_cover_the_table() {
    let unique = |names: Vec<&str>| {
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}")
    };
    unique(GateKind::ALL.iter().map(|k| k.name()).collect());
    unique(NAMED_GATES.iter().map(|g| g.name).collect());
    unique(NAMED_GATES.iter().flat_map(|g| g.qasm2).copied().collect());
    unique(NAMED_GATES.iter().flat_map(|g| g.qasm3).copied().collect());
    for &kind in GateKind::ALL {
        let plain = NAMED_GATES.iter().find(|g| g.kind == kind && g.n_controls == 0);
        assert_eq!(plain.map(|g| g.name), Some(kind.name()));
    }
    for named in NAMED_GATES {
        assert_eq!(NamedGate::find(named.name), Some(named));
        assert_eq!(named.n_qubits(), named.n_controls + named.kind.n_qubits());
    }
    assert_eq!(NamedGate::find("no such gate"), None);
}

#[test]
fn a_named_gate_with_controls_is_the_controlled_matrix() {
    let mut rng = Rng::new(3);
    for named in NAMED_GATES {
        let gate = rng.gate(named.kind, Rng::angle);
        let (n, k) = (named.n_qubits(), named.kind.n_qubits());
        let controls: Vec<_> = (k..n).map(|q| (q, true)).collect();
        let targets: Vec<usize> = (0..k).collect();
        let mut circuit = Circuit::new(n);
        circuit.gate(gate.clone(), &targets, &controls).unwrap();
        let got: Matrix<C> = Simulator::new().matrix(&circuit, &Values::<f64>(&[])).unwrap();
        assert_eq!(got, matrix(&gate).controlled(named.n_controls), "{}", named.name);
        let expected = reference::embed(&matrix(&gate), n, &targets, &controls);
        assert_matrices(&reference::rows(&got), &expected, EXACT, named.name);
        assert!(circuit.to_string().starts_with(named.name), "{circuit}");
    }
}

#[test]
fn methods_append_the_gates_they_are_named_after() {
    type Method = for<'a> fn(&'a mut Circuit) -> Result<&'a mut Circuit, CircuitError>;
    macro_rules! methods {
        ($($method:ident($($q:literal)*; $($angle:literal)*);)*) => {
            vec![$((stringify!($method), &[$($q),*], &[$($angle),*], |c| c.$method($($q,)* $($angle),*))),*]
        };
    }
    let list: Vec<(&str, &[usize], &[f64], Method)> = methods! {
        id(0;); x(0;); y(1;); z(2;); h(3;); s(4;); sdg(0;); t(1;); tdg(2;); sx(3;); sxdg(4;);
        rx(0; 0.1); ry(1; 0.2); rz(2; 0.3); p(3; 0.4); u(4; 0.1 0.2 0.3); u2(0; 0.1 0.2); u3(1; 0.1 0.2 0.3);
        ug(2; 0.1 0.2 0.3 0.4); r(3; 0.1 0.2); gphase(; 0.5);
        cx(3 1;); cy(1 3;); cz(0 4;); ch(4 0;); cs(2 3;); csdg(3 2;); csx(1 0;);
        cp(0 1; 0.1); crx(1 2; 0.2); cry(2 3; 0.3); crz(3 4; 0.4); cu(4 0; 0.1 0.2 0.3 0.4);
        swap(0 2;); iswap(2 0;); iswapdg(1 4;); ecr(4 1;); dcx(3 0;); dcxdg(0 3;);
        rxx(0 1; 0.1); ryy(1 0; 0.2); rzz(2 4; 0.3); rzx(4 2; 0.4); fsim(1 3; 0.5 0.6);
        ccx(4 2 0;); ccz(0 2 4;); cswap(3 1 2;); c3x(4 3 2 1;); c3sx(1 2 3 4;); c4x(4 0 3 1 2;); rccx(2 0 1;);
    };
    assert_eq!(list.len(), NAMED_GATES.len());
    for (name, qubits, angles, method) in list {
        // The built-in of OpenQASM is `U`, which is no name for a method.
        let named = NamedGate::find(if name == "u" { "U" } else { name }).unwrap();
        let gate = Gate::new(named.kind, angles.iter().map(|&a| Angle::rad(a))).unwrap();
        let (controls, targets) = qubits.split_at(named.n_controls);
        let controls: Vec<_> = controls.iter().map(|&q| (q, true)).collect();
        let (mut expected, mut got) = (Circuit::new(5), Circuit::new(5));
        expected.gate(gate, targets, &controls).unwrap();
        method(&mut got).unwrap();
        assert_eq!(got, expected, "{name}");
    }
}

/// Builds one side of an identity from its four angles.
type Build = fn(&mut Circuit, [Angle; 4]) -> Result<(), CircuitError>;

/// Fails unless two circuits have the same matrix, phase included, for all values of their inputs:
/// in numbers at a random point, and exactly in a finite field.
fn equal(what: &str, n: usize, left: Build, right: Build) {
    let build = |f: Build| {
        let mut circuit = Circuit::new(n);
        let angles = ["theta", "phi", "lambda", "gamma"].map(|name| circuit.param(name));
        f(&mut circuit, angles).unwrap();
        circuit
    };
    let (left, right) = (build(left), build(right));
    let simulator = Simulator::new();
    let values = Values(&[0.7, -1.9, 2.3, 0.4]);
    let numbers = |c: &Circuit| -> Matrix<C> { simulator.matrix(c, &values).unwrap() };
    assert_close(numbers(&left).entries(), numbers(&right).entries(), ROUNDING, what);
    let point = Point::<Fp>::random(Goldilocks, 1 << 32, &[16; 4], 2).unwrap();
    let residues = |c: &Circuit| -> Matrix<Fp> { simulator.matrix(c, &point).unwrap() };
    assert_eq!(residues(&left), residues(&right), "{what}");
}

/// `identities! { "name" n |c, t, p, l, g| left ; right }`, both chains of methods of `Circuit`.
macro_rules! identities {
    ($($what:literal $n:literal ($t:ident $p:ident $l:ident $g:ident) $($a:ident($($x:expr),*))* == $($b:ident($($y:expr),*))*;)*) => {$(
        equal($what, $n,
            |c, [$t, $p, $l, $g]| { let _ = (&$t, &$p, &$l, &$g); c$(.$a($($x),*)?)*; Ok(()) },
            |c, [$t, $p, $l, $g]| { let _ = (&$t, &$p, &$l, &$g); c$(.$b($($y),*)?)*; Ok(()) });
    )*};
}

fn half(a: &Angle) -> Angle {
    a.clone() * Q::new(1, 2)
}

fn pi(n: i64, d: i64) -> Angle {
    Angle::pi(n, d)
}

#[test]
fn standard_gates_are_what_stdgates_inc_says() {
    identities! {
        "p" 1 (t p l g) p(0, &l) == u(0, 0.0, 0.0, &l);
        "x" 1 (t p l g) x(0) == u(0, pi(1, 1), pi(0, 1), pi(1, 1)) gphase(pi(-1, 2));
        "y" 1 (t p l g) y(0) == u(0, pi(1, 1), pi(1, 2), pi(1, 2)) gphase(pi(-1, 2));
        "z" 1 (t p l g) z(0) == p(0, pi(1, 1));
        "h" 1 (t p l g) h(0) == u(0, pi(1, 2), pi(0, 1), pi(1, 1)) gphase(pi(-1, 4));
        "s^2" 1 (t p l g) s(0) s(0) == z(0);
        "t^2" 1 (t p l g) t(0) t(0) == s(0);
        "sdg" 1 (t p l g) sdg(0) == s(0) z(0);
        "tdg" 1 (t p l g) tdg(0) t(0) == id(0);
        "sx^2" 1 (t p l g) sx(0) sx(0) == x(0);
        "sxdg^2" 1 (t p l g) sxdg(0) sxdg(0) == x(0);
        "sx" 1 (t p l g) sx(0) == h(0) s(0) h(0);
        "rx" 1 (t p l g) rx(0, &t) == u(0, &t, pi(-1, 2), pi(1, 2)) gphase(-half(&t));
        "ry" 1 (t p l g) ry(0, &t) == u(0, &t, pi(0, 1), pi(0, 1)) gphase(-half(&t));
        "rz" 1 (t p l g) rz(0, &l) == gphase(-half(&l)) u(0, pi(0, 1), pi(0, 1), &l);
        "u2" 1 (t p l g) u2(0, &p, &l) == gphase(-half(&(&(&p + &l) + &pi(1, 2)))) u(0, pi(1, 2), &p, &l);
        "u3" 1 (t p l g) u3(0, &t, &p, &l) == gphase(-half(&(&(&p + &l) + &t))) u(0, &t, &p, &l);
        "cu" 2 (t p l g) cu(0, 1, &t, &p, &l, &g) == p(0, g.clone() - half(&t)) cu(0, 1, &t, &p, &l, half(&t));
        "swap" 2 (t p l g) swap(0, 1) == cx(0, 1) cx(1, 0) cx(0, 1);
        "cy" 2 (t p l g) cy(0, 1) == sdg(1) cx(0, 1) s(1);
        "cz" 2 (t p l g) cz(0, 1) == h(1) cx(0, 1) h(1);
        "ch" 2 (t p l g) ch(0, 1) == s(1) h(1) t(1) cx(0, 1) tdg(1) h(1) sdg(1);
        "cp" 2 (t p l g) cp(0, 1, &l) == p(0, half(&l)) p(1, half(&l)) cx(0, 1) p(1, -half(&l)) cx(0, 1);
        "crx" 2 (t p l g) crx(0, 1, &l) == h(1) crz(0, 1, &l) h(1);
        "cry" 2 (t p l g) cry(0, 1, &l) == ry(1, half(&l)) cx(0, 1) ry(1, -half(&l)) cx(0, 1);
        "crz" 2 (t p l g) crz(0, 1, &l) == rz(1, half(&l)) cx(0, 1) rz(1, -half(&l)) cx(0, 1);
        "ccx" 3 (t p l g) ccx(0, 1, 2) == h(2) cx(1, 2) tdg(2) cx(0, 2) t(2) cx(1, 2) tdg(2) cx(0, 2) t(1) t(2) h(2) cx(0, 1) t(0) tdg(1) cx(0, 1);
        "cswap" 3 (t p l g) cswap(0, 1, 2) == cx(2, 1) ccx(0, 1, 2) cx(2, 1);
    }
}

#[test]
fn the_other_gates_in_terms_of_standard_ones() {
    identities! {
        "ug" 1 (t p l g) ug(0, &t, &p, &l, &g) == u(0, &t, &p, &l) gphase(g.clone() - half(&t));
        "u3 by rotations" 1 (t p l g) u3(0, &t, &p, &l) == rz(0, &l) ry(0, &t) rz(0, &p);
        "r" 1 (t p l g) r(0, &t, &p) == rz(0, -&p) rx(0, &t) rz(0, &p);
        "r(theta, pi/2)" 1 (t p l g) r(0, &t, pi(1, 2)) == ry(0, &t);
        "cs" 2 (t p l g) cs(0, 1) == cp(0, 1, pi(1, 2));
        "csdg" 2 (t p l g) csdg(0, 1) == cp(0, 1, pi(-1, 2));
        "csx" 2 (t p l g) csx(0, 1) == h(1) cp(0, 1, pi(1, 2)) h(1);
        "iswap" 2 (t p l g) iswap(0, 1) == s(0) s(1) h(0) cx(0, 1) cx(1, 0) h(1);
        "iswap by rotations" 2 (t p l g) iswap(0, 1) == rxx(0, 1, pi(-1, 2)) ryy(0, 1, pi(-1, 2));
        "iswap is symmetric" 2 (t p l g) iswap(0, 1) == iswap(1, 0);
        "iswapdg" 2 (t p l g) iswapdg(0, 1) iswap(0, 1) == id(0);
        "ecr" 2 (t p l g) ecr(0, 1) == rzx(0, 1, pi(1, 4)) x(0) rzx(0, 1, pi(-1, 4));
        "dcx" 2 (t p l g) dcx(0, 1) == cx(0, 1) cx(1, 0);
        "dcxdg" 2 (t p l g) dcxdg(0, 1) == cx(1, 0) cx(0, 1);
        "rzz" 2 (t p l g) rzz(0, 1, &t) == cx(0, 1) rz(1, &t) cx(0, 1);
        "rxx" 2 (t p l g) rxx(0, 1, &t) == h(0) h(1) rzz(0, 1, &t) h(0) h(1);
        "ryy" 2 (t p l g) ryy(0, 1, &t) == rx(0, pi(1, 2)) rx(1, pi(1, 2)) rzz(0, 1, &t) rx(0, pi(-1, 2)) rx(1, pi(-1, 2));
        "rzx" 2 (t p l g) rzx(0, 1, &t) == h(1) rzz(0, 1, &t) h(1);
        "fsim" 2 (t p l g) fsim(0, 1, &t, &p) == rxx(0, 1, &t) ryy(0, 1, &t) cp(0, 1, -&p);
        "fsim(-pi/2, 0)" 2 (t p l g) fsim(0, 1, pi(-1, 2), pi(0, 1)) == iswap(0, 1);
        "ccz" 3 (t p l g) ccz(0, 1, 2) == h(2) ccx(0, 1, 2) h(2);
        "rccx" 3 (t p l g) rccx(0, 1, 2) == h(2) t(2) cx(1, 2) tdg(2) cx(0, 2) t(2) cx(1, 2) tdg(2) h(2);
        "c3sx^2" 4 (t p l g) c3sx(0, 1, 2, 3) c3sx(0, 1, 2, 3) == c3x(0, 1, 2, 3);
        "c3x" 4 (t p l g) c3x(0, 1, 2, 3) == mcx(&[2, 0, 1], 3);
        "c4x" 5 (t p l g) c4x(0, 1, 2, 3, 4) == mcx(&[3, 2, 1, 0], 4);
    }
}

#[test]
fn qelib1_differs_by_a_phase_only_until_it_is_controlled() {
    let build = |f: fn(&mut Circuit) -> Result<&mut Circuit, CircuitError>| -> Matrix<C> {
        let mut circuit = Circuit::new(2);
        f(&mut circuit).unwrap();
        Simulator::new().matrix(&circuit, &Values::<f64>(&[])).unwrap()
    };
    let apart = |a: &Matrix<C>, b: &Matrix<C>| support::close::distance(a.entries(), b.entries());
    // qelib1 has rz = u1 and sx = rx(pi/2).
    let pairs = [
        (build(|c| c.rz(0, 0.7)), build(|c| c.p(0, 0.7))),
        (build(|c| c.sx(0)), build(|c| c.rx(0, pi(1, 2)))),
    ];
    for (ours, theirs) in pairs {
        assert!(phase_distance(&ours, &theirs) < ROUNDING);
        assert!(apart(&ours, &theirs) > 0.1);
    }
    assert!(phase_distance(&build(|c| c.crz(0, 1, 0.7)), &build(|c| c.cp(0, 1, 0.7))) > 0.1);
}

/// The Pauli operator with letter j on qubit j.
fn pauli(letters: &str) -> Dense<C> {
    letters.chars().fold(identity(1), |low, letter| {
        let factor = match letter {
            'X' => vec![vec![ZERO, ONE], vec![ONE, ZERO]],
            'Y' => vec![vec![ZERO, -I], vec![I, ZERO]],
            _ => vec![vec![ONE, ZERO], vec![ZERO, -ONE]],
        };
        kron(&factor, &low)
    })
}

/// `i G` with the gate equal to `exp(i theta G)`.
fn exponent(kind: GateKind) -> Option<Dense<C>> {
    match kind.generator()? {
        Generator::Pauli(letters) => {
            assert_eq!(letters.len(), kind.n_qubits(), "{kind:?}");
            Some(
                pauli(letters)
                    .into_iter()
                    .map(|row| row.into_iter().map(|x| x * (-I / 2.0)).collect())
                    .collect(),
            )
        }
        Generator::Projector => {
            let dim = 1 << kind.n_qubits();
            let mut g = vec![vec![ZERO; dim]; dim];
            g[dim - 1][dim - 1] = I;
            Some(g)
        }
    }
}

#[test]
fn a_gate_with_a_generator_is_its_exponential() {
    let theta = 1.7;
    let mut seen = 0;
    for &kind in GateKind::ALL {
        let Some(g) = exponent(kind) else { continue };
        seen += 1;
        // sum_k (theta i G)^k / k!; 40 terms leave nothing of 1.7^40 / 40!.
        let (mut sum, mut term) = (identity::<C>(g.len()), identity::<C>(g.len()));
        for k in 1..40 {
            term = product(&term, &g)
                .into_iter()
                .map(|row| row.into_iter().map(|x| x * theta / f64::from(k)).collect())
                .collect();
            for (s, t) in sum.iter_mut().flatten().zip(term.iter().flatten()) {
                *s += t;
            }
        }
        let gate = Gate::new(kind, [Angle::rad(theta)]).unwrap();
        assert_matrices(&reference::rows(&matrix(&gate)), &sum, ROUNDING, kind.name());
    }
    assert_eq!(seen, 9, "RX RY RZ P RXX RYY RZZ RZX GPHASE");
}

/// `exp(-i theta/2 P)`, of two peers: `PauliRot(0.7, "XYZ")` of PennyLane, `PauliEvolutionGate` of
/// Qiskit about `ZYX`.
#[test]
fn rotations_about_strings_are_those_of_others() {
    let rotation = PauliRotation::new([Pauli::X, Pauli::Y, Pauli::Z], 0.7);
    let u = rotation.matrix::<C>(&Values::<f64>(&[])).unwrap();
    let (c, s) = (0.939_372_712_847_378_9, 0.342_897_807_455_451_34);
    for (at, value) in
        [((0, 0), c), ((0, 3), -s), ((3, 0), s), ((5, 5), c), ((6, 5), -s), ((1, 5), 0.0)]
    {
        assert!((u[at] - value).norm() < ROUNDING, "{at:?} {}", u[at]);
    }
}

#[test]
fn a_rotation_about_a_string_equals_the_gates_that_are_one() {
    use GateKind::{RX, RXX, RY, RYY, RZ, RZX, RZZ};
    let named =
        [("X", RX), ("Y", RY), ("Z", RZ), ("XX", RXX), ("YY", RYY), ("ZZ", RZZ), ("ZX", RZX)];
    let mut rng = Rng::new(12);
    for (letters, kind) in named {
        let letters: Vec<Pauli> =
            letters.chars().map(|l| Pauli::named(&format!("{l}0")).unwrap().1).collect();
        for _ in 0..8 {
            let angle = rng.angle();
            let rotation = PauliRotation::new(letters.clone(), angle.clone());
            let gate = Gate::new(kind, [angle]).unwrap();
            let of_rotation = rotation.matrix::<C>(&Values::<f64>(&[])).unwrap();
            assert_close(of_rotation.entries(), matrix(&gate).entries(), ROUNDING, kind.name());
            let inverse = rotation.dagger().matrix::<C>(&Values::<f64>(&[])).unwrap();
            assert_close(inverse.entries(), of_rotation.dagger().entries(), ROUNDING, kind.name());
        }
    }
    // Half a turn is the string itself, with exact zeros.
    let half = PauliRotation::new([Pauli::X, Pauli::Z, Pauli::Y], Angle::pi(1, 1));
    let u = half.matrix::<C>(&Values::<f64>(&[])).unwrap();
    for (row, column) in (0..8).flat_map(|i| (0..8).map(move |j| (i, j))) {
        let size = if row ^ column == 0b101 { 1.0 } else { 0.0 };
        assert_eq!(u[(row, column)].norm(), size, "{row} {column}");
    }
}

#[test]
fn the_derivative_of_a_gate_is_its_generator_times_the_gate() {
    for &kind in GateKind::ALL {
        let Some(g) = exponent(kind) else { continue };
        let gate = Gate::new(kind, [Angle::theta(ketgrad_core::param::ParamId::new(0))]).unwrap();
        let dual = gate.matrix(&Values(&[Dual64::new(0.9, 1.0)])).unwrap();
        let eps = dual.map(|z| Complex::new(z.re.eps, z.im.eps));
        let value = dual.map(|z| Complex::new(z.re.re, z.im.re));
        assert_matrices(
            &reference::rows(&eps),
            &product(&g, &reference::rows(&value)),
            DERIVATIVE,
            kind.name(),
        );
    }
}

#[test]
fn every_parameter_of_every_gate_has_its_derivative() {
    // Central differences: error about 1e-10, from step^2 and from rounding over the step.
    const STEP: f64 = 1e-5;
    const DIFFERENCE: f64 = 1e-9;
    let mut rng = Rng::new(5);
    for &kind in GateKind::ALL {
        let n = kind.param_names().len();
        let at: Vec<f64> = (0..n).map(|_| 3.0 * rng.signed()).collect();
        let gate = Gate::new(
            kind,
            (0..n as u32).map(|k| Angle::theta(ketgrad_core::param::ParamId::new(k))),
        )
        .unwrap();
        for k in 0..n {
            let duals: Vec<Dual64> = at
                .iter()
                .enumerate()
                .map(|(j, &x)| Dual64::new(x, f64::from(u8::from(j == k))))
                .collect();
            let eps =
                gate.matrix(&Values(&duals)).unwrap().map(|z| Complex::new(z.re.eps, z.im.eps));
            let moved = |by: f64| {
                let mut at = at.clone();
                at[k] += by;
                gate.matrix(&Values(&at)).unwrap()
            };
            let (plus, minus) = (moved(STEP), moved(-STEP));
            let difference: Vec<C> = plus
                .entries()
                .iter()
                .zip(minus.entries())
                .map(|(p, m)| (p - m) / (2.0 * STEP))
                .collect();
            assert_close(
                eps.entries(),
                &difference,
                DIFFERENCE,
                &format!("{kind:?}, {}", kind.param_names()[k]),
            );
        }
    }
}

#[test]
fn powers_of_rotations() {
    every_gate(|gate| match gate.power(Q::new(1, 3)) {
        Some(root) => {
            let r = reference::rows(&matrix(&root));
            let cube = product(&product(&r, &r), &r);
            assert_matrices(&cube, &reference::rows(&matrix(gate)), ROUNDING, &gate.to_string());
            assert_eq!(gate.power(Q::new(-1, 1)), Some(gate.dagger()), "{gate}");
        }
        None => assert!(gate.kind().generator().is_none()),
    });
}

#[test]
fn multiples_of_a_quarter_turn_have_exact_entries() {
    for k in -8..=8 {
        let exact = |gate: Gate| {
            matrix(&gate)
                .entries()
                .iter()
                .all(|z| [z.re, z.im].iter().all(|x| [0.0, 1.0, 0.5f64.sqrt()].contains(&x.abs())))
        };
        assert!(exact(Gate::new(GateKind::P, [pi(k, 4)]).unwrap()), "p({k} pi/4)");
        assert!(exact(Gate::new(GateKind::RX, [pi(k, 2)]).unwrap()), "rx({k} pi/2)");
        assert!(exact(Gate::new(GateKind::FSIM, [pi(k, 4), pi(k, 4)]).unwrap()), "fsim({k} pi/4)");
    }
    // What is near pi/4 is not pi/4.
    assert_ne!(
        matrix(&Gate::new(GateKind::P, [Angle::rad(0.785)]).unwrap()),
        matrix(&Gate::new(GateKind::T, []).unwrap()).clone()
    );
}

#[test]
fn long_products_of_gates_stay_unitary() {
    let mut rng = Rng::new(6);
    for n in 1..=5 {
        let circuit = rng.circuit(n, 100, Rng::angle);
        let u: Matrix<C> = Simulator::new().matrix(&circuit, &Values::<f64>(&[])).unwrap();
        u.check_unitary(CIRCUIT).unwrap();
    }
}
