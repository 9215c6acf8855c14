//! Outcomes of a circuit as text.

use super::Circuit;
use crate::classical::{ClassicalMemory, MemoryLayout, VariableId};

impl ClassicalMemory {
    /// Returns the registers as text: last declared leftmost, separated by spaces, bit 0 of each
    /// rightmost; then the variables, `n=3 x=0.5`, in order of declaration; hidden ones left out.
    #[must_use]
    pub fn text(&self, circuit: &Circuit) -> String {
        let mut first = 0;
        let mut registers: Vec<String> = Vec::new();
        for register in circuit.registers() {
            let end = first + u32::try_from(register.size).unwrap_or(u32::MAX);
            if register.hidden {
                first = end;
                continue;
            }
            registers.push(
                (first..end).rev().map(|bit| if self.get(bit) { '1' } else { '0' }).collect(),
            );
            first = end;
        }
        registers.reverse();
        if circuit.variables().iter().any(|variable| !variable.hidden) {
            let layout = MemoryLayout::new(circuit.variables());
            for (k, variable) in circuit.variables().iter().enumerate() {
                if !variable.hidden {
                    let id = VariableId::new(u32::try_from(k).unwrap_or(u32::MAX));
                    let text = self.variable_text(&layout, id, &variable.ty);
                    registers.push(format!("{}={text}", variable.name));
                }
            }
        }
        registers.join(" ")
    }
}
