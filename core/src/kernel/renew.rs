//! Other numbers in an operator, in its memory: what a gradient that is wanted often does for every angle.

use super::{Operator, Shape};
use crate::{
    basis::BasisError,
    matrix::Matrix,
    scalar::{Conj, Ring},
};

impl<R: Ring> Operator<R> {
    /// The operator of another matrix on the same targets under the same controls, as [`Operator::new`]. Nothing is
    /// allocated where its shape stays a phase, a full diagonal or dense.
    ///
    /// # Errors
    /// As [`Operator::new`].
    ///
    /// # Panics
    /// As [`Operator::new`].
    pub fn renew(
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

    /// Takes the numbers of a matrix, if it has the shape that the operator has.
    fn takes(&mut self, matrix: &Matrix<R>, targets: &[usize], controls: &[(usize, bool)]) -> bool {
        let dim = matrix.dim();
        let mut diagonal = true;
        for column in 0..dim {
            let rows = (0..dim).filter(|&row| !matrix[(row, column)].is_exact_zero());
            let (mut count, mut own) = (0, false);
            rows.for_each(|row| (count, own) = (count + 1, own || row == column));
            if count > 1 {
                let Shape::Dense { matrix: entries, .. } = &mut self.shape else { return false };
                if entries.len() != dim * dim {
                    return false;
                }
                entries.clone_from_slice(matrix.entries());
                return true;
            }
            diagonal &= own;
        }
        let full = self.fixed.count_ones() as usize == targets.len() + controls.len();
        if !diagonal || !full {
            return false;
        }
        let one = |j: usize| matrix[(j, j)].is_exact_one();
        match &mut self.shape {
            Shape::Diagonal(factors) if factors.len() == dim => {
                let same = (1..dim).all(|j| (matrix[(j, j)].clone() - &matrix[(0, 0)]).is_exact_zero());
                if same || (0..dim).any(one) {
                    return false;
                }
                factors.iter_mut().enumerate().for_each(|(j, f)| f.1 = matrix[(j, j)].clone());
                true
            }
            Shape::Phase(factor) => {
                let mut others = (0..dim).filter(|&j| !one(j));
                let (Some(j), None) = (others.next(), others.next()) else { return false };
                let at = targets.iter().enumerate().fold(0, |at, (bit, q)| at | (j >> bit & 1) << q);
                let value = controls.iter().filter(|c| c.1).fold(at, |v, c| v | 1 << c.0);
                if value != self.value {
                    return false;
                }
                *factor = matrix[(j, j)].clone();
                true
            }
            _ => false,
        }
    }
}

impl<R: Conj> Operator<R> {
    /// Writes [`Operator::dagger`] over another operator: that of the same gate with other numbers, whose memory serves
    /// where the shape is the same.
    pub fn dagger_into(&self, out: &mut Operator<R>) {
        match (&self.shape, &mut out.shape) {
            (Shape::Phase(from), Shape::Phase(to)) => *to = from.conj(),
            (Shape::Diagonal(from), Shape::Diagonal(to)) if from.len() == to.len() => {
                to.iter_mut().zip(from).for_each(|(to, (offset, f))| *to = (*offset, f.conj()));
            }
            (Shape::Dense { matrix, offsets }, Shape::Dense { matrix: to, offsets: own })
                if offsets == own =>
            {
                let dim = offsets.len();
                to.iter_mut().enumerate().for_each(|(i, z)| *z = matrix[i % dim * dim + i / dim].conj());
            }
            _ => out.shape = self.dagger().shape,
        }
        (out.fixed, out.value, out.n_qubits) = (self.fixed, self.value, self.n_qubits);
    }
}
