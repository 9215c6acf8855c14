//! Cancellation: a token that the caller keeps and that long computations check.
//!
//! ```
//! use ketgrad_core::{cancel::CancellationToken, circuit::Circuit, simulate::Simulator};
//!
//! let token = CancellationToken::new();
//! let simulator = Simulator::new().with_cancellation(token.clone());
//! token.cancel(); // from any thread
//! let error = simulator.run::<f64>(&Circuit::new(2), &[]).map(|_| ()).unwrap_err();
//! assert!(ketgrad_core::cancel::is_cancelled(&error));
//! ```
//!
//! Nothing is interrupted: a computation checks its token every now and then (the functions that
//! take one document how often), and ends with the error [`Cancelled`], alone or as the source of
//! another. A token that was cancelled stays so.

use std::{
    error::Error,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// A flag that ends the work that was handed a clone of it, or a condition that does. Clones share
/// it.
#[derive(Clone, Default)]
pub struct CancellationToken {
    shared: Option<Arc<TokenState>>,
}

struct TokenState {
    cancelled: AtomicBool,
    condition: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

/// The work was cancelled by its [`CancellationToken`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("cancelled before it was done")]
pub struct Cancelled;

impl CancellationToken {
    /// Creates a token that is not cancelled.
    #[must_use]
    pub fn new() -> CancellationToken {
        CancellationToken::with_state(None)
    }

    /// Creates a token that cannot be cancelled: the default of computations without a token.
    #[must_use]
    pub const fn never() -> CancellationToken {
        CancellationToken { shared: None }
    }

    /// Returns true if it cannot be cancelled.
    #[doc(hidden)]
    pub fn is_never(&self) -> bool {
        self.shared.is_none()
    }

    /// Creates a token that is also cancelled once the condition holds when it is checked: a
    /// deadline, a signal, a closed connection. The condition is evaluated from any thread of the
    /// computation, up to many thousand times a second, and not again once it has held.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use ketgrad_core::cancel::CancellationToken;
    ///
    /// let end = Instant::now() + Duration::from_millis(5);
    /// let token = CancellationToken::when(move || Instant::now() >= end);
    /// while !token.is_cancelled() {}
    /// assert!(Instant::now() >= end);
    /// ```
    #[must_use]
    pub fn when(condition: impl Fn() -> bool + Send + Sync + 'static) -> CancellationToken {
        CancellationToken::with_state(Some(Box::new(condition)))
    }

    fn with_state(condition: Option<Box<dyn Fn() -> bool + Send + Sync>>) -> CancellationToken {
        CancellationToken {
            shared: Some(Arc::new(TokenState { cancelled: AtomicBool::new(false), condition })),
        }
    }

    /// Ends the work at the next place where it looks. Of [`never`](CancellationToken::never) it
    /// does nothing.
    pub fn cancel(&self) {
        if let Some(shared) = &self.shared {
            shared.cancelled.store(true, Ordering::Release);
        }
    }

    /// Returns true if it was cancelled, or its condition has held.
    #[must_use]
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.shared.as_deref().is_some_and(TokenState::is_cancelled)
    }

    /// Returns an error if it [is cancelled](CancellationToken::is_cancelled).
    ///
    /// # Errors
    /// [`Cancelled`] if it is cancelled.
    #[inline]
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

impl TokenState {
    fn is_cancelled(&self) -> bool {
        if self.cancelled.load(Ordering::Acquire) {
            return true;
        }
        let holds = self.condition.as_ref().is_some_and(|condition| condition());
        if holds {
            self.cancelled.store(true, Ordering::Release);
        }
        holds
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cancelled = self.shared.as_ref().map(|s| s.cancelled.load(Ordering::Relaxed));
        f.debug_struct("CancellationToken").field("cancelled", &cancelled.unwrap_or(false)).finish()
    }
}

/// Returns true if an error, or one of its sources, is [`Cancelled`].
#[must_use]
pub fn is_cancelled(error: &(dyn Error + 'static)) -> bool {
    let mut error = Some(error);
    while let Some(this) = error {
        if this.is::<Cancelled>() {
            return true;
        }
        error = this.source();
    }
    false
}
