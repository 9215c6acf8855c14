//! Linear algebra that is made of several operations.

use crate::{
    entity::Value,
    ir::{ArrayOp, Element, Int2, Kind, Mixed, Number2, Op, Real2},
};

use super::{Builtin, Given, Misfit, Stage};

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

    /// The singular values: the negatives of the least eigenvalues of `[[0, A], [A^H, 0]]`, which come in pairs of both signs.
    pub(super) fn singular_values(&mut self, a: Value) -> Result<Given, Misfit> {
        let (zero, one) = (self.b.int(0), self.b.int(1));
        let (m, n) = (self.linear(ArrayOp::Dim, &[a, zero]), self.linear(ArrayOp::Dim, &[a, one]));
        let kind = self.b.kind(a).clone();
        let blank = self.b.number(0.0, &kind);
        let mut zeros = |n: Value| {
            let shape = self.b.inst(Op::Array, &[n, n], Kind::Array(Element::Int));
            let count = self.b.on_arrays(ArrayOp::Count, &[shape]);
            let flat = self.b.inst(Op::Fill, &[blank, count], kind.clone());
            self.b.on_arrays(ArrayOp::Reshape, &[flat, shape])
        };
        let (top, corner) = (zeros(m), zeros(n));
        let conjugate = match kind {
            Kind::Array(Element::Complex) => self.b.mixed(Mixed::Conj, &[a]),
            _ => a,
        };
        let adjoint = self.linear(ArrayOp::Transpose, &[conjugate]);
        let above = self.linear(ArrayOp::Concat, &[top, a, one]);
        let below = self.linear(ArrayOp::Concat, &[adjoint, corner, one]);
        let whole = self.linear(ArrayOp::Concat, &[above, below, zero]);
        let w = self.spectrum(whole, false)?;
        let w = self.value(w)?;
        let count = self.b.inst(Op::Int2(Int2::Min), &[m, n], Kind::Int);
        let w = self.linear(ArrayOp::Slice, &[w, zero, zero, count]);
        let reals = Kind::Array(Element::Real);
        let nothing = self.b.real(0.0);
        let sizes = self.b.number2(Number2::Sub, nothing, w);
        // Rounding takes a zero to either side.
        Ok(Given::Value(self.b.inst(Op::Real2(Real2::Max), &[sizes, nothing], reals)))
    }
}
