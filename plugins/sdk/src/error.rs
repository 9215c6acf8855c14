//! Errors of a plugin.

use std::fmt;

use ketgrad_plugin_abi as abi;

/// Error with a message in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub(crate) status: abi::Status,
    pub(crate) message: String,
}

/// Result of a plugin's function.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Error of a call that failed.
    pub fn new(message: impl Into<String>) -> Error {
        Error { status: abi::ERROR, message: message.into() }
    }
    /// Error of an operation that is not supported.
    pub fn unsupported(message: impl Into<String>) -> Error {
        Error { status: abi::UNSUPPORTED, message: message.into() }
    }
    /// Error of missing hardware: a plugin that returns it at registration is left out quietly if
    /// it is optional.
    pub fn no_hardware(message: impl Into<String>) -> Error {
        Error { status: abi::NO_HARDWARE, message: message.into() }
    }
    pub(crate) fn invalid(message: impl Into<String>) -> Error {
        Error { status: abi::INVALID, message: message.into() }
    }
    pub(crate) fn panicked(message: String) -> Error {
        Error { status: abi::PANIC, message }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Error {}
impl From<String> for Error {
    fn from(message: String) -> Error {
        Error::new(message)
    }
}
impl From<&str> for Error {
    fn from(message: &str) -> Error {
        Error::new(message)
    }
}
