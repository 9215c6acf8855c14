//! In-place update of an operator's parameters, which a repeated gradient does for every angle.

use super::{Operator, OperatorShape};
use crate::{
    basis::BasisError,
    matrix::Matrix,
    scalar::{Conj, Ring},
};

impl<R: Ring> Operator<R> {
    /// Replaces the matrix by another one on the same targets under the same controls, as
    /// [`Operator::new`] does. Nothing is allocated where it was dense, a full diagonal or a phase,
    /// and is that or simpler; it keeps its shape then, and so its cost.
    ///
    /// # Errors
    /// Those of [`Operator::new`].
    ///
    /// # Panics
    /// Those of [`Operator::new`].
    pub fn update_parameters(
        &mut self,
        matrix: &Matrix<R>,
        targets: &[usize],
        controls: &[(usize, bool)],
    ) -> Result<(), BasisError> {
        if !self.takes(matrix, targets, controls) {
            *self = Operator::new(matrix, targets, controls)?;
        }
        Ok(())
    }

    /// Takes the numbers of a matrix, if the shape of the operator has room for them.
    fn takes(&mut self, matrix: &Matrix<R>, targets: &[usize], controls: &[(usize, bool)]) -> bool {
        let dim = matrix.dim();
        if let OperatorShape::Dense { matrix: entries, .. } = &mut self.shape {
            if entries.len() != dim * dim {
                return false;
            }
            entries.clone_from_slice(matrix.entries());
            return true;
        }
        let full = self.fixed.count_ones() as usize == targets.len() + controls.len();
        let zero = |k: usize| k / dim == k % dim || matrix.entries()[k].is_exact_zero();
        if !full || !(0..dim * dim).all(zero) {
            return false;
        }
        match &mut self.shape {
            OperatorShape::Diagonal(factors) if factors.len() == dim => {
                factors.iter_mut().enumerate().for_each(|(j, f)| f.1 = matrix[(j, j)].clone());
                true
            }
            OperatorShape::Phase(factor) => {
                let set = |bit: usize| usize::from(self.value >> targets[bit] & 1 == 1) << bit;
                let at = (0..targets.len()).fold(0, |at, bit| at | set(bit));
                if (0..dim).any(|j| j != at && !matrix[(j, j)].is_exact_one()) {
                    return false;
                }
                *factor = matrix[(at, at)].clone();
                true
            }
            _ => false,
        }
    }
}

impl<R: Conj> Operator<R> {
    /// Writes [`Operator::dagger`] over another operator: that of the same gate with other numbers,
    /// whose memory serves where the shape is the same.
    pub fn dagger_into(&self, out: &mut Operator<R>) {
        match (&self.shape, &mut out.shape) {
            (OperatorShape::Phase(from), OperatorShape::Phase(to)) => *to = from.conj(),
            (OperatorShape::Diagonal(from), OperatorShape::Diagonal(to))
                if from.len() == to.len() =>
            {
                to.iter_mut().zip(from).for_each(|(to, (offset, f))| *to = (*offset, f.conj()));
            }
            (
                OperatorShape::Parity { z, factors },
                OperatorShape::Parity { z: to_z, factors: to },
            ) => {
                (*to_z, *to) = (*z, factors.each_ref().map(R::conj));
            }
            (
                OperatorShape::Dense { matrix, offsets },
                OperatorShape::Dense { matrix: to, offsets: own },
            ) if offsets == own => {
                let dim = offsets.len();
                to.iter_mut()
                    .enumerate()
                    .for_each(|(i, z)| *z = matrix[i % dim * dim + i / dim].conj());
            }
            _ => out.shape = self.dagger().shape,
        }
        (out.fixed, out.value, out.n_qubits) = (self.fixed, self.value, self.n_qubits);
    }
}
