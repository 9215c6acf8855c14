//! Expressions as programs: lowering, evaluation, derivatives, simplification.
//!
//! An expression has no engine of its own. To be evaluated it becomes a function that the executor
//! runs; its derivative is the pushforward or the adjoint of that function, read back as
//! expressions.

use crate::{
    adjoint,
    entity::FuncId,
    exec::{Bytecode, Datum, Executable, Limits, Machine, NoHost},
    ir::{Kind, Param, Program},
    pass::{Level, inline, optimize_all},
    scalar::{Real, Scalar},
    staging::{Builtin, is_name},
};

use super::{
    error::TraceError,
    expr::{ComplexExpr, Expr, symbols},
    lower::{ExprLowering, RaisedExpr, raise},
    node::Sym,
    print::{mentions_pi, print},
};

/// Value of an input.
enum InputValue<S: Scalar> {
    Real(S::Real),
    Complex(S),
}

impl Expr {
    /// Returns the function of the given name whose parameters are the inputs in the given order.
    /// An input that the expression does not contain counts as real.
    ///
    /// # Errors
    /// An input that is not listed, or one listed twice.
    pub fn function(&self, name: &str, inputs: &[&str]) -> Result<Program, TraceError> {
        lower(&self.0, name, inputs).map(|(p, _)| p)
    }

    /// Returns the function as program text, which [`parse_program`](crate::text::parse_program)
    /// reads.
    ///
    /// # Errors
    /// Those of [`function`](Expr::function); a name that the program language cannot have: `a[0]`,
    /// `let`, a function called `sin`.
    pub fn program_text(&self, name: &str, inputs: &[&str]) -> Result<String, TraceError> {
        program_text(&self.0, name, inputs)
    }

    /// Evaluates the expression on any real number type; complex inputs have no value here, see
    /// [`ComplexExpr::evaluate`].
    ///
    /// ```
    /// use ketgrad_core::{scalar::Scalar, trace::Expr};
    ///
    /// let x = Expr::symbol("x");
    /// assert_eq!((x.sin() * Expr::int(2)).evaluate(&[("x", 0.5)])?, 2.0 * 0.5f64.sin());
    /// # Ok::<(), ketgrad_core::trace::TraceError>(())
    /// ```
    ///
    /// # Errors
    /// An input without a value, or the program fails.
    pub fn evaluate<T: Real>(&self, values: &[(&str, T)]) -> Result<T, TraceError> {
        let values: Vec<_> =
            values.iter().map(|(n, x)| (*n, InputValue::<T>::Real(x.clone()))).collect();
        match evaluate(&self.0, &values)? {
            Datum::Real(x) => Ok(x),
            other => Err(not_a_number(other.describe())),
        }
    }

    /// Returns the derivative by an input, by forward mode.
    ///
    /// ```
    /// use ketgrad_core::{scalar::Scalar, trace::Expr};
    ///
    /// let (x, y) = (Expr::symbol("x"), Expr::symbol("y"));
    /// let f = &x * y.sin() + x.powi(3);
    /// assert_eq!(f.derivative("x")?.to_string(), "sin(y) + 3*(x*x)");
    /// assert_eq!(f.derivative("y")?.to_string(), "x*cos(y)");
    /// # Ok::<(), ketgrad_core::trace::TraceError>(())
    /// ```
    ///
    /// # Errors
    /// Something in it has no derivative.
    pub fn derivative(&self, input: &str) -> Result<Expr, TraceError> {
        derivative(&self.0, input).map(Expr)
    }

    /// Returns the derivatives by several inputs, by reverse mode: one pass for all.
    ///
    /// # Errors
    /// Something in it has no derivative.
    pub fn gradient(&self, inputs: &[&str]) -> Result<Vec<Expr>, TraceError> {
        gradient(&self.0, inputs)
    }

    /// Returns the expression after the passes of a level. [`Level::Strict`] keeps every bit;
    /// [`Level::Algebraic`] makes constants floats.
    ///
    /// # Errors
    /// The expression cannot be lowered.
    pub fn simplified(&self, level: Level) -> Result<Expr, TraceError> {
        simplified(&self.0, level).map(Expr)
    }

    /// Reads a straight-line function as an expression, in symbols of the names of its parameters.
    /// Functions that it calls are inlined, unless they have a rule of their own.
    ///
    /// ```
    /// use ketgrad_core::{text::parse_program, trace::Expr};
    ///
    /// let program = parse_program("fn g(x) { x * x }  fn f(x, y) { g(x + y) - y / 3 }")?;
    /// assert_eq!(Expr::from_program(&program, "f")?.to_string(), "(x + y)*(x + y) - y/3");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// It has a loop or a branch, or something that is no number.
    pub fn from_program(program: &Program, name: &str) -> Result<Expr, TraceError> {
        from_program(program, name, &Kind::Real).map(Expr)
    }
}

impl ComplexExpr {
    /// Returns the function like [`Expr::function`].
    ///
    /// # Errors
    /// Those of [`Expr::function`].
    pub fn function(&self, name: &str, inputs: &[&str]) -> Result<Program, TraceError> {
        lower(&self.0, name, inputs).map(|(p, _)| p)
    }

    /// Returns program text like [`Expr::program_text`].
    ///
    /// # Errors
    /// Those of [`Expr::function`].
    pub fn program_text(&self, name: &str, inputs: &[&str]) -> Result<String, TraceError> {
        program_text(&self.0, name, inputs)
    }

    /// Evaluates the expression on any complex number type. A real input takes the real part of its
    /// value.
    ///
    /// # Errors
    /// An input without a value, or the program fails.
    pub fn evaluate<T: Real, S: Scalar<Real = T>>(
        &self,
        values: &[(&str, S)],
    ) -> Result<S, TraceError> {
        let values: Vec<_> =
            values.iter().map(|(n, z)| (*n, InputValue::Complex(z.clone()))).collect();
        match evaluate(&self.0, &values)? {
            Datum::Complex(z) => Ok(z),
            other => Err(not_a_number(other.describe())),
        }
    }

    /// Returns the derivative by an input, by forward mode. By a complex input it is `f'(z)` where
    /// f is holomorphic; else (`re`, `conj`, `abs2`) it is the derivative along the real axis.
    ///
    /// # Errors
    /// Something in it has no derivative.
    pub fn derivative(&self, input: &str) -> Result<ComplexExpr, TraceError> {
        derivative(&self.0, input).map(ComplexExpr)
    }

    /// Simplifies the expression like [`Expr::simplified`].
    ///
    /// # Errors
    /// Those of [`Expr::simplified`].
    pub fn simplified(&self, level: Level) -> Result<ComplexExpr, TraceError> {
        simplified(&self.0, level).map(ComplexExpr)
    }

    /// Reads a function that gives a complex number like [`Expr::from_program`].
    ///
    /// # Errors
    /// Those of [`Expr::from_program`].
    pub fn from_program(program: &Program, name: &str) -> Result<ComplexExpr, TraceError> {
        from_program(program, name, &Kind::Complex).map(ComplexExpr)
    }
}

fn not_a_number(what: String) -> TraceError {
    TraceError::NotAnExpression { function: "the expression".into(), what }
}

/// Returns a parameter for each name, of the kind of the symbol of that name.
fn params(root: &Sym, inputs: &[&str]) -> Vec<Param> {
    let known = symbols(root);
    let kind =
        |name: &str| known.iter().find(|(n, _)| n == name).map_or(Kind::Real, |(_, s)| s.kind());
    inputs.iter().map(|name| Param::new(*name, kind(name))).collect()
}

fn lower(root: &Sym, name: &str, inputs: &[&str]) -> Result<(Program, FuncId), TraceError> {
    let mut lowering = ExprLowering::new(name, params(root, inputs))?;
    for (input, symbol) in symbols(root) {
        if let Some(k) = inputs.iter().position(|n| *n == input) {
            let (v, kind) = (lowering.b.param(k), symbol.kind());
            if *lowering.b.kind(v) != kind {
                // One name, two kinds: the first one is the parameter.
                return Err(TraceError::Duplicate { name: input });
            }
            lowering.bind(&symbol, v);
        }
    }
    let result = lowering.value(root)?;
    Ok(lowering.finish(result))
}

/// Returns the inputs of an expression, each once, with the symbols that they are.
fn own_inputs(root: &Sym) -> (Vec<String>, Vec<Sym>) {
    symbols(root).into_iter().unzip()
}

fn program_text(root: &Sym, name: &str, inputs: &[&str]) -> Result<String, TraceError> {
    // Lowering finds missing inputs.
    lower(root, name, inputs)?;
    let refused = |name: &str, what: &'static str| TraceError::Name { name: name.to_owned(), what };
    if !is_name(name) || Builtin::by_name(name).is_some() {
        return Err(refused(name, "a function"));
    }
    if let Some(input) = inputs.iter().find(|input| !is_name(input)) {
        return Err(refused(input, "an input"));
    }
    let list = |p: &Param| match p.kind {
        Kind::Real => p.name.clone(),
        _ => format!("{}: {}", p.name, p.kind),
    };
    let params: Vec<String> = params(root, inputs).iter().map(list).collect();
    let printed = print(std::slice::from_ref(root));
    let pi =
        mentions_pi(std::slice::from_ref(root)).then(|| ("pi".to_owned(), "acos(-1.0)".to_owned()));
    let lets = pi.into_iter().chain(printed.names).map(|(n, t)| format!("    let {n} = {t};\n"));
    let lets: String = lets.collect();
    let result = printed.results.concat();
    Ok(format!("fn {name}({}) -> {} {{\n{lets}    {result}\n}}\n", params.join(", "), root.kind()))
}

fn evaluate<T: Real, S: Scalar<Real = T>>(
    root: &Sym,
    values: &[(&str, InputValue<S>)],
) -> Result<Datum<S>, TraceError> {
    let names: Vec<&str> = values.iter().map(|(n, _)| *n).collect();
    let (program, f) = lower(root, "expression", &names)?;
    let code = Bytecode::compile(&program, f).map_err(|e| TraceError::Run(e.into()))?;
    let params = &program.functions[f].params;
    let args = values.iter().zip(params).map(|((name, given), param)| match (given, &param.kind) {
        (InputValue::Real(x), Kind::Real) => Ok(Datum::Real(x.clone())),
        (InputValue::Complex(z), Kind::Complex) => Ok(Datum::Complex(z.clone())),
        (InputValue::Complex(z), _) => Ok(Datum::Real(z.re())),
        (InputValue::Real(_), expected) => Err(TraceError::Kind {
            name: (*name).into(),
            given: Kind::Real,
            expected: expected.clone(),
        }),
    });
    let args: Vec<Datum<S>> = args.collect::<Result<_, _>>()?;
    Ok(code.call(&mut Machine::new(), &NoHost, &Limits::default(), &args)?)
}

fn derivative(root: &Sym, input: &str) -> Result<Sym, TraceError> {
    let (names, inputs) = own_inputs(root);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let like =
        |sym: &Sym, n: i64| super::build::like(super::constant::Constant::int(n), &sym.kind());
    if !names.contains(&input) {
        return Ok(like(root, 0));
    }
    let (mut program, f) = lower(root, "f", &names)?;
    let pushforward = adjoint::forward(&mut program, f)?;
    while inline(&mut program, pushforward, usize::MAX) {}
    optimize_all(&mut program, pushforward, Level::Strict);
    let dots = names.iter().zip(&inputs).map(|(n, sym)| like(sym, i64::from(*n == input)));
    let args = inputs.iter().cloned().chain(dots).map(RaisedExpr::Number).collect();
    match raise(&program, pushforward, args, true)? {
        RaisedExpr::Tuple(all) => {
            Ok(all.into_iter().nth(1).and_then(|d| d.leaves().pop()).unwrap_or(like(root, 0)))
        }
        RaisedExpr::Number(_) => Ok(like(root, 0)),
    }
}

fn gradient(root: &Sym, wanted: &[&str]) -> Result<Vec<Expr>, TraceError> {
    let (names, inputs) = own_inputs(root);
    let zero = || Expr(Sym::int(0));
    if !names.iter().any(|n| wanted.contains(&n.as_str())) {
        return Ok(wanted.iter().map(|_| zero()).collect());
    }
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let (mut program, f) = lower(root, "f", &all)?;
    let id = adjoint::gradient(&mut program, f)?;
    // Primal and adjoint become one straight line, however long: their tape disappears.
    while inline(&mut program, id, usize::MAX) {}
    optimize_all(&mut program, id, Level::Strict);
    if program.functions[id].callees().iter().any(|g| program.rule(*g).is_none()) {
        // Too long to be joined with its adjoint in one line: forward mode, once for each input.
        return wanted.iter().map(|input| derivative(root, input).map(Expr)).collect();
    }
    let raised = raise(&program, id, inputs.into_iter().map(RaisedExpr::Number).collect(), true)?;
    let bars = raised.leaves();
    let of = |name: &&str| {
        let k = all.iter().position(|n| n == name);
        k.and_then(|k| bars.get(k + 1)).map_or_else(zero, |s| Expr(s.clone()))
    };
    Ok(wanted.iter().map(of).collect())
}

fn simplified(root: &Sym, level: Level) -> Result<Sym, TraceError> {
    let (names, inputs) = own_inputs(root);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (mut program, f) = lower(root, "f", &names)?;
    optimize_all(&mut program, f, level);
    let raised = raise(&program, f, inputs.into_iter().map(RaisedExpr::Number).collect(), false)?;
    Ok(raised.leaves().pop().unwrap_or_else(|| root.clone()))
}

fn from_program(program: &Program, name: &str, kind: &Kind) -> Result<Sym, TraceError> {
    let Some(f) = program.lookup(name) else {
        return Err(TraceError::UnknownFunction { name: name.into(), nearest: None });
    };
    let function = &program.functions[f];
    if function.result != *kind {
        let given = format!("a function that gives {}", function.result);
        let expected = if *kind == Kind::Real {
            "one that gives a real number"
        } else {
            "one that gives a complex number"
        };
        return Err(TraceError::Signature { name: name.into(), given, expected });
    }
    let args = function
        .params
        .iter()
        .map(|p| RaisedExpr::Number(Sym::symbol(&p.name, p.kind.clone())))
        .collect();
    let raised = raise(program, f, args, false)?;
    raised.leaves().pop().ok_or_else(|| not_a_number("no number".into()))
}
