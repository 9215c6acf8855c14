//! Expressions and assignments with parts that are known only when the circuit runs: elements of
//! arrays, bits of numbers, indices of qubits.
//!
//! ```text
//! uint[2] k = c;
//! x q[k];               if (k == 0) x q[0];  if (k == 1) x q[1];  …
//! rx(w[k]) q[0];        an element of an array in memory
//! d[k] = true;          one of some bits
//! ```

use std::rc::Rc;

use super::{
    IndexSet, Lower, LoweredItem, Planned, QasmLowering, QasmValue, classical::Classical,
    evaluate::unary, names::SymbolEntry, runtime, truth::Truth, variables::VariableState,
};
use crate::{
    classical::{Arithmetic, ClassicalExpr, ClassicalType, IntType, VariableType},
    qasm::{
        ast::{
            Assignment, BinaryOp, Declaration, Index, InternedName, OperandBase, QasmExpr,
            QasmExprKind, QasmOperand, QasmSpan, QasmStmt, QasmStmtKind, Select, Type, UnaryOp,
        },
        diagnostic::QasmProblem,
    },
};

/// Largest register whose qubits a run-time index selects.
const MAX_SELECTED: u64 = 1024;

/// A pair of brackets of a statement: its number, that of the index in it, and the number of
/// elements that it selects from.
pub(super) struct Bracket {
    number: usize,
    at: usize,
    /// The number of the expression within the index: of the ends of a range, or in a set.
    part: usize,
    size: u64,
}

impl QasmLowering<'_> {
    /// The value of an expression that may read memory.
    pub(super) fn value_or_bits(&mut self, expr: &QasmExpr) -> Lower<Classical> {
        use super::ExprScope::Global;
        match &expr.kind {
            QasmExprKind::Name(_) | QasmExprKind::Index(..) => match self.register_bits(expr)? {
                Some(bits) => Ok(bits),
                None => self.evaluate(expr, Global).map(Classical::Value),
            },
            QasmExprKind::Int(None) => self.long_number(expr.span),
            QasmExprKind::Text => match self.evaluate(expr, Global)? {
                QasmValue::Other(_) => self.long_string(expr.span),
                value => Ok(Classical::Value(value)),
            },
            QasmExprKind::Unary(op, operand) => {
                let value = match (op, self.classical(operand)?) {
                    (UnaryOp::Not, bits @ (Classical::BitVector { .. } | Classical::Truth(_))) => {
                        return self.truth(bits, expr.span).map(|truth| truth.not().classical());
                    }
                    (_, value) => self.valued(value, operand.span)?,
                };
                let result = unary(*op, value);
                self.check(result, expr.span).map(Classical::Value)
            }
            QasmExprKind::Power(operands) => {
                let (base, exponent) =
                    (self.classical(&operands[0])?, self.classical(&operands[1])?);
                let base = self.valued(base, operands[0].span)?;
                let exponent = self.valued(exponent, operands[1].span)?;
                self.raise(base, exponent, expr.span).map(Classical::Value)
            }
            QasmExprKind::Chain(first, rest) => {
                let mut left = self.classical(first)?;
                for (op, right) in rest {
                    let span = first.span.to(right.span);
                    let right = self.classical(right)?;
                    left = self.combine_values(*op, left, right, span)?;
                }
                Ok(left)
            }
            QasmExprKind::Cast(ty, inner) => {
                let value = self.classical(inner)?;
                if let (Classical::BitVector { bits, .. }, Some(ClassicalType::Bits(width))) =
                    (&value, self.scalar_type(ty)?)
                    && bits.len() == width as usize
                {
                    return Ok(value);
                }
                let value = self.valued(value, inner.span)?;
                self.explicit_cast(ty, value, expr.span).map(Classical::Value)
            }
            QasmExprKind::Measure(operand) => {
                let qubits = self.qubits(operand)?;
                let size = qubits.len().unwrap_or(1);
                let into = self.scratch_bits(size, self.locals.len(), expr.span)?;
                let bits = into.iter().collect();
                self.measure_into(qubits, into, operand.span, expr.span, expr.span)?;
                Ok(Classical::register(bits))
            }
            QasmExprKind::Call(name, args) if self.subroutine(name.symbol).is_some() => {
                let number = self.subroutine(name.symbol).unwrap_or_default();
                self.called(number, args, expr.span)
            }
            _ => self.evaluate(expr, Global).map(Classical::Value),
        }
    }

    /// The bits that an expression names: a register, or a part of one at known indices.
    fn register_bits(&mut self, expr: &QasmExpr) -> Lower<Option<Classical>> {
        let (mut base, mut known) = (expr, true);
        while let QasmExprKind::Index(inner, index) = &base.kind {
            known &= !index.iter().any(|index| self.index_may_depend(index));
            base = inner;
        }
        let QasmExprKind::Name(symbol) = base.kind else { return Ok(None) };
        if !known || !matches!(self.names.get(symbol), Some(SymbolEntry::Bits(_))) {
            return Ok(None);
        }
        let Some(operand) = self.as_operand(expr) else { return Ok(None) };
        let picks = self.bits(&operand)?;
        self.spend(u64::from(picks.len().unwrap_or(1)), expr.span)?;
        Ok(Some(Classical::register(picks.iter().collect())))
    }

    fn index_may_depend(&self, index: &Index) -> bool {
        match index {
            Index::At(expr) => self.may_depend(expr),
            Index::Range { start, step, end, .. } => {
                [start, step, end].into_iter().flatten().any(|expr| self.may_depend(expr))
            }
            Index::Set(_, items) => items.iter().any(|item| self.may_depend(item)),
        }
    }

    /// `left op right`.
    fn combine_values(
        &mut self,
        op: BinaryOp,
        left: Classical,
        right: Classical,
        span: QasmSpan,
    ) -> Lower<Classical> {
        use BinaryOp::*;
        let bits = |side: &Classical| match side {
            Classical::BitVector { ty: None, .. } => true,
            Classical::Truth(_) => matches!(op, And | Or),
            _ => false,
        };
        let constant = |side: &Classical| {
            matches!(
                side,
                Classical::Digits { .. }
                    | Classical::Value(
                        QasmValue::Int(0.., None) | QasmValue::Bool(_) | QasmValue::Bits { .. }
                    )
            )
        };
        // What conditions on bits can say.
        let plain =
            bits(&left) && (bits(&right) || constant(&right)) || constant(&left) && bits(&right);
        match op {
            And | Or if plain => {
                let (a, b) = (self.truth(left, span)?, self.truth(right, span)?);
                return Ok(a.combine(b, op == And).classical());
            }
            Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual
                if plain && (constant(&left) || constant(&right)) =>
            {
                return self.compare(op, left, right, span).map(Truth::classical);
            }
            Concat => {
                if let (
                    Classical::BitVector { bits, .. },
                    Classical::BitVector { bits: more, .. },
                ) = (&left, &right)
                {
                    return Ok(Classical::register([&bits[..], &more[..]].concat()));
                }
            }
            _ => {}
        }
        let (mut left, right) = (self.valued(left, span)?, self.valued(right, span)?);
        // A single bit has no places to move to: it is a number.
        if let (Shl | Shr, QasmValue::Runtime(bit)) = (op, &left)
            && bit.ty() == Some(ClassicalType::Bits(1))
        {
            let number = (**bit).clone().cast(ClassicalType::Int(IntType::INT));
            left = runtime::value(self.check(number.map_err(runtime::problem), span)?);
        }
        self.binary(op, left, right, span).map(Classical::Value)
    }

    /// `base[index, …]`, where an index is known only when the circuit runs, or the base is an
    /// array in memory. `None` if neither is so.
    pub(super) fn indexed_in_memory(
        &mut self,
        base: &QasmExpr,
        index: &[Index],
        span: QasmSpan,
    ) -> Lower<Option<QasmValue>> {
        let (mut root, mut all) = (base, vec![index]);
        while let QasmExprKind::Index(inner, index) = &root.kind {
            all.insert(0, index);
            root = inner;
        }
        let array = match root.kind {
            QasmExprKind::Name(symbol) => match self.names.get(symbol) {
                Some(&SymbolEntry::Variable(id)) if self.variables[id].is_array() => Some(id),
                _ => None,
            },
            _ => None,
        };
        let rank = array.and_then(|id| self.rank(id));
        let stored = array.is_some_and(|id| self.variables[id].state == VariableState::Stored);
        let index: Vec<&Index> = all.into_iter().flatten().collect();
        let runtime = index.iter().any(|index| self.index_may_depend(index));
        let at_places = index.iter().all(|index| matches!(index, Index::At(_)));
        let is_element = stored && at_places && rank == Some(index.len());
        if !runtime && !is_element {
            return Ok(None);
        }
        if !at_places {
            return self.refuse("a slice at an index that a measurement decides", span);
        }
        let mut places = Vec::with_capacity(index.len());
        for at in index {
            let Index::At(expr) = at else { continue };
            let value = self.classical(expr)?;
            let value = self.valued(value, expr.span)?;
            let place = runtime::expr(value);
            places.push(self.check(place, expr.span)?);
        }
        let Some(id) = array else {
            let value = self.classical(root)?;
            let value = self.valued(value, root.span)?;
            return self.element_at(value, places, span).map(Some);
        };
        self.flush(id, span)?;
        let slot = self.slot(id, span)?;
        // Further indices are those of bits of an element.
        let bits = places.split_off(rank.unwrap_or(places.len()).min(places.len()));
        let element = self.memory.element(slot, places);
        let element = runtime::value(self.check(element, span)?);
        match bits.is_empty() {
            true => Ok(Some(element)),
            false => self.element_at(element, bits, span).map(Some),
        }
    }

    /// The number of axes of an array.
    fn rank(&self, id: usize) -> Option<usize> {
        match (&self.variables[id].ty.dims, &self.variables[id].state) {
            (Some(_), VariableState::Known(value @ QasmValue::Array(_))) => {
                let mut axes = 0;
                let mut part = Some(value);
                while let Some(QasmValue::Array(items)) = part {
                    (axes, part) = (axes + 1, items.first());
                }
                Some(axes)
            }
            (Some(dims), _) => {
                let stored = self.variables[id].slot.and_then(|slot| self.memory.rank(slot));
                stored.or(Some(dims.len()))
            }
            (None, _) => None,
        }
    }

    /// The element of a value at run-time indices.
    fn element_at(
        &mut self,
        value: QasmValue,
        places: Vec<ClassicalExpr>,
        span: QasmSpan,
    ) -> Lower<QasmValue> {
        if let QasmValue::Array(items) = &value {
            return self.table_element(items, places, span);
        }
        let [place] = <[ClassicalExpr; 1]>::try_from(places)
            .or_else(|_| self.refuse("several indices of a number", span))?;
        let bit = runtime::expr(value).and_then(|expr| expr.bit(place).map_err(runtime::problem));
        self.check(bit, span).map(runtime::value)
    }

    /// The element of an array of constants.
    fn table_element(
        &mut self,
        items: &Rc<[QasmValue]>,
        places: Vec<ClassicalExpr>,
        span: QasmSpan,
    ) -> Lower<QasmValue> {
        let mut shape = Vec::new();
        let mut part = Some(QasmValue::Array(items.clone()));
        let mut first = QasmValue::int(0);
        while let Some(value) = part {
            match &value {
                QasmValue::Array(items) => {
                    shape.push(u32::try_from(items.len()).unwrap_or(u32::MAX));
                    part = items.first().cloned();
                }
                other => {
                    first = other.clone();
                    part = None;
                }
            }
        }
        if shape.len() != places.len() {
            return self.refuse("a row at an index that a measurement decides", span);
        }
        let scalar = runtime::expr(first)
            .map(|expr| expr.ty().unwrap_or(ClassicalType::Int(IntType::signed(64))));
        let ty = VariableType::array(self.check(scalar, span)?, &shape);
        let slot = self.table(items, ty, span)?;
        let element = self.memory.element(slot, places);
        self.check(element, span).map(runtime::value)
    }

    /// `name[…] = value` for a variable that is in memory, or gets there.
    pub(super) fn assign_part_in_memory(
        &mut self,
        id: usize,
        target: &QasmOperand,
        value: Classical,
        span: QasmSpan,
    ) -> Lower<()> {
        let value = self.valued(value, span)?;
        let parts = target.parts();
        let runtime = parts.iter().flat_map(|part| part.iter()).any(|i| self.index_may_depend(i));
        let known = matches!(self.variables[id].state, VariableState::Known(_));
        let name = self.name_of(id);
        if known && !runtime && !value.is_runtime() {
            let whole = self.variable(id, target.span)?;
            let places = self.places(&whole, &parts, &name, target.span)?;
            drop(whole);
            return self.assign_part(id, &places, Classical::Value(value), span);
        }
        if !self.variables[id].is_array() {
            return self.assign_bit_in_memory(id, &parts, value, target.span);
        }
        self.flush(id, span)?;
        if !runtime {
            let whole = self.read_variable(id, target.span)?;
            let places = self.places(&whole, &parts, &name, target.span)?;
            return self.assign_elements(id, &places, &value, span);
        }
        let mut indices = Vec::new();
        for index in parts.iter().flat_map(|part| part.iter()) {
            let Index::At(expr) = index else {
                return self.refuse("a slice at an index that a measurement decides", target.span);
            };
            let place = self.classical(expr)?;
            let place = self.valued(place, expr.span)?;
            let place = runtime::expr(place);
            indices.push(self.check(place, expr.span)?);
        }
        let slot = self.slot(id, span)?;
        let element = self.variables[id].element();
        let value = self.cast(&element, value, span)?;
        self.write(slot, indices, value, span)
    }

    /// Assigns to one bit of a number, or some at known places.
    fn assign_bit_in_memory(
        &mut self,
        id: usize,
        parts: &[Box<[Index]>],
        value: QasmValue,
        span: QasmSpan,
    ) -> Lower<()> {
        let ty: Type = (*self.variables[id].ty).clone();
        let width = match self.scalar_type(&ty)? {
            Some(ClassicalType::Int(int)) if ty.size.is_some() => int.bits,
            Some(ClassicalType::Angle(width)) if ty.size.is_some() => width,
            _ => {
                let given = format!("`{}`", self.name_of(id));
                let operator = "[]".to_owned();
                return self.fail(QasmProblem::Operands { operator, given }, span);
            }
        };
        let places = match parts {
            [part] => match &**part {
                [Index::At(at)] if self.may_depend(at) => {
                    let place = self.classical(at)?;
                    let place = self.valued(place, at.span)?;
                    let place = runtime::expr(place);
                    vec![self.check(place, at.span)?]
                }
                _ => {
                    let whole = QasmValue::Bits { width, bits: 0 };
                    let name = self.name_of(id);
                    let selected = self.places(&whole, parts, &name, span)?;
                    let number = |at: usize| ClassicalExpr::literal(at as i128);
                    match selected.first() {
                        Some(super::select::AxisSelection::One(at)) => vec![number(*at)],
                        Some(super::select::AxisSelection::Many(many)) => {
                            many.iter().map(|&at| number(at)).collect()
                        }
                        None => Vec::new(),
                    }
                }
            },
            _ => return self.refuse("several indices of a number", span),
        };
        let count = u32::try_from(places.len()).unwrap_or(u32::MAX);
        self.flush(id, span)?;
        let old = self.read_variable(id, span)?;
        let new = with_bits(old, value, places, (width, count));
        let new = self.check(new, span)?;
        let slot = self.slot(id, span)?;
        let value = runtime::value(new);
        let value = self.explicit_cast(&ty, value, span)?;
        self.write(slot, Vec::new(), value, span)?;
        self.set(id, VariableState::Stored);
        Ok(())
    }

    /// Writes a value that is known only when the circuit runs to bits.
    pub(super) fn write_bits(
        &mut self,
        bits: IndexSet,
        value: ClassicalExpr,
        (to, from): (QasmSpan, QasmSpan),
    ) -> Lower<()> {
        let n = bits.len().unwrap_or(1);
        let given = match value.ty() {
            Some(ClassicalType::Bool) => 1,
            Some(ClassicalType::Bits(width) | ClassicalType::Angle(width)) => width,
            // An integer without a size takes as many bits as there are.
            Some(ClassicalType::Int(int)) if int.bits != 32 => int.bits,
            Some(ClassicalType::Int(_)) | None => n,
            Some(ClassicalType::Float(_) | ClassicalType::Complex(_)) => {
                let (given, expected) = ("a number".to_owned(), "a bit string".to_owned());
                return self.fail(QasmProblem::WrongType { given, expected }, from);
            }
        };
        self.check_lengths(given, n, from, to)?;
        let value = value.cast(ClassicalType::Bits(n)).map_err(runtime::problem);
        let value = Box::new(self.check(value, from)?);
        self.add_count(1, from);
        if self.passed.is_none() {
            let place = self.file_span(from);
            let item = LoweredItem::WriteBits { bits, value, place };
            self.plan.push(Planned { item, guard: None });
        }
        Ok(())
    }

    /// `c[k] = value`, where `k` is known only when the circuit runs. Returns false if it is not
    /// such an assignment.
    pub(super) fn assign_bit_at(&mut self, target: &QasmOperand, value: &QasmExpr) -> Lower<bool> {
        let (OperandBase::Name(name), Select::Parts(parts)) = (target.base, &target.select) else {
            return Ok(false);
        };
        let (Some(SymbolEntry::Bits(bits)), [part]) = (self.names.get(name.symbol), &**parts)
        else {
            return Ok(false);
        };
        let [Index::At(at)] = &**part else { return Ok(false) };
        if !self.may_depend(at) {
            return Ok(false);
        }
        let bits = bits.clone();
        let index = self.classical(at)?;
        let index = self.valued(index, at.span)?;
        let index = runtime::expr(index);
        let index = Box::new(self.check(index, at.span)?);
        let span = value.span;
        let value = self.classical(value)?;
        let value = self.valued(value, span)?;
        let value = runtime::expr(value)
            .and_then(|expr| expr.assigned_to(ClassicalType::Bits(1)).map_err(runtime::problem));
        let value = Box::new(self.check(value, span)?);
        self.add_count(1, span);
        let place = self.file_span(span);
        let item = LoweredItem::WriteBitAt { bits, index, value, place };
        self.plan.push(Planned { item, guard: None });
        Ok(true)
    }

    /// Returns the first pair of brackets of a statement that selects qubits, or bits that are
    /// measured into, at an index that is known only when the circuit runs.
    pub(super) fn runtime_bracket(&mut self, statement: &QasmStmt) -> Option<Bracket> {
        let mut found = None;
        let mut number = 0;
        visit(statement, &mut |base, parts| {
            for (k, part) in parts.iter().enumerate() {
                let at = part.iter().enumerate().find_map(|(at, index)| {
                    let parts = selecting(index);
                    let part = parts.iter().position(|expr| self.may_depend(expr))?;
                    Some((at, part))
                });
                if let (None, Some((at, part))) = (&found, at) {
                    found = Some((number + k, at, part, base, parts[..k].to_vec()));
                }
            }
            number += parts.len();
        });
        let (number, at, part, base, before) = found?;
        let OperandBase::Name(name) = base else { return None };
        let entry = self.names.get(name.symbol).cloned()?;
        let (SymbolEntry::Qubits(mut picks) | SymbolEntry::Bits(mut picks)) = entry else {
            return None;
        };
        for part in before {
            picks = self.pick(&picks, part.first()?, name).ok()?;
        }
        Some(Bracket { number, at, part, size: u64::from(picks.len()?) })
    }

    /// Plans a statement for each index that a pair of brackets may select.
    pub(super) fn each_bracket(
        &mut self,
        bracket: Bracket,
        statement: &QasmStmt,
        all: &[QasmStmt],
    ) -> Lower<()> {
        let mut index = None;
        visit_nth(&mut statement.clone(), bracket.number, &mut |part| {
            let exprs = part.get(bracket.at).map(selecting).unwrap_or_default();
            index = exprs.get(bracket.part).map(|&expr| expr.clone());
        });
        let Some(index) = index else {
            return self.refuse("a slice at an index that a measurement decides", statement.span);
        };
        if bracket.size > MAX_SELECTED {
            let what = format!("an index into more than {MAX_SELECTED} that a measurement decides");
            return self.refuse(&what, index.span);
        }
        let is_kept = match &statement.kind {
            QasmStmtKind::Call(call) => call.operands.is_empty(),
            QasmStmtKind::Barrier(_) | QasmStmtKind::Delay(_) | QasmStmtKind::Reset(_) => false,
            _ => true,
        };
        let how = (statement.span, is_kept);
        self.each_index((&index, bracket.size), how, |lowering, at| {
            let mut known = statement.clone();
            visit_nth(&mut known, bracket.number, &mut |part| {
                let exprs = part.get_mut(bracket.at).map(selecting_mut).unwrap_or_default();
                if let Some(expr) = exprs.into_iter().nth(bracket.part) {
                    expr.kind = QasmExprKind::Int(Some(at));
                }
            });
            lowering.statement(&known, all)
        })
    }

    /// Returns the assignment of a declaration whose value measures qubits at an index that is
    /// known only when the circuit runs.
    pub(super) fn declared_by_measured(
        &mut self,
        declaration: &Declaration,
        span: QasmSpan,
    ) -> Option<QasmStmt> {
        let value = declaration.value.as_ref()?;
        let name = declaration.name;
        let target =
            QasmOperand { span: name.span, base: OperandBase::Name(name), select: Select::All };
        let assignment = Assignment { target, value: value.clone() };
        let statement = QasmStmt { span, kind: QasmStmtKind::Assign(Box::new(assignment)) };
        self.runtime_bracket(&statement).map(|_| statement)
    }
}

/// A number with some of its bits replaced.
fn with_bits(
    old: QasmValue,
    value: QasmValue,
    places: Vec<ClassicalExpr>,
    (width, count): (u32, u32),
) -> Result<ClassicalExpr, QasmProblem> {
    let number = ClassicalType::Int(IntType::unsigned(width));
    let wrap = |result: Result<ClassicalExpr, _>| result.map_err(runtime::problem);
    let bits = wrap(runtime::expr(old)?.cast(ClassicalType::Bits(width)))?;
    let mut all = wrap(bits.cast(number))?;
    let new = wrap(runtime::expr(value)?.cast(ClassicalType::Bits(count)))?;
    let one = ClassicalExpr::constant(number, 1);
    for (k, place) in (0u32..).zip(places) {
        let bit = wrap(wrap(new.clone().pick(&[k]))?.cast(number))?;
        let mask = wrap(wrap(one.clone().shift(true, place.clone()))?.invert())?;
        let shifted = wrap(bit.shift(true, place))?;
        all = wrap(all.binary(Arithmetic::BitAnd, mask))?;
        all = wrap(all.binary(Arithmetic::BitOr, shifted))?;
    }
    wrap(all.cast(ClassicalType::Bits(width)))
}

/// The expressions of an index that select an element each: not the step of a range.
fn selecting(index: &Index) -> Vec<&QasmExpr> {
    match index {
        Index::At(expr) => vec![expr],
        Index::Range { start, end, .. } => [start, end].into_iter().flatten().collect(),
        Index::Set(_, items) => items.iter().collect(),
    }
}

fn selecting_mut(index: &mut Index) -> Vec<&mut QasmExpr> {
    match index {
        Index::At(expr) => vec![expr],
        Index::Range { start, end, .. } => [start, end].into_iter().flatten().collect(),
        Index::Set(_, items) => items.iter_mut().collect(),
    }
}

/// Calls `f` with the operands of a statement that name qubits, or bits that it measures into.
fn visit(statement: &QasmStmt, f: &mut impl FnMut(OperandBase, &[Box<[Index]>])) {
    fn operand(operand: &QasmOperand, f: &mut impl FnMut(OperandBase, &[Box<[Index]>])) {
        if let Select::Parts(parts) = &operand.select {
            f(operand.base, parts);
        }
    }
    fn within(expr: &QasmExpr, f: &mut impl FnMut(OperandBase, &[Box<[Index]>])) {
        match &expr.kind {
            QasmExprKind::Measure(measured) => operand(measured, f),
            QasmExprKind::Call(_, args) => args.iter().for_each(|arg| argument(arg, f)),
            _ => {}
        }
    }
    fn argument(expr: &QasmExpr, f: &mut impl FnMut(OperandBase, &[Box<[Index]>])) {
        if let QasmExprKind::Index(base, index) = &expr.kind
            && let QasmExprKind::Name(symbol) = base.kind
        {
            f(OperandBase::Name(ident(symbol, base.span)), std::slice::from_ref(index));
        }
    }
    match &statement.kind {
        QasmStmtKind::Call(call) => {
            call.operands.iter().for_each(|o| operand(o, f));
            if call.operands.is_empty() {
                call.args.iter().for_each(|arg| argument(arg, f));
            }
        }
        QasmStmtKind::Measure(operands) => {
            operand(&operands.0, f);
            operands.1.iter().for_each(|o| operand(o, f));
        }
        QasmStmtKind::Barrier(operands) => operands.iter().for_each(|o| operand(o, f)),
        QasmStmtKind::Delay(delay) => delay.1.iter().for_each(|o| operand(o, f)),
        QasmStmtKind::Reset(one) => operand(one, f),
        QasmStmtKind::Assign(assignment) => {
            if matches!(assignment.value.kind, QasmExprKind::Measure(_)) {
                operand(&assignment.target, f);
            }
            within(&assignment.value, f);
        }
        _ => {}
    }
}

fn ident(symbol: InternedName, span: QasmSpan) -> crate::qasm::ast::Ident {
    crate::qasm::ast::Ident { symbol, span }
}

/// Calls `f` with one of the pairs of brackets, by its number in the order of [`visit`].
fn visit_nth(statement: &mut QasmStmt, number: usize, f: &mut impl FnMut(&mut Box<[Index]>)) {
    let mut at = 0;
    let mut each = |parts: &mut [Box<[Index]>]| {
        if let Some(part) = number.checked_sub(at).and_then(|k| parts.get_mut(k)) {
            f(part);
        }
        at += parts.len();
    };
    fn operand(operand: &mut QasmOperand, each: &mut impl FnMut(&mut [Box<[Index]>])) {
        if let Select::Parts(parts) = &mut operand.select {
            each(parts);
        }
    }
    fn argument(expr: &mut QasmExpr, each: &mut impl FnMut(&mut [Box<[Index]>])) {
        if let QasmExprKind::Index(base, index) = &mut expr.kind
            && matches!(base.kind, QasmExprKind::Name(_))
        {
            each(std::slice::from_mut(index));
        }
    }
    match &mut statement.kind {
        QasmStmtKind::Call(call) => {
            call.operands.iter_mut().for_each(|o| operand(o, &mut each));
            if call.operands.is_empty() {
                call.args.iter_mut().for_each(|arg| argument(arg, &mut each));
            }
        }
        QasmStmtKind::Measure(operands) => {
            operand(&mut operands.0, &mut each);
            operands.1.iter_mut().for_each(|o| operand(o, &mut each));
        }
        QasmStmtKind::Barrier(operands) => operands.iter_mut().for_each(|o| operand(o, &mut each)),
        QasmStmtKind::Delay(delay) => delay.1.iter_mut().for_each(|o| operand(o, &mut each)),
        QasmStmtKind::Reset(one) => operand(one, &mut each),
        QasmStmtKind::Assign(assignment) => {
            let Assignment { target, value } = &mut **assignment;
            if matches!(value.kind, QasmExprKind::Measure(_)) {
                operand(target, &mut each);
            }
            match &mut value.kind {
                QasmExprKind::Measure(measured) => operand(measured, &mut each),
                QasmExprKind::Call(_, args) => {
                    args.iter_mut().for_each(|arg| argument(arg, &mut each));
                }
                _ => {}
            }
        }
        _ => {}
    }
}
