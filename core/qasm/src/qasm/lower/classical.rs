//! Expressions over classical bits: conditions of `if` and values of assignments.
//!
//! A circuit has conditions, not arithmetic. So the value of an expression is a known value, some
//! bits in order (a register, a slice, a concatenation, a result of `bit_vector`), or a condition
//! on bits.

use super::{
    ExprScope, IndexSet, Lower, QasmLowering, QasmValue, bit_vector,
    evaluate::unary,
    functions,
    integer::IntegerType,
    names::SymbolEntry,
    truth::Truth,
    value_set::{self, ValueSet},
    variables::VariableState,
};
use crate::{
    circuit::Condition,
    qasm::{
        ast::{
            BinaryOp, Index, OperandBase, QasmExpr, QasmExprKind, QasmOperand, QasmSpan, UnaryOp,
        },
        diagnostic::QasmProblem,
    },
    stack::deep,
};

/// Value of an expression over classical bits.
#[derive(Clone, Debug)]
pub(super) enum Classical {
    Value(QasmValue),
    /// A constant too wide for a [`QasmValue`], least significant bit first. A bit string has a
    /// width.
    Digits {
        digits: Vec<bool>,
        width: Option<usize>,
    },
    /// The number in some bits, least significant first; the last is its sign if it is signed. An
    /// integer has a type, which may be wider.
    BitVector {
        bits: Vec<u32>,
        signed: bool,
        ty: Option<IntegerType>,
    },
    Truth(Condition),
    /// An angle with that many bits.
    AngleBits(Vec<u32>),
    /// Any other number: one of a set of values.
    ValueSet(ValueSet),
}

impl Classical {
    /// The bits of a register.
    pub(super) fn register(bits: Vec<u32>) -> Classical {
        Classical::BitVector { bits, signed: false, ty: None }
    }

    /// Returns true if it is an integer with a type, not a literal.
    fn is_typed(&self) -> bool {
        matches!(
            self,
            Classical::BitVector { ty: Some(_), .. } | Classical::Value(QasmValue::Int(_, Some(_)))
        )
    }
}

impl QasmLowering<'_> {
    /// The value of an expression that may read bits.
    pub(super) fn classical(&mut self, expr: &QasmExpr) -> Lower<Classical> {
        match self.classical_or_choice(expr)? {
            Classical::ValueSet(choice) if choice.is_integer() => {
                self.canonical_value(choice, expr.span)
            }
            value => Ok(value),
        }
    }

    /// Returns the value of an expression that may read bits, where an integer that is computed
    /// from elements of an array may be a value set instead of bits.
    pub(super) fn classical_or_choice(&mut self, expr: &QasmExpr) -> Lower<Classical> {
        deep(|| self.deep_classical(expr))
    }

    fn deep_classical(&mut self, expr: &QasmExpr) -> Lower<Classical> {
        if self.has_memory() {
            return self.value_or_bits(expr);
        }
        match &expr.kind {
            QasmExprKind::Index(base, index)
                if index.iter().any(|at| matches!(at, Index::At(at) if self.may_depend(at)))
                    || self.may_depend(base) && !self.in_bits(base) =>
            {
                self.indexed_by_bits(base, index, expr.span)
            }
            QasmExprKind::Name(_) | QasmExprKind::Index(..) => match self.bits_of(expr)? {
                Some(word) => Ok(word),
                None => self.evaluate(expr, ExprScope::Global).map(Classical::Value),
            },
            QasmExprKind::Int(None) => self.long_number(expr.span),
            QasmExprKind::Text => match self.evaluate(expr, ExprScope::Global)? {
                QasmValue::Other(_) => self.long_string(expr.span),
                value => Ok(Classical::Value(value)),
            },
            QasmExprKind::Unary(op @ (UnaryOp::Not | UnaryOp::Invert), operand) => {
                let value = match self.classical(operand)? {
                    Classical::Value(value) => {
                        let result = unary(*op, value);
                        return self.check(result, expr.span).map(Classical::Value);
                    }
                    word @ Classical::BitVector { .. } if *op == UnaryOp::Invert => {
                        return self.inverted(word, expr.span);
                    }
                    other => other,
                };
                self.truth(value, expr.span).map(|t| t.not().classical())
            }
            QasmExprKind::Unary(UnaryOp::Minus, operand) => {
                match self.classical_or_choice(operand)? {
                    Classical::Value(value) => {
                        let result = unary(UnaryOp::Minus, value);
                        self.check(result, expr.span).map(Classical::Value)
                    }
                    word => {
                        let zero = Classical::Value(QasmValue::int(0));
                        self.combine(BinaryOp::Sub, zero, word, expr.span)
                    }
                }
            }
            QasmExprKind::Power(operands) => {
                let (base, exponent) =
                    (self.classical(&operands[0])?, self.classical(&operands[1])?);
                self.power_of_bits(base, exponent, expr.span)
            }
            QasmExprKind::Chain(first, rest) => {
                let mut left = self.classical_or_choice(first)?;
                for (op, right) in rest {
                    let span = first.span.to(right.span);
                    let right = self.classical_or_choice(right)?;
                    left = self.combine(*op, left, right, span)?;
                }
                Ok(left)
            }
            QasmExprKind::Cast(ty, inner) => {
                let value = self.classical(inner)?;
                self.cast_bits(ty, value, expr.span)
            }
            QasmExprKind::Measure(operand) => {
                let qubits = self.qubits(operand)?;
                let into =
                    self.scratch_bits(qubits.len().unwrap_or(1), self.locals.len(), expr.span)?;
                self.spend(u64::from(into.len().unwrap_or(1)), expr.span)?;
                let bits = into.iter().collect();
                self.measure_into(qubits, into, operand.span, expr.span, expr.span)?;
                Ok(Classical::register(bits))
            }
            QasmExprKind::Call(name, args) if self.subroutine(name.symbol).is_some() => {
                let number = self.subroutine(name.symbol).unwrap_or_default();
                self.called(number, args, expr.span)
            }
            QasmExprKind::Call(name, args)
                if functions::NAMES.contains(&self.interner.name(name.symbol))
                    && !bit_vector::FUNCTIONS.contains(&self.interner.name(name.symbol))
                    && self.interner.name(name.symbol) != "sizeof"
                    && args.iter().any(|arg| self.may_depend(arg)) =>
            {
                self.function_of_value_sets(*name, args, expr.span)
            }
            QasmExprKind::Call(name, args)
                if bit_vector::FUNCTIONS.contains(&self.interner.name(name.symbol)) =>
            {
                self.function_of_bits(*name, args, expr)
            }
            _ => self.evaluate(expr, ExprScope::Global).map(Classical::Value),
        }
    }

    /// Returns true if the base of an index expression is a register, or a variable in bits.
    fn in_bits(&self, expr: &QasmExpr) -> bool {
        let mut base = expr;
        while let QasmExprKind::Index(inner, _) = &base.kind {
            base = inner;
        }
        let QasmExprKind::Name(symbol) = base.kind else { return false };
        match self.names.get(symbol) {
            Some(SymbolEntry::Bits(_)) => true,
            Some(&SymbolEntry::Variable(id)) => {
                matches!(self.variables[id].state, VariableState::Bits { .. })
            }
            _ => false,
        }
    }

    /// `base[index]`, where the index depends on measurements.
    fn indexed_by_bits(
        &mut self,
        base: &QasmExpr,
        index: &[Index],
        span: QasmSpan,
    ) -> Lower<Classical> {
        if let (QasmExprKind::Name(symbol), [Index::At(at)]) = (&base.kind, index)
            && let Some(SymbolEntry::Bits(bits)) = self.names.get(*symbol)
        {
            let (bits, name) = (bits.clone(), self.text(base.span).to_owned());
            return self.bit_of_value_sets(&bits, at, &name, span);
        }
        let name = self.text(base.span).to_owned();
        match self.classical(base)? {
            value @ (Classical::Value(_) | Classical::ValueSet(_)) => {
                self.element_of_value_sets(value, index, &name, span)
            }
            Classical::BitVector { bits, .. } | Classical::AngleBits(bits) => match index {
                [Index::At(at)] => {
                    self.bit_of_value_sets(&IndexSet::List(bits.into()), at, &name, span)
                }
                _ => self.refuse("several indices of an integer", span),
            },
            _ => self.refuse("this index of what depends on a measurement", span),
        }
    }

    /// Evaluates `base ** exponent`: a product, or a power of 2 by a shift, where one of both
    /// depends on a measurement.
    fn power_of_bits(
        &mut self,
        base: Classical,
        exponent: Classical,
        span: QasmSpan,
    ) -> Lower<Classical> {
        const MOST_FACTORS: i128 = 128;
        match (base, exponent) {
            (Classical::Value(base), Classical::Value(exponent)) => {
                self.raise(base, exponent, span).map(Classical::Value)
            }
            (
                Classical::BitVector { bits, signed, ty },
                Classical::Value(QasmValue::Int(n @ 0..=MOST_FACTORS, _)),
            ) => {
                let factor = || Classical::BitVector { bits: bits.clone(), signed, ty };
                let one = Classical::Value(QasmValue::Int(ty.map_or(1, |ty| ty.wrap(1)), ty));
                (0..n).try_fold(one, |product, _| {
                    self.combine(BinaryOp::Mul, product, factor(), span)
                })
            }
            (
                Classical::Value(QasmValue::Int(base, ty)),
                exponent @ Classical::BitVector { .. },
            ) if base.count_ones() == 1 && base > 0 => {
                let times = Classical::Value(QasmValue::int(i128::from(base.trailing_zeros())));
                let places = self.combine(BinaryOp::Mul, exponent, times, span)?;
                self.combine(BinaryOp::Shl, Classical::Value(QasmValue::Int(1, ty)), places, span)
            }
            (base, exponent) => self.power_of_value_sets(base, exponent, span),
        }
    }

    /// Returns the bits that an expression names, if it does: a register, a part of one, or a
    /// variable that is kept in bits.
    fn bits_of(&mut self, expr: &QasmExpr) -> Lower<Option<Classical>> {
        let mut base = expr;
        while let QasmExprKind::Index(inner, _) = &base.kind {
            base = inner;
        }
        let QasmExprKind::Name(symbol) = base.kind else { return Ok(None) };
        let (picks, number) = match self.names.get(symbol) {
            Some(SymbolEntry::Bits(_)) => {
                let Some(operand) = self.as_operand(expr) else { return Ok(None) };
                (self.bits(&operand)?, None)
            }
            Some(&SymbolEntry::Variable(id)) => match &self.variables[id].state {
                VariableState::ValueSet(choice) if matches!(expr.kind, QasmExprKind::Name(_)) => {
                    return Ok(Some(Classical::ValueSet(choice.clone())));
                }
                VariableState::Bits { bits, signed } => {
                    let (bits, signed, ty) = (bits.clone(), *signed, self.variables[id].integer);
                    let used = self.variables[id].used.min(bits.len().unwrap_or(1));
                    match self.as_operand(expr) {
                        Some(operand)
                            if matches!(expr.kind, QasmExprKind::Index(..))
                                && self.variables[id].has_bits() =>
                        {
                            (self.bits_of_variable(id, &operand)?, None)
                        }
                        _ if matches!(expr.kind, QasmExprKind::Index(..)) => return Ok(None),
                        _ if ty.is_some() => (
                            IndexSet::List(bits.iter().take(used as usize).collect()),
                            Some((signed, ty)),
                        ),
                        _ => (bits, Some((signed, ty))),
                    }
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.spend(u64::from(picks.len().unwrap_or(1)), expr.span)?;
        let bits = picks.iter().collect();
        Ok(Some(match number {
            Some(_) if self.reads_angle_bits(expr) => Classical::AngleBits(bits),
            Some((signed, ty)) => Classical::BitVector { bits, signed, ty },
            None => Classical::register(bits),
        }))
    }

    /// Returns the bits of an integer that is kept in some, or those that an index selects.
    pub(super) fn bits_of_variable(&mut self, id: usize, operand: &QasmOperand) -> Lower<IndexSet> {
        let (VariableState::Bits { bits, .. }, OperandBase::Name(name)) =
            (&self.variables[id].state, operand.base)
        else {
            return self.refuse("this part of a variable", operand.span);
        };
        let bits = bits.clone();
        if self.variables[id].integer.is_some_and(|ty| !ty.sized) && !operand.parts().is_empty() {
            let given = "an integer without a size".to_owned();
            return self
                .fail(QasmProblem::Operands { operator: "[]".to_owned(), given }, operand.span);
        }
        match operand.parts().as_slice() {
            [] => Ok(bits),
            [part] if part.len() == 1 => self.pick(&bits, &part[0], name),
            _ => self.refuse("several indices of an integer", operand.span),
        }
    }

    /// `left op right`.
    pub(super) fn combine(
        &mut self,
        op: BinaryOp,
        left: Classical,
        right: Classical,
        span: QasmSpan,
    ) -> Lower<Classical> {
        use BinaryOp::*;
        let in_bits =
            |side: &Classical| matches!(side, Classical::BitVector { .. } | Classical::Truth(_));
        let (left, right) = match (left, right) {
            (Classical::ValueSet(a), b)
                if a.is_integer() && (in_bits(&b) || matches!(op, And | Or)) =>
            {
                (self.canonical_value(a, span)?, b)
            }
            (a, Classical::ValueSet(b))
                if b.is_integer() && (in_bits(&a) || matches!(op, And | Or)) =>
            {
                (a, self.canonical_value(b, span)?)
            }
            sides => sides,
        };
        if value_set::chooses(op, &left, &right) {
            return self.combine_value_sets(op, left, right, span);
        }
        if matches!(left, Classical::AngleBits(_)) || matches!(right, Classical::AngleBits(_)) {
            return self.combine_turns(op, left, right, span);
        }
        if let (Classical::Value(a), Classical::Value(b)) = (&left, &right) {
            return self.binary(op, a.clone(), b.clone(), span).map(Classical::Value);
        }
        match op {
            And | Or => {
                let (a, b) = (self.truth(left, span)?, self.truth(right, span)?);
                Ok(a.combine(b, op == And).classical())
            }
            Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual => {
                self.compare(op, left, right, span).map(Truth::classical)
            }
            // An integer keeps its type, however few digits it has.
            BitAnd | BitOr | BitXor if left.is_typed() || right.is_typed() => {
                self.computed(op, left, right, span)
            }
            BitAnd | BitOr | BitXor => {
                let bits = ![&left, &right]
                    .iter()
                    .any(|v| matches!(v, Classical::Value(QasmValue::Bool(_))));
                match (self.one_bit(left), self.one_bit(right)) {
                    (Ok(a), Ok(b)) => {
                        let truth = if op == BitXor {
                            self.differ(a, b, span)?
                        } else {
                            a.combine(b, op == BitAnd)
                        };
                        Ok(match truth {
                            Truth::Constant(holds) if bits => Classical::Value(QasmValue::Bits {
                                width: 1,
                                bits: u128::from(holds),
                            }),
                            truth => truth.classical(),
                        })
                    }
                    (left, right) => {
                        let [left, right] = [left, right]
                            .map(|side| side.map_or_else(|other| other, Truth::classical));
                        self.computed(op, left, right, span)
                    }
                }
            }
            Concat => match (left, right) {
                (
                    Classical::BitVector { mut bits, .. },
                    Classical::BitVector { bits: more, .. },
                ) => {
                    bits.extend(more);
                    Ok(Classical::register(bits))
                }
                _ => {
                    let (operator, given) = (op.text().to_owned(), "these operands".to_owned());
                    self.fail(QasmProblem::Operands { operator, given }, span)
                }
            },
            Add | Sub | Mul | Div | Rem | Shl | Shr => self.computed(op, left, right, span),
        }
    }
}
