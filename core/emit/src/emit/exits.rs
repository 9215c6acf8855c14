//! Results of derivatives: the fields that are cotangents, extended to full length.
//!
//! While they are accumulated, cotangents of arrays may be shorter than these, or rows of elements
//! without their shape. In a returned result they are neither:
//!
//! ```text
//! return (v1, v7)        ->        v8: array<real> = like v7, v0
//!                                  return (v1, v8)
//! ```

use std::borrow::Cow;

use crate::{
    entity::{Block, Value},
    ir::{ArrayOp, Function, Kind, Op, Position, Terminator},
};

use super::ast::holds_array;

/// Path to a nested field.
pub(super) type FieldPath = Vec<usize>;

/// Returns the fields of the result of a derivative that are cotangents, and the parameters they
/// belong to: all after a value, in the pushforward of a gradient twice.
pub(super) fn cotangents(f: &Function) -> Vec<(FieldPath, usize)> {
    // Names that were taken have a number appended: `f.gradient2`.
    let mut parts =
        f.name.rsplit('.').map(|part| part.trim_end_matches(|c: char| c.is_ascii_digit()));
    let (last, before, n) = (parts.next(), parts.next(), f.params.len());
    // The last parameter of a pullback is the cotangent of the value, the last ones of a
    // pushforward are the tangents.
    let (by, parts) = match (before, last) {
        (Some(_), Some("gradient")) => (n, 1),
        (Some(_), Some("pullback")) => (n.saturating_sub(1), 1),
        (Some("gradient"), Some("pushforward")) => {
            let tangents = |k: usize| f.params[..k].iter().filter_map(|p| p.kind.tangent()).count();
            ((0..=n).find(|&k| k + tangents(k) == n).unwrap_or(0), 2)
        }
        _ => return vec![],
    };
    let by = || f.params[..by].iter().enumerate().filter_map(|(k, p)| Some((k, p.kind.tangent()?)));
    let fits = |result: &Kind| match result.fields().split_first() {
        Some((_, bars)) => bars.iter().map(|bar| bar.kind.clone()).eq(by().map(|(_, kind)| kind)),
        None => false,
    };
    let fields = |before: &[usize]| -> Vec<(FieldPath, usize)> {
        by().enumerate().map(|(k, (of, _))| ([before, &[k + 1]].concat(), of)).collect()
    };
    match (parts, f.result.fields()) {
        (1, _) if fits(&f.result) => fields(&[]),
        (2, [values, changes]) if fits(&values.kind) && fits(&changes.kind) => {
            [fields(&[0]), fields(&[1])].concat()
        }
        _ => vec![],
    }
}

/// Extends the cotangents that a function returns to the lengths and shapes of their arrays.
pub(super) fn at_full_length(f: &Function) -> Cow<'_, Function> {
    let mut found = cotangents(f);
    found.retain(|(_, of)| holds_array(&f.params[*of].kind));
    if found.is_empty() || !f.is_defined() {
        return Cow::Borrowed(f);
    }
    let found: Vec<(&[usize], Value)> =
        found.iter().map(|(path, of)| (path.as_slice(), f.param_values()[*of])).collect();
    let mut g = f.clone();
    for b in f.blocks.keys() {
        if let Terminator::Return(v) = f.blocks[b].end {
            let v = replaced(&mut g, b, v, &found);
            g.blocks[b].end = Terminator::Return(v);
        }
    }
    crate::pass::dce(&mut g, None);
    Cow::Owned(g)
}

/// Returns the tuple with the fields at the given paths extended to full length.
fn replaced(f: &mut Function, b: Block, v: Value, places: &[(&[usize], Value)]) -> Value {
    if let Some((_, of)) = places.iter().find(|(path, _)| path.is_empty()) {
        return whole(f, b, v, *of);
    }
    rebuilt(f, b, v, |f, k, field| {
        let inner: Vec<(&[usize], Value)> = places
            .iter()
            .filter_map(|(path, of)| {
                Some((path.split_first().filter(|(first, _)| **first == k)?.1, *of))
            })
            .collect();
        if inner.is_empty() { field } else { replaced(f, b, field, &inner) }
    })
}

/// Extends a cotangent of `x` to full length.
fn whole(f: &mut Function, b: Block, bar: Value, x: Value) -> Value {
    let kind = f.kinds[x].clone();
    match &kind {
        Kind::Array(_) => {
            push(f, b, Op::OnArrays(ArrayOp::ReshapeLike), &[bar, x], f.kinds[bar].clone())
        }
        Kind::Tuple(t) => {
            let with_tangents: Vec<usize> =
                (0..t.fields.len()).filter(|&k| t.fields[k].kind.is_differentiable()).collect();
            rebuilt(f, b, bar, |f, k, field| {
                let of = with_tangents[k];
                if !holds_array(&t.fields[of].kind) {
                    return field;
                }
                let x = push(f, b, Op::Field(of as u32), &[x], t.fields[of].kind.clone());
                whole(f, b, field, x)
            })
        }
        _ => bar,
    }
}

/// Rebuilds a tuple, with each field mapped by a closure.
fn rebuilt(
    f: &mut Function,
    b: Block,
    v: Value,
    mut each: impl FnMut(&mut Function, usize, Value) -> Value,
) -> Value {
    let kind = f.kinds[v].clone();
    let made = f.definition(v).filter(|d| d.op == Op::Tuple).map(|d| d.args.to_vec());
    let fields: Vec<Value> = (0..kind.fields().len())
        .map(|k| {
            let field = match &made {
                Some(args) => args[k],
                None => push(f, b, Op::Field(k as u32), &[v], kind.fields()[k].kind.clone()),
            };
            each(f, k, field)
        })
        .collect();
    push(f, b, Op::Tuple, &fields, kind)
}

/// Appends an instruction to the end of a block.
fn push(f: &mut Function, b: Block, op: Op, args: &[Value], kind: Kind) -> Value {
    let (inst, v) = f.new_inst(op, args, Some(kind), Position::default());
    f.blocks[b].insts.push(inst);
    // An instruction with a kind has a result.
    v.unwrap_or(args[0])
}
