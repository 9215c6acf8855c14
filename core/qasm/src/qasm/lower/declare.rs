//! Declarations of registers, outputs and constants; and statements that write bits: measurements,
//! assignments.

use super::{
    ErrorReported, ExprScope, IndexSet, Lower, LoweredItem, QasmLowering, QasmValue, Register,
    classical::Classical,
    digits::{to_digits, trim},
    duration::Duration,
    integer::{IntegerType, MAX_WIDTH},
    names::SymbolEntry,
    runtime,
    subroutine::CallResult,
    variables::VariableState,
};
use crate::{
    circuit::Condition,
    qasm::{
        ast::{
            Assignment, BaseType, Declaration, Ident, InternedName, OperandBase, QasmExpr,
            QasmExprKind, QasmOperand, QasmSpan, Select, Type,
        },
        diagnostic::{Diagnostic, QasmProblem},
    },
};

/// Largest size of a register: qubits and bits are numbered in 32 bits.
const MAX_SIZE: u32 = u32::MAX;

/// Largest number of elements of an array. Each is kept as a value, of a hundred bytes or so.
const MAX_ARRAY: u64 = 1 << 20;

/// Cost of an element of an array, in elements of a list.
pub(super) const ELEMENT: u64 = 16;

impl QasmLowering<'_> {
    /// Returns the size in a designator; `None` without one.
    fn register_size(&mut self, size: Option<&QasmExpr>) -> Lower<Option<u32>> {
        let Some(expr) = size else { return Ok(None) };
        let given = match expr.kind {
            // More digits than any integer has are a size too large, not an overflow.
            QasmExprKind::Int(None) => i128::MAX,
            _ => self.integer(expr, "the size of a register")?,
        };
        match u32::try_from(given) {
            Ok(size) => Ok(Some(size)),
            Err(_) => {
                let given = self.text(expr.span).chars().take(40).collect();
                self.fail(
                    QasmProblem::RegisterSize { given, limit: u64::from(MAX_SIZE) },
                    expr.span,
                )
            }
        }
    }

    /// Returns the register for a declaration, numbered after those before.
    fn register(&mut self, name: Ident, size: Option<&QasmExpr>, before: u32) -> Lower<Register> {
        let place = self.file_span(name.span);
        let (size, single) = match self.register_size(size) {
            Ok(size) => (size.unwrap_or(1), size.is_none()),
            Err(ErrorReported) => {
                self.names.break_name(name.symbol, place);
                return Err(ErrorReported);
            }
        };
        if before.checked_add(size).is_none() {
            self.names.break_name(name.symbol, place);
            let given = u64::from(before) + u64::from(size);
            return self
                .fail(QasmProblem::TooManyQubits { given, limit: u64::from(MAX_SIZE) }, name.span);
        }
        Ok(Register { name: Some(name.symbol), first: before, size, single, output: false })
    }

    pub(super) fn declare_qubits(
        &mut self,
        name: Ident,
        size: Option<&QasmExpr>,
        span: QasmSpan,
    ) -> Lower<()> {
        self.only_in_file("a declaration of qubits", span)
            .inspect_err(|_| self.names.break_name(name.symbol, self.file_span(name.span)))?;
        let register = self.register(name, size, self.n_qubits)?;
        self.declare_name(name, SymbolEntry::Qubits(register.index_set()))?;
        self.n_qubits += register.size;
        self.qubits.push(register);
        let place = self.file_span(span);
        self.declared.get_or_insert(place);
        Ok(())
    }

    pub(super) fn declare_bits(
        &mut self,
        name: Ident,
        size: Option<&QasmExpr>,
        span: QasmSpan,
    ) -> Lower<IndexSet> {
        if self.names.depth() > 0 {
            return self.declare_local_bits(name, size, span);
        }
        let register = self.register(name, size, self.n_bits)?;
        self.declare_name(name, SymbolEntry::Bits(register.index_set()))?;
        self.n_bits += register.size;
        self.bits.push(register);
        Ok(register.index_set())
    }

    /// Declares the bits of a block, which are scratch bits, except for those that a subroutine
    /// returns.
    fn declare_local_bits(
        &mut self,
        name: Ident,
        size: Option<&QasmExpr>,
        span: QasmSpan,
    ) -> Lower<IndexSet> {
        let size = self.register_size(size);
        let size =
            size.inspect_err(|_| self.names.break_name(name.symbol, self.file_span(name.span)))?;
        let n = size.unwrap_or(1);
        let bits = match self.returned_bits(name.symbol, n) {
            Some(bits) => {
                self.add_count(u64::from(n), span);
                if self.passed.is_none() {
                    let (values, place) = (vec![false; n as usize].into(), self.file_span(span));
                    self.push(LoweredItem::Assign { bits: bits.clone(), values, place });
                }
                bits
            }
            None => self.scratch_bits(n, self.locals.len(), span)?,
        };
        let bits = if size.is_none() { IndexSet::One(bits.get(0)) } else { bits };
        self.declare_name(name, SymbolEntry::Bits(bits.clone()))?;
        Ok(bits)
    }

    pub(super) fn declare(&mut self, declaration: &Declaration, span: QasmSpan) -> Lower<()> {
        let Declaration { ty, name, value } = declaration;
        match (ty.base, &ty.dims, value) {
            (BaseType::Qubit, None, None) => self.declare_qubits(*name, ty.size.as_ref(), span),
            (BaseType::Bit, None, None) => {
                self.declare_bits(*name, ty.size.as_ref(), span).map(|_| ())
            }
            (BaseType::Bit, None, Some(value)) => match &value.kind {
                QasmExprKind::Measure(operand) => {
                    let bits = self.declare_bits(*name, ty.size.as_ref(), span)?;
                    let qubits = self.qubits(operand)?;
                    self.measure_into(qubits, bits, operand.span, name.span, span)
                }
                QasmExprKind::Call(callee, args) if self.subroutine(callee.symbol).is_some() => {
                    let bits = self.declare_bits(*name, ty.size.as_ref(), span)?;
                    self.store_call(bits, callee.symbol, args, name.span, value.span, true)
                }
                _ => {
                    // The value cannot read the bits that are being declared.
                    let known = self.classical(value);
                    let bits = self.declare_bits(*name, ty.size.as_ref(), span)?;
                    self.store(bits, known?, name.span, value.span, true)
                }
            },
            (BaseType::Qubit, ..) => {
                self.names.break_name(name.symbol, self.file_span(name.span));
                let (expected, given) = ("`;`".to_owned(), "an initial value".to_owned());
                self.fail(QasmProblem::Expected { expected, given }, span)
            }
            (_, _, Some(value)) => match self.classical(value) {
                Ok(known) => self.declare_variable(*name, ty, Some((known, value.span))),
                Err(ErrorReported) => {
                    self.names.break_name(name.symbol, self.file_span(name.span));
                    Err(ErrorReported)
                }
            },
            (_, Some(dims), None) => {
                let zeros = self.zeros(ty, dims).map(Classical::Value);
                let zeros = zeros.inspect_err(|_| {
                    self.names.break_name(name.symbol, self.file_span(name.span))
                })?;
                self.declare_variable(*name, ty, Some((zeros, ty.span)))
            }
            (BaseType::Duration | BaseType::Stretch, None, None) => {
                let any = Classical::Value(QasmValue::Duration(Duration::Unknown));
                self.declare_variable(*name, ty, Some((any, ty.span)))
            }
            (_, None, None) => self.declare_variable(*name, ty, None),
        }
    }

    /// Declares an `output`: if it is of bits, a run returns them. A circuit returns nothing else.
    pub(super) fn declare_output(
        &mut self,
        declaration: &Declaration,
        span: QasmSpan,
    ) -> Lower<()> {
        self.only_in_file("an output", span).inspect_err(|_| {
            self.names.break_name(declaration.name.symbol, self.file_span(declaration.name.span));
        })?;
        let before = self.bits.len();
        self.declare(declaration, span)?;
        self.outputs.push(declaration.name.symbol);
        if let Some(&SymbolEntry::Variable(id)) = self.names.get(declaration.name.symbol) {
            self.variables[id].is_output = true;
            if let Some(slot) = self.variables[id].slot {
                self.memory.set_output(slot);
            }
        }
        let name = Some(declaration.name.symbol);
        self.bits[before..].iter_mut().filter(|r| r.name == name).for_each(|r| r.output = true);
        Ok(())
    }

    /// An array of zeros.
    fn zeros(&mut self, ty: &Type, dims: &[QasmExpr]) -> Lower<QasmValue> {
        let mut sizes = Vec::with_capacity(dims.len());
        for dim in dims {
            sizes.push(self.integer(dim, "the size of an array")?);
        }
        // Around or within one of no elements no other is larger either.
        let count =
            sizes.iter().try_fold(1u64, |n, size| n.checked_mul(u64::try_from(*size).ok()?.max(1)));
        let Some(count) = count.filter(|n| *n <= MAX_ARRAY) else {
            let span = dims.iter().map(|dim| dim.span).reduce(QasmSpan::to).unwrap_or(ty.span);
            let given = sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ");
            return self.fail(QasmProblem::ArraySize { given, limit: MAX_ARRAY }, span);
        };
        self.spend_elements(count.saturating_mul(ELEMENT), ty.span)?;
        let zero = match ty.base {
            BaseType::Bool => QasmValue::Bool(false),
            _ => QasmValue::int(0),
        };
        Ok(sizes.iter().rev().fold(zero, |element, size| {
            let size = usize::try_from(*size).unwrap_or(0);
            QasmValue::Array(std::iter::repeat_n(element, size).collect())
        }))
    }

    pub(super) fn declare_const(&mut self, declaration: &Declaration) -> Lower<()> {
        let Declaration { ty, name, value } = declaration;
        let result = match value {
            Some(expr) => self.constant_value(declaration, expr),
            None => {
                let (expected, given) = ("`= value`".to_owned(), "`;`".to_owned());
                self.fail(QasmProblem::Expected { expected, given }, name.span.to(ty.span))
            }
        };
        match result {
            Ok(value) => self.declare_name(*name, SymbolEntry::Const(value)),
            Err(ErrorReported) => {
                self.names.break_name(name.symbol, self.file_span(name.span));
                Err(ErrorReported)
            }
        }
    }

    fn constant_value(&mut self, declaration: &Declaration, expr: &QasmExpr) -> Lower<QasmValue> {
        if let (QasmExprKind::Int(None), Some(IntegerType::WIDEST)) =
            (&expr.kind, self.integer_type(&declaration.ty)?)
            && let Classical::Digits { digits, .. } = self.classical(expr)?
            && let Some(value) = IntegerType::widest(&digits)
        {
            return Ok(value);
        }
        let value = self.evaluate(expr, ExprScope::Global)?;
        if value.is_real() && value.constant().is_none() {
            let what = format!("`{}`", self.interner.name(declaration.name.symbol));
            return self.fail(QasmProblem::NotConstant { what }, expr.span);
        }
        self.cast(&declaration.ty, value, expr.span)
    }

    pub(super) fn measure(
        &mut self,
        qubits: &QasmOperand,
        bits: Option<&QasmOperand>,
        span: QasmSpan,
    ) -> Lower<()> {
        let picked = self.qubits(qubits)?;
        let Some(bits) = bits else {
            let place = self.file_span(span);
            let help = "write `c = measure …;` with a register declared `bit[n] c;`: counts show bits, and all qubits \
                        where no bit takes a result";
            self.warning(
                Diagnostic::warning(QasmProblem::UnusedMeasurement)
                    .with_label(place, "")
                    .help(help),
            );
            // If it is kept, a scratch bit takes the results and is 0 afterwards.
            self.add_count(u64::from(picked.len().unwrap_or(1)) + 1, span);
            self.push(LoweredItem::Discard { qubits: picked, kept: Vec::new(), place });
            return Ok(());
        };
        if self.has_memory()
            && let OperandBase::Name(name) = bits.base
            && let Some(&SymbolEntry::Variable(id)) = self.names.get(name.symbol)
        {
            let size = picked.len().unwrap_or(1);
            let into = self.scratch_bits(size, self.locals.len(), span)?;
            let value = Classical::register(into.iter().collect());
            self.measure_into(picked, into, qubits.span, bits.span, span)?;
            return match bits.select {
                Select::All => self.assign_variable(id, value, span),
                _ => self.assign_part_in_memory(id, bits, value, span),
            };
        }
        let into = self.bits(bits)?;
        self.measure_into(picked, into, qubits.span, bits.span, span)
    }

    pub(super) fn reset(&mut self, operand: &QasmOperand, span: QasmSpan) -> Lower<()> {
        let qubits = self.qubits(operand)?;
        self.add_count(u64::from(qubits.len().unwrap_or(1)), span);
        self.push(LoweredItem::Reset { qubits, place: self.file_span(span) });
        Ok(())
    }

    pub(super) fn assign(&mut self, assignment: &Assignment, span: QasmSpan) -> Lower<()> {
        let Assignment { target, value } = assignment;
        if let OperandBase::Name(name) = target.base
            && let Some(&SymbolEntry::Variable(id)) = self.names.get(name.symbol)
        {
            return self.assign_to(id, target, value);
        }
        if let QasmExprKind::Measure(operand) = &value.kind {
            return self.measure(operand, Some(target), span);
        }
        if self.has_memory() && self.assign_bit_at(target, value)? {
            return Ok(());
        }
        let into = self.bits(target)?;
        if let QasmExprKind::Call(callee, args) = &value.kind
            && self.subroutine(callee.symbol).is_some()
        {
            return self.store_call(into, callee.symbol, args, target.span, value.span, false);
        }
        let known = self.classical(value)?;
        self.store(into, known, target.span, value.span, false)
    }

    /// Assigns to a variable, or to an element of one.
    fn assign_to(&mut self, id: usize, target: &QasmOperand, value: &QasmExpr) -> Lower<()> {
        if self.has_memory() {
            let known = self.classical(value)?;
            return match target.select {
                Select::All => self.assign_variable(id, known, value.span),
                _ => self.assign_part_in_memory(id, target, known, value.span),
            };
        }
        let known = match self.variables[id].is_array() {
            true => self.classical_or_choice(value)?,
            false => self.classical(value)?,
        };
        if matches!(target.select, Select::All) {
            return self.assign_variable(id, known, value.span);
        }
        if self.variables[id].has_bits() && !matches!(known, Classical::Value(_)) {
            self.spill(id, target.span)?;
        }
        if self.variables[id].has_bits()
            && matches!(self.variables[id].state, VariableState::Bits { .. })
        {
            self.use_all_digits(id);
            let bits = self.bits_of_variable(id, target)?;
            return self.store(bits, known, target.span, value.span, false);
        }
        let name = match target.base {
            OperandBase::Name(name) => self.name(name.symbol),
            OperandBase::Hardware(_) => String::new(),
        };
        let array = self.variables[id].is_array();
        if !array && !matches!(known, Classical::Value(_)) {
            return self.depends(id, self.file_span(value.span), "assigned here");
        }
        let whole = if array {
            self.one_of_values(id, target.span)?
        } else {
            self.variable(id, target.span)?
        };
        let places = self.places(&whole, &target.parts(), &name, target.span)?;
        drop(whole);
        self.assign_part(id, &places, known, value.span)
    }

    /// Stores the result of a subroutine in bits.
    fn store_call(
        &mut self,
        into: IndexSet,
        callee: InternedName,
        args: &[QasmExpr],
        to: QasmSpan,
        from: QasmSpan,
        fresh: bool,
    ) -> Lower<()> {
        let Some(number) = self.subroutine(callee) else { return Err(ErrorReported) };
        match self.call_subroutine(number, args, from, Some(into.clone()))? {
            CallResult::Stored => Ok(()),
            CallResult::Value(value) => self.store(into, value, to, from, fresh),
            CallResult::Nothing => {
                self.fail(QasmProblem::NoResult { name: self.name(callee) }, from)
            }
        }
    }

    /// Stores the value of an expression in bits. Fresh ones are 0.
    pub(super) fn store(
        &mut self,
        into: IndexSet,
        value: Classical,
        to: QasmSpan,
        from: QasmSpan,
        fresh: bool,
    ) -> Lower<()> {
        let n = into.len().unwrap_or(1);
        let digits = match value {
            value @ (Classical::Truth(_) | Classical::BitVector { .. })
                if self.has_memory() && n <= MAX_WIDTH =>
            {
                let value = self.valued(value, from)?;
                let value = runtime::expr(value);
                let value = self.check(value, from)?;
                return self.write_bits(into, value, (to, from));
            }
            Classical::Truth(condition) => {
                self.check_lengths(1, n, from, to)?;
                return self.store_truth(into.get(0), condition, from, fresh);
            }
            word @ Classical::BitVector { ty: Some(ty), .. } => {
                // An integer without a size takes as many digits as are needed.
                if ty.sized {
                    self.check_lengths(ty.bits, n, from, to)?;
                }
                return self.store_number(into, word, from);
            }
            Classical::BitVector { bits, .. } | Classical::AngleBits(bits) => {
                let given = u32::try_from(bits.len()).unwrap_or(u32::MAX);
                self.check_lengths(given, n, from, to)?;
                let bits = self.apart(bits, &into, from)?;
                for (at, bit) in (0..n).zip(bits) {
                    let condition = Condition::Bit { bit, value: true };
                    self.store_truth(into.get(at), condition, from, fresh)?;
                }
                return Ok(());
            }
            Classical::Value(QasmValue::Runtime(expr)) => {
                return self.write_bits(into, *expr, (to, from));
            }
            Classical::Value(QasmValue::Bool(b)) => {
                self.check_lengths(1, n, from, to)?;
                vec![b]
            }
            Classical::Value(QasmValue::Int(i, Some(ty))) if ty.sized && ty.bits == n => {
                to_digits(ty.bits_of(i))
            }
            Classical::Value(QasmValue::Int(i @ 0.., _)) => to_digits(i.unsigned_abs()),
            Classical::Value(QasmValue::Bits { width, bits }) => {
                self.check_lengths(width, n, from, to)?;
                to_digits(bits)
            }
            Classical::Digits { mut digits, width } => {
                let given = u32::try_from(width.unwrap_or(n as usize)).unwrap_or(u32::MAX);
                self.check_lengths(given, n, from, to)?;
                trim(&mut digits);
                digits
            }
            Classical::Value(other) => {
                let (given, expected) = (other.describe().to_owned(), "a bit string".to_owned());
                return self.fail(QasmProblem::WrongType { given, expected }, from);
            }
            Classical::ValueSet(choice) => {
                let (given, expected) = (choice.describe().to_owned(), "a bit string".to_owned());
                return self.fail(QasmProblem::WrongType { given, expected }, from);
            }
        };
        if digits.len() > n as usize && digits.iter().skip(n as usize).any(|&b| b) {
            let what = format!("this number in {}", crate::gate::count(n as usize, "bit"));
            return self.fail(QasmProblem::IntegerOverflow { what }, from);
        }
        self.fill_digits(&into, &digits, self.guard, fresh, from);
        Ok(())
    }

    /// `if (condition) bit = 1; else bit = 0;`
    pub(super) fn store_truth(
        &mut self,
        bit: u32,
        condition: Condition,
        span: QasmSpan,
        fresh: bool,
    ) -> Lower<()> {
        self.add_count(2, span);
        if self.passed.is_some() {
            return Ok(());
        }
        let place = self.file_span(span);
        self.branches(condition, span, |lowering, otherwise| {
            if !(fresh && otherwise) {
                let (bits, values) = (IndexSet::One(bit), Box::new([!otherwise]));
                lowering.push(LoweredItem::Assign { bits, values, place });
            }
        })
    }

    pub(super) fn check_lengths(
        &mut self,
        n: u32,
        m: u32,
        from: QasmSpan,
        to: QasmSpan,
    ) -> Lower<()> {
        if n == m {
            return Ok(());
        }
        let problem = QasmProblem::LengthMismatch { first: u64::from(n), second: u64::from(m) };
        let (from, to) = (self.file_span(from), self.file_span(to));
        let error = Diagnostic::error(problem)
            .with_label(from, format!("{n}"))
            .with_label(to, format!("{m}"));
        Err(self.report(error))
    }

    pub(super) fn measure_into(
        &mut self,
        qubits: IndexSet,
        bits: IndexSet,
        from: QasmSpan,
        to: QasmSpan,
        span: QasmSpan,
    ) -> Lower<()> {
        let (n, m) = (qubits.len().unwrap_or(1), bits.len().unwrap_or(1));
        self.check_lengths(n, m, from, to)?;
        self.add_count(u64::from(n), span);
        self.push(LoweredItem::Measure { qubits, bits, place: self.file_span(span) });
        Ok(())
    }

    pub(super) fn barrier(&mut self, operands: &[QasmOperand], span: QasmSpan) -> Lower<()> {
        let qubits = self.together(operands, span)?;
        self.push(LoweredItem::Barrier { qubits });
        Ok(())
    }

    pub(super) fn delay(
        &mut self,
        length: &QasmExpr,
        operands: &[QasmOperand],
        span: QasmSpan,
    ) -> Lower<()> {
        let value = self.evaluate(length, ExprScope::Global)?;
        let QasmValue::Duration(duration) = value else {
            let (given, expected) =
                (value.describe().to_owned(), "a duration such as `100ns`".to_owned());
            return self.fail(QasmProblem::WrongType { given, expected }, length.span);
        };
        let length_of = duration.length();
        if let Some(given) = length_of.number().filter(|x| !(0.0..f64::INFINITY).contains(x)) {
            return self.fail(QasmProblem::NegativeDelay { given }, length.span);
        }
        let qubits = self.together(operands, span)?;
        self.push(LoweredItem::Delay { length: length_of, qubits, place: self.file_span(span) });
        Ok(())
    }

    /// Returns the qubits of an instruction on all of them together; without operands it acts on
    /// all qubits.
    fn together(&mut self, operands: &[QasmOperand], span: QasmSpan) -> Lower<Vec<IndexSet>> {
        let mut qubits = Vec::with_capacity(operands.len());
        for operand in operands {
            qubits.push(self.qubits(operand)?);
        }
        if operands.is_empty() {
            let len = self.hardware.map_or(self.n_qubits, |(largest, _)| largest.saturating_add(1));
            qubits.push(IndexSet::Range { first: 0, step: 1, len });
        }
        let size: u64 = qubits.iter().map(|p| u64::from(p.len().unwrap_or(1))).sum();
        // Its cost is the number of qubits that it lists.
        self.add_count(size.max(1), span);
        Ok(qubits)
    }
}
