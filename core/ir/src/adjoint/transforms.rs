//! Transforms as functions of a program, to be called like others.
//!
//! `grad(f)` is a function `f.grad` next to `f`, under a name that no text can contain, and
//! `grad(grad(f))` is `f.grad.grad`. It is [declared](TransformRegistry::declare) at its first
//! call, so calls of it are ordinary calls. Its body is built when all functions are
//! [complete](TransformRegistry::define), after those transforms that the function uses itself:
//! differentiation maps functions to functions that can be differentiated.

use std::collections::{HashMap, HashSet};

use super::{DiffError, Transform, TransformError, forward, gradient, value_and_pullback};
use crate::{
    entity::{FuncId, Value},
    ir::{
        ArrayOp, Element, Function, FunctionBuilder, Kind, Number2, Op, Param, Position, Program,
    },
    stack::deep,
    staging::{Builtin, Composed, StagedOperand, StagingBuilder},
};

/// Maximum number of instructions of all functions together while transforms are built: those of
/// derivatives multiply.
const MOST: usize = 200_000;

/// Declared function that has no body yet.
#[derive(Debug)]
struct Request {
    transform: Transform,
    /// The function, or for a Hessian the function that it is built from.
    of: FuncId,
    at: Position,
    started: bool,
}

/// Transforms that the functions of a program call.
///
/// ```
/// use ketgrad_core::{adjoint::{Transform, TransformRegistry}, exec::{Datum, Derivatives}, ir::Position, text::parse_program};
///
/// let mut program = parse_program("fn f(x) { x * x * x }")?;
/// let f = program.lookup("f").ok_or("no function")?;
/// let mut transforms = TransformRegistry::default();
/// let gradient = transforms.declare(&mut program, f, Transform::Grad, Position::default())?;
/// let second = transforms.declare(&mut program, gradient, Transform::Grad, Position::default())?;
/// transforms.define(&mut program).map_err(|(_, e)| e)?;
///
/// let name = program.functions[second].name.clone();
/// assert_eq!(name, "f.grad.grad");
/// let mut second = Derivatives::<f64>::new(&program, &name)?;
/// assert_eq!(second.value_and_gradient(&[Datum::Real(5.0)])?, (30.0, vec![Datum::Real(6.0)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct TransformRegistry {
    all: HashMap<FuncId, Request>,
    /// Functions in the order in which they were declared.
    order: Vec<FuncId>,
    made: HashMap<(FuncId, Transform), FuncId>,
}

impl TransformRegistry {
    /// Declares a transform of a declared function; two requests for the same transform yield the
    /// same function. `at`: position of the request, which is the position of its instructions.
    ///
    /// # Errors
    /// If functions of that signature have no such transform.
    pub fn declare(
        &mut self,
        program: &mut Program,
        of: FuncId,
        transform: Transform,
        at: Position,
    ) -> Result<FuncId, TransformError> {
        if let Some(&id) = self.made.get(&(of, transform)) {
            return Ok(id);
        }
        let function = &program.functions[of];
        let name = program.fresh_name(&format!("{}.{}", function.name, transform.name()));
        let kinds: Vec<Kind> = function.params.iter().map(|p| p.kind.clone()).collect();
        let (params, result) = transform.signature(&kinds, &function.result)?;
        let names = function.params.iter().map(|p| p.name.clone());
        let more = (0..params.len() - kinds.len()).map(|k| format!("d{k}"));
        let params =
            names.chain(more).zip(params).map(|(name, kind)| Param::new(name, kind)).collect();
        let base = match (transform, kinds.first()) {
            (Transform::Hessian, first) => {
                let gradient = self.declare(program, of, Transform::Grad, at)?;
                let next =
                    if first == Some(&Kind::Real) { Transform::Grad } else { Transform::Jvp };
                self.declare(program, gradient, next, at)?
            }
            (Transform::MatrixFunction, _) => {
                self.declare(program, of, Transform::ValueAndGrad, at)?
            }
            _ => of,
        };
        let id = program.add(Function::declared(name, params, result));
        self.all.insert(id, Request { transform, of: base, at, started: false });
        self.made.insert((of, transform), id);
        self.order.push(id);
        Ok(id)
    }

    /// Builds the bodies of all declared transforms, after those of the functions that they are
    /// built from are complete.
    ///
    /// # Errors
    /// The first transform that cannot be built, with the position where it is requested.
    pub fn define(&mut self, program: &mut Program) -> Result<(), (Position, TransformError)> {
        std::mem::take(&mut self.order).into_iter().try_for_each(|id| self.define_one(program, id))
    }

    /// Builds the body of one transform, and those of its callees.
    ///
    /// # Errors
    /// See [`define`](TransformRegistry::define).
    pub fn define_one(
        &mut self,
        program: &mut Program,
        id: FuncId,
    ) -> Result<(), (Position, TransformError)> {
        if program.functions[id].is_defined() {
            return Ok(());
        }
        let Some(request) = self.all.get_mut(&id) else { return Ok(()) };
        let (transform, of, at) = (request.transform, request.of, request.at);
        let function = program.functions[of].name.clone();
        if std::mem::replace(&mut request.started, true) {
            return Err((at, TransformError::Circular { function }));
        }
        // These call the functions that they are built from; the others differentiate them.
        let needed = match transform {
            Transform::Hessian | Transform::MatrixFunction => vec![of],
            _ => self.reached(program, of),
        };
        for needed in needed {
            deep(|| self.define_one(program, needed))?;
        }
        let body = define(program, id, transform, of, at)
            .map_err(|source| (at, TransformError::Diff { function, source }))?;
        program.functions[id] = body;
        let size: usize = program.functions.values().map(|f| f.insts.len()).sum();
        if size > MOST { Err((at, TransformError::TooLarge { limit: MOST })) } else { Ok(()) }
    }

    /// Returns the transforms without a body that a function reaches.
    fn reached(&self, program: &Program, from: FuncId) -> Vec<FuncId> {
        let (mut seen, mut work, mut found) = (HashSet::from([from]), vec![from], Vec::new());
        while let Some(f) = work.pop() {
            if self.all.contains_key(&f) && !program.functions[f].is_defined() {
                found.push(f);
                continue;
            }
            let rule = program.rule(f);
            let parts = rule.into_iter().flat_map(|r| [r.pullback, r.pushforward]).flatten();
            work.extend(
                program.functions[f].callees().into_iter().chain(parts).filter(|g| seen.insert(*g)),
            );
        }
        found
    }
}

/// Declaration of a transform, and the position of the request.
struct Declared {
    name: String,
    params: Vec<Param>,
    result: Kind,
    at: Position,
}

/// Builds the body of a declared transform.
fn define(
    program: &mut Program,
    id: FuncId,
    transform: Transform,
    of: FuncId,
    at: Position,
) -> Result<Function, DiffError> {
    let Function { name, params, result, .. } = program.functions[id].clone();
    let declared = Declared { name, params, result, at };
    if transform == Transform::Hessian {
        return Ok(hessian(program, of, declared));
    }
    if transform == Transform::MatrixFunction {
        return Ok(matrix_function(program, of, declared));
    }
    let Declared { name, params, result, .. } = declared;
    let n = program.functions[of].params.len();
    let engine = match transform {
        Transform::Jvp => forward(program, of)?,
        Transform::Vjp => value_and_pullback(program, of)?,
        _ => gradient(program, of)?,
    };
    let mut b = FunctionBuilder::new(name, params, result.clone());
    b.set_position(at);
    let args = b.params().to_vec();
    let all = b.inst(Op::Call(engine), &args, program.functions[engine].result.clone());
    let value = match transform {
        Transform::Jvp => {
            let (y, dot) = (b.field(all, 0), b.field(all, 1));
            let dot = whole(&mut b, dot, y);
            b.tuple(&[y, dot], result)
        }
        Transform::Vjp => {
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
            if transform == Transform::ValueAndGrad {
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

/// Extends a (co)tangent to all elements of the arrays in `x`.
fn whole(b: &mut FunctionBuilder, bar: Value, x: Value) -> Value {
    match b.kind(x).clone() {
        Kind::Array(_) => b.on_arrays(ArrayOp::ReshapeLike, &[bar, x]),
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

/// Builds second derivatives: for one number the gradient of the gradient, for an array the change
/// of the gradient along each element.
fn hessian(program: &Program, of: FuncId, declared: Declared) -> Function {
    let Declared { name, params, result, at } = declared;
    let twice = &program.functions[of];
    if result == Kind::Real {
        return FunctionBuilder::caller(name, params, result, Op::Call(of));
    }
    let mut s = StagingBuilder::new(name, params, result.clone());
    s.b.set_position(at);
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
    // Both bounds are ints.
    if let Ok(counter) = s.begin_for(StagedOperand::Literal(0), StagedOperand::Value(n), false) {
        let k = counter.value;
        let zeros = s.b.on_arrays(ArrayOp::BroadcastTo, &[zero, x]);
        let along = s.b.inst(Op::Set, &[zeros, k, one], result.clone());
        let mut all = args.clone();
        for (j, p) in twice.params[args.len()..].iter().enumerate() {
            all.push(if j == 0 { along } else { s.b.zero(&p.kind) });
        }
        let both = s.b.inst(Op::Call(of), &all, twice.result.clone());
        let row = s.b.field(both, 1);
        let row = s.b.on_arrays(ArrayOp::Reshape, &[row, length]);
        let before = s.b.use_variable(rows);
        let next = [before, row, k].map(StagedOperand::Value);
        if let Ok(StagedOperand::Value(next)) =
            s.builtin(Builtin::Composed(Composed::WithRow), &next)
        {
            s.b.define(rows, next);
        }
        s.end_for(counter);
    }
    let matrix = s.b.use_variable(rows);
    s.b.ret(matrix);
    s.finish()
}

/// Builds a function of a symmetric matrix, from the function of its eigenvalues with its
/// derivative.
fn matrix_function(program: &Program, of: FuncId, declared: Declared) -> Function {
    let Declared { name, params, result, at } = declared;
    let with_slope = program.functions[of].result.clone();
    let mut s = StagingBuilder::new(name, params, result.clone());
    s.b.set_position(at);
    let args = s.b.params().to_vec();
    let (zero, one) = (s.b.int(0), s.b.int(1));
    let both = s.b.on_arrays(ArrayOp::Eigen, &args[..1]);
    let n = s.b.on_arrays(ArrayOp::Dim, &[both, one]);
    let w = s.b.on_arrays(ArrayOp::Slice, &[both, zero, zero, one]);
    let w = s.b.on_arrays(ArrayOp::DropAxis, &[w, zero]);
    let blank = s.b.real(0.0);
    let zeros = s.b.on_arrays(ArrayOp::BroadcastTo, &[blank, w]);
    let lists = [s.b.declare(result.clone()), s.b.declare(result.clone())];
    lists.iter().for_each(|list| s.b.define(*list, zeros));
    // Both bounds are ints.
    if let Ok(counter) = s.begin_for(StagedOperand::Literal(0), StagedOperand::Value(n), false) {
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
