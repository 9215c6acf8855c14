//! Instantiation of the bodies of definitions: substitution of arguments.
//!
//! A template is a value over the parameters of its gate; a substitution repeats the arithmetic, so
//! that results stay exact where they can: `pi/n` with n = 4 is `pi/4`, not 0.785….

use super::{
    arithmetic,
    value::{QasmValue, RealConstant},
};
use crate::{
    param::{self, Angle},
    qasm::{Version, ast::BinaryOp, diagnostic::QasmProblem},
};

/// The value of a template of a body, given those of the gate's parameters.
pub(super) fn instantiate(
    template: &QasmValue,
    args: &[QasmValue],
) -> Result<QasmValue, QasmProblem> {
    match template {
        QasmValue::Angle(angle) => linear(angle, args),
        QasmValue::Expr(expr) => {
            let mut stack: Vec<QasmValue> = Vec::new();
            let pop = |stack: &mut Vec<QasmValue>| stack.pop().ok_or(QasmProblem::NotFinite);
            for step in expr.steps() {
                let value = match step {
                    param::Step::Angle(angle) => linear(angle, args)?,
                    param::Step::Neg => pop(&mut stack)?.negate()?,
                    param::Step::Call(function) => arithmetic::smooth(*function, pop(&mut stack)?)?,
                    _ => {
                        let (y, x) = (pop(&mut stack)?, pop(&mut stack)?);
                        // Parameters of gates are angles: no division of integers here.
                        let binary = |op| arithmetic::binary(op, x.clone(), y.clone(), Version::V2);
                        match step {
                            param::Step::Add => binary(BinaryOp::Add)?,
                            param::Step::Sub => binary(BinaryOp::Sub)?,
                            param::Step::Mul => binary(BinaryOp::Mul)?,
                            param::Step::Div => binary(BinaryOp::Div)?,
                            _ => arithmetic::power(x, y, Version::V2)?,
                        }
                    }
                };
                stack.push(value);
            }
            pop(&mut stack)
        }
        other => Ok(other.clone()),
    }
}

/// The value of `a pi + b + sum_k q_k args[k]`.
fn linear(angle: &Angle, args: &[QasmValue]) -> Result<QasmValue, QasmProblem> {
    let arg = |id: param::ParamId| args.get(id.index()).cloned().ok_or(QasmProblem::NotFinite);
    let plain = *angle.pi_part().numer() == 0
        && angle.radian_part() == 0.0
        && angle.rounding_bound() == 0.0;
    if let ([(id, q)], true) = (angle.terms(), plain)
        && *q == param::Q::from_integer(1)
    {
        return arg(*id);
    }
    let mut sum = if *angle.pi_part().numer() == 0 {
        QasmValue::Number(RealConstant::of_radians(angle))
    } else {
        let (n, d) = (*angle.pi_part().numer(), *angle.pi_part().denom());
        QasmValue::linear(Angle::pi(n, d) + RealConstant::of_radians(angle).radians())?
    };
    for &(id, q) in angle.terms() {
        sum = arithmetic::add(
            sum,
            arithmetic::multiply(QasmValue::Number(RealConstant::fraction(q)), arg(id)?)?,
        )?;
    }
    Ok(sum)
}
