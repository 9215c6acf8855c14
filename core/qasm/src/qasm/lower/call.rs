//! Gate calls: which gate, with which modifiers, on which qubits.
//!
//! Modifiers become two lists. The controls are in the order of the qubits, leftmost modifier
//! first; the exponents apply from the innermost on, `inv` being the exponent -1. Controls and
//! powers commute, so the order between them does not matter.

use smallvec::SmallVec;

use super::{
    ErrorReported, ExprScope, IndexSet, Lower, LoweredItem, QasmLowering, QasmValue,
    classical::Classical,
    define::DefinitionStatus,
    evaluate::constant,
    functions,
    names::{GateCallee, GateEntry, SymbolEntry, multi_controlled},
    power::{self, Exponent},
};
use crate::{
    gate::GateKind,
    qasm::{
        Version,
        ast::{
            self, FileSpan, Ident, InternedName, Modifier, ModifierKind, QasmSpan, QasmStmt,
            QasmStmtKind,
        },
        diagnostic::{Diagnostic, QasmProblem},
    },
};

/// Limit on the controls of a gate: more are refused before they take memory. A statement must name
/// each of them anyway.
const MOST_CONTROLS: usize = 1 << 24;

fn too_many_controls(given: &impl std::fmt::Display) -> QasmProblem {
    let expected = format!("a number of controls of at most {MOST_CONTROLS}");
    QasmProblem::WrongType { given: given.to_string(), expected }
}

/// Controls and exponents of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Modifiers {
    /// The value of each control.
    pub(super) controls: Vec<bool>,
    pub(super) exponents: SmallVec<[Exponent; 1]>,
}

/// Resolved gate, with its arguments.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    /// Name of the gate in the file.
    pub(super) name: InternedName,
    pub(super) callee: GateCallee,
    pub(super) args: Box<[QasmValue]>,
    pub(super) modifiers: Option<Box<Modifiers>>,
}

/// A call with whole registers.
#[derive(Debug)]
pub(super) struct PlannedCall {
    pub(super) gate: Resolved,
    pub(super) qubits: SmallVec<[IndexSet; 2]>,
    /// Number of applications along registers.
    pub(super) times: u32,
    pub(super) span: QasmSpan,
    pub(super) source: u32,
}

impl QasmLowering<'_> {
    pub(super) fn call(
        &mut self,
        call: &ast::GateCall,
        span: QasmSpan,
        all: &[QasmStmt],
    ) -> Lower<()> {
        if let Some(number) = self.subroutine(call.name.symbol)
            && call.operands.is_empty()
            && call.modifiers.is_empty()
            && !call.timed
        {
            return self.call_subroutine(number, &call.args, span, None).map(|_| ());
        }
        if let Some(GateEntry::External(_, true)) = self.gates.get(call.name.symbol)
            && call.operands.is_empty()
            && call.modifiers.is_empty()
        {
            return self.ignore_call(call);
        }
        if let Some(expr) = self.function_call(call, span) {
            return self.classical(&expr).map(|_| ());
        }
        if let Some(phase) = self.phase_alone(call) {
            // The qubits that tools write with a global phase, which does not depend on them.
            self.all_qubits(&call.operands)?;
            return self.call(&phase, span, all);
        }
        if call.args.iter().any(|arg| self.may_depend(arg)) {
            return self.call_by_measured(call, span, all);
        }
        let gate = self.resolve(call, None, ExprScope::Global, None, all);
        self.plan_call(gate, call, span)
    }

    /// The call of a function that a statement consists of, as an expression. A gate that the file
    /// defines by this name is not one.
    fn function_call(&self, call: &ast::GateCall, span: QasmSpan) -> Option<ast::QasmExpr> {
        let is_function = call.operands.is_empty()
            && call.modifiers.is_empty()
            && !call.timed
            && self.gates.get(call.name.symbol).is_none()
            && functions::NAMES.contains(&self.interner.name(call.name.symbol));
        let kind = || ast::QasmExprKind::Call(call.name, call.args.clone());
        is_function.then(|| ast::QasmExpr { span, kind: kind() })
    }

    /// The call of a global phase without the qubits that PennyLane writes in OpenQASM 2. A gate
    /// that the file defines by this name is not one.
    pub(super) fn phase_alone(&self, call: &ast::GateCall) -> Option<ast::GateCall> {
        let is_phase = self.version == Version::V2
            && !call.operands.is_empty()
            && call.modifiers.is_empty()
            && self.interner.name(call.name.symbol) == "gphase"
            && matches!(self.gates.get(call.name.symbol), None | Some(GateEntry::BuiltIn(_)));
        is_phase.then(|| ast::GateCall { operands: Box::default(), ..call.clone() })
    }

    /// Checks a call that only informs the environment, and drops it. Its arguments may still call
    /// and measure.
    fn ignore_call(&mut self, call: &ast::GateCall) -> Lower<()> {
        for arg in &call.args {
            self.classical(arg)?;
        }
        self.warn(QasmProblem::IgnoredCall { name: self.name(call.name.symbol) }, call.name.span);
        Ok(())
    }

    /// Plans a gate on the operands of a call.
    fn plan_call(
        &mut self,
        gate: Lower<Resolved>,
        call: &ast::GateCall,
        span: QasmSpan,
    ) -> Lower<()> {
        let modern = call.name.symbol.word().is_some_and(|w| !w.is_old());
        if gate.is_err() && modern {
            // A declaration of OpenQASM 3 in a file of OpenQASM 2: what it declares is not missed.
            for operand in &call.operands {
                if let ast::OperandBase::Name(name) = operand.base {
                    self.names.break_name(name.symbol, self.file_span(name.span));
                }
            }
            return Err(ErrorReported);
        }
        // Operands are looked at even if the gate is unknown: both may be wrong.
        let along = self.along_registers(call);
        let (gate, (qubits, times)) = (gate?, along?);
        self.push_call(PlannedCall { gate, qubits, times, span, source: self.source })
    }

    /// Returns the operands of a call, and the number of applications along registers.
    fn along_registers(&mut self, call: &ast::GateCall) -> Lower<(SmallVec<[IndexSet; 2]>, u32)> {
        let qubits = self.all_qubits(&call.operands)?;
        let places: SmallVec<[QasmSpan; 4]> = call.operands.iter().map(|o| o.span).collect();
        let times = self.common_length(&qubits, &places)?.unwrap_or(1);
        self.check_distinct(&qubits, &places, times, call.name.symbol)?;
        Ok((qubits, times))
    }

    /// Plans a call whose arguments are known.
    fn push_call(&mut self, mut call: PlannedCall) -> Lower<()> {
        if let GateCallee::Defined(number) = call.gate.callee
            && self.definitions[number].open
        {
            call.gate.callee =
                GateCallee::Defined(self.specialized(number, &call.gate.args, call.span)?);
        }
        let exponents = call.gate.modifiers.as_ref().map_or(&[][..], |m| &m.exponents);
        let size = self.size(call.gate.callee, exponents);
        self.add_count(size.saturating_mul(u64::from(call.times)), call.span);
        // The plan takes memory, so its size must have been counted.
        if size > 0 && self.passed.is_none() {
            self.push(LoweredItem::Call(call));
        }
        Ok(())
    }

    /// Plans a call with arguments that may depend on measurements.
    fn call_by_measured(
        &mut self,
        call: &ast::GateCall,
        span: QasmSpan,
        all: &[QasmStmt],
    ) -> Lower<()> {
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            args.push((self.classical(arg)?, arg.span));
        }
        let mut known = Vec::with_capacity(args.len());
        for (value, at) in &args {
            known.push(match value {
                Classical::Value(value) => self.as_real(value.clone(), "an angle", *at)?,
                Classical::BitVector { ty: None, .. } | Classical::Truth(_) => {
                    return self.bits_as_angle(*at);
                }
                _ => QasmValue::int(0),
            });
        }
        let gate = self.resolve(call, Some(known), ExprScope::Global, None, all);
        if args.iter().all(|(value, _)| matches!(value, Classical::Value(_))) {
            return self.plan_call(gate, call, span);
        }
        let (gate, (qubits, times)) = (gate?, self.along_registers(call)?);
        if let Some(pow) = self.open_pow(call)? {
            // The arguments that are put in below would have no power.
            let problem = QasmProblem::OpenPower { gate: self.name(call.name.symbol) };
            let error = Diagnostic::error(problem).with_label(self.file_span(pow), "");
            return Err(self.report(
                error.help("here a measurement decides its angle: choose between gates with `if`"),
            ));
        }
        let call = PlannedCall { gate, qubits, times, span, source: self.source };
        if let [(Classical::AngleBits(bits), _)] = args.as_slice()
            && turns(&call.gate)
        {
            return self.call_by_bits(bits, call);
        }
        self.for_each_value(args, span, |lowering, values| {
            let mut args = Vec::with_capacity(values.len());
            for value in values {
                args.push(lowering.as_real(value, "an angle", span)?);
            }
            let gate = Resolved { args: args.into(), ..call.gate.clone() };
            lowering.push_call(PlannedCall { gate, qubits: call.qubits.clone(), ..call })
        })
    }

    /// The `pow` of a call whose exponent has parameters.
    fn open_pow(&mut self, call: &ast::GateCall) -> Lower<Option<QasmSpan>> {
        for modifier in &call.modifiers {
            if let ModifierKind::Pow(expr) = &modifier.kind {
                let value = self.evaluate(expr, ExprScope::Global)?;
                if value.is_real() && value.constant().is_none() {
                    return Ok(Some(modifier.span));
                }
            }
        }
        Ok(None)
    }

    fn bits_as_angle(&mut self, span: QasmSpan) -> Lower<()> {
        let (given, expected) = ("bits".to_owned(), "an angle".to_owned());
        let error = Diagnostic::error(QasmProblem::WrongType { given, expected })
            .with_label(self.file_span(span), "");
        let help = "take them as an integer, as in `uint[3](c) * pi/4`, or choose between gates with `if` or `switch`";
        Err(self.report(error.help(help)))
    }

    /// Finds the gate of a call and evaluates its arguments, unless these are known, and modifiers.
    /// `within` is the gate that is being defined.
    pub(super) fn resolve(
        &mut self,
        call: &ast::GateCall,
        known: Option<Vec<QasmValue>>,
        scope: ExprScope,
        within: Option<Ident>,
        all: &[QasmStmt],
    ) -> Lower<Resolved> {
        let callee = match self.many_controls(call, scope, all) {
            Some(callee) => callee,
            None => self.callee(call.name, within, all)?,
        };
        if call.timed {
            self.ignored("the duration of a gate", call.name.span)?;
        }
        let (n_params, n_qubits) = self.signature(callee);
        if call.args.len() != n_params {
            let (gate, given) = (self.name(call.name.symbol), call.args.len());
            let span = match (call.args.first(), call.args.last()) {
                (Some(first), Some(last)) => first.span.to(last.span),
                _ => call.name.span,
            };
            return self
                .fail(QasmProblem::ParameterCount { gate, given, expected: n_params }, span);
        }
        let modifiers = self.modifiers(&call.modifiers, scope)?;
        let controls = modifiers.as_ref().map_or(0, |m| m.controls.len() as u64);
        let expected = controls.saturating_add(n_qubits as u64);
        if call.operands.len() as u64 != expected {
            return self.wrong_qubit_count(call, expected);
        }
        let args: Box<[QasmValue]> = match known {
            Some(known) => known.into(),
            None => {
                let mut args = SmallVec::<[QasmValue; 3]>::new();
                for (k, arg) in call.args.iter().enumerate() {
                    let idle = matches!(callee, GateCallee::Defined(number) if !self.definitions[number].uses(k));
                    args.push(if idle {
                        self.idle(arg, scope, call.name)?
                    } else {
                        self.real(arg, scope)?
                    });
                }
                args.into_iter().collect()
            }
        };
        let mut gate =
            Resolved { name: call.name.symbol, callee, args, modifiers: modifiers.map(Box::new) };
        if let (Some(modifiers), ExprScope::Global) = (&mut gate.modifiers, scope)
            && modifiers.exponents.iter().any(|e| matches!(e, Exponent::Open(_)))
        {
            let exponents = std::mem::take(&mut modifiers.exponents);
            let pow = call.modifiers.iter().find(|m| matches!(m.kind, ModifierKind::Pow(_)));
            self.raise_open(&mut gate, &exponents, pow.map_or(call.name.span, |m| m.span))?;
        }
        Ok(gate)
    }

    /// Resolves a gate such as `mcx`, which is defined nowhere: all qubits except for the last, and
    /// those of modifiers, control it.
    fn many_controls(
        &mut self,
        call: &ast::GateCall,
        scope: ExprScope,
        all: &[QasmStmt],
    ) -> Option<GateCallee> {
        let symbol = call.name.symbol;
        let kind = multi_controlled(self.interner.name(symbol))?;
        let is_free = self.gates.get(symbol).is_none()
            && self.names.get(symbol).is_none()
            && definition_of(symbol, all).is_none()
            && call.modifiers.is_empty();
        // A whole register would be gone along, where some mean that all of it controls.
        let is_register = |operand: &ast::QasmOperand| match (operand.base, scope) {
            (ast::OperandBase::Name(name), ExprScope::Global) if operand.parts().is_empty() => {
                matches!(self.names.get(name.symbol), Some(SymbolEntry::Qubits(picks)) if picks.len().is_some())
            }
            _ => false,
        };
        if !is_free || call.operands.len() < 2 || call.operands.iter().any(is_register) {
            return None;
        }
        let text = self.name(symbol);
        let problem =
            QasmProblem::LentGate { name: text, from: "that with any number of controls" };
        let help = "no standard file has it: all qubits but the last control the gate";
        let place = self.file_span(call.name.span);
        if self.reported.insert(multi_name(kind)) {
            self.warning(Diagnostic::warning(problem).with_label(place, "").help(help));
        }
        Some(GateCallee::Table(kind, call.operands.len() - 1))
    }

    /// Checks an argument that the gate does not use. Exporters write there the arguments that a
    /// gate was made of, angles or not.
    fn idle(&mut self, arg: &ast::QasmExpr, scope: ExprScope, gate: Ident) -> Lower<QasmValue> {
        let unknown = match (&arg.kind, scope) {
            (ast::QasmExprKind::Label, _) => true,
            (ast::QasmExprKind::Name(name), ExprScope::Gate(params))
                if params.contains_key(name) =>
            {
                false
            }
            (ast::QasmExprKind::Name(name), _) => {
                self.names.get(*name).is_none() && constant(self.interner.name(*name)).is_none()
            }
            _ => false,
        };
        if !unknown {
            let value = self.evaluate(arg, scope)?;
            if !matches!(value, QasmValue::Complex(_)) {
                return self.as_real(value, "an angle", arg.span);
            }
        }
        let (given, gate) = (self.text(arg.span).to_owned(), self.name(gate.symbol));
        self.warn(QasmProblem::UnusedArgument { given, gate }, arg.span);
        Ok(QasmValue::int(0))
    }

    fn wrong_qubit_count<T>(&mut self, call: &ast::GateCall, expected: u64) -> Lower<T> {
        let (gate, given) = (self.name(call.name.symbol), call.operands.len());
        let span = match (call.operands.first(), call.operands.last()) {
            (Some(first), Some(last)) => first.span.to(last.span),
            _ => call.name.span,
        };
        let mut error = Diagnostic::error(QasmProblem::QubitCount { gate, given, expected })
            .with_label(self.file_span(span), "");
        if let (Some(first), Some(last)) = (call.modifiers.first(), call.modifiers.last()) {
            error =
                error.with_label(self.file_span(first.span.to(last.span)), "with these modifiers");
        }
        Err(self.report(error))
    }

    /// The number of parameters and of qubits.
    pub(super) fn signature(&self, callee: GateCallee) -> (usize, usize) {
        match callee {
            GateCallee::Table(kind, controls) => {
                (kind.param_names().len(), controls + kind.n_qubits())
            }
            GateCallee::Defined(number) => {
                let definition = &self.definitions[number];
                (definition.params.len(), definition.qubits.len())
            }
        }
    }

    fn callee(
        &mut self,
        name: Ident,
        within: Option<Ident>,
        all: &[QasmStmt],
    ) -> Lower<GateCallee> {
        if let Some(own) = within
            && own.symbol == name.symbol
        {
            return self.recursive(name, vec![own.symbol, name.symbol]);
        }
        if self.gates.get(name.symbol).is_none() && definition_of(name.symbol, all).is_none() {
            self.lend_gate(name);
        }
        let callee = match self.gates.get(name.symbol) {
            Some(GateEntry::BuiltIn(callee) | GateEntry::Own(callee, _)) => callee,
            Some(GateEntry::Broken) => return Err(ErrorReported),
            Some(GateEntry::Subroutine(_, place)) => return self.called_as_gate(name, place),
            Some(GateEntry::External(place, _)) => return self.external(name, place),
            None => return self.undefined(name, within, all),
        };
        if let GateCallee::Defined(number) = callee {
            let definition = &self.definitions[number];
            match definition.state {
                DefinitionStatus::Sound => {}
                DefinitionStatus::Broken => return Err(ErrorReported),
                // Qiskit writes so what waits.
                DefinitionStatus::Opaque if is_delay(self.interner.name(name.symbol)) => {
                    return self.ignored("`delay`", name.span).map(|()| callee);
                }
                DefinitionStatus::Opaque => {
                    let (here, there) = (self.file_span(name.span), definition.place);
                    let error =
                        Diagnostic::error(QasmProblem::OpaqueGate { name: self.name(name.symbol) });
                    return Err(
                        self.report(error.with_label(here, "").with_label(there, "declared here"))
                    );
                }
            }
        }
        Ok(callee)
    }

    /// Returns an error: there is no definition to call.
    pub(super) fn external<T>(&mut self, name: Ident, defined: FileSpan) -> Lower<T> {
        let here = self.file_span(name.span);
        let error = Diagnostic::error(QasmProblem::External { name: self.name(name.symbol) });
        let help = "write what it computes as a subroutine, or what it gives as an input";
        Err(self.report(error.with_label(here, "").with_label(defined, "declared here").help(help)))
    }

    fn recursive<T>(&mut self, name: Ident, path: Vec<InternedName>) -> Lower<T> {
        let path = path.into_iter().map(|s| self.name(s)).collect();
        self.fail(QasmProblem::RecursiveGate { name: self.name(name.symbol), path }, name.span)
    }

    /// Returns an error about a gate that is defined nowhere, or only later.
    fn undefined<T>(&mut self, name: Ident, within: Option<Ident>, all: &[QasmStmt]) -> Lower<T> {
        if within.is_none() {
            self.subroutine_to_come(name)?;
        }
        let Some(later) = definition_of(name.symbol, all) else { return self.unknown_gate(name) };
        if let Some(own) = within
            && let Some(mut path) = path_to(own.symbol, later, all)
        {
            path.insert(0, own.symbol);
            return self.recursive(name, path);
        }
        let (here, there) = (self.file_span(name.span), self.file_span(later.name.span));
        let error =
            Diagnostic::error(QasmProblem::UsedBeforeDefinition { name: self.name(name.symbol) });
        Err(self.report(error.with_label(here, "").with_label(there, "defined here")))
    }

    /// Evaluates modifiers.
    fn modifiers(&mut self, modifiers: &[Modifier], scope: ExprScope) -> Lower<Option<Modifiers>> {
        if modifiers.is_empty() {
            return Ok(None);
        }
        let mut out = Modifiers::default();
        for modifier in modifiers {
            let (value, count) = match &modifier.kind {
                ModifierKind::Ctrl(count) => (true, count),
                ModifierKind::Negctrl(count) => (false, count),
                _ => continue,
            };
            let count = match count {
                Some(expr) => self.control_count(expr, scope)?,
                None => 1,
            };
            let all = out.controls.len() + count;
            if all > MOST_CONTROLS {
                let span = modifier.span;
                return self.fail(too_many_controls(&all), span);
            }
            out.controls.resize(all, value);
        }
        for modifier in modifiers.iter().rev() {
            let exponent = match &modifier.kind {
                ModifierKind::Inv => Exponent::Integer(-1),
                ModifierKind::Pow(expr) => {
                    self.in_exponent = true;
                    let value = self.evaluate(expr, scope);
                    self.in_exponent = false;
                    let value = value?;
                    if let (true, None) = (value.is_real(), value.constant()) {
                        self.exponents.push(value);
                        Exponent::Open(self.exponents.len() - 1)
                    } else {
                        let exponent = Exponent::new(&value, value.is_real());
                        self.check(exponent, expr.span)?
                    }
                }
                _ => continue,
            };
            let composed = power::compose(&mut out.exponents, exponent);
            self.check(composed, modifier.span)?;
        }
        Ok(Some(out))
    }

    fn control_count(&mut self, expr: &ast::QasmExpr, scope: ExprScope) -> Lower<usize> {
        match self.evaluate(expr, scope)? {
            QasmValue::Int(given @ 1.., _) => match usize::try_from(given) {
                Ok(count @ ..=MOST_CONTROLS) => Ok(count),
                _ => self.fail(too_many_controls(&given), expr.span),
            },
            QasmValue::Int(given, _) => {
                let (given, expected) =
                    (format!("{given}"), "a positive number of controls".to_owned());
                self.fail(QasmProblem::WrongType { given, expected }, expr.span)
            }
            other => {
                let (given, expected) =
                    (other.describe().to_owned(), "a number of controls".to_owned());
                self.fail(QasmProblem::WrongType { given, expected }, expr.span)
            }
        }
    }

    /// Returns the number of operations that a gate expands to, saturating.
    pub(super) fn size(&self, callee: GateCallee, exponents: &[Exponent]) -> u64 {
        let body = match callee {
            GateCallee::Table(kind, _) => return power::size(kind, exponents),
            GateCallee::Defined(number) => &self.definitions[number],
        };
        match exponents {
            [] => body.size,
            [Exponent::Integer(k)] => body.size.saturating_mul(k.unsigned_abs()),
            // A power by matrix costs the circuit that the matrix is taken from.
            _ => body.size.saturating_add(1),
        }
    }

    /// Checks that no qubit is repeated in any application along registers.
    pub(super) fn check_distinct(
        &mut self,
        qubits: &[IndexSet],
        places: &[QasmSpan],
        length: u32,
        gate: InternedName,
    ) -> Lower<()> {
        let singles = qubits.len() > 16 && qubits.iter().all(|p| p.len().is_none());
        let found = if singles {
            let mut sorted: Vec<(u32, usize)> = qubits.iter().map(|p| p.get(0)).zip(0..).collect();
            sorted.sort_unstable();
            sorted.windows(2).find(|w| w[0].0 == w[1].0).map(|w| (w[0].0, w[0].1, w[1].1))
        } else {
            (1..qubits.len()).find_map(|j| {
                (0..j).find_map(|i| qubits[i].meet(&qubits[j], length).map(|qubit| (qubit, i, j)))
            })
        };
        let Some((qubit, i, j)) = found else { return Ok(()) };
        let problem =
            QasmProblem::RepeatedQubit { qubit: self.qubit_name(qubit), gate: self.name(gate) };
        let (again, first) = (self.file_span(places[j]), self.file_span(places[i]));
        Err(self.report(
            Diagnostic::error(problem)
                .with_label(again, "again here")
                .with_label(first, "first here"),
        ))
    }
}

impl Exponent {
    pub(super) fn new(value: &QasmValue, real: bool) -> Result<Exponent, QasmProblem> {
        let what = || "the exponent of `pow`".to_owned();
        match (value, value.constant()) {
            (QasmValue::Int(i, _), _) => match i64::try_from(*i) {
                Ok(k) => Ok(Exponent::Integer(k)),
                Err(_) => Err(QasmProblem::IntegerOverflow { what: what() }),
            },
            (_, Some(number)) => Ok(Exponent::real(number)),
            _ if real => Err(QasmProblem::NotConstant { what: what() }),
            _ => Err(QasmProblem::WrongType {
                given: value.describe().to_owned(),
                expected: "a number".to_owned(),
            }),
        }
    }
}

/// Returns the name of such a gate in its warning, which is given once.
fn multi_name(kind: GateKind) -> &'static str {
    match kind {
        GateKind::X => "`mcx`",
        GateKind::Z => "`mcz`",
        _ => "`mcphase`",
    }
}

/// Returns true if an opaque gate is a `delay`, whose name may end with a number.
fn is_delay(name: &str) -> bool {
    name == "delay"
        || name.strip_prefix("delay_").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns true if a gate is a rotation or a phase, so that a product of such gates is one gate by
/// the sum of the angles.
fn turns(gate: &Resolved) -> bool {
    let exponents = gate.modifiers.as_ref().map_or(&[][..], |m| &m.exponents);
    let generated = matches!(gate.callee, GateCallee::Table(kind, _) if kind.generator().is_some());
    generated && exponents.iter().all(|e| matches!(e, Exponent::Integer(_)))
}

/// Returns the definition of a gate among statements.
fn definition_of(name: InternedName, all: &[QasmStmt]) -> Option<&ast::GateDef> {
    all.iter().find_map(|s| match &s.kind {
        QasmStmtKind::Gate(gate) if gate.name.symbol == name => Some(&**gate),
        _ => None,
    })
}

/// Returns the chain of calls by which the gate `from` reaches `to`, if it does.
fn path_to(to: InternedName, from: &ast::GateDef, all: &[QasmStmt]) -> Option<Vec<InternedName>> {
    let mut seen = vec![from.name.symbol];
    let mut paths = vec![(from, vec![from.name.symbol])];
    while let Some((gate, path)) = paths.pop() {
        for statement in gate.body.iter().flat_map(|b| b.iter()) {
            let QasmStmtKind::Call(call) = &statement.kind else { continue };
            let name = call.name.symbol;
            let longer = || path.iter().copied().chain([name]).collect::<Vec<_>>();
            if name == to {
                return Some(longer());
            }
            if !seen.contains(&name)
                && seen.len() < 64
                && let Some(next) = definition_of(name, all)
            {
                seen.push(name);
                paths.push((next, longer()));
            }
        }
    }
    None
}
