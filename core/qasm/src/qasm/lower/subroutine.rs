//! Subroutines: inlined at every call.
//!
//! ```text
//! def flips(qubit[2] q, float t) -> bit {      bit c = flips(r, pi/3);
//!     bit hit;
//!     rx(t) q;                                 rx(pi/3) r;
//!     hit = measure q[0];                      c = measure r[0];
//!     return hit;
//! }
//! ```
//!
//! Arguments are passed in `arguments`. A result of bits is written directly to its destination in
//! the caller; a known number is a value of the caller's expression; one that depends on a
//! measurement goes to scratch bits. Recursion is allowed if it ends.

use std::rc::Rc;

use super::{
    ErrorReported, ExprScope, IndexSet, Lower, QasmLowering, QasmValue,
    arguments::{ArrayParts, CallArgument},
    classical::Classical,
    frames::FrameKind,
    names::GateEntry,
    variables::{VariableState, bits_of_type},
    walk::returned,
};
use crate::qasm::{
    ast::{
        BaseType, FileSpan, Ident, InternedName, QasmExpr, QasmExprKind, QasmSpan, Subroutine, Type,
    },
    diagnostic::{Diagnostic, QasmProblem},
};

/// Maximum depth of nested calls.
const MAX_CALLS: usize = 64;

/// A subroutine of the source.
#[derive(Clone, Debug)]
pub(super) struct Definable {
    subroutine: Rc<Subroutine>,
    source: u32,
}

/// Result that a call is to return, and its destination.
#[derive(Clone, Debug)]
pub(super) struct CallReturn {
    ty: Option<Rc<Type>>,
    /// Number of bits of the result, where bits can hold it.
    size: Option<u32>,
    /// Bits that the result is written to, and true if the caller passed them.
    slot: Option<IndexSet>,
    direct: bool,
    value: Option<QasmValue>,
    /// Variable for the result, where it is a number that no bits hold.
    number: Option<usize>,
    given: bool,
    /// The scopes around the call, and those around the body.
    outside: usize,
    inside: usize,
    /// The local register that every `return` gives.
    returned: Option<InternedName>,
}

/// Result of a call.
pub(super) enum CallResult {
    Nothing,
    Value(Classical),
    /// The result is in the bits that the caller passed.
    Stored,
}

impl QasmLowering<'_> {
    pub(super) fn define_subroutine(&mut self, subroutine: &Rc<Subroutine>) -> Lower<()> {
        let name = subroutine.name;
        let place = self.file_span(name.span);
        if self.names.depth() > 0 {
            self.gates.break_name(name.symbol);
            return self.fail(QasmProblem::WithinBlock { what: "a subroutine" }, name.span);
        }
        if let Some(GateEntry::Own(_, before) | GateEntry::Subroutine(_, before)) =
            self.gates.get(name.symbol)
            && before.source == place.source
        {
            let twice =
                Diagnostic::error(QasmProblem::DeclaredTwice { name: self.name(name.symbol) });
            return Err(self
                .report(twice.with_label(place, "again here").with_label(before, "defined here")));
        }
        for ty in subroutine.params.iter().map(|parameter| &parameter.ty).chain(&subroutine.result)
        {
            self.check_width(ty).inspect_err(|_| self.gates.break_name(name.symbol))?;
        }
        self.gates.insert(name.symbol, GateEntry::Subroutine(self.subroutines.len(), place));
        self.subroutines.push(Definable { subroutine: subroutine.clone(), source: self.source });
        Ok(())
    }

    /// The subroutine of a name.
    pub(super) fn subroutine(&self, name: InternedName) -> Option<usize> {
        match self.gates.get(name) {
            Some(GateEntry::Subroutine(number, _)) => Some(number),
            _ => None,
        }
    }

    /// Returns an error if a name that is not declared yet is that of a subroutine below.
    pub(super) fn subroutine_to_come(&mut self, name: Ident) -> Lower<()> {
        let Some(&there) = self.to_come.get(&name.symbol) else { return Ok(()) };
        let here = self.file_span(name.span);
        let error = Diagnostic::error(QasmProblem::SubroutineBeforeDefinition {
            name: self.name(name.symbol),
        });
        Err(self.report(error.with_label(here, "").with_label(there, "defined here")))
    }

    /// The value of a call in an expression.
    pub(super) fn called(
        &mut self,
        number: usize,
        args: &[QasmExpr],
        span: QasmSpan,
    ) -> Lower<Classical> {
        match self.call_subroutine(number, args, span, None)? {
            CallResult::Value(value) => Ok(value),
            CallResult::Nothing | CallResult::Stored => {
                let name = self.name(self.subroutines[number].subroutine.name.symbol);
                self.fail(QasmProblem::NoResult { name }, span)
            }
        }
    }

    /// Plans the body of a subroutine. Bits that it returns are written to `into`, if the number of
    /// bits is the same.
    pub(super) fn call_subroutine(
        &mut self,
        number: usize,
        args: &[QasmExpr],
        span: QasmSpan,
        into: Option<IndexSet>,
    ) -> Lower<CallResult> {
        let Definable { subroutine, source } = self.subroutines[number].clone();
        let place = self.file_span(span);
        if self.results.len() >= MAX_CALLS {
            return self.fail(QasmProblem::DeepCall { limit: MAX_CALLS }, span);
        }
        if args.len() != subroutine.params.len() {
            let (name, expected) = (self.name(subroutine.name.symbol), subroutine.params.len());
            return self
                .fail(QasmProblem::ArgumentCount { name, given: args.len(), expected }, span);
        }
        let mut arguments = Vec::with_capacity(args.len());
        for (arg, parameter) in args.iter().zip(&subroutine.params) {
            arguments.push(self.argument(arg, parameter)?);
        }
        self.distinct_arguments(&subroutine, &arguments, args)?;

        let errors = self.n_errors();
        let outside = self.locals.len();
        let number = self.number_of_result(&subroutine, place)?;
        let suspended = self.names.suspend();
        let caller = std::mem::replace(&mut self.source, source);
        self.enter_scope();
        self.enter_frame(FrameKind::Subroutine);
        let mut parts = ArrayParts::new();
        let result = self.body(&subroutine, arguments, into, (outside, number), &mut parts);
        self.leave_frame(subroutine.name.span);
        self.give_parts(parts);
        self.leave_scope();
        self.source = caller;
        self.names.resume(suspended);
        let state = number.map(|id| self.variables[id].state.clone());
        let stored = match (number, &state) {
            (Some(id), Some(VariableState::Stored)) => Some(self.read_variable(id, span)?),
            _ => None,
        };
        self.variables.truncate(number.unwrap_or(self.variables.len()));
        if self.n_errors() > errors {
            if let Some(error) = self.diagnostics.last_mut().filter(|e| e.labels.len() < 4) {
                *error = error.clone().with_label(place, "called here");
            }
            return Err(ErrorReported);
        }
        let wanted = result?;
        let name = subroutine.name.symbol;
        if let Some(value) = stored {
            return Ok(CallResult::Value(Classical::Value(value)));
        }
        match state {
            Some(VariableState::Known(value)) => {
                return Ok(CallResult::Value(Classical::Value(value)));
            }
            Some(VariableState::ValueSet(choice)) => {
                return Ok(CallResult::Value(Classical::ValueSet(choice)));
            }
            Some(_) if wanted.given => {
                return self.fail(QasmProblem::Depends { name: self.name(name) }, span);
            }
            _ => {}
        }
        match (wanted.ty, wanted.slot, wanted.value) {
            (None, ..) => Ok(CallResult::Nothing),
            _ if !wanted.given => self.fail(QasmProblem::NoResult { name: self.name(name) }, span),
            (Some(_), None, Some(value)) => Ok(CallResult::Value(Classical::Value(value))),
            (Some(ty), Some(slot), _) if !wanted.direct => {
                let (bits, signed) = (slot.iter().collect(), ty.base == BaseType::Int);
                let ty = self.integer_type(&ty)?;
                Ok(CallResult::Value(Classical::BitVector { bits, signed, ty }))
            }
            _ => Ok(CallResult::Stored),
        }
    }

    /// Returns a variable for the result of a subroutine, where that is a number that no bits hold.
    fn number_of_result(
        &mut self,
        subroutine: &Subroutine,
        call: FileSpan,
    ) -> Lower<Option<usize>> {
        let Some(ty) = &subroutine.result else { return Ok(None) };
        if self.has_memory() && ty.base != BaseType::Bit {
            let id = self.new_variable(subroutine.name, ty, None)?;
            // Another call in the same expression has a result of its own.
            let variable = &mut self.variables[id];
            (variable.is_global, variable.place) = (false, call);
            return Ok(Some(id));
        }
        if !matches!(ty.base, BaseType::Float | BaseType::Angle) {
            return Ok(None);
        }
        let id = self.new_variable(subroutine.name, ty, None)?;
        let chooses = self.variables[id].chooses();
        self.variables.truncate(if chooses { id + 1 } else { id });
        Ok(chooses.then_some(id))
    }

    /// Binds the parameters and plans the statements.
    fn body(
        &mut self,
        subroutine: &Subroutine,
        arguments: Vec<CallArgument>,
        into: Option<IndexSet>,
        (outside, number): (usize, Option<usize>),
        parts: &mut ArrayParts,
    ) -> Lower<CallReturn> {
        for (argument, parameter) in arguments.into_iter().zip(&subroutine.params) {
            self.bind(argument, parameter, &subroutine.body, parts)?;
        }
        let mut wanted = CallReturn {
            ty: subroutine.result.clone().map(Rc::new),
            size: None,
            slot: None,
            direct: false,
            value: None,
            number,
            given: false,
            outside,
            inside: self.locals.len(),
            returned: None,
        };
        if let Some(ty) = &subroutine.result {
            wanted.size = self.size_in_bits(ty)?;
            if let (BaseType::Bit, Some(size)) = (ty.base, wanted.size) {
                wanted.slot = into.filter(|bits| bits.len().unwrap_or(1) == size);
                wanted.direct = wanted.slot.is_some();
                wanted.returned = returned(&subroutine.body);
            }
        }
        self.results.push(wanted);
        self.list(&subroutine.body, &[]);
        self.results.pop().ok_or(ErrorReported)
    }

    /// Returns the number of bits that hold a result of a type, if bits can.
    fn size_in_bits(&mut self, ty: &Type) -> Lower<Option<u32>> {
        if let (BaseType::Bit, None) = (ty.base, &ty.dims) {
            return match &ty.size {
                Some(size) => Ok(u32::try_from(self.integer(size, "the size of a result")?).ok()),
                None => Ok(Some(1)),
            };
        }
        let integer = self.integer_type(ty)?;
        Ok(bits_of_type(ty, integer))
    }

    /// Returns the bits that hold a local register of a subroutine directly, since they are its
    /// result.
    pub(super) fn returned_bits(&self, name: InternedName, size: u32) -> Option<IndexSet> {
        let wanted = self.results.last()?;
        let is_it = wanted.returned == Some(name) && wanted.inside == self.locals.len();
        wanted.slot.clone().filter(|slot| is_it && slot.len().unwrap_or(1) == size)
    }

    /// `return value;`
    pub(super) fn give_back(&mut self, value: Option<&QasmExpr>, span: QasmSpan) -> Lower<()> {
        let Some(wanted) = self.results.last() else {
            return self.leave(FrameKind::Subroutine, span);
        };
        let (ty, size, slot, outside) =
            (wanted.ty.clone(), wanted.size, wanted.slot.clone(), wanted.outside);
        let number = wanted.number;
        match (value, ty) {
            (None, None) => {}
            (Some(expr), None) => {
                let (given, expected) = ("a value".to_owned(), "`return;`".to_owned());
                return self.fail(QasmProblem::Expected { expected, given }, expr.span);
            }
            (None, Some(_)) => {
                let (given, expected) = ("`return;`".to_owned(), "a value".to_owned());
                return self.fail(QasmProblem::Expected { expected, given }, span);
            }
            (Some(expr), Some(ty)) if ty.base == BaseType::Bit => {
                let bits = match (slot, size) {
                    (Some(bits), _) => bits,
                    (None, Some(size)) => self.scratch_bits(size, outside, span)?,
                    (None, None) => return self.refuse("this result", span),
                };
                if let Some(wanted) = self.results.last_mut() {
                    wanted.slot = Some(bits.clone());
                }
                self.give_bits(expr, bits)?;
            }
            (Some(expr), Some(_)) if number.is_some() => {
                let value = self.classical(expr)?;
                self.assign_variable(number.unwrap_or_default(), value, expr.span)?;
            }
            (Some(expr), Some(ty)) => {
                let value = match self.classical(expr)? {
                    Classical::Value(value) => Classical::Value(self.cast(&ty, value, expr.span)?),
                    other => other,
                };
                match (value, slot) {
                    (Classical::Value(value), None)
                        if !self.under_condition(FrameKind::Subroutine) =>
                    {
                        if let Some(wanted) = self.results.last_mut() {
                            wanted.value = Some(value);
                        }
                    }
                    (value, slot) => {
                        let bits = match (slot, size) {
                            (Some(bits), _) => bits,
                            (None, Some(size)) => self.scratch_bits(size, outside, span)?,
                            (None, None) => {
                                let name = "the result".to_owned();
                                return self.fail(QasmProblem::Depends { name }, expr.span);
                            }
                        };
                        if let Some(wanted) = self.results.last_mut() {
                            wanted.slot = Some(bits.clone());
                        }
                        self.store_number(bits, value, expr.span)?;
                    }
                }
            }
        }
        if let Some(wanted) = self.results.last_mut() {
            wanted.given = true;
        }
        self.leave(FrameKind::Subroutine, span)
    }

    fn give_bits(&mut self, expr: &QasmExpr, bits: IndexSet) -> Lower<()> {
        if let QasmExprKind::Measure(operand) = &expr.kind {
            let qubits = self.qubits(operand)?;
            return self.measure_into(qubits, bits, operand.span, expr.span, expr.span);
        }
        let value = self.classical(expr)?;
        if let Classical::BitVector { bits: given, .. } = &value
            && bits.iter().eq(given.iter().copied())
        {
            return Ok(());
        }
        self.store(bits, value, expr.span, expr.span, false)
    }

    pub(super) fn called_as_gate<T>(&mut self, name: Ident, defined: FileSpan) -> Lower<T> {
        let text = self.name(name.symbol);
        let place = self.file_span(name.span);
        let error = Diagnostic::error(QasmProblem::SubroutineAsGate { name: text });
        Err(self.report(error.with_label(place, "").with_label(defined, "defined here")))
    }

    /// Returns the value of a call where only a known one is valid.
    pub(super) fn called_known(
        &mut self,
        number: usize,
        args: &[QasmExpr],
        span: QasmSpan,
        scope: ExprScope,
    ) -> Lower<QasmValue> {
        if let ExprScope::Gate(_) = scope {
            return self.fail(QasmProblem::NotInGate, span);
        }
        match self.called(number, args, span)? {
            Classical::Value(value) => Ok(value),
            value if self.has_memory() => self.valued(value, span),
            _ => {
                let name = self.name(self.subroutines[number].subroutine.name.symbol);
                self.fail(QasmProblem::Depends { name }, span)
            }
        }
    }
}
