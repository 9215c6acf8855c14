//! Common compositions of the engines, as functions of the program.
//!
//! | function | is |
//! |---|---|
//! | [`gradient`] | `(x…) -> (f(x…), gradients…)` of a real `f` |
//! | [`value_and_pullback`] | `(x…, y_bar) -> (f(x…), cotangents…)` |
//! | [`hessian_vector`] | `(x…, x_dot…) -> (gradients…, their change along x_dot)`, forward over reverse |
//! | [`gauss_newton`] | `(x…, x_dot…) -> (f(x…), J^H J x_dot)`, reverse after forward |
//! | [`second`] | the same by reverse over reverse: `(x…, v…) -> cotangents of <gradient, v>` |

use std::collections::HashSet;

use crate::{
    entity::FuncId,
    ir::{FunctionBuilder, Kind, Op, Param, Program},
};

use super::{DiffError, error::check, forward, reverse};

/// Adds `(x…) -> (value, gradient by each differentiable parameter…)`.
///
/// # Errors
/// If the result is not a real number, there is no parameter to differentiate by, or an op has no
/// rule.
pub fn gradient(program: &mut Program, f: FuncId) -> Result<FuncId, DiffError> {
    check(program, f)?;
    let function = &program.functions[f];
    if function.result != Kind::Real {
        let (function, kind) = (function.name.clone(), function.result.clone());
        let expected = "a real number (a pullback or a Jacobian is of any other result)";
        return Err(DiffError::Result { function, kind, expected });
    }
    compose(program, f, "gradient", true)
}

/// Adds `(x…, cotangent of the result) -> (value, cotangent of each differentiable parameter…)`.
///
/// # Errors
/// If the result is not differentiable, there is no parameter to differentiate by, or an op has no
/// rule.
pub fn value_and_pullback(program: &mut Program, f: FuncId) -> Result<FuncId, DiffError> {
    compose(program, f, "pullback", false)
}

fn compose(program: &mut Program, f: FuncId, suffix: &str, one: bool) -> Result<FuncId, DiffError> {
    check(program, f)?;
    let tapes = |put: bool| -> HashSet<u32> {
        let functions = program.reachable(f).into_iter().filter_map(|f| program.functions.get(f));
        let insts = functions
            .flat_map(|f| f.blocks.values().flat_map(|b| &b.insts).map(|&i| f.insts[i].op));
        insts
            .filter_map(|op| match op {
                Op::Push { tape, .. } if put => Some(tape),
                Op::Pop { tape, .. } if !put => Some(tape),
                _ => None,
            })
            .collect()
    };
    if !tapes(true).is_subset(&tapes(false)) {
        return Err(DiffError::Tape { function: program.functions[f].name.clone() });
    }
    let pair = reverse(program, f)?;
    let function = &program.functions[f];
    if !function.params.iter().any(|p| p.kind.is_differentiable()) {
        return Err(DiffError::NoInputs { function: function.name.clone() });
    }
    let Some(seed) = function.result.tangent() else {
        let (function, kind) = (function.name.clone(), function.result.clone());
        return Err(DiffError::Result {
            function,
            kind,
            expected: "a real or complex number, array or tuple of them",
        });
    };
    let name = program.fresh_name(&format!("{}.{suffix}", function.name));
    let (value, bars) = (function.result.clone(), program.functions[pair.adjoint].result.clone());
    let parts = std::iter::once(value.clone()).chain(bars.fields().iter().map(|f| f.kind.clone()));
    let mut params = function.params.clone();
    let n = params.len();
    if !one {
        params.push(Param::new("y_bar", seed));
    }
    let mut b = FunctionBuilder::new(name, params, Kind::tuple(parts));
    let args: Vec<_> = b.params()[..n].to_vec();
    let y = b.inst(Op::Call(pair.primal), &args, value);
    let y_bar = if one { b.real(1.0) } else { b.param(n) };
    let cotangents = b.inst(Op::Call(pair.adjoint), &[y_bar], bars.clone());
    let mut fields = vec![y];
    for k in 0..bars.fields().len() {
        fields.push(b.field(cotangents, k));
    }
    let kind = b.function().result.clone();
    let result = b.tuple(&fields, kind);
    b.ret(result);
    Ok(program.add(b.finish()))
}

/// Adds `(x…, x_dot…) -> ((value, gradients…), (value_dot, gradients' change…))`, the pushforward
/// of the gradient: a Hessian-vector product, forward over reverse.
///
/// # Errors
/// See [`gradient`].
pub fn hessian_vector(program: &mut Program, f: FuncId) -> Result<FuncId, DiffError> {
    let g = gradient(program, f)?;
    forward(program, g)
}

/// Adds `(x…, weights of (value, gradients…)) -> (…, cotangents…)`: the pullback of the gradient,
/// reverse over reverse.
///
/// # Errors
/// See [`gradient`].
pub fn second(program: &mut Program, f: FuncId) -> Result<FuncId, DiffError> {
    let g = gradient(program, f)?;
    value_and_pullback(program, g)
}

/// Adds `(x…, x_dot…) -> (value, J^H J x_dot)` with the Jacobian `J` of `f`, a Gauss-Newton
/// product: half the Hessian of `|f|^2` times `x_dot`, without the term with second derivatives of
/// `f`. Nothing is differentiated twice.
///
/// # Errors
/// See [`value_and_pullback`].
pub fn gauss_newton(program: &mut Program, f: FuncId) -> Result<FuncId, DiffError> {
    let back = value_and_pullback(program, f)?;
    let along = forward(program, f)?;
    let function = &program.functions[f];
    let name = program.fresh_name(&format!("{}.gauss_newton", function.name));
    let n = function.params.len();
    let params = program.functions[along].params.clone();
    let (both, kind) =
        (program.functions[along].result.clone(), program.functions[back].result.clone());
    let mut b = FunctionBuilder::new(name, params, kind.clone());
    let inputs: Vec<_> = b.params().to_vec();
    let pushed = b.inst(Op::Call(along), &inputs, both);
    let y_dot = b.field(pushed, 1);
    let args: Vec<_> = inputs[..n].iter().copied().chain([y_dot]).collect();
    let result = b.inst(Op::Call(back), &args, kind);
    b.ret(result);
    Ok(program.add(b.finish()))
}
