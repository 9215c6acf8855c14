//! Fusion groups: operations on arrays that run in one loop over the elements.
//!
//! ```text
//! v3 = mul v1, v1     v4 = add v3, v2     v5 = sum v4     v6 = mul v3, v4     one loop that gives v5 and v6
//! ```
//!
//! - An operation is fused with its reader if all its readers are in one group of the same block;
//!   so the values between them are never arrays. A reduction may end a group, of all elements or
//!   of those that were broadcast. A view may begin it: a part of an array (`slice`), or an array
//!   among zeros (`pad`), whose elements are read where they are.
//! - Groups whose ends have [one shape](crate::pass) become one, at the last of them, unless an
//!   instruction between them reads a result of the first.
//!
//! Cost: O(size).

use std::collections::HashMap;

use crate::{
    entity::{Block, Inst, Value},
    ir::{AbstractValue, ArrayOp, Element, Function, Kind, Op},
    pass::{ShapeClass, ShapeClasses},
};

use super::{
    super::fused_kernel::{FusedKernel, KernelInput, KernelOutput, KernelStep, KernelView},
    small_regions::SmallRegions,
};

/// Maximum number of operations in a group: each needs a chunk of fast memory for its results.
const MAX_GROUP: usize = 32;

/// Last instruction of the group of each instruction, if that is another one.
#[derive(Debug, Default)]
pub(super) struct FusionGroups {
    last: Vec<Option<Inst>>,
    /// The members of each group of several, in order, under its last one.
    members: HashMap<Inst, Vec<Inst>>,
    /// Groups that read each value, by their last instructions; `None` for a reader without a
    /// group.
    readers: Vec<Vec<Option<Inst>>>,
    /// True for each value of which an instruction reads the shape alone.
    shaped: Vec<bool>,
}

impl FusionGroups {
    /// Finds the groups, with the known facts about values.
    pub(super) fn find(
        f: &Function,
        known: &[AbstractValue],
        others: &SmallRegions,
    ) -> FusionGroups {
        let mut roles = roles(f);
        f.insts
            .keys()
            .filter(|i| others.contains(*i))
            .for_each(|i| roles[i.index()] = FusionRole::Other);
        let mut last = chains(f, &roles);
        let mut shapes = ShapeClasses::analyze(f, known);
        for block in f.blocks.values() {
            merge(f, &block.insts, &roles, &mut shapes, &mut last);
        }
        // A merged group's last one has joined nothing.
        for k in 0..last.len() {
            while let Some(end) = last[k].and_then(|end| last[end.index()]) {
                last[k] = Some(end);
            }
        }
        views(f, &mut roles, &mut last);
        let takes = |i: Inst| roles[i.index()] != FusionRole::Other;
        let mut members: HashMap<Inst, Vec<Inst>> = HashMap::new();
        let mut readers: Vec<Vec<Option<Inst>>> = vec![vec![]; f.kinds.len()];
        let mut shaped = vec![false; f.kinds.len()];
        for block in f.blocks.values() {
            for &i in &block.insts {
                let end = last[i.index()].unwrap_or(i);
                if takes(i) {
                    members.entry(end).or_default().push(i);
                }
                let group = takes(i).then_some(end);
                values_read(f, i).for_each(|v| readers[v.index()].push(group));
                shape_read(f, i).into_iter().for_each(|v| shaped[v.index()] = true);
            }
            let outside = block.end.targets().into_iter().flat_map(|t| t.args.iter().copied());
            outside.chain(block.end.operand()).for_each(|v| readers[v.index()].push(None));
        }
        FusionGroups { last, members, readers, shaped }
    }

    /// Returns true if an instruction is fused into a later one.
    pub(super) fn is_absorbed(&self, i: Inst) -> bool {
        self.last.get(i.index()).is_some_and(Option::is_some)
    }

    /// Returns true if an instruction is the last of a group.
    pub(super) fn is_group_end(&self, i: Inst) -> bool {
        self.members.contains_key(&i)
    }

    /// Returns the fused kernel of the group that ends with an instruction, the values it reads and
    /// those it gives.
    pub(super) fn kernel(&self, f: &Function, end: Inst) -> (FusedKernel, Vec<Value>, Vec<Value>) {
        let alone = [end];
        let members = self.members.get(&end).map_or(&alone[..], Vec::as_slice);
        let (mut views, mut steps, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut operands, mut results): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
        let mut known: HashMap<Value, KernelInput> = HashMap::new();
        for &i in members {
            let inst = &f.insts[i];
            let mut operand = |v: Value| {
                operands.iter().position(|w| *w == v).unwrap_or_else(|| {
                    operands.push(v);
                    operands.len() - 1
                })
            };
            if let (Op::OnArrays(op @ (ArrayOp::Slice | ArrayOp::Pad)), Some(v), &[a, b, c, d]) =
                (inst.op, inst.result, &inst.args[..])
            {
                known.insert(v, KernelInput::View(views.len()));
                views.push(KernelView { op, args: [a, b, c, d].map(operand), at: inst.at });
                continue;
            }
            let mut from = |v: Value| {
                known.get(&v).copied().unwrap_or_else(|| KernelInput::Operand(operand(v)))
            };
            let (Some(&first), Some(&second), Some(v)) =
                (inst.args.first(), inst.args.last(), inst.result)
            else {
                continue;
            };
            let from = [from(first), from(second)];
            let sum = match (inst.op, from) {
                (Op::Sum, [x, _]) => Some(KernelOutput::Sum(x)),
                (Op::OnArrays(ArrayOp::SumKeep), [x, KernelInput::Operand(axis)]) => {
                    Some(KernelOutput::SumKeep(x, axis))
                }
                (Op::OnArrays(_), [x, like]) => Some(KernelOutput::SumLike(x, like)),
                _ => None,
            };
            if let Some(sum) = sum {
                outputs.push(sum);
                results.push(v);
                continue;
            }
            let outside = |reader: &Option<Inst>| *reader != Some(end);
            if i == end || self.readers.get(v.index()).is_none_or(|r| r.iter().any(outside)) {
                outputs.push(KernelOutput::Array(steps.len()));
                results.push(v);
            } else if self.shaped.get(v.index()).is_some_and(|&s| s) {
                outputs.push(KernelOutput::Shape(steps.len()));
                results.push(v);
            }
            known.insert(v, KernelInput::Step(steps.len()));
            let complex = f.kinds[v] == Kind::Array(Element::Complex);
            steps.push(KernelStep { op: inst.op, from, complex, at: inst.at });
        }
        (FusedKernel { number: 0, views, steps, outputs }, operands, results)
    }
}

/// Joins operations with the only group that reads them.
fn chains(f: &Function, roles: &[FusionRole]) -> Vec<Option<Inst>> {
    let mut last: Vec<Option<Inst>> = vec![None; f.insts.len()];
    let mut size = vec![1; f.insts.len()];
    // The group that reads a value: none yet, one, or several.
    let mut readers: Vec<Option<Option<Inst>>> = vec![None; f.kinds.len()];
    for block in f.blocks.values() {
        let outside = block.end.targets().into_iter().flat_map(|t| t.args.iter().copied());
        for v in outside.chain(block.end.operand()) {
            readers[v.index()] = Some(None);
        }
    }
    let (home, definitions) = (block_of(f), f.definitions());
    // A reader in another block, or one that is not elementwise, is never fused.
    let mut place = vec![0; f.insts.len()];
    for (b, block) in f.blocks.iter() {
        for (k, &i) in block.insts.iter().enumerate() {
            place[i.index()] = k;
            for v in values_read(f, i) {
                let near =
                    definitions[v.index()].and_then(|d| home[d.index()]).is_some_and(|c| c == b);
                if !near || roles[i.index()].is_apart() {
                    readers[v.index()] = Some(None);
                }
            }
        }
    }
    for block in f.blocks.values() {
        // Position at which the shape of a value is first read in this block: the value must be
        // computed by then.
        let mut asked: HashMap<Value, usize> = HashMap::new();
        for &i in block.insts.iter().rev() {
            let inst = &f.insts[i];
            let makes = roles[i.index()] == FusionRole::Elementwise;
            let group = inst.result.filter(|_| makes).and_then(|v| readers[v.index()].flatten());
            let by = inst.result.and_then(|v| asked.get(&v)).copied().unwrap_or(usize::MAX);
            let fits = |g: &Inst| size[g.index()] < MAX_GROUP && place[g.index()] < by;
            let end = group.filter(fits).unwrap_or(i);
            if let Some(v) = shape_read(f, i) {
                asked.insert(v, place[i.index()]);
            }
            if end != i {
                last[i.index()] = Some(end);
                size[end.index()] += 1;
            }
            if roles[i.index()].is_apart() {
                continue;
            }
            for v in values_read(f, i) {
                let reader = &mut readers[v.index()];
                *reader = match reader {
                    None => Some(Some(end)),
                    Some(Some(other)) if *other == end => continue,
                    _ => Some(None),
                };
            }
        }
    }
    last
}

/// Lets groups read views without a copy, if there is no other reader, not even of their shape. All
/// others are made as arrays.
fn views(f: &Function, roles: &mut [FusionRole], last: &mut [Option<Inst>]) {
    // The group that reads a value: none yet, one, or several or something else.
    let mut readers: Vec<Option<Option<Inst>>> = vec![None; f.kinds.len()];
    let mut read = |v: Value, by: Option<Inst>| {
        let reader = &mut readers[v.index()];
        *reader = if reader.is_none_or(|r| r == by) { Some(by) } else { Some(None) };
    };
    for block in f.blocks.values() {
        for &i in &block.insts {
            let group = (!roles[i.index()].is_apart()).then_some(last[i.index()].unwrap_or(i));
            values_read(f, i).for_each(|v| read(v, group));
            shape_read(f, i).into_iter().for_each(|v| read(v, None));
        }
        let outside = block.end.targets().into_iter().flat_map(|t| t.args.iter().copied());
        outside.chain(block.end.operand()).for_each(|v| read(v, None));
    }
    let home = block_of(f);
    for i in f.insts.keys().filter(|i| roles[i.index()] == FusionRole::View).collect::<Vec<_>>() {
        let reader = f.insts[i].result.and_then(|v| readers[v.index()].flatten());
        match reader.filter(|end| home[end.index()] == home[i.index()]) {
            Some(end) => last[i.index()] = Some(end),
            None => roles[i.index()] = FusionRole::Other,
        }
    }
}

/// A group to which others may come.
struct OpenGroup {
    class: ShapeClass,
    last: Inst,
    size: usize,
    /// Values that it gives to others, and those of them that are sums: these are available after
    /// its loop.
    gives: Vec<Value>,
    sums: Vec<Value>,
}

/// Merges the groups of a block whose ends have one shape.
fn merge(
    f: &Function,
    insts: &[Inst],
    roles: &[FusionRole],
    shapes: &mut ShapeClasses<'_>,
    last: &mut [Option<Inst>],
) {
    let mut chains: HashMap<Inst, Vec<Inst>> = HashMap::new();
    for &i in insts.iter().filter(|&&i| !roles[i.index()].is_apart()) {
        chains.entry(last[i.index()].unwrap_or(i)).or_default().push(i);
    }
    let shaped: Vec<Value> = insts.iter().filter_map(|&i| shape_read(f, i)).collect();
    let mut open: Vec<OpenGroup> = Vec::new();
    for &i in insts {
        if last[i.index()].is_some() {
            continue;
        }
        let Some(chain) = chains.get(&i) else {
            // Another instruction: its operands must be computed.
            open.retain(|group| !f.insts[i].args.iter().any(|v| group.gives.contains(v)));
            continue;
        };
        let inst = &f.insts[i];
        let whole = if roles[i.index()] == FusionRole::Elementwise {
            inst.result
        } else {
            inst.args.first().copied()
        };
        let Some(class) = whole.map(|v| shapes.class(v)) else { continue };
        let reads: Vec<Value> =
            chain.iter().flat_map(|&j| f.insts[j].args.iter().copied()).collect();
        open.retain(|group| {
            let joins = group.class == class
                && group.size + chain.len() <= MAX_GROUP
                && !reads.iter().any(|v| group.sums.contains(v));
            joins || group.class != class && !reads.iter().any(|v| group.gives.contains(v))
        });
        let hollow = chain.iter().filter_map(|&j| f.insts[j].result).filter(|v| shaped.contains(v));
        let gives: Vec<Value> = hollow.chain(f.insts[i].result).collect();
        let sums = f.insts[i].result.filter(|_| roles[i.index()] == FusionRole::Reduction);
        match open.iter_mut().find(|group| group.class == class) {
            Some(group) => {
                last[group.last.index()] = Some(i);
                group.last = i;
                group.size += chain.len();
                group.gives.extend(gives);
                group.sums.extend(sums);
            }
            None => {
                let sums = sums.into_iter().collect();
                open.push(OpenGroup { class, last: i, size: chain.len(), gives, sums });
            }
        }
    }
}

/// Role of an instruction in the fusion of loops over elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FusionRole {
    /// Elementwise operation that gives an array.
    Elementwise,
    /// Reduction, which may read elements as they are computed.
    Reduction,
    /// View: its elements are read from other places.
    View,
    Other,
}

impl FusionRole {
    /// Returns true if it is not an operation on elements.
    fn is_apart(self) -> bool {
        matches!(self, FusionRole::Other | FusionRole::View)
    }
}

fn roles(f: &Function) -> Vec<FusionRole> {
    let (home, definitions) = (block_of(f), f.definitions());
    let makes = |i: Inst| {
        let inst = &f.insts[i];
        inst.op.is_elementwise()
            && inst.result.is_some_and(|v| matches!(f.kinds[v], Kind::Array(_)))
    };
    let role = |i: Inst| match f.insts[i].op {
        _ if makes(i) => FusionRole::Elementwise,
        _ if f.insts[i].shape_list(f).is_some() => FusionRole::Other,
        Op::Sum => FusionRole::Reduction,
        Op::OnArrays(ArrayOp::Slice | ArrayOp::Pad) => {
            match f.insts[i].result.map(|v| &f.kinds[v]) {
                Some(Kind::Array(Element::Real | Element::Complex)) => FusionRole::View,
                _ => FusionRole::Other,
            }
        }
        // Reductions of an array that is in memory anyway run alone.
        Op::OnArrays(ArrayOp::SumKeep | ArrayOp::SumLike) => {
            let maker = definitions[f.insts[i].args[0].index()].filter(|&d| makes(d));
            let near = maker.is_some_and(|d| home[d.index()] == home[i.index()]);
            if near { FusionRole::Reduction } else { FusionRole::Other }
        }
        _ => FusionRole::Other,
    };
    f.insts.keys().map(role).collect()
}

/// Returns the array of which an instruction reads the shape alone.
fn shape_read(f: &Function, i: Inst) -> Option<Value> {
    let inst = &f.insts[i];
    match inst.op {
        Op::OnArrays(ArrayOp::SumLike | ArrayOp::BroadcastTo) => inst.args.get(1).copied(),
        _ => None,
    }
}

/// Returns the operands whose values an instruction reads.
fn values_read(f: &Function, i: Inst) -> impl Iterator<Item = Value> + '_ {
    let args = &f.insts[i].args;
    let count = if shape_read(f, i).is_some() { 1 } else { args.len() };
    args.iter().copied().take(count)
}

/// Returns the block of each instruction.
fn block_of(f: &Function) -> Vec<Option<Block>> {
    let mut home = vec![None; f.insts.len()];
    for (b, block) in f.blocks.iter() {
        block.insts.iter().for_each(|i| home[i.index()] = Some(b));
    }
    home
}
