//! Limits that a run leaves to the primitives that it calls.

use crate::cancel::{CancellationToken, Cancelled};

use super::Limits;

/// Limits that are left to a primitive by the run that calls it, and that run's token. A host that
/// runs programs itself runs them [here](CallContext::run): then they count as if the caller had
/// run them.
///
/// ```
/// use ketgrad_core::{
///     exec::{Bytecode, CallContext, Datum, Derivatives, Host, HostError, Limits, NoHost},
///     ir::{Kind, Primitive}, rules::Rules, text::{parse_program, parse_program_with},
/// };
///
/// /// `slow(x)`, by a program.
/// struct Slow(Bytecode);
/// impl Host<f64> for Slow {
///     fn call(&self, primitive: &Primitive, args: &[Datum<f64>]) -> Result<Datum<f64>, HostError> {
///         self.call_within(primitive, args, &mut CallContext::new(Limits::new()))
///     }
///     fn call_within(
///         &self, primitive: &Primitive, args: &[Datum<f64>], context: &mut CallContext,
///     ) -> Result<Datum<f64>, HostError> {
///         let failed = |reason: String| HostError::Failed { name: primitive.name.clone(), reason };
///         context.run(&self.0, &NoHost, args).map_err(|e| failed(e.to_string()))
///     }
/// }
///
/// let slow = parse_program("fn slow(x) { let mut y = x; for i in 0..1000 { y = 0.9 * y; } y }")?;
/// let host = Slow(Bytecode::compile(&slow, slow.lookup("slow").ok_or("no function")?)?);
/// let mut rules = Rules::new();
/// rules.primitive("slow", &[Kind::Real], Kind::Real)?;
/// let program = parse_program_with("fn f(x) { let mut y = x; for i in 0..100 { y = slow(y); } y }", &rules)?;
///
/// // 1,000 iterations would be fine, 100 times as many are not.
/// let few = Limits::new().with_steps(50_000);
/// let error = Derivatives::<f64>::new(&program, "f")?.with_host(&host).with_limits(few).value(&[Datum::Real(1.0)]);
/// assert!(error.unwrap_err().to_string().contains("steps"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CallContext {
    pub(super) left: Limits,
    pub(super) cancellation: CancellationToken,
    pub(super) steps: u64,
    pub(super) work: u64,
}

impl CallContext {
    /// Creates a context for a call outside of a run.
    #[must_use]
    pub const fn new(limits: Limits) -> CallContext {
        CallContext { left: limits, cancellation: CancellationToken::never(), steps: 0, work: 0 }
    }

    /// Sets a token that ends its runs early.
    #[must_use]
    pub fn with_cancellation(self, token: CancellationToken) -> CallContext {
        CallContext { cancellation: token, ..self }
    }

    /// Limits that are left.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.left
    }

    /// Lowers the limits that are left to the given ones.
    pub fn restrict(&mut self, limits: &Limits) {
        let left = &self.left;
        self.left = Limits::new()
            .with_steps(left.steps.min(limits.steps))
            .with_work(left.work.min(limits.work))
            .with_depth(left.depth.min(limits.depth))
            .with_array(left.array.min(limits.array))
            .with_memory(left.memory.min(limits.memory));
    }

    /// Returns an error if the caller's run is cancelled.
    ///
    /// # Errors
    /// [`Cancelled`] if the run is cancelled.
    pub fn check_cancelled(&self) -> Result<(), Cancelled> {
        self.cancellation.check()
    }

    /// Steps and work that its runs have used.
    pub(super) fn used(&self) -> (u64, u64) {
        (self.steps, self.work)
    }
}
