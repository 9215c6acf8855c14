//! Errors of compilation to machine code.

/// Error of a program that could not become machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JitError {
    /// There is no code generator for this processor.
    #[error("no machine code for this processor: {reason}")]
    Processor {
        /// Message of the code generator.
        reason: String,
    },
    /// The code generator failed.
    #[error("no machine code for `{function}`: {reason}")]
    Function {
        /// The function.
        function: String,
        /// Message of the code generator.
        reason: String,
    },
    /// The system gave no memory for machine code.
    #[error("no memory for machine code: {reason}")]
    Memory {
        /// Message of the system.
        reason: String,
    },
}
