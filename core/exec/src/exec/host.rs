//! Primitives: functions that a program calls but cannot define.

use std::sync::Arc;

use crate::{cancel::Cancelled, ir::Primitive, scalar::Scalar};

use super::{CallContext, data::Datum};

/// Host that computes primitives. A registry of closures could not be generic over the scalar; a
/// type of yours can: implement this for all `S: Scalar`, and keep in it the tables that handles
/// index.
///
/// ```
/// use ketgrad_core::{exec::{Datum, Host, HostError}, ir::Primitive, scalar::{Real, Scalar}};
///
/// /// `square(x)` on every scalar.
/// struct Squares;
/// impl<T: Real, S: Scalar<Real = T>> Host<S> for Squares {
///     fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
///         match (primitive.name.as_str(), args) {
///             ("square", [Datum::Real(x)]) => Ok(Datum::Real(x.powi(2))),
///             _ => Err(HostError::unknown(primitive)),
///         }
///     }
/// }
/// ```
///
/// Functions that run programs take a host by reference or own a share of it: `&H` and `Arc<H>` are
/// hosts if `H` is. A host may be called from several threads at once.
pub trait Host<S: Scalar>: Send + Sync {
    /// Computes the value of a primitive. It must have the primitive's result kind.
    ///
    /// # Errors
    /// The primitive is unknown, or it fails.
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError>;

    /// Computes a primitive for a run of a program, which calls this method: a host that runs
    /// programs itself does so within the limits of the caller. The result is that of
    /// [`Host::call`], unless a limit is exceeded.
    ///
    /// # Errors
    /// Those of [`Host::call`], and a limit of the context is exceeded.
    fn call_within(
        &self,
        primitive: &Primitive,
        args: &[Datum<S>],
        context: &mut CallContext,
    ) -> Result<Datum<S>, HostError> {
        let _ = context;
        self.call(primitive, args)
    }

    /// Computes a primitive that takes real numbers and gives one, without boxing any: the result
    /// of [`Host::call`]. `None` if the caller should use that. Only for speed.
    fn number(
        &self,
        primitive: &Primitive,
        args: &[S::Real],
    ) -> Option<Result<S::Real, HostError>> {
        let _ = (primitive, args);
        None
    }
}

impl<S: Scalar, H: Host<S> + ?Sized> Host<S> for &H {
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        (**self).call(primitive, args)
    }
    fn call_within(
        &self,
        primitive: &Primitive,
        args: &[Datum<S>],
        context: &mut CallContext,
    ) -> Result<Datum<S>, HostError> {
        (**self).call_within(primitive, args, context)
    }
    fn number(
        &self,
        primitive: &Primitive,
        args: &[S::Real],
    ) -> Option<Result<S::Real, HostError>> {
        (**self).number(primitive, args)
    }
}

impl<S: Scalar, H: Host<S> + ?Sized> Host<S> for Arc<H> {
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        (**self).call(primitive, args)
    }
    fn call_within(
        &self,
        primitive: &Primitive,
        args: &[Datum<S>],
        context: &mut CallContext,
    ) -> Result<Datum<S>, HostError> {
        (**self).call_within(primitive, args, context)
    }
    fn number(
        &self,
        primitive: &Primitive,
        args: &[S::Real],
    ) -> Option<Result<S::Real, HostError>> {
        (**self).number(primitive, args)
    }
}

/// Knows no primitive.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl<S: Scalar> Host<S> for NoHost {
    fn call(&self, primitive: &Primitive, _: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        Err(HostError::unknown(primitive))
    }
}

/// Error of a primitive: the reason why it gave no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The host does not know it.
    #[error("the host does not know the primitive `{name}`")]
    Unknown {
        /// Its name.
        name: String,
    },
    /// Its work was cancelled.
    #[error("{0}")]
    Cancelled(#[from] Cancelled),
    /// Its result is of another kind.
    #[error("the primitive `{name}` gave {given}, expected {expected}")]
    Kind {
        /// Its name.
        name: String,
        /// Kind of its result.
        given: String,
        /// The kind it should have given.
        expected: String,
    },
    /// It failed.
    #[error("the primitive `{name}` failed: {reason}")]
    Failed {
        /// Its name.
        name: String,
        /// Reason.
        reason: String,
    },
}

impl HostError {
    /// Creates the error of a primitive that the host does not know.
    #[must_use]
    pub fn unknown(primitive: &Primitive) -> HostError {
        HostError::Unknown { name: primitive.name.clone() }
    }
}
