//! Replacement of recorded arrays by their shapes, where the adjoint needs the shape alone.
//!
//! ```text
//! v8: array<real> = …                           v8: array<real> = …
//! push.0.1 v8                                   v9: array<int> = shape v8
//!                                               push.0.1 v9
//! v20: array<real> = pop.0.1              ->    v20: array<int> = pop.0.1
//! v21: array<real> = like v18, v20              v21: array<real> = like v18, v20
//! ```
//!
//! Otherwise a loop that writes a row of an array in each iteration would keep a copy of it for
//! each iteration: an array on a tape is not updated in place. This is the last step before a
//! function is compiled, and no number changes. Cost: O(size).

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{
    entity::{Block, FuncId, Inst, Value},
    ir::{ArrayOp, Element, Function, Kind, Op, Program},
};

use super::{
    LoopForest,
    specialise::{foreign, slot},
};

/// Pushes and pops of a slot of a tape.
#[derive(Default)]
struct SlotUses {
    pushes: Vec<(Block, Inst)>,
    pops: Vec<Value>,
    /// True if one of the values is not an array of numbers.
    other: bool,
}

/// Keeps shapes on the tapes of a function that is run by itself.
#[doc(hidden)]
pub fn keep_shapes(program: &mut Program, id: FuncId) {
    let Some(foreign) = foreign(program, id) else { return };
    let f = &mut program.functions[id];
    let mut slots: BTreeMap<(u32, u32), SlotUses> = BTreeMap::new();
    for (b, block) in f.blocks.iter() {
        for &i in &block.insts {
            let inst = &f.insts[i];
            let Some(key) = slot(inst.op).filter(|key| !foreign.contains(key)) else { continue };
            let entry = slots.entry(key).or_default();
            let v = match inst.result {
                Some(v) => {
                    entry.pops.push(v);
                    v
                }
                None => {
                    entry.pushes.push((b, i));
                    inst.args[0]
                }
            };
            entry.other |= !matches!(f.kinds[v], Kind::Array(Element::Real | Element::Complex));
        }
    }
    slots.retain(|_, slot| !slot.other && !slot.pops.is_empty());
    if slots.is_empty() {
        return;
    }
    let (used, loops, home) = (used_otherwise(f), LoopForest::analyze(f), homes(f));
    slots.retain(|_, slot| {
        slot.pops.iter().all(|v| !used.contains(v))
            && slot
                .pushes
                .iter()
                .any(|&(b, i)| is_made_in_loop(&loops, &home, b, f.insts[i].args[0]))
    });
    let popped: HashSet<Value> =
        slots.values().flat_map(|slot| slot.pops.iter().copied()).collect();
    // The shape is computed where the array is defined, so that instructions before the push may
    // update the array in place.
    let mut after: HashMap<Value, Vec<Inst>> = HashMap::new();
    for (_, push) in slots.into_values().flat_map(|slot| slot.pushes) {
        let (x, at) = (f.insts[push].args[0], f.insts[push].at);
        let kind = Kind::Array(Element::Int);
        let (inst, shape) = f.new_inst(Op::OnArrays(ArrayOp::Shape), &[x], Some(kind), at);
        f.insts[push].args = shape.into_iter().collect();
        after.entry(x).or_default().push(inst);
    }
    let insts = &f.insts;
    for block in f.blocks.values_mut().filter(|_| !after.is_empty()) {
        let made = |v: &Value| after.get(v).into_iter().flatten().copied();
        let first: Vec<Inst> = block.params.iter().flat_map(made).collect();
        let rest = std::mem::take(&mut block.insts);
        let rest = rest
            .into_iter()
            .flat_map(|i| std::iter::once(i).chain(insts[i].result.iter().flat_map(made)));
        block.insts = first.into_iter().chain(rest).collect();
    }
    popped.iter().for_each(|v| f.kinds[*v] = Kind::Array(Element::Int));
    let mut shapes: HashMap<Value, Value> = HashMap::new();
    for i in f.insts.keys().collect::<Vec<_>>() {
        let inst = &mut f.insts[i];
        let Some(&x) = inst.args.first().filter(|x| popped.contains(x)) else { continue };
        match inst.op {
            Op::Len => inst.op = Op::OnArrays(ArrayOp::Count),
            Op::OnArrays(ArrayOp::Dim) => inst.op = Op::Get,
            _ => shapes.extend(inst.result.map(|v| (v, x))),
        }
    }
    if !shapes.is_empty() {
        f.map_uses(|v| shapes.get(&v).copied().unwrap_or(v));
        let insts = &f.insts;
        let needed = |i: &Inst| insts[*i].result.is_none_or(|v| !shapes.contains_key(&v));
        f.blocks.values_mut().for_each(|b| b.insts.retain(needed));
    }
}

/// Returns the values of which more than the shape is used.
fn used_otherwise(f: &Function) -> HashSet<Value> {
    let mut used = HashSet::new();
    for block in f.blocks.values() {
        for &i in &block.insts {
            let inst = &f.insts[i];
            let is_array =
                |k: usize| inst.args.get(k).is_some_and(|v| matches!(f.kinds[*v], Kind::Array(_)));
            let shape_of = match inst.op {
                Op::Len | Op::OnArrays(ArrayOp::Dim | ArrayOp::Shape) => Some(0),
                Op::OnArrays(op) if op.takes_shape() && is_array(0) => Some(1),
                _ => None,
            };
            used.extend(
                inst.args.iter().enumerate().filter(|(k, _)| Some(*k) != shape_of).map(|(_, v)| *v),
            );
        }
        used.extend(block.end.operand());
        used.extend(block.end.targets().into_iter().flat_map(|t| t.args.iter().copied()));
    }
    used
}

/// Returns the block that defines each value.
fn homes(f: &Function) -> HashMap<Value, Block> {
    let mut home = HashMap::new();
    for (b, block) in f.blocks.iter() {
        home.extend(block.params.iter().map(|p| (*p, b)));
        home.extend(block.insts.iter().filter_map(|i| Some((f.insts[*i].result?, b))));
    }
    home
}

/// Returns true if a block is in a loop that holds the definition of a value: otherwise one array
/// is kept, for any number of iterations.
fn is_made_in_loop(loops: &LoopForest, home: &HashMap<Value, Block>, b: Block, v: Value) -> bool {
    let Some(innermost) = loops.innermost[b.index()] else { return false };
    home.get(&v).is_some_and(|home| loops.list[innermost].blocks.contains(home))
}
