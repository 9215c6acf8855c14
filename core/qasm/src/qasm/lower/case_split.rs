//! Case split of a statement that needs a known number which a measurement decides: one for each of
//! its values.
//!
//! ```text
//! uint[2] k = c;                       if (k == 0) x q[0];
//! x q[k];                              if (k == 1) x q[1];
//!                                      …
//! ```
//! This holds for the indices of the operands of a statement, for modifiers and for the bounds of a
//! `for`. Bits that are cast there, `x q[uint[2](c)];`, get a variable of their own first. An
//! element that an expression reads at such an index is a value set. If an index is out of range,
//! or a qubit is repeated, the statement is left out, with a warning: that value may never occur.

use super::{
    Lower, QasmLowering, QasmValue,
    classical::Classical,
    integer::{INT, IntegerType},
    names::SymbolEntry,
    truth::Truth,
    value_set::MAX_BITS,
    variables::VariableState,
};
use crate::{
    circuit::{Condition, Relation},
    qasm::{
        ast::{
            Assignment, BaseType, Declaration, Ident, Index, ModifierKind, OperandBase, QasmExpr,
            QasmExprKind, QasmOperand, QasmSpan, QasmStmt, QasmStmtKind, Select, Type,
        },
        diagnostic::{Diagnostic, QasmProblem, Severity},
    },
};

/// Integer that a statement needs to be known, and that a measurement decides.
#[derive(Clone, Copy)]
pub(super) enum UndecidedInteger<'e> {
    Variable(usize, QasmSpan),
    /// Bits as an integer that has no name.
    Cast(&'e Type, &'e QasmExpr, QasmSpan),
}

impl QasmLowering<'_> {
    /// Returns an integer that a statement needs to be known, and that a measurement decides.
    pub(super) fn undecided<'e>(&self, statement: &'e QasmStmt) -> Option<UndecidedInteger<'e>> {
        match &statement.kind {
            QasmStmtKind::Call(call) => {
                let modifiers = call.modifiers.iter().find_map(|modifier| match &modifier.kind {
                    ModifierKind::Pow(expr)
                    | ModifierKind::Ctrl(Some(expr))
                    | ModifierKind::Negctrl(Some(expr)) => self.integer_in_bits(expr),
                    _ => None,
                });
                let operands =
                    || call.operands.iter().find_map(|operand| self.index_in_bits(operand));
                modifiers
                    .or_else(operands)
                    .or_else(|| call.args.iter().find_map(|arg| self.qubits_by_bits(arg)))
            }
            QasmStmtKind::Measure(operands) => {
                let into = || operands.1.as_ref().and_then(|bits| self.index_in_bits(bits));
                self.index_in_bits(&operands.0).or_else(into)
            }
            QasmStmtKind::Barrier(operands) => {
                operands.iter().find_map(|operand| self.index_in_bits(operand))
            }
            QasmStmtKind::Delay(delay) => {
                delay.1.iter().find_map(|operand| self.index_in_bits(operand))
            }
            QasmStmtKind::Reset(operand) => self.index_in_bits(operand),
            QasmStmtKind::Assign(assignment) => self
                .index_in_bits(&assignment.target)
                .or_else(|| self.qubits_by_bits(&assignment.value)),
            QasmStmtKind::For(f) => self.bounds_in_bits(&f.over),
            _ => None,
        }
    }

    /// Returns the assignment of a declaration whose value measures, or is computed from, qubits at
    /// an index that a measurement decides: the variable is known after all of its cases.
    pub(super) fn value_by_bits(
        &self,
        declaration: &Declaration,
        span: QasmSpan,
    ) -> Option<QasmStmt> {
        let value = declaration.value.as_ref()?;
        self.qubits_by_bits(value)?;
        let name = declaration.name;
        let target =
            QasmOperand { span: name.span, base: OperandBase::Name(name), select: Select::All };
        let assignment = Assignment { target, value: value.clone() };
        Some(QasmStmt { span, kind: QasmStmtKind::Assign(Box::new(assignment)) })
    }

    /// Returns an integer in bits that an expression reads.
    fn integer_in_bits<'e>(&self, expr: &'e QasmExpr) -> Option<UndecidedInteger<'e>> {
        match &expr.kind {
            QasmExprKind::Name(symbol) => match self.names.get(*symbol) {
                Some(&SymbolEntry::Variable(id)) => {
                    let variable = &self.variables[id];
                    let measured = matches!(variable.state, VariableState::Bits { .. })
                        && variable.integer.is_some();
                    measured.then_some(UndecidedInteger::Variable(id, expr.span))
                }
                _ => None,
            },
            QasmExprKind::Unary(_, inner) => self.integer_in_bits(inner),
            QasmExprKind::Cast(ty, inner) => self.integer_in_bits(inner).or_else(|| {
                let integer =
                    matches!(ty.base, BaseType::Int | BaseType::Uint) && ty.dims.is_none();
                let measured = || integer && self.may_depend(inner);
                match self.casts.get(&self.file_span(expr.span)) {
                    Some(&id) => matches!(self.variables[id].state, VariableState::Bits { .. })
                        .then_some(UndecidedInteger::Variable(id, expr.span)),
                    None => measured().then_some(UndecidedInteger::Cast(ty, inner, expr.span)),
                }
            }),
            QasmExprKind::Index(inner, index) => self
                .integer_in_bits(inner)
                .or_else(|| index.iter().find_map(|index| self.bounds_in_bits(index))),
            QasmExprKind::Power(operands) => {
                operands.iter().find_map(|operand| self.integer_in_bits(operand))
            }
            QasmExprKind::Chain(first, rest) => {
                let rest = || rest.iter().find_map(|(_, right)| self.integer_in_bits(right));
                self.integer_in_bits(first).or_else(rest)
            }
            QasmExprKind::Call(_, args) => args.iter().find_map(|arg| self.integer_in_bits(arg)),
            QasmExprKind::List(items) => items.iter().find_map(|item| self.integer_in_bits(item)),
            _ => None,
        }
    }

    fn bounds_in_bits<'e>(&self, index: &'e Index) -> Option<UndecidedInteger<'e>> {
        match index {
            Index::At(QasmExpr { kind: QasmExprKind::Name(_), .. }) if !self.is_integer(index) => {
                None
            }
            Index::At(expr) => self.integer_in_bits(expr),
            Index::Range { start, step, end, .. } => {
                [start, step, end].into_iter().flatten().find_map(|expr| self.integer_in_bits(expr))
            }
            Index::Set(_, items) => items.iter().find_map(|item| self.integer_in_bits(item)),
        }
    }

    /// Returns true if an index is the name of an integer.
    fn is_integer(&self, index: &Index) -> bool {
        let Index::At(QasmExpr { kind: QasmExprKind::Name(symbol), .. }) = index else {
            return false;
        };
        matches!(self.names.get(*symbol), Some(&SymbolEntry::Variable(id)) if self.variables[id].integer.is_some())
    }

    /// Returns one in the indices of an operand.
    fn index_in_bits<'e>(&self, operand: &'e QasmOperand) -> Option<UndecidedInteger<'e>> {
        let Select::Parts(parts) = &operand.select else { return None };
        parts.iter().flat_map(|part| part.iter()).find_map(|index| self.bounds_in_bits(index))
    }

    /// Returns one in the indices of qubits within an expression: those of a measurement, or of an
    /// argument.
    fn qubits_by_bits<'e>(&self, expr: &'e QasmExpr) -> Option<UndecidedInteger<'e>> {
        match &expr.kind {
            QasmExprKind::Measure(operand) => self.index_in_bits(operand),
            QasmExprKind::Call(_, args) => args.iter().find_map(|arg| self.qubits_by_bits(arg)),
            QasmExprKind::Index(base, index) => match &base.kind {
                QasmExprKind::Name(symbol)
                    if matches!(self.names.get(*symbol), Some(SymbolEntry::Qubits(_))) =>
                {
                    index.iter().find_map(|index| self.bounds_in_bits(index))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Plans a statement for each value of an undecided integer.
    pub(super) fn each_undecided(
        &mut self,
        undecided: UndecidedInteger<'_>,
        statement: &QasmStmt,
        all: &[QasmStmt],
    ) -> Lower<()> {
        let (ty, inner, span) = match undecided {
            UndecidedInteger::Variable(id, at) => return self.each_value((id, at), statement, all),
            UndecidedInteger::Cast(ty, inner, span) => (ty, inner, span),
        };
        let value = self.classical(inner)?;
        let value = self.cast_bits(ty, value, span)?;
        let place = self.file_span(span);
        let text = self.text(span).to_owned();
        let name = Ident { symbol: self.interner.intern(&text), span };
        let id = self.new_variable(name, ty, Some((value, span)))?;
        self.casts.insert(place, id);
        let result = self.statement(statement, all);
        self.casts.remove(&place);
        result
    }

    /// Plans a statement for each value of a variable.
    fn each_value(
        &mut self,
        (id, at): (usize, QasmSpan),
        statement: &QasmStmt,
        all: &[QasmStmt],
    ) -> Lower<()> {
        let Some(Classical::BitVector { bits, signed, ty }) = self.bit_vector_of(id) else {
            return self.depends(id, self.file_span(at), "");
        };
        if bits.len() > MAX_BITS {
            let place = self.file_span(at);
            let problem = QasmProblem::ManyValues { given: bits.len(), limit: MAX_BITS };
            let help = "give integers no more bits than they need, as in `uint[3]`, or choose with `if` or `switch`";
            return Err(self.report(Diagnostic::error(problem).with_label(place, "").help(help)));
        }
        let shape = IntegerType::sized(u32::try_from(bits.len()).unwrap_or(1).max(1), !signed);
        // The statement itself may write to them.
        let n = u32::try_from(bits.len()).unwrap_or(u32::MAX);
        let copies = self.scratch_bits(n, self.locals.len(), at)?;
        for (copy, &bit) in copies.iter().zip(&bits) {
            self.store_truth(copy, Condition::Bit { bit, value: true }, at, true)?;
        }
        let bits: Vec<u32> = copies.iter().collect();
        let mut rest = Vec::new();
        let mut result = Ok(());
        for number in 0..1i128 << bits.len() {
            let value = shape.wrap(number);
            let label = Classical::Value(QasmValue::int(value));
            let holds = self.compare_word(bits.clone(), signed, Relation::Equal, label, at)?;
            let Truth::Residual(condition) = holds else { continue };
            self.branches(condition, at, |lowering, otherwise| {
                if !otherwise && result.is_ok() {
                    result = lowering.with_value(
                        (id, at),
                        QasmValue::Int(value, ty.or(Some(INT))),
                        statement,
                        all,
                    );
                }
            })?;
            if result.is_err() || self.leaving.is_some() {
                break;
            }
            if self.left_somewhere() {
                rest.extend(self.guard_rest(at));
            }
        }
        self.end_rest(rest);
        result
    }

    /// Plans a statement in the branch in which a variable has a value.
    fn with_value(
        &mut self,
        (id, at): (usize, QasmSpan),
        value: QasmValue,
        statement: &QasmStmt,
        all: &[QasmStmt],
    ) -> Lower<()> {
        let before = self.variables[id].state.clone();
        let shown = match value {
            QasmValue::Int(i, _) => i,
            _ => 0,
        };
        let known = VariableState::Known(value);
        self.set(id, known.clone());
        let (start, first) = (self.checkpoint(), self.diagnostics.len());
        let result = self.statement(statement, all);
        let mut errors = self
            .diagnostics
            .iter()
            .skip(first)
            .filter(|d| d.severity == Severity::Error)
            .peekable();
        let left_out = errors.peek().is_some() && errors.all(|d| is_of_value(&d.problem));
        let result = if left_out {
            let problem =
                self.diagnostics.get(first).map(|d| d.message.clone()).unwrap_or_default();
            self.back_to(&start);
            let name = self.name_of(id);
            let warning =
                Diagnostic::warning(QasmProblem::LeftOut { name, value: shown, why: problem });
            self.warning(warning.with_label(self.file_span(at), ""));
            Ok(())
        } else {
            result
        };
        if self.variables[id].state == known {
            // The bits hold the value.
            self.set(id, before);
        }
        result
    }
}

/// Returns true if the cause may be a value that never occurs at run time.
pub(super) fn is_of_value(problem: &QasmProblem) -> bool {
    matches!(
        problem,
        QasmProblem::IndexOutOfRange { .. }
            | QasmProblem::RepeatedQubit { .. }
            | QasmProblem::SelectedTwice { .. }
            | QasmProblem::EmptySelection
    )
}
