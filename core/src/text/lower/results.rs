//! The kinds that the functions of a file return: written, or found by [inference](super::super::infer).

use std::collections::HashMap;

use crate::{
    ir::{Kind, Program},
    staging::Known,
};

use super::super::{
    ast::{Items, KindExpr},
    error::TextError,
    infer::Infer,
};
use super::kinds::resolve;

/// The kind of the result of each function, by its name.
pub(super) fn results(
    items: &Items,
    structs: &HashMap<String, Kind>,
    program: &Program,
    errors: &mut Vec<TextError>,
) -> HashMap<String, Kind> {
    let mut results: HashMap<String, Known> = HashMap::new();
    for f in program.functions.values() {
        results.insert(f.name.clone(), Known::Kind(f.result.clone()));
    }
    for p in program.primitives.values() {
        results.insert(p.name.clone(), Known::Kind(p.result.clone()));
    }
    for f in &items.functions {
        let given = f.result.as_ref().map(|k| resolve(k, structs));
        let known = match given {
            Some(Ok(kind)) => Known::Kind(kind),
            Some(Err(e)) => {
                errors.push(e);
                Known::Nothing
            }
            None => Known::Nothing,
        };
        results.insert(f.name.text.clone(), known);
    }
    let kinds = |k: &KindExpr| resolve(k, structs).ok();
    // Backwards every other time, so that a chain of calls is settled at once in either direction.
    let mut open: Vec<_> = items.functions.iter().filter(|f| f.result.is_none()).collect();
    for _ in 0..items.functions.len() + 2 {
        let mut changed = false;
        open.reverse();
        for f in &open {
            let mut infer = Infer { results: &results, structs, scopes: vec![], returned: Known::Nothing };
            let known = infer.function(f, &kinds);
            if results.get(&f.name.text) != Some(&known) {
                results.insert(f.name.text.clone(), known);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let mut kinds = HashMap::new();
    for f in &items.functions {
        let known = results.remove(&f.name.text).map(Known::settled);
        // An error in the body says more than that nothing follows from it.
        let kind = known.as_ref().and_then(Known::kind).cloned().unwrap_or(Kind::Real);
        kinds.insert(f.name.text.clone(), kind);
    }
    kinds
}
