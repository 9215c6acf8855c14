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
//! What is assigned under a condition on bits is known within that branch. Behind it, where the branches do
//! not agree, a truth value or an integer goes to hidden bits, and any other number becomes a `choice`; any other variable
//! is lost, and reading it is an error.
//!
//! Invariant: `log[mark..]` has each variable once that has changed since the innermost open branch
//! began, with its state at that beginning; variables declared in the branch itself are not in it.

use std::rc::Rc;

use super::{
    Guard, Item, Lower, Lowering, Picks, Planned, Register, Stop, Value,
    choice::Choice,
    classical::Classical,
    integer::{IntType, with_sign},
    names::Entry,
    turn::Turn,
};
use crate::{
    circuit::Condition,
    qasm::{
        ast::{BaseType, Ident, Place, Span, Symbol, Type},
        diagnostic::{Diagnostic, Problem},
    },
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
    name: Symbol,
    ty: Rc<Type>,
    /// The type of an integer.
    pub(super) integer: Option<IntType>,
    /// How many bits hold it, if some do; and of how many its value is made, the last a sign if it has one. The others are
    /// as that sign, or 0.
    n_bits: Option<u32>,
    pub(super) used: u32,
    pub(super) state: State,
    /// Where it was declared: in how many scopes, and in which branch.
    pub(super) depth: usize,
    guard: Option<Guard>,
}

impl Variable {
    /// The type of its elements, if it is an array; else its own.
    pub(super) fn element(&self) -> Type {
        Type { dims: None, ..(*self.ty).clone() }
    }

    pub(super) fn is_angle(&self) -> bool {
        self.ty.base == BaseType::Angle && !self.is_array()
    }

    /// Whether it is a number that no bits hold, or an array: one of some values where it depends on a measurement.
    pub(super) fn chooses(&self) -> bool {
        self.is_array() || matches!(self.ty.base, BaseType::Float | BaseType::Angle) && self.n_bits.is_none()
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
    variable: usize,
    before: State,
    /// What the branch runs under.
    guard: Option<Guard>,
}

/// What goes with a scope.
#[derive(Clone, Debug)]
pub(super) struct Local {
    /// How many variables there are outside.
    variables: usize,
    /// Hidden bits that are free again behind it: the first, and how many.
    bits: Vec<(u32, u32)>,
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

    /// Some hidden bits, all 0, until the scope with this number ends; number 0 is nobody's.
    pub(super) fn hidden_bits(&mut self, size: u32, depth: usize, span: Span) -> Lower<Picks> {
        match self.spare.get_mut(&size).and_then(Vec::pop) {
            Some(first) => Ok(self.until_scope(first, size, depth)),
            None => self.unused_bits(size, depth, span),
        }
    }

    /// The same, of which none was in use before.
    pub(super) fn unused_bits(&mut self, size: u32, depth: usize, span: Span) -> Lower<Picks> {
        let first = self.n_bits;
        if first.checked_add(size).is_none() {
            let (given, limit) = (u64::from(first) + u64::from(size), u64::from(u32::MAX));
            return self.fail(Problem::TooManyQubits { given, limit }, span);
        }
        self.n_bits += size;
        self.bits.push(Register { name: None, first, size, single: false, output: false });
        Ok(self.until_scope(first, size, depth))
    }

    fn until_scope(&mut self, first: u32, size: u32, depth: usize) -> Picks {
        if let Some(local) = depth.checked_sub(1).and_then(|at| self.locals.get_mut(at)) {
            local.bits.push((first, size));
        }
        Picks::Range { first, step: 1, len: size }
    }

    /// One of many hidden bits, 0, until the scope ends.
    pub(super) fn scratch_bit(&mut self, span: Span) -> Lower<u32> {
        // Together they take one register.
        const AT_ONCE: u32 = 32;
        if self.spare.get(&1).is_none_or(Vec::is_empty) {
            let many = self.hidden_bits(AT_ONCE, 0, span)?;
            self.spare.entry(1).or_default().extend(many.iter());
        }
        Ok(self.hidden_bits(1, self.locals.len(), span)?.get(0))
    }

    /// Hidden bits are 0 again and may be used by others.
    pub(super) fn clear(&mut self, first: u32, size: u32) {
        let place = self.place(Span::default());
        let bits = Picks::Range { first, step: 1, len: size };
        self.count = self.count.saturating_add(u64::from(size));
        let item = Item::Assign { bits, values: vec![false; size as usize].into(), place };
        self.plan.push(Planned { item, guard: None });
        self.spare.entry(size).or_default().push(first);
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
        let integer = self.integer_type(ty)?;
        let n_bits = match (ty.base, &ty.size, &ty.dims) {
            (BaseType::Angle, Some(size), None) => {
                u32::try_from(self.integer(size, "the width of a type")?).ok()
            }
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
            Classical::Word { ty: Some(_), .. } | Classical::Truth(_) if self.variables[id].is_angle() => {
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
                let (first, second) = (bits.len() as u64, u64::from(self.variables[id].n_bits.unwrap_or(0)));
                if first != second {
                    return self.fail(Problem::LengthMismatch { first, second }, span);
                }
                Classical::register(bits)
            }
            other => other,
        };
        if matches!(self.variables[id].state, State::Bits { .. }) || !matches!(value, Classical::Value(_)) {
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
        Some(Classical::Word { bits: bits.iter().take(*used as usize).collect(), signed: *signed, ty: *ty })
    }

    pub(super) fn name_of(&self, id: usize) -> String {
        self.name(self.variables[id].name)
    }

    /// From here on a variable in bits may be made of more of them.
    fn use_digits(&mut self, id: usize, digits: u32) {
        let variable = &mut self.variables[id];
        variable.used = variable.used.max(digits).min(variable.n_bits.unwrap_or(0)).max(1);
    }

    /// All its bits count.
    pub(super) fn use_all_digits(&mut self, id: usize) {
        self.use_digits(id, u32::MAX);
    }

    /// A variable in bits gets a value.
    fn use_digits_of(&mut self, id: usize, value: &Classical) {
        let unsigned = self.variables[id].integer.is_some_and(|ty| ty.unsigned);
        let digits = match value {
            Classical::Value(value) => digits_needed(value, unsigned),
            Classical::Truth(_) => 2,
            Classical::Word { signed: true, .. } if unsigned => u32::MAX,
            Classical::Word { bits, signed, .. } => {
                let n = u32::try_from(bits.len()).unwrap_or(u32::MAX);
                n.saturating_add(u32::from(!signed && !unsigned))
            }
            Classical::Turn(_) | Classical::Digits { .. } | Classical::Choice(_) => u32::MAX,
        };
        self.use_digits(id, digits);
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
                            measurement ends may be an integer or an `angle[n]`";
                let help = self.variables[id].chooses().then(|| help.to_owned());
                Err(self.report(error.at(by, "by what is assigned here").maybe_help(help)))
            }
        }
    }

    pub(super) fn depends<T>(&mut self, id: usize, place: Place, label: &str) -> Lower<T> {
        let name = self.name(self.variables[id].name);
        let help = "a circuit has fixed gates: this must be known, and cannot depend on what is measured";
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
    fn change(&mut self, id: usize, state: State) -> State {
        if self.variables[id].state != state {
            self.remember(id);
        }
        std::mem::replace(&mut self.variables[id].state, state)
    }

    /// Moves a variable to hidden bits. `None` if it has no type for that, or is lost somewhere.
    pub(super) fn spill(&mut self, id: usize, span: Span) -> Lower<Option<Picks>> {
        let Variable { ty, n_bits, state, depth, guard, .. } = &self.variables[id];
        let Some(size) = *n_bits else { return Ok(None) };
        // Its value where it was declared, for what comes to none of the branches around that changed it; then in each
        // of these, from the outermost on; and now.
        let mut values: Vec<(State, Option<Guard>)> = Vec::new();
        let mut around = *guard;
        for change in self.log.iter().filter(|c| c.variable == id) {
            values.push((change.before.clone(), around));
            around = change.guard;
        }
        values.push((state.clone(), around));
        // And those of who has left something around.
        let exits = self.states_where_left(id);
        let states = || values.iter().map(|(state, _)| state).chain(exits.iter().map(|exit| &exit.2));
        let kept = |state: &State| match state {
            State::Empty => true,
            State::Known(value) => {
                matches!(value, Value::Bool(_) | Value::Int(..) | Value::Turn(Turn::Bits { .. }))
            }
            State::Bits { .. } | State::Choice(_) | State::Lost(_) => false,
        };
        if !states().all(kept) {
            return Ok(None);
        }
        let (depth, signed) = (*depth, ty.base == BaseType::Int);
        // Without a size it was known beyond the bits that it gets now.
        let held = |state: &State| match state {
            State::Known(Value::Int(i, Some(ty))) => ty.holds(*i),
            _ => true,
        };
        if !states().all(held) {
            let what = format!("an integer that depends on a measurement and is more than {size} bits long");
            return self.fail(Problem::IntegerOverflow { what }, span);
        }
        let unsigned = self.variables[id].integer.is_some_and(|ty| ty.unsigned);
        let needed = |state: &State| match state {
            State::Known(value) => digits_needed(value, unsigned),
            _ => 1,
        };
        let used =
            values.iter().map(|(state, _)| state).chain(exits.iter().map(|exit| &exit.2)).map(needed).max();
        self.use_digits(id, used.unwrap_or(u32::MAX));
        // Bits that get values before this place must have been in no other use.
        let bits = match exits.is_empty() {
            true => self.hidden_bits(size, depth, span)?,
            false => self.unused_bits(size, depth, span)?,
        };
        for (frame, exit, state) in exits {
            if let State::Known(value) = state
                && let (bits, Some(ones)) = ones(&bits, &digits(&value, size))
            {
                self.add_count(u64::from(size), span);
                self.fill_where_left(frame, exit, &bits, ones);
            }
        }
        for (at, (state, guard)) in values.into_iter().enumerate() {
            if let State::Known(value) = state {
                let guard = self.guard_stayed(id, guard, span)?;
                self.fill(&bits, &value, guard, at == 0, span);
            }
        }
        self.variables[id].state = State::Bits { bits: bits.clone(), signed };
        Ok(Some(bits))
    }

    /// Bits get a number under a guard. Fresh ones are 0.
    fn fill(&mut self, bits: &Picks, value: &Value, guard: Option<Guard>, fresh: bool, span: Span) {
        let digits = digits(value, bits.len().unwrap_or(1));
        self.fill_digits(bits, &digits, guard, fresh, span);
    }

    /// Bits get digits, least significant first; those that are missing are 0.
    pub(super) fn fill_digits(
        &mut self,
        bits: &Picks,
        digits: &[bool],
        guard: Option<Guard>,
        fresh: bool,
        span: Span,
    ) {
        let size = bits.len().unwrap_or(1);
        self.add_count(u64::from(size), span);
        // What is planned takes memory, so it must have been counted.
        if self.passed.is_some() {
            return;
        }
        let (bits, values) = if fresh {
            ones(bits, digits)
        } else {
            let digit = |at| digits.get(at).copied().unwrap_or(false);
            (bits.clone(), Some((0..size as usize).map(digit).collect()))
        };
        if let Some(values) = values {
            self.plan.push(Planned { item: Item::Assign { bits, values, place: self.place(span) }, guard });
        }
    }

    /// Bits, or copies of them where some would be written before they are read.
    pub(super) fn apart(&mut self, bits: Vec<u32>, into: &Picks, span: Span) -> Lower<Vec<u32>> {
        let written = |(at, &bit): (u32, &u32)| into.get(at) != bit && into.contains(bit);
        if !(0..).zip(&bits).any(written) {
            return Ok(bits);
        }
        let copies =
            self.hidden_bits(u32::try_from(bits.len()).unwrap_or(u32::MAX), self.locals.len(), span)?;
        for (copy, bit) in copies.iter().zip(bits) {
            self.store_truth(copy, Condition::Bit { bit, value: true }, span, true)?;
        }
        Ok(copies.iter().collect())
    }

    /// Hidden bits get a number: a known one, or that of other bits.
    pub(super) fn store_number(&mut self, into: Picks, value: Classical, span: Span) -> Lower<()> {
        let size = into.len().unwrap_or(1);
        let (mut from, signed) = match value {
            Classical::Value(value) => {
                self.fill(&into, &value, self.guard, false, span);
                return Ok(());
            }
            Classical::Truth(condition) => {
                self.store_truth(into.get(0), condition, span, false)?;
                (Vec::new(), false)
            }
            Classical::Word { bits, ty: None, .. } if bits.len() > size as usize => {
                let (first, second) = (bits.len() as u64, u64::from(size));
                return self.fail(Problem::LengthMismatch { first, second }, span);
            }
            Classical::Word { bits, signed, .. } => (bits, signed),
            Classical::Turn(bits) => (bits, false),
            Classical::Digits { .. } | Classical::Choice(_) => return self.refuse("this assignment", span),
        };
        from.truncate(size as usize);
        let from = self.apart(from, &into, span)?;
        for (at, &bit) in (0..size).zip(&from) {
            self.copy_bit(bit, into.get(at), span)?;
        }
        // A truth value is one bit, and was stored.
        let known = u32::try_from(from.len().max(1)).unwrap_or(size);
        for at in known..size {
            match from.last().filter(|_| signed) {
                Some(&bit) => self.copy_bit(bit, into.get(at), span)?,
                None => self.fill(&Picks::One(into.get(at)), &Value::Bool(false), self.guard, false, span),
            }
        }
        Ok(())
    }

    fn copy_bit(&mut self, from: u32, into: u32, span: Span) -> Lower<()> {
        if from == into {
            return Ok(());
        }
        self.store_truth(into, Condition::Bit { bit: from, value: true }, span, false)
    }

    /// Ends a branch: what it changed, and back to the states before it.
    pub(super) fn end_branch(&mut self) -> Ends {
        let changes: Vec<Change> = self.log.drain(self.mark..).collect();
        let mut ends = Ends::new();
        for Change { variable, before, .. } in changes {
            // Hidden bits have the value in every branch.
            if self.variables.get(variable).is_some_and(|v| !matches!(v.state, State::Bits { .. })) {
                let end = self.change(variable, before);
                ends.push((variable, end));
            }
        }
        ends
    }

    /// Goes on behind two branches, with the states at their ends.
    pub(super) fn merge(&mut self, ends: [&Ends; 2], sides: [Option<Guard>; 2], span: Span) -> Lower<()> {
        let mut ids: Vec<usize> = ends.iter().flat_map(|ends| ends.iter().map(|end| end.0)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|&id| id < self.variables.len());
        for id in ids {
            let before = self.variables[id].state.clone();
            let [a, b] = ends.map(|ends| {
                ends.iter().find(|end| end.0 == id).map_or_else(|| before.clone(), |end| end.1.clone())
            });
            if a == b {
                self.set(id, a);
                continue;
            }
            let lost = [&a, &b].into_iter().any(|s| matches!(s, State::Lost(_)));
            if self.variables[id].chooses() {
                match self.either([&a, &b], sides, self.variables[id].depth, span)? {
                    Some(state) => self.set(id, state),
                    None => self.lose(id, span),
                }
                continue;
            }
            let bits = match &before {
                _ if lost => None,
                // One branch moved it to bits; the other ended with a value of its own.
                State::Bits { bits, .. } => Some(bits.clone()),
                _ => self.spill(id, span)?,
            };
            let Some(bits) = bits else {
                self.lose(id, span);
                continue;
            };
            for (end, side) in [a, b].into_iter().zip(sides) {
                if end != before {
                    self.fill_side(id, &bits, &end, side, span)?;
                }
            }
        }
        Ok(())
    }

    /// Bits get the state at the end of a branch, where nothing was left.
    fn fill_side(
        &mut self,
        id: usize,
        bits: &Picks,
        end: &State,
        side: Option<Guard>,
        span: Span,
    ) -> Lower<()> {
        if let State::Known(value) = end {
            self.use_digits_of(id, &Classical::Value(value.clone()));
            let guard = self.guard_stayed(id, side, span)?;
            self.fill(bits, value, guard, false, span);
        }
        Ok(())
    }

    /// Goes on behind a branch whose other side was left.
    pub(super) fn adopt(&mut self, ends: Ends, side: Option<Guard>, span: Span) -> Lower<()> {
        for (id, state) in ends {
            match self.variables.get(id).map(|variable| &variable.state) {
                // The side that was left moved it to bits.
                Some(State::Bits { bits, .. }) => {
                    let bits = bits.clone();
                    self.fill_side(id, &bits, &state, side, span)?;
                }
                Some(_) => self.set(id, state),
                None => {}
            }
        }
        Ok(())
    }

    /// From here on a variable depends on bits.
    pub(super) fn lose(&mut self, id: usize, span: Span) {
        let place = self.place(span);
        if id < self.variables.len() {
            self.set(id, State::Lost(place));
        }
    }
}

/// How many bits hold a truth value, or an integer of a type. `None` for other types.
pub(super) fn bits_of_type(ty: &Type, integer: Option<IntType>) -> Option<u32> {
    match (ty.base, &ty.dims) {
        (BaseType::Bool, None) => Some(1),
        _ => integer.map(|ty| ty.bits),
    }
}

/// How many bits a number is made of, with a sign unless it is of a type that has none.
fn digits_needed(value: &Value, unsigned: bool) -> u32 {
    match value {
        Value::Bool(_) => 1,
        Value::Int(i @ ..0, _) if unsigned && *i < 0 => u32::MAX,
        Value::Int(i, _) if unsigned => with_sign(*i).saturating_sub(1),
        Value::Int(i, _) => with_sign(*i),
        _ => u32::MAX,
    }
}

/// The bits of a truth value or an integer, in two's complement.
fn digits_of(value: &Value) -> u128 {
    match value {
        Value::Bool(holds) => u128::from(*holds),
        Value::Int(i, _) => i.cast_unsigned(),
        Value::Bits { bits, .. } | Value::Turn(Turn::Bits { bits, .. }) => *bits,
        _ => 0,
    }
}

/// The lowest `size` of these, least significant first.
fn digits(value: &Value, size: u32) -> Vec<bool> {
    let number = digits_of(value);
    (0..size).map(|at| number >> at & 1 == 1).collect()
}

/// Those of some bits whose digits are 1, with as many ones; nothing without any.
pub(super) fn ones(bits: &Picks, digits: &[bool]) -> (Picks, Option<Box<[bool]>>) {
    let all = bits.iter().zip(digits).filter(|(_, one)| **one).map(|(bit, _)| bit);
    let all: Rc<[u32]> = all.collect();
    let values = (!all.is_empty()).then(|| vec![true; all.len()].into());
    (Picks::List(all), values)
}
