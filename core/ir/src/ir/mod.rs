//! The intermediate representation: programs as functions in static single assignment form.
//!
//! A [`Program`] is a set of [`Function`]s. A function is a list of basic blocks; a block has
//! parameters (there are no phis), instructions that each define at most one
//! [`Value`](crate::entity::Value), and a [`Terminator`]. It prints as
//!
//! ```text
//! fn power(x, n) -> real {
//! block0(v0: real, v1: int):
//!     v2: real = real 1.0
//!     v3: int = int 0
//!     jump block1(v2, v3)
//! block1(v4: real, v5: int):
//!     v6: bool = ilt v5, v1 @1:42
//!     branch v6, block2, block3
//! block2:
//!     v7: real = mul v4, v0 @1:54
//!     v8: int = int 1
//!     v9: int = iadd v5, v8 @1:42
//!     jump block1(v7, v9)
//! block3:
//!     return v4
//! }
//! ```
//!
//! and [`parse`] reads that back: `parse(print(p)) == p`. `@1:54` is the line and column of the
//! source that the instruction came from.
//!
//! In reading order: [`kind`](Kind), the op [table] and that of [arrays], [`Op`], [`Function`],
//! [`FunctionBuilder`], [`Editor`], [`Pipe`], [`verify`](verify()), [`check_shapes`], and the text.
//!
//! Differentiation is a map from functions to functions; execution is elsewhere. Nothing here
//! depends on either.

#[macro_use]
pub mod table;
#[macro_use]
pub mod arrays;

mod builder;
mod compact;
mod edit;
mod function;
mod kind;
mod op;
mod parse;
mod pipe;
mod print;
mod shape_rules;
mod shapes;
mod verify;

pub(crate) use crate::array::BETWEEN;
pub use arrays::ArrayOp;
pub(crate) use arrays::{ArrayDerivative, ClassRule, FailureCause};
#[doc(hidden)]
pub use arrays::{ElementFlow, ValueForm, ValueOperands, WorkFormula};
pub use builder::FunctionBuilder;
pub(crate) use compact::retain_params;
pub use compact::{compact, remove_trivial_params};
pub use edit::{Definition, EditError, Editor, InsertionPoint, Use};
#[doc(hidden)]
pub use function::ENTRY;
pub use function::{
    BlockData, CustomRule, Edge, Function, InstData, Param, Position, Primitive, Program, Target,
    Terminator,
};
pub(crate) use kind::MAX_KIND_DEPTH;
pub use kind::{Element, Field, Kind, TupleKind};
#[doc(hidden)]
pub use op::order_sign;
pub use op::{Compare, Int1, Int2, Literal, Mixed, Number1, Number2, Op, Real1, Real2};
pub use parse::{IrParseError, parse};
pub use pipe::Pipe;
pub(crate) use shapes::check_all_shapes;
#[doc(hidden)]
pub use shapes::{AbstractValue, ShapeAssumptions, known_values};
pub use shapes::{ShapeError, check_shapes, check_shapes_within};
#[doc(hidden)]
pub use verify::DominatorTree;
pub(crate) use verify::verify_function;
pub use verify::{Violation, verify, verify_reachable};
