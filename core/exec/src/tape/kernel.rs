//! Operations by their names: small programs, compiled once for each operation and kinds of
//! operands.
//!
//! A tape has each function that the language has. The value is the function of the language, its
//! pullback the rule of the engine, so nothing is written twice.

use crate::{
    adjoint,
    entity::{FuncId, Value},
    exec::{Bytecode, Datum, Executable, Limits, Machine, NoHost, RunError},
    ir::{FunctionBuilder, Kind, Number2, Op, Param, Program},
    pass::{Level, optimize_all},
    rules::{Contribution, Reach, pullback},
    scalar::Scalar,
    staging::{StagedOperand, StagingBuilder},
};

use super::{
    builtin_call::BuiltinCall,
    tape_value::{kind_of, kind_of_value},
};

/// An operation, compiled.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) call: BuiltinCall,
    value: Bytecode,
    /// Cotangents of the operands, of which a zero meets nothing.
    pull: Bytecode,
    /// Pullback for a cotangent that reaches all of the result, if that differs.
    pull_all: Option<Bytecode>,
    /// True for each operand all of which a cotangent reaches if it reaches all of the result.
    pub(super) covered: Vec<bool>,
}

impl Kernel {
    /// Compiles the operation for operands that are arrays or numbers.
    pub(super) fn new<S: Scalar>(call: &BuiltinCall, arrays: &[bool]) -> Result<Kernel, String> {
        let complex = kind_of::<S>() == Kind::Complex;
        let params: Vec<Param> = (arrays.iter().enumerate())
            .map(|(k, array)| Param::new(format!("x{k}"), kind_of_value::<S>(*array)))
            .collect();
        let mut stage = StagingBuilder::new(call.name, params.clone(), kind_of::<S>());
        let inputs = stage.b.params().to_vec();
        let y = call.stage(&mut stage, &inputs, complex)?;
        let result = stage.b.kind(y).clone();
        stage.set_result(result.clone());
        stage.return_value(StagedOperand::Value(y)).map_err(|e| e.to_string())?;
        let mut program = Program::new();
        let f = program.add(stage.finish());
        let value = Bytecode::compile(&program, f).map_err(|e| e.to_string())?;
        let covered = adjoint::covered(&program, f);
        let pull = Kernel::pullback::<S>(call, &params, &result, &mut program, f, Reach::Nonzero)?;
        let is_steep = program.functions[f].insts.values().any(|i| adjoint::is_steep(i.op));
        let pull_all = match is_steep {
            true => {
                Some(Kernel::pullback::<S>(call, &params, &result, &mut program, f, Reach::Always)?)
            }
            false => None,
        };
        Ok(Kernel { call: call.clone(), value, pull, pull_all, covered })
    }

    fn pullback<S: Scalar>(
        call: &BuiltinCall,
        params: &[Param],
        result: &Kind,
        program: &mut Program,
        f: FuncId,
        reach: Reach,
    ) -> Result<Bytecode, String> {
        let complex = kind_of::<S>() == Kind::Complex;
        let bars = Kind::tuple(params.iter().map(|p| p.kind.clone()));
        let mut all = params.to_vec();
        all.extend([Param::new("y", result.clone()), Param::new("y_bar", result.clone())]);
        let mut stage = StagingBuilder::new(format!("{}.pullback", call.name), all, bars.clone());
        let inputs = stage.b.params().to_vec();
        let parts = match one_rule(call, &mut stage, &inputs, complex, reach)? {
            Some(parts) => parts,
            None => {
                let whole = adjoint::value_and_pullback(program, f).map_err(|e| e.to_string())?;
                let kind = program.functions[whole].result.clone();
                let [xs @ .., _, y_bar] = inputs.as_slice() else {
                    return Err("no operands".into());
                };
                let args: Vec<Value> = xs.iter().chain([y_bar]).copied().collect();
                let all = stage.b.inst(Op::Call(whole), &args, kind);
                (0..xs.len()).map(|k| stage.b.field(all, k + 1)).collect()
            }
        };
        let parts = stage.b.tuple(&parts, bars);
        stage.return_value(StagedOperand::Value(parts)).map_err(|e| e.to_string())?;
        let g = program.add(stage.finish());
        optimize_all(program, g, Level::Strict);
        Bytecode::compile(program, g).map_err(|e| e.to_string())
    }

    pub(super) fn value<S: Scalar>(
        &self,
        machine: &mut Machine<S>,
        args: &[Datum<S>],
    ) -> Result<Datum<S>, String> {
        self.value.call(machine, &NoHost, &Limits::default(), args).map_err(|e| reason(&e))
    }

    /// Computes the cotangents of the operands, from these, the result and its cotangent; `all` is
    /// true if the cotangent reaches all of the result.
    pub(super) fn pull<S: Scalar>(
        &self,
        machine: &mut Machine<S>,
        args: &[Datum<S>],
        all: bool,
    ) -> Result<Vec<Datum<S>>, String> {
        let code = self.pull_all.as_ref().filter(|_| all).unwrap_or(&self.pull);
        match code.call(machine, &NoHost, &Limits::default(), args).map_err(|e| reason(&e))? {
            Datum::Tuple(parts) => Ok(parts),
            other => Err(format!("its pullback gives {}", other.describe())),
        }
    }
}

/// Returns the message without a position, which would be in a generated program.
fn reason(e: &RunError) -> String {
    match e {
        RunError::Array { source, .. } => source.to_string(),
        RunError::Index { index, len, .. } => {
            format!("index {index} of an array of {len} elements")
        }
        other => other.to_string(),
    }
}

/// Returns the cotangents, if the call is one instruction: by its rule, which may use the result.
fn one_rule(
    call: &BuiltinCall,
    stage: &mut StagingBuilder,
    inputs: &[Value],
    complex: bool,
    reach: Reach,
) -> Result<Option<Vec<Value>>, String> {
    let [xs @ .., y, y_bar] = inputs else { return Ok(None) };
    let made = call.stage(stage, xs, complex)?;
    let b = &mut stage.b;
    let Some((op, args)) = b.maker(made).map(|(op, args)| (op, args.to_vec())) else {
        return Ok(None);
    };
    let constant = |b: &FunctionBuilder, v: Value| match b.maker(v) {
        None => true,
        Some((Op::Int(_), _)) => true,
        Some((Op::Array, items)) => {
            items.iter().all(|i| matches!(b.maker(*i), Some((Op::Int(_), _))))
        }
        Some(_) => false,
    };
    if !args.iter().all(|&a| constant(b, a)) {
        return Ok(None);
    }
    let wanted: Vec<bool> = args.iter().map(|a| xs.contains(a)).collect();
    let Some(bars) = pullback(b, op, &args, *y, *y_bar, reach, &wanted) else {
        return Err("it has no rule".into());
    };
    let mut parts = Vec::with_capacity(xs.len());
    for x in xs {
        let kind = b.kind(*x).clone();
        let mut sum: Option<Value> = None;
        for (_, bar) in args.iter().zip(&bars).filter(|(a, _)| *a == x) {
            let part = match bar {
                Contribution::Zero => continue,
                Contribution::Add(v) => *v,
                Contribution::At(i, v) => {
                    let zero = b.zero(&kind);
                    b.inst(Op::AddAt, &[zero, *i, *v], kind.clone())
                }
            };
            sum = Some(match sum {
                Some(sum) if matches!(kind, Kind::Array(_)) => {
                    b.inst(Op::Accumulate, &[sum, part], kind.clone())
                }
                Some(sum) => b.number2(Number2::Add, sum, part),
                None => part,
            });
        }
        parts.push(sum.unwrap_or_else(|| b.zero(&kind)));
    }
    Ok(Some(parts))
}
