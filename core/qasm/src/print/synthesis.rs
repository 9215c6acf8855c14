//! Any unitary matrix as a circuit of `cx`, `cz`, rotations, one-qubit gates and a global phase:
//! the quantum Shannon decomposition.
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
//!    Of the RY between two block-diagonal unitaries these are `cz`, the last of which is diagonal
//!    and goes into the second one.
//! 4. Unitaries of two qubits are written in the fewest `cx` ([`pair`](super::pair)). All that is
//!    between them is diagonal on their qubits: so all but the last are written up to a diagonal,
//!    in two, which goes into the next.
//!
//! The result equals the matrix with its phase. On n >= 2 qubits it has at most
//! `23/48 4^n - 3/2 2^n + 4/3` gates on two qubits and takes O(8^n) time.
//!
//! Source: Shende, Bullock and Markov, "Synthesis of quantum logic circuits" (2006), theorems 10,
//! 12, 8 and 14, and its appendix.

use num_complex::Complex;

use super::{
    pair::{KakDecomposition, without_diagonal},
    svd::{SvdColumns, SvdComplex, cosine_sine, dagger, diagonalize, multiply, polish},
};
use crate::{
    circuit::{Circuit, CircuitError},
    gate::{Gate, GateKind},
    matrix::{
        Matrix,
        small::{M2, M4},
    },
    param::Angle,
};

/// Angle below which rotations are left out: of 10^4 of them the error stays below 1e-10.
const NEGLIGIBLE: f64 = 1e-14;

/// A gate of the result: kind, angles, control, target.
pub(super) type SynthesisGate = (GateKind, Vec<f64>, Option<usize>, Option<usize>);

/// Piece of a decomposition.
enum SynthesisPiece {
    Steps(Vec<SynthesisGate>),
    /// A unitary of qubits 0 and 1.
    Pair(Box<M4>),
}

/// Returns a circuit that equals a unitary matrix, phase included, on the same number of qubits:
/// gates `ug`, `rx`, `ry`, `rz`, `cx`, `cz`, and `gphase` for a matrix on no qubits. On two qubits
/// it has as few `cx` as any circuit: 3, 2, 1 or none.
///
/// ```
/// use ketgrad_core::{matrix::Matrix, print::synthesize};
/// use num_complex::Complex;
///
/// let sign = Matrix::from_fn(2, |i, j| Complex::from(if i != j { 0.0 } else if i == 3 { -1.0 } else { 1.0 }));
/// let circuit = synthesize(&sign)?;
/// assert_eq!(circuit.count_operations()["cx"], 1);
/// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
/// ```
///
/// The matrix is taken for the unitary nearest to it.
///
/// # Errors
/// [`CircuitError`] does not occur; it is the type of every method that appends gates.
pub fn synthesize(matrix: &Matrix<SvdComplex>) -> Result<Circuit, CircuitError> {
    let dim = matrix.dim();
    let columns: SvdColumns =
        (0..dim).map(|j| (0..dim).map(|i| matrix[(i, j)]).collect()).collect();
    let mut pieces = Vec::new();
    unitary(&mut pieces, &polish(&columns));
    circuit_of(matrix.n_qubits(), joined(pieces))
}

/// The gates of all pieces.
fn joined(pieces: Vec<SynthesisPiece>) -> Vec<SynthesisGate> {
    let mut steps = Vec::new();
    // Diagonal that a unitary of two qubits left to be absorbed by the next.
    let mut left: Option<[SvdComplex; 4]> = None;
    for (at, piece) in pieces.iter().enumerate() {
        let matrix = match piece {
            SynthesisPiece::Steps(own) => {
                steps.extend_from_slice(own);
                continue;
            }
            SynthesisPiece::Pair(matrix) => {
                after_diagonal(&left.take().unwrap_or([SvdComplex::new(1.0, 0.0); 4]), matrix)
            }
        };
        let Some(pair) = KakDecomposition::new(&matrix) else {
            steps.extend(by_shannon(&matrix));
            continue;
        };
        let mut later = pieces[at + 1..].iter().filter_map(|piece| match piece {
            SynthesisPiece::Pair(matrix) => Some(matrix),
            SynthesisPiece::Steps(_) => None,
        });
        if pair.n_cx() == 3
            && let Some(next) = later.next()
            && let Some((rest, diagonal)) = without_diagonal(&matrix)
        {
            let n_cx = |matrix: &M4| KakDecomposition::new(matrix).map_or(3, |pair| pair.n_cx());
            let most = if later.next().is_some() { 2 } else { 3 };
            // Unless the diagonal costs more there than it saves here.
            if 3 + n_cx(next) >= 2 + n_cx(&after_diagonal(&diagonal, next)).min(most) {
                rest.steps(&mut steps);
                left = Some(diagonal);
                continue;
            }
        }
        pair.steps(&mut steps);
    }
    steps
}

/// A diagonal and then a matrix.
fn after_diagonal(diagonal: &[SvdComplex; 4], matrix: &M4) -> M4 {
    std::array::from_fn(|at| matrix[at] * diagonal[at % 4])
}

/// Returns the steps as a circuit.
pub(super) fn circuit_of(
    n_qubits: usize,
    steps: impl IntoIterator<Item = SynthesisGate>,
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
pub(super) fn euler(m: [[SvdComplex; 2]; 2]) -> [f64; 4] {
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

/// A gate on one qubit.
pub(super) fn single(out: &mut Vec<SynthesisGate>, u: &M2, qubit: usize) {
    let angles = euler([[u[0], u[1]], [u[2], u[3]]]);
    if angles.iter().any(|a| a.abs() >= NEGLIGIBLE) {
        out.push((GateKind::UG, angles.to_vec(), None, Some(qubit)));
    }
}

/// Returns the steps at the end of some pieces.
fn last_steps(pieces: &mut Vec<SynthesisPiece>) -> &mut Vec<SynthesisGate> {
    if !matches!(pieces.last(), Some(SynthesisPiece::Steps(_))) {
        pieces.push(SynthesisPiece::Steps(Vec::new()));
    }
    match pieces.last_mut() {
        Some(SynthesisPiece::Steps(steps)) => steps,
        _ => unreachable!("it has just been added"),
    }
}

fn unitary(out: &mut Vec<SynthesisPiece>, u: &SvdColumns) {
    match u.len() {
        0 => {}
        1 => last_steps(out).push((GateKind::GPHASE, vec![u[0][0].arg()], None, None)),
        2 => single(last_steps(out), &[u[0][0], u[1][0], u[0][1], u[1][1]], 0),
        4 => {
            let u = polish(u);
            out.push(SynthesisPiece::Pair(Box::new(std::array::from_fn(|at| u[at % 4][at / 4]))));
        }
        _ => shannon(out, u),
    }
}

/// Synthesizes a unitary of two qubits whose canonical form is lost in rounding errors.
fn by_shannon(matrix: &M4) -> Vec<SynthesisGate> {
    let columns = (0..4).map(|j| (0..4).map(|i| matrix[4 * i + j]).collect()).collect();
    let mut pieces = Vec::new();
    shannon(&mut pieces, &columns);
    joined(pieces)
}

fn shannon(out: &mut Vec<SynthesisPiece>, u: &SvdColumns) {
    let top = u.len().trailing_zeros() as usize - 1;
    let mut split = cosine_sine(u);
    multiplexed_unitary(out, &split.right, top);
    let angles: Vec<f64> = split.angles.iter().map(|a| 2.0 * a).collect();
    let signs = rotations(last_steps(out), GateKind::RY, GateKind::Z, angles, top);
    // The last gates CZ, where the top qubit is 1.
    for (j, column) in split.left[1].iter_mut().enumerate() {
        if (j & signs).count_ones() % 2 == 1 {
            column.iter_mut().for_each(|x| *x = -*x);
        }
    }
    multiplexed_unitary(out, &split.left, top);
}

/// Adds a multiplexed unitary: `blocks[0]` where qubit `top` is 0, `blocks[1]` where it is 1.
fn multiplexed_unitary(out: &mut Vec<SynthesisPiece>, blocks: &[SvdColumns; 2], top: usize) {
    let (v, squared) = diagonalize(&multiply(&blocks[0], &dagger(&blocks[1])));
    let mut w = multiply(&dagger(&v), &blocks[1]);
    for column in &mut w {
        column.iter_mut().zip(&squared).for_each(|(x, a)| *x *= Complex::cis(a / 2.0));
    }
    unitary(out, &w);
    // RZ(t) is e^{-i t/2} where the top qubit is 0.
    multiplexed_rotation(last_steps(out), GateKind::RZ, squared.iter().map(|a| -a).collect(), top);
    unitary(out, &v);
}

/// Adds a multiplexed rotation of `target` by `angles[j]` where the qubits below it hold the number
/// j.
///
/// The sign of rotation i is flipped by each `cx` before it, so it counts
/// `(-1)^{bits of j & gray(i)}` times: its angle is that entry of the Walsh-Hadamard transform.
pub(super) fn multiplexed_rotation(
    out: &mut Vec<SynthesisGate>,
    kind: GateKind,
    angles: Vec<f64>,
    target: usize,
) {
    let mut controls = rotations(out, kind, GateKind::X, angles, target);
    push_controls(out, GateKind::X, &mut controls, target);
}

/// Returns the rotations of a multiplexed one, between controlled gates of this kind that reverse
/// their sign; the controls of the remaining ones are last.
fn rotations(
    out: &mut Vec<SynthesisGate>,
    kind: GateKind,
    between: GateKind,
    mut angles: Vec<f64>,
    target: usize,
) -> usize {
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
        return 0;
    }
    let n = angles.len();
    // Controls of the gates since the last rotation: they commute, and two of one control cancel.
    let mut controls = 0usize;
    for i in 0..n {
        let angle = angles[i ^ (i >> 1)];
        if angle.abs() >= NEGLIGIBLE {
            push_controls(out, between, &mut controls, target);
            out.push((kind, vec![angle], None, Some(target)));
        }
        if n > 1 {
            controls ^=
                1 << if i + 1 == n { target - 1 } else { (i + 1).trailing_zeros() as usize };
        }
    }
    controls
}

/// Adds a controlled gate for each bit, except for one that the last step undoes.
fn push_controls(
    out: &mut Vec<SynthesisGate>,
    kind: GateKind,
    controls: &mut usize,
    target: usize,
) {
    while *controls != 0 {
        let cx = (kind, Vec::new(), Some(controls.trailing_zeros() as usize), Some(target));
        *controls &= *controls - 1;
        if out.last() == Some(&cx) {
            out.pop();
        } else {
            out.push(cx);
        }
    }
}
