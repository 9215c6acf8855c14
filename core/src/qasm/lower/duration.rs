//! Durations: of delays, and of other constructs that only the file gives a time.
//!
//! ```text
//! duration a = 500ns;       5e-7 s
//! a / 1ns                   500
//! 2 * a + 100dt             unknown: how long a `dt` is depends on the hardware
//! ```

#![deny(clippy::arithmetic_side_effects)]

use std::cmp::Ordering;

use num_traits::{CheckedAdd, CheckedDiv, CheckedMul};

use super::{
    arithmetic::holds,
    value::{Number, Value, fits},
};
use crate::{
    circuit::DelayLength,
    param::Q,
    qasm::{ast::BinaryOp, diagnostic::Problem},
};

/// A duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Duration {
    Seconds(Number),
    /// A number of `dt`.
    Samples(Number),
    /// Known to the hardware only: a `stretch`, that of a gate, or a sum of such.
    Unknown,
}

impl Duration {
    /// `1.5us`: a number with a unit.
    pub(super) fn read(text: &str) -> Duration {
        let text = text.replace('_', "");
        let unit = text
            .find(|c: char| !c.is_ascii() || c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E'));
        let (number, unit) = text.split_at(unit.unwrap_or(text.len()));
        let Ok(value) = number.trim().parse() else { return Duration::Unknown };
        let below = match unit {
            "s" => 1,
            "ms" => 1000,
            "us" | "µs" | "μs" => 1_000_000,
            "ns" => 1_000_000_000,
            _ => return Duration::Samples(Number::decimal(value)),
        };
        Duration::Seconds(scaled(Number::decimal(value), Number::fraction(Q::new(1, below))))
    }

    /// The length of a delay.
    pub(super) fn length(self) -> DelayLength {
        match self {
            Duration::Seconds(n) => DelayLength::Seconds(n.value),
            Duration::Samples(n) => DelayLength::Samples(n.value),
            Duration::Unknown => DelayLength::Open,
        }
    }

    fn map(self, f: impl FnOnce(Number) -> Number) -> Duration {
        match self {
            Duration::Seconds(n) => Duration::Seconds(f(n)),
            Duration::Samples(n) => Duration::Samples(f(n)),
            Duration::Unknown => Duration::Unknown,
        }
    }

    pub(super) fn negate(self) -> Duration {
        self.map(|n| scaled(n, Number::fraction(Q::from_integer(-1))))
    }

    /// Converts both to one unit.
    fn pair(self, other: Duration) -> Option<(Number, Number)> {
        match (self, other) {
            (Duration::Seconds(a), Duration::Seconds(b))
            | (Duration::Samples(a), Duration::Samples(b)) => Some((a, b)),
            _ => None,
        }
    }
}

/// The product of two numbers.
fn scaled(a: Number, b: Number) -> Number {
    let exact = a.exact().zip(b.exact()).and_then(|(a, b)| a.checked_mul(&b)).and_then(fits);
    Number::with(exact, || a.rounded().times(b.rounded()))
}

/// `left op right`, one of which is a duration; `None` if the operator does not work on them.
pub(super) fn operate(op: BinaryOp, left: &Value, right: &Value) -> Option<Result<Value, Problem>> {
    use BinaryOp::*;
    let wait = |duration| Some(Ok(Value::Duration(duration)));
    match (op, left, right) {
        (Mul, Value::Duration(d), factor) | (Mul, factor, Value::Duration(d))
            if factor.is_real() =>
        {
            wait(factor.constant().map_or(Duration::Unknown, |n| d.map(|d| scaled(d, n))))
        }
        (Div, Value::Duration(d), divisor) if divisor.is_real() => {
            let Some(n) = divisor.constant() else { return wait(Duration::Unknown) };
            if n.value == 0.0 {
                return Some(Err(Problem::DivisionByZero));
            }
            wait(d.map(|d| ratio(d, n)))
        }
        (Add | Sub, Value::Duration(a), Value::Duration(b)) => {
            let b = if op == Sub { b.negate() } else { *b };
            let Some((x, y)) = a.pair(b) else { return wait(Duration::Unknown) };
            let exact =
                x.exact().zip(y.exact()).and_then(|(x, y)| x.checked_add(&y)).and_then(fits);
            let sum = Number::with(exact, || x.rounded().plus(y.rounded()));
            wait(a.map(|_| sum))
        }
        (Div, Value::Duration(a), Value::Duration(b)) => match a.pair(*b) {
            Some((_, y)) if y.value == 0.0 => Some(Err(Problem::DivisionByZero)),
            Some((x, y)) => Some(ratio(x, y).checked()),
            None => Some(Err(Problem::Durations)),
        },
        (
            Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual,
            Value::Duration(a),
            Value::Duration(b),
        ) => Some(match a.pair(*b).and_then(|(x, y)| order(x, y)) {
            Some(ordering) => Ok(Value::Bool(holds(op, ordering))),
            None => Err(Problem::Durations),
        }),
        _ => None,
    }
}

fn ratio(a: Number, b: Number) -> Number {
    let exact = a.exact().zip(b.exact()).and_then(|(a, b)| a.checked_div(&b)).and_then(fits);
    Number::with(exact, || a.rounded().over(b.rounded()))
}

fn order(a: Number, b: Number) -> Option<Ordering> {
    match (a.exact(), b.exact()) {
        (Some(p), Some(q)) => Some(p.cmp(&q)),
        _ => a.value.partial_cmp(&b.value),
    }
}
