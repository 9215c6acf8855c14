//! Interceptors: what sees a run, and may change or stop it.

use crate::scalar::Scalar;

use super::{super::Datum, event::Event};

/// Reason why an interceptor stops a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interrupt(pub String);

/// Sees each instruction as it runs.
pub trait Interceptor<S: Scalar> {
    /// Sees a moment of the run.
    ///
    /// # Errors
    /// An error ends the run there.
    fn see(&mut self, event: &Event<'_, S>) -> Result<(), Interrupt>;

    /// Returns a value that replaces the result of an instruction. It is called after
    /// [`see`](Interceptor::see), twice: before the instruction, which then does not run, and after
    /// it. `None` keeps the result.
    ///
    /// # Errors
    /// To end the run there. A value of another kind, or for an instruction without a result, ends
    /// it too.
    fn replace(&mut self, event: &Event<'_, S>) -> Result<Option<Datum<S>>, Interrupt> {
        let _ = event;
        Ok(None)
    }
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::exec) struct NoInterceptor;

impl<S: Scalar> Interceptor<S> for NoInterceptor {
    fn see(&mut self, _: &Event<'_, S>) -> Result<(), Interrupt> {
        Ok(())
    }
}
