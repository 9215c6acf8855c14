//! Classical variables, known while the text is read.
//!
//! A circuit has bits and conditions, no numbers. So the values of variables are evaluated here:
//!
//! ```text
//! float angle = pi;                  known
//! for int k in [1:3] {               the body is planned three times, k being known
//!     angle /= 2;
//!     rz(angle) q[k];
//! }
//! int[2] hits = 0;
//! if (c[0]) { hits = 1; }            0 or 1, as a measurement says: kept in two hidden bits
//! if (hits == 1) { x q[0]; }
//! ```
//!
//! An assignment under a condition on bits is known within that branch. After it, if the branches
//! do not agree, a truth value or an integer goes to scratch bits, and any other number or an array
//! becomes a value set; any other variable is lost, and reading it is an error.
//!
//! Invariant: `log[mark..]` has each variable once that has changed since the innermost open branch
//! began, with its state at that beginning; variables declared in the branch itself are not in it.

use std::rc::Rc;

use super::{
    ErrorReported, Guard, IndexSet, Lower, QasmLowering, QasmValue, classical::Classical,
    integer::IntegerType, names::SymbolEntry, value_set::ValueSet,
};
use crate::{
    classical::VariableId,
    qasm::{
        ast::{BaseType, FileSpan, Ident, InternedName, QasmSpan, Type},
        diagnostic::{Diagnostic, QasmProblem},
    },
};

/// Abstract state of a variable while the text is lowered.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum VariableState {
    /// Not assigned yet.
    Empty,
    Known(QasmValue),
    /// Its value is in scratch bits, least significant first.
    Bits {
        bits: IndexSet,
        signed: bool,
    },
    /// Its value is in memory.
    Stored,
    /// A number with a value set.
    ValueSet(ValueSet),
    /// Lost: it depends on bits since this statement, and cannot be kept in bits itself.
    Lost(FileSpan),
}

#[derive(Clone, Debug)]
pub(super) struct QasmVariable {
    pub(super) name: InternedName,
    pub(super) ty: Rc<Type>,
    /// The type of an integer.
    pub(super) integer: Option<IntegerType>,
    /// Number of bits that hold it, if some do; and the number of these that its value uses, the
    /// last a sign if it has one. The others repeat that sign, or are 0.
    pub(super) n_bits: Option<u32>,
    pub(super) used: u32,
    pub(super) state: VariableState,
    /// Number of scopes around the declaration, and the branch that it is in.
    pub(super) depth: usize,
    pub(super) guard: Option<Guard>,
    /// Place of the declaration, and in memory if it has one.
    pub(super) place: FileSpan,
    pub(super) slot: Option<VariableId>,
    /// True for a variable of the file itself, and for one that is declared as an output.
    pub(super) is_global: bool,
    pub(super) is_output: bool,
}

impl QasmVariable {
    /// The type of its elements, if it is an array; else its own.
    pub(super) fn element(&self) -> Type {
        Type { dims: None, ..(*self.ty).clone() }
    }

    pub(super) fn is_angle(&self) -> bool {
        self.ty.base == BaseType::Angle && !self.is_array()
    }

    /// Returns true if it is a number that no bits hold, or an array: its value is one of a finite
    /// set where it depends on a measurement.
    pub(super) fn chooses(&self) -> bool {
        self.is_array()
            || matches!(self.ty.base, BaseType::Float | BaseType::Angle) && self.n_bits.is_none()
    }

    /// Returns true if it has bits to be written to.
    pub(super) fn has_bits(&self) -> bool {
        self.is_angle() || self.integer.is_some()
    }

    pub(super) fn is_array(&self) -> bool {
        self.ty.dims.is_some()
    }
}

/// The state of a variable before a branch that changed it.
#[derive(Clone, Debug)]
pub(super) struct VariableChange {
    pub(super) variable: usize,
    pub(super) before: VariableState,
    /// Guard of the branch.
    pub(super) guard: Option<Guard>,
}

/// Variables and scratch bits of a scope.
#[derive(Clone, Debug)]
pub(super) struct ScopeLocals {
    /// Number of variables outside.
    variables: usize,
    /// Scratch bits that are free again after it: the first, and the number of bits.
    pub(super) bits: Vec<(u32, u32)>,
}

/// The variables that a branch changed, with their states at its end.
pub(super) type BranchEnds = Vec<(usize, VariableState)>;

impl QasmLowering<'_> {
    pub(super) fn enter_scope(&mut self) {
        self.names.enter();
        self.locals.push(ScopeLocals { variables: self.variables.len(), bits: Vec::new() });
    }

    /// Leaves a scope. Its scratch bits are 0 afterwards.
    pub(super) fn leave_scope(&mut self) {
        self.names.leave();
        self.leave_locals();
    }

    /// Enters the file: its variables have no scope of names, but bits that are cleared at the end
    /// too.
    pub(super) fn enter_file(&mut self) {
        self.locals.push(ScopeLocals { variables: 0, bits: Vec::new() });
    }

    pub(super) fn leave_locals(&mut self) {
        let Some(ScopeLocals { variables, bits }) = self.locals.pop() else { return };
        self.variables.truncate(variables);
        for (first, size) in bits {
            self.clear(first, size);
        }
    }

    pub(super) fn declare_variable(
        &mut self,
        name: Ident,
        ty: &Type,
        value: Option<(Classical, QasmSpan)>,
    ) -> Lower<()> {
        let result = self.new_variable(name, ty, value);
        match result {
            Ok(id) => self.declare_name(name, SymbolEntry::Variable(id)),
            Err(ErrorReported) => {
                self.names.break_name(name.symbol, self.file_span(name.span));
                Err(ErrorReported)
            }
        }
    }

    pub(super) fn new_variable(
        &mut self,
        name: Ident,
        ty: &Type,
        value: Option<(Classical, QasmSpan)>,
    ) -> Lower<usize> {
        self.check_width(ty)?;
        let integer = self.integer_type(ty)?;
        let n_bits = match (ty.base, &ty.size, &ty.dims) {
            (BaseType::Angle, Some(size), None) => Some(self.bits_in(size)?),
            _ => bits_of_type(ty, integer),
        };
        let id = self.variables.len();
        let (depth, guard) = (self.locals.len(), self.guard);
        let ty = Rc::new(ty.clone());
        self.variables.push(QasmVariable {
            name: name.symbol,
            ty,
            integer,
            n_bits,
            used: 0,
            state: VariableState::Empty,
            depth,
            guard,
            place: self.file_span(name.span),
            slot: None,
            is_global: self.names.depth() == 0 && self.results.is_empty(),
            is_output: false,
        });
        if let Some((value, span)) = value {
            self.assign_variable(id, value, span).inspect_err(|_| self.variables.truncate(id))?;
        }
        Ok(id)
    }

    /// `name = value`.
    pub(super) fn assign_variable(
        &mut self,
        id: usize,
        value: Classical,
        span: QasmSpan,
    ) -> Lower<()> {
        if self.has_memory() {
            return self.assign_value(id, value, span);
        }
        let ty = self.variables[id].ty.clone();
        let value = match value {
            Classical::Value(_) => value,
            _ if self.variables[id].chooses() => {
                let state = self.chosen_number(&ty, value, self.variables[id].depth, span)?;
                self.set(id, state);
                return Ok(());
            }
            Classical::ValueSet(_) if self.variables[id].n_bits.is_some() => {
                self.cast_value_set(&ty, value, span)?
            }
            other => other,
        };
        let value = match value {
            Classical::Value(value) => Classical::Value(self.cast(&ty, value, span)?),
            Classical::Digits { digits, width: None }
                if self.variables[id].integer == Some(IntegerType::WIDEST)
                    && digits.len() <= 128 =>
            {
                Classical::Value(IntegerType::widest(&digits).unwrap_or(QasmValue::int(0)))
            }
            Classical::Digits { .. } => {
                let what = "an integer of this length".to_owned();
                return self.fail(QasmProblem::IntegerOverflow { what }, span);
            }
            // An angle is made of the bits alone, which may be those of another angle.
            Classical::BitVector { ty: Some(_), .. } | Classical::Truth(_)
                if self.variables[id].is_angle() =>
            {
                let (given, expected) = ("an integer".to_owned(), "an angle".to_owned());
                return self.fail(QasmProblem::WrongType { given, expected }, span);
            }
            Classical::AngleBits(_) if !self.variables[id].is_angle() => {
                let (given, expected) = ("an angle".to_owned(), "another type".to_owned());
                return self.fail(QasmProblem::WrongType { given, expected }, span);
            }
            Classical::AngleBits(bits) | Classical::BitVector { bits, ty: None, .. }
                if self.variables[id].is_angle() =>
            {
                let (first, second) =
                    (bits.len() as u64, u64::from(self.variables[id].n_bits.unwrap_or(0)));
                if first != second {
                    return self.fail(QasmProblem::LengthMismatch { first, second }, span);
                }
                Classical::register(bits)
            }
            other => other,
        };
        if matches!(self.variables[id].state, VariableState::Bits { .. })
            || !matches!(value, Classical::Value(_))
        {
            self.use_digits_of(id, &value);
        }
        match (&self.variables[id].state, value) {
            (VariableState::Bits { bits, .. }, value) => {
                self.store_number(bits.clone(), value, span)
            }
            (_, Classical::Value(value)) => {
                self.set(id, VariableState::Known(value));
                Ok(())
            }
            (_, value) => match self.spill(id, span)? {
                Some(bits) => self.store_number(bits, value, span),
                None => self.depends(id, self.file_span(span), "assigned here"),
            },
        }
    }

    /// The value of an integer that is kept in bits.
    pub(super) fn bit_vector_of(&self, id: usize) -> Option<Classical> {
        let QasmVariable {
            state: VariableState::Bits { bits, signed },
            integer: ty @ Some(_),
            used,
            ..
        } = &self.variables[id]
        else {
            return None;
        };
        Some(Classical::BitVector {
            bits: bits.iter().take(*used as usize).collect(),
            signed: *signed,
            ty: *ty,
        })
    }

    pub(super) fn name_of(&self, id: usize) -> String {
        self.name(self.variables[id].name)
    }

    /// The value of a variable, if it is known.
    pub(super) fn variable(&mut self, id: usize, span: QasmSpan) -> Lower<QasmValue> {
        match &self.variables[id].state {
            VariableState::Known(value) => Ok(value.clone()),
            VariableState::Stored => self.read_variable(id, span),
            VariableState::Empty => {
                let name = self.name(self.variables[id].name);
                let zero = match (self.variables[id].ty.base, self.variables[id].integer) {
                    (BaseType::Bool, _) => QasmValue::Bool(false),
                    (_, Some(ty)) => QasmValue::Int(0, Some(ty)),
                    _ => return self.fail(QasmProblem::Unassigned { name }, span),
                };
                self.warn(QasmProblem::TakenAsZero { name }, span);
                Ok(zero)
            }
            VariableState::Bits { .. } | VariableState::ValueSet(_) => {
                self.depends(id, self.file_span(span), "")
            }
            VariableState::Lost(by) => {
                let name = self.name(self.variables[id].name);
                let (place, by) = (self.file_span(span), *by);
                let error = Diagnostic::error(QasmProblem::Depends { name }).with_label(place, "");
                let help = "a number that measurements decide may have at most 1024 values; what a loop assigns that a \
                            measurement ends comes back to few values, or is an integer or an `angle[n]`";
                let help = self.variables[id].chooses().then(|| help.to_owned());
                Err(self.report(error.with_label(by, "by what is assigned here").maybe_help(help)))
            }
        }
    }

    pub(super) fn depends<T>(&mut self, id: usize, place: FileSpan, label: &str) -> Lower<T> {
        let name = self.name(self.variables[id].name);
        let help =
            "a circuit has fixed gates: this must be known, and cannot depend on what is measured";
        Err(self.report(
            Diagnostic::error(QasmProblem::Depends { name }).with_label(place, label).help(help),
        ))
    }

    pub(super) fn set(&mut self, id: usize, state: VariableState) {
        let (guard, mark) = (self.guard, self.mark);
        let before = self.change(id, state);
        if self.variables[id].guard != guard && !self.log[mark..].iter().any(|c| c.variable == id) {
            self.log.push(VariableChange { variable: id, before, guard });
        }
    }

    /// Replaces the state of a variable; returns the old one.
    pub(super) fn change(&mut self, id: usize, state: VariableState) -> VariableState {
        if self.variables[id].state != state {
            self.remember(id);
        }
        std::mem::replace(&mut self.variables[id].state, state)
    }
}

/// Returns the number of bits that hold a truth value, or an integer of a type; `None` for other
/// types.
pub(super) fn bits_of_type(ty: &Type, integer: Option<IntegerType>) -> Option<u32> {
    match (ty.base, &ty.dims) {
        (BaseType::Bool, None) => Some(1),
        _ => integer.map(|ty| ty.bits),
    }
}
