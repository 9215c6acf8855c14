//! Definition of a [`Program`] by the functions of a `program!`.
//!
//! Each function is a [`Definition`]; the functions of one `program!` are a [`Block`], which names
//! the blocks that it uses. A program holds all of them: those used first, then the block's own in
//! the order in which they are written, then the pullbacks and pushforwards of rules. So functions
//! may call each other in any order, as in program text.

use ketgrad_core::{
    adjoint::Transform,
    entity::FuncId,
    ir::{CustomRule, Element, Function, Kind, Param, Position, Primitive, Program},
    rules::{RuleError, Rules},
    staging::{StagingBuilder, over_arrays},
};

use super::staged::{Callee, Module, build};

/// Returns a name as it is without Rust's mark for one that is a keyword: `r#type` is `type`.
#[must_use]
pub fn plain(name: &'static str) -> &'static str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// A function, a rule or a primitive.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Path of the definition: its identity.
    pub path: &'static str,
    /// Name of the function in the program.
    pub name: &'static str,
    /// Parameters of the function.
    pub params: Vec<Param>,
    /// Kind of the result.
    pub result: Kind,
    /// Body of the function; none for a primitive.
    pub body: Option<fn()>,
    /// The rule's pullback.
    pub pullback: Option<Part>,
    /// The rule's pushforward.
    pub pushforward: Option<Part>,
}

/// A part of a rule.
#[derive(Clone, Debug)]
pub struct Part {
    /// The names of its parameters.
    pub params: &'static [&'static str],
    /// Body of the part.
    pub body: fn(),
}

/// The functions of one `program!`.
#[derive(Clone, Debug)]
pub struct Block {
    /// Definitions of the block itself, in order.
    pub own: Vec<Definition>,
    /// The blocks of what it uses.
    pub uses: Vec<fn() -> Block>,
}

/// Collects all definitions of a block and of what it uses, each once.
fn collect(block: Block, seen: &mut Vec<&'static str>, all: &mut Vec<Definition>) {
    let Some(first) = block.own.first() else { return };
    if seen.contains(&first.path) {
        return;
    }
    seen.push(first.path);
    for used in block.uses {
        collect(used(), seen, all);
    }
    all.extend(block.own);
}

/// A function, from outside of its `program!`.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// Path of the function.
    pub path: &'static str,
    /// Block of the function.
    pub block: fn() -> Block,
}

/// Returns the program of a block.
///
/// # Panics
/// A derivative that a body takes cannot be made.
#[must_use]
#[track_caller]
pub fn program(block: Block) -> Program {
    match assemble(block, &Rules::new()) {
        Ok(program) => program,
        #[expect(
            clippy::panic,
            reason = "the program is wrong for every input; `ir_with` gives the error"
        )]
        Err(e) => panic!("{e}; if a primitive lacks a rule, `ir_with` takes it"),
    }
}

/// Returns the program of a block.
///
/// # Errors
/// A primitive is registered with other operands or another result; a derivative that a body takes
/// cannot be made.
pub fn assemble(block: Block, rules: &Rules) -> Result<Program, RuleError> {
    let mut module = written(block, rules)?;
    let defined = module.transforms.define(&mut module.program);
    let wrong = |reason: String| Err(RuleError::Transform { reason });
    match (module.error, defined) {
        (Some(e), _) => wrong(e.to_string()),
        (None, Err((at, e))) => wrong(format!("{at}: {e}")),
        (None, Ok(())) => Ok(module.program),
    }
}

/// Returns a transform of a function, in the program of its block.
pub(super) fn transformed(
    origin: &Origin,
    transform: Transform,
) -> Result<(Program, FuncId), String> {
    let mut module = written((origin.block)(), &Rules::new()).map_err(|e| e.to_string())?;
    let id = module.transformed(origin.path, transform, Position::default());
    let Some(id) = id else { return Err(module.error.map(|e| e.to_string()).unwrap_or_default()) };
    module.transforms.define_one(&mut module.program, id).map_err(|(_, e)| e.to_string())?;
    Ok((module.program, id))
}

/// Returns the program of a block, but for the bodies of transforms.
fn written(block: Block, rules: &Rules) -> Result<Module, RuleError> {
    let mut all = Vec::new();
    collect(block, &mut Vec::new(), &mut all);
    let mut module = Module { program: rules.program().clone(), ..Module::default() };
    // Names first, so that calls go in any direction.
    for d in &all {
        let callee = match d.body {
            Some(_) => {
                let declared = Function::declared(d.name, d.params.clone(), d.result.clone());
                Callee::Function(module.program.add(declared))
            }
            None => primitive(d, rules, &mut module.program)?,
        };
        module.callees.insert(d.path, callee);
    }
    for d in &all {
        let (Some(body), Some(Callee::Function(id))) =
            (d.body, module.callees.get(d.path).copied())
        else {
            continue;
        };
        let stage = StagingBuilder::new(d.name, d.params.clone(), d.result.clone());
        let function = build(stage, &mut module, body);
        module.program.functions[id] = function;
        rule(d, id, &mut module);
    }
    Ok(module)
}

/// Returns the callee registered under that name, a function of those kinds or a primitive; or a
/// new primitive without a rule.
fn primitive(d: &Definition, rules: &Rules, program: &mut Program) -> Result<Callee, RuleError> {
    let params: Vec<Kind> = d.params.iter().map(|p| p.kind.clone()).collect();
    let registered = rules.program();
    let on_complex = format!("{}.complex", d.name);
    let mut functions = [d.name, on_complex.as_str()].into_iter();
    let function = functions.find_map(|name| {
        let f = registered.lookup_signature(name, &params)?;
        (registered.functions[f].result == d.result).then_some(f)
    });
    if let Some(f) = function {
        return Ok(Callee::Function(f));
    }
    if let Some(f) = over_arrays_of(d, &params, program) {
        return Ok(Callee::Function(f));
    }
    let Some(id) = program.lookup_primitive(d.name) else {
        let (name, result) = (d.name.to_owned(), d.result.clone());
        let new = Primitive { name, params, result, pullback: None, pushforward: None };
        return Ok(Callee::Primitive(program.primitives.push(new)));
    };
    let registered = &program.primitives[id];
    if registered.params == params && registered.result == d.result {
        return Ok(Callee::Primitive(id));
    }
    let shown =
        |params: &[Kind], result: &Kind| format!("{} -> {result}", Kind::tuple(params.to_vec()));
    Err(RuleError::Signature {
        name: d.name.to_owned(),
        given: shown(&registered.params, &registered.result),
        expected: shown(&params, &d.result),
    })
}

/// Returns a registered function of numbers, over arrays where the primitive takes them.
fn over_arrays_of(d: &Definition, params: &[Kind], program: &mut Program) -> Option<FuncId> {
    [d.name.to_owned(), format!("{}.complex", d.name)].iter().find_map(|name| {
        let f = program.lookup(name)?;
        let result = program.functions[f].result.clone();
        let is_array_of = Element::from_kind(&result).is_some_and(|e| d.result == Kind::Array(e));
        is_array_of.then(|| over_arrays(program, f, params))?
    })
}

/// Writes the pullback and the pushforward of a rule.
fn rule(d: &Definition, id: FuncId, module: &mut Module) {
    if d.pullback.is_none() && d.pushforward.is_none() {
        return;
    }
    let inputs: Vec<Kind> = d.params.iter().map(|p| p.kind.clone()).collect();
    let tangents: Vec<Kind> = inputs.iter().filter_map(Kind::tangent).collect();
    let back = inputs.iter().cloned().chain([d.result.clone()]).chain(d.result.tangent()).collect();
    let forth = inputs.iter().chain(&tangents).cloned().collect();
    let mut custom = CustomRule::default();
    let mut part = |part: &Part, word: &str, kinds: Vec<Kind>, gives: Kind| {
        let params = part.params.iter().zip(kinds).map(|(p, k)| Param::new(plain(p), k)).collect();
        let stage = StagingBuilder::new(format!("{}.{word}", d.name), params, gives);
        let function = build(stage, module, part.body);
        module.program.add(function)
    };
    custom.pullback =
        d.pullback.as_ref().map(|p| part(p, "pullback", back, Kind::tuple(tangents.clone())));
    let tangent = d.result.tangent().unwrap_or(Kind::tuple([]));
    custom.pushforward = d.pushforward.as_ref().map(|p| part(p, "pushforward", forth, tangent));
    module.program.set_rule(id, custom);
}
