//! Evaluation of expressions.

use std::collections::HashMap;

use num_complex::Complex;

use super::{
    ExprScope, Lower, QasmLowering,
    angle_value::{self, AngleValue},
    arithmetic,
    classical::Classical,
    duration::Duration,
    functions,
    integer::{self, INT, TooLong},
    names::{GateEntry, SymbolEntry},
    runtime,
    value::{QasmValue, RealConstant},
};
use crate::{
    classical::ClassicalType,
    notation::{did_you_mean, nearest_name},
    param::Angle,
    qasm::{
        Version,
        ast::{BinaryOp, Ident, InternedName, QasmExpr, QasmExprKind, QasmSpan, UnaryOp},
        diagnostic::{Diagnostic, QasmProblem},
        lexer::radix,
    },
    stack::deep,
};

/// Help text for an integer without a size that wraps.
pub(super) const UNSIZED: &str =
    "an integer without a size has 32 bits: give it one, as in `int[64]`";

impl QasmLowering<'_> {
    /// The value of an expression.
    pub(super) fn evaluate(&mut self, expr: &QasmExpr, scope: ExprScope) -> Lower<QasmValue> {
        deep(|| self.deep_evaluate(expr, scope))
    }

    fn deep_evaluate(&mut self, expr: &QasmExpr, scope: ExprScope) -> Lower<QasmValue> {
        match &expr.kind {
            QasmExprKind::Float { value, rounded } => {
                if value.is_finite() {
                    let number = if *rounded {
                        RealConstant::rounded_decimal
                    } else {
                        RealConstant::decimal
                    };
                    return Ok(QasmValue::Number(number(*value)));
                }
                self.fail(QasmProblem::NotFinite, expr.span)
            }
            QasmExprKind::Int(Some(value)) => Ok(QasmValue::int(i128::from(*value))),
            QasmExprKind::Int(None) => self.long_integer(expr.span),
            QasmExprKind::Name(symbol) => self.named_value(*symbol, expr.span, scope),
            QasmExprKind::Unary(op, operand) => {
                let value = self.evaluate(operand, scope)?;
                let result = unary(*op, value);
                self.check(result, expr.span)
            }
            QasmExprKind::Power(operands) => {
                let base = self.evaluate(&operands[0], scope)?;
                let exponent = self.evaluate(&operands[1], scope)?;
                self.raise(base, exponent, expr.span)
            }
            QasmExprKind::Chain(first, rest) => {
                let mut left = self.evaluate(first, scope)?;
                for (op, right) in rest {
                    let span = first.span.to(right.span);
                    let right = self.evaluate(right, scope)?;
                    left = self.binary(*op, left, right, span)?;
                }
                Ok(left)
            }
            QasmExprKind::Call(name, args) => self.value_of_call(*name, args, expr.span, scope),
            QasmExprKind::Cast(ty, inner) => {
                if let Some(&id) = self.casts.get(&self.file_span(expr.span)) {
                    return self.variable(id, expr.span);
                }
                let value = self.evaluate(inner, scope)?;
                self.explicit_cast(ty, value, expr.span)
            }
            QasmExprKind::Index(base, index) => self.indexed(base, index, expr.span, scope),
            QasmExprKind::List(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(self.evaluate(item, scope)?);
                }
                Ok(QasmValue::Array(values.into()))
            }
            QasmExprKind::Bool(value) => Ok(QasmValue::Bool(*value)),
            QasmExprKind::Text => Ok(self.bit_string(expr.span)),
            QasmExprKind::Label => Ok(QasmValue::Other("a sign")),
            QasmExprKind::Duration => Ok(QasmValue::Duration(Duration::read(self.text(expr.span)))),
            QasmExprKind::Durationof => Ok(QasmValue::Duration(Duration::Unknown)),
            QasmExprKind::Imaginary(value) if value.is_finite() => {
                Ok(QasmValue::Complex(Complex::new(0.0, *value)))
            }
            QasmExprKind::Imaginary(_) => self.fail(QasmProblem::NotFinite, expr.span),
            QasmExprKind::Hardware => Ok(QasmValue::Other("a qubit")),
            QasmExprKind::Measure(_) if self.has_memory() && matches!(scope, ExprScope::Global) => {
                let bits = self.classical(expr)?;
                self.valued(bits, expr.span)
            }
            QasmExprKind::Measure(_) => Ok(QasmValue::Other("a measurement")),
        }
    }

    /// Evaluates a call of a function or a subroutine.
    fn value_of_call(
        &mut self,
        name: Ident,
        args: &[QasmExpr],
        span: QasmSpan,
        scope: ExprScope,
    ) -> Lower<QasmValue> {
        if let Some(number) = self.subroutine(name.symbol) {
            return self.called_known(number, args, span, scope);
        }
        if let (Some(size), "sizeof") = (self.register_of(args), self.interner.name(name.symbol)) {
            return Ok(QasmValue::int(size));
        }
        let function = self.name(name.symbol);
        match self.gates.get(name.symbol) {
            Some(GateEntry::Broken) => return Err(super::ErrorReported),
            Some(GateEntry::External(place, _)) => return self.external(name, place),
            _ => {}
        }
        if !functions::NAMES.contains(&function.as_str()) {
            self.subroutine_to_come(name)?;
        }
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.evaluate(arg, scope)?);
        }
        match functions::call(&function, values) {
            Ok(value) => Ok(value),
            Err(QasmProblem::UnknownFunction { name: unknown }) => {
                let help = nearest_name(&unknown, functions::NAMES).map(did_you_mean);
                let place = self.file_span(name.span);
                let error = Diagnostic::error(QasmProblem::UnknownFunction { name: unknown });
                Err(self.report(error.with_label(place, "").maybe_help(help)))
            }
            Err(problem) => self.fail(problem, span),
        }
    }

    /// The value of an expression that must be an angle, constant or not.
    pub(super) fn real(&mut self, expr: &QasmExpr, scope: ExprScope) -> Lower<QasmValue> {
        self.real_for(expr, scope, "an angle")
    }

    /// The value of an expression that must be a real number for some purpose, constant or not.
    pub(super) fn real_for(
        &mut self,
        expr: &QasmExpr,
        scope: ExprScope,
        expected: &str,
    ) -> Lower<QasmValue> {
        let value = self.evaluate(expr, scope)?;
        self.as_real(value, expected, expr.span)
    }

    /// A value that must be a real number for some purpose.
    pub(super) fn as_real(
        &mut self,
        value: QasmValue,
        expected: &str,
        span: QasmSpan,
    ) -> Lower<QasmValue> {
        if value.is_real() {
            let value = angle_value::plain(value);
            return self.check(value, span);
        }
        let (given, expected) = (value.describe().to_owned(), expected.to_owned());
        self.fail(QasmProblem::WrongType { given, expected }, span)
    }

    /// The value of an expression that must be a constant integer.
    pub(super) fn integer(&mut self, expr: &QasmExpr, what: &str) -> Lower<i128> {
        self.integer_in(expr, what, ExprScope::Global)
    }

    /// Evaluates an integer within a gate definition.
    pub(super) fn integer_in(
        &mut self,
        expr: &QasmExpr,
        what: &str,
        scope: ExprScope,
    ) -> Lower<i128> {
        let value = self.evaluate(expr, scope)?;
        let whole = value.number().and_then(|n| n.exact()).filter(|q| *q.denom() == 1);
        match (&value, whole) {
            (QasmValue::Int(i, _), _) => Ok(*i),
            // A computed size such as 2**3 may come as a real number in OpenQASM 2.
            (_, Some(q)) if self.version == Version::V2 => Ok(i128::from(*q.numer())),
            (QasmValue::Angle(_) | QasmValue::Expr(_), _) if value.constant().is_none() => {
                self.fail(QasmProblem::NotConstant { what: what.to_owned() }, expr.span)
            }
            _ => {
                let (given, expected) = (value.describe().to_owned(), "an integer".to_owned());
                self.fail(QasmProblem::WrongType { given, expected }, expr.span)
            }
        }
    }

    /// The size of the register that is the only argument, if it is one.
    fn register_of(&self, args: &[QasmExpr]) -> Option<i128> {
        let [QasmExpr { kind: QasmExprKind::Name(symbol), .. }] = args else { return None };
        match self.names.get(*symbol) {
            Some(SymbolEntry::Qubits(picks) | SymbolEntry::Bits(picks)) => {
                Some(i128::from(picks.len().unwrap_or(1)))
            }
            _ => None,
        }
    }

    fn long_integer(&mut self, span: QasmSpan) -> Lower<QasmValue> {
        let text = self.text(span).replace('_', "");
        let (radix, digits) = radix(&text);
        match i128::from_str_radix(digits, radix) {
            Ok(value) => Ok(QasmValue::int(value)),
            Err(_) => self.fail(
                QasmProblem::IntegerOverflow { what: "an integer of this length".to_owned() },
                span,
            ),
        }
    }

    fn bit_string(&self, span: QasmSpan) -> QasmValue {
        let quoted = self.text(span);
        let text =
            quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().replace('_', "");
        let width = u32::try_from(text.len()).unwrap_or(u32::MAX);
        match u128::from_str_radix(&text, 2) {
            Ok(bits) if width <= 128 && !text.starts_with('+') => QasmValue::Bits { width, bits },
            _ => QasmValue::Other("a string"),
        }
    }

    fn named_value(
        &mut self,
        symbol: InternedName,
        span: QasmSpan,
        scope: ExprScope,
    ) -> Lower<QasmValue> {
        if let ExprScope::Gate(params) = scope
            && let Some(&position) = params.get(&symbol)
        {
            return Ok(QasmValue::Angle(Angle::theta(crate::param::ParamId::new(position))));
        }
        match self.names.get(symbol) {
            Some(SymbolEntry::Const(value)) => Ok(value.clone()),
            Some(SymbolEntry::Variable(id)) => match scope {
                ExprScope::Global => self.variable(*id, span),
                ExprScope::Gate(_) => {
                    let (name, is) = (self.name(symbol), "a variable");
                    self.fail(QasmProblem::WrongKind { name, is, expected: "a constant" }, span)
                }
            },
            Some(SymbolEntry::Input(value)) => match scope {
                ExprScope::Global => Ok(value.clone()),
                ExprScope::Gate(_) => {
                    let (name, place) = (self.name(symbol), self.file_span(span));
                    let help = format!("make it a parameter of the gate: `gate g({name}) …`");
                    let error = Diagnostic::error(QasmProblem::InputInGate { name });
                    Err(self.report(error.with_label(place, "").help(help)))
                }
            },
            Some(SymbolEntry::Broken) => Err(super::ErrorReported),
            Some(SymbolEntry::Bits(bits))
                if matches!(scope, ExprScope::Global) && self.has_memory() =>
            {
                let bits: Vec<u32> = bits.iter().collect();
                self.valued(Classical::register(bits), span)
            }
            Some(SymbolEntry::Bits(_)) if matches!(scope, ExprScope::Global) => {
                let (name, place) = (self.name(symbol), self.file_span(span));
                let help = "a circuit has fixed gates: choose between them with `if` or `switch`, or keep the bits in an \
                            integer first, as in `uint[2] k = c;`";
                Err(self.report(
                    Diagnostic::error(QasmProblem::Depends { name })
                        .with_label(place, "")
                        .help(help),
                ))
            }
            Some(entry) => {
                let is = entry.is();
                self.fail(
                    QasmProblem::WrongKind { name: self.name(symbol), is, expected: "a value" },
                    span,
                )
            }
            None => match constant(self.interner.name(symbol)) {
                Some(value) => Ok(value),
                None => {
                    let name = self.name(symbol);
                    if let ExprScope::Gate(params) = scope {
                        return self.unknown_parameter(&name, params, span);
                    }
                    self.unknown_name(symbol, span)
                }
            },
        }
    }

    fn unknown_parameter(
        &mut self,
        name: &str,
        params: &HashMap<InternedName, u32>,
        span: QasmSpan,
    ) -> Lower<QasmValue> {
        let help = nearest_name(name, params.keys().map(|&s| self.name(s))).map(did_you_mean);
        let place = self.file_span(span);
        let error = Diagnostic::error(QasmProblem::UnknownName { name: name.to_owned() });
        Err(self.report(error.with_label(place, "").maybe_help(help)))
    }

    /// `base ** exponent`
    pub(super) fn raise(
        &mut self,
        base: QasmValue,
        exponent: QasmValue,
        span: QasmSpan,
    ) -> Lower<QasmValue> {
        let exact = integer::exact_power(&base, &exponent);
        let power = self.check(arithmetic::power(base, exponent, self.version), span)?;
        self.warn_of_wrapping(exact, &power, span);
        Ok(power)
    }

    /// Warns of an integer without a size that wraps: it is not what it would be among all
    /// integers.
    fn warn_of_wrapping(
        &mut self,
        exact: Option<Result<i128, TooLong>>,
        value: &QasmValue,
        span: QasmSpan,
    ) {
        let (Some(exact), &QasmValue::Int(result, Some(ty))) = (exact, value) else { return };
        if ty.sized || exact.is_ok_and(|given| given == result) {
            return;
        }
        let given = exact.map_or_else(|TooLong| "the result".to_owned(), |given| given.to_string());
        let problem = QasmProblem::Wrapped { given, bits: ty.bits, result };
        let place = self.file_span(span);
        self.warning(Diagnostic::warning(problem).with_label(place, "").help(UNSIZED));
    }

    /// `left op right`
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: QasmValue,
        right: QasmValue,
        span: QasmSpan,
    ) -> Lower<QasmValue> {
        let power = op == BinaryOp::BitXor && left.is_real() && !matches!(left, QasmValue::Int(..));
        self.operate(op, left, right, span).map_err(|problem| {
            let place = self.file_span(span);
            let help =
                power.then(|| "in OpenQASM 3 `^` is exclusive or; a power is `**`".to_owned());
            self.report(Diagnostic::error(problem).with_label(place, "").maybe_help(help))
        })
    }

    /// Evaluates an operator; an error is returned and not reported yet.
    pub(super) fn operate(
        &mut self,
        op: BinaryOp,
        left: QasmValue,
        right: QasmValue,
        span: QasmSpan,
    ) -> Result<QasmValue, QasmProblem> {
        // `pow(1/2) @ x` means a square root: the power 0 is never intended.
        let version = if self.in_exponent { Version::V2 } else { self.version };
        if let (BinaryOp::Div, QasmValue::Int(a, _), QasmValue::Int(b, _), Version::V3) =
            (op, &left, &right, version)
            && let (Some(result), Some(rest)) = (a.checked_div(*b), a.checked_rem(*b))
            && rest != 0
        {
            let place = self.file_span(span);
            let problem = QasmProblem::Truncated { left: *a, right: *b, result };
            let help = format!("for the fraction write `{a}.0/{b}`");
            self.warning(
                Diagnostic::warning(problem).with_label(place, "both are integers").help(help),
            );
        }
        self.check_runtime_operands(op, &left, &right, span)?;
        let exact = integer::exact(op, &left, &right);
        let value = arithmetic::binary(op, left, right, version)?;
        self.warn_of_wrapping(exact, &value, span);
        Ok(value)
    }

    /// Returns an error for operands that are wrong whatever the circuit measures, and warns of a
    /// divisor that may be 0.
    fn check_runtime_operands(
        &mut self,
        op: BinaryOp,
        left: &QasmValue,
        right: &QasmValue,
        span: QasmSpan,
    ) -> Result<(), QasmProblem> {
        let is_integer = |value: &QasmValue| match value {
            QasmValue::Runtime(expr) => {
                matches!(expr.ty(), Some(ClassicalType::Int(_) | ClassicalType::Bits(_)))
            }
            QasmValue::Int(..) | QasmValue::Bits { .. } => true,
            _ => false,
        };
        if !(left.is_runtime() || right.is_runtime()) || !is_integer(left) || !is_integer(right) {
            return Ok(());
        }
        match (op, right) {
            (BinaryOp::Div | BinaryOp::Rem, QasmValue::Int(0, _)) => {
                Err(QasmProblem::DivisionByZero)
            }
            (BinaryOp::Div | BinaryOp::Rem, QasmValue::Runtime(_)) => {
                let help = "where it is 0, the quotient is all ones and the remainder the \
                            dividend; ask before with `if (…)`";
                let warning = Diagnostic::warning(QasmProblem::MeasuredDivisor);
                self.warning(warning.with_label(self.file_span(span), "").help(help));
                Ok(())
            }
            (BinaryOp::Shl | BinaryOp::Shr, QasmValue::Int(..0, _)) => {
                let given = "a negative number of places".to_owned();
                Err(QasmProblem::Operands { operator: op.text().to_owned(), given })
            }
            _ => Ok(()),
        }
    }
}

/// Returns the position that an index selects: a negative one counts from the end.
pub(super) fn position(given: i128, size: u64) -> Option<u64> {
    let at = if given < 0 { given + i128::from(size) } else { given };
    u64::try_from(at).ok().filter(|at| *at < size)
}

pub(super) fn unary(op: UnaryOp, value: QasmValue) -> Result<QasmValue, QasmProblem> {
    match (op, value) {
        (op, QasmValue::Runtime(expr)) => runtime::unary(op, *expr),
        (UnaryOp::Minus, value @ (QasmValue::Bool(_) | QasmValue::Bits { .. })) => {
            arithmetic::binary(BinaryOp::Sub, QasmValue::int(0), value, Version::V3)
        }
        (UnaryOp::Minus, value) => value.negate(),
        (UnaryOp::Not, QasmValue::Bool(b)) => Ok(QasmValue::Bool(!b)),
        (UnaryOp::Not, QasmValue::Int(i, _)) => Ok(QasmValue::Bool(i == 0)),
        (UnaryOp::Not, QasmValue::Bits { bits, .. }) => Ok(QasmValue::Bool(bits == 0)),
        // The complement of a literal is an `int`, which wraps where it is stored in fewer bits.
        (UnaryOp::Invert, QasmValue::Int(i, ty)) => {
            let ty = ty.or(INT.holds(!i).then_some(INT));
            Ok(QasmValue::Int(ty.map_or(!i, |ty| ty.wrap(!i)), ty))
        }
        (UnaryOp::Invert, QasmValue::AngleValue(AngleValue::Bits { width, bits })) => {
            Ok(QasmValue::AngleValue(AngleValue::Bits {
                width,
                bits: !bits & arithmetic::mask(width),
            }))
        }
        (UnaryOp::Invert, QasmValue::Bits { width, bits }) => {
            Ok(QasmValue::Bits { width, bits: !bits & arithmetic::mask(width) })
        }
        (op, value) => {
            let operator = if op == UnaryOp::Not { "!" } else { "~" };
            Err(QasmProblem::Operands {
                operator: operator.to_owned(),
                given: value.describe().to_owned(),
            })
        }
    }
}

/// Returns a constant of the language.
pub(super) fn constant(name: &str) -> Option<QasmValue> {
    Some(match name {
        "pi" | "π" => QasmValue::Angle(Angle::pi(1, 1)),
        "tau" | "τ" => QasmValue::Angle(Angle::pi(2, 1)),
        "euler" | "ℇ" => QasmValue::Number(RealConstant::decimal(std::f64::consts::E)),
        _ => return None,
    })
}
