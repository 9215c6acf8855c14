//! General parameter expressions in postfix order, with evaluation and printing, nothing more.
//!
//! `sin(theta) * phi` is `[Angle(theta), Call(Sin), Angle(phi), Mul]`. Derivatives and
//! simplification belong to the programs that such an expression is lowered to.

use std::convert::Infallible;

use super::{Angle, BindError, ParamId, Values};
use crate::{
    notation::{Infix, Precedence, atom, parenthesized},
    scalar::Real,
};

/// Elementary functions of OpenQASM's expressions that are smooth in their argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ElementaryFunction {
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Exp,
    Ln,
    Sqrt,
}

impl ElementaryFunction {
    /// All of them.
    pub const ALL: [ElementaryFunction; 9] = [
        ElementaryFunction::Sin,
        ElementaryFunction::Cos,
        ElementaryFunction::Tan,
        ElementaryFunction::Asin,
        ElementaryFunction::Acos,
        ElementaryFunction::Atan,
        ElementaryFunction::Exp,
        ElementaryFunction::Ln,
        ElementaryFunction::Sqrt,
    ];

    /// The value at an angle that is a multiple of a quarter turn, where it is a whole number.
    #[doc(hidden)]
    pub fn at_quarter_turns(self, angle: &Angle) -> Option<i64> {
        let quarter =
            angle.eighth_turns().filter(|k| k % 2 == 0 && angle.rounding_bound() == 0.0)? / 2;
        match self {
            ElementaryFunction::Sin => [0, 1, 0, -1].get(usize::from(quarter)).copied(),
            ElementaryFunction::Cos => [1, 0, -1, 0].get(usize::from(quarter)).copied(),
            ElementaryFunction::Tan if quarter % 2 == 0 => Some(0),
            _ => None,
        }
    }

    /// The name in OpenQASM 3.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ElementaryFunction::Sin => "sin",
            ElementaryFunction::Cos => "cos",
            ElementaryFunction::Tan => "tan",
            ElementaryFunction::Asin => "arcsin",
            ElementaryFunction::Acos => "arccos",
            ElementaryFunction::Atan => "arctan",
            ElementaryFunction::Exp => "exp",
            ElementaryFunction::Ln => "log",
            ElementaryFunction::Sqrt => "sqrt",
        }
    }

    /// The value at `x`.
    #[must_use]
    pub fn apply<T: Real>(self, x: &T) -> T {
        match self {
            ElementaryFunction::Sin => x.sin(),
            ElementaryFunction::Cos => x.cos(),
            ElementaryFunction::Tan => x.tan(),
            ElementaryFunction::Asin => x.asin(),
            ElementaryFunction::Acos => x.acos(),
            ElementaryFunction::Atan => x.atan(),
            ElementaryFunction::Exp => x.exp(),
            ElementaryFunction::Ln => x.ln(),
            ElementaryFunction::Sqrt => x.sqrt(),
        }
    }
}

/// Step of an expression in postfix order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Pushes the value of an angle (which may be a plain number or a parameter).
    Angle(Angle),
    /// Negates the top.
    Neg,
    /// Replaces the two topmost `x`, `y` by `x + y`.
    Add,
    /// Replaces the two topmost `x`, `y` by `x - y`.
    Sub,
    /// Replaces the two topmost `x`, `y` by `x * y`.
    Mul,
    /// Replaces the two topmost `x`, `y` by `x / y`.
    Div,
    /// Replaces the two topmost `x`, `y` by `x ** y`.
    Pow,
    /// Applies a function to the top.
    Call(ElementaryFunction),
}

/// An expression over parameters, in postfix order. Only well-formed tables can be made.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamExpr {
    steps: Vec<Step>,
}

impl From<Angle> for ParamExpr {
    fn from(angle: Angle) -> ParamExpr {
        ParamExpr { steps: vec![Step::Angle(angle)] }
    }
}

impl ParamExpr {
    /// `-x`.
    #[must_use]
    pub fn negate(mut self) -> ParamExpr {
        self.steps.push(Step::Neg);
        self
    }

    /// A function of `self`.
    #[must_use]
    pub fn call(mut self, function: ElementaryFunction) -> ParamExpr {
        self.steps.push(Step::Call(function));
        self
    }

    /// `self op right`, where `op` is one of the five steps that take two operands; any other step
    /// leaves `self` as it is.
    #[must_use]
    pub fn binary(mut self, op: Step, right: ParamExpr) -> ParamExpr {
        if matches!(op, Step::Add | Step::Sub | Step::Mul | Step::Div | Step::Pow) {
            self.steps.extend(right.steps);
            self.steps.push(op);
        }
        self
    }

    /// The steps in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The angles that occur: numbers, parameters, and sums of them.
    pub fn angles(&self) -> impl Iterator<Item = &Angle> {
        self.steps.iter().filter_map(|step| match step {
            Step::Angle(angle) => Some(angle),
            _ => None,
        })
    }

    /// The parameters that occur, with repetitions.
    pub fn params(&self) -> impl Iterator<Item = ParamId> + '_ {
        self.angles().flat_map(|angle| angle.terms().iter().map(|t| t.0))
    }

    /// Replaces each angle that occurs.
    #[must_use]
    pub fn map_angles(&self, mut map: impl FnMut(&Angle) -> Angle) -> ParamExpr {
        let steps = self.steps.iter().map(|step| match step {
            Step::Angle(angle) => Step::Angle(map(angle)),
            other => other.clone(),
        });
        ParamExpr { steps: steps.collect() }
    }

    /// Replaces each parameter by an angle.
    #[must_use]
    pub fn substitute(&self, mut value: impl FnMut(ParamId) -> Angle) -> ParamExpr {
        self.map_angles(|angle| angle.substitute(&mut value))
    }

    /// The value, given those of the parameters.
    ///
    /// # Errors
    /// [`BindError`] if a parameter has no value.
    pub fn evaluate<T: Real>(&self, values: &[T]) -> Result<T, BindError> {
        let mut stack: Vec<T> = Vec::new();
        for step in &self.steps {
            let value = match step {
                Step::Angle(angle) => Values(values).radians(angle)?,
                Step::Neg => -pop(&mut stack),
                Step::Call(function) => function.apply(&pop(&mut stack)),
                _ => {
                    let (y, x) = (pop(&mut stack), pop(&mut stack));
                    match step {
                        Step::Add => x + y,
                        Step::Sub => x - y,
                        Step::Mul => x * y,
                        Step::Div => x / y,
                        _ => x.pow(&y),
                    }
                }
            };
            stack.push(value);
        }
        Ok(pop(&mut stack))
    }

    /// The expression in OpenQASM 3 notation, with the names that `name` gives.
    #[must_use]
    pub fn text(&self, name: &dyn Fn(ParamId) -> String) -> String {
        let angle = |angle: &Angle| {
            let mut text = String::new();
            // Writing to a String cannot fail.
            let _ = angle.write(&mut text, name);
            let is_atom = text.chars().all(|c| c.is_alphanumeric() || "._[]".contains(c));
            Ok::<_, Infallible>((text, if is_atom { Precedence::Atom } else { Precedence::Sum }))
        };
        let Ok((text, _)) = self.infix(false, angle, Ok);
        text
    }

    /// Returns the infix text, given that of each angle, and a check of each part's. If
    /// `keeps_order`, it has the parentheses of `x + (y + z)`, which only matter to rounding.
    #[doc(hidden)]
    pub fn infix<E>(
        &self,
        keeps_order: bool,
        angle: impl Fn(&Angle) -> Result<Infix, E>,
        check: impl Fn(Infix) -> Result<Infix, E>,
    ) -> Result<Infix, E> {
        let mut stack: Vec<Infix> = Vec::new();
        for step in &self.steps {
            let mut pop = || stack.pop().unwrap_or_default();
            let part = match step {
                Step::Angle(of) => angle(of)?,
                Step::Neg => {
                    (format!("-{}", parenthesized(pop(), Precedence::Prefix)), Precedence::Sum)
                }
                Step::Call(of) => atom(format!("{}({})", of.name(), pop().0)),
                _ => {
                    let (y, x) = (pop(), pop());
                    let (sign, precedence) = match step {
                        Step::Add => (" + ", Precedence::Sum),
                        Step::Sub => (" - ", Precedence::Sum),
                        Step::Mul => ("*", Precedence::Product),
                        Step::Div => ("/", Precedence::Product),
                        _ => ("**", Precedence::Power),
                    };
                    let (left, mut right) = precedence.operands();
                    if !keeps_order && matches!(step, Step::Add | Step::Mul) {
                        right = left;
                    }
                    let (x, y) = (parenthesized(x, left), parenthesized(y, right));
                    (format!("{x}{sign}{y}"), precedence)
                }
            };
            stack.push(check(part)?);
        }
        Ok(stack.pop().unwrap_or_default())
    }
}

/// A table is well-formed by construction, so the stack is never empty here; zero keeps this total.
fn pop<T: Real>(stack: &mut Vec<T>) -> T {
    stack.pop().unwrap_or_else(T::zero)
}
