//! Calls of compiled functions: the arguments are checked and stored, the code runs, and its result
//! is read.

use num_complex::Complex;

use crate::scalar::{Real, Scalar};

use super::{
    super::{
        Executable, Limits,
        bytecode::Bytecode,
        code::{BANKS, Bank},
        data::Datum,
        error::{CallError, RunError},
        host::Host,
        inspect::{Interceptor, NoInterceptor},
    },
    banks::store_leaves,
    run::run_routine,
    state::Machine,
};

impl Bytecode {
    /// Checks the arguments, runs, and writes the result over an earlier one.
    pub(in crate::exec) fn run<T: Real, S: Scalar<Real = T>, I: Interceptor<S>>(
        &self,
        machine: &mut Machine<S>,
        host: &dyn Host<S>,
        limits: &Limits,
        args: &[Datum<S>],
        result: &mut Datum<S>,
        interceptor: &mut I,
    ) -> Result<(), RunError> {
        self.check(args)?;
        machine.check_cancelled()?;
        let Some(root) = self.routines.first() else {
            return Err(CallError::Undefined { name: String::new() }.into());
        };
        machine.prepare(self, limits);
        let mut slots = root.params.iter().copied();
        for arg in args {
            store_leaves(&mut machine.banks, &mut slots, [0; BANKS], arg);
        }
        let values = run_routine(self, machine, host, limits, interceptor)
            .map_err(|e| machine.with_position(self, e))?;
        let mut slots = root.slots[values.range()].iter().copied();
        machine.banks.unload(&self.result, &mut slots, [0; BANKS], result);
        machine.banks.clear([0; BANKS], root);
        machine.broken = false;
        Ok(())
    }

    /// Checks the arguments against the parameters.
    fn check<S: Scalar>(&self, args: &[Datum<S>]) -> Result<(), CallError> {
        let function = || self.routines.first().map(|r| r.name.clone()).unwrap_or_default();
        if args.len() != self.params.len() {
            let (expected, given) = (self.params.len(), args.len());
            return Err(CallError::Arity { function: function(), expected, given });
        }
        for (arg, param) in args.iter().zip(&self.params) {
            if !arg.is(&param.kind) {
                let (parameter, expected) = (param.name.clone(), param.kind.clone());
                let given = arg.describe();
                return Err(CallError::Kind { function: function(), parameter, expected, given });
            }
        }
        Ok(())
    }
}

impl<T: Real, S: Scalar<Real = T>> Executable<S> for Bytecode {
    fn call_into(
        &self,
        machine: &mut Machine<S>,
        host: &dyn Host<S>,
        limits: &Limits,
        args: &[Datum<S>],
        result: &mut Datum<S>,
    ) -> Result<(), RunError> {
        compiled!(S: CallInto = [f32, f64, Complex<f32>, Complex<f64>] call_into)(
            self, machine, host, limits, args, result,
        )
    }

    fn call_flat(
        &self,
        machine: &mut Machine<S>,
        host: &dyn Host<S>,
        limits: &Limits,
        args: &[T],
        results: &mut [T],
    ) -> Result<(), RunError> {
        compiled!(S: CallFlat = [f32, f64, Complex<f32>, Complex<f64>] call_flat)(
            self, machine, host, limits, args, results,
        )
    }
}

type CallInto<S> = fn(
    &Bytecode,
    &mut Machine<S>,
    &dyn Host<S>,
    &Limits,
    &[Datum<S>],
    &mut Datum<S>,
) -> Result<(), RunError>;

fn call_into<S: Scalar>(
    code: &Bytecode,
    machine: &mut Machine<S>,
    host: &dyn Host<S>,
    limits: &Limits,
    args: &[Datum<S>],
    result: &mut Datum<S>,
) -> Result<(), RunError> {
    code.run::<S::Real, S, _>(machine, host, limits, args, result, &mut NoInterceptor)
}

type CallFlat<S> = fn(
    &Bytecode,
    &mut Machine<S>,
    &dyn Host<S>,
    &Limits,
    &[<S as Scalar>::Real],
    &mut [<S as Scalar>::Real],
) -> Result<(), RunError>;

fn call_flat<S: Scalar>(
    code: &Bytecode,
    machine: &mut Machine<S>,
    host: &dyn Host<S>,
    limits: &Limits,
    args: &[S::Real],
    results: &mut [S::Real],
) -> Result<(), RunError> {
    let Some(root) = code.routines.first() else {
        return Err(CallError::Undefined { name: String::new() }.into());
    };
    if !root.is_all_real
        || root.params.len() != args.len()
        || code.result.n_leaves() != results.len()
    {
        let (function, expected, given) = (root.name.clone(), root.params.len(), args.len());
        return Err(CallError::Arity { function, expected, given }.into());
    }
    machine.check_cancelled()?;
    machine.prepare(code, limits);
    for (slot, x) in root.params.iter().zip(args) {
        machine.banks.reals[slot.reg as usize].clone_from(x);
    }
    let values = run_routine::<S::Real, S, _>(code, machine, host, limits, &mut NoInterceptor)
        .map_err(|e| machine.with_position(code, e))?;
    for (slot, y) in root.slots[values.range()].iter().zip(results) {
        if slot.bank == Bank::Real {
            y.clone_from(&machine.banks.reals[slot.reg as usize]);
        }
    }
    machine.broken = false;
    Ok(())
}
