//! Gates that the source of a circuit defines: their names and calls.
//!
//! A circuit is a flat list of instructions: the bodies of such gates are inlined. The calls that
//! they came from are annotations, which do not count when circuits are compared, and which code
//! that changes instructions can ignore: a call is valid as long as its range holds the body of its
//! gate with its angles and qubits, compared instruction by instruction.

use std::{ops::Range, sync::Arc};

use super::{Circuit, CircuitError, Control, Instruction, Operation, Qubits};
use crate::{
    gate::{Gate, GateKind},
    param::Angle,
};

/// A gate with a name: a circuit of gates of the table, whose inputs are its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct GateDefinition {
    name: String,
    body: Circuit,
}

impl GateDefinition {
    /// Returns a gate that stands for a circuit.
    ///
    /// # Errors
    /// [`CircuitError::NoBody`] unless the body is one or more gates of the table with angles over
    /// inputs.
    pub fn new(name: impl Into<String>, body: Circuit) -> Result<GateDefinition, CircuitError> {
        let name = name.into();
        let is_gate =
            |i: &Instruction| matches!(i.operation, Operation::Gate(_)) && i.condition.is_none();
        let computes = body.params.iter().any(|param| param.definition.is_some());
        if body.instructions.is_empty() || computes || !body.instructions.iter().all(is_gate) {
            return Err(CircuitError::NoBody { name });
        }
        Ok(GateDefinition { name, body })
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the circuit that the gate stands for.
    #[must_use]
    pub fn body(&self) -> &Circuit {
        &self.body
    }
}

/// A call of a gate that its source defines.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedCall<'a> {
    /// Range of the instructions of its body.
    pub instructions: Range<usize>,
    /// The gate.
    pub gate: &'a Arc<GateDefinition>,
    /// Its parameters.
    pub args: &'a [Angle],
    /// Its qubits.
    pub qubits: &'a [u32],
    /// Controls of the call.
    pub controls: &'a [Control],
    /// True if it is the inverse of the gate.
    pub inverse: bool,
}

impl NamedCall<'_> {
    /// Returns true if it is the gate itself: neither its inverse nor under controls.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.controls.is_empty() && !self.inverse
    }
}

/// Record of a call of a gate with a name.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct CallRecord {
    /// Index of its first instruction.
    #[doc(hidden)]
    pub first: usize,
    #[doc(hidden)]
    pub gate: Arc<GateDefinition>,
    #[doc(hidden)]
    pub args: Box<[Angle]>,
    #[doc(hidden)]
    pub qubits: Qubits,
    #[doc(hidden)]
    pub controls: Box<[Control]>,
    #[doc(hidden)]
    pub inverse: bool,
}

impl CallRecord {
    /// Returns the gates of its body, in order.
    fn gates(&self) -> impl Iterator<Item = Instruction> + '_ {
        let body = &self.gate.body.instructions;
        (0..body.len()).map(move |k| {
            let mut own = body[if self.inverse { body.len() - 1 - k } else { k }].clone();
            own.operation =
                own.operation.map_params(|a| a.substitute(|id| self.args[id.index()].clone()));
            own.targets.iter_mut().for_each(|q| *q = self.qubits[*q as usize]);
            own.controls.iter_mut().for_each(|c| c.qubit = self.qubits[c.qubit as usize]);
            if self.inverse {
                own.invert();
            }
            if !self.controls.is_empty() {
                own.controls.insert_many(0, self.controls.iter().copied());
                phase_on_control(&mut own);
            }
            own
        })
    }
}

/// Turns a phase under controls into a phase gate on one of these, as readers of files do.
fn phase_on_control(instruction: &mut Instruction) {
    if let Operation::Gate(gate) = &instruction.operation
        && gate.kind() == GateKind::GPHASE
        && let Some(last) = instruction.controls.iter().rposition(|c| c.value)
        && let Ok(phase) = Gate::new(GateKind::P, gate.params().iter().cloned())
    {
        instruction.operation = Operation::Gate(phase);
        instruction.targets.push(instruction.controls.remove(last).qubit);
    }
}

/// All calls, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub(super) struct CallLog(Arc<Vec<CallRecord>>);

impl PartialEq for CallLog {
    /// Circuits that differ in names alone are equal.
    fn eq(&self, _: &CallLog) -> bool {
        true
    }
}

impl CallLog {
    /// Returns the calls with other angles.
    pub(super) fn map_params(&self, f: impl Fn(&Angle) -> Angle) -> CallLog {
        let other = |call: &CallRecord| CallRecord {
            args: call.args.iter().map(&f).collect(),
            ..call.clone()
        };
        CallLog(Arc::new(self.0.iter().map(other).collect()))
    }

    /// An instruction is inserted at a position: calls from there on move.
    pub(super) fn insert_before(&mut self, at: usize) {
        if self.0.iter().any(|call| call.first >= at) {
            let calls = Arc::make_mut(&mut self.0).iter_mut();
            calls.filter(|call| call.first >= at).for_each(|call| call.first += 1);
        }
    }
}

impl Circuit {
    /// Applies a gate that has a definition. Texts keep its name.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ketgrad_core::{circuit::{Circuit, GateDefinition}, print};
    /// let mut layer = Circuit::new(2);
    /// let t = layer.param("t");
    /// layer.ry(0, &t)?.ry(1, t)?.cz(0, 1)?;
    /// let layer = Arc::new(GateDefinition::new("layer", layer)?);
    /// let mut circuit = Circuit::new(3);
    /// circuit.call(&layer, &[0.5.into()], &[0, 1])?.call(&layer, &[0.25.into()], &[1, 2])?;
    /// assert_eq!(circuit.instructions().len(), 6);
    /// assert!(print::to_qasm3(&circuit)?.ends_with("layer(0.5) q[0], q[1];\nlayer(0.25) q[1], q[2];\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Circuit::push`], and for the wrong number of parameters or qubits. Nothing is
    /// appended then.
    pub fn call(
        &mut self,
        gate: &Arc<GateDefinition>,
        args: &[Angle],
        qubits: &[usize],
    ) -> Result<&mut Circuit, CircuitError> {
        let (given, expected) = (args.len(), gate.body.params.len());
        if given != expected {
            return Err(CircuitError::Arguments { gate: gate.name.clone(), given, expected });
        }
        let (given, expected) = (qubits.len(), gate.body.n_qubits);
        if given != expected {
            return Err(CircuitError::Targets { gate: gate.name.clone(), given, expected });
        }
        let n_qubits = self.n_qubits;
        let number = |&q: &usize| {
            u32::try_from(q).map_err(|_| CircuitError::NoSuchQubit { given: q, n_qubits })
        };
        let qubits = qubits.iter().map(number).collect::<Result<Qubits, _>>()?;
        if let Some(k) = (1..qubits.len()).find(|&k| qubits[..k].contains(&qubits[k])) {
            return Err(CircuitError::RepeatedQubit { qubit: qubits[k] });
        }
        let (first, gate, args) = (self.instructions.len(), Arc::clone(gate), args.into());
        let call = CallRecord { first, gate, args, qubits, controls: [].into(), inverse: false };
        self.all_or_nothing(|circuit| {
            for instruction in call.gates() {
                circuit.push(instruction)?;
            }
            Ok(circuit)
        })?;
        self.remember_call(call);
        Ok(self)
    }

    /// Records that some of the instructions are a call.
    #[doc(hidden)]
    pub fn remember_call(&mut self, call: CallRecord) {
        Arc::make_mut(&mut self.calls.0).push(call);
    }

    /// Returns the same instructions, none of which count as calls: texts and pictures show the
    /// bodies of gates with definitions.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ketgrad_core::{circuit::{Circuit, GateDefinition}, draw};
    /// let bell = Circuit::build(2, |c| c.h(0)?.cx(0, 1))?;
    /// let bell = Arc::new(GateDefinition::new("bell", bell)?);
    /// let circuit = Circuit::build(2, |c| c.call(&bell, &[], &[0, 1]))?;
    /// assert!(draw::text(&circuit, None).starts_with("q0: ─┤0 bell├─"));
    /// assert!(draw::text(&circuit.expanded(), None).starts_with("q0: ─┤H├─●─"));
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    #[must_use]
    pub fn expanded(mut self) -> Circuit {
        self.calls = CallLog::default();
        self
    }

    /// Returns the calls of gates with definitions whose instructions are unchanged, under one
    /// condition each; in order, none within another; no calls of an [expanded](Circuit::expanded)
    /// circuit.
    #[must_use]
    pub fn calls(&self) -> Vec<NamedCall<'_>> {
        let mut found: Vec<NamedCall<'_>> = Vec::new();
        for call in self.calls.0.iter() {
            let CallRecord { first, gate, args, qubits, controls, inverse } = call;
            let instructions = *first..first.saturating_add(gate.body.instructions.len());
            let Some(there) = self.instructions.get(instructions.clone()) else { continue };
            let free = found.last().is_none_or(|last| last.instructions.end <= *first);
            let is = |(own, given): (Instruction, &Instruction)| {
                own.operation == given.operation
                    && own.targets == given.targets
                    && own.controls == given.controls
                    && given.condition == there[0].condition
            };
            if free && call.gates().zip(there).all(is) {
                found.push(NamedCall {
                    instructions,
                    gate,
                    args,
                    qubits,
                    controls,
                    inverse: *inverse,
                });
            }
        }
        found
    }
}
