//! A function with a rule of its own, where differentiation starts.
//!
//! The engines look at rules where a function is *called*. The function that they start at is
//! called by nobody, so one that has a rule is given a caller, which the engines start at instead:
//!
//! ```text
//! fn f.call(x)
//!     return call f(x)
//! ```

use crate::{
    entity::FuncId,
    ir::{CustomRule, FunctionBuilder, Op, Program},
};

/// The function to start at: `f`, or a function that only calls it if calls go by a rule of its
/// own.
pub(super) fn entry(program: &mut Program, f: FuncId) -> FuncId {
    if program.rule(f).is_none_or(CustomRule::is_empty) {
        return f;
    }
    let function = &program.functions[f];
    let name = program.fresh_name(&format!("{}.call", function.name));
    let result = function.result.clone();
    let caller = FunctionBuilder::caller(name, function.params.clone(), result, Op::Call(f));
    program.add(caller)
}
