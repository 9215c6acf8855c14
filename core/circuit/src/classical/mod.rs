//! Classical values of circuits: their types, expressions, variables and memory.
//!
//! ```
//! use ketgrad_core::classical::{Arithmetic, ClassicalExpr, ClassicalType, IntType, Relation};
//!
//! let count = ClassicalExpr::constant(ClassicalType::Int(IntType::unsigned(4)), 9);
//! let sum = count.binary(Arithmetic::Add, 8)?; // 8 is a `uint[4]` here, and the sum wraps
//! assert_eq!(sum.value(), Some(1));
//! assert_eq!(sum.compare(Relation::Less, 2)?.value(), Some(1));
//! # Ok::<(), ketgrad_core::classical::ClassicalError>(())
//! ```
//!
//! Types are those of OpenQASM 3, and operands of different types are converted as the
//! specification asks for; the table is at [`ClassicalExpr`].
//!
//! A circuit declares variables, assigns to them and branches on them. Repeat until success, with a
//! limit of ten rounds and their number as a result:
//!
//! ```
//! use ketgrad_core::circuit::{Circuit, Condition};
//! use ketgrad_core::classical::{Arithmetic, ClassicalExpr, ClassicalType, IntType};
//!
//! let mut c = Circuit::new(1);
//! let success = c.bit_register("success", 1)?;
//! let rounds = c.add_variable("rounds", ClassicalType::Int(IntType::unsigned(8)))?;
//! let k = c.hidden_variable("k", ClassicalType::Int(IntType::INT))?;
//! c.for_loop(k, [1.into(), 1.into(), 10.into()], |c| {
//!     c.reset(0)?.h(0)?.measure(0, success)?;
//!     let next = c.value_of(rounds)?.binary(Arithmetic::Add, 1)?;
//!     c.store(rounds, next)?;
//!     c.when(success, |c| c.break_out(1))
//! })?;
//! assert_eq!(
//!     c.to_string(),
//!     "for k in [1:10] {
//!   reset q[0]
//!   h q[0]
//!   measure q[0] -> c[0]
//!   rounds = rounds + 1
//!   if (c[0] == 1) break
//! }
//! "
//! );
//! # Ok::<(), ketgrad_core::circuit::CircuitError>(())
//! ```

mod angle;
mod evaluate;
mod expr;
mod memory;
mod operator;
mod pending;
mod relation;
mod text;
mod types;
mod typing;
mod value;
mod word;

pub use evaluate::ReadMemory;
pub use expr::ClassicalExpr;
pub(crate) use expr::{ReadPlace, Renumber};
#[doc(hidden)]
pub use memory::MemoryReader;
pub use memory::{ClassicalMemory, ClassicalVariable, MemoryLayout, VariableId, VariableType};
pub use operator::{Arithmetic, ClassicalFunction};
pub(crate) use pending::formula_operators;
pub use pending::{ClassicalOperand, PendingExpr, ScalarVariable};
pub use relation::Relation;
pub(crate) use text::CircuitNames;
#[doc(hidden)]
pub use text::PlaceNames;
pub use types::{ClassicalType, FloatType, IntType, MAX_WIDTH};
pub use value::ClassicalValue;
pub use word::Word;

/// Error of an expression: the reason why it has no meaning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClassicalError {
    /// An operator on types that do not have it.
    #[error("`{operator}` does not work on {left} and {right}")]
    Operands {
        /// The operator.
        operator: String,
        /// Type of the left operand, or the integer that it is.
        left: String,
        /// Type of the right operand, or the integer that it is.
        right: String,
    },
    /// An operator or a function on a type that does not have it.
    #[error("`{operator}` does not work on {given}")]
    Operand {
        /// The operator or function.
        operator: String,
        /// Type of the operand, or the integer that it is.
        given: String,
    },
    /// A conversion that does not exist.
    #[error("there is no conversion of {from} to {to}")]
    Cast {
        /// Type of the value, or the integer that it is.
        from: String,
        /// The type.
        to: ClassicalType,
    },
    /// An integer that a type does not have.
    #[error("{value} is no {ty}")]
    Literal {
        /// The integer.
        value: i128,
        /// The type.
        ty: IntType,
    },
    /// A bit that a value does not have.
    #[error("bit {given} does not exist: there are {width}, counted from 0")]
    NoSuchBit {
        /// The bit.
        given: u32,
        /// The number of bits.
        width: u32,
    },
    /// A number of bits that no value has.
    #[error("a value has from 1 to {MAX_WIDTH} bits, not {given}")]
    Width {
        /// The number of bits.
        given: u32,
    },
    /// An integer without a type of more than 128 bits.
    #[error("an integer of more than {MAX_WIDTH} bits")]
    TooLong,
    /// A division by 0 of integers without a type.
    #[error("division by zero")]
    DivisionByZero,
    /// A negative power of an integer without a type.
    #[error("an integer has no power {exponent} among integers")]
    NegativePower {
        /// The exponent.
        exponent: i128,
    },
}
