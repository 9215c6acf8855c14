//! Looking inside a run: contextual dispatch.
//!
//! An [`Interceptor`] sees each instruction as it runs, with its operands' values before and its
//! result after; [`Inspection`] runs a program under one. The program is compiled for it:
//! instruction by instruction as [`Program::print`] shows them, none joined and none dropped, so
//! positions and values are exact. Without an interceptor none of this exists in the code that
//! runs.
//!
//! | interceptor | tells |
//! |---|---|
//! | [`Debugger`] | values at breakpoints, step by step |
//! | [`Finder`] | where the first NaN or infinity was made, and of what |
//! | [`OpCounter`] | which operations ran, and how often |
//! | [`Sparsity`] | which results depend on which arguments |
//!
//! [`Derivatives::origin_of_nan`](super::Derivatives::origin_of_nan) finds the origin of a NaN in a
//! derivative.
//!
//! # Replacing
//! An interceptor may also [replace](Interceptor::replace) the result of an instruction: clip it,
//! round it, or compute a call in another way. Everything that uses the value sees the new one. The
//! effect on derivatives:
//!
//! | run | derivative of what is replaced |
//! |---|---|
//! | on numbers that carry derivatives ([`Dual64`](num_dual::Dual64)) | that of the number given: a constant has none |
//! | [`of_gradient`](Inspection::of_gradient) | that of the instruction itself: the value changes, and the reverse pass goes straight through at the new value |
//!
//! To have another function differentiated as it is, [edit](crate::ir::Editor) the program, or give
//! the function a rule.
//!
//! ```
//! use ketgrad_core::{
//!     exec::{Datum, inspect::{Event, Inspection, Interceptor, Moment, Interrupt}},
//!     ir::{Number1, Op},
//!     text::parse_program,
//! };
//!
//! /// No exponential is above 10.
//! struct Clip;
//! impl Interceptor<f64> for Clip {
//!     fn see(&mut self, _: &Event<'_, f64>) -> Result<(), Interrupt> {
//!         Ok(())
//!     }
//!     fn replace(&mut self, event: &Event<'_, f64>) -> Result<Option<Datum<f64>>, Interrupt> {
//!         let is_exp = event.inst().is_some_and(|inst| inst.op == Op::Number1(Number1::Exp));
//!         let y = event.result().filter(|_| is_exp);
//!         Ok(y.and_then(|y| Some(Datum::Real(y.real()?.min(10.0)))))
//!     }
//! }
//! let program = parse_program("fn f(x) { exp(x) + 1 }")?;
//! let mut f = Inspection::<f64>::new(&program, "f")?;
//! assert_eq!(f.run(&[Datum::Real(700.0)], &mut Clip)?, Datum::Real(11.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! use ketgrad_core::{exec::{Datum, inspect::{OpCounter, Inspection}}, text::parse_program};
//!
//! let program = parse_program("fn f(x) { let mut s = x; for i in 0..10 { s = s * x + 1; } s }")?;
//! let mut counter = OpCounter::default();
//! let y = Inspection::<f64>::new(&program, "f")?.run(&[Datum::Real(1.0)], &mut counter)?;
//! assert_eq!(y.real(), Some(&11.0));
//! assert_eq!((counter.count("mul"), counter.count("add"), counter.flops), (10, 10, 20));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod counter;
mod debugger;
mod finder;
mod flops;
mod origin;
mod sets;
mod shadow;
mod sources;
mod sparsity;

pub use counter::OpCounter;
pub use debugger::{Command, Debugger, Pause, Reason};
pub use finder::{Find, Finder, Found};
pub use sparsity::{Pattern, Sparsity, hessian_pattern, jacobian_pattern};
pub(super) use sparsity::{hessian_of, jacobian_of};

use std::sync::Arc;

use crate::{
    adjoint,
    cancel::CancellationToken,
    entity::{Block, FuncId, Inst, Value},
    ir::{
        CustomRule, Function, InstData, Kind, Op, Position, Program, Target, Terminator,
        verify_reachable,
    },
    pass::{Level, optimize_all},
    scalar::{Real, Scalar},
};

use super::{
    Bytecode, Datum, DeriveError, Host, Limits, Machine, NoHost,
    bytecode::{DebugInfo, Routine},
    code::RegisterSlot,
    compile::{Style, TapeProvenance},
    machine::{Banks, FrameBase},
};

/// A moment of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// An instruction is about to run.
    Before(Inst),
    /// An instruction has run; a call has returned.
    After(Inst),
    /// A block ends and the run takes its k-th outgoing edge. Parameters do not have their new
    /// values yet.
    Edge(Block, usize),
    /// A block ends and its function returns.
    Return(Block),
}

/// Reason why an interceptor stops a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interrupt(pub String);

/// Sees each instruction as it runs.
pub trait Interceptor<S: Scalar> {
    /// Sees a moment of the run.
    ///
    /// # Errors
    /// An error ends the run there.
    fn see(&mut self, event: &Event<'_, S>) -> Result<(), Interrupt>;

    /// Returns a value that replaces the result of an instruction. It is called after
    /// [`see`](Interceptor::see), twice: before the instruction, which then does not run, and after
    /// it. `None` keeps the result.
    ///
    /// # Errors
    /// To end the run there. A value of another kind, or for an instruction without a result, ends
    /// it too.
    fn replace(&mut self, event: &Event<'_, S>) -> Result<Option<Datum<S>>, Interrupt> {
        let _ = event;
        Ok(None)
    }
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NoInterceptor;

impl<S: Scalar> Interceptor<S> for NoInterceptor {
    fn see(&mut self, _: &Event<'_, S>) -> Result<(), Interrupt> {
        Ok(())
    }
}

/// A moment of a run with all that can be known about it.
#[derive(Debug)]
pub struct Event<'a, S: Scalar> {
    moment: Moment,
    mark: u32,
    source: &'a DebugInfo,
    banks: &'a Banks<S>,
    base: FrameBase,
    depth: usize,
}

impl<'a, S: Scalar> Event<'a, S> {
    pub(super) fn new(
        routine: &'a Routine,
        mark: u32,
        banks: &'a Banks<S>,
        base: FrameBase,
        depth: usize,
    ) -> Option<Self> {
        let source = routine.source.as_deref()?;
        Some(Event { moment: *source.marks.get(mark as usize)?, mark, source, banks, base, depth })
    }

    /// Returns the moment.
    #[must_use]
    pub fn moment(&self) -> Moment {
        self.moment
    }
    /// Returns the function that runs.
    #[must_use]
    pub fn function(&self) -> &'a Function {
        &self.source.function
    }
    /// Returns the rule that gives its derivatives instead of its body.
    #[must_use]
    pub fn rule(&self) -> Option<&'a CustomRule> {
        self.source.rule.as_ref()
    }
    /// Returns the id of the function.
    #[must_use]
    pub fn id(&self) -> FuncId {
        self.source.id
    }
    /// Returns the call depth.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }
    /// Returns the instruction, if the moment is about one.
    #[must_use]
    pub fn inst(&self) -> Option<&'a InstData> {
        match self.moment {
            Moment::Before(i) | Moment::After(i) => Some(&self.source.function.insts[i]),
            Moment::Edge(..) | Moment::Return(_) => None,
        }
    }
    /// Returns the position in the source.
    #[must_use]
    pub fn position(&self) -> Position {
        match self.moment {
            Moment::Before(i) | Moment::After(i) => self.source.function.insts[i].at,
            Moment::Edge(b, _) | Moment::Return(b) => self.source.function.blocks[b].end_at,
        }
    }
    /// Returns the target of an edge.
    #[must_use]
    pub fn target(&self) -> Option<&'a Target> {
        match self.moment {
            Moment::Edge(b, k) => self.source.function.blocks[b].end.targets().get(k).copied(),
            _ => None,
        }
    }
    /// Returns the value that the function returns.
    #[must_use]
    pub fn returned(&self) -> Option<Value> {
        match self.moment {
            Moment::Return(b) => match self.source.function.blocks[b].end {
                Terminator::Return(v) => Some(v),
                _ => None,
            },
            _ => None,
        }
    }
    /// Returns the current content of a value of the function. A value that has not been defined in
    /// this call may have any content.
    #[must_use]
    pub fn value(&self, v: Value) -> Datum<S> {
        let mut slots = self.source.registers[v.index()].iter().copied();
        self.banks.assemble(&self.source.function.kinds[v], &mut slots, self.base)
    }
    /// Returns true if the instruction or edge moves the array out of this value, which is not read
    /// again.
    fn takes_array_of(&self, v: Value) -> bool {
        let before = u32::from(matches!(self.moment, Moment::After(_)));
        let given = self
            .source
            .moved_arrays
            .get(self.mark.wrapping_sub(before) as usize)
            .into_iter()
            .flatten();
        let registers = &self.source.registers[v.index()];
        given
            .into_iter()
            .any(|g| matches!(registers[..], [slot] if (slot.bank, slot.reg) == (g.bank, g.reg)))
    }
    /// Returns the current content of the parameter of this name, or of the value written `v3` in
    /// the printed function.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Datum<S>> {
        let f = self.function();
        let param = f.params.iter().position(|p| p.name == name);
        let value = match param {
            Some(k) => f.param_values().get(k).copied(),
            None => {
                let number = name
                    .strip_prefix('v')
                    .and_then(|n| n.parse().ok())
                    .filter(|&n| n < f.kinds.len());
                number.map(Value::new)
            }
        };
        value.map(|v| self.value(v))
    }
    /// Returns the operands' values.
    #[must_use]
    pub fn operands(&self) -> Vec<Datum<S>> {
        self.inst().map(|i| i.args.iter().map(|&v| self.value(v)).collect()).unwrap_or_default()
    }
    /// Returns the result; only after the instruction.
    #[must_use]
    pub fn result(&self) -> Option<Datum<S>> {
        match self.moment {
            Moment::After(i) => self.source.function.insts[i].result.map(|v| self.value(v)),
            _ => None,
        }
    }
    /// Returns the registers of the result of the instruction, and its kind.
    pub(super) fn defined(&self) -> Option<(&'a [RegisterSlot], &'a Kind)> {
        let v = self.inst()?.result?;
        Some((&self.source.registers[v.index()], &self.source.function.kinds[v]))
    }
    /// Returns the line of the printed function: `v3: real = mul v1, v2`.
    #[must_use]
    pub fn text(&self) -> String {
        let Some(inst) = self.inst() else { return String::new() };
        let args: Vec<String> = inst.args.iter().map(ToString::to_string).collect();
        let op = match inst.op {
            Op::Call(f) => format!("call {f}"),
            op => op.to_string(),
        };
        let call = format!("{op} {}", args.join(", "));
        match inst.result {
            Some(v) => format!("{v}: {} = {}", self.source.function.kinds[v], call.trim_end()),
            None => call,
        }
    }
}

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
        Inspection::for_function(program, super::derivatives::find(program, name)?)
    }

    /// Compiles its gradient, `(x…) -> (value, gradient by each parameter…)`, optimised at the
    /// default level.
    ///
    /// # Errors
    /// There is no such function, or it cannot be differentiated.
    pub fn of_gradient(program: &Program, name: &str) -> Result<Self, DeriveError> {
        let (program, gradient) = gradient_of(program, super::derivatives::find(program, name)?)?;
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
