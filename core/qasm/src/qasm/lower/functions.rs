//! Functions of expressions.
//!
//! Smooth ones take parameters; the others need constants, since a derivative must exist.

#![deny(clippy::arithmetic_side_effects)]

use num_complex::Complex;
use num_traits::ToPrimitive;

use super::{
    angle_value::AngleValue,
    arithmetic,
    integer::IntegerType,
    runtime,
    value::{QasmValue, RealConstant},
};
use crate::{
    param::ElementaryFunction,
    qasm::{Version, ast::BinaryOp, diagnostic::QasmProblem},
};

/// All names, for suggestions.
pub(super) const NAMES: &[&str] = &[
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "asin", "acos", "atan", "exp", "ln", "log",
    "sqrt", "pow", "mod", "abs", "floor", "ceiling", "ceil", "popcount", "rotl", "rotr", "sizeof",
    "real", "imag",
];

/// The value of `name(args)`.
pub(super) fn call(name: &str, args: Vec<QasmValue>) -> Result<QasmValue, QasmProblem> {
    let expected = match name {
        "pow" | "mod" | "rotl" | "rotr" => 2,
        "sizeof" if args.len() == 2 => 2,
        _ if NAMES.contains(&name) => 1,
        _ => return Err(QasmProblem::UnknownFunction { name: name.to_owned() }),
    };
    let given = args.len();
    let is_runtime = args.iter().any(|arg| matches!(arg, QasmValue::Runtime(_)));
    if given == expected && is_runtime && name != "sizeof" {
        return runtime::call(name, args);
    }
    let mut args = args.into_iter();
    match (args.next(), args.next()) {
        (Some(x), None) if expected == 1 => unary(name, x),
        (Some(x), Some(y)) if expected == 2 && given == 2 => match name {
            "pow" => arithmetic::power(x, y, Version::V3),
            "mod" => modulo(x, y),
            "sizeof" => dimension(x, y),
            _ => rotate(x, y, name == "rotl"),
        },
        _ => Err(QasmProblem::ArgumentCount { name: name.to_owned(), given, expected }),
    }
}

fn unary(name: &str, x: QasmValue) -> Result<QasmValue, QasmProblem> {
    if let (QasmValue::Complex(z), true) = (&x, !matches!(name, "floor" | "ceiling" | "ceil")) {
        return of_complex(name, *z).ok_or_else(|| wrong(&x));
    }
    match (name, x.complex()) {
        ("real", Some(_)) => return Ok(x),
        ("imag", Some(_)) => return Ok(QasmValue::int(0)),
        _ => {}
    }
    let function = match name {
        "sin" => ElementaryFunction::Sin,
        "cos" => ElementaryFunction::Cos,
        "tan" => ElementaryFunction::Tan,
        "arcsin" | "asin" => ElementaryFunction::Asin,
        "arccos" | "acos" => ElementaryFunction::Acos,
        "arctan" | "atan" => ElementaryFunction::Atan,
        "exp" => ElementaryFunction::Exp,
        "ln" | "log" => ElementaryFunction::Ln,
        "sqrt" => ElementaryFunction::Sqrt,
        _ => return constant(name, x),
    };
    arithmetic::smooth(function, x)
}

/// A function of a complex number, at its principal value.
fn of_complex(name: &str, z: Complex<f64>) -> Option<QasmValue> {
    let real = |x| QasmValue::Number(RealConstant::decimal(x));
    let value = match name {
        "real" => real(z.re),
        "imag" => real(z.im),
        "abs" => real(z.norm()),
        "exp" => QasmValue::Complex(z.exp()),
        "sqrt" => QasmValue::Complex(z.sqrt()),
        "ln" | "log" => QasmValue::Complex(z.ln()),
        "sin" => QasmValue::Complex(z.sin()),
        "cos" => QasmValue::Complex(z.cos()),
        _ => return None,
    };
    match &value {
        QasmValue::Complex(z) if !z.is_finite() => None,
        _ => Some(value),
    }
}

fn constant(name: &str, x: QasmValue) -> Result<QasmValue, QasmProblem> {
    match (name, &x) {
        (
            "popcount",
            QasmValue::Bits { bits, .. } | QasmValue::AngleValue(AngleValue::Bits { bits, .. }),
        ) => {
            return Ok(ones(*bits));
        }
        ("popcount", QasmValue::Int(i, Some(ty))) => return Ok(ones(ty.bits_of(*i))),
        ("popcount", QasmValue::Int(i @ 0.., None)) => return Ok(ones(i.unsigned_abs())),
        ("sizeof", QasmValue::Array(items)) => return Ok(QasmValue::int(items.len() as i128)),
        ("abs", QasmValue::Int(i, _)) => return if *i < 0 { x.negate() } else { Ok(x) },
        ("floor" | "ceiling" | "ceil", QasmValue::Int(..)) => return Ok(x),
        ("abs", QasmValue::AngleValue(_)) => return Ok(x),
        ("abs", QasmValue::Angle(a)) if a.constant().is_some() => {
            return if a.constant().is_some_and(|v| v < 0.0) { x.negate() } else { Ok(x) };
        }
        _ => {}
    }
    let Some(n) = x.constant() else {
        let what = format!("the argument of `{name}`");
        return Err(if x.is_real() { QasmProblem::NotConstant { what } } else { wrong(&x) });
    };
    let result = match name {
        "abs" => {
            return if n.value < 0.0 {
                QasmValue::Number(n).negate()
            } else {
                Ok(QasmValue::Number(n))
            };
        }
        "floor" => n.floor(),
        "ceiling" | "ceil" => n.ceil(),
        _ => return Err(wrong(&x)),
    };
    Ok(QasmValue::Number(RealConstant::decimal(result)))
}

/// Returns the number of bits that are 1 (the population count), a `uint`.
fn ones(bits: u128) -> QasmValue {
    QasmValue::Int(i128::from(bits.count_ones()), Some(IntegerType::plain(true)))
}

fn wrong(x: &QasmValue) -> QasmProblem {
    QasmProblem::WrongType { given: x.describe().to_owned(), expected: "a number".to_owned() }
}

/// The size of an array along a dimension.
fn dimension(x: QasmValue, which: QasmValue) -> Result<QasmValue, QasmProblem> {
    let QasmValue::Int(which @ 0..=64, _) = which else { return Err(wrong(&which)) };
    let mut array = x;
    for _ in 0..which {
        let QasmValue::Array(items) = &array else { break };
        array = items.first().cloned().unwrap_or(QasmValue::int(0));
    }
    constant("sizeof", array)
}

/// Returns the remainder with the sign of the divisor.
fn modulo(x: QasmValue, y: QasmValue) -> Result<QasmValue, QasmProblem> {
    let rest = arithmetic::binary(BinaryOp::Rem, x, y.clone(), Version::V3)?;
    let negative = |v: &QasmValue| v.constant().is_some_and(|n| n.value < 0.0);
    let zero = rest.constant().is_some_and(|n| n.value == 0.0);
    if !zero && negative(&rest) != negative(&y) { arithmetic::add(rest, y) } else { Ok(rest) }
}

fn rotate(x: QasmValue, by: QasmValue, left: bool) -> Result<QasmValue, QasmProblem> {
    let QasmValue::Int(by, _) = by else { return Err(wrong(&by)) };
    let (width, bits) = match &x {
        QasmValue::Bits { width, bits }
        | QasmValue::AngleValue(AngleValue::Bits { width, bits }) => (*width, *bits),
        QasmValue::Int(i, Some(ty)) => (ty.bits, ty.bits_of(*i)),
        _ => return Err(wrong(&x)),
    };
    let by =
        by.checked_rem_euclid(i128::from(width)).and_then(|by| by.to_u32()).unwrap_or_default();
    // Up by that many places, and by the rest down.
    let rest = width.saturating_sub(by);
    let (up, down) = if left { (by, rest) } else { (rest, by) };
    let high = bits.checked_shl(up).unwrap_or(0) | bits.checked_shr(down).unwrap_or(0);
    let bits = high & arithmetic::mask(width);
    Ok(match x {
        QasmValue::AngleValue(_) => QasmValue::AngleValue(AngleValue::Bits { width, bits }),
        QasmValue::Int(_, Some(ty)) => {
            QasmValue::Int(IntegerType { sized: true, ..ty }.wrap(bits.cast_signed()), Some(ty))
        }
        _ => QasmValue::Bits { width, bits },
    })
}
