//! Circuits to begin with: those with parameters to look for ground states with, evolution in time,
//! and the transform that reads its phases.
//!
//! | circuit | is | for |
//! |---|---|---|
//! | [`hardware_efficient`] | layers of RY, RZ and CX | anything on a few qubits |
//! | [`qaoa`] | alternating evolutions by a cut and by X | optimization on graphs |
//! | [`exponentials`] | products of `exp(-i theta/2 G)` for sums G of Pauli strings that commute | symmetries kept by the choice of G |
//! | [`uccsd`] | the same for the single and double excitations of electrons; [`uccsd_from`] under any map to qubits | molecules |
//! | [`evolution`] | `exp(-i H t)` by product formulas of any order | dynamics, phase estimation |
//! | [`qft`] | the Fourier transform | arithmetic, periods |
//! | [`phase_estimation`] | controlled powers of a circuit and the inverse of `qft` | eigenvalues |
//!
//! ```
//! use ketgrad_core::{ansatz, hybrid::Expectation, problem};
//!
//! // One electron of each spin in two orbitals: two singles and a double.
//! let circuit = ansatz::uccsd(4, 2)?;
//! assert_eq!(circuit.inputs().collect::<Vec<_>>(), ["theta[0]", "theta[1]", "theta[2]"]);
//! // At zero it is the Hartree-Fock state.
//! let energy: f64 = Expectation::new(circuit, [problem::h2()])?.value(&[0.0; 3])?;
//! assert!((energy + 1.116_684_387).abs() < 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod evolution;
mod fermions;
mod fourier;

pub use evolution::evolution;
pub use fermions::{excitations, excitations_from, uccsd, uccsd_from};
pub use fourier::{phase_estimation, qft};

use crate::{
    circuit::{Circuit, CircuitError},
    observable::PauliSum,
    param::{Angle, ParamExpr, Step},
    problem::Graph,
};

/// RY and RZ on every qubit, then `layers` times a chain of CX and the rotations again.
///
/// The inputs are `theta[0]` to `theta[2 n (layers + 1) - 1]`: for each layer of rotations and each
/// qubit the angle of RY, then that of RZ.
///
/// # Errors
/// [`CircuitError`] for more qubits than a circuit can have, or more gates than memory holds.
pub fn hardware_efficient(n_qubits: usize, layers: usize) -> Result<Circuit, CircuitError> {
    let layer = n_qubits.checked_mul(2);
    let angles =
        layer.zip(layers.checked_add(1)).and_then(|(layer, layers)| layer.checked_mul(layers));
    let angles = Circuit::room_for(angles)?;
    let mut circuit = Circuit::new(n_qubits);
    let theta = circuit.param_list("theta", angles);
    for (layer, angles) in theta.chunks(2 * n_qubits.max(1)).enumerate() {
        if layer > 0 {
            for q in 1..n_qubits {
                circuit.cx(q - 1, q)?;
            }
        }
        for (q, pair) in angles.chunks(2).enumerate() {
            circuit.ry(q, &pair[0])?.rz(q, &pair[1])?;
        }
    }
    Ok(circuit)
}

/// Returns the circuit of the quantum approximate optimization algorithm for the cuts of a graph:
/// |+…+>, then for each layer `exp(-i gamma C)` with `C = sum w (1 - Z_a Z_b) / 2`, and
/// `exp(-i beta X)` on every vertex.
///
/// The inputs are `gamma[0]`, …, then `beta[0]`, …. For one layer and weights 1 the values have a
/// closed form (Z. Wang, S. Hadfield, Z. Jiang, E. Rieffel, Phys. Rev. A 97, 022304 (2018),
/// equation 14). Source: E. Farhi, J. Goldstone, S. Gutmann (2014), arXiv:1411.4028.
///
/// # Errors
/// [`CircuitError`] for more vertices than a circuit can have qubits, or more gates than memory
/// holds.
pub fn qaoa(graph: &Graph, layers: usize) -> Result<Circuit, CircuitError> {
    let n_qubits = graph.n_vertices();
    // Each layer has two inputs, too, whatever the graph is.
    Circuit::room_for(layers.checked_mul(2 + n_qubits + graph.edges().len()))?;
    let mut circuit = Circuit::new(n_qubits);
    let (gamma, beta) = (circuit.param_list("gamma", layers), circuit.param_list("beta", layers));
    circuit.h(..)?;
    for (gamma, beta) in gamma.iter().zip(&beta) {
        for &(a, b, weight) in graph.edges() {
            // exp(-i gamma w (1 - Z Z) / 2) is RZZ(-gamma w) up to a phase.
            let angle = scaled(&mut circuit, gamma, -weight);
            circuit.rzz(a, b, angle)?;
        }
        circuit.rx(.., beta * 2)?;
    }
    Ok(circuit)
}

/// X on the qubits that begin in 1, then `exp(-i theta[k]/2 G_k)` for each generator in turn.
///
/// A generator is a sum of strings; where these commute, as in [`excitations`], the exponential is
/// exact, otherwise it is the product over the strings in their order. Each string is one
/// instruction ([`Circuit::pauli_rotation`]); [`Circuit::decomposed`] makes gates of them.
///
/// # Errors
/// [`CircuitError`] for a qubit that is not there.
pub fn exponentials(
    n_qubits: usize,
    ones: &[usize],
    generators: &[PauliSum],
) -> Result<Circuit, CircuitError> {
    let mut circuit = Circuit::new(n_qubits);
    for &q in ones {
        circuit.x(q)?;
    }
    let theta = circuit.param_list("theta", generators.len());
    for (generator, theta) in generators.iter().zip(&theta) {
        for (coefficient, string) in generator.terms() {
            let angle = scaled(&mut circuit, theta, *coefficient);
            circuit.pauli_rotation(string, angle)?;
        }
    }
    Ok(circuit)
}

/// Multiplies an angle by any number. Of parameters an angle holds fractions, so that a factor that
/// is none makes a computed parameter of them.
fn scaled(circuit: &mut Circuit, angle: &Angle, factor: f64) -> Angle {
    const SCALE: f64 = (1 << 20) as f64;
    if angle.is_constant() || ((factor * SCALE).fract() == 0.0 && factor.abs() < SCALE) {
        return angle * factor;
    }
    let product = ParamExpr::from(Angle::rad(factor)).binary(Step::Mul, angle.clone().into());
    circuit.expression(product)
}
