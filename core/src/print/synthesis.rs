//! Any unitary matrix as a circuit of `cx`, `ry`, `rz`, one-qubit gates and a global phase: the
//! quantum Shannon decomposition.
//!
//! ```text
//!  ┌───┐      ┌──┐┌──┐┌──┐            q2 is the top qubit of U; a box over a bar is
//! ─┤   ├─   ─┤RZ├┤RY├┤RZ├─            one rotation angle per value of the qubits below
//!  │ U │  =   └┬─┘└┬─┘└┬─┘
//! ─┤   ├─   ─[W]─[V]─[W']─[V']─
//! ```
//! 1. The cosine-sine decomposition splits U over its top qubit into two block-diagonal unitaries
//!    with a multiplexed RY between them.
//! 2. A block-diagonal unitary `U0 + U1` is `V (D + D^dagger) W` with `U0 U1^dagger = V D^2
//!    V^dagger`: two smaller unitaries with a multiplexed RZ between them.
//! 3. A multiplexed rotation over k qubits is 2^k rotations with a `cx` after each, in Gray code.
//!
//! The result equals the matrix with its phase. On k qubits it has less than `3/4 4^k` gates `cx` and
//! takes O(8^k) time.
//!
//! Source: Shende, Bullock and Markov, "Synthesis of quantum logic circuits" (2006), theorems 10, 12
//! and 8.

use num_complex::Complex;

use super::svd::{C, Columns, cosine_sine, dagger, diagonalize, multiply, polish};
use crate::{
    circuit::{Circuit, CircuitError},
    gate::{Gate, GateKind},
    matrix::Matrix,
    param::Angle,
};

/// Rotations by less are left out: of 10^4 of them the error stays below 1e-10.
const NEGLIGIBLE: f64 = 1e-14;

/// A gate of the result: kind, angles, control, target.
pub(super) type Step = (GateKind, Vec<f64>, Option<usize>, Option<usize>);

/// A circuit that equals a unitary matrix, phase included, on as many qubits as it has: gates `ug`,
/// `ry`, `rz`, `cx`, and `gphase` for a matrix on no qubits.
///
/// ```
/// use ketgrad_core::{matrix::Matrix, print::synthesize};
/// use num_complex::Complex;
///
/// let sign = Matrix::from_fn(2, |i, j| Complex::from(if i != j { 0.0 } else if i == 3 { -1.0 } else { 1.0 }));
/// let circuit = synthesize(&sign)?;
/// assert!(circuit.count_operations()["cx"] <= 6);
/// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
/// ```
///
/// The matrix is taken for the unitary nearest to it.
///
/// # Errors
/// [`CircuitError`] does not occur; it is the type of every method that appends gates.
pub fn synthesize(matrix: &Matrix<C>) -> Result<Circuit, CircuitError> {
    let dim = matrix.dim();
    let columns: Columns = (0..dim).map(|j| (0..dim).map(|i| matrix[(i, j)]).collect()).collect();
    let mut steps = Vec::new();
    unitary(&mut steps, &polish(&columns));
    circuit_of(matrix.n_qubits(), steps)
}

/// The steps as a circuit.
pub(super) fn circuit_of(
    n_qubits: usize,
    steps: impl IntoIterator<Item = Step>,
) -> Result<Circuit, CircuitError> {
    let mut out = Circuit::new(n_qubits);
    for (kind, angles, control, target) in steps {
        let gate = Gate::new(kind, angles.into_iter().map(Angle::rad))?;
        let controls: Vec<(usize, bool)> = control.into_iter().map(|q| (q, true)).collect();
        out.gate(gate, target.as_slice(), &controls)?;
    }
    Ok(out)
}

/// `(theta, phi, lambda, gamma)` of the gate UG that equals a 2x2 unitary.
pub(super) fn euler(m: [[C; 2]; 2]) -> [f64; 4] {
    let theta = 2.0 * m[1][0].norm().atan2(m[0][0].norm());
    // Each phase is read off an entry of length 0.7 or more where there is one.
    if m[0][0].norm() >= m[1][0].norm() {
        let gamma = m[0][0].arg();
        let sum = (m[1][1] * Complex::cis(-gamma)).arg();
        let phi = if m[1][0].norm() > 1e-15 { (m[1][0] * Complex::cis(-gamma)).arg() } else { 0.0 };
        [theta, phi, sum - phi, gamma]
    } else {
        // Entries e^{i(gamma + phi)} and -e^{i(gamma + lambda)}; without a diagonal, gamma is free.
        let gamma = if m[0][0].norm() > 1e-15 { m[0][0].arg() } else { m[1][0].arg() };
        let phi = (m[1][0] * Complex::cis(-gamma)).arg();
        let lambda = (-m[0][1] * Complex::cis(-gamma)).arg();
        [theta, phi, lambda, gamma]
    }
}

fn unitary(out: &mut Vec<Step>, u: &Columns) {
    match u.len() {
        0 => {}
        1 => out.push((GateKind::GPHASE, vec![u[0][0].arg()], None, None)),
        2 => {
            let angles = euler([[u[0][0], u[1][0]], [u[0][1], u[1][1]]]);
            if angles.iter().any(|a| a.abs() >= NEGLIGIBLE) {
                out.push((GateKind::UG, angles.to_vec(), None, Some(0)));
            }
        }
        _ => {
            let top = u.len().trailing_zeros() as usize - 1;
            let split = cosine_sine(u);
            multiplexed_unitary(out, &split.right, top);
            let angles: Vec<f64> = split.angles.iter().map(|a| 2.0 * a).collect();
            multiplexed_rotation(out, GateKind::RY, angles, top);
            multiplexed_unitary(out, &split.left, top);
        }
    }
}

/// `blocks[0]` where qubit `top` is 0, `blocks[1]` where it is 1.
fn multiplexed_unitary(out: &mut Vec<Step>, blocks: &[Columns; 2], top: usize) {
    let (v, squared) = diagonalize(&multiply(&blocks[0], &dagger(&blocks[1])));
    let mut w = multiply(&dagger(&v), &blocks[1]);
    for column in &mut w {
        column.iter_mut().zip(&squared).for_each(|(x, a)| *x *= Complex::cis(a / 2.0));
    }
    unitary(out, &w);
    // RZ(t) is e^{-i t/2} where the top qubit is 0.
    multiplexed_rotation(out, GateKind::RZ, squared.iter().map(|a| -a).collect(), top);
    unitary(out, &v);
}

/// A rotation of `target` by `angles[j]` where the qubits below it hold the number j.
///
/// Rotation i is turned round by each `cx` before it, so it counts `(-1)^{bits of j & gray(i)}` times:
/// its angle is that entry of the Walsh-Hadamard transform.
pub(super) fn multiplexed_rotation(out: &mut Vec<Step>, kind: GateKind, mut angles: Vec<f64>, target: usize) {
    let mut half = 1;
    while half < angles.len() {
        for pair in angles.chunks_exact_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (f64::midpoint(*a, *b), (*a - *b) / 2.0);
            }
        }
        half *= 2;
    }
    if angles.iter().all(|a| a.abs() < NEGLIGIBLE) {
        return;
    }
    let n = angles.len();
    // The controls of the `cx` since the last rotation: they commute, and two of one control are none.
    let mut controls = 0usize;
    for i in 0..n {
        let angle = angles[i ^ (i >> 1)];
        if angle.abs() >= NEGLIGIBLE {
            push_controls(out, &mut controls, target);
            out.push((kind, vec![angle], None, Some(target)));
        }
        if n > 1 {
            controls ^= 1 << if i + 1 == n { target - 1 } else { (i + 1).trailing_zeros() as usize };
        }
    }
    push_controls(out, &mut controls, target);
}

/// A `cx` for each bit, but for one that the last step undoes.
fn push_controls(out: &mut Vec<Step>, controls: &mut usize, target: usize) {
    while *controls != 0 {
        let cx = (GateKind::X, Vec::new(), Some(controls.trailing_zeros() as usize), Some(target));
        *controls &= *controls - 1;
        if out.last() == Some(&cx) {
            out.pop();
        } else {
            out.push(cx);
        }
    }
}
