//! Gate definitions.
//!
//! A body is checked at its definition and kept as [`GateBodyStep`]s, whose arguments are values
//! over the gate's own parameters (parameter k is `ParamId::new(k)`). Its size after expansion is
//! stored with it, so that the size of any call is known without expanding anything: a tower of 50
//! gates that each call the one below twice has a size of 2^50, found in 50 additions.
//!
//! Invariants: a step calls only gates defined before; steps of size 0 are left out, so an
//! expansion takes time in proportion to its size; definitions nest at most [`MAX_DEPTH`] deep.

use std::{collections::HashMap, sync::Arc};

use super::{
    ErrorReported, ExprScope, Lower, QasmLowering, QasmValue,
    call::Resolved,
    flow::index_span,
    instantiate::instantiate,
    names::{GateCallee, GateEntry, SymbolEntry},
    power::{self, Exponent},
};
use crate::{
    circuit::Qubits,
    gate::GateKind,
    notation::{did_you_mean, nearest_name},
    param::{self, Angle},
    qasm::{
        Version,
        ast::{
            FileSpan, ForLoop, GateDef, Ident, InternedName, OperandBase, QasmOperand, QasmSpan,
            QasmStmt, QasmStmtKind, Select,
        },
        diagnostic::{Diagnostic, QasmProblem},
        parser::MAX_DEPTH,
    },
};

/// Status of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefinitionStatus {
    Sound,
    /// With an error, which was reported.
    Broken,
    /// Declared without a body.
    Opaque,
}

/// Lowered definition of a gate of the source.
#[derive(Debug)]
pub(super) struct GateTemplate {
    pub(super) name: InternedName,
    /// The names of its parameters and of its qubits.
    pub(super) params: Arc<[InternedName]>,
    pub(super) qubits: Arc<[InternedName]>,
    pub(super) body: Vec<GateBodyStep>,
    /// Operations after expansion, saturating.
    pub(super) size: u64,
    depth: usize,
    /// True if parameters are exponents in it.
    pub(super) open: bool,
    pub(super) place: FileSpan,
    pub(super) state: DefinitionStatus,
}

/// Statement of a body, on qubits of the gate by position.
#[derive(Debug)]
pub(super) enum GateBodyStep {
    Call {
        gate: Resolved,
        qubits: Qubits,
        span: QasmSpan,
    },
    Barrier(Qubits),
    /// In OpenQASM 2 only, where a gate with it has no inverse.
    Reset(Qubits),
}

impl GateTemplate {
    /// Returns true if its effect depends on the k-th parameter.
    pub(super) fn uses(&self, k: usize) -> bool {
        let is_it = |angle: &Angle| angle.terms().iter().any(|(id, _)| id.index() == k);
        let depends = |value: &QasmValue| match value {
            QasmValue::Angle(angle) => is_it(angle),
            QasmValue::Expr(expr) => {
                expr.steps().iter().any(|s| matches!(s, param::Step::Angle(a) if is_it(a)))
            }
            _ => false,
        };
        self.open
            || self.body.iter().any(|step| match step {
                GateBodyStep::Call { gate, .. } => gate.args.iter().any(depends),
                GateBodyStep::Barrier(_) | GateBodyStep::Reset(_) => false,
            })
    }
}

type Locals = HashMap<InternedName, u32>;

/// Context of the statements of a definition.
#[derive(Clone, Copy)]
struct DefinitionContext<'a> {
    gate: &'a GateDef,
    qubits: &'a Locals,
    /// All statements of the file.
    all: &'a [QasmStmt],
}

impl QasmLowering<'_> {
    pub(super) fn define(&mut self, gate: &GateDef, span: QasmSpan, all: &[QasmStmt]) -> Lower<()> {
        let place = self.file_span(gate.name.span);
        if let Some(GateEntry::Own(_, before) | GateEntry::Subroutine(_, before)) =
            self.gates.get(gate.name.symbol)
            && before.source == place.source
        {
            let twice =
                Diagnostic::error(QasmProblem::DeclaredTwice { name: self.name(gate.name.symbol) });
            return Err(self
                .report(twice.with_label(place, "again here").with_label(before, "defined here")));
        }
        let mut definition = GateTemplate {
            name: gate.name.symbol,
            params: gate.params.iter().map(|name| name.symbol).collect(),
            qubits: gate.qubits.iter().map(|name| name.symbol).collect(),
            body: Vec::new(),
            size: 0,
            depth: 1,
            open: false,
            place,
            state: DefinitionStatus::Sound,
        };
        let result = self.define_body(gate, &mut definition, all, span);
        if result.is_err() {
            definition.state = DefinitionStatus::Broken;
        } else if gate.body.is_none() {
            definition.state = DefinitionStatus::Opaque;
        }
        self.warn_of_phase(&definition);
        let callee = GateCallee::Defined(self.definitions.len());
        self.definitions.push(definition);
        self.gates.insert(gate.name.symbol, GateEntry::Own(callee, place));
        result
    }

    /// Warns of `gate CX c, t { ctrl @ U(pi, 0, pi) c, t; }`, which old files have, written for
    /// another `U`.
    fn warn_of_phase(&mut self, definition: &GateTemplate) {
        let name = self.name(definition.name);
        let [GateBodyStep::Call { gate, span, .. }] = definition.body.as_slice() else { return };
        let x = [Angle::pi(1, 1), Angle::zero(), Angle::pi(1, 1)].map(Some);
        let phased = gate.callee == GateCallee::Table(GateKind::U, 0)
            && gate.args.iter().map(QasmValue::angle).eq(x)
            && gate
                .modifiers
                .as_ref()
                .is_some_and(|m| m.controls == [true] && m.exponents.is_empty());
        if name.eq_ignore_ascii_case("cx") && self.version == Version::V3 && phased {
            let (place, help) = (
                self.file_span(*span),
                "`cx` of stdgates.inc is: include it, or end the body with `inv @ s c;`",
            );
            let problem = QasmProblem::PhasedCnot { name };
            self.warning(Diagnostic::warning(problem).with_label(place, "").help(help));
        }
    }

    fn define_body(
        &mut self,
        gate: &GateDef,
        into: &mut GateTemplate,
        all: &[QasmStmt],
        span: QasmSpan,
    ) -> Lower<()> {
        let params = self.locals(&gate.params)?;
        let qubits = self.locals(&gate.qubits)?;
        if gate.qubits.is_empty() {
            let (expected, given) = ("a qubit".to_owned(), "none".to_owned());
            return self.fail(QasmProblem::Expected { expected, given }, gate.name.span);
        }
        let within = DefinitionContext { gate, qubits: &qubits, all };
        let mut result = Ok(());
        for statement in gate.body.iter().flat_map(|b| b.iter()) {
            if let Err(ErrorReported) = self.step(statement, within, &params, into) {
                result = Err(ErrorReported);
            }
        }
        if into.depth > MAX_DEPTH {
            return self.fail(QasmProblem::TooDeep { limit: MAX_DEPTH }, gate.name.span.to(span));
        }
        result
    }

    /// Numbers the names in order.
    fn locals(&mut self, names: &[Ident]) -> Lower<Locals> {
        let mut locals = Locals::with_capacity(names.len());
        for (name, number) in names.iter().zip(0..) {
            if locals.insert(name.symbol, number).is_some() {
                let name_text = self.name(name.symbol);
                return self.fail(QasmProblem::DeclaredTwice { name: name_text }, name.span);
            }
        }
        Ok(locals)
    }

    fn step(
        &mut self,
        statement: &QasmStmt,
        within: DefinitionContext<'_>,
        params: &Locals,
        into: &mut GateTemplate,
    ) -> Lower<()> {
        let DefinitionContext { gate, qubits, all } = within;
        let span = statement.span;
        let (size, step) = match &statement.kind {
            QasmStmtKind::Call(call) => {
                let phase = self.phase_alone(call);
                if phase.is_some() {
                    self.local_qubits(&call.operands, qubits, Some(call.name))?;
                }
                let call = phase.as_ref().unwrap_or(call);
                let resolved =
                    self.resolve(call, None, ExprScope::Gate(params), Some(gate.name), all);
                let picked = self.local_qubits(&call.operands, qubits, Some(call.name));
                let (gate, qubits) = (resolved?, picked?);
                let exponents = gate.modifiers.as_ref().map_or(&[][..], |m| &m.exponents);
                let size = self.size(gate.callee, exponents);
                into.open |= exponents.iter().any(|e| matches!(e, Exponent::Open(_)));
                if let GateCallee::Defined(number) = gate.callee {
                    into.depth = into.depth.max(1 + self.definitions[number].depth);
                    into.open |= self.definitions[number].open;
                }
                (size, GateBodyStep::Call { gate, qubits, span })
            }
            QasmStmtKind::Barrier(operands) => {
                let mut picked = self.local_qubits(operands, qubits, None)?;
                if operands.is_empty() {
                    picked = (0..).take(qubits.len()).collect();
                }
                (picked.len() as u64, GateBodyStep::Barrier(picked))
            }
            QasmStmtKind::Reset(operand) if self.version == Version::V2 => {
                let picked = self.local_qubits(std::slice::from_ref(&**operand), qubits, None)?;
                self.warn(QasmProblem::ResetInGate, span);
                (picked.len() as u64, GateBodyStep::Reset(picked))
            }
            QasmStmtKind::Empty | QasmStmtKind::Nop => return Ok(()),
            QasmStmtKind::Pragma(None) => return self.ignored("a pragma", span),
            QasmStmtKind::Pragma(Some(_)) => {
                let place = self.file_span(span);
                let help =
                    "put the pragma after the calls of the gate, or make the gate a subroutine";
                return Err(self.report(
                    Diagnostic::error(QasmProblem::NotInGate).with_label(place, "").help(help),
                ));
            }
            QasmStmtKind::Annotation => return self.ignored("an annotation", span),
            QasmStmtKind::For(f) => return self.gate_loop(f, span, within, params, into),
            QasmStmtKind::While(_) => return self.refuse("`while` in a gate definition", span),
            QasmStmtKind::If(_) => return self.refuse("`if` in a gate definition", span),
            _ => return self.fail(QasmProblem::NotInGate, span),
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
        args: &[QasmValue],
        span: QasmSpan,
    ) -> Lower<usize> {
        let key = format!("{number} {args:?}");
        if let Some(&known) = self.special.get(&key) {
            return Ok(known);
        }
        let GateTemplate { name, depth, place, state, .. } = self.definitions[number];
        let (params, qubits) = (&self.definitions[number].params, &self.definitions[number].qubits);
        let (params, qubits) = (Arc::clone(params), Arc::clone(qubits));
        let (mut body, mut size) = (Vec::new(), 0u64);
        for at in 0..self.definitions[number].body.len() {
            self.count_step(span)?;
            let (more, step) = match &self.definitions[number].body[at] {
                GateBodyStep::Barrier(qubits) => {
                    (qubits.len() as u64, GateBodyStep::Barrier(qubits.clone()))
                }
                GateBodyStep::Reset(qubits) => {
                    (qubits.len() as u64, GateBodyStep::Reset(qubits.clone()))
                }
                GateBodyStep::Call { gate, qubits, span: own } => {
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
                    if let GateCallee::Defined(inner) = gate.callee
                        && self.definitions[inner].open
                    {
                        let inner_args = gate.args.iter().map(|arg| instantiate(arg, args));
                        let inner_args =
                            self.check(inner_args.collect::<Result<Vec<_>, _>>(), span)?;
                        gate.callee =
                            GateCallee::Defined(self.specialized(inner, &inner_args, span)?);
                    }
                    let exponents = gate.modifiers.as_ref().map_or(&[][..], |m| &m.exponents);
                    (
                        self.size(gate.callee, exponents),
                        GateBodyStep::Call { gate, qubits, span: own },
                    )
                }
            };
            size = size.saturating_add(more);
            if more > 0 {
                body.push(step);
            }
        }
        let special = self.definitions.len();
        let open = false;
        self.definitions.push(GateTemplate {
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
    fn stay_open(
        &mut self,
        exponents: &[Exponent],
        args: &[QasmValue],
        span: QasmSpan,
    ) -> Lower<bool> {
        for exponent in exponents {
            let Exponent::Open(number) = exponent else { continue };
            let template = self.exponents.get(*number).cloned().unwrap_or(QasmValue::int(1));
            let value = self.check(instantiate(&template, args), span)?;
            if value.is_real() && value.constant().is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Substitutes arguments in an exponent.
    fn closed(
        &mut self,
        exponent: Exponent,
        args: &[QasmValue],
        span: QasmSpan,
    ) -> Lower<Exponent> {
        let Exponent::Open(number) = exponent else { return Ok(exponent) };
        let template = self.exponents.get(number).cloned().unwrap_or(QasmValue::int(1));
        let value = self.check(instantiate(&template, args), span)?;
        let exponent = Exponent::new(&value, value.is_real());
        self.check(exponent, span)
    }

    /// Unrolls a loop over constants.
    fn gate_loop(
        &mut self,
        f: &ForLoop,
        span: QasmSpan,
        within: DefinitionContext<'_>,
        params: &Locals,
        into: &mut GateTemplate,
    ) -> Lower<()> {
        let ForLoop { ty, name, over, body } = f;
        // A name of the loop hides one of the gate.
        let hiding = params.contains_key(&name.symbol);
        let inner = hiding
            .then(|| params.iter().map(|(s, k)| (*s, *k)).filter(|p| p.0 != name.symbol).collect());
        let shown = inner.as_ref().unwrap_or(params);
        for (value, at) in self.range(over, ExprScope::Gate(params))?.values(index_span(over)) {
            self.count_step(span)?;
            let value = self.cast(ty, value, at)?;
            self.names.enter();
            let mut result = self.declare_name(*name, SymbolEntry::Const(value));
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
        operands: &[QasmOperand],
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
                let (again, first) = (self.file_span(operand.span), self.file_span(first));
                let error = Diagnostic::error(QasmProblem::RepeatedQubit { qubit, gate });
                return Err(self.report(
                    error.with_label(again, "again here").with_label(first, "first here"),
                ));
            }
            picked.push(number);
        }
        Ok(picked)
    }

    fn local_qubit(&mut self, operand: &QasmOperand, locals: &Locals) -> Lower<u32> {
        let OperandBase::Name(name) = operand.base else {
            return self.fail(QasmProblem::NotInGate, operand.span);
        };
        match (locals.get(&name.symbol), &operand.select) {
            (Some(&number), Select::All) => Ok(number),
            (Some(_), _) => {
                let name = self.name(name.symbol);
                self.fail(QasmProblem::NotIndexable { name, what: "qubit" }, operand.span)
            }
            (None, _) => {
                let place = self.file_span(name.span);
                let text = self.name(name.symbol);
                let near = nearest_name(&text, locals.keys().map(|&s| self.name(s)));
                let help = near.map_or_else(
                    || "a gate definition sees only the qubits that it names itself".to_owned(),
                    did_you_mean,
                );
                let error = Diagnostic::error(QasmProblem::UnknownName { name: text });
                Err(self.report(error.with_label(place, "").help(help)))
            }
        }
    }
}
