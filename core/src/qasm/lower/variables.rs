//! Classical variables, known while the text is read.
//!
//! A circuit has bits and conditions, no numbers. So the values of variables are worked out here:
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
//! What is assigned under a condition on bits is known within that branch. Behind it, where the
//! branches do not agree, a truth value or an integer goes to hidden bits, and any other number or
//! an array becomes a `choice`; any other variable is lost, and reading it is an error.
//!
//! Invariant: `log[mark..]` has each variable once that has changed since the innermost open branch
//! began, with its state at that beginning; variables declared in the branch itself are not in it.

use std::rc::Rc;

use super::{
    Guard, Lower, Lowering, Picks, Stop, Value, choice::Choice, classical::Classical,
    integer::IntType, names::Entry,
};
use crate::qasm::{
    ast::{BaseType, Ident, Place, Span, Symbol, Type},
    diagnostic::{Diagnostic, Problem},
};

/// What is known of a variable.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    /// It was not assigned yet.
    Empty,
    Known(Value),
    /// Its value is in hidden bits, least significant first.
    Bits {
        bits: Picks,
        signed: bool,
    },
    /// A number that is one of some values, as bits say.
    Choice(Choice),
    /// It depends on bits, and cannot be kept in bits itself: by this statement.
    Lost(Place),
}

#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: Symbol,
    pub(super) ty: Rc<Type>,
    /// The type of an integer.
    pub(super) integer: Option<IntType>,
    /// How many bits hold it, if some do; and of how many its value is made, the last a sign if it
    /// has one. The others are as that sign, or 0.
    pub(super) n_bits: Option<u32>,
    pub(super) used: u32,
    pub(super) state: State,
    /// Where it was declared: in how many scopes, and in which branch.
    pub(super) depth: usize,
    pub(super) guard: Option<Guard>,
}

impl Variable {
    /// The type of its elements, if it is an array; else its own.
    pub(super) fn element(&self) -> Type {
        Type { dims: None, ..(*self.ty).clone() }
    }

    pub(super) fn is_angle(&self) -> bool {
        self.ty.base == BaseType::Angle && !self.is_array()
    }

    /// Whether it is a number that no bits hold, or an array: one of some values where it depends
    /// on a measurement.
    pub(super) fn chooses(&self) -> bool {
        self.is_array()
            || matches!(self.ty.base, BaseType::Float | BaseType::Angle) && self.n_bits.is_none()
    }

    /// Whether it has bits to be written to.
    pub(super) fn has_bits(&self) -> bool {
        self.is_angle() || self.integer.is_some()
    }

    pub(super) fn is_array(&self) -> bool {
        self.ty.dims.is_some()
    }
}

/// The state of a variable before a branch that changed it.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) variable: usize,
    pub(super) before: State,
    /// What the branch runs under.
    pub(super) guard: Option<Guard>,
}

/// What goes with a scope.
#[derive(Clone, Debug)]
pub(super) struct Local {
    /// How many variables there are outside.
    variables: usize,
    /// Hidden bits that are free again behind it: the first, and how many.
    pub(super) bits: Vec<(u32, u32)>,
}

/// The variables that a branch changed, with their states at its end.
pub(super) type Ends = Vec<(usize, State)>;

impl Lowering<'_> {
    pub(super) fn enter_scope(&mut self) {
        self.names.enter();
        self.locals.push(Local { variables: self.variables.len(), bits: Vec::new() });
    }

    /// Leaves a scope. Its hidden bits are 0 afterwards.
    pub(super) fn leave_scope(&mut self) {
        self.names.leave();
        self.leave_locals();
    }

    /// Variables of the file have no scope of names, but bits that are 0 in the end too.
    pub(super) fn enter_file(&mut self) {
        self.locals.push(Local { variables: 0, bits: Vec::new() });
    }

    pub(super) fn leave_locals(&mut self) {
        let Some(Local { variables, bits }) = self.locals.pop() else { return };
        self.variables.truncate(variables);
        for (first, size) in bits {
            self.clear(first, size);
        }
    }

    pub(super) fn declare_variable(
        &mut self,
        name: Ident,
        ty: &Type,
        value: Option<(Classical, Span)>,
    ) -> Lower<()> {
        let result = self.new_variable(name, ty, value);
        match result {
            Ok(id) => self.declare_name(name, Entry::Variable(id)),
            Err(Stop) => {
                self.names.break_name(name.symbol, self.place(name.span));
                Err(Stop)
            }
        }
    }

    pub(super) fn new_variable(
        &mut self,
        name: Ident,
        ty: &Type,
        value: Option<(Classical, Span)>,
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
        self.variables.push(Variable {
            name: name.symbol,
            ty,
            integer,
            n_bits,
            used: 0,
            state: State::Empty,
            depth,
            guard,
        });
        if let Some((value, span)) = value {
            self.assign_variable(id, value, span).inspect_err(|_| self.variables.truncate(id))?;
        }
        Ok(id)
    }

    /// `name = value`.
    pub(super) fn assign_variable(&mut self, id: usize, value: Classical, span: Span) -> Lower<()> {
        let ty = self.variables[id].ty.clone();
        let value = match value {
            Classical::Value(_) => value,
            _ if self.variables[id].chooses() => {
                let state = self.chosen_number(&ty, value, self.variables[id].depth, span)?;
                self.set(id, state);
                return Ok(());
            }
            Classical::Choice(_) if self.variables[id].n_bits.is_some() => {
                self.cast_choice(&ty, value, span)?
            }
            other => other,
        };
        let value = match value {
            Classical::Value(value) => Classical::Value(self.cast(&ty, value, span)?),
            Classical::Digits { digits, width: None }
                if self.variables[id].integer == Some(IntType::WIDEST) && digits.len() <= 128 =>
            {
                Classical::Value(IntType::widest(&digits).unwrap_or(Value::int(0)))
            }
            Classical::Digits { .. } => {
                let what = "an integer of this length".to_owned();
                return self.fail(Problem::IntegerOverflow { what }, span);
            }
            // Of bits alone, be they those of another angle, an angle is made.
            Classical::Word { ty: Some(_), .. } | Classical::Truth(_)
                if self.variables[id].is_angle() =>
            {
                let (given, expected) = ("an integer".to_owned(), "an angle".to_owned());
                return self.fail(Problem::WrongType { given, expected }, span);
            }
            Classical::Turn(_) if !self.variables[id].is_angle() => {
                let (given, expected) = ("an angle".to_owned(), "another type".to_owned());
                return self.fail(Problem::WrongType { given, expected }, span);
            }
            Classical::Turn(bits) | Classical::Word { bits, ty: None, .. }
                if self.variables[id].is_angle() =>
            {
                let (first, second) =
                    (bits.len() as u64, u64::from(self.variables[id].n_bits.unwrap_or(0)));
                if first != second {
                    return self.fail(Problem::LengthMismatch { first, second }, span);
                }
                Classical::register(bits)
            }
            other => other,
        };
        if matches!(self.variables[id].state, State::Bits { .. })
            || !matches!(value, Classical::Value(_))
        {
            self.use_digits_of(id, &value);
        }
        match (&self.variables[id].state, value) {
            (State::Bits { bits, .. }, value) => self.store_number(bits.clone(), value, span),
            (_, Classical::Value(value)) => {
                self.set(id, State::Known(value));
                Ok(())
            }
            (_, value) => match self.spill(id, span)? {
                Some(bits) => self.store_number(bits, value, span),
                None => self.depends(id, self.place(span), "assigned here"),
            },
        }
    }

    /// The value of an integer that is kept in bits.
    pub(super) fn word_of(&self, id: usize) -> Option<Classical> {
        let Variable { state: State::Bits { bits, signed }, integer: ty @ Some(_), used, .. } =
            &self.variables[id]
        else {
            return None;
        };
        Some(Classical::Word {
            bits: bits.iter().take(*used as usize).collect(),
            signed: *signed,
            ty: *ty,
        })
    }

    pub(super) fn name_of(&self, id: usize) -> String {
        self.name(self.variables[id].name)
    }

    /// The value of a variable, if it is known.
    pub(super) fn variable(&mut self, id: usize, span: Span) -> Lower<Value> {
        match &self.variables[id].state {
            State::Known(value) => Ok(value.clone()),
            State::Empty => {
                let name = self.name(self.variables[id].name);
                let zero = match (self.variables[id].ty.base, self.variables[id].integer) {
                    (BaseType::Bool, _) => Value::Bool(false),
                    (_, Some(ty)) => Value::Int(0, Some(ty)),
                    _ => return self.fail(Problem::Unassigned { name }, span),
                };
                self.warn(Problem::TakenAsZero { name }, span);
                Ok(zero)
            }
            State::Bits { .. } | State::Choice(_) => self.depends(id, self.place(span), ""),
            State::Lost(by) => {
                let name = self.name(self.variables[id].name);
                let (place, by) = (self.place(span), *by);
                let error = Diagnostic::error(Problem::Depends { name }).at(place, "");
                let help = "a number that measurements decide may have at most 1024 values; what a loop assigns that a \
                            measurement ends comes back to few values, or is an integer or an `angle[n]`";
                let help = self.variables[id].chooses().then(|| help.to_owned());
                Err(self.report(error.at(by, "by what is assigned here").maybe_help(help)))
            }
        }
    }

    pub(super) fn depends<T>(&mut self, id: usize, place: Place, label: &str) -> Lower<T> {
        let name = self.name(self.variables[id].name);
        let help =
            "a circuit has fixed gates: this must be known, and cannot depend on what is measured";
        Err(self.report(Diagnostic::error(Problem::Depends { name }).at(place, label).help(help)))
    }

    pub(super) fn set(&mut self, id: usize, state: State) {
        let (guard, mark) = (self.guard, self.mark);
        let before = self.change(id, state);
        if self.variables[id].guard != guard && !self.log[mark..].iter().any(|c| c.variable == id) {
            self.log.push(Change { variable: id, before, guard });
        }
    }

    /// Gives a variable another state.
    pub(super) fn change(&mut self, id: usize, state: State) -> State {
        if self.variables[id].state != state {
            self.remember(id);
        }
        std::mem::replace(&mut self.variables[id].state, state)
    }
}

/// How many bits hold a truth value, or an integer of a type. `None` for other types.
pub(super) fn bits_of_type(ty: &Type, integer: Option<IntType>) -> Option<u32> {
    match (ty.base, &ty.dims) {
        (BaseType::Bool, None) => Some(1),
        _ => integer.map(|ty| ty.bits),
    }
}
