//! Notation that printers, parsers and errors share: precedence of operators, names in LaTeX, and
//! known names that are near to an unknown one.

mod latex;
mod nearest;
mod precedence;

#[doc(hidden)]
pub use latex::{
    latex_escaped, latex_function, latex_in_parentheses, latex_letter, latex_name,
    latex_parenthesized,
};
#[doc(hidden)]
pub use nearest::hint;
pub use nearest::{did_you_mean, nearest_name};
#[doc(hidden)]
pub use precedence::{Infix, Precedence, atom, parenthesized, sign_of_term};
