//! Blocks in OpenQASM 3: what a header needs that the language has not.
//!
//! ```text
//! a block that is left               for int once in [0:0] { … break; … }
//! an exit of two loops               leave = 1; break;  … }  if (leave > 0) { leave = leave - 1; break; }
//! the next round of the outer one    leave = -1; break; … }  if (leave < 0) { leave = leave + 1; … continue; }
//! ```
//! The variable of a `for` is the language's own where nothing outside of such loops mentions it;
//! otherwise the loop has another one, whose value it is given.

use std::collections::HashSet;

use crate::{
    circuit::{Circuit, Instruction, Operation, Part},
    classical::VariableId,
};

/// How exits leave the blocks of a circuit.
#[derive(Default)]
pub(super) struct BlockExits {
    /// Blocks that a `break` leaves, by the position of the header.
    pub(super) left: HashSet<usize>,
    /// Loops and blocks that an exit of an outer one leaves: by `break`, and by `continue`.
    pub(super) for_break: HashSet<usize>,
    pub(super) for_continue: HashSet<usize>,
}

impl BlockExits {
    pub(super) fn new(circuit: &Circuit) -> BlockExits {
        let mut exits = BlockExits::default();
        // The loops and blocks around, by the positions of their headers; nothing for an `if`.
        let mut open: Vec<Option<usize>> = Vec::new();
        let mut at = 0;
        for part in circuit.parts() {
            match part {
                Part::Run(run) => {
                    let around: Vec<usize> = open.iter().rev().filter_map(|o| *o).collect();
                    for instruction in run {
                        let (levels, crossed) = match instruction.operation {
                            Operation::Break { levels } => (levels as usize, &mut exits.for_break),
                            Operation::Continue { levels } => {
                                (levels as usize, &mut exits.for_continue)
                            }
                            _ => continue,
                        };
                        let inner = around.iter().take(levels.saturating_sub(1));
                        crossed.extend(inner.clone());
                        exits.left.extend(inner);
                        if let Operation::Break { .. } = instruction.operation {
                            exits.left.extend(levels.checked_sub(1).and_then(|k| around.get(k)));
                        }
                    }
                    at += run.len();
                }
                Part::Open { head, .. } => {
                    let is_counted = matches!(
                        head.operation,
                        Operation::While { .. } | Operation::For { .. } | Operation::Block { .. }
                    );
                    open.push(is_counted.then_some(at));
                    at += 1;
                }
                Part::Close { .. } => {
                    open.pop();
                }
            }
        }
        exits
    }

    /// Returns true if there are exits of several loops and blocks at once.
    pub(super) fn has_crossings(&self) -> bool {
        !self.for_break.is_empty() || !self.for_continue.is_empty()
    }
}

/// Uses of the variables of a circuit.
#[derive(Default)]
pub(super) struct VariableUses {
    /// Those that something reads or writes.
    pub(super) mentioned: HashSet<VariableId>,
    /// Those that loops declare: hidden ones that nothing outside of their loops mentions.
    pub(super) of_loops: HashSet<VariableId>,
}

impl VariableUses {
    pub(super) fn new(circuit: &Circuit) -> VariableUses {
        let is_hidden =
            |id: VariableId| circuit.variables().get(id.index()).is_some_and(|v| v.hidden);
        let (mut mentioned, mut loops, mut outside) =
            (HashSet::new(), HashSet::new(), HashSet::new());
        // The variables of the loops around.
        let mut open: Vec<Option<VariableId>> = Vec::new();
        let mut mention = |instruction: &Instruction, open: &[Option<VariableId>]| {
            let mut one = |id: VariableId| {
                mentioned.insert(id);
                if !open.contains(&Some(id)) {
                    outside.insert(id);
                }
            };
            instruction.for_each_variable_read(&mut one);
            match &instruction.operation {
                // Within a loop over the same variable it would be another one.
                Operation::For { over, .. } if open.contains(&Some(over.variable)) => {
                    outside.insert(over.variable);
                }
                Operation::For { .. } => {}
                operation => operation.written_variable().into_iter().for_each(one),
            }
        };
        for part in circuit.parts() {
            match part {
                Part::Run(run) => run.iter().for_each(|instruction| mention(instruction, &open)),
                Part::Open { head, .. } => {
                    mention(head, &open);
                    open.push(match &head.operation {
                        Operation::For { over, .. } => {
                            loops.insert(over.variable);
                            Some(over.variable)
                        }
                        _ => None,
                    });
                }
                Part::Close { .. } => {
                    open.pop();
                }
            }
        }
        let of_loops: HashSet<VariableId> =
            loops.iter().copied().filter(|id| is_hidden(*id) && !outside.contains(id)).collect();
        mentioned.extend(loops);
        VariableUses { mentioned, of_loops }
    }
}
