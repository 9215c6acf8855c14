//! Why something did not work.

use std::fmt;

use ketgrad_plugin_abi as abi;

/// Why something did not work, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub(crate) status: abi::Status,
    pub(crate) message: String,
}

/// A value, or why there is none.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// It failed.
    pub fn new(message: impl Into<String>) -> Error {
        Error { status: abi::ERROR, message: message.into() }
    }
    /// It cannot do that.
    pub fn unsupported(message: impl Into<String>) -> Error {
        Error { status: abi::UNSUPPORTED, message: message.into() }
    }
    /// The hardware is missing: a plugin that says so at registration is left out quietly if it is
    /// optional.
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
