//! Notation that printers, parsers and errors share: precedence of operators, names in LaTeX, and
//! known names that are near to an unknown one.

mod latex;
mod nearest;
mod precedence;

pub(crate) use latex::{
    latex_escaped, latex_function, latex_in_parentheses, latex_letter, latex_name,
    latex_parenthesized,
};
pub(crate) use nearest::hint;
pub use nearest::{did_you_mean, nearest_name};
pub(crate) use precedence::{Infix, Precedence, atom, parenthesized, sign_of_term};
