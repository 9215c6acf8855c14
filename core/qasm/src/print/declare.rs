//! The declarations of inputs and classical registers in OpenQASM 3.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};

use super::{
    ScratchRegisters,
    names::{UniqueNames, element},
};
use crate::circuit::Circuit;

/// Returns the declarations of the inputs, and the name of each.
pub(super) fn declare_inputs(circuit: &Circuit, names: &mut UniqueNames) -> (String, Vec<String>) {
    // Arrays: the number of elements, and one more than the highest index.
    let mut arrays: HashMap<&str, (usize, usize)> = HashMap::new();
    for (array, index) in circuit.inputs().filter_map(element) {
        let entry = arrays.entry(array).or_default();
        *entry = (entry.0 + 1, entry.1.max(index.saturating_add(1)));
    }
    let scalars: HashSet<&str> = circuit.inputs().filter(|i| element(i).is_none()).collect();
    let mut declared: HashMap<&str, String> = HashMap::new();
    let (mut text, mut given) = (String::new(), Vec::new());
    for input in circuit.inputs() {
        let complete = element(input).filter(|(array, _)| {
            arrays.get(array).is_some_and(|(n, size)| n == size) && !scalars.contains(array)
        });
        // Writing to a String cannot fail.
        let _ = match complete {
            Some((array, index)) => {
                let mut written = Ok(());
                let name = declared.entry(array).or_insert_with(|| {
                    let name = names.allocate(array);
                    let size = arrays.get(array).map_or(0, |a| a.1);
                    written = writeln!(text, "input array[float[64], {size}] {name};");
                    name
                });
                given.push(format!("{name}[{index}]"));
                written
            }
            None => {
                let name = names.allocate(input.trim_end_matches(']'));
                let written = writeln!(text, "input float[64] {name};");
                given.push(name);
                written
            }
        };
    }
    (text, given)
}

/// Returns the declarations of classical registers with these names. Hidden ones are not outputs,
/// and are left out if nothing reads them.
pub(super) fn declare_registers(
    circuit: &Circuit,
    names: &[(String, usize)],
    hidden: &ScratchRegisters,
    text: &mut String,
) {
    let mut first = 0;
    let with_bits = circuit.registers().iter().filter(|r| r.size > 0).zip(names);
    let declared: Vec<_> = with_bits
        .filter(|(register, _)| {
            let bits = first..first + u32::try_from(register.size).unwrap_or(u32::MAX);
            first = bits.end;
            !register.hidden || hidden.is_read(bits)
        })
        .collect();
    // Without any output all registers are.
    let outputs = if declared.iter().any(|(register, _)| register.hidden) { "output " } else { "" };
    for (register, (name, size)) in declared {
        let output = if register.hidden { "" } else { outputs };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{output}bit[{size}] {name};");
    }
}
