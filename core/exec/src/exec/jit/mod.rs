//! Machine code for programs over `f64`, by Cranelift (feature `jit`).
//!
//! ```text
//! bytecode ──entry_points──► bytecode with entry points ──plan, lower──► a function of machine code for each part of a routine
//!
//!   0: native 0        entry point: machine code runs from here …
//!   1: t = a * a
//!   2: r = r + t       … to an instruction that only the register machine knows, or that has to fail
//!   3: call g
//!   4: native 1        and from the next entry point on
//! ```
//!
//! Machine code loads the registers of numbers from the machine's banks at an entry point, and
//! stores those that are live at a side exit. It leaves to the [machine](super::Machine) calls, but
//! for recursive ones, operations on whole arrays and primitives, and rare cases: an integer that
//! overflows, an index out of bounds, a full tape, a limit that is reached. It exits *before* such
//! an instruction, whose meaning, errors included, is thus written once, in the machine. So a
//! program gives the same bits and the same errors, and counts the same steps but one more for each
//! entry point.
//!
//! On scalars whose real numbers are not `f64` an entry point does nothing, nor if a function works
//! on complex numbers that are not `Complex<f64>`.

mod entry_points;
mod lower;
mod ops;
mod plan;

use std::{
    fmt,
    mem::ManuallyDrop,
    ops::Range,
    sync::{Arc, Mutex},
};

use cranelift_codegen::{
    Context, ir::AbiParam, ir::types, isa::OwnedTargetIsa, settings, settings::Configurable,
};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module};
use num_complex::Complex;

use super::{
    bytecode::{Bytecode, CallFrame},
    code::{Bank, Code, Reg},
};
use plan::{JitPlan, JitUnit};

/// Error of a program that could not become machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JitError {
    /// There is no code generator for this processor.
    #[error("no machine code for this processor: {reason}")]
    Processor {
        /// Message of the code generator.
        reason: String,
    },
    /// The code generator failed.
    #[error("no machine code for `{function}`: {reason}")]
    Function {
        /// The function.
        function: String,
        /// Message of the code generator.
        reason: String,
    },
    /// The system gave no memory for machine code.
    #[error("no memory for machine code: {reason}")]
    Memory {
        /// Message of the system.
        reason: String,
    },
}

/// Function of a part of a routine: takes the state of the machine and the number of an entry
/// point; returns the instruction that the machine goes on with.
pub(super) type JitEntry = unsafe extern "C" fn(*mut JitContext, u64) -> u64;

/// Argument of machine code at its entry: the state of the machine.
#[repr(C)]
#[derive(Debug)]
pub(super) struct JitContext {
    /// The registers of the call.
    pub(super) reals: *mut f64,
    pub(super) complexes: *mut Complex<f64>,
    pub(super) ints: *mut i64,
    /// The tapes, then the arrays, then the shapes, in the order that the routine lists them.
    pub(super) cells: *mut JitCell,
    /// Frames of the calls that wait: the next free one, which is written back, the first one, and
    /// the end of the memory.
    pub(super) frames: *mut CallFrame,
    pub(super) first: *mut CallFrame,
    pub(super) end: *mut CallFrame,
    /// Steps left until the machine counts. Written back.
    pub(super) fuel: u64,
}

/// Cell of a tape: its next free entry, which is written back, its start and its end. Or of an
/// array: its start, its length, and 1 if it may be written, else 0. Or of a shape, followed by
/// zeros. Or of the checksum of a tape, which is written back.
pub(super) type JitCell = [usize; 3];

/// A tape of numbers that machine code pushes to or pops from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct JitTape {
    pub(super) tape: u32,
    /// `Real`, `Complex` or `Int`; any for a checksum.
    pub(super) bank: Bank,
}

/// Array register whose elements machine code reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct JitArray {
    pub(super) bank: Bank,
    pub(super) reg: Reg,
    pub(super) written: bool,
}

/// Array register whose shape machine code reads, with its number of axes; zeros mean another
/// shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct JitShape {
    pub(super) bank: Bank,
    pub(super) reg: Reg,
    pub(super) axes: usize,
}

/// The machine code of a part of a routine.
#[derive(Debug)]
pub(super) struct JitFunction {
    pub(super) enter: JitEntry,
    /// True if it works on complex numbers.
    pub(super) is_complex: bool,
    pub(super) lists: CellLayout,
}

/// Layout of the cells of a part.
#[derive(Clone, Debug, Default)]
pub(super) struct CellLayout {
    pub(super) stacks: Vec<JitTape>,
    pub(super) views: Vec<JitArray>,
    pub(super) shapes: Vec<JitShape>,
    /// Tapes whose checksums it changes.
    pub(super) sums: Vec<JitTape>,
}

/// The machine code of a program.
pub(super) struct JitCode {
    /// The parts of each; `None` where it would not be worth it.
    routines: Vec<Vec<Option<JitFunction>>>,
    /// Memory of the code, behind a lock because the module is not `Sync`; it is never locked.
    _memory: Mutex<ModuleOwner>,
}

/// Owner of the memory of machine code, which gives it back when it is dropped.
struct ModuleOwner(ManuallyDrop<JITModule>);

impl JitCode {
    pub(super) fn part(&self, routine: usize, part: u32) -> Option<&JitFunction> {
        self.routines.get(routine)?.get(part as usize)?.as_ref()
    }
}

impl fmt::Debug for JitCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native").field("routines", &self.routines).finish_non_exhaustive()
    }
}

impl Drop for ModuleOwner {
    #[expect(unsafe_code, reason = "machine code is memory that the compiler does not watch")]
    fn drop(&mut self) {
        // SAFETY: the module is taken once, here. Its functions are reached only through the
        // `JitCode` that this is a part of, and none is running: a run of a program holds its
        // bytecode, which holds the `JitCode`.
        unsafe { ManuallyDrop::take(&mut self.0).free_memory() };
    }
}

impl Bytecode {
    /// Compiles to machine code the parts that work on single numbers: loops, branches, tapes,
    /// elements of arrays. The results have the same bits on every scalar; they are faster if real
    /// numbers are `f64`. Compiling takes half a millisecond at least, and about ten for a thousand
    /// instructions.
    ///
    /// ```
    /// use ketgrad_core::{exec::{Bytecode, Datum, Executable, Limits, Machine, NoHost}, text::parse_program};
    ///
    /// let source = "fn f(x, n: int) { let mut y = x; for i in 0..n { y = y * y - 0.5; } y }";
    /// let program = parse_program(source)?;
    /// let f = program.lookup("f").ok_or("no f")?;
    /// let code = Bytecode::compile(&program, f)?.jit()?;
    /// let mut machine = Machine::<f64>::new();
    /// let y = code.call(&mut machine, &NoHost, &Limits::default(), &[Datum::Real(0.5), Datum::Int(2)])?;
    /// assert_eq!(y, Datum::Real(-0.4375));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is no code generator for this processor, it fails, or there is no memory for code.
    pub fn jit(mut self) -> Result<Bytecode, JitError> {
        if self.native.is_some() {
            return Ok(self);
        }
        let mut owner = ModuleOwner(ManuallyDrop::new(module()?));
        let module = &mut *owner.0;
        let mut context = (Context::new(), FunctionBuilderContext::new());
        let mut unfinished = Vec::with_capacity(self.routines.len());
        for (number, routine) in self.routines.iter_mut().enumerate() {
            let own = entry_points::recursion(routine, number);
            let parts = entry_points::insert_entry_points(routine, own);
            let (plan, mut slots) = (JitPlan::analyze(routine, own), routine.slots.clone());
            let has_door = |part: &Range<usize>| {
                routine.code[part.clone()].iter().any(|c| matches!(c, Code::Native(..)))
            };
            let compiled = parts.into_iter().map(|part| match has_door(&part) {
                true => {
                    compile(module, &plan, JitUnit::analyze(&plan, part, &mut slots), &mut context)
                        .map(Some)
                }
                false => Ok(None),
            });
            unfinished.push(compiled.collect::<Result<Vec<_>, JitError>>()?);
        }
        let memory = |e: cranelift_module::ModuleError| JitError::Memory { reason: e.to_string() };
        module.finalize_definitions().map_err(memory)?;
        let finished = |part: PendingFunction| JitFunction {
            enter: function(module, part.id),
            is_complex: part.is_complex,
            lists: part.lists,
        };
        let routine = |parts: Vec<Option<PendingFunction>>| {
            parts.into_iter().map(|part| part.map(finished)).collect()
        };
        let routines = unfinished.into_iter().map(routine).collect();
        self.native = Some(Arc::new(JitCode { routines, _memory: Mutex::new(owner) }));
        Ok(self)
    }

    /// Returns true if there is machine code for a part of it.
    #[must_use]
    pub fn is_jit(&self) -> bool {
        self.native
            .as_ref()
            .is_some_and(|native| native.routines.iter().flatten().any(Option::is_some))
    }
}

/// Compiled part whose address is not known yet.
struct PendingFunction {
    id: FuncId,
    is_complex: bool,
    lists: CellLayout,
}

fn compile(
    module: &mut JITModule,
    plan: &JitPlan<'_>,
    part: JitUnit,
    (context, builder): &mut (Context, FunctionBuilderContext),
) -> Result<PendingFunction, JitError> {
    let fail = |e: cranelift_module::ModuleError| {
        // The outer error only says that there is an inner one.
        let reason =
            std::error::Error::source(&e).map_or_else(|| e.to_string(), ToString::to_string);
        JitError::Function { function: plan.routine.name.clone(), reason }
    };
    module.clear_context(context);
    let signature = &mut context.func.signature;
    signature.params.extend([AbiParam::new(types::I64), AbiParam::new(types::I64)]);
    signature.returns.push(AbiParam::new(types::I64));
    let call = module.isa().default_call_conv();
    let lists = lower::lower(plan, &part, call, &mut context.func, builder);
    let id = module.declare_anonymous_function(&context.func.signature).map_err(fail)?;
    module.define_function(id, context).map_err(fail)?;
    let is_complex =
        part.touches(Bank::Complex) || lists.views.iter().any(|view| view.bank == Bank::Complexes);
    Ok(PendingFunction { id, is_complex, lists })
}

/// Returns a module for the processor that this runs on.
fn module() -> Result<JITModule, JitError> {
    let isa = isa().map_err(|reason| JitError::Processor { reason })?;
    Ok(JITModule::new(JITBuilder::with_isa(isa, cranelift_module::default_libcall_names())))
}

fn isa() -> Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    let wanted = [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_verifier", verify),
        // A large frame touches each page of the stack, so that the one beyond its end is not
        // missed.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
    ];
    for (name, value) in wanted {
        flags.set(name, value).map_err(|e| e.to_string())?;
    }
    let builder = cranelift_native::builder().map_err(str::to_owned)?;
    builder.finish(settings::Flags::new(flags)).map_err(|e| e.to_string())
}

#[expect(unsafe_code, reason = "an address becomes a function")]
fn function(module: &JITModule, id: FuncId) -> JitEntry {
    let address = module.get_finalized_function(id);
    // SAFETY: `compile` gave this function the signature of `JitEntry` in the default calling
    // convention, which is that of `extern "C"`, and its memory has just been made executable.
    unsafe { std::mem::transmute::<*const u8, JitEntry>(address) }
}
