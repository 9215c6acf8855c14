//! The declarations of inputs, classical registers and variables in OpenQASM 3.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};

use super::{
    ScratchRegisters,
    blocks::VariableUses,
    names::{UniqueNames, element},
};
use crate::{
    circuit::Circuit,
    classical::{ClassicalType, VariableId, VariableType},
};

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

/// Appends the declarations of classical registers and variables with these names, and of the
/// variable `leave` of exits. Hidden ones are not outputs, and are left out if nothing reads them.
pub(super) fn declare_classical(
    circuit: &Circuit,
    (registers, variables): (&[(String, usize)], &[String]),
    (hidden, uses, leave): (&ScratchRegisters, &VariableUses, Option<&str>),
    text: &mut String,
) {
    let mut first = 0;
    // Whether it is hidden, and its type and name with the value that it starts with.
    let mut declared: Vec<(bool, String)> = Vec::new();
    let with_bits = circuit.registers().iter().filter(|r| r.size > 0).zip(registers);
    for (register, (name, size)) in with_bits {
        let bits = first..first + u32::try_from(register.size).unwrap_or(u32::MAX);
        first = bits.end;
        if !register.hidden || hidden.is_read(bits) {
            declared.push((register.hidden, format!("bit[{size}] {name};")));
        }
    }
    for (k, (variable, name)) in circuit.variables().iter().zip(variables).enumerate() {
        let id = VariableId::new(u32::try_from(k).unwrap_or(u32::MAX));
        if !variable.hidden || uses.mentioned.contains(&id) && !uses.of_loops.contains(&id) {
            let VariableType { scalar, shape } = &variable.ty;
            let ty = match shape.as_slice() {
                [] => scalar.to_string(),
                sizes => {
                    let sizes: String = sizes.iter().map(|size| format!(", {size}")).collect();
                    format!("array[{scalar}{sizes}]")
                }
            };
            declared.push((variable.hidden, format!("{ty} {name} = {};", zeros(*scalar, shape))));
        }
    }
    declared.extend(leave.map(|name| (true, format!("int {name} = 0;"))));
    // Without any output all registers and variables are.
    let outputs = if declared.iter().any(|(is_hidden, _)| *is_hidden) { "output " } else { "" };
    for (is_hidden, declaration) in declared {
        let output = if is_hidden { "" } else { outputs };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{output}{declaration}");
    }
}

/// The value 0 of a type, or an array of it.
fn zeros(scalar: ClassicalType, shape: &[u32]) -> String {
    let Some((&size, inner)) = shape.split_first() else {
        return match scalar {
            ClassicalType::Bool => "false".to_owned(),
            ClassicalType::Bits(width) => format!("\"{}\"", "0".repeat(width as usize)),
            ClassicalType::Int(_) => "0".to_owned(),
            ClassicalType::Angle(_) | ClassicalType::Float(_) | ClassicalType::Complex(_) => {
                "0.0".to_owned()
            }
        };
    };
    let rows = vec![zeros(scalar, inner); size as usize];
    format!("{{{}}}", rows.join(", "))
}
