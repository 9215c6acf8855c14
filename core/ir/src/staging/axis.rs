//! Statistics and products along an axis.

use crate::{
    entity::Value,
    ir::{ArrayOp, Int2, Kind, Mixed, Number1, Number2, Op},
};

use super::{Builtin, InfixOperator, StagedOperand, StagingBuilder, TypeMismatch};

impl StagingBuilder {
    /// Computes the variance of numbers or its root, of all or along an axis, which is removed. The
    /// root is a length, whose derivative at 0 is 0.
    pub(super) fn spread_of(
        &mut self,
        x: Value,
        axis: Option<Value>,
        root: bool,
    ) -> Result<StagedOperand, TypeMismatch> {
        let (sum, n) = match axis {
            Some(axis) => (
                StagedOperand::Value(self.b.on_arrays(ArrayOp::SumKeep, &[x, axis])),
                self.b.on_arrays(ArrayOp::Dim, &[x, axis]),
            ),
            None => (
                self.builtin(Builtin::Sum, &[StagedOperand::Value(x)])?,
                self.b.inst(Op::Len, &[x], Kind::Int),
            ),
        };
        let n = self.b.mixed(Mixed::FromInt, &[n]);
        let mean = self.binary(InfixOperator::Div, sum, StagedOperand::Value(n))?;
        let distances = self.binary(InfixOperator::Sub, StagedOperand::Value(x), mean)?;
        let mut distances = self.value(distances)?;
        if root {
            // A single number has no distance from its mean, whatever it is: no derivative flows,
            // not even to the kink at 0.
            let one = self.b.real(1.0);
            let mut others = self.b.number2(Number2::Sub, n, one);
            if self.is_complex(StagedOperand::Value(distances)) {
                others = self.b.mixed(Mixed::Promote, &[others]);
            }
            distances = self.b.number2(Number2::Guard, distances, others);
        }
        let (y, n) = match (root, axis) {
            (true, None) => {
                (self.b.on_arrays(ArrayOp::Norm, &[distances]), self.b.number1(Number1::Sqrt, n))
            }
            (true, Some(axis)) => {
                (self.lengths(distances, axis)?, self.b.number1(Number1::Sqrt, n))
            }
            (false, _) => {
                let squares = self.builtin(Builtin::Abs2, &[StagedOperand::Value(distances)])?;
                let sum = match axis {
                    Some(axis) => {
                        let squares = self.value(squares)?;
                        self.b.on_arrays(ArrayOp::SumKeep, &[squares, axis])
                    }
                    None => {
                        let sum = self.builtin(Builtin::Sum, &[squares])?;
                        self.value(sum)?
                    }
                };
                (sum, n)
            }
        };
        let y = match axis {
            Some(axis) => self.b.on_arrays(ArrayOp::DropAxis, &[y, axis]),
            None => y,
        };
        self.binary(InfixOperator::Div, StagedOperand::Value(y), StagedOperand::Value(n))
    }

    /// Computes the norms of lines along an axis, whose length becomes 1.
    pub(super) fn lengths(&mut self, x: Value, axis: Value) -> Result<Value, TypeMismatch> {
        let sizes = match self.is_complex(StagedOperand::Value(x)) {
            true => self.builtin(Builtin::Abs, &[StagedOperand::Value(x)])?,
            false => StagedOperand::Value(x),
        };
        let sizes = self.value(sizes)?;
        Ok(self.b.on_arrays(ArrayOp::NormKeep, &[sizes, axis]))
    }

    /// Computes the products up to each element along an axis, or those of all, without the axis:
    /// `y_1 = 1, y_(k+1) = x_k y_k`, which never divides by an element.
    pub(super) fn products_along(&mut self, x: Value, axis: Value, cumulative: bool) -> Value {
        let kind = self.b.kind(x).clone();
        let (zero, one) = (self.b.number(0.0, &kind), self.b.number(1.0, &kind));
        let line = self.b.on_arrays(ArrayOp::SumKeep, &[x, axis]);
        let [zeros, ones] = [zero, one].map(|c| self.b.on_arrays(ArrayOp::BroadcastTo, &[c, line]));
        let rest = self.b.on_arrays(ArrayOp::BroadcastTo, &[zero, x]);
        let factors = self.b.on_arrays(ArrayOp::Concat, &[zeros, x, axis]);
        let terms = self.b.on_arrays(ArrayOp::Concat, &[ones, rest, axis]);
        let all = self.b.on_arrays(ArrayOp::LinearRecurrence, &[factors, terms, axis]);
        let n = self.b.on_arrays(ArrayOp::Dim, &[x, axis]);
        let (unit, two) = (self.b.int(1), self.b.int(2));
        if cumulative {
            return self.b.on_arrays(ArrayOp::Slice, &[all, axis, two, n]);
        }
        let last = self.b.inst(Op::Int2(Int2::Add), &[n, unit], Kind::Int);
        let last = self.b.on_arrays(ArrayOp::Slice, &[all, axis, last, unit]);
        self.b.on_arrays(ArrayOp::DropAxis, &[last, axis])
    }
}
