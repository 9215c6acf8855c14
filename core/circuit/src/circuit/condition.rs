//! Conditions on classical bits, for instructions that run only where they hold.

use std::{fmt, sync::Arc};

use super::{BitRange, CircuitError};
use crate::classical::{
    CircuitNames, ClassicalExpr, PendingExpr, PlaceNames, ReadMemory, ReadPlace, Relation,
    Renumber, ScalarVariable, VariableId,
};

/// A condition on the classical bits of a circuit, which are numbered over all registers.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// One bit has this value.
    Bit {
        /// The bit.
        bit: u32,
        /// The value that it must have.
        value: bool,
    },
    /// The unsigned number in some bits, least significant first, compared with a constant of any
    /// width.
    Compare {
        /// The bits.
        bits: Box<[u32]>,
        /// The comparison, bits on the left.
        relation: Relation,
        /// The constant's bits, least significant first; those that are missing are 0.
        value: Box<[bool]>,
    },
    /// True if the condition is not.
    Not(Box<Condition>),
    /// True if all conditions are.
    All(Vec<Condition>),
    /// True if one of the conditions is.
    Any(Vec<Condition>),
    /// The value of an expression, a truth value.
    Expr(Arc<ClassicalExpr>),
}

impl Condition {
    /// The unsigned number in some bits, least significant first, compared with a constant. One bit
    /// compared with 0 or 1 becomes [`Condition::Bit`].
    ///
    /// ```
    /// use ketgrad_core::circuit::{Condition, Relation};
    /// let c = Condition::compare(&[0, 1], Relation::Less, 2)?;
    /// assert_eq!(c.to_string(), "{c[1], c[0]} < 0b10");
    /// assert_eq!(Condition::compare(&[3], Relation::NotEqual, 0)?, Condition::Bit { bit: 3, value: true });
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// [`CircuitError::NotUnsigned`] for a constant that is negative or beyond 128 bits,
    /// [`CircuitError::NoSuchBit`] for a bit beyond 32 bits.
    pub fn compare<N>(
        bits: &[usize],
        relation: Relation,
        constant: N,
    ) -> Result<Condition, CircuitError>
    where
        N: TryInto<u128> + Copy + fmt::Display,
    {
        let bit = |&b: &usize| {
            u32::try_from(b)
                .map_err(|_| CircuitError::NoSuchBit { given: b, n_bits: u32::MAX as usize })
        };
        let value: u128 = constant
            .try_into()
            .map_err(|_| CircuitError::NotUnsigned { given: constant.to_string() })?;
        if let (&[one], Relation::Equal | Relation::NotEqual, 0 | 1) = (bits, relation, value) {
            return Ok(Condition::Bit {
                bit: bit(&one)?,
                value: (value == 1) == (relation == Relation::Equal),
            });
        }
        let width = u128::BITS - value.leading_zeros();
        Ok(Condition::Compare {
            bits: bits.iter().map(bit).collect::<Result<_, _>>()?,
            relation,
            value: (0..width).map(|i| value >> i & 1 == 1).collect(),
        })
    }

    /// Returns true if the condition holds, given what it reads.
    pub fn holds(&self, memory: &dyn ReadMemory) -> bool {
        let bit_value = |bit| memory.bit(bit);
        match self {
            Condition::Bit { bit, value } => bit_value(*bit) == *value,
            Condition::Compare { bits, relation, value } => {
                let width = bits.len().max(value.len());
                let left = (0..width).rev().map(|i| bits.get(i).is_some_and(|&b| bit_value(b)));
                let right = (0..width).rev().map(|i| value.get(i).copied().unwrap_or(false));
                relation.holds(left.cmp(right))
            }
            Condition::Not(inner) => !inner.holds(memory),
            Condition::All(all) => all.iter().all(|c| c.holds(memory)),
            Condition::Any(any) => any.iter().any(|c| c.holds(memory)),
            Condition::Expr(expr) => expr.evaluate(memory) == 1,
        }
    }

    /// Returns the conjunction of both conditions.
    #[must_use]
    pub fn and(self, other: Condition) -> Condition {
        match self {
            Condition::All(mut all) => {
                all.push(other);
                Condition::All(all)
            }
            one => Condition::All(vec![one, other]),
        }
    }

    /// Returns the condition that holds where this one does not, without [`Condition::Not`].
    ///
    /// ```
    /// use ketgrad_core::circuit::{Condition, Relation};
    /// let low = Condition::compare(&[0, 1], Relation::Less, 2)?;
    /// let both = Condition::Bit { bit: 2, value: true }.and(low);
    /// assert_eq!(both.negated().to_string(), "(c[2] == 0) || ({c[1], c[0]} >= 0b10)");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    #[must_use]
    pub fn negated(self) -> Condition {
        let each = |list: Vec<Condition>| list.into_iter().map(Condition::negated).collect();
        match self {
            Condition::Bit { bit, value } => Condition::Bit { bit, value: !value },
            Condition::Compare { bits, relation, value } => {
                Condition::Compare { bits, relation: relation.negated(), value }
            }
            Condition::Not(inner) => *inner,
            Condition::All(all) => Condition::Any(each(all)),
            Condition::Any(any) => Condition::All(each(any)),
            Condition::Expr(expr) => Condition::Expr(Arc::new(Arc::unwrap_or_clone(expr).not())),
        }
    }

    /// Calls `f` with every bit that is read.
    pub fn for_each_bit(&self, f: &mut dyn FnMut(u32)) {
        self.for_each_place(&mut |place| {
            if let ReadPlace::Bit(bit) = place {
                f(bit);
            }
        });
    }

    /// Calls `f` with every variable that is read.
    pub fn for_each_variable(&self, f: &mut dyn FnMut(VariableId)) {
        self.for_each_place(&mut |place| {
            if let ReadPlace::Variable(variable) = place {
                f(variable);
            }
        });
    }

    pub(crate) fn for_each_place(&self, f: &mut dyn FnMut(ReadPlace<'_>)) {
        match self {
            Condition::Bit { bit, .. } => f(ReadPlace::Bit(*bit)),
            Condition::Compare { bits, .. } => bits.iter().for_each(|&b| f(ReadPlace::Bit(b))),
            Condition::Not(inner) => inner.for_each_place(f),
            Condition::All(list) | Condition::Any(list) => {
                list.iter().for_each(|c| c.for_each_place(f))
            }
            Condition::Expr(expr) => expr.for_each_place(f),
        }
    }

    /// Returns the condition that reads other places.
    pub(crate) fn renumbered(&self, to: &dyn Renumber) -> Condition {
        let list = |list: &[Condition]| list.iter().map(|c| c.renumbered(to)).collect();
        match self {
            Condition::Bit { bit, value } => Condition::Bit { bit: to.bit(*bit), value: *value },
            Condition::Compare { bits, relation, value } => Condition::Compare {
                bits: bits.iter().map(|&b| to.bit(b)).collect(),
                relation: *relation,
                value: value.clone(),
            },
            Condition::Not(inner) => Condition::Not(Box::new(inner.renumbered(to))),
            Condition::All(all) => Condition::All(list(all)),
            Condition::Any(any) => Condition::Any(list(any)),
            Condition::Expr(expr) => Condition::Expr(Arc::new(expr.renumbered(to))),
        }
    }
}

/// The truth value of an expression.
impl From<ClassicalExpr> for Condition {
    fn from(expr: ClassicalExpr) -> Condition {
        Condition::Expr(Arc::new(expr.truth()))
    }
}

/// The truth value of a variable.
impl From<ScalarVariable> for Condition {
    fn from(variable: ScalarVariable) -> Condition {
        ClassicalExpr::from(variable).into()
    }
}

/// What becomes a condition: anything that a [`Condition`] is made of, or a formula.
pub trait IntoCondition {
    /// Returns the condition.
    ///
    /// # Errors
    /// [`CircuitError::Classical`] for a formula without a meaning.
    fn into_condition(self) -> Result<Condition, CircuitError>;
}

impl<T: Into<Condition>> IntoCondition for T {
    fn into_condition(self) -> Result<Condition, CircuitError> {
        Ok(self.into())
    }
}

/// The truth value of the formula.
impl IntoCondition for PendingExpr {
    fn into_condition(self) -> Result<Condition, CircuitError> {
        Ok(self.into_result()?.into())
    }
}

/// Some of the bits are 1.
impl From<BitRange> for Condition {
    fn from(bits: BitRange) -> Condition {
        // A circuit numbers its bits with 32 bits.
        let mut bits = bits.range().map(|bit| u32::try_from(bit).unwrap_or(u32::MAX));
        match (bits.next(), bits.next()) {
            (Some(bit), None) => Condition::Bit { bit, value: true },
            (first, second) => Condition::Compare {
                bits: first.into_iter().chain(second).chain(bits).collect(),
                relation: Relation::NotEqual,
                value: Box::new([]),
            },
        }
    }
}

/// `c[0] == 1 && !(c[3:1] == 0b101)`, bits counted over all registers; variables are `v0`, `v1`, ….
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&CircuitNames))
    }
}

impl Condition {
    /// The text of the condition, with these names of what its expressions read.
    pub(crate) fn text(&self, names: &dyn PlaceNames) -> String {
        let joined = |list: &[Condition], sign: &str| {
            let parts: Vec<String> = list.iter().map(|c| format!("({})", c.text(names))).collect();
            parts.join(sign)
        };
        match self {
            Condition::Bit { bit, value } => format!("c[{bit}] == {}", u8::from(*value)),
            Condition::Compare { bits, relation, value } => {
                let names: Vec<String> = bits.iter().rev().map(|b| format!("c[{b}]")).collect();
                let digits: String =
                    value.iter().rev().map(|&b| if b { '1' } else { '0' }).collect();
                let digits = if digits.is_empty() { "0" } else { &digits };
                format!("{{{}}} {} 0b{digits}", names.join(", "), relation.symbol())
            }
            Condition::Not(inner) => format!("!({})", inner.text(names)),
            Condition::All(all) => joined(all, " && "),
            Condition::Any(any) => joined(any, " || "),
            Condition::Expr(expr) => expr.converted_text(names).0,
        }
    }
}
