//! Gates that the file defines, as gates with names.

use std::sync::Arc;

use super::{Builder, Exponent, GateCallee, QasmValue, Resolved};
use crate::{
    circuit::{CallRecord, Circuit, Control, GateDefinition},
    param::Angle,
};

/// The sources that files take for granted: their gates are not of the file.
pub(super) const STANDARD: [&str; 4] = ["qelib1.inc", "stdgates.inc", "usual.inc", "powers.inc"];

impl Builder<'_> {
    /// A definition of the file as a gate with a name, if it is made of gates and angles over its
    /// parameters alone.
    pub(super) fn named(&mut self, number: usize) -> Option<Arc<GateDefinition>> {
        if let Some(known) = self.named.get(&number) {
            return known.clone();
        }
        let definition = &self.definitions[number];
        let is_own = self.own.get(definition.place.source as usize) == Some(&true);
        let named = is_own.then(|| self.gate_definition(number)).flatten().map(Arc::new);
        self.named.insert(number, named.clone());
        named
    }

    /// Records that the instructions from this one on are calls of a definition of the file: as
    /// often as its power says.
    pub(super) fn remember(
        &mut self,
        gate: &Resolved,
        args: &[QasmValue],
        qubits: &[u32],
        mut first: usize,
    ) {
        let modifiers = gate.modifiers.as_deref();
        let times = match modifiers.map_or(&[][..], |m| &m.exponents) {
            [] => 1,
            [Exponent::Integer(times)] => *times,
            _ => return,
        };
        let GateCallee::Defined(number) = gate.callee else { return };
        let Some(definition) = self.named(number) else { return };
        let Some(args) = args.iter().map(QasmValue::angle).collect::<Option<Box<[Angle]>>>() else {
            return;
        };
        let values = modifiers.map_or(&[][..], |m| &m.controls);
        let (controls, qubits) = qubits.split_at(values.len());
        let controls = controls.iter().zip(values).map(|(&qubit, &value)| Control { qubit, value });
        let call = CallRecord {
            first,
            gate: Arc::clone(&definition),
            args,
            qubits: qubits.into(),
            controls: controls.collect(),
            inverse: times < 0,
        };
        for _ in 0..times.unsigned_abs() {
            self.circuit.remember_call(CallRecord { first, ..call.clone() });
            first += definition.body().instructions().len();
        }
    }

    fn gate_definition(&self, number: usize) -> Option<GateDefinition> {
        let definition = &self.definitions[number];
        let mut body = Circuit::new(definition.qubits.len());
        let names = definition.qubits.iter().map(|&name| (self.names.name(name), 1));
        body.name_qubits(names).ok()?;
        let args = definition
            .params
            .iter()
            .map(|&name| QasmValue::Angle(body.param(self.names.name(name))));
        let args: Vec<QasmValue> = args.collect();
        let body = self.body_alone(number, &args, body).ok()?;
        GateDefinition::new(self.names.name(definition.name), body).ok()
    }
}
