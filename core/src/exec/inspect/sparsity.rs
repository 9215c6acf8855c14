//! Which results depend on which arguments: the patterns of Jacobians and Hessians.
//!
//! Every number carries the set of the argument numbers that it was computed from. The pattern is that of the
//! way through the program that the given arguments take, and it holds for every run that takes the same way
//! with the same indices. It may have too much (`x - x` depends on `x`) and never too little.
//!
//! ```
//! use ketgrad_core::{exec::{Datum, inspect::jacobian_pattern}, text::parse_program};
//!
//! let program = parse_program("fn f(x, y, z) { (x * y, sin(z), floor(x)) }").map_err(|e| e[0].clone())?;
//! let arguments = [0.1, 0.2, 0.3].map(Datum::<f64>::Real);
//! let pattern = jacobian_pattern(&program, "f", &arguments)?;
//! assert_eq!(pattern.rows, [vec![0, 1], vec![2], vec![]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::{BTreeSet, HashMap};

use crate::{
    entity::Value,
    ir::{Function, InstData, Kind, Mixed, Op, Program, Real1},
    scalar::{Real, Scalar},
};

use super::{
    Datum, DeriveError, Event, Inspection, Interceptor, Moment, Stop,
    sources::{Source, by_elements, on_arrays},
};

/// Where a matrix may be other than zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// For each row its columns in order.
    pub rows: Vec<Vec<usize>>,
    /// How many columns there are.
    pub columns: usize,
}

impl Pattern {
    /// How many entries may be other than zero.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }
    /// Whether all are zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The pattern of the Jacobian of a function at the given arguments: a row for each number of the result and
/// a column for each of the arguments, in order, those in arrays and tuples included. A complex number is one.
///
/// # Errors
/// There is no such function, the arguments do not fit, or it fails. No primitives.
pub fn jacobian_pattern<T: Real, S: Scalar<Real = T>>(
    program: &Program,
    name: &str,
    args: &[Datum<S>],
) -> Result<Pattern, DeriveError> {
    jacobian_of(Inspection::new(program, name)?, args)
}

/// The pattern of the Jacobian of a function that is looked at.
pub(in crate::exec) fn jacobian_of<T: Real, S: Scalar<Real = T>>(
    mut function: Inspection<'_, S>,
    args: &[Datum<S>],
) -> Result<Pattern, DeriveError> {
    let mut sparsity = Sparsity::new(args);
    function.run(args, &mut sparsity)?;
    Ok(sparsity.pattern())
}

/// The pattern of the Hessian: that of the Jacobian of the gradient.
///
/// # Errors
/// As [`jacobian_pattern`]; the function must have a gradient.
pub fn hessian_pattern<T: Real, S: Scalar<Real = T>>(
    program: &Program,
    name: &str,
    args: &[Datum<S>],
) -> Result<Pattern, DeriveError> {
    hessian_of(Inspection::of_gradient(program, name)?, args)
}

/// The pattern of the Hessian of a function whose gradient is looked at.
pub(in crate::exec) fn hessian_of<T: Real, S: Scalar<Real = T>>(
    gradient: Inspection<'_, S>,
    args: &[Datum<S>],
) -> Result<Pattern, DeriveError> {
    let mut pattern = jacobian_of(gradient, args)?;
    // The first row is the value's. Cotangents of arrays may be shorter than the arrays.
    pattern.rows.remove(0);
    pattern.rows.resize(pattern.columns.max(pattern.rows.len()), vec![]);
    Ok(pattern)
}

/// The arguments that a number depends on.
type Set = BTreeSet<usize>;

/// What is known about a value.
#[derive(Clone, Debug)]
enum Shadow {
    Number(Set),
    Array(Vec<Set>),
    Tuple(Vec<Shadow>),
}

impl Shadow {
    fn none() -> Shadow {
        Shadow::Number(Set::new())
    }
    fn all(&self) -> Set {
        match self {
            Shadow::Number(set) => set.clone(),
            Shadow::Array(sets) => sets.iter().flatten().copied().collect(),
            Shadow::Tuple(fields) => fields.iter().flat_map(Shadow::all).collect(),
        }
    }
    fn elements(&self) -> &[Set] {
        match self {
            Shadow::Array(sets) => sets,
            _ => &[],
        }
    }
    fn rows(&self, rows: &mut Vec<Vec<usize>>) {
        match self {
            Shadow::Number(set) => rows.push(set.iter().copied().collect()),
            Shadow::Array(sets) => rows.extend(sets.iter().map(|s| s.iter().copied().collect())),
            Shadow::Tuple(fields) => fields.iter().for_each(|f| f.rows(rows)),
        }
    }
    /// Every number of an argument depends on itself.
    fn of<S: Scalar>(value: &Datum<S>, next: &mut usize) -> Shadow {
        let mut fresh = || {
            *next += 1;
            Set::from([*next - 1])
        };
        match value {
            Datum::Real(_) | Datum::Complex(_) => Shadow::Number(fresh()),
            Datum::Reals(xs) => Shadow::Array(xs.iter().map(|_| fresh()).collect()),
            Datum::Complexes(xs) => Shadow::Array(xs.iter().map(|_| fresh()).collect()),
            Datum::Ints(xs) => Shadow::Array(vec![Set::new(); xs.len()]),
            Datum::Int(_) | Datum::Bool(_) | Datum::Handle(_) => Shadow::none(),
            Datum::Tuple(fields) => Shadow::Tuple(fields.iter().map(|f| Shadow::of(f, next)).collect()),
        }
    }
    /// Every number of a result depends on the same.
    fn like<S: Scalar>(value: &Datum<S>, set: &Set) -> Shadow {
        let array = |n: usize| Shadow::Array(vec![set.clone(); n]);
        match value {
            Datum::Reals(xs) => array(xs.len()),
            Datum::Complexes(xs) => array(xs.len()),
            Datum::Ints(xs) => Shadow::Array(vec![Set::new(); xs.len()]),
            Datum::Tuple(fields) => Shadow::Tuple(fields.iter().map(|f| Shadow::like(f, set)).collect()),
            Datum::Real(_) | Datum::Complex(_) => Shadow::Number(set.clone()),
            Datum::Int(_) | Datum::Bool(_) | Datum::Handle(_) => Shadow::none(),
        }
    }
}

/// Follows what each number depends on through one run.
#[derive(Clone, Debug)]
pub struct Sparsity {
    /// The values of each call that runs.
    frames: Vec<Vec<Shadow>>,
    /// The arguments of the call that is about to start.
    arguments: Vec<Shadow>,
    returned: Shadow,
    /// What lies on each tape, by the kind of the leaf.
    tapes: HashMap<(u32, Kind), Vec<Shadow>>,
    columns: usize,
}

impl Sparsity {
    /// For one run on these arguments.
    #[must_use]
    pub fn new<S: Scalar>(args: &[Datum<S>]) -> Sparsity {
        let mut columns = 0;
        let arguments = args.iter().map(|a| Shadow::of(a, &mut columns)).collect();
        Sparsity { frames: vec![], arguments, returned: Shadow::none(), tapes: HashMap::new(), columns }
    }

    /// What the result of the run depends on.
    #[must_use]
    pub fn pattern(&self) -> Pattern {
        let mut rows = Vec::new();
        self.returned.rows(&mut rows);
        Pattern { rows, columns: self.columns }
    }

    fn get(&self, v: Value) -> Shadow {
        self.frames.last().and_then(|f| f.get(v.index())).cloned().unwrap_or_else(Shadow::none)
    }

    fn set(&mut self, v: Value, shadow: Shadow) {
        if let Some(place) = self.frames.last_mut().and_then(|f| f.get_mut(v.index())) {
            *place = shadow;
        }
    }

    fn enter(&mut self, f: &Function) {
        self.frames.push(vec![Shadow::none(); f.kinds.len()]);
        for (&p, shadow) in f.param_values().iter().zip(std::mem::take(&mut self.arguments)) {
            self.set(p, shadow);
        }
    }

    /// What the result of an instruction depends on.
    fn result<T: Real, S: Scalar<Real = T>>(&mut self, event: &Event<'_, S>, inst: &InstData) -> Shadow {
        let args: Vec<Shadow> = inst.args.iter().map(|&v| self.get(v)).collect();
        let arg = |k: usize| args.get(k).cloned().unwrap_or_else(Shadow::none);
        let all = || Shadow::Number(args.iter().flat_map(Shadow::all).collect());
        let index = |k: usize| match inst.args.get(k).map(|&v| event.value(v)) {
            Some(Datum::Int(n)) => usize::try_from(n).unwrap_or(0),
            _ => 0,
        };
        // On arrays each element of the result depends on those of the operands at its place, and of operations on whole
        // arrays on those that were moved there; where that is not known, on all.
        let array = inst.result.is_some_and(|v| matches!(event.function().kinds[v], Kind::Array(_)));
        if array && inst.op.is_elementwise() || matches!(inst.op, Op::OnArrays(_)) {
            let Some(value) = event.result() else { return Shadow::none() };
            let values: Vec<Datum<S>> = inst.args.iter().map(|&v| event.value(v)).collect();
            let sources = match inst.op {
                Op::OnArrays(op) if !op.is_differentiable() => return Shadow::like(&value, &Set::new()),
                Op::OnArrays(op) => on_arrays(op, &values, &value),
                _ => by_elements(&values, &value),
            };
            let Some(sources) = sources else {
                return Shadow::like(&value, &args.iter().flat_map(Shadow::all).collect());
            };
            let source = |(k, place): &Source| match args.get(*k) {
                Some(Shadow::Array(elements)) => elements.get(*place).cloned().unwrap_or_default(),
                Some(number) => number.all(),
                None => Set::new(),
            };
            return Shadow::Array(
                sources.iter().map(|from| from.iter().flat_map(source).collect()).collect(),
            );
        }
        match inst.op {
            Op::Number1(_) | Op::Number2(_) | Op::Real2(_) | Op::Real1(Real1::Abs) | Op::Sum => all(),
            Op::Mixed(Mixed::FromInt | Mixed::Not | Mixed::And | Mixed::Or) => Shadow::none(),
            Op::Mixed(_) | Op::OnArrays(_) => all(),
            // Constant between jumps, or no number at all.
            Op::Real1(_) | Op::Int1(_) | Op::Int2(_) | Op::Compare(_) | Op::CompareInt(_) | Op::Len => {
                Shadow::none()
            }
            Op::Real(_) | Op::Int(_) | Op::Bool(_) | Op::Push { .. } => Shadow::none(),
            Op::Select => {
                let yes = matches!(inst.args.first().map(|&v| event.value(v)), Some(Datum::Bool(true)));
                arg(if yes { 1 } else { 2 })
            }
            Op::Call(_) => std::mem::replace(&mut self.returned, Shadow::none()),
            Op::Primitive(_) => {
                let set = args.iter().flat_map(Shadow::all).collect();
                event.result().map_or_else(Shadow::none, |value| Shadow::like(&value, &set))
            }
            Op::Tuple => Shadow::Tuple(args),
            Op::Field(k) => match arg(0) {
                Shadow::Tuple(fields) => fields.get(k as usize).cloned().unwrap_or_else(Shadow::none),
                other => other,
            },
            Op::Array => Shadow::Array(args.iter().map(Shadow::all).collect()),
            Op::Fill => Shadow::Array(vec![arg(0).all(); index(1)]),
            Op::Get | Op::Peek => {
                Shadow::Number(arg(0).elements().get(index(1)).cloned().unwrap_or_default())
            }
            Op::Set | Op::Put | Op::AddAt => {
                let mut elements = arg(0).elements().to_vec();
                let k = index(1);
                elements.resize(elements.len().max(k + 1), Set::new());
                if inst.op != Op::AddAt {
                    elements[k].clear();
                }
                elements[k].extend(arg(2).all());
                Shadow::Array(elements)
            }
            Op::Accumulate => {
                let (mut long, mut short) = (arg(0).elements().to_vec(), arg(1).elements().to_vec());
                if long.len() < short.len() {
                    std::mem::swap(&mut long, &mut short);
                }
                long.iter_mut().zip(short).for_each(|(a, b)| a.extend(b));
                Shadow::Array(long)
            }
            Op::Pop { tape, .. } => match inst.result {
                Some(v) => self.pop(tape, &event.function().kinds[v]),
                None => Shadow::none(),
            },
        }
    }

    fn push(&mut self, tape: u32, kind: &Kind, shadow: Shadow) {
        match (kind, shadow) {
            (Kind::Tuple(t), Shadow::Tuple(fields)) => {
                t.fields.iter().zip(fields).for_each(|(f, shadow)| self.push(tape, &f.kind, shadow));
            }
            (leaf, shadow) => self.tapes.entry((tape, bank(leaf))).or_default().push(shadow),
        }
    }

    fn pop(&mut self, tape: u32, kind: &Kind) -> Shadow {
        match kind {
            Kind::Tuple(t) => {
                let mut fields: Vec<_> = t.fields.iter().rev().map(|f| self.pop(tape, &f.kind)).collect();
                fields.reverse();
                Shadow::Tuple(fields)
            }
            leaf => {
                let top = self.tapes.get_mut(&(tape, bank(leaf))).and_then(Vec::pop);
                top.unwrap_or_else(Shadow::none)
            }
        }
    }
}

/// Truth values and handles lie on the tape of the integers.
fn bank(leaf: &Kind) -> Kind {
    match leaf {
        Kind::Bool | Kind::Handle => Kind::Int,
        kind => kind.clone(),
    }
}

impl<T: Real, S: Scalar<Real = T>> Interceptor<S> for Sparsity {
    fn see(&mut self, event: &Event<'_, S>) -> Result<(), Stop> {
        if event.depth() >= self.frames.len() {
            self.enter(event.function());
        }
        match (event.moment(), event.inst()) {
            (Moment::Before(_), Some(inst)) => match inst.op {
                Op::Call(_) => self.arguments = inst.args.iter().map(|&v| self.get(v)).collect(),
                Op::Push { tape, .. } => {
                    for &v in &inst.args {
                        let shadow = self.get(v);
                        self.push(tape, &event.function().kinds[v], shadow);
                    }
                }
                _ => {}
            },
            (Moment::After(_), Some(inst)) => {
                if let Some(v) = inst.result {
                    let shadow = self.result(event, inst);
                    self.set(v, shadow);
                }
            }
            (Moment::Edge(..), _) => {
                if let Some(target) = event.target() {
                    let args: Vec<Shadow> = target.args.iter().map(|&v| self.get(v)).collect();
                    let params = &event.function().blocks[target.block].params;
                    params.iter().zip(args).for_each(|(&p, shadow)| self.set(p, shadow));
                }
            }
            (Moment::Return(_), _) => {
                self.returned = event.returned().map_or_else(Shadow::none, |v| self.get(v));
                self.frames.pop();
            }
            _ => {}
        }
        Ok(())
    }
}
