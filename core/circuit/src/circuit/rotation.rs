//! Rotations about Pauli strings, `exp(-i angle/2 P)`.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, param::Angle};
//!
//! let mut c = Circuit::new(4);
//! c.pauli_rotation(&"X0 Y2 Z3".parse()?, Angle::pi(1, 8))?;
//! assert_eq!(c.to_string(), "pauli_rotation(pi/8) X q[0], Y q[2], Z q[3]\n");
//! // In gates of the table.
//! assert_eq!(c.decomposed().count_operations()["rz"], 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The string is on any number of qubits: an instruction costs one pass over the state, and is not
//! expanded to a matrix or to gates. The convention is that of the gates RX to RZZ, which are such
//! rotations about one and two letters.

use smallvec::SmallVec;

use super::{Circuit, CircuitError, Operation, Qubits};
use crate::{
    matrix::Matrix,
    observable::{Pauli, PauliString},
    param::{Angle, BindError, Binding, Q},
    pauli::PauliMasks,
    scalar::Ring,
};

/// `exp(-i angle/2 P)`, P the product of one Pauli operator on each target; without targets
/// `exp(-i angle/2)`.
#[derive(Clone, Debug, PartialEq)]
pub struct PauliRotation {
    letters: SmallVec<[Pauli; 16]>,
    angle: [Angle; 1],
}

impl PauliRotation {
    /// A rotation by an angle about a string with these letters, in the order of the targets.
    pub fn new(letters: impl IntoIterator<Item = Pauli>, angle: impl Into<Angle>) -> PauliRotation {
        PauliRotation { letters: letters.into_iter().collect(), angle: [angle.into()] }
    }

    /// The Pauli operator on each target.
    #[must_use]
    pub fn letters(&self) -> &[Pauli] {
        &self.letters
    }

    /// The angle.
    #[must_use]
    pub fn angle(&self) -> &Angle {
        &self.angle[0]
    }

    #[doc(hidden)]
    pub fn params(&self) -> &[Angle] {
        &self.angle
    }

    pub(super) fn map_params(&self, f: impl FnMut(&Angle) -> Angle) -> PauliRotation {
        PauliRotation { letters: self.letters.clone(), angle: self.angle.each_ref().map(f) }
    }

    /// Returns the inverse: the rotation by the opposite angle.
    #[must_use]
    pub fn dagger(&self) -> PauliRotation {
        self.map_params(|angle| -angle.clone())
    }

    /// The string, letter j on the qubit `targets[j]`, in symplectic form. Qubits that no state can
    /// have ([`MAX_QUBITS`](crate::basis::MAX_QUBITS)) are left out.
    #[must_use]
    pub fn masks(&self, targets: &[u32]) -> PauliMasks {
        targets.iter().zip(&self.letters).map(|(&q, &letter)| (q as usize, letter)).collect()
    }

    /// Returns the factors of amplitudes, over any ring, as
    /// `Operator::string` takes them:
    /// `[cos t/2, -i^{1 + y} sin t/2]` with y letters Y, or for a string without X and Y
    /// `[e^{-it/2}, e^{it/2}]`.
    ///
    /// # Errors
    /// [`BindError`] if a parameter has no value or the ring no such number.
    pub fn numbers<R: Ring>(&self, binding: &impl Binding<R>) -> Result<[R; 2], BindError> {
        let half = self.angle().clone() * Q::new_raw(1, 2);
        if self.letters.iter().all(|&letter| letter == Pauli::Z) {
            return Ok([binding.cis(&-half.clone())?, binding.cis(&half)?]);
        }
        let (cos, i_sin) = binding.cos_i_sin(&half)?;
        let go = match self.letters.iter().filter(|&&letter| letter == Pauli::Y).count() % 4 {
            0 => -i_sin,
            1 => -i_sin * &binding.i()?,
            2 => i_sin,
            _ => i_sin * &binding.i()?,
        };
        Ok([cos, go])
    }

    /// The matrix over any ring, bit j of a row number belonging to letter j: 4^k entries, for
    /// strings on few qubits.
    ///
    /// # Errors
    /// Those of [`PauliRotation::numbers`].
    pub fn matrix<R: Ring>(&self, binding: &impl Binding<R>) -> Result<Matrix<R>, BindError> {
        let targets: Qubits = (0..).take(self.letters.len()).collect();
        let PauliMasks { x, z } = self.masks(&targets);
        let [a, b] = self.numbers(binding)?;
        let odd = crate::basis::odd;
        Ok(Matrix::from_fn(self.letters.len(), |row, column| match row ^ column {
            0 if x == 0 && odd(row & z) => b.clone(),
            0 => a.clone(),
            apart if apart != x => R::zero(),
            _ if odd(column & z) => -b.clone(),
            _ => b.clone(),
        }))
    }
}

impl Circuit {
    /// Appends `exp(-i angle/2 P)` for a Pauli string P: see [`PauliRotation`]. The identity is a
    /// phase of the state.
    ///
    /// # Errors
    /// [`CircuitError`] for a qubit or a parameter that the circuit does not have.
    pub fn pauli_rotation(
        &mut self,
        string: &PauliString,
        angle: impl Into<Angle>,
    ) -> Result<&mut Circuit, CircuitError> {
        let factors = string.factors();
        let targets: SmallVec<[usize; 8]> = factors.iter().map(|f| f.0).collect();
        let rotation = PauliRotation::new(factors.iter().map(|f| f.1), angle);
        self.operation(Operation::PauliRotation(Box::new(rotation)), &targets, &[])
    }
}
