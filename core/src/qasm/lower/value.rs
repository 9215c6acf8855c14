//! The values of expressions, and arithmetic that stays exact as long as it can.
//!
//! ```text
//! 3*pi/8          Angle   3/8 pi, exact
//! 0.3*theta       Angle   3/10 theta: a decimal of at most 12 digits is a fraction
//! 0.3             Number  0.3 radians
//! sin(theta)*2    Expr    a postfix table
//! sin(0.2)        Number  computed once, in f64
//! ```
//! A [`Number`] carries its f64 and, while 62 bits hold it, the fraction that it is.
//!
//! Errors have no place: whoever evaluates knows where it stands.

use std::rc::Rc;

use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub, ToPrimitive};

use crate::{
    param::{Angle, Function, ParamExpr, Q, Step},
    qasm::{Version, ast::BinaryOp, diagnostic::Problem},
};

/// What an expression stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Int(i128),
    /// A bit string; the last character is bit 0.
    Bits {
        width: u32,
        bits: u128,
    },
    Number(Number),
    /// A sum of a multiple of pi, multiples of parameters and a number; not a mere number.
    Angle(Angle),
    /// Anything else over parameters.
    Expr(ParamExpr),
    Array(Rc<[Value]>),
    /// A value that no gate takes, by its description.
    Other(&'static str),
}

/// A real constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    pub(super) value: f64,
    form: Form,
}

/// How a constant came about, and with it which fraction it is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// Written as a decimal: a fraction if it is short. Found out only when needed.
    Decimal,
    /// Computed from fractions.
    Fraction(Q),
    /// Computed otherwise.
    Rounded,
}

impl Form {
    fn negate(self) -> Form {
        match self {
            Form::Fraction(q) => Form::Fraction(-q),
            other => other,
        }
    }
}

/// How large the parts of an exact fraction may get.
const LIMIT: i64 = 1 << 62;

/// The most digits of a decimal that is taken for an exact fraction.
const EXACT_DIGITS: usize = 12;

/// Up to this exponent a power of parameters becomes a product, whose slope exists everywhere.
const PRODUCT_POWER: i64 = 8;

fn fits(q: Q) -> Option<Q> {
    (-LIMIT < *q.numer() && *q.numer() < LIMIT && *q.denom() < LIMIT).then_some(q)
}

impl Number {
    /// A decimal: exact if it is short.
    pub(super) fn decimal(value: f64) -> Number {
        Number { value, form: Form::Decimal }
    }

    fn with(value: f64, exact: Option<Q>) -> Number {
        Number { value, form: exact.map_or(Form::Rounded, Form::Fraction) }
    }

    /// A fraction.
    pub(super) fn fraction(q: Q) -> Number {
        Number::with(q.to_f64().unwrap_or(f64::NAN), fits(q))
    }

    /// The product with an integer.
    pub(super) fn times(self, k: i64) -> Number {
        let exact = self.exact().and_then(|q| q.checked_mul(&Q::from_integer(k))).and_then(fits);
        Number::with(self.value * k.to_f64().unwrap_or(f64::NAN), exact)
    }

    /// The fraction that it is exactly, if known.
    pub(super) fn exact(self) -> Option<Q> {
        match self.form {
            Form::Decimal => short_decimal(self.value),
            Form::Fraction(q) => Some(q),
            Form::Rounded => None,
        }
    }

    fn computed(value: f64) -> Result<Value, Problem> {
        Number::with(value, None).checked()
    }

    fn checked(self) -> Result<Value, Problem> {
        if self.value.is_finite() { Ok(Value::Number(self)) } else { Err(Problem::NotFinite) }
    }

    fn integer(value: i128) -> Number {
        let exact = i64::try_from(value).ok().map(Q::from_integer).and_then(fits);
        // The nearest f64 is what is wanted of a large integer.
        Number::with(value.to_f64().unwrap_or(f64::NAN), exact)
    }
}

/// The fraction that a float with at most 12 significant digits is.
fn short_decimal(value: f64) -> Option<Q> {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e')?;
    let digits = mantissa.replace('.', "");
    let fraction = mantissa.split_once('.').map_or(0, |(_, f)| f.len());
    if digits.trim_start_matches('-').len() > EXACT_DIGITS {
        return None;
    }
    let scale = exponent.parse::<i32>().ok()? - i32::try_from(fraction).ok()?;
    let digits: i64 = digits.parse().ok()?;
    let power = 10i64.checked_pow(scale.unsigned_abs())?;
    fits(if scale < 0 { Q::new(digits, power) } else { Q::from_integer(digits.checked_mul(power)?) })
}

impl Value {
    pub(super) fn describe(&self) -> &'static str {
        match self {
            Value::Bool(_) => "a truth value",
            Value::Int(_) => "an integer",
            Value::Bits { .. } => "a bit string",
            Value::Number(_) => "a number",
            Value::Angle(a) if a.is_constant() => "an angle",
            Value::Angle(_) | Value::Expr(_) => "an expression in parameters",
            Value::Array(_) => "an array",
            Value::Other(what) => what,
        }
    }

    /// An angle as a value: a number if nothing but radians is in it.
    pub(super) fn linear(angle: Angle) -> Result<Value, Problem> {
        let radians = angle.radian_part();
        if !radians.is_finite() {
            return Err(Problem::NotFinite);
        }
        if *angle.pi_part().numer() != 0 || !angle.is_constant() {
            return Ok(Value::Angle(angle));
        }
        Ok(Value::Number(Number::decimal(radians)))
    }

    /// The real constant that this is, be it an integer.
    pub(super) fn number(&self) -> Option<Number> {
        match self {
            Value::Int(i) => Some(Number::integer(*i)),
            Value::Number(n) => Some(*n),
            _ => None,
        }
    }

    /// The real constant that this is, be it a multiple of pi.
    pub(super) fn constant(&self) -> Option<Number> {
        match self {
            Value::Angle(a) => a.constant().map(|value| Number::with(value, None)),
            other => other.number(),
        }
    }

    /// The angle that this is, unless a product or function of parameters.
    pub(super) fn angle(&self) -> Option<Angle> {
        match self {
            Value::Angle(a) => Some(a.clone()),
            other => other.number().map(|n| Angle::rad(n.value)),
        }
    }

    /// The expression that this is, if a real value at all.
    fn expr(&self) -> Option<ParamExpr> {
        match self {
            Value::Expr(e) => Some(e.clone()),
            other => other.angle().map(ParamExpr::from),
        }
    }

    pub(super) fn is_real(&self) -> bool {
        matches!(self, Value::Int(_) | Value::Number(_) | Value::Angle(_) | Value::Expr(_))
    }

    pub(super) fn negate(self) -> Result<Value, Problem> {
        match self {
            Value::Int(i) => i.checked_neg().map(Value::Int).ok_or_else(|| overflow("the negative")),
            Value::Number(n) => Ok(Value::Number(Number { value: -n.value, form: n.form.negate() })),
            Value::Angle(a) => Value::linear(-a),
            Value::Expr(e) => Ok(Value::Expr(e.negate())),
            other => Err(Problem::Operands { operator: "-".to_owned(), given: other.describe().to_owned() }),
        }
    }
}

fn overflow(what: &str) -> Problem {
    Problem::IntegerOverflow { what: what.to_owned() }
}

fn mismatch(operator: &str, left: &Value, right: &Value) -> Problem {
    let given = format!("{} and {}", left.describe(), right.describe());
    Problem::Operands { operator: operator.to_owned(), given }
}

/// `left op right`. In OpenQASM 2 the division of integers is that of numbers.
pub(super) fn binary(op: BinaryOp, left: Value, right: Value, version: Version) -> Result<Value, Problem> {
    use BinaryOp::*;
    match op {
        Add | Sub | Mul | Div if !(left.is_real() && right.is_real()) => {
            Err(mismatch(op.text(), &left, &right))
        }
        Add => add(left, right),
        Sub => sub(left, right),
        Mul => multiply(left, right),
        Div => divide(left, right, version),
        Rem => remainder(left, right),
        And | Or => match (&left, &right) {
            (Value::Bool(a), Value::Bool(b)) => Ok(Value::Bool(if op == And { *a && *b } else { *a || *b })),
            _ => Err(mismatch(op.text(), &left, &right)),
        },
        Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual => compare(op, &left, &right),
        BitAnd | BitOr | BitXor | Shl | Shr => bitwise(op, left, right),
        Concat => Err(mismatch(op.text(), &left, &right)),
    }
}

fn symbolic(step: Step, left: &Value, right: &Value, operator: &str) -> Result<Value, Problem> {
    match (left.expr(), right.expr()) {
        (Some(l), Some(r)) => Ok(Value::Expr(l.binary(step, r))),
        _ => Err(mismatch(operator, left, right)),
    }
}

pub(super) fn add(left: Value, right: Value) -> Result<Value, Problem> {
    if let (Value::Int(a), Value::Int(b)) = (&left, &right) {
        return a.checked_add(b).map(Value::Int).ok_or_else(|| overflow("the sum"));
    }
    if let (Some(a), Some(b)) = (left.number(), right.number()) {
        let exact = a.exact().zip(b.exact()).and_then(|(a, b)| a.checked_add(&b)).and_then(fits);
        return Number::with(a.value + b.value, exact).checked();
    }
    match (left.angle(), right.angle()) {
        (Some(a), Some(b)) => Value::linear(a + b),
        _ => symbolic(Step::Add, &left, &right, "+"),
    }
}

fn sub(left: Value, right: Value) -> Result<Value, Problem> {
    if let (Value::Int(a), Value::Int(b)) = (&left, &right) {
        return a.checked_sub(b).map(Value::Int).ok_or_else(|| overflow("the difference"));
    }
    if let (Some(a), Some(b)) = (left.number(), right.number()) {
        let exact = a.exact().zip(b.exact()).and_then(|(a, b)| a.checked_sub(&b)).and_then(fits);
        return Number::with(a.value - b.value, exact).checked();
    }
    match (left.angle(), right.angle()) {
        (Some(a), Some(b)) => Value::linear(a - b),
        _ => symbolic(Step::Sub, &left, &right, "-"),
    }
}

/// A fraction times an angle.
pub(super) fn scale(angle: Angle, q: Q) -> Result<Value, Problem> {
    Value::linear(angle * q)
}

pub(super) fn multiply(left: Value, right: Value) -> Result<Value, Problem> {
    if let (Value::Int(a), Value::Int(b)) = (&left, &right) {
        return a.checked_mul(b).map(Value::Int).ok_or_else(|| overflow("the product"));
    }
    if let (Some(a), Some(b)) = (left.number(), right.number()) {
        let exact = a.exact().zip(b.exact()).and_then(|(a, b)| a.checked_mul(&b)).and_then(fits);
        return Number::with(a.value * b.value, exact).checked();
    }
    match (&left, &right) {
        (Value::Angle(a), other) | (other, Value::Angle(a))
            if other.number().is_some_and(|n| n.exact().is_some()) =>
        {
            let q = other.number().and_then(|n| n.exact()).unwrap_or_default();
            scale(a.clone(), q)
        }
        _ => match (left.constant(), right.constant()) {
            (Some(a), Some(b)) => Number::computed(a.value * b.value),
            _ => symbolic(Step::Mul, &left, &right, "*"),
        },
    }
}

fn divide(left: Value, right: Value, version: Version) -> Result<Value, Problem> {
    if right.constant().is_some_and(|n| n.value == 0.0) {
        return Err(Problem::DivisionByZero);
    }
    if let (Value::Int(a), Value::Int(b), Version::V3) = (&left, &right, version) {
        return a.checked_div(b).map(Value::Int).ok_or_else(|| overflow("the quotient"));
    }
    if let (Some(a), Some(b)) = (left.number(), right.number()) {
        let exact = a.exact().zip(b.exact()).and_then(|(a, b)| a.checked_div(&b)).and_then(fits);
        return Number::with(a.value / b.value, exact).checked();
    }
    if let (Value::Angle(a), Some(n)) = (&left, right.number())
        && let Some(q) = n.exact()
        && let Some(inverse) = Q::from_integer(1).checked_div(&q).and_then(fits)
    {
        return scale(a.clone(), inverse);
    }
    match (left.constant(), right.constant()) {
        (Some(x), Some(y)) => {
            let exact = match (&left, &right) {
                (Value::Angle(a), Value::Angle(b)) if a.radian_part() == 0.0 && b.radian_part() == 0.0 => {
                    a.pi_part().checked_div(&b.pi_part()).and_then(fits)
                }
                _ => None,
            };
            let value = exact.and_then(|q| q.to_f64()).unwrap_or(x.value / y.value);
            Number::with(value, exact).checked()
        }
        _ => symbolic(Step::Div, &left, &right, "/"),
    }
}

fn remainder(left: Value, right: Value) -> Result<Value, Problem> {
    match (&left, &right, left.constant(), right.constant()) {
        (Value::Int(_) | Value::Number(_), _, _, Some(b)) if b.value == 0.0 => Err(Problem::DivisionByZero),
        (Value::Int(a), Value::Int(b), ..) => {
            a.checked_rem(*b).map(Value::Int).ok_or_else(|| overflow("the remainder"))
        }
        (_, _, Some(a), Some(b)) => Number::computed(a.value % b.value),
        _ => Err(mismatch("%", &left, &right)),
    }
}

/// `base ** exponent`.
pub(super) fn power(base: Value, exponent: Value, version: Version) -> Result<Value, Problem> {
    if let (Value::Int(a), Value::Int(n), Version::V3) = (&base, &exponent, version)
        && *n >= 0
    {
        let result = u32::try_from(*n).ok().and_then(|n| a.checked_pow(n));
        return result.or((*a == 1).then_some(1)).map(Value::Int).ok_or_else(|| overflow("the power"));
    }
    if !base.is_real() || !exponent.is_real() {
        return Err(mismatch("**", &base, &exponent));
    }
    if let (Some(x), Some(y)) = (base.constant(), exponent.constant()) {
        if x.value == 0.0 && y.value < 0.0 {
            return Err(Problem::DivisionByZero);
        }
        let whole =
            y.exact().filter(|q| *q.denom() == 1 && q.numer().unsigned_abs() <= 64).map(|q| *q.numer());
        let exact = x.exact().zip(whole).and_then(|(x, n)| exact_power(x, n));
        return Number::with(x.value.powf(y.value), exact).checked();
    }
    let whole = exponent.number().and_then(|n| n.exact()).filter(|q| *q.denom() == 1).map(|q| *q.numer());
    match (whole, base.expr()) {
        (Some(0), _) => Ok(Value::Int(1)),
        (Some(1), _) => Ok(base),
        (Some(n @ 2..=PRODUCT_POWER), Some(x)) if x.steps().len() <= 8 => {
            Ok(Value::Expr((1..n).fold(x.clone(), |product, _| product.binary(Step::Mul, x.clone()))))
        }
        (Some(-1), Some(x)) => Ok(Value::Expr(ParamExpr::from(Angle::rad(1.0)).binary(Step::Div, x))),
        _ => symbolic(Step::Pow, &base, &exponent, "**"),
    }
}

fn exact_power(x: Q, n: i64) -> Option<Q> {
    let mut result = Q::from_integer(1);
    for _ in 0..n.unsigned_abs() {
        result = fits(if n > 0 { result.checked_mul(&x)? } else { result.checked_div(&x)? })?;
    }
    Some(result)
}

fn compare(op: BinaryOp, left: &Value, right: &Value) -> Result<Value, Problem> {
    use std::cmp::Ordering;
    let ordering = match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Bits { bits: a, .. }, Value::Bits { bits: b, .. }) => Some(a.cmp(b)),
        (Value::Bits { bits, .. }, Value::Int(i)) => Some(with_integer(*bits, *i)),
        (Value::Int(i), Value::Bits { bits, .. }) => Some(with_integer(*bits, *i).reverse()),
        (Value::Bits { width: 1, bits }, Value::Bool(b)) => Some((*bits == 1).cmp(b)),
        (Value::Bool(b), Value::Bits { width: 1, bits }) => Some(b.cmp(&(*bits == 1))),
        _ => match (left.constant(), right.constant()) {
            (Some(a), Some(b)) => match (a.exact(), b.exact()) {
                (Some(p), Some(q)) => Some(p.cmp(&q)),
                _ => a.value.partial_cmp(&b.value),
            },
            _ => None,
        },
    };
    let ordering = ordering.ok_or_else(|| mismatch(op.text(), left, right))?;
    Ok(Value::Bool(match op {
        BinaryOp::Equal => ordering == Ordering::Equal,
        BinaryOp::NotEqual => ordering != Ordering::Equal,
        BinaryOp::Less => ordering == Ordering::Less,
        BinaryOp::LessEqual => ordering != Ordering::Greater,
        BinaryOp::Greater => ordering == Ordering::Greater,
        _ => ordering != Ordering::Less,
    }))
}

/// A bit string, as an unsigned number, compared with an integer.
fn with_integer(bits: u128, integer: i128) -> std::cmp::Ordering {
    u128::try_from(integer).map_or(std::cmp::Ordering::Greater, |i| bits.cmp(&i))
}

fn bitwise(op: BinaryOp, left: Value, right: Value) -> Result<Value, Problem> {
    use BinaryOp::*;
    let apply = |a: u128, b: u128| match op {
        BitAnd => a & b,
        BitOr => a | b,
        _ => a ^ b,
    };
    match (&left, &right, op) {
        (Value::Bool(a), Value::Bool(b), BitAnd | BitOr | BitXor) => {
            Ok(Value::Bool(apply(u128::from(*a), u128::from(*b)) == 1))
        }
        (Value::Int(a), Value::Int(b), BitAnd | BitOr | BitXor) => Ok(Value::Int(match op {
            BitAnd => a & b,
            BitOr => a | b,
            _ => a ^ b,
        })),
        (Value::Bits { width, bits: a }, Value::Bits { width: w, bits: b }, BitAnd | BitOr | BitXor)
            if width == w =>
        {
            Ok(Value::Bits { width: *width, bits: apply(*a, *b) })
        }
        (Value::Int(a), Value::Int(n @ 0..=126), Shl | Shr) => {
            let result = if op == Shr { Some(a >> n) } else { a.checked_mul(&(1i128 << n)) };
            result.map(Value::Int).ok_or_else(|| overflow("the shifted integer"))
        }
        (Value::Bits { width, bits }, Value::Int(n @ 0..=127), Shl | Shr) => {
            let shifted = if op == Shr { bits >> n } else { bits << n };
            Ok(Value::Bits { width: *width, bits: shifted & mask(*width) })
        }
        _ => Err(mismatch(op.text(), &left, &right)),
    }
}

/// The lowest `width` bits.
pub(super) fn mask(width: u32) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

/// A smooth function.
pub(super) fn smooth(function: Function, x: Value) -> Result<Value, Problem> {
    match (x.constant(), x.expr()) {
        (Some(n), _) => Number::computed(function.apply(&n.value)),
        (None, Some(e)) => Ok(Value::Expr(e.call(function))),
        (None, None) => {
            Err(Problem::WrongType { given: x.describe().to_owned(), expected: "a number".to_owned() })
        }
    }
}
