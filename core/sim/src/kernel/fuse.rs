//! Gate fusion over any ring: neighbouring operators on one qubit become their product, which is
//! exact where the ring is.

use super::{Operator, OperatorShape};
use crate::{basis::BasisError, matrix::Matrix, scalar::Ring};

impl<R: Ring> Operator<R> {
    /// Returns the only bit that it acts on, and its matrix there.
    fn on_one_qubit(&self) -> Option<(usize, [[R; 2]; 2])> {
        if self.fixed.count_ones() != 1 {
            return None;
        }
        let row = |offset: usize| usize::from((self.value | offset) & self.fixed != 0);
        let (zero, one) = (R::zero, R::one);
        let mut matrix = [[one(), zero()], [zero(), one()]];
        match &self.shape {
            OperatorShape::Identity => {}
            OperatorShape::Phase(factor) => matrix[row(0)][row(0)] = factor.clone(),
            OperatorShape::Diagonal(factors) => {
                factors.iter().for_each(|(offset, factor)| {
                    matrix[row(*offset)][row(*offset)] = factor.clone()
                });
            }
            OperatorShape::Swap(..) => matrix = [[zero(), one()], [one(), zero()]],
            OperatorShape::Cycles(cycles) => {
                for cycle in cycles {
                    cycle.iter().for_each(|(from, _)| matrix[row(*from)][row(*from)] = zero());
                    for (k, (from, factor)) in cycle.iter().enumerate() {
                        matrix[row(cycle[(k + 1) % cycle.len()].0)][row(*from)] = factor.clone();
                    }
                }
            }
            OperatorShape::Dense { matrix: entries, offsets } => {
                for (k, entry) in entries.iter().enumerate() {
                    matrix[row(offsets[k / 2])][row(offsets[k % 2])] = entry.clone();
                }
            }
            OperatorShape::Parity { .. } | OperatorShape::PauliString { .. } => return None,
        }
        Some((self.fixed, matrix))
    }
}

/// Fuses the operators on one qubit that no other operator on it separates; the product stays the
/// same. O(operators).
///
/// # Errors
/// None that operators which exist could have.
#[doc(hidden)]
pub fn fused<R: Ring>(operators: &[Operator<R>]) -> Result<Vec<Operator<R>>, BasisError> {
    let mut out = Vec::with_capacity(operators.len());
    let mut waiting: Vec<Option<[[R; 2]; 2]>> = Vec::new();
    let put = |out: &mut Vec<_>, qubit: usize, matrix: Option<[[R; 2]; 2]>| {
        if let Some(matrix) = matrix {
            out.push(Operator::new(&Matrix::from_array(matrix), &[qubit], &[])?);
        }
        Ok::<(), BasisError>(())
    };
    for operator in operators {
        if waiting.len() < operator.n_qubits {
            waiting.resize(operator.n_qubits, None);
        }
        if let Some((bit, matrix)) = operator.on_one_qubit() {
            let place = &mut waiting[bit.trailing_zeros() as usize];
            *place = Some(match place.take() {
                Some(before) => product(&matrix, &before),
                None => matrix,
            });
            continue;
        }
        for (qubit, matrix) in waiting.iter_mut().enumerate() {
            if operator.fixed >> qubit & 1 == 1 {
                put(&mut out, qubit, matrix.take())?;
            }
        }
        out.push(operator.clone());
    }
    for (qubit, matrix) in waiting.into_iter().enumerate() {
        put(&mut out, qubit, matrix)?;
    }
    Ok(out)
}

fn product<R: Ring>(a: &[[R; 2]; 2], b: &[[R; 2]; 2]) -> [[R; 2]; 2] {
    let entry = |i: usize, j: usize| R::dot2(&a[i][0], &b[0][j], &a[i][1], &b[1][j]);
    [[entry(0, 0), entry(0, 1)], [entry(1, 0), entry(1, 1)]]
}
