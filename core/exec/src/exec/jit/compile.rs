//! Compilation of bytecode to machine code.

use std::{
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

use super::{
    super::{
        bytecode::Bytecode,
        code::{Bank, Code},
    },
    cells::CellLayout,
    entry_points,
    error::JitError,
    lower::lower,
    machine_code::{JitCode, JitEntry, JitFunction, ModuleOwner},
    plan::{JitPlan, JitUnit},
};

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
    let lists = lower(plan, &part, call, &mut context.func, builder);
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
