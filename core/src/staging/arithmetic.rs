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

use super::{Given, Known, Misfit, Stage};

/// Hint for an operation on an int and a real number.
const REAL_OF_INT: &str = ": an int meets a real number through `real(n)`, and a whole number is real where it is written `1.0`";
/// Hint for `%` on real numbers.
const REM_OF_REALS: &str = ": the remainder of real numbers is `rem(a, b)`";
/// Infix operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
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

impl Operator {
    fn on_ints(self) -> Op {
        match self {
            Operator::Add => Op::Int2(Int2::Add),
            Operator::Sub => Op::Int2(Int2::Sub),
            Operator::Mul => Op::Int2(Int2::Mul),
            Operator::Div => Op::Int2(Int2::Div),
            Operator::Rem => Op::Int2(Int2::Rem),
            Operator::Compare(c) => Op::CompareInt(c),
        }
    }

    /// Returns the result for two literals, if that is a literal; `None` for an inexact quotient.
    pub(crate) fn on_literals(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Operator::Add => a.checked_add(b),
            Operator::Sub => a.checked_sub(b),
            Operator::Mul => a.checked_mul(b),
            Operator::Rem => a.checked_rem(b),
            Operator::Div if b != 0 && a.checked_rem(b) == Some(0) => a.checked_div(b),
            Operator::Div | Operator::Compare(_) => None,
        }
    }
}

impl Stage {
    /// Appends `a op b`.
    ///
    /// # Errors
    /// If the operator is not defined for these kinds.
    pub fn binary(&mut self, op: Operator, a: Given, b: Given) -> Result<Given, Misfit> {
        if let (Given::Literal(a), Given::Literal(b)) = (a, b)
            && let Some(n) = op.on_literals(a, b)
        {
            return Ok(Given::Literal(n));
        }
        let comparison = matches!(op, Operator::Compare(_));
        if let Operator::Compare(c) = op
            && [a, b].iter().any(|g| self.is_array(*g))
        {
            return Ok(Given::Value(self.compared(c, a, b)?));
        }
        let int = self.is(a, &Kind::Int) || self.is(b, &Kind::Int);
        let literals = self.is_literal(a) && self.is_literal(b);
        // The quotient of two literals is a real number if it is not exact; that of a computed
        // literal is one of ints.
        let computed = literals && ![a, b].iter().all(|g| matches!(g, Given::Literal(_)));
        if int || op == Operator::Rem || literals && comparison || computed {
            let hint = if int { REAL_OF_INT } else { REM_OF_REALS };
            let a = self.fit_int(a, hint)?;
            let b = self.fit_int(b, hint).map_err(|e| e.of(1))?;
            let kind = if comparison { Kind::Bool } else { Kind::Int };
            let value = self.b.inst(op.on_ints(), &[a, b], kind);
            let open = computed && !comparison && op != Operator::Div;
            return Ok(if open {
                self.computed(value, Known::Literal(None))
            } else {
                Given::Value(value)
            });
        }
        let number = match op {
            Operator::Add => Number2::Add,
            Operator::Sub => Number2::Sub,
            Operator::Mul => Number2::Mul,
            Operator::Div | Operator::Rem => Number2::Div,
            Operator::Compare(c) => {
                let args = self.fit_all(&[a, b], &[Kind::Real, Kind::Real])?;
                return Ok(Given::Value(self.b.inst(Op::Compare(c), &args, Kind::Bool)));
            }
        };
        let args = self.numbers(&[a, b])?;
        Ok(Given::Value(match number {
            Number2::Mul => self.product(args[0], args[1]),
            _ => self.b.number2(number, args[0], args[1]),
        }))
    }

    /// Returns 1 where a comparison holds and 0 where it does not, for the elements of arrays of
    /// reals or of ints, or for those and one number; for NaN it is NaN.
    fn compared(&mut self, c: Compare, a: Given, b: Given) -> Result<Value, Misfit> {
        let is_int = |g: &Given| self.is(*g, &Kind::Array(Element::Int)) || self.is(*g, &Kind::Int);
        let is_open = |g: &Given| self.is_literal(*g) || self.known(*g) == Known::Literals;
        // Ints are compared as such: not all of them are floats.
        let [x, y] = if [a, b].iter().any(is_int) || [a, b].iter().all(is_open) {
            let order =
                self.mixed(Mixed::Cmp, &[a, b]).map_err(|e| Misfit { hint: REAL_OF_INT, ..e })?;
            [order, self.b.real(0.0)]
        } else {
            [
                self.fit_element(a, &Kind::Real)?,
                self.fit_element(b, &Kind::Real).map_err(|e| e.of(1))?,
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
    fn fit_int(&mut self, given: Given, hint: &'static str) -> Result<Value, Misfit> {
        self.fit(given, &Kind::Int).map_err(|e| match e.given.as_str() {
            "real" => Misfit { hint, ..e },
            _ => e,
        })
    }

    /// Appends `-a`.
    ///
    /// # Errors
    /// If the operand is not a number.
    pub fn negative(&mut self, a: Given) -> Result<Given, Misfit> {
        if let Given::Literal(n) = a
            && let Some(n) = n.checked_neg()
        {
            return Ok(Given::Literal(n));
        }
        if let Given::Open(open) = a
            && let Some(negative) = self.negative_literals(open)
        {
            return Ok(negative);
        }
        let known = self.known(a);
        let v = match known {
            Known::Literals => self.fit(a, &Kind::Array(Element::Real))?,
            _ => self.value(a)?,
        };
        Ok(Given::Value(match self.b.kind(v) {
            Kind::Int => {
                let negative = self.b.inst(Op::Int1(Int1::Neg), &[v], Kind::Int);
                return Ok(self.computed(negative, known));
            }
            Kind::Real | Kind::Complex | Kind::Array(Element::Real | Element::Complex) => {
                self.b.number1(Number1::Neg, v)
            }
            other => return Err(Misfit::new(other, "a number")),
        }))
    }

    /// Appends `!a`.
    ///
    /// # Errors
    /// If the operand is not a truth value.
    pub fn not(&mut self, a: Given) -> Result<Given, Misfit> {
        let a = self.fit(a, &Kind::Bool)?;
        Ok(Given::Value(self.b.mixed(Mixed::Not, &[a])))
    }
}
