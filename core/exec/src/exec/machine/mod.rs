//! The register machine.
//!
//! A [`Machine`] holds the registers, the stack of calls and the tapes; it can be used again and
//! again and then allocates nothing. Calls of the program are frames on its own stack, so no
//! program exhausts the thread's.

mod array_bank;
mod arrays;
mod banks;
mod buffer_pool;
mod chunk;
mod cost;
mod elements;
#[cfg(feature = "jit")]
mod enter_jit;
mod kernel_plan;
mod loops;
mod memory_budget;
mod replace;
mod run;
mod small_program;
mod whole;

use num_complex::Complex;

use crate::{
    cancel::CancellationToken,
    ir::Position,
    scalar::{Real, Scalar},
};

use super::{
    Executable, Limits,
    bytecode::{Bytecode, CallFrame},
    code::{BANKS, Bank},
    data::Datum,
    error::{CallError, RunError},
    host::Host,
    inspect::{Interceptor, NoInterceptor},
};
pub(super) use banks::{Banks, FrameBase, RecordedTapes};
use banks::{TapeStorage, store_leaves};
use run::run_routine;

/// The state of a run.
#[derive(Debug)]
pub struct Machine<S: Scalar> {
    banks: Banks<S>,
    tapes: Vec<TapeStorage<S>>,
    frames: Vec<CallFrame>,
    /// True if the next run reads the tapes that the last one left.
    keep: bool,
    /// True if a run failed and left values in registers.
    broken: bool,
    cancellation: CancellationToken,
    /// Steps of the last run, if it came to its end.
    steps: u64,
    /// Cells of tapes and arrays for machine code.
    #[cfg(feature = "jit")]
    cells: Vec<super::jit::JitCell>,
}

impl<S: Scalar> Default for Machine<S> {
    fn default() -> Self {
        Machine::new()
    }
}

impl<S: Scalar> Machine<S> {
    /// Creates a machine without memory yet.
    #[must_use]
    pub fn new() -> Machine<S> {
        Machine {
            banks: Banks::new(),
            tapes: vec![],
            frames: vec![],
            keep: false,
            broken: false,
            cancellation: CancellationToken::never(),
            steps: 0,
            #[cfg(feature = "jit")]
            cells: vec![],
        }
    }

    /// Sets a token that ends its runs early: it is checked before each run and, during a run,
    /// every 2^20 steps and after each operation on arrays.
    #[must_use]
    pub fn with_cancellation(self, token: CancellationToken) -> Machine<S> {
        Machine { cancellation: token, ..self }
    }

    /// Steps and work of the last run, if it came to its end.
    pub(super) fn used(&self) -> (u64, u64) {
        (self.steps, self.banks.arrays.budget.work_done())
    }

    /// Creates a machine without memory yet, with the same token.
    pub(super) fn another<R: Scalar>(&self) -> Machine<R> {
        Machine::new().with_cancellation(self.cancellation.clone())
    }

    /// Returns the error of a run that is cancelled before it begins.
    fn check_cancelled(&self) -> Result<(), RunError> {
        self.cancellation
            .check()
            .map_err(|source| RunError::Cancelled { at: Position::default(), source })
    }

    /// Returns the tapes that the last run left.
    pub(super) fn take_tapes(&mut self) -> RecordedTapes<S> {
        RecordedTapes(std::mem::take(&mut self.tapes))
    }

    /// Lets the next run read these tapes.
    pub(super) fn put_tapes(&mut self, tapes: &RecordedTapes<S>) {
        self.tapes.clone_from(&tapes.0);
        self.keep = true;
    }

    /// Returns the bytes of the registers, the tapes and the spare buffers; numbers that have
    /// memory of their own (symbols) count as their pointers.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.banks.memory() + self.tapes.iter().map(TapeStorage::memory).sum::<usize>()
    }

    /// Takes the memory of an old result for the next run.
    pub(super) fn reclaim(&mut self, old: &mut Datum<S>) {
        self.banks.reclaim(old);
    }

    /// Gives an error in code that has no places (a rule from another text) that of the innermost
    /// call with one.
    #[cold]
    fn with_position(&self, code: &Bytecode, mut error: RunError) -> RunError {
        if let Some(at) = error.position_mut() {
            *at = self.frames.iter().rev().fold(*at, |at, call| at.or(call.position(code)));
        }
        error
    }

    fn prepare(&mut self, code: &Bytecode, limits: &Limits) {
        self.frames.clear();
        while self.tapes.len() < code.tapes {
            self.tapes.push(TapeStorage::new());
        }
        // An error may have left values.
        let keep = std::mem::take(&mut self.keep);
        self.tapes.iter_mut().filter(|_| !keep).for_each(TapeStorage::clear);
        if std::mem::replace(&mut self.broken, true) {
            self.banks.clear_all();
        }
        self.banks.begin(limits);
        if let Some(routine) = code.routines.first() {
            self.banks.grow([0; BANKS], routine);
        }
    }
}

impl Bytecode {
    /// Checks the arguments, runs, and writes the result over an earlier one.
    pub(super) fn run<T: Real, S: Scalar<Real = T>, I: Interceptor<S>>(
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

    /// Checks that each pop took the value that the push of its slot left, on the tapes that are
    /// popped to the end.
    fn check_tapes<S: Scalar>(&self, tapes: &[TapeStorage<S>]) -> Result<(), RunError> {
        match self
            .checked_tapes
            .iter()
            .find(|(tape, bank)| tapes[*tape as usize].checksums[*bank as usize] != 0)
        {
            None => Ok(()),
            Some(&(tape, _)) => {
                let function = self.routines.first().map(|r| r.name.clone()).unwrap_or_default();
                Err(RunError::TapeOrder { function, tape })
            }
        }
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
