//! Functions of the language on values: each is compiled once for the kinds of its operands and run
//! by the executor, so the native function does what the IR does, to the last bit, and is not
//! written twice.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use num_complex::Complex;

use ketgrad_core::{
    adjoint::Transform,
    exec::{Bytecode, Datum, Executable, Limits, Machine, NoHost, RunError},
    ir::{Element, Kind, Param, Program},
    pass::{Level, optimize_all},
    staging::{Builtin, StagedOperand, StagingBuilder},
};

use super::{
    super::{
        define::{Origin, transformed},
        shape::Shape,
    },
    Number,
};

/// A value of the executor.
pub type Value<S> = Datum<Complex<S>>;

type Compiled = HashMap<(&'static str, Vec<Kind>), Rc<Bytecode>>;
thread_local! {
    static COMPILED: RefCell<Compiled> = RefCell::default();
}

/// Calls the function of the language with that name. Where it has no value, for shapes that do
/// not fit as a rule, it panics at the caller, as an index beyond the end does.
#[track_caller]
pub(super) fn call<S: Number>(name: &'static str, args: &[Value<S>]) -> Value<S> {
    match run(name, args) {
        Ok(value) => value,
        #[expect(clippy::panic, reason = "what the IR gives as an error is a panic natively")]
        Err(reason) => panic!("{reason}"),
    }
}

fn run<S: Number>(name: &'static str, args: &[Value<S>]) -> Result<Value<S>, String> {
    let key = (name, args.iter().map(kind).collect::<Vec<_>>());
    let compiled = COMPILED.with_borrow(|all| all.get(&key).cloned());
    let code = match compiled {
        Some(code) => code,
        None => {
            let code = Rc::new(compile(name, &key.1)?);
            COMPILED.with_borrow_mut(|all| all.insert(key, Rc::clone(&code)));
            code
        }
    };
    code.call(&mut Machine::new(), &NoHost, &Limits::default(), args).map_err(|e| match e {
        // The place is the caller's, not one in a program.
        RunError::Array { source, .. } => source.to_string(),
        other => other.to_string(),
    })
}

fn compile(name: &'static str, kinds: &[Kind]) -> Result<Bytecode, String> {
    let builtin = Builtin::by_name(name).ok_or_else(|| format!("there is no function `{name}`"))?;
    let params: Vec<Param> = kinds
        .iter()
        .enumerate()
        .map(|(k, kind)| Param::new(format!("x{k}"), kind.clone()))
        .collect();
    let mut stage = StagingBuilder::new(name, params, Kind::Real);
    let args: Vec<StagedOperand> =
        stage.b.params().iter().map(|&v| StagedOperand::Value(v)).collect();
    let wrong = |e| format!("`{name}`: {e}");
    let given = stage.builtin(builtin, &args).map_err(wrong)?;
    let value = stage.value(given).map_err(wrong)?;
    let result = stage.b.kind(value).clone();
    stage.set_result(result);
    stage.return_value(given).map_err(wrong)?;
    let mut program = Program::new();
    let f = program.add(stage.finish());
    Bytecode::compile(&program, f).map_err(|e| e.to_string())
}

type Transformed = HashMap<(&'static str, Transform), Rc<Bytecode>>;
thread_local! {
    static TRANSFORMED: RefCell<Transformed> = RefCell::default();
}

/// Runs a transform of a function of a `program!`, which gives a `K`: made by the engines of the
/// IR for the first call.
#[track_caller]
pub fn transform<S: Number, K: Shape>(
    origin: &Origin,
    transform: Transform,
    args: Vec<Value<S>>,
) -> K::Native<S> {
    match run_transform(origin, transform, &args) {
        Ok(value) => K::native::<S>(value),
        #[expect(clippy::panic, reason = "what the IR gives as an error is a panic natively")]
        Err(reason) => panic!("{reason}"),
    }
}

fn run_transform<S: Number>(
    origin: &Origin,
    transform: Transform,
    args: &[Value<S>],
) -> Result<Value<S>, String> {
    let key = (origin.path, transform);
    let compiled = TRANSFORMED.with_borrow(|all| all.get(&key).cloned());
    let code = match compiled {
        Some(code) => code,
        None => {
            let (mut program, id) = transformed(origin, transform)?;
            optimize_all(&mut program, id, Level::default());
            let code = Rc::new(Bytecode::compile(&program, id).map_err(|e| e.to_string())?);
            TRANSFORMED.with_borrow_mut(|all| all.insert(key, Rc::clone(&code)));
            code
        }
    };
    code.call(&mut Machine::new(), &NoHost, &Limits::default(), args).map_err(|e| e.to_string())
}

/// Returns the kind of the argument of functions of arrays.
fn kind<S: Number>(value: &Value<S>) -> Kind {
    match value {
        Datum::Real(_) => Kind::Real,
        Datum::Complex(_) => Kind::Complex,
        Datum::Bool(_) => Kind::Bool,
        Datum::Handle(_) => Kind::Handle,
        Datum::Reals(_) => Kind::Array(Element::Real),
        Datum::Complexes(_) => Kind::Array(Element::Complex),
        Datum::Ints(_) => Kind::Array(Element::Int),
        Datum::Int(_) | Datum::Tuple(_) => Kind::Int,
    }
}
