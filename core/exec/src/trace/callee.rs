//! Calls that stay calls: functions with rules of their own, and primitives.
//!
//! A Rust function that is recorded is inlined, and so is all that it calls. A function with a
//! derivative of its own, or without one, must stay a call: it is called through a [`Callee`], on
//! numbers as on symbols.
//!
//! ```
//! use ketgrad_core::{exec::{Datum, Derivatives}, text::parse_program, trace::{Callee, Expr, Record, trace}};
//!
//! let rules = parse_program(
//!     "rule softplus(x) { ln(1.0 + exp(x)) } pullback(x, y, y_bar) { y_bar / (1.0 + exp(-x)) }",
//! )?;
//! let softplus = Callee::new(&rules, "softplus")?;
//!
//! // One function, for numbers and for symbols.
//! fn f<S: Record>(x: &S, softplus: &Callee) -> Result<S, ketgrad_core::trace::TraceError> {
//!     Ok(softplus.call(&[x * x])? * x)
//! }
//! assert_eq!(f(&0.0, &softplus)?, 0.0);
//! let recorded = trace("f", &["x"], |x: Expr| f(&x, &softplus))?;
//! assert_eq!(recorded.compact(), "f(x) = softplus(x*x)*x");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{fmt, sync::Arc};

use num_complex::Complex;
use num_dual::{Dual2_64, Dual64, HyperDual64};

use crate::{
    entity::{FuncId, PrimitiveId},
    exec::{Bytecode, CallError, Datum, Executable, Host, Limits, Machine, NoHost, RunError},
    ir::{CustomRule, Function, FunctionBuilder, Kind, Op, Param, Program},
    notation::nearest_name,
    rules::Rules,
    scalar::{Real, Scalar, Uncertain},
};

use super::{error::TraceError, key::text_key};

/// A function or primitive that is recorded as a call. Cloning it copies a handle.
#[derive(Clone)]
pub struct Callee(pub(super) Arc<CalleeData>);

/// Function or primitive of a callee.
#[derive(Clone)]
pub(super) struct CalleeData {
    pub(super) program: Program,
    pub(super) target: CalleeTarget,
    pub(super) name: String,
    pub(super) params: Vec<Kind>,
    pub(super) result: Kind,
    code: Option<Bytecode>,
    host: Option<Arc<dyn Hosts>>,
    /// Made of the text of all that it calls: two callees of one text are the same.
    pub(super) key: u128,
}

#[derive(Clone, Copy)]
pub(super) enum CalleeTarget {
    Function(FuncId),
    Primitive(PrimitiveId),
}

impl fmt::Debug for Callee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} -> {}", self.0.name, Kind::tuple(self.0.params.clone()), self.0.result)
    }
}

impl Callee {
    /// Creates a callee from the function or primitive of the given name. Its parameters and its
    /// result are all real or all complex.
    ///
    /// # Errors
    /// There is none of that name, or its parameters or its result are of other kinds.
    pub fn new(program: &Program, name: &str) -> Result<Callee, TraceError> {
        if let Some(f) = program.lookup(name) {
            return Callee::function(program, f);
        }
        let Some(p) = program.lookup_primitive(name) else {
            let names = program.functions.values().map(|f| &f.name);
            let names = names.chain(program.primitives.values().map(|p| &p.name));
            let nearest = nearest_name(name, names).cloned();
            return Err(TraceError::UnknownFunction { name: name.into(), nearest });
        };
        let primitive = &program.primitives[p];
        let (params, result) = (primitive.params.clone(), primitive.result.clone());
        Callee::shared(program, CalleeTarget::Primitive(p), name, params, result)
    }

    /// Returns the function or primitive that is registered under the given name.
    ///
    /// # Errors
    /// Those of [`Callee::new`].
    pub fn registered(rules: &Rules, name: &str) -> Result<Callee, TraceError> {
        Callee::new(rules.program(), name)
    }

    pub(super) fn function(program: &Program, f: FuncId) -> Result<Callee, TraceError> {
        let function = &program.functions[f];
        let params = function.params.iter().map(|p| p.kind.clone()).collect();
        Callee::shared(
            program,
            CalleeTarget::Function(f),
            &function.name,
            params,
            function.result.clone(),
        )
    }

    fn shared(
        program: &Program,
        target: CalleeTarget,
        name: &str,
        params: Vec<Kind>,
        result: Kind,
    ) -> Result<Callee, TraceError> {
        let number = matches!(result, Kind::Real | Kind::Complex);
        if !number || params.iter().any(|k| *k != result) {
            let given = format!("{} -> {result}", Kind::tuple(params));
            let expected = "real numbers to a real number, or complex ones to a complex one";
            return Err(TraceError::Signature { name: name.into(), given, expected });
        }
        let code = match target {
            CalleeTarget::Function(f) => {
                Some(Bytecode::compile(program, f).map_err(|e| TraceError::Run(e.into()))?)
            }
            CalleeTarget::Primitive(_) => None,
        };
        let texts = match target {
            CalleeTarget::Function(f) => {
                program.reachable(f).into_iter().map(|g| program.print(g)).collect()
            }
            CalleeTarget::Primitive(_) => String::new(),
        };
        let key = text_key(&format!("{name}\n{texts}"));
        let program = program.clone();
        let (name, host) = (name.into(), None);
        Ok(Callee(Arc::new(CalleeData { program, target, name, params, result, code, host, key })))
    }

    /// Sets the host that computes its primitives when it runs on numbers.
    #[must_use]
    pub fn with_host(self, host: Arc<dyn Hosts>) -> Callee {
        let mut shared = Arc::unwrap_or_clone(self.0);
        shared.host = Some(host);
        Callee(Arc::new(shared))
    }

    /// Creates the identity with a zero derivative: its result counts as constant.
    ///
    /// # Errors
    /// Never: the function is valid.
    pub fn detach() -> Result<Callee, TraceError> {
        let mut b = FunctionBuilder::new("detach", vec![Param::new("x", Kind::Real)], Kind::Real);
        let x = b.param(0);
        b.ret(x);
        let mut program = Program::new();
        let f = program.add(b.finish());
        program.set_rule(f, CustomRule { non_differentiable: true, ..CustomRule::default() });
        Callee::function(&program, f)
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Calls it: on numbers it runs, on symbols it is recorded.
    ///
    /// # Errors
    /// The number of arguments does not fit, or it fails; a primitive runs only where its host is.
    pub fn call<S: Record>(&self, args: &[S]) -> Result<S, TraceError> {
        self.check(args.len())?;
        S::record(self, args)
    }

    pub(super) fn check(&self, given: usize) -> Result<(), TraceError> {
        let expected = self.0.params.len();
        if given == expected {
            return Ok(());
        }
        Err(TraceError::Arity { name: self.0.name.clone(), given, expected })
    }

    /// Runs it on numbers.
    fn run<T: Real, S: Scalar<Real = T>>(
        &self,
        host: &dyn Host<S>,
        args: &[S],
    ) -> Result<S, TraceError> {
        let Some(code) = &self.0.code else {
            let e = CallError::Undefined { name: self.0.name.clone() };
            return Err(TraceError::Run(RunError::from(e)));
        };
        let real = self.0.result == Kind::Real;
        let args: Vec<Datum<S>> = args
            .iter()
            .map(|x| if real { Datum::Real(x.re()) } else { Datum::Complex(x.clone()) })
            .collect();
        match code.call(&mut Machine::new(), host, &Limits::default(), &args)? {
            Datum::Real(x) => Ok(S::from_real(x)),
            Datum::Complex(z) => Ok(z),
            other => Err(TraceError::Run(CallError::Undefined { name: other.describe() }.into())),
        }
    }
}

/// Numbers and symbols that a [`Callee`] can be called on.
pub trait Record: Scalar {
    /// Calls it with the right number of arguments.
    ///
    /// # Errors
    /// The call fails.
    fn record(callee: &Callee, args: &[Self]) -> Result<Self, TraceError>;
}

macro_rules! numbers_of_callees {
    ($($S:ty)*) => {
        /// Computes primitives on all numbers that a [`Callee`] runs on. A host of every scalar is
        /// one.
        pub trait Hosts: $(Host<$S> +)* Send + Sync {}
        impl<H: $(Host<$S> +)* Send + Sync> Hosts for H {}
        $(
            impl CalleeNumber for $S {
                fn host(hosts: &dyn Hosts) -> &dyn Host<$S> {
                    hosts
                }
            }
        )*
    };
}
numbers_of_callees!(f32 f64 Dual64 Dual2_64 HyperDual64 Uncertain Complex<f32> Complex<f64> Complex<Dual64>);

/// Numbers that a [`Callee`] runs on.
pub trait CalleeNumber: Scalar {
    /// Returns what computes primitives on these numbers.
    fn host(hosts: &dyn Hosts) -> &dyn Host<Self>;
}

// One implementation for all: an interpreter is compiled for the numbers that are used, where they
// are used.
impl<T: Real, S: CalleeNumber + Scalar<Real = T>> Record for S {
    fn record(callee: &Callee, args: &[S]) -> Result<S, TraceError> {
        let host: &dyn Host<S> = match callee.0.host.as_deref() {
            Some(hosts) => S::host(hosts),
            None => &NoHost,
        };
        callee.run(host, args)
    }
}

/// Copies the functions and primitives of a callee into a program; returns the op that calls it
/// there.
pub(super) fn adopt(program: &mut Program, callee: &CalleeData) -> Op {
    let source = &callee.program;
    let primitive = |program: &mut Program, p: PrimitiveId| adopt_primitive(program, source, p);
    let root = match callee.target {
        CalleeTarget::Primitive(p) => return Op::Primitive(primitive(program, p)),
        CalleeTarget::Function(f) => f,
    };
    let reachable = source.reachable(root);
    let mut ids = std::collections::HashMap::new();
    for &f in &reachable {
        let from = &source.functions[f];
        let name = program.fresh_name(&from.name);
        let declared = Function::declared(name, from.params.clone(), from.result.clone());
        ids.insert(f, program.add(declared));
    }
    for &f in &reachable {
        let mut body = source.functions[f].clone();
        for inst in body.insts.values_mut() {
            match inst.op {
                Op::Call(g) => inst.op = ids.get(&g).map_or(inst.op, |g| Op::Call(*g)),
                Op::Primitive(p) => inst.op = Op::Primitive(primitive(program, p)),
                _ => {}
            }
        }
        let id = ids[&f];
        body.name.clone_from(&program.functions[id].name);
        program.functions[id] = body;
        if let Some(rule) = source.rule(f) {
            let id_of = |f: Option<FuncId>| f.and_then(|f| ids.get(&f).copied());
            let (pullback, pushforward) = (id_of(rule.pullback), id_of(rule.pushforward));
            program.set_rule(id, CustomRule { pullback, pushforward, ..rule.clone() });
        }
    }
    Op::Call(ids[&root])
}

fn adopt_primitive(program: &mut Program, source: &Program, p: PrimitiveId) -> PrimitiveId {
    let from = &source.primitives[p];
    if let Some(known) = program.lookup_primitive(&from.name) {
        return known;
    }
    let mut copy = from.clone();
    (copy.pullback, copy.pushforward) = (None, None);
    let id = program.primitives.push(copy);
    let pullback = from.pullback.map(|q| adopt_primitive(program, source, q));
    let pushforward = from.pushforward.map(|q| adopt_primitive(program, source, q));
    let copy = &mut program.primitives[id];
    (copy.pullback, copy.pushforward) = (pullback, pushforward);
    id
}
