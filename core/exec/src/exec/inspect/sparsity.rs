//! Sparsity patterns of Jacobians and Hessians: which results depend on which arguments.
//!
//! Every number carries the set of the argument numbers that it was computed from. The pattern is
//! that of the path through the program that the given arguments take, and it holds for every run
//! that takes the same path: where numbers decide a choice, by `select`, `sort`, `argmax`, it
//! counts all that may be chosen. It may have too many entries (`x - x` depends on `x`) and never
//! too few: the result of a function with a rule of its own depends on all its arguments. A complex
//! number is two, its real part and its imaginary part, and both depend on the same.
//!
//! ```
//! use ketgrad_core::{exec::{Datum, inspect::jacobian_pattern}, text::parse_program};
//!
//! let program = parse_program("fn f(x, y, z) { (x * y, sin(z), floor(x)) }")?;
//! let arguments = [0.1, 0.2, 0.3].map(Datum::<f64>::Real);
//! let pattern = jacobian_pattern(&program, "f", &arguments)?;
//! assert_eq!(pattern.rows, [vec![0, 1], vec![2], vec![]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{collections::HashMap, sync::Arc};

use crate::{
    entity::Value,
    ir::{ArrayOp, Element, ElementFlow, Function, InstData, Kind, Mixed, Op, Program},
    scalar::{Real, Scalar},
};

use super::{
    super::{Datum, DeriveError, derivatives::find},
    event::Event,
    inspection::Inspection,
    interceptor::{Interceptor, Interrupt},
    moment::Moment,
    sets::{Members, SetId, Sets},
    shadow::Shadow,
    sources::{ElementSource, by_elements, on_arrays},
};

/// Sparsity pattern: the entries of a matrix that may be other than zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// Columns of each row, in order.
    pub rows: Vec<Vec<usize>>,
    /// Number of columns.
    pub columns: usize,
}

impl Pattern {
    /// Returns the number of entries that may be other than zero.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }
    /// Returns true if all entries are zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Computes the pattern of the Jacobian of a function at the given arguments: a row for each number
/// of the result and a column for each of the arguments, in order, those in arrays and tuples
/// included, a complex number as two.
///
/// # Errors
/// There is no such function, the arguments do not fit, it fails, or it calls a primitive.
pub fn jacobian_pattern<T: Real, S: Scalar<Real = T>>(
    program: &Program,
    name: &str,
    args: &[Datum<S>],
) -> Result<Pattern, DeriveError> {
    jacobian_of(Inspection::instrumented_in_place(program, find(program, name)?)?, args)
}

/// Computes the pattern of the Jacobian of an instrumented function.
pub(in crate::exec) fn jacobian_of<T: Real, S: Scalar<Real = T>>(
    mut function: Inspection<'_, S>,
    args: &[Datum<S>],
) -> Result<Pattern, DeriveError> {
    let mut sparsity = Sparsity::new(args);
    function.run(args, &mut sparsity)?;
    Ok(sparsity.pattern())
}

/// Computes the pattern of the Hessian: that of the Jacobian of the gradient.
///
/// # Errors
/// Those of [`jacobian_pattern`]; the function must have a gradient.
pub fn hessian_pattern<T: Real, S: Scalar<Real = T>>(
    program: &Program,
    name: &str,
    args: &[Datum<S>],
) -> Result<Pattern, DeriveError> {
    hessian_of(Inspection::gradient_in_place(program, find(program, name)?)?, args)
}

/// Returns the pattern of the Hessian of a function whose instrumented gradient is given.
pub(in crate::exec) fn hessian_of<T: Real, S: Scalar<Real = T>>(
    mut gradient: Inspection<'_, S>,
    args: &[Datum<S>],
) -> Result<Pattern, DeriveError> {
    let mut sparsity = Sparsity::new(args);
    gradient.run(args, &mut sparsity)?;
    // The first row is the value's. Cotangents of arrays may be shorter than the arrays.
    let zeros = args.iter().filter_map(Datum::zero_tangent);
    let shapes = zeros.map(|zero| Shadow::like(&zero, Sets::NONE));
    let mut pattern =
        sparsity.pattern_as(&Shadow::Tuple(std::iter::once(Shadow::NONE).chain(shapes).collect()));
    pattern.rows.remove(0);
    Ok(pattern)
}

/// Interceptor that computes the dependences of each number through one run. O(1) for an operation
/// on numbers, O(elements) for one on an array; writing to an element is O(1) if the array is not
/// read again.
#[derive(Clone, Debug)]
pub struct Sparsity {
    sets: Sets,
    /// The values of each call that runs.
    frames: Vec<Vec<Shadow>>,
    /// Dependences of the arguments of each call.
    given: Vec<SetId>,
    /// The arguments of the call that is about to start.
    arguments: Vec<Shadow>,
    returned: Shadow,
    /// Result of the run: its kind, and a shadow of its shape that depends on nothing.
    result: Option<(Kind, Shadow)>,
    /// The length of the longest array so far.
    longest: usize,
    /// Values on each tape, by the kind of the leaf.
    tapes: HashMap<(u32, Kind), Vec<Shadow>>,
    /// First column of each number among the arguments, and after the last one the number of
    /// columns.
    columns: Vec<usize>,
}

impl Sparsity {
    /// Creates the interceptor for one run on these arguments.
    #[must_use]
    pub fn new<S: Scalar>(args: &[Datum<S>]) -> Sparsity {
        let (mut sets, mut columns, mut count) = (Sets::new(), Vec::new(), 0);
        let mut next = |parts: usize| {
            columns.push(count);
            count += parts;
            sets.one(columns.len() - 1)
        };
        let arguments = args.iter().map(|a| Shadow::seed(a, &mut next)).collect();
        columns.push(count);
        Sparsity {
            sets,
            frames: vec![],
            given: vec![],
            arguments,
            returned: Shadow::NONE,
            result: None,
            longest: 0,
            tapes: HashMap::new(),
            columns,
        }
    }

    /// Returns the pattern of the result of the run.
    #[must_use]
    pub fn pattern(&self) -> Pattern {
        self.pattern_as(self.result.as_ref().map_or(&Shadow::NONE, |(_, shape)| shape))
    }

    /// Returns the pattern of a result that should have as many numbers as another shadow.
    fn pattern_as(&self, shape: &Shadow) -> Pattern {
        let mut rows = Vec::new();
        if let Some((kind, _)) = &self.result {
            self.rows(kind, &self.returned, shape, &mut Members::new(&self.sets), &mut rows);
        }
        Pattern { rows, columns: self.columns.last().copied().unwrap_or(0) }
    }

    fn rows(
        &self,
        kind: &Kind,
        shadow: &Shadow,
        shape: &Shadow,
        members: &mut Members<'_>,
        rows: &mut Vec<Vec<usize>>,
    ) {
        let parts =
            if matches!(kind, Kind::Complex | Kind::Array(Element::Complex)) { 2 } else { 1 };
        // Dependences of an integer are not derivatives of it.
        let counts = kind.is_differentiable();
        let mut row = |set: SetId| {
            let numbers = members.members_of(if counts { set } else { Sets::NONE });
            let columns = numbers.iter().flat_map(|&k| self.columns[k]..self.columns[k + 1]);
            rows.extend(vec![columns.collect::<Vec<usize>>(); parts]);
        };
        match (shadow, shape) {
            (Shadow::Tuple(fields), Shadow::Tuple(shapes)) => {
                for ((field, shadow), shape) in kind.fields().iter().zip(fields).zip(shapes) {
                    self.rows(&field.kind, shadow, shape, members, rows);
                }
            }
            (shadow, Shadow::Array(shape)) => {
                let elements = shadow.elements();
                (0..shape.len()).for_each(|k| row(elements.get(k).copied().unwrap_or(Sets::NONE)));
            }
            (Shadow::Number(set), _) => row(*set),
            // A value that was never defined.
            _ => row(Sets::NONE),
        }
    }

    fn get(&self, v: Value) -> Shadow {
        self.frames.last().and_then(|f| f.get(v.index())).cloned().unwrap_or(Shadow::NONE)
    }

    fn set(&mut self, v: Value, shadow: Shadow) {
        self.longest = self.longest.max(shadow.elements().len());
        if let Some(place) = self.frames.last_mut().and_then(|f| f.get_mut(v.index())) {
            *place = shadow;
        }
    }

    fn enter(&mut self, f: &Function, has_rule: bool) {
        self.frames.push(vec![Shadow::NONE; f.kinds.len()]);
        let arguments = std::mem::take(&mut self.arguments);
        let given = if has_rule { self.all(&arguments) } else { Sets::NONE };
        self.given.push(given);
        for (&p, shadow) in f.param_values().iter().zip(arguments) {
            self.set(p, shadow);
        }
    }

    /// Returns the dependences of values.
    fn all<'s>(&mut self, shadows: impl IntoIterator<Item = &'s Shadow>) -> SetId {
        shadows.into_iter().fold(Sets::NONE, |all, shadow| {
            let set = shadow.all(&mut self.sets);
            self.sets.join(all, set)
        })
    }

    /// Returns the dependences of the result of an instruction.
    fn result<T: Real, S: Scalar<Real = T>>(
        &mut self,
        event: &Event<'_, S>,
        inst: &InstData,
    ) -> Shadow {
        let args: Vec<Shadow> = inst.args.iter().map(|&v| self.get(v)).collect();
        let arg = |k: usize| args.get(k).cloned().unwrap_or(Shadow::NONE);
        let index = |k: usize| match inst.args.get(k).map(|&v| event.value(v)) {
            Some(Datum::Int(n)) => usize::try_from(n).unwrap_or(0),
            _ => 0,
        };
        let array =
            inst.result.is_some_and(|v| matches!(event.function().kinds[v], Kind::Array(_)));
        if array && inst.op.is_elementwise() || matches!(inst.op, Op::OnArrays(_)) {
            return self.of_elements(event, inst, &args);
        }
        match inst.op {
            // Constant between jumps.
            Op::Real1(op) if op.is_constant() => Shadow::NONE,
            Op::Number1(_) | Op::Number2(_) | Op::Real2(_) | Op::Real1(_) | Op::Sum => {
                Shadow::Number(self.all(&args))
            }
            // Truth values and integers depend on the numbers that decide them.
            Op::Compare(_) | Op::CompareInt(_) | Op::Int1(_) | Op::Int2(_) => {
                Shadow::Number(self.all(&args))
            }
            Op::Mixed(Mixed::Not | Mixed::And | Mixed::Or) => Shadow::Number(self.all(&args)),
            Op::Mixed(Mixed::FromInt | Mixed::Cmp) => Shadow::NONE,
            Op::Mixed(_) | Op::OnArrays(_) => Shadow::Number(self.all(&args)),
            Op::Len => Shadow::NONE,
            Op::Real(_) | Op::Int(_) | Op::Bool(_) | Op::Expect(_) | Op::Push { .. } => {
                Shadow::NONE
            }
            Op::Select if self.decides(&args, 0) => arg(1).union(arg(2), &mut self.sets),
            Op::Select => {
                let yes =
                    matches!(inst.args.first().map(|&v| event.value(v)), Some(Datum::Bool(true)));
                arg(if yes { 1 } else { 2 })
            }
            Op::Call(_) => std::mem::replace(&mut self.returned, Shadow::NONE),
            Op::Primitive(_) => {
                let set = self.all(&args);
                event.result().map_or(Shadow::NONE, |value| Shadow::like(&value, set))
            }
            Op::Tuple => Shadow::Tuple(args),
            Op::Field(k) => match arg(0) {
                Shadow::Tuple(fields) => fields.get(k as usize).cloned().unwrap_or(Shadow::NONE),
                other => other,
            },
            Op::Array => Shadow::array(args.iter().map(|a| a.all(&mut self.sets)).collect()),
            Op::Fill => Shadow::array(vec![arg(0).all(&mut self.sets); index(1)]),
            Op::Get | Op::Peek if self.decides(&args, 1) => {
                Shadow::Number(arg(0).all(&mut self.sets))
            }
            Op::Get | Op::Peek => {
                Shadow::Number(arg(0).elements().get(index(1)).copied().unwrap_or(Sets::NONE))
            }
            Op::Set | Op::Put | Op::AddAt if self.decides(&args, 1) => {
                // Any of its elements may be written, also those that a cotangent lacks so far: it
                // belongs to an array that was made before. So its shadow may be longer than it.
                let x = arg(2).all(&mut self.sets);
                let mut elements = arg(0).elements().to_vec();
                if inst.op != Op::Set {
                    elements.resize(elements.len().max(self.longest), Sets::NONE);
                }
                Shadow::array(elements.into_iter().map(|old| self.sets.join(old, x)).collect())
            }
            Op::Set | Op::Put | Op::AddAt => {
                let (k, x) = (index(1), arg(2).all(&mut self.sets));
                let mut array = self.taken(event, inst.args[0], args);
                let elements = Arc::make_mut(&mut array);
                elements.resize(elements.len().max(k + 1), Sets::NONE);
                elements[k] = if inst.op == Op::AddAt { self.sets.join(elements[k], x) } else { x };
                Shadow::Array(array)
            }
            Op::Accumulate => {
                let (first, second) = (arg(0).elements().len(), arg(1).elements().len());
                let (long, short) = if first < second { (1, 0) } else { (0, 1) };
                let short = arg(short);
                let mut array = self.taken(event, inst.args[long], args);
                for (a, b) in Arc::make_mut(&mut array).iter_mut().zip(short.elements()) {
                    *a = self.sets.join(*a, *b);
                }
                Shadow::Array(array)
            }
            Op::Pop { tape, .. } => match inst.result {
                Some(v) => self.pop(tape, &event.function().kinds[v]),
                None => Shadow::NONE,
            },
        }
    }

    /// Returns true if numbers among the arguments decide an operand: a truth value or integers.
    fn decides(&mut self, args: &[Shadow], k: usize) -> bool {
        args.get(k).is_some_and(|shadow| shadow.all(&mut self.sets) != Sets::NONE)
    }

    /// Returns the array of an operand, to be written to; in place if the run does so. The operands
    /// are dropped.
    fn taken<S: Scalar>(
        &mut self,
        event: &Event<'_, S>,
        v: Value,
        args: Vec<Shadow>,
    ) -> Arc<Vec<SetId>> {
        drop(args);
        let shadow = self.get(v);
        if event.takes_array_of(v) {
            self.set(v, Shadow::NONE);
        }
        shadow.into_elements()
    }

    /// Returns the dependences of the elements of a result: those of the operands at the same
    /// index, and for operations on whole arrays those that were moved there; if that is not known,
    /// all.
    fn of_elements<T: Real, S: Scalar<Real = T>>(
        &mut self,
        event: &Event<'_, S>,
        inst: &InstData,
        args: &[Shadow],
    ) -> Shadow {
        let Some(value) = event.result() else { return Shadow::NONE };
        let values: Vec<Datum<S>> = inst.args.iter().map(|&v| event.value(v)).collect();
        if matches!(inst.op, Op::OnArrays(op) if op.elements() == ElementFlow::Chosen) {
            let set = self.all(args);
            return match value {
                Datum::Ints(places) => Shadow::array(vec![set; places.len()]),
                _ => Shadow::Number(set),
            };
        }
        let is_int = |d: &Datum<S>| matches!(d, Datum::Int(_) | Datum::Ints(_));
        // A place in memory depends on what decides the indices.
        if let Datum::Int(_) = value {
            let ints = args.iter().zip(&values).filter(|(_, value)| is_int(value));
            return Shadow::Number(self.all(ints.map(|(shadow, _)| shadow)));
        }
        // If data decide which element is moved, it may be any of them.
        let is_decided = (0..values.len()).any(|k| is_int(&values[k]) && self.decides(args, k));
        if is_decided && !is_int(&value) {
            return Shadow::like(&value, self.all(args));
        }
        let sources = match inst.op {
            Op::OnArrays(op) if !op.is_differentiable() => return Shadow::like(&value, Sets::NONE),
            Op::OnArrays(op) => on_arrays(op, &values, &value),
            _ => by_elements(&values, &value),
        };
        if let (Op::OnArrays(ArrayOp::ReshapeLike), Some(Shadow::Array(given))) =
            (inst.op, args.first())
        {
            // The elements stay in order, even if some are missing.
            let mut elements = Shadow::like(&value, Sets::NONE).into_elements();
            let known = Arc::make_mut(&mut elements).iter_mut().zip(given.iter());
            known.for_each(|(element, set)| *element = *set);
            return Shadow::Array(elements);
        }
        let Some(sources) = sources else { return Shadow::like(&value, self.all(args)) };
        let source = |sets: &mut Sets, (k, place): &ElementSource| match args.get(*k) {
            Some(Shadow::Array(elements)) => elements.get(*place).copied().unwrap_or(Sets::NONE),
            Some(number) => number.all(sets),
            None => Sets::NONE,
        };
        let sets = &mut self.sets;
        let element = |from: &Vec<ElementSource>| {
            from.iter().fold(Sets::NONE, |all, s| {
                let set = source(sets, s);
                sets.join(all, set)
            })
        };
        let mut elements: Vec<SetId> = sources.iter().map(element).collect();
        if inst.op.is_elementwise() {
            // Elements of its operands beyond their ends.
            let n = elements.len();
            for given in args.iter().map(Shadow::elements) {
                elements.resize(elements.len().max(given.len()), Sets::NONE);
                for (element, &more) in elements.iter_mut().zip(given).skip(n) {
                    *element = self.sets.join(*element, more);
                }
            }
        }
        Shadow::array(elements)
    }

    fn push(&mut self, tape: u32, kind: &Kind, shadow: Shadow) {
        match (kind, shadow) {
            (Kind::Tuple(t), Shadow::Tuple(fields)) => {
                t.fields
                    .iter()
                    .zip(fields)
                    .for_each(|(f, shadow)| self.push(tape, &f.kind, shadow));
            }
            (leaf, shadow) => self.tapes.entry((tape, bank(leaf))).or_default().push(shadow),
        }
    }

    fn pop(&mut self, tape: u32, kind: &Kind) -> Shadow {
        match kind {
            Kind::Tuple(t) => {
                let mut fields: Vec<_> =
                    t.fields.iter().rev().map(|f| self.pop(tape, &f.kind)).collect();
                fields.reverse();
                Shadow::Tuple(fields)
            }
            leaf => {
                let top = self.tapes.get_mut(&(tape, bank(leaf))).and_then(Vec::pop);
                top.unwrap_or(Shadow::NONE)
            }
        }
    }
}

/// Returns the kind of the tape of a leaf: truth values and handles are on that of the integers.
fn bank(leaf: &Kind) -> Kind {
    match leaf {
        Kind::Bool | Kind::Handle => Kind::Int,
        kind => kind.clone(),
    }
}

impl<T: Real, S: Scalar<Real = T>> Interceptor<S> for Sparsity {
    fn see(&mut self, event: &Event<'_, S>) -> Result<(), Interrupt> {
        if event.depth() >= self.frames.len() {
            self.enter(event.function(), event.rule().is_some());
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
                    target
                        .args
                        .iter()
                        .filter(|v| event.takes_array_of(**v))
                        .for_each(|&v| self.set(v, Shadow::NONE));
                    let params = &event.function().blocks[target.block].params;
                    params.iter().zip(args).for_each(|(&p, shadow)| self.set(p, shadow));
                }
            }
            (Moment::Return(_), _) => {
                self.returned = event.returned().map_or(Shadow::NONE, |v| self.get(v));
                let given = self.given.pop().unwrap_or(Sets::NONE);
                // A rule may have a derivative by any of them, whatever the body depends on.
                if let (Some(rule), Some(v)) = (event.rule(), event.returned()) {
                    let set = if rule.non_differentiable { Sets::NONE } else { given };
                    self.returned = Shadow::like(&event.value(v), set);
                }
                self.frames.pop();
                if self.frames.is_empty() {
                    let value = event.returned().map(|v| event.value(v));
                    let shape =
                        value.map_or(Shadow::NONE, |value| Shadow::like(&value, Sets::NONE));
                    self.result = Some((event.function().result.clone(), shape));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
