//! Arguments of subroutines, and the parameters that they become.
//!
//! Qubits and `mutable` arrays are passed by reference, parts of arrays by copying in and out, all
//! else by value. A measured value stays in its bits, unless the body writes to the parameter.

use super::{
    Lower, Lowering, Picks, Scope, Value, classical::Classical, names::Entry, select::Along,
    variables::State, walk::assigned,
};
use crate::qasm::{
    ast::{Base, BaseType, Expr, Ident, Parameter, Span, Stmt, Subroutine},
    diagnostic::{Diagnostic, Problem},
};

/// Argument of a call, in terms of the caller.
pub(super) enum Argument {
    Qubits(Picks),
    Classical(Classical),
    /// A variable that is written to.
    Variable(usize),
    /// A part of one, with its value.
    Part(Part, Value),
}

/// Part of an array of the caller that is written to.
pub(super) struct Part {
    whole: usize,
    places: Vec<Along>,
    /// Span of the argument in the call.
    span: Span,
}

/// Variables of a body that hold parts of arrays of the caller.
pub(super) type Parts = Vec<(usize, Part)>;

impl Lowering<'_> {
    /// Evaluates an argument in the scope of the caller.
    pub(super) fn argument(&mut self, arg: &Expr, parameter: &Parameter) -> Lower<Argument> {
        let ty = &parameter.ty;
        if parameter.mutable {
            let named = self.as_operand(arg).and_then(|operand| match operand.base {
                Base::Name(name) => Some((self.names.get(name.symbol)?, name, operand.parts())),
                Base::Hardware(_) => None,
            });
            let Some((&Entry::Variable(id), name, parts)) = named else {
                let (expected, given) =
                    ("an array variable".to_owned(), "another expression".to_owned());
                return self.fail(Problem::Expected { expected, given }, arg.span);
            };
            if self.variables[id].element().base != ty.base {
                let (given, expected) =
                    ("a variable of another type", "elements of the parameter's type");
                let problem =
                    Problem::WrongType { given: given.to_owned(), expected: expected.to_owned() };
                return self.fail(problem, arg.span);
            }
            if parts.is_empty() {
                let value = self.one_of_values(id, arg.span)?;
                self.check_array(parameter, value, arg.span)?;
                return Ok(Argument::Variable(id));
            }
            let value = self.evaluate(arg, Scope::Global)?;
            let value = self.check_array(parameter, value, arg.span)?;
            let (whole, name) = (self.variable(id, arg.span)?, self.name(name.symbol));
            let places = self.places(&whole, &parts, &name, arg.span)?;
            return Ok(Argument::Part(Part { whole: id, places, span: arg.span }, value));
        }
        if ty.base != BaseType::Qubit {
            return self.classical(arg).map(Argument::Classical);
        }
        match self.selection(arg)? {
            Entry::Qubits(picks) => Ok(Argument::Qubits(picks)),
            _ => {
                let (given, expected) = ("bits".to_owned(), "qubits".to_owned());
                self.fail(Problem::WrongType { given, expected }, arg.span)
            }
        }
    }

    /// Checks an array against the type of a parameter.
    fn check_array(&mut self, parameter: &Parameter, value: Value, span: Span) -> Lower<Value> {
        let Some(rank) = &parameter.rank else { return self.cast(&parameter.ty, value, span) };
        let axes = self.integer(rank, "the number of axes")?;
        let mut given = 0i128;
        let mut part = &value;
        while let Value::Array(items) = part {
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
                .fail(Problem::WrongType { given, expected: format!("{axes} of them") }, span);
        }
        Ok(value)
    }

    pub(super) fn distinct_arguments(
        &mut self,
        subroutine: &Subroutine,
        given: &[Argument],
        args: &[Expr],
    ) -> Lower<()> {
        let mut seen = std::collections::HashMap::new();
        for (argument, arg) in given.iter().zip(args) {
            let Argument::Qubits(picks) = argument else { continue };
            self.spend(u64::from(picks.len().unwrap_or(1)), arg.span)?;
            for qubit in picks.iter() {
                if let Some(before) = seen.insert(qubit, arg.span) {
                    let (qubit, gate) = (self.qubit_name(qubit), self.name(subroutine.name.symbol));
                    let (again, first) = (self.place(arg.span), self.place(before));
                    let error = Diagnostic::error(Problem::RepeatedQubit { qubit, gate });
                    return Err(self.report(error.at(again, "again here").at(first, "first here")));
                }
            }
        }
        Ok(())
    }

    /// Copies the final values of the variables out to the parts of arrays that they were copied
    /// from.
    pub(super) fn give_parts(&mut self, parts: Parts) {
        for (id, Part { whole, places, span }) in parts {
            match self.variables.get(id).map(|variable| variable.state.clone()) {
                // An error was reported.
                Some(State::Known(value)) => {
                    let _ = self.assign_part(whole, &places, Classical::Value(value), span);
                }
                Some(State::Choice(choice)) => {
                    let _ = self.assign_part(whole, &places, Classical::Choice(choice), span);
                }
                Some(_) => self.lose(whole, span),
                None => {}
            }
        }
    }

    pub(super) fn bind(
        &mut self,
        argument: Argument,
        parameter: &Parameter,
        body: &[Stmt],
        parts: &mut Parts,
    ) -> Lower<()> {
        let Parameter { ty, name, .. } = parameter;
        let name = *name;
        let size = match &ty.size {
            Some(size) => Some(self.integer(size, "the size of a parameter")?),
            None => None,
        };
        match argument {
            Argument::Qubits(picks) => {
                let given = picks.len().unwrap_or(1);
                if i128::from(given) != size.unwrap_or(1) {
                    let second = u64::try_from(size.unwrap_or(1)).unwrap_or(u64::MAX);
                    return self.fail(
                        Problem::LengthMismatch { first: u64::from(given), second },
                        name.span,
                    );
                }
                self.declare_name(name, Entry::Qubits(shaped(picks, size.is_some())))
            }
            Argument::Classical(Classical::Word { bits, .. }) if ty.base == BaseType::Bit => {
                let (first, second) = (bits.len() as u64, size.unwrap_or(1));
                if i128::from(first) != second {
                    let second = u64::try_from(second).unwrap_or(u64::MAX);
                    return self.fail(Problem::LengthMismatch { first, second }, name.span);
                }
                let given = Picks::List(bits.clone().into());
                if !assigned(body).contains(&name.symbol) {
                    return self.declare_name(name, Entry::Bits(shaped(given, size.is_some())));
                }
                let bits = Classical::register(bits);
                self.bind_copy(bits, name, given.len().unwrap_or(1), size.is_some())
            }
            Argument::Classical(value) if ty.base == BaseType::Bit => match value {
                Classical::Value(value) if !assigned(body).contains(&name.symbol) => {
                    let value = self.cast(ty, value, name.span)?;
                    self.declare_name(name, Entry::Const(value))
                }
                value => {
                    let size_of = u32::try_from(size.unwrap_or(1)).unwrap_or(u32::MAX);
                    self.bind_copy(value, name, size_of, size.is_some())
                }
            },
            Argument::Classical(Classical::Value(value)) if ty.dims.is_some() => {
                let value = self.check_array(parameter, value, name.span)?;
                self.declare_name(name, Entry::Const(value))
            }
            Argument::Classical(Classical::Choice(choice)) if ty.dims.is_some() => {
                let one = choice.values.iter().find(|value| matches!(value, Value::Array(_)));
                if let Some(value) = one.cloned() {
                    self.check_array(parameter, value, name.span)?;
                }
                let id = self.new_variable(name, ty, None)?;
                let choice = self.kept_choice(choice, self.variables[id].depth, name.span)?;
                self.set(id, State::Choice(choice));
                self.declare_name(name, Entry::Variable(id))
            }
            Argument::Variable(id) => self.declare_name(name, Entry::Variable(id)),
            Argument::Part(part, value) => {
                let id = self.new_variable(name, ty, None)?;
                self.set(id, State::Known(value));
                parts.push((id, part));
                self.declare_name(name, Entry::Variable(id))
            }
            Argument::Classical(value) => self.declare_variable(name, ty, Some((value, name.span))),
        }
    }

    /// Binds a parameter to a copy in bits of its own.
    fn bind_copy(&mut self, value: Classical, name: Ident, size: u32, many: bool) -> Lower<()> {
        let bits = self.hidden_bits(size, self.locals.len(), name.span)?;
        self.store(bits.clone(), value, name.span, name.span, true)?;
        self.declare_name(name, Entry::Bits(shaped(bits, many)))
    }
}

/// Returns a single bit instead of a list of one, unless the parameter is a register.
fn shaped(picks: Picks, many: bool) -> Picks {
    match (picks, many) {
        (Picks::One(one), true) => Picks::Range { first: one, step: 1, len: 1 },
        (picks, false) => Picks::One(picks.get(0)),
        (picks, true) => picks,
    }
}
