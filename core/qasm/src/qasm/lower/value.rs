//! Values of expressions, exact as long as they can be.
//!
//! ```text
//! 3*pi/8          Angle   3/8 pi, exact
//! 0.3*theta       Angle   3/10 theta: a decimal of at most 12 digits is a fraction
//! 0.3             Number  0.3 radians
//! angle x = 7     Turn    7 - 2 pi, of the type `angle`
//! sin(theta)*2    Expr    a postfix table
//! sin(0.2)        Number  computed once, in f64
//! ```
//! A [`RealConstant`] carries its f64 and, while 62 bits hold it, the exact fraction, else a
//! rounding bound.
//!
//! Errors have no span: the caller knows that of the expression.

#![deny(clippy::arithmetic_side_effects)]

use std::rc::Rc;

use num_complex::Complex;
use num_traits::{CheckedMul, ToPrimitive};

use super::{
    angle_value::AngleValue,
    duration::Duration,
    integer::{IntOperandKind, IntegerType, operate},
    runtime,
};
use crate::{
    classical::ClassicalExpr,
    param::{self, ALL_WHOLE, Angle, ParamExpr, Q, Rounded, UNIT},
    qasm::{
        ast::{BinaryOp, UnaryOp},
        diagnostic::QasmProblem,
    },
};

/// Value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum QasmValue {
    Bool(bool),
    /// A literal, or a result of literals alone, has no type.
    Int(i128, Option<IntegerType>),
    /// A bit string; the last character is bit 0.
    Bits {
        width: u32,
        bits: u128,
    },
    Number(RealConstant),
    /// A sum of a multiple of pi, multiples of parameters and a number; not just a number.
    Angle(Angle),
    /// A constant of the type `angle`.
    AngleValue(AngleValue),
    /// Anything else over parameters.
    Expr(ParamExpr),
    Array(Rc<[QasmValue]>),
    /// A complex number, even if it is real.
    Complex(Complex<f64>),
    Duration(Duration),
    /// A value that is known only when the circuit runs.
    Runtime(Box<ClassicalExpr>),
    /// A value that no gate takes, by its description.
    Other(&'static str),
}

/// A real constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RealConstant {
    pub(super) value: f64,
    form: ConstantForm,
}

/// Origin of a constant, which decides the fraction that it is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ConstantForm {
    /// Written as a decimal: a fraction if it is short. Found out only when needed.
    Decimal,
    /// Computed from fractions.
    Fraction(Q),
    /// Computed otherwise, or written with more digits than a float holds; with a rounding bound.
    Rounded(f64),
}

impl ConstantForm {
    fn negate(self) -> ConstantForm {
        match self {
            // Never the least integer, which has no negative.
            ConstantForm::Fraction(q) => {
                ConstantForm::Fraction(Q::new_raw(q.numer().wrapping_neg(), *q.denom()))
            }
            other => other,
        }
    }
}

/// Limit on the digits of a decimal that is taken for an exact fraction.
const EXACT_DIGITS: usize = 12;

/// Returns the fraction if its negative exists.
pub(super) fn fits(q: Q) -> Option<Q> {
    (*q.numer() > i64::MIN).then_some(q)
}

impl RealConstant {
    /// Returns a decimal: exact if it is short.
    pub(super) fn decimal(value: f64) -> RealConstant {
        RealConstant { value, form: ConstantForm::Decimal }
    }

    /// Returns a decimal whose digits a float does not hold.
    pub(super) fn rounded_decimal(value: f64) -> RealConstant {
        // Half a unit in the last written place (there are at least 16 digits), and half a unit of
        // the float.
        let off = 8.0 * UNIT * value.abs() + f64::MIN_POSITIVE;
        RealConstant { value, form: ConstantForm::Rounded(off) }
    }

    /// Returns the fraction, if it is known, else the value with its rounding bound.
    pub(super) fn with(exact: Option<Q>, otherwise: impl FnOnce() -> Rounded) -> RealConstant {
        match exact.and_then(|q| Some((q, q.to_f64()?))) {
            Some((q, value)) => RealConstant { value, form: ConstantForm::Fraction(q) },
            None => {
                let Rounded { value, error } = otherwise();
                RealConstant { value, form: ConstantForm::Rounded(error) }
            }
        }
    }

    /// A fraction.
    pub(super) fn fraction(q: Q) -> RealConstant {
        RealConstant::with(fits(q), || {
            let value = q.to_f64().unwrap_or(f64::NAN);
            Rounded { value, error: UNIT * value.abs() }
        })
    }

    /// The product with an integer.
    pub(super) fn times(self, k: i64) -> RealConstant {
        let exact = self.exact().and_then(|q| q.checked_mul(&Q::from_integer(k))).and_then(fits);
        RealConstant::with(exact, || {
            self.rounded().times(Rounded::decimal(k.to_f64().unwrap_or(f64::NAN)))
        })
    }

    /// Returns the value with its rounding bound.
    pub(super) fn rounded(self) -> Rounded {
        match self.form {
            ConstantForm::Decimal => Rounded::decimal(self.value),
            ConstantForm::Fraction(q) if *q.denom() == 1 && self.value.abs() < ALL_WHOLE => {
                Rounded::exact(self.value)
            }
            ConstantForm::Fraction(_) => {
                Rounded { value: self.value, error: UNIT * self.value.abs() }
            }
            ConstantForm::Rounded(error) => Rounded { value: self.value, error },
        }
    }

    /// Returns the angle of that many radians.
    pub(super) fn radians(self) -> Angle {
        match self.form {
            ConstantForm::Decimal => Angle::rad(self.value),
            // The float of a fraction such as 1/3 is rounded.
            ConstantForm::Fraction(q)
                if short_decimal(self.value).is_none_or(|short| short == q) =>
            {
                Angle::rad(self.value)
            }
            ConstantForm::Fraction(_) => Angle::rounded(self.value, UNIT * self.value.abs()),
            ConstantForm::Rounded(error) => Angle::rounded(self.value, error),
        }
    }

    /// The fraction that it is exactly, if known.
    pub(super) fn exact(self) -> Option<Q> {
        match self.form {
            ConstantForm::Decimal => short_decimal(self.value),
            ConstantForm::Fraction(q) => Some(q),
            ConstantForm::Rounded(_) => None,
        }
    }

    pub(super) fn computed(value: Rounded) -> Result<QasmValue, QasmProblem> {
        RealConstant::with(None, || value).checked()
    }

    pub(super) fn checked(self) -> Result<QasmValue, QasmProblem> {
        if self.value.is_finite() {
            Ok(QasmValue::Number(self))
        } else {
            Err(QasmProblem::NotFinite)
        }
    }

    /// The largest whole number that is not above.
    pub(super) fn floor(self) -> f64 {
        // The float of a fraction just below a whole number may be that.
        self.exact().and_then(|q| param::floor(q).to_f64()).unwrap_or_else(|| self.value.floor())
    }

    /// The least whole number that is not below.
    pub(super) fn ceil(self) -> f64 {
        -RealConstant { value: -self.value, form: self.form.negate() }.floor()
    }

    /// Returns the integer part: the number rounded towards zero.
    pub(super) fn trunc(self) -> f64 {
        if self.value < 0.0 { self.ceil() } else { self.floor() }
    }

    /// The part in radians of an angle.
    pub(super) fn of_radians(angle: &Angle) -> RealConstant {
        let value = angle.radian_part();
        let form = if angle.rounding_bound() > 0.0 {
            ConstantForm::Rounded(angle.rounding_bound())
        } else {
            ConstantForm::Decimal
        };
        RealConstant { value, form }
    }

    fn integer(value: i128) -> RealConstant {
        let exact = i64::try_from(value).ok().map(Q::from_integer).and_then(fits);
        // For a large integer the nearest f64 is the result.
        RealConstant::with(exact, || {
            let near = value.to_f64().unwrap_or(f64::NAN);
            let off = near.to_i128().map_or(u128::MAX, |back| back.abs_diff(value));
            Rounded { value: near, error: off.to_f64().unwrap_or(f64::INFINITY) }
        })
    }
}

/// Returns the fraction that is meant by a float with at most 12 significant digits.
fn short_decimal(value: f64) -> Option<Q> {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e')?;
    let digits = mantissa.replace('.', "");
    let fraction = mantissa.split_once('.').map_or(0, |(_, f)| f.len());
    if digits.trim_start_matches('-').len() > EXACT_DIGITS {
        return None;
    }
    let scale = exponent.parse::<i32>().ok()?.checked_sub(i32::try_from(fraction).ok()?)?;
    let digits: i64 = digits.parse().ok()?;
    let power = 10i64.checked_pow(scale.unsigned_abs())?;
    fits(if scale < 0 {
        Q::new(digits, power)
    } else {
        Q::from_integer(digits.checked_mul(power)?)
    })
}

impl QasmValue {
    /// A complex number with parameters in it, which nothing accepts, so its value does not matter.
    pub(super) const COMPLEX: QasmValue = QasmValue::Other("a complex number");

    /// An integer without a type.
    pub(super) fn int(value: i128) -> QasmValue {
        QasmValue::Int(value, None)
    }

    pub(super) fn describe(&self) -> &'static str {
        match self {
            QasmValue::Bool(_) => "a truth value",
            QasmValue::Int(..) => "an integer",
            QasmValue::Bits { .. } => "a bit string",
            QasmValue::Number(_) => "a number",
            QasmValue::AngleValue(_) => "an angle",
            QasmValue::Angle(a) if a.is_constant() => "an angle",
            QasmValue::Angle(_) | QasmValue::Expr(_) => "an expression in parameters",
            QasmValue::Array(_) => "an array",
            QasmValue::Complex(_) => "a complex number",
            QasmValue::Duration(_) => "a duration",
            QasmValue::Runtime(expr) => runtime::describe(expr),
            QasmValue::Other(what) => what,
        }
    }

    /// Returns an angle as a value: a number if it has radians alone.
    pub(super) fn linear(angle: Angle) -> Result<QasmValue, QasmProblem> {
        let radians = angle.radian_part();
        if !radians.is_finite() {
            return Err(QasmProblem::NotFinite);
        }
        if *angle.pi_part().numer() != 0 || !angle.is_constant() {
            return Ok(QasmValue::Angle(angle));
        }
        Ok(QasmValue::Number(RealConstant::of_radians(&angle)))
    }

    /// Returns the real constant, which may be an integer, that this is.
    pub(super) fn number(&self) -> Option<RealConstant> {
        match self {
            QasmValue::Int(i @ ..0, Some(ty)) if ty.unsigned => {
                let value = i.cast_unsigned().to_f64().unwrap_or(f64::NAN);
                Some(RealConstant { value, form: ConstantForm::Rounded(UNIT * value) })
            }
            QasmValue::Int(i, _) => Some(RealConstant::integer(*i)),
            QasmValue::Number(n) => Some(*n),
            _ => None,
        }
    }

    /// Returns the constant, real or complex, that this is.
    pub(super) fn complex(&self) -> Option<Complex<f64>> {
        match self {
            QasmValue::Complex(z) => Some(*z),
            other => other.constant().map(|n| Complex::new(n.value, 0.0)),
        }
    }

    /// Returns the real constant, which may be a multiple of pi, that this is.
    pub(super) fn constant(&self) -> Option<RealConstant> {
        match self {
            QasmValue::Angle(a) if a.is_constant() => {
                Some(RealConstant::with(None, || Rounded::angle(a, &[])))
            }
            QasmValue::AngleValue(turn) => {
                Some(RealConstant::with(None, || Rounded::angle(&turn.radians(), &[])))
            }
            other => other.number(),
        }
    }

    /// Returns the angle that this is; `None` for a product or function of parameters.
    pub(super) fn angle(&self) -> Option<Angle> {
        match self {
            QasmValue::Angle(a) => Some(a.clone()),
            QasmValue::AngleValue(turn) => Some(turn.radians()),
            other => other.number().map(RealConstant::radians),
        }
    }

    /// Returns the angle that this is, or the unchanged value as an error.
    pub(super) fn into_angle(self) -> Result<Angle, QasmValue> {
        match self {
            QasmValue::Angle(a) => Ok(a),
            QasmValue::AngleValue(turn) => Ok(turn.radians()),
            other => other.number().map(RealConstant::radians).ok_or(other),
        }
    }

    /// Returns the expression that this is, or the unchanged value as an error.
    pub(super) fn into_expr(self) -> Result<ParamExpr, QasmValue> {
        match self {
            QasmValue::Expr(e) => Ok(e),
            other => other.into_angle().map(ParamExpr::from),
        }
    }

    pub(super) fn is_real(&self) -> bool {
        matches!(
            self,
            QasmValue::Int(..)
                | QasmValue::Number(_)
                | QasmValue::Angle(_)
                | QasmValue::AngleValue(_)
                | QasmValue::Expr(_)
        ) || matches!(self, QasmValue::Runtime(expr) if runtime::is_real(expr))
    }

    /// Returns true if it, or an element of it, is known only when the circuit runs.
    pub(super) fn is_runtime(&self) -> bool {
        match self {
            QasmValue::Runtime(_) => true,
            QasmValue::Array(items) => items.iter().any(QasmValue::is_runtime),
            _ => false,
        }
    }

    pub(super) fn negate(self) -> Result<QasmValue, QasmProblem> {
        match self {
            QasmValue::Int(i, None) => {
                i.checked_neg().map(QasmValue::int).ok_or_else(|| overflow("the negative"))
            }
            QasmValue::Int(i, Some(ty)) => operate(
                BinaryOp::Sub,
                (0, IntOperandKind::Typed(ty)),
                (i, IntOperandKind::Typed(ty)),
            ),
            QasmValue::Number(n) => {
                Ok(QasmValue::Number(RealConstant { value: -n.value, form: n.form.negate() }))
            }
            QasmValue::Angle(a) => QasmValue::linear(-a),
            QasmValue::AngleValue(turn) => Ok(QasmValue::AngleValue(turn.negate())),
            QasmValue::Expr(e) => Ok(QasmValue::Expr(e.negate())),
            QasmValue::Complex(z) => Ok(QasmValue::Complex(-z)),
            QasmValue::Duration(duration) => Ok(QasmValue::Duration(duration.negate())),
            QasmValue::COMPLEX => Ok(self),
            QasmValue::Runtime(expr) => runtime::unary(UnaryOp::Minus, *expr),
            other => Err(QasmProblem::Operands {
                operator: "-".to_owned(),
                given: other.describe().to_owned(),
            }),
        }
    }
}

pub(super) fn overflow(what: &str) -> QasmProblem {
    QasmProblem::IntegerOverflow { what: what.to_owned() }
}

pub(super) fn wrong_operand(operator: &str, value: &QasmValue) -> QasmProblem {
    QasmProblem::Operands { operator: operator.to_owned(), given: value.describe().to_owned() }
}
