//! Which operations on arrays are done together, in one loop over the elements.
//!
//! An operation joins the one that reads it if all who read it are in one group of the same block; so only the last
//! operation of a group writes an array. A sum may end a group.
//!
//! Cost: O(size).

use crate::{
    entity::{Block, Inst, Value},
    ir::{Element, Function, Kind, Op},
};

use super::super::recipe::{From, Recipe, Step};

/// How many operations are done together at most: each needs a stretch of fast memory for its results.
const LONGEST: usize = 32;

/// For each instruction the last one of its group, if that is another one.
#[derive(Debug, Default)]
pub(super) struct Together {
    last: Vec<Option<Inst>>,
    /// The block and the place of each instruction.
    home: Vec<Option<(Block, usize)>>,
    definitions: Vec<Option<Inst>>,
}

impl Together {
    pub(super) fn of(f: &Function) -> Together {
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
        let mut home = vec![None; f.insts.len()];
        for (b, block) in f.blocks.iter() {
            block.insts.iter().enumerate().for_each(|(k, i)| home[i.index()] = Some((b, k)));
        }
        let definitions = f.definitions();
        // Who reads from another block, or does something else, is never joined.
        for (b, block) in f.blocks.iter() {
            for &i in &block.insts {
                for &v in &f.insts[i].args {
                    let near =
                        definitions[v.index()].and_then(|d| home[d.index()]).is_some_and(|(c, _)| c == b);
                    if !near || !takes(f, i) {
                        readers[v.index()] = Some(None);
                    }
                }
            }
        }
        for block in f.blocks.values() {
            for &i in block.insts.iter().rev() {
                let inst = &f.insts[i];
                let group = inst.result.filter(|_| makes(f, i)).and_then(|v| readers[v.index()].flatten());
                let end = group.filter(|g| size[g.index()] < LONGEST).unwrap_or(i);
                if end != i {
                    last[i.index()] = Some(end);
                    size[end.index()] += 1;
                }
                if !takes(f, i) {
                    continue;
                }
                for &v in &inst.args {
                    let reader = &mut readers[v.index()];
                    *reader = match reader {
                        None => Some(Some(end)),
                        Some(Some(other)) if *other == end => continue,
                        _ => Some(None),
                    };
                }
            }
        }
        Together { last, home, definitions }
    }

    /// Whether an instruction is done where another one stands.
    pub(super) fn is_absorbed(&self, i: Inst) -> bool {
        self.last.get(i.index()).is_some_and(Option::is_some)
    }

    /// What is done at the last instruction of a group, and the values it reads.
    pub(super) fn recipe(&self, f: &Function, end: Inst) -> (Recipe, Vec<Value>) {
        let mut group: Vec<Inst> = Vec::new();
        let mut work = vec![end];
        while let Some(i) = work.pop() {
            if group.contains(&i) {
                continue;
            }
            group.push(i);
            let inner =
                f.insts[i].args.iter().filter_map(|v| self.definitions.get(v.index()).copied().flatten());
            work.extend(inner.filter(|d| self.last.get(d.index()).copied().flatten() == Some(end)));
        }
        group.sort_by_key(|i| self.home.get(i.index()).copied().flatten());
        let sum = f.insts[end].op == Op::Sum;
        let mut operands: Vec<Value> = Vec::new();
        let mut steps: Vec<Step> = Vec::new();
        let mut known: Vec<(Value, usize)> = Vec::new();
        for &i in &group {
            let inst = &f.insts[i];
            let mut from = |v: Value| match known.iter().find(|(w, _)| *w == v) {
                Some((_, step)) => From::Step(*step),
                None => From::Operand(operands.iter().position(|w| *w == v).unwrap_or_else(|| {
                    operands.push(v);
                    operands.len() - 1
                })),
            };
            let (Some(&first), Some(&last)) = (inst.args.first(), inst.args.last()) else { continue };
            let from = [from(first), from(last)];
            if inst.op == Op::Sum {
                continue;
            }
            if let Some(v) = inst.result {
                let complex = f.kinds[v] == Kind::Array(Element::Complex);
                known.push((v, steps.len()));
                steps.push(Step { op: inst.op, from, complex, at: inst.at });
            }
        }
        (Recipe { steps, sum }, operands)
    }
}

/// Whether it gives an array element by element.
fn makes(f: &Function, i: Inst) -> bool {
    let inst = &f.insts[i];
    let array = inst.result.is_some_and(|v| matches!(f.kinds[v], Kind::Array(_)));
    array && inst.op.is_elementwise()
}

/// Whether it may read another's elements as they are made.
fn takes(f: &Function, i: Inst) -> bool {
    makes(f, i) || f.insts[i].op == Op::Sum
}
