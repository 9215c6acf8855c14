//! Casts: `type(value)`, and those of assignments and arguments.
//!
//! ```text
//! uint[4](c)       the bits of a register as a number
//! int[8] n = 2.7   digits after the point are dropped; a literal has to fit, what is computed wraps
//! bit[4] d = n     bit by bit, where there are as many
//! ```

#![deny(clippy::arithmetic_side_effects)]

use std::cmp::Ordering;

use super::{
    Lower, QasmLowering, QasmValue,
    angle_value::{self, AngleValue},
    classical::Classical,
    declare::ELEMENT,
    evaluate::UNSIZED,
    integer::{INT, IntegerType, MAX_WIDTH},
    runtime,
    truth::nonzero,
    value::RealConstant,
};
use crate::{
    classical::{ClassicalExpr, ClassicalType},
    qasm::{
        ast::{BaseType, QasmExpr, QasmSpan, Type},
        diagnostic::{Diagnostic, QasmProblem},
    },
};

impl QasmLowering<'_> {
    /// The type of an integer. `None` for other types, and for arrays.
    pub(super) fn integer_type(&mut self, ty: &Type) -> Lower<Option<IntegerType>> {
        let (BaseType::Int | BaseType::Uint, None) = (ty.base, &ty.dims) else { return Ok(None) };
        let unsigned = ty.base == BaseType::Uint;
        let Some(size) = &ty.size else { return Ok(Some(IntegerType::plain(unsigned))) };
        Ok(Some(IntegerType::sized(self.bits_in(size)?, unsigned)))
    }

    /// The width of an integer or an angle.
    pub(super) fn bits_in(&mut self, size: &QasmExpr) -> Lower<u32> {
        let given = self.integer(size, "the width of a type")?;
        match u32::try_from(given).ok().filter(|bits| (1..=MAX_WIDTH).contains(bits)) {
            Some(bits) => Ok(bits),
            None => self.fail(QasmProblem::TypeWidth { given, limit: MAX_WIDTH }, size.span),
        }
    }

    /// Returns an error unless a type, or that of the elements of an array, has a valid width.
    pub(super) fn check_width(&mut self, ty: &Type) -> Lower<()> {
        let Some(size) = &ty.size else { return Ok(()) };
        match ty.base {
            BaseType::Int | BaseType::Uint | BaseType::Angle => self.bits_in(size).map(|_| ()),
            BaseType::Float => {
                let given = self.integer(size, "the width of a type")?;
                let form = float_form(given);
                self.check(form, size.span).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Casts explicitly: `type(value)`. An integer wraps.
    pub(super) fn explicit_cast(
        &mut self,
        ty: &Type,
        value: QasmValue,
        span: QasmSpan,
    ) -> Lower<QasmValue> {
        let value = match (value, self.integer_type(ty)?) {
            (QasmValue::Int(i, _), Some(ty)) => return Ok(QasmValue::Int(ty.wrap(i), Some(ty))),
            (other, _) => other,
        };
        self.cast(ty, value, span)
    }

    /// Casts a value to a declared type. An integer that does not fit wraps with a warning; a
    /// literal is an error.
    pub(super) fn cast(&mut self, ty: &Type, value: QasmValue, span: QasmSpan) -> Lower<QasmValue> {
        let width = match &ty.size {
            Some(size) => Some(self.integer(size, "the width of a type")?),
            None => None,
        };
        if let Some(dims) = &ty.dims {
            return self.cast_array(ty, dims, value, span);
        }
        if let QasmValue::Runtime(expr) = value {
            return self.cast_runtime(ty, *expr, span);
        }
        let result = match (ty.base, &value) {
            (BaseType::Angle, _) => to_angle(value, width),
            (BaseType::Float, _) => to_float(value, width),
            (BaseType::Bool, _) => to_truth(value),
            (BaseType::Int | BaseType::Uint, v) => return self.cast_integer(ty, v, span),
            (BaseType::Bit, _) => to_bit_string(value, width),
            (BaseType::Duration | BaseType::Stretch, QasmValue::Duration(_)) => Ok(value),
            (BaseType::Complex, QasmValue::Other(_)) => Ok(value),
            (BaseType::Complex, v) if v.complex().is_some() => {
                Ok(v.complex().map_or(QasmValue::COMPLEX, QasmValue::Complex))
            }
            (base, v) => Err(wrong(v, type_name(base))),
        };
        self.check(result, span)
    }

    /// Casts a value to an integer type.
    fn cast_integer(&mut self, ty: &Type, value: &QasmValue, span: QasmSpan) -> Lower<QasmValue> {
        if let QasmValue::AngleValue(_) = value {
            return self.fail(wrong(value, "an integer"), span);
        }
        let int = self.integer_type(ty)?.unwrap_or(INT);
        let whole = match value {
            QasmValue::Int(i, None) => Some(*i),
            QasmValue::Int(i, Some(_)) => {
                let result = int.wrap(*i);
                if result != *i {
                    self.warn(
                        QasmProblem::Wrapped { given: i.to_string(), bits: int.bits, result },
                        span,
                    );
                }
                return Ok(QasmValue::Int(result, Some(int)));
            }
            QasmValue::Bool(b) => Some(i128::from(*b)),
            QasmValue::Bits { bits, width } if int.sized && *width == int.bits => {
                return Ok(QasmValue::Int(int.wrap(bits.cast_signed()), Some(int)));
            }
            QasmValue::Bits { bits, .. } => i128::try_from(*bits).ok(),
            other => other.constant().map(RealConstant::trunc).and_then(num_traits::cast),
        };
        match whole {
            None => self.fail(wrong(value, "an integer"), span),
            Some(i) if int.holds(i) => Ok(QasmValue::Int(i, Some(int))),
            Some(i) => {
                let problem =
                    QasmProblem::IntegerOverflow { what: format!("{i} in {} bits", int.bits) };
                let help = (!int.sized).then(|| UNSIZED.to_owned());
                let error = Diagnostic::error(problem).with_label(self.file_span(span), "");
                Err(self.report(error.maybe_help(help)))
            }
        }
    }

    /// Casts a value that is known only when the circuit runs.
    fn cast_runtime(&mut self, ty: &Type, expr: ClassicalExpr, span: QasmSpan) -> Lower<QasmValue> {
        let Some(to) = self.scalar_type(ty)? else {
            let what = format!("{} that a measurement decides", type_name(ty.base));
            return self.refuse(&what, span);
        };
        if let (ClassicalType::Angle(_), Some(ClassicalType::Int(_) | ClassicalType::Bool)) =
            (to, expr.ty())
        {
            return self.fail(wrong(&QasmValue::Runtime(Box::new(expr)), "an angle"), span);
        }
        // A single bit is a number.
        let expr = match (to, expr.ty()) {
            (ClassicalType::Float(_), Some(ClassicalType::Bits(1))) => expr.truth(),
            _ => expr,
        };
        let cast = expr.cast(to).map_err(runtime::problem);
        self.check(cast, span).map(runtime::value)
    }

    fn cast_array(
        &mut self,
        ty: &Type,
        dims: &[QasmExpr],
        value: QasmValue,
        span: QasmSpan,
    ) -> Lower<QasmValue> {
        let element = Type { span: ty.span, base: ty.base, size: ty.size.clone(), dims: None };
        let Some((first, rest)) = dims.split_first() else {
            return self.cast(&element, value, span);
        };
        let expected = self.integer(first, "the size of an array")?;
        let QasmValue::Array(items) = &value else {
            let (given, expected) = (value.describe().to_owned(), "an array".to_owned());
            return self.fail(QasmProblem::WrongType { given, expected }, span);
        };
        if i128::try_from(items.len()) != Ok(expected) {
            let given = format!("{} elements", items.len());
            return self
                .fail(QasmProblem::WrongType { given, expected: format!("{expected}") }, span);
        }
        let mut cast = Vec::with_capacity(items.len());
        for item in items.iter() {
            cast.push(self.cast_array(&element, rest, item.clone(), span)?);
        }
        // An array that the cast does not change is shared.
        if cast == **items {
            return Ok(value);
        }
        self.spend_elements((cast.len() as u64).saturating_mul(ELEMENT), span)?;
        Ok(QasmValue::Array(cast.into()))
    }

    pub(super) fn cast_bits(
        &mut self,
        ty: &Type,
        value: Classical,
        span: QasmSpan,
    ) -> Lower<Classical> {
        let unsized_number =
            ty.size.is_none() && ty.base == BaseType::Angle || ty.base == BaseType::Float;
        let (mut bits, signed, from) = match value {
            Classical::ValueSet(_) if ty.dims.is_none() => {
                return self.cast_value_set(ty, value, span);
            }
            Classical::BitVector { .. } | Classical::Truth(_) | Classical::AngleBits(_)
                if unsized_number && ty.dims.is_none() =>
            {
                return self.cast_value_set(ty, value, span);
            }
            Classical::Value(value) => {
                return self.explicit_cast(ty, value, span).map(Classical::Value);
            }
            Classical::Truth(condition) if ty.dims.is_none() => {
                return match (ty.base, &ty.size) {
                    (BaseType::Bool | BaseType::Bit, None) => Ok(Classical::Truth(condition)),
                    (BaseType::Int | BaseType::Uint, _) => {
                        self.truth_as_integer(condition, ty, span)
                    }
                    _ => self.refuse("this cast of classical bits", span),
                };
            }
            Classical::BitVector { bits, signed, ty: from } if ty.dims.is_none() => {
                (bits, signed, from)
            }
            Classical::AngleBits(bits)
                if matches!(ty.base, BaseType::Bool | BaseType::Bit | BaseType::Angle) =>
            {
                (bits, false, None)
            }
            _ => return self.refuse("this cast of classical bits", span),
        };
        let width = match &ty.size {
            Some(size) => Some(self.integer(size, "the width of a type")?),
            None => None,
        };
        let order = width.map(|w| w.cmp(&(bits.len() as i128)));
        let integer = self.integer_type(ty)?;
        let unsigned = ty.base == BaseType::Uint;
        match (ty.base, order) {
            (BaseType::Bool, None) => Ok(Classical::Truth(nonzero(bits))),
            (BaseType::Bit, Some(Ordering::Equal)) => Ok(Classical::register(bits)),
            (BaseType::Angle, Some(Ordering::Equal)) if from.is_none() => {
                Ok(Classical::AngleBits(bits))
            }
            (BaseType::Bit, None) if bits.len() == 1 => Ok(Classical::register(bits)),
            // An integer in bits may have fewer digits than its type, or none of its own.
            (BaseType::Bit, Some(_))
                if from.is_some_and(|ty| width == Some(ty.bits.into()) || !ty.sized) =>
            {
                let size = width.and_then(|w| usize::try_from(w).ok()).unwrap_or_default();
                let fill = match bits.last() {
                    Some(&sign) if signed => sign,
                    _ if size <= bits.len() => 0,
                    _ => self.scratch_bit(span)?,
                };
                self.spend(size as u64, span)?;
                bits.resize(size, fill);
                Ok(Classical::register(bits))
            }
            // A register may not have more bits than the integer that it becomes.
            (BaseType::Int | BaseType::Uint, Some(Ordering::Less)) if from.is_none() => {
                self.refuse("this cast of classical bits", span)
            }
            (BaseType::Int | BaseType::Uint, _) => {
                let width = integer.map_or(bits.len(), |ty| ty.bits as usize);
                let narrowed = width <= bits.len();
                bits.truncate(width);
                if signed && unsigned {
                    bits.resize(width, bits.last().copied().unwrap_or_default());
                }
                Ok(Classical::BitVector {
                    bits,
                    signed: !unsigned && (signed || narrowed),
                    ty: integer,
                })
            }
            _ => self.refuse("this cast of classical bits", span),
        }
    }
}

/// Returns the problem of a value of another type than expected.
fn wrong(value: &QasmValue, expected: &str) -> QasmProblem {
    QasmProblem::WrongType { given: value.describe().to_owned(), expected: expected.to_owned() }
}

/// Returns the width that a type gives, if it is valid.
fn valid_width(width: Option<i128>) -> Option<u32> {
    let bits = width.and_then(|given| u32::try_from(given).ok());
    bits.filter(|w| (1..=MAX_WIDTH).contains(w))
}

/// Casts a value to an angle of a width.
fn to_angle(value: QasmValue, width: Option<i128>) -> Result<QasmValue, QasmProblem> {
    let bits_of_type = valid_width(width);
    match &value {
        v if v.is_real() => match (width, bits_of_type) {
            (Some(given), None) => Err(QasmProblem::TypeWidth { given, limit: MAX_WIDTH }),
            // A value with an input in it is not changed.
            _ => {
                Ok(AngleValue::from_value(value, bits_of_type).unwrap_or_else(|symbolic| symbolic))
            }
        },
        QasmValue::Bits { width, bits } if Some(*width) == bits_of_type => {
            Ok(QasmValue::AngleValue(AngleValue::Bits { width: *width, bits: *bits }))
        }
        v => Err(wrong(v, type_name(BaseType::Angle))),
    }
}

/// Casts a value to a float of a width.
fn to_float(value: QasmValue, width: Option<i128>) -> Result<QasmValue, QasmProblem> {
    match &value {
        v if v.is_real() => angle_value::plain(value).and_then(|value| float(value, width)),
        QasmValue::Bool(b) => Ok(QasmValue::Number(RealConstant::decimal(f64::from(u8::from(*b))))),
        QasmValue::Bits { width: 1, bits } => {
            Ok(QasmValue::Number(RealConstant::decimal(f64::from(u8::from(*bits == 1)))))
        }
        v => Err(wrong(v, type_name(BaseType::Float))),
    }
}

/// Casts a value to a truth value.
fn to_truth(value: QasmValue) -> Result<QasmValue, QasmProblem> {
    match &value {
        QasmValue::Bool(_) => Ok(value),
        QasmValue::AngleValue(turn) => Ok(QasmValue::Bool(!turn.is_zero())),
        v if v.constant().is_some() => {
            Ok(QasmValue::Bool(v.constant().is_some_and(|n| n.value != 0.0)))
        }
        QasmValue::Bits { bits, .. } => Ok(QasmValue::Bool(*bits != 0)),
        v => Err(wrong(v, type_name(BaseType::Bool))),
    }
}

/// Casts a value to a bit string of a width, or to a single bit.
fn to_bit_string(value: QasmValue, width: Option<i128>) -> Result<QasmValue, QasmProblem> {
    match (&value, valid_width(width)) {
        (QasmValue::Bits { width, .. }, Some(w)) if *width == w => Ok(value),
        (QasmValue::AngleValue(AngleValue::Bits { width, bits }), Some(w)) if *width == w => {
            Ok(QasmValue::Bits { width: w, bits: *bits })
        }
        (QasmValue::Int(i, Some(ty)), Some(w)) if ty.bits == w && ty.sized => {
            Ok(QasmValue::Bits { width: w, bits: ty.bits_of(*i) })
        }
        (QasmValue::Int(i @ 0.., _), Some(w)) if IntegerType::sized(w, true).holds(*i) => {
            Ok(QasmValue::Bits { width: w, bits: i.unsigned_abs() })
        }
        (QasmValue::Bool(b), None) => Ok(QasmValue::Bits { width: 1, bits: u128::from(*b) }),
        (QasmValue::Int(i @ 0..=1, _), None) => {
            Ok(QasmValue::Bits { width: 1, bits: u128::from(*i == 1) })
        }
        (QasmValue::Bits { width: 1, .. }, None) => Ok(value),
        (v, _) => Err(wrong(v, "a bit string of this width")),
    }
}

/// Casts a number to a float of a width. Those of 64 bits and more, or of no width, hold every
/// number as it is here; narrower ones round it.
fn float(value: QasmValue, width: Option<i128>) -> Result<QasmValue, QasmProblem> {
    let Some([digits, least, most]) = width.map_or(Ok(None), float_form)? else {
        return Ok(match value.number() {
            Some(n) => QasmValue::Number(n),
            None => value,
        });
    };
    let Some(n) = value.constant() else { return Ok(value) };
    let exponent = n.value.abs().log2().floor().max(f64::from(least));
    let unit = 2f64.powf(exponent - f64::from(digits));
    let near = (n.value / unit).round_ties_even() * unit;
    if near.abs() >= 2f64.powf(f64::from(most) + 1.0) {
        return Err(QasmProblem::NotFinite);
    }
    Ok(QasmValue::Number(RealConstant::decimal(near)))
}

/// Returns the number of binary digits after the point, and the least and the greatest exponent of
/// a float of a width; `None` for one that holds every number.
fn float_form(width: i128) -> Result<Option<[i32; 3]>, QasmProblem> {
    match width {
        64.. => Ok(None),
        32 => Ok(Some([23, -126, 127])),
        16 => Ok(Some([10, -14, 15])),
        other => {
            let expected = "a float of 16, 32, 64 or more".to_owned();
            Err(QasmProblem::WrongType { given: format!("a width of {other} bits"), expected })
        }
    }
}

fn type_name(base: BaseType) -> &'static str {
    match base {
        BaseType::Qubit => "a qubit",
        BaseType::Bit => "a bit string",
        BaseType::Bool => "a truth value",
        BaseType::Int | BaseType::Uint => "an integer",
        BaseType::Float | BaseType::Angle => "a number",
        BaseType::Complex => "a complex number",
        BaseType::Duration | BaseType::Stretch => "a duration",
    }
}
