//! Derivatives as functions: `grad(f)(x)`, `jvp(hessian(f))(x, v)`.
//!
//! A derivative that a text asks for is declared beside the functions, under a name that no text can write: `f.grad`, and
//! `f.grad.grad` of that one. So calls of it are calls like others. Its body is made when all functions are complete, after those
//! derivatives that the function uses itself: differentiation takes functions, and gives functions that can be differentiated.
//!
//! | | takes | gives |
//! |---|---|---|
//! | `grad(f)` | what `f` takes | the gradient by its first parameter; `f` gives a real number |
//! | `value_and_grad(f)` | what `f` takes | `(value, gradient)` |
//! | `jvp(f)` | what `f` takes, a tangent for each parameter that has one | `(value, tangent)` |
//! | `vjp(f)` | what `f` takes, a cotangent of the result | the cotangent of the parameter, or a tuple of those of several |
//! | `hessian(f)` | what `f` takes | second derivatives by the first parameter, a real number or an array: a number or a matrix |
//! | `matrix_function(f)` | what `f` takes, a matrix for the real number that is the first | `V diag(f(w)) V^T` of the eigenvalues and eigenvectors of its symmetric part |
//!
//! Cotangents that are handed on have all elements of the arrays that they belong to.

use std::collections::{HashMap, HashSet};

use crate::{
    adjoint::{self, DiffError},
    entity::{FuncId, Value},
    ir::{ArrayOp, Element, Function as IrFunction, FunctionBuilder, Kind, Number2, Op, Param, Program},
    stack::deep,
    staging::{Builtin, Composed, Given, Stage},
};

use super::super::{
    ast::{Derived, How, Items, Span},
    error::{TextError, TextErrorKind, nearest},
    lexer::error,
};

/// The most instructions of all functions together while derivatives are made: those of derivatives multiply.
const MOST: usize = 200_000;

/// What a derivative of a function takes and gives.
fn signature(how: How, params: &[Kind], result: &Kind) -> Result<(Vec<Kind>, Kind), TextErrorKind> {
    let wrong = |given: String, expected: &str| TextErrorKind::Kind {
        given,
        expected: format!("{expected} in `{}`", how.name()),
        hint: "",
    };
    let of_first = || match params.first().map(|kind| (kind, kind.tangent())) {
        Some((_, Some(tangent))) => Ok(tangent),
        Some((kind, None)) => {
            let expected = "a function of a first parameter that can be differentiated by";
            Err(wrong(format!("one of {kind}"), expected))
        }
        None => Err(wrong("one without".into(), "a function with a parameter")),
    };
    let of_result = || {
        let expected = "a function whose result can be differentiated";
        result.tangent().ok_or_else(|| wrong(format!("one that gives {result}"), expected))
    };
    let tangents: Vec<Kind> = params.iter().filter_map(Kind::tangent).collect();
    if matches!(how, How::Grad | How::ValueAndGrad | How::Hessian) && *result != Kind::Real {
        return Err(wrong(format!("one that gives {result}"), "a function that gives a real number"));
    }
    if matches!(how, How::Jvp | How::Vjp) && tangents.is_empty() {
        let expected = "a function with a parameter that can be differentiated by";
        return Err(wrong("one without".into(), expected));
    }
    Ok(match how {
        How::Grad => (params.to_vec(), of_first()?),
        How::ValueAndGrad => (params.to_vec(), Kind::tuple([Kind::Real, of_first()?])),
        How::Jvp => ([params, &tangents].concat(), Kind::tuple([result.clone(), of_result()?])),
        How::Vjp => {
            let bars = if tangents.len() == 1 { tangents[0].clone() } else { Kind::tuple(tangents) };
            ([params, &[of_result()?]].concat(), bars)
        }
        How::MatrixFunction => match (params, result) {
            ([Kind::Real, rest @ ..], Kind::Real) => {
                let matrix = Kind::Array(Element::Real);
                ([std::slice::from_ref(&matrix), rest].concat(), matrix)
            }
            (params, result) => {
                let list: Vec<String> = params.iter().map(Kind::to_string).collect();
                let given = format!("one of ({}) that gives {result}", list.join(", "));
                return Err(wrong(given, "a function of a real number that gives one"));
            }
        },
        How::Hessian => match of_first()? {
            kind @ (Kind::Real | Kind::Array(Element::Real)) => (params.to_vec(), kind),
            kind => {
                let expected = "a function of a real number or an array of such";
                return Err(wrong(format!("one of {kind}"), expected));
            }
        },
    })
}

/// The result of a derivative, from what is known of the function.
pub(in crate::text) fn result(derived: &Derived, params: &[Kind], result: Option<&Kind>) -> Option<Kind> {
    // A gradient is of a real function.
    let first = derived.how.first()?;
    let gives_real = !matches!(first, How::Jvp | How::Vjp);
    let real = gives_real.then_some(Kind::Real);
    let mut known = (params.to_vec(), result.cloned().or(real)?);
    for &how in &derived.how {
        known = signature(how, &known.0, &known.1).ok()?;
    }
    Some(known.1)
}

/// A derivative that has no body yet.
struct Request {
    how: How,
    /// The function, or what a Hessian is made of.
    of: FuncId,
    span: Span,
    started: bool,
}

/// The derivatives that a text asks for.
pub(super) struct Requests {
    all: HashMap<FuncId, Request>,
    /// In the order of the text.
    order: Vec<FuncId>,
    made: HashMap<(FuncId, How), FuncId>,
    /// By what a text calls.
    pub(super) names: HashMap<String, FuncId>,
}

impl Requests {
    /// Declares them.
    pub(super) fn declare(items: &Items, program: &mut Program, errors: &mut Vec<TextError>) -> Requests {
        let (all, made, names) = Default::default();
        let mut requests = Requests { all, order: Vec::new(), made, names };
        for derived in &items.derived {
            let name = &derived.function;
            let Some(of) = program.lookup(&name.text) else {
                errors.push(error(name.span, unknown(&name.text, program)));
                continue;
            };
            let chain =
                derived.how.iter().try_fold(of, |of, &how| requests.one(program, of, how, derived.span));
            match chain {
                Ok(id) => drop(requests.names.insert(derived.name(), id)),
                Err(kind) => errors.push(error(derived.span, kind)),
            }
        }
        requests
    }

    fn one(
        &mut self,
        program: &mut Program,
        of: FuncId,
        how: How,
        span: Span,
    ) -> Result<FuncId, TextErrorKind> {
        if let Some(&id) = self.made.get(&(of, how)) {
            return Ok(id);
        }
        let function = &program.functions[of];
        let name = program.fresh_name(&format!("{}.{}", function.name, how.name()));
        let kinds: Vec<Kind> = function.params.iter().map(|p| p.kind.clone()).collect();
        let (params, result) = signature(how, &kinds, &function.result)?;
        let names = function.params.iter().map(|p| p.name.clone());
        let more = (0..params.len() - kinds.len()).map(|k| format!("d{k}"));
        let params = names.chain(more).zip(params).map(|(name, kind)| Param::new(name, kind)).collect();
        let base = match (how, kinds.first()) {
            (How::Hessian, first) => {
                let gradient = self.one(program, of, How::Grad, span)?;
                let next = if first == Some(&Kind::Real) { How::Grad } else { How::Jvp };
                self.one(program, gradient, next, span)?
            }
            (How::MatrixFunction, _) => self.one(program, of, How::ValueAndGrad, span)?,
            _ => of,
        };
        let id = program.add(IrFunction::declared(name, params, result));
        self.all.insert(id, Request { how, of: base, span, started: false });
        self.made.insert((of, how), id);
        self.order.push(id);
        Ok(id)
    }

    /// Makes their bodies.
    pub(super) fn define(&mut self, program: &mut Program) -> Result<(), TextError> {
        std::mem::take(&mut self.order).into_iter().try_for_each(|id| self.body(program, id))
    }

    fn body(&mut self, program: &mut Program, id: FuncId) -> Result<(), TextError> {
        if program.functions[id].is_defined() {
            return Ok(());
        }
        let Some(request) = self.all.get_mut(&id) else { return Ok(()) };
        let (how, of, span) = (request.how, request.of, request.span);
        let name = program.functions[of].name.clone();
        if std::mem::replace(&mut request.started, true) {
            let reason = format!("`{name}` asks for this derivative itself");
            return Err(error(span, TextErrorKind::Derivative { name, reason }));
        }
        if !matches!(how, How::Hessian | How::MatrixFunction) {
            for needed in self.reached(program, of) {
                deep(|| self.body(program, needed))?;
            }
        }
        let failed = |e: DiffError| {
            let (name, reason) = (name.clone(), e.to_string());
            error(span, TextErrorKind::Derivative { name, reason })
        };
        let body = define(program, id, how, of, span).map_err(failed)?;
        program.functions[id] = body;
        let size: usize = program.functions.values().map(|f| f.insts.len()).sum();
        if size > MOST {
            let what = "the instructions of derivatives are";
            return Err(error(span, TextErrorKind::TooDeep { what, limit: MOST }));
        }
        Ok(())
    }

    /// The derivatives without a body that a function comes to.
    fn reached(&self, program: &Program, from: FuncId) -> Vec<FuncId> {
        let (mut seen, mut work, mut found) = (HashSet::from([from]), vec![from], Vec::new());
        while let Some(f) = work.pop() {
            if self.all.contains_key(&f) && !program.functions[f].is_defined() {
                found.push(f);
                continue;
            }
            let rule = program.rule(f);
            let parts = rule.into_iter().flat_map(|r| [r.pullback, r.pushforward]).flatten();
            work.extend(program.functions[f].callees().into_iter().chain(parts).filter(|g| seen.insert(*g)));
        }
        found
    }
}

/// Of what a derivative is asked that is no function of the program.
fn unknown(name: &str, program: &Program) -> TextErrorKind {
    if Builtin::by_name(name).is_some() {
        let given = format!("`{name}`, which the language has");
        let expected = "a function of the text, such as `fn g(x) { … }`".to_owned();
        return TextErrorKind::Kind { given, expected, hint: ": let one call it" };
    }
    let nearest =
        nearest(name, program.functions.values().map(|f| f.name.as_str()).filter(|n| !n.contains('.')));
    TextErrorKind::Unknown { what: "function", name: name.to_owned(), nearest }
}

/// What is declared of a derivative, and where it is asked for.
struct Declared {
    name: String,
    params: Vec<Param>,
    result: Kind,
    span: Span,
}

/// The body of a declared derivative.
fn define(
    program: &mut Program,
    id: FuncId,
    how: How,
    of: FuncId,
    span: Span,
) -> Result<IrFunction, DiffError> {
    let IrFunction { name, params, result, .. } = program.functions[id].clone();
    let declared = Declared { name, params, result, span };
    if how == How::Hessian {
        return Ok(hessian(program, of, declared));
    }
    if how == How::MatrixFunction {
        return Ok(matrix_function(program, of, declared));
    }
    let Declared { name, params, result, .. } = declared;
    let n = program.functions[of].params.len();
    let engine = match how {
        How::Jvp => adjoint::forward(program, of)?,
        How::Vjp => adjoint::value_and_pullback(program, of)?,
        _ => adjoint::gradient(program, of)?,
    };
    let mut b = FunctionBuilder::new(name, params, result.clone());
    b.set_position(span.at);
    let args = b.params().to_vec();
    let all = b.inst(Op::Call(engine), &args, program.functions[engine].result.clone());
    let value = match how {
        How::Jvp => {
            let (y, dot) = (b.field(all, 0), b.field(all, 1));
            let dot = whole(&mut b, dot, y);
            b.tuple(&[y, dot], result)
        }
        How::Vjp => {
            let inputs: Vec<Value> =
                args[..n].iter().copied().filter(|&x| b.kind(x).is_differentiable()).collect();
            let mut bars = Vec::new();
            for (k, &x) in inputs.iter().enumerate() {
                let bar = b.field(all, k + 1);
                bars.push(whole(&mut b, bar, x));
            }
            match bars.as_slice() {
                [bar] => *bar,
                bars => b.tuple(bars, result),
            }
        }
        _ => {
            let bar = b.field(all, 1);
            let bar = whole(&mut b, bar, args[0]);
            if how == How::ValueAndGrad {
                let y = b.field(all, 0);
                b.tuple(&[y, bar], result)
            } else {
                bar
            }
        }
    };
    b.ret(value);
    Ok(b.finish())
}

/// A (co)tangent with all elements of the arrays in `x`.
fn whole(b: &mut FunctionBuilder, bar: Value, x: Value) -> Value {
    match b.kind(x).clone() {
        Kind::Array(_) => b.on_arrays(ArrayOp::Like, &[bar, x]),
        Kind::Tuple(t) => {
            let mut parts = Vec::new();
            for (k, _) in t.fields.iter().enumerate().filter(|(_, f)| f.kind.is_differentiable()) {
                let (bar, x) = (b.field(bar, parts.len()), b.field(x, k));
                parts.push(whole(b, bar, x));
            }
            let kind = b.kind(bar).clone();
            b.tuple(&parts, kind)
        }
        _ => bar,
    }
}

/// Second derivatives: of one number the gradient of the gradient, of an array how the gradient moves along each element.
fn hessian(program: &Program, of: FuncId, declared: Declared) -> IrFunction {
    let Declared { name, params, result, span } = declared;
    let twice = &program.functions[of];
    if result == Kind::Real {
        return FunctionBuilder::caller(name, params, result, Op::Call(of));
    }
    let mut s = Stage::new(name, params, result.clone());
    s.b.set_position(span.at);
    let args = s.b.params().to_vec();
    let x = args[0];
    let ints = Kind::Array(Element::Int);
    let n = s.b.inst(Op::Len, &[x], Kind::Int);
    let (zero, one) = (s.b.real(0.0), s.b.real(1.0));
    let square = s.b.inst(Op::Array, &[n, n], ints.clone());
    let count = s.b.on_arrays(ArrayOp::Count, &[square]);
    let flat = s.b.inst(Op::Fill, &[zero, count], result.clone());
    let matrix = s.b.on_arrays(ArrayOp::Reshape, &[flat, square]);
    let rows = s.b.declare(result.clone());
    s.b.define(rows, matrix);
    let length = s.b.inst(Op::Array, &[n], ints);
    // Neither end is anything but an int.
    if let Ok(counter) = s.begin_for(Given::Literal(0), Given::Value(n), false) {
        let k = counter.value;
        let zeros = s.b.on_arrays(ArrayOp::Spread, &[zero, x]);
        let along = s.b.inst(Op::Set, &[zeros, k, one], result.clone());
        let mut all = args.clone();
        for (j, p) in twice.params[args.len()..].iter().enumerate() {
            all.push(if j == 0 { along } else { s.b.zero(&p.kind) });
        }
        let both = s.b.inst(Op::Call(of), &all, twice.result.clone());
        let row = s.b.field(both, 1);
        let row = s.b.on_arrays(ArrayOp::Reshape, &[row, length]);
        let before = s.b.use_variable(rows);
        let next = [before, row, k].map(Given::Value);
        if let Ok(Given::Value(next)) = s.builtin(Builtin::Composed(Composed::WithRow), &next) {
            s.b.define(rows, next);
        }
        s.end_for(counter);
    }
    let matrix = s.b.use_variable(rows);
    s.b.ret(matrix);
    s.finish()
}

/// A function of a symmetric matrix, from the function of its eigenvalues with its derivative.
fn matrix_function(program: &Program, of: FuncId, declared: Declared) -> IrFunction {
    let Declared { name, params, result, span } = declared;
    let with_slope = program.functions[of].result.clone();
    let mut s = Stage::new(name, params, result.clone());
    s.b.set_position(span.at);
    let args = s.b.params().to_vec();
    let (zero, one) = (s.b.int(0), s.b.int(1));
    let both = s.b.on_arrays(ArrayOp::Eigen, &args[..1]);
    let n = s.b.on_arrays(ArrayOp::Dim, &[both, one]);
    let w = s.b.on_arrays(ArrayOp::Slice, &[both, zero, zero, one]);
    let w = s.b.on_arrays(ArrayOp::DropAxis, &[w, zero]);
    let blank = s.b.real(0.0);
    let zeros = s.b.on_arrays(ArrayOp::Spread, &[blank, w]);
    let lists = [s.b.declare(result.clone()), s.b.declare(result.clone())];
    lists.iter().for_each(|list| s.b.define(*list, zeros));
    // Neither end is anything but an int.
    if let Ok(counter) = s.begin_for(Given::Literal(0), Given::Value(n), false) {
        let k = counter.value;
        let mut all = args.clone();
        all[0] = s.b.get(w, k);
        let pair = s.b.inst(Op::Call(of), &all, with_slope);
        for (part, list) in lists.iter().enumerate() {
            let x = s.b.field(pair, part);
            let before = s.b.use_variable(*list);
            let next = s.b.inst(Op::Set, &[before, k, x], result.clone());
            s.b.define(*list, next);
        }
        s.end_for(counter);
    }
    let [d, slopes] = lists.map(|list| s.b.use_variable(list));
    let v = s.b.on_arrays(ArrayOp::Slice, &[both, zero, one, n]);
    let scaled = s.b.number2(Number2::Mul, v, d);
    let product = s.b.on_arrays(ArrayOp::MatMulNh, &[scaled, v]);
    let y = s.b.on_arrays(ArrayOp::Spectral, &[product, args[0], both, d, slopes]);
    s.b.ret(y);
    s.finish()
}
