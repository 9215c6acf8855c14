//! Arguments of subroutines, and the parameters that they become.
//!
//! Qubits and `mutable` arrays are passed by reference, parts of arrays by copying in and out, all
//! else by value. A measured value stays in its bits, unless the body writes to the parameter.

use super::{
    ExprScope, IndexSet, Lower, QasmLowering, QasmValue, classical::Classical, names::SymbolEntry,
    select::AxisSelection, variables::VariableState, walk::assigned,
};
use crate::qasm::{
    ast::{BaseType, Ident, OperandBase, Parameter, QasmExpr, QasmSpan, QasmStmt, Subroutine},
    diagnostic::{Diagnostic, QasmProblem},
};

/// Argument of a call, in terms of the caller.
pub(super) enum CallArgument {
    Qubits(IndexSet),
    Classical(Classical),
    /// A variable that is written to.
    Variable(usize),
    /// A part of one, with its value.
    Part(ArrayPart, QasmValue),
}

/// Part of an array of the caller that is written to.
pub(super) struct ArrayPart {
    whole: usize,
    places: Vec<AxisSelection>,
    /// Span of the argument in the call.
    span: QasmSpan,
}

/// Variables of a body that hold parts of arrays of the caller.
pub(super) type ArrayParts = Vec<(usize, ArrayPart)>;

impl QasmLowering<'_> {
    /// Evaluates an argument in the scope of the caller.
    pub(super) fn argument(
        &mut self,
        arg: &QasmExpr,
        parameter: &Parameter,
    ) -> Lower<CallArgument> {
        let ty = &parameter.ty;
        if parameter.mutable {
            let named = self.as_operand(arg).and_then(|operand| match operand.base {
                OperandBase::Name(name) => {
                    Some((self.names.get(name.symbol)?, name, operand.parts()))
                }
                OperandBase::Hardware(_) => None,
            });
            let Some((&SymbolEntry::Variable(id), name, parts)) = named else {
                let (expected, given) =
                    ("an array variable".to_owned(), "another expression".to_owned());
                return self.fail(QasmProblem::Expected { expected, given }, arg.span);
            };
            if self.variables[id].element().base != ty.base {
                let (given, expected) =
                    ("a variable of another type", "elements of the parameter's type");
                let problem = QasmProblem::WrongType {
                    given: given.to_owned(),
                    expected: expected.to_owned(),
                };
                return self.fail(problem, arg.span);
            }
            if parts.is_empty() {
                let value = self.one_of_values(id, arg.span)?;
                self.check_array(parameter, value, arg.span)?;
                return Ok(CallArgument::Variable(id));
            }
            let value = self.evaluate(arg, ExprScope::Global)?;
            let value = self.check_array(parameter, value, arg.span)?;
            let (whole, name) = (self.variable(id, arg.span)?, self.name(name.symbol));
            let places = self.places(&whole, &parts, &name, arg.span)?;
            return Ok(CallArgument::Part(ArrayPart { whole: id, places, span: arg.span }, value));
        }
        if ty.base != BaseType::Qubit {
            return self.classical(arg).map(CallArgument::Classical);
        }
        match self.selection(arg)? {
            SymbolEntry::Qubits(picks) => Ok(CallArgument::Qubits(picks)),
            _ => {
                let (given, expected) = ("bits".to_owned(), "qubits".to_owned());
                self.fail(QasmProblem::WrongType { given, expected }, arg.span)
            }
        }
    }

    /// Checks an array against the type of a parameter.
    fn check_array(
        &mut self,
        parameter: &Parameter,
        value: QasmValue,
        span: QasmSpan,
    ) -> Lower<QasmValue> {
        let Some(rank) = &parameter.rank else { return self.cast(&parameter.ty, value, span) };
        let axes = self.integer(rank, "the number of axes")?;
        let mut given = 0i128;
        let mut part = &value;
        while let QasmValue::Array(items) = part {
            given += 1;
            part = match items.first() {
                Some(first) => first,
                None => break,
            };
        }
        if given != axes {
            let given = format!(
                "an array of {}",
                crate::gate::count(given.unsigned_abs() as usize, "dimension")
            );
            return self
                .fail(QasmProblem::WrongType { given, expected: format!("{axes} of them") }, span);
        }
        Ok(value)
    }

    pub(super) fn distinct_arguments(
        &mut self,
        subroutine: &Subroutine,
        given: &[CallArgument],
        args: &[QasmExpr],
    ) -> Lower<()> {
        let mut seen = std::collections::HashMap::new();
        for (argument, arg) in given.iter().zip(args) {
            let CallArgument::Qubits(picks) = argument else { continue };
            self.spend(u64::from(picks.len().unwrap_or(1)), arg.span)?;
            for qubit in picks.iter() {
                if let Some(before) = seen.insert(qubit, arg.span) {
                    let (qubit, gate) = (self.qubit_name(qubit), self.name(subroutine.name.symbol));
                    let (again, first) = (self.file_span(arg.span), self.file_span(before));
                    let error = Diagnostic::error(QasmProblem::RepeatedQubit { qubit, gate });
                    return Err(self.report(
                        error.with_label(again, "again here").with_label(first, "first here"),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Copies the final values of the variables out to the parts of arrays that they were copied
    /// from.
    pub(super) fn give_parts(&mut self, parts: ArrayParts) {
        for (id, ArrayPart { whole, places, span }) in parts {
            match self.variables.get(id).map(|variable| variable.state.clone()) {
                // An error was reported.
                Some(VariableState::Known(value)) => {
                    let _ = self.assign_part(whole, &places, Classical::Value(value), span);
                }
                Some(VariableState::ValueSet(choice)) => {
                    let _ = self.assign_part(whole, &places, Classical::ValueSet(choice), span);
                }
                Some(VariableState::Stored) => {
                    let value = self.read_variable(id, span);
                    let _ = value.and_then(|value| {
                        self.flush(whole, span)?;
                        self.assign_elements(whole, &places, &value, span)
                    });
                }
                Some(_) => self.lose(whole, span),
                None => {}
            }
        }
    }

    pub(super) fn bind(
        &mut self,
        argument: CallArgument,
        parameter: &Parameter,
        body: &[QasmStmt],
        parts: &mut ArrayParts,
    ) -> Lower<()> {
        let Parameter { ty, name, .. } = parameter;
        let name = *name;
        let size = match &ty.size {
            Some(size) => Some(self.integer(size, "the size of a parameter")?),
            None => None,
        };
        match argument {
            CallArgument::Qubits(picks) => {
                let given = picks.len().unwrap_or(1);
                if i128::from(given) != size.unwrap_or(1) {
                    let second = u64::try_from(size.unwrap_or(1)).unwrap_or(u64::MAX);
                    return self.fail(
                        QasmProblem::LengthMismatch { first: u64::from(given), second },
                        name.span,
                    );
                }
                self.declare_name(name, SymbolEntry::Qubits(shaped(picks, size.is_some())))
            }
            CallArgument::Classical(Classical::BitVector { bits, .. })
                if ty.base == BaseType::Bit =>
            {
                let (first, second) = (bits.len() as u64, size.unwrap_or(1));
                if i128::from(first) != second {
                    let second = u64::try_from(second).unwrap_or(u64::MAX);
                    return self.fail(QasmProblem::LengthMismatch { first, second }, name.span);
                }
                let given = IndexSet::List(bits.clone().into());
                if !assigned(body).contains(&name.symbol) {
                    return self
                        .declare_name(name, SymbolEntry::Bits(shaped(given, size.is_some())));
                }
                let bits = Classical::register(bits);
                self.bind_copy(bits, name, given.len().unwrap_or(1), size.is_some())
            }
            CallArgument::Classical(value) if ty.base == BaseType::Bit => match value {
                Classical::Value(value) if !assigned(body).contains(&name.symbol) => {
                    let value = self.cast(ty, value, name.span)?;
                    self.declare_name(name, SymbolEntry::Const(value))
                }
                value => {
                    let size_of = u32::try_from(size.unwrap_or(1)).unwrap_or(u32::MAX);
                    self.bind_copy(value, name, size_of, size.is_some())
                }
            },
            CallArgument::Classical(Classical::Value(value)) if ty.dims.is_some() => {
                let value = self.check_array(parameter, value, name.span)?;
                if value.is_runtime() {
                    let id = self.new_variable(name, ty, None)?;
                    self.store_value(id, &value, name.span)?;
                    return self.declare_name(name, SymbolEntry::Variable(id));
                }
                self.declare_name(name, SymbolEntry::Const(value))
            }
            CallArgument::Classical(Classical::ValueSet(choice)) if ty.dims.is_some() => {
                let one = choice.values.iter().find(|value| matches!(value, QasmValue::Array(_)));
                if let Some(value) = one.cloned() {
                    self.check_array(parameter, value, name.span)?;
                }
                let id = self.new_variable(name, ty, None)?;
                let choice = self.kept_value_set(choice, self.variables[id].depth, name.span)?;
                self.set(id, VariableState::ValueSet(choice));
                self.declare_name(name, SymbolEntry::Variable(id))
            }
            CallArgument::Variable(id) => self.declare_name(name, SymbolEntry::Variable(id)),
            CallArgument::Part(part, value) => {
                let id = self.new_variable(name, ty, None)?;
                match value.is_runtime() {
                    true => self.store_value(id, &value, name.span)?,
                    false => self.set(id, VariableState::Known(value)),
                }
                parts.push((id, part));
                self.declare_name(name, SymbolEntry::Variable(id))
            }
            CallArgument::Classical(value) => {
                self.declare_variable(name, ty, Some((value, name.span)))
            }
        }
    }

    /// Binds a parameter to a copy in bits of its own.
    fn bind_copy(&mut self, value: Classical, name: Ident, size: u32, many: bool) -> Lower<()> {
        let bits = self.scratch_bits(size, self.locals.len(), name.span)?;
        self.store(bits.clone(), value, name.span, name.span, true)?;
        self.declare_name(name, SymbolEntry::Bits(shaped(bits, many)))
    }
}

/// Returns a single bit instead of a list of one, unless the parameter is a register.
fn shaped(picks: IndexSet, many: bool) -> IndexSet {
    match (picks, many) {
        (IndexSet::One(one), true) => IndexSet::Range { first: one, step: 1, len: 1 },
        (picks, false) => IndexSet::One(picks.get(0)),
        (picks, true) => picks,
    }
}
