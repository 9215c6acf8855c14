//! Operators on values of any kinds for which they are defined.
//!
//! Two literals stay a literal as long as the result is exact: `2 * 3` is 6 and may still become a
//! real number; `1 / 2` is the real number 0.5. An int variable and a real number cannot be
//! combined: `real(n)` converts. Between arrays, and an array and a number, an operator works
//! element by element.

use crate::{
    entity::Value,
    ir::{ArrayOp, Compare, Element, Int1, Int2, Kind, Mixed, Number1, Number2, Op},
};

use super::{InferredKind, StagedOperand, StagingBuilder, TypeMismatch};

/// Hint for an operation on an int and a real number.
const REAL_OF_INT: &str = ": an int meets a real number through `real(n)`, and a whole number is real where it is written `1.0`";
/// Hint for `%` on real numbers.
const REM_OF_REALS: &str = ": the remainder of real numbers is `rem(a, b)`";
/// Infix operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InfixOperator {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`; on ints rounded towards 0.
    Div,
    /// `%`, on ints.
    Rem,
    /// A comparison such as `<`, of reals and ints; with an array, 1 and 0 element by element.
    Compare(Compare),
}

impl InfixOperator {
    fn on_ints(self) -> Op {
        match self {
            InfixOperator::Add => Op::Int2(Int2::Add),
            InfixOperator::Sub => Op::Int2(Int2::Sub),
            InfixOperator::Mul => Op::Int2(Int2::Mul),
            InfixOperator::Div => Op::Int2(Int2::Div),
            InfixOperator::Rem => Op::Int2(Int2::Rem),
            InfixOperator::Compare(c) => Op::CompareInt(c),
        }
    }

    /// Returns the result for two literals, if that is a literal; `None` for an inexact quotient.
    fn on_literals(self, a: i64, b: i64) -> Option<i64> {
        match self {
            InfixOperator::Add => a.checked_add(b),
            InfixOperator::Sub => a.checked_sub(b),
            InfixOperator::Mul => a.checked_mul(b),
            InfixOperator::Rem => a.checked_rem(b),
            InfixOperator::Div if b != 0 && a.checked_rem(b) == Some(0) => a.checked_div(b),
            InfixOperator::Div | InfixOperator::Compare(_) => None,
        }
    }
}

impl StagingBuilder {
    /// Appends `a op b`.
    ///
    /// # Errors
    /// If the operator is not defined for these kinds.
    pub fn binary(
        &mut self,
        op: InfixOperator,
        a: StagedOperand,
        b: StagedOperand,
    ) -> Result<StagedOperand, TypeMismatch> {
        if let (StagedOperand::Literal(a), StagedOperand::Literal(b)) = (a, b)
            && let Some(n) = op.on_literals(a, b)
        {
            return Ok(StagedOperand::Literal(n));
        }
        let comparison = matches!(op, InfixOperator::Compare(_));
        if let InfixOperator::Compare(c) = op
            && [a, b].iter().any(|g| self.is_array(*g))
        {
            return Ok(StagedOperand::Value(self.compared(c, a, b)?));
        }
        let int = self.has_kind(a, &Kind::Int) || self.has_kind(b, &Kind::Int);
        let literals = self.is_literal(a) && self.is_literal(b);
        // The quotient of two literals is a real number if it is not exact; that of a computed
        // literal is one of ints.
        let computed = literals && ![a, b].iter().all(|g| matches!(g, StagedOperand::Literal(_)));
        if int || op == InfixOperator::Rem || literals && comparison || computed {
            let hint = if int { REAL_OF_INT } else { REM_OF_REALS };
            let a = self.fit_int(a, hint)?;
            let b = self.fit_int(b, hint).map_err(|e| e.at_operand(1))?;
            let kind = if comparison { Kind::Bool } else { Kind::Int };
            let value = self.b.inst(op.on_ints(), &[a, b], kind);
            let open = computed && !comparison && op != InfixOperator::Div;
            return Ok(if open {
                self.computed(value, InferredKind::Literal(None))
            } else {
                StagedOperand::Value(value)
            });
        }
        let number = match op {
            InfixOperator::Add => Number2::Add,
            InfixOperator::Sub => Number2::Sub,
            InfixOperator::Mul => Number2::Mul,
            InfixOperator::Div | InfixOperator::Rem => Number2::Div,
            InfixOperator::Compare(c) => {
                let args = self.fit_all(&[a, b], &[Kind::Real, Kind::Real])?;
                return Ok(StagedOperand::Value(self.b.inst(Op::Compare(c), &args, Kind::Bool)));
            }
        };
        let args = self.numbers(&[a, b])?;
        Ok(StagedOperand::Value(match number {
            Number2::Mul => self.product(args[0], args[1]),
            _ => self.b.number2(number, args[0], args[1]),
        }))
    }

    /// Returns 1 where a comparison holds and 0 where it does not, for the elements of arrays of
    /// reals or of ints, or for those and one number; for NaN it is NaN.
    fn compared(
        &mut self,
        c: Compare,
        a: StagedOperand,
        b: StagedOperand,
    ) -> Result<Value, TypeMismatch> {
        let is_int = |g: &StagedOperand| {
            self.has_kind(*g, &Kind::Array(Element::Int)) || self.has_kind(*g, &Kind::Int)
        };
        let is_open = |g: &StagedOperand| self.is_literal(*g) || self.is_literal_array(*g);
        // Ints are compared as such: not all of them are floats.
        let [x, y] = if [a, b].iter().any(is_int) || [a, b].iter().all(is_open) {
            let order = self
                .mixed(Mixed::Cmp, &[a, b])
                .map_err(|e| TypeMismatch { hint: REAL_OF_INT, ..e })?;
            [order, self.b.real(0.0)]
        } else {
            [
                self.fit_element(a, &Kind::Real)?,
                self.fit_element(b, &Kind::Real).map_err(|e| e.at_operand(1))?,
            ]
        };
        let mut at_least = |x: Value, y: Value| self.b.on_arrays(ArrayOp::Step, &[x, y]);
        let (mask, is_opposite) = match c {
            Compare::Ge => (at_least(x, y), false),
            Compare::Le => (at_least(y, x), false),
            Compare::Lt => (at_least(x, y), true),
            Compare::Gt => (at_least(y, x), true),
            Compare::Eq | Compare::Ne => {
                let both = [at_least(x, y), at_least(y, x)];
                (self.b.number2(Number2::Mul, both[0], both[1]), c == Compare::Ne)
            }
        };
        if !is_opposite {
            return Ok(mask);
        }
        let one = self.b.real(1.0);
        Ok(self.b.number2(Number2::Sub, one, mask))
    }

    /// Converts to an int; a real number is an error with the hint.
    fn fit_int(&mut self, given: StagedOperand, hint: &'static str) -> Result<Value, TypeMismatch> {
        self.fit(given, &Kind::Int).map_err(|e| match e.given.as_str() {
            "real" => TypeMismatch { hint, ..e },
            _ => e,
        })
    }

    /// Appends `-a`.
    ///
    /// # Errors
    /// If the operand is not a number.
    pub fn negative(&mut self, a: StagedOperand) -> Result<StagedOperand, TypeMismatch> {
        if let StagedOperand::Literal(n) = a
            && let Some(n) = n.checked_neg()
        {
            return Ok(StagedOperand::Literal(n));
        }
        if let StagedOperand::Untyped(open) = a
            && let Some(negative) = self.negative_literals(open)
        {
            return Ok(negative);
        }
        let known = self.known(a);
        let v = match known {
            InferredKind::Literals(_) => self.fit(a, &Kind::Array(Element::Real))?,
            _ => self.value(a)?,
        };
        Ok(StagedOperand::Value(match self.b.kind(v) {
            Kind::Int => {
                let negative = self.b.inst(Op::Int1(Int1::Neg), &[v], Kind::Int);
                return Ok(self.computed(negative, known));
            }
            Kind::Real | Kind::Complex | Kind::Array(Element::Real | Element::Complex) => {
                self.b.number1(Number1::Neg, v)
            }
            other => return Err(TypeMismatch::new(other, "a number")),
        }))
    }

    /// Appends `!a`.
    ///
    /// # Errors
    /// If the operand is not a truth value.
    pub fn not(&mut self, a: StagedOperand) -> Result<StagedOperand, TypeMismatch> {
        let a = self.fit(a, &Kind::Bool)?;
        Ok(StagedOperand::Value(self.b.mixed(Mixed::Not, &[a])))
    }
}
