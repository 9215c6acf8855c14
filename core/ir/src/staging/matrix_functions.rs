//! Functions of Hermitian matrices, written as products: `V diag(g(w)) V^H` of eigenvalues and
//! eigenvectors.
//!
//! If eigenvalues are equal the vectors are any basis of an eigenspace, and the derivative of the
//! product there is that of `g`, which neither values nor vectors determine. So a product of this
//! form is marked as one ([`ArrayOp::Spectral`]), together with `g'`.

use std::collections::HashMap;

use crate::{
    entity::Value,
    ir::{ArrayOp, Element, Kind, Mixed, Number2, Op},
    rules::{Reach, pushforward},
};

use super::StagingBuilder;

/// Maximum number of operations of `g` that are analyzed.
const SIZE: usize = 256;

/// Derivatives of arrays by the eigenvalues, element by element; `None` for arrays that do not
/// depend on them.
type EigenDerivatives = HashMap<Value, Option<Value>>;

impl StagingBuilder {
    /// Appends a product of two matrices, marked if it is a function of a Hermitian one.
    pub(super) fn marked(&mut self, op: ArrayOp, args: &[Value], product: Value) -> Value {
        self.function_of_matrix(op, args, product).unwrap_or(product)
    }

    fn function_of_matrix(&mut self, op: ArrayOp, args: &[Value], product: Value) -> Option<Value> {
        let &[first, second] = args else { return None };
        let of_second = match op {
            ArrayOp::MatMulNh => self.vectors(second)?,
            ArrayOp::MatMul => self.adjoint_vectors(second)?,
            _ => return None,
        };
        let (v, d) = match self.b.maker(first)? {
            (Op::Number2(Number2::Mul), &[v, d]) if self.vectors(v).is_some() => (v, d),
            (Op::Number2(Number2::Mul), &[d, v]) => (v, d),
            (Op::OnArrays(ArrayOp::MatMul), &[v, d]) => match self.b.maker(d)? {
                (Op::OnArrays(ArrayOp::DiagonalMatrix), &[d]) => (v, d),
                _ => return None,
            },
            _ => return None,
        };
        let both = self.vectors(v).filter(|both| *both == of_second)?;
        let mut slopes = EigenDerivatives::new();
        let slope = self.slope(d, both, &mut slopes)??;
        let (_, &[a]) = self.b.maker(both)? else { return None };
        let is_complex = *self.b.kind(product) == Kind::Array(Element::Complex);
        let parts = [a, both, d, slope].map(|x| match self.b.kind(x) {
            Kind::Array(Element::Real) if is_complex => self.b.mixed(Mixed::Promote, &[x]),
            _ => x,
        });
        let [a, both, d, slope] = parts;
        Some(self.b.on_arrays(ArrayOp::Spectral, &[product, a, both, d, slope]))
    }

    /// Returns the decomposition whose eigenvectors these are.
    fn vectors(&self, v: Value) -> Option<Value> {
        let (v, _) = self.under(v, |op| op == Op::Mixed(Mixed::Promote));
        self.of_eigen(v, 1)
    }

    /// Returns the decomposition whose eigenvectors these are as rows, conjugated.
    fn adjoint_vectors(&self, v: Value) -> Option<Value> {
        let outer = |op| {
            matches!(op, Op::Mixed(Mixed::Promote | Mixed::Conj) | Op::OnArrays(ArrayOp::Transpose))
        };
        let (vectors, ops) = self.under(v, outer);
        let both = self.of_eigen(vectors, 1)?;
        let count = |op: Op| ops.iter().filter(|x| **x == op).count() % 2 == 1;
        let is_real = *self.b.kind(vectors) == Kind::Array(Element::Real);
        let is_adjoint =
            count(Op::OnArrays(ArrayOp::Transpose)) && (is_real || count(Op::Mixed(Mixed::Conj)));
        is_adjoint.then_some(both)
    }

    /// Returns the decomposition whose eigenvalues these are.
    fn values(&self, w: Value) -> Option<Value> {
        let outer = |op| {
            matches!(op, Op::Mixed(Mixed::Promote | Mixed::Re) | Op::OnArrays(ArrayOp::DropAxis))
        };
        let (w, ops) = self.under(w, outer);
        let count = ops.iter().filter(|op| matches!(op, Op::OnArrays(_))).count();
        if count == 1 { self.of_eigen(w, 0) } else { None }
    }

    /// Strips some operations from a value, and returns the operand and the operations.
    fn under(&self, mut v: Value, outer: impl Fn(Op) -> bool) -> (Value, Vec<Op>) {
        let mut ops = Vec::new();
        while let Some((op, args)) = self.b.maker(v)
            && outer(op)
        {
            ops.push(op);
            v = args[0];
        }
        (v, ops)
    }

    /// Returns the result of `eigen` of which this is the first row, or the rows below it.
    fn of_eigen(&self, v: Value, start: i64) -> Option<Value> {
        let (Op::OnArrays(ArrayOp::Slice), &[both, axis, from, len]) = self.b.maker(v)? else {
            return None;
        };
        let is = |v: Value, n: i64| self.b.op_of(v) == Some(Op::Int(n));
        let is_eigen = self.b.op_of(both) == Some(Op::OnArrays(ArrayOp::Eigen));
        // All elements of the vectors: those of some of the rows are another matrix.
        let is_whole = match start {
            0 => is(len, 1),
            _ => {
                matches!(self.b.maker(len), Some((Op::OnArrays(ArrayOp::Dim), &[of, k])) if of == both && is(k, 1))
            }
        };
        (is_eigen && is(axis, 0) && is(from, start) && is_whole).then_some(both)
    }

    /// Returns the derivative of an array that is computed from eigenvalues element by element.
    /// `None` if it is computed otherwise.
    fn slope(
        &mut self,
        v: Value,
        both: Value,
        slopes: &mut EigenDerivatives,
    ) -> Option<Option<Value>> {
        if let Some(known) = slopes.get(&v) {
            return Some(*known);
        }
        let kind = self.b.kind(v).clone();
        let slope = if !matches!(kind, Kind::Array(_)) {
            None
        } else if self.values(v) == Some(both) {
            let one = self.b.number(1.0, &kind);
            Some(self.b.on_arrays(ArrayOp::BroadcastTo, &[one, v]))
        } else {
            let (op, args) = self.b.maker(v)?;
            if !op.is_elementwise() || slopes.len() >= SIZE {
                return None;
            }
            let args = args.to_vec();
            let mut dots = Vec::with_capacity(args.len());
            for &arg in &args {
                dots.push(self.slope(arg, both, slopes)?);
            }
            if dots.iter().all(Option::is_none) {
                return None;
            }
            let reach = vec![Reach::Always; args.len()];
            let dot = pushforward(&mut self.b, op, &args, v, &dots, &reach)?;
            Some(dot.unwrap_or_else(|| {
                let zero = self.b.number(0.0, &kind);
                self.b.on_arrays(ArrayOp::BroadcastTo, &[zero, v])
            }))
        };
        slopes.insert(v, slope);
        Some(slope)
    }
}
