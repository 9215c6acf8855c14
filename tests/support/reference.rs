//! Gates on many qubits by their definition: sums of Kronecker products of 2x2 matrices.
//!
//! A matrix M on targets t is `sum_ab M[a][b] |a><b|`, and `|a><b|` on the targets is the Kronecker
//! product over all qubits of `|a_j><b_j|` at target j and 1 elsewhere. Under controls it acts on
//! the projector P onto their values, and the rest of the space is left alone: `M P + (1 - P)`.
//! Nothing here knows of strides, masks or runs.

use ketgrad_core::{
    circuit::{Circuit, Operation, PauliRotation},
    matrix::Matrix,
    observable::{Pauli, PauliSum},
    param::{BindError, Binding, Q},
    scalar::Ring,
};
use num_complex::Complex;

/// A square matrix by rows.
pub type Dense<R> = Vec<Vec<R>>;

/// The Kronecker product; `low` gets the less significant bits.
pub fn kron<R: Ring>(high: &Dense<R>, low: &Dense<R>) -> Dense<R> {
    let mut out = Vec::new();
    for upper in high {
        for lower in low {
            out.push(upper.iter().flat_map(|u| lower.iter().map(move |l| u * l)).collect());
        }
    }
    out
}

/// The product of two matrices.
pub fn product<R: Ring>(a: &Dense<R>, b: &Dense<R>) -> Dense<R> {
    let column = |j: usize| b.iter().map(move |row| &row[j]);
    a.iter()
        .map(|row| {
            (0..b.len()).map(|j| R::sum(row.iter().zip(column(j)).map(|(x, y)| x * y))).collect()
        })
        .collect()
}

/// A matrix times a vector.
pub fn times_vector<R: Ring>(a: &Dense<R>, v: &[R]) -> Vec<R> {
    a.iter().map(|row| R::sum(row.iter().zip(v).map(|(x, y)| x * y))).collect()
}

/// The identity matrix.
pub fn identity<R: Ring>(dim: usize) -> Dense<R> {
    (0..dim)
        .map(|i| (0..dim).map(|j| if i == j { R::one() } else { R::zero() }).collect())
        .collect()
}

/// The rows of a matrix of the library.
pub fn rows<R: Ring>(matrix: &Matrix<R>) -> Dense<R> {
    matrix.entries().chunks(matrix.dim()).map(<[R]>::to_vec).collect()
}

/// `|a><b|` on one qubit.
fn unit<R: Ring>(a: usize, b: usize) -> Dense<R> {
    let mut e = vec![vec![R::zero(), R::zero()], vec![R::zero(), R::zero()]];
    e[a][b] = R::one();
    e
}

/// The Kronecker product over all qubits, qubit 0 least significant.
fn over_qubits<R: Ring>(n: usize, factor: impl Fn(usize) -> Dense<R>) -> Dense<R> {
    (0..n).fold(identity(1), |low, q| kron(&factor(q), &low))
}

/// The 2^n x 2^n operator that acts as `matrix` on `targets` (`targets[0]` the least significant)
/// where every control (qubit, value) has its value, and as the identity elsewhere.
pub fn embed<R: Ring>(
    matrix: &Matrix<R>,
    n: usize,
    targets: &[usize],
    controls: &[(usize, bool)],
) -> Dense<R> {
    let control = |q: usize| controls.iter().find(|c| c.0 == q).map(|c| usize::from(c.1));
    // 1 - P
    let projector: Dense<R> =
        over_qubits(n, |q| control(q).map_or_else(|| identity(2), |v| unit(v, v)));
    let mut out = identity::<R>(1 << n);
    for (row, p) in out.iter_mut().zip(&projector) {
        row.iter_mut().zip(p).for_each(|(x, p)| *x -= p.clone());
    }
    for a in 0..matrix.dim() {
        for b in 0..matrix.dim() {
            let entry = &matrix[(a, b)];
            if entry.is_exact_zero() {
                continue;
            }
            let term: Dense<R> =
                over_qubits(n, |q| match (control(q), targets.iter().position(|&t| t == q)) {
                    (Some(v), _) => unit(v, v),
                    (None, Some(j)) => unit(a >> j & 1, b >> j & 1),
                    (None, None) => identity(2),
                });
            for (row, t) in out.iter_mut().zip(&term) {
                row.iter_mut()
                    .zip(t)
                    .filter(|(_, t)| !t.is_exact_zero())
                    .for_each(|(x, t)| *x += entry * t);
            }
        }
    }
    out
}

/// The matrix of a circuit as the product of its embedded gates.
///
/// # Panics
/// If the binding has no number for an angle.
pub fn circuit<R: Ring>(circuit: &Circuit, binding: &impl Binding<R>) -> Dense<R> {
    let n = circuit.n_qubits();
    let mut out = identity(1 << n);
    for instruction in circuit.instructions() {
        let matrix = match &instruction.operation {
            Operation::Gate(gate) => gate.matrix(binding),
            Operation::Unitary(matrix) => matrix.try_map(|z| binding.number(*z)),
            Operation::PauliRotation(rotation) => exponential(rotation, binding),
            _ => continue,
        };
        let Ok(matrix) = matrix else { panic!("no number for {:?}", instruction.operation) };
        let targets: Vec<usize> = instruction.targets.iter().map(|&q| q as usize).collect();
        let controls: Vec<_> =
            instruction.controls.iter().map(|c| (c.qubit as usize, c.value)).collect();
        out = product(&embed(&matrix, n, &targets, &controls), &out);
    }
    out
}

/// `cos t/2 - i sin t/2 P`, P by Kronecker products.
///
/// # Errors
/// If the binding has no number for the angle.
pub fn exponential<R: Ring>(
    rotation: &PauliRotation,
    binding: &impl Binding<R>,
) -> Result<Matrix<R>, BindError> {
    let half = rotation.angle().clone() * Q::new(1, 2);
    let (cos, i_sin, i) = (binding.cos(&half)?, binding.i_sin(&half)?, binding.i()?);
    let (o, l) = (R::zero, R::one);
    let letter = |pauli: &Pauli| match pauli {
        Pauli::X => vec![vec![o(), l()], vec![l(), o()]],
        Pauli::Y => vec![vec![o(), -i.clone()], vec![i.clone(), o()]],
        Pauli::Z => vec![vec![l(), o()], vec![o(), -l()]],
    };
    let string =
        rotation.letters().iter().fold(identity(1), |low, pauli| kron(&letter(pauli), &low));
    Ok(Matrix::from_fn(rotation.letters().len(), |row, column| {
        let stays = if row == column { cos.clone() } else { R::zero() };
        stays - i_sin.clone() * &string[row][column]
    }))
}

/// The matrix of a sum on n qubits, by Kronecker products.
pub fn pauli_sum(sum: &PauliSum, n: usize) -> Dense<Complex<f64>> {
    let letter = |pauli: Option<Pauli>| {
        let [o, l, i] = [Complex::new(0.0, 0.0), Complex::new(1.0, 0.0), Complex::new(0.0, 1.0)];
        match pauli {
            None => vec![vec![l, o], vec![o, l]],
            Some(Pauli::X) => vec![vec![o, l], vec![l, o]],
            Some(Pauli::Y) => vec![vec![o, -i], vec![i, o]],
            Some(Pauli::Z) => vec![vec![l, o], vec![o, -l]],
        }
    };
    let mut all = vec![vec![Complex::new(0.0, 0.0); 1 << n]; 1 << n];
    for (coefficient, string) in sum.terms() {
        let on = |q: usize| string.factors().iter().find(|f| f.0 == q).map(|f| f.1);
        let product = (0..n).fold(identity(1), |low, q| kron(&letter(on(q)), &low));
        add(&mut all, &product, Complex::new(*coefficient, 0.0));
    }
    all
}

/// Adds a multiple of a matrix to another.
pub fn add(all: &mut Dense<Complex<f64>>, more: &Dense<Complex<f64>>, factor: Complex<f64>) {
    all.iter_mut().flatten().zip(more.iter().flatten()).for_each(|(a, b)| *a += factor * b);
}
