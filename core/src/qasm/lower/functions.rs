//! The functions of expressions.
//!
//! Smooth ones take parameters; the others need constants, since a derivative must exist.

use num_traits::ToPrimitive;

use super::{
    arithmetic,
    turn::Turn,
    value::{Number, Value},
};
use crate::{
    param::Function,
    qasm::{Version, ast::BinaryOp, diagnostic::Problem},
};

/// All names, for suggestions.
pub(super) const NAMES: &[&str] = &[
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "asin", "acos", "atan", "exp", "ln", "log", "sqrt",
    "pow", "mod", "abs", "floor", "ceiling", "ceil", "popcount", "rotl", "rotr", "sizeof",
];

/// The value of `name(args)`.
pub(super) fn call(name: &str, args: Vec<Value>) -> Result<Value, Problem> {
    let expected = match name {
        "pow" | "mod" | "rotl" | "rotr" => 2,
        "sizeof" if args.len() == 2 => 2,
        _ if NAMES.contains(&name) => 1,
        _ => return Err(Problem::UnknownFunction { name: name.to_owned() }),
    };
    let given = args.len();
    let mut args = args.into_iter();
    match (args.next(), args.next()) {
        (Some(x), None) if expected == 1 => unary(name, x),
        (Some(x), Some(y)) if expected == 2 && given == 2 => match name {
            "pow" => arithmetic::power(x, y, Version::V3),
            "mod" => modulo(x, y),
            "sizeof" => dimension(x, y),
            _ => rotate(x, y, name == "rotl"),
        },
        _ => Err(Problem::ArgumentCount { name: name.to_owned(), given, expected }),
    }
}

fn unary(name: &str, x: Value) -> Result<Value, Problem> {
    let function = match name {
        "sin" => Function::Sin,
        "cos" => Function::Cos,
        "tan" => Function::Tan,
        "arcsin" | "asin" => Function::Asin,
        "arccos" | "acos" => Function::Acos,
        "arctan" | "atan" => Function::Atan,
        "exp" => Function::Exp,
        "ln" | "log" => Function::Ln,
        "sqrt" => Function::Sqrt,
        _ => return constant(name, x),
    };
    arithmetic::smooth(function, x)
}

fn constant(name: &str, x: Value) -> Result<Value, Problem> {
    match (name, &x) {
        ("popcount", Value::Bits { bits, .. }) => return Ok(Value::Int(i128::from(bits.count_ones()))),
        ("popcount", Value::Turn(Turn::Bits { bits, .. })) => {
            return Ok(Value::Int(i128::from(bits.count_ones())));
        }
        ("popcount", Value::Int(i @ 0..)) => return Ok(Value::Int(i128::from(i.count_ones()))),
        ("sizeof", Value::Array(items)) => return Ok(Value::Int(items.len() as i128)),
        ("abs", Value::Int(i)) => {
            let what = "the absolute value".to_owned();
            return i.checked_abs().map(Value::Int).ok_or(Problem::IntegerOverflow { what });
        }
        ("floor" | "ceiling" | "ceil", Value::Int(_)) => return Ok(x),
        ("abs", Value::Turn(_)) => return Ok(x),
        ("abs", Value::Angle(a)) if a.constant().is_some() => {
            return if a.constant().is_some_and(|v| v < 0.0) { x.negate() } else { Ok(x) };
        }
        _ => {}
    }
    let Some(n) = x.constant() else {
        let what = format!("the argument of `{name}`");
        return Err(if x.is_real() { Problem::NotConstant { what } } else { wrong(&x) });
    };
    let result = match name {
        "abs" => return if n.value < 0.0 { Value::Number(n).negate() } else { Ok(Value::Number(n)) },
        "floor" => n.value.floor(),
        "ceiling" | "ceil" => n.value.ceil(),
        _ => return Err(wrong(&x)),
    };
    Ok(Value::Number(Number::decimal(result)))
}

fn wrong(x: &Value) -> Problem {
    Problem::WrongType { given: x.describe().to_owned(), expected: "another kind of value".to_owned() }
}

/// The size of an array along a dimension.
fn dimension(x: Value, which: Value) -> Result<Value, Problem> {
    let Value::Int(which @ 0..=64) = which else { return Err(wrong(&which)) };
    let mut array = x;
    for _ in 0..which {
        let Value::Array(items) = &array else { break };
        array = items.first().cloned().unwrap_or(Value::Int(0));
    }
    constant("sizeof", array)
}

/// The remainder with the sign of the divisor.
fn modulo(x: Value, y: Value) -> Result<Value, Problem> {
    let rest = arithmetic::binary(BinaryOp::Rem, x, y.clone(), Version::V3)?;
    let negative = |v: &Value| v.constant().is_some_and(|n| n.value < 0.0);
    let zero = rest.constant().is_some_and(|n| n.value == 0.0);
    if !zero && negative(&rest) != negative(&y) { arithmetic::add(rest, y) } else { Ok(rest) }
}

fn rotate(x: Value, by: Value, left: bool) -> Result<Value, Problem> {
    let Value::Int(by) = by else { return Err(wrong(&by)) };
    let (Value::Bits { width, bits } | Value::Turn(Turn::Bits { width, bits })) = &x else {
        return Err(wrong(&x));
    };
    let by = by.rem_euclid(i128::from(*width)).to_u32().unwrap_or_default();
    let up = if left { by } else { (width - by) % width };
    let mask = arithmetic::mask(*width);
    let high = if up == 0 { *bits } else { bits << up | bits >> (width - up) };
    let (width, bits) = (*width, high & mask);
    Ok(if let Value::Turn(_) = x {
        Value::Turn(Turn::Bits { width, bits })
    } else {
        Value::Bits { width, bits }
    })
}
