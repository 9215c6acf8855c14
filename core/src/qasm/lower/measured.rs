//! A qubit must not be used after it was measured: this version runs measurements at the end only.

use std::collections::HashMap;

use super::{Item, Lowering};
use crate::qasm::{
    ast::Place,
    diagnostic::{Diagnostic, Problem},
};

/// After so many qubits the rest goes without saying.
const MOST: usize = 8;

impl Lowering<'_> {
    /// Reports gates on qubits that were measured. The plan was counted, so walking it is bounded.
    pub(super) fn refuse_early_measurements(&mut self) {
        let mut measured: HashMap<u32, Place> = HashMap::new();
        let mut found: Vec<(u32, Place, Place)> = Vec::new();
        for item in &self.plan {
            match item {
                Item::Measure { qubits, place, .. } => measured.extend(qubits.iter().map(|q| (q, *place))),
                Item::Call(call) if !measured.is_empty() => {
                    let place = Place { source: call.source, span: call.span };
                    for qubit in call.qubits.iter().flat_map(|picks| picks.iter()) {
                        if let Some(before) = measured.remove(&qubit) {
                            found.push((qubit, before, place));
                        }
                    }
                }
                _ => {}
            }
            if found.len() >= MOST {
                break;
            }
        }
        found.truncate(MOST);
        for (qubit, before, place) in found {
            let error = Diagnostic::error(Problem::MeasuredEarly { qubit: self.qubit_name(qubit) });
            self.diagnostics.push(error.at(place, "used here").at(before, "measured here"));
        }
    }
}
