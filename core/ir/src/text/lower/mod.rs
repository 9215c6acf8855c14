//! Lowering of the syntax tree to the IR.
//!
//! The [`StagingBuilder`](crate::staging::StagingBuilder) decides the meaning of the program; here
//! names are resolved, and errors are reported with their positions. Errors are collected: after
//! one in a statement the next statement is lowered, and names that could not be defined are not
//! reported again.
//!
//! | file | holds |
//! |---|---|
//! | `kinds` | structs, and kinds as they are written |
//! | `results` | what functions return |
//! | `function` | a body: scopes, errors, the value, the cotangents of a pullback |
//! | `statement` | statements and assignment |
//! | `expression` | expressions |
//! | `call` | calls and structs by name |
//! | `module` | the program on its way, and the transforms of its functions |

mod call;
mod expression;
mod function;
mod kinds;
mod module;
mod results;
mod statement;

use std::collections::{HashMap, HashSet};

use crate::{
    entity::FuncId,
    errors::Errors,
    ir::{CustomRule, Function as IrFunction, Kind, Param, Program},
    rules::Rules,
    staging::TypeMismatch,
};

use super::{
    ast::{FunctionSyntax, Items, TextSpan},
    error::{TextError, TextErrorKind},
    lexer::error,
    limits::{TextLimits, is_full, is_too_large},
};
pub(super) use call::ON_COMPLEX;
use function::{BodyLowering, StructTable};
use kinds::structs;
pub(super) use kinds::{Fields, resolve};
use module::Module;
use results::results;

type TextLowerResult<T> = Result<T, TextError>;

/// Converts the error of an operand: `places` are the spans of the operands.
fn misfit(e: TypeMismatch, places: &[TextSpan]) -> TextError {
    let TypeMismatch { operand, given, expected, hint } = e;
    let span = places.get(operand).or(places.last()).copied().unwrap_or_default();
    error(span, TextErrorKind::Kind { given, expected, hint })
}

/// Lowers the program of a file.
pub(super) fn lower(
    items: &Items,
    rules: &Rules,
    limits: &TextLimits,
) -> Result<Program, Errors<TextError>> {
    let mut errors = Vec::new();
    let structs = structs(items, limits, &mut errors);
    let mut program = rules.program().clone();
    // Registered functions were parsed from other texts: an error in one is reported at its call.
    program.functions.values_mut().for_each(IrFunction::forget_places);
    duplicates(items, &mut errors);
    let fields = Fields::new(&structs);
    let results = results(items, &structs, &fields, &program, &mut errors);
    Errors::none_in(std::mem::take(&mut errors))?;
    let ids = declare(items, &structs, &results, &mut program, &mut errors);
    Errors::none_in(std::mem::take(&mut errors))?;
    let known = StructTable { structs: &structs, fields: &fields };
    let extent =
        |id: &FuncId| program.functions[*id].params.iter().map(|p| p.kind.extent()).sum::<usize>();
    let declared = ids.iter().map(extent).sum();
    let mut module = Module::new(program, rules.program().functions.len(), *limits, declared);
    for (f, &id) in items.functions.iter().zip(&ids) {
        if is_full(&mut errors) || errors.last().is_some_and(is_too_large) {
            break;
        }
        let declared = module.program.functions[id].clone();
        let body = BodyLowering::lower(
            known,
            &mut module,
            &mut errors,
            &declared,
            f.name.span,
            &f.body,
            None,
        );
        module.program.functions[id] = body;
        if f.is_rule {
            rule(f, id, &declared, &mut module, known, &mut errors);
        }
    }
    Errors::none_in(errors)?;
    Ok(module.complete()?)
}

/// Reports functions and parameters that are defined twice.
fn duplicates(items: &Items, errors: &mut Vec<TextError>) {
    let mut seen = HashSet::new();
    for f in &items.functions {
        if is_full(errors) {
            return;
        }
        if !seen.insert(&f.name.text) {
            let (what, name) = ("function", f.name.text.clone());
            errors.push(error(f.name.span, TextErrorKind::Duplicate { what, name }));
        }
        let parts = [&f.pullback, &f.pushforward].into_iter().flatten();
        let all = parts.map(|p| p.params.iter().collect()).chain([f
            .params
            .iter()
            .map(|p| &p.0)
            .collect()]);
        for params in all {
            let params: Vec<_> = params;
            let mut seen = HashSet::new();
            for p in params {
                if !seen.insert(&p.text) {
                    let (what, name) = ("parameter", p.text.clone());
                    errors.push(error(p.span, TextErrorKind::Duplicate { what, name }));
                }
            }
        }
    }
}

/// Declares all functions without their bodies, so that calls may refer to later functions.
fn declare(
    items: &Items,
    structs: &HashMap<String, Kind>,
    results: &HashMap<String, Kind>,
    program: &mut Program,
    errors: &mut Vec<TextError>,
) -> Vec<FuncId> {
    let mut ids = Vec::new();
    for f in &items.functions {
        if is_full(errors) {
            break;
        }
        let mut params = Vec::new();
        for (name, kind) in &f.params {
            match kind.as_ref().map_or(Ok(Kind::Real), |k| resolve(k, structs)) {
                Ok(kind) => params.push(Param::new(&name.text, kind)),
                Err(e) => errors.push(e),
            }
        }
        let result = results.get(&f.name.text).cloned().unwrap_or(Kind::Real);
        ids.push(program.add(IrFunction::declared(&f.name.text, params, result)));
    }
    ids
}

/// Lowers the pullback and the pushforward of a rule.
fn rule(
    f: &FunctionSyntax,
    id: FuncId,
    declared: &IrFunction,
    module: &mut Module,
    known: StructTable<'_>,
    errors: &mut Vec<TextError>,
) {
    let inputs: Vec<Kind> = declared.params.iter().map(|p| p.kind.clone()).collect();
    let tangents: Vec<Kind> = inputs.iter().filter_map(Kind::tangent).collect();
    let result = declared.result.clone();
    let mut custom = CustomRule::default();
    let pullback: Vec<Kind> =
        inputs.iter().cloned().chain([result.clone()]).chain(result.tangent()).collect();
    let pushforward: Vec<Kind> = inputs.iter().chain(&tangents).cloned().collect();
    let parts = [
        (&f.pullback, "pullback", pullback, Kind::tuple(tangents), Some(inputs.as_slice())),
        (
            &f.pushforward,
            "pushforward",
            pushforward,
            result.tangent().unwrap_or(Kind::tuple([])),
            None,
        ),
    ];
    for (part, name, kinds, gives, bars) in parts {
        let Some(part) = part else { continue };
        if part.params.len() != kinds.len() {
            let (expected, given) = (kinds.len(), part.params.len());
            let name = format!("the {name} of {}", f.name.text);
            errors.push(error(part.span, TextErrorKind::Arity { name, expected, given }));
            continue;
        }
        let params = part.params.iter().zip(kinds).map(|(p, k)| Param::new(&p.text, k)).collect();
        let declared = IrFunction::declared(format!("{}.{name}", f.name.text), params, gives);
        let body =
            BodyLowering::lower(known, module, errors, &declared, part.span, &part.body, bars);
        let part_id = module.program.add(body);
        match bars {
            Some(_) => custom.pullback = Some(part_id),
            None => custom.pushforward = Some(part_id),
        }
    }
    module.program.set_rule(id, custom);
}
