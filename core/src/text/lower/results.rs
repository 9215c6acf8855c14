//! Kinds that the functions of a file return: written, or found by
//! [inference](super::super::infer).

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{
    ir::{Kind, Program},
    staging::{InferredKind, elementwise_result},
};

use super::super::{
    ast::{Items, KindExpr},
    error::TextError,
    infer::Infer,
    limits::is_full,
};
use super::kinds::{Fields, resolve};

/// Returns the kind of the result of each function, by its name.
pub(super) fn results(
    items: &Items,
    structs: &HashMap<String, Kind>,
    fields: &Fields,
    program: &Program,
    errors: &mut Vec<TextError>,
) -> HashMap<String, Kind> {
    let mut results: HashMap<String, InferredKind> = HashMap::new();
    for f in program.functions.values() {
        results.insert(f.name.clone(), InferredKind::Kind(f.result.clone()));
    }
    for p in program.primitives.values() {
        results.insert(p.name.clone(), InferredKind::Kind(p.result.clone()));
    }
    for f in &items.functions {
        if is_full(errors) {
            break;
        }
        let given = f.result.as_ref().map(|k| resolve(k, structs));
        let known = match given {
            Some(Ok(kind)) => InferredKind::Kind(kind),
            Some(Err(e)) => {
                errors.push(e);
                InferredKind::Nothing
            }
            None => InferredKind::Nothing,
        };
        results.insert(f.name.text.clone(), known);
    }
    let kinds = |k: &KindExpr| resolve(k, structs).ok();
    let mut params: HashMap<String, Vec<Kind>> = HashMap::new();
    for f in program.functions.values() {
        params.insert(f.name.clone(), f.params.iter().map(|p| p.kind.clone()).collect());
    }
    // Registered functions map over arrays, if they take numbers and return one.
    let mut elementwise: HashMap<String, Kind> = HashMap::new();
    for (f, params) in program.functions.values().map(|f| (f, &params[&f.name])) {
        elementwise
            .extend(elementwise_result(params, &f.result).map(|kind| (f.name.clone(), kind)));
    }
    for p in program.primitives.values() {
        elementwise
            .extend(elementwise_result(&p.params, &p.result).map(|kind| (p.name.clone(), kind)));
    }
    for f in &items.functions {
        elementwise.remove(&f.name.text);
        let all = f.params.iter().map(|(_, kind)| kind.as_ref().map_or(Some(Kind::Real), kinds));
        // Errors in kinds are reported elsewhere.
        params.insert(f.name.text.clone(), all.map(|kind| kind.unwrap_or(Kind::Real)).collect());
    }
    // Every other pass goes backwards, so that a chain of calls is resolved in one pass in either
    // direction. After the first pass only the callers of functions whose kind has changed are
    // visited.
    let open: Vec<_> = items.functions.iter().filter(|f| f.result.is_none()).collect();
    let mut callers: HashMap<String, HashSet<usize>> = HashMap::new();
    let mut now: BTreeSet<usize> = (0..open.len()).collect();
    let mut backwards = true;
    for _ in 0..items.functions.len() + 2 {
        let mut later = BTreeSet::new();
        while let Some(k) = if backwards { now.pop_last() } else { now.pop_first() } {
            let name = &open[k].name.text;
            let mut infer = Infer::new(&results, &params, &elementwise, structs, fields);
            let known = infer.function(open[k], &kinds);
            for asked in infer.asked {
                callers.entry(asked).or_default().insert(k);
            }
            if results.get(name) != Some(&known) {
                results.insert(name.clone(), known);
                for &caller in callers.get(name).into_iter().flatten() {
                    let comes = if backwards { caller < k } else { caller > k };
                    if comes { &mut now } else { &mut later }.insert(caller);
                }
            }
        }
        if later.is_empty() {
            break;
        }
        now = later;
        backwards = !backwards;
    }
    let mut kinds = HashMap::new();
    for f in &items.functions {
        let known = results.remove(&f.name.text).map(InferredKind::settled);
        // An error in the body is more specific than an unknown result.
        let kind = known.as_ref().and_then(InferredKind::kind).cloned().unwrap_or(Kind::Real);
        kinds.insert(f.name.text.clone(), kind);
    }
    kinds
}
