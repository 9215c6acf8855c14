//! One run of a function for any number of tangents.

use std::sync::Arc;

use crate::{
    adjoint,
    array::ArrayError,
    pass::Level,
    scalar::{Real, Scalar},
};

use super::{
    Bytecode, Derivatives, DeriveError, Executable, Limits, RunError,
    batched_tangents::MIN_BATCH,
    compiled_derivative::{CacheLookup, known},
    data::Datum,
    host_with_constants::HostWithConstants,
    machine::RecordedTapes,
    tangents::whole,
};

/// A value and the way on to its tangents.
pub(super) struct LinearMap<'d, 'h, S: Scalar> {
    value: Datum<S>,
    tapes: RecordedTapes<S>,
    /// True if several tangents can be computed at once; `None` before that is known.
    batched: Option<bool>,
    parts: Arc<[Bytecode; 2]>,
    of: &'d mut Derivatives<'h, S>,
}

/// Maximum number of bytes that are recorded for tangents: a function that needs more runs anew for
/// each.
const MAX_RECORDED_BYTES: usize = 1 << 26;

impl<'h, T: Real, S: Scalar<Real = T>> Derivatives<'h, S> {
    /// Runs the function once, for any number of tangents. `None` if it must run anew for each.
    pub(super) fn linearize(
        &mut self,
        args: &[Datum<S>],
    ) -> Result<Option<LinearMap<'_, 'h, S>>, DeriveError> {
        let parts = match self.linearized.find(args) {
            _ if self.level == Level::None => None,
            CacheLookup::Hit(parts) => parts,
            CacheLookup::Miss => None,
            CacheLookup::Compile(args_known) => {
                let zeros: Vec<_> =
                    args.iter().filter_map(Datum::zero_tangent).map(|d| known(&d)).collect();
                let parts =
                    self.derived(adjoint::forward).linearize(&args_known, &zeros).map(Arc::new);
                self.linearized.keep(args_known, parts.clone());
                parts
            }
        };
        let Some(parts) = parts else { return Ok(None) };
        let host = HostWithConstants { host: &*self.host, constants: &self.constants };
        let limits = Limits { memory: self.limits.memory.min(MAX_RECORDED_BYTES), ..self.limits };
        let value = match parts[0].call(&mut self.machine, &host, &limits, args) {
            Err(
                RunError::Memory { .. } | RunError::Array { source: ArrayError::Memory { .. }, .. },
            ) => {
                return Ok(None);
            }
            value => value?,
        };
        let tapes = self.machine.take_tapes().reversed();
        Ok(Some(LinearMap { value, tapes, batched: None, parts, of: self }))
    }
}

impl<T: Real, S: Scalar<Real = T>> LinearMap<'_, '_, S> {
    /// Computes the tangents of the value for several of the arguments.
    pub(super) fn call_all(
        &mut self,
        sets: &[Vec<Datum<S>>],
    ) -> Result<Vec<Datum<S>>, DeriveError> {
        if sets.len() >= MIN_BATCH
            && *self.batched.get_or_insert_with(|| self.of.batched.load_tapes(&self.tapes))
            && let Some(results) = self.of.run_batched(&self.parts[1], true, &[], sets)
        {
            return results.into_iter().map(|dot| whole(dot, &self.value)).collect();
        }
        sets.iter().map(|dots| self.call(dots)).collect()
    }

    /// Computes the tangent of the value.
    fn call(&mut self, dots: &[Datum<S>]) -> Result<Datum<S>, DeriveError> {
        let of = &mut *self.of;
        of.machine.put_tapes(&self.tapes);
        let host = HostWithConstants { host: &*of.host, constants: &of.constants };
        let dot = self.parts[1].call(&mut of.machine, &host, &of.limits, dots)?;
        whole(dot, &self.value)
    }
}
