//! Error bars of expectation values, from those of inputs.

use ketgrad_core::{
    hybrid::{Method, ParametricExpectation},
    scalar::Uncertain,
};
use num_dual::DualNum;

use super::answer::RunResult;
use crate::{
    answer::Numbers,
    given::Given,
    npy::Number,
    options::Run,
    params::Points,
    report::Failure,
    uncertainty::{Sources, covariance},
};

/// Returns the sources of error, if an input has an error bar.
///
/// # Errors
/// [`Failure`] if something is asked for that does not carry them.
pub(super) fn sources(
    args: &Run,
    circuit: &ketgrad_core::circuit::Circuit,
    points: &Points,
    given: &Given,
) -> Result<Option<Sources>, Failure> {
    let Some(sigmas) = points.errors(circuit) else { return Ok(None) };
    let refused = [
        (args.shots.is_some(), "`run --shots`"),
        (args.amplitudes, "`run --amplitudes`"),
        (args.probabilities, "`run --probabilities`"),
        (args.output.is_some(), "`run --output`"),
        (args.variance, "`run --variance`"),
        (args.covariance, "`run --covariance`"),
    ];
    if let Some((_, what)) = refused.iter().find(|(asked, _)| *asked) {
        given.refuse_errors(what)?;
    }
    Ok(Some(Sources::new(&sigmas)))
}

/// Gives the expectation values of each point their errors.
///
/// # Errors
/// [`Failure`] if the derivatives cannot be computed.
pub(super) fn add<T: Number + DualNum>(
    computed: &mut [RunResult<T>],
    sources: &Sources,
    energy: &ParametricExpectation,
    points: &Points,
) -> Result<(), Failure> {
    let parts = energy.parts();
    let method =
        if parts.methods().contains(&Method::Adjoint) { Method::Adjoint } else { Method::Forward };
    for (row, point) in computed.iter_mut().enumerate() {
        let at = points.values::<T>(parts.circuit(), row)?;
        let (_, slopes) =
            energy.jacobian_by(method, &at).map_err(|e| points.located(Failure::input(e)))?;
        let values = point.expectations.iter().zip(&slopes);
        let values: Vec<Uncertain> =
            values.map(|(e, slopes)| sources.propagate(e.value, slopes)).collect();
        for (expectation, value) in point.expectations.iter_mut().zip(&values) {
            expectation.stderr = Some(T::lit(value.sigma()));
        }
        if values.len() > 1 {
            point.error_covariances = Some(covariance(&values, &mut Numbers::default()));
        }
    }
    Ok(())
}
