//! Values that are known only when the circuit runs: expressions over bits, variables and
//! parameters.
//!
//! ```text
//! bit[2] c;  uint[4] n;  input float a;
//! n + 1              n is in the memory of the run: the expression `n + 1`, a uint[4]
//! uint[4](c) * 2     the expression `uint[4](c) * 2`
//! ```
//! An operator on known values is evaluated while the file is read. If an operand is known only
//! when the circuit runs, all of them become parts of an expression, by the same rules.

use num_complex::Complex;

use super::{
    QasmValue,
    angle_value::AngleValue,
    integer::IntegerType,
    value::{RealConstant, wrong_operand},
};
use crate::{
    circuit::{Condition, Relation},
    classical::{
        Arithmetic, ClassicalError, ClassicalExpr, ClassicalFunction, ClassicalType, FloatType,
        IntType,
    },
    param::{ElementaryFunction, ParamExpr, Step},
    qasm::{
        ast::{BinaryOp, UnaryOp},
        diagnostic::QasmProblem,
    },
};

/// Width of an `angle` without one in memory.
pub(super) const ANGLE: u32 = 64;

/// The problem of an expression that has no meaning.
pub(super) fn problem(error: ClassicalError) -> QasmProblem {
    match error {
        ClassicalError::Operands { operator, left, right } => {
            QasmProblem::Operands { operator, given: format!("{left} and {right}") }
        }
        ClassicalError::Operand { operator, given } => QasmProblem::Operands { operator, given },
        ClassicalError::Cast { from, to } => {
            QasmProblem::WrongType { given: from, expected: to.to_string() }
        }
        ClassicalError::DivisionByZero => QasmProblem::DivisionByZero,
        other => QasmProblem::Circuit { reason: other.to_string() },
    }
}

/// Returns a value as an expression.
pub(super) fn expr(value: QasmValue) -> Result<ClassicalExpr, QasmProblem> {
    Ok(match value {
        QasmValue::Runtime(expr) => *expr,
        QasmValue::Bool(holds) => ClassicalExpr::from(holds),
        QasmValue::Int(value, None) => ClassicalExpr::literal(value),
        QasmValue::Int(value, Some(ty)) => {
            let ty = ClassicalType::Int(int_type(ty));
            ClassicalExpr::literal(value).cast(ty).map_err(problem)?
        }
        QasmValue::Bits { width, bits } => {
            ClassicalExpr::constant(ClassicalType::Bits(width), bits)
        }
        QasmValue::Number(number) => ClassicalExpr::from(number.value),
        QasmValue::Angle(angle) => ClassicalExpr::angle(angle),
        QasmValue::AngleValue(AngleValue::Bits { width, bits }) => {
            ClassicalExpr::constant(ClassicalType::Angle(width), bits)
        }
        QasmValue::AngleValue(angle) => ClassicalExpr::angle(angle.radians())
            .cast(ClassicalType::Angle(ANGLE))
            .map_err(problem)?,
        QasmValue::Expr(expr) => of_parameters(&expr)?,
        QasmValue::Complex(z) => complex(z)?,
        other => {
            let (given, expected) = (other.describe().to_owned(), "a number".to_owned());
            return Err(QasmProblem::WrongType { given, expected });
        }
    })
}

fn complex(z: Complex<f64>) -> Result<ClassicalExpr, QasmProblem> {
    let word = u128::from(z.im.to_bits()) << 64 | u128::from(z.re.to_bits());
    Ok(ClassicalExpr::constant(ClassicalType::Complex(FloatType::F64), word))
}

/// Returns an expression over parameters as one of the circuit.
fn of_parameters(expr: &ParamExpr) -> Result<ClassicalExpr, QasmProblem> {
    let mut stack: Vec<ClassicalExpr> = Vec::new();
    let pop = |stack: &mut Vec<ClassicalExpr>| stack.pop().ok_or(QasmProblem::NotFinite);
    for step in expr.steps() {
        let value = match step {
            Step::Angle(angle) => ClassicalExpr::angle(angle.clone()),
            Step::Neg => pop(&mut stack)?.negate().map_err(problem)?,
            Step::Call(function) => pop(&mut stack)?.call(classical(*function)).map_err(problem)?,
            _ => {
                let (y, x) = (pop(&mut stack)?, pop(&mut stack)?);
                let op = match step {
                    Step::Add => Arithmetic::Add,
                    Step::Sub => Arithmetic::Sub,
                    Step::Mul => Arithmetic::Mul,
                    Step::Div => Arithmetic::Div,
                    _ => Arithmetic::Power,
                };
                x.binary(op, y).map_err(problem)?
            }
        };
        stack.push(value);
    }
    pop(&mut stack)
}

/// A smooth function.
pub(super) fn smooth(
    function: ElementaryFunction,
    x: ClassicalExpr,
) -> Result<QasmValue, QasmProblem> {
    x.call(classical(function)).map(value).map_err(problem)
}

fn classical(function: ElementaryFunction) -> ClassicalFunction {
    match function {
        ElementaryFunction::Sin => ClassicalFunction::Sin,
        ElementaryFunction::Cos => ClassicalFunction::Cos,
        ElementaryFunction::Tan => ClassicalFunction::Tan,
        ElementaryFunction::Asin => ClassicalFunction::Arcsin,
        ElementaryFunction::Acos => ClassicalFunction::Arccos,
        ElementaryFunction::Atan => ClassicalFunction::Arctan,
        ElementaryFunction::Exp => ClassicalFunction::Exp,
        ElementaryFunction::Ln => ClassicalFunction::Log,
        ElementaryFunction::Sqrt => ClassicalFunction::Sqrt,
    }
}

pub(super) fn int_type(ty: IntegerType) -> IntType {
    IntType { bits: ty.bits, signed: !ty.unsigned }
}

/// Returns an expression as a value: a known one if it is constant.
pub(super) fn value(expr: ClassicalExpr) -> QasmValue {
    let (Some(word), Some(ty)) = (expr.value(), expr.ty()) else {
        return match (expr.value(), expr.ty()) {
            (Some(word), None) => QasmValue::int(word.cast_signed()),
            _ => QasmValue::Runtime(Box::new(expr)),
        };
    };
    let float = |word: u128| f64::from_bits(word as u64);
    match ty {
        ClassicalType::Bool => QasmValue::Bool(word != 0),
        ClassicalType::Bits(width) => QasmValue::Bits { width, bits: word },
        ClassicalType::Int(IntType { bits, signed }) => {
            let ty = IntegerType::sized(bits, !signed);
            QasmValue::Int(ty.wrap(word.cast_signed()), Some(ty))
        }
        ClassicalType::Angle(width) => {
            QasmValue::AngleValue(AngleValue::Bits { width, bits: word })
        }
        ClassicalType::Float(_) if float(word).is_finite() => {
            QasmValue::Number(RealConstant::decimal(float(word)))
        }
        ClassicalType::Complex(_) if float(word).is_finite() && float(word >> 64).is_finite() => {
            QasmValue::Complex(Complex::new(float(word), float(word >> 64)))
        }
        // What is not finite stays an expression: NaN is a value of a float.
        ClassicalType::Float(_) | ClassicalType::Complex(_) => QasmValue::Runtime(Box::new(expr)),
    }
}

/// `left op right`, where one of them is known only when the circuit runs.
pub(super) fn binary(
    op: BinaryOp,
    left: QasmValue,
    right: QasmValue,
) -> Result<QasmValue, QasmProblem> {
    let (x, y) = (expr(left)?, expr(right)?);
    // Beside a number that is no integer a single bit is one.
    let is_real = |expr: &ClassicalExpr| {
        use ClassicalType::{Angle, Complex, Float};
        matches!(expr.ty(), Some(Float(_) | Angle(_) | Complex(_)))
    };
    let number = |x: ClassicalExpr| match x.ty() {
        Some(ClassicalType::Bool | ClassicalType::Bits(1)) => {
            x.cast(ClassicalType::Int(IntType::INT)).map_err(problem)
        }
        _ => Ok(x),
    };
    let (x, y) = match (is_real(&x), is_real(&y)) {
        (true, false) => (x, number(y)?),
        (false, true) => (number(x)?, y),
        _ => (x, y),
    };
    let arithmetic = |op| x.clone().binary(op, y.clone());
    let compare = |relation| x.clone().compare(relation, y.clone());
    let result = match op {
        BinaryOp::Or => Ok(x.clone().or(y.clone())),
        BinaryOp::And => Ok(x.clone().and(y.clone())),
        BinaryOp::BitOr => arithmetic(Arithmetic::BitOr),
        BinaryOp::BitXor => arithmetic(Arithmetic::BitXor),
        BinaryOp::BitAnd => arithmetic(Arithmetic::BitAnd),
        BinaryOp::Equal => compare(Relation::Equal),
        BinaryOp::NotEqual => compare(Relation::NotEqual),
        BinaryOp::Less => compare(Relation::Less),
        BinaryOp::LessEqual => compare(Relation::LessEqual),
        BinaryOp::Greater => compare(Relation::Greater),
        BinaryOp::GreaterEqual => compare(Relation::GreaterEqual),
        BinaryOp::Shl => x.clone().shift(true, y.clone()),
        BinaryOp::Shr => x.clone().shift(false, y.clone()),
        BinaryOp::Add => arithmetic(Arithmetic::Add),
        BinaryOp::Sub => arithmetic(Arithmetic::Sub),
        BinaryOp::Concat => x.clone().concat(y.clone()),
        BinaryOp::Mul => arithmetic(Arithmetic::Mul),
        BinaryOp::Div => arithmetic(Arithmetic::Div),
        BinaryOp::Rem => arithmetic(Arithmetic::Rem),
    };
    result.map(value).map_err(problem)
}

/// `base ** exponent`.
pub(super) fn power(base: QasmValue, exponent: QasmValue) -> Result<QasmValue, QasmProblem> {
    let power = expr(base)?.binary(Arithmetic::Power, expr(exponent)?);
    power.map(value).map_err(problem)
}

pub(super) fn unary(op: UnaryOp, operand: ClassicalExpr) -> Result<QasmValue, QasmProblem> {
    let result = match op {
        UnaryOp::Minus => operand.negate(),
        UnaryOp::Not => Ok(operand.not()),
        UnaryOp::Invert => operand.invert(),
    };
    result.map(value).map_err(problem)
}

/// The value of a function of the language, whose number of arguments is right.
pub(super) fn call(name: &str, args: Vec<QasmValue>) -> Result<QasmValue, QasmProblem> {
    let mut args = args.into_iter().map(expr);
    let first = args.next().unwrap_or(Err(QasmProblem::NotFinite))?;
    let mut second = || args.next().unwrap_or(Err(QasmProblem::NotFinite));
    let function = |function| first.clone().call(function);
    let result = match name {
        "sin" => function(ClassicalFunction::Sin),
        "cos" => function(ClassicalFunction::Cos),
        "tan" => function(ClassicalFunction::Tan),
        "arcsin" | "asin" => function(ClassicalFunction::Arcsin),
        "arccos" | "acos" => function(ClassicalFunction::Arccos),
        "arctan" | "atan" => function(ClassicalFunction::Arctan),
        "exp" => function(ClassicalFunction::Exp),
        "ln" | "log" => function(ClassicalFunction::Log),
        "sqrt" => function(ClassicalFunction::Sqrt),
        "abs" => function(ClassicalFunction::Abs),
        "floor" => function(ClassicalFunction::Floor),
        "ceiling" | "ceil" => function(ClassicalFunction::Ceiling),
        "pow" => first.binary(Arithmetic::Power, second()?),
        "mod" => first.modulo(second()?),
        "popcount" => first.popcount(),
        "rotl" => first.rotate(true, second()?),
        "rotr" => first.rotate(false, second()?),
        "real" => first.part(false),
        "imag" => first.part(true),
        _ => return Err(wrong_operand(name, &QasmValue::Runtime(Box::new(first)))),
    };
    result.map(value).map_err(problem)
}

/// The truth value of a condition, as an expression.
pub(super) fn of_condition(condition: &Condition) -> Result<ClassicalExpr, QasmProblem> {
    let all = |list: &[Condition], and: bool| {
        list.iter().try_fold(ClassicalExpr::from(and), |sum, next| {
            let next = of_condition(next)?;
            Ok(if and { sum.and(next) } else { sum.or(next) })
        })
    };
    match condition {
        Condition::Bit { bit, value } => {
            let bit = ClassicalExpr::bits(&[*bit]).map_err(problem)?;
            Ok(if *value { bit.truth() } else { bit.not() })
        }
        Condition::Compare { bits, relation, value } => {
            let number = ClassicalExpr::bits(bits).map_err(problem)?;
            let digits = value.iter().rposition(|&bit| bit).map_or(0, |last| last + 1);
            // A constant with more bits than any number is greater.
            let Some(width) = u32::try_from(digits.max(bits.len())).ok().filter(|w| *w <= 128)
            else {
                let is_less = [Relation::Less, Relation::LessEqual, Relation::NotEqual];
                return Ok(ClassicalExpr::from(is_less.contains(relation)));
            };
            let set = (0u32..).zip(&value[..digits]);
            let word = set.fold(0u128, |sum, (at, &bit)| sum | u128::from(bit) << at);
            let ty = ClassicalType::Int(IntType::unsigned(width.max(1)));
            number.compare(*relation, ClassicalExpr::constant(ty, word)).map_err(problem)
        }
        Condition::Not(inner) => Ok(of_condition(inner)?.not()),
        Condition::All(list) => all(list, true),
        Condition::Any(list) => all(list, false),
        Condition::Expr(expr) => Ok((**expr).clone()),
    }
}

/// The kind of a value, for errors.
pub(super) fn describe(expr: &ClassicalExpr) -> &'static str {
    match expr.ty() {
        Some(ClassicalType::Bool) => "a truth value",
        Some(ClassicalType::Bits(_)) => "a bit string",
        Some(ClassicalType::Int(_)) | None => "an integer",
        Some(ClassicalType::Angle(_)) => "an angle",
        Some(ClassicalType::Float(_)) => "a number",
        Some(ClassicalType::Complex(_)) => "a complex number",
    }
}

/// Returns true for a number that is no complex one, or an angle.
pub(super) fn is_real(expr: &ClassicalExpr) -> bool {
    matches!(
        expr.ty(),
        Some(ClassicalType::Int(_) | ClassicalType::Float(_) | ClassicalType::Angle(_)) | None
    )
}

/// The number of bits that an index may select; 0 for what has none.
pub(super) fn width(expr: &ClassicalExpr) -> u32 {
    match expr.ty() {
        Some(ClassicalType::Bits(width) | ClassicalType::Angle(width)) => width,
        Some(ClassicalType::Int(int)) => int.bits,
        _ => 0,
    }
}
