//! Hosts on the numbers that checks need.

use num_complex::Complex;
use num_dual::DualNum;

use crate::{
    exec::{Derivatives, DeriveError, Host},
    ir::Program,
    scalar::{Real, Scalar},
};

use super::{numbers::StrictDual, settings::Settings};

/// Host that computes primitives on the numbers that checks need.
pub trait CheckHost<T: Real + DualNum = f64>:
    Host<Complex<T>> + Host<Complex<StrictDual<T>>>
{
}
impl<T: Real + DualNum, H: Host<Complex<T>> + Host<Complex<StrictDual<T>>>> CheckHost<T> for H {}

/// Returns a function with a host and limits.
pub(super) fn derivatives<'h, S: Scalar>(
    program: &Program,
    name: &str,
    host: &'h impl Host<S>,
    settings: Settings,
) -> Result<Derivatives<'h, S>, DeriveError> {
    Ok(Derivatives::new(program, name)?.with_host(host).with_limits(settings.limits))
}
