//! Linear algebra that is composed of several operations.

use crate::{
    entity::Value,
    ir::{ArrayOp, Int2, Kind, Op},
};

use super::{Builtin, Composed, StagedOperand, StagingBuilder, TypeMismatch};

impl StagingBuilder {
    fn linear(&mut self, op: ArrayOp, args: &[Value]) -> Value {
        self.b.on_arrays(op, args)
    }

    /// Appends a decomposition. Values and vectors of one matrix come from the same decomposition:
    /// so its derivatives know if both are used.
    fn decomposed(&mut self, op: ArrayOp, x: Value) -> Value {
        self.b.made(Op::OnArrays(op), &[x]).unwrap_or_else(|| self.linear(op, &[x]))
    }

    /// Computes the eigenvalues of the Hermitian part of a matrix, or its eigenvectors.
    pub(super) fn spectrum(
        &mut self,
        x: Value,
        is_of_vectors: bool,
    ) -> Result<StagedOperand, TypeMismatch> {
        let (zero, one) = (self.b.int(0), self.b.int(1));
        let both = self.decomposed(ArrayOp::Eigen, x);
        if is_of_vectors {
            let n = self.linear(ArrayOp::Dim, &[both, one]);
            return Ok(StagedOperand::Value(self.linear(ArrayOp::Slice, &[both, zero, one, n])));
        }
        let w = self.linear(ArrayOp::Slice, &[both, zero, zero, one]);
        let w = self.linear(ArrayOp::DropAxis, &[w, zero]);
        self.builtin(Builtin::Re, &[StagedOperand::Value(w)])
    }

    /// Computes `Q` or `R` with `A = Q R`, which have as many columns or rows as the shorter side
    /// of `A`. The columns of a wide matrix after the first square are `Q` times those of `R`.
    pub(super) fn orthogonal(&mut self, a: Value, is_of_columns: bool) -> Value {
        let (zero, one) = (self.b.int(0), self.b.int(1));
        let (m, n) = (self.linear(ArrayOp::Dim, &[a, zero]), self.linear(ArrayOp::Dim, &[a, one]));
        let k = self.b.inst(Op::Int2(Int2::Min), &[m, n], Kind::Int);
        let square = self.linear(ArrayOp::Slice, &[a, one, zero, k]);
        let both = self.linear(ArrayOp::Qr, &[square]);
        let q = self.linear(ArrayOp::Slice, &[both, zero, zero, m]);
        if is_of_columns {
            return q;
        }
        let r = self.linear(ArrayOp::Slice, &[both, zero, m, k]);
        let count = self.b.inst(Op::Int2(Int2::Sub), &[n, k], Kind::Int);
        let rest = self.linear(ArrayOp::Slice, &[a, one, k, count]);
        let rest = self.linear(ArrayOp::MatMulHn, &[q, rest]);
        self.linear(ArrayOp::Concat, &[r, rest, one])
    }

    /// Computes the singular values of a matrix, or the left or right singular vectors.
    pub(super) fn singular(
        &mut self,
        f: Composed,
        a: Value,
    ) -> Result<StagedOperand, TypeMismatch> {
        let (zero, one) = (self.b.int(0), self.b.int(1));
        let both = self.decomposed(ArrayOp::Svd, a);
        if f == Composed::SingularValues {
            let s = self.linear(ArrayOp::Slice, &[both, zero, zero, one]);
            let s = self.linear(ArrayOp::DropAxis, &[s, zero]);
            return self.builtin(Builtin::Re, &[StagedOperand::Value(s)]);
        }
        let m = self.linear(ArrayOp::Dim, &[a, zero]);
        if f == Composed::LeftVectors {
            return Ok(StagedOperand::Value(self.linear(ArrayOp::Slice, &[both, zero, one, m])));
        }
        let n = self.linear(ArrayOp::Dim, &[a, one]);
        let from = self.b.inst(Op::Int2(Int2::Add), &[m, one], Kind::Int);
        Ok(StagedOperand::Value(self.linear(ArrayOp::Slice, &[both, zero, from, n])))
    }
}
