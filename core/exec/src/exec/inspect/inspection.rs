//! Runs under an interceptor.

use std::sync::Arc;

use crate::{
    adjoint,
    cancel::CancellationToken,
    entity::FuncId,
    ir::{Program, verify_reachable},
    pass::{Level, optimize_all},
    scalar::{Real, Scalar},
};

use super::{
    super::{
        Bytecode, Datum, DeriveError, Host, Limits, Machine, NoHost,
        compile::{Style, TapeProvenance},
        derivatives::find,
    },
    interceptor::Interceptor,
};

/// A function compiled to be looked at while it runs. It is not optimised: it runs as it was
/// written.
pub struct Inspection<'h, S: Scalar> {
    code: Bytecode,
    host: Arc<dyn Host<S> + 'h>,
    limits: Limits,
    machine: Machine<S>,
}

impl<S: Scalar> std::fmt::Debug for Inspection<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspection").field("instructions", &self.code.len()).finish()
    }
}

impl<'h, T: Real, S: Scalar<Real = T>> Inspection<'h, S> {
    /// Compiles the function of the given name.
    ///
    /// # Errors
    /// There is no function of that name, it calls one without a body, or the program is not well
    /// formed.
    pub fn new(program: &Program, name: &str) -> Result<Self, DeriveError> {
        Inspection::for_function(program, find(program, name)?)
    }

    /// Compiles its gradient, `(x…) -> (value, gradient by each parameter…)`, optimised at the
    /// default level.
    ///
    /// # Errors
    /// There is no such function, or it cannot be differentiated.
    pub fn of_gradient(program: &Program, name: &str) -> Result<Self, DeriveError> {
        let (program, gradient) = gradient_of(program, find(program, name)?)?;
        Inspection::for_function(&program, gradient)
    }

    /// Compiles any function of a program.
    ///
    /// # Errors
    /// The function calls one without a body, or the program is not well formed.
    pub fn for_function(program: &Program, f: FuncId) -> Result<Self, DeriveError> {
        Inspection::in_style(program, f, Style::Instrumented)
    }

    /// Compiles any function in the style [`Followed`](Style::InstrumentedInPlace).
    pub(in crate::exec) fn instrumented_in_place(
        program: &Program,
        f: FuncId,
    ) -> Result<Self, DeriveError> {
        Inspection::in_style(program, f, Style::InstrumentedInPlace)
    }

    /// Compiles the gradient like [`of_gradient`](Inspection::of_gradient), in the style
    /// [`Followed`](Style::InstrumentedInPlace).
    pub(in crate::exec) fn gradient_in_place(
        program: &Program,
        f: FuncId,
    ) -> Result<Self, DeriveError> {
        let (program, gradient) = gradient_of(program, f)?;
        Inspection::instrumented_in_place(&program, gradient)
    }

    fn in_style(program: &Program, f: FuncId, style: Style) -> Result<Self, DeriveError> {
        verify_reachable(program, f).map_err(Box::new)?;
        let code = Bytecode::compile_as(program, f, style, &[], TapeProvenance::Unknown)?;
        Ok(Inspection {
            code,
            host: Arc::new(NoHost),
            limits: Limits::default(),
            machine: Machine::new(),
        })
    }

    /// Sets the host that computes the program's primitives.
    #[must_use]
    pub fn with_host(mut self, host: impl Host<S> + 'h) -> Self {
        self.host = Arc::new(host);
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets a token that ends runs early: it is checked before each run and, during a run, every
    /// 2^20 steps and after each operation on arrays.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.machine = self.machine.with_cancellation(token);
        self
    }

    /// Runs it under an interceptor.
    ///
    /// # Errors
    /// The arguments do not fit, the program fails, or the interceptor stops it.
    pub fn run(
        &mut self,
        args: &[Datum<S>],
        interceptor: &mut impl Interceptor<S>,
    ) -> Result<Datum<S>, DeriveError> {
        let mut result = Datum::Int(0);
        let Inspection { code, host, limits, machine } = self;
        code.run(machine, &**host, limits, args, &mut result, interceptor)?;
        Ok(result)
    }
}

/// Returns a program with the gradient of a function, optimised at the default level.
fn gradient_of(program: &Program, f: FuncId) -> Result<(Program, FuncId), DeriveError> {
    let mut program = program.clone();
    let gradient = adjoint::gradient(&mut program, f)?;
    optimize_all(&mut program, gradient, Level::default());
    Ok((program, gradient))
}
