//! A reference simulator in `f64`: gates written out by formula, applied by direct loops over
//! indices.
//!
//! It shares nothing with ketgrad: no gate table, no bindings, no kernels, no plans.
//! ([`mod@crate::reference`] has no kernels either, but takes matrices from the gate table and
//! builds 2^n x 2^n matrices, for a few qubits.) A gate on 17 qubits takes a third of a
//! millisecond, so circuits of hundreds of gates are fine.
//!
//! ```
//! use support::dense::{DenseState, named};
//! let mut bell = DenseState::zero(2);
//! bell.apply(&named("h", &[]).matrix, &[0], &[]);
//! bell.apply(&named("x", &[]).matrix, &[1], &[(0, true)]);
//! assert!((bell.expectation(&[(0, 'X'), (1, 'X')]) - 1.0).abs() < 1e-15);
//! ```
//!
//! Bit j of a row or column number belongs to the j-th target; qubit 0 is the least significant bit
//! of an index.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4};

use num_complex::Complex;

/// A complex number.
pub type C = Complex<f64>;

const O: C = C::new(0.0, 0.0);
const L: C = C::new(1.0, 0.0);
const I: C = C::new(0.0, 1.0);

/// A square matrix of 2^k rows, row by row.
pub type Rows = Vec<C>;

/// A state of n qubits: 2^n amplitudes.
#[derive(Clone, Debug)]
pub struct DenseState {
    n_qubits: usize,
    /// The amplitudes in basis order.
    pub amplitudes: Vec<C>,
}

impl DenseState {
    /// |0…0>.
    #[must_use]
    pub fn zero(n_qubits: usize) -> DenseState {
        DenseState::basis(n_qubits, 0)
    }

    /// A basis state.
    #[must_use]
    pub fn basis(n_qubits: usize, index: usize) -> DenseState {
        let mut amplitudes = vec![O; 1 << n_qubits];
        amplitudes[index] = L;
        DenseState { n_qubits, amplitudes }
    }

    /// The number of qubits.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.n_qubits
    }

    /// Multiplies the targets by a matrix wherever every control (qubit, value) has its value.
    pub fn apply(&mut self, matrix: &[C], targets: &[usize], controls: &[(usize, bool)]) {
        let mask = controls.iter().fold(0, |mask, c| mask | 1usize << c.0);
        let wanted = controls.iter().filter(|c| c.1).fold(0, |mask, c| mask | 1usize << c.0);
        // Index of each row of the matrix relative to the one where all targets are 0.
        let offsets: Vec<usize> = (0..1usize << targets.len())
            .map(|row| targets.iter().enumerate().map(|(j, &t)| (row >> j & 1) << t).sum())
            .collect();
        let fixed = mask | offsets.last().copied().unwrap_or(0);
        let len = self.amplitudes.len();
        // The indices in order that have the wanted values of the controls, and 0 of the targets.
        let next = |i: &usize| Some(((i | fixed) + 1) & !fixed | wanted).filter(|i| *i < len);
        let indices = std::iter::successors(Some(wanted), next);
        if let ([_, far], [a, b, c, d]) = (&offsets[..], matrix) {
            for i in indices {
                let (x, y) = (self.amplitudes[i], self.amplitudes[i | far]);
                self.amplitudes[i] = a * x + b * y;
                self.amplitudes[i | far] = c * x + d * y;
            }
            return;
        }
        let mut old = vec![O; offsets.len()];
        for i in indices {
            old.iter_mut().zip(&offsets).for_each(|(x, offset)| *x = self.amplitudes[i | offset]);
            for (offset, row) in offsets.iter().zip(matrix.chunks(old.len())) {
                self.amplitudes[i | offset] = row.iter().zip(&old).map(|(m, x)| m * x).sum();
            }
        }
    }

    /// `<psi|P|psi>` of a product of the letters X, Y, Z on different qubits.
    ///
    /// # Panics
    /// If a letter is another one.
    #[must_use]
    pub fn expectation(&self, string: &[(usize, char)]) -> f64 {
        let mut turned = self.clone();
        for &(qubit, letter) in string {
            turned.apply(&pauli(letter), &[qubit], &[]);
        }
        sum(self.amplitudes.iter().zip(&turned.amplitudes).map(|(a, b)| (a.conj() * b).re))
    }

    /// The sum of all probabilities.
    #[must_use]
    pub fn norm2(&self) -> f64 {
        sum(self.amplitudes.iter().map(C::norm_sqr))
    }

    /// The largest difference of two amplitudes, here and in a list; infinite where one is NaN.
    #[must_use]
    pub fn distance(&self, other: &[C]) -> f64 {
        if self.amplitudes.len() != other.len() {
            return f64::INFINITY;
        }
        let off = |(a, b): (&C, &C)| (a - b).norm();
        self.amplitudes
            .iter()
            .zip(other)
            .map(off)
            .fold(0.0, |worst, d| if d.is_nan() { f64::INFINITY } else { d.max(worst) })
    }
}

/// A sum with its own roundings taken out (Neumaier): a running sum of 2^17 terms is off by more
/// than what is compared.
fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut rest) = (0.0, 0.0);
    for x in terms {
        let next: f64 = sum + x;
        rest += if f64::abs(sum) >= x.abs() { (sum - next) + x } else { (x - next) + sum };
        sum = next;
    }
    sum + rest
}

/// The matrix of a Pauli operator.
///
/// # Panics
/// At another letter than X, Y, Z.
#[must_use]
pub fn pauli(letter: char) -> Rows {
    match letter {
        'X' => vec![O, L, L, O],
        'Y' => vec![O, -I, I, O],
        'Z' => vec![L, O, O, -L],
        _ => panic!("what is the Pauli operator {letter:?}?"),
    }
}

/// A gate: the matrix on its targets, and how many controls of value 1 come before them.
#[derive(Clone, Debug)]
pub struct DenseGate {
    /// The number of controls.
    pub n_controls: usize,
    /// The matrix on the targets.
    pub matrix: Rows,
}

/// `e^{i t}`.
#[must_use]
pub fn cis(t: f64) -> C {
    C::new(t.cos(), t.sin())
}

/// A diagonal matrix.
fn diagonal(entries: &[C]) -> Rows {
    let dim = entries.len();
    (0..dim * dim).map(|k| if k / dim == k % dim { entries[k / dim] } else { O }).collect()
}

/// The matrix that moves column j to row `rows[j]`, times a factor for each column.
fn moves(rows: &[usize], factors: &[C]) -> Rows {
    let mut matrix = vec![O; rows.len() * rows.len()];
    for (column, &row) in rows.iter().enumerate() {
        matrix[row * rows.len() + column] = factors[column];
    }
    matrix
}

/// `[[cos t/2, -e^{il} sin t/2], [e^{ip} sin t/2, e^{ip} e^{il} cos t/2]]` times a factor.
fn euler(theta: f64, phi: f64, lambda: f64, factor: C) -> Rows {
    let (s, c) = (theta / 2.0).sin_cos();
    vec![
        factor * c,
        -(factor * cis(lambda) * s),
        factor * cis(phi) * s,
        factor * (cis(phi) * cis(lambda)) * c,
    ]
}

/// `cos(t/2) - i sin(t/2) P` for a string with letter j on target j.
#[must_use]
pub fn rotation(letters: &str, theta: f64) -> Rows {
    let (s, c) = (theta / 2.0).sin_cos();
    let string = letters.chars().fold(vec![L], |low, letter| kron(&pauli(letter), &low));
    let dim = 1usize << letters.len();
    let entry = |k: usize| string[k] * C::new(0.0, -s) + if k / dim == k % dim { c } else { 0.0 };
    (0..dim * dim).map(entry).collect()
}

/// The Kronecker product; `low` has the less significant bits.
#[must_use]
pub fn kron(high: &[C], low: &[C]) -> Rows {
    let (h, l) = (high.len().isqrt(), low.len().isqrt());
    let dim = h * l;
    let entry = |k: usize| {
        let (row, column) = (k / dim, k % dim);
        high[row / l * h + column / l] * low[row % l * l + column % l]
    };
    (0..dim * dim).map(entry).collect()
}

/// The product of two square matrices.
#[must_use]
pub fn product(a: &[C], b: &[C]) -> Rows {
    let dim = a.len().isqrt();
    let entry = |k: usize| (0..dim).map(|j| a[k / dim * dim + j] * b[j * dim + k % dim]).sum();
    (0..dim * dim).map(entry).collect()
}

/// The conjugate transpose.
#[must_use]
pub fn dagger(a: &[C]) -> Rows {
    let dim = a.len().isqrt();
    (0..dim * dim).map(|k| a[k % dim * dim + k / dim].conj()).collect()
}

/// Names that [`named`] knows, each with its numbers of angles and of qubits.
pub const NAMES: &[(&str, usize, usize)] = &[
    ("id", 0, 1),
    ("x", 0, 1),
    ("y", 0, 1),
    ("z", 0, 1),
    ("h", 0, 1),
    ("s", 0, 1),
    ("sdg", 0, 1),
    ("t", 0, 1),
    ("tdg", 0, 1),
    ("sx", 0, 1),
    ("sxdg", 0, 1),
    ("rx", 1, 1),
    ("ry", 1, 1),
    ("rz", 1, 1),
    ("p", 1, 1),
    ("U", 3, 1),
    ("u2", 2, 1),
    ("u3", 3, 1),
    ("r", 2, 1),
    ("gphase", 1, 0),
    ("cx", 0, 2),
    ("cy", 0, 2),
    ("cz", 0, 2),
    ("ch", 0, 2),
    ("cs", 0, 2),
    ("csdg", 0, 2),
    ("csx", 0, 2),
    ("cp", 1, 2),
    ("crx", 1, 2),
    ("cry", 1, 2),
    ("crz", 1, 2),
    ("cu", 4, 2),
    ("swap", 0, 2),
    ("iswap", 0, 2),
    ("iswapdg", 0, 2),
    ("ecr", 0, 2),
    ("dcx", 0, 2),
    ("rxx", 1, 2),
    ("ryy", 1, 2),
    ("rzz", 1, 2),
    ("rzx", 1, 2),
    ("fsim", 2, 2),
    ("ccx", 0, 3),
    ("ccz", 0, 3),
    ("cswap", 0, 3),
];

/// The gate with a name and angles in radians.
///
/// # Panics
/// If there is no such gate, or it takes another number of angles.
#[must_use]
pub fn named(name: &str, angles: &[f64]) -> DenseGate {
    let known = NAMES.iter().any(|n| n.0 == name && n.1 == angles.len());
    assert!(known, "no gate {name:?} of {} angles", angles.len());
    if let Some(rest) = name.strip_prefix('c').filter(|rest| *rest != "u") {
        let inner = named(rest, angles);
        return DenseGate { n_controls: inner.n_controls + 1, ..inner };
    }
    let a = |k: usize| angles[k];
    let (r, i_r) = (C::from(FRAC_1_SQRT_2), I * FRAC_1_SQRT_2);
    let (half, i_half) = (C::from(0.5), I * 0.5);
    let matrix = match name {
        "id" => diagonal(&[L, L]),
        "x" => pauli('X'),
        "y" => pauli('Y'),
        "z" => pauli('Z'),
        "h" => vec![r, r, r, -r],
        "s" => diagonal(&[L, I]),
        "sdg" => diagonal(&[L, -I]),
        "t" => diagonal(&[L, cis(FRAC_PI_4)]),
        "tdg" => diagonal(&[L, cis(-FRAC_PI_4)]),
        "sx" => vec![half + i_half, half - i_half, half - i_half, half + i_half],
        "sxdg" => vec![half - i_half, half + i_half, half + i_half, half - i_half],
        "rx" => rotation("X", a(0)),
        "ry" => rotation("Y", a(0)),
        "rz" => diagonal(&[cis(-a(0) / 2.0), cis(a(0) / 2.0)]),
        "p" => diagonal(&[L, cis(a(0))]),
        "U" => euler(a(0), a(1), a(2), cis(a(0) / 2.0)),
        "u2" => euler(FRAC_PI_2, a(0), a(1), cis(-a(0) / 2.0) * cis(-a(1) / 2.0)),
        "u3" => euler(a(0), a(1), a(2), cis(-a(1) / 2.0) * cis(-a(2) / 2.0)),
        "cu" => euler(a(0), a(1), a(2), cis(a(3))),
        "r" => {
            let (s, c) = (a(0) / 2.0).sin_cos();
            vec![c.into(), -I * cis(-a(1)) * s, -I * cis(a(1)) * s, c.into()]
        }
        "gphase" => vec![cis(a(0))],
        "swap" => moves(&[0, 2, 1, 3], &[L; 4]),
        "iswap" => moves(&[0, 2, 1, 3], &[L, I, I, L]),
        "iswapdg" => moves(&[0, 2, 1, 3], &[L, -I, -I, L]),
        // (IX - XY)/sqrt 2, rightmost letter on the first qubit.
        "ecr" => vec![O, r, O, i_r, r, O, -i_r, O, O, i_r, O, r, -i_r, O, r, O],
        // CX from the first to the second, then back.
        "dcx" => moves(&[0, 2, 3, 1], &[L; 4]),
        "rxx" => rotation("XX", a(0)),
        "ryy" => rotation("YY", a(0)),
        "rzz" => {
            let (m, p) = (cis(-a(0) / 2.0), cis(a(0) / 2.0));
            diagonal(&[m, p, p, m])
        }
        "rzx" => rotation("ZX", a(0)),
        "fsim" => {
            let (s, c) = a(0).sin_cos();
            let (s, c) = (C::new(0.0, -s), C::from(c));
            vec![L, O, O, O, O, c, s, O, O, s, c, O, O, O, O, cis(-a(1))]
        }
        _ => unreachable!("{name} is in the list of names"),
    };
    DenseGate { n_controls: usize::from(name == "cu"), matrix }
}
