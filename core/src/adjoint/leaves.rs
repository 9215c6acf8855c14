//! Tuples opened: a (co)tangent is handled leaf by leaf.
//!
//! The kind `(real, int, Point{x: real, y: real})` has the tangent leaves `real, real, real`. Engines keep one
//! value per leaf, so making and opening tuples moves leaves and costs nothing.

use crate::{
    entity::Value,
    ir::{FunctionBuilder, Kind, Number2, Op},
};

/// The kinds of the leaves of a (co)tangent of the given kind.
pub(super) fn tangent_leaves(kind: &Kind) -> Vec<Kind> {
    kind.tangent().map(|k| k.leaves()).unwrap_or_default()
}

/// Where the tangent leaves of the k-th field stand among those of the tuple.
pub(super) fn field_range(kind: &Kind, k: usize) -> std::ops::Range<usize> {
    let count = |f: &crate::ir::Field| f.kind.tangent().map_or(0, |t| t.n_leaves());
    let start = kind.fields()[..k].iter().map(count).sum();
    start..start + count(&kind.fields()[k])
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

/// Puts leaves together to a value of the given kind.
pub(super) fn close(b: &mut FunctionBuilder, kind: &Kind, leaves: &mut impl Iterator<Item = Value>) -> Value {
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

/// The sum of two (co)tangent leaves.
pub(super) fn sum(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    match b.kind(x) {
        Kind::Array(_) => {
            let kind = b.kind(x).clone();
            b.inst(Op::Accumulate, &[x, y], kind)
        }
        _ => b.number2(Number2::Add, x, y),
    }
}
