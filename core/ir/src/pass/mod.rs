//! Passes: each maps a function to a better function with the same meaning.
//!
//! | pass | does |
//! |---|---|
//! | [`fold`] | folds constants |
//! | [`simplify`](simplify()) | applies a table of rewrite rules |
//! | [`cse`](cse()) | eliminates common subexpressions |
//! | [`shapes`](shapes()) | removes operations that equal shapes make unnecessary |
//! | [`forward_tape`] | forwards a pushed value to its pop if both are in one block |
//! | [`inline`](inline()) | inlines small functions |
//! | [`merge`] | merges blocks that always follow each other, and drops branches already decided |
//! | [`licm`](licm()) | moves loop-invariant code before the loop |
//! | [`params`](params()) | drops block parameters that always have the same value |
//! | [`dce`](dce()) | eliminates dead code, dead block parameters too |
//!
//! [`optimize`] repeats them in order until nothing changes; a function that is run on arrays of
//! known shapes is then specialized. Before the first and after each the verifier runs in debug
//! builds, so a pass that breaks an invariant is named at once.

mod cse;
mod dce;
mod equations;
mod failures;
mod fold;
mod inline;
mod keep;
mod licm;
mod loops;
mod merge;
mod params;
mod shapes;
mod simplify;
mod specialise;
mod tape;

pub use cse::cse;
pub use dce::dce;
pub use fold::fold;
pub use inline::{InlineLimits, inline, inline_once};
#[doc(hidden)]
pub use keep::keep_shapes;
pub use licm::licm;
#[doc(hidden)]
pub use loops::order;
pub(crate) use loops::{LoopForest, reverse_postorder};
pub use merge::merge;
pub use params::params;
pub use shapes::shapes;
#[doc(hidden)]
pub use shapes::{ShapeClass, ShapeClasses};
pub use simplify::simplify;
#[doc(hidden)]
pub use specialise::optimize_for;
pub use tape::forward_tape;

use inline::{Recursive, inline_but};

use crate::{entity::FuncId, ir::Program};

/// Level of optimization: the set of equations that may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, PartialOrd, Ord)]
pub enum Level {
    /// Nothing is changed.
    None,
    /// Every number stays the same to the last bit: IEEE arithmetic with its NaNs, infinities and
    /// signed zeros, except for the bits of a NaN and the signs of zeros of `scale`. Constants are
    /// folded where the result is exact.
    #[default]
    Strict,
    /// Equations of real numbers also: `x - x = 0`, `a (1 + b) / (1 + b) = a`. Results may differ
    /// in the last digits, in signs of zeros, so that a function with a branch cut may take its
    /// other side (`atan2(-0.0, -1.0)` is -pi, `atan2(0.0, -1.0)` is pi), and where the original
    /// divides by zero or overflows. Constants are folded in `f64`.
    Algebraic,
}

/// Maximum number of repetitions of the passes. Each makes the function smaller or is the last.
const MAX_ROUNDS: usize = 12;

/// Optimizes one function of a program.
pub fn optimize(program: &mut Program, id: FuncId, level: Level) {
    optimize_one(program, id, level, &InlineLimits::new(), &mut Recursive::below(id));
}

fn optimize_one(
    program: &mut Program,
    id: FuncId,
    level: Level,
    limits: &InlineLimits,
    recursive: &mut Recursive,
) {
    if level == Level::None || !program.functions[id].is_defined() {
        return;
    }
    check(program, id, "what came before the passes");
    for _ in 0..MAX_ROUNDS {
        let before = program.functions[id].clone();
        let grown = inline_but(program, id, limits, recursive);
        check(program, id, "inline");
        for (name, pass) in PASSES {
            pass(&mut program.functions[id], level);
            check(program, id, name);
        }
        recursive.changed(id, &before, &program.functions[id]);
        if !grown && program.functions[id] == before {
            break;
        }
    }
}

/// Optimizes a function and all that it calls.
pub fn optimize_all(program: &mut Program, root: FuncId, level: Level) {
    optimize_all_within(program, root, level, &InlineLimits::new());
}

/// Optimizes a function and all that it calls, with limits on inlining.
///
/// ```
/// use ketgrad_core::{pass::{InlineLimits, Level, optimize_all_within}, text::parse_program};
///
/// let source = "fn square(x) { x * x } fn f(x) { square(x) + 1 }";
/// let program = parse_program(source)?;
/// let f = program.lookup("f").ok_or("no function")?;
/// let optimised = |limits| {
///     let mut program = program.clone();
///     optimize_all_within(&mut program, f, Level::Strict, &limits);
///     program.functions[f].callees().len()
/// };
/// assert_eq!(optimised(InlineLimits::new()), 0);
/// assert_eq!(optimised(InlineLimits::new().with_callee(0)), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn optimize_all_within(
    program: &mut Program,
    root: FuncId,
    level: Level,
    limits: &InlineLimits,
) {
    let mut reachable = program.reachable(root);
    reachable.reverse();
    let mut recursive = Recursive::below(root);
    let mut grown = 0;
    for f in reachable {
        let before = program.functions[f].size();
        let limits = if grown < limits.program { *limits } else { limits.with_callee(0) };
        optimize_one(program, f, level, &limits, &mut recursive);
        grown += program.functions[f].size().saturating_sub(before);
    }
}

type PassFn = fn(&mut crate::ir::Function, Level);

/// Passes on one function, in the order in which they help each other.
const PASSES: [(&str, PassFn); 9] = [
    ("merge", |f, _| merge(f)),
    ("params", |f, _| params(f)),
    ("forward_tape", |f, _| forward_tape(f)),
    ("fold", fold),
    ("shapes", |f, _| shapes(f)),
    ("simplify", simplify),
    ("cse", |f, _| cse(f)),
    ("licm", licm),
    ("dce", |f, _| dce(f, None)),
];

/// Returns the pass of the given name, for tests that run one alone.
#[must_use]
pub fn by_name(name: &str) -> Option<PassFn> {
    PASSES.iter().find(|p| p.0 == name).map(|p| p.1)
}

fn check(program: &Program, id: FuncId, pass: &str) {
    if cfg!(debug_assertions) {
        let found = crate::ir::verify_function(program, id);
        assert!(
            found.is_empty(),
            "{pass} broke {}: {found:?}\n{}",
            program.functions[id].name,
            program.print(id)
        );
    }
}
