//! Compiled functions, and how one is run within the limits that a caller has left.

use crate::scalar::Scalar;

use super::{CallContext, Datum, Host, Limits, Machine, RunError};

/// A compiled function.
pub trait Executable<S: Scalar> {
    /// Runs it and writes the result over an earlier one, whose memory is used again. If the arrays
    /// of that are not shared, a machine that has run the same before allocates nothing.
    ///
    /// # Errors
    /// The arguments do not fit, a limit is exceeded, or the program fails.
    fn call_into(
        &self,
        machine: &mut Machine<S>,
        host: &dyn Host<S>,
        limits: &Limits,
        args: &[Datum<S>],
        result: &mut Datum<S>,
    ) -> Result<(), RunError>;

    /// Runs it.
    ///
    /// # Errors
    /// Those of [`call_into`](Executable::call_into).
    fn call(
        &self,
        machine: &mut Machine<S>,
        host: &dyn Host<S>,
        limits: &Limits,
        args: &[Datum<S>],
    ) -> Result<Datum<S>, RunError> {
        let mut result = Datum::Int(0);
        self.call_into(machine, host, limits, args, &mut result)?;
        Ok(result)
    }

    /// Runs it on the leaves of its arguments where all of them are real numbers, and writes the
    /// leaves of its result, which are real numbers too. Allocates nothing once the machine has
    /// grown.
    ///
    /// # Errors
    /// Those of [`call_into`](Executable::call_into).
    fn call_flat(
        &self,
        machine: &mut Machine<S>,
        host: &dyn Host<S>,
        limits: &Limits,
        args: &[S::Real],
        results: &mut [S::Real],
    ) -> Result<(), RunError>;
}

impl CallContext {
    /// Runs compiled code within the limits that are left, and subtracts what it has used.
    ///
    /// # Errors
    /// Those of [`Executable::call`].
    pub fn run<S: Scalar, E: Executable<S> + ?Sized>(
        &mut self,
        code: &E,
        host: &dyn Host<S>,
        args: &[Datum<S>],
    ) -> Result<Datum<S>, RunError> {
        let mut machine = Machine::new().with_cancellation(self.cancellation.clone());
        let value = code.call(&mut machine, host, &self.left, args)?;
        let (steps, work) = machine.used();
        (self.steps, self.work) =
            (self.steps.saturating_add(steps), self.work.saturating_add(work));
        let (steps, work) =
            (self.left.steps.saturating_sub(steps), self.left.work.saturating_sub(work));
        self.left = self.left.with_steps(steps).with_work(work);
        Ok(value)
    }
}
