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
    value::{QasmValue, RealConstant, fits},
};
use crate::{
    circuit::DelayLength,
    param::Q,
    qasm::{ast::BinaryOp, diagnostic::QasmProblem},
};

/// A duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Duration {
    Seconds(RealConstant),
    /// A number of `dt`.
    Samples(RealConstant),
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
            _ => return Duration::Samples(RealConstant::decimal(value)),
        };
        Duration::Seconds(scaled(
            RealConstant::decimal(value),
            RealConstant::fraction(Q::new(1, below)),
        ))
    }

    /// The length of a delay.
    pub(super) fn length(self) -> DelayLength {
        match self {
            Duration::Seconds(n) => DelayLength::Seconds(n.value),
            Duration::Samples(n) => DelayLength::Samples(n.value),
            Duration::Unknown => DelayLength::Open,
        }
    }

    fn map(self, f: impl FnOnce(RealConstant) -> RealConstant) -> Duration {
        match self {
            Duration::Seconds(n) => Duration::Seconds(f(n)),
            Duration::Samples(n) => Duration::Samples(f(n)),
            Duration::Unknown => Duration::Unknown,
        }
    }

    pub(super) fn negate(self) -> Duration {
        self.map(|n| scaled(n, RealConstant::fraction(Q::from_integer(-1))))
    }

    /// Converts both to one unit.
    fn pair(self, other: Duration) -> Option<(RealConstant, RealConstant)> {
        match (self, other) {
            (Duration::Seconds(a), Duration::Seconds(b))
            | (Duration::Samples(a), Duration::Samples(b)) => Some((a, b)),
            _ => None,
        }
    }
}

/// The product of two numbers.
fn scaled(a: RealConstant, b: RealConstant) -> RealConstant {
    let exact = a.exact().zip(b.exact()).and_then(|(a, b)| a.checked_mul(&b)).and_then(fits);
    RealConstant::with(exact, || a.rounded().times(b.rounded()))
}

/// `left op right`, one of which is a duration; `None` if the operator does not work on them.
pub(super) fn operate(
    op: BinaryOp,
    left: &QasmValue,
    right: &QasmValue,
) -> Option<Result<QasmValue, QasmProblem>> {
    use BinaryOp::*;
    let wait = |duration| Some(Ok(QasmValue::Duration(duration)));
    match (op, left, right) {
        (Mul, QasmValue::Duration(d), factor) | (Mul, factor, QasmValue::Duration(d))
            if factor.is_real() =>
        {
            wait(factor.constant().map_or(Duration::Unknown, |n| d.map(|d| scaled(d, n))))
        }
        (Div, QasmValue::Duration(d), divisor) if divisor.is_real() => {
            let Some(n) = divisor.constant() else { return wait(Duration::Unknown) };
            if n.value == 0.0 {
                return Some(Err(QasmProblem::DivisionByZero));
            }
            wait(d.map(|d| ratio(d, n)))
        }
        (Add | Sub, QasmValue::Duration(a), QasmValue::Duration(b)) => {
            let b = if op == Sub { b.negate() } else { *b };
            let Some((x, y)) = a.pair(b) else { return wait(Duration::Unknown) };
            let exact =
                x.exact().zip(y.exact()).and_then(|(x, y)| x.checked_add(&y)).and_then(fits);
            let sum = RealConstant::with(exact, || x.rounded().plus(y.rounded()));
            wait(a.map(|_| sum))
        }
        (Div, QasmValue::Duration(a), QasmValue::Duration(b)) => match a.pair(*b) {
            Some((_, y)) if y.value == 0.0 => Some(Err(QasmProblem::DivisionByZero)),
            Some((x, y)) => Some(ratio(x, y).checked()),
            None => Some(Err(QasmProblem::Durations)),
        },
        (
            Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual,
            QasmValue::Duration(a),
            QasmValue::Duration(b),
        ) => Some(match a.pair(*b).and_then(|(x, y)| order(x, y)) {
            Some(ordering) => Ok(QasmValue::Bool(holds(op, ordering))),
            None => Err(QasmProblem::Durations),
        }),
        _ => None,
    }
}

fn ratio(a: RealConstant, b: RealConstant) -> RealConstant {
    let exact = a.exact().zip(b.exact()).and_then(|(a, b)| a.checked_div(&b)).and_then(fits);
    RealConstant::with(exact, || a.rounded().over(b.rounded()))
}

fn order(a: RealConstant, b: RealConstant) -> Option<Ordering> {
    match (a.exact(), b.exact()) {
        (Some(p), Some(q)) => Some(p.cmp(&q)),
        _ => a.value.partial_cmp(&b.value),
    }
}
