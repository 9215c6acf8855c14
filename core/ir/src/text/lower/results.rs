//! Kinds that the functions of a file return: written, or found by
//! [inference](super::super::infer).

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{
    ir::{Kind, Program},
    staging::{InferredKind, ResultKinds, elementwise_result},
};

use super::super::{
    ast::{Items, KindExpr},
    error::TextError,
    infer::{Infer, InferredCallee},
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
    let mut callees = registered(program);
    for f in &items.functions {
        if is_full(errors) {
            break;
        }
        let result = match f.result.as_ref().map(|k| resolve(k, structs)) {
            Some(Ok(kind)) => InferredKind::Kind(kind),
            Some(Err(e)) => {
                errors.push(e);
                InferredKind::Nothing
            }
            None => InferredKind::Nothing,
        };
        // Errors in kinds of parameters are reported elsewhere.
        let real_if_wrong = |k: &KindExpr| resolve(k, structs).unwrap_or(Kind::Real);
        let params = f.params.iter().map(|(_, k)| k.as_ref().map_or(Kind::Real, real_if_wrong));
        let callee = InferredCallee { params: params.collect(), result, over_arrays: None };
        callees.insert(f.name.text.clone(), callee);
    }
    infer(items, structs, fields, &mut callees);
    let mut kinds = HashMap::new();
    for f in &items.functions {
        let known = callees.remove(&f.name.text).map(|callee| callee.result.settled());
        // An error in the body is more specific than an unknown result.
        let kind = known.as_ref().and_then(InferredKind::kind).cloned().unwrap_or(Kind::Real);
        kinds.insert(f.name.text.clone(), kind);
    }
    kinds
}

/// Infers the results that are not written.
fn infer(
    items: &Items,
    structs: &HashMap<String, Kind>,
    fields: &Fields,
    callees: &mut HashMap<String, InferredCallee>,
) {
    // Every other pass goes backwards, so that a chain of calls is resolved in one pass in either
    // direction. After the first pass only the callers of functions whose kind has changed are
    // visited.
    let open: Vec<_> = items.functions.iter().filter(|f| f.result.is_none()).collect();
    let mut callers: HashMap<String, HashSet<usize>> = HashMap::new();
    let mut results = ResultKinds::default();
    for ignores_unknown in [false, true] {
        let is_unknown = |k: &usize| {
            callees.get(&open[*k].name.text).is_some_and(|c| c.result == InferredKind::Nothing)
        };
        let mut now: BTreeSet<usize> = (0..open.len()).filter(is_unknown).collect();
        let mut backwards = true;
        for _ in 0..items.functions.len() + 2 {
            let mut later = BTreeSet::new();
            while let Some(k) = if backwards { now.pop_last() } else { now.pop_first() } {
                let name = &open[k].name.text;
                let mut infer = Infer::new(callees, structs, fields, &mut results, ignores_unknown);
                let known = infer.function(open[k]);
                for asked in infer.asked {
                    callers.entry(asked).or_default().insert(k);
                }
                let Some(callee) = callees.get_mut(name).filter(|c| c.result != known) else {
                    continue;
                };
                callee.result = known;
                for &caller in callers.get(name).into_iter().flatten() {
                    let comes = if backwards { caller < k } else { caller > k };
                    if comes { &mut now } else { &mut later }.insert(caller);
                }
            }
            if later.is_empty() {
                break;
            }
            now = later;
            backwards = !backwards;
        }
    }
}

/// Returns the registered functions and primitives, by their names.
fn registered(program: &Program) -> HashMap<String, InferredCallee> {
    // They map over arrays, if they take numbers and return one.
    let callee = |params: Vec<Kind>, result: &Kind| InferredCallee {
        over_arrays: elementwise_result(&params, result),
        params,
        result: InferredKind::Kind(result.clone()),
    };
    let primitives = program.primitives.values();
    let primitives = primitives.map(|p| (p.name.clone(), callee(p.params.clone(), &p.result)));
    let functions = program.functions.values().map(|f| {
        let params = f.params.iter().map(|p| p.kind.clone()).collect();
        (f.name.clone(), callee(params, &f.result))
    });
    primitives.chain(functions).collect()
}
