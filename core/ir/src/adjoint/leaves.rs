//! Flattened tuples: a (co)tangent is handled leaf by leaf.
//!
//! The kind `(real, int, Point{x: real, y: real})` has the tangent leaves `real, real, real`.
//! Engines keep one value per leaf, so making and opening tuples moves leaves and costs nothing.

use std::{collections::HashMap, ops::Range};

use crate::{
    entity::Value,
    ir::{Function, FunctionBuilder, Kind, Number2, Op},
    rules::whole,
};

/// Returns the kinds of the leaves of a (co)tangent of the given kind.
pub(super) fn tangent_leaves(kind: &Kind) -> Vec<Kind> {
    kind.tangent().map(|k| k.leaves()).unwrap_or_default()
}

/// Ranges of the tangent leaves of fields among those of their tuple: for each tuple of which a
/// field is read, computed once for all of its fields.
#[derive(Debug, Default)]
pub(super) struct FieldRanges(HashMap<Value, Vec<usize>>);

impl FieldRanges {
    pub(super) fn new(f: &Function) -> FieldRanges {
        let mut starts: HashMap<Value, Vec<usize>> = HashMap::new();
        for &i in f.blocks.values().flat_map(|b| &b.insts) {
            let inst = &f.insts[i];
            if let (Op::Field(_), [tuple]) = (inst.op, inst.args.as_slice()) {
                starts.entry(*tuple).or_insert_with(|| {
                    let mut next = 0;
                    let fields = f.kinds[*tuple].fields().iter().map(|field| {
                        next += field.kind.tangent().map_or(0, |t| t.n_leaves());
                        next
                    });
                    std::iter::once(0).chain(fields).collect()
                });
            }
        }
        FieldRanges(starts)
    }

    /// Returns the range of the leaves of the k-th field.
    pub(super) fn range(&self, tuple: Value, k: usize) -> Range<usize> {
        let start =
            |k: usize| self.0.get(&tuple).and_then(|starts| starts.get(k)).copied().unwrap_or(0);
        start(k)..start(k + 1)
    }

    /// Returns the number of leaves of the tuple.
    pub(super) fn count(&self, tuple: Value) -> usize {
        self.0.get(&tuple).and_then(|starts| starts.last()).copied().unwrap_or(0)
    }
}

/// Opens a value into its leaves.
pub(super) fn open(b: &mut FunctionBuilder, value: Value) -> Vec<Value> {
    let n = b.kind(value).fields().len();
    if !matches!(b.kind(value), Kind::Tuple(_)) {
        return vec![value];
    }
    let mut leaves = Vec::new();
    for k in 0..n {
        let field = b.field(value, k);
        leaves.extend(open(b, field));
    }
    leaves
}

/// Builds a value of the given kind from its leaves.
pub(super) fn close(
    b: &mut FunctionBuilder,
    kind: &Kind,
    leaves: &mut impl Iterator<Item = Value>,
) -> Value {
    match kind {
        Kind::Tuple(t) => {
            let fields: Vec<Value> = t.fields.iter().map(|f| close(b, &f.kind, leaves)).collect();
            b.tuple(&fields, kind.clone())
        }
        leaf => match leaves.next() {
            Some(v) => v,
            None => b.zero(leaf),
        },
    }
}

/// Extends the leaves of a (co)tangent of `x` to the shapes of the arrays in it, for rules that do
/// not expect missing elements.
pub(super) fn make_whole(b: &mut FunctionBuilder, x: Value, leaves: &mut [Value]) {
    match b.kind(x).clone() {
        Kind::Tuple(t) => {
            let mut rest = leaves;
            for (k, field) in t.fields.iter().enumerate() {
                let (own, others) = rest.split_at_mut(tangent_leaves(&field.kind).len());
                if own.iter().any(|&leaf| matches!(b.kind(leaf), Kind::Array(_))) {
                    let x = b.field(x, k);
                    make_whole(b, x, own);
                }
                rest = others;
            }
        }
        _ => leaves.iter_mut().for_each(|leaf| *leaf = whole(b, *leaf, x)),
    }
}

/// Returns the sum of two (co)tangent leaves.
pub(super) fn sum(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    match b.kind(x) {
        Kind::Array(_) => {
            let kind = b.kind(x).clone();
            b.inst(Op::Accumulate, &[x, y], kind)
        }
        _ => b.number2(Number2::Add, x, y),
    }
}
