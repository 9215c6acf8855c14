//! Compiler from IR to bytecode.
//!
//! ```text
//! select ──► edges ──► coalesce ──► shorten ──► last uses
//! ```
//!
//! - Every value gets a register for each leaf; constants are loaded once, at the start of the
//!   routine.
//! - Elementwise operations on arrays are fused into one loop without intermediate arrays.
//! - Arithmetic whose result one other instruction of its block reads is fused with it into a
//!   superinstruction.
//! - Phi lowering turns an edge into parallel moves from the arguments to the parameters; a short
//!   block with several predecessors is duplicated at the end of each, so a loop ends with its own
//!   test.
//! - Registers that moves connect are coalesced, and jumps are threaded.
//!
//! Code for an interceptor is made without all of these.
//!
//! Cost: O(size), but for [`coalesce`](super::coalesce).

mod compiler;
mod fusion_groups;
mod phi_lowering;
mod select;
mod small_program;
mod small_regions;
mod superinstructions;
mod tape_checksums;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::{
    entity::FuncId,
    ir::{AbstractValue, Op, Program, verify_reachable},
};

use super::{
    bytecode::{Bytecode, Routine},
    error::CallError,
};
use compiler::Compiler;
pub(super) use compiler::Style;
pub(super) use tape_checksums::TapeProvenance;
use tape_checksums::checked_tapes;

impl Bytecode {
    /// Compiles a function and all it calls.
    ///
    /// # Errors
    /// A function without a body, and a program that is not well formed.
    pub fn compile(program: &Program, root: FuncId) -> Result<Bytecode, CallError> {
        verify_reachable(program, root).map_err(Box::new)?;
        Bytecode::compile_as(program, root, Style::Fast, &[], TapeProvenance::Unknown)
    }

    /// Compiles like [`compile`](Bytecode::compile), with the known facts about the values of the
    /// function itself, by their numbers.
    pub(super) fn compile_for(
        program: &Program,
        root: FuncId,
        known: &[AbstractValue],
        tapes: TapeProvenance,
    ) -> Result<Bytecode, CallError> {
        Bytecode::compile_as(program, root, Style::Fast, known, tapes)
    }

    /// Compiles like [`compile`](Bytecode::compile), in the given style.
    pub(super) fn compile_as(
        program: &Program,
        root: FuncId,
        style: Style,
        known: &[AbstractValue],
        whose: TapeProvenance,
    ) -> Result<Bytecode, CallError> {
        let (mut ids, mut seen) = (vec![root], HashSet::from([root]));
        let mut next = 0;
        while let Some(&f) = ids.get(next) {
            next += 1;
            let function = &program.functions[f];
            if !function.is_defined() {
                return Err(CallError::Undefined { name: function.name.clone() });
            }
            ids.extend(function.callees().into_iter().filter(|g| seen.insert(*g)));
        }
        // True if the function by itself decides what is on its tapes.
        let alone = !ids[1..].iter().any(|&f| {
            let mut ops = program.functions[f].insts.values().map(|i| i.op);
            ops.any(|op| matches!(op, Op::Push { .. } | Op::Pop { .. }) || op == Op::Call(root))
        });
        let balanced = match whose {
            TapeProvenance::Derived => vec![],
            TapeProvenance::Unknown => checked_tapes(ids.iter().map(|&f| &program.functions[f])),
        };
        let numbers: HashMap<FuncId, u32> = ids.iter().copied().zip(0..).collect();
        let of = |&f: &FuncId| {
            let known = if f == root { known } else { &[] };
            Compiler::new(program, f, &numbers, style, known, alone, &balanced).routine()
        };
        let mut routines: Vec<Routine> = ids.iter().map(of).collect();
        for (k, kernel) in routines.iter_mut().flat_map(|r| &mut r.kernels).enumerate() {
            Arc::make_mut(kernel).number = k;
        }
        let tape = |op| match op {
            Op::Push { tape, .. } | Op::Pop { tape, .. } => tape as usize + 1,
            _ => 0,
        };
        let ops = ids.iter().flat_map(|&f| program.functions[f].insts.values().map(|i| i.op));
        let tapes = ops.map(tape).max().unwrap_or(0);
        let function = &program.functions[root];
        Ok(Bytecode {
            routines,
            primitives: program.primitives.values().cloned().collect(),
            params: function.params.clone(),
            result: function.result.clone(),
            tapes,
            checked_tapes: balanced.into(),
            #[cfg(feature = "jit")]
            native: None,
        })
    }
}
