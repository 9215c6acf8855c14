//! Loaded rules as primitives, on every scalar.

use std::{
    any::TypeId,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use ketgrad_core::{
    adjoint::{self, DiffError},
    entity::FuncId,
    exec::{Bytecode, CallContext, Datum, Executable, Host, HostError, Limits, RunError},
    ir::{Function, FunctionBuilder, Op, Primitive, Program},
    pass::{Level, optimize_all},
    scalar::{Real, Ring, Scalar},
};
use num_complex::Complex;

use crate::{
    array::cast,
    by_name::NameTable,
    dense::{linearised, needs_complex, no_plain_number, pullback, pushforward, value},
    error::placeless,
    kernel::{Kernel, MAX_NUMBERS},
    lift::{factorial, series},
    lower::caller,
    request::Settings,
    shown::arguments,
};

/// Rule with a kernel.
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) plugin: String,
    pub(crate) kernel: Kernel,
    /// Function of the rule in the program.
    pub(crate) function: FuncId,
    /// The value as a program.
    pub(crate) value: Option<Bytecode>,
    /// True if its derivatives are programs.
    pub(crate) has_program: bool,
    /// Cache of derivatives by multi-index.
    pub(crate) partials: RwLock<HashMap<Vec<u32>, Arc<Bytecode>>>,
}

impl Rule {
    /// Returns true if it has a derivative: a program's, or the pullback of the kernel.
    pub(crate) fn has_derivative(&self) -> bool {
        self.has_program || self.kernel.has_pullback()
    }

    /// Describes what is missing where a kernel has no derivative, and the remedy.
    pub(crate) fn no_derivative(&self) -> String {
        let (name, plugin) = (&self.name, &self.plugin);
        let program = format!("rule {name}(x) {{ kernel(x) }} pullback(x, y, y_bar) {{ … }}");
        format!(
            "the rule `{name}` of the plugin `{plugin}` has a kernel and no derivative; a program gives it one: \
             `.program(\"{program}\")` in Rust, `program` in C"
        )
    }

    /// Makes an error with the plugin, the rule and the arguments, but for an error of a rule
    /// inside its program, which has its own.
    #[cold]
    fn failed<T: Real, S: Scalar<Real = T>>(&self, reason: &str, args: &[Datum<S>]) -> HostError {
        let plugin = format!("plugin `{}`", self.plugin);
        let reason = if reason.contains(&plugin) {
            reason.to_owned()
        } else {
            format!("{reason} ({plugin}, rule `{}` at {})", self.name, arguments(args))
        };
        HostError::Failed { name: self.name.clone(), reason }
    }
}

/// Largest number of arguments that cross without an allocation.
const FEW: usize = 4;

/// Role of a primitive of a rule.
#[derive(Clone, Copy)]
enum PrimitiveRole {
    Value,
    Pullback,
    Pushforward,
}

/// Host of loaded rules: computes their primitives, on every scalar.
pub struct Loaded {
    rules: Vec<Arc<Rule>>,
    by_primitive: NameTable<(usize, PrimitiveRole)>,
    /// Limits of a call outside of a run, and upper limits of any call.
    limits: Limits,
    /// Largest number of instructions of all derivatives together.
    derivative_size: usize,
    /// Copy of the program, to which derivatives are added on demand.
    derived: Mutex<Derived>,
}

#[derive(Clone, Default)]
struct Derived {
    program: Program,
    functions: HashMap<(FuncId, Vec<u32>), FuncId>,
}

impl Default for Loaded {
    fn default() -> Loaded {
        Loaded::within(&Settings::default())
    }
}

impl Clone for Loaded {
    fn clone(&self) -> Loaded {
        let derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Loaded {
            rules: self.rules.clone(),
            by_primitive: self.by_primitive.clone(),
            limits: self.limits,
            derivative_size: self.derivative_size,
            derived: Mutex::new(derived),
        }
    }
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.rules.iter().map(|r| &r.name)).finish()
    }
}

impl Loaded {
    /// Returns a host without rules, with the settings' limits.
    pub(crate) fn within(settings: &Settings) -> Loaded {
        let &Settings { limits, derivative_size, .. } = settings;
        let (by_primitive, derived) = (NameTable::default(), Mutex::default());
        Loaded { rules: Vec::new(), by_primitive, limits, derivative_size, derived }
    }

    /// Limits of a call outside of a run.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn add(&mut self, base: &str, rule: Rule) {
        let k = self.rules.len();
        let parts = [
            ("", PrimitiveRole::Value),
            (".pullback", PrimitiveRole::Pullback),
            (".pushforward", PrimitiveRole::Pushforward),
        ];
        for (suffix, part) in parts {
            self.by_primitive.insert(format!("{base}.kernel{suffix}"), (k, part));
        }
        self.rules.push(Arc::new(rule));
    }

    /// Sets the program of all rules, from which derivatives are derived.
    pub(crate) fn complete(&mut self, program: Program) {
        self.derived = Mutex::new(Derived { program, functions: HashMap::new() });
    }

    /// Describes what is missing if a program has no derivative because of a kernel without one.
    pub(crate) fn missing_derivative(&self, error: &DiffError) -> Option<String> {
        let op = match error {
            DiffError::MissingRule { op, .. } => op,
            DiffError::Transpose { source, .. } => return self.missing_derivative(source),
            _ => return None,
        };
        let rule = self.by_primitive.get(op).map(|(k, _)| &*self.rules[*k]);
        rule.filter(|rule| !rule.has_derivative()).map(Rule::no_derivative)
    }

    pub(crate) fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    fn compute<T: Real, S: Scalar<Real = T>>(
        &self,
        rule: &Rule,
        part: PrimitiveRole,
        args: &[Datum<S>],
        context: &mut CallContext,
    ) -> Result<Datum<S>, String> {
        match part {
            PrimitiveRole::Value if rule.kernel.is_scalar() => self.number(rule, args, context),
            PrimitiveRole::Value => self.array(rule, args, context),
            PrimitiveRole::Pullback => pullback(rule, args),
            PrimitiveRole::Pushforward => pushforward(rule, args),
        }
    }

    /// Computes the value of a rule on numbers.
    #[inline]
    fn number<T: Real, S: Scalar<Real = T>>(
        &self,
        rule: &Rule,
        args: &[Datum<S>],
        context: &mut CallContext,
    ) -> Result<Datum<S>, String> {
        let n = args.len();
        if n > MAX_NUMBERS {
            return Err(format!("{n} inputs"));
        }
        if rule.kernel.is_complex() {
            if TypeId::of::<S>() == TypeId::of::<Complex<f64>>() {
                let mut x = [Complex::new(0.0, 0.0); MAX_NUMBERS];
                for (x, datum) in x.iter_mut().zip(args) {
                    *x = match datum {
                        Datum::Complex(z) => cast(z).unwrap_or_default(),
                        Datum::Int(n) => Complex::new(*n as f64, 0.0),
                        _ => return Err("an input of another kind".to_owned()),
                    };
                }
                let y = rule.kernel.complex(&x[..n])?;
                return cast(&y)
                    .map(Datum::Complex)
                    .ok_or_else(|| "a number of another kind".to_owned());
            }
            return self.lifted_complex(rule, args, context);
        }
        if TypeId::of::<T>() == TypeId::of::<f64>() {
            let mut x = [0.0; MAX_NUMBERS];
            for (x, datum) in x.iter_mut().zip(args) {
                *x = match datum {
                    Datum::Real(r) => cast(r).unwrap_or_default(),
                    Datum::Int(n) => *n as f64,
                    _ => return Err("an input of another kind".to_owned()),
                };
            }
            let y = rule.kernel.real(&x[..n])?;
            return cast(&y).map(Datum::Real).ok_or_else(|| "a number of another kind".to_owned());
        }
        self.lifted_real(rule, args, context)
    }

    fn lifted_real<T: Real, S: Scalar<Real = T>>(
        &self,
        rule: &Rule,
        args: &[Datum<S>],
        context: &mut CallContext,
    ) -> Result<Datum<S>, String> {
        if let Some(value) = &rule.value {
            return self.run(value, args, context);
        }
        let mut plain: Vec<Datum<f64>> = Vec::with_capacity(args.len());
        let mut rest: Vec<T> = Vec::with_capacity(args.len());
        for datum in args {
            match datum {
                Datum::Real(x) => {
                    let at = x.primal().ok_or_else(|| no_plain_number(rule))?;
                    plain.push(Datum::Real(at));
                    rest.push(x.beyond());
                }
                Datum::Int(n) => {
                    plain.push(Datum::Int(*n));
                    rest.push(T::zero());
                }
                _ => return Err("an input of another kind".to_owned()),
            }
        }
        let Datum::Real(value) = self.number::<f64, f64>(rule, &plain, context)? else {
            return Err("no real number".to_owned());
        };
        let value = T::lit(value);
        if rest.iter().all(Ring::is_exact_zero) {
            return Ok(Datum::Real(value));
        }
        if !rule.has_program {
            return linearised(rule, args);
        }
        let sum =
            series(value, &rest, &mut |index| match self.partial(rule, index, &plain, context)? {
                Datum::Real(d) => Ok(T::lit(d / factorial(index))),
                other => Err(format!("a derivative that is {}", other.describe())),
            })?;
        Ok(Datum::Real(sum))
    }

    fn lifted_complex<T: Real, S: Scalar<Real = T>>(
        &self,
        rule: &Rule,
        args: &[Datum<S>],
        context: &mut CallContext,
    ) -> Result<Datum<S>, String> {
        if let Some(value) = &rule.value {
            return self.run(value, args, context);
        }
        let number =
            |z: Complex<f64>| S::from_parts(T::lit(z.re), T::lit(z.im)).ok_or_else(needs_complex);
        let mut plain: Vec<Datum<Complex<f64>>> = Vec::with_capacity(args.len());
        let mut rest: Vec<S> = Vec::with_capacity(args.len());
        for datum in args {
            match datum {
                Datum::Complex(z) => {
                    let parts = z.re().primal().zip(z.im().primal());
                    let (re, im) = parts.ok_or_else(|| no_plain_number(rule))?;
                    plain.push(Datum::Complex(Complex::new(re, im)));
                    let beyond = S::from_parts(z.re().beyond(), z.im().beyond());
                    rest.push(beyond.ok_or_else(|| no_plain_number(rule))?);
                }
                Datum::Int(n) => {
                    plain.push(Datum::Int(*n));
                    rest.push(S::zero());
                }
                _ => return Err("an input of another kind".to_owned()),
            }
        }
        let value = match self.number::<f64, Complex<f64>>(rule, &plain, context)? {
            Datum::Complex(z) => number(z)?,
            other => return Err(format!("{}, not a complex number", other.describe())),
        };
        if rest.iter().all(Ring::is_exact_zero) {
            return Ok(Datum::Complex(value));
        }
        if !rule.has_program {
            return linearised(rule, args);
        }
        let sum =
            series(value, &rest, &mut |index| match self.partial(rule, index, &plain, context)? {
                Datum::Complex(d) => number(d / factorial(index)),
                other => Err(format!("a derivative that is {}", other.describe())),
            })?;
        Ok(Datum::Complex(sum))
    }

    /// Computes the value of a rule on arrays, or of one whose numbers are of different kinds.
    fn array<T: Real, S: Scalar<Real = T>>(
        &self,
        rule: &Rule,
        args: &[Datum<S>],
        context: &mut CallContext,
    ) -> Result<Datum<S>, String> {
        match (value(rule, args), &rule.value) {
            (Some(value), _) => value,
            (None, Some(value)) => self.run(value, args, context),
            (None, None) => linearised(rule, args),
        }
    }

    fn run<T: Real, S: Scalar<Real = T>>(
        &self,
        code: &Bytecode,
        args: &[Datum<S>],
        context: &mut CallContext,
    ) -> Result<Datum<S>, String> {
        context.restrict(&self.limits);
        context.run(code, self, args).map_err(|e| self.in_words(&e))
    }

    /// Describes an error of a program that the host runs; for a limit of its own, with the setting
    /// to raise.
    fn in_words(&self, error: &RunError) -> String {
        let Limits { steps, work, depth, memory, .. } = self.limits;
        let own = match *error {
            RunError::Steps { limit, .. } => limit == steps,
            RunError::Work { limit, .. } => limit == work,
            RunError::Depth { limit, .. } => limit == depth,
            RunError::Memory { limit, .. } => limit == memory,
            _ => false,
        };
        let way_out =
            if own { ": the caller's limit, or that of the host, `Settings::limits`" } else { "" };
        placeless(error) + way_out
    }

    /// Computes a partial derivative at plain numbers.
    fn partial<S: Scalar>(
        &self,
        rule: &Rule,
        index: &[u32],
        at: &[Datum<S>],
        context: &mut CallContext,
    ) -> Result<Datum<S>, String>
    where
        Loaded: Host<S>,
        Bytecode: Executable<S>,
    {
        let known =
            rule.partials.read().unwrap_or_else(PoisonError::into_inner).get(index).cloned();
        let code = match known {
            Some(code) => code,
            None => {
                let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
                let f = derived.partial(rule.function, index, self.derivative_size)?;
                let code = Bytecode::compile(&derived.program, f).map_err(|e| placeless(&e))?;
                drop(derived);
                let code = Arc::new(code);
                let mut partials = rule.partials.write().unwrap_or_else(PoisonError::into_inner);
                partials.insert(index.to_vec(), code.clone());
                code
            }
        };
        context.restrict(&self.limits);
        context.run(&*code, self, at).map_err(|e| self.in_words(&e))
    }
}

impl Derived {
    /// Derives `D^index f`, by the last of its directions from that of one order less; an error if
    /// all of them come to more than `most` instructions.
    fn partial(&mut self, f: FuncId, index: &[u32], most: usize) -> Result<FuncId, String> {
        let key = (f, index.to_vec());
        if let Some(&known) = self.functions.get(&key) {
            return Ok(known);
        }
        let Some(last) = index.iter().rposition(|&a| a > 0) else {
            let caller = caller(&mut self.program, f);
            self.functions.insert(key, caller);
            return Ok(caller);
        };
        let mut before = index.to_vec();
        before[last] -= 1;
        let lower = self.partial(f, &before, most)?;
        let made: usize = self.program.functions.values().map(Function::size).sum();
        if made > most {
            let order: u32 = index.iter().sum();
            return Err(format!(
                "its derivative of order {order} takes more than {most} instructions: write a shorter program, or raise \
                 `Settings::derivative_size`"
            ));
        }
        let forward = adjoint::forward(&mut self.program, lower).map_err(|e| placeless(&e))?;
        let of = &self.program.functions[lower];
        let name = self.program.fresh_name(&format!("{}.by{last}", of.name));
        let whole = self.program.functions[forward].result.clone();
        let mut b = FunctionBuilder::new(name, of.params.clone(), of.result.clone());
        let mut args = b.params().to_vec();
        for (k, param) in of.params.iter().enumerate() {
            if let Some(tangent) = param.kind.tangent() {
                let direction = if k == last { 1.0 } else { 0.0 };
                args.push(b.number(direction, &tangent));
            }
        }
        let both = b.inst(Op::Call(forward), &args, whole);
        let slope = b.field(both, 1);
        b.ret(slope);
        let partial = self.program.add(b.finish());
        optimize_all(&mut self.program, partial, Level::Strict);
        self.functions.insert(key, partial);
        Ok(partial)
    }
}

impl<T: Real, S: Scalar<Real = T>> Host<S> for Loaded {
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        self.call_within(primitive, args, &mut CallContext::new(self.limits))
    }

    fn call_within(
        &self,
        primitive: &Primitive,
        args: &[Datum<S>],
        context: &mut CallContext,
    ) -> Result<Datum<S>, HostError> {
        let Some(&(k, part)) = self.by_primitive.get(&primitive.name) else {
            return Err(HostError::unknown(primitive));
        };
        let rule = &self.rules[k];
        self.compute(rule, part, args, context).map_err(|reason| match context.check_cancelled() {
            Err(cancelled) => cancelled.into(),
            Ok(()) => rule.failed(&reason, args),
        })
    }

    #[inline]
    fn number(&self, primitive: &Primitive, args: &[T]) -> Option<Result<T, HostError>> {
        if TypeId::of::<T>() != TypeId::of::<f64>() {
            return None;
        }
        let &(k, PrimitiveRole::Value) = self.by_primitive.get(&primitive.name)? else {
            return None;
        };
        let rule = &self.rules[k];
        if !rule.kernel.is_scalar() || rule.kernel.is_complex() || args.len() > FEW {
            return None;
        }
        let mut x = [0.0; FEW];
        for (x, given) in x.iter_mut().zip(args) {
            *x = cast(given)?;
        }
        match rule.kernel.real(&x[..args.len()]) {
            Ok(y) => cast(&y).map(Ok),
            Err(failed) => {
                let args: Vec<Datum<f64>> =
                    x[..args.len()].iter().map(|x| Datum::Real(*x)).collect();
                Some(Err(rule.failed(&failed.reason, &args)))
            }
        }
    }
}

/// Chain of two hosts: the second computes primitives that the first does not know.
#[derive(Clone, Copy, Debug)]
pub struct ChainedHost<'a, A, B>(pub &'a A, pub &'a B);

impl<S: Scalar, A: Host<S>, B: Host<S>> Host<S> for ChainedHost<'_, A, B> {
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        match self.0.call(primitive, args) {
            Err(HostError::Unknown { .. }) => self.1.call(primitive, args),
            known => known,
        }
    }

    fn call_within(
        &self,
        primitive: &Primitive,
        args: &[Datum<S>],
        context: &mut CallContext,
    ) -> Result<Datum<S>, HostError> {
        match self.0.call_within(primitive, args, context) {
            Err(HostError::Unknown { .. }) => self.1.call_within(primitive, args, context),
            known => known,
        }
    }

    #[inline]
    fn number(
        &self,
        primitive: &Primitive,
        args: &[S::Real],
    ) -> Option<Result<S::Real, HostError>> {
        self.0.number(primitive, args)
    }
}
