//! The circuits that are timed, the same for everything that is timed.
#![allow(clippy::unwrap_used, reason = "circuits without mistakes")]

use ketgrad_core::{
    circuit::Circuit,
    kernel::{Operator, SimdFloat},
    matrix::Matrix,
    observable::{Pauli, PauliString, PauliSum},
    param::Values,
    simulate::BoundCircuit,
};
use num_complex::Complex;

struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Their names: layers of rotations and a ring of CX, the Fourier transform, random SU(4) on random
/// pairs, and the hardware-efficient ansatz of four layers.
pub const NAMES: [&str; 4] = ["qcbm", "qft", "qv", "hea"];

fn ring(c: &mut Circuit) {
    let n = c.n_qubits();
    for q in 0..n {
        c.cx(q, (q + 1) % n).unwrap();
    }
}

/// Layers of RZ RX RZ and a ring of CX.
fn qcbm(n: usize) -> Circuit {
    let (mut c, mut r) = (Circuit::new(n), Random(1));
    let mut angle = move || r.unit() * std::f64::consts::TAU;
    for layer in 0..10 {
        for q in 0..n {
            if layer > 0 {
                c.rz(q, angle()).unwrap();
            }
            c.rx(q, angle()).unwrap();
            if layer < 9 {
                c.rz(q, angle()).unwrap();
            }
        }
        if layer < 9 {
            ring(&mut c);
        }
    }
    c
}

fn qft(n: usize) -> Circuit {
    let mut c = Circuit::new(n);
    for q in (0..n).rev() {
        c.h(q).unwrap();
        for control in (0..q).rev() {
            c.cp(control, q, std::f64::consts::PI / (1u64 << (q - control)) as f64).unwrap();
        }
    }
    for q in 0..n / 2 {
        c.swap(q, n - 1 - q).unwrap();
    }
    c
}

fn hea(n: usize) -> Circuit {
    let (mut c, mut r) = (Circuit::new(n), Random(3));
    for _ in 0..4 {
        for q in 0..n {
            c.ry(q, r.unit() * std::f64::consts::TAU)
                .unwrap()
                .rz(q, r.unit() * std::f64::consts::TAU)
                .unwrap();
        }
        ring(&mut c);
    }
    c
}

/// Layers of random SU(4) on random pairs.
fn volume(n: usize) -> Circuit {
    let (mut c, mut r) = (Circuit::new(n), Random(2));
    for _ in 0..n {
        let mut order: Vec<usize> = (0..n).collect();
        for k in (1..n).rev() {
            order.swap(k, (r.unit() * (k + 1) as f64) as usize);
        }
        for pair in order.chunks_exact(2) {
            let mut columns: Vec<Vec<Complex<f64>>> = Vec::new();
            for _ in 0..4 {
                let mut v: Vec<_> =
                    (0..4).map(|_| Complex::new(r.unit() - 0.5, r.unit() - 0.5)).collect();
                for u in &columns {
                    let dot: Complex<f64> = u.iter().zip(&v).map(|(a, b)| a.conj() * b).sum();
                    v.iter_mut().zip(u).for_each(|(b, a)| *b -= dot * a);
                }
                let norm = v.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
                columns.push(v.iter().map(|z| z / norm).collect());
            }
            c.unitary(Matrix::from_fn(2, |i, j| columns[j][i]), pair, &[]).unwrap();
        }
    }
    c
}

/// A gate on each qubit in turn, its controls being the next ones.
///
/// # Panics
/// If a gate does not fit.
#[must_use]
pub fn single(name: &str, n: usize) -> Circuit {
    let mut c = Circuit::new(n);
    for q in 0..n {
        let (b, a) = ((q + 1) % n, (q + 2) % n);
        match name {
            "X" => c.x(q),
            "H" => c.h(q),
            "T" => c.t(q),
            "CNOT" => c.cx(b, q),
            "RX" => c.rx(q, 0.37),
            "CRX" => c.crx(b, q, 0.37),
            _ => c.ccx(a, b, q),
        }
        .unwrap();
    }
    c
}

/// A circuit by its name, the hardware-efficient ansatz if there is none of that name.
///
/// # Panics
/// If a gate does not fit n qubits.
#[must_use]
pub fn circuit(name: &str, n: usize) -> Circuit {
    match name {
        "qcbm" => qcbm(n),
        "qft" => qft(n),
        "qv" => volume(n),
        _ => hea(n),
    }
}

/// The operators of a circuit without parameters.
///
/// # Panics
/// If it has one.
#[must_use]
pub fn bind<E: SimdFloat>(c: &Circuit) -> Vec<Operator<Complex<E>>> {
    BoundCircuit::new(c, &Values::<E>(&[])).unwrap().operators().unwrap().to_vec()
}

/// The hardware-efficient ansatz with a parameter for each angle: layers of RY and RZ on every
/// qubit and a ring of CX.
///
/// # Panics
/// If n is below 2.
#[must_use]
pub fn ansatz(n: usize, layers: usize) -> Circuit {
    let mut c = Circuit::new(n);
    let mut w = c.param_list("w", 2 * n * layers).into_iter();
    for _ in 0..layers {
        for q in 0..n {
            c.ry(q, w.next().unwrap()).unwrap().rz(q, w.next().unwrap()).unwrap();
        }
        for q in 0..n {
            c.cx(q, (q + 1) % n).unwrap();
        }
    }
    c
}

/// The energy of an Ising chain in a transverse field.
///
/// # Panics
/// Never.
#[must_use]
pub fn ising(n: usize) -> PauliSum {
    let bonds =
        (1..n).map(|q| (-1.0, PauliString::new([(q - 1, Pauli::Z), (q, Pauli::Z)]).unwrap()));
    let field = (0..n).map(|q| (-0.7, PauliString::new([(q, Pauli::X)]).unwrap()));
    PauliSum::new(bonds.chain(field).collect::<Vec<_>>()).unwrap()
}
