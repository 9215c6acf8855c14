//! Factors before a `*` in [`pauli!`](crate::pauli!): numbers and operators.
//!
//! A name there may be either, and only rustc knows which: `pauli!` brings [`names`] into scope, so
//! that `Z0` is an operator. Written for the macro only.

use ketgrad_core::observable::{ObservableError, Pauli, PauliSum};

/// A term so far.
#[derive(Debug)]
pub struct Term {
    coefficient: f64,
    operators: Vec<(usize, Pauli)>,
}

impl Term {
    /// 1.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "only the macro makes one")]
    pub fn new() -> Term {
        Term { coefficient: 1.0, operators: Vec::new() }
    }

    /// Adds it to a sum.
    ///
    /// # Errors
    /// Fails when [`PauliSum::push`] does.
    pub fn push(self, sum: &mut PauliSum) -> Result<(), ObservableError> {
        sum.push(self.coefficient, self.operators)?;
        Ok(())
    }
}

/// A factor of a term.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no factor of a Pauli string",
    label = "expected a number such as an `f64`, or an operator such as `Z0` or `Z[q]`"
)]
pub trait Factor {
    /// Multiplies the term.
    fn times(self, term: &mut Term);
}

macro_rules! numbers {
    ($($T:ty)*) => {
        $(impl Factor for $T {
            fn times(self, term: &mut Term) {
                term.coefficient *= f64::from(self);
            }
        })*
    };
}
numbers!(f64 f32 i32 i16 i8 u32 u16 u8 bool);

/// An operator on a qubit; the identity is `None`.
#[derive(Clone, Copy, Debug)]
pub struct Operator(pub Option<(usize, Pauli)>);

impl Factor for Operator {
    fn times(self, term: &mut Term) {
        term.operators.extend(self.0);
    }
}

/// The operators that a name alone may be.
pub mod names {
    #![allow(missing_docs, reason = "the names say it")]

    use super::{Operator, Pauli};

    macro_rules! operators {
        ($($q:literal $X:ident $Y:ident $Z:ident,)*) => {
            $(
                pub const $X: Operator = Operator(Some(($q, Pauli::X)));
                pub const $Y: Operator = Operator(Some(($q, Pauli::Y)));
                pub const $Z: Operator = Operator(Some(($q, Pauli::Z)));
            )*
        };
    }
    operators! {
        0 X0 Y0 Z0, 1 X1 Y1 Z1, 2 X2 Y2 Z2, 3 X3 Y3 Z3, 4 X4 Y4 Z4, 5 X5 Y5 Z5, 6 X6 Y6 Z6, 7 X7 Y7 Z7,
        8 X8 Y8 Z8, 9 X9 Y9 Z9, 10 X10 Y10 Z10, 11 X11 Y11 Z11, 12 X12 Y12 Z12, 13 X13 Y13 Z13,
        14 X14 Y14 Z14, 15 X15 Y15 Z15, 16 X16 Y16 Z16, 17 X17 Y17 Z17, 18 X18 Y18 Z18, 19 X19 Y19 Z19,
        20 X20 Y20 Z20, 21 X21 Y21 Z21, 22 X22 Y22 Z22, 23 X23 Y23 Z23, 24 X24 Y24 Z24, 25 X25 Y25 Z25,
        26 X26 Y26 Z26, 27 X27 Y27 Z27, 28 X28 Y28 Z28, 29 X29 Y29 Z29, 30 X30 Y30 Z30, 31 X31 Y31 Z31,
        32 X32 Y32 Z32, 33 X33 Y33 Z33, 34 X34 Y34 Z34, 35 X35 Y35 Z35, 36 X36 Y36 Z36, 37 X37 Y37 Z37,
        38 X38 Y38 Z38, 39 X39 Y39 Z39, 40 X40 Y40 Z40, 41 X41 Y41 Z41, 42 X42 Y42 Z42, 43 X43 Y43 Z43,
        44 X44 Y44 Z44, 45 X45 Y45 Z45, 46 X46 Y46 Z46, 47 X47 Y47 Z47, 48 X48 Y48 Z48, 49 X49 Y49 Z49,
        50 X50 Y50 Z50, 51 X51 Y51 Z51, 52 X52 Y52 Z52, 53 X53 Y53 Z53, 54 X54 Y54 Z54, 55 X55 Y55 Z55,
        56 X56 Y56 Z56, 57 X57 Y57 Z57, 58 X58 Y58 Z58, 59 X59 Y59 Z59, 60 X60 Y60 Z60, 61 X61 Y61 Z61,
        62 X62 Y62 Z62, 63 X63 Y63 Z63,
    }
}
