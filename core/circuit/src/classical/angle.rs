//! Expressions as angles of gates.

use super::{
    evaluate::{ExprStep, Nothing, ReadMemory, evaluate},
    expr::{ClassicalExpr, ExprKind},
    operator::Arithmetic,
    types::ClassicalType,
    word::{self, Word},
};
use crate::param::{Angle, Q, q_to_f64};

/// Returns the angle that a value is: an `angle[n]` as an exact fraction of a turn where 64 bits
/// hold it, any other number in radians.
fn angle_value(ty: ClassicalType, value: Word) -> Angle {
    let ClassicalType::Angle(width) = ty else { return Angle::rad(word::number(ty, value)) };
    // In lowest terms.
    let shift = value.trailing_zeros().min(width);
    let (parts, width) = (value.checked_shr(shift).unwrap_or(0), width - shift);
    match (i64::try_from(parts), width) {
        (Ok(parts), 1..=62) => Angle::pi(parts, 1 << (width - 1)),
        (Ok(0), _) => Angle::zero(),
        _ => Angle::rad(word::number(ty, value)),
    }
}

impl ClassicalExpr {
    /// Returns the angle that the value is, if it is known before the run up to parameters.
    pub(crate) fn known_angle(&self) -> Option<Angle> {
        match &self.kind {
            ExprKind::Literal(value) => Some(Angle::rad(*value as f64)),
            ExprKind::Typed { steps, .. } => match steps.as_slice() {
                [ExprStep::Constant(ty, value)] => Some(angle_value(*ty, *value)),
                [ExprStep::Real(angle)] => Some(angle.clone()),
                _ => None,
            },
        }
    }

    /// Returns the angle that the value is, given what it reads.
    pub(crate) fn angle_at(&self, memory: &dyn ReadMemory) -> Angle {
        match &self.kind {
            ExprKind::Literal(value) => Angle::rad(*value as f64),
            ExprKind::Typed { ty, .. } => angle_value(*ty, self.evaluate(memory)),
        }
    }

    /// Returns the sum of values with factors and of an angle over parameters; `None` if there are
    /// no values. One value with the factor 1 keeps its type, and any other sum is a float: an
    /// `angle[n]` would lose whole turns, which change the sign of a rotation.
    pub(crate) fn angle_sum<'e>(
        terms: impl Iterator<Item = (Q, &'e ClassicalExpr)>,
        rest: &Angle,
    ) -> Option<ClassicalExpr> {
        let float = ClassicalType::FLOAT;
        let terms: Vec<(Q, &ClassicalExpr)> = terms.collect();
        let one = Q::from(1);
        if let ([(factor, expr)], true) = (terms.as_slice(), *rest == Angle::zero())
            && *factor == one
        {
            return Some((*expr).clone());
        }
        let times = |(factor, expr): (Q, &ClassicalExpr)| {
            let value = expr.clone().converted(float);
            match factor {
                factor if factor == one => value,
                factor if factor == -one => value.then(float, ExprStep::Negate(float)),
                factor => value.with(
                    ClassicalExpr::from(q_to_f64(factor)),
                    float,
                    ExprStep::Arithmetic(Arithmetic::Mul, float),
                ),
            }
        };
        let add = |sum: ClassicalExpr, term: ClassicalExpr| {
            sum.with(term, float, ExprStep::Arithmetic(Arithmetic::Add, float))
        };
        let sum = terms.into_iter().map(times).reduce(add)?;
        match *rest == Angle::zero() {
            true => Some(sum),
            false => Some(add(sum, ClassicalExpr::angle(rest))),
        }
    }

    /// Returns the expression as a constant if nothing is read.
    pub(crate) fn folded(self) -> ClassicalExpr {
        let reads = |step: &ExprStep| {
            matches!(
                step,
                ExprStep::Real(_)
                    | ExprStep::Bits(_)
                    | ExprStep::Variable(..)
                    | ExprStep::Element { .. }
            )
        };
        match &self.kind {
            ExprKind::Typed { ty, steps } if !steps.iter().any(reads) => {
                ClassicalExpr::constant(*ty, evaluate(steps, &Nothing))
            }
            _ => self,
        }
    }
}
