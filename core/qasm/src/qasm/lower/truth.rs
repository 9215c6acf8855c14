//! Truth values: constants, and residual conditions on bits.
//!
//! ```text
//! c[0] && d == 2        all of two conditions
//! a ^ b                 a && !b || !a && b
//! k                     of an integer: k != 0
//! ```
//! A condition is data of the circuit, so its size is counted (`spend`).

use std::sync::Arc;

use super::{Lower, QasmLowering, QasmValue, classical::Classical};
use crate::{
    circuit::{Condition, Relation},
    qasm::{
        ast::{QasmExpr, QasmSpan},
        diagnostic::QasmProblem,
    },
};

/// Limit on the size of all conditions together: one for each bit that is read, ten for each
/// operator.
const MAX_SIZE: u64 = 1 << 26;

/// Truth value: a constant, or a residual condition on bits.
#[derive(Clone, Debug)]
pub(super) enum Truth {
    Constant(bool),
    Residual(Condition),
}

impl Truth {
    pub(super) fn not(self) -> Truth {
        match self {
            Truth::Constant(holds) => Truth::Constant(!holds),
            Truth::Residual(condition) => Truth::Residual(negate(condition)),
        }
    }

    /// Combines two by `&&` (`and`) or `||`.
    pub(super) fn combine(self, other: Truth, and: bool) -> Truth {
        match (self, other) {
            (Truth::Constant(holds), other) | (other, Truth::Constant(holds)) => {
                if holds == and {
                    other
                } else {
                    Truth::Constant(holds)
                }
            }
            (Truth::Residual(a), Truth::Residual(b)) if and => Truth::Residual(a.and(b)),
            (Truth::Residual(Condition::Any(mut any)), Truth::Residual(b)) => {
                any.push(b);
                Truth::Residual(Condition::Any(any))
            }
            (Truth::Residual(a), Truth::Residual(b)) => Truth::Residual(Condition::Any(vec![a, b])),
        }
    }

    pub(super) fn classical(self) -> Classical {
        match self {
            Truth::Constant(holds) => Classical::Value(QasmValue::Bool(holds)),
            Truth::Residual(condition) => Classical::Truth(condition),
        }
    }
}

impl QasmLowering<'_> {
    /// Evaluates an expression that must be a truth value.
    pub(super) fn condition(&mut self, expr: &QasmExpr) -> Lower<Truth> {
        let value = self.classical(expr)?;
        self.truth(value, expr.span)
    }

    /// Counts the size of conditions.
    pub(super) fn spend(&mut self, more: u64, span: QasmSpan) -> Lower<()> {
        self.conditions = self.conditions.saturating_add(more);
        if self.conditions > MAX_SIZE {
            return self.fail(QasmProblem::LongCondition { limit: MAX_SIZE }, span);
        }
        Ok(())
    }

    /// Converts a value to a truth value.
    pub(super) fn truth(&mut self, value: Classical, span: QasmSpan) -> Lower<Truth> {
        let given = match value {
            Classical::Truth(condition) => return Ok(Truth::Residual(condition)),
            Classical::BitVector { bits, .. } | Classical::AngleBits(bits) => {
                return Ok(Truth::Residual(nonzero(bits)));
            }
            Classical::Value(QasmValue::Bool(holds)) => return Ok(Truth::Constant(holds)),
            Classical::Value(QasmValue::Runtime(expr)) => {
                return Ok(Truth::Residual(Condition::Expr(Arc::new(expr.truth()))));
            }
            Classical::Value(QasmValue::Bits { bits, .. }) => {
                return Ok(Truth::Constant(bits != 0));
            }
            Classical::Value(QasmValue::Int(i, _)) => return Ok(Truth::Constant(i != 0)),
            Classical::Value(other) => other.describe(),
            Classical::Digits { .. } => "an integer",
            Classical::ValueSet(choice) => choice.describe(),
        };
        let (given, expected) = (given.to_owned(), "a condition".to_owned());
        self.fail(QasmProblem::WrongType { given, expected }, span)
    }

    /// Converts a number that is 0 or 1 to the truth value of one bit, if possible; it has no type
    /// then.
    pub(super) fn one_bit(&self, value: Classical) -> Result<Truth, Classical> {
        match value {
            Classical::Truth(condition) => Ok(Truth::Residual(condition)),
            Classical::BitVector { bits, signed: false, .. } if bits.len() == 1 => {
                Ok(Truth::Residual(nonzero(bits)))
            }
            Classical::Value(QasmValue::Bool(holds)) => Ok(Truth::Constant(holds)),
            Classical::Value(QasmValue::Int(i @ 0..=1, _)) => Ok(Truth::Constant(i == 1)),
            Classical::Value(QasmValue::Bits { width: 1, bits }) => Ok(Truth::Constant(bits == 1)),
            other => Err(other),
        }
    }

    /// Returns the exclusive or.
    pub(super) fn differ(&mut self, a: Truth, b: Truth, span: QasmSpan) -> Lower<Truth> {
        match (a, b) {
            (Truth::Constant(holds), other) | (other, Truth::Constant(holds)) => {
                Ok(if holds { other.not() } else { other })
            }
            (Truth::Residual(a), Truth::Residual(b)) => {
                self.spend((size(&a) + size(&b)).saturating_mul(2) + 30, span)?;
                let first = a.clone().and(negate(b.clone()));
                let second = negate(a).and(b);
                Ok(Truth::Residual(Condition::Any(vec![first, second])))
            }
        }
    }
}

/// Returns the negation of a condition.
pub(super) fn negate(condition: Condition) -> Condition {
    match condition {
        Condition::Bit { bit, value } => Condition::Bit { bit, value: !value },
        Condition::Compare { bits, relation, value } => {
            let relation = relation.negated();
            Condition::Compare { bits, relation, value }
        }
        Condition::Not(inner) => *inner,
        Condition::Expr(expr) => Condition::Expr(Arc::new((*expr).clone().not())),
        other => Condition::Not(Box::new(other)),
    }
}

/// Returns the size of a condition in memory.
pub(super) fn size(condition: &Condition) -> u64 {
    let list = |list: &[Condition]| list.iter().map(size).fold(10, u64::saturating_add);
    match condition {
        Condition::Bit { .. } => 10,
        Condition::Compare { bits, value, .. } => 10 + bits.len() as u64 + value.len() as u64,
        Condition::Not(inner) => 10 + size(inner),
        Condition::All(all) => list(all),
        Condition::Any(any) => list(any),
        // None is made here.
        Condition::Expr(_) => 10,
    }
}

pub(super) fn is_one(bit: u32) -> Truth {
    Truth::Residual(Condition::Bit { bit, value: true })
}

/// Returns the condition that some bits are not all 0.
pub(super) fn nonzero(bits: Vec<u32>) -> Condition {
    match bits.as_slice() {
        &[bit] => Condition::Bit { bit, value: true },
        _ => Condition::Compare {
            bits: bits.into(),
            relation: Relation::NotEqual,
            value: Box::new([]),
        },
    }
}
