//! Operators and functions on values.
//!
//! Two integers stay integers, two numbers stay fractions while they are short, a fraction times an
//! angle is an angle; any other value with a parameter in it becomes an expression. Operands are
//! passed by value, so that a sum of many terms grows in place.

#![deny(clippy::arithmetic_side_effects)]

use std::cmp::Ordering;

use num_complex::Complex;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul};

use super::{
    angle_value, duration,
    integer::{self, IntOperandKind, IntegerType, MAX_WIDTH, operate},
    runtime,
    value::{QasmValue, RealConstant, fits, wrong_operand},
};
use crate::{
    param::{self, Angle, ElementaryFunction, ParamExpr, Q, Step},
    qasm::{Version, ast::BinaryOp, diagnostic::QasmProblem},
};

/// Largest exponent for which a power of parameters becomes a product, which is differentiable
/// everywhere.
const PRODUCT_POWER: i64 = 8;

fn mismatch(operator: &str, left: &QasmValue, right: &QasmValue) -> QasmProblem {
    let given = format!("{} and {}", left.describe(), right.describe());
    QasmProblem::Operands { operator: operator.to_owned(), given }
}

/// `left op right`. In OpenQASM 2 the division of integers is that of numbers.
pub(super) fn binary(
    op: BinaryOp,
    left: QasmValue,
    right: QasmValue,
    version: Version,
) -> Result<QasmValue, QasmProblem> {
    use BinaryOp::*;
    let is_runtime = |v: &QasmValue| matches!(v, QasmValue::Runtime(_));
    if is_runtime(&left) || is_runtime(&right) {
        return runtime::binary(op, left, right);
    }
    if matches!(left, QasmValue::AngleValue(_)) || matches!(right, QasmValue::AngleValue(_)) {
        return angle_value::operate(op, left, right, version);
    }
    if let Some(result) = integers(op, &left, &right, version) {
        return result;
    }
    if let Some(result) = duration::operate(op, &left, &right) {
        return result;
    }
    let (left, right) = match op {
        Add | Sub | Mul | Div | Rem
            if (whole(&left) || left.is_real()) && (whole(&right) || right.is_real()) =>
        {
            (as_integer(left), as_integer(right))
        }
        _ => (left, right),
    };
    let is_complex = |v: &QasmValue| matches!(v, QasmValue::Complex(_)) || *v == QasmValue::COMPLEX;
    let either = is_complex(&left) || is_complex(&right);
    let both = [&left, &right].into_iter().all(|v| v.is_real() || is_complex(v));
    match op {
        Add | Sub | Mul | Div if either && both => complex(op, &left, &right),
        Add | Sub | Mul | Div if !(left.is_real() && right.is_real()) => {
            Err(mismatch(op.text(), &left, &right))
        }
        Add => add(left, right),
        Sub => sub(left, right),
        Mul => multiply(left, right),
        Div => divide(left, right),
        Rem => remainder(left, right),
        And | Or => match (truth(&left), truth(&right)) {
            (Some(a), Some(b)) => Ok(QasmValue::Bool(if op == And { a && b } else { a || b })),
            _ => Err(mismatch(op.text(), &left, &right)),
        },
        Equal | NotEqual if either && both => match (left.complex(), right.complex()) {
            (Some(a), Some(b)) => Ok(QasmValue::Bool((a == b) == (op == Equal))),
            _ => Err(mismatch(op.text(), &left, &right)),
        },
        Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual => compare(op, &left, &right),
        BitAnd | BitOr | BitXor | Shl | Shr => bitwise(op, left, right),
        Concat => concatenate(&left, &right),
    }
}

/// Concatenates arrays, or bits, of which those of the first operand are the lower ones.
fn concatenate(left: &QasmValue, right: &QasmValue) -> Result<QasmValue, QasmProblem> {
    match (left, right) {
        (QasmValue::Array(a), QasmValue::Array(b)) => {
            Ok(QasmValue::Array(a.iter().chain(b.iter()).cloned().collect()))
        }
        (QasmValue::Bits { width: m, bits: a }, QasmValue::Bits { width: n, bits: b }) => {
            let width = (*m).checked_add(*n).filter(|width| *width <= MAX_WIDTH);
            let all = |width| QasmValue::Bits { width, bits: a | b.checked_shl(*m).unwrap_or(0) };
            width.map(all).ok_or_else(|| mismatch("++", left, right))
        }
        _ => Err(mismatch("++", left, right)),
    }
}

/// Returns true if arithmetic takes a value as an integer, or as a number together with one.
fn whole(value: &QasmValue) -> bool {
    matches!(
        value,
        QasmValue::Int(..) | QasmValue::Number(_) | QasmValue::Bool(_) | QasmValue::Bits { .. }
    )
}

/// Truth values are 0 and 1, bits an unsigned number.
fn as_integer(value: QasmValue) -> QasmValue {
    match value {
        QasmValue::Bool(holds) => QasmValue::int(i128::from(holds)),
        QasmValue::Bits { bits, .. } => i128::try_from(bits).map_or(value, QasmValue::int),
        other => other,
    }
}

/// `left op right` if both are integers, or bits that are taken for some.
fn integers(
    op: BinaryOp,
    left: &QasmValue,
    right: &QasmValue,
    version: Version,
) -> Option<Result<QasmValue, QasmProblem>> {
    use BinaryOp::*;
    let operand = |value: &QasmValue| match value {
        QasmValue::Int(i, ty) => Some((*i, IntOperandKind::from_integer(*i, *ty))),
        QasmValue::Bool(holds) => Some((i128::from(*holds), IntOperandKind::Register(1))),
        QasmValue::Bits { width, bits } => {
            Some((i128::try_from(*bits).ok()?, IntOperandKind::Register(*width)))
        }
        _ => None,
    };
    let (a, b) = (operand(left)?, operand(right)?);
    let number = matches!(left, QasmValue::Int(..)) || matches!(right, QasmValue::Int(..));
    let takes = match (op, left) {
        (Div, _) => version == Version::V3,
        (Add | Sub | Mul | Rem, _) => true,
        // Of bits alone they are operators of their own; and shifted, or with a number that fits, a
        // register is one again.
        (Shl | Shr, QasmValue::Int(..) | QasmValue::Bits { width: 1, .. }) => true,
        (BitAnd | BitOr | BitXor, QasmValue::Bits { width, .. }) => {
            number && !fits_register(right, *width)
        }
        (BitAnd | BitOr | BitXor, _) => number,
        _ => false,
    };
    takes.then(|| operate(op, a, b))
}

/// Returns true if a number fits in a register of that many bits.
fn fits_register(value: &QasmValue, width: u32) -> bool {
    matches!(value, QasmValue::Int(i, None) if IntegerType::sized(width, true).holds(*i))
}

/// Numbers of which one is complex.
fn complex(op: BinaryOp, left: &QasmValue, right: &QasmValue) -> Result<QasmValue, QasmProblem> {
    let (Some(a), Some(b)) = (left.complex(), right.complex()) else {
        return Ok(QasmValue::COMPLEX);
    };
    let result = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        _ if b == Complex::new(0.0, 0.0) => return Err(QasmProblem::DivisionByZero),
        _ => a / b,
    };
    if result.is_finite() { Ok(QasmValue::Complex(result)) } else { Err(QasmProblem::NotFinite) }
}

/// Returns the truth value of a boolean or a single bit.
fn truth(value: &QasmValue) -> Option<bool> {
    match value {
        QasmValue::Bool(holds) => Some(*holds),
        QasmValue::Bits { width: 1, bits } => Some(*bits == 1),
        _ => None,
    }
}

/// `left step right` as an expression.
fn symbolic(
    step: Step,
    left: QasmValue,
    right: QasmValue,
    operator: &str,
) -> Result<QasmValue, QasmProblem> {
    match (left.into_expr(), right.into_expr()) {
        (Ok(l), Ok(r)) => Ok(QasmValue::Expr(l.binary(step, r))),
        (l, r) => {
            let value =
                |side: Result<ParamExpr, QasmValue>| side.map_or_else(|v| v, QasmValue::Expr);
            Err(mismatch(operator, &value(l), &value(r)))
        }
    }
}

pub(super) fn add(left: QasmValue, right: QasmValue) -> Result<QasmValue, QasmProblem> {
    if left.is_runtime() || right.is_runtime() {
        return runtime::binary(BinaryOp::Add, left, right);
    }
    if let Some(sum) = integers(BinaryOp::Add, &left, &right, Version::V3) {
        return sum;
    }
    if let (Some(a), Some(b)) = (left.number(), right.number()) {
        let exact = a.exact().zip(b.exact()).and_then(|(a, b)| a.checked_add(&b)).and_then(fits);
        return RealConstant::with(exact, || a.rounded().plus(b.rounded())).checked();
    }
    if matches!(left, QasmValue::Expr(_)) || matches!(right, QasmValue::Expr(_)) {
        return symbolic(Step::Add, left, right, "+");
    }
    // By value: a sum of many terms grows in place.
    match (left.into_angle(), right.into_angle()) {
        (Ok(a), Ok(b)) => QasmValue::linear(a + b),
        (Err(v), _) | (_, Err(v)) => Err(wrong_operand("+", &v)),
    }
}

fn sub(left: QasmValue, right: QasmValue) -> Result<QasmValue, QasmProblem> {
    if matches!(left, QasmValue::Expr(_)) || matches!(right, QasmValue::Expr(_)) {
        return symbolic(Step::Sub, left, right, "-");
    }
    add(left, right.negate()?)
}

/// A fraction times an angle.
fn scale(angle: Angle, q: Q) -> Result<QasmValue, QasmProblem> {
    QasmValue::linear(angle * q)
}

pub(super) fn multiply(left: QasmValue, right: QasmValue) -> Result<QasmValue, QasmProblem> {
    if left.is_runtime() || right.is_runtime() {
        return runtime::binary(BinaryOp::Mul, left, right);
    }
    if let Some(product) = integers(BinaryOp::Mul, &left, &right, Version::V3) {
        return product;
    }
    match (left.number(), right.number()) {
        (Some(a), Some(b)) => {
            let exact =
                a.exact().zip(b.exact()).and_then(|(a, b)| a.checked_mul(&b)).and_then(fits);
            return RealConstant::with(exact, || a.rounded().times(b.rounded())).checked();
        }
        (Some(n), None) => {
            if let (QasmValue::Angle(_), Some(q)) = (&right, n.exact()) {
                return right.into_angle().map_or(Err(QasmProblem::NotFinite), |a| scale(a, q));
            }
        }
        (None, Some(n)) => {
            if let (QasmValue::Angle(_), Some(q)) = (&left, n.exact()) {
                return left.into_angle().map_or(Err(QasmProblem::NotFinite), |a| scale(a, q));
            }
        }
        (None, None) => {}
    }
    match (left.constant(), right.constant()) {
        (Some(a), Some(b)) => RealConstant::computed(a.rounded().times(b.rounded())),
        _ => symbolic(Step::Mul, left, right, "*"),
    }
}

fn divide(left: QasmValue, right: QasmValue) -> Result<QasmValue, QasmProblem> {
    if right.constant().is_some_and(|n| n.value == 0.0) {
        return Err(QasmProblem::DivisionByZero);
    }
    if let (Some(a), Some(b)) = (left.number(), right.number()) {
        let exact = a.exact().zip(b.exact()).and_then(|(a, b)| a.checked_div(&b)).and_then(fits);
        return RealConstant::with(exact, || a.rounded().over(b.rounded())).checked();
    }
    if let (QasmValue::Angle(a), Some(n)) = (&left, right.number())
        && let Some(q) = n.exact()
        && let Some(inverse) = param::reciprocal(q).and_then(fits)
    {
        return scale(a.clone(), inverse);
    }
    match (left.constant(), right.constant()) {
        (Some(x), Some(y)) => {
            let exact = match (&left, &right) {
                (QasmValue::Angle(a), QasmValue::Angle(b))
                    if a.radian_part() == 0.0 && b.radian_part() == 0.0 =>
                {
                    a.pi_part().checked_div(&b.pi_part()).and_then(fits)
                }
                _ => None,
            };
            RealConstant::with(exact, || x.rounded().over(y.rounded())).checked()
        }
        _ => symbolic(Step::Div, left, right, "/"),
    }
}

fn remainder(left: QasmValue, right: QasmValue) -> Result<QasmValue, QasmProblem> {
    match (&left, &right, left.constant(), right.constant()) {
        (QasmValue::Int(..) | QasmValue::Number(_), _, _, Some(b)) if b.value == 0.0 => {
            Err(QasmProblem::DivisionByZero)
        }
        (_, _, Some(a), Some(b)) => {
            let exact =
                a.exact().zip(b.exact()).and_then(|(a, b)| param::remainder(a, b)).and_then(fits);
            RealConstant::with(exact, || a.rounded().remainder(b.rounded())).checked()
        }
        _ => Err(mismatch("%", &left, &right)),
    }
}

/// `base ** exponent`.
pub(super) fn power(
    base: QasmValue,
    exponent: QasmValue,
    version: Version,
) -> Result<QasmValue, QasmProblem> {
    if [&base, &exponent].iter().any(|value| value.is_runtime()) {
        return runtime::power(base, exponent);
    }
    let (base, exponent) = (angle_value::plain(base)?, angle_value::plain(exponent)?);
    if let (QasmValue::Int(a, ty), QasmValue::Int(n @ 0.., _), Version::V3) =
        (&base, &exponent, version)
    {
        return integer::power(*a, *ty, *n);
    }
    if let (QasmValue::Complex(_), _) | (_, QasmValue::Complex(_)) = (&base, &exponent)
        && let (Some(x), Some(y)) = (base.complex(), exponent.complex())
    {
        // The principal value.
        let power = x.powc(y);
        return if power.is_finite() {
            Ok(QasmValue::Complex(power))
        } else {
            Err(QasmProblem::NotFinite)
        };
    }
    if !base.is_real() || !exponent.is_real() {
        return Err(mismatch("**", &base, &exponent));
    }
    if let (Some(x), Some(y)) = (base.constant(), exponent.constant()) {
        if x.value == 0.0 && y.value < 0.0 {
            return Err(QasmProblem::DivisionByZero);
        }
        let whole = y
            .exact()
            .filter(|q| *q.denom() == 1 && q.numer().unsigned_abs() <= 64)
            .map(|q| *q.numer());
        let exact = x.exact().zip(whole).and_then(|(x, n)| exact_power(x, n));
        return RealConstant::with(exact, || x.rounded().power(y.rounded())).checked();
    }
    let whole =
        exponent.number().and_then(|n| n.exact()).filter(|q| *q.denom() == 1).map(|q| *q.numer());
    match (whole, base.clone().into_expr().ok()) {
        (Some(0), _) => Ok(QasmValue::int(1)),
        (Some(1), _) => Ok(base),
        (Some(n @ 2..=PRODUCT_POWER), Some(x)) if x.steps().len() <= 8 => Ok(QasmValue::Expr(
            (1..n).fold(x.clone(), |product, _| product.binary(Step::Mul, x.clone())),
        )),
        (Some(-1), Some(x)) => {
            Ok(QasmValue::Expr(ParamExpr::from(Angle::rad(1.0)).binary(Step::Div, x)))
        }
        _ => symbolic(Step::Pow, base, exponent, "**"),
    }
}

/// Returns the value of a function where it is a fraction by a well-known identity.
fn exact_value(function: ElementaryFunction, x: &QasmValue, n: RealConstant) -> Option<Q> {
    let whole = Q::from_integer;
    if let QasmValue::Angle(angle) = x {
        return function.at_quarter_turns(angle).map(whole);
    }
    let q = n.exact()?;
    match (function, *q.numer(), *q.denom()) {
        (
            ElementaryFunction::Sin
            | ElementaryFunction::Tan
            | ElementaryFunction::Asin
            | ElementaryFunction::Atan,
            0,
            _,
        ) => Some(whole(0)),
        (ElementaryFunction::Cos | ElementaryFunction::Exp, 0, _) => Some(whole(1)),
        (ElementaryFunction::Ln | ElementaryFunction::Acos, 1, 1) => Some(whole(0)),
        (ElementaryFunction::Sqrt, n @ 0.., d) => {
            let (root, below) = (n.isqrt(), d.isqrt());
            let is_root = |root: i64, n: i64| root.checked_mul(root) == Some(n);
            (is_root(root, n) && is_root(below, d)).then(|| Q::new(root, below))
        }
        _ => None,
    }
}

fn exact_power(x: Q, n: i64) -> Option<Q> {
    let mut result = Q::from_integer(1);
    for _ in 0..n.unsigned_abs() {
        result = fits(if n > 0 { result.checked_mul(&x)? } else { result.checked_div(&x)? })?;
    }
    Some(result)
}

fn compare(op: BinaryOp, left: &QasmValue, right: &QasmValue) -> Result<QasmValue, QasmProblem> {
    let ordering = match (left, right) {
        (QasmValue::Bool(a), QasmValue::Bool(b)) => Some(a.cmp(b)),
        (QasmValue::Int(a, a_type), QasmValue::Int(b, b_type)) => {
            Some(integer::order((*a, *a_type), (*b, *b_type)))
        }
        (QasmValue::Bits { bits: a, .. }, QasmValue::Bits { bits: b, .. }) => Some(a.cmp(b)),
        (QasmValue::Bits { bits, .. }, QasmValue::Int(i, ty)) => Some(with_integer(*bits, *i, *ty)),
        (QasmValue::Int(i, ty), QasmValue::Bits { bits, .. }) => {
            Some(with_integer(*bits, *i, *ty).reverse())
        }
        (QasmValue::Bool(a), QasmValue::Int(b, _)) => Some(i128::from(*a).cmp(b)),
        (QasmValue::Int(a, _), QasmValue::Bool(b)) => Some(a.cmp(&i128::from(*b))),
        (QasmValue::Bits { width: 1, bits }, QasmValue::Bool(b)) => Some((*bits == 1).cmp(b)),
        (QasmValue::Bool(b), QasmValue::Bits { width: 1, bits }) => Some(b.cmp(&(*bits == 1))),
        _ => match (left.constant(), right.constant()) {
            (Some(a), Some(b)) => match (a.exact(), b.exact()) {
                (Some(p), Some(q)) => Some(p.cmp(&q)),
                _ => a.value.partial_cmp(&b.value),
            },
            _ => None,
        },
    };
    let ordering = ordering.ok_or_else(|| mismatch(op.text(), left, right))?;
    Ok(QasmValue::Bool(holds(op, ordering)))
}

/// Returns true if a comparison holds for two values in this order.
pub(super) fn holds(op: BinaryOp, ordering: Ordering) -> bool {
    match op {
        BinaryOp::Equal => ordering == Ordering::Equal,
        BinaryOp::NotEqual => ordering != Ordering::Equal,
        BinaryOp::Less => ordering == Ordering::Less,
        BinaryOp::LessEqual => ordering != Ordering::Greater,
        BinaryOp::Greater => ordering == Ordering::Greater,
        _ => ordering != Ordering::Less,
    }
}

/// A bit string, as an unsigned number, compared with an integer.
fn with_integer(bits: u128, integer: i128, ty: Option<IntegerType>) -> Ordering {
    match ty {
        Some(ty) if ty.unsigned => bits.cmp(&ty.bits_of(integer)),
        _ => u128::try_from(integer).map_or(Ordering::Greater, |i| bits.cmp(&i)),
    }
}

fn bitwise(op: BinaryOp, left: QasmValue, right: QasmValue) -> Result<QasmValue, QasmProblem> {
    use BinaryOp::*;
    let apply = |a: u128, b: u128| match op {
        BitAnd => a & b,
        BitOr => a | b,
        _ => a ^ b,
    };
    match (&left, &right, op) {
        (QasmValue::Bool(a), QasmValue::Bool(b), BitAnd | BitOr | BitXor) => {
            Ok(QasmValue::Bool(apply(u128::from(*a), u128::from(*b)) == 1))
        }
        (
            QasmValue::Bits { width, bits: a },
            QasmValue::Bits { width: w, bits: b },
            BitAnd | BitOr | BitXor,
        ) if width == w => Ok(QasmValue::Bits { width: *width, bits: apply(*a, *b) }),
        (QasmValue::Bits { width, bits: a }, QasmValue::Int(b, None), BitAnd | BitOr | BitXor) => {
            Ok(QasmValue::Bits { width: *width, bits: apply(*a, b.cast_unsigned()) })
        }
        (QasmValue::Bits { width, bits }, QasmValue::Int(n @ 0.., _), Shl | Shr) => {
            let places = u32::try_from(*n).ok();
            let shifted = places
                .and_then(|n| if op == Shr { bits.checked_shr(n) } else { bits.checked_shl(n) });
            Ok(QasmValue::Bits { width: *width, bits: shifted.unwrap_or(0) & mask(*width) })
        }
        (_, _, BitAnd | BitOr | BitXor) => match (truth(&left), truth(&right)) {
            (Some(a), Some(b)) => Ok(QasmValue::Bool(apply(u128::from(a), u128::from(b)) == 1)),
            _ => Err(mismatch(op.text(), &left, &right)),
        },
        _ => Err(mismatch(op.text(), &left, &right)),
    }
}

/// The lowest `width` bits.
pub(super) fn mask(width: u32) -> u128 {
    1u128.checked_shl(width).map_or(u128::MAX, |above| above.wrapping_sub(1))
}

/// A smooth function.
pub(super) fn smooth(function: ElementaryFunction, x: QasmValue) -> Result<QasmValue, QasmProblem> {
    if let QasmValue::Runtime(x) = x {
        return runtime::smooth(function, *x);
    }
    let x = angle_value::plain(x)?;
    if let Some(n) = x.constant() {
        return match exact_value(function, &x, n) {
            Some(q) => RealConstant::fraction(q).checked(),
            None => RealConstant::computed(n.rounded().call(function)),
        };
    }
    match x.into_expr() {
        Ok(e) => Ok(QasmValue::Expr(e.call(function))),
        Err(x) => {
            let (given, expected) = (x.describe().to_owned(), "a number".to_owned());
            Err(QasmProblem::WrongType { given, expected })
        }
    }
}
