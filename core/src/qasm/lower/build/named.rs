//! Gates that the file defines, as gates with names.

use std::{collections::HashMap, sync::Arc};

use super::{Builder, Places, Value};
use crate::circuit::{Circuit, GateDefinition, Qubits};

/// The sources that files take for granted: their gates are not of the file.
pub(super) const STANDARD: [&str; 4] = ["qelib1.inc", "stdgates.inc", "usual.inc", "powers.inc"];

impl Builder<'_> {
    /// A definition of the file as a gate with a name, if it is made of gates and angles over its parameters alone.
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

    fn gate_definition(&self, number: usize) -> Option<GateDefinition> {
        let definition = &self.definitions[number];
        let mut body = Circuit::new(definition.n_qubits);
        let args = (0..definition.n_params).map(|k| Value::Angle(body.param(&format!("p{k}"))));
        let args: Vec<Value> = args.collect();
        let mut inner = Builder {
            places: Places::new(),
            circuit: body,
            definitions: self.definitions,
            names: self.names,
            computed: HashMap::new(),
            written: 0,
            powers: HashMap::new(),
            place: self.place,
            condition: None,
            conditions: &[],
            sink: 0,
            loops: Vec::new(),
            own: Vec::new(),
            named: HashMap::new(),
        };
        let qubits: Qubits = (0..).take(definition.n_qubits).collect();
        inner.body(number, &args, &[], &qubits, false).ok()?;
        GateDefinition::new(self.names.name(definition.name), inner.circuit).ok()
    }
}
