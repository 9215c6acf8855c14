//! Gate definitions.
//!
//! A body is checked at its definition and kept as [`Step`]s, whose arguments are values over the
//! gate's own parameters (parameter k is `ParamId::new(k)`). Its size after expansion is stored
//! with it, so that the size of any call is known without expanding anything: a tower of 50 gates
//! that each call the one below twice has a size of 2^50, found in 50 additions.
//!
//! Invariants: a step calls only gates defined before; steps of size 0 are left out, so an
//! expansion takes time in proportion to its size; definitions nest at most [`MAX_DEPTH`] deep.

use std::{collections::HashMap, sync::Arc};

use super::{
    Lower, Lowering, Scope, Stop, Value,
    call::Resolved,
    flow::index_span,
    instantiate::instantiate,
    names::{Callee, Entry, GateEntry},
    power::{self, Exponent},
};
use crate::{
    circuit::Qubits,
    gate::GateKind,
    param::{self, Angle},
    qasm::{
        Version,
        ast::{
            Base, ForLoop, GateDef, Ident, Operand, Place, Select, Span, Stmt, StmtKind, Symbol,
        },
        diagnostic::{Diagnostic, Problem},
        parser::MAX_DEPTH,
    },
};

/// Status of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Sound,
    /// With an error, which was reported.
    Broken,
    /// Declared without a body.
    Opaque,
}

/// Lowered definition of a gate of the source.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) name: Symbol,
    /// The names of its parameters and of its qubits.
    pub(super) params: Arc<[Symbol]>,
    pub(super) qubits: Arc<[Symbol]>,
    pub(super) body: Vec<Step>,
    /// Operations after expansion, saturating.
    pub(super) size: u64,
    depth: usize,
    /// True if parameters are exponents in it.
    pub(super) open: bool,
    pub(super) place: Place,
    pub(super) state: State,
}

/// Statement of a body, on qubits of the gate by position.
#[derive(Debug)]
pub(super) enum Step {
    Call {
        gate: Resolved,
        qubits: Qubits,
        span: Span,
    },
    Barrier(Qubits),
    /// In OpenQASM 2 only, where a gate with it has no inverse.
    Reset(Qubits),
}

impl Definition {
    /// Returns true if its effect depends on the k-th parameter.
    pub(super) fn uses(&self, k: usize) -> bool {
        let is_it = |angle: &Angle| angle.terms().iter().any(|(id, _)| id.index() == k);
        let depends = |value: &Value| match value {
            Value::Angle(angle) => is_it(angle),
            Value::Expr(expr) => {
                expr.steps().iter().any(|s| matches!(s, param::Step::Angle(a) if is_it(a)))
            }
            _ => false,
        };
        self.open
            || self.body.iter().any(|step| match step {
                Step::Call { gate, .. } => gate.args.iter().any(depends),
                Step::Barrier(_) | Step::Reset(_) => false,
            })
    }
}

type Locals = HashMap<Symbol, u32>;

/// Context of the statements of a definition.
#[derive(Clone, Copy)]
struct Within<'a> {
    gate: &'a GateDef,
    qubits: &'a Locals,
    /// All statements of the file.
    all: &'a [Stmt],
}

impl Lowering<'_> {
    pub(super) fn define(&mut self, gate: &GateDef, span: Span, all: &[Stmt]) -> Lower<()> {
        let place = self.place(gate.name.span);
        if let Some(GateEntry::Own(_, before) | GateEntry::Subroutine(_, before)) =
            self.gates.get(gate.name.symbol)
            && before.source == place.source
        {
            let twice =
                Diagnostic::error(Problem::DeclaredTwice { name: self.name(gate.name.symbol) });
            return Err(self.report(twice.at(place, "again here").at(before, "defined here")));
        }
        let mut definition = Definition {
            name: gate.name.symbol,
            params: gate.params.iter().map(|name| name.symbol).collect(),
            qubits: gate.qubits.iter().map(|name| name.symbol).collect(),
            body: Vec::new(),
            size: 0,
            depth: 1,
            open: false,
            place,
            state: State::Sound,
        };
        let result = self.define_body(gate, &mut definition, all, span);
        if result.is_err() {
            definition.state = State::Broken;
        } else if gate.body.is_none() {
            definition.state = State::Opaque;
        }
        self.warn_of_phase(&definition);
        let callee = Callee::Defined(self.definitions.len());
        self.definitions.push(definition);
        self.gates.insert(gate.name.symbol, GateEntry::Own(callee, place));
        result
    }

    /// Warns of `gate CX c, t { ctrl @ U(pi, 0, pi) c, t; }`, which old files have, written for
    /// another `U`.
    fn warn_of_phase(&mut self, definition: &Definition) {
        let name = self.name(definition.name);
        let [Step::Call { gate, span, .. }] = definition.body.as_slice() else { return };
        let x = [Angle::pi(1, 1), Angle::zero(), Angle::pi(1, 1)].map(Some);
        let phased = gate.callee == Callee::Table(GateKind::U, 0)
            && gate.args.iter().map(Value::angle).eq(x)
            && gate
                .modifiers
                .as_ref()
                .is_some_and(|m| m.controls == [true] && m.exponents.is_empty());
        if name.eq_ignore_ascii_case("cx") && self.version == Version::V3 && phased {
            let (place, help) = (
                self.place(*span),
                "`cx` of stdgates.inc is: include it, or end the body with `inv @ s c;`",
            );
            let problem = Problem::PhasedCnot { name };
            self.warning(Diagnostic::warning(problem).at(place, "").help(help));
        }
    }

    fn define_body(
        &mut self,
        gate: &GateDef,
        into: &mut Definition,
        all: &[Stmt],
        span: Span,
    ) -> Lower<()> {
        let params = self.locals(&gate.params)?;
        let qubits = self.locals(&gate.qubits)?;
        if gate.qubits.is_empty() {
            let (expected, given) = ("a qubit".to_owned(), "none".to_owned());
            return self.fail(Problem::Expected { expected, given }, gate.name.span);
        }
        let within = Within { gate, qubits: &qubits, all };
        let mut result = Ok(());
        for statement in gate.body.iter().flat_map(|b| b.iter()) {
            if let Err(Stop) = self.step(statement, within, &params, into) {
                result = Err(Stop);
            }
        }
        if into.depth > MAX_DEPTH {
            return self.fail(Problem::TooDeep { limit: MAX_DEPTH }, gate.name.span.to(span));
        }
        result
    }

    /// Numbers the names in order.
    fn locals(&mut self, names: &[Ident]) -> Lower<Locals> {
        let mut locals = Locals::with_capacity(names.len());
        for (name, number) in names.iter().zip(0..) {
            if locals.insert(name.symbol, number).is_some() {
                let name_text = self.name(name.symbol);
                return self.fail(Problem::DeclaredTwice { name: name_text }, name.span);
            }
        }
        Ok(locals)
    }

    fn step(
        &mut self,
        statement: &Stmt,
        within: Within<'_>,
        params: &Locals,
        into: &mut Definition,
    ) -> Lower<()> {
        let Within { gate, qubits, all } = within;
        let span = statement.span;
        let (size, step) = match &statement.kind {
            StmtKind::Call(call) => {
                let phase = self.phase_alone(call);
                if phase.is_some() {
                    self.local_qubits(&call.operands, qubits, Some(call.name))?;
                }
                let call = phase.as_ref().unwrap_or(call);
                let resolved = self.resolve(call, None, Scope::Gate(params), Some(gate.name), all);
                let picked = self.local_qubits(&call.operands, qubits, Some(call.name));
                let (gate, qubits) = (resolved?, picked?);
                let exponents = gate.modifiers.as_ref().map_or(&[][..], |m| &m.exponents);
                let size = self.size(gate.callee, exponents);
                into.open |= exponents.iter().any(|e| matches!(e, Exponent::Open(_)));
                if let Callee::Defined(number) = gate.callee {
                    into.depth = into.depth.max(1 + self.definitions[number].depth);
                    into.open |= self.definitions[number].open;
                }
                (size, Step::Call { gate, qubits, span })
            }
            StmtKind::Barrier(operands) => {
                let mut picked = self.local_qubits(operands, qubits, None)?;
                if operands.is_empty() {
                    picked = (0..).take(qubits.len()).collect();
                }
                (picked.len() as u64, Step::Barrier(picked))
            }
            StmtKind::Reset(operand) if self.version == Version::V2 => {
                let picked = self.local_qubits(std::slice::from_ref(&**operand), qubits, None)?;
                self.warn(Problem::ResetInGate, span);
                (picked.len() as u64, Step::Reset(picked))
            }
            StmtKind::Empty | StmtKind::Nop => return Ok(()),
            StmtKind::Pragma(None) => return self.ignored("a pragma", span),
            StmtKind::Pragma(Some(_)) => {
                let place = self.place(span);
                let help =
                    "put the pragma behind the calls of the gate, or make the gate a subroutine";
                return Err(
                    self.report(Diagnostic::error(Problem::NotInGate).at(place, "").help(help))
                );
            }
            StmtKind::Annotation => return self.ignored("an annotation", span),
            StmtKind::For(f) => return self.gate_loop(f, span, within, params, into),
            StmtKind::While(_) => return self.refuse("`while` in a gate definition", span),
            StmtKind::If(_) => return self.refuse("`if` in a gate definition", span),
            _ => return self.fail(Problem::NotInGate, span),
        };
        into.size = into.size.saturating_add(size);
        if size > 0 {
            into.body.push(step);
        }
        Ok(())
    }

    /// Returns the definition specialized to the arguments that are exponents in it. It takes all
    /// parameters still.
    pub(super) fn specialized(
        &mut self,
        number: usize,
        args: &[Value],
        span: Span,
    ) -> Lower<usize> {
        let key = format!("{number} {args:?}");
        if let Some(&known) = self.special.get(&key) {
            return Ok(known);
        }
        let Definition { name, depth, place, state, .. } = self.definitions[number];
        let (params, qubits) = (&self.definitions[number].params, &self.definitions[number].qubits);
        let (params, qubits) = (Arc::clone(params), Arc::clone(qubits));
        let (mut body, mut size) = (Vec::new(), 0u64);
        for at in 0..self.definitions[number].body.len() {
            self.count_step(span)?;
            let (more, step) = match &self.definitions[number].body[at] {
                Step::Barrier(qubits) => (qubits.len() as u64, Step::Barrier(qubits.clone())),
                Step::Reset(qubits) => (qubits.len() as u64, Step::Reset(qubits.clone())),
                Step::Call { gate, qubits, span: own } => {
                    let (mut gate, qubits, own) = (gate.clone(), qubits.clone(), *own);
                    let exponents = gate
                        .modifiers
                        .as_mut()
                        .map(|m| std::mem::take(&mut m.exponents))
                        .unwrap_or_default();
                    if self.stay_open(&exponents, args, span)? {
                        self.raise_open(&mut gate, &exponents, span)?;
                    } else if let Some(modifiers) = &mut gate.modifiers {
                        for exponent in exponents {
                            let exponent = self.closed(exponent, args, span)?;
                            let composed = power::compose(&mut modifiers.exponents, exponent);
                            self.check(composed, span)?;
                        }
                    }
                    if let Callee::Defined(inner) = gate.callee
                        && self.definitions[inner].open
                    {
                        let inner_args = gate.args.iter().map(|arg| instantiate(arg, args));
                        let inner_args =
                            self.check(inner_args.collect::<Result<Vec<_>, _>>(), span)?;
                        gate.callee =
                            Callee::Defined(self.specialized(inner, &inner_args, span)?);
                    }
                    let exponents = gate.modifiers.as_ref().map_or(&[][..], |m| &m.exponents);
                    (self.size(gate.callee, exponents), Step::Call { gate, qubits, span: own })
                }
            };
            size = size.saturating_add(more);
            if more > 0 {
                body.push(step);
            }
        }
        let special = self.definitions.len();
        let open = false;
        self.definitions.push(Definition {
            name,
            params,
            qubits,
            body,
            size,
            depth,
            open,
            place,
            state,
        });
        self.special.insert(key, special);
        Ok(special)
    }

    /// Returns true if an exponent still has parameters after the arguments are substituted.
    fn stay_open(&mut self, exponents: &[Exponent], args: &[Value], span: Span) -> Lower<bool> {
        for exponent in exponents {
            let Exponent::Open(number) = exponent else { continue };
            let template = self.exponents.get(*number).cloned().unwrap_or(Value::int(1));
            let value = self.check(instantiate(&template, args), span)?;
            if value.is_real() && value.constant().is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Substitutes arguments in an exponent.
    fn closed(&mut self, exponent: Exponent, args: &[Value], span: Span) -> Lower<Exponent> {
        let Exponent::Open(number) = exponent else { return Ok(exponent) };
        let template = self.exponents.get(number).cloned().unwrap_or(Value::int(1));
        let value = self.check(instantiate(&template, args), span)?;
        let exponent = Exponent::new(&value, value.is_real());
        self.check(exponent, span)
    }

    /// Unrolls a loop over constants.
    fn gate_loop(
        &mut self,
        f: &ForLoop,
        span: Span,
        within: Within<'_>,
        params: &Locals,
        into: &mut Definition,
    ) -> Lower<()> {
        let ForLoop { ty, name, over, body } = f;
        // A name of the loop hides one of the gate.
        let hiding = params.contains_key(&name.symbol);
        let inner = hiding
            .then(|| params.iter().map(|(s, k)| (*s, *k)).filter(|p| p.0 != name.symbol).collect());
        let shown = inner.as_ref().unwrap_or(params);
        for (value, at) in self.range(over, Scope::Gate(params))?.values(index_span(over)) {
            self.count_step(span)?;
            let value = self.cast(ty, value, at)?;
            self.names.enter();
            let mut result = self.declare_name(*name, Entry::Const(value));
            for statement in body.iter() {
                if result.is_ok() {
                    result = self
                        .count_step(span)
                        .and_then(|()| self.step(statement, within, shown, into));
                }
            }
            self.names.leave();
            result?;
        }
        Ok(())
    }

    /// The positions of qubits of the gate.
    fn local_qubits(
        &mut self,
        operands: &[Operand],
        locals: &Locals,
        gate: Option<Ident>,
    ) -> Lower<Qubits> {
        let mut picked: Qubits = Qubits::with_capacity(operands.len());
        let mut seen = HashMap::new();
        for operand in operands {
            let number = self.local_qubit(operand, locals)?;
            if operands.len() > 1
                && let Some(first) = seen.insert(number, operand.span)
            {
                // A barrier may well name a qubit twice.
                let Some(gate) = gate else { continue };
                let (qubit, gate) = (self.text(operand.span).to_owned(), self.name(gate.symbol));
                let (again, first) = (self.place(operand.span), self.place(first));
                let error = Diagnostic::error(Problem::RepeatedQubit { qubit, gate });
                return Err(self.report(error.at(again, "again here").at(first, "first here")));
            }
            picked.push(number);
        }
        Ok(picked)
    }

    fn local_qubit(&mut self, operand: &Operand, locals: &Locals) -> Lower<u32> {
        let Base::Name(name) = operand.base else {
            return self.fail(Problem::NotInGate, operand.span);
        };
        match (locals.get(&name.symbol), &operand.select) {
            (Some(&number), Select::All) => Ok(number),
            (Some(_), _) => {
                let name = self.name(name.symbol);
                self.fail(Problem::NotIndexable { name, what: "qubit" }, operand.span)
            }
            (None, _) => {
                let place = self.place(name.span);
                let text = self.name(name.symbol);
                let known: Vec<String> = locals.keys().map(|&s| self.name(s)).collect();
                let help = match super::names::nearest(&text, known.iter().map(String::as_str)) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => {
                        "a gate definition sees only the qubits that it names itself".to_owned()
                    }
                };
                let error = Diagnostic::error(Problem::UnknownName { name: text });
                Err(self.report(error.at(place, "").help(help)))
            }
        }
    }
}
