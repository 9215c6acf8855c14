//! Derivative of a gate's action on a state by one of its angles.

use num_complex::Complex;

use super::harmonics::harmonics;
use crate::{
    basis::{odd, scatter_bits},
    circuit::{Circuit, CircuitError, Control, Instruction, Operation},
    gate::Gate,
    kernel::{Threads, tree_sum},
    matrix::Matrix,
    param::{Q, Values},
    pauli::{PauliMasks, PauliPhase},
    scalar::{Conj, Real, Ring, Scalar},
    state::StateVector,
};

/// `(dG/da) G^dagger` by an angle of a gate G, without its controls: the operator between lambda
/// and psi after the gate.
pub(super) enum GateDerivative<T> {
    /// A matrix on the targets.
    Matrix(Matrix<Complex<T>>),
    /// `-i/2 P`.
    PauliString(PauliMasks),
}

impl<T: Real> GateDerivative<T> {
    /// Returns the derivative of a gate by one of its angles; `None` for an instruction that is no
    /// gate.
    ///
    /// # Errors
    /// [`CircuitError`] if an angle has no number.
    pub(super) fn new(
        circuit: &Circuit,
        instruction: &Instruction,
        angle: usize,
        values: &[T],
    ) -> Result<Option<GateDerivative<T>>, CircuitError> {
        Ok(match &instruction.operation {
            Operation::Gate(gate) => {
                Some(GateDerivative::Matrix(generator(circuit, gate, angle, values)?))
            }
            Operation::PauliRotation(rotation) => {
                Some(GateDerivative::PauliString(rotation.masks(&instruction.targets)))
            }
            _ => None,
        })
    }

    /// Returns `<lambda| S |psi>`, where the slope S acts on the targets where the controls hold,
    /// and is zero elsewhere.
    pub(super) fn between(
        &self,
        instruction: &Instruction,
        lambda: &StateVector<Complex<T>>,
        psi: &StateVector<Complex<T>>,
        threads: &Threads,
    ) -> Complex<T> {
        let Instruction { targets, controls, .. } = instruction;
        match self {
            GateDerivative::Matrix(matrix) => {
                through(matrix, targets, controls, lambda, psi, threads)
            }
            &GateDerivative::PauliString(string @ PauliMasks { x, z }) => {
                let (fixed, value) = held(controls);
                let (a, b) = (lambda.amplitudes(), psi.amplitudes());
                let block = |range: std::ops::Range<usize>| {
                    let mut sum = Complex::from_real(T::zero());
                    for j in crate::kernel::places(range, psi.n_qubits(), fixed, value) {
                        let a = a[j ^ x].conj();
                        sum.mul_add_assign(&if odd(j & z) { -a } else { a }, &b[j]);
                    }
                    sum
                };
                let sum = tree_sum(a.len() >> fixed.count_ones(), threads, block, |x, y| x + y);
                let half = T::from_ratio(Q::new(1, 2));
                let halved = Complex::new(half.clone() * &sum.re, half * &sum.im);
                (PauliPhase::MINUS_I * string.y_phase()).times(halved)
            }
        }
    }
}

/// Returns the qubits of controls, and those of them that must be 1.
fn held(controls: &[Control]) -> (usize, usize) {
    let fixed = controls.iter().fold(0usize, |mask, c| mask | 1 << c.qubit);
    (fixed, controls.iter().filter(|c| c.value).fold(0usize, |mask, c| mask | 1 << c.qubit))
}

/// Returns `<lambda| M |psi>`, where M acts on the targets where the controls hold, and is zero
/// elsewhere. O(2^(n - controls)) for each entry in a row of M that is not zero.
pub(super) fn through<R: Conj>(
    matrix: &Matrix<R>,
    targets: &[u32],
    controls: &[Control],
    lambda: &StateVector<R>,
    psi: &StateVector<R>,
    threads: &Threads,
) -> R {
    let (a, b) = (lambda.amplitudes(), psi.amplitudes());
    let (mut fixed, value) = held(controls);
    targets.iter().for_each(|q| fixed |= 1 << q);
    let offset = |j: usize| scatter_bits(j, targets.iter().map(|&q| q as usize));
    let n = a.len() >> fixed.count_ones();
    let mut total = R::zero();
    for (k, entry) in matrix.entries().iter().enumerate().filter(|e| !e.1.is_exact_zero()) {
        let (row, column) = (offset(k / matrix.dim()), offset(k % matrix.dim()));
        let block = |range: std::ops::Range<usize>| {
            let mut sum = R::zero();
            for base in crate::kernel::places(range, psi.n_qubits(), fixed, value) {
                sum.mul_add_assign(&a[base | row].conj(), &b[base | column]);
            }
            sum
        };
        total += tree_sum(n, threads, block, |x, y| x + y) * entry;
    }
    total
}

/// Returns true if the generator of an instruction by an angle is the same at each value of the
/// angle.
pub(super) fn is_fixed(instruction: &Instruction) -> bool {
    match &instruction.operation {
        Operation::Gate(gate) => gate.kind().generator().is_some(),
        operation => matches!(operation, Operation::PauliRotation(_)),
    }
}

fn generator<T: Real>(
    circuit: &Circuit,
    gate: &Gate,
    angle: usize,
    values: &[T],
) -> Result<Matrix<Complex<T>>, CircuitError> {
    let named = |e| circuit.bind_error(e);
    let binding = Values(values);
    let parts = harmonics::<Complex<T>>(gate, angle, &binding).map_err(named)?;
    let dagger = gate.dagger().matrix::<Complex<T>>(&binding).map_err(named)?;
    let k = gate.kind().n_qubits();
    let slope = Matrix::from_fn(k, |i, j| {
        parts.iter().fold(Complex::from_real(T::zero()), |sum, (q, part)| {
            let q = T::from_ratio(*q);
            let c = &part[(i, j)];
            // i q c
            sum + Complex::new(-(q.clone() * &c.im), q * &c.re)
        })
    });
    Ok(Matrix::from_fn(k, |i, j| {
        (0..1 << k)
            .fold(Complex::from_real(T::zero()), |sum, m| sum + &slope[(i, m)] * &dagger[(m, j)])
    }))
}
