//! Gradients that are compiled once and called often: the memory of a call is that of the call
//! before.

use std::sync::Arc;

use crate::scalar::{Real, Scalar};

use super::{
    Bytecode, CallError, Executable, Host, Limits, Machine, RunError,
    compiled_derivative::CompiledDerivative,
    data::Datum,
    host_with_constants::{BoundConstants, HostWithConstants},
    tangents::extend,
};

/// A gradient compiled once and called often.
pub struct Prepared<'h, S: Scalar> {
    derived: CompiledDerivative,
    /// The code for arguments of any shapes.
    code: Arc<Bytecode>,
    host: Arc<dyn Host<S> + 'h>,
    constants: BoundConstants<S>,
    limits: Limits,
    machine: Machine<S>,
    results: Vec<S::Real>,
    /// The last result: its memory is used again.
    whole: Datum<S>,
}

/// A copy shares the host and the compiled code; it has memory of its own, so that each thread may
/// have a copy.
impl<S: Scalar> Clone for Prepared<'_, S> {
    fn clone(&self) -> Self {
        Prepared {
            derived: self.derived.clone(),
            code: self.code.clone(),
            host: self.host.clone(),
            constants: self.constants.clone(),
            limits: self.limits,
            machine: self.machine.another(),
            results: self.results.clone(),
            whole: Datum::Int(0),
        }
    }
}

impl<S: Scalar> std::fmt::Debug for Prepared<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("instructions", &self.code.len()).finish()
    }
}

impl<'h, T: Real, S: Scalar<Real = T>> Prepared<'h, S> {
    /// Prepares a compiled gradient `(x…) -> (value, gradients…)`.
    pub(super) fn new(
        derived: CompiledDerivative,
        code: Arc<Bytecode>,
        (host, held, limits, machine): (
            Arc<dyn Host<S> + 'h>,
            BoundConstants<S>,
            Limits,
            Machine<S>,
        ),
    ) -> Self {
        let results = vec![<T as num_traits::Zero>::zero(); code.result().n_leaves()];
        Prepared {
            derived,
            code,
            host,
            constants: held,
            limits,
            machine,
            results,
            whole: Datum::Int(0),
        }
    }

    /// Writes the gradient and returns the value. The arguments are the real numbers of the
    /// parameters in order, those of structs included. Allocates nothing from the second call on.
    ///
    /// # Errors
    /// A parameter is no real number, the lengths do not fit, or the program fails.
    pub fn gradient(&mut self, args: &[T], gradient: &mut [T]) -> Result<T, RunError> {
        let Prepared { code, host, constants: held, limits, machine, results, .. } = self;
        code.call_flat(
            machine,
            &HostWithConstants { host: &**host, constants: held },
            limits,
            args,
            results,
        )?;
        let Some((value, parts)) = results.split_first() else {
            return Err(CallError::Undefined { name: String::new() }.into());
        };
        if parts.len() != gradient.len() {
            let (function, expected, given) = ("gradient".to_owned(), parts.len(), gradient.len());
            return Err(CallError::Arity { function, expected, given }.into());
        }
        gradient.clone_from_slice(parts);
        Ok(value.clone())
    }

    /// Computes the gradient like [`gradient`](Prepared::gradient), for arguments of any kind:
    /// writes a cotangent for each parameter that has one. `gradient` may start empty; passed again
    /// to the next call, the memory of its arrays is used again, so that from the third call on
    /// with arrays of the same lengths nothing is allocated, unless a primitive does. After an
    /// error it is empty.
    ///
    /// ```
    /// use ketgrad_core::{exec::{Datum, Derivatives}, text::parse_program};
    ///
    /// let source = "fn f(xs: array<real>) { let mut s = 0.0; for i in 0..len(xs) { s += xs[i] * xs[i]; } s }";
    /// let program = parse_program(source)?;
    /// let mut f = Derivatives::<f64>::new(&program, "f")?.prepare()?;
    /// let mut gradient = Vec::new();
    /// let y = f.value_and_gradient(&[Datum::reals([1.0, 2.0])], &mut gradient)?;
    /// assert_eq!((y, &gradient[..]), (5.0, &[Datum::reals([2.0, 4.0])][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The arguments do not fit, or the program fails.
    pub fn value_and_gradient(
        &mut self,
        args: &[Datum<S>],
        gradient: &mut Vec<Datum<S>>,
    ) -> Result<T, RunError> {
        let Prepared { derived, code, host, constants: held, limits, machine, whole, .. } = self;
        let code = derived.code(args).unwrap_or_else(|_| code.clone());
        gradient.iter_mut().for_each(|old| machine.reclaim(old));
        if let Err(error) = code.call_into(
            machine,
            &HostWithConstants { host: &**host, constants: held },
            limits,
            args,
            whole,
        ) {
            gradient.clear();
            return Err(error);
        }
        let wrong = || CallError::Undefined { name: "gradient".to_owned() };
        let Datum::Tuple(fields) = whole else { return Err(wrong().into()) };
        let Some((Datum::Real(value), parts)) = fields.split_first_mut() else {
            return Err(wrong().into());
        };
        gradient.resize(parts.len(), Datum::Int(0));
        gradient.iter_mut().zip(parts).for_each(|(g, part)| std::mem::swap(g, part));
        let value = value.clone();
        if let Err(error) = extend(gradient, args) {
            gradient.clear();
            return Err(error.into());
        }
        Ok(value)
    }
}
