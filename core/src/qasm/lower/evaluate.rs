//! Evaluation of expressions.

use std::collections::HashMap;

use num_complex::Complex;

use super::{
    Lower, Lowering, Scope, arithmetic,
    duration::Duration,
    functions,
    integer::{self, INT, TooLong},
    names::{Entry, GateEntry},
    turn::{self, Turn},
    value::{Number, Value},
};
use crate::{
    param::Angle,
    qasm::{
        Version,
        ast::{BinaryOp, Expr, ExprKind, Ident, Span, Symbol, UnaryOp},
        diagnostic::{Diagnostic, Problem},
        lexer::radix,
    },
    stack::deep,
};

/// Help text for an integer without a size that wraps.
pub(super) const UNSIZED: &str =
    "an integer without a size has 32 bits: give it one, as in `int[64]`";

impl Lowering<'_> {
    /// The value of an expression.
    pub(super) fn evaluate(&mut self, expr: &Expr, scope: Scope) -> Lower<Value> {
        deep(|| self.deep_evaluate(expr, scope))
    }

    fn deep_evaluate(&mut self, expr: &Expr, scope: Scope) -> Lower<Value> {
        match &expr.kind {
            ExprKind::Float { value, rounded } => {
                if value.is_finite() {
                    let number = if *rounded { Number::rounded_decimal } else { Number::decimal };
                    return Ok(Value::Number(number(*value)));
                }
                self.fail(Problem::NotFinite, expr.span)
            }
            ExprKind::Int(Some(value)) => Ok(Value::int(i128::from(*value))),
            ExprKind::Int(None) => self.long_integer(expr.span),
            ExprKind::Name(symbol) => self.named_value(*symbol, expr.span, scope),
            ExprKind::Unary(op, operand) => {
                let value = self.evaluate(operand, scope)?;
                let result = unary(*op, value);
                self.check(result, expr.span)
            }
            ExprKind::Power(operands) => {
                let base = self.evaluate(&operands[0], scope)?;
                let exponent = self.evaluate(&operands[1], scope)?;
                self.raise(base, exponent, expr.span)
            }
            ExprKind::Chain(first, rest) => {
                let mut left = self.evaluate(first, scope)?;
                for (op, right) in rest {
                    let span = first.span.to(right.span);
                    let right = self.evaluate(right, scope)?;
                    left = self.binary(*op, left, right, span)?;
                }
                Ok(left)
            }
            ExprKind::Call(name, args) => self.value_of_call(*name, args, expr.span, scope),
            ExprKind::Cast(ty, inner) => {
                if let Some(&id) = self.casts.get(&self.place(expr.span)) {
                    return self.variable(id, expr.span);
                }
                let value = self.evaluate(inner, scope)?;
                self.explicit_cast(ty, value, expr.span)
            }
            ExprKind::Index(base, index) => self.indexed(base, index, expr.span, scope),
            ExprKind::List(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(self.evaluate(item, scope)?);
                }
                Ok(Value::Array(values.into()))
            }
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Text => Ok(self.bit_string(expr.span)),
            ExprKind::Label => Ok(Value::Other("a sign")),
            ExprKind::Duration => Ok(Value::Duration(Duration::read(self.text(expr.span)))),
            ExprKind::Durationof => Ok(Value::Duration(Duration::Unknown)),
            ExprKind::Imaginary(value) if value.is_finite() => {
                Ok(Value::Complex(Complex::new(0.0, *value)))
            }
            ExprKind::Imaginary(_) => self.fail(Problem::NotFinite, expr.span),
            ExprKind::Hardware => Ok(Value::Other("a qubit")),
            ExprKind::Measure(_) => Ok(Value::Other("a measurement")),
        }
    }

    /// Evaluates a call of a function or a subroutine.
    fn value_of_call(
        &mut self,
        name: Ident,
        args: &[Expr],
        span: Span,
        scope: Scope,
    ) -> Lower<Value> {
        if let Some(number) = self.subroutine(name.symbol) {
            return self.called_known(number, args, span, scope);
        }
        if let (Some(size), "sizeof") = (self.register_of(args), self.interner.name(name.symbol)) {
            return Ok(Value::int(size));
        }
        let function = self.name(name.symbol);
        match self.gates.get(name.symbol) {
            Some(GateEntry::Broken) => return Err(super::Stop),
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
            Err(Problem::UnknownFunction { name: unknown }) => {
                let help = super::names::nearest(&unknown, functions::NAMES.iter().copied())
                    .map(|n| format!("did you mean `{n}`?"));
                let place = self.place(name.span);
                let error = Diagnostic::error(Problem::UnknownFunction { name: unknown });
                Err(self.report(error.at(place, "").maybe_help(help)))
            }
            Err(problem) => self.fail(problem, span),
        }
    }

    /// The value of an expression that must be an angle, constant or not.
    pub(super) fn real(&mut self, expr: &Expr, scope: Scope) -> Lower<Value> {
        self.real_for(expr, scope, "an angle")
    }

    /// The value of an expression that must be a real number for some purpose, constant or not.
    pub(super) fn real_for(&mut self, expr: &Expr, scope: Scope, expected: &str) -> Lower<Value> {
        let value = self.evaluate(expr, scope)?;
        self.as_real(value, expected, expr.span)
    }

    /// A value that must be a real number for some purpose.
    pub(super) fn as_real(&mut self, value: Value, expected: &str, span: Span) -> Lower<Value> {
        if value.is_real() {
            let value = turn::plain(value);
            return self.check(value, span);
        }
        let (given, expected) = (value.describe().to_owned(), expected.to_owned());
        self.fail(Problem::WrongType { given, expected }, span)
    }

    /// The value of an expression that must be a constant integer.
    pub(super) fn integer(&mut self, expr: &Expr, what: &str) -> Lower<i128> {
        self.integer_in(expr, what, Scope::Global)
    }

    /// Evaluates an integer within a gate definition.
    pub(super) fn integer_in(&mut self, expr: &Expr, what: &str, scope: Scope) -> Lower<i128> {
        let value = self.evaluate(expr, scope)?;
        let whole = value.number().and_then(|n| n.exact()).filter(|q| *q.denom() == 1);
        match (&value, whole) {
            (Value::Int(i, _), _) => Ok(*i),
            // A computed size such as 2**3 may come as a real number in OpenQASM 2.
            (_, Some(q)) if self.version == Version::V2 => Ok(i128::from(*q.numer())),
            (Value::Angle(_) | Value::Expr(_), _) if value.constant().is_none() => {
                self.fail(Problem::NotConstant { what: what.to_owned() }, expr.span)
            }
            _ => {
                let (given, expected) = (value.describe().to_owned(), "an integer".to_owned());
                self.fail(Problem::WrongType { given, expected }, expr.span)
            }
        }
    }

    /// The size of the register that is the only argument, if it is one.
    fn register_of(&self, args: &[Expr]) -> Option<i128> {
        let [Expr { kind: ExprKind::Name(symbol), .. }] = args else { return None };
        match self.names.get(*symbol) {
            Some(Entry::Qubits(picks) | Entry::Bits(picks)) => {
                Some(i128::from(picks.len().unwrap_or(1)))
            }
            _ => None,
        }
    }

    fn long_integer(&mut self, span: Span) -> Lower<Value> {
        let text = self.text(span).replace('_', "");
        let (radix, digits) = radix(&text);
        match i128::from_str_radix(digits, radix) {
            Ok(value) => Ok(Value::int(value)),
            Err(_) => self.fail(
                Problem::IntegerOverflow { what: "an integer of this length".to_owned() },
                span,
            ),
        }
    }

    fn bit_string(&self, span: Span) -> Value {
        let quoted = self.text(span);
        let text =
            quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().replace('_', "");
        let width = u32::try_from(text.len()).unwrap_or(u32::MAX);
        match u128::from_str_radix(&text, 2) {
            Ok(bits) if width <= 128 && !text.starts_with('+') => Value::Bits { width, bits },
            _ => Value::Other("a string"),
        }
    }

    fn named_value(&mut self, symbol: Symbol, span: Span, scope: Scope) -> Lower<Value> {
        if let Scope::Gate(params) = scope
            && let Some(&position) = params.get(&symbol)
        {
            return Ok(Value::Angle(Angle::theta(crate::param::ParamId::new(position))));
        }
        match self.names.get(symbol) {
            Some(Entry::Const(value)) => Ok(value.clone()),
            Some(Entry::Variable(id)) => match scope {
                Scope::Global => self.variable(*id, span),
                Scope::Gate(_) => {
                    let (name, is) = (self.name(symbol), "a variable");
                    self.fail(Problem::WrongKind { name, is, expected: "a constant" }, span)
                }
            },
            Some(Entry::Input(value)) => match scope {
                Scope::Global => Ok(value.clone()),
                Scope::Gate(_) => {
                    let (name, place) = (self.name(symbol), self.place(span));
                    let help = format!("make it a parameter of the gate: `gate g({name}) …`");
                    let error = Diagnostic::error(Problem::InputInGate { name });
                    Err(self.report(error.at(place, "").help(help)))
                }
            },
            Some(Entry::Broken) => Err(super::Stop),
            Some(Entry::Bits(_)) if matches!(scope, Scope::Global) => {
                let (name, place) = (self.name(symbol), self.place(span));
                let help = "a circuit has fixed gates: choose between them with `if` or `switch`, or keep the bits in an \
                            integer first, as in `uint[2] k = c;`";
                Err(self
                    .report(Diagnostic::error(Problem::Depends { name }).at(place, "").help(help)))
            }
            Some(entry) => {
                let is = entry.is();
                self.fail(
                    Problem::WrongKind { name: self.name(symbol), is, expected: "a value" },
                    span,
                )
            }
            None => match constant(self.interner.name(symbol)) {
                Some(value) => Ok(value),
                None => {
                    let name = self.name(symbol);
                    if let Scope::Gate(params) = scope {
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
        params: &HashMap<Symbol, u32>,
        span: Span,
    ) -> Lower<Value> {
        let known: Vec<String> = params.keys().map(|&s| self.name(s)).collect();
        let help = super::names::nearest(name, known.iter().map(String::as_str))
            .map(|n| format!("did you mean `{n}`?"));
        let place = self.place(span);
        let error = Diagnostic::error(Problem::UnknownName { name: name.to_owned() });
        Err(self.report(error.at(place, "").maybe_help(help)))
    }

    /// `base ** exponent`
    pub(super) fn raise(&mut self, base: Value, exponent: Value, span: Span) -> Lower<Value> {
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
        value: &Value,
        span: Span,
    ) {
        let (Some(exact), &Value::Int(result, Some(ty))) = (exact, value) else { return };
        if ty.sized || exact.is_ok_and(|given| given == result) {
            return;
        }
        let given = exact.map_or_else(|TooLong| "the result".to_owned(), |given| given.to_string());
        let problem = Problem::Wrapped { given, bits: ty.bits, result };
        let place = self.place(span);
        self.warning(Diagnostic::warning(problem).at(place, "").help(UNSIZED));
    }

    /// `left op right`
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: Value,
        right: Value,
        span: Span,
    ) -> Lower<Value> {
        let power = op == BinaryOp::BitXor && left.is_real() && !matches!(left, Value::Int(..));
        self.operate(op, left, right, span).map_err(|problem| {
            let place = self.place(span);
            let help =
                power.then(|| "in OpenQASM 3 `^` is exclusive or; a power is `**`".to_owned());
            self.report(Diagnostic::error(problem).at(place, "").maybe_help(help))
        })
    }

    /// Evaluates an operator; an error is returned and not reported yet.
    pub(super) fn operate(
        &mut self,
        op: BinaryOp,
        left: Value,
        right: Value,
        span: Span,
    ) -> Result<Value, Problem> {
        // `pow(1/2) @ x` means a square root: the power 0 is never intended.
        let version = if self.in_exponent { Version::V2 } else { self.version };
        if let (BinaryOp::Div, Value::Int(a, _), Value::Int(b, _), Version::V3) =
            (op, &left, &right, version)
            && let (Some(result), Some(rest)) = (a.checked_div(*b), a.checked_rem(*b))
            && rest != 0
        {
            let place = self.place(span);
            let problem = Problem::Truncated { left: *a, right: *b, result };
            let help = format!("for the fraction write `{a}.0/{b}`");
            self.warning(Diagnostic::warning(problem).at(place, "both are integers").help(help));
        }
        let exact = integer::exact(op, &left, &right);
        let value = arithmetic::binary(op, left, right, version)?;
        self.warn_of_wrapping(exact, &value, span);
        Ok(value)
    }
}

/// Returns the position that an index selects: a negative one counts from the end.
pub(super) fn position(given: i128, size: u64) -> Option<u64> {
    let at = if given < 0 { given + i128::from(size) } else { given };
    u64::try_from(at).ok().filter(|at| *at < size)
}

pub(super) fn unary(op: UnaryOp, value: Value) -> Result<Value, Problem> {
    match (op, value) {
        (UnaryOp::Minus, value @ (Value::Bool(_) | Value::Bits { .. })) => {
            arithmetic::binary(BinaryOp::Sub, Value::int(0), value, Version::V3)
        }
        (UnaryOp::Minus, value) => value.negate(),
        (UnaryOp::Not, Value::Bool(b)) => Ok(Value::Bool(!b)),
        (UnaryOp::Not, Value::Int(i, _)) => Ok(Value::Bool(i == 0)),
        (UnaryOp::Not, Value::Bits { bits, .. }) => Ok(Value::Bool(bits == 0)),
        // The complement of a literal is an `int`, which wraps where it is stored in fewer bits.
        (UnaryOp::Invert, Value::Int(i, ty)) => {
            let ty = ty.or(INT.holds(!i).then_some(INT));
            Ok(Value::Int(ty.map_or(!i, |ty| ty.wrap(!i)), ty))
        }
        (UnaryOp::Invert, Value::Turn(Turn::Bits { width, bits })) => {
            Ok(Value::Turn(Turn::Bits { width, bits: !bits & arithmetic::mask(width) }))
        }
        (UnaryOp::Invert, Value::Bits { width, bits }) => {
            Ok(Value::Bits { width, bits: !bits & arithmetic::mask(width) })
        }
        (op, value) => {
            let operator = if op == UnaryOp::Not { "!" } else { "~" };
            Err(Problem::Operands {
                operator: operator.to_owned(),
                given: value.describe().to_owned(),
            })
        }
    }
}

/// Returns a constant of the language.
pub(super) fn constant(name: &str) -> Option<Value> {
    Some(match name {
        "pi" | "π" => Value::Angle(Angle::pi(1, 1)),
        "tau" | "τ" => Value::Angle(Angle::pi(2, 1)),
        "euler" | "ℇ" => Value::Number(Number::decimal(std::f64::consts::E)),
        _ => return None,
    })
}
