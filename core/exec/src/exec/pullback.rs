//! One run of a function for any number of cotangents.

use std::sync::Arc;

use crate::{
    adjoint::{self, Reverse},
    pass::optimize_all,
    scalar::{Real, Scalar},
};

use super::{
    CallError, Derivatives, DeriveError, Executable,
    batched_tangents::MIN_BATCH,
    data::Datum,
    host_with_constants::HostWithConstants,
    machine::RecordedTapes,
    tangents::{check_cotangent, extend},
};

/// Pullback: a value, and the map from its cotangents to those of the arguments.
#[derive(Debug)]
pub struct Pullback<'d, 'h, S: Scalar> {
    /// The value.
    pub value: Datum<S>,
    tapes: RecordedTapes<S>,
    /// True if several cotangents can be computed at once; `None` before that is known.
    batched: Option<bool>,
    args: Vec<Datum<S>>,
    of: &'d mut Derivatives<'h, S>,
}

impl<'h, T: Real, S: Scalar<Real = T>> Derivatives<'h, S> {
    /// Runs the function once and returns its value and a pullback that can be called any number of
    /// times.
    ///
    /// # Errors
    /// An op has no rule, the arguments do not fit, or the program fails.
    pub fn pullback(&mut self, args: &[Datum<S>]) -> Result<Pullback<'_, 'h, S>, DeriveError> {
        if self.split.is_none() {
            let mut program = self.optimized();
            let Reverse { primal, adjoint } = adjoint::reverse(&mut program, self.f)?;
            optimize_all(&mut program, primal, self.level);
            optimize_all(&mut program, adjoint, self.level);
            let how = self.compile_options();
            let parts = (how.code(&program, primal, &[])?, how.code(&program, adjoint, &[])?);
            self.split = Some(Arc::new(parts));
        }
        let Some((primal, _)) = self.split.as_deref() else {
            return Err(CallError::Undefined { name: String::new() }.into());
        };
        let host = HostWithConstants { host: &*self.host, constants: &self.constants };
        let value = primal.call(&mut self.machine, &host, &self.limits, args)?;
        let tapes = self.machine.take_tapes();
        Ok(Pullback::new(value, tapes, args, self))
    }
}

impl<'d, 'h, T: Real, S: Scalar<Real = T>> Pullback<'d, 'h, S> {
    fn new(
        value: Datum<S>,
        tapes: RecordedTapes<S>,
        args: &[Datum<S>],
        of: &'d mut Derivatives<'h, S>,
    ) -> Pullback<'d, 'h, S> {
        Pullback { value, tapes, batched: None, args: args.to_vec(), of }
    }

    /// Returns the cotangents of the parameters for several cotangents of the result.
    pub(super) fn call_all(
        &mut self,
        bars: Vec<Vec<Datum<S>>>,
    ) -> Result<Vec<Vec<Datum<S>>>, DeriveError> {
        if bars.len() >= MIN_BATCH
            && *self.batched.get_or_insert_with(|| self.of.batched.load_tapes(&self.tapes))
            && let Some(split) = self.of.split.clone()
        {
            let (_, adjoint) = &*split;
            if let Some(results) = self.of.run_batched(adjoint, true, &[], &bars) {
                let whole = |y: Datum<S>| {
                    let mut bars = y.fields().to_vec();
                    extend(&mut bars, &self.args)?;
                    Ok(bars)
                };
                return results.into_iter().map(whole).collect();
            }
        }
        bars.into_iter()
            .map(|bar| self.call(bar.into_iter().next().unwrap_or(Datum::Int(0))))
            .collect()
    }

    /// Computes the cotangents of the parameters that have one, for a cotangent of the result.
    ///
    /// # Errors
    /// The cotangent does not fit, or the program fails.
    pub fn call(&mut self, y_bar: Datum<S>) -> Result<Vec<Datum<S>>, DeriveError> {
        let of = &mut *self.of;
        let Some((_, adjoint)) = of.split.as_deref() else {
            return Err(CallError::Undefined { name: String::new() }.into());
        };
        check_cotangent(&y_bar, &self.value)?;
        of.machine.put_tapes(&self.tapes);
        let host = HostWithConstants { host: &*of.host, constants: &of.constants };
        let bars = adjoint.call(&mut of.machine, &host, &of.limits, &[y_bar])?;
        let mut bars = bars.fields().to_vec();
        extend(&mut bars, &self.args)?;
        Ok(bars)
    }
}
