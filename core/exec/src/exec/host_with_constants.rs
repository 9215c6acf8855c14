//! Hosts that know bound constants, too.

use crate::{ir::Primitive, scalar::Scalar};

use super::{CallContext, Host, HostError, data::Datum};

/// Bound constants, by the names of the primitives that take their place.
pub(super) type BoundConstants<S> = Vec<(String, Datum<S>)>;

/// A host that knows these too.
pub(super) struct HostWithConstants<'a, S: Scalar> {
    pub(super) host: &'a dyn Host<S>,
    pub(super) constants: &'a BoundConstants<S>,
}

impl<S: Scalar> HostWithConstants<'_, S> {
    fn constant(&self, primitive: &Primitive) -> Option<Datum<S>> {
        let bound = self.constants.iter().find(|(name, _)| *name == primitive.name);
        bound.map(|(_, value)| value.clone())
    }
}

impl<S: Scalar> Host<S> for HostWithConstants<'_, S> {
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        self.constant(primitive).map_or_else(|| self.host.call(primitive, args), Ok)
    }

    fn call_within(
        &self,
        primitive: &Primitive,
        args: &[Datum<S>],
        context: &mut CallContext,
    ) -> Result<Datum<S>, HostError> {
        self.constant(primitive).map_or_else(|| self.host.call_within(primitive, args, context), Ok)
    }

    fn number(
        &self,
        primitive: &Primitive,
        args: &[S::Real],
    ) -> Option<Result<S::Real, HostError>> {
        self.host.number(primitive, args)
    }
}
