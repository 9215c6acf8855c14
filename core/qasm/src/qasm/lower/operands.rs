//! Index sets of operands: one qubit, an arithmetic range, or a list.
//!
//! A whole register stays a range of two numbers, so that `barrier q;` on a register of 10^9 qubits
//! costs nothing before it is counted.

use std::{collections::HashSet, rc::Rc};

use smallvec::SmallVec;

use super::{
    ErrorReported, Lower, QasmLowering, Register, evaluate::position, names::SymbolEntry,
    variables::VariableState,
};
use crate::qasm::{
    ast::{
        BinaryOp, Ident, Index, OperandBase, QasmExpr, QasmExprKind, QasmOperand, QasmSpan, Select,
    },
    diagnostic::{Diagnostic, QasmProblem},
};

/// Limit on the elements of all lists together.
const MAX_ELEMENTS: u64 = 1 << 26;

/// Index set of an operand: its qubits, or bits, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum IndexSet {
    /// A single one, which is broadcast along registers of any length.
    One(u32),
    Range {
        first: u32,
        step: i64,
        len: u32,
    },
    List(Rc<[u32]>),
}

impl IndexSet {
    /// The length; `None` for a single one.
    pub(super) fn len(&self) -> Option<u32> {
        match self {
            IndexSet::One(_) => None,
            IndexSet::Range { len, .. } => Some(*len),
            IndexSet::List(list) => Some(u32::try_from(list.len()).unwrap_or(u32::MAX)),
        }
    }

    /// The element at a position within the length.
    pub(super) fn get(&self, at: u32) -> u32 {
        match self {
            IndexSet::One(qubit) => *qubit,
            IndexSet::Range { first, step, .. } => {
                u32::try_from(i64::from(*first) + step * i64::from(at)).unwrap_or(u32::MAX)
            }
            IndexSet::List(list) => list.get(at as usize).copied().unwrap_or(u32::MAX),
        }
    }

    /// All elements.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len().unwrap_or(1)).map(|at| self.get(at))
    }

    /// Returns true if an element is `wanted`, in time that does not grow with a range.
    pub(super) fn contains(&self, wanted: u32) -> bool {
        match self {
            IndexSet::One(one) => *one == wanted,
            IndexSet::Range { first, step, len } => {
                let distance = i64::from(wanted) - i64::from(*first);
                match distance.checked_rem(*step) {
                    Some(0) => (0..i64::from(*len)).contains(&(distance / step)),
                    Some(_) => false,
                    None => distance == 0,
                }
            }
            IndexSet::List(list) => list.contains(&wanted),
        }
    }

    /// Returns an element that both have at the same position, of the first `len`.
    pub(super) fn meet(&self, other: &IndexSet, len: u32) -> Option<u32> {
        match (self.line(), other.line()) {
            (Some((a, s)), Some((b, t))) => {
                let at = match (a == b, s == t) {
                    (true, _) => 0,
                    (false, true) => return None,
                    (false, false) if (b - a) % (s - t) == 0 => (b - a) / (s - t),
                    _ => return None,
                };
                let at = u32::try_from(at).ok().filter(|at| *at < len)?;
                Some(self.get(at))
            }
            _ => (0..len)
                .map(|at| (self.get(at), other.get(at)))
                .find(|(a, b)| a == b)
                .map(|(a, _)| a),
        }
    }

    /// Returns `first` and `step` of the elements, except for lists.
    fn line(&self) -> Option<(i64, i64)> {
        match self {
            IndexSet::One(qubit) => Some((i64::from(*qubit), 0)),
            IndexSet::Range { first, step, .. } => Some((i64::from(*first), *step)),
            IndexSet::List(_) => None,
        }
    }
}

/// Returns an element that is repeated in a list.
fn repeated(list: &[u32]) -> Option<u32> {
    let mut seen = HashSet::with_capacity(list.len());
    list.iter().copied().find(|element| !seen.insert(*element))
}

impl Register {
    pub(super) fn index_set(&self) -> IndexSet {
        if self.single {
            IndexSet::One(self.first)
        } else {
            IndexSet::Range { first: self.first, step: 1, len: self.size }
        }
    }
}

impl QasmLowering<'_> {
    /// Returns the qubits of an operand.
    pub(super) fn qubits(&mut self, operand: &QasmOperand) -> Lower<IndexSet> {
        let name = match operand.base {
            OperandBase::Name(name) => name,
            OperandBase::Hardware(number) => return self.hardware_qubit(number, operand.span),
        };
        match self.names.get(name.symbol) {
            Some(SymbolEntry::Qubits(whole)) => self.select(whole.clone(), name, operand, "qubit"),
            found => {
                let is = found.map(SymbolEntry::is);
                self.not_a_register(name, is, "a quantum register")
            }
        }
    }

    /// Returns the qubits of each operand. All are checked: more than one may be wrong.
    pub(super) fn all_qubits(
        &mut self,
        operands: &[QasmOperand],
    ) -> Lower<SmallVec<[IndexSet; 2]>> {
        let mut qubits = SmallVec::new();
        let mut sound = true;
        for operand in operands {
            match self.qubits(operand) {
                Ok(picks) => qubits.push(picks),
                Err(ErrorReported) => sound = false,
            }
        }
        if sound { Ok(qubits) } else { Err(ErrorReported) }
    }

    /// Returns the bits of an operand.
    pub(super) fn bits(&mut self, operand: &QasmOperand) -> Lower<IndexSet> {
        let OperandBase::Name(name) = operand.base else {
            let problem = QasmProblem::Expected {
                expected: "a classical register".to_owned(),
                given: "a hardware qubit".to_owned(),
            };
            return self.fail(problem, operand.span);
        };
        match self.names.get(name.symbol) {
            Some(SymbolEntry::Bits(whole)) => self.select(whole.clone(), name, operand, "bit"),
            // A value that is written to the bits of a variable depends on a measurement.
            Some(&SymbolEntry::Variable(id)) if self.variables[id].has_bits() => {
                if !matches!(self.variables[id].state, VariableState::Bits { .. })
                    && self.spill(id, operand.span)?.is_none()
                {
                    return self.depends(id, self.file_span(operand.span), "assigned here");
                }
                self.use_all_digits(id);
                self.bits_of_variable(id, operand)
            }
            found => {
                let is = found.map(SymbolEntry::is);
                self.not_a_register(name, is, "a classical register")
            }
        }
    }

    fn not_a_register<T>(
        &mut self,
        name: Ident,
        is: Option<&'static str>,
        expected: &'static str,
    ) -> Lower<T> {
        match is {
            None => self.unknown_name(name.symbol, name.span),
            Some("broken") => Err(ErrorReported),
            Some(is) => self.fail(
                QasmProblem::WrongKind { name: self.name(name.symbol), is, expected },
                name.span,
            ),
        }
    }

    fn hardware_qubit(&mut self, number: Option<u32>, span: QasmSpan) -> Lower<IndexSet> {
        let Some(number) = number.filter(|n| *n < u32::MAX) else {
            let limit = u64::from(u32::MAX);
            return self.fail(
                QasmProblem::RegisterSize { given: self.text(span).to_owned(), limit },
                span,
            );
        };
        if self.hardware.is_none_or(|(largest, _)| largest < number) {
            self.hardware = Some((number, self.file_span(span)));
        }
        Ok(IndexSet::One(number))
    }

    fn select(
        &mut self,
        whole: IndexSet,
        name: Ident,
        operand: &QasmOperand,
        what: &'static str,
    ) -> Lower<IndexSet> {
        let not_indexable =
            |s: &Self| QasmProblem::NotIndexable { name: s.name(name.symbol), what };
        let parts = match (&operand.select, whole.len()) {
            (Select::All, _) => return Ok(whole),
            (_, None) => return self.fail(not_indexable(self), operand.span),
            (Select::One(at), Some(size)) => {
                return match u32::try_from(*at).ok().filter(|at| *at < size) {
                    Some(at) => Ok(IndexSet::One(whole.get(at))),
                    None => self.out_of_range(name, i128::from(*at), u64::from(size), operand.span),
                };
            }
            (Select::Parts(parts), _) => parts,
        };
        let mut picks = whole;
        for part in parts {
            if picks.len().is_none() {
                return self.fail(not_indexable(self), operand.span);
            }
            picks = match &**part {
                [index] => self.pick(&picks, index, name)?,
                _ => return self.fail(not_indexable(self), operand.span),
            };
        }
        Ok(picks)
    }

    fn out_of_range<T>(&mut self, name: Ident, given: i128, size: u64, span: QasmSpan) -> Lower<T> {
        let place = self.file_span(span);
        let name = self.name(name.symbol);
        let help = match size {
            0 => format!("`{name}` has no elements"),
            1 => format!("`{name}` has only the index 0"),
            _ => format!("indices of `{name}` are 0 to {}", size - 1),
        };
        let error = Diagnostic::error(QasmProblem::IndexOutOfRange { name, given, size });
        Err(self.report(error.with_label(place, "").help(help)))
    }

    /// Applies one pair of brackets to an index set.
    pub(super) fn pick(&mut self, from: &IndexSet, index: &Index, name: Ident) -> Lower<IndexSet> {
        let size = u64::from(from.len().unwrap_or(1));
        match index {
            Index::At(expr) => Ok(IndexSet::One(from.get(self.one_index(expr, size, name)?))),
            Index::Set(span, items) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    list.push(from.get(self.one_index(item, size, name)?));
                }
                if list.is_empty() {
                    return self.fail(QasmProblem::EmptySelection, *span);
                }
                if let Some(at) = repeated(&list) {
                    let index =
                        (0..size).find(|k| u32::try_from(*k).is_ok_and(|k| from.get(k) == at));
                    let element =
                        format!("{}[{}]", self.name(name.symbol), index.unwrap_or_default());
                    return self.fail(QasmProblem::SelectedTwice { element }, *span);
                }
                Ok(IndexSet::List(list.into()))
            }
            Index::Range { span, start, step, end } => {
                let step = match step {
                    Some(expr) => self.integer(expr, "the step of a range")?,
                    None => 1,
                };
                let Some(last) = size.checked_sub(1) else {
                    return self.fail(QasmProblem::EmptySelection, *span);
                };
                let last = u32::try_from(last).unwrap_or(u32::MAX);
                let (low, high) = if step < 0 { (last, 0) } else { (0, last) };
                let start = match start {
                    Some(expr) => self.one_index(expr, size, name)?,
                    None => low,
                };
                let end = match end {
                    Some(expr) => self.one_index(expr, size, name)?,
                    None => high,
                };
                let distance = i128::from(end) - i128::from(start);
                if step == 0 || distance.signum() * step.signum() < 0 {
                    return self.fail(QasmProblem::EmptySelection, *span);
                }
                let len = u32::try_from(distance / step + 1).unwrap_or(u32::MAX);
                // A step beyond the register picks one element, and its size does not matter.
                let step = i64::try_from(step).ok().filter(|_| len > 1).unwrap_or(1);
                Ok(match from {
                    IndexSet::Range { first, step: outer, .. } => IndexSet::Range {
                        first: u32::try_from(i64::from(*first) + outer * i64::from(start))
                            .unwrap_or(0),
                        step: outer * step,
                        len,
                    },
                    other => {
                        self.spend_elements(u64::from(len), *span)?;
                        let at = |k: u32| {
                            u32::try_from(i64::from(start) + step * i64::from(k)).unwrap_or(0)
                        };
                        IndexSet::List((0..len).map(|k| other.get(at(k))).collect())
                    }
                })
            }
        }
    }

    fn one_index(&mut self, expr: &QasmExpr, size: u64, name: Ident) -> Lower<u32> {
        let given = self.integer(expr, "an index")?;
        match position(given, size).and_then(|at| u32::try_from(at).ok()) {
            Some(at) => Ok(at),
            None => self.out_of_range(name, given, size, expr.span),
        }
    }

    /// Counts the elements of lists, which take memory where ranges do not.
    pub(super) fn spend_elements(&mut self, more: u64, span: QasmSpan) -> Lower<()> {
        self.elements = self.elements.saturating_add(more);
        if self.elements > MAX_ELEMENTS {
            return self.fail(QasmProblem::TooManyElements { limit: MAX_ELEMENTS }, span);
        }
        Ok(())
    }

    /// `let a = q[0:2] ++ r;`
    pub(super) fn alias(&mut self, name: Ident, value: &QasmExpr) -> Lower<()> {
        match self.selection(value) {
            Ok(entry) => self.declare_name(name, entry),
            Err(ErrorReported) => {
                self.names.break_name(name.symbol, self.file_span(name.span));
                Err(ErrorReported)
            }
        }
    }

    /// Returns the qubits or bits that an expression names.
    pub(super) fn selection(&mut self, expr: &QasmExpr) -> Lower<SymbolEntry> {
        let QasmExprKind::Chain(first, rest) = &expr.kind else {
            let Some(operand) = self.as_operand(expr) else {
                let problem = QasmProblem::Expected {
                    expected: "registers, parts of them or concatenations".to_owned(),
                    given: "another expression".to_owned(),
                };
                return self.fail(problem, expr.span);
            };
            return match operand.base {
                OperandBase::Name(name)
                    if matches!(self.names.get(name.symbol), Some(SymbolEntry::Bits(_))) =>
                {
                    self.bits(&operand).map(SymbolEntry::Bits)
                }
                _ => self.qubits(&operand).map(SymbolEntry::Qubits),
            };
        };
        let mut whole = self.selection(first)?;
        for (op, right) in rest {
            if *op != BinaryOp::Concat {
                let operator = op.text().to_owned();
                return self.fail(
                    QasmProblem::Operands { operator, given: "registers".to_owned() },
                    expr.span,
                );
            }
            whole = match (whole, self.selection(right)?) {
                (SymbolEntry::Qubits(a), SymbolEntry::Qubits(b)) => {
                    let both = self.join(&a, &b, expr.span)?;
                    if let IndexSet::List(list) = &both
                        && let Some(qubit) = repeated(list)
                    {
                        let element = self.qubit_name(qubit);
                        return self.fail(QasmProblem::SelectedTwice { element }, expr.span);
                    }
                    SymbolEntry::Qubits(both)
                }
                (SymbolEntry::Bits(a), SymbolEntry::Bits(b)) => {
                    SymbolEntry::Bits(self.join(&a, &b, expr.span)?)
                }
                _ => {
                    let given = "qubits and classical bits".to_owned();
                    return self.fail(
                        QasmProblem::Operands { operator: "++".to_owned(), given },
                        expr.span,
                    );
                }
            };
        }
        Ok(whole)
    }

    fn join(&mut self, a: &IndexSet, b: &IndexSet, span: QasmSpan) -> Lower<IndexSet> {
        let (n, m) = (a.len().unwrap_or(1), b.len().unwrap_or(1));
        self.spend_elements(u64::from(n) + u64::from(m), span)?;
        Ok(IndexSet::List(a.iter().chain(b.iter()).collect()))
    }

    /// Returns the operand that an expression has the form of.
    pub(super) fn as_operand(&self, expr: &QasmExpr) -> Option<QasmOperand> {
        let mut parts: Vec<Box<[Index]>> = Vec::new();
        let mut base = expr;
        while let QasmExprKind::Index(inner, index) = &base.kind {
            parts.push(index.clone());
            base = inner;
        }
        parts.reverse();
        let span = base.span;
        let base = match base.kind {
            // Parentheses around a name belong to its place.
            QasmExprKind::Name(symbol) => OperandBase::Name(Ident { symbol, span }),
            QasmExprKind::Hardware => {
                OperandBase::Hardware(self.text(span).get(1..).and_then(|t| t.parse().ok()))
            }
            _ => return None,
        };
        let select = if parts.is_empty() { Select::All } else { Select::Parts(parts.into()) };
        Some(QasmOperand { span: expr.span, base, select })
    }

    /// The name of a qubit in the source.
    pub(super) fn qubit_name(&self, qubit: u32) -> String {
        if self.qubits.is_empty() {
            return format!("${qubit}");
        }
        let at = self.qubits.partition_point(|r| r.first <= qubit).saturating_sub(1);
        let register = self.qubits[at];
        let name = register.name.map(|name| self.name(name)).unwrap_or_default();
        match register.single {
            true => name,
            false => format!("{name}[{}]", qubit.saturating_sub(register.first)),
        }
    }

    /// The common length of operands; `None` if all are single.
    pub(super) fn common_length(
        &mut self,
        picks: &[IndexSet],
        places: &[QasmSpan],
    ) -> Lower<Option<u32>> {
        let mut common: Option<(u32, QasmSpan)> = None;
        for (pick, &span) in picks.iter().zip(places) {
            let Some(len) = pick.len() else { continue };
            match common {
                None => common = Some((len, span)),
                Some((first, before)) if first != len => {
                    let problem = QasmProblem::LengthMismatch {
                        first: u64::from(first),
                        second: u64::from(len),
                    };
                    let (here, there) = (self.file_span(span), self.file_span(before));
                    let error = Diagnostic::error(problem);
                    return Err(self.report(
                        error
                            .with_label(here, format!("{len}"))
                            .with_label(there, format!("{first}")),
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(common.map(|c| c.0))
    }
}
