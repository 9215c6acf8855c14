//! Entry of differentiation for a function with a rule of its own.
//!
//! The engines apply rules where a function is *called*. The root has no caller, so a root with a
//! rule is wrapped in a function that calls it, and the engines start there:
//!
//! ```text
//! fn f.call(x)
//!     return call f(x)
//! ```

use crate::{
    entity::FuncId,
    ir::{CustomRule, FunctionBuilder, Op, Program},
};

/// Returns the function to start at: `f`, or a function that only calls it if `f` has a rule of its
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
