//! Linear algebra that is made of several operations.

use crate::{
    entity::Value,
    ir::{ArrayOp, Element, Int2, Kind, Op},
};

use super::{Builtin, Composed, Given, Misfit, Stage};

impl Stage {
    fn linear(&mut self, op: ArrayOp, args: &[Value]) -> Value {
        self.b.on_arrays(op, args)
    }

    /// The eigenvalues of the Hermitian part of a matrix, or its eigenvectors.
    pub(super) fn spectrum(&mut self, x: Value, is_of_vectors: bool) -> Result<Given, Misfit> {
        let (zero, one) = (self.b.int(0), self.b.int(1));
        let both = self.linear(ArrayOp::Eigen, &[x]);
        if is_of_vectors {
            let n = self.linear(ArrayOp::Dim, &[both, one]);
            return Ok(Given::Value(self.linear(ArrayOp::Slice, &[both, zero, one, n])));
        }
        let w = self.linear(ArrayOp::Slice, &[both, zero, zero, one]);
        let w = self.linear(ArrayOp::DropAxis, &[w, zero]);
        self.builtin(Builtin::Re, &[Given::Value(w)])
    }

    /// `Q` and `R` with `A = Q R`.
    pub(super) fn orthogonal(&mut self, a: Value) -> (Value, Value) {
        let (zero, one) = (self.b.int(0), self.b.int(1));
        let both = self.linear(ArrayOp::Qr, &[a]);
        let (m, n) = (self.linear(ArrayOp::Dim, &[a, zero]), self.linear(ArrayOp::Dim, &[a, one]));
        let q = self.linear(ArrayOp::Slice, &[both, zero, zero, m]);
        (q, self.linear(ArrayOp::Slice, &[both, zero, m, n]))
    }

    /// `R^-1 Q^H b`, in the shape of the first rows of `b`.
    pub(super) fn least_squares(&mut self, a: Value, b: Value) -> Value {
        let (zero, one, rest) = (self.b.int(0), self.b.int(1), self.b.int(-1));
        let (q, r) = self.orthogonal(a);
        let (m, n) = (self.linear(ArrayOp::Dim, &[b, zero]), self.linear(ArrayOp::Dim, &[a, one]));
        let shape = self.b.inst(Op::Array, &[m, rest], Kind::Array(Element::Int));
        let columns = self.linear(ArrayOp::Reshape, &[b, shape]);
        let turned = self.linear(ArrayOp::MatMulHn, &[q, columns]);
        let x = self.linear(ArrayOp::Solve, &[r, turned]);
        let like = self.linear(ArrayOp::Slice, &[b, zero, zero, n]);
        self.linear(ArrayOp::Like, &[x, like])
    }

    /// The singular values of a matrix, or the left or right singular vectors.
    pub(super) fn singular(&mut self, f: Composed, a: Value) -> Result<Given, Misfit> {
        let (zero, one) = (self.b.int(0), self.b.int(1));
        let both = self.linear(ArrayOp::Svd, &[a]);
        if f == Composed::SingularValues {
            let s = self.linear(ArrayOp::Slice, &[both, zero, zero, one]);
            let s = self.linear(ArrayOp::DropAxis, &[s, zero]);
            return self.builtin(Builtin::Re, &[Given::Value(s)]);
        }
        let m = self.linear(ArrayOp::Dim, &[a, zero]);
        if f == Composed::LeftVectors {
            return Ok(Given::Value(self.linear(ArrayOp::Slice, &[both, zero, one, m])));
        }
        let n = self.linear(ArrayOp::Dim, &[a, one]);
        let from = self.b.inst(Op::Int2(Int2::Add), &[m, one], Kind::Int);
        Ok(Given::Value(self.linear(ArrayOp::Slice, &[both, zero, from, n])))
    }
}
